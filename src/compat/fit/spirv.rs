//! Does the device's compiler take this SPIR-V?
//!
//! Drivers tell what they take only in part, and take more than they tell. So only what is known to be refused is a
//! reason; what is in no list is a gap.

use super::{Fit, Subject};
use crate::compat::finding::RuleId;
use crate::device::target::Target;
use crate::spirv::Module;
use crate::spirv::grammar::capability_name;

/// Capabilities that every OpenCL device with SPIR-V takes (OpenCL SPIR-V Environment Specification, 3.1 and 3.2), and
/// those that aspects stand for.
const CORE: [&str; 14] = [
    "Addresses",
    "Float16",
    "Float16Buffer",
    "Float64",
    "GenericPointer",
    "Groups",
    "Int16",
    "Int64",
    "Int64Atomics",
    "Int8",
    "Kernel",
    "Linkage",
    "SubgroupDispatch",
    "Vector16",
];

/// Checks version, capabilities and extensions of a module.
pub fn check(module: &Module, subject: &Subject<'_>, fit: &mut Fit) {
    if !subject.takes_spirv() {
        // That no SPIR-V is taken there is said once, of the image.
        return;
    }
    let target = subject.target;
    if target.brief {
        return;
    }
    let (major, minor) = module.version;
    match target.spirv_version {
        Some(newest) if module.version <= newest => {}
        Some((known, to)) => fit.gap(
            RuleId::SpirvVersion,
            format!("the module is SPIR-V {major}.{minor}; {} is known to take up to {known}.{to}", target.name),
        ),
        None => fit.gap(RuleId::SpirvVersion, format!("which SPIR-V {} takes is not known", target.name)),
    }
    capabilities(module, target, fit);
    let mut seen: Vec<&str> = Vec::new();
    for name in module.extensions.iter().map(String::as_str) {
        let known = target.spirv_extensions.as_ref().is_some_and(|own| own.iter().any(|own| own == name));
        if !known && !seen.contains(&name) {
            seen.push(name);
            fit.gap(RuleId::Extension, format!("whether {} takes {name} is not known", target.name));
        }
    }
}

fn capabilities(module: &Module, target: &Target, fit: &mut Fit) {
    let mut numbers = module.capabilities.clone();
    numbers.sort_unstable();
    numbers.dedup();
    for name in numbers.into_iter().map(capability_name) {
        let among = |list: &[String]| list.iter().any(|own| *own == name);
        if among(&target.spirv_refused_capabilities) {
            fit.reason(RuleId::Capability, format!("Device compiler does not support SPIR-V capability {name}."));
        } else if !CORE.contains(&name.as_ref()) && !target.spirv_capabilities.as_deref().is_some_and(among) {
            let message = format!("whether {} takes SPIR-V capability {name} is not known", target.name);
            fit.gap(RuleId::Capability, message);
        }
    }
}
