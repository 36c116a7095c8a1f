//! What does the output of `build` look like?

use super::global::Global;
use super::output;
use super::sources::same_file;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
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

/// The permission bits of an input, which a rewritten copy keeps; never set-user-id and the like, which are trust in
/// those very bytes.
pub fn mode_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path)
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.permissions().mode() & 0o777)
}

/// Writes the output; returns its bytes (of a table, with its parts).
///
/// # Errors
/// What cannot be rewritten or written; `NoDeviceCode` where there is nothing to put into a library.
pub fn write(global: &Global, emit: Emit, compiled: &Compiled<'_, '_>, path: &Path, mode: Option<u32>) -> Result<u64> {
    match emit {
        Emit::Embed => {
            let bytes = if compiled.additions.is_empty() {
                // Nothing can be native: the copy is the file as it is.
                Cow::Borrowed(compiled.host.bytes)
            } else {
                let bytes = embed(compiled.host, compiled.bundle, compiled.additions, &notes(compiled))?;
                one_march(&bytes)?;
                Cow::Owned(bytes)
            };
            to(path, &bytes, mode)
        }
        Emit::Shared => to(path, &shared(global, compiled, path)?, Some(0o755)),
        Emit::Table => table(compiled, path),
    }
}

/// Whether the output can be written where it is to be, before anything is compiled.
///
/// # Errors
/// `Environment` where its folder does not exist, `Usage` where it is a folder itself.
pub fn check_place(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    if path.is_dir() {
        let error = Error::new(ErrorKind::Usage, format!("`{}` is a folder", path.display()));
        return Err(error.with_remedy("name a file in it with `-o`"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("cannot write `{}`: the folder does not exist", path.display());
    Err(Error::new(ErrorKind::Environment, message).with_remedy(format!("`mkdir -p {}` first", folder.display())))
}

/// Whether the parts of a table would replace files that are no parts of an earlier one, before anything is compiled.
///
/// # Errors
/// `Usage`, naming the file.
pub fn check_parts(emit: Emit, path: &Path, images: &[Examined<'_, '_>], inputs: &[&Path]) -> Result<()> {
    if emit != Emit::Table {
        return Ok(());
    }
    let (stem, folder) = stem_and_folder(path);
    let earlier = std::fs::read_to_string(path).unwrap_or_default();
    let listed: HashSet<&str> = earlier.lines().flat_map(|line| line.split('|')).collect();
    for image in images {
        let names = Names::of(&stem, image, false);
        let native = format!("{stem}_{}{}", image.image.index, Format::Elf.extension());
        let all = [Some(names.code), Some(native), names.properties, names.symbols];
        for name in all.into_iter().flatten() {
            let part = folder.join(&name);
            let is_input = inputs.iter().any(|input| same_file(input, &part));
            if is_input || part.exists() && !listed.contains(name.as_str()) {
                let what = if is_input { "an input" } else { "a file that no table of that name lists" };
                let message = format!("a part of the table would replace `{}`, {what}", part.display());
                return Err(Error::new(ErrorKind::Usage, message).with_remedy("give the table another name or folder"));
            }
        }
    }
    Ok(())
}

fn stem_and_folder(path: &Path) -> (String, &Path) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    (stem, path.parent().unwrap_or(Path::new("")))
}

/// Whether all native images of a rewritten file are for one instruction set, whatever made them.
///
/// # Errors
/// `Input` where they are not.
pub fn one_march(bytes: &[u8]) -> Result<()> {
    let host = Host::read(bytes)?;
    let bundle = Bundle::read(&host)?;
    let mut sets: Vec<CpuArch> = bundle.images.iter().filter_map(|image| CpuArch::of_binary(image.stored)).collect();
    sets.sort_unstable();
    sets.dedup();
    match sets.as_slice() {
        [] | [_] => Ok(()),
        several => {
            let names: Vec<&str> = several.iter().map(|set| set.name()).collect();
            let message = format!(
                "the file would hold native images for {}: some that it had could not be replaced, and the driver refuses a mix",
                names.join(" and ")
            );
            Err(Error::new(ErrorKind::Input, message).with_remedy("build from the original file"))
        }
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
fn shared(global: &Global, compiled: &Compiled<'_, '_>, path: &Path) -> Result<Vec<u8>> {
    let bare = !matches!(compiled.host.kind, Kind::Elf | Kind::Pe);
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
    let soname = path.file_name().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "-");
    let soname = soname.unwrap_or_else(|| "libsycl-bundle-native.so".to_owned());
    // Without a word from the file itself, its image structures tell: version 3 came with libsycl.so.9.
    let guessed = match compiled.bundle.images.iter().find_map(|image| image.origin) {
        Some(origin) if origin.version < 3 => 8,
        _ => 9,
    };
    let abi = compiled.host.sycl_abi.unwrap_or(guessed);
    if compiled.host.sycl_abi.is_none() && !bare {
        global.note(&format!("the file names no SYCL runtime; the library will need libsycl.so.{abi}"));
    }
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
    let (stem, folder) = stem_and_folder(path);
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
