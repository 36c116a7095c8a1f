//! `sycl-bundle`: device code inside SYCL programs, found, explained, compiled ahead of time, and put back.

mod cli;

use std::process::ExitCode;

/// Images are read and written by the thousand, in small pieces, by several threads: glibc's arenas grow page by page, and
/// `inspect` took a tenth longer with them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if cli::completions::answered() {
        return ExitCode::SUCCESS;
    }
    let command = cli::Cli::from_arguments();
    let global = command.global();
    let exit = command.run(&global).unwrap_or_else(|error| global.error(&error));
    // A build that was complete when the signal came is done.
    if exit != sycl_bundle::error::Exit::Done {
        cli::process::end_as_signalled();
    }
    ExitCode::from(exit.code())
}
