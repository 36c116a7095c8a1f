//! At which offset and address is each part of the library?

use super::write::{self, Names, Section};
use super::{FUNCTION_SIZE, Machine, SharedOptions, writing};
use crate::error::{Error, Result};
use crate::rewrite::image_data::{Block, ImageData, Location, PAYLOAD_ALIGN, Word};
use object::write::StringId;
use object::write::elf::Writer;

/// Range in the file and in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) size: u64,
}

impl Extent {
    pub(super) fn end(self) -> u64 {
        self.offset + self.size
    }
}

/// Number of program headers: three segments, dynamic, read-only after relocation, stack.
pub(super) const SEGMENTS: u32 = 6;

/// Called functions, in the order of their symbols (from 1) and slots.
pub(super) const FUNCTIONS: [&str; 2] = ["__sycl_register_lib", "__sycl_unregister_lib"];

/// Ranges of all parts, in file order.
pub(super) struct Layout<'a> {
    pub(super) data: &'a ImageData<'a>,
    pub(super) machine: Machine,
    pub(super) soname: StringId,
    pub(super) runtime: StringId,
    pub(super) functions: [StringId; 2],
    pub(super) hash: Extent,
    pub(super) dynsym: Extent,
    pub(super) dynstr: Extent,
    pub(super) rela: Extent,
    pub(super) constants: Extent,
    pub(super) payloads: Vec<Extent>,
    pub(super) text: Extent,
    pub(super) init: Extent,
    pub(super) fini: Extent,
    pub(super) tgtimg: Extent,
    pub(super) structures: Extent,
    pub(super) dynamic: Extent,
    pub(super) got: Extent,
    pub(super) comment: Vec<u8>,
    pub(super) comment_offset: u64,
    pub(super) sections: Vec<Section>,
    /// Number of relative relocations; there is one other per slot.
    pub(super) relative: usize,
}

/// Number of entries of `.dynamic`, which `write` fills.
pub(super) const DYNAMIC_ENTRIES: usize = 16;

/// Number of hash buckets; one is enough for so few symbols.
pub(super) const HASH_BUCKETS: u32 = 1;
pub(super) const SYMBOLS: u32 = 1 + FUNCTIONS.len() as u32;

pub(super) const RELA_SIZE: u64 = 24;

impl<'a> Layout<'a> {
    pub(super) fn new(
        writer: &mut Writer<'a>,
        data: &'a ImageData<'a>,
        options: &SharedOptions<'a>,
        names: &'a Names,
    ) -> Result<Self> {
        let soname = writer.add_dynamic_string(options.soname.as_bytes());
        let runtime = writer.add_dynamic_string(options.runtime.as_bytes());
        let functions = FUNCTIONS.map(|name| writer.add_dynamic_string(name.as_bytes()));
        for _ in FUNCTIONS {
            writer.reserve_dynamic_symbol_index();
        }
        let addresses = data.structures.iter().filter(|word| matches!(word, Word::Address(_))).count();
        let descriptors = data.descriptors.len() as u64;
        let relative = addresses + data.ranges.len() + 2 * data.descriptors.len();

        writer.reserve_file_header();
        writer.reserve_program_headers(SEGMENTS);
        // Segments have separate pages in memory and share pages in the file, so each address is a page further than
        // the offset.
        let page = page_size(options.machine);
        let (read, execute, write) = (0, page, 2 * page);
        let place = |bias: u64, offset: u64, size: u64| Extent { offset, address: offset + bias, size };
        let after = |writer: &Writer<'a>, bias, offset| place(bias, offset, writer.reserved_len() - offset);

        let offset = writer.reserve_hash(HASH_BUCKETS, SYMBOLS);
        let hash = after(writer, read, offset);
        let offset = writer.reserve_dynsym();
        let dynsym = after(writer, read, offset);
        let offset = writer.reserve_dynstr().map_err(writing)?;
        let dynstr = after(writer, read, offset);
        let mut reserve = |bias, size, align| place(bias, writer.reserve(size, align), size);
        let rela = reserve(read, (relative + FUNCTIONS.len()) as u64 * RELA_SIZE, 8);
        let constants = reserve(read, data.constants.len() as u64, 8);
        let payloads = data.payloads.iter().map(|block| reserve(read, block.size, PAYLOAD_ALIGN)).collect();
        let text = reserve(execute, descriptors * 2 * FUNCTION_SIZE, 16);
        let init = reserve(write, descriptors * 8, 16);
        let fini = reserve(write, descriptors * 8, 8);
        let tgtimg = reserve(write, data.ranges.len() as u64 * 16, 16);
        let structures = reserve(write, data.structures.len() as u64 * 8, 16);
        let offset = writer.reserve_dynamic(DYNAMIC_ENTRIES);
        let dynamic = after(writer, write, offset);
        let got = place(write, writer.reserve(FUNCTIONS.len() as u64 * 8, 8), FUNCTIONS.len() as u64 * 8);

        let tool = concat!("sycl-bundle ", env!("CARGO_PKG_VERSION"));
        let comment: Vec<u8> =
            options.comments.iter().chain([&tool]).flat_map(|line| [line, "\0"].concat().into_bytes()).collect();
        let comment_offset = writer.reserve(comment.len() as u64, 1);
        let mut layout = Layout {
            data,
            machine: options.machine,
            soname,
            runtime,
            functions,
            hash,
            dynsym,
            dynstr,
            rela,
            constants,
            payloads,
            text,
            init,
            fini,
            tgtimg,
            structures,
            dynamic,
            got,
            comment,
            comment_offset,
            sections: Vec::new(),
            relative,
        };
        layout.sections = write::plan(writer, &layout, names);
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab().map_err(writing)?;
        writer.reserve_section_headers();
        Ok(layout)
    }

    /// Returns the address of a location in the images' data.
    pub(super) fn address(&self, location: Location) -> Result<u64> {
        let block = match location.block {
            Block::Constants => Some(&self.constants),
            Block::Structures => Some(&self.structures),
            Block::Payloads(index) => self.payloads.get(index),
        };
        let block = block.ok_or_else(|| Error::input("an image without a payload block"))?;
        Ok(block.address + location.offset)
    }

    /// Returns the segments that are read, executed, and written by the loader.
    pub(super) fn segments(&self) -> [Extent; 3] {
        let read_end = self.payloads.last().unwrap_or(&self.constants).end();
        let read = Extent { offset: 0, address: 0, size: read_end };
        let write = Extent { size: self.got.end() - self.init.offset, ..self.init };
        [read, self.text, write]
    }
}

/// Returns the largest page size of systems with this machine.
pub(super) fn page_size(machine: Machine) -> u64 {
    match machine {
        Machine::X86_64 => 0x1000,
        Machine::Aarch64 => 0x1_0000,
    }
}
