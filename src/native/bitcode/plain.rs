//! What of bitcode does a driver for CPUs get?
//!
//! Assembly has LLVM's assembler read any file (`.incbin`), and constructors and resolvers are called when the code is loaded, which
//! a driver does once it has linked a program. LLVM finds functions and tables by offsets, skips some blocks, and knows several
//! ways to say one thing; what stands between is read twice, later, or never. So a driver gets no bitcode of a stranger's, but
//! the blocks and records that were read here, without offsets, other blocks, and abbreviations but those of blobs. LLVM reads them
//! in their order, as those of a writer of long ago, which wrote no offsets.

use super::block;
use crate::container::address;
use crate::limits;
use crate::native::bitstream::{Cursor, Item, Record, Writer};

/// Records of a module of more than code: `ASM`, libraries to load (`DEPLIB`), plugins (`GCNAME`), resolvers (`IFUNC`).
const MORE_THAN_CODE: [u64; 4] = [4, 6, 11, 18];
const VERSION: u64 = 1;
const SECTION_NAME: u64 = 5;
/// Offset of the symbol table of the module, which only has offsets of functions.
const TABLE_OFFSET: u64 = 13;
/// Offsets among metadata: of the index, and the index.
const INDICES: [u64; 2] = [38, 39];
/// Kind of metadata, and the name of the one that places addresses in sections of its choice.
const KIND: u64 = 6;
const SECTIONS: &str = "pcsections";
/// Blocks outside of others: who wrote it, the module, the string table. Symbols for linkers are left out.
const TOP_BLOCKS: [u64; 3] = [block::IDENTIFICATION, block::MODULE, block::STRTAB];
const LINKER_SYMBOLS: u64 = 25;
/// Summaries for linkers, which are left out, too.
const SUMMARIES: [u64; 2] = [20, 24];
/// Orders of uses, tags of bundles, and names of scopes of synchronization.
const USES: u64 = 18;
const BUNDLE_TAGS: u64 = 21;
const SCOPES: u64 = 26;
/// Blocks that stand in a module, beside its symbol table.
const OF_MODULE: [u64; 10] = [
    block::ATTRIBUTES,
    block::ATTRIBUTE_GROUPS,
    block::CONSTANTS,
    block::FUNCTION,
    block::METADATA,
    block::TYPES,
    USES,
    BUNDLE_TAGS,
    block::METADATA_KINDS,
    SCOPES,
];
/// Blocks that stand in a function.
const OF_FUNCTION: [u64; 5] = [block::CONSTANTS, block::SYMBOLS, block::METADATA, block::ATTACHMENTS, USES];
/// Records that have a blob, by their block, and the number of operands before it.
const WITH_BLOB: [(u64, u64, usize); 2] = [(block::STRTAB, 1, 0), (block::METADATA, 35, 2)];
/// Entries of a function's symbol table: of a value and of a block. A third kind is the place of another function.
const NAMES: [u64; 2] = [1, 2];
/// The last records of modules and constants that are known, as of LLVM 22 and Intel's drivers for CPUs up to 2026.2.
const LAST: [(u64, u64); 2] = [(block::MODULE, 21), (block::CONSTANTS, 34)];
/// Parts of texts of metadata by which LLVM writes inline assembly, and sections of any name.
const WRITING: [&str; 2] = ["clang.arc", "Objective-C"];
/// The section of annotations, which no loader knows.
const METADATA_SECTION: &[u8] = b"llvm.metadata";
/// Part of the names of attributes that choose sections: `data-section`, `implicit-section-name`.
const SECTION: &str = "-section";
/// The version that has all names in the string table.
const WITH_STRING_TABLE: u64 = 2;
/// Forms of inline assembly among constants.
const ASSEMBLY: [u64; 4] = [18, 23, 28, 30];
/// Names under which LLVM lists functions to call.
const CALLED: [&str; 2] = ["llvm.global_ctors", "llvm.global_dtors"];

const HAS_CONSTRUCTORS: &str = "it has constructors, which the driver runs when it has linked them";
const HAS_SECTIONS: &str = "it has sections of its own, which loaders may run";

/// Returns bitcode written anew; or tells what it has a driver do beside compiling it, or why that is not known.
pub(crate) fn plain(data: &[u8]) -> Result<Vec<u8>, String> {
    if !data.starts_with(&[0x42, 0x43, 0xc0, 0xde]) {
        return Err("this is no plain bitcode".to_owned());
    }
    let mut top = Cursor::new(data);
    top.skip(4);
    let room = data.len().saturating_mul(limits::BITCODE_GROWTH).saturating_add(limits::BITCODE_FLOOR);
    let mut written = Written { writer: Writer::new(), room };
    let mut expected = TOP_BLOCKS.iter();
    while let Some(item) = top.next().map_err(unread)? {
        match item {
            Item::Block(LINKER_SYMBOLS, _) => {}
            Item::Block(id, inner) if expected.next() == Some(&id) => written.block(id, inner)?,
            Item::Block(id, _) => return Err(format!("it has a block {id} where LLVM writes none")),
            Item::Record(_) => return Err("it has a record outside of blocks".to_owned()),
        }
    }
    match expected.next() {
        Some(id) => Err(format!("it has no block {id}")),
        None => Ok(written.writer.finish()),
    }
}

fn unread(error: crate::error::Error) -> String {
    format!("its bitcode could not be read to its end: {error}")
}

/// Whether a text stands among letters of a record: of numbers beyond a byte LLVM takes the lowest.
fn spells(letters: &[u64], text: &str) -> bool {
    let is_text = |part: &[u64]| part.iter().map(|letter| letter & 0xff).eq(text.bytes().map(u64::from));
    letters.windows(text.len()).any(is_text)
}

fn holds(blob: &[u8], text: &str) -> bool {
    address::find(blob, text.as_bytes()).is_some()
}

/// Bitcode so far.
struct Written {
    writer: Writer,
    /// Bytes that it may come to.
    room: usize,
}

impl Written {
    fn block(&mut self, id: u64, mut block: Cursor<'_>) -> Result<(), String> {
        self.writer.begin(id);
        let (mut is_first, mut has_blob) = (true, false);
        while let Some(item) = block.next().map_err(unread)? {
            if self.writer.len() > self.room {
                return Err("its abbreviations stand for many times their size".to_owned());
            }
            // A version that comes late, or again, would be heeded from there on.
            let is_version = matches!(&item, Item::Record(Record { code: VERSION, .. })) && id == block::MODULE;
            if is_version != (is_first && id == block::MODULE) {
                return Err("it has a version that is not the first of its module".to_owned());
            }
            is_first = false;
            match item {
                Item::Record(record) => {
                    if let Some(why) = beyond_compiling(id, &record) {
                        return Err(why.to_owned());
                    }
                    if is_left_out(id, &record) {
                        continue;
                    }
                    let has_form = WITH_BLOB.contains(&(id, record.code, record.operands.len()));
                    match (record.blob, has_form) {
                        ([], false) => self.writer.record(record.code, &record.operands),
                        (blob, true) if !has_blob => {
                            has_blob = true;
                            self.writer.blob(record.code, &record.operands, blob);
                        }
                        _ => return Err(format!("it has a blob in record {} of block {id}", record.code)),
                    }
                }
                // All names are in the string table.
                Item::Block(block::SYMBOLS, _) if id == block::MODULE => {}
                Item::Block(inner_id, _) if SUMMARIES.contains(&inner_id) && id == block::MODULE => {}
                Item::Block(inner_id, inner) => {
                    let stands = match id {
                        block::MODULE => OF_MODULE.contains(&inner_id),
                        block::FUNCTION => OF_FUNCTION.contains(&inner_id),
                        _ => false,
                    };
                    if !stands {
                        return Err(format!("it has a block {inner_id} within block {id}"));
                    }
                    self.block(inner_id, inner)?;
                }
            }
        }
        self.writer.end();
        match id == block::MODULE && is_first {
            true => Err("it has a module without a version".to_owned()),
            false => Ok(()),
        }
    }
}

/// Whether a record tells offsets, which are others now, or lets other metadata place addresses: what is of a kind without a name
/// LLVM refuses.
fn is_left_out(id: u64, record: &Record<'_>) -> bool {
    match id {
        block::MODULE => record.code == TABLE_OFFSET,
        block::METADATA => INDICES.contains(&record.code) || record.code == KIND && spells(&record.operands, SECTIONS),
        block::METADATA_KINDS => spells(&record.operands, SECTIONS),
        _ => false,
    }
}

/// Tells what a record has a driver do beside compiling.
fn beyond_compiling(id: u64, record: &Record<'_>) -> Option<&'static str> {
    match (id, record.code) {
        (block::MODULE, VERSION) if record.operands != [WITH_STRING_TABLE] => Some("its module is of another version"),
        (block::MODULE, code) if MORE_THAN_CODE.contains(&code) => {
            Some("it has assembly, or functions that a loader calls")
        }
        (block::MODULE, SECTION_NAME) => {
            let name: Vec<u8> = record.operands.iter().map(|letter| u8::try_from(*letter).unwrap_or(0)).collect();
            (name != METADATA_SECTION).then_some(HAS_SECTIONS)
        }
        (block::MODULE | block::CONSTANTS, code) if LAST.iter().any(|(of, last)| *of == id && code > *last) => {
            Some("it has records of another LLVM")
        }
        (block::ATTRIBUTE_GROUPS, _) if spells(&record.operands, SECTION) => Some(HAS_SECTIONS),
        (block::METADATA, _)
            if WRITING.iter().any(|text| spells(&record.operands, text) || holds(record.blob, text)) =>
        {
            Some("it has metadata that become assembly or sections")
        }
        (block::SYMBOLS, code) if !NAMES.contains(&code) => Some("it has a place of a function in another one"),
        // Tables of functions name values, globals among them, beside the string table.
        (block::SYMBOLS, _) if CALLED.iter().any(|name| spells(&record.operands, name)) => Some(HAS_CONSTRUCTORS),
        (block::STRTAB, _) if CALLED.iter().any(|name| holds(record.blob, name)) => Some(HAS_CONSTRUCTORS),
        (block::CONSTANTS, code) if ASSEMBLY.contains(&code) => Some("it has inline assembly"),
        _ => None,
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

    /// A block with one record that has a blob of these bytes, and beside it an abbreviation of it.
    fn with_blob(id: u64, code: u64, blob: &[u8; 20]) -> Vec<Field> {
        let abbreviation = [vec![(2, 3)], vbr(2, 5), vec![(1, 1)], vbr(code, 8), vec![(0, 1), (5, 3)]].concat();
        let within = padded([abbreviation, vec![(4, 3)], vbr(20, 6)].concat());
        let blob = blob.iter().map(|byte| (u64::from(*byte), 8));
        let within = padded(within.into_iter().chain(blob).chain([(0, 3)]).collect());
        let words = within.iter().map(|(_, width)| u64::from(*width)).sum::<u64>() / 32;
        [padded([vec![(1, 2)], vbr(id, 8), vbr(3, 4)].concat()), vec![(words, 32)], within].concat()
    }

    /// A module of a version and these blocks, which begin at a word, as the version ends at one.
    fn module(within: &[Vec<Field>]) -> Vec<Field> {
        let begin = [record(VERSION, &[2]), record(2, &[0; 5])].concat();
        block(block::MODULE, [vec![begin], within.to_vec()].concat().concat())
    }

    /// Writes a module anew, between the blocks that are to be around it.
    fn around(module: Vec<Field>) -> Result<Vec<u8>, String> {
        let names = with_blob(block::STRTAB, 1, b"names of functions  ");
        plain(&bitcode(&[block(block::IDENTIFICATION, Vec::new()), module, names]))
    }

    /// All that stands in a stream, in its order.
    fn told(data: &[u8]) -> Vec<String> {
        fn within(mut cursor: Cursor<'_>, all: &mut Vec<String>) {
            while let Some(item) = cursor.next().unwrap() {
                match item {
                    Item::Block(id, inner) => {
                        all.push(format!("block {id}"));
                        within(inner, all);
                        all.push(format!("end {id}"));
                    }
                    Item::Record(record) => all.push(format!("{record:?}")),
                }
            }
        }
        let (mut top, mut all) = (Cursor::new(data), Vec::new());
        top.skip(4);
        within(top, &mut all);
        all
    }

    #[test]
    fn blocks_stand_where_llvm_writes_them() {
        let blob = b"names of functions  ";
        let [writer, table] = [block(block::IDENTIFICATION, Vec::new()), with_blob(block::STRTAB, 1, blob)];
        let (own, symbols, other) = (module(&[]), with_blob(LINKER_SYMBOLS, 1, blob), block(7, Vec::new()));
        let all = |blocks: &[&Vec<Field>]| plain(&bitcode(&blocks.iter().copied().cloned().collect::<Vec<_>>()));
        let expected = all(&[&writer, &own, &table]).unwrap();
        assert_eq!(all(&[&writer, &own, &symbols, &table]).unwrap(), expected);
        for blocks in [
            &[&other, &writer, &own, &table][..],
            &[&own, &writer, &table],
            &[&own, &table],
            &[&writer, &own],
            &[&writer, &table, &own],
            &[&writer, &own, &table, &table],
            &[&writer, &own, &own, &table],
        ] {
            assert!(all(blocks).is_err(), "{blocks:?}");
        }
        for (inner, is_taken) in [(block::CONSTANTS, true), (block::MODULE, false), (block::STRTAB, false), (7, false)]
        {
            assert_eq!(around(module(&[block(inner, Vec::new())])).is_ok(), is_taken, "{inner}");
        }
        for (code, is_taken) in [(1, true), (2, true), (3, false), (5, false)] {
            let names = block(block::SYMBOLS, record(code, &[0, 99]));
            let within = [record(1, &[1]), record(2, &[0; 5])].concat();
            let function = block(block::FUNCTION, [within, names].concat());
            assert_eq!(around(module(&[function])).is_ok(), is_taken, "{code}");
        }
        let nested = block(block::METADATA, block(block::METADATA, Vec::new()));
        assert!(around(module(&[nested])).is_err());
    }

    /// LLVM goes by offsets to what was stepped over, and by marks beyond what was.
    #[test]
    fn what_is_written_is_what_was_read() {
        let function = block(block::FUNCTION, record(1, &[1]));
        let places = [padded(record(TABLE_OFFSET, &[4])), block(block::SYMBOLS, record(3, &[0, 99]))].concat();
        let index = block(block::METADATA, [record(38, &[1, 0]), record(39, &[7]), record(3, &[5])].concat());
        let kinds = block(block::METADATA_KINDS, [kind(31, "pcsections"), kind(4, "range")].concat());
        // Abbreviations for others without the mark of their end.
        let unended = [padded([vec![(1, 2)], vbr(0, 8), vbr(10, 4)].concat()), vec![(0, 32)]].concat();
        let made = around(module(&[unended, index, kinds, function, places])).unwrap();
        let operands = |code: u64, operands: Vec<u64>| format!("{:?}", Record { code, operands, blob: &[] });
        let letters = || [4].into_iter().chain("range".bytes().map(u64::from)).collect();
        let expected = [
            "block 13".to_owned(),
            "end 13".to_owned(),
            "block 8".to_owned(),
            operands(VERSION, vec![2]),
            operands(2, vec![0; 5]),
            "block 15".to_owned(),
            operands(3, vec![5]),
            "end 15".to_owned(),
            "block 22".to_owned(),
            operands(KIND, letters()),
            "end 22".to_owned(),
            "block 12".to_owned(),
            operands(1, vec![1]),
            "end 12".to_owned(),
            "end 8".to_owned(),
            "block 23".to_owned(),
            format!("{:?}", Record { code: 1, operands: Vec::new(), blob: b"names of functions  " }),
            "end 23".to_owned(),
        ];
        assert_eq!(told(&made), expected);
        assert_eq!(plain(&made).unwrap(), made);
    }

    fn kind(number: u64, name: &str) -> Vec<Field> {
        record(KIND, &std::iter::once(number).chain(name.bytes().map(u64::from)).collect::<Vec<_>>())
    }

    #[test]
    fn attributes_choose_no_sections_and_tables_name_no_constructors() {
        let letters = |text: &str| text.bytes().map(u64::from).collect::<Vec<_>>();
        let beyond: Vec<u64> = letters("-section").into_iter().map(|letter| letter | 1 << 40).collect();
        for (operands, is_told) in [(letters("data-layout"), false), (letters("data-section"), true), (beyond, true)] {
            let record = Record { code: 3, operands, blob: &[] };
            assert_eq!(beyond_compiling(block::ATTRIBUTE_GROUPS, &record).is_some(), is_told);
        }
        for (text, is_told) in
            [("Objective-C Image Info Section", true), ("clang.arc.attached", true), ("opencl", false)]
        {
            let old = Record { code: 1, operands: letters(text), blob: &[] };
            let all = Record { code: 35, operands: vec![1, 0], blob: text.as_bytes() };
            assert!([old, all].iter().all(|one| beyond_compiling(block::METADATA, one).is_some() == is_told), "{text}");
        }
        for (id, code) in [(block::MODULE, 22), (block::CONSTANTS, 35)] {
            assert!(beyond_compiling(id, &Record { code, ..Record::default() }).is_some());
        }
        for (name, is_told) in [("llvm.global_ctors", true), ("llvm.global_dtors", true), ("llvm.used", false)] {
            let record = Record { code: 1, operands: [vec![0], letters(name)].concat(), blob: &[] };
            assert_eq!(beyond_compiling(block::SYMBOLS, &record).is_some(), is_told);
            let table = Record { code: 1, operands: Vec::new(), blob: name.as_bytes() };
            assert_eq!(beyond_compiling(block::STRTAB, &table).is_some(), is_told);
        }
    }

    #[test]
    fn versions_come_first_and_blobs_where_they_are_looked_for() {
        let of = |records: &[Vec<Field>]| around(block(block::MODULE, records.concat()));
        let (version, other) = (record(VERSION, &[2]), record(2, &[65]));
        assert!(of(&[version.clone(), other.clone()]).is_ok());
        assert!(of(&[]).is_err() && of(&[record(VERSION, &[1])]).is_err());
        assert!(of(&[other, version.clone()]).is_err() && of(&[version.clone(), version.clone()]).is_err());
        assert!(of(&[record(VERSION, &[1]), version]).is_err());
        let blob = b"twenty bytes of text";
        assert!(around(module(&[with_blob(block::METADATA, 35, blob)])).is_err(), "two numbers stand before it");
        for (id, code) in [(block::METADATA, 3), (USES, 3), (block::CONSTANTS, 4)] {
            assert!(around(module(&[with_blob(id, code, blob)])).is_err(), "{id} {code}");
        }
    }

    /// Constants of abbreviations take no bits, and a block may have a thousand operands whatever its size.
    #[test]
    fn abbreviations_stand_for_no_more_than_a_limit() {
        let mut within = vec![(2u64, 3u32)];
        within.extend(vbr(61, 5));
        within.extend([(1, 1)].into_iter().chain(vbr(2, 8)));
        (0..60).for_each(|_| within.extend([(1, 1)].into_iter().chain(vbr(1 << 40, 8))));
        within.extend((0..16).map(|_| (4, 3)));
        within.push((0, 3));
        let within = padded(within);
        let words = within.iter().map(|(_, width)| u64::from(*width)).sum::<u64>() / 32;
        let one = [padded([vec![(1, 2)], vbr(block::CONSTANTS, 8), vbr(3, 4)].concat()), vec![(words, 32)], within];
        let why = around(module(&vec![one.concat(); 400])).unwrap_err();
        assert!(why.contains("many times"), "{why}");
    }
}
