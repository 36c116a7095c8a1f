//! Which forms of files are there?
//!
//! Everything that decides how pointers are found (linker, kind of file, relocations, symbols, what is stripped) in
//! all combinations that exist; what is independent of it (versions, entries, ...) rotates through these, and is
//! combined in full on one of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Entries, Fixture, ImageSpec, Kind, Linker, Relocations, Strip, Symbols, samples};
use crate::support::spirv;

/// All forms, each with one, two or three descriptors.
pub fn forms() -> Vec<Fixture> {
    let mut forms = shapes();
    for (at, form) in forms.iter_mut().enumerate() {
        *form = units(form.clone(), at % 3)
            .version([3, 2, 1][at % 3])
            .entries(if at % 5 < 3 { Entries::Old } else { Entries::New })
            .tgtimg(at % 4 != 1)
            .new_driver(at % 7 > 3)
            .bind_now(at % 4 > 1)
            .relro(at % 5 != 2);
    }
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            for (tgtimg, new_driver) in [(false, false), (false, true), (true, false), (true, true)] {
                let form = units(Fixture::new("contents"), 1).version(version).entries(entries);
                forms.push(form.tgtimg(tgtimg).new_driver(new_driver));
            }
        }
    }
    forms
}

/// Checks each form, as many at a time as there are cores. The threads belong to the test, and so does what they print.
pub fn each(forms: &[Fixture], check: impl Fn(&Fixture) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, Into::into) {
            scope.spawn(|| {
                while let Some(form) = forms.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(form);
                }
            });
        }
    });
}

/// Options that decide where segments and tables stand and what else is in the file, on each kind of file by each
/// linker that knows them.
pub fn layouts() -> Vec<Fixture> {
    const BOTH: [Linker; 2] = [Linker::Gnu, Linker::Lld];
    let options: [(&str, &[Linker]); 14] = [
        ("-Wl,-z,separate-code", &BOTH),
        ("-Wl,-z,noseparate-code", &BOTH),
        ("-Wl,-z,max-page-size=65536", &BOTH),
        ("-Wl,-z,max-page-size=2097152", &BOTH),
        ("-Wl,-z,nocombreloc", &BOTH),
        ("-Wl,--emit-relocs", &BOTH),
        ("-Wl,--build-id=sha1", &BOTH),
        ("-Wl,--hash-style=sysv", &BOTH),
        ("-fcf-protection=full", &BOTH),
        ("-Wl,--gc-sections", &BOTH),
        ("-g", &BOTH),
        ("-Wl,-z,separate-loadable-segments", &[Linker::Lld]),
        ("-Wl,--no-rosegment", &[Linker::Lld]),
        ("-Wl,--compress-debug-sections=zlib", &[Linker::Gnu]),
    ];
    let mut layouts = Vec::new();
    for (option, linkers) in options {
        for linker in linkers {
            for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
                layouts.push(units(Fixture::new("layout"), 2).linker(*linker).kind(kind).option(option));
            }
        }
    }
    layouts
}

/// Fixtures that this machine loads.
pub fn loadable() -> Vec<Fixture> {
    forms().into_iter().filter(Fixture::loads).collect()
}

fn shapes() -> Vec<Fixture> {
    let mut shapes = Vec::new();
    for linker in [Linker::Gnu, Linker::Lld] {
        for kind in [Kind::Shared, Kind::Pie, Kind::NoPie] {
            for relocations in [Relocations::Rela, Relocations::Relr, Relocations::Rel] {
                for symbols in [Symbols::Local, Symbols::Interposable] {
                    for strip in [Strip::Nothing, Strip::Symbols, Strip::SectionHeaders] {
                        if exists(linker, kind, relocations, symbols) {
                            let shape = Fixture::new("shape").linker(linker).kind(kind).relocations(relocations);
                            shapes.push(shape.symbols(symbols).strip(strip));
                        }
                    }
                }
            }
        }
    }
    shapes
}

/// Tells which combinations the tools make, and programs can have: see `toolchain::check`.
fn exists(linker: Linker, kind: Kind, relocations: Relocations, symbols: Symbols) -> bool {
    let shared = kind == Kind::Shared;
    (shared || symbols == Symbols::Local)
        && match relocations {
            Relocations::Rela => true,
            Relocations::Relr => shared || (kind == Kind::Pie && linker == Linker::Gnu),
            Relocations::Rel => shared && linker == Linker::Lld,
        }
}

/// The sample images, and as many further units.
pub fn units(form: Fixture, more: usize) -> Fixture {
    let mut form = form.images(samples::every_property());
    if more > 0 {
        form = form.images(vec![ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate")]);
    }
    if more > 1 {
        // The same kernel as in another unit, and an image without bytes.
        form = form.images(vec![samples::image("halve"), ImageSpec::new(Vec::new()).for_target("spir64_gen", 0)]);
    }
    form
}
