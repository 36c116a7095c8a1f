//! Was something added by halves? Each failure says what is missing and which page tells what belongs to it.
//!
//! The pages are `src/docs/*.md`; what they name has to be there. Files that other tools read (the action, the hooks, the
//! Debian package) are held against the command line and the tree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::spirv;
use sycl_bundle::bundle::property_sets::PROPERTY_SETS;
use sycl_bundle::device::yaml::{self, Node, Value};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn tool(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).output().unwrap()
}

fn help(verb: &[&str]) -> String {
    let output = tool(&[verb, &["--help"]].concat());
    assert!(output.status.success(), "{verb:?}: no such verb");
    String::from_utf8(output.stdout).unwrap()
}

/// The verbs, as the help screen lists them.
fn verbs() -> Vec<String> {
    let help = help(&[]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let verbs: Vec<String> = lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    verbs.into_iter().filter(|verb| verb != "help").collect()
}

#[test]
fn a_verb_is_everywhere() {
    let (readme, changelog, man) = (text("README.md"), text("CHANGELOG.md"), names("man"));
    let rows = readme.split("## Verbs").nth(1).unwrap().split("\n\n").nth(1).unwrap().to_owned();
    let cases: String = names("tests/cli")
        .iter()
        .filter(|name| name.ends_with(".case"))
        .map(|name| text(&format!("tests/cli/{name}")))
        .collect();
    let mut missing = Vec::new();
    let verbs = verbs();
    assert!(verbs.len() >= 20, "{verbs:?}");
    for verb in &verbs {
        let mut need = |there: bool, what: &str| {
            if !there {
                missing.push(format!("{verb}: {what}"));
            }
        };
        need(man.contains(&format!("sycl-bundle-{verb}.1")), "no man page");
        need(offered(&["sycl-bundle", verb]).contains(verb), "a shell does not complete it");
        let row = |row: &str| row.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{verb}`")));
        need(rows.lines().any(row), "no row in README's table of verbs");
        need(changelog.contains(&format!("`{verb}")), "not in CHANGELOG");
        need(help(&[verb]).contains("Examples:"), "its help has no examples");
        let called = cases.lines().any(|line| {
            let words = line.split(": ").nth(1).unwrap_or_default();
            line.starts_with("# ") && words.split([' ', '|']).any(|word| word == verb)
        });
        need(called, "no case in tests/cli calls it");
    }
    assert!(missing.is_empty(), "{}\nsrc/docs/adding_a_verb.md says what belongs to a verb", missing.join("\n"));
}

/// Candidates that the program offers a shell for the last of the words.
fn offered(words: &[&str]) -> Vec<String> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.env("SYCL_BUNDLE_COMPLETE", "bash").env("_CLAP_IFS", "\n").arg("--").args(words);
    let output = command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn values_complete_as_verbs_and_options_do() {
    let has =
        |words: &[&str], value: &str| assert!(offered(words).iter().any(|one| one == value), "{words:?}: {value}");
    has(&["sycl-bundle", "check", "--strict", "--"], "--baseline");
    has(&["sycl-bundle", "check", "x.so", "-t", "intel_gpu_b"], "intel_gpu_bmg_g21");
    has(&["sycl-bundle", "build", "x.so", "-t", "spir64_x86_64,intel_gpu_pv"], "spir64_x86_64,intel_gpu_pvc");
    has(&["sycl-bundle", "inspect", "--aspect", "fp"], "fp64");
    has(&["sycl-bundle", "inspect", "--state", ""], "executable");
    assert!(!offered(&["sycl-bundle", ""]).iter().any(|verb| verb == "worker"));

    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("add.spv");
    let words = [
        0x0723_0203u32,
        0x0001_0200,
        0,
        20,
        0,
        0x0002_0011,
        4,
        0x0002_0011,
        6,
        0x0006_000f,
        6,
        1,
        0x5354_5a5f,
        0x6464_6133,
        0,
    ];
    std::fs::write(&module, words.map(u32::to_le_bytes).concat()).unwrap();
    let module = module.to_str().unwrap();
    has(&["sycl-bundle", "kernels", module, "--kernel", "_Z"], "_ZTS3add");
    has(&["sycl-bundle", "inspect", module, "--image", ""], "0");
}

/// First parts of names in a page that are of files here.
const OF_TREE: &str =
    "src/ tests/ fuzz/ benches/ man/ completions/ fixtures/ device-configs .ci/ .github/ README CHANGELOG Cargo.";

#[test]
fn what_pages_name_is_there() {
    let mut missing = Vec::new();
    let mut seen = (0, 0);
    let pages = names("src/docs").into_iter().map(|page| format!("src/docs/{page}"));
    for page in pages.chain(["CONTRIBUTING.md".to_owned()]) {
        for word in text(&page).split('`').skip(1).step_by(2) {
            if let Some((file, test)) = word.split_once(".rs::") {
                let there = std::fs::read_to_string(root().join(format!("{file}.rs")));
                if !there.is_ok_and(|code| code.contains(&format!("fn {test}("))) {
                    missing.push(format!("{page}: no test {word}"));
                }
                seen.0 += 1;
                continue;
            }
            let holds_place = |part: &str| ["*", "NAME", "FAMILY", "BODY"].iter().any(|place| part.contains(place));
            let is_file = |part: &&str| OF_TREE.split(' ').any(|start| part.starts_with(start)) && !holds_place(part);
            for file in word.split_whitespace().filter(is_file) {
                if !root().join(file).exists() {
                    missing.push(format!("{page}: no file {file}"));
                }
                seen.1 += 1;
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(seen.0 > 30 && seen.1 > 30, "the pages are not read any more: {seen:?}");
}

#[test]
fn every_page_is_in_the_docs() {
    let module = text("src/docs/mod.rs");
    for page in names("src/docs").iter().filter(|name| name.ends_with(".md")) {
        let name = page.trim_end_matches(".md");
        assert!(module.contains(&format!("include_str!(\"{page}\")")), "src/docs/mod.rs: include {page}");
        assert!(module.contains(&format!("pub mod {name} {{}}")), "src/docs/mod.rs: a module `{name}`");
    }
}

#[test]
fn a_followed_verb_is_reached_step_by_step() {
    let page = text("src/docs/following_a_verb.md");
    let tables: Vec<&str> = page.split("|---|---|\n").skip(1).collect();
    assert_eq!(tables.len(), 2, "inspect and build");
    for (table, most) in tables.into_iter().zip([15, 25]) {
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let files: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
        assert!(
            files.len() <= most,
            "a reader crosses {} files, and {most} are enough: find what stands apart",
            files.len()
        );
        let mut above = text(files[0]);
        for file in &files[1..] {
            let path = Path::new(file);
            let stem = if path.ends_with("mod.rs") { path.parent().unwrap() } else { path }.file_stem().unwrap();
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let named = above.split(|c| !is_word(c)).any(|word| word == stem.to_str().unwrap());
            assert!(named, "src/docs/following_a_verb.md: no file above {file} names it: say how it is reached");
            above.push_str(&text(file));
        }
    }
}

#[test]
fn a_container_is_everywhere() {
    let kinds = text("src/container/kind.rs");
    let of = |from: &str| {
        let body = kinds.split(from).nth(1).unwrap().split("\n    }").next().unwrap().to_owned();
        body.split("Kind::").skip(1).filter_map(|rest| Some(rest.split('"').nth(1)?.to_owned())).collect::<Vec<_>>()
    };
    // README's name for each kind that a user may have.
    let readme = text("README.md");
    let read = readme.split("## What is read").nth(1).unwrap().split("\n## ").next().unwrap();
    let known = [
        ("elf", "ELF files"),
        ("elf-object", "ELF and COFF objects"),
        ("pe", "PE files"),
        ("coff", "ELF and COFF objects"),
        ("archive", "archives"),
        ("offload-binary", "OffloadBinary"),
        ("syclbin", "SYCLBIN"),
        ("offload-bundle", "clang offload bundles"),
        ("compressed-bundle", "compressed"),
        ("spirv", "SPIR-V"),
        ("llvm-bitcode", "LLVM bitcode"),
        ("native", "compiled device code"),
        ("hcf", "HCF"),
        ("kpack", "kpack"),
        ("zip", "zip files"),
        ("tar", "tar files"),
        ("table", "file tables"),
    ];
    let names = of("fn name(self)");
    assert!(names.len() >= 16, "{names:?}");
    for name in names {
        let Some((_, words)) = known.iter().find(|(known, _)| *known == name) else {
            panic!(
                "container `{name}`: say under \"What is read\" in README that it is read, and here by which words; see src/docs/adding_a_container.md"
            )
        };
        assert!(read.contains(words), "README does not say under \"What is read\" that `{name}` is read (`{words}`)");
    }
}

/// The files of Rust below a folder.
fn sources(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for name in names(folder) {
        let path = format!("{folder}/{name}");
        if root().join(&path).is_dir() {
            files.extend(sources(&path));
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_property_set_has_a_row() {
    const PAGE: &str = "src/docs/adding_a_property_set.md says what belongs to a set";
    let rows: BTreeSet<&str> = PROPERTY_SETS.iter().map(|set| set.name).collect();
    assert!(rows.len() >= 21, "{rows:?}");
    let mut met = BTreeSet::new();
    for path in sources("src") {
        let code = text(&path);
        let lines = code.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        for line in lines.filter(|line| !line.trim_start().starts_with("//")) {
            // Names in quotes; the sets of a SYCLBIN itself are `SYCLBIN/...`.
            for literal in line.split('"').skip(1).step_by(2).filter(|word| word.starts_with("SYCL/")) {
                let name = literal.split(':').next().unwrap().trim_end_matches('\\');
                assert!(rows.contains(name), "{path}: `{name}` has no row; {PAGE}");
                met.insert(name.to_owned());
            }
            let constants = line.split("set::").skip(1).map(|rest| {
                rest.chars().take_while(|letter| letter.is_ascii_uppercase() || *letter == '_').collect::<String>()
            });
            met.extend(constants.filter(|name| name.len() > 3));
        }
    }
    assert!(met.len() > 25, "the sources are not read any more: {met:?}");
    let random = text("tests/verbs/properties.rs");
    for name in rows {
        assert!(random.contains(&format!("\"{name}\"")), "tests/verbs/properties.rs: SETS lacks `{name}`; {PAGE}");
    }
}

#[test]
fn a_fuzz_body_is_everywhere() {
    let bodies = text("fuzz/bodies.rs");
    let list = bodies.split("BODIES:").nth(1).unwrap().split("];").next().unwrap();
    let manifest = text("fuzz/Cargo.toml");
    let named: BTreeSet<String> =
        list.split("(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    assert!(named.len() >= 14, "{named:?}");
    for name in &named {
        assert!(
            root().join(format!("fuzz/fuzz_targets/{name}.rs")).exists(),
            "body `{name}`: no fuzz/fuzz_targets/{name}.rs"
        );
        assert!(manifest.contains(&format!("name = \"{name}\"")), "body `{name}`: no [[bin]] in fuzz/Cargo.toml");
        assert!(
            root().join("fixtures/hostile").join(name).is_dir(),
            "body `{name}`: no inputs in fixtures/hostile/{name}"
        );
    }
    let targets: BTreeSet<String> =
        names("fuzz/fuzz_targets").iter().map(|file| file.trim_end_matches(".rs").to_owned()).collect();
    assert_eq!(targets, named, "fuzz/bodies.rs lists every fuzz target");
}

/// The code of a file: no tests, no comments.
fn code(path: &str) -> String {
    let text = text(path);
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Whether a file has a function for others that takes bytes or a host file: what it reads or rewrites, somebody may have forged.
fn takes_bytes(code: &str) -> bool {
    let functions = code.split("\n").enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("pub") && line.contains("fn ")
    });
    functions.map(|(at, _)| code.split("\n").skip(at).collect::<Vec<_>>().join(" ")).any(|rest| {
        let arguments = rest.split('{').next().unwrap().split("->").next().unwrap();
        !arguments.contains("self") && (arguments.contains("[u8]") || arguments.contains("Host<"))
    })
}

/// Each file that reads or rewrites bytes has a row in `fuzz/ways.txt`: a call that enters it, from a file that has a row
/// itself, and so on up to the fuzzers' own code.
#[test]
fn every_reader_and_rewriter_is_fuzzed() {
    const WAYS: &str = "fuzz/ways.txt";
    let ways = text(WAYS);
    let rows: BTreeMap<&str, &str> =
        ways.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').unwrap()).collect();
    let folders = ["container", "native", "spirv", "bundle", "rewrite"];
    let files = folders.iter().flat_map(|folder| sources(&format!("src/{folder}")));
    let readers: Vec<String> = files.filter(|file| !file.ends_with("tests.rs") && takes_bytes(&code(file))).collect();
    assert!(readers.len() >= 65, "the sources are not read any more: {readers:?}");
    for file in &readers {
        assert!(rows.contains_key(file.as_str()), "{file}: which fuzz target reaches it? {WAYS} says it for each file");
    }
    for (file, way) in &rows {
        let callee = code(file);
        if let Some(reason) = way.strip_prefix("- ") {
            assert!(reason.len() > 20, "{file}: why not?");
            continue;
        }
        let (call, from) = way.split_once(' ').unwrap_or_else(|| panic!("{file}: no place of the call"));
        let name = call.trim_end_matches('(').rsplit([':', '.']).next().unwrap();
        let defined = [format!("fn {name}("), format!("fn {name}<")];
        assert!(defined.iter().any(|start| callee.contains(start)), "{WAYS}: {file} has no function {name}");
        let caller = code(from);
        let called = caller.match_indices(call).any(|(at, _)| {
            let before = &caller[..at];
            !before.ends_with("fn ") && !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
        });
        assert!(called, "{WAYS}: {from} does not call {call}");
        let mut place = from;
        for _ in 0..rows.len() {
            let Some((_, next)) = rows.get(place).and_then(|way| way.split_once(' ')) else { break };
            place = next;
        }
        assert!(place.starts_with("fuzz/"), "{WAYS}: from {file} no way leads to a fuzzer");
    }
    assert!(text("fuzz/bodies.rs").contains("rewriting::"), "a fuzz target calls fuzz/rewriting.rs");
}

#[test]
fn every_device_configuration_is_built_in() {
    let built_in: BTreeSet<String> =
        sycl_bundle::device::table::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        names("device-configs"),
        built_in,
        "src/device/table.rs names every file of device-configs; see src/docs/adding_a_target_family.md"
    );
}

/// A page has one row for each crate that the manifest names, of the version that is built.
#[test]
fn every_dependency_has_been_looked_at() {
    const PAGE: &str = "src/docs/dependencies.md";
    let (manifest, lock, page) = (text("Cargo.toml"), text("Cargo.lock"), text(PAGE));
    let mut built = BTreeSet::new();
    for table in ["\n[dependencies]\n", "\n[dev-dependencies]\n"] {
        let lines = manifest.split(table).nth(1).unwrap().split("\n[").next().unwrap().lines();
        for line in lines.filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (key, value) = line.split_once(" = ").unwrap_or_else(|| panic!("one line says all: {line}"));
            let renamed = value.split("package = \"").nth(1).map(|rest| rest.split('"').next().unwrap());
            let name = renamed.unwrap_or(key);
            let locked: Vec<&str> = lock.split(&format!("\nname = \"{name}\"\nversion = \"")).skip(1).collect();
            let wanted =
                value.split(|letter: char| !letter.is_ascii_digit() && letter != '.').find(|word| !word.is_empty());
            let [version] = locked
                .iter()
                .map(|rest| rest.split('"').next().unwrap())
                .filter(|version| version.starts_with(wanted.unwrap()))
                .collect::<Vec<_>>()[..]
            else {
                panic!("{name}: which of its versions in Cargo.lock?")
            };
            built.insert(format!("{name} {version}"));
        }
    }
    assert!(built.len() > 35, "{built:?}");
    let rows: Vec<Vec<&str>> =
        page.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('|').map(str::trim).collect())).collect();
    for row in &rows {
        assert!(row.len() == 8 && row[..7].iter().all(|cell| !cell.is_empty()), "{PAGE}: a cell is missing: {row:?}");
    }
    let seen: BTreeSet<String> = rows.iter().map(|row| format!("{} {}", row[0].trim_matches('`'), row[1])).collect();
    assert_eq!(seen, built, "look at the sources of what is new, and say in {PAGE} what you saw");
    assert_eq!(seen.len(), rows.len(), "{PAGE}: two rows of one crate");
    // Packages that these ask for in turn are listed.
    let packages = lock.split("\nname = \"").skip(1).map(|rest| rest.replacen("\"\nversion = \"", " ", 1));
    let locked: BTreeSet<String> = packages.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    let below = page.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next().map(str::to_owned));
    let own = [format!("sycl-bundle {}", env!("CARGO_PKG_VERSION"))];
    let told: BTreeSet<String> = seen.into_iter().chain(below).chain(own).collect();
    assert_eq!(told, locked, "{PAGE} lists what Cargo.lock has");
}

/// A member of a YAML mapping.
fn at<'n>(node: &'n Node, key: &str) -> &'n Node {
    let Value::Map(entries) = &node.value else { panic!("{}: no mapping with {key}", node.place.line) };
    &entries.iter().find(|entry| entry.key == key).unwrap_or_else(|| panic!("line {}: no {key}", node.place.line)).value
}

fn word(node: &Node) -> &str {
    let Value::Text(text) = &node.value else { panic!("line {}: no text", node.place.line) };
    text
}

fn list(node: &Node) -> &[Node] {
    let Value::List(items) = &node.value else { panic!("line {}: no list", node.place.line) };
    items
}

fn keys(node: &Node) -> Vec<&str> {
    let Value::Map(entries) = &node.value else { panic!("line {}: no mapping", node.place.line) };
    entries.iter().map(|entry| entry.key.as_str()).collect()
}

/// Every call of the tool in a script has a verb that exists, and flags that this verb takes. How many calls there are.
fn prove_calls(place: &str, script: &str) -> usize {
    let verbs = verbs();
    let mut calls = 0;
    for rest in script.split("sycl-bundle ").skip(1) {
        let verb = rest.split_whitespace().next().unwrap();
        // `cargo install sycl-bundle --version` is no call.
        if !verbs.iter().any(|known| known == verb) {
            continue;
        }
        calls += 1;
        let help = help(&[verb]);
        // Options that a script gathers before count too.
        let flags = script.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        for flag in flags.filter(|word| word.starts_with("--") && word.len() > 2) {
            assert!(help.contains(flag), "{place}: `{verb}` takes no {flag}");
        }
    }
    calls
}

fn action() -> Node {
    yaml::parse(&text(".github/actions/check/action.yml")).unwrap().unwrap()
}

#[test]
fn the_action_is_one() {
    let action = action();
    assert!(!word(at(&action, "name")).is_empty() && !word(at(&action, "description")).is_empty());
    let runs = at(&action, "runs");
    assert_eq!(word(at(runs, "using")), "composite");
    let mut used = BTreeSet::new();
    let mut calls = 0;
    for step in list(at(runs, "steps")) {
        assert_eq!(word(at(step, "shell")), "bash", "a composite step needs its shell");
        let script = word(at(step, "run"));
        // An input within a script would be run as a part of it.
        assert!(!script.contains("${{"), "hand inputs over in variables:\n{script}");
        let env = at(step, "env");
        for name in keys(env) {
            assert!(script.contains(name), "variable {name} is not used");
            let value = word(at(env, name));
            if value != "${{ github.action_path }}" {
                used.insert(value.trim_start_matches("${{ inputs.").trim_end_matches(" }}").to_owned());
            }
        }
        if script.contains("sycl-bundle check") {
            calls += prove_calls("action.yml", script);
        }
    }
    assert_eq!(calls, 3);
    let inputs = at(&action, "inputs");
    assert_eq!(
        used,
        keys(inputs).into_iter().map(str::to_owned).collect(),
        "every input is used, and every used one is there"
    );
    for name in keys(inputs) {
        let input = at(inputs, name);
        assert!(!word(at(input, "description")).is_empty());
        let wanted = if name == "files" { "required" } else { "default" };
        assert!(keys(input).contains(&wanted), "input {name} has no `{wanted}`");
    }
}

/// Runs the action's check as GitHub's runner does: bash with these options, inputs in variables.
fn run_check(folder: &Path, files: &str, targets: &str) -> Option<i32> {
    let action = action();
    let step = list(at(at(&action, "runs"), "steps")).last().unwrap();
    let bin = PathBuf::from(env!("CARGO_BIN_EXE_sycl-bundle"));
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", word(at(step, "run"))]).current_dir(folder);
    command.env("PATH", path).env("GITHUB_STEP_SUMMARY", folder.join("summary.md")).env_remove("SYCL_BUNDLE_CONFIG");
    for name in keys(at(step, "env")) {
        let input = word(at(at(step, "env"), name)).trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        let value = match input {
            "files" => files,
            "targets" => targets,
            other => at(at(&action, "inputs"), other).value_of("default"),
        };
        command.env(name, value);
    }
    command.output().unwrap().status.code()
}

trait ValueOf {
    fn value_of(&self, key: &str) -> &str;
}

impl ValueOf for Node {
    fn value_of(&self, key: &str) -> &str {
        word(at(self, key))
    }
}

#[test]
fn the_action_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("a.spv", spirv::module_of("aspects", "chain"));
    put("b.spv", spirv::module_of("aspects", "recursion"));
    assert_eq!(run_check(folder.path(), "[ab].spv", "dg1"), Some(1), "a kernel computes in double");
    let sarif = std::fs::read_to_string(folder.path().join("device-code.sarif")).unwrap();
    assert!(sarif.contains("fp64"), "{sarif}");
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("fp64"), "{summary}");
    assert_eq!(run_check(folder.path(), "b.spv", "dg1"), Some(0));
    assert_eq!(run_check(folder.path(), "b.spv", "no_such_target"), Some(2));
    assert_eq!(run_check(folder.path(), "$(touch made) b.spv", "pvc"), Some(3), "what is given is no command");
    assert!(!folder.path().join("made").exists());
}

#[test]
fn the_hooks_are_hooks() {
    let hooks = yaml::parse(&text(".pre-commit-hooks.yaml")).unwrap().unwrap();
    let mut ids = BTreeSet::new();
    for hook in list(&hooks) {
        for key in ["id", "name", "description", "entry", "language", "files"] {
            assert!(!word(at(hook, key)).is_empty(), "line {}: no {key}", hook.place.line);
        }
        assert_eq!(word(at(hook, "language")), "rust", "the hook is built of this repository");
        assert_eq!(prove_calls(".pre-commit-hooks.yaml", word(at(hook, "entry"))), 1);
        assert!(ids.insert(word(at(hook, "id")).to_owned()), "two hooks of one name");
    }
    let guide = text("src/guides/gate.md");
    for id in ids {
        assert!(guide.contains(&format!("id: {id}")), "the guide `gate` does not show hook {id}");
    }
}

#[test]
fn recipes_of_the_gate_name_what_is_there() {
    let guide = text("src/guides/gate.md");
    let blocks: Vec<&str> = guide.split("```yaml\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(blocks.len() >= 3, "{}", blocks.len());
    let action = action();
    let inputs = keys(at(&action, "inputs"));
    let mut seen = 0;
    for block in blocks {
        let block = yaml::parse(block).unwrap_or_else(|fault| panic!("{fault}\n{block}")).unwrap();
        let Value::List(steps) = &block.value else { continue };
        for step in steps.iter().filter(|step| word(at(step, "uses")).contains("/.github/actions/check")) {
            for input in keys(at(step, "with")) {
                assert!(inputs.contains(&input), "the guide `gate` gives the action `{input}`, which is no input");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 1, "the guide `gate` shows how the action is used");
}

/// `[package.metadata.deb]`: what it lists is there, and all man pages and completions have their place.
#[test]
fn the_debian_package_is_whole() {
    let manifest = text("Cargo.toml");
    let deb = manifest.split("[package.metadata.deb]").nth(1).unwrap().split("\n[").next().unwrap();
    let assets: Vec<&str> = deb.lines().filter_map(|line| line.trim().strip_prefix("[\"")?.split('"').next()).collect();
    for asset in &assets {
        let there = match asset.split_once("/*.") {
            Some((folder, ending)) => names(folder).iter().any(|name| name.ends_with(&format!(".{ending}"))),
            None => asset.starts_with("target/release/") || root().join(asset).is_file(),
        };
        assert!(there, "Cargo.toml: no {asset}");
    }
    assert!(
        names("man").iter().all(|name| [".1", ".7"].iter().any(|section| name.ends_with(section))),
        "a man page of another section has no place in the package"
    );
    for script in ["completions/sycl-bundle.bash", "completions/_sycl-bundle", "completions/sycl-bundle.fish"] {
        assert!(assets.contains(&script), "Cargo.toml: {script} is not in the package");
    }
}

/// Every verb that prints JSON publishes its schema, and `--schema` takes no other argument.
#[test]
fn whatever_prints_json_has_a_schema() {
    let mut publishing = 0;
    for verb in verbs() {
        let own = help(&[&verb]);
        assert_eq!(
            own.contains("- json") || own.contains("The profile is JSON"),
            own.contains("--schema"),
            "`{verb}`: what prints JSON takes `--schema`, as `inspect` does"
        );
        if own.contains("--schema") {
            let printed: serde_json::Value = serde_json::from_slice(&tool(&[&verb, "--schema"]).stdout).unwrap();
            assert_eq!(printed["properties"]["schema_version"]["const"], 1, "{verb}");
            publishing += 1;
        }
    }
    assert!(publishing >= 15, "{publishing}");
}
