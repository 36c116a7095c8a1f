//! What does a project require of its device code?
//!
//! A policy names the targets that kernels must run on, exceptions with a reason and a last day, forbidden aspects, and
//! budgets. It is read from TOML (`sycl-bundle.toml`, table `check`); [`EXAMPLE`] shows the whole grammar. Table
//! `build` of the same file has rules for compiling images: [`rules`].

pub mod budget;
pub mod date;
mod read;
pub mod rules;
#[cfg(test)]
mod tests;
mod text;

use crate::compat::finding::{Finding, RuleId};
use crate::device::cpu::CpuArch;
use crate::device::table::TargetTable;
use crate::device::yaml::{Fault, Place};
use crate::error::Error;
use crate::select::Pattern;
use budget::Budget;
use date::Date;

/// Example of a policy that uses every key.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Demands for one target.
#[derive(Debug, Clone)]
pub struct TargetDemands {
    /// Name of the target.
    pub target: String,
    /// Instruction set, if the spelling names one.
    pub march: Option<CpuArch>,
    /// Kernels that must run, by mangled or demangled name; all if empty.
    pub kernels: Vec<Pattern>,
    /// Aspects that none of these kernels may need.
    pub forbidden: Vec<String>,
    /// Whether these kernels must be compiled for the target.
    pub native: bool,
    /// Budget of the images compiled for the target in each file.
    pub budget: Budget,
}

/// Findings that are excused up to a day.
#[derive(Debug, Clone)]
pub struct Exception {
    /// Rule, if one is named.
    pub rule: Option<RuleId>,
    /// Aspect, if one is named. There is a rule or an aspect.
    pub aspect: Option<String>,
    /// Kernels, by mangled or demangled name.
    pub kernel: Pattern,
    /// Targets; all if empty.
    pub targets: Vec<String>,
    /// Reason.
    pub reason: String,
    /// Last day of the exception.
    pub until: Date,
    /// Location in the file.
    pub place: Place,
}

/// Policy of a project.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// File name for messages.
    pub file: String,
    /// Whether unknown results fail the check.
    pub strict: bool,
    /// Demands for targets, in the order of the text.
    pub targets: Vec<TargetDemands>,
    /// Demands for a target that the policy does not name, if one is asked about.
    pub other: Option<TargetDemands>,
    /// Budget of each file.
    pub budget: Budget,
    /// Exceptions, in the order of the text.
    pub exceptions: Vec<Exception>,
}

/// Policy with the day on which it is applied.
#[derive(Debug, Clone)]
pub struct AppliedPolicy {
    /// Policy.
    pub policy: Policy,
    /// Day on which its exceptions are judged; none if it has no exceptions.
    pub today: Option<Date>,
}

/// Reads a text with `read`, and returns all errors if there are any.
fn read_as<T>(file: &str, text: &str, read: impl FnOnce(&text::Table<'_>) -> (T, Vec<Fault>)) -> Result<T, Vec<Error>> {
    let in_file = |faults: Vec<Fault>| faults.iter().map(|fault| fault.in_file(file)).collect::<Vec<_>>();
    let (read, faults) = text::with_table(text, |root| read(&root)).map_err(|fault| in_file(vec![fault]))?;
    if faults.is_empty() { Ok(read) } else { Err(in_file(faults)) }
}

impl Policy {
    /// Reads a policy. `file` is its name for messages; `aspects` are the valid names of aspects.
    ///
    /// # Errors
    /// All mistakes, each of kind `Input` and beginning with `file:line:column`.
    pub fn read(file: &str, text: &str, targets: &TargetTable, aspects: &[&str]) -> Result<Policy, Vec<Error>> {
        read_as(file, text, |root| read::policy(file, root, targets, aspects))
    }

    /// Returns the demands for a target, or the general ones for a target that the policy does not name.
    pub fn demanded(&self, target: &str, march: Option<CpuArch>) -> Option<&TargetDemands> {
        let of_target = |one: &&TargetDemands| one.target == target && (march.is_none() || one.march == march);
        self.targets.iter().find(of_target).or(self.other.as_ref())
    }

    /// Returns the number of the first current exception that covers a finding about a kernel, which is given by its
    /// mangled and demangled name.
    pub fn excuse(&self, today: Date, target: &str, against: &Finding, kernel: (&str, &str)) -> Option<usize> {
        let covers = |one: &Exception| today <= one.until && one.covers(target, against, kernel);
        self.exceptions.iter().position(covers)
    }

    /// Returns a finding for each exception that has expired.
    pub fn expired(&self, today: Date) -> Vec<Finding> {
        let ended = self.exceptions.iter().filter(|one| one.until < today);
        let found = ended.map(|one| {
            let Place { line, column } = one.place;
            let message = format!("The exception for {} ended on {}: {}", one.describe(), one.until, one.reason);
            let remedy = format!(
                "mend the kernels and take the exception at {}:{line}:{column} out, or give it a later day",
                self.file
            );
            let aspect = one.aspect.clone();
            Finding { rule: RuleId::ExpiredException, certain: true, message, aspect, remedy }
        });
        found.collect()
    }
}

impl Exception {
    /// Whether the exception covers a finding about a kernel, given by its mangled and demangled name, on any day.
    pub fn covers(&self, target: &str, against: &Finding, (name, demangled): (&str, &str)) -> bool {
        (self.targets.is_empty() || self.targets.iter().any(|own| own == target))
            && self.rule.is_none_or(|rule| rule == against.rule)
            && self.aspect.as_ref().is_none_or(|aspect| against.aspect.as_ref() == Some(aspect))
            && !name.is_empty()
            && (self.kernel.matches(name) || self.kernel.matches(demangled))
    }

    /// Returns the reason and the last day, for messages.
    pub fn excuse(&self) -> String {
        format!("{} (until {})", self.reason, self.until)
    }

    /// Returns the subject of the exception, for messages.
    pub fn describe(&self) -> String {
        let aspect = self.aspect.as_ref().map(|aspect| format!("aspect {aspect}"));
        let rule = self.rule.map(|rule| format!("rule {}", rule.name()));
        let what: Vec<String> = rule.into_iter().chain(aspect).collect();
        format!("{} of kernel `{}`", what.join(", "), self.kernel.text())
    }
}
