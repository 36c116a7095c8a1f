//! What does a reader of another make say of a module, and is the module valid?

use std::collections::{BTreeMap, HashMap};

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op};

use crate::support::spirv;

/// A module as rspirv reads it, by names.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Callees of each function, by kernel's name or `OpName`.
    pub calls: BTreeMap<String, Vec<String>>,
    /// Variables that each function loads.
    pub loads: BTreeMap<String, Vec<String>>,
    /// The interface of each kernel.
    pub interfaces: BTreeMap<String, Vec<String>>,
    /// Types, and constants.
    pub types: usize,
    pub constants: usize,
    /// Variables in module order.
    pub variables: Vec<String>,
    pub spec_ids: Vec<u32>,
    /// Symbols and how they are linked.
    pub linked: Vec<(String, String)>,
    pub bitcasts: usize,
}

/// Reads a module, which `spirv-val` has to accept where the tests have it.
pub fn judge(bytes: &[u8]) -> Judgement {
    spirv::valid(bytes, &[]);
    let module = rspirv::dr::load_bytes(bytes).unwrap_or_else(|error| panic!("{error}"));
    let mut judged = Judgement::default();
    let id = |instruction: &Instruction, at: usize| match instruction.operands.get(at) {
        Some(Operand::IdRef(id)) => *id,
        other => panic!("{other:?}"),
    };
    let text = |operand: &Operand| match operand {
        Operand::LiteralString(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let mut names: HashMap<u32, String> = HashMap::new();
    for name in module.debug_names.iter().filter(|name| name.class.opcode == Op::Name) {
        names.insert(id(name, 0), text(&name.operands[1]));
    }
    for entry in &module.entry_points {
        names.insert(id(entry, 1), text(&entry.operands[2]));
    }
    let name = |id: u32| names.get(&id).cloned().unwrap_or_else(|| format!("%{id}"));
    for entry in &module.entry_points {
        let interface = (3..entry.operands.len()).map(|at| name(id(entry, at))).collect();
        judged.interfaces.insert(text(&entry.operands[2]), interface);
    }
    for found in &module.annotations {
        match found.operands.get(1) {
            Some(Operand::Decoration(Decoration::SpecId)) => match found.operands[2] {
                Operand::LiteralBit32(number) => judged.spec_ids.push(number),
                ref other => panic!("{other:?}"),
            },
            Some(Operand::Decoration(Decoration::LinkageAttributes)) => {
                judged
                    .linked
                    .push((text(&found.operands[2]), format!("{:?}", found.operands[3].unwrap_linkage_type())));
            }
            _ => {}
        }
    }
    for global in &module.types_global_values {
        match global.class.opcode {
            Op::Variable => judged.variables.push(name(global.result_id.unwrap())),
            opcode if format!("{opcode:?}").starts_with("Type") => judged.types += 1,
            _ => judged.constants += 1,
        }
    }
    for function in &module.functions {
        let mine = name(function.def_id().unwrap());
        let (calls, loads) = (judged.calls.entry(mine.clone()).or_default(), judged.loads.entry(mine).or_default());
        for instruction in function.all_inst_iter() {
            match instruction.class.opcode {
                Op::FunctionCall => calls.push(name(id(instruction, 0))),
                Op::Load => loads.push(name(id(instruction, 0))),
                Op::Bitcast => judged.bitcasts += 1,
                _ => {}
            }
        }
    }
    judged
}
