//! What does the runtime throw for a kernel that does not run, in its own words?
//!
//! The texts of libsycl 2026.2 (`sycl/source/detail/program_manager/program_manager.cpp`), seen with kernels that the
//! CPU device does not run.

use super::trace::{Looked, times};
use crate::bundle::property::set;
use crate::compat::choice::Choice;
use crate::compat::finding::RuleId;
use crate::compat::fit::Subject;
use crate::device::target::{Backend, Target};
use crate::spirv::grammar::capability_name;

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// The name of its `sycl::errc`.
    pub errc: &'static str,
    /// Text of the exception; of a build error, the line of the log that tells.
    pub text: String,
    /// Whether it is thrown for sure; else only where no other library of the process defines a symbol, or the driver is
    /// of the kind that does.
    pub certain: bool,
}

impl Thrown {
    fn sure(errc: &'static str, text: impl Into<String>) -> Option<Thrown> {
        Some(Thrown { errc, text: text.into(), certain: true })
    }
}

/// Predicts the exception at the launch of the kernel of a choice; none where nothing is known to be thrown.
pub fn thrown(choice: &Choice, looked: &Looked<'_>, subject: &Subject<'_>) -> Option<Thrown> {
    let target = subject.target;
    let Some(chosen) = choice.chosen.and_then(|at| Some((at, looked.images.get(at)?))) else {
        // Where it is not known which images count, no failure is.
        let failure = choice.failure.as_ref().filter(|_| !choice.unsure)?;
        return Thrown::sure("runtime", failure.clone());
    };
    let (at, image) = chosen;
    let sure = choice.findings.first();
    let text = match sure.map(|finding| (finding.rule, finding.aspect.as_deref())) {
        Some((RuleId::Aspect, Some(name))) => format!("Required aspect {name} is not supported on the device"),
        Some((RuleId::Matrix, _)) if target.matrix.as_ref().is_some_and(Vec::is_empty) => {
            let single = image.image.properties.get(set::REQUIREMENTS, "joint_matrix").is_some();
            let name = if single { "joint_matrix" } else { "joint_matrix_mad" };
            format!("no matrix hardware on the target device, {name} is not supported")
        }
        Some((RuleId::Matrix, _)) => "joint_matrix with parameters ... is not supported on this device".to_owned(),
        Some((RuleId::FixedTarget, _)) => sure.map(|finding| finding.message.clone()).unwrap_or_default(),
        Some((RuleId::WorkGroupSize, _)) => {
            let sizes = &image.requirements.reqd_work_group_sizes;
            let items = |size: &&Vec<u64>| size.iter().fold(1u64, |product, side| product.saturating_mul(*side));
            let largest = sizes.iter().max_by_key(items).map(Vec::as_slice).unwrap_or_default();
            work_group(largest, target.max_work_group_size)
        }
        Some((RuleId::SubGroupSize, _)) => {
            let sizes = image.requirements.reqd_sub_group_sizes.iter();
            let size = sizes.copied().find(|size| lacks(target, *size)).unwrap_or_default();
            format!("Sub-group size {size} is not supported on the device")
        }
        _ => return build(choice, looked, at, subject),
    };
    Thrown::sure("kernel_not_supported", text)
}

fn lacks(target: &Target, size: u32) -> bool {
    target.sub_group_sizes.as_ref().is_some_and(|sizes| !sizes.contains(&size))
}

fn work_group(size: &[u64], most: Option<u64>) -> String {
    let Some(items) = size.iter().try_fold(1u64, |product, size| product.checked_mul(*size)) else {
        return "Required work-group size is not supported (total number of work-items requested can't fit into size_t)"
            .to_owned();
    };
    if most.is_some_and(|most| items > most) {
        return format!("Required work-group size {items} is not supported on the device");
    }
    format!("Required work-group size {} is not supported", times(size))
}

/// Predicts the exception of linking and compiling the chosen image.
fn build(choice: &Choice, looked: &Looked<'_>, at: usize, subject: &Subject<'_>) -> Option<Thrown> {
    let image = looked.images.get(at)?;
    if let Some(failure) = &choice.failure {
        return Thrown::sure("runtime", failure.clone());
    }
    let open = looked.undefined(at);
    if let Some(symbol) = open.iter().find(|symbol| image.imports.iter().any(|own| own == *symbol)) {
        let text = format!("No device image found for external symbol {symbol}");
        return Some(Thrown { errc: "build", text, certain: false });
    }
    // Sizes that nobody recorded are met by the device's compiler.
    if let Some(size) = image.sub_group_sizes().into_iter().find(|size| lacks(subject.target, *size)) {
        let text = format!("Kernel compiled with required subgroup size {size}, which is unsupported on this platform");
        return Thrown::sure("build", text);
    }
    let refused = &subject.target.spirv_refused_capabilities;
    let module = image.module.as_ref()?;
    let refused =
        module.capabilities.iter().find(|number| refused.iter().any(|name| *name == capability_name(**number)));
    if let Some(number) = refused {
        return Thrown::sure("build", format!("SPIRV module requires unsupported capability {number}"));
    }
    let symbol = open.first().filter(|_| subject.backend == Some(Backend::OpenCl))?;
    Some(Thrown { errc: "build", text: format!("Symbols not found: [ {symbol} ]"), certain: false })
}
