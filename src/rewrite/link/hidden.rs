//! Which aspects does an image require that its code does not show?
//!
//! Such an aspect was declared, or the optimiser removed its use. The requirements of a linked image are those of all
//! its parts and do not say which kernel they come from, so hidden aspects are listed by kernel for a later `split`.

use super::Input;
use crate::bundle::aspect::{self, Epoch};
use crate::bundle::property::set;
use crate::compat::aspects::shown_by;
use crate::error::Result;
use crate::spirv::Module;
use std::borrow::Cow;
use std::collections::HashSet;

/// Kernel with the numbers of its hidden aspects.
pub type KernelAspects<'i> = (&'i str, Vec<u32>);

/// Returns the aspects that images require and their modules do not show, by kernel. Empty where all images have the
/// same ones.
///
/// # Errors
/// `Input` where a module has no whole header.
pub fn hidden_aspects<'i>(inputs: &'i [Input<'_, '_>], contents: &[Cow<'_, [u8]>]) -> Result<Vec<KernelAspects<'i>>> {
    let mut all: Vec<KernelAspects<'i>> = Vec::new();
    for (input, module) in inputs.iter().zip(contents) {
        let kernels = input.image.kernels();
        if kernels.is_empty() {
            continue;
        }
        let recorded = input.image.properties.get(set::REQUIREMENTS, "aspects").and_then(|value| value.words());
        // An image that was linked before lists hidden aspects of its kernels already.
        let listed = input.image.properties.set(set::KERNEL_ASPECTS).iter();
        let known: HashSet<u32> = listed.filter_map(|property| property.value.words()).flatten().collect();
        let mut numbers: Vec<u32> = recorded.into_iter().flatten().filter(|number| !known.contains(number)).collect();
        if !numbers.is_empty() {
            let shown = shown_by(&Module::parse(module)?, module);
            // Some numbers mean different aspects in different generations of the runtime.
            let is_shown = |number: u32| {
                [Epoch::Before2023, Epoch::From2023, Epoch::From2026]
                    .into_iter()
                    .any(|epoch| aspect::name(epoch, number).is_some_and(|name| shown.contains(name)))
            };
            numbers.retain(|number| !is_shown(*number));
        }
        all.extend(kernels.into_iter().map(|kernel| (kernel, numbers.clone())));
    }
    let alike = all.windows(2).all(|pair| pair.first().map(|one| &one.1) == pair.last().map(|one| &one.1));
    all.retain(|(_, numbers)| !alike && !numbers.is_empty());
    Ok(all)
}
