//! How is a program run to its end, and what of all that it says is kept?
//!
//! Until the program ends, and not until nobody holds its output any more: what it leaves running may do so for ever.

use crate::{limits, plain_file};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time between two looks whether a program has ended that others hold the output of.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A program that has ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Status of its end.
    pub(crate) status: ExitStatus,
    /// Bytes that it wrote to standard output.
    pub(crate) stdout: Vec<u8>,
    /// Bytes that it wrote to standard error.
    pub(crate) stderr: Vec<u8>,
}

/// One stream of a program.
struct Stream {
    /// None once it has ended.
    pipe: Option<File>,
    kept: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Stream> {
        let pipe = pipe.map(File::from);
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Stream { pipe, kept: Vec::new() })
    }

    /// Takes what is there. What is beyond the limit is read and left.
    fn take(&mut self) {
        let mut chunk = [0; 64 << 10];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(count @ 1..) => {
                    let room = limits::MAX_PROGRAM_TEXT.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
    }
}

/// Runs a program without input to its end.
///
/// # Errors
/// The system's, where it does not start.
pub(super) fn run(command: &mut Command) -> io::Result<Ended> {
    // A worker has a deadline of its own.
    run_within(command, Duration::MAX)?.ok_or_else(|| ErrorKind::TimedOut.into())
}

/// Time within which a program loads its libraries and compiles a module of one empty kernel, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a program without input to its end, and returns the libraries that it and those that it starts load, as the loader of glibc
/// writes them to files in a folder: an empty list for a program that has no loader, or another. `None` where it does not start or
/// does not end in time.
pub(super) fn libraries_of(command: &mut Command, folder: &Path) -> Option<Vec<PathBuf>> {
    const NAME: &str = "libraries";
    // A line of the loader for each library that it has read, before the library's own code runs.
    const READ: &str = "calling init: ";
    let command = command.env("LD_DEBUG", "files").env("LD_DEBUG_OUTPUT", folder.join(NAME));
    let Ok(Some(_)) = run_within(command, PATIENCE) else { return None };
    let written = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let written = written.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    let texts = written.filter_map(|entry| plain_file::read_itself(&entry.path(), limits::MAX_LIBRARY_LIST).ok());
    let mut found = BTreeSet::new();
    for text in texts {
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let at = line.windows(READ.len()).position(|words| words == READ.as_bytes())?;
            line.get(at.saturating_add(READ.len())..)
        });
        found.extend(lines.map(|path| PathBuf::from(OsStr::from_bytes(path))));
    }
    Some(found.into_iter().filter(|path| path.is_absolute() && path.is_file()).collect())
}

/// Runs a program without input to its end; none where that did not come in time, and the program was killed.
///
/// # Errors
/// The system's, where it does not start.
pub(crate) fn run_within(command: &mut Command, patience: Duration) -> io::Result<Option<Ended>> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut streams =
        [Stream::new(child.stdout.take().map(OwnedFd::from))?, Stream::new(child.stderr.take().map(OwnedFd::from))?];
    let status = loop {
        let mut waits: Vec<PollFd<'_>> =
            streams.iter().filter_map(|stream| Some(PollFd::new(stream.pipe.as_ref()?, PollFlags::IN))).collect();
        if waits.is_empty() && patience == Duration::MAX {
            break child.wait()?;
        }
        // Where it fails, what is there is looked for all the same; without a stream it is a wait.
        let _ = poll(&mut waits, Some(&TICK));
        let ended = child.try_wait()?;
        streams.iter_mut().for_each(Stream::take);
        if let Some(status) = ended {
            break status;
        }
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
    };
    let [stdout, stderr] = streams.map(|stream| stream.kept);
    Ok(Some(Ended { status, stdout, stderr }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        run(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn what_it_says_is_kept_up_to_a_limit() {
        let ended = shell("echo out; echo err >&2; exit 3");
        assert_eq!((ended.stdout.as_slice(), ended.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(ended.status.code(), Some(3));
        let ended = shell("head -c 70000000 /dev/zero; echo done >&2");
        assert_eq!((ended.stdout.len(), ended.stderr.as_slice()), (limits::MAX_PROGRAM_TEXT, &b"done\n"[..]));
    }

    /// A script starts a program, whose libraries count too.
    #[test]
    fn libraries_are_told_by_the_loader() {
        let folder = tempfile::tempdir().unwrap();
        let mut script = Command::new("sh");
        script.args(["-c", "cat /dev/null"]);
        let found = libraries_of(&mut script, folder.path()).unwrap();
        let is_there = |part: &str| found.iter().any(|path| path.file_name().unwrap().to_string_lossy().contains(part));
        // Machines without glibc have another loader, which tells nothing.
        let has_glibc =
            Command::new("getconf").arg("GNU_LIBC_VERSION").output().is_ok_and(|done| done.status.success());
        assert_eq!(is_there("libc.so"), has_glibc, "{found:?}");
        assert!(std::fs::read_dir(folder.path()).unwrap().count() >= if has_glibc { 2 } else { 0 });
    }

    #[test]
    fn one_that_does_not_end_is_killed() {
        for script in ["exec sleep 60", "exec sleep 60 >&- 2>&-"] {
            let begun = Instant::now();
            let ended = run_within(Command::new("sh").args(["-c", script]), Duration::from_millis(200)).unwrap();
            assert!(ended.is_none() && begun.elapsed() < Duration::from_secs(30), "{script}");
        }
    }

    #[test]
    fn what_it_leaves_running_is_not_waited_for() {
        let begun = Instant::now();
        let ended = shell("sleep 30 & echo done");
        assert!(ended.status.success() && ended.stdout == b"done\n");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
