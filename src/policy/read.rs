//! How is a policy read from its text?

use super::budget::Budget;
use super::text::{Located, Table};
use super::{Exception, Policy, TargetDemands};
use crate::compat::finding::RuleId;
use crate::device::did_you_mean;
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
struct LocatedDemands {
    demanded: TargetDemands,
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
        let mut placed: Vec<LocatedDemands> = Vec::new();
        let listed = check.texts("targets", &mut self.faults);
        for spelling in listed.iter().flat_map(|list| &list.value) {
            self.add(&mut placed, *spelling, &all, "named");
        }
        if let Some(sections) = check.table("target", &mut self.faults) {
            let mut own: Vec<LocatedDemands> = Vec::new();
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
    fn add(&mut self, placed: &mut Vec<LocatedDemands>, spelling: Located<&str>, like: &LocatedDemands, what: &str) {
        for (target, march) in self.resolve(spelling) {
            let same = |one: &&LocatedDemands| one.demanded.target == target && one.demanded.march == march;
            if let Some(earlier) = placed.iter().find(same) {
                let Place { line, column } = earlier.place;
                let spelled =
                    if spelling.value == target { String::new() } else { format!("`{}` is ", spelling.value) };
                let which = if spelled.is_empty() { "" } else { ", which" };
                let message = format!("{spelled}{target}{which} is {what} at {line}:{column} already");
                self.fault(spelling.place, message);
                continue;
            }
            let demanded = TargetDemands { target, march, ..like.demanded.clone() };
            placed.push(LocatedDemands { demanded, place: spelling.place, kernels: like.kernels });
        }
    }

    /// Replaces targets that are only listed by those with demands of their own.
    fn merge(&mut self, placed: &mut Vec<LocatedDemands>, own: Vec<LocatedDemands>, listed: bool) {
        for one in own {
            let same = |other: &&mut LocatedDemands| {
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
    fn resolve(&mut self, spelling: Located<&str>) -> Vec<(String, Option<crate::device::cpu::CpuArch>)> {
        let Some(found) = resolve(spelling, self.targets, &mut self.faults) else { return Vec::new() };
        found.targets.iter().map(|target| (target.name.clone(), found.march)).collect()
    }

    /// Reads the demands of a table, which override the general ones.
    fn demanded(&mut self, table: &Table<'_>, all: Option<&LocatedDemands>) -> LocatedDemands {
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
        LocatedDemands {
            demanded: TargetDemands { target, march: None, kernels, forbidden, native, budget },
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

    fn glob(&mut self, text: Located<&str>) -> Option<Pattern> {
        glob(text, &mut self.faults)
    }

    fn aspect(&mut self, name: Located<&str>) -> Option<String> {
        if self.aspects.contains(&name.value) {
            return Some(name.value.to_owned());
        }
        let near = did_you_mean(name.value, self.aspects.iter().copied());
        self.faults.push(Fault::new(name.place, format!("`{}` is no aspect", name.value)).with_remedy(near));
        None
    }
}

/// Returns a glob over kernels.
pub(super) fn glob(text: Located<&str>, faults: &mut Vec<Fault>) -> Option<Pattern> {
    match Pattern::new(text.value) {
        Ok(pattern) if !text.value.is_empty() => return Some(pattern),
        Ok(_) => faults.push(Fault::new(text.place, "an empty glob, which no kernel matches")),
        Err(error) => faults.push(Fault::new(text.place, error.message())),
    }
    None
}

/// The targets that a spelling means.
pub(super) fn resolve<'t>(
    spelling: Located<&str>,
    targets: &'t TargetTable,
    faults: &mut Vec<Fault>,
) -> Option<Resolution<'t>> {
    let found = targets.resolve(spelling.value);
    found
        .map_err(|error| {
            let remedy = error.remedy().map(str::to_owned);
            faults.push(Fault::new(spelling.place, error.message()).with_remedy(remedy));
        })
        .ok()
}

/// Targets of SPIR-V for any device, for which nothing is compiled.
const PORTABLE: [&str; 4] = ["spir64", "spir", "spirv64", "spirv32"];

impl Reader<'_> {
    /// Adds a fault for each pair of rules of which one cancels the other.
    fn clashes(&mut self, check: &Table<'_>, policy: &Policy, placed: &[LocatedDemands]) {
        for one in placed {
            let target = &one.demanded.target;
            let budget = &one.demanded.budget;
            for (what, own, whole) in
                [("bytes", budget.bytes, policy.budget.bytes), ("images", budget.images, policy.budget.images)]
            {
                if let (Some(own), Some(whole)) = (own, whole)
                    && own > whole
                {
                    let at = check.place_at("budget").line;
                    let message = format!(
                        "the budget of {target}, {own} {what}, is more than that of the whole file, {whole} at line {at}"
                    );
                    self.fault(one.place, message);
                }
            }
            if one.demanded.native && PORTABLE.contains(&target.as_str()) {
                let message = format!("`require-native` for {target}, which is SPIR-V for any device");
                let remedy = Some(format!("set it for other targets, or `require-native = false` for {target}"));
                self.faults.push(Fault::new(one.place, message).with_remedy(remedy));
            }
            if one.demanded.native && (budget.images == Some(0) || budget.bytes == Some(0)) {
                let message = format!("`require-native` for {target}, and a budget that allows no image");
                self.fault(one.place, message);
            }
        }
        for exception in &policy.exceptions {
            let covered: Vec<&LocatedDemands> = placed.iter().filter(|one| covers(exception, one)).collect();
            if !covered.is_empty()
                && let Some(fault) = contradiction(exception, &covered)
            {
                self.faults.push(fault);
            }
        }
    }
}

fn covers(exception: &Exception, one: &LocatedDemands) -> bool {
    exception.targets.is_empty() || exception.targets.contains(&one.demanded.target)
}

/// Returns the fault of an exception that cancels a demand for all of its targets.
fn contradiction(exception: &Exception, covered: &[&LocatedDemands]) -> Option<Fault> {
    let glob = exception.kernel.text();
    let fault =
        |message: String, remedy: &str| Some(Fault::new(exception.place, message).with_remedy(Some(remedy.to_owned())));
    let all = |test: &dyn Fn(&LocatedDemands) -> bool| covered.iter().all(|one| test(one));
    if all(&|one| one.demanded.kernels.iter().any(|own| own.text() == glob)) {
        let at =
            covered.first().and_then(|one| one.kernels).map(|Place { line, column }| format!(" at {line}:{column}"));
        let message = format!("`{glob}` is required by `kernels`{} and excepted here", at.unwrap_or_default());
        return fault(message, "leave it out of `kernels`, or except fewer kernels");
    }
    if glob != "*" {
        return None;
    }
    if exception.rule == Some(RuleId::NotNative) && all(&|one| one.demanded.native) {
        let message = "native code is required of all kernels, and all are excepted here".to_owned();
        return fault(message, "set `require-native = false` for these targets, or except fewer kernels");
    }
    let forbids = |rule: Option<RuleId>| rule.is_none_or(|rule| rule == RuleId::ForbiddenAspect);
    let aspect = exception.aspect.as_ref().filter(|_| forbids(exception.rule))?;
    if all(&|one| one.demanded.forbidden.contains(aspect)) {
        let message = format!("aspect {aspect} is forbidden to all kernels, and all are excepted here");
        return fault(message, "take it out of `forbidden-aspects`, or except fewer kernels");
    }
    None
}

const KEYS: [&str; 6] = ["rule", "aspect", "kernel", "targets", "reason", "until"];

impl Reader<'_> {
    /// Reads the exceptions of a policy for these targets.
    fn exceptions(&mut self, check: &Table<'_>, placed: &[LocatedDemands]) -> Vec<Exception> {
        let mut exceptions: Vec<Exception> = Vec::new();
        for table in check.tables("exception", &mut self.faults) {
            table.only(&KEYS, &mut self.faults);
            let Some(exception) = self.exception(&table, placed) else { continue };
            let same = |one: &&Exception| {
                (one.rule, &one.aspect, one.kernel.text())
                    == (exception.rule, &exception.aspect, exception.kernel.text())
                    && (one.targets.is_empty()
                        || exception.targets.is_empty()
                        || one.targets.iter().any(|target| exception.targets.contains(target)))
            };
            if let Some(earlier) = exceptions.iter().find(same) {
                let Place { line, column } = earlier.place;
                let message = format!("the exception for {} stands at {line}:{column} already", earlier.describe());
                self.fault(table.place, message);
            }
            exceptions.push(exception);
        }
        exceptions
    }

    fn exception(&mut self, table: &Table<'_>, placed: &[LocatedDemands]) -> Option<Exception> {
        let faults = &mut self.faults;
        let (rule, aspect) = (table.text("rule", faults), table.text("aspect", faults));
        let (kernel, reason) = (table.text("kernel", faults), table.text("reason", faults));
        let (until, targets) = (table.date("until", faults), table.texts("targets", faults));
        let present: Vec<&str> = table.keys().map(|key| key.value).collect();
        for key in ["kernel", "reason", "until"] {
            if !present.contains(&key) {
                self.fault(table.place, format!("an exception needs `{key}`"));
            }
        }
        if !present.contains(&"rule") && !present.contains(&"aspect") {
            self.fault(table.place, "an exception needs `rule` or `aspect`: what it is about");
        }
        if let Some(reason) = reason.as_ref().filter(|reason| reason.value.trim().is_empty()) {
            self.fault(reason.place, "the reason is empty");
        }
        let rule = match rule {
            Some(rule) => Some(self.rule(rule, aspect.is_some())?),
            None => None,
        };
        let aspect = match aspect {
            Some(aspect) => Some(self.aspect(aspect)?),
            None => None,
        };
        let mut names: Vec<String> = Vec::new();
        if let Some(list) = &targets {
            if list.value.is_empty() {
                self.fault(list.place, "`targets` names none; leave it out for all targets");
            }
            for spelling in &list.value {
                for (name, _) in self.resolve(*spelling) {
                    if placed.iter().all(|one| one.demanded.target != name) {
                        self.fault(spelling.place, format!("{name} is no target of this policy"));
                    }
                    names.push(name);
                }
            }
        }
        Some(Exception {
            rule,
            aspect,
            kernel: self.glob(kernel?)?,
            targets: names,
            reason: reason?.value.trim().to_owned(),
            until: until?.value,
            place: table.place,
        })
    }

    /// Returns the rule of a name, if exceptions can be made of it.
    fn rule(&mut self, name: Located<&str>, with_aspect: bool) -> Option<RuleId> {
        let Some(rule) = RuleId::of_policies().find(|one| one.name() == name.value) else {
            let near = did_you_mean(name.value, RuleId::of_policies().map(RuleId::name));
            self.faults.push(Fault::new(name.place, format!("`{}` is no rule", name.value)).with_remedy(near));
            return None;
        };
        let about_aspects = matches!(rule, RuleId::Aspect | RuleId::ForbiddenAspect);
        match rule {
            RuleId::BudgetBytes | RuleId::BudgetImages => {
                self.fault(name.place, "a budget is of no kernel, so nothing is excepted from it; raise the budget");
                None
            }
            RuleId::MissingKernel => {
                self.fault(name.place, "what must run is said by `kernels`; take the glob out there");
                None
            }
            RuleId::ExpiredException => {
                self.fault(name.place, "an exception has a last day; give it a later one");
                None
            }
            _ if with_aspect && !about_aspects => {
                self.fault(name.place, format!("rule `{}` is about no aspect, and `aspect` names one", name.value));
                None
            }
            _ => Some(rule),
        }
    }
}
