//! Does `diff` count what an independent reader counts, and does it see what `build` and `prune` change?

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::judges::{Seen, seen};
use crate::support::tools::needed;
use crate::tool::{build, tool};
use crate::world::{scripts, succeed, tail, world};

fn diff(old: &Path, new: &Path, more: &[&str], expected: i32) -> Value {
    let mut command: Command = tool();
    command.arg("diff").arg(old).arg(new).args(["--format", "json"]).args(more);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(expected), "{command:?}: {}", tail(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The kernels that lie in the memory of a process: entries that are no exported functions.
fn kernels(seen: &Seen) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for image in &seen.images {
        let sets = image.facts["properties"].as_array().unwrap();
        let exported = sets.iter().filter(|set| set[0] == "SYCL/exported symbols");
        let exported: BTreeSet<&str> =
            exported.flat_map(|set| set[1].as_array().unwrap()).map(|property| property[0].as_str().unwrap()).collect();
        let entries = image.facts["entries"].as_array().unwrap().iter().map(|entry| entry.as_str().unwrap());
        all.extend(entries.filter(|entry| !exported.contains(entry)).map(str::to_owned));
    }
    all
}

#[test]
fn kernels_images_and_bytes_are_those_in_memory() {
    let small = world().fat_libraries().iter().filter(|file| file.metadata().unwrap().len() < 16 << 20);
    let libraries: Vec<_> = small.filter(|library| library.starts_with(world().site_packages())).take(6).collect();
    assert!(libraries.len() == 6);
    let mut differing = 0;
    for pair in libraries.windows(2) {
        let report = diff(pair[0], pair[1], &[], 0);
        let [old, new] = [&seen()[pair[0]], &seen()[pair[1]]];
        let [before, after] = [kernels(old), kernels(new)];
        let count = |what: &str| usize::try_from(report["kernels"][what].as_u64().unwrap()).unwrap();
        assert_eq!(count("added") + count("renamed"), after.difference(&before).count(), "{pair:?}");
        assert_eq!(count("removed") + count("renamed"), before.difference(&after).count(), "{pair:?}");
        assert_eq!(count("changed") + count("unchanged"), before.intersection(&after).count(), "{pair:?}");
        for (side, seen) in [("old", old), ("new", new)] {
            assert_eq!(report[side]["images"], seen.images.len(), "{pair:?}");
            assert_eq!(report[side]["bytes"], seen.images.iter().map(|image| image.size).sum::<u64>(), "{pair:?}");
        }
        for one in report["files"][0]["diffs"].as_array().unwrap() {
            let name = one["kernel"].as_str().unwrap();
            let expected = match one["fate"].as_str().unwrap() {
                "added" | "renamed" => [false, true],
                "removed" => [true, false],
                _ => [true, true],
            };
            assert_eq!([before.contains(name), after.contains(name)], expected, "{name}");
        }
        differing += usize::from(report["differs"] == true);
        let same = diff(pair[0], pair[0], &["--exit-code"], 0);
        assert_eq!(
            (&same["differs"], &same["kernels"]["unchanged"]),
            (&Value::Bool(false), &Value::from(before.len()))
        );
    }
    assert!(differing >= 4);
}

#[test]
fn a_build_gains_a_target_and_its_undoing_loses_it() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    for folder in [&old, &new] {
        std::fs::create_dir(folder).unwrap();
    }
    // A version in the name, which pairs all the same.
    std::fs::copy(world().window(), old.join("libwindow.so.1")).unwrap();
    build(&world().window(), &new.join("libwindow.so.2"), &[]);
    let report = diff(&old, &new, &["--exit-code"], 1);
    let file = &report["files"][0];
    assert_eq!((file["name"].as_str(), report["files"].as_array().unwrap().len()), (Some("libwindow.so"), 1));
    let targets = file["targets"].as_array().unwrap();
    let native = targets.iter().find(|target| target["target"] != "spir64").unwrap();
    assert_eq!((&native["old"]["images"], &native["new"]["images"]), (&Value::from(0), &Value::from(20)));
    let diffs = file["diffs"].as_array().unwrap();
    assert_eq!(diffs.len(), 20);
    for one in diffs {
        let changes = one["changes"].as_array().unwrap();
        assert!(changes.iter().all(|change| change["what"] == "targets" && change["old"].is_null()), "{one}");
    }
    let lost = diff(&new, &old, &["--forbid", "lost-targets"], 1);
    assert_eq!(lost["breaches"].as_array().unwrap().len(), 1, "{}", lost["breaches"]);
    diff(&old, &new, &["--max-growth", "10%"], 1);
    // Only native code was added: what was there costs what it did, and needs what it did.
    let kept = ["--max-kernel-growth", "0", "--forbid", "lost-targets,lost-kernels,gained-requirements"];
    diff(&old, &new, &kept, 0);
    let mut prune = tool();
    prune.arg("prune").arg(new.join("libwindow.so.2")).args(["--drop", "spir64_x86_64", "-o"]);
    succeed(prune.arg(folder.path().join("back.so")));
    assert_eq!(diff(&world().window(), &folder.path().join("back.so"), &["--exit-code"], 0)["differs"], false);
}

#[test]
fn a_wheel_is_compared_with_its_installed_folder() {
    succeed(needed("python3").arg(scripts().join("fetch.py")).arg("--wheels").arg(world().root()));
    let wheel = world().root().join("wheels/dpctl-0.22.1-0-cp311-cp311-manylinux_2_28_x86_64.whl");
    let installed = world().site_packages().join("dpctl");
    for [old, new] in [[&wheel, &installed], [&installed, &wheel]] {
        let report = diff(old, new, &["--exit-code"], 0);
        let files = report["files"].as_array().unwrap();
        assert_eq!((files.len(), report["kernels"]["unchanged"].as_u64()), (10, Some(25)), "{files:?}");
        assert!(
            files
                .iter()
                .all(|file| file["differs"] == false && file["old_file"].is_string() && file["new_file"].is_string()),
            "{files:?}"
        );
    }
    // Where one file is another, that one is named, and no other.
    let folder = tempfile::tempdir().unwrap();
    succeed(Command::new("cp").arg("-r").arg(&installed).arg(folder.path()));
    let modules = folder.path().join("dpctl/tests/input_files");
    std::fs::copy(modules.join("multi_kernel.spv"), modules.join("raw-arg-kernel.spv")).unwrap();
    let report = diff(&wheel, &folder.path().join("dpctl"), &["--exit-code"], 1);
    let files = report["files"].as_array().unwrap().iter();
    let differing: Vec<_> =
        files.filter(|file| file["differs"] == true).map(|file| file["name"].as_str().unwrap()).collect();
    assert!(differing.len() == 1 && differing[0].ends_with("raw-arg-kernel.spv"), "{differing:?}");
    let count = |what: &str| report["kernels"][what].as_u64().unwrap();
    assert_eq!([count("added"), count("removed"), count("unchanged")], [2, 1, 24]);
}
