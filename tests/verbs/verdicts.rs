//! Do all verbs give one verdict on a file, whatever it holds and requires?
//!
//! Every module of `fixtures`, alone and with property sets beside it, on twelve targets: what `check` says of each kernel is
//! what `has` and `explain` say; what it is sure of is what `filter` empties, and what `build` and `plan` skip.

use crate::support::spirv;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 12] = [
    "spir64_x86_64",
    "intel_gpu_skl",
    "intel_gpu_icllp",
    "intel_gpu_tgllp",
    "intel_gpu_dg1",
    "intel_gpu_acm_g10",
    "intel_gpu_mtl_h",
    "intel_gpu_pvc",
    "intel_gpu_bmg_g21",
    "spir64",
    "nvidia_gpu_sm_90",
    "amd_gpu_gfx90a",
];

/// Property sets that lie beside a module: nothing; fp64; sub-group sizes of which some devices lack one; a work-group that
/// some run; a fixed target; an aspect that nobody knows; the document's spelling.
const BESIDE: [&str; 7] = [
    "",
    "aspects=2|gAAAAAAAAAgBAAAA\n",
    "aspects=2|AAAAAAAAAAA\nreqd_sub_group_size=2|ABAAAAAAAAAEAAAAIAAAAA\n",
    "aspects=2|AAAAAAAAAAA\nreqd_work_group_size=2|gBAAAAAAAAAAEAAABAAAAEAAAAA\n",
    "aspects=2|AAAAAAAAAAA\nfixed_target=2|gAAAAAAAAAgoNi9f\n",
    "aspects=2|ABAAAAAAAAgBAAAAPcCAAA\n",
    "aspect=2|gAAAAAAAAAgBAAAA\n",
];

fn run(folder: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).current_dir(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {told}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The verdict of each kernel on each target, by `check`.
fn checked(folder: &Path, kernels: &BTreeSet<String>, all: &str) -> BTreeMap<(String, String), &'static str> {
    let document = run(folder, &["check", "m.spv", "-t", all, "--format", "json"]);
    let mut verdicts = BTreeMap::new();
    for target in list(&document["targets"]) {
        let name = target["target"].as_str().unwrap();
        for kernel in kernels {
            let findings = || list(&target["findings"]).iter().filter(|one| one["kernel"] == kernel.as_str());
            let verdict = if findings().any(|one| one["certain"] == true) {
                "incompatible"
            } else if findings().next().is_some() {
                "unknown"
            } else {
                "compatible"
            };
            verdicts.insert((kernel.clone(), name.to_owned()), verdict);
        }
    }
    verdicts
}

fn compare(folder: &Path, label: &str) {
    let inspected = run(folder, &["inspect", "m.spv", "--format", "json"]);
    let kernels = list(&inspected["files"][0]["images"][0]["kernels"]);
    let kernels: BTreeSet<String> = kernels.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    if kernels.is_empty() {
        return;
    }
    let all = TARGETS.join(",");
    let verdicts = checked(folder, &kernels, &all);
    let mut other = BTreeMap::new();
    for kernel in list(&run(folder, &["has", "m.spv", "-t", &all, "--format", "json"])["kernels"]) {
        for target in list(&kernel["targets"]) {
            let answer = match target["answer"].as_str().unwrap() {
                "yes" => "compatible",
                "no" => "incompatible",
                _ => "unknown",
            };
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            other.insert((text(&kernel["name"]), text(&target["target"])), answer);
        }
    }
    assert_eq!(verdicts, other, "{label}: check and has");
    let explained = run(folder, &["explain", "m.spv", "-t", &all, "--format", "json"]);
    for choice in list(&explained["choices"]) {
        let place = (choice["kernel"].as_str().unwrap().to_owned(), choice["target"].as_str().unwrap().to_owned());
        assert_eq!(choice["verdict"], verdicts[&place], "{label}: explain, {place:?}");
    }
    let cannot = |target: &str| verdicts.iter().any(|((_, of), verdict)| of == target && *verdict == "incompatible");
    let mut arguments = vec!["filter".to_owned(), "m.spv".to_owned(), "--format".to_owned(), "json".to_owned()];
    for target in TARGETS {
        arguments.extend(["-o".to_owned(), format!("{target},{target}.table")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for output in list(&run(folder, &arguments)["outputs"]) {
        let target = output["targets"][0].as_str().unwrap();
        assert_eq!(!list(&output["emptied"]).is_empty(), cannot(target), "{label}: filter for {target}");
    }
    let built: Vec<&str> =
        TARGETS.into_iter().filter(|name| *name == "spir64_x86_64" || name.contains("intel")).collect();
    let planned =
        run(folder, &["build", "m.spv", "-t", &built.join(","), "-o", "x.table", "--dry-run", "--format", "json"]);
    for target in list(&planned["targets"]) {
        let (name, count) = (target["target"].as_str().unwrap(), |key: &str| target[key].as_u64().unwrap());
        // Images that stay for other reasons (imports, specialization constants) are not looked at further.
        if cannot(name) {
            assert_eq!(count("compiled"), 0, "{label}: build for {name}");
        } else {
            assert_eq!(count("skipped"), 0, "{label}: build for {name}");
        }
    }
}

#[test]
fn all_verbs_agree_on_every_fixture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut count = 0usize;
    for family in ["aspects", "spirv", "cl"] {
        for entry in std::fs::read_dir(root.join(family)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "spvasm") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap();
            let module = spirv::module_of(family, name);
            for (number, beside) in BESIDE.into_iter().enumerate() {
                // One module is enough to see that what is recorded counts.
                if number > 0 && !["chain", "two_kernels", "plain"].contains(&name) {
                    continue;
                }
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("m.spv"), &module).unwrap();
                if !beside.is_empty() {
                    let text = format!("[SYCL/device requirements]\n{beside}");
                    std::fs::write(folder.path().join("m.prop"), text).unwrap();
                }
                compare(folder.path(), &format!("{family}/{name} with {beside:?}"));
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}

/// A module that calls a function by which code reaches instructions of Intel's GPUs past SPIR-V, listed by its entry alone.
#[test]
fn functions_of_intels_compiler_run_where_it_has_the_instruction() {
    let text = include_str!("../../fixtures/spirv/calls_import.spvasm");
    let targets = ["intel_gpu_pvc", "intel_gpu_bmg_g21", "intel_gpu_acm_g10", "intel_gpu_dg1", "spir64_x86_64"];
    let (yes, no, open) = ("compatible", "incompatible", "unknown");
    for (function, verdicts) in [
        ("__builtin_IB_subgroup_createBlock2DAddressPayload", &[yes, yes, no, no, no][..]),
        ("__builtin_IB_newest", &[open, open, open, open, no]),
        ("intel_get_hit_distance", &[yes, yes, yes, no, no]),
        ("llvm.genx.lsc.load.merge.stateless.v16i64", &[yes, yes, yes, no]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let module = spirv::assemble(&text.replace("\"imported\"", &format!("\"{function}\""))).unwrap();
        std::fs::write(folder.path().join("m.spv"), module).unwrap();
        std::fs::write(folder.path().join("m.sym"), "calls_import\n").unwrap();
        let document = run(folder.path(), &["check", "m.spv", "-t", &targets.join(","), "--format", "json"]);
        for (target, verdict) in targets.iter().zip(verdicts) {
            let told = list(&document["targets"]).iter().find(|told| told["target"] == *target).unwrap();
            assert_eq!(told["verdict"], *verdict, "{function} on {target}: {told}");
        }
    }
}
