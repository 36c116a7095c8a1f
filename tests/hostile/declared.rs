//! Which modules with declarations, or marks, that drivers do not take would be called compatible?

use super::costly::put;
use super::formed::{begun, of_type};
use super::judged::{CPU, KERNEL, NUMBERS, SIGNATURE, TARGET, VOID, all, module, runs};

/// Intel's OpenCL CPU driver takes each operand of a declaration for what it has to be, and ends.
#[test]
fn modules_whose_declarations_are_made_of_other_things_are_not_compatible() {
    let with = |types: &[(u32, &[u32])]| module(&[], &[all(NUMBERS), all(types)].concat(), &[], &[]);
    // A float, a vector of two, an array of one number and a structure of two, a truth value, a float's value.
    let more = |types: &[(u32, &[u32])]| {
        let known: &[(u32, &[u32])] = &[
            (22, &[11, 32]),
            (23, &[12, 8, 2]),
            (28, &[13, 8, 9]),
            (30, &[14, 8, 8]),
            (20, &[15]),
            (43, &[11, 16, 0]),
            (41, &[15, 17]),
        ];
        with(&[known, types].concat())
    };
    let operation = |kind: u32, words: &[u32]| more(&[(52, &[&[kind, 30], words].concat())]);
    let mut opencl = Vec::new();
    put(&mut opencl, 11, &[7], Some("OpenCL.std"), &[]);
    let set: &[(u32, &[u32])] = &[(23, &[12, 8, 2]), (44, &[12, 30, 9, 7])];
    let function = |types: &[(u32, &[u32])], head: &[(u32, &[u32])]| {
        let types = [NUMBERS, types].concat();
        let tail: &[(u32, &[u32])] = &[(248, &[42]), (1, &[8, 43]), (254, &[43]), (56, &[])];
        module(&[], &all(&types), &[], &all(&[head, tail].concat()))
    };
    for (what, bytes) in [
        ("a vector of numbers", more(&[(44, &[12, 30, 9, 9])])),
        ("an array of constants", more(&[(44, &[13, 30, 9])])),
        ("a structure of a constant and what is not known", more(&[(1, &[8, 29]), (44, &[14, 30, 9, 29])])),
        ("an operation", operation(8, &[128, 9, 9])),
        ("an operation on truth values", operation(15, &[166, 17, 17])),
        ("a comparison", operation(15, &[170, 9, 9])),
        ("a choice", operation(8, &[169, 17, 9, 9])),
        ("a sum of floats", operation(11, &[129, 16, 16])),
        ("a remainder of floats", operation(11, &[140, 16, 16])),
        ("a part", operation(8, &[81, 9, 0])),
        ("nothing of a structure", more(&[(46, &[14, 30])])),
        ("a variable", more(&[(32, &[30, 5, 8]), (59, &[30, 31, 5, 9])])),
        ("a variable of explicit SIMD", more(&[(32, &[30, 7, 8]), (59, &[30, 31, 5, 9])])),
        ("a pointer to nothing", more(&[(32, &[30, 5, VOID])])),
        ("a structure of pointers to it", more(&[(39, &[30, 5]), (30, &[31, 30]), (32, &[30, 5, 31])])),
        ("a function", function(&[(33, &[11, 8, 8])], &[(54, &[8, 40, 0, 11]), (55, &[8, 41])])),
    ] {
        assert!(runs("m.spv", &bytes, TARGET), "{what}");
        assert!(runs("m.spv", &bytes, CPU), "{what}");
    }
    let cases = [
        ("a vector with a type in it", more(&[(44, &[12, 30, 9, 8])])),
        ("a vector with a set of instructions in it", module(&opencl, &all(&[NUMBERS, set].concat()), &[], &[])),
        ("a vector of one number too few", more(&[(44, &[12, 30, 9])])),
        ("a structure of one number too few", more(&[(44, &[14, 30, 9])])),
        ("an array of one number too few", more(&[(43, &[8, 29, 3]), (28, &[30, 8, 29]), (44, &[30, 31, 9, 9])])),
        ("a number of parts", more(&[(44, &[8, 30, 9])])),
        ("an array as long as a type", with(&[(28, &[11, 8, 8])])),
        ("an array as long as a truth value", more(&[(28, &[30, 8, 17])])),
        ("an array of nothing", with(&[(28, &[11, VOID, 9])])),
        ("a vector of pointers", with(&[(32, &[11, 5, 8]), (23, &[12, 11, 3])])),
        ("a vector of vectors", more(&[(23, &[30, 12, 2])])),
        ("a structure of nothing", with(&[(30, &[11, VOID])])),
        ("a structure of itself", with(&[(30, &[11, 8, 11])])),
        ("a pointer to itself", with(&[(32, &[11, 5, 11])])),
        ("a function of nothing", with(&[(33, &[11, VOID, VOID])])),
        ("a number of a structure", more(&[(43, &[14, 30, 1])])),
        ("half a long number", with(&[(21, &[11, 64, 0]), (43, &[11, 12, 1])])),
        ("a truth value that is a number", with(&[(41, &[8, 11])])),
        ("nothing of nothing", with(&[(46, &[VOID, 11])])),
        ("a variable that is no pointer", with(&[(59, &[8, 11, 5])])),
        ("a variable whose value is a type", with(&[(32, &[11, 5, 8]), (59, &[11, 12, 5, 8])])),
        ("a mode of a type", module(&all(&[(16, &[VOID, 31])]), &[], &[], &[])),
        ("a mode of what is no function", module(&all(&[(16, &[20, 31])]), &[], &[], &[])),
        ("an operation of no number", operation(8, &[4, 9, 9])),
        ("an operation that constants do not have", operation(8, &[61, 9])),
        ("a float of the other sign", operation(11, &[127, 16])),
        ("a rest of floats", operation(11, &[141, 16, 16])),
        ("an operation on a type", operation(8, &[128, 9, 8])),
        ("a sum of other numbers", operation(8, &[128, 9, 16])),
        ("a sum of floats of integers", operation(8, &[129, 9, 9])),
        ("a comparison of other numbers", operation(15, &[170, 9, 16])),
        ("a comparison that is a number", operation(8, &[170, 9, 9])),
        ("a truth of numbers", operation(15, &[166, 9, 9])),
        ("a choice by a number", operation(8, &[169, 9, 9, 9])),
        ("a float's integer width", operation(8, &[113, 16])),
        ("a function with another result", function(&[(33, &[11, VOID])], &[(54, &[8, 40, 0, 11])])),
        (
            "a function with another parameter",
            function(&[(22, &[12, 32]), (33, &[11, 8, 8])], &[(54, &[8, 40, 0, 11]), (55, &[12, 41])]),
        ),
        ("a function of no type", function(&[], &[(54, &[8, 40, 0, 8])])),
    ];
    let judged: Vec<&str> =
        cases.iter().filter(|(_, bytes)| runs("m.spv", bytes, CPU)).map(|(what, _)| *what).collect();
    assert_eq!(judged, [""; 0]);
    assert!(runs("m.spv", &module(&all(&[(16, &[KERNEL, 31])]), &[], &[], &[]), TARGET));
}

/// Each is valid, and one driver or both refuse it, or end.
#[test]
fn marks_where_drivers_do_not_take_them_are_not_compatible() {
    let named = |name: &str| {
        let mut said = Vec::new();
        put(&mut said, 5, &[30], Some(name), &[]);
        let other: &[(u32, &[u32])] = &[(54, &[VOID, 40, 0, SIGNATURE]), (248, &[41]), (253, &[]), (56, &[])];
        module(&said, &[], &all(&[(57, &[VOID, 30, 40])]), &all(other))
    };
    // A function of one parameter, with an attribute of the function or the parameter.
    let taking = |kind: u32, of: u32, attribute: u32| {
        let pointers: &[(u32, &[u32])] = &[(32, &[11, 5, 8]), (32, &[12, 7, 8]), (33, &[13, VOID, kind])];
        let other: &[(u32, &[u32])] =
            &[(54, &[VOID, 40, 0, 13]), (55, &[kind, 41]), (248, &[42]), (253, &[]), (56, &[])];
        module(&all(&[(71, &[of, 38, attribute])]), &all(&[NUMBERS, pointers].concat()), &[], &all(other))
    };
    let aligned = |to: u32| {
        let types = [NUMBERS, &[(32, &[11, 7, 8])]].concat();
        module(&all(&[(71, &[30, 44, to])]), &all(&types), &all(&[(59, &[11, 30, 7])]), &[])
    };
    let zero: &[(u32, &[u32])] = &[(43, &[8, 13, 0])];
    let waiting = |code: &[(u32, &[u32])]| module(&[], &all(&[NUMBERS, zero].concat()), &all(code), &[]);
    let called = |control: u32| {
        let types = [NUMBERS, zero, &[(33, &[14, VOID, 8])]].concat();
        let other: &[(u32, &[u32])] = &[
            (54, &[VOID, 40, control, 14]),
            (55, &[8, 41]),
            (248, &[42]),
            (224, &[41, 41, 13]),
            (253, &[]),
            (56, &[]),
        ];
        module(&[], &all(&types), &all(&[(57, &[VOID, 30, 40, 9])]), &all(other))
    };
    // A built-in variable: pointers to it and to one of its numbers are of type 12 and 16, private ones to both 14 and 15. Of
    // vectors of two 19, to which 21 is a pointer, and of four 25; 23 is true.
    let built_in = |number: u32, kind: u32, code: &[(u32, &[u32])]| {
        let variable: &[(u32, &[u32])] = &[
            (23, &[11, 8, 3]),
            (23, &[19, 8, 2]),
            (23, &[25, 8, 4]),
            (20, &[22]),
            (41, &[22, 23]),
            (32, &[12, 1, kind]),
            (59, &[12, 13, 1]),
            (32, &[14, 7, kind]),
            (32, &[15, 7, 12]),
        ];
        let more: &[(u32, &[u32])] = &[(32, &[16, 1, 8]), (32, &[21, 1, 19]), (33, &[17, VOID, 16])];
        let other: &[(u32, &[u32])] = &[(54, &[VOID, 40, 0, 17]), (55, &[16, 41]), (248, &[42]), (253, &[]), (56, &[])];
        let types = all(&[NUMBERS, variable, more].concat());
        module(&all(&[(71, &[13, 11, number])]), &types, &all(code), &all(other))
    };
    let place = |code: &[(u32, &[u32])]| built_in(28, 11, code);
    let with_set = |name: &str| {
        let mut said = Vec::new();
        put(&mut said, 10, &[], Some("SPV_KHR_non_semantic_info"), &[]);
        put(&mut said, 11, &[7], Some(name), &[]);
        module(&said, &[], &[], &[])
    };
    let loaded = |kind: u32, mask: u32| of_type(kind, &[(61, &[kind, 30, 28, mask])]);
    for (what, bytes, on_cpus, on_gpus) in [
        ("a name of a call without a result", named("x"), false, true),
        ("no name of it", named(""), true, true),
        ("a result that is wider", taking(8, 40, 0), true, true),
        ("a function that is not captured", taking(11, 40, 5), false, true),
        ("a pointer that is not captured", taking(11, 41, 5), true, true),
        ("a private pointer by value", taking(12, 41, 2), true, true),
        ("a global pointer by value", taking(11, 41, 2), true, false),
        ("a number by value", taking(8, 41, 2), false, false),
        ("a variable with an alignment", aligned(4), true, true),
        ("a variable with none", aligned(0), false, true),
        ("a barrier", waiting(&[(224, &[9, 9, 13])]), true, true),
        ("a barrier of a scope that is a sum", waiting(&[(128, &[8, 30, 9, 9]), (224, &[30, 9, 13])]), true, false),
        ("a barrier of a scope that is handed", called(0), true, true),
        ("one that is not inlined", called(2), true, false),
        ("a place", place(&[(61, &[11, 30, 13])]), true, true),
        ("a part of a place", place(&[(65, &[16, 30, 13, 9]), (61, &[8, 31, 30])]), true, true),
        ("a part of a place that is handed", place(&[(65, &[16, 30, 13, 9]), (57, &[VOID, 31, 40, 30])]), false, true),
        ("a place that is copied", place(&[(59, &[14, 31, 7]), (63, &[31, 13])]), false, true),
        ("a pointer to a place that is copied", place(&[(83, &[12, 30, 13]), (61, &[11, 31, 30])]), false, true),
        ("a place that is written", place(&[(61, &[11, 30, 13]), (62, &[13, 30])]), false, true),
        ("a variable whose value is a place", place(&[(59, &[15, 30, 7, 13])]), false, false),
        ("a place that is one number", built_in(28, 8, &[(61, &[8, 30, 13])]), false, false),
        ("a number of dimensions", built_in(30, 8, &[(61, &[8, 30, 13])]), true, true),
        ("a number of dimensions that is a vector", built_in(30, 11, &[(61, &[11, 30, 13])]), false, false),
        ("a half", loaded(14, 0), true, true),
        ("a half past the caches", loaded(14, 4), false, true),
        ("two halves past the caches", loaded(17, 4), true, true),
        ("a number past the caches", loaded(12, 4), true, true),
        ("a short number past the caches", loaded(11, 4), false, true),
        ("one that is a half", of_type(11, &[(61, &[11, 30, 28, 4]), (124, &[14, 31, 30])]), false, true),
        (
            "a number past the caches that is cut",
            of_type(12, &[(61, &[12, 30, 28, 4]), (113, &[11, 31, 30])]),
            false,
            true,
        ),
        (
            "a part of it",
            of_type(12, &[(61, &[12, 30, 28, 4]), (199, &[12, 31, 30, 30]), (114, &[11, 33, 31])]),
            false,
            true,
        ),
        ("a number that is cut", of_type(12, &[(61, &[12, 30, 28]), (113, &[11, 31, 30])]), true, true),
        ("an address of a place", place(&[(117, &[8, 30, 13])]), false, true),
        ("one of two places", place(&[(169, &[12, 30, 23, 13, 13]), (61, &[11, 31, 30])]), false, false),
        ("a place as another vector", place(&[(124, &[21, 30, 13]), (61, &[19, 31, 30])]), false, false),
        ("a place as one number", place(&[(124, &[16, 30, 13]), (61, &[8, 31, 30])]), true, true),
        ("numbers of groups in four dimensions", built_in(24, 25, &[(61, &[25, 30, 13])]), true, false),
        (
            "a mask that is a vector",
            begun(&all(&[(17, &[61]), (17, &[64])]), &built_in(4416, 25, &[(61, &[25, 30, 13])])),
            true,
            true,
        ),
        ("a size of a sub-group", built_in(36, 8, &[(61, &[8, 30, 13])]), true, true),
        ("a set for debuggers", with_set("NonSemantic.Shader.DebugInfo.200"), true, true),
        ("an unknown set without a meaning", with_set("NonSemantic.Foo"), true, false),
        ("an older set for debuggers", with_set("DebugInfo"), false, false),
    ] {
        assert_eq!((runs("m.spv", &bytes, CPU), runs("m.spv", &bytes, "pvc")), (on_cpus, on_gpus), "{what}");
    }
}
