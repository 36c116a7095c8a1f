//! Does dpnp work on libraries whose images were linked, taken apart again, or folded?
//!
//! The new images stand in place of the library's own, as SPIR-V and as native code made of that; dpnp's own tests have the
//! outcomes that they have with the libraries as they were.
//!
//! `SYCL_BUNDLE_RELINK=whole` takes larger libraries too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::installation::Installation;
use crate::relink::whole;
use crate::tool::{build, images_of, inspect, tool};
use crate::world::{BACKEND, WINDOW, succeed, world};

const INDEXING: &str = "backend/extensions/indexing/_indexing_impl.cpython-311-x86_64-linux-gnu.so";
const UFUNC: &str = "backend/extensions/ufunc/_ufunc_impl.cpython-311-x86_64-linux-gnu.so";
const SORTING: &str = "tensor/_tensor_sorting_impl.cpython-311-x86_64-linux-gnu.so";

/// Images of one module.
const GROUP: usize = 50;

/// A library (by its name below the package) with its images linked in groups and split again in a mode.
fn relinked(name: &str, mode: &str, folder: &Path) -> PathBuf {
    let library = world().site_packages().join("dpnp").join(name);
    let before = inspect(&library);
    let count = before["images"].as_array().unwrap().len();
    let mut groups = Vec::new();
    for first in (0..count).step_by(GROUP) {
        let group = folder.join(format!("group{first}.table"));
        let images = format!("{first}-{}", (first + GROUP).min(count) - 1);
        succeed(tool().arg("link").arg(&library).args(["--partial", "--image", &images, "-o"]).arg(&group));
        groups.push(group);
    }
    let parts = folder.join("parts.table");
    succeed(tool().arg("split").args(&groups).args(["--mode", mode, "-o"]).arg(&parts));
    let output = in_place(&library, &parts, folder, "relinked.so");
    let (old, new) = (kernels(&library), kernels(&output));
    assert_eq!(old, new, "{name}: the kernels");
    println!("{name}: {count} images, {} after {mode}", inspect(&output)["images"].as_array().unwrap().len());
    output
}

/// A library with images in place of its own.
fn in_place(library: &Path, table: &Path, folder: &Path, name: &str) -> PathBuf {
    let output = folder.join(name);
    succeed(tool().arg("embed").arg(library).arg(table).args(["--replace", "-o"]).arg(&output));
    // The old images that are left have no kernel.
    let payloads = |file: &Path| -> Vec<String> {
        let report = inspect(file);
        let images = report["images"].as_array().unwrap().iter();
        let with = images.filter(|image| !image["kernels"].as_array().unwrap().is_empty());
        with.map(|image| format!("{} {}", image["offset"], image["blake3"])).collect()
    };
    let old = payloads(library);
    assert!(payloads(&output).iter().all(|image| !old.contains(image)), "old images stay in {}", output.display());
    output
}

/// The kernels of a library and how many images list each.
fn kernels(library: &Path) -> BTreeMap<String, usize> {
    let report = inspect(library);
    let mut kernels = BTreeMap::new();
    for image in images_of(&report, "spir64") {
        for kernel in image["kernels"].as_array().unwrap() {
            *kernels.entry(kernel.as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    kernels
}

/// dpnp's tests with these libraries have the outcomes that they have without; the native programs that they loaded.
fn same_outcomes(files: &[(&str, &Path)], tests: &[&str], before: &BTreeMap<String, String>) -> usize {
    let (after, trace) = Installation::with(files).run_tests(tests);
    assert_eq!(*before, after);
    println!(
        "{tests:?}: {} outcomes, {} programs from SPIR-V, {} from native code",
        after.len(),
        trace.il_programs,
        trace.binary_programs
    );
    trace.binary_programs
}

fn judge(libraries: &[(&str, &str)], tests: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (before, _) = Installation::with(&[]).run_tests(tests);
    assert!(before.values().filter(|outcome| *outcome == "passed").count() >= 80, "{before:?}");
    let mut spirv = Vec::new();
    for (number, (name, mode)) in libraries.iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        spirv.push((*name, relinked(name, mode, &folder)));
    }
    let borrowed: Vec<(&str, &Path)> = spirv.iter().map(|(name, path)| (*name, path.as_path())).collect();
    assert_eq!(same_outcomes(&borrowed, tests, &before), 0);
    let native: Vec<(&str, PathBuf)> = spirv
        .iter()
        .map(|(name, path)| {
            let output = path.with_file_name("native.so");
            build(path, &output, &[]);
            (*name, output)
        })
        .collect();
    let borrowed: Vec<(&str, &Path)> = native.iter().map(|(name, path)| (*name, path.as_path())).collect();
    // An image of several kernels is one program.
    assert!(same_outcomes(&borrowed, tests, &before) >= 1);
}

#[test]
fn dpnp_works_on_linked_and_split_images() {
    judge(&[(WINDOW, "auto")], &["dpnp.tests.test_window"]);
    judge(&[(BACKEND, "per_kernel")], &["dpnp.tests.test_random", "dpnp.tests.test_sort"]);
    if whole() {
        judge(&[(UFUNC, "per_kernel")], &["dpnp.tests.test_umath"]);
        judge(&[(SORTING, "per_kernel"), (BACKEND, "auto")], &["dpnp.tests.test_sort"]);
    }
}

/// Clones folded: fewer images, the same kernels, each of which the runtime finds and the driver creates.
#[test]
fn dpnp_works_on_folded_clones() {
    let folder = tempfile::tempdir().unwrap();
    let library = world().site_packages().join("dpnp").join(INDEXING);
    let folded = folder.path().join("folded.table");
    succeed(tool().arg("join").arg(&library).args(["--state", "input", "--fold-clones", "-o"]).arg(&folded));
    let output = in_place(&library, &folded, folder.path(), "folded.so");
    assert_eq!(kernels(&library), kernels(&output));
    let counts = [&library, &output].map(|file| images_of(&inspect(file), "spir64").len());
    println!("{} images folded to {}", counts[0], counts[1]);
    assert!(counts[1] + 150 < counts[0], "{counts:?}");
    let tests = ["dpnp.tests.test_indexing"];
    let (before, spirv) = Installation::with(&[]).run_tests(&tests);
    let (after, now) = Installation::with(&[(INDEXING, &output)]).run_tests(&tests);
    assert_eq!(before, after);
    assert!(before.values().filter(|outcome| *outcome == "passed").count() >= 80);
    // The kernels of this library that ran before run now, from images that hold more of them.
    let own = kernels(&library);
    let used = |from: &std::collections::BTreeSet<String>| from.iter().filter(|name| own.contains_key(*name)).count();
    let (before, after) = (used(&spirv.from_il), used(&now.from_il));
    println!("{before} kernels of the library created before, {after} now");
    assert!(before > 0 && before == after);
    // The driver creates every kernel of a folded image by its name.
    let native = folder.path().join("native.table");
    succeed(
        tool()
            .arg("build")
            .arg(&folded)
            .args(["-t", "spir64_x86_64", "--jobs", "2", "--emit", "table", "-o"])
            .arg(&native),
    );
    let report = inspect(&native);
    let native = report["images"].as_array().unwrap().iter().filter(|image| image["state"] == "executable");
    let listed: usize = native.map(|image| image["kernels"].as_array().unwrap().len()).sum();
    assert_eq!(listed, own.len());
}
