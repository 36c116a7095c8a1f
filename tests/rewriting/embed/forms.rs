//! Is every form of file rewritten so that it loads and shows the old images and the new ones?

use crate::support::embedding::{check, embedded, natives, read};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, Kind, Linker, Relocations, Strip, Symbols, load, matrix};
use crate::support::spirv;
use goblin::elf::program_header::PT_LOAD;
use std::process::Command;

const KINDS: [Kind; 3] = [Kind::Shared, Kind::Pie, Kind::NoPie];
const LINKERS: [Linker; 2] = [Linker::Gnu, Linker::Lld];

fn sample(name: &str) -> Fixture {
    matrix::units(Fixture::new(name), 2)
}

fn on_all(name: &str, change: impl Fn(Fixture) -> Fixture + Sync) {
    let forms = KINDS.iter().flat_map(|kind| LINKERS.iter().map(move |linker| (*kind, *linker)));
    let forms: Vec<_> = forms.map(|(kind, linker)| change(sample(name).kind(kind).linker(linker))).collect();
    matrix::each(&forms, |form| {
        check(form);
    });
}

#[test]
fn every_loadable_form() {
    matrix::each(&matrix::loadable(), |form| {
        check(form);
    });
}

/// Without the C runtime's start files a library has no relocation but those of the structures.
#[test]
fn relr_and_no_other_relocations() {
    for linker in LINKERS {
        for strip in [Strip::Nothing, Strip::Symbols, Strip::SectionHeaders] {
            let form = sample("relr_only").linker(linker).relocations(Relocations::Relr).strip(strip);
            let (original, _) = check(&form.option("-nostartfiles").option("-nostdlib"));
            let elf = goblin::elf::Elf::parse(&original).unwrap();
            assert!(elf.dynrelas.is_empty(), "{linker:?}");
        }
    }
}

#[test]
fn every_layout() {
    matrix::each(&matrix::layouts(), |form| {
        check(form);
    });
}

#[test]
fn hardened_files() {
    on_all("hardened", |form| form.bind_now(true).relro(true).option("-fcf-protection=full"));
    on_all("soft", |form| form.bind_now(false).relro(false));
}

/// A constructor that runs after those of the images, and ends the process where a thread's variables, the writable
/// data or the zeroed data are not what they should be.
const DATA: &str = "#include <stdlib.h>
static __thread int zero_in_thread[300];
static __thread int in_thread[3] = {1, 2, 3};
static int written[3] = {4, 5, 6};
static char zeroed[ZEROED];
static int *volatile relocated = &written[1];
__attribute__((constructor(900))) static void look(void) {
  volatile char *all = zeroed;
  for (unsigned long i = 0; i < sizeof zeroed; i += 509)
    if (all[i]) exit(5);
  if (in_thread[2] != 3 || zero_in_thread[299] || written[2] != 6 || *relocated != 5) exit(6);
  all[0] = all[sizeof zeroed - 1] = 1;
  in_thread[0] = zero_in_thread[0] = written[0] = 9;
}
";

#[test]
fn thread_local_and_zeroed_data() {
    for size in ["1", "4097", "8 << 20"] {
        on_all("data", |form| form.source(&DATA.replace("ZEROED", size)));
    }
    on_all("data_stripped", |form| form.source(&DATA.replace("ZEROED", "8 << 20")).strip(Strip::Symbols));
}

#[test]
fn symbols_that_others_may_override() {
    for (linker, relocations) in [
        (Linker::Gnu, Relocations::Rela),
        (Linker::Gnu, Relocations::Relr),
        (Linker::Lld, Relocations::Rela),
        (Linker::Lld, Relocations::Relr),
    ] {
        check(&sample("overridable").linker(linker).relocations(relocations).symbols(Symbols::Interposable));
    }
}

#[test]
fn two_rewritten_libraries_in_one_process() {
    let folder = Folder::new();
    let mut files = Vec::new();
    for (name, linker) in [("libone.so", Linker::Gnu), ("libtwo.so", Linker::Lld)] {
        let original = read(&sample("several").linker(linker).build());
        files.push(folder.file(name, &embedded(&original, &natives(&original))));
    }
    let both = crate::support::host::load_all(&[&files[0], &files[1]]);
    let apart = [load(&files[0]).descriptors, load(&files[1]).descriptors].concat();
    assert_eq!(both.descriptors, apart);
    assert_eq!(both.unregistered, (0..6).rev().collect::<Vec<_>>());
}

/// A program without an interpreter. Kernels before 5.18 give a program the address of its headers as that of the first
/// segment plus `e_phoff`, and nothing else tells it that of a program that relocates itself.
#[test]
fn programs_that_relocate_themselves_find_their_headers() {
    let folder = Folder::new();
    folder.put("k.spv", spirv::module("add_one"));
    folder.tool(["wrap", "k.spv", "-o", "image.o"]);
    let source = "static int seen; void __sycl_register_lib(void *d) { seen = 1; } void __sycl_unregister_lib(void *d) {}\n\
        static char zeroed[1 << 17]; int main(void) { return !seen + zeroed[sizeof zeroed - 1]; }\n";
    folder.put("main.c", source);
    let run = |command: &mut Command| {
        let done = command.current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run(Command::new("gcc").args(["-static-pie", "-fPIE", "main.c", "image.o", "-o", "program"]));
    folder.tool(["embed", "program", "k.spv", "--as-target", "spir64_x86_64", "-o", "more"]);
    for file in ["program", "more"] {
        let bytes = folder.read(file);
        let elf = goblin::elf::Elf::parse(&bytes).unwrap();
        let loads = || elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let first = loads().next().unwrap();
        let at = elf.header.e_phoff;
        let holding = loads().find(|header| header.file_range().contains(&(at as usize))).unwrap();
        assert_eq!(holding.p_vaddr - holding.p_offset, first.p_vaddr - first.p_offset, "{file}");
        run(&mut Command::new(folder.path().join(file)));
    }
}
