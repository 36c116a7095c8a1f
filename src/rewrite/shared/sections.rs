//! Which section headers describe the library?
//!
//! The loader needs none; tools do, and find `.tgtimg` and the sections of payloads by name.

use object::elf;
use object::write::StringId;
use object::write::elf::{SectionHeader, SectionIndex, Writer};

use super::layout::{Extent, Layout, RELA_SIZE};
use crate::rewrite::image_data::{ImageData, PAYLOAD_ALIGN};

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
