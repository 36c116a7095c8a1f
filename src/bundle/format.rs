//! Which format of device code are these bytes?

use super::offload_bundle;
use crate::bytes;
use crate::container::device_elf;
use crate::container::inflate;
use crate::container::kind::is_ptx;
use schemars::JsonSchema;
use serde::Serialize;

/// Format of an image's payload, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A SPIR-V module.
    #[serde(rename = "spirv")]
    SpirV,
    /// LLVM IR bitcode.
    LlvmBitcode,
    /// An ELF file of the OpenCL CPU driver or another native ELF.
    Elf,
    /// An Intel GPU binary in Level Zero's ELF form.
    Zebin,
    /// An Intel GPU binary of patch tokens (`INTC`).
    #[serde(rename = "patchtokens")]
    PatchTokens,
    /// An archive of binaries for several Intel GPUs, as `ocloc` writes it.
    Ar,
    /// NVIDIA assembly text.
    Ptx,
    /// An NVIDIA GPU binary.
    Cubin,
    /// NVIDIA's container of cubins and PTX for several GPUs.
    Fatbin,
    /// An AMD GPU code object, or a clang offload bundle of such.
    Hsaco,
    /// Code of PoCL, an OpenCL driver for CPUs that takes no other's and whose code no other takes.
    Pocl,
    /// A stand-in for the payload of DPC++'s native CPU target: pointers to code of the host program itself.
    NativeCpu,
    /// Unknown format.
    Unknown,
}

/// `e_type` of zebin objects, executables and libraries.
const ET_ZEBIN: std::ops::RangeInclusive<u16> = 0xff11..=0xff13;
/// `e_type` of OpenCL sources, objects, libraries, executables and debug data (`ocl_elf.h` of compute-runtime).
const ET_OPENCL: std::ops::RangeInclusive<u16> = 0xff01..=0xff05;
/// The types of these that were compiled and not linked: objects and libraries
/// (`CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT`, `_LIBRARY`), which hold intermediate code whatever the device. Intel's
/// CPU driver names no machine in them.
pub(super) const ET_OPENCL_OBJECTS: std::ops::RangeInclusive<u16> = 0xff02..=0xff03;
/// Magic of NVIDIA's fat binaries.
const FATBIN: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// Magic of PoCL's binaries (`POCLCC_STRING_ID` of `lib/CL/pocl_binary.c`).
const POCL: &[u8] = b"poclbin\0";

impl Format {
    /// Detects the format by content, in the runtime's order (SPIR-V, bitcode, `INTC`, ELF kinds, archive).
    pub fn sniff(payload: &[u8]) -> Format {
        let head = |magic: &[u8]| payload.starts_with(magic);
        if head(&[0x03, 0x02, 0x23, 0x07]) || head(&[0x07, 0x23, 0x02, 0x03]) {
            Format::SpirV
        } else if head(b"BC\xc0\xde") || head(&[0xde, 0xc0, 0x17, 0x0b]) {
            Format::LlvmBitcode
        } else if head(b"INTC") || head(b"CTNI") {
            Format::PatchTokens
        } else if head(b"\x7fELF") {
            let (kind, machine) = (bytes::u16_at(payload, 16), bytes::u16_at(payload, 18));
            match (kind, machine) {
                (_, Some(device_elf::EM_INTELGT)) => Format::Zebin,
                (_, Some(device_elf::EM_CUDA)) => Format::Cubin,
                (_, Some(device_elf::EM_AMDGPU)) => Format::Hsaco,
                (Some(kind), _) if ET_ZEBIN.contains(&kind) => Format::Zebin,
                (Some(kind), _) if ET_OPENCL_OBJECTS.contains(&kind) => Format::Elf,
                // Intel's CPU driver uses the ELF type of the GPU drivers' container, but names the machine.
                (Some(kind), Some(0)) if ET_OPENCL.contains(&kind) => Format::PatchTokens,
                _ => Format::Elf,
            }
        } else if head(b"!<arch>\n") {
            Format::Ar
        } else if head(&FATBIN) {
            Format::Fatbin
        } else if head(offload_bundle::MAGIC) || head(b"CCOB") {
            // In an image, only AMD's code objects are in bundles.
            Format::Hsaco
        } else if head(POCL) {
            Format::Pocl
        } else if is_ptx(payload) {
            Format::Ptx
        } else {
            Format::Unknown
        }
    }

    /// Returns the name for JSON, tables and selectors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::SpirV => "spirv",
            Format::LlvmBitcode => "llvm-bitcode",
            Format::Elf => "elf",
            Format::Zebin => "zebin",
            Format::PatchTokens => "patchtokens",
            Format::Ar => "ar",
            Format::Ptx => "ptx",
            Format::Cubin => "cubin",
            Format::Fatbin => "fatbin",
            Format::Hsaco => "hsaco",
            Format::Pocl => "pocl",
            Format::NativeCpu => "native-cpu",
            Format::Unknown => "unknown",
        }
    }

    /// Returns the file name extension that `extract` uses, with the dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Format::SpirV => ".spv",
            Format::LlvmBitcode => ".bc",
            Format::Ptx => ".ptx",
            Format::Ar => ".ar",
            Format::Cubin => ".cubin",
            Format::Fatbin => ".fatbin",
            Format::Hsaco => ".hsaco",
            Format::Elf | Format::Zebin | Format::PatchTokens | Format::Pocl | Format::NativeCpu | Format::Unknown => {
                ".bin"
            }
        }
    }

    /// Returns the target of image structures with this format; empty where there are several.
    pub(crate) fn usual_target(self) -> &'static str {
        match self {
            Format::Elf | Format::Pocl => "spir64_x86_64",
            Format::Zebin | Format::PatchTokens | Format::Ar => "spir64_gen",
            Format::Ptx | Format::Cubin | Format::Fatbin => "nvptx64",
            Format::Hsaco => "amdgcn",
            Format::NativeCpu => "native_cpu",
            Format::SpirV | Format::LlvmBitcode | Format::Unknown => "",
        }
    }

    /// Whether the payload is an intermediate representation that a device compiler still has to translate.
    pub(crate) fn is_intermediate(self) -> bool {
        matches!(self, Format::SpirV | Format::LlvmBitcode | Format::Ptx)
    }
}

/// Format that an image structure declares (`sycl_device_binary_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Declared {
    /// 0: not declared; the runtime detects it.
    None,
    /// 1: native.
    Native,
    /// 2: SPIR-V.
    SpirV,
    /// 3: LLVM bitcode.
    LlvmBitcode,
    /// 4: a zstd frame around a payload of format 0.
    CompressedNone,
    /// Any other value.
    Other(u8),
}

impl From<u8> for Declared {
    fn from(value: u8) -> Self {
        match value {
            0 => Declared::None,
            1 => Declared::Native,
            2 => Declared::SpirV,
            3 => Declared::LlvmBitcode,
            4 => Declared::CompressedNone,
            other => Declared::Other(other),
        }
    }
}

impl Declared {
    /// Returns the value in the structure.
    pub fn number(self) -> u8 {
        match self {
            Declared::None => 0,
            Declared::Native => 1,
            Declared::SpirV => 2,
            Declared::LlvmBitcode => 3,
            Declared::CompressedNone => 4,
            Declared::Other(value) => value,
        }
    }

    /// Returns the name for reports.
    pub(crate) fn name(self) -> String {
        match self {
            Declared::None => "none".to_owned(),
            Declared::Native => "native".to_owned(),
            Declared::SpirV => "spirv".to_owned(),
            Declared::LlvmBitcode => "llvm-bitcode".to_owned(),
            Declared::CompressedNone => "compressed".to_owned(),
            Declared::Other(value) => format!("unknown ({value})"),
        }
    }
}

/// Whether stored bytes are a zstd frame.
pub(crate) fn is_zstd(stored: &[u8]) -> bool {
    stored.starts_with(&inflate::ZSTD_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs_by_content() {
        assert_eq!(Format::sniff(&[3, 2, 0x23, 7, 0, 0]), Format::SpirV);
        assert_eq!(Format::sniff(b"BC\xc0\xde1234"), Format::LlvmBitcode);
        assert_eq!(Format::sniff(b"INTC1234"), Format::PatchTokens);
        assert_eq!(Format::sniff(b"!<arch>\npad_0"), Format::Ar);
        assert_eq!(Format::sniff(b"poclbin\0\x01"), Format::Pocl);
        assert_eq!(Format::sniff(b"//\n// Generated by LLVM NVPTX Back-End\n"), Format::Ptx);
        assert_eq!(Format::sniff(b""), Format::Unknown);
        let mut zebin = b"\x7fELF\x02\x01".to_vec();
        zebin.resize(16, 0);
        zebin.extend([0x12, 0xff, 205, 0]);
        assert_eq!(Format::sniff(&zebin), Format::Zebin);
        assert_eq!(Format::sniff(b"\x7fELF"), Format::Elf);
    }
}
