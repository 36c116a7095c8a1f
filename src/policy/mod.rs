//! What does a project demand of its device code?
//!
//! A policy names the targets that kernels must run on, exceptions with a reason and a last day, aspects that nobody may
//! need, and budgets. It is read from TOML (`sycl-bundle.toml`, table `check`); [`EXAMPLE`] shows the whole grammar. Table
//! `build` of the same file says how images are compiled: [`rules`].

pub mod budget;
pub mod date;
mod read;
pub mod rules;
#[cfg(test)]
mod tests;
mod text;

use crate::compat::gate::{Against, Clause, Matter};
use crate::device::cpu::CpuArch;
use crate::device::table::TargetTable;
use crate::device::yaml::{Fault, Place};
use crate::error::Error;
use crate::select::Pattern;
use budget::Budget;
use date::Date;

/// A policy that uses every key.
pub const EXAMPLE: &str = include_str!("example.toml");

/// What is demanded for a target.
#[derive(Debug, Clone)]
pub struct Demanded {
    /// The target's name.
    pub target: String,
    /// The instruction set, where the spelling named one.
    pub march: Option<CpuArch>,
    /// The kernels that must run, by either name; all where it is empty.
    pub kernels: Vec<Pattern>,
    /// Aspects that none of them may need.
    pub forbidden: Vec<String>,
    /// Whether they must be compiled for the target.
    pub native: bool,
    /// What the images compiled for the target may take in each file.
    pub budget: Budget,
}

/// Findings that do not count until a day has passed.
#[derive(Debug, Clone)]
pub struct Exception {
    /// The rule, where one is named.
    pub rule: Option<Matter>,
    /// The aspect, where one is named. Of rule and aspect there is one at least.
    pub aspect: Option<String>,
    /// The kernels, by either name.
    pub kernel: Pattern,
    /// The targets; all where it is empty.
    pub targets: Vec<String>,
    /// Why.
    pub reason: String,
    /// The last day on which it holds.
    pub until: Date,
    /// Where it stands.
    pub place: Place,
}

/// A policy.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The file, as messages name it.
    pub file: String,
    /// Whether what is not known fails.
    pub strict: bool,
    /// The targets, in the order of the text.
    pub targets: Vec<Demanded>,
    /// What holds for a target of which the policy says nothing, should somebody ask about one.
    pub other: Option<Demanded>,
    /// What each file may take.
    pub budget: Budget,
    /// The exceptions, in the order of the text.
    pub exceptions: Vec<Exception>,
}

/// A policy that files are held to.
#[derive(Debug, Clone)]
pub struct Held {
    /// The policy.
    pub policy: Policy,
    /// The day on which its exceptions are judged; none where it has none.
    pub today: Option<Date>,
}

/// What a text says, as `read` understands it; else all that is wrong with it.
fn read_as<T>(file: &str, text: &str, read: impl FnOnce(&text::Table<'_>) -> (T, Vec<Fault>)) -> Result<T, Vec<Error>> {
    let in_file = |faults: Vec<Fault>| faults.iter().map(|fault| fault.in_file(file)).collect::<Vec<_>>();
    let (read, faults) = text::with_table(text, |root| read(&root)).map_err(|fault| in_file(vec![fault]))?;
    if faults.is_empty() { Ok(read) } else { Err(in_file(faults)) }
}

impl Policy {
    /// Reads a policy. `file` is what messages call it; `aspects` are the names that aspects may have.
    ///
    /// # Errors
    /// All that is wrong with it, each of kind `Input` and beginning with `file:line:column`.
    pub fn read(file: &str, text: &str, targets: &TargetTable, aspects: &[&str]) -> Result<Policy, Vec<Error>> {
        read_as(file, text, |root| read::policy(file, root, targets, aspects))
    }

    /// What is demanded for a target; for one that the policy does not name, what it says of all.
    pub fn demanded(&self, target: &str, march: Option<CpuArch>) -> Option<&Demanded> {
        let of_target = |one: &&Demanded| one.target == target && (march.is_none() || one.march == march);
        self.targets.iter().find(of_target).or(self.other.as_ref())
    }

    /// The first exception that covers what speaks against a kernel, and has not ended, by its number. The kernel has a
    /// mangled and a demangled name.
    pub fn excuse(&self, today: Date, target: &str, against: &Against, kernel: (&str, &str)) -> Option<usize> {
        let covers = |one: &Exception| today <= one.until && one.covers(target, against, kernel);
        self.exceptions.iter().position(covers)
    }

    /// A finding for each exception that has ended.
    pub fn expired(&self, today: Date) -> Vec<Against> {
        let ended = self.exceptions.iter().filter(|one| one.until < today);
        let found = ended.map(|one| {
            let Place { line, column } = one.place;
            let message = format!("The exception for {} ended on {}: {}", one.describe(), one.until, one.reason);
            let remedy = format!(
                "mend the kernels and take the exception at {}:{line}:{column} out, or give it a later day",
                self.file
            );
            let aspect = one.aspect.clone();
            Against { matter: Matter::Policy(Clause::Expired), certain: true, message, aspect, remedy }
        });
        found.collect()
    }
}

impl Exception {
    /// Whether what speaks against a kernel, of a mangled and a demangled name, is what it speaks of, on whatever day.
    pub fn covers(&self, target: &str, against: &Against, (name, demangled): (&str, &str)) -> bool {
        (self.targets.is_empty() || self.targets.iter().any(|own| own == target))
            && self.rule.is_none_or(|rule| rule == against.matter)
            && self.aspect.as_ref().is_none_or(|aspect| against.aspect.as_ref() == Some(aspect))
            && !name.is_empty()
            && (self.kernel.matches(name) || self.kernel.matches(demangled))
    }

    /// Why it excuses, and until when.
    pub fn excuse(&self) -> String {
        format!("{} (until {})", self.reason, self.until)
    }

    /// What it is about.
    pub fn describe(&self) -> String {
        let aspect = self.aspect.as_ref().map(|aspect| format!("aspect {aspect}"));
        let rule = self.rule.map(|rule| format!("rule {}", rule.rule()));
        let what: Vec<String> = rule.into_iter().chain(aspect).collect();
        format!("{} of kernel `{}`", what.join(", "), self.kernel.text())
    }
}
