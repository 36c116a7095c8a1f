//! What is found in each file, what of it does the policy excuse, and what does the policy itself find?

use super::super::super::global::Global;
use std::sync::Arc;
use sycl_bundle::bundle::image::State;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::{Against, Clause, Demand, Found, Gate, Matter};
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::device::target::Target;
use sycl_bundle::device::yaml::Place;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::policy::date::Date;
use sycl_bundle::policy::{Demanded, Policy, budget};
use sycl_bundle::report::FileFacts;
use sycl_bundle::report::gate::{Finding, OfTarget};
use sycl_bundle::report::name::demangle;
use sycl_bundle::select::Pattern;

/// A target that is asked about.
pub struct Asked<'t> {
    pub target: &'t Target,
    pub march: Option<CpuArch>,
    /// What the policy demands for it.
    pub demanded: Option<Demanded>,
    /// Whether kernels must be compiled for it.
    pub native: bool,
}

/// A file and a kernel in it.
type Name = (Arc<str>, Arc<str>);

/// What is found as files go by.
pub struct Findings<'f> {
    asked: Vec<Asked<'f>>,
    states: Vec<State>,
    policy: Option<&'f Policy>,
    today: Option<Date>,
    /// What is found for each target.
    found: Vec<Vec<Finding>>,
    /// What is found whatever the target.
    general: Vec<Finding>,
    /// Why each exception excuses, and whether it has.
    excuses: Vec<(Arc<str>, bool)>,
    /// All kernels that are judged.
    pub names: Vec<Name>,
    /// The files with images.
    pub files: Vec<Arc<str>>,
}

/// The targets that spellings mean, each once.
///
/// # Errors
/// `Usage` where one means none.
pub fn named<'t>(global: &Global, table: &'t TargetTable, spellings: &[String]) -> Result<Vec<Asked<'t>>> {
    let mut asked: Vec<Asked<'t>> = Vec::new();
    for spelling in spellings.iter().filter(|spelling| !spelling.trim().is_empty()) {
        let found = table.resolve(spelling)?;
        if let Some(note) = &found.note {
            global.note(note);
        }
        for target in found.targets {
            if !asked.iter().any(|known| known.target.name == target.name && known.march == found.march) {
                asked.push(Asked { target, march: found.march, demanded: None, native: false });
            }
        }
    }
    if asked.is_empty() && !spellings.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "`-t` names no target"));
    }
    Ok(asked)
}

/// The targets of a policy.
pub fn of_policy<'t>(policy: &Policy, table: &'t TargetTable) -> Vec<Asked<'t>> {
    let one = |demanded: &Demanded| {
        let target = table.target(&demanded.target)?;
        Some(Asked { target, march: demanded.march, demanded: Some(demanded.clone()), native: false })
    };
    policy.targets.iter().filter_map(one).collect()
}

fn any_matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name) || pattern.matches(&demangle(name)))
}

impl<'f> Findings<'f> {
    pub fn new(asked: Vec<Asked<'f>>, states: Vec<State>, policy: Option<&'f Policy>, today: Option<Date>) -> Self {
        let found = asked.iter().map(|_| Vec::new()).collect();
        let excuses = policy.iter().flat_map(|policy| &policy.exceptions).map(|one| (one.excuse().into(), false));
        let (names, files, general) = (Vec::new(), Vec::new(), Vec::new());
        Findings { asked, states, policy, today, found, general, excuses: excuses.collect(), names, files }
    }

    /// Judges a file.
    pub fn file(&mut self, facts: &FileFacts<'_>, gate: &mut Gate<'_>) {
        let file: Arc<str> = facts.path.into();
        self.names.extend(gate.names().map(|name| (file.clone(), Arc::from(name))));
        if facts.bundle.is_some() {
            self.files.push(file.clone());
        }
        for (one, all) in self.asked.iter().zip(&mut self.found) {
            let demanded = one.demanded.as_ref();
            let forbidden = demanded.map(|demanded| demanded.forbidden.clone()).unwrap_or_default();
            let demand = Demand { states: self.states.clone(), native: one.native, forbidden };
            let mut found = gate.judge(&Subject::new(one.target).with_march(one.march), &demand);
            if let Some(demanded) = demanded {
                found.retain(|one| demanded.kernels.is_empty() || any_matches(&demanded.kernels, &one.kernel));
                found.extend(budget::of_target(&demanded.budget, one.target, &facts.images));
            }
            for found in found {
                let excused = self.policy.zip(self.today).and_then(|(policy, today)| {
                    let at = policy.excuse(today, &one.target.name, &found, &|name| demangle(name).into_owned())?;
                    let (why, used) = self.excuses.get_mut(at)?;
                    *used = true;
                    Some(why.clone())
                });
                all.push(Finding { file: file.clone(), found, excused, known: None });
            }
        }
        if let Some(policy) = self.policy.filter(|_| facts.bundle.is_some()) {
            let found = budget::of_file(&policy.budget, facts.bytes, &facts.images);
            self.general.extend(found.into_iter().map(|found| finding(&file, found)));
        }
    }

    /// All that was found, by target. `whole` says that nothing was left out, so that what is not there is missing.
    pub fn end(mut self, global: &Global, whole: bool) -> Vec<OfTarget> {
        let names: Arc<[Name]> = std::mem::take(&mut self.names).into();
        let mut targets = Vec::new();
        if let Some(policy) = self.policy {
            let file: Arc<str> = policy.file.as_str().into();
            let expired = self.today.map(|today| policy.expired(today)).unwrap_or_default();
            self.general.extend(expired.into_iter().map(|found| finding(&file, found)));
            if !self.general.is_empty() || !policy.budget.is_open() {
                let findings = std::mem::take(&mut self.general);
                let kernels = if policy.budget.is_of_kernels() { names.clone() } else { Arc::default() };
                targets.push(OfTarget { target: String::new(), kernels, findings });
            }
            if whole {
                self.unused(global, policy);
                for (one, all) in self.asked.iter().zip(&mut self.found) {
                    all.extend(missing(one, &names).map(|found| finding(&file, found)));
                }
            }
        }
        for (one, findings) in self.asked.into_iter().zip(self.found) {
            let kernels = match one.demanded.filter(|demanded| !demanded.kernels.is_empty()) {
                Some(demanded) => {
                    names.iter().filter(|(_, name)| any_matches(&demanded.kernels, name)).cloned().collect()
                }
                None => names.clone(),
            };
            targets.push(OfTarget { target: one.target.name.clone(), kernels, findings });
        }
        targets
    }

    /// Tells of exceptions that have not ended and cover nothing.
    fn unused(&self, global: &Global, policy: &Policy) {
        for (one, (_, used)) in policy.exceptions.iter().zip(&self.excuses) {
            let asked = |name: &String| self.asked.iter().any(|asked| asked.target.name == *name);
            let about = one.targets.is_empty() || one.targets.iter().any(asked);
            if !used && about && self.today.is_some_and(|today| today <= one.until) {
                let Place { line, column } = one.place;
                let what = one.describe();
                global.note(&format!("{}:{line}:{column}: the exception for {what} covers nothing here", policy.file));
            }
        }
    }
}

fn finding(file: &Arc<str>, found: Found) -> Finding {
    Finding { file: file.clone(), found, excused: None, known: None }
}

/// What a policy says must run on a target, and no file has.
fn missing<'m>(asked: &'m Asked<'_>, names: &'m [Name]) -> impl Iterator<Item = Found> + 'm {
    let globs = asked.demanded.iter().flat_map(|demanded| &demanded.kernels);
    let nowhere = globs.filter(|glob| !names.iter().any(|(_, name)| any_matches(std::slice::from_ref(*glob), name)));
    nowhere.map(|glob| {
        let message = format!("`{}` must run by the policy, and no kernel of these files matches.", glob.text());
        let remedy = "check the file that has it together with these, or take it out of `kernels`".to_owned();
        let matter = Matter::Policy(Clause::Missing);
        let against = Against { matter, certain: false, message, aspect: None, remedy };
        Found { against: Arc::new(against), kernel: "".into(), image: None, evidence: None }
    })
}
