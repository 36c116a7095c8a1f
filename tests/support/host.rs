//! How does a test get a fat binary of exactly the form it wants to see handled?
//!
//! [`Fixture`] says the form and the images; `build` returns the path of what `gcc` (with GNU ld or lld) made of it, from
//! the pack of [`built`](super::built). [`load`] runs or loads such a file (or one
//! rewritten from it) in a process of its own, with a stand-in for libsycl, and returns what that saw.

mod assembly;
mod image;
mod loaded;
pub mod matrix;
mod objects;
mod ours;
mod out;
pub mod samples;
mod toolchain;

use std::path::PathBuf;

pub use image::{Entries, ImageSpec, PropertySpec, SetSpec, Value};
pub use loaded::{Loaded, LoadedImage, fnv1a, load, load_all, load_result};
pub use objects::{Cross, assemble};
pub use ours::view;
pub use out::{LINUX, object, out_images, raw_values};
pub use toolchain::{RUNTIME, runtime};

/// Kind of ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A shared library; `load` opens it.
    Shared,
    /// A position-independent executable.
    Pie,
    /// An executable at fixed addresses: its pointers have no relocations.
    NoPie,
}

/// Linker. GNU ld stores the addends of RELA relocations in place as well, lld stores zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linker {
    /// GNU ld.
    Gnu,
    /// LLVM's lld.
    Lld,
}

/// The form of the relative relocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relocations {
    /// `DT_RELA`.
    Rela,
    /// `DT_RELR`, addends in place.
    Relr,
    /// `DT_REL`, addends in place (lld only; the x86-64 loader of glibc refuses such a file, so it cannot be run).
    Rel,
}

/// Whether the structures are found through symbols that another module may override.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    /// Local symbols, as DPC++ makes them: relative relocations.
    Local,
    /// Exported ones in a shared library: relocations name a symbol, `R_X86_64_64` with an addend.
    Interposable,
}

/// Amount that is removed after linking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// Nothing.
    Nothing,
    /// All symbols that the loader does not need (`strip`).
    Symbols,
    /// The section headers as well (`llvm-objcopy --strip-sections`).
    SectionHeaders,
}

/// The form of one fat binary. Every method sets one thing and returns the rest as it was.
#[derive(Debug, Clone)]
pub struct Fixture {
    name: String,
    kind: Kind,
    linker: Linker,
    relocations: Relocations,
    symbols: Symbols,
    strip: Strip,
    version: u16,
    entries: Entries,
    bind_now: bool,
    relro: bool,
    tgtimg: bool,
    new_driver: bool,
    producer: Option<String>,
    options: Vec<String>,
    source: String,
    units: Vec<Vec<ImageSpec>>,
}

/// The compiler named by the `.comment` of descriptors of version 3, and of older ones.
pub const PRODUCER_2026: &str = "Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0 (2026.0.0.20260331)";
/// See [`PRODUCER_2026`].
pub const PRODUCER_2025: &str = "Intel(R) oneAPI DPC++/C++ Compiler 2025.0.4 (2025.0.4.20241205)";

impl Fixture {
    /// A shared library linked by GNU ld with images of version 3, old entries and local symbols, not stripped,
    /// made by DPC++ 2026; to begin with it has no images.
    pub fn new(name: &str) -> Self {
        Fixture {
            name: name.to_owned(),
            kind: Kind::Shared,
            linker: Linker::Gnu,
            relocations: Relocations::Rela,
            symbols: Symbols::Local,
            strip: Strip::Nothing,
            version: 3,
            entries: Entries::Old,
            bind_now: false,
            relro: true,
            tgtimg: true,
            new_driver: false,
            producer: Some(PRODUCER_2026.to_owned()),
            options: Vec::new(),
            source: String::new(),
            units: Vec::new(),
        }
    }

    /// Library or executable.
    pub fn kind(self, kind: Kind) -> Self {
        Fixture { kind, ..self }
    }

    /// Sets the linker.
    pub fn linker(self, linker: Linker) -> Self {
        Fixture { linker, ..self }
    }

    /// The form of the relative relocations.
    pub fn relocations(self, relocations: Relocations) -> Self {
        Fixture { relocations, ..self }
    }

    /// Local or interposable symbols.
    pub fn symbols(self, symbols: Symbols) -> Self {
        Fixture { symbols, ..self }
    }

    /// Sets what is removed after linking.
    pub fn strip(self, strip: Strip) -> Self {
        Fixture { strip, ..self }
    }

    /// The version of the image structures: 1 or 2 (96 bytes), or 3 (80 bytes). Sets the producer to a compiler
    /// that wrote it, and the runtime needed: libsycl.so.8 or .9.
    pub fn version(self, version: u16) -> Self {
        let producer = if version == 3 { PRODUCER_2026 } else { PRODUCER_2025 };
        Fixture { version, producer: Some(producer.to_owned()), ..self }
    }

    /// Entries of 32 or of 56 bytes.
    pub fn entries(self, entries: Entries) -> Self {
        Fixture { entries, ..self }
    }

    /// `-z now`.
    pub fn bind_now(self, bind_now: bool) -> Self {
        Fixture { bind_now, ..self }
    }

    /// `-z relro` or `-z norelro`.
    pub fn relro(self, relro: bool) -> Self {
        Fixture { relro, ..self }
    }

    /// Whether there is a section `.tgtimg`.
    pub fn tgtimg(self, tgtimg: bool) -> Self {
        Fixture { tgtimg, ..self }
    }

    /// Whether sections of payloads are named by the target alone, as clang-linker-wrapper does.
    pub fn new_driver(self, new_driver: bool) -> Self {
        Fixture { new_driver, ..self }
    }

    /// The compiler named in `.comment`, or none.
    pub fn producer(self, producer: Option<&str>) -> Self {
        Fixture { producer: producer.map(str::to_owned), ..self }
    }

    /// Adds an option for the link, as `gcc` takes it.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// C code that is compiled into the file as well.
    pub fn source(self, source: &str) -> Self {
        Fixture { source: source.to_owned(), ..self }
    }

    /// Adds one translation unit: a descriptor with these images.
    pub fn images(mut self, images: Vec<ImageSpec>) -> Self {
        self.units.push(images);
        self
    }

    /// Compiles and links, unless that was done before, and returns the file.
    pub fn build(&self) -> PathBuf {
        toolchain::build(self)
    }

    /// The images of each unit.
    pub fn units(&self) -> &[Vec<ImageSpec>] {
        &self.units
    }

    /// View of the runtime when the file is loaded, registrations in the order of the units.
    pub fn expected(&self) -> Loaded {
        Loaded::expected(&self.units, self.version, self.entries)
    }

    /// Whether the loader of this machine takes the file: glibc for x86-64 refuses `DT_REL`.
    pub fn loads(&self) -> bool {
        self.relocations != Relocations::Rel
    }

    /// Whether the loader has nothing to relocate in the file's own structures.
    pub fn is_fixed(&self) -> bool {
        self.kind == Kind::NoPie
    }

    /// Whether it is a program.
    pub fn is_executable(&self) -> bool {
        self.kind != Kind::Shared
    }

    /// Whether the file keeps its section headers.
    pub fn has_sections(&self) -> bool {
        self.strip != Strip::SectionHeaders
    }

    /// Whether the relocations of the objects stay in the file.
    pub fn emits_relocations(&self) -> bool {
        self.options.iter().any(|option| option == "-Wl,--emit-relocs")
    }

    fn needed(&self) -> &'static str {
        if self.version == 3 { "libsycl.so.9" } else { "libsycl.so.8" }
    }
}
