//! How is the kernel of native code for an Intel GPU (zebin) renamed so that the bytes are those that ocloc would have written?
//!
//! The name stands in `.ze_info` and in the string table alone. Behind the kernel's last instruction IGC writes a hash of
//! the module into two instructions, 16 bytes apart, the upper half first, so the hash of the renamed module replaces it
//! (`ShaderHashOCL` of intel/intel-graphics-compiler). From two modules that differ in such a name ocloc 26.27 makes two
//! binaries that differ in just these bytes (tests/real/fold.rs compiles both).

use super::{Identity, RenameError};
use crate::bytes;
use crate::container::address::{find, find_all};
use crate::container::device_elf::DeviceElf;

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
pub(super) fn rename(binary: &[u8], from: &Identity, to: &Identity) -> Result<Vec<u8>, RenameError> {
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
pub(super) fn module_hash(words: impl Iterator<Item = u32>) -> u64 {
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
mod tests {
    use super::super::rename_kernel;
    use super::*;

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
