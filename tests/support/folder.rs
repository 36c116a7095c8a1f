//! Where does a test put files, and run programs on them?

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::tools;

/// A folder that is gone with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty one.
    pub fn new() -> Self {
        tools::heed_signals();
        Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a file into it.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Puts a program or library into it.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.put(name, bytes);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Reads a file in it.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a program in it, which must succeed.
    pub fn run<'a>(&self, program: impl AsRef<Path>, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        let mut command = Command::new(program.as_ref());
        tools::run(command.current_dir(self.path()).args(arguments))
    }

    /// Runs `sycl-bundle` in it, which must succeed.
    pub fn tool<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.run(env!("CARGO_BIN_EXE_sycl-bundle"), arguments)
    }
}

/// Standard output of a program as text.
pub fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}
