//! Does the cache give what was put in, and nothing else?

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
        Key::for_job(&Compiler { environment: vec![("d".into(), "1".into())], ..compiler.clone() }, &job(b"ab", "c")),
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
    assert_eq!(cache.stats().unwrap(), Stats::default());
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
    assert_eq!(cache.stats().unwrap(), Stats::default());
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
fn nothing_is_removed_behind_a_link() {
    let (folder, cache) = cache();
    let key = Key::for_job(&Compiler::default(), &job(b"module", ""));
    cache.put(&key, b"binary").unwrap();
    let (form, elsewhere) = (cache.folder().join(FORM), folder.path().join("elsewhere"));
    fs::rename(&form, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &form).unwrap();
    assert_eq!(cache.collect(0).unwrap(), Removed::default());
    assert_eq!(cache.clear().unwrap().entries, 0);
    assert_eq!(cache.get(&key), None);
    assert!(cache.put(&key, b"other").is_err());
    let hex = key.hex();
    assert!(elsewhere.join(&hex[..2]).join(&hex[2..]).is_file());
}
