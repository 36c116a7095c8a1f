//! How does an output appear whole or not at all?

use std::fs::{File, Permissions};
use std::io::{BufWriter, IsTerminal as _, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::text::visible_lines;
use tempfile::NamedTempFile;

/// The permission bits of a new file, before the process's umask.
const FILE_MODE: u32 = 0o666;
/// The permission bits of a new folder, before the process's umask.
const FOLDER_MODE: u32 = 0o777;
/// The prefix of temporary files and folders, should the process be killed while one is there.
const PREFIX: &str = ".sycl-bundle-";

/// Writes a file by way of a temporary one beside it, so that at any moment there is the old file, the new one, or
/// none. A file that already holds these bytes stays untouched. Returns whether it was written.
///
/// `mode` sets the permission bits; without it an existing file keeps its own and a new one gets the umask's. Links
/// are followed; devices and pipes are written to directly.
///
/// # Errors
/// `Environment` where the file cannot be written.
pub fn write_atomically(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<bool> {
    let failed = |error: &std::io::Error| cannot_write(path, error);
    // A link that leads nowhere is replaced by the file.
    let there = std::fs::symlink_metadata(path).is_ok();
    let target = if there { path.canonicalize().ok() } else { None }.unwrap_or_else(|| path.to_path_buf());
    let existing = if there { std::fs::metadata(&target).ok() } else { None };
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(Error::new(ErrorKind::Usage, format!("`{}` is a folder", path.display())));
        }
        if !metadata.is_file() {
            let written = File::options().write(true).open(&target).and_then(|mut file| file.write_all(bytes));
            return written.map(|()| true).map_err(|error| failed(&error));
        }
        let same_mode = mode.is_none_or(|mode| metadata.mode() & 0o7777 == mode & 0o7777);
        if same_mode && metadata.len() == bytes.len() as u64 && std::fs::read(&target).is_ok_and(|old| old == bytes) {
            return Ok(false);
        }
    }
    let mut file = temporary(folder_of(&target)).map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    let mode = mode.or(existing.map(|metadata| metadata.mode())).map(|mode| mode & 0o7777);
    if let Some(mode) = mode {
        file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    }
    file.persist(&target).map_err(|error| failed(&error.error))?;
    Ok(true)
}

/// Makes an empty file, or sets the time of one that is there.
///
/// # Errors
/// `Environment` where that is not possible.
pub fn touch(path: &Path) -> Result<()> {
    let file = File::options().create(true).append(true).open(path);
    file.and_then(|file| file.set_modified(std::time::SystemTime::now())).map_err(|error| cannot_write(path, &error))
}

/// Writes a file piece by piece, by way of a temporary one beside it, as [`write_atomically`] does.
///
/// # Errors
/// Those of `write`; `Environment` where the file cannot be written.
pub fn write_streamed<T>(path: &Path, mode: Option<u32>, write: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
    let failed = |error: &std::io::Error| cannot_write(path, error);
    let mut file = temporary(folder_of(path)).map_err(|error| failed(&error))?;
    let written = write(file.as_file_mut())?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    }
    file.persist(path).map_err(|error| failed(&error.error))?;
    Ok(written)
}

/// Makes a folder for files of this run, which goes with the value.
///
/// # Errors
/// `Environment` where nothing can be written there.
pub fn scratch_folder(beside: &Path) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(beside);
    made.map_err(|error| cannot_write(beside, &error))
}

fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(FILE_MODE)).tempfile_in(folder)
}

pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cold]
pub fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    // The name of a temporary file, which `tempfile` appends, means nothing to anyone.
    let text = error.to_string();
    let reason = text.split_once(" at path \"").map_or(text.as_str(), |(reason, _)| reason);
    let failed = Error::new(ErrorKind::Environment, format!("cannot write `{}`: {reason}", path.display()));
    let folder = folder_of(path);
    if error.kind() == std::io::ErrorKind::NotFound && !folder.is_dir() {
        return failed.with_remedy(format!("make the folder `{}` first", folder.display()));
    }
    failed
}

/// A set of files that appears in a folder together.
///
/// Files are written into a temporary folder. Where the target does not exist the temporary one takes its name in one
/// step. A folder that exists stays the folder it is (it may be a mount point, or have permissions of its own): the
/// temporary one lies within it, and the files are moved up one by one, in the order they were written.
pub struct Folder {
    target: PathBuf,
    temporary: tempfile::TempDir,
    names: Vec<String>,
    whole: bool,
}

impl Folder {
    /// Begins a set.
    ///
    /// # Errors
    /// `Environment` where nothing can be written there, `Usage` where the target is a file.
    pub fn begin(target: &Path) -> Result<Folder> {
        let failed = |error: &std::io::Error| cannot_write(target, error);
        let whole = match std::fs::read_dir(target) {
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                return Err(Error::new(ErrorKind::Usage, format!("`{}` is a file, not a folder", target.display())));
            }
            Err(error) => return Err(failed(&error)),
        };
        // One beside the target can take its name; one within it needs no permission elsewhere and shares its file system.
        let beside = if whole { folder_of(target) } else { target };
        std::fs::create_dir_all(beside).map_err(|error| failed(&error))?;
        let temporary = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(FOLDER_MODE))
            .tempdir_in(beside)
            .map_err(|error| failed(&error))?;
        Ok(Folder { target: target.to_path_buf(), temporary, names: Vec::new(), whole })
    }

    /// Whether a file of this name is there already, and will be replaced.
    pub fn replaces(&self, name: &str) -> bool {
        !self.whole && self.target.join(name).exists()
    }

    /// Adds a file.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.temporary.path().join(name);
        std::fs::write(&path, bytes).map_err(|error| cannot_write(&self.target.join(name), &error))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Lets the files appear.
    ///
    /// # Errors
    /// `Environment` where they cannot be moved.
    pub fn finish(self) -> Result<()> {
        let failed = |error: &std::io::Error| cannot_write(&self.target, error);
        // This fails where another process has made the target since.
        if self.whole && std::fs::rename(self.temporary.path(), &self.target).is_ok() {
            let _ = self.temporary.keep();
            return Ok(());
        }
        for name in &self.names {
            std::fs::rename(self.temporary.path().join(name), self.target.join(name))
                .map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

/// Says a line on standard error. Where that cannot be written to, there is nobody to tell.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(line));
}

/// Standard output for text, buffered.
pub fn stdout() -> BufWriter<std::io::StdoutLock<'static>> {
    // Texts of thousands of bytes pass by a buffer that is smaller than they are, without being copied.
    BufWriter::with_capacity(1 << 13, std::io::stdout().lock())
}

/// Prints a published schema.
pub fn schema(text: &str) -> Result<super::exit::Exit> {
    let mut out = stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| lost(&error))?;
    Ok(super::exit::Exit::Done)
}

/// Writes bytes that are no text to standard output.
///
/// # Errors
/// `Usage` where that is a terminal, `Io` where it cannot be written.
pub fn binary_to_stdout(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        let error = Error::new(ErrorKind::Usage, "binary output to a terminal is of no use");
        return Err(error.with_remedy("redirect it, or name a file or folder with `-o`"));
    }
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| lost(&error))
}

/// The error of a write to standard output.
#[cold]
pub fn lost(error: &std::io::Error) -> Error {
    Error::io("cannot write to standard output", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn unchanged_files_stay_and_modes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.so");
        assert!(write_atomically(&path, b"one", Some(0o750)).unwrap());
        assert_eq!(mode(&path), 0o750);
        let inode = std::fs::metadata(&path).unwrap().ino();
        assert!(!write_atomically(&path, b"one", Some(0o750)).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        assert!(write_atomically(&path, b"two", None).unwrap());
        assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (0o750, b"two".to_vec()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomically(&link, b"new", None).unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_appears_whole_or_is_added_to() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("new/set");
        let mut set = Folder::begin(&target).unwrap();
        set.add("a", b"1").unwrap();
        assert!(!target.exists());
        set.finish().unwrap();
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        drop(set);
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        let mut set = Folder::begin(&target).unwrap();
        set.add("b", b"2").unwrap();
        set.finish().unwrap();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn an_empty_folder_stays_the_folder_it_is() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("mine");
        std::fs::create_dir(&target).unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o700)).unwrap();
        let inode = std::fs::metadata(&target).unwrap().ino();
        let mut set = Folder::begin(&target).unwrap();
        set.add("a", b"1").unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is written beside it");
        set.finish().unwrap();
        assert_eq!((mode(&target), std::fs::metadata(&target).unwrap().ino()), (0o700, inode));
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        let again = Folder::begin(&target).unwrap();
        assert!(again.replaces("a") && !again.replaces("b"));
    }

    #[test]
    fn a_missing_folder_is_named_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(&folder.path().join("no/such.so"), b"", None).unwrap_err();
        assert!(!error.to_string().contains(PREFIX), "{error}");
        assert_eq!(error.kind(), ErrorKind::Environment);
        let remedy = format!("make the folder `{}` first", folder.path().join("no").display());
        assert_eq!(error.remedy(), Some(remedy.as_str()));
    }
}
