//! On which files does the output depend, in the words of `make`?

use crate::cli::output::write_atomically;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use sycl_bundle::error::Result;

/// The options of a compiler's preprocessor that ask for dependencies.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub struct DependArgs {
    /// Write the files that the output depends on, for make and ninja, to the output's name and `.d`. Also -MD
    #[arg(long = "MD")]
    depend: bool,
    /// Write them to this file. Also -MF FILE
    #[arg(long = "MF", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The target of the rule, instead of the output and the --stamp. Also -MT NAME
    #[arg(long = "MT", value_name = "NAME")]
    rule: Option<String>,
}

impl DependArgs {
    /// Whether any of them is given.
    pub fn asked(&self) -> bool {
        self.depend || self.file.is_some() || self.rule.is_some()
    }

    /// The file that is written.
    pub fn path(&self, output: &Path) -> Option<PathBuf> {
        let beside = || {
            let mut name = output.as_os_str().to_owned();
            name.push(".d");
            name.into()
        };
        self.file.clone().or_else(|| self.depend.then(beside))
    }

    /// Writes the rule, where one is asked for. Where there is a stamp, that is what `make` compares.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub fn write(&self, output: &Path, stamp: Option<&Path>, prerequisites: &[PathBuf]) -> Result<()> {
        let Some(file) = self.path(output) else { return Ok(()) };
        let target = self.rule.clone().unwrap_or_else(|| {
            let targets: Vec<String> =
                stamp.into_iter().chain([output]).map(|path| escaped(&path.to_string_lossy())).collect();
            targets.join(" ")
        });
        let names: Vec<String> = prerequisites.iter().map(|path| escaped(&path.to_string_lossy())).collect();
        write_atomically(&file, rule(&target, &names).as_bytes(), None).map(drop)
    }
}

/// A rule, and one without a recipe per prerequisite, so that one that is gone does not stop `make`.
fn rule(target: &str, prerequisites: &[String]) -> String {
    let mut text = format!("{target}:");
    for name in prerequisites {
        let _ = write!(text, " \\\n  {name}");
    }
    text.push('\n');
    for name in prerequisites {
        let _ = write!(text, "\n{name}:\n");
    }
    text
}

/// As GCC escapes: blanks and `#` by a backslash, `$` doubled.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            ' ' | '\t' | '#' => out.extend(['\\', c]),
            '$' => out.push_str("$$"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escapes names for `make`; `tests/real/build_systems.rs` asks a real one.
    #[test]
    fn names_are_escaped_and_may_be_gone() {
        let names = ["in put.so", "a$b.so", "c#d.so"].map(escaped);
        let expected =
            "out.so: \\\n  in\\ put.so \\\n  a$$b.so \\\n  c\\#d.so\n\nin\\ put.so:\n\na$$b.so:\n\nc\\#d.so:\n";
        assert_eq!(rule("out.so", &names), expected);
    }
}
