//! `split`: which images do the kernels of a module make?

use super::emit::{self, Emit, OutputForm};
use super::gather::gather_code;
use super::input::{Input, Spooled};
use super::linked::{Linked, Target};
use super::write::{cannot_write, folder_of, mode_of, write_atomically};
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::container::Arena;
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::report::edited::Edited;
use crate::report::text::{bytes, counted};
use crate::rewrite::image_data::{OutImage, out_image};
use crate::rewrite::split::check::Warning;
use crate::rewrite::split::units::{self, Fixed, Inputs};
use crate::rewrite::split::{Mode, Options, room_for, split, split_indexed};
use crate::select::{KernelName, Pattern, Selector};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Images that are to be split.
pub(crate) struct Splitting<'s> {
    /// The inputs.
    pub(crate) files: &'s [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'s Selector,
    /// The form of the output.
    pub(crate) form: &'s OutputForm,
    /// The file to write.
    pub(crate) output: &'s Path,
    /// The folder for large modules while they are made, where the output has no disk of its own.
    pub(crate) scratch: &'s Path,
    /// The grouping that is asked for.
    pub(crate) mode: Mode,
    /// Groups of kernels that stay together, each by its globs.
    pub(crate) groups: &'s [Vec<Pattern>],
    /// The targets that kernels are fixed to.
    pub(crate) fixed: &'s Fixed,
    /// The numbering of aspects, where one is asked for; else that of the inputs.
    pub(crate) epoch: Option<Epoch>,
    /// Receives a warning of the compiler.
    pub(crate) warn: &'s dyn Fn(&Warning),
}

impl Splitting<'_> {
    /// Splits the images and writes the parts. Gives how a linked file was changed.
    ///
    /// # Errors
    /// `NoMatch` where a group has no kernel; what cannot be read, split or written.
    pub(crate) fn run(&self, reporter: &dyn Reporter) -> Result<(Option<Edited>, Exit)> {
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(reporter, self.files, (self.selector, false), &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok((None, gathered.exit));
        }
        let theirs = gathered.epoch;
        let epoch = self.epoch.unwrap_or(theirs);
        let (mode, emit, groups) = (self.mode, self.form.emit, self.groups);
        gathered.origin.abi = Some(epoch.abi());
        (gathered.origin.numbering, gathered.origin.asked) = (Some(epoch), self.epoch.is_some());
        let met: Vec<Cell<bool>> = groups.iter().flatten().map(|_| Cell::new(false)).collect();
        let explicit = |name: &str| {
            let kernel = KernelName::new(name);
            let matches = |glob: &Pattern| glob.matches_kernel(&kernel);
            for (glob, met) in groups.iter().flatten().zip(&met) {
                met.set(met.get() || matches(glob));
            }
            groups.iter().position(|group| group.iter().any(matches))
        };
        let parts = RefCell::new(Parts::default());
        let room = gathered.images.iter().map(|image| image.stored.len() as u64).fold(0, u64::saturating_add);
        let options = Options {
            mode,
            explicit: &explicit,
            epoch,
            target_number: &|target| units::number_of(target, epoch),
            spool: &|bytes| parts.borrow_mut().add((self.output, self.scratch), bytes),
            room: &Cell::new(room_for(room)),
        };
        let (mut made, mut spooled) = (Vec::new(), Vec::new());
        let mut replaced = HashSet::new();
        let mut exit = gathered.exit;
        let inputs = Inputs { images: &gathered.images, labels: &gathered.labels, files: &gathered.files };
        let mut units = units::units(&arena, &inputs, mode, theirs, self.fixed, emit == Emit::Embed)?;
        let several = units.len() > 1;
        for unit in &mut units {
            let index = unit.index.take();
            let outcome = match index {
                Some(index) => split_indexed(&arena, unit.input(), index, &options),
                None => split(&arena, unit.input(), &options),
            };
            let outcome = match outcome.context(|| unit.label.clone()) {
                Ok(outcome) => outcome,
                // One image that cannot be taken apart does not keep the others from it.
                Err(error) if error.kind() == ErrorKind::Input && several => {
                    exit = reporter.error(&error);
                    made.push(unit.image.clone());
                    continue;
                }
                Err(error) => return Err(error),
            };
            for warning in &outcome.warnings {
                (self.warn)(warning);
            }
            // Parts in the place of as many images would be those images again, and the file larger.
            if emit == Emit::Embed && mode == Mode::PerKernel && outcome.images.len() <= unit.replaces.len().max(1) {
                continue;
            }
            replaced.extend(unit.replaces.iter().copied());
            spooled.extend(outcome.spooled.into_iter().map(|(at, range)| (made.len().saturating_add(at), range)));
            made.extend(outcome.images);
        }
        let parts = parts.into_inner().finish(self.output)?;
        if let Some(parts) = &parts {
            let bytes = arena.keep_owner(Box::new(parts.clone()))?;
            for (at, range) in spooled {
                if let (Some(image), Some(stored)) = (made.get_mut(at), bytes.get(range)) {
                    image.stored = stored;
                }
            }
        }
        if let Some((glob, _)) = groups.iter().flatten().zip(&met).find(|(_, met)| !met.get()) {
            let message = format!("no kernel or exported function matches `--entry {}`", glob.text());
            return Err(Error::new(ErrorKind::NoMatch, message).with_remedy("`sycl-bundle kernels` lists the kernels"));
        }
        let from = counted(gathered.images.len(), "image");
        if emit == Emit::Embed && replaced.is_empty() && exit == Exit::Done {
            return self.copy(reporter).map(|exit| (None, exit));
        }
        if emit == Emit::Embed {
            let (edited, exit) = self.embed(reporter, (&made, &replaced), exit)?;
            return Ok((Some(edited), exit));
        }
        for (number, image) in made.iter_mut().enumerate() {
            image.index = number;
        }
        let images = counted(made.len(), "image");
        gathered.origin.spooled = parts;
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(reporter, self.form, made, &gathered.origin, self.output, &paths)?;
        let (total, output) = (bytes(total), self.output.display());
        reporter.note(&format!("{images} of {from}, {total}, written to {output} ({})", self.form.emit.name()));
        Ok((None, exit))
    }

    /// Copies a file in which there is nothing to split.
    fn copy(&self, reporter: &dyn Reporter) -> Result<Exit> {
        let Some(file) = self.files.first() else { return Ok(Exit::Done) };
        let input = Input::open(file).context(|| file.display().to_string())?;
        match self.output == Path::new("-") {
            true => reporter.binary(input.bytes())?,
            false => _ = write_atomically(self.output, input.bytes(), mode_of(file))?,
        }
        reporter.note("each image has one kernel already: the output is the file as it is");
        Ok(Exit::Done)
    }

    /// Puts the new images in the place of the old ones.
    fn embed(
        &self,
        reporter: &dyn Reporter,
        (made, replaced): (&[Image<'_>], &HashSet<usize>),
        exit: Exit,
    ) -> Result<(Edited, Exit)> {
        let [file] = self.files else {
            let error = Error::new(ErrorKind::Usage, "images go back into one linked file, and there are several");
            return Err(error.with_remedy("split one file at a time, or choose another --emit"));
        };
        let target =
            Target { output: self.output.to_owned(), in_place: false, drop_signature: false, keep_layout: false };
        let linked = Linked::open(file, file.display().to_string(), &target)?;
        let new: Vec<OutImage<'_>> =
            made.iter().filter(|image| image.format() == Format::SpirV).map(out_image).collect();
        let (edited, done) = linked.edit(reporter, &target, replaced, &new, true)?;
        Ok((edited, if done == Exit::Done { exit } else { done }))
    }
}

/// Bytes of parts that stay in memory; the rest are in a file.
const LARGE: usize = 4 << 20;

/// Bytes of the parts.
#[derive(Default)]
struct Parts {
    /// Number of those in memory.
    in_memory: usize,
    /// File without a name, on the disk of the output, with the number of bytes in it.
    file: Option<(BufWriter<File>, usize)>,
}

impl Parts {
    /// Stores a part in the file once those in memory would be too many. Returns where it is.
    fn add(&mut self, (output, scratch): (&Path, &Path), bytes: &[u8]) -> Result<Option<Range<usize>>> {
        let in_memory = self.in_memory.saturating_add(bytes.len());
        if self.file.is_none() && in_memory > LARGE {
            // Devices and streams have no disk of their own.
            let streams = output == Path::new("-") || output.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
            let folder = if streams { scratch } else { folder_of(output) };
            // Without one, parts wait in memory: whether the output can be written shows when it is.
            self.file = tempfile::tempfile_in(folder).ok().map(|file| (BufWriter::new(file), 0));
        }
        let Some((file, len)) = &mut self.file else {
            self.in_memory = in_memory;
            return Ok(None);
        };
        file.write_all(bytes).map_err(|error| cannot_write(output, &error))?;
        let begin = *len;
        *len = begin.saturating_add(bytes.len());
        Ok(Some(begin..*len))
    }

    /// Maps the file.
    fn finish(self, output: &Path) -> Result<Option<Spooled>> {
        let Some((file, _)) = self.file else { return Ok(None) };
        let file = file.into_inner().map_err(|error| cannot_write(output, error.error()))?;
        Spooled::new(&file).map(Some)
    }
}
