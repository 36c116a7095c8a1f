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
