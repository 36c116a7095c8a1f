//! Which instruction defines an id?

use std::collections::HashMap;

/// Map from ids to defining instructions. A vector for ids as compact as compilers write them, a hash map beyond, so
/// that a forged bound or forged ids cost no memory beyond the module's size.
#[derive(Debug)]
pub(super) struct Ids {
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
}

const NONE: u32 = u32::MAX;

impl Ids {
    /// Creates an empty map for a module with this id bound and this many words.
    pub(super) fn new(bound: u32, words: usize) -> Ids {
        let bound = usize::try_from(bound).unwrap_or(usize::MAX);
        Ids { dense: vec![NONE; bound.min(words)], sparse: HashMap::new() }
    }

    /// Records the definition of an id; the first definition counts. Id 0 is invalid (SPIR-V, "Physical Layout of a
    /// SPIR-V Module and Instruction") and is skipped: it is read where an instruction is too short for its result.
    #[inline]
    pub(super) fn insert(&mut self, id: u32, number: u32) {
        if id == 0 {
            return;
        }
        match self.dense.get_mut(id as usize) {
            Some(place) if *place == NONE => *place = number,
            Some(_) => {}
            None => {
                self.sparse.entry(id).or_insert(number);
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<usize> {
        let found = match self.dense.get(id as usize) {
            Some(number) => Some(*number).filter(|number| *number != NONE),
            None => self.sparse.get(&id).copied(),
        };
        found.map(|number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn forged_ids_are_kept_without_a_table_of_their_size() {
        let mut ids = Ids::new(u32::MAX, 10);
        assert_eq!(ids.dense.len(), 10);
        for id in [3, u32::MAX, 3, 0] {
            ids.insert(id, id.wrapping_add(1));
        }
        assert_eq!((ids.get(3), ids.get(u32::MAX), ids.get(4), ids.get(5000)), (Some(4), Some(0), None, None));
        assert_eq!(ids.get(0), None);
    }
}
