//! Which small files of LLVM bitcode name one long thing thousands of times, or a type of a type without an end?
//!
//! Each is read by the program under limits of processor time and memory that a reader which pays for every mention passes.

use super::costly::{TIME_LIMIT, run_bounded};
use super::repeated::words;
use super::support::folder::Folder;

/// Exit codes of files of which something is read.
const READ: &[i32] = &[0, 3];
/// Width of abbreviations in a block.
const WIDTH: u32 = 3;

/// Bits of a stream, lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn fixed(&mut self, value: u64, width: u32) {
        for bit in 0..width {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= u8::from(value >> bit & 1 == 1) << (self.used % 8);
            self.used += 1;
        }
    }

    fn vbr(&mut self, mut value: u64, width: u32) {
        let high = 1 << (width - 1);
        while value >= high {
            self.fixed(value & (high - 1) | high, width);
            value >>= width - 1;
        }
        self.fixed(value, width);
    }

    /// Fills up to a whole word.
    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.used = self.bytes.len() * 8;
    }

    fn record(&mut self, code: u64, operands: &[u64]) -> &mut Self {
        self.fixed(3, WIDTH);
        [code, operands.len() as u64].iter().chain(operands).for_each(|value| self.vbr(*value, 6));
        self
    }

    /// Adds a block within a block.
    fn block(&mut self, id: u64, block: &mut Bits) -> &mut Self {
        self.block_of(WIDTH, id, block)
    }

    fn block_of(&mut self, width: u32, id: u64, block: &mut Bits) -> &mut Self {
        let words = block.ended();
        self.fixed(1, width);
        self.vbr(id, 8);
        self.vbr(WIDTH.into(), 4);
        self.align();
        self.fixed((words.len() / 4) as u64, 32);
        self.bytes.extend(words);
        self.used = self.bytes.len() * 8;
        self
    }

    fn ended(&mut self) -> Vec<u8> {
        let mut whole = Bits { bytes: self.bytes.clone(), used: self.used };
        whole.fixed(0, WIDTH);
        whole.align();
        whole.bytes
    }
}

fn letters(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

/// A file of a module with these types, and what follows them. Names stand in the table of strings.
fn file(types: &mut Bits, rest: impl FnOnce(&mut Bits), names: &str) -> Vec<u8> {
    let mut module = Bits::default();
    module.record(1, &[2]).record(2, &letters("spir64-unknown-unknown")).block(17, types);
    rest(&mut module);
    let mut strings = Bits::default();
    // Abbreviation 4: record 1 with a blob.
    strings.fixed(2, WIDTH);
    strings.vbr(2, 5);
    strings.fixed(1, 1);
    strings.vbr(1, 8);
    strings.fixed(0, 1);
    strings.fixed(5, 3);
    strings.fixed(4, WIDTH);
    strings.vbr(names.len() as u64, 6);
    strings.align();
    strings.bytes.extend(names.bytes());
    strings.align();
    let mut whole = Bits { bytes: vec![b'B', b'C', 0xc0, 0xde], used: 32 };
    whole.block_of(2, 8, &mut module).block_of(2, 23, &mut strings);
    whole.bytes
}

/// A kernel of a function type, with an empty body.
fn kernel(module: &mut Bits, kind: u64) {
    module.record(8, &[0, 1, kind, 76, 0, 0, 0]).block(12, Bits::default().record(1, &[1]).record(10, &[]));
}

/// Reads a file within 192 MiB.
fn reads(bytes: &[u8]) {
    let folder = Folder::new();
    folder.put("m.bc", bytes);
    for verb in ["inspect", "kernels"] {
        run_bounded(&folder, &[verb, "m.bc", "--max-memory", "192MiB"], TIME_LIMIT, READ);
    }
}

/// Modules of LLVM 4 and older, such as CUDA's `libdevice.10.bc`, have no table of strings: symbols give names by numbers of values.
#[test]
fn kernels_of_modules_without_a_table_of_strings() {
    let mut module = Bits::default();
    module.record(1, &[1]).record(2, &letters("spir64-unknown-unknown")).block(17, &mut plain());
    // A variable, a function of others, and a kernel.
    module.record(7, &[0, 0, 0, 0]).record(8, &[1, 0, 1, 0, 0]).record(8, &[1, 76, 0, 0, 0]);
    module.block(12, Bits::default().record(1, &[1]).record(10, &[]));
    let name = |number: &[u64], text: &str| [number, &letters(text)].concat();
    let mut symbols = Bits::default();
    symbols.record(1, &name(&[0], "v")).record(3, &name(&[2, 9], "k")).record(1, &name(&[1], "f"));
    let mut whole = Bits { bytes: vec![b'B', b'C', 0xc0, 0xde], used: 32 };
    whole.block_of(2, 8, module.block(14, &mut symbols));
    let folder = Folder::new();
    folder.put("m.bc", whole.bytes);
    let done = folder.tool(["kernels", "m.bc", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let kernels = told["kernels"].as_array().unwrap();
    assert_eq!(kernels.iter().map(|kernel| kernel["name"].as_str().unwrap()).collect::<Vec<_>>(), ["k"], "{told}");
}

#[test]
fn a_vector_of_itself() {
    let mut types = Bits::default();
    types.record(1, &[3]).record(2, &[]).record(12, &[4, 1]).record(21, &[0, 0, 1]);
    reads(&file(&mut types, |module| kernel(module, 2), "k"));
}

#[test]
fn structures_of_structures() {
    let mut types = Bits::default();
    types.record(1, &[99]).record(7, &[32]);
    (0..31).for_each(|inner| {
        types.record(18, &[0, inner, inner, inner]);
    });
    types.record(2, &[]).record(21, &[0, 32, 31]);
    reads(&file(&mut types, |module| kernel(module, 33), "k"));
}

/// Types of a function without parameters.
fn plain() -> Bits {
    let mut types = Bits::default();
    types.record(1, &[3]).record(2, &[]).record(21, &[0, 0]);
    types
}

#[test]
fn functions_that_share_a_long_name() {
    let name = "x".repeat(1 << 20);
    let functions = |module: &mut Bits| {
        (0..600).for_each(|_| {
            module.record(8, &[0, 1 << 20, 1, 0, 1, 0, 0]);
        })
    };
    reads(&file(&mut plain(), functions, &name));
}

#[test]
fn kernels_that_share_a_long_name() {
    let kernels = |module: &mut Bits| {
        (0..2_000).for_each(|_| {
            module.record(8, &[0, 1 << 20, 1, 76, 0, 0, 0]);
            module.block(12, Bits::default().record(1, &[1]).record(10, &[]));
        });
    };
    let folder = Folder::new();
    folder.put("m.bc", file(&mut plain(), kernels, &"x".repeat(1 << 20)));
    for verb in ["inspect", "kernels"] {
        run_bounded(&folder, &[verb, "m.bc"], TIME_LIMIT, READ);
    }
}

/// An image that requires an aspect, each of whose kernels calls a function that calls another, and so on.
#[test]
fn kernels_that_reach_a_long_chain() {
    const COUNT: u64 = 12_000;
    let functions = |module: &mut Bits| {
        (0..COUNT).for_each(|nth| _ = module.record(8, &[7 * nth, 7, 1, 0, 0, 0, 0]));
        (COUNT..2 * COUNT).for_each(|nth| _ = module.record(8, &[7 * nth, 7, 1, 76, 0, 0, 0]));
        for nth in 0..2 * COUNT {
            let mut body = Bits::default();
            body.record(1, &[1]);
            let callee = if nth < COUNT { nth + 1 } else { 0 };
            if callee != COUNT {
                body.record(34, &[0, 1 << 15, 1, 2 * COUNT - callee]);
            }
            module.block(12, body.record(10, &[]));
        }
    };
    let names: String = (0..2 * COUNT).map(|nth| format!("f{nth:06}")).collect();
    let module = file(&mut plain(), functions, &names);
    let sets = b"[SYCL/device requirements]\naspects=2|gAAAAAAAAAgBAAAA\n";
    let (key, strings) = (b"sycl-property-sets\0", 72 + 24);
    let value = strings + key.len() as u64;
    let image = (value + sets.len() as u64).next_multiple_of(8);
    let size = (image + module.len() as u64).next_multiple_of(8);
    let mut binary = [&[0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0][..], &words(&[size, 32, 1])].concat();
    binary.extend(words(&[2 | 8 << 16, 72, 1, image, module.len() as u64, strings, value, sets.len() as u64]));
    binary.extend([&key[..], sets].concat());
    binary.resize(image as usize, 0);
    binary.extend(module);
    binary.resize(size as usize, 0);
    let folder = Folder::new();
    folder.put("m.bin", binary);
    run_bounded(&folder, &["kernels", "m.bin"], 8, READ);
}

#[test]
fn functions_that_share_a_long_source() {
    let source = [vec![4], letters("sycl-module-id"), vec![0], letters(&"s".repeat(200_000)), vec![0]].concat();
    let group = [vec![1, 0xffff_ffff], source].concat();
    let functions = |module: &mut Bits| {
        module.block(10, Bits::default().record(3, &group)).block(9, Bits::default().record(2, &[1]));
        (0..4000).for_each(|_| {
            module.record(8, &[0, 1, 1, 0, 1, 0, 1]);
        });
    };
    reads(&file(&mut plain(), functions, "k"));
}

#[test]
fn functions_of_a_type_with_many_parameters() {
    let mut types = Bits::default();
    types.record(1, &[3]).record(2, &[]).record(7, &[32]).record(21, &[vec![0, 0], vec![1; 100_000]].concat());
    let functions = |module: &mut Bits| {
        (0..10_000).for_each(|_| {
            module.record(8, &[0, 1, 2, 0, 0, 0, 0]);
        });
        (0..10_000).for_each(|_| {
            module.block(12, Bits::default().record(1, &[1]).record(10, &[]));
        });
    };
    reads(&file(&mut types, functions, "k"));
}

/// A block-info block with abbreviations of one constant for blocks of an id.
fn abbreviations(id: u64, count: usize) -> Bits {
    let mut info = Bits::default();
    info.record(1, &[id]);
    for _ in 0..count {
        info.fixed(2, WIDTH);
        info.vbr(1, 5);
        info.fixed(1, 1);
        info.vbr(1, 8);
    }
    info
}

#[test]
fn blocks_that_share_many_abbreviations() {
    let blocks = |module: &mut Bits| {
        module.block(0, &mut abbreviations(12, 1024));
        (0..100_000).for_each(|_| {
            module.block(12, &mut Bits::default());
        });
    };
    reads(&file(&mut plain(), blocks, "k"));
}

#[test]
fn block_info_within_functions() {
    let blocks = |module: &mut Bits| {
        (0..30_000).for_each(|id| {
            module.block(0, &mut abbreviations(100 + id, 1));
        });
        (0..30_000).for_each(|_| {
            module.block(12, Bits::default().block(0, &mut abbreviations(50, 1)));
        });
    };
    reads(&file(&mut plain(), blocks, "k"));
}

/// Records that are a constant of their abbreviation have three bits each.
#[test]
fn records_of_three_bits() {
    let mut module = Bits::default();
    // Abbreviation 4: the code 99 alone.
    module.fixed(2, WIDTH);
    module.vbr(1, 5);
    module.fixed(1, 1);
    module.vbr(99, 8);
    let blocks = |to: &mut Bits| {
        let mut constants = std::mem::take(&mut module);
        constants.align();
        // Eight of them in three bytes.
        let bits = (0..8).fold(0u32, |bits, nth| bits | 4 << (3 * nth)).to_le_bytes();
        constants.bytes.extend(bits[..3].repeat(10 << 20));
        constants.used = constants.bytes.len() * 8;
        to.block(11, &mut constants);
    };
    reads(&file(&mut plain(), blocks, "k"));
}
