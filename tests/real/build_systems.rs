//! Does `build` behave under make, CMake and Ninja as a compiler does?

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::spirv;
use crate::support::tools::tool as find;
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
        let mut command = world().command(find("make"));
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

/// Names with blanks and signs are prerequisites, each of which counts; one that is gone asks for a new build.
#[test]
fn make_reads_the_names_of_prerequisites() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let names = ["in put.spv", "a$b.spv", "c#d.spv"];
    for (name, module) in names.iter().zip(["add_one", "halve", "count"]) {
        std::fs::write(at.join(name), spirv::module(module)).unwrap();
    }
    let mut build = tool();
    build.current_dir(at).arg("build").args(names).args(["-t", "spir64_x86_64", "-o", "out.table", "-MD"]);
    succeed(&mut build);
    write(&at.join("Makefile"), "out.table:\n\ttouch out.table\ninclude out.table.d\n");
    let make = || {
        let output = succeed(world().command(find("make")).current_dir(at).arg("-n"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(make().contains("up to date"));
    let set = |name: &str, seconds: i64| {
        let now = std::time::SystemTime::now();
        let by = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { now - by } else { now + by };
        std::fs::File::options().write(true).open(at.join(name)).unwrap().set_modified(time).unwrap();
    };
    for name in names {
        set(name, 5);
        assert!(make().contains("touch out.table"), "{name} counts");
        set(name, -500);
    }
    std::fs::remove_file(at.join("in put.spv")).unwrap();
    assert!(make().contains("touch out.table"));
}

/// A project of CMake and Ninja with two libraries: what changed is built again, and nothing else.
#[test]
fn cmake_with_ninja_builds_again_what_changed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["one.so", "two.so"] {
        std::fs::copy(world().window(), at.join(name)).unwrap();
    }
    write(&at.join("CMakeLists.txt"), CMAKE);
    let mut configure = world().command(find("cmake"));
    configure.args(["-G", "Ninja", "-S"]).arg(at).arg("-B").arg(at.join("b"));
    succeed(configure.arg(format!("-DSYCL_BUNDLE={}", env!("CARGO_BIN_EXE_sycl-bundle"))));
    let ninja = || {
        let mut command = world().command(find("cmake"));
        command.arg("--build").arg(at.join("b")).arg("-v").env("SYCL_BUNDLE_CACHE_DIR", at.join("cache"));
        let said = String::from_utf8_lossy(&succeed(&mut command).stdout).into_owned();
        ["one", "two"].map(|name| said.contains(&format!("{name}.so -t spir64_x86_64")))
    };
    let changed =
        || ["one", "two"].map(|name| std::fs::metadata(at.join(format!("b/{name}.so"))).unwrap().modified().unwrap());
    assert_eq!(ninja(), [true, true]);
    assert_eq!(ninja(), [false, false]);
    let first = changed();
    later(&at.join("two.so"));
    assert_eq!(ninja(), [false, true]);
    assert_eq!(changed(), first, "the same came out");
    assert_eq!(ninja(), [false, false]);
    // The rules are of both, found by the tool and told by the dependencies it writes.
    write(&at.join("sycl-bundle.toml"), "[build]\noptions = \"-cl-mad-enable\"\n");
    later(&at.join("one.so"));
    assert_eq!(ninja(), [true, false]);
    assert_eq!(ninja(), [false, false]);
    write(&at.join("sycl-bundle.toml"), "[build]\noptions = \"-cl-fast-relaxed-math\"\n");
    later(&at.join("sycl-bundle.toml"));
    assert_eq!(ninja(), [true, false], "the file of rules is a dependency");
}

/// As the guide `building` has it.
const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.20)
project(p LANGUAGES NONE)
foreach(name one two)
  add_custom_command(
    OUTPUT ${name}.stamp
    BYPRODUCTS ${name}.so
    COMMAND ${SYCL_BUNDLE} build ${CMAKE_SOURCE_DIR}/${name}.so -t spir64_x86_64 --image 0-1 -o ${name}.so
            -MD -MF ${name}.d -MT ${name}.stamp --stamp ${name}.stamp
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    DEPENDS ${CMAKE_SOURCE_DIR}/${name}.so
    DEPFILE ${CMAKE_BINARY_DIR}/${name}.d
    VERBATIM)
  list(APPEND stamps ${name}.stamp)
endforeach()
add_custom_target(native ALL DEPENDS ${stamps})
";

/// Touches a file.
fn later(path: &Path) {
    let time = std::time::SystemTime::now() + Duration::from_secs(2);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// One command per image and target fills the cache, and the last one takes everything out of it.
#[test]
fn a_plan_does_the_work_once_by_make_and_by_ninja() {
    for (engine, rule) in [("make", "plan.mk"), ("ninja", "plan.ninja")] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::copy(world().window(), at.join("lib.so")).unwrap();
        let mut command = tool();
        command.current_dir(at).args(["plan", "--to", rule, "-t", "spir64_x86_64", "-t", "pvc", "--image", "0-2"]);
        succeed(command.args(["-o", "out.so", "--options", "-cl-mad-enable", "--format", engine, "--", "lib.so"]));
        let run = || {
            let mut command = world().command(engine);
            command.current_dir(at).arg("-j2").arg("-f").arg(rule).env("SYCL_BUNDLE_CACHE_DIR", at.join("cache"));
            if engine == "ninja" {
                command.arg("-v");
            }
            let output = succeed(&mut command);
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            (text.matches(" --cache-only --unit ").count(), text.matches("/done.d").count(), text)
        };
        let (units, last, text) = run();
        assert_eq!((units, last), (6, 1), "{text}");
        let cached = |target: &str| {
            let line =
                text.lines().find(|line| line.trim_start().starts_with(target)).unwrap_or_else(|| panic!("{text}"));
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(cached("spir64_x86_64").starts_with("spir64_x86_64 (avx2) 3 3 "), "{text}");
        assert!(cached("intel_gpu_pvc").starts_with("intel_gpu_pvc 3 3 "), "{text}");
        let (units, last, text) = run();
        assert_eq!((units, last), (0, 0), "{text}");
        // The plan's output is that of a build.
        let mut command = tool();
        command.current_dir(at).args(["build", "lib.so", "-t", "spir64_x86_64", "-t", "pvc", "--image", "0-2"]);
        succeed(command.args(["-o", "straight.so", "--options", "-cl-mad-enable"]));
        assert!(std::fs::read(at.join("straight.so")).unwrap() == std::fs::read(at.join("out.so")).unwrap());
        later(&at.join("lib.so"));
        let (units, last, text) = run();
        assert_eq!((units, last), (6, 1), "{text}");
        std::fs::remove_file(at.join("out.so")).unwrap();
        run();
        assert!(at.join("out.so").exists());
    }
}

#[test]
fn a_trial_says_what_would_be_done_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    let done = succeed(build_command(&world().window(), &output).arg("--dry-run"));
    let said = tail(&done.stderr);
    assert!(said.contains("20 of 20 images would be compiled for spir64_x86_64 (avx2)"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // A dry run needs no driver.
    let mut command = build_command(&world().window(), &output);
    succeed(command.arg("--dry-run").env("OCL_ICD_VENDORS", "/nowhere").env_remove("LD_LIBRARY_PATH"));
}

/// Number of workers that a process has.
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
