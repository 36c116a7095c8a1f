//! What does an Intel GPU binary in ELF form (zebin) hold?
//!
//! Written by IGC for `ocloc` and the drivers: `e_machine` 205, code in `.text.KERNEL`, its description in `.ze_info`,
//! and the device in `.note.intelgt.compat`. Note types are those of `zebin_elf.h` in intel/compute-runtime.

use super::{Kernel, Part, Read, intel_device, ze_info};
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::device_elf::{DeviceElf, EM_INTELGT};
use crate::error::{Error, Result};

/// `sh_type` of `.spv`.
const SHT_ZEBIN_SPIRV: u32 = 0xff00_0009;
const PRODUCT_FAMILY: u32 = 1;
const GFX_CORE: u32 = 2;
const ZEBIN_VERSION: u32 = 4;
const PRODUCT_CONFIG: u32 = 6;

pub(super) fn read(data: &[u8]) -> Result<Read> {
    let elf = DeviceElf::parse(data)?;
    let mut read = Read::from(Part::new(Format::Zebin, data.len()));
    let (mut family, mut core, mut config) = (None, None, None);
    for section in elf.sections.iter().filter(|section| section.name.starts_with(".note.intelgt")) {
        for note in DeviceElf::notes(section).into_iter().filter(|note| note.owner == b"IntelGT") {
            let number = bytes::u32_at(note.data, 0);
            match note.kind {
                PRODUCT_FAMILY => family = number,
                GFX_CORE => core = number.filter(|&core| core != 0),
                PRODUCT_CONFIG => config = number,
                ZEBIN_VERSION => {
                    let text = note.data.strip_suffix(&[0]).unwrap_or(note.data);
                    read.part.version = std::str::from_utf8(text).ok().map(str::to_owned);
                }
                _ => {}
            }
        }
    }
    // Before there were notes, the machine was a product family, or with bit 15 of the flags a core family.
    if family.is_none() && core.is_none() && elf.machine != EM_INTELGT {
        let machine = Some(u32::from(elf.machine));
        if elf.flags & 0x8000 == 0 { family = machine } else { core = machine }
    }
    let part = &mut read.part;
    part.spirv = elf.sections.iter().any(|section| section.kind == SHT_ZEBIN_SPIRV);
    let mut stated = Vec::new();
    if let Some(config) = config {
        stated.push(format!("device {}", intel_device::gmdid(config)));
        part.devices = intel_device::of_gmdid(config);
    }
    if let Some(family) = family {
        stated.push(format!("product family {family}"));
        if part.devices.is_empty() {
            part.devices = intel_device::of_family(family);
        }
    }
    if let Some(core) = core {
        stated.push(intel_device::core(core));
        if part.devices.is_empty() {
            part.devices = intel_device::of_core(core);
        }
    }
    part.stated = stated.join(", ");
    match elf.section(".ze_info") {
        Some(section) => {
            let described = std::str::from_utf8(section.data)
                .map_err(|error| {
                    Error::at(section.offset.saturating_add(error.valid_up_to() as u64), "it is not UTF-8")
                })
                .and_then(|text| ze_info::read(text).map_err(|error| shifted(error, section.offset)));
            match described {
                Ok(info) => {
                    part.version = info.version.or(part.version.take());
                    part.kernels = info.kernels;
                }
                Err(error) => read.problems.push(error.context("section .ze_info")),
            }
        }
        // A module without kernels has neither code nor a description.
        None if !elf.sections.iter().any(|section| section.name.starts_with(".text.")) => {}
        None => read.problems.push(Error::at(40, "there is no section .ze_info: a driver finds no kernel here")),
    }
    if read.part.kernels.is_empty() {
        let names = elf.sections.iter().filter_map(|section| section.name.strip_prefix(".text."));
        let names = names.filter(|name| *name != "Intel_Symbol_Table_Void_Program");
        read.part.kernels = names.map(|name| Kernel { name: name.to_owned(), ..Kernel::default() }).collect();
    }
    Ok(read)
}

#[cold]
fn shifted(error: Error, by: u64) -> Error {
    let offset = error.offset().unwrap_or(0).saturating_add(by);
    error.without_offset().with_offset(offset)
}
