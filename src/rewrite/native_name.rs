//! How is the kernel of native code renamed so that the bytes are those the compiler would have written?
//!
//! Code for CPUs: a binary of Intel's OpenCL CPU driver is an ELF file of type 0xff04 with four sections. Three of them hold the
//! kernel's name: `.ocl.meta`, after the name's length, once per list of kernels and, where the whole kernel was
//! vectorized, once more behind the signature (`_ZGVdN8uuuuuuu_` and the name, vector function ABI); the string table
//! of the object file `.ocl.obj`; and the string table of the bitcode `.ocl.ir`. A name of equal length replaces it
//! byte by byte, and nothing else changes: from two modules that differ in such a name the driver 2026.2 makes two
//! binaries that differ in just these bytes (tests/real/fold.rs compiles both).
//!
//! A binary is refused where a match may be more than the name: unknown sections or version, debug information, another
//! place that holds the name, bitcode that packs it into six, seven or eight bits off the byte boundaries. Names of
//! another length are refused, since they would move the bits of the bitcode, and names that end differently, since the
//! string table of the object is sorted from the ends of its strings.
//!
//! Code for Intel GPUs (zebin): the name stands in `.ze_info` and in the string table alone. Behind the kernel's last instruction IGC writes a hash of
//! the module into two instructions, 16 bytes apart, the upper half first, so the hash of the renamed module replaces it
//! (`ShaderHashOCL` of intel/intel-graphics-compiler). From two modules that differ in such a name ocloc 26.27 makes two
//! binaries that differ in just these bytes (tests/real/fold.rs compiles both).

use crate::bundle::format::Format;
use crate::bytes;
use crate::container::address::{find, find_all};
use crate::container::device_elf::{DeviceElf, EM_X86_64, c_string};
use crate::device::cpu::CpuArch;
use crate::native::bitcode;

/// Minimum length of a name; shorter ones may occur by chance.
pub(crate) const SHORTEST: usize = 16;
/// Number of bytes at the end of a name that must stay: mostly enough to keep its position among sorted strings.
pub(crate) const TAIL: usize = 1;
/// Contents of `.ocl.ver` of the drivers whose binaries were compared.
const VERSION: [u8; 4] = 23u32.to_le_bytes();
/// `e_type` of object files.
const RELOCATABLE: u16 = 1;

/// Reason why a binary cannot be renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RenameError {
    /// The names are no identifiers, too short, or differ in length or ending.
    Names,
    /// The container has an unknown form or version.
    Form,
    /// The binary has debug information.
    Debug,
    /// The name occurs where it cannot be replaced.
    Elsewhere,
    /// The driver would sort its strings differently.
    Order,
}

impl RenameError {
    /// Returns the reason as the end of a sentence.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            RenameError::Names => "the names of their kernels are short, or differ in length or in how they end",
            RenameError::Form => "the compiler's native code is not of the form that is known",
            RenameError::Debug => "the native code holds debug information, which holds names",
            RenameError::Elsewhere => "the native code holds the kernel's name where it cannot be replaced",
            RenameError::Order => "the native code sorts its strings by the kernel's name",
        }
    }
}

/// Whether a name can be replaced.
pub(crate) fn replaceable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte == b'.';
    name.len() >= SHORTEST && name.bytes().all(plain)
}

/// Returns the name under which the code of many kernels is cached: as long as theirs, with the same end.
pub fn shared_name(name: &str) -> String {
    let kept = name.len().saturating_sub(TAIL);
    let filler = "sycl_bundle_kernel_".chars().cycle().take(kept);
    filler.chain(name.chars().skip(kept)).collect()
}

/// A kernel, by all that its native code tells of it and its module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    name: String,
    /// Hash of the module, which stands in code for Intel GPUs.
    module_hash: u64,
}

impl Identity {
    /// The kernel of a module that has `name` at an offset, in place of a name of that length.
    pub(crate) fn new(module: &[u8], at: usize, name: &str) -> Identity {
        let end = at.saturating_add(name.len());
        let parts = [module.get(..at), Some(name.as_bytes()), module.get(end..)];
        let whole: Vec<u8> = parts.into_iter().flatten().flatten().copied().collect();
        let words = whole.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        Identity { name: name.to_owned(), module_hash: module_hash(words) }
    }

    /// The upper and the lower half of the hash, as they stand in code.
    fn hash_halves(&self) -> ([u8; 4], [u8; 4]) {
        let [a, b, c, d, e, f, g, h] = self.module_hash.to_le_bytes();
        ([e, f, g, h], [a, b, c, d])
    }
}

/// Returns the binary, for a CPU or an Intel GPU, with the kernel `from` renamed to `to`.
///
/// # Errors
/// The reason why the binary cannot be renamed.
pub(crate) fn rename_kernel(binary: &[u8], from: &Identity, to: &Identity) -> Result<Vec<u8>, RenameError> {
    if Format::sniff(binary) != Format::Zebin {
        return rename(binary, &from.name, &to.name);
    }
    if !replaceable(&from.name) || !replaceable(&to.name) || from.name.len() != to.name.len() {
        return Err(RenameError::Names);
    }
    rename_in_zebin(binary, from, to)
}

/// Returns the binary with the kernel `from` renamed to `to`.
///
/// # Errors
/// The reason why the binary cannot be renamed.
pub fn rename(binary: &[u8], from: &str, to: &str) -> Result<Vec<u8>, RenameError> {
    let tail = |name: &str| name.len().checked_sub(TAIL).and_then(|at| name.get(at..)).map(str::to_owned);
    if !replaceable(from) || !replaceable(to) || from.len() != to.len() || tail(from) != tail(to) {
        return Err(RenameError::Names);
    }
    let sections = Sections::find(binary).ok_or(RenameError::Form)?;
    let places = find_all(binary, from.as_bytes());
    let inside = |data: &[u8]| find_all(data, from.as_bytes()).len();
    let known = [sections.meta, sections.object, sections.code].map(inside);
    if known.iter().sum::<usize>() != places.len() {
        return Err(RenameError::Elsewhere);
    }
    check_metadata(sections.meta, from)?;
    check_object(sections.object, from, to)?;
    check_bitcode(sections.code, from)?;
    // The result must be renameable back: if the new name occurred elsewhere, it could not be replaced again.
    if from != to && find(binary, to.as_bytes()).is_some() {
        return Err(RenameError::Elsewhere);
    }
    let mut renamed = binary.to_vec();
    for at in places {
        let end = at.saturating_add(to.len());
        renamed.get_mut(at..end).ok_or(RenameError::Form)?.copy_from_slice(to.as_bytes());
    }
    Ok(renamed)
}

/// Sections of a container.
struct Sections<'b> {
    meta: &'b [u8],
    object: &'b [u8],
    code: &'b [u8],
}

impl<'b> Sections<'b> {
    /// Returns the sections, or none unless the container has exactly these, each once, without overlap.
    fn find(binary: &'b [u8]) -> Option<Sections<'b>> {
        CpuArch::of_binary(binary)?;
        let elf = DeviceElf::parse(binary).ok()?;
        let mut names: Vec<&str> = elf.sections.iter().map(|section| section.name).collect();
        names.sort_unstable();
        if names != ["", "", ".ocl.ir", ".ocl.meta", ".ocl.obj", ".ocl.ver"] {
            return None;
        }
        let mut extents: Vec<(u64, u64)> =
            elf.sections.iter().map(|section| (section.offset, section.offset.saturating_add(section.size))).collect();
        extents.sort_unstable();
        let apart = extents.windows(2).all(|pair| matches!(pair, [(_, end), (start, _)] if end <= start));
        let data = |name| elf.section(name).map(|section| section.data);
        (apart && data(".ocl.ver")? == VERSION).then_some(Sections {
            meta: data(".ocl.meta")?,
            object: data(".ocl.obj")?,
            code: data(".ocl.ir")?,
        })
    }
}

/// Maximum length of a vector function's signature.
const SIGNATURE: usize = 96;

/// Checks the names in the driver's metadata, where a text follows its length (32 bits) and precedes a NUL.
fn check_metadata(meta: &[u8], name: &str) -> Result<(), RenameError> {
    let places = find_all(meta, name.as_bytes());
    let whole = |at: &usize| {
        let end = at.saturating_add(name.len());
        let begins = |start: usize| {
            let stated = start.checked_sub(4).and_then(|at| bytes::u32_at(meta, at));
            stated.is_some_and(|stated| Some(stated as usize) == end.saturating_add(1).checked_sub(start))
        };
        let before = meta.get(at.saturating_sub(SIGNATURE)..*at).unwrap_or_default();
        let begin = before.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        let signature = before.get(begin.map_or(0, |begin| begin.saturating_add(1))..).unwrap_or_default();
        let vector = signature.starts_with(b"_ZGV") && signature.ends_with(b"_");
        let vectorized = vector && at.checked_sub(signature.len()).is_some_and(begins);
        meta.get(end) == Some(&0) && (begins(*at) || vectorized)
    };
    if places.is_empty() || !places.iter().all(whole) { Err(RenameError::Elsewhere) } else { Ok(()) }
}

/// Checks the object file: the name is one whole string, that of one function, in sorted order with the others.
fn check_object(data: &[u8], from: &str, to: &str) -> Result<(), RenameError> {
    let elf = DeviceElf::parse(data).map_err(|_| RenameError::Form)?;
    if elf.kind != RELOCATABLE || elf.machine != EM_X86_64 {
        return Err(RenameError::Form);
    }
    let symbols = elf.symbols().map_err(|_| RenameError::Form)?;
    let tables: Vec<_> = elf.sections.iter().filter(|section| section.kind == 2).collect();
    let [table] = tables.as_slice() else { return Err(RenameError::Form) };
    let strings = elf.sections.get(table.link as usize).map(|section| section.data).ok_or(RenameError::Form)?;
    let is_debug = |name: &str| name.starts_with(".debug") || name.starts_with(".zdebug") || name == ".stab";
    if elf.sections.iter().any(|section| is_debug(section.name)) {
        return Err(RenameError::Debug);
    }
    let places = find_all(data, from.as_bytes());
    let within = find_all(strings, from.as_bytes());
    let ([_], [at]) = (places.as_slice(), within.as_slice()) else { return Err(RenameError::Elsewhere) };
    let before = at.checked_sub(1).and_then(|at| strings.get(at));
    if before != Some(&0) || c_string(strings, *at as u64) != Some(from) {
        return Err(RenameError::Elsewhere);
    }
    let named: Vec<_> = symbols.iter().filter(|symbol| symbol.name == from).collect();
    if !matches!(named.as_slice(), [symbol] if symbol.is_global_function()) {
        return Err(RenameError::Elsewhere);
    }
    // Strings may share their ends and are sorted by them; the order must be the same with both names.
    let others = symbols.iter().map(|symbol| symbol.name).chain(elf.sections.iter().map(|section| section.name));
    for other in others.filter(|other| !other.is_empty() && *other != from) {
        let shares = |name: &str| name.ends_with(other) || other.ends_with(name);
        let order = |name: &str| name.bytes().rev().cmp(other.bytes().rev());
        if shares(from) || shares(to) || order(from) != order(to) {
            return Err(RenameError::Order);
        }
    }
    Ok(())
}

/// Checks the bitcode: the name is that of its only kernel, and occurs only in the string table.
fn check_bitcode(data: &[u8], name: &str) -> Result<(), RenameError> {
    if data.get(..4) != Some(b"BC\xc0\xde") {
        return Err(RenameError::Form);
    }
    let (kernels, strings) = bitcode::kernels_and_strings(data).ok_or(RenameError::Form)?;
    if kernels != [name] {
        return Err(RenameError::Form);
    }
    let wanted = name.as_bytes();
    if find_all(data, wanted).len() != find_all(strings, wanted).len() || contains_packed(data, wanted) {
        return Err(RenameError::Elsewhere);
    }
    Ok(())
}

/// Whether a bitstream contains the beginning of a name off its byte boundaries, or in characters of six or seven bits.
fn contains_packed(data: &[u8], name: &[u8]) -> bool {
    let six = |byte: u8| match byte {
        b'a'..=b'z' => Some(byte.wrapping_sub(b'a')),
        b'A'..=b'Z' => Some(byte.wrapping_sub(b'A').wrapping_add(26)),
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0').wrapping_add(52)),
        b'.' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let pack = |bits: u32, letter: &dyn Fn(u8) -> Option<u8>| -> Option<(u64, u64)> {
        let (mut value, mut at) = (0u64, 0u32);
        // At any bit of eight bytes, 56 bits can be read.
        for byte in name.iter().take((56 / bits) as usize) {
            value |= u64::from(letter(*byte)?) << at;
            at = at.saturating_add(bits);
        }
        Some((value, (1u64 << at).wrapping_sub(1)))
    };
    let forms = [pack(6, &six), pack(7, &Some), pack(8, &Some)];
    let [short, letters, whole] = forms.map(|form| form.unwrap_or((1, 0)));
    data.windows(8).any(|window| {
        let bits = window.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        (0..8u32).any(|shift| {
            let here = bits >> shift;
            let is = |(value, mask): (u64, u64)| here & mask == value;
            is(short) || is(letters) || (shift > 0 && is(whole))
        })
    })
}

/// Bytes from one half of the hash to the other: one instruction.
const HALVES_APART: usize = 16;

/// Sections that are known to hold no name.
const WITHOUT_NAME: [&str; 8] = [
    "",
    ".symtab",
    ".misc.buildOptions",
    ".data.const",
    ".data.global",
    ".data.const.string",
    ".note.intelgt.metrics",
    ".note.intelgt.compat",
];

/// Returns the binary with its one kernel renamed.
///
/// # Errors
/// The reason why the binary cannot be renamed.
fn rename_in_zebin(binary: &[u8], from: &Identity, to: &Identity) -> Result<Vec<u8>, RenameError> {
    let elf = DeviceElf::parse(binary).map_err(|_| RenameError::Form)?;
    let text = format!(".text.{}", from.name);
    let named = [".rel", ".rela"].map(|prefix| format!("{prefix}{text}"));
    let (mut inside, mut code) = (0usize, None);
    for section in &elf.sections {
        match section.name {
            ".ze_info" | ".strtab" => {
                inside = inside.saturating_add(find_all(section.data, from.name.as_bytes()).len());
            }
            name if name == text => code = Some((section.offset, section.data)),
            name if named.iter().any(|own| own == name) || WITHOUT_NAME.contains(&name) => {}
            name if name.starts_with(".debug") => return Err(RenameError::Debug),
            _ => return Err(RenameError::Form),
        }
    }
    let places = find_all(binary, from.name.as_bytes());
    // The result must be renameable back: if the new name occurred elsewhere, it could not be replaced again.
    if inside != places.len() || from.name != to.name && find(binary, to.name.as_bytes()).is_some() {
        return Err(RenameError::Elsewhere);
    }
    let (start, code) = code.ok_or(RenameError::Form)?;
    let start = usize::try_from(start).map_err(|_| RenameError::Form)?;
    let (upper, lower) = from.hash_halves();
    let is_hash = |at: &usize| bytes::slice_at(code, at.saturating_add(HALVES_APART), 4) == Some(&lower);
    let hashes: Vec<usize> = find_all(code, &upper).into_iter().filter(is_hash).collect();
    if hashes.is_empty() {
        return Err(RenameError::Form);
    }
    let mut renamed = binary.to_vec();
    let mut put = |at: usize, bytes: &[u8]| {
        let place = renamed.get_mut(at..at.saturating_add(bytes.len()));
        place.map(|place| place.copy_from_slice(bytes)).ok_or(RenameError::Form)
    };
    for at in places {
        put(at, to.name.as_bytes())?;
    }
    let (upper, lower) = to.hash_halves();
    for at in hashes {
        put(start.saturating_add(at), &upper)?;
        put(start.saturating_add(at).saturating_add(HALVES_APART), &lower)?;
    }
    Ok(renamed)
}

/// Computes the hash of a module that IGC writes into code: each word mixed into 96 bits, of which 64 are the result
/// (`iSTD::Hash`, Bob Jenkins' mixing).
fn module_hash(words: impl Iterator<Item = u32>) -> u64 {
    let (mut a, mut upper, mut lower) = (0x428a_2f98u32, 0x7137_4491u32, 0xb5c0_fbcfu32);
    let mix = |one: &mut u32, other: u32, third: u32, shifted: fn(u32) -> u32| {
        *one = one.wrapping_sub(other).wrapping_sub(third) ^ shifted(third);
    };
    for word in words {
        a ^= word;
        mix(&mut a, upper, lower, |third| third >> 13);
        mix(&mut upper, lower, a, |third| third << 8);
        mix(&mut lower, a, upper, |third| third >> 13);
        mix(&mut a, upper, lower, |third| third >> 12);
        mix(&mut upper, lower, a, |third| third << 16);
        mix(&mut lower, a, upper, |third| third >> 5);
        mix(&mut a, upper, lower, |third| third >> 3);
        mix(&mut upper, lower, a, |third| third << 10);
        mix(&mut lower, a, upper, |third| third >> 15);
    }
    u64::from(upper) << 32 | u64::from(lower)
}

#[cfg(test)]
mod zebin_tests {
    use super::{rename_kernel, *};

    const FROM: &str = "_ZTSN5first6kernelEE";
    const TO: &str = "_ZTSN5other6kernelE_";

    #[test]
    fn the_hash_is_that_of_the_compiler() {
        // The module of tests/real/fold.rs tries more: this is what no words, one word and two come to.
        assert_eq!(module_hash([].into_iter()), 0x7137_4491_b5c0_fbcf);
        assert_ne!(module_hash([1].into_iter()), module_hash([1, 0].into_iter()));
    }

    /// A section: name, type, contents.
    type Section = (String, u32, Vec<u8>);

    fn binary(kernel: &Identity, more: Option<&str>) -> Vec<u8> {
        let (upper, lower) = kernel.hash_halves();
        let mut code = vec![7u8; 64];
        code.extend([&[0x61, 0, 0x10, 0x80, 0x20, 0x42, 1, 0, 0, 0, 0, 0][..], &upper].concat());
        code.extend([&[0x61, 0, 0x10, 0x80, 0x20, 0x42, 1, 0, 0, 0, 0, 0][..], &lower].concat());
        let name = &kernel.name;
        let info =
            format!("---\nversion: '1.73'\nkernels:\n  - name: {name}\n    execution_env:\n      simd_size: 32\n...\n");
        let mut sections: Vec<Section> =
            vec![(format!(".text.{name}"), 1, code), (".ze_info".to_owned(), 0xff00_0011, info.into_bytes())];
        sections.extend(more.map(|more| (more.to_owned(), 1, name.as_bytes().to_vec())));
        sections.push((".strtab".to_owned(), 3, Vec::new()));
        let mut strings = vec![0u8];
        let places: Vec<usize> = sections
            .iter()
            .map(|(name, ..)| {
                let at = strings.len();
                strings.extend(name.bytes().chain([0]));
                at
            })
            .collect();
        sections.last_mut().expect("there is one").2 = strings;
        let mut out = b"\x7fELF\x02\x01\x01".to_vec();
        out.resize(16, 0);
        out.extend([1u16, 205].iter().flat_map(|half| half.to_le_bytes()));
        out.extend(1u32.to_le_bytes());
        let data: usize = sections.iter().map(|(.., data)| data.len()).sum();
        for word in [0, 0, 64 + data as u64] {
            out.extend(word.to_le_bytes());
        }
        out.extend(0u32.to_le_bytes());
        let count = sections.len() as u16 + 1;
        out.extend([64u16, 0, 0, 64, count, count - 1].iter().flat_map(|half| half.to_le_bytes()));
        let mut headers = vec![0u8; 64];
        for ((_, kind, data), place) in sections.iter().zip(places) {
            headers.extend((place as u32).to_le_bytes());
            headers.extend(kind.to_le_bytes());
            for word in [0, 0, out.len() as u64, data.len() as u64, 0, 1, 0] {
                headers.extend(word.to_le_bytes());
            }
            out.extend(data);
        }
        out.extend(headers);
        out
    }

    #[test]
    fn name_and_hash_are_replaced_and_nothing_else() {
        let module = [b"wordwordword", FROM.as_bytes()].concat();
        let [from, to] = [FROM, TO].map(|name| Identity::new(&module, 12, name));
        assert_ne!(from.module_hash, to.module_hash);
        assert_eq!(rename_kernel(&binary(&from, None), &from, &to), Ok(binary(&to, None)));
        // A name or a section that is not known, and code of another module.
        let elsewhere = binary(&from, Some(".data.const"));
        assert_eq!(rename_kernel(&elsewhere, &from, &to), Err(RenameError::Elsewhere));
        assert_eq!(rename_kernel(&binary(&from, Some(".visaasm")), &from, &to), Err(RenameError::Form));
        assert_eq!(rename_kernel(&binary(&from, Some(".debug_info")), &from, &to), Err(RenameError::Debug));
        let other = Identity { module_hash: 1, ..from.clone() };
        assert_eq!(rename_kernel(&binary(&other, None), &from, &to), Err(RenameError::Form));
    }
}

#[cfg(test)]
mod tests {
    // Judgement against binaries made here in the form that the driver gives them, once under each name; tests/real/fold.rs
    // has the driver make them.

    use super::*;
    use proptest::prelude::*;

    const FROM: &str = "_ZTSN5first6kernelILi1EEE";
    const TO: &str = "_ZTSN5other6kernelILi2EEE";

    /// Bits from the lowest up, as LLVM's bitstreams have them.
    #[derive(Default)]
    struct Bits(Vec<bool>);

    impl Bits {
        fn fixed(&mut self, value: u64, width: u32) -> &mut Self {
            self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
            self
        }

        fn vbr(&mut self, mut value: u64, width: u32) -> &mut Self {
            let high = 1u64 << (width - 1);
            while value >= high {
                self.fixed(value & (high - 1) | high, width);
                value >>= width - 1;
            }
            self.fixed(value, width)
        }

        fn align(&mut self) -> &mut Self {
            while !self.0.len().is_multiple_of(32) {
                self.0.push(false);
            }
            self
        }

        fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
            bytes.iter().fold(self, |bits, byte| bits.fixed(u64::from(*byte), 8))
        }

        fn done(&mut self) -> Vec<u8> {
            self.align();
            let byte = |bits: &[bool]| bits.iter().rev().fold(0u8, |byte, bit| byte << 1 | u8::from(*bit));
            self.0.chunks(8).map(byte).collect()
        }

        /// A block at the top, with ids of three bits.
        fn block(&mut self, id: u64, inner: &mut Bits) -> &mut Self {
            inner.fixed(0, 3);
            let inner = inner.done();
            self.fixed(1, 2).vbr(id, 8).vbr(3, 4).align();
            self.fixed(inner.len() as u64 / 4, 32).bytes(&inner)
        }
    }

    /// Bitcode with one kernel, and a record of letters of some width in its module.
    fn bitcode(kernel: &str, letters: &[u64], width: u32) -> Vec<u8> {
        let mut module = Bits::default();
        // DEFINE_ABBREV: code 99, an array of fixed width.
        module.fixed(2, 3).vbr(3, 5).fixed(1, 1).vbr(99, 8).fixed(0, 1).fixed(3, 3);
        module.fixed(0, 1).fixed(1, 3).vbr(u64::from(width), 5);
        module.fixed(4, 3).vbr(letters.len() as u64, 6);
        for letter in letters {
            module.fixed(*letter, width);
        }
        // UNABBREV_RECORD: a function [name offset, name length, type, convention, is declaration].
        module.fixed(3, 3).vbr(8, 6).vbr(5, 6);
        for operand in [0, kernel.len() as u64, 0, 76, 0] {
            module.vbr(operand, 6);
        }
        let mut strings = Bits::default();
        // DEFINE_ABBREV: code 1, a blob.
        strings.fixed(2, 3).vbr(2, 5).fixed(1, 1).vbr(1, 8).fixed(0, 1).fixed(5, 3);
        let blob = [kernel.as_bytes(), b"_Z12get_group_idj"].concat();
        strings.fixed(4, 3).vbr(blob.len() as u64, 6).align().bytes(&blob).align();
        Bits::default().bytes(b"BC\xc0\xde").block(8, &mut module).block(23, &mut strings).done()
    }

    /// An ELF file of sections: name, type, link, contents. The section of names is that of number `names`.
    fn elf(kind: u16, flags: u32, sections: &[(&str, u32, u32, &[u8])], names: usize, table: &[u8]) -> Vec<u8> {
        let mut file = vec![0u8; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[16..18].copy_from_slice(&kind.to_le_bytes());
        file[18] = 62;
        file[48..52].copy_from_slice(&flags.to_le_bytes());
        let mut headers = vec![0u8; 64];
        for (name, kind, link, data) in sections {
            let mut header = [0u8; 64];
            let at = table.windows(name.len() + 1).position(|at| at == [name.as_bytes(), &[0]].concat()).unwrap();
            header[..4].copy_from_slice(&(at as u32).to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            file.extend_from_slice(data);
            headers.extend(header);
        }
        let start = file.len() as u64;
        file[40..48].copy_from_slice(&start.to_le_bytes());
        file[58] = 64;
        file[60] = sections.len() as u8 + 1;
        file[62] = names as u8;
        file.extend(headers);
        file
    }

    /// Parts of a binary.
    #[derive(Debug, Clone)]
    struct Made {
        version: u8,
        code: Vec<u8>,
        notes: Vec<u8>,
        text: Vec<u8>,
        section: &'static str,
        symbols: Vec<String>,
    }

    fn notes(name: &str) -> Vec<u8> {
        let entry = [&[1, 0, 0, 0][..], &(name.len() as u32 + 1).to_le_bytes(), name.as_bytes(), &[0, 7]].concat();
        [entry.clone(), entry].concat()
    }

    impl Made {
        fn compile(name: &str) -> Made {
            let symbols = vec!["_Z12get_group_idj".to_owned(), name.to_owned()];
            Made {
                version: 23,
                code: bitcode(name, &[1, 2], 8),
                notes: notes(name),
                text: vec![0xc3; 9],
                section: ".ltext",
                symbols,
            }
        }

        fn binary(&self) -> Vec<u8> {
            let mut strings: Vec<&str> = vec![self.section, ".symtab", ".strtab"];
            strings.extend(self.symbols.iter().map(String::as_str));
            strings.sort_by(|one, other| other.bytes().rev().cmp(one.bytes().rev()));
            let table = strings.iter().fold(vec![0u8], |table, text| [&table, text.as_bytes(), &[0]].concat());
            let mut symbols = vec![0u8; 24];
            for text in &self.symbols {
                let wanted = [&[0], text.as_bytes(), &[0]].concat();
                let at = table.windows(wanted.len()).position(|at| at == wanted).unwrap() as u32 + 1;
                symbols.extend(at.to_le_bytes());
                symbols.extend([0x12, 0, 1, 0]);
                symbols.extend([0; 16]);
            }
            let sections = [
                (self.section, 1, 0, self.text.as_slice()),
                (".symtab", 2, 3, symbols.as_slice()),
                (".strtab", 3, 0, table.as_slice()),
            ];
            let object = elf(1, 0, &sections, 3, &table);
            let version = u32::from(self.version).to_le_bytes();
            let names = b"\0.ocl.ir\0.ocl.meta\0.ocl.obj\0.ocl.ver\0\0";
            let sections = [
                (".ocl.ir", 0, 0, self.code.as_slice()),
                (".ocl.meta", 0, 0, self.notes.as_slice()),
                (".ocl.obj", 0, 0, object.as_slice()),
                (".ocl.ver", 0, 0, version.as_slice()),
                ("", 3, 0, names.as_slice()),
            ];
            elf(0xff04, 3, &sections, 5, names)
        }
    }

    /// Adds the name of a vector function behind its signature.
    fn signed(signature: &str, name: &str) -> Vec<u8> {
        [notes(name), notes(&format!("{signature}{name}"))].concat()
    }

    #[test]
    fn what_comes_out_is_what_would_have_been_made() {
        assert_eq!(rename(&Made::compile(FROM).binary(), FROM, TO), Ok(Made::compile(TO).binary()));
        assert_eq!(rename(&Made::compile(FROM).binary(), FROM, FROM), Ok(Made::compile(FROM).binary()));
        let vectorized = |name: &str| Made { notes: signed("_ZGVdN8uuuuuuu_", name), ..Made::compile(name) }.binary();
        assert_eq!(rename(&vectorized(FROM), FROM, TO), Ok(vectorized(TO)));
        let shared = rename(&Made::compile(FROM).binary(), FROM, &shared_name(FROM)).unwrap();
        assert_eq!(shared_name(FROM), shared_name(TO));
        assert_eq!(rename(&shared, &shared_name(TO), TO), Ok(Made::compile(TO).binary()));
    }

    #[test]
    fn names_that_cannot_be_swapped_are_refused() {
        let binary = Made::compile(FROM).binary();
        for to in ["_ZTSN5other6kernelILi2EE_", "_ZTSN5other6kernelILi22EEE", "", "short", "_ZTSN5other6kernel(Li2EEE"]
        {
            assert_eq!(rename(&binary, FROM, to), Err(RenameError::Names), "{to}");
            assert_eq!(rename(&binary, to, FROM), Err(RenameError::Names), "{to}");
        }
        assert_eq!(rename(&binary, TO, FROM), Err(RenameError::Elsewhere), "the binary is not that kernel's");
    }

    #[test]
    fn what_may_be_more_than_the_name_is_refused() {
        let refused = |change: &dyn Fn(&mut Made)| {
            let mut made = Made::compile(FROM);
            change(&mut made);
            rename(&made.binary(), FROM, TO).unwrap_err()
        };
        assert_eq!(refused(&|made| made.version = 24), RenameError::Form);
        assert_eq!(refused(&|made| made.section = ".debug_info"), RenameError::Debug);
        assert_eq!(refused(&|made| made.text = FROM.into()), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.text = TO.into()), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.notes = FROM.into()), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.notes = notes(&format!("{FROM}x"))), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.notes.clear()), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.notes = signed("_ZGX_", FROM)), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.notes = signed("", &format!("_ZGV_{FROM}_"))), RenameError::Elsewhere);
        assert_eq!(refused(&|made| made.code = bitcode(TO, &[], 8)), RenameError::Form);
        assert_eq!(refused(&|made| made.code.truncate(40)), RenameError::Form);
        assert_eq!(refused(&|made| made.symbols.push(format!("{FROM}.part"))), RenameError::Elsewhere);
        // Strings that share their end with the name, and one that stands between the two names.
        assert_eq!(refused(&|made| made.symbols.push("kernelILi1EEE".to_owned())), RenameError::Order);
        assert_eq!(refused(&|made| made.symbols.push("N_ZTSN5between1EEE".to_owned())), RenameError::Order);
    }

    #[test]
    fn letters_packed_into_bits_are_found() {
        let char6 = |byte: u8| {
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._".iter().position(|c| *c == byte).unwrap()
                as u64
        };
        let six: Vec<u64> = FROM.bytes().map(char6).collect();
        let eight: Vec<u64> = FROM.bytes().map(u64::from).collect();
        for (letters, width) in [(&six, 6), (&eight, 7), (&eight, 8)] {
            let made = Made { code: bitcode(FROM, letters, width), ..Made::compile(FROM) };
            assert_eq!(rename(&made.binary(), FROM, TO), Err(RenameError::Elsewhere), "{width} bits");
        }
    }

    fn name() -> impl Strategy<Value = String> {
        "[A-Za-z_][A-Za-z0-9_]{14,60}E"
    }

    proptest! {
        /// Checks that a renamed binary equals one made under the other name, and that a refused one is unchanged.
        #[test]
        fn renaming_is_making_under_another_name(
            from in name(), seed in name(), others in prop::collection::vec("[a-z]{1,9}[jvE]", 0..6), text in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let to: String = seed.chars().cycle().take(from.len() - 1).chain(['E']).collect();
            prop_assume!(to.bytes().next().is_some_and(|first| !first.is_ascii_digit()));
            let made = |name: &str| {
                let mut made = Made::compile(name);
                made.symbols.splice(0..0, others.iter().cloned());
                made.symbols.sort();
                made.symbols.dedup();
                Made { text: text.clone(), ..made }.binary()
            };
            if let Ok(renamed) = rename(&made(&from), &from, &to) {
                // The order of the symbols, unlike that of the strings, does not depend on names.
                let mut expected = Made::compile(&to);
                let mut symbols: Vec<String> = others.iter().cloned().chain(Made::compile(&from).symbols).collect();
                symbols.sort();
                symbols.dedup();
                expected.symbols = symbols.into_iter().map(|symbol| if symbol == from { to.clone() } else { symbol }).collect();
                prop_assert_eq!(&renamed, &Made { text: text.clone(), ..expected }.binary());
                prop_assert_eq!(rename(&renamed, &to, &from), Ok(made(&from)));
            } else {
                let shares = others.iter().any(|other| other.ends_with('E'));
                prop_assert!(shares || from == "_Z12get_group_idj", "refused without a cause");
            }
        }

        /// Bytes changed anywhere: no panic, and what comes out differs in names alone.
        #[test]
        fn damage_is_refused_or_harmless(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut binary = Made::compile(FROM).binary();
            let place = at.index(binary.len());
            binary[place] = byte;
            if let Ok(renamed) = rename(&binary, FROM, TO) {
                prop_assert_eq!(rename(&renamed, TO, FROM), Ok(binary.clone()));
            }
            binary.truncate(cut.index(binary.len()));
            let _ = rename(&binary, FROM, TO);
        }
    }
}
