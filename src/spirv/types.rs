//! What does a type's id stand for?

use super::index::Index;
use super::op;
use super::operands;

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
        /// Their type.
        component: u32,
        /// Their number.
        count: u32,
    },
    /// Matrix.
    Matrix {
        /// Type of the columns, a vector.
        column: u32,
        /// Their number.
        count: u32,
    },
    /// Array.
    Array {
        /// Their type.
        element: u32,
        /// Id of the constant that is the number of elements.
        length: u32,
    },
    /// Array of a length that is not known.
    RuntimeArray {
        /// Their type.
        element: u32,
    },
    /// Structure.
    Struct {
        /// Types of the members, in order.
        members: Vec<u32>,
    },
    /// Opaque structure: it has a name and no members.
    Opaque {
        /// The name.
        name: String,
    },
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
        /// The image's type.
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
        /// The type of its components.
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
    pub sampled_type: u32,
    /// Dimension: 0 one, 1 two, 2 three, 3 cube, 5 buffer.
    pub dimension: u32,
    /// 1 for a depth image.
    pub depth: u32,
    /// Whether it is an array of images.
    pub arrayed: bool,
    /// Whether it has several samples per pixel.
    pub multisampled: bool,
    /// 0 where it is known only at run time whether the image is sampled.
    pub sampled: u32,
    /// Image format; 0 unknown.
    pub format: u32,
    /// Access qualifier: 0 read, 1 write, 2 both; none where the type has none.
    pub access: Option<u32>,
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
        op::TYPE_STRUCT => Type::Struct { members: members(index, id) },
        op::TYPE_OPAQUE => Type::Opaque { name: instruction.string(1).0 },
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
        opcode if operands::declares_type(opcode) => Type::Other { opcode },
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
pub fn brief(index: &Index<'_>, id: u32) -> String {
    // Returns early: `resolve` would list a structure's members, which the name does not need.
    if index.defining(id).is_some_and(|kind| kind.opcode == op::TYPE_STRUCT) {
        return index.name(id).unwrap_or_else(|| "struct".to_owned());
    }
    match resolve(index, id) {
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
        Some(Type::Opaque { name }) => name,
        Some(_) => index.defining(id).map_or_else(String::new, |instruction| {
            super::grammar::name(instruction.opcode).trim_start_matches("OpType").to_lowercase()
        }),
        None => format!("%{id}"),
    }
}
