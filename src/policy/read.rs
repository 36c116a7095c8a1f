//! How is a policy read from its text?

pub(super) mod build;
mod clashes;
mod exception;

use super::budget::Budget;
use super::text::{At, Table};
use super::{Demanded, Policy};
use crate::device::near::did_you_mean;
use crate::device::resolve::Resolution;
use crate::device::table::TargetTable;
use crate::device::yaml::{Fault, Place};
use crate::select::Pattern;

const CHECK: [&str; 8] =
    ["targets", "kernels", "forbidden-aspects", "require-native", "strict", "budget", "target", "exception"];
const TARGET: [&str; 4] = ["kernels", "forbidden-aspects", "require-native", "budget"];
const BUDGET: [&str; 4] = ["bytes", "images", "spill", "spilled-registers"];

/// State of reading a policy.
struct Reader<'r> {
    targets: &'r TargetTable,
    aspects: &'r [&'r str],
    faults: Vec<Fault>,
}

/// Demands for a target with their locations, for messages.
struct Placed {
    demanded: Demanded,
    place: Place,
    /// Location of its `kernels` list, or of the general one, if there is one.
    kernels: Option<Place>,
}

/// Reads a policy. Returns all mistakes beside it.
pub(super) fn policy(file: &str, root: &Table<'_>, targets: &TargetTable, aspects: &[&str]) -> (Policy, Vec<Fault>) {
    let mut reader = Reader { targets, aspects, faults: Vec::new() };
    root.only(&["check", "build"], &mut reader.faults);
    let mut policy = Policy { file: file.to_owned(), ..Policy::default() };
    if let Some(check) = root.table("check", &mut reader.faults) {
        reader.check(&check, &mut policy);
    } else if reader.faults.is_empty() && !root.has("build") {
        let fault = Fault::new(root.place, "no table `[check]`, so nothing is demanded");
        reader.faults.push(fault.with_remedy(Some("`sycl-bundle check --example-policy` prints one".to_owned())));
    }
    let mut faults = reader.faults;
    faults.sort_by_key(|fault| fault.place);
    (policy, faults)
}

impl Reader<'_> {
    fn check(&mut self, check: &Table<'_>, policy: &mut Policy) {
        check.only(&CHECK, &mut self.faults);
        policy.strict = check.flag("strict", &mut self.faults).unwrap_or_default();
        policy.budget = self.budget(check);
        let all = self.demanded(check, None);
        let mut placed: Vec<Placed> = Vec::new();
        let listed = check.texts("targets", &mut self.faults);
        for spelling in listed.iter().flat_map(|list| &list.value) {
            self.add(&mut placed, *spelling, &all, "named");
        }
        if let Some(sections) = check.table("target", &mut self.faults) {
            let mut own: Vec<Placed> = Vec::new();
            for spelling in sections.keys() {
                if let Some(section) = sections.table(spelling.value, &mut self.faults) {
                    section.only(&TARGET, &mut self.faults);
                    let demanded = self.demanded(&section, Some(&all));
                    self.add(&mut own, spelling, &demanded, "given rules");
                }
            }
            self.merge(&mut placed, own, listed.is_some());
        }
        if listed.as_ref().is_some_and(|list| list.value.is_empty()) {
            self.fault(check.place_at("targets"), "`targets` names none; leave it out where only budgets count");
        }
        policy.exceptions = self.exceptions(check, &placed);
        self.clashes(check, policy, &placed);
        policy.targets = placed.into_iter().map(|one| one.demanded).collect();
        policy.other = Some(all.demanded);
    }

    fn fault(&mut self, place: Place, message: impl Into<String>) {
        self.faults.push(Fault::new(place, message));
    }

    /// Adds the targets that a spelling names, each once.
    fn add(&mut self, placed: &mut Vec<Placed>, spelling: At<&str>, like: &Placed, what: &str) {
        for (target, march) in self.resolve(spelling) {
            let same = |one: &&Placed| one.demanded.target == target && one.demanded.march == march;
            if let Some(earlier) = placed.iter().find(same) {
                let Place { line, column } = earlier.place;
                let spelled =
                    if spelling.value == target { String::new() } else { format!("`{}` is ", spelling.value) };
                let which = if spelled.is_empty() { "" } else { ", which" };
                let message = format!("{spelled}{target}{which} is {what} at {line}:{column} already");
                self.fault(spelling.place, message);
                continue;
            }
            let demanded = Demanded { target, march, ..like.demanded.clone() };
            placed.push(Placed { demanded, place: spelling.place, kernels: like.kernels });
        }
    }

    /// Replaces targets that are only listed by those with demands of their own.
    fn merge(&mut self, placed: &mut Vec<Placed>, own: Vec<Placed>, listed: bool) {
        for one in own {
            let same = |other: &&mut Placed| {
                other.demanded.target == one.demanded.target && other.demanded.march == one.demanded.march
            };
            match placed.iter_mut().find(same) {
                Some(known) => *known = one,
                None if listed => {
                    let message = format!("{} has rules, but is not among `targets`", one.demanded.target);
                    let remedy = Some(format!("add \"{}\" to `targets`, or take the rules out", one.demanded.target));
                    self.faults.push(Fault::new(one.place, message).with_remedy(remedy));
                }
                None => placed.push(one),
            }
        }
    }

    /// Returns the targets that a spelling names.
    fn resolve(&mut self, spelling: At<&str>) -> Vec<(String, Option<crate::device::cpu::CpuArch>)> {
        let Some(found) = resolve(spelling, self.targets, &mut self.faults) else { return Vec::new() };
        found.targets.iter().map(|target| (target.name.clone(), found.march)).collect()
    }

    /// Reads the demands of a table, which override the general ones.
    fn demanded(&mut self, table: &Table<'_>, all: Option<&Placed>) -> Placed {
        let like = all.map(|all| &all.demanded);
        let mut kernels_at = all.and_then(|all| all.kernels);
        let mut kernels = like.map(|like| like.kernels.clone()).unwrap_or_default();
        if let Some(globs) = table.texts("kernels", &mut self.faults) {
            kernels_at = Some(globs.place);
            if globs.value.is_empty() {
                self.fault(globs.place, "`kernels` names none; leave it out for all kernels");
            }
            kernels = globs.value.iter().filter_map(|glob| self.glob(*glob)).collect();
        }
        let mut forbidden = like.map(|like| like.forbidden.clone()).unwrap_or_default();
        for aspect in table.texts("forbidden-aspects", &mut self.faults).into_iter().flat_map(|list| list.value) {
            let Some(aspect) = self.aspect(aspect) else { continue };
            if !forbidden.contains(&aspect) {
                forbidden.push(aspect);
            }
        }
        let native = table.flag("require-native", &mut self.faults);
        let native = native.unwrap_or_else(|| like.is_some_and(|like| like.native));
        // The budget of `[check]` is for whole files.
        let budget = if all.is_some() { self.budget(table) } else { Budget::default() };
        let target = String::new();
        Placed {
            demanded: Demanded { target, march: None, kernels, forbidden, native, budget },
            place: table.place,
            kernels: kernels_at,
        }
    }

    fn budget(&mut self, table: &Table<'_>) -> Budget {
        let Some(budget) = table.table("budget", &mut self.faults) else { return Budget::default() };
        budget.only(&BUDGET, &mut self.faults);
        Budget {
            bytes: budget.bytes("bytes", &mut self.faults).map(|found| found.value),
            images: budget.number("images", &mut self.faults).map(|found| found.value),
            spill: budget.bytes("spill", &mut self.faults).map(|found| found.value),
            spilled_registers: budget.number("spilled-registers", &mut self.faults).map(|found| found.value),
        }
    }

    fn glob(&mut self, text: At<&str>) -> Option<Pattern> {
        glob(text, &mut self.faults)
    }

    fn aspect(&mut self, name: At<&str>) -> Option<String> {
        if self.aspects.contains(&name.value) {
            return Some(name.value.to_owned());
        }
        let near = did_you_mean(name.value, self.aspects.iter().copied());
        self.faults.push(Fault::new(name.place, format!("`{}` is no aspect", name.value)).with_remedy(near));
        None
    }
}

/// Returns a glob over kernels.
fn glob(text: At<&str>, faults: &mut Vec<Fault>) -> Option<Pattern> {
    match Pattern::new(text.value) {
        Ok(pattern) if !text.value.is_empty() => return Some(pattern),
        Ok(_) => faults.push(Fault::new(text.place, "an empty glob, which no kernel matches")),
        Err(error) => faults.push(Fault::new(text.place, error.message())),
    }
    None
}

/// The targets that a spelling means.
fn resolve<'t>(spelling: At<&str>, targets: &'t TargetTable, faults: &mut Vec<Fault>) -> Option<Resolution<'t>> {
    let found = targets.resolve(spelling.value);
    found
        .map_err(|error| {
            let remedy = error.remedy().map(str::to_owned);
            faults.push(Fault::new(spelling.place, error.message()).with_remedy(remedy));
        })
        .ok()
}
