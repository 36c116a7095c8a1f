//! How is a fixture compiled?

use std::path::PathBuf;

use super::{Fixture, Kind, Linker, Relocations, Strip, Symbols, assembly};
use crate::support::built::Recipe;

/// The source of the stand-ins for libsycl.
pub const RUNTIME: &str = include_str!("../../../fixtures/host/runtime.c");
const LOADER: &str = include_str!("../../../fixtures/host/loader.c");
const MAIN: &str = include_str!("../../../fixtures/host/main.c");

/// The recipe of the stand-ins for `libsycl.so.8` and `libsycl.so.9`.
fn runtime_recipe() -> Recipe {
    let mut recipe = Recipe::new("runtime").input("runtime.c", RUNTIME);
    for name in ["libsycl.so.8", "libsycl.so.9"] {
        let soname = format!("-Wl,-soname,{name}");
        let options = ["gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", &soname, "-o", name, "runtime.c"];
        recipe = recipe.run(options).output(name);
    }
    recipe
}

/// The folder with the stand-ins for `libsycl.so.8` and `libsycl.so.9`.
pub fn runtime() -> PathBuf {
    runtime_recipe().path("libsycl.so.9").parent().unwrap().to_owned()
}

/// The program that loads libraries.
pub(super) fn loader() -> PathBuf {
    let recipe = Recipe::new("loader").input("loader.c", LOADER).output("loader");
    recipe.run(["gcc", "-O1", "-Wall", "-Werror", "-o", "loader", "loader.c", "-ldl"]).path("loader")
}

/// The name of an image's payload beside the source of its unit.
pub(super) fn payload(unit: usize, image: usize) -> String {
    format!("unit{unit}-{image}.bin")
}

/// Adds the payloads of all images.
pub(super) fn payloads(mut recipe: Recipe, fixture: &Fixture) -> Recipe {
    for (u, images) in fixture.units.iter().enumerate() {
        for (i, image) in images.iter().enumerate() {
            recipe = recipe.input(payload(u, i), image.payload.clone());
        }
    }
    recipe
}

/// Compiles, links and strips a fixture.
pub(super) fn build(fixture: &Fixture) -> PathBuf {
    check(fixture);
    let name = match fixture.kind {
        Kind::Shared => format!("lib{}.so", fixture.name),
        Kind::Pie | Kind::NoPie => fixture.name.clone(),
    };
    let runtime = fixture.needed();
    let mut recipe = payloads(Recipe::new(&fixture.name), fixture).need(&runtime_recipe(), runtime);
    let mut link = vec!["gcc".to_owned()];
    link.extend(link_options(fixture, &name));
    for (u, images) in fixture.units.iter().enumerate() {
        let source = format!("unit{u}.S");
        recipe = recipe.input(&source, assembly::unit(fixture, u, images, |i| payload(u, i)));
        link.push(source);
    }
    if fixture.kind != Kind::Shared {
        recipe = recipe.input("main.c", MAIN);
        link.push("main.c".to_owned());
    }
    if !fixture.source.is_empty() {
        recipe = recipe.input("extra.c", fixture.source.as_str());
        link.push("extra.c".to_owned());
    }
    link.push(runtime.to_owned());
    recipe = recipe.run(link);
    recipe = match fixture.strip {
        Strip::Nothing => recipe,
        Strip::Symbols => recipe.run(["strip", &name]),
        Strip::SectionHeaders => recipe.run(["llvm-objcopy", "--strip-sections", &name]),
    };
    recipe.output(&name).path(&name)
}

fn check(fixture: &Fixture) {
    let shared = fixture.kind == Kind::Shared;
    assert!(fixture.symbols == Symbols::Local || shared, "only the symbols of a library can be overridden");
    assert!(fixture.relocations != Relocations::Rel || fixture.linker == Linker::Lld, "only lld writes DT_REL");
    // glibc refuses RELR in a file that needs libc and not its version GLIBC_ABI_DT_RELR, which lld adds since 15 only.
    let relr_by_lld = fixture.relocations == Relocations::Relr && fixture.linker == Linker::Lld;
    assert!(shared || !relr_by_lld, "an executable that lld links with RELR does not run everywhere");
    assert!((1..=3).contains(&fixture.version), "there is no version {}", fixture.version);
}

fn link_options(fixture: &Fixture, name: &str) -> Vec<String> {
    let mut options = vec!["-O1".to_owned(), "-Wl,--build-id=none".to_owned(), "-o".to_owned(), name.to_owned()];
    // Debug information names folders: not the one of this run.
    options.push("-ffile-prefix-map={here}=.".to_owned());
    let mut add = |option: &str| options.push(option.to_owned());
    match fixture.kind {
        Kind::Shared => {
            add("-shared");
            add("-fPIC");
            add(&format!("-Wl,-soname,{name}"));
        }
        Kind::Pie => {
            add("-fPIE");
            add("-pie");
        }
        Kind::NoPie => {
            add("-fno-PIE");
            add("-no-pie");
        }
    }
    if fixture.linker == Linker::Lld {
        add("-fuse-ld=lld");
    }
    match (fixture.relocations, fixture.linker) {
        (Relocations::Rela, _) => {}
        (Relocations::Relr, Linker::Gnu) => add("-Wl,-z,pack-relative-relocs"),
        (Relocations::Relr, Linker::Lld) => add("-Wl,--pack-dyn-relocs=relr"),
        (Relocations::Rel, _) => add("-Wl,-z,rel"),
    }
    add(if fixture.bind_now { "-Wl,-z,now" } else { "-Wl,-z,lazy" });
    add(if fixture.relro { "-Wl,-z,relro" } else { "-Wl,-z,norelro" });
    options.extend(fixture.options.iter().cloned());
    options
}
