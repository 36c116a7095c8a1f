//! Do the Linux and the Windows build of one release hold the same images, of 2024's compiler as of 2026's?
//!
//! Both are made of the same source, by one compiler, into files that have nothing in common but the device code. So
//! each is a witness for the other: an image that one reader (ELF, PE) misses, or a requirement read with the wrong
//! numbers, shows. A third count comes from `.tgtimg`, read here.

use crate::support::tools::needed;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _};
use serde_json::Value;

use crate::tool::tool;
use crate::world::{scripts, succeed, world};

/// A release: its wheels, how many images they hold on either system, and how many kernels say that they need fp64 on
/// Windows only.
struct Release {
    versions: [&'static str; 2],
    images: usize,
    fp64_on_windows: usize,
}

const RELEASES: [Release; 2] = [
    Release { versions: ["dpctl-0.17.0", "dpnp-0.15.0"], images: 19_277, fp64_on_windows: 15 },
    Release { versions: ["dpctl-0.22.1", "dpnp-0.20.0"], images: 17_727, fp64_on_windows: 17 },
];

/// Option that the compiler adds to images made on Linux.
const LINUX_OPTION: &str = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";

fn wheels(release: &Release, platform: &str) -> Vec<PathBuf> {
    let output = succeed(needed("python3").arg(scripts().join("fetch.py")).arg("--wheels").arg(world().root()));
    let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(&format!("{platform}.whl")) && release.versions.iter().any(|version| name.starts_with(version))
    };
    let mut found: Vec<PathBuf> = all.filter(wanted).collect();
    found.sort();
    assert_eq!(found.len(), 2, "{platform}");
    found
}

/// Name of a library on every system, after its package.
fn library(path: &str) -> String {
    let (wheel, member) = path.rsplit_once('!').unwrap();
    let package = Path::new(wheel).file_name().unwrap().to_str().unwrap().split('-').next().unwrap();
    let name = member.rsplit('/').next().unwrap();
    // `.spv` files stand in the wheels of both systems under one name.
    let name = if name.ends_with(".spv") { name } else { name.split('.').next().unwrap() };
    format!("{package}/{}", name.strip_prefix("lib").unwrap_or(name))
}

/// Libraries by name. Of two files with the same name (a library and its versioned copy) the first counts.
fn inspect(wheels: &[PathBuf]) -> BTreeMap<String, Value> {
    let output = succeed(tool().arg("inspect").args(wheels).args(["--format", "json"]));
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut libraries = BTreeMap::new();
    for file in report["files"].as_array_mut().unwrap() {
        assert_eq!(file["problems"].as_array().unwrap().len(), 0, "{}", file["problems"]);
        let name = library(file["path"].as_str().unwrap());
        libraries.entry(name).or_insert_with(|| file.take());
    }
    libraries
}

/// A kernel's name and what it needs; 64-bit integers are `long` on one system and `long long` on the other.
fn kernels(file: &Value) -> BTreeMap<String, &Value> {
    let images = file["images"].as_array().unwrap();
    let named = images.iter().flat_map(|image| {
        let names = image["demangled"].as_array().unwrap();
        names.iter().map(move |name| (name.as_str().unwrap().replace("long long", "long"), image))
    });
    let mut kernels = BTreeMap::new();
    for (name, image) in named {
        assert!(kernels.insert(name.clone(), image).is_none(), "{name} is there twice");
    }
    kernels
}

/// Number of images that the libraries of a wheel list in `.tgtimg`: pairs of an address, which a relocation may hold, and a
/// size, which is there on both systems.
fn listed(wheels: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for path in wheels {
        let mut wheel = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
        for at in 0..wheel.len() {
            let mut member = wheel.by_index(at).unwrap();
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).unwrap();
            let Ok(file) = object::File::parse(&*bytes) else { continue };
            let Some(section) = file.section_by_name(".tgtimg") else { continue };
            let data = section.data().unwrap();
            let pairs = data.chunks_exact(16).filter(|pair| pair[8..] != [0; 8]).count();
            counts.entry(library(&format!("{}!{}", path.display(), member.name().unwrap()))).or_insert(pairs);
        }
    }
    counts
}

#[test]
fn linux_and_windows_builds_of_a_release_hold_the_same() {
    for release in &RELEASES {
        let (linux, windows) = (wheels(release, "manylinux_2_28_x86_64"), wheels(release, "win_amd64"));
        let (listed_linux, listed_windows) = (listed(&linux), listed(&windows));
        let (linux, windows) = (inspect(&linux), inspect(&windows));
        assert_eq!(linux.keys().collect::<Vec<_>>(), windows.keys().collect::<Vec<_>>());
        let (mut images, mut fp64_on_windows) = (0, 0);
        for (name, here) in &linux {
            let there = &windows[name];

            let count = here["images"].as_array().unwrap().len();
            assert_eq!(count, there["images"].as_array().unwrap().len(), "{name}");
            for (file, listed) in [(here, &listed_linux), (there, &listed_windows)] {
                if file["container"] != "spirv" {
                    assert_eq!(listed.get(name), Some(&count), "{name}: .tgtimg");
                }
            }
            images += count;
            let (here, there) = (kernels(here), kernels(there));
            assert_eq!(here.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>(), "{name}");
            for (kernel, ours) in here {
                let theirs = there[&kernel];
                for key in ["state", "format", "target", "link_options"] {
                    assert_eq!(ours[key], theirs[key], "{kernel}: {key}");
                }
                // On Linux the compiler asks the driver for registers by itself, on Windows it does not.
                let options = ours["compile_options"].as_str().unwrap();
                let options = options.strip_prefix(LINUX_OPTION).unwrap_or(options).trim_start();
                assert_eq!(options, theirs["compile_options"], "{kernel}");
                if ours["requirements"] == theirs["requirements"] {
                    continue;
                }
                // A real difference: Windows' front end records the use of a class of doubles where Linux' does not;
                // the code of the Windows module does use them.
                fp64_on_windows += 1;
                let fp64 = serde_json::json!(["fp64"]);
                assert_eq!(ours["requirements"]["aspects"], serde_json::json!([]), "{kernel}");
                assert_eq!(theirs["requirements"]["aspects"], fp64, "{kernel}");
                assert_eq!(theirs["spirv"]["used_aspects"], fp64, "{kernel}");
            }
        }
        assert_eq!((images, fp64_on_windows), (release.images, release.fp64_on_windows), "{:?}", release.versions);
    }
}
