//! Which modules that are not as they must be, and code under another's label, would be called compatible?
//!
//! Each says what it needs where the specification has nothing of the kind, or in words that nobody knows.

use super::costly::put;
use super::support::folder::Folder;
use std::process::Command;

/// A GPU without numbers of double precision.
const TARGET: &str = "intel_gpu_acm_g10";
const VOID: u32 = 1;
const SIGNATURE: u32 = 2;
const KERNEL: u32 = 3;
const KIND: u32 = 4;
const VALUE: u32 = 5;

/// A module in parts: what stands before its types, its types, its kernel's code, and what stands behind that.
fn module(modes: &[u32], types: &[u32], code: &[u32], behind: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    [4, 6, 10].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
    put(&mut words, 14, &[2, 2], None, &[]);
    put(&mut words, 15, &[6, KERNEL], Some("k"), &[]);
    words.extend(modes);
    put(&mut words, 19, &[VOID], None, &[]);
    put(&mut words, 33, &[SIGNATURE, VOID], None, &[]);
    words.extend(types);
    put(&mut words, 54, &[VOID, KERNEL, 0, SIGNATURE], None, &[]);
    put(&mut words, 248, &[20], None, &[]);
    words.extend(code);
    put(&mut words, 253, &[], None, &[]);
    put(&mut words, 56, &[], None, &[]);
    words.extend(behind);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Instructions, each an opcode with its operands.
fn all(instructions: &[(u32, &[u32])]) -> Vec<u32> {
    let mut words = Vec::new();
    instructions.iter().for_each(|(code, operands)| put(&mut words, *code, operands, None, &[]));
    words
}

/// Judges a file, and gives whether its kernel is said to run.
fn runs(name: &str, bytes: &[u8], target: &str) -> bool {
    let folder = Folder::new();
    folder.put(name, bytes);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let out = command.args(["check", "--strict", "-t", target, name]).current_dir(folder.path()).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.code().is_some_and(|code| code < 4), "{told}");
    out.status.success()
}

#[test]
fn modules_that_are_not_as_they_must_be_are_not_compatible() {
    let double: &[(u32, &[u32])] = &[(22, &[KIND, 64]), (46, &[KIND, VALUE])];
    let adds = all(&[(129, &[KIND, 30, VALUE, VALUE])]);
    let modes = |text: &[(u32, &[u32])]| module(&all(text), &[], &[], &[]);
    let mut set = Vec::new();
    put(&mut set, 11, &[9], Some("Bogus.Set"), &[]);
    let matrix: &[(u32, &[u32])] = &[(21, &[8, 32, 0]), (43, &[8, 9, 3]), (4456, &[KIND, 8, 9, 9, 9, 9])];
    let mut twice = Vec::new();
    put(&mut twice, 15, &[6, KERNEL], Some("k"), &[]);
    let cases = [
        ("a type behind the function", module(&[], &[], &adds, &all(double))),
        ("code behind the function", module(&[], &all(double), &[], &adds)),
        ("an id that is defined twice", module(&[], &all(&[(22, &[KIND, 32]), double[0], double[1]]), &adds, &[])),
        ("a vector before its parts", module(&[], &all(&[(23, &[KIND, 8, 2]), (22, &[8, 64]), double[1]]), &adds, &[])),
        ("an unknown instruction", module(&[], &[], &all(&[(6999, &[1, 2, 3])]), &[])),
        ("an unknown declaration", module(&[], &all(&[(6998, &[1, 2])]), &[], &[])),
        ("a size that nobody knows", modes(&[(331, &[KERNEL, 38, 9, 9, 9])])),
        ("a size beside explicit SIMD", modes(&[(16, &[KERNEL, 35, 64]), (71, &[VOID, 5626])])),
        ("wide numbers", module(&[], &all(&[(22, &[KIND, 128])]), &[], &[])),
        ("an encoding", module(&[], &all(&[(22, &[KIND, 16, 7])]), &[], &[])),
        ("wide integers", module(&[], &all(&[(21, &[KIND, 128, 0])]), &[], &[])),
        ("an unknown set", module(&set, &[], &[], &[])),
        ("an instruction without its capability", module(&[], &all(matrix), &[], &[])),
        ("one name twice", module(&twice, &[], &[], &[])),
    ];
    assert!(runs("m.spv", &module(&[], &[], &[], &[]), TARGET), "a plain one");
    // Pointers alone may stand in a structure before they are declared.
    let list: &[(u32, &[u32])] = &[(39, &[8, 7]), (30, &[KIND, 8]), (32, &[8, 7, KIND])];
    assert!(runs("m.spv", &module(&[], &all(list), &[], &[]), TARGET), "a list");
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, TARGET)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
    // Explicit SIMD itself is bound by no size.
    let vector = modes(&[(16, &[KERNEL, 35, 64]), (71, &[KERNEL, 5626])]);
    assert!(runs("m.spv", &vector, TARGET));
}

#[test]
fn code_is_for_the_device_that_it_states() {
    let text =
        |target: &str| format!(".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n");
    for (stated, target, expected) in [
        ("sm_50", "nvidia_gpu_sm_80", true),
        ("sm_90", "nvidia_gpu_sm_80", false),
        ("sm_90a", "nvidia_gpu_sm_90", true),
        ("sm_90a", "nvidia_gpu_sm_100", false),
    ] {
        assert_eq!(runs("k.ptx", text(stated).as_bytes(), target), expected, "{stated} on {target}");
    }
    let folder = Folder::new();
    folder.put("k.ptx", text("sm_50"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let arguments = ["wrap", "--emit", "offload-binary", "--as-target", "intel_gpu_pvc", "-o", "w.out", "k.ptx"];
    assert!(command.args(arguments).current_dir(folder.path()).status().unwrap().success());
    let wrapped = std::fs::read(folder.path().join("w.out")).unwrap();
    assert!(!runs("w.out", &wrapped, "intel_gpu_pvc"));
}
