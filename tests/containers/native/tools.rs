//! Which compilers make the payloads, of what?

use std::path::{Path, PathBuf};

use crate::support::built::Recipe;

/// The folder of the sources.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/native").join(name)
}

/// A source's text.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

/// A folder for this run of the tests.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The recipe of `out.bin`, which ocloc makes of the OpenCL kernels; `arguments` name the device and what else is asked for.
pub fn ocloc_recipe(name: &str, arguments: &[&str]) -> Recipe {
    let mut words = vec!["ocloc", "compile", "-file", "kernels.cl", "-options", "-cl-std=CL2.0 -cl-kernel-arg-info"];
    words.extend(["-output_no_suffix", "-output", "out", "-out_dir", "."]);
    words.extend(arguments);
    // Some versions add `.bin` even so, newer ones call it `binary.bin`.
    let named = "for name in out binary.bin; do if [ -f $name ]; then mv $name out.bin; fi; done";
    Recipe::new(name).input("kernels.cl", text("kernels.cl")).run(words).run(["sh", "-c", named]).output("out.bin")
}

/// Compiles the OpenCL kernels.
pub fn ocloc(arguments: &[&str]) -> Vec<u8> {
    ocloc_recipe("ocloc", arguments).bytes("out.bin")
}

/// The recipe of `kernels.bc`, which one `llvm-as` makes of the LLVM kernels.
pub fn bitcode_recipe(assembler: &str) -> Recipe {
    let recipe = Recipe::new("bitcode").input("kernels.ll", text("kernels.ll")).output("kernels.bc");
    recipe.run([assembler, "kernels.ll", "-o", "kernels.bc"])
}

/// The recipe of `sycl.bc`, which one `llvm-as` makes of what DPC++ writes about optional features.
pub fn sycl_recipe(assembler: &str) -> Recipe {
    let recipe = Recipe::new("bitcode-sycl").input("sycl.ll", text("sycl.ll")).output("sycl.bc");
    // Opaque pointers were an option once.
    let option = if assembler.starts_with("llvm-14") { Some("-opaque-pointers") } else { None };
    recipe.run([assembler].into_iter().chain(option).chain(["sycl.ll", "-o", "sycl.bc"]))
}

/// The recipe of `typed.bc`, with pointers that say to what.
pub fn typed_recipe() -> Recipe {
    let recipe = Recipe::new("bitcode-typed").input("typed.ll", text("typed.ll")).output("typed.bc");
    recipe.run(["llvm-14:llvm-as", "typed.ll", "-o", "typed.bc"])
}

/// Assembles the LLVM kernels.
pub fn bitcode() -> Vec<u8> {
    bitcode_recipe("llvm-22:llvm-as").bytes("kernels.bc")
}

/// The recipe of `kernels.hsaco`, the AMD kernels for a processor with its features, and of `kernels.o`, that before the linker.
pub fn code_object_recipe(processor: &str, features: &str) -> Recipe {
    let source = "kernels.amdgcn.s";
    let (cpu, features) = (format!("--mcpu={processor}"), format!("--mattr={features}"));
    let words = ["llvm-mc", "--triple=amdgcn-amd-amdhsa", "--filetype=obj", &cpu, &features, "-o", "kernels.o", source];
    let link = ["ld.lld", "-shared", "kernels.o", "-o", "kernels.hsaco"];
    let text = text(source) + &text("descriptors.amdgcn.s");
    Recipe::new("code-object").input(source, text).run(words).run(link).output("kernels.hsaco").output("kernels.o")
}

/// Assembles and links the AMD kernels.
pub fn code_object(processor: &str, features: &str) -> Vec<u8> {
    code_object_recipe(processor, features).bytes("kernels.hsaco")
}

/// Assembles the AMD kernels without descriptors, as the packages of rocm-kpack have them.
pub fn packed_object(processor: &str) -> Vec<u8> {
    let source = "kernels.amdgcn.s";
    let (cpu, features) = (format!("--mcpu={processor}"), "--mattr=");
    let words =
        ["llvm-mc", "--triple=amdgcn-amd-amdhsa", "--filetype=obj", &cpu, features, "-o", "kernels.hsaco", source];
    Recipe::new("code-object").input(source, text(source)).run(words).output("kernels.hsaco").bytes("kernels.hsaco")
}

/// The recipe of `kernels.cubin`, the PTX kernels by CUDA 13, or 12 where asked, and of what `cuobjdump` says of it.
pub fn cubin_recipe(architecture: &str, twelve: bool) -> Recipe {
    let ptxas = if twelve { "cuda-12:ptxas" } else { "cuda-13:ptxas" };
    Recipe::new("cubin")
        .input("kernels.ptx", ptx(architecture))
        .run([ptxas, "-arch", architecture, "kernels.ptx", "-o", "kernels.cubin"])
        .run(["cuda-13:cuobjdump", "-res-usage", "kernels.cubin", ">", "usage"])
        .output("kernels.cubin")
        .output("usage")
}

/// Compiles the PTX kernels.
pub fn cubin(architecture: &str, twelve: bool) -> Vec<u8> {
    cubin_recipe(architecture, twelve).bytes("kernels.cubin")
}

/// The PTX kernels for an architecture.
pub fn ptx(architecture: &str) -> String {
    text("kernels.ptx").replace(".version VERSION", ".version 8.6").replace("TARGET\n", &format!("{architecture}\n"))
}
