//! Do files keep to their budgets?

use crate::compat::examine::Examined;
use crate::compat::gate::{Against, Clause, Found, Matter};
use crate::device::target::Target;
use std::sync::Arc;

/// What something may take at most; no limit where none is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes as they stand in the file.
    pub bytes: Option<u64>,
    /// Device images.
    pub images: Option<u64>,
    /// Bytes of registers that a kernel spills per hardware thread (Intel GPUs).
    pub spill: Option<u64>,
    /// Registers that a kernel spills, vector and scalar ones together (AMD GPUs).
    pub spilled_registers: Option<u64>,
}

impl Budget {
    /// Whether it limits nothing.
    pub fn is_open(&self) -> bool {
        *self == Budget::default()
    }

    /// Whether it limits kernels and not only files.
    pub fn is_of_kernels(&self) -> bool {
        self.spill.is_some() || self.spilled_registers.is_some()
    }
}

/// Whether an image is compiled for a target: it says so, or its code does. SPIR-V for any device is for `spir64`.
pub fn is_for(image: &Examined<'_, '_>, target: &Target) -> bool {
    let stated = image.image.compile_target().unwrap_or(image.image.target);
    let stated = if stated.is_empty() && image.module.is_some() { "spir64" } else { stated };
    let arch = stated.split('-').next().unwrap_or(stated);
    let devices = image.native.iter().flat_map(|native| native.devices()).any(|device| device == target.name);
    devices
        || [stated, arch].iter().any(|name| *name == target.name || target.aliases.iter().any(|alias| alias == name))
}

/// What exceeds the budget of a whole file of so many bytes.
pub fn of_file(budget: &Budget, bytes: u64, images: &[Examined<'_, '_>]) -> Vec<Found> {
    let all: Vec<&Examined<'_, '_>> = images.iter().collect();
    over(budget, "the file", bytes, &all)
}

/// What exceeds the budget of the images that are compiled for a target.
pub fn of_target(budget: &Budget, target: &Target, images: &[Examined<'_, '_>]) -> Vec<Found> {
    if budget.is_open() {
        return Vec::new();
    }
    let own: Vec<&Examined<'_, '_>> = images.iter().filter(|image| is_for(image, target)).collect();
    let bytes = own.iter().map(|one| one.image.stored.len() as u64).fold(0, u64::saturating_add);
    over(budget, &format!("what is compiled for {}", target.name), bytes, &own)
}

fn over(budget: &Budget, whose: &str, bytes: u64, images: &[&Examined<'_, '_>]) -> Vec<Found> {
    let mut found = Vec::new();
    let whole = |clause, message: String, remedy: &str| found_of(clause, true, message, remedy, ("", None));
    if let Some(most) = budget.bytes.filter(|most| bytes > *most) {
        let message = format!("The budget of {whose} is {most} bytes, and it takes {bytes}.");
        found.push(whole(Clause::Bytes, message, "`sycl-bundle inspect --sizes` tells who takes the space"));
    }
    let count = images.len() as u64;
    if let Some(most) = budget.images.filter(|most| count > *most) {
        let message = format!("The budget of {whose} is {most} images, and it has {count}.");
        found.push(whole(Clause::Images, message, "-fsycl-device-code-split=per_source makes fewer"));
    }
    let native = images.iter().filter(|image| !image.format.is_intermediate());
    for image in native {
        let kernels = image.native.iter().flat_map(|native| &native.parts).flat_map(|part| &part.kernels);
        let mut told = false;
        for kernel in kernels {
            told = true;
            let registers = kernel.spilled_registers.map(|[vector, scalar]| vector.saturating_add(scalar));
            let about = (kernel.name.as_str(), Some(image.image.index));
            let takes = [
                (Clause::Spill, budget.spill, kernel.spill, "bytes of spilled registers"),
                (Clause::SpilledRegisters, budget.spilled_registers, registers, "spilled registers"),
            ];
            // What one kind of device counts in bytes another counts in registers: one of them is enough.
            let silent = kernel.spill.is_none() && registers.is_none();
            for (clause, most, has, what) in takes {
                let Some(most) = most else { continue };
                if let Some(has) = has.filter(|has| *has > most) {
                    let message = format!("The budget of a kernel is {most} {what}, and it has {has}.");
                    let remedy = "hold less at a time, or compile with large GRF (-ftarget-register-alloc-mode)";
                    found.push(found_of(clause, true, message, remedy, about));
                }
                if silent {
                    found.push(open(clause, about));
                }
            }
        }
        let clause = match (budget.spill, budget.spilled_registers) {
            (Some(_), _) => Some(Clause::Spill),
            (None, Some(_)) => Some(Clause::SpilledRegisters),
            (None, None) => None,
        };
        if let Some(clause) = clause.filter(|_| !told) {
            for name in &image.kernels {
                found.push(open(clause, (name, Some(image.image.index))));
            }
        }
    }
    found
}

/// How much a kernel spills is not told.
fn open(clause: Clause, about: (&str, Option<usize>)) -> Found {
    let message = "How many registers the kernel spills is not told by its code.".to_owned();
    found_of(clause, false, message, "give this budget to targets whose code tells: Intel's and AMD's GPUs", about)
}

fn found_of(
    clause: Clause,
    certain: bool,
    message: String,
    remedy: &str,
    (kernel, image): (&str, Option<usize>),
) -> Found {
    let matter = Matter::Policy(clause);
    let against = Against { matter, certain, message, aspect: None, remedy: remedy.to_owned() };
    Found { against: Arc::new(against), kernel: kernel.into(), image, evidence: None }
}
