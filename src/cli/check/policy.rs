//! Which policy holds, and which day is it?

use super::super::global::Global;
use super::super::policy_file::PolicyFile;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use sycl_bundle::bundle::aspect;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Error, ErrorKind, Result};
pub use sycl_bundle::policy::AppliedPolicy;
use sycl_bundle::policy::Policy;
use sycl_bundle::policy::date::Date;

/// The day on which things are judged, in seconds since 1970, as reproducible builds set it.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The choice of a policy.
#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    /// Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    policy: Option<PathBuf>,
    /// Hold the files to no policy
    #[arg(long)]
    no_policy: bool,
}

impl PolicyArgs {
    /// Whether it is said which policy holds, or that none does.
    pub fn said(&self) -> bool {
        self.policy.is_some() || self.no_policy
    }

    /// The policy and the day; none where there is no policy.
    ///
    /// # Errors
    /// `Usage` where SOURCE_DATE_EPOCH is wrong; the last thing that is wrong with the policy, with its place, after those
    /// before it have been said.
    pub fn load(&self, global: &Global, targets: &TargetTable) -> Result<Option<AppliedPolicy>> {
        if self.no_policy {
            return Ok(None);
        }
        let Some(file) = PolicyFile::open(self.policy.as_deref())? else { return Ok(None) };
        let text = file.text()?;
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
    Date::from_unix_time(seconds).ok_or_else(|| Error::new(ErrorKind::Usage, format!("{EPOCH} is after the year 9999")))
}
