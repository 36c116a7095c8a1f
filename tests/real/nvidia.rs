//! Is code for NVIDIA GPUs made of dpnp's images, and found in it by NVIDIA's own tools?
//!
//! Needs llvm-spirv and libclc beside LLVM and clang (`tests/real/programs.txt`); CUDA's ptxas comes from PyPI. What the code
//! computes is seen on a GPU only: `tests/real/nvidia/builtins.py` compares the built-ins there.

use crate::support::tools::{cuda, tool as program};
use crate::tool::{images_of, inspect, tool};
use crate::world::{succeed, tail, world};
use serde_json::Value;
use std::path::Path;

/// Compiles images of the window library to `output`.
fn build(output: &Path, more: &[&str]) -> Value {
    program("llvm-spirv-15");
    let mut command = tool();
    command.arg("build").arg(world().window()).arg("--cuda").arg(cuda()).args(["--format", "json", "-o"]).arg(output);
    let output = succeed(command.args(more));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", tail(&output.stdout)))
}

#[test]
fn window_kernels_become_cubins_that_cuobjdump_reads() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("window.so");
    let built = build(&output, &["-t", "nvidia_gpu_sm_90", "--image", "0", "--image", "9"]);
    assert_eq!(built["compiled"], 2, "{built}");
    let file = inspect(&output);
    let images = images_of(&file, "nvptx64");
    assert_eq!(images.len(), 2);
    for image in images {
        assert_eq!(image["format"], "cubin");
        let index = image["index"].to_string();
        let part = folder.path().join(format!("{index}.table"));
        succeed(tool().arg("extract").arg(&output).args(["--image", &index, "-o"]).arg(&part));
        let cubin = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        let cubin = cubin.into_iter().find(|path| path.extension().is_some_and(|end| end == "cubin")).unwrap();
        let mut cuobjdump = std::process::Command::new(cuda().join("nvidia/cu13/bin/cuobjdump"));
        let said = succeed(cuobjdump.arg("-res-usage").arg(&cubin));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let kernel = image["kernels"][0].as_str().unwrap();
        assert!(said.contains(&format!("Function {kernel}:")), "{said}");
        std::fs::remove_file(cubin).unwrap();
    }
}

#[test]
fn architectures_share_a_fat_binary() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("window.so");
    build(&output, &["-t", "nvidia_gpu_sm_80,nvidia_gpu_sm_90", "--ptx", "--image", "1"]);
    let file = inspect(&output);
    let images = images_of(&file, "nvptx64");
    assert_eq!(images.len(), 1);
    assert_eq!(images[0]["format"], "fatbin");
    let listed = succeed(tool().args(["inspect", "--image"]).arg(images[0]["index"].to_string()).arg(&output));
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for part in ["elf.sm_80", "elf.sm_90", "ptx.sm_90"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
}
