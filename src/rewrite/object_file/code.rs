//! Which relocatable machine code registers a descriptor?
//!
//! The descriptor's address goes into the first argument's register, and a jump ends in the runtime's function, which
//! returns to the caller of the constructor. There is no stack frame, so nothing to unwind. Each function is a valid
//! target of indirect calls where the processor checks them.

use object::{RelocationFlags, elf, pe};

use super::ObjectFormat;
use crate::rewrite::shared::Machine;

/// Function with its relocations.
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) fixups: Vec<Fixup>,
}

/// Relocation of a function.
pub(super) struct Fixup {
    /// Offset in the function, in bytes.
    pub(super) offset: u64,
    /// Whether the target is the descriptor; otherwise it is the runtime's function.
    pub(super) of_descriptor: bool,
    pub(super) addend: i64,
    pub(super) flags: RelocationFlags,
}

pub(super) fn function(machine: Machine, format: ObjectFormat) -> Code {
    match machine {
        Machine::X86_64 => x86_64(format),
        Machine::Aarch64 => aarch64(format),
    }
}

/// ```text
/// f3 0f 1e fa             endbr64
/// 48 8d 3d dd dd dd dd    lea rdi, [rip + descriptor]     Windows: 48 8d 0d, rcx
/// e9 dd dd dd dd          jmp function
/// ```
/// Displacements count from the end of their instruction, hence the addend.
fn x86_64(format: ObjectFormat) -> Code {
    let register = match format {
        ObjectFormat::Elf => 0x3d,
        ObjectFormat::Coff => 0x0d,
    };
    let mut bytes = vec![0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, register, 0, 0, 0, 0];
    bytes.extend([0xe9, 0, 0, 0, 0]);
    let (data, call) = match format {
        ObjectFormat::Elf => (of_elf(elf::R_X86_64_PC32), of_elf(elf::R_X86_64_PLT32)),
        ObjectFormat::Coff => (of_coff(pe::IMAGE_REL_AMD64_REL32), of_coff(pe::IMAGE_REL_AMD64_REL32)),
    };
    let fixups = vec![
        Fixup { offset: 7, of_descriptor: true, addend: -4, flags: data },
        Fixup { offset: 12, of_descriptor: false, addend: -4, flags: call },
    ];
    Code { bytes, fixups }
}

/// ```text
/// d503245f    bti  c
/// 90000000    adrp x0, descriptor
/// 91000000    add  x0, x0, :lo12:descriptor
/// 14000000    b    function
/// ```
fn aarch64(format: ObjectFormat) -> Code {
    let words: [u32; 4] = [0xd503_245f, 0x9000_0000, 0x9100_0000, 0x1400_0000];
    let flags = match format {
        ObjectFormat::Elf => {
            [elf::R_AARCH64_ADR_PREL_PG_HI21, elf::R_AARCH64_ADD_ABS_LO12_NC, elf::R_AARCH64_JUMP26].map(of_elf)
        }
        ObjectFormat::Coff => {
            [pe::IMAGE_REL_ARM64_PAGEBASE_REL21, pe::IMAGE_REL_ARM64_PAGEOFFSET_12A, pe::IMAGE_REL_ARM64_BRANCH26]
                .map(of_coff)
        }
    };
    let fixups = [4u64, 8, 12].into_iter().zip(flags).map(|(offset, flags)| Fixup {
        offset,
        of_descriptor: offset != 12,
        addend: 0,
        flags,
    });
    Code { bytes: words.into_iter().flat_map(u32::to_le_bytes).collect(), fixups: fixups.collect() }
}

/// Returns the relocation of a 64-bit address.
pub(super) fn pointer(machine: Machine, format: ObjectFormat) -> RelocationFlags {
    match (format, machine) {
        (ObjectFormat::Elf, Machine::X86_64) => of_elf(elf::R_X86_64_64),
        (ObjectFormat::Elf, Machine::Aarch64) => of_elf(elf::R_AARCH64_ABS64),
        (ObjectFormat::Coff, Machine::X86_64) => of_coff(pe::IMAGE_REL_AMD64_ADDR64),
        (ObjectFormat::Coff, Machine::Aarch64) => of_coff(pe::IMAGE_REL_ARM64_ADDR64),
    }
}

fn of_elf(r_type: elf::RelocationType) -> RelocationFlags {
    RelocationFlags::Elf { r_type }
}

fn of_coff(typ: pe::RelocationType) -> RelocationFlags {
    RelocationFlags::Coff { typ }
}
