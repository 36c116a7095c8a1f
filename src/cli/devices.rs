//! `devices`: which live OpenCL devices are there, and what can they do?

use super::global::Global;
use super::live::{find, settings};
use super::output::{ANSWER, Output, forms};
use crate::build::live::Listed;
use crate::build::probe::Probes;
use crate::device::selector::VARIABLE;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::write::write_atomically;
use crate::report::devices::{self as page, DeviceList};
use crate::report::document::Form;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A device is meant by its number, its kind (cpu, gpu, accelerator, custom: the first that takes
SPIR-V) or a part of its name. ONEAPI_DEVICE_SELECTOR hides devices as it does from SYCL programs;
OCL_ICD_VENDORS and OCL_ICD_FILENAMES say which drivers are loaded.

`sim:GPU` (sim:bmg-g21, sim:pvc) is an Intel GPU that need not be there: Intel's installed GPU
driver simulates it. It compiles and answers about kernels as for that GPU; memory, compute units
and timings are not to be believed, and no kernel runs. So do kernels, check, has, explain and
build take it, one at a time.

`--save` writes what one device is like as a device configuration, under a name made of the
device's own: `check -t` and `targets` take it with --device-config, on other machines too.
Drivers tell too little of the SPIR-V that they take; `--probe` has a device's driver build a
kernel for each version, capability and extension, in worker processes: `refused` is a no of the
driver, `died` says that it took its process with it. `--save` probes too, and saves the answers.
`check` and `has` take a live device with --device.

Examples:
  sycl-bundle devices
  sycl-bundle devices cpu
  sycl-bundle devices --kernels
  sycl-bundle devices sim:bmg-g21
  sycl-bundle devices --device cpu --save my-cpu.yaml
  sycl-bundle check libfoo.so -t live-... --device-config my-cpu.yaml
  sycl-bundle devices --format json | jq -r '.devices[] | .name, .aspects[]'

Exit status:
  5  there is no OpenCL loader, no driver, or no such device";

/// List the live OpenCL devices, with what they can do
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Show all about these
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    /// Devices, spelled as for other verbs (repeatable)
    #[arg(long = "device", value_name = "DEVICE")]
    named: Vec<String>,
    /// Write a device configuration of one device; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernels", "all"])]
    save: Option<PathBuf>,
    /// Find out which SPIR-V the devices' drivers take by having them build small kernels
    #[arg(long, conflicts_with = "kernels")]
    probe: bool,
    /// With --save, go by what the driver tells alone: of many kernels it is then unknown whether they run
    #[arg(long, requires = "save", conflicts_with = "probe")]
    no_probe: bool,
    /// List the kernels that are built into devices; they need no image, and exist on their device only
    #[arg(long)]
    kernels: bool,
    /// List devices that ONEAPI_DEVICE_SELECTOR hides too
    #[arg(long, conflicts_with_all = ["devices", "named"])]
    all: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = forms(ANSWER))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

impl Args {
    /// Looks around and reports.
    pub(crate) fn run(mut self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        self.devices.append(&mut self.named);
        let live = find(global, &self.devices)?;
        for problem in &live.inventory.problems {
            global.note(problem);
        }
        let all = || live.inventory.devices.iter().enumerate();
        let listed: Vec<Listed<'_>> = if self.devices.is_empty() {
            all().filter(|(place, _)| self.all || live.visible(*place)).collect()
        } else {
            self.devices.iter().map(|wanted| live.choose(wanted)).collect::<Result<_>>()?
        };
        let hidden = if self.all || !self.devices.is_empty() { 0 } else { live.hidden() };
        if listed.is_empty() {
            let error = Error::new(ErrorKind::Environment, format!("{VARIABLE} hides all {hidden} OpenCL devices"));
            return Err(error.with_remedy("`--all` lists them"));
        }
        if hidden > 0 {
            global.note(&format!("{VARIABLE} hides {hidden} more; `--all` lists them"));
        }
        if let Some(path) = &self.save {
            let probes = if self.no_probe { Vec::new() } else { live.probe(global, &settings(None), &listed)? };
            return save(global, path, &listed, &probes, out);
        }
        let probes = if self.probe { live.probe(global, &settings(None), &listed)? } else { Vec::new() };
        if self.probe && probes.is_empty() {
            let error = Error::new(ErrorKind::Environment, "no device takes SPIR-V");
            return Err(error.with_remedy("`devices` lists what each takes"));
        }
        let kernels = self.kernels.then(|| live.built_in(global, &settings(None), &listed)).transpose()?;
        let (kernels, exit) = kernels.map_or((None, Exit::Done), |(kernels, exit)| (Some(kernels), exit));
        if kernels.as_ref().is_some_and(Vec::is_empty) && self.format == Form::Table {
            global.note("no device has built-in kernels");
            return Ok(exit);
        }
        let shown = DeviceList {
            inventory: &live.inventory,
            devices: &listed,
            named: !self.devices.is_empty(),
            kernels: kernels.as_deref(),
            probes: self.probe.then_some(&probes[..]),
        };
        out.put(self.format, &shown)?;
        Ok(exit)
    }
}

/// Writes the configuration of one device.
fn save(
    global: &Global,
    path: &Path,
    listed: &[Listed<'_>],
    probes: &[(usize, Probes)],
    out: &mut Output,
) -> Result<Exit> {
    let [(place, device)] = listed else {
        let names: Vec<&str> = listed.iter().map(|(_, device)| device.name.as_str()).collect();
        let message = format!("`--save` is of one device, and these are {}: {}", listed.len(), names.join(", "));
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("name one with `--device`"));
    };
    let name = page::profile::target_name(device);
    let own = probes.iter().find(|(own, _)| own == place).map(|(_, probes)| probes);
    let text = page::profile::profile(device, &name, own);
    if path.as_os_str() == "-" {
        out.data(&text, "name a file for it")?;
    } else {
        write_atomically(path, text.as_bytes(), None)?;
        global.note(&format!("{}: target {name}, of {}", path.display(), device.name));
    }
    Ok(Exit::Done)
}
