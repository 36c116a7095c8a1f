//! Is LLVM bitcode read as three releases of LLVM write it?

use sycl_bundle::bundle::format::Format;

use super::read;
use super::tools::{bitcode, bitcode_recipe};

#[test]
fn kernels_triple_and_producer() {
    for assembler in ["llvm-14:llvm-as", "llvm-19:llvm-as", "llvm-22:llvm-as"] {
        let recipe = bitcode_recipe(assembler).run([assembler, "--version", ">", "version"]).output("version");
        let payload = recipe.bytes("kernels.bc");
        assert_eq!(Format::sniff(&payload), Format::LlvmBitcode);
        let native = read(&payload);
        assert_eq!(native.kernel_names(), ["opencl", "cuda", "hip"], "{assembler}");
        assert_eq!(native.parts[0].stated, "spir64-unknown-unknown");
        let version = String::from_utf8(recipe.bytes("version")).unwrap();
        let version = version.split("version ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(native.parts[0].producer.as_deref(), Some(format!("LLVM{version}").as_str()));
    }
}

#[test]
fn a_wrapper_changes_nothing() {
    let payload = bitcode();
    let mut wrapped: Vec<u8> =
        [0x0b17_c0de, 0, 20, payload.len() as u32, 7].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    wrapped.extend(&payload);
    assert_eq!(read(&wrapped).kernel_names(), read(&payload).kernel_names());
}
