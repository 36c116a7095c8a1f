//! How is the tool run on the real installation?

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::tools::heed_signals;
use crate::world::{succeed, world};

/// The tool, in the environment of the installation.
pub fn tool() -> Command {
    heed_signals();
    world().command(env!("CARGO_BIN_EXE_sycl-bundle"))
}

/// Document of `inspect --format json` about a file.
pub fn inspect(file: &Path) -> Value {
    let output = succeed(tool().arg("inspect").arg(file).args(["--format", "json"]));
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema_version"], 1);
    let files = report["files"].as_array_mut().unwrap();
    assert_eq!(files.len(), 1, "one file was asked about");
    files.remove(0)
}

/// Builds native CPU code for all of a file's images.
pub fn build(input: &Path, output: &Path, more: &[&str]) -> Output {
    succeed(build_command(input, output).args(more))
}

/// The command of [`build`].
pub fn build_command(input: &Path, output: &Path) -> Command {
    let mut command = tool();
    command.arg("build").arg(input).args(["-t", "spir64_x86_64", "-o"]).arg(output).args(["--jobs", "2"]);
    command
}

/// The images of a report that are of a target.
pub fn images_of<'a>(file: &'a Value, target: &str) -> Vec<&'a Value> {
    file["images"].as_array().unwrap().iter().filter(|image| image["target"] == target).collect()
}
