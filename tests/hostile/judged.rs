//! Which modules that are not as they must be, and code under another's label, would be called compatible?
//!
//! Each says what it needs where the specification has nothing of the kind, or in words that nobody knows.

use super::costly::put;
use super::support::folder::Folder;
use std::process::Command;

/// A GPU without numbers of double precision.
pub const TARGET: &str = "intel_gpu_acm_g10";
pub const CPU: &str = "spir64_x86_64";
pub const VOID: u32 = 1;
pub const SIGNATURE: u32 = 2;
pub const KERNEL: u32 = 3;
const KIND: u32 = 4;
const VALUE: u32 = 5;

/// A module in parts: what stands before its types, its types, its kernel's code, and what stands behind that.
pub fn module(modes: &[u32], types: &[u32], code: &[u32], behind: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    [4, 5, 6, 10].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
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
pub fn all(instructions: &[(u32, &[u32])]) -> Vec<u32> {
    let mut words = Vec::new();
    instructions.iter().for_each(|(code, operands)| put(&mut words, *code, operands, None, &[]));
    words
}

/// Judges a file, and gives whether its kernel is said to run.
pub fn runs(name: &str, bytes: &[u8], target: &str) -> bool {
    let folder = Folder::new();
    folder.put(name, bytes);
    succeeds(&folder, &["check", "--strict", "-t", target, name]).0
}

/// Runs the tool in a folder, and gives whether it says yes, and all that it says.
fn succeeds(folder: &Folder, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let out = command.args(arguments).current_dir(folder.path()).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.code().is_some_and(|code| code < 4), "{told}");
    (out.status.success(), told)
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
        ("a size beside explicit SIMD", modes(&[(17, &[5617]), (16, &[KERNEL, 35, 64]), (71, &[VOID, 5626])])),
        ("wide numbers", module(&[], &all(&[(22, &[KIND, 128])]), &[], &[])),
        ("an encoding", module(&[], &all(&[(22, &[KIND, 16, 7])]), &[], &[])),
        ("wide integers", module(&[], &all(&[(21, &[KIND, 128, 0])]), &[], &[])),
        ("an unknown set", module(&set, &[], &[], &[])),
        ("an instruction without its capability", module(&[], &all(matrix), &[], &[])),
        ("one name twice", module(&twice, &[], &[], &[])),
        ("doubles of an encoding", module(&[], &all(&[(22, &[KIND, 64, 0]), double[1]]), &adds, &[])),
        ("doubles of another", module(&[], &all(&[(22, &[KIND, 64, 4215]), double[1]]), &adds, &[])),
        ("an encoding that is not declared", module(&[], &all(&[(22, &[KIND, 16, 0])]), &[], &[])),
    ];
    assert!(runs("m.spv", &module(&[], &[], &[], &[]), TARGET), "a plain one");
    // Pointers alone may stand in a structure before they are declared.
    let list: &[(u32, &[u32])] = &[(39, &[8, 7]), (30, &[KIND, 8]), (32, &[8, 7, KIND])];
    assert!(runs("m.spv", &module(&[], &all(list), &[], &[]), TARGET), "a list");
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, TARGET)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
    // Explicit SIMD itself is bound by no size.
    let vector = modes(&[(17, &[5617]), (16, &[KERNEL, 35, 64]), (71, &[KERNEL, 5626])]);
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
    for (what, changed, to) in [
        ("a second target", ".address_size", ".target sm_90\n.address_size"),
        ("a target before it", ".target", ".target sm_90\n.target"),
        ("a version to come", "8.0", "99.9"),
        ("32 bits", "64", "32"),
        ("too large a size", "k()", "k() .reqntid 100000, 1, 1"),
    ] {
        let text = text("sm_50").replacen(changed, to, 1);
        assert!(!runs("k.ptx", text.as_bytes(), "nvidia_gpu_sm_80"), "{what}: {text}");
    }
    let folder = Folder::new();
    folder.put("k.ptx", text("sm_50"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let arguments = ["wrap", "--emit", "offload-binary", "--as-target", "intel_gpu_pvc", "-o", "w.out", "k.ptx"];
    assert!(command.args(arguments).current_dir(folder.path()).status().unwrap().success());
    let wrapped = std::fs::read(folder.path().join("w.out")).unwrap();
    assert!(!runs("w.out", &wrapped, "intel_gpu_pvc"));
}

/// A signature of functions with a number as their result, numbers, and a function that gives one.
pub const NUMBERS: &[(u32, &[u32])] = &[(21, &[8, 32, 0]), (43, &[8, 9, 1]), (33, &[10, 8])];
/// A function of its own without a body.
const NOBODYS: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (56, &[])];

/// Each shows nothing that a device may lack, so that its code is not looked at further.
#[test]
fn modules_that_no_compiler_takes_are_not_compatible() {
    let numbers = all(NUMBERS);
    let with = |code: &[(u32, &[u32])]| module(&[], &numbers, &all(code), &[]);
    let entry = |function: u32| {
        let mut modes = Vec::new();
        put(&mut modes, 15, &[6, function], Some("j"), &[]);
        modes
    };
    let mut opencl = Vec::new();
    put(&mut opencl, 11, &[7], Some("OpenCL.std"), &[]);
    let mut unknown = Vec::new();
    put(&mut unknown, 11, &[7], Some("OpenCL.stdXX"), &[]);
    let called = |number: u32| module(&opencl, &numbers, &all(&[(12, &[8, 30, 7, number, 9])]), &[]);
    let size = all(&[(331, &[KERNEL, 38, 11, 9, 9])]);
    let sized = |constants: &[(u32, &[u32])]| module(&size, &[numbers.clone(), all(constants)].concat(), &[], &[]);
    let result = [NUMBERS, &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])]].concat();
    let cases = [
        ("an operand of nothing", with(&[(128, &[8, 30, 9, 77])])),
        ("a value into nothing", with(&[(62, &[77, 9])])),
        ("a branch to nowhere", with(&[(249, &[77]), (248, &[21])])),
        ("a call of nothing", with(&[(57, &[8, 30, 77])])),
        ("a block without an end", with(&[(248, &[21])])),
        ("a function in a function", module(&[], &all(&[(54, &[VOID, 40, 0, SIGNATURE]), (248, &[41])]), &[], &[])),
        ("code behind the function", module(&[], &numbers, &[], &all(&[(128, &[8, 30, 9, 9])]))),
        ("a type behind the function", module(&[], &[], &[], &all(&[(21, &[8, 16, 0])]))),
        (
            "a constant that is defined twice",
            module(&[], &[numbers.clone(), all(&[(43, &[8, 9, 2])])].concat(), &[], &[]),
        ),
        ("a size of two constants", sized(&[(43, &[8, 11, 100_000]), (43, &[8, 11, 1])])),
        ("an entry point of nothing", module(&entry(77), &[], &[], &[])),
        ("an entry point without a body", module(&entry(40), &all(&[NUMBERS, NOBODYS].concat()), &[], &[])),
        ("an entry point with a result", module(&entry(40), &all(&result), &[], &[])),
        ("two entry points of one function", module(&entry(KERNEL), &[], &[], &[])),
        ("a function that OpenCL.std lacks", called(999)),
        (
            "a function without the parameters of its type",
            module(
                &[],
                &all(&[(33, &[10, VOID, VOID]), (54, &[VOID, 40, 0, 10]), (248, &[41]), (253, &[]), (56, &[])]),
                &[],
                &[],
            ),
        ),
        ("a value of no type", with(&[(128, &[9, 30, 9, 9])])),
        ("a branch to a number", with(&[(249, &[9]), (248, &[21])])),
        ("a call of a number", with(&[(57, &[8, 30, 9])])),
        ("another set of OpenCL", module(&unknown, &[], &[], &[])),
        ("a name that is no text", patched(&module(&[], &[], &[], &[]), b"k\0\0\0", &[0xff, 0, 0, 0])),
        ("no memory model", patched(&module(&[], &[], &[], &[]), &[14, 0, 3, 0], &[7, 0, 3, 0])),
        ("version 0", patched(&module(&[], &[], &[], &[]), &[0, 4, 1, 0], &[0, 0, 0, 0])),
        ("a version with more", patched(&module(&[], &[], &[], &[]), &[0, 4, 1, 0], &[0, 4, 1, 0xff])),
        ("a schema", patched(&module(&[], &[], &[], &[]), &[50, 0, 0, 0, 0, 0, 0, 0], &[50, 0, 0, 0, 7, 0, 0, 0])),
        (
            "the other byte order",
            module(&[], &[], &[], &[]).chunks(4).flat_map(|word| word.iter().rev().copied()).collect(),
        ),
    ];
    for (what, bytes) in [
        ("numbers", with(&[(128, &[8, 30, 9, 9])])),
        ("blocks", with(&[(249, &[21]), (248, &[21])])),
        ("a function with a result", module(&[], &all(&result), &all(&[(57, &[8, 30, 40])]), &[])),
        ("an absolute value", called(141)),
        ("a size", sized(&[(43, &[8, 11, 100])])),
    ] {
        assert!(runs("m.spv", &bytes, TARGET), "{what}");
    }
    assert!(!runs("m.spv", &sized(&[(43, &[8, 11, 100_000])]), TARGET), "too large a size");
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, TARGET)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
}

/// A module with other bytes in place of the first that are these.
fn patched(module: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = module.windows(from.len()).position(|found| found == from).unwrap();
    [&module[..at], to, &module[at + from.len()..]].concat()
}

/// A module whose kernel calls a function without a body, and the decorations of that.
fn calling(decorations: &[u32]) -> Vec<u8> {
    module(decorations, &all(&[NUMBERS, NOBODYS].concat()), &all(&[(57, &[8, 30, 40])]), &[])
}

/// A decoration of a function as an import or an export.
pub fn linked(id: u32, symbol: &str, kind: u32) -> Vec<u32> {
    let mut words = Vec::new();
    put(&mut words, 71, &[id, 41], Some(symbol), &[kind]);
    words
}

#[test]
fn functions_that_nobody_defines_are_not_compatible() {
    const IMPORT: u32 = 1;
    const EXPORT: u32 = 0;
    // An image that lists no imports, so that the runtime links nothing to it.
    let runs_listed = |decorations: &[u32]| {
        let folder = Folder::new();
        folder.put("0.spv", calling(decorations));
        folder.put("0.sym", "k\n");
        folder.put("t.table", "[Code|Symbols]\n0.spv|0.sym\n");
        succeeds(&folder, &["check", "--strict", "-t", "spir64_x86_64", "t.table"]).0
    };
    let runs_bare = |decorations: &[u32]| runs("m.spv", &calling(decorations), "spir64_x86_64");
    for known in ["llvm.usub.sat.i32", "llvm.is.fpclass.f32", "_Z17__spirv_ocl_s_absi", "_Z3minii"] {
        assert!(runs_listed(&linked(40, known, IMPORT)), "{known}");
    }
    assert!(runs_bare(&linked(40, "_Z17__spirv_ocl_s_absi", IMPORT)));
    let group = [linked(60, "foo", IMPORT), all(&[(73, &[60]), (74, &[60, 40])])].concat();
    let names = ["foo", "__bogus", "llvm.bogus", "__devicelib_bogus", "_Z13__spirv_Bogusv", "my__spirv_IAdd"];
    let mut cases: Vec<(&str, Vec<u32>)> = names.map(|name| (name, linked(40, name, IMPORT))).into();
    cases.extend([("undecorated", Vec::new()), ("an export", linked(40, "foo", EXPORT)), ("a group", group)]);
    let judged = cases.iter().filter(|(_, words)| runs_listed(words) || runs_bare(words));
    assert_eq!(judged.map(|(what, _)| *what).collect::<Vec<_>>(), [""; 0]);
}

/// A table of two images: the first imports `foo`, and others list it for it.
fn table(exporters: &[Vec<u8>]) -> Folder {
    let folder = Folder::new();
    let aspects = "[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n";
    let mut text = "[Code|Properties|Symbols]\n".to_owned();
    let main = (calling(&linked(40, "foo", 1)), "k", "imported");
    let others = exporters.iter().map(|bytes| (bytes.clone(), "foo", "exported"));
    for (at, (bytes, symbol, set)) in std::iter::once(main).chain(others).enumerate() {
        folder.put(&format!("{at}.spv"), &bytes);
        folder.put(&format!("{at}.prop"), format!("{aspects}[SYCL/{set} symbols]\nfoo=1|1\n"));
        folder.put(&format!("{at}.sym"), format!("{symbol}\n"));
        text += &format!("{at}.spv|{at}.prop|{at}.sym\n");
    }
    folder.put("t.table", text);
    folder
}

#[test]
fn an_image_has_what_its_module_defines_and_not_what_it_lists() {
    let defining = |symbol: &str, result: u32| {
        let function: &[(u32, &[u32])] = &[(33, &[12, result]), (54, &[result, 40, 0, 12]), (248, &[41])];
        let end: &[(u32, &[u32])] = if result == VOID { &[(253, &[]), (56, &[])] } else { &[(254, &[9]), (56, &[])] };
        module(&linked(40, symbol, 0), &all(&[&NUMBERS[..2], function, end].concat()), &[], &[])
    };
    let (sound, other, unlike) = (|| defining("foo", 8), || defining("bar", 8), || defining("foo", VOID));
    for (what, exporters, expected) in [
        ("one that defines it", vec![sound()], true),
        ("one that does not", vec![other()], false),
        (
            "one without a body",
            vec![module(&linked(40, "foo", 0), &all(&[NUMBERS, NOBODYS].concat()), &[], &[])],
            false,
        ),
        ("another function of the name", vec![unlike()], false),
        ("two that define it", vec![sound(), sound()], true),
        ("two of which one does not", vec![sound(), other()], false),
        ("two of which one has another function", vec![sound(), unlike()], false),
    ] {
        let folder = table(&exporters);
        assert_eq!(succeeds(&folder, &["check", "--strict", "-t", TARGET, "t.table"]).0, expected, "{what}");
        if exporters.len() == 1 {
            assert_eq!(succeeds(&folder, &["check", "--strict", "--link", "t.table"]).0, expected, "{what}, linked");
        }
    }
}

/// Code for an Intel GPU of a version, with SPIR-V inside.
fn zebin(version: [u32; 3], spirv: &[u8]) -> Vec<u8> {
    asking(version, spirv, "")
}

/// Code for an Intel GPU of a version, with SPIR-V inside, and what its kernel asks of it.
fn asking(version: [u32; 3], spirv: &[u8], asks: &str) -> Vec<u8> {
    let number = version[0] << 22 | version[1] << 14 | version[2];
    let kernel = "version: '1.73'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 16\n".to_owned();
    let kernel = if asks.is_empty() { kernel } else { format!("{kernel}      {asks}\n") }.into_bytes();
    let note = [[8u32, 4, 6].map(u32::to_le_bytes).concat(), b"IntelGT\0".to_vec(), number.to_le_bytes().to_vec()];
    let mut sections: Vec<(&str, u32, Vec<u8>)> = vec![
        (".text.k", 1, vec![0; 16]),
        (".ze_info", 0xff00_0011, kernel),
        (".note.intelgt.compat", 7, note.concat()),
        (".spv", 0xff00_0009, spirv.to_vec()),
        (".shstrtab", 3, b"\0.text.k\0.ze_info\0.note.intelgt.compat\0.spv\0.shstrtab\0".to_vec()),
    ];
    sections.retain(|(name, _, data)| *name != ".spv" || !data.is_empty());
    let names = sections.last().unwrap().2.clone();
    let (mut contents, mut headers) = (Vec::new(), vec![0u8; 64]);
    for (name, kind, data) in &sections {
        let at = names.windows(name.len() + 1).position(|found| found.starts_with(name.as_bytes())).unwrap() as u32;
        headers.extend([at, *kind].iter().flat_map(|word| word.to_le_bytes()));
        let place = [0, 0, 64 + contents.len() as u64, data.len() as u64];
        headers.extend(place.iter().flat_map(|word| word.to_le_bytes()));
        headers.extend([0u8; 8]);
        headers.extend([1u64, 0].iter().flat_map(|word| word.to_le_bytes()));
        contents.extend(data);
        contents.resize(contents.len().next_multiple_of(8), 0);
    }
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([0xff12u16, 205].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(1u32.to_le_bytes());
    file.extend([0, 0, 64 + contents.len() as u64].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(0u32.to_le_bytes());
    let counts = [64u16, 56, 0, 64, sections.len() as u16 + 1, sections.len() as u16];
    file.extend(counts.iter().flat_map(|word| word.to_le_bytes()));
    [file, contents, headers].concat()
}

/// Drivers drop native code at the first thing in it that is none of theirs, alone and as a member of an archive.
#[test]
fn native_code_that_drivers_refuse_is_not_compatible() {
    let good = zebin([12, 60, 7], &[]);
    let change = |from: &[u8], to: &[u8]| {
        let at = good.windows(from.len()).position(|found| found == from).unwrap();
        let mut bad = good.clone();
        bad[at..at + to.len()].copy_from_slice(to);
        bad
    };
    let mut cases = vec![
        ("no change", good.clone(), true),
        ("a newer minor version", change(b"'1.73'", b"'1.99'"), true),
        ("a major version of none", change(b"'1.73'", b"'2.73'"), false),
        ("no simd size", change(b"simd_size: 16", b"zimd_size: 16"), false),
        ("a simd size of none", change(b"simd_size: 16", b"simd_size: 31"), false),
        ("a simd size that is no number", change(b"simd_size: 16", b"simd_size: '8"), false),
        ("code of another kernel", change(b".text.k", b".text.j"), false),
        ("code under a name of none", change(b".text.k", b".tex_.k"), false),
        ("a device that is told elsewhere", change(b".compat", b".kompat"), false),
        ("a note that has no end", change(&[4, 0, 0, 0, 6, 0, 0, 0], &[8]), false),
        ("a note without a number", change(&[4, 0, 0, 0, 6, 0, 0, 0], &[0]), false),
    ];
    for kind in [2u16, 3, 0xff11, 0xff13] {
        cases.push(("a file of another type", change(&[0x12, 0xff, 205], &kind.to_le_bytes()), false));
    }
    let (ze_info, own) = (0xff00_0011u32.to_le_bytes(), 0xff00_0099u32.to_le_bytes());
    cases.push(("a section of no type", change(&ze_info, &own), false));
    for (what, code, expected) in cases {
        assert_eq!(runs("a.bin", &code, "intel_gpu_pvc"), expected, "{what}");
        let member = archive(&[("64.12.60.7", code)]);
        assert_eq!(runs("a.bin", &member, "intel_gpu_pvc"), expected, "{what}, in an archive");
    }
}

/// Driver 26.27 ends the program where such a kernel is made.
#[test]
fn kernels_with_samplers_run_where_there_are_some() {
    let sampler =
        "\n    inline_samplers:\n      - sampler_index: 0\n        addrmode: repeat\n        filtermode: nearest\n";
    let own = |version| asking(version, &[], &format!("grf_count: 128{sampler}"));
    assert!(!runs("a.bin", &own([12, 60, 7]), "intel_gpu_pvc"));
    assert!(runs("a.bin", &own([12, 10, 0]), "intel_gpu_dg1"));
    assert!(runs("a.bin", &asking([12, 60, 7], &[], "grf_count: 128"), "intel_gpu_pvc"));
}

/// An archive of these members.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (name, data) in members {
        file.extend(format!("{:<16}{:<32}{:<10}`\n", format!("{name}/"), "", data.len()).bytes());
        file.extend(data);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// A driver goes by the names of members alone, and takes the first of a name: what stands beside is not what runs.
#[test]
fn an_archive_is_judged_by_the_member_that_the_driver_takes() {
    let good = module(&[], &[], &[], &[]);
    let double: &[(u32, &[u32])] = &[(22, &[KIND, 64]), (46, &[KIND, VALUE])];
    let bad = module(&[], &all(double), &all(&[(129, &[KIND, 30, VALUE, VALUE])]), &[]);
    let (ours, pvc) = ([12, 55, 8], [12, 60, 7]);
    for (what, members, expected) in [
        ("its own", vec![("64.12.55.8", zebin(ours, &[]))], true),
        ("its platform's", vec![("64.dg2", zebin(ours, &[]))], true),
        ("SPIR-V for all", vec![("64.12.60.7", zebin(pvc, &bad)), ("generic_ir", generic(&good))], true),
        ("SPIR-V of another's", vec![("64.12.60.7", zebin(pvc, &good)), ("generic_ir", generic(&bad))], false),
        ("SPIR-V of its own", vec![("64.12.60.7", zebin(pvc, &good)), ("64.12.55.8", zebin(pvc, &bad))], false),
        ("the second of a name", vec![("64.12.55.8", zebin(pvc, &[])), ("64.12.55.8", zebin(ours, &[]))], false),
        ("the second of a prefix", vec![("64.12.55.8a", zebin(pvc, &[])), ("64.12.55.8", zebin(ours, &[]))], false),
        ("programs of 32 bits", vec![("32.12.55.8", zebin(ours, &[]))], false),
        ("a name of none", vec![("x.12.55.8", zebin(ours, &[]))], false),
        ("a name of ocloc's", vec![("64.acm-g10", zebin(ours, &[]))], false),
        ("a family's name", vec![("64.xe-hpg", zebin(ours, &[]))], false),
        ("a size", vec![("64.12.55.8", asking(ours, &[], "required_work_group_size: [64, 1, 1]"))], true),
        (
            "too large a size",
            vec![("64.12.55.8", asking(ours, &[], "required_work_group_size: [100000, 1, 1]"))],
            false,
        ),
        ("too much memory", vec![("64.12.55.8", asking(ours, &[], "slm_size: 104857600"))], false),
        ("other sub-groups", vec![("64.12.55.8", asking(ours, &[], "required_sub_group_size: 64"))], false),
    ] {
        let folder = Folder::new();
        folder.put("0.bin", archive(&members));
        folder.put("0.sym", "k\n");
        folder.put("t.table", "[Code|Symbols]\n0.bin|0.sym\n");
        let wrap = ["wrap", "--emit", "shared", "--as-target", "spir64_gen", "-o", "w.so", "t.table"];
        let (wrapped, told) = succeeds(&folder, &wrap);
        assert!(wrapped, "{told}");
        let (runs, told) = succeeds(&folder, &["check", "--strict", "-t", TARGET, "w.so"]);
        assert_eq!(runs, expected, "{what}: {told}");
    }
}

/// A module for all GPUs, in the container in which drivers look for it.
fn generic(spirv: &[u8]) -> Vec<u8> {
    let mut file = super::repeated::of_device(0, 0, &[("SPIRV Object", 0xff00_0009, spirv, 0)]);
    file[16..18].copy_from_slice(&[0x02, 0xff]);
    file
}

/// Code with another name of its kernel.
fn of_j(code: Vec<u8>) -> Vec<u8> {
    let mut code = code;
    for (old, new) in [(&b".text.k\0"[..], &b".text.j\0"[..]), (b"name: k\n", b"name: j\n"), (b"k\0\0\0", b"j\0\0\0")] {
        if let Some(at) = code.windows(old.len()).position(|found| found == old) {
            code.splice(at..at + old.len(), new.iter().copied());
        }
    }
    code
}

/// Whether each of the kernels `k` and `j` runs on a target, by the code that is taken there, and whether all do.
fn taken(name: &str, bytes: &[u8], target: &str) -> [bool; 3] {
    let folder = Folder::new();
    folder.put(name, bytes);
    let has = |kernel| succeeds(&folder, &["has", "--kernel", kernel, "-t", target, name]).0;
    [has("k"), has("j"), succeeds(&folder, &["check", "--strict", "-t", target, name]).0]
}

/// A device takes one part of an image's code: kernels of other parts are not there.
#[test]
fn kernels_are_those_of_the_part_that_is_taken() {
    let spirv = || module(&[], &[], &[], &[]);
    let (ours, pvc) = ([12, 55, 8], [12, 60, 7]);
    let both = vec![("64.12.60.7", zebin(pvc, &[])), ("64.12.55.8", zebin(ours, &[]))];
    let inside = || zebin(pvc, &of_j(spirv()));
    for (what, code, on_ours, on_pvc) in [
        (
            "members of an archive",
            archive(&[("64.12.60.7", of_j(zebin(pvc, &[]))), ("64.12.55.8", zebin(ours, &[]))]),
            [true, false],
            [false, true],
        ),
        (
            "SPIR-V for all",
            archive(&[("64.12.60.7", zebin(pvc, &[])), ("generic_ir", generic(&of_j(spirv())))]),
            [false, true],
            [true, false],
        ),
        ("SPIR-V inside", inside(), [false, true], [true, false]),
        ("SPIR-V of a member", archive(&[("64.12.60.7", inside())]), [false, false], [true, false]),
        ("one kernel for all", archive(&both), [true, false], [true, false]),
    ] {
        let folder = Folder::new();
        folder.put("0.bin", code);
        folder.put("0.sym", if what.starts_with("one") { "k\n" } else { "k\nj\n" });
        folder.put("t.table", "[Code|Symbols]\n0.bin|0.sym\n");
        let wrap = ["wrap", "--emit", "shared", "--as-target", "spir64_gen", "-o", "w.so", "t.table"];
        assert!(succeeds(&folder, &wrap).0);
        let wrapped = std::fs::read(folder.path().join("w.so")).unwrap();
        for (target, [k, j]) in [(TARGET, on_ours), ("intel_gpu_pvc", on_pvc)] {
            let all = what.starts_with("one");
            assert_eq!(taken("w.so", &wrapped, target), [k, j, all], "{what} on {target}");
        }
    }
}

/// A fat binary of entries: kind, architecture of the header, kernel, target and version of PTX.
pub fn fat_binary(version: u16, entries: &[(u16, u32, &str, &str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, number, kernel, target, version) in entries {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry {kernel}()\n{{\nret;\n}}\n\0"
        );
        let size = text.len().next_multiple_of(8);
        body.extend([*kind, 0x101].iter().flat_map(|half| half.to_le_bytes()));
        body.extend(64u32.to_le_bytes());
        body.extend((size as u64).to_le_bytes());
        body.extend([0, 0, 7 << 16, *number, 0, 0].iter().flat_map(|word: &u32| word.to_le_bytes()));
        body.extend([0x11u64, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
        body.extend(text.bytes().chain(std::iter::repeat(0)).take(size));
    }
    let head = [0xba55_ed50u32.to_le_bytes().to_vec(), [version, 16].map(u16::to_le_bytes).concat()].concat();
    [head, (body.len() as u64).to_le_bytes().to_vec(), body].concat()
}

/// Each was tried with driver 13.0 on an H200; where that takes one of two like entries, either is left open here.
#[test]
fn a_fat_binary_is_judged_by_the_entry_that_the_driver_takes() {
    const PTX: u16 = 1;
    let v8 = |kind, number, kernel, target| (kind, number, kernel, target, "8.0");
    let (old, new) = (v8(PTX, 80, "k", "sm_80"), v8(PTX, 90, "j", "sm_90"));
    let newest = (PTX, 90, "j", "sm_90", "9.9");
    for (what, entries, [k, j]) in [
        ("one", vec![old], [true, false]),
        ("the highest architecture", vec![old, new], [false, true]),
        ("the highest, which is first", vec![new, old], [false, true]),
        ("one for a later GPU", vec![old, v8(PTX, 100, "j", "sm_100")], [true, false]),
        ("two of an architecture", vec![old, v8(PTX, 80, "j", "sm_80")], [false, false]),
        ("a header for none", vec![v8(PTX, 999, "k", "sm_80")], [false, false]),
        ("a header for a later GPU", vec![v8(PTX, 100, "k", "sm_80")], [false, false]),
        ("a header for less", vec![v8(PTX, 50, "k", "sm_90")], [false, false]),
        ("a header of the GPU's on other code", vec![v8(PTX, 90, "j", "sm_100"), old], [false, false]),
        (
            "a header of another's on other code",
            vec![v8(PTX, 80, "j", "sm_100"), v8(PTX, 75, "k", "sm_75")],
            [false, false],
        ),
        ("PTX as machine code", vec![v8(2, 90, "j", "sm_90"), old], [false, false]),
        ("an old kind", vec![v8(4, 80, "k", "sm_80")], [false, false]),
        ("another kind", vec![v8(8, 80, "k", "sm_80")], [false, false]),
        ("another kind beside PTX", vec![old, v8(64, 90, "j", "sm_90")], [true, false]),
        ("a version to come", vec![newest], [false, false]),
        ("a version to come beside another", vec![old, newest], [false, false]),
    ] {
        let all = what == "one";
        assert_eq!(taken("a.fatbin", &fat_binary(1, &entries), "nvidia_gpu_sm_90"), [k, j, all], "{what}");
    }
    let first = fat_binary(1, &[old]);
    for (what, bytes, expected) in [
        ("another version", fat_binary(2, &[old]), [false, false, false]),
        ("a second one", [first.clone(), fat_binary(1, &[v8(PTX, 80, "j", "sm_80")])].concat(), [true, false, false]),
        ("a second one of the same", [first.clone(), first].concat(), [true, false, true]),
    ] {
        assert_eq!(taken("a.fatbin", &bytes, "nvidia_gpu_sm_90"), expected, "{what}");
    }
}

#[test]
fn bitcode_that_a_runtime_would_hand_to_a_driver_does_not_run() {
    let folder = Folder::new();
    folder.put("0.bc", [b"BC\xc0\xde".as_slice(), &[0; 16]].concat());
    folder.put("0.sym", "k\n");
    folder.put("t.table", "[Code|Symbols]\n0.bc|0.sym\n");
    let (wrapped, told) =
        succeeds(&folder, &["wrap", "--emit", "shared", "--as-target", "spir64", "-o", "w.so", "t.table"]);
    assert!(wrapped, "{told}");
    let (runs, told) = succeeds(&folder, &["check", "-t", TARGET, "w.so"]);
    assert!(!runs && told.contains("LLVM bitcode, which no driver"), "{told}");
}

/// A call through a pointer that leads nowhere known leaves open what the kernel needs.
#[test]
fn calls_through_pointers_lead_somewhere_or_are_open() {
    let keeps_to = |declared: &str, [decorated, capability, equal]: [bool; 3]| {
        let mut modes = if decorated { all(&[(71, &[40, 5602])]) } else { Vec::new() };
        if capability {
            put(&mut modes, 17, &[5603], None, &[]);
        }
        // Two equal types of pointers.
        let pointer = if equal { 12 } else { 13 };
        let types: &[(u32, &[u32])] = &[
            (21, &[8, 32, 0]),
            (21, &[9, 64, 0]),
            (32, &[12, 5, 8]),
            (32, &[13, 5, 8]),
            (43, &[9, 14, 7, 0]),
            (46, &[12, 16]),
            (33, &[15, VOID, pointer]),
            (32, &[17, 5605, 15]),
            (22, &[KIND, 64]),
            (46, &[KIND, VALUE]),
            (54, &[VOID, 40, 0, 15]),
            (55, &[pointer, 41]),
            (248, &[42]),
            (129, &[KIND, 43, VALUE, VALUE]),
            (253, &[]),
            (56, &[]),
        ];
        let code: &[(u32, &[u32])] = &[(120, &[17, 30, 14]), (5601, &[VOID, 31, 30, 16])];
        let folder = Folder::new();
        folder.put("m.spv", module(&modes, &all(types), &all(code), &[]));
        succeeds(&folder, &["check", "--strict", "--declared", declared, "m.spv"]).0
    };
    const CALLS: &str = "ext_oneapi_virtual_functions";
    const BOTH: &str = "ext_oneapi_virtual_functions,fp64";
    for known in [[true, true, true], [true, false, true], [true, true, false]] {
        assert!(!keeps_to(CALLS, known), "{known:?}");
        assert!(keeps_to(BOTH, known), "{known:?}");
    }
    assert!(!keeps_to(BOTH, [false, true, true]));
}

/// The runtime links all images of a set of virtual functions to a kernel that calls one of them.
#[test]
fn images_of_a_set_must_do_as_the_kernels_own() {
    let plain = || module(&[], &[], &[], &[]);
    let folder = Folder::new();
    let definer = |capabilities: &[u32]| {
        let mut modes = linked(40, "f", 0);
        capabilities.iter().for_each(|capability| put(&mut modes, 17, &[*capability], None, &[]));
        let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
        module(&modes, &all(&[NUMBERS, function].concat()), &[], &[])
    };
    let aspects = "[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n";
    folder.put("0.prop", format!("{aspects}[SYCL/virtual functions]\nuses-virtual-functions-set=2|IAAAAAAAAAwc\n"));
    folder.put(
        "1.prop",
        format!(
            "{aspects}[SYCL/virtual functions]\nvirtual-functions-set=2|IAAAAAAAAAwc\n[SYCL/exported symbols]\nf=1|1\n"
        ),
    );
    folder.put("0.sym", "k\n");
    folder.put("1.sym", "f\n");
    folder.put("0.spv", plain());
    folder.put("t.table", "[Code|Properties|Symbols]\n0.spv|0.prop|0.sym\n1.spv|1.prop|1.sym\n");
    // `MeshShadingEXT`, which no target of SYCL has.
    for (capabilities, expected) in [(&[][..], true), (&[5283], false)] {
        folder.put("1.spv", definer(capabilities));
        let (runs, told) = succeeds(&folder, &["check", "--strict", "-t", TARGET, "t.table"]);
        assert_eq!(runs, expected, "{told}");
    }
}
