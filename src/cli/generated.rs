//! Are the checked-in man pages and completion scripts those of the command line?
//!
//! `BLESS=1 cargo test generated` rewrites them.

use super::{completions, man};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::path::Path;

/// Compares a folder with what it should hold; with `BLESS` set makes it so.
fn prove(folder: &str, expected: &BTreeMap<String, Vec<u8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let present = || -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        entries
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
            .collect()
    };
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for name in present().keys().filter(|name| !expected.contains_key(*name)) {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, bytes) in expected {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let present = present();
    let stale: Vec<_> =
        expected.iter().filter(|(name, bytes)| present.get(*name) != Some(*bytes)).map(|(name, _)| name).collect();
    let extra: Vec<_> = present.keys().filter(|name| !expected.contains_key(*name)).collect();
    assert!(
        stale.is_empty() && extra.is_empty(),
        "{}: stale {stale:?}, of no verb {extra:?}; `BLESS=1 cargo test generated` rewrites them",
        folder.display()
    );
}

#[test]
fn man_pages_are_current() {
    prove("man", &man::pages().unwrap().into_iter().collect());
}

#[test]
fn completions_are_current() {
    let scripts = [
        ("sycl-bundle.bash", Shell::Bash),
        ("_sycl-bundle", Shell::Zsh),
        ("sycl-bundle.fish", Shell::Fish),
        ("_sycl-bundle.ps1", Shell::PowerShell),
        ("sycl-bundle.elv", Shell::Elvish),
    ];
    prove(
        "completions",
        &scripts.map(|(name, shell)| (name.to_owned(), completions::script(shell).unwrap())).into_iter().collect(),
    );
}
