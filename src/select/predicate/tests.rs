//! Are conditions read correctly, and are mistakes reported with their position?
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::bundle::Bundle;
use crate::compat::examine::examine;
use crate::container::Host;

/// Calls `check` with a module of two kernels and the capabilities Addresses, Kernel and Float64.
fn with_module(check: impl Fn(&dyn Fn(&str) -> bool)) {
    let words: [u32; 20] = [
        0x0723_0203,
        0x0001_0200,
        0,
        10,
        0, //
        2 << 16 | 17,
        4,
        2 << 16 | 17,
        6,
        2 << 16 | 17,
        10, //
        5 << 16 | 15,
        6,
        1,
        u32::from_le_bytes(*b"_Z3a"),
        u32::from_le_bytes(*b"ddv\0"), //
        4 << 16 | 15,
        6,
        2,
        u32::from_le_bytes(*b"mul\0"),
    ];
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let examined = examine(&bundle);
    check(&|text| Predicate::new(text).unwrap().holds(&examined[0]));
}

#[test]
fn conditions_are_true_of_what_they_say() {
    with_module(|holds| {
        for text in [
            "index = 0",
            "size = 80",
            "size < 1KiB and size >= 80",
            "kernels > 1",
            "kernels = 2",
            "kernels = add*",
            "kernels = 'add()' && kernels = mul",
            "kernels = '_Z3addv'",
            "kernels != '2'",
            "state = input",
            "state == input",
            "target = spir*",
            "format = spirv or format = zebin",
            "not imports",
            "!imports and !(exports or problem)",
            "capabilities = Float64 and capabilities ~ Kern*",
            "NOT kernels = sub OR kernels",
            "reqd_sub_group_size != 8",
            "not reqd_sub_group_size",
            "size>64 and(size<0.1KiB)",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [
            "index > 0",
            "kernels = 1",
            "kernels != mul",
            "kernels = '2'",
            "kernels = add",
            "reqd_sub_group_size < 8",
            "not (size and kernels)",
            // `and` binds closer than `or`.
            "size = 1 and size = 2 and size = 80 or size = 3",
            "aspects = fp16",
            "march",
        ] {
            assert!(!holds(text), "{text}");
        }
    });
}

#[test]
fn errors_tell_the_place_and_the_remedy() {
    let cases = [
        ("", "column 1: a test is missing", "write it as"),
        ("size > ", "column 8: a value is missing", "write it as"),
        ("size > many", "column 8: `many` is not a number of bytes", "write it as"),
        ("kernel = add", "column 1: there is no field `kernel`", "did you mean `kernels`?"),
        ("ärger", "column 1: there is no field `ärger`", "fields are aspects, blake3"),
        ("compile-target = x", "there is no field `compile-target`", "did you mean `compile_target`?"),
        ("(size", "column 1: this bracket does not close", "write it as"),
        ("size) ", "column 5: here `and`, `or` or the end should be", "write it as"),
        ("state > input", "column 9: a text has no order", "write it as"),
        ("kernels = 'a", "column 11: this quote does not end", "write it as"),
        ("kernels = [a", "column 11: glob `[a`", "write it as"),
        ("size = = 1", "column 8: here a value should be", "write it as"),
    ];
    for (text, message, remedy) in cases {
        let error = Predicate::new(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        assert!(error.message().contains(message), "{text}: {}", error.message());
        assert!(error.remedy().is_some_and(|said| said.starts_with(remedy)), "{text}: {:?}", error.remedy());
    }
    let deep = "(".repeat(100_000) + "size";
    assert!(Predicate::new(&deep).unwrap_err().message().contains("too deeply"));
}

#[test]
fn every_field_can_be_asked_for() {
    with_module(|holds| {
        for (name, _) in FIELDS {
            let (is, not) = (holds(name), holds(&format!("not {name}")));
            assert_ne!(is, not, "{name}");
        }
        assert!(FIELDS.is_sorted_by_key(|(name, _)| *name));
    });
}
