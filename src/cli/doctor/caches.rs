//! Where is compiled code kept: by `build`, and by the SYCL runtime?
//!
//! The runtime's variables are those of DPC++ (`sycl/doc/EnvironmentVariables.md`): `SYCL_CACHE_PERSISTENT=1` turns its cache
//! on, which lies in `SYCL_CACHE_DIR`, else in `libsycl_cache` below `XDG_CACHE_HOME` or below `.cache` in `HOME`; with none
//! of them it stays off without a word.

use crate::cli::cache;
use std::env;
use std::path::PathBuf;
use sycl_bundle::report::doctor::{BuildCache, Caches, RuntimeCache, Trouble};

/// The caches, and what is wrong with them.
pub fn find() -> (Caches, Vec<Trouble>) {
    let mut problems = Vec::new();
    let build = cache::cache(true).and_then(|cache| match cache.stats() {
        Ok(stats) => {
            let folder = cache.folder().display().to_string();
            Some(BuildCache { folder, entries: stats.entries, bytes: stats.bytes })
        }
        Err(error) => {
            problems.push(Trouble::from(&error));
            None
        }
    });
    problems.extend(cache::limit().err().map(|error| Trouble::from(&error)));
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("SYCL_CACHE_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("libsycl_cache")))
        .or_else(|| Some(set("HOME")?.join(".cache/libsycl_cache")));
    let runtime = runtime(set("SYCL_CACHE_PERSISTENT").is_some_and(|value| value.as_os_str() != "0"), folder);
    if runtime.persistent && runtime.folder.is_none() {
        let message = "SYCL_CACHE_PERSISTENT is set, and the SYCL runtime keeps nothing: it knows no folder";
        problems.push(Trouble::new(message, "set SYCL_CACHE_DIR to a folder"));
    }
    if set("SYCL_CACHE_DISABLE_PERSISTENT").is_some() {
        let message = "SYCL_CACHE_DISABLE_PERSISTENT has no effect any more";
        problems.push(Trouble::new(message, "set SYCL_CACHE_PERSISTENT=0 instead"));
    }
    (Caches { build, runtime }, problems)
}

fn runtime(persistent: bool, folder: Option<PathBuf>) -> RuntimeCache {
    RuntimeCache { persistent, folder: folder.map(|folder| folder.display().to_string()) }
}
