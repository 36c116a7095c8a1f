//! How are the usual things done?
//!
//! One list for `sycl-bundle --help`, the manual and README.md; `tests/real/tasks.rs` runs every command of it.

/// A thing to do, and the commands that do it: three at most.
pub struct Task {
    /// The task, as it follows "How do I".
    pub what: &'static str,
    /// The commands, for a shell.
    pub commands: &'static [&'static str],
}

/// The tasks, in the order in which they tend to come up.
pub const TASKS: &[Task] = &[
    Task { what: "find the kernels that need fp64", commands: &["sycl-bundle kernels libfoo.so --aspect fp64"] },
    Task {
        what: "have a gate fail where a kernel would not run",
        commands: &["sycl-bundle check libfoo.so -t intel_gpu_acm_g10,intel_gpu_pvc"],
    },
    Task {
        what: "put native code into a library, in a Makefile",
        commands: &["sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so -MD --stamp out/libfoo.stamp"],
    },
    Task {
        what: "put native code into a wheel",
        commands: &["sycl-bundle build foo-1.0-py3-none-linux_x86_64.whl -t spir64_x86_64 -o out/"],
    },
    Task {
        what: "make native what a program compiles just in time",
        commands: &[
            "sycl-bundle record -o app.profile --march avx2 -- ./app",
            "sycl-bundle build libfoo.so --profile app.profile --harvest -o out/libfoo.so",
        ],
    },
    Task { what: "say why a launch failed", commands: &["./app 2>&1 | sycl-bundle explain app libfoo.so --message -"] },
    Task { what: "compare two releases", commands: &["sycl-bundle diff foo-2024.whl foo-2026.whl"] },
    Task { what: "list what takes the space", commands: &["sycl-bundle inspect libfoo.so --sizes"] },
    Task {
        what: "split a module, a kernel in each part",
        commands: &["sycl-bundle split kernels.spv --mode per_kernel -o parts.table"],
    },
    Task { what: "find an unresolved symbol", commands: &["sycl-bundle check app libfoo.so --link"] },
    Task { what: "list the devices, and all about one", commands: &["sycl-bundle devices", "sycl-bundle devices cpu"] },
    Task {
        what: "resume a build that was interrupted",
        commands: &["sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so   # the same again"],
    },
    Task {
        what: "read it all in jq",
        commands: &[
            "sycl-bundle inspect libfoo.so --schema",
            "sycl-bundle inspect libfoo.so --format json | jq '.files[].images[] | {target, size, kernels}'",
        ],
    },
];

/// The list, for a terminal.
pub fn text() -> String {
    let mut text = String::from("How do I ...\n");
    for task in TASKS {
        text.push_str(&format!("  {}\n", task.what));
        task.commands.iter().for_each(|command| text.push_str(&format!("    {command}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_takes_three_commands_at_most() {
        assert!(TASKS.iter().all(|task| (1..=3).contains(&task.commands.len())));
        assert!(text().lines().all(|line| line.chars().count() <= 100), "{}", text());
    }

    #[test]
    fn readme_has_the_same() {
        let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
        for task in TASKS {
            let commands: Vec<String> = task.commands.iter().map(|command| format!("{command}\n")).collect();
            let block = format!("# {}\n{}", task.what, commands.concat());
            assert!(readme.contains(&block), "README.md, \"How do I\": lacks\n{block}");
        }
    }
}
