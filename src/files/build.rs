//! `build`: which images of which files are compiled for which targets, and how do the outputs come to be?
//!
//! [`BuildOptions::plan`] leads from the inputs to the jobs, and [`PlannedBuild::finish`] from what became of these to the
//! outputs and the document. Compiling stands between: workers are processes of the program, which the library does not
//! start.

use super::compiled::{self, Compiled, check_parts};
use super::emit::{self, Emit, OutputForm};
use super::linked::check_unsigned;
use super::package::{LinkedFile, Package};
use super::sources::{Source, spare_opened};
use super::write::mode_of;
use crate::build::archive::{self, ArchiveForm, Archives, Modules};
use crate::build::compile::{self, Binary, CompileResults};
use crate::build::plan::Goal;
use crate::build::plans::{self, Numbers, Plans, Recipes, plans};
use crate::build::record::Harvest;
use crate::build::target::Backend;
use crate::build::wanted::{self, Wanted};
use crate::build::{Job, Unit};
use crate::bundle::Bundle;
use crate::compat::examine::{Examined, examine};
use crate::container::{Allowance, Arena, Host, Kind};
use crate::error::{Context as _, Error, ErrorKind, Exit, Problem, Reporter, Result};
use crate::report::batch::{Batch, Work};
use crate::report::built::{Alone, Built};
use crate::report::evidence::Names;
use crate::report::json::{ImageProblem, SchemaVersion};
use crate::report::text::counted;
use crate::rewrite::embed::{Addition, possible};
use crate::select::Selector;
use crate::temporary::hold;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A build as it is asked for, but for its targets.
pub(crate) struct BuildOptions<'o> {
    /// The inputs.
    pub(crate) files: &'o [PathBuf],
    /// The file to write, or the folder of several.
    pub(crate) output: Option<&'o Path>,
    /// Whether the outputs take the places of the inputs.
    pub(crate) in_place: bool,
    /// Whether the signature of a Windows file may go.
    pub(crate) drop_signature: bool,
    /// The form of the output, where one is asked for.
    pub(crate) emit: Option<Emit>,
    /// The form that was chosen, with what is asked of it for a path.
    pub(crate) form: &'o dyn Fn(Emit, &Path) -> Result<OutputForm>,
    /// The rules by which images are compiled.
    pub(crate) recipes: &'o Recipes,
    /// The images that are meant.
    pub(crate) selector: &'o Selector,
    /// Code that was recorded, which takes the place of compiling.
    pub(crate) harvest: Option<&'o Harvest>,
    /// The archives that hold code for Intel GPUs.
    pub(crate) archive: Option<ArchiveForm>,
    /// The one image for the one target that is compiled.
    pub(crate) only: Option<&'o Only>,
    /// The form of kernels' names in messages.
    pub(crate) names: Names,
    /// Whether there can be one output alone, as dependencies and plans are of one.
    pub(crate) one_output: bool,
    /// Whether only the cache is filled.
    pub(crate) cache_only: bool,
    /// Whether nothing is compiled.
    pub(crate) dry_run: bool,
    /// Whether images that can do without lose their SPIR-V.
    pub(crate) no_spirv: bool,
    /// Whether an image that does not become native ends the build.
    pub(crate) all_or_nothing: bool,
    /// Whether images that are the same code but for their kernel's name are compiled once.
    pub(crate) fold: bool,
}

/// One image for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Only {
    /// The image, as the user knows it.
    pub(crate) image: usize,
    /// The name of the target.
    pub(crate) target: String,
}

/// Files that are read together and go into one output.
struct Input<'g> {
    files: Vec<&'g Path>,
    /// Name of the (first) file as the user knows it.
    name: String,
    output: &'g Path,
    sources: Vec<Source>,
}

/// Hosts of an input's device code.
struct Hosts<'s> {
    input: &'s Input<'s>,
    hosts: Vec<Host<'s>>,
    /// The file with what an earlier build added, where that was taken out of it.
    earlier: Option<Host<'s>>,
}

/// Images of an input.
struct Images<'h> {
    hosts: &'h Hosts<'h>,
    bundle: Bundle<'h>,
    numbers: Numbers,
    /// Images of the file with what an earlier build added.
    earlier: Option<Bundle<'h>>,
}

/// Images of an input that are meant.
struct Selected<'b, 'a> {
    images: Vec<Examined<'b, 'a>>,
    numbers: Numbers,
    /// The number of all images.
    total: usize,
}

/// One output of a build.
struct Part<'p, 'a> {
    input: &'p Input<'p>,
    host: &'p Host<'p>,
    bundle: &'p Bundle<'a>,
    /// The number of the input's images.
    total: usize,
    plans: Plans<'a>,
    /// Native images of an earlier build that stay.
    kept: Vec<Addition<'p>>,
    /// Parts of the input that are damaged.
    problems: Vec<Problem>,
    /// Whether the file cannot be rewritten, as one of a package.
    refused: bool,
    /// Modules that archives hold beside the code.
    modules: Modules<'a>,
}

/// A build that knows what to compile.
pub(crate) struct PlannedBuild<'p, 'a> {
    options: &'p BuildOptions<'p>,
    /// The targets.
    pub(crate) wanted: &'p [Wanted],
    form: OutputForm,
    package: Option<&'p Package>,
    parts: Vec<Part<'p, 'a>>,
    /// The images of all files.
    pub(crate) batch: Batch<'p, 'a>,
    /// Compilations to do.
    pub(crate) jobs: Vec<Job<'a>>,
    /// Code that a driver made while the program ran.
    pub(crate) harvested: Vec<Binary>,
}

impl PlannedBuild<'_, '_> {
    /// Returns the paths of what is written, or would be, but for files that are changed in place.
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        match self.package {
            _ if self.options.in_place => Vec::new(),
            Some(package) => package.outputs().collect(),
            None => vec![self.options.place()],
        }
    }
}

/// Result of a build.
pub(crate) struct Outcome {
    /// The document, without times.
    pub(crate) built: Built,
    /// The exit code.
    pub(crate) exit: Exit,
    /// Whether all that is meant was compiled and written.
    pub(crate) whole: bool,
}

impl Only {
    /// Reads `N:TARGET`.
    ///
    /// # Errors
    /// A sentence for clap.
    pub(crate) fn parse(text: &str) -> Result<Only, String> {
        let parts = text.split_once(':').and_then(|(image, target)| Some((image.parse().ok()?, target)));
        match parts {
            Some((image, target)) if !target.is_empty() => Ok(Only { image, target: target.to_owned() }),
            _ => Err("an image's number and a target: 12:intel_gpu_pvc".to_owned()),
        }
    }

    /// The error where there is nothing to compile for it.
    fn missing(&self) -> Error {
        let message = format!("image {} is not compiled for {}", self.image, self.target);
        Error::new(ErrorKind::Usage, message).with_remedy("write the plan again: the input or the options changed")
    }
}

impl<'s> Hosts<'s> {
    fn read(input: &'s Input<'s>, allowance: &Arc<Allowance>) -> Result<Hosts<'s>> {
        let host = |source: &'s Source| {
            allowance.grant(usize::try_from(source.size()).unwrap_or(usize::MAX));
            Host::read_within(source.bytes(), allowance).context(|| source.name())
        };
        let hosts = input.sources.iter().map(host).collect::<Result<_>>()?;
        let earlier = input.sources.first().and_then(Source::embedded).map(Host::read).transpose()?;
        Ok(Hosts { input, hosts, earlier })
    }
}

impl<'h> Images<'h> {
    fn read(hosts: &'h Hosts<'h>) -> Result<Images<'h>> {
        let sources = &hosts.input.sources;
        let bundle = |(source, host): (&'h Source, _)| source.bundle(host).context(|| source.name());
        let bundles = sources.iter().zip(&hosts.hosts).map(bundle).collect::<Result<Vec<_>>>()?;
        let numbers = Numbers::new(sources.iter().map(Source::name).zip(&bundles));
        let earlier = hosts.earlier.as_ref().map(Bundle::read).transpose()?;
        Ok(Images { hosts, bundle: Bundle::union(bundles), numbers, earlier })
    }
}

impl BuildOptions<'_> {
    /// Whether there is an output.
    pub(crate) fn writes(&self) -> bool {
        !self.cache_only && !self.dry_run
    }

    /// The place of the output; empty for a shard or a trial, which write none.
    pub(crate) fn place(&self) -> &Path {
        let own = self.files.first().filter(|_| self.in_place).map(PathBuf::as_path);
        self.output.or(own).unwrap_or(Path::new(""))
    }

    /// Plans what is compiled, and hands that to `next`. `known` leaves out the targets that this machine's compilers do not
    /// know; it is asked last, since that takes a worker.
    ///
    /// # Errors
    /// `Usage` where the inputs have no output of that form; what cannot be read; errors of `known` and `next`.
    pub(crate) fn plan<T>(
        &self,
        reporter: &dyn Reporter,
        wanted: Vec<Wanted>,
        known: &dyn Fn(Vec<Wanted>) -> Result<Vec<Wanted>>,
        next: impl FnOnce(PlannedBuild<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let package = self.package(reporter)?;
        let asked = if self.in_place || package.is_some() { Some(Emit::Embed) } else { self.emit };
        if self.writes() && package.is_none() {
            emit::check_place(asked, self.place())?;
        }
        let inputs = match &package {
            Some(package) => {
                package.files.iter().map(|file| self.linked_file(reporter, file)).collect::<Result<_>>()?
            }
            None => vec![self.input(reporter)?],
        };
        if self.writes() && !self.in_place && package.is_none() {
            spare_opened(self.place())?;
        }
        let allowance = Arc::default();
        let hosts = inputs.iter().map(|input| Hosts::read(input, &allowance)).collect::<Result<Vec<_>>>()?;
        let images = hosts.iter().map(Images::read).collect::<Result<Vec<_>>>()?;
        let mut emit = Emit::Embed;
        for hosts in &hosts {
            emit = choose_form(asked, self.place(), &hosts.hosts, &wanted)?;
        }
        let form = (self.form)(emit, self.place())?;
        let selected = self.select(&images, emit)?;
        let wanted = if self.dry_run || self.harvest.is_some() { wanted } else { known(wanted)? };
        let arena = Arena::default();
        let (mut parts, mut works) = (Vec::new(), Vec::new());
        for (images, selected) in images.iter().zip(&selected) {
            let Some(host) = images.hosts.hosts.first() else { continue };
            let work =
                Work { names: self.names, wanted: &wanted, images: &selected.images, numbers: &selected.numbers };
            parts.push(self.part(reporter, &arena, &work, (images, host, selected.total), form.emit)?);
            works.push(work);
        }
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let first = selected.first().map(|selected| selected.images.as_slice()).unwrap_or_default();
        check_parts(form.emit, self.place(), first, wanted.len(), &paths)?;
        for part in &mut parts {
            self.check_embedding(reporter, part, &wanted, (form.emit, package.is_some()))?;
            part.modules = archive::modules(self.archive, &wanted, &part.plans.jobs);
        }
        let batch = Batch::new(works.into_iter().zip(parts.iter().map(|part| part.bundle)));
        let mut harvested = Vec::new();
        if let Some(harvest) = self.harvest {
            for ((start, work), part) in batch.parts.iter().zip(&mut parts) {
                harvested.extend(harvest.take(*start, &wanted, &mut part.plans));
                self.all_or_nothing(work, part.plans.left_out())?;
            }
        }
        let mut jobs = batch.jobs(parts.iter_mut().map(|part| &mut part.plans));
        if let (Some(only), Some(selected)) = (self.only, selected.first()) {
            jobs.retain(|job| selected.numbers.shown(job.image) == only.image);
            jobs.first().ok_or_else(|| only.missing())?;
        }
        let package = package.as_ref();
        next(PlannedBuild { options: self, wanted: &wanted, form, package, parts, batch, jobs, harvested })
    }

    /// The linked files to build one by one, where the inputs hold or are several.
    fn package(&self, reporter: &dyn Reporter) -> Result<Option<Package>> {
        if (self.output.is_none() && !self.in_place && !self.dry_run)
            || self.emit.is_some_and(|emit| emit != Emit::Embed)
        {
            return Ok(None);
        }
        let package = Package::open(reporter, self.files, self.output, self.writes())?;
        if package.is_some() && self.one_output {
            let message = "a package has several outputs, and dependencies and plans are of one";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("name one library, or use --stamp"));
        }
        Ok(package)
    }

    /// Opens all files as one input.
    fn input(&self, reporter: &dyn Reporter) -> Result<Input<'_>> {
        let output = Some(self.place()).filter(|_| !self.in_place);
        let open = |path: &PathBuf| {
            let name = path.display().to_string();
            Source::open(reporter, path, name.clone(), (output, self.drop_signature)).context(|| name)
        };
        let sources = self.files.iter().map(open).collect::<Result<_>>()?;
        let files: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let name = files.first().map(|path| path.display().to_string()).unwrap_or_default();
        Ok(Input { files, name, output: self.place(), sources })
    }

    /// Opens one file of a package.
    fn linked_file<'g>(&self, reporter: &dyn Reporter, file: &'g LinkedFile) -> Result<Input<'g>> {
        let (output, name) = (file.output.as_path(), file.name.clone());
        let in_place = file.input == file.output;
        let output_of_source = Some(output).filter(|_| !in_place);
        let source = Source::open(reporter, &file.input, name.clone(), (output_of_source, self.drop_signature));
        Ok(Input { files: vec![&file.input], output, sources: vec![source.context(|| name.clone())?], name })
    }

    /// The images of each input that are meant. In a package, files without one have none.
    fn select<'h, 'a>(&self, inputs: &'h [Images<'a>], emit: Emit) -> Result<Vec<Selected<'h, 'a>>> {
        let (mut all_selected, mut nothing) = (Vec::new(), None);
        for Images { bundle, numbers, earlier, .. } in inputs {
            let mut numbers = numbers.clone();
            let all = examine(bundle);
            let total = all.len();
            let mut images = match numbers.select(self.selector, all, bundle, earlier.as_ref()) {
                Err(error) if error.kind() == ErrorKind::NoMatch => {
                    nothing.get_or_insert(error);
                    Vec::new()
                }
                other => other?,
            };
            // Native code stands in a list beside what it is made of.
            let unlisted = |image: &Examined<'_, '_>| emit == Emit::Embed && !bundle.is_listed(image.image);
            if !images.is_empty() && images.iter().all(unlisted) {
                let message = "the images are in no list of SYCL's runtime, where native code could stand beside them";
                nothing.get_or_insert(Error::new(ErrorKind::NoMatch, message));
            }
            images.retain(|image| !unlisted(image));
            all_selected.push(Selected { images, numbers, total });
        }
        match nothing {
            Some(error) if all_selected.iter().all(|selected| selected.images.is_empty()) => Err(error),
            _ => Ok(all_selected),
        }
    }

    /// Plans one output.
    fn part<'p, 'a>(
        &self,
        reporter: &dyn Reporter,
        arena: &'a Arena,
        work: &Work<'p, 'a>,
        (images, host, total): (&'p Images<'a>, &'p Host<'p>, usize),
        emit: Emit,
    ) -> Result<Part<'p, 'a>> {
        let Images { hosts, bundle, earlier, .. } = images;
        let kept = match emit {
            Emit::Embed => plans::kept(work.wanted, work.images, bundle, (earlier.as_ref(), self.archive))?,
            _ => Vec::new(),
        };
        let goal = Goal::Executables(Some(bundle));
        let mut plans = plans(reporter, work.wanted, work.images, goal, (self.recipes, work.numbers))?;
        plans.metadata = plans::metadata(arena, work.images, work.wanted, &plans)?;
        let mut problems = bundle.problems.clone();
        problems.append(&mut plans.problems);
        tell_problems(reporter, work.numbers, &mut problems);
        self.all_or_nothing(work, plans.left_out())?;
        let (input, modules) = (hosts.input, Modules::default());
        Ok(Part { input, host, bundle, total, plans, kept, problems, refused: false, modules })
    }

    /// Checks that a linked file can take what is planned, before anything is compiled. A file of a package that cannot be
    /// rewritten does not stop the others.
    fn check_embedding(
        &self,
        reporter: &dyn Reporter,
        part: &mut Part<'_, '_>,
        wanted: &[Wanted],
        (emit, packaged): (Emit, bool),
    ) -> Result<()> {
        if !self.writes() || emit != Emit::Embed {
            return Ok(());
        }
        let checked = match part.host.kind {
            Kind::Pe if part.plans.jobs.is_empty() => Ok(()),
            Kind::Pe => check_unsigned(part.host.bytes),
            _ => {
                let archives = Archives::planned(self.archive, &part.plans, wanted);
                let units = part.plans.jobs.iter().map(|job| (job.unit(), &[][..]));
                let planned = plans::listed(wanted, &part.plans, units, &archives);
                let planned: Vec<Addition<'_>> = planned.into_iter().map(|(addition, _)| addition).collect();
                possible(part.host, part.bundle, &planned)
            }
        };
        match checked.context(|| part.input.name.clone()) {
            Err(error) if packaged => {
                reporter.error(&error);
                part.refused = true;
                part.plans.jobs.clear();
                Ok(())
            }
            other => other,
        }
    }

    /// With `--all-or-nothing`, an image that has not become native for a target ends the build.
    fn all_or_nothing(&self, work: &Work<'_, '_>, missing: impl Iterator<Item = (usize, usize, String)>) -> Result<()> {
        if !self.all_or_nothing {
            return Ok(());
        }
        let mut missing = missing.peekable();
        let Some((image, target, why)) = missing.peek() else { return Ok(()) };
        let (name, target) = (work.name((*image, *target)), work.target(*target));
        let message = format!("{name} does not become native for {target}: {why}; nothing is written");
        let error = Error::new(ErrorKind::Build, message);
        Err(match missing.count().saturating_sub(1) {
            0 => error,
            more => error.with_remedy(format!("{more} more do not; without --all-or-nothing all of them are listed")),
        })
    }
}

impl PlannedBuild<'_, '_> {
    /// The images and targets that are the same code as others, and are not compiled.
    pub(crate) fn clones(&self) -> HashSet<Unit> {
        self.trial().folded.into_iter().collect()
    }

    /// The result of a trial, as far as it is known without the compilers.
    pub(crate) fn trial(&self) -> CompileResults {
        let targets: Vec<_> = self.wanted.iter().map(|wanted| wanted.target.clone()).collect();
        let folding = compile::folding(self.options.fold, &targets, &self.jobs);
        CompileResults { folded: folding.clones, apart: folding.apart, ..CompileResults::default() }
    }

    /// Writes the outputs.
    ///
    /// # Errors
    /// `Build` where all or nothing was asked for; `Input` where a file cannot be rewritten, `Environment` where an output
    /// cannot be written.
    pub(crate) fn finish(self, reporter: &dyn Reporter, done: CompileResults) -> Result<Outcome> {
        let sound = self.parts.iter().all(|part| part.problems.is_empty());
        let some_refused = self.parts.iter().any(|part| part.refused);
        let whole = sound && done.failures.is_empty() && !some_refused && !self.options.dry_run;
        let mut exit = match (sound, done.failures.is_empty()) {
            (false, _) => Exit::Input,
            (true, false) => Exit::Build,
            (true, true) => Exit::Done,
        };
        let expected_seconds = done.expected;
        let apart =
            done.apart.iter().map(|(apart, images)| Alone { images: *images, reason: apart.reason() }).collect();
        let shares = self.batch.shares(done);
        for ((_, work), done) in self.batch.parts.iter().zip(&shares) {
            let failures = done.failures.iter().map(|failure| (failure.image, failure.target, failure.to_string()));
            self.options.all_or_nothing(work, failures)?;
        }
        let mut archives = Vec::new();
        for (part, done) in self.parts.iter().zip(&shares) {
            let code = (done.compiled.as_slice(), &part.modules);
            archives.push(Archives::pack(self.options.archive, self.wanted, &part.plans, code)?);
        }
        let is_table = self.options.writes() && self.form.emit == Emit::Table;
        let _held = is_table.then(|| hold(emit::stem_and_folder(self.options.place()).1));
        let mut built: Option<Built> = None;
        let parts = self.parts.iter().zip(self.batch.parts.iter().map(|(_, work)| work));
        for (of_part, (done, archives)) in parts.zip(shares.iter().zip(&archives)) {
            let own = self.write(reporter, of_part, done, archives)?;
            match &mut built {
                Some(all) => all.add(own),
                None if self.package.is_some() => built = Some(Built::of_package(own)),
                None => built = Some(own),
            }
        }
        let mut written = Vec::new();
        if let Some(package) = self.package {
            if package.exit != Exit::Done || some_refused {
                exit = Exit::Input;
            }
            if self.options.writes() {
                written = package.finish(reporter)?;
            }
        }
        let built = Built {
            inputs: self.options.files.iter().map(|path| path.display().to_string()).collect(),
            // Of a package the one file that was written, or the folder.
            output: match written.as_slice() {
                [one] => one.display().to_string(),
                _ => self.options.place().display().to_string(),
            },
            expected_seconds,
            apart,
            ..built.unwrap_or_default()
        };
        Ok(Outcome { built, exit, whole })
    }

    /// Writes one output.
    fn write(
        &self,
        reporter: &dyn Reporter,
        (part, work): (&Part<'_, '_>, &Work<'_, '_>),
        done: &CompileResults,
        archives: &Archives,
    ) -> Result<Built> {
        let Self { options, wanted, form, .. } = self;
        let plans = &part.plans;
        let devices = plans::devices(wanted, &done.compiled);
        let mut additions = plans::additions(reporter, wanted, plans, (&done.compiled, &devices), archives);
        let [drop_spirv, linked] = match options.no_spirv {
            true => work.without_spirv(plans, done, options.cache_only),
            false => Default::default(),
        };
        if !linked.is_empty() && options.writes() {
            let stays = counted(linked.len(), "image");
            reporter
                .note(&format!("the SPIR-V of {stays} stays: the runtime links what they export or import as SPIR-V"));
        }
        let frozen: HashSet<usize> = plans.specialized.keys().map(|(image, _)| *image).collect();
        let frozen = frozen.intersection(&drop_spirv).count();
        if frozen > 0 && options.writes() {
            reporter.note(&format!(
                "without SPIR-V the specialization constants of {} keep their values: what a program sets is ignored",
                counted(frozen, "image")
            ));
        }
        additions.extend(part.kept.iter().cloned());
        let names: Vec<String> = wanted.iter().map(|wanted| wanted::describe(&wanted.target)).collect();
        let compiled = Compiled {
            host: part.host,
            bundle: part.bundle,
            images: work.images,
            additions: &additions,
            march: wanted.iter().find_map(|wanted| wanted.target.march()),
            targets: &names,
            drop_spirv: &drop_spirv,
            linked: &plans.linked,
        };
        let input = part.input;
        let mode = input.files.first().and_then(|path| mode_of(path));
        let bytes_before = input.sources.iter().map(Source::size).sum();
        let signed = input.sources.first().and_then(Source::signed);
        // A file that stays as it is keeps its signature; other forms never have it.
        let unchanged = signed.filter(|_| additions.is_empty() && form.emit == Emit::Embed);
        let bytes_after = match (options.writes(), part.refused, unchanged) {
            (false, ..) => 0,
            (true, true, _) => bytes_before,
            (true, false, Some(bytes)) => emit::to(reporter, input.output, bytes, mode)?,
            (true, false, None) => compiled::write(reporter, form, &compiled, input.output, mode)?,
        };
        if signed.is_some() && unchanged.is_none() && form.emit == Emit::Embed && options.writes() {
            reporter.note(&format!("{}: its signature is gone: sign the file again where that is needed", input.name));
        }
        Ok(Built {
            schema_version: SchemaVersion,
            inputs: vec![input.name.clone()],
            output: input.output.display().to_string(),
            emit: form.emit.name(),
            images: part.total,
            archives: archives.count(),
            unselected: part.total.saturating_sub(work.images.len()),
            taken_over: part.kept.len(),
            dry_run: options.dry_run,
            problems: part.problems.iter().map(ImageProblem::from).collect(),
            bytes_before,
            without_spirv: work.shown(&drop_spirv),
            bytes_after,
            ..work.document(plans, done, form.emit == Emit::Embed, options.dry_run)
        })
    }
}

/// Tells what is damaged, by the numbers that the user knows.
fn tell_problems(reporter: &dyn Reporter, numbers: &Numbers, problems: &mut [Problem]) {
    for problem in problems {
        let file = numbers.file(problem.image.unwrap_or(0)).to_owned();
        problem.image = problem.image.map(|image| numbers.shown(image));
        let error = problem.error.clone();
        let error = problem.image.map_or(error.clone(), |image| error.context(format!("image {image}")));
        reporter.error(&error.context(file));
    }
}

/// Checks that linked files can hold what is compiled. Code for GPUs is the same on both systems; whether Intel's CPU driver
/// on Windows takes what the one on Linux makes is not known.
fn embed_into(hosts: &[Host<'_>], wanted: &[Wanted]) -> Result<Emit> {
    let usage = |message: &str, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
    let windows = hosts.iter().any(|host| host.kind == Kind::Pe);
    let for_gpus = |wanted: &Wanted| matches!(wanted.target.backend, Backend::Ocloc { .. });
    if windows && !wanted.iter().all(for_gpus) {
        return usage(
            "the CPU driver of this machine compiles for Linux, so its code is not for a Windows file",
            "name GPUs alone (-t pvc), or compile for CPUs on Windows and add that with `sycl-bundle embed`",
        );
    }
    Ok(Emit::Embed)
}

/// The form of the output, from what was asked for, the output's name and the inputs.
///
/// # Errors
/// `Usage` for a form that cannot be made of these.
fn choose_form(asked: Option<Emit>, output: &Path, hosts: &[Host<'_>], wanted: &[Wanted]) -> Result<Emit> {
    let is_linked = |host: &Host<'_>| matches!(host.kind, Kind::Elf | Kind::Pe);
    let (linked, all_linked) = (hosts.iter().any(is_linked), hosts.iter().all(is_linked));
    let usage = |message: &str, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
    if hosts.len() > 1 && linked {
        return usage(
            "a linked file makes an output of its own",
            "name a folder with `-o out/`: each gets a copy there",
        );
    }
    match asked {
        // A linked file may be called anything but an object, a table or a SYCLBIN.
        None => Ok(match Emit::by_extension(output) {
            Some(emit @ (Emit::Object | Emit::Syclbin | Emit::Table)) => emit,
            Some(Emit::Shared) if !all_linked => Emit::Shared,
            _ if all_linked => embed_into(hosts, wanted)?,
            _ => Emit::Table,
        }),
        Some(Emit::Embed) if all_linked => embed_into(hosts, wanted),
        Some(Emit::Embed) => {
            usage("only a linked ELF or PE file can be embedded into", "use --emit table or --emit shared")
        }
        Some(Emit::Spirv) => usage("what is compiled is no SPIR-V", "use --emit table, or `extract --emit spirv`"),
        Some(emit) => Ok(emit),
    }
}
