//! Does a program or library register the images that were added to it when it was stripped or patched then?

use std::process::Command;

use crate::support::folder::{Folder, said};
use crate::support::spirv;
use crate::support::tools::{needed, run};

/// A program or library that writes what it registers, and whose data ends at no multiple of eight.
const SOURCE: &str = "#include <stdint.h>
#include <stdio.h>
struct entry { void *address; char *name; };
struct image {
  uint16_t version;
  uint8_t kind, format;
  char *target, *compile, *link;
  unsigned char *begin, *end;
  struct entry *entries, *last;
  void *properties[2];
};
struct descriptor { uint16_t version, count; struct image *images; };
void __sycl_register_lib(struct descriptor *list) {
  for (int i = 0; i < list->count; i++) {
    struct image *image = list->images + i;
    uint32_t sum = 1;
    for (unsigned char *at = image->begin; at < image->end; at++) sum = sum * 31 + *at;
    printf(\"%s %s %u\\n\", image->target, image->entries->name, sum);
  }
}
void __sycl_unregister_lib(struct descriptor *list) {}
char odd[5] = {1, 2, 3, 4, 5};
static char zeroed[ZEROED];
char *volatile place = zeroed;
int main(void) {
  for (int i = 0; i < ZEROED; i++) if (place[i]) return 1;
  return 0;
}
";

/// A program that opens the library `library`.
const OPENER: &str = "#include <dlfcn.h>
int main(int count, char **words) { return !dlopen(words[1], RTLD_NOW); }
";

/// Changes of what was rewritten: a program and its arguments before the file's name.
const CHANGES: [&[&str]; 7] = [
    &["strip"],
    &["strip", "--strip-debug"],
    &["objcopy"],
    &["llvm-strip"],
    &["llvm-objcopy"],
    &["llvm-objcopy", "--strip-sections"],
    PATCHELF,
];

/// Change that makes room where there is none.
const PATCHELF: &[&str] =
    &["patchelf", "--set-rpath", "/a/path/that/has/no/room/where/the/old/one/is/in/the/table/of/strings"];

fn within(folder: &Folder, words: &[&str]) {
    let (program, arguments) = words.split_first().unwrap();
    run(needed(program).current_dir(folder.path()).args(arguments));
}

/// Changes a copy of a file.
fn changed(folder: &Folder, from: &str, change: &[&str]) -> &'static str {
    std::fs::copy(folder.path().join(from), folder.path().join("changed")).unwrap();
    within(folder, &[change, &["changed"]].concat());
    "changed"
}

/// Builds a file with an image.
fn built(zeroed: usize, options: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.put("k.spv", spirv::module("add_one"));
    folder.put("l.spv", spirv::module("halve"));
    folder.put("m.spv", spirv::module("two_kernels"));
    folder.put("source.c", SOURCE);
    folder.put("opener.c", OPENER);
    folder.tool(["wrap", "k.spv", "-o", "image.o"]);
    let zeroed = format!("-DZEROED={zeroed}");
    within(&folder, &[&["gcc", "-O1", &zeroed, "source.c", "image.o", "-o", "file"], options].concat());
    within(&folder, &["gcc", "opener.c", "-o", "opener", "-ldl"]);
    folder
}

/// Returns what a file registers.
fn registered(folder: &Folder, file: &str, is_library: bool) -> String {
    let file = folder.path().join(file);
    let mut command = if is_library { Command::new(folder.path().join("opener")) } else { Command::new(&file) };
    said(&run(if is_library { command.arg(&file) } else { &mut command }))
}

/// Adds images to a file, changes it, and adds more.
fn survives(folder: &Folder, file: &str, is_library: bool, changes: &[&[&str]]) {
    folder.tool(["embed", file, "l.spv", "-o", "more"]);
    let expected = registered(folder, "more", is_library);
    assert_eq!(expected.lines().count(), 2, "{expected}");
    for change in changes {
        let changed = changed(folder, "more", change);
        assert_eq!(registered(folder, changed, is_library), expected, "{change:?}");
        folder.tool(["inspect", changed]);
        if !is_library {
            headers_stay(&folder.read(changed));
        }
        folder.tool(["embed", changed, "m.spv", "-o", "again"]);
        let all = registered(folder, "again", is_library);
        assert!(all.starts_with(&expected) && all.lines().count() == 3, "{change:?}: {all}");
    }
}

/// Checks that the program headers are as far from the first segment in memory as in the file, as Linux before 5.18 takes them
/// to be.
fn headers_stay(file: &[u8]) {
    let elf = goblin::elf::Elf::parse(file).unwrap();
    let mut loads = elf.program_headers.iter().filter(|header| header.p_type == 1);
    let begin = elf.header.e_phoff;
    let holder = loads.clone().find(|load| load.file_range().contains(&usize::try_from(begin).unwrap())).unwrap();
    let first = loads.next().unwrap();
    assert_eq!(holder.p_vaddr - holder.p_offset, first.p_vaddr - first.p_offset, "{begin:#x}");
}

#[test]
fn programs_keep_the_distance_of_their_program_headers() {
    let options: [(usize, &[&str]); 6] = [
        (50, &["-pie", "-fPIE"]),
        (100_000, &["-pie", "-fPIE"]),
        (1_500_000, &["-no-pie", "-fno-PIE"]),
        (100_000, &["-pie", "-fPIE", "-fuse-ld=lld"]),
        (100_000, &["-no-pie", "-fno-PIE", "-fuse-ld=gold"]),
        (100_000, &["-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000"]),
    ];
    for (zeroed, options) in options {
        survives(&built(zeroed, options), "file", false, &CHANGES);
    }
}

/// GNU ld makes a program of a fixed address, with the relocations of one of any.
#[test]
fn programs_that_were_made_for_any_address_and_given_one_are_rewritten() {
    for options in [&["-Wl,-Ttext-segment=0x7f000000"][..], &["-Wl,-Ttext-segment=0x7f000000,-z,pack-relative-relocs"]]
    {
        let folder = built(100, &[&["-pie", "-fPIE"], options].concat());
        survives(&folder, "file", false, &CHANGES);
        let all = registered(&folder, "more", false);
        for layout in [&[][..], &["--keep-layout"]] {
            folder.tool([&["prune", "more", "--image", "0", "--lose-kernels", "-o", "pruned"], layout].concat());
            let left = registered(&folder, "pruned", false);
            assert!(left.lines().count() == 1 && all.ends_with(&left), "{left}");
        }
    }
}

/// Relocations of the images that are added have a section, which GNU strip would fill with zeros otherwise.
#[test]
fn relocations_have_a_section_where_the_table_was_empty() {
    let folder = built(100_000, &["-static-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"]);
    survives(&folder, "file", false, &CHANGES[..6]);
}

/// `patchelf` adds a segment of which sections cover no end, and GNU strip cuts that off. `llvm-strip` makes files of what it
/// left that no loader takes, whether images were added or not.
#[test]
fn libraries_that_were_patched_keep_what_is_behind() {
    for options in [&["-fuse-ld=gold"][..], &["-Wl,-z,noseparate-code"], &["-Wl,-z,pack-relative-relocs"]] {
        let folder = built(100, &[&["-shared", "-fPIC", "-Wl,--build-id=sha1"], options].concat());
        let patched = changed(&folder, "file", PATCHELF);
        std::fs::rename(folder.path().join(patched), folder.path().join("patched")).unwrap();
        survives(&folder, "patched", true, &CHANGES[..3]);
    }
}
