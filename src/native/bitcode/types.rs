//! Which types has a bitcode module, and which of them need an aspect?

use super::super::bitstream::{Cursor, Item};
use super::text;
use crate::error::Result;
use crate::limits;
use std::borrow::Cow;

/// Number of a type that is not known.
pub(super) const NO_TYPE: u32 = u32::MAX;

/// Bits of what types contain; further bits are those of [`Types::aspects`].
pub(super) const HALF: u64 = 1;
pub(super) const DOUBLE: u64 = 2;
pub(super) const IMAGE: u64 = 4;
pub(super) const MATRIX: u64 = 8;

/// Type of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    Void,
    Half,
    Float,
    Double,
    Integer(u64),
    Pointer { to: Option<u32>, space: u64 },
    Array(u64, u32),
    Vector(u64, u32),
    Struct { name: String, packed: bool, members: Vec<u32> },
    Function { result: u32, parameters: Vec<u32> },
    Opaque(String),
    Label,
    Metadata,
    Other(&'static str),
}

/// Types of a module, by number.
#[derive(Debug)]
pub(super) struct Types {
    all: Vec<Type>,
    /// Contents of each, as bits.
    masks: Vec<u64>,
    /// Aspects by the bits of masks.
    pub(super) aspects: Vec<Cow<'static, str>>,
}

impl Default for Types {
    fn default() -> Types {
        let aspects = ["fp16", "fp64", "ext_intel_legacy_image", "ext_intel_matrix"].map(Cow::Borrowed);
        Types { all: Vec::new(), masks: Vec::new(), aspects: aspects.to_vec() }
    }
}

impl Types {
    /// Reads the block of types.
    pub(super) fn read(&mut self, mut block: Cursor<'_>) -> Result<()> {
        let mut name = String::new();
        while let Some(item) = block.next()? {
            let Item::Record(record) = item else { continue };
            let number = |operand: &u64| u32::try_from(*operand).unwrap_or(NO_TYPE);
            let numbers = |operands: &[u64]| operands.iter().map(number).collect::<Vec<_>>();
            let new = match (record.code, record.operands.as_slice()) {
                (1, _) => continue,
                (19, letters) => {
                    name = text(letters);
                    continue;
                }
                (2, _) => Type::Void,
                (3, _) => Type::Float,
                (4, _) => Type::Double,
                (5, _) => Type::Label,
                (6, _) => Type::Opaque(std::mem::take(&mut name)),
                (7, [width, ..]) => Type::Integer(*width),
                (8, [to, space, ..]) => Type::Pointer { to: Some(number(to)), space: *space },
                (10, _) => Type::Half,
                (11, [count, element, ..]) => Type::Array(*count, number(element)),
                (12, [count, element, ..]) => Type::Vector(*count, number(element)),
                (16, _) => Type::Metadata,
                (18, [packed, members @ ..]) => {
                    Type::Struct { name: String::new(), packed: *packed != 0, members: numbers(members) }
                }
                (20, [packed, members @ ..]) => {
                    let name = std::mem::take(&mut name);
                    Type::Struct { name, packed: *packed != 0, members: numbers(members) }
                }
                (21, [_, result, parameters @ ..]) => {
                    Type::Function { result: number(result), parameters: numbers(parameters) }
                }
                (23, _) => Type::Other("bfloat"),
                (25, [space, ..]) => Type::Pointer { to: None, space: *space },
                (26, _) => Type::Opaque(std::mem::take(&mut name)),
                _ => Type::Other("?"),
            };
            if self.all.len() >= limits::MAX_METADATA_VALUES {
                return Err(block.error("more types than a module has"));
            }
            self.all.push(new);
        }
        self.settle(|_| 0);
        Ok(())
    }

    /// Works out what types contain; `own` gives what a structure's name stands for.
    pub(super) fn settle(&mut self, own: impl Fn(&str) -> u64) {
        self.masks = vec![0; self.all.len()];
        // A structure may stand before its members' types; it contains itself by pointers alone.
        for _ in 0..2 {
            for at in 0..self.all.len() {
                let inner = |number: &u32| self.mask(*number);
                let mask = match self.all.get(at) {
                    Some(Type::Half) => HALF,
                    Some(Type::Double) => DOUBLE,
                    Some(Type::Array(_, element) | Type::Vector(_, element)) => inner(element),
                    Some(Type::Struct { name, members, .. }) => {
                        members.iter().fold(own(name), |mask, member| mask | inner(member))
                    }
                    Some(Type::Opaque(name)) => of_opaque(name) | own(name),
                    // Before opaque pointers, an image was a pointer to a type without members.
                    Some(Type::Pointer { to: Some(to), .. }) => match self.get(*to) {
                        Some(Type::Opaque(name)) => of_opaque(name),
                        _ => 0,
                    },
                    _ => 0,
                };
                if let Some(place) = self.masks.get_mut(at) {
                    *place = mask;
                }
            }
        }
    }

    /// Returns the bit of an aspect; 0 where there are no more bits.
    pub(super) fn bit(&mut self, aspect: Cow<'static, str>) -> u64 {
        let at = self.aspects.iter().position(|known| *known == aspect).unwrap_or_else(|| {
            self.aspects.push(aspect);
            self.aspects.len().saturating_sub(1)
        });
        u32::try_from(at).ok().and_then(|at| 1u64.checked_shl(at)).unwrap_or(0)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Type> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// Returns what a type contains.
    pub(super) fn mask(&self, number: u32) -> u64 {
        usize::try_from(number).ok().and_then(|number| self.masks.get(number)).copied().unwrap_or(0)
    }

    /// Returns the width of a scalar, in bits.
    pub(super) fn width(&self, number: u32) -> Option<u64> {
        match self.get(number)? {
            Type::Half => Some(16),
            Type::Float => Some(32),
            Type::Double => Some(64),
            Type::Integer(width) => Some(*width),
            _ => None,
        }
    }

    /// Returns the type of elements, or of a member.
    pub(super) fn member(&self, number: u32, at: u64) -> u32 {
        match self.get(number) {
            Some(Type::Array(_, element) | Type::Vector(_, element)) => *element,
            Some(Type::Struct { members, .. }) => {
                usize::try_from(at).ok().and_then(|at| members.get(at)).copied().unwrap_or(NO_TYPE)
            }
            _ => NO_TYPE,
        }
    }

    /// Returns the type as LLVM writes it, of nested ones the outermost.
    pub(super) fn brief(&self, number: u32) -> String {
        match self.get(number) {
            Some(Type::Array(count, element)) => format!("[{count} x {}]", self.scalar(*element)),
            Some(Type::Vector(count, element)) => format!("<{count} x {}>", self.scalar(*element)),
            _ => self.scalar(number),
        }
    }

    fn scalar(&self, number: u32) -> String {
        match self.get(number) {
            Some(Type::Void) => "void".to_owned(),
            Some(Type::Half) => "half".to_owned(),
            Some(Type::Float) => "float".to_owned(),
            Some(Type::Double) => "double".to_owned(),
            Some(Type::Integer(width)) => format!("i{width}"),
            Some(Type::Pointer { .. }) => "ptr".to_owned(),
            Some(Type::Array(..)) => "[...]".to_owned(),
            Some(Type::Vector(..)) => "<...>".to_owned(),
            Some(Type::Struct { name, .. } | Type::Opaque(name)) if !name.is_empty() => format!("%{name}"),
            Some(Type::Struct { .. } | Type::Opaque(_)) => "{...}".to_owned(),
            Some(Type::Other(name)) => (*name).to_owned(),
            Some(Type::Function { .. } | Type::Label | Type::Metadata) | None => "?".to_owned(),
        }
    }

    /// Returns the type as OpenCL C writes it.
    pub(super) fn opencl_name(&self, number: u32) -> String {
        match self.get(number) {
            Some(Type::Integer(8)) => "char".to_owned(),
            Some(Type::Integer(16)) => "short".to_owned(),
            Some(Type::Integer(32)) => "int".to_owned(),
            Some(Type::Integer(64)) => "long".to_owned(),
            Some(Type::Vector(count, element)) => format!("{}{count}", self.opencl_name(*element)),
            Some(Type::Pointer { to: Some(to), .. }) => match self.get(*to) {
                Some(Type::Opaque(name)) => name.strip_prefix("opencl.").unwrap_or(name).to_owned(),
                Some(Type::Pointer { .. }) => "void**".to_owned(),
                _ => format!("{}*", self.opencl_name(*to)),
            },
            Some(Type::Pointer { to: None, .. }) => "void*".to_owned(),
            Some(Type::Struct { name, .. }) => match name.split_once('.') {
                Some((tag @ ("struct" | "union" | "class"), name)) => format!("{tag} {name}"),
                _ if name.is_empty() => "struct".to_owned(),
                _ => name.clone(),
            },
            Some(Type::Opaque(name)) => name.clone(),
            _ => self.scalar(number),
        }
    }

    /// Returns size and alignment in bytes, with pointers of that size; none where a type has no size.
    pub(super) fn layout(&self, number: u32, pointer: u64, depth: u32) -> Option<(u64, u64)> {
        let depth = depth.checked_sub(1)?;
        let scalar = |bytes: u64| Some((bytes, bytes));
        match self.get(number)? {
            Type::Half | Type::Other("bfloat") => scalar(2),
            Type::Float => scalar(4),
            Type::Double => scalar(8),
            Type::Integer(width) => scalar(width.div_ceil(8).checked_next_power_of_two()?),
            Type::Pointer { .. } => scalar(pointer),
            Type::Array(count, element) => {
                let (size, align) = self.layout(*element, pointer, depth)?;
                Some((size.checked_mul(*count)?, align))
            }
            Type::Vector(count, element) => {
                let (size, _) = self.layout(*element, pointer, depth)?;
                scalar(size.checked_mul(*count)?.checked_next_power_of_two()?)
            }
            Type::Struct { packed, members, .. } => {
                let (mut end, mut most) = (0u64, 1u64);
                for member in members {
                    let (size, align) = self.layout(*member, pointer, depth)?;
                    let align = if *packed { 1 } else { align.max(1) };
                    end = end.checked_next_multiple_of(align)?.checked_add(size)?;
                    most = most.max(align);
                }
                Some((end.checked_next_multiple_of(most)?, most))
            }
            _ => None,
        }
    }
}

/// Aspects of types that LLVM knows by name: images and joint matrices.
fn of_opaque(name: &str) -> u64 {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if begins(&["opencl.image", "spirv.Image", "spirv.SampledImage"]) {
        IMAGE
    } else if begins(&["spirv.JointMatrix", "spirv.CooperativeMatrix"]) {
        MATRIX
    } else {
        0
    }
}
