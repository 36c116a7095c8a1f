//! `extract`: which files do the images of a binary make?

use super::sources;
use super::write::Folder;
use super::{each_file, report_problems};
use crate::bundle::aspect::Epoch;
use crate::bundle::property_text;
use crate::compat::examine::Examined;
use crate::container::Arena;
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::native::Native;
use crate::report::FileFacts;
use crate::report::extracted::{Extracted, Written};
use crate::report::text::counted;
use crate::rewrite::extract::{self, Member, Names, Stems};
use crate::rewrite::renumber::{has_renumbered, renumber};
use crate::select::{Pattern, Selector};
use crate::temporary::hold;
use std::collections::BTreeSet;
use std::path::Path;

/// Members that an error names.
const NAMED: usize = 20;

/// The images of a file that are to be files of their own.
pub(crate) struct Extraction<'e> {
    /// The file to read.
    pub(crate) file: &'e Path,
    /// The folder to write to; `-` streams the payload of one image.
    pub(crate) output: &'e Path,
    /// The selected images.
    pub(crate) selector: &'e Selector,
    /// Whether compressed payloads stay as they are stored.
    pub(crate) stored: bool,
    /// Members that are wanted in place of whole images.
    pub(crate) members: &'e [Pattern],
}

/// The files written so far.
#[derive(Default)]
struct Set {
    folder: Option<Folder>,
    written: Vec<Written>,
    /// The payload that goes to standard output.
    streamed: Option<Vec<u8>>,
    stems: Stems,
    damaged: bool,
    /// Number of images whose aspects got the numbers by which tables are read.
    renumbered: usize,
    /// Members that were seen.
    known: BTreeSet<String>,
}

impl Extraction<'_> {
    /// Writes the images, and a table of them last; gives what a folder holds then.
    ///
    /// # Errors
    /// `Usage` where several payloads are to be one stream, `NoMatch` where no member is selected; what cannot be read or
    /// written.
    pub(crate) fn run(&self, reporter: &dyn Reporter) -> Result<(Option<Extracted>, Exit)> {
        let to_stdout = self.output == Path::new("-");
        let mut set = Set::default();
        let exit = each_file(reporter, &[self.file.to_owned()], self.selector, |facts| {
            report_problems(reporter, facts);
            if facts.images.is_empty() {
                return Ok(());
            }
            match to_stdout {
                true if self.members.is_empty() => self.stream_image(facts, &mut set),
                true => self.stream_member(facts, &mut set),
                false => self.add(reporter, facts, &mut set),
            }
        })?;
        if exit == Exit::Done && set.streamed.is_none() && set.written.is_empty() {
            self.check_members(&set)?;
        }
        if let Some(code) = &set.streamed {
            reporter.binary(code)?;
        }
        let exit = if set.damaged && exit == Exit::Done { Exit::Input } else { exit };
        Ok((self.finish(reporter, set)?, exit))
    }

    /// Adds the images of one file.
    fn add(&self, reporter: &dyn Reporter, facts: &FileFacts<'_>, set: &mut Set) -> Result<()> {
        let argument = self.file.display().to_string();
        let stem = if facts.path == argument {
            match self.file.file_stem().and_then(|stem| stem.to_str()) {
                Some("-") | None => "stdin".to_owned(),
                Some(stem) => stem.to_owned(),
            }
        } else {
            set.stems.unique(facts.path.strip_prefix(&argument).unwrap_or(facts.path))
        };
        let folder = match &mut set.folder {
            Some(folder) => folder,
            none => none.insert(Folder::begin(self.output)?),
        };
        let epoch = facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch);
        for image in &facts.images {
            let properties = properties(image, epoch);
            let added = properties.and_then(|(properties, changed)| {
                set.renumbered = set.renumbered.saturating_add(usize::from(changed));
                match self.members {
                    [] => self.image(folder, facts.path, &stem, (image, &properties)).map(|entry| vec![entry]),
                    wanted => members(folder, facts.path, &stem, (image, &properties), (wanted, &mut set.known)),
                }
            });
            match added {
                Ok(entries) => set.written.extend(entries),
                // A payload that failed to inflate has been reported with the file's other problems.
                Err(error) if error.kind() == ErrorKind::Input => {
                    set.damaged = true;
                    if image.problem.is_none() {
                        reporter.error(&error.context(format!("image {}", image.image.index)).context(facts.path));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the table, lets all appear, and tells what was there before.
    fn finish(&self, reporter: &dyn Reporter, set: Set) -> Result<Option<Extracted>> {
        let Some(mut folder) = set.folder else { return Ok(None) };
        let table = self.output.join(extract::TABLE);
        let _held = hold(self.output);
        let names = set.written.iter().flat_map(|entry| entry.names.all());
        let outdated = sources::parts_in_folder(names, &table, &[self.file])?;
        // The table last: where it is, so is everything it names.
        folder.add(extract::TABLE, extract::table(set.written.iter().map(|entry| &entry.names))?.as_bytes())?;
        if set.renumbered > 0 {
            let images = counted(set.renumbered, "image");
            let years = Epoch::From2026.years();
            reporter.note(&format!("a table is read by the numbers of aspects {years}, which {images} got for others"));
        }
        let replaced = folder.replaces(extract::TABLE);
        folder.finish(&outdated)?;
        let target = self.output.display().to_string();
        if replaced {
            let files = match outdated.len() {
                0 => String::new(),
                gone => format!(", and {} of it removed", counted(gone, "file")),
            };
            reporter.note(&format!("the `{}` that `{target}` held was replaced{files}", extract::TABLE));
        }
        Ok(Some(Extracted::new(self.file.display().to_string(), target, set.written)))
    }

    /// Makes all parts of an image before the first is written, so that one that fails leaves none.
    fn image(
        &self,
        folder: &mut Folder,
        path: &str,
        stem: &str,
        (image, properties): (&Examined<'_, '_>, &str),
    ) -> Result<Written> {
        let names = Names::for_image(stem, image, self.stored);
        let code = extract::code(image, self.stored)?;
        let symbols = extract::symbols(image)?;
        folder.add(&names.code, &code)?;
        if let Some(name) = &names.properties {
            folder.add(name, properties.as_bytes())?;
        }
        if let Some(name) = &names.symbols {
            folder.add(name, symbols.as_bytes())?;
        }
        Ok(Written { path: path.to_owned(), index: image.image.index, member: None, bytes: code.len() as u64, names })
    }

    /// Keeps the payload of the one image that is to be streamed.
    fn stream_image(&self, facts: &FileFacts<'_>, set: &mut Set) -> Result<()> {
        let before = usize::from(set.streamed.is_some());
        let ([image], None) = (facts.images.as_slice(), &set.streamed) else {
            let images = facts.images.len().saturating_add(before);
            let error = Error::new(ErrorKind::Usage, format!("{images} images do not fit one stream"));
            return Err(error.with_remedy("select one with `--image N`, or name a folder with `-o`"));
        };
        let code = extract::code(image, self.stored).context(|| format!("image {}", image.image.index))?;
        set.streamed = Some(code.into_owned());
        Ok(())
    }

    /// Keeps the one member that is to be streamed.
    fn stream_member(&self, facts: &FileFacts<'_>, set: &mut Set) -> Result<()> {
        for image in &facts.images {
            let contents = image.image.contents().context(|| format!("image {}", image.image.index))?;
            let arena = Native::arena(&contents);
            for member in wanted_members(extract::members(&contents, image, &arena), self.members, &mut set.known) {
                if set.streamed.replace(member.code.to_vec()).is_some() {
                    let error = Error::new(ErrorKind::Usage, "several members do not fit one stream");
                    return Err(error.with_remedy("select one with `--image N` too, or name a folder with `-o`"));
                }
            }
        }
        Ok(())
    }

    /// Tells which members there are, where such are wanted and none was found.
    fn check_members(&self, set: &Set) -> Result<()> {
        if self.members.is_empty() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::NoMatch, "no member of an image matches `--member`");
        let known: Vec<&str> = set.known.iter().take(NAMED).map(String::as_str).collect();
        Err(error.with_remedy(match known.as_slice() {
            [] => "there is no native code".to_owned(),
            known => format!("there are {}", known.join(", ")),
        }))
    }
}

/// The property sets of an image as a table has them, which is read as of today, and whether numbers of aspects changed.
fn properties(image: &Examined<'_, '_>, epoch: Epoch) -> Result<(String, bool)> {
    if epoch == Epoch::From2026 || !has_renumbered(image.image) {
        return Ok((extract::properties(image)?, false));
    }
    let arena = Arena::default();
    let mut own = image.image.clone();
    // An image that cannot be written does not keep the others from it.
    let changed = renumber(&arena, &mut own, epoch, Epoch::From2026)
        .map_err(|error| Error::input(error.message()).with_remedy("leave it out with --image"))?;
    Ok((property_text::write(&own.properties)?, changed))
}

/// Writes those members of an image that are wanted, with the image's properties and entries; adds the names of all to
/// those that are known.
fn members(
    folder: &mut Folder,
    path: &str,
    stem: &str,
    (image, properties): (&Examined<'_, '_>, &str),
    (wanted, known): (&[Pattern], &mut BTreeSet<String>),
) -> Result<Vec<Written>> {
    let contents = image.image.contents()?;
    let arena = Native::arena(&contents);
    let mut written = Vec::new();
    for member in wanted_members(extract::members(&contents, image, &arena), wanted, known) {
        let names = Names::for_member(stem, image, &member);
        folder.add(&names.code, member.code)?;
        let bytes = member.code.len() as u64;
        written.push(Written {
            path: path.to_owned(),
            index: image.image.index,
            member: Some(member.label),
            bytes,
            names,
        });
    }
    if let Some(Written { names, .. }) = written.first() {
        if let Some(name) = &names.properties {
            folder.add(name, properties.as_bytes())?;
        }
        if let Some(name) = &names.symbols {
            folder.add(name, extract::symbols(image)?.as_bytes())?;
        }
    }
    Ok(written)
}

/// Chooses among the members of an image.
fn wanted_members<'a>(
    mut members: Vec<Member<'a>>,
    wanted: &[Pattern],
    known: &mut BTreeSet<String>,
) -> Vec<Member<'a>> {
    known.extend(members.iter().map(|member| member.label.clone()));
    members.retain(|member| wanted.iter().any(|pattern| member.names.iter().any(|name| pattern.matches(name))));
    members
}
