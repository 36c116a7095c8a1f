//! Do objects for other systems link there, and does their code do what it should?

use std::process::Command;

use goblin::pe::PE;

use crate::support::folder::{Folder, said};
use crate::support::host::{Fixture, Loaded, RUNTIME, samples, view};
use crate::support::host::{LINUX, object};
use crate::support::tools::tool;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::rewrite::object_file::{ObjectFormat, ObjectOptions};
use sycl_bundle::rewrite::shared::Machine;

const WINDOWS: ObjectOptions<'static> = ObjectOptions { format: ObjectFormat::Coff, ..LINUX };
const ARM: ObjectOptions<'static> = ObjectOptions { machine: Machine::Aarch64, ..LINUX };

/// Checks that our reader finds in a linked file what the objects were made of.
fn reads_back(bytes: &[u8], kind: Kind, units: usize) -> u64 {
    let host = Host::read(bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    assert_eq!((host.kind, host.registers), (kind, true));
    let mut fixture = Fixture::new("cross");
    for _ in 0..units {
        fixture = fixture.images(samples::every_property());
    }
    assert_eq!(view(&bundle), fixture.expected().descriptors);
    bundle.descriptors[0].address
}

/// Links objects to a library for Windows, with an import library for the runtime.
fn dll(folder: &Folder, machine: &str, objects: &[&str]) -> Vec<u8> {
    folder.put("runtime.def", "LIBRARY sycl9.dll\nEXPORTS\n__sycl_register_lib\n__sycl_unregister_lib\n");
    let dlltool = if machine == "arm64" { "arm64" } else { "i386:x86-64" };
    folder.run(tool("llvm-dlltool"), ["-m", dlltool, "-d", "runtime.def", "-l", "runtime.lib"]);
    let machine = format!("/machine:{machine}");
    let mut arguments = vec![
        "/dll",
        "/noentry",
        "/nodefaultlib",
        "/Brepro",
        "/opt:ref,icf",
        &machine,
        "/out:linked.dll",
        "runtime.lib",
    ];
    arguments.extend(objects);
    folder.run(tool("lld-link"), arguments);
    folder.read("linked.dll")
}

/// The two addresses in `.CRT`, relative to the image: what the C runtime calls at the start and at the end. And the
/// bytes at a relative address.
fn crt<'b>(bytes: &'b [u8]) -> ([u64; 2], impl Fn(u64) -> &'b [u8]) {
    let pe = PE::parse(bytes).unwrap();
    let at = move |address: u64| {
        let section = pe.sections.iter().find(|section| {
            let from = u64::from(section.virtual_address);
            (from..from + u64::from(section.size_of_raw_data)).contains(&address)
        });
        let section = section.unwrap();
        let offset = address - u64::from(section.virtual_address) + u64::from(section.pointer_to_raw_data);
        &bytes[offset as usize..]
    };
    let pe = PE::parse(bytes).unwrap();
    let section = pe.sections.iter().find(|section| section.name().unwrap() == ".CRT").unwrap();
    let words = &at(u64::from(section.virtual_address))[..16];
    let word = |range: std::ops::Range<usize>| u64::from_le_bytes(words[range].try_into().unwrap()) - pe.image_base;
    ([word(0..8), word(8..16)], at)
}

#[test]
fn windows_on_x86_64() {
    let folder = Folder::new();
    let bytes = object(&samples::every_property(), &WINDOWS);
    assert_eq!(bytes, object(&samples::every_property(), &WINDOWS));
    reads_back_object(&bytes);
    folder.put("a.obj", &bytes);
    folder.put("b.obj", &bytes);
    let linked = dll(&folder, "x64", &["a.obj"]);
    let descriptor = reads_back(&linked, Kind::Pe, 1);
    let pe = PE::parse(&linked).unwrap();
    let descriptor = descriptor - if descriptor >= pe.image_base { pe.image_base } else { 0 };
    let (functions, at) = crt(&linked);
    let imported = |address: u64| {
        // jmp [rip + slot]; the import table says whose slot it is.
        let thunk = at(address);
        assert_eq!(thunk[..2], [0xff, 0x25]);
        let slot = address + 6 + u64::from(u32::from_le_bytes(thunk[2..6].try_into().unwrap()));
        // Of an import, `offset` is the place of its slot and `rva` that of its name.
        let import = pe.imports.iter().find(|import| import.offset as u64 == slot).unwrap();
        (import.dll.to_owned(), import.name.to_string())
    };
    for (function, name) in functions.into_iter().zip(["__sycl_register_lib", "__sycl_unregister_lib"]) {
        let code = at(function);
        assert_eq!(code[..7], [0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x0d], "endbr64; lea rcx, [rip + ...]");
        let relative = |range: std::ops::Range<usize>| i64::from(i32::from_le_bytes(code[range].try_into().unwrap()));
        assert_eq!((function + 11).wrapping_add_signed(relative(7..11)), descriptor);
        assert_eq!(code[11], 0xe9);
        let target = (function + 16).wrapping_add_signed(relative(12..16));
        assert_eq!(imported(target), ("sycl9.dll".to_owned(), name.to_owned()));
    }
    reads_back(&dll(&folder, "x64", &["a.obj", "b.obj"]), Kind::Pe, 2);
    // An independent reader.
    let said = said(&folder.run(tool("llvm-readobj"), ["--coff-imports", "--sections", "linked.dll"]));
    assert!(said.contains("Symbol: __sycl_register_lib"), "{said}");
}

fn reads_back_object(bytes: &[u8]) {
    let host = Host::read(bytes).unwrap();
    assert_eq!(host.kind, Kind::Coff);
    let expected = Fixture::new("cross").images(samples::every_property()).expected();
    assert_eq!(view(&Bundle::read(&host).unwrap()), expected.descriptors);
}

#[test]
fn windows_on_arm() {
    let folder = Folder::new();
    let bytes = object(&samples::every_property(), &ObjectOptions { machine: Machine::Aarch64, ..WINDOWS });
    reads_back_object(&bytes);
    folder.put("a.obj", &bytes);
    let linked = dll(&folder, "arm64", &["a.obj"]);
    let descriptor = reads_back(&linked, Kind::Pe, 1);
    // The disassembler gives absolute addresses, and decimal ones within a page.
    let base = PE::parse(&linked).unwrap().image_base;
    let descriptor = if descriptor >= base { descriptor } else { descriptor + base };
    let (functions, _) = crt(&linked);
    let said = said(&folder.run(tool("llvm-objdump"), ["-d", "--no-show-raw-insn", "linked.dll"]));
    for function in functions {
        let start = format!("{:x}:", base + function);
        let lines: Vec<&str> = said.lines().skip_while(|line| !line.trim_start().starts_with(&start)).collect();
        assert!(lines[0].ends_with("hint\t#34"), "bti c: {said}");
        let page = lines[1].split("adrp\tx0, 0x").nth(1).unwrap().split(' ').next().unwrap();
        let low: u64 = lines[2].split("add\tx0, x0, #").nth(1).unwrap().parse().unwrap();
        assert_eq!(u64::from_str_radix(page, 16).unwrap() + low, descriptor, "{said}");
        assert!(lines[3].contains("\tb\t"), "{said}");
    }
}

/// More than 65,535 relocations of one section, which is more than the header of a section can count.
#[test]
fn windows_with_many_images() {
    let folder = Folder::new();
    let images = vec![samples::add_one(); 12_000];
    folder.put("many.obj", object(&images, &WINDOWS));
    let linked = dll(&folder, "x64", &["many.obj"]);
    let host = Host::read(&linked).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert_eq!((bundle.images.len(), bundle.problems.len()), (12_000, 0));
    assert!(bundle.images.iter().all(|image| image.entries == ["add_one"]));
}

/// Linked by lld and by the system's linker for that machine, and run in an emulator.
#[test]
fn linux_on_arm_runs() {
    let folder = Folder::new();
    let bytes = object(&samples::every_property(), &ARM);
    folder.put("images.o", &bytes);
    assert_eq!(said(&folder.run(tool("eu-elflint"), ["--gnu-ld", "images.o"])), "No errors\n");
    folder.run(tool("ld.lld"), ["-m", "aarch64linux", "-shared", "images.o", "-o", "lib.so"]);
    reads_back(&folder.read("lib.so"), Kind::Elf, 1);
    folder.put("runtime.c", RUNTIME);
    folder.put("main.c", "int main(void) { return 0; }\n");
    let expected = Fixture::new("cross").images(samples::every_property()).expected();
    for options in [["-static-pie", "-fPIE"], ["-static", "-fno-pie"]] {
        let mut all = vec!["-O1", "main.c", "runtime.c", "images.o", "-o", "program"];
        all.extend(options);
        folder.run(tool("aarch64-linux-gnu-gcc"), all);
        let dump = folder.path().join(options[0]);
        let mut emulator = Command::new(tool("qemu-aarch64"));
        let status = emulator.arg(folder.path().join("program")).env("SYCL_STUB_DUMP", &dump).status().unwrap();
        assert!(status.success(), "{options:?}: {status}");
        assert_eq!(Loaded::parse(&std::fs::read_to_string(&dump).unwrap()), expected, "{options:?}");
    }
}
