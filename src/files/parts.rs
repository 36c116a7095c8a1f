//! How are the files of an output of several written, and may they go where they are to go?
//!
//! Parts are named after their table, or their folder, so those of an earlier one are the output's to replace and, where the
//! new one has fewer, to take away: left there they would be files that no table lists, which no later table may replace.
//! Anything else that is there stays: it is the user's. A folder of bare modules has a table, too, which tells the next run what it
//! may replace.

use super::emit::{part_names, stem_and_folder, to};
use super::gather::{Origin, Stated};
use super::place::is_strangers;
use super::sources;
use super::write::{Folder, cannot_write, is_descriptor};
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_text;
use crate::error::{Context as _, Error, ErrorKind, Reporter, Result};
use crate::plain_file;
use crate::report::text::counted;
use crate::rewrite::extract::{self, Names};
use crate::temporary::{Made, hold};
use std::fs::Metadata;
use std::path::Path;

/// Refuses a place for a table that has no place beside it: standard output, a device, a pipe.
///
/// # Errors
/// `Usage` where it is one.
pub(super) fn has_place_beside(path: &Path) -> Result<()> {
    let is_special = || path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
    if path == Path::new("-") || is_descriptor(path) || is_special() {
        return Err(Error::new(ErrorKind::Usage, "a table has parts beside it").with_remedy("name a file with `-o`"));
    }
    Ok(())
}

/// A table and its parts beside it.
pub(super) fn write_table(images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    has_place_beside(path)?;
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
            put(symbols, extract::lines_of(&image.entries)?.as_bytes())?;
        }
        origin.pass(number);
    }
    // The table last: where it is, so is everything it names.
    // A table behind a link would have its parts elsewhere: the link is replaced.
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(Error::new(ErrorKind::Usage, format!("`{}` is no name for a table", path.display())));
    };
    match &mut set {
        // A table that is as it was still lists parts that are not.
        Some(set) => set.add(name, table.as_bytes())?,
        None => add_part(&mut set, folder, name, table.as_bytes())?,
    }
    if let Some(set) = set {
        set.finish(&sources::outdated_parts(names.iter().flat_map(Names::all), path))?;
    }
    Ok(total.saturating_add(table.len() as u64))
}

/// Adds a file to the set that is to appear in a folder, unless it is there already.
fn add_part(set: &mut Option<Folder>, folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let there = folder.join(name);
    let same = || {
        let is_own = |it: &Metadata| it.is_file() && it.len() == bytes.len() as u64 && !is_strangers(&there, it);
        there.symlink_metadata().is_ok_and(|it| is_own(&it))
            && plain_file::read(&there, bytes.len() as u64).is_ok_and(|old| old == bytes)
    };
    if same() {
        return Ok(());
    }
    let own = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match set {
        Some(set) => set.add(name, bytes),
        None => {
            let made = Made::folder(own).map_err(|error| cannot_write(&there, &error))?;
            set.insert(Folder::begin(own)?.with(made)).add(name, bytes)
        }
    }
}

/// Bare modules: one as a file, several in a folder.
pub(super) fn write_spirv(reporter: &dyn Reporter, images: &[Image<'_>], origin: &Origin, path: &Path) -> Result<u64> {
    let is_other = |(number, image): &(usize, &Image<'_>)| {
        origin.pass(*number);
        image.format() != Format::SpirV
    };
    if let Some((_, other)) = images.iter().enumerate().find(is_other) {
        let message = format!("image {} is {}, no SPIR-V", other.index, other.format().name());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("select others with --state input or --image"));
    }
    if let ([image], false) = (images, path.is_dir()) {
        if path != Path::new("-") && !is_descriptor(path) {
            sources::nothing_beside(path)?;
        }
        tell_bare_losses(reporter, origin.stated);
        return to(reporter, path, image.stored, None);
    }
    if path.is_file() || path == Path::new("-") || path.extension().is_some_and(|extension| extension == "spv") {
        let message = format!("{} modules do not fit one file", images.len());
        return Err(
            Error::new(ErrorKind::Usage, message).with_remedy("name a folder with `-o`, or select one with `--image`")
        );
    }
    tell_bare_losses(reporter, origin.stated);
    let (stem, _) = stem_and_folder(path);
    let bare =
        |image: &Image<'_>| Names { properties: None, symbols: None, ..Names::for_prepared(&stem, image.index, image) };
    let names: Vec<Names> = images.iter().map(bare).collect();
    let table = path.join(extract::TABLE);
    let _held = hold(path);
    let outdated = sources::parts_in_folder(names.iter().flat_map(Names::all), &table, &[])?;
    let mut folder = Folder::begin(path)?;
    let mut total = 0u64;
    for (number, (image, name)) in images.iter().zip(&names).enumerate() {
        folder.add(&name.code, image.stored)?;
        total = total.saturating_add(image.stored.len() as u64);
        origin.pass(number);
    }
    folder.add(extract::TABLE, extract::table(&names)?.as_bytes())?;
    folder.finish(&outdated)?;
    Ok(total)
}

/// Says what was stated of images that are bare modules now. What `link` and `split` read out of the code can be read again, and
/// is no loss.
fn tell_bare_losses(reporter: &dyn Reporter, stated: Stated) {
    let losses = [
        (stated.sets, "property sets", "had some; a table keeps them"),
        (stated.entries, "entries", "listed others than its code has; a table keeps them"),
        (stated.states, "a state", "stated one"),
    ];
    for (count, what, had) in losses.into_iter().filter(|(count, ..)| *count > 0) {
        reporter.note(&format!("a bare module has no place for {what}; {} {had}", counted(count, "image")));
    }
}
