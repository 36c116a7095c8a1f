//! What does the compiler's wrapper put into a module for these images?
//!
//! One assembler source per unit: the structures byte by byte, in the sections and under the names that
//! clang-offload-wrapper (or clang-linker-wrapper) uses, after the registration code of `fixtures/host`.

use std::fmt::Write as _;

use super::{Entries, Fixture, ImageSpec, Kind, SetSpec, Symbols, Value};

const REGISTRATION: &str = include_str!("../../../fixtures/host/registration.S");

/// Writes one unit. `payload(i)` is the name of the file with the bytes of image `i`.
pub(super) fn unit(fixture: &Fixture, unit: usize, images: &[ImageSpec], payload: impl Fn(usize) -> String) -> String {
    REGISTRATION.to_owned() + &data(fixture, unit, images, payload)
}

/// Writes the data of one unit, without the code that registers it.
pub(super) fn data(fixture: &Fixture, unit: usize, images: &[ImageSpec], payload: impl Fn(usize) -> String) -> String {
    let mut asm = Assembly { fixture, unit, text: String::new(), strings: 0 };
    for (i, image) in images.iter().enumerate() {
        asm.payload(i, image, &payload(i));
        asm.strings_of(i, image);
        asm.entries(i, image);
        asm.property_sets(i, &image.sets);
    }
    asm.images(images);
    if fixture.tgtimg {
        asm.line(".section .tgtimg,\"awR\",%progbits\n.p2align 4");
        for (i, image) in images.iter().enumerate() {
            let data = asm.symbol(&format!("{i}.data"));
            asm.line(&format!(".quad {data}, {}", image.payload.len()));
        }
    }
    if let Some(producer) = &fixture.producer {
        asm.line(&format!(".section .comment,\"MS\",%progbits,1\n.string {}", quoted(producer.as_bytes())));
    }
    asm.text
}

struct Assembly<'a> {
    fixture: &'a Fixture,
    unit: usize,
    text: String,
    strings: usize,
}

impl Assembly<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn symbol(&self, name: &str) -> String {
        match self.fixture.symbols {
            Symbols::Local => format!(".sycl_offloading.{name}"),
            Symbols::Interposable => format!("sycl_offloading.unit{}.{name}", self.unit),
        }
    }

    /// Begins a structure of a known size in a section; returns its symbol.
    fn begin(&mut self, section: &str, align: u32, name: &str) -> String {
        let symbol = self.symbol(name);
        self.line(&format!("{section}\n.p2align {align}\n.type {symbol}, %object"));
        if self.fixture.symbols == Symbols::Interposable {
            self.line(&format!(".globl {symbol}"));
        }
        self.line(&format!("{symbol}:"));
        symbol
    }

    fn end(&mut self, symbol: &str) {
        self.line(&format!(".size {symbol}, . - {symbol}"));
    }

    /// The section of constant structures that hold addresses.
    fn constants(&self) -> &'static str {
        // Nothing to relocate at fixed addresses, so compilers put such structures among the plain constants.
        if self.fixture.kind == Kind::NoPie { ".section .rodata" } else { ".section .data.rel.ro,\"aw\",%progbits" }
    }

    fn string(&mut self, text: &str) -> String {
        let label = format!(".Lstring{}", self.strings);
        self.strings += 1;
        let text = quoted(text.as_bytes());
        self.line(&format!(".section .rodata.str1.1,\"aMS\",%progbits,1\n{label}:\n.string {text}"));
        label
    }

    fn payload(&mut self, i: usize, image: &ImageSpec, file: &str) {
        let prefix = if self.fixture.new_driver { "" } else { "__CLANG_OFFLOAD_BUNDLE__sycl-" };
        let section = format!(".section \"{prefix}{}\",\"a\",%progbits", image.target);
        let data = self.begin(&section, 4, &format!("{i}.data"));
        self.line(&format!(".incbin \"{file}\""));
        self.end(&data);
    }

    fn strings_of(&mut self, i: usize, image: &ImageSpec) {
        let parts =
            [("target", &image.target), ("opts.compile", &image.compile_options), ("opts.link", &image.link_options)];
        for (name, text) in parts {
            let symbol = self.begin(".section .rodata", 0, &format!("{name}.{i}"));
            self.line(&format!(".string {}", quoted(text.as_bytes())));
            self.end(&symbol);
        }
    }

    fn entries(&mut self, i: usize, image: &ImageSpec) {
        if image.entries.is_empty() {
            return;
        }
        let names: Vec<String> = image.entries.iter().map(|name| self.string(name)).collect();
        let array = self.begin(self.constants(), 4, &format!("entries.{i}"));
        for name in names {
            self.line(&match self.fixture.entries {
                Entries::Old => format!(".quad 0, {name}, 0\n.long 0, 0"),
                Entries::New => format!(".quad 0\n.short 1, 8\n.long 0\n.quad 0, {name}, 0, 0, 0"),
            });
        }
        self.end(&array);
    }

    fn property_sets(&mut self, i: usize, sets: &[SetSpec]) {
        let mut rows = String::new();
        for (s, set) in sets.iter().enumerate() {
            let mut properties = String::new();
            for property in &set.properties {
                let name = self.string(&property.name);
                match &property.value {
                    Value::U32(value) => write!(properties, ".quad {name}, 0\n.long 1, 0\n.quad {value}\n").unwrap(),
                    value => {
                        let raw = value.raw().unwrap();
                        let label = format!(".Lvalue{}", self.strings);
                        self.strings += 1;
                        self.line(&format!(".section .rodata\n.p2align 3\n{label}:"));
                        self.line(&format!(".ascii {}", quoted(&raw)));
                        write!(properties, ".quad {name}, {label}\n.long 2, 0\n.quad {}\n", raw.len()).unwrap();
                    }
                }
            }
            let name = self.string(&set.name);
            let array = self.begin(self.constants(), 4, &format!("properties.{i}.{s}"));
            self.line(&properties);
            self.end(&array);
            let size = set.properties.len() * 32;
            writeln!(rows, ".quad {name}, {array}, {array} + {size}").unwrap();
        }
        if !sets.is_empty() {
            let array = self.begin(self.constants(), 4, &format!("property_sets.{i}"));
            self.line(&rows);
            self.end(&array);
        }
    }

    fn images(&mut self, images: &[ImageSpec]) {
        let array = self.begin(self.constants(), 4, "device_images");
        let entry_size = if self.fixture.entries == Entries::Old { 32 } else { 56 };
        for (i, image) in images.iter().enumerate() {
            self.line(&format!(".short {}\n.byte 4, {}\n.long 0", self.fixture.version, image.format));
            for name in ["target", "opts.compile", "opts.link"] {
                let symbol = self.symbol(&format!("{name}.{i}"));
                self.line(&format!(".quad {symbol}"));
            }
            if self.fixture.version < 3 {
                self.line(".quad 0, 0");
            }
            self.range(&format!("{i}.data"), image.payload.len(), true);
            self.range(&format!("entries.{i}"), image.entries.len() * entry_size, !image.entries.is_empty());
            self.range(&format!("property_sets.{i}"), image.sets.len() * 24, !image.sets.is_empty());
        }
        self.end(&array);
        // The registration code addresses the descriptor directly, so this symbol is local always.
        let section = self.constants();
        self.line(&format!("{section}\n.p2align 4\n.sycl_offloading.descriptor:"));
        self.line(&format!(".short 1, {}\n.long 0\n.quad {array}, 0, 0", images.len()));
    }

    fn range(&mut self, name: &str, size: usize, present: bool) {
        let symbol = self.symbol(name);
        self.line(&if present { format!(".quad {symbol}, {symbol} + {size}") } else { ".quad 0, 0".to_owned() });
    }
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(text, "\\{}", byte as char).unwrap(),
            b' '..=b'~' => text.push(byte as char),
            _ => write!(text, "\\{byte:03o}").unwrap(),
        }
    }
    text + "\""
}
