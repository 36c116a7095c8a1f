//! How is a fixture compiled, once?
//!
//! The result is named by a hash of everything that goes into it and appears by rename, so tests running at the same
//! time do not disturb each other. A missing tool is a failure with its name, never a skipped test.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Fixture, Kind, Linker, Relocations, Strip, Symbols, assembly};

/// The source of the stand-ins for libsycl.
pub const RUNTIME: &str = include_str!("../../../fixtures/host/runtime.c");
const LOADER: &str = include_str!("../../../fixtures/host/loader.c");
const MAIN: &str = include_str!("../../../fixtures/host/main.c");

/// Finds a program in `PATH`, or in the folder of an LLVM installation, newest first.
pub fn tool(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend((13..40).rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin"))));
    let found = folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("these tests need the program `{name}`; it is in no folder of PATH"))
}

/// A tool of one version of LLVM, which Debian's package of that version brings.
pub fn llvm(version: u32, name: &str) -> PathBuf {
    let file = PathBuf::from(format!("/usr/lib/llvm-{version}/bin/{name}"));
    let packages = format!("llvm-{version} clang-{version} clang-tools-{version}");
    assert!(file.is_file(), "these tests need {}: apt-get install {packages}", file.display());
    file
}

/// Runs a command that must succeed.
pub(super) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns `name` in a folder of its own that `make` fills, once for each distinct `key`.
pub(super) fn once(key: &[&[u8]], name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for part in key {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host");
    let folder = root.join(&hasher.finalize().to_hex()[..24]);
    let file = folder.join(name);
    if !file.is_file() {
        std::fs::create_dir_all(&root).unwrap();
        let building = tempfile::tempdir_in(&root).unwrap();
        make(building.path());
        let building = building.keep();
        // Another test may have been faster; what it made is the same.
        if std::fs::rename(&building, &folder).is_err() {
            std::fs::remove_dir_all(&building).unwrap();
        }
    }
    assert!(file.is_file(), "{} was not made", file.display());
    file
}

pub(super) fn gcc(folder: &Path) -> Command {
    let mut gcc = Command::new(tool("gcc"));
    gcc.current_dir(folder);
    gcc
}

/// The folder with the stand-ins for `libsycl.so.8` and `libsycl.so.9`.
pub fn runtime() -> PathBuf {
    let file = once(&[RUNTIME.as_bytes()], "libsycl.so.9", |folder| {
        std::fs::write(folder.join("runtime.c"), RUNTIME).unwrap();
        for version in ["8", "9"] {
            let soname = format!("-Wl,-soname,libsycl.so.{version}");
            let output = format!("libsycl.so.{version}");
            run(gcc(folder).args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", &soname, "-o", &output, "runtime.c"]));
        }
    });
    file.parent().unwrap().to_owned()
}

/// The program that loads libraries.
pub(super) fn loader() -> PathBuf {
    once(&[LOADER.as_bytes()], "loader", |folder| {
        std::fs::write(folder.join("loader.c"), LOADER).unwrap();
        run(gcc(folder).args(["-O1", "-Wall", "-Werror", "-o", "loader", "loader.c", "-ldl"]));
    })
}

/// Compiles, links and strips a fixture.
pub(super) fn build(fixture: &Fixture) -> PathBuf {
    check(fixture);
    let name = match fixture.kind {
        Kind::Shared => format!("lib{}.so", fixture.name),
        Kind::Pie | Kind::NoPie => fixture.name.clone(),
    };
    let runtime = runtime();
    let payload = |u: usize, i: usize| format!("unit{u}-{i}.bin");
    let units: Vec<String> =
        (0..).zip(&fixture.units).map(|(u, images)| assembly::unit(fixture, u, images, |i| payload(u, i))).collect();
    // The debug form names every field; the rest of what decides the bytes are the sources and the runtime's place.
    let spec = format!("{fixture:?} {} {:?}", runtime.display(), link_options(fixture, &name));
    once(&[spec.as_bytes(), units.concat().as_bytes(), MAIN.as_bytes()], &name, |folder| {
        let mut objects = Vec::new();
        for (u, images) in fixture.units.iter().enumerate() {
            for (i, image) in images.iter().enumerate() {
                std::fs::write(folder.join(payload(u, i)), &image.payload).unwrap();
            }
            objects.push(format!("unit{u}.S"));
            std::fs::write(folder.join(&objects[u]), &units[u]).unwrap();
        }
        if fixture.kind != Kind::Shared {
            std::fs::write(folder.join("main.c"), MAIN).unwrap();
            objects.push("main.c".to_owned());
        }
        if !fixture.source.is_empty() {
            std::fs::write(folder.join("extra.c"), &fixture.source).unwrap();
            objects.push("extra.c".to_owned());
        }
        run(gcc(folder).args(link_options(fixture, &name)).args(&objects).arg(runtime.join(fixture.needed())));
        match fixture.strip {
            Strip::Nothing => {}
            Strip::Symbols => run(Command::new(tool("strip")).arg(folder.join(&name))),
            Strip::SectionHeaders => {
                run(Command::new(tool("llvm-objcopy")).arg("--strip-sections").arg(folder.join(&name)));
            }
        }
    })
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
        tool("ld.lld"); // named here if it is missing; gcc's own message is obscure
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
