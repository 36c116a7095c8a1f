//! What are the inputs of `build`, and may an output go where it is to go?
//!
//! A file that an earlier run embedded images into is restored first.
//!
//! Parts are named after their table, so those of an earlier one are the table's to replace and, where the new one has
//! fewer, to take away: left there they would be files that no table lists, which no later table may replace.

use super::emit::stem_and_folder;
use super::input::{Input, is_opened};
use super::linked::without_signature;
use super::place::{self, Dangling, Identity, Place};
use super::table::{BESIDE, Beside, Files as Parts};
use super::write::folder_of;
use crate::bundle::Bundle;
use crate::bundle::format::Format;
use crate::bytes::Draft;
use crate::container::inflate::ZSTD_MAGIC;
use crate::container::{Host, Kind, package};
use crate::error::{Error, ErrorKind, Reporter, Result};
use crate::report::text::counted;
use crate::rewrite::beneath;
use crate::rewrite::embed::record::Record;
use crate::temporary::sweep;
use crate::{limits, plain_file};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// An input, restored to what it was before native images were added.
pub(crate) struct Source {
    /// Path as the user knows it.
    name: String,
    input: Input,
    /// The file without its signature, where it had one.
    unsigned: Option<Draft>,
    restored: Option<Draft>,
    /// The files that a table names, or a bare module with what lies beside it.
    parts: Option<Parts>,
}

impl Source {
    /// Opens an input, which the user knows as `name`. `output` is none where it is to replace the input. A Windows file
    /// loses its signature where that may go.
    ///
    /// # Errors
    /// Errors of reading and building; `Usage` where the output would replace it.
    pub(crate) fn open(
        reporter: &dyn Reporter,
        path: &Path,
        name: String,
        (output, drop_signature): (Option<&Path>, bool),
    ) -> Result<Source> {
        let input = Input::open_again(path)?;
        if output.is_some_and(|output| same_file(path, output)) {
            return Err(replaces_input());
        }
        if let Some(kind) = Kind::identify(input.bytes()).ok().filter(|kind| package::is_package(*kind)) {
            let message = format!("this is {}, and `build` takes files as they are", kind.description());
            return Err(Error::input(message).with_remedy(
                "`inspect` and `extract` read packages; to build, unpack it and name the libraries in it",
            ));
        }
        let parts = match Kind::identify(input.bytes()) {
            Ok(Kind::Table) => Some(Parts::open(path, input.bytes())?),
            // Standard input has nothing beside it.
            Ok(Kind::SpirV | Kind::LlvmBitcode) if path != Path::new("-") => Beside::default().open(path)?,
            _ => None,
        };
        let is_signed = drop_signature && matches!(Kind::identify(input.bytes()), Ok(Kind::Pe));
        let unsigned = if is_signed { without_signature(input.bytes())? } else { None };
        let bytes = unsigned.as_deref().unwrap_or(input.bytes());
        let host = Host::read(bytes).ok();
        let restored = host.and_then(|host| Some(beneath::restore(&Record::find(&host)?, &host)));
        let restored = match restored {
            Some(Ok(original)) => {
                if original.unlisted > 0 {
                    let images = counted(original.unlisted, "image");
                    reporter.note(&format!(
                        "{name}: built from {images} that an earlier run took from its lists: `check` does not judge them there"
                    ));
                }
                Some(original.bytes)
            }
            Some(Err(error)) => {
                let remedy = error.remedy().unwrap_or_default();
                reporter.note(&format!(
                    "{name}: {error}; its native images are replaced, but the bytes of the old ones stay: {remedy}"
                ));
                None
            }
            None => None,
        };
        Ok(Source { name, input, unsigned, restored, parts })
    }

    /// The bytes to build from.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.restored.as_deref().unwrap_or(self.read())
    }

    /// The bytes as they were read, but for a signature.
    fn read(&self) -> &[u8] {
        self.unsigned.as_deref().unwrap_or(self.input.bytes())
    }

    /// The images of the input, as they are to be built from.
    ///
    /// # Errors
    /// Errors of [`Bundle::read`]; for a table those of its files.
    pub(crate) fn bundle<'a>(&'a self, host: &'a Host<'a>) -> Result<Bundle<'a>> {
        self.parts.as_ref().map_or_else(|| Bundle::read(host), |parts| parts.bundle(host))
    }

    /// The bytes of the input, with those of the files that belong to it.
    pub(crate) fn size(&self) -> u64 {
        let own = self.bytes().len() as u64;
        match &self.parts {
            // The module is one of its parts.
            Some(parts) if Kind::identify(self.bytes()).is_ok_and(|kind| kind != Kind::Table) => parts.bytes(),
            Some(parts) => own.saturating_add(parts.bytes()),
            None => own,
        }
    }

    /// The path as the user knows it.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// The file with its signature, where it is built from without.
    pub(crate) fn signed(&self) -> Option<&[u8]> {
        self.unsigned.as_ref().map(|_| self.input.bytes())
    }

    /// The file as it is, where it was restored to build from.
    pub(crate) fn embedded(&self) -> Option<&[u8]> {
        self.restored.as_ref().map(|_| self.read())
    }
}

/// Whether two paths lead to one file.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    place::is_same(a, b)
}

/// The error for an output that is the input, of the verbs that can do that where they are told to.
pub(crate) fn replaces_input() -> Error {
    let error = Error::new(ErrorKind::Usage, "the output would replace the input");
    error.with_remedy("name another file with `-o`, or say --in-place")
}

/// Refuses an output that is one of the inputs.
///
/// # Errors
/// `Usage` where it is.
pub(crate) fn spare_inputs(files: &[PathBuf], output: &Path) -> Result<()> {
    if files.iter().any(|file| same_file(file, output)) {
        let error = Error::new(ErrorKind::Usage, "the output would replace an input");
        return Err(error.with_remedy("name another file with `-o`"));
    }
    Ok(())
}

/// Refuses an output that is one of the files that were read: an input, a part of a table, or what lies beside a module.
///
/// # Errors
/// `Usage` where it is.
pub(crate) fn spare_opened(output: &Path) -> Result<()> {
    if output != Path::new("-") && is_opened(output) {
        let message = format!("the output would replace `{}`, which was read", output.display());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy("name another file with `-o`"));
    }
    Ok(())
}

/// Refuses a file beside the output, which `option` names, that is one of the files that were read.
///
/// # Errors
/// `Usage` where it is.
pub(crate) fn spare_opened_by(option: &str, file: &Path) -> Result<()> {
    if is_opened(file) { Err(replaces_other(option, file)) } else { Ok(()) }
}

/// Files that no other output of a command may replace.
#[derive(Debug, Default)]
pub(crate) struct Files(HashSet<Identity>);

impl Files {
    /// Finds what these paths lead to.
    pub(crate) fn new<'p>(files: impl IntoIterator<Item = &'p Path>) -> Files {
        Files(files.into_iter().flat_map(place::identities).collect())
    }

    /// Refuses a file that is one of these, which `option` has written.
    ///
    /// # Errors
    /// `Usage` where it is.
    pub(crate) fn spare(&self, option: &str, file: &Path) -> Result<()> {
        let is_one = place::identities(file).any(|identity| self.0.contains(&identity));
        if is_one { Err(replaces_other(option, file)) } else { Ok(()) }
    }
}

/// Whether there is a file at a path, and it lies below a folder.
pub(crate) fn lies_below(file: &Path, folder: &Path) -> bool {
    let real = |path: &Path| place::real(path).ok();
    folder.is_dir() && real(file).zip(real(folder)).is_some_and(|(file, folder)| file.starts_with(folder))
}

/// Creates the error for a file beside the output, which `option` names, that is another file of the command.
#[cold]
pub(crate) fn replaces_other(option: &str, file: &Path) -> Error {
    let message = format!("`{option} {}` would replace another file of this command", file.display());
    Error::new(ErrorKind::Usage, message).with_remedy("name another file")
}

/// Refuses a file beside the output, which `option` names, that is one of the inputs, the output or another such file, or leads to
/// another file by a stranger's link: before the work is done.
///
/// # Errors
/// `Usage` where it is, `Environment` for a stranger's link or pipe.
pub(crate) fn spare_others<'p>(others: impl IntoIterator<Item = &'p Path>, option: &str, file: &Path) -> Result<()> {
    if others.into_iter().any(|other| other == file || same_file(other, file)) {
        return Err(replaces_other(option, file));
    }
    Place::find(file, Dangling::First).map(drop)
}

/// Refuses a file beside the output, which `option` names, that the output would have as a part, were it a table.
///
/// # Errors
/// `Usage` where it is.
pub(crate) fn spare_parts(output: &Path, option: &str, file: &Path) -> Result<()> {
    let (stem, _) = stem_and_folder(output);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if is_part(&name, &stem) && same_file(folder_of(file), folder_of(output)) {
        Err(replaces_other(option, file))
    } else {
        Ok(())
    }
}

/// Returns the place of a folder for outputs, with no link at its end.
///
/// # Errors
/// `Environment` for a stranger's link.
pub(crate) fn place_of(folder: &Path) -> Result<PathBuf> {
    Ok(Place::find(folder, Dangling::First)?.path)
}

/// Checks that the parts of a table would replace no files but parts of an earlier one of its name.
///
/// # Errors
/// `Usage`, naming the file.
pub(crate) fn spare_beside_table<'n>(
    names: impl Iterator<Item = &'n str>,
    path: &Path,
    inputs: &[&Path],
) -> Result<()> {
    let (_, folder) = stem_and_folder(path);
    sweep(folder_of(path));
    let listed = listed(path, |_| true).unwrap_or_default();
    let own = Own { folder, inputs: real(inputs), listed: &listed };
    own.check(&names.collect(), "a part of the table", "give the table another name or folder")
}

/// Returns the parts of the table at a path that go with it where one with other parts takes its place.
pub(crate) fn outdated_parts<'n>(names: impl Iterator<Item = &'n str>, path: &Path) -> Vec<String> {
    let (stem, _) = stem_and_folder(path);
    without_listed(listed(path, |cell| is_part(cell, &stem)).unwrap_or_default(), names, path)
}

/// Whether files with a table in a folder would replace others than those of an earlier one of its name there; tells which of
/// those go with it.
///
/// # Errors
/// `Usage`, naming the file.
pub(crate) fn parts_in_folder<'n>(
    names: impl Iterator<Item = &'n str>,
    table: &Path,
    inputs: &[&Path],
) -> Result<Vec<String>> {
    const REMEDY: &str = "remove it, or name another folder";
    let (_, folder) = stem_and_folder(table);
    sweep(folder);
    let listed = listed(table, |_| true).unwrap_or_default();
    let own = Own { folder, inputs: real(inputs), listed: &listed };
    let what = match table.symlink_metadata() {
        Ok(_) if own.is_input(table) => Some("an input"),
        Ok(there) if there.is_file() && !is_table(table) => Some("a file that is no table"),
        _ => None,
    };
    if let Some(what) = what {
        let message = format!("the list of what is written would replace `{}`, {what}", table.display());
        return Err(Error::new(ErrorKind::Usage, message).with_remedy(REMEDY));
    }
    let names = names.collect();
    own.check(&names, "one of the outputs", REMEDY)?;
    let parts = own_parts(folder, &listed).filter(|name| !own.is_input(&folder.join(name)));
    Ok(without_listed(parts.cloned().collect(), names.into_iter(), table))
}

fn real(inputs: &[&Path]) -> HashSet<PathBuf> {
    inputs.iter().filter_map(|input| place::real(input).ok()).collect()
}

/// Files that are an output's own, and those that it may not replace.
struct Own<'o> {
    folder: &'o Path,
    inputs: HashSet<PathBuf>,
    listed: &'o HashSet<String>,
}

impl Own<'_> {
    fn is_input(&self, path: &Path) -> bool {
        is_opened(path) || place::real(path).is_ok_and(|path| self.inputs.contains(&path))
    }

    /// Refuses names of files that are there and are not the output's own, and those beside which such a file lies that would
    /// be taken for one of theirs.
    fn check(&self, names: &HashSet<&str>, what: &str, remedy: &str) -> Result<()> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        for name in names {
            let part = self.folder.join(name);
            // A table may have thousands of parts, and most are new.
            if part.symlink_metadata().is_ok() {
                let is_input = self.is_input(&part);
                if is_input || part.exists() && !self.listed.contains(*name) {
                    let other = if is_input { "an input" } else { "a file that no table of that name lists" };
                    return usage(format!("{what} would replace `{}`, {other}", part.display()));
                }
            }
            for beside in beside(Path::new(name)) {
                let is_own = beside.to_str().is_some_and(|name| names.contains(name) || self.listed.contains(name));
                if !is_own && self.folder.join(&beside).symlink_metadata().is_ok() {
                    let (part, beside) = (part.display(), self.folder.join(&beside));
                    return usage(format!("{what} would be `{part}`, for whose `{}` would be taken", beside.display()));
                }
            }
        }
        Ok(())
    }
}

/// Returns the names of the files that count for code of a name where they lie beside it.
fn beside(code: &Path) -> impl Iterator<Item = PathBuf> {
    let is_code = !code.extension().is_some_and(|extension| BESIDE.iter().any(|own| extension == *own));
    BESIDE.into_iter().filter(move |_| is_code).map(|extension| code.with_extension(extension))
}

/// Refuses a place for a bare module beside which there are files that would be taken for its own.
///
/// # Errors
/// `Usage`, naming one.
pub(crate) fn nothing_beside(module: &Path) -> Result<()> {
    match beside(module).find(|beside| beside.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(beside) => {
            let (module, beside) = (module.display(), beside.display());
            let message =
                format!("`{beside}` lies beside `{module}`, and would be taken for what the new module needs");
            Err(Error::new(ErrorKind::Usage, message).with_remedy("remove it, or name another file with `-o`"))
        }
    }
}

/// Whether a file is a table of this kind.
fn is_table(path: &Path) -> bool {
    let mut head = [0; 5];
    plain_file::open(path).is_ok_and(|(mut file, _)| file.read_exact(&mut head).is_ok()) && head == *b"[Code"
}

/// Returns which of the files that a table in a folder lists are its own, whatever stems they have.
fn own_parts<'l>(folder: &Path, listed: &'l HashSet<String>) -> impl Iterator<Item = &'l String> {
    // The list may have come from anywhere, and so have files of such names.
    let is_own = |name: &&String| holds_what_it_is_called(&folder.join(name), name);
    let mut own: Vec<&String> = listed.iter().filter(is_own).collect();
    // Entries are lines of any text: they go with the code that they are of.
    let of_code: HashSet<&str> = own.iter().filter_map(|name| numbered(name)).collect();
    let entries = listed.iter().filter(|name| name.ends_with(".sym"));
    own.extend(entries.filter(|name| numbered(name).is_some_and(|stem| of_code.contains(stem))));
    own.into_iter()
}

/// Returns which of the parts of the table at a path are files that neither the one to come lists nor another one beside it, and
/// that were not read.
fn without_listed<'n>(mut parts: HashSet<String>, names: impl Iterator<Item = &'n str>, path: &Path) -> Vec<String> {
    let (_, folder) = stem_and_folder(path);
    names.for_each(|name| _ = parts.remove(name));
    let is_file = |part: &Path| part.symlink_metadata().is_ok_and(|part| !part.is_dir());
    parts.retain(|name| is_file(&folder.join(name)) && !is_opened(&folder.join(name)));
    if parts.is_empty() {
        return Vec::new();
    }
    // A folder that cannot be listed may hold other tables.
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else { return Vec::new() };
    let tables = entries.flatten().map(|entry| entry.path());
    let tables = tables.filter(|entry| entry.extension() == Some(OsStr::new("table")));
    for table in tables.filter(|entry| entry.file_name() != path.file_name()) {
        let Some(kept) = listed(&table, |cell| parts.contains(cell)) else { return Vec::new() };
        parts.retain(|name| !kept.contains(name));
    }
    parts.into_iter().collect()
}

/// The cells of a table that name parts, and that are asked for; none of what is no table. Nothing where the file is longer than
/// any table.
fn listed(path: &Path, is_asked: impl Fn(&str) -> bool) -> Option<HashSet<String>> {
    const MAX_CELLS: usize = limits::MAX_TABLE_ROWS * limits::MAX_TABLE_COLUMNS;
    let text = match plain_file::read(path, limits::MAX_TABLE as u64) {
        // Whatever has such a name and is no table lists nothing.
        Ok(text) => String::from_utf8(text).ok().filter(|text| text.starts_with("[Code")).unwrap_or_default(),
        // Pipes and devices are no tables.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
            return Some(HashSet::new());
        }
        Err(_) => return None,
    };
    let mut cells = text.split(['|', '\n']).map(|cell| cell.trim_end_matches('\r'));
    let found = cells.by_ref().take(MAX_CELLS).filter(|cell| is_any_part(cell) && is_asked(cell));
    let found = found.map(str::to_owned).collect();
    cells.next().is_none().then_some(found)
}

/// The extensions of parts, behind which may be `zst`, and before them the name of a member.
const EXTENSIONS: [&str; 11] = ["spv", "bc", "ptx", "ar", "cubin", "fatbin", "hsaco", "bin", "zst", "prop", "sym"];

/// Whether a name is one that a table gives its parts. A stem may itself have what looks like a number: the last is the image's.
fn is_any_part(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(stem, _)| is_part(name, stem))
}

/// Returns the stem and number of a part, without what comes behind.
fn numbered(name: &str) -> Option<&str> {
    let (_, rest) = name.rsplit_once('_')?;
    let (_, behind) = rest.split_once('.')?;
    name.strip_suffix(behind)
}

/// Whether a file is a part of the kind that its name tells, by its first bytes.
fn holds_what_it_is_called(path: &Path, name: &str) -> bool {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    let read = plain_file::open(path).map(|(file, _)| file.take(HEAD).read_to_end(&mut head));
    if !matches!(read, Ok(Ok(_))) {
        return false;
    }
    let format = Format::sniff(&head);
    match name.strip_suffix(".zst").and_then(|name| name.rsplit_once('.')) {
        Some((_, inner)) => EXTENSIONS.contains(&inner) && head.starts_with(&ZSTD_MAGIC),
        None if name.ends_with(".prop") => head.starts_with(b"["),
        None => format != Format::Unknown && name.ends_with(format.extension()),
    }
}

/// Whether a name is one that a table of that stem gives its parts: `STEM_NUMBER.EXTENSION`.
fn is_part(name: &str, stem: &str) -> bool {
    if name.contains(['/', '\\']) {
        return false;
    }
    let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('_'));
    rest.and_then(|rest| rest.split_once('.')).is_some_and(|(number, extension)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && EXTENSIONS.contains(&extension.rsplit('.').next().unwrap_or_default())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::input::Input;

    const TITLE: &str = "[Code|Properties|Symbols]\n";

    #[test]
    fn what_is_no_table_lists_no_parts_and_no_table_lists_files_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("images.table");
        let listed_in = |text: &str| {
            std::fs::write(&path, text).unwrap();
            listed(&path, |_| true).unwrap().len()
        };
        assert_eq!(listed_in("[Code|Properties]\na_0.spv|a_0.prop\n"), 2);
        assert_eq!(listed_in("no table | a_0.spv\na_0.spv|a_0.prop\n"), 0);
        assert_eq!(listed_in("[Code|Properties]\nreport_2024.pdf|id_1.key\n"), 0);
    }

    #[test]
    fn parts_are_known_by_their_names() {
        assert!(["out_0.spv", "out_12.prop", "out_3.sym"].iter().all(|name| is_part(name, "out")));
        let others =
            ["out.spv", "out_.spv", "out_x.spv", "out_1", "out_1.", "../out_1.spv", "out_1.spv/../x", "in_1.spv"];
        assert!(!others.iter().any(|name| is_part(name, "out")));
    }

    #[test]
    fn parts_of_any_stem_go_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = ["a_0.spv", "lib_x.so_1.prop", "notes.txt", "b_0.spv", "../out_0.spv"];
        let bytes = [&b"\x03\x02\x23\x07"[..], b"[SYCL/kernel names]", b"", b"\x03\x02\x23\x07"];
        names.iter().zip(bytes).for_each(|(name, bytes)| std::fs::write(at(name), bytes).unwrap());
        std::fs::write(at("images.table"), format!("{TITLE}{}", names.map(|name| format!("{name}||\n")).concat()))
            .unwrap();
        let mut outdated = parts_in_folder(["b_0.spv"].into_iter(), &at("images.table"), &[]).unwrap();
        outdated.sort_unstable();
        assert_eq!(outdated, ["a_0.spv", "lib_x.so_1.prop"]);
    }

    #[test]
    fn files_of_such_names_that_hold_something_else_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names =
            ["backup_2024.zst", "firmware_3.bin", "libcrypto_1.ar", "app_1.prop", "kernel_2.ptx", "names_1.sym"];
        names.iter().for_each(|name| std::fs::write(at(name), "of the user").unwrap());
        let own = ["out_0.spv", "out_0.sym", "out_1.ptx.zst"];
        std::fs::write(at(own[0]), [3, 2, 35, 7]).unwrap();
        std::fs::write(at(own[1]), "kernel\n").unwrap();
        std::fs::write(at(own[2]), ZSTD_MAGIC).unwrap();
        let rows: String = names.iter().chain(&own).map(|name| format!("{name}||\n")).collect();
        std::fs::write(at("images.table"), format!("{TITLE}{rows}")).unwrap();
        let mut outdated = parts_in_folder([].into_iter(), &at("images.table"), &[]).unwrap();
        outdated.sort_unstable();
        assert_eq!(outdated, own);
    }

    #[test]
    fn what_another_table_lists_or_is_read_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["out_0.spv", "out_1.spv", "out_2.spv", "out_3.spv", "mine.spv"] {
            std::fs::write(at(name), [3, 2, 35, 7]).unwrap();
        }
        let rows = "[Code|Properties|Symbols]\nout_0.spv||\nout_1.spv||\nout_2.spv||\nout_3.spv||\nmine.spv||\n";
        std::fs::write(at("out.table"), rows).unwrap();
        std::fs::write(at("other.table"), format!("{TITLE}out_2.spv||\n")).unwrap();
        let _read = Input::open(&at("out_3.spv")).unwrap();
        assert_eq!(outdated_parts(["out_0.spv"].into_iter(), &at("out.table")), ["out_1.spv"]);
    }

    /// Whoever can write into the folder may put a file there that takes no room on the disk and gigabytes in memory.
    #[test]
    fn where_a_table_is_longer_than_any_nothing_goes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a_0.spv"), [3, 2, 35, 7]).unwrap();
        std::fs::write(at("a.table"), format!("{TITLE}a_0.spv||\n")).unwrap();
        let outdated = || parts_in_folder(["b_0.spv"].into_iter(), &at("a.table"), &[]).unwrap();
        std::fs::File::create(at("hole.table")).unwrap().set_len(1 << 40).unwrap();
        assert!(outdated().is_empty());
        std::fs::write(
            at("hole.table"),
            TITLE.to_owned() + &"|".repeat(limits::MAX_TABLE_ROWS * limits::MAX_TABLE_COLUMNS + 1),
        )
        .unwrap();
        assert!(outdated().is_empty());
        std::fs::remove_file(at("hole.table")).unwrap();
        assert_eq!(outdated(), ["a_0.spv"]);
    }
}
