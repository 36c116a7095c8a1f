//! How does an empty payload of a format look?
//!
//! A table for a target keeps the row of an image that the target cannot run, with properties and entries, and gives it
//! an empty module, so that the device's compiler has nothing to refuse. The empty module is valid for the format's own
//! tools: without functions, for the same machine.

use crate::bundle::format::Format;
use crate::bytes;
use crate::container::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::native::Native;
use crate::spirv::{Words, op};

/// Returns an empty payload of the format of `payload`, which is not compressed.
///
/// | format | empty |
/// |---|---|
/// | SPIR-V | capabilities and memory model, in the same version and byte order |
/// | LLVM bitcode | a module with the triple alone |
/// | PTX | version, target and address size |
/// | ELF of any device | the file header, without sections and segments |
/// | `ar` of `ocloc`, fat binary, bundle of AMD code objects | the container without members |
///
/// # Errors
/// `Input` where the payload is damaged; `Usage` for formats that have no empty form.
pub fn empty(payload: &[u8], format: Format) -> Result<Vec<u8>> {
    match format {
        Format::SpirV => spirv(payload),
        Format::LlvmBitcode => Ok(bitcode(&triple(payload))),
        Format::Ptx => Ok(ptx(payload)),
        Format::Ar => Ok(b"!<arch>\n".to_vec()),
        Format::Fatbin => fatbin(payload),
        Format::Hsaco if !payload.starts_with(b"\x7fELF") => Ok([&BUNDLE[..], &0u64.to_le_bytes()].concat()),
        Format::Elf | Format::Zebin | Format::PatchTokens | Format::Cubin | Format::Hsaco => elf(payload),
        Format::Pocl | Format::NativeCpu | Format::Unknown => {
            let error = Error::new(ErrorKind::Usage, format!("there is no empty module of format {}", format.name()));
            Err(error.with_remedy("leave the image out, with --image or --target"))
        }
    }
}

/// Magic of a clang offload bundle, which AMD code objects come in.
const BUNDLE: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Returns an empty SPIR-V module with the capabilities `Addresses`, `Linkage` (required without entry points) and
/// `Kernel`. The memory model is that of the module, where it is one of OpenCL.
fn spirv(payload: &[u8]) -> Result<Vec<u8>> {
    const OP_CAPABILITY: u32 = 2 << 16 | 17;
    const OP_MEMORY_MODEL: u32 = 3 << 16 | 14;
    const PHYSICAL: [u32; 2] = [1, 2];
    const OPENCL: u32 = 2;
    let words = Words::new(payload)?;
    let declared = words.instructions().flatten().find(|instruction| instruction.opcode == op::MEMORY_MODEL);
    let addressing = declared.map(|instruction| instruction.word(0)).filter(|model| PHYSICAL.contains(model));
    let header = [crate::spirv::MAGIC, words.header(1), words.header(2), 1, 0];
    let body = [OP_CAPABILITY, 4, OP_CAPABILITY, 5, OP_CAPABILITY, 6, OP_MEMORY_MODEL, addressing.unwrap_or(2), OPENCL];
    let little = payload.starts_with(&crate::spirv::MAGIC.to_le_bytes());
    let bytes = |word: &u32| if little { word.to_le_bytes() } else { word.to_be_bytes() };
    Ok(header.iter().chain(&body).flat_map(bytes).collect())
}

/// Returns the triple of a bitcode module; empty where it has none.
fn triple(payload: &[u8]) -> String {
    let native = Native::read(payload, Format::LlvmBitcode, Place::file(0));
    native.and_then(|native| native.parts.into_iter().next()).map(|part| part.stated).unwrap_or_default()
}

/// Writer of an LLVM bitstream, lowest bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn fixed(&mut self, value: u64, width: u32) {
        for bit in 0..width {
            let set = u8::from(value.checked_shr(bit).is_some_and(|rest| rest & 1 == 1));
            match self.bytes.last_mut().filter(|_| !self.used.is_multiple_of(8)) {
                Some(last) => *last |= set << (self.used % 8),
                None => self.bytes.push(set),
            }
            self.used = self.used.wrapping_add(1);
        }
    }

    /// Writes a number in groups of `width` bits; the highest bit of each says whether another follows.
    fn variable(&mut self, mut value: u64, width: u32) {
        let group = width.saturating_sub(1);
        while value >> group != 0 {
            self.fixed(value & ((1 << group) - 1) | 1 << group, width);
            value >>= group;
        }
        self.fixed(value, width);
    }

    fn record(&mut self, abbreviation_width: u32, code: u64, operands: impl ExactSizeIterator<Item = u64>) {
        const UNABBREVIATED: u64 = 3;
        self.fixed(UNABBREVIATED, abbreviation_width);
        self.variable(code, 6);
        self.variable(operands.len() as u64, 6);
        operands.for_each(|operand| self.variable(operand, 6));
    }

    fn align(&mut self) {
        self.fixed(0, self.used.wrapping_neg() % 32);
    }
}

/// Returns a module block with version and triple. The numbers are those of `llvm/Bitcode/LLVMBitCodes.h` and
/// `llvm/Bitstream/BitCodeEnums.h`.
fn bitcode(triple: &str) -> Vec<u8> {
    const MODULE: u64 = 8;
    const WIDTH: u32 = 3;
    let mut inner = Bits::default();
    inner.record(WIDTH, 1, [1].into_iter());
    if !triple.is_empty() {
        inner.record(WIDTH, 2, triple.bytes().map(u64::from).collect::<Vec<_>>().into_iter());
    }
    inner.fixed(0, WIDTH);
    inner.align();
    let mut outer = Bits { bytes: vec![b'B', b'C', 0xc0, 0xde], used: 32 };
    outer.fixed(1, 2);
    outer.variable(MODULE, 8);
    outer.variable(WIDTH.into(), 4);
    outer.align();
    let words = (inner.bytes.len() / 4) as u64;
    outer.fixed(words, 32);
    outer.bytes.extend(inner.bytes);
    outer.bytes
}

/// Returns the directives that every PTX module begins with, with their plain operands and nothing that stands behind them on
/// their lines.
fn ptx(payload: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(payload);
    let directive = |wanted: &str| {
        let line = text.lines().map(str::trim_start).find(|line| line.split_whitespace().next() == Some(wanted))?;
        let mut operands: Vec<&str> = Vec::new();
        let words = line.strip_prefix(wanted)?.split(|letter: char| letter == ',' || letter.is_whitespace());
        for word in words.filter(|word| !word.is_empty()) {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
            let plain = word.split(|letter| !is_plain(letter)).next().unwrap_or_default();
            if plain.is_empty() || plain.starts_with('.') {
                break;
            }
            operands.push(plain);
            if plain.len() < word.len() {
                break;
            }
        }
        Some(format!("{wanted} {}\n", operands.join(", ")))
    };
    [".version", ".target", ".address_size"].into_iter().filter_map(directive).collect::<String>().into_bytes()
}

/// Returns the header of a fat binary without entries.
fn fatbin(payload: &[u8]) -> Result<Vec<u8>> {
    let header = bytes::u16_at(payload, 6).map_or(16, usize::from);
    let mut header = bytes::slice_at(payload, 0, header.max(16)).ok_or_else(cut)?.to_vec();
    if let Some(size) = header.get_mut(8..16) {
        size.fill(0);
    }
    Ok(header)
}

/// Returns the file header without program headers, sections and entry point.
fn elf(payload: &[u8]) -> Result<Vec<u8>> {
    // Fields of the 64-bit and the 32-bit header that become 0: entry point and tables; counts and the index of section
    // names.
    let (len, zeroed): (usize, [std::ops::Range<usize>; 2]) = match payload.get(4) {
        Some(2) => (64, [24..48, 54..64]),
        Some(1) => (52, [24..36, 42..52]),
        _ => return Err(cut()),
    };
    let mut header = bytes::slice_at(payload, 0, len).ok_or_else(cut)?.to_vec();
    for range in zeroed {
        if let Some(field) = header.get_mut(range) {
            field.fill(0);
        }
    }
    Ok(header)
}

fn cut() -> Error {
    Error::input("the payload is cut short within its header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_keep_version_byte_order_and_addressing() {
        let words = [0x0723_0203u32, 0x0001_0400, 0x0006_000e, 9, 0, 2 << 16 | 17, 6, 3 << 16 | 14, 1, 2];
        let expected = [
            0x0723_0203u32,
            0x0001_0400,
            0x0006_000e,
            1,
            0,
            2 << 16 | 17,
            4,
            2 << 16 | 17,
            5,
            2 << 16 | 17,
            6,
            3 << 16 | 14,
            1,
            2,
        ];
        let little = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let big = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(empty(&little(&words), Format::SpirV).unwrap(), little(&expected));
        assert_eq!(empty(&big(&words), Format::SpirV).unwrap(), big(&expected));
        assert!(empty(&little(&words[..3]), Format::SpirV).is_err());
    }

    #[test]
    fn bitcode_is_read_back() {
        let module = bitcode("spir64-unknown-unknown");
        assert_eq!(module.len() % 4, 0);
        assert_eq!(triple(&module), "spir64-unknown-unknown");
        let native = Native::read(&module, Format::LlvmBitcode, Place::file(0)).unwrap();
        assert!(native.problems.is_empty() && native.kernel_names().is_empty());
    }

    #[test]
    fn what_has_no_empty_form_is_refused() {
        assert_eq!(empty(b"?", Format::Unknown).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(empty(b"\x7fELF\x02", Format::Elf).unwrap_err().kind(), ErrorKind::Input);
        assert_eq!(empty(b"\x50\xed\x55\xba", Format::Fatbin).unwrap_err().kind(), ErrorKind::Input);
    }

    #[test]
    fn empty_code_objects_are_read_without_a_problem() {
        let header = |kind: u16, machine: u16| {
            let mut elf = vec![0; 64];
            assert!(bytes::put(&mut elf, 0, b"\x7fELF\x02\x01\x01"));
            assert!(bytes::put(&mut elf, 16, &kind.to_le_bytes()) && bytes::put(&mut elf, 18, &machine.to_le_bytes()));
            assert!(bytes::put(&mut elf, 20, &[1]) && bytes::put(&mut elf, 52, &[64, 0, 56, 0, 0, 0, 64]));
            elf
        };
        for (payload, format) in [(header(0xff04, 0), Format::PatchTokens), (header(3, 224), Format::Hsaco)] {
            let module = empty(&payload, format).unwrap();
            let native = Native::read(&module, format, Place::file(0)).unwrap();
            assert!(native.problems.is_empty() && native.kernel_names().is_empty(), "{:?}", native.problems);
        }
    }

    #[test]
    fn text_and_containers_keep_what_says_for_whom_they_are() {
        let text = b"// made by\n.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
        assert_eq!(empty(text, Format::Ptx).unwrap(), b".version 7.8\n.target sm_80\n.address_size 64\n");
        assert_eq!(empty(b"!<arch>\nmembers", Format::Ar).unwrap(), b"!<arch>\n");
    }
}
