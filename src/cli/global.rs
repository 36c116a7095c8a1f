//! What holds for every verb: colour, width, how much is said, how kernels are named?
//!
//! The one place that asks the environment about the terminal.

use super::cache::size;
use super::{output, process};
use crate::error::{Error, Exit, Reporter, Result};
use crate::files::{input, table};
use crate::report::document::Look;
use crate::report::evidence::Names;
use crate::report::inspect::View;
use crate::report::table::Drawing;
use crate::report::text::Shown;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// Bytes of memory without which the program's own libraries, threads and tables have no place.
const LEAST_MEMORY: u64 = 32 << 20;

/// The choice of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    // On a terminal, unless NO_COLOR is set; CLICOLOR_FORCE colours everywhere.
    Auto,
    Always,
    Never,
}

/// Flags that every verb takes.
#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Colours in the output; NO_COLOR and CLICOLOR_FORCE count for `auto`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    color: Color,
    /// Say less: no notes, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 901)]
    quiet: bool,
    /// Say more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 902)]
    verbose: u8,
    /// Shorten nothing and leave out no column, however narrow the terminal is
    #[arg(long, global = true, display_order = 903)]
    wide: bool,
    /// Show kernel names as they are in the file
    #[arg(long, global = true, display_order = 903)]
    no_demangle: bool,
    /// Read inputs into memory instead of mapping them: for files that other programs change meanwhile
    #[arg(long, global = true, display_order = 904)]
    no_mmap: bool,
    /// Take no more memory than this (2GiB), beside files that are mapped; `build` keeps its workers together within it, too,
    /// by an estimate from the modules' sizes, and compiles a module that needs more alone
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory, display_order = 904)]
    max_memory: Option<u64>,
    /// Let file tables name files anywhere below this folder, and not below their own only
    #[arg(long, global = true, value_name = "DIR", display_order = 905)]
    table_root: Option<PathBuf>,
}

/// Options of every verb, resolved.
#[derive(Debug, Clone)]
pub(crate) struct Global {
    /// No notes, no progress.
    pub(crate) quiet: bool,
    /// The number of `-v` flags.
    pub(crate) verbose: u8,
    /// Whether kernels are shown by the names they have in the source.
    pub(crate) demangle: bool,
    /// Bytes of memory that may be taken.
    pub(crate) max_memory: Option<u64>,
    width: usize,
    stderr_width: usize,
    stdout_color: bool,
    stderr_color: bool,
    stdout_terminal: bool,
    unicode: bool,
}

impl GlobalArgs {
    /// Asks the environment what the flags leave open.
    pub(crate) fn resolve(&self) -> Global {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = |terminal: bool| match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !set("NO_COLOR") && (forced || terminal && !dumb),
        };
        let stdout_terminal = std::io::stdout().is_terminal();
        let stderr_terminal = std::io::stderr().is_terminal();
        Global {
            quiet: self.quiet,
            verbose: self.verbose,
            demangle: !self.no_demangle,
            max_memory: self.max_memory,
            width: if self.wide { usize::MAX } else { width(std::io::stdout()) },
            stderr_width: if self.wide || !stderr_terminal { usize::MAX } else { width(std::io::stderr()) },
            stdout_color: color(stdout_terminal),
            stderr_color: color(stderr_terminal),
            stdout_terminal,
            unicode: unicode(),
        }
    }
}

impl GlobalArgs {
    /// Has the process keep to what the flags say of memory and inputs. Where others hold the memory already, these do not: to be
    /// held, the program begins anew.
    ///
    /// # Errors
    /// `Environment` where it cannot be kept to so little memory, `Io` where the folder of tables is none.
    pub(crate) fn apply(&self, held: bool) -> Result<()> {
        match self.max_memory.filter(|_| !held) {
            Some(most) => process::limit_memory(most)?,
            None => process::heed_limits_of_memory(),
        }
        if self.no_mmap {
            input::read_all();
        }
        self.table_root.as_ref().map_or(Ok(()), |root| table::allow_below(root))
    }

    /// Resolves flags that stand beside others, which hold where these say nothing.
    pub(crate) fn resolve_within(&self, outer: &Global) -> Global {
        let own = self.resolve();
        let colored = self.color != Color::Auto;
        Global {
            quiet: own.quiet || outer.quiet,
            verbose: own.verbose.max(outer.verbose),
            demangle: own.demangle && outer.demangle,
            max_memory: outer.max_memory.or(own.max_memory),
            width: own.width.max(outer.width),
            stderr_width: own.stderr_width.max(outer.stderr_width),
            stdout_color: if colored { own.stdout_color } else { outer.stdout_color },
            stderr_color: if colored { own.stderr_color } else { outer.stderr_color },
            ..own
        }
    }
}

/// Parses an amount of memory that the program can begin with.
fn memory(text: &str) -> std::result::Result<u64, String> {
    let most = size(text)?;
    if most < LEAST_MEMORY { Err("32MiB are the least that the program begins with".to_owned()) } else { Ok(most) }
}

/// Columns of the terminal, or else what COLUMNS says; what reads a pipe gets lines as long as they are.
fn width(of: impl std::os::fd::AsFd) -> usize {
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(of).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    };
    let columns = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
    // Narrower than this no table says anything; wider, lines are hard to follow.
    terminal().or_else(columns).map_or(usize::MAX, |width| width.clamp(40, 400))
}

/// Whether the locale's letters are Unicode's: the first of these variables that is set says so.
fn unicode() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os);
    let locale = names.map(|value| value.to_string_lossy().to_ascii_lowercase()).find(|value| !value.is_empty());
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

impl Global {
    /// The reader's terminal and wishes.
    pub(crate) fn look(&self) -> Look {
        Look {
            view: self.view(),
            drawing: (self.stdout_terminal || self.stdout_color).then(|| self.letters()),
            letters: self.letters(),
            verbose: self.verbose > 0,
            stderr_width: self.stderr_width,
        }
    }

    /// Columns, names and colours on standard output.
    pub(crate) fn view(&self) -> View {
        View { width: self.width, demangle: self.demangle, color: self.stdout_color }
    }

    /// The form in which kernels are named.
    pub(crate) fn names(&self) -> Names {
        Names { demangle: self.demangle }
    }

    /// The letters that stdout takes.
    pub(crate) fn letters(&self) -> Drawing {
        if self.unicode { Drawing::Unicode } else { Drawing::Ascii }
    }

    /// Says something on stderr, unless asked to be quiet.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            output::tell(&Shown::labelled("note:", self.stderr_color.then_some("1"), text, self.stderr_width));
        }
    }

    /// Prints an error on stderr (nothing for a broken pipe) and gives its exit code.
    pub(crate) fn error(&self, error: &Error) -> Exit {
        let exit = Exit::for_error(error);
        if exit != Exit::Done {
            output::tell(&text(error, self.stderr_color, self.stderr_width));
        }
        exit
    }

    /// Says something on stderr that only `-v` asks for.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose > 0 {
            self.note(text);
        }
    }
}

impl Reporter for Global {
    fn note(&self, text: &str) {
        Global::note(self, text);
    }

    fn detail(&self, text: &str) {
        Global::detail(self, text);
    }

    fn error(&self, error: &Error) -> Exit {
        Global::error(self, error)
    }

    fn binary(&self, bytes: &[u8]) -> Result<()> {
        super::output::binary_to_stdout(bytes)
    }

    fn wants_all(&self) -> bool {
        self.verbose > 0
    }
}

/// `error:` with where it happened and why, on one line, and the remedy on the next.
fn text(error: &Error, color: bool, width: usize) -> Shown {
    let mut out = Shown::labelled("error:", color.then_some("1;31"), &error.to_string(), width);
    if let Some(remedy) = error.remedy() {
        out.append(&Shown::labelled("help:", color.then_some("1;36"), remedy, width));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_line_and_its_remedy_another() {
        let one = Error::input("no such thing").with_remedy("look elsewhere");
        assert_eq!(&*text(&one, false, usize::MAX), "error: no such thing\nhelp: look elsewhere\n");
        let three = Error::at(16, "cut").context("image 3").context("lib.so");
        assert_eq!(&*text(&three, true, usize::MAX), "\x1b[1;31merror:\x1b[0m lib.so: image 3: cut (at offset 0x10)\n");
    }
}
