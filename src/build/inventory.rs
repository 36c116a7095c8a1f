//! Which OpenCL devices are there, and what is each of them like?
//!
//! Filled in by a worker ([`super::opencl`]) and sent to its parent as fields of a frame.

use super::protocol::{Fields, path_lines};
use crate::device::table;
use crate::device::target::{IpVersion, Target};
use crate::error::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The OpenCL installation that a worker sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The file that the loader was loaded from, where the system tells.
    pub loader: String,
    /// Every device of every platform, in the loader's order.
    pub devices: Vec<Device>,
    /// Messages of platforms that do not list their devices.
    pub problems: Vec<String>,
    /// The files that the drivers consist of, as far as they were loaded for this, and those with their settings.
    pub files: Vec<PathBuf>,
    /// Libraries that the process has loaded, those of the drivers among them.
    pub loaded: Vec<PathBuf>,
}

/// Returns the libraries that this process has loaded, in order.
pub(crate) fn loaded() -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let paths = maps.split(|byte| *byte == b'\n').filter_map(|line| {
        line.iter()
            .position(|byte| *byte == b'/')
            .and_then(|start| line.get(start..))
            .map(OsStr::from_bytes)
            .map(Path::new)
    });
    let mut files: Vec<PathBuf> = paths.filter(|path| is_library(path)).map(Path::to_path_buf).collect();
    files.sort();
    files.dedup();
    files
}

/// Whether a file is a shared library by its name.
pub(crate) fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// A compiler for GPUs that need not be there, as it tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offline {
    /// Version of the compiler.
    pub version: String,
    /// The files that it consists of, as far as they are known, where no devices were asked about.
    pub files: Vec<PathBuf>,
    /// Libraries that the process has loaded then, those of a compiler that works in it among them.
    pub loaded: Vec<PathBuf>,
    /// Devices asked about that the compiler does not know.
    pub unknown: Vec<String>,
    /// Options that it gets for devices asked about whatever images say, each behind the device and a space.
    pub added: Vec<String>,
    /// Whether it works inside the worker; else as a process per module.
    pub in_process: bool,
    /// Whether its libraries did not become known in time: another version of these would compile otherwise, and nobody knows.
    pub unsure: bool,
}

/// An OpenCL device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Device {
    /// `CL_DEVICE_NAME`.
    pub name: String,
    /// `cpu`, `gpu`, `accelerator`, `custom` or `other`.
    pub kind: String,
    /// `CL_PLATFORM_NAME`.
    pub platform: String,
    /// `CL_PLATFORM_VENDOR`.
    pub vendor: String,
    /// `CL_DRIVER_VERSION`.
    pub driver: String,
    /// `CL_DEVICE_VERSION`.
    pub opencl: String,
    /// `CL_DEVICE_OPENCL_C_VERSION`.
    pub opencl_c: String,
    /// `CL_DEVICE_IL_VERSION`: the intermediate languages that it takes; empty where it takes no SPIR-V.
    #[serde(serialize_with = "words")]
    #[schemars(with = "Vec<String>")]
    pub il: String,
    /// Whether it compiles for the target `spir64_x86_64`.
    #[serde(skip)]
    pub compiles: bool,
    /// `CL_DEVICE_IP_VERSION_INTEL` of an Intel GPU, which tells its target; 0 where the driver does not say.
    #[serde(skip)]
    pub gmdid: u32,
    /// Aspects that `sycl::device::has` answers yes to, by SYCL name, in the order of the runtime's list.
    pub aspects: Vec<String>,
    /// Aspects that it answers no to, likewise.
    #[serde(skip)]
    pub lacks_aspects: Vec<String>,
    /// The sub-group sizes that a kernel can require; 1 alone where the driver does not list any.
    pub sub_group_sizes: Vec<u64>,
    /// `CL_DEVICE_MAX_WORK_GROUP_SIZE`, work-items.
    pub max_work_group_size: u64,
    /// `CL_DEVICE_MAX_WORK_ITEM_SIZES`, in OpenCL's order: x first.
    pub max_work_item_sizes: Vec<u64>,
    /// `CL_DEVICE_MAX_NUM_SUB_GROUPS`.
    pub max_num_sub_groups: u64,
    /// `CL_DEVICE_MAX_COMPUTE_UNITS`.
    pub compute_units: u64,
    /// `CL_DEVICE_LOCAL_MEM_SIZE`, bytes.
    #[serde(rename = "local_mem_size")]
    pub local_mem: u64,
    /// `CL_DEVICE_GLOBAL_MEM_SIZE`, bytes.
    #[serde(rename = "global_mem_size")]
    pub global_mem: u64,
    /// `CL_DEVICE_MAX_PARAMETER_SIZE`, bytes of all arguments of a kernel.
    pub max_parameter_size: u64,
    /// `CL_DEVICE_BUILT_IN_KERNELS`: kernels that need no image, and exist on this device only.
    pub built_in_kernels: Vec<String>,
    /// `CL_DEVICE_EXTENSIONS`.
    pub extensions: Vec<String>,
}

/// Serialises the words of a text as a list.
fn words<S: Serializer>(text: &str, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(text.split_whitespace())
}

impl Device {
    /// Bytes of what a worker tells of it.
    pub(crate) fn length(&self) -> u64 {
        let mut fields = Vec::new();
        self.encode(&mut fields);
        fields.iter().fold(0, |sum, field| sum.saturating_add(field.len() as u64))
    }

    /// Whether it takes SPIR-V modules.
    pub(crate) fn takes_spirv(&self) -> bool {
        self.il.contains("SPIR-V")
    }

    /// Whether it is the GPU of a target, in any revision: the runtime hands it native code for that.
    pub(crate) fn is_of(&self, target: &str) -> bool {
        self.known().is_some_and(|own| own.name == target)
    }

    /// The Intel GPU of the device configuration that it is, in any revision.
    pub(crate) fn known(&self) -> Option<&'static Target> {
        let release = |version: &IpVersion| (version.architecture, version.release);
        let own = release(&self.ip_version()?);
        table().targets().iter().find(|one| one.ip_versions.iter().any(|version| release(version) == own))
    }

    /// The IP version, of an Intel GPU whose driver tells it.
    pub(crate) fn ip_version(&self) -> Option<IpVersion> {
        (self.gmdid != 0).then(|| IpVersion::of_gmdid(self.gmdid))
    }

    fn encode(&self, out: &mut Vec<Vec<u8>>) {
        let compiles = if self.compiles { "yes" } else { "no" };
        let texts = [&self.platform, &self.vendor, &self.name, &self.kind, &self.driver, &self.opencl, &self.il];
        out.extend(texts.map(|text| text.clone().into_bytes()));
        out.extend([compiles.into(), self.opencl_c.clone().into_bytes()]);
        let lists = [&self.aspects, &self.lacks_aspects, &self.extensions, &self.built_in_kernels];
        out.extend(lists.map(|names| names.join("\n").into_bytes()));
        let single = [
            self.max_work_group_size,
            self.max_num_sub_groups,
            self.compute_units,
            self.local_mem,
            self.global_mem,
            self.max_parameter_size,
            self.gmdid.into(),
        ];
        let numbers = |all: &[u64]| all.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        out.extend([numbers(&self.sub_group_sizes), numbers(&self.max_work_item_sizes), numbers(&single)]);
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Device> {
        let mut device = Device {
            platform: fields.said()?,
            vendor: fields.said()?,
            name: fields.said()?,
            kind: fields.said()?,
            driver: fields.said()?,
            opencl: fields.said()?,
            il: fields.said()?,
            compiles: fields.said()? == "yes",
            opencl_c: fields.said()?,
            aspects: fields.names()?,
            lacks_aspects: fields.names()?,
            extensions: fields.names()?,
            built_in_kernels: fields.names()?,
            sub_group_sizes: fields.numbers()?,
            max_work_item_sizes: fields.numbers()?,
            ..Device::default()
        };
        let single = fields.numbers()?;
        let [work_group, sub_groups, units, local, global, parameter, gmdid] = single.as_slice() else {
            return Err(Error::input(format!("a device with {} sizes", single.len())));
        };
        (device.max_work_group_size, device.max_num_sub_groups, device.compute_units) =
            (*work_group, *sub_groups, *units);
        (device.local_mem, device.global_mem, device.max_parameter_size) = (*local, *global, *parameter);
        device.gmdid = u32::try_from(*gmdid).unwrap_or_default();
        Ok(device)
    }
}

impl Offline {
    /// Returns the files around which workers may read: those of the compiler, and all that was loaded for it.
    pub(super) fn read(&self) -> Vec<PathBuf> {
        [self.files.as_slice(), &self.loaded].concat()
    }
}

impl Inventory {
    /// Returns the files around which workers may read: those of the drivers, and all that was loaded for them. What lies above a
    /// driver's folder may be anybody's.
    pub(super) fn read(&self) -> Vec<PathBuf> {
        let folders: HashSet<&Path> = self.loaded.iter().filter_map(|file| file.parent()).collect();
        let is_of_driver = |file: &&PathBuf| file.parent().is_some_and(|folder| folders.contains(folder));
        self.files.iter().filter(is_of_driver).chain(&self.loaded).cloned().collect()
    }

    pub(super) fn encode(&self) -> Vec<Vec<u8>> {
        let first = [self.loader.clone(), self.problems.join("\n"), path_lines(&self.files), path_lines(&self.loaded)];
        let mut out: Vec<Vec<u8>> = first.into_iter().map(String::into_bytes).collect();
        for device in &self.devices {
            device.encode(&mut out);
        }
        out
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Inventory> {
        let (loader, problems) = (fields.said()?, fields.names()?);
        let (files, loaded) = (fields.paths()?, fields.paths()?);
        let mut inventory = Inventory { loader, problems, files, loaded, devices: Vec::new() };
        while !fields.is_empty() {
            inventory.devices.push(Device::decode(fields)?);
        }
        Ok(inventory)
    }
}

/// The kinds by which a device can be asked for.
pub(crate) const KINDS: [&str; 4] = ["cpu", "gpu", "accelerator", "custom"];

/// Finds the device, with its place in the inventory. Only devices that `visible` admits count, by place.
///
/// # Errors
/// `Environment` where there is none; `Usage` where a name means several.
pub(crate) fn choose<'i>(
    inventory: &'i Inventory,
    wanted: &str,
    visible: &dyn Fn(usize) -> bool,
) -> Result<(usize, &'i Device)> {
    let seen: Vec<(usize, &Device)> =
        inventory.devices.iter().enumerate().filter(|(place, _)| visible(*place)).collect();
    if let Ok(number) = wanted.parse::<usize>() {
        return seen.iter().find(|(place, _)| *place == number).copied().ok_or_else(|| missing(wanted, &seen));
    }
    let lower = wanted.to_lowercase();
    if KINDS.contains(&lower.as_str()) {
        let fits = |(_, device): &&(usize, &Device)| device.kind == lower;
        // Of several CPU drivers the one whose native code the runtime takes.
        let able = || seen.iter().filter(fits);
        let able = able()
            .find(|(_, device)| device.compiles)
            .or_else(|| able().find(|(_, device)| device.takes_spirv() || lower == "custom"));
        return able.copied().ok_or_else(|| match seen.iter().find(fits) {
            Some((place, device)) => {
                let message =
                    format!("the {lower} device there is, {} ({}), takes no SPIR-V", device.name, device.platform);
                let error = Error::new(ErrorKind::Environment, message);
                error.with_remedy(format!("its number, {place}, means it nevertheless"))
            }
            None => missing(wanted, &seen),
        });
    }
    let named = |device: &Device| {
        let full = format!("{} {} {}", device.platform, device.vendor, device.name).to_lowercase();
        device.name.to_lowercase() == lower || full.contains(&lower)
    };
    let found: Vec<(usize, &Device)> = seen.iter().copied().filter(|(_, device)| named(device)).collect();
    match found.as_slice() {
        [] => Err(missing(wanted, &seen)),
        [one] => Ok(*one),
        several => {
            let error = Error::new(ErrorKind::Usage, format!("`{wanted}` means several devices: {}", list(several)));
            Err(error.with_remedy("name one by its number"))
        }
    }
}

fn missing(wanted: &str, seen: &[(usize, &Device)]) -> Error {
    let there = if seen.is_empty() { "no device at all".to_owned() } else { list(seen) };
    let error = Error::new(ErrorKind::Environment, format!("no OpenCL device `{wanted}`; there is {there}"));
    error.with_remedy("`sycl-bundle devices` lists them, `sycl-bundle doctor` tells what is missing")
}

fn list(devices: &[(usize, &Device)]) -> String {
    let one = |(place, device): &(usize, &Device)| format!("{place} {} ({})", device.name, device.platform);
    devices.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    fn inventory() -> Inventory {
        let device = |name: &str, platform: &str, kind: &str, il: &str| Device {
            vendor: if platform.starts_with("Intel") { "Intel(R) Corporation" } else { "The pocl project" }.into(),
            name: name.into(),
            platform: platform.into(),
            kind: kind.into(),
            il: il.into(),
            ..Device::default()
        };
        let devices = vec![
            device("pthread-EPYC", "Portable Computing Language", "cpu", ""),
            device("AMD EPYC", "Intel(R) OpenCL", "cpu", "SPIR-V_1.4"),
            device("Arc A770", "Intel(R) OpenCL Graphics", "gpu", "SPIR-V_1.3"),
        ];
        Inventory { devices, ..Inventory::default() }
    }

    fn place(wanted: &str) -> std::result::Result<usize, ErrorKind> {
        choose(&inventory(), wanted, &|_| true).map(|(place, _)| place).map_err(|error| error.kind())
    }

    #[test]
    fn of_two_cpu_drivers_the_one_that_compiles_is_meant() {
        let mut both = inventory();
        for device in &mut both.devices {
            device.il = "SPIR-V_1.5".into();
        }
        let place = |all: &Inventory| choose(all, "cpu", &|_| true).unwrap().0;
        assert_eq!(place(&both), 0);
        both.devices[1].compiles = true;
        assert_eq!(place(&both), 1);
    }

    #[test]
    fn what_takes_no_spirv_is_meant_only_by_name() {
        assert_eq!(place("cpu"), Ok(1));
        assert_eq!(place("CPU"), Ok(1));
        assert_eq!(place("0"), Ok(0));
        assert_eq!(place("portable"), Ok(0));
        assert_eq!(place("pocl"), Ok(0));
        assert_eq!(place("arc"), Ok(2));
        assert_eq!(place("epyc"), Err(ErrorKind::Usage));
        assert_eq!(place("7"), Err(ErrorKind::Environment));
        assert_eq!(place("accelerator"), Err(ErrorKind::Environment));
        let only_first = choose(&inventory(), "cpu", &|place| place == 0).unwrap_err();
        assert_eq!(only_first.kind(), ErrorKind::Environment);
        assert!(only_first.to_string().contains("takes no SPIR-V"), "{only_first}");
    }
}
