//! Is nothing but the name replaced, and everything refused that may be more than the name?
//!
//! Judgement against binaries made here in the form that the driver gives them, once under each name; tests/real/fold.rs
//! has the driver make them.

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
    for to in ["_ZTSN5other6kernelILi2EE_", "_ZTSN5other6kernelILi22EEE", "", "short", "_ZTSN5other6kernel(Li2EEE"] {
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
