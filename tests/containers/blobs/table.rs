//! What does a file table make of its files, and of those that are missing or damaged?

use super::module;
use std::path::Path;
use std::process::Command;

/// Exit code and JSON of `inspect`.
fn inspect(table: &Path) -> (Option<i32>, serde_json::Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = command.arg("inspect").arg(table).args(["--format", "json"]).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn each_row_is_an_image_with_what_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.spv", &module(1));
    put("a.prop", b"[SYCL/misc properties]\noptLevel=1|2\n");
    put("a.sym", b"_ZTS1a\n");
    put("b.bin", b"native");
    put("b.sym", b"_ZTS1b\n");
    let table = folder.path().join("t");
    put("t", b"[Code|Properties|Symbols]\na.spv|a.prop|a.sym\nb.bin||b.sym\n");
    let (code, json) = inspect(&table);
    assert_eq!(code, Some(0), "{json}");
    let file = &json["files"][0];
    assert_eq!((file["container"].as_str(), file["images"].as_array().map(Vec::len)), (Some("table"), Some(2)));
    let image = &file["images"][0];
    assert_eq!(
        (&image["kernels"][0], &image["format"], &image["target"]),
        (&"_ZTS1a".into(), &"spirv".into(), &"spir64".into())
    );
    assert_eq!(image["properties"]["SYCL/misc properties"]["optLevel"]["value"], 2);
    // A file that is missing is named; only what it would have held is.
    put("t", b"[Code|Properties|Symbols]\ngone.spv|a.prop|a.sym\na.spv|gone.prop|a.sym\nb.bin|a.sym|\n");
    let (code, json) = inspect(&table);
    let file = &json["files"][0];
    assert_eq!((code, file["images"].as_array().map(Vec::len)), (Some(3), Some(2)), "{json}");
    let problems = file["problems"].to_string();
    for part in ["row 0: gone.spv", "row 1: gone.prop", "b.bin: property sets: this line is no"] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}
