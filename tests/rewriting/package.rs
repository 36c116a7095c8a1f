//! Are the libraries of wheels and folders changed, all else kept, and `RECORD` right?

use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipArchive, ZipWriter};

use crate::support::embedding::{embedded, natives, read};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, matrix};

const RECORD: &str = "foo-1.0.dist-info/RECORD";

fn tool(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).current_dir(folder).output().unwrap()
}

fn hash(bytes: &[u8]) -> String {
    format!("sha256={},{}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())
}

/// A library, and the same with native images that an earlier run added.
fn library() -> (Vec<u8>, Vec<u8>) {
    let form: Fixture = matrix::loadable().into_iter().find(|form| !form.is_executable()).unwrap();
    let original = read(&form.build());
    let rewritten = embedded(&original, &natives(&original));
    (original, rewritten)
}

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let lines = members.iter().map(|(name, bytes)| format!("{name},{}\n", hash(bytes))).collect::<String>();
    let record = format!("{lines}{RECORD},,\n");
    for (name, bytes) in members.iter().chain(&[(RECORD, record.as_bytes())]) {
        let method = if name.ends_with(".txt") { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method).unix_permissions(0o755);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn members(wheel: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(std::fs::read(wheel).unwrap())).unwrap();
    let count = archive.len();
    let read = |index| {
        let mut member = archive.by_index(index).unwrap();
        assert_eq!(member.unix_mode().unwrap() & 0o777, 0o755);
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (member.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(read).collect()
}

#[test]
fn a_wheel_gets_its_libraries_back_as_they_were() {
    let (original, rewritten) = library();
    let folder = Folder::new();
    let all: [(&str, &[u8]); 3] = [("foo/liba.so", &rewritten), ("foo/b.txt", b"text"), ("foo/libc.so", &rewritten)];
    folder.file("foo-1.0-py3-none-any.whl", &wheel(&all));
    let output = tool(folder.path(), &["prune", "foo-1.0-py3-none-any.whl", "--restore", "-o", "out/"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("  foo/liba.so: ") && said.contains("out/foo-1.0-py3-none-any.whl: "), "{said}");
    let members = members(&folder.path().join("out/foo-1.0-py3-none-any.whl"));
    let record = format!(
        "foo/liba.so,{}\nfoo/b.txt,{}\nfoo/libc.so,{}\n{RECORD},,\n",
        hash(&original),
        hash(b"text"),
        hash(&original)
    );
    let expected: [(&str, &[u8]); 4] =
        [("foo/liba.so", &original), ("foo/b.txt", b"text"), ("foo/libc.so", &original), (RECORD, record.as_bytes())];
    let found: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    assert!(found == expected, "{:?}", found.iter().map(|(name, _)| name).collect::<Vec<_>>());
    // Nothing else is left there.
    assert_eq!(std::fs::read_dir(folder.path().join("out")).unwrap().count(), 1);
}

/// All else in a wheel stays: how `RECORD` is written, the archive's comment and its members' own, names with any sign, and modes
/// as Python on Windows writes them.
#[test]
fn a_wheel_keeps_what_is_not_changed() {
    const ATTRIBUTES: u32 = 0o100_755 << 16;
    let (original, rewritten) = library();
    let folder = Folder::new();
    let names = ["foo/lib\na.so", "foo/lib!b.so", "foo/\"c\",.so"];
    let fields = ["\"foo/lib\na.so\"", "foo/lib!b.so", "\"foo/\"\"c\"\",.so\""];
    let record = |bytes: &[u8]| {
        let rows = fields.map(|field| format!("{field},{}\r\n", hash(bytes)));
        format!("\"foo/x\ny.py\",sha256=\"kept\",1\r\n{}{RECORD},,", rows.concat())
    };
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.set_raw_comment(b"made by \xff"[..].into()).unwrap();
    let mut put = |name: &str, bytes: &[u8]| {
        let options = SimpleFileOptions::default().system(System::Dos).external_attributes(ATTRIBUTES);
        let options = options.into_full_options().with_file_comment("of a member");
        writer.start_file(name, options).unwrap();
        writer.write_all(bytes).unwrap();
    };
    names.iter().for_each(|name| put(name, &rewritten));
    put("foo/x\ny.py", b"x");
    put(RECORD, record(&rewritten).as_bytes());
    folder.file("foo.whl", &writer.finish().unwrap().into_inner());
    let output = tool(folder.path(), &["prune", "foo.whl", "--restore", "-o", "out/"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("stays as it is") && !said.contains("RECORD did"), "{said}");
    let bytes = std::fs::read(folder.path().join("out/foo.whl")).unwrap();
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    assert_eq!(archive.comment(), b"made by \xff");
    assert_eq!(archive.by_name("foo/x\ny.py").unwrap().comment(), "of a member");
    let mut read = |name: &str| {
        let mut bytes = Vec::new();
        let mut member = archive.by_name(name).unwrap();
        assert_eq!((member.system(), member.external_attributes()), (System::Dos, ATTRIBUTES), "{name}");
        member.read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(read("foo/x\ny.py"), b"x");
    assert!(names.iter().all(|name| read(name) == original));
    assert_eq!(String::from_utf8(read(RECORD)).unwrap(), record(&original));
}

/// uv takes a field of large files neither twice nor without a need.
#[test]
fn fields_of_large_files_are_not_copied() {
    let (original, rewritten) = library();
    let folder = Folder::new();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let record = format!("foo/a.so,{}\nfoo/b.txt,{}\n{RECORD},,\n", hash(&rewritten), hash(b"text"));
    for (name, bytes) in [("foo/a.so", rewritten.as_slice()), ("foo/b.txt", b"text"), (RECORD, record.as_bytes())] {
        writer.start_file(name, SimpleFileOptions::default().large_file(true).unix_permissions(0o755)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let wheel = writer.finish().unwrap().into_inner();
    let fields = |bytes: &[u8]| bytes.windows(4).filter(|four| *four == [1, 0, 16, 0]).count();
    assert!(fields(&wheel) > 0, "the wheel has none");
    folder.file("foo.whl", &wheel);
    let output = tool(folder.path(), &["prune", "foo.whl", "--restore", "-o", "out/"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.path().join("out/foo.whl");
    assert_eq!(fields(&std::fs::read(&path).unwrap()), 0);
    let members: Vec<Vec<u8>> = members(&path).into_iter().map(|(_, bytes)| bytes).collect();
    assert!(members[0] == original && members[1] == b"text");
}

#[test]
fn a_folder_is_changed_in_place_or_copied() {
    let (original, rewritten) = library();
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("foo/sub")).unwrap();
    folder.file("foo/sub/liba.so", &rewritten);
    folder.file("foo/b.txt", b"text");
    let at = |path: &str| std::fs::read(folder.path().join(path)).unwrap();
    let output = tool(folder.path(), &["prune", "foo", "--restore", "-o", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(at("out/sub/liba.so") == original && at("foo/sub/liba.so") == rewritten);
    let output = tool(folder.path(), &["prune", "foo", "--restore", "--in-place", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["files"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["bytes_after"], original.len() as u64);
    assert!(at("foo/sub/liba.so") == original);
    // Nothing is left to take away.
    assert_eq!(tool(folder.path(), &["prune", "foo", "--restore", "--in-place"]).status.code(), Some(1));
}

#[test]
fn what_cannot_be_packed_again_is_refused() {
    let (_, rewritten) = library();
    let folder = Folder::new();
    folder.file("foo.whl", &wheel(&[("foo/liba.so", &rewritten)]));
    folder.file("empty.whl", &wheel(&[("foo/b.txt", b"text")]));
    folder.file("liba.so", &rewritten);
    std::fs::create_dir(folder.path().join("other")).unwrap();
    folder.file("other/liba.so", &rewritten);
    let code = |arguments: &[&str]| {
        let output = tool(folder.path(), arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = code(&["prune", "liba.so", "other/liba.so", "--restore", "-o", "out/"]);
    assert!(status == Some(2) && said.contains("out/liba.so"), "two outputs of one name: {said}");
    let (status, said) = code(&["prune", "liba.so", "--restore", "-o", "other/liba.so/"]);
    assert!(status == Some(2) && said.contains("is a file"), "{said}");
    let (status, said) = code(&["prune", "foo.whl", "--restore", "-o", "./"]);
    assert!(status == Some(2) && said.contains("--in-place"), "{said}");
    let (status, said) = code(&["prune", "empty.whl", "--restore", "-o", "out/"]);
    assert_eq!(status, Some(6), "{said}");
    // A trial makes nothing.
    let (status, said) = code(&["build", "foo.whl", "-t", "spir64_x86_64", "--dry-run", "-o", "trial/"]);
    assert!(status == Some(0) && !folder.path().join("trial").exists(), "{said}");
}

/// A wheel stays as it was where a member would be lost, or changed beside the libraries.
#[test]
fn a_wheel_that_would_lose_something_stays() {
    let (_, rewritten) = library();
    let position = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).rposition(|window| window == what).unwrap();
    let same = wheel(&[("foo/a.so", &rewritten), ("./foo/a.so", b"text")]);
    let mut counted = wheel(&[("foo/a.so", &rewritten), ("foo/b.txt", b"text")]);
    let end = position(&counted, b"PK\x05\x06");
    counted[end + 8..end + 12].copy_from_slice(&[2, 0, 2, 0]);
    let mut encrypted = wheel(&[("foo/a.so", &rewritten), ("foo/b.txt", b"text")]);
    let listed = position(&encrypted, b"foo/b.txt") - 46;
    encrypted[listed + 8] |= 1;
    let mut summed = wheel(&[("foo/a.so", &rewritten), ("foo/b.txt", b"text")]);
    let listed = position(&summed, b"foo/b.txt") - 46;
    summed[listed + 16] ^= 1;
    let script = [b"#!/bin/sh\n".as_slice(), &wheel(&[("foo/a.so", &rewritten)])].concat();
    let prefixed = [b"PK".as_slice(), &wheel(&[("foo/a.so", &rewritten)])].concat();
    let followed = [wheel(&[("foo/a.so", &rewritten)]).as_slice(), b"signature"].concat();
    let mut unlisted = wheel(&[("foo/a.so", &rewritten), ("foo/b.txt", b"text")]);
    let (end, listed) = (position(&unlisted, b"PK\x05\x06"), position(&unlisted, b"foo/b.txt") - 46);
    unlisted[end + 8..end + 12].copy_from_slice(&[2, 0, 2, 0]);
    unlisted[end + 12] -= 55;
    unlisted.drain(listed..listed + 55);
    // A name in UTF-8 that is not marked as such would be marked, and be another one to pip.
    let mut unmarked = wheel(&[("foo/é.so", &rewritten)]);
    for (signature, flags) in [(b"PK\x01\x02", 8), (b"PK\x03\x04", 6)] {
        let name = "foo/é.so".as_bytes();
        let starts: Vec<usize> = (0..unmarked.len()).filter(|at| unmarked[*at..].starts_with(signature)).collect();
        let long = if flags == 8 { 46 } else { 30 };
        let at = starts.into_iter().find(|at| unmarked[at + long..].starts_with(name)).unwrap();
        assert_eq!(unmarked[at + flags + 1] & 8, 8);
        unmarked[at + flags + 1] &= !8;
    }
    for bytes in [same, counted, encrypted, summed, script, prefixed, followed, unlisted, unmarked] {
        let folder = Folder::new();
        folder.file("foo.whl", &bytes);
        let output = tool(folder.path(), &["prune", "foo.whl", "--restore", "--in-place"]);
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(folder.read("foo.whl") == bytes, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// No file can be called so: they ended as if the disk were at fault.
#[test]
fn members_without_a_files_name_stay() {
    let (_, rewritten) = library();
    for name in ["foo/x.so/", ""] {
        let folder = Folder::new();
        folder.file("foo.whl", &wheel(&[("foo/a.so", &rewritten), (name, &rewritten)]));
        let said = said(&folder, &["prune", "foo.whl", "--restore", "-o", "out/"], 3);
        assert!(said.contains("no name that a file can have"), "{name:?}: {said}");
        let members = members(&folder.path().join("out/foo.whl"));
        let bytes = |of: &str| members.iter().find(|(name, _)| name == of).map(|(_, bytes)| bytes.len()).unwrap();
        assert!(bytes(name) == rewritten.len() && bytes("foo/a.so") < rewritten.len(), "{name:?}");
    }
}

/// Whether an input is a package is told without a byte of a pipe.
#[test]
fn a_pipe_is_read_once() {
    let folder = Folder::new();
    folder.file("k.spv", &crate::support::spirv::module("add_one"));
    let line = "cat k.spv | \"$TOOL\" build /dev/stdin -t spir64_x86_64 --dry-run -o k.table";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder.path()).env("TOOL", env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("1 of 1 image would be compiled"), "{said}");
}

/// Defines `imported`, which the kernel `calls_import` of another image calls.
const EXPORTS: &str = "\
OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpMemoryModel Physical64 OpenCL
OpDecorate %imported LinkageAttributes \"imported\" Export
%uint = OpTypeInt 32 0
%unary = OpTypeFunction %uint %uint
%imported = OpFunction %uint None %unary
%argument = OpFunctionParameter %uint
%entry = OpLabel
%twice = OpIAdd %uint %argument %argument
OpReturnValue %twice
OpFunctionEnd
";

/// The folder of a wheel with two libraries: `liba.so` has three kernels, of which `halve` needs `fp64` and `calls_import`
/// a function that `libb.so` defines.
fn two_libraries() -> Folder {
    let folder = Folder::new();
    for name in ["add_one", "calls_import", "halve", "two_kernels"] {
        folder.file(&format!("{name}.spv"), &crate::support::spirv::module(name));
    }
    folder.file("exports.spv", &crate::support::spirv::assemble(EXPORTS).unwrap());
    said(&folder, &["wrap", "add_one.spv", "calls_import.spv", "halve.spv", "-o", "liba.so"], 0);
    said(&folder, &["wrap", "two_kernels.spv", "exports.spv", "-o", "libb.so"], 0);
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let (a, b) = (bytes("liba.so"), bytes("libb.so"));
    folder.file("foo.whl", &wheel(&[("foo/liba.so", &a), ("foo/libb.so", &b), ("foo/b.txt", b"text")]));
    folder
}

/// Runs the tool, which must end with `code`; gives standard error.
fn said(folder: &Folder, arguments: &[&str], code: i32) -> String {
    let output = tool(folder.path(), arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// Files of a package with their images, as `inspect` tells them.
fn images(folder: &Folder, path: &str) -> Vec<(String, Vec<serde_json::Value>)> {
    let output = tool(folder.path(), &["inspect", path, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = document["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            let path = file["path"].as_str().unwrap().to_owned();
            (path, file["images"].as_array().unwrap().clone())
        })
        .collect()
}

#[test]
fn a_wheel_is_filtered_file_by_file() {
    let folder = two_libraries();
    let text = said(&folder, &["filter", "foo.whl", "-t", "dg1", "-o", "out/"], 0);
    assert!(
        text.contains("out/foo.whl!foo/liba.so (embed) for intel_gpu_dg1: 3 images, 1 of them empty; 1 kernel"),
        "{text}"
    );
    assert!(text.contains("out/foo.whl!foo/libb.so (embed) for intel_gpu_dg1: 2 images, none of them empty"), "{text}");
    let members = members(&folder.path().join("out/foo.whl"));
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["foo/liba.so", "foo/libb.so", "foo/b.txt", RECORD]);
    let record = members.iter().find(|(name, _)| name == RECORD).map(|(_, bytes)| bytes.clone()).unwrap();
    assert!(String::from_utf8(record).unwrap().contains(&hash(&members[0].1)), "RECORD has the new hash");
    // A folder, and single files, likewise; a table only where one is named.
    std::fs::create_dir(folder.path().join("tree")).unwrap();
    for name in ["liba.so", "libb.so"] {
        std::fs::copy(folder.path().join(name), folder.path().join("tree").join(name)).unwrap();
    }
    said(&folder, &["filter", "tree", "-t", "dg1", "-o", "copies"], 0);
    said(&folder, &["filter", "liba.so", "libb.so", "-t", "dg1", "-o", "singly/"], 0);
    for name in ["liba.so", "libb.so"] {
        let bytes = |path: String| std::fs::read(folder.path().join(path)).unwrap();
        assert!(bytes(format!("copies/{name}")) == bytes(format!("singly/{name}")), "{name}");
    }
    said(&folder, &["filter", "liba.so", "libb.so", "-t", "dg1", "-o", "all.table"], 0);
    said(&folder, &["filter", "liba.so", "libb.so", "-t", "dg1", "-o", "one.so", "--emit", "embed"], 2);
}

#[test]
fn images_come_into_the_files_of_a_wheel_that_have_their_kernels() {
    let folder = two_libraries();
    let text = said(&folder, &["embed", "foo.whl", "add_one.spv", "two_kernels.spv", "--replace", "-o", "out/"], 0);
    assert!(text.starts_with("2 images added\n2 of 5 images removed"), "{text}");
    let (before, after) = (images(&folder, "foo.whl"), images(&folder, "out/foo.whl"));
    for ((path, before), (_, after)) in before.iter().zip(&after) {
        let kernels = |images: &[serde_json::Value]| {
            let mut kernels: Vec<String> = images.iter().map(|image| image["kernels"].to_string()).collect();
            kernels.sort();
            kernels
        };
        assert_eq!(kernels(before), kernels(after), "{path}");
    }
    // An image of which no file has a kernel has no place; nothing is written, and no folder stays.
    folder.file("count.spv", &crate::support::spirv::module("count"));
    let text = said(&folder, &["embed", "foo.whl", "add_one.spv", "count.spv", "-o", "none/"], 1);
    assert!(text.contains("no file in it has the kernels of 1 image, such as `count`"), "{text}");
    assert!(!folder.path().join("none").exists());
}

/// Images of the device library list no kernel: they go where the images beside them go.
#[test]
fn images_without_kernels_come_into_files_with_those_beside_them() {
    let folder = two_libraries();
    let more = Fixture::new("packaged").images(crate::support::host::samples::every_property()).build();
    folder.file("more.so", &read(&more));
    let both = ["embed", "foo.whl", "more.so", "--image", "1", "--image", "5", "-o", "out/"];
    let text = said(&folder, &both, 0);
    assert!(text.contains("2 images added"), "{text}");
    let has = |images: &[serde_json::Value]| {
        images.iter().any(|image| image["properties"].to_string().contains("SYCL/devicelib metadata"))
    };
    let with: Vec<(String, bool)> =
        images(&folder, "out/foo.whl").into_iter().map(|(path, images)| (path, has(&images))).collect();
    assert_eq!(
        with.iter().map(|(path, has)| (path.ends_with("liba.so"), *has)).collect::<Vec<_>>(),
        [(true, true), (false, false)]
    );
    let text = said(&folder, &["embed", "foo.whl", "more.so", "--image", "5", "-o", "none/"], 1);
    assert!(text.contains("nothing tells which file 1 image without a kernel goes into"), "{text}");
}

/// Opcodes of the last module that `extract` writes for `calls_import`.
fn opcodes(folder: &Folder, path: &str) -> std::collections::BTreeSet<u16> {
    let parts = tempfile::tempdir_in(folder.path()).unwrap();
    said(folder, &["extract", path, "--kernel", "calls_import", "-o", parts.path().to_str().unwrap()], 0);
    let paths = std::fs::read_dir(parts.path()).unwrap().map(|entry| entry.unwrap().path());
    let modules: Vec<Vec<u8>> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "spv"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let [module] = modules.as_slice() else { panic!("{} modules", modules.len()) };
    let words: Vec<u32> = module.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let (mut at, mut found) = (5, std::collections::BTreeSet::new());
    while let Some(word) = words.get(at) {
        found.insert(*word as u16);
        at += (*word >> 16).max(1) as usize;
    }
    found
}

/// Images that are not selected define what no selected one does, and nothing else: in tables, linked files and folders, and
/// for devices.
#[test]
fn selected_definitions_come_before_others() {
    const ADD: u16 = 128;
    const MULTIPLY: u16 = 132;
    let folder = two_libraries();
    let rival = crate::support::spirv::assemble(&EXPORTS.replace("OpIAdd", "OpIMul")).unwrap();
    folder.file("rival.spv", &rival);
    let modules = ["calls_import.spv", "rival.spv", "exports.spv"];
    said(&folder, &[&["wrap"], &modules[..], &["-o", "t.table"]].concat(), 0);
    said(&folder, &[&["wrap"], &modules[..], &["-o", "t.so"]].concat(), 0);
    for input in ["t.table", "t.so"] {
        for (other, opcode, not) in [("1", MULTIPLY, ADD), ("2", ADD, MULTIPLY)] {
            let some = ["link", input, "--each", "--image", "0", "--image", other, "-o", "some.table"];
            assert!(said(&folder, &some, 0).contains("2 images of 2 images"));
            let found = opcodes(&folder, "some.table");
            assert!(found.contains(&opcode) && !found.contains(&not), "{input} {other}: {found:?}");
        }
    }
    // Images that were selected away are no rivals in copies, neither in the own file nor before it in another.
    for (other, opcode) in [("1", MULTIPLY), ("2", ADD)] {
        let some = ["link", "t.so", "--each", "--image", "0", "--image", other, "--emit", "embed", "-o", "copy.so"];
        said(&folder, &some, 0);
        assert!(opcodes(&folder, "copy.so").contains(&opcode), "{other}");
    }
    said(&folder, &["link", "t.so", "--each", "--emit", "embed", "-o", "none.so"], 4);
    // Without any that is selected, others define it; those of standard input, too.
    said(&folder, &["link", "t.so", "--each", "--kernel", "calls_import", "-o", "alone.table"], 0);
    assert!(opcodes(&folder, "alone.table").contains(&MULTIPLY));
    let line = "cat t.so | \"$TOOL\" link - --each --kernel calls_import -o alone.table";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).current_dir(folder.path()).env("TOOL", env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Objects are linked as the driver or, for GPUs, this linker links them: the compiler gets the module.
    said(&folder, &[&["compile"], &modules[..], &["-t", "intel_gpu_pvc", "-o", "objects.table"]].concat(), 0);
    // The compiler writes nowhere but says which instructions there are: words of OpIAdd and OpIMul with five words each.
    let script = "#!/bin/sh\ncase \"$1 $2\" in\n'query OCL_DRIVER_VERSION') printf 99.1 > OCL_DRIVER_VERSION ;;\n\
                  'compile --help') ;;\ncompile*)\n  while [ $# -gt 0 ]; do [ \"$1\" = -file ] && MODULE=$2; shift; done\n  \
                  od -An -v -tx4 -w4 \"$MODULE\" | sed -n 's/ 00050080/it adds/p; s/ 00050084/it multiplies/p' >&2; exit 1 ;;\nesac\n";
    folder.file("ocloc", script.as_bytes());
    let path = folder.path().join("ocloc");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    for (other, word, not) in [("1", "it multiplies", "it adds"), ("2", "it adds", "it multiplies")] {
        let mut link = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        link.args(["link", "objects.table", "--each", "--image", "0", "--image", other, "--for", "intel_gpu_pvc"]);
        link.args(["-o", "device.table", "--ocloc"]).arg(&path).current_dir(folder.path());
        let output = link.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(4) && text.contains(word) && !text.contains(not), "{other}: {text}");
    }
}

#[test]
fn images_of_a_wheel_are_linked_with_those_of_its_other_files() {
    let folder = two_libraries();
    let text = said(&folder, &["link", "foo.whl", "--each", "-o", "out/"], 0);
    assert!(text.contains("foo/liba.so: 3 images") && !text.contains("foo/libb.so"), "{text}");
    let imports = |path: &str| -> Vec<String> {
        let images = images(&folder, path).into_iter().flat_map(|(_, images)| images);
        images.map(|image| image["imports"].to_string()).filter(|imports| imports != "[]").collect()
    };
    assert_eq!((imports("foo.whl"), imports("out/foo.whl")), (vec!["[\"imported\"]".to_owned()], Vec::new()));
    // A definition of the own file comes before those of others, and of others' there may be one alone.
    folder.file("rival.spv", &crate::support::spirv::assemble(&EXPORTS.replace("OpIAdd", "OpIMul")).unwrap());
    std::fs::create_dir(folder.path().join("own")).unwrap();
    std::fs::create_dir(folder.path().join("open")).unwrap();
    said(&folder, &["wrap", "rival.spv", "-o", "own/a.so"], 0);
    said(&folder, &["wrap", "calls_import.spv", "exports.spv", "-o", "own/b.so"], 0);
    said(&folder, &["link", "own", "--each", "-o", "own-linked"], 0);
    said(&folder, &["extract", "own-linked/b.so", "--kernel", "calls_import", "-o", "parts"], 0);
    let parts = std::fs::read_dir(folder.path().join("parts")).unwrap().map(|entry| entry.unwrap().path());
    let module =
        parts.filter(|path| path.extension().is_some_and(|end| end == "spv")).map(|path| std::fs::read(path).unwrap());
    let module = module.last().unwrap();
    let has = |opcode: u8| module.chunks_exact(4).any(|word| word[..2] == [opcode, 0] && word[2..] == [5, 0]);
    assert!(has(128) && !has(132), "OpIAdd of the own file, and not OpIMul of the other");
    std::fs::copy(folder.path().join("libb.so"), folder.path().join("open/b.so")).unwrap();
    std::fs::copy(folder.path().join("own/a.so"), folder.path().join("open/c.so")).unwrap();
    std::fs::copy(folder.path().join("liba.so"), folder.path().join("open/a.so")).unwrap();
    let text = said(&folder, &["link", "open", "--each", "-o", "open-linked"], 4);
    assert!(text.contains("`imported` is defined differently by open/b.so image 1 and by open/c.so image 0"), "{text}");
    // A single file has what it needs in no other, and what cannot be completed is an error of linking.
    let text = said(&folder, &["link", "liba.so", "--each", "--emit", "embed", "-o", "none/liba.so"], 4);
    assert!(text.contains("imported") && !folder.path().join("none").exists(), "{text}");
    // Nothing imports anything there.
    said(&folder, &["link", "libb.so", "--each", "-o", "none/"], 1);
    assert!(!folder.path().join("none").exists());
}

/// A wheel in which nothing matches stays as it is, and its signature.
#[test]
fn what_is_not_changed_is_not_packed_again() {
    let folder = two_libraries();
    let b = std::fs::read(folder.path().join("libb.so")).unwrap();
    folder.file("other.whl", &wheel(&[("foo/libb.so", &b), ("foo-1.0.dist-info/RECORD.jws", b"signature")]));
    let before = std::fs::read(folder.path().join("other.whl")).unwrap();
    let arguments = ["prune", "foo.whl", "other.whl", "--kernel", "halve", "--lose-kernels"];
    let text = said(&folder, &[&arguments[..], &["-o", "out/"]].concat(), 0);
    assert!(!text.contains("RECORD.jws") && text.contains("foo/liba.so: 2 images"), "{text}");
    assert!(std::fs::read(folder.path().join("out/other.whl")).unwrap() == before);
    said(&folder, &[&arguments[..], &["--in-place"]].concat(), 0);
    assert!(std::fs::read(folder.path().join("other.whl")).unwrap() == before);
}

/// Beside a wheel its folder is named, too: what is unpacked there meanwhile is none of the user's, and a wheel in a folder is
/// told to stay.
#[test]
fn what_is_unpacked_is_not_taken_for_a_file_of_the_user() {
    let folder = two_libraries();
    std::fs::create_dir(folder.path().join("dist")).unwrap();
    for name in ["foo.whl", "liba.so"] {
        std::fs::copy(folder.path().join(name), folder.path().join("dist").join(name)).unwrap();
    }
    let arguments = ["prune", "dist/foo.whl", "dist", "--kernel", "halve", "--lose-kernels", "--in-place"];
    let text = said(&folder, &arguments, 0);
    assert!(text.contains("2 of 6 images removed") && !text.contains(".sycl-bundle-"), "{text}");
    assert!(text.contains("dist/foo.whl stays as it is: it is a package within the folder"), "{text}");
    // Files are no folders, and standard input has no name.
    let text = said(&folder, &["prune", "dist", "--image", "0", "-o", "add_one.spv"], 2);
    assert!(text.contains("is a file, and the copies need a folder"), "{text}");
    let text = said(&folder, &["embed", "-", "add_one.spv", "-o", "out/"], 2);
    assert!(text.contains("standard input has no name"), "{text}");
}
