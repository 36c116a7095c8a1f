//! Which casts of pointers to memory of any kind end the compiler of GPUs, or find no function there?
//!
//! Intel's compiler for GPUs (IGC 2.40) ends at a cast to global memory of what it sees to be local, and has the functions of these casts
//! for pointers to bytes alone, which is how compilers write them. Tried on three GPUs, and on Intel's OpenCL CPU driver, which takes all.

use super::op::*;
use super::overloads::{Number, definitions};
use super::words::{Instruction, Words};
use rspirv::spirv::{Op, StorageClass};
use std::collections::{BTreeSet, HashMap};

const LOCAL: u32 = StorageClass::Workgroup as u32;
const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;
const TO_GENERIC: u16 = Op::PtrCastToGeneric as u16;
const EXPLICIT: u16 = Op::GenericCastToPtrExplicit as u16;
const BITCAST: u16 = Op::Bitcast as u16;
const COPY_OBJECT: u16 = Op::CopyObject as u16;

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Casts<'m> {
    casts: Vec<Instruction<'m>>,
}

impl<'m> Casts<'m> {
    /// Looks at an instruction.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'m>) {
        if instruction.opcode == EXPLICIT {
            self.casts.push(*instruction);
        }
    }

    /// Returns what drivers for GPUs do not take.
    pub(super) fn finish(
        self,
        words: Words<'m>,
        numbers: &HashMap<u32, Number>,
        pointers: &HashMap<u32, (u32, u32)>,
    ) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        if self.casts.is_empty() {
            return found;
        }
        let steps = words.instructions().flatten().filter(|one| {
            matches!(one.opcode, TO_GENERIC | BITCAST | COPY_OBJECT | ACCESS_CHAIN..=IN_BOUNDS_PTR_ACCESS_CHAIN)
        });
        // Values stand before their uses.
        let mut origins = HashMap::new();
        for step in steps {
            let base = step.word(2);
            let origin = origins.get(&base).copied().unwrap_or(base);
            origins.insert(step.word(1), origin);
        }
        let origin = |value: u32| origins.get(&value).copied().unwrap_or(value);
        let cast = |one: &Instruction<'_>| (one.word(2), origin(one.word(2)));
        let asked = self.casts.iter().map(cast).flat_map(|(value, origin)| [value, origin]).collect();
        let values = definitions(words, &asked);
        let pointer = |value: u32| values.get(&value).and_then(|value| pointers.get(&value.word(0))).copied();
        for one in &self.casts {
            let (value, origin) = cast(one);
            if one.word(3) == GLOBAL && pointer(origin).is_some_and(|(memory, _)| memory == LOCAL) {
                found.insert("a cast of local memory to global");
            }
            let number = pointer(value).and_then(|(_, kind)| numbers.get(&kind));
            if !number.is_some_and(|number| !number.is_float && number.width == 8 && number.lanes == 1) {
                found.insert("OpGenericCastToPtrExplicit of a pointer to other than bytes");
            }
        }
        found
    }
}
