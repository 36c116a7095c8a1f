//! What does the metadata of a bitcode module say?
//!
//! Nodes are numbered in the order of their records, strings first. References count from 1 where there may be none.

use super::super::bitstream::{Cursor, Item, Record};
use super::text;
use crate::error::Result;
use crate::limits;
use crate::source::{Inlined, InlinedText, SourceLocation};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug)]
enum Node<'a> {
    Text(&'a [u8]),
    /// Type and value.
    Value(u32),
    /// Record by its code.
    Record(u64, Vec<u32>),
    Other,
}

/// Metadata of a module.
#[derive(Debug, Default)]
pub(super) struct Metadata<'a> {
    nodes: Vec<Node<'a>>,
    /// Numbers of nodes by the names of lists.
    named: HashMap<String, Vec<u32>>,
    /// Names of kinds of attachments.
    kinds: HashMap<u64, String>,
    /// Attachments of global values that are declared only, by number.
    declared: HashMap<u32, Vec<u64>>,
    /// Operands that are kept.
    kept: usize,
    /// Text of inlined functions that was told.
    told: InlinedText,
    /// Paths by the numbers of their names and folders: each once for all places in the file.
    files: RefCell<HashMap<[u32; 2], Arc<str>>>,
}

/// Codes of records.
mod code {
    pub(crate) const VALUE: u64 = 2;
    pub(crate) const NODE: u64 = 3;
    pub(crate) const NAME: u64 = 4;
    pub(crate) const DISTINCT_NODE: u64 = 5;
    pub(crate) const KIND: u64 = 6;
    pub(crate) const LOCATION: u64 = 7;
    pub(crate) const NAMED_NODE: u64 = 10;
    pub(crate) const FILE: u64 = 16;
    pub(crate) const SUBPROGRAM: u64 = 21;
    pub(crate) const LEXICAL_BLOCK: u64 = 22;
    pub(crate) const LEXICAL_BLOCK_FILE: u64 = 23;
    pub(crate) const STRINGS: u64 = 35;
    pub(crate) const DECLARATION: u64 = 36;
    pub(crate) const INDEX_OFFSET: u64 = 38;
    pub(crate) const INDEX: u64 = 39;
}

/// Depth to which scopes and inlined calls are followed.
const MAX_SCOPES: usize = 256;

impl<'a> Metadata<'a> {
    /// Reads a block, of the module or of a function.
    pub(super) fn read(&mut self, mut block: Cursor<'a>) -> Result<()> {
        let mut name = String::new();
        while let Some(item) = block.next()? {
            let Item::Record(record) = item else { continue };
            let number = |operand: &u64| u32::try_from(*operand).unwrap_or(u32::MAX);
            match record.code {
                code::STRINGS => self.strings(&block, &record)?,
                code::NAME => name = text(&record.operands),
                code::NAMED_NODE => {
                    let nodes = record.operands.iter().map(number).collect();
                    self.named.insert(std::mem::take(&mut name), nodes);
                }
                code::KIND => self.kind(&record.operands),
                code::DECLARATION => {
                    if let Some((value, pairs)) = record.operands.split_first() {
                        self.declared.insert(number(value), pairs.to_vec());
                    }
                }
                code::INDEX | code::INDEX_OFFSET => {}
                code::VALUE => {
                    let value = record.operands.get(1).map_or(u32::MAX, number);
                    self.push(&block, Node::Value(value))?;
                }
                code @ (code::NODE
                | code::DISTINCT_NODE
                | code::LOCATION
                | code::FILE
                | code::SUBPROGRAM
                | code::LEXICAL_BLOCK
                | code::LEXICAL_BLOCK_FILE) => {
                    // The scope, names and file of a function are enough.
                    let all = if code == code::SUBPROGRAM { 6 } else { usize::MAX };
                    let operands: Vec<u32> = record.operands.iter().take(all).map(number).collect();
                    let code = if code == code::DISTINCT_NODE { code::NODE } else { code };
                    self.kept = self.kept.saturating_add(operands.len());
                    self.push(&block, Node::Record(code, operands))?;
                }
                _ => self.push(&block, Node::Other)?,
            }
        }
        Ok(())
    }

    /// Reads the block of kinds.
    pub(super) fn read_kinds(&mut self, mut block: Cursor<'a>) -> Result<()> {
        while let Some(item) = block.next()? {
            if let Item::Record(record) = item
                && record.code == code::KIND
            {
                self.kind(&record.operands);
            }
        }
        Ok(())
    }

    fn kind(&mut self, operands: &[u64]) {
        if let Some((number, letters)) = operands.split_first().filter(|_| self.kinds.len() < limits::MAX_NATIVE_ITEMS)
        {
            self.kinds.insert(*number, text(letters));
        }
    }

    fn push(&mut self, block: &Cursor<'_>, node: Node<'a>) -> Result<()> {
        self.kept = self.kept.saturating_add(1);
        if self.kept > limits::MAX_BITCODE_METADATA {
            return Err(block.error("more metadata than this tool reads"));
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Texts: their lengths, then their letters, in one blob.
    fn strings(&mut self, block: &Cursor<'_>, record: &Record<'a>) -> Result<()> {
        let [count, offset] = record.operands.as_slice() else { return Err(block.error("strings without a count")) };
        let offset = usize::try_from(*offset).unwrap_or(usize::MAX);
        let (Some(lengths), Some(mut letters)) = (record.blob.get(..offset), record.blob.get(offset..)) else {
            return Err(block.error("strings that pass the end"));
        };
        let mut lengths = Cursor::new(lengths);
        for _ in 0..*count {
            let length = usize::try_from(lengths.vbr(6)?).unwrap_or(usize::MAX);
            let Some((own, rest)) = letters.split_at_checked(length) else {
                return Err(block.error("a string that passes the end"));
            };
            letters = rest;
            self.push(block, Node::Text(own))?;
        }
        Ok(())
    }

    /// Returns the number of nodes, to which [`Metadata::truncate`] goes back after a function.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
        // Numbers of the function's own texts come to mean others.
        self.files.get_mut().clear();
    }

    /// Returns the nodes of a named list.
    pub(super) fn list(&self, name: &str) -> &[u32] {
        self.named.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the attachments of a global value that is declared only.
    pub(super) fn of_declaration(&self, value: u32) -> &[u64] {
        self.declared.get(&value).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the node that pairs of kind and node attach under one of some names.
    pub(super) fn attached(&self, pairs: &[u64], names: &[&str]) -> Option<u32> {
        let pairs = pairs.chunks_exact(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
        let mut found =
            pairs.filter(|(kind, _)| self.kinds.get(kind).is_some_and(|kind| names.contains(&kind.as_str())));
        found.next().and_then(|(_, node)| u32::try_from(*node).ok())
    }

    fn get(&self, number: u32) -> Option<&Node<'a>> {
        self.nodes.get(usize::try_from(number).ok()?)
    }

    /// Returns what a node refers to; nothing where it is no plain node.
    pub(super) fn operands(&self, number: u32) -> &[u32] {
        match self.get(number) {
            Some(Node::Record(code::NODE, operands)) => operands,
            _ => &[],
        }
    }

    /// Returns the text that a reference means.
    pub(super) fn text(&self, reference: u32) -> Option<String> {
        match self.get(reference.checked_sub(1)?)? {
            Node::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// Returns the bytes of the text that a reference means.
    fn length(&self, reference: u32) -> usize {
        match reference.checked_sub(1).and_then(|at| self.get(at)) {
            Some(Node::Text(bytes)) => bytes.len(),
            _ => 0,
        }
    }

    /// Returns the number of the value that a reference means.
    pub(super) fn value(&self, reference: u32) -> Option<u32> {
        match self.get(reference.checked_sub(1)?)? {
            Node::Value(value) => Some(*value),
            _ => None,
        }
    }

    fn record(&self, reference: u32) -> Option<(u64, &[u32])> {
        match self.get(reference.checked_sub(1)?)? {
            Node::Record(code, operands) => Some((*code, operands)),
            _ => None,
        }
    }

    /// Returns the place of a line in a scope, and the functions that it was inlined from, outermost first.
    pub(super) fn place(
        &self,
        line: u32,
        column: u32,
        scope: u32,
        inlined: u32,
    ) -> (Option<SourceLocation>, Vec<Inlined>) {
        let place = self.in_scope(line, column, scope);
        let (mut calls, mut function, mut at) = (Vec::new(), scope, inlined);
        let mut room = limits::MAX_INLINED_TEXT;
        while let Some((code::LOCATION, [_, line, column, scope, next, ..])) = self.record(at)
            && calls.len() < MAX_SCOPES
        {
            // The scope of a location counts from 0.
            let scope = scope.saturating_add(1);
            let call = self.in_scope(*line, *column, scope);
            let name = self.function(function).unwrap_or_default();
            if !self.told.fits(&mut room, &name, call.as_ref().map(|call| &*call.file)) {
                break;
            }
            calls.push(Inlined { function: name, call });
            (function, at) = (scope, *next);
        }
        calls.reverse();
        (place, calls)
    }

    fn in_scope(&self, line: u32, column: u32, scope: u32) -> Option<SourceLocation> {
        let file = self.scopes(scope).find_map(|(code, operands)| match code {
            code::SUBPROGRAM => operands.get(4).copied(),
            _ => operands.get(2).copied(),
        })?;
        let Some((code::FILE, [_, name, folder, ..])) = self.record(file) else { return None };
        if line == 0 || self.length(*name).saturating_add(self.length(*folder)) >= limits::MAX_NAME {
            return None;
        }
        let known = self.files.borrow().get(&[*name, *folder]).cloned();
        let file = match known {
            Some(known) => known,
            None => {
                let text = self.text(*name)?;
                let file: Arc<str> = match self.text(*folder) {
                    Some(folder) if !text.starts_with('/') && !folder.is_empty() => format!("{folder}/{text}").into(),
                    _ => text.into(),
                };
                self.files.borrow_mut().insert([*name, *folder], file.clone());
                file
            }
        };
        Some(SourceLocation { file, line, column })
    }

    fn function(&self, scope: u32) -> Option<String> {
        let (_, operands) = self.scopes(scope).find(|(code, _)| *code == code::SUBPROGRAM)?;
        let named = |at: usize| operands.get(at).and_then(|name| self.text(*name)).filter(|name| !name.is_empty());
        named(3).or_else(|| named(2))
    }

    /// Returns a scope and those around it, up to the function.
    fn scopes(&self, scope: u32) -> impl Iterator<Item = (u64, &[u32])> {
        let next = |(code, operands): &(u64, &[u32])| match *code {
            code::LEXICAL_BLOCK | code::LEXICAL_BLOCK_FILE => self.record(*operands.get(1)?),
            _ => None,
        };
        let known = |(code, _): &(u64, &[u32])| {
            matches!(*code, code::SUBPROGRAM | code::LEXICAL_BLOCK | code::LEXICAL_BLOCK_FILE)
        };
        std::iter::successors(self.record(scope), next).take_while(known).take(MAX_SCOPES)
    }
}
