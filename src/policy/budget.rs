//! Do files and kernels stay within their budgets?

use crate::compat::examine::Examined;
use crate::compat::finding::{Finding, RuleId};
use crate::device::target::Target;
use crate::native::Kernel;
use std::collections::HashMap;

/// Upper limits; none means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Stored size in bytes.
    pub(crate) bytes: Option<u64>,
    /// Number of device images.
    pub(crate) images: Option<u64>,
    /// Bytes of registers that a kernel spills, per hardware thread (Intel GPUs) or work-item (NVIDIA's).
    pub(crate) spill: Option<u64>,
    /// Number of registers that a kernel spills, vector and scalar together (AMD GPUs).
    pub(crate) spilled_registers: Option<u64>,
}

impl Budget {
    /// Whether there is no limit.
    pub(crate) fn is_open(&self) -> bool {
        *self == Budget::default()
    }

    /// Whether there is a limit on kernels.
    pub(crate) fn limits_kernels(&self) -> bool {
        self.spill.is_some() || self.spilled_registers.is_some()
    }
}

/// Whether an image is compiled for a target, by its stated target or its code. SPIR-V for any device counts as
/// `spir64`.
pub(crate) fn is_for(image: &Examined<'_, '_>, target: &Target) -> bool {
    let stated = image.image.compile_target().unwrap_or(image.image.target);
    let stated = if stated.is_empty() && image.module.is_some() { "spir64" } else { stated };
    let arch = stated.split('-').next().unwrap_or(stated);
    let devices = image.native.iter().flat_map(|native| native.devices()).any(|device| device == target.name);
    devices
        || [stated, arch].iter().any(|name| *name == target.name || target.aliases.iter().any(|alias| alias == name))
}

/// Finding of a budget: it is exceeded, or the value is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BudgetFinding {
    /// Mangled name of the kernel; none where the finding is about the file.
    pub(crate) kernel: Option<String>,
    /// Position of the kernel's image among the given images.
    pub(crate) at: usize,
    /// Rule and message.
    pub(crate) finding: Finding,
}

/// Returns the findings of a whole file of this many bytes.
pub(crate) fn file_findings(budget: &Budget, bytes: u64, images: &[Examined<'_, '_>]) -> Vec<BudgetFinding> {
    let all: Vec<(usize, &Examined<'_, '_>)> = images.iter().enumerate().collect();
    findings(budget, "the file", bytes, &all)
}

/// Returns the findings of the images that are compiled for a target.
pub(crate) fn target_findings(budget: &Budget, target: &Target, images: &[Examined<'_, '_>]) -> Vec<BudgetFinding> {
    if budget.is_open() {
        return Vec::new();
    }
    let own: Vec<(usize, &Examined<'_, '_>)> =
        images.iter().enumerate().filter(|(_, image)| is_for(image, target)).collect();
    let bytes = own.iter().map(|(_, one)| one.image.stored.len() as u64).fold(0, u64::saturating_add);
    findings(budget, &format!("what is compiled for {}", target.name), bytes, &own)
}

fn findings(budget: &Budget, whose: &str, bytes: u64, images: &[(usize, &Examined<'_, '_>)]) -> Vec<BudgetFinding> {
    let mut found = Vec::new();
    let count = images.len() as u64;
    let whole = [
        (RuleId::BudgetBytes, budget.bytes, bytes, "bytes", "`sycl-bundle inspect --sizes` tells who takes the space"),
        (RuleId::BudgetImages, budget.images, count, "images", "-fsycl-device-code-split=per_source makes fewer"),
    ];
    for (rule, most, has, what, remedy) in whole {
        if let Some(most) = most.filter(|most| has > *most) {
            let message = format!("The budget of {whose} is {most} {what}, and it has {has}.");
            found.push(BudgetFinding { kernel: None, at: 0, finding: finding_of(rule, true, message, remedy) });
        }
    }
    if budget.limits_kernels() {
        for (at, image) in images.iter().filter(|(_, image)| !image.format.is_intermediate()) {
            spills(budget, *at, image, &mut found);
        }
    }
    found
}

/// Adds a finding for each kernel of an image that spills too many registers, or whose spills are not known.
fn spills(budget: &Budget, at: usize, image: &Examined<'_, '_>, found: &mut Vec<BudgetFinding>) {
    let parts = image.native.iter().flat_map(|native| &native.parts);
    let told: Vec<&Kernel> = parts.flat_map(|part| &part.kernels).map(|kernel| &**kernel).collect();
    let mut by_name: HashMap<&str, Vec<&Kernel>> = HashMap::new();
    told.iter().for_each(|kernel| by_name.entry(&kernel.name).or_default().push(kernel));
    let mut push = |kernel: &str, finding| found.push(BudgetFinding { kernel: Some(kernel.to_owned()), at, finding });
    let remedy = "hold less at a time, or compile with large GRF (-ftarget-register-alloc-mode)";
    for kernel in &told {
        let registers = kernel.spilled_registers.map(|[vector, scalar]| vector.saturating_add(scalar));
        let takes = [
            (RuleId::BudgetSpill, budget.spill, kernel.spill, "bytes of spilled registers"),
            (RuleId::BudgetSpilledRegisters, budget.spilled_registers, registers, "spilled registers"),
        ];
        for (rule, most, has, what) in takes {
            if let Some((most, has)) = most.zip(has).filter(|(most, has)| has > most) {
                let message = format!("The budget of a kernel is {most} {what}, and it has {has}.");
                push(&kernel.name, finding_of(rule, true, message, remedy));
            }
        }
    }
    // One kind of device counts spills in bytes and another in registers; one of the two is enough.
    let rule = if budget.spill.is_some() { RuleId::BudgetSpill } else { RuleId::BudgetSpilledRegisters };
    for name in &image.kernels {
        let of_name = || by_name.get(name.as_str()).into_iter().flatten();
        // Spills share scratch memory with private arrays, so they fit if all of it does.
        let within = |scratch: u64| budget.spill.is_some_and(|most| scratch <= most);
        let tells = |kernel: &&Kernel| {
            (kernel.spill, kernel.spilled_registers) != (None, None) || kernel.scratch.is_some_and(within)
        };
        if !of_name().any(tells) {
            let message = match of_name().find_map(|kernel| kernel.scratch) {
                Some(scratch) => format!(
                    "How many registers the kernel spills is not told by its code, only that they and private arrays take {scratch} \
                     bytes together."
                ),
                None => "How many registers the kernel spills is not told by its code.".to_owned(),
            };
            let remedy =
                "give this budget to targets whose code tells: Intel's and AMD's GPUs, and NVIDIA's by this program";
            push(name, finding_of(rule, false, message, remedy));
        }
    }
}

fn finding_of(rule: RuleId, certain: bool, message: String, remedy: &str) -> Finding {
    Finding::new(rule, certain, message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect::Epoch;
    use crate::bundle::image::Image;
    use crate::compat::examine::examine_image;
    use crate::device;
    use crate::native::Part;

    fn image(target: &'static str, stored: &'static [u8]) -> Image<'static> {
        Image { target, ..Image::bare(stored, 0) }
    }

    #[test]
    fn images_are_of_the_target_that_they_name() {
        let table = device::table();
        let images = [image("spir64", b"abc"), image("spir64_x86_64-unknown-unknown", b"defg")];
        let examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
        let cpu = table.target("spir64_x86_64").unwrap();
        let budget = Budget { bytes: Some(3), images: Some(0), ..Budget::default() };
        let messages: Vec<String> =
            target_findings(&budget, cpu, &examined).into_iter().map(|one| one.finding.message).collect();
        assert_eq!(
            messages,
            [
                "The budget of what is compiled for spir64_x86_64 is 3 bytes, and it has 4.",
                "The budget of what is compiled for spir64_x86_64 is 0 images, and it has 1."
            ]
        );
        assert_eq!(target_findings(&budget, table.target("intel_gpu_pvc").unwrap(), &examined), []);
        assert_eq!(file_findings(&Budget { images: Some(2), bytes: Some(7), ..budget }, 7, &examined), []);
    }

    #[test]
    fn kernels_that_spill_are_told_and_those_that_do_not_say() {
        let stored = image("intel_gpu_pvc", b"x");
        let mut one = examine_image(&stored, Epoch::From2026);
        one.format = crate::bundle::format::Format::Zebin;
        one.kernels = vec!["much".to_owned(), "some".to_owned(), "silent".to_owned()];
        let kernel = |name: &str, spill| Kernel { name: name.to_owned(), spill, ..Kernel::default() };
        let part = Part {
            devices: vec!["intel_gpu_pvc".to_owned()],
            kernels: vec![
                kernel("much", Some(2048)).into(),
                kernel("some", Some(1024)).into(),
                kernel("silent", None).into(),
            ],
            ..Part::new(one.format, 1)
        };
        one.native = Some(crate::native::Native { parts: vec![part], ..Default::default() });
        let budget = Budget { spill: Some(1024), spilled_registers: Some(0), ..Budget::default() };
        let target = device::table().target("intel_gpu_pvc").unwrap();
        let found = target_findings(&budget, target, std::slice::from_ref(&one));
        let found: Vec<_> = found.iter().map(|one| (one.kernel.as_deref(), one.finding.certain)).collect();
        assert_eq!(found, [(Some("much"), true), (Some("silent"), false)]);
    }
}
