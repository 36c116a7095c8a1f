//! Which compilers make the payloads, and how is each made once?

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The folder of the sources.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/native").join(name)
}

/// A source's text.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

/// A program in `PATH` or in the newest LLVM installation.
pub fn tool(name: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend((13..40).rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin"))));
    let found = folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("these tests need the program `{name}`; install the package `{package}`"))
}

/// Runs a command that must succeed, and gives what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out.into_owned()
}

/// A folder for this run of the tests.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Compiles the OpenCL kernels; `arguments` name the device and what else is asked for.
pub fn ocloc(arguments: &[&str]) -> Vec<u8> {
    let folder = scratch();
    let output = folder.path().join("out.bin");
    let mut command = Command::new(tool("ocloc", "intel-opencl-icd"));
    command.current_dir(folder.path()).args(["compile", "-file"]).arg(fixture("kernels.cl"));
    command.args(["-options", "-cl-std=CL2.0 -cl-kernel-arg-info", "-output_no_suffix", "-output", "out"]);
    command.args(["-out_dir", "."]).args(arguments);
    run(&mut command);
    // Some versions add `.bin` even so.
    std::fs::read(&output).or_else(|_| std::fs::read(folder.path().join("out"))).unwrap()
}

/// Assembles the AMD kernels for a processor with its features.
pub fn code_object(processor: &str, features: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = scratch();
    let output = folder.path().join("kernels.hsaco");
    let mut command = Command::new(tool("llvm-mc", "llvm"));
    command.args(["--triple=amdgcn-amd-amdhsa", "--filetype=obj"]).arg(format!("--mcpu={processor}"));
    if !features.is_empty() {
        command.arg(format!("--mattr={features}"));
    }
    run(command.arg("-o").arg(&output).arg(fixture("kernels.amdgcn.s")));
    (folder, output)
}

/// NVIDIA's compilers, fetched once.
pub struct Cuda(PathBuf);

impl Cuda {
    pub fn get() -> &'static Cuda {
        static CUDA: OnceLock<Cuda> = OnceLock::new();
        static TURN: Mutex<()> = Mutex::new(());
        CUDA.get_or_init(|| {
            let _turn = TURN.lock();
            let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/cuda.txt");
            let key = blake3::hash(&std::fs::read(&pinned).unwrap()).to_hex();
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-{}", &key[..16]));
            if !folder.is_dir() {
                let building = scratch();
                let mut pip = Command::new(tool("python3", "python3"));
                pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-input", "--quiet", "--no-deps"]);
                pip.args([
                    "--require-hashes",
                    "--only-binary",
                    ":all:",
                    "--retries",
                    "5",
                    "--root-user-action",
                    "ignore",
                ]);
                run(pip.arg("--target").arg(building.path()).arg("-r").arg(&pinned));
                // Another process may have been faster; what it made is the same.
                if std::fs::rename(building.path(), &folder).is_ok() {
                    let _ = building.keep();
                }
            }
            Cuda(folder)
        })
    }

    /// A program of CUDA 13.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.0.join("nvidia/cu13/bin").join(name)
    }

    /// Compiles the PTX kernels with CUDA 13, or 12 where asked.
    pub fn cubin(&self, architecture: &str, twelve: bool) -> (tempfile::TempDir, PathBuf) {
        let folder = scratch();
        let (source, output) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
        std::fs::write(&source, ptx(architecture)).unwrap();
        let ptxas = if twelve { self.0.join("nvidia/cuda_nvcc/bin/ptxas") } else { self.tool("ptxas") };
        run(Command::new(ptxas).arg("-arch").arg(architecture).arg(&source).arg("-o").arg(&output));
        (folder, output)
    }
}

/// The PTX kernels for an architecture.
pub fn ptx(architecture: &str) -> String {
    text("kernels.ptx").replace(".version VERSION", ".version 8.6").replace("TARGET\n", &format!("{architecture}\n"))
}
