//! Which instruction shows which aspect?
//!
//! The rules reproduce what DPC++ records (`SYCLPropagateAspectsUsage.cpp` and the `__uses_aspects__` marks of its
//! headers) as far as SPIR-V still shows it, and add what a device needs though no compiler records it: images and
//! bindless images, joint matrices, function pointers, copies of doubles by a group. Aspects that leave no trace
//! (`cpu`, `usm_*`, `emulated`, `queue_profiling`, ...) have no rule. An image type shows `ext_intel_legacy_image`, not `image`: what that asks of a device
//! is `CL_DEVICE_IMAGE_SUPPORT`, and libsycl and ocloc take image kernels on devices without `image` (CPU, DG1, Arc).
//!
//! Structures, arrays and vectors contain what their members do; pointers do not contain what they point to.

use crate::spirv::grammar::Role;
use crate::spirv::index::Index;
use crate::spirv::types::{self, Type};
use crate::spirv::{Instruction, op};

macro_rules! aspects {
    ($($aspect:ident => $name:literal,)*) => {
        /// An aspect that SPIR-V can show.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "named as in SYCL")]
        pub enum Aspect {
            $($aspect,)*
        }

        impl Aspect {
            /// All of them, in order.
            pub const ALL: [Aspect; [$($name),*].len()] = [$(Aspect::$aspect),*];

            /// The SYCL name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Aspect::$aspect => $name,)*
                }
            }
        }
    };
}

aspects! {
    Fp16 => "fp16",
    Fp64 => "fp64",
    Atomic64 => "atomic64",
    Atomic16 => "ext_oneapi_atomic16",
    LegacyImage => "ext_intel_legacy_image",
    Esimd => "ext_intel_esimd",
    Matrix => "ext_intel_matrix",
    BindlessImages => "ext_oneapi_bindless_images",
    BindlessGather => "ext_oneapi_bindless_images_gather",
    BindlessFetch1d => "ext_oneapi_bindless_sampled_image_fetch_1d",
    BindlessFetch2d => "ext_oneapi_bindless_sampled_image_fetch_2d",
    BindlessFetch3d => "ext_oneapi_bindless_sampled_image_fetch_3d",
    Cubemap => "ext_oneapi_cubemap",
    ImageArray => "ext_oneapi_image_array",
    PrivateAlloca => "ext_oneapi_private_alloca",
    VirtualFunctions => "ext_oneapi_virtual_functions",
    ClockDevice => "ext_oneapi_clock_device",
    ClockWorkGroup => "ext_oneapi_clock_work_group",
    ClockSubGroup => "ext_oneapi_clock_sub_group",
    Chunk => "ext_oneapi_chunk",
    Fragment => "ext_oneapi_fragment",
}

impl Aspect {
    /// The aspect of a SYCL name; none where SPIR-V cannot show it.
    pub fn of_name(name: &str) -> Option<Aspect> {
        Aspect::ALL.into_iter().find(|aspect| aspect.name() == name)
    }

    /// Whether the code proves that a device must have the aspect. Non-uniform groups and fetches from sampled images
    /// leave the same instructions whichever of several aspects the source named.
    pub(crate) fn certain(self) -> bool {
        match self {
            Aspect::BindlessFetch1d
            | Aspect::BindlessFetch2d
            | Aspect::BindlessFetch3d
            | Aspect::Chunk
            | Aspect::Fragment => false,
            Aspect::Fp16
            | Aspect::Fp64
            | Aspect::Atomic64
            | Aspect::Atomic16
            | Aspect::LegacyImage
            | Aspect::Esimd
            | Aspect::Matrix
            | Aspect::BindlessImages
            | Aspect::BindlessGather
            | Aspect::Cubemap
            | Aspect::ImageArray
            | Aspect::PrivateAlloca
            | Aspect::VirtualFunctions
            | Aspect::ClockDevice
            | Aspect::ClockWorkGroup
            | Aspect::ClockSubGroup => true,
        }
    }

    /// Whether DPC++ records the aspect on its own where code uses it (`SYCL/device requirements`); of the others it
    /// records only what the source declares.
    pub(crate) fn recorded_by_compiler(self) -> bool {
        match self {
            Aspect::Fp16
            | Aspect::Fp64
            | Aspect::Atomic64
            | Aspect::Atomic16
            | Aspect::Esimd
            | Aspect::BindlessGather
            | Aspect::PrivateAlloca
            | Aspect::ClockDevice
            | Aspect::ClockWorkGroup
            | Aspect::ClockSubGroup => true,
            Aspect::LegacyImage
            | Aspect::Matrix
            | Aspect::BindlessImages
            | Aspect::BindlessFetch1d
            | Aspect::BindlessFetch2d
            | Aspect::BindlessFetch3d
            | Aspect::Cubemap
            | Aspect::ImageArray
            | Aspect::VirtualFunctions
            | Aspect::Chunk
            | Aspect::Fragment => false,
        }
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// Aspects as a set.
pub(super) fn aspects(mask: u32) -> impl Iterator<Item = Aspect> {
    Aspect::ALL.into_iter().filter(move |aspect| mask & aspect.bit() != 0)
}

const CLUSTERED_REDUCE: u32 = 3;
const SUBGROUP: u32 = 3;

/// Tables that the instructions of one module are judged with.
pub(super) struct Rules<'i, 'a> {
    index: &'i Index<'a>,
    contents: Contents,
    /// Instructions before this one belong to no function.
    functions: usize,
}

impl<'i, 'a> Rules<'i, 'a> {
    pub(super) fn new(index: &'i Index<'a>) -> Self {
        let functions = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        Rules { index, contents: Contents::scan(index), functions }
    }

    /// The aspects that an instruction in a function needs, as a set, and the type that says so where one does.
    #[inline]
    pub(super) fn needs(&self, instruction: &Instruction<'_>) -> (u32, Option<u32>) {
        let mut needs = match instruction.opcode {
            opcode if opcode < FIRST_SPECIAL => 0,
            _ => self.special(instruction),
        };
        let result_type = match instruction.opcode {
            // The type of the stored value counts.
            op::ATOMIC_STORE => self.index.type_of(instruction.word(3)),
            _ => self.index.result_type(instruction),
        };
        if self.contents.any == 0 {
            return (needs, result_type);
        }
        let mut seen = result_type.map_or(0, |id| self.contents.of_type(self.index, id));
        let mut shown = result_type;
        let is = |kind: u32, opcode: u16| self.index.defining(kind).is_some_and(|kind| kind.opcode == opcode);
        let pointee = |pointer: u32| Some(self.index.defining(pointer)?.word(2));
        // The type that a variable holds or an address is counted in, though no value of that type need be there.
        let pointee = match instruction.opcode {
            op::VARIABLE => result_type.and_then(pointee),
            op::ACCESS_CHAIN | op::IN_BOUNDS_ACCESS_CHAIN | op::PTR_ACCESS_CHAIN | op::IN_BOUNDS_PTR_ACCESS_CHAIN => {
                self.index.type_of(instruction.word(2)).and_then(pointee)
            }
            // Drivers copy vectors as bytes, and floats as floats. DPC++ does not record either.
            op::GROUP_ASYNC_COPY => {
                self.index.type_of(instruction.word(3)).and_then(pointee).filter(|kind| is(*kind, op::TYPE_FLOAT))
            }
            _ => None,
        };
        if let Some(pointee) = pointee {
            let mut contents = self.contents.of_type(self.index, pointee);
            // DPC++ looks for fp64 late, when structures are memory to copy: only values of them count.
            if is(pointee, op::TYPE_STRUCT) {
                contents &= !DOUBLE;
            }
            if contents != 0 {
                (seen, shown) = (seen | contents, Some(pointee));
            }
        }
        if seen == 0 {
            // Values of the function show at the instruction that makes them; constants and globals show here alone.
            self.index.for_each_id(instruction, |at, role| {
                let id = instruction.word(at);
                if role == Role::Operand && seen == 0 && self.index.definition(id).is_some_and(|at| at < self.functions)
                {
                    (seen, shown) = self.of_global(id);
                }
            });
        }
        if seen & HALF != 0 {
            needs |= Aspect::Fp16.bit();
        }
        if seen & DOUBLE != 0 {
            needs |= Aspect::Fp64.bit();
        }
        if seen & MATRIX != 0 {
            needs |= Aspect::Matrix.bit();
        }
        // A handle that becomes an image is told by its own instruction; what a kernel is given or loads is an image.
        if seen & IMAGE != 0 && matches!(instruction.opcode, op::FUNCTION_PARAMETER | op::LOAD) {
            needs |= Aspect::LegacyImage.bit();
        }
        (needs, shown)
    }

    /// Bits of the kinds of values that a constant or variable of the module contains, and the type that says so.
    fn of_global(&self, id: u32) -> (u8, Option<u32>) {
        let Some(global) = self.index.defining(id) else { return (0, None) };
        let Some(kind) = self.index.result_type(&global) else { return (0, None) };
        match global.opcode {
            op::VARIABLE => {
                let pointee = self.index.defining(kind).map(|pointer| pointer.word(2));
                (self.contents.of_pointee(self.index, kind), pointee)
            }
            _ => (self.contents.of_type(self.index, kind), Some(kind)),
        }
    }

    /// Rules for particular instructions.
    fn special(&self, instruction: &Instruction<'_>) -> u32 {
        match instruction.opcode {
            op::ATOMIC_STORE => self.atomic(self.index.type_of(instruction.word(3))),
            op::ATOMIC_LOAD..=op::ATOMIC_XOR | op::ATOMIC_F_MIN | op::ATOMIC_F_MAX | op::ATOMIC_F_ADD => {
                self.atomic(self.index.result_type(instruction))
            }
            op::READ_CLOCK => match types::constant_bits(self.index, instruction.word(2)) {
                Some(1) => Aspect::ClockDevice.bit(),
                Some(2) => Aspect::ClockWorkGroup.bit(),
                Some(3) => Aspect::ClockSubGroup.bit(),
                _ => 0,
            },
            op::VARIABLE_LENGTH_ARRAY | op::UNTYPED_VARIABLE_LENGTH_ARRAY => Aspect::PrivateAlloca.bit(),
            op::FUNCTION_POINTER_CALL => Aspect::VirtualFunctions.bit(),
            op::CONVERT_HANDLE_TO_IMAGE | op::CONVERT_HANDLE_TO_SAMPLER | op::CONVERT_HANDLE_TO_SAMPLED_IMAGE => {
                Aspect::BindlessImages.bit() | self.image_kinds(instruction.word(0))
            }
            op::IMAGE_GATHER if self.bindless() => Aspect::BindlessGather.bit(),
            op::IMAGE_FETCH if self.bindless() => match self.image_of(instruction.word(2)) {
                Some(image) if self.is_sampled(instruction.word(2)) => match image.dimension {
                    0 => Aspect::BindlessFetch1d.bit(),
                    1 => Aspect::BindlessFetch2d.bit(),
                    2 => Aspect::BindlessFetch3d.bit(),
                    _ => 0,
                },
                _ => 0,
            },
            op::NON_UNIFORM_I_ADD..=op::NON_UNIFORM_LOGICAL_XOR => self.group(instruction),
            op::SUBGROUP_MATRIX_MULTIPLY_ACCUMULATE | op::SUBGROUP_SCALED_MATRIX_MULTIPLY_ACCUMULATE => {
                Aspect::Matrix.bit()
            }
            _ => 0,
        }
    }

    fn atomic(&self, kind: Option<u32>) -> u32 {
        match kind
            .and_then(|id| self.index.defining(id))
            .filter(|kind| matches!(kind.opcode, op::TYPE_INT | op::TYPE_FLOAT))
        {
            Some(kind) if kind.word(1) == 64 => Aspect::Atomic64.bit(),
            Some(kind) if kind.word(1) == 16 => Aspect::Atomic16.bit(),
            _ => 0,
        }
    }

    /// Reductions and scans over part of a sub-group: DPC++ makes them of its non-uniform groups alone.
    fn group(&self, instruction: &Instruction<'_>) -> u32 {
        if types::constant_bits(self.index, instruction.word(2)) != Some(u64::from(SUBGROUP)) {
            return 0;
        }
        match instruction.word(3) {
            CLUSTERED_REDUCE => Aspect::Chunk.bit(),
            _ => Aspect::Fragment.bit(),
        }
    }

    fn bindless(&self) -> bool {
        const BINDLESS_IMAGES: u32 = 6528;
        self.index.capabilities.contains(&BINDLESS_IMAGES)
    }

    fn is_sampled(&self, value: u32) -> bool {
        let kind = self.index.type_of(value).and_then(|id| self.index.defining(id));
        // OpImage takes the image out of a sampled one.
        kind.is_some_and(|kind| kind.opcode == op::TYPE_SAMPLED_IMAGE)
            || self.index.defining(value).is_some_and(|value| value.opcode == op::IMAGE)
    }

    fn image_of(&self, value: u32) -> Option<types::Image> {
        self.image(self.index.type_of(value)?)
    }

    fn image(&self, kind: u32) -> Option<types::Image> {
        let image = match self.index.defining(kind).filter(|kind| kind.opcode == op::TYPE_SAMPLED_IMAGE) {
            Some(sampled) => sampled.word(1),
            None => kind,
        };
        match self
            .index
            .defining(image)
            .filter(|image| image.opcode == op::TYPE_IMAGE)
            .and_then(|_| types::resolve(self.index, image))
        {
            Some(Type::Image(image)) => Some(image),
            _ => None,
        }
    }

    fn image_kinds(&self, kind: u32) -> u32 {
        const CUBE: u32 = 3;
        match self.image(kind) {
            Some(image) if image.dimension == CUBE => Aspect::Cubemap.bit(),
            Some(image) if image.arrayed => Aspect::ImageArray.bit(),
            _ => 0,
        }
    }
}

/// Below this opcode no instruction has a rule of its own.
const FIRST_SPECIAL: u16 = op::IMAGE_FETCH;

/// IEEE half precision.
pub(super) const HALF: u8 = 1;
/// IEEE double precision.
pub(super) const DOUBLE: u8 = 2;
/// An image, alone or with a sampler.
pub(super) const IMAGE: u8 = 4;
/// A cooperative (joint) matrix.
pub(super) const MATRIX: u8 = 8;

/// The contents of each type.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// By the number of the declaring instruction.
    masks: Vec<u8>,
    /// Of all types together.
    pub(super) any: u8,
}

impl Contents {
    pub(super) fn scan(index: &Index<'_>) -> Contents {
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        let mut contents = Contents { masks: vec![0; end], any: 0 };
        let mut last = 0;
        for (number, instruction) in index.instructions(0..end) {
            let inner = |id: u32| contents.of_type(index, id);
            let mask = match instruction.opcode {
                op::TYPE_FLOAT => match (instruction.word(1), (instruction.len() > 2).then(|| instruction.word(2))) {
                    // bfloat16.
                    (16, Some(0)) => 0,
                    (16, _) => HALF,
                    (64, _) => DOUBLE,
                    _ => 0,
                },
                op::TYPE_VECTOR | op::TYPE_MATRIX | op::TYPE_ARRAY | op::TYPE_RUNTIME_ARRAY => {
                    inner(instruction.word(1))
                }
                op::TYPE_STRUCT => (1..instruction.len()).fold(0, |mask, at| mask | inner(instruction.word(at))),
                op::TYPE_STRUCT_CONTINUED => {
                    let more = (0..instruction.len()).fold(0, |mask, at| mask | inner(instruction.word(at)));
                    if let Some(mask) = contents.masks.get_mut(last) {
                        *mask |= more;
                    }
                    continue;
                }
                op::TYPE_IMAGE | op::TYPE_SAMPLED_IMAGE => IMAGE,
                op::TYPE_COOPERATIVE_MATRIX => MATRIX | inner(instruction.word(1)),
                _ => continue,
            };
            last = number;
            contents.any |= mask;
            if let Some(place) = contents.masks.get_mut(number) {
                *place = mask;
            }
        }
        contents
    }

    /// Bits of the kinds of values that a type contains.
    #[inline]
    pub(super) fn of_type(&self, index: &Index<'_>, id: u32) -> u8 {
        index.definition(id).and_then(|number| self.masks.get(number)).copied().unwrap_or(0)
    }

    /// Bits of the kinds of values that a pointer of this type points to; none where the type is no pointer, or does
    /// not say.
    pub(super) fn of_pointee(&self, index: &Index<'_>, pointer: u32) -> u8 {
        match index.defining(pointer).filter(|kind| kind.opcode == op::TYPE_POINTER) {
            Some(kind) => self.of_type(index, kind.word(2)),
            None => 0,
        }
    }
}
