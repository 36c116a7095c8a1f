//! Is a rewritten library a file like any other: for linkers' and packagers' tools, and for the tool itself?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::embed::built;
use crate::installation::Installation;
use crate::judges::digest;
use crate::tool::build;
use crate::world::{WINDOW, succeed, tail, world};

/// Treatments of libraries by packagers. Each works on a copy.
const TREATMENTS: [(&str, &[&str]); 5] = [
    ("strip", &["strip", "--strip-all"]),
    ("llvm-strip", &["llvm-strip", "--strip-all"]),
    // Long enough to move the string table.
    (
        "patchelf",
        &[
            "patchelf",
            "--set-rpath",
            "$ORIGIN/a/path/that/is/longer/than/what/the/library/was/linked/with/before/it/came/here/$ORIGIN/a/path/that/is/longer/than/what/the/library/was/linked/with/before/it/came/here/$ORIGIN/a/path/that/is/longer/than/what/the/library/was/linked/with/before/it/came/here",
        ],
    ),
    ("objcopy", &["objcopy"]),
    ("llvm-objcopy", &["llvm-objcopy"]),
];

fn treated(input: &Path, folder: &Path, treatment: &[&str]) -> PathBuf {
    let copy = folder.join(input.file_name().unwrap());
    std::fs::copy(input, &copy).unwrap();
    succeed(Command::new(treatment[0]).args(&treatment[1..]).arg(&copy));
    copy
}

fn runs_native(library: &Path, what: &str) {
    let trace = Installation::with(&[(WINDOW, library)]).trace_windows();
    assert_eq!(trace.il_programs, 0, "{what}: {trace:?}");
    assert!(trace.binary_programs >= 5, "{what}: {trace:?}");
}

#[test]
fn treated_libraries_can_be_rewritten() {
    let without_sections: (&str, &[&str]) = ("no section headers", &["llvm-strip", "--strip-sections"]);
    for (name, treatment) in TREATMENTS.iter().chain([&without_sections]) {
        let folder = tempfile::tempdir().unwrap();
        let input = treated(&world().window(), folder.path(), treatment);
        let (_folder, output) = built(&input, &[]);
        runs_native(&output, &format!("built from a file after {name}"));
    }
}

#[test]
fn rewritten_libraries_can_be_treated() {
    let (_folder, output) = built(&world().window(), &[]);
    for (name, treatment) in TREATMENTS {
        let folder = tempfile::tempdir().unwrap();
        runs_native(&treated(&output, folder.path(), treatment), &format!("after {name}"));
    }
}

#[test]
fn building_again_replaces_and_the_input_stays() {
    let before = digest(&std::fs::read(world().window()).unwrap());
    let (folder, once) = built(&world().window(), &[]);
    assert_eq!(before, digest(&std::fs::read(world().window()).unwrap()), "the input was touched");
    let again = folder.path().join("again.so");
    build(&once, &again, &[]);
    assert_eq!(std::fs::read(&once).unwrap().len(), std::fs::read(&again).unwrap().len());
    assert!(std::fs::read(&once).unwrap() == std::fs::read(&again).unwrap(), "built again, the bytes differ");
}

#[test]
fn checkers_say_no_more_than_of_the_original() {
    for input in [world().window(), world().backend()] {
        let (_folder, output) = built(&input, &[]);
        for checker in [&["eu-elflint", "--gnu-ld"][..], &["llvm-readelf", "-a"], &["readelf", "-aW"]] {
            let (before, after) = (complaints(checker, &input), complaints(checker, &output));
            let new: Vec<_> = after.iter().filter(|(line, n)| before.get(*line).unwrap_or(&0) < n).collect();
            assert!(new.is_empty(), "{checker:?} complains anew of {}: {new:#?}", input.display());
        }
    }
}

/// Complaints of a checker, numbers aside, and how often. `readelf` lists on stdout and complains on stderr.
fn complaints(checker: &[&str], file: &Path) -> BTreeMap<String, usize> {
    let output = Command::new(checker[0]).args(&checker[1..]).arg(file).output().unwrap();
    let lint = checker[0] == "eu-elflint";
    assert!(lint || output.status.success(), "{checker:?}: {}", tail(&output.stderr));
    let text = String::from_utf8_lossy(if lint { &output.stdout } else { &output.stderr }).into_owned();
    let path = file.display().to_string();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| *line != "No errors") {
        *found.entry(numberless(&line.replace(&path, "FILE"))).or_default() += 1;
    }
    found
}

/// Sections and symbols may have other numbers, addresses and offsets.
fn numberless(line: &str) -> String {
    let words = line.split(' ').filter(|word| !word.is_empty()).map(|word| {
        let bare = word.trim_matches(|c: char| "[]():,.'".contains(c));
        let hex = bare.trim_start_matches("0x");
        if !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit()) {
            word.replace(bare, "#")
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ").replace("[ ", "[")
}
