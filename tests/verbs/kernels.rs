//! What does `kernels` say of modules that clang makes of OpenCL C?
//!
//! `fixtures/cl/NAME.spvasm` is what clang 22 (`--target=spirv64`) made of `NAME.cl` (`assemble.sh` beside them). The
//! second line of each source names the aspects that it needs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::spirv;
use serde_json::{Value, json};

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cl");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut sources: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "cl")).collect();
    sources.sort();
    assert!(sources.len() >= 7, "{sources:?}");
    sources
}

/// Kernels of a source as the tool tells them.
fn kernels(source: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(source.with_extension("spvasm")).unwrap();
    let module = spirv::assemble(&text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("module.spv");
    std::fs::write(&path, module).unwrap();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.arg("kernels").arg(&path).args(["--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["problems"], json!([]), "{}", source.display());
    report["kernels"].as_array_mut().unwrap().drain(..).collect()
}

fn kernel_named<'k>(kernels: &'k [Value], name: &str) -> &'k Value {
    kernels.iter().find(|kernel| kernel["name"] == name).unwrap()
}

fn one(source: &str) -> Vec<Value> {
    kernels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cl").join(source))
}

#[test]
fn no_aspect_is_missed_and_none_is_false() {
    for source in sources() {
        let text = std::fs::read_to_string(&source).unwrap();
        let line = text.lines().nth(1).and_then(|line| line.strip_prefix("// aspects:")).unwrap();
        let expected: Vec<&str> = line.split_whitespace().collect();
        let mut used: Vec<String> = Vec::new();
        for kernel in kernels(&source) {
            assert_eq!(kernel["aspects"]["possible"], json!([]), "{}", source.display());
            let own = kernel["aspects"]["used"].as_array().unwrap();
            used.extend(own.iter().map(|name| name.as_str().unwrap().to_owned()));
        }
        used.sort();
        used.dedup();
        assert_eq!(used, expected, "{}", source.display());
    }
}

#[test]
fn every_kernel_of_the_source_is_there() {
    for source in sources() {
        let text = std::fs::read_to_string(&source).unwrap();
        let declared = text.split_whitespace().filter(|word| *word == "kernel").count();
        assert_eq!(kernels(&source).len(), declared, "{}", source.display());
    }
}

#[test]
fn attributes_and_memory_are_the_sources() {
    let all = one("arguments.cl");
    let many = kernel_named(&all, "many");
    assert_eq!(many["attributes"]["text"], "reqd_work_group_size(8,4,2)");
    assert_eq!(many["attributes"]["reqd_work_group_size"], json!([8, 4, 2]));
    assert_eq!(many["local_memory"], 256);
    let narrow = kernel_named(&all, "narrow");
    assert_eq!(narrow["attributes"]["text"], "work_group_size_hint(32,1,1) vec_type_hint(float4)");
    assert_eq!(
        (&narrow["attributes"]["work_group_size_hint"], &narrow["local_memory"]),
        (&json!([32, 1, 1]), &json!(0))
    );
    assert_eq!(kernel_named(&one("plain.cl"), "sums")["local_memory"], 512);
}

/// Sizes as `sizeof` gives them in OpenCL C.
#[test]
fn arguments_have_the_sizes_of_the_source() {
    let all = one("types.cl");
    let sizes: Vec<(u64, u64)> = kernel_named(&all, "shapes")["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| (argument["size"].as_u64().unwrap(), argument["alignment"].as_u64().unwrap()))
        .collect();
    assert_eq!(sizes, [(80, 16), (5, 1), (8, 4), (4, 4), (128, 128)]);
}

#[test]
fn the_same_code_under_two_names_is_found() {
    let all = one("plain.cl");
    assert_eq!(kernel_named(&all, "same_one")["clones"], json!(["same_two"]));
    assert_eq!(kernel_named(&all, "same_two")["clones"], json!(["same_one"]));
    for name in ["calls", "counts", "sums"] {
        assert_eq!(kernel_named(&all, name)["clones"], json!([]), "{name}");
    }
}

/// Of many kernels that are the same code each lists a thousand others: lists of all grow as the square of the module.
#[test]
fn clones_without_end_are_listed_to_a_thousand() {
    const COUNT: usize = 1200;
    let entries: String = (0..COUNT).map(|at| format!("OpEntryPoint Kernel %f{at} \"same{at:04}\"\n")).collect();
    let bodies: String = (0..COUNT)
        .map(|at| format!("%f{at} = OpFunction %void None %plain\n%l{at} = OpLabel\nOpReturn\nOpFunctionEnd\n"))
        .collect();
    let text = format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n{entries}%void = OpTypeVoid\n\
         %plain = OpTypeFunction %void\n{bodies}"
    );
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("m.spv"), spirv::assemble(&text).unwrap()).unwrap();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.args(["kernels", "m.spv", "--format", "json"]).current_dir(place.path()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), COUNT);
    for (at, kernel) in kernels.iter().enumerate() {
        let listed = kernel["clones"].as_array().unwrap();
        assert_eq!(listed.len(), 1000);
        let first = if at == 0 { "same0001" } else { "same0000" };
        assert!(listed[0] == first && !listed.contains(&kernel["name"]), "{at}");
    }
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.args(["inspect", "m.spv", "--clones"]).current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One kernel of a text, assembled, as a page and as JSON.
fn of_fixture(folder: &str, name: &str) -> (String, Value) {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("m.spv"), spirv::module_of(folder, name)).unwrap();
    let run = |arguments: &[&str]| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let output =
            tool.args(["kernels", "m.spv"]).args(arguments).env("COLUMNS", "120").current_dir(place.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let report: Value = serde_json::from_str(&run(&["--format", "json"])).unwrap();
    (run(&["--kernel", "foo"]), report["kernels"][0].clone())
}

#[test]
fn why_a_kernel_uses_an_aspect_is_told() {
    let (page, kernel) = of_fixture("aspects", "chain_lines");
    let told = "\n    uses fp64: \
        -> mid(float) src/a.cpp:31:12 -> leaf(float) src/a.cpp:12:30: OpFConvert %double at src/a.cpp:5:10\n";
    assert!(page.contains(told), "{page}");
    let why = &kernel["aspects"]["evidence"][0];
    assert_eq!((&why["aspect"], &why["instruction"]), (&json!("fp64"), &json!("OpFConvert %double")));
    assert_eq!(why["location"], json!({ "file": "src/a.cpp", "line": 5, "column": 10 }));
    let lines: Vec<&Value> = why["chain"].as_array().unwrap().iter().map(|step| &step["line"]).collect();
    assert_eq!(lines, [&Value::Null, &json!(31), &json!(12)]);
}

#[test]
fn a_capability_that_no_code_uses_is_told_apart() {
    let (page, kernel) = of_fixture("aspects", "pointed_to");
    assert!(page.contains("aspect fp64 is declared by a capability, but no function uses it"), "{page}");
    assert_eq!(kernel["aspects"]["used"], json!([]));
    assert_eq!(kernel["aspects"]["capabilities"], json!(["fp64"]));
    assert_eq!(kernel["aspects"]["differences"][0]["reason"], "declared-only");
}
