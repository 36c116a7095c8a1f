//! Does the runtime run the native code that `build` puts into a library, instead of compiling SPIR-V?

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::installation::Installation;
use crate::judges::seen;
use crate::tool::{build, images_of, inspect};
use crate::world::{BACKEND, WINDOW, world};

/// A library with native code, made once for a test.
pub fn built(input: &Path, more: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join(input.file_name().unwrap());
    build(input, &output, more);
    (folder, output)
}

/// Names of the kernels that a library has and no other library of the installation.
fn own_kernels(library: &Path) -> BTreeSet<String> {
    let mut owners: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
    for (owner, seen) in seen() {
        for name in seen.images.iter().flat_map(|image| image.facts["entries"].as_array().unwrap()) {
            owners.entry(name.as_str().unwrap()).or_default().insert(owner);
        }
    }
    owners
        .into_iter()
        .filter(|(_, owners)| owners.len() == 1 && owners.contains(library))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The control: without the tool's work the judge sees SPIR-V and nothing else.
#[test]
fn the_original_compiles_spirv() {
    let trace = Installation::with(&[]).trace_windows();
    assert!(trace.il_programs >= 5 && trace.from_il.len() >= 5, "{trace:?}");
    assert_eq!((trace.binary_programs, trace.from_binary.len()), (0, 0), "{trace:?}");
}

#[test]
fn window_functions_run_native_code() {
    let (_folder, output) = built(&world().window(), &[]);
    let original = Installation::with(&[]);
    let rewritten = Installation::with(&[(WINDOW, &output)]);
    let tests = ["dpnp.tests.test_window"];

    let (before, spirv) = original.run_tests(&tests);
    let (after, native) = rewritten.run_tests(&tests);
    assert_eq!(before.len(), 84);
    assert!(before.values().all(|outcome| outcome == "passed"), "{before:?}");
    assert_eq!(before, after);

    let own = own_kernels(&world().window());
    assert!(own.len() >= 20, "{own:?}");
    let used: BTreeSet<_> = spirv.from_il.intersection(&own).cloned().collect();
    assert!(!used.is_empty(), "the tests run kernels of this library: {spirv:?}");
    assert_eq!(native.from_il.intersection(&own).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(native.from_binary.intersection(&own).cloned().collect::<BTreeSet<_>>(), used);

    // A program that uses nothing but these functions compiles nothing at all.
    let windows = rewritten.trace_windows();
    assert_eq!((windows.il_programs, windows.from_il.len()), (0, 0), "{windows:?}");
    assert!(windows.binary_programs >= 5, "{windows:?}");

    let first = |installation: &Installation| (0..3).map(|_| installation.first_call()).fold(f64::MAX, f64::min);
    let (slow, fast) = (first(&original), first(&rewritten));
    println!("first call of a window function: {:.1} ms, native {:.1} ms ({:.2})", slow * 1e3, fast * 1e3, fast / slow);
}

#[test]
fn random_and_partition_run_native_code() {
    let (_folder, output) = built(&world().backend(), &[]);
    let tests = ["dpnp.tests.test_random", "dpnp.tests.test_sort"];
    let (before, spirv) = Installation::with(&[]).run_tests(&tests);
    let (after, native) = Installation::with(&[(BACKEND, &output)]).run_tests(&tests);
    // Some of dpnp's tests fail with the NumPy of the day; they have to fail with both.
    assert!(before.values().filter(|outcome| *outcome == "passed").count() > 200, "{before:?}");
    assert_eq!(before, after);

    let left = left_as_spirv(&output);
    let own: BTreeSet<_> = own_kernels(&world().backend()).difference(&left).cloned().collect();
    let used: BTreeSet<_> = spirv.from_il.intersection(&own).cloned().collect();
    assert!(used.len() >= 5, "the tests run kernels of this library: {used:?}");
    assert_eq!(native.from_il.intersection(&own).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(native.from_binary.is_superset(&used), "{native:?}");
}

#[test]
fn a_shared_library_beside_the_original_brings_the_native_code() {
    let folder = tempfile::tempdir().unwrap();
    let side = folder.path().join("native.so");
    build(&world().window(), &side, &["--emit", "shared"]);
    let original = Installation::with(&[]);
    let trace = original.trace_windows_with(&side);
    assert_eq!((trace.il_programs, trace.from_il.len()), (0, 0), "{trace:?}");
    assert!(trace.binary_programs >= 5, "{trace:?}");
}

#[test]
fn the_rewritten_library_lists_old_and_new_images() {
    let (_folder, output) = built(&world().window(), &["--march", "avx2"]);
    let (before, after) = (inspect(&world().window()), inspect(&output));
    let spirv = images_of(&before, "spir64");
    let kept = images_of(&after, "spir64");
    let native = images_of(&after, "spir64_x86_64");
    assert_eq!((spirv.len(), kept.len(), native.len()), (20, 20, 20));
    for (old, new) in spirv.iter().zip(&kept) {
        assert_eq!((&old["blake3"], &old["offset"]), (&new["blake3"], &new["offset"]));
    }
    for (old, new) in spirv.iter().zip(&native) {
        assert_eq!((&old["kernels"], &old["requirements"]), (&new["kernels"], &new["requirements"]));
        assert_eq!((&new["state"], &new["spirv"]), (&Value::from("executable"), &Value::Null));
    }
}

/// Kernels of a rewritten library that have no native image.
fn left_as_spirv(library: &Path) -> BTreeSet<String> {
    let file = inspect(library);
    let kernels = |target: &str| -> BTreeSet<String> {
        let images = images_of(&file, target);
        let names = images.iter().flat_map(|image| image["kernels"].as_array().unwrap());
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    kernels("spir64").difference(&kernels("spir64_x86_64")).cloned().collect()
}
