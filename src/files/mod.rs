//! How do files reach the library, and how do outputs appear whole on the disk?
//!
//! Here: the facts of each file on the command line, and the images of other files that its own may be linked to.
//!
//! Files are independent: each is opened, read, examined, handed on and closed before the next, so that memory follows
//! the largest file and not their sum. That holds for the files inside packages, folders and processes too.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod compiled;
pub(crate) mod emit;
mod expand;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod filter;
pub(crate) mod gather;
pub(crate) mod input;
pub(crate) mod join;
pub(crate) mod link;
pub(crate) mod linked;
pub(crate) mod package;
pub(crate) mod page;
mod parts;
mod place;
pub(crate) mod record;
pub(crate) mod sources;
pub(crate) mod split;
pub(crate) mod table;
pub(crate) mod write;

pub(crate) use self::expand::mapped_code;
use self::expand::{ArgumentKind, Leaf, expand};
use self::input::has_stdin;
use self::table::{Beside, Files as Parts};
use crate::bundle::Bundle;
use crate::compat::examine::{Examined, Extent, examine_image, examine_some};
use crate::compat::offers::Offers;
use crate::compat::other_models::OtherModels;
use crate::container::{Allowance, Arena, Host, Kind};
use crate::error::{Error, ErrorKind, Exit, Problem, Reporter, Result};
use crate::report::{FileFacts, text};
use crate::rewrite::prepare;
use crate::select::Selector;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The results of several files, which are independent of each other.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    with_code: usize,
    without_code: usize,
    damaged: bool,
}

impl Tally {
    /// A file with device code.
    pub(crate) fn found(&mut self) {
        self.with_code = self.with_code.saturating_add(1);
    }

    /// A file that failed altogether.
    pub(crate) fn failed(&mut self, error: &Error) {
        match error.kind() {
            ErrorKind::NoDeviceCode => self.without_code = self.without_code.saturating_add(1),
            _ => self.damaged = true,
        }
    }

    /// Something in a file could not be read.
    pub(crate) fn damaged(&mut self) {
        self.damaged = true;
    }

    /// Damage outweighs all; no device code counts only where no file has any.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Tally { damaged: true, .. } => Exit::Input,
            Tally { with_code: 0, without_code: 1.., .. } => Exit::NoDeviceCode,
            _ => Exit::Done,
        }
    }
}

/// Hands the facts of each file on, with problems of whole files among them, and gives the exit code for all.
///
/// Of the files in packages, folders and processes those are handed on that hold device code or are damaged, with `-v`
/// all; where there are none, the package itself.
///
/// # Errors
/// Errors of `each`.
pub(crate) fn each_file(
    reporter: &dyn Reporter,
    paths: &[PathBuf],
    selector: &Selector,
    each: impl FnMut(&mut FileFacts<'_>) -> Result<()>,
) -> Result<Exit> {
    each_file_with(reporter, paths, selector, ReadOptions::default(), each)
}

/// Options of reading files.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReadOptions<'h> {
    /// Images are left to the caller to examine, where none is selected from others; what is wrong with them it adds to
    /// the facts.
    pub(crate) lazy: bool,
    /// The hashes of images are not asked for.
    pub(crate) skip_hash: bool,
    /// Facts of modules and native code are not asked for, but whether these can be read.
    pub(crate) skip_code: bool,
    /// Hashes only tell files apart, of which one that is named alone has no other beside it.
    pub(crate) hash_apart: bool,
    /// Property sets and symbols of a bare module, where the user names them; else the files beside it.
    pub(crate) sidecars: Option<&'h Beside>,
    /// Images that are not selected are handed on, too, with those that are.
    pub(crate) unselected: bool,
    /// Nothing is said of what fails: the same files have been read before.
    pub(crate) silent: bool,
    /// A file without device code is an answer: it is noted, and no error.
    pub(crate) empty_counts: bool,
    /// Memory counts once everything is read: what was found is freed then, also where the process could end next.
    pub(crate) eager_free: bool,
}

/// Reads files like [`each_file`], with options.
///
/// # Errors
/// Errors of `each`.
pub(crate) fn each_file_with(
    reporter: &dyn Reporter,
    paths: &[PathBuf],
    selector: &Selector,
    options: ReadOptions<'_>,
    each: impl FnMut(&mut FileFacts<'_>) -> Result<()>,
) -> Result<Exit> {
    let mut files = Files {
        reporter,
        selector,
        lazy: options.lazy && selector.is_all(),
        skip_hash: options.skip_hash && !selector.needs_digests(),
        skip_code: options.skip_code && selector.is_all(),
        hash_apart: options.hash_apart && paths.len() == 1 && !selector.needs_digests(),
        sidecars: options.sidecars,
        unselected: options.unselected && !selector.is_all(),
        silent: options.silent,
        empty_counts: options.empty_counts,
        eager_free: options.eager_free,
        allowance: Arc::default(),
        each,
        tally: Tally::default(),
        empty: Vec::new(),
        unmatched: None,
        matched: false,
        last: false,
    };
    for (at, path) in paths.iter().enumerate() {
        files.last = at.saturating_add(1) == paths.len();
        let mut useful = false;
        let allowance = Arc::clone(&files.allowance);
        let form = expand(path, &allowance, &mut |form, leaf| {
            let is_useful = files.leaf(form, leaf)?;
            useful |= is_useful;
            Ok(is_useful || reporter.wants_all())
        })?;
        if form == ArgumentKind::Package && !useful {
            files.hollow(path.display().to_string())?;
        }
    }
    Ok(files.end())
}

struct Files<'f, F> {
    reporter: &'f dyn Reporter,
    selector: &'f Selector,
    lazy: bool,
    skip_hash: bool,
    skip_code: bool,
    hash_apart: bool,
    sidecars: Option<&'f Beside>,
    unselected: bool,
    silent: bool,
    empty_counts: bool,
    eager_free: bool,
    /// Bytes that all files together may inflate to.
    allowance: Arc<Allowance>,
    each: F,
    tally: Tally,
    /// Arguments without device code, with what was said of that.
    empty: Vec<(String, Error)>,
    /// The error to report where nothing matches.
    unmatched: Option<Error>,
    matched: bool,
    /// Whether no argument follows.
    last: bool,
}

impl<F: FnMut(&mut FileFacts<'_>) -> Result<()>> Files<'_, F> {
    /// Refuses files named for a module where the input is not one bare module.
    fn of_a_module(form: ArgumentKind, host: &Result<Host<'_>>, path: &str) -> Result<()> {
        let what = match (form, host) {
            (ArgumentKind::Package, _) => "of one module, and this is among others",
            (ArgumentKind::Plain, Ok(host)) if !is_module(host) => "of a bare module, which this is not",
            (ArgumentKind::Plain, _) => return Ok(()),
        };
        let error = Error::new(ErrorKind::Usage, format!("--properties and --symbols are {what}"));
        let error =
            error.with_remedy("leave them away; `extract` makes modules of images, with such files beside them");
        Err(error.context(path))
    }

    /// A file; whether it holds device code, or may as it is damaged.
    fn leaf(&mut self, form: ArgumentKind, leaf: Leaf<'_>) -> Result<bool> {
        let mut facts = FileFacts { path: leaf.path, ..FileFacts::default() };
        let bytes = match leaf.bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                self.failed(&mut facts, error);
                (self.each)(&mut facts)?;
                return Ok(true);
            }
        };
        facts.absolute = leaf.absolute.map(|(path, _)| path);
        facts.base = leaf.absolute.map_or(0, |(_, base)| base);
        facts.bytes = bytes.len() as u64;
        let host = Host::read_within(bytes, &self.allowance);
        // The parts of a table lie beside it, which they do only where it is a file itself.
        let table = host.as_ref().ok().filter(|host| host.kind == Kind::Table && form == ArgumentKind::Plain);
        let parts = table.map(|host| Parts::open(Path::new(leaf.path), host.bytes)).transpose();
        let module = host.as_ref().ok().filter(|host| is_module(host));
        // The files of a module lie beside it, too, in a folder as well, but not in a package or a stream.
        let named = self.sidecars.is_some_and(Beside::is_named);
        let is_file = named || facts.absolute.is_some() && facts.base == 0;
        let parts = match parts {
            Ok(None) if is_file && module.is_some() => match self.sidecars {
                Some(beside) => beside.open(Path::new(leaf.path)),
                None => Beside::default().open(Path::new(leaf.path)),
            },
            parts => parts,
        };
        if named {
            Self::of_a_module(form, &host, leaf.path)?;
        }
        if let (Ok(Some(parts)), None) = (&parts, module) {
            facts.bytes = facts.bytes.saturating_add(parts.bytes());
            self.allowance.grant(usize::try_from(parts.bytes()).unwrap_or(usize::MAX));
        }
        let bundle = host.as_ref().map_err(Clone::clone).and_then(|host| match &parts {
            Ok(Some(parts)) => parts.bundle(host),
            Ok(None) => Bundle::read(host),
            Err(error) => Err(error.clone()),
        });
        facts.host = host.as_ref().ok();
        match &bundle {
            Ok(bundle) => {
                self.tally.found();
                if !self.silent {
                    self.reporter.detail(&format!(
                        "{}: {} in {}, {} bytes",
                        leaf.path,
                        text::counted(bundle.images.len(), "image"),
                        text::counted(bundle.descriptors.len(), "descriptor"),
                        facts.bytes
                    ));
                }
                facts.bundle = Some(bundle);
                facts.problems.clone_from(&bundle.problems);
                if self.lazy {
                    self.matched = true;
                    facts.deferred = true;
                } else {
                    self.examine(form, bundle, &mut facts);
                }
            }
            Err(error) if error.kind() == ErrorKind::NoDeviceCode => {
                if form == ArgumentKind::Package {
                    if self.reporter.wants_all() {
                        (self.each)(&mut facts)?;
                    }
                    return Ok(false);
                }
                self.tally.failed(error);
                self.empty.push((leaf.path.to_owned(), error.clone()));
            }
            Err(error) => self.failed(&mut facts, error.clone()),
        }
        (self.each)(&mut facts)?;
        if facts.bundle.is_some() && !facts.problems.is_empty() {
            self.tally.damaged();
        }
        // The process ends next, and gives back at once what would be freed here piece by piece.
        if self.last && form == ArgumentKind::Plain && !self.silent && !self.eager_free {
            std::mem::forget(facts);
            bundle.map(std::mem::forget).unwrap_or_default();
        }
        Ok(true)
    }

    /// Examines the images of a file, and keeps those that are selected.
    fn examine<'a>(&mut self, form: ArgumentKind, bundle: &'a Bundle<'a>, facts: &mut FileFacts<'a>) {
        let hash = !(self.skip_hash || self.hash_apart && form == ArgumentKind::Plain);
        let extent = Extent { hashes: hash, code: !self.skip_code };
        let images = examine_some(bundle, &bundle.images, extent);
        facts.problems.extend(images.iter().flat_map(Examined::problems));
        if self.unselected {
            if images.iter().any(|image| self.selector.selects(image)) {
                self.matched = true;
            } else {
                self.unmatched = Some(self.selector.no_match(&images).context(facts.path));
            }
            facts.images = images;
            return;
        }
        match self.selector.keep(images) {
            Ok(images) => {
                self.matched = true;
                facts.images = images;
            }
            Err(error) => self.unmatched = Some(error.context(facts.path)),
        }
    }

    fn failed(&mut self, facts: &mut FileFacts<'_>, error: Error) {
        self.tally.failed(&error);
        if !self.silent {
            self.reporter.error(&error.clone().context(facts.path));
        }
        facts.problems.push(Problem::general(error));
    }

    /// A package, folder or process without device code.
    fn hollow(&mut self, name: String) -> Result<()> {
        let error = Error::new(ErrorKind::NoDeviceCode, "no device code");
        self.tally.failed(&error);
        let mut facts = FileFacts { path: &name, ..FileFacts::default() };
        (self.each)(&mut facts)?;
        self.empty.push((name, error));
        Ok(())
    }

    fn end(self) -> Exit {
        if self.silent {
            return self.tally.exit();
        }
        if let Some(error) = self.unmatched.filter(|_| !self.matched) {
            return self.reporter.error(&error);
        }
        let exit = self.tally.exit();
        for (name, error) in self.empty {
            if exit == Exit::NoDeviceCode && !self.empty_counts {
                let remedy =
                    "a program's kernels may stand in libraries that it loads: name these, or `pid:N` while it runs";
                self.reporter.error(&error.context(name).with_remedy(remedy));
            } else {
                self.reporter.note(&format!("{name}: no device code"));
            }
        }
        exit
    }
}

/// Prints the problems of a file that could be read; those of other files have been printed.
pub(crate) fn report_problems(reporter: &dyn Reporter, facts: &FileFacts<'_>) {
    for problem in facts.problems.iter().filter(|_| facts.bundle.is_some()) {
        let error = match problem.image {
            Some(image) => problem.error.clone().context(format!("image {image}")),
            None => problem.error.clone(),
        };
        reporter.error(&error.context(facts.path));
    }
}

/// Whether a file is a bare module.
fn is_module(host: &Host<'_>) -> bool {
    matches!(host.kind, Kind::SpirV | Kind::LlvmBitcode)
}

/// Reads the files again, and copies what others may be linked to into `arena`. What is wrong with them has been said.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn collect_offers<'k>(reporter: &dyn Reporter, files: &[PathBuf], arena: &'k Arena) -> Result<Offers<'k>> {
    let mut offers = Offers::default();
    let options = ReadOptions { lazy: true, silent: true, ..ReadOptions::default() };
    each_file_with(reporter, files, &Selector::default(), options, |facts| {
        let Some(bundle) = facts.bundle else { return Ok(()) };
        let file: Arc<str> = facts.path.into();
        offers.count(facts.bytes);
        // Where nothing is listed, the module itself tells.
        let bare = matches!(bundle.kind, Kind::SpirV);
        let linked = |image: &&_| bare || offers_something(image);
        for image in bundle.images.iter().filter(linked) {
            let examined = examine_image(image, bundle.epoch);
            if Offers::wants(&examined) && examined.problem.is_none() {
                let copy = prepare::copy_with_symbols(arena, &examined, false)?;
                offers.add(file.clone(), copy, &examined, bundle.epoch);
            }
        }
        Ok(())
    })?;
    Ok(offers)
}

/// Whether an image says that it offers anything, or says nothing at all.
fn offers_something(image: &crate::bundle::image::Image<'_>) -> bool {
    use crate::bundle::property_sets::set;
    let properties = &image.properties;
    let offers = [set::EXPORTED, set::VIRTUAL_FUNCTIONS].iter().any(|set| !properties.set(set).is_empty());
    offers || image.origin.is_none() && image.entries.is_empty()
}

/// Hands the images of each file on once more, with those of the other files that they may be linked to. Standard input
/// cannot be read again, so that nothing is handed on where it is among the files.
///
/// # Errors
/// Errors of reading, and of `each`.
pub(crate) fn each_linked(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    models: &OtherModels,
    mut each: impl FnMut(&str, &[Examined<'_, '_>]) -> Result<()>,
) -> Result<bool> {
    if has_stdin(files) {
        return Ok(false);
    }
    let arena = Arena::with_limit(u64::MAX);
    let mut offers = collect_offers(reporter, files, &arena)?;
    let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
    each_file_with(reporter, files, &Selector::default(), options, |facts| {
        let last = facts.bundle.and_then(|bundle| bundle.images.last()).map_or(0, |image| image.index);
        let lent = offers.lend(&facts.path.into(), &mut facts.images, last.saturating_add(1));
        let mut images = std::mem::take(&mut facts.images);
        models.leave_out(facts.bundle.map(|bundle| bundle.kind), &mut images);
        images.extend(lent.examined());
        each(facts.path, &images)
    })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_outweighs_absence_and_absence_counts_alone() {
        let none = Error::new(ErrorKind::NoDeviceCode, "no device code");
        let mut tally = Tally::default();
        tally.failed(&none);
        assert_eq!(tally.exit(), Exit::NoDeviceCode);
        tally.found();
        assert_eq!(tally.exit(), Exit::Done);
        tally.failed(&Error::input("cut"));
        assert_eq!(tally.exit(), Exit::Input);
    }
}
