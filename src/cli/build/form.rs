//! In which form is the output made?

use crate::cli::emit::Emit;
use std::path::Path;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::{Error, ErrorKind, Result};

/// The form of the output, from what was asked for, the output's name and the inputs.
///
/// # Errors
/// `Usage` for a form that cannot be made of these.
pub fn emit(asked: Option<Emit>, output: &Path, hosts: &[Host<'_>]) -> Result<Emit> {
    let linked = hosts.iter().any(|host| matches!(host.kind, Kind::Elf | Kind::Pe));
    let elf = hosts.iter().all(|host| host.kind == Kind::Elf);
    let usage = |message: &str, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
    if hosts.len() > 1 && linked {
        return usage("a linked file makes an output of its own", "build linked files one by one");
    }
    match asked {
        // A linked file may be called anything but an object, a table or a SYCLBIN.
        None => Ok(match Emit::by_extension(output) {
            Some(emit @ (Emit::Object | Emit::Syclbin | Emit::Table)) => emit,
            Some(Emit::Shared) if !elf => Emit::Shared,
            _ if elf => Emit::Embed,
            _ => Emit::Table,
        }),
        // Whether Intel's driver on Windows takes what the one on Linux makes is not known.
        Some(Emit::Embed) if hosts.iter().any(|host| host.kind == Kind::Pe) => usage(
            "the driver compiles for Linux, so the native code is not for a Windows file's own list",
            "compile on Windows, and put the images into the list with `sycl-bundle embed`",
        ),
        Some(Emit::Embed) if !elf => {
            usage("only a linked ELF file can be embedded into", "use --emit table or --emit shared")
        }
        Some(Emit::Spirv) => usage("what is compiled is no SPIR-V", "use --emit table, or `extract --emit spirv`"),
        Some(emit) => Ok(emit),
    }
}
