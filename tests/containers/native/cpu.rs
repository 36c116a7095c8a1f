//! Is code of DPC++'s native CPU target found in a host program?
//!
//! It is laid out as DPC++'s wrapper does (`ClangOffloadWrapper.cpp`, `UtilsSYCLNativeCPU.h`): the payload is two pointers,
//! and the first leads to names and functions of the program.

use std::process::Command;

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::container::Host;

use super::tools::scratch;
use crate::support::built::Recipe;

const PROGRAM: &str = r#"
#include <stdint.h>
struct entry { const char *name; void (*function)(void); };
struct payload { const struct entry *entries; const void *properties; };
struct image {
  uint16_t version; uint8_t kind, format; const char *target, *compile, *link;
  const void *begin, *end, *entries, *entries_end, *sets, *sets_end;
};
struct descriptor { uint16_t version, count; const struct image *images; const void *host, *host_end; };
static void first(void) {}
static void second(void) {}
static const struct entry entries[] = {{"first", first}, {"second", second}, {END, 0}};
static const struct payload payload = {entries, 0};
static const struct image images[] = {{3, 4, 0, "native_cpu", "", "", &payload, &payload + 1, 0, 0, 0, 0}};
static const struct descriptor list = {1, 1, images, 0, 0};
void __sycl_register_lib(const struct descriptor *);
__attribute__((constructor)) static void load(void) { __sycl_register_lib(&list); }
"#;

/// The program with what ends the list of its kernels.
fn library(end: &str) -> Vec<u8> {
    let recipe = Recipe::new("native-cpu").input("lib.c", format!("#define END {end}\n{PROGRAM}")).output("lib.so");
    recipe.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "lib.so", "lib.c"]).bytes("lib.so")
}

#[test]
fn kernels_are_those_the_payload_leads_to() {
    let file = library("\"__nativecpu_end\"");
    let host = Host::read(&file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    let [image] = bundle.images.as_slice() else { panic!("{} images", bundle.images.len()) };
    assert_eq!(image.kernels(), ["first", "second"]);
    assert_eq!((image.target, image.format(), image.stored.len()), ("native_cpu", Format::NativeCpu, 16));
}

#[test]
fn a_list_without_end_is_a_problem() {
    let file = library("\"third\"");
    let host = Host::read(&file).unwrap();
    let problems = Bundle::read(&host).map(|bundle| bundle.problems);
    let told = problems.map_or_else(|error| error.to_string(), |problems| format!("{problems:?}"));
    assert!(told.contains("native CPU"), "{told}");
}

/// Pointers into one program mean nothing in another.
#[test]
fn it_does_not_leave_its_program() {
    let folder = scratch();
    std::fs::write(folder.path().join("lib.so"), library("\"__nativecpu_end\"")).unwrap();
    for verb in [&["wrap", "lib.so", "-o", "out.o"][..], &["embed", "lib.so", "lib.so", "-o", "out.o"]] {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let output = tool.current_dir(folder.path()).args(verb).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("part of its host program") && told.contains("--target"), "{told}");
        assert!(!folder.path().join("out.o").exists());
    }
}
