//! How does the same unit become an object file, ELF or COFF, or a library for Windows?
//!
//! ELF objects come from `gcc -c` and `ld -r`, those for other machines and COFF ones from `llvm-mc`, which reads the
//! same directives but for the sections of COFF, and libraries for Windows from `lld-link`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::toolchain::{gcc, once, run};
use super::{Fixture, assembly, tool};

const WINDOWS: &str = include_str!("../../../fixtures/host/registration-windows.s");

/// What an object is for that is not for this machine.
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

/// Assembles a source for another machine, or for this one where no `gcc` is needed.
pub fn assemble(folder: &Path, triple: &str, source: &str, output: &str) {
    let mut assembler = Command::new(tool("llvm-mc"));
    assembler.current_dir(folder).arg(format!("--triple={triple}")).args(["--filetype=obj", "-o", output, source]);
    run(&mut assembler);
}

impl Fixture {
    /// The object file of each unit, as `gcc -c` makes them for this machine.
    pub fn build_objects(&self) -> Vec<PathBuf> {
        self.elf(&|folder, units| {
            units
                .iter()
                .for_each(|unit| run(gcc(folder).args(["-c", &format!("{unit}.S"), "-o", &format!("{unit}.o")])));
        })
    }

    /// One object file of all units, partially linked by `ld -r`.
    pub fn build_partially_linked(&self) -> PathBuf {
        let objects = self.build_objects();
        let key = format!("partially linked {objects:?}");
        once(&[key.as_bytes()], "all.o", |folder| {
            run(Command::new(tool("ld")).args(["-r", "-o"]).arg(folder.join("all.o")).args(&objects));
        })
    }

    fn elf(&self, make: &dyn Fn(&Path, &[String])) -> Vec<PathBuf> {
        let texts: Vec<String> =
            (0..).zip(&self.units).map(|(u, images)| assembly::unit(self, u, images, |i| payload(u, i))).collect();
        self.made("elf objects", "S", "o", &texts, make)
    }

    /// The object file of each unit for something else than this machine.
    pub fn build_cross(&self, cross: Cross) -> Vec<PathBuf> {
        let texts: Vec<String> = (0..)
            .zip(&self.units)
            .map(|(u, images)| cross.source(&assembly::data(self, u, images, |i| payload(u, i))))
            .collect();
        self.made(&format!("{cross:?}"), "s", "obj", &texts, &|folder, units| {
            for unit in units {
                assemble(folder, cross.triple(), &format!("{unit}.s"), &format!("{unit}.obj"));
            }
        })
    }

    /// A library for Windows on x86-64 that imports the registration functions from `sycl9.dll` or `sycl8.dll`.
    pub fn build_dll(&self) -> PathBuf {
        let objects = self.build_cross(Cross::WindowsX86_64);
        let runtime = if self.version == 3 { "sycl9" } else { "sycl8" };
        let name = format!("{}.dll", self.name);
        let key = format!("dll {runtime} {objects:?}");
        once(&[key.as_bytes()], &name, |folder| {
            let exports = format!("LIBRARY {runtime}.dll\nEXPORTS\n__sycl_register_lib\n__sycl_unregister_lib\n");
            std::fs::write(folder.join("runtime.def"), exports).unwrap();
            let mut import = Command::new(tool("llvm-dlltool"));
            run(import.current_dir(folder).args(["-m", "i386:x86-64", "-d", "runtime.def", "-l", "runtime.lib"]));
            let mut link = Command::new(tool("lld-link"));
            link.current_dir(folder).args(["/dll", "/noentry", "/nodefaultlib", "/Brepro", &format!("/out:{name}")]);
            run(link.args(&objects).arg("runtime.lib"));
        })
    }

    /// Writes the sources and payloads and lets `make` make `unit0.o` and so on.
    fn made(
        &self,
        what: &str,
        source: &str,
        output: &str,
        texts: &[String],
        make: &dyn Fn(&Path, &[String]),
    ) -> Vec<PathBuf> {
        let units: Vec<String> = (0..texts.len()).map(|u| format!("unit{u}")).collect();
        let spec = format!("{what} {self:?}");
        let first = once(&[spec.as_bytes(), texts.concat().as_bytes()], &format!("unit0.{output}"), |folder| {
            for (u, images) in self.units.iter().enumerate() {
                for (i, image) in images.iter().enumerate() {
                    std::fs::write(folder.join(payload(u, i)), &image.payload).unwrap();
                }
                std::fs::write(folder.join(format!("unit{u}.{source}")), &texts[u]).unwrap();
            }
            make(folder, &units);
        });
        units.iter().map(|unit| first.with_file_name(format!("{unit}.{output}"))).collect()
    }
}

fn payload(unit: usize, image: usize) -> String {
    format!("unit{unit}-{image}.bin")
}

/// The same directives in the dialect for COFF: read-only data is `.rdata`, symbols have neither type nor size, and
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
