//! What does an output of images look like?
//!
//! One set of forms and flags for every verb that makes images ([`EmitArgs`]), and one function that writes them
//! ([`write()`]). `build` alone adds images to a linked file (`compiled`).

mod args;
pub mod compiled;
mod earlier;
mod write;

use super::global::Global;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property_text;
use sycl_bundle::device;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Result};
use sycl_bundle::files::gather::Origin;
use sycl_bundle::files::sources::spare_inputs;
use sycl_bundle::files::write::{Folder, cannot_write, folder_of, write_atomically};
use sycl_bundle::rewrite::extract::{self, Names};

pub use args::{Emit, EmitArgs, Form};
pub use earlier::{Earlier, check as check_parts, in_folder as parts_in_folder};
pub use write::{write, write_with_parts};

/// Whether images can be written where they are to be, and would replace none of the inputs.
///
/// # Errors
/// As [`check_place`]; `Usage` where they would.
pub fn check_output(form: &Form, inputs: &[PathBuf], output: &Path) -> Result<()> {
    check_place(Some(form.emit), output)?;
    spare_inputs(inputs, output)
}

/// Whether the output can be written where it is to be, before anything is done for it. A folder is one for modules
/// alone.
///
/// # Errors
/// `Environment` where its folder does not exist, `Usage` where it is a folder itself.
pub fn check_place(emit: Option<Emit>, path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    if path.is_dir() {
        if emit == Some(Emit::Spirv) {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, format!("`{}` is a folder", path.display()));
        return Err(error.with_remedy("name a file in it with `-o`"));
    }
    // A missing folder is made when the output is written.
    let there = folder_of(path).ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists());
    match there.filter(|there| !there.as_os_str().is_empty() && !there.is_dir()) {
        Some(file) => {
            let message = format!("cannot write `{}`: `{}` is no folder", path.display(), file.display());
            Err(Error::new(ErrorKind::Environment, message))
        }
        None => Ok(()),
    }
}

/// The names that the runtime compares with (`__SYCL_DEVICE_BINARY_TARGET_*` in DPC++ `sycl/source/detail/compiler.hpp`),
/// which are no targets of the device configuration, or not by that name alone; and the architectures of the triples that
/// upstream's drivers write in their place.
const SPECS: [&str; 13] = [
    "spir",
    "spir64",
    "spir64_x86_64",
    "spir64_gen",
    "spir64_fpga",
    "nvptx64",
    "amdgcn",
    "native_cpu",
    "llvm_nvptx64",
    "llvm_amdgcn",
    "spirv",
    "spirv32",
    "spirv64",
];

/// The name to write for a spelling: one that the runtime compares with stands as it is, also as a triple; any other is
/// that of the target that it means.
///
/// # Errors
/// `Usage` where it means none, or several.
pub fn known_target(global: &Global, spelling: &str) -> Result<String> {
    if SPECS.contains(&spelling.split('-').next().unwrap_or_default()) {
        return Ok(spelling.to_owned());
    }
    let found = device::table().resolve(spelling)?;
    let [target] = found.targets.as_slice() else {
        let names: Vec<&str> = found.targets.iter().map(|target| target.name.as_str()).collect();
        // The runtime knows families by name too.
        if let Some(family) = found.family.filter(|family| family.starts_with("intel_gpu_")) {
            return Ok(family);
        }
        let error = Error::new(ErrorKind::Usage, format!("`{spelling}` means several targets: {}", names.join(", ")));
        return Err(error.with_remedy("name one of them with --as-target"));
    };
    if let Some(note) = &found.note {
        global.note(note);
    }
    if target.name != spelling {
        global.note(&format!("`{spelling}` is {}", target.name));
    }
    Ok(target.name.clone())
}

/// Names of the files of all images.
fn part_names(images: &[Image<'_>], stem: &str, origin: &Origin) -> Vec<Names> {
    let name = |(number, image): (usize, &Image<'_>)| {
        let names = Names::for_prepared(stem, image.index, image);
        origin.pass(number);
        names
    };
    images.iter().enumerate().map(name).collect()
}

/// A table and its parts beside it.
fn write_table(images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    if path == Path::new("-") {
        return Err(Error::new(ErrorKind::Usage, "a table has parts beside it").with_remedy("name a file with `-o`"));
    }
    let (stem, folder) = stem_and_folder(path);
    let mut total = 0u64;
    // All is made before the first part is written, so that an image that cannot be leaves nothing behind.
    let texts =
        images.iter().map(|image| property_text::write(&image.properties).context(|| format!("image {}", image.index)));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let names = part_names(images, &stem, origin);
    let table = extract::table(&names)?;
    // Parts that are as they were stay untouched; of the others none appears before all are written.
    let mut set: Option<Folder> = None;
    for (number, ((image, name), text)) in images.iter().zip(&names).zip(texts).enumerate() {
        let mut put = |name: &str, bytes: &[u8]| -> Result<()> {
            total = total.saturating_add(bytes.len() as u64);
            add_part(&mut set, folder, name, bytes)
        };
        put(&name.code, image.stored)?;
        if let Some(properties) = &name.properties {
            put(properties, text.as_bytes())?;
        }
        if let Some(symbols) = &name.symbols {
            let lines: String = image.entries.iter().flat_map(|entry| [entry, "\n"]).collect();
            put(symbols, lines.as_bytes())?;
        }
        origin.pass(number);
    }
    // The table last: where it is, so is everything it names.
    let is_special = path.symlink_metadata().is_ok_and(|it| !it.is_file());
    match path.file_name().and_then(|name| name.to_str()).filter(|_| !is_special) {
        Some(name) => add_part(&mut set, folder, name, table.as_bytes())?,
        None => {
            set.take().map_or(Ok(()), Folder::finish)?;
            write_atomically(path, table.as_bytes(), None)?;
        }
    }
    set.map_or(Ok(()), Folder::finish)?;
    Ok(total.saturating_add(table.len() as u64))
}

/// Adds a file to the set that is to appear in a folder, unless it is there already.
fn add_part(set: &mut Option<Folder>, folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let there = folder.join(name);
    let same = || {
        let is_file = there.symlink_metadata().is_ok_and(|it| it.is_file() && it.len() == bytes.len() as u64);
        is_file && std::fs::read(&there).is_ok_and(|old| old == bytes)
    };
    if same() {
        return Ok(());
    }
    let own = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match set {
        Some(set) => set.add(name, bytes),
        None => {
            std::fs::create_dir_all(own).map_err(|error| cannot_write(&there, &error))?;
            set.insert(Folder::begin(own)?).add(name, bytes)
        }
    }
}

/// Bare modules: one as a file, several in a folder.
fn write_spirv(images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    let is_other = |(number, image): &(usize, &Image<'_>)| {
        origin.pass(*number);
        image.format() != Format::SpirV
    };
    if let Some((_, other)) = images.iter().enumerate().find(is_other) {
        let message = format!("image {} is {}, no SPIR-V", other.index, other.format().name());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("select others with --state input or --image"));
    }
    if let ([image], false) = (images, path.is_dir()) {
        return write::to(path, image.stored, None);
    }
    if path.is_file() || path == Path::new("-") || path.extension().is_some_and(|extension| extension == "spv") {
        let message = format!("{} modules do not fit one file", images.len());
        return Err(
            Error::new(ErrorKind::Usage, message).with_remedy("name a folder with `-o`, or select one with `--image`")
        );
    }
    let (stem, _) = stem_and_folder(path);
    let mut folder = Folder::begin(path)?;
    let mut total = 0u64;
    for (number, image) in images.iter().enumerate() {
        folder.add(&Names::for_prepared(&stem, image.index, image).code, image.stored)?;
        total = total.saturating_add(image.stored.len() as u64);
        origin.pass(number);
    }
    folder.finish()?;
    Ok(total)
}

/// The stem and folder of parts, which are named after the table.
pub fn stem_and_folder(path: &Path) -> (String, &Path) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    (stem, path.parent().unwrap_or(Path::new("")))
}
