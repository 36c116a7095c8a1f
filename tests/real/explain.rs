//! Does `explain` say what the real runtime throws, and `has` what it answers, for kernels that the real compiler made?
//!
//! `launch_kernel.cpp` launches each kernel by its name, as compiled programs do; the runtime's exception is the judge.

use crate::support::tools::needed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;

use crate::compiler::{Compiled, optimised_of};
use crate::tool::tool;
use crate::world::{scripts, succeed, tail, world};

const TARGET: &str = "spir64_x86_64";

/// Sources whose kernels take nothing but pointers. Those of the folder `refused` come beside them.
const SOURCES: [&str; 20] = [
    "atomic_long",
    "bfloat16",
    "clock_device",
    "double_called",
    "double_multiply",
    "double_vector",
    "esimd_add",
    "half_add",
    "half_vector",
    "has_external",
    "has_missing",
    "has_notional",
    "image_bindless_fetch",
    "matrix_bfloat16",
    "matrix_int8",
    "size_max",
    "size_sub_group",
    "size_work_group",
    "symbols_both",
    "symbols_imported",
];

/// `sycl::errc` by number (`sycl/exception.hpp`).
const ERRC: [(&str, &str); 5] =
    [("1", "runtime"), ("4", "nd_range"), ("7", "build"), ("13", "kernel_not_supported"), ("3", "invalid")];

/// Result of a launch by the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Runs,
    Throws {
        errc: String,
        text: String,
    },
    /// The compiler of the driver ended the process, as that of 2026.2 does for matrices on CPUs that have them.
    Ends,
}

/// The program that launches kernels, compiled by plain g++.
fn program(folder: &Path) -> PathBuf {
    let output = folder.join("launch_kernel");
    let mut command = needed("g++");
    command.args(["-std=c++17", "-w", "-O1", "-o"]).arg(&output).arg(scripts().join("launch_kernel.cpp"));
    command.arg("-I").arg(world().root().join("venv/include")).arg("-L").arg(world().root().join("venv/lib"));
    succeed(command.args(["-l:libsycl.so.9", "-ldl"]));
    output
}

fn launch(program: &Path, library: &Path, kernel: &Kernel) -> Outcome {
    let mut command = world().command(program);
    command.arg(library).arg(&kernel.name).arg(kernel.arguments.to_string()).arg(&kernel.size);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|line| *line == "runs" || line.starts_with("throws\t"));
    if line.is_none() && String::from_utf8_lossy(&output.stderr).contains("Internal compiler error") {
        return Outcome::Ends;
    }
    let line = line.unwrap_or_else(|| panic!("{command:?}: {}\n{said}{}", output.status, tail(&output.stderr)));
    match line.split('\t').collect::<Vec<_>>()[..] {
        ["runs"] => Outcome::Runs,
        ["throws", _, number, text] => {
            let errc = ERRC.iter().find(|(known, _)| *known == number).map_or(number, |(_, name)| name);
            Outcome::Throws { errc: errc.to_owned(), text: text.replace("\\n", "\n") }
        }
        _ => panic!("{line}"),
    }
}

/// A kernel and how it is launched.
#[derive(Debug, Clone)]
struct Kernel {
    name: String,
    arguments: usize,
    /// The required size in the source's order, or one work-item.
    size: String,
}

fn json(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}", tail(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The kernels of a library; their arguments are counted by the compiler's record of the source.
fn kernels(library: &Path) -> Vec<Kernel> {
    let report = json(tool().arg("kernels").arg(library).args(["--format", "json"]));
    let one = |kernel: &Value| Kernel {
        name: kernel["name"].as_str().unwrap().to_owned(),
        // Native code that does not tell is asked for its bundles alone.
        arguments: usize::try_from(kernel["num_args"].as_u64().unwrap_or(0)).unwrap(),
        size: match &kernel["attributes"]["reqd_work_group_size"] {
            Value::Array(sizes) => sizes.iter().map(Value::to_string).collect::<Vec<_>>().join("x"),
            _ => "1".to_owned(),
        },
    };
    report["kernels"].as_array().unwrap().iter().map(one).collect()
}

/// Everything that `explain -t` says of a library's kernels, by name.
fn choices(library: &Path) -> BTreeMap<String, Value> {
    let report = json(tool().arg("explain").arg(library).args(["--kernel", "*", "-t", TARGET, "--format", "json"]));
    let choices = report["choices"].as_array().unwrap().iter();
    choices.map(|choice| (choice["kernel"].as_str().unwrap().to_owned(), choice.clone())).collect()
}

/// The kernels that `explain --message` names for an exception.
fn named(library: &Path, text: &str) -> (String, BTreeSet<String>) {
    let report = json(tool().arg("explain").arg(library).args(["--format", "json", "--message", text]));
    let saying = &report["sayings"][0];
    let files = saying["files"].as_array().into_iter().flatten();
    let concerns = files.flat_map(|file| file["concerns"].as_array().unwrap());
    let names = concerns.filter_map(|concern| concern["kernel"].as_str()).map(str::to_owned).collect();
    (saying["topic"].as_str().unwrap_or_default().to_owned(), names)
}

/// A library that registers the images of a compilation.
fn library(folder: &Path, one: &Compiled, more: &[&str]) -> PathBuf {
    let output = folder.join(format!("{}{}.so", one.source, more.concat()));
    succeed(tool().arg("wrap").arg(one.table()).args(["--emit", "shared", "-o"]).arg(&output).args(more));
    output
}

/// Error in what the tool says of a kernel; none where it is right.
fn wrong(choice: &Value, outcome: &Outcome) -> Option<String> {
    let (verdict, throws) = (choice["verdict"].as_str().unwrap(), &choice["throws"]);
    let certain = throws["certain"] == true;
    let fine = match outcome {
        Outcome::Runs => verdict != "incompatible" && !certain,
        Outcome::Ends => verdict == "unknown",
        Outcome::Throws { errc, text } => {
            let same = match throws["text"].as_str() {
                // Of a build error the log's line that counts is told.
                Some(told) if errc == "build" && text.contains('\n') => text.contains(told),
                Some(told) => told == text,
                // Answers that depend on the machine's CPU are told as unknown, with what they depend on.
                None => {
                    let findings = choice["findings"].as_array().unwrap();
                    verdict == "unknown"
                        && findings.iter().any(|finding| match finding["rule"].as_str().unwrap() {
                            "matrix" => text.contains("no matrix hardware"),
                            "aspect" => text.contains(finding["aspect"].as_str().unwrap()),
                            _ => false,
                        })
                }
            };
            same && verdict != "compatible" && (throws.is_null() || throws["errc"] == errc.as_str())
        }
    };
    (!fine).then(|| format!("said {verdict}, {throws}; the runtime: {outcome:?}"))
}

#[test]
fn the_runtime_throws_what_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let mut sources = optimised_of("", |name| SOURCES.contains(&name));
    sources.extend(optimised_of("refused", |_| true));
    assert!(sources.len() >= SOURCES.len() + 2, "{} compilations", sources.len());
    let mut libraries: Vec<PathBuf> = sources.iter().map(|one| library(folder.path(), one, &[])).collect();
    // The same images under labels of other devices.
    let half = sources.iter().find(|one| one.source == "half_add").unwrap();
    for target in ["spir64_gen", "intel_gpu_pvc"] {
        libraries.push(library(folder.path(), half, &["--as-target", target]));
    }
    let asked: Vec<(&PathBuf, Kernel)> = libraries
        .iter()
        .flat_map(|library| kernels(library).into_iter().map(move |kernel| (library, kernel)))
        .collect();
    let told: BTreeMap<&PathBuf, BTreeMap<String, Value>> =
        libraries.iter().map(|library| (library, choices(library))).collect();
    let outcomes: Vec<Outcome> = asked.par_iter().map(|(library, kernel)| launch(&program, library, kernel)).collect();
    let mut differences = Vec::new();
    let (mut ran, mut kinds) = (0, BTreeSet::new());
    for ((library, kernel), outcome) in asked.iter().zip(&outcomes) {
        let label = format!("{} {}", library.file_name().unwrap().to_string_lossy(), kernel.name);
        let difference = wrong(&told[library][&kernel.name], outcome);
        differences.extend(difference.map(|difference| format!("{label}: {difference}")));
        let Outcome::Throws { text, .. } = outcome else {
            ran += usize::from(*outcome == Outcome::Runs);
            continue;
        };
        // The other way round: from the exception to the kernel.
        let (topic, names) = named(library, text);
        if !names.contains(&kernel.name) {
            differences.push(format!("{label}: `{text}` led to {topic} and {names:?}"));
        }
        kinds.insert(topic);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(ran >= 20 && outcomes.len() - ran >= 20, "{ran} of {} run", outcomes.len());
    let all = ["aspect", "matrix", "no-image", "spirv-capability", "sub-group-size", "symbols", "work-group-size"];
    // A CPU that has matrices throws nothing for them.
    let has_matrices = outcomes.contains(&Outcome::Ends);
    let all: BTreeSet<String> =
        all.iter().filter(|kind| !(has_matrices && **kind == "matrix")).map(|kind| (*kind).to_owned()).collect();
    assert_eq!(kinds, all, "kinds of exceptions");
}

/// Answers of `sycl::has_kernel_bundle` for input, object and executable.
fn bundles(program: &Path, library: &Path, kernel: &str) -> Vec<String> {
    let output = succeed(world().command(program).arg(library).args([kernel, "has"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("has\t")).unwrap_or_else(|| panic!("{said}"));
    line.split('\t').map(str::to_owned).collect()
}

/// Sources of kernels that need what some CPUs have: matrix operations, a clock.
const CPUS_DIFFER: [&str; 4] = ["clock_device", "has_notional", "matrix_bfloat16", "matrix_int8"];

fn stem(library: &Path) -> &str {
    library.file_stem().and_then(|stem| stem.to_str()).unwrap()
}

#[test]
fn the_runtime_has_the_bundles_that_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let mut sources = optimised_of("", |name| SOURCES.contains(&name));
    sources.extend(optimised_of("refused", |_| true));
    let mut libraries: Vec<PathBuf> = sources.iter().map(|one| library(folder.path(), one, &[])).collect();
    let half = sources.iter().find(|one| one.source == "half_add").unwrap();
    for target in ["spir64_gen", "intel_gpu_pvc"] {
        libraries.push(library(folder.path(), half, &["--as-target", target]));
    }
    // Native code alone is executable and nothing before it.
    let native = folder.path().join("native.so");
    let mut build = tool();
    build.arg("build").arg(half.table()).args(["-t", TARGET, "--no-spirv", "--emit", "shared", "-o"]);
    succeed(build.arg(&native));
    libraries.push(native);
    let asked: Vec<(&PathBuf, Kernel)> = libraries
        .iter()
        .flat_map(|library| kernels(library).into_iter().map(move |kernel| (library, kernel)))
        .collect();
    let (mut wrong, mut answers) = (Vec::new(), BTreeMap::new());
    for (library, kernel) in &asked {
        let told = bundles(&program, library, &kernel.name);
        for (state, answer) in ["input", "object", "executable"].into_iter().zip(told) {
            let mut has = tool();
            has.arg("has").arg(library).args(["-t", TARGET, "--kernel", &kernel.name, "--state", state]);
            let report = json(has.args(["--format", "json"]));
            let said = report["answer"].as_str().unwrap().to_owned();
            *answers.entry((state, said.clone(), answer.clone())).or_insert(0) += 1;
            let right = match (said.as_str(), answer.as_str()) {
                ("yes", "yes") | ("no", "no") => true,
                // The runtime throws for a symbol that no library of this program defines; another's might. Answers
                // that depend on the machine's CPU are unknown.
                ("unknown", _) => answer == "throws" || CPUS_DIFFER.contains(&stem(library)),
                // The runtime goes by what is recorded alone; the device does not run the kernel all the same.
                ("no", "yes") => matches!(launch(&program, library, kernel), Outcome::Throws { .. }),
                _ => false,
            };
            if !right {
                let file = library.file_name().unwrap().to_string_lossy();
                wrong.push(format!("{file} {} {state}: said {said}, the runtime {answer}: {report}", kernel.name));
            }
        }
    }
    println!("{} kernels: {answers:#?}", asked.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count = |said: &str, answer: &str| -> usize {
        answers.iter().filter(|((_, own, its), _)| own == said && its == answer).map(|(_, count)| count).sum()
    };
    assert!(count("yes", "yes") >= 100 && count("no", "no") >= 30, "too few of one kind");
}

#[test]
fn launches_of_another_size_and_unknown_kernels_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let sizes = optimised_of("", |name| name == "size_work_group");
    let library = library(folder.path(), &sizes[0], &[]);
    let kernel = |name: &str, size: &str| Kernel { name: name.to_owned(), arguments: 1, size: size.to_owned() };
    for (kernel, topic, found) in [
        (kernel("__sycl_kernel_line", "1"), "local-size", true),
        (kernel("__sycl_kernel_plane", "64"), "dimensions", true),
        (kernel("__sycl_kernel_free_of_it", "16384"), "too-large", false),
        (kernel("__sycl_kernel_nowhere", "1"), "no-kernel", false),
    ] {
        let Outcome::Throws { text, .. } = launch(&program, &library, &kernel) else { panic!("{kernel:?} runs") };
        let (told, names) = named(&library, &text);
        assert_eq!((told.as_str(), names.contains(&kernel.name)), (topic, found), "{text}: {names:?}");
    }
}
