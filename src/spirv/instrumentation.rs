//! How does a module look without the calls that tools for tracing hook into?
//!
//! With `-fsycl-instrument-device-code`, which is its default for some targets, DPC++ calls `__itt_offload_*` at the
//! begin and end of kernels and around barriers and atomics; the functions do nothing unless a switch, a specialization
//! constant, is set before the module is compiled.

use super::index::Index;
use super::op;
use super::specialize::{settable_constants, specialize};
use super::subset::{Cutter, Keep, exported};
use super::types::{self, Type};
use crate::error::Result;
use std::collections::{BTreeMap, HashSet};

/// Prefix of the names of the functions.
const PREFIX: &str = "__itt_offload_";

/// Returns the module without its instrumentation, which the constant `switch` turns on; none where it has none. A module
/// with instructions that no grammar knows cannot be taken apart: it keeps the functions, which nothing calls then.
///
/// # Errors
/// `Input` where the module is damaged.
pub fn strip(bytes: &[u8], switch: u32) -> Result<Option<Vec<u8>>> {
    let index = Index::read(bytes)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let hooks = hooks(&index);
    let values: BTreeMap<u32, u64> =
        settable_constants(&index).into_iter().filter(|one| one.id == switch).map(|one| (one.id, 0)).collect();
    if hooks.is_empty() && values.is_empty() {
        return Ok(None);
    }
    let uncalled = without_calls(&index, &hooks);
    let index = Index::read(&uncalled)?;
    let off = specialize(&index, &values)?;
    let index = Index::read(&off)?;
    let entry_points: Vec<usize> = (0..index.entry_points.len()).collect();
    let mut ids: Vec<u32> = exported(&index).into_iter().map(|(id, _)| id).filter(|id| !hooks.contains(id)).collect();
    let linked = index.linked().into_iter().filter(|(_, linkage)| linkage.kind.is_exported());
    ids.extend(linked.map(|(id, _)| id).filter(|id| index.function(*id).is_none()));
    let keep = Keep { entry_points: &entry_points, ids: &ids };
    if !index.unknown.is_empty() {
        return Ok(Some(off));
    }
    Cutter::new(&index)?.cut(&keep).map(Some)
}

/// Returns the functions of the instrumentation.
fn hooks(index: &Index<'_>) -> HashSet<u32> {
    let named = |id: u32| {
        let linkage = index.linkage(id).map(|linkage| linkage.name);
        linkage.or_else(|| index.name(id)).is_some_and(|name| name.starts_with(PREFIX))
    };
    let nothing = |id: u32| matches!(types::resolve(index, id), Some(Type::Void));
    let functions = index.functions.iter().filter(|function| {
        let result = index.defining(function.id).map(|instruction| instruction.word(0));
        result.is_some_and(nothing) && named(function.id)
    });
    functions.map(|function| function.id).collect()
}

/// Returns the module without calls of these functions, which return nothing.
fn without_calls(index: &Index<'_>, hooks: &HashSet<u32>) -> Vec<u8> {
    let words = index.words();
    let mut out: Vec<u8> = Vec::with_capacity(words.len().saturating_mul(4));
    let mut put = |word: u32| out.extend_from_slice(&word.to_le_bytes());
    put(super::MAGIC);
    (1..5).for_each(|at| put(words.header(at)));
    let removed: HashSet<u32> = (0..index.len())
        .filter_map(|number| index.instruction(number))
        .filter(|one| one.opcode == op::FUNCTION_CALL && hooks.contains(&one.word(2)))
        .map(|call| call.word(1))
        .collect();
    for number in 0..index.len() {
        let Some(instruction) = index.instruction(number) else { continue };
        let gone = match instruction.opcode {
            op::FUNCTION_CALL => removed.contains(&instruction.word(1)),
            op::NAME | op::DECORATE | op::DECORATE_ID => removed.contains(&instruction.word(0)),
            _ => false,
        };
        if gone {
            continue;
        }
        put(u32::from(instruction.opcode) | (instruction.len().saturating_add(1) as u32) << 16);
        (0..instruction.len()).for_each(|at| put(instruction.word(at)));
    }
    out
}
