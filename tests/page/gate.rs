//! Does the matrix say of every kernel what `check` says?

use crate::make::Desk;
use crate::read::{counts, data};
use crate::support::spirv;
use serde_json::Value;

#[test]
fn every_cell_is_what_check_says() {
    let desk = Desk::new();
    let names = ["chain", "exporter", "importer", "inlined", "pointers", "recursion"];
    for name in names {
        desk.put(&format!("{name}.spv"), &spirv::module_of("aspects", name));
    }
    let all = names.map(|name| format!("{name}.spv"));
    let targets = "pvc,acm-g10,dg1,spir64,spir64_x86_64";
    // Each alone, where what is imported is not known, all together, where it is, and some kernels only.
    let mut sets: Vec<Vec<&str>> = all.iter().map(|file| vec![file.as_str()]).collect();
    sets.push(all.iter().map(String::as_str).collect());
    sets.push(all.iter().map(String::as_str).chain(["--kernel", "f*"]).collect());
    let mut seen = [0; 3];
    for files in sets {
        let selected = files.contains(&"--kernel");
        let page = desk.page(&[&["inspect"], files.as_slice(), &["-t", targets]].concat());
        let check = desk.run(&[&["check"], files.as_slice(), &["-t", targets, "--format", "json"]].concat());
        if check.status.code() == Some(6) {
            assert_eq!(files, ["exporter.spv"], "no kernel is in it");
            continue;
        }
        let check: Value = serde_json::from_slice(&check.stdout).unwrap();
        let data = data(&page);
        let own = counts(&data["matrix"]);
        for target in check["targets"].as_array().unwrap() {
            let known = ["compatible", "unknown", "incompatible"].map(|name| target["kernels"][name].as_u64().unwrap());
            let [runs, unknown, cannot, 0, 0] = own[target["target"].as_str().unwrap()] else {
                panic!("there is no policy: {own:?}");
            };
            let counts = [runs, unknown, cannot];
            // Images are selected, and a page shows all kernels of an image.
            if !selected {
                assert_eq!(counts, known, "{files:?} {}", target["target"]);
            }
            for (sum, own) in seen.iter_mut().zip(counts) {
                *sum += own;
            }
            for finding in target["findings"].as_array().unwrap() {
                let said = data["matrix"]["reasons"].as_array().unwrap();
                let wanted = [&finding["certain"], &finding["rule"], &finding["message"], &finding["remedy"]];
                let same = |one: &Value| (0..4).all(|at| one[at] == *wanted[at]);
                assert!(said.iter().any(same), "{files:?}: {finding}");
            }
            assert_eq!(target["kernels"].as_object().unwrap().len(), 4);
            assert_eq!(target["kernels"]["excused"], 0);
        }
        assert_eq!(own.len(), 5);
    }
    assert!(seen.iter().all(|sum| *sum > 0), "{seen:?}");
}
