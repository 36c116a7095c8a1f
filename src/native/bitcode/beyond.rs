//! Does bitcode have a driver for CPUs do more than compile it?
//!
//! Assembly has LLVM's assembler read any file (`.incbin`), and constructors and resolvers are called when the code is loaded, which
//! a driver does once it has linked a program. LLVM finds functions by offsets that stand beside them, and the ends of blocks by
//! marks; so that it reads what was looked at here, both have to agree with the lengths of blocks, as they do in what LLVM writes.

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
/// The section of annotations, which no loader knows.
const METADATA_SECTION: &[u8] = b"llvm.metadata";
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

/// The findings so far.
#[derive(Default)]
struct Walk {
    told: Option<String>,
    modules: usize,
    /// Words at which blocks of functions and the symbol tables of the module begin.
    begun: HashSet<u64>,
    /// Words at which LLVM looks for either.
    wanted: Vec<u64>,
}

impl Walk {
    fn top(&mut self, data: &[u8]) -> Result<()> {
        let mut top = Cursor::new(data);
        // LLVM counts words from the mark of the bitcode on. In a wrapper that would begin elsewhere.
        if !data.starts_with(&[0x42, 0x43, 0xc0, 0xde]) || !data.len().is_multiple_of(4) {
            return Err(Error::at(0, "this is no plain bitcode"));
        }
        top.skip(4);
        while let Some(item) = top.next()? {
            match item {
                Item::Block(block::MODULE, inner) => {
                    self.modules = self.modules.saturating_add(1);
                    self.block(block::MODULE, inner)?;
                }
                Item::Block(id, inner) => self.block(id, inner)?,
                Item::Record(_) => return Err(Error::at(top.byte(), "a record outside of blocks")),
            }
        }
        if top.byte() == data.len() as u64 { Ok(()) } else { Err(Error::at(top.byte(), "what is behind it")) }
    }

    fn block(&mut self, id: u64, mut block: Cursor<'_>) -> Result<()> {
        let mut version = 0;
        while let Some(item) = block.next()? {
            match item {
                Item::Record(record) => {
                    if id == block::MODULE && record.code == VERSION {
                        version = record.operands.first().copied().unwrap_or(0);
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
                        self.begun.insert(word);
                    }
                    // Blocks nest as deep as functions do: constants in a function in a module.
                    if !matches!(id, block::MODULE | block::FUNCTION) {
                        return Err(Error::at(block.byte(), format!("a block within block {id}")));
                    }
                    self.block(inner_id, inner)?;
                }
            }
        }
        if !block.ended_whole() {
            return Err(Error::at(block.byte(), format!("an end of block {id} that is not where its length says")));
        }
        if id == block::MODULE && version != WITH_STRING_TABLE {
            return Err(Error::at(block.byte(), "a module of another version"));
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
                self.wanted.extend(record.operands.first());
                None
            }
            (block::CONSTANTS, code) if ASSEMBLY.contains(&code) => Some("it has inline assembly".to_owned()),
            (block::SYMBOLS, FUNCTION_ENTRY) => {
                self.wanted.extend(record.operands.get(1));
                None
            }
            _ => None,
        }
    }

    /// Whether LLVM would look for a function or a table where none begins.
    fn misplaced(&self) -> bool {
        self.wanted.iter().any(|word| !self.begun.contains(word))
    }
}
