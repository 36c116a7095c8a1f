//! Which specialization constants does a kernel depend on?
//!
//! Only ids with a `SpecId` can be set; compilers use the same instructions without one for other purposes (tables of
//! virtual functions). A composite has no `SpecId`, only its parts have.

use super::name;
use crate::spirv::index::Index;
use crate::spirv::types::Layouts;
use crate::spirv::calls::Reach;
use crate::spirv::types::{self, Type};
use rspirv::spirv::Decoration;

/// Specialization constant: a scalar that can be set before a module is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its `SpecId` decoration.
    pub id: u32,
    /// Type as in OpenCL C.
    pub type_name: String,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Default value.
    pub default: Value,
}

/// Value of a constant, by the kind of its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// Integer, read as signed.
    Int(i64),
    /// Floating-point number of 32 or 64 bits.
    Float(f64),
    /// Bits of a constant of any other type.
    Bits(u64),
}

// A NaN default is unequal to itself, which nothing that compares these facts relies on.
impl Eq for Value {}

/// Returns the constants that a kernel's code reaches, in order of their ids.
pub(super) fn reached(index: &Index<'_>, layouts: &Layouts, reach: &Reach) -> Vec<SpecConstant> {
    const SPEC_ID: u32 = Decoration::SpecId as u32;
    let mut found = Vec::new();
    for &id in &reach.globals {
        let Some(spec_id) = index.decoration(id, SPEC_ID) else { continue };
        let (Some(bits), Some(of)) = (types::constant_bits(index, id), index.type_of(id)) else { continue };
        let default = match types::resolve(index, of) {
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
            type_name: name::opencl_type_name(index, of, false),
            size: layouts.get(of).map(|layout| layout.size),
            default,
        });
    }
    found.sort_by_key(|constant| constant.id);
    found
}
