//! Has this module been compiled before, by this compiler, with these options?
//!
//! A folder of files, one per compiled module, named by a digest of all that the result depends on. Nothing is
//! trusted: an entry holds its own key and the digest of its contents, and one that does not agree is removed and
//! counts as absent. Entries appear by renaming, so that any number of processes may share a folder, and one that is
//! killed leaves at most a temporary file, which [`Cache::collect`] removes. Reading an entry renews its time, by which
//! the oldest are removed first; where the folder is read-only that is left out.
//!
//! Whoever may write to the folder decides what is put into binaries: share one with nobody you would not let build
//! for you. A new folder is its owner's alone.

mod keep;
#[cfg(test)]
mod tests;

use super::fold::{Folding, Name, blanked};
use super::{Job, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::native_name::{Identity, rename_kernel};
pub use keep::{Removed, Stats, Verified};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of this form of entries, within the cache's own; another form will have another.
const FORM: &str = "v1";
/// Prefix of temporary files; no key begins so.
const TEMPORARY: &str = ".tmp-";
/// Only the owner may enter.
const MODE: u32 = 0o700;

/// A cache of device binaries.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// Returns the cache's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The binary of a key. An entry that is damaged is removed, where that is possible.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = self.entry(&path)?;
        let Some(binary) = read_entry(&bytes, key) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time says how long nobody wanted it; a cache that cannot be written to is not kept in order by us.
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(binary.to_vec())
    }

    /// Reads an entry: a plain file of the one whom the cache belongs to, or of root. Links, pipes and folders in its
    /// place count as absent.
    fn entry(&self, path: &Path) -> Option<Vec<u8>> {
        let owner = fs::metadata(&self.folder).ok()?.uid();
        let metadata = fs::symlink_metadata(path).ok()?;
        let of_owner = metadata.uid() == owner || metadata.uid() == 0;
        if !metadata.is_file() || !of_owner || !self.is_ours(path) {
            return None;
        }
        fs::read(path).ok()
    }

    /// Whether the folders between the cache's own and an entry are folders, and no links that lead elsewhere.
    fn is_ours(&self, path: &Path) -> bool {
        let form = self.folder.join(FORM);
        [path.parent().unwrap_or(&form), &form].into_iter().all(is_folder)
    }

    /// Keeps a binary.
    ///
    /// # Errors
    /// `Environment` where it cannot be written; what was there stays.
    pub fn put(&self, key: &Key, binary: &[u8]) -> Result<()> {
        let path = self.path(key);
        let Some(folder) = path.parent() else { return Err(Error::input("a key without a folder")) };
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Environment, format!("cannot keep a binary in `{}`: {error}", folder.display()))
        };
        DirBuilder::new().recursive(true).mode(MODE).create(folder).map_err(failed)?;
        if !self.is_ours(&path) {
            let message =
                format!("cannot keep a binary in `{}`: a link in the cache leads elsewhere", folder.display());
            return Err(Error::new(ErrorKind::Environment, message));
        }
        let write = || -> io::Result<()> {
            let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
            temporary.write_all(&entry_head(key, binary))?;
            temporary.write_all(binary)?;
            temporary.persist(&path)?;
            Ok(())
        };
        write().map_err(failed)
    }

    /// Entries lie in 256 folders, by the first byte of their key.
    fn path(&self, key: &Key) -> PathBuf {
        let hex = key.hex();
        let (first, rest) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.folder.join(FORM).join(first).join(rest)
    }
}

const MAGIC: [u8; 8] = *b"SBc1\0\0\0\0";
/// Bytes before the contents.
const HEAD: usize = 80;

/// Builds the header that stands before the contents.
fn entry_head(key: &Key, binary: &[u8]) -> Vec<u8> {
    let length = (binary.len() as u64).to_le_bytes();
    [&MAGIC, &key.0[..], blake3::hash(binary).as_bytes(), &length].concat()
}

/// The contents, where the entry is whole and of this key.
fn read_entry<'e>(entry: &'e [u8], key: &Key) -> Option<&'e [u8]> {
    let (head, binary) = entry.split_at_checked(HEAD)?;
    (head == entry_head(key, binary)).then_some(binary)
}

/// Whether a path is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

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
pub struct Key([u8; 32]);

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
