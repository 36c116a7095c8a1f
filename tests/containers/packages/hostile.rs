//! Do packages that lie, lead astray or never end cost little, and hide nothing that is sound?

use super::{file, inspect, library, make, module};
use std::time::{Duration, Instant};
use zip::CompressionMethod::{Deflated, Stored};

/// A module that goes on for 70 MiB.
fn long_module() -> Vec<u8> {
    let mut bytes = module();
    bytes.resize(70 << 20, 0);
    bytes
}

fn position(bytes: &[u8], what: &[u8], nth: usize) -> usize {
    bytes.windows(what.len()).enumerate().filter(|(_, window)| *window == what).nth(nth).unwrap().0
}

#[test]
fn bombs_are_refused_and_their_neighbours_read() {
    let folder = tempfile::tempdir().unwrap();
    let bomb = long_module();
    let declared = make::zip(Deflated, &[("bomb.spv", &bomb), ("good.spv", &module())]);
    assert!(declared.len() < 1_000_000);
    // The same with sizes that promise little, in the local header and in the directory.
    let mut lying = declared.clone();
    let local = position(&lying, b"PK\x03\x04", 0) + 22;
    let central = position(&lying, b"PK\x01\x02", 0) + 24;
    for at in [local, central] {
        lying[at..at + 4].copy_from_slice(&5000u32.to_le_bytes());
    }
    for (name, bytes) in [("declared.zip", declared), ("lying.zip", lying)] {
        let path = file(&folder, name, &bytes);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.names(&path)), (3, vec!["!good.spv".to_owned()]), "{}", seen.stderr);
        assert!(seen.problems.len() == 1 && seen.problems[0].0.ends_with("!bomb.spv"), "{:?}", seen.problems);
    }
    for (name, bytes) in [("a.spv.gz", make::gz(&bomb)), ("a.spv.bz2", make::bz2(&bomb))] {
        let path = file(&folder, name, &bytes);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.images().len()), (3, 0));
        assert!(seen.problems[0].1.contains("beyond the limit"), "{:?}", seen.problems);
    }
}

/// Each takes several times the bytes in memory that it has in the directory.
#[test]
fn a_directory_without_an_end_is_refused() {
    const COUNT: u32 = (1 << 20) + 1;
    let folder = tempfile::tempdir().unwrap();
    let listed = |count: u32| {
        let member = [&b"PK\x01\x02"[..], &[0; 24], b"\x01\0", &[0; 16], b"m"].concat();
        assert_eq!(member.len(), 47);
        let directory = member.repeat(count as usize);
        let large = [44, 45 | 45 << 16, 0, count.into(), count.into(), directory.len() as u64, 0].map(u64::to_le_bytes);
        let mut large = [b"PK\x06\x06", &large.concat()[..]].concat();
        large.drain(16..20);
        let locator = [&b"PK\x06\x07\0\0\0\0"[..], &(directory.len() as u64).to_le_bytes(), b"\x01\0\0\0"].concat();
        let end = [&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0; 2]].concat();
        [directory, large, locator, end].concat()
    };
    for (count, told) in [(COUNT, true), (10, false)] {
        let path = file(&folder, "many.zip", &listed(count));
        let seen = inspect(&path);
        assert_eq!(seen.code, 3, "{}", seen.stderr);
        assert_eq!(seen.stderr.contains("more members than the limit"), told, "{}", seen.stderr);
    }
}

#[test]
fn members_that_share_their_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = make::zip(Stored, &[("a.spv", &module()), ("b.spv", &module())]);
    // The second entry of the directory leads to the first member.
    let second = position(&bytes, b"PK\x01\x02", 1);
    bytes[second + 42..second + 46].fill(0);
    let path = file(&folder, "overlap.zip", &bytes);
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.images().len()), (3, 0));
    assert!(seen.problems[0].1.contains("overlap"), "{:?}", seen.problems);
    // A damaged header beside them does not let them pass.
    let mut bytes = make::zip(Stored, &[("a.spv", &module()), ("b.spv", &module()), ("c.spv", &module())]);
    let second = position(&bytes, b"PK\x01\x02", 1);
    bytes[second + 42..second + 46].fill(0);
    let third = position(&bytes, b"PK\x03\x04", 2);
    bytes[third] = 0;
    let path = file(&folder, "overlap.zip", &bytes);
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.names(&path)), (3, vec!["!a.spv".to_owned()]));
    let told: Vec<_> = seen.problems.iter().map(|(path, _)| path.rsplit('!').next().unwrap()).collect();
    assert_eq!(told, ["b.spv", "c.spv"], "{:?}", seen.problems);
}

#[test]
fn a_wrong_checksum_is_told_and_the_member_read() {
    let folder = tempfile::tempdir().unwrap();
    let (library, images) = library();
    let mut bytes = make::zip(Stored, &[("a.so", library)]);
    // Within the first pages of a library, but for its header, nothing of the images is.
    let at = position(&bytes, b"\x7fELF", 0) + 9;
    bytes[at] ^= 1;
    let path = file(&folder, "a.whl", &bytes);
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.images().as_slice()), (3, images));
    assert!(seen.problems[0].1.contains("checksum"), "{:?}", seen.problems);
}

#[test]
fn names_are_shown_and_steer_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let tar = make::tar(&[("../../up.spv", &module()), ("/abs.spv", &module()), ("a\x1b[2J\n.spv", &module())]);
    let path = file(&folder, "names.tar", &tar);
    let seen = inspect(&path);
    assert_eq!(seen.names(&path), ["!../../up.spv", "!/abs.spv", "!a\u{fffd}[2J\u{fffd}.spv"]);
}

#[test]
fn nesting_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut package = make::zip(Stored, &[("deep.spv", &module())]);
    for _ in 1..8 {
        package = make::zip(Stored, &[("next.zip", &package), ("k.spv", &module())]);
    }
    let path = file(&folder, "eight.zip", &package);
    assert_eq!((inspect(&path).code, inspect(&path).images().len()), (0, 8));
    for _ in 8..100 {
        package = make::zip(Stored, &[("next.zip", &package), ("k.spv", &module())]);
    }
    let path = file(&folder, "hundred.zip", &package);
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.images().len(), seen.problems.len()), (3, 8, 1));
    assert!(seen.problems[0].1.contains("nested"), "{:?}", seen.problems);
    let mut compressed = module();
    for _ in 0..100 {
        compressed = make::gz(&compressed);
    }
    let path = file(&folder, "hundred.gz", &compressed);
    assert_eq!(inspect(&path).code, 3);
}

#[test]
fn a_tar_that_lies_about_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let mut tar = make::tar(&[("good.spv", &module()), ("lying.spv", &module())]);
    let lying = position(&tar, b"lying.spv", 0);
    for size in [b"00077777777\0", b"77777777777\0", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
        tar[lying + 124..lying + 136].copy_from_slice(size);
        tar[lying + 148..lying + 156].fill(b' ');
        let sum: u32 = tar[lying..lying + 512].iter().map(|byte| u32::from(*byte)).sum();
        tar[lying + 148..lying + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        for (name, bytes) in [("a.tar", tar.clone()), ("a.tar.zst", make::zstd(&tar))] {
            let path = file(&folder, name, &bytes);
            let seen = inspect(&path);
            assert_eq!((seen.code, seen.names(&path)), (3, vec!["!good.spv".to_owned()]), "{name}: {}", seen.stderr);
            // Where the next header is misses too.
            assert!((1..=2).contains(&seen.problems.len()), "{:?}", seen.problems);
        }
    }
}

#[test]
fn damage_anywhere_ends_quickly_and_soundly() {
    let folder = tempfile::tempdir().unwrap();
    let tar = make::tar(&[("a.spv", &module()), ("b.spv", &module())]);
    let members: [(&str, &[u8]); 2] = [("a.spv", &module()), ("b.spv", &module())];
    let begun = Instant::now();
    for package in [
        make::zip(Deflated, &members),
        make::archive(false, &members),
        make::archive(true, &members),
        tar.clone(),
        make::gz(&tar),
        make::xz(&tar),
        make::bz2(&tar),
        make::zstd(&tar),
    ] {
        for cut in [9, package.len() / 3, package.len() / 2, package.len() - 30] {
            let path = file(&folder, "cut", &package[..cut]);
            let seen = inspect(&path);
            assert!(seen.images().len() < 3 && matches!(seen.code, 0 | 3 | 6), "{}", seen.stderr);
            let mut flipped = package.clone();
            flipped[cut] ^= 0xff;
            let path = file(&folder, "flipped", &flipped);
            assert!(matches!(inspect(&path).code, 0 | 3 | 6));
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[test]
fn thin_archives_lead_nowhere_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "self.a", &make::thin(&["self.a", "self.a"]));
    let seen = inspect(&path);
    assert!(seen.code == 6 || seen.code == 3, "{}", seen.stderr);
    assert!(seen.files.len() < 10, "{:?}", seen.files);
    // Names that are no files with device code, wherever they are, are not read; missing files are told.
    let names = ["/dev/zero", "/etc/passwd", "../../../../../../dev/zero", "missing.o", "/proc/self/mem"];
    let path = file(&folder, "out.a", &make::thin(&names));
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.images().len()), (3, 0), "{}", seen.stderr);
    let told: Vec<_> = seen.problems.iter().map(|(path, _)| path.rsplit('!').next().unwrap()).collect();
    assert_eq!(told, ["missing.o", "/proc/self/mem"]);
    // One within another is read.
    file(&folder, "deep/k.spv", &module());
    file(&folder, "deep/in.a", &make::thin(&["k.spv"]));
    let path = file(&folder, "nested.a", &make::thin(&["deep/in.a"]));
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.names(&path)), (0, vec!["!deep/in.a!k.spv".to_owned()]), "{}", seen.stderr);
    // `ar` puts the members of an archive into a thin one by their offsets there.
    let mut of_archive = make::thin(&["in.a"]);
    let at = position(&of_archive, b"/0 ", 0);
    of_archive[at..at + 5].copy_from_slice(b"/0:68");
    assert_eq!(inspect(&file(&folder, "members.a", &of_archive)).code, 3);
    // In another package it has no folder.
    let inner = make::thin(&["k.spv"]);
    let path = file(&folder, "in.zip", &make::zip(Stored, &[("thin.a", &inner)]));
    assert_eq!(inspect(&path).problems.len(), 1);
}

#[test]
fn two_members_of_one_name_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = make::zip(Deflated, &[("a.spv", &module()), ("b.spv", &module())]);
    // In the header of the member and in the directory.
    while let Some(at) = bytes.windows(5).position(|window| window == b"b.spv") {
        bytes[at] = b'a';
    }
    let path = file(&folder, "twice.zip", &bytes);
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.names(&path)), (3, vec!["!a.spv".to_owned()]));
    let (told, error) = &seen.problems[0];
    assert!(told.ends_with("!a.spv") && error.contains("two members have this name"), "{:?}", seen.problems);
}

/// Python refuses most of these, and unzip takes out the whole second module without a word.
#[test]
fn members_whose_headers_disagree_with_the_directory_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (method, other) in [(Stored, 8u16), (Deflated, 0)] {
        let zip = make::zip(method, &[("a.spv", &module()), ("b.spv", &module())]);
        let (local, central) = (position(&zip, b"PK\x03\x04", 1), position(&zip, b"PK\x01\x02", 1));
        // The method, the checksum and the two sizes.
        let places = [(local + 8, 2), (local + 14, 4), (local + 18, 4), (local + 22, 4)];
        let all =
            places.into_iter().chain([(central + 10, 2), (central + 16, 4), (central + 20, 4), (central + 24, 4)]);
        for (at, len) in all {
            let mut bytes = zip.clone();
            bytes[at..at + len].copy_from_slice(&u32::from(other).to_le_bytes()[..len]);
            if len == 4 {
                bytes[at] = 3;
            }
            let path = file(&folder, "a.zip", &bytes);
            let seen = inspect(&path);
            assert_eq!(seen.code, 3, "{method:?} {}: {}", at - if at < central { local } else { central }, seen.stderr);
            assert!(seen.problems.iter().any(|(path, _)| path.ends_with("!b.spv")), "{:?}", seen.problems);
            assert!(seen.names(&path).contains(&"!a.spv".to_owned()));
        }
    }
}

/// Unpacking leaves the last.
#[test]
fn members_of_a_tar_that_replace_others_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let ustar = tar::Header::new_ustar;
    let code = |name: &str| member(ustar(), name, b'0', &module());
    let text = |name: &str| member(ustar(), name, b'0', b"text");
    let cases: [(&str, Vec<Vec<u8>>, i32); 7] = [
        ("both.tar", vec![code("x/a.spv"), code("x/a.spv")], 3),
        ("spelled.tar", vec![code("x/a.spv"), code("./x//a.spv")], 3),
        ("text.tar", vec![code("x/a.spv"), text("x/a.spv")], 3),
        ("link.tar", vec![code("x/a.spv"), member(ustar(), "x/a.spv", b'2', b"")], 3),
        // Nothing is left of the first.
        ("later.tar", vec![text("x/a.spv"), code("x/a.spv")], 0),
        ("folders.tar", vec![member(ustar(), "x/", b'5', b""), code("x/a.spv"), member(ustar(), "x/", b'5', b"")], 0),
        ("others.tar", vec![code("x/a.spv"), code("y/a.spv")], 0),
    ];
    for (name, members, code) in cases {
        let bytes = [members.concat(), vec![0; 1024]].concat();
        for (name, bytes) in [(name.to_owned(), bytes.clone()), (format!("{name}.gz"), make::gz(&bytes))] {
            let seen = inspect(&file(&folder, &name, &bytes));
            assert_eq!(seen.code, code, "{name}: {}", seen.stderr);
            let told = seen.problems.iter().any(|(_, error)| error.contains("two members have this name"));
            assert_eq!(told, code == 3, "{name}: {:?}", seen.problems);
        }
    }
}

/// busybox's tar goes on behind a lone block of zeros; gzip says of a wrong checksum, a lost end and bytes behind it that there is
/// damage, and takes zeros.
#[test]
fn what_stands_behind_the_end_of_a_tar_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let code = |name: &str| member(tar::Header::new_ustar(), name, b'0', &module());
    let with = |zeros: usize| [code("a.spv"), vec![0; zeros], code("b.spv"), vec![0; 1024]].concat();
    let alone = |zeros: usize| [code("a.spv"), vec![0; zeros]].concat();
    let (whole, lone, two) = (alone(1024), with(512), with(1024));
    let packed = make::gz(&whole);
    let mut wrong = packed.clone();
    let checksum = wrong.len() - 8;
    wrong[checksum] ^= 1;
    for (name, bytes, code) in [
        ("lone.tar", lone.clone(), 3),
        ("lone.tar.gz", make::gz(&lone), 3),
        ("two.tar", two.clone(), 0),
        ("two.tar.gz", make::gz(&two), 0),
        ("none.tar", alone(0), 0),
        ("one.tar.zst", make::zstd(&alone(512)), 0),
        ("checksum.tar.gz", wrong, 3),
        ("end.tar.gz", packed[..checksum].to_vec(), 3),
        ("bytes.tar.gz", [packed.as_slice(), b"bytes"].concat(), 3),
        ("zeros.tar.gz", [packed.as_slice(), &[0; 100]].concat(), 0),
    ] {
        let seen = inspect(&file(&folder, name, &bytes));
        assert_eq!((seen.code, seen.images().len()), (code, 1), "{name}: {}", seen.stderr);
    }
}

/// GNU tar goes on with the next header.
#[test]
fn a_tar_whose_first_header_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = [member(tar::Header::new_ustar(), "a.spv", b'0', &module()), vec![0; 1024]].concat();
    bytes[148..160].fill(b'x');
    bytes[257..262].fill(b'x');
    let empty = vec![0; 1024];
    for (name, bytes, code) in [
        ("d/a.tar", bytes.clone(), 3),
        ("d/a.tar.gz", make::gz(&bytes), 3),
        ("d/a.tgz", make::gz(&bytes), 3),
        ("d/a.tar.gz", make::gz(&empty), 0),
        ("d/a.tar", empty, 0),
        ("d/a.tar", b"version https://git-lfs.github.com/spec/v1\n".to_vec(), 0),
        ("d/a.bin.gz", make::gz(&bytes), 0),
    ] {
        file(&folder, "d/b.spv", &module());
        let path = file(&folder, name, &bytes);
        let seen = inspect(path.parent().unwrap());
        assert_eq!(seen.code, code, "{name}: {}", seen.stderr);
        std::fs::remove_file(path).unwrap();
    }
}

/// CPython's own `zipimport`, compiled, has the letters of the record at the end of an archive.
#[test]
fn a_file_with_the_letters_of_a_zip_is_none() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "d/b.spv", &module());
    let texts = [&[7; 500][..], b"PK\x05\x06 end record of a zip archive, as a text has it; ", &[7; 3000]].concat();
    let short = [&[7; 100][..], b"PK\x05\x06 end record of a zip archive, as a text has it"].concat();
    for (name, bytes) in [("d/a.pyc", &texts), ("d/b.pyc", &short)] {
        let path = file(&folder, name, bytes);
        assert!(!inspect(&path).stderr.contains("zip archive is malformed"), "{name}");
        let seen = inspect(path.parent().unwrap());
        assert_eq!(seen.code, 0, "{name}: {}", seen.stderr);
    }
    // By its name it is one.
    let path = file(&folder, "d/c.zip", &texts);
    assert_eq!((inspect(&path).code, inspect(path.parent().unwrap()).code), (3, 3));
}

/// A member of a tar archive.
fn member(mut header: tar::Header, name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    header.set_path(name).unwrap();
    header.set_size(bytes.len() as u64);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_cksum();
    let mut out = [header.as_bytes().as_slice(), bytes].concat();
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// Python, GNU tar and unzip take out `b.spv` of each.
#[test]
fn members_that_other_programs_see_are_seen_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let zip = |last: &str| make::zip(Stored, &[("a.spv", &module()), (last, &module())]);
    let renamed = |from: &str, to: &str| {
        let mut bytes = zip(from);
        for _ in 0..2 {
            let at = position(&bytes, from.as_bytes(), 0);
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        bytes
    };
    let mut counted = zip("b.spv");
    let end = position(&counted, b"PK\x05\x06", 0);
    counted[end + 8..end + 12].copy_from_slice(&[1, 0, 1, 0]);
    let (ustar, old) = (tar::Header::new_ustar, tar::Header::new_old);
    let first = || member(ustar(), "a.spv", b'0', &module());
    let tar = |last: &[Vec<u8>]| [first(), last.concat(), vec![0; 1024]].concat();
    let within = member(old(), "b.spv", b'0', &module());
    let extended = |kind: u8, record: &str| member(ustar(), "x", kind, record.as_bytes());
    let plain = member(ustar(), "b.spv", b'0', &module());
    let skipped =
        [&[0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &make::zstd(&tar(std::slice::from_ref(&plain)))]
            .concat();
    let both = ["!a.spv", "!b.spv"].as_slice();
    let cases: [(&str, Vec<u8>, i32, &[&str]); 16] = [
        ("count.zip", counted, 3, &["!a.spv"]),
        ("folder.zip", renamed("b.spv#", "b.spv/"), 0, &["!a.spv", "!b.spv/"]),
        ("windows.zip", renamed("b.spv#", "b.spv\\"), 0, &["!a.spv", "!b.spv\\"]),
        ("spanned.zip", [&b"PK\x07\x08"[..], &zip("b.spv")].concat(), 0, both),
        ("type.tar", tar(&[member(ustar(), "b.spv", b'Z', &module())]), 0, both),
        ("local.tar", tar(&[extended(b'x', "10 size=0\n"), member(ustar(), "t", b'0', &within)]), 3, &["!a.spv"]),
        ("sun.tar", tar(&[extended(b'X', "10 size=0\n"), member(ustar(), "t", b'0', &within)]), 3, &["!a.spv"]),
        ("global.tar", tar(&[extended(b'g', "10 size=0\n"), member(ustar(), "t", b'0', &within)]), 3, &["!a.spv"]),
        ("twice.tar", tar(&[extended(b'x', "10 size=0\n10 size=9\n"), plain.clone()]), 3, &["!a.spv"]),
        ("link.tar", tar(&[member(ustar(), "t", b'1', &within)]), 3, &["!a.spv"]),
        ("folder.tar", tar(&[member(ustar(), "t", b'5', &within)]), 3, &["!a.spv"]),
        ("sparse.tar", tar(&[extended(b'x', "22 GNU.sparse.major=1\n"), plain.clone()]), 3, &["!a.spv"]),
        ("long.tar", tar(&[extended(b'x', &"#".repeat(2 << 20)), plain.clone()]), 3, &["!a.spv"]),
        ("old.tar", [member(old(), "b.spv", b'0', &module()), vec![0; 1024]].concat(), 0, &["!b.spv"]),
        ("old.tar.gz", make::gz(&[member(old(), "b.spv", b'0', &module()), vec![0; 1024]].concat()), 0, &["!b.spv"]),
        ("skipped.tar.zst", skipped, 0, both),
    ];
    for (name, bytes, code, names) in cases {
        let path = file(&folder, name, &bytes);
        let seen = inspect(&path);
        assert_eq!(
            (seen.code, seen.names(&path)),
            (code, names.iter().map(|name| (*name).to_owned()).collect()),
            "{name}: {}",
            seen.stderr
        );
    }
}

/// Python's zipfile, pip and unzip read these.
#[test]
fn zips_behind_other_bytes_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let zip = make::zip(Deflated, &[("a.spv", &module())]);
    let script = [b"#!/bin/sh\nexec unzip $0\n".as_slice(), &zip].concat();
    let other = [&[7; 3000][..], &zip].concat();
    let sources = b"#!/bin/sh\n".repeat(20_000);
    let members: [(&str, &[u8]); 4] = [("run", &script), ("p.whl", &other), ("q.JAR", &other), ("s.sh", &sources)];
    for (name, bytes) in members {
        file(&folder, &format!("f/{name}"), bytes);
    }
    let below = ["/p.whl!a.spv", "/q.JAR!a.spv", "/run!a.spv"];
    let inside = folder.path().join("f");
    let seen = inspect(&inside);
    assert_eq!((seen.code, seen.names(&inside)), (0, below.map(str::to_owned).to_vec()), "{}", seen.stderr);
    for name in ["run", "p.whl", "q.JAR"] {
        let path = inside.join(name);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.names(&path)), (0, vec!["!a.spv".to_owned()]), "{name}: {}", seen.stderr);
    }
    let within = ["!run!a.spv", "!p.whl!a.spv", "!q.JAR!a.spv"];
    let tar = make::tar(&members);
    let packages = [
        ("s.zip", make::zip(Stored, &members)),
        ("d.zip", make::zip(Deflated, &members)),
        ("t.tar.gz", make::gz(&tar)),
        ("t.tar", tar),
    ];
    for (name, bytes) in packages {
        let path = file(&folder, name, &bytes);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.names(&path)), (0, within.map(str::to_owned).to_vec()), "{name}: {}", seen.stderr);
    }
}

/// pip takes the last record at the end, and one of large archives right before that.
#[test]
fn zips_of_which_programs_read_different_directories_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let plain = make::zip(Stored, &[("a.spv", &module())]);
    let end = position(&plain, b"PK\x05\x06", 0);
    let directory = position(&plain, b"PK\x01\x02", 0);
    let (members, listed, last) = (&plain[..directory], &plain[directory..end], &plain[end..]);
    let word = |value: usize| (value as u64).to_le_bytes();
    // The directory of pip lists another name for the member.
    let other: Vec<u8> = [&listed[..46], b"a.txt", &listed[51..]].concat();
    let large = |start: usize, size: usize| {
        let head = [b"PK\x06\x06".as_slice(), &word(44), &[45, 0, 45, 0], &[0; 8]].concat();
        [head, [word(1), word(1), word(size), word(start)].concat()].concat()
    };
    let locator = |at: usize| [b"PK\x06\x07".as_slice(), &[0; 4], &word(at), &1u32.to_le_bytes()].concat();
    let (at, size) = (directory + listed.len(), other.len());
    // Beside a record that needs none of large archives.
    let beside = [members, listed, &other, &large(at, size), &locator(at + size), last].concat();
    // Behind the directory that the last record names by its place.
    let behind = [members, listed, &other, last].concat();
    // A record with a number of disks, and one before it.
    let mut odd = last.to_vec();
    odd[4] = 1;
    odd[16..20].copy_from_slice(&((at + last.len()) as u32).to_le_bytes());
    let before = [members, listed, last, &other, &odd].concat();
    // Two fields for the offset of one member.
    let field = [&[1u8, 0, 8, 0][..], &[0; 8]].concat();
    let mut twice = [&listed[..51], &field, &field, &listed[51..]].concat();
    twice[30] = 24;
    twice[42..46].fill(0xff);
    let mut sized = last.to_vec();
    sized[12..16].copy_from_slice(&(twice.len() as u32).to_le_bytes());
    let twice = [members, &twice, &sized].concat();
    assert_eq!(inspect(&file(&folder, "plain.zip", &plain)).code, 0);
    for (name, bytes) in [("beside.zip", beside), ("behind.zip", behind), ("before.zip", before), ("twice.zip", twice)]
    {
        let seen = inspect(&file(&folder, name, &bytes));
        assert_eq!(seen.code, 3, "{name}: {:?} {}", seen.problems, seen.stderr);
        // Where the reader takes other bytes before the members for a prefix, they are not where they are said to be.
        let told = if name == "behind.zip" { "Invalid local file header" } else { "programs differ" };
        assert!(seen.problems.iter().any(|(_, text)| text.contains(told)), "{name}: {:?}", seen.problems);
    }
}

/// pip and unzip go by the directory; what reads a zip archive from its beginning sees more.
#[test]
fn members_in_no_directory_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let module = module();
    let all: [(&str, &[u8]); 3] = [("a.spv", &module), ("b.spv", &module), ("c.spv", &module)];
    let forms = [
        ("stored", make::zip(Stored, &all)),
        ("packed", make::zip(Deflated, &all)),
        ("pipe", make::streamed_zip(&all)),
    ];
    for (form, zip) in forms {
        let path = file(&folder, "whole.whl", &zip);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.names(&path).len()), (0, 3), "{form}: {}", seen.stderr);
        for (name, _) in all {
            let path = file(&folder, "less.whl", &make::unlisted(zip.clone(), name));
            let seen = inspect(&path);
            assert_eq!((seen.code, seen.names(&path).len()), (3, 2), "{form} {name}: {}", seen.stderr);
            assert!(seen.problems.iter().any(|(_, text)| text.contains("in no directory")), "{:?}", seen.problems);
        }
        let both = [zip.as_slice(), &make::zip(Stored, &all[..1])].concat();
        assert_eq!(inspect(&file(&folder, "both.whl", &both)).code, 3, "{form}");
    }
}

/// Names of members that a value with a line break, a prefix, or a form of compression would hide.
#[test]
fn what_other_programs_see_behind_a_disguise_is_seen_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let record = |text: &str| {
        let with = |len: usize| format!("{len} {text}\n");
        (text.len()..).map(with).find(|line| line.starts_with(&format!("{} ", line.len()))).unwrap()
    };
    let header = [record("comment=a\n\nb"), record("path=b.spv")].concat();
    let mut named = tar::Header::new_ustar();
    named.set_size(header.len() as u64);
    named.set_entry_type(tar::EntryType::XHeader);
    named.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&named, header.as_bytes()).unwrap();
    let mut plain = tar::Header::new_ustar();
    plain.set_path("a.txt").unwrap();
    plain.set_size(module().len() as u64);
    plain.set_cksum();
    builder.append(&plain, module().as_slice()).unwrap();
    let path = file(&folder, "lines.tar", &builder.into_inner().unwrap());
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.names(&path)), (0, vec!["!b.spv".to_owned()]), "{}", seen.stderr);
    let zip = make::zip(Stored, &[("b.spv", &module())]);
    for name in ["a.whl", "in.zip"] {
        let disguised = [library().0, &zip].concat();
        let whole = if name == "a.whl" { disguised } else { make::zip(Stored, &[("x.WHL", &disguised)]) };
        let path = file(&folder, name, &whole);
        let seen = inspect(&path);
        assert!(
            seen.code == 0 && seen.names(&path).iter().all(|name| name.ends_with("!b.spv")),
            "{name}: {:?}",
            seen.names(&path)
        );
    }
    let unread = file(&folder, "a.deb", &make::archive(false, &[("data.tar.lzma", b"\x5d\0\0")]));
    let seen = inspect(&unread);
    assert_eq!(seen.code, 3, "{}", seen.stderr);
    assert!(seen.problems[0].1.contains("not read"), "{:?}", seen.problems);
}
