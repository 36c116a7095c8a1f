//! How do changed files get back into a wheel?
//!
//! All other members are copied as they are stored, with their comments and most extra fields (other times than the directory's are
//! left out), and so is the comment of the archive. A changed member keeps its compression, time, permissions and comment. `RECORD` gets the new sizes and hashes, by the rules of
//! the binary distribution format (PEP 427, PEP 376): SHA-256, base64 with the URL's alphabet and no padding; its other rows, and
//! the ends of all, stay. Signatures of `RECORD` would be wrong and are left out.

use crate::bytes::{slice_at, u16_at, u32_at};
use crate::container::kind::ZIP_RECORD;
use crate::container::package::{Directory, disagreement, few_members, shown_name, unlisted};
use crate::error::{Error, Result};
use crate::limits;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use zip::extra_fields::ExtraField::Zip64ExtendedInformation;
use zip::read::ZipFile;
use zip::write::FullFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Opens the new contents of a member, which is known by its name as [`shown_name`] shows it; none where it stays as it is.
pub(crate) type NewContents<'c> = dyn Fn(&str) -> Option<Result<Box<dyn Read>>> + 'c;

/// Wheel that was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repacked {
    /// Number of members with new contents.
    pub changed: usize,
    /// Signatures of `RECORD` that were left out, by path.
    pub(crate) unsigned: Vec<String>,
    /// Changed members whose old contents were not what `RECORD` says of them, or of which it says nothing.
    pub(crate) unrecorded: Vec<String>,
}

/// Size in bytes and SHA-256 of a member's new contents, as `RECORD` has them.
struct Recorded {
    size: u64,
    hash: String,
}

/// Bytes of a hash and a size in `RECORD`, with their commas, at most.
const MAX_STATED: u64 = 80;

/// An output that takes no more once it has failed, and says so to nobody who asks later: `ZipWriter` prints the errors that it
/// meets when it is dropped.
struct Output<'f, W> {
    out: W,
    at: u64,
    failed: &'f RefCell<Option<std::io::Error>>,
}

impl<W: Write> Write for Output<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut failed = self.failed.borrow_mut();
        let taken = match failed.is_none().then(|| self.out.write(bytes)) {
            Some(Ok(0)) if !bytes.is_empty() => {
                *failed = Some(std::io::ErrorKind::WriteZero.into());
                bytes.len()
            }
            Some(Ok(taken)) => taken,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => return Err(error),
            Some(Err(error)) => {
                *failed = Some(error);
                bytes.len()
            }
            None => bytes.len(),
        };
        self.at = self.at.saturating_add(taken as u64);
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.failed.borrow().is_some() { Ok(()) } else { self.out.flush() }
    }
}

impl<W: Seek> Seek for Output<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.at = match (self.failed.borrow().is_none(), to) {
            (true, to) => self.out.seek(to)?,
            (false, SeekFrom::Start(at)) => at,
            (false, SeekFrom::Current(by) | SeekFrom::End(by)) => self.at.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

/// Writes a wheel in which some members have new contents.
///
/// # Errors
/// `Input` where the wheel is malformed or has no `RECORD`, `Io` where it cannot be written, and those of `contents`.
pub fn repack(wheel: &[u8], contents: &NewContents<'_>, out: impl Write + Seek) -> Result<Repacked> {
    let failed = RefCell::new(None);
    let repacked = repack_into(wheel, contents, Output { out, at: 0, failed: &failed }, &failed);
    match failed.take() {
        Some(error) => Err(unwritten(&error)),
        None => repacked,
    }
}

/// Writes the wheel to an output, and ends once that has failed.
fn repack_into(
    wheel: &[u8],
    contents: &NewContents<'_>,
    out: impl Write + Seek,
    failed: &RefCell<Option<std::io::Error>>,
) -> Result<Repacked> {
    few_members(wheel)?;
    let mut archive = ZipArchive::new(Cursor::new(wheel)).map_err(|error| malformed(&error))?;
    let end = wheel.len().checked_sub(ZIP_RECORD.saturating_add(archive.comment().len()));
    if !end.is_some_and(|at| wheel.get(at..).is_some_and(|end| end.starts_with(b"PK\x05\x06"))) {
        return Err(malformed(&"other bytes stand behind its end, and would be lost"));
    }
    let listed = Directory::read(wheel, &archive);
    if let Some(name) = listed.duplicates.first() {
        return Err(malformed(&format!("two members are called {}", shown_name(name))));
    }
    if let Some(what) = listed.ambiguity {
        return Err(malformed(&what));
    }
    if listed.count != archive.len() {
        return Err(malformed(&"its directory lists more members than its end says"));
    }
    if let Some(at) = unlisted(wheel, &mut archive) {
        return Err(malformed(&format!("a member at offset {at} is in no directory, and would be lost")));
    }
    let directory = archive.central_directory_start();
    let mut writer = ZipWriter::new(out);
    writer.set_raw_comment(archive.comment().into()).map_err(|error| unwritable(&error))?;
    let mut repacked = Repacked::default();
    let (mut recorded, mut before): (BTreeMap<String, Recorded>, BTreeMap<String, Recorded>) = Default::default();
    let (mut record, mut first) = (None, u64::MAX);
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(|error| malformed(&error))?;
        let name = member.name().map_err(|error| malformed(&error))?.into_owned();
        first = first.min(member.header_start());
        if !is_as_listed(wheel, &member, directory) {
            return Err(malformed(&format!(
                "the member {} is not as its directory lists it",
                shown_name(member.name_raw())
            )));
        }
        if let Some(what) = disagreement(&member, wheel) {
            return Err(malformed(&format!("of the member {}, {what}", shown_name(member.name_raw()))));
        }
        if failed.borrow().is_some() {
            return Ok(repacked);
        }
        let new = contents(&shown_name(member.name_raw()));
        match (dist_info_file(&name), new) {
            (Some("RECORD"), _) if record.is_some() => return Err(malformed(&"it has two files RECORD")),
            (Some("RECORD"), _) => record = Some(index),
            (Some("RECORD.jws" | "RECORD.p7s"), _) => repacked.unsigned.push(name),
            (_, Some(new)) => {
                let written = write_member(&mut writer, wheel, &member, new?)?;
                drop(member);
                let mut old = archive.by_index(index).map_err(|error| malformed(&error))?;
                before.insert(name.clone(), digest_member(&mut old, &name, &mut std::io::sink())?);
                if recorded.insert(name.clone(), written).is_some() {
                    return Err(malformed(&format!("two members are called {name}")));
                }
                repacked.changed = repacked.changed.saturating_add(1);
            }
            (_, None) if is_written_anew(&member) => {
                drop(member);
                let mut whole = archive.by_index(index).map_err(|error| malformed(&error))?;
                start_member(&mut writer, wheel, &whole)?;
                digest_member(&mut whole, &name, &mut writer)?;
            }
            (_, None) => writer.raw_copy_file(member).map_err(|error| unwritable(&error))?,
        }
    }
    if first > 0 {
        return Err(malformed(&"other bytes stand before its members, and would be lost"));
    }
    // `RECORD` lists the others, and stands behind them.
    let Some(record) = record else {
        return Err(Error::input("this zip archive is no wheel: it has no RECORD")
            .with_remedy("unpack it, and name the libraries in it"));
    };
    let mut member = archive.by_index(record).map_err(|error| malformed(&error))?;
    let mut text = String::new();
    let limit = limits::MAX_INFLATED_FLOOR;
    member.by_ref().take(limit).read_to_string(&mut text).map_err(|error| malformed(&error))?;
    if text.len() as u64 >= limit {
        return Err(malformed(&format!("its RECORD has {limit} bytes or more")));
    }
    if text.len() as u64 != member.size() {
        return Err(malformed(&format!("its RECORD has {} bytes, and declares {}", text.len(), member.size())));
    }
    // Of a changed member the first row counts; others may be millions.
    let mut told: HashMap<&str, bool> = HashMap::new();
    let mut new_size = text.len() as u64;
    for row in rows(&text) {
        if let Some((name, old)) = before.get_key_value(row.path.as_ref()) {
            // Rows of two bytes by the million would become as many of seventy.
            new_size = new_size.saturating_add(MAX_STATED);
            if new_size >= limit {
                return Err(malformed(&format!(
                    "its RECORD would have {limit} bytes or more, of so many rows of {name}"
                )));
            }
            let states = || row.rest.replace('"', "").starts_with(&format!(",sha256={},", old.hash));
            told.entry(name).or_insert_with(states);
        }
    }
    let states = |name: &str| told.get(name).is_some_and(|states| *states);
    let unrecorded = before.keys().filter(|name| !states(name)).cloned();
    repacked.unrecorded = unrecorded.collect();
    start_member(&mut writer, wheel, &member)?;
    let mut out = BufWriter::new(&mut writer);
    update_record(&text, &recorded, &mut out).and_then(|()| out.flush()).map_err(|error| unwritten(&error))?;
    drop(out);
    let mut out = writer.finish().map_err(|error| unwritable(&error))?;
    out.flush().map_err(|error| unwritten(&error))?;
    Ok(repacked)
}

/// Whether a member is not copied as it is stored. With sizes and places of large files it would have these beside new ones, or
/// where none are needed, both of which some installers refuse. One that is much longer than its bytes is copied all the same.
fn is_written_anew<R: Read>(member: &ZipFile<'_, R>) -> bool {
    let is_known = matches!(member.compression(), CompressionMethod::Stored | CompressionMethod::Deflated);
    let is_long =
        member.size() > member.compressed_size().saturating_mul(limits::ANEW_RATIO).saturating_add(limits::ANEW_FLOOR);
    let has_sizes = || member.extra_data_fields().any(|field| matches!(field, Zip64ExtendedInformation(_)));
    is_known && !is_long && has_sizes()
}

/// Whether what stands before a member's bytes agrees with the directory at the end, and the bytes lie between the two. A
/// member that is copied with another length or name would misplace what follows it, and an encrypted one would lose its mark.
fn is_as_listed<R: Read>(wheel: &[u8], member: &ZipFile<'_, R>, directory: u64) -> bool {
    const SIGNATURE: u32 = 0x0403_4b50;
    const LENGTH: usize = 30;
    let Ok(at) = usize::try_from(member.header_start()) else { return false };
    let field = |offset: usize| u16_at(wheel, at.saturating_add(offset)).map_or(0, usize::from);
    let (name, extra) = (field(26), field(28));
    let begin = at.saturating_add(LENGTH);
    let data = begin.saturating_add(name).saturating_add(extra) as u64;
    u32_at(wheel, at) == Some(SIGNATURE)
        && slice_at(wheel, begin, name) == Some(member.name_raw())
        && data.checked_add(member.compressed_size()).is_some_and(|end| end <= directory)
        && !member.encrypted()
}

/// Name of a file directly in the wheel's own `.dist-info` folder.
fn dist_info_file(name: &str) -> Option<&str> {
    let (folder, file) = name.split_once('/')?;
    (folder.ends_with(".dist-info") && !file.contains('/')).then_some(file)
}

/// Writes a member with the compression, time, permissions and comment of `like`.
fn write_member<R: Read>(
    writer: &mut ZipWriter<impl Write + Seek>,
    wheel: &[u8],
    like: &ZipFile<'_, R>,
    mut contents: Box<dyn Read>,
) -> Result<Recorded> {
    start_member(writer, wheel, like)?;
    digest(&mut contents, writer, |error| Error::io("cannot read a member of the wheel", error))
}

/// Begins a member like [`write_member`]; its contents are written next.
fn start_member<R: Read>(writer: &mut ZipWriter<impl Write + Seek>, wheel: &[u8], like: &ZipFile<'_, R>) -> Result<()> {
    // Wheels have deflated and stored members; readers of Python know no other.
    let method = if like.compression() == CompressionMethod::Stored {
        CompressionMethod::Stored
    } else {
        CompressionMethod::Deflated
    };
    let may_be_large = like.size() > u64::from(u32::MAX) / 2;
    let mut options = FullFileOptions::default().compression_method(method).large_file(may_be_large);
    // Of a wheel that Python on Windows made pip takes the mode, too, which members of that system do not have by themselves. Bits
    // that are trust in the old bytes (set-user-id) go.
    let attributes = like.external_attributes() & !(0o7000 << 16);
    options = options.system(like.system()).external_attributes(attributes);
    if let Some(time) = like.last_modified() {
        options = options.last_modified_time(time);
    }
    if !like.comment().is_empty() {
        options = options.with_file_comment(like.comment());
    }
    let name = like.name().map_err(|error| malformed(&error))?;
    if !name.is_ascii() && !is_marked_as_utf8(wheel, like) {
        let what = format!("the member {name} is not marked as having a name in UTF-8, and would get another one");
        return Err(malformed(&what).with_remedy("unpack it, and name the libraries in it"));
    }
    writer.start_file(name, options).map_err(|error| unwritable(&error))
}

/// Whether a member's flags say that its name is UTF-8. Without the flag it is of a code page, which installers guess.
fn is_marked_as_utf8<R: Read>(wheel: &[u8], member: &ZipFile<'_, R>) -> bool {
    const UTF8: u16 = 1 << 11;
    let flags = usize::try_from(member.header_start()).ok().and_then(|at| u16_at(wheel, at.checked_add(6)?));
    flags.is_some_and(|flags| flags & UTF8 != 0)
}

/// Copies what a member holds; its size, which has to be what it declares, and hash.
fn digest_member<R: Read>(member: &mut ZipFile<'_, R>, name: &str, out: &mut dyn Write) -> Result<Recorded> {
    let declared = member.size();
    let held = digest(&mut member.take(declared.saturating_add(1)), out, |error| malformed(error))?;
    match held.size == declared {
        true => Ok(held),
        false => Err(malformed(&format!("the member {name} has {} bytes, and declares {declared}", held.size))),
    }
}

/// Copies contents; their size and hash. `unreadable` makes the error of contents that cannot be read.
fn digest(
    contents: &mut dyn Read,
    out: &mut dyn Write,
    unreadable: impl Fn(&std::io::Error) -> Error,
) -> Result<Recorded> {
    let (mut size, mut hash) = (0u64, Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        let read = contents.read(&mut block).map_err(|error| unreadable(&error))?;
        let bytes = block.get(..read).filter(|bytes| !bytes.is_empty());
        let Some(bytes) = bytes else { break };
        hash.update(bytes);
        size = size.saturating_add(bytes.len() as u64);
        out.write_all(bytes).map_err(|error| unwritten(&error))?;
    }
    Ok(Recorded { size, hash: URL_SAFE_NO_PAD.encode(hash.finalize()) })
}

/// Puts new hashes and sizes into the rows of the members that have them; every other row stays as it is.
fn update_record(text: &str, recorded: &BTreeMap<String, Recorded>, out: &mut impl Write) -> std::io::Result<()> {
    for Row { path, field, rest, end } in rows(text) {
        match recorded.get(path.as_ref()) {
            Some(Recorded { size, hash }) => write!(out, "{field},sha256={hash},{size}{end}")?,
            None => write!(out, "{field}{rest}{end}")?,
        }
    }
    Ok(())
}

/// Row of `RECORD`, which is CSV.
#[derive(Debug, PartialEq, Eq)]
struct Row<'t> {
    /// Path of the member, as archives have it: without `./` before it.
    path: Cow<'t, str>,
    /// The path as it is written.
    field: &'t str,
    /// The other fields, with the comma before them.
    rest: &'t str,
    /// The line's end.
    end: &'t str,
}

/// The rows of `RECORD`. Between quotes, a field has commas and line breaks, and two quotes for one.
fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let mut left = text;
    std::iter::from_fn(move || {
        let (mut in_quotes, mut begins, mut closed, mut comma) = (false, true, None, None);
        let mut end = left.len();
        for (at, sign) in left.bytes().enumerate() {
            match sign {
                b'"' if in_quotes => (in_quotes, closed) = (false, Some(at)),
                // The second of two goes on with what the first has closed.
                b'"' if begins || closed.is_some_and(|closed| at.checked_sub(1) == Some(closed)) => in_quotes = true,
                b',' if !in_quotes => comma = comma.or(Some(at)),
                b'\n' | b'\r' if !in_quotes => {
                    end = at;
                    break;
                }
                _ => {}
            }
            begins = sign == b',' && !in_quotes;
        }
        let (row, after) = left.split_at_checked(end)?;
        let line_end = ["\r\n", "\n", "\r"].into_iter().find(|end| after.starts_with(end)).unwrap_or_default();
        let (field, rest) = row.split_at_checked(comma.unwrap_or(row.len()))?;
        let (end, next) = after.split_at_checked(line_end.len())?;
        let is_last = left.is_empty();
        left = next;
        (!is_last).then(|| Row { path: path_of(field), field, rest, end })
    })
}

/// Path in a field of CSV, without quotes and without `./` before it.
fn path_of(field: &str) -> Cow<'_, str> {
    match field.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
        Some(inner) => Cow::Owned(inner.trim_start_matches("./").replace("\"\"", "\"")),
        None => Cow::Borrowed(field.trim_start_matches("./")),
    }
}

#[cold]
fn malformed(error: &dyn std::fmt::Display) -> Error {
    Error::input(format!("the wheel is malformed: {error}"))
}

#[cold]
fn unwritten(error: &std::io::Error) -> Error {
    Error::io("cannot write the wheel", error)
}

#[cold]
fn unwritable(error: &dyn std::fmt::Display) -> Error {
    Error::input(format!("the wheel cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zip::write::SimpleFileOptions;

    /// A full disk is no fault of the wheel's, wherever the writing stands.
    #[test]
    fn an_output_that_takes_no_more_is_told_as_such() {
        let file = |size: usize| vec![b'x'; size];
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let record = "a.so,,\nb.txt,,\n";
        for (name, bytes) in [("a.so", file(9)), ("b.txt", file(9000)), ("foo.dist-info/RECORD", record.into())] {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            zip.start_file(name, options).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        let wheel = zip.finish().unwrap().into_inner();
        let contents = |name: &str| (name == "a.so").then(|| Ok(Box::new(&b"new"[..]) as Box<dyn Read>));
        let mut whole = vec![0; 1 << 16];
        assert_eq!(repack(&wheel, &contents, Cursor::new(&mut whole[..])).unwrap().changed, 1);
        for room in [0, 20, 60, 5000, 9200, 9300] {
            let error = repack(&wheel, &contents, Cursor::new(&mut whole[..room])).unwrap_err();
            assert!(error.to_string().contains("cannot write the wheel"), "{room}: {error}");
        }
    }

    /// As `csv.reader` of Python reads them.
    #[test]
    fn rows_are_as_csv_has_them() {
        let paths = |text: &str| rows(text).map(|row| row.path.into_owned()).collect::<Vec<_>>();
        assert_eq!(paths("a/b.so,sha256=x,1\nc,,"), ["a/b.so", "c"]);
        assert_eq!(paths("\"a,\"\"b\"\".so\",sha256=x,1\r\n\"c\nd\",,\r\re,,\n"), ["a,\"b\".so", "c\nd", "", "e"]);
        assert_eq!(paths("a\"\"b,,\n\"c\",\"x,\n\",\nd,,"), ["a\"\"b", "c", "d"]);
        assert_eq!(paths("\"open\n,,"), ["\"open\n,,"]);
        assert_eq!(paths(""), [""; 0]);
        let recorded = Recorded { size: 7, hash: "h".to_owned() };
        let recorded = BTreeMap::from([("a\nb".to_owned(), recorded)]);
        let updated = |text: &str, recorded: &BTreeMap<String, Recorded>| {
            let mut out = Vec::new();
            update_record(text, recorded, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = "x\r\n\"a\nb\",\"sha256=o\",\"3\"\r\ny,,";
        assert_eq!(updated(text, &recorded), "x\r\n\"a\nb\",sha256=h,7\r\ny,,");
        assert_eq!(updated("a\n\nb", &BTreeMap::new()), "a\n\nb");
        let below = BTreeMap::from([("a/b".to_owned(), Recorded { size: 7, hash: "h".to_owned() })]);
        assert_eq!(updated("./a/b,sha256=o,3\n\"./a/b\",,", &below), "./a/b,sha256=h,7\n\"./a/b\",sha256=h,7");
    }

    fn zip(members: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in members {
            writer.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn a_changed_member_is_recorded_anew_and_all_others_stay() {
        let record = "a.so,sha256=old,3\nb.py,sha256=kept,1\nx-1.dist-info/RECORD,,\n";
        let wheel = zip(&[
            ("a.so", "old"),
            ("x-1.dist-info/RECORD", record),
            ("x-1.dist-info/RECORD.jws", "{}"),
            ("b.py", "b"),
        ]);
        let contents =
            |name: &str| (name == "a.so").then(|| Ok(Box::new(Cursor::new(b"newer".to_vec())) as Box<dyn Read>));
        let mut out = Cursor::new(Vec::new());
        let repacked = repack(&wheel, &contents, &mut out).unwrap();
        assert_eq!(
            repacked,
            Repacked {
                changed: 1,
                unsigned: vec!["x-1.dist-info/RECORD.jws".to_owned()],
                unrecorded: vec!["a.so".to_owned()]
            }
        );
        let mut archive = ZipArchive::new(Cursor::new(out.into_inner())).unwrap();
        let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert_eq!(names, ["a.so", "b.py", "x-1.dist-info/RECORD"]);
        let mut text = |name: &str| {
            let mut member = archive.by_name(name).unwrap();
            assert_eq!(member.unix_mode().unwrap() & 0o777, 0o755);
            let mut text = String::new();
            member.read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!(text("a.so"), "newer");
        // printf newer | openssl dgst -sha256 -binary | base64, in the URL's alphabet
        let expected =
            "a.so,sha256=gE9R9xJUxAgeN-fIhwc1YPSm-mza0gLprGfgMsQ-0eE,5\nb.py,sha256=kept,1\nx-1.dist-info/RECORD,,\n";
        assert_eq!(text("x-1.dist-info/RECORD"), expected);
    }

    #[test]
    fn members_keep_their_comments() {
        let comments =
            [("a.so", "of the library, naïve"), ("b.py", "of the script"), ("x-1.dist-info/RECORD", "of all")];
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, comment) in comments {
            writer.start_file(name, FullFileOptions::default().with_file_comment(comment)).unwrap();
        }
        let wheel = writer.finish().unwrap().into_inner();
        let contents =
            |name: &str| (name == "a.so").then(|| Ok(Box::new(Cursor::new(b"newer".to_vec())) as Box<dyn Read>));
        let mut out = Cursor::new(Vec::new());
        assert_eq!(repack(&wheel, &contents, &mut out).unwrap().changed, 1);
        let mut archive = ZipArchive::new(out).unwrap();
        for (name, comment) in comments {
            assert_eq!(archive.by_name(name).unwrap().comment(), comment, "{name}");
        }
    }

    #[test]
    fn a_record_may_have_so_many_rows_of_what_is_changed() {
        for (rows, refused) in [(1 << 20, true), (3, false)] {
            let wheel = zip(&[("a", "old"), ("x-1.dist-info/RECORD", &"a\n".repeat(rows))]);
            let contents = |name: &str| (name == "a").then(|| Ok(Box::new(Cursor::new(b"new")) as Box<dyn Read>));
            let done = repack(&wheel, &contents, Cursor::new(Vec::new()));
            assert_eq!(done.is_err_and(|error| error.to_string().contains("its RECORD would have 67108864")), refused);
        }
    }

    #[test]
    fn a_zip_without_record_is_no_wheel() {
        let error = repack(&zip(&[("a.so", "")]), &|_| None, Cursor::new(Vec::new())).unwrap_err();
        assert!(error.to_string().contains("no RECORD"), "{error}");
    }
}
