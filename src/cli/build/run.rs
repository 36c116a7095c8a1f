//! What does `build` do, from the command line to the output?

use super::{Args, RecordArgs, can_begin};
use crate::build::commands::{self, Draft, Edge};
use crate::build::compile::{self, Binary, CompileOptions, CompileResults, Shard};
use crate::build::device_library::DeviceLibrary;
use crate::build::record::Harvest;
use crate::build::target::{Backend, Target};
use crate::build::wanted::{self, Asked, Wanted};
use crate::build::{Engine, Job, Open, RETRIES, STARTUP, Settings, Unit};
use crate::cli::cache;
use crate::cli::global::Global;
use crate::cli::jobserver::Jobserver;
use crate::cli::live;
use crate::cli::output::Output;
use crate::cli::process;
use crate::cli::progress::Watched;
use crate::cli::worker::{self, OfflineArgs};
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::build::{BuildOptions, Outcome, PlannedBuild};
use crate::files::input::{Input, opened_beside};
use crate::files::sources::{lies_below, replaces_other, spare_opened, spare_opened_by, spare_others, spare_parts};
use crate::files::write::{below, folder_of, touch, write_atomically};
use crate::limits;
use crate::report::batch::Batch;
use crate::report::built::{self, Built};
use crate::report::costs::Watch;
use crate::report::doctor::runtime_folders;
use crate::report::document::Form;
use crate::report::profile::Profile;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.recipe.example_policy {
            return out.schema(crate::policy::rules::EXAMPLE);
        }
        if self.schema {
            return out.schema(&built::schema());
        }
        if self.record.report_schema {
            return RecordArgs::print_schema(out);
        }
        let table = self.configs.table(global)?;
        let mut recipes = self.recipe.load(global, &table)?;
        recipes.device_library = match &self.device_library {
            Some(folder) => DeviceLibrary::open(folder)?,
            None => DeviceLibrary::in_folders(runtime_folders(&|name| std::env::var_os(name))),
        };
        let profiles = self.selection.profiles()?;
        let mut floor = limits::MAX_INFLATED_FLOOR;
        let mut recorded = Vec::new();
        for profile in profiles.iter().filter(|_| self.harvest) {
            recorded.extend(profile.recorded(&mut floor)?);
        }
        let harvest = self.harvest.then(|| Harvest::new(recorded)).transpose()?;
        let by_policy = self.targets.is_empty() && self.devices.is_empty();
        let targets = if by_policy { &recipes.rules.targets } else { &self.targets };
        let ran_on = match by_policy && targets.is_empty() {
            true => profiles.iter().flat_map(Profile::targets).collect(),
            false => Vec::new(),
        };
        let asked = Asked {
            targets: if ran_on.is_empty() { targets } else { &ran_on },
            devices: &|march| self.live_targets(global, march),
            march: self.march.as_deref().or(harvest.as_ref().and_then(Harvest::march)),
            ptx: self.ptx,
        };
        let mut wanted = wanted::wanted(global, &table, &asked)?;
        if let Some(only) = &self.pace.unit {
            wanted.retain(|wanted| wanted.target.name == only.target);
        }
        let selector = self.selection.selector()?;
        let options = BuildOptions {
            files: &self.files,
            output: self.output.as_deref(),
            in_place: self.in_place,
            drop_signature: self.drop_signature,
            emit: self.form.emit,
            form: &|emit, path| self.form.form_of_build(emit, path),
            recipes: &recipes,
            selector: &selector,
            harvest: harvest.as_ref(),
            archive: self.archive,
            only: self.pace.unit.as_ref(),
            names: global.names(),
            one_output: self.depend.asked() || self.draft.is_some() || self.pace.unit.is_some(),
            cache_only: self.shard().is_some(),
            dry_run: self.dry_run,
            no_spirv: self.no_spirv,
            all_or_nothing: self.all_or_nothing,
            fold: !self.no_fold,
        };
        if self.format == Form::Json && options.place().as_os_str() == "-" {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        self.spare_all(options.place())?;
        let archived = self.archive.is_some();
        let known = |wanted| wanted::known(global, wanted, &|target| engine(target, &self.offline), archived);
        let configs = self.configs.files().iter().cloned().chain(recipes.file().map(Path::to_path_buf));
        let mut prerequisites: Vec<PathBuf> = self.files.iter().cloned().chain(configs).collect();
        options.plan(global, wanted, &known, |planned| {
            prerequisites.extend(recipes.device_library.files());
            // Parts of tables, and what lies beside modules.
            let beside = opened_beside(&prerequisites);
            // A name alone is looked for in PATH.
            let ocloc = self.offline.ocloc.clone().filter(|path| path.components().count() > 1);
            recipes.device_library.files().chain(ocloc).for_each(|file| Input::spare(&file));
            let compilers = || self.offline.llvm.iter().chain(&self.offline.cuda);
            let is_compilers = |file: &Path| compilers().any(|folder| lies_below(file, folder));
            for output in planned.outputs() {
                spare_opened(output)?;
                if is_compilers(output) {
                    return Err(replaces_other("-o", output));
                }
            }
            for (option, file) in self.beside(options.place())? {
                spare_opened_by(option, &file)?;
                if is_compilers(&file) {
                    return Err(replaces_other(option, &file));
                }
                spare_others(planned.outputs(), option, &file)?;
            }
            match &self.draft {
                Some((draft, to)) => {
                    prerequisites.extend(beside);
                    self.write_plan((draft, to.as_deref()), &planned, &prerequisites, out)
                }
                None => self.carry_out(global, planned, &options, (prerequisites, &beside), out),
            }
        })
    }

    /// Compiles what is planned, and writes the output and what is asked for beside it. The output depends on files that are named, and
    /// on others that were read beside them.
    fn carry_out(
        &self,
        global: &Global,
        mut planned: PlannedBuild<'_, '_>,
        options: &BuildOptions<'_>,
        (mut named, read_beside): (Vec<PathBuf>, &[PathBuf]),
        out: &mut Output,
    ) -> Result<Exit> {
        let begun = Instant::now();
        let trial = self.dry_run.then(|| planned.trial());
        let jobs = std::mem::take(&mut planned.jobs);
        let mut harvested = std::mem::take(&mut planned.harvested);
        let outputs: Vec<PathBuf> = planned.outputs().into_iter().map(Path::to_owned).collect();
        let batch = &planned.batch;
        let beside = self.beside(options.place())?;
        let written = beside.iter().map(|(_, file)| file.as_path()).chain(outputs.iter().map(PathBuf::as_path));
        let mut watch = self.record.watch(batch, &written.collect::<Vec<_>>())?;
        if trial.is_none() {
            watch.check(&jobs)?;
        }
        let done = match trial {
            Some(trial) => Ok(trial),
            None => self.compile(global, (planned.wanted, batch), jobs, &mut watch),
        };
        let recorded = self.record.traced(&mut watch);
        let mut done = done?;
        done.harvested = harvested.iter().map(Binary::unit).collect();
        done.compiled.append(&mut harvested);
        recorded?;
        let seconds = begun.elapsed().as_secs_f64();
        let inputs = self.files.iter().map(|path| path.display().to_string()).collect();
        self.record.reported(batch, &watch, &done, inputs)?;
        let (slowest, saved_seconds) = (batch.slowest(&watch), watch.seconds());
        drop(watch);
        let libraries = done.libraries.clone();
        let Outcome { built, exit, whole } = planned.finish(global, done)?;
        if options.writes() {
            named.extend(libraries);
            self.depend.write(options.place(), self.stamp.as_deref(), (&named, read_beside))?;
        }
        let idle = !self.dry_run && exit == Exit::Done && built.made_nothing();
        // An output of a build that ends with another code than 0 is made again.
        if let Some(stamp) = self.stamp()?.filter(|_| whole && !idle) {
            touch(&stamp)?;
        }
        let built = Built { seconds, slowest, saved_seconds, ..built };
        self.tell(global, &built, out)?;
        if idle {
            let remedy = built.staying.iter().find_map(|staying| staying.remedy).unwrap_or_default();
            return Err(Error::new(ErrorKind::Build, "no image was compiled").with_remedy(remedy));
        }
        Ok(exit)
    }

    /// Compiles what is planned.
    fn compile(
        &self,
        global: &Global,
        (wanted, batch): (&[Wanted], &Batch<'_, '_>),
        jobs: Vec<Job<'_>>,
        watch: &mut Watch<'_>,
    ) -> Result<CompileResults> {
        if wanted.iter().any(|wanted| wanted.target.march().is_some()) {
            self.install.apply()?;
        }
        let cache = cache::cache(!self.no_cache);
        if self.shard().is_some() && cache.is_none() {
            let error = Error::new(ErrorKind::Environment, "a shard is compiled into the cache, and there is none");
            return Err(error.with_remedy("set SYCL_BUNDLE_CACHE_DIR to a folder that all machines share"));
        }
        let targets: Vec<Target> = wanted.iter().map(|wanted| wanted.target.clone()).collect();
        let settings = || Settings {
            retries: self.pace.retries.unwrap_or(RETRIES),
            fail_fast: self.pace.fail_fast,
            memory: global.max_memory,
            ..settings(self.jobs).within(self.timeout)
        };
        let engines = targets.iter().map(|target| engine(target, &self.offline)).collect::<Result<Vec<_>>>()?;
        let environment: Vec<_> = std::env::vars_os().collect();
        let order = CompileOptions {
            targets: &targets,
            engines: &engines,
            settings: &settings,
            patience: self.timeout.min(STARTUP),
            environment: &environment,
            cache: cache.as_ref(),
            shard: self.shard(),
            fold: !self.no_fold,
            share: self.share_code,
        };
        let several = targets.len() > 1;
        let name = |unit: Unit| {
            let of_target = if several { format!(" for {}", batch.target(unit)) } else { String::new() };
            format!("{}{of_target}", batch.name(unit))
        };
        let done = compile::compile(global, &order, jobs, &mut Watched::new(global, watch, &name))?;
        if let (Some(cache), 1..) = (&cache, done.kept)
            && let Err(error) = cache.collect(cache::limit()?)
        {
            global.detail(&error.to_string());
        }
        Ok(done)
    }

    /// The drivers of the live devices that are named.
    fn live_targets(&self, global: &Global, march: Option<CpuArch>) -> Result<Vec<Target>> {
        if self.devices.is_empty() {
            return Ok(Vec::new());
        }
        let live = live::find_within(global, &self.devices, self.timeout.min(STARTUP))?;
        let target = |word: &String| wanted::live_target(global, word, live.choose(word)?, live.simulated(), march);
        self.devices.iter().map(target).collect()
    }

    /// Refuses files beside the output that are inputs or the output.
    fn spare_all(&self, output: &Path) -> Result<()> {
        self.depend.can_name(&self.files, output, self.stamp.as_deref())?;
        if self.draft.is_some() {
            can_begin(&self.files, "rename it")?;
        }
        let beside = self.beside(output)?;
        for (at, (option, file)) in beside.iter().enumerate() {
            // Devices and pipes have nothing that could be lost.
            let before = beside.iter().take(at).map(|(_, other)| other.as_path());
            let before = before.filter(|other| other.is_file() || !other.exists());
            let others = self.files.iter().map(PathBuf::as_path).chain([output]).chain(before);
            spare_others(others, option, file)?;
            spare_parts(output, option, file)?;
        }
        Ok(())
    }

    /// The stamp, where one is asked for.
    fn stamp(&self) -> Result<Option<PathBuf>> {
        self.stamp.as_deref().map(|stamp| self.depend.own(stamp)).transpose()
    }

    /// The files beside the output, each with the option that names it.
    fn beside(&self, output: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
        let depend = self.depend.path(output)?;
        let stamp = self.stamp()?;
        let stamp = stamp.as_deref().map(|stamp| ("--stamp", stamp));
        let plan = self.draft.as_ref().and_then(|(_, to)| Some(("--to", to.as_deref()?)));
        let depend = depend.as_deref().map(|file| ("--MF", file));
        let all = self.record.files().chain(stamp).chain(depend).chain(plan);
        Ok(all.map(|(option, file)| (option, file.to_owned())).collect())
    }

    /// Tells what was built. A plan's commands have their engine tell of them.
    fn tell(&self, global: &Global, built: &Built, out: &mut Output) -> Result<()> {
        let silent = self.pace.unit.is_some() && built.failed.is_empty() && global.verbose == 0;
        if silent && self.format != Form::Json { Ok(()) } else { out.put(self.format, built) }
    }
}

impl Args {
    /// The part of the work that only fills the cache.
    fn shard(&self) -> Option<Shard> {
        self.shard.or(self.pace.shard())
    }

    /// Has a plan written in place of an output.
    ///
    /// # Errors
    /// `Usage` for what the plan does itself.
    pub(crate) fn plan(&mut self, draft: Draft, to: Option<PathBuf>) -> Result<()> {
        if self.dry_run
            || self.shard().is_some()
            || self.stamp.is_some()
            || self.depend.asked()
            || self.output.is_none()
        {
            let message = "a plan compiles nothing, and has stamps, dependencies and parts of its own, and an output";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("give it what `build -o FILE` would get"));
        }
        if self.no_cache || self.harvest {
            let message = "the commands of a plan compile into the cache, and the last one takes the output out of it";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("leave out --no-cache and --harvest"));
        }
        (self.dry_run, self.draft) = (true, Some((draft, to)));
        Ok(())
    }

    /// Writes the commands that do the work.
    fn write_plan(
        &self,
        (draft, to): (&Draft, Option<&Path>),
        planned: &PlannedBuild<'_, '_>,
        inputs: &[PathBuf],
        out: &mut Output,
    ) -> Result<Exit> {
        let (batch, clones) = (&planned.batch, planned.clones());
        let edge = |job: &Job<'_>| Edge {
            unit: format!("{}:{}", batch.shown(job.unit()), batch.target(job.unit())),
            label: batch.label(job.unit()),
            bytes: job.il.len(),
        };
        let edges = planned.jobs.iter().filter(|job| !clones.contains(&job.unit())).map(edge).collect();
        let output = self.output.as_deref().unwrap_or(Path::new(""));
        let text = draft.text(edges, inputs, output)?;
        forget_done(output)?;
        match to {
            Some(path) => write_atomically(path, text.as_bytes(), None).map(|_| Exit::Done),
            None => out.data(&text, "write the rules to a file with --to").map(|()| Exit::Done),
        }
    }
}

/// Removes what an earlier plan of the output has done, or what came there in some other way: the engine would run what its rule
/// of dependencies says.
///
/// # Errors
/// Errors of [`below`]; `Environment` where something cannot be removed.
fn forget_done(output: &Path) -> Result<()> {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(commands::FOLDER);
    for done in [commands::RULE, commands::STAMP] {
        let path = below(folder_of(output), &Path::new(&name).join(done))?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format!("removing `{}`", path.display()), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The settings of workers that compile, as many as there are cores; from now on a signal ends the work in order.
pub(crate) fn settings(jobs: Option<NonZeroUsize>) -> Settings {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Settings {
        tokens: Jobserver::from_environment(),
        interrupted: Some(process::interrupted()),
        ..Settings::new(jobs.unwrap_or(cores))
    }
}

/// The compiler of a target.
///
/// # Errors
/// `Io` where this program's own file cannot be found.
pub(crate) fn engine(target: &Target, offline: &OfflineArgs) -> Result<Engine> {
    Ok(match &target.backend {
        Backend::Cpu(march) => Engine { launch: worker::launch(Some(*march))?, open: Open::Cpu },
        Backend::Ocloc { .. } => worker::offline(Open::Ocloc(offline.ocloc.clone()))?,
        Backend::Nvidia { .. } => worker::offline(Open::Nvidia(offline.places()))?,
        Backend::Live { place, march, environment, .. } => {
            let launch = match environment.is_empty() {
                true => worker::launch(*march)?,
                false => worker::launch_with(environment.clone(), None)?,
            };
            Engine { launch, open: Open::Device(*place) }
        }
    })
}
