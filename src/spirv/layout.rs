//! How large is a value of a type in memory, and how is it aligned?
//!
//! Sizes follow OpenCL C (section 6.1.5, "Alignment of Types"): a vector of three is laid out as one of four, a
//! structure as in C, without gaps where it is packed (decoration `CPacked`), and handles are as wide as a pointer.

use super::constants;
use super::index::Index;
use super::types::{self, Type};
use crate::limits;
use std::collections::HashMap;

/// Size and alignment in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// Layouts of all types of a module.
#[derive(Debug)]
pub struct Layouts {
    known: HashMap<u32, Layout>,
    pointer: u64,
}

impl Layouts {
    /// Lays out every type of a module in one pass: a type comes after its parts, and a pointer's size does not depend
    /// on what it points to.
    pub fn compute(index: &Index<'_>) -> Layouts {
        // Only the model Physical32 has 32-bit pointers. Logical pointers (graphics) have no size and are no kernel's
        // argument.
        let mut layouts = Layouts { known: HashMap::new(), pointer: if index.addressing == 1 { 4 } else { 8 } };
        let mut members_left = limits::MAX_MEMBERS;
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        for (_, instruction) in index.instructions(0..end) {
            if let Some(id) = index.result(&instruction).filter(|_| index.result_type(&instruction).is_none())
                && let Some(kind) = types::resolve(index, id)
                && let Some(layout) = layouts.lay_out(index, id, &kind, &mut members_left)
            {
                layouts.known.insert(id, layout);
            }
        }
        layouts
    }

    /// Returns the layout of a type, or none where it has no size (void, functions, opaque structures, arrays without a
    /// length).
    pub fn get(&self, id: u32) -> Option<Layout> {
        self.known.get(&id).copied()
    }

    /// Returns the size of a pointer in bytes.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }

    fn lay_out(&self, index: &Index<'_>, id: u32, kind: &Type, members_left: &mut usize) -> Option<Layout> {
        let number = |bits: u32| {
            let bytes = u64::from(bits.div_ceil(8)).checked_next_power_of_two()?;
            Some(Layout { size: bytes, align: bytes })
        };
        match kind {
            Type::Bool => number(8),
            Type::Int { width, .. } | Type::Float { width, .. } => number(*width),
            Type::Vector { component, count } => {
                let count = if *count == 3 { 4 } else { u64::from(*count) };
                let size = self.get(*component)?.size.checked_mul(count)?;
                Some(Layout { size, align: size.checked_next_power_of_two()? })
            }
            Type::Matrix { column, count } => {
                let column = self.get(*column)?;
                Some(Layout { size: column.size.checked_mul(u64::from(*count))?, align: column.align })
            }
            Type::Array { element, length } => {
                let element = self.get(*element)?;
                Some(Layout { size: element.size.checked_mul(constants::constant_bits(index, *length)?)?, align: element.align })
            }
            Type::Struct { members } => {
                *members_left = members_left.checked_sub(members.len())?;
                self.structure(index, id, members)
            }
            Type::Pointer { .. }
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage { .. }
            | Type::Event
            | Type::DeviceEvent
            | Type::ReserveId
            | Type::Queue
            | Type::Pipe { .. }
            | Type::PipeStorage
            | Type::NamedBarrier => Some(Layout { size: self.pointer, align: self.pointer }),
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Opaque { .. }
            | Type::Function { .. }
            | Type::CooperativeMatrix { .. }
            | Type::Other { .. } => None,
        }
    }

    fn structure(&self, index: &Index<'_>, id: u32, members: &[u32]) -> Option<Layout> {
        const PACKED: u32 = rspirv::spirv::Decoration::CPacked as u32;
        let packed = index.decoration(id, PACKED).is_some();
        let mut whole = Layout { size: 0, align: 1 };
        for member in members {
            let member = self.get(*member)?;
            if !packed {
                whole.size = crate::bytes::align_up(whole.size, member.align)?;
                whole.align = whole.align.max(member.align);
            }
            whole.size = whole.size.checked_add(member.size)?;
        }
        whole.size = crate::bytes::align_up(whole.size, whole.align)?;
        Some(whole)
    }
}
