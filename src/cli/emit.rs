//! What does the output of `build` look like?

use super::output;
use std::borrow::Cow;
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::EntryLayout;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::rewrite::convert::with_payload;
use sycl_bundle::rewrite::embed::{Addition, embed};
use sycl_bundle::rewrite::extract::{self, Names};
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, OutImage};
use sycl_bundle::rewrite::shared::{Machine, SharedOptions, shared_library};

/// The forms of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Emit {
    /// A copy of the linked file, with the native images in its own list
    Embed,
    /// A library that registers the native images when it is loaded
    Shared,
    /// The images as files beside a file table
    Table,
}

impl Emit {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Emit::Embed => "embed",
            Emit::Shared => "shared",
            Emit::Table => "table",
        }
    }
}

/// What was compiled, and from what.
pub struct Compiled<'c, 'a> {
    /// The (first) input.
    pub host: &'c Host<'c>,
    /// All images of the inputs.
    pub bundle: &'c Bundle<'a>,
    /// The selected ones.
    pub images: &'c [Examined<'c, 'a>],
    /// The native images, by the index of the image they were compiled from.
    pub additions: &'c [Addition<'c>],
    /// Their instruction set.
    pub march: CpuArch,
}

/// The permission bits of an input, which a rewritten copy keeps.
pub fn mode_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path)
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.permissions().mode() & 0o7777)
}

/// Writes the output; returns its bytes (of a table, with its parts).
///
/// # Errors
/// What cannot be rewritten or written; `NoDeviceCode` where there is nothing to put into a library.
pub fn write(emit: Emit, compiled: &Compiled<'_, '_>, path: &Path, mode: Option<u32>) -> Result<u64> {
    match emit {
        Emit::Embed => {
            let bytes = if compiled.additions.is_empty() {
                // Nothing can be native: the copy is the file as it is.
                Cow::Borrowed(compiled.host.bytes)
            } else {
                Cow::Owned(embed(compiled.host, compiled.bundle, compiled.additions, &notes(compiled))?)
            };
            to(path, &bytes, mode)
        }
        Emit::Shared => to(path, &shared(compiled, path)?, Some(0o755)),
        Emit::Table => table(compiled, path),
    }
}

fn to(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<u64> {
    if path == Path::new("-") {
        output::binary_to_stdout(bytes)?;
    } else {
        output::write_atomically(path, bytes, mode)?;
    }
    Ok(bytes.len() as u64)
}

/// What the rewritten file says of its native images.
fn notes(compiled: &Compiled<'_, '_>) -> Vec<(String, String)> {
    let tool = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    vec![("tool".to_owned(), tool.to_owned()), ("march".to_owned(), compiled.march.name().to_owned())]
}

/// A library with the native images; of bare modules, which nothing else registers, with the SPIR-V too.
fn shared(compiled: &Compiled<'_, '_>, path: &Path) -> Result<Vec<u8>> {
    let bare = compiled.host.kind == Kind::SpirV;
    let examined: HashMap<usize, &Examined<'_, '_>> =
        compiled.images.iter().map(|image| (image.image.index, image)).collect();
    let mut images: Vec<OutImage<'_>> = Vec::new();
    if bare {
        for image in compiled.images {
            let mut spirv = with_payload(image.image, image.image.target, 0, Cow::Borrowed(image.image.stored));
            spirv.entries = image.kernels.iter().map(String::as_str).collect();
            images.push(spirv);
        }
    }
    for addition in compiled.additions {
        let Some(source) = examined.get(&addition.source) else { continue };
        let mut native = with_payload(source.image, addition.target, addition.format, Cow::Borrowed(addition.payload));
        if bare {
            native.entries = source.kernels.iter().map(String::as_str).collect();
        }
        images.push(native);
    }
    if images.is_empty() {
        return Err(Error::new(
            ErrorKind::NoDeviceCode,
            "no image can be native, so there is nothing to put into a library",
        ));
    }
    let soname = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let abi = compiled.host.sycl_abi.unwrap_or(9);
    let runtime = format!("libsycl.so.{abi}");
    let mut comments: Vec<&str> = compiled.host.producer.iter().map(|producer| producer.name.as_str()).collect();
    let march = format!("sycl-bundle: native CPU images for {}", compiled.march.name());
    comments.push(&march);
    let new = compiled
        .bundle
        .images
        .iter()
        .filter_map(|image| image.origin)
        .any(|origin| origin.entry_layout == Some(EntryLayout::New));
    let options = SharedOptions {
        machine: match compiled.host.elf.as_ref().and_then(|elf| elf.machine) {
            Some(sycl_bundle::container::elf::Machine::Aarch64) => Machine::Aarch64,
            _ => Machine::X86_64,
        },
        soname: &soname,
        runtime: &runtime,
        version: if abi >= 9 { ImageVersion::V3 } else { ImageVersion::V2 },
        entries: if new { EntryForm::New } else { EntryForm::Old },
        comments: &comments,
    };
    shared_library(&images, &options)
}

/// A table and its parts beside it: each image native where it was compiled, else as it is.
fn table(compiled: &Compiled<'_, '_>, path: &Path) -> Result<u64> {
    if path == Path::new("-") {
        return Err(Error::new(ErrorKind::Usage, "a table has parts beside it").with_remedy("name a file with `-o`"));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = path.parent().unwrap_or(Path::new(""));
    let native: HashMap<usize, &Addition<'_>> =
        compiled.additions.iter().map(|addition| (addition.source, addition)).collect();
    let (mut names, mut total) = (Vec::new(), 0u64);
    for image in compiled.images {
        let mut name = Names::of(&stem, image, false);
        let code = match native.get(&image.image.index) {
            Some(addition) => {
                name.code = format!("{stem}_{}{}", image.image.index, Format::sniff(addition.payload).extension());
                Cow::Borrowed(addition.payload)
            }
            None => extract::code(image, false)?,
        };
        let mut put = |name: &str, bytes: &[u8]| -> Result<()> {
            total = total.saturating_add(bytes.len() as u64);
            output::write_atomically(&folder.join(name), bytes, None).map(|_| ())
        };
        put(&name.code, &code)?;
        if let Some(properties) = &name.properties {
            put(properties, extract::properties(image)?.as_bytes())?;
        }
        if let Some(symbols) = &name.symbols {
            put(symbols, extract::symbols(image).as_bytes())?;
        }
        names.push(name);
    }
    // The table last: where it is, so is everything it names.
    let text = extract::table(&names)?;
    output::write_atomically(path, text.as_bytes(), None)?;
    Ok(total.saturating_add(text.len() as u64))
}
