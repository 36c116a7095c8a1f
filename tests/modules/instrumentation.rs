//! Are the hooks of tracing tools taken out whole, and nothing else?

use crate::support::spirv::{module, valid};
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::instrumentation::strip;

/// `SpecId` of the switch.
const SWITCH: u32 = 0xff74_7469;

#[test]
fn hooks_and_their_switch_go_and_the_rest_stays() {
    let instrumented = module("instrumented");
    valid(&instrumented, &[]);
    let before = Module::parse(&instrumented).unwrap();
    assert_eq!(before.spec_constants, [SWITCH, 3]);
    let stripped = strip(&instrumented, SWITCH).unwrap().unwrap();
    valid(&stripped, &[]);
    let after = Module::parse(&stripped).unwrap();
    assert_eq!(after.kernels().collect::<Vec<_>>(), ["_ZTS12instrumented"]);
    assert_eq!(after.spec_constants, [3], "the user's own constant stays");
    assert_eq!(after.exports, ["kept"]);
    let index = Index::read(&stripped).unwrap();
    let called: Vec<u32> = (0..index.len())
        .filter_map(|number| index.instruction(number))
        .filter(|one| one.opcode == rspirv::spirv::Op::FunctionCall as u16)
        .map(|call| call.word(2))
        .collect();
    assert_eq!(called.len(), 1);
    assert_eq!(index.linkage(called[0]).unwrap().name, "kept");
    assert_eq!(index.functions.len(), 2);
    // A module without instrumentation is told, not copied.
    assert_eq!(strip(&stripped, SWITCH).unwrap(), None);
    assert_eq!(strip(&module("add_one"), SWITCH).unwrap(), None);
}

#[test]
fn damage_is_an_error_with_a_place() {
    let instrumented = module("instrumented");
    assert!(strip(&instrumented[..16], SWITCH).is_err());
    let cut = strip(&instrumented[..instrumented.len() - 8], SWITCH).unwrap_err();
    assert!(cut.offset().is_some());
    for at in (20..instrumented.len()).step_by(4) {
        for value in [0, 1, 0x7fff_ffff, 0xffff_ffff_u32] {
            let mut damaged = instrumented.clone();
            damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            // The output of a damaged module has the form of a module.
            if let Ok(Some(stripped)) = strip(&damaged, SWITCH) {
                assert!(Index::read(&stripped).unwrap().stopped.is_none(), "word {at}: {value:#x}");
            }
        }
    }
}
