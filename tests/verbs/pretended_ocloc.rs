//! What does `build` make of an offline compiler that crashes, hangs or fails for one kernel alone?
//!
//! The compiler is a script that answers as ocloc does and, asked to compile, does what a test wants.

use crate::support::spirv;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A compiler of version 99.1 that runs these commands to compile; `$MODULE` is the module.
fn compiler(folder: &Path, compile: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n'query OCL_DRIVER_VERSION') printf 99.1 > OCL_DRIVER_VERSION ;;\n'compile --help') ;;\n\
         compile*)\n  while [ $# -gt 0 ]; do [ \"$1\" = -file ] && MODULE=$2; shift; done\n  {compile}\n  ;;\nesac\n"
    );
    let path = folder.join("ocloc");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A module of SPIR-V 1.4 with a kernel of this name.
fn module(name: &str) -> Vec<u8> {
    let text = format!(
        "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\nOpExtension \"SPV_KHR_expect_assume\"\n\
         OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %1 \"{name}\"\n%2 = OpTypeVoid\n%3 = OpTypeFunction %2\n\
         %1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n"
    );
    spirv::assemble(&text).unwrap()
}

fn build(folder: &Path, ocloc: &Path, modules: &[&str], more: &[&str]) -> Output {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.arg("build").current_dir(folder).args(["-t", "pvc", "--no-cache", "-o", "out.table", "--ocloc"]).arg(ocloc);
    for name in modules {
        let file = format!("{name}.spv");
        std::fs::write(folder.join(&file), module(name)).unwrap();
        tool.arg(file);
    }
    tool.args(more).output().unwrap()
}

fn failed(output: &Output) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    document["failed"].as_array().unwrap().clone()
}

#[test]
fn a_crash_names_the_compiler_and_what_the_module_declares() {
    let folder = tempfile::tempdir().unwrap();
    let ocloc = compiler(folder.path(), "kill -SEGV $$");
    let output = build(folder.path(), &ocloc, &["_ZTS10one_kernel"], &["--format", "json"]);
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let all = failed(&output);
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((&one["compiler"], &one["module"]), (&"ocloc 99.1".into(), &"SPIR-V 1.4, SPV_KHR_expect_assume".into()));
    let said = build(folder.path(), &ocloc, &["_ZTS10one_kernel"], &[]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let hint = "ocloc 99.1 crashed on this module (SPIR-V 1.4, SPV_KHR_expect_assume); a compiler that is older than";
    assert!(said.contains("died of SIGSEGV") && said.contains(hint), "{said}");
}

#[test]
fn crashes_on_many_modules_are_told_by_a_few() {
    let folder = tempfile::tempdir().unwrap();
    let ocloc = compiler(folder.path(), "kill -SEGV $$");
    let names: Vec<String> = (0..12).map(|number| format!("_ZTS7kernel_{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lines = |more: &[&str]| {
        let said = build(folder.path(), &ocloc, &names, &[&["--no-fold"], more].concat());
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        (said.lines().filter(|line| line.contains("died of SIGSEGV")).count(), said)
    };
    let (count, said) = lines(&[]);
    assert!(count <= 9 && said.contains("12 images did not build") && said.contains("(-v tells each)"), "{said}");
    let (count, said) = lines(&["-v"]);
    assert!(count >= 24, "{said}");
}

#[test]
fn a_timeout_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let ocloc = compiler(folder.path(), "sleep 60");
    let clones = ["_ZTS15first_of_clones", "_ZTS15other_of_clones"];
    let output = build(folder.path(), &ocloc, &clones, &["--format", "json", "--timeout", "1"]);
    let all = failed(&output);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|failed| failed["attempts"] == 1), "{all:?}");
}

/// Of three modules that are the same code the first fails: the second is tried under its own name, and the third fails as
/// these two did.
#[test]
fn the_next_of_the_same_code_is_tried_where_the_first_fails() {
    let folder = tempfile::tempdir().unwrap();
    let ocloc = compiler(folder.path(), "echo \"refused $(grep -ac kernel_ $MODULE)\"; exit 245");
    let clones = ["_ZTS16kernel_number_onee", "_ZTS16kernel_number_twoe", "_ZTS16kernel_number_sixe"];
    let output = build(folder.path(), &ocloc, &clones, &["--format", "json", "--time-trace", "trace.json"]);
    let all = failed(&output);
    assert_eq!(all.len(), 3, "{all:?}");
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("trace.json")).unwrap()).unwrap();
    let tried = trace.as_array().unwrap().iter().filter(|event| event["args"].get("failed").is_some()).count();
    assert_eq!(tried, 2, "{trace}");
}
