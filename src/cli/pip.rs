//! The user's pip: is there one, and what does it install where?

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use sycl_bundle::error::{Error, ErrorKind, Result};

/// A way to call pip that answered when asked for its version.
pub struct Pip {
    program: &'static str,
    leading: &'static [&'static str],
    version: String,
}

/// What is tried, in this order.
const WAYS: [(&str, &[&str]); 4] =
    [("python3", &["-m", "pip"]), ("python", &["-m", "pip"]), ("pip3", &[]), ("pip", &[])];

impl Pip {
    /// The first that works.
    pub fn find() -> Result<Pip> {
        let tried = |(program, leading): (&'static str, &'static [&'static str])| {
            let answer = Command::new(program).args(leading).arg("--version").stdin(Stdio::null()).output().ok()?;
            let version = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            answer.status.success().then_some(Pip { program, leading, version })
        };
        WAYS.into_iter().find_map(tried).ok_or_else(|| {
            Error::new(ErrorKind::Environment, "found no pip to install the driver with (tried python3 -m pip, pip3)")
                .with_remedy("install Python 3 with pip (Debian: apt install python3-pip), and have it in PATH")
        })
    }

    /// The command, as one would type it.
    pub fn name(&self) -> String {
        [&[self.program], self.leading].concat().join(" ")
    }

    /// What it says of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Installs packages, with what they need, below a folder; nothing else on the machine changes. What pip says
    /// goes to standard error.
    pub fn install(&self, packages: &[String], prefix: &Path) -> Result<()> {
        let mut command = Command::new(self.program);
        command.args(self.leading).args(["install", "--no-input", "--disable-pip-version-check", "--quiet"]);
        // A copy elsewhere on the machine is no copy in this folder; and nothing is to be built from source.
        command.args(["--ignore-installed", "--no-compile", "--no-warn-script-location", "--only-binary", ":all:"]);
        command.arg("--prefix").arg(prefix).args(packages);
        // What else the user may have told pip about places does not go with --prefix.
        for name in ["PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV"] {
            command.env_remove(name);
        }
        command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("PIP_ROOT_USER_ACTION", "ignore");
        let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
        let status =
            status.map_err(|error| Error::new(ErrorKind::Environment, format!("starting {}: {error}", self.name())))?;
        if status.success() {
            return Ok(());
        }
        let message = format!("{} could not install {} ({status})", self.name(), packages.join(" "));
        Err(Error::new(ErrorKind::Environment, message).with_remedy(
            "what pip said is above; without a network, or behind a mirror, set up pip's index (pip config) and repeat",
        ))
    }
}
