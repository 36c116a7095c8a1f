//! Do the recipes of the guides do what they say, on a real library?
//!
//! The policy, the workflow's steps and the Makefile are taken from src/guides as they stand there. `libfoo.so` is dpnp's
//! library of window functions, half of whose kernels compute in double.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::world::world;

/// The first block of the guides in a language that holds a text, with its line ends.
pub fn block(language: &str, holding: &str) -> String {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guides");
    let fence = format!("```{language}\n");
    let block = |guide: &str| {
        let text = std::fs::read_to_string(guides.join(guide)).unwrap();
        let blocks = text.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap());
        blocks.map(|text| format!("{text}\n")).find(|text| text.contains(holding))
    };
    ["gate.md", "building.md"].into_iter().find_map(block).unwrap()
}

/// The commands of a workflow's steps, in order, each with whether it runs after a failure too.
fn steps(workflow: &str) -> Vec<(String, bool)> {
    let steps = workflow.split("    steps:\n").nth(1).unwrap();
    let of_step = |step: &str| {
        let run = step.lines().find_map(|line| line.trim().strip_prefix("run: "))?;
        Some((run.to_owned(), step.contains("if: always()")))
    };
    steps.split("\n      - ").map(|step| step.trim_start_matches("      - ")).filter_map(of_step).collect()
}

/// A project: the policy, a library, and a Makefile that "builds" it.
struct Project(tempfile::TempDir);

impl Project {
    fn new(makefile: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("sycl-bundle.toml"), block("toml", "[[check.exception]]")).unwrap();
        let rule = format!("libfoo.so:\n\tcp '{}' $@\n", world().window().display());
        std::fs::write(at("Makefile"), format!("{makefile}{rule}")).unwrap();
        std::fs::create_dir(at("bin")).unwrap();
        // The stand-in for `cargo install` installs the program under test; it takes no other command.
        let tool = env!("CARGO_BIN_EXE_sycl-bundle");
        let install = format!(
            "#!/bin/sh\n[ \"$*\" = 'install --locked --path vendor/sycl-bundle' ] || exit 9\nln -s '{tool}' \"$(dirname \"$0\")/sycl-bundle\"\n"
        );
        std::fs::write(at("bin/cargo"), install).unwrap();
        std::fs::set_permissions(at("bin/cargo"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Project(folder)
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// Runs a command as GitHub's runner does, on 2026-01-01.
    fn run(&self, command: &str) -> Output {
        let path = format!("{}:{}", self.0.path().join("bin").display(), std::env::var("PATH").unwrap());
        Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", command])
            .current_dir(self.0.path())
            .env("PATH", path)
            .env("GITHUB_STEP_SUMMARY", self.0.path().join("summary.md"))
            .env("SOURCE_DATE_EPOCH", "1767225600")
            .env_remove("SYCL_BUNDLE_CONFIG")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    }

    /// Runs the steps; whether all went well.
    fn workflow(&self) -> bool {
        let mut well = true;
        for (command, always) in steps(&block("yaml", "steps:")) {
            if well || always {
                let output = self.run(&command);
                well &= output.status.success();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let code = output.status.code().unwrap();
                assert!(code == 0 || (code == 1 && command.contains(" check ")), "{command}: {code}\n{said}");
            }
        }
        well
    }
}

#[test]
fn the_workflow_fails_where_an_exception_is_missing() {
    let project = Project::new("");
    assert!(project.workflow(), "with the exception for double");
    let sarif: Value = serde_json::from_str(&project.file("device-code.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 10, "ten kernels compute in double");
    assert!(results.iter().all(|one| one["suppressions"][0]["justification"].as_str().unwrap().contains("fp64")));
    assert!(project.file("summary.md").contains("excused: 10 kernels (aspect)"));

    let project = Project::new("");
    std::fs::write(project.0.path().join("sycl-bundle.toml"), "check.targets = [\"intel_gpu_acm_g10\"]\n").unwrap();
    assert!(!project.workflow(), "without it");
    assert!(project.file("summary.md").contains("cannot run: 10 kernels (aspect)"));
    let sarif: Value = serde_json::from_str(&project.file("device-code.sarif")).unwrap();
    assert!(sarif["runs"][0]["results"].as_array().unwrap().iter().all(|one| one.get("suppressions").is_none()));
}

#[test]
fn the_makefile_accepts_what_is_there_and_refuses_what_is_new() {
    let project = Project::new(&block("make", "--write-baseline"));
    assert!(project.run("cargo install --locked --path vendor/sycl-bundle").status.success());
    let policy = |text: &str| std::fs::write(project.0.path().join("sycl-bundle.toml"), text).unwrap();
    policy("check.targets = [\"intel_gpu_acm_g10\"]\n");
    assert!(project.run("make accept").status.success());
    assert_eq!(project.file("device-code.json").matches("\"fingerprint\"").count(), 10);
    let known = project.run("make check");
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
    assert_eq!(project.file("device-code.xml").matches("<skipped ").count(), 10);
    policy("check.targets = [\"intel_gpu_acm_g10\", \"intel_gpu_dg1\"]\n");
    assert_eq!(project.run("make check").status.code(), Some(2), "findings on another target are new");
    assert_eq!(project.file("device-code.xml").matches("<failure ").count(), 10);
    policy("check.targets = [\"intel_gpu_acm_g10\"]\ncheck.kernels = [\"*<float>*\"]\n");
    let gone = project.run("make check");
    assert!(gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains("no longer found: aspect fp64"));
}
