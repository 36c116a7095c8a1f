//! How does the same unit become an object file, ELF or COFF, or a library for Windows?
//!
//! ELF objects come from `gcc -c` and `ld -r`, those for other machines and COFF ones from `llvm-mc`, which reads the
//! same directives but for the sections of COFF, and libraries for Windows from `lld-link`.

use std::path::PathBuf;

use super::toolchain::{payload, payloads};
use super::{Fixture, assembly};
use crate::support::built::Recipe;

const WINDOWS: &str = include_str!("../../../fixtures/host/registration-windows.s");

/// Machine of an object that is not for this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cross {
    /// COFF for x86-64, with the code that registers the images.
    WindowsX86_64,
    /// COFF for arm64, data alone.
    WindowsArm64,
    /// COFF with more sections than its usual header can count, data alone.
    WindowsBig,
    /// ELF for AArch64, data alone.
    LinuxArm64,
}

impl Cross {
    fn triple(self) -> &'static str {
        match self {
            Cross::WindowsX86_64 | Cross::WindowsBig => "x86_64-pc-windows-msvc",
            Cross::WindowsArm64 => "aarch64-pc-windows-msvc",
            Cross::LinuxArm64 => "aarch64-unknown-linux-gnu",
        }
    }

    fn source(self, data: &str) -> String {
        match self {
            Cross::WindowsX86_64 => WINDOWS.to_owned() + &windows(data),
            Cross::WindowsArm64 => windows(data),
            Cross::WindowsBig => {
                let many = (0..65_300).map(|i| format!(".section .filler{i},\"dr\"\n.byte 1\n"));
                windows(data) + &many.collect::<String>()
            }
            Cross::LinuxArm64 => data.to_owned(),
        }
    }
}

/// Adds the command that assembles a source for another machine, or for this one where no `gcc` is needed.
pub fn assemble(recipe: Recipe, triple: &str, source: &str, output: &str) -> Recipe {
    recipe.run(["llvm-mc", &format!("--triple={triple}"), "--filetype=obj", "-o", output, source]).output(output)
}

impl Fixture {
    /// The object file of each unit, as `gcc -c` makes them for this machine.
    pub fn build_objects(&self) -> Vec<PathBuf> {
        self.paths(&self.objects(), "o")
    }

    /// One object file of all units, partially linked by `ld -r`.
    pub fn build_partially_linked(&self) -> PathBuf {
        let (objects, mut recipe) = (self.objects(), Recipe::new(&format!("{}-partial", self.name)));
        let mut link = ["ld", "-r", "-o", "all.o"].map(str::to_owned).to_vec();
        for u in 0..self.units.len() {
            recipe = recipe.need(&objects, &format!("unit{u}.o"));
            link.push(format!("unit{u}.o"));
        }
        recipe.run(link).output("all.o").path("all.o")
    }

    /// The object file of each unit for something else than this machine.
    pub fn build_cross(&self, cross: Cross) -> Vec<PathBuf> {
        self.paths(&self.cross(cross), "obj")
    }

    /// A library for Windows on x86-64 that imports the registration functions from `sycl9.dll` or `sycl8.dll`.
    pub fn build_dll(&self) -> PathBuf {
        let objects = self.cross(Cross::WindowsX86_64);
        let runtime = if self.version == 3 { "sycl9" } else { "sycl8" };
        let name = format!("{}.dll", self.name);
        let exports = format!("LIBRARY {runtime}.dll\nEXPORTS\n__sycl_register_lib\n__sycl_unregister_lib\n");
        let mut recipe = Recipe::new(&format!("{}-dll", self.name)).input("runtime.def", exports);
        recipe = recipe.run(["llvm-dlltool", "-m", "i386:x86-64", "-d", "runtime.def", "-l", "runtime.lib"]);
        let out = format!("/out:{name}");
        let mut link = ["lld-link", "/dll", "/noentry", "/nodefaultlib", "/Brepro", &out].map(str::to_owned).to_vec();
        for u in 0..self.units.len() {
            recipe = recipe.need(&objects, &format!("unit{u}.obj"));
            link.push(format!("unit{u}.obj"));
        }
        link.push("runtime.lib".to_owned());
        recipe.run(link).output(&name).path(&name)
    }

    /// The recipe of one object of each unit, for this machine.
    pub fn objects(&self) -> Recipe {
        let mut recipe = payloads(Recipe::new(&format!("{}-objects", self.name)), self);
        for (u, images) in self.units.iter().enumerate() {
            let (source, object) = (format!("unit{u}.S"), format!("unit{u}.o"));
            recipe = recipe.input(&source, assembly::unit(self, u, images, |i| payload(u, i)));
            recipe = recipe.run(["gcc", "-c", &source, "-o", &object]).output(object);
        }
        recipe
    }

    fn cross(&self, cross: Cross) -> Recipe {
        let mut recipe = payloads(Recipe::new(&format!("{}-{cross:?}", self.name)), self);
        for (u, images) in self.units.iter().enumerate() {
            let (source, object) = (format!("unit{u}.s"), format!("unit{u}.obj"));
            let data = assembly::data(self, u, images, |i| payload(u, i));
            recipe = assemble(recipe.input(&source, cross.source(&data)), cross.triple(), &source, &object);
        }
        recipe
    }

    fn paths(&self, recipe: &Recipe, ending: &str) -> Vec<PathBuf> {
        (0..self.units.len()).map(|u| recipe.path(&format!("unit{u}.{ending}"))).collect()
    }
}

/// Translates directives to the dialect for COFF: read-only data is `.rdata`, symbols have neither type nor size, and
/// no comment names the compiler.
fn windows(elf: &str) -> String {
    let elf = elf.split(".section .comment").next().unwrap();
    let mut out = String::new();
    for line in elf.lines().filter(|line| !line.starts_with(".type") && !line.starts_with(".size")) {
        let Some(section) = line.strip_prefix(".section ") else {
            out += line;
            out.push('\n');
            continue;
        };
        let (name, flags) = section.split_once(',').unwrap_or((section, ""));
        let name = if name.starts_with(".rodata") || name.starts_with(".data.rel.ro") { ".rdata" } else { name };
        out += &format!(
            ".section {name},\"{}\"\n",
            if flags.starts_with("\"aw") && name != ".rdata" { "dw" } else { "dr" }
        );
    }
    out
}
