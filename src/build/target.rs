//! For what is compiled, and by which compiler?

use crate::device::cpu::CpuArch;
use crate::device::target::Target as Facts;
use crate::error::{Error, ErrorKind, Result};

/// `DeviceTargetSpec` of native CPU images.
pub const CPU_SPEC: &str = "spir64_x86_64";
/// `DeviceTargetSpec` of native images of Intel GPUs.
pub const GPU_SPEC: &str = "spir64_gen";

/// One thing to compile for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name that the user reads: `spir64_x86_64`, `intel_gpu_pvc`, or that of a device.
    pub name: String,
    /// The `DeviceTargetSpec` of its images.
    pub spec: &'static str,
    /// The name in the property `compile_target`, by which the runtime tells devices of one spec apart; none where the
    /// spec is enough.
    pub compile_target: Option<String>,
    /// Compiler that makes its code.
    pub backend: Backend,
}

/// A compiler of native code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Intel's OpenCL CPU driver, for an instruction set.
    Cpu(CpuArch),
    /// Intel's offline compiler for GPUs.
    Ocloc {
        /// The name that `-device` takes.
        device: String,
    },
    /// The driver of a live device.
    Live {
        /// Place of the device in the inventory.
        place: u32,
        /// Name of the device, for the user and for the cache.
        name: String,
        /// The instruction set, of a CPU of which one is asked for.
        march: Option<CpuArch>,
    },
}

impl Target {
    /// Native code for CPUs.
    pub fn cpu(march: CpuArch) -> Target {
        Target { name: CPU_SPEC.to_owned(), spec: CPU_SPEC, compile_target: None, backend: Backend::Cpu(march) }
    }

    /// A target of the device configuration; `march` is the instruction set of CPUs.
    ///
    /// # Errors
    /// `Usage` where no compiler here makes code for it.
    pub fn from_facts(facts: &Facts, march: CpuArch) -> Result<Target> {
        if facts.name == CPU_SPEC || facts.name.starts_with("intel_cpu_") && !facts.march.is_empty() {
            return Ok(Target::cpu(march));
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
                    "targets are `{CPU_SPEC}` (CPU devices, through Intel's OpenCL CPU driver) and Intel GPUs (through \
                     ocloc); `sycl-bundle targets` lists them"
                );
                Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy))
            }
        }
    }

    /// The instruction set that native code of this target has, where it is for CPUs and one is asked for.
    pub fn march(&self) -> Option<CpuArch> {
        match self.backend {
            Backend::Cpu(march) => Some(march),
            Backend::Ocloc { .. } | Backend::Live { .. } => None,
        }
    }

    /// Returns the text that tells targets of one spec apart, for the user and for the cache.
    pub fn architecture(&self) -> &str {
        match &self.backend {
            Backend::Cpu(march) => march.name(),
            Backend::Ocloc { device } => device,
            Backend::Live { name, .. } => name,
        }
    }

    /// Whether a native image is for this target.
    pub fn is_of(&self, spec: &str, compile_target: Option<&str>) -> bool {
        self.spec == spec && self.compile_target.as_deref() == compile_target
    }
}
