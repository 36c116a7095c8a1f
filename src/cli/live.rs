//! Which live devices may this process use, and how is one of them asked?
//!
//! Shared by the verbs that talk to devices. `ONEAPI_DEVICE_SELECTOR` is read here; the loader's own variables reach the
//! workers as they are.
//!
//! One question per image: its program is built once, with the images that define what it imports, and all its kernels
//! are asked about. What is not compatible with the device is not built: SYCL's queries throw there.

use super::global::Global;
use super::progress::Progress;
use super::worker;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::time::Duration;
use sycl_bundle::build::inventory;
use sycl_bundle::build::inventory::choose;
use sycl_bundle::build::query::sycl::{answers, beyond, incompatibility};
use sycl_bundle::build::query::{Query, Question, ask};
use sycl_bundle::build::target::CPU_SPEC;
use sycl_bundle::build::{
    Device, Inventory, Launch, Settings,
    options::{self, Given},
};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property::set;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::kernels::KernelFacts;
use sycl_bundle::compat::offers::Lent;
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::kernels::{Answers, OnDevice};

/// The longest that looking around may take; a driver can hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The devices of this machine, and which of them are hidden.
pub struct Live {
    /// All of them.
    pub inventory: Inventory,
    hidden: Vec<bool>,
    launch: Launch,
}

impl Live {
    /// Looks around, in a worker process.
    ///
    /// # Errors
    /// `Environment` where there is no loader, driver or device; `Usage` where the variable is malformed.
    pub fn find() -> Result<Live> {
        let selector = match std::env::var_os(VARIABLE) {
            Some(text) => Selector::parse(&text.to_string_lossy())?,
            None => Selector::default(),
        };
        let launch = worker::launch(None)?;
        let inventory = inventory(&launch, PATIENCE)?;
        if inventory.devices.is_empty() {
            let error = Error::new(ErrorKind::Environment, "the OpenCL drivers on this machine offer no device");
            return Err(error.with_remedy("`sycl-bundle doctor` tells what is missing"));
        }
        let places = inventory.devices.iter().enumerate();
        let hidden = places.map(|(place, device)| !selector.admits(&device.kind, place)).collect();
        Ok(Live { inventory, hidden, launch })
    }

    /// Whether a SYCL program would see the device at a place.
    pub fn visible(&self, place: usize) -> bool {
        !self.hidden.get(place).copied().unwrap_or(true)
    }

    /// The number of devices that the variable hides.
    pub fn hidden(&self) -> usize {
        self.hidden.iter().filter(|hidden| **hidden).count()
    }

    /// The device that a word on the command line means.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn choose(&self, wanted: &str) -> Result<(usize, &Device)> {
        choose(&self.inventory, wanted, &|place| self.visible(place)).map_err(|error| match self.hidden() {
            0 => error,
            hidden => {
                error.with_remedy(format!("{VARIABLE} hides {hidden} of the devices; `devices --all` lists them"))
            }
        })
    }

    /// The command that starts a worker.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }
}

/// The number of workers at once, and their deadline.
pub fn settings(jobs: Option<NonZeroUsize>) -> Settings {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Settings::new(jobs.unwrap_or(cores))
}

/// A device to ask, by its place.
pub struct Asker<'l> {
    /// Facts of all devices.
    pub live: &'l Live,
    /// The place of this one.
    pub place: usize,
    /// The device to query.
    pub device: &'l Device,
    /// Number of workers at once.
    pub jobs: Option<NonZeroUsize>,
}

impl<'l> Asker<'l> {
    /// Asks about kernels of a file, whose images may be linked to those that others lend. Whether every program that was to
    /// be built did build stands beside the answers.
    ///
    /// # Errors
    /// `Environment` where the device cannot be asked at all.
    pub fn ask(
        &self,
        global: &Global,
        bundle: &Bundle<'_>,
        (images, lent): (&[Examined<'_, '_>], &Lent<'_>),
        kernels: &[KernelFacts],
    ) -> Result<(Answers<'l>, bool)> {
        let mut wanted: BTreeMap<usize, Vec<&KernelFacts>> = BTreeMap::new();
        for kernel in kernels {
            wanted.entry(kernel.image).or_default().push(kernel);
        }
        let exporters = exporters(bundle.images.iter().chain(lent.images()), self.device);
        let mut found = HashMap::new();
        let mut questions = Vec::new();
        for examined in images {
            let Some(kernels) = wanted.get(&examined.image.index) else { continue };
            match self.question(examined, kernels, &exporters) {
                Ok(query) => questions.push(Question { image: examined.image.index, query }),
                Err(why) => {
                    found.extend(kernels.iter().map(|kernel| ((kernel.image, kernel.name.clone()), why.clone())));
                }
            }
        }
        let mut progress = Progress::new(global, questions.len());
        let name = |(image, _): (usize, usize)| format!("image {image}");
        let number = u32::try_from(self.place).unwrap_or(u32::MAX);
        let outcomes =
            ask(&questions, number, self.live.launch(), &settings(self.jobs), &mut |event| progress.on(&event, &name));
        progress.finish();
        let mut whole = true;
        for outcome in outcomes? {
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
                    let said = failure.log.lines().find(|line| !line.trim().is_empty());
                    let said = said.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                    let why = OnDevice::None { errc: Some("build"), reason: format!("{failure}{said}") };
                    let kernels = wanted.get(&failure.image).into_iter().flatten();
                    found.extend(kernels.map(|kernel| ((kernel.image, kernel.name.clone()), why.clone())));
                }
            }
        }
        Ok((Answers { device: self.device, kernels: found }, whole))
    }

    /// The program to build for an image, or the reason why there is none.
    fn question<'a>(
        &self,
        examined: &Examined<'_, 'a>,
        kernels: &[&KernelFacts],
        exporters: &HashMap<&str, &Image<'a>>,
    ) -> std::result::Result<Query<'a>, OnDevice> {
        let without = |errc, reason: String| OnDevice::None { errc, reason };
        let image = examined.image;
        let esimd = kernels.iter().any(|kernel| kernel.esimd);
        if let Some(reason) = incompatibility(&examined.requirements, esimd, self.device) {
            return Err(without(Some("invalid"), reason));
        }
        let native = match examined.format {
            Format::SpirV if self.device.takes_spirv() => false,
            Format::SpirV => return Err(without(None, "the device takes no SPIR-V".to_owned())),
            // A SYCLBIN may name the device's kind in the architecture alone; the code itself tells.
            _ if (image.target == CPU_SPEC || examined.march.is_some()) && self.device.compiles => true,
            _ => return Err(without(None, format!("the image is for {}, not for this device", image.target))),
        };
        let mut modules = Vec::new();
        for image in closure(image, exporters)
            .map_err(|symbol| without(Some("build"), format!("no device image found for external symbol {symbol}")))?
        {
            modules.push(image.contents().map_err(|error| without(None, error.to_string()))?);
        }
        let mut kept = [image.compile_options, image.link_options]
            .map(|text| options::for_cpu(Given::by_image(text)).kept)
            .join(" ");
        if esimd && self.device.kind == "gpu" {
            kept.push_str(" -vc-codegen");
        }
        let names = kernels.iter().map(|kernel| Cow::Owned(kernel.name.clone())).collect();
        Ok(Query { modules, native, options: kept.trim().to_owned().into(), kernels: names })
    }
}

/// SPIR-V images by the symbols that they define; of several the first that the device may be given.
fn exporters<'b, 'a: 'b>(
    images: impl Iterator<Item = &'b Image<'a>>,
    device: &Device,
) -> HashMap<&'a str, &'b Image<'a>> {
    let converts = device.extensions.iter().any(|name| name == "cl_intel_bfloat16_conversions");
    let mut found = HashMap::new();
    for image in images {
        // The device library comes in two forms; the native one needs the device's own conversions.
        let form = image.properties.get(set::DEVICELIB, "bfloat16").and_then(|value| value.number());
        if form == Some(1) && !converts || form == Some(0) && converts {
            continue;
        }
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
) -> std::result::Result<Vec<&'b Image<'a>>, String> {
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
