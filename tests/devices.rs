//! What does the tool say of devices that a loader of our own offers?
//!
//! `fixtures/host/custom_device.c` answers as the specification has a custom device with built-in kernels answer, and a
//! device without sub-groups: no machine that tests has either.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};

fn loader() -> &'static Path {
    static FOLDER: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libcustom.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/host/custom_device.c");
        let mut cc = Command::new("gcc");
        let status = cc.args(["-shared", "-fPIC", "-Wall", "-Werror"]).arg(source).arg("-o").arg(&path).status();
        assert!(status.unwrap().success());
        (folder, path)
    });
    path
}

fn run(selector: Option<&str>, arguments: &[&str]) -> Output {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.args(arguments).env_clear().env("OPENCL_DYLIB_PATH", loader());
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
    // They are that device's alone.
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
