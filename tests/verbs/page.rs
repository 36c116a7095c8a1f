//! Does a page say of every kernel what `check` says, with a policy and without?

use crate::support::page::{Desk, POLICY, cells, counts, data, desk_of_policy, number, text};
use crate::support::spirv;
use serde_json::Value;
use std::collections::BTreeMap;

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
            // The verdicts, what is excused, and the ways in which kernels run.
            assert_eq!(target["kernels"].as_object().unwrap().len(), 7);
            assert_eq!(target["kernels"]["excused"], 0);
        }
        assert_eq!(own.len(), 5);
    }
    assert!(seen.iter().all(|sum| *sum > 0), "{seen:?}");
}

fn check(desk: &Desk, arguments: &[&str]) -> Value {
    let output = desk.run(&[&["check", "--format", "json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// A page and `check` with the same arguments say the same of the same targets; gives the verdicts that there are.
fn agree(desk: &Desk, arguments: &[&str]) -> [u64; 5] {
    let (check, page) = (check(desk, arguments), data(&desk.page(&[&["inspect"], arguments].concat())));
    let (matrix, mut seen) = (&page["matrix"], [0; 5]);
    let (counts, cells) = (counts(matrix), cells(matrix));
    let asked = check["targets"].as_array().unwrap().iter().filter(|target| target["target"].is_string());
    for target in asked.clone() {
        let name = target["target"].as_str().unwrap();
        let [runs, unknown, cannot, excused, unasked] = counts[name];
        let known = ["compatible", "unknown", "incompatible"].map(|name| target["kernels"][name].as_u64().unwrap());
        assert_eq!([runs + excused, unknown, cannot], known, "{arguments:?}: {name}");
        for (sum, own) in seen.iter_mut().zip([runs, unknown, cannot, excused, unasked]) {
            *sum += own;
        }
        // By rule, message and why it does not count.
        let mut said: BTreeMap<[Option<String>; 3], usize> = BTreeMap::new();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for reason in cells[name].iter().flat_map(|cell| cell[1].as_array().unwrap()) {
            let reason = &matrix["reasons"][number(reason)];
            let excuse = reason[5].as_u64().and_then(|_| text(&matrix["texts"][number(&reason[5])]));
            *said.entry([text(&reason[1]), text(&reason[2]), excuse]).or_default() += 1;
        }
        let findings = target["findings"].as_array().unwrap();
        for finding in findings.iter().filter(|finding| finding["kernel"].is_string()) {
            let left = said.get_mut(&["rule", "message", "excused"].map(|field| text(&finding[field]))).unwrap();
            *left -= 1;
        }
        assert!(said.values().all(|left| *left == 0), "{arguments:?}: {name}: {said:?}");
        // Findings about whole files stand beside the matrix.
        let of_files = findings.iter().filter(|finding| finding["kernel"].is_null()).count();
        let found = page["policy"]["findings"].as_array();
        let beside = found.into_iter().flatten().filter(|one| one["target"] == target["target"]).count();
        assert_eq!(of_files, beside, "{arguments:?}: {name}");
    }
    assert_eq!(asked.count(), counts.len());
    seen
}

#[test]
fn a_page_counts_what_check_counts() {
    let desk = desk_of_policy();
    desk.put("sycl-bundle.toml", POLICY.as_bytes());
    let all = ["acme.spv", "wide.spv", "chain.spv"];
    let seen = agree(&desk, &all);
    assert!(seen.iter().all(|sum| *sum > 0), "{seen:?}");
    for file in all {
        agree(&desk, &[file]);
    }
    // Targets that are named, one of them none of the policy's; a policy that is named; none.
    agree(&desk, &["acme.spv", "wide.spv", "-t", "acm-g10,bmg-g21"]);
    desk.put("other.toml", b"check.targets = [\"dg1\"]\ncheck.strict = true\n");
    let seen = agree(&desk, &["wide.spv", "--policy", "other.toml"]);
    assert_eq!(seen, [0, 0, 1, 0, 0]);
    let seen = agree(&desk, &["wide.spv", "--no-policy", "-t", "acm-g10"]);
    assert_eq!(seen, [0, 0, 1, 0, 0]);
    // With findings that are known.
    desk.run(&["check", "wide.spv", "-t", "dg1", "--no-policy", "--write-baseline", "known.json"]);
    let seen = agree(&desk, &["wide.spv", "chain.spv", "--policy", "other.toml", "--baseline", "known.json"]);
    assert_eq!(seen, [0, 0, 1, 1, 0]);
}

#[test]
fn which_policy_holds() {
    let desk = desk_of_policy();
    let targets = |arguments: &[&str]| {
        data(&desk.page(&[&["inspect", "wide.spv"], arguments].concat()))["matrix"]["targets"].clone()
    };
    let default = targets(&[]);
    desk.put("sycl-bundle.toml", b"[build]\nregisters = \"large\"\n");
    assert_eq!(targets(&[]), default, "it only says how to build");
    desk.put("sycl-bundle.toml", b"[check.budget]\nimages = 0\n");
    assert_eq!(targets(&[]), default, "it names no target");
    let page = data(&desk.path("page.html"));
    assert_eq!(page["policy"]["findings"][0]["rule"], "budget-images");
    assert_eq!(page["policy"]["day"], Value::Null, "nothing depends on the day");
    desk.put("sycl-bundle.toml", b"check.targets = [\"dg1\"]\n");
    assert_eq!(targets(&[]), serde_json::json!(["intel_gpu_dg1"]));
    assert_eq!(targets(&["--no-policy"]), default);
    desk.put("sycl-bundle.toml", b"check.targets = [\"none such\"]\n");
    let output = desk.run(&["inspect", "wide.spv", "--html", "page.html"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("sycl-bundle.toml:1:18"));
    let output = desk.run(&["inspect", "wide.spv"]);
    assert_eq!(output.status.code(), Some(0), "without a page no policy is read");
}

const PAGE: [&str; 5] = ["inspect", "acme.spv", "wide.spv", "-t", "pvc,acm-g10,spir64"];

#[test]
fn the_same_files_make_the_same_page() {
    let desk = desk_of_policy();
    let first = std::fs::read(desk.page(&PAGE)).unwrap();
    std::fs::remove_file(desk.path("page.html")).unwrap();
    assert_eq!(std::fs::read(desk.page(&PAGE)).unwrap(), first);
    let page = String::from_utf8(first).unwrap();
    for outside in [
        "http:",
        "https:",
        "src=",
        "href=",
        "@import",
        "url(",
        "fetch(",
        "innerHTML",
        "outerHTML",
        "eval(",
        "insertAdjacent",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    for form in ["table", "json", "jsonl"] {
        let plain = desk.run(&["inspect", "acme.spv", "wide.spv", "--format", form]);
        let with = desk.run(&["inspect", "acme.spv", "wide.spv", "--format", form, "--html", "other.html"]);
        assert_eq!(String::from_utf8(plain.stdout), String::from_utf8(with.stdout), "{form}");
    }
    // By default: what is in the files, a CPU and GPUs.
    let all = text(&desk.page(&["inspect", "acme.spv"]));
    for target in ["spir64_x86_64", "intel_gpu_pvc", "intel_gpu_acm_g10", "intel_gpu_bmg_g21"] {
        assert!(all.contains(&format!("\"{target}\"")), "{target}");
    }
}

/// Kernels of CUDA beside SYCL's stand in the matrix where a target is for them, or where there is nothing else, as `check`
/// judges them.
#[test]
fn kernels_of_other_models_are_judged_as_check_does() {
    let desk = Desk::new();
    desk.put("m.spv", &spirv::module("add_one"));
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";
    desk.put("k.ptx", ptx.as_bytes());
    let names = |arguments: &[&str]| {
        let page = data(&desk.page(&[&["inspect"], arguments].concat()));
        let rows = page["matrix"]["name"].as_array().unwrap().len();
        (rows, page["matrix"]["targets"].as_array().unwrap().iter().any(|target| target == "nvidia_gpu_sm_80"))
    };
    assert_eq!(names(&["m.spv", "k.ptx"]), (1, false));
    assert_eq!(names(&["m.spv", "k.ptx", "-t", "intel_gpu_pvc"]), (1, false));
    assert_eq!(names(&["m.spv", "k.ptx", "-t", "nvidia_gpu_sm_80"]), (2, true));
    assert_eq!(names(&["k.ptx", "-t", "intel_gpu_pvc"]).0, 1);
}
