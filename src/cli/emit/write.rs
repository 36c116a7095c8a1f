//! How does a set of images become the form asked for?

use super::args::{Emit, Form};
use crate::cli::emit::{self, earlier};
use crate::cli::global::Global;
use crate::cli::output;
use std::path::Path;
use sycl_bundle::bundle::image::{EntryLayout, Image};
use sycl_bundle::container::arena::Arena;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::gather::Origin;
use sycl_bundle::files::write::write_atomically;
use sycl_bundle::report::units::counted;
use sycl_bundle::rewrite::blobs;
use sycl_bundle::rewrite::extract::Names;
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion, OutImage, out_image};
use sycl_bundle::rewrite::object_file::{ObjectOptions, object_file};
use sycl_bundle::rewrite::prepare::{Payload, store};
use sycl_bundle::rewrite::shared::{SharedOptions, shared_library};

/// Writes images; returns the bytes written.
///
/// # Errors
/// What cannot be written in that form; `NoDeviceCode` where there are no images.
pub fn write(global: &Global, form: &Form, mut images: Vec<Image<'_>>, origin: &Origin, path: &Path) -> Result<u64> {
    if images.is_empty() {
        return Err(Error::new(ErrorKind::NoDeviceCode, "there are no images to write"));
    }
    let arena = Arena::with_limit(u64::MAX);
    let registers = matches!(form.emit, Emit::Object | Emit::Shared);
    let payload = match form.compress {
        _ if !registers => Payload::Plain,
        Some(level) => Payload::Zstd(level),
        None => Payload::Stored,
    };
    let mut settled = Vec::with_capacity(images.len());
    for (number, mut image) in images.drain(..).enumerate() {
        store(&arena, &mut image, payload).map_err(|error| error.context(format!("image {}", image.index)))?;
        settled.push(image);
        origin.pass(number);
    }
    if !matches!(form.emit, Emit::Table | Emit::Spirv) {
        have_targets(&settled)?;
    }
    let bytes = match form.emit {
        Emit::Embed => {
            let error = Error::new(ErrorKind::Usage, "there is no linked file here to embed images into");
            return Err(error.with_remedy("`sycl-bundle embed` adds images to a linked file"));
        }
        Emit::Table => {
            dropped(global, &settled, "a table");
            return emit::write_table(&settled, origin, path);
        }
        Emit::Spirv => {
            dropped(global, &settled, "a bare module");
            dropped_sets(global, &settled);
            return emit::write_spirv(&settled, origin, path);
        }
        Emit::Object | Emit::Shared => return registered(global, form, &settled, origin, path),
        Emit::Syclbin => {
            dropped(global, &settled, "a SYCLBIN");
            let free = |image: &Image<'_>| image.kernels().iter().any(|kernel| kernel.contains("__sycl_kernel_"));
            if !settled.iter().any(free) {
                global.note("libsycl finds kernels of a SYCLBIN by the names of free functions, and there is none");
            }
            let state = form.state.unwrap_or_else(|| blobs::state(&settled));
            blobs::syclbin(&settled, form.envelope, state)?
        }
        Emit::OffloadBinary => blobs::offload_binary(&settled, form.version_of_binary)?,
        Emit::OffloadBundle => blobs::offload_bundle(&settled, &form.host().triple(), form.compress)?,
    };
    to(path, &bytes, None)
}

/// Writes images; of a table, the parts of an earlier one of its name are replaced, and other files are not. Returns the
/// bytes written.
///
/// # Errors
/// Those of [`write`]; `Usage` where a part would replace another file.
pub fn write_with_parts(
    global: &Global,
    form: &Form,
    images: Vec<Image<'_>>,
    origin: &Origin,
    path: &Path,
    inputs: &[&Path],
) -> Result<u64> {
    if form.emit != Emit::Table {
        return write(global, form, images, origin, path);
    }
    let (stem, _) = emit::stem_and_folder(path);
    let names = emit::part_names(&images, &stem, origin);
    let earlier = earlier::check(names.iter().flat_map(Names::all), path, inputs)?;
    let total = write(global, form, images, origin, path)?;
    earlier.clear(path);
    Ok(total)
}

/// Says that the form has no place for options.
pub(super) fn dropped(global: &Global, images: &[Image<'_>], what: &str) {
    let options = |image: &&Image<'_>| !image.compile_options.is_empty() || !image.link_options.is_empty();
    let count = images.iter().filter(options).count();
    if count > 0 {
        let images = counted(count, "image");
        global.note(&format!("{what} has no place for options of the device compiler; {images} had some"));
    }
}

/// Says that a bare module has no place for what its container said of it. What `link` and `split` read out of the code of
/// bare modules can be read again, and is no loss.
fn dropped_sets(global: &Global, images: &[Image<'_>]) {
    let told = |image: &&Image<'_>| image.origin.is_some() && !image.properties.sets.is_empty();
    let count = images.iter().filter(told).count();
    if count > 0 {
        let images = counted(count, "image");
        global.note(&format!("a bare module has no place for property sets, which {images} had; a table keeps them"));
    }
}

/// Images that the runtime is to choose from say what they are for.
fn have_targets(images: &[Image<'_>]) -> Result<()> {
    match images.iter().find(|image| image.target.is_empty()) {
        None => Ok(()),
        Some(image) => {
            let message = format!("nothing tells for which target image {} is", image.index);
            Err(Error::new(ErrorKind::Usage, message).with_remedy("say so with --as-target, for example spir64_x86_64"))
        }
    }
}

/// An object or a library.
fn registered(global: &Global, form: &Form, images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    let by_abi = |abi: u32| if abi >= 9 { ImageVersion::V3 } else { ImageVersion::V2 };
    let wanted = origin.abi.map(by_abi);
    let version = form.version.or(wanted).unwrap_or(ImageVersion::V3);
    let older = |version| version != ImageVersion::V3;
    if wanted.is_some_and(|wanted| older(wanted) != older(version)) {
        global
            .note("the images were made for another generation of the runtime, which numbers some aspects differently");
    }
    let new =
        images.iter().filter_map(|image| image.origin).any(|origin| origin.entry_layout == Some(EntryLayout::New));
    let entries = form.entries.unwrap_or(if new { EntryForm::New } else { EntryForm::Old });
    let comments: Vec<&str> = origin.comments.iter().map(String::as_str).collect();
    let host = form.host();
    let out: Vec<OutImage<'_>> = images.iter().map(out_image).collect();
    if form.emit == Emit::Object {
        let options =
            ObjectOptions { machine: host.machine, format: host.format, version, entries, comments: &comments };
        return to(path, &object_file(&out, &options)?, None);
    }
    let soname = path.file_name().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "-");
    let soname = soname.unwrap_or_else(|| "libsycl-bundle-images.so".to_owned());
    let abi =
        origin.abi.filter(|abi| older(by_abi(*abi)) == older(version)).unwrap_or(if older(version) { 8 } else { 9 });
    let runtime = format!("libsycl.so.{abi}");
    let options = SharedOptions {
        machine: host.machine,
        soname: &soname,
        runtime: &runtime,
        version,
        entries,
        comments: &comments,
    };
    to(path, &shared_library(&out, &options)?, Some(0o755))
}

/// Writes one file, or to standard output.
pub(super) fn to(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<u64> {
    if path == Path::new("-") {
        output::binary_to_stdout(bytes)?;
    } else {
        write_atomically(path, bytes, mode)?;
    }
    Ok(bytes.len() as u64)
}
