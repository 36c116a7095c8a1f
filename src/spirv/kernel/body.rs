//! Do two kernels have the same code under two names?
//!
//! A kernel's code is written as words that depend on neither names nor the ids of its module: everything it reaches,
//! in the order in which it is met, ids numbered by first use. Equal words are equal code.

use crate::limits;
use crate::spirv::calls::Reach;
use crate::spirv::grammar::Set;
use crate::spirv::grammar::{OperandContext as _, Role};
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use rspirv::spirv::Decoration;
use std::collections::HashMap;

/// Canonical numbers of ids, kernel by kernel of one module.
#[derive(Debug)]
pub struct Numbers {
    /// Numbers of defined ids, by the number of the defining instruction: the kernel that met the id last (counted from
    /// 1), and the id's number in that kernel.
    defined: Vec<(u32, u32)>,
    /// Numbers of ids that nothing defines.
    undefined: HashMap<u32, u32>,
    kernel: u32,
    /// Ids that the current kernel has met, by number.
    met: Vec<u32>,
    /// Decorations of structures' members, by structure: the numbers of the instructions. None where groups of decorations have some.
    members: HashMap<u32, Option<Vec<usize>>>,
    /// Words of execution modes, decorations, and what only they name that may still be written, by all kernels: thousands may share a
    /// function that has thousands.
    annotations: usize,
}

impl Numbers {
    /// Creates empty numbers for a module.
    pub fn new(index: &Index<'_>) -> Numbers {
        let (defined, annotations) = (vec![(0, 0); index.len()], limits::compared_annotations(index.len()));
        let mut members: HashMap<u32, Option<Vec<usize>>> = HashMap::new();
        let before = index.functions.first().map_or(index.len(), |first| first.instructions.start);
        for (at, instruction) in index.instructions(0..before) {
            match instruction.opcode {
                op::MEMBER_DECORATE | op::MEMBER_DECORATE_STRING => {
                    let own = members.entry(instruction.word(0)).or_insert_with(|| Some(Vec::new()));
                    own.iter_mut().for_each(|own| own.push(at));
                }
                op::GROUP_MEMBER_DECORATE => {
                    let structures = instruction.words().skip(1).step_by(2);
                    members.extend(structures.map(|structure| (structure, None)));
                }
                _ => {}
            }
        }
        Numbers { defined, undefined: HashMap::new(), kernel: 0, met: Vec::new(), members, annotations }
    }

    fn begin(&mut self) {
        self.kernel = self.kernel.saturating_add(1);
        self.undefined.clear();
        self.met.clear();
    }

    #[inline]
    fn number_of(&mut self, index: &Index<'_>, id: u32) -> u32 {
        let next = self.met.len() as u32;
        let number = match index.definition(id).and_then(|at| self.defined.get_mut(at)) {
            Some((kernel, number)) if *kernel == self.kernel => *number,
            Some(place) => {
                *place = (self.kernel, next);
                next
            }
            None => *self.undefined.entry(id).or_insert(next),
        };
        if number == next {
            self.met.push(id);
        }
        number
    }
}

/// Returns the words of a kernel's code, or none where it reaches an instruction of an unknown opcode, or more decorations than are
/// looked at.
pub fn words(index: &Index<'_>, reach: &Reach, numbers: &mut Numbers) -> Option<Vec<u32>> {
    if !reach.complete || numbers.annotations == 0 {
        return None;
    }
    numbers.begin();
    let mut body = Body { index, numbers, words: Vec::new() };
    for id in &reach.functions {
        let function = index.function(*id)?;
        for (_, instruction) in index.instructions(function.instructions.clone()) {
            body.instruction(&instruction);
        }
    }
    for id in &reach.globals {
        body.definition(index.definition(*id)?);
    }
    let met_in_code = body.numbers.met.len();
    for id in &reach.functions {
        for mode in index.modes_of(*id) {
            body.annotation(&index.instruction(mode.at)?, 1)?;
        }
    }
    body.decorations(met_in_code)?;
    Some(body.words)
}

struct Body<'i, 'a> {
    index: &'i Index<'a>,
    numbers: &'i mut Numbers,
    words: Vec<u32>,
}

impl Body<'_, '_> {
    /// Writes a definition of module scope, given the number of its first instruction.
    fn definition(&mut self, at: usize) {
        for (_, instruction) in self.index.instructions(self.index.definition_from(at)) {
            self.instruction(&instruction);
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        match instruction.opcode {
            // Source locations are no part of the code.
            op::LINE | op::NO_LINE | op::STRING => return,
            op::EXT_INST if matches!(self.index.set(instruction.word(2)), Set::OpenClDebug | Set::ShaderDebug) => {
                return;
            }
            _ => {}
        }
        self.words.push(u32::from(instruction.opcode) << 16 | (instruction.len() & 0xffff) as u32);
        let begin = self.words.len();
        self.words.extend((0..instruction.len()).map(|at| instruction.word(at)));
        let (index, numbers, words) = (self.index, &mut *self.numbers, &mut self.words);
        index.for_each_id(instruction, |at, _: Role| {
            let number = numbers.number_of(index, instruction.word(at));
            if let Some(word) = words.get_mut(begin.saturating_add(at)) {
                *word = number;
            }
        });
    }

    /// Counts words; none where there have been too many.
    fn charge(&mut self, words: usize) -> Option<()> {
        let left = self.numbers.annotations.checked_sub(words);
        // Nothing is left for the kernels behind: each would come as far again.
        self.numbers.annotations = left.unwrap_or(0);
        left.map(drop)
    }

    /// Writes what an annotation says, from an operand on. None where there have been too many.
    fn annotation(&mut self, instruction: &Instruction<'_>, operands: usize) -> Option<()> {
        self.charge(instruction.len())?;
        let begin = self.words.len();
        self.words.extend((operands..instruction.len()).map(|at| instruction.word(at)));
        let (index, numbers, words) = (self.index, &mut *self.numbers, &mut self.words);
        index.for_each_id(instruction, |at, _: Role| {
            let place = at.checked_sub(operands).and_then(|at| begin.checked_add(at));
            if let Some(word) = place.and_then(|place| words.get_mut(place)) {
                *word = numbers.number_of(index, instruction.word(at));
            }
        });
        Some(())
    }

    /// Writes the decorations of all ids that were met, except for symbol names. Ids that only modes and decorations name (alias
    /// scopes, constants) are met behind those of the code and described by their definitions. None where an id has more decorations
    /// than are read.
    fn decorations(&mut self, met_in_code: usize) -> Option<()> {
        const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
        let mut number = 0usize;
        while let Some(id) = self.numbers.met.get(number).copied() {
            if self.index.has_more_decorations(id) {
                return None;
            }
            if let Some(members) = self.numbers.members.get(&id) {
                for at in members.clone()? {
                    let instruction = self.index.instruction(at)?;
                    self.words.extend([number as u32, u32::from(instruction.opcode)]);
                    self.annotation(&instruction, 1)?;
                }
            }
            if number >= met_in_code
                && let Some(definition) = self.index.definition(id)
            {
                let begin = self.words.len();
                self.definition(definition);
                self.charge(self.words.len().saturating_sub(begin))?;
            }
            let mut own: Vec<_> = self
                .index
                .decorations(id)
                .filter_map(|one| Some((one.decoration, one.operands, self.index.instruction(one.at)?)))
                .collect();
            // Decorations are sorted without their ids, since neither their order in the module nor the numbers of ids
            // mean anything.
            let fixed = |instruction: &Instruction<'_>| -> Vec<u32> {
                let mut words: Vec<u32> = (1..instruction.len()).map(|at| instruction.word(at)).collect();
                self.index.for_each_id(instruction, |at, _: Role| {
                    if let Some(word) = at.checked_sub(1).and_then(|at| words.get_mut(at)) {
                        *word = 0;
                    }
                });
                words
            };
            own.sort_by_cached_key(|(_, _, instruction)| fixed(instruction));
            for (decoration, operands, instruction) in own {
                self.words.extend([number as u32, decoration]);
                // The name of an exported function is no part of the code.
                if decoration == LINKAGE && !self.is_told_by_symbol(id) {
                    continue;
                }
                self.annotation(&instruction, operands)?;
            }
            number = number.saturating_add(1);
        }
        Some(())
    }

    /// Whether a function or variable is told by its symbol: a function that another module defines, and each variable, whose value
    /// others may write. Built-in variables are decorated as imports, and have any name.
    fn is_told_by_symbol(&self, id: u32) -> bool {
        const BUILT_IN: u32 = Decoration::BuiltIn as u32;
        let function = self.index.function(id);
        function.map_or_else(|| self.index.decoration(id, BUILT_IN).is_none(), |function| !function.defined)
    }
}
