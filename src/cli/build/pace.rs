//! How much at once, how far, and for which part?

use crate::cli::cache::size;
use std::time::Duration;
use sycl_bundle::error::{Error, ErrorKind, Result};

/// Limits of a build.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub struct PaceArgs {
    /// Begin no further image once one did not build, and write nothing; by default all others are compiled
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    /// Compile all others where an image does not build: the default, which undoes --fail-fast
    #[arg(long, overrides_with = "fail_fast")]
    keep_going: bool,
    /// The number of further attempts after one that ended the driver's process; by default 2. A repeated command tries
    /// failed images again
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// Compile only so much at once that all workers together stay within this much memory (16GiB), by an estimate from
    /// the modules' sizes; a module that needs more is compiled alone
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Compile into the cache and write no output
    #[arg(long, conflicts_with_all = ["no_cache", "shard", "depend", "file", "dry_run"])]
    pub cache_only: bool,
    /// With --cache-only: this image for this target alone, as `plan` writes it (12:intel_gpu_pvc)
    #[arg(long, value_name = "N:TARGET", requires = "cache_only", value_parser = Only::parse)]
    pub unit: Option<Only>,
}

impl PaceArgs {
    /// The part of the work that this run compiles into the cache: all of it, where no shard is asked for.
    pub fn shard(&self) -> Option<Shard> {
        self.cache_only.then_some(Shard { index: 0, count: 1 })
    }
}

/// One image for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// The image, as the user knows it.
    pub image: usize,
    /// The name of the target.
    pub target: String,
}

impl Only {
    /// `N:TARGET`.
    ///
    /// # Errors
    /// A sentence for clap.
    pub fn parse(text: &str) -> Result<Only, String> {
        let parts = text.split_once(':').and_then(|(image, target)| Some((image.parse().ok()?, target)));
        match parts {
            Some((image, target)) if !target.is_empty() => Ok(Only { image, target: target.to_owned() }),
            _ => Err("an image's number and a target: 12:intel_gpu_pvc".to_owned()),
        }
    }

    /// The error where there is nothing to compile for it.
    pub fn missing(&self) -> Error {
        let message = format!("image {} is not compiled for {}", self.image, self.target);
        Error::new(ErrorKind::Usage, message).with_remedy("write the plan again: the input or the options changed")
    }
}

/// A time that is not nothing.
///
/// # Errors
/// A sentence for clap.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let parsed = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| "a number of seconds greater than 0".to_owned())
}

/// One of several parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// Number of parts.
    pub count: u32,
}

impl Shard {
    /// `I/N`, I from 1 to N.
    ///
    /// # Errors
    /// A sentence for clap.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index @ 1.., count)) if index <= count => Ok(Shard { index: index - 1, count }),
            _ => Err("the number of a part and of all parts: 1/4 to 4/4".to_owned()),
        }
    }
}
