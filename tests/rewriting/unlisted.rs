//! Are images that stand beside the lists of SYCL's runtime, as other programming models put theirs, left alone?

use std::process::Command;

use crate::support::folder::Folder;
use crate::support::spirv::module;

fn u16_at(file: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()))
}

fn u64_at(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

/// An ELF file with one section more: its bytes, a table of names and a table of sections are appended.
fn with_section(file: &[u8], name: &str, bytes: &[u8]) -> Vec<u8> {
    let (table, count, names) = (u64_at(file, 40), u16_at(file, 60), u16_at(file, 62));
    let header = |index: usize| file[table + 64 * index..][..64].to_vec();
    let mut out = file.to_vec();
    out.resize(out.len().next_multiple_of(16), 0);
    let at = out.len();
    out.extend(bytes);
    let (begin, size) = (u64_at(&header(names), 24), u64_at(&header(names), 32));
    let (text_at, mut text) = (out.len(), file[begin..begin + size].to_vec());
    let name_at = text.len() as u32;
    text.extend(name.bytes().chain([0]));
    out.extend(&text);
    out.resize(out.len().next_multiple_of(16), 0);
    let new_table = out.len() as u64;
    for index in 0..count {
        let mut one = header(index);
        if index == names {
            one[24..40].copy_from_slice(&[text_at as u64, text.len() as u64].map(u64::to_le_bytes).concat());
        }
        out.extend(one);
    }
    let mut new = vec![0; 64];
    new[..4].copy_from_slice(&name_at.to_le_bytes());
    new[4..8].copy_from_slice(&1u32.to_le_bytes());
    new[24..40].copy_from_slice(&[at as u64, bytes.len() as u64].map(u64::to_le_bytes).concat());
    new[48] = 1;
    out.extend(new);
    out[40..48].copy_from_slice(&new_table.to_le_bytes());
    out[60..62].copy_from_slice(&(count as u16 + 1).to_le_bytes());
    out
}

#[test]
fn images_beside_the_lists_are_left_alone() {
    let folder = Folder::new();
    for name in ["add_one", "halve"] {
        folder.file(&format!("{name}.spv"), &module(name));
    }
    let run = |arguments: &[&str], code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    run(&["wrap", "add_one.spv", "halve.spv", "-o", "plain.so"], 0);
    run(&["wrap", "halve.spv", "--emit", "offload-binary", "-o", "beside.bin"], 0);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    folder.file("both.so", &with_section(&read("plain.so"), ".llvm.offloading", &read("beside.bin")));
    let images = |name: &str| -> Vec<serde_json::Value> {
        let document: serde_json::Value =
            serde_json::from_str(&run(&["inspect", name, "--format", "json"], 0).0).unwrap();
        document["files"][0]["images"].as_array().unwrap().clone()
    };
    assert_eq!((images("plain.so").len(), images("both.so").len()), (2, 3));
    // Of what is in the lists a module is emptied; the image beside them is named, and stays.
    let (_, said) = run(&["filter", "both.so", "-t", "dg1", "-o", "out/both.so"], 0);
    assert!(
        said.contains("both.so: 1 image in no list of SYCL's runtime") && said.contains("1 of them empty"),
        "{said}"
    );
    assert_eq!(images("out/both.so").len(), 3);
    // No list is left empty, and an image that cannot be launched from does not stand for one that can.
    let (_, said) = run(&["prune", "both.so", "--image", "0-1", "--lose-kernels", "-o", "none.so"], 1);
    assert!(said.contains("no image would be left"), "{said}");
    let halve = images("both.so").iter().position(|image| image["kernels"].to_string().contains("halve")).unwrap();
    let (_, said) = run(&["prune", "both.so", "--image", &halve.to_string(), "-o", "less.so"], 2);
    assert!(said.contains("1 kernel would be in no image any more"), "{said}");
    // Native code has no place beside the image that is in no list.
    let (_, said) = run(&["build", "both.so", "--image", "2", "-t", "spir64_x86_64", "-o", "native.so"], 1);
    assert!(said.contains("the images are in no list of SYCL's runtime"), "{said}");
}
