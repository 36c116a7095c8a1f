//! What is the memory image of an object file whose sections are loaded one after the other?
//!
//! A relocatable file (ELF, COFF, also COFF with more than 65,279 sections) has no addresses yet. Sections get
//! consecutive ones in file order, and relocations of pointers against symbols that the file defines are applied, so that the
//! structures of wrapped images can be walked as in a linked file. Others are not applied: what is read of an image may
//! have none.
//!
//! A linker has its say in what an object's bytes become: it keeps equal pieces of some sections once, and of symbols and
//! groups of sections that several objects have it takes one. What it may change is open.

use super::address::{AddressMap, Merged, Segment, WRITTEN};
use super::{OFFLOADING, SHT_OFFLOADING, Section};
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use object::read::elf::SectionHeader as _;
use object::{
    Architecture, BinaryFormat, File, LittleEndian, Object as _, ObjectComdat as _, ObjectSection as _,
    ObjectSymbol as _, Relocation, RelocationFlags, RelocationKind, RelocationTarget, SectionFlags, SectionIndex,
    SectionKind, SymbolFlags, SymbolKind, elf, pe,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Beginnings of the names of sections that linkers take apart, put in another order, or make themselves.
const EDITED: [&str; 36] = [
    ".eh_frame",
    ".gcc_except_table",
    ".sframe",
    ".note",
    ".stab",
    ".comment",
    ".gnu.",
    ".gnu_debuglink",
    ".gdb_index",
    ".debug",
    ".zdebug",
    ".line",
    ".llvm.",
    ".ctors",
    ".dtors",
    ".init_array",
    ".fini_array",
    ".preinit_array",
    ".jcr",
    ".tm_clone_table",
    ".got",
    ".plt",
    ".igot",
    ".iplt",
    ".rel",
    ".dyn",
    ".hash",
    ".interp",
    ".toc",
    ".opd",
    ".pdata",
    ".idata",
    ".edata",
    ".rsrc",
    ".tls",
    ".buildid",
];
/// Beginnings of those among them that linkers leave as they are, or that are read as what they may replace.
const LEFT: [&str; 2] = [OFFLOADING, ".gnu.linkonce."];

/// Address of the first section; lower addresses, among them null, stay free.
const FIRST: u64 = 0x1_0000;

/// Object file, made addressable.
#[derive(Debug, Default)]
pub(crate) struct ObjectFile<'a> {
    /// Memory image of the sections, relocated.
    pub(crate) addresses: AddressMap<'a>,
    /// All named sections, at their assigned addresses.
    pub(crate) sections: Vec<Section<'a>>,
    /// Whether the wanted symbol is among the undefined symbols.
    pub(crate) refers_to_wanted: bool,
    /// Whether it defines functions that other files may call.
    pub(crate) defines_functions: bool,
}

/// Limits on the cost of overlapping tables in a hostile file.
struct Budget {
    names: usize,
    relocations: usize,
    copied: usize,
    /// Names without an end: each is looked for up to that of its table.
    unended: usize,
    /// Members of groups of sections.
    members: usize,
}

/// Section at the address that it got.
struct Placed {
    address: u64,
    end: u64,
    /// Whether it is in the memory of the program.
    is_loaded: bool,
    /// Whether a linker may take a section of another object in its place.
    is_replaceable: bool,
    /// Whether a linker keeps equal pieces of it once.
    is_merged: bool,
}

/// Reads an object file; `wanted` is a symbol to search for.
///
/// # Errors
/// `Input` for 32-bit and big-endian objects, sections beyond the end of the file, and tables that overlap so that they
/// are larger than the file together.
pub(crate) fn read<'a>(bytes: &'a [u8], wanted: &str) -> Result<ObjectFile<'a>> {
    // Members of import libraries have the first bytes of large COFF objects, but no sections.
    if bytes.starts_with(&[0, 0, 0xff, 0xff]) && bytes::u16_at(bytes, 4).is_some_and(|version| version < 2) {
        return Ok(ObjectFile::default());
    }
    let file = File::parse(bytes).map_err(|error| Error::at(0, format!("object file: {error}")))?;
    // COFF files of other machines than 64-bit ones were not identified as COFF.
    let is_64 = file.is_64() || file.format() == BinaryFormat::Coff;
    if !is_64 || !file.is_little_endian() {
        return Err(Error::at(4, "not a 64-bit little-endian object file; SYCL programs are made of such"));
    }
    let mut budget = Budget {
        names: bytes.len().saturating_add(limits::MAX_STRING_BYTES),
        // The smallest relocation has ten bytes.
        relocations: bytes.len() / 8,
        copied: bytes.len().saturating_add(1 << 20),
        unended: limits::MAX_UNENDED,
        members: bytes.len() / 4,
    };
    tables_are_plain(&file)?;
    let groups = groups(&file, &mut budget)?;
    let (mut sections, mut merged) = (Vec::new(), Vec::new());
    let mut placed = HashMap::new();
    let mut next = FIRST;
    for section in file.sections() {
        let (offset, data) = contents(&file, &section, bytes)
            .map_err(|error| Error::at(0, format!("the bytes of section {}: {error}", section.index().0)))?;
        // LLVM goes by the type.
        let is_offloading = matches!(section.flags(), SectionFlags::Elf { sh_type, .. } if sh_type.0 == SHT_OFFLOADING);
        let name = if is_offloading { Some(OFFLOADING.as_bytes()) } else { section.name_bytes().ok() };
        budget.names = take(budget.names, name.map_or(0, <[u8]>::len), offset, "names of sections")?;
        budget.unended = take(budget.unended, usize::from(name.is_none()), offset, "names of sections")?;
        if is_loaded(&section) && has(&section, elf::SHF_COMPRESSED) {
            return Err(Error::at(
                offset,
                "a section of the program is compressed: what linkers make of it is not read",
            ));
        }
        // Linkers do not agree on what this says of places in it. Objects have 0.
        if file.format() == BinaryFormat::Coff && section.address() > 0 {
            return Err(Error::at(offset, "a section has an address, though the file is not linked"));
        }
        let size = section.size().max(data.len() as u64);
        let is_edited = is_edited(&section, name);
        let unit = match entry_size(&file, section.index()) {
            _ if is_edited => 1,
            unit if has(&section, elf::SHF_MERGE) => unit,
            _ => 0,
        };
        let (address, end) = (next, next.saturating_add(size));
        if unit > 0 {
            merged.push(Merged { address, end, unit, is_text: !is_edited && has(&section, elf::SHF_STRINGS) });
        }
        let is_once = name.is_some_and(|name| name.starts_with(b".gnu.linkonce."));
        let is_replaceable = is_once || is_comdat(&section) || groups.contains(&section.index());
        placed.insert(
            section.index(),
            Placed { address, end, is_loaded: is_loaded(&section), is_replaceable, is_merged: unit > 0 },
        );
        if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) {
            sections.push(Section { name, address: next, offset, data });
        }
        next = next
            .checked_add(size)
            .and_then(|end| bytes::align_up(end.checked_add(16)?, 16))
            .ok_or_else(|| Error::at(offset, "the sections take more than the address space"))?;
    }
    let (mut segments, mut open, mut varying, mut written) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut pointers = Vec::new();
    for section in file.sections() {
        let (Ok((offset, data)), Some(at)) = (contents(&file, &section, bytes), placed.get(&section.index())) else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        let mut data = Cow::Borrowed(data);
        let mut holds_pointers = false;
        // A linker puts lists of images from any section that is loaded where the runtime finds them.
        if is_loaded(&section) {
            for (place, relocation) in section.relocations() {
                budget.relocations = take(budget.relocations, 1, offset, "relocations")?;
                let address = at.address.wrapping_add(place);
                // Code has its own kinds of these.
                let is_known = section.kind() != SectionKind::Text || relocation.size() == 64;
                let value = Some(&relocation).filter(|_| is_known);
                let Some(value) = value.and_then(|one| value_of(&file, &placed, one, &data, place)) else {
                    let end = address.saturating_add(match relocation.size() {
                        0 => WRITTEN,
                        bits if bits % 8 == 0 => u64::from(bits) / 8,
                        // A part of an instruction.
                        bits => u64::from(bits.div_ceil(8)).max(4),
                    });
                    open.push(address..end);
                    pointers.extend((relocation.kind() == RelocationKind::Absolute).then_some(address));
                    // Variables of threads and tables of addresses need code that ELF linkers write anew.
                    let is_plain = [RelocationKind::Absolute, RelocationKind::Relative, RelocationKind::PltRelative];
                    let is_plain = is_plain.contains(&relocation.kind()) || is_large(&file, &relocation);
                    if file.format() == BinaryFormat::Elf && !is_plain {
                        let (begin, end) = (address.saturating_sub(WRITTEN), end.saturating_add(WRITTEN));
                        open.push(begin.max(at.address)..end.min(at.address.saturating_add(data.len() as u64)));
                    }
                    continue;
                };
                if !holds_pointers {
                    budget.copied = take(budget.copied, data.len(), offset, "relocated sections")?;
                    holds_pointers = true;
                }
                if value.varies {
                    varying.push(address);
                }
                written.push(address);
                write(data.to_mut(), place, value.address, &relocation);
            }
        }
        segments.push(Segment::new(at.address, offset, data, holds_pointers));
    }
    let refers_to_wanted = refers_to(&file, wanted, budget);
    let mut addresses = AddressMap::new(segments);
    addresses.leave_open(open);
    addresses.set_open_pointers(pointers);
    addresses.set_varying(varying);
    addresses.set_merged(merged);
    for place in written {
        addresses.mark(place);
    }
    addresses.leave_twice_written_open()?;
    let is_function = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text
    };
    let defines_functions = file.symbols().any(|symbol| is_function(&symbol));
    Ok(ObjectFile { addresses, sections, refers_to_wanted, defines_functions })
}

fn take(left: usize, cost: usize, offset: u64, what: &str) -> Result<usize> {
    left.checked_sub(cost).ok_or_else(|| {
        Error::at(offset, format!("the {what} come to more than the file; tables overlap or are forged"))
    })
}

/// Returns a section's bytes with their offset in the file. COFF sections have some also where they are flagged as
/// uninitialized: LLVM's readers go by the offset.
fn contents<'a>(
    file: &File<'a>,
    section: &object::Section<'a, '_>,
    bytes: &'a [u8],
) -> object::read::Result<(u64, &'a [u8])> {
    let table = match file {
        File::Coff(file) => Some(file.coff_section_table()),
        File::CoffBig(file) => Some(file.coff_section_table()),
        _ => None,
    };
    let header = table.and_then(|table| table.section(section.index()).ok());
    let raw = header.and_then(|header| {
        let (offset, size) = (header.pointer_to_raw_data.get(LittleEndian), header.size_of_raw_data.get(LittleEndian));
        let data = bytes::slice_at(bytes, usize::try_from(offset).ok()?, usize::try_from(size).ok()?)?;
        Some((u64::from(offset), data)).filter(|(offset, _)| *offset > 0)
    });
    match raw {
        Some(raw) => Ok(raw),
        None => Ok((section.file_range().map_or(0, |range| range.0), section.data()?)),
    }
}

/// Whether a section's bytes are in the memory of the program.
fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_ALLOC) && !sh_flags.contains(elf::SHF_EXCLUDE),
        SectionFlags::Coff { characteristics } => !characteristics.contains(pe::IMAGE_SCN_LNK_REMOVE),
        _ => true,
    }
}

/// Whether an ELF section has a flag.
fn has(section: &object::Section<'_, '_>, flag: elf::SectionFlags) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(flag))
}

/// Whether a COFF section is one of several that a linker takes one of.
fn is_comdat(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), SectionFlags::Coff { characteristics } if characteristics.contains(pe::IMAGE_SCN_LNK_COMDAT))
}

/// Whether a relocation is one of the 64 bits of code that may be far from data, which the crate `object` has no kind for: linkers write
/// these as they are (x86-64 psABI, "Relocation Types").
fn is_large(file: &File<'_>, relocation: &object::Relocation) -> bool {
    const LARGE: [elf::RelocationType; 7] = [
        elf::R_X86_64_PC64,
        elf::R_X86_64_GOTOFF64,
        elf::R_X86_64_GOT64,
        elf::R_X86_64_GOTPC64,
        elf::R_X86_64_PLTOFF64,
        elf::R_X86_64_SIZE32,
        elf::R_X86_64_SIZE64,
    ];
    let RelocationFlags::Elf { r_type } = relocation.flags() else { return false };
    file.architecture() == Architecture::X86_64 && LARGE.contains(&r_type)
}

/// Whether a linker writes a section of the program anew, whatever it has: it goes by names and types.
fn is_edited(section: &object::Section<'_, '_>, name: Option<&[u8]>) -> bool {
    let is_plain = match section.flags() {
        SectionFlags::Elf { sh_type, sh_flags, .. } => {
            let is_data = [elf::SHT_PROGBITS.0, elf::SHT_NOBITS.0, SHT_OFFLOADING].contains(&sh_type.0);
            is_data && !sh_flags.contains(elf::SHF_TLS)
        }
        // A linker makes zeros of these, whatever LLVM reads.
        SectionFlags::Coff { characteristics } => !characteristics.contains(pe::IMAGE_SCN_CNT_UNINITIALIZED_DATA),
        _ => true,
    };
    let begins = |names: &[&str]| name.is_none_or(|name| names.iter().any(|begin| name.starts_with(begin.as_bytes())));
    is_loaded(section) && (!is_plain || begins(&EDITED) && !begins(&LEFT))
}

/// Returns the size of an entry in an ELF section.
fn entry_size(file: &File<'_>, index: SectionIndex) -> u64 {
    let File::Elf64(file) = file else { return 0 };
    file.elf_section_table().section(index).map_or(0, |section| section.sh_entsize(file.endian()))
}

/// Checks that linkers take the same symbols and relocations of an ELF file: one table of symbols, and one of relocations for a
/// section, with these symbols. Some take others, too.
fn tables_are_plain(file: &File<'_>) -> Result<()> {
    let File::Elf64(file) = file else { return Ok(()) };
    let mut relocated = HashSet::new();
    let mut symbols = HashSet::new();
    for section in file.elf_section_table().iter() {
        let kind = section.sh_type(file.endian());
        if [elf::SHT_SYMTAB, elf::SHT_SYMTAB_SHNDX].contains(&kind) && !symbols.insert(kind.0) {
            let message = "linkers differ in which of several tables of symbols they take";
            return Err(Error::at(section.sh_offset(file.endian()), message));
        }
        let applied = || file.elf_section_table().section(SectionIndex(section.sh_info(file.endian()) as usize)).ok();
        if kind == elf::SHT_REL
            && is_known(file.architecture())
            && applied().is_some_and(|section| section.sh_flags(file.endian()).contains(elf::SHF_ALLOC))
        {
            let message = "linkers differ in what relocations without addends add to";
            return Err(Error::at(section.sh_offset(file.endian()), message));
        }
        let is_table = [elf::SHT_REL, elf::SHT_RELA, elf::SHT_CREL].contains(&section.sh_type(file.endian()));
        let target = section.sh_info(file.endian());
        if !is_table || target == 0 {
            continue;
        }
        if section.link(file.endian()) != file.elf_symbol_table().section() || !relocated.insert(target) {
            let message = format!("linkers differ in which relocations they take for section {target}");
            return Err(Error::at(section.sh_offset(file.endian()), message));
        }
    }
    Ok(())
}

/// Returns the sections of groups of which a linker takes one for all objects.
fn groups(file: &File<'_>, budget: &mut Budget) -> Result<HashSet<SectionIndex>> {
    let mut all = HashSet::new();
    // COFF sections tell themselves.
    if file.format() == BinaryFormat::Elf {
        for member in file.comdats().flat_map(|group| group.sections()) {
            budget.members = take(budget.members, 1, 0, "groups of sections")?;
            all.insert(member);
        }
    }
    Ok(all)
}

/// Address that a relocation writes.
struct Value {
    address: u64,
    /// Whether another object of the program may make it something else.
    varies: bool,
}

/// Whether relocations of a machine are read: of others some linkers take bytes out, and some have no other form of them (BPF).
fn is_known(machine: Architecture) -> bool {
    [Architecture::X86_64, Architecture::Aarch64].contains(&machine)
}

/// Returns what a relocation of a pointer writes at a place of some data, if that is an address of a section in the file.
fn value_of(
    file: &File<'_>,
    placed: &HashMap<SectionIndex, Placed>,
    relocation: &Relocation,
    data: &[u8],
    place: u64,
) -> Option<Value> {
    // Linkers of Windows cut an address to 32 bits, others refuse one that has more.
    let is_whole = relocation.size() == 64 || (relocation.size() == 32 && file.format() == BinaryFormat::Elf);
    if relocation.kind() != RelocationKind::Absolute || !is_whole || !is_known(file.architecture()) {
        return None;
    }
    let in_place = usize::try_from(place).ok().filter(|_| relocation.has_implicit_addend()).map_or(0, |place| {
        let short = || bytes::u32_at(data, place).map(u64::from);
        (if relocation.size() == 32 { short() } else { bytes::u64_at(data, place) }).unwrap_or(0)
    });
    let from = |begin: u64| begin.wrapping_add(in_place).wrapping_add_signed(relocation.addend());
    let (section, address, varies) = match relocation.target() {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok().filter(|symbol| is_address(file, symbol))?;
            let section = placed.get(&symbol.section_index()?)?;
            let begin = section.address.checked_add(symbol.address())?;
            let address = from(begin);
            // Pieces are found by the symbol, but for those of sections.
            let is_moved = section.is_merged && symbol.kind() != SymbolKind::Section && address != begin;
            (section, address, is_moved || is_shared(&symbol) || (section.is_replaceable && symbol.is_global()))
        }
        RelocationTarget::Section(index) => {
            let section = placed.get(&index)?;
            (section, from(section.address), false)
        }
        _ => return None,
    };
    // Of other sections only a linker knows where they are.
    (section.is_loaded && (section.address..=section.end).contains(&address)).then_some(Value { address, varies })
}

/// Whether the value of a symbol is the address of its bytes: not what a function returns, nor a place in what each thread has.
fn is_address(file: &File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    // Of other classes linkers and the crate `object` have different ideas.
    let class = match file {
        File::Coff(file) => file.coff_symbol_table().symbol(symbol.index()).ok().map(|symbol| symbol.storage_class),
        File::CoffBig(file) => file.coff_symbol_table().symbol(symbol.index()).ok().map(|symbol| symbol.storage_class),
        _ => None,
    };
    if let Some(class) = class {
        return [pe::IMAGE_SYM_CLASS_EXTERNAL, pe::IMAGE_SYM_CLASS_STATIC, pe::IMAGE_SYM_CLASS_LABEL]
            .into_iter()
            .chain([pe::IMAGE_SYM_CLASS_WEAK_EXTERNAL])
            .any(|known| known == class);
    }
    let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return true };
    [elf::STT_NOTYPE, elf::STT_OBJECT, elf::STT_FUNC, elf::STT_SECTION].contains(&st_info.st_type())
}

/// Whether another object may define a symbol, too, and have it.
fn is_shared(symbol: &object::Symbol<'_, '_>) -> bool {
    let is_unique =
        matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_bind() == elf::STB_GNU_UNIQUE);
    is_unique || symbol.is_weak()
}

/// Writes a relocation of 32 or 64 bits. One of 32 bits has zeros beside it.
fn write(data: &mut [u8], place: u64, address: u64, relocation: &Relocation) {
    let Ok(place) = usize::try_from(place) else { return };
    let value = address.to_le_bytes();
    let len = if relocation.size() == 32 { 4 } else { 8 };
    // An address beyond the end is ignored.
    let _ = bytes::put(data, place, value.get(..len).unwrap_or_default());
}

/// Whether there is an undefined symbol of a name. The search ends when the names exceed their budget.
fn refers_to(file: &File<'_>, wanted: &str, mut budget: Budget) -> bool {
    for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
        let Ok(name) = symbol.name_bytes() else {
            let Some(left) = budget.unended.checked_sub(1) else { return false };
            budget.unended = left;
            continue;
        };
        if name == wanted.as_bytes() {
            return true;
        }
        let Some(left) = budget.names.checked_sub(name.len()) else { return false };
        budget.names = left;
    }
    false
}
