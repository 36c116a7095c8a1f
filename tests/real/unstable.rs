//! How is the tool run with the drivers of today, which need newer libraries than the system has?
//!
//! `unstable.sh` unpacks packages of Debian unstable beside the build. A copy of the tool is told (by patchelf) to load its
//! libraries from there, so that the drivers find theirs; nobody need be root for that.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::tools::needed;
use crate::world::{succeed, world};
use sycl_bundle::device::simulation::Simulation;

/// Packages of Debian unstable, unpacked.
pub struct Unstable {
    folder: PathBuf,
    tool: PathBuf,
    icd: PathBuf,
}

/// Intel's offline compiler and OpenCL driver for GPUs.
pub fn intel() -> &'static Unstable {
    static INTEL: OnceLock<Unstable> = OnceLock::new();
    let packages = [
        "intel-opencl-icd",
        "intel-ocloc",
        "libigc2",
        "libigdfcl2",
        "ocl-icd-libopencl1",
        "libze-intel-gpu1",
        "libze1",
    ];
    INTEL.get_or_init(|| Unstable::new("intel", &packages, "intel-opencl/libigdrcl.so"))
}

/// PoCL, a second OpenCL driver for CPUs.
pub fn pocl() -> &'static Unstable {
    static POCL: OnceLock<Unstable> = OnceLock::new();
    POCL.get_or_init(|| Unstable::new("pocl", &["pocl-opencl-icd", "ocl-icd-libopencl1"], "libpocl.so.2"))
}

impl Unstable {
    fn new(name: &str, packages: &[&str], driver: &str) -> Unstable {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = project.join("target/unstable").join(name);
        succeed(Command::new(project.join("tests/real/unstable.sh")).arg(&folder).args(packages));
        let unstable = Unstable { tool: folder.join("sycl-bundle"), icd: folder.join("icd"), folder };
        let copy = unstable.folder.join(format!("sycl-bundle-{}", std::process::id()));
        std::fs::copy(env!("CARGO_BIN_EXE_sycl-bundle"), &copy).unwrap();
        let libraries = unstable.libraries();
        let mut patch = needed("patchelf");
        patch.arg("--set-interpreter").arg(libraries.join("ld-linux-x86-64.so.2"));
        succeed(patch.args(["--force-rpath", "--set-rpath"]).arg(&libraries).arg(&copy));
        std::fs::rename(copy, &unstable.tool).unwrap();
        std::fs::create_dir_all(&unstable.icd).unwrap();
        let named = unstable.icd.join("driver.icd");
        let whole = named.with_extension(std::process::id().to_string());
        // Another run of the tests may read it meanwhile.
        std::fs::write(&whole, libraries.join(driver).to_str().unwrap()).unwrap();
        std::fs::rename(whole, named).unwrap();
        unstable
    }

    fn libraries(&self) -> PathBuf {
        self.folder.join("root/usr/lib/x86_64-linux-gnu")
    }

    /// The program of that name.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// A program of the system, run by these packages' loader with their libraries and this driver alone.
    pub fn run(&self, program: &Path) -> Command {
        let libraries = self.libraries();
        let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(&libraries).arg(program);
        command.env("OCL_ICD_VENDORS", &self.icd).env_remove("OCL_ICD_FILENAMES").env_remove("LD_LIBRARY_PATH");
        command
    }

    /// The path of the driver, as a loader is told of it.
    pub fn driver(&self) -> String {
        std::fs::read_to_string(self.icd.join("driver.icd")).unwrap()
    }

    /// The tool, with this driver alone.
    pub fn tool(&self) -> Command {
        let mut tool = Command::new(&self.tool);
        tool.env("OCL_ICD_VENDORS", &self.icd).env_remove("OCL_ICD_FILENAMES").env_remove("ONEAPI_DEVICE_SELECTOR");
        // PoCL starts it, by a path of the system.
        tool.env("POCL_PATH_LLVM_SPIRV", self.program("llvm-spirv"));
        tool
    }

    /// A program with the installation's runtime and libraries of these folders, on a GPU that this driver simulates.
    pub fn runtime_on(&self, gpu: &Simulation, program: &Path, folders: &[PathBuf]) -> Command {
        let mut command = self.runtime("opencl:gpu", program, folders);
        command.envs(gpu.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A program with the installation's runtime and libraries of these folders, on this driver's devices. The loader of these
    /// packages runs it, so it may not start others.
    pub fn runtime(&self, selector: &str, program: &Path, folders: &[PathBuf]) -> Command {
        let libraries = self.libraries();
        let mut command = world().command(libraries.join("ld-linux-x86-64.so.2"));
        let all = [&[libraries], folders].concat();
        command.arg("--library-path").arg(std::env::join_paths(all).unwrap()).arg(program);
        command
            .env("OCL_ICD_VENDORS", &self.icd)
            .env("ONEAPI_DEVICE_SELECTOR", selector)
            .env("POCL_PATH_LLVM_SPIRV", self.program("llvm-spirv"))
            .env_remove("LD_LIBRARY_PATH");
        command
    }
}
