//! Which questions about kernels does a live device get, and what do its answers mean?
//!
//! One question per image: its program is built once, with the images that define what it imports, and all its kernels
//! are asked about. What is not compatible with the device is not built: SYCL's queries throw there.

use super::{Answers, OnDevice};
use crate::build::query::sycl::{answers, beyond, incompatibility};
use crate::build::query::{Answered, Query, Question};
use crate::build::target::CPU_SPEC;
use crate::build::{
    Device, Failure,
    options::{self, Given},
};
use crate::bundle::Bundle;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::compat::built_in::{BFLOAT16_CONVERSIONS, is_form_for};
use crate::compat::examine::Examined;
use crate::compat::kernels::KernelFacts;
use crate::compat::native::not_compiled;
use crate::compat::offers::Lent;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The questions to a device about kernels of a file.
#[derive(Debug)]
pub(crate) struct DeviceQueries<'q, 'l> {
    /// The questions, each a program to build.
    pub(crate) questions: Vec<Question<'q>>,
    device: &'l Device,
    /// The mangled names of the kernels of each image.
    kernels: BTreeMap<usize, Vec<String>>,
    /// Kernels that need no question.
    known: HashMap<(usize, String), OnDevice>,
}

impl<'q, 'l> DeviceQueries<'q, 'l> {
    /// The questions about kernels of a file, whose images may be linked to those that others lend.
    pub(crate) fn new(
        device: &'l Device,
        bundle: &Bundle<'q>,
        images: &[Examined<'_, 'q>],
        lent: &Lent<'q>,
        kernels: &[KernelFacts],
    ) -> DeviceQueries<'q, 'l> {
        let mut wanted: BTreeMap<usize, Vec<&KernelFacts>> = BTreeMap::new();
        for kernel in kernels {
            wanted.entry(kernel.image).or_default().push(kernel);
        }
        let exporters = exporters(bundle.images.iter().chain(lent.images()), device);
        let (mut questions, mut known) = (Vec::new(), HashMap::new());
        for examined in images {
            let Some(kernels) = wanted.get(&examined.image.index) else { continue };
            match query(device, examined, kernels, &exporters) {
                Ok(query) => questions.push(Question { image: examined.image.index, query }),
                Err(why) => {
                    known.extend(kernels.iter().map(|kernel| ((kernel.image, kernel.name.clone()), why.clone())));
                }
            }
        }
        let names = |(image, kernels): (usize, Vec<&KernelFacts>)| {
            (image, kernels.into_iter().map(|kernel| kernel.name.clone()).collect())
        };
        DeviceQueries { questions, device, kernels: wanted.into_iter().map(names).collect(), known }
    }

    /// The device's answers, from the outcomes of the questions; and whether every program built.
    pub(crate) fn answers(self, outcomes: Vec<Result<Answered, Failure>>) -> (Answers<'l>, bool) {
        let mut found = self.known;
        let mut whole = true;
        for outcome in outcomes {
            match outcome {
                Ok(answered) => {
                    for kernel in &answered.kernels {
                        let answer = if kernel.status == 0 {
                            OnDevice::Answers { sycl: answers(kernel, self.device, false), beyond: beyond(kernel) }
                        } else {
                            let reason = format!("the program has no such kernel (status {})", kernel.status);
                            OnDevice::None { errc: Some("invalid"), reason }
                        };
                        found.insert((answered.image, kernel.name.clone()), answer);
                    }
                }
                Err(failure) => {
                    whole = false;
                    let line = failure.log.lines().find(|line| !line.trim().is_empty());
                    let line = line.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                    let why = OnDevice::None { errc: Some("build"), reason: format!("{failure}{line}") };
                    let names = self.kernels.get(&failure.image).into_iter().flatten();
                    found.extend(names.map(|name| ((failure.image, name.clone()), why.clone())));
                }
            }
        }
        (Answers { device: self.device, kernels: found }, whole)
    }
}

/// The reason why a CPU's driver is not asked about native code for it.
const NATIVE: &str = "native code for CPUs runs when their driver loads it; ask about the SPIR-V of the kernel";

/// The program to build for an image, or the reason why there is none.
fn query<'a>(
    device: &Device,
    examined: &Examined<'_, 'a>,
    kernels: &[&KernelFacts],
    exporters: &HashMap<&str, &Image<'a>>,
) -> Result<Query<'a>, OnDevice> {
    let without = |errc, reason: String| OnDevice::None { errc, reason };
    let image = examined.image;
    let esimd = kernels.iter().any(|kernel| kernel.esimd);
    if let Some(reason) = incompatibility(&examined.requirements, esimd, device) {
        return Err(without(Some("invalid"), reason));
    }
    // Code that drivers for CPUs are given runs in their process, at the latest when they load it.
    let runs_here = device.kind != "gpu";
    let native = match examined.format {
        Format::SpirV if device.takes_spirv() => false,
        Format::SpirV => return Err(without(None, "the device takes no SPIR-V".to_owned())),
        // A SYCLBIN may name the device's kind in the architecture alone; the code itself tells.
        Format::Pocl if device.kind == "cpu" => return Err(without(None, NATIVE.to_owned())),
        _ if (image.target == CPU_SPEC || examined.march.is_some()) && device.compiles => {
            return Err(without(None, NATIVE.to_owned()));
        }
        // The runtime hands code that names no GPU to any, other code to the GPU of its name; the driver knows whose it is.
        Format::Zebin | Format::PatchTokens | Format::Ar
            if device.kind == "gpu"
                && device.vendor.starts_with("Intel")
                && image.compile_target().is_none_or(|target| device.is_of(target)) =>
        {
            true
        }
        _ => {
            let target = image.compile_target().unwrap_or(image.target);
            return Err(without(None, format!("the image is for {target}, not for this device")));
        }
    };
    let mut modules = Vec::new();
    for image in closure(image, exporters).map_err(|symbol| match examined.needs_too_many {
        true => without(None, "the file needs images of others, which are too many".to_owned()),
        false => without(Some("build"), format!("no device image found for external symbol {symbol}")),
    })? {
        let contents = image.contents().map_err(|error| without(None, error.to_string()))?;
        if let Some(why) = not_compiled(&contents).filter(|_| runs_here) {
            return Err(without(None, why));
        }
        modules.push(contents);
    }
    let mut kept =
        [image.compile_options, image.link_options].map(|text| options::for_cpu(Given::by_image(text)).kept).join(" ");
    if esimd && device.kind == "gpu" {
        kept.push_str(" -vc-codegen");
    }
    let names = kernels.iter().map(|kernel| Cow::Owned(kernel.name.clone())).collect();
    Ok(Query { modules, native, options: kept.trim().to_owned().into(), kernels: names })
}

/// SPIR-V images by the symbols that they define; of several the first that the device may be given.
fn exporters<'b, 'a: 'b>(
    images: impl Iterator<Item = &'b Image<'a>>,
    device: &Device,
) -> HashMap<&'a str, &'b Image<'a>> {
    let converts = device.extensions.iter().any(|name| name == BFLOAT16_CONVERSIONS);
    let mut found = HashMap::new();
    for image in images.filter(|image| is_form_for(image, converts)) {
        for symbol in image.exports() {
            found.entry(symbol).or_insert(image);
        }
    }
    found
}

/// An image with those that define what it imports, and what those import; or the symbol that none defines.
fn closure<'b, 'a>(
    image: &'b Image<'a>,
    exporters: &HashMap<&str, &'b Image<'a>>,
) -> Result<Vec<&'b Image<'a>>, String> {
    let mut all = vec![image];
    let mut at = 0;
    while let Some(next) = all.get(at).copied() {
        at += 1;
        for symbol in next.imports() {
            let exporter = exporters.get(symbol).copied().ok_or_else(|| symbol.to_owned())?;
            if all.iter().all(|known| known.index != exporter.index) {
                all.push(exporter);
            }
        }
    }
    Ok(all)
}
