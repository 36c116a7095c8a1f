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

use super::fold::{Folding, Name, blanked};
use super::protocol::MAX_PAYLOAD;
use super::{Job, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::native_name::{Identity, rename_kernel};
use crate::{limits, plain_file};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of this form of entries, within the cache's own; another form will have another.
const FORM: &str = "v1";
/// Prefix of temporary files; no key begins so.
const TEMPORARY: &str = ".tmp-";
/// Only the owner may enter.
const MODE: u32 = 0o700;
/// Permission bits of files in the cache: the owner's alone.
pub(super) const OWNER_MODE: u32 = 0o600;

/// A cache of device binaries.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which need not exist yet.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// Returns the cache's folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The binary of a key. An entry that is damaged is removed, where that is possible.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // Links, pipes and folders in an entry's place, and files of others, count as absent. Where a folder is another user's, so is
        // what he moved into it, whoever owns that: a copy of a file of his, say. The owner is that of what is open: another user may
        // move a folder of his to the cache's place at any moment.
        if self.stranger(&path).is_some() {
            return None;
        }
        let (mut file, metadata) = plain_file::open_itself(&path).ok()?;
        if !may_have_made(metadata.uid(), plain_file::user()) || !self.is_ours(&path) {
            return None;
        }
        let Some(binary) = read_entry(&mut file, metadata.len(), key) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time says how long nobody wanted it; a cache that cannot be written to is not kept in order by us.
        let _ = file.set_modified(SystemTime::now());
        Some(binary)
    }

    /// Returns the folders around an entry, the cache's own first.
    fn around(&self, path: &Path) -> [PathBuf; 3] {
        let form = self.folder.join(FORM);
        [self.folder.clone(), form.clone(), path.parent().map_or(form, Path::to_owned)]
    }

    /// Returns the folder around an entry that belongs to another user, and the user.
    fn stranger(&self, path: &Path) -> Option<(PathBuf, u32)> {
        self.around(path).into_iter().find_map(|folder| plain_file::stranger(&folder).map(|owner| (folder, owner)))
    }

    /// Whether the folders between the cache's own and an entry are folders, and no links that lead elsewhere.
    fn is_ours(&self, path: &Path) -> bool {
        let [_, form, folder] = self.around(path);
        is_folder(&folder) && is_folder(&form)
    }

    /// Keeps a binary.
    ///
    /// # Errors
    /// `Environment` where it cannot be written; what was there stays.
    pub(crate) fn put(&self, key: &Key, binary: &[u8]) -> Result<()> {
        let path = self.path(key);
        let Some(folder) = path.parent() else { return Err(Error::input("a key without a folder")) };
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Environment, format!("cannot keep a binary in `{}`: {error}", folder.display()))
        };
        let make = |folder: &Path| DirBuilder::new().recursive(true).mode(MODE).create(folder).map_err(failed);
        let form = self.folder.join(FORM);
        make(&form)?;
        // Nothing is made behind a link.
        if is_folder(&form) {
            make(folder)?;
        }
        if let Some((theirs, owner)) = self.stranger(&path) {
            let message =
                format!("cannot keep a binary in `{}`: it belongs to another user ({owner})", theirs.display());
            return Err(Error::new(ErrorKind::Environment, message));
        }
        if !self.is_ours(&path) {
            let message =
                format!("cannot keep a binary in `{}`: a link in the cache leads elsewhere", folder.display());
            return Err(Error::new(ErrorKind::Environment, message));
        }
        let head = entry_head(key, blake3::hash(binary), binary.len() as u64);
        replace(&path, &[&head, binary], OWNER_MODE).map_err(failed)
    }

    /// Entries lie in 256 folders, by the first byte of their key.
    fn path(&self, key: &Key) -> PathBuf {
        let hex = key.hex();
        let (first, rest) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.folder.join(FORM).join(first).join(rest)
    }
}

/// Writes a file, of these permission bits less the umask's, by way of one with a name that nobody foresees: what lies in a
/// folder of several users, or came out of an archive, may be a link or a pipe.
pub(crate) fn replace(path: &Path, parts: &[&[u8]], mode: u32) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).permissions(fs::Permissions::from_mode(mode));
    let mut temporary = builder.tempfile_in(folder)?;
    parts.iter().try_for_each(|part| temporary.write_all(part))?;
    temporary.persist(path)?;
    Ok(())
}

const MAGIC: [u8; 8] = *b"SBc1\0\0\0\0";
/// Bytes before the contents.
const HEAD: usize = 80;

/// Builds the header that stands before the contents.
fn entry_head(key: &Key, digest: blake3::Hash, length: u64) -> Vec<u8> {
    [&MAGIC, &key.0[..], digest.as_bytes(), &length.to_le_bytes()].concat()
}

/// The contents of a file of so many bytes, where it is a whole entry and of this key. A file that is longer or shorter than its
/// own head says is not read.
fn read_entry(file: &mut File, size: u64, key: &Key) -> Option<Vec<u8>> {
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let length = size.checked_sub(HEAD as u64).filter(|length| *length <= u64::from(MAX_PAYLOAD))?;
    let (_, stated) = head.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*stated) != length {
        return None;
    }
    let mut binary = Vec::with_capacity(usize::try_from(length).ok()?);
    file.take(length).read_to_end(&mut binary).ok()?;
    let whole = binary.len() as u64 == length;
    (whole && entry_head(key, blake3::hash(&binary), length) == head).then_some(binary)
}

/// Whether a path is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Contexts of the two kinds of keys, part of what is digested. Change them with what the tool asks of a compiler for the same module.
const EXACT: &str = "sycl-bundle 2026-11 compiled module, bindful, zebin";
const SHARED: &str = "sycl-bundle 2026-11 compiled module under any name of its kernel, bindful, zebin";
/// Context of the keys of libraries.
const LIBRARY: &str = "sycl-bundle 2026-11 library that kernels for NVIDIA GPUs call";

/// The compiler, as far as its results depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compiler {
    /// The target that it compiles for (`spir64_x86_64`).
    pub(crate) target: String,
    /// The instruction set or device.
    pub(crate) architecture: String,
    /// Platform, device and driver with their versions, as the driver tells them.
    pub(crate) identity: Vec<String>,
    /// Variables that the driver reads, with their values.
    pub(crate) environment: Vec<(String, String)>,
}

/// A digest of a compiler's file, for [`Compiler::identity`]: its contents, so that it is the same on every machine.
///
/// # Errors
/// Errors of reading it; `Environment` where it is larger than any compiler's: the name may come from a driver.
pub fn fingerprint(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new_derive_key("sycl-bundle 2026-11 compiler file");
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            Error::new(ErrorKind::Environment, format!("`{}` is no file of a compiler: {error}", path.display()))
        }
        _ => Error::io(format!("reading `{}`", path.display()), &error),
    };
    let (file, metadata) = plain_file::open(path).map_err(failed)?;
    if metadata.len() > limits::MAX_COMPILER_FILE {
        let message = format!("`{}` is no file of a compiler: it is too large", path.display());
        return Err(Error::new(ErrorKind::Environment, message));
    }
    io::copy(&mut file.take(metadata.len()), &mut hasher).map_err(failed)?;
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
    pub(crate) fn for_job(compiler: &Compiler, job: &Job<'_>) -> Key {
        Key::with(EXACT, compiler, job, |field| field(&job.il))
    }

    /// The key of what all jobs share that are the same code but for the name of their kernel: of its name count the
    /// length and the end. The binary is kept under [`native_name::shared_name`] and renamed for whom it is. No key of
    /// [`Key::for_job`] is one of these, so entries of the two kinds are never taken for each other.
    ///
    /// [`native_name::shared_name`]: crate::rewrite::native_name::shared_name
    pub(crate) fn shared(compiler: &Compiler, job: &Job<'_>, name: &Name) -> Key {
        Key::with(SHARED, compiler, job, |field| {
            field(&(name.at as u64).to_le_bytes());
            field(&(name.text.len() as u64).to_le_bytes());
            blanked(&job.il, name).into_iter().for_each(field);
        })
    }

    /// The key of the library of functions that kernels call which the compiler of this identity makes.
    pub(crate) fn for_library(identity: &[String]) -> Key {
        let compiler = Compiler { identity: identity.to_vec(), ..Compiler::default() };
        Key::with(LIBRARY, &compiler, &Job::default(), |_| {})
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
    pub(crate) fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Returns the shard, out of `count`, that the key falls to; the same on every machine.
    pub(crate) fn shard(&self, count: u32) -> u32 {
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
    pub(crate) fn for_job(compiler: &Compiler, job: &Job<'_>, folding: &Folding) -> Keys {
        let shared = |name: &Name| {
            let [own, common] = name.identities(&job.il);
            Shared { key: Key::shared(compiler, job, name), own, common }
        };
        Keys { exact: Key::for_job(compiler, job), shared: folding.name(job.unit()).map(shared) }
    }

    /// The key that tells modules apart that are compiled apart.
    pub(crate) fn first(&self) -> &Key {
        self.shared.as_ref().map_or(&self.exact, |shared| &shared.key)
    }

    /// The module's binary, under its own name.
    pub(crate) fn get(&self, cache: &Cache) -> Option<Vec<u8>> {
        let renamed = |shared: &Shared| rename_kernel(&cache.get(&shared.key)?, &shared.common, &shared.own).ok();
        self.shared.as_ref().and_then(renamed).or_else(|| cache.get(&self.exact))
    }

    /// Keeps the module's binary, under the common name where that can be.
    ///
    /// # Errors
    /// As [`Cache::put`].
    pub(crate) fn put(&self, cache: &Cache, binary: &[u8]) -> Result<()> {
        let renamed = |shared: &Shared| Some((shared.key, rename_kernel(binary, &shared.own, &shared.common).ok()?));
        match self.shared.as_ref().and_then(renamed) {
            Some((key, binary)) => cache.put(&key, &binary),
            None => cache.put(&self.exact, binary),
        }
    }
}

/// Whether an entry of this owner counts: the user's own, and those of root, wherever they are.
fn may_have_made(owner: u32, user: u32) -> bool {
    owner == 0 || owner == user
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fold::Name;
    use crate::build::{Job, Step};

    fn job(il: &[u8], options: &str) -> Job<'static> {
        Job { il: il.to_vec().into(), compile_options: options.to_owned(), ..Job::default() }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        (folder, cache)
    }

    #[test]
    fn every_part_counts_and_none_runs_into_the_next() {
        let compiler = Compiler { target: "t".into(), ..Compiler::default() };
        let mut keys = vec![
            Key::for_job(&compiler, &job(b"ab", "c")),
            Key::for_job(&compiler, &job(b"a", "bc")),
            Key::for_job(&compiler, &job(b"abc", "")),
            Key::for_job(&Compiler { architecture: "avx2".into(), ..compiler.clone() }, &job(b"ab", "c")),
            Key::for_job(&Compiler { identity: vec!["d".into(), "1".into()], ..compiler.clone() }, &job(b"ab", "c")),
            Key::for_job(&Compiler { identity: vec!["d1".into()], ..compiler.clone() }, &job(b"ab", "c")),
            Key::for_job(
                &Compiler { environment: vec![("d".into(), "1".into())], ..compiler.clone() },
                &job(b"ab", "c"),
            ),
        ];
        let other = Job { link_options: "c".into(), ..job(b"ab", "") };
        keys.push(Key::for_job(&compiler, &other));
        let others = |all: &[&[u8]]| Step::Link(all.iter().map(|other| other.to_vec().into()).collect());
        for step in [Step::Compile, others(&[]), others(&[b"a", b"b"]), others(&[b"ab"]), others(&[b"b", b"a"])] {
            keys.push(Key::for_job(&compiler, &Job { step, ..job(b"ab", "c") }));
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert_eq!(Key::for_job(&compiler, &job(b"ab", "c")), Key::for_job(&compiler, &job(b"ab", "c")));
        assert!(keys.iter().all(|key| key.shard(3) < 3 && key.shard(0) == 0));
    }

    #[test]
    fn what_is_kept_is_found_until_it_is_damaged() {
        let (_folder, cache) = cache();
        let (one, two) =
            (Key::for_job(&Compiler::default(), &job(b"1", "")), Key::for_job(&Compiler::default(), &job(b"2", "")));
        assert_eq!(cache.get(&one), None);
        cache.put(&one, b"binary").unwrap();
        assert_eq!(cache.get(&one).as_deref(), Some(&b"binary"[..]));
        assert_eq!(cache.get(&two), None);
        // Every byte is watched, every length too.
        let path = cache.path(&one);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.get(&one), None, "byte {at}");
            assert!(!path.exists(), "a damaged entry is removed");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get(&one), None, "cut at {at}");
        }
        // An entry under another's name is not that one.
        fs::create_dir_all(cache.path(&two).parent().unwrap()).unwrap();
        fs::write(cache.path(&two), &whole).unwrap();
        assert_eq!(cache.get(&two), None);
        cache.put(&one, b"").unwrap();
        assert_eq!(cache.get(&one), Some(Vec::new()));
    }

    #[test]
    fn the_least_recently_wanted_go_first() {
        let (_folder, cache) = cache();
        let keys: Vec<Key> = (0..4u8).map(|byte| Key::for_job(&Compiler::default(), &job(&[byte], ""))).collect();
        for (age, key) in keys.iter().enumerate() {
            cache.put(key, &[0; 20]).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(100 * (age as u64 + 1));
            File::options().write(true).open(cache.path(key)).unwrap().set_modified(time).unwrap();
        }
        // The third is wanted again.
        assert!(cache.get(&keys[2]).is_some());
        let stats = cache.stats().unwrap();
        assert_eq!((stats.entries, stats.bytes), (4, 400));
        assert!(stats.oldest_seconds.is_some_and(|seconds| (395..=460).contains(&seconds)), "{stats:?}");
        let removed = cache.collect(250).unwrap();
        assert_eq!((removed.entries, removed.bytes, removed.left.entries), (2, 200, 2));
        let there: Vec<bool> = keys.iter().map(|key| cache.get(key).is_some()).collect();
        assert_eq!(there, [true, false, true, false]);
        assert_eq!(cache.clear().unwrap().entries, 2);
        assert_eq!(cache.stats().unwrap(), keep::Stats::default());
    }

    #[test]
    fn damage_and_left_overs_are_swept() {
        let (_folder, cache) = cache();
        let key = Key::for_job(&Compiler::default(), &job(b"1", ""));
        cache.put(&key, b"binary").unwrap();
        let other = Key::for_job(&Compiler::default(), &job(b"2", ""));
        cache.put(&other, b"other").unwrap();
        fs::write(cache.path(&other), b"nonsense").unwrap();
        let verified = cache.verify().unwrap();
        assert_eq!((verified.sound, verified.damaged), (1, vec![cache.path(&other)]));
        let folder = cache.path(&key).parent().unwrap().to_owned();
        let (old, young) = (folder.join(".tmp-1-0-x"), folder.join(".tmp-2-0-x"));
        fs::write(&old, b"").unwrap();
        fs::write(&young, b"").unwrap();
        let time = SystemTime::now() - std::time::Duration::from_secs(7200);
        File::options().write(true).open(&old).unwrap().set_modified(time).unwrap();
        cache.collect(u64::MAX).unwrap();
        assert!(!old.exists() && young.exists() && cache.get(&key).is_some());
    }

    #[test]
    fn a_folder_that_is_none_is_an_empty_cache_that_keeps_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::new(file.path());
        let key = Key::for_job(&Compiler::default(), &job(b"1", ""));
        assert_eq!(cache.get(&key), None);
        let error = cache.put(&key, b"binary").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Environment);
        assert_eq!(cache.stats().unwrap(), keep::Stats::default());
    }

    #[test]
    fn shared_keys_are_those_of_all_names_of_a_length_and_of_nothing_else() {
        let compiler = Compiler { target: "t".into(), ..Compiler::default() };
        let name = |text: &str| Name { text: text.to_owned(), at: 2 };
        let shared = |il: &[u8], text: &str| Key::shared(&compiler, &job(il, ""), &name(text));
        let one = shared(b"__first__", "first");
        assert_eq!(one, shared(b"__exist__", "exist"));
        assert_ne!(one, shared(b"__other__", "other"), "they end otherwise");
        assert_ne!(one, shared(b"__first_-", "first"));
        assert_ne!(one, shared(b"__firs__", "firs"));
        assert_ne!(one, shared(b"__first__", "firs"));
        assert_ne!(one, Key::for_job(&compiler, &job(b"__first__", "")));
        assert_ne!(one, Key::shared(&Compiler::default(), &job(b"__first__", ""), &name("first")));
        assert_ne!(one, Key::shared(&compiler, &job(b"__first__", "-g"), &name("first")));
    }

    #[test]
    fn entries_of_strangers_do_not_count_and_ones_own_do_wherever_they_are() {
        let (root, user, other) = (0, 1000, 1001);
        assert!([root, user].into_iter().all(|owner| may_have_made(owner, user)));
        assert!(!may_have_made(other, user) && !may_have_made(user, root) && may_have_made(root, root));
    }

    #[test]
    fn links_pipes_and_folders_are_no_entries() {
        let (folder, cache) = cache();
        let key = Key::for_job(&Compiler::default(), &job(b"module", ""));
        cache.put(&key, b"binary").unwrap();
        let (path, elsewhere) = (cache.path(&key), folder.path().join("elsewhere"));
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(cache.get(&key), None, "a link is no entry, wherever it leads");
        assert_eq!(cache.verify().unwrap().damaged, std::slice::from_ref(&path));
        fs::create_dir(&path).unwrap();
        assert_eq!((cache.get(&key), cache.stats().unwrap().entries), (None, 0));
        cache.collect(u64::MAX).unwrap();
        assert!(!path.exists() && elsewhere.exists());
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(cache.get(&key), None, "a pipe is not waited for");
        cache.put(&key, b"binary").unwrap();
        assert_eq!(cache.get(&key).unwrap(), b"binary");
    }

    #[test]
    fn a_compiler_that_names_a_pipe_or_a_device_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("libigc.so");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert_eq!(fingerprint(path).unwrap_err().kind(), ErrorKind::Environment, "{}", path.display());
        }
        let file = folder.path().join("plain");
        fs::write(&file, b"x").unwrap();
        assert!(fingerprint(&file).unwrap().starts_with("plain "));
    }

    #[test]
    fn a_link_or_a_pipe_is_replaced_and_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, link, pipe] = ["victim", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&victim, b"precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
        for path in [&link, &pipe] {
            replace(path, &[b"new ", b"bytes"], 0o600).unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
            assert_eq!(fs::read(path).unwrap(), b"new bytes");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    }

    #[test]
    fn what_is_not_the_caches_stays() {
        let (_folder, cache) = cache();
        let key = Key::for_job(&Compiler::default(), &job(b"module", ""));
        cache.put(&key, b"binary").unwrap();
        let form = cache.folder().join(FORM);
        let hour = SystemTime::now() - std::time::Duration::from_secs(7200);
        let names =
            ["src/main.c", "src/.tmp-1", "docs/README", "ab/main.c", "xy/.tmp-1", "README", "ab/.tmp-folder/file"];
        let others = names.map(|name| form.join(name));
        for path in &others {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"mine").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(hour).unwrap();
        }
        assert_eq!(cache.collect(u64::MAX).unwrap().entries, 0);
        assert_eq!(cache.verify().unwrap().damaged, Vec::<PathBuf>::new());
        assert_eq!(cache.clear().unwrap().entries, 1);
        assert!(others.iter().all(|path| path.exists()) && cache.get(&key).is_none());
    }

    #[test]
    fn nothing_is_removed_behind_a_link() {
        let (folder, cache) = cache();
        let key = Key::for_job(&Compiler::default(), &job(b"module", ""));
        cache.put(&key, b"binary").unwrap();
        let (form, elsewhere) = (cache.folder().join(FORM), folder.path().join("elsewhere"));
        fs::rename(&form, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &form).unwrap();
        assert_eq!(cache.collect(0).unwrap(), keep::Removed::default());
        assert_eq!(cache.clear().unwrap().entries, 0);
        assert_eq!(cache.get(&key), None);
        assert!(cache.put(&key, b"other").is_err());
        let hex = key.hex();
        assert!(elsewhere.join(&hex[..2]).join(&hex[2..]).is_file());
        fs::remove_dir_all(elsewhere.join(&hex[..2])).unwrap();
        assert!(cache.put(&key, b"other").is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
