//! The user's pip: is there one, and what does it install where?
//!
//! Python runs isolated (`-I`) and by its absolute path: a `pip.py` in the folder that happens to be the current one, a relative
//! entry of `PATH` and `PYTHONPATH` are other people's code.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sycl_bundle::error::{Error, ErrorKind, Result};

/// A way to call pip that answered when asked for its version.
pub struct Pip {
    program: PathBuf,
    leading: &'static [&'static str],
    version: String,
}

/// Packages to install: as requirements, each with the hash of its file, or by name from whatever the index gives.
pub enum Packages<'a> {
    /// The text of a requirements file in which every package has its version and hash.
    Pinned(&'a str),
    /// Requirements without hashes: the index is trusted.
    Trusted(&'a [String]),
}

/// Programs and their first arguments, in the order in which they are tried.
const WAYS: [(&str, &[&str]); 4] =
    [("python3", &["-I", "-m", "pip"]), ("python", &["-I", "-m", "pip"]), ("pip3", &[]), ("pip", &[])];

/// The longest that pip may take to tell its version.
const ANSWER: Duration = Duration::from_secs(30);
/// The longest that an installation may take: 250 MB by a slow line.
const INSTALLATION: Duration = Duration::from_secs(60 * 60);
/// The time between two looks at a running pip.
const TICK: Duration = Duration::from_millis(20);

impl Pip {
    /// Finds the first that works.
    pub fn find() -> Result<Pip> {
        let tried = |(name, leading): (&str, &'static [&'static str])| {
            let program = in_path(name)?;
            let mut command = command(&program, leading);
            command.arg("--version").stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().ok()?;
            let status = wait(&mut child, ANSWER).ok()??;
            let mut version = String::new();
            // One line, which the pipe has held since before the program ended.
            child.stdout.take()?.take(4096).read_to_string(&mut version).ok()?;
            let version = version.trim().to_owned();
            status.success().then_some(Pip { program, leading, version })
        };
        WAYS.into_iter().find_map(tried).ok_or_else(|| {
            Error::new(
                ErrorKind::Environment,
                "found no pip to install the driver with (tried python3 -I -m pip, pip3)",
            )
            .with_remedy("install Python 3 with pip (Debian: apt install python3-pip), and have it in PATH")
        })
    }

    /// The command, as one would type it.
    pub fn name(&self) -> String {
        [&[&*self.program.to_string_lossy()], self.leading].concat().join(" ")
    }

    /// The version, as pip tells it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Installs packages, with what they need, below a folder; nothing else on the machine changes. What pip says
    /// goes to standard error.
    pub fn install(&self, packages: &Packages<'_>, prefix: &Path) -> Result<()> {
        let mut command = command(&self.program, self.leading);
        command.args(["install", "--no-input", "--disable-pip-version-check", "--quiet"]);
        // A copy elsewhere on the machine is no copy in this folder; and nothing is to be built from source.
        command.args(["--ignore-installed", "--no-compile", "--no-warn-script-location", "--only-binary", ":all:"]);
        command.arg("--prefix").arg(prefix);
        // Lives until pip has ended.
        let mut requirements = None;
        match packages {
            Packages::Trusted(names) => drop(command.args(*names)),
            Packages::Pinned(text) => {
                let failed = |error: io::Error| Error::io("cannot write pip's requirements", &error);
                let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
                file.write_all(text.as_bytes()).map_err(failed)?;
                command.args(["--require-hashes", "-r"]).arg(file.path());
                requirements = Some(file);
            }
        }
        // What else the user may have told pip about places does not go with --prefix.
        for name in ["PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV"] {
            command.env_remove(name);
        }
        command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("PIP_ROOT_USER_ACTION", "ignore");
        let status = command.stdout(io::stderr()).spawn().and_then(|mut child| wait(&mut child, INSTALLATION));
        drop(requirements);
        let failure = match status {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => format!("({status})"),
            Ok(None) => format!("within {} minutes", INSTALLATION.as_secs() / 60),
            Err(error) => {
                return Err(Error::new(ErrorKind::Environment, format!("starting {}: {error}", self.name())));
            }
        };
        let message = format!("{} could not install the driver {failure}", self.name());
        Err(Error::new(ErrorKind::Environment, message).with_remedy(
            "what pip said is above; without a network, or behind a mirror, set up pip's index (pip config) and repeat",
        ))
    }
}

/// The first program of that name in an absolute folder of `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let absolute: Vec<PathBuf> = env::split_paths(&folders).filter(|folder| folder.is_absolute()).collect();
    absolute.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A command that runs no code of the current folder and reads no input.
fn command(program: &Path, leading: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Of use to `pip3` and `pip` alone: `-I` ignores it.
    command.args(leading).env_remove("PYTHONPATH").env("PYTHONSAFEPATH", "1").stdin(Stdio::null());
    command
}

/// Waits for a process until a deadline, then kills it; none where it had to be killed.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}
