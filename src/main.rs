//! `sycl-bundle`: device code inside SYCL programs, found, explained, compiled ahead of time, and put back.

use std::process::ExitCode;

/// Images are read and written by the thousand, in small pieces, by several threads: glibc's arenas grow page by page, and
/// `inspect` took a tenth longer with them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sycl_bundle::cli::main()
}
