//! Which `sycl-bundle.toml` holds, and on which day are its exceptions judged?

use super::global::Global;
use crate::bundle::aspect;
use crate::device::table::TargetTable;
use crate::error::{Error, ErrorKind, Result};
use crate::files::input::Input;
use crate::limits;
use crate::plain_file;
use crate::policy::text::{Date, day_at};
use crate::policy::{AppliedPolicy, Policy};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
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
    /// `Io` and `Input` where one that is named, or was found, cannot be read; `Input` where the one that was found is a stranger's.
    pub(crate) fn open(named: Option<&Path>) -> Result<Option<PolicyFile>> {
        let set = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (path, text, found) = match named.map(Path::to_path_buf).or_else(set) {
            Some(path) => {
                let text = Input::read_settings(&path, limits::MAX_CONFIG)?;
                (path, text, false)
            }
            None => {
                let Some((path, file)) = nearest()? else { return Ok(None) };
                let text = Input::read_text_of(&path, file, limits::MAX_CONFIG)?;
                Input::spare(&path);
                (path, text, true)
            }
        };
        Ok(Some(PolicyFile { name: path.display().to_string(), text, found }))
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

/// The nearest file of the name, here or above, open, and its path from here.
///
/// # Errors
/// `Io` where something of the name is there, or may be, and is no file that can be read: a gate would pass without its policy.
/// `Input` where it is a stranger's.
fn nearest() -> Result<Option<(PathBuf, File)>> {
    let remedy = "remove it, name one by --policy, or go without by --no-policy";
    let nowhere = |error: io::Error| {
        let error = Error::io("cannot look for a policy: where this folder is", &error);
        error.with_remedy("name one by --policy, or go without by --no-policy")
    };
    let here = std::env::current_dir().map_err(nowhere)?;
    let owner = Path::new(".").metadata().map_err(nowhere)?.uid();
    let mut path = PathBuf::from(NAME);
    for folder in here.ancestors() {
        let place = folder.join(NAME);
        let told = |error: Error| error.context(place.display().to_string()).with_remedy(remedy);
        let failed = |error: io::Error| told(Error::io("cannot look for a policy", &error));
        let itself = match place.symlink_metadata() {
            Ok(itself) => itself,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                path = Path::new("..").join(path);
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        let (file, metadata) = plain_file::open(&place).map_err(failed)?;
        let folder = folder.metadata().map_err(failed)?.uid();
        let stranger = [&itself, &metadata].into_iter().find(|found| !may_decide(found, &[owner, folder]));
        if let Some(stranger) = stranger {
            let text = format!(
                "this belongs to user {}, whose folder neither its own nor the current one is, and is not taken for your policy",
                stranger.uid()
            );
            return Err(told(
                Error::input(text).with_remedy("name it by --policy if you trust it, or go without by --no-policy"),
            ));
        }
        return Ok(Some((path, file)));
    }
    Ok(None)
}

/// Whether what was found counts. In a folder that all may write to, as `/tmp`, anybody leaves a policy for those who work below.
/// In a container files of the project belong to whoever owns its folders, and not to the user within.
fn may_decide(found: &Metadata, owners: &[u32]) -> bool {
    [plain_file::user(), 0].contains(&found.uid()) || owners.contains(&found.uid())
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
