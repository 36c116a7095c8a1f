//! On which Intel GPUs does an image run as it is, and on which is it compiled first?
//!
//! A driver takes native code for its GPU and, by rules of families, that for some others. What it cannot take it compiles from
//! the SPIR-V that stands inside: `generic_ir` of an archive (`device_binary_format_ar.cpp` in intel/compute-runtime), section
//! `.spv` of a zebin. Code of two GPUs of one family is not the same to it: each entry here was seen to be taken by driver
//! 26.27, OpenCL and Level Zero, and every other pair of 17 GPUs to be refused (-42, 0x70000004).

use super::{Native, intel_device};
use crate::bundle::format::Format;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Way in which a GPU runs the code of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// As it is.
    Native,
    /// From the SPIR-V inside, compiled when a program first needs it.
    Jit,
    /// Not at all: the driver refuses it.
    None,
}

impl Coverage {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Coverage::Native => "native",
            Coverage::Jit => "jit",
            Coverage::None => "none",
        }
    }
}

/// GPUs that take another's code, beside their own.
const TAKES: [(&str, &str); 6] = [
    ("intel_gpu_acm_g11", "intel_gpu_acm_g10"),
    ("intel_gpu_acm_g12", "intel_gpu_acm_g10"),
    ("intel_gpu_mtl_h", "intel_gpu_mtl_u"),
    ("intel_gpu_bmg_g31", "intel_gpu_bmg_g21"),
    ("intel_gpu_lnl_m", "intel_gpu_bmg_g21"),
    ("intel_gpu_ptl_u", "intel_gpu_ptl_h"),
];

/// Whether a driver of one GPU takes native code for another, both by the names of the device configuration.
fn takes(gpu: &str, code_for: &str) -> bool {
    gpu == code_for || TAKES.contains(&(gpu, code_for))
}

/// The GPU of which a GPU takes the code beside its own, by the names of the device configuration.
pub fn also_takes(gpu: &str) -> Option<&'static str> {
    TAKES.iter().find(|(own, _)| *own == gpu).map(|(_, other)| *other)
}

impl Native {
    /// Returns how an Intel GPU runs the code, by the GPU's name in the device configuration. None for other devices, for code that is
    /// not Intel's GPUs', and where code of which the device is not known might be for this one.
    pub fn coverage(&self, gpu: &str) -> Option<Coverage> {
        let intel = |part: &&super::Part| matches!(part.format, Format::Zebin | Format::PatchTokens);
        if !intel_device::is_known(gpu) || !self.parts.iter().any(|part| intel(&part)) {
            return None;
        }
        let mut code = self.parts.iter().filter(intel);
        if code.clone().any(|part| part.devices.iter().any(|device| takes(gpu, device))) {
            return Some(Coverage::Native);
        }
        if self.parts.iter().any(|part| part.format == Format::SpirV || part.spirv) {
            return Some(Coverage::Jit);
        }
        // Code that could not be read may have been for this device.
        let whole = self.problems.is_empty() && code.all(|part| !part.devices.is_empty());
        whole.then_some(Coverage::None)
    }

    /// Returns how each known Intel GPU runs the code, by its name; those that run nothing of it are left out.
    pub fn coverage_by_gpu(&self) -> BTreeMap<String, Coverage> {
        let known = intel_device::targets_known();
        let covered = known.filter_map(|gpu| self.coverage(&gpu).map(|coverage| (gpu, coverage)));
        covered.filter(|(_, coverage)| *coverage != Coverage::None).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    fn part(format: Format, device: &str, spirv: bool) -> Part {
        let devices = (!device.is_empty()).then(|| format!("intel_gpu_{device}")).into_iter().collect();
        Part { devices, spirv, ..Part::new(format, 0) }
    }

    #[test]
    fn drivers_take_their_own_code_that_of_some_others_and_spirv() {
        let archive = |parts: Vec<Part>| Native { container: Some("ar"), parts, problems: Vec::new() };
        let bare = archive(vec![part(Format::Zebin, "pvc", false), part(Format::Zebin, "bmg_g21", false)]);
        let on = |native: &Native, gpu: &str| native.coverage(&format!("intel_gpu_{gpu}"));
        for (gpu, coverage) in [
            ("pvc", Coverage::Native),
            ("bmg_g21", Coverage::Native),
            ("bmg_g31", Coverage::Native),
            ("lnl_m", Coverage::Native),
            ("pvc_vg", Coverage::None),
            ("dg1", Coverage::None),
        ] {
            assert_eq!(on(&bare, gpu), Some(coverage), "{gpu}");
        }
        assert_eq!(bare.coverage("spir64_x86_64"), None);
        let generic = archive(vec![part(Format::Zebin, "pvc", false), part(Format::SpirV, "", false)]);
        assert_eq!((on(&generic, "pvc"), on(&generic, "dg1")), (Some(Coverage::Native), Some(Coverage::Jit)));
        let inside = archive(vec![part(Format::Zebin, "acm_g10", true)]);
        assert_eq!((on(&inside, "acm_g12"), on(&inside, "mtl_u")), (Some(Coverage::Native), Some(Coverage::Jit)));
        assert_eq!(on(&archive(vec![part(Format::Zebin, "", false)]), "pvc"), None);
        assert_eq!(on(&archive(vec![part(Format::Cubin, "", false)]), "pvc"), None);
        let listed = bare.coverage_by_gpu();
        assert_eq!(listed.len(), 4, "{listed:?}");
        assert_eq!(listed["intel_gpu_lnl_m"], Coverage::Native);
    }
}
