//! What did the user ask for?
//!
//! The clap tree, one line and one file per verb. A verb's file holds `Args` with its flags, help and examples, and
//! `Args::run`, which reads the command line, calls the library, and gives documents to [`Output`]. No verb prints; only
//! [`Cli::run`] opens standard output.

mod build;
mod cache;
mod check;
mod compile;
pub(crate) mod completions;
mod confine;
mod devices;
mod diff;
mod doctor;
mod driver;
mod embed;
mod emit;
mod explain;
mod extract;
mod filter;
mod global;
mod has;
mod inspect;
mod jobserver;
mod join;
mod kernels;
mod link;
mod live;
mod man;
mod output;
mod plan;
mod policy_file;
pub(crate) mod process;
mod progress;
mod props;
mod prune;
mod record;
mod selection;
mod short_help;
mod split;
mod targets;
mod worker;
mod wrap;

use crate::error::{Exit, Result};
use crate::files::input;
use crate::files::input::keep_drafts_in;
use crate::report::text::is_command;
use crate::temporary::{before_writing, remove_begun, system_folder};
use global::{Global, GlobalArgs};
use output::Output;
use process::Pages;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads, explains, compiles ahead of time and rewrites the device code inside SYCL programs.
#[derive(clap::Parser)]
#[command(version, max_term_width = 100, after_help = AFTER_HELP, after_long_help = format!("{}\n{STATUS}", short_help::text()),
          propagate_version = false, infer_long_args = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    global: GlobalArgs,
    #[arg(skip)]
    pages: Pages,
}

const AFTER_HELP: &str = "\
Begin with:
  sycl-bundle inspect FILE                          what is in it
  sycl-bundle check FILE -t intel_gpu_acm_g10       whether it runs there, and why not
  sycl-bundle build FILE -t spir64_x86_64 -o OUT    a copy with native code for CPUs
  sycl-bundle doctor                                what this machine has, and what it lacks
`sycl-bundle --help` tells how to do a dozen usual things, `sycl-bundle VERB --help` all about one.";

const STATUS: &str = "\
Exit status:
  0  done, or yes
  1  ran well, and the answer is no; nothing matches what was selected
  2  the command line makes no sense
  3  an input cannot be read or is malformed
  4  some image did not build
  5  the machine lacks something: an OpenCL loader, a driver, a device, space
  6  the files are sound but hold no device code";

/// Folder for large files while they are made: `TMPDIR`, else `/var/tmp`, as `/tmp` may be memory.
fn folder_for_drafts() -> PathBuf {
    let var = Path::new("/var/tmp");
    match std::env::var_os("TMPDIR").filter(|named| !named.is_empty()) {
        Some(named) => named.into(),
        None if var.is_dir() => var.to_owned(),
        None => system_folder(),
    }
}

/// Runs the program: reads the command line, does what it says, and returns the exit code.
pub fn main() -> ExitCode {
    if completions::answered() {
        return ExitCode::SUCCESS;
    }
    let command = Cli::from_arguments();
    let global = command.global();
    let exit = command.run(&global).unwrap_or_else(|error| global.error(&error));
    // A build that had what it wanted when the signal came is done.
    if exit != Exit::Done {
        process::end_as_signalled();
    }
    ExitCode::from(exit.code())
}

impl Cli {
    /// The command line, with the options that every compiler spells with one dash (`-MD`, `-MF`, `-MT`).
    pub(crate) fn from_arguments() -> Cli {
        use clap::error::{ContextKind, ErrorKind};
        use clap::{CommandFactory as _, FromArgMatches as _};
        let pages = Pages::small();
        let long = |argument: OsString| match argument.to_str() {
            Some("-MD" | "-MF" | "-MT") => [OsStr::new("-"), &argument].into_iter().collect(),
            _ => argument,
        };
        let arguments: Vec<OsString> = std::env::args_os().map(long).collect();
        let parsed = Cli::command().try_get_matches_from(&arguments);
        // The short help costs time to make, and only who asks for help reads it.
        let asked = |error: &clap::Error| error.kind() == ErrorKind::DisplayHelp;
        let parsed = match parsed {
            Err(error) if asked(&error) => short_help::tree().try_get_matches_from(arguments),
            parsed => parsed,
        };
        let formatted = |error: clap::Error| error.format(&mut Cli::command());
        let command = parsed.and_then(|matches| Cli::from_arg_matches(&matches).map_err(formatted));
        let command = command.unwrap_or_else(|mut error| {
            // clap suggests passing an unknown flag as a file of that name, which nobody means.
            error.remove(ContextKind::Suggested);
            // clap names arguments as they are; the shell takes them from the names of files, too.
            let text = error.render().to_string();
            if error.use_stderr() && text.lines().any(is_command) {
                output::say(&text);
                std::process::exit(Exit::Usage.code().into());
            }
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            if let Some(failed) = printed.err().filter(|_| !error.use_stderr()) {
                let error = output::lost(&failed);
                let exit = Exit::for_error(&error);
                if exit != Exit::Done {
                    output::say(&format!("error: {error}"));
                }
                std::process::exit(exit.code().into());
            }
            std::process::exit(error.exit_code())
        });
        Cli { pages, ..command }
    }

    /// The options of every verb: the flags, and what the environment says of the terminal.
    pub(crate) fn global(&self) -> Global {
        self.global.resolve()
    }

    /// Runs the verb.
    ///
    /// # Errors
    /// Whatever ended it early; [`Global::error`] prints it.
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        if !matches!(self.verb, Verb::Split(_)) {
            self.pages.as_before();
        }
        // A worker is ended by its driver, and the process that started it tells of that.
        let is_worker = matches!(self.verb, Verb::Worker(_));
        if !is_worker {
            process::end_where_inputs_are_cut_short();
            process::end_where_texts_are_changed();
            process::end_where_inputs_are_changed(global);
            process::survive_full_files();
        }
        process::heed_ends_of_children();
        self.global.apply(false)?;
        if !is_worker {
            before_writing(|| process::before_the_end(remove_begun));
        }
        // A worker's threads begin when it is confined, as those do not become so that run already.
        if !is_worker {
            process::threads_that_can_be_had();
        }
        keep_drafts_in(folder_for_drafts());
        let mut out = Output::open(global);
        let exit = self.verb.run(global, &mut out)?;
        out.finish()?;
        input::unchanged()?;
        Ok(exit)
    }
}

macro_rules! verbs {
    ($($(#[$attribute:meta])* $module:ident => $name:ident,)*) => {
        #[derive(clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
        enum Verb {
            $($(#[$attribute])* $name($module::Args),)*
        }

        impl Verb {
            fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
                match self {
                    $(Verb::$name(args) => args.run(global, out),)*
                }
            }
        }
    };
}

// In the order of the help screen.
verbs! {
    inspect => Inspect,
    kernels => Kernels,
    props => Props,
    check => Check,
    has => Has,
    explain => Explain,
    diff => Diff,
    targets => Targets,
    devices => Devices,
    extract => Extract,
    filter => Filter,
    build => Build,
    plan => Plan,
    compile => Compile,
    link => Link,
    join => Join,
    split => Split,
    wrap => Wrap,
    embed => Embed,
    prune => Prune,
    record => Record,
    cache => Cache,
    doctor => Doctor,
    completions => Completions,
    man => Man,
    #[command(hide = true)]
    worker => Worker,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_tree_is_sound() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn memory_is_limited_before_and_after_the_name_of_every_verb() {
        // Nothing else that verbs need is given.
        let tree = super::Cli::command().ignore_errors(true);
        let mut asked = 0;
        for verb in tree.get_subcommands().map(|verb| verb.get_name()) {
            for words in [["--max-memory", "64MiB", verb], [verb, "--max-memory", "64MiB"]] {
                let line = std::iter::once("sycl-bundle").chain(words);
                let matches = tree.clone().try_get_matches_from(line).unwrap();
                assert_eq!(matches.get_one::<u64>("max_memory"), Some(&(64 << 20)), "{words:?}");
            }
            asked += 1;
        }
        assert!(asked > 24, "{asked}");
    }

    #[test]
    fn help_fits_the_width_that_it_is_wrapped_at() {
        let mut tree = super::Cli::command();
        tree.build();
        let texts = tree
            .get_subcommands()
            .filter_map(|verb| Some((verb.get_name().to_owned(), verb.get_after_help()?.to_string())));
        let long = |(verb, text): (String, String)| {
            text.lines()
                .filter(|line| line.chars().count() > 100)
                .map(|line| format!("{verb}: {line}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts.flat_map(long).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
