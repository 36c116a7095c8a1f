//! How large is the program, how soon does it begin, and which peers is it held against?

use crate::{compare, offload_bundler, run, tool};
use std::path::Path;
use std::process::Command;

/// Compares the program's size and the time to print its version with LLVM's tool for bundles.
pub fn start() {
    let bundler = offload_bundler();
    let of = |path: &Path| std::fs::metadata(path).unwrap().len() as f64 / f64::from(1 << 20);
    // The profile strips it.
    let ours = of(Path::new(env!("CARGO_BIN_EXE_sycl-bundle")));
    println!("sycl-bundle: {ours:.1} MiB, no library but the C library's own; links at run time to what builds");
    compare(
        51,
        1.0,
        ("--version", Box::new(|| run(tool().arg("--version")))),
        ("clang-offload-bundler --version", Box::new(|| run(Command::new(&bundler).arg("--version")))),
    );
}

/// The versions of what the ratios are to: asked for where they run, else as Cargo.lock has them.
pub fn peers() {
    let first = |command: &mut Command, words: &str| {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let line = said.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{command:?}: {said}"));
        line.trim().to_owned()
    };
    let bundler = first(Command::new(offload_bundler()).arg("--version"), "version");
    let disassembler = first(Command::new("spirv-dis").arg("--version"), "SPIRV-Tools");
    let lock = include_str!("../../Cargo.lock");
    let rspirv = lock.split("name = \"rspirv\"\nversion = \"").nth(1).unwrap().split('"').next().unwrap();
    let driver = first(tool().args(["devices", "cpu"]), "Driver");
    let ocloc = first(tool().args(["doctor"]), "ocloc");
    println!("clang-offload-bundler: {bundler}\nspirv-dis: {disassembler}\nrspirv: {rspirv}");
    println!("clBuildProgram, Intel's OpenCL CPU driver: {driver}\noclocInvoke: {ocloc}\n");
}
