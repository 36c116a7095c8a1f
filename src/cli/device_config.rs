//! Which targets does the user add?

use super::global::Global;
use super::live;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::aspect;
use sycl_bundle::device;
use sycl_bundle::device::table::{Added, TargetTable};
use sycl_bundle::error::{Error, Result};
use sycl_bundle::files::input::Input;
use sycl_bundle::report::devices::profile;

/// The flag, the same for every verb that knows targets.
#[derive(Debug, Default, clap::Args)]
pub struct DeviceConfigs {
    /// Add targets from a device configuration, in place of those of the same name (repeatable)
    #[arg(long, value_name = "FILE")]
    device_config: Vec<PathBuf>,
}

impl DeviceConfigs {
    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.device_config
    }

    /// The built-in targets and those of the files; warnings are said.
    ///
    /// # Errors
    /// The last fault of a file, with its place, after those before it have been said.
    pub fn table(&self, global: &Global) -> Result<Cow<'static, TargetTable>> {
        if self.device_config.is_empty() {
            return Ok(Cow::Borrowed(device::table()));
        }
        let mut table = device::table().clone();
        for path in &self.device_config {
            let added = add(&mut table, path)?;
            added.warnings.iter().for_each(|warning| global.note(warning));
            let mut faults = added.faults;
            if let Some(last) = faults.pop() {
                for fault in faults {
                    global.error(&fault);
                }
                return Err(last);
            }
        }
        Ok(Cow::Owned(table))
    }
}

/// Live devices among the targets.
#[derive(Debug, Default, clap::Args)]
pub struct LiveTargets {
    /// A live OpenCL device: its number, kind (cpu, gpu) or a part of its name, as `devices` lists them; its driver is asked
    /// which SPIR-V it takes (repeatable)
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
}

impl LiveTargets {
    /// Adds the devices to a table, as `devices --save` writes them; gives their names there.
    ///
    /// # Errors
    /// `Environment` where there is no such device, `Usage` where a word means several.
    pub fn add(&self, global: &Global, table: &mut Cow<'_, TargetTable>) -> Result<Vec<String>> {
        if self.devices.is_empty() {
            return Ok(Vec::new());
        }
        let live = live::find(global, &self.devices)?;
        let listed = self.devices.iter().map(|wanted| live.choose(wanted)).collect::<Result<Vec<_>>>()?;
        let probes = live.probe(global, &live::settings(None), &listed)?;
        let aspects: Vec<&str> = aspect::names().collect();
        let mut names = Vec::new();
        for (place, device) in &listed {
            let name = profile::target_name(device);
            let own = probes.iter().find(|(own, _)| own == place).map(|(_, probes)| probes);
            let text = profile::profile(device, &name, own);
            if let Some(fault) = table.to_mut().add(&device.name, &text, &aspects).faults.pop() {
                return Err(fault);
            }
            names.push(name);
        }
        Ok(names)
    }
}

/// Adds the definitions of a file to a table.
///
/// # Errors
/// `Io` or `Input` where the file cannot be read as text; faults in it are not errors here.
pub fn add(table: &mut TargetTable, path: &Path) -> Result<Added> {
    let name = path.display().to_string();
    let input = Input::open(path).map_err(|error| error.context(name.clone()))?;
    let text = std::str::from_utf8(input.bytes()).map_err(|error| {
        let at = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
        Error::at(at, "no UTF-8 text").context(name.clone())
    })?;
    let aspects: Vec<&str> = aspect::names().collect();
    Ok(table.add(&name, text, &aspects))
}
