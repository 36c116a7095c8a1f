//! Do the oldest and the newest offline compiler of Intel's GPUs build alike?
//!
//! The oldest is that of Debian 12 (`ocloc`, package intel-opencl-icd, 22.43), the newest that of Debian unstable, which
//! `unstable.sh` unpacks beside the build.

use std::path::Path;

use serde_json::Value;

use crate::support::spirv;
use crate::tool::{images_of, inspect, tool};
use crate::unstable::intel;
use crate::world::{WINDOW, succeed, world};

/// The newest compiles calls of functions that nobody defines; drivers refuse the code then.
#[test]
fn code_with_open_calls_is_not_delivered() {
    let text = include_str!("../../fixtures/spirv/calls_import.spvasm");
    let folder = tempfile::tempdir().unwrap();
    // As older compilers leave calls of their device library: no property set lists them.
    let text = text.replace("\"imported\"", "\"__devicelib_ConvertFToBF16INTEL\"");
    std::fs::write(folder.path().join("m.spv"), spirv::assemble(&text).unwrap()).unwrap();
    std::fs::write(folder.path().join("m.sym"), "calls_import\n").unwrap();
    let mut build = tool();
    build.current_dir(folder.path()).args(["build", "m.spv", "-t", "pvc", "--no-cache", "-o", "m.table", "--ocloc"]);
    let done = build.arg(intel().program("ocloc")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(said.contains("the code calls __devicelib_ConvertFToBF16INTEL"), "{said}");
}

/// Modules of a device library: the functions that another module or the image calls, and one that nobody does.
const LIBRARY: [(&str, &str); 2] = [
    (
        "libsycl-fallback-bfloat16.spv",
        "OpDecorate %f LinkageAttributes \"__devicelib_ConvertFToBF16INTEL\" Export
         OpDecorate %g LinkageAttributes \"__devicelib_imf_twice\" Import
         %uint = OpTypeInt 32 0
         %unary = OpTypeFunction %uint %uint
         %g = OpFunction %uint None %unary
         %y = OpFunctionParameter %uint
         OpFunctionEnd
         %f = OpFunction %uint None %unary
         %x = OpFunctionParameter %uint
         %entry = OpLabel
         %called = OpFunctionCall %uint %g %x
         OpReturnValue %called
         OpFunctionEnd",
    ),
    (
        "libsycl-fallback-imf.spv",
        "OpDecorate %f LinkageAttributes \"__devicelib_imf_twice\" Export
         OpDecorate %g LinkageAttributes \"__devicelib_imf_other\" Export
         %uint = OpTypeInt 32 0
         %unary = OpTypeFunction %uint %uint
         %f = OpFunction %uint None %unary
         %x = OpFunctionParameter %uint
         %entry = OpLabel
         %sum = OpIAdd %uint %x %x
         OpReturnValue %sum
         OpFunctionEnd
         %g = OpFunction %uint None %unary
         %y = OpFunctionParameter %uint
         %start = OpLabel
         OpReturnValue %y
         OpFunctionEnd",
    ),
];

/// Functions that an image of the time calls are linked with it, out of two modules, and the driver takes the code.
#[test]
fn the_device_library_of_older_runtimes_is_linked() {
    let text = include_str!("../../fixtures/spirv/calls_import.spvasm");
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("library");
    std::fs::create_dir(&library).unwrap();
    for (name, code) in LIBRARY {
        let head =
            "OpCapability Addresses\nOpCapability Linkage\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n";
        std::fs::write(library.join(name), spirv::assemble(&format!("{head}{code}")).unwrap()).unwrap();
    }
    let text = text.replace("\"imported\"", "\"__devicelib_ConvertFToBF16INTEL\"");
    std::fs::write(folder.path().join("m.spv"), spirv::assemble(&text).unwrap()).unwrap();
    std::fs::write(folder.path().join("m.sym"), "calls_import\n").unwrap();
    for (ocloc, gpu) in
        [(Path::new("ocloc"), "pvc"), (&intel().program("ocloc"), "pvc"), (&intel().program("ocloc"), "dg1")]
    {
        let mut build = tool();
        build.current_dir(folder.path()).args([
            "build",
            "m.spv",
            "-t",
            gpu,
            "--no-cache",
            "--no-spirv",
            "-o",
            "m.table",
        ]);
        succeed(build.arg("--device-library").arg(&library).arg("--ocloc").arg(ocloc));
        let mut ask = intel().tool();
        ask.arg("kernels").arg(folder.path().join("m.table")).args([
            "--device",
            &format!("sim:{gpu}"),
            "--format",
            "json",
        ]);
        let report: Value = serde_json::from_slice(&succeed(&mut ask).stdout).unwrap();
        let answers = report["kernels"][0]["devices"].as_object().unwrap().values().next().unwrap();
        assert!(answers["work_group_size"].is_u64(), "{gpu}: {answers}");
    }
}

/// Patch tokens, as the oldest makes them by itself: whether drivers take them depends on their version.
#[test]
fn old_code_is_said_to_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("m.spv");
    std::fs::write(&module, spirv::module("add_one")).unwrap();
    let mut ocloc = std::process::Command::new("ocloc");
    ocloc.current_dir(folder.path()).args(["compile", "-q", "-spirv_input", "-exclude_ir", "-output_no_suffix"]);
    succeed(ocloc.args(["-file", "m.spv", "-device", "pvc", "-output", "old.bin"]));
    let check = |mut tool: std::process::Command, words: &[&str]| {
        let done = tool.arg("check").arg(folder.path().join("old.bin")).args(words).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (status, said) = check(tool(), &["-t", "pvc"]);
    assert!(
        status == Some(0) && said.contains("unknown") && said.contains("drivers since 26.18"),
        "{status:?}: {said}"
    );
    let (status, said) = check(intel().tool(), &["--device", "sim:pvc"]);
    assert!(
        status == Some(1) && said.contains("is refused (-42) by Intel's drivers since 26.18"),
        "{status:?}: {said}"
    );
    let inspected = succeed(tool().arg("inspect").arg(folder.path().join("old.bin")).args(["--image", "0"])).stdout;
    assert!(String::from_utf8_lossy(&inspected).contains("Refused by"), "{}", String::from_utf8_lossy(&inspected));
}

/// Builds dpnp's window library for a GPU; gives what `inspect` says of the result's native images.
fn built(ocloc: &Path, target: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    let mut build = tool();
    build.arg("build").arg(world().site_packages().join("dpnp").join(WINDOW)).args([
        "-t",
        target,
        "--no-cache",
        "--ocloc",
    ]);
    succeed(build.arg(ocloc).arg("-o").arg(&output));
    images_of(&inspect(&output), "spir64_gen").into_iter().cloned().collect()
}

#[test]
fn every_image_for_the_gpu_is_built_by_the_oldest_and_the_newest() {
    let newest = intel().program("ocloc");
    for (ocloc, target, images) in [
        (Path::new("ocloc"), "intel_gpu_pvc", 20),
        (Path::new("ocloc"), "intel_gpu_acm_g10", 10),
        (&newest, "intel_gpu_pvc", 20),
        // Without double precision.
        (&newest, "intel_gpu_acm_g10", 10),
        (&newest, "intel_gpu_bmg_g21", 20),
        (&newest, "intel_gpu_lnl_m", 20),
    ] {
        let natives = built(ocloc, target);
        assert_eq!(natives.len(), images, "{} for {target}", ocloc.display());
        for native in natives {
            assert_eq!(native["problems"].as_array().map_or(0, Vec::len), 0, "{native}");
            // Patch tokens of 22.43 name a family of two.
            assert!(native["native"]["devices"].as_array().unwrap().contains(&target.into()), "{native}");
        }
    }
}
