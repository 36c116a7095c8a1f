//! Which bytes does each part of the library have?
//!
//! The loader needs no section headers; tools do, and find `.tgtimg` and the sections of payloads by name.

use super::{Extent, FUNCTIONS, HASH_BUCKETS, Layout, RELA_SIZE, SYMBOLS, page_size};
use super::{FUNCTION_SIZE, Machine, writing};
use crate::error::Result;
use crate::rewrite::image_data::{ImageData, PAYLOAD_ALIGN, Word};
use object::elf;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};

/// Writes all parts in the order of the layout.
pub(super) fn write(writer: &mut Writer<'_>, layout: &Layout<'_>) -> Result<()> {
    headers(writer, layout)?;
    dynamic_symbols(writer, layout);
    relocations(writer, layout)?;
    writer.pad_until(layout.constants.offset);
    writer.write(&layout.data.constants);
    for (block, place) in layout.data.payloads.iter().zip(&layout.payloads) {
        for (offset, bytes) in &block.parts {
            writer.pad_until(place.offset + offset);
            writer.write(bytes);
        }
    }
    writer.pad_until(layout.text.offset);
    for (i, descriptor) in (0..).zip(&layout.data.descriptors) {
        for slot in 0..2 {
            let function = super::function(
                layout.machine,
                function(layout, i, slot),
                layout.address(*descriptor)?,
                layout.got.address + slot * 8,
            )?;
            writer.write(&function);
        }
    }
    // Addends are also in place, for readers that do not relocate.
    writer.pad_until(layout.init.offset);
    for slot in 0..2 {
        for i in 0..layout.data.descriptors.len() as u64 {
            writer.write(&function(layout, i, slot).to_le_bytes());
        }
    }
    writer.pad_until(layout.tgtimg.offset);
    for range in &layout.data.ranges {
        writer.write(&layout.address(range.at)?.to_le_bytes());
        writer.write(&range.size.to_le_bytes());
    }
    writer.pad_until(layout.structures.offset);
    for word in &layout.data.structures {
        let value = match word {
            Word::Value(value) => *value,
            Word::Address(location) => layout.address(*location)?,
        };
        writer.write(&value.to_le_bytes());
    }
    dynamic(writer, layout).map_err(writing)?;
    writer.pad_until(layout.got.offset + layout.got.size);
    writer.pad_until(layout.comment_offset);
    writer.write(&layout.comment);
    writer.write_shstrtab();
    section_headers(writer, layout);
    Ok(())
}

/// Returns the address of the constructor (slot 0) or destructor (slot 1) of a descriptor.
fn function(layout: &Layout<'_>, descriptor: u64, slot: u64) -> u64 {
    layout.text.address + (descriptor * 2 + slot) * FUNCTION_SIZE
}

fn headers(writer: &mut Writer<'_>, layout: &Layout<'_>) -> Result<()> {
    let header = FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: match layout.machine {
            Machine::X86_64 => elf::EM_X86_64,
            Machine::Aarch64 => elf::EM_AARCH64,
        },
        e_entry: 0,
        e_flags: elf::FileFlags(0),
    };
    writer.write_file_header(&header).map_err(writing)?;
    writer.write_align_program_headers();
    let page = page_size(layout.machine);
    let mut segment = |kind, flags, place: Extent, memory: u64, align| {
        writer.write_program_header(&ProgramHeader {
            p_type: kind,
            p_flags: flags,
            p_offset: place.offset,
            p_vaddr: place.address,
            p_paddr: place.address,
            p_filesz: place.size,
            p_memsz: memory,
            p_align: align,
        });
    };
    let [read, execute, write] = layout.segments();
    // The loader protects whole pages only, so the protected range extends to the end of the last page.
    let protected = (write.address + write.size).next_multiple_of(page) - write.address;
    segment(elf::PT_LOAD, elf::PF_R, read, read.size, page);
    segment(elf::PT_LOAD, elf::PF_R | elf::PF_X, execute, execute.size, page);
    segment(elf::PT_LOAD, elf::PF_R | elf::PF_W, write, protected, page);
    segment(elf::PT_DYNAMIC, elf::PF_R | elf::PF_W, layout.dynamic, layout.dynamic.size, 8);
    segment(elf::PT_GNU_RELRO, elf::PF_R, write, protected, 1);
    segment(elf::PT_GNU_STACK, elf::PF_R | elf::PF_W, Extent { offset: 0, address: 0, size: 0 }, 0, 16);
    Ok(())
}

fn dynamic_symbols(writer: &mut Writer<'_>, layout: &Layout<'_>) {
    let hash = |symbol: u32| FUNCTIONS.get((symbol as usize).wrapping_sub(1)).map(|name| elf::hash(name.as_bytes()));
    writer.write_hash(HASH_BUCKETS, SYMBOLS, hash);
    writer.write_null_dynamic_symbol();
    for name in layout.functions {
        writer.write_dynamic_symbol(&Sym {
            section: None,
            st_name: writer.dynamic_string_offset(Some(name)),
            st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_NOTYPE),
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SHN_UNDEF,
            st_value: 0,
            st_size: 0,
        });
    }
    writer.write_dynstr();
}

/// Writes the relative relocations first and by address, as `DT_RELACOUNT` requires; then those of the slots.
fn relocations(writer: &mut Writer<'_>, layout: &Layout<'_>) -> Result<()> {
    let (relative, slot) = match layout.machine {
        Machine::X86_64 => (elf::R_X86_64_RELATIVE, elf::R_X86_64_GLOB_DAT),
        Machine::Aarch64 => (elf::R_AARCH64_RELATIVE, elf::R_AARCH64_GLOB_DAT),
    };
    writer.pad_until(layout.rela.offset);
    let mut relocate = |r_offset, target: u64| {
        let rel = Rel { r_offset, r_sym: 0, r_type: relative, r_addend: target.cast_signed() };
        writer.write_relocation(true, &rel);
    };
    for (slot, array) in [(0, layout.init), (1, layout.fini)] {
        for i in 0..layout.data.descriptors.len() as u64 {
            relocate(array.address + i * 8, function(layout, i, slot));
        }
    }
    for (i, range) in (0..).zip(&layout.data.ranges) {
        relocate(layout.tgtimg.address + i * 16, layout.address(range.at)?);
    }
    for (i, word) in (0..).zip(&layout.data.structures) {
        if let Word::Address(location) = word {
            relocate(layout.structures.address + i * 8, layout.address(*location)?);
        }
    }
    for i in 0..FUNCTIONS.len() as u32 {
        let r_offset = layout.got.address + u64::from(i) * 8;
        writer.write_relocation(true, &Rel { r_offset, r_sym: i + 1, r_type: slot, r_addend: 0 });
    }
    Ok(())
}

fn dynamic(writer: &mut Writer<'_>, layout: &Layout<'_>) -> object::write::Result<()> {
    writer.write_align_dynamic();
    writer.write_dynamic_string(elf::DT_NEEDED, layout.runtime)?;
    writer.write_dynamic_string(elf::DT_SONAME, layout.soname)?;
    for (tag, value) in [
        (elf::DT_INIT_ARRAY, layout.init.address),
        (elf::DT_INIT_ARRAYSZ, layout.init.size),
        (elf::DT_FINI_ARRAY, layout.fini.address),
        (elf::DT_FINI_ARRAYSZ, layout.fini.size),
        (elf::DT_HASH, layout.hash.address),
        (elf::DT_STRTAB, layout.dynstr.address),
        (elf::DT_SYMTAB, layout.dynsym.address),
        (elf::DT_STRSZ, layout.dynstr.size),
        (elf::DT_SYMENT, 24),
        (elf::DT_RELA, layout.rela.address),
        (elf::DT_RELASZ, layout.rela.size),
        (elf::DT_RELAENT, 24),
        (elf::DT_RELACOUNT, layout.relative as u64),
        (elf::DT_NULL, 0),
    ] {
        writer.write_dynamic(tag, value)?;
    }
    Ok(())
}

fn section_headers(writer: &mut Writer<'_>, layout: &Layout<'_>) {
    writer.write_null_section_header();
    for section in &layout.sections {
        match section {
            Section::Hash => writer.write_hash_section_header(layout.hash.address),
            // The null symbol is the only local one.
            Section::Dynsym => writer.write_dynsym_section_header(layout.dynsym.address, 1),
            Section::Dynstr => writer.write_dynstr_section_header(layout.dynstr.address),
            Section::Dynamic => writer.write_dynamic_section_header(layout.dynamic.address),
            Section::Plain(name, header) => {
                let sh_name = writer.section_name_offset(Some(*name));
                writer.write_section_header(&SectionHeader { sh_name, ..header.clone() });
            }
        }
    }
    writer.write_shstrtab_section_header();
}

/// Names of sections that depend on the images.
pub(super) struct Names {
    payloads: Vec<String>,
}

impl Names {
    pub(super) fn new(data: &ImageData) -> Self {
        let name = |target| format!("__CLANG_OFFLOAD_BUNDLE__sycl-{target}");
        Names { payloads: data.payloads.iter().map(|block| name(block.target)).collect() }
    }
}

/// Section, in order of the headers. The writer fills in the tables that it knows.
pub(super) enum Section {
    Hash,
    Dynsym,
    Dynstr,
    Dynamic,
    /// Any other section; the offset of its name is filled in once all names are known.
    Plain(StringId, SectionHeader),
}

/// Reserves all section headers but that of `.shstrtab`, in address order.
pub(super) fn plan<'a>(writer: &mut Writer<'a>, layout: &Layout<'a>, names: &'a Names) -> Vec<Section> {
    let read = elf::SHF_ALLOC;
    let execute = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    let write = elf::SHF_ALLOC | elf::SHF_WRITE;
    let text = elf::SHF_MERGE | elf::SHF_STRINGS;

    writer.reserve_hash_section_index();
    let symbols = writer.reserve_dynsym_section_index();
    writer.reserve_dynstr_section_index();
    let mut plan = Plan { writer, sections: vec![Section::Hash, Section::Dynsym, Section::Dynstr] };
    plan.table(".rela.dyn", elf::SHT_RELA, read, layout.rela, RELA_SIZE, symbols);
    plan.bytes(".rodata", read, layout.constants, 8);
    for (name, place) in names.payloads.iter().zip(&layout.payloads) {
        plan.bytes(name, read, *place, PAYLOAD_ALIGN);
    }
    plan.bytes(".text", execute, layout.text, 16);
    plan.table(".init_array", elf::SHT_INIT_ARRAY, write, layout.init, 8, NONE);
    plan.table(".fini_array", elf::SHT_FINI_ARRAY, write, layout.fini, 8, NONE);
    plan.bytes(".tgtimg", write, layout.tgtimg, 16);
    plan.bytes(".data.rel.ro", write, layout.structures, 16);
    plan.writer.reserve_dynamic_section_index();
    plan.sections.push(Section::Dynamic);
    plan.table(".got", elf::SHT_PROGBITS, write, layout.got, 8, NONE);
    let comment = Extent { offset: layout.comment_offset, address: 0, size: layout.comment.len() as u64 };
    plan.add(".comment", elf::SHT_PROGBITS, text, comment, |header| header.sh_entsize = 1);
    plan.sections
}

/// Null section, for a table that refers to no other.
const NONE: SectionIndex = SectionIndex(0);

struct Plan<'w, 'a> {
    writer: &'w mut Writer<'a>,
    sections: Vec<Section>,
}

impl<'a> Plan<'_, 'a> {
    fn bytes(&mut self, name: &'a str, flags: elf::SectionFlags, place: Extent, align: u64) {
        self.add(name, elf::SHT_PROGBITS, flags, place, |header| header.sh_addralign = align);
    }

    /// Adds a section of equal entries with alignment 8.
    fn table(
        &mut self,
        name: &'a str,
        kind: elf::SectionType,
        flags: elf::SectionFlags,
        place: Extent,
        entry: u64,
        link: SectionIndex,
    ) {
        self.add(name, kind, flags, place, |header| {
            header.sh_addralign = 8;
            header.sh_entsize = entry;
            header.sh_link = link.0;
        });
    }

    fn add(
        &mut self,
        name: &'a str,
        sh_type: elf::SectionType,
        sh_flags: elf::SectionFlags,
        place: Extent,
        rest: impl FnOnce(&mut SectionHeader),
    ) {
        let mut header = SectionHeader {
            sh_name: 0,
            sh_type,
            sh_flags,
            sh_addr: place.address,
            sh_offset: place.offset,
            sh_size: place.size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 1,
            sh_entsize: 0,
        };
        rest(&mut header);
        let name = self.writer.add_section_name(name.as_bytes());
        self.writer.reserve_section_index();
        self.sections.push(Section::Plain(name, header));
    }
}
