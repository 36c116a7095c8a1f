//! Is every file of a folder met once, whatever else is in there?

use super::{file, hollow, inspect, library, make, module, run};
use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use zip::CompressionMethod::{Deflated, Stored};

#[test]
fn files_in_order_and_packages_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    file(&folder, "z.spv", &module());
    file(&folder, "b/x.so", bytes);
    file(&folder, "b/host.so", &hollow());
    file(&folder, "b/empty", b"");
    file(&folder, "a.txt", b"text");
    file(&folder, "dist/p.whl", &make::zip(Deflated, &[("p/k.spv", &module())]));
    let seen = inspect(folder.path());
    assert_eq!((seen.code, seen.problems.len()), (0, 0), "{}", seen.stderr);
    assert_eq!(seen.names(folder.path()), ["/b/x.so", "/dist/p.whl!p/k.spv", "/z.spv"]);
    assert_eq!((seen.files.len(), seen.files[0].1.as_slice(), seen.stderr.as_str()), (3, images, ""));
}

#[test]
fn a_folder_without_device_code_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(inspect(folder.path()).code, 6);
    file(&folder, "host.so", &hollow());
    file(&folder, "a.txt", b"text");
    let seen = inspect(folder.path());
    assert_eq!((seen.code, seen.problems.len()), (6, 0));
    assert_eq!(seen.stderr.matches("no device code").count(), 1, "{}", seen.stderr);
}

/// Members of packages are told, too.
#[test]
fn archives_in_forms_that_are_not_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "a.spv", &module());
    file(&folder, "in/b.tar.lzma", b"\x5d\0\0");
    file(&folder, "in/c.cpio", b"070701");
    file(&folder, "in/d.tar", &make::tar(&[("e.cpio", b"070701")]));
    file(&folder, "in/f.txt", b"text");
    file(&folder, "in/g.bin", b"\xed\xab\xee\xdb\x03\0");
    file(&folder, "in/h.jar", b"7z\xbc\xaf\x27\x1c\0\x04");
    file(
        &folder,
        "in/i.tar",
        &make::tar(&[("j.snap", b"hsqs\0\0"), ("k.zip", b"Rar!\x1a\x07\x01\0"), ("l.snap", b"exports[`a`] = 1")]),
    );
    file(&folder, "in/m.ISO", b"\0\0");
    file(&folder, "in/o.whl", &make::zip(Stored, &[("p.rpm", b"\xed\xab\xee\xdb"), ("q.txt", b"text")]));
    file(&folder, "in/r.whl", &make::zip(Deflated, &[("s.cpio", b"070701")]));
    file(&folder, "in/t.so.lzma", b"\x5d\0\0");
    file(&folder, "in/u", &[&b"070701"[..], &[b'0'; 104]].concat());
    file(&folder, "in/v.deb", b"0.939000\n");
    file(&folder, "in/w.txt.lzma", b"\x5d\0\0");
    file(&folder, "in/x.csv", &[&b"070701;"[..], &[b'0'; 104]].concat());
    file(&folder, "in/y.so.1.2.lz4", b"\x04\x22\x4d\x18");
    // An AppImage is a program with a file system behind it.
    let program = std::fs::read("/proc/self/exe").unwrap();
    file(&folder, "in/n", &[&program[..8], b"AI\x02", &program[11..]].concat());
    // Installers and programs of PyInstaller have an archive there.
    let host = hollow();
    file(&folder, "in/za", &[&host[..], b"\x1f\x8b\x08\0"].concat());
    file(
        &folder,
        "in/zb.tar",
        &make::tar(&[("zc", &[&host[..], b"PYZ\0MEI\x0c\x0b\x0a\x0b\x0e", &[0; 80]].concat()[..])]),
    );
    file(&folder, "in/zd", &[&host[..], &[0; 64]].concat());
    file(&folder, "in/zda", &[&host[..], b"NullsoftInst"].concat());
    file(&folder, "in/ze", &[&b"\xc7\x71\0\0\0\0\xa4\x81"[..], &[0; 12], b"\x02\0\0\0\0\0k\0"].concat());
    file(&folder, "in/zf", &[&b"\xc7\x71\0\0\0\0\xa4\x81"[..], &[0; 12], b"\x03\0\0\0\0\0k\0"].concat());
    // And a script that unpacks what is behind it.
    let script = |archive: &[u8]| [&b"#!/bin/sh\n"[..], &b"# more\n".repeat(500), b"exit 0\n", archive].concat();
    file(&folder, "in/zg", &script(b"\xfd7zXZ\0\0"));
    file(&folder, "in/zh", &script(b"echo\n"));
    file(&folder, "in/zha", &script(b"BZh*) echo bzip2;;\nBZh \xe4\n070701 1 2\nhsqs \xe4\n0.939000\n"));
    file(&folder, "in/zhaa", &script(b"BZh91AY&SY\x01\x02\x03\x04"));
    for (name, archive) in
        [("zhab", &b"\x89LZO\0\r\n\x1a\n"[..]), ("zhac", b"LZIP\x01\x0c"), ("zhad", b"\x1f\x9d\x90k")]
    {
        file(&folder, &format!("in/{name}"), &script(archive));
    }
    file(&folder, "in/zhb", &script(&[&[b'a'; 256][..], b"\n", b"ustar", &[b'b'; 600]].concat()));
    // Of programs that are no 64-bit ones, too.
    let mut dll = vec![0; 0x400];
    dll[..2].copy_from_slice(b"MZ");
    dll[0x3c] = 0x40;
    dll[0x40..0x46].copy_from_slice(b"PE\0\0\x4c\x01");
    dll[0x46] = 1;
    dll[0x54] = 0xe0;
    dll[0x58..0x5a].copy_from_slice(&[0x0b, 1]);
    let section = 0x58 + 0xe0;
    dll[section + 16..section + 24].copy_from_slice(&[0, 2, 0, 0, 0, 2, 0, 0]);
    file(&folder, "in/zhc.exe", &[&dll[..], b"7z\xbc\xaf\x27\x1c", &[1; 600]].concat());
    let mut symbols = dll.clone();
    symbols[0x4c..0x54].copy_from_slice(&[0, 0, 0, 0, 255, 255, 255, 0]);
    file(&folder, "in/zhd.exe", &[&symbols[..], b"7z\xbc\xaf\x27\x1c", &[1; 600]].concat());
    file(&folder, "in/zhe.exe", &dll);
    file(&folder, "in/zi.whl", &make::zip(Deflated, &[("zj.sh", &script(&make::tar(&[("k.spv", &module())])))]));
    let seen = inspect(folder.path());
    assert_eq!((seen.code, seen.names(folder.path())), (3, vec!["/a.spv".to_owned()]), "{}", seen.stderr);
    let told: Vec<&str> = seen.problems.iter().map(|(path, _)| path.rsplit(['/', '!']).next().unwrap()).collect();
    let all = [
        "b.tar.lzma",
        "c.cpio",
        "e.cpio",
        "g.bin",
        "h.jar",
        "j.snap",
        "k.zip",
        "m.ISO",
        "n",
        "p.rpm",
        "s.cpio",
        "t.so.lzma",
        "u",
        "v.deb",
        "y.so.1.2.lz4",
        "za",
        "zc",
        "zda",
        "ze",
        "zg",
        "zhaa",
        "zhab",
        "zhac",
        "zhad",
        "zhc.exe",
        "zhd.exe",
        "zj.sh",
    ];
    assert_eq!(told, all, "{:?}", seen.problems);
    // Whoever names a program is told, too.
    for (name, code) in [("za", 3), ("zd", 6), ("zda", 3), ("zhc.exe", 3), ("zhe.exe", 6)] {
        let seen = inspect(&folder.path().join("in").join(name));
        assert_eq!(seen.code, code, "{name}: {}", seen.stderr);
    }
}

/// Compilers, preprocessors and people write comments before the first statement, which ptxas takes.
#[test]
fn ptx_is_known_behind_comments_of_any_form() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = b".version\t8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    let comments: [&[u8]; 5] =
        [b"", b"/* one\n * two */\n", b"# 1 \"a.cu\"\n", b"\n //\n", &b"// license\n".repeat(1000)];
    for (nth, comment) in comments.iter().enumerate() {
        file(&folder, &format!("{nth}.ptx"), &[comment, &ptx[..]].concat());
    }
    file(&folder, "5.whl", &make::zip(Deflated, &[("k.ptx", &[comments[4], ptx].concat())]));
    file(&folder, "6.c", &comments[4].repeat(2));
    file(&folder, "7.css", b"/* theme */\n.version {\n}\n");
    file(&folder, "8.jq", &[comments[4], b"# more\n.version | tostring\n"].concat());
    let seen = inspect(folder.path());
    let names = ["/0.ptx", "/1.ptx", "/2.ptx", "/3.ptx", "/4.ptx", "/5.whl!k.ptx"];
    assert_eq!((seen.code, seen.names(folder.path())), (0, names.map(str::to_owned).to_vec()), "{}", seen.stderr);
}

#[test]
fn links_are_followed_once_and_cycles_end() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    file(&folder, "in/lib/libx.so.1.2", &module());
    let inside = folder.path().join("in");
    for (name, target) in [
        ("lib/liba.so", "libx.so.1.2"),
        ("lib/libx.so", "libx.so.1"),
        ("lib/libx.so.1", "libx.so.1.2"),
        ("lib/nowhere", "missing"),
        ("lib/self", "self"),
        ("lib/up", ".."),
        ("root", "/"),
        ("two", "lib"),
    ] {
        symlink(target, inside.join(name)).unwrap();
    }
    file(&outside, "sub/k.spv", &module());
    symlink(outside.path(), inside.join("out")).unwrap();
    symlink(outside.path().join("sub"), inside.join("out-again")).unwrap();
    symlink(outside.path().join("sub/k.spv"), inside.join("k.spv")).unwrap();
    symlink(outside.path().join("sub"), outside.path().join("sub/cycle")).unwrap();
    symlink(&inside, outside.path().join("back")).unwrap();
    let seen = inspect(&inside);
    assert_eq!((seen.code, seen.problems.len()), (0, 0), "{}", seen.stderr);
    assert_eq!(seen.names(&inside), ["/k.spv", "/lib/libx.so.1.2"]);
}

#[test]
fn a_link_hides_nothing_from_another() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    file(&outside, "sub/x.spv", &module());
    file(&outside, "y.spv", &module());
    let inside = folder.path();
    symlink(outside.path().join("sub"), inside.join("a")).unwrap();
    symlink(outside.path(), inside.join("b")).unwrap();
    let seen = inspect(inside);
    assert_eq!((seen.code, seen.problems.len()), (0, 0), "{}", seen.stderr);
    assert_eq!(seen.names(inside), ["/a/x.spv", "/b/y.spv"]);
    // A link that cannot be followed is told.
    symlink("x".repeat(300), inside.join("long")).unwrap();
    let seen = inspect(inside);
    assert!(seen.code == 3 && seen.stderr.contains("cannot follow the link"), "{}", seen.stderr);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "k.spv", &module());
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_bits_truncate(0o644),
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    symlink("/dev/zero", folder.path().join("zero")).unwrap();
    symlink("/dev/tty", folder.path().join("tty")).unwrap();
    symlink("pipe", folder.path().join("link-to-pipe")).unwrap();
    let seen = inspect(folder.path());
    assert_eq!((seen.code, seen.problems.len(), seen.images().len()), (0, 0, 1), "{}", seen.stderr);
}

#[test]
fn what_cannot_be_read_is_told_and_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "k.spv", &module());
    // Reading its first byte fails for everybody.
    symlink("/proc/self/mem", folder.path().join("a")).unwrap();
    file(&folder, "cut.so", &library().0[..200]);
    let seen = inspect(folder.path());
    assert_eq!((seen.code, seen.names(folder.path())), (3, vec!["/k.spv".to_owned()]));
    let told: Vec<_> = seen.problems.iter().map(|(path, _)| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(told, ["a", "cut.so"]);
    assert!(seen.stderr.contains("cut.so"), "{}", seen.stderr);
}

#[test]
fn build_takes_linked_files_of_packages() {
    let folder = tempfile::tempdir().unwrap();
    let wheel = file(&folder, "p.whl", &make::zip(Deflated, &[("k.spv", &module())]));
    let out = folder.path().join("out");
    for input in [wheel.as_path(), folder.path()] {
        let arguments = [OsStr::new("build"), input.as_os_str(), OsStr::new("-t"), OsStr::new("spir64_x86_64")];
        let run = run(&[arguments.as_slice(), &[OsStr::new("-o"), out.as_os_str()]].concat());
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert!(run.stderr.contains("no linked file in it lists images for the SYCL runtime"), "{}", run.stderr);
        assert!(!out.exists(), "a command that fails leaves nothing");
    }
}
