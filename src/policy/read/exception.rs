//! How are the exceptions of a policy read?

use super::{Placed, Reader};
use crate::compat::fit::Rule;
use crate::compat::gate::{Clause, Matter};
use crate::device::near::did_you_mean;
use crate::device::yaml::{Fault, Place};
use crate::policy::Exception;
use crate::policy::text::{At, Table};

const KEYS: [&str; 6] = ["rule", "aspect", "kernel", "targets", "reason", "until"];

impl Reader<'_> {
    /// Reads the exceptions of a policy for these targets.
    pub(super) fn exceptions(&mut self, check: &Table<'_>, placed: &[Placed]) -> Vec<Exception> {
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

    fn exception(&mut self, table: &Table<'_>, placed: &[Placed]) -> Option<Exception> {
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
    fn rule(&mut self, name: At<&str>, with_aspect: bool) -> Option<Matter> {
        let Some(rule) = Matter::ALL.into_iter().find(|one| one.rule() == name.value) else {
            let near = did_you_mean(name.value, Matter::ALL.iter().map(|one| one.rule()));
            self.faults.push(Fault::new(name.place, format!("`{}` is no rule", name.value)).with_remedy(near));
            return None;
        };
        let about_aspects = matches!(rule, Matter::Image(Rule::Aspect) | Matter::Policy(Clause::ForbiddenAspect));
        match rule {
            Matter::Policy(Clause::Bytes | Clause::Images) => {
                self.fault(name.place, "a budget is of no kernel, so nothing is excepted from it; raise the budget");
                None
            }
            Matter::Policy(Clause::Missing) => {
                self.fault(name.place, "what must run is said by `kernels`; take the glob out there");
                None
            }
            Matter::Policy(Clause::Expired) => {
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
