//! What does `build` do, from the command line to the output?

use super::Group;
use super::{Args, RecordArgs};
use crate::build::archive::{self, Archives, Modules};
use crate::build::commands::{Draft, Edge};
use crate::build::compile::{self, Binary, CompileOptions, CompileResults, Shard};
use crate::build::plan::Goal;
use crate::build::plans::{self, Numbers, plans};
use crate::build::record::Harvest;
use crate::build::target::{Backend, Target};
use crate::build::wanted::{self, Asked, Wanted};
use crate::build::{Engine, Job, Open, RETRIES, Settings, Unit};
use crate::bundle::Bundle;
use crate::cli::cache;
use crate::cli::global::Global;
use crate::cli::jobserver::Jobserver;
use crate::cli::live;
use crate::cli::output::Output;
use crate::cli::process;
use crate::cli::progress::Watched;
use crate::cli::worker::{self, OfflineArgs};
use crate::compat::examine::{Examined, examine};
use crate::container::Arena;
use crate::container::{Host, Kind};
use crate::device::cpu::CpuArch;
use crate::error::{Context as _, Error, ErrorKind, Exit, Problem, Result};
use crate::files::compiled::{self, Compiled};
use crate::files::emit::{self, Emit};
use crate::files::package::Package;
use crate::files::sources::{Source, spare_others};
use crate::files::write::{mode_of, touch, write_atomically};
use crate::report::batch::{Batch, Work};
use crate::report::built::{self, Alone, Built};
use crate::report::costs::Watch;
use crate::report::document::Form;
use crate::report::json::{ImageProblem, SchemaVersion};
use crate::report::profile::Profile;
use crate::report::text::counted;
use crate::rewrite::embed::{Addition, possible};
use crate::rewrite::pe;
use std::collections::HashSet;
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
        let recipes = self.recipe.load(global, &table)?;
        let profiles = self.selection.profiles()?;
        let recorded = || profiles.iter().map(Profile::recorded).collect::<Result<Vec<_>>>();
        let harvest = self.harvest.then(|| Harvest::new(recorded()?.concat())).transpose()?;
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
        if let Some(unit) = &self.pace.unit {
            wanted.retain(|wanted| wanted.target.name == unit.target);
        }
        let package = self.package(global)?;
        let groups: Vec<Group<'_>> = match &package {
            Some(package) => package.files.iter().map(Group::of_package).collect(),
            None => vec![self.group()],
        };
        let output = self.place();
        if self.format == Form::Json && output.as_os_str() == "-" {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        let form = if self.in_place || package.is_some() { Some(Emit::Embed) } else { self.form.emit };
        if self.writes() && package.is_none() {
            emit::check_place(form, output)?;
        }
        self.spare_all(output)?;
        let arena = Arena::default();
        let mut sources = Vec::new();
        for group in &groups {
            sources.push(group.open(global)?);
        }
        let mut hosts = Vec::new();
        for sources in &sources {
            let mut own = Vec::new();
            for source in sources {
                own.push(Host::read(source.bytes()).context(|| source.name())?);
            }
            hosts.push(own);
        }
        let (mut bundles, mut numbers) = (Vec::new(), Vec::new());
        for (sources, hosts) in sources.iter().zip(&hosts) {
            let mut own = Vec::new();
            for (source, host) in sources.iter().zip(hosts) {
                own.push(source.bundle(host).context(|| source.name())?);
            }
            numbers.push(Numbers::new(sources.iter().map(Source::name).zip(&own)));
            bundles.push(Bundle::union(own));
        }
        let mut emit = Emit::Embed;
        for hosts in &hosts {
            emit = choose_form(form, output, hosts, &wanted)?;
        }
        let form = self.form.form_of_build(emit, output)?;
        let mut restored = Vec::new();
        for sources in &sources {
            restored.push(sources.first().and_then(Source::embedded).map(Host::read).transpose()?);
        }
        let mut embedded = Vec::new();
        for host in &restored {
            embedded.push(host.as_ref().map(Bundle::read).transpose()?);
        }
        let (images, totals) = self.selected(&bundles, &embedded, &mut numbers)?;
        let wanted = match self.dry_run || harvest.is_some() {
            true => wanted,
            false => wanted::known(global, wanted, &|target| engine(target, &self.offline), self.archive.is_some())?,
        };
        let mut kept = Vec::new();
        for ((images, bundle), embedded) in images.iter().zip(&bundles).zip(&embedded) {
            kept.push(match emit {
                Emit::Embed => plans::kept(&wanted, images, bundle, (embedded.as_ref(), self.archive))?,
                _ => Vec::new(),
            });
        }

        let (mut all_plans, mut problems, mut works) = (Vec::new(), Vec::new(), Vec::new());
        for ((images, bundle), numbers) in images.iter().zip(&bundles).zip(&numbers) {
            let mut plans = plans(global, &wanted, images, Goal::Executables(Some(bundle)), (&recipes, numbers))?;
            plans.metadata = plans::metadata(&arena, images, &wanted, &plans)?;
            let mut own = bundle.problems.clone();
            own.append(&mut plans.problems);
            self.tell_problems(global, numbers, &mut own);
            let work = Work { names: global.names(), wanted: &wanted, images, numbers };
            self.all_or_nothing(&work, plans.left_out())?;
            all_plans.push(plans);
            problems.push(own);
            works.push(work);
        }
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let first_images = images.first().map(Vec::as_slice).unwrap_or_default();
        let earlier_parts = compiled::check_parts(emit, output, first_images, wanted.len(), &paths)?;
        let mut refused: Vec<&Path> = Vec::new();
        if self.writes() && emit == Emit::Embed {
            for (((hosts, bundle), plans), group) in hosts.iter().zip(&bundles).zip(&all_plans).zip(&groups) {
                let Some(host) = hosts.first().filter(|host| host.kind == Kind::Elf) else { continue };
                let archives = Archives::planned(self.archive, plans, &wanted);
                let units = plans.jobs.iter().map(|job| (job.unit(), &[][..]));
                let planned = plans::listed(&wanted, plans, units, &archives);
                let planned: Vec<Addition<'_>> = planned.into_iter().map(|(addition, _)| addition).collect();
                match possible(host, bundle, &planned).context(|| group.name()) {
                    // A file of a package that cannot be rewritten does not stop the others.
                    Err(error) if package.is_some() => {
                        global.error(&error);
                        refused.push(group.output);
                    }
                    other => other?,
                }
            }
        }
        for (plans, group) in all_plans.iter_mut().zip(&groups) {
            if refused.contains(&group.output) {
                plans.jobs.clear();
            }
        }
        let modules: Vec<Modules<'_>> =
            all_plans.iter().map(|plans| archive::modules(self.archive, &wanted, &plans.jobs)).collect();
        let begun = Instant::now();
        let batch = Batch::new(works, &bundles);
        let mut harvested = Vec::new();
        if let Some(harvest) = &harvest {
            for ((start, work), plans) in batch.parts.iter().zip(&mut all_plans) {
                harvested.extend(harvest.take(*start, &wanted, plans));
                self.all_or_nothing(work, plans.left_out())?;
            }
        }
        let mut jobs = batch.jobs(&mut all_plans);
        if let (Some(unit), Some(numbers)) = (&self.pace.unit, numbers.first()) {
            jobs.retain(|job| numbers.shown(job.image) == unit.image);
            jobs.first().ok_or_else(|| unit.missing())?;
        }
        let configs = self.configs.files().iter().cloned().chain(recipes.file().map(Path::to_path_buf));
        let prerequisites: Vec<PathBuf> = self.files.iter().cloned().chain(configs).collect();
        if let (Some((draft, to)), Some((_, work))) = (&self.draft, batch.parts.first()) {
            return self.write_plan((draft, to.as_deref()), work, &jobs, &prerequisites, out);
        }
        let mut watch = self.record.watch(&batch)?;
        let done =
            if self.dry_run { Ok(self.trial(&batch, &jobs)) } else { self.compile(global, &batch, jobs, &mut watch) };
        let recorded = self.record.traced(&mut watch);
        let mut done = done?;
        done.harvested = harvested.iter().map(Binary::unit).collect();
        done.compiled.extend(harvested);
        recorded?;
        let seconds = begun.elapsed().as_secs_f64();
        let inputs: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        self.record.reported(&batch, &watch, &done, inputs.clone())?;
        let expected_seconds = done.expected;
        let (slowest, libraries) = (batch.slowest(&watch), done.libraries.clone());
        let whole =
            refused.is_empty() && done.failures.is_empty() && problems.iter().all(Vec::is_empty) && !self.dry_run;
        let exit = match (problems.iter().all(Vec::is_empty), done.failures.is_empty()) {
            (false, _) => Exit::Input,
            (true, false) => Exit::Build,
            (true, true) => Exit::Done,
        };
        let apart =
            done.apart.iter().map(|(apart, images)| Alone { images: *images, reason: apart.reason() }).collect();
        let shares = batch.shares(done);
        for ((_, work), done) in batch.parts.iter().zip(&shares) {
            let failures = done.failures.iter();
            self.all_or_nothing(work, failures.map(|failure| (failure.image, failure.target, failure.to_string())))?;
        }

        let names: Vec<String> = wanted.iter().map(|wanted| wanted::describe(&wanted.target)).collect();
        let mut built: Option<Built> = None;
        let mut archives = Vec::new();
        for ((plans, done), modules) in all_plans.iter().zip(&shares).zip(&modules) {
            archives.push(Archives::pack(self.archive, &wanted, plans, (&done.compiled, modules))?);
        }
        let parts =
            groups.iter().zip(&hosts).zip(&bundles).zip(&all_plans).zip(batch.parts.iter().zip(&shares)).zip(kept);
        for (
            (((((group, hosts), bundle), plans), ((_, work), done)), kept),
            ((problems, (sources, total)), archives),
        ) in parts.zip(problems.iter().zip(sources.iter().zip(&totals)).zip(&archives))
        {
            let Some(host) = hosts.first() else { continue };
            let devices = plans::devices(&wanted, &done.compiled);
            let mut additions = plans::additions(global, &wanted, plans, (&done.compiled, &devices), archives);
            let drop_spirv =
                if self.no_spirv { work.drops_spirv(plans, done, self.shard().is_some()) } else { HashSet::new() };
            let frozen = plans.specialized.keys().map(|(image, _)| *image).filter(|image| drop_spirv.contains(image));
            let frozen = frozen.collect::<HashSet<usize>>().len();
            if frozen > 0 && self.writes() {
                global.note(&format!(
                    "without SPIR-V the specialization constants of {} keep their values: what a program sets is ignored",
                    counted(frozen, "image")
                ));
            }
            let taken_over = kept.len();
            additions.extend(kept);
            let what = Compiled {
                host,
                bundle,
                images: work.images,
                additions: &additions,
                march: wanted.iter().find_map(|wanted| wanted.target.march()),
                targets: &names,
                drop_spirv: &drop_spirv,
                linked: &plans.linked,
            };
            let mode = group.files.first().and_then(|path| mode_of(path));
            let bytes_after = if self.writes() && !refused.contains(&group.output) {
                compiled::write(global, &form, &what, group.output, mode)?
            } else {
                0
            };
            let own = Built {
                schema_version: SchemaVersion,
                inputs: vec![group.name()],
                output: group.output.display().to_string(),
                emit: emit.name(),
                images: *total,
                archives: archives.count(),
                unselected: total.saturating_sub(work.images.len()),
                taken_over,
                dry_run: self.dry_run,
                problems: problems.iter().map(ImageProblem::from).collect(),
                bytes_before: sources.iter().map(Source::size).sum(),
                without_spirv: work.shown(&drop_spirv),
                bytes_after,
                ..work.document(plans, done, emit == Emit::Embed, self.dry_run)
            };
            match &mut built {
                Some(all) => all.add(own),
                None if package.is_some() => built = Some(Built::of_package(own)),
                None => built = Some(own),
            }
        }
        let some_refused = !refused.is_empty();
        let (mut exit, mut written) = (exit, Vec::new());
        if let Some(package) = package {
            if package.exit != Exit::Done || some_refused {
                exit = Exit::Input;
            }
            if self.writes() {
                written = package.finish(global)?;
            }
        }
        let idle = !self.dry_run && exit == Exit::Done && built.as_ref().is_some_and(Built::made_nothing);
        if self.writes() {
            let _ = earlier_parts.clear(output);
            self.after(output, &prerequisites, &libraries)?;
        }
        // An output of a build that ends with another code than 0 is made again.
        if let Some(stamp) = self.stamp.as_ref().filter(|_| whole && !idle) {
            touch(stamp)?;
        }
        let built = Built {
            inputs,
            // Of a package the one file that was written, or the folder.
            output: match written.as_slice() {
                [one] => one.display().to_string(),
                _ => output.display().to_string(),
            },
            seconds,
            slowest,
            saved_seconds: watch.seconds(),
            expected_seconds,
            apart,
            ..built.unwrap_or_default()
        };
        self.tell(global, &built, out)?;
        if idle {
            let remedy = built.staying.iter().find_map(|staying| staying.remedy).unwrap_or_default();
            return Err(Error::new(ErrorKind::Build, "no image was compiled").with_remedy(remedy));
        }
        Ok(exit)
    }

    /// The place of the output; empty for a shard or a trial, which write none.
    fn place(&self) -> &Path {
        let own = self.files.first().filter(|_| self.in_place);
        self.output.as_ref().or(own).map_or(Path::new(""), PathBuf::as_path)
    }

    /// All inputs as one group, with one output.
    fn group(&self) -> Group<'_> {
        Group {
            files: self.files.iter().map(PathBuf::as_path).collect(),
            name: None,
            output: self.place(),
            in_place: self.in_place,
        }
    }

    /// The linked files to build one by one, where the inputs hold or are several.
    fn package(&self, global: &Global) -> Result<Option<Package>> {
        let output = self.output.as_deref();
        if (output.is_none() && !self.in_place && !self.dry_run)
            || self.form.emit.is_some_and(|emit| emit != Emit::Embed)
        {
            return Ok(None);
        }
        let package = Package::open(global, &self.files, output, self.writes())?;
        if package.is_some() && (self.depend.asked() || self.draft.is_some() || self.pace.unit.is_some()) {
            let message = "a package has several outputs, and dependencies and plans are of one";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("name one library, or use --stamp"));
        }
        Ok(package)
    }

    /// The selected images of each bundle, and how many images it has. In a package, files without a selected image have none.
    fn selected<'b, 'a>(
        &self,
        bundles: &'b [Bundle<'a>],
        embedded: &[Option<Bundle<'_>>],
        numbers: &mut [Numbers],
    ) -> Result<(Vec<Vec<Examined<'b, 'a>>>, Vec<usize>)> {
        let selector = self.selection.selector()?;
        let (mut selected, mut totals, mut nothing) = (Vec::new(), Vec::new(), None);
        for ((bundle, embedded), numbers) in bundles.iter().zip(embedded).zip(numbers) {
            let all = examine(bundle);
            totals.push(all.len());
            selected.push(match numbers.select(&selector, all, bundle, embedded.as_ref()) {
                Err(error) if error.kind() == ErrorKind::NoMatch => {
                    nothing.get_or_insert(error);
                    Vec::new()
                }
                other => other?,
            });
        }
        match nothing {
            Some(error) if selected.iter().all(Vec::is_empty) => Err(error),
            _ => Ok((selected, totals)),
        }
    }

    /// Whether there is an output.
    fn writes(&self) -> bool {
        self.shard().is_none() && !self.dry_run
    }

    /// Says what is damaged, by the numbers that the user knows.
    fn tell_problems(&self, global: &Global, numbers: &Numbers, problems: &mut [Problem]) {
        for problem in problems {
            let file = numbers.file(problem.image.unwrap_or(0)).to_owned();
            problem.image = problem.image.map(|image| numbers.shown(image));
            let error = problem.error.clone();
            let error = problem.image.map_or(error.clone(), |image| error.context(format!("image {image}")));
            global.error(&error.context(file));
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
        let count = missing.count();
        let error = Error::new(ErrorKind::Build, message);
        Err(match count.saturating_sub(1) {
            0 => error,
            more => error.with_remedy(format!("{more} more do not; without --all-or-nothing all of them are listed")),
        })
    }

    /// Compiles what is planned.
    fn compile(
        &self,
        global: &Global,
        batch: &Batch<'_, '_>,
        jobs: Vec<Job<'_>>,
        watch: &mut Watch<'_>,
    ) -> Result<CompileResults> {
        let Some((_, work)) = batch.parts.first() else { return Ok(CompileResults::default()) };
        if work.wanted.iter().any(|wanted| wanted.target.march().is_some()) {
            self.install.apply()?;
        }
        let cache = cache::cache(!self.no_cache);
        if self.shard().is_some() && cache.is_none() {
            let error = Error::new(ErrorKind::Environment, "a shard is compiled into the cache, and there is none");
            return Err(error.with_remedy("set SYCL_BUNDLE_CACHE_DIR to a folder that all machines share"));
        }
        let targets = work.targets();
        let settings = || Settings {
            timeout: self.timeout,
            retries: self.pace.retries.unwrap_or(RETRIES),
            fail_fast: self.pace.fail_fast,
            memory: global.max_memory,
            ..settings(self.jobs)
        };
        let engines = targets.iter().map(|target| engine(target, &self.offline)).collect::<Result<Vec<_>>>()?;
        let environment: Vec<_> = std::env::vars_os().collect();
        let order = CompileOptions {
            targets: &targets,
            engines: &engines,
            settings: &settings,
            environment: &environment,
            cache: cache.as_ref(),
            shard: self.shard(),
            fold: !self.no_fold,
            share: self.share_code,
        };
        let several = targets.len() > 1;
        let name = |unit: Unit| {
            let of_target = if several { format!(" for {}", work.target(unit.1)) } else { String::new() };
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
        let live = live::find(global, &self.devices)?;
        let target = |word: &String| wanted::live_target(global, word, live.choose(word)?, live.simulated(), march);
        self.devices.iter().map(target).collect()
    }

    /// The result of a trial, as far as it is known without the compilers.
    fn trial(&self, batch: &Batch<'_, '_>, jobs: &[Job<'_>]) -> CompileResults {
        let targets = batch.parts.first().map(|(_, work)| work.targets()).unwrap_or_default();
        let folding = compile::folding(!self.no_fold, &targets, jobs);
        CompileResults { folded: folding.clones, apart: folding.apart, ..CompileResults::default() }
    }

    /// Writes the files that build systems ask for, after the output.
    fn after(&self, output: &Path, inputs: &[PathBuf], libraries: &[PathBuf]) -> Result<()> {
        let prerequisites: Vec<PathBuf> = inputs.iter().chain(libraries).cloned().collect();
        self.depend.write(output, self.stamp.as_deref(), &prerequisites)
    }

    /// Refuses files beside the output that are inputs or the output.
    fn spare_all(&self, output: &Path) -> Result<()> {
        self.depend.can_name(self.files.iter().map(PathBuf::as_path).chain([output]))?;
        let depend = self.depend.path(output);
        let stamp = self.stamp.as_deref().map(|stamp| ("--stamp", stamp));
        let plan = self.draft.as_ref().and_then(|(_, to)| Some(("--to", to.as_deref()?)));
        let depend = depend.as_deref().map(|file| ("--MF", file));
        for (option, file) in self.record.files().chain(stamp).chain(depend).chain(plan) {
            let others = self.files.iter().map(PathBuf::as_path).chain([output]);
            spare_others(others, option, file)?;
        }
        Ok(())
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
        (self.dry_run, self.draft) = (true, Some((draft, to)));
        Ok(())
    }

    /// Writes the commands that do the work.
    fn write_plan(
        &self,
        (draft, to): (&Draft, Option<&Path>),
        work: &Work<'_, '_>,
        jobs: &[Job<'_>],
        inputs: &[PathBuf],
        out: &mut Output,
    ) -> Result<Exit> {
        let clones: HashSet<Unit> = self.trial(&Batch { parts: vec![(0, *work)] }, jobs).folded.into_iter().collect();
        let edge = |job: &Job<'_>| Edge {
            unit: format!("{}:{}", work.numbers.shown(job.image), work.target(job.target)),
            label: work.label(job.unit()),
            bytes: job.il.len(),
        };
        let edges = jobs.iter().filter(|job| !clones.contains(&job.unit())).map(edge).collect();
        let text = draft.text(edges, inputs, self.output.as_deref().unwrap_or(Path::new("")))?;
        match to {
            Some(path) => write_atomically(path, text.as_bytes(), None).map(|_| Exit::Done),
            None => out.data(&text).map(|()| Exit::Done),
        }
    }
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
    for host in hosts.iter().filter(|host| host.kind == Kind::Pe) {
        if pe::size(host.bytes)? > 0 {
            return usage(
                "the file is signed, and the signature would be wrong once the file is changed",
                "unpack it, build with `--emit table`, and add the table with `sycl-bundle embed --replace --drop-signature`",
            );
        }
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
