//! Which AMD GPU do the flags of a code object name?
//!
//! The lowest byte of `e_flags` is the processor, of `EF_AMDGPU_MACH` in LLVM's `ELF.h`; here as clang 22 writes it for
//! every processor that it knows, and two that it no longer does. Above are the features `xnack` and `sramecc`: two
//! bits each (0 none, 1 any, 2 off, 3 on) since code object version 4 (ABI version 2), one bit before.

const PROCESSORS: [(u32, &str); 55] = [
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

/// The processor.
pub fn processor(flags: u32) -> Option<&'static str> {
    PROCESSORS.iter().find(|(number, _)| *number == flags & 0xff).map(|(_, name)| *name)
}

/// The processor with its features as a target id has them: `gfx90a:sramecc+:xnack-`.
pub fn target_id(flags: u32, abi_version: u8) -> String {
    let mut id = match processor(flags) {
        Some(name) => name.to_owned(),
        None => format!("processor {:#x}", flags & 0xff),
    };
    let setting = |shift: u32| match (flags >> shift & 3, abi_version) {
        (2, 2..) => "-",
        (3, 2..) => "+",
        _ => "",
    };
    let old = |bit: u32| if abi_version < 2 && flags & bit != 0 { "+" } else { "" };
    for (name, sign) in [("sramecc", [setting(10), old(0x200)].concat()), ("xnack", [setting(8), old(0x100)].concat())]
    {
        if !sign.is_empty() {
            id.push_str(&format!(":{name}{sign}"));
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_as_clang_writes_them() {
        for (flags, abi, id) in [
            (0x73f, 4, "gfx90a:xnack+"),
            (0xe4c, 4, "gfx942:sramecc+:xnack-"),
            (0x53f, 2, "gfx90a"),
            (0x33f, 1, "gfx90a:sramecc+:xnack+"),
            (0x100_055f, 4, "gfx9-4-generic"),
            (0x41, 4, "gfx1100"),
            (0xfe, 4, "processor 0xfe"),
        ] {
            assert_eq!(target_id(flags, abi), id);
        }
    }
}
