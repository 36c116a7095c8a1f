//! `record`: which programs did a runtime compile just in time, and where do their images stand?

use super::input::Input;
use super::{ReadOptions, each_file_with};
use crate::build::record::{Entry, Recorded};
use crate::bundle::Bundle;
use crate::compat::examine::examine;
use crate::container::Host;
use crate::error::{Error, Reporter, Result};
use crate::report::profile::{Device, Native, Place, Profile, Program, RecordedImage, digest_text};
use crate::select::Selector;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Reads what the runtime left in its cache, in the order in which it was written; `keep` keeps the driver's code. An entry that
/// cannot be read is told, and left out; links and pipes are none.
pub(crate) fn programs(reporter: &dyn Reporter, cache: &Path, keep: bool) -> Vec<Program> {
    let mut sources: Vec<(SystemTime, PathBuf)> = Vec::new();
    if !cache.symlink_metadata().is_ok_and(|cache| cache.is_dir()) {
        reporter.note("the program removed the folder of its runtime's cache, or put something else in its place");
        return Vec::new();
    }
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() && path.extension().is_some_and(|extension| extension == "src") {
                sources.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path));
            }
        }
    }
    sources.sort();
    let mut programs = Vec::new();
    for (_, source) in sources {
        match program(&source, keep) {
            Ok(program) => programs.push(program),
            // A process that was ended while it wrote leaves a part.
            Err(error) => reporter.note(&format!("an entry of the runtime's cache cannot be read: {error}")),
        }
    }
    programs
}

/// Reads an entry of the runtime's cache.
fn program(source: &Path, keep: bool) -> Result<Program> {
    let binary = source.with_extension("bin");
    // A program may leave a pipe there, which would be waited for.
    if !std::fs::symlink_metadata(&binary).is_ok_and(|metadata| metadata.is_file()) {
        return Err(Error::input(format!("`{}` is no plain file, or not there", binary.display())));
    }
    let binary = Input::open(&binary)?;
    let source = Input::open(source)?;
    let entry = Entry::read(source.bytes(), binary.bytes())?;
    let [platform, name, version, driver] = entry.device;
    let (mut images, mut digests) = (Vec::new(), BTreeSet::new());
    for module in &entry.modules {
        let host = Host::read(module)?;
        let bundle = Bundle::read(&host)?;
        for image in examine(&bundle) {
            digests.insert(image.blake3);
            let (blake3, size) = (digest_text(&image.blake3), image.size);
            images.push(RecordedImage { blake3, size, kernels: image.kernels, files: Vec::new() });
        }
    }
    let recorded = entry.binaries.first().map(|binary| Recorded {
        modules: digests,
        options: entry.options.clone(),
        has_constants: !entry.constants.is_empty(),
        binary: binary.to_vec(),
    });
    Ok(Program {
        device: Device { platform, name, version, driver },
        options: entry.options,
        constant_bytes: entry.constants.len(),
        images,
        seconds: None,
        native: recorded.map(|recorded| Native::new(&recorded, keep)).transpose()?,
    })
}

/// Looks for the images of a profile in files.
///
/// # Errors
/// `Input` where the profile's digests are malformed; errors of reading the files.
pub(crate) fn find_files(reporter: &dyn Reporter, files: &[PathBuf], profile: &mut Profile) -> Result<()> {
    let digests: HashSet<[u8; 32]> = profile.digests()?.into_iter().collect();
    if digests.is_empty() {
        return Ok(());
    }
    let selector = Selector { digests: Some(digests), ..Selector::default() };
    let options = ReadOptions { silent: true, eager_free: true, ..ReadOptions::default() };
    let mut places: HashMap<String, Vec<Place>> = HashMap::new();
    each_file_with(reporter, files, &selector, options, |facts| {
        for image in &facts.images {
            let place = Place { file: facts.path.to_owned(), image: image.image.index };
            places.entry(digest_text(&image.blake3)).or_default().push(place);
        }
        Ok(())
    })?;
    for image in profile.programs.iter_mut().flat_map(|program| &mut program.images) {
        image.files = places.get(&image.blake3).cloned().unwrap_or_default();
    }
    Ok(())
}
