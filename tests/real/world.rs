//! Where is the real installation, what is in it, and under which variables does it run?

use crate::support::tools::{missing, needed};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use object::{Object, ObjectSymbol};

/// The folder of the tests' scripts.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real")
}

/// An installation made by `fetch.py`.
pub struct World {
    root: PathBuf,
}

/// The installation, fetched first where it is not there yet. `SYCL_BUNDLE_REAL_WORLD` names another folder for it.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let root = std::env::var_os("SYCL_BUNDLE_REAL_WORLD")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/real-world"), PathBuf::from);
        // The script takes a lock, so that test programs running at once fetch once.
        succeed(needed("python3").arg(scripts().join("fetch.py")).arg(&root));
        World { root: root.canonicalize().unwrap() }
    })
}

impl World {
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn site_packages(&self) -> PathBuf {
        self.root.join("venv/lib/python3.11/site-packages")
    }

    /// The library of dpnp with the smallest number of images that dpnp's tests run all of.
    pub fn window(&self) -> PathBuf {
        self.site_packages().join("dpnp").join(WINDOW)
    }

    /// The library behind `dpnp.random` and `dpnp.partition`.
    pub fn backend(&self) -> PathBuf {
        self.site_packages().join("dpnp").join(BACKEND)
    }

    /// Every library of the installation that registers device code, by path, found without the tool: those that
    /// name the registration function, less the runtime, which defines it.
    pub fn fat_libraries(&self) -> &'static [PathBuf] {
        static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
        FOUND.get_or_init(|| {
            let mut found = Vec::new();
            collect(&self.root.join("venv/lib"), &mut found);
            found.sort();
            assert!(found.len() >= 28, "dpctl, dpnp and oneMKL have 28 such libraries: {found:?}");
            found
        })
    }

    /// A command in the environment in which the installation works, and nothing of the caller's SYCL settings.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["SYCL_", "UR_", "CL_CONFIG_", "OCL_ICD_"].iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .env("OCL_ICD_VENDORS", self.root.join("icd"))
            .env("LD_LIBRARY_PATH", self.root.join("venv/lib"))
            .env("ONEAPI_DEVICE_SELECTOR", "opencl:cpu")
            .env("SYCL_CACHE_PERSISTENT", "0")
            // Without a cache everything is compiled; the tests of the cache name a folder.
            .env("SYCL_BUNDLE_CACHE_DIR", "")
            .env_remove("MAKEFLAGS")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null());
        command
    }

    /// The installation's Python.
    pub fn python(&self) -> Command {
        self.command(self.root.join("venv/bin/python"))
    }
}

/// `_window_impl` below the package's folder.
pub const WINDOW: &str = "backend/extensions/window/_window_impl.cpython-311-x86_64-linux-gnu.so";
/// `libdpnp_backend_c` below the package's folder.
pub const BACKEND: &str = "libdpnp_backend_c.so";

/// Runs a command that has to succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| missing(command, &error));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        tail(&output.stdout),
        tail(&output.stderr)
    );
    output
}

/// The last lines of what a program said.
pub fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file() && name.contains(".so") && !name.starts_with("libsycl") && names_registration(&path) {
            found.push(path);
        }
    }
}

/// Reads no more than the dynamic symbols: some of these files have hundreds of megabytes.
fn names_registration(path: &Path) -> bool {
    let cache = object::ReadCache::new(std::fs::File::open(path).unwrap());
    let Ok(file) = object::File::parse(&cache) else { return false };
    file.dynamic_symbols().any(|symbol| symbol.name() == Ok("__sycl_register_lib"))
}
