//! Which native code would the CPU's driver refuse, or the runtime take beside the SPIR-V that it copies to?

use super::judged::{CPU, module};
use super::recorded;
use super::repeated::{of_device, words};
use super::support::folder::{Folder, said};

const NAMES: [&str; 4] = [".ocl.ir", ".ocl.meta", ".ocl.obj", ".ocl.ver"];

/// Code of a kernel `k` as the driver lays it out: header, table of sections, their bytes, their names.
fn container(names: [&str; 4]) -> Vec<u8> {
    let symbol = [&[0; 24][..], &[1, 0, 0, 0, 0x12, 0, 1, 0], &[0; 16]].concat();
    let object = of_device(62, 0, &[(".strtab", 3, b"\0k\0", 0), (".symtab", 2, &symbol, 1)]);
    let parts: [&[u8]; 4] = [b"intermediate code", b"\x02\0\0\0k\0", &object, &[25, 0, 0, 0]];
    let (mut texts, mut table, mut data) = (vec![0], vec![0; 64], Vec::new());
    for (name, bytes) in names.into_iter().zip(parts) {
        table.extend(words(&[texts.len() as u64, 0, 0, 64 + 6 * 64 + data.len() as u64, bytes.len() as u64, 0, 0, 0]));
        texts.extend(name.bytes().chain([0]));
        data.extend_from_slice(bytes);
    }
    table.extend(words(&[3 << 32, 0, 0, 64 + 6 * 64 + data.len() as u64, texts.len() as u64, 0, 0, 0]));
    let halves = |halves: [u16; 8]| halves.map(u16::to_le_bytes).concat();
    let head = [b"\x7fELF\x02\x01".to_vec(), vec![0; 10], halves([0xff04, 62, 0, 0, 0, 0, 0, 0]), words(&[0, 64])];
    let head = [head.concat(), halves([3, 0, 64, 0, 0, 64, 6, 5])].concat();
    [head, table, data, texts].concat()
}

/// The driver looks for each section, and counts what it knows of against the size of the whole.
#[test]
fn containers_that_are_not_as_the_driver_lays_them_out_are_not_compatible() {
    let folder = Folder::new();
    let runs = |bytes: &[u8]| {
        folder.put("k.bin", bytes);
        recorded::tool(&folder, &["check", "--strict", "-t", CPU, "k.bin"]).status.success()
    };
    let sound = container(NAMES);
    assert!(runs(&sound));
    assert!(!runs(&[&sound[..], &[0]].concat()), "a byte behind it");
    for (at, what) in NAMES.iter().enumerate() {
        let mut names = NAMES;
        names[at] = ".ocl.xy";
        assert!(!runs(&container(names)), "without {what}");
        let mut longer = sound.clone();
        longer[64 + 64 * (at + 1) + 32] += 1;
        assert!(!runs(&longer), "{what} reaches into the next section");
        let mut shorter = sound.clone();
        shorter[64 + 64 * (at + 1) + 32] -= 1;
        assert!(!runs(&shorter), "a gap behind {what}");
    }
    for at in [52, 58] {
        let mut other = sound.clone();
        other[at] += 1;
        assert!(!runs(&other), "the size at {at}");
    }
}

/// One that the driver refuses is no copy of one that it takes.
#[test]
fn a_container_that_the_driver_refuses_is_judged_by_itself() {
    let folder = Folder::new();
    let sound = container(NAMES);
    folder.put("j.bin", &sound);
    folder.put("j.sym", "k\n");
    folder.put("k.sym", "k\n");
    folder.put("t.table", "[Code|Symbols]\nj.bin|j.sym\nk.bin|k.sym\n");
    for (behind, code) in [(&[][..], 0), (&[0], 1)] {
        folder.put("k.bin", [&sound[..], behind].concat());
        let judged = recorded::tool(&folder, &["check", "--strict", "-t", CPU, "t.table"]);
        assert_eq!(judged.status.code(), Some(code), "{}", String::from_utf8_lossy(&judged.stdout));
    }
}

/// The runtime launches kernels that are listed.
#[test]
fn containers_without_a_kernel_that_is_listed_are_not_compatible() {
    let folder = Folder::new();
    folder.put("k.bin", container(NAMES));
    folder.put("t.table", "[Code|Symbols]\nk.bin|k.sym\n");
    for (kernel, code) in [("k", 0), ("l", 1)] {
        folder.put("k.sym", format!("{kernel}\n"));
        let judged = recorded::tool(&folder, &["check", "--strict", "-t", CPU, "t.table"]);
        assert_eq!(judged.status.code(), Some(code), "{kernel}: {}", String::from_utf8_lossy(&judged.stdout));
    }
}

/// The runtime launches kernels from one of the images that a device takes, and copies to a device global in the other.
#[test]
fn images_with_device_globals_of_their_own_have_no_native_code_beside_them() {
    let folder = Folder::new();
    folder.put("0.spv", module(&[], &[], &[], &[]));
    folder.put("0.sym", "k\n");
    folder.put("t.table", "[Code|Properties|Symbols]\n0.spv|0.prop|0.sym\n");
    for (scope, staying) in [(0, 0), (1, 1)] {
        folder.put("0.prop", format!("[SYCL/device globals]\n_Z3own={}\n", recorded::words(&[4, scope])));
        for target in ["spir64_x86_64", "pvc", "spir64_x86_64,pvc"] {
            for more in [&[][..], &["--no-spirv"]] {
                let call = ["build", "t.table", "-t", target, "-o", "o.table", "--dry-run", "--format", "json"];
                let planned = folder.tool(call.into_iter().chain(more.iter().copied()));
                let planned: serde_json::Value = serde_json::from_str(&said(&planned)).unwrap();
                let stays = planned["staying"].as_array().unwrap();
                assert_eq!(stays.len(), staying, "{target}: {planned}");
                for one in stays {
                    assert!(one["reason"].as_str().unwrap().starts_with("it has _Z3own for itself"), "{one}");
                }
            }
        }
    }
}
