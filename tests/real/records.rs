//! Do the records of a build say what its compilers and its output say?

use crate::support::tools::needed;
use std::path::Path;

use serde_json::Value;

use crate::tool::{build_command, tool};
use crate::world::{succeed, tail, world};

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The module that is kept is what `spirv-val` takes and what ocloc makes the kept binary's kernels of; the report tells of
/// registers what `kernels` reads out of the output; the trace's lanes are the workers, and nothing overlaps in one.
#[test]
fn what_is_kept_of_each_image_is_what_went_in_and_came_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut command = build_command(&world().window(), &at("out.so"));
    command
        .args(["-t", "pvc", "--image", "0-5"])
        .arg("--save-temps")
        .arg(at("temps"))
        .arg("--report")
        .arg(at("r.json"));
    succeed(command.arg("--time-trace").arg(at("t.json")));

    for image in 0..6 {
        for (target, device) in [("intel_gpu_pvc", Some("pvc")), ("spir64_x86_64", None)] {
            let kept = |end: &str| at("temps").join(format!("{image}.{target}.{end}"));
            succeed(needed("spirv-val").arg(kept("spv")));
            assert!(std::fs::read(kept("opts")).unwrap().ends_with(b"\n"));
            let binary = std::fs::read(kept("bin")).unwrap();
            assert!(binary.starts_with(b"\x7fELF"), "{target}");
            if let Some(device) = device {
                let mut ocloc = needed("ocloc");
                ocloc.args([
                    "compile",
                    "-exclude_ir",
                    "-spirv_input",
                    "-device",
                    device,
                    "-output_no_suffix",
                    "-output",
                    "again",
                    "--format",
                    "zebin",
                ]);
                ocloc.arg("-options").arg(std::fs::read_to_string(kept("opts")).unwrap().trim());
                succeed(ocloc.arg("-file").arg(kept("spv")).arg("-out_dir").arg(folder.path()));
                let again = ["again", "again.bin"].map(at).into_iter().find(|path| path.is_file()).unwrap();
                assert!(std::fs::read(again).unwrap() == binary, "ocloc makes the same of what was kept");
            }
        }
    }

    let report = json(&at("r.json"));
    let images = report["images"].as_array().unwrap();
    assert_eq!(images.len(), 12);
    let output = succeed(tool().arg("kernels").arg(at("out.so")).args(["--format", "json"]));
    let kernels: Value = serde_json::from_slice(&output.stdout).unwrap();
    let registers = |name: &Value, wanted: &Value| {
        let all = kernels["kernels"].as_array().unwrap().iter().filter(|kernel| kernel["name"] == *name);
        let mut natives = all.flat_map(|kernel| kernel["native"].as_array().unwrap());
        natives.any(|native| native["registers"] == *wanted)
    };
    let mut of_gpu = 0;
    for image in images {
        assert_eq!(image["how"], "compiled");
        assert!(image["seconds"].as_f64().unwrap() > 0.0 && image["module_bytes"].as_u64().unwrap() > 500);
        for kernel in image["kernels"].as_array().unwrap().iter().filter(|_| image["target"] == "intel_gpu_pvc") {
            assert!(kernel["registers"].as_u64().unwrap() >= 128 && kernel["simd"].as_u64().unwrap() >= 8);
            assert!(registers(&kernel["name"], &kernel["registers"]), "{kernel}");
            of_gpu += 1;
        }
    }
    assert!(of_gpu >= 6);

    let trace = json(&at("t.json"));
    let events = trace.as_array().unwrap();
    let mut spans: Vec<(u64, u64, u64)> = Vec::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let number = |name: &str| event[name].as_u64().unwrap();
        assert!(event["args"]["bytes"].as_u64().unwrap() > 0 && event["args"]["attempts"] == 1, "{event}");
        spans.push((number("tid"), number("ts"), number("ts") + number("dur")));
    }
    assert_eq!(spans.len(), 12);
    spans.sort_unstable();
    assert!(spans.windows(2).all(|two| two[0].0 != two[1].0 || two[0].2 <= two[1].1), "{spans:?}");
    assert_eq!(events.iter().filter(|event| event["ph"] == "M").count(), 2, "two workers");
}

/// An option that the driver refuses.
#[test]
fn the_first_failure_ends_a_build_that_is_to_fail_fast_and_its_module_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut command = tool();
    command.arg("build").arg(world().window()).args(["-t", "spir64_x86_64", "--options", "--no-such-option", "-j1"]);
    command.arg("--save-temps").arg(at("temps")).arg("-o").arg(at("out.so"));
    let slow = command.output().unwrap();
    assert_eq!(slow.status.code(), Some(4), "{}", tail(&slow.stderr));
    assert!(at("out.so").exists(), "all others are tried, and the output is written");
    let named = |end: &str| at("temps").join(format!("7.spir64_x86_64.{end}"));
    assert!(named("spv").exists() && named("opts").exists() && !named("bin").exists());
    std::fs::remove_file(at("out.so")).unwrap();
    let fast = command.arg("--fail-fast").output().unwrap();
    let said = tail(&fast.stderr);
    assert_eq!(fast.status.code(), Some(4), "{said}");
    assert!(!at("out.so").exists() && said.contains("0 of 20 images compiled"), "{said}");
    assert_eq!(said.matches("error: image ").count(), 1, "one was tried: {said}");
}

/// Outputs that did not all build are made again: no stamp appears, and the rule that `make` reads names both. Records never
/// take the place of what is read or written.
#[test]
fn what_failed_leaves_no_stamp_and_records_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(world().window(), at("in.so")).unwrap();
    let input = std::fs::read(at("in.so")).unwrap();
    let build = |more: &[&str]| {
        let mut command = build_command(Path::new("in.so"), Path::new("out.so"));
        command.current_dir(folder.path()).args(["--image", "0-1", "-MD", "--stamp", "done"]).args(more);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for records in [["--report", "in.so"], ["--time-trace", "./in.so"], ["--report", "out.so"], ["--MF", "in.so"]] {
        let (code, said) = build(&records);
        assert!(code == Some(2) && said.contains("would replace"), "{records:?}: {said}");
    }
    // Files of an image, which are named once it is known what is compiled.
    for file in ["--report", "--time-trace"] {
        let (code, said) = build(&["--save-temps", "temps", file, "temps/0.spir64_x86_64.opts"]);
        assert!(code == Some(2) && said.contains("would replace"), "{file}: {said}");
        assert!(
            !at("temps/0.spir64_x86_64.opts").exists() && !at("out.so").exists(),
            "{file}: before anything is compiled"
        );
    }
    let (code, said) = build(&["--options=-bogus"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(!at("done").exists() && at("out.so").exists(), "{said}");
    let (code, said) = build(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(at("done").exists());
    let rule = std::fs::read_to_string(at("out.so.d")).unwrap();
    assert!(rule.starts_with("done out.so:"), "{rule}");
    assert!(std::fs::read(at("in.so")).unwrap() == input);
}

/// Two kernels of our own: one holds more values than there are registers, the other none to speak of.
fn kernels() -> String {
    let values = 0..160;
    let each = |line: &dyn Fn(usize) -> String| values.clone().map(line).collect::<String>();
    let load = each(&|at| format!("float v{at} = p[i + n * {at}];\n"));
    let mix = each(&|at| format!("v{at} = v{at} * v{} + v{};\n", (at * 7 + 3) % 160, (at * 13 + 5) % 160));
    let store = each(&|at| format!("p[i + n * {at}] = v{at};\n"));
    format!(
        "kernel void spills(global float* p, uint n) {{ size_t i = get_global_id(0);\n{load}for (uint round = 0; round < n; \
         ++round) {{ {mix} }}\n{store} }}\nkernel void spares(global float* p) {{ p[get_global_id(0)] += 1; }}\n"
    )
}

/// ocloc 22.43 does not tell spills from private arrays; what it tells of both together bounds them.
#[test]
fn a_kernel_that_ocloc_makes_spill_does_not_pass_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("k.cl"), kernels()).unwrap();
    let mut ocloc = needed("ocloc");
    ocloc.current_dir(at).args(["compile", "-file", "k.cl", "-device", "skl", "-spv_only", "-output", "k"]);
    succeed(ocloc.arg("-output_no_suffix"));
    let module = ["k.spv", "k"].map(|name| at.join(name)).into_iter().find(|path| path.is_file()).unwrap();
    std::fs::rename(module, at.join("module.spv")).unwrap();
    let mut build = tool();
    build.current_dir(at).args(["build", "module.spv", "-t", "acm-g10", "-o", "k.table", "--report", "r.json"]);
    succeed(&mut build);
    let report = json(&at.join("r.json"));
    let scratch = |name: &str| {
        let kernels = report["images"][0]["kernels"].as_array().unwrap();
        kernels.iter().find(|kernel| kernel["name"] == name).unwrap()["scratch"].as_u64().unwrap_or(0)
    };
    assert!(scratch("spills") > 0 && scratch("spares") == 0, "{report}");
    let check = |most: u64| {
        std::fs::write(at.join("sycl-bundle.toml"), format!("[check.budget]\nspill = {most}\n")).unwrap();
        let mut command = tool();
        command.current_dir(at).args(["check", "k.table", "-t", "acm-g10", "--strict"]).output().unwrap()
    };
    let refused = check(0);
    let said = tail(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("budget-spill") && said.contains(&format!("{} bytes together", scratch("spills"))), "{said}");
    assert!(said.contains("image 1: spills") && !said.contains("image 1: spares"), "{said}");
    let fits = check(scratch("spills"));
    assert_eq!(fits.status.code(), Some(0), "{}", tail(&fits.stdout));
}
