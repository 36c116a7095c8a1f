//! Which live devices may this process use, and how is one of them asked?
//!
//! Shared by the verbs that talk to devices. `ONEAPI_DEVICE_SELECTOR` is read here; the loader's own variables reach the
//! workers as they are.

use super::global::Global;
use super::progress::Progress;
use super::worker;
use std::num::NonZeroUsize;
use std::time::Duration;
use sycl_bundle::build::inventory;
use sycl_bundle::build::inventory::choose;
use sycl_bundle::build::query::ask;
use sycl_bundle::build::{Device, Inventory, Launch, Settings};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::kernels::KernelFacts;
use sycl_bundle::compat::offers::Lent;
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::kernels::Answers;
use sycl_bundle::report::kernels::queries::DeviceQueries;

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
        let queries = DeviceQueries::new(self.device, bundle, images, lent, kernels);
        let mut progress = Progress::new(global, queries.questions.len());
        let name = |(image, _): (usize, usize)| format!("image {image}");
        let number = u32::try_from(self.place).unwrap_or(u32::MAX);
        let outcomes = ask(&queries.questions, number, self.live.launch(), &settings(self.jobs), &mut |event| {
            progress.on(&event, &name);
        });
        progress.finish();
        Ok(queries.answers(outcomes?))
    }
}
