//! How does a module look whose decorations are each one's own?
//!
//! SPIR-V lets a group of decorations be given to many ids at once. What rewrites a module afterwards looks at an id's own
//! decorations alone, so groups are written out first.

use super::lower::Writer;
use crate::error::{Error, Result};
use crate::limits;
use crate::spirv::index::Index;
use crate::spirv::op;
use crate::spirv::words::Instruction;
use rspirv::spirv::Decoration;
use std::collections::HashMap;

const LINKAGE: u32 = Decoration::LinkageAttributes as u32;

/// Returns a module without groups of decorations, or none where it has none.
///
/// # Errors
/// `Input` where the module is damaged, or groups say more than [`limits::MAX_GROUPED_WORDS`].
pub fn write_out(il: &[u8]) -> Result<Option<Vec<u8>>> {
    let index = Index::read(il)?;
    if let Some(error) = &index.stopped {
        return Err(error.clone());
    }
    let all = || index.instructions(0..index.len()).map(|(_, instruction)| instruction);
    let groups = all().filter(|it| it.opcode == op::DECORATION_GROUP);
    let mut groups: HashMap<u32, Vec<Instruction<'_>>> = groups.map(|group| (group.word(0), Vec::new())).collect();
    if groups.is_empty() {
        return Ok(None);
    }
    // A symbol is of one thing: those of groups are none.
    for decoration in all().filter(|it| is_decoration(it.opcode) && it.word(1) != LINKAGE) {
        groups.entry(decoration.word(0)).and_modify(|known| known.push(decoration));
    }
    let mut out = Writer::new(&index);
    let mut written = 0usize;
    for instruction in all() {
        // Places of the targets: an id, or a structure and a member's number.
        let target = match instruction.opcode {
            op::GROUP_DECORATE => 1usize,
            op::GROUP_MEMBER_DECORATE => 2,
            op::DECORATION_GROUP => continue,
            opcode if (is_decoration(opcode) || opcode == op::NAME) && groups.contains_key(&instruction.word(0)) => {
                continue;
            }
            _ => {
                out.put(instruction.opcode, &instruction.words().collect::<Vec<u32>>());
                continue;
            }
        };
        let targets: Vec<u32> = instruction.words().skip(1).collect();
        for of in targets.chunks_exact(target) {
            for decoration in groups.get(&instruction.word(0)).into_iter().flatten() {
                written = written.saturating_add(decoration.len()).saturating_add(target);
                if written > limits::MAX_GROUPED_WORDS {
                    return Err(Error::at(instruction.offset, "groups of decorations that say more than 64 MiB"));
                }
                let opcode = match decoration.opcode {
                    _ if target == 1 => decoration.opcode,
                    op::DECORATE_STRING => op::MEMBER_DECORATE_STRING,
                    _ => op::MEMBER_DECORATE,
                };
                let said: Vec<u32> = of.iter().copied().chain(decoration.words().skip(1)).collect();
                out.put(opcode, &said);
            }
        }
    }
    Ok(Some(out.finish(index.bound)))
}

/// Whether an opcode decorates an id.
pub(super) fn is_decoration(opcode: u16) -> bool {
    matches!(opcode, op::DECORATE | op::DECORATE_ID | op::DECORATE_STRING)
}
