//! What does an ELF container of an OpenCL driver hold?
//!
//! Types 0xff01 to 0xff05 (`ocl_elf.h` in intel/compute-runtime). Two kinds share them. Intel's GPU drivers until 2023
//! and `ocloc` wrap patch tokens: the section of type 0xff000005; SPIR-V that is yet to be compiled has type 0xff000009
//! (`generic_ir` of ocloc's archives). Intel's CPU driver puts an object file for x86-64 into
//! `.ocl.obj`, its own notes into `.ocl.meta`, LLVM bitcode into `.ocl.ir`; `e_flags` tell the instruction set. The
//! object defines more functions than kernels, and the notes hold more words than names: a kernel is what both name.
//!
//! A binary of PoCL is no ELF file but a form of its own (`lib/CL/pocl_binary.c` of pocl/pocl), with numbers in the machine's
//! byte order. Behind the header stand files that belong
//! to the whole program, then a record for each kernel: its size, that of its files and of its arguments, its name. What
//! is known here is version 11 (PoCL 7.1); of other versions the kernels are not told where the records do not add up.

use super::elf_form::{self, HEADER};
use super::{Items, Kernel, Part, Read, Reader, bitcode, cpu_object, patch_tokens};
use crate::bundle::format::Format;
use crate::container::Place;
use crate::container::device_elf::{DeviceElf, EM_X86_64, SHT_OPENCL_SPIRV};
use crate::device::cpu::CpuArch;
use crate::error::{Error, Result};
use crate::{bytes, limits};
use std::collections::HashSet;

/// Target of the containers of Intel's CPU driver.
pub(super) const CPU: &str = "spir64_x86_64";
const SHT_OPENCL_DEVICE_BINARY: u32 = 0xff00_0005;
const SHT_OPENCL_OPTIONS: u32 = 0xff00_0006;
const SHT_OPENCL_CODE: u32 = 0xff00_0003;
/// Type of an OpenCL container that is compiled and not linked.
const ET_OPENCL_OBJECTS: u16 = 0xff02;
/// Size of the header of a 64-bit ELF file, and of an entry of its section table.
const ENTRY: usize = 64;

pub(super) fn read<'a>(
    reader: &mut Reader<'a, '_>,
    name: &str,
    data: &'a [u8],
    place: Place,
    depth: u32,
) -> Result<()> {
    if !data.starts_with(b"\x7fELF\x02\x01") {
        // Code of a compiler that is not known here; nothing says that it is damaged.
        let mut part = Part::new(Format::Elf, data.len());
        part.stated = "not a 64-bit little-endian ELF file".to_owned();
        reader.push(name, Read::from(part), place);
        return Ok(());
    }
    let elf = DeviceElf::parse(data)?;
    if elf.kind >> 8 != 0xff {
        // An object or library of the host, as other CPU compilers make it.
        let mut part = Part::new(Format::Elf, data.len());
        part.stated = format!("ELF machine {}", elf.machine);
        let symbols = elf.symbols()?;
        let functions = symbols.iter().filter(|symbol| symbol.is_global_function());
        part.kernels = functions.map_while(|symbol| named(symbol.name, &reader.items)).map(Into::into).collect();
        reader.push(name, Read::from(part), place);
        return Ok(());
    }
    if let Some(section) = elf.sections.iter().find(|section| section.kind == SHT_OPENCL_DEVICE_BINARY) {
        reader.contained("opencl-elf");
        let format = Format::sniff(section.data);
        let format = if section.data.starts_with(&patch_tokens::MAGIC) { Format::PatchTokens } else { format };
        let first = reader.native.parts.len();
        reader.part(name, section.data, format, place.at(section.offset), depth);
        if let Some(section) = elf.sections.iter().find(|section| section.kind == SHT_OPENCL_SPIRV) {
            reader.native.parts.iter_mut().skip(first).for_each(|part| part.spirv = true);
            reader.sources.iter_mut().skip(first).for_each(|source| _ = source.get_or_insert(section.data));
        }
        return Ok(());
    }
    // `generic_ir` of an archive, and programs that a GPU driver was asked for before it compiled them: SPIR-V and options.
    if let Some(section) = elf.sections.iter().find(|section| section.kind == SHT_OPENCL_SPIRV) {
        reader.part(name, section.data, Format::SpirV, place.at(section.offset), depth);
        return Ok(());
    }
    // An object that Intel's CPU driver compiled and did not link: type 0xff02, no machine, and its own intermediate
    // code.
    if elf.machine == 0 && elf.section(CODE).is_some() {
        let mut part = Part::new(Format::Elf, data.len());
        part.stated = "intermediate code of a driver, compiled and not linked".to_owned();
        reader.push(name, Read::from(part), place);
        return Ok(());
    }
    // The empty module of a table, as `filter` writes it.
    if elf.sections.is_empty() {
        return Ok(());
    }
    if elf.machine != EM_X86_64 {
        return Err(Error::at(18, format!("an OpenCL container for machine {} without a device binary", elf.machine)));
    }
    let mut part = Part::new(Format::Elf, data.len());
    part.devices.push(CPU.to_owned());
    part.stated = match CpuArch::of_binary(data) {
        Some(march) => format!("instruction set {march}"),
        None => format!("instruction set {}", elf.flags),
    };
    let version = elf.section(".ocl.ver").and_then(|section| bytes::u32_at(section.data, 0));
    part.version = version.map(|version| version.to_string());
    part.refused = refused(data, &elf);
    let mut read = Read::from(part);
    if let Some(object) = elf.section(".ocl.obj") {
        let meta = elf.section(".ocl.meta").map_or(&[][..], |section| section.data);
        let inner = DeviceElf::parse(object.data);
        if let Ok(inner) = &inner {
            let refused = || cpu_object::refused(object.data, inner);
            read.part.refused = read.part.refused.take().or_else(refused);
        }
        match inner.and_then(|inner| kernels(&inner, meta, &reader.items)) {
            Ok(kernels) => read.part.kernels = kernels.into_iter().map(Into::into).collect(),
            Err(error) => {
                let offset = object.offset.saturating_add(error.offset().unwrap_or(0));
                read.problems.push(error.without_offset().with_offset(offset).context("section .ocl.obj"));
            }
        }
    }
    reader.push(name, read, place);
    Ok(())
}

/// Section of bitcode.
const CODE: &str = ".ocl.ir";

/// Sections of a program for CPUs, each of which the driver looks for.
const CPU_SECTIONS: [&str; 4] = [CODE, ".ocl.meta", ".ocl.obj", ".ocl.ver"];

/// Tells why Intel's CPU driver may refuse a container (`CL_INVALID_BINARY`): it wants each section once, and a file of nothing
/// but the header, the table of sections and their bytes, without gaps.
fn refused(data: &[u8], elf: &DeviceElf<'_>) -> Option<String> {
    let named = |name: &str| elf.sections.iter().filter(|section| section.name == name).count();
    if let Some(name) = CPU_SECTIONS.into_iter().find(|name| named(name) != 1) {
        return Some(format!("the container has {} sections `{name}`, where the driver looks for one", named(name)));
    }
    if let Some(what) = elf_form::sizes(data) {
        return Some(what);
    }
    let count = bytes::u16_at(data, 60).map_or(0, u64::from);
    let table = (bytes::u64_at(data, 40).unwrap_or(0), HEADER.saturating_mul(count));
    let sections = elf.sections.iter().map(|section| (section.offset, section.size));
    let mut pieces: Vec<(u64, u64)> = sections.chain([(0, HEADER), table]).filter(|(_, size)| *size > 0).collect();
    pieces.sort_unstable();
    let mut end = 0u64;
    for (offset, size) in pieces {
        if offset != end {
            return Some(format!("a part of the container is at {offset:#x}, and the one before it ends at {end:#x}"));
        }
        end = end.saturating_add(size);
    }
    (end != data.len() as u64).then(|| format!("the container has {} bytes, and its parts {end}", data.len()))
}

/// The global functions that the notes name, in the order of the notes.
fn kernels(object: &DeviceElf<'_>, meta: &[u8], items: &Items<'_>) -> Result<Vec<Kernel>> {
    let symbols = object.symbols()?;
    let functions = symbols.iter().filter(|symbol| symbol.is_global_function() && !symbol.name.is_empty());
    let mut functions: HashSet<&[u8]> = functions.map(|symbol| symbol.name.as_bytes()).collect();
    let longest = functions.iter().map(|name| name.len()).max().unwrap_or(0);
    // A word in the notes is its length with the NUL, then its letters. Numbers that look like a length cost a look-up.
    let mut budget = meta.len().saturating_mul(16).saturating_add(limits::MAX_STRING);
    let mut kernels = Vec::new();
    for at in 0..meta.len() {
        let Some(len) = bytes::u32_at(meta, at).and_then(|len| usize::try_from(len).ok()) else { break };
        let Some(len) = len.checked_sub(1).filter(|len| (1..=longest).contains(len)) else { continue };
        let word = at.checked_add(4).and_then(|at| bytes::slice_at(meta, at, len.saturating_add(1)));
        let Some((0, word)) = word.and_then(|word| word.split_last()) else { continue };
        budget = budget.checked_sub(len).ok_or_else(|| Error::input("the notes of the driver are forged"))?;
        if functions.remove(word) {
            let Some(kernel) = named(std::str::from_utf8(word).unwrap_or_default(), items) else { break };
            kernels.push(kernel);
        }
    }
    let names: HashSet<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
    kernels.retain(|kernel| !vectorized(&kernel.name).is_some_and(|own| names.contains(own)));
    Ok(kernels)
}

/// Returns the kernel whose vector variant a function is, by its name (`_ZGVdN8uu_add`, as the Vector Function ABI has it): the driver
/// leaves that of a kernel with a barrier in the code, and makes no kernel of it.
fn vectorized(name: &str) -> Option<&str> {
    name.strip_prefix("_ZGV")?.split_once('_').map(|(_, kernel)| kernel)
}

/// Returns an object for Intel GPUs as the driver's `clCompileProgram` makes one of SPIR-V (`Program::packDeviceBinary` in
/// intel/compute-runtime): the module and the options, from which code is made when it is linked.
pub(crate) fn spirv_object(spirv: &[u8], options: &str) -> Vec<u8> {
    const NAMES: &[u8] = b"\0SPIRV Object\0BuildOptions\0.shstrtab\0";
    let (module, options) = ((1, SHT_OPENCL_SPIRV, spirv), (14, SHT_OPENCL_OPTIONS, options.as_bytes()));
    objects(1, &[module, options, (27, elf_form::STRTAB, NAMES)])
}

/// Returns an ELF file of objects with these sections: the place of the name, the type, and the data of each, of which the last has
/// the names.
fn objects(version: u8, sections: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut elf = [b"\x7fELF\x02\x01".as_slice(), &[version], &[0; 9]].concat();
    elf.extend([ET_OPENCL_OBJECTS, 0].into_iter().flat_map(u16::to_le_bytes));
    elf.extend(u32::from(version).to_le_bytes());
    elf.extend([0, 0, ENTRY as u64].into_iter().flat_map(u64::to_le_bytes));
    let last = sections.len() as u16;
    elf.extend([0, 0, 64, 56, 0, 64, last.saturating_add(1), last].into_iter().flat_map(u16::to_le_bytes));
    elf.resize(ENTRY.saturating_mul(2), 0);
    let mut offset = ENTRY.saturating_mul(sections.len().saturating_add(2)) as u64;
    for (name, kind, data) in sections {
        let size = data.len() as u64;
        elf.extend([*name, *kind].into_iter().flat_map(u32::to_le_bytes));
        elf.extend([0, 0, offset, size, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes));
        elf.resize(elf.len().next_multiple_of(ENTRY), 0);
        offset = offset.saturating_add(size);
    }
    sections.iter().for_each(|(_, _, data)| elf.extend_from_slice(data));
    elf
}

/// Returns the SPIR-V in an object for Intel GPUs; none where it is not of that form.
pub fn spirv_of_object(object: &[u8]) -> Option<&[u8]> {
    let elf = DeviceElf::parse(object).ok()?;
    elf.sections.iter().find(|section| section.kind == SHT_OPENCL_SPIRV).map(|section| section.data)
}

/// Returns an object that Intel's CPU driver is to link, written anew: with the one section that such objects have, and in it the
/// bitcode that is code and no more. Or tells what else it has the driver do, or why that is not known.
///
/// # Errors
/// The reason as text, where the object is of another form, or more than code.
pub fn plain_object(object: &[u8]) -> Result<Vec<u8>, String> {
    const NAMES: &[u8] = b"\0.ocl.ir\0";
    let elf = DeviceElf::parse(object).map_err(|error| error.to_string())?;
    // The driver takes the first section of the name, whatever its kind.
    match elf.sections.as_slice() {
        [null, code, names]
            if (null.kind, null.name) == (0, "")
                && (code.kind, code.name) == (SHT_OPENCL_CODE, CODE)
                && (names.kind, names.name) == (elf_form::STRTAB, "") =>
        {
            let code = bitcode::plain(code.data)?;
            Ok(objects(0, &[(1, SHT_OPENCL_CODE, &code), (0, elf_form::STRTAB, NAMES)]))
        }
        _ => Err(format!("it is no object of Intel's driver for CPUs, which has a section `{CODE}` alone")),
    }
}

/// A kernel of which no more is known; none where there is no room for it.
fn named(name: &str, items: &Items<'_>) -> Option<Kernel> {
    items.take(name)?;
    Some(Kernel { name: name.to_owned(), ..Kernel::default() })
}

/// Offset of the version and of the number of kernels.
const POCL_VERSION: usize = 16;
const POCL_KERNELS: usize = 20;
/// Offset of the size of the program's own files, which follow.
const POCL_FILES: usize = 0x55;
const POCL_RECORDS: usize = POCL_FILES + 8;

pub(super) fn read_pocl(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let short = || Error::at(data.len() as u64, "the header of a PoCL binary is cut short");
    let version = bytes::u32_at(data, POCL_VERSION).ok_or_else(short)?;
    let count = bytes::u32_at(data, POCL_KERNELS).and_then(|count| usize::try_from(count).ok()).ok_or_else(short)?;
    let mut part = Part::new(Format::Pocl, data.len());
    part.stated = "for PoCL alone".to_owned();
    part.version = Some(version.to_string());
    part.kernels = pocl_kernels(data, count, items).unwrap_or_default().into_iter().map(Into::into).collect();
    Ok(Read::from(part))
}

/// The kernels of the records; none where a record leaves the data.
fn pocl_kernels(data: &[u8], count: usize, items: &Items<'_>) -> Option<Vec<Kernel>> {
    let files = usize::try_from(bytes::u64_at(data, POCL_FILES)?).ok()?;
    let mut at = POCL_RECORDS.checked_add(files)?;
    let mut kernels = Vec::new();
    for _ in 0..count {
        let size = usize::try_from(bytes::u64_at(data, at)?).ok()?;
        let length = usize::try_from(bytes::u32_at(data, at.checked_add(20)?)?).ok()?;
        let record = bytes::slice_at(data, at, size)?;
        let name = std::str::from_utf8(bytes::slice_at(record, 24, length)?).ok()?;
        kernels.push(named(name, items)?);
        at = at.checked_add(size)?;
    }
    Some(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Native, Room};

    /// Reads a payload that has room for all it holds.
    fn read(data: &[u8]) -> Result<Read> {
        read_pocl(data, &Items::new(&Room::of_one(data.len())))
    }

    #[test]
    fn generic_ir_is_spirv_for_every_other_gpu() {
        let spirv = [0x0723_0203u32, 0x0001_0000, 0, 1, 0].map(u32::to_le_bytes).concat();
        let member = spirv_object(&spirv, "-cl-mad-enable");
        assert_eq!(spirv_of_object(&member), Some(spirv.as_slice()));
        let mut archive = b"!<arch>\n".to_vec();
        archive.extend(format!("{:<16}{:<32}{:<10}`\n", "generic_ir/", "", member.len()).bytes());
        archive.extend(&member);
        for (payload, container) in [(archive, Some("ar")), (member, None)] {
            let native = Native::read(&payload, Format::sniff(&payload), Place::file(0)).unwrap();
            assert_eq!(native.container, container);
            assert!(native.problems.is_empty(), "{:?}", native.problems);
            let formats: Vec<(Format, u64)> = native.parts.iter().map(|part| (part.format, part.size)).collect();
            assert_eq!(formats, [(Format::SpirV, spirv.len() as u64)]);
            assert!(native.devices().is_empty());
        }
    }

    /// A binary as PoCL 7.1 lays it out, with a file of the program and these kernels.
    fn binary(names: &[&str]) -> Vec<u8> {
        let mut data = b"poclbin\0\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
        data.extend([11, names.len() as u32, 2, 4, 1].into_iter().flat_map(u32::to_le_bytes));
        data.resize(POCL_FILES, b'A');
        data.extend(5u64.to_le_bytes());
        data.extend(b"file!");
        for name in names {
            data.extend([24 + name.len() as u64 + 3, 0].into_iter().flat_map(u64::to_le_bytes));
            data.extend([3, name.len() as u32].into_iter().flat_map(u32::to_le_bytes));
            data.extend(name.bytes().chain(*b"arg"));
        }
        data
    }

    #[test]
    fn kernels_are_told_where_the_records_add_up() {
        let names = |data: &[u8]| -> Vec<String> {
            let part = read(data).unwrap().part;
            assert_eq!(part.version.as_deref(), Some("11"));
            part.kernels.into_iter().map(|kernel| kernel.name.clone()).collect()
        };
        let whole = binary(&["add", "second_one"]);
        assert_eq!(names(&whole), ["add", "second_one"]);
        assert_eq!(names(&whole[..whole.len() - 1]), [""; 0]);
        assert!(read(&whole[..20]).is_err());
    }

    #[test]
    fn variants_of_kernels_are_known_by_their_names() {
        for (name, kernel) in [
            ("_ZGVdN8uu_add", Some("add")),
            ("_ZGVeN16uv__ZTS3add", Some("_ZTS3add")),
            ("add", None),
            ("_ZGVdN8uu", None),
        ] {
            assert_eq!(vectorized(name), kernel, "{name}");
        }
    }
}
