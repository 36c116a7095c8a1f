//! How do the images of several inputs come together in one output?
//!
//! Inputs are read one by one and closed again, packages are not even on the disk; so what is selected is copied.

use super::emit::{self, Emit, OutputForm};
use super::input::{Spooled, has_stdin};
use super::table::Beside;
use super::{ReadOptions, each_file_with, report_problems};
use crate::bundle::aspect::Epoch;
use crate::bundle::image::{Image, State};
use crate::compat::built_in::bfloat16_form;
use crate::compat::examine::Examined;
use crate::compat::other_models::OtherModels;
use crate::container::Arena;
use crate::container::Kind;
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::report::FileFacts;
use crate::report::text::{bytes, counted};
use crate::rewrite::extract::TABLE;
use crate::rewrite::renumber::has_renumbered;
use crate::rewrite::{join, prepare};
use crate::select::Selector;
use crate::spirv::Module;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The origin of images, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    /// The compilers that made them, and what this tool did to them: lines for `.comment`.
    pub(crate) comments: Vec<String>,
    /// The major version of the runtime's ABI that they are for, where something tells.
    pub(crate) abi: Option<u32>,
    /// The numbering of aspects in them; none where it is today's.
    pub(crate) numbering: Option<Epoch>,
    /// Whether that numbering was asked for, so that it stays in every form.
    pub(crate) asked: bool,
    /// File of this process that parts are in.
    pub(crate) spooled: Option<Spooled>,
    /// Facts that were stated of the images beside their code.
    pub(crate) stated: Stated,
    /// Whether an object that images are from has functions, too.
    pub(crate) has_functions: bool,
}

/// Numbers of images of which something is stated that their code does not say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stated {
    /// Images that have property sets.
    pub(crate) sets: usize,
    /// Images whose entries are others than the kernels of their code.
    pub(crate) entries: usize,
    /// Images that are in another state than their code alone would be.
    pub(crate) states: usize,
}

impl Stated {
    fn count(&mut self, examined: &Examined<'_, '_>) {
        let image = examined.image;
        let count = |count: &mut usize, is_stated: bool| *count = count.saturating_add(usize::from(is_stated));
        count(&mut self.sets, !image.properties.sets.is_empty());
        let entries: HashSet<&str> = image.entries.iter().copied().collect();
        // Functions that the code exports may be listed, too.
        let lacks = |module: &Module| module.kernels().any(|kernel| !entries.contains(kernel));
        let differ = !entries.is_empty() && examined.module.as_ref().is_some_and(lacks);
        count(&mut self.entries, differ);
        count(&mut self.states, image.stated.is_some_and(|state| state != State::Input));
    }
}

impl Origin {
    /// Gives back now and then the memory of images that have been looked at, `number` being that of the last one.
    pub(crate) fn pass(&self, number: usize) {
        if number % 64 == 63 {
            self.spooled.iter().for_each(Spooled::give_back);
        }
    }
}

/// The selected images of all inputs, numbered through.
pub(crate) struct Gathered<'k> {
    /// The images, in the order of the inputs; behind those that are selected the others, where they are asked for.
    pub(crate) images: Vec<Image<'k>>,
    /// The number of selected images.
    pub(crate) selected: usize,
    /// Names by which the user knows each image: its file, and its number there where the file has several.
    pub(crate) labels: Vec<String>,
    /// The inputs that have images, and how many of them are here.
    pub(crate) files: Vec<(String, usize)>,
    /// The origin of the images.
    pub(crate) origin: Origin,
    /// The exit code that reading calls for.
    pub(crate) exit: Exit,
    /// The numbering of aspects: of images that have some whose numbers changed, else that of the runtime they are for.
    pub(crate) epoch: Epoch,
}

impl Gathered<'_> {
    /// Leaves out the images without a mark in `stay`.
    fn keep_marked(&mut self, stay: &[bool]) {
        let (images, labels) = (std::mem::take(&mut self.images), std::mem::take(&mut self.labels));
        let left = images.into_iter().zip(labels).zip(stay).filter(|(_, stay)| **stay);
        (self.images, self.labels) = left.map(|(image, _)| image).unzip();
        self.selected = stay.iter().take(self.selected).filter(|stay| **stay).count();
    }

    /// Leaves out the images that are not selected and do not satisfy a condition.
    pub(crate) fn retain_others(&mut self, condition: impl Fn(&Image<'_>) -> bool) {
        let images = self.images.iter().enumerate();
        let stay: Vec<bool> = images.map(|(place, image)| place < self.selected || condition(image)).collect();
        self.keep_marked(&stay);
    }

    /// Leaves out copies of images, as `sycl::link` does, and says so.
    ///
    /// # Errors
    /// `Input` where a payload is damaged.
    pub(crate) fn leave_out_copies(&mut self, reporter: &dyn Reporter) -> Result<()> {
        let stay: Vec<bool> = join::copies(&self.images)?.into_iter().map(|copy| !copy).collect();
        let count = self.leave_out(&stay);
        let what = if count == 1 { "1 copy" } else { &format!("{count} copies") };
        if count > 0 {
            reporter.note(&format!("{what} of images left out"));
        }
        Ok(())
    }

    /// Leaves out the images of the device library for devices with conversions of bfloat16 of their own, where there is one for all,
    /// and says so: both define the same functions.
    pub(crate) fn leave_out_native_conversions(&mut self, reporter: &dyn Reporter) {
        let for_all: HashSet<&str> =
            self.images.iter().filter(|image| bfloat16_form(image) == Some(0)).map(|image| image.target).collect();
        let stays = |image: &Image<'_>| bfloat16_form(image) != Some(1) || !for_all.contains(image.target);
        let stay: Vec<bool> = self.images.iter().map(stays).collect();
        match self.leave_out(&stay) {
            0 => {}
            count => reporter.note(&format!(
                "{} of the device library left out: its conversions of bfloat16 are for some devices",
                counted(count, "image")
            )),
        }
    }

    /// Leaves out the images without a mark in `stay`, numbers the others through, and returns how many selected ones are gone.
    fn leave_out(&mut self, stay: &[bool]) -> usize {
        let selected = self.selected;
        self.keep_marked(stay);
        for (number, image) in self.images.iter_mut().enumerate() {
            image.index = number;
        }
        selected.saturating_sub(self.selected)
    }
}

/// Reads inputs and copies what is selected into `arena`, for the runtime to choose from: with what bare modules export and
/// import.
///
/// # Errors
/// Errors of selecting and keeping; `Usage` where the images number aspects in different ways.
pub(crate) fn gather<'k>(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    selector: &Selector,
    beside: Option<&Beside>,
    arena: &'k Arena,
) -> Result<Gathered<'k>> {
    gather_as(reporter, files, (selector, beside), (arena, true), (ReadOptions::default(), &mut OtherModels::default()))
}

/// Gathers images like [`gather`], for verbs that go by the code itself; with those that are not selected where
/// `unselected`.
///
/// # Errors
/// Errors of [`gather`].
pub(crate) fn gather_code<'k>(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    (selector, unselected): (&Selector, bool),
    arena: &'k Arena,
) -> Result<Gathered<'k>> {
    let options = ReadOptions { unselected, ..ReadOptions::default() };
    gather_as(reporter, files, (selector, None), (arena, false), (options, &mut OtherModels::default()))
}

/// Gathers images like [`gather`], without those of other programming models, unless there is nothing else.
///
/// # Errors
/// Errors of [`gather`].
pub(crate) fn gather_for<'k>(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    selector: &Selector,
    others: &mut OtherModels,
    arena: &'k Arena,
) -> Result<Gathered<'k>> {
    let gathered = gather_as(reporter, files, (selector, None), (arena, true), (ReadOptions::default(), others))?;
    if !gathered.images.is_empty() || !others.any() || has_stdin(files) {
        return Ok(gathered);
    }
    // Faults of the files have been told.
    let options = ReadOptions { silent: true, ..ReadOptions::default() };
    let all = gather_as(reporter, files, (selector, None), (arena, true), (options, &mut OtherModels::default()))?;
    *others = OtherModels::default();
    Ok(Gathered { exit: gathered.exit, ..all })
}

fn gather_as<'k>(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    (selector, beside): (&Selector, Option<&Beside>),
    (arena, listed): (&'k Arena, bool),
    (options, others): (ReadOptions<'_>, &mut OtherModels),
) -> Result<Gathered<'k>> {
    let mut gathering = Gathering {
        arena,
        listed,
        selector,
        with_unselected: options.unselected,
        images: Vec::new(),
        labels: Vec::new(),
        unselected: Vec::new(),
        files: Vec::new(),
        comments: Vec::new(),
        numbering: None,
        abi: None,
        stated: Stated::default(),
        has_functions: false,
        next: 0,
    };
    let exit = each_file_with(
        reporter,
        files,
        selector,
        ReadOptions { sidecars: beside, eager_free: true, ..options },
        |facts| {
            // Without what the user named for it a module would be another image. What is wrong with the module itself is
            // told as it is without.
            if let Some(beside) = beside.filter(|beside| beside.is_named())
                && let Some(problem) = facts.bundle.and_then(|bundle| bundle.problems.first())
            {
                return Err(problem.error.clone().context(beside.names()));
            }
            if !options.silent {
                report_problems(reporter, facts);
            }
            others.count(facts.bundle.map(|bundle| bundle.kind), &mut facts.images);
            gathering.add(facts)
        },
    )?;
    let Gathering {
        mut images, mut labels, unselected, files, comments, numbering, abi, stated, has_functions, ..
    } = gathering;
    let by_abi = || abi.map_or(Epoch::From2026, Epoch::of_abi);
    let epoch = numbering.as_ref().map_or_else(by_abi, |(epoch, _)| *epoch);
    let selected = images.len();
    for (image, label, own) in unselected {
        // One that numbers aspects in another way could not be in one output with those that are selected.
        if numbering.is_none() || own == epoch || !has_renumbered(&image) {
            images.push(image);
            labels.push(label);
        }
    }
    // Aspects beyond the common ones tell for which runtimes images are, whatever their files were linked to.
    let abi = numbering.map(|(epoch, _)| epoch.abi()).or(abi);
    let origin = Origin { comments, abi, stated, has_functions, numbering: Some(epoch), ..Origin::default() };
    Ok(Gathered { images, selected, labels, files, origin, exit, epoch })
}

struct Gathering<'g, 'k> {
    arena: &'k Arena,
    /// Whether what bare modules export and import is listed.
    listed: bool,
    selector: &'g Selector,
    /// Whether files give their images that are not selected, too.
    with_unselected: bool,
    images: Vec<Image<'k>>,
    labels: Vec<String>,
    /// Images that are not selected, with their labels and how their files number aspects.
    unselected: Vec<(Image<'k>, String, Epoch)>,
    files: Vec<(String, usize)>,
    comments: Vec<String>,
    /// The numbering of the aspects whose numbers changed, and the file it was first met in.
    numbering: Option<(Epoch, String)>,
    abi: Option<u32>,
    stated: Stated,
    has_functions: bool,
    /// The number of the next file's first image.
    next: usize,
}

impl Gathering<'_, '_> {
    /// Adds the selected images of a file; what does not inflate is left out, and said among the file's problems.
    fn add(&mut self, facts: &FileFacts<'_>) -> Result<()> {
        let Some(bundle) = facts.bundle else { return Ok(()) };
        // Tables and modules say nothing of targets.
        let untold = matches!(bundle.kind, Kind::Table | Kind::SpirV | Kind::LlvmBitcode);
        let before = self.images.len();
        let mut any = false;
        for examined in &facts.images {
            let selected = !self.with_unselected || self.selector.selects(examined);
            any |= selected;
            if examined.image.compression().is_some() && examined.image.contents().is_err() {
                continue;
            }
            let own = if self.listed { prepare::copy_with_symbols } else { prepare::copy };
            let mut image = own(self.arena, examined, untold).context(|| format!("image {}", examined.image.index))?;
            image.index = image.index.saturating_add(self.next);
            let label = match bundle.images.len() {
                1 => facts.path.to_owned(),
                _ => format!("{} image {}", facts.path, examined.image.index),
            };
            if !selected {
                self.unselected.push((image, label, bundle.epoch));
                continue;
            }
            self.number(&image, bundle.epoch, facts.path)?;
            self.stated.count(examined);
            self.images.push(image);
            self.labels.push(label);
        }
        self.files.push((facts.path.to_owned(), self.images.len().saturating_sub(before)));
        self.next =
            bundle.images.last().map_or(self.next, |image| self.next.saturating_add(image.index).saturating_add(1));
        let Some(host) = facts.host.filter(|_| any) else { return Ok(()) };
        self.has_functions |= host.defines_functions;
        if let Some(producer) = host.producer.as_ref().filter(|producer| !self.comments.contains(&producer.name)) {
            self.comments.push(producer.name.clone());
        }
        let by_structure = || {
            let version = bundle.images.iter().find_map(|image| image.origin)?.version;
            Some(if version < 3 { 8 } else { 9 })
        };
        self.abi = self.abi.max(host.sycl_abi.or_else(by_structure));
        Ok(())
    }

    /// Notes how an image numbers aspects; images that do it in different ways cannot be in one output.
    fn number(&mut self, image: &Image<'_>, epoch: Epoch, path: &str) -> Result<()> {
        if !has_renumbered(image) {
            return Ok(());
        }
        match &self.numbering {
            Some((known, first)) if *known != epoch => {
                let message = format!("{path} and {first} are of compilers that number aspects differently");
                Err(Error::new(ErrorKind::Usage, message).with_remedy("make an output of each"))
            }
            Some(_) => Ok(()),
            None => {
                self.numbering = Some((epoch, path.to_owned()));
                Ok(())
            }
        }
    }
}

/// Inputs whose images are written in another form: what `wrap` does.
pub(crate) struct Wrapping<'w> {
    /// The inputs.
    pub(crate) files: &'w [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'w Selector,
    /// The files that belong to a bare module.
    pub(crate) beside: Option<&'w Beside>,
    /// The target that all images are said to be for.
    pub(crate) target: Option<&'w str>,
    /// The form of the output.
    pub(crate) form: &'w OutputForm,
    /// The file to write, or a folder for a table.
    pub(crate) output: &'w Path,
}

impl Wrapping<'_> {
    /// Reads the inputs, writes the selected images and says so.
    ///
    /// # Errors
    /// `Usage` where the output would replace an input; what cannot be read or written.
    pub(crate) fn run(&self, reporter: &dyn Reporter) -> Result<Exit> {
        let form = self.form;
        let in_folder = (form.emit == Emit::Table && self.output.is_dir()).then(|| self.output.join(TABLE));
        let output = in_folder.as_deref().unwrap_or(self.output);
        emit::check_output(form, self.files, output)?;
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather(reporter, self.files, self.selector, self.beside, &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        if let Some(target) = self.target {
            gathered.images.iter_mut().try_for_each(|image| prepare::retarget(&arena, image, target))?;
        }
        // The runtime reads these, and refuses by them.
        if matches!(form.emit, Emit::Object | Emit::Shared | Emit::Syclbin) {
            gathered
                .images
                .iter_mut()
                .try_for_each(|image| prepare::record_requirements(&arena, image, gathered.epoch))?;
        }
        let twice = twice(&gathered.images);
        if twice > 0 {
            let images = counted(twice, "image");
            reporter
                .note(&format!("{images} of the same code, target and entries as another: each is written as it came"));
        }
        let images = counted(gathered.images.len(), "image");
        let inputs: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(reporter, form, gathered.images, &gathered.origin, output, &inputs)?;
        reporter.note(&format!("{images}, {}, written to {} ({})", bytes(total), output.display(), form.emit.name()));
        Ok(gathered.exit)
    }
}

/// The number of images that say nothing that another one before them does not say.
fn twice(images: &[Image<'_>]) -> usize {
    let mut seen = HashSet::new();
    let said = images.iter().map(|image| (image.target, image.compile_target(), &image.entries, image.stored));
    said.filter(|said| !seen.insert(*said)).count()
}
