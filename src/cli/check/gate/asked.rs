//! For which targets is it asked, and what is demanded for each?

use super::super::super::device_config::{Named, named_targets};
use super::super::super::global::Global;
use sycl_bundle::demangle::demangle;
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::device::target::Target;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::policy::{Policy, TargetDemands};
use sycl_bundle::select::Pattern;

/// A target that is asked about.
pub struct Asked<'t> {
    pub target: &'t Target,
    pub march: Option<CpuArch>,
    /// The policy's demands for the target.
    pub demanded: Option<TargetDemands>,
    /// Whether kernels must be compiled for it.
    pub native: bool,
}

impl<'t> Asked<'t> {
    /// A target of which nothing more is demanded.
    pub fn plain(target: &'t Target) -> Asked<'t> {
        Asked { target, march: None, demanded: None, native: false }
    }

    /// Adds what a policy demands of the target; kernels must be compiled for it already where that or `native` says
    /// so.
    pub fn under(mut self, policy: Option<&Policy>, native: bool) -> Asked<'t> {
        self.demanded = policy.and_then(|policy| policy.demanded(&self.target.name, self.march)).cloned();
        self.native(native)
    }

    fn native(mut self, native: bool) -> Asked<'t> {
        self.native = native || self.demanded.as_ref().is_some_and(|demanded| demanded.native);
        self
    }

    /// The kernels that must run; all where there is none.
    pub fn globs(&self) -> &[Pattern] {
        self.demanded.as_ref().map(|demanded| demanded.kernels.as_slice()).unwrap_or_default()
    }
}

/// Whether a kernel matches one of these, by its mangled or demangled name.
pub fn any_matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name) || pattern.matches(&demangle(name)))
}

/// The targets that spellings mean, each once.
///
/// # Errors
/// `Usage` where one means none.
pub fn named<'t>(global: &Global, table: &'t TargetTable, spellings: &[String]) -> Result<Vec<Asked<'t>>> {
    let named = named_targets(global, table, spellings)?.into_iter();
    let asked: Vec<Asked<'t>> =
        named.map(|Named { target, march }| Asked { target, march, demanded: None, native: false }).collect();
    if asked.is_empty() && !spellings.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "`-t` names no target"));
    }
    Ok(asked)
}

/// The targets to judge with their demands: those that are named, else those of the policy, which may be none; `native`
/// is demanded of all.
pub fn held<'t>(
    global: &Global,
    named: Vec<Asked<'t>>,
    policy: Option<&Policy>,
    table: &'t TargetTable,
    native: bool,
) -> Vec<Asked<'t>> {
    if named.is_empty() {
        let own = policy.into_iter().flat_map(|policy| &policy.targets);
        return own.filter_map(|one| of_policy(one, table)).map(|one| one.native(native)).collect();
    }
    let under = |one: Asked<'t>| {
        let other = |policy: &&Policy| policy.targets.iter().all(|own| own.target != one.target.name);
        if let Some(policy) = policy.filter(other) {
            global.note(&format!("{} has no rules for {} alone", policy.file, one.target.name));
        }
        one.under(policy, native)
    };
    named.into_iter().map(under).collect()
}

/// The targets to judge, like [`held`], where there must be one.
///
/// # Errors
/// `Usage` where that is nothing.
pub fn asked<'t>(
    global: &Global,
    named: Vec<Asked<'t>>,
    policy: Option<&Policy>,
    table: &'t TargetTable,
    native: bool,
) -> Result<Vec<Asked<'t>>> {
    let asked = held(global, named, policy, table, native);
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

fn of_policy<'t>(demanded: &TargetDemands, table: &'t TargetTable) -> Option<Asked<'t>> {
    let target = table.target(&demanded.target)?;
    Some(Asked { target, march: demanded.march, demanded: Some(demanded.clone()), native: false })
}
