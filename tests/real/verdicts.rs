//! Are the verdicts of `check` and `has` those of the runtime?
//!
//! Libraries of dpnp with more than 2,000 kernels, on a CPU and on five GPUs that Intel's driver simulates: libsycl answers
//! `is_compatible` and `has_kernel_bundle` for every kernel and device. What the compilers say is with `targets`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sycl_bundle::device::simulation::Simulation;
use sycl_bundle::target_table;

use crate::launched::{ask, judge};
use crate::tool::{inspect, tool};
use crate::unstable::intel;
use crate::world::{tail, world};

const TARGETS: [&str; 6] =
    ["spir64_x86_64", "intel_gpu_pvc", "intel_gpu_dg1", "intel_gpu_acm_g10", "intel_gpu_bmg_g21", "intel_gpu_lnl_m"];

/// Libraries of dpnp that open none of oneMKL's, by parts of their paths.
const LIBRARIES: [&str; 5] =
    ["/_window_impl", "/_indexing_impl", "/_statistics_impl", "/_ufunc_impl", "/_tensor_linalg"];

/// Answers by kernel: `yes`, `no` or `unknown`.
type Answers = BTreeMap<String, String>;

fn json(command: &mut Command) -> Value {
    let output = command.args(["--format", "json"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}", tail(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Verdicts of `check`, by target.
fn checked(library: &Path, kernels: &BTreeSet<String>) -> BTreeMap<String, Answers> {
    let report = json(tool().arg("check").arg(library).args(["-t", &TARGETS.join(",")]));
    let of_target = |document: &Value| {
        let mut answers: Answers = kernels.iter().map(|kernel| (kernel.clone(), "yes".to_owned())).collect();
        for finding in document["findings"].as_array().unwrap() {
            let answer = answers.get_mut(&text(&finding["kernel"])).unwrap();
            if answer != "no" {
                *answer = if finding["certain"] == true { "no" } else { "unknown" }.to_owned();
            }
        }
        (text(&document["target"]), answers)
    };
    report["targets"].as_array().unwrap().iter().map(of_target).collect()
}

/// Answers of `has` about bundles of a state, by target.
fn had(library: &Path, state: &str) -> BTreeMap<String, Answers> {
    let report = json(tool().args(["has", "--state", state]).arg(library).args(["-t", &TARGETS.join(",")]));
    let mut all: BTreeMap<String, Answers> = BTreeMap::new();
    for kernel in report["kernels"].as_array().unwrap() {
        for target in kernel["targets"].as_array().unwrap() {
            let answers = all.entry(text(&target["target"])).or_default();
            answers.insert(text(&kernel["name"]), text(&target["answer"]));
        }
    }
    all
}

/// The runtime's four digits by kernel, on the device of a target.
fn answered(judge: &Path, library: &Path, target: &str) -> BTreeMap<String, String> {
    let python = world().root().join("venv/bin/python");
    let own = [world().root().join("venv/lib"), world().site_packages().join("dpctl")];
    let mut command = match target {
        "spir64_x86_64" => {
            let mut command = world().command(python);
            command.env("LD_LIBRARY_PATH", std::env::join_paths(own).unwrap());
            command
        }
        _ => intel().runtime_on(&Simulation::find(target, target_table()).unwrap(), &python, &own),
    };
    let lines = ask(&mut command, judge, library, "runtime_verdicts");
    lines.lines().filter_map(|line| line.split_once('\t')).map(|(digits, name)| (name.into(), digits.into())).collect()
}

#[test]
fn check_and_has_answer_as_the_runtime_does() {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge(folder.path());
    let (mut wrong, mut asked, mut unknown, mut refused) = (Vec::new(), 0, 0, 0);
    for part in LIBRARIES {
        let mut all = world().fat_libraries().iter();
        let library: &PathBuf = all.find(|path| path.to_str().unwrap().contains(part)).unwrap();
        let images = inspect(library)["images"].as_array().unwrap().clone();
        let kernels = images.iter().flat_map(|image| image["kernels"].as_array().unwrap()).map(text).collect();
        let told =
            [checked(library, &kernels), had(library, "input"), had(library, "object"), had(library, "executable")];
        for target in TARGETS {
            let answers = answered(&judge, library, target);
            assert_eq!(answers.keys().collect::<BTreeSet<_>>(), kernels.iter().collect(), "{part} on {target}");
            asked += answers.len();
            for (kernel, digits) in &answers {
                for ((told, digit), by) in
                    told.iter().zip(digits.chars()).zip(["check", "input", "object", "executable"])
                {
                    match (told[target][kernel].as_str(), digit) {
                        ("yes", '1') => {}
                        ("no", '0') => refused += 1,
                        ("unknown", _) => unknown += 1,
                        (answer, digit) => wrong.push(format!("{kernel} on {target}, {by}: {answer}, not {digit}")),
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, such as {:#?}", wrong.len(), wrong.iter().take(9).collect::<Vec<_>>());
    assert!(asked >= 2_000 * TARGETS.len() && refused > 1_000, "{asked} asked, {refused} refused");
    assert_eq!(unknown, 0);
}
