//! What does a project require of its device code?
//!
//! A policy names the targets that kernels must run on, exceptions with a reason and a last day, forbidden aspects, and
//! budgets. It is read from TOML (`sycl-bundle.toml`, table `check`); [`EXAMPLE`] shows the whole grammar. Table
//! `build` of the same file has rules for compiling images: [`rules`].

pub(crate) mod budget;
mod read;
pub mod rules;
pub(crate) mod text;

use crate::compat::finding::{Finding, RuleId};
use crate::device::cpu::CpuArch;
use crate::device::table::TargetTable;
use crate::device::yaml::{Fault, Place};
use crate::error::Error;
use crate::select::{KernelName, Pattern};
use budget::Budget;
use text::Date;

/// Example of a policy that uses every key.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// Demands for one target.
#[derive(Debug, Clone)]
pub(crate) struct TargetDemands {
    /// Name of the target.
    pub(crate) target: String,
    /// Instruction set, if the spelling names one.
    pub(crate) march: Option<CpuArch>,
    /// Kernels that must run, by mangled or demangled name; all if empty.
    pub(crate) kernels: Vec<Pattern>,
    /// Aspects that none of these kernels may need.
    pub(crate) forbidden: Vec<String>,
    /// Whether these kernels must be compiled for the target.
    pub(crate) native: bool,
    /// Budget of the images compiled for the target in each file.
    pub(crate) budget: Budget,
}

/// Findings that are excused up to a day.
#[derive(Debug, Clone)]
pub(crate) struct Exception {
    /// Rule, if one is named.
    pub(crate) rule: Option<RuleId>,
    /// Aspect, if one is named. There is a rule or an aspect.
    pub(crate) aspect: Option<String>,
    /// Kernels, by mangled or demangled name.
    pub(crate) kernel: Pattern,
    /// Targets; all if empty.
    pub(crate) targets: Vec<String>,
    /// Reason.
    pub(crate) reason: String,
    /// Last day of the exception.
    pub(crate) until: Date,
    /// Location in the file.
    pub(crate) place: Place,
}

/// Policy of a project.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// File name for messages.
    pub(crate) file: String,
    /// Whether unknown results fail the check.
    pub(crate) strict: bool,
    /// Demands for targets, in the order of the text.
    pub(crate) targets: Vec<TargetDemands>,
    /// Demands for a target that the policy does not name, if one is asked about.
    pub(crate) other: Option<TargetDemands>,
    /// Budget of each file.
    pub(crate) budget: Budget,
    /// Exceptions, in the order of the text.
    pub(crate) exceptions: Vec<Exception>,
}

/// Policy with the day on which it is applied.
#[derive(Debug, Clone)]
pub(crate) struct AppliedPolicy {
    /// Policy.
    pub(crate) policy: Policy,
    /// Day on which its exceptions are judged; none if it has no exceptions.
    pub(crate) today: Option<Date>,
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
    pub(crate) fn demanded(&self, target: &str, march: Option<CpuArch>) -> Option<&TargetDemands> {
        let of_target = |one: &&TargetDemands| one.target == target && (march.is_none() || one.march == march);
        self.targets.iter().find(of_target).or(self.other.as_ref())
    }

    /// Returns the number of the first current exception that covers a finding about a kernel.
    pub(crate) fn excuse(
        &self,
        today: Date,
        target: &str,
        against: &Finding,
        kernel: &KernelName<'_>,
    ) -> Option<usize> {
        let covers = |one: &Exception| today <= one.until && one.covers(target, against, kernel);
        self.exceptions.iter().position(covers)
    }

    /// Returns a finding for each exception that has expired.
    pub(crate) fn expired(&self, today: Date) -> Vec<Finding> {
        let ended = self.exceptions.iter().filter(|one| one.until < today);
        let found = ended.map(|one| {
            let Place { line, column } = one.place;
            let message = format!("The exception for {} ended on {}: {}", one.describe(), one.until, one.reason);
            let remedy = format!(
                "mend the kernels and take the exception at {}:{line}:{column} out, or give it a later day",
                self.file
            );
            let aspect = one.aspect.clone();
            Finding { rule: RuleId::ExpiredException, certain: true, message, aspect, remedy, more: 0 }
        });
        found.collect()
    }
}

impl Exception {
    /// Whether the exception covers a finding about a kernel, on any day.
    pub(crate) fn covers(&self, target: &str, against: &Finding, kernel: &KernelName<'_>) -> bool {
        (self.targets.is_empty() || self.targets.iter().any(|own| own == target))
            && self.rule.is_none_or(|rule| rule == against.rule)
            && self.aspect.as_ref().is_none_or(|aspect| against.aspect.as_ref() == Some(aspect))
            && !kernel.mangled().is_empty()
            && self.kernel.matches_kernel(kernel)
    }

    /// Returns the reason and the last day, for messages.
    pub(crate) fn excuse(&self) -> String {
        format!("{} (until {})", self.reason, self.until)
    }

    /// Returns the subject of the exception, for messages.
    pub(crate) fn describe(&self) -> String {
        let aspect = self.aspect.as_ref().map(|aspect| format!("aspect {aspect}"));
        let rule = self.rule.map(|rule| format!("rule {}", rule.name()));
        let what: Vec<String> = rule.into_iter().chain(aspect).collect();
        format!("{} of kernel `{}`", what.join(", "), self.kernel.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect;
    use crate::device;

    fn read(text: &str) -> Result<Policy, Vec<String>> {
        let aspects: Vec<&str> = aspect::names().collect();
        Policy::read("p.toml", text, device::table(), &aspects).map_err(|errors| {
            errors.iter().map(|error| format!("{error} | {}", error.remedy().unwrap_or("-"))).collect()
        })
    }

    fn against(rule: RuleId, aspect: &str) -> Finding {
        let aspect = Some(aspect.to_owned());
        Finding { rule, certain: true, message: String::new(), aspect, remedy: String::new(), more: 0 }
    }

    #[test]
    fn the_example_is_a_policy() {
        let policy = read(EXAMPLE).unwrap();
        let names: Vec<&str> = policy.targets.iter().map(|one| one.target.as_str()).collect();
        assert_eq!(names, ["spir64_x86_64", "intel_gpu_acm_g10", "intel_gpu_pvc"]);
        let [cpu, arc, pvc] = policy.targets.as_slice() else { panic!() };
        assert_eq!((cpu.native, arc.native, cpu.kernels.len(), pvc.kernels.len()), (true, false, 2, 1));
        assert_eq!(arc.forbidden, ["atomic64", "fp64"]);
        assert_eq!((arc.budget.bytes, arc.budget.spill, policy.budget.images), (Some(8 << 20), Some(1024), Some(400)));
        assert_eq!((policy.exceptions.len(), policy.strict), (2, true));
        assert_eq!(policy.demanded("intel_gpu_dg1", None).unwrap().forbidden, ["atomic64"]);
    }

    #[test]
    fn exceptions_hold_through_their_last_day() {
        let policy = read(EXAMPLE).unwrap();
        let rule = RuleId::Aspect;
        let legacy = "acme::legacy_sum";
        let day = |year, month, day| Date { year, month, day };
        let excuse = |today, target, kernel, aspect| {
            policy.excuse(today, target, &against(rule, aspect), &KernelName::new(kernel))
        };
        let last = day(2027, 3, 31);
        assert_eq!(excuse(last, "intel_gpu_acm_g10", legacy, "fp64"), Some(0));
        assert_eq!(excuse(day(2027, 4, 1), "intel_gpu_acm_g10", legacy, "fp64"), None);
        assert_eq!(excuse(last, "intel_gpu_pvc", legacy, "fp64"), None);
        assert_eq!(excuse(last, "intel_gpu_acm_g10", legacy, "fp16"), None);
        assert_eq!(excuse(last, "intel_gpu_acm_g10", "acme::other", "fp64"), None);
        assert_eq!(policy.excuse(last, "intel_gpu_acm_g10", &against(rule, "fp64"), &KernelName::new("")), None);
        assert_eq!(policy.expired(day(2026, 12, 31)).len(), 0);
        let expired = policy.expired(day(2027, 1, 1));
        let message = "The exception for rule not-native of kernel `acme::solve_sparse*` ended on 2026-12-31: \
                   the driver of 2026.1 cannot compile it";
        assert!(expired[0].remedy.contains("p.toml:40:1"), "{}", expired[0].remedy);
        assert_eq!(expired.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), [message]);
        assert_eq!(
            policy.exceptions[0].excuse(),
            "launched only where device.has(aspect::fp64), issue 12 (until 2027-03-31)"
        );
    }

    /// Returns the mistakes in the text of `[check]`, each beginning with its location.
    fn wrong(text: &str) -> Vec<String> {
        read(&format!("[check]\n{text}\n")).unwrap_err()
    }

    #[test]
    fn typos_are_told_with_their_place() {
        assert_eq!(wrong("targest = []"), ["p.toml:2:1: unknown key `targest` | did you mean `target` or `targets`?"]);
        assert_eq!(
            wrong("targets = [\"intel_gpu_pvd\"]"),
            ["p.toml:2:12: `intel_gpu_pvd` is no target | did you mean `intel_gpu_pvc`?"]
        );
        assert_eq!(wrong("forbidden-aspects = [\"fp46\"]").len(), 1);
        assert_eq!(
            wrong("targets = [\"pvc\"]\n[check.target.pvc]\nkernel = [\"*\"]"),
            ["p.toml:4:1: unknown key `kernel` | did you mean `kernels`?"]
        );
        assert_eq!(wrong("budget = { byte = 1 }"), ["p.toml:2:12: unknown key `byte` | did you mean `bytes`?"]);
        assert!(wrong("targets = [")[0].starts_with("p.toml:2:"));
        assert_eq!(read("").unwrap_err()[0], read("# nothing\n").unwrap_err()[0]);
        let exception = "targets = [\"pvc\"]\n[[check.exception]]\n";
        assert_eq!(
            wrong(exception),
            [
                "p.toml:3:1: an exception needs `kernel` | -",
                "p.toml:3:1: an exception needs `reason` | -",
                "p.toml:3:1: an exception needs `until` | -",
                "p.toml:3:1: an exception needs `rule` or `aspect`: what it is about | -",
            ]
        );
        let rule = format!("{exception}rule = \"aspects\"\nkernel = \"k\"\nreason = \"r\"\nuntil = 2026-01-01");
        assert_eq!(wrong(&rule), ["p.toml:4:8: `aspects` is no rule | did you mean `aspect`?"]);
        let day = format!("{exception}rule = \"aspect\"\nkernel = \"k\"\nreason = \"r\"\nuntil = \"2026-01-01\"");
        assert!(
            wrong(&day)[0].starts_with("p.toml:7:9: `until` is a text, and must be a day like"),
            "{:?}",
            wrong(&day)
        );
    }

    #[test]
    fn rules_that_undo_each_other_are_told_with_their_place() {
        let exception = |text: &str| format!("\n[[check.exception]]\nreason = \"r\"\nuntil = 2026-01-01\n{text}");
        let aspect = |kernel: &str| exception(&format!("aspect = \"fp64\"\nkernel = \"{kernel}\""));
        for (text, message) in [
            (
                "targets = [\"pvc\"]\nkernels = [\"k\"]".to_owned() + &aspect("k"),
                "`k` is required by `kernels` at 3:11",
            ),
            (
                "targets = [\"pvc\"]\nforbidden-aspects = [\"fp64\"]".to_owned() + &aspect("*"),
                "forbidden to all kernels",
            ),
            (
                "targets = [\"pvc\"]\nrequire-native = true".to_owned()
                    + &exception("rule = \"not-native\"\nkernel = \"*\""),
                "native code is required of all kernels",
            ),
            ("targets = [\"pvc\"]".to_owned() + &aspect("k") + &aspect("k"), "stands at 3:1 already"),
            ("targets = [\"pvc\"]".to_owned() + &aspect("k") + "\ntargets = [\"dg1\"]", "is no target of this policy"),
            ("targets = [\"pvc\", \"intel_gpu_pvc\"]".to_owned(), "named at 2:12 already"),
            ("[check.target.pvc]\n[check.target.intel_gpu_pvc]".to_owned(), "given rules at 2:15 already"),
            ("targets = [\"dg1\"]\n[check.target.pvc]".to_owned(), "is not among `targets`"),
            ("targets = [\"spir64\"]\nrequire-native = true".to_owned(), "SPIR-V for any device"),
            ("budget = { bytes = 1 }\ntarget.pvc.budget.bytes = 2".to_owned(), "more than that of the whole file"),
            ("target.pvc = { require-native = true, budget.images = 0 }".to_owned(), "allows no image"),
            (
                "targets = [\"pvc\"]".to_owned() + &exception("rule = \"budget-bytes\"\nkernel = \"*\""),
                "raise the budget",
            ),
            (
                "targets = [\"pvc\"]".to_owned() + &exception("rule = \"state\"\naspect = \"fp64\"\nkernel = \"*\""),
                "is about no aspect",
            ),
        ] {
            let wrong = wrong(&text);
            assert!(wrong.len() == 1 && wrong[0].contains(message), "{text}\n{wrong:?}");
        }
    }

    /// Damaged texts are policies or mistakes with a location, and nothing worse.
    #[test]
    fn damaged_policies_are_told_with_their_place() {
        let lines: Vec<&str> = EXAMPLE.lines().filter(|line| !line.starts_with('#')).collect();
        let whole = lines.join("\n");
        let mut refused = 0;
        for (at, _) in whole.char_indices() {
            let (before, after) = whole.split_at(at);
            let without: String = before.chars().chain(after.chars().skip(1)).collect();
            let with = format!("{before}[{after}");
            for text in [before.to_owned(), without, with] {
                let Err(errors) = read(&text) else { continue };
                refused += 1;
                assert!(errors.iter().all(|error| error.starts_with("p.toml:")), "{errors:?}");
            }
        }
        assert!(refused > whole.len(), "{refused} of {}", whole.len());
        for text in ["\0", "check = 1", "check = []", "[check]\ntarget = []", "[[check]]", "[check]\nexception = [1]"] {
            assert!(read(text).unwrap_err().iter().all(|error| error.starts_with("p.toml:")), "{text}");
        }
    }
}
