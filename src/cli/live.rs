//! Which live devices may this process use, and how is one of them asked?
//!
//! Shared by the verbs that talk to devices. `ONEAPI_DEVICE_SELECTOR` is read here; the loader's own variables reach the
//! workers as they are.

use std::num::NonZeroUsize;
use std::time::Duration;

use sycl_bundle::build::inventory::choose;
use sycl_bundle::build::{Device, Inventory, Launch, Settings, inventory};
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::error::{Error, ErrorKind, Result};

use super::worker;

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
