//! Which modules of a form that drivers refuse, or read otherwise than they are written, would be called compatible?

use super::costly::put;
use super::judged::{CPU, KERNEL, NUMBERS, SIGNATURE, TARGET, VOID, all, linked, module, runs};
use super::recorded::tool;
use super::support::folder::Folder;

#[test]
fn modules_of_a_form_that_drivers_refuse_are_not_compatible() {
    let numbers = all(NUMBERS);
    let with = |code: &[(u32, &[u32])]| module(&[], &numbers, &all(code), &[]);
    let mut opencl = Vec::new();
    put(&mut opencl, 11, &[7], Some("OpenCL.std"), &[]);
    let value_of_another =
        [NUMBERS, &[(54, &[8, 40, 0, 10]), (248, &[41]), (128, &[8, 42, 9, 9]), (254, &[42]), (56, &[])]].concat();
    let with_types = |types: &[(u32, &[u32])]| module(&[], &[numbers.clone(), all(types)].concat(), &[], &[]);
    let in_head = |head: &[(u32, &[u32])]| module(&all(head), &numbers, &[], &[]);
    let cases = [
        ("a switch to a number", with(&[(251, &[9, 21, 1, 9]), (248, &[21])])),
        ("a switch with half a case", with(&[(251, &[9, 21, 1]), (248, &[21])])),
        ("a switch by a block", with(&[(251, &[20, 21]), (248, &[21])])),
        ("code behind a branch", with(&[(249, &[21]), (128, &[8, 30, 9, 9]), (248, &[21])])),
        ("a capability in a function", with(&[(17, &[4])])),
        ("a decoration in a function", with(&[(71, &[9, 44, 4])])),
        ("a constant in a function", with(&[(43, &[8, 30, 4])])),
        ("code before the functions", with_types(&[(128, &[8, 30, 9, 9])])),
        ("a capability behind a decoration", in_head(&[(71, &[9, 44, 4]), (17, &[4])])),
        ("a value of another function", module(&[], &all(&value_of_another), &all(&[(128, &[8, 30, 42, 9])]), &[])),
        ("a type of itself", with_types(&[(33, &[11, VOID, 11])])),
        ("a signature before its parts", with_types(&[(33, &[11, VOID, 12]), (22, &[12, 32])])),
        ("a constant before its parts", with_types(&[(23, &[11, 8, 2]), (44, &[11, 12, 13, 13]), (43, &[8, 13, 1])])),
        ("a variable before its value", with_types(&[(32, &[11, 0, 8]), (59, &[11, 12, 0, 13]), (43, &[8, 13, 1])])),
        ("an absolute value of nothing", module(&opencl, &numbers, &all(&[(12, &[8, 30, 7, 141])]), &[])),
        ("an absolute value of what is not there", module(&opencl, &numbers, &all(&[(12, &[8, 30, 7, 141, 77])]), &[])),
        ("a sum of one", with(&[(128, &[8, 30, 9])])),
        ("a sum of three", with(&[(128, &[8, 30, 9, 9, 9])])),
        ("a sub-group size without the size", in_head(&[(16, &[KERNEL, 35])])),
        ("an alignment without the number", in_head(&[(71, &[9, 44])])),
        ("a hint of no type", in_head(&[(16, &[KERNEL, 30, 99])])),
    ];
    let mut long = Vec::new();
    put(&mut long, 5, &[VOID], Some(&"name".repeat(500)), &[]);
    for (what, bytes) in [
        ("a long name", module(&long, &[], &[], &[])),
        ("a switch", with(&[(251, &[9, 21, 1, 21, 2, 21]), (248, &[21])])),
        ("a constant behind its parts", with_types(&[(23, &[11, 8, 2]), (44, &[11, 12, 9, 9])])),
        ("a hint", in_head(&[(16, &[KERNEL, 30, 0x4_0006])])),
    ] {
        assert!(runs("m.spv", &bytes, TARGET), "{what}");
    }
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, TARGET)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
}

/// A module whose kernel `k` is as said, behind two functions and another kernel, with names of ids and a symbol.
fn with_names(names: &[(u32, &str)], symbol: &[u32], code: &[(u32, &[u32])]) -> Vec<u8> {
    let mut said = Vec::new();
    put(&mut said, 15, &[6, 44], Some("other"), &[]);
    names.iter().for_each(|(id, name)| put(&mut said, 5, &[*id], Some(name), &[]));
    said.extend(symbol);
    let empty = |id: u32, label: u32| all(&[(54, &[VOID, id, 0, SIGNATURE]), (248, &[label]), (253, &[]), (56, &[])]);
    module(&said, &[empty(40, 41), empty(42, 43), empty(44, 45)].concat(), &all(code), &[])
}

/// Drivers go by `OpName` and by symbols.
#[test]
fn kernels_and_functions_that_drivers_call_otherwise_are_not_compatible() {
    let call: &[(u32, &[u32])] = &[(57, &[VOID, 30, 40])];
    let other: &[(u32, &[u32])] = &[(57, &[VOID, 30, 42])];
    let twice: &[(u32, &[u32])] = &[(57, &[VOID, 30, 40]), (57, &[VOID, 31, 40])];
    for (what, bytes) in [
        ("no names", with_names(&[], &[], &[])),
        ("names", with_names(&[(KERNEL, "k"), (40, "f"), (42, "g")], &[], call)),
        ("a kernel that calls the function of its name", with_names(&[(40, "k")], &[], call)),
        ("one that others see", with_names(&[(40, "k")], &linked(40, "k", 0), call)),
        ("one of a name of C", {
            let mut said = Vec::new();
            put(&mut said, 15, &[6, 46], Some("isdigit"), &[]);
            put(&mut said, 5, &[40], Some("isdigit"), &[]);
            let entry: &[(u32, &[u32])] =
                &[(54, &[VOID, 46, 0, SIGNATURE]), (248, &[47]), (57, &[VOID, 48, 40]), (253, &[]), (56, &[])];
            let own: &[(u32, &[u32])] = &[(54, &[VOID, 40, 0, SIGNATURE]), (248, &[41]), (253, &[]), (56, &[])];
            module(&said, &[], &[], &all(&[own, entry].concat()))
        }),
        ("a template of DPC++", with_names(&[(40, "_Z17__spirv_AtomicMinIiEvv")], &[], call)),
        ("a function of one's own", with_names(&[(40, "_Z7get_sizev"), (42, "_ZN1a13get_global_idEj")], &[], call)),
        ("a block of the kernel's name", with_names(&[(20, "k")], &[], call)),
    ] {
        assert!(runs("m.spv", &bytes, TARGET), "{what}");
        rewritten(&bytes, 0, what);
    }
    for name in ["f", "_Z3max4sizei", "_ZN1a3maxEii", "_Z7largestii", "abs", "sinf", "memcpy", "_Z3dotI4unitEii"] {
        assert!(runs("m.spv", &with_names(&[(40, name)], &[], call), TARGET), "{name}");
    }
    let mut opencl = Vec::new();
    put(&mut opencl, 11, &[7], Some("OpenCL.std"), &[]);
    // A function of two numbers, in a module that has the instruction `s_max` or not.
    let larger = |name: &str, code: &[(u32, &[u32])]| {
        let mut said = opencl.clone();
        put(&mut said, 15, &[6, 44], Some("other"), &[]);
        put(&mut said, 5, &[40], Some(name), &[]);
        let own: &[(u32, &[u32])] =
            &[(54, &[8, 40, 0, 15]), (55, &[8, 46]), (55, &[8, 47]), (248, &[41]), (254, &[46]), (56, &[])];
        let other: &[(u32, &[u32])] = &[(54, &[VOID, 44, 0, SIGNATURE]), (248, &[45]), (253, &[]), (56, &[])];
        let types = [NUMBERS, &[(33, &[15, 8, 8, 8])]].concat();
        module(&said, &all(&types), &all(code), &all(&[own, other].concat()))
    };
    let instruction: &[(u32, &[u32])] = &[(12, &[8, 30, 7, 156, 9, 9])];
    for (name, code) in [
        ("_Z3maxii", &[][..]),
        ("_Z3minii", instruction),
        ("_Z7largestii", instruction),
        ("_Z3max4unitS_", instruction),
    ] {
        assert!(runs("m.spv", &larger(name, code), TARGET), "{name}");
    }
    let variable = |name: &str| {
        let mut said = Vec::new();
        put(&mut said, 15, &[6, 44], Some("other"), &[]);
        put(&mut said, 5, &[12], Some(name), &[]);
        let types = [NUMBERS, &[(32, &[11, 5, 8]), (59, &[11, 12, 5])]].concat();
        let other: &[(u32, &[u32])] = &[(54, &[VOID, 44, 0, SIGNATURE]), (248, &[45]), (253, &[]), (56, &[])];
        module(&said, &all(&types), &[], &all(other))
    };
    assert!(runs("m.spv", &variable("v"), TARGET));
    let kernel = |name: &str| {
        let mut said = Vec::new();
        put(&mut said, 15, &[6, 40], Some(name), &[]);
        with_names(&[], &said, &[])
    };
    for name in ["_Z6selectiii", "a;b", "isdigit", "_Z7isequalff"] {
        assert!(runs("m.spv", &kernel(name), TARGET), "{name}");
    }
    let cases = [
        ("another name", with_names(&[(KERNEL, "j")], &[], &[])),
        ("a name more", with_names(&[(KERNEL, "k"), (KERNEL, "j")], &[], &[])),
        ("another symbol", with_names(&[], &linked(KERNEL, "j", 0), &[])),
        ("a function of the kernel's name", with_names(&[(40, "k")], &[], &[])),
        ("a symbol of the kernel's name", with_names(&[], &linked(40, "k", 0), &[])),
        ("one that it does not call", with_names(&[(40, "k")], &[], other)),
        ("one that it calls twice", with_names(&[(40, "k")], &[], twice)),
        ("two, of which it calls one", with_names(&[(40, "k"), (42, "k")], &[], call)),
        ("two functions of one name", with_names(&[(40, "f"), (42, "f")], &[], call)),
    ];
    let theirs = [
        ("a built-in function's name, of one parameter more", larger("_Z3maxi", instruction)),
        ("a built-in function's name", with_names(&[(40, "_Z3maxii")], &[], call)),
        ("one of vectors", with_names(&[(40, "_Z6selectDv4_fS_Dv4_i")], &[], call)),
        ("one of pointers", with_names(&[(40, "_Z8prefetchPU3AS1Kim")], &[], call)),
        ("an intrinsic's name", with_names(&[(40, "llvm.trap")], &[], call)),
        ("a name of a comparison", larger("_Z7isequalff", &[])),
        ("a name that is C's alone", larger("_Z3anyii", &[])),
        ("a name of a division", larger("_Z4idivii", &[])),
        ("a name of C", with_names(&[(40, "isdigit")], &[], call)),
        ("a name of another length", with_names(&[(40, "_Z16get_local_size")], &[], call)),
        ("a name of the driver's own", with_names(&[(40, "get_special_buffer.")], &[], call)),
        ("a variable of LLVM's", variable("llvm.used")),
        ("a variable with a built-in function's name", variable("_Z13get_global_idj")),
        ("a kernel with an intrinsic's name", kernel("llvm.foo")),
        ("a name that drivers have", with_names(&[(40, "_Z13get_global_idj")], &[], call)),
        ("an instruction's name", with_names(&[(40, "_Z17__spirv_ocl_s_maxii")], &[], call)),
    ];
    let judged = cases.iter().chain(&theirs).filter(|(_, bytes)| runs("m.spv", bytes, TARGET));
    assert_eq!(judged.map(|(what, _)| *what).collect::<Vec<_>>(), [""; 0]);
    // A part without the other function would be sound, and do something else.
    cases.iter().for_each(|(what, bytes)| rewritten(bytes, 3, what));
}

/// Valid, and yet drivers miss a symbol for them, or end.
#[test]
fn what_no_driver_takes_is_not_compatible() {
    let built_in = |number: u32| all(&[(71, &[12, 11, number])]);
    let input: &[(u32, &[u32])] = &[(32, &[11, 1, 8]), (59, &[11, 12, 1])];
    let variables = all(&[NUMBERS, input].concat());
    let source = |language: u32, version: u32| all(&[(3, &[language, version])]);
    let head = |parts: &[Vec<u32>]| module(&parts.concat(), &variables, &[], &[]);
    let taking = |types: &[(u32, &[u32])], of: u32| {
        let signature = [15, VOID, of];
        let types = [NUMBERS, types, &[(33, &signature)]].concat();
        let other: &[(u32, &[u32])] = &[(54, &[VOID, 44, 0, 15]), (55, &[of, 46]), (248, &[45]), (253, &[]), (56, &[])];
        let mut said = Vec::new();
        put(&mut said, 15, &[6, 44], Some("other"), &[]);
        (module(&said, &all(&types), &[], &all(other)), module(&[], &all(&types), &[], &all(other)))
    };
    let constant = |value: &[u32]| {
        let variable = [&[11, 12, 0][..], value].concat();
        module(&[], &all(&[NUMBERS, &[(32, &[11, 0, 8]), (59, &variable)]].concat()), &[], &[])
    };
    let linear = built_in(34);
    let calling = |symbol: &str| {
        let declared = [NUMBERS, &[(33, &[15, VOID]), (54, &[VOID, 40, 0, 15]), (56, &[])]].concat();
        module(&linked(40, symbol, 1), &all(&declared), &all(&[(57, &[VOID, 30, 40])]), &[])
    };
    let (array, array_inside) = taking(&[(28, &[14, 8, 9])], 14);
    let (pointer, _) = taking(&[(32, &[14, 5, 8])], 14);
    let (input, _) = taking(&[(32, &[14, 1, 8])], 14);
    for (what, bytes) in [
        ("a place", head(&[built_in(28)])),
        ("a linear place of C++", head(&[source(4, 100_000), linear.clone()])),
        ("a linear place of C 2.0", head(&[source(3, 200_000), linear.clone()])),
        ("an array that a function takes", array_inside),
        ("a pointer", pointer),
        ("a function of the device's library", calling("__devicelib_sinf")),
        ("a constant", constant(&[9])),
    ] {
        assert!(runs("m.spv", &bytes, TARGET), "{what}");
    }
    let atomic = |language: u32, code: (u32, &[u32])| {
        let types = [NUMBERS, &[(32, &[11, 5, 8]), (59, &[11, 12, 5]), (32, &[14, 8, 8]), (43, &[8, 16, 0])]].concat();
        let code = all(&[(121, &[14, 31, 12]), code]);
        let bytes = module(&source(language, 200_000), &all(&types), &code, &[]);
        // With `GenericPointer` in place of `Linkage`.
        let linkage = [17, 0, 2, 0, 5, 0, 0, 0];
        let at = bytes.windows(8).position(|words| words == linkage).unwrap();
        [&bytes[..at], &[17, 0, 2, 0, 38, 0, 0, 0], &bytes[at + 8..]].concat()
    };
    for (language, target, code) in [(3, TARGET, true), (4, CPU, true), (3, CPU, false)] {
        for instruction in [(234, &[8, 30, 31, 9, 16, 9][..]), (319, &[31, 9, 16])] {
            let bytes = atomic(language, instruction);
            assert_eq!(runs("m.spv", &bytes, target), code, "{instruction:?} of {language} on {target}");
        }
    }
    let more: &[(u32, &[u32])] = &[(32, &[11, 1, 8]), (59, &[11, 12, 1]), (59, &[11, 13, 1])];
    let twice = [built_in(28), all(&[(71, &[13, 11, 28])])].concat();
    let cases = [
        ("a linear place of C 1.2", head(&[source(3, 102_000), linear.clone()])),
        ("a linear place of no source", head(&[linear])),
        ("two variables of one place", module(&twice, &all(&[NUMBERS, more].concat()), &[], &[])),
        ("an array that a kernel takes", array),
        ("a pointer to other memory", input),
        ("a constant without a value", constant(&[])),
        ("a variable of no address space", {
            let variable: &[(u32, &[u32])] = &[(32, &[11, 8, 8]), (59, &[11, 12, 8])];
            module(&[], &all(&[NUMBERS, variable].concat()), &[], &[])
        }),
        ("a conversion that other images bring", calling("__devicelib_ConvertFToBF16INTEL")),
        ("a kernel that runs by itself", module(&all(&[(16, &[KERNEL, 33])]), &[], &[], &[])),
        ("a copy with a stride of another type", {
            let types = [NUMBERS, &[(34, &[10]), (21, &[14, 64, 0]), (43, &[14, 15, 1, 0]), (46, &[10, 16])]].concat();
            let pointers: &[(u32, &[u32])] =
                &[(32, &[11, 5, 8]), (59, &[11, 12, 5]), (32, &[17, 4, 8]), (59, &[17, 18, 4])];
            let types = all(&[types.as_slice(), pointers].concat());
            module(&[], &types, &all(&[(259, &[10, 30, 9, 18, 12, 15, 9, 16])]), &[])
        }),
        ("a long product", {
            let types = [NUMBERS, &[(30, &[14, 8, 8])]].concat();
            module(&[], &all(&types), &all(&[(151, &[14, 30, 9, 9])]), &[])
        }),
    ];
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, CPU)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
}

/// Splits and links a module, which has to end with a code.
fn rewritten(bytes: &[u8], code: i32, what: &str) {
    let folder = Folder::new();
    folder.put("m.spv", bytes);
    for command in ["split m.spv --mode per_kernel -o p.table", "link m.spv --internalize -o l.spv"] {
        let done = tool(&folder, &command.split(' ').collect::<Vec<_>>());
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{what}: {command}: {told}");
    }
}

/// Each part of a program has its own variables, and kernels that are put into one program share them.
#[test]
fn variables_that_kernels_share_are_not_divided_or_united_unseen() {
    let types = [NUMBERS, &[(32, &[11, 5, 8]), (59, &[11, 12, 5])]].concat();
    let store: &[(u32, &[u32])] = &[(62, &[12, 9])];
    let second: &[(u32, &[u32])] =
        &[(54, &[VOID, 44, 0, SIGNATURE]), (248, &[45]), (62, &[12, 9]), (253, &[]), (56, &[])];
    let with = |decorations: &[(u32, &[u32])]| {
        let mut said = Vec::new();
        put(&mut said, 15, &[6, 44], Some("other"), &[]);
        put(&mut said, 5, &[12], Some("counter"), &[]);
        module(&[said, all(decorations)].concat(), &all(&types), &all(store), &all(second))
    };
    let folder = Folder::new();
    for (decorations, warned) in [(&[][..], true), (&[(71, &[12, 22][..])][..], false)] {
        folder.put("m.spv", with(decorations));
        let done = tool(&folder, &["split", "m.spv", "--mode", "per_kernel", "-o", "p.table"]);
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{told}");
        assert_eq!(told.contains("variable 'counter' is in 2 images"), warned, "{told}");
        for name in ["k", "j"] {
            let mut bytes = module(&all(decorations), &all(&types), &all(store), &[]);
            let entry = bytes.windows(4).position(|four| four == b"k\0\0\0").unwrap();
            bytes[entry] = name.as_bytes()[0];
            folder.put(&format!("{name}.spv"), bytes);
        }
        let done = tool(&folder, &["join", "k.spv", "j.spv", "--fold-clones", "-o", "j.table"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let images = String::from_utf8(folder.read("j.table")).unwrap().lines().count() - 1;
        assert_eq!(images, if warned { 2 } else { 1 });
    }
}

/// A kernel with a value of a type (a constant of nothing: 23) and an instruction on it. Numbers of types: 10 to 13 integers of 8 to 64
/// bits, 14 to 16 floats of 16 to 64 bits, 17 and 18 vectors of two halves and two floats, 29 of five floats, 19 and 32 the truth values and vectors of two; 20 to 22 the scopes of a device, a
/// work-group and a sub-group.
pub fn of_type(kind: u32, code: &[(u32, &[u32])]) -> Vec<u8> {
    let capabilities: &[(u32, &[u32])] = &[(17, &[39]), (17, &[22]), (17, &[11]), (17, &[9]), (17, &[18]), (17, &[12])];
    let names = [
        "SPV_INTEL_subgroups",
        "SPV_EXT_shader_atomic_float_add",
        "SPV_KHR_uniform_group_instructions",
        "SPV_INTEL_vector_compute",
    ]
    .map(|name| {
        let mut words = Vec::new();
        put(&mut words, 10, &[], Some(name), &[]);
        words
    });
    let more: &[(u32, &[u32])] = &[
        (17, &[61]),
        (17, &[63]),
        (17, &[65]),
        (17, &[66]),
        (17, &[5568]),
        (17, &[5569]),
        (17, &[5619]),
        (17, &[6033]),
        (17, &[6400]),
    ];
    let mut opencl = Vec::new();
    put(&mut opencl, 11, &[7], Some("OpenCL.std"), &[]);
    let integers: &[(u32, &[u32])] = &[(21, &[10, 8, 0]), (21, &[11, 16, 0]), (21, &[12, 32, 0]), (21, &[13, 64, 0])];
    let floats: &[(u32, &[u32])] = &[
        (22, &[14, 16]),
        (22, &[15, 32]),
        (22, &[16, 64]),
        (23, &[17, 14, 2]),
        (23, &[18, 15, 2]),
        (23, &[29, 15, 5]),
    ];
    let values: &[(u32, &[u32])] = &[
        (43, &[12, 26, 1]),
        (43, &[12, 21, 2]),
        (43, &[12, 22, 3]),
        (43, &[12, 24, 0]),
        (43, &[13, 25, 0, 0]),
        (46, &[kind, 23]),
        (32, &[27, 5, kind]),
        (59, &[27, 28, 5, 23]),
    ];
    let types = all(&[integers, floats, &[(20, &[19]), (23, &[32, 19, 2])], values].concat());
    let bytes = module(&opencl, &types, &all(code), &[]);
    begun(&[all(&[capabilities, more].concat()), names.concat()].concat(), &bytes)
}

/// A module with capabilities and extensions, which stand first.
pub fn begun(first: &[u32], module: &[u8]) -> Vec<u8> {
    let first = first.iter().flat_map(|word| word.to_le_bytes());
    module[..20].iter().copied().chain(first).chain(module[20..].iter().copied()).collect()
}

/// Compilers of devices have a function of an instruction for some types alone.
#[test]
fn instructions_on_types_that_drivers_have_no_function_for_are_not_compatible() {
    let broadcast = |kind: u32, scope: u32, index: u32| of_type(kind, &[(263, &[kind, 30, scope, 23, index])]);
    let least = |kind: u32, scope: u32| of_type(kind, &[(268, &[kind, 30, scope, 0, 23])]);
    let part = |kind: u32, scope: u32| of_type(kind, &[(349, &[kind, 30, scope, 0, 23])]);
    let shuffle = |code: u32, kind: u32| of_type(kind, &[(code, &[kind, 30, 22, 23, 24])]);
    let other = |kind: u32| of_type(kind, &[(5571, &[kind, 30, 23, 24])]);
    let block = |kind: u32| of_type(kind, &[(5575, &[kind, 30, 28])]);
    let write = |kind: u32| of_type(kind, &[(5576, &[28, 23])]);
    let store = |kind: u32| of_type(kind, &[(228, &[28, 26, 24, 23])]);
    let exchange = |kind: u32| of_type(kind, &[(229, &[kind, 30, 28, 26, 24, 23])]);
    let both = |scope: u32, operation: u32| of_type(19, &[(6406, &[19, 30, scope, operation, 23])]);
    let either = |operation: u32| of_type(19, &[(6408, &[19, 30, 21, operation, 23])]);
    let compare = |kind: u32| of_type(kind, &[(230, &[kind, 30, 28, 26, 24, 24, 23, 23])]);
    let any = |kind: u32| of_type(kind, &[(154, &[19, 30, 23])]);
    let power = |exponent: u32| of_type(18, &[(12, &[18, 30, 7, 34, 23, exponent])]);
    let vector_shuffle = |code: u32, kind: u32| of_type(kind, &[(12, &[kind, 30, 7, code, 23, 23])]);
    let length = |kind: u32, of: u32| of_type(of, &[(12, &[kind, 30, 7, 109, 23])]);
    for (what, bytes) in [
        ("a broadcast", broadcast(12, 21, 25)),
        ("a broadcast of half to a sub-group", broadcast(14, 22, 24)),
        ("the least of a work-group", least(12, 21)),
        ("the least of a sub-group", least(10, 22)),
        ("a sum of a part of a sub-group", part(11, 22)),
        ("a shuffle of floats", shuffle(345, 18)),
        ("a shuffle of Intel's", other(18)),
        ("a block", block(12)),
        ("a block that is written", write(10)),
        ("an atomic store", store(15)),
        ("an atomic exchange", exchange(12)),
        ("a fast length", length(15, 18)),
        ("the truth of all of a work-group", both(21, 0)),
        ("the truth of all of a sub-group so far", both(22, 1)),
        ("a shuffle of a vector", vector_shuffle(182, 18)),
    ] {
        assert!(runs("m.spv", &bytes, CPU), "{what}");
    }
    let cases = [
        ("a broadcast of half", broadcast(14, 21, 25)),
        ("a broadcast of a vector", broadcast(18, 21, 25)),
        ("a broadcast by a short index", broadcast(12, 21, 24)),
        ("a broadcast by a long index", broadcast(12, 22, 25)),
        ("the least of bytes", least(10, 21)),
        ("a sum of a part of a work-group", part(12, 21)),
        ("a sum of vectors", of_type(18, &[(350, &[18, 30, 22, 0, 23])])),
        ("a shuffle of halves", shuffle(345, 17)),
        ("a shuffle by a difference", shuffle(347, 18)),
        ("a shuffle of halves of Intel's", other(17)),
        ("a block of floats", block(15)),
        ("a block of floats that is written", write(15)),
        ("an atomic store of bytes", store(10)),
        ("an atomic store of double", store(16)),
        ("an atomic exchange of half", exchange(14)),
        ("a fast length of half", length(14, 17)),
        ("a fast length of double", length(16, 16)),
        ("the truth of all of a work-group so far", both(21, 1)),
        ("the truth of one of a work-group before", either(2)),
        ("a shuffle of a vector of halves", vector_shuffle(182, 17)),
        ("a shuffle of two vectors of halves", vector_shuffle(183, 17)),
    ];
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, CPU)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
    for (what, bytes, is_taken) in [
        ("a scan of truth values", both(21, 1), true),
        ("a comparing exchange", compare(12), true),
        ("a comparing exchange of floats", compare(15), false),
        ("any of longs", any(13), false),
        ("any of one number", any(12), false),
        ("any of a vector of numbers", any(18), false),
        ("any of a choice by a number", of_type(18, &[(169, &[18, 31, 24, 23, 23]), (154, &[19, 30, 31])]), false),
        (
            "any of a choice by a comparison",
            of_type(18, &[(180, &[32, 33, 23, 23]), (169, &[18, 31, 33, 23, 23]), (154, &[19, 30, 31])]),
            true,
        ),
        (
            "any of a choice of sums",
            of_type(
                18,
                &[
                    (180, &[32, 33, 23, 23]),
                    (129, &[18, 34, 23, 23]),
                    (169, &[18, 31, 33, 34, 23]),
                    (154, &[19, 30, 31]),
                ],
            ),
            false,
        ),
        ("a power of two by one number", power(24), false),
        ("a power of two by as many", power(23), true),
        ("a shuffle of a vector of halves", vector_shuffle(182, 17), true),
        ("a broadcast of half", broadcast(14, 21, 25), true),
        ("a block of floats", block(15), false),
        ("an atomic store of bytes", store(10), false),
    ] {
        assert_eq!(runs("m.spv", &bytes, "pvc"), is_taken, "{what}");
    }
}

/// clang 22 hands pointers to tables, and vectors of numbers for those of truth values, to instructions that have no such function.
#[test]
fn functions_of_opencl_on_types_that_it_lacks_are_not_compatible() {
    let load = |kind: u32| of_type(kind, &[(12, &[18, 30, 7, 171, 25, 28, 2])]);
    let store = |kind: u32| of_type(kind, &[(12, &[VOID, 30, 7, 172, 23, 25, 28])]);
    let half = |kind: u32| of_type(kind, &[(12, &[15, 30, 7, 173, 25, 28])]);
    let described = |set: u32| {
        let mut words = Vec::new();
        put(&mut words, 11, &[8], Some("OpenCL.DebugInfo.100"), &[]);
        let mut bytes = of_type(15, &[(12, &[VOID, 30, set, 30, 28, 28])]);
        let at = bytes.windows(4).position(|word| word == [14, 0, 3, 0]).unwrap();
        bytes.splice(at..at, words.into_iter().flat_map(u32::to_le_bytes));
        bytes
    };
    let explicit = |bytes: Vec<u8>| begun(&all(&[(17, &[5617])]), &bytes);
    let with_part = |code: u32| of_type(18, &[(12, &[18, 30, 7, code, 23, 28])]);
    for (what, bytes, on_cpus, on_gpus) in [
        ("a vector of floats", load(15), true, true),
        ("a vector of floats from doubles", load(16), false, false),
        ("a vector of floats from such a vector", load(18), false, false),
        ("a vector where vectors are", store(18), false, false),
        ("half a float", half(14), true, true),
        ("half a float from a whole one", half(15), false, false),
        ("the fraction of a vector", with_part(30), true, true),
        ("the exponents of a vector as floats", with_part(31), false, false),
        ("a sum of five", of_type(29, &[(129, &[29, 30, 23, 23])]), true, true),
        ("a root of five", of_type(29, &[(12, &[29, 30, 7, 61, 23])]), false, false),
        (
            "a root of five in a module of explicit SIMD",
            explicit(of_type(29, &[(12, &[29, 30, 7, 61, 23])])),
            false,
            true,
        ),
        ("a part of a description of the source", described(8), true, true),
        ("a conversion of five", of_type(29, &[(115, &[29, 30, 23])]), false, true),
        ("a product of vectors that is an integer", of_type(18, &[(148, &[12, 30, 23, 23])]), true, false),
        ("any of one integer", of_type(12, &[(154, &[19, 30, 23])]), false, false),
        ("a fast cosine", of_type(15, &[(12, &[15, 30, 7, 67, 23])]), true, true),
        ("a fast cosine of half", of_type(14, &[(12, &[14, 30, 7, 67, 23])]), false, false),
        ("a fast cosine of double", of_type(16, &[(12, &[16, 30, 7, 67, 23])]), false, false),
        ("a native cosine of half", of_type(14, &[(12, &[14, 30, 7, 81, 23])]), false, true),
        ("a product of 24 bits", of_type(12, &[(12, &[12, 30, 7, 169, 23, 23])]), true, true),
        ("a product of 24 bits of long", of_type(13, &[(12, &[13, 30, 7, 169, 23, 23])]), false, false),
        ("a cross product of two", of_type(18, &[(12, &[18, 30, 7, 104, 23, 23])]), false, false),
    ] {
        assert_eq!((runs("m.spv", &bytes, CPU), runs("m.spv", &bytes, "pvc")), (on_cpus, on_gpus), "{what}");
    }
}

/// Compilers for GPUs have functions for the shapes of matrices that a device multiplies alone.
#[test]
fn matrices_that_a_device_lacks_are_not_compatible() {
    let mut first = all(&[(17, &[6022]), (17, &[9])]);
    put(&mut first, 10, &[], Some("SPV_KHR_cooperative_matrix"), &[]);
    let with = |rows: u32, columns: u32, usage: u32, code: u32| {
        let sizes: &[(u32, &[u32])] = &[
            (22, &[50, 16]),
            (43, &[8, 51, 3]),
            (code, &[8, 52, rows]),
            (43, &[8, 53, columns]),
            (43, &[8, 54, usage]),
            (4456, &[55, 50, 51, 52, 53, 54]),
        ];
        begun(&first, &module(&[], &all(&[NUMBERS, sizes].concat()), &[], &[]))
    };
    for (what, bytes, is_taken) in [
        ("A", with(8, 16, 0, 43), true),
        ("fewer rows of A", with(3, 16, 0, 43), true),
        ("more rows of A than there are", with(9, 16, 0, 43), false),
        ("B", with(16, 16, 1, 43), true),
        ("B of half its columns", with(16, 8, 1, 43), false),
        ("a matrix of no use", with(8, 16, 3, 43), false),
        ("rows that a program sets", with(8, 16, 0, 50), false),
    ] {
        assert_eq!(runs("m.spv", &bytes, "pvc"), is_taken, "{what}");
    }
}

/// clang 22 decorates conversions that saturate by themselves, and Intel's compiler for GPUs has no function of both.
#[test]
fn conversions_that_drivers_have_no_function_for_are_not_compatible() {
    let numbers = [NUMBERS, &[(22, &[11, 32])]].concat();
    let convert = |code: u32, to: u32, is_decorated: bool| {
        let head: &[(u32, &[u32])] = if is_decorated { &[(71, &[30, 28])] } else { &[] };
        module(&all(head), &all(&numbers), &all(&[(code, &[to, 30, 9])]), &[])
    };
    let of_itself = |code: u32, kind: u32| of_type(kind, &[(code, &[kind, 30, 23])]);
    for (what, bytes, on_cpus, on_gpus) in [
        ("a conversion of a number to its own width", of_itself(113, 12), false, true),
        ("a conversion of a long to its own width", of_itself(113, 13), false, false),
        ("a conversion of a float to its own width", of_itself(115, 15), false, true),
        ("a conversion of a vector to its own width", of_itself(115, 18), true, true),
        ("signed to unsigned", convert(118, 8, false), true, true),
        ("signed to unsigned, decorated", convert(118, 8, true), true, false),
        ("unsigned to signed, decorated", convert(119, 8, true), true, false),
        ("unsigned to float", convert(112, 11, false), true, true),
        ("unsigned to float, decorated", convert(112, 11, true), false, false),
    ] {
        assert_eq!((runs("m.spv", &bytes, CPU), runs("m.spv", &bytes, "pvc")), (on_cpus, on_gpus), "{what}");
    }
}

/// Intel's compiler for GPUs ends at some integers of 128 bits, and at others does not.
#[test]
fn the_widest_integers_are_not_compatible_with_gpus_everywhere() {
    let mut first = all(&[(17, &[5844])]);
    put(&mut first, 10, &[], Some("SPV_INTEL_arbitrary_precision_integers"), &[]);
    let with = |more: &[(u32, &[u32])], behind: &[(u32, &[u32])]| {
        let types = [NUMBERS, &[(21, &[11, 128, 0]), (33, &[12, VOID, 11]), (33, &[13, 11])], more].concat();
        begun(&first, &module(&[], &all(&types), &all(&[(1, &[11, 30])]), &all(behind)))
    };
    let parameter: &[(u32, &[u32])] = &[(54, &[VOID, 40, 0, 12]), (55, &[11, 41]), (248, &[42]), (253, &[]), (56, &[])];
    let result: &[(u32, &[u32])] = &[(54, &[11, 40, 0, 13]), (248, &[42]), (1, &[11, 43]), (254, &[43]), (56, &[])];
    for (what, bytes, is_taken) in [
        ("a value", with(&[], &[]), true),
        ("an array", with(&[(28, &[14, 11, 9])], &[]), false),
        ("a parameter", with(&[], parameter), false),
        ("a result", with(&[], result), false),
    ] {
        assert_eq!(runs("m.spv", &bytes, "pvc"), is_taken, "{what}");
    }
}

/// Drivers for CPUs take no function that calls itself.
#[test]
fn functions_that_call_themselves_are_not_compatible_with_cpus() {
    // Functions 40 and 50 of a number and with one.
    let calls = |first: &[(u32, u32)]| {
        let body = |function: u32| {
            let called = first.iter().filter(move |(caller, _)| *caller == function);
            let code =
                called.map(move |(_, callee)| all(&[(57, &[8, callee + function * 100, *callee])])).collect::<Vec<_>>();
            [all(&[(54, &[8, function, 0, 10]), (248, &[function + 1])]), code.concat(), all(&[(254, &[9]), (56, &[])])]
        };
        let functions = [body(40).concat(), body(50).concat()].concat();
        let kernel: &[(u32, &[u32])] =
            if first.iter().any(|(caller, _)| *caller == 0) { &[(57, &[8, 30, 40])] } else { &[] };
        module(&[], &[all(NUMBERS), functions].concat(), &all(kernel), &[])
    };
    for (what, bytes, runs_there) in [
        ("one that calls another", calls(&[(0, 40), (40, 50)]), true),
        ("one that calls itself", calls(&[(0, 40), (40, 40)]), false),
        ("two that call each other", calls(&[(0, 40), (40, 50), (50, 40)]), false),
        ("one that calls one that calls itself", calls(&[(0, 40), (40, 50), (50, 50)]), false),
        ("one that no kernel calls", calls(&[(40, 50), (50, 50)]), true),
    ] {
        assert_eq!((runs("m.spv", &bytes, CPU), runs("m.spv", &bytes, "pvc")), (runs_there, true), "{what}");
    }
}
