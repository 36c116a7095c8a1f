//! Are the fat binaries that the other tests start from what they claim to be?
//!
//! Each form is checked with readers that are not ours (`goblin`), and every file that can be loaded is: the process
//! must present to the runtime exactly the images that were asked for.

use std::path::Path;

use crate::support::host::{
    Entries, Fixture, ImageSpec, Kind, Linker, Relocations, Strip, Symbols, Value, load, samples,
};
use crate::support::spirv;
use goblin::elf::{Elf, dynamic, header, program_header, reloc};

/// The addresses of the file with their values in the file: the `.tgtimg` pairs.
fn tgtimg(elf: &Elf, bytes: &[u8]) -> Option<(u64, Vec<[u64; 2]>)> {
    let section = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(".tgtimg"))?;
    let data = &bytes[section.file_range()?];
    let word = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
    Some((section.sh_addr, (0..data.len()).step_by(16).map(|at| [word(at), word(at + 8)]).collect()))
}

fn with<T>(file: &Path, check: impl FnOnce(&Elf, &[u8]) -> T) -> T {
    let bytes = std::fs::read(file).unwrap();
    check(&Elf::parse(&bytes).unwrap(), &bytes)
}

fn has(elf: &Elf, tag: u64) -> bool {
    elf.dynamic.as_ref().unwrap().dyns.iter().any(|entry| entry.d_tag == tag)
}

/// Loads the file and compares; returns its path for more.
fn check(fixture: &Fixture) -> std::path::PathBuf {
    let file = fixture.build();
    assert_eq!(load(&file), fixture.expected(), "{}", file.display());
    file
}

fn sample(name: &str) -> Fixture {
    Fixture::new(name).images(samples::every_property())
}

#[test]
fn gnu_ld_stores_addends_in_place_and_lld_does_not() {
    for (linker, in_place) in [(Linker::Gnu, true), (Linker::Lld, false)] {
        let file = check(&sample("rela").linker(linker));
        with(&file, |elf, bytes| {
            let (at, pairs) = tgtimg(elf, bytes).unwrap();
            assert_eq!(pairs.len(), samples::every_property().len());
            for (i, pair) in pairs.iter().enumerate() {
                let rela = elf.dynrelas.iter().find(|rela| rela.r_offset == at + i as u64 * 16).unwrap();
                assert_eq!(rela.r_type, reloc::R_X86_64_RELATIVE);
                let addend = rela.r_addend.unwrap() as u64;
                assert_eq!(pair[0], if in_place { addend } else { 0 }, "{linker:?}");
            }
        });
    }
}

#[test]
fn relr_is_written_by_both_linkers() {
    const DT_RELR: u64 = 36;
    for (linker, kind) in [(Linker::Gnu, Kind::Shared), (Linker::Gnu, Kind::Pie), (Linker::Lld, Kind::Shared)] {
        let file = check(&sample("relr").kind(kind).linker(linker).relocations(Relocations::Relr));
        with(&file, |elf, bytes| {
            assert!(has(elf, DT_RELR), "{linker:?}");
            let (at, pairs) = tgtimg(elf, bytes).unwrap();
            assert!(pairs.iter().all(|pair| pair[0] != 0), "addends of RELR are in place");
            assert!(elf.dynrelas.iter().all(|rela| rela.r_offset != at));
        });
    }
}

#[test]
fn rel_has_its_addends_in_place() {
    // glibc loads no such file on x86-64, so there is nothing to run.
    let file = sample("rel").linker(Linker::Lld).relocations(Relocations::Rel).build();
    with(&file, |elf, bytes| {
        assert!(has(elf, dynamic::DT_REL) && !has(elf, dynamic::DT_RELA));
        let (at, pairs) = tgtimg(elf, bytes).unwrap();
        assert!(pairs.iter().all(|pair| pair[0] != 0));
        assert!(elf.dynrels.iter().any(|rel| rel.r_offset == at && rel.r_type == reloc::R_X86_64_RELATIVE));
    });
}

#[test]
fn interposable_symbols_make_symbol_relocations() {
    for linker in [Linker::Gnu, Linker::Lld] {
        let file = check(&sample("interposable").linker(linker).symbols(Symbols::Interposable));
        with(&file, |elf, bytes| {
            let (at, pairs) = tgtimg(elf, bytes).unwrap();
            assert!(pairs.iter().all(|pair| pair[0] == 0));
            let rela = elf.dynrelas.iter().find(|rela| rela.r_offset == at).unwrap();
            let symbol = elf.dynsyms.get(rela.r_sym).unwrap();
            assert_eq!(rela.r_type, reloc::R_X86_64_64);
            assert_eq!(elf.dynstrtab.get_at(symbol.st_name), Some("sycl_offloading.unit0.0.data"));
            assert!(!symbol.is_import());
            let ends = elf.dynrelas.iter().filter(|rela| rela.r_type == reloc::R_X86_64_64 && rela.r_addend != Some(0));
            assert!(ends.count() > 0, "ends of ranges are a symbol and an addend");
        });
    }
}

#[test]
fn executables_run() {
    for linker in [Linker::Gnu, Linker::Lld] {
        let file = check(&sample("pie").kind(Kind::Pie).linker(linker));
        with(&file, |elf, _| assert!(elf.header.e_type == header::ET_DYN && elf.interpreter.is_some()));
        let file = check(&sample("fixed").kind(Kind::NoPie).linker(linker));
        with(&file, |elf, bytes| {
            assert_eq!(elf.header.e_type, header::ET_EXEC);
            let (_, pairs) = tgtimg(elf, bytes).unwrap();
            assert!(pairs.iter().all(|pair| pair[0] != 0), "addresses are known at link time");
            assert!(elf.dynrelas.iter().all(|rela| rela.r_type != reloc::R_X86_64_RELATIVE));
        });
    }
}

#[test]
fn hardening_is_as_asked() {
    for linker in [Linker::Gnu, Linker::Lld] {
        for (now, relro) in [(false, false), (true, true)] {
            let file = check(&sample("hardened").linker(linker).bind_now(now).relro(relro));
            with(&file, |elf, _| {
                let relro_segment = elf.program_headers.iter().any(|p| p.p_type == program_header::PT_GNU_RELRO);
                assert_eq!(relro_segment, relro, "{linker:?}");
                let flags = elf.dynamic.as_ref().unwrap().info.flags_1;
                assert_eq!(flags & dynamic::DF_1_NOW != 0, now, "{linker:?}");
            });
        }
    }
}

#[test]
fn stripped_files_load() {
    for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
        let file = check(&sample("stripped").kind(kind).strip(Strip::Symbols));
        with(&file, |elf, bytes| assert!(elf.syms.is_empty() && tgtimg(elf, bytes).is_some()));
        let file = check(&sample("headerless").kind(kind).linker(Linker::Lld).strip(Strip::SectionHeaders));
        with(&file, |elf, _| assert!(elf.section_headers.is_empty() && elf.header.e_shoff == 0));
    }
}

#[test]
fn tgtimg_can_be_missing() {
    let file = check(&sample("no_tgtimg").tgtimg(false));
    with(&file, |elf, bytes| assert!(tgtimg(elf, bytes).is_none()));
}

#[test]
fn every_version_and_form_of_entries_loads() {
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            for linker in [Linker::Gnu, Linker::Lld] {
                check(&sample("versions").version(version).entries(entries).linker(linker));
            }
        }
    }
}

#[test]
fn several_units_register_in_order() {
    let fixture = Fixture::new("units")
        .images(samples::every_property())
        .images(vec![ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate")]);
    for linker in [Linker::Gnu, Linker::Lld] {
        let file = check(&fixture.clone().linker(linker));
        with(&file, |elf, bytes| {
            let (_, pairs) = tgtimg(elf, bytes).unwrap();
            assert_eq!(pairs.len(), samples::every_property().len() + 1);
        });
    }
}

#[test]
fn sections_and_producer_are_named_as_the_drivers_do() {
    for (new_driver, name) in [(false, "__CLANG_OFFLOAD_BUNDLE__sycl-spir64"), (true, "spir64")] {
        let fixture = sample("drivers").new_driver(new_driver);
        with(&check(&fixture), |elf, bytes| {
            let names: Vec<_> = elf.section_headers.iter().filter_map(|s| elf.shdr_strtab.get_at(s.sh_name)).collect();
            assert!(names.contains(&name), "{names:?}");
            let producer = crate::support::host::PRODUCER_2026.as_bytes();
            assert!(bytes.windows(producer.len()).any(|window| window == producer));
        });
    }
}

#[test]
fn the_stand_in_notices_a_difference() {
    let changed = |change: fn(&mut ImageSpec)| {
        let mut images = samples::every_property();
        change(&mut images[0]);
        Fixture::new("changed").images(images).expected()
    };
    let loaded = load(&sample("original").build());
    let changes: [fn(&mut ImageSpec); 6] = [
        |image| image.payload[20] ^= 1,
        |image| image.compile_options.push(' '),
        |image| image.target.push('_'),
        |image| image.entries.truncate(0),
        |image| image.sets[0].properties[0].value = Value::Bits(32, vec![7, 0, 0, 0]),
        |image| image.format ^= 1,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        assert_ne!(loaded, changed(change), "change {i}");
    }
}
