//! What are a module's types and constants, and how are values laid out in memory?
//!
//! Sizes follow OpenCL C (section 6.1.5, "Alignment of Types"): a vector of three is laid out as one of four, a
//! structure as in C, without gaps where it is packed (decoration `CPacked`), and handles are as wide as a pointer.

use super::index::Index;
use super::words::Instruction;
use super::{grammar, op};
use crate::limits;
use std::collections::HashMap;

/// Type of a module. A `u32` is the id of another type unless documented otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// No value.
    Void,
    /// True or false.
    Bool,
    /// Integer. OpenCL modules leave the sign to the instructions: `signed` is false there.
    Int {
        /// Bits.
        width: u32,
        /// Declared signedness.
        signed: bool,
    },
    /// Floating-point number. `encoding` is none for the IEEE format of that width (0 is bfloat16, 4214 and 4215 are
    /// 8-bit formats).
    Float {
        /// Bits.
        width: u32,
        /// Number of an `FPEncoding`.
        encoding: Option<u32>,
    },
    /// Vector.
    Vector {
        /// Type of a component.
        component: u32,
        /// Number of components.
        count: u32,
    },
    /// Matrix.
    Matrix {
        /// Type of the columns, a vector.
        column: u32,
        /// Number of columns.
        count: u32,
    },
    /// Array.
    Array {
        /// Type of an element.
        element: u32,
        /// Id of the constant that is the number of elements.
        length: u32,
    },
    /// Array of a length that is not known.
    RuntimeArray {
        /// Type of an element.
        element: u32,
    },
    /// Structure. It may have hundreds of thousands of members, so these are listed where they are asked for.
    Struct,
    /// Opaque structure: it has a name and no members.
    Opaque,
    /// A pointer.
    Pointer {
        /// Storage class: 0 constant memory, 4 local, 5 global, 7 private, 8 generic, 5605 code.
        storage: u32,
        /// Type that it points to; none for an untyped pointer.
        pointee: Option<u32>,
    },
    /// A function.
    Function {
        /// Type of the result.
        result: u32,
        /// Types of the parameters.
        parameters: Vec<u32>,
    },
    /// An image.
    Image(Image),
    /// A sampler.
    Sampler,
    /// An image with a sampler.
    SampledImage {
        /// Type of the image.
        image: u32,
    },
    /// An event of asynchronous copies.
    Event,
    /// An event of device-side enqueue.
    DeviceEvent,
    /// A reservation in a pipe.
    ReserveId,
    /// A device-side queue.
    Queue,
    /// A pipe; access qualifier 0 read, 1 write.
    Pipe {
        /// The access qualifier.
        access: u32,
    },
    /// The storage of a pipe.
    PipeStorage,
    /// A named barrier.
    NamedBarrier,
    /// A cooperative matrix: the joint matrix of SYCL.
    CooperativeMatrix {
        /// Type of a component.
        component: u32,
    },
    /// A type of an extension, by its opcode.
    Other {
        /// The opcode.
        opcode: u16,
    },
}

/// Operands of `OpTypeImage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// Type that sampling returns; void in OpenCL.
    pub(crate) sampled_type: u32,
    /// Dimension: 0 one, 1 two, 2 three, 3 cube, 5 buffer.
    pub(crate) dimension: u32,
    /// 1 for a depth image.
    pub(crate) depth: u32,
    /// Whether it is an array of images.
    pub(crate) arrayed: bool,
    /// Whether it has several samples per pixel.
    pub(crate) multisampled: bool,
    /// 0 where it is known only at run time whether the image is sampled.
    pub(crate) sampled: u32,
    /// Image format; 0 unknown.
    pub(crate) format: u32,
    /// Access qualifier: 0 read, 1 write, 2 both; none where the type has none.
    pub(crate) access: Option<u32>,
}

/// Returns the type that an id stands for, or none where the id is no type.
pub fn resolve(index: &Index<'_>, id: u32) -> Option<Type> {
    let instruction = index.defining(id)?;
    let word = |at| instruction.word(at);
    let rest = |from: usize| (from..instruction.len()).map(word).collect::<Vec<u32>>();
    Some(match instruction.opcode {
        op::TYPE_VOID => Type::Void,
        op::TYPE_BOOL => Type::Bool,
        op::TYPE_INT => Type::Int { width: word(1), signed: word(2) != 0 },
        op::TYPE_FLOAT => Type::Float { width: word(1), encoding: (instruction.len() > 2).then(|| word(2)) },
        op::TYPE_VECTOR => Type::Vector { component: word(1), count: word(2) },
        op::TYPE_MATRIX => Type::Matrix { column: word(1), count: word(2) },
        op::TYPE_ARRAY => Type::Array { element: word(1), length: word(2) },
        op::TYPE_RUNTIME_ARRAY => Type::RuntimeArray { element: word(1) },
        op::TYPE_STRUCT => Type::Struct,
        op::TYPE_OPAQUE => Type::Opaque,
        op::TYPE_POINTER => Type::Pointer { storage: word(1), pointee: Some(word(2)) },
        op::TYPE_UNTYPED_POINTER => Type::Pointer { storage: word(1), pointee: None },
        op::TYPE_FUNCTION => Type::Function { result: word(1), parameters: rest(2) },
        op::TYPE_IMAGE => Type::Image(Image {
            sampled_type: word(1),
            dimension: word(2),
            depth: word(3),
            arrayed: word(4) != 0,
            multisampled: word(5) != 0,
            sampled: word(6),
            format: word(7),
            access: (instruction.len() > 8).then(|| word(8)),
        }),
        op::TYPE_SAMPLER => Type::Sampler,
        op::TYPE_SAMPLED_IMAGE => Type::SampledImage { image: word(1) },
        op::TYPE_EVENT => Type::Event,
        op::TYPE_DEVICE_EVENT => Type::DeviceEvent,
        op::TYPE_RESERVE_ID => Type::ReserveId,
        op::TYPE_QUEUE => Type::Queue,
        op::TYPE_PIPE => Type::Pipe { access: word(1) },
        op::TYPE_PIPE_STORAGE => Type::PipeStorage,
        op::TYPE_NAMED_BARRIER => Type::NamedBarrier,
        op::TYPE_COOPERATIVE_MATRIX => Type::CooperativeMatrix { component: word(1) },
        opcode if grammar::declares_type(opcode) => Type::Other { opcode },
        _ => return None,
    })
}

/// Returns the types of a structure's members, including those of continued instructions (`SPV_INTEL_long_composites`).
fn members(index: &Index<'_>, id: u32) -> Vec<u32> {
    let Some(first) = index.definition(id) else { return Vec::new() };
    let mut members = Vec::new();
    for (number, instruction) in index.instructions(first..index.len()) {
        match (number == first, instruction.opcode) {
            (true, _) => members.extend((1..instruction.len()).map(|at| instruction.word(at))),
            (false, op::TYPE_STRUCT_CONTINUED) => {
                members.extend((0..instruction.len()).map(|at| instruction.word(at)));
            }
            _ => break,
        }
    }
    members
}

/// Returns a type's name in the style of a disassembler: `double`, `v4float`, `ptr` and so on.
pub(crate) fn brief(index: &Index<'_>, id: u32) -> String {
    match resolve(index, id) {
        Some(Type::Struct) => index.name_head(id, LONGEST * 4).map_or_else(|| "struct".to_owned(), cut),
        Some(Type::Void) => "void".to_owned(),
        Some(Type::Bool) => "bool".to_owned(),
        Some(Type::Int { width, .. }) => format!("i{width}"),
        Some(Type::Float { encoding: Some(0), .. }) => "bfloat16".to_owned(),
        Some(Type::Float { width, encoding: Some(encoding) }) => format!("float{width}#{encoding}"),
        Some(Type::Float { width: 16, .. }) => "half".to_owned(),
        Some(Type::Float { width: 32, .. }) => "float".to_owned(),
        Some(Type::Float { width: 64, .. }) => "double".to_owned(),
        Some(Type::Float { width, .. }) => format!("float{width}"),
        // A component is a scalar, so nesting ends here.
        Some(Type::Vector { component, count }) => match resolve(index, component) {
            Some(Type::Int { .. } | Type::Float { .. } | Type::Bool) => format!("v{count}{}", brief(index, component)),
            _ => format!("vector of {count}"),
        },
        Some(Type::Array { .. } | Type::RuntimeArray { .. }) => "array".to_owned(),
        Some(Type::Pointer { .. }) => "ptr".to_owned(),
        Some(Type::Opaque) => index.name_head(id, LONGEST * 4).map_or_else(String::new, cut),
        Some(_) => index.defining(id).map_or_else(String::new, |instruction| {
            super::grammar::name(instruction.opcode).trim_start_matches("OpType").to_lowercase()
        }),
        None => format!("%{id}"),
    }
}

/// Characters of a name in [`brief`]; each takes four bytes at most.
const LONGEST: usize = 1024;

/// Cuts a name that thousands of uses of its type would repeat.
fn cut(name: String) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    format!("{}...", name.chars().take(LONGEST).collect::<String>())
}

/// Returns a linked function's or variable's type as text that two modules can be compared by. Pointers count by their
/// storage alone: LLVM's are opaque, and each module guesses what they point to.
pub(crate) fn signature(index: &Index<'_>, id: u32) -> String {
    let mut out = String::new();
    sign(index, id, 0, &mut out);
    out
}

fn sign(index: &Index<'_>, id: u32, depth: usize, out: &mut String) {
    /// Members of members beyond these, and what comes behind so much text, count as equal.
    const DEPTH: usize = 4;
    const LENGTH: usize = 1024;
    if out.len() > LENGTH {
        return;
    }
    // Types of valid modules do not contain themselves, nor functions.
    if depth > DEPTH * 2 {
        return out.push_str("...");
    }
    let all = |ids: &[u32], out: &mut String| {
        for (at, id) in ids.iter().enumerate().take_while(|(at, _)| *at < LENGTH) {
            if at > 0 {
                out.push_str(", ");
            }
            sign(index, *id, depth.saturating_add(1), out);
        }
    };
    match resolve(index, id) {
        Some(Type::Function { result, parameters }) => {
            sign(index, result, depth.saturating_add(1), out);
            out.push_str(" (");
            all(&parameters, out);
            out.push(')');
        }
        Some(Type::Pointer { storage, .. }) => out.push_str(&format!("ptr({storage})")),
        Some(Type::Struct) if depth < DEPTH => {
            out.push('{');
            all(&members(index, id), out);
            out.push('}');
        }
        Some(Type::Struct) => out.push_str("struct"),
        _ => out.push_str(&brief(index, id)),
    }
}

/// Returns the bits (up to 64) of an integer, floating-point or Boolean constant; for a specialization constant those
/// of its default. None where the id is no such constant, or is the result of an operation on constants.
pub fn constant_bits(index: &Index<'_>, id: u32) -> Option<u64> {
    let instruction = index.defining(id)?;
    match instruction.opcode {
        op::CONSTANT_TRUE | op::SPEC_CONSTANT_TRUE => Some(1),
        op::CONSTANT_FALSE | op::SPEC_CONSTANT_FALSE => Some(0),
        op::CONSTANT_NULL => match resolve(index, instruction.word(0))? {
            Type::Int { .. } | Type::Float { .. } | Type::Bool => Some(0),
            _ => None,
        },
        op::CONSTANT | op::SPEC_CONSTANT => Some(literal(&instruction)),
        _ => None,
    }
}

/// Returns the first two words of the literal of `OpConstant` or `OpSpecConstant`.
fn literal(instruction: &Instruction<'_>) -> u64 {
    let high = if instruction.len() > 3 { instruction.word(3) } else { 0 };
    u64::from(high) << 32 | u64::from(instruction.word(2))
}

/// Returns the ids of the parts of a composite constant, including those of continued instructions; none where the id
/// is no composite.
pub(crate) fn constant_parts(index: &Index<'_>, id: u32) -> Option<Vec<u32>> {
    let first = index.definition(id)?;
    let mut parts = Vec::new();
    for (number, instruction) in index.instructions(first..index.len()) {
        let from = match (number == first, instruction.opcode) {
            (true, op::CONSTANT_COMPOSITE | op::SPEC_CONSTANT_COMPOSITE) => 2,
            (true, _) => return None,
            (false, op::CONSTANT_COMPOSITE_CONTINUED | op::SPEC_CONSTANT_COMPOSITE_CONTINUED) => 0,
            _ => break,
        };
        parts.extend((from..instruction.len()).map(|at| instruction.word(at)));
    }
    Some(parts)
}

/// Size and alignment in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Size in bytes.
    pub(crate) size: u64,
    /// Alignment in bytes.
    pub(crate) align: u64,
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
                && let Some(kind) = resolve(index, id)
                && let Some(layout) = layouts.lay_out(index, id, &kind, &mut members_left)
            {
                layouts.known.insert(id, layout);
            }
        }
        layouts
    }

    /// Returns the layout of a type, or none where it has no size (void, functions, opaque structures, arrays without a
    /// length).
    pub(crate) fn get(&self, id: u32) -> Option<Layout> {
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
                Some(Layout { size: element.size.checked_mul(constant_bits(index, *length)?)?, align: element.align })
            }
            Type::Struct => {
                let members = members(index, id);
                *members_left = members_left.checked_sub(members.len())?;
                self.structure(index, id, &members)
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
            | Type::Opaque
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
