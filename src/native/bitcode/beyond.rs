//! Does bitcode have a driver for CPUs do more than compile it?
//!
//! Assembly has LLVM's assembler read any file (`.incbin`), and constructors and resolvers are called when the code is loaded, which
//! a driver does once it has linked a program. LLVM finds functions by offsets that stand beside them, and the ends of blocks by
//! marks; so that it reads what was looked at here, both have to agree with the lengths of blocks, as they do in what LLVM writes.
//! The same goes for the order of blocks, from the first of which LLVM counts, for the version, which it heeds from its record on, and
//! for blobs, whose bytes it takes for operands where it expects none.

use super::block;
use crate::container::address;
use crate::error::{Error, Result};
use crate::native::bitstream::{Cursor, Item, Record};
use std::collections::HashSet;

/// Records of a module of more than code: `ASM`, libraries to load (`DEPLIB`), plugins (`GCNAME`), resolvers (`IFUNC`).
const MORE_THAN_CODE: [u64; 4] = [4, 6, 11, 18];
const VERSION: u64 = 1;
const SECTION_NAME: u64 = 5;
const TABLE_OFFSET: u64 = 13;
/// The last block that LLVM 22 knows: tags of scopes of synchronization.
const LAST_BLOCK: u64 = 26;
/// Blocks outside of others in the order of LLVM's writer: who wrote it, the module, symbols for linkers, the string table.
const TOP_BLOCKS: [u64; 4] = [block::IDENTIFICATION, block::MODULE, LINKER_SYMBOLS, block::STRTAB];
const LINKER_SYMBOLS: u64 = 25;
/// Records that have a blob, by their block.
const WITH_BLOB: [(u64, u64); 3] = [(LINKER_SYMBOLS, 1), (block::STRTAB, 1), (block::METADATA, 35)];
/// The section of annotations, which no loader knows.
const METADATA_SECTION: &[u8] = b"llvm.metadata";
/// Part of the names of attributes that choose sections: `data-section`, `implicit-section-name`.
const SECTION: &str = "-section";
/// The version that has all names in the string table.
const WITH_STRING_TABLE: u64 = 2;
/// Forms of inline assembly among constants.
const ASSEMBLY: [u64; 4] = [18, 23, 28, 30];
/// Entry of a symbol table with the place of a function.
const FUNCTION_ENTRY: u64 = 3;
/// Names under which LLVM lists functions to call.
const CALLED: [&str; 2] = ["llvm.global_ctors", "llvm.global_dtors"];

/// Tells what bitcode has a driver do beside compiling it, or why that is not known; none where all of it is code to compile.
pub(crate) fn beyond_compiling(data: &[u8]) -> Option<String> {
    if CALLED.iter().any(|name| address::find(data, name.as_bytes()).is_some()) {
        return Some("it has constructors, which the driver runs when it has linked them".to_owned());
    }
    let mut walk = Walk::default();
    let told = match walk.top(data) {
        Ok(()) => {
            walk.told.take().or_else(|| walk.misplaced().then(|| "its functions are not where it says".to_owned()))
        }
        Err(error) => Some(format!("its bitcode could not be read to its end: {error}")),
    };
    told.or_else(|| (walk.modules != 1).then(|| format!("it has {} modules of bitcode, not one", walk.modules)))
}

/// Whether a text stands among letters of a record: of numbers beyond a byte LLVM takes the lowest.
fn spells(letters: &[u64], text: &str) -> bool {
    let is_text = |part: &[u64]| part.iter().map(|letter| letter & 0xff).eq(text.bytes().map(u64::from));
    letters.windows(text.len()).any(is_text)
}

/// The findings so far.
#[derive(Default)]
struct Walk {
    told: Option<String>,
    modules: usize,
    /// Words at which blocks of functions begin, and symbol tables of the module.
    begun: HashSet<(u64, u64)>,
    /// Words at which LLVM looks for either.
    wanted: Vec<(u64, u64)>,
}

impl Walk {
    fn top(&mut self, data: &[u8]) -> Result<()> {
        let mut top = Cursor::new(data);
        // LLVM counts words from the mark of the bitcode on. In a wrapper that would begin elsewhere.
        if !data.starts_with(&[0x42, 0x43, 0xc0, 0xde]) || !data.len().is_multiple_of(4) {
            return Err(Error::at(0, "this is no plain bitcode"));
        }
        top.skip(4);
        let mut left = TOP_BLOCKS.as_slice();
        while let Some(item) = top.next()? {
            match item {
                Item::Block(id, inner) => {
                    self.modules = self.modules.saturating_add(usize::from(id == block::MODULE));
                    let place = left.iter().position(|one| *one == id);
                    let in_order = place.filter(|place| *place == 0 || left.first() == Some(&LINKER_SYMBOLS));
                    let Some(place) = in_order else {
                        return Err(Error::at(top.byte(), format!("a block {id} where LLVM writes none")));
                    };
                    left = left.get(place.saturating_add(1)..).unwrap_or_default();
                    self.block(id, inner)?;
                }
                Item::Record(_) => return Err(Error::at(top.byte(), "a record outside of blocks")),
            }
        }
        if !left.is_empty() {
            return Err(Error::at(top.byte(), "no string table"));
        }
        if top.byte() == data.len() as u64 { Ok(()) } else { Err(Error::at(top.byte(), "what is behind it")) }
    }

    fn block(&mut self, id: u64, mut block: Cursor<'_>) -> Result<()> {
        let mut is_first = true;
        // Abbreviations of the module as its first function begins, from where LLVM goes on at the last one: what is between them it
        // reads later or never.
        let mut before_functions = None;
        while let Some(item) = block.next()? {
            let begins_function = matches!(&item, Item::Block(block::FUNCTION, _)) && id == block::MODULE;
            let is_late = before_functions.is_some_and(|defined| defined != block.defined());
            let is_function_or_table = matches!(&item, Item::Block(block::FUNCTION | block::SYMBOLS, _));
            if is_late || before_functions.is_some() && !is_function_or_table {
                return Err(Error::at(block.byte(), "a module that goes on behind its functions"));
            }
            before_functions = before_functions.or_else(|| begins_function.then(|| block.defined()));
            // A version that comes late, or again, would be heeded from there on.
            let is_version = matches!(&item, Item::Record(Record { code: VERSION, .. })) && id == block::MODULE;
            if is_version != (is_first && id == block::MODULE) {
                return Err(Error::at(block.byte(), "a version that is not the first of its module"));
            }
            is_first = false;
            match item {
                Item::Record(record) => {
                    if is_version && record.operands != [WITH_STRING_TABLE] {
                        return Err(Error::at(block.byte(), "a module of another version"));
                    }
                    if !record.blob.is_empty() && !WITH_BLOB.contains(&(id, record.code)) {
                        return Err(Error::at(block.byte(), format!("a blob in record {} of block {id}", record.code)));
                    }
                    let told = self.record(id, &record);
                    self.told = self.told.take().or(told);
                }
                Item::Block(inner_id, inner) => {
                    if inner_id > LAST_BLOCK {
                        return Err(Error::at(block.byte(), format!("a block {inner_id}")));
                    }
                    if id == block::MODULE && matches!(inner_id, block::FUNCTION | block::SYMBOLS) {
                        let word = block.word().ok_or_else(|| Error::at(block.byte(), "a block within a word"))?;
                        self.begun.insert((inner_id, word));
                    }
                    // Blocks nest as deep as functions do: constants in a function in a module.
                    if !matches!(id, block::MODULE | block::FUNCTION) {
                        return Err(Error::at(block.byte(), format!("a block within block {id}")));
                    }
                    self.block(inner_id, inner)?;
                }
            }
        }
        if before_functions.is_some_and(|defined| defined != block.defined()) {
            return Err(Error::at(block.byte(), "a module that goes on behind its functions"));
        }
        if !block.ended_whole() {
            return Err(Error::at(block.byte(), format!("an end of block {id} that is not where its length says")));
        }
        if id == block::MODULE && is_first {
            return Err(Error::at(block.byte(), "a module without a version"));
        }
        Ok(())
    }

    /// Looks at a record of a block.
    fn record(&mut self, id: u64, record: &Record<'_>) -> Option<String> {
        match (id, record.code) {
            (block::MODULE, code) if MORE_THAN_CODE.contains(&code) => {
                Some("it has assembly, or functions that a loader calls".to_owned())
            }
            (block::MODULE, SECTION_NAME) => {
                let name: Vec<u8> = record.operands.iter().map(|letter| u8::try_from(*letter).unwrap_or(0)).collect();
                (name != METADATA_SECTION).then(|| "it has sections of its own, which loaders may run".to_owned())
            }
            (block::MODULE, TABLE_OFFSET) => {
                self.wanted.extend(record.operands.first().map(|word| (block::SYMBOLS, *word)));
                None
            }
            (block::ATTRIBUTE_GROUPS, _) if spells(&record.operands, SECTION) => {
                Some("it has sections of its own, which loaders may run".to_owned())
            }
            // Tables name values, globals among them, beside the string table.
            (block::SYMBOLS, _) if CALLED.iter().any(|name| spells(&record.operands, name)) => {
                Some("it has constructors, which the driver runs when it has linked them".to_owned())
            }
            (block::CONSTANTS, code) if ASSEMBLY.contains(&code) => Some("it has inline assembly".to_owned()),
            (block::SYMBOLS, FUNCTION_ENTRY) => {
                self.wanted.extend(record.operands.get(1).map(|word| (block::FUNCTION, *word)));
                None
            }
            _ => None,
        }
    }

    /// Whether LLVM would look for a function or a table where none begins.
    fn misplaced(&self) -> bool {
        self.wanted.iter().any(|place| !self.begun.contains(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::bitstream::written::{Field, block, padded, record, stream, vbr};

    /// Bitcode of blocks and records; its own are aligned to words.
    fn bitcode(blocks: &[Vec<Field>]) -> Vec<u8> {
        let fields: Vec<Field> = std::iter::once((0xdec0_4342, 32)).chain(blocks.concat()).collect();
        let words: usize = fields.iter().map(|(_, width)| *width as usize).sum::<usize>() / 32;
        stream(&fields)[..words * 4].to_vec()
    }

    /// A block with one record that has a blob of four bytes, and beside it an abbreviation of it.
    fn with_blob(id: u64, code: u64) -> Vec<Field> {
        let abbreviation = [vec![(2, 3)], vbr(2, 5), vec![(1, 1)], vbr(code, 8), vec![(0, 1), (5, 3)]].concat();
        let within = padded([abbreviation, vec![(4, 3)], vbr(4, 6)].concat());
        let within = padded([within, vec![(0x4141_4141, 32), (0, 3)]].concat());
        let words = within.iter().map(|(_, width)| u64::from(*width)).sum::<u64>() / 32;
        [padded([vec![(1, 2)], vbr(id, 8), vbr(3, 4)].concat()), vec![(words, 32)], within].concat()
    }

    /// A version, and a record behind it up to the end of a word, where blocks begin.
    fn version() -> Vec<Field> {
        [record(VERSION, &[2]), record(2, &[0; 5])].concat()
    }

    /// A module of these blocks behind its version.
    fn module(within: &[Vec<Field>]) -> Vec<Field> {
        block(block::MODULE, [vec![version()], within.to_vec()].concat().concat())
    }

    fn told(blocks: &[Vec<Field>]) -> Option<String> {
        beyond_compiling(&bitcode(blocks))
    }

    #[test]
    fn blocks_stand_where_llvm_writes_them() {
        let [writer, table] = [block(block::IDENTIFICATION, Vec::new()), with_blob(block::STRTAB, 1)];
        let (plain, symbols, other) = (module(&[]), with_blob(LINKER_SYMBOLS, 1), block(7, Vec::new()));
        let all = |blocks: &[&Vec<Field>]| told(&blocks.iter().map(|one| (*one).clone()).collect::<Vec<_>>());
        assert_eq!(all(&[&writer, &plain, &table]), None);
        assert_eq!(all(&[&writer, &plain, &symbols, &table]), None);
        for blocks in [
            &[&other, &writer, &plain, &table][..],
            &[&plain, &writer, &table],
            &[&plain, &table],
            &[&writer, &plain],
            &[&writer, &table, &plain],
            &[&writer, &plain, &table, &symbols],
            &[&writer, &plain, &table, &table],
            &[&writer, &plain, &plain, &table],
        ] {
            assert!(all(blocks).is_some(), "{blocks:?}");
        }
    }

    #[test]
    fn attributes_choose_no_sections_and_tables_name_no_constructors() {
        let letters = |text: &str| text.bytes().map(u64::from).collect::<Vec<_>>();
        let beyond: Vec<u64> = letters("-section").into_iter().map(|letter| letter | 1 << 40).collect();
        for (operands, is_told) in [(letters("data-layout"), false), (letters("data-section"), true), (beyond, true)] {
            let record = Record { code: 3, operands, blob: &[] };
            assert_eq!(Walk::default().record(block::ATTRIBUTE_GROUPS, &record).is_some(), is_told);
        }
        for (name, is_told) in [("llvm.global_ctors", true), ("llvm.global_dtors", true), ("llvm.used", false)] {
            let record = Record { code: 1, operands: [vec![0], letters(name)].concat(), blob: &[] };
            assert_eq!(Walk::default().record(block::SYMBOLS, &record).is_some(), is_told);
        }
    }

    #[test]
    fn versions_come_first_and_blobs_where_they_are_looked_for() {
        let around =
            |module: Vec<Field>| told(&[block(block::IDENTIFICATION, Vec::new()), module, with_blob(block::STRTAB, 1)]);
        let of = |records: &[Vec<Field>]| around(block(block::MODULE, records.concat()));
        let (version, other) = (record(VERSION, &[2]), record(2, &[65]));
        assert_eq!(of(&[version.clone(), other.clone()]), None);
        assert!(of(&[]).is_some() && of(&[record(VERSION, &[1])]).is_some());
        assert!(of(&[other, version.clone()]).is_some() && of(&[version.clone(), version.clone()]).is_some());
        assert!(of(&[record(VERSION, &[1]), version]).is_some());
        assert_eq!(around(module(&[with_blob(block::METADATA, 35)])), None);
        for (id, code) in [(block::METADATA, 3), (block::SYMBOLS, FUNCTION_ENTRY), (block::CONSTANTS, 4)] {
            assert!(around(module(&[with_blob(id, code)])).is_some(), "{id} {code}");
        }
    }

    #[test]
    fn functions_and_tables_are_where_the_module_says() {
        let at = |function: u64, table: u64| {
            // 20 and 22 bits, and as many as make whole words.
            let begin = [record(VERSION, &[2]), record(TABLE_OFFSET, &[table]), record(2, &[0; 7])].concat();
            let entry = record(FUNCTION_ENTRY, &[0, function]);
            let within = [begin, block(block::FUNCTION, Vec::new()), block(block::SYMBOLS, entry)].concat();
            let [writer, names] = [block(block::IDENTIFICATION, Vec::new()), with_blob(block::STRTAB, 1)];
            told(&[writer, block(block::MODULE, within), names])
        };
        let places = || (0..32).flat_map(|function| (0..32).map(move |table| (function, table)));
        let found: Vec<(u64, u64)> = places().filter(|(function, table)| at(*function, *table).is_none()).collect();
        let [(function, table)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(table - function, 3, "a function without a body has three words");
        // LLVM does not read what stands between functions, or reads it later.
        let function = || block(block::FUNCTION, Vec::new());
        let define = [vec![(2, 2)], vbr(1, 5), vec![(1, 1)], vbr(16, 8), vec![(0, 12)]].concat();
        let unknown = [record(2, &[0; 3]), Vec::new()].concat();
        for (between, is_told) in [(Vec::new(), false), (define, true), (padded(unknown), true)] {
            let within = [version(), function(), between, function()].concat();
            let [writer, names] = [block(block::IDENTIFICATION, Vec::new()), with_blob(block::STRTAB, 1)];
            let why = told(&[writer, block(block::MODULE, within), names]);
            assert_eq!(why.is_some_and(|why| why.contains("behind its functions")), is_told);
        }
    }
}
