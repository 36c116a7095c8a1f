//! How are images written into an object file for the host linker?
//!
//! [`object_file`] writes a relocatable object, ELF or COFF, which a linker adds to any host program or library. The
//! program registers its images with the SYCL runtime when it is loaded, and unregisters them when it is unloaded.
//! Crate `object` writes the file; this module provides the machine code and the contents of the sections:
//!
//! | ELF | COFF | holds |
//! |---|---|---|
//! | `.text.startup` | `.text` | a constructor and a destructor for each descriptor |
//! | `.init_array.00001`, `.fini_array.00001` | `.CRT$XCA00001`, `.CRT$XTA00001` | their addresses |
//! | `.data.rel.ro` | `.rdata` | the structures that the runtime reads |
//! | `.rodata` | `.rdata` | strings and values |
//! | `__CLANG_OFFLOAD_BUNDLE__sycl-<target>` | the same | payloads, a section for each target |
//! | `.tgtimg` | the same | place and size of each payload |
//!
//! Names, order and priority are those of DPC++'s wrappers: images are registered before the first constructor of the
//! program that could use them. All symbols but the runtime's two functions are local, so any number of such objects
//! link together. The same images and options give the same bytes.
//!
//! LLVM's own SYCL has no descriptors: [`object_file_of_binary`] writes an object that hands one OffloadBinary, which stands
//! in `.sycl_fatbin`, to the same functions, by address and size; with the names and the priority of LLVM's wrapper.
//!
//! In the machine code, the descriptor's address goes into the first argument's register, and a jump ends in the runtime's function, which
//! returns to the caller of the constructor. There is no stack frame, so nothing to unwind. Each function is a valid
//! target of indirect calls where the processor checks them.

use super::image_data::{Block, EntryForm, ImageData, ImageVersion, Location, OutImage, PAYLOAD_ALIGN, Payloads, Word};
use super::object_buffer;
use super::shared::Machine;
use crate::bytes::Draft;
use crate::error::{Error, ErrorKind, Result};
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf, pe,
};

/// Format of object files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// ELF, as on Linux.
    Elf,
    /// COFF, as on Windows.
    Coff,
}

/// Options of an object file.
#[derive(Debug, Clone)]
pub struct ObjectOptions<'a> {
    /// Processor of the host.
    pub machine: Machine,
    /// Format of the object file.
    pub format: ObjectFormat,
    /// Version of the image structures.
    pub version: ImageVersion,
    /// Form of the entry structures.
    pub entries: EntryForm,
    /// Lines for `.comment` before the line of this tool; COFF has no such section. The compiler of the images belongs
    /// here, since readers derive the meaning of aspect numbers from it.
    pub comments: &'a [&'a str],
}

/// Priority of the constructors: the highest, before constructors of the program that may submit kernels.
const PRIORITY: &str = "00001";
/// Priority of LLVM's constructors: the highest that is not the implementation's own.
const LLVM_PRIORITY: &str = "00101";

/// Writes an object that registers `images`, in their order. More than 65,535 images take several descriptors.
///
/// # Errors
/// Errors of [`ImageData::new`]; `Input` for a comment with a NUL byte, and for sizes beyond the format's limits (COFF:
/// 4 GiB).
pub fn object_file(images: &[OutImage<'_>], options: &ObjectOptions<'_>) -> Result<Draft> {
    let data = ImageData::new(images, options.version, options.entries)?;
    check(options, data.payloads.iter().map(|block| block.size).sum())?;
    let payloads = data.payloads.iter().map(block_of).collect::<Result<Vec<_>>>()?;
    let mut file = File::new(options, &data);
    file.fill(&data, &payloads)?;
    let descriptors = data.descriptors.iter().enumerate().map(|(index, descriptor)| {
        let section = file.section_of(descriptor.block)?;
        // The name of the first descriptor is that of DPC++.
        let name = format!(".sycl_offloading.descriptor{}", suffix(index));
        Ok(file.writer.symbol(&name, SymbolKind::Data, section, descriptor.offset, 32))
    });
    let descriptors = descriptors.collect::<Result<Vec<SymbolId>>>()?;
    file.writer.register(&descriptors, None, PRIORITY)?;
    file.writer.marks(options);
    written(&file.writer.object)
}

/// Returns the bytes of a payload section.
fn block_of(block: &Payloads<'_>) -> Result<Draft> {
    let mut bytes = Draft::with_capacity(usize::try_from(block.size).unwrap_or(usize::MAX))?;
    for (offset, part) in &block.parts {
        bytes.resize(usize::try_from(*offset).unwrap_or(usize::MAX))?;
        bytes.extend(part)?;
    }
    Ok(bytes)
}

/// Returns the object as a file.
fn written(object: &Object<'_>) -> Result<Draft> {
    object_buffer::written(|buffer| object.emit(buffer).map_err(writing))
}

/// The end of the names for one of several descriptors.
fn suffix(index: usize) -> String {
    if index == 0 { String::new() } else { format!(".{index}") }
}

/// Writes an object that registers one OffloadBinary, as LLVM's own SYCL does. Of `options` those of image structures count
/// for nothing.
///
/// # Errors
/// `Input` for a comment with a NUL byte, and for sizes beyond the format's limits.
pub(crate) fn object_file_of_binary(binary: &[u8], options: &ObjectOptions<'_>) -> Result<Draft> {
    check(options, binary.len() as u64)?;
    let mut file = Writer::new(options);
    let section = add(&mut file.object, ".sycl_fatbin", SectionKind::ReadOnlyData);
    file.object.set_section_data(section, binary, 8);
    let symbol = file.symbol(".sycl_offloading.binary", SymbolKind::Data, section, 0, binary.len() as u64);
    file.register(&[symbol], Some(binary.len() as u64), LLVM_PRIORITY)?;
    file.marks(options);
    written(&file.object)
}

/// Checks what no object can hold.
fn check(options: &ObjectOptions<'_>, size: u64) -> Result<()> {
    if let Some(comment) = options.comments.iter().find(|comment| comment.contains('\0')) {
        return Err(Error::new(ErrorKind::Usage, format!("the comment {comment:?} contains a NUL byte")));
    }
    if options.format == ObjectFormat::Coff && size > u64::from(u32::MAX / 2) {
        return Err(Error::input("the images are too large for one COFF object").with_remedy("write several objects"));
    }
    Ok(())
}

/// Writer of sections, symbols and machine code.
struct Writer<'a> {
    object: Object<'a>,
    machine: Machine,
    format: ObjectFormat,
}

/// Writer of an object file with descriptors.
struct File<'a> {
    writer: Writer<'a>,
    constants: SectionId,
    structures: SectionId,
    payloads: Vec<SectionId>,
    tgtimg: SectionId,
}

impl<'a> File<'a> {
    /// Creates the sections of the images.
    fn new(options: &ObjectOptions<'_>, data: &ImageData<'a>) -> Self {
        let mut writer = Writer::new(options);
        let object = &mut writer.object;
        let (constants, structures) = match options.format {
            ObjectFormat::Elf => (".rodata", ".data.rel.ro"),
            ObjectFormat::Coff => (".rdata", ".rdata"),
        };
        let constants = add(object, constants, SectionKind::ReadOnlyData);
        let structures = add(object, structures, SectionKind::ReadOnlyDataWithRel);
        let payloads = data.payloads.iter().map(|block| {
            let name = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{}", block.target);
            add(object, &name, SectionKind::ReadOnlyData)
        });
        let payloads = payloads.collect();
        let tgtimg = add(object, ".tgtimg", SectionKind::Data);
        File { writer, constants, structures, payloads, tgtimg }
    }

    fn section_of(&self, block: Block) -> Result<SectionId> {
        match block {
            Block::Constants => Some(self.constants),
            Block::Structures => Some(self.structures),
            Block::Payloads(index) => self.payloads.get(index).copied(),
        }
        .ok_or_else(|| Error::input("an image without a payload block"))
    }

    /// Writes the structures that the runtime reads, and `.tgtimg`.
    fn fill(&mut self, data: &ImageData<'a>, payloads: &'a [Draft]) -> Result<()> {
        self.writer.object.set_section_data(self.constants, data.constants.clone(), 8);
        for (block, section) in payloads.iter().zip(self.payloads.clone()) {
            self.writer.object.set_section_data(section, &**block, PAYLOAD_ALIGN);
        }
        let words: Vec<u64> = data
            .structures
            .iter()
            .map(|word| match word {
                Word::Value(value) => *value,
                Word::Address(_) => 0,
            })
            .collect();
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        self.writer.object.set_section_data(self.structures, bytes, 16);
        for (at, word) in (0..).step_by(8).zip(&data.structures) {
            if let Word::Address(location) = word {
                self.pointer(self.structures, at, *location)?;
            }
        }
        // A linker that drops unreferenced sections would drop `.tgtimg`, so one more word refers to it.
        let keep = self.writer.object.append_section_data(self.structures, &[0; 8], 8);
        let tgtimg = self.tgtimg;
        let symbol = self.writer.object.section_symbol(tgtimg);
        self.writer.relocate(self.structures, keep, symbol, 0, self.writer.pointer_kind())?;
        let bytes: Vec<u8> = data.ranges.iter().flat_map(|range| [0, range.size]).flat_map(u64::to_le_bytes).collect();
        self.writer.object.set_section_data(tgtimg, bytes, 16);
        for (at, range) in (0..).step_by(16).zip(&data.ranges) {
            self.pointer(tgtimg, at, range.at)?;
        }
        let mut pairs = data.ranges.iter().enumerate();
        pairs.try_for_each(|(index, range)| {
            let section = self.section_of(range.at.block)?;
            self.local(&format!(".sycl_offloading.{index}.data"), section, range.at.offset, range.size);
            self.local(&format!(".sycl_offloading.{index}.info"), tgtimg, index as u64 * 16, 16);
            Ok(())
        })?;
        Ok(())
    }

    /// Adds a relocation that writes the address of a location to an offset.
    fn pointer(&mut self, section: SectionId, at: u64, to: Location) -> Result<()> {
        let target = self.section_of(to.block)?;
        let symbol = self.writer.object.section_symbol(target);
        let addend = i64::try_from(to.offset).map_err(|_| Error::input("an offset beyond the address space"))?;
        self.writer.relocate(section, at, symbol, addend, self.writer.pointer_kind())
    }

    fn local(&mut self, name: &str, section: SectionId, value: u64, size: u64) -> SymbolId {
        self.writer.symbol(name, SymbolKind::Data, section, value, size)
    }
}

impl Writer<'_> {
    fn new(options: &ObjectOptions<'_>) -> Self {
        let format = match options.format {
            ObjectFormat::Elf => BinaryFormat::Elf,
            ObjectFormat::Coff => BinaryFormat::Coff,
        };
        let architecture = match options.machine {
            Machine::X86_64 => Architecture::X86_64,
            Machine::Aarch64 => Architecture::Aarch64,
        };
        let object = Object::new(format, architecture, Endianness::Little);
        Writer { object, machine: options.machine, format: options.format }
    }

    /// Writes the code that registers what begins at each symbol, and the tables from which the loader runs it. The runtime
    /// is told a size where there is one.
    fn register(&mut self, registered: &[SymbolId], size: Option<u64>, priority: &str) -> Result<()> {
        let coff = self.format == ObjectFormat::Coff;
        let text = add(&mut self.object, if coff { ".text" } else { ".text.startup" }, SectionKind::Text);
        let tables = if coff { [".CRT$XCA", ".CRT$XTA"] } else { [".init_array.", ".fini_array."] };
        let kind = if coff { SectionKind::ReadOnlyData } else { SectionKind::Data };
        let tables = tables.map(|name| add(&mut self.object, &format!("{name}{priority}"), kind));
        if !coff {
            for (table, sh_type) in tables.into_iter().zip([elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY]) {
                let sh_flags = elf::SHF_ALLOC | elf::SHF_WRITE;
                self.object.section_mut(table).flags = SectionFlags::Elf { sh_type, sh_flags };
            }
        }
        let functions = ["__sycl_register_lib", "__sycl_unregister_lib"].map(|name| self.undefined(name));
        for (index, registered) in registered.iter().enumerate() {
            for ((name, function), table) in ["reg", "unreg"].into_iter().zip(functions).zip(tables) {
                let code = registration_code(self.machine, self.format, size);
                let at = self.object.append_section_data(text, &code.bytes, 16);
                for fixup in &code.fixups {
                    let symbol = if fixup.of_data { *registered } else { function };
                    self.relocate(text, at + fixup.offset, symbol, fixup.addend, fixup.flags)?;
                }
                let name = format!("sycl.descriptor_{name}{}", suffix(index));
                let local = self.symbol(&name, SymbolKind::Text, text, at, code.bytes.len() as u64);
                let slot = self.object.append_section_data(table, &[0; 8], 8);
                self.relocate(table, slot, local, 0, self.pointer_kind())?;
            }
        }
        Ok(())
    }

    /// Returns the relocation of a 64-bit address.
    fn pointer_kind(&self) -> RelocationFlags {
        pointer(self.machine, self.format)
    }

    /// Writes the sections that describe the whole file to linker and readers.
    fn marks(&mut self, options: &ObjectOptions<'_>) {
        if self.format == ObjectFormat::Coff {
            return;
        }
        // Without this section the linker assumes that the stack is executable.
        add(&mut self.object, ".note.GNU-stack", SectionKind::Other);
        let (property, value) = match self.machine {
            Machine::X86_64 => (
                elf::GNU_PROPERTY_X86_FEATURE_1_AND,
                elf::GNU_PROPERTY_X86_FEATURE_1_IBT | elf::GNU_PROPERTY_X86_FEATURE_1_SHSTK,
            ),
            Machine::Aarch64 => (
                elf::GNU_PROPERTY_AARCH64_FEATURE_1_AND,
                elf::GNU_PROPERTY_AARCH64_FEATURE_1_BTI | elf::GNU_PROPERTY_AARCH64_FEATURE_1_PAC,
            ),
        };
        self.object.add_elf_gnu_property_u32(property, value);
        let comment = add(&mut self.object, ".comment", SectionKind::OtherString);
        let tool = concat!("sycl-bundle ", env!("CARGO_PKG_VERSION"));
        let lines = options.comments.iter().chain([&tool]).flat_map(|line| [line, "\0"].concat().into_bytes());
        self.object.set_section_data(comment, lines.collect::<Vec<u8>>(), 1);
    }

    fn relocate(
        &mut self,
        at: SectionId,
        offset: u64,
        symbol: SymbolId,
        addend: i64,
        flags: RelocationFlags,
    ) -> Result<()> {
        self.object.add_relocation(at, Relocation { offset, symbol, addend, flags }).map_err(writing)
    }

    fn symbol(&mut self, name: &str, kind: SymbolKind, section: SectionId, value: u64, size: u64) -> SymbolId {
        self.object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size,
            kind,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    }

    fn undefined(&mut self, name: &str) -> SymbolId {
        self.object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        })
    }
}

fn add(object: &mut Object<'_>, name: &str, kind: SectionKind) -> SectionId {
    object.add_section(Vec::new(), name.as_bytes().to_vec(), kind)
}

/// Converts errors of the writer, which concern only extreme sizes.
fn writing(error: object::write::Error) -> Error {
    Error::input(format!("the object cannot be written: {error}"))
}

/// Function with its relocations.
struct Code {
    bytes: Vec<u8>,
    fixups: Vec<Fixup>,
}

/// Relocation of a function.
struct Fixup {
    /// Offset in the function, in bytes.
    offset: u64,
    /// Whether the target is what is registered; otherwise it is the runtime's function.
    of_data: bool,
    addend: i64,
    flags: RelocationFlags,
}

fn registration_code(machine: Machine, format: ObjectFormat, size: Option<u64>) -> Code {
    match machine {
        Machine::X86_64 => x86_64(format, size),
        Machine::Aarch64 => aarch64(format, size),
    }
}

/// ```text
/// f3 0f 1e fa                      endbr64
/// 48 8d 3d dd dd dd dd             lea rdi, [rip + data]     Windows: 48 8d 0d, rcx
/// 48 be ss ss ss ss ss ss ss ss    mov rsi, size             Windows: 48 ba, rdx
/// e9 dd dd dd dd                   jmp function
/// ```
/// Displacements count from the end of their instruction, hence the addend.
fn x86_64(format: ObjectFormat, size: Option<u64>) -> Code {
    let (first, second) = match format {
        ObjectFormat::Elf => (0x3d, 0xbe),
        ObjectFormat::Coff => (0x0d, 0xba),
    };
    let mut bytes = vec![0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, first, 0, 0, 0, 0];
    if let Some(size) = size {
        bytes.extend([0x48, second]);
        bytes.extend(size.to_le_bytes());
    }
    bytes.push(0xe9);
    let jump = bytes.len() as u64;
    bytes.extend([0; 4]);
    let (data, call) = match format {
        ObjectFormat::Elf => (of_elf(elf::R_X86_64_PC32), of_elf(elf::R_X86_64_PLT32)),
        ObjectFormat::Coff => (of_coff(pe::IMAGE_REL_AMD64_REL32), of_coff(pe::IMAGE_REL_AMD64_REL32)),
    };
    let fixups = vec![
        Fixup { offset: 7, of_data: true, addend: -4, flags: data },
        Fixup { offset: jump, of_data: false, addend: -4, flags: call },
    ];
    Code { bytes, fixups }
}

/// ```text
/// d503245f    bti  c
/// 90000000    adrp x0, data
/// 91000000    add  x0, x0, :lo12:data
/// d2800001    movz x1, size, then movk for 16 bits each
/// 14000000    b    function
/// ```
fn aarch64(format: ObjectFormat, size: Option<u64>) -> Code {
    /// `movz`, and `movk` for each next 16 bits.
    const MOVES: [u32; 4] = [0xd280_0001, 0xf2a0_0001, 0xf2c0_0001, 0xf2e0_0001];
    let mut words: Vec<u32> = vec![0xd503_245f, 0x9000_0000, 0x9100_0000];
    if let Some(size) = size {
        let parts = size.to_le_bytes();
        let parts = parts.as_chunks::<2>().0.iter().map(|part| u32::from(u16::from_le_bytes(*part)));
        words.extend(MOVES.iter().zip(parts).map(|(word, part)| word | part << 5));
    }
    let jump = words.len() as u64 * 4;
    words.push(0x1400_0000);
    let flags = match format {
        ObjectFormat::Elf => {
            [elf::R_AARCH64_ADR_PREL_PG_HI21, elf::R_AARCH64_ADD_ABS_LO12_NC, elf::R_AARCH64_JUMP26].map(of_elf)
        }
        ObjectFormat::Coff => {
            [pe::IMAGE_REL_ARM64_PAGEBASE_REL21, pe::IMAGE_REL_ARM64_PAGEOFFSET_12A, pe::IMAGE_REL_ARM64_BRANCH26]
                .map(of_coff)
        }
    };
    let fixups = [4, 8, jump].into_iter().zip(flags).map(|(offset, flags)| Fixup {
        offset,
        of_data: offset != jump,
        addend: 0,
        flags,
    });
    Code { bytes: words.into_iter().flat_map(u32::to_le_bytes).collect(), fixups: fixups.collect() }
}

/// Returns the relocation of a 64-bit address.
fn pointer(machine: Machine, format: ObjectFormat) -> RelocationFlags {
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
