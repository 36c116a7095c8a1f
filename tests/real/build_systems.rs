//! Does `build` behave under make as a compiler does?

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::tool::{build_command, tool};
use crate::world::{succeed, tail, world};

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// The Makefile of a project: a library gets native code, again whenever something it depends on changes.
#[test]
fn make_builds_again_what_changed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::copy(world().window(), at.join("lib.so")).unwrap();
    write(
        &at.join("Makefile"),
        "out/lib.stamp: lib.so\n\t@mkdir -p out\n\t$(TOOL) build lib.so -t spir64_x86_64 --image 0-1 -o out/lib.so -MD \
         -MF out/lib.d -MT $@ --stamp $@\n-include out/lib.d\n",
    );
    let make = || {
        let mut command = world().command("make");
        command.current_dir(at).arg(format!("TOOL={}", env!("CARGO_BIN_EXE_sycl-bundle")));
        let output = succeed(command.env("SYCL_BUNDLE_CACHE_DIR", at.join("cache")).arg("-j2"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(make().contains(" build lib.so"));
    let first = std::fs::metadata(at.join("out/lib.so")).unwrap().modified().unwrap();
    assert!(make().contains("up to date"));
    let rule = std::fs::read_to_string(at.join("out/lib.d")).unwrap();
    assert!(rule.starts_with("out/lib.stamp: \\\n  lib.so"), "{rule}");
    assert!(rule.contains("libOpenCL.so"), "the loader counts too: {rule}");

    // Touched, but the same: built again (out of the cache), and the library keeps its time for those that depend on it.
    let touched = std::time::SystemTime::now() + Duration::from_secs(2);
    std::fs::File::options().write(true).open(at.join("lib.so")).unwrap().set_modified(touched).unwrap();
    assert!(make().contains(" build lib.so"));
    assert_eq!(std::fs::metadata(at.join("out/lib.so")).unwrap().modified().unwrap(), first);
}

#[test]
fn a_trial_says_what_would_be_done_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    let done = succeed(build_command(&world().window(), &output).arg("--dry-run"));
    let said = tail(&done.stderr);
    assert!(said.contains("20 of 20 images would be compiled for spir64_x86_64 (avx2)"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // It needs no driver.
    let mut command = build_command(&world().window(), &output);
    succeed(command.arg("--dry-run").env("OCL_ICD_VENDORS", "/nowhere").env_remove("LD_LIBRARY_PATH"));
}

/// How many workers a process has.
fn workers(of: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let children = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    children.map(|list| list.split_ascii_whitespace().count()).sum()
}

/// The most workers that a build of two jobs has at a time under a jobserver with so many bytes.
fn most_workers(bytes: Option<usize>) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    succeed(Command::new("mkfifo").arg(&fifo));
    let both = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let mut command = build_command(&world().window(), &folder.path().join("out.so"));
    if let Some(bytes) = bytes {
        std::io::Write::write_all(&mut &both, &vec![b'+'; bytes]).unwrap();
        command.env("MAKEFLAGS", format!(" -j --jobserver-auth=fifo:{}", fifo.display()));
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    let status = loop {
        most = most.max(workers(child.id()));
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    assert!(status.success());
    if let Some(bytes) = bytes {
        let mut back = vec![0; bytes + 1];
        let file = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
        let left = if bytes == 0 { 0 } else { std::io::Read::read(&mut &file, &mut back).unwrap() };
        assert_eq!(left, bytes, "every byte is given back");
    }
    most
}

#[test]
fn makes_jobserver_is_obeyed() {
    assert_eq!(most_workers(None), 2);
    assert_eq!(most_workers(Some(0)), 1);
    assert_eq!(most_workers(Some(1)), 2);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let mut command = tool();
    command.args(["build", "x.so", "-t", "spir64_x86_64", "--shard", "1/2", "--no-cache"]);
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}
