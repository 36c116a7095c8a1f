//! Which packages are in a form that is not read?
//!
//! They are told, since they may hold what nobody looked at: by their names, by their first bytes, and behind programs that unpack
//! themselves.

use super::TAR_BLOCK;
use crate::bytes;
use crate::container::address::occurrences;
use crate::container::elf::{Elf, Foreign};
use crate::container::pe;
use crate::container::{Kind, Section};
use crate::error::Error;
use std::ops::Range;

const ENDINGS: [&str; 14] = [
    ".cpio",
    ".rpm",
    ".7z",
    ".rar",
    ".msi",
    ".iso",
    ".dmg",
    ".squashfs",
    ".AppImage",
    ".sif",
    ".flatpak",
    ".tlz",
    ".taz",
    ".tzo",
];
const COMPRESSIONS: [&str; 6] = [".lzma", ".lz", ".lzo", ".Z", ".lz4", ".br"];
/// RPM, 7z, RAR, cabinets of Windows, squashfs (snaps), xar (packages of macOS), packages of Debian before 1996.
const MAGICS: [&[u8]; 7] = [
    b"\xed\xab\xee\xdb",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"MSCF\0\0\0\0",
    b"hsqs",
    b"xar!\0\x1c",
    b"0.939000\n",
];
/// Begins of other archives that stand behind scripts: zip, gzip, xz, zstd, lz4, lzo, lzip, compress.
const MAGICS_BEHIND: [&[u8]; 8] = [
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\x89LZO",
    b"LZIP\x01",
    b"\x1f\x9d",
];
/// Offset of the magic in the header of a tar archive's member.
const TAR_MAGIC: usize = 257;
/// Bytes of a script within which an archive begins that it unpacks.
pub(crate) const SCRIPT: usize = 1 << 20;
/// Bytes behind all sections of a PE file that are no archive: records of debuggers.
const SMALL: u64 = 512;
/// Bytes behind a program that may all be zeros.
const LOOKED_AT: usize = 16 << 20;
/// Sections that are archives: of PyInstaller and of staticx.
const ARCHIVES: [&str; 2] = ["pydata", ".staticx.archive"];

/// Returns the error for a file that is a package in a form which is not read, by its name or its first bytes, and is in no
/// form that is. Of a script these are [`SCRIPT`].
pub(crate) fn unread(name: &[u8], head: &[u8]) -> Option<Error> {
    let before = |end: &&str| stem(name, end);
    let ends = |end: &&str| before(end).is_some();
    // Unpackers look for the next header behind a first one that is damaged.
    if ends(&".tar") && head.len() >= TAR_BLOCK && head.iter().any(|byte| *byte != 0) {
        return Some(Error::input("the tar archive is malformed: it begins with no header of a member"));
    }
    let is_one = ENDINGS.iter().any(ends)
        || MAGICS.iter().any(|magic| head.starts_with(magic))
        || is_cpio(head)
        || is_behind_script(head)
        || COMPRESSIONS.iter().filter_map(before).any(is_name_of_code);
    is_one.then(unread_form)
}

/// Returns a name without its ending, if that is one in letters of either case.
fn stem<'n>(name: &'n [u8], ending: &str) -> Option<&'n [u8]> {
    let (stem, last) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
    last.eq_ignore_ascii_case(ending.as_bytes()).then_some(stem)
}

/// Whether a file has such a name that it may hold device code: a library, an object, a module, or a package of them.
fn is_name_of_code(name: &[u8]) -> bool {
    const ENDINGS: [&str; 22] = [
        ".tar", ".so", ".o", ".obj", ".a", ".lib", ".spv", ".bc", ".ll", ".dll", ".pyd", ".exe", ".whl", ".zip",
        ".deb", ".syclbin", ".ptx", ".cubin", ".fatbin", ".hsaco", ".kpack", ".hcf",
    ];
    // Libraries have their version behind the ending.
    let version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let unversioned = name.iter().rposition(|byte| !version(byte)).and_then(|last| name.get(..=last)).unwrap_or(name);
    ENDINGS.iter().any(|ending| stem(name, ending).is_some()) || stem(unversioned, ".so").is_some()
}

/// Whether a file begins with the header of a member of a cpio archive: in text with 13 numbers of eight hexadecimal digits, or with
/// 70 octal ones (POSIX); in binary with 13 numbers of two bytes, of either order.
fn is_cpio(head: &[u8]) -> bool {
    let digits = |count: usize, is_digit: fn(&u8) -> bool| {
        head.get(6..count.saturating_add(6)).is_some_and(|numbers| numbers.iter().all(is_digit))
    };
    match head.get(..6) {
        Some(b"070701" | b"070702") => digits(104, u8::is_ascii_hexdigit),
        Some(b"070707") => digits(70, |byte| (b'0'..=b'7').contains(byte)),
        _ => is_binary_cpio(head).unwrap_or(false),
    }
}

/// Whether a file begins with the header of a member of a cpio archive in binary, whose name has the length that it says.
fn is_binary_cpio(head: &[u8]) -> Option<bool> {
    const HEADER: usize = 26;
    let number = |at: usize| {
        let bytes = bytes::slice_at(head, at, 2)?.try_into().ok()?;
        match head.get(..2)? {
            [0xc7, 0x71] => Some(u16::from_le_bytes(bytes)),
            [0x71, 0xc7] => Some(u16::from_be_bytes(bytes)),
            _ => None,
        }
    };
    let (mode, len) = (number(6)?, usize::from(number(20)?));
    // Folders, files, links, pipes, sockets and devices.
    let is_kind = matches!(mode >> 12, 1 | 2 | 4 | 6 | 8 | 10 | 12);
    let name = head.get(HEADER..)?;
    let end = name.iter().position(|byte| *byte == 0);
    Some(is_kind && end.map_or(len > name.len(), |end| end > 0 && len == end.saturating_add(1)))
}

/// Returns the error for an archive in a form that is not read.
pub(crate) fn unread_form() -> Error {
    Error::input("the archive is in a form that is not read").with_remedy("unpack it, and name the folder")
}

/// Returns the error for a program with other bytes behind it, or in a section that is an archive: it may unpack them (installers,
/// programs of PyInstaller). [`crate::container::Host::read`] refuses AppImages.
pub(crate) fn unread_behind(kind: Kind, file: &[u8]) -> Option<Error> {
    let at = match kind {
        Kind::Elf => {
            let (end, sections) = match Foreign::read(file) {
                Some(foreign) => (foreign.end, Vec::new()),
                None => Elf::parse(file).map(|(elf, sections)| (elf.end(), sections)).ok()?,
            };
            let is_archive = |section: &&Section<'_>| ARCHIVES.contains(&section.name) && !section.data.is_empty();
            let behind = filled(file, &(end..file.len() as u64)) > 0;
            behind.then_some(end).or_else(|| sections.iter().find(is_archive).map(|section| section.offset))?
        }
        Kind::Pe => {
            let behind: Vec<(u64, u64)> = pe::behind(file)
                .iter()
                .map(|range| (range.start, filled(file, range)))
                .filter(|(_, len)| *len > 0)
                .collect();
            let all = behind.iter().map(|(_, len)| *len).fold(0, u64::saturating_add);
            behind.first().map(|(start, _)| *start).filter(|_| all >= SMALL)?
        }
        _ => return None,
    };
    let error = Error::at(at, "the program has other data behind it, as an archive, which is not read");
    Some(error.with_remedy("unpack it, and name the folder"))
}

/// Returns the number of bytes in a range, 0 where all are zeros, with which linkers fill the end of a file. No more than a bound is
/// looked at: what is larger is more than an end.
fn filled(file: &[u8], range: &Range<u64>) -> u64 {
    let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let bytes = bounds.and_then(|(start, end)| file.get(start..end)).unwrap_or_default();
    let is_filled = bytes.len() > LOOKED_AT || bytes.iter().any(|byte| *byte != 0);
    if is_filled { bytes.len() as u64 } else { 0 }
}

/// Whether the first bytes of a file are those of a script with an archive behind one of its lines (makeself).
fn is_behind_script(file: &[u8]) -> bool {
    let script = file.get(..file.len().min(SCRIPT)).filter(|file| file.starts_with(b"#!")).unwrap_or_default();
    // Scripts have a million lines, most of which begin with none of these.
    let may_begin =
        |first: &u8| !(first.is_ascii_alphanumeric() || first.is_ascii_whitespace()) || b"7BLMPRhx0".contains(first);
    let is_begin = |at: usize| {
        let line = script.get(at.saturating_add(1)..).unwrap_or_default();
        line.first().is_some_and(may_begin) && begins_as_archive(line)
    };
    let is_tar = |at: usize| {
        let begin = at
            .checked_sub(TAR_MAGIC)
            .filter(|begin| begin.checked_sub(1).and_then(|end| script.get(end)) == Some(&b'\n'));
        begin.and_then(|begin| script.get(begin..)).is_some_and(begins_as_archive)
    };
    occurrences(script, b"\n").any(is_begin) || occurrences(script, b"ustar").any(is_tar)
}

/// Whether bytes begin as an archive that is no text: scripts have the letters of some.
fn begins_as_archive(bytes: &[u8]) -> bool {
    let is_binary = |len: usize| bytes.get(..len).unwrap_or(bytes).contains(&0);
    let is_text = |magic: &[u8]| magic.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let has_magic = |magic: &[u8]| bytes.starts_with(magic) && (!is_text(magic) || is_binary(64));
    let is_bzip2 = bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY");
    let is_tar = || bytes.get(TAR_MAGIC..TAR_MAGIC + 5) == Some(b"ustar") && is_binary(512);
    MAGICS.iter().chain(&MAGICS_BEHIND).any(|magic| has_magic(magic)) || is_bzip2 || is_tar() || is_cpio(bytes)
}
