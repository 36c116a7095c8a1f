//! Of which kind is this file?
//!
//! Files are identified by content, never by name, and only here: every reader starts from this answer.

use super::address::{find, find_last, occurrences};
use super::device_elf;
use super::inflate::ZSTD_MAGIC;
use crate::bytes;
use crate::error::{Error, Result};
use object::elf::ET_REL;
use schemars::JsonSchema;
use serde::Serialize;

/// Container format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Container")]
pub enum Kind {
    /// A linked ELF file: executable or shared library.
    Elf,
    /// An ELF object file.
    ElfObject,
    /// A linked PE file: `.exe`, `.dll`, `.pyd`.
    Pe,
    /// A COFF object file.
    Coff,
    /// An archive of files (`.a`, `.lib`), also a thin one; that of ocloc's code for several GPUs is one image.
    Archive,
    /// LLVM's OffloadBinary.
    OffloadBinary,
    /// A SYCLBIN file without an OffloadBinary around it.
    #[serde(rename = "syclbin")]
    SyclBin,
    /// A clang offload bundle, binary or text.
    OffloadBundle,
    /// A compressed clang offload bundle.
    CompressedBundle,
    /// A SPIR-V module on its own.
    #[serde(rename = "spirv")]
    SpirV,
    /// LLVM bitcode on its own.
    LlvmBitcode,
    /// Compiled device code, or PTX, on its own.
    Native,
    /// An HCF container of AdaptiveCpp on its own.
    Hcf,
    /// A kernel package of ROCm.
    Kpack,
    /// A zip archive: a wheel, a conda package.
    Zip,
    /// A tar archive, compressed or not.
    Tar,
    /// A file table: `[Code|Properties|Symbols]`.
    Table,
}

impl Kind {
    /// Returns the name for JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Elf => "elf",
            Kind::ElfObject => "elf-object",
            Kind::Pe => "pe",
            Kind::Coff => "coff",
            Kind::Archive => "archive",
            Kind::OffloadBinary => "offload-binary",
            Kind::SyclBin => "syclbin",
            Kind::OffloadBundle => "offload-bundle",
            Kind::CompressedBundle => "compressed-bundle",
            Kind::SpirV => "spirv",
            Kind::LlvmBitcode => "llvm-bitcode",
            Kind::Native => "native",
            Kind::Hcf => "hcf",
            Kind::Kpack => "kpack",
            Kind::Zip => "zip",
            Kind::Tar => "tar",
            Kind::Table => "table",
        }
    }

    /// Returns the common name of such a file, for messages.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Kind::Elf => "a linked ELF file",
            Kind::ElfObject => "an ELF object file",
            Kind::Pe => "a PE file",
            Kind::Coff => "a COFF object file",
            Kind::Archive => "an archive",
            Kind::OffloadBinary => "an OffloadBinary",
            Kind::SyclBin => "a SYCLBIN file",
            Kind::OffloadBundle => "a clang offload bundle",
            Kind::CompressedBundle => "a compressed clang offload bundle",
            Kind::SpirV => "a SPIR-V module",
            Kind::LlvmBitcode => "an LLVM bitcode module",
            Kind::Native => "compiled device code",
            Kind::Hcf => "an HCF container of AdaptiveCpp",
            Kind::Kpack => "a kernel package of ROCm",
            Kind::Zip => "a zip archive",
            Kind::Tar => "a tar archive",
            Kind::Table => "a file table",
        }
    }

    /// Identifies a file by content.
    ///
    /// # Errors
    /// `Input` where it is none of these.
    pub fn identify(bytes: &[u8]) -> Result<Kind> {
        let kind = Self::identify_head(bytes, bytes.len() as u64);
        if kind.is_err() && Self::ends_as_zip_by(bytes, &[]) { Ok(Kind::Zip) } else { kind }
    }

    /// Whether a file of no known kind may be a zip archive behind other bytes, which its end tells: a script, or what has such
    /// a name. Of others nobody would expect it, and no more than their first bytes are read.
    pub(crate) fn may_be_zip(name: &[u8], head: &[u8]) -> bool {
        head.starts_with(b"#!") || Self::is_called_zip(name)
    }

    /// Whether the first bytes of a longer file are comments, behind which it may be PTX.
    pub(crate) fn may_be_ptx(head: &[u8]) -> bool {
        !head.is_empty() && !head.starts_with(b"#!") && behind_comments(head).is_none()
    }

    /// Identifies a file as whoever goes by its name: see [`Kind::is_zip_behind`].
    ///
    /// # Errors
    /// Errors of [`Kind::identify`].
    pub(crate) fn identify_named(name: &[u8], bytes: &[u8]) -> Result<Kind> {
        if Self::is_zip_behind(name, bytes) { Ok(Kind::Zip) } else { Self::identify(bytes) }
    }

    /// Whether a file is a zip archive to those that go by its name, as pip does, whatever other file it begins as.
    pub(crate) fn is_zip_behind(name: &[u8], bytes: &[u8]) -> bool {
        Self::is_called_zip(name) && Self::ends_as_zip(bytes)
    }

    fn is_called_zip(name: &[u8]) -> bool {
        let extension = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let known: [&[u8]; 7] = [b"whl", b"zip", b"conda", b"pyz", b"egg", b"jar", b"pex"];
        known.iter().any(|known| extension.eq_ignore_ascii_case(known))
    }

    /// Whether bytes, or the last [`ZIP_END`] of them, end as a zip archive to those that know the name. Of what nobody expects to
    /// be one the record has to fit: its two letters stand in other files, too (CPython's own `zipimport`).
    pub(crate) fn ends_as_zip_by(bytes: &[u8], name: &[u8]) -> bool {
        if Self::may_be_zip(name, bytes) {
            return Self::ends_as_zip(bytes);
        }
        let last = bytes.get(bytes.len().saturating_sub(ZIP_END)..).unwrap_or_default();
        occurrences(last, b"PK\x05\x06").any(|begin| {
            let field = |at: usize| bytes::u16_at(last, begin.saturating_add(at));
            // Large archives have them elsewhere.
            let is_one_disk = [4, 6].into_iter().all(|at| matches!(field(at), Some(0 | u16::MAX)));
            let end = field(20).map(|comment| begin.saturating_add(ZIP_RECORD).saturating_add(comment.into()));
            is_one_disk && end.is_some_and(|end| end <= last.len())
        })
    }

    /// Whether bytes, or the last [`ZIP_END`] of them, end with the record that ends a zip archive.
    fn ends_as_zip(bytes: &[u8]) -> bool {
        let last = bytes.get(bytes.len().saturating_sub(ZIP_END)..).unwrap_or_default();
        let begin = find_last(last, b"PK\x05\x06");
        begin.is_some_and(|begin| last.len().saturating_sub(begin) >= ZIP_RECORD)
    }

    /// Identifies a file of `len` bytes by its first kilobyte.
    ///
    /// # Errors
    /// `Input` where it is none of these.
    pub(crate) fn identify_head(bytes: &[u8], len: u64) -> Result<Kind> {
        let head = |magic: &[u8]| bytes.starts_with(magic);
        let kind = if head(b"\x7fELF") {
            match bytes::u16_at(bytes, 16) {
                // Machines of GPUs, and types that only device compilers use: those of zebin and of OpenCL drivers.
                Some(0xff01..=0xff13) => Kind::Native,
                _ if bytes::u16_at(bytes, 18).is_some_and(|machine| GPUS.contains(&machine)) => Kind::Native,
                Some(kind) if kind == ET_REL.0 => Kind::ElfObject,
                _ => Kind::Elf,
            }
        } else if head(&[0x03, 0x02, 0x23, 0x07]) || head(&[0x07, 0x23, 0x02, 0x03]) {
            Kind::SpirV
        } else if head(b"MZ") {
            Kind::Pe
        } else if head(b"!<arch>\n") || head(b"!<thin>\n") {
            if is_of_ocloc(bytes) { Kind::Native } else { Kind::Archive }
        } else if head(&[0x10, 0xff, 0x10, 0xad]) {
            Kind::OffloadBinary
        } else if head(b"IBYS") {
            Kind::SyclBin
        } else if head(b"__CLANG_OFFLOAD_BUNDLE__") || is_text_bundle(bytes) {
            Kind::OffloadBundle
        } else if head(b"CCOB") {
            Kind::CompressedBundle
        } else if head(b"BC\xc0\xde") || head(&[0xde, 0xc0, 0x17, 0x0b]) {
            Kind::LlvmBitcode
        } else if head(b"CTNI") || head(&[0x50, 0xed, 0x55, 0xba]) || is_ptx(bytes) {
            Kind::Native
        } else if head(b"object-id=") {
            Kind::Hcf
        } else if head(b"KPAK") {
            Kind::Kpack
        } else if head(b"PK\x03\x04") || head(b"PK\x05\x06") || head(b"PK\x07\x08PK\x03\x04") {
            Kind::Zip
        } else if head(b"[Code") {
            Kind::Table
        } else if is_tar(bytes) {
            Kind::Tar
        } else if is_coff(bytes, len) {
            Kind::Coff
        } else if bytes.is_empty() {
            return Err(Error::at(0, "the file is empty"));
        } else {
            return Err(Error::at(0, "this is no file that holds device code, as far as this tool knows"));
        };
        Ok(kind)
    }
}

/// Bytes of the record that ends a zip archive, before its comment.
pub(crate) const ZIP_RECORD: usize = 22;
/// Bytes of it at most.
pub(crate) const ZIP_END: usize = ZIP_RECORD + u16::MAX as usize;

/// `e_machine` of GPUs whose code is in ELF files.
const GPUS: [u16; 3] = [device_elf::EM_INTELGT, device_elf::EM_CUDA, device_elf::EM_AMDGPU];

/// Bytes before the first member of an archive.
const AR_MAGIC: usize = 8;
/// Bytes of the header of a member.
const AR_HEADER: usize = 60;

/// Whether an archive holds code for several GPUs, and nothing for a host: none of its members, as far as they are there, is a
/// file that linkers take, and all are called as ocloc calls them (`pad_0`, `64.12.60.7`, `64.bmg`, `generic_ir`), or one is code
/// for Intel's GPUs.
fn is_of_ocloc(bytes: &[u8]) -> bool {
    let (mut at, mut is_called, mut has_code) = (AR_MAGIC, true, false);
    while let Some(name) = bytes::slice_at(bytes, at, 16).and_then(|name| std::str::from_utf8(name).ok()) {
        let begin = at.saturating_add(AR_HEADER);
        let rest = bytes.get(begin..).unwrap_or_default();
        let size = bytes::slice_at(bytes, at.saturating_add(48), 10).and_then(|size| std::str::from_utf8(size).ok());
        let size: Option<usize> = size.and_then(|size| size.trim().parse().ok());
        let member = size.and_then(|size| rest.get(..size));
        // Long names are in a table, which is not the first member.
        let is_listed = at > AR_MAGIC && name.starts_with('/');
        if is_for_linkers(member.unwrap_or(rest)) {
            return false;
        }
        is_called &= is_listed || is_name_of_ocloc(name);
        has_code |= is_for_intel_gpus(member.unwrap_or(rest));
        // Behind a member that is cut short there is none.
        let Some(member) = member else { return is_called || has_code };
        at = begin.saturating_add(member.len()).saturating_add(member.len() & 1);
    }
    (is_called || has_code) && at > AR_MAGIC && at >= bytes.len()
}

/// Whether bytes are code for Intel's GPUs, or a container of their OpenCL driver.
fn is_for_intel_gpus(bytes: &[u8]) -> bool {
    let (kind, machine) = (bytes::u16_at(bytes, 16), bytes::u16_at(bytes, 18));
    bytes.starts_with(b"\x7fELF")
        && (machine == Some(device_elf::EM_INTELGT) || machine == Some(0) && matches!(kind, Some(0xff01..=0xff13)))
}

fn is_name_of_ocloc(name: &str) -> bool {
    let name = name.trim_end().trim_end_matches('/');
    let device = name.strip_prefix("64.").or_else(|| name.strip_prefix("32."));
    let is_device = device.is_some_and(|device| !device.is_empty() && !["o", "obj"].contains(&device));
    is_device
        || name.starts_with("generic_ir")
        || name.strip_prefix("pad_").is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// Whether bytes are what a linker, or LLVM's linker of device code, takes of an archive.
fn is_for_linkers(bytes: &[u8]) -> bool {
    let is_archive = bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n");
    let is_known = || Kind::identify_head(bytes, bytes.len() as u64);
    !is_archive && !matches!(is_known(), Ok(Kind::Native | Kind::SpirV) | Err(_))
}

/// Bytes within which PTX has its first statement.
pub(crate) const PTX_BEGIN: usize = 1 << 16;

/// Whether bytes are PTX, which begins with comments and lines for preprocessors, then `.version` and a number.
pub(crate) fn is_ptx(bytes: &[u8]) -> bool {
    let statement = behind_comments(bytes).and_then(|rest| rest.strip_prefix(b".version"));
    let number = statement.map(<[u8]>::trim_ascii_start).and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    let is_apart = statement.and_then(<[u8]>::first).is_some_and(u8::is_ascii_whitespace);
    // The first bytes of a compressed image may end within the comment that LLVM writes.
    number && is_apart || bytes.starts_with(b"//\n// Generated by LLVM NVPTX")
}

/// Returns what is behind the comments that bytes begin with; none where these do not end in the first [`PTX_BEGIN`] bytes.
fn behind_comments(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.get(..bytes.len().min(PTX_BEGIN))?;
    loop {
        rest = rest.trim_ascii_start();
        let (comment, end): (_, &[u8]) = match rest {
            [b'/', b'/', comment @ ..] | [b'#', comment @ ..] => (comment, b"\n"),
            [b'/', b'*', comment @ ..] => (comment, b"*/"),
            [] | [b'/'] => return None,
            _ => return Some(rest),
        };
        rest = comment.get(find(comment, end)?..)?.strip_prefix(end)?;
    }
}

/// Whether bytes are a text bundle, which begins with a line break and a comment with the id of its first part.
fn is_text_bundle(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    let line = head.split(|&byte| byte == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    line.windows(33).any(|window| window == b"__CLANG_OFFLOAD_BUNDLE____START__")
}

/// Whether bytes are a tar archive, by the magic in its first header; a compressed one is identified by the
/// compressor's magic.
fn is_tar(bytes: &[u8]) -> bool {
    let compressed: [&[u8]; 3] = [b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0"];
    compressed.iter().any(|magic| bytes.starts_with(magic)) || is_zstd_stream(bytes) || is_tar_header(bytes)
}

/// Whether bytes are a zstd stream, which may begin with a frame that readers skip.
pub(super) fn is_zstd_stream(bytes: &[u8]) -> bool {
    bytes.starts_with(&ZSTD_MAGIC) || matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Whether bytes begin with a header of a tar archive: by its magic, or by its checksum in the form before that.
pub(super) fn is_tar_header(bytes: &[u8]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let checked = || {
        let (head, stated, rest) = (bytes.get(..148)?, bytes.get(148..156)?, bytes.get(156..512)?);
        let stated = std::str::from_utf8(stated).ok()?.trim_matches(['\0', ' ']);
        let all = sum(head).checked_add(sum(rest))?.checked_add(8 * u64::from(b' '))?;
        Some(u64::from_str_radix(stated, 8).ok()? == all)
    };
    bytes.get(257..262) == Some(b"ustar") || checked() == Some(true)
}

/// Machines of COFF objects that programs for 64-bit Windows are linked of: x86-64, ARM64, and the two forms of ARM64 code that
/// calls x86-64 (`IMAGE_FILE_MACHINE_*`).
const MACHINES: [u16; 4] = [0x8664, 0xaa64, 0xa641, 0xa64e];

/// Whether bytes are a COFF object. COFF has no magic number: the first word is the machine, and a few header fields
/// must be plausible. Linkers take objects for no machine (0), too: of such a section has to have a name.
fn is_coff(bytes: &[u8], len: u64) -> bool {
    let word = |at| bytes::u16_at(bytes, at);
    if bytes.starts_with(&[0, 0, 0xff, 0xff]) {
        return word(6).is_some_and(|machine| MACHINES.contains(&machine));
    }
    let (Some(machine), Some(sections), Some(optional)) = (word(0), word(2).filter(|count| *count > 0), word(16))
    else {
        return false;
    };
    let symbols = bytes::u32_at(bytes, 8).map_or(u64::MAX, u64::from);
    let table = u64::from(optional).saturating_add(20);
    let is_within = symbols <= len && u64::from(sections).saturating_mul(40).saturating_add(table) <= len;
    let is_named = || matches!(bytes.get(usize::from(optional).saturating_add(20)), Some(b'.' | b'/'));
    is_within && (MACHINES.contains(&machine) || machine == 0 && is_named())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let mut object = b"\x7fELF\x02\x01".to_vec();
        object.resize(16, 0);
        object.extend([1, 0]);
        assert_eq!(Kind::identify(&object).unwrap(), Kind::ElfObject);
        assert_eq!(Kind::identify(b"\x7fELF").unwrap(), Kind::Elf);
        assert_eq!(Kind::identify(b"// __CLANG_OFFLOAD_BUNDLE____START__ host-x\n").unwrap(), Kind::OffloadBundle);
        assert_eq!(Kind::identify(b"[Code|Properties]\n").unwrap(), Kind::Table);
        let archive = |member: &str| Kind::identify(format!("!<arch>\n{member:<16}0").as_bytes()).unwrap();
        assert!(
            ["pad_0", "64.12.60.7/", "32.bmg", "generic_ir/"].into_iter().all(|name| archive(name) == Kind::Native)
        );
        assert!(["/", "a.o/", "64.o/", "pad_left.o/", ""].into_iter().all(|name| archive(name) == Kind::Archive));
        // An object for a host has the form of such a name.
        let elf = |machine: u16| {
            let head = b"\x7fELF\x02\x01".iter().chain(&[0; 10]).chain(&[1, 0]);
            head.copied().chain(machine.to_le_bytes()).collect::<Vec<u8>>()
        };
        let holding = |members: &[(&str, &[u8])]| {
            let mut file = b"!<arch>\n".to_vec();
            for (name, member) in members {
                file.extend(format!("{name:<48}{:<10}`\n", member.len()).into_bytes());
                file.extend(*member);
                file.resize(file.len().next_multiple_of(2), b'\n');
            }
            Kind::identify(&file).unwrap()
        };
        let (host, gpu) = (elf(62), elf(device_elf::EM_INTELGT));
        let coff = [&[0x64, 0x86, 1, 0][..], &[0; 60]].concat();
        for (member, kind) in
            [(&host[..], Kind::Archive), (&coff, Kind::Archive), (b"BC\xc0\xde", Kind::Archive), (&gpu, Kind::Native)]
        {
            assert_eq!(holding(&[("64.cpp.o/", member)]), kind);
            assert_eq!(holding(&[("pad_0", b"\0\0\0"), ("64.bmg", &gpu), ("generic_ir", member)]), kind);
        }
        // Members of other names follow one that is called as ocloc calls it.
        assert_eq!(holding(&[("pad_0/", b"\0"), ("a.o/", &host)]), Kind::Archive);
        assert_eq!(holding(&[("64.x/", b""), ("//", b"long_name.o/\n"), ("/0", &host)]), Kind::Archive);
        assert_eq!(holding(&[("64.x/", b""), ("//", b"64.12.60.7/\n"), ("/0", &gpu)]), Kind::Native);
        // Nor do drivers look for code for their GPUs under other names.
        assert_eq!(holding(&[("pvc/", &gpu)]), Kind::Native);
        assert_eq!(holding(&[("/", b"\0\0\0\0"), ("64.12.60.7/", &gpu)]), Kind::Native);
        assert_eq!(holding(&[("pvc/", &gpu), ("a.o/", &host)]), Kind::Archive);
        assert_eq!(holding(&[("a.spv/", &[3, 2, 0x23, 7])]), Kind::Archive);
        assert!(Kind::identify(b"").unwrap_err().to_string().contains("empty"));
        assert!(Kind::identify(b"#!/bin/sh\n").is_err());
        assert!(Kind::identify(b"#!/bin/sh\nPK\x05\x06").is_err());
        let zip = [&b"#!/bin/sh\nPK\x05\x06"[..], &[0; 18], b"comment"].concat();
        assert_eq!(Kind::identify(&zip).unwrap(), Kind::Zip);
        assert!(Kind::identify(b"d\x86").is_err());
    }
}
