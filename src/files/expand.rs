//! Which files does an argument stand for?
//!
//! A file stands for itself; a package, a folder or a process (`pid:N`, `/proc/N/maps`) for every file in it that may
//! hold device code. The library reads packages; here is what needs the file system: folders, processes, and the members
//! of thin archives.
//!
//! A folder stands for all files below it, sorted by name. A link within the folder is passed over, for what it leads to is met anyway; one that
//! leads out is followed, unless it leads to a folder that holds this one. No folder is walked through twice. Pipes, sockets
//! and devices are not opened.
//!
//! A process stands for the files that it maps, each once, in the order of addresses: executable and libraries, not
//! packages or data. They
//! are opened through its maps. Where that is not allowed, they are opened as the process sees them (it may have another root), and
//! those that are other files than it has mapped, which lie there since, are told.

use super::input::{Found, Input, is_mapped_as};
use super::place;
use super::table::has_beside;
use crate::container::package::{self, Content};
use crate::container::{Allowance, Kind};
use crate::error::{Error, Result};
use crate::limits;
use crate::plain_file::{self, FileId};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// A file that may hold device code.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// The path, through packages too.
    pub(crate) path: &'a str,
    /// Number of packages that it is in.
    pub(crate) depth: usize,
    /// The absolute path of the file on disk that holds its bytes as they are, and where they begin there.
    pub(crate) absolute: Option<(&'a str, u64)>,
    /// The bytes, or the reason why there are none.
    pub(crate) bytes: Result<&'a [u8]>,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// A file that stands for itself.
    Plain,
    /// Something that holds files.
    Package,
}

/// Takes what an argument stands for, one by one; whether anything is told of it.
pub(crate) type Each<'e> = dyn FnMut(ArgumentKind, Leaf<'_>) -> Result<bool> + 'e;

/// Hands on each file that an argument stands for; the size of each that is opened is granted to the allowance.
///
/// # Errors
/// Errors of `each`. Files that cannot be read are handed on as such.
pub(crate) fn expand(argument: &Path, allowance: &Allowance, each: &mut Each<'_>) -> Result<ArgumentKind> {
    let mut expansion = Expansion { each, allowance, seen: HashSet::new(), walked: HashSet::new() };
    if let Some(pid) = pid(argument) {
        return expansion.process(argument, &pid).map(|()| ArgumentKind::Package);
    }
    if argument != Path::new("-") && argument.is_dir() {
        return expansion.folder(argument).map(|()| ArgumentKind::Package);
    }
    let name = argument.display().to_string();
    match Input::open(argument) {
        Err(error) => {
            (expansion.each)(ArgumentKind::Plain, Leaf { path: &name, depth: 0, absolute: None, bytes: Err(error) })?;
            Ok(ArgumentKind::Plain)
        }
        Ok(input) => {
            allowance.grant(input.bytes().len());
            match Kind::identify_named(argument.as_os_str().as_encoded_bytes(), input.bytes()) {
                Ok(kind) if package::is_package(kind) => {
                    expansion.package(&input, kind, argument, 0)?;
                    Ok(ArgumentKind::Package)
                }
                kind => {
                    let behind = kind.ok().and_then(|kind| package::unread_behind(kind, input.bytes()));
                    expansion.plain(ArgumentKind::Plain, &input)?;
                    behind.map_or(Ok(()), |error| expansion.damaged(&name, error)).map(|()| ArgumentKind::Plain)
                }
            }
        }
    }
}

/// The files inside one argument.
struct Expansion<'x, 'e> {
    each: &'x mut Each<'e>,
    allowance: &'x Allowance,
    /// The files that were handed on or opened, where each is to be once.
    seen: HashSet<FileId>,
    /// The folders that were walked through.
    walked: HashSet<FileId>,
}

impl Expansion<'_, '_> {
    /// A file as it is.
    fn plain(&mut self, form: ArgumentKind, input: &Input) -> Result<()> {
        let absolute = input.absolute().map(|path| (path, 0));
        (self.each)(form, Leaf { path: input.name(), depth: 0, absolute, bytes: Ok(input.bytes()) }).map(drop)
    }

    /// Something that cannot be read.
    fn damaged(&mut self, path: &str, error: Error) -> Result<()> {
        (self.each)(ArgumentKind::Package, Leaf { path, depth: 0, absolute: None, bytes: Err(error) }).map(drop)
    }

    /// A file within a folder, a process or a thin archive: what can hold no device code is passed over, as is what
    /// was there before.
    fn found(&mut self, path: &Path, name: &str, packages: bool, depth: usize) -> Result<()> {
        self.found_as(path, name, (packages, depth), None)
    }

    /// Hands on a file like [`Expansion::found`]; where it is to be what a process has mapped, another one is told.
    fn found_as(
        &mut self,
        path: &Path,
        name: &str,
        (packages, depth): (bool, usize),
        mapped: Option<&Mapping<'_>>,
    ) -> Result<()> {
        let (mut kind, mut unread, mut is_other) = (None, None, false);
        let seen = &mut self.seen;
        let found = Input::open_found(path, name, |id, head| {
            is_other = mapped.is_some_and(|mapping| !head.is_mapped_as(mapping.identity));
            if is_other {
                return false;
            }
            kind = head.kind();
            if packages && kind.is_none() {
                let is_script = head.bytes.starts_with(b"#!");
                let begin = if is_script { Cow::Owned(head.begin(package::SCRIPT)) } else { head.bytes.into() };
                unread = package::unread(name.as_bytes(), &begin);
            }
            let useful = kind.is_some_and(|kind| kind != Kind::Table && (packages || !package::is_package(kind)));
            useful && seen.insert(id)
        });
        if let Ok(Found::Input(input)) = &found {
            self.allowance.grant(input.bytes().len());
            if packages && Kind::is_zip_behind(name.as_bytes(), input.bytes()) {
                kind = Some(Kind::Zip);
            }
        }
        match (found, kind) {
            _ if is_other => self.damaged(name, in_its_place()),
            (Ok(Found::Input(input)), Some(kind)) if package::is_package(kind) => {
                self.package(&input, kind, path, depth)
            }
            (Ok(Found::Input(input)), kind) => {
                let behind = kind.filter(|_| packages).and_then(|kind| package::unread_behind(kind, input.bytes()));
                self.plain(ArgumentKind::Package, &input)?;
                behind.map_or(Ok(()), |error| self.damaged(name, error))
            }
            (Ok(Found::Unwanted), _) => unread.map_or(Ok(()), |error| self.damaged(name, error)),
            (Err(error), _) => self.damaged(name, error),
        }
    }

    /// The members of a package; those of a thin archive are files relative to its folder.
    fn package(&mut self, input: &Input, kind: Kind, path: &Path, depth: usize) -> Result<()> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let allowance = self.allowance;
        // A compressed module has its files beside it under its own name.
        let has_beside = input.absolute().is_some() && has_beside_inner(path);
        package::members(input.name(), input.bytes(), kind, allowance, &mut |member| match member.content {
            Content::Bytes { bytes, offset } => {
                if has_beside && matches!(Kind::identify(bytes), Ok(Kind::SpirV | Kind::LlvmBitcode)) {
                    self.damaged(member.path, package::beside_is_unread())?;
                }
                let absolute = input.absolute().zip(offset);
                (self.each)(
                    ArgumentKind::Package,
                    Leaf { path: member.path, depth: member.depth, absolute, bytes: Ok(bytes) },
                )
            }
            Content::Damaged(error) => self.damaged(member.path, error).map(|()| true),
            Content::Beside(_) if depth >= limits::MAX_NESTING => {
                let error = format!("packages are nested deeper than the limit of {}", limits::MAX_NESTING);
                self.damaged(member.path, Error::input(error)).map(|()| true)
            }
            Content::Beside(_) if input.absolute().is_none() => {
                let error = Error::input("the members of a thin archive are files beside it, and this one is no file");
                self.damaged(member.path, error).map(|()| true)
            }
            Content::Beside(name) => {
                self.found(&folder.join(name), member.path, true, depth.saturating_add(1)).map(|()| true)
            }
        })
    }
}

impl Expansion<'_, '_> {
    /// Hands on each file in a folder.
    fn folder(&mut self, path: &Path) -> Result<()> {
        match path.canonicalize() {
            Ok(real) => self.below(path, &mut Roots { all: BTreeSet::from([real.clone()]), argument: real }),
            Err(error) => self.damaged(&path.display().to_string(), unreadable(&error)),
        }
    }

    fn below(&mut self, folder: &Path, roots: &mut Roots) -> Result<()> {
        if place::is_of_kernel(folder) && !place::is_of_kernel(&roots.argument) {
            let error = Error::input("this is of a file system of the kernel, and is not searched");
            return self
                .damaged(&folder.display().to_string(), error.with_remedy("name it, or take away the link to it"));
        }
        let listed = fs::metadata(folder).and_then(|metadata| {
            let is_new = self.walked.insert(plain_file::id(&metadata));
            is_new.then(|| fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()).transpose()
        });
        let mut entries = match listed {
            Ok(Some(entries)) => entries,
            Ok(None) => return Ok(()),
            Err(error) => return self.damaged(&folder.display().to_string(), unreadable(&error)),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                self.below(&path, roots)?;
            } else if kind.is_file() {
                self.found(&path, &path.display().to_string(), true, 0)?;
            } else if kind.is_symlink() {
                self.link(&path, roots)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, path: &Path, roots: &mut Roots) -> Result<()> {
        let name = || path.display().to_string();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => match Errno::from_io_error(&error) {
                // A link that leads nowhere, or only to itself, holds nothing.
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                _ => return self.damaged(&name(), Error::io("cannot follow the link", &error)),
            },
        };
        if roots.hold(&real) {
            return Ok(());
        }
        if !real.is_dir() {
            return self.found(path, &name(), true, 0);
        }
        if roots.argument.starts_with(&real) {
            return Ok(());
        }
        roots.add(real);
        self.below(path, roots)
    }
}

/// Whether a path is that of a compressed file beside which there are files that count for what is in it, if that is a module.
fn has_beside_inner(path: &Path) -> bool {
    const COMPRESSED: [&str; 4] = ["gz", "zst", "bz2", "xz"];
    let is_compressed = path.extension().is_some_and(|end| COMPRESSED.iter().any(|other| end == *other));
    let has = |path: &Path| has_beside(&path.with_extension(""));
    is_compressed && (has(path) || path.is_symlink() && path.canonicalize().is_ok_and(|real| has(&real)))
}

/// Folders whose contents are met anyway, by their real paths.
struct Roots {
    argument: PathBuf,
    /// The argument, and folders that links led to; none is within another.
    all: BTreeSet<PathBuf>,
}

impl Roots {
    /// Whether a file or folder is within one of them, or is one.
    fn hold(&self, real: &Path) -> bool {
        // All between a folder and a path that it holds is in it, too, so that only the last before may hold the path.
        let mut before = self.all.range::<Path, _>((Bound::Unbounded, Bound::Included(real)));
        before.next_back().is_some_and(|root| real.starts_with(root))
    }

    /// Adds a folder that none of them holds, in place of those that it holds.
    fn add(&mut self, real: PathBuf) {
        let behind = self.all.range::<Path, _>((Bound::Included(real.as_path()), Bound::Unbounded));
        let held: Vec<PathBuf> = behind.take_while(|root| root.starts_with(&real)).cloned().collect();
        held.iter().for_each(|root| _ = self.all.remove(root));
        self.all.insert(real);
    }
}

#[cold]
fn unreadable(error: &std::io::Error) -> Error {
    Error::io("cannot read the folder", error)
}

/// The process that an argument means: `pid:N`, or `/proc/N/maps`.
fn pid(argument: &Path) -> Option<String> {
    let text = argument.to_str()?;
    let pid = match text.strip_prefix("pid:") {
        Some(pid) => pid,
        None => text.strip_prefix("/proc/")?.strip_suffix("/maps")?,
    };
    let number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    (number || pid == "self").then(|| pid.to_owned())
}

#[cold]
fn in_its_place() -> Error {
    let error = Error::input("another file is there than the process has mapped");
    error.with_remedy("run this as root, who may read what is mapped, or name the files")
}

/// One mapping of a file.
struct Mapping<'m> {
    range: &'m str,
    executable: bool,
    /// Device and inode, as the kernel writes them.
    identity: (&'m str, &'m str),
    path: &'m str,
}

impl Mapping<'_> {
    /// Returns the name of the mapping in the process's folder `map_files`, whose addresses have no zeros before them.
    fn file_name(&self) -> String {
        let plain = |address: &str| match address.trim_start_matches('0') {
            "" => "0".to_owned(),
            plain => plain.to_owned(),
        };
        let (begin, end) = self.range.split_once('-').unwrap_or((self.range, ""));
        format!("{}-{}", plain(begin), plain(end))
    }
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    // ADDRESSES PERMISSIONS OFFSET DEVICE INODE, spaces, PATH.
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start_matches(' ').split_once(' ')?;
        rest = after;
        Some(field)
    };
    let (range, permissions) = (field()?, field()?);
    let _ = field()?;
    let identity = (field()?, field()?);
    let path = rest.trim_start_matches(' ');
    path.starts_with('/').then_some(Mapping { range, executable: permissions.contains('x'), identity, path })
}

/// Returns device and inode of the file that this process has mapped at an address, as the kernel writes them.
pub(super) fn mapped_at(address: usize) -> Option<(String, String)> {
    let maps = fs::read("/proc/self/maps").ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let begin = |mapping: &Mapping<'_>| usize::from_str_radix(mapping.range.split_once('-')?.0, 16).ok();
    let found = maps.lines().filter_map(mapping).find(|mapping| begin(mapping) == Some(address))?;
    Some((found.identity.0.to_owned(), found.identity.1.to_owned()))
}

/// Files that a process has mapped as code, but for deleted ones, and those in whose place another one is; none where the process
/// is gone. Those that are `known` are not looked at again.
pub(crate) fn mapped_code(pid: u32, known: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let code = maps.lines().filter_map(mapping).filter(|mapping| mapping.executable);
    let mut new = BTreeSet::new();
    for mapping in code.filter(|mapping| !mapping.path.ends_with(" (deleted)")) {
        let path = PathBuf::from(mapping.path);
        if !known.contains(&path) && !new.contains(&path) && is_mapped_as(&path, mapping.identity) {
            new.insert(path);
        }
    }
    new.into_iter().collect()
}

impl Expansion<'_, '_> {
    /// Hands on each library of a process.
    fn process(&mut self, argument: &Path, pid: &str) -> Result<()> {
        let folder = PathBuf::from("/proc").join(pid);
        let maps = match fs::read(folder.join("maps")) {
            Ok(maps) => maps,
            Err(error) => {
                let name = argument.display().to_string();
                let error = match error.kind() {
                    std::io::ErrorKind::NotFound => Error::input(format!("there is no process {pid}")),
                    _ => Error::io(format!("cannot read the maps of process {pid}"), &error),
                };
                return self.damaged(&name, error);
            }
        };
        let maps = String::from_utf8_lossy(&maps);
        let mut known = HashSet::new();
        for mapping in maps.lines().filter_map(mapping) {
            let deleted = mapping.path.strip_suffix(" (deleted)");
            // Of what is deleted only code is of interest: the rest is shared memory.
            if deleted.is_some() && !mapping.executable || !known.insert((mapping.identity, mapping.path)) {
                continue;
            }
            let itself = folder.join("map_files").join(mapping.file_name());
            // The kernel leads to what is mapped, whatever lies at its path by now.
            if deleted.is_some() || fs::metadata(&itself).is_ok() {
                self.found(&itself, mapping.path, false, 0)?;
                continue;
            }
            let path = Path::new(mapping.path);
            let seen = folder.join("root").join(path.strip_prefix("/").unwrap_or(path));
            // Without the right to look through the eyes of the process, ours must do.
            let path = if seen.exists() && !place::leads_to(&seen, path) { &seen } else { path };
            self.found_as(path, mapping.path, (false, 0), Some(&mapping))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_hold_what_is_below_them() {
        let mut roots = Roots { argument: "/in".into(), all: BTreeSet::from(["/in".into()]) };
        ["/a/b/c", "/a/b d", "/a/b/e"].into_iter().for_each(|root| roots.add(root.into()));
        let held = |roots: &Roots| {
            ["/a", "/a/b", "/a/b/c", "/a/b/c/x", "/a/b/d", "/a/b d/x", "/in/x", "/inn"]
                .map(|path| roots.hold(Path::new(path)))
        };
        assert_eq!(held(&roots), [false, false, true, true, false, true, true, false]);
        roots.add("/a/b".into());
        assert_eq!(held(&roots), [false, true, true, true, true, true, true, false]);
        assert_eq!(roots.all.len(), 3);
    }

    #[test]
    fn processes_are_told_from_files() {
        let pid = |text: &str| pid(Path::new(text));
        assert_eq!(pid("pid:12").as_deref(), Some("12"));
        assert_eq!(pid("/proc/self/maps").as_deref(), Some("self"));
        assert_eq!([pid("pid:"), pid("pid:x"), pid("./pid:1"), pid("/proc/1/../maps")], [None, None, None, None]);
    }

    #[test]
    fn a_path_may_hold_spaces() {
        let line = "7f00-7f01 r-xp 00000000 fe:00 42                       /a b/lib.so (deleted)";
        let found = mapping(line).unwrap();
        assert_eq!((found.range, found.executable, found.path), ("7f00-7f01", true, "/a b/lib.so (deleted)"));
        assert_eq!(found.identity, ("fe:00", "42"));
        let low = mapping("00400000-00401000 r-xp 00000000 fe:00 42                       /a/program").unwrap();
        assert_eq!(low.file_name(), "400000-401000");
        assert!(mapping("7f00-7f01 rw-p 00000000 00:00 0 ").is_none());
        assert!(mapping("7f00-7f01 rw-p 00000000 00:00 0                  [heap]").is_none());
    }
}
