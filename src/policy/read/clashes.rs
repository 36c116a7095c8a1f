//! Which parts of a policy contradict each other?

use super::{Placed, Reader};
use crate::compat::gate::{Clause, Matter};
use crate::device::yaml::{Fault, Place};
use crate::policy::text::Table;
use crate::policy::{Exception, Policy};

/// Targets of SPIR-V for any device, for which nothing is compiled.
const PORTABLE: [&str; 4] = ["spir64", "spir", "spirv64", "spirv32"];

impl Reader<'_> {
    /// Adds a fault for each pair of rules of which one cancels the other.
    pub(super) fn clashes(&mut self, check: &Table<'_>, policy: &Policy, placed: &[Placed]) {
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
            let covered: Vec<&Placed> = placed.iter().filter(|one| covers(exception, one)).collect();
            if !covered.is_empty()
                && let Some(fault) = undone(exception, &covered)
            {
                self.faults.push(fault);
            }
        }
    }
}

fn covers(exception: &Exception, one: &Placed) -> bool {
    exception.targets.is_empty() || exception.targets.contains(&one.demanded.target)
}

/// Returns the fault of an exception that cancels a demand for all of its targets.
fn undone(exception: &Exception, covered: &[&Placed]) -> Option<Fault> {
    let glob = exception.kernel.text();
    let fault =
        |message: String, remedy: &str| Some(Fault::new(exception.place, message).with_remedy(Some(remedy.to_owned())));
    let all = |test: &dyn Fn(&Placed) -> bool| covered.iter().all(|one| test(one));
    if all(&|one| one.demanded.kernels.iter().any(|own| own.text() == glob)) {
        let at =
            covered.first().and_then(|one| one.kernels).map(|Place { line, column }| format!(" at {line}:{column}"));
        let message = format!("`{glob}` is required by `kernels`{} and excepted here", at.unwrap_or_default());
        return fault(message, "leave it out of `kernels`, or except fewer kernels");
    }
    if glob != "*" {
        return None;
    }
    if exception.rule == Some(Matter::NotNative) && all(&|one| one.demanded.native) {
        let message = "native code is required of all kernels, and all are excepted here".to_owned();
        return fault(message, "set `require-native = false` for these targets, or except fewer kernels");
    }
    let forbids = |rule: Option<Matter>| rule.is_none_or(|rule| rule == Matter::Policy(Clause::ForbiddenAspect));
    let aspect = exception.aspect.as_ref().filter(|_| forbids(exception.rule))?;
    if all(&|one| one.demanded.forbidden.contains(aspect)) {
        let message = format!("aspect {aspect} is forbidden to all kernels, and all are excepted here");
        return fault(message, "take it out of `forbidden-aspects`, or except fewer kernels");
    }
    None
}
