//! Intel's OpenCL CPU driver: where is the one installed for this user, and how does it get there?
//!
//! It comes from PyPI by the user's own pip, into `$XDG_DATA_HOME/sycl-bundle/driver/VERSION` (`~/.local/share` where
//! that is unset). The file `current` beside the versions names the one in use; it is written last, so half an
//! installation is never used. What the user has set up for OpenCL goes first.
//!
//! Facts of the packages, versions 2025.3.1 and 2026.2.0:
//! - The wheels carry the libraries as data below `lib/`. `pip install --target` loses these without a word, `--prefix`
//!   keeps them; Debian's pip puts them into `local/lib`.
//! - `intel-opencl-rt` needs libimf, libsvml, libirng and libintlc of `intel-cmplr-lib-rt` and does not say so.
//! - Neither the loader, `libOpenCL.so.1`, nor the driver finds its siblings by itself: they need `LD_LIBRARY_PATH`.
//! - The `.icd` files of the wheel name a path that exists nowhere.
//!
//! Python runs isolated (`-I`), by its absolute path and in `/`: a `pip.py` in the folder that happens to be the current one, a
//! `.python-version` there, a relative entry of `PATH` and `PYTHONPATH` are other people's code or choice.

use super::output::say;
use super::worker;
use crate::build::inventory;
use crate::build::programs::run_within;
use crate::build::worker::{LOADS, no_driver};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::plain_file;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, thread};

/// The version that is installed unless the user names another: the one the project is tested with.
pub(crate) const VERSION: &str = "2026.2.0";

/// Packages that the version applies to; the second brings the libraries that the first silently needs.
const PACKAGES: [&str; 2] = ["intel-opencl-rt", "intel-cmplr-lib-rt"];

/// [`VERSION`] with all that it needs, each package with the SHA-256 of its file for x86-64 Linux, in pip's own form.
const PINNED: &str = "\
intel-cmplr-lib-rt==2026.2.0 --hash=sha256:9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748
intel-cmplr-lic-rt==2026.2.0 --hash=sha256:402d9bc7fd418ab2df7a75b0545cf447bb52e02bedf4e3af0e7d5809b66d749d
intel-opencl-rt==2026.2.0 --hash=sha256:6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67
tbb==2023.2.0 --hash=sha256:7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c
tcmlib==1.6.0 --hash=sha256:46c2491988bfd18c4733eeb08aca6a386706a497b92cc51d155f37ddea003c14
";

const DRIVER: &str = "libintelocl.so";
const LOADER: &str = "libOpenCL.so.1";

/// Variables by which the user says which loader and drivers to use: one of them set, and ours stays out of it.
pub(crate) const CHOICES: [&str; 3] = ["OPENCL_DYLIB_PATH", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS"];

/// The prefix of folders in which an installation is under way, and the age from which its installation counts as killed.
const PARTIAL: &str = ".partial-";
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest that a driver may take to tell what it is; it can hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a text of an installation.
const MAX_TEXT: u64 = 1 << 20;

/// Variables for a process.
pub(crate) type Environment = Vec<(OsString, OsString)>;

/// The options of verbs that can install the driver.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct InstallArgs {
    /// Install Intel's OpenCL CPU driver from PyPI for this user where no driver is found
    #[arg(long)]
    pub(crate) install_driver: bool,
    /// The version of the driver to install
    #[arg(long, value_name = "VERSION", default_value = VERSION, requires = "install_driver")]
    pub(crate) driver_version: String,
    /// Take another version than the one whose files are known by their hashes, as pip's index gives it
    #[arg(long, requires = "install_driver")]
    pub(crate) trust_index: bool,
}

/// A driver installed by [`install`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// The version of `intel-opencl-rt`.
    pub(crate) version: String,
    /// The folder of the whole installation.
    pub(crate) dir: PathBuf,
    /// The folder of the libraries, somewhere below.
    pub(crate) lib: PathBuf,
}

impl Installed {
    /// An installation in a folder, where it is complete and nobody else's.
    fn in_dir(version: &str, dir: PathBuf) -> Option<Installed> {
        let lib =
            ["lib", "local/lib", "lib64"].iter().map(|sub| dir.join(sub)).find(|lib| lib.join(DRIVER).is_file())?;
        let libraries = [DRIVER, LOADER].map(|name| lib.join(name));
        let is_own = [&dir, &lib].into_iter().chain(&libraries).all(|path| plain_file::stranger(path).is_none());
        (is_own && lib.join(LOADER).is_file()).then(|| Installed { version: version.to_owned(), dir, lib })
    }

    /// Variables that make a process use this driver and no other.
    fn environment(&self) -> Environment {
        let mut search = self.lib.clone().into_os_string();
        if let Some(more) = env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
            search.push(":");
            search.push(more);
        }
        vec![
            ("OPENCL_DYLIB_PATH".into(), self.lib.join(LOADER).into()),
            ("OCL_ICD_FILENAMES".into(), self.lib.join(DRIVER).into()),
            // A folder without .icd files: other drivers on the machine are not even loaded.
            ("OCL_ICD_VENDORS".into(), self.lib.clone().into()),
            ("LD_LIBRARY_PATH".into(), search),
        ]
    }

    /// The licence's name, as the package's metadata tell it.
    pub(crate) fn licence(&self) -> Option<String> {
        let wanted = format!("intel_opencl_rt-{}.dist-info", self.version);
        let metadata = find(&self.lib, &wanted, 3)?.join("METADATA");
        let text = String::from_utf8(plain_file::read(&metadata, MAX_TEXT).ok()?).ok()?;
        text.lines().find_map(|line| line.strip_prefix("License: ")).map(str::to_owned)
    }
}

/// The driver installed for this user, if any. One that another user has left where this one's would be is told, and is none.
pub(crate) fn installed() -> Option<Installed> {
    static TOLD: Once = Once::new();
    let base = base()?;
    let current = base.join("current");
    if let Some(owner) = stranger_around(&base).or_else(|| plain_file::stranger(&current)) {
        TOLD.call_once(|| {
            say(&format!(
                "warning: the driver in `{}` belongs to another user ({owner}) and is not used: set XDG_DATA_HOME to a folder of yours",
                base.display()
            ));
        });
        return None;
    }
    let version = String::from_utf8(plain_file::read(&current, MAX_TEXT).ok()?).ok()?;
    let version = valid(version.trim()).ok()?;
    Installed::in_dir(version, base.join(version))
}

/// The other user who owns a folder or one around it: whoever may put another in its place is as good as its owner.
fn stranger_around(folder: &Path) -> Option<u32> {
    let of_all = fs::metadata("/").map(|top| top.uid()).ok();
    folder.ancestors().find_map(|folder| plain_file::stranger(folder).filter(|owner| Some(*owner) != of_all))
}

/// The variables of [`CHOICES`] that are set.
pub(crate) fn chosen() -> Vec<&'static str> {
    CHOICES.into_iter().filter(|name| env::var_os(name).is_some()).collect()
}

/// Variables that worker processes need beside this process's environment.
pub(crate) fn environment() -> Environment {
    if !chosen().is_empty() {
        return Vec::new();
    }
    installed().map(|driver| driver.environment()).unwrap_or_default()
}

/// Installs a version and makes it the one in use. Talks on standard error, as pip does.
///
/// # Errors
/// `Usage` for a version that is not pinned, unless the index is trusted; `Environment` where this build could not load it;
/// else what pip, the folder or the driver fail with.
fn install(version: &str, trust_index: bool) -> Result<Installed> {
    let version = valid(version)?;
    if version != VERSION && !trust_index {
        let message = format!("the files of driver {version} are not known by their hashes; those of {VERSION} are");
        let remedy = "leave --driver-version out, or add --trust-index to take what pip's index gives";
        return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
    }
    if !LOADS {
        return Err(no_driver().context("installing the driver"));
    }
    let base = base().ok_or_else(|| {
        let remedy = "set XDG_DATA_HOME or HOME to a folder of yours";
        Error::new(ErrorKind::Environment, "there is no folder to install the driver into").with_remedy(remedy)
    })?;
    if let Some(owner) = stranger_around(&base) {
        let message = format!("`{}` belongs to another user ({owner})", base.display());
        return Err(Error::new(ErrorKind::Environment, message).with_remedy("set XDG_DATA_HOME to a folder of yours"));
    }
    let chosen = chosen();
    if !chosen.is_empty() {
        say(&format!("warning: the driver will not be used while {} is set", chosen.join(" or ")));
    }
    let place = base.join(version);
    let driver = match Installed::in_dir(version, place.clone()) {
        Some(driver) => driver,
        None => fetch(version, trust_index, &base, place)?,
    };
    let mut current = tempfile::NamedTempFile::new_in(&base).map_err(|error| io("writing to", &base, &error))?;
    writeln!(current, "{version}").map_err(|error| io("writing to", &base, &error))?;
    current.persist(base.join("current")).map_err(|error| io("writing to", &base, &error.error))?;

    let licence = driver.licence().unwrap_or_else(|| "not stated in its metadata".to_owned());
    say(&format!("Intel OpenCL CPU driver {version} is in {}", driver.dir.display()));
    say(&format!("Its licence: {licence}"));
    Ok(driver)
}

impl InstallArgs {
    /// Installs the driver if `--install-driver` was given and none is found.
    ///
    /// # Errors
    /// `Environment` where the user has chosen a driver that does not work, since one installed would not be used; and
    /// what [`install`] fails with.
    // Not for `doctor`, where the option is an order.
    pub(crate) fn apply(&self) -> Result<()> {
        if !self.install_driver || works(environment())? {
            return Ok(());
        }
        let chosen = chosen();
        if LOADS && !chosen.is_empty() {
            let set = chosen.join(" or ");
            let message = format!("no driver works, and an installed one would not be used while {set} is set");
            let error = Error::new(ErrorKind::Environment, message);
            return Err(error.with_remedy(format!("unset {}", chosen.join(" "))));
        }
        self.install().map(drop)
    }

    /// Installs the version asked for, whatever is there.
    ///
    /// # Errors
    /// As [`install`].
    pub(crate) fn install(&self) -> Result<Installed> {
        install(&self.driver_version, self.trust_index)
    }
}

/// Whether there is a device that compiles for `spir64_x86_64`.
fn works(environment: Environment) -> Result<bool> {
    match inventory(&worker::launch_with(environment, None)?, PATIENCE) {
        Ok(seen) => Ok(seen.devices.iter().any(|device| device.compiles)),
        Err(error) if error.kind() == ErrorKind::Environment => Ok(false),
        Err(error) => Err(error),
    }
}

/// Has pip put a version beside its place, tries it, and moves it there.
fn fetch(version: &str, trust_index: bool, base: &Path, place: PathBuf) -> Result<Installed> {
    let pip = Pip::find()?;
    fs::create_dir_all(base).map_err(|error| io("making", base, &error))?;
    sweep(base, SystemTime::now());
    // Removed when dropped, so also after a failure.
    let staging = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(base);
    let staging = staging.map_err(|error| io("making a folder in", base, &error))?;
    say(&format!("Installing {} {version} from PyPI with {} ...", PACKAGES.join(" and "), pip.name()));
    let trusted = PACKAGES.map(|package| format!("{package}=={version}"));
    let packages =
        if trust_index && version != VERSION { Packages::Trusted(&trusted) } else { Packages::Pinned(PINNED) };
    pip.install(&packages, staging.path())?;

    let staged = Installed::in_dir(version, staging.path().to_owned()).ok_or_else(|| {
        let message = format!("pip installed {version}, but no {DRIVER} and {LOADER} came with it");
        Error::new(ErrorKind::Environment, message).with_remedy("try another --driver-version")
    })?;
    let launch = worker::launch_with(staged.environment(), None)?;
    let seen = inventory(&launch, PATIENCE).context(|| "trying the new driver".to_owned())?;
    if !seen.devices.iter().any(|device| device.compiles) {
        let message = "the new driver loads but offers no CPU device on this machine";
        return Err(Error::new(ErrorKind::Environment, message));
    }

    // A folder that is there now is incomplete, or another process has just put it there.
    if let Some(driver) = Installed::in_dir(version, place.clone()) {
        return Ok(driver);
    }
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| io("removing", &place, &error))?;
    }
    fs::rename(staging.path(), &place).map_err(|error| io("moving the driver to", &place, &error))?;
    Installed::in_dir(version, place)
        .ok_or_else(|| Error::new(ErrorKind::Environment, "the driver vanished while it was being installed"))
}

/// Removes what killed installations left. One that cannot be removed is no reason not to install.
fn sweep(base: &Path, now: SystemTime) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let partial = entry.file_name().to_str().is_some_and(|name| name.starts_with(PARTIAL));
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        if partial && age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The folder of installed drivers. Relative paths in the variable count as unset (XDG Base Directory).
fn base() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("sycl-bundle/driver"))
}

/// A version that is safe as a folder's name and as pip's argument.
fn valid(version: &str) -> Result<&str> {
    let plain = version.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
    if plain && version.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(version);
    }
    let error = Error::new(ErrorKind::Usage, format!("`{version}` is no version of the driver"));
    Err(error.with_remedy(format!("versions look like {VERSION}")))
}

/// A folder by name, a few levels down.
fn find(dir: &Path, name: &str, depth: u32) -> Option<PathBuf> {
    let direct = dir.join(name);
    if direct.is_dir() {
        return Some(direct);
    }
    let depth = depth.checked_sub(1)?;
    let below = fs::read_dir(dir).ok()?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    below.filter(|path| path.is_dir()).find_map(|path| find(&path, name, depth))
}

/// A failure of the system that leaves the machine without the driver, which is more to the point than its kind.
fn io(doing: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Environment, format!("{doing} {}: {error}", path.display()))
        .with_remedy("the driver takes 800 MB below XDG_DATA_HOME, or below .local/share in HOME")
}

/// A way to call pip that answered when asked for its version.
pub(crate) struct Pip {
    program: PathBuf,
    leading: &'static [&'static str],
    version: String,
}

/// Packages to install: as requirements, each with the hash of its file, or by name from whatever the index gives.
pub(crate) enum Packages<'a> {
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
    pub(crate) fn find() -> Result<Pip> {
        let tried = |(name, leading): (&str, &'static [&'static str])| {
            let program = in_path(name)?;
            let ended = run_within(command(&program, leading).arg("--version"), ANSWER).ok()??;
            let version = String::from_utf8_lossy(&ended.stdout).lines().next().unwrap_or_default().trim().to_owned();
            ended.status.success().then_some(Pip { program, leading, version })
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
    pub(crate) fn name(&self) -> String {
        [&[&*self.program.to_string_lossy()], self.leading].concat().join(" ")
    }

    /// The version, as pip tells it.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Installs packages, with what they need, below a folder; nothing else on the machine changes. What pip says
    /// goes to standard error.
    pub(crate) fn install(&self, packages: &Packages<'_>, prefix: &Path) -> Result<()> {
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
                command.args(["--require-hashes", "-r"]).arg(std::path::absolute(file.path()).map_err(failed)?);
                requirements = Some(file);
            }
        }
        // Other places that the user may have named to pip do not go with --prefix.
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

/// A command that runs no code of the current folder, has no interpreter chosen by a file there (pyenv's `.python-version`), and
/// reads no input.
fn command(program: &Path, leading: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Of use to `pip3` and `pip` alone: `-I` ignores it.
    command.args(leading).env_remove("PYTHONPATH").env("PYTHONSAFEPATH", "1").stdin(Stdio::null());
    command.current_dir("/");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_another_user_left_is_no_driver() {
        let dir = tempfile::tempdir().unwrap();
        let lib = dir.path().join("lib");
        [DRIVER, LOADER].iter().for_each(|name| touch(&lib.join(name), ""));
        let find = || Installed::in_dir("1.2.3", dir.path().to_owned());
        assert!(find().is_some());
        for path in [lib.join(LOADER), lib.join(DRIVER), lib.clone(), dir.path().to_owned()] {
            // Only root gives files away.
            if std::os::unix::fs::chown(&path, Some(4242), None).is_ok() {
                assert_eq!(find(), None, "{}", path.display());
                std::os::unix::fs::chown(&path, Some(plain_file::user()), None).unwrap();
            }
        }
        assert!(find().is_some());
    }

    #[test]
    fn an_installation_is_found_wherever_pip_put_it_but_only_whole() {
        for sub in ["lib", "local/lib"] {
            let dir = tempfile::tempdir().unwrap();
            let lib = dir.path().join(sub);
            let find = || Installed::in_dir("1.2.3", dir.path().to_owned());
            touch(&lib.join(DRIVER), "");
            assert_eq!(find(), None, "a loader is needed too");
            touch(&lib.join(LOADER), "");
            let driver = find().unwrap();
            assert_eq!(driver.lib, lib);
            assert_eq!(driver.licence(), None);
            let metadata = lib.join("python3.11/site-packages/intel_opencl_rt-1.2.3.dist-info/METADATA");
            touch(&metadata, "Name: intel-opencl-rt\nLicense: Some Licence\n");
            assert_eq!(driver.licence().as_deref(), Some("Some Licence"));

            let environment = driver.environment();
            let value = |name: &str| environment.iter().find(|(known, _)| known == name).unwrap().1.clone();
            assert_eq!(value("OPENCL_DYLIB_PATH"), lib.join(LOADER));
            assert_eq!(value("OCL_ICD_FILENAMES"), lib.join(DRIVER));
            assert!(value("LD_LIBRARY_PATH").to_str().unwrap().starts_with(lib.to_str().unwrap()));
            assert!(CHOICES.iter().all(|name| !value(name).is_empty()));
        }
    }

    #[test]
    fn what_killed_installations_left_is_removed_after_a_day() {
        let base = tempfile::tempdir().unwrap();
        touch(&base.path().join(".partial-abc/lib/part"), "");
        touch(&base.path().join("1.2.3/lib/whole"), "");
        let count = || fs::read_dir(base.path()).unwrap().count();
        sweep(base.path(), SystemTime::now());
        assert_eq!(count(), 2, "it may be under way");
        sweep(base.path(), SystemTime::now() + STALE * 2);
        assert_eq!(count(), 1);
        assert!(base.path().join("1.2.3/lib/whole").exists());
    }

    #[test]
    fn every_package_of_the_pinned_driver_has_its_hash() {
        let lines: Vec<&str> = PINNED.lines().collect();
        assert!(lines.iter().all(|line| line.split_once(" --hash=sha256:").is_some_and(|(_, hash)| hash.len() == 64)));
        for package in PACKAGES {
            assert!(lines.iter().any(|line| line.starts_with(&format!("{package}=={VERSION} "))), "{package}");
        }
        let error = install("2025.3.1", false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.remedy().unwrap().contains("--trust-index"));
    }

    #[test]
    fn a_version_without_hashes_is_refused_unless_the_index_is_trusted() {
        let error = install("2024.1.0", false).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains("2024.1.0 are not known by their hashes"), "{}", error.message());
    }

    #[test]
    fn a_version_is_no_path_and_no_option() {
        assert_eq!(valid(VERSION).unwrap(), VERSION);
        for bad in ["", "../x", "..", "-r", "1.0/2", "1 2", ".1"] {
            assert_eq!(valid(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }
}
