//! `check -t` and policies: does every kernel run on the targets, and do files keep to what is demanded?

use super::baseline;
use crate::cli::device_config::{DeviceConfigs, LiveTargets, Named, named_targets};
use crate::cli::global::Global;
use crate::cli::output::{NameList, Output};
use crate::cli::policy_file;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::compat::gate::proof::Depth;
use sycl_bundle::compat::offers::{Lent, Provider, are_open};
use sycl_bundle::container::arena::Arena;
use sycl_bundle::demangle::demangle;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::files::{self, ReadOptions, each_file_with, report_problems};
use sycl_bundle::policy::{Policy, TargetDemands};
use sycl_bundle::report::check::Verdict;
use sycl_bundle::report::document::Form;
use sycl_bundle::report::gate as report;
use sycl_bundle::report::gate::TargetFindings;
use sycl_bundle::report::gate::findings::{Findings, JudgedTarget};
use sycl_bundle::report::json::FileProblem;
use sycl_bundle::select::{Pattern, Selector};

/// The flags of the gate.
#[derive(Debug, clap::Args)]
pub struct GateArgs {
    /// The targets that each kernel must run on, as `targets` lists them, in any spelling (repeatable); by default
    /// those of the policy
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET,...", value_delimiter = ',',
          conflicts_with_all = ["declared", "external"])]
    pub targets: Vec<String>,
    /// The image that the runtime chooses must be compiled for the target already
    #[arg(long, conflicts_with_all = ["declared", "fixed_targets", "external"])]
    require_native: bool,
    /// Print the names of kernels alone that do not run on every target or may not, one a line, for `grep` and scripts;
    /// mangled with --no-demangle
    #[arg(long, conflicts_with_all = ["format", "declared", "fixed_targets", "external", "link"])]
    names: bool,
    /// End with 1 where the verdict is unknown too
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    policy: policy_file::PolicyArgs,
    /// Print a policy that uses every key, and end
    #[arg(long)]
    pub example_policy: bool,
    #[command(flatten)]
    baseline: baseline::BaselineArgs,
    #[command(flatten)]
    pub configs: DeviceConfigs,
    #[command(flatten)]
    live: LiveTargets,
}

impl GateArgs {
    /// Judges the files.
    ///
    /// # Errors
    /// `Usage` where a target is none or nothing is asked, `Input` where the policy or the baseline is wrong, `NoMatch`
    /// where no kernel is selected, `NoDeviceCode` where there is none at all; what cannot be written.
    pub fn run(
        &self,
        global: &Global,
        files: &[PathBuf],
        mut selector: Selector,
        format: Form,
        out: &mut Output,
    ) -> Result<Exit> {
        let mut table = self.configs.table(global)?;
        let mut targets = self.targets.clone();
        targets.extend(self.live.add(global, &mut table)?);
        let held = self.policy.load(global, &table)?;
        let (policy, today) = (held.as_ref().map(|held| &held.policy), held.as_ref().and_then(|held| held.today));
        let known = self.baseline.read(files)?;
        let named = spelled_targets(global, &table, &targets)?;
        let asked = require_targets(global, named, policy, &table, self.require_native)?;
        // These choose among kernels and among the images of each, and hide none that others import from.
        let kernels = std::mem::take(&mut selector.kernels);
        let states = std::mem::take(&mut selector.states);
        let wanted = |name: &str| {
            let matches = |pattern: &Pattern| pattern.matches(name) || pattern.matches(&demangle(name));
            kernels.is_empty() || kernels.iter().any(matches)
        };
        // What is shown of a few kernels is looked for in these alone; which they are, a baseline decides later.
        let depth = match format {
            Form::Table | Form::Markdown if !self.baseline.asked() => Depth::First(report::EXAMPLES),
            Form::Matrix => Depth::First(0),
            _ => Depth::All,
        };
        let mut findings = Findings::new(asked, states, policy, today, depth);
        let mut problems: Vec<FileProblem> = Vec::new();
        let options = ReadOptions { skip_hash: true, ..ReadOptions::default() };
        let (mut open, mut count) = (false, 0usize);
        let exit = each_file_with(global, files, &selector, options, |facts| {
            report_problems(global, facts);
            problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
            open |= are_open(&facts.images);
            count = count.saturating_add(1);
            findings.file(facts, &Lent::default(), wanted);
            Ok(())
        })?;
        let mut providers = Vec::new();
        if open && (count > 1 || !selector.is_all()) {
            (findings, providers) = linked_elsewhere(global, files, &selector, findings, wanted)?;
        }
        if !findings.any && exit == Exit::Done {
            if !kernels.is_empty() {
                let error = Error::new(ErrorKind::NoMatch, "no kernel matches `--kernel`");
                return Err(error.with_remedy("`sycl-bundle kernels` lists them"));
            }
            if policy.is_none_or(|policy| policy.budget.is_open()) {
                let error =
                    Error::new(ErrorKind::NoDeviceCode, "the files hold no kernel, so there is nothing to judge");
                return Err(error.with_remedy("`sycl-bundle inspect` tells what is in them"));
            }
        }
        let whole = kernels.is_empty() && selector.is_all() && exit == Exit::Done;
        let seen: Vec<Arc<str>> = findings.files.clone();
        let (mut targets, notes) = findings.end(whole);
        notes.iter().for_each(|note| global.note(note));
        let compared = match &known {
            Some((name, known)) => Some(baseline::compare(global, name, known, &mut targets, &seen, whole)),
            None => self.baseline.write(global, &mut targets, &seen)?,
        };
        let strict = self.strict || policy.is_some_and(|policy| policy.strict);
        let (targets, compared) = (&targets[..], compared.as_ref());
        if self.names {
            names(global, targets, out)?;
        } else {
            out.put(format, &report::Judged { targets, problems: &problems, compared, providers: &providers, strict })?;
        }
        let fails = match report::verdict(targets) {
            Verdict::Incompatible => true,
            Verdict::Unknown => strict,
            Verdict::Compatible => false,
        };
        Ok(if fails && exit == Exit::Done { Exit::No } else { exit })
    }
}

/// Judges files once more, now that all have been seen: what one lacks another may have, or an image that was not
/// selected. Also gives who has it. Standard input is not read again.
///
/// # Errors
/// What cannot be read.
pub fn linked_elsewhere<'f>(
    global: &Global,
    files: &[PathBuf],
    selector: &Selector,
    findings: Findings<'f>,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Findings<'f>, Vec<Provider>)> {
    let mut providers = Vec::new();
    if files.iter().any(|file| file == Path::new("-")) {
        return Ok((findings, providers));
    }
    let arena = Arena::with_limit(u64::MAX);
    let offers = files::collect_offers(global, files, &arena)?;
    let mut findings = findings.cleared();
    let options = ReadOptions { skip_hash: true, silent: true, ..ReadOptions::default() };
    each_file_with(global, files, selector, options, |facts| {
        let last = facts.bundle.and_then(|bundle| bundle.images.last()).map_or(0, |image| image.index);
        let mut lent = offers.lend(&facts.path.into(), &facts.images, last.saturating_add(1));
        findings.file(facts, &lent, &wanted);
        providers.append(&mut lent.providers);
        Ok(())
    })?;
    Ok((findings, providers))
}

/// Shows the names of kernels that something counts of.
fn names(global: &Global, targets: &[TargetFindings], out: &mut Output) -> Result<()> {
    let mut list = NameList::new(global.names());
    let counting = targets.iter().flat_map(TargetFindings::findings).filter(|one| one.found.excused.is_none());
    counting.filter(|one| !one.found.kernel.is_empty()).try_for_each(|one| list.put(one.found.kernel, out))
}

/// The targets that spellings mean, each once.
///
/// # Errors
/// `Usage` where one means none.
pub fn spelled_targets<'t>(
    global: &Global,
    table: &'t TargetTable,
    spellings: &[String],
) -> Result<Vec<JudgedTarget<'t>>> {
    let named = named_targets(global, table, spellings)?.into_iter();
    let asked: Vec<JudgedTarget<'t>> =
        named.map(|Named { target, march }| JudgedTarget { target, march, demanded: None, native: false }).collect();
    if asked.is_empty() && !spellings.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "`-t` names no target"));
    }
    Ok(asked)
}

/// The targets to judge with their demands: those that are named, else those of the policy, which may be none; `native`
/// is demanded of all.
pub fn resolve_targets<'t>(
    global: &Global,
    named: Vec<JudgedTarget<'t>>,
    policy: Option<&Policy>,
    table: &'t TargetTable,
    native: bool,
) -> Vec<JudgedTarget<'t>> {
    if named.is_empty() {
        let own = policy.into_iter().flat_map(|policy| &policy.targets);
        return own.filter_map(|one| of_policy(one, table)).map(|one| one.require_native(native)).collect();
    }
    let under = |one: JudgedTarget<'t>| {
        let other = |policy: &&Policy| policy.targets.iter().all(|own| own.target != one.target.name);
        if let Some(policy) = policy.filter(other) {
            global.note(&format!("{} has no rules for {} alone", policy.file, one.target.name));
        }
        one.under(policy, native)
    };
    named.into_iter().map(under).collect()
}

/// The targets to judge, like [`resolve_targets`], where there must be one.
///
/// # Errors
/// `Usage` where that is nothing.
fn require_targets<'t>(
    global: &Global,
    named: Vec<JudgedTarget<'t>>,
    policy: Option<&Policy>,
    table: &'t TargetTable,
    native: bool,
) -> Result<Vec<JudgedTarget<'t>>> {
    let asked = resolve_targets(global, named, policy, table, native);
    if !asked.is_empty() || policy.is_some_and(|policy| !policy.budget.is_open()) {
        return Ok(asked);
    }
    let what = match policy {
        Some(policy) => format!("{} names no target and no budget", policy.file),
        None => "nothing is said to check for".to_owned(),
    };
    let remedy = "say `-t TARGET` or `--declared ASPECT,...`, or write a policy: `--example-policy` prints one";
    Err(Error::new(ErrorKind::Usage, what).with_remedy(remedy))
}

fn of_policy<'t>(demanded: &TargetDemands, table: &'t TargetTable) -> Option<JudgedTarget<'t>> {
    let target = table.target(&demanded.target)?;
    Some(JudgedTarget { target, march: demanded.march, demanded: Some(demanded.clone()), native: false })
}
