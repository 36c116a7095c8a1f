//! Which instructions on images do drivers have functions for?
//!
//! Drivers look for a function by the kind of the image and by the types of what is read, written and given as a place, and have one for
//! some of those that the specification allows. These were read from their libraries: what Intel's OpenCL CPU driver 2026.2 has for OpenCL C,
//! and Intel's compiler for GPUs (IGC 2.40) for OpenCL C and for the bindless images of DPC++. Each was tried on them, with those that are not there.

use super::op::*;
use super::overloads::Number;
use super::words::Instruction;
use rspirv::spirv::{AccessQualifier, Dim, ImageOperands, Op};
use std::collections::{BTreeSet, HashMap, HashSet};

const TEXEL_POINTER: u16 = Op::ImageTexelPointer as u16;
const SAMPLED_IMAGE: u16 = Op::SampledImage as u16;
const SAMPLE: u16 = Op::ImageSampleExplicitLod as u16;
const READ: u16 = Op::ImageRead as u16;
const WRITE: u16 = Op::ImageWrite as u16;
const QUERY_FORMAT: u16 = Op::ImageQueryFormat as u16;
const QUERY_ORDER: u16 = Op::ImageQueryOrder as u16;
const QUERY_SIZE_LOD: u16 = Op::ImageQuerySizeLod as u16;
const QUERY_SIZE: u16 = Op::ImageQuerySize as u16;
const QUERY_LEVELS: u16 = Op::ImageQueryLevels as u16;
const QUERY_SAMPLES: u16 = Op::ImageQuerySamples as u16;
const FIRST_SPARSE: u16 = Op::ImageSparseSampleImplicitLod as u16;
const SPARSE_RESIDENT: u16 = Op::ImageSparseTexelsResident as u16;
const SPARSE_READ: u16 = Op::ImageSparseRead as u16;
const BLOCK_READ: u16 = Op::SubgroupImageBlockReadINTEL as u16;
const BLOCK_WRITE: u16 = Op::SubgroupImageBlockWriteINTEL as u16;
const UNDEF: u16 = Op::Undef as u16;
const SELECT: u16 = Op::Select as u16;
const PHI: u16 = Op::Phi as u16;
const COPY_OBJECT: u16 = Op::CopyObject as u16;

const READ_ONLY: u32 = AccessQualifier::ReadOnly as u32;
const WRITE_ONLY: u32 = AccessQualifier::WriteOnly as u32;
const READ_WRITE: u32 = AccessQualifier::ReadWrite as u32;
const ONE: u32 = Dim::Dim1D as u32;
const TWO: u32 = Dim::Dim2D as u32;
const THREE: u32 = Dim::Dim3D as u32;
const BUFFER: u32 = Dim::DimBuffer as u32;

/// Drivers that take something: those for CPUs, and those for GPUs.
type Takers = [bool; 2];
const ALL: Takers = [true, true];
const GPUS: Takers = [false, true];
const NONE: Takers = [false, false];

/// Type of an image.
#[derive(Debug, Clone, Copy)]
struct Image {
    dim: u32,
    is_depth: bool,
    is_array: bool,
    /// Whether it has several samples.
    is_sampled: bool,
    access: u32,
}

impl Image {
    /// Reads a type; none of one that OpenCL C does not have.
    fn read(instruction: &Instruction<'_>, is_void: bool) -> Option<Image> {
        let [_, _, dim, depth, arrayed, samples, sampled, format] =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|at| instruction.word(at));
        let access = if instruction.len() > 8 { instruction.word(8) } else { READ_ONLY };
        let [is_depth, is_array, is_sampled] = [depth, arrayed, samples].map(|flag| flag == 1);
        let is_known = match dim {
            TWO => true,
            ONE => !is_depth && !is_sampled,
            THREE | BUFFER => !is_depth && !is_array && !is_sampled,
            _ => false,
        };
        let is_plain = is_void && depth < 2 && arrayed < 2 && samples < 2 && sampled == 0 && format == 0;
        let is_taken = is_known && is_plain && access <= READ_WRITE && !(is_sampled && access != READ_ONLY);
        is_taken.then_some(Image { dim, is_depth, is_array, is_sampled, access })
    }

    /// Numbers that say a place in it.
    fn places(&self) -> u32 {
        self.directions().saturating_add(u32::from(self.is_array))
    }

    /// Directions in which it extends.
    fn directions(&self) -> u32 {
        match self.dim {
            TWO => 2,
            THREE => 3,
            _ => 1,
        }
    }

    /// Whether so many numbers say a place as OpenCL C has it: three stand in a vector of four.
    fn is_place_of_c(&self, lanes: u32) -> bool {
        lanes == if self.places() == 3 { 4 } else { self.places() }
    }
}

/// Operands behind those that an instruction must have.
#[derive(Debug, Clone, Copy, Default)]
struct Others {
    /// Whether it says how integers are widened.
    extends: bool,
    lod: Option<u32>,
    gradients: Option<[u32; 2]>,
    sample: Option<u32>,
}

impl Others {
    /// Reads what begins at word `at`; none of what no driver takes.
    fn read(instruction: &Instruction<'_>, at: usize) -> Option<Others> {
        let mut others = Others::default();
        if instruction.len() <= at {
            return Some(others);
        }
        let mask = ImageOperands::from_bits(instruction.word(at))?;
        let extend = ImageOperands::SIGN_EXTEND | ImageOperands::ZERO_EXTEND;
        others.extends = mask.intersects(extend);
        let word = |behind: usize| instruction.word(at.saturating_add(behind));
        let rest = mask.difference(extend);
        let count = if rest.is_empty() {
            1
        } else if rest == ImageOperands::LOD {
            others.lod = Some(word(1));
            2
        } else if rest == ImageOperands::GRAD {
            others.gradients = Some([word(1), word(2)]);
            3
        } else if rest == ImageOperands::SAMPLE {
            others.sample = Some(word(1));
            2
        } else {
            return None;
        };
        (instruction.len() == at.saturating_add(count) && mask.intersection(extend) != extend).then_some(others)
    }

    /// Whether there are none but such as say how integers are widened.
    fn is_empty(&self) -> bool {
        self.lod.is_none() && self.gradients.is_none() && self.sample.is_none()
    }
}

/// Whether a number is such a scalar.
fn is_scalar(number: Number, is_float: bool, width: u32) -> bool {
    number.lanes == 1 && number.is_plain && number.is_float == is_float && number.width == width
}

/// Whether it is what compilers for GPUs read and write.
fn is_texel(number: Number) -> bool {
    let Number { is_float, width, lanes, is_plain } = number;
    let has_width = if is_float { [16, 32].contains(&width) } else { [8, 16, 32].contains(&width) };
    is_plain && has_width && (1..=4).contains(&lanes)
}

/// Whether it is what OpenCL C reads and writes: four numbers of 32 bits, or of `half`.
fn is_texel_of_c(number: Number) -> bool {
    is_texel(number) && number.lanes == 4 && (number.width == 32 || number.is_float)
}

/// Whether it is four numbers of 32 bits.
fn is_full(number: Number) -> bool {
    is_texel_of_c(number) && number.width == 32
}

/// Images with samplers that drivers for CPUs do not follow: they are read elsewhere than where they are made.
const HELD: &str = "an image with a sampler that is not read by where it is made";

/// State of the walk.
#[derive(Debug, Default)]
pub(super) struct Images<'m> {
    void: Option<u32>,
    /// Types of images; none of those that no driver takes.
    images: HashMap<u32, Option<Image>>,
    /// Types of an image with a sampler, with that of the image.
    sampled: HashMap<u32, u32>,
    samplers: HashSet<u32>,
    /// Types of pointers to images with samplers.
    pointers: HashSet<u32>,
    /// Images with samplers that the code makes, and those of them that it reads by.
    made: HashSet<u32>,
    read: HashSet<u32>,
    /// Instructions whose operands decide.
    uses: Vec<Instruction<'m>>,
    /// Uses that drivers for CPUs, and those for GPUs, have no function for.
    lacking: [BTreeSet<&'static str>; 2],
}

impl<'m> Images<'m> {
    /// Looks at an instruction.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'m>) {
        match instruction.opcode {
            TYPE_VOID => _ = self.void.get_or_insert(instruction.word(0)),
            TYPE_IMAGE => {
                let image = Image::read(instruction, self.void == Some(instruction.word(1)));
                self.images.insert(instruction.word(0), image);
                if image.is_none() {
                    self.note("an image of a kind that OpenCL C does not have", NONE);
                }
            }
            TYPE_SAMPLED_IMAGE => _ = self.sampled.insert(instruction.word(0), instruction.word(1)),
            TYPE_SAMPLER => _ = self.samplers.insert(instruction.word(0)),
            // Between the last two are other instructions.
            TEXEL_POINTER
            | SAMPLED_IMAGE..=QUERY_SAMPLES
            | FIRST_SPARSE..=SPARSE_RESIDENT
            | SPARSE_READ
            | BLOCK_READ..=BLOCK_WRITE => {
                self.uses.push(*instruction);
            }
            _ if self.images.is_empty() && self.samplers.is_empty() => {}
            _ => self.pass(instruction),
        }
    }

    /// Looks at an instruction of a module with images that may have such a value.
    fn pass(&mut self, instruction: &Instruction<'m>) {
        let kind = instruction.word(0);
        let is_sampled = self.sampled.contains_key(&kind);
        let is_image = is_sampled || self.images.contains_key(&kind);
        match instruction.opcode {
            TYPE_POINTER if self.sampled.contains_key(&instruction.word(2)) => _ = self.pointers.insert(kind),
            VARIABLE if self.pointers.contains(&kind) => self.note(HELD, GPUS),
            LOAD | COPY_OBJECT | FUNCTION | FUNCTION_PARAMETER | FUNCTION_CALL if is_sampled => {
                self.note(HELD, GPUS);
            }
            SELECT | PHI | UNDEF | CONSTANT_NULL if is_image || self.samplers.contains(&kind) => {
                self.note("a choice of images or samplers, or none of them", NONE);
            }
            _ => {}
        }
    }

    /// Notes a use that some drivers do not take.
    #[cold]
    fn note(&mut self, what: &'static str, takers: Takers) {
        for (lacking, takes) in self.lacking.iter_mut().zip(takers) {
            if !takes {
                lacking.insert(what);
            }
        }
    }

    /// Adds the values whose types decide.
    pub(super) fn ask(&self, asked: &mut HashSet<u32>) {
        asked.extend(self.uses.iter().flat_map(Instruction::words));
    }

    /// Returns what drivers for CPUs, and those for GPUs, have no function for. `values` are those that were asked for.
    pub(super) fn finish(
        mut self,
        values: &HashMap<u32, Instruction<'_>>,
        numbers: &HashMap<u32, Number>,
    ) -> [BTreeSet<&'static str>; 2] {
        let uses = std::mem::take(&mut self.uses);
        if !uses.is_empty() {
            for one in &uses {
                match one.opcode {
                    SAMPLED_IMAGE => _ = self.made.insert(one.word(1)),
                    SAMPLE => _ = self.read.insert(one.word(2)),
                    _ => {}
                }
                let number = |id: u32| values.get(&id).and_then(|value| numbers.get(&value.word(0))).copied();
                let is_zero = |id: u32| {
                    let is_nought =
                        |value: &Instruction<'_>| value.opcode == CONSTANT && value.len() == 3 && value.word(2) == 0;
                    values.get(&id).is_some_and(|value| value.opcode == CONSTANT_NULL || is_nought(value))
                };
                let typed = Typed { number: &number, is_zero: &is_zero, result: numbers.get(&one.word(0)).copied() };
                let is_first = matches!(one.opcode, WRITE | BLOCK_WRITE);
                let kind = values.get(&one.word(if is_first { 0 } else { 2 })).map(|value| value.word(0));
                let (what, takers) = self.judge(one, kind.unwrap_or_default(), &typed);
                if takers != ALL {
                    self.note(what, takers);
                }
            }
            if !self.made.is_subset(&self.read) {
                self.note(HELD, GPUS);
            }
        }
        self.lacking
    }

    /// Tells which drivers take a use of a value of such a type, and what it is called.
    fn judge(&self, one: &Instruction<'_>, kind: u32, typed: &Typed<'_>) -> (&'static str, Takers) {
        let image = self.images.get(&kind).copied().flatten();
        let by = |judge: &dyn Fn(Image) -> Option<Takers>| image.and_then(judge).unwrap_or(NONE);
        match one.opcode {
            SAMPLED_IMAGE => {
                let takes = |image: Image| image.dim != BUFFER && !image.is_sampled && image.access == READ_ONLY;
                ("OpSampledImage of such an image", by(&|image| Some([takes(image); 2])))
            }
            SAMPLE => {
                let image = self.sampled.get(&kind).and_then(|image| self.images.get(image)).copied().flatten();
                let takers = image.and_then(|image| sample(image, one, typed)).unwrap_or(NONE);
                ("OpImageSampleExplicitLod with such types or operands", takers)
            }
            READ => ("OpImageRead with such types or operands", by(&|image| read(image, one, typed))),
            WRITE => ("OpImageWrite with such types or operands", by(&|image| write(image, one, typed))),
            QUERY_FORMAT | QUERY_ORDER | QUERY_SIZE_LOD | QUERY_SIZE | QUERY_LEVELS | QUERY_SAMPLES => {
                ("a query of an image that gives such a type", by(&|image| query(image, one, typed)))
            }
            BLOCK_READ | BLOCK_WRITE => {
                ("a block of an image that a sub-group reads or writes", by(&|image| block(image, one, typed)))
            }
            _ => ("an instruction on images that OpenCL C does not have", NONE),
        }
    }
}

/// Types and values of an instruction's operands.
struct Typed<'t> {
    number: &'t dyn Fn(u32) -> Option<Number>,
    is_zero: &'t dyn Fn(u32) -> bool,
    result: Option<Number>,
}

impl Typed<'_> {
    /// Whether an operand is such a scalar.
    fn is_scalar(&self, id: u32, is_float: bool, width: u32) -> bool {
        (self.number)(id).is_some_and(|number| is_scalar(number, is_float, width))
    }
}

/// Tells which drivers have a function for a read.
fn read(image: Image, one: &Instruction<'_>, typed: &Typed<'_>) -> Option<Takers> {
    let (result, place, others) = (typed.result?, (typed.number)(one.word(3))?, Others::read(one, 4)?);
    if image.access == WRITE_ONLY || place.is_float || place.width != 32 {
        return None;
    }
    let of_c = image.is_place_of_c(place.lanes);
    if image.is_sampled {
        let has_sample = others.sample.is_some_and(|id| typed.is_scalar(id, false, 32));
        let is_known = if image.is_depth { is_scalar(result, true, 32) } else { is_full(result) };
        return Some([false, of_c && has_sample && is_known]);
    }
    if !others.is_empty() {
        return None;
    }
    if image.is_depth {
        let takes = of_c && is_scalar(result, true, 32);
        return Some([takes, takes && !others.extends]);
    }
    let is_short = others.extends && result.is_float && result.width == 16 && result.lanes == 4;
    let is_wide = image.dim != BUFFER && place.lanes == image.places() && is_texel(result);
    Some([of_c && is_texel_of_c(result), (of_c && is_texel_of_c(result) || is_wide) && !is_short])
}

/// Tells which drivers have a function for a write.
fn write(image: Image, one: &Instruction<'_>, typed: &Typed<'_>) -> Option<Takers> {
    let (place, texel, others) = ((typed.number)(one.word(1))?, (typed.number)(one.word(2))?, Others::read(one, 3)?);
    let is_other = others.gradients.is_some() || others.sample.is_some();
    if image.access == READ_ONLY || place.is_float || place.width != 32 || is_other {
        return None;
    }
    let of_c = image.is_place_of_c(place.lanes);
    let is_texel_of_c = if image.is_depth { is_scalar(texel, true, 32) } else { is_texel_of_c(texel) };
    if let Some(lod) = others.lod {
        let is_full = if image.is_depth { is_texel_of_c } else { is_full(texel) };
        let is_place = of_c || !image.is_depth && place.lanes == image.places();
        let takes = image.access == WRITE_ONLY && image.dim != BUFFER && typed.is_scalar(lod, false, 32);
        return Some([false, is_full && is_place && takes]);
    }
    let is_wide = !image.is_depth && image.dim != BUFFER && place.lanes == image.places() && is_texel(texel);
    Some([of_c && is_texel_of_c, of_c && is_texel_of_c || is_wide])
}

/// Tells which drivers have a function for a read by a sampler.
fn sample(image: Image, one: &Instruction<'_>, typed: &Typed<'_>) -> Option<Takers> {
    let (result, place, others) = (typed.result?, (typed.number)(one.word(3))?, Others::read(one, 4)?);
    if image.is_sampled || image.dim == BUFFER || image.access != READ_ONLY || place.width != 32 {
        return None;
    }
    let of_c = image.is_place_of_c(place.lanes);
    let exact = place.lanes == image.places();
    if let Some(lod) = others.lod {
        let is_lod = typed.is_scalar(lod, true, 32);
        let takes = if image.is_depth {
            of_c && is_full(result) && result.is_float
        } else {
            of_c && is_texel_of_c(result) || exact && is_texel(result)
        };
        let on_cpus = of_c && is_texel_of_c(result) && (result.is_float || !image.is_depth);
        return Some([is_lod && (typed.is_zero)(lod) && on_cpus, is_lod && takes]);
    }
    let gradients = others.gradients?.map(typed.number);
    let [Some(first), Some(second)] = gradients else { return None };
    let are = |lanes: u32| {
        [first, second].iter().all(|one| one.is_plain && one.is_float && one.width == 32 && one.lanes == lanes)
    };
    let takes = match (image.dim, image.is_array) {
        _ if !place.is_float => false,
        (TWO, _) if image.is_depth => of_c && are(2) && is_full(result) && result.is_float,
        (ONE, false) => exact && are(1) && is_texel(result),
        (ONE, true) => exact && are(1) && is_full(result),
        (TWO, false) => exact && are(2) && is_texel(result),
        (THREE, _) => {
            is_texel(result) && result.lanes == 4 && (exact && are(3) || of_c && are(4) && is_texel_of_c(result))
        }
        _ => false,
    };
    Some([false, takes])
}

/// Tells which drivers have a function for a query.
fn query(image: Image, one: &Instruction<'_>, typed: &Typed<'_>) -> Option<Takers> {
    let result = typed.result?;
    let is_int = is_scalar(result, false, 32);
    let on_cpus = !image.is_sampled;
    Some(match one.opcode {
        QUERY_FORMAT | QUERY_ORDER => [is_int && on_cpus, is_int],
        QUERY_LEVELS => [false, is_int && !image.is_sampled && image.dim != BUFFER],
        QUERY_SAMPLES => [false, is_int && image.is_sampled],
        _ => {
            let is_lod = one.opcode == QUERY_SIZE || typed.is_scalar(one.word(3), false, 32);
            let is_size = !result.is_float && [32, 64].contains(&result.width) && result.lanes == image.places();
            [is_lod && is_size && on_cpus, is_lod && is_size]
        }
    })
}

/// Tells which drivers have a function for a block that a sub-group reads or writes.
fn block(image: Image, one: &Instruction<'_>, typed: &Typed<'_>) -> Option<Takers> {
    let is_read = one.opcode == BLOCK_READ;
    let (place, texel) = if is_read {
        ((typed.number)(one.word(3))?, typed.result?)
    } else {
        ((typed.number)(one.word(1))?, (typed.number)(one.word(2))?)
    };
    let is_image = image.dim == TWO && !image.is_array && !image.is_depth && !image.is_sampled;
    let is_place = !place.is_float && place.width == 32 && place.lanes == 2;
    let has_access = image.access == READ_WRITE || image.access == if is_read { READ_ONLY } else { WRITE_ONLY };
    let is_texel = !texel.is_float && ([1, 2, 4, 8].contains(&texel.lanes) || texel.lanes == 16 && texel.width < 32);
    let takes = is_image && is_place && has_access && is_texel;
    Some([takes && !(texel.lanes == 16 && texel.width == 16), takes])
}
