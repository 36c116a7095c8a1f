//! Which AMD GPU code object do AMD's runtimes refuse?
//!
//! The rules are those of the loader of ROCm's HSA runtime (`amd_hsa_code.cpp`, `executable.cpp` in ROCm/rocm-systems), of
//! HIP, which looks up the descriptor of every kernel once the code is loaded and drops all where one lacks
//! (`devprogram.cpp`, `rockernel.cpp` there), and of the library by which it reads metadata (`comgr-metadata.cpp` in
//! ROCm/llvm-project). None was tried: nobody here has such a GPU.

use crate::bundle::msgpack::Value;
use crate::container::device_elf::{DeviceElf, Note, SECTIONS_RATIO, Section, Segment, Symbol};
use crate::error::{Error, Result};
use crate::limits;
use std::collections::HashSet;

/// `EI_OSABI` of code for HSA; 65 and 66 are for graphics.
const ELFOSABI_AMDGPU_HSA: u8 = 64;
/// Values of `EI_ABIVERSION` that loaders take: versions 3 to 6 of the code object.
const ABI_VERSIONS: std::ops::RangeInclusive<u8> = 1..=4;
/// The major version of the metadata, `amdhsa.version`.
const METADATA_VERSION: u64 = 1;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const SHT_NOTE: u32 = 7;
const NT_AMDGPU_METADATA: u32 = 32;
/// Type of symbols of data, which descriptors are.
const STT_OBJECT: u8 = 1;

/// Checks the header and the segments.
///
/// # Errors
/// `Input` for the first thing for which loaders refuse the code, with its offset.
pub(super) fn form(elf: &DeviceElf<'_>, segments: &[Segment<'_>]) -> Result<()> {
    if elf.os_abi != ELFOSABI_AMDGPU_HSA {
        return Err(Error::at(7, format!("its OS ABI is {}, and runtimes take {ELFOSABI_AMDGPU_HSA}", elf.os_abi)));
    }
    if !ABI_VERSIONS.contains(&elf.abi_version) {
        return Err(Error::at(8, format!("its ABI version is {}, and runtimes take 1 to 4", elf.abi_version)));
    }
    if !segments.iter().any(|segment| segment.kind == PT_LOAD) {
        return Err(Error::at(56, "it has no segment to load: it was compiled and not linked"));
    }
    Ok(())
}

/// Returns the notes of metadata: those of segments, and those of sections only where no segment has one.
///
/// # Errors
/// `Input` where notes pass the end, or segments come to many times the size of the file: of such code nothing is loaded.
pub(super) fn metadata<'a>(elf: &DeviceElf<'a>, segments: &[Segment<'a>], size: usize) -> Result<Vec<Note<'a>>> {
    let mut room = size.saturating_mul(SECTIONS_RATIO);
    let mut found = Vec::new();
    for segment in segments.iter().filter(|segment| segment.kind == PT_NOTE) {
        let at = segment.offset;
        room = room.checked_sub(segment.data.len()).ok_or_else(|| Error::at(at, "its notes overlap"))?;
        if !matches!(segment.align, 0 | 1 | 4) {
            return Err(Error::at(at, format!("its notes are aligned to {} bytes", segment.align)));
        }
        let (size, data) = (segment.data.len() as u64, segment.data);
        let (link, info, flags, entry) = (0, 0, 0, 0);
        notes(&Section { name: "", kind: SHT_NOTE, offset: at, size, data, link, info, flags, entry }, &mut found)?;
    }
    if found.is_empty() {
        for section in elf.sections.iter().filter(|section| section.kind == SHT_NOTE) {
            notes(section, &mut found)?;
        }
    }
    // Two segments may have one note.
    let mut seen = HashSet::new();
    found.retain(|note| seen.insert(note.offset));
    Ok(found)
}

fn notes<'a>(section: &Section<'a>, found: &mut Vec<Note<'a>>) -> Result<()> {
    let mut read = section.offset;
    for note in DeviceElf::notes(section) {
        read = note.end();
        if note.owner == b"AMDGPU" && note.kind == NT_AMDGPU_METADATA {
            if found.len() == limits::MAX_METADATA_NOTES {
                return Err(Error::at(note.offset, format!("more than {} notes of metadata", found.len())));
            }
            found.push(note);
        }
    }
    if section.offset.checked_add(section.data.len() as u64) == Some(read) {
        return Ok(());
    }
    Err(Error::at(read, "notes pass the end of their section or segment, and runtimes read none of them"))
}

/// Checks the version of metadata.
///
/// # Errors
/// `Input` where it has none, or one that runtimes do not know.
pub(super) fn version(metadata: &Value<'_>) -> Result<()> {
    match metadata.items("amdhsa.version") {
        [Value::Number(METADATA_VERSION), Value::Number(_), ..] => Ok(()),
        _ => Err(Error::at(0, "`amdhsa.version` is not 1.x, the version that runtimes know")),
    }
}

/// Numbers that the metadata of every kernel has.
const NUMBERS: [&str; 8] = [
    ".kernarg_segment_size",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
    ".kernarg_segment_align",
    ".wavefront_size",
    ".sgpr_count",
    ".vgpr_count",
    ".max_flat_workgroup_size",
];
/// Kinds of arguments, beside hidden ones.
const KINDS: [&str; 7] = ["by_value", "global_buffer", "dynamic_shared_pointer", "sampler", "image", "pipe", "queue"];

/// Checks that the metadata says of every kernel and its arguments what it has to: LLVM's compiler and assembler write no other
/// (`AMDGPUMetadataVerifier.cpp`), and HIP drops all kernels where one has no name.
///
/// # Errors
/// `Input` for the first that it does not.
pub(super) fn kernels(metadata: &Value<'_>) -> Result<()> {
    for kernel in metadata.items("amdhsa.kernels") {
        let name = kernel.text(".name").unwrap_or_default();
        let wrong = |what: &str| Error::at(0, format!("kernel `{name}` has no `{what}`"));
        for key in [".name", ".symbol"] {
            kernel.text(key).ok_or_else(|| wrong(key))?;
        }
        for key in NUMBERS {
            kernel.number(key).ok_or_else(|| wrong(key))?;
        }
        for argument in kernel.items(".args") {
            for key in [".size", ".offset"] {
                argument.number(key).ok_or_else(|| wrong(&format!("{key} of an argument")))?;
            }
            let kind = argument.text(".value_kind").filter(|kind| KINDS.contains(kind) || kind.starts_with("hidden_"));
            kind.ok_or_else(|| wrong(".value_kind of an argument"))?;
        }
    }
    Ok(())
}

/// Checks that every kernel of the metadata has a descriptor.
///
/// # Errors
/// `Input` for the first that has none.
pub(super) fn descriptors<'v>(symbols: &[Symbol<'_>], kernels: impl Iterator<Item = &'v Value<'v>>) -> Result<()> {
    let is_descriptor = |info: u8, section: u16| info & 15 == STT_OBJECT && info >> 4 != 0 && section != 0;
    let found = symbols.iter().filter(|symbol| is_descriptor(symbol.info, symbol.section));
    let found: HashSet<&str> = found.map(|symbol| symbol.name).collect();
    for kernel in kernels {
        let symbol = kernel.text(".symbol").unwrap_or_default();
        if !found.contains(symbol) {
            let name = kernel.text(".name").unwrap_or_default();
            return Err(Error::at(40, format!("kernel `{name}` has no descriptor `{symbol}` among the symbols")));
        }
    }
    Ok(())
}
