//! With which settings does Intel's GPU driver pretend to be a GPU that is not there?
//!
//! The driver (intel/compute-runtime) reads debug keys from its environment, in release builds too where
//! `NEOReadDebugKeys` says so. A command stream receiver of its simulation mode needs no hardware; the product family, the
//! number of slices, sub-slices and execution units, and the IP version say which GPU it is. Compiling a kernel and most
//! queries about it depend on nothing else. Tried with 26.27 for all of these.

use super::table::TargetTable;
use crate::error::{Error, ErrorKind, Result};
use std::ffi::OsString;

/// Prefix of the word that asks for a simulated device.
pub(crate) const PREFIX: &str = "sim:";

/// A GPU: its name for ocloc, its product family, slices x sub-slices x execution units, and its IP version (GMDID) where it
/// is not the family's default. A GPU of another revision refuses the code that ocloc makes (bmg-g21 as 20.1.4, with 26.27).
type Gpu = (&'static str, &'static str, &'static str, Option<u32>);

/// The GPUs that can be simulated.
const GPUS: [Gpu; 17] = [
    ("tgllp", "tgllp", "1x6x16", None),
    ("adl-p", "adlp", "1x6x16", None),
    ("adl-s", "adls", "1x2x16", None),
    ("dg1", "dg1", "1x6x16", None),
    ("dg2-g10", "dg2", "8x4x16", None),
    ("dg2-g11", "dg2", "2x4x16", Some(0x030e_0005)),
    ("dg2-g12", "dg2", "4x4x16", Some(0x030e_4000)),
    ("pvc", "pvc", "1x64x8", None),
    ("pvc-vg", "pvc", "1x64x8", Some(0x030f_4007)),
    ("mtl-u", "mtl", "1x4x16", None),
    ("mtl-h", "mtl", "2x4x16", Some(0x0311_c004)),
    ("arl-h", "arl", "2x4x16", None),
    ("bmg-g21", "bmg", "5x4x8", None),
    ("bmg-g31", "bmg", "8x4x8", Some(0x0500_8000)),
    ("lnl-m", "lnl", "2x4x8", None),
    ("ptl-h", "ptl", "2x6x8", None),
    ("ptl-u", "ptl", "1x4x8", Some(0x0780_4000)),
];

/// Settings that are the same for every GPU.
const COMMON: [(&str, &str); 5] = [
    ("NEOReadDebugKeys", "1"),
    ("SetCommandStreamReceiver", "5"),
    ("UseAubStream", "0"),
    ("UseExternalAllocatorForSshAndDsh", "0"),
    ("NEO_CACHE_PERSISTENT", "0"),
];

/// A device that the driver is to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    /// The GPU's name for ocloc.
    pub(crate) name: &'static str,
    /// Variables for the process that loads the driver.
    pub environment: Vec<(&'static str, String)>,
    /// PCI ids of the GPU, as far as they are known: the driver names a simulated device after one.
    pub(crate) pci_ids: Vec<u16>,
}

impl Simulation {
    /// The variables as a process takes them.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        self.environment.iter().map(|(name, value)| ((*name).into(), value.into())).collect()
    }

    /// Finds the GPU that a spelling means, in any spelling of a target.
    ///
    /// # Errors
    /// `Usage` for what is no target, several, or no GPU that can be simulated.
    pub fn find(spelling: &str, table: &TargetTable) -> Result<Simulation> {
        let short = |name: &str| name.strip_prefix("intel_gpu_").unwrap_or(name).replace('_', "-");
        let gpu = |name: &str| GPUS.iter().find(|(known, ..)| *known == short(name));
        let found = match gpu(spelling) {
            Some(_) => table.resolve(spelling).ok(),
            None => Some(table.resolve(spelling)?),
        };
        let targets = found.map(|found| found.targets).unwrap_or_default();
        let known = gpu(spelling)
            .or_else(|| match targets.as_slice() {
                [one] => one.aliases.iter().map(String::as_str).chain(one.ocloc_device()).find_map(gpu),
                _ => None,
            })
            .ok_or_else(|| {
                let names: Vec<&str> = GPUS.iter().map(|(name, ..)| *name).collect();
                let error =
                    Error::new(ErrorKind::Usage, format!("`{PREFIX}{spelling}` is no GPU that can be simulated"));
                error.with_remedy(format!("these can: {}", names.join(", ")))
            })?;
        let (name, family, topology, version) = *known;
        let common = COMMON.map(|(name, value)| (name, value.to_owned()));
        let mut environment = common.to_vec();
        environment.push(("ProductFamilyOverride", family.to_owned()));
        environment.push(("HardwareInfoOverride", topology.to_owned()));
        environment.extend(version.map(|version| ("OverrideHwIpVersion", version.to_string())));
        let pci_ids = targets.iter().flat_map(|target| target.pci_device_ids.iter().copied()).collect();
        Ok(Simulation { name, environment, pci_ids })
    }

    /// Whether a device may be the simulated one: the driver names it `Intel(R) Graphics [0xe202]`, after its PCI id.
    pub(crate) fn is_named(&self, device: &str) -> bool {
        let id = device.rsplit_once("[0x").and_then(|(_, rest)| u16::from_str_radix(rest.strip_suffix(']')?, 16).ok());
        // Some GPUs are simulated with the id 0.
        id.is_none_or(|id| id == 0 || self.pci_ids.is_empty() || self.pci_ids.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::table;

    #[test]
    fn spellings_of_a_target_lead_to_its_settings() {
        let of = |spelling: &str| Simulation::find(spelling, table());
        let g31 = of("bmg-g31").unwrap();
        assert!(g31.environment.contains(&("OverrideHwIpVersion", "83918848".to_owned())));
        assert!(g31.environment.contains(&("ProductFamilyOverride", "bmg".to_owned())));
        for spelling in ["acm-g10", "dg2-g10", "intel_gpu_acm_g10"] {
            assert_eq!(of(spelling).unwrap().name, "dg2-g10", "{spelling}");
        }
        for spelling in ["bmg-g21", "intel_gpu_bmg_g21", "20.1.4"] {
            assert_eq!(of(spelling).unwrap().name, "bmg-g21", "{spelling}");
        }
        assert_eq!(of("skl").unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(of("spir64_x86_64").unwrap_err().kind(), ErrorKind::Usage);
        assert!(of("bmg-g21").unwrap().is_named("Intel(R) Graphics [0xe202]"));
        assert!(!of("bmg-g21").unwrap().is_named("Intel(R) Graphics [0x0bd5]"));
        assert!(of("lnl-m").unwrap().is_named("Intel(R) Graphics [0x0000]"));
    }

    #[test]
    fn every_gpu_is_a_target() {
        for (name, ..) in GPUS {
            assert!(!Simulation::find(name, table()).unwrap().pci_ids.is_empty(), "{name}");
        }
    }
}
