//! Do LLVM's tools take a library for Windows to which images were added for a sound one?

use std::collections::HashSet;
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::host::{Fixture, out_images, raw_values, samples};
use crate::support::tools::tool;
use sycl_bundle::rewrite::{layers, pe};

/// Few base relocations find room in the slack of `.reloc`, many do not.
#[test]
fn readers_complain_of_nothing() {
    let original = std::fs::read(Fixture::new("slack").images(vec![samples::image("halve")]).build_dll()).unwrap();
    for count in [1, 300] {
        let images = vec![samples::add_one(); count];
        let raw = raw_values(&images);
        let edited = layers::edit(&original, &HashSet::new(), &out_images(&images, &raw), &[]).unwrap();
        let folder = Folder::new();
        folder.put("joined.dll", &edited.bytes);
        for (program, option) in
            [("llvm-readobj", "--coff-basereloc"), ("llvm-objdump", "-p"), ("llvm-readobj", "--all")]
        {
            let output = folder.run(tool(program), [option, "joined.dll"]);
            assert!(output.stderr.is_empty(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// A library with a signature as the loader finds it: an entry of the data directories that leads to the end of the file.
fn signed(library: &[u8]) -> Vec<u8> {
    let mut signed = library.to_vec();
    let header = u32::from_le_bytes(signed[60..64].try_into().unwrap()) as usize;
    // Behind the header of the file; 112 bytes of the optional header stand before the directories, and this is the fifth.
    let entry = header + 24 + 112 + 4 * 8;
    let start = u32::try_from(signed.len()).unwrap();
    signed[entry..entry + 8].copy_from_slice(&[start.to_le_bytes(), 24u32.to_le_bytes()].concat());
    signed.extend([7; 24]);
    signed
}

#[test]
fn a_signed_library_gets_native_code_where_its_signature_may_go() {
    let library = std::fs::read(Fixture::new("slack").images(vec![samples::image("halve")]).build_dll()).unwrap();
    let (folder, signed) = (Folder::new(), signed(&library));
    assert_eq!(pe::size(&signed).unwrap(), 24);
    std::fs::create_dir(folder.path().join("foo")).unwrap();
    folder.put("foo/signed.dll", &signed);
    let build = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let command = command.args(["build", "foo", "-t", "pvc", "-o", "out/", "--no-cache"]).args(more);
        let output = command.current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let written = || std::fs::read(folder.path().join("out/signed.dll")).ok();
    let (code, said) = build(&[]);
    assert!(code != Some(0) && said.contains("foo/signed.dll: the file is signed"), "{code:?} {said}");
    assert!(said.contains("--drop-signature") && written().is_none(), "{said}");
    let (code, said) = build(&["--drop-signature"]);
    assert!(code == Some(0) && said.contains("foo/signed.dll: its signature is gone"), "{code:?} {said}");
    let native = written().unwrap();
    assert!(pe::size(&native).unwrap() == 0 && native.len() > library.len());
    // No kernel of that name is there: the file stays as it is, signature and all.
    let (code, said) = build(&["--drop-signature", "--kernel", "nothing"]);
    assert!(code == Some(1) && !said.contains("its signature is gone"), "{code:?} {said}");
}
