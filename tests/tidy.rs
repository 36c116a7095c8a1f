//! Does the tree keep its own rules? Each failure says what to do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

/// The modules from left to right, as in the crate docs. Each may import from those before it, except for
/// these and `docs`, which is prose.
const ORDER: &[(&str, &[&str])] = &[
    ("docs", &[]),
    ("error", &[]),
    ("limits", &["error"]),
    ("bytes", &["limits"]),
    ("names", &[]),
    ("demangle", &["error", "limits", "bytes"]),
    ("source", &["error", "bytes", "demangle"]),
    ("plain_file", &["error", "limits", "bytes", "names", "demangle", "source"]),
    ("temporary", &["error", "bytes", "names", "demangle", "source"]),
    ("container", &["source", "plain_file", "temporary"]),
    ("bundle", &["plain_file", "temporary"]),
    ("spirv", &["container", "bundle", "plain_file", "temporary"]),
    ("device", &["container", "bundle", "spirv"]),
    ("native", &["spirv"]),
    ("compat", &[]),
    ("select", &[]),
    ("policy", &[]),
    ("rewrite", &["policy"]),
    ("build", &[]),
    ("report", &[]),
    ("files", &[]),
];

/// For each third-party crate, the only places that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("clap", &["src/cli/", "src/main.rs"]),
    ("signal_hook", &["src/cli/process.rs"]),
    ("landlock", &["src/cli/confine.rs"]),
    ("libc", &["src/cli/confine.rs", "src/cli/process.rs"]),
    ("seccompiler", &["src/cli/confine.rs"]),
    ("mimalloc", &["src/main.rs"]),
    ("clap_complete", &["src/cli/"]),
    ("clap_mangen", &["src/cli/"]),
    ("pulldown_cmark", &["src/cli/"]),
    ("indicatif", &["src/cli/progress.rs"]),
    ("comfy_table", &["src/report/table.rs"]),
    ("memchr", &["src/container/address.rs", "src/native/yaml.rs", "src/cli/output.rs"]),
    ("memmap2", &["src/files/input.rs", "src/files/input.rs"]),
    (
        "tempfile",
        &[
            "src/cli/",
            "src/files/split.rs",
            "src/files/write.rs",
            "src/files/input.rs",
            "src/build/cache.rs",
            "src/build/cache/",
            "src/temporary.rs",
        ],
    ),
    (
        "rustix",
        &[
            "src/cli/",
            "src/files/",
            "src/plain_file.rs",
            "src/temporary.rs",
            "src/build/process.rs",
            "src/build/programs.rs",
        ],
    ),
    ("object", &["src/container/", "src/rewrite/"]),
    ("goblin", &["src/container/pe.rs"]),
    ("zstd", &["src/container/inflate.rs", "src/container/package/stream.rs"]),
    ("lz4_flex", &["src/container/inflate.rs"]),
    ("zip", &["src/container/package/", "src/rewrite/wheel.rs"]),
    ("tar", &["src/container/package/"]),
    ("flate2", &["src/container/"]),
    ("bzip2", &["src/container/package/stream.rs"]),
    ("lzma_rust2", &["src/container/package/stream.rs"]),
    ("rspirv", &["src/spirv/", "src/build/nvidia/"]),
    ("toml", &["src/policy/text.rs"]),
    ("toml_parser", &["src/policy/text.rs"]),
    ("saphyr_parser", &["src/device/yaml.rs"]),
    ("libloading", &["src/build/ocloc.rs"]),
    ("opencl3", &["src/build/opencl.rs", "src/build/opencl/"]),
    // Model types are their own documents: they are serialised where they are defined.
    ("schemars", &["src/"]),
    ("serde", &["src/"]),
    ("serde_json", &["src/report/", "src/cli/"]),
    ("base64", &["src/report/", "src/bundle/property_text.rs", "src/rewrite/wheel.rs"]),
    ("sha2", &["src/rewrite/wheel.rs"]),
    ("md5", &["src/bundle/offload_bundle.rs"]),
    ("strsim", &["src/device/"]),
    ("cpp_demangle", &["src/demangle.rs", "src/demangle/"]),
    ("globset", &["src/select.rs"]),
    (
        "blake3",
        &[
            "src/build/nvidia/library.rs",
            "src/compat/",
            "src/rewrite/embed/",
            "src/build/cache.rs",
            "src/build/cache/",
            "src/build/record.rs",
        ],
    ),
    (
        "rayon",
        &[
            "src/container/address.rs",
            "src/bundle/structure.rs",
            "src/compat/examine.rs",
            "src/report/",
            "src/compat/aspects/mod.rs",
            "src/compat/kernels.rs",
            "src/compat/gate.rs",
            "src/compat/gate/",
            "src/cli/process.rs",
        ],
    ),
];

/// The only files that may say `unsafe`, each with its reason there.
const UNSAFE: &[&str] = &[
    "src/files/input.rs",
    "src/cli/process.rs",
    "src/build/opencl.rs",
    "src/build/ocloc.rs",
    "src/build/ocloc/call.rs",
];

/// What the library may not do: it neither prints, exits nor reads the environment.
const FORBIDDEN: &[&str] =
    &["println!(", "eprintln!(", "print!(", "eprint!(", "process::exit", "std::env", "env::var", "env::args"];

/// Files that open with no question: the crate and the program, which answer many, and fuzz targets, which name the body
/// that they run.
const UNASKED: &[&str] = &["src/lib.rs", "src/main.rs", "fuzz/fuzz_targets/"];

/// Where our own code is.
const DIRS: [&str; 4] = ["src", "tests", "benches", "fuzz"];

/// The most lines of code in a file; blank lines, comments and the tests at its end do not count.
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &str) -> Vec<(String, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(dir), &mut paths);
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The code of a file: without comments, strings kept, in-file tests cut off.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn module_of(path: &str) -> &str {
    path.trim_start_matches("src/").split(['/', '.']).next().unwrap()
}

/// Modules that a file names through `crate::`, also in groups: `use crate::{bytes, error::Error}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => found.push(word(std::mem::take(&mut item).trim())),
                        _ => {}
                    }
                    if c != ',' || depth != 0 {
                        item.push(c);
                    }
                }
                found.push(word(item.trim()));
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

#[test]
fn modules_import_only_to_their_left() {
    let mut seen = 0;
    for (path, text) in sources("src") {
        let module = module_of(&path);
        if matches!(module, "cli" | "main" | "lib") {
            continue;
        }
        let at = ORDER.iter().position(|(name, _)| *name == module).unwrap_or_else(|| {
            panic!("{path}: module `{module}` is not in ORDER of tests/tidy.rs; give it its place in the arrow")
        });
        for name in imports(&code(&text)) {
            seen += 1;
            let left = ORDER[..at].iter().any(|(earlier, _)| *earlier == name);
            assert!(
                name == module || (left && name != "docs" && !ORDER[at].1.contains(&name.as_str())),
                "{path} imports `{name}`, which does not stand to the left of `{module}`: move the code, or pass the value in"
            );
        }
    }
    assert!(seen > 20, "the test reads no imports any more");
}

#[test]
fn each_crate_has_one_home() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for (name, homes) in HOMES {
            let named = [format!("{name}::"), format!("use {name};"), format!("#[{name}(")].iter().any(|pattern| {
                code.match_indices(pattern.as_str()).any(|(at, _)| {
                    let before = code[..at].chars().next_back();
                    !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
                })
            });
            let at_home = homes.iter().any(|home| path.starts_with(home));
            assert!(!named || at_home, "{path} names crate `{name}`, whose home is {homes:?}: call what is there");
        }
    }
}

#[test]
fn every_dependency_has_a_home() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for line in dependencies.lines().filter(|line| line.contains(" = ")) {
        let name = line.split(" = ").next().unwrap().trim().replace('-', "_");
        assert!(HOMES.iter().any(|(known, _)| *known == name), "Cargo.toml: give `{name}` a home in tests/tidy.rs");
    }
}

#[test]
fn the_library_neither_prints_nor_exits_nor_reads_the_environment() {
    for (path, text) in sources("src") {
        if path.starts_with("src/cli/") || path == "src/main.rs" {
            continue;
        }
        let code = code(&text);
        for word in FORBIDDEN {
            assert!(!code.contains(word), "{path} says `{word}`: return the value and let src/cli do it");
        }
    }
}

/// The files that may name the standard streams, with why: nothing prints but by the sink of `output.rs`, which takes
/// nothing but what is `Shown`, documents whose texts are spelled out, and bytes.
const STREAMS: &[(&str, &str)] = &[
    ("src/cli/output.rs", "the sink"),
    ("src/cli/global.rs", "asks whether they are terminals"),
    ("src/cli/progress.rs", "draws a bar of numbers on a terminal"),
    ("src/cli/mod.rs", "asks where clap would print"),
    ("src/cli/process.rs", "a signal handler, which may call no more than write"),
    ("src/cli/worker.rs", "a driver's own output goes to the parent, by a pipe"),
    ("src/cli/driver.rs", "pip's output"),
    ("src/files/place.rs", "an output at their paths is bytes of a file"),
];

/// `println!` and its kin panic where the stream is closed or full, which is no reason to die; and they would print text of
/// files as it is.
#[test]
fn what_is_printed_passes_the_sink() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for word in ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("] {
            assert!(!code.contains(word), "{path} says `{word}`: use output::show or output::say");
        }
        let named = ["stdout()", "stderr()", "/dev/std"].iter().any(|word| code.contains(word));
        let may = STREAMS.iter().any(|(own, _)| *own == path);
        assert!(named <= may, "{path} names a standard stream: use output::show, output::document or output::say");
        assert!(!may || named, "{path} names no standard stream any more: remove it from STREAMS");
    }
}

#[test]
fn unsafe_stands_where_it_may() {
    for (path, text) in sources("src") {
        let code = code(&text);
        let says = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe("].iter().any(|word| code.contains(word));
        assert!(!says || UNSAFE.contains(&path.as_str()), "{path} says `unsafe`; only {UNSAFE:?} may");
    }
}

#[test]
fn every_file_opens_with_its_question() {
    for dir in DIRS {
        for (path, text) in sources(dir) {
            let opening = text.lines().map_while(|line| line.strip_prefix("//!")).take_while(|line| !line.is_empty());
            let asks = opening.collect::<String>().contains('?');
            let exempt = UNASKED.iter().any(|start| path.starts_with(start)) && text.starts_with("//!");
            assert!(asks || exempt, "{path}: open with `//!` and the question the file answers");
            assert!(text.ends_with('\n') && !text.contains('\r'), "{path}: end lines with a newline, the last one too");
        }
    }
}

#[test]
fn no_file_is_too_long() {
    for dir in DIRS {
        for (path, text) in sources(dir) {
            let lines = code(&text).lines().filter(|line| !line.trim().is_empty()).count();
            assert!(
                lines <= MOST_LINES,
                "{path} has {lines} lines of code, and {MOST_LINES} are the most: cut it where a reader would, by what it does"
            );
        }
    }
}

/// First words that leave open what a comment is about.
const RIDDLES: [&str; 20] = [
    "It", "Its", "They", "Their", "Those", "These", "This", "That", "There", "What", "Which", "Who", "Whose", "Whom",
    "Why", "Where", "When", "How", "Such", "So",
];

/// Of these words, those with which a comment in the code may begin: `// Where it is a file, ...`.
const OPENINGS: [&str; 3] = ["Where", "When", "Why"];

/// Whether a comment begins here, with one of these words.
fn is_riddle(lines: &[&str], at: usize) -> bool {
    let line = lines[at].trim_start();
    let before = if at == 0 { "" } else { lines[at - 1].trim_start() };
    let (first, plain) = match (line.strip_prefix("/// "), line.strip_prefix("// ")) {
        (Some(first), _) if !before.starts_with("///") || before == "/// # Errors" => (first, false),
        (_, Some(first)) if !before.starts_with("//") => (first, true),
        _ => return false,
    };
    let word = first.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let may = plain && OPENINGS.contains(&word);
    RIDDLES.contains(&word) && !may || first.starts_with("The same") && !plain
}

#[test]
fn names_and_comments_say_what_they_are_about() {
    let mut finds = Vec::new();
    for (path, text) in DIRS.iter().flat_map(|dir| sources(dir)).filter(|(path, _)| path != "tests/tidy.rs") {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let place = format!("{path}:{}: {}", at + 1, line.trim());
            if line.contains("fn of(") || line.contains("fn of<") {
                finds.push(format!(
                    "{place}\nname it by what it returns, for example `Reader::new` or `kernels_of_image`"
                ));
            }
            if is_riddle(&lines, at) {
                finds.push(format!("{place}\nbegin with a verb in the third person or a noun"));
            }
        }
    }
    assert!(finds.is_empty(), "{}", finds.join("\n"));
}
