//! Is every form of package read, alone and inside others?

use super::{file, hollow, inspect, inspect_with, library, make, module};
use crate::support::built::Recipe;
use std::process::Command;
use zip::CompressionMethod::{Deflated, Stored, Zstd};

const TEXT: &[u8] = b"#!/usr/bin/env python3\nprint('no device code')\n";

#[test]
fn wheels_by_every_method() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    let host = hollow();
    for method in [Stored, Deflated, Zstd] {
        let members: [(&str, &[u8]); 4] =
            [("p/__init__.py", TEXT), ("p/x.so", bytes), ("p/host.so", &host), ("p/x.spv", &module())];
        let path = file(&folder, "p-1.0-py3-none-any.whl", &make::zip(method, &members));
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.problems.len()), (0, 0), "{}", seen.stderr);
        assert_eq!(seen.names(&path), ["!p/x.so", "!p/x.spv"]);
        assert_eq!(seen.files.len(), 2, "what holds none is not listed");
        assert_eq!(seen.files[0].1, images);
        assert_eq!(seen.uris.iter().all(Option::is_some), method == Stored);
        assert_eq!(inspect_with(&path, &["-v"]).files.len(), 3);
        if method == Stored {
            let uri = seen.uris.last().unwrap().clone().unwrap();
            let number = |key: &str| uri.split(key).nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
            let (at, size): (usize, usize) = (number("offset="), number("size="));
            assert_eq!(std::fs::read(&path).unwrap()[at..at + size], module());
        }
    }
}

#[test]
fn a_wheel_without_device_code_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let host = hollow();
    let path = file(&folder, "p.whl", &make::zip(Deflated, &[("p/a.py", TEXT), ("p/host.so", &host)]));
    let seen = inspect(&path);
    assert_eq!((seen.code, seen.problems.len()), (6, 0), "{}", seen.stderr);
    assert_eq!(seen.stderr.matches("no device code").count(), 1, "{}", seen.stderr);
    let empty = file(&folder, "empty.zip", &make::zip(Stored, &[]));
    assert_eq!(inspect(&empty).code, 6);
}

#[test]
fn tar_by_every_compressor() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    let long = format!("{}x.so", "a-long-name/".repeat(20));
    let tar = make::tar(&[("a.txt", TEXT), (&long, bytes), ("lib/b.spv", &module())]);
    let same: fn(&[u8]) -> Vec<u8> = <[u8]>::to_vec;
    for (name, compress) in [
        ("a.tar", same),
        ("a.tar.gz", make::gz),
        ("a.tar.bz2", make::bz2),
        ("a.tar.xz", make::xz),
        ("a.tar.zst", make::zstd),
    ] {
        let path = file(&folder, name, &compress(&tar));
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.problems.len()), (0, 0), "{name}: {}", seen.stderr);
        assert_eq!(seen.names(&path), [format!("!{long}"), "!lib/b.spv".to_owned()], "{name}");
        assert_eq!(seen.files[0].1, images);
        assert_eq!(seen.uris.iter().all(Option::is_some), name == "a.tar");
    }
}

#[test]
fn pax_names_and_single_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("comment", b"first".as_slice()), ("path", b"the/real name.spv")]).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_size(module().len() as u64);
    builder.append_data(&mut header, "shortened", module().as_slice()).unwrap();
    let path = file(&folder, "pax.tar", &builder.into_inner().unwrap());
    assert_eq!(inspect(&path).names(&path), ["!the/real name.spv"]);
    let path = file(&folder, "k.spv.gz", &make::gz(&module()));
    assert_eq!(inspect(&path).names(&path), ["!k.spv"]);
    let path = file(&folder, "man.1.gz", &make::gz(TEXT));
    assert_eq!(inspect(&path).code, 6);
}

#[test]
fn conda_and_debian_packages() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    let tar = make::tar(&[("lib/x.so", bytes), ("info/index.json", b"{}")]);
    let info = make::tar(&[("info/about.json", b"{}")]);
    let (inner, info) = (make::zstd(&tar), make::zstd(&info));
    let conda = [("metadata.json", &b"{}"[..]), ("pkg-x.tar.zst", &inner), ("info-x.tar.zst", &info)];
    let deb = |tar: &[u8], name: &str| {
        let control = make::gz(&make::tar(&[("./control", TEXT)]));
        make::archive(false, &[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), (name, tar)])
    };
    for (name, package, expected) in [
        ("x-1.conda", make::zip(Stored, &conda), "!pkg-x.tar.zst!lib/x.so"),
        ("x-1.tar.bz2", make::bz2(&tar), "!lib/x.so"),
        ("x_1.deb", deb(&make::xz(&tar), "data.tar.xz"), "!data.tar.xz!lib/x.so"),
        ("x_2.deb", deb(&inner, "data.tar.zst"), "!data.tar.zst!lib/x.so"),
        ("x_3.deb", deb(&make::gz(&tar), "data.tar.gz"), "!data.tar.gz!lib/x.so"),
    ] {
        let path = file(&folder, name, &package);
        let seen = inspect(&path);
        assert_eq!((seen.code, seen.problems.len()), (0, 0), "{name}: {}", seen.stderr);
        assert_eq!((seen.names(&path), seen.images().as_slice()), (vec![expected.to_owned()], images), "{name}");
        assert!(seen.uris.iter().all(Option::is_none));
    }
}

#[test]
fn archives_by_every_way_to_name_members() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = library();
    let members: [(&str, &[u8]); 3] = [("a.spv", &module()), ("a name beyond sixteen.so", bytes), ("t.txt", TEXT)];
    for bsd in [false, true] {
        let path = file(&folder, "liba.a", &make::archive(bsd, &members));
        let seen = inspect(&path);
        assert_eq!(seen.names(&path), ["!a.spv", "!a name beyond sixteen.so"], "{}", seen.stderr);
        assert!(seen.code == 0 && seen.uris.iter().all(Option::is_some));
    }
    // A library of libraries, as binutils make it.
    let recipe = Recipe::new("outer-archive").input("liba.a", make::archive(false, &members)).output("libouter.a");
    let outer = recipe.run(["ar", "qcD", "libouter.a", "liba.a"]).path("libouter.a");
    assert_eq!(inspect(&outer).names(&outer), ["!liba.a!a.spv", "!liba.a!a name beyond sixteen.so"]);
}

/// Linkers take what is not a list under the name of one for an object.
#[test]
fn objects_under_the_names_of_lists_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let member = |name: &str, bytes: &[u8]| {
        let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len());
        [head.as_bytes(), bytes, if bytes.len() % 2 == 1 { b"\n" } else { b"" }].concat()
    };
    let plain = member("b.spv/", &module());
    let list = |size: usize| member("/", &vec![0; size]);
    for (name, before, is_behind) in [
        ("__.SYMDEF", Vec::new(), false),
        ("__.SYMDEF SORTED", Vec::new(), false),
        ("__.SYMDEF_64", Vec::new(), false),
        ("__.SYMDEF/", Vec::new(), false),
        ("/<ECSYMBOLS>/", [list(4), list(8)].concat(), false),
        ("__.SYMDEF", Vec::new(), true),
    ] {
        let hidden = match is_behind {
            true => member(&format!("#1/{}", name.len()), &[name.as_bytes(), &module()].concat()),
            false => member(name, &module()),
        };
        let archive = [b"!<arch>\n", &before[..], &hidden, &plain].concat();
        let path = file(&folder, "liba.a", &archive);
        let seen = inspect(&path);
        let names = seen.names(&path);
        assert_eq!((seen.code, names.len()), (0, 2), "{name}: {names:?} {}", seen.stderr);
    }
    let listed = [b"!<arch>\n", &list(4)[..], &plain].concat();
    let path = file(&folder, "liba.a", &listed);
    assert_eq!(inspect(&path).names(&path), ["!b.spv"]);
}

#[test]
fn members_of_thin_archives_are_files_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    file(&folder, "obj/x.so", bytes);
    let script = "mkdir obj lib && cp x.so obj && ar qcTD lib/libthin.a obj/x.so && cp lib/libthin.a .";
    let recipe = Recipe::new("thin-archive").input("x.so", bytes).output("libthin.a").run(["sh", "-c", script]);
    let thin = file(&folder, "lib/libthin.a", &recipe.bytes("libthin.a"));
    assert!(std::fs::read(&thin).unwrap().starts_with(b"!<thin>"));
    let seen = inspect(&thin);
    assert_eq!((seen.code, seen.images().as_slice()), (0, images), "{}", seen.stderr);
    assert!(seen.files[0].0.ends_with("x.so") && seen.files[0].0.contains("libthin.a!"));
    assert!(seen.uris.iter().all(Option::is_some));
}

#[test]
fn packages_on_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "p.whl", &make::zip(Deflated, &[("x.spv", &module())]));
    let output = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .args(["inspect", "--format", "jsonl", "-"])
        .stdin(std::fs::File::open(path).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stdout.starts_with(b"{\"path\":\"-!x.spv\","));
}
