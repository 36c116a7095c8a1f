//! Which native images go into the output, and which that are there stay?

use super::compile::Binary;
use super::plans::Plans;
use super::targets::Wanted;
use crate::cli::global::Global;
use std::collections::HashSet;
use sycl_bundle::build::Unit;
use sycl_bundle::build::target::{GPU_SPEC, Target};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::rewrite::embed::{Addition, FORMAT_NATIVE, earlier_additions};
use sycl_bundle::rewrite::specialize::{RecordedValues, Specialized};

/// Whether the code alone tells for which GPU it is.
fn is_live_gpu(wanted: &[Wanted], binary: &Binary) -> bool {
    let target = wanted.get(binary.target).map(|wanted| &wanted.target);
    target.is_some_and(|target| target.spec == GPU_SPEC && target.compile_target.is_none())
}

/// For each binary of a live GPU's driver the GPU that it tells that it is for.
pub fn devices(wanted: &[Wanted], compiled: &[Binary]) -> Vec<Option<String>> {
    let of_live_gpu = |binary: &Binary| is_live_gpu(wanted, binary).then(|| binary.device()).flatten();
    compiled.iter().map(of_live_gpu).collect()
}

/// The new images, from what was compiled and what [`devices`] says of it.
pub fn additions<'a>(
    global: &Global,
    wanted: &'a [Wanted],
    plans: &'a Plans<'_>,
    (compiled, devices): (&'a [Binary], &'a [Option<String>]),
) -> Vec<Addition<'a>> {
    let all = compiled.iter().zip(devices);
    if all.clone().any(|(binary, device)| device.is_none() && is_live_gpu(wanted, binary)) {
        global.note("the driver's code does not tell for which GPU it is: the runtime will hand it to every Intel GPU");
    }
    let one = |(binary, device): (&'a Binary, &'a Option<String>)| {
        let own = addition(&wanted.get(binary.target)?.target, binary.unit(), plans, &binary.bytes);
        Some(Addition { compile_target: own.compile_target.or(device.as_deref()), ..own })
    };
    all.filter_map(one).collect()
}

/// Native images of an earlier run that this one leaves alone, which stay in the file: of other images, and for other
/// targets.
///
/// # Errors
/// `Usage` where those for CPUs would be for another instruction set than the new ones.
pub fn kept<'e>(
    wanted: &[Wanted],
    images: &[Examined<'_, '_>],
    bundle: &Bundle<'_>,
    embedded: Option<&'e Bundle<'_>>,
) -> Result<Vec<Addition<'e>>> {
    let selected: HashSet<usize> = images.iter().map(|image| image.image.index).collect();
    let mut kept = embedded.map_or_else(Vec::new, |embedded| earlier_additions(embedded, bundle));
    let is_wanted = |addition: &Addition<'_>| {
        wanted.iter().any(|wanted| wanted.target.is_of(addition.target, addition.compile_target))
    };
    kept.retain(|addition| !selected.contains(&addition.source) || !is_wanted(addition));
    if let Some(march) = wanted.iter().find_map(|wanted| wanted.target.march()) {
        let staying = bundle.images.iter().filter(|image| !selected.contains(&image.index));
        let own = staying.filter_map(|image| CpuArch::of_binary(&image.contents().ok()?));
        let inflated = |addition: &Addition<'_>| {
            let declared = Declared::from(addition.format);
            CpuArch::of_binary(&Image { declared, ..Image::bare(addition.payload, 0) }.contents().ok()?)
        };
        same_march(kept.iter().filter_map(inflated).chain(own), march)?;
    }
    Ok(kept)
}

/// Native images for different instruction sets do not work in one process.
fn same_march(mut natives: impl Iterator<Item = CpuArch>, march: CpuArch) -> Result<()> {
    let Some(found) = natives.find(|found| *found != march) else {
        return Ok(());
    };
    let message = format!(
        "the file holds native images for {found}, which were not selected; the others would be for {march}, and the driver \
         refuses a mix"
    );
    Err(Error::new(ErrorKind::Usage, message).with_remedy(format!("select all images, or use --march {found}")))
}

/// The entry of a native image for a linked file's list.
pub fn addition<'a>(target: &'a Target, unit: Unit, plans: &'a Plans<'_>, payload: &'a [u8]) -> Addition<'a> {
    Addition {
        source: unit.0,
        target: target.spec,
        compile_target: target.compile_target.as_deref(),
        constants: plans.specialized.get(&unit).map_or(RecordedValues::Nothing, Specialized::recorded_values),
        linked: plans.linked.contains(&unit.0),
        format: FORMAT_NATIVE,
        payload,
    }
}
