//! How is a file read that nobody named?
//!
//! Files that lie in a folder may be put there by others: pipes that nobody writes to, files of gigabytes without a byte on the
//! disk, and what the kernel shows as a file and blocks on. None is waited for, and none is read beyond a limit.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

/// Opens a plain file for reading.
///
/// # Errors
/// Errors of opening it; `InvalidInput` for a pipe, folder or device.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata)> {
    with(path, OFlags::NONBLOCK)
}

/// Opens a plain file that is no link.
///
/// # Errors
/// Errors of [`open`], and that of a link.
pub(crate) fn open_itself(path: &Path) -> Result<(File, Metadata)> {
    with(path, OFlags::NONBLOCK | OFlags::NOFOLLOW)
}

/// Opens what is below a folder for reading, which may be anything, without waiting for anything. A link there, or on the way
/// from the folder, is not followed.
///
/// # Errors
/// Errors of opening it, and that of a link or of a path that leads out of the folder.
pub(crate) fn open_below(folder: &Path, path: &Path) -> Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open_within(&File::from(rustix::fs::open(folder, flags, Mode::empty())?), path)
}

fn open_within(folder: &File, path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    match openat2(folder, path, flags, Mode::empty(), resolve) {
        // An older kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(folder, path, flags),
        opened => Ok(File::from(opened?)),
    }
}

fn step_by_step(folder: &File, path: &Path, flags: OFlags) -> Result<File> {
    let mut parts = path.components().peekable();
    let mut at = openat(folder, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(ErrorKind::InvalidInput.into()) };
        let within = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = if parts.peek().is_some() { within } else { flags };
        at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(File::from(at))
}

/// Device and inode, which identify a file.
pub(crate) type FileId = (u64, u64);

/// Returns the device and inode: one file has one, by whatever path.
pub(crate) fn id(file: &Metadata) -> FileId {
    (file.dev(), file.ino())
}

/// Returns the owner of a file or folder that is there, where that is neither this user nor root.
pub(crate) fn stranger(path: &Path) -> Option<u32> {
    let owner = std::fs::metadata(path).ok()?.uid();
    (owner != user() && owner != 0).then_some(owner)
}

/// Returns the number of the user that this process is, which files that it makes belong to.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn with(path: &Path, flags: OFlags) -> Result<(File, Metadata)> {
    let flags = i32::try_from(flags.bits()).map_err(Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no plain file"));
    }
    Ok((file, metadata))
}

/// Reads a plain file of at most so many bytes.
///
/// # Errors
/// Errors of [`open`] and reading; `FileTooLarge` where it is longer.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    whole(open(path)?, most)
}

/// Reads a plain file of at most so many bytes that is no link.
///
/// # Errors
/// Errors of [`open_itself`] and [`read`].
pub(crate) fn read_itself(path: &Path, most: u64) -> Result<Vec<u8>> {
    whole(open_itself(path)?, most)
}

fn whole((file, metadata): (File, Metadata), most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let too_long = || Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"));
    if metadata.len() > most {
        return Err(too_long());
    }
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_of_that_length_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "12345").unwrap();
        std::os::unix::fs::symlink(at("plain"), at("link")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(pipe.success());
        File::create(at("hole")).unwrap().set_len(1 << 40).unwrap();
        let kind = |name: &str, most| read(&at(name), most).map_err(|error| error.kind());
        assert_eq!(kind("plain", 5), Ok(b"12345".to_vec()));
        assert_eq!(kind("link", 5), Ok(b"12345".to_vec()));
        assert_eq!(kind("plain", 4), Err(ErrorKind::FileTooLarge));
        assert_eq!(kind("hole", 1 << 20), Err(ErrorKind::FileTooLarge));
        assert_eq!(kind("pipe", 5), Err(ErrorKind::InvalidInput));
        assert_eq!(kind(".", 5), Err(ErrorKind::InvalidInput));
        // A file of no length that has some.
        assert_eq!(read(Path::new("/proc/self/status"), 5).map_err(|error| error.kind()), Err(ErrorKind::FileTooLarge));
        assert!(open_itself(&at("link")).is_err() && open_itself(&at("plain")).is_ok());
        assert!(read_itself(&at("link"), 5).is_err() && read_itself(&at("plain"), 5).is_ok());
    }

    #[test]
    fn links_below_a_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("d/in")).unwrap();
        std::fs::write(at("secret"), "secret").unwrap();
        std::fs::write(at("d/in/plain"), "plain").unwrap();
        std::os::unix::fs::symlink("../secret", at("d/link")).unwrap();
        std::os::unix::fs::symlink("in", at("d/way")).unwrap();
        let top = File::open(at("d")).unwrap();
        let text = |file: Result<File>| file.and_then(std::io::read_to_string).ok();
        for open in [open_within, |folder: &File, path: &Path| step_by_step(folder, path, OFlags::RDONLY)] {
            let read = |name: &str| text(open(&top, Path::new(name)));
            assert_eq!(read("in/plain").as_deref(), Some("plain"));
            assert_eq!([read("link"), read("way/plain"), read("../secret"), read("in/none")], [None, None, None, None]);
        }
    }
}
