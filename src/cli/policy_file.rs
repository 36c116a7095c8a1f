//! Which `sycl-bundle.toml` holds, and on which day are its exceptions judged?

use super::global::Global;
use crate::bundle::aspect;
use crate::device::table::TargetTable;
use crate::error::{Error, ErrorKind, Result};
use crate::files::input::Input;
use crate::limits;
use crate::policy::text::{Date, day_at};
use crate::policy::{AppliedPolicy, Policy};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file that is looked for in the working directory and in those above it.
const NAME: &str = "sycl-bundle.toml";
/// Names a policy where no flag does.
const VARIABLE: &str = "SYCL_BUNDLE_CONFIG";

/// The file, read.
pub(crate) struct PolicyFile {
    /// As messages name it.
    pub(crate) name: String,
    text: String,
    /// Whether nobody named it: it was found.
    pub(crate) found: bool,
}

impl PolicyFile {
    /// The file that a flag names, else SYCL_BUNDLE_CONFIG, else the nearest here or above; none where there is none.
    ///
    /// # Errors
    /// `Io` and `Input` where one that is named cannot be read.
    pub(crate) fn open(named: Option<&Path>) -> Result<Option<PolicyFile>> {
        let set = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (path, found) = match named.map(Path::to_path_buf).or_else(set) {
            Some(path) => (path, false),
            None => match nearest()? {
                Some(path) => (path, true),
                None => return Ok(None),
            },
        };
        let name = path.display().to_string();
        let text = Input::read_text(&path, limits::MAX_CONFIG)?;
        Ok(Some(PolicyFile { name, text, found }))
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Says that it was found.
    pub(crate) fn announce(&self, global: &Global) {
        if self.found {
            global.note(&format!("policy: {}", self.name));
        }
    }

    /// Unwraps what was read of the file; of several errors all but the last are reported here.
    ///
    /// # Errors
    /// The last thing that is wrong with it.
    pub(crate) fn read<T>(&self, global: &Global, read: Result<T, Vec<Error>>) -> Result<T> {
        read.map_err(|mut errors| {
            let last = errors.pop();
            for error in &errors {
                global.error(error);
            }
            last.unwrap_or_else(|| Error::input(format!("{}: no policy", self.name)))
        })
    }
}

/// The nearest file of the name, here or above, as a path from here.
///
/// # Errors
/// `Io` where something of the name is there, or may be, and is no file that can be read: a gate would pass without its policy.
fn nearest() -> Result<Option<PathBuf>> {
    let Ok(here) = std::env::current_dir() else { return Ok(None) };
    let mut path = PathBuf::from(NAME);
    for folder in here.ancestors() {
        let place = folder.join(NAME);
        let remedy = "remove it, name another by --policy, or go without by --no-policy";
        let failed = |error: io::Error| {
            let error = Error::io("cannot look for a policy", &error);
            error.context(place.display().to_string()).with_remedy(remedy)
        };
        match place.symlink_metadata().and_then(|_| place.metadata()) {
            Ok(about) if about.is_file() => return Ok(Some(path)),
            Ok(_) => return Err(failed(io::Error::other("it is no plain file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && place.symlink_metadata().is_err() => {}
            Err(error) => return Err(failed(error)),
        }
        path = Path::new("..").join(path);
    }
    Ok(None)
}

/// The day on which things are judged, in seconds since 1970, as reproducible builds set it.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The choice of a policy.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    policy: Option<PathBuf>,
    /// Hold the files to no policy
    #[arg(long)]
    no_policy: bool,
}

impl PolicyArgs {
    /// Whether it is said which policy holds, or that none does.
    pub(crate) fn said(&self) -> bool {
        self.policy.is_some() || self.no_policy
    }

    /// The policy and the day; none where there is no policy.
    ///
    /// # Errors
    /// `Usage` where SOURCE_DATE_EPOCH is wrong; the last thing that is wrong with the policy, with its place, after those
    /// before it have been said.
    pub(crate) fn load(&self, global: &Global, targets: &TargetTable) -> Result<Option<AppliedPolicy>> {
        if self.no_policy {
            return Ok(None);
        }
        let Some(file) = PolicyFile::open(self.policy.as_deref())? else { return Ok(None) };
        let text = file.text();
        let aspects: Vec<&str> = aspect::names().collect();
        let policy = file.read(global, Policy::read(&file.name, text, targets, &aspects))?;
        // One that only says how to build demands nothing.
        if policy.other.is_none() && file.found {
            return Ok(None);
        }
        file.announce(global);
        let today = if policy.exceptions.is_empty() { None } else { Some(today()?) };
        Ok(Some(AppliedPolicy { policy, today }))
    }
}

/// The day on which exceptions are judged: that of SOURCE_DATE_EPOCH, so that an old release is judged as it was, else
/// today's in UTC.
///
/// # Errors
/// `Usage` where the variable holds no number of seconds.
fn today() -> Result<Date> {
    let seconds = match std::env::var(EPOCH).ok().filter(|value| !value.is_empty()) {
        Some(text) => {
            let wrong = || Error::new(ErrorKind::Usage, format!("{EPOCH} is `{text}`, which is no number of seconds"));
            text.trim().parse::<u64>().map_err(|_| wrong())?
        }
        None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
    };
    day_at(seconds).ok_or_else(|| Error::new(ErrorKind::Usage, format!("{EPOCH} is after the year 9999")))
}
