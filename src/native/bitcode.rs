//! What does LLVM bitcode say of itself?
//!
//! The identification block names the producer, the module block the target triple, and its function records the calling
//! convention, which for kernels is one of their own; names stand in the string table. Everything else is for LLVM.
//! Record numbers are those of `llvm/Bitcode/LLVMBitCodes.h`, conventions those of `llvm/IR/CallingConv.h`.

mod function;
mod metadata;
mod module;
mod plain;
mod types;

use super::bitstream::{Cursor, Item};
use super::{Items, Kernel, Part, Read, Room};
use crate::bundle::format::Format;
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use std::collections::BTreeMap;

pub use module::{Argument, Call, Function, Module, Numbered, Recorded, Use, Variable};
pub(crate) use plain::plain;

mod block {
    pub(crate) const MODULE: u64 = 8;
    pub(crate) const ATTRIBUTES: u64 = 9;
    pub(crate) const ATTRIBUTE_GROUPS: u64 = 10;
    pub(crate) const CONSTANTS: u64 = 11;
    pub(crate) const FUNCTION: u64 = 12;
    pub(crate) const IDENTIFICATION: u64 = 13;
    pub(crate) const SYMBOLS: u64 = 14;
    pub(crate) const METADATA: u64 = 15;
    pub(crate) const ATTACHMENTS: u64 = 16;
    pub(crate) const TYPES: u64 = 17;
    pub(crate) const METADATA_KINDS: u64 = 22;
    pub(crate) const STRTAB: u64 = 23;
}

/// `PTX_Kernel`, `SPIR_KERNEL`, `AMDGPU_KERNEL`.
const KERNEL_CONVENTIONS: [u64; 3] = [71, 76, 91];

/// Returns the stream in a file, and where it begins.
fn stream(data: &[u8]) -> Result<(usize, &[u8])> {
    // A wrapper `{0x0b17c0de, version, offset, size, cpu}` may stand around it.
    let (at, len) = match bytes::u32_at(data, 0) {
        Some(0x0b17_c0de) => {
            let field = |at| bytes::u32_at(data, at).and_then(|value| usize::try_from(value).ok());
            field(8).zip(field(12)).ok_or_else(|| Error::at(0, "the wrapper of the bitcode is cut short"))?
        }
        _ => (0, data.len()),
    };
    let stream =
        bytes::slice_at(data, at, len).ok_or_else(|| Error::at(8, "the wrapper of the bitcode passes the end"))?;
    if bytes::u32_at(stream, 0) != Some(0xdec0_4342) {
        return Err(Error::at(at as u64, "this is no LLVM bitcode"));
    }
    Ok((at, stream))
}

impl Module {
    /// Reads the first module of a bitcode file, with the bodies of its functions.
    ///
    /// # Errors
    /// `Input` where the file is no bitcode. A stream that breaks later is not an error: see [`Module::stopped`].
    pub fn read(data: &[u8]) -> Result<Module> {
        let (at, stream) = stream(data)?;
        let mut top = Cursor::new(stream);
        top.skip(4);
        let (mut module, mut strings, mut stopped) = (None, None, None);
        loop {
            match top.next() {
                Ok(Some(Item::Block(block::MODULE, _))) if module.is_some() => {
                    stopped = Some(Error::input("a second module, of which nothing is read"));
                }
                Ok(Some(Item::Block(block::MODULE, inner))) => module = Some(inner),
                Ok(Some(Item::Block(block::STRTAB, inner))) => strings = strings.or(table(inner).ok().flatten()),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    stopped = Some(error);
                    break;
                }
            }
        }
        let module = module.map(|inner| module::Reader::read(inner, strings.unwrap_or_default()));
        let mut module = module.unwrap_or_default();
        let stopped = module.stopped.take().or(stopped);
        module.stopped = stopped.map(|error| {
            let offset = error.offset().unwrap_or(0).saturating_add(at as u64);
            error.without_offset().with_offset(offset)
        });
        Ok(module)
    }
}

/// Returns the string table of its block.
fn table<'a>(mut block: Cursor<'a>) -> Result<Option<&'a [u8]>> {
    while let Some(item) = block.next()? {
        if let Item::Record(record) = item
            && record.code == 1
        {
            return Ok(Some(record.blob));
        }
    }
    Ok(None)
}

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let (at, stream) = stream(data)?;
    let mut module = Bitcode::new(data);
    let mut problems = Vec::new();
    if let Err(error) = module.top(stream) {
        let offset = error.offset().unwrap_or(0).saturating_add(at as u64);
        problems.push(error.without_offset().with_offset(offset));
    }
    Ok(Read { part: module.finish(items), problems })
}

/// The functions defined as kernels and the string table that holds their names, where all of the stream can be read.
pub(crate) fn kernels_and_strings(data: &[u8]) -> Option<(Vec<String>, &[u8])> {
    let mut module = Bitcode::new(data);
    module.top(data).ok()?;
    let strings = module.strings;
    let room = Room::of_one(data.len());
    Some((module.finish(&Items::new(&room)).kernels.into_iter().map(|kernel| kernel.name.clone()).collect(), strings))
}

struct Bitcode<'a> {
    part: Part,
    /// Names of the kernels in the string table.
    functions: Vec<Place>,
    strings: &'a [u8],
    /// Names of the kernels of a module without a string table.
    names: Vec<String>,
}

impl<'a> Bitcode<'a> {
    fn new(data: &[u8]) -> Bitcode<'a> {
        let part = Part::new(Format::LlvmBitcode, data.len());
        Bitcode { part, functions: Vec::new(), strings: &[], names: Vec::new() }
    }

    fn top(&mut self, stream: &'a [u8]) -> Result<()> {
        // Blocks begin at the byte after the magic number; 32-bit alignment counts from the magic number.
        let mut top = Cursor::new(stream);
        top.skip(4);
        while let Some(item) = top.next()? {
            match item {
                Item::Block(block::IDENTIFICATION, inner) => {
                    // Record 1: the producer, a letter an operand.
                    self.part.producer = text_record(inner, 1)?.map(|text| text.to_owned());
                }
                Item::Block(block::MODULE, inner) => self.module(inner)?,
                Item::Block(block::STRTAB, inner) => self.strings = table(inner)?.unwrap_or(self.strings),
                _ => {}
            }
        }
        Ok(())
    }

    fn module(&mut self, mut module: Cursor<'a>) -> Result<()> {
        let (mut version, mut values, mut numbers) = (WITH_STRTAB, 0u64, Vec::new());
        while let Some(item) = module.next()? {
            let record = match item {
                Item::Block(block::SYMBOLS, inner) if version < WITH_STRTAB && !numbers.is_empty() => {
                    let mut names = symbols(inner)?;
                    self.names.extend(numbers.drain(..).filter_map(|number| names.remove(&number)));
                    continue;
                }
                Item::Block(..) => continue,
                Item::Record(record) => record,
            };
            let named = named(&record.operands, version);
            match (record.code, named) {
                (1, _) => version = record.operands.first().copied().unwrap_or(0),
                (2, _) => self.part.stated = text(&record.operands),
                // [name, type, convention, is declaration, ...]
                (8, Some((name, [_, convention, 0, ..]))) if KERNEL_CONVENTIONS.contains(convention) => match name {
                    Some(place) => self.functions.push(place),
                    None => numbers.push(values),
                },
                _ => {}
            }
            values = values.saturating_add(u64::from(GLOBALS.contains(&record.code)));
        }
        Ok(())
    }

    fn finish(mut self, items: &Items<'_>) -> Part {
        let names = self.functions.iter().filter_map(|(offset, len)| {
            let name = bytes::slice_at(self.strings, usize::try_from(*offset).ok()?, usize::try_from(*len).ok()?)?;
            Some(std::str::from_utf8(name).ok()?.to_owned())
        });
        let names = names.chain(std::mem::take(&mut self.names)).map_while(|name| items.take(&name).map(|()| name));
        self.part.kernels = names.map(|name| Kernel { name, ..Kernel::default() }.into()).collect();
        self.part
    }
}

/// Version of modules since which names are in a table of strings; before (LLVM 4), they are in a block of symbols.
const WITH_STRTAB: u64 = 2;
/// Records of values that all functions share: variables, functions, aliases.
const GLOBALS: [u64; 5] = [7, 8, 9, 14, 18];

/// Offset and length of a name in the table of strings.
type Place = (u64, u64);

/// Takes the place of a name among the strings, where the version has them, from the operands of a global value.
fn named(operands: &[u64], version: u64) -> Option<(Option<Place>, &[u64])> {
    match operands {
        rest if version < WITH_STRTAB => Some((None, rest)),
        [offset, len, rest @ ..] => Some((Some((*offset, *len)), rest)),
        _ => None,
    }
}

/// Returns the names in a block of symbols, by the numbers of their values.
fn symbols(mut block: Cursor<'_>) -> Result<BTreeMap<u64, String>> {
    let mut names = BTreeMap::new();
    while let Some(item) = block.next()? {
        let Item::Record(record) = item else { continue };
        if names.len() >= limits::MAX_BITCODE_METADATA {
            return Err(block.error("more names than this tool reads"));
        }
        match (record.code, record.operands.as_slice()) {
            // [value, letters], and for functions with a body [value, place of the body, letters].
            (1, [value, letters @ ..]) | (3, [value, _, letters @ ..]) => _ = names.insert(*value, text(letters)),
            _ => {}
        }
    }
    Ok(names)
}

/// The text of the first record of that code.
fn text_record(mut block: Cursor<'_>, code: u64) -> Result<Option<String>> {
    while let Some(item) = block.next()? {
        if let Item::Record(record) = item
            && record.code == code
        {
            return Ok(Some(text(&record.operands)));
        }
    }
    Ok(None)
}

fn text(letters: &[u64]) -> String {
    letters.iter().filter_map(|&letter| char::from_u32(u32::try_from(letter).ok()?)).collect()
}
