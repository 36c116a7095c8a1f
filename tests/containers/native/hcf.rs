//! Are AdaptiveCpp's containers found in a host program?
//!
//! They are laid out as its compiler does (`TargetSeparationPass.cpp`): one string per source file, in constant data, that
//! nothing but code points to. Its own compiler is in no package here.

use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::ErrorKind;
use sycl_bundle::native::Native;

use super::tools::bitcode;
use crate::support::built::Recipe;

/// A container as `hcf_container::serialize` writes it.
fn container(id: u64, bitcode: &[u8], kernels: &[&str]) -> Vec<u8> {
    let mut text =
        format!("object-id={id}\ngenerator=hipSYCL SSCP\n{{.images\n{{.llvm-ir.global\nvariant=global-module\n");
    text += &format!("format=llvm-ir\n{{.__binary\nstart=0\nsize={}\n}}.__binary\n", bitcode.len());
    text +=
        "{.exported-symbols\n}.exported-symbols\n{.imported-symbols\n{.elsewhere\n}.elsewhere\n}.imported-symbols\n";
    text += "}.llvm-ir.global\n}.images\n{.kernels\n";
    for kernel in kernels {
        text += &format!("{{.{kernel}\n{{.image-providers\n{{.llvm-ir.global\n}}.llvm-ir.global\n}}.image-providers\n");
        text += "{.compile-flags\nfast-math=1\n}.compile-flags\n{.parameters\n{.0\nbyte-offset=0\nbyte-size=8\n";
        text += &format!("original-index=0\ntype=pointer\n}}.0\n}}.parameters\n}}.{kernel}\n");
    }
    text += "}.kernels\n__acpp_hcf_binary_appendix";
    [text.as_bytes(), bitcode].concat()
}

#[test]
fn containers_in_a_program_are_found_stripped_or_not() {
    let bitcode = bitcode();
    let containers = [container(17, &bitcode, &["opencl", "cuda"]), container(18, &bitcode, &["hip"])];
    // The runtime's library has the words too, with no text before them.
    let mut source = String::from("const char marker[] = \"__acpp_hcf_binary_appendix\";\n");
    let mut recipe = Recipe::new("hcf");
    for (index, bytes) in containers.iter().enumerate() {
        recipe = recipe.input(format!("{index}.hcf"), bytes.clone());
        source += &format!(
            "__asm__(\".section .rodata\\n__acpp_local_sscp_hcf_content.{index}: .incbin \\\"{index}.hcf\\\"\\n.byte 0\\n.text\\n\");\n"
        );
    }
    source += "int main(void) { return marker[0] == 0; }\n";
    let recipe = recipe
        .input("main.c", source)
        .run(["gcc", "-O1", "-o", "program", "main.c"])
        .run(["strip", "program", "-o", "stripped"])
        .run(["gcc", "-O1", "-c", "-o", "object.o", "main.c"]);
    let recipe = ["program", "stripped", "object.o"].into_iter().fold(recipe, Recipe::output);
    for name in ["program", "stripped", "object.o"] {
        let file = recipe.bytes(name);
        let host = Host::read(&file).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{name}: {:?}", bundle.problems);
        let kernels: Vec<Vec<&str>> = bundle.images.iter().map(|image| image.kernels()).collect();
        assert_eq!(kernels, [vec!["opencl", "cuda"], vec!["hip"]], "{name}");
        for image in &bundle.images {
            assert_eq!((image.stored, image.target), (&bitcode[..], "llvm-ir.global"));
            assert_eq!(&file[image.offset as usize..][..4], b"BC\xc0\xde");
            assert_eq!(image.imports(), ["elsewhere"]);
            let native = Native::read(image.stored, image.format(), Default::default()).unwrap();
            assert_eq!(native.kernel_names(), ["opencl", "cuda", "hip"]);
        }
    }
    let alone = Host::read(&containers[0]).unwrap();
    assert_eq!(alone.kind, Kind::Hcf);
    assert_eq!(Bundle::read(&alone).unwrap().images.len(), 1);
}

#[test]
fn the_words_alone_are_no_container() {
    let source = "const char marker[] = \"__acpp_hcf_binary_appendix\"; int main(void) { return marker[0]; }";
    let recipe = Recipe::new("hcf-words").input("main.c", source).output("program");
    let file = recipe.run(["gcc", "-o", "program", "main.c"]).bytes("program");
    let host = Host::read(&file).unwrap();
    assert_eq!(Bundle::read(&host).unwrap_err().kind(), ErrorKind::NoDeviceCode);
}
