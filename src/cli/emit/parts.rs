//! How do images become files of their own?

use super::write::Origin;
use crate::cli::output::{self, Folder};
use std::path::Path;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property_text;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Result};
use sycl_bundle::rewrite::extract::{self, Names};

/// Names of the files of all images.
pub(super) fn names(images: &[Image<'_>], stem: &str, origin: &Origin) -> Vec<Names> {
    let name = |(number, image): (usize, &Image<'_>)| {
        let names = Names::for_prepared(stem, image.index, image);
        origin.pass(number);
        names
    };
    images.iter().enumerate().map(name).collect()
}

/// A table and its parts beside it.
pub(super) fn table(images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    if path == Path::new("-") {
        return Err(Error::new(ErrorKind::Usage, "a table has parts beside it").with_remedy("name a file with `-o`"));
    }
    let (stem, folder) = stem_and_folder(path);
    let mut total = 0u64;
    // All is made before the first part is written, so that an image that cannot be leaves nothing behind.
    let texts =
        images.iter().map(|image| property_text::write(&image.properties).context(|| format!("image {}", image.index)));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let names = names(images, &stem, origin);
    let table = extract::table(&names)?;
    for (number, ((image, name), text)) in images.iter().zip(&names).zip(texts).enumerate() {
        let mut put = |name: &str, bytes: &[u8]| -> Result<()> {
            total = total.saturating_add(bytes.len() as u64);
            output::write_atomically(&folder.join(name), bytes, None).map(|_| ())
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
    output::write_atomically(path, table.as_bytes(), None)?;
    Ok(total.saturating_add(table.len() as u64))
}

/// Bare modules: one as a file, several in a folder.
pub(super) fn spirv(images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    let is_other = |(number, image): &(usize, &Image<'_>)| {
        origin.pass(*number);
        image.format() != Format::SpirV
    };
    if let Some((_, other)) = images.iter().enumerate().find(is_other) {
        let message = format!("image {} is {}, no SPIR-V", other.index, other.format().name());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("select others with --state input or --image"));
    }
    if let ([image], false) = (images, path.is_dir()) {
        return super::write::to(path, image.stored, None);
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
