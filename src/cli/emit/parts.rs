//! How do images become files of their own?

use crate::cli::output::{self, Folder};
use std::path::Path;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property_text;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Result};
use sycl_bundle::rewrite::extract::{self, Names};

/// A table and its parts beside it.
pub(super) fn table(images: &[Image<'_>], path: &Path) -> Result<u64> {
    if path == Path::new("-") {
        return Err(Error::new(ErrorKind::Usage, "a table has parts beside it").with_remedy("name a file with `-o`"));
    }
    let (stem, folder) = stem_and_folder(path);
    let mut total = 0u64;
    // All is made before the first part is written, so that an image that cannot be leaves nothing behind.
    let texts =
        images.iter().map(|image| property_text::write(&image.properties).context(|| format!("image {}", image.index)));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let names: Vec<Names> = images.iter().map(|image| Names::of_settled(&stem, image.index, image)).collect();
    let table = extract::table(&names)?;
    for ((image, name), text) in images.iter().zip(&names).zip(texts) {
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
    }
    // The table last: where it is, so is everything it names.
    output::write_atomically(path, table.as_bytes(), None)?;
    Ok(total.saturating_add(table.len() as u64))
}

/// Bare modules: one as a file, several in a folder.
pub(super) fn spirv(images: &[Image<'_>], path: &Path) -> Result<u64> {
    if let Some(other) = images.iter().find(|image| image.format() != Format::SpirV) {
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
    for image in images {
        folder.add(&Names::of_settled(&stem, image.index, image).code, image.stored)?;
        total = total.saturating_add(image.stored.len() as u64);
    }
    folder.finish()?;
    Ok(total)
}

/// What parts are named after, and where they are.
pub fn stem_and_folder(path: &Path) -> (String, &Path) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    (stem, path.parent().unwrap_or(Path::new("")))
}
