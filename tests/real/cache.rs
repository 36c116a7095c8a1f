//! Does the cache give what the driver would, whatever happened to it or to the builds that filled it?

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::tool::{build_command, tool};
use crate::world::{succeed, world};

/// A folder with a cache and an output.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    fn output(&self) -> PathBuf {
        self.0.path().join("out.so")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = build_command(&world().window(), &self.output());
        command.env("SYCL_BUNDLE_CACHE_DIR", self.cache()).args(["--format", "json"]).args(more);
        command
    }

    /// Builds; gives the report.
    fn build(&self, more: &[&str]) -> Value {
        report(&succeed(&mut self.command(more)))
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.output()).unwrap()
    }

    /// The files of the cache, entries and others.
    fn entries(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.cache()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                // The file of compile times is no entry.
                match path.file_name().unwrap().to_str() {
                    _ if path.is_dir() => folders.push(path),
                    Some("times") => {}
                    _ => found.push(path),
                }
            }
        }
        found.sort();
        found
    }

    fn verb(&self, arguments: &[&str]) -> Output {
        tool().env("SYCL_BUNDLE_CACHE_DIR", self.cache()).arg("cache").args(arguments).output().unwrap()
    }
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn counts(report: &Value) -> (u64, u64) {
    (report["compiled"].as_u64().unwrap(), report["cached"].as_u64().unwrap())
}

/// Output of a build without any cache.
fn expected() -> Vec<u8> {
    let place = Place::new();
    assert_eq!(counts(&place.build(&["--no-cache"])), (20, 0));
    assert!(!place.cache().exists());
    place.bytes()
}

#[test]
fn what_was_compiled_is_not_compiled_again_and_damage_is_found() {
    let expected = expected();
    let place = Place::new();
    assert_eq!(counts(&place.build(&[])), (20, 0));
    assert_eq!(place.bytes(), expected);
    assert_eq!(place.entries().len(), 20);
    std::fs::remove_file(place.output()).unwrap();
    assert_eq!(counts(&place.build(&[])), (20, 20));
    assert_eq!(place.bytes(), expected);

    // One byte, the end, and all of it.
    let entries = place.entries();
    let mut bytes = std::fs::read(&entries[3]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&entries[3], &bytes).unwrap();
    std::fs::write(&entries[7], &bytes[..200]).unwrap();
    std::fs::write(&entries[11], b"").unwrap();
    std::fs::remove_file(place.output()).unwrap();
    assert_eq!(counts(&place.build(&[])), (20, 17));
    assert_eq!(place.bytes(), expected);
    assert_eq!(counts(&place.build(&[])), (20, 20));

    std::fs::write(&entries[5], &bytes).unwrap();
    let verified = place.verb(&["verify", "--format", "json"]);
    assert_eq!(verified.status.code(), Some(1));
    let verified = report(&verified);
    assert_eq!((verified["entries"].as_u64(), verified["damaged"].as_array().unwrap().len()), (Some(19), 1));
    assert_eq!(place.verb(&["verify"]).status.code(), Some(0));
    assert_eq!(report(&place.verb(&["gc", "--limit", "100KiB", "--format", "json"]))["limit"], 4u64 << 30);
    assert!(report(&place.verb(&["stats", "--format", "json"]))["bytes"].as_u64().unwrap() <= 100 << 10);
    assert_eq!(report(&place.verb(&["clear", "--format", "json"]))["entries"], 0);
    assert!(place.entries().is_empty());
}

#[test]
fn other_options_sets_and_settings_are_other_modules() {
    let place = Place::new();
    let few = ["--image", "0-1"];
    assert_eq!(counts(&place.build(&few)), (2, 0));
    assert_eq!(counts(&place.build(&["--image", "0-2"])), (3, 2));
    assert_eq!(counts(&place.build(&[&few[..], &["--march", "corei7"]].concat())), (2, 0));
    let with_setting = |value: &str| report(&succeed(place.command(&few).env("CL_CONFIG_CPU_VECTORIZER_MODE", value)));
    assert_eq!(counts(&with_setting("1")), (2, 0), "the driver reads this variable");
    assert_eq!(counts(&with_setting("1")), (2, 2));
}

/// The file beside the driver sets what variables do.
#[test]
fn settings_of_the_driver_count() {
    let place = Place::new();
    let driver = tempfile::tempdir_in(world().root()).unwrap();
    for entry in std::fs::read_dir(world().root().join("venv/lib")).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() && !file.ends_with("cl.cfg") {
            std::fs::hard_link(&file, driver.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    let settings = std::fs::read_to_string(world().root().join("venv/lib/cl.cfg")).unwrap();
    let counts_with = |settings: &str| {
        std::fs::write(driver.path().join("cl.cfg"), settings).unwrap();
        let mut command = place.command(&["--image", "0-1"]);
        command.env("OCL_ICD_VENDORS", "/nowhere").env("LD_LIBRARY_PATH", driver.path());
        counts(&report(&succeed(command.env("OCL_ICD_FILENAMES", driver.path().join("libintelocl.so")))))
    };
    assert_eq!(counts_with(&settings), (2, 0));
    assert_eq!(counts_with(&settings), (2, 2));
    assert_eq!(counts_with(&format!("{settings}\nCL_CONFIG_USE_VECTORIZER = false\n")), (2, 0));
    assert_eq!(counts_with(&settings), (2, 2));
    // Functions that the driver puts into kernels: those of an instruction set that this machine may not have.
    let functions = driver.path().join("clbltfnh8.rtl");
    let mut changed = std::fs::read(&functions).unwrap();
    changed.push(0);
    std::fs::remove_file(&functions).unwrap();
    std::fs::write(&functions, changed).unwrap();
    assert_eq!(counts_with(&settings), (2, 0));
    assert_eq!(counts_with(&settings), (2, 2));
}

/// Intel's driver for CPUs adds them to the options of every program.
#[test]
fn options_of_the_environment_count() {
    let place = Place::new();
    let counts_with = |options: &str| {
        let mut command = place.command(&["--image", "0-1"]);
        counts(&report(&succeed(command.env("OPENCL_PROGRAM_COMPILE_OPTIONS", options))))
    };
    for (options, from_cache) in [("-cl-opt-disable", 0), ("", 0), ("-cl-opt-disable", 2), ("", 2)] {
        assert_eq!(counts_with(options), (2, from_cache), "{options}");
    }
}

/// The limit holds after each build; what the build itself needed is in its output all the same.
#[test]
fn the_limit_holds() {
    let place = Place::new();
    let report = report(&succeed(place.command(&[]).env("SYCL_BUNDLE_CACHE_LIMIT", "64KiB")));
    assert_eq!(counts(&report), (20, 0));
    let bytes: u64 = place.entries().iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!((20 << 10..=64 << 10).contains(&bytes), "{bytes}");
    let output = place.command(&[]).env("SYCL_BUNDLE_CACHE_LIMIT", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_cache_that_takes_nothing_is_said_once_and_costs_nothing_else() {
    let expected = expected();
    let place = Place::new();
    std::fs::write(place.cache(), "a file").unwrap();
    let output = succeed(&mut place.command(&[]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("cannot keep a binary").count(), 1, "{said}");
    assert_eq!(counts(&report(&output)), (20, 0));
    assert_eq!(place.bytes(), expected);
}

#[test]
fn builds_that_share_a_cache_and_an_output_end_with_the_same() {
    let expected = expected();
    let place = Place::new();
    let start = || place.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let running: Vec<_> = (0..3).map(|_| start()).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(place.bytes(), expected);
    assert_eq!(counts(&place.build(&[])), (20, 20));
    assert_eq!(place.verb(&["verify"]).status.code(), Some(0));
    assert_eq!(place.entries().len(), 20, "no temporary file is left");
}

#[test]
fn a_killed_build_leaves_what_it_compiled_and_nothing_wrong() {
    let expected = expected();
    let place = Place::new();
    for moment in 1..=12u64 {
        let mut child = place.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // At any moment, and at the moment when an entry appears.
        let before = place.entries().len();
        let begin = std::time::Instant::now();
        while child.try_wait().unwrap().is_none()
            && (if moment % 2 == 0 {
                begin.elapsed() < Duration::from_millis(137 * moment)
            } else {
                place.entries().len() <= before
            })
        {
            std::thread::sleep(Duration::from_micros(500));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Ok(bytes) = std::fs::read(place.output()) {
            assert_eq!(bytes, expected);
            std::fs::remove_file(place.output()).unwrap();
        }
        let damaged = place.verb(&["verify"]);
        assert_eq!(damaged.status.code(), Some(0), "{}", String::from_utf8_lossy(&damaged.stdout));
    }
    let (compiled, cached) = counts(&place.build(&[]));
    assert!(compiled == 20 && cached > 0, "{cached}");
    assert_eq!(place.bytes(), expected);
}

#[test]
fn ctrl_c_keeps_what_is_compiled_and_the_same_command_goes_on() {
    let place = Place::new();
    let mut command = place.command(&[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while place.entries().len() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(2));
    }
    succeed(Command::new("kill").args(["-INT", &child.id().to_string()]));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(2), "{said}");
    assert!(said.contains("interrupted: ") && said.contains("run the same command again"), "{said}");
    assert!(!place.output().exists());
    let kept = place.entries().len() as u64;
    assert!((3..20).contains(&kept), "{kept}");
    assert_eq!(counts(&place.build(&[])), (20, kept));
}

#[test]
fn shards_fill_the_cache_and_a_last_run_compiles_nothing() {
    let expected = expected();
    let place = Place::new();
    let mut compiled = 0;
    for shard in ["1/3", "2/3", "3/3"] {
        let mut command = tool();
        command.env("SYCL_BUNDLE_CACHE_DIR", place.cache()).arg("build").arg(world().window());
        let output = succeed(command.args(["-t", "spir64_x86_64", "--shard", shard, "--format", "json"]));
        let report = report(&output);
        let (here, cached) = counts(&report);
        assert_eq!((report["elsewhere"].as_u64().unwrap() + here, cached), (20, 0));
        compiled += here;
    }
    assert_eq!(compiled, 20, "every image is in one shard");
    assert_eq!(counts(&place.build(&[])), (20, 20));
    assert_eq!(place.bytes(), expected);
    let without = |arguments: &[&str]| {
        let mut command = tool();
        command.arg("build").arg(Path::new("x.so")).args(["-t", "spir64_x86_64"]).args(arguments).output().unwrap()
    };
    for wrong in ["0/3", "4/3", "1", "a/b"] {
        assert_eq!(without(&["--shard", wrong]).status.code(), Some(2), "{wrong}");
    }
    assert_eq!(without(&["--shard", "1/2", "-o", "y.so"]).status.code(), Some(2));
}
