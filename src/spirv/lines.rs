//! Which line of the source does an instruction come from?
//!
//! From `OpLine`, from `OpenCL.DebugInfo.100` (literals, with `OpLine` for lines) and from
//! `NonSemantic.Shader.DebugInfo.100` and `.200` (`DebugLine`, whose operands are ids of constants), with the calls that
//! inlining has removed. Instruction numbers are those of the extended sets' specifications.

use super::constants;
use super::grammar::Set;
use super::index::Index;
use super::op;
use super::operands::Surroundings;
use super::words::Instruction;

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
}

/// A function that was inlined, and where it was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inlined {
    /// The function's name, mangled where the debug information has it so.
    pub function: String,
    /// Where it was called.
    pub call: Option<Place>,
}

/// Calls within calls that are followed; deeper ones are left out.
const MAX_INLINED: usize = 64;
/// Scopes within scopes that are followed.
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
    /// The id of an `OpString` or of a `DebugSource`.
    source: u32,
    line: u32,
    column: u32,
}

/// Follows the lines through the instructions of a function.
#[derive(Debug)]
pub struct Lines<'i, 'a> {
    index: &'i Index<'a>,
    line: Option<Line>,
    /// The scope, and what it was inlined at (0 for nothing).
    scope: Option<(u32, u32)>,
}

impl<'i, 'a> Lines<'i, 'a> {
    /// At the begin of a function, where nothing is known.
    pub fn new(index: &'i Index<'a>) -> Lines<'i, 'a> {
        Lines { index, line: None, scope: None }
    }

    /// Goes past an instruction.
    #[inline]
    pub fn pass(&mut self, instruction: &Instruction<'_>) {
        match instruction.opcode {
            // A line ends with its block.
            op::LABEL | op::FUNCTION => (self.line, self.scope) = (None, None),
            op::LINE => {
                let [source, line, column] = [0, 1, 2].map(|at| instruction.word(at));
                self.line = Some(Line { source, line, column });
            }
            op::NO_LINE => self.line = None,
            op::EXT_INST => self.pass_extended(instruction),
            _ => {}
        }
    }

    fn pass_extended(&mut self, instruction: &Instruction<'_>) {
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

    /// Where the instruction that follows comes from.
    pub fn place(&self) -> Option<Place> {
        let line = self.line?;
        Some(Place { file: file(self.index, line.source)?, line: line.line, column: line.column })
    }

    /// The functions that the instruction that follows was inlined from, outermost first.
    pub fn inlined(&self) -> Vec<Inlined> {
        let mut frames = Vec::new();
        let Some((mut scope, mut at)) = self.scope else { return frames };
        while at != 0 && frames.len() < MAX_INLINED {
            let Some((set, inlined)) = debug(self.index, at).filter(|(_, found)| found.word(3) == DEBUG_INLINED_AT)
            else {
                break;
            };
            let caller = inlined.word(5);
            let call = source_of(self.index, caller).and_then(|source| file(self.index, source));
            frames.push(Inlined {
                function: function_of(self.index, scope).unwrap_or_default(),
                call: call.map(|file| Place { file, line: number(self.index, set, inlined.word(4)), column: 0 }),
            });
            (scope, at) = (caller, inlined.word(6));
        }
        frames.reverse();
        frames
    }
}

/// Literals in the older set, ids of constants in the newer ones.
fn number(index: &Index<'_>, set: Set, word: u32) -> u32 {
    match set {
        Set::ShaderDebug => constants::bits(index, word).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0),
        _ => word,
    }
}

/// The instruction of a debug set that an id stands for.
fn debug<'a>(index: &Index<'a>, id: u32) -> Option<(Set, Instruction<'a>)> {
    let instruction = index.defining(id).filter(|instruction| instruction.opcode == op::EXT_INST)?;
    let set = index.set(instruction.word(2));
    matches!(set, Set::OpenClDebug | Set::ShaderDebug).then_some((set, instruction))
}

/// The name behind an `OpString` or a `DebugSource`.
fn file(index: &Index<'_>, source: u32) -> Option<String> {
    index.string(source).or_else(|| {
        let (_, source) = debug(index, source).filter(|(_, found)| found.word(3) == DEBUG_SOURCE)?;
        index.string(source.word(4))
    })
}

/// The function, from a scope in it: its linkage name, or else its plain one.
fn function_of(index: &Index<'_>, scope: u32) -> Option<String> {
    let mut scope = scope;
    for _ in 0..MAX_SCOPES {
        let (_, found) = debug(index, scope)?;
        match found.word(3) {
            DEBUG_FUNCTION => {
                let named = index.string(found.word(10)).filter(|name| !name.is_empty());
                return named.or_else(|| index.string(found.word(4)));
            }
            DEBUG_LEXICAL_BLOCK => scope = found.word(7),
            DEBUG_LEXICAL_BLOCK_DISCRIMINATOR => scope = found.word(6),
            _ => return None,
        }
    }
    None
}

/// The `DebugSource` of a scope.
fn source_of(index: &Index<'_>, scope: u32) -> Option<u32> {
    let (_, found) = debug(index, scope)?;
    match found.word(3) {
        DEBUG_FUNCTION => Some(found.word(6)),
        DEBUG_LEXICAL_BLOCK | DEBUG_LEXICAL_BLOCK_DISCRIMINATOR => Some(found.word(4)),
        _ => None,
    }
}
