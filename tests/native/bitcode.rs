//! Is LLVM bitcode read as every installed LLVM writes it?

use std::path::Path;
use std::process::Command;

use sycl_bundle::bundle::format::Format;

use crate::read;
use crate::tools::{self, fixture, run, scratch};

fn assembled(program: &Path) -> Vec<u8> {
    let folder = scratch();
    let output = folder.path().join("kernels.bc");
    run(Command::new(program).arg(fixture("kernels.ll")).arg("-o").arg(&output));
    std::fs::read(output).unwrap()
}

#[test]
fn kernels_triple_and_producer() {
    let mut assemblers = vec![tools::tool("llvm-as", "llvm")];
    let installed = (13..40).map(|version| format!("/usr/lib/llvm-{version}/bin/llvm-as"));
    assemblers.extend(installed.map(std::path::PathBuf::from).filter(|file| file.is_file()));
    for assembler in assemblers {
        let payload = assembled(&assembler);
        assert_eq!(Format::sniff(&payload), Format::LlvmBitcode);
        let native = read(&payload);
        assert_eq!(native.kernel_names(), ["opencl", "cuda", "hip"], "{}", assembler.display());
        assert_eq!(native.parts[0].stated, "spir64-unknown-unknown");
        let version = run(Command::new(&assembler).arg("--version"));
        let version = version.split("version ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(native.parts[0].producer.as_deref(), Some(format!("LLVM{version}").as_str()));
    }
}

#[test]
fn a_wrapper_changes_nothing() {
    let payload = assembled(&tools::tool("llvm-as", "llvm"));
    let mut wrapped: Vec<u8> =
        [0x0b17_c0de, 0, 20, payload.len() as u32, 7].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    wrapped.extend(&payload);
    assert_eq!(read(&wrapped).kernel_names(), read(&payload).kernel_names());
}
