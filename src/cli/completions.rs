//! `completions`: what does the shell offer while a command is typed?

use super::exit::Exit;
use super::global::Global;
use super::output;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io::Write as _;
use sycl_bundle::error::Result;

const AFTER_HELP: &str = "\
Examples:
  sycl-bundle completions bash > ~/.local/share/bash-completion/completions/sycl-bundle
  sycl-bundle completions fish > ~/.config/fish/completions/sycl-bundle.fish";

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, _: &Global) -> Result<Exit> {
        let mut out = output::stdout();
        out.write_all(&script(self.shell)).and_then(|()| out.flush()).map_err(|error| output::lost(&error))?;
        Ok(Exit::Done)
    }
}

/// The completion script of a shell.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "sycl-bundle", &mut script);
    script
}
