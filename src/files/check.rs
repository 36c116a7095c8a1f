//! `check` and `has`: do kernels run on targets, keep to what is demanded, and link?

use super::input::{Input, has_stdin};
use super::sources::{spare_opened_by, spare_others};
use super::write::write_atomically;
use super::{ReadOptions, collect_offers, each_file, each_file_with, each_linked, report_problems};
use crate::bundle::image::State;
use crate::compat::aspects::codes_where;
use crate::compat::finding::Verdict;
use crate::compat::fit::Subject;
use crate::compat::gate::judgement::Depth;
use crate::compat::has::{Asked, Bundles};
use crate::compat::kernels::bodies;
use crate::compat::link::{self, LinkUnit};
use crate::compat::offers::{Lent, Provider, are_open};
use crate::compat::other_models::OtherModels;
use crate::container::Arena;
use crate::device::did_you_mean;
use crate::error::{Error, ErrorKind, Exit, Reporter, Result};
use crate::limits;
use crate::policy::AppliedPolicy;
use crate::report::check::Answers;
use crate::report::check::{AspectCheck, Questions};
use crate::report::evidence::Names;
use crate::report::gate::baseline::{Baseline, Compared};
use crate::report::gate::findings::{Findings, JudgedTarget};
use crate::report::gate::{self, Judged, TargetFindings};
use crate::report::has::Answered;
use crate::report::json::FileProblem;
use crate::report::link::{self as linking, CheckedLink};
use crate::report::name::{display, shorten};
use crate::report::text::documented;
use crate::report::text::{count, counted};
use crate::select::{KernelName, Pattern, Selector};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Findings that are gone and are named; the rest is counted.
const NAMED: usize = 10;

/// The exit code of a verdict on files, the reading of which ended with `exit`.
fn exit_of(exit: Exit, verdict: Verdict, strict: bool) -> Exit {
    let fails = match verdict {
        Verdict::Incompatible => true,
        Verdict::Unknown => strict,
        Verdict::Compatible => false,
    };
    if fails && exit == Exit::Done { Exit::No } else { exit }
}

/// Kernels that are to be judged for targets: what `check -t` and policies do.
pub(crate) struct Gate<'g> {
    /// The files.
    pub(crate) files: &'g [PathBuf],
    /// The selection among their images and kernels.
    pub(crate) selector: Selector,
    /// The targets; none where the policy has budgets alone.
    pub(crate) targets: Vec<JudgedTarget<'g>>,
    /// The policy that holds, and the day.
    pub(crate) policy: Option<&'g AppliedPolicy>,
    /// The findings that are known, and the file of them.
    pub(crate) baseline: Option<(String, Baseline)>,
    /// The file that all findings are written to, which are known from then on.
    pub(crate) write_baseline: Option<&'g Path>,
    /// The number of findings whose evidence is looked for.
    pub(crate) depth: Depth,
    /// The form of kernels' names.
    pub(crate) names: Names,
    /// Whether the unknown fails.
    pub(crate) strict: bool,
}

impl Gate<'_> {
    /// Judges the files.
    ///
    /// # Errors
    /// `NoMatch` where no kernel is selected; what cannot be read or written.
    pub(crate) fn judge(self, reporter: &dyn Reporter) -> Result<(Judged, Exit)> {
        let Gate { files, mut selector, targets, baseline, write_baseline, depth, names, .. } = self;
        let policy = self.policy.map(|held| &held.policy);
        let today = self.policy.and_then(|held| held.today);
        // Names and states choose among kernels and among the images of each; they hide no image that others import
        // from.
        let kernels = std::mem::take(&mut selector.kernels);
        let states = std::mem::take(&mut selector.states);
        let wanted = |name: &str| kernels.is_empty() || KernelName::new(name).matches_any(&kernels);
        let mut others = OtherModels::new(targets.iter().map(|judged| judged.target));
        let mut findings = Findings::new(targets, states, policy, today, depth);
        let mut problems: Vec<FileProblem> = Vec::new();
        let options = ReadOptions { skip_hash: true, ..ReadOptions::default() };
        let (mut open, mut count) = (false, 0usize);
        let mut exit = each_file_with(reporter, files, &selector, options, |facts| {
            others.count(facts.bundle.map(|bundle| bundle.kind), &mut facts.images);
            report_problems(reporter, facts);
            problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
            open |= are_open(&facts.images);
            count = count.saturating_add(1);
            findings.file(facts, &Lent::default(), wanted)?;
            Ok(())
        })?;
        let mut providers = Vec::new();
        if !findings.any && others.any() && !has_stdin(files) {
            // Where there is nothing else, the user means these.
            others = OtherModels::default();
            findings = findings.cleared();
            let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
            each_file_with(reporter, files, &selector, options, |facts| {
                findings.file(facts, &Lent::default(), wanted)?;
                Ok(())
            })?;
        } else if open && (count > 1 || !selector.is_all()) {
            (findings, providers) = linked_elsewhere(reporter, files, &selector, findings, wanted, &others)?;
        }
        others.note("judged").iter().for_each(|note| reporter.note(note));
        if !findings.any && exit == Exit::Done {
            if !kernels.is_empty() {
                let error = Error::new(ErrorKind::NoMatch, "no kernel matches `--kernel`");
                return Err(error.with_remedy("`sycl-bundle kernels` lists them"));
            }
            if policy.is_none_or(|policy| policy.budget.is_open()) {
                let error =
                    Error::new(ErrorKind::NoDeviceCode, "the files hold no kernel, so there is nothing to judge");
                exit = reporter.error(&error.with_remedy("`sycl-bundle inspect` tells what is in them"));
            }
        }
        let whole = kernels.is_empty() && selector.is_all() && exit == Exit::Done;
        let seen: Vec<Arc<str>> = findings.files.clone();
        let (mut targets, notes) = findings.end(whole);
        notes.iter().for_each(|note| reporter.note(note));
        let compared = match (&baseline, write_baseline) {
            (Some((name, known)), _) => Some(compare(reporter, names, name, known, &mut targets, &seen, whole)),
            (None, Some(path)) => Some(write_findings(reporter, names, path, &mut targets, &seen)?),
            (None, None) => None,
        };
        let strict = self.strict || policy.is_some_and(|policy| policy.strict);
        let exit = exit_of(exit, gate::verdict(&targets), strict);
        Ok((Judged { targets, problems, compared, providers, strict }, exit))
    }
}

/// Judges files once more, now that all have been seen: what one lacks another may have, or an image that was not
/// selected. Also gives who has it. Standard input is not read again.
///
/// # Errors
/// Errors of reading.
pub(crate) fn linked_elsewhere<'f>(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    selector: &Selector,
    findings: Findings<'f>,
    wanted: impl Fn(&str) -> bool,
    others: &OtherModels,
) -> Result<(Findings<'f>, Vec<Provider>)> {
    let mut providers = Vec::new();
    if has_stdin(files) {
        return Ok((findings, providers));
    }
    let arena = Arena::with_limit(u64::MAX);
    let mut offers = collect_offers(reporter, files, &arena)?;
    let mut findings = findings.cleared();
    let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
    each_file_with(reporter, files, selector, options, |facts| {
        others.leave_out(facts.bundle.map(|bundle| bundle.kind), &mut facts.images);
        let last = facts.bundle.and_then(|bundle| bundle.images.last()).map_or(0, |image| image.index);
        let mut lent = offers.lend(&facts.path.into(), &mut facts.images, last.saturating_add(1));
        findings.file(facts, &lent, &wanted)?;
        providers.append(&mut lent.providers);
        Ok(())
    })?;
    Ok((findings, providers))
}

/// A baseline, with its name.
///
/// # Errors
/// `Io` where it cannot be read, `Input` where it is none.
pub(crate) fn read_baseline(path: &Path) -> Result<(String, Baseline)> {
    let name = path.display().to_string();
    let text = Input::read_settings(path, limits::MAX_RECORDED).map_err(|error| match path.exists() {
        true => error,
        false => error.with_remedy(format!("`--write-baseline {name}` writes what is found now")),
    })?;
    let baseline = Baseline::read(&name, &text)?;
    Ok((name, baseline))
}

/// Marks what is known, and tells what is gone where all was looked at.
fn compare(
    reporter: &dyn Reporter,
    names: Names,
    name: &str,
    baseline: &Baseline,
    targets: &mut [TargetFindings],
    files: &[Arc<str>],
    whole: bool,
) -> Compared {
    let mut compared = baseline.apply(name, targets, files);
    if !whole {
        compared.gone.clear();
    }
    let gone = &compared.gone;
    for one in gone.iter().take(NAMED) {
        let kernel = if names.demangle { display(&one.kernel) } else { one.kernel.clone() };
        let aspect = one.aspect.as_ref().map(|aspect| format!(" {aspect}")).unwrap_or_default();
        reporter.note(&format!(
            "no longer found: {}{aspect} on {} of {} in {}",
            one.rule,
            one.target,
            shorten(&kernel, 80),
            one.file
        ));
    }
    if let Some(more) = gone.len().checked_sub(NAMED).filter(|more| *more > 0) {
        reporter.note(&format!("and {} more", count(more)));
    }
    if !gone.is_empty() {
        reporter.note(&format!("`--write-baseline {name}` takes them out of the baseline"));
    }
    compared
}

/// The baseline of a file, unless one is to be written, which must not replace one of the files.
///
/// # Errors
/// `Io` where it cannot be read, `Input` where it is none, `Usage` where one of the files would become it.
pub(crate) fn known_findings(
    known: Option<&Path>,
    written: Option<&Path>,
    files: &[PathBuf],
) -> Result<Option<(String, Baseline)>> {
    if let Some(path) = written {
        spare_others(files.iter().map(PathBuf::as_path), "--write-baseline", path)?;
    }
    known.map(read_baseline).transpose()
}

/// Writes all findings to a file; they are known from then on.
fn write_findings(
    reporter: &dyn Reporter,
    names: Names,
    path: &Path,
    targets: &mut [TargetFindings],
    files: &[Arc<str>],
) -> Result<Compared> {
    let baseline = Baseline::from_findings(targets);
    spare_opened_by("--write-baseline", path)?;
    write_atomically(path, documented(&baseline.text()).as_bytes(), None)?;
    let name = path.display().to_string();
    reporter.note(&format!("{} written to {name}", counted(baseline.len(), "finding")));
    Ok(compare(reporter, names, &name, &baseline, targets, files, false))
}

/// Judges the code of kernels against what is declared, recorded or fixed: what `check --declared` and its like do.
///
/// # Errors
/// Errors of reading and selecting.
pub(crate) fn warn<'q>(
    reporter: &dyn Reporter,
    (files, selector): (&[PathBuf], &Selector),
    questions: &Questions<'q>,
    strict: bool,
) -> Result<(Answers<'q>, Exit)> {
    let mut check = AspectCheck::default();
    let mut problems: Vec<FileProblem> = Vec::new();
    let exit = each_file(reporter, files, selector, |facts| {
        report_problems(reporter, facts);
        problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
        check.add(facts);
        Ok(())
    })?;
    let warnings = check.warnings(questions, exit != Exit::Input, &|kernel| selector.takes_kernel(kernel));
    let answers = Answers { warnings, problems };
    let exit = exit_of(exit, answers.verdict(), strict);
    Ok((answers, exit))
}

/// Links the images of the files: what `check --link` does.
///
/// # Errors
/// Errors of reading and selecting.
pub(crate) fn link(
    reporter: &dyn Reporter,
    (files, selector): (&[PathBuf], &Selector),
    strict: bool,
) -> Result<(CheckedLink, Exit)> {
    let mut units: Vec<LinkUnit> = Vec::new();
    let mut partial = false;
    let mut problems: Vec<FileProblem> = Vec::new();
    let exit = each_file(reporter, files, selector, |facts| {
        report_problems(reporter, facts);
        problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
        let file: Arc<str> = facts.path.into();
        let codes = codes_where(&facts.images, |image| !image.imports.is_empty());
        partial |= facts.images.iter().any(|image| image.problem.is_some());
        units.extend(link::units(&file, &facts.images, &codes));
        Ok(())
    })?;
    compare_bodies(reporter, files, selector, &mut units)?;
    let linked = link::link(&units);
    let partial = partial || exit == Exit::Input;
    let exit = exit_of(exit, linking::verdict(&linked, partial), strict);
    Ok((CheckedLink { linked, units, partial, problems, strict }, exit))
}

/// Looks into the kernels that several files have: images of several kernels may differ in others. Standard input cannot be
/// read again; its images are taken as wholes.
fn compare_bodies(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    selector: &Selector,
    units: &mut [LinkUnit],
) -> Result<()> {
    let wanted: HashSet<String> = link::in_several_files(units).into_iter().map(str::to_owned).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let mut places: HashMap<(Arc<str>, usize), &mut LinkUnit> =
        units.iter_mut().map(|unit| ((unit.file.clone(), unit.image), unit)).collect();
    let files: Vec<PathBuf> = files.iter().filter(|file| **file != Path::new("-")).cloned().collect();
    each_file_with(reporter, &files, selector, ReadOptions { silent: true, ..ReadOptions::default() }, |facts| {
        let file: Arc<str> = facts.path.into();
        for image in &facts.images {
            if let Some(unit) = places.get_mut(&(file.clone(), image.image.index)) {
                unit.bodies = bodies(image, &wanted);
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Asks for a kernel bundle of a state, with the kernels that match one of `patterns`, for targets: what `has` does. Gives
/// no answer where nothing could be read.
///
/// # Errors
/// `Usage` where no kernel has a name that was given; what cannot be read.
pub(crate) fn has(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    targets: &[JudgedTarget<'_>],
    patterns: &[Pattern],
    state: State,
) -> Result<(Option<Answered>, Exit)> {
    let nothing = || {
        let subjects = targets.iter().map(|one| Subject::new(one.target).with_march(one.march)).collect();
        Bundles::new(Asked { state, subjects })
    };
    let mut bundles = nothing();
    let (mut open, mut count) = (false, 0usize);
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name));
    let mut models = OtherModels::new(targets.iter().map(|judged| judged.target));
    let (mut others, mut problems) = (Vec::new(), Vec::new());
    let exit = each_file(reporter, files, &Selector::default(), |facts| {
        report_problems(reporter, facts);
        problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
        let names = facts.images.iter().flat_map(|image| &image.kernels);
        others.extend(names.filter(|name| !wanted(name)).map(|name| display(name)));
        models.count(facts.bundle.map(|bundle| bundle.kind), &mut facts.images);
        bundles.file(&facts.images, wanted);
        open |= are_open(&facts.images);
        count = count.saturating_add(1);
        Ok(())
    })?;
    if bundles.is_empty() && models.any() && !has_stdin(files) {
        // Where there is nothing else, the user means these.
        models = OtherModels::default();
        let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
        each_file_with(reporter, files, &Selector::default(), options, |facts| {
            bundles.file(&facts.images, wanted);
            Ok(())
        })?;
    }
    models.note("judged").iter().for_each(|note| reporter.note(note));
    if open && count > 1 {
        let mut linked = nothing();
        let all = each_linked(reporter, files, &models, |_, images| {
            linked.file(images, wanted);
            Ok(())
        })?;
        bundles = if all { linked } else { bundles };
    }
    if exit != Exit::Done && bundles.is_empty() {
        return Ok((None, exit));
    }
    for pattern in patterns {
        // A file that could not be read may have it.
        if exit == Exit::Done && !bundles.names().any(|name| matches(pattern, name)) {
            let error = Error::new(ErrorKind::Usage, format!("No kernel named {} was found", pattern.text()));
            let near = did_you_mean(pattern.text(), others.iter().map(String::as_str));
            let remedy = near.unwrap_or_else(|| "`sycl-bundle kernels` lists them".to_owned());
            return Err(error.with_remedy(remedy));
        }
    }
    let by_id = !patterns.is_empty();
    let conclusion = bundles.conclude(by_id);
    let exit = exit_of(exit, conclusion.verdict, true);
    let targets = targets.iter().map(|one| one.target.name.clone()).collect();
    Ok((Some(Answered { conclusion, state, targets, by_id, problems }), exit))
}

fn matches(pattern: &Pattern, name: &str) -> bool {
    pattern.matches_kernel(&KernelName::new(name)) || pattern.text() == display(name)
}
