//! From what did the runtime make the programs in which it found its kernels?
//!
//! Reads what the runtime's adapter layer traces (`SYCL_UR_TRACE=2`): every program's handle at its creation, and
//! the handle and name with which a kernel is taken from it.

use std::collections::{BTreeMap, BTreeSet};

/// Kernels by the kind of program they came from.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Kernels of programs made from SPIR-V, compiled by the driver while the program waits.
    pub from_il: BTreeSet<String>,
    /// Kernels of programs made from native code.
    pub from_binary: BTreeSet<String>,
    /// Number of programs made from SPIR-V.
    pub il_programs: usize,
    /// Number of programs made from native code.
    pub binary_programs: usize,
}

impl Trace {
    /// Reads a trace; lines of other programs between its own are passed over.
    pub fn read(text: &str) -> Trace {
        let mut trace = Trace::default();
        let mut native: BTreeMap<&str, bool> = BTreeMap::new();
        for line in text.lines().filter(|line| line.contains("<--- ") && line.contains("-> UR_RESULT_SUCCESS")) {
            if line.contains("<--- urProgramCreateWithIL(") {
                trace.il_programs += 1;
                native.insert(created(line), false);
            } else if line.contains("<--- urProgramCreateWithBinary(") {
                trace.binary_programs += 1;
                native.insert(created(line), true);
            } else if line.contains("<--- urProgramLink(") || line.contains("<--- urProgramLinkExp(") {
                // Of images that need each other: native where all of them are.
                let parts = between(line, ".phPrograms = ", "}").unwrap().split_once('{').unwrap().1;
                let all = parts.split(", ").all(|part| native.get(part) == Some(&true));
                native.insert(created(line), all);
            } else if line.contains("<--- urKernelCreate(") {
                let program = between(line, ".hProgram = ", ",").unwrap();
                let name = between(line, ".pKernelName = ", "), .phKernel").unwrap();
                let name = name.split_once('(').unwrap().1.to_owned();
                match native.get(program) {
                    Some(true) => trace.from_binary.insert(name),
                    Some(false) => trace.from_il.insert(name),
                    None => panic!("kernel {name} of a program whose creation was not traced"),
                };
            }
        }
        trace
    }
}

/// The handle in `.phProgram = 0x7ffc (0x55d0)`, behind the pointer to where it was written.
fn created(line: &str) -> &str {
    let output = between(line, ".phProgram = ", ")").unwrap();
    output.split_once('(').unwrap().1
}

fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

#[test]
fn a_handle_used_again_counts_for_its_latest_program() {
    let trace = Trace::read(
        "noise\n\
         <--- urProgramCreateWithIL(.hContext = 0x1, .phProgram = 0x7f (0xa0)) -> UR_RESULT_SUCCESS;\n\
         <--- urKernelCreate(.hProgram = 0xa0, .pKernelName = 0x9 (_ZTS1a), .phKernel = 0x8 (0x7)) -> UR_RESULT_SUCCESS;\n\
         <--- urProgramCreateWithBinary(.hContext = 0x1, .phProgram = 0x7f (0xa0)) -> UR_RESULT_SUCCESS;\n\
         <--- urKernelCreate(.hProgram = 0xa0, .pKernelName = 0x9 (_ZTS1b), .phKernel = 0x8 (0x7)) -> UR_RESULT_SUCCESS;\n\
         <--- urProgramCreateWithIL(.hContext = 0x1, .phProgram = 0x7f (0xb0)) -> UR_RESULT_SUCCESS;\n\
         <--- urProgramLink(.hContext = 0x1, .count = 2, .phPrograms = 0x6 {0xa0, 0xb0}, .pOptions = 0x5 (), .phProgram = 0x7f (0xc0)) -> UR_RESULT_SUCCESS;\n\
         <--- urKernelCreate(.hProgram = 0xc0, .pKernelName = 0x9 (_ZTS1c), .phKernel = 0x8 (0x7)) -> UR_RESULT_SUCCESS;\n\
         <--- urProgramCreateWithIL(.hContext = 0x1, .phProgram = 0x7f (0x0)) -> UR_RESULT_ERROR_UNKNOWN;\n",
    );
    assert_eq!(trace.from_il, ["_ZTS1a", "_ZTS1c"].map(str::to_owned).into());
    assert_eq!(trace.from_binary, BTreeSet::from(["_ZTS1b".to_owned()]));
    assert_eq!((trace.il_programs, trace.binary_programs), (2, 1));
}
