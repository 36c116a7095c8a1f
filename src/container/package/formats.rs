//! Which files are in an archive (`.a`, `.lib`, `.deb`), a zip (wheel, `.conda`) or a tar archive?
//!
//! Archives have GNU, BSD and COFF names, or are thin: their members are separate files.
//!
//! Extension headers of tar are read here, with a limit: crate `tar` buffers whatever size they declare. A member beyond 8
//! GiB, whose size only an extension header holds, is beyond the limit anyway; it ends the walk with a problem.

use super::stream::{self, Bounded};
use super::{Begin, Budget, HEAD, PackageLocation, Walk, begin, is_useless, may_inflate, unread, unreadable, whole};
use crate::bytes::Draft;
use crate::bytes::{slice_at, u16_at, u32_at, u64_at};
use crate::container::address::{find, find_last, occurrences};
use crate::container::inflate::zstd_effort;
use crate::container::kind::{self, ZIP_END, ZIP_RECORD};
use crate::error::{Error, Result};
use crate::limits;
use flate2::Crc;
use object::read::archive::ArchiveFile;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::io::{self, Cursor, Read, Seek};
use tar::{Archive, Entries, Entry, EntryType};
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

/// Bytes of the magic of an archive.
const MAGIC: usize = 8;
/// Bytes of a block of a tar archive.
const BLOCK: u64 = 512;
/// Bytes of the header of a member of an archive.
const HEADER: usize = 60;

pub(super) fn walk_archive(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => return walk.damaged(place.path, Error::input(format!("the archive is malformed: {error}"))),
    };
    if names_are_endless(bytes) {
        return walk.damaged(place.path, Error::input("the archive is malformed: the names of its members do not end"));
    }
    if !archive.is_thin() {
        // Linkers take what is not a list under its name for an object.
        let listed = archive.members().next().and_then(|first| Some(first.ok()?.file_range().0));
        let is_hidden = |first: &First<'_>| {
            let end = first.start.saturating_add(first.data.len()) as u64;
            listed.is_none_or(|listed| end <= listed)
        };
        for hidden in first_members(bytes).filter(is_hidden) {
            let (name, data) = hidden.named();
            let start = hidden.start.saturating_add(hidden.data.len().saturating_sub(data.len()));
            walk.member(place, name, data, Some(start as u64))?;
        }
    }
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                return walk
                    .damaged(place.path, Error::input(format!("the archive is cut short or malformed: {error}")));
            }
        };
        walk.neighbours.meet(member.name());
        if archive.is_thin() {
            walk.beside(place, member.name())?;
            continue;
        }
        match member.data(bytes) {
            Ok(data) => walk.member(place, member.name(), data, Some(member.file_range().0))?,
            Err(error) => walk.damaged_member(place, member.name(), Error::input(error.to_string()))?,
        }
    }
    Ok(())
}

pub(super) fn walk_zip(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let broken = |error: &dyn std::fmt::Display| Error::input(format!("the zip archive is malformed: {error}"));
    if let Err(error) = few_members(bytes) {
        return walk.damaged(place.path, error);
    }
    let mut archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return walk.damaged(place.path, broken(&error)),
    };
    // Overlapping members only serve to inflate to far more than the archive. With damaged headers overlap cannot be
    // checked for all; then at least no two members may begin at the same offset.
    if let Ok(true) = archive.has_overlapping_files() {
        return walk.damaged(place.path, broken(&"its members overlap"));
    }
    let listed = Directory::read(bytes, &archive);
    if let Some(what) = listed.ambiguity {
        walk.damaged(place.path, broken(&what))?;
    }
    // Other programs go by the directory's size.
    if listed.count != archive.len().saturating_add(listed.repeated) {
        walk.damaged(place.path, broken(&"its directory lists more members than its end says"))?;
    }
    // Of members of one name the reader knows the last; they are told below.
    if listed.repeated == 0
        && let Some(at) = unlisted(bytes, &mut archive)
    {
        let what = format!("a member at offset {at} is in no directory, and programs differ in whether they see it");
        walk.damaged(place.path, broken(&what))?;
    }
    for name in listed.duplicates {
        let error =
            Error::input("two members have this name, and the last is read: programs differ in which they take");
        walk.damaged_member(place, name, error)?;
    }
    let (mut plan, mut starts) = (Vec::new(), HashSet::new());
    for index in 0..archive.len() {
        if let Some(Ok(name)) = archive.name_for_index(index) {
            walk.neighbours.meet(name.as_bytes());
        }
        let error = match archive.by_index(index) {
            // A folder or a link by its name may be a file to other programs: the contents tell.
            Ok(file) if file.compressed_size() > 0 && !file.data_start().is_none_or(|start| starts.insert(start)) => {
                Error::input("the member shares its bytes with another")
            }
            Ok(file) => {
                plan.extend(planned(file, index, bytes, walk.budget, place.depth > 0));
                continue;
            }
            Err(error) => Error::input(error.to_string()),
        };
        let name = archive.name_for_index(index).and_then(std::result::Result::ok);
        plan.push((name.map(|name| name.as_bytes().to_vec()), Planned::Damaged(error)));
    }
    // Members that are in the archive unchanged need no thread.
    let inflate = |number: usize| match plan.get(number) {
        Some((_, Planned::Inflate { index, size })) => {
            let file = archive.clone();
            Some(inflated(file, *index, *size))
        }
        _ => None,
    };
    stream::in_order(plan.len(), inflate, |number, inflated| {
        let Some((name, planned)) = plan.get(number) else { return Ok(()) };
        let named = name.as_deref().unwrap_or_default();
        match (planned, inflated) {
            (Planned::Damaged(error), _) if name.is_none() => walk.damaged(place.path, error.clone()),
            (Planned::Damaged(error), _) => walk.damaged_member(place, named, error.clone()),
            (_, Some(Err(error))) => walk.damaged_member(place, named, error),
            (Planned::Stored(at, data), _) => walk.member(place, named, data, Some(*at)),
            (_, Some(Ok(bytes))) => walk.member(place, named, &bytes, None),
            (Planned::Inflate { .. }, None) => Ok(()),
        }
    })
}

/// Whether a name in the table of long names, which is among the first members, is longer than any path: crate `object` looks
/// for its end anew for each member.
fn names_are_endless(bytes: &[u8]) -> bool {
    let table = first_members(bytes).find(|member| member.header.starts_with(b"// "));
    let mut names = table.iter().flat_map(|table| table.data.split(|byte| matches!(byte, b'\n' | 0)));
    names.any(|name| name.len() > limits::MAX_MEMBER_NAME)
}

/// Member of an archive as its header says it.
struct First<'a> {
    header: &'a [u8],
    data: &'a [u8],
    /// Offset of the data.
    start: usize,
}

impl<'a> First<'a> {
    /// Returns the name and the contents; names of BSD stand before the contents.
    fn named(&self) -> (&'a [u8], &'a [u8]) {
        let name = self.header.get(..16).unwrap_or_default().trim_ascii_end();
        let behind = name.strip_prefix(b"#1/").and_then(|len| std::str::from_utf8(len).ok()?.parse::<usize>().ok());
        behind.and_then(|len| self.data.split_at_checked(len)).unwrap_or((name, self.data))
    }
}

/// Returns the members among which are lists of symbols and of names.
fn first_members(bytes: &[u8]) -> impl Iterator<Item = First<'_>> {
    /// The table of names comes behind three lists of symbols at most.
    const FIRST: usize = 5;
    let mut at = MAGIC;
    std::iter::from_fn(move || {
        let header = slice_at(bytes, at, HEADER)?;
        let size = std::str::from_utf8(header.get(48..58)?).ok()?.trim().parse::<usize>().ok()?;
        let start = at.checked_add(HEADER)?;
        let data = slice_at(bytes, start, size)?;
        at = start.checked_add(size)?.checked_add(size & 1)?;
        Some(First { header, data, start })
    })
    .take(FIRST)
}

/// Use of a member of a zip archive.
enum Planned<'z> {
    Damaged(Error),
    /// Bytes that are in the archive unchanged, and where.
    Stored(u64, &'z [u8]),
    /// Member to inflate to this many bytes.
    Inflate {
        index: usize,
        size: u64,
    },
}

/// Returns what is to be done with a member, with its name; several where it is also damaged.
fn planned<'z, R: Read>(
    file: ZipFile<'_, R>,
    index: usize,
    bytes: &'z [u8],
    budget: &Budget<'_>,
    is_nested: bool,
) -> Vec<(Option<Vec<u8>>, Planned<'z>)> {
    let name = file.name_raw().to_vec();
    // Whatever differs, the member is read as the directory has it.
    let differs = disagreement(&file, bytes).map(|what| (Some(name), Planned::Damaged(Error::input(what))));
    differs.into_iter().chain(listed(file, index, bytes, budget, is_nested)).collect()
}

/// Returns the bytes that are inflated elsewhere in the time that a compressed member takes, however few it yields. What another
/// form repeats for nothing counts by what is read of it.
fn effort<R: Read>(file: &ZipFile<'_, R>, bytes: &[u8], is_nested: bool) -> u64 {
    let stored = file.compressed_size();
    let begin = file.data_start().and_then(|at| usize::try_from(at).ok());
    let packed = begin.zip(usize::try_from(stored).ok()).and_then(|(at, len)| slice_at(bytes, at, len));
    match packed {
        Some(packed) if file.compression() == CompressionMethod::Zstd => {
            zstd_effort(packed).saturating_sub(file.size())
        }
        _ if is_nested => stored.saturating_mul(stream::SLOWNESS),
        _ => 0,
    }
}

/// Returns what is to be done with a member as the directory lists it.
fn listed<'z, R: Read>(
    mut file: ZipFile<'_, R>,
    index: usize,
    bytes: &'z [u8],
    budget: &Budget<'_>,
    is_nested: bool,
) -> Vec<(Option<Vec<u8>>, Planned<'z>)> {
    let name = Some(file.name_raw().to_vec());
    let one = |planned| vec![(name.clone(), planned)];
    if file.compression() != CompressionMethod::Stored {
        let size = file.size();
        let ceiling = file.compressed_size().saturating_mul(limits::MAX_INFLATED_RATIO).max(limits::MAX_INFLATED_FLOOR);
        let raw_name = file.name_raw().to_owned();
        // Blocks that yield nothing take their time before the first byte comes.
        let effort = effort(&file, bytes, is_nested);
        if effort > budget.left() {
            let error =
                format!("its blocks take as long as {effort} bytes more, and the package's size does not warrant that");
            return one(Planned::Damaged(Error::input(error)));
        }
        budget.spend(effort);
        match begin(&raw_name, &mut file, size) {
            Ok(Begin::Useful(_)) => {}
            Ok(Begin::Useless(head)) => {
                return unread(&raw_name, &head).map_or_else(Vec::new, |error| one(Planned::Damaged(error)));
            }
            Err(error) => return one(Planned::Damaged(unreadable(&error))),
        }
        if let Err(error) = may_inflate(size, ceiling.min(limits::MAX_MEMBER), budget.left()) {
            return one(Planned::Damaged(error));
        }
        budget.spend(size);
        return one(Planned::Inflate { index, size });
    }
    // The bytes of a stored member are in the archive unchanged.
    let range = file.data_start().and_then(|at| Some((usize::try_from(at).ok()?, file.compressed_size())));
    let data = range.and_then(|(at, size)| slice_at(bytes, at, usize::try_from(size).ok()?));
    let (Some((at, _)), Some(data)) = (range, data) else {
        return one(Planned::Damaged(Error::input("the member passes the end of the zip archive")));
    };
    if is_useless(file.name_raw(), data, data.len() as u64) {
        return unread(file.name_raw(), data).map_or_else(Vec::new, |error| one(Planned::Damaged(error)));
    }
    let mut crc = Crc::new();
    crc.update(data);
    let mut all = Vec::new();
    if crc.sum() != file.crc32() {
        // The contents may be valid nevertheless.
        all.extend(one(Planned::Damaged(Error::input("the checksum of the member is wrong"))));
    }
    all.extend(one(Planned::Stored(at as u64, data)));
    all
}

/// Returns in what a member's own header differs from the directory, or the directory from itself: some programs go by the one, and
/// some by the other. Each reads another member then.
pub(crate) fn disagreement<R: Read>(file: &ZipFile<'_, R>, bytes: &[u8]) -> Option<&'static str> {
    /// Flag of a member whose sizes stand behind it (4.4.4).
    const BEHIND: u16 = 8;
    const LARGE: u32 = u32::MAX;
    let (size, compressed) = (file.size(), file.compressed_size());
    if file.compression() == CompressionMethod::Stored && size != compressed && !file.encrypted() {
        return Some("its directory states two sizes though it is not compressed, and programs differ in which counts");
    }
    let begin = usize::try_from(file.header_start()).ok()?;
    let at = |offset: usize| begin.saturating_add(offset);
    let (flags, method) = (u16_at(bytes, at(6))?, u16_at(bytes, at(8))?);
    let [crc, own_compressed, own_size] = [u32_at(bytes, at(14))?, u32_at(bytes, at(18))?, u32_at(bytes, at(22))?];
    #[allow(deprecated, reason = "a number is compared, whatever method it is that of")]
    let stated = file.compression().to_u16();
    if method != stated {
        return Some("its own header states another method than the directory, and programs differ in which counts");
    }
    // Sizes beyond four bytes are in a field of their own (4.5.3), that of the contents first.
    let (name, extra) = (u16_at(bytes, at(26))?, u16_at(bytes, at(28))?);
    let extra = slice_at(bytes, at(30).saturating_add(name.into()), extra.into()).unwrap_or_default();
    let large = large_field(extra).unwrap_or_default();
    let after = if own_size == LARGE { 8 } else { 0 };
    let whole = |own: u32, at: usize| if own == LARGE { u64_at(large, at) } else { Some(own.into()) };
    let (own_size, own_compressed) = (whole(own_size, 0), whole(own_compressed, after));
    let is_behind = flags & BEHIND != 0;
    let is = |own: Option<u64>, stated: u64| own == Some(stated) || is_behind && own.is_none_or(|own| own == 0);
    if is(Some(crc.into()), file.crc32().into()) && is(own_size, size) && is(own_compressed, compressed) {
        return None;
    }
    Some("its own header states another size or checksum than the directory, and programs differ in which counts")
}

/// Returns the field for the sizes of a large member among its extra fields.
fn large_field(mut extra: &[u8]) -> Option<&[u8]> {
    while let (Some(id), Some(size)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let field = slice_at(extra, 4, size.into());
        if id == 1 {
            return field;
        }
        extra = extra.get(usize::from(size).saturating_add(4)..)?;
    }
    None
}

/// Inflates a member of a zip archive.
fn inflated<R: Read + Seek>(mut archive: ZipArchive<R>, index: usize, size: u64) -> Result<Draft> {
    let file = archive.by_index(index).map_err(|error| Error::input(error.to_string()))?;
    whole(file, Some(size), limits::MAX_MEMBER)
}

/// Returns the number of fields for the sizes of large members (APPNOTE 4.5.3) among the extra fields of a member.
fn large_fields(mut extra: &[u8]) -> usize {
    let mut count = 0usize;
    while let (Some(id), Some(size)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        count = count.saturating_add(usize::from(id == 1));
        extra = extra.get(usize::from(size).saturating_add(4)..).unwrap_or_default();
    }
    count
}

/// Directory of a zip archive as it stands there, whatever the record at its end says.
#[derive(Debug, Default)]
pub(crate) struct Directory<'z> {
    /// Number of members.
    pub(crate) count: usize,
    /// Number of members that have the name of one before.
    repeated: usize,
    /// Names that several members have, of which the reader of zip archives knows the last.
    pub(crate) duplicates: Vec<&'z [u8]>,
    /// Reason why other programs would read another directory, or another member.
    pub(crate) ambiguity: Option<&'static str>,
}

/// Bytes of the record of large archives before it (4.3.14), and of what tells where that is (4.3.15).
const LARGE_END: usize = 56;
const LOCATOR: usize = 20;

/// Returns where the directory stands and ends for Python, and so for pip: by the last record at the end, and a record of large
/// archives right before that.
fn directory_for_python(bytes: &[u8]) -> Option<(usize, usize)> {
    let tail = bytes.len().saturating_sub(ZIP_END);
    let begins = bytes.get(tail..bytes.len().checked_sub(ZIP_RECORD - 4)?)?;
    let end = tail.saturating_add(find_last(begins, b"PK\x05\x06")?);
    let locator = end.checked_sub(LOCATOR).filter(|at| slice_at(bytes, *at, 4) == Some(b"PK\x06\x07"));
    let large = locator.and_then(|at| at.checked_sub(LARGE_END));
    let large = large.filter(|at| slice_at(bytes, *at, 4) == Some(b"PK\x06\x06"));
    let (end, size) = match large {
        Some(at) => (at, u64_at(bytes, at.saturating_add(40))?),
        None => (end, u32_at(bytes, end.saturating_add(12))?.into()),
    };
    Some((end.checked_sub(usize::try_from(size).ok()?)?, end))
}

/// Bytes of a member in the directory, before its name and more (4.3.12), and their signature.
const LISTED: usize = 46;
const LISTED_SIGNATURE: u32 = 0x0201_4b50;

/// Returns the place behind a member of the directory.
fn behind_listed(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).filter(|signature| *signature == LISTED_SIGNATURE)?;
    let field = |offset: usize| u16_at(bytes, at.saturating_add(offset)).map_or(0, usize::from);
    let more = [28, 30, 32].map(field).into_iter().fold(LISTED, usize::saturating_add);
    Some(at.saturating_add(more))
}

/// Tells of a zip archive that may have a directory of more members than there is memory for, wherever a reader takes it to be: each
/// takes several times its bytes there.
///
/// # Errors
/// `Input` where there may be more than [`limits::MAX_ZIP_MEMBERS`].
pub(crate) fn few_members(bytes: &[u8]) -> Result<()> {
    let most = limits::MAX_ZIP_MEMBERS;
    if bytes.len() / LISTED <= most || occurrences(bytes, &LISTED_SIGNATURE.to_le_bytes()).nth(most).is_none() {
        return Ok(());
    }
    let error = Error::input(format!("the zip archive has more members than the limit of {most}"));
    Err(error.with_remedy("unpack it, and name the folder"))
}

impl<'z> Directory<'z> {
    pub(crate) fn read<R: Read + Seek>(bytes: &'z [u8], archive: &ZipArchive<R>) -> Directory<'z> {
        let (mut seen, mut listed) = (HashSet::new(), Directory::default());
        let begin = usize::try_from(archive.central_directory_start()).unwrap_or(usize::MAX);
        let mut at = begin;
        while let Some(next) = behind_listed(bytes, at) {
            let field = |offset: usize| u16_at(bytes, at.saturating_add(offset)).map_or(0, usize::from);
            let (name, extra) = (field(28), field(30));
            let Some(text) = slice_at(bytes, at.saturating_add(LISTED), name) else { break };
            listed.count = listed.count.saturating_add(1);
            let extra = slice_at(bytes, at.saturating_add(LISTED).saturating_add(name), extra).unwrap_or_default();
            if large_fields(extra) > 1 {
                listed.ambiguity =
                    Some("a member has two fields for the sizes of large ones, and programs differ in which counts");
            }
            if !seen.insert(text) {
                listed.repeated = listed.repeated.saturating_add(1);
                if listed.duplicates.len() < limits::MAX_PROBLEMS {
                    listed.duplicates.push(text);
                }
            }
            at = next;
        }
        if directory_for_python(bytes) != Some((begin, at)) {
            listed.ambiguity = Some("programs differ in where its directory is");
        }
        listed
    }
}

/// Signature of a member's own header.
const LOCAL: &[u8] = b"PK\x03\x04";

/// Returns the offset of a member that its own header alone tells of: programs which read a zip archive from its beginning see it,
/// and those that go by the directory do not. Looked for at the beginning, and in what is between members.
pub(crate) fn unlisted<R: Read + Seek>(bytes: &[u8], archive: &mut ZipArchive<R>) -> Option<usize> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        // Members that cannot be placed are told as damaged.
        let Ok(member) = archive.by_index_raw(index) else { return None };
        let end = member.data_start()?.checked_add(member.compressed_size())?;
        members.push((usize::try_from(member.header_start()).ok()?, usize::try_from(end).ok()?));
    }
    members.sort_unstable();
    let directory = usize::try_from(archive.central_directory_start()).ok()?;
    let first = members.first().map_or(directory, |(start, _)| *start);
    // Bytes before a zip archive are a program, or else another one.
    if first > 0 && bytes.starts_with(LOCAL) {
        return Some(0);
    }
    let nexts = members.iter().skip(1).map(|(start, _)| *start).chain([directory]);
    members.iter().zip(nexts).find_map(|((start, end), next)| {
        let begin = end.saturating_add(descriptor(bytes, *start, *end));
        Some(begin.saturating_add(find(bytes.get(begin..next)?, LOCAL)?))
    })
}

/// Returns the number of bytes in which a member states its sizes behind its contents (4.3.9), if it does.
fn descriptor(bytes: &[u8], start: usize, end: usize) -> usize {
    const BEHIND: u16 = 8;
    if u16_at(bytes, start.saturating_add(6)).is_none_or(|flags| flags & BEHIND == 0) {
        return 0;
    }
    // The checksum and two sizes of four bytes, as all writers have them; those of large members lie in what is searched.
    let signature = if slice_at(bytes, end, 4) == Some(b"PK\x07\x08") { 4 } else { 0 };
    12usize.saturating_add(signature)
}

pub(super) fn walk_tar(walk: &mut Walk<'_>, place: PackageLocation<'_>, bytes: &[u8]) -> Result<()> {
    let decoder = match stream::decoder(bytes, walk.budget, place.depth) {
        Ok(Some(decoder)) => decoder,
        Ok(None) => {
            let mut archive = Archive::new(Cursor::new(bytes));
            let is_whole = each(walk, place, archive.entries_with_seek(), Some(bytes))?;
            return if is_whole { ends(walk, place, archive.into_inner()) } else { Ok(()) };
        }
        Err(error) => return walk.damaged(place.path, unreadable(&error)),
    };
    let mut reader = Bounded::new(decoder, walk.budget);
    let mut head = Vec::new();
    if let Err(error) = reader.by_ref().take(HEAD as u64).read_to_end(&mut head) {
        return walk.damaged(place.path, unreadable(&error));
    }
    let name = stream::inner_name(place.path);
    let name = name.as_bytes();
    if is_useless(name, &head, u64::MAX) {
        return walk.passed_over(place, name, &head);
    }
    let is_tar = kind::is_tar_header(&head);
    let all = Cursor::new(head).chain(reader);
    if is_tar {
        let mut archive = Archive::new(all);
        let is_whole = each(walk, place, archive.entries(), None)?;
        return if is_whole { ends(walk, place, archive.into_inner()) } else { Ok(()) };
    }
    // The budget of a single compressed file.
    let ceiling = (bytes.len() as u64).saturating_mul(limits::MAX_INFLATED_RATIO).max(limits::MAX_INFLATED_FLOOR);
    walk.inflated(place, name, all, None, ceiling)
}

/// Visits each file. `memory` is the archive, if it is in memory. Returns whether the end was reached.
fn each<R: Read>(
    walk: &mut Walk<'_>,
    place: PackageLocation<'_>,
    entries: io::Result<Entries<'_, R>>,
    memory: Option<&[u8]>,
) -> Result<bool> {
    let broken = |error: &io::Error| Error::input(format!("the tar archive is cut short or malformed: {error}"));
    let entries = match entries {
        Ok(entries) => entries.raw(true),
        Err(error) => return walk.damaged(place.path, broken(&error)).map(|()| false),
    };
    let (mut long_name, mut extended) = (None, Extended::default());
    // Of members of one name the last stays where the archive is unpacked. Names of those with code are kept by their hashes.
    let (mut with_code, hasher) = (HashSet::new(), RandomState::new());
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return walk.damaged(place.path, broken(&error)).map(|()| false),
        };
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => {
                long_name = name_in(&mut entry).or(long_name);
                continue;
            }
            EntryType::GNULongLink => continue,
            // The last is Solaris' form.
            _ if kind.is_pax_local_extensions() || kind.is_pax_global_extensions() || kind.as_byte() == b'X' => {
                let is_global = kind.is_pax_global_extensions();
                match Extended::read(&mut entry).and_then(|own| extended.add(own, is_global)) {
                    Ok(path) => long_name = path.or(long_name),
                    Err(error) => return walk.damaged(place.path, error).map(|()| false),
                }
                continue;
            }
            _ => {}
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        walk.neighbours.meet(&name);
        let own = hash_of(&name, &hasher);
        if with_code.contains(&own) {
            let error = "two members have this name, and the last is what stays where the archive is unpacked";
            walk.damaged_member(place, &name, Error::input(error))?;
        }
        let visited = walk.visited;
        let Extended { size: stated, sparse } = std::mem::take(&mut extended);
        let (at, size) = (entry.raw_file_position(), entry.size());
        // Links, devices, folders, pipes.
        let has_none = matches!(kind.as_byte(), b'1'..=b'6');
        // Where its bytes end, so that the next member begins, other programs decide in another way.
        if stated.is_some_and(|stated| stated != size) || has_none && size > 0 {
            let error = Error::input("programs differ in how many bytes this member has; the rest is not read");
            return walk.damaged_member(place, &name, error).map(|()| false);
        }
        if sparse || kind.is_gnu_sparse() {
            walk.damaged_member(place, &name, Error::input("sparse members of tar archives are not read"))?;
            continue;
        }
        // Members of other types are files to other programs.
        if has_none {
            continue;
        }
        match memory
            .map(|bytes| usize::try_from(at).ok().and_then(|at| slice_at(bytes, at, usize::try_from(size).ok()?)))
        {
            None => walk.inflated(place, &name, &mut entry, Some(size), limits::MAX_MEMBER)?,
            Some(Some(data)) => walk.member(place, &name, data, Some(at))?,
            Some(None) => {
                let error = format!("the member declares {size} bytes and passes the end of the tar archive");
                walk.damaged_member(place, &name, Error::input(error))?;
            }
        }
        if walk.visited > visited {
            with_code.insert(own);
        }
    }
    Ok(true)
}

/// Looks at what stands behind the last member: a second block of zeros, where `tar` ends. busybox's reads on behind a lone one. The
/// rest of a compressed archive is read for what its compressor checks.
fn ends(walk: &mut Walk<'_>, place: PackageLocation<'_>, mut rest: impl Read) -> Result<()> {
    let mut block = Vec::new();
    let read = rest.by_ref().take(BLOCK).read_to_end(&mut block).and_then(|_| io::copy(&mut rest, &mut io::sink()));
    match read {
        Err(error) => walk.damaged(place.path, unreadable(&error)),
        Ok(_) if block.iter().any(|byte| *byte != 0) => {
            let error = "more stands behind a lone block of zeros, and programs differ in whether they read it";
            walk.damaged(place.path, Error::input(error))
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the hash of the place that a member's name stands for: `./a//b` is `a/b`.
fn hash_of(name: &[u8], hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    let parts = name.split(|byte| *byte == b'/').filter(|part| !matches!(part, [] | [b'.']));
    parts.for_each(|part| part.hash(&mut state));
    state.finish()
}

/// Facts about the next member, beside its path, that extension headers state.
#[derive(Default)]
struct Extended {
    size: Option<u64>,
    /// Whether its contents are a list of parts, and these.
    sparse: bool,
}

impl Extended {
    /// Reads a header, with the path that it states.
    fn read(entry: &mut Entry<'_, impl Read>) -> Result<(Extended, Option<Vec<u8>>)> {
        let len = entry.size();
        if len > limits::MAX_STRING as u64 {
            let limit = limits::MAX_STRING;
            return Err(Error::input(format!("an extension header has {len} bytes; the limit is {limit}")));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|error| unreadable(&error))?;
        let (mut own, mut path) = (Extended::default(), None);
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let (key, value, after) = record(rest)
                .ok_or_else(|| Error::input("an extension header is malformed, and programs differ in what it says"))?;
            match key {
                b"path" => path = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|size| size.parse().ok());
                    own.state(size.unwrap_or(u64::MAX))?;
                }
                key => own.sparse |= key.starts_with(b"GNU.sparse."),
            }
            rest = after;
        }
        Ok((own, path))
    }

    /// Takes over what a further header says; returns the path. One for all members can have none of these.
    fn add(&mut self, (own, path): (Extended, Option<Vec<u8>>), is_global: bool) -> Result<Option<Vec<u8>>> {
        if is_global && (own.sparse || own.size.is_some()) {
            return Err(Error::input("an extension header states one size for all members; the rest is not read"));
        }
        self.sparse |= own.sparse;
        own.size.map_or(Ok(()), |size| self.state(size))?;
        Ok(path.filter(|_| !is_global))
    }

    fn state(&mut self, size: u64) -> Result<()> {
        if self.size.replace(size).is_some_and(|other| other != size) {
            return Err(Error::input("extension headers state several sizes of one member; the rest is not read"));
        }
        Ok(())
    }
}

/// Returns the key and value of the first record of an extension header, `LENGTH KEY=VALUE` with a line break, and what is behind
/// it (POSIX `pax`). A value may have line breaks.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let digits = bytes.get(..space).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let (whole, rest) = bytes.split_at_checked(std::str::from_utf8(digits).ok()?.parse().ok()?)?;
    let text = whole.get(space.checked_add(1)?..)?.strip_suffix(b"\n")?;
    let (key, value) = text.split_at_checked(text.iter().position(|byte| *byte == b'=')?)?;
    Some((key, value.get(1..)?, rest))
}

/// Returns the name of the next member from an extension header of GNU.
fn name_in(entry: &mut Entry<'_, impl Read>) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    entry.take(16 * limits::MAX_MEMBER_PATH as u64).read_to_end(&mut content).ok()?;
    Some(content.split(|&byte| byte == 0).next().unwrap_or_default().to_vec())
}
