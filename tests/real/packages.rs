//! Does every package that others ship end with an answer, and with the right counts?
//!
//! Blender, bitsandbytes, TensorFlow's extension, oneCCL, oneMKL, Open3D and llama.cpp, for Linux and for Windows: native
//! code of three makers beside SPIR-V, libraries of 2 GiB, files of thousands of images. `SYCL_BUNDLE_PACKAGES` names a
//! folder that has, or gets, the folder `packages`.

use crate::support::tools::needed;
use crate::tool::tool;
use crate::world::{scripts, succeed, world};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A package by the start and end of its file, with the files that hold device code, and the images and kernels in them
/// by format.
struct Package {
    name: &'static str,
    platform: &'static str,
    files: usize,
    kernels: usize,
    images: &'static [(&'static str, usize)],
}

#[rustfmt::skip]
const PACKAGES: [Package; 13] = [
    Package { name: "auto_round_lib", platform: "manylinux_2_28_x86_64", files: 1, kernels: 622, images: &[("spirv", 263)] },
    Package { name: "bigdl_core_cpp", platform: "manylinux2010_x86_64", files: 2, kernels: 763, images: &[("spirv", 75)] },
    Package { name: "bigdl_core_xe_all", platform: "manylinux2010_x86_64", files: 3, kernels: 1012, images: &[("spirv", 61)] },
    Package { name: "bitsandbytes", platform: "manylinux_2_24_x86_64", files: 15, kernels: 21_959, images: &[("ar", 6), ("fatbin", 49), ("hsaco", 218), ("spirv", 8)] },
    Package { name: "bitsandbytes", platform: "win_amd64", files: 12, kernels: 11_809, images: &[("ar", 6), ("fatbin", 49), ("hsaco", 102), ("spirv", 8)] },
    Package { name: "bpy", platform: "manylinux_2_28_x86_64", files: 56, kernels: 4093, images: &[("ar", 76), ("cubin", 9), ("fatbin", 5), ("hsaco", 84), ("ptx", 6), ("spirv", 102)] },
    Package { name: "bpy", platform: "win_amd64", files: 56, kernels: 4090, images: &[("ar", 76), ("cubin", 9), ("fatbin", 5), ("hsaco", 84), ("ptx", 6), ("spirv", 99)] },
    Package { name: "dpnp", platform: "win_amd64", files: 12, kernels: 1265, images: &[("spirv", 1272)] },
    Package { name: "intel_extension_for_tensorflow_lib", platform: "manylinux2014_x86_64", files: 6, kernels: 44_318, images: &[("ar", 722), ("spirv", 736)] },
    Package { name: "oneccl", platform: "manylinux_2_28_x86_64", files: 5, kernels: 31_921, images: &[("spirv", 30_464)] },
    Package { name: "onemkl_sycl_stats", platform: "win_amd64", files: 1, kernels: 816, images: &[("spirv", 816)] },
    Package { name: "onemkl_sycl_vm", platform: "manylinux_2_28_x86_64", files: 1, kernels: 4635, images: &[("spirv", 5573)] },
    Package { name: "open3d_xpu", platform: "manylinux_2_35_x86_64", files: 8, kernels: 2205, images: &[("spirv", 88)] },
];

/// Fetches the packages and returns the wheel of one.
fn wheel(folder: &Path, package: &Package) -> PathBuf {
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&format!("{}-", package.name)) && name.ends_with(&format!("{}.whl", package.platform))
    };
    let mut all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.find(wanted).unwrap_or_else(|| panic!("{} for {}", package.name, package.platform))
}

#[test]
fn every_package_is_read_to_its_end() {
    let root = std::env::var_os("SYCL_BUNDLE_PACKAGES").map_or_else(|| world().root().to_owned(), PathBuf::from);
    let output = succeed(needed("python3").arg(scripts().join("fetch.py")).arg("--packages").arg(root));
    let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    for package in PACKAGES {
        let wheel = wheel(&folder, &package);
        let output = succeed(tool().arg("inspect").arg(&wheel).args(["--format", "json"]));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let files = report["files"].as_array().unwrap();
        let (mut kernels, mut formats) = (0, BTreeMap::new());
        for file in files {
            assert_eq!(file["problems"], Value::Array(Vec::new()), "{}", file["path"]);
            for image in file["images"].as_array().unwrap() {
                kernels += image["kernels"].as_array().unwrap().len();
                *formats.entry(image["format"].as_str().unwrap()).or_insert(0) += 1;
            }
        }
        let seen = (files.len(), kernels, formats.into_iter().collect::<Vec<_>>());
        assert_eq!(
            seen,
            (package.files, package.kernels, package.images.to_vec()),
            "{} {}",
            package.name,
            package.platform
        );
        for verb in ["kernels", "props"] {
            succeed(tool().arg(verb).arg(&wheel).args(["--format", "json"]));
        }
        // The answer may be no: explicit SIMD, and sub-groups of 8, do not run everywhere. It is an answer.
        let output = tool().arg("check").arg(&wheel).args(["-t", "pvc", "--format", "json"]).output().unwrap();
        let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
        let expected = if verdict["verdict"] == "incompatible" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{}: {}", wheel.display(), verdict["verdict"]);
    }
}
