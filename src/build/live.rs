//! Which live devices may this process use, and what do their drivers take and offer?

use super::inventory::{Device, Inventory, choose};
use super::probe::{Probes, subjects};
use super::query::sycl::{Answer, answers};
use super::query::{Query, Question, ask};
use super::{Launch, Settings, inventory};
use crate::device::selector::{Selector, VARIABLE};
use crate::device::simulation::{PREFIX, Simulation};
use crate::device::target::Has;
use crate::error::{Error, ErrorKind, Exit, Reporter, Result};
use std::ffi::OsString;
use std::time::Duration;

/// The longest that a driver may take for one small kernel.
const PATIENCE_TO_PROBE: Duration = Duration::from_secs(20);

/// The device of a list, by its place in the inventory.
pub(crate) type Listed<'i> = (usize, &'i Device);

/// A built-in kernel with what its device answers; none where the device was not asked or did not answer.
pub(crate) type BuiltIn = (usize, String, Option<Vec<Answer>>);

/// The devices of this machine, and which of them are hidden.
pub(crate) struct Live {
    /// All of them.
    pub(crate) inventory: Inventory,
    hidden: Vec<bool>,
    launch: Launch,
    /// Variables that make the driver simulate the one device that is not hidden.
    simulated: Vec<(OsString, OsString)>,
}

impl Live {
    /// Looks around by a worker for the devices that `selector` admits. A driver can hang.
    ///
    /// # Errors
    /// `Environment` where there is no loader, driver or device.
    pub(crate) fn find(mut launch: Launch, selector: &Selector, patience: Duration) -> Result<Live> {
        let inventory = inventory(&launch, patience)?;
        launch.reads = Some(inventory.read());
        if inventory.devices.is_empty() {
            let error = Error::new(ErrorKind::Environment, "the OpenCL drivers on this machine offer no device");
            return Err(error.with_remedy("`sycl-bundle doctor` tells what is missing"));
        }
        let places = inventory.devices.iter().enumerate();
        let hidden = places.map(|(place, device)| !selector.admits(&device.kind, place)).collect();
        Ok(Live { inventory, hidden, launch, simulated: Vec::new() })
    }

    /// Looks around for a device that Intel's GPU driver simulates, in the environment of the worker alone.
    ///
    /// # Errors
    /// `Environment` where the driver cannot.
    pub(crate) fn simulate(
        reporter: &dyn Reporter,
        mut launch: Launch,
        wanted: &Simulation,
        patience: Duration,
    ) -> Result<Live> {
        let (name, simulated) = (&wanted.name, wanted.variables());
        let cannot = |why: String| {
            let error =
                Error::new(ErrorKind::Environment, format!("no driver on this machine simulates {name}: {why}"));
            error.with_remedy("install a current Intel GPU driver for OpenCL (package intel-opencl-icd; 26.27 does)")
        };
        let mut inventory = inventory(&launch, patience).map_err(|error| cannot(error.to_string()))?;
        let is_simulated =
            |one: &Device| one.kind == "gpu" && one.vendor.starts_with("Intel") && wanted.is_named(&one.name);
        let Some(place) = inventory.devices.iter().position(is_simulated) else {
            let seen: Vec<&str> = inventory.devices.iter().map(|one| one.name.as_str()).collect();
            let seen = if seen.is_empty() { "no device".to_owned() } else { seen.join(", ") };
            return Err(cannot(format!("the OpenCL loader lists {seen}")));
        };
        launch.reads = Some(inventory.read());
        let hidden = (0..inventory.devices.len()).map(|own| own != place).collect();
        if let Some(one) = inventory.devices.get_mut(place) {
            one.name = format!("{name} (simulated)");
            // The runtime knows these by the revision, which the driver makes 0 of for some GPUs.
            let matrix = "ext_intel_matrix";
            if one.known().is_some_and(|own| own.has(matrix) == Has::Yes)
                && !one.aspects.iter().any(|own| own == matrix)
            {
                one.lacks_aspects.retain(|own| own != matrix);
                one.aspects.push(matrix.to_owned());
            }
            reporter.note(&format!(
                "{name} is simulated by Intel's driver {}: it compiles and answers about kernels as for this GPU; memory, \
                 compute units, clocks and timings are not to be believed, and no kernel runs",
                one.driver
            ));
        }
        Ok(Live { inventory, hidden, launch, simulated })
    }

    /// The variables that make the driver simulate the device; none where devices are there.
    pub(crate) fn simulated(&self) -> &[(OsString, OsString)] {
        &self.simulated
    }

    /// Whether a SYCL program would see the device at a place.
    pub(crate) fn visible(&self, place: usize) -> bool {
        !self.hidden.get(place).copied().unwrap_or(true)
    }

    /// The number of devices that the variable hides.
    pub(crate) fn hidden(&self) -> usize {
        self.hidden.iter().filter(|hidden| **hidden).count()
    }

    /// The device that a word on the command line means.
    ///
    /// # Errors
    /// As [`choose`].
    pub(crate) fn choose(&self, wanted: &str) -> Result<(usize, &Device)> {
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
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Probes the drivers of devices, by place. A device that takes no SPIR-V is not asked.
    ///
    /// # Errors
    /// `Environment` where the device cannot be asked at all.
    pub(crate) fn probe(
        &self,
        reporter: &dyn Reporter,
        settings: &Settings,
        listed: &[Listed<'_>],
    ) -> Result<Vec<(usize, Probes)>> {
        let mut found = Vec::new();
        for (place, device) in listed {
            if !device.takes_spirv() {
                reporter.note(&format!("{}: takes no SPIR-V, so there is nothing to probe", device.name));
                continue;
            }
            let number = u32::try_from(*place).unwrap_or(u32::MAX);
            let settings = Settings { timeout: PATIENCE_TO_PROBE, retries: 1, ..settings.clone() };
            reporter.detail(&format!("{}: building {} small kernels", device.name, subjects().len()));
            found.push((*place, super::probe::probe(number, &self.launch, &settings, &mut |_| {})?));
        }
        Ok(found)
    }

    /// The built-in kernels of devices, each with its answers. What fails is told.
    ///
    /// # Errors
    /// `Environment` where a device cannot be asked at all.
    pub(crate) fn built_in(
        &self,
        reporter: &dyn Reporter,
        settings: &Settings,
        listed: &[Listed<'_>],
    ) -> Result<(Vec<BuiltIn>, Exit)> {
        let (mut found, mut exit) = (Vec::new(), Exit::Done);
        for (place, device) in listed {
            let names = &device.built_in_kernels;
            if names.is_empty() {
                continue;
            }
            let kernels = names.iter().map(|name| name.as_str().into()).collect();
            let query = Query { modules: Vec::new(), native: false, options: "".into(), kernels };
            let number = u32::try_from(*place).unwrap_or(u32::MAX);
            let questions = [Question { image: *place, query }];
            let outcomes = ask(&questions, number, &self.launch, settings, &mut |_| {})?;
            let mut answered = Vec::new();
            for outcome in outcomes {
                match outcome {
                    Ok(all) => answered.extend(all.kernels),
                    Err(failure) => {
                        let error = Error::new(ErrorKind::Build, format!("its built-in kernels: {failure}"));
                        exit = reporter.error(&error.context(device.name.clone()));
                    }
                }
            }
            found.extend(names.iter().map(|name| {
                let own = answered.iter().find(|kernel| kernel.name == *name && kernel.status == 0);
                (*place, name.clone(), own.map(|kernel| answers(kernel, device, true)))
            }));
        }
        Ok((found, exit))
    }
}
