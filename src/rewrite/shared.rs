//! How are images brought into a process without changing its files?
//!
//! [`shared_library`] writes an ELF library that does one thing: when it is loaded (linked to, opened, preloaded) it
//! registers its images with the SYCL runtime, and when it is unloaded it unregisters them. No compiler or linker is
//! needed. Crate `object` writes the ELF structures; this module provides the instructions of each constructor and the
//! layout:
//!
//! | segment | sections |
//! |---|---|
//! | read | `.hash`, `.dynsym`, `.dynstr`, `.rela.dyn`, `.rodata`, `__CLANG_OFFLOAD_BUNDLE__sycl-<target>` per target |
//! | execute | `.text` |
//! | write, read-only after relocation | `.init_array`, `.fini_array`, `.tgtimg`, `.data.rel.ro`, `.dynamic`, `.got` |
//! | not loaded | `.comment` |
//!
//! Sections of payloads and `.tgtimg` have the names and contents that clang-offload-wrapper gives them, so tools that
//! look for them find them. The same images and options give the same bytes.
//!
//! Each descriptor has a constructor and a destructor, which load the descriptor's address into the first argument's
//! register and jump to the runtime's function through its slot of the global offset table. It is a jump, not a call:
//! the function returns to the caller of the constructor, and the stack stays aligned.

mod write;

use self::write::Section;
use super::image_data::{EntryForm, ImageData, ImageVersion, OutImage};
use super::object_buffer;
use crate::bytes::Draft;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::image_data::{Block, Location, PAYLOAD_ALIGN, Word};
use object::Endianness;
use object::write::StringId;
use object::write::elf::Writer;
use write::Names;

/// Options of a shared library.
#[derive(Debug, Clone)]
pub struct SharedOptions<'a> {
    /// Processor of the host.
    pub machine: Machine,
    /// `DT_SONAME`: the name under which other files link to it.
    pub soname: &'a str,
    /// `DT_NEEDED`: the library with the runtime's registration functions, for example `libsycl.so.9`.
    pub runtime: &'a str,
    /// Version of the image structures that the runtime reads.
    pub version: ImageVersion,
    /// Form of the entry structures.
    pub entries: EntryForm,
    /// Lines for `.comment` before the line of this tool. The compiler of the images belongs here, since readers derive
    /// the meaning of aspect numbers from it.
    pub comments: &'a [&'a str],
}

impl<'a> SharedOptions<'a> {
    /// Returns options for the runtime of DPC++ 2026 on x86-64: `libsycl.so.9`, image structures of version 3, and old
    /// entries, which are what its own wrapper writes.
    pub fn new(soname: &'a str) -> Self {
        SharedOptions {
            machine: Machine::X86_64,
            soname,
            runtime: "libsycl.so.9",
            version: ImageVersion::V3,
            entries: EntryForm::Old,
            comments: &[],
        }
    }
}

/// Writes a library that registers `images`, in their order. More than 65,535 images take several descriptors.
///
/// # Errors
/// Errors of [`ImageData::new`]; `Input` for a name with a NUL byte in the options, and for images so large that code
/// cannot reach the structures (gigabytes of property sets).
pub fn shared_library(images: &[OutImage<'_>], options: &SharedOptions<'_>) -> Result<Draft> {
    let named = [options.soname, options.runtime];
    if let Some(name) = named.iter().chain(options.comments).find(|name| name.contains('\0')) {
        return Err(Error::new(ErrorKind::Usage, format!("the name {name:?} contains a NUL byte")));
    }
    let data = ImageData::new(images, options.version, options.entries)?;
    let names = Names::new(&data);
    object_buffer::written(|buffer| {
        let mut writer = Writer::new(Endianness::Little, true, buffer);
        let layout = Layout::new(&mut writer, &data, options, &names)?;
        write::write(&mut writer, &layout)
    })
}

/// Converts errors of the writer, which concern only extreme sizes.
fn writing(error: object::write::Error) -> Error {
    Error::input(format!("the library cannot be written: {error}"))
}

/// Processor of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit ARM, little-endian.
    Aarch64,
}

/// Distance from one function to the next in bytes, on every machine.
const FUNCTION_SIZE: u64 = 32;

/// Returns the code at address `here` that calls the function in the slot `slot` with the address `argument`.
///
/// # Errors
/// `Input` where the argument or the slot is out of reach (2 GiB on x86-64, 4 GiB on ARM).
fn function(machine: Machine, here: u64, argument: u64, slot: u64) -> Result<Vec<u8>> {
    let mut code = match machine {
        Machine::X86_64 => x86_64(here, argument, slot),
        Machine::Aarch64 => aarch64(here, argument, slot),
    }
    .ok_or_else(|| Error::input("the images are too large for one library").with_remedy("write several libraries"))?;
    // The rest is filled with instructions that trap; it is never executed.
    let filler = if machine == Machine::X86_64 { INT3 } else { 0 };
    code.resize(FUNCTION_SIZE as usize, filler);
    Ok(code)
}

/// Instruction `int3`. On ARM zeros trap (`udf #0`).
const INT3: u8 = 0xcc;

/// ```text
/// 48 8d 3d dd dd dd dd    lea rdi, [rip + argument]
/// ff 25 dd dd dd dd       jmp [rip + slot]
/// ```
/// Displacements count from the end of their instruction.
fn x86_64(here: u64, argument: u64, slot: u64) -> Option<Vec<u8>> {
    let displacement = |from: u64, to: u64| {
        let difference = i64::try_from(to).ok()?.checked_sub(i64::try_from(from).ok()?)?;
        Some(i32::try_from(difference).ok()?.to_le_bytes())
    };
    let mut code = vec![0x48, 0x8d, 0x3d];
    code.extend(displacement(here.checked_add(7)?, argument)?);
    code.extend([0xff, 0x25]);
    code.extend(displacement(here.checked_add(13)?, slot)?);
    Some(code)
}

/// ```text
/// adrp x0, argument           1 immlo:2 10000 immhi:19 rd:5       page of the target, relative to this one's
/// add  x0, x0, #low12         100100010 0 imm:12 rn:5 rd:5
/// adrp x16, slot
/// ldr  x16, [x16, #low12]     1111100101 imm:12 (in units of 8) rn:5 rt:5
/// br   x16                    1101011000011111000000 rn:5 00000
/// ```
/// The procedure call standard reserves x16 for such veneers.
fn aarch64(here: u64, argument: u64, slot: u64) -> Option<Vec<u8>> {
    let adrp = |register: u32, at: u64, to: u64| {
        let pages = i64::try_from(to >> 12).ok()?.checked_sub(i64::try_from(at >> 12).ok()?)?;
        let bits = (-(1 << 20)..1 << 20).contains(&pages).then_some(pages as u32)?;
        Some(0x9000_0000 | (bits & 3) << 29 | (bits >> 2 & 0x7_ffff) << 5 | register)
    };
    let low = |address: u64| (address & 0xfff) as u32;
    let words = [
        adrp(0, here, argument)?,
        0x9100_0000 | low(argument) << 10,
        adrp(16, here.checked_add(8)?, slot)?,
        0xf940_0000 | (low(slot) / 8) << 10 | 16 << 5 | 16,
        0xd61f_0200,
    ];
    Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Range in the file and in memory.
#[derive(Debug, Clone, Copy)]
struct Extent {
    offset: u64,
    address: u64,
    size: u64,
}

impl Extent {
    fn end(self) -> u64 {
        self.offset + self.size
    }
}

/// Number of program headers: three segments, dynamic, read-only after relocation, stack.
const SEGMENTS: u32 = 6;

/// Called functions, in the order of their symbols (from 1) and slots.
const FUNCTIONS: [&str; 2] = ["__sycl_register_lib", "__sycl_unregister_lib"];

/// Ranges of all parts, in file order.
struct Layout<'a> {
    data: &'a ImageData<'a>,
    machine: Machine,
    soname: StringId,
    runtime: StringId,
    functions: [StringId; 2],
    hash: Extent,
    dynsym: Extent,
    dynstr: Extent,
    rela: Extent,
    constants: Extent,
    payloads: Vec<Extent>,
    text: Extent,
    init: Extent,
    fini: Extent,
    tgtimg: Extent,
    structures: Extent,
    dynamic: Extent,
    got: Extent,
    comment: Vec<u8>,
    comment_offset: u64,
    sections: Vec<Section>,
    /// Number of relative relocations; there is one other per slot.
    relative: usize,
}

/// Number of entries of `.dynamic`, which `write` fills.
const DYNAMIC_ENTRIES: usize = 16;

/// Number of hash buckets; one is enough for so few symbols.
const HASH_BUCKETS: u32 = 1;
const SYMBOLS: u32 = 1 + FUNCTIONS.len() as u32;

const RELA_SIZE: u64 = 24;

impl<'a> Layout<'a> {
    fn new(
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
    fn address(&self, location: Location) -> Result<u64> {
        let block = match location.block {
            Block::Constants => Some(&self.constants),
            Block::Structures => Some(&self.structures),
            Block::Payloads(index) => self.payloads.get(index),
        };
        let block = block.ok_or_else(|| Error::input("an image without a payload block"))?;
        Ok(block.address + location.offset)
    }

    /// Returns the segments that are read, executed, and written by the loader.
    fn segments(&self) -> [Extent; 3] {
        let read_end = self.payloads.last().unwrap_or(&self.constants).end();
        let read = Extent { offset: 0, address: 0, size: read_end };
        let write = Extent { size: self.got.end() - self.init.offset, ..self.init };
        [read, self.text, write]
    }
}

/// Returns the largest page size of systems with this machine.
fn page_size(machine: Machine) -> u64 {
    match machine {
        Machine::X86_64 => 0x1000,
        Machine::Aarch64 => 0x1_0000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_64_is_what_an_assembler_makes() {
        // as: lea rdi, [rip + 0x2ff9]; jmp [rip - 0xfed]
        let code = function(Machine::X86_64, 0x1000, 0x4000, 0x20).unwrap();
        assert_eq!(code[..13], [0x48, 0x8d, 0x3d, 0xf9, 0x2f, 0, 0, 0xff, 0x25, 0x13, 0xf0, 0xff, 0xff]);
        assert!(function(Machine::X86_64, 0x1000, 0x8000_1007, 0x20).is_err());
    }

    #[test]
    fn aarch64_is_what_an_assembler_makes() {
        // llvm-mc --triple=aarch64: adrp x0, #0x5000; add x0, x0, #0x238; adrp x16, #-0x1000; ldr x16, [x16, #0x18]; br x16
        let code = function(Machine::Aarch64, 0x1ffc, 0x6238, 0x1018).unwrap();
        let words: Vec<u32> = code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words[..5], [0xb000_0020, 0x9108_e000, 0xf0ff_fff0, 0xf940_0e10, 0xd61f_0200]);
        assert!(function(Machine::Aarch64, 0x1000, 1 << 33, 0x20).is_err());
    }
}
