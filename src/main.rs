//! `sycl-bundle`: device code inside SYCL programs, found, explained, compiled ahead of time, and put back.

mod cli;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = cli::Cli::parse();
    let global = command.global();
    let exit = command.run(&global).unwrap_or_else(|error| cli::exit::report(&global, &error));
    ExitCode::from(exit.code())
}
