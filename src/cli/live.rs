//! Which live devices does the user mean, and how is one of them asked?
//!
//! Shared by the verbs that talk to devices. `ONEAPI_DEVICE_SELECTOR` is read here; the loader's own variables reach the
//! workers as they are.

use super::global::Global;
use super::progress::Progress;
use super::worker;
use crate::build::live::Live;
use crate::build::query::ask;
use crate::build::{Device, STARTUP, Settings};
use crate::bundle::Bundle;
use crate::compat::examine::Examined;
use crate::compat::kernels::KernelFacts;
use crate::compat::offers::Lent;
use crate::device;
use crate::device::selector::{Selector, VARIABLE};
use crate::device::simulation::{PREFIX, Simulation};
use crate::error::{Error, ErrorKind, Result};
use crate::report::kernels::Answers;
use crate::report::kernels::queries::DeviceQueries;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Looks around for the devices that words mean; `sim:GPU` is one that Intel's driver simulates.
///
/// # Errors
/// `Environment` where there is no loader, driver or device, or the driver cannot simulate; `Usage` where the variable is
/// malformed, and for a simulated device beside another.
pub(crate) fn find(global: &Global, words: &[String]) -> Result<Live> {
    find_within(global, words, STARTUP)
}

/// Looks around as [`find`] does, for so long.
///
/// # Errors
/// Errors of [`find`].
pub(crate) fn find_within(global: &Global, words: &[String], patience: Duration) -> Result<Live> {
    match words.iter().find_map(|word| word.strip_prefix(PREFIX)) {
        None => {
            let selector = match std::env::var_os(VARIABLE) {
                Some(text) => Selector::parse(&text.to_string_lossy())?,
                None => Selector::default(),
            };
            Live::find(worker::launch(None)?, &selector, patience)
        }
        Some(gpu) if words.len() == 1 => {
            let wanted = Simulation::find(gpu, device::table())?;
            // The driver that this tool installs is for CPUs: the system's are wanted.
            Live::simulate(global, worker::launch_with(wanted.variables(), None)?, &wanted, patience)
        }
        Some(_) => {
            let error =
                Error::new(ErrorKind::Usage, "a simulated device stands alone: a driver simulates one at a time");
            Err(error.with_remedy("run the command once for each"))
        }
    }
}

/// The number of workers at once, and their deadline.
pub(crate) fn settings(jobs: Option<NonZeroUsize>) -> Settings {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Settings::new(jobs.unwrap_or(cores))
}

/// A device to ask, by its place.
pub(crate) struct Asker<'l> {
    /// Facts of all devices.
    pub(crate) live: &'l Live,
    /// The place of this one.
    pub(crate) place: usize,
    /// The device to query.
    pub(crate) device: &'l Device,
    /// Number of workers at once.
    pub(crate) jobs: Option<NonZeroUsize>,
}

impl<'l> Asker<'l> {
    /// Asks about kernels of a file, whose images may be linked to those that others lend. Whether every program that was to
    /// be built did build stands beside the answers.
    ///
    /// # Errors
    /// `Environment` where the device cannot be asked at all.
    pub(crate) fn ask(
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
