//! Does `build` make native images for Intel GPUs that Intel's own tools take, that the runtime tells apart and leaves
//! alone where the device is a CPU, and does it refuse what `check` says cannot run?
//!
//! `ocloc` compiles without a GPU (Debian's package intel-opencl-icd). Its `validate` knows the form of newer releases
//! only; its `disasm` takes patch tokens, and its own `query` says nothing of them.

use crate::support::tools::needed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::installation::Installation;
use crate::tool::{images_of, inspect, tool};
use crate::world::{WINDOW, succeed, world};

/// GPUs that ocloc 22.43 knows, of every generation and with and without double precision.
const GPUS: [&str; 8] = [
    "intel_gpu_bdw",
    "intel_gpu_skl",
    "intel_gpu_glk",
    "intel_gpu_icllp",
    "intel_gpu_tgllp",
    "intel_gpu_dg1",
    "intel_gpu_acm_g10",
    "intel_gpu_pvc",
];

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command).stdout).unwrap()
}

fn build(output: &Path, more: &[&str]) -> Value {
    let mut command = tool();
    command.arg("build").arg(world().window()).arg("-o").arg(output);
    json(command.args(["-t", &GPUS.join(","), "--format", "json", "--no-cache"]).args(more))
}

/// Images that cannot run on a target, by `check`.
fn refused(target: &str) -> BTreeSet<u64> {
    let output = tool().arg("check").arg(world().window()).args(["-t", target, "--format", "json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["targets"][0]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["image"].as_u64().unwrap()).collect()
}

/// Whether `ocloc disasm` takes a binary, and which kernels it finds.
fn disassembled(file: &Path, device: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = needed("ocloc");
    command.arg("disasm").arg("-file").arg(file).args(["-device", device, "-dump"]).arg(folder.path());
    let output = succeed(command.current_dir(folder.path()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Of zebin a list of sections, of patch tokens, which GPUs before Xe get, a file for each kernel.
    if let Ok(sections) = std::fs::read_to_string(folder.path().join("sections.txt")) {
        let code = sections.lines().filter_map(|line| line.strip_prefix(".text.")?.split(',').next());
        return code.map(str::to_owned).collect();
    }
    assert!(folder.path().join("PTM.txt").is_file(), "{said}");
    let parts = std::fs::read_dir(folder.path()).unwrap().map(|part| part.unwrap().file_name().into_string().unwrap());
    parts.filter_map(|part| part.split_once("_KernelHeap.").map(|(kernel, _)| kernel.to_owned())).collect()
}

#[test]
fn eight_gpus_get_native_images_where_check_says_that_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("window.so");
    let built = build(&output, &["--jobs", "2"]);
    assert_eq!(built["failed"], serde_json::json!([]), "ocloc compiles what check lets pass");
    let file = inspect(&output);
    let gpu = images_of(&file, "spir64_gen");
    assert_eq!(images_of(&file, "spir64").len(), 20, "the SPIR-V stays");

    let mut skipped: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for one in built["skipped"].as_array().unwrap() {
        skipped.entry(one["target"].as_str().unwrap()).or_default().insert(one["image"].as_u64().unwrap());
    }
    let names = |image: &Value| -> BTreeSet<String> {
        image["kernels"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    for target in GPUS {
        let own: Vec<&&Value> = gpu.iter().filter(|image| image["compile_target"] == target).collect();
        let refused = refused(target);
        assert_eq!(skipped.get(target).cloned().unwrap_or_default(), refused, "{target}");
        assert_eq!(own.len(), 20 - refused.len(), "{target}");
        let of = built["targets"].as_array().unwrap().iter().find(|one| one["target"] == target).unwrap();
        assert_eq!((&of["spec"], &of["compile_target"]), (&Value::from("spir64_gen"), &Value::from(target)));
        assert_eq!(of["compiled"].as_u64().unwrap() as usize, own.len());
        assert!(own.iter().all(|image| image["state"] == "executable"));
    }
    assert_eq!(skipped.values().map(BTreeSet::len).max(), Some(10), "half of the kernels need fp64");

    // Intel's own tool takes each of them apart, and finds the kernel.
    let parts = folder.path().join("parts");
    succeed(tool().arg("extract").arg(&output).args(["--target", "spir64_gen", "-o"]).arg(&parts));
    let report = inspect(&parts.join("images.table"));
    let images = report["images"].as_array().unwrap();
    assert_eq!(images.len(), gpu.len());
    let table = std::fs::read_to_string(parts.join("images.table")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('[')).collect();
    for (row, image) in rows.iter().zip(images) {
        let target = image["compile_target"].as_str().unwrap();
        let device = target.trim_start_matches("intel_gpu_").replace('_', "-");
        let code = parts.join(row.split('|').next().unwrap());
        assert_eq!(disassembled(&code, &device), names(image), "{target}");
    }
    // The code itself tells what was compiled: its device's kernels, with the resources that they take.
    let kernels = json(tool().arg("kernels").arg(&output).args(["--target", "spir64_gen", "--format", "json"]));
    let kernels = kernels["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), gpu.len());
}

/// Verdicts of ocloc itself on every image on a GPU without double precision.
#[test]
fn ocloc_refuses_what_check_says_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    succeed(tool().arg("extract").arg(world().window()).arg("-o").arg(&parts));
    let table = std::fs::read_to_string(parts.join("images.table")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('['));
    let refused_by_ocloc: BTreeSet<u64> = rows
        .enumerate()
        .filter(|(_, row)| {
            let module = parts.join(row.split('|').next().unwrap());
            let mut command = needed("ocloc");
            command.args(["compile", "-q", "-spirv_input", "-device", "dg1", "-output_no_suffix", "-file"]).arg(module);
            !command.current_dir(folder.path()).output().unwrap().status.success()
        })
        .map(|(image, _)| image as u64)
        .collect();
    assert_eq!(refused_by_ocloc, refused("intel_gpu_dg1"));
    assert_eq!(refused_by_ocloc.len(), 10);
}

/// The runtime reads the images of all devices, chooses those of the one that is there, and computes the same.
#[test]
fn the_runtime_runs_a_library_for_gpus_and_cpus_on_a_cpu() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in [("plain.so", &[][..]), ("compressed.so", &["--compress"][..])] {
        let output = folder.path().join(name);
        build(&output, &[&["-t", "spir64_x86_64"][..], more].concat());
        let windows = Installation::with(&[(WINDOW, &output)]).trace_windows();
        assert_eq!((windows.il_programs, windows.from_il.len()), (0, 0), "{name}: {windows:?}");
        assert!(windows.binary_programs >= 5, "{name}: {windows:?}");
    }
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
    assert!(size("compressed.so") < size("plain.so") * 3 / 4);
    let natives = inspect(&folder.path().join("compressed.so"));
    assert!(images_of(&natives, "spir64_gen").iter().all(|image| image["compression"] == "zstd"));

    // Without native code for the CPU the images for GPUs are passed over.
    let gpus = folder.path().join("gpus.so");
    build(&gpus, &[]);
    let windows = Installation::with(&[(WINDOW, &gpus)]).trace_windows();
    assert!(windows.il_programs >= 5 && windows.binary_programs == 0, "{windows:?}");
}

/// A later build replaces what it builds anew, and leaves the other targets' images alone.
#[test]
fn another_build_replaces_and_does_not_double() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |input: &Path, targets: &str, output: &str, more: &[&str]| {
        succeed(tool().arg("build").arg(input).args(["-t", targets, "-o"]).arg(at(output)).args(more));
        inspect(&at(output))
    };
    let count = |file: &Value| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for image in file["images"].as_array().unwrap() {
            let name = image["compile_target"].as_str().or(image["target"].as_str()).unwrap();
            *counts.entry(name.to_owned()).or_default() += 1;
        }
        counts
    };
    let expected = |of: &[(&str, usize)]| of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let once = run(&world().window(), "skl,spir64_x86_64", "once.so", &[]);
    let both: BTreeMap<String, usize> = expected(&[("intel_gpu_skl", 20), ("spir64", 20), ("spir64_x86_64", 20)]);
    assert_eq!(count(&once), both);
    let twice = run(&at("once.so"), "skl,spir64_x86_64", "twice.so", &[]);
    assert_eq!(count(&twice), both);
    assert!(std::fs::read(at("once.so")).unwrap() == std::fs::read(at("twice.so")).unwrap());
    let more = run(&at("once.so"), "dg1", "more.so", &[]);
    let three = expected(&[("intel_gpu_dg1", 10), ("intel_gpu_skl", 20), ("spir64", 20), ("spir64_x86_64", 20)]);
    assert_eq!(count(&more), three);

    // Without SPIR-V: what a target cannot run is native for the other.
    let bare = run(&world().window(), "dg1,spir64_x86_64", "bare.so", &["--no-spirv"]);
    assert_eq!(count(&bare), expected(&[("intel_gpu_dg1", 10), ("spir64_x86_64", 20)]));
    let windows = Installation::with(&[(WINDOW, &at("bare.so"))]).trace_windows();
    assert_eq!((windows.il_programs, windows.from_il.len()), (0, 0), "{windows:?}");
    let half = run(&world().window(), "dg1", "half.so", &["--no-spirv"]);
    assert_eq!(
        count(&half),
        expected(&[("intel_gpu_dg1", 10), ("spir64", 10)]),
        "the others are SPIR-V for all others"
    );
}

/// The runtime links what other images import as SPIR-V.
#[test]
fn images_that_export_keep_their_spirv_and_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let extracted =
        tool().arg("extract").arg(world().window()).args(["--image", "1", "-o"]).arg(at("one.table")).output();
    assert!(extracted.unwrap().status.success());
    let table = std::fs::read_to_string(at("one.table")).unwrap();
    let properties = at(table.lines().nth(1).unwrap().split('|').nth(1).unwrap());
    let plain = std::fs::read_to_string(&properties).unwrap();
    for (more, rows) in [("", 1), ("[SYCL/exported symbols]\nf=1|1\n", 2)] {
        std::fs::write(&properties, format!("{plain}{more}")).unwrap();
        let mut build = tool();
        build.arg("build").arg(at("one.table")).args(["-t", "spir64_x86_64", "--no-spirv", "-o"]).arg(at("out.table"));
        let done = build.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        assert_eq!(said.contains("the SPIR-V of 1 image stays"), rows == 2, "{said}");
        assert_eq!(std::fs::read_to_string(at("out.table")).unwrap().lines().count(), 1 + rows, "{said}");
    }
}

#[test]
fn what_cannot_be_is_told_before_anything_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    let fails = |arguments: &[&str], status: i32, words: &[&str]| {
        let mut command = tool();
        let done = command.arg("build").arg(world().window()).arg("-o").arg(&output).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
        assert!(!output.exists(), "{arguments:?}");
    };
    // Newer than Debian's.
    fails(&["-t", "intel_gpu_bmg_g21"], 5, &["does not know intel_gpu_bmg_g21"]);
    fails(&["-t", "intel_gpu_pcv"], 2, &["intel_gpu_pvc"]);
    fails(&["-t", "gfx90a"], 2, &["no target that can be compiled for"]);
    fails(&["-t", "skl", "--ocloc", "/nowhere/libocloc.so"], 5, &["/nowhere/libocloc.so"]);
    fails(&["-t", "skl", "--ocloc", "/nowhere/ocloc"], 5, &["/nowhere/ocloc"]);
    fails(&["-t", "dg1", "--all-or-nothing"], 4, &["does not become native for intel_gpu_dg1", "fp64", "9 more"]);
    fails(&["-t", "spir64_x86_64", "--device", "cpu"], 2, &["the same to the runtime"]);
    fails(&["--device", "gpu"], 5, &["no OpenCL device"]);
}

/// The program in place of the library makes the same code.
#[test]
fn the_program_and_the_library_make_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str, more: &[&str]| {
        let output = folder.path().join(name);
        let mut command = tool();
        command.arg("build").arg(world().window()).args(["-t", "skl", "--no-cache", "-o"]).arg(&output);
        succeed(command.args(["--kernel", "*kaiser*"]).args(more));
        std::fs::read(output).unwrap()
    };
    assert!(build("library.so", &[]) == build("program.so", &["--ocloc", "ocloc"]));
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().contains("sycl-bundle-ocloc")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The device that is there, compiled for by its own driver.
#[test]
fn a_live_device_is_compiled_for_by_its_own_driver() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("live.so");
    let mut command = tool();
    let built = json(
        command.arg("build").arg(world().window()).args(["--device", "cpu", "--format", "json", "-o"]).arg(&output),
    );
    assert_eq!(built["targets"][0]["spec"], "spir64_x86_64");
    assert_eq!(images_of(&inspect(&output), "spir64_x86_64").len(), 20);
    let windows = Installation::with(&[(WINDOW, &output)]).trace_windows();
    assert_eq!(windows.il_programs, 0, "{windows:?}");
}
