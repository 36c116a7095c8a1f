//! Does the kernel find the program headers of a rewritten executable where the loader does?
//!
//! The programs themselves look (`fixtures/host/main.c`), so each test that runs one checks what this kernel tells
//! them. Kernels before 5.18 take another way, which is checked here by arithmetic.

use goblin::elf::{Elf, program_header};

use crate::support::embedding::{check, embedded, natives, read};
use crate::support::host::{Fixture, matrix};

#[test]
fn headers_stand_in_the_file_at_their_distance_in_memory() {
    let programs: Vec<Fixture> = matrix::loadable().into_iter().filter(Fixture::is_executable).collect();
    assert!(programs.len() > 10);
    matrix::each(&programs, |form| {
        let original = read(&form.build());
        let rewritten = embedded(&original, &natives(&original));
        let elf = Elf::parse(&rewritten).unwrap();
        let loads = || elf.program_headers.iter().filter(|header| header.p_type == program_header::PT_LOAD);
        let first = loads().next().unwrap();
        // As load_elf_binary computed AT_PHDR.
        let told = first.p_vaddr - first.p_offset + elf.header.e_phoff;
        let phdr = elf.program_headers.iter().find(|header| header.p_type == program_header::PT_PHDR).unwrap();
        assert_eq!(told, phdr.p_vaddr);
        assert_eq!(phdr.p_offset, elf.header.e_phoff);
        assert_eq!(phdr.p_filesz, u64::from(elf.header.e_phnum) * u64::from(elf.header.e_phentsize));
        assert!(loads().is_sorted_by_key(|header| header.p_vaddr));
        assert!(loads().all(|header| header.p_vaddr % header.p_align == header.p_offset % header.p_align));
    });
}

/// A program whose headers the dynamic linker has to search: it is started through the dynamic linker itself.
#[test]
fn programs_start_through_the_dynamic_linker() {
    for form in matrix::loadable().iter().filter(|form| form.is_executable()).step_by(4) {
        let (_, rewritten) = check(form);
        let elf = Elf::parse(&rewritten).unwrap();
        let folder = crate::support::folder::Folder::new();
        let file = folder.file("program", &rewritten);
        let runtime = elf.libraries.iter().find(|name| name.starts_with("libsycl")).unwrap();
        let output = std::process::Command::new(elf.interpreter.unwrap())
            .arg(&file)
            .env("LD_LIBRARY_PATH", crate::support::host::runtime())
            .output()
            .unwrap();
        // On such systems the kernel tells headers of the dynamic linker's own making; the linker corrects them before
        // main.
        assert!(output.status.success(), "{runtime}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("descriptor "));
    }
}
