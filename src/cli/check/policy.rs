//! Which policy holds, and which day is it?

use super::super::exit::report;
use super::super::global::Global;
use super::super::input::Input;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use sycl_bundle::bundle::aspect;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::policy::Policy;
use sycl_bundle::policy::date::Date;

/// The file that is looked for in the working directory and in those above it.
const NAME: &str = "sycl-bundle.toml";
/// Names a policy where no flag does.
const VARIABLE: &str = "SYCL_BUNDLE_CONFIG";
/// The day on which things are judged, in seconds since 1970, as reproducible builds set it.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Which policy holds.
#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    /// Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_policy", "declared", "fixed_targets", "external"])]
    policy: Option<PathBuf>,
    /// Hold the files to no policy
    #[arg(long)]
    no_policy: bool,
    /// Print a policy that uses every key, and end
    #[arg(long)]
    pub example_policy: bool,
}

impl PolicyArgs {
    /// The policy; none where there is none.
    ///
    /// # Errors
    /// The last thing that is wrong with it, with its place, after those before it have been said.
    pub fn load(&self, global: &Global, targets: &TargetTable) -> Result<Option<Policy>> {
        if self.no_policy {
            return Ok(None);
        }
        let set = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = match self.policy.clone().or_else(set) {
            Some(path) => path,
            None => match found() {
                Some(path) => {
                    global.note(&format!("policy: {}", path.display()));
                    path
                }
                None => return Ok(None),
            },
        };
        let name = path.display().to_string();
        let input = Input::open(&path).map_err(|error| error.context(name.clone()))?;
        let text = std::str::from_utf8(input.bytes()).map_err(|error| {
            let at = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
            Error::at(at, "no UTF-8 text").context(name.clone())
        })?;
        let aspects: Vec<&str> = aspect::names().collect();
        match Policy::read(&name, text, targets, &aspects) {
            Ok(policy) => Ok(Some(policy)),
            Err(mut errors) => {
                let last = errors.pop();
                for error in &errors {
                    report(global, error);
                }
                Err(last.unwrap_or_else(|| Error::input(format!("{name}: no policy"))))
            }
        }
    }
}

/// The nearest file of the name, here or above, as a path from here.
fn found() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut path = PathBuf::from(NAME);
    for folder in here.ancestors() {
        if folder.join(NAME).is_file() {
            return Some(path);
        }
        path = Path::new("..").join(path);
    }
    None
}

/// The day on which exceptions are judged: that of SOURCE_DATE_EPOCH, so that an old release is judged as it was, else
/// today's in UTC.
///
/// # Errors
/// `Usage` where the variable holds no number of seconds.
pub fn today() -> Result<Date> {
    let seconds = match std::env::var(EPOCH).ok().filter(|value| !value.is_empty()) {
        Some(text) => {
            let wrong = || Error::new(ErrorKind::Usage, format!("{EPOCH} is `{text}`, which is no number of seconds"));
            text.trim().parse::<u64>().map_err(|_| wrong())?
        }
        None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
    };
    Date::of_unix_time(seconds).ok_or_else(|| Error::new(ErrorKind::Usage, format!("{EPOCH} is after the year 9999")))
}
