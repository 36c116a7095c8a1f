//! How are binaries for several GPUs put into one archive, as `ocloc -device A,B` does it?
//!
//! A plain `ar`: each member is called `64.` and its GPU's IP version (`64.12.60.7`), by which a driver finds the one for
//! its GPU, and stands behind a `pad_N` that aligns it to 8 bytes. A member `generic_ir` holds the SPIR-V, from which a
//! driver compiles for every other GPU (`ar_encoder.cpp` and `ocloc_fatbinary.cpp` in intel/compute-runtime; the bytes are
//! those that ocloc 26.27 writes, tests/real/archives.rs compares them).

use crate::bundle::format::Format;
use crate::device::target::IpVersion;
use crate::error::{Error, Result};
use crate::native::zebin;

/// Size of the header of a member.
const HEADER: usize = 60;
/// Alignment of members.
const ALIGN: usize = 8;
/// Pointer size that begins the names of members.
const BITS: &str = "64";
/// `e_type`, and section types, of an ELF file that holds SPIR-V (`zebin_elf.h` and `elf.h` there).
const ET_OPENCL_OBJECTS: u16 = 0xff02;
const SHT_OPENCL_SPIRV: u32 = 0xff00_0009;
const SHT_OPENCL_OPTIONS: u32 = 0xff00_0006;
const SHT_STRTAB: u32 = 3;

/// Code for one GPU.
#[derive(Debug, Clone, Copy)]
pub struct Member<'m> {
    /// IP version of the GPU, where the code itself tells none.
    pub version: Option<IpVersion>,
    /// The device binary.
    pub binary: &'m [u8],
}

/// SPIR-V for all other GPUs.
#[derive(Debug, Clone, Copy)]
pub struct GenericIr<'m> {
    /// The module.
    pub(crate) module: &'m [u8],
    /// Options with which a driver compiles it.
    pub(crate) options: &'m str,
}

/// Returns the archive of several binaries, in their order; of members with one name the first counts.
///
/// # Errors
/// `Input` where a member's GPU is not known, or it is larger than a header can tell.
pub fn archive(members: &[Member<'_>], generic: Option<GenericIr<'_>>) -> Result<Vec<u8>> {
    let mut out = b"!<arch>\n".to_vec();
    let mut names: Vec<String> = Vec::new();
    for member in members {
        let name = member_name(member)?;
        if !names.contains(&name) {
            push(&mut out, &name, member.binary, names.len())?;
            names.push(name);
        }
    }
    if let Some(generic) = generic {
        push(&mut out, "generic_ir", &spirv_elf(generic), names.len())?;
    }
    Ok(out)
}

/// The name by which a driver finds a member.
fn member_name(member: &Member<'_>) -> Result<String> {
    let told = (Format::sniff(member.binary) == Format::Zebin).then(|| zebin::ip_version(member.binary)).flatten();
    let version = told.map(IpVersion::of_gmdid).or(member.version);
    let version = version.ok_or_else(|| Error::input("a binary whose GPU is not known cannot stand in an archive"))?;
    Ok(format!("{BITS}.{version}"))
}

/// Adds a member, and before it one that aligns it.
fn push(out: &mut Vec<u8>, name: &str, bytes: &[u8], number: usize) -> Result<()> {
    let start = out.len().saturating_add(HEADER.saturating_mul(2));
    let padding = ALIGN.saturating_sub(start % ALIGN);
    header(out, &format!("pad_{number}"), padding)?;
    out.resize(out.len().saturating_add(padding), b' ');
    header(out, name, bytes.len())?;
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(2), 0);
    Ok(())
}

fn header(out: &mut Vec<u8>, name: &str, size: usize) -> Result<()> {
    let name = format!("{name}/");
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    if header.len() != HEADER {
        return Err(Error::input(format!("the member {name} of {size} bytes is too large for an archive")));
    }
    out.extend_from_slice(header.as_bytes());
    Ok(())
}

/// An ELF file with a module and its options.
fn spirv_elf(generic: GenericIr<'_>) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.shstrtab\0SPIRV Object\0BuildOptions\0";
    // Where each name begins among them.
    let sections: [(u32, u32, &[u8]); 3] = [
        (11, SHT_OPENCL_SPIRV, generic.module),
        (24, SHT_OPENCL_OPTIONS, generic.options.as_bytes()),
        (1, SHT_STRTAB, NAMES),
    ];
    let (file_header, section_header) = (64u16, 64u16);
    let count = 4u16;
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    for half in [ET_OPENCL_OBJECTS, 0, 1, 0] {
        out.extend(half.to_le_bytes());
    }
    for word in [0, 0, u64::from(file_header)] {
        out.extend(word.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    for half in [file_header, 56, 0, section_header, count, count.saturating_sub(1)] {
        out.extend(half.to_le_bytes());
    }
    let mut at = usize::from(file_header).saturating_add(usize::from(section_header).saturating_mul(count.into()));
    let mut data: Vec<u8> = Vec::new();
    out.resize(out.len().saturating_add(section_header.into()), 0);
    for (name, kind, bytes) in sections {
        let offset = if bytes.is_empty() { 0 } else { at as u64 };
        out.extend(name.to_le_bytes());
        out.extend(kind.to_le_bytes());
        for word in [0, 0, offset, bytes.len() as u64, 0, ALIGN as u64, 0] {
            out.extend(word.to_le_bytes());
        }
        data.extend_from_slice(bytes);
        data.resize(data.len().next_multiple_of(ALIGN), 0);
        at = at.saturating_add(bytes.len().next_multiple_of(ALIGN));
    }
    out.append(&mut data);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Place;
    use crate::native::Coverage;
    use crate::native::Native;

    #[test]
    fn an_archive_is_read_back() {
        let versions = ["12.60.7", "20.1.0", "12.60.7"].map(IpVersion::parse);
        // Bytes that are no device binary: members are looked at by their readers, not here.
        let members = versions.map(|version| Member { version, binary: b"odd" });
        let bytes = archive(&members, None).expect("they have versions");
        let mut names = Vec::new();
        let mut at = 8;
        while at < bytes.len() {
            let field = |from: usize, to: usize| std::str::from_utf8(&bytes[at + from..at + to]).expect("text").trim();
            let size: usize = field(48, 58).parse().expect("a size");
            let start = at + HEADER;
            let name = field(0, 16).trim_end_matches('/').to_owned();
            assert!(name.starts_with("pad_") || start.is_multiple_of(ALIGN), "{name} at {start}");
            names.push(name);
            at = start + size + size % 2;
        }
        assert_eq!(names, ["pad_0", "64.12.60.7", "pad_1", "64.20.1.0"]);
        let unknown = archive(&[Member { version: None, binary: b"odd" }], None);
        assert!(unknown.is_err_and(|error| error.message().contains("not known")));
    }

    #[test]
    fn spirv_stands_beside_the_code() {
        let words = [0x0723_0203u32, 0x0001_0000, 0, 10, 0, 0x0002_0011, 4, 0x0002_0011, 6, 0x0003_000e, 2, 2];
        let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for options in ["", "-cl-mad-enable"] {
            let bytes = archive(&[], Some(GenericIr { module: &module, options })).expect("a module has no GPU");
            let native = Native::read(&bytes, Format::sniff(&bytes), Place::file(0)).expect("an archive");
            assert!(native.problems.is_empty(), "{:?}", native.problems);
            assert_eq!(native.parts.iter().map(|part| part.format).collect::<Vec<_>>(), [Format::SpirV]);
            assert_eq!(
                native.coverage("intel_gpu_pvc", crate::native::Driver::ANY),
                None::<Coverage>,
                "there is no code for a GPU"
            );
        }
    }
}
