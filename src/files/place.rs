//! Where does an output go, and whose is what lies there already?
//!
//! In a folder that all may write to, and where each removes his own alone (`/tmp`), anybody leaves links and pipes for others to
//! write through. The kernel has a rule against it (`fs.protected_symlinks`, `fs.protected_fifos`), which holds for files that
//! are opened, and not where a link is read first and what it leads to is replaced: so it is kept here too.
//!
//! Links may come between any two looks at a path. So an output's place is found once ([`Place::find`]): each link at the end of
//! its path is judged by the descriptor that it is read from, and what is written goes to a name in an open folder.

use super::write::folder_of;
use crate::error::{Error, ErrorKind, Result};
use crate::plain_file;
use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, open, openat, readlinkat, renameat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Links that lead from one to the next; as many as Linux follows.
const MAX_LINKS: usize = 40;
/// Bits of a folder that all may write to, and in which each removes his own alone.
const SHARED: u32 = 0o1002;

/// Returns a path without what has a link followed before it is looked at: a slash at its end.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns a path, and where the links at its end lead, one after the other.
pub(super) fn steps(path: &Path) -> impl Iterator<Item = PathBuf> {
    let next = move |path: &PathBuf| Some(plain(&folder_of(path).join(std::fs::read_link(path).ok()?)));
    std::iter::successors(Some(plain(path)), next).take(MAX_LINKS)
}

/// Whether a folder is of a file system in which the kernel shows what it has, other processes among it: proc, sysfs, cgroup, cgroup2,
/// debugfs, tracefs, securityfs, those of BPF and of terminals.
pub(super) fn is_of_kernel(folder: &Path) -> bool {
    const OTHERS: [u32; 8] =
        [0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11, 0x1cd1];
    rustix::fs::statfs(folder).is_ok_and(|fs| {
        fs.f_type == PROC_SUPER_MAGIC || u32::try_from(fs.f_type).is_ok_and(|kind| OTHERS.contains(&kind))
    })
}

/// Whether a path is that of an open file, as `/dev/stdout` is.
pub(super) fn is_open_file(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    ["/dev/stdout", "/dev/stderr"].iter().any(|own| path == Path::new(own))
        || folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// Whether what lies at a path is another user's, in a folder of a third one that all may write to.
pub(super) fn is_strangers(path: &Path, itself: &Metadata) -> bool {
    std::fs::metadata(folder_of(path)).is_ok_and(|folder| is_strangers_in(&folder, itself))
}

/// Whether all may write to a folder, and each removes his own alone.
pub(super) fn is_shared(folder: &Metadata) -> bool {
    folder.mode() & SHARED == SHARED
}

/// Whether a file is another user's, in a folder of a third one that all may write to.
fn is_strangers_in(folder: &Metadata, itself: &Metadata) -> bool {
    is_shared(folder) && folder.uid() != itself.uid() && itself.uid() != plain_file::user()
}

/// Checks that a link or a pipe at the place of an output is no stranger's.
///
/// # Errors
/// `Environment` where it is.
fn is_no_strangers(path: &Path, folder: &Metadata, itself: &Metadata) -> Result<()> {
    let kind = itself.file_type();
    if (kind.is_symlink() || kind.is_fifo()) && is_strangers_in(folder, itself) {
        let what = if kind.is_symlink() { "link" } else { "pipe" };
        let message = format!(
            "`{}` is a {what} that belongs to another user ({}), in a folder that all may write to",
            path.display(),
            itself.uid()
        );
        return Err(Error::new(ErrorKind::Environment, message).with_remedy("write to another folder"));
    }
    Ok(())
}

/// Meaning of a path whose links lead nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dangling {
    /// The first link itself, which an output replaces.
    First,
    /// The file that the last one would lead to.
    Last,
}

/// Place of an output.
#[derive(Debug)]
pub(super) struct Place {
    /// Path with no link at its end.
    pub(super) path: PathBuf,
    /// Last part of the path.
    name: OsString,
    /// The folder, opened to look names up; none where there is none.
    folder: Option<File>,
    /// State of what is there; none where nothing is.
    pub(super) there: Option<Metadata>,
    /// Whether it is an open file, which has no other place.
    pub(super) is_open_file: bool,
}

impl Place {
    /// Finds the place of an output.
    ///
    /// # Errors
    /// `Environment` where a stranger has put a link or a pipe there.
    pub(super) fn find(path: &Path, dangling: Dangling) -> Result<Place> {
        let mut step = plain(path);
        for number in 0..MAX_LINKS {
            let (place, next) = Place::look(&step)?;
            match next {
                None if place.is_missing() && number > 0 && dangling == Dangling::First => break,
                None => return Ok(place),
                Some(next) => step = next,
            }
        }
        // A link that leads nowhere, or to itself.
        Place::look(&plain(path)).map(|(place, _)| place)
    }

    /// Returns the state of what an output replaces or goes into: of a link that leads nowhere there is none.
    pub(super) fn existing(&self) -> Option<Metadata> {
        self.there.clone().filter(|there| !there.is_symlink())
    }

    fn is_missing(&self) -> bool {
        self.there.is_none() && !self.is_open_file
    }

    /// Looks at what is there; where that is a link, returns where it leads, too.
    fn look(step: &Path) -> Result<(Place, Option<PathBuf>)> {
        let name = step.file_name().map_or_else(|| OsStr::new(".").to_owned(), OsStr::to_owned);
        let mut place =
            Place { path: step.to_owned(), name, folder: None, there: None, is_open_file: is_open_file(step) };
        // An open file is whoever's opened it, wherever it lies.
        if place.is_open_file || place.open_folder().is_err() {
            return Ok((place, None));
        }
        let Some(file) = place.open_itself(OFlags::PATH).ok().flatten() else { return Ok((place, None)) };
        let itself = file.metadata().ok();
        let folder = place.folder.as_ref().and_then(|folder| folder.metadata().ok());
        if let (Some(folder), Some(itself)) = (folder, &itself) {
            is_no_strangers(step, &folder, itself)?;
        }
        let is_link = itself.as_ref().is_some_and(Metadata::is_symlink);
        place.there = itself;
        if !is_link {
            return Ok((place, None));
        }
        let Ok(text) = readlinkat(&file, "", Vec::new()) else { return Ok((place, None)) };
        let next = plain(&folder_of(step).join(OsString::from_vec(text.into_bytes())));
        // Links of /proc lead where their text does not.
        if place.is_in_proc() && !leads_to(step, &next) {
            place.there = std::fs::metadata(step).ok();
            return Ok((place, None));
        }
        Ok((place, Some(next)))
    }

    /// Opens the folder, once it is there.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open_folder(&mut self) -> std::io::Result<&File> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => {
                let path = if self.path.file_name().is_some() { folder_of(&self.path) } else { &self.path };
                File::from(open(path, flags, Mode::empty())?)
            }
        };
        Ok(self.folder.insert(folder))
    }

    fn is_in_proc(&self) -> bool {
        self.folder.as_ref().and_then(|folder| fstatfs(folder).ok()).is_some_and(|fs| fs.f_type == PROC_SUPER_MAGIC)
    }

    /// Opens what is there now, and no link; none where nothing is.
    fn open_itself(&self, flags: OFlags) -> std::io::Result<Option<File>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(folder, &self.name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the state of what is there now: of a link its own.
    pub(super) fn now(&self) -> Option<Metadata> {
        self.open_itself(OFlags::PATH).ok().flatten()?.metadata().ok()
    }

    fn state_of_folder(&self) -> Option<Metadata> {
        self.folder.as_ref()?.metadata().ok()
    }

    /// Returns whether the file that was there when the place was found is another user's to change.
    pub(super) fn is_strangers(&self) -> bool {
        self.state_of_folder().zip(self.there.as_ref()).is_some_and(|(folder, there)| is_strangers_in(&folder, there))
    }

    /// Whether all may write to the folder.
    pub(super) fn is_open_to_all(&self) -> bool {
        self.state_of_folder().is_none_or(|folder| folder.mode() & 0o002 != 0)
    }

    /// Opens the plain file that is there for reading.
    ///
    /// # Errors
    /// The system's; `InvalidInput` for what is none.
    pub(super) fn read(&self) -> std::io::Result<File> {
        let file = self.open_itself(OFlags::RDONLY | OFlags::NONBLOCK)?;
        let file = file.ok_or(std::io::ErrorKind::NotFound)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::ErrorKind::InvalidInput.into()) }
    }

    /// Opens what is there to write to it as it is, a device or a pipe, if it is what was found.
    ///
    /// # Errors
    /// The system's; `Other` where another file is there now.
    pub(super) fn open_as_it_is(&self, flags: OFlags, mode: Mode) -> std::io::Result<File> {
        let folder = self.folder.as_ref().map_or(CWD, |folder| folder.as_fd());
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(folder, &self.name, flags, mode)?);
        let now = file.metadata()?;
        match &self.there {
            Some(there) if plain_file::id(there) != plain_file::id(&now) => {
                Err(std::io::Error::other("another process replaced it"))
            }
            _ => Ok(file),
        }
    }

    /// Opens the folder that is there, which is no link.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn as_folder(&self) -> std::io::Result<File> {
        let is_link = self.now().is_some_and(|now| now.is_symlink());
        // A link of /proc to a folder.
        let follow = is_link && self.is_in_proc();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
        let folder = self.folder.as_ref().map_or(CWD, |folder| folder.as_fd());
        Ok(File::from(openat(folder, &self.name, flags, Mode::empty())?))
    }

    /// Has a file of the same folder appear here, in place of what is here: of a link, too.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn put(&self, file: &Path) -> std::io::Result<()> {
        let folder = self.folder.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        let name = file.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(renameat(folder, name, folder, &self.name)?)
    }
}

/// Whether two paths lead to one file.
pub(super) fn leads_to(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).map(|file| plain_file::id(&file)).ok();
    file(a).is_some_and(|a| file(b) == Some(a))
}

/// Returns the path of what a path leads to without links; the path itself where the text of a link is not where it leads, as of
/// those below /proc that lead to files of other processes.
///
/// # Errors
/// The system's, where there is nothing.
pub(super) fn real(path: &Path) -> std::io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) if leads_to(path, &real) => Ok(real),
        Err(error) if std::fs::metadata(path).is_err() => Err(error),
        _ => std::path::absolute(path),
    }
}

/// Identity of a file, or of a place for one. Paths that have one of these in common lead to one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// Path without links, or where its folder is not there, as it is.
    Real(PathBuf),
    /// Device and number of the folder, and the name in it: a folder may be mounted in several places.
    Place(u64, u64, OsString),
    /// Device and number of a file that has one name: some file systems have it by several (`K.SO` is `k.so` on FAT).
    File(u64, u64),
}

/// Returns the identities of what a path leads to; none of standard input and output.
pub(super) fn identities(path: &Path) -> impl Iterator<Item = Identity> {
    let is_stream = path == Path::new("-");
    let real = (!is_stream).then(|| real(path).ok()).flatten();
    let place = (!is_stream).then(|| real.clone().unwrap_or_else(|| plain(path))).and_then(|path| {
        let folder = std::fs::metadata(folder_of(&path)).ok()?;
        Some(Identity::Place(folder.dev(), folder.ino(), path.file_name()?.to_owned()))
    });
    let file = real.as_ref().and_then(|real| std::fs::metadata(real).ok());
    let file = file.filter(|file| file.is_file() && file.nlink() == 1);
    let file = file.map(|file| Identity::File(file.dev(), file.ino()));
    // In a folder that is to be made a place is known by how it is spelled alone.
    let path = real.or_else(|| (!is_stream && place.is_none()).then(|| plain(path)));
    path.map(Identity::Real).into_iter().chain(place).chain(file)
}

/// Whether two paths lead to one file, or to one place for a file. Standard input and output are none.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let of_a: Vec<Identity> = identities(a).collect();
    identities(b).any(|identity| of_a.contains(&identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::{Child, Command, Stdio};

    #[test]
    fn links_are_judged_by_what_they_are_read_from() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("st")).unwrap();
        std::fs::write(at("file"), "precious").unwrap();
        symlink("../file", at("st/link")).unwrap();
        symlink("st/link", at("first")).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        symlink("itself", at("itself")).unwrap();
        let find = |name: &str, dangling| Place::find(&at(name), dangling).unwrap();
        assert!(find("first", Dangling::First).path.ends_with("st/../file"));
        assert!(find("dangling", Dangling::First).there.unwrap().is_symlink());
        assert!(find("dangling", Dangling::Last).path.ends_with("nothing"));
        assert!(find("itself", Dangling::First).there.unwrap().is_symlink());
        assert!(find("no/folder", Dangling::First).there.is_none());
        // As in a folder that all may write to, whose links are of other users.
        let [shared, link] = [at("st"), at("first")].map(|path| std::fs::symlink_metadata(path).unwrap());
        assert!(is_no_strangers(&at("st"), &shared, &link).is_ok());
    }

    #[test]
    fn what_comes_between_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "precious").unwrap();
        std::fs::create_dir(at("other")).unwrap();
        let place = Place::find(&at("out"), Dangling::First).unwrap();
        symlink("file", at("out")).unwrap();
        assert!(place.read().is_err() && place.open_as_it_is(OFlags::WRONLY, Mode::empty()).is_err());
        std::fs::write(at("temporary"), "new").unwrap();
        place.put(&at("temporary")).unwrap();
        assert!(std::fs::read(at("file")).unwrap() == b"precious" && !at("out").is_symlink());
        std::fs::remove_file(at("out")).unwrap();
        // A folder that is another by then.
        std::fs::create_dir(at("set")).unwrap();
        let (inner, set) = (at("set/out"), Place::find(&at("set"), Dangling::First).unwrap());
        let place = Place::find(&inner, Dangling::First).unwrap();
        std::fs::rename(at("set"), at("old")).unwrap();
        symlink("other", at("set")).unwrap();
        std::fs::write(at("set/temporary"), "new").unwrap();
        assert!(place.put(&at("set/temporary")).is_err() && set.as_folder().is_err());
        assert_eq!(std::fs::read_dir(at("other")).unwrap().count(), 1);
    }

    #[test]
    fn a_place_is_one_by_several_paths() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        symlink("d", at("link")).unwrap();
        assert!(is_same(&at("d/new"), &at("link/new")) && !is_same(&at("d/new"), &at("d/old")));
        std::fs::write(at("d/new"), "").unwrap();
        assert!(is_same(&at("d/new"), &at("link/../d/new")) && !is_same(&at("d/new"), &at("new")));
        assert!(!is_same(Path::new("-"), Path::new("-")));
        std::fs::hard_link(at("d/new"), at("other")).unwrap();
        assert!(!is_same(&at("d/new"), &at("other")), "each name of several is a place of its own");
    }

    /// As file systems without regard to case have files, which not every machine has.
    #[test]
    fn a_file_with_one_name_is_one_by_several() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("k.so");
        std::fs::write(&file, "").unwrap();
        let [lower, upper] = ["k.so", "K.SO"].map(|name| {
            let mut all: Vec<Identity> = identities(&file).collect();
            all.retain(|identity| matches!(identity, Identity::File(..)));
            all.push(Identity::Place(1, 2, name.into()));
            all
        });
        assert!(lower != upper && lower.iter().any(|identity| upper.contains(identity)));
    }

    /// Process that sleeps.
    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn links_of_proc_are_not_read_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let (own, real_folder) = (folder.path().join("x"), folder.path().canonicalize().unwrap());
        std::fs::write(&own, "here").unwrap();
        let script = "mount -t tmpfs t \"$1\" && echo there > \"$1/x\" && echo ready && exec sleep 60";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).arg(&real_folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return };
        let mut ready = [0; 5];
        let is_ready =
            child.stdout.take().is_some_and(|mut out| std::io::Read::read_exact(&mut out, &mut ready).is_ok());
        let child = Sleeper(child);
        // Only root has mount namespaces everywhere.
        if !is_ready {
            return;
        }
        let there = Path::new("/proc").join(child.0.id().to_string()).join("root");
        let there = there.join(real_folder.join("x").strip_prefix("/").unwrap());
        assert_eq!(real(&there).unwrap(), there);
        assert_eq!(real(&own).unwrap(), real_folder.join("x"));
        super::super::write::write_atomically(&there, b"new", None).unwrap();
        assert_eq!((std::fs::read(&own).unwrap(), std::fs::read(&there).unwrap()), (b"here".to_vec(), b"new".to_vec()));
    }
}
