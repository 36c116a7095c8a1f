//! Are the SPIR-V modules that the other tests start from what a real assembler makes of their texts?

use crate::support::host::fnv1a;
use crate::support::spirv;
use rspirv::dr::Operand;

/// Name, size and digest of what `spirv-as --target-env spv1.4` writes (SPIRV-Tools v2023.1), its generator replaced.
const MODULES: [(&str, usize, u64, &[&str]); 11] = [
    ("add_constant", 532, 0xd70d_038d_19cb_ee32, &["add_constant"]),
    ("add_one", 508, 0xe6bd_9198_4661_8179, &["add_one"]),
    ("backend", 1132, 0x4563_c795_b960_4250, &["scale", "copy"]),
    ("bounded_sum", 1152, 0xb282_eed2_47d8_119e, &["_ZTS11bounded_sum"]),
    ("calls_import", 580, 0xc938_9691_197a_6581, &["calls_import"]),
    ("count", 516, 0x8ed6_3c92_ac92_c444, &["count"]),
    ("halve", 560, 0xd4b9_b6e7_8d26_7281, &["halve"]),
    ("instrumented", 788, 0x626d_bf76_51b3_09a5, &["_ZTS12instrumented"]),
    ("specialized", 924, 0x1c2e_a7a1_c4ee_0c65, &["specialized"]),
    ("twice_half", 516, 0x8526_17a8_df01_7072, &["twice_half"]),
    ("two_kernels", 704, 0x5f5f_6851_a3aa_787b, &["add_two", "negate"]),
];

#[test]
fn modules_are_those_of_spirv_as() {
    for (name, size, digest, _) in MODULES {
        let module = spirv::module(name);
        assert_eq!((module.len(), fnv1a(&module)), (size, digest), "{name}");
    }
}

#[test]
fn every_text_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/spirv");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, MODULES.map(|(name, ..)| format!("{name}.spvasm")));
}

#[test]
fn modules_name_their_kernels() {
    for (name, _, _, kernels) in MODULES {
        let module = rspirv::dr::load_bytes(spirv::module(name)).unwrap();
        let names: Vec<_> = module.entry_points.iter().map(|entry| &entry.operands[2]).collect();
        let expected: Vec<_> = kernels.iter().map(|kernel| Operand::LiteralString((*kernel).to_owned())).collect();
        assert_eq!(names, expected.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    let mistakes = [
        ("OpNothing", "line 1: `OpNothing` is no instruction"),
        ("\nOpCapability Magic", "line 2: `Magic` is no Capability"),
        ("OpCapability", "line 1: too few operands"),
        ("OpCapability Kernel Addresses", "line 1: more operands than the instruction has"),
        ("OpTypeVoid", "line 1: no result"),
        ("%1 = OpConstant %2 3", "line 1: a literal of a type that is no number"),
    ];
    for (text, message) in mistakes {
        let error = spirv::assemble(text).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}
