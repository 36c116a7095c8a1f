//! Does what `wrap` writes link, load, run and come back, by judges that nobody here wrote?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cross;
mod llvm;
mod objects;
mod round_trips;
#[path = "../support/mod.rs"]
mod support;
mod verb;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::host::{ImageSpec, out_images, raw_values};
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion};
use sycl_bundle::rewrite::object_file::{ObjectFormat, ObjectOptions, object_file};
use sycl_bundle::rewrite::shared::Machine;

/// For this machine and libsycl.so.9.
pub const LINUX: ObjectOptions<'static> = ObjectOptions {
    machine: Machine::X86_64,
    format: ObjectFormat::Elf,
    version: ImageVersion::V3,
    entries: EntryForm::Old,
    comments: &[],
};

/// An object with images.
pub fn object(images: &[ImageSpec], options: &ObjectOptions<'_>) -> Vec<u8> {
    let raw = raw_values(images);
    object_file(&out_images(images, &raw), options).unwrap()
}

/// A folder that is gone with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty one.
    fn new() -> Self {
        Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a file into it.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Reads a file in it.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a program in it, which must succeed.
    pub fn run<'a>(&self, program: impl AsRef<Path>, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        let mut command = Command::new(program.as_ref());
        let output = command.current_dir(self.path()).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
        output
    }

    /// Runs `sycl-bundle` in it, which must succeed.
    pub fn tool<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.run(env!("CARGO_BIN_EXE_sycl-bundle"), arguments)
    }
}

/// What a program said on its standard output.
pub fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}
