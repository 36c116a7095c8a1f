//! Is every library inside archives, wheels, other packages, folders and processes found, and nothing else?
//!
//! All packages are made here, from the project's own fixtures. The program itself reads them.

mod extracting;
mod folders;
mod foreign;
mod forms;
mod hostile;
mod make;
mod processes;

use crate::support::built::Recipe;
use crate::support::host::{Fixture, samples};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Results of one run of the program.
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// Runs the program. A run that waits for something is ended, and fails.
pub fn run(arguments: &[&OsStr]) -> Run {
    let output =
        Command::new("timeout").arg("60").arg(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    Run { code: output.status.code().unwrap(), stdout: output.stdout, stderr }
}

/// Images and problems that `inspect` tells of a path.
pub struct Seen {
    /// The exit code.
    pub code: i32,
    /// The path of each file and the digests of its images.
    pub files: Vec<(String, Vec<String>)>,
    /// The path of each file with a problem, and the problem.
    pub problems: Vec<(String, String)>,
    /// Place of each image.
    pub uris: Vec<Option<String>>,
    /// Standard error.
    pub stderr: String,
}

impl Seen {
    /// The paths of files with images, after the path of the package.
    pub fn names(&self, package: &Path) -> Vec<String> {
        let with = self.files.iter().filter(|(_, images)| !images.is_empty());
        with.map(|(path, _)| path.strip_prefix(package.to_str().unwrap()).unwrap_or(path).to_owned()).collect()
    }

    /// The digests of all images.
    pub fn images(&self) -> Vec<String> {
        self.files.iter().flat_map(|(_, images)| images.clone()).collect()
    }
}

/// Runs `inspect --format json`.
pub fn inspect(path: &Path) -> Seen {
    inspect_with(path, &[])
}

/// Runs `inspect` with more arguments.
pub fn inspect_with(path: &Path, more: &[&str]) -> Seen {
    let mut arguments = vec![OsStr::new("inspect"), OsStr::new("--format"), OsStr::new("json"), path.as_os_str()];
    arguments.extend(more.iter().map(OsStr::new));
    let run = run(&arguments);
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let mut seen = Seen { code: run.code, files: vec![], problems: vec![], uris: vec![], stderr: run.stderr };
    for file in document["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap().to_owned();
        let images = file["images"].as_array().unwrap();
        seen.uris.extend(images.iter().map(|image| image["uri"].as_str().map(str::to_owned)));
        let digest = |image: &Value| image["blake3"].as_str().unwrap().to_owned();
        for problem in file["problems"].as_array().unwrap() {
            seen.problems.push((path.clone(), problem["message"].as_str().unwrap().to_owned()));
        }
        seen.files.push((path, images.iter().map(digest).collect()));
    }
    seen
}

/// A library with every kind of image, and the digests of these.
pub fn library() -> (&'static [u8], &'static [String]) {
    static LIBRARY: OnceLock<(Vec<u8>, Vec<String>)> = OnceLock::new();
    let (bytes, images) = LIBRARY.get_or_init(|| {
        let path = Fixture::new("packaged").images(samples::every_property()).build();
        let seen = inspect(&path);
        assert_eq!(seen.code, 0, "{}", seen.stderr);
        (std::fs::read(path).unwrap(), seen.images())
    });
    assert_eq!(images.len(), samples::every_property().len());
    (bytes, images)
}

/// A sound library without device code.
pub fn hollow() -> Vec<u8> {
    let recipe = Recipe::new("hollow").input("host.c", "int host(void) { return 1; }\n").output("host.so");
    recipe.run(["gcc", "-shared", "-fPIC", "-o", "host.so", "host.c"]).bytes("host.so")
}

/// A module of SPIR-V: the smallest file with device code.
pub fn module() -> Vec<u8> {
    crate::support::spirv::module("add_one")
}

/// Writes a file in a folder.
pub fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}
