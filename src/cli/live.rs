//! Which live devices may this process use, and how is one of them asked?
//!
//! Shared by the verbs that talk to devices. `ONEAPI_DEVICE_SELECTOR` is read here; the loader's own variables reach the
//! workers as they are.

use super::global::Global;
use super::progress::Progress;
use super::worker;
use std::ffi::OsString;
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
use sycl_bundle::device;
use sycl_bundle::device::selector::{Selector, VARIABLE};
use sycl_bundle::device::simulation::{PREFIX, Simulation};
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
    /// Variables that make the driver simulate the one device that is not hidden.
    simulated: Vec<(OsString, OsString)>,
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
        Ok(Live { inventory, hidden, launch, simulated: Vec::new() })
    }

    /// Looks around for the devices that words mean; `sim:GPU` is one that Intel's driver simulates.
    ///
    /// # Errors
    /// As [`Live::find`]; `Usage` for a simulated device beside another, `Environment` where the driver cannot simulate.
    pub fn find_for(global: &Global, words: &[String]) -> Result<Live> {
        match words.iter().find_map(|word| word.strip_prefix(PREFIX)) {
            None => Live::find(),
            Some(gpu) if words.len() == 1 => Live::simulate(global, &Simulation::find(gpu, device::table())?),
            Some(_) => {
                let error =
                    Error::new(ErrorKind::Usage, "a simulated device stands alone: a driver simulates one at a time");
                Err(error.with_remedy("run the command once for each"))
            }
        }
    }

    /// Has Intel's GPU driver simulate a device, by the worker's environment alone.
    fn simulate(global: &Global, wanted: &Simulation) -> Result<Live> {
        let Simulation { name, environment, .. } = wanted;
        let environment: Vec<(OsString, OsString)> =
            environment.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        // The driver that this tool installs is for CPUs: the system's are wanted.
        let launch = worker::launch_with(environment.clone(), None)?;
        let cannot = |why: String| {
            let error =
                Error::new(ErrorKind::Environment, format!("no driver on this machine simulates {name}: {why}"));
            error.with_remedy("install a current Intel GPU driver for OpenCL (package intel-opencl-icd; 26.27 does)")
        };
        let mut inventory = inventory(&launch, PATIENCE).map_err(|error| cannot(error.to_string()))?;
        let is_simulated =
            |one: &Device| one.kind == "gpu" && one.vendor.starts_with("Intel") && wanted.is_named(&one.name);
        let Some(place) = inventory.devices.iter().position(is_simulated) else {
            let seen: Vec<&str> = inventory.devices.iter().map(|one| one.name.as_str()).collect();
            let seen = if seen.is_empty() { "no device".to_owned() } else { seen.join(", ") };
            return Err(cannot(format!("the OpenCL loader lists {seen}")));
        };
        let hidden = (0..inventory.devices.len()).map(|own| own != place).collect();
        if let Some(one) = inventory.devices.get_mut(place) {
            one.name = format!("{name} (simulated)");
            global.note(&format!(
                "{name} is simulated by Intel's driver {}: it compiles and answers about kernels as for this GPU; memory, \
                 compute units, clocks and timings are not to be believed, and no kernel runs",
                one.driver
            ));
        }
        Ok(Live { inventory, hidden, launch, simulated: environment })
    }

    /// The variables that make the driver simulate the device; none where devices are there.
    pub fn simulated(&self) -> &[(OsString, OsString)] {
        &self.simulated
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
        if !self.simulated.is_empty() && wanted.starts_with(PREFIX) {
            let mut devices = self.inventory.devices.iter().enumerate();
            if let Some(found) = devices.find(|(place, _)| self.visible(*place)) {
                return Ok(found);
            }
        }
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
        let mut progress = Progress::new(global, queries.questions.len(), None);
        let name = |(image, _): (usize, usize)| format!("image {image}");
        let number = u32::try_from(self.place).unwrap_or(u32::MAX);
        let outcomes = ask(&queries.questions, number, self.live.launch(), &settings(self.jobs), &mut |event| {
            progress.on(&event, &name);
        });
        progress.finish();
        Ok(queries.answers(outcomes?))
    }
}
