//! What does an NVIDIA GPU binary (cubin) hold?
//!
//! An ELF file of `e_machine` 190: the code of a kernel in `.text.KERNEL`, its attributes in `.nv.info.KERNEL` and, by
//! symbol, in `.nv.info`, its shared memory in `.nv.shared.KERNEL`. The architecture is in `e_flags`: in the lowest byte
//! up to ABI version 7, in the second one since 8 (CUDA 12.8 for new devices, CUDA 13 for all). That it is an
//! architecture of its own (`sm_90a`) is bit 11 there before; since, bit 3 (CUDA 12.9) or an attribute in `.nv.compat`
//! (CUDA 13).
//!
//! No published document lays the attributes of `.nv.info` down; this is what `ptxas` 12.9 and 13.5 write and NVIDIA's `cuobjdump -elf` reads
//! there. An attribute is a format byte, a kind, and a value: none (1), one byte (2) or 16 bits (3) in the two bytes that
//! follow, or as many bytes as those two say (4).

use super::ptx::OF_NVIDIAS_DRIVER;
use super::{Argument, Items, Kernel, Part, Read, cubin_rules, spill_note};
use crate::bundle::format::Format;
use crate::bytes;
use crate::container::device_elf::{DeviceElf, Symbol, undefined};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// `e_type` of code that is to be linked (`ptxas -c`).
const RELOCATABLE: u16 = 1;
/// `st_other` of kernels.
const STO_CUDA_ENTRY: u8 = 0x10;

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let elf = DeviceElf::parse(data)?;
    let mut read = Read::from(Part::new(Format::Cubin, data.len()));
    // Drivers end where they are beyond the file.
    read.problems.extend(DeviceElf::segments(data).err());
    let architecture = architecture(&elf);
    read.part.devices = vec![format!("nvidia_gpu_{architecture}")];
    read.part.stated = architecture;
    read.part.version = Some(format!("ABI {}", elf.abi_version));
    read.part.refused = cubin_rules::refused(data, &elf);
    let symbols = elf.symbols()?;
    if elf.kind == RELOCATABLE {
        read.part.demands.undefined = undefined(&symbols, &OF_NVIDIAS_DRIVER);
    }
    let mut of_functions = Functions::default();
    if let Some(section) = elf.section(".nv.info") {
        of_functions.read(section.data, &symbols);
    }
    // Up to ABI version 7 the flags of the code's section count the barriers; since 8 an attribute does.
    let code = elf.sections.iter().filter_map(|section| {
        let barriers = if elf.abi_version < 8 { section.flags >> 20 & 0x7f } else { 0 };
        Some((section.name.strip_prefix(".text.")?, barriers))
    });
    // A section of a name that was there would cost what is said of the first once more.
    let mut seen = HashSet::new();
    let code: Vec<(&str, u64)> = code.filter(|(name, _)| seen.insert(*name)).collect();
    // Functions that are called have sections of their own in relocatable code; kernels are marked.
    let mut marked: HashMap<&str, bool> = HashMap::new();
    for symbol in &symbols {
        *marked.entry(symbol.name).or_default() |= symbol.other & STO_CUDA_ENTRY != 0;
    }
    let spilled = spill_note::spilled(&elf, |name| of_functions.frame.contains_key(name));
    let sections: HashMap<&str, _> = elf.sections.iter().map(|section| (section.name, section)).collect();
    for (name, barriers) in code.into_iter().filter(|(name, _)| marked.get(name).copied().unwrap_or(true)) {
        if items.take(name).is_none() {
            break;
        }
        let mut kernel = Kernel {
            name: name.to_owned(),
            registers: of_functions.registers.get(name).copied(),
            private: of_functions.frame.get(name).copied(),
            // The frame holds what is spilled and private arrays.
            scratch: of_functions.frame.get(name).copied().filter(|frame| *frame > 0),
            spill: of_functions
                .frame
                .get(name)
                .and_then(|frame| if *frame == 0 { Some(0) } else { spilled.get(name).copied() }),
            local: Some(sections.get(format!(".nv.shared.{name}").as_str()).map_or(0, |section| section.size)),
            barriers: Some(barriers),
            simd: Some(32),
            ..Kernel::default()
        };
        if let Some(section) = sections.get(format!(".nv.info.{name}").as_str())
            && !attributes(&mut kernel, items, section.data)
        {
            read.problems.push(Error::at(section.offset, format!("the attributes in {} are damaged", section.name)));
        }
        read.part.kernels.push(kernel.into());
    }
    Ok(read)
}

fn architecture(elf: &DeviceElf<'_>) -> String {
    let (number, own) = if elf.abi_version >= 8 {
        let compat = elf.section(".nv.compat").map(|section| read_attributes(section.data).0).unwrap_or_default();
        let own =
            compat.iter().any(|attribute| attribute.kind == kind::EXACT_ARCHITECTURE && attribute.number & 0xff == 1);
        (elf.flags >> 8 & 0xff, own || elf.flags & 8 != 0)
    } else {
        (elf.flags & 0xff, elf.flags & 0x800 != 0)
    };
    format!("sm_{number}{}", if own { "a" } else { "" })
}

/// Attributes of all functions, by name.
#[derive(Default)]
struct Functions<'a> {
    registers: HashMap<&'a str, u64>,
    frame: HashMap<&'a str, u64>,
}

impl<'a> Functions<'a> {
    fn read(&mut self, data: &[u8], symbols: &[Symbol<'a>]) {
        for attribute in read_attributes(data).0 {
            let symbol = attribute.word(0).and_then(|index| symbols.get(usize::try_from(index).ok()?));
            let (Some(symbol), Some(value)) = (symbol, attribute.word(1).map(u64::from)) else { continue };
            match attribute.kind {
                kind::REGISTERS => {
                    self.registers.insert(symbol.name, value);
                }
                // The frame is the kernel's own; the stack, with what it calls, is the larger number where both are told.
                kind::FRAME_SIZE | kind::MIN_STACK_SIZE | kind::MAX_STACK_SIZE => {
                    let largest = self.frame.entry(symbol.name).or_default();
                    *largest = (*largest).max(value);
                }
                _ => {}
            }
        }
    }
}

/// Takes in the attributes of one kernel; false where they are damaged.
fn attributes(kernel: &mut Kernel, items: &Items<'_>, data: &[u8]) -> bool {
    let (attributes, whole) = read_attributes(data);
    let mut arguments = kernel.arguments.to_vec();
    for attribute in attributes {
        let three = || {
            let words = [attribute.word(0)?, attribute.word(1)?, attribute.word(2)?];
            Some(words.map(u64::from))
        };
        match attribute.kind {
            kind::REQUIRED_THREADS => kernel.reqd_work_group_size = three(),
            kind::MAX_THREADS => {
                let items = three().map(|sizes| sizes.iter().fold(1u64, |items, size| items.saturating_mul(*size)));
                kernel.max_work_group_size = items;
            }
            kind::PARAMETERS_SIZE => kernel.argument_bytes = Some(u64::from(attribute.number)),
            kind::BARRIERS => kernel.barriers = Some(u64::from(attribute.number & 0xff)),
            kind::PARAMETER => arguments.extend(items.take("").and_then(|()| parameter(&attribute))),
            _ => {}
        }
    }
    arguments.sort_by_key(|argument| argument.index);
    kernel.arguments = arguments.into();
    whole
}

/// Kinds whose meaning is known.
pub(crate) mod kind {
    /// Most work-items in x, y and z (`.maxntid`).
    pub(crate) const MAX_THREADS: u8 = 0x05;
    /// Required work-items in x, y and z (`.reqntid`).
    pub(crate) const REQUIRED_THREADS: u8 = 0x10;
    /// A function's symbol, and its stack frame in bytes.
    pub(crate) const FRAME_SIZE: u8 = 0x11;
    /// A function's symbol, and the bytes of stack that it needs at least.
    pub(crate) const MIN_STACK_SIZE: u8 = 0x12;
    /// A parameter.
    pub(crate) const PARAMETER: u8 = 0x17;
    /// Bytes of all parameters.
    pub(crate) const PARAMETERS_SIZE: u8 = 0x19;
    /// A function's symbol, and the most stack that it takes.
    pub(crate) const MAX_STACK_SIZE: u8 = 0x23;
    /// A function's symbol, and its registers.
    pub(crate) const REGISTERS: u8 = 0x2f;
    /// Barriers.
    pub(crate) const BARRIERS: u8 = 0x4c;
    /// In `.nv.compat`: 1 where the code is for exactly this architecture (`sm_90a`).
    pub(crate) const EXACT_ARCHITECTURE: u8 = 0x09;
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    /// One of [`kind`], or another.
    pub(crate) kind: u8,
    /// The value where it is one number.
    pub(crate) number: u16,
    /// The value where it is bytes.
    pub(crate) data: &'a [u8],
}

impl Attribute<'_> {
    /// A 32-bit word of the value.
    pub(crate) fn word(&self, index: usize) -> Option<u32> {
        bytes::u32_at(self.data, index.checked_mul(4)?)
    }
}

/// The attributes of a section; and whether they came to its end.
pub(crate) fn read_attributes(data: &[u8]) -> (Vec<Attribute<'_>>, bool) {
    let mut attributes = Vec::new();
    let mut rest = data;
    while let [format, kind, low, high, tail @ ..] = rest {
        let number = u16::from_le_bytes([*low, *high]);
        let len = match format {
            1..=3 => 0,
            4 => usize::from(number),
            _ => return (attributes, false),
        };
        let Some((value, next)) = tail.split_at_checked(len) else { return (attributes, false) };
        attributes.push(Attribute { kind: *kind, number, data: value });
        rest = next;
    }
    (attributes, rest.is_empty())
}

/// A parameter: `{u32 0; u16 ordinal; u16 offset; u32 bits}`, where the bits are, from the lowest, 8 for the alignment of
/// what it points to, 4 for its space, 6 for its bank, 14 for its size.
pub(crate) fn parameter(attribute: &Attribute<'_>) -> Option<Argument> {
    let (place, bits) = (attribute.word(1)?, attribute.word(2)?);
    Some(Argument {
        index: place & 0xffff,
        offset: Some(u64::from(place >> 16)),
        size: Some(u64::from(bits >> 18)),
        address_space: match bits >> 8 & 0xf {
            2 => Some("local"),
            4 => Some("global"),
            _ => None,
        },
        ..Argument::default()
    })
}
