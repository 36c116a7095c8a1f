//! `cache`: what does the cache of compiled modules hold, and what has to go?
//!
//! Also: where is it?

use super::global::Global;
use super::output::{self, Output, forms};
use crate::build::cache::Cache;
use crate::bytes;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::plain_file;
use crate::report::cache::{self as page, Cached, Size};
use crate::report::document::Form;
use std::path::PathBuf;

/// The folder of the cache; empty for none.
const VARIABLE: &str = "SYCL_BUNDLE_CACHE_DIR";
/// The variable with the most bytes that a build leaves in the cache.
const LIMIT_VARIABLE: &str = "SYCL_BUNDLE_CACHE_LIMIT";
/// 4 GiB: all of dpnp's images, compiled for one instruction set, take 60 MB.
const LIMIT: u64 = 4 << 30;

const AFTER_HELP: &str = "\
`build` keeps every module that it compiles, named by a digest of the module, its options, the
target, the driver with its version, and the variables that the driver reads. A damaged entry is
found by its own digest and compiled anew. Several builds may use one folder at once, also over a
network; one that may not be written to is read.

The folder is $SYCL_BUNDLE_CACHE_DIR (empty: no cache), else $XDG_CACHE_HOME/sycl-bundle, else
~/.cache/sycl-bundle. Each build that added something removes the least recently used entries
beyond $SYCL_BUNDLE_CACHE_LIMIT (4GiB).

Examples:
  sycl-bundle cache stats
  sycl-bundle cache gc --limit 500MiB
  sycl-bundle cache verify
  sycl-bundle cache clear

Exit status:
  0  done; with verify, all entries are whole
  1  with verify, entries were damaged; they have been removed
  5  there is no cache, or it cannot be read or written";

/// Show, check, shrink or empty the cache of compiled modules
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The action to take
    #[arg(value_name = "ACTION", default_value = "stats")]
    action: Action,
    /// Bytes that `gc` leaves at most: 500MiB, 2GB, 0
    #[arg(long, value_name = "SIZE", value_parser = size)]
    limit: Option<u64>,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = forms(FORMS))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// Count the entries
    Stats,
    /// Remove the least recently used entries beyond the limit, and what killed builds left
    Gc,
    /// Remove all entries
    Clear,
    /// Read every entry and remove those that are damaged
    Verify,
}

/// The forms of the output.
const FORMS: [(Form, &str); 2] = [(Form::Text, "Lines for a person"), (Form::Json, "A document")];

/// A number of bytes for clap.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    bytes::parse_size(text).ok_or_else(|| bytes::SIZE_FORM.to_owned())
}

/// The cache, unless the user wants none, it has no place, or it is another user's, who would decide what is put into
/// binaries. `wanted` is false where the command line says so.
pub(crate) fn cache(wanted: bool) -> Option<Cache> {
    let folder = wanted.then(folder).flatten()?;
    if let Some(owner) = plain_file::stranger(&folder) {
        output::say(&format!(
            "warning: the cache `{}` belongs to another user ({owner}) and is not used: set {VARIABLE} to a folder of yours",
            folder.display()
        ));
        return None;
    }
    Some(Cache::new(folder))
}

/// The bytes that a build leaves at most.
///
/// # Errors
/// `Usage` for a variable that is no size.
pub(crate) fn limit() -> Result<u64> {
    match std::env::var(LIMIT_VARIABLE) {
        Ok(text) if !text.is_empty() => bytes::parse_size(&text).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("{LIMIT_VARIABLE}={text} is no size")).with_remedy(bytes::SIZE_FORM)
        }),
        _ => Ok(LIMIT),
    }
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if std::env::var_os(VARIABLE).is_some() {
        return set(VARIABLE);
    }
    let base = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(set("HOME").filter(|path| path.is_absolute())?.join(".cache")));
    Some(base?.join("sycl-bundle"))
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, _: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&page::schema());
        }
        if self.limit.is_some() && self.action != Action::Gc {
            return Err(Error::new(ErrorKind::Usage, "`--limit` is for `cache gc`"));
        }
        let none = |message: String| {
            Error::new(ErrorKind::Environment, message).with_remedy(format!("set {VARIABLE} to a folder"))
        };
        let cache = cache(true).ok_or_else(|| none("there is no cache: no folder for it is known".to_owned()))?;
        if cache.folder().exists() && !cache.folder().is_dir() {
            return Err(none(format!("`{}` is no folder, so there is no cache", cache.folder().display())));
        }
        let mut cached = Cached { folder: cache.folder().display().to_string(), ..Cached::default() };
        let mut exit = Exit::Done;
        let left = match self.action {
            Action::Stats => cache.stats()?,
            Action::Gc | Action::Clear => {
                let limit = self.limit.map_or_else(limit, Ok)?;
                let removed = if self.action == Action::Gc { cache.collect(limit)? } else { cache.clear()? };
                cached.removed = Some(Size { entries: removed.entries, bytes: removed.bytes });
                removed.left
            }
            Action::Verify => {
                let verified = cache.verify()?;
                if !verified.damaged.is_empty() {
                    exit = Exit::No;
                }
                cached.sound = verified.sound;
                cached.damaged = Some(verified.damaged.iter().map(|path| path.display().to_string()).collect());
                cache.stats()?
            }
        };
        cached.held = Size { entries: left.entries, bytes: left.bytes };
        cached.oldest_seconds = left.oldest_seconds;
        cached.limit = limit()?;
        out.put(self.format, &cached)?;
        Ok(exit)
    }
}
