//! How does the same unit become an object file, ELF or COFF, or a library for Windows?
//!
//! ELF objects come from `gcc -c` and `ld -r`, COFF objects from `llvm-mc`, which reads the same directives but for
//! the sections, and libraries for Windows from `lld-link`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::toolchain::{gcc, once, run};
use super::{Fixture, assembly, tool};

const WINDOWS: &str = include_str!("../../../fixtures/host/registration-windows.s");

/// The machine of a COFF object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coff {
    /// x86-64, with the code that registers the images.
    X86_64,
    /// arm64, data alone.
    Arm64,
}

impl Coff {
    fn triple(self) -> &'static str {
        match self {
            Coff::X86_64 => "x86_64-pc-windows-msvc",
            Coff::Arm64 => "aarch64-pc-windows-msvc",
        }
    }
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

    /// The COFF object file of each unit.
    pub fn build_coff(&self, coff: Coff) -> Vec<PathBuf> {
        let registration = if coff == Coff::X86_64 { WINDOWS } else { "" };
        let texts: Vec<String> = (0..)
            .zip(&self.units)
            .map(|(u, images)| registration.to_owned() + &windows(&assembly::data(self, u, images, |i| payload(u, i))))
            .collect();
        self.made(coff.triple(), "s", "obj", &texts, &|folder, units| {
            for unit in units {
                let output = format!("{unit}.obj");
                let triple = format!("--triple={}", coff.triple());
                let mut assembler = Command::new(tool("llvm-mc"));
                assembler.current_dir(folder).args([&triple, "--filetype=obj", "-o", &output, &format!("{unit}.s")]);
                run(&mut assembler);
            }
        })
    }

    /// A library for Windows on x86-64 that imports the registration functions from `sycl9.dll` or `sycl8.dll`.
    pub fn build_dll(&self) -> PathBuf {
        let objects = self.build_coff(Coff::X86_64);
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
