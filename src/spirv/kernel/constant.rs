//! Which specialization constants does a kernel depend on?
//!
//! Only ids with a `SpecId` can be set; compilers use the same instructions without one for other ends (tables of virtual
//! functions). A composite has no id of its own, its parts have.

use super::name;
use crate::spirv::constants;
use crate::spirv::index::Index;
use crate::spirv::layout::Layouts;
use crate::spirv::reach::Reach;
use crate::spirv::types::{self, Type};
use rspirv::spirv::Decoration;

/// A scalar that can be set before a module is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its `SpecId`.
    pub id: u32,
    /// Its type as in OpenCL C.
    pub type_name: String,
    /// Bytes.
    pub size: Option<u64>,
    /// The value unless it is set.
    pub default: Value,
}

/// The value of a constant, by the kind of its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// An integer, taken as signed.
    Int(i64),
    /// A floating-point number of 32 or 64 bits.
    Float(f64),
    /// The bits of any other.
    Bits(u64),
}

// A default is never computed with, so one that is not a number equals itself.
impl Eq for Value {}

/// The constants that a kernel's code reaches, in order of their ids.
pub(super) fn reached(index: &Index<'_>, layouts: &Layouts, reach: &Reach) -> Vec<SpecConstant> {
    const SPEC_ID: u32 = Decoration::SpecId as u32;
    let mut found = Vec::new();
    for &id in &reach.globals {
        let Some(spec_id) = index.decoration(id, SPEC_ID) else { continue };
        let (Some(bits), Some(of)) = (constants::bits(index, id), index.type_of(id)) else { continue };
        let default = match types::of(index, of) {
            Some(Type::Bool) => Value::Bool(bits != 0),
            Some(Type::Int { width, .. }) => {
                let unused = 64u32.saturating_sub(width.clamp(1, 64));
                Value::Int((bits << unused).cast_signed() >> unused)
            }
            Some(Type::Float { width: 32, encoding: None }) => {
                Value::Float(f32::from_bits((bits & u64::from(u32::MAX)) as u32).into())
            }
            Some(Type::Float { width: 64, encoding: None }) => Value::Float(f64::from_bits(bits)),
            _ => Value::Bits(bits),
        };
        found.push(SpecConstant {
            id: spec_id,
            type_name: name::opencl(index, of, false),
            size: layouts.get(of).map(|layout| layout.size),
            default,
        });
    }
    found.sort_by_key(|constant| constant.id);
    found
}
