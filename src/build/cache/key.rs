//! What does a compiled module depend on?

use super::super::fold::{Folding, Name, blanked};
use super::super::{Job, Step};
use super::Cache;
use crate::error::{Error, Result};
use crate::rewrite::native_name::{Identity, rename_kernel};
use std::path::Path;

/// Contexts of the two kinds of keys, part of what is digested. Change them with what the tool asks of a compiler for the same module.
const EXACT: &str = "sycl-bundle 2026-11 compiled module, bindful";
const SHARED: &str = "sycl-bundle 2026-11 compiled module under any name of its kernel, bindful";

/// The compiler, as far as its results depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compiler {
    /// The target that it compiles for (`spir64_x86_64`).
    pub target: String,
    /// The instruction set or device.
    pub architecture: String,
    /// Platform, device and driver with their versions, as the driver tells them.
    pub identity: Vec<String>,
    /// Variables that the driver reads, with their values.
    pub environment: Vec<(String, String)>,
}

/// A digest of a compiler's file, for [`Compiler::identity`]: its contents, so that it is the same on every machine.
///
/// # Errors
/// What reading it fails with.
pub fn fingerprint(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new_derive_key("sycl-bundle 2026-11 compiler file");
    let failed = |error| Error::io(format!("reading `{}`", path.display()), &error);
    let mut file = std::fs::File::open(path).map_err(failed)?;
    std::io::copy(&mut file, &mut hasher).map_err(failed)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(format!("{name} {}", hasher.finalize().to_hex()))
}

/// A digest of a module, its options and its compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub(super) [u8; 32]);

impl Key {
    /// The key of a job.
    ///
    /// The module counts as it is, its names too: the binary holds those of kernels, and the driver may put the others
    /// into its tables.
    pub fn for_job(compiler: &Compiler, job: &Job<'_>) -> Key {
        Key::with(EXACT, compiler, job, |field| field(&job.il))
    }

    /// The key of what all jobs share that are the same code but for the name of their kernel: of its name count the
    /// length and the end. The binary is kept under [`native_name::shared_name`] and renamed for whom it is. No key of
    /// [`Key::for_job`] is one of these, so entries of the two kinds are never taken for each other.
    ///
    /// [`native_name::shared_name`]: crate::rewrite::native_name::shared_name
    pub fn shared(compiler: &Compiler, job: &Job<'_>, name: &Name) -> Key {
        Key::with(SHARED, compiler, job, |field| {
            field(&(name.at as u64).to_le_bytes());
            field(&(name.text.len() as u64).to_le_bytes());
            blanked(&job.il, name).into_iter().for_each(field);
        })
    }

    fn with(context: &str, compiler: &Compiler, job: &Job<'_>, module: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Key {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        // Each field with its length, so that none can be taken for the end of another.
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(compiler.target.as_bytes());
        field(compiler.architecture.as_bytes());
        field(&(compiler.identity.len() as u64).to_le_bytes());
        compiler.identity.iter().for_each(|text| field(text.as_bytes()));
        field(&(compiler.environment.len() as u64).to_le_bytes());
        for (name, value) in &compiler.environment {
            field(name.as_bytes());
            field(value.as_bytes());
        }
        field(job.compile_options.as_bytes());
        field(job.link_options.as_bytes());
        module(&mut field);
        // The key of a build ends here, as it did before there were other steps.
        match &job.step {
            // For which GPU is the compiler's architecture.
            Step::Build | Step::Offline(_) => {}
            Step::Compile => field(b"compile"),
            Step::Link(others) => {
                field(b"link");
                others.iter().for_each(|other| field(other));
            }
        }
        Key(*hasher.finalize().as_bytes())
    }

    /// The key in hexadecimal digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Returns the shard, out of `count`, that the key falls to; the same on every machine.
    pub fn shard(&self, count: u32) -> u32 {
        let first = self.0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        u32::try_from(first % u64::from(count.max(1))).unwrap_or(0)
    }
}

/// The keys of one module.
#[derive(Debug, Clone)]
pub struct Keys {
    exact: Key,
    shared: Option<Shared>,
}

/// An entry for all modules that are the same code.
#[derive(Debug, Clone)]
struct Shared {
    key: Key,
    /// The module's kernel, and that of the entry.
    own: Identity,
    common: Identity,
}

impl Keys {
    /// Computes the keys of a job; `folding` knows whether the kernel's name counts.
    pub fn for_job(compiler: &Compiler, job: &Job<'_>, folding: &Folding) -> Keys {
        let shared = |name: &Name| {
            let [own, common] = name.identities(&job.il);
            Shared { key: Key::shared(compiler, job, name), own, common }
        };
        Keys { exact: Key::for_job(compiler, job), shared: folding.name(job.unit()).map(shared) }
    }

    /// The key that tells modules apart that are compiled apart.
    pub fn first(&self) -> &Key {
        self.shared.as_ref().map_or(&self.exact, |shared| &shared.key)
    }

    /// The module's binary, under its own name.
    pub fn get(&self, cache: &Cache) -> Option<Vec<u8>> {
        let renamed = |shared: &Shared| rename_kernel(&cache.get(&shared.key)?, &shared.common, &shared.own).ok();
        self.shared.as_ref().and_then(renamed).or_else(|| cache.get(&self.exact))
    }

    /// Keeps the module's binary, under the common name where that can be.
    ///
    /// # Errors
    /// As [`Cache::put`].
    pub fn put(&self, cache: &Cache, binary: &[u8]) -> Result<()> {
        let renamed = |shared: &Shared| Some((shared.key, rename_kernel(binary, &shared.own, &shared.common).ok()?));
        match self.shared.as_ref().and_then(renamed) {
            Some((key, binary)) => cache.put(&key, &binary),
            None => cache.put(&self.exact, binary),
        }
    }
}
