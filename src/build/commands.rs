//! How does another tool do the work, or know when to do it again?
//!
//! Plans for ninja and make, one command per image and target, and the rule of what an output depends on.

use crate::error::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The engine that the commands are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEngine {
    /// Ninja
    Ninja,
    /// GNU make
    Make,
}

/// A plan to write instead of building.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// The engine that runs the plan.
    pub(crate) engine: CommandEngine,
    /// The path of this program.
    pub(crate) program: PathBuf,
    /// The arguments of `build`.
    pub(crate) arguments: Vec<OsString>,
}

/// One command that fills the cache.
pub(crate) struct Edge {
    /// The image and target, as `--unit` takes them.
    pub(crate) unit: String,
    /// The name of its stamp.
    pub(crate) label: String,
    /// Bytes of the module.
    pub(crate) bytes: usize,
}

/// Ending of the folder of a plan, behind the output's name.
pub(crate) const FOLDER: &str = ".plan";

/// Stamp of the output in the folder of a plan.
pub(crate) const STAMP: &str = "done";

/// Rule of dependencies in that folder, which the engine reads.
pub(crate) const RULE: &str = "done.d";

/// Returns a name or option as text, which is what a plan is made of.
///
/// # Errors
/// `Usage` where it is none: other bytes in its place would be another file's name.
fn text_of<S: AsRef<OsStr> + ?Sized>(name: &S) -> Result<&str> {
    let name = name.as_ref();
    name.to_str().ok_or_else(|| {
        let message = format!("`{}` is not UTF-8, and cannot be written into a plan", name.to_string_lossy());
        Error::new(ErrorKind::Usage, message).with_remedy("rename it")
    })
}

impl Draft {
    /// The text: an edge for each unit, the largest first, and one that writes the output out of the cache.
    ///
    /// # Errors
    /// `Usage` for a name that the engine cannot write.
    pub(crate) fn text(&self, mut edges: Vec<Edge>, inputs: &[PathBuf], output: &Path) -> Result<String> {
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.bytes));
        for edge in &mut edges {
            // A live device may be called anything.
            edge.unit = shell(&quoted(Self::plain(&edge.unit)?));
        }
        let output = text_of(output)?;
        let folder = format!("{output}{FOLDER}");
        let mut words = Vec::new();
        for argument in &self.arguments {
            words.push(quoted(Self::plain(text_of(argument)?)?));
        }
        let mut names = Vec::new();
        for input in inputs {
            names.push(self.name(text_of(input)?)?);
        }
        let plan = Plan {
            program: shell(&quoted(Self::plain(text_of(&self.program)?)?)),
            arguments: shell(&words.join(" ")),
            inputs: names.join(" "),
            output: self.name(output)?,
            folder: self.name(&folder)?,
            shell_folder: shell(&quoted(&folder)),
            shell_rule: shell(&quoted(&escaped(&format!("{folder}/{STAMP}")))),
            shell_output: shell(&quoted(output)),
        };
        Ok(match self.engine {
            CommandEngine::Ninja => plan.ninja(&edges),
            CommandEngine::Make => plan.make(&edges),
        })
    }

    fn plain(text: &str) -> Result<&str> {
        // The engine shows its commands.
        if text.chars().any(|letter| letter.is_control() || letter.escape_debug().len() > 2) {
            let message = "a name or option with a line break or a control character cannot be written into a plan";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(text)
    }

    /// A file, as the engine writes it.
    fn name(&self, text: &str) -> Result<String> {
        let text = Self::plain(text)?;
        let refused = match self.engine {
            // The command of the plan writes a rule.
            _ if is_unnameable(Path::new(text)) => {
                Some(("make or ninja would take it for a command, a pattern, or another file", "rename it"))
            }
            CommandEngine::Make if is_goal(text) => Some(("the plan has a goal of this name", "rename it")),
            CommandEngine::Make if is_no_target(text) => {
                Some(("make would take it for a variable or a pattern", "say `--format ninja`, or rename it"))
            }
            _ => None,
        };
        if let Some((why, remedy)) = refused {
            return Err(Error::new(ErrorKind::Usage, format!("`{text}`: {why}")).with_remedy(remedy));
        }
        Ok(match self.engine {
            CommandEngine::Make => escaped(text),
            CommandEngine::Ninja => text.replace('$', "$$").replace(' ', "$ ").replace(':', "$:"),
        })
    }
}

/// A command, for the shell behind the engine.
fn shell(text: &str) -> String {
    text.replace('$', "$$")
}

/// Whether a letter of ASCII means itself to a shell, wherever it stands.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c)
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Values that all edges share, as the engine writes them.
struct Plan {
    program: String,
    /// The arguments of `build`. The plan's own stand before them, as these may have a `--`.
    arguments: String,
    inputs: String,
    output: String,
    folder: String,
    shell_folder: String,
    /// The target of the rule of dependencies.
    shell_rule: String,
    shell_output: String,
}

const HEAD: &str =
    "# Written by `sycl-bundle plan`. Write it again where other images or targets are to be compiled.\n";

impl Plan {
    fn ninja(&self, edges: &[Edge]) -> String {
        let Plan { program, arguments, inputs, output, folder, shell_folder, shell_rule, .. } = self;
        let mut text = format!(
            "{HEAD}ninja_required_version = 1.7\nsycl_bundle = {program}\n\nrule compile\n  command = $sycl_bundle build \
             --planned --cache-only --unit $unit --stamp $out {arguments}\n  description = compile image $unit\n\nrule assemble\n  command = \
             $sycl_bundle build --planned --MD --MF {shell_folder}/{RULE} --MT {shell_rule} --stamp {shell_folder}/{STAMP} \
             {arguments}\n  depfile = {folder}/{RULE}\n  deps = gcc\n  restat = 1\n  description = write {output}\n\n"
        );
        for Edge { unit, label, .. } in edges {
            let _ = write!(text, "build {folder}/{label}: compile {inputs}\n  unit = {unit}\n");
        }
        let _ = write!(text, "build {folder}/{STAMP} | {output}: assemble {inputs} |");
        for Edge { label, .. } in edges {
            let _ = write!(text, " $\n  {folder}/{label}");
        }
        let _ = write!(text, "\ndefault {folder}/{STAMP}\n");
        text
    }

    fn make(&self, edges: &[Edge]) -> String {
        let Plan { program, arguments, inputs, output, folder, shell_folder, shell_rule, shell_output } = self;
        // In the definition of a variable a comment begins there, also within quotes.
        let program = program.replace('#', "\\#");
        // For files that nothing makes, rules that are built in would have their names in a shell, and programs run on what lies
        // beside.
        let mut text = format!(
            "{HEAD}MAKEFLAGS += --no-builtin-rules\n.SUFFIXES:\nSYCL_BUNDLE = {program}\n\nall: {output}\n.PHONY: all\n\nSTAMPS ="
        );
        for Edge { label, .. } in edges {
            let _ = write!(text, " \\\n  {folder}/{label}");
        }
        let _ = write!(
            text,
            "\n\n{output}: {folder}/{STAMP}\n\t@test -e {shell_output} || $(SYCL_BUNDLE) build {arguments}\n\n{folder}/{STAMP}: {inputs} \
             $(STAMPS)\n\t@mkdir -p {shell_folder}\n\t+$(SYCL_BUNDLE) build --planned --MD --MF {shell_folder}/{RULE} --MT \
             {shell_rule} --stamp {shell_folder}/{STAMP} {arguments}\n-include {folder}/{RULE}\n\n"
        );
        for Edge { unit, label, .. } in edges {
            let _ = write!(
                text,
                "{folder}/{label}: {inputs}\n\t@mkdir -p {shell_folder}\n\t$(SYCL_BUNDLE) build --planned --cache-only --unit {unit} \
                 --stamp {shell_folder}/{label} {arguments}\n"
            );
        }
        text
    }
}

/// A rule, and one without a recipe per prerequisite, so that one that is gone does not stop `make`.
///
/// A line is the definition of a variable where its first name has a `=`: such names stand behind others, and have no rule.
/// Nor have those with `%`, which would be a pattern there.
pub(crate) fn rule(target: &str, prerequisites: &[String]) -> String {
    let mut text = format!("{target}:");
    let (defining, plain): (Vec<_>, Vec<_>) = prerequisites.iter().partition(|name| name.contains('='));
    let behind = if plain.is_empty() { Vec::new() } else { defining };
    for name in plain.iter().chain(&behind) {
        let _ = write!(text, " \\\n  {name}");
    }
    text.push('\n');
    for name in plain.iter().filter(|name| !is_no_target(name)) {
        let _ = write!(text, "\n{name}:\n");
    }
    text
}

/// Whether a name begins no rule of `make`: it would be a pattern, or a variable's definition.
pub(crate) fn is_no_target(name: &str) -> bool {
    name.contains(['%', '='])
}

/// Whether `make` takes a name for a special target, as `.IGNORE` is, or variants of it among what a target needs.
fn is_special(name: &str) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    without_here(name).strip_prefix('.').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_capital))
}

/// Whether a rule may name a file that the user did not, as a part of a table is: by a plain word to a shell, which neither programs
/// take for an option nor `make` for a goal of the user's (`clean`) or a rule for suffixes (`.c.o`). For a file that nothing
/// makes, `make` looks for rules of its own (`NAME: NAME.sh` with the command `cat $< >$@`), which hand names to a shell as they
/// are. Folders that a file has in common with the folder `here` are the user's own, and may have any name.
pub(crate) fn is_harmless(path: &Path, here: &Path) -> bool {
    let shared = path.components().zip(here.components()).take_while(|(one, other)| one == other).count();
    let rest: PathBuf = path.components().skip(shared).collect();
    let rest = without_here(rest.to_str().unwrap_or_default());
    let name = without_here(path.to_str().unwrap_or_default());
    let is_no_goal = name.contains('/') || name.find('.').is_some_and(|at| at > 0);
    rest.chars().all(|c| is_plain(c) || !c.is_ascii()) && !rest.starts_with('-') && is_no_goal
}

/// Whether a plan for `make` has a goal of a file's name.
fn is_goal(name: &str) -> bool {
    without_here(name) == "all"
}

/// Returns a name without `./` at its beginning, as `make` takes it.
fn without_here(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    name
}

/// Whether no escape makes a file's name one in a rule, for `make` and for ninja: a control character ends it, for ninja
/// 1.11 also quotes, `&`, `<`, `>` and `^`; what follows `;` is a command, what follows `|` an order, `*`, `?` and `[` are
/// patterns of other files, `~` begins a user's folder, `${` and `$(` a variable, which some makes expand twice, `\` at the end joins
/// it to the next, a blank there is none to `make`, `)` there the end of members of an archive, and some words are directives,
/// behind which a name with `=` defines a variable. A name that begins with an operator does so behind any other, and by `!=` runs
/// a command.
pub(crate) fn is_unnameable(path: &Path) -> bool {
    const DIRECTIVES: [&str; 6] = ["define", "export", "override", "private", "undefine", "unexport"];
    let Some(name) = path.to_str() else { return true };
    let operator = name.trim_start_matches(['!', '?', '+', ':']);
    name.contains(|c: char| c.is_control() || ";|*?[\"&'<>^`".contains(c))
        || name.contains("${")
        || name.contains("$(")
        || is_special(name)
        || name.starts_with('~')
        || name.ends_with(['\\', ' '])
        || name.ends_with(')')
        || operator.starts_with('=')
        || DIRECTIVES.contains(&name)
}

/// As GCC escapes: blanks, `#` and `:` by a backslash, those before it doubled, and `$` doubled.
pub(crate) fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            ' ' | '#' | ':' => {
                let before = out.len().saturating_sub(out.trim_end_matches('\\').len());
                out.extend(std::iter::repeat_n('\\', before.saturating_add(1)));
                out.push(c);
            }
            '$' => out.push_str("$$"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_from_the_shell_as_they_are() {
        let words = ["plain", "a b", "it's", "$HOME", "", "*", "-t=x:y"];
        let line = words.map(quoted).join(" ");
        let script = format!("for w in {line}; do printf '%s\\n' \"$w\"; done");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words.join("\n") + "\n");
    }

    /// Names that `make` or ninja take for something else, by trying both.
    #[test]
    fn some_names_cannot_be_written() {
        let quoted = [
            "a$(b",
            "${:!e!}",
            ".IGNORE",
            "./.IGNORE",
            ".//.SILENT",
            ".EXPORT_ALL_VARIABLES",
            "a\"b",
            "a&b",
            "a'b",
            "a<b",
            "a>b",
            "a^b",
            "a`b",
        ];
        assert!(quoted.iter().all(|name| is_unnameable(Path::new(name))));
        for name in [
            "a\nb", "a\tb", "a;b", "a|b", "a*b", "a?b", "a[1].so", "~root", "a\\", "a&", "lib(m)", "z)", "define",
            "a ", "export",
        ] {
            assert!(is_unnameable(Path::new(name)), "{name:?}");
        }
        for name in ["=a", "!=a", "+=a", "?=a", ":=a", "::=a", ":::=a", "override", "private", "undefine", "unexport"] {
            assert!(is_unnameable(Path::new(name)), "{name:?}");
        }
        for name in ["a%b", "a=b", "./=a", "lib(m).so", "a b", " a", "a]b", "b~", "./define", "a\\b", "\u{e9}!{}@,+"] {
            assert!(!is_unnameable(Path::new(name)), "{name:?}");
        }
        let latin: OsString = std::os::unix::ffi::OsStringExt::from_vec(vec![b'a', 0xe9]);
        assert!(is_unnameable(Path::new(&latin)));
        let plan = |input: &OsStr, output: &OsStr| {
            let draft = Draft { engine: CommandEngine::Ninja, program: "p".into(), arguments: Vec::new() };
            draft.text(Vec::new(), &[input.into()], Path::new(output)).is_ok()
        };
        assert!(plan("i".as_ref(), "o".as_ref()) && !plan(&latin, "o".as_ref()) && !plan("i".as_ref(), &latin));
        assert!(["a%b", "a=b"].iter().all(|name| is_no_target(name)));
        assert!([".so", ".", "IGNORE", ".IGNORE.so"].iter().all(|name| !is_unnameable(Path::new(name))));
        let draft = |engine| Draft { engine, program: "p".into(), arguments: Vec::new() };
        for name in ["a%b", "a=b", "a|b", "a[1].so"] {
            assert!(draft(CommandEngine::Make).text(Vec::new(), &[name.into()], Path::new("o")).is_err(), "{name:?}");
        }
        for name in ["a|b", "a[1].so"] {
            assert!(draft(CommandEngine::Ninja).text(Vec::new(), &[name.into()], Path::new("o")).is_err(), "{name:?}");
        }
        assert!(draft(CommandEngine::Ninja).text(Vec::new(), &["a%b".into()], Path::new("o")).is_ok());
        // `all` is what the plan for `make` begins with; also as the output.
        for (input, output) in [("all", "o"), (".//./all", "o"), ("i", "all"), ("a ", "o"), ("i", "o ")] {
            let text = draft(CommandEngine::Make).text(Vec::new(), &[input.into()], Path::new(output));
            assert_eq!(text.unwrap_err().kind(), ErrorKind::Usage, "{input:?} {output:?}");
        }
        for name in ["all", "./all"] {
            assert!(draft(CommandEngine::Ninja).text(Vec::new(), &[name.into()], Path::new("o")).is_ok());
        }
        assert!(draft(CommandEngine::Make).text(Vec::new(), &["x/all".into()], Path::new("all.so")).is_ok());
        // The rule of dependencies is for the shell first, and has a blank in its name.
        let plan = draft(CommandEngine::Make).text(Vec::new(), &["i".into()], Path::new("a b")).unwrap();
        assert!(plan.contains("--MT 'a\\ b.plan/done'"), "{plan}");
    }

    /// `make` hands a name to a shell by rules of its own; those in the user's own folders are of no stranger.
    #[test]
    fn strangers_names_are_plain_words_but_for_folders_of_the_user() {
        let here = Path::new("/home/me/My Work/build");
        for name in [
            "a.spv",
            "/home/me/My Work/src/a.spv",
            "/home/me/My Work/build/b.so",
            "\u{e9}+,@x%=:.b",
            "../a-b",
            "x/clean",
            "/home/me/My Work/build/kernels",
        ] {
            assert!(is_harmless(Path::new(name), here), "{name}");
        }
        let words = ["a b.c", "/home/me/Makefile x/a", "a(b).c", "a#b.c", "a{b}.c", "../My Work/a", "a!.c"];
        for name in words.into_iter().chain(["-a.c", "./-a.c", "clean", "./all", ".//install", ".c.o", "./.c"]) {
            assert!(!is_harmless(Path::new(name), here), "{name}");
        }
    }

    #[test]
    fn plans_for_make_have_no_rules_that_are_built_in() {
        let draft = Draft { engine: CommandEngine::Make, program: "c#/p".into(), arguments: Vec::new() };
        let plan = draft.text(Vec::new(), &["a b.spv".into()], Path::new("o")).unwrap();
        assert!(plan.contains("MAKEFLAGS += --no-builtin-rules\n.SUFFIXES:\nSYCL_BUNDLE = 'c\\#/p'\n"), "{plan}");
    }

    /// Escapes names for `make`; `tests/real/build_systems.rs` asks a real one.
    #[test]
    fn names_are_escaped_and_may_be_gone() {
        let names = ["in put.so", "a$b.so", "c#d.so"].map(escaped);
        let expected =
            "out.so: \\\n  in\\ put.so \\\n  a$$b.so \\\n  c\\#d.so\n\nin\\ put.so:\n\na$$b.so:\n\nc\\#d.so:\n";
        assert_eq!(rule("out.so", &names), expected);
        assert_eq!(escaped("a:b\\ c"), "a\\:b\\\\\\ c");
        assert_eq!(rule("o", &["a%b".to_owned()]), "o: \\\n  a%b\n");
        let names = ["SHELL=x".to_owned(), "lib.so".to_owned()];
        assert_eq!(rule("o", &names), "o: \\\n  lib.so \\\n  SHELL=x\n\nlib.so:\n");
        assert_eq!(rule("o", &names[..1]), "o:\n");
    }
}
