//! What verdict does `check` give, and with which exit status?
//!
//! Modules are the texts of `fixtures/aspects`, assembled here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use support::spirv;

/// A folder with the modules of some names.
fn modules(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(folder.path().join(format!("{name}.spv")), spirv::module_of("aspects", name)).unwrap();
    }
    folder
}

/// The JSON and the exit status of a run.
fn check(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.arg("check").args(arguments).args(["--format", "json"]).current_dir(folder).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or_default(), output.status.code())
}

#[test]
fn what_nobody_defines_is_unknown_and_fails_where_that_is_asked() {
    let folder = modules(&["importer", "exporter"]);
    let (report, status) = check(folder.path(), &["importer.spv", "--declared", ""]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(0)));
    assert_eq!(report["targets"][0]["findings"], json!([]));
    let (report, status) = check(folder.path(), &["importer.spv", "--declared", "", "--strict"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(1)));
    let both = ["importer.spv", "exporter.spv", "--declared", "atomic64", "--strict"];
    let (report, status) = check(folder.path(), &both);
    assert_eq!((&report["verdict"], status), (&json!("compatible"), Some(0)));
}

#[test]
fn what_another_file_does_is_told_of_that_file() {
    let folder = modules(&["importer", "exporter"]);
    let (report, status) = check(folder.path(), &["importer.spv", "exporter.spv", "--external"]);
    assert_eq!((&report["verdict"], status), (&json!("incompatible"), Some(1)));
    let finding = &report["targets"][0]["findings"][0];
    assert_eq!(finding["rule"], "external-function");
    assert_eq!(finding["file"], "importer.spv");
    assert_eq!(finding["used_in"], json!({ "file": "exporter.spv", "image": 0 }));
    let message = finding["message"].as_str().unwrap();
    assert!(message.starts_with("function 'far(float)' uses aspect 'atomic64' not expected by its calling kernel."));
}

#[test]
fn what_a_target_is_not_known_to_lack_does_not_fail() {
    let folder = modules(&["chain"]);
    let verdict = |target: &str, strict: &[&str]| {
        let arguments = [&["chain.spv", "--fixed-targets", target][..], strict].concat();
        let (report, status) = check(folder.path(), &arguments);
        (report["verdict"].as_str().unwrap().to_owned(), status.unwrap())
    };
    assert_eq!(verdict("spir64", &[]), ("unknown".to_owned(), 0));
    assert_eq!(verdict("spir64", &["--strict"]), ("unknown".to_owned(), 1));
    assert_eq!(verdict("intel_gpu_acm_g10", &[]), ("incompatible".to_owned(), 1));
    assert_eq!(verdict("spir64_x86_64", &["--strict"]), ("compatible".to_owned(), 0));
}

#[test]
fn sizes_that_only_the_code_names_count() {
    let source = "OpCapability Kernel\nOpCapability SubgroupDispatch\nOpMemoryModel Physical64 OpenCL\n\
        OpEntryPoint Kernel %1 \"k\"\nOpExecutionMode %1 LocalSize 4096 4 1\nOpExecutionMode %1 SubgroupSize 3\n\
        %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.spv"), spirv::assemble(source).unwrap()).unwrap();
    let (report, status) = check(folder.path(), &["k.spv", "--fixed-targets", "intel_gpu_pvc"]);
    assert_eq!(status, Some(1));
    let rules: Vec<&Value> =
        report["targets"][0]["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert_eq!(rules, ["fixed-targets-sub-group-size", "fixed-targets-work-group-size"]);
}

#[test]
fn nothing_judged_is_not_compatible() {
    let folder = modules(&["chain"]);
    std::fs::write(folder.path().join("plain.txt"), "no code").unwrap();
    assert_eq!(check(folder.path(), &["chain.spv", "--kernel", "other", "--declared", ""]).0["verdict"], "unknown");
    let whole = spirv::module_of("aspects", "chain");
    std::fs::write(folder.path().join("cut.spv"), &whole[..whole.len() - 12]).unwrap();
    let (report, status) = check(folder.path(), &["cut.spv", "--declared", "fp64"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(3)));
    assert_eq!(check(folder.path(), &["chain.spv", "--declared", "fp46"]).1, Some(2));
}

/// A run in a folder, on 2026-01-01, with what it says on standard error.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.args(arguments).current_dir(folder).env("SOURCE_DATE_EPOCH", "1767225600").env_remove("SYCL_BUNDLE_CONFIG");
    let output = tool.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_nearest_policy_above_counts() {
    let folder = modules(&["chain"]);
    let deep = folder.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let check = ["check", "../../chain.spv"];
    std::fs::write(folder.path().join("sycl-bundle.toml"), "check.targets = [\"acm-g10\"]\n").unwrap();
    assert_eq!(run(&deep, &check), (Some(1), "note: policy: ../../sycl-bundle.toml\n".to_owned()));
    std::fs::write(folder.path().join("a/sycl-bundle.toml"), "check.targets = [\"pvc\"]\n").unwrap();
    assert_eq!(run(&deep, &check), (Some(0), "note: policy: ../sycl-bundle.toml\n".to_owned()));
    assert_eq!(run(&deep, &[&check[..], &["--policy", "../../sycl-bundle.toml"]].concat()), (Some(1), String::new()));
    assert_eq!(run(&deep, &[&check[..], &["--no-policy"]].concat()).0, Some(2));
}

#[test]
fn baselines_outlast_another_order_and_another_build() {
    let folder = modules(&["chain", "chain_lines"]);
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aspects/chain.spvasm"));
    let other = spirv::assemble(&source.unwrap().replace("\"foo\"", "\"bar\"")).unwrap();
    std::fs::write(folder.path().join("other.spv"), other).unwrap();
    let wrap = |images: &[&str]| {
        let arguments = [&["wrap"][..], images, &["--emit", "offload-binary", "-o", "lib.bin", "--quiet"]].concat();
        assert_eq!(run(folder.path(), &arguments), (Some(0), String::new()));
    };
    wrap(&["chain.spv", "other.spv"]);
    let check = ["check", "lib.bin", "-t", "acm-g10", "--quiet"];
    assert_eq!(run(folder.path(), &[&check[..], &["--write-baseline", "known.json"]].concat()).0, Some(0));
    let known = std::fs::read_to_string(folder.path().join("known.json")).unwrap();
    let compare = [&check[..], &["--baseline", "known.json"]].concat();
    // The same kernels with debug information, in another order.
    wrap(&["other.spv", "chain_lines.spv"]);
    assert_eq!(run(folder.path(), &compare), (Some(0), String::new()));
    assert_eq!(run(folder.path(), &[&check[..], &["--write-baseline", "again.json"]].concat()).0, Some(0));
    assert_eq!(std::fs::read_to_string(folder.path().join("again.json")).unwrap(), known);
    // Without what it knows there is something new.
    let less: Vec<&str> = known.lines().filter(|line| !line.contains("\"foo\"")).collect();
    let less = less.join("\n").replace(",\n]", "\n]");
    assert_ne!(less.trim(), known.trim());
    std::fs::write(folder.path().join("known.json"), less).unwrap();
    assert_eq!(run(folder.path(), &compare).0, Some(1));
}
