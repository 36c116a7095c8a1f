//! Which findings were there before?
//!
//! A baseline lists findings by what stays from build to build: rule, target, file name, kernel, and aspect or message; not
//! by images, offsets or lines. Findings that are alike are counted. What a policy says of whole files, its budgets and
//! exceptions that have ended, is in no baseline: there the policy is what to change.

use super::TargetFindings;
use crate::compat::finding::{Finding, RuleId};
use crate::compat::gate::judgement::Found;
use crate::compat::gate::{base_name, fingerprint_of};
use crate::demangle::demangle;
use crate::error::{Error, Result};
use crate::report::json::{SCHEMA_VERSION, writer::push};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A finding that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "known")]
pub(crate) struct Known {
    /// A text that is the same from build to build.
    pub(crate) fingerprint: String,
    /// The number of findings that are alike.
    #[schemars(range(min = 1))]
    pub(crate) count: usize,
    /// The rule.
    pub(crate) rule: String,
    /// The target.
    pub(crate) target: String,
    /// The file's name, without folders.
    pub(crate) file: String,
    /// The kernel's mangled name.
    pub(crate) kernel: String,
    /// The kernel's name in the source.
    pub(crate) demangled: String,
    /// The aspect, where it is about one.
    pub(crate) aspect: Option<String>,
    /// A sentence about it.
    pub(crate) message: String,
}

/// The result of a comparison with a baseline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Baseline")]
pub(crate) struct Compared {
    /// The file of the baseline, as it was given.
    pub(crate) file: String,
    /// Known findings that are no longer found.
    pub(crate) gone: Vec<Known>,
    /// The excuse of findings that the baseline has; compared by address.
    #[serde(skip)]
    why: Arc<str>,
}

impl Compared {
    /// Whether the baseline has a finding.
    pub(crate) fn knows(&self, found: &Found<'_>) -> bool {
        found.excused.is_some_and(|why| Arc::ptr_eq(why, &self.why))
    }
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    findings: Vec<Known>,
}

/// Findings that are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    findings: Vec<Known>,
}

/// Whether a finding may be in a baseline.
fn may_be_known(one: &Finding) -> bool {
    !matches!(
        one.rule,
        RuleId::BudgetBytes
            | RuleId::BudgetImages
            | RuleId::BudgetSpill
            | RuleId::BudgetSpilledRegisters
            | RuleId::ExpiredException
            | RuleId::MissingKernel
    )
}

impl Baseline {
    /// All findings that count.
    pub(crate) fn from_findings(targets: &[TargetFindings]) -> Baseline {
        let mut known: HashMap<String, Known> = HashMap::new();
        for target in targets {
            let counting = |found: &Found<'_>| found.excused.is_none() && may_be_known(found.finding);
            for finding in target.findings().filter(|one| counting(&one.found)) {
                let (fingerprint, one) = (finding.fingerprint(&target.target), finding.found.finding);
                let one = known.entry(fingerprint.clone()).or_insert_with(|| Known {
                    fingerprint,
                    count: 0,
                    rule: one.rule.name().to_owned(),
                    target: target.target.clone(),
                    file: base_name(&finding.of.file).to_owned(),
                    kernel: finding.found.kernel.to_string(),
                    demangled: demangle(finding.found.kernel).into_owned(),
                    aspect: one.aspect.clone(),
                    message: one.message.clone(),
                });
                one.count = one.count.saturating_add(1);
            }
        }
        let mut findings: Vec<Known> = known.into_values().collect();
        // By what a reader looks for, so that a change of the file is a change of its findings.
        let key = |one: &Known| {
            (one.target.clone(), one.file.clone(), one.rule.clone(), one.kernel.clone(), one.fingerprint.clone())
        };
        findings.sort_by_cached_key(key);
        Baseline { findings }
    }

    /// The number of findings in the baseline.
    pub(crate) fn len(&self) -> usize {
        self.findings.iter().map(|one| one.count).fold(0, usize::saturating_add)
    }

    /// Reads what [`Baseline::text`] wrote.
    ///
    /// # Errors
    /// `Input` where it is no baseline, with line and column.
    pub fn read(file: &str, text: &str) -> Result<Baseline> {
        let wrong = |error: serde_json::Error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            let error = Error::input(format!("{file}:{}:{}: {message}", error.line(), error.column()));
            error.with_remedy("`--write-baseline` makes a baseline")
        };
        // Editors on Windows write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document: Document = serde_json::from_str(text).map_err(wrong)?;
        if document.schema_version != SCHEMA_VERSION {
            let message = format!("{file}: version {} of baselines, which is not known here", document.schema_version);
            return Err(Error::input(message));
        }
        Ok(Baseline { findings: document.findings })
    }

    /// The baseline as JSON, a finding to a line, in an order that is always the same.
    pub fn text(&self) -> String {
        let mut out = format!("{{\"schema_version\":{SCHEMA_VERSION},\"findings\":[");
        for (at, one) in self.findings.iter().enumerate() {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            push(&mut out, one);
        }
        out.push_str("\n]}\n");
        out
    }

    /// Marks what is known, which does not count any more; of alike findings as many are known as the baseline counts.
    /// `file` is what messages call the baseline. Tells what it holds and nobody found, of these targets and files.
    pub(crate) fn apply(&self, file: &str, targets: &mut [TargetFindings], files: &[Arc<str>]) -> Compared {
        let why: Arc<str> = format!("in the baseline {file}").into();
        let mut left: HashMap<&str, usize> =
            self.findings.iter().map(|one| (one.fingerprint.as_str(), one.count)).collect();
        for target in targets.iter_mut() {
            for of in &mut target.files {
                of.judged.refine(|kernels, kernel, items| {
                    let name = kernels.name(kernel)?;
                    let mut known = items.to_vec();
                    let counting = |one: &Finding| may_be_known(one);
                    for item in known.iter_mut().filter(|one| one.excused.is_none() && counting(&one.finding)) {
                        let fingerprint = fingerprint_of(&target.target, &of.file, &item.finding, name);
                        if let Some(count) = left.get_mut(fingerprint.as_str()).filter(|count| **count > 0) {
                            *count = count.saturating_sub(1);
                            item.excused = Some(why.clone());
                        }
                    }
                    (known != items).then_some(known)
                });
            }
        }
        let names: HashSet<&str> = files.iter().map(|file| base_name(file)).collect();
        let of_targets: HashSet<&str> = targets.iter().map(|target| target.target.as_str()).collect();
        let asked = |one: &&Known| of_targets.contains(one.target.as_str()) && names.contains(one.file.as_str());
        let gone = self.findings.iter().filter(asked).filter_map(|one| {
            let count = *left.get(one.fingerprint.as_str())?;
            (count > 0).then(|| Known { count, ..one.clone() })
        });
        Compared { file: file.to_owned(), gone: gone.collect(), why }
    }
}
