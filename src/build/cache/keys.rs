//! Under which keys is a module's binary looked for and kept?
//!
//! One that may be called anything is looked for as what all modules of its code share, and then as itself: so it was
//! kept where the driver's result could not be renamed, and where nothing is folded.

use super::super::Job;
use super::super::fold::{Folding, Name};
use super::{Cache, Compiler, Key};
use crate::error::Result;
use crate::rewrite::native_name::{rename, shared_name};

/// The keys of one module.
#[derive(Debug, Clone)]
pub struct Keys {
    exact: Key,
    shared: Option<(Key, String)>,
}

impl Keys {
    /// Computes the keys of a job; `folding` knows whether the kernel's name counts.
    pub fn for_job(compiler: &Compiler, job: &Job<'_>, folding: &Folding) -> Keys {
        let shared = |name: &Name| (Key::shared(compiler, job, name), name.text.clone());
        Keys { exact: Key::for_job(compiler, job), shared: folding.name(job.unit()).map(shared) }
    }

    /// The key that tells modules apart that are compiled apart.
    pub fn first(&self) -> &Key {
        self.shared.as_ref().map_or(&self.exact, |(key, _)| key)
    }

    /// The module's binary, under its own name.
    pub fn get(&self, cache: &Cache) -> Option<Vec<u8>> {
        let shared =
            self.shared.as_ref().and_then(|(key, name)| rename(&cache.get(key)?, &shared_name(name), name).ok());
        shared.or_else(|| cache.get(&self.exact))
    }

    /// Keeps the module's binary, under the common name where that can be.
    ///
    /// # Errors
    /// As [`Cache::put`].
    pub fn put(&self, cache: &Cache, binary: &[u8]) -> Result<()> {
        let shared =
            self.shared.as_ref().and_then(|(key, name)| Some((key, rename(binary, name, &shared_name(name)).ok()?)));
        match shared {
            Some((key, binary)) => cache.put(key, &binary),
            None => cache.put(&self.exact, binary),
        }
    }
}
