//! How busy does `build` keep two workers with Intel's offline compiler, against one process that calls it in memory?

use crate::world::{succeed, world};
use crate::{compare, run, tool};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of several generations, with double precision, so that every module is compiled.
const DEVICES: [&str; 3] = ["skl", "glk", "pvc"];

/// Two workers would take half the time of one process; 0.85 of that is the target.
const TARGET: f64 = 0.5 / 0.85;

pub fn offline() {
    let folder = tempfile::tempdir().unwrap();
    succeed(tool().arg("extract").arg(world().window()).arg("-o").arg(folder.path().join("all")));
    let entries = std::fs::read_dir(folder.path().join("all")).unwrap().map(|entry| entry.unwrap().path());
    let mut modules: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "spv")).collect();
    modules.sort();
    let plain = folder.path().join("plain_ocloc");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plain_ocloc.c");
    succeed(Command::new("gcc").arg("-O2").arg("-o").arg(&plain).arg(source).arg("-ldl"));
    let expected = (modules.len() * DEVICES.len()).to_string();
    let ours = folder.path().join("ours");
    compare(
        3,
        TARGET,
        (
            "build for 3 GPUs, --jobs 2",
            Box::new(|| {
                std::fs::create_dir(&ours).unwrap();
                let mut command = tool();
                command.arg("build").args(&modules).args(["-t", &DEVICES.join(","), "--jobs", "2", "--no-cache"]);
                run(command.args(["--emit", "table", "-o"]).arg(ours.join("out.table")));
                std::fs::remove_dir_all(&ours).unwrap();
            }),
        ),
        (
            "oclocInvoke in one process",
            Box::new(|| {
                let output = succeed(Command::new(&plain).arg(DEVICES.join(",")).args(&modules));
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(said.lines().last(), Some(expected.as_str()));
            }),
        ),
    );
}
