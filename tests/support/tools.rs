//! Which programs beside Rust do fixtures and the second tier need, and where are they?
//!
//! A program that is missing ends the test with its name and the Debian package that has it: never a skipped test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

/// Programs, or files where no program tells, and the Debian package of each.
pub fn packages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../real/programs.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap())
}

/// The Debian package that has a program.
fn package(program: &str) -> &str {
    packages().find(|(name, _)| *name == program).map_or(program, |(_, package)| package)
}

/// Finds a program in `PATH`, or in the folder of an LLVM installation, newest first; none where it is nowhere.
pub fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend((13..40).rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin"))));
    folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Finds a program, which has to be there.
pub fn tool(name: &str) -> PathBuf {
    found(name).unwrap_or_else(|| panic!("the program `{name}` is missing: apt-get install {}", package(name)))
}

/// Starts a command of a program, which has to be there.
pub fn needed(name: &str) -> Command {
    Command::new(tool(name))
}

/// Finds a tool of one version of LLVM, which Debian's package of that version brings.
pub fn llvm(version: u32, name: &str) -> PathBuf {
    let file = PathBuf::from(format!("/usr/lib/llvm-{version}/bin/{name}"));
    let packages = format!("llvm-{version} clang-{version} clang-tools-{version}");
    assert!(file.is_file(), "the program {} is missing: apt-get install {packages}", file.display());
    file
}

/// Finds the program that a recipe names: `NAME`, `llvm-14:NAME` of one LLVM, `cuda-13:NAME` of NVIDIA's compilers.
pub fn named(name: &str) -> PathBuf {
    match name.split_once(':') {
        None => tool(name),
        Some(("cuda-13", name)) => cuda().join("nvidia/cu13/bin").join(name),
        Some(("cuda-12", name)) => cuda().join("nvidia/cuda_nvcc/bin").join(name),
        Some((llvm_version, name)) => {
            let version = llvm_version.strip_prefix("llvm-").and_then(|version| version.parse().ok());
            llvm(version.unwrap_or_else(|| panic!("no such set of programs: {llvm_version}")), name)
        }
    }
}

/// NVIDIA's compilers and dumper, which pip brings once, by version and hash (`fixtures/native/cuda.txt`).
pub fn cuda() -> &'static Path {
    static CUDA: OnceLock<PathBuf> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    CUDA.get_or_init(|| {
        let _turn = TURN.lock();
        let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/native/cuda.txt");
        let key = blake3::hash(&std::fs::read(&pinned).unwrap()).to_hex();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-{}", &key[..16]));
        if !folder.is_dir() {
            let building = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let mut pip = Command::new(tool("python3"));
            pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-input", "--quiet", "--no-deps"]);
            pip.args(["--require-hashes", "--only-binary", ":all:", "--retries", "5", "--root-user-action", "ignore"]);
            run(pip.arg("--target").arg(building.path()).arg("-r").arg(&pinned));
            // Another process may have been faster; what it made is the same.
            if std::fs::rename(building.path(), &folder).is_ok() {
                let _ = building.keep();
            }
        }
        folder
    })
}

/// Has programs that are started take the signals of a terminal as usual, also where whoever started the tests ignores them (`nohup`, a
/// shell's background): a signal that this process catches has its usual effect on them.
pub fn heed_signals() {
    static HEEDED: std::sync::Once = std::sync::Once::new();
    HEEDED.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        for signal in [1, 2, 3].into_iter().filter(|signal| ignored.unwrap_or_default() >> (signal - 1) & 1 == 1) {
            let _ = signal_hook::flag::register(signal, std::sync::Arc::default());
        }
    });
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| missing(command, &error));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}

/// Ends the test: a command could not be started.
pub fn missing(command: &Command, error: &std::io::Error) -> ! {
    let name = command.get_program().to_string_lossy().into_owned();
    if error.kind() == std::io::ErrorKind::NotFound {
        panic!("the program `{name}` is missing: apt-get install {}", package(&name));
    }
    panic!("{command:?}: {error}")
}
