//! Does the command line answer as recorded?
//!
//! Drop a `.case` file below `tests/cli`; `tests/cli/README.case` documents the directives. Each case runs in a fresh
//! folder; what it prints stands in the `.out` file beside it. `BLESS=1 cargo test --test cli` rewrites those.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is a failed test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Words in hexadecimal and texts in quotes (padded with NULs to whole words), as little-endian bytes.
fn words(text: &str) -> Vec<u8> {
    let token = |token: &str| match token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize((bytes.len() / 4 + 1) * 4, 0);
            bytes
        }
        None => u32::from_str_radix(token, 16).unwrap_or_else(|_| panic!("word {token}")).to_le_bytes().to_vec(),
    };
    text.split_whitespace().flat_map(token).collect()
}

/// The words of a command; what stands in double quotes is one.
fn arguments(command: &str) -> Vec<String> {
    let halves = command.split('"').enumerate();
    let words = halves.flat_map(|(number, text)| match number % 2 {
        0 => text.split_whitespace().map(str::to_owned).collect(),
        _ => vec![text.to_owned()],
    });
    words.collect()
}

/// Runs the program in a folder; the transcript of one run.
fn run(folder: &Path, environment: &[(String, String)], command: &str, expected: i32) -> String {
    let mut arguments = arguments(command);
    let stdin = match arguments.iter().position(|argument| argument == "<") {
        Some(at) => Stdio::from(std::fs::File::open(folder.join(arguments.split_off(at).last().unwrap())).unwrap()),
        None => Stdio::null(),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("COLUMNS", "100")
        .envs(environment.iter().cloned())
        .stdin(stdin)
        .output()
        .unwrap();
    // A panic (101) or a signal is never expected.
    let code = output.status.code();
    assert!(
        code == Some(expected) && expected != 101,
        "`{command}` ended with {:?}, expected {expected}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let mut transcript = format!("$ sycl-bundle {command}\n{}", String::from_utf8_lossy(&output.stdout));
    if !output.stderr.is_empty() {
        write!(transcript, "--- stderr\n{}", String::from_utf8_lossy(&output.stderr)).unwrap();
    }
    if expected != 0 {
        writeln!(transcript, "--- exit {expected}").unwrap();
    }
    transcript
}

fn transcript(case: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut out = String::new();
    let mut environment = Vec::new();
    for line in std::fs::read_to_string(case).unwrap().lines() {
        let Some((directive, text)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(": ")) else { continue };
        let named = || text.split_once('=').map(|(name, value)| (folder.path().join(name.trim()), value)).unwrap();
        match directive {
            "RUN" => out += &run(folder.path(), &environment, text, 0),
            "ENV" => {
                let (name, value) = text.split_once('=').unwrap();
                environment.push((name.to_owned(), value.to_owned()));
            }
            "FOLDER" => std::fs::create_dir(folder.path().join(text)).unwrap(),
            "WORDS" => {
                let (path, value) = named();
                std::fs::write(path, words(value)).unwrap();
            }
            "TEXT" => {
                let (path, value) = named();
                std::fs::write(path, value.trim()).unwrap();
            }
            "LINE" => {
                let (path, value) = named();
                let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
                writeln!(file, "{}", value.strip_prefix(' ').unwrap_or(value)).unwrap();
            }
            "SHOW" => {
                let shown = std::fs::read(folder.path().join(text)).unwrap();
                write!(out, "--- {text}\n{}", String::from_utf8_lossy(&shown)).unwrap();
            }
            "LIST" => {
                let entries = std::fs::read_dir(folder.path().join(text)).unwrap();
                let mut names: Vec<_> =
                    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
                names.sort();
                writeln!(out, "--- {text}: {}", names.join(" ")).unwrap();
            }
            _ => match directive.strip_prefix("FAIL(").and_then(|rest| rest.strip_suffix(')')) {
                Some(code) => out += &run(folder.path(), &environment, text, code.parse().unwrap()),
                // Prose may hold a colon; a directive is one upper-case word.
                None => {
                    assert!(!directive.chars().all(char::is_uppercase), "{}: directive {directive}", case.display());
                }
            },
        }
    }
    let real = folder.path().canonicalize().unwrap();
    out.replace(real.to_str().unwrap(), "%tmp%").replace(env!("CARGO_PKG_VERSION"), "%version%")
}

fn cases(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            cases(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "case") {
            found.push(path);
        }
    }
}

#[test]
fn cases_answer_as_recorded() {
    let mut found = Vec::new();
    cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"), &mut found);
    found.sort();
    assert!(!found.is_empty());
    let mut wrong = Vec::new();
    for case in &found {
        let golden = case.with_extension("out");
        let Ok(actual) = std::panic::catch_unwind(|| transcript(case)) else {
            wrong.push(format!("{}: see above", case.display()));
            continue;
        };
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if expected != actual {
            wrong.push(format!("{}\n--- recorded\n{expected}\n--- now\n{actual}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\n`BLESS=1 cargo test --test cli` rewrites what is recorded", wrong.join("\n\n"));
}

/// A module with a kernel.
const MODULE: &str = "07230203 00010200 0006000e 20 0 00020011 4 00020011 6 0006000f 6 1 \"_ZTS3add\" 00030016 2 40";

#[test]
fn a_full_standard_error_changes_no_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.args(arguments).current_dir(folder.path()).env_clear().env("OPENCL_DYLIB_PATH", "missing.so");
        // An installation fails before it fetches anything: there is no pip in an empty PATH.
        command.env("PATH", "").env("HOME", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full).status().unwrap().code()
    };
    assert_eq!(run(&["inspect", "missing.spv"]), Some(3));
    assert_eq!(run(&["doctor"]), Some(5));
    assert_eq!(run(&["doctor", "--install-driver"]), Some(5));
    std::fs::write(folder.path().join("add.spv"), words(MODULE)).unwrap();
    assert_eq!(run(&["build", "add.spv", "-t", "spir64_x86_64", "-o", "a.table"]), Some(5));
    assert_eq!(run(&["build", "add.spv", "-t", "spir64_x86_64", "-o", "a.table", "--install-driver"]), Some(5));
}

/// As `head` leaves one.
#[test]
fn a_closed_standard_output_is_no_error() {
    for command in ["--help", "--version", "help build", "inspect -h", "targets", "man"] {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let output = tool.args(arguments(command)).stdin(Stdio::null()).stdout(write).output().unwrap();
        assert!(output.status.code() == Some(0) && output.stderr.is_empty(), "{command}: {output:?}");
    }
}

#[test]
fn a_full_standard_output_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("add.spv"), words(MODULE)).unwrap();
    let mut wrong = Vec::new();
    for command in [
        "inspect add.spv",
        "inspect add.spv --format json",
        "inspect add.spv --format jsonl",
        "inspect add.spv --clones --format json",
        "kernels add.spv",
        "kernels add.spv --format json",
        "kernels add.spv --format jsonl",
        "props add.spv",
        "props add.spv --format json",
        "check add.spv -t pvc",
        "check add.spv -t pvc --format json",
        "check add.spv -t pvc --format sarif",
        "check add.spv -t pvc --format junit",
        "check add.spv --declared fp64",
        "check add.spv --link",
        "has add.spv -t pvc",
        "diff add.spv add.spv",
        "diff add.spv add.spv --format json",
        "explain --message CL_INVALID_BINARY",
        "targets",
        "targets --format json",
        "extract add.spv -o -",
        "wrap add.spv -o - --emit syclbin",
        "split add.spv -o - --emit offload-binary",
        "man",
        "completions bash",
        "props --schema",
        "--version",
        "--help",
        "help build",
        "inspect -h",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.args(arguments(command)).current_dir(folder.path()).env_clear().stdin(Stdio::null()).stdout(full);
        let output = tool.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(5) || !said.contains("No space left") {
            wrong.push(format!("{command}: {:?}, {said}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
