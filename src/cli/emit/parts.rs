//! How do images become files of their own, and what may those not replace?

use crate::cli::output::{self, Folder};
use crate::cli::sources::same_file;
use std::collections::HashSet;
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
    let (mut names, mut total) = (Vec::new(), 0u64);
    // All is made before the first part is written, so that an image that cannot be leaves nothing behind.
    let texts =
        images.iter().map(|image| property_text::write(&image.properties).context(|| format!("image {}", image.index)));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    for (image, text) in images.iter().zip(texts) {
        let name = Names::of_settled(&stem, image.index, image);
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
        names.push(name);
    }
    // The table last: where it is, so is everything it names.
    let text = extract::table(&names)?;
    output::write_atomically(path, text.as_bytes(), None)?;
    Ok(total.saturating_add(text.len() as u64))
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

/// Whether the parts of a table would replace files that are no parts of an earlier one.
///
/// # Errors
/// `Usage`, naming the file.
pub fn check<'n>(names: impl Iterator<Item = &'n str>, path: &Path, inputs: &[&Path]) -> Result<()> {
    let (_, folder) = stem_and_folder(path);
    let earlier = std::fs::read_to_string(path).unwrap_or_default();
    let listed: HashSet<&str> = earlier.lines().flat_map(|line| line.split('|')).collect();
    for name in names {
        let part = folder.join(name);
        let is_input = inputs.iter().any(|input| same_file(input, &part));
        if is_input || part.exists() && !listed.contains(name) {
            let what = if is_input { "an input" } else { "a file that no table of that name lists" };
            let message = format!("a part of the table would replace `{}`, {what}", part.display());
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("give the table another name or folder"));
        }
    }
    Ok(())
}

/// What parts are named after, and where they are.
pub fn stem_and_folder(path: &Path) -> (String, &Path) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    (stem, path.parent().unwrap_or(Path::new("")))
}
