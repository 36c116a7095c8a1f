//! Do shells complete with the scripts in completions/?

use std::path::Path;

use crate::support::tools::needed;
use crate::world::succeed;

/// Output of a shell that runs a text with the tool in its PATH.
fn printed(shell: &str, text: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let search = std::env::join_paths([program.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut command = needed(shell);
    command.args(["-c", text]).current_dir(env!("CARGO_MANIFEST_DIR")).env("PATH", search).env("HOME", "/nonexistent");
    String::from_utf8(succeed(&mut command).stdout).unwrap()
}

#[test]
fn bash_completes_verbs_options_and_targets() {
    let complete = |words: &str, typed: &str| {
        printed(
            "bash",
            &format!(
                "source completions/sycl-bundle.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
                 _clap_complete_sycl_bundle sycl-bundle {typed:?} x; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            ),
        )
    };
    assert!(complete("sycl-bundle ins", "ins").lines().any(|line| line.trim() == "inspect"));
    assert!(complete("sycl-bundle check --strict --base", "--base").contains("--baseline"));
    assert!(complete("sycl-bundle check x -t intel_gpu_pv", "intel_gpu_pv").contains("intel_gpu_pvc"));
}

#[test]
fn fish_completes_verbs_options_and_targets() {
    let complete = |line: &str| printed("fish", &format!("source completions/sycl-bundle.fish; complete -C '{line}'"));
    assert!(complete("sycl-bundle ins").contains("inspect"));
    assert!(complete("sycl-bundle check --base").contains("--baseline"));
    assert!(complete("sycl-bundle check x -t intel_gpu_pv").contains("intel_gpu_pvc"));
}
