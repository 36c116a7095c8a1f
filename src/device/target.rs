//! What is known of one target?
//!
//! What is not known is `None` or stands in [`Target::maybe_aspects`] and [`Target::open`]: whoever judges by a target
//! must answer "unknown" there, not "yes".

use super::matrix::Combination;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Whether a target has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
    /// The target has the aspect.
    Yes,
    /// The target lacks the aspect.
    No,
    /// Nobody has written down whether it has it, or it depends on driver and system.
    Unknown,
}

/// The kind of device behind a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
    /// Another accelerator.
    Accelerator,
}

impl DeviceType {
    /// The name in configurations, which is that of the aspect too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DeviceType::Cpu => "cpu",
            DeviceType::Gpu => "gpu",
            DeviceType::Accelerator => "accelerator",
        }
    }
}

/// The adapter through which the SYCL runtime reaches a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// OpenCL.
    #[serde(rename = "opencl")]
    OpenCl,
    /// Level Zero.
    LevelZero,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// Host code made of kernels.
    NativeCpu,
}

impl Backend {
    /// All, in the order of their names' first use here.
    pub(crate) const ALL: [Backend; 5] =
        [Backend::OpenCl, Backend::LevelZero, Backend::Cuda, Backend::Hip, Backend::NativeCpu];

    /// The name, as in `ONEAPI_DEVICE_SELECTOR`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::OpenCl => "opencl",
            Backend::LevelZero => "level_zero",
            Backend::Cuda => "cuda",
            Backend::Hip => "hip",
            Backend::NativeCpu => "native_cpu",
        }
    }
}

/// A tool's option: key `aot-toolchain-<tool>-<option>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolOption {
    /// The tool, e.g. `ocloc`.
    pub(crate) tool: String,
    /// The option, e.g. `device`.
    pub(crate) option: String,
    /// The value of the option.
    pub(crate) value: String,
}

/// A fact, or all of them, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The keys it speaks of; `all` for every one that no other source names.
    pub facts: String,
    /// Origin of the facts.
    pub(crate) text: String,
}

/// One target, or what several have in common; null where a fact is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Target {
    /// The canonical name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Groups that it belongs to, by the names of the families.
    pub families: Vec<String>,
    /// The kind of device.
    pub device_type: Option<DeviceType>,
    /// Adapters through which it is reached, the usual one first.
    pub backends: Vec<Backend>,
    /// IP versions that it stands for, its own first.
    pub ip_versions: Vec<IpVersion>,
    /// The runtime's number (`sycl::ext::oneapi::experimental::architecture`), hexadecimal.
    #[serde(serialize_with = "hexadecimal")]
    #[schemars(with = "Option<String>")]
    pub architecture_id: Option<u64>,
    /// PCI device ids, hexadecimal.
    #[serde(serialize_with = "hexadecimal_ids")]
    #[schemars(with = "Vec<String>")]
    pub pci_device_ids: Vec<u16>,
    /// Names under which it is sold (`Arc A770`).
    pub product_names: Vec<String>,
    /// Aspects that it has.
    pub aspects: Vec<String>,
    /// Aspects that it may have, by driver, backend or system, where the list is closed otherwise.
    pub maybe_aspects: Vec<String>,
    /// Aspects that it is known to lack, where the list is open otherwise.
    pub lacks_aspects: Vec<String>,
    /// Whether aspects that no list names are unknown rather than absent.
    pub may_support_other_aspects: bool,
    /// Sub-group sizes.
    pub sub_group_sizes: Option<Vec<u32>>,
    /// The most work-items in a work-group.
    pub max_work_group_size: Option<u64>,
    /// The most work-items in each dimension, x first.
    pub max_work_item_sizes: Option<[u64; 3]>,
    /// Bytes of local memory of a work-group.
    pub local_memory: Option<u64>,
    /// The most registers of a thread.
    pub max_registers: Option<u64>,
    /// The newest SPIR-V version taken.
    #[serde(serialize_with = "version")]
    #[schemars(with = "Option<String>")]
    pub spirv_version: Option<(u8, u8)>,
    /// Version of the driver of a live device, as it tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// OpenCL extensions that its driver has; others may be there.
    pub opencl_extensions: Option<Vec<String>>,
    /// SPIR-V extensions taken; others may be.
    pub spirv_extensions: Option<Vec<String>>,
    /// SPIR-V capabilities taken beyond those that every OpenCL device takes; others may be.
    pub spirv_capabilities: Option<Vec<String>>,
    /// SPIR-V capabilities that are refused.
    pub spirv_refused_capabilities: Vec<String>,
    /// Combinations that `joint_matrix` takes; empty where there are none.
    pub matrix: Option<Vec<Combination>>,
    /// Instruction sets of native CPU code, by opencl-aot's names.
    pub march: Vec<String>,
    /// The compiler that makes native code.
    pub aot_toolchain: Option<String>,
    /// Options for such compilers.
    pub aot_options: Vec<ToolOption>,
    /// Options for every compilation, as a driver takes them.
    pub default_options: Vec<String>,
    /// The origin of the facts, by the keys of a device configuration.
    #[serde(serialize_with = "sources")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub source: Vec<Source>,
    /// Facts that are not known, or not sure, and why.
    pub open: Vec<String>,
    /// Whether it is described in the keys of DPC++'s own grammar alone, which has none for adapters and SPIR-V: then
    /// aspects and sizes decide.
    #[serde(skip)]
    pub brief: bool,
    /// The file that defines it: a path, or the name of a built-in one.
    pub file: String,
}

/// Serialises a number as hexadecimal text of its whole width.
fn hexadecimal<S: Serializer>(number: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    number.map(|number| format!("{number:#018x}")).serialize(serializer)
}

/// Serialises numbers as hexadecimal texts.
fn hexadecimal_ids<S: Serializer>(ids: &[u16], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(|id| format!("{id:#06x}")))
}

/// Serialises a version as text.
fn version<S: Serializer>(version: &Option<(u8, u8)>, serializer: S) -> Result<S::Ok, S::Error> {
    version.map(|(major, minor)| format!("{major}.{minor}")).serialize(serializer)
}

/// Serialises sources as an object.
fn sources<S: Serializer>(sources: &[Source], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(sources.iter().map(|one| (&one.facts, &one.text)))
}

impl Target {
    /// Whether it compiles SPIR-V itself.
    pub(crate) fn compiles_online(&self) -> Has {
        if self.brief { Has::Yes } else { self.has("online_compiler") }
    }

    /// Whether its driver is known to have an OpenCL extension, or to lack it.
    pub(crate) fn has_extension(&self, name: &str) -> Option<bool> {
        Some(self.opencl_extensions.as_ref()?.iter().any(|own| own == name))
    }

    /// Whether it has an aspect, by SYCL name.
    pub fn has(&self, aspect: &str) -> Has {
        let among = |list: &[String]| list.iter().any(|name| name == aspect);
        if among(&self.aspects) {
            Has::Yes
        } else if among(&self.lacks_aspects) {
            Has::No
        } else if self.may_support_other_aspects || among(&self.maybe_aspects) {
            Has::Unknown
        } else {
            Has::No
        }
    }

    /// The value of a tool's option.
    pub(crate) fn aot_option(&self, tool: &str, option: &str) -> Option<&str> {
        let found = self.aot_options.iter().find(|own| own.tool == tool && own.option == option);
        found.map(|own| own.value.as_str())
    }

    /// The name that `ocloc -device` takes.
    pub fn ocloc_device(&self) -> Option<&str> {
        self.aot_option("ocloc", "device")
    }
}

/// Several targets under one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Family {
    /// The canonical name.
    pub name: String,
    /// The file that defines it.
    #[serde(skip)]
    pub(crate) file: String,
    /// Other names.
    pub(crate) aliases: Vec<String>,
    /// The names of its targets.
    pub members: Vec<String>,
    /// The name that `ocloc -device` takes for one binary that all of them run.
    pub(crate) ocloc_device: Option<String>,
    /// The origin of that name.
    #[serde(serialize_with = "sources")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub source: Vec<Source>,
    /// Facts that are not known, or not sure, and why.
    pub(crate) open: Vec<String>,
}

/// Names that aspects went by, and what they are called now (DPC++ `sycl/include/sycl/info/aspects.def`, its history).
pub(crate) const RENAMED: [(&str, &str); 7] = [
    ("ext_oneapi_ballot_group", "ext_oneapi_fragment"),
    ("ext_oneapi_opportunistic_group", "ext_oneapi_fragment"),
    ("ext_oneapi_fixed_size_group", "ext_oneapi_chunk"),
    ("ext_oneapi_tangle_group", "ext_oneapi_tangle"),
    ("ext_oneapi_interop_memory_import", "ext_oneapi_external_memory_import"),
    ("ext_oneapi_interop_semaphore_import", "ext_oneapi_external_semaphore_import"),
    ("usm_system_allocator", "usm_system_allocations"),
];

/// The name that an aspect goes by today; targets are described in these, images may carry older ones.
pub(crate) fn current(aspect: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == aspect).map_or(aspect, |(_, new)| new)
}

/// The IP version of an Intel GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct IpVersion {
    /// The architecture, 10 bits.
    pub(crate) architecture: u16,
    /// The release, 8 bits.
    pub(crate) release: u8,
    /// The revision, 6 bits.
    pub(crate) revision: u8,
}

impl IpVersion {
    /// Reads `12.55.8` or `12_55_8`; none for anything else, and for numbers that do not fit.
    pub(crate) fn parse(text: &str) -> Option<IpVersion> {
        let mut parts = text.split(['.', '_']);
        let mut next = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (architecture, release, revision) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
        let fits = architecture < 1 << 10 && revision < 1 << 6;
        (parts.next().is_none() && fits).then_some(IpVersion { architecture, release, revision })
    }

    /// The version that a GMDID stands for.
    pub(crate) fn of_gmdid(gmdid: u32) -> IpVersion {
        let [low, _, _, _] = gmdid.to_le_bytes();
        let [release, _, _, _] = (gmdid >> 14).to_le_bytes();
        IpVersion { architecture: u16::try_from(gmdid >> 22).unwrap_or(u16::MAX), release, revision: low & 0x3f }
    }

    /// The GMDID.
    pub(crate) fn gmdid(self) -> u32 {
        u32::from(self.architecture) << 22 | u32::from(self.release) << 14 | u32::from(self.revision)
    }
}

impl Serialize for IpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.architecture, self.release, self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_neither_yes_nor_no() {
        let mut target = Target {
            aspects: vec!["fp16".into()],
            maybe_aspects: vec!["image".into()],
            lacks_aspects: vec!["cpu".into()],
            ..Target::default()
        };
        let has = |target: &Target| ["fp16", "image", "cpu", "fp64"].map(|aspect| target.has(aspect));
        assert_eq!(has(&target), [Has::Yes, Has::Unknown, Has::No, Has::No]);
        target.may_support_other_aspects = true;
        assert_eq!(has(&target), [Has::Yes, Has::Unknown, Has::No, Has::Unknown]);
    }
    #[test]
    fn text_and_number_agree() {
        // Pairs from intel/compute-runtime third_party/aot_config_headers/platforms.h.
        for (text, gmdid) in [("12.55.8", 0x030d_c008), ("12.0.0", 0x0300_0000), ("35.11.0", 0x08c2_c000)] {
            let version = IpVersion::parse(text).unwrap();
            assert_eq!(
                (version.gmdid(), IpVersion::of_gmdid(gmdid), version.to_string()),
                (gmdid, version, text.into())
            );
        }
        assert_eq!(IpVersion::parse("12_55_8"), IpVersion::parse("12.55.8"));
        for bad in ["", "12", "12.55", "12.55.8.1", "12.55.64", "1024.0.0", "12.256.0", "12.-1.0", "+1.2.3", "a.b.c"] {
            assert_eq!(IpVersion::parse(bad), None, "{bad}");
        }
    }
}
