//! Which findings does each file have, which of them does the policy excuse, and what does the policy itself find?

use super::{FileFindings, TargetFindings};
use crate::bundle::image::State;
use crate::compat::finding::{Finding, RuleId};
use crate::compat::fit::Subject;
use crate::compat::gate::judgement::Depth;
use crate::compat::gate::judgement::{Grouping, Item, Judgement, Kernels, Whose};
use crate::compat::gate::{Demand, Gate, codes};
use crate::compat::offers::Lent;
use crate::device::cpu::CpuArch;
use crate::device::resolve::{Named, named_targets};
use crate::device::table::TargetTable;
use crate::device::target::Target;
use crate::device::yaml::Place;
use crate::error::{Error, ErrorKind, Reporter, Result};
use crate::limits;
use crate::policy::budget::{self, BudgetFinding};
use crate::policy::text::Date;
use crate::policy::{Policy, TargetDemands};
use crate::report::FileFacts;
use crate::select::{KernelName, Pattern, trials};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A target to judge kernels for, with what is demanded of them there.
pub(crate) struct JudgedTarget<'t> {
    /// The target.
    pub(crate) target: &'t Target,
    /// The instruction set of native CPU code, where one is named.
    pub(crate) march: Option<CpuArch>,
    /// The policy's demands for the target.
    pub(crate) demanded: Option<TargetDemands>,
    /// Whether kernels must be compiled for it.
    pub(crate) native: bool,
}

impl<'t> JudgedTarget<'t> {
    /// A target of which nothing more is demanded.
    pub(crate) fn plain(target: &'t Target) -> JudgedTarget<'t> {
        JudgedTarget { target, march: None, demanded: None, native: false }
    }

    /// Adds what a policy demands of the target; kernels must be compiled for it already where that or `native` says
    /// so.
    pub(crate) fn under(mut self, policy: Option<&Policy>, native: bool) -> JudgedTarget<'t> {
        self.demanded = policy.and_then(|policy| policy.demanded(&self.target.name, self.march)).cloned();
        self.require_native(native)
    }

    /// Demands native code where the policy or `native` does.
    pub(crate) fn require_native(mut self, native: bool) -> JudgedTarget<'t> {
        self.native = native || self.demanded.as_ref().is_some_and(|demanded| demanded.native);
        self
    }

    /// The kernels that must run; all where there is none.
    pub(crate) fn globs(&self) -> &[Pattern] {
        self.demanded.as_ref().map(|demanded| demanded.kernels.as_slice()).unwrap_or_default()
    }
}

/// The targets that spellings mean, each once.
///
/// # Errors
/// `Usage` where one means none.
pub(crate) fn spelled_targets<'t>(
    reporter: &dyn Reporter,
    table: &'t TargetTable,
    spellings: &[String],
) -> Result<Vec<JudgedTarget<'t>>> {
    let named = named_targets(reporter, table, spellings)?.into_iter();
    let asked: Vec<JudgedTarget<'t>> =
        named.map(|Named { target, march }| JudgedTarget { target, march, demanded: None, native: false }).collect();
    if asked.is_empty() && !spellings.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "`-t` names no target"));
    }
    Ok(asked)
}

/// The targets to judge with their demands: those that are named, else those of the policy, which may be none; `native`
/// is demanded of all.
pub(crate) fn resolve_targets<'t>(
    reporter: &dyn Reporter,
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
            reporter.note(&format!("{} has no rules for {} alone", policy.file, one.target.name));
        }
        one.under(policy, native)
    };
    named.into_iter().map(under).collect()
}

/// The targets to judge, like [`resolve_targets`], where there must be one.
///
/// # Errors
/// `Usage` where that is nothing.
pub(crate) fn require_targets<'t>(
    reporter: &dyn Reporter,
    named: Vec<JudgedTarget<'t>>,
    policy: Option<&Policy>,
    table: &'t TargetTable,
    native: bool,
) -> Result<Vec<JudgedTarget<'t>>> {
    let asked = resolve_targets(reporter, named, policy, table, native);
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

/// Findings, gathered file by file.
pub(crate) struct Findings<'f> {
    asked: Vec<JudgedTarget<'f>>,
    states: Vec<State>,
    policy: Option<&'f Policy>,
    today: Option<Date>,
    depth: Depth,
    /// Findings for each target.
    targets: Vec<TargetFindings>,
    /// Findings that are about no target.
    general: Vec<FileFindings>,
    /// The reason of each exception, and whether it excused anything.
    excuses: Vec<(Arc<str>, bool)>,
    /// The globs of kernels that must run and that some kernel matches.
    met: HashSet<String>,
    /// Number of times that a glob of the policy may yet be held against a kernel.
    trials: u64,
    /// Whether there is any kernel.
    pub(crate) any: bool,
    /// The files with images.
    pub(crate) files: Vec<Arc<str>>,
}

impl<'f> Findings<'f> {
    /// Makes an empty gathering for targets; `states` are those that images may have, all where there are none.
    pub(crate) fn new(
        asked: Vec<JudgedTarget<'f>>,
        states: Vec<State>,
        policy: Option<&'f Policy>,
        today: Option<Date>,
        depth: Depth,
    ) -> Self {
        let target = |one: &JudgedTarget<'_>| TargetFindings { target: one.target.name.clone(), files: Vec::new() };
        let targets = asked.iter().map(target).collect();
        let excuses = policy.iter().flat_map(|policy| &policy.exceptions).map(|one| (one.excuse().into(), false));
        let excuses = excuses.collect();
        let (general, met, files) = (Vec::new(), HashSet::new(), Vec::new());
        let trials = limits::MAX_GLOB_TRIALS;
        Findings { asked, states, policy, today, depth, targets, general, excuses, met, trials, any: false, files }
    }

    /// Drops all findings, to judge the files anew.
    pub(crate) fn cleared(self) -> Self {
        Findings::new(self.asked, self.states, self.policy, self.today, self.depth)
    }

    /// Judges a file, of which `wanted` selects kernels by their mangled names. Its images may be linked to those that
    /// are lent.
    ///
    /// # Errors
    /// `Usage` where the policy has too many globs for the kernels.
    pub(crate) fn file(
        &mut self,
        facts: &mut FileFacts<'_>,
        lent: &Lent<'_>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let file: Arc<str> = facts.path.into();
        self.trials = self.trials.saturating_add(facts.bytes.saturating_mul(limits::GLOB_TRIALS_PER_BYTE));
        let mut images = std::mem::take(&mut facts.images);
        let own = images.len();
        images.extend(lent.examined());
        if facts.bundle.is_some() {
            self.files.push(file.clone());
        }
        self.any |= images.iter().any(|image| image.kernels.iter().any(|name| wanted(name)));
        let codes = codes(&images);
        let own_images = images.get(..own).unwrap_or_default();
        // Targets that demand the same kernels are judged together.
        let mut sets: Vec<(&[Pattern], Vec<usize>)> = Vec::new();
        for (at, one) in self.asked.iter().enumerate() {
            let globs = one.globs();
            let same = |set: &&mut (&[Pattern], Vec<usize>)| {
                set.0.iter().map(Pattern::text).eq(globs.iter().map(Pattern::text))
            };
            match sets.iter_mut().find(same) {
                Some((_, members)) => members.push(at),
                None => sets.push((globs, vec![at])),
            }
        }
        for (globs, members) in sets {
            let named = images.iter().flat_map(|image| &image.kernels).map(String::as_str);
            charge(&mut self.trials, self.policy, globs.iter(), named)?;
            let demanded = |name: &str| globs.is_empty() || KernelName::new(name).matches_any(globs);
            let gate =
                Gate::new(&images, &codes, |name| wanted(name) && demanded(name)).with_lent(own, &lent.providers);
            let own: Vec<&JudgedTarget<'_>> = members.iter().filter_map(|at| self.asked.get(*at)).collect();
            let demands: Vec<_> = own.iter().map(|one| demand(one, &self.states)).collect();
            let mut judged = gate.judge_each(&demands);
            let mut whole: Vec<Vec<Finding>> = Vec::new();
            for (one, judged) in own.iter().zip(&mut judged) {
                let limits = one.demanded.as_ref().map(|demanded| demanded.budget).unwrap_or_default();
                whole.push(add(judged, budget::target_findings(&limits, one.target, own_images)));
                if let Some((policy, today)) = self.policy.zip(self.today) {
                    let groups = judged.groups().filter(|(_, items)| !items.is_empty());
                    let found = groups.flat_map(|(kernels, _)| kernels).filter_map(|one| judged.kernels.name(*one));
                    let globs = policy.exceptions.iter().map(|one| &one.kernel);
                    charge(&mut self.trials, self.policy, globs, found)?;
                    excuse(policy, today, &one.target.name, judged, &mut self.excuses);
                }
            }
            let proofs = Arc::new(gate.proofs(&judged.iter().collect::<Vec<_>>(), self.depth));
            for ((at, judged), whole) in members.iter().zip(judged).zip(whole) {
                let Some(target) = self.targets.get_mut(*at) else { continue };
                target.files.push(FileFindings { file: file.clone(), judged, proofs: proofs.clone() });
                if !whole.is_empty() {
                    target.files.push(FileFindings::whole(file.clone(), whole));
                }
            }
            let mut open: Vec<&Pattern> = globs.iter().filter(|glob| !self.met.contains(glob.text())).collect();
            for name in gate.kernels().names() {
                if open.is_empty() {
                    break;
                }
                let name = KernelName::new(name);
                let met = open.extract_if(.., |glob| glob.matches_kernel(&name));
                self.met.extend(met.map(|glob| glob.text().to_owned()));
            }
        }
        if let Some(policy) = self.policy.filter(|_| facts.bundle.is_some()) {
            let found = budget::file_findings(&policy.budget, facts.bytes, own_images);
            let (kernels, whole): (Vec<BudgetFinding>, Vec<BudgetFinding>) =
                found.into_iter().partition(|one| one.kernel.is_some());
            if !whole.is_empty() {
                let whole = whole.into_iter().map(|one| one.finding).collect();
                self.general.push(FileFindings::whole(file.clone(), whole));
            }
            if !kernels.is_empty() {
                let numbers = own_images.iter().map(|image| image.image.index).collect();
                self.general.push(FileFindings { file, judged: alone(kernels, numbers), proofs: Arc::default() });
            }
        }
        Ok(())
    }

    /// All findings by target, and notes on exceptions of the policy that cover nothing. `whole` says that nothing was
    /// left out, so that what is not there is missing.
    pub(crate) fn end(mut self, whole: bool) -> (Vec<TargetFindings>, Vec<String>) {
        let Some(policy) = self.policy else { return (self.targets, Vec::new()) };
        let mut notes = Vec::new();
        let file: Arc<str> = policy.file.as_str().into();
        if whole {
            notes = self.unused(policy);
            for (one, target) in self.asked.iter().zip(&mut self.targets) {
                let nowhere = one.globs().iter().filter(|glob| !self.met.contains(glob.text()));
                let missing: Vec<Finding> = nowhere.map(missing).collect();
                if !missing.is_empty() {
                    target.files.push(FileFindings::whole(file.clone(), missing));
                }
            }
        }
        let expired = self.today.map(|today| policy.expired(today)).unwrap_or_default();
        if !expired.is_empty() {
            self.general.push(FileFindings::whole(file, expired));
        }
        if !self.general.is_empty() || !policy.budget.is_open() {
            self.targets.insert(0, TargetFindings { target: String::new(), files: self.general });
        }
        (self.targets, notes)
    }

    /// Notes on exceptions that have not ended and cover nothing.
    fn unused(&self, policy: &Policy) -> Vec<String> {
        let mut notes = Vec::new();
        for (one, (_, used)) in policy.exceptions.iter().zip(&self.excuses) {
            let asked = |name: &String| self.asked.iter().any(|asked| asked.target.name == *name);
            let about = one.targets.is_empty() || one.targets.iter().any(asked);
            if !used && about && self.today.is_some_and(|today| today <= one.until) {
                let Place { line, column } = one.place;
                let what = one.describe();
                notes.push(format!("{}:{line}:{column}: the exception for {what} covers nothing here", policy.file));
            }
        }
        notes
    }
}

/// Takes the trials of some globs on kernels of some names from those that are left.
fn charge<'g>(
    left: &mut u64,
    policy: Option<&Policy>,
    globs: impl Iterator<Item = &'g Pattern>,
    kernels: impl Iterator<Item = &'g str>,
) -> Result<()> {
    let (globs, kernels, trials) = trials(globs, kernels);
    *left = left.checked_sub(trials).ok_or_else(|| {
        let file = policy.map(|policy| policy.file.as_str()).unwrap_or_default();
        let message = format!("{file}: {globs} globs are too many for {kernels} kernels");
        let remedy = "write fewer and wider globs; findings that are known belong into a baseline";
        Error::new(ErrorKind::Usage, message).with_remedy(remedy)
    })?;
    Ok(())
}

/// The subject and the demand on kernels for a target.
fn demand<'t>(one: &JudgedTarget<'t>, states: &[State]) -> (Subject<'t>, Demand) {
    let forbidden = one.demanded.as_ref().map(|demanded| demanded.forbidden.clone()).unwrap_or_default();
    let subject = Subject::new(one.target).with_march(one.march);
    let bundles = states.contains(&State::Executable);
    (subject, Demand { states: states.to_vec(), native: one.native, forbidden, bundles })
}

/// Adds what exceeds a budget to the kernels that it is about; what is about the file is given back.
fn add(judged: &mut Judgement, over: Vec<BudgetFinding>) -> Vec<Finding> {
    let (mut of, mut whole): (HashMap<String, Vec<Item>>, Vec<Finding>) = (HashMap::new(), Vec::new());
    for one in over {
        match one.kernel {
            Some(kernel) => {
                let item = Item::new(one.finding, Some(Whose::Other(one.at)));
                of.entry(kernel).or_default().push(item);
            }
            None => whole.push(one.finding),
        }
    }
    if !of.is_empty() {
        judged.refine(|kernels, kernel, items| {
            let more = of.get(kernels.name(kernel)?)?;
            Some([items, more].concat())
        });
    }
    whole
}

/// Findings of kernels of which nothing else was asked.
fn alone(over: Vec<BudgetFinding>, numbers: Vec<usize>) -> Judgement {
    let mut kernels: Vec<(String, Vec<usize>)> = Vec::new();
    let mut items: Vec<Vec<Item>> = Vec::new();
    for BudgetFinding { kernel, at, finding } in over {
        kernels.push((kernel.unwrap_or_default(), vec![at]));
        items.push(vec![Item::new(finding, Some(Whose::Own(0)))]);
    }
    let grouping = Arc::new(Grouping::new((0..items.len()).collect()));
    Judgement { kernels: Arc::new(Kernels::new(kernels, numbers)), grouping, items, code: Vec::new() }
}

/// Excuses what exceptions cover.
fn excuse(policy: &Policy, today: Date, target: &str, judged: &mut Judgement, excuses: &mut [(Arc<str>, bool)]) {
    if policy.exceptions.is_empty() {
        return;
    }
    judged.refine(|kernels, kernel, items| {
        if items.is_empty() {
            return None;
        }
        let name = KernelName::new(kernels.name(kernel)?);
        let mut all = items.to_vec();
        let mut changed = false;
        for item in &mut all {
            let covering = policy.excuse(today, target, &item.finding, &name);
            if let Some((why, used)) = covering.and_then(|at| excuses.get_mut(at)) {
                (*used, changed) = (true, true);
                item.excused = Some(why.clone());
            }
        }
        changed.then_some(all)
    });
}

/// A policy says that a kernel must run, and no file has it.
fn missing(glob: &Pattern) -> Finding {
    Finding {
        rule: RuleId::MissingKernel,
        certain: false,
        message: format!("`{}` must run by the policy, and no kernel of these files matches.", glob.text()),
        aspect: None,
        remedy: "check the file that has it together with these, or take it out of `kernels`".to_owned(),
        more: 0,
    }
}
