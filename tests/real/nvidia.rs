//! Is code for NVIDIA GPUs made of dpnp's images, and found in it by NVIDIA's own tools?
//!
//! Needs llvm-spirv and libclc beside LLVM and clang (`tests/real/programs.txt`); CUDA's ptxas comes from PyPI. What the code
//! computes is seen on a GPU only. There a person runs, in `tests/real/nvidia`: `builtins.py`, which compares the built-ins with
//! their definitions; `kernels.py`, which compares kernels of libraries with the CPU's results; and `driver.py`, which tries
//! assertions, printing and variables of the device.

use crate::compiler::optimised_of;
use crate::support::spirv::module;
use crate::support::tools::{cuda, tool as program};
use crate::tool::{images_of, inspect, tool};
use crate::world::{succeed, tail, world};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Compiles images of the window library to `output`.
fn build_window(output: &Path, more: &[&str]) -> Value {
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
    let built = build_window(&output, &["-t", "nvidia_gpu_sm_90", "--image", "0", "--image", "9"]);
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
    build_window(&output, &["-t", "nvidia_gpu_sm_80,nvidia_gpu_sm_90", "--ptx", "--image", "1"]);
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

/// The one fat binary among the parts of a table, in which PTX is text.
fn fatbin(folder: &Path, stem: &str) -> String {
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let is_it =
        |path: &PathBuf| path.to_string_lossy().contains(stem) && path.extension().is_some_and(|it| it == "fatbin");
    let found: Vec<PathBuf> = names.filter(is_it).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    String::from_utf8_lossy(&std::fs::read(&found[0]).unwrap()).into_owned()
}

/// Limits of a launch stand in the code, and in the properties for the runtime.
#[test]
fn work_groups_are_those_of_the_source_or_of_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("sum.spv");
    // The kernel requires 32 work-items.
    std::fs::write(&path, module("bounded_sum")).unwrap();
    let table = folder.join("required.table");
    let mut build = tool();
    build.arg("build").arg(&path).args(["-t", "nvidia_gpu_sm_90", "--ptx", "--cuda"]).arg(cuda());
    succeed(build.args(["--options", "-cl-denorms-are-zero", "-o"]).arg(&table));
    let code = fatbin(folder, "required_");
    assert!(code.contains(".reqntid 32, 1, 1") && !code.contains(".maxntid") && code.contains("add.ftz.f32"));
    let props = succeed(tool().args(["props", "--format", "json"]).arg(&table)).stdout;
    let props = String::from_utf8_lossy(&props).into_owned();
    assert!(props.contains("_ZTS11bounded_sum@reqd_work_group_size"), "{props}");

    build_window(&folder.join("free.table"), &["-t", "nvidia_gpu_sm_90", "--ptx", "--image", "2"]);
    let code = fatbin(folder, "free_");
    assert!(code.contains(".maxntid 1024, 1, 1") && code.contains(".minnctapersm 1") && !code.contains(".ftz."));
}

/// Functions and variables that the driver knows are left to it, by their names.
#[test]
fn assertions_printing_and_variables_are_the_drivers() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = [
        ("asserted", vec![".extern .func __assertfail"]),
        ("printed", vec!["vprintf", "cvt.f64.f32"]),
        ("device_global", vec![".visible .global .align 8 .b8 counter[16]", "ld.global.b64"]),
    ];
    let sources = optimised_of("", |name| wanted.iter().any(|(source, _)| *source == name));
    assert_eq!(sources.len(), wanted.len());
    for compiled in sources {
        let output = folder.path().join(format!("{}.table", compiled.source));
        let mut build = tool();
        build.arg("build").arg(compiled.table()).args(["-t", "nvidia_gpu_sm_90", "--ptx", "--cuda"]).arg(cuda());
        succeed(build.arg("-o").arg(&output));
        let made = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        let made = made.filter(|path| path.extension().is_some_and(|end| end == "fatbin"));
        let own = made.filter(|path| path.to_string_lossy().contains(&format!("{}_", compiled.source)));
        let code: String =
            own.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect();
        for text in wanted.iter().filter(|(source, _)| *source == compiled.source).flat_map(|(_, texts)| texts) {
            assert!(code.contains(text), "{}: {text} not in {code}", compiled.label());
        }
    }
}
