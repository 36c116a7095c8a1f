//! Which types has a bitcode module, and which of them need an aspect?

use super::super::bitstream::{Cursor, Item};
use super::text;
use crate::error::Result;
use crate::limits;
use std::borrow::Cow;
use std::cell::OnceCell;

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
    /// Size and alignment of each, once one is asked for.
    layouts: OnceCell<Vec<Option<(u64, u64)>>>,
    /// Aspects by the bits of masks.
    pub(super) aspects: Vec<Cow<'static, str>>,
}

impl Default for Types {
    fn default() -> Types {
        let aspects = ["fp16", "fp64", "ext_intel_legacy_image", "ext_intel_matrix"].map(Cow::Borrowed);
        Types { all: Vec::new(), masks: Vec::new(), layouts: OnceCell::new(), aspects: aspects.to_vec() }
    }
}

impl Types {
    /// Reads the block of types.
    pub(super) fn read(&mut self, mut block: Cursor<'_>) -> Result<()> {
        let (mut name, mut parts) = (String::new(), 0usize);
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
            // A part may take a bit of the file.
            parts = parts.saturating_add(record.operands.len());
            if self.all.len() >= limits::MAX_METADATA_VALUES || parts > limits::MAX_METADATA_VALUES {
                return Err(block.error("more types than a module has"));
            }
            self.all.push(new);
        }
        self.settle(|_| 0);
        Ok(())
    }

    /// Works out what types contain; `own` gives what a structure's name stands for.
    pub(super) fn settle(&mut self, own: impl Fn(&str) -> u64) {
        self.layouts = OnceCell::new();
        self.masks = vec![0; self.all.len()];
        let users = Users::new(&self.all);
        let own = |kind: &Type| match kind {
            Type::Half => HALF,
            Type::Double => DOUBLE,
            Type::Struct { name, .. } => own(name),
            Type::Opaque(name) => of_opaque(name) | own(name),
            // Before opaque pointers, an image was a pointer to a type without members.
            Type::Pointer { to: Some(to), .. } => match self.get(*to) {
                Some(Type::Opaque(name)) => of_opaque(name),
                _ => 0,
            },
            _ => 0,
        };
        let mut open: Vec<(usize, u64)> = self.all.iter().map(own).enumerate().filter(|(_, own)| *own != 0).collect();
        // A structure may stand before its members' types, and contains itself by pointers alone. Each bit passes once.
        while let Some((at, new)) = open.pop() {
            let Some(mask) = self.masks.get_mut(at).filter(|mask| new & !**mask != 0) else { continue };
            *mask |= new;
            let mask = *mask;
            open.extend(users.of_type(at).map(|user| (user, mask)));
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
            Some(Type::Vector(count, element)) => format!("{}{count}", self.opencl_scalar(*element)),
            // By the match within, a pointer to a pointer has no further pointee.
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
            _ => self.opencl_scalar(number),
        }
    }

    fn opencl_scalar(&self, number: u32) -> String {
        match self.get(number) {
            Some(Type::Integer(8)) => "char".to_owned(),
            Some(Type::Integer(16)) => "short".to_owned(),
            Some(Type::Integer(32)) => "int".to_owned(),
            Some(Type::Integer(64)) => "long".to_owned(),
            _ => self.scalar(number),
        }
    }

    /// Returns size and alignment in bytes, with pointers of that size; none where a type has no size.
    pub(super) fn layout(&self, number: u32, pointer: u64) -> Option<(u64, u64)> {
        let all = self.layouts.get_or_init(|| self.layouts(pointer));
        usize::try_from(number).ok().and_then(|at| all.get(at)).copied().flatten()
    }

    /// Lays all types out, each after those that it contains. Types that contain themselves have no layout.
    fn layouts(&self, pointer: u64) -> Vec<Option<(u64, u64)>> {
        let users = Users::new(&self.all);
        let mut missing: Vec<usize> = self.all.iter().map(|kind| parts(kind).len()).collect();
        let ready = missing.iter().enumerate().filter(|(_, missing)| **missing == 0);
        let mut open: Vec<usize> = ready.map(|(at, _)| at).collect();
        let mut layouts = vec![None; self.all.len()];
        while let Some(at) = open.pop() {
            let found = self.all.get(at).and_then(|kind| layout_of(kind, pointer, &layouts));
            if let Some(layout) = layouts.get_mut(at) {
                *layout = found;
            }
            for user in users.of_type(at) {
                let Some(left) = missing.get_mut(user) else { continue };
                *left = left.saturating_sub(1);
                open.extend((*left == 0).then_some(user));
            }
        }
        layouts
    }
}

/// Returns the types that a type contains, one for each member.
fn parts(kind: &Type) -> &[u32] {
    match kind {
        Type::Array(_, element) | Type::Vector(_, element) => std::slice::from_ref(element),
        Type::Struct { members, .. } => members,
        _ => &[],
    }
}

/// Types that contain a type, one for each time that they do.
struct Users(Vec<(u32, u32)>);

impl Users {
    fn new(all: &[Type]) -> Users {
        let of_user = |(user, kind)| parts(kind).iter().map(move |part| (*part, user));
        let mut users: Vec<(u32, u32)> = (0..).zip(all).flat_map(of_user).collect();
        users.sort_unstable();
        Users(users)
    }

    fn of_type(&self, at: usize) -> impl Iterator<Item = usize> {
        let first = self.0.partition_point(|(part, _)| (*part as usize) < at);
        let users = self.0.get(first..).unwrap_or_default().iter();
        users.take_while(move |(part, _)| *part as usize == at).map(|(_, user)| *user as usize)
    }
}

/// Returns size and alignment of a type by those of what it contains.
fn layout_of(kind: &Type, pointer: u64, layouts: &[Option<(u64, u64)>]) -> Option<(u64, u64)> {
    let part = |number: &u32| usize::try_from(*number).ok().and_then(|at| layouts.get(at)).copied().flatten();
    let scalar = |bytes: u64| Some((bytes, bytes));
    match kind {
        Type::Half | Type::Other("bfloat") => scalar(2),
        Type::Float => scalar(4),
        Type::Double => scalar(8),
        Type::Integer(width) => scalar(width.div_ceil(8).checked_next_power_of_two()?),
        Type::Pointer { .. } => scalar(pointer),
        Type::Array(count, element) => {
            let (size, align) = part(element)?;
            Some((size.checked_mul(*count)?, align))
        }
        Type::Vector(count, element) => scalar(part(element)?.0.checked_mul(*count)?.checked_next_power_of_two()?),
        Type::Struct { packed, members, .. } => {
            let (mut end, mut most) = (0u64, 1u64);
            for member in members {
                let (size, align) = part(member)?;
                let align = if *packed { 1 } else { align.max(1) };
                end = end.checked_next_multiple_of(align)?.checked_add(size)?;
                most = most.max(align);
            }
            Some((end.checked_next_multiple_of(most)?, most))
        }
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn types(all: Vec<Type>) -> Types {
        let mut types = Types { all, ..Types::default() };
        types.settle(|_| 0);
        types
    }

    fn structure(members: &[u32]) -> Type {
        Type::Struct { name: String::new(), packed: false, members: members.to_vec() }
    }

    #[test]
    fn members_that_stand_behind_count_however_deep() {
        let chain: Vec<Type> = (1..2000).map(|next| structure(&[next])).chain([Type::Double]).collect();
        let types = types(chain);
        assert_eq!((types.mask(0), types.layout(0, 8)), (DOUBLE, Some((8, 8))));
    }

    /// Looked at from each use, the innermost would be laid out 3^60 times.
    #[test]
    fn a_type_is_laid_out_once() {
        let levels = (0..60).map(|inner| structure(&[inner; 3]));
        let types = types([Type::Float].into_iter().chain(levels).collect());
        assert_eq!(types.layout(20, 8), Some((4 * 3u64.pow(20), 4)));
        assert_eq!(types.layout(60, 8), None, "beyond 64 bits");
    }

    #[test]
    fn types_of_themselves_end() {
        let types = types(vec![
            Type::Vector(4, 0),
            structure(&[2]),
            structure(&[1]),
            Type::Pointer { to: Some(4), space: 1 },
            Type::Vector(2, 3),
        ]);
        assert_eq!(types.opencl_name(0), "<...>4");
        assert_eq!(types.opencl_name(3), "ptr2*");
        assert!((0..3).all(|number| types.layout(number, 8).is_none() && types.mask(number) == 0));
    }
}
