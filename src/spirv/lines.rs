//! Which line of the source does an instruction come from?
//!
//! Locations come from `OpLine`, from `OpenCL.DebugInfo.100` (literals, with `OpLine` for lines) and from
//! `NonSemantic.Shader.DebugInfo.100` and `.200` (`DebugLine`, whose operands are ids of constants), together with the
//! calls that inlining removed. Instruction numbers are those of the extended sets' specifications.

use super::grammar::OperandContext;
use super::grammar::Set;
use super::index::Index;
use super::op;
use super::types;
use super::words::Instruction;
use crate::limits;
use crate::source::{Inlined, SourceLocation};
use std::collections::HashMap;
use std::sync::Arc;

/// Depth to which inlined calls are followed; deeper ones are left out.
const MAX_INLINED: usize = 64;
/// Depth to which nested scopes are followed.
const MAX_SCOPES: usize = 256;

const DEBUG_FUNCTION: u32 = 20;
const DEBUG_LEXICAL_BLOCK: u32 = 21;
const DEBUG_LEXICAL_BLOCK_DISCRIMINATOR: u32 = 22;
const DEBUG_SCOPE: u32 = 23;
const DEBUG_NO_SCOPE: u32 = 24;
const DEBUG_INLINED_AT: u32 = 25;
const DEBUG_SOURCE: u32 = 35;
const DEBUG_LINE: u32 = 103;
const DEBUG_NO_LINE: u32 = 104;

#[derive(Debug, Clone, Copy)]
struct Line {
    /// Id of an `OpString` or of a `DebugSource`.
    source: u32,
    line: u32,
    column: u32,
}

/// Tracks the source location through the instructions of functions.
#[derive(Debug)]
pub(crate) struct LineTracker<'i, 'a> {
    index: &'i Index<'a>,
    line: Option<Line>,
    /// Ids of the scope and of its `DebugInlinedAt` (0 for none).
    scope: Option<(u32, u32)>,
    /// Names of files, by the id of the `OpString` or `DebugSource`: each once for all places in it.
    files: HashMap<u32, Option<Arc<str>>>,
}

impl<'i, 'a> LineTracker<'i, 'a> {
    /// Creates a tracker for functions one after the other. At the begin of each no location is known.
    pub(crate) fn new(index: &'i Index<'a>) -> LineTracker<'i, 'a> {
        LineTracker { index, line: None, scope: None, files: HashMap::new() }
    }

    /// Advances past an instruction.
    #[inline]
    pub(crate) fn advance(&mut self, instruction: &Instruction<'_>) {
        match instruction.opcode {
            // A line holds to the end of its block.
            op::LABEL | op::FUNCTION => (self.line, self.scope) = (None, None),
            op::LINE => {
                let [source, line, column] = [0, 1, 2].map(|at| instruction.word(at));
                self.line = Some(Line { source, line, column });
            }
            op::NO_LINE => self.line = None,
            op::EXT_INST => self.advance_extended(instruction),
            _ => {}
        }
    }

    fn advance_extended(&mut self, instruction: &Instruction<'_>) {
        let set = self.index.set(instruction.word(2));
        if !matches!(set, Set::OpenClDebug | Set::ShaderDebug) {
            return;
        }
        match instruction.word(3) {
            DEBUG_SCOPE => self.scope = Some((instruction.word(4), instruction.word(5))),
            DEBUG_NO_SCOPE => self.scope = None,
            DEBUG_LINE if set == Set::ShaderDebug => {
                let number = |at| number(self.index, set, instruction.word(at));
                self.line = Some(Line { source: instruction.word(4), line: number(5), column: number(7) });
            }
            DEBUG_NO_LINE if set == Set::ShaderDebug => self.line = None,
            _ => {}
        }
    }

    /// Returns the location of the next instruction.
    pub(crate) fn location(&mut self) -> Option<SourceLocation> {
        let line = self.line?;
        Some(SourceLocation { file: self.file(line.source)?, line: line.line, column: line.column })
    }

    /// Returns the file name of an `OpString` or a `DebugSource`; none where it is longer than any path.
    fn file(&mut self, source: u32) -> Option<Arc<str>> {
        let index = self.index;
        let read = || {
            string(index, source, limits::MAX_NAME).or_else(|| {
                let (_, source) = debug(index, source).filter(|(_, found)| found.word(3) == DEBUG_SOURCE)?;
                string(index, source.word(4), limits::MAX_NAME)
            })
        };
        self.files.entry(source).or_insert_with(|| read().map(Arc::from)).clone()
    }

    /// Returns the functions that the next instruction was inlined from, outermost first.
    pub(crate) fn inlined(&mut self) -> Vec<Inlined> {
        let mut frames: Vec<Inlined> = Vec::new();
        let Some((mut scope, mut at)) = self.scope else { return frames };
        let mut room = limits::MAX_INLINED_TEXT;
        while at != 0 && frames.len() < MAX_INLINED {
            let Some((set, inlined)) = debug(self.index, at).filter(|(_, found)| found.word(3) == DEBUG_INLINED_AT)
            else {
                break;
            };
            let caller = inlined.word(5);
            let call = source_of(self.index, caller).and_then(|source| self.file(source));
            let function = function_of(self.index, scope).unwrap_or_default();
            if !self.index.told.fits(&mut room, &function, call.as_deref()) {
                break;
            }
            frames.push(Inlined {
                function,
                call: call.map(|file| SourceLocation {
                    file,
                    line: number(self.index, set, inlined.word(4)),
                    column: 0,
                }),
            });
            (scope, at) = (caller, inlined.word(6));
        }
        frames.reverse();
        frames
    }
}

/// Returns the value of an operand: a literal in the older set, the id of a constant in the newer ones.
fn number(index: &Index<'_>, set: Set, word: u32) -> u32 {
    match set {
        Set::ShaderDebug => types::constant_bits(index, word).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0),
        _ => word,
    }
}

/// Returns the debug instruction that defines an id.
fn debug<'a>(index: &Index<'a>, id: u32) -> Option<(Set, Instruction<'a>)> {
    let instruction = index.defining(id).filter(|instruction| instruction.opcode == op::EXT_INST)?;
    let set = index.set(instruction.word(2));
    matches!(set, Set::OpenClDebug | Set::ShaderDebug).then_some((set, instruction))
}

/// Returns an `OpString` of at most so many bytes; longer ones, which many instructions may share, are not even read.
fn string(index: &Index<'_>, id: u32, most: usize) -> Option<String> {
    index.defining(id).filter(|found| found.len().saturating_mul(4) <= most.saturating_add(8))?;
    index.string(id)
}

/// Returns the name of the function that contains a scope: its linkage name, or else its plain one.
fn function_of(index: &Index<'_>, scope: u32) -> Option<String> {
    let mut scope = scope;
    for _ in 0..MAX_SCOPES {
        let (_, found) = debug(index, scope)?;
        match found.word(3) {
            DEBUG_FUNCTION => {
                let text = |id: u32| string(index, id, limits::MAX_INLINED_TEXT);
                return text(found.word(10)).filter(|name| !name.is_empty()).or_else(|| text(found.word(4)));
            }
            DEBUG_LEXICAL_BLOCK => scope = found.word(7),
            DEBUG_LEXICAL_BLOCK_DISCRIMINATOR => scope = found.word(6),
            _ => return None,
        }
    }
    None
}

/// Returns the id of the `DebugSource` of a scope.
fn source_of(index: &Index<'_>, scope: u32) -> Option<u32> {
    let (_, found) = debug(index, scope)?;
    match found.word(3) {
        DEBUG_FUNCTION => Some(found.word(6)),
        DEBUG_LEXICAL_BLOCK | DEBUG_LEXICAL_BLOCK_DISCRIMINATOR => Some(found.word(4)),
        _ => None,
    }
}
