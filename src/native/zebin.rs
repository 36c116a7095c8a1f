//! What does an Intel GPU binary in ELF form (zebin) hold?
//!
//! Written by IGC for `ocloc` and the drivers: `e_machine` 205, code in `.text.KERNEL`, its description in `.ze_info`,
//! and the device in `.note.intelgt.compat`. Note types are those of `zebin_elf.h` in intel/compute-runtime.

use super::driver::OldForm;
use super::{Items, Kernel, Part, Read, Section, intel_device, yaml, ze_info};
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::device_elf::{DeviceElf, EM_INTELGT, Symbol};
use crate::error::{Error, Result};
use crate::limits;
use std::borrow::Cow;

/// `sh_type` of `.spv`.
const SHT_ZEBIN_SPIRV: u32 = 0xff00_0009;
const PRODUCT_FAMILY: u32 = 1;
const GFX_CORE: u32 = 2;
const ZEBIN_VERSION: u32 = 4;
const PRODUCT_CONFIG: u32 = 6;
/// Notes that say nothing of the device.
const NOTES: [(u32, &str); 4] = [
    (3, "target metadata"),
    (5, "vISA ABI version"),
    (7, "indirect access detection version"),
    (8, "indirect access buffer version"),
];
/// Sections that are told: SPIR-V, PISA, assembly, debug information.
const TOLD: [&str; 4] = [".spv", ".pisa", ".visaasm", ".debug"];

/// Reads a binary; where kernels are not asked for, their description is only checked.
pub(super) fn read(data: &[u8], kernels: bool, items: &Items<'_>) -> Result<Read> {
    let elf = DeviceElf::parse(data)?;
    let mut read = Read::from(Part::new(Format::Zebin, data.len()));
    let (mut family, mut core, mut config) = (None, None, None);
    for section in elf.sections.iter().filter(|section| section.name.starts_with(".note.intelgt")) {
        for note in DeviceElf::notes(section).filter(|note| note.owner == b"IntelGT") {
            let number = bytes::u32_at(note.data, 0);
            match note.kind {
                PRODUCT_FAMILY => family = number,
                GFX_CORE => core = number.filter(|&core| core != 0),
                PRODUCT_CONFIG => config = number,
                ZEBIN_VERSION => {
                    let text = note.data.strip_suffix(&[0]).unwrap_or(note.data);
                    read.part.version = std::str::from_utf8(text).ok().map(str::to_owned);
                }
                kind => {
                    let name = NOTES.iter().find(|(known, _)| *known == kind).map(|(_, name)| Cow::Borrowed(*name));
                    let name = name.unwrap_or_else(|| format!("note {kind}").into());
                    read.part.notes.extend(number.map(|number| (name, number)));
                }
            }
        }
    }
    // Before there were notes, the machine was a product family, or with bit 15 of the flags a core family.
    if family.is_none() && core.is_none() && elf.machine != EM_INTELGT {
        let machine = Some(u32::from(elf.machine));
        if elf.flags & 0x8000 == 0 { family = machine } else { core = machine }
    }
    let part = &mut read.part;
    let options = elf.section(".misc.buildOptions").map(|section| String::from_utf8_lossy(section.data));
    part.options = options.map(|text| text.trim_matches(['\0', ' ']).to_owned()).filter(|text| !text.is_empty());
    part.spirv = elf.sections.iter().any(|section| section.kind == SHT_ZEBIN_SPIRV);
    let told = elf.sections.iter().filter(|section| TOLD.iter().any(|told| section.name.starts_with(told)));
    part.sections = told
        .map_while(|section| {
            items.take(section.name)?;
            Some(Section { name: section.name.to_owned(), size: section.data.len() as u64 })
        })
        .collect();
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
            let text = std::str::from_utf8(section.data).map_err(|error| {
                Error::at(section.offset.saturating_add(error.valid_up_to() as u64), "it is not UTF-8")
            });
            let described = text.and_then(|text| {
                let described =
                    if kernels { ze_info::read(text, items).map(Some) } else { yaml::check(text).map(|()| None) };
                described.map_err(|error| shifted(error, section.offset))
            });
            match described {
                Ok(Some(info)) => {
                    part.version = info.version.or(part.version.take());
                    part.kernels = info.kernels;
                    part.old_form = info.bindless.then_some(OldForm::Bindless);
                }
                Ok(None) => {}
                Err(error) => read.problems.push(error.context("section .ze_info")),
            }
        }
        // A module without kernels has neither code nor a description.
        None if !elf.sections.iter().any(|section| section.name.starts_with(".text.")) => {}
        None => read.problems.push(Error::at(40, "there is no section .ze_info: a driver finds no kernel here")),
    }
    if kernels && read.part.kernels.is_empty() {
        let names = elf.sections.iter().filter_map(|section| section.name.strip_prefix(".text."));
        let names = names.filter(|name| *name != "Intel_Symbol_Table_Void_Program");
        let named = |name: &str| {
            items.take(name)?;
            Some(Kernel { name: name.to_owned(), ..Kernel::default() }.into())
        };
        read.part.kernels = names.map_while(named).collect();
    }
    if kernels {
        read.part.demands.undefined = elf.symbols().map(open_symbols).unwrap_or_default();
        read.part.demands.undefined.truncate(limits::MAX_UNDEFINED);
    }
    Ok(read)
}

/// Returns the IP version (GMDID) of the GPU that code is for, where the file tells it.
pub(crate) fn ip_version(data: &[u8]) -> Option<u32> {
    let elf = DeviceElf::parse(data).ok()?;
    let sections = elf.sections.iter().filter(|section| section.name.starts_with(".note.intelgt"));
    let mut notes = sections.flat_map(DeviceElf::notes).filter(|note| note.owner == b"IntelGT");
    bytes::u32_at(notes.find(|note| note.kind == PRODUCT_CONFIG)?.data, 0)
}

/// Returns the functions that code calls and does not have. What the driver fills in has names of the compiler's own.
pub(crate) fn undefined(data: &[u8]) -> Vec<String> {
    DeviceElf::parse(data).and_then(|elf| elf.symbols()).map(open_symbols).unwrap_or_default()
}

fn open_symbols(symbols: Vec<Symbol<'_>>) -> Vec<String> {
    let open = symbols.into_iter().filter(|symbol| symbol.section == 0 && !symbol.name.is_empty());
    open.map(|symbol| symbol.name).filter(|name| !name.starts_with("__INTEL_")).map(str::to_owned).collect()
}

#[cold]
fn shifted(error: Error, by: u64) -> Error {
    let offset = error.offset().unwrap_or(0).saturating_add(by);
    error.without_offset().with_offset(offset)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::native::Room;

    /// A zebin of named sections: type, contents.
    pub(crate) fn zebin(sections: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut names = vec![0];
        let mut contents: Vec<u8> = Vec::new();
        let mut headers: Vec<u8> = vec![0; 64];
        let mut header = |name: u32, kind: u32, offset: usize, size: usize| {
            let start = headers.len();
            headers.extend([name, kind].into_iter().flat_map(u32::to_le_bytes));
            headers.extend([0, 0, offset as u64 + 64, size as u64].into_iter().flat_map(u64::to_le_bytes));
            headers.resize(start + 64, 0);
        };
        for (name, kind, bytes) in sections {
            header(names.len() as u32, *kind, contents.len(), bytes.len());
            names.extend(name.bytes().chain([0]));
            contents.extend(*bytes);
        }
        let own = names.len() as u32;
        names.extend(b".shstrtab\0");
        header(own, 3, contents.len(), names.len());
        contents.extend(&names);
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        elf.extend([0x12, 0xff, EM_INTELGT as u8, 0, 1, 0, 0, 0]);
        elf.extend([0, 0, contents.len() as u64 + 64].into_iter().flat_map(u64::to_le_bytes));
        let count = sections.len() as u16 + 2;
        elf.extend([0, 0, 64, 56, 0, 64, count, count - 1].into_iter().flat_map(u16::to_le_bytes));
        elf.resize(64, 0);
        elf.extend(contents);
        elf.extend(headers);
        elf
    }

    pub(crate) fn note(kind: u32, number: u32) -> Vec<u8> {
        let words = [8, 4, kind].into_iter().flat_map(u32::to_le_bytes);
        words.chain(*b"IntelGT\0").chain(number.to_le_bytes()).collect()
    }

    #[test]
    fn what_is_beside_the_code_is_told() {
        // Notes as ocloc 26.27 writes them for ptl-h, and one that nobody knows yet.
        let notes = [note(6, 0x0780_0004), note(7, 10), note(8, 1), note(99, 5)].concat();
        let payload = zebin(&[
            (".text.k", 1, &[0; 16]),
            (".spv", SHT_ZEBIN_SPIRV, &[0; 24]),
            (".pisa", 0xff00_0015, &[0; 12]),
            (".ze_info", 0xff00_0011, b"version: '1.73'\nkernels:\n  - name: k\n"),
            (".note.intelgt.compat", 7, &notes),
        ]);
        let Read { part, problems } = read(&payload, true, &Items::new(&Room::of_one(payload.len()))).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(part.devices, ["intel_gpu_ptl_h"]);
        let sections: Vec<(&str, u64)> =
            part.sections.iter().map(|section| (section.name.as_str(), section.size)).collect();
        assert_eq!(sections, [(".spv", 24), (".pisa", 12)]);
        assert!(part.spirv);
        let notes: Vec<(&str, u32)> = part.notes.iter().map(|(name, number)| (name.as_ref(), *number)).collect();
        assert_eq!(
            notes,
            [("indirect access buffer version", 1), ("indirect access detection version", 10), ("note 99", 5)]
        );
    }
}
