//! What does an Intel GPU binary in ELF form (zebin) hold?
//!
//! Written by IGC for `ocloc` and the drivers: `e_machine` 205, code in `.text.KERNEL`, its description in `.ze_info`,
//! and the device in `.note.intelgt.compat`. Note types are those of `zebin_elf.h` in intel/compute-runtime.

use super::driver::OldForm;
use super::zebin_rules as rules;
use super::{Items, Kernel, Part, Read, Section, intel_device, ze_info, ze_rules};
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::device_elf::{DeviceElf, EM_INTELGT, Symbol};
use crate::error::{Error, Result};
use crate::limits;
use std::borrow::Cow;
use std::sync::Arc;

/// Section of the options that the compiler was given.
const OPTIONS: &str = ".misc.buildOptions";
/// Numbers of notes that say nothing of the device.
const NOTES: [(u32, &str); 4] = [
    (rules::TARGET, "target metadata"),
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
    read.problems.extend(rules::form(data, &elf).err());
    device(&elf, &mut read);
    let part = &mut read.part;
    let options = elf.sections.iter().rfind(|section| section.kind == rules::SHT_MISC && section.name == OPTIONS);
    let options = options.map(|section| String::from_utf8_lossy(section.data));
    part.options = options.map(|text| text.trim_matches(['\0', ' ']).to_owned()).filter(|text| !text.is_empty());
    part.spirv = elf.sections.iter().any(|section| section.kind == rules::SHT_SPIRV && !section.data.is_empty());
    let told = elf.sections.iter().filter(|section| TOLD.iter().any(|told| section.name.starts_with(told)));
    part.sections = told
        .map_while(|section| {
            items.take(section.name)?;
            Some(Section { name: section.name.to_owned(), size: section.data.len() as u64 })
        })
        .collect();
    // Drivers go by the type, whatever the name.
    match elf.sections.iter().find(|section| section.kind == rules::SHT_ZE_INFO) {
        Some(section) => {
            let text = std::str::from_utf8(section.data).map_err(|error| {
                Error::at(section.offset.saturating_add(error.valid_up_to() as u64), "it is not UTF-8")
            });
            let document =
                text.and_then(|text| ze_info::Document::read(text).map_err(|error| shifted(error, section.offset)));
            match document {
                Ok(document) => {
                    let refused = document.check().map_err(|error| shifted(error, section.offset));
                    let refused = refused.map_err(|error| error.context("section .ze_info"));
                    read.problems.extend(refused.err());
                    read.problems.extend(rules::code(&elf, document.names()).err());
                    for of in ["const_base", "global_base"] {
                        read.problems.extend(rules::data(&elf, of).filter(|_| document.passes(of)));
                    }
                    if kernels {
                        let info = document.contents(items);
                        read.part.version = info.version.or(read.part.version.take());
                        read.part.kernels = info.kernels;
                        read.part.demands.samplers = info.samplers;
                        read.part.old_form = info.bindless.then_some(OldForm::Bindless);
                    }
                }
                Err(error) => {
                    read.problems.push(error.context("section .ze_info"));
                    read.part.kernels = if kernels { named_by_sections(&elf, items) } else { Vec::new() };
                }
            }
        }
        // A module without kernels has neither code nor a description.
        None if !elf.sections.iter().any(|section| section.name.starts_with(".text.")) => {}
        None => {
            read.problems.push(Error::at(40, "there is no section .ze_info: a driver finds no kernel here"));
            read.part.kernels = if kernels { named_by_sections(&elf, items) } else { Vec::new() };
        }
    }
    if kernels {
        read.part.demands.undefined = elf.symbols().map(open_symbols).unwrap_or_default();
        read.part.demands.undefined.truncate(limits::MAX_UNDEFINED);
    }
    Ok(read)
}

/// The kernels that sections of code are named after, where nothing else tells them.
fn named_by_sections(elf: &DeviceElf<'_>, items: &Items<'_>) -> Vec<Arc<Kernel>> {
    let names = elf.sections.iter().filter_map(|section| section.name.strip_prefix(".text."));
    let named = |name: &str| {
        items.take(name)?;
        Some(Kernel { name: name.to_owned(), ..Kernel::default() }.into())
    };
    names.filter(|name| *name != ze_rules::FUNCTIONS).map_while(named).collect()
}

/// Reads the device that the code is for.
fn device(elf: &DeviceElf<'_>, read: &mut Read) {
    let (mut family, mut core, mut config, mut target) = (None, None, None, None);
    let notes = rules::notes(elf).unwrap_or_else(|error| {
        read.problems.push(error);
        Vec::new()
    });
    for note in notes {
        let number = bytes::u32_at(note.data, 0);
        match note.kind {
            rules::PRODUCT_FAMILY => family = number.filter(|&family| family != 0),
            rules::GFX_CORE => core = number.filter(|&core| core != 0),
            rules::PRODUCT_CONFIG => config = number.filter(|&config| config != 0),
            rules::ZEBIN_VERSION => {
                let text = note.data.split(|byte| *byte == 0).next().unwrap_or_default();
                read.part.version = std::str::from_utf8(text).ok().map(str::to_owned);
                let refused = ze_rules::version(&String::from_utf8_lossy(text));
                let refused = refused.map_err(|message| Error::at(note.offset, message).context(rules::COMPAT));
                read.problems.extend(refused.err());
            }
            kind => {
                if kind == rules::TARGET {
                    target = number.map(|number| (number, note.offset));
                }
                let name = NOTES.iter().find(|(known, _)| *known == kind).map(|(_, name)| Cow::Borrowed(*name));
                let name = name.unwrap_or_else(|| format!("note {kind}").into());
                read.part.notes.extend(number.map(|number| (name, number)));
            }
        }
    }
    // Before there were notes, the machine was a product family, or with bit 15 of the flags a core family; drivers go by it.
    if elf.machine != EM_INTELGT {
        let machine = Some(u32::from(elf.machine));
        (family, core) = if elf.flags & 0x8000 == 0 { (machine, None) } else { (None, machine) };
        (config, target) = (None, Some((elf.flags, 48)));
    }
    let part = &mut read.part;
    let (mut stated, mut contradicts) = (Vec::new(), false);
    if let Some(config) = config {
        stated.push(format!("device {}", intel_device::gmdid(config)));
        part.devices = intel_device::of_gmdid(config);
        part.gmdid = Some(config);
    }
    if let Some(family) = family {
        stated.push(format!("product family {family}"));
        if config.is_none() {
            part.devices = intel_device::of_family(family);
        }
    }
    if let Some(core) = core {
        stated.push(intel_device::core(core));
        if config.is_none() {
            let of_core = intel_device::of_core(core);
            // Drivers compare both.
            if family.is_some() && !part.devices.is_empty() {
                part.devices.retain(|device| of_core.contains(device));
                contradicts = part.devices.is_empty();
            } else if family.is_none() {
                part.devices = of_core;
            }
        }
    }
    if contradicts {
        read.problems.push(Error::at(18, format!("it is for {}, and no device is both", stated.join(" and "))));
    }
    part.stated = stated.join(", ");
    if part.stated.is_empty() && read.problems.is_empty() {
        read.problems.push(Error::at(18, "it states no device, and drivers refuse it"));
    }
    // Notes that name the device exactly are all that is compared.
    if let (None, Some((target, offset))) = (config, target)
        && let Some(steppings) = rules::steppings(target)
    {
        let message = format!(
            "it is for steppings {} to {} alone, and which one a device has is not known",
            steppings.0, steppings.1
        );
        read.problems.push(Error::at(offset, message));
    }
}

/// Returns the IP version (GMDID) of the GPU that code is for, where the file tells it.
pub(crate) fn ip_version(data: &[u8]) -> Option<u32> {
    let elf = DeviceElf::parse(data).ok()?;
    let notes = rules::notes(&elf).ok()?;
    bytes::u32_at(notes.iter().rfind(|note| note.kind == rules::PRODUCT_CONFIG)?.data, 0)
}

/// Returns the functions that code calls and does not have. What the driver fills in has names of the compiler's own.
pub(crate) fn undefined(data: &[u8]) -> Vec<String> {
    DeviceElf::parse(data).and_then(|elf| elf.symbols()).map(open_symbols).unwrap_or_default()
}

/// Symbols that driver 26.27 fills in (`linker.cpp`).
const FILLED_IN: [&str; 3] =
    ["__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0", "__INTEL_PER_THREAD_OFF", "__INTEL_SURFACE_STATE_SIZE"];

fn open_symbols(symbols: Vec<Symbol<'_>>) -> Vec<String> {
    let open = symbols.into_iter().filter(Symbol::is_undefined);
    open.map(|symbol| symbol.name).filter(|name| !FILLED_IN.contains(name)).map(str::to_owned).collect()
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

    /// The description of one kernel, `k`.
    pub(crate) const INFO: &[u8] = b"version: '1.73'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 32\n";

    /// Problem of a zebin of these sections beside the code, description and device of `k`.
    fn problems_with(sections: &[(&str, u32, &[u8])], change: impl Fn(&mut Vec<u8>)) -> Vec<String> {
        let own: [(&str, u32, &[u8]); 3] = [
            (".text.k", 1, &[0; 16]),
            (".ze_info", 0xff00_0011, INFO),
            (".note.intelgt.compat", 7, &note(6, 0x030f_0007)),
        ];
        let own = own.into_iter().filter(|(name, ..)| !sections.iter().any(|(other, ..)| other == name));
        let sections: Vec<_> = own.chain(sections.iter().copied()).filter(|(_, kind, _)| *kind != u32::MAX).collect();
        let mut payload = zebin(&sections);
        change(&mut payload);
        let alone = |kernels| {
            let read = read(&payload, kernels, &Items::new(&Room::of_one(payload.len()))).unwrap();
            read.problems.iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(alone(true), alone(false));
        alone(true)
    }

    /// A zebin with one kernel, changed.
    fn changed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut payload = zebin(&[(".text.k", 1, &[0; 16]), (".ze_info", 0xff00_0011, INFO)]);
        change(&mut payload);
        payload
    }

    /// Finds the problems of code with eight bytes of data in a section of a name and kind, symbols, and a relocation by them.
    fn problems_of_symbols((name, kind): (&str, u32), symbols: &[u8], relocation: &[u8]) -> Vec<String> {
        problems_with(&[(name, kind, &[0; 8]), (".symtab", 2, symbols), (".rel.text.k", 9, relocation)], |payload| {
            let table = payload.len() - 64 * 3;
            payload[table + 56..][..8].copy_from_slice(&24u64.to_le_bytes());
            payload[table + 64 + 44] = 1;
            payload[table + 64 + 56] = 16;
        })
    }

    /// The driver unlinks the module, or takes none of it.
    #[test]
    fn relocations_and_symbols_are_within_their_sections() {
        let symbol = |value: u64, size: u64, section: u16| {
            let head = [0u32.to_le_bytes().to_vec(), vec![0x11, 0], section.to_le_bytes().to_vec()].concat();
            [head, value.to_le_bytes().to_vec(), size.to_le_bytes().to_vec()].concat()
        };
        for (place, kind, value, size, expected) in [
            (8u64, 1u64, 0, 8, None),
            (12, 2, 0, 8, None),
            (8, 7, 0, 8, None),
            (8, 5, 0, 8, Some("of type 5")),
            (8, 0, 0, 8, Some("of type 0")),
            (9, 1, 0, 8, Some("beyond")),
            (13, 2, 0, 8, Some("beyond")),
            (1 << 40, 2, 0, 8, Some("beyond")),
            (0, 1, 1, 8, Some("symbol")),
            (0, 1, u64::MAX, 8, Some("symbol")),
        ] {
            let relocation = [place.to_le_bytes(), (1 << 32 | kind).to_le_bytes()].concat();
            let symbols = [symbol(0, 0, 0), symbol(value, size, 4)].concat();
            let told = problems_of_symbols((".data.const", 1), &symbols, &relocation);
            let is_told = expected.is_none_or(|expected| told.iter().any(|problem| problem.contains(expected)));
            assert!(is_told && told.is_empty() == expected.is_none(), "{place} {kind} {value}: {told:?}");
        }
    }

    /// The driver ends where it reads the name, and links nothing where the section of a symbol is none of its.
    #[test]
    fn symbols_have_names_and_sections_that_drivers_know() {
        let symbol =
            |name: u32, section: u16| [&name.to_le_bytes()[..], &[0x11, 0], &section.to_le_bytes(), &[0; 16]].concat();
        let relocation = [0u64.to_le_bytes(), (1u64 << 32 | 1).to_le_bytes()].concat();
        for (name, kind, expected) in [
            (0, 1u32, None),
            (8, 1, None),
            (8 << 8, 1, Some("name is outside")),
            (0, 0, Some("no code and no data")),
            (0, 3, Some("no code and no data")),
        ] {
            let symbols = [symbol(0, 0), symbol(name, 4)].concat();
            let told = problems_of_symbols((".data.const.string", kind), &symbols, &relocation);
            let is_told = expected.is_none_or(|expected| told.iter().any(|problem| problem.contains(expected)));
            assert!(is_told && told.is_empty() == expected.is_none(), "{name} {kind}: {told:?}");
        }
        for (kind, section) in [(0x10, 4), (0x13, 4), (0x1a, 4), (0x11, 0xfff1), (0x11, 99)] {
            let mut symbols = [symbol(0, 0), symbol(0, section)].concat();
            symbols[24 + 4] = kind;
            let told = problems_of_symbols((".data.const.string", 1), &symbols, &relocation);
            assert!(
                told.iter().any(|problem| problem.contains("no object and no function")),
                "{kind} {section}: {told:?}"
            );
        }
    }

    /// Each was refused by driver 26.27 for a Data Center GPU Max, or by `ocloc validate`.
    #[test]
    fn what_drivers_refuse_is_a_problem() {
        let compat = |notes: &[&[u8]]| notes.concat();
        let device = note(6, 0x030f_0007);
        let family = note(1, 1271);
        let versioned = |text: &[u8]| {
            let words = [8, text.len() as u32, 4].into_iter().flat_map(u32::to_le_bytes);
            words.chain(*b"IntelGT\0").chain(text.iter().copied()).collect::<Vec<u8>>()
        };
        let steppings = |first: u32, last: u32| note(3, first << 8 | 1 << 13 | last << 16);
        let cut = [&device[..], &[8, 0, 0, 0, 4, 0, 0, 0]].concat();
        let text = |text: &str| ["version: '1.73'\nkernels:\n  - name: k\n", text].concat().into_bytes();
        const GONE: u32 = u32::MAX;
        let sections: [(&str, u32, &[u8], &str); 24] = [
            (".text.k", 1, &[], "`.text.k` is empty"),
            (".text.k", GONE, &[], "no section `.text.k`"),
            (".text.k", 0xff00_0014, &[0; 16], "no section `.text.k`"),
            (".ze_info", 1, INFO, "no name of code or data"),
            (".ze_info", 0xff00_0014, INFO, "no section .ze_info"),
            (".other", 0xff00_0011, INFO, "second of its kind"),
            (".other", 0xff00_0099, &[0; 4], "type 0xff000099"),
            (".other", 1, &[0; 4], "no name of code or data"),
            (".debug", 1, &[0; 4], "no name of code or data"),
            (".symtab", 2, &[0; 24], "entries of 0 bytes"),
            (".note.intelgt.compat", 1, &device, "no name of code or data"),
            (".note.intelgt.compat", 0xff00_0014, &device, "states no device"),
            (".note.intelgt.compat", 7, &compat(&[&note(6, 0)]), "states no device"),
            (".note.intelgt.compat", 7, &cut, "passes the end of its section"),
            (".note.intelgt.compat", 7, &compat(&[&device, &versioned(b"2.20\0\0\0\0")]), "version is 2.20"),
            (".note.intelgt.compat", 7, &compat(&[&family, &steppings(31, 31)]), "steppings 31 to 31"),
            (".ze_info", 0xff00_0011, b"version: '2.20'\nkernels:\n", "version is 2.20"),
            (".ze_info", 0xff00_0011, b"version: '1'\nkernels:\n", "no `MAJOR.MINOR`"),
            (".ze_info", 0xff00_0011, &text(""), "`simd_size` is none"),
            (".ze_info", 0xff00_0011, &text("    execution_env:\n      simd_size: 31\n"), "`simd_size` is 31"),
            (".ze_info", 0xff00_0011, &text("    execution_env:\n      simd_size: '32'\n"), "`simd_size` is `32`"),
            (".ze_info", 0xff00_0011, &text("    execution_env:\n      zimd_size: 32\n"), "`zimd_size`"),
            (".ze_info", 0xff00_0011, &text("    zxecution_env:\n      simd_size: 32\n"), "`zxecution_env`"),
            (".ze_info", 0xff00_0011, b"- a\n", "no list of keys and values"),
        ];
        for (name, kind, bytes, expected) in sections {
            let told = problems_with(&[(name, kind, bytes)], |_| {});
            assert!(told.iter().any(|problem| problem.contains(expected)), "{name} {kind:#x} {expected}: {told:?}");
        }
        for kind in [0u16, 2, 3, 0xff11, 0xff13] {
            let told = problems_with(&[], |payload| payload[16..18].copy_from_slice(&kind.to_le_bytes()));
            assert!(told[0].contains("ELF type"), "{kind:#x}: {told:?}");
        }
        for (place, count) in [(1, 1), (1, 0)] {
            let told = problems_with(&[], |payload| (payload[35], payload[56]) = (place, count));
            assert!(told[0].contains("program headers"), "{told:?}");
        }
        // Drivers look at the first section, too, and at each name.
        let first = |payload: &[u8]| u64::from_le_bytes(payload[40..48].try_into().unwrap()) as usize;
        let told = problems_with(&[], |payload| {
            let first = first(payload);
            payload[first + 37] = 1;
        });
        assert!(told[0].contains("passes the end"), "{told:?}");
        for nth in [0, 1] {
            let payload = changed(|payload| {
                let first = first(payload);
                payload[first + 64 * nth + 1] = 1;
            });
            let error = read(&payload, true, &Items::new(&Room::of_one(payload.len()))).err().unwrap();
            assert!(error.to_string().contains("name of a section"), "{error}");
        }
    }

    #[test]
    fn what_drivers_take_is_no_problem() {
        let others = [
            note(6, 0x030f_0007),
            note(7, 10),
            note(99, 5),
            note(3, 31 << 8 | 1 << 13 | 31 << 16),
            [[4u32, 4, 1].map(u32::to_le_bytes).concat(), b"GNU\0\x01\0\0\0".to_vec()].concat(),
        ];
        let newer = [INFO.split_at(9).0, b"'1.199'\nkernels: []\n"].concat();
        let sections: [(&str, u32, &[u8]); 18] = [
            (".note.intelgt.compat", 7, &others.concat()),
            (".note.intelgt.metrics", 7, &[1; 5]),
            (".text", 1, &[0; 8]),
            (".debug_info", 1, &[0; 8]),
            (".data.const", 1, &[0; 8]),
            (".data.global", 1, &[0; 8]),
            (".data.const.string", 1, &[0; 8]),
            (".bss.const", 8, &[]),
            (".bss.global", 8, &[]),
            (".strtab", 3, &[0; 8]),
            (".gtpin_info.k", 0xff00_0012, &[0; 8]),
            (".visaasm.k", 0xff00_0013, &[0; 8]),
            (".misc.buildOptions", 0xff00_0014, b"-O2\0"),
            (".misc.other", 0xff00_0014, &[]),
            (".spv", rules::SHT_SPIRV, &[0; 8]),
            (".pisa", 0xff00_0015, &[0; 8]),
            (".rel.text.k", 9, &[]),
            (".ze_info", 0xff00_0011, &newer),
        ];
        let told = problems_with(&sections, |payload| {
            // Of relocations the size of the entries counts.
            let at = payload.len() - 64 * 3 + 56;
            payload[at] = 16;
        });
        assert_eq!(told, [""; 0]);
        // Old binaries have the product family for a machine, and are relocatable files.
        let told = problems_with(&[(".note.intelgt.compat", u32::MAX, &[])], |payload| {
            payload[16..20].copy_from_slice(&[1, 0, 0xf7, 4]);
        });
        assert_eq!(told, [""; 0]);
    }

    #[test]
    fn devices_are_those_that_drivers_go_by() {
        let of = |notes: &[Vec<u8>], machine: u16, flags: u32| {
            let mut payload = zebin(&[(".note.intelgt.compat", 7, &notes.concat())]);
            payload[18..20].copy_from_slice(&machine.to_le_bytes());
            payload[48..52].copy_from_slice(&flags.to_le_bytes());
            let read = read(&payload, true, &Items::new(&Room::of_one(payload.len()))).unwrap();
            (read.part.devices.join(" "), read.problems.len())
        };
        let both = "intel_gpu_pvc intel_gpu_pvc_vg".to_owned();
        let config = || note(6, 0x030f_0007);
        // Notes that name the device exactly are all that count; of family and core both do, and the last of each.
        assert_eq!(of(&[note(1, 1210), note(2, 18), config()], EM_INTELGT, 0), ("intel_gpu_pvc".to_owned(), 0));
        assert_eq!(of(&[note(6, 0x030f_0005)], EM_INTELGT, 0), ("intel_gpu_pvc".to_owned(), 0));
        assert_eq!(of(&[note(6, 0x7fc0_0000), note(1, 1271)], EM_INTELGT, 0), (String::new(), 0));
        assert_eq!(of(&[note(1, 1271), note(2, 0)], EM_INTELGT, 0), (both.clone(), 0));
        assert_eq!(of(&[note(1, 1210), note(2, 0x0c08), note(1, 1271)], EM_INTELGT, 0), (both.clone(), 0));
        assert_eq!(of(&[note(1, 1271), note(2, 18)], EM_INTELGT, 0), (String::new(), 1));
        // With another machine than the one for all Intel GPUs, no note counts.
        assert_eq!(of(&[config()], 1210, 0), ("intel_gpu_dg1".to_owned(), 0));
        assert_eq!(of(&[], 0x0c08, 0x8000), (both.clone(), 0));
        assert_eq!(of(&[], 1271, 3 << 8 | 1 << 13 | 5 << 16), (both, 1));
    }

    #[test]
    fn what_is_beside_the_code_is_told() {
        // Notes as ocloc 26.27 writes them for ptl-h, and one that nobody knows yet.
        let notes = [note(6, 0x0780_0004), note(7, 10), note(8, 1), note(99, 5)].concat();
        let payload = zebin(&[
            (".text.k", 1, &[0; 16]),
            (".spv", rules::SHT_SPIRV, &[0; 24]),
            (".pisa", 0xff00_0015, &[0; 12]),
            (".ze_info", 0xff00_0011, INFO),
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
