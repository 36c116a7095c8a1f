//! Does an Intel GPU have what a module reaches past SPIR-V: functions of Intel's compiler, and inline assembly?

use super::format::named;
use super::{Fit, vector};
use crate::compat::built_in::{of_block_loads, of_intel_gpus};
use crate::compat::finding::RuleId;
use crate::device::target::{IpVersion, Target};
use crate::spirv::Module;

/// Whether a GPU is DG2 or newer. DG2 brought other loads and stores, and ray tracing, which ocloc 26.27 compiles for all newer GPUs.
pub(super) fn is_dg2_or_newer(ip: &IpVersion) -> bool {
    (ip.architecture, ip.release) >= (12, 55)
}

/// Checks assembly, and calls of functions that Intel's compiler for GPUs makes instructions of. GPUs that load blocks of two dimensions are
/// those for which ocloc 26.27 builds such code.
pub(super) fn check(module: &Module, target: &Target, fit: &mut Fit) {
    vector::check(module, target, fit);
    assembly(module, target, fit);
    let imports = module.imports.iter().filter(|symbol| of_intel_gpus(symbol));
    let (loads, others): (Vec<String>, Vec<String>) = imports.cloned().partition(|symbol| of_block_loads(symbol));
    let name = &target.name;
    let reason = |names: String| format!("The module calls {names}, which only Intel's compiler for GPUs has.");
    if target.ip_versions.is_empty() {
        if let Some(names) = named(&[loads, others].concat()) {
            fit.reason(RuleId::Capability, reason(names));
        }
        return;
    }
    let has_loads = target.ip_versions.iter().any(loads_blocks);
    if let Some(names) = named(&loads).filter(|_| !has_loads) {
        let message = format!("The module calls {names}, for GPUs that load blocks of two dimensions; {name} is none.");
        fit.reason(RuleId::Capability, message);
    }
    if let Some(names) = named(&others) {
        let message = format!(
            "The module calls {names}, which Intel's compiler has for GPUs with such an instruction; whether {name} is one \
             is not known."
        );
        fit.gap(RuleId::Capability, message);
    }
}

/// Whether a GPU loads blocks of two dimensions.
pub(super) fn loads_blocks(ip: &IpVersion) -> bool {
    ip.architecture >= 20 || (ip.architecture, ip.release) == (12, 60)
}

/// Whether a GPU multiplies matrices with half the width of Ponte Vecchio, as DG2 and Arrow Lake-H do, and whether with the whole, as
/// that and all since Xe2 do.
pub(super) fn has_matrices(ip: &IpVersion) -> [bool; 2] {
    [ip.architecture == 12 && matches!(ip.release, 55..=57 | 74), loads_blocks(ip)]
}

/// Instructions of vISA by which all GPUs since DG2 load and store.
const LOADS: [&str; 8] = [
    "lsc_fence",
    "lsc_load",
    "lsc_load_quad",
    "lsc_load_strided",
    "lsc_prefetch",
    "lsc_store",
    "lsc_store_quad",
    "lsc_store_strided",
];

/// Instructions of vISA that all GPUs since DG2 have, in order.
const INSTRUCTIONS: [&str; 44] = [
    "add", "addc", "and", "asr", "barrier", "bfe", "bfi", "bfn", "bfrev", "call", "cbit", "cmp", "cos", "dp4a", "exp",
    "fbh", "fbl", "frc", "goto", "inv", "jmp", "log", "lzd", "mad", "max", "min", "mod", "mov", "mul", "mulh", "not",
    "or", "pow", "ret", "rndd", "rnde", "rndz", "rsqrt", "sel", "shl", "shr", "sin", "sqrt", "xor",
];

/// Whether a GPU since DG2 is known to have an instruction of inline assembly, by its name with types, and the width of those that
/// multiply matrices: ocloc 26.27 builds it there.
fn has_instruction(ip: &IpVersion, name: &str) -> bool {
    let (name, width) = name.split_once('/').unwrap_or((name, ""));
    let parts: Vec<&str> = name.split('.').collect();
    let (kind, of_bytes) =
        (parts.first().copied().unwrap_or_default(), parts.iter().any(|part| ["hf8", "bf8"].contains(part)));
    let [narrow, wide] = has_matrices(ip);
    match kind {
        "dpas" if parts.len() < 3 => false,
        // Other GPUs' hardware for floats of a byte is not known, though the compiler builds some.
        "dpas" if of_bytes => ip.architecture >= 35 && width == "16",
        "dpas" => narrow && width == "8" || wide && width == "16",
        "dpasw" => narrow && width == "8" && !of_bytes,
        // Conversions to and from floats of a byte.
        "fcvt" => ip.architecture >= 30,
        "lsc_load_block2d" | "lsc_store_block2d" => loads_blocks(ip),
        loads if loads.starts_with("lsc_") => LOADS.contains(&loads),
        other => INSTRUCTIONS.binary_search(&other).is_ok(),
    }
}

/// Checks the inline assembly of a module.
fn assembly(module: &Module, target: &Target, fit: &mut Fit) {
    let gpu = &target.name;
    if !module.has_assembly() {
        return;
    }
    let Some(ip) = target.ip_versions.first() else {
        if !module.declares_assembly() {
            let message = format!("The module has inline assembly; whether {gpu} takes it is not known.");
            fit.gap(RuleId::Capability, message);
        }
        return;
    };
    // Assembly for GPUs uses the newer loads and stores (LSC), or may.
    if !is_dg2_or_newer(ip) {
        let message =
            format!("The module has assembly of Intel's GPUs; whether {gpu} has its instructions is not known.");
        return fit.gap(RuleId::Capability, message);
    }
    let unknown: Vec<String> = module.assembly.iter().filter(|one| !has_instruction(ip, one)).cloned().collect();
    if let Some(names) = named(&unknown) {
        let message =
            format!("The module has assembly with {names}; whether {gpu} has such instructions is not known.");
        fit.gap(RuleId::Capability, message);
    }
}
