//! What does the tool say of devices that a loader of our own offers?
//!
//! `fixtures/host/custom_device.c` answers as the specification has a custom device with built-in kernels answer, and a
//! device without sub-groups: no machine that tests has either.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::support::built::Recipe;
use serde_json::{Value, json};

const CUSTOM: &str = include_str!("../../fixtures/host/custom_device.c");
const SPIRV: &str = include_str!("../../fixtures/host/spirv_device.c");

/// The loader with a custom device, and the one with a device that takes SPIR-V.
fn loaders() -> &'static [PathBuf; 2] {
    static PATHS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PATHS.get_or_init(|| {
        [("custom_device", CUSTOM), ("spirv_device", SPIRV)].map(|(name, text)| {
            let (source, library) = (format!("{name}.c"), format!("lib{name}.so"));
            let recipe = Recipe::new(name).input(&source, text).output(&library);
            recipe.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", &source, "-o", &library]).path(&library)
        })
    })
}

fn run(selector: Option<&str>, arguments: &[&str]) -> Output {
    run_on(&loaders()[0], selector, arguments)
}

fn run_on(loader: &Path, selector: Option<&str>, arguments: &[&str]) -> Output {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.args(arguments).env_clear().env("OPENCL_DYLIB_PATH", loader);
    if let Some(selector) = selector {
        tool.env("ONEAPI_DEVICE_SELECTOR", selector);
    }
    tool.output().unwrap()
}

fn json_of(selector: Option<&str>, arguments: &[&str]) -> Value {
    let output = run(selector, &[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(report: &Value) -> Vec<&str> {
    report["devices"].as_array().unwrap().iter().filter_map(|device| device["name"].as_str()).collect()
}

#[test]
fn built_in_kernels_have_the_queries_that_others_have_not() {
    let report = json_of(None, &["devices", "custom", "--kernels"]);
    let device = &report["devices"][0];
    assert_eq!((&device["kind"], &device["built_in_kernels"]), (&json!("custom"), &json!(["fill", "transform"])));
    assert_eq!(device["aspects"].as_array().unwrap()[..3], [json!("custom"), json!("fp64"), json!("online_compiler")]);
    for (name, args) in [("fill", 3), ("transform", 5)] {
        let kernel = &device["kernels"][name];
        assert_eq!(kernel["num_args"], args);
        assert_eq!(kernel["global_work_size"], json!([4096, 2048, 1]));
        assert_eq!(kernel["work_group_size"], 64);
        assert_eq!(kernel["compile_work_group_size"], json!([0, 0, 0]));
        assert_eq!(kernel["preferred_work_group_size_multiple"], 8);
        assert_eq!(kernel["private_mem_size"], 24);
        // A device without sub-groups.
        assert_eq!((&kernel["max_num_sub_groups"], &kernel["compile_num_sub_groups"]), (&json!(1), &json!(0)));
        assert_eq!((&kernel["max_sub_group_size"], &kernel["compile_sub_group_size"]), (&json!(1), &json!(0)));
        assert_eq!(kernel["errors"], json!({}));
    }
    // Built-in kernels are that device's alone.
    let other = json_of(None, &["devices", "0", "--kernels"]);
    assert_eq!((names(&other), &other["devices"][0]["kernels"]), (vec!["Plain CPU"], &json!({})));
}

#[test]
fn the_selector_hides_devices() {
    assert_eq!(names(&json_of(None, &["devices"])), ["Plain CPU", "Custom engine"]);
    assert_eq!(names(&json_of(Some("opencl:cpu"), &["devices"])), ["Plain CPU"]);
    assert_eq!(names(&json_of(Some("!opencl:0"), &["devices"])), ["Custom engine"]);
    assert_eq!(names(&json_of(Some("opencl:cpu"), &["devices", "--all"])).len(), 2);
    assert_eq!(run(Some("level_zero:gpu"), &["devices"]).status.code(), Some(5));
    assert_eq!(run(Some("opencl:cpu"), &["devices", "1"]).status.code(), Some(5));
    assert_eq!(run(Some("opencl"), &["devices"]).status.code(), Some(2));
}

#[test]
fn a_device_without_spirv_is_not_picked_by_its_kind() {
    let output = run(None, &["devices", "cpu"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("takes no SPIR-V"));
    assert_eq!(names(&json_of(None, &["devices", "plain"])), ["Plain CPU"]);
}

/// `fixtures/host/spirv_device.c` says what it refuses, and dies of one capability.
#[test]
fn a_probe_tells_a_refusal_from_a_death() {
    let output = run_on(&loaders()[1], None, &["devices", "--probe", "--device", "cpu", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let probe = &report["devices"][0]["probe"];
    let of = |name: &str| {
        let all = probe["results"].as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == name).unwrap();
        (one["answer"].as_str().unwrap().to_owned(), one["reason"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!((&probe["checks_capabilities"], &probe["checks_extensions"]), (&json!(true), &json!(false)));
    assert_eq!((of("1.4").0, of("1.5").0), ("yes".to_owned(), "refused".to_owned()));
    assert!(of("1.5").1.contains("Invalid SPIR-V version"), "{}", of("1.5").1);
    let (answer, reason) = of("UniformDecoration");
    assert!(answer == "refused" && reason.ends_with("requires unsupported capability 71"), "{answer}: {reason}");
    let (answer, reason) = of("VectorComputeINTEL");
    assert!(answer == "died" && reason.contains("SIGABRT"), "{answer}: {reason}");
    assert_eq!(of("Float64").0, "yes");
}

#[test]
fn a_saved_device_is_a_target() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("modest.yaml");
    let path = file.to_str().unwrap();
    let on = |arguments: &[&str]| {
        let output = run_on(&loaders()[1], None, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = on(&["devices", "--save", "-", "--device", "cpu", "--no-probe"]);
    on(&["devices", "--save", path, "--no-probe"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), shown);
    let target = |probed: bool| -> Value {
        on(&["targets", "--validate", path]);
        let text = on(&["targets", "live-modest-cpu", "--format", "json", "--device-config", path]);
        let document: Value = serde_json::from_str(&text).unwrap();
        let target = document["targets"][0].clone();
        assert_eq!(target["max_work_item_sizes"], json!([64, 32, 16]));
        assert_eq!(target["spirv_version"], if probed { "1.4" } else { "1.2" });
        target
    };
    target(false);
    // Without a word the driver is asked what it takes.
    on(&["devices", "--save", path]);
    let probed = target(true);
    let has = |list: &str, name: &str| probed[list].as_array().unwrap().iter().any(|one| one == name);
    assert!(has("spirv_capabilities", "Float64") && has("spirv_refused_capabilities", "UniformDecoration"));
    assert!(
        !has("spirv_capabilities", "VectorComputeINTEL") && !has("spirv_refused_capabilities", "VectorComputeINTEL")
    );
    assert!(has("open", "the driver dies of a kernel with VectorComputeINTEL"));
    assert!(has("aspects", "fp64") && has("lacks_aspects", "fp16"));
    // One device at a time, and one that takes SPIR-V.
    assert_eq!(run(None, &["devices", "--save", path]).status.code(), Some(2));
    assert_eq!(run(None, &["devices", "--probe"]).status.code(), Some(5));
    // The file's folder is made, where that can be.
    on(&["devices", "--save", folder.path().join("new/x.yaml").to_str().unwrap(), "--no-probe"]);
    assert!(folder.path().join("new/x.yaml").is_file());
    assert_eq!(run_on(&loaders()[1], None, &["devices", "--save", "/proc/none/x.yaml"]).status.code(), Some(5));
}
