//! What does `build` do, from the command line to the output?

use super::compile::{self, Done, Order};
use super::plans::plans;
use super::record::RecordArgs;
use super::targets::{self, Asked};
use super::told::Work;
use super::watch::Watch;
use super::{Args, form, natives};
use crate::cli::cache;
use crate::cli::emit::compiled::{self, Compiled};
use crate::cli::emit::{self, Emit};
use crate::cli::exit::{Exit, report};
use crate::cli::format::Summary;
use crate::cli::global::Global;
use crate::cli::output;
use crate::cli::sources::{Numbers, Source, spare_others};
use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use sycl_bundle::build::{Job, RETRIES, Unit};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::examine::examine;
use sycl_bundle::container::Host;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Problem, Result};
use sycl_bundle::report::built::{self, Built};
use sycl_bundle::report::json::{ImageProblem, SchemaVersion};
use sycl_bundle::rewrite::embed::{Addition, possible};

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        if self.recipe.example_policy {
            return output::schema(sycl_bundle::policy::rules::EXAMPLE);
        }
        if self.schema {
            return output::schema(&built::schema());
        }
        if self.record.report_schema {
            return RecordArgs::print_schema();
        }
        let table = self.configs.table(global)?;
        let recipes = self.recipe.load(global, &table)?;
        let by_policy = self.targets.is_empty() && self.devices.is_empty();
        let targets = if by_policy { &recipes.rules.targets } else { &self.targets };
        let asked = Asked { targets, devices: &self.devices, march: self.march.as_deref() };
        let mut wanted = targets::wanted(global, &table, &asked)?;
        if let Some(unit) = &self.pace.unit {
            wanted.retain(|wanted| wanted.target.name == unit.target);
        }
        // Without an output there is a shard or a trial, which write none.
        let own = self.files.first().filter(|_| self.in_place);
        let output = self.output.as_ref().or(own).map_or(Path::new(""), PathBuf::as_path);
        if self.format == Summary::Json && output.as_os_str() == "-" {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        let form = if self.in_place { Some(Emit::Embed) } else { self.form.emit };
        if self.writes() {
            emit::check_place(form, output)?;
        }
        self.spare_all(output)?;
        let mut sources = Vec::new();
        for path in &self.files {
            let output = Some(output).filter(|_| !self.in_place);
            sources.push(Source::open(global, path, output).context(|| path.display().to_string())?);
        }
        let mut hosts = Vec::new();
        for source in &sources {
            hosts.push(Host::read(source.bytes()).context(|| source.name())?);
        }
        let mut bundles = Vec::new();
        for (source, host) in sources.iter().zip(&hosts) {
            bundles.push(source.bundle(host).context(|| source.name())?);
        }
        let emit = form::emit(form, output, &hosts)?;
        let form = self.form.form_of_build(emit, output)?;
        let (Some(host), Some(source)) = (hosts.first(), sources.first()) else {
            return Err(Error::new(ErrorKind::Usage, "no input"));
        };
        let mut numbers = Numbers::new(&sources, &bundles);
        let bundle = Bundle::union(bundles);
        let before = source.embedded().map(Host::read).transpose()?;
        let embedded = before.as_ref().map(Bundle::read).transpose()?;
        let all = examine(&bundle);
        let total = all.len();
        let images = numbers.select(&self.selection.selector()?, all, &bundle, embedded.as_ref())?;
        let wanted = if self.dry_run { wanted } else { targets::known(global, wanted, self.ocloc.as_deref())? };
        let kept = match emit {
            Emit::Embed => natives::kept(&wanted, &images, &bundle, embedded.as_ref())?,
            _ => Vec::new(),
        };

        let mut plans = plans(global, &wanted, &images, Some(&bundle), (&recipes, &numbers))?;
        let mut problems = bundle.problems.clone();
        problems.append(&mut plans.problems);
        self.tell_problems(global, &numbers, &mut problems);
        let work = Work { global, wanted: &wanted, images: &images, numbers: &numbers };
        self.all_or_nothing(&work, plans.left_out())?;
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let earlier_parts = compiled::check_parts(emit, output, &images, wanted.len(), &paths)?;
        if self.writes() && emit == Emit::Embed {
            let target = |job: &Job<'_>| wanted.get(job.target).map(|wanted| &wanted.target);
            let planned: Vec<Addition<'_>> = plans
                .jobs
                .iter()
                .filter_map(|job| Some(natives::addition(target(job)?, job.unit(), &plans, &[])))
                .collect();
            possible(host, &bundle, &planned).context(|| source.name())?;
        }
        let begun = Instant::now();
        let mut jobs = std::mem::take(&mut plans.jobs);
        if let Some(unit) = &self.pace.unit {
            jobs.retain(|job| numbers.shown(job.image) == unit.image);
            jobs.first().ok_or_else(|| unit.missing())?;
        }
        let configs = self.configs.files().iter().cloned().chain(recipes.file().map(Path::to_path_buf));
        let prerequisites: Vec<PathBuf> = self.files.iter().cloned().chain(configs).collect();
        if let Some(draft) = &self.draft {
            return self.write_plan(draft, &work, &jobs, &prerequisites);
        }
        let mut watch = self.record.watch(&work)?;
        let done = if self.dry_run { Ok(self.trial(&work, &jobs)) } else { self.compile(&work, jobs, &mut watch) };
        let recorded = self.record.traced(&mut watch);
        let done = done?;
        recorded?;
        let seconds = begun.elapsed().as_secs_f64();
        let failures = done.failures.iter();
        self.all_or_nothing(&work, failures.map(|failure| (failure.image, failure.target, failure.to_string())))?;

        let devices = natives::devices(&wanted, &done.compiled);
        let mut additions = natives::additions(global, &wanted, &plans, (&done.compiled, &devices));
        let bare = if self.no_spirv { work.bare(&plans, &done, self.shard().is_some()) } else { HashSet::new() };
        let frozen = plans.specialized.keys().map(|(image, _)| *image).filter(|image| bare.contains(image));
        let frozen = frozen.collect::<HashSet<usize>>().len();
        if frozen > 0 && self.writes() {
            global.note(&format!(
                "without SPIR-V the specialization constants of {frozen} images keep their values: what a program sets is ignored"
            ));
        }
        let taken_over = kept.len();
        additions.extend(kept);
        let names: Vec<String> = wanted.iter().map(|wanted| targets::describe(&wanted.target)).collect();
        let what = Compiled {
            host,
            bundle: &bundle,
            images: &images,
            additions: &additions,
            march: wanted.iter().find_map(|wanted| wanted.target.march()),
            targets: &names,
            bare: &bare,
            linked: &plans.linked,
        };
        let mode = self.files.first().and_then(|path| emit::mode_of(path));
        let bytes_after = if self.writes() { compiled::write(global, &form, &what, output, mode)? } else { 0 };
        if self.writes() {
            let _ = earlier_parts.clear(output);
            self.after(output, &prerequisites, &done.libraries)?;
        }
        // What ends with another code than 0 is made again.
        let whole = done.failures.is_empty() && problems.is_empty() && !self.dry_run;
        if let Some(stamp) = self.stamp.as_ref().filter(|_| whole) {
            output::touch(stamp)?;
        }
        let inputs: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        self.record.reported(&work, &watch, &done, inputs.clone())?;
        let built = Built {
            schema_version: SchemaVersion,
            inputs,
            output: output.display().to_string(),
            emit: emit.name(),
            images: total,
            unselected: total.saturating_sub(images.len()),
            taken_over,
            dry_run: self.dry_run,
            problems: problems.iter().map(ImageProblem::from).collect(),
            bytes_before: sources.iter().map(Source::size).sum(),
            without_spirv: work.shown(&bare),
            bytes_after,
            seconds,
            slowest: work.slowest(&watch),
            saved_seconds: watch.seconds(),
            ..work.told(&plans, &done, emit == Emit::Embed, self.dry_run)
        };
        self.tell(global, &built)?;
        Ok(match (problems.is_empty(), done.failures.is_empty()) {
            (false, _) => Exit::Input,
            (true, false) => Exit::Build,
            (true, true) => Exit::Done,
        })
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
            report(global, &error.context(file));
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
    fn compile(&self, work: &Work<'_, '_>, jobs: Vec<Job<'_>>, watch: &mut Watch<'_>) -> Result<Done> {
        if work.wanted.iter().any(|wanted| wanted.target.march().is_some()) {
            self.install.apply()?;
        }
        let cache = cache::cache(!self.no_cache);
        if self.shard().is_some() && cache.is_none() {
            let error = Error::new(ErrorKind::Environment, "a shard is compiled into the cache, and there is none");
            return Err(error.with_remedy("set SYCL_BUNDLE_CACHE_DIR to a folder that all machines share"));
        }
        let targets = work.targets();
        let order = Order {
            targets: &targets,
            ocloc: self.ocloc.as_deref(),
            jobs: self.jobs,
            timeout: self.timeout,
            retries: self.pace.retries.unwrap_or(RETRIES),
            cache: cache.as_ref(),
            shard: self.shard(),
            fold: !self.no_fold,
            fail_fast: self.pace.fail_fast,
            memory: self.pace.max_memory,
        };
        let several = targets.len() > 1;
        let name = |unit: Unit| {
            let of_target = if several { format!(" for {}", work.target(unit.1)) } else { String::new() };
            format!("{}{of_target}", work.name(unit))
        };
        compile::compile(work.global, &order, jobs, &name, watch)
    }

    /// What would come of what is planned, as far as that is known without the compilers.
    pub(super) fn trial(&self, work: &Work<'_, '_>, jobs: &[Job<'_>]) -> Done {
        let folding = compile::folding(!self.no_fold, &work.targets(), jobs);
        Done { folded: folding.clones, apart: folding.apart, ..Done::default() }
    }

    /// What build systems ask for when the output is written.
    fn after(&self, output: &Path, inputs: &[PathBuf], libraries: &[PathBuf]) -> Result<()> {
        let prerequisites: Vec<PathBuf> = inputs.iter().chain(libraries).cloned().collect();
        self.depend.write(output, self.stamp.as_deref(), &prerequisites)
    }

    /// Refuses files beside the output that are inputs or the output.
    fn spare_all(&self, output: &Path) -> Result<()> {
        let depend = self.depend.path(output);
        let stamp = self.stamp.as_deref().map(|stamp| ("--stamp", stamp));
        let plan = self.draft.as_ref().and_then(|draft| Some(("--to", draft.to.as_deref()?)));
        let depend = depend.as_deref().map(|file| ("--MF", file));
        for (option, file) in self.record.files().chain(stamp).chain(depend).chain(plan) {
            let others = self.files.iter().map(PathBuf::as_path).chain([output]);
            spare_others(others, option, file)?;
        }
        Ok(())
    }

    fn tell(&self, global: &Global, built: &Built) -> Result<()> {
        if self.format == Summary::Json {
            let mut out = output::stdout();
            return writeln!(out, "{}", built.to_json())
                .and_then(|()| out.flush())
                .map_err(|error| output::lost(&error));
        }
        // A plan's commands have their engine tell of them.
        let silent = self.pace.unit.is_some() && built.failed.is_empty() && global.verbose == 0;
        if !global.quiet && !silent {
            let kernel = |name: &str| shown(global, name);
            let text = built.summary(global.verbose > 0, &kernel);
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
        Ok(())
    }
}

/// A kernel's name as the user wants it.
pub fn shown(global: &Global, mangled: &str) -> String {
    if global.demangle { sycl_bundle::report::name::display(mangled) } else { mangled.to_owned() }
}
