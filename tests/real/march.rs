//! Is native code for the instruction set that was asked for, and is a mix refused?

use crate::embed::built;
use crate::installation::Installation;
use crate::support::tools::needed;
use crate::tool::{build_command, images_of, inspect};
use crate::world::{WINDOW, world};

#[test]
fn the_set_is_the_one_asked_for_and_is_told() {
    for (name, told) in [("sse4.2", "sse4.2"), ("core-avx2", "avx2"), ("skx", "avx512")] {
        let (_folder, output) = built(&world().window(), &["--march", name, "--image", "0-1"]);
        let file = inspect(&output);
        let native = images_of(&file, "spir64_x86_64");
        assert_eq!(native.len(), 2);
        assert!(native.iter().all(|image| image["march"] == told), "{name}: {native:?}");
    }
}

#[test]
fn code_for_an_older_set_runs() {
    let (_folder, output) = built(&world().window(), &["--march", "sse4.2"]);
    let trace = Installation::with(&[(WINDOW, &output)]).trace_windows();
    assert_eq!(trace.il_programs, 0, "{trace:?}");
    assert!(trace.from_binary.len() >= 5, "{trace:?}");
}

/// The driver refuses one of two sets in a process, and the runtime does not fall back to SPIR-V.
#[test]
fn a_file_never_holds_two_sets() {
    let (folder, first) = built(&world().window(), &[]);
    let second = folder.path().join("second.so");
    let output = build_command(&first, &second).args(["--image", "3", "--march", "skx"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("native images for avx2") && said.contains("--march avx2"), "{said}");
    assert!(!second.exists());
}

/// Also where the original cannot be restored, since the file was changed after native images came in.
#[test]
fn a_changed_file_never_holds_two_sets_either() {
    let (folder, first) = built(&world().window(), &["--march", "skx"]);
    crate::world::succeed(needed("strip").arg(&first));
    let second = folder.path().join("second.so");
    let output = build_command(&first, &second).args(["--image", "3"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("native images for avx512"), "{said}");
    assert!(!second.exists());
    // All of them together are replaced, and none of the old set stays.
    crate::tool::build(&first, &second, &[]);
    let file = inspect(&second);
    let native = images_of(&file, "spir64_x86_64");
    assert_eq!(native.len(), 20);
    assert!(native.iter().all(|image| image["march"] == "avx2"), "{native:?}");
}
