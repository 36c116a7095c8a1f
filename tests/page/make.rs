//! How do modules and pages come into being?

use std::path::PathBuf;
use std::process::{Command, Output};

/// A module with kernels of these names, one function each, in SPIR-V 1.2.
pub fn module(names: &[&str]) -> Vec<u8> {
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0200, 0x0006_000e, 0, 0];
    let mut put = |op: u32, operands: &[u32]| {
        words.push(u32::try_from(operands.len() + 1).unwrap() << 16 | op);
        words.extend(operands);
    };
    put(17, &[4]);
    put(17, &[6]);
    put(14, &[2, 2]);
    let first = 10;
    let id = |at: usize| first + 2 * u32::try_from(at).unwrap();
    for (at, name) in names.iter().enumerate() {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        let text = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        put(15, &[6, id(at)].into_iter().chain(text).collect::<Vec<_>>());
    }
    put(19, &[1]);
    put(33, &[2, 1]);
    for at in 0..names.len() {
        put(54, &[1, id(at), 0, 2]);
        put(248, &[id(at) + 1]);
        put(253, &[]);
        put(56, &[]);
    }
    words[3] = id(names.len());
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A folder for modules and pages.
pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs the program here, on the first day of 2026.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("SOURCE_DATE_EPOCH", "1767225600")
            .env_remove("SYCL_BUNDLE_CONFIG")
            .output()
            .unwrap()
    }

    /// Has the program write `page.html`.
    pub fn page(&self, arguments: &[&str]) -> PathBuf {
        let output = self.run(&[arguments, &["--html", "page.html"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        self.path("page.html")
    }
}
