//! For what is compiled, and by which compiler?

use crate::device::cpu::CpuArch;
use crate::device::target::Target as Facts;
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::ffi::OsString;

/// `DeviceTargetSpec` of native CPU images.
pub(crate) const CPU_SPEC: &str = "spir64_x86_64";
/// `DeviceTargetSpec` of native images of Intel GPUs.
pub(crate) const GPU_SPEC: &str = "spir64_gen";

/// `DeviceTargetSpec` of images of NVIDIA GPUs.
pub(crate) const NVIDIA_SPEC: &str = "nvptx64";
/// Option of ocloc for code that both of Intel's drivers take, on GPUs for which newer versions make other code by default.
pub(crate) const BINDFUL: &str = "-stateful_address_mode bindful";
/// Option of ocloc for code of the form that drivers since 26.18 take, where older versions make patch tokens by default.
pub(crate) const ZEBIN: &str = "--format zebin";
/// The word for PTX among the architectures: that of the newest of them goes with their code, for GPUs to come.
pub(crate) const PTX: &str = "ptx";
/// Prefix of the names of NVIDIA GPUs in the device configuration.
const NVIDIA_PREFIX: &str = "nvidia_gpu_";

/// One thing to compile for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The name that the user reads: `spir64_x86_64`, `intel_gpu_pvc`, or that of a device.
    pub name: String,
    /// The `DeviceTargetSpec` of its images.
    pub(crate) spec: &'static str,
    /// The name in the property `compile_target`, by which the runtime tells devices of one spec apart; none where the
    /// spec is enough.
    pub(crate) compile_target: Option<String>,
    /// Compiler that makes its code.
    pub(crate) backend: Backend,
}

/// A compiler of native code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Backend {
    /// Intel's OpenCL CPU driver, for an instruction set.
    Cpu(CpuArch),
    /// Intel's offline compiler for GPUs.
    Ocloc {
        /// The name that `-device` takes.
        device: String,
    },
    /// LLVM and CUDA's assembler, for NVIDIA GPUs.
    Nvidia {
        /// The architectures that one image is for (`sm_90`), and `ptx` where code for newer ones goes with it.
        architectures: Vec<String>,
    },
    /// The driver of a live device.
    Live {
        /// Place of the device in the inventory.
        place: u32,
        /// Name of the device, for the user and for the cache.
        name: String,
        /// Variables that make the driver simulate the device; empty for one that is there.
        environment: Vec<(OsString, OsString)>,
        /// The instruction set, of a CPU of which one is asked for.
        march: Option<CpuArch>,
    },
}

/// Whether newer GPUs take PTX that is made for an architecture: for any but those with a letter behind the number (PTX ISA, `.target`).
pub(crate) fn is_for_newer(architecture: &str) -> bool {
    architecture.ends_with(|last: char| last.is_ascii_digit())
}

impl Target {
    /// Native code for CPUs.
    pub(crate) fn cpu(march: CpuArch) -> Target {
        Target { name: CPU_SPEC.to_owned(), spec: CPU_SPEC, compile_target: None, backend: Backend::Cpu(march) }
    }

    /// A target of the device configuration; `march` is the instruction set of CPUs.
    ///
    /// # Errors
    /// `Usage` where no compiler here makes code for it.
    pub(crate) fn from_facts(facts: &Facts, march: CpuArch) -> Result<Target> {
        if facts.name == CPU_SPEC || facts.name.starts_with("intel_cpu_") && !facts.march.is_empty() {
            return Ok(Target::cpu(march));
        }
        if let Some(architecture) = facts.name.strip_prefix(NVIDIA_PREFIX).filter(|rest| rest.starts_with("sm_")) {
            return Ok(Target {
                name: facts.name.clone(),
                spec: NVIDIA_SPEC,
                compile_target: None,
                backend: Backend::Nvidia { architectures: vec![architecture.to_owned()] },
            });
        }
        match facts.ocloc_device() {
            Some(device) => Ok(Target {
                name: facts.name.clone(),
                spec: GPU_SPEC,
                compile_target: Some(facts.name.clone()),
                backend: Backend::Ocloc { device: device.to_owned() },
            }),
            None => {
                let message = format!("`{}` is no target that can be compiled for", facts.name);
                let remedy = format!(
                    "targets are `{CPU_SPEC}` (CPU devices, through Intel's OpenCL CPU driver), Intel GPUs (through \
                     ocloc) and NVIDIA GPUs (through LLVM and CUDA's ptxas); `sycl-bundle targets` lists them"
                );
                Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy))
            }
        }
    }

    /// The instruction set that native code of this target has, where it is for CPUs and one is asked for.
    pub(crate) fn march(&self) -> Option<CpuArch> {
        match self.backend {
            Backend::Cpu(march) => Some(march),
            Backend::Ocloc { .. } | Backend::Nvidia { .. } | Backend::Live { .. } => None,
        }
    }

    /// Returns the text that tells targets of one spec apart, for the user and for the cache.
    pub(crate) fn architecture(&self) -> Cow<'_, str> {
        match &self.backend {
            Backend::Cpu(march) => march.name().into(),
            Backend::Ocloc { device } => device.into(),
            Backend::Nvidia { architectures } => architectures.join(",").into(),
            Backend::Live { name, .. } => name.into(),
        }
    }

    /// Whether it is for NVIDIA GPUs.
    pub(crate) fn is_nvidia(&self) -> bool {
        matches!(self.backend, Backend::Nvidia { .. })
    }

    /// Asks for PTX beside the code of NVIDIA GPUs. Whether it is for those, and for one whose PTX newer GPUs take.
    pub(crate) fn add_ptx(&mut self) -> bool {
        let Backend::Nvidia { architectures } = &mut self.backend else { return false };
        if !architectures.iter().any(|architecture| is_for_newer(architecture)) {
            return false;
        }
        architectures.push(PTX.to_owned());
        true
    }

    /// Takes in another target, where one image is for both: architectures of NVIDIA GPUs, which the runtime does not tell
    /// apart. Whether it did.
    pub(crate) fn merge(&mut self, other: &Target) -> bool {
        let (Backend::Nvidia { architectures }, Backend::Nvidia { architectures: others }) =
            (&mut self.backend, &other.backend)
        else {
            return false;
        };
        for architecture in others.iter().filter(|one| !architectures.contains(one)).collect::<Vec<_>>() {
            architectures.push(architecture.clone());
        }
        self.name = format!("{},{}", self.name, other.name);
        true
    }

    /// Whether a native image is for this target.
    pub(crate) fn is_of(&self, spec: &str, compile_target: Option<&str>) -> bool {
        self.spec == spec && self.compile_target.as_deref() == compile_target
    }
}
