//! Do the dependencies keep to `.ci/deny.toml`, and has the library alone no more of them than it needs?
//!
//! Licences, sources and bans, without a network and without cargo-deny, which reads the same file and also asks for
//! advisories.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The texts in quotes between a key's bracket and the one that closes it.
fn list(policy: &str, key: &str) -> Vec<String> {
    let items = policy.split(&format!("\n{key} = [\n")).nth(1).unwrap().split("\n]").next().unwrap();
    items.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether one of the alternatives of an expression consists of what is allowed.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    let all = |part: &str| part.split(" OR ").any(|licence| allow.iter().any(|known| known == licence.trim()));
    // No expression here has an `AND` within an alternative.
    expression.split(" AND ").all(all)
}

#[test]
fn licences_and_sources_are_those_that_may_be() {
    let allow = list(&text(".ci/deny.toml"), "allow");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    // Packages that other systems need are not on this machine.
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = document["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{}", packages.len());
    let mut sources = BTreeSet::new();
    let mut wrong = Vec::new();
    for package in packages {
        let (name, licence) = (package["name"].as_str().unwrap(), package["license"].as_str().unwrap_or("none"));
        if !allowed(licence, &allow) {
            wrong.push(format!("{name}: {licence}"));
        }
        sources.extend(package["source"].as_str());
    }
    assert_eq!(wrong, Vec::<String>::new(), "may it stand in this program? If so, `allow` of .ci/deny.toml says it");
    let [one] = sources.iter().collect::<Vec<_>>()[..] else { panic!("one registry, and no other: {sources:?}") };
    assert!(one.starts_with("registry+"), "{one}");
}

#[test]
fn what_is_banned_is_not_there() {
    let (policy, lock) = (text(".ci/deny.toml"), text("Cargo.lock"));
    let banned = list(&policy, "deny");
    assert!(banned.contains(&"openssl-sys".to_owned()), "{banned:?}");
    for name in banned {
        assert!(!lock.contains(&format!("\nname = \"{name}\"\n")), "{name}: .ci/deny.toml says why not");
    }
}

#[test]
fn alternatives_are_told_from_what_holds_together() {
    let allow = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for (expression, expected) in [
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("(MIT OR X) AND Unicode-3.0", true),
        ("MIT AND X", false),
        ("none", false),
    ] {
        assert_eq!(allowed(expression, &allow), expected, "{expression}");
    }
}

/// Dependencies that draw a command line, call drivers or map files are the program's: whoever uses the library builds none.
#[test]
fn the_library_alone_has_no_command_line() {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let root = env!("CARGO_MANIFEST_DIR");
    let tree = |more: &[&str]| {
        let mut command = Command::new(&cargo);
        command.args(["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none"]).args(more);
        let output = command.current_dir(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let (all, library) = (tree(&[]), tree(&["--no-default-features"]));
    for name in [
        "clap",
        "clap_complete",
        "clap_mangen",
        "indicatif",
        "signal-hook",
        "memmap2",
        "mimalloc",
        "opencl3",
        "libloading",
    ] {
        assert!(
            all.contains(name),
            "{name} is no dependency any more: take it off this list and the features of Cargo.toml"
        );
        assert!(!library.contains(name), "{name}: make it `optional`, and name it in feature `cli` of Cargo.toml");
    }
}
