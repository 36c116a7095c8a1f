//! How many modules may be compiled at once, if `make -j` has a say?
//!
//! GNU make hands its children a pipe or a named pipe that holds one byte per further job, named in MAKEFLAGS
//! (`--jobserver-auth=R,W` or `=fifo:PATH`; GNU make's manual, "Sharing Job Slots with GNU make"). Every process has
//! one job without a byte. The crate `jobserver` takes the descriptors by their numbers, which cannot be done without
//! unsafe code; here they are opened through `/proc/self/fd`, so that a number that is no pipe does no harm.

use crate::build::Tokens;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The `O_NONBLOCK` of Linux and of every system with `/proc/self/fd`: two processes may see one byte at once.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// The time that a wait for a byte lasts before checking whether one is still needed.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The jobserver of the `make` above.
#[derive(Debug)]
pub(crate) struct Jobserver {
    read: File,
    write: File,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Whether the job that needs no byte is under way.
    own: bool,
    /// The bytes that were read, which go back as they are.
    bytes: Vec<u8>,
}

impl Jobserver {
    /// The jobserver that MAKEFLAGS names, if it does and there is one.
    pub(crate) fn from_environment() -> Option<Arc<dyn Tokens>> {
        let flags = std::env::var("MAKEFLAGS").ok()?;
        Some(Arc::new(Jobserver::open(&flags)?))
    }

    fn open(flags: &str) -> Option<Jobserver> {
        // The last one counts; make before 4.2 calls it `--jobserver-fds`.
        let auth = flags.split_ascii_whitespace().rev().find_map(|flag| {
            flag.strip_prefix("--jobserver-auth=").or_else(|| flag.strip_prefix("--jobserver-fds="))
        })?;
        let (read, write) = match auth.strip_prefix("fifo:") {
            Some(path) => (pipe(Path::new(path), false)?, pipe(Path::new(path), true)?),
            None => {
                let (read, write) = auth.split_once(',')?;
                let (read, write) = (read.parse::<u32>().ok()?, write.parse::<u32>().ok()?);
                let of = |number: u32, write| pipe(Path::new(&format!("/proc/self/fd/{number}")), write);
                (of(read, false)?, of(write, true)?)
            }
        };
        Some(Jobserver { read, write, held: Mutex::default() })
    }
}

fn pipe(path: &Path, write: bool) -> Option<File> {
    let file = File::options().read(!write).write(write).custom_flags(NONBLOCK).open(path).ok()?;
    file.metadata().ok()?.file_type().is_fifo().then_some(file)
}

impl Tokens for Jobserver {
    fn acquire(&self, no_longer: &dyn Fn() -> bool) -> bool {
        loop {
            if no_longer() {
                return false;
            }
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if !held.own {
                held.own = true;
                return true;
            }
            let mut byte = [0];
            match (&self.read).read(&mut byte) {
                Ok(1) => {
                    held.bytes.extend(byte);
                    return true;
                }
                // Nobody holds the other end any more: the job without a byte is all there is.
                Ok(_) => {}
                Err(_) => {
                    drop(held);
                    let mut ends = [PollFd::new(&self.read, PollFlags::IN)];
                    if poll(&mut ends, Some(&PATIENCE)).is_ok()
                        && !ends.iter().any(|end| end.revents().contains(PollFlags::ERR))
                    {
                        continue;
                    }
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    fn release(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match held.bytes.pop() {
            // A byte that cannot be given back is make's to miss, which it reports.
            Some(byte) => drop((&self.write).write_all(&[byte])),
            None => held.own = false,
        }
    }
}

impl Drop for Jobserver {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = (&self.write).write_all(&held.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    fn jobserver(tokens: usize) -> (tempfile::TempDir, File, Jobserver) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut both = File::options().read(true).write(true).open(&path).unwrap();
        both.write_all(&vec![b'+'; tokens]).unwrap();
        let flags = format!(" -j3 --jobserver-auth=fifo:{} -- X=1", path.display());
        let jobserver = Jobserver::open(&flags).unwrap();
        (folder, both, jobserver)
    }

    #[test]
    fn one_job_is_free_and_each_further_one_takes_a_byte() {
        let (_folder, _both, jobserver) = jobserver(2);
        let never = || false;
        for _ in 0..3 {
            assert!(jobserver.acquire(&never));
        }
        let asked = std::cell::Cell::new(0);
        let later = || asked.replace(asked.get() + 1) > 1;
        assert!(!jobserver.acquire(&later), "there is no fourth");
        jobserver.release();
        assert!(jobserver.acquire(&never));
        for _ in 0..3 {
            jobserver.release();
        }
        let mut left = [0; 8];
        assert_eq!((&jobserver.read).read(&mut left).unwrap(), 2, "all bytes are back");
        assert_eq!(&left[..2], b"++");
    }

    #[test]
    fn what_is_no_pipe_is_no_jobserver() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for flags in [
            "",
            "-j4",
            "--jobserver-auth=",
            "--jobserver-auth=-2,-2",
            "--jobserver-auth=0",
            "--jobserver-auth=998,999",
            "--jobserver-auth=fifo:/nowhere",
            &format!("--jobserver-auth=fifo:{}", file.path().display()),
        ] {
            assert!(Jobserver::open(flags).is_none(), "{flags}");
        }
    }
}
