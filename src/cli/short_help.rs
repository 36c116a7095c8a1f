//! What does `-h` show, so that it fits a screen?
//!
//! `--help` shows all of a verb. `-h` shows the options that are its own, each by the first part of its sentence, the names of
//! the groups that many verbs share, and the first examples.
//!
//! The usual tasks are one list for `sycl-bundle --help`, the manual and README.md; `tests/real/tasks.rs` runs every command of it.

use super::Cli;
use clap::{Arg, Command, CommandFactory as _};
use std::fmt::Write as _;

/// Examples that are shown.
const EXAMPLES: usize = 2;
/// Columns of names that a line of a group has.
const WIDTH: usize = 98;
/// Options of a verb beyond which those that are least often used are shown by name.
const OPTIONS: usize = 16;
/// Heading of the options without one that are shown by name.
const MORE: &str = "More options";

/// The command line, with both helps.
pub(crate) fn tree() -> Command {
    let globals: Vec<String> = Cli::command().get_arguments().filter_map(long).collect();
    // Each verb's short help names them in one line.
    let tree = Cli::command().mut_args(|argument| argument.hide_short_help(true));
    tree.mut_subcommands(|verb| shortened(verb, &globals))
}

fn long(argument: &Arg) -> Option<String> {
    Some(format!("--{}", argument.get_long()?))
}

/// A verb with a short help.
fn shortened(verb: Command, globals: &[String]) -> Command {
    let Some(text) = verb.get_after_help().map(ToString::to_string) else { return verb };
    let own = |argument: &&Arg| argument.get_help_heading().is_none() && !argument.is_positional();
    let late: Vec<String> =
        verb.get_arguments().filter(own).skip(OPTIONS).map(|argument| argument.get_id().to_string()).collect();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for argument in verb.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let heading = match argument.get_help_heading() {
            Some(heading) => heading,
            None if late.iter().any(|id| argument.get_id() == id.as_str()) => MORE,
            None => continue,
        };
        let Some(name) = long(argument) else { continue };
        match groups.iter_mut().find(|(known, _)| known == heading) {
            Some((_, names)) => names.push(name),
            None => groups.push((heading.to_owned(), vec![name])),
        }
    }
    groups.push(("Global options".to_owned(), globals.to_vec()));
    let mut short = String::new();
    for (heading, names) in groups {
        let _ = writeln!(short, "{}", wrapped(&format!("{heading}: {}", names.join(", "))));
    }
    if let Some((_, examples)) = text.split_once("Examples:\n") {
        let lines = examples.lines().take_while(|line| !line.is_empty()).take(EXAMPLES);
        let _ = write!(short, "\nExamples:\n{}\n", lines.collect::<Vec<_>>().join("\n"));
    }
    let _ = write!(short, "\n`sycl-bundle {} --help` tells all about these.", verb.get_name());
    let argument = move |argument: Arg| {
        let hidden = argument.get_help_heading().is_some() || late.iter().any(|id| argument.get_id() == id.as_str());
        let Some(help) = argument.get_help().map(ToString::to_string) else { return argument.hide_short_help(hidden) };
        let long = argument.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
        argument.help(first_part(&help)).long_help(long).hide_short_help(hidden)
    };
    verb.mut_args(argument).after_help(short).after_long_help(text)
}

/// The first part of a help text, as far as it stands alone.
fn first_part(text: &str) -> String {
    let ends = ["; ", ". ", ": ", ", by default", ", as "].iter().filter_map(|end| text.find(end));
    text.get(..ends.min().unwrap_or(text.len())).unwrap_or(text).to_owned()
}

/// A text in lines, the further ones indented.
fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0usize);
    for word in text.split(' ') {
        if column > 0 && column.saturating_add(word.len()) >= WIDTH {
            out.push_str("\n    ");
            column = 4;
        } else if column > 0 {
            out.push(' ');
            column = column.saturating_add(1);
        }
        out.push_str(word);
        column = column.saturating_add(word.len());
    }
    out
}

/// A thing to do, and the commands that do it: three at most.
pub(crate) struct Task {
    /// The task, as it follows "How do I".
    pub(crate) what: &'static str,
    /// The commands, for a shell.
    pub(crate) commands: &'static [&'static str],
}

/// The tasks, in the order in which they tend to come up.
pub(crate) const TASKS: &[Task] = &[
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
pub(crate) fn text() -> String {
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

    /// Lines of a screen.
    const SCREEN: usize = 50;

    #[test]
    fn a_short_help_fits_a_screen_and_the_long_one_has_all() {
        let mut tree = super::tree().term_width(100);
        tree.build();
        let verbs: Vec<String> = tree.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        for name in verbs {
            let verb = tree.find_subcommand_mut(&name).unwrap();
            let (short, long) = (verb.render_help().to_string(), verb.render_long_help().to_string());
            assert!(short.lines().count() <= SCREEN, "{name}: {} lines\n{short}", short.lines().count());
            for argument in verb.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let Some(option) = argument.get_long() else { continue };
                assert!(long.contains(&format!("--{option}")), "{name}: --{option}");
            }
        }
    }

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
