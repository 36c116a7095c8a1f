//! Does the code of a library run as before after it was rewritten, and stripped or patched then?
//!
//! Who unwinds finds a library's tables by its program headers, as `dl_iterate_phdr` tells them, and code relies on what its
//! data is aligned to. Loading alone needs neither.

use std::path::Path;
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::spirv;
use crate::support::tools::{needed, run};

/// A library with images whose zeroed data is longer than the rest of its last page.
const LIBRARY: &str = "#include <stdexcept>
extern \"C\" void __sycl_register_lib(void *) {}
extern \"C\" void __sycl_unregister_lib(void *) {}
volatile char zeroed[100000];
extern \"C\" int caught(int n) {
  zeroed[n] = 1;
  try { if (zeroed[n]) throw std::runtime_error(\"x\"); } catch (std::exception &) { return 0; }
  return 1;
}
";

/// A library with images whose data is aligned to more than a page, as its code relies on.
const ALIGNED: &str = "#include <stdint.h>
void __sycl_register_lib(void *descriptor) {}
void __sycl_unregister_lib(void *descriptor) {}
_Alignas(65536) static char data[65536] = {1};
static char *volatile place = data;
int caught(int n) { return (uintptr_t)place & 65535 || place[0] != 1; }
";

/// A script for linkers that has all relocations in one section, the PLT's at its end.
const ONE: &str = "PHDRS { all PT_LOAD FLAGS(7); dyn PT_DYNAMIC; frames PT_GNU_EH_FRAME; }
SECTIONS {
  . = SIZEOF_HEADERS;
  .rela.dyn : { *(.rela.dyn .rela.*) } :all
  .text : { *(.text .text.*) }
  .eh_frame_hdr : { *(.eh_frame_hdr) } :all :frames
  .eh_frame : { KEEP(*(.eh_frame)) } :all
  .gcc_except_table : { *(.gcc_except_table*) }
  .dynamic : { *(.dynamic) } :all :dyn
  .got : { *(.got .got.plt) } :all
  .data : { *(.data .data.*) }
  .bss : { *(.bss .bss.* COMMON) }
}
";

/// A program that has a library throw, and ends with 2 where a library's program headers are none.
const PROGRAM: &str = "#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
static int look(struct dl_phdr_info *info, size_t size, void *none) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) return 0;
  fprintf(stderr, \"%s: no program headers\\n\", info->dlpi_name);
  return 2;
}
int main(int count, char **words) {
  void *library = dlopen(words[1], RTLD_NOW);
  if (!library) { fprintf(stderr, \"%s\\n\", dlerror()); return 3; }
  int (*caught)(int) = (int (*)(int))dlsym(library, \"caught\");
  int found = dl_iterate_phdr(look, 0);
  return found ? found : caught(count);
}
";

/// Changes of a library that was rewritten: a program, and what is said before and behind the library's name.
const CHANGES: [(&str, &[&str], &[&str]); 7] = [
    ("strip", &[], &[]),
    ("strip", &["--strip-debug"], &[]),
    ("objcopy", &[], &[]),
    ("objcopy", &["--add-section", "more=k.spv"], &[]),
    ("llvm-strip", &[], &[]),
    ("llvm-objcopy", &["--strip-sections"], &[]),
    ("patchelf", &["--set-rpath", "/a/path/that/has/no/room/where/the/old/one/is/in/the/table/of/strings"], &[]),
];

fn throws(folder: &Folder, library: &str) {
    run(Command::new(folder.path().join("program")).arg(folder.path().join(library)));
}

/// Builds a library of a source, and the program.
fn library(folder: &Folder, (compiler, file, source): (&str, &str, &str), options: &[&str]) {
    folder.put("k.spv", spirv::module("add_one"));
    folder.put("l.spv", spirv::module("halve"));
    folder.put(file, source);
    folder.put("program.c", PROGRAM);
    folder.put("one.ld", ONE);
    folder.tool(["wrap", "k.spv", "l.spv", "-o", "image.o"]);
    let within = |command: &mut Command| _ = run(command.current_dir(folder.path()));
    within(needed(compiler).args(["-O1", "-g", "-shared", "-fPIC", file, "image.o", "-o", "library"]).args(options));
    within(needed("gcc").args(["program.c", "-o", "program", "-ldl"]));
    throws(folder, "library");
}

fn changed(folder: &Folder, from: &str, (program, before, behind): (&str, &[&str], &[&str])) -> String {
    let to = format!("{from}_{program}");
    std::fs::copy(folder.path().join(from), folder.path().join(&to)).unwrap();
    let mut command = needed(program);
    run(command.current_dir(folder.path()).args(before).arg(Path::new(&to)).args(behind));
    to
}

#[test]
fn libraries_catch_what_they_throw() {
    for options in [
        &[][..],
        &["-fuse-ld=lld"],
        &["-fuse-ld=gold"],
        &["-Wl,-z,max-page-size=0x200000"],
        &["-fuse-ld=lld", "-Wl,-T,one.ld"],
    ] {
        let folder = Folder::new();
        library(&folder, ("g++", "library.cpp", LIBRARY), options);
        let bare = changed(&folder, "library", ("llvm-objcopy", &["--strip-sections"], &[]));
        for original in ["library", &bare] {
            folder.tool(["embed", original, "k.spv", "--as-target", "spir64_x86_64", "-o", "more"]);
            folder.tool(["prune", original, "--image", "0", "--lose-kernels", "-o", "less"]);
            folder.tool(["embed", "less", "k.spv", "--as-target", "spir64_x86_64", "-o", "both"]);
            for rewritten in ["more", "less", "both"] {
                throws(&folder, rewritten);
                for change in CHANGES {
                    // Without section headers these have nothing to do, or refuse.
                    if original == bare && change.0 != "llvm-strip" {
                        continue;
                    }
                    // Refused by it: relocations of the PLT without a section of their own, as those of the original.
                    if options.contains(&"-Wl,-T,one.ld") && (rewritten, change.0) == ("less", "patchelf") {
                        continue;
                    }
                    let stripped = changed(&folder, rewritten, change);
                    throws(&folder, &stripped);
                    if change.0 != "patchelf" {
                        folder.tool(["embed", &stripped, "l.spv", "--as-target", "spir64_gen", "-o", "again"]);
                        throws(&folder, "again");
                        let has_sections = original != bare && change.1 != ["--strip-sections"];
                        let change = if has_sections { CHANGES[0] } else { CHANGES[4] };
                        throws(&folder, &changed(&folder, "again", change));
                    }
                }
            }
        }
    }
}

/// Pages are cut out in multiples of what data is aligned to.
#[test]
fn data_stays_aligned() {
    for options in [&[][..], &["-fuse-ld=lld"], &["-Wl,-z,max-page-size=0x200000"]] {
        let folder = Folder::new();
        library(&folder, ("gcc", "library.c", ALIGNED), options);
        // A module that is long, with names of no use.
        let mut long = spirv::module("two_kernels");
        long.extend([0x0001_0000u32.to_le_bytes(); 75_000].concat());
        folder.put("long.spv", long);
        folder.tool(["wrap", "k.spv", "long.spv", "l.spv", "-o", "image.o"]);
        let mut command = needed("gcc");
        command.args(["-shared", "-fPIC", "library.c", "image.o", "-o", "library"]).args(options);
        run(command.current_dir(folder.path()));
        changed(&folder, "library", ("llvm-objcopy", &["--strip-sections"], &[]));
        for original in ["library", "library_llvm-objcopy"] {
            folder.tool(["prune", original, "--image", "1", "--lose-kernels", "-o", "less"]);
            let (before, after) = (folder.read(original), folder.read("less"));
            // Without section headers segments are aligned as before, which may be to more than what was cut has.
            let is_cut = after.len() + (3 << 16) <= before.len();
            assert!(is_cut || original != "library", "{options:?}: {} of {}", after.len(), before.len());
            let elf = goblin::elf::Elf::parse(&after).unwrap();
            let mut loads = elf.program_headers.iter().filter(|header| header.p_type == 1);
            assert!(loads.all(|header| header.p_vaddr % header.p_align == header.p_offset % header.p_align));
            // Where a library is loaded is chance.
            (0..6).for_each(|_| throws(&folder, "less"));
        }
    }
}
