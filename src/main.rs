//! `sycl-bundle`: which verb, and how does it end?

mod cli;

use std::process::ExitCode;

use clap::Parser;
use sycl_bundle::error::ErrorKind;

#[derive(clap::Parser)]
#[command(version, about)]
struct App {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Doctor(cli::doctor::Args),
    #[command(hide = true)]
    Worker(cli::worker::Args),
}

fn main() -> ExitCode {
    let result = match App::parse().verb {
        Verb::Doctor(args) => args.run(),
        Verb::Worker(args) => args.run(),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        if let Some(remedy) = error.remedy() {
            eprintln!("  try: {remedy}");
        }
        ExitCode::from(match error.kind() {
            ErrorKind::Usage => 2,
            ErrorKind::Input | ErrorKind::Io(_) => 3,
            ErrorKind::Build => 4,
            ErrorKind::Environment => 5,
            ErrorKind::NoDeviceCode => 6,
        })
    })
}
