//! Does the device have what the image records as required?

use super::Fit;
use super::intel_gpu::loads_blocks;
use crate::bundle::aspect;
use crate::bundle::image::Image;
use crate::bundle::property_sets::set;
use crate::bundle::requirements::{FixedTarget, target_number};
use crate::compat::aspects::Aspect;
use crate::compat::examine::Examined;
use crate::compat::finding::{Finding, RuleId};
use crate::device::matrix::{Combination, unsupported_mad, unsupported_matrix};
use crate::device::target::current;
use crate::device::target::{DeviceType, Has, Target};
use crate::native::Demands;
use crate::spirv::Module;
use crate::spirv::matrices::Matrix;

/// Checks what the set `SYCL/device requirements` holds: what is required, and the matrix operations of the image.
pub(crate) fn check(examined: &Examined<'_, '_>, target: &Target, fit: &mut Fit) {
    let required = &examined.requirements;
    if let Some(fixed) = &required.fixed_targets {
        fixed_targets(fixed, target, fit);
    }
    aspects(required.aspects.iter().map(String::as_str), target, fit);
    matrix(examined.image, target, fit);
    declared_matrices(examined, target, fit);
    for size in &required.reqd_work_group_sizes {
        work_group(examined, size, target, fit);
    }
    if let Some((items, most)) =
        required.stored_work_items.zip(target.max_work_group_size).filter(|(items, most)| items > most)
    {
        let message = format!(
            "Kernel has a required work-group size of {items} work-items, by all numbers that are recorded, but device runs up to {most}."
        );
        if !fit.reasons.iter().any(|finding| finding.rule == RuleId::WorkGroupSize) {
            fit.reason(RuleId::WorkGroupSize, message);
        }
    }
    for size in required.reqd_sub_group_sizes.iter().filter(|_| !examined.is_marked_esimd()) {
        sub_group(*size, target, fit);
    }
    for key in &required.unread {
        let message = format!("property `{key}` is not stored as the runtime reads it: what it requires is not known");
        fit.gap(RuleId::Unread, message);
    }
}

/// Intel GPUs that sample no images: driver 26.27 aborts where a kernel for one has a sampler.
const WITHOUT_SAMPLERS: [(u16, u8); 2] = [(12, 60), (12, 61)];

/// Checks what compiled code that a device takes asks of it.
pub(crate) fn native(examined: &Examined<'_, '_>, demands: &Demands, target: &Target, fit: &mut Fit) {
    for [x, y, z] in &demands.work_groups {
        work_group(examined, &[*z, *y, *x], target, fit);
    }
    // Explicit SIMD has sub-groups of one.
    for size in demands.sub_groups.iter().filter(|size| **size > 1) {
        sub_group(u32::try_from(*size).unwrap_or(u32::MAX), target, fit);
    }
    if let Some(most) = target.local_memory.filter(|most| demands.local > *most) {
        let message =
            format!("Kernel has {} bytes of local memory; {} has {most} for a work-group.", demands.local, target.name);
        fit.reason(RuleId::Capability, message);
    }
    let has_none = target.ip_versions.iter().any(|ip| WITHOUT_SAMPLERS.contains(&(ip.architecture, ip.release)));
    if demands.samplers && has_none {
        let message = format!("Kernel has a sampler, and {} has none: the driver ends the program.", target.name);
        fit.reason(RuleId::Capability, message);
    }
    let open = demands.undefined.iter().filter(|symbol| !examined.imports.contains(symbol));
    if let Some(names) = super::format::named(&open.cloned().collect::<Vec<_>>()) {
        fit.gap(RuleId::UnlistedImports, format!("The code calls {names}, which it does not have."));
    }
}

/// Checks the sizes of execution modes that nobody recorded: the runtime does not look at them, the device's compiler
/// does.
pub(crate) fn shown_sizes(examined: &Examined<'_, '_>, module: Option<&Module>, target: &Target, fit: &mut Fit) {
    let recorded = &examined.requirements;
    for size in examined.work_group_sizes_with(module).iter().skip(recorded.reqd_work_group_sizes.len()) {
        work_group(examined, size, target, fit);
    }
    if module.is_some_and(|module| module.open_sizes > 0) {
        let message = "a required work-group size is given by constants whose values this tool does not find out";
        fit.gap(RuleId::WorkGroupSize, message);
    }
    for size in
        examined.sub_group_sizes_with(module).into_iter().filter(|size| !recorded.reqd_sub_group_sizes.contains(size))
    {
        sub_group(size, target, fit);
    }
}

/// Checks the sizes of what kernels declare and take, beyond which the driver refuses the module.
pub(super) fn sizes(module: &Module, target: &Target, fit: &mut Fit) {
    let name = &target.name;
    if let Some(most) = target.local_memory.filter(|most| module.local_memory > *most) {
        let bytes = module.local_memory;
        let message = format!("A kernel declares {bytes} bytes of local memory; {name} has {most} for a work-group.");
        // A CPU refuses the one kernel when it is launched.
        match target.device_type {
            Some(DeviceType::Gpu) => fit.reason(RuleId::Capability, message),
            _ => fit.gap(RuleId::Capability, message),
        }
    }
    if let Some(most) = argument_bytes(target).filter(|most| module.argument_bytes > *most) {
        let bytes = module.argument_bytes;
        let message = format!("A kernel takes {bytes} bytes of arguments; {name} is known to take {most}.");
        fit.gap(RuleId::Capability, message);
    }
}

/// Returns the sizes at which [`sizes`] looks; none where they are too small to matter on any device.
pub(crate) fn large_sizes(module: &Module) -> Option<[u64; 2]> {
    let (local, arguments) = (module.local_memory, module.argument_bytes);
    (local > LEAST_LOCAL_MEMORY || arguments > LEAST_ARGUMENT_BYTES).then_some([local, arguments])
}

/// Local memory that every device of a known size has, in bytes.
const LEAST_LOCAL_MEMORY: u64 = 48 << 10;
/// Bytes of arguments that every device is known to take.
const LEAST_ARGUMENT_BYTES: u64 = 896;

/// Returns the bytes of arguments that kernels are known to have room for, where that is known: with Intel's driver 26.27 arguments of
/// GPUs stand in registers, of which others take some, and have 2,048 bytes at most.
fn argument_bytes(target: &Target) -> Option<u64> {
    match (target.ip_versions.first(), target.device_type) {
        (Some(ip), _) if loads_blocks(ip) => Some(1920),
        (Some(_), _) => Some(LEAST_ARGUMENT_BYTES),
        // `CL_INVALID_ARG_SIZE` of Intel's CPU driver 2026.2.
        (None, Some(DeviceType::Cpu)) => Some(1 << 16),
        _ => None,
    }
}

/// An image is for one of the targets that it is fixed to; none of an empty list is any.
fn fixed_targets(fixed: &[FixedTarget], target: &Target, fit: &mut Fit) {
    let all = fixed.iter().map(|one| is_target(one, target));
    let labels = || fixed.iter().map(FixedTarget::label).collect::<Vec<_>>().join(",");
    match all.min_by_key(|has| [Has::Yes, Has::Unknown, Has::No].iter().position(|one| one == has)) {
        Some(Has::Yes) => {}
        Some(Has::Unknown) => {
            let message =
                format!("the image is fixed to {}, and whether {} is one of these is not known", labels(), target.name);
            fit.gap(RuleId::FixedTarget, message);
        }
        Some(Has::No) | None => fit.reason(
            RuleId::FixedTarget,
            format!(
                "Kernel was compiled with '-fsycl-fixed-targets={}' but was submitted to a different device.",
                labels()
            ),
        ),
    }
}

/// Whether a target is the one, by name; an aspect's name stands for all targets that have it.
fn is_target(fixed: &FixedTarget, target: &Target) -> Has {
    let table = crate::device::table();
    let is_number = |name: &str| target_number(name) == fixed.number;
    let own = std::iter::once(&target.name).chain(&target.aliases).chain(&target.families);
    let mut own = own.map(String::as_str);
    let Some(name) = fixed.name.as_deref() else {
        let known = || table.targets().iter().any(|one| is_number(&one.name));
        return if own.any(is_number) {
            Has::Yes
        } else if known() {
            Has::No
        } else {
            Has::Unknown
        };
    };
    if own.any(|own| own == name) {
        return Has::Yes;
    }
    let Some(meant) = table.target(name) else {
        // An aspect, or a target of a device configuration that is not given here.
        return if aspect::names().any(|aspect| aspect == name) { target.has(name) } else { Has::No };
    };
    let shares_version = meant.ip_versions.iter().any(|version| target.ip_versions.contains(version));
    // A name of a kind of device is that of many: of the one that is fixed to, or of the one that is asked about.
    let kinds = ["spir64", "spir64_gen", "spir64_x86_64"];
    let same_kind =
        target.device_type.is_none() || meant.device_type.is_none() || meant.device_type == target.device_type;
    if shares_version || kinds.contains(&name) && same_kind && target.device_type.is_some() {
        Has::Yes
    } else if kinds.contains(&target.name.as_str()) && same_kind {
        Has::Unknown
    } else {
        Has::No
    }
}

fn sub_group(size: u32, target: &Target, fit: &mut Fit) {
    match &target.sub_group_sizes {
        Some(sizes) if sizes.contains(&size) => {}
        Some(_) => fit.reason(
            RuleId::SubGroupSize,
            format!(
                "Kernel has a required sub-group size of '{size}' but device does not support this sub-group size."
            ),
        ),
        None => {
            fit.gap(RuleId::SubGroupSize, format!("sub-group size {size}: the sizes of {} are not known", target.name));
        }
    }
}

/// Checks aspects, by SYCL name.
pub(crate) fn aspects<'a>(names: impl Iterator<Item = &'a str>, target: &Target, fit: &mut Fit) {
    for name in names {
        let known = aspect::names().any(|own| own == name) || Aspect::of_name(name).is_some();
        let (certain, message) = match target.has(current(name)) {
            Has::Yes => continue,
            _ if !known => (false, format!("which aspect {name} is, and whether {} has it, is not known", target.name)),
            Has::No => (
                true,
                format!(
                    "Kernel uses optional feature corresponding to 'aspect::{name}' but device does not support this aspect."
                ),
            ),
            Has::Unknown => (false, format!("whether {} has aspect {name} is not known", target.name)),
        };
        let list = if certain { &mut fit.reasons } else { &mut fit.gaps };
        list.push(Finding { aspect: Some(name.to_owned()), ..Finding::new(RuleId::Aspect, certain, message, "") });
    }
}

fn matrix(image: &Image<'_>, target: &Target, fit: &mut Fit) {
    let text = |name: &str| image.properties.text(set::REQUIREMENTS, name);
    let (single, mad) = (text("joint_matrix"), text("joint_matrix_mad"));
    if single.is_none() && mad.is_none() {
        return;
    }
    match target.matrix.as_deref() {
        None => fit.gap(RuleId::Matrix, format!("the matrix operations of {} are not known", target.name)),
        Some([]) => {
            fit.reason(RuleId::Matrix, "Kernel uses joint_matrix but there is no matrix hardware on the device.")
        }
        Some(own) => {
            let alone = single.and_then(|text| unsupported_matrix(text, own));
            let product = mad.and_then(|text| unsupported_mad(text, own));
            for (kind, what) in
                [alone.map(|what| ("joint_matrix", what)), product.map(|what| ("joint_matrix_mad", what))]
                    .into_iter()
                    .flatten()
            {
                fit.reason(RuleId::Matrix, format!("Kernel uses {kind} '{what}' but device does not support it."));
            }
        }
    }
}

/// Checks the matrices that the code declares: the record of what a kernel uses may lack some, or be missing.
fn declared_matrices(examined: &Examined<'_, '_>, target: &Target, fit: &mut Fit) {
    let (Some(module), Some(own)) = (&examined.module, target.matrix.as_deref().filter(|own| !own.is_empty())) else {
        return;
    };
    let lacks = |matrix: &&Matrix| !takes_declared(matrix, own);
    let what = match module.matrices.known.iter().find(lacks) {
        Some(matrix) => format!("matrices of {} times {}", matrix.rows, matrix.columns),
        None if module.matrices.has_others => "matrices of sizes that are not stated".to_owned(),
        None => return,
    };
    fit.gap(RuleId::Matrix, format!("whether {} has the {what} that the code declares is not known", target.name));
}

/// Whether some combination of a device has a matrix. SPIR-V does not tell signed integers from others, and compilers write numbers of
/// 16 bits for bfloat16 and floats for TF32.
fn takes_declared(matrix: &Matrix, own: &[Combination]) -> bool {
    let kinds: &[&str] = match (matrix.is_float, matrix.width) {
        (true, 16) => &["fp16", "bf16"],
        (true, 32) => &["fp32", "tf32"],
        (true, 64) => &["fp64"],
        (false, 8) => &["sint8", "uint8"],
        (false, 16) => &["bf16", "sint16", "uint16"],
        (false, 32) => &["sint32", "uint32"],
        (false, 64) => &["sint64", "uint64"],
        _ => &[],
    };
    let usage = match matrix.usage {
        0 => "a",
        1 => "b",
        2 => "accumulator",
        _ => return false,
    };
    let takes = |kind: &&str| own.iter().any(|one| one.takes_matrix(kind, usage, matrix.rows, matrix.columns));
    kinds.iter().any(takes)
}

/// Checks a size, x last.
fn work_group(examined: &Examined<'_, '_>, size: &[u64], target: &Target, fit: &mut Fit) {
    let shown: Vec<String> = examined.in_source_order(size).iter().map(u64::to_string).collect();
    let shown = shown.join("x");
    let lead = format!("Kernel has a required work-group size of '{shown}' but");
    let Some(items) = size.iter().try_fold(1u64, |product, size| product.checked_mul(*size)) else {
        return fit.reason(RuleId::WorkGroupSize, format!("{lead} no device has so many work-items."));
    };
    match target.max_work_group_size {
        Some(most) if items > most => {
            let message = format!(
                "{lead} device does not support this work-group size: it has {items} work-items, the device runs up to {most}."
            );
            return fit.reason(RuleId::WorkGroupSize, message);
        }
        Some(_) => {}
        None => {
            let message = format!("work-group size {shown}: the largest of {} is not known", target.name);
            return fit.gap(RuleId::WorkGroupSize, message);
        }
    }
    let Some(most) = target.max_work_item_sizes else {
        let message = format!("work-group size {shown}: the largest of {} in each dimension is not known", target.name);
        return fit.gap(RuleId::WorkGroupSize, message);
    };
    // The device counts x first, which is the source's last dimension.
    for ((size, most), dimension) in size.iter().rev().zip(most).zip(["x", "y", "z"]) {
        if *size > most {
            let message = format!(
                "{lead} device does not support this work-group size: it runs up to {most} work-items in {dimension}."
            );
            return fit.reason(RuleId::WorkGroupSize, message);
        }
    }
}
