//! Does the runtime run what is left of a library?

use std::path::{Path, PathBuf};

use crate::embed::built;
use crate::installation::Installation;
use crate::tool::{images_of, inspect, tool};
use crate::world::{WINDOW, succeed, world};

fn pruned(input: &Path, name: &str, more: &[&str]) -> PathBuf {
    let output = input.with_file_name(name);
    succeed(tool().arg("prune").arg(input).arg("-o").arg(&output).args(more));
    output
}

#[test]
fn native_code_alone_runs_and_without_it_all_is_as_before() {
    let (_folder, native) = built(&world().window(), &[]);
    let alone = pruned(&native, "alone.so", &["--drop", "spir64"]);
    assert!(images_of(&inspect(&alone), "spir64").is_empty());
    let trace = Installation::with(&[(WINDOW, &alone)]).trace_windows();
    assert_eq!((trace.il_programs, trace.from_il.len()), (0, 0), "{trace:?}");
    assert!(trace.binary_programs >= 5, "{trace:?}");

    let undone = pruned(&native, "undone.so", &["--keep", "spir64"]);
    assert!(std::fs::read(undone).unwrap() == std::fs::read(world().window()).unwrap());
}

/// A library without some of its images, in place, and then with them from files again.
#[test]
fn what_was_taken_out_and_put_in_again_runs() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("window.so");
    std::fs::copy(world().window(), &original).unwrap();
    let images = folder.path().join("images");
    succeed(tool().arg("extract").arg(&original).arg("-o").arg(&images).args(["--image", "0-9"]));
    let fewer = pruned(&original, "fewer.so", &["--image", "0-9", "--lose-kernels"]);
    let again = folder.path().join("again.so");
    succeed(tool().arg("embed").arg(&fewer).arg(images.join("images.table")).arg("-o").arg(&again));
    let file = inspect(&again);
    assert_eq!(images_of(&file, "spir64").len(), 20);
    let trace = Installation::with(&[(WINDOW, &again)]).trace_windows();
    assert!(trace.il_programs >= 5 && trace.from_il.len() >= 5, "{trace:?}");
}
