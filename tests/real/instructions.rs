//! Do the readers need more instructions than they did?
//!
//! Times differ by machine and hour, counts of instructions hardly: callgrind counts what the program executes on files
//! made here of the project's own fixtures, and `tests/real/instructions.txt` holds what it was, less the start of the
//! program. Five in a hundred more fail. Counts depend on the compiler, which the file names: with another one a quarter
//! more fails, and a reader that costs a tenth more against all the others; so a new compiler passes, and a reader that went
//! astray with it does not. `BLESS=1 cargo test --features real-world --test real instructions` writes the file anew.

use crate::support::spirv;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// Factor by which a count may be more than it was.
const MORE: f64 = 1.05;
/// Factor where another compiler built the program, alone and against all others.
const MORE_OF_ANOTHER: f64 = 1.25;
const MORE_THAN_OTHERS: f64 = 1.1;
/// Number of times that each module of the fixtures stands in a file.
const COPIES: usize = 24;

/// Command that is counted: a name, the file it reads, and its arguments.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// Each after the format or the reader that most of the work is in.
const CASES: &[Case] = &[
    ("start", "", &["--version"]),
    ("elf", "images.so", &["inspect", "images.so", "--format", "json"]),
    ("elf-object", "images.o", &["inspect", "images.o", "--format", "json"]),
    ("coff", "images.obj", &["inspect", "images.obj", "--format", "json"]),
    ("archive", "images.a", &["inspect", "images.a", "--format", "json"]),
    ("tar", "images.tar", &["inspect", "images.tar", "--format", "json"]),
    ("offload-binary", "images.offload", &["inspect", "images.offload", "--format", "json"]),
    ("offload-bundle", "images.bundle", &["inspect", "images.bundle", "--format", "json"]),
    ("compressed", "compressed.o", &["inspect", "compressed.o", "--format", "json"]),
    ("syclbin", "images.syclbin", &["inspect", "images.syclbin", "--format", "json"]),
    ("ptx", "kernels.ptx", &["inspect", "kernels.ptx", "--format", "json"]),
    ("kernels", "images.so", &["kernels", "images.so", "--format", "json"]),
    ("aspects", "images.so", &["check", "images.so", "--declared", "", "--format", "json"]),
    ("gate", "images.so", &["check", "images.so", "-t", "intel_gpu_acm_g10", "--no-policy", "--format", "json"]),
    ("targets", "", &["targets", "--format", "json"]),
];

fn tool(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.current_dir(folder).env_clear();
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The files: every module of the fixtures several times, in each form.
fn make(folder: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut modules = Vec::new();
    for from in ["spirv", "cl", "aspects"] {
        let entries = std::fs::read_dir(fixtures.join(from)).unwrap().map(|entry| entry.unwrap().path());
        let mut sources: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "spvasm")).collect();
        sources.sort();
        for source in sources {
            let name = format!("{from}-{}.spv", source.file_stem().unwrap().to_str().unwrap());
            let text = std::fs::read_to_string(&source).unwrap();
            // Not each is a text that the tests' assembler takes.
            if let Ok(module) = spirv::assemble(&text) {
                std::fs::write(folder.join(&name), module).unwrap();
                modules.push(name);
            }
        }
    }
    assert!(modules.len() >= 20, "{modules:?}");
    let forms: [(&str, &[&str]); 7] = [
        ("images.so", &["shared", "--host", "x86_64-linux"]),
        ("images.o", &["object", "--host", "x86_64-linux"]),
        ("images.obj", &["object", "--host", "x86_64-windows"]),
        ("images.offload", &["offload-binary"]),
        ("images.bundle", &["offload-bundle"]),
        ("compressed.o", &["object", "--host", "x86_64-linux", "--compress"]),
        ("images.syclbin", &["syclbin"]),
    ];
    for (name, form) in forms {
        let mut wrap = tool(folder);
        wrap.arg("wrap");
        (0..COPIES).for_each(|_| _ = wrap.args(&modules));
        succeed(wrap.arg("--emit").args(form).args(["-o", name]));
    }
    succeed(
        Command::new(crate::support::tools::tool("ar"))
            .args(["rcD", "images.a", "images.o", "compressed.o"])
            .current_dir(folder),
    );
    let mut package = tar::Builder::new(std::fs::File::create(folder.join("images.tar")).unwrap());
    for name in ["images.so", "images.o"] {
        package.append_path_with_name(folder.join(name), name).unwrap();
    }
    package.into_inner().unwrap();
    let ptx = std::fs::read_to_string(fixtures.join("native/kernels.ptx")).unwrap();
    let ptx = ptx.replace(".version VERSION", ".version 8.6").replace("TARGET\n", "sm_80\n");
    std::fs::write(folder.join("kernels.ptx"), ptx).unwrap();
}

/// Number of instructions that a command executes. Its own threads are one, so that none spins.
fn count(folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(crate::support::tools::tool("valgrind"));
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_sycl-bundle")]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(arguments).current_dir(folder).env_clear().env("PATH", path).env("RAYON_NUM_THREADS", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {said}");
    let total = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count);
    total.unwrap_or_else(|| panic!("{arguments:?}: {said}")).trim().parse().unwrap()
}

/// Instructions of a case, and the bytes of its file.
#[derive(Clone, Copy)]
struct Count {
    instructions: f64,
    bytes: f64,
}

fn measure() -> BTreeMap<String, Count> {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let start = count(folder.path(), CASES[0].2);
    let of = |&(name, file, arguments): &Case| {
        let bytes = if file.is_empty() { 0 } else { std::fs::metadata(folder.path().join(file)).unwrap().len() };
        let all = if name == "start" { start } else { count(folder.path(), arguments).saturating_sub(start) };
        (name.to_owned(), Count { instructions: all as f64, bytes: bytes as f64 })
    };
    CASES.iter().map(of).collect()
}

fn compiler() -> String {
    let output = succeed(Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into())).arg("-V"));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn written(compiler: &str, counts: &BTreeMap<String, Count>) -> String {
    let mut text = format!("# {compiler}\n# Instructions beyond the start of the program, and bytes of the file.\n");
    for (name, _, _) in CASES {
        let Count { instructions, bytes } = counts[*name];
        writeln!(text, "{name} {instructions} {bytes}").unwrap();
    }
    text
}

fn recorded(text: &str) -> (String, BTreeMap<String, Count>) {
    let compiler = text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
    let counts = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].to_owned(), Count { instructions: words[1].parse().unwrap(), bytes: words[2].parse().unwrap() })
    });
    (compiler, counts.collect())
}

/// Cases that cost too much. A file that grew may cost as much more.
fn excess(now: &BTreeMap<String, Count>, before: &BTreeMap<String, Count>, same_compiler: bool) -> Vec<String> {
    let growth = |name: &str, count: &Count| {
        let old = before.get(name).unwrap_or_else(|| panic!("tests/real/instructions.txt lacks {name}: write it anew"));
        let larger = if old.bytes > 0.0 { count.bytes / old.bytes } else { 1.0 };
        count.instructions / (old.instructions * larger)
    };
    let mut growths: Vec<f64> = now.iter().map(|(name, count)| growth(name, count)).collect();
    growths.sort_by(f64::total_cmp);
    let usual = growths[growths.len() / 2];
    let too_much = |growth: f64| {
        if same_compiler { growth > MORE } else { growth > MORE_OF_ANOTHER || growth / usual > MORE_THAN_OTHERS }
    };
    let grown = now.iter().map(|(name, count)| (name, growth(name, count)));
    let found = grown.filter(|(_, growth)| too_much(*growth));
    found.map(|(name, growth)| format!("{name}: {:+.1} % instructions", (growth - 1.0) * 100.0)).collect()
}

#[test]
fn readers_need_no_more_instructions_than_they_did() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/instructions.txt");
    let (compiler, now) = (compiler(), measure());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, written(&compiler, &now)).unwrap();
    }
    let (of, before) = recorded(&std::fs::read_to_string(&file).unwrap());
    let found = excess(&now, &before, of == compiler);
    assert!(
        found.is_empty(),
        "{}\ncounted with {compiler}, recorded with {of}; where this is as it should be, `BLESS=1 cargo test --features \
         real-world --test real instructions` records it\n{}",
        found.join("\n"),
        written(&compiler, &now)
    );
}

#[test]
fn what_costs_too_much_is_told() {
    let counts = |all: &[(&str, f64, f64)]| -> BTreeMap<String, Count> {
        all.iter().map(|&(name, instructions, bytes)| (name.to_owned(), Count { instructions, bytes })).collect()
    };
    let before = counts(&[("a", 100.0, 10.0), ("b", 200.0, 10.0), ("c", 50.0, 0.0)]);
    let more = counts(&[("a", 106.0, 10.0), ("b", 200.0, 10.0), ("c", 50.0, 0.0)]);
    assert_eq!(excess(&more, &before, true), ["a: +6.0 % instructions"]);
    assert_eq!(excess(&more, &before, false), Vec::<String>::new());
    // A file that grew costs more, and another compiler changes all alike.
    let larger = counts(&[("a", 200.0, 20.0), ("b", 200.0, 10.0), ("c", 50.0, 0.0)]);
    assert!(excess(&larger, &before, true).is_empty());
    let all = counts(&[("a", 120.0, 10.0), ("b", 240.0, 10.0), ("c", 60.0, 0.0)]);
    assert!(excess(&all, &before, false).is_empty() && excess(&all, &before, true).len() == 3);
    let astray = counts(&[("a", 120.0, 10.0), ("b", 200.0, 10.0), ("c", 50.0, 0.0)]);
    assert_eq!(excess(&astray, &before, false), ["a: +20.0 % instructions"]);
    let far = counts(&[("a", 130.0, 10.0), ("b", 260.0, 10.0), ("c", 65.0, 0.0)]);
    assert_eq!(excess(&far, &before, false).len(), 3);
}
