//! What does a linker make of an object's bytes that stands otherwise in the object?
//!
//! Each was seen to be called compatible as an object, and to lack a device's aspects once it was linked.

use super::recorded::module;
use super::support::folder::Folder;
use std::process::Command;

/// Section of the image, and relocations in it.
const PLAIN: &str = ".section .img,\"a\",@progbits";
/// Section of the texts.
const TEXTS: &str = ".section .rodata.str1.1,\"aMS\",@progbits,1";

/// The source of a list of one image, whose payload is between these expressions.
fn list(image: &str, texts: &str, payload: &str) -> String {
    format!(
        "{image}\n.local other\n{texts}\ntarget: .asciz \"spir64\"\nname: .asciz \"k\"\n\
         .section .data.rel.ro,\"aw\",@progbits\n.p2align 4\nother: .quad 0, 0\nentry: .quad name, name, 0, 0\n\
         structure: .quad 0x2040003, target, 0, 0, {payload}, entry, entry + 32, 0, 0\n\
         .quad 0x10001, structure, 0, 0\n.section .note.GNU-stack,\"\",@progbits\n"
    )
}

/// An object that is assembled from a source; a module is in `k.spv`.
fn assembled(folder: &Folder, source: &str) -> Vec<u8> {
    folder.put("k.spv", module("k", 0));
    folder.put("a.s", source);
    let done = Command::new("cc").args(["-c", "-o", "a.o", "a.s"]).current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(folder.path().join("a.o")).unwrap()
}

/// The exit code of `check` for a file, with what was told.
fn checked(folder: &Folder, file: &[u8]) -> (Option<i32>, String) {
    folder.put("b.o", file);
    let done = super::recorded::tool(folder, &["check", "--strict", "-t", "spir64_x86_64", "b.o"]);
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// The exit code for a list whose image is defined so, and what was told.
fn judged(image: &str, payload: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    let object = assembled(&folder, &list(image, TEXTS, payload));
    checked(&folder, &object)
}

/// The module between labels.
fn module_after(section: &str, symbols: &str) -> String {
    format!("{section}\n.p2align 4\n{symbols}\nimage: .incbin \"k.spv\"\nend:")
}

#[test]
fn what_a_linker_inflates_or_takes_apart_is_not_judged() {
    let whole = "image, end";
    let (code, told) = judged(&module_after(PLAIN, ""), whole);
    assert_eq!(code, Some(0), "{told}");
    let size = module("k", 0).len();
    for (flags, unit) in [("aM", 4), ("aM", size), ("aMS", 1), ("aMS", 4)] {
        let section = format!(".section .img,\"{flags}\",@progbits,{unit}");
        let (code, told) = judged(&module_after(&section, ""), whole);
        assert_eq!(code, Some(3), "{flags} {unit}: {told}");
        assert!(told.contains("equal pieces"), "{flags} {unit}: {told}");
    }
    // Texts are in pieces that stay whole, unless an expression leads from one to another.
    let folder = Folder::new();
    for (texts, expected) in [(TEXTS, 0), (".section .img.texts,\"aM\",@progbits,2", 3)] {
        let object = assembled(&folder, &list(&module_after(PLAIN, ""), texts, whole));
        let (code, told) = checked(&folder, &object);
        assert_eq!(code, Some(expected), "{texts}: {told}");
    }
    let source = list(&module_after(PLAIN, ""), TEXTS, whole);
    let source = source.replace("entry: .quad name, name,", "entry: .quad name, target + 7,");
    let object = assembled(&folder, &source);
    assert_eq!(checked(&folder, &object).0, Some(1), "only a linker knows what is behind the target");
    // The flag is for sections that are not loaded, and no assembler writes it.
    let mut object = assembled(&folder, &list(&module_after(PLAIN, ""), TEXTS, whole));
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().unwrap());
    let headers = (0..usize::from(object[60])).map(|nth| word(40) as usize + 64 * nth);
    let is_image = |at: &usize| word(at + 8) == 2 && word(at + 32) == size as u64;
    let flags = headers.into_iter().find(is_image).unwrap() + 8;
    object[flags + 1] |= 8;
    let (code, told) = checked(&folder, &object);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("compressed"), "{told}");
}

#[test]
fn relocations_within_an_image_leave_it_open() {
    let anchored = format!(".section .anchor,\"aw\",@progbits\nanchor: .quad 0\n{}", module_after(PLAIN, ""));
    for section in [PLAIN, ".section .img,\"ax\",@progbits"] {
        for (kind, symbol) in
            [("32", "absent"), ("16", "absent"), ("PC32", "absent"), ("32", "anchor"), ("64", "anchor")]
        {
            let image = anchored.replace(PLAIN, section);
            let (code, told) = judged(&format!("{image}\n.reloc image + 24, R_X86_64_{kind}, {symbol}"), "image, end");
            assert_eq!(code, Some(3), "{kind} {symbol} {section}: {told}");
            // Behind the image they are another's.
            let image = format!("{image}\n.quad 0\n.reloc end, R_X86_64_{kind}, {symbol}");
            let (code, told) = judged(&image, "image, end");
            assert_eq!(code, Some(0), "{kind} {symbol} {section}: {told}");
        }
    }
}

/// LLD takes tables of relocations whatever symbols they are for, GNU ld does not.
#[test]
fn relocations_that_linkers_differ_in_are_refused() {
    let folder = Folder::new();
    let object = assembled(&folder, &list(&module_after(PLAIN, ""), TEXTS, "image, end"));
    let word = |at: usize| u32::from_le_bytes(object[at..at + 4].try_into().unwrap());
    let mut headers = (0..usize::from(object[60])).map(|nth| word(40) as usize + 64 * nth);
    // SHT_RELA, its symbols and its section.
    let table = headers.find(|at| word(at + 4) == 4).unwrap();
    for value in [0, word(table + 40) + 1] {
        let mut bytes = object.clone();
        bytes[table + 40..table + 44].copy_from_slice(&value.to_le_bytes());
        let (code, told) = checked(&folder, &bytes);
        assert!(code == Some(3) && told.contains("linkers differ"), "{value}: {told}");
    }
    // SHT_REL: the addends are where they are added, or nowhere.
    let mut bytes = object.clone();
    bytes[table + 4] = 9;
    let (code, told) = checked(&folder, &bytes);
    assert!(code == Some(3) && told.contains("linkers differ"), "{told}");
    let mut bytes = object.clone();
    // SHT_NOBITS becomes a second table for the section.
    let mut headers = (0..usize::from(object[60])).map(|nth| word(40) as usize + 64 * nth);
    let empty = headers.find(|at| word(at + 4) == 8).unwrap();
    bytes.copy_within(table..table + 64, empty);
    let (code, told) = checked(&folder, &bytes);
    assert!(code == Some(3) && told.contains("linkers differ"), "{told}");
}

/// LLD takes the indices of sections from the last such table, GNU ld from the first.
#[test]
fn objects_have_one_table_of_symbols() {
    let folder = Folder::new();
    let mut object = assembled(&folder, &list(&module_after(PLAIN, ""), TEXTS, "image, end"));
    let word = |at: usize| u32::from_le_bytes(object[at..at + 4].try_into().unwrap());
    let headers = || (0..usize::from(object[60])).map(|nth| word(40) as usize + 64 * nth);
    // SHT_SYMTAB takes the place of SHT_NOBITS.
    let of_type = |kind| headers().find(|at| word(at + 4) == kind).unwrap();
    let (symbols, empty) = (of_type(2), of_type(8));
    object.copy_within(symbols..symbols + 64, empty);
    let (code, told) = checked(&folder, &object);
    assert!(code == Some(3) && told.contains("linkers differ"), "{told}");
}

/// Linkers go by names, types and flags.
#[test]
fn sections_that_linkers_write_anew_are_not_judged() {
    for (section, expected) in [
        (".section .imgs,\"aw\",@progbits", 0),
        (".section .eh_frame,\"a\",@progbits", 3),
        (".section .note.gnu.property,\"a\",@note", 3),
        (".section .zdebug_imgs,\"a\",@progbits", 3),
        (".section .gcc_except_table,\"a\",@progbits", 3),
        (".section .ctors,\"aw\",@progbits", 3),
        (".section .imgs,\"a\",@0x60000001", 3),
        (".section .imgs,\"awT\",@progbits", 1),
        (".section .imgs,\"ae\",@progbits", 1),
    ] {
        let (code, told) = judged(&module_after(section, ""), "image, end");
        assert!(code == Some(expected) || (expected > 0 && code == Some(3)), "{section} {code:?}: {told}");
    }
}

/// A linker that needs no table for a thread's variable puts other code there, from before the place on.
/// Distances in tables of jumps stand right before constants, and code that may be far from data has wide ones.
#[test]
fn distances_reach_as_far_as_they_are_wide() {
    for (before, kind, expected) in [(4, "PC32", 0), (3, "PC32", 3), (8, "PC64", 0), (7, "PC64", 3), (8, "GOTOFF64", 0)]
    {
        let distance = format!(".skip {}\n.reloc ., R_X86_64_{kind}, other\n.skip {before}\nimage:", 16 - before);
        let (code, told) = judged(&module_after(PLAIN, "").replace("image:", &distance), "image, end");
        assert_eq!(code, Some(expected), "{kind} {before}: {told}");
    }
}

#[test]
fn relocations_that_rewrite_code_reach_beyond_their_place() {
    let thread = ".section .tdata,\"awT\",@progbits\nvariable: .quad 0\n";
    for (kind, expected) in [("PC32", 0), ("TLSGD", 3), ("TLSLD", 3), ("GOTPCRELX", 3)] {
        let image = module_after(PLAIN, "")
            .replace("image:", &format!(".quad 0\n.reloc ., R_X86_64_{kind}, variable\n.quad 0\nimage:"));
        let (code, told) = judged(&format!("{thread}{image}"), "image, end");
        assert_eq!(code, Some(expected), "{kind}: {told}");
    }
}

/// Compilers write such relocations into the first and the last word of a section.
#[test]
fn code_at_the_begin_and_end_of_a_section_is_read() {
    let code = ".text\n.globl get\nget: .reloc ., R_X86_64_GOTPCRELX, variable - 4\n.long 0\n.section .more,\"ax\",@progbits\n\
                .reloc ., R_X86_64_TLSGD, variable - 4\n.long 0\n";
    let (code, told) = judged(&format!("{code}{}", module_after(PLAIN, "")), "image, end");
    assert_eq!(code, Some(0), "{told}");
}

/// In a library another of them is the last than in the object.
#[test]
fn several_relocations_of_one_place_leave_it_open() {
    for (place, expected) in [("structure + 32", 3), ("structure + 36", 3), ("structure + 80", 0)] {
        let folder = Folder::new();
        let relocation = format!("\n.reloc {place}, R_X86_64_64, image");
        let source = list(&module_after(PLAIN, ""), TEXTS, "image, end") + &relocation + "\n";
        let source = source.replace(".quad 0x10001, structure", ".quad 0\n.quad 0x10001, structure");
        let (code, told) = checked(&folder, &assembled(&folder, &source));
        assert_eq!(code, Some(expected), "{place}: {told}");
    }
}

/// The linker says where sections come to lie to each other, and which of several objects' definitions counts.
#[test]
fn pointers_to_what_a_linker_chooses_leave_kernels_unknown() {
    let group = ".section .img,\"aG\",@progbits,group,comdat";
    let once = ".section .gnu.linkonce.r.image,\"a\",@progbits";
    let cases = [
        (PLAIN, ".globl image, end", 0),
        (PLAIN, ".weak image, end", 1),
        (PLAIN, ".weak end", 1),
        (PLAIN, ".globl image\n.type image, @gnu_indirect_function", 3),
        (PLAIN, ".globl image\n.hidden image\n.type image, @tls_object", 3),
        (PLAIN, ".globl image\n.type image, @gnu_unique_object", 1),
        (group, ".globl image, end", 1),
        (group, "", 0),
        (once, ".globl image, end", 1),
    ];
    for (section, symbols, expected) in cases {
        let (code, told) = judged(&module_after(section, symbols), "image, end");
        assert_eq!(code, Some(expected), "{section} {symbols}: {told}");
    }
    // The image is at address 0x10000 here, and behind it, at a multiple of 16, other sections.
    for away in (0..0x400).step_by(16) {
        let payload = format!("other - {away}, other - {away} + {}", module("k", 0).len());
        let (code, told) = judged(&module_after(PLAIN, ""), &payload);
        assert_ne!(code, Some(0), "{away}: {told}");
    }
}

#[test]
fn sections_of_windows_that_a_linker_chooses_from_leave_kernels_unknown() {
    use object::write::{Object, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, pe};
    let folder = Folder::new();
    let write = |scope: object::SymbolScope, typ| {
        let mut file = Object::new(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little);
        let image = file.add_section(Vec::new(), b"img".to_vec(), SectionKind::ReadOnlyData);
        let data = file.add_section(Vec::new(), b"lists".to_vec(), SectionKind::Data);
        let code = module("k", 0);
        file.append_section_data(image, &code, 16);
        // Texts at 0, the entry at 16, the structure at 48, the list at 128.
        let words = |all: &[u64]| all.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let structures =
            [words(&[0; 4]), words(&[0x0204_0003, 0, 0, 0, 0, 0, 0, 0, 0, 0]), words(&[0x1_0001, 0, 0, 0])];
        file.append_section_data(data, &[b"spir64\0\0k\0\0\0\0\0\0\0".to_vec(), structures.concat()].concat(), 16);
        let (value, size, kind, flags) = (0, 0, object::SymbolKind::Data, SymbolFlags::None);
        let symbol = Symbol {
            name: b"image".to_vec(),
            value,
            size,
            kind,
            scope,
            weak: false,
            section: SymbolSection::Section(image),
            flags,
        };
        let (named, own) = (file.add_symbol(symbol), file.section_symbol(data));
        let len = code.len() as i64;
        let places = [
            (16, own, 8),
            (24, own, 8),
            (56, own, 0),
            (80, named, 0),
            (88, named, len),
            (96, own, 16),
            (104, own, 48),
            (136, own, 48),
        ];
        for (offset, symbol, addend) in places {
            let flags = RelocationFlags::Coff { typ };
            file.add_relocation(data, Relocation { offset, symbol, addend, flags }).unwrap();
        }
        file.write().unwrap()
    };
    let make = |scope| write(scope, pe::IMAGE_REL_AMD64_ADDR64);
    let local = object::SymbolScope::Compilation;
    let (code, told) = checked(&folder, &write(local, pe::IMAGE_REL_AMD64_ADDR32));
    assert_ne!(code, Some(0), "addresses of 32 bits are cut: {told}");
    // IMAGE_SYM_CLASS_BLOCK
    let mut bytes = make(local);
    let name = bytes.windows(8).rposition(|name| name == b"image\0\0\0").unwrap();
    assert_eq!(bytes[name + 16], 3);
    bytes[name + 16] = 100;
    let (code, told) = checked(&folder, &bytes);
    assert_ne!(code, Some(0), "a symbol of an odd class: {told}");
    for (name, flags, expected) in [(b"img\0\0\0", 0, 0), (b".pdata", 0, 3), (b"img\0\0\0", 0x80, 3)] {
        let mut bytes = make(local);
        bytes[20..26].copy_from_slice(name);
        // IMAGE_SCN_CNT_UNINITIALIZED_DATA
        bytes[20 + 36] |= flags;
        let (code, told) = checked(&folder, &bytes);
        assert!(code == Some(expected) || (expected > 0 && code == Some(3)), "{name:?} {flags}: {told}");
    }
    for (scope, chosen, expected) in [
        (object::SymbolScope::Linkage, false, 0),
        (object::SymbolScope::Linkage, true, 1),
        (object::SymbolScope::Compilation, true, 0),
    ] {
        let mut bytes = make(scope);
        assert_eq!(bytes[20..23], *b"img");
        // IMAGE_SCN_LNK_COMDAT
        bytes[20 + 37] |= if chosen { 0x10 } else { 0 };
        let (code, told) = checked(&folder, &bytes);
        assert_eq!(code, Some(expected), "{scope:?} {chosen}: {told}");
        bytes[20 + 12] = 16;
        let (code, told) = checked(&folder, &bytes);
        assert_eq!(code, Some(3), "a section with an address: {told}");
    }
}

/// GCC's plugin and LLD compile it, whatever code stands beside it.
#[test]
fn intermediate_code_that_linkers_compile_is_told() {
    let folder = Folder::new();
    let whole = list(&module_after(PLAIN, ""), TEXTS, "image, end");
    let code = |name: &str, text: &str| format!(".section {name},\"e\",@progbits\n.asciz \"{text}\"\n");
    for (source, expected) in [
        (format!("{whole}{}", code(".gnu.lto_main.1", "x")), 3),
        (format!("{whole}{}", code(".llvm.lto", "x")), 3),
        (format!("{whole}{}", code(".gnu.other", "x")), 0),
        (code(".gnu.lto_.symtab.1", "__sycl_register_lib"), 3),
        (code(".gnu.lto_.symtab.1", "main"), 6),
    ] {
        let (seen, told) = checked(&folder, &assembled(&folder, &source));
        assert_eq!(seen, Some(expected), "{source}: {told}");
    }
}
