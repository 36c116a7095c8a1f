//! Which devices is a native payload for, and which kernels with which resources are in it?
//!
//! Each format tells what it tells, in its own way: `.ze_info` text, patch tokens, MessagePack notes, `.nv.info`
//! attributes. One file here reads each, without any vendor's tool, and all give the same answer: the parts of the
//! payload, their devices by the names of the device configuration, and their kernels. What a format does not tell is
//! none, never zero.
//!
//! A driver takes native code for its GPU and, by rules of families, that for some others. What it cannot take it compiles from
//! the SPIR-V that stands inside: `generic_ir` of an archive (`device_binary_format_ar.cpp` in intel/compute-runtime), section
//! `.spv` of a zebin. Code of two GPUs of one family is not the same to it: each entry here was seen to be taken by driver
//! 26.27, OpenCL and Level Zero, and every other pair of 17 GPUs to be refused (-42, 0x70000004). Patch tokens, the older form, it
//! refuses since 26.18 whatever they are for.
//!
//! An archive of ocloc is a plain `ar` with members `POINTER SIZE.DEVICE` (`64.12.55.8`, `64.bmg`), each behind a `pad_N` that aligns it, and
//! perhaps `generic_ir` (`ar_encoder.cpp` and `device_binary_format_ar.cpp` in intel/compute-runtime). What the member
//! itself says of its device counts; its name does where it says nothing.

pub mod bitcode;
mod bitstream;
mod cubin;
pub(crate) mod driver;
pub(crate) mod fatbin;
mod hsaco;
mod intel_device;
pub mod opencl_elf;
mod patch_tokens;
mod ptx;
mod room;
pub(crate) mod spill_note;
mod yaml;
mod ze_info;
mod ze_rules;
pub(crate) mod zebin;
mod zebin_rules;

use crate::bundle::format::Format;
use crate::container::Arena;
use crate::container::Place;
use crate::error::{Error, Result};
use crate::{bytes, limits};
use driver::OldForm;
pub(crate) use driver::{Driver, gpu_of};
pub(crate) use intel_device::is_before_xe;
use room::Items;
pub(crate) use room::Room;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// One argument of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "NativeArgument")]
pub struct Argument {
    /// The position among the arguments of the compiled kernel.
    pub index: u32,
    /// The name in the source, where that was kept.
    pub name: Option<String>,
    /// The type in the source, where that was kept.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The kind, in the format's own word: `arg_bypointer`, `global_buffer`, `.u64`.
    pub kind: Option<Cow<'static, str>>,
    /// `global`, `local`, `constant`, `private`, `image`, `sampler`, `generic`.
    pub address_space: Option<&'static str>,
    /// `read_only`, `write_only`, `read_write`.
    pub access: Option<&'static str>,
    /// Bytes that are passed for it.
    pub size: Option<u64>,
    /// The offset among the bytes of all arguments.
    pub offset: Option<u64>,
}

/// A kernel as compiled code describes it; null for what the format does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NativeKernel")]
pub struct Kernel {
    /// The mangled name.
    pub name: String,
    /// Registers: per hardware thread on Intel GPUs (GRF), per work-item elsewhere (VGPRs on AMD's).
    pub registers: Option<u64>,
    /// Scalar registers per wave (AMD).
    pub scalar_registers: Option<u64>,
    /// Accumulation registers per work-item (AMD).
    pub accumulation_registers: Option<u64>,
    /// Work-items that run as one: SIMD width, sub-group, wavefront.
    pub simd: Option<u64>,
    /// Bytes of registers spilled to memory: per hardware thread on Intel GPUs, per work-item on NVIDIA's.
    pub spill: Option<u64>,
    /// Vector and scalar registers spilled (AMD).
    pub spilled_registers: Option<[u64; 2]>,
    /// Bytes of scratch memory for spills and private arrays together, per hardware thread, where they are told as one.
    pub scratch: Option<u64>,
    /// Bytes of private memory: per work-item on AMD and NVIDIA devices; per hardware thread on Intel GPUs.
    pub private: Option<u64>,
    /// Bytes of local memory per work-group that are known at compile time.
    pub local: Option<u64>,
    /// Barriers.
    pub barriers: Option<u64>,
    /// The work-group size that the kernel requires.
    pub reqd_work_group_size: Option<[u64; 3]>,
    /// The sub-group size that the source requires.
    pub reqd_sub_group_size: Option<u64>,
    /// Work-items per work-group that it is compiled for at most.
    pub max_work_group_size: Option<u64>,
    /// Bytes of all arguments.
    pub argument_bytes: Option<u64>,
    /// The arguments, by index. Kernels of one payload share equal lists: many are instances of one template.
    #[serde(serialize_with = "each_argument")]
    #[schemars(with = "Vec<Argument>")]
    pub arguments: Arc<[Argument]>,
}

/// Code for one kind of device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NativePart")]
pub struct Part {
    /// The name in the container of several parts; empty where there is but one.
    pub name: String,
    /// The format of the part itself.
    pub format: Format,
    /// The devices it is for, by the names of the device configuration; several where only a family is told.
    pub devices: Vec<String>,
    /// The device in the format's own terms.
    pub stated: String,
    /// The version of the format, in its own terms.
    pub(crate) version: Option<String>,
    /// The producer, where it is told.
    pub producer: Option<String>,
    /// Bytes of the part, inflated.
    pub(crate) size: u64,
    /// Whether its SPIR-V is in it too, from which a driver compiles for other devices.
    pub(crate) spirv: bool,
    /// Drivers that refuse this form of code, whatever it is for; with SPIR-V beside it they compile that.
    #[serde(rename = "refused_by", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) old_form: Option<OldForm>,
    /// Options that it says it was compiled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<String>,
    /// Contents of an Intel GPU's code beyond machine code and its description: SPIR-V, PISA, assembly, debug information.
    pub(crate) sections: Vec<Section>,
    /// Numbers that an Intel GPU's code notes beyond its device, by the note's name.
    pub(crate) notes: BTreeMap<Cow<'static, str>, u32>,
    /// The kernels, in the part's order. What is told of a kernel shares them: libraries have tens of thousands.
    #[serde(serialize_with = "each_kernel")]
    #[schemars(with = "Vec<Kernel>")]
    pub kernels: Vec<Arc<Kernel>>,
    /// Sizes that its kernels ask of a device, and what it calls and does not have.
    #[serde(skip)]
    pub(crate) demands: Demands,
    /// The first thing for which a driver of an Intel GPU may refuse the code, whatever device it is for.
    #[serde(skip)]
    pub(crate) refused: Option<String>,
    /// The number of the member of an archive that it is in: members may have equal names.
    #[serde(skip)]
    pub(crate) member: usize,
    /// The number of its SPIR-V among the sources of the payload, once these are read.
    #[serde(skip)]
    pub(crate) source: Option<usize>,
}

impl Part {
    /// Whether code of its format names its kernels, and they are read.
    pub(crate) fn lists_kernels(&self) -> bool {
        matches!(
            self.format,
            Format::Zebin | Format::PatchTokens | Format::Cubin | Format::Ptx | Format::Hsaco | Format::SpirV
        )
    }
}

/// Serializes arguments as the list that they are.
fn each_argument<S: serde::Serializer>(arguments: &[Argument], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(arguments)
}

/// Serializes kernels as the list that they are.
fn each_kernel<S: serde::Serializer>(kernels: &[Arc<Kernel>], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(kernels.iter().map(|kernel| &**kernel))
}

/// Demands of compiled code on its device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Demands {
    /// The work-group sizes that kernels require, x first.
    pub(crate) work_groups: BTreeSet<[u64; 3]>,
    /// The sub-group sizes that kernels require.
    pub(crate) sub_groups: BTreeSet<u64>,
    /// The most bytes of local memory that a kernel has.
    pub(crate) local: u64,
    /// The first functions that it calls and does not have.
    pub(crate) undefined: Vec<String>,
}

impl Demands {
    fn add(&mut self, kernels: &[Arc<Kernel>]) {
        for kernel in kernels {
            self.work_groups.extend(kernel.reqd_work_group_size.filter(|size| !size.contains(&0)));
            self.sub_groups.extend(kernel.reqd_sub_group_size.filter(|size| *size != 0));
            self.local = self.local.max(kernel.local.unwrap_or(0));
        }
    }
}

/// Section of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NativeSection")]
pub(crate) struct Section {
    /// The name: `.spv`, `.pisa`, `.visaasm.KERNEL`.
    pub(crate) name: String,
    /// Bytes of the contents.
    pub(crate) size: u64,
}

/// Contents of a native payload.
#[derive(Debug, Clone, Default)]
pub struct Native {
    /// The container around the parts, where there is one: `ar`, `fatbin`, `offload-bundle`, `opencl-elf`.
    pub container: Option<&'static str>,
    /// The parts, in order; what could not be read is not among them.
    pub parts: Vec<Part>,
    /// Parts that could not be read, with the offset of each.
    pub problems: Vec<Error>,
    /// Members of an archive of which nothing could be read, by number and name.
    pub(crate) unread: Vec<(usize, String)>,
}

impl Native {
    /// Reads a payload, which is of that format and stands at that place. None for SPIR-V and unknown formats, which
    /// are not read here.
    pub fn read(payload: &[u8], format: Format, place: Place) -> Option<Native> {
        if matches!(format, Format::SpirV | Format::NativeCpu | Format::Unknown) {
            return None;
        }
        let arena = Room::of_one(payload.len()).arena(payload.len());
        Some(Native::with_code(payload, format, place, &arena).0)
    }

    /// Reads a payload as `read` does, but for the kernels in code for Intel's GPUs: of what describes them, which is as long
    /// as half their code, only the form is checked.
    pub(crate) fn without_kernels(payload: &[u8], format: Format, place: Place, room: &Room) -> Option<Native> {
        if matches!(format, Format::SpirV | Format::NativeCpu | Format::Unknown) {
            return None;
        }
        let arena = room.arena(payload.len());
        let mut reader = Reader { kernels: false, ..Reader::new(&arena, room, payload.len()) };
        reader.whole(payload, format, place);
        room.spend(&arena);
        Some(reader.native)
    }

    /// Reads a payload as `read` does, and gives the SPIR-V of each part beside, which drivers compile where none of the code is
    /// for the device.
    pub(crate) fn with_source<'a>(
        payload: &'a [u8],
        format: Format,
        place: Place,
        (arena, room): (&'a Arena, &Room),
    ) -> Option<(Native, Vec<Option<&'a [u8]>>)> {
        if matches!(format, Format::SpirV | Format::NativeCpu | Format::Unknown) {
            return None;
        }
        let mut reader = Reader::new(arena, room, payload.len());
        reader.whole(payload, format, place);
        room.spend(arena);
        Some((reader.native, reader.sources))
    }

    /// Reads a payload as `read` does, and gives the bytes of each part beside.
    pub(crate) fn with_code<'a>(
        payload: &'a [u8],
        format: Format,
        place: Place,
        arena: &'a Arena,
    ) -> (Native, Vec<&'a [u8]>) {
        let room = Room::of_one(payload.len());
        let mut reader = Reader::new(arena, &room, payload.len());
        reader.whole(payload, format, place);
        (reader.native, reader.code)
    }

    /// The devices of all parts, each once.
    pub fn devices(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let devices = self.parts.iter().flat_map(|part| &part.devices).map(String::as_str);
        devices.filter(|device| seen.insert(*device)).collect()
    }

    /// The names of the kernels of all parts, each once, in order.
    pub fn kernel_names(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let kernels = self.parts.iter().flat_map(|part| &part.kernels);
        kernels.map(|kernel| kernel.name.as_str()).filter(|name| seen.insert(*name)).collect()
    }
}

/// Reads parts within parts, and keeps account of what they cost.
struct Reader<'a, 'r> {
    arena: &'a Arena,
    native: Native,
    /// The part that is being read.
    data: &'a [u8],
    /// Bytes of the parts that were read, in their order.
    code: Vec<&'a [u8]>,
    /// The SPIR-V of each part.
    sources: Vec<Option<&'a [u8]>>,
    /// The number of the member of an archive that is being read.
    member: usize,
    /// Bytes that parts may yet come to.
    budget: u64,
    /// Counts what is kept.
    items: Items<'r>,
    /// Lists of arguments that kernels share.
    arguments: HashSet<Arc<[Argument]>>,
    /// Whether kernels of Intel's GPUs are read.
    kernels: bool,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn new(arena: &'a Arena, room: &'r Room, size: usize) -> Self {
        let items = Items::new(room);
        let (data, code) = (&[][..], Vec::new());
        let (native, arguments) = (Native::default(), HashSet::new());
        let mut reader = Reader {
            arena,
            native,
            data,
            code,
            sources: Vec::new(),
            member: 0,
            budget: 1 << 20,
            items,
            arguments,
            kernels: true,
        };
        reader.grant(size);
        reader
    }

    /// Reads a payload.
    fn whole(&mut self, payload: &'a [u8], format: Format, place: Place) {
        self.part("", payload, format, place, 0);
        // Code in a container of its own is a list even where that has one entry; else there is just the code.
        if self.native.container.is_none()
            && let [only] = self.native.parts.as_mut_slice()
        {
            only.name.clear();
        }
    }

    /// Adds what was inflated to the account.
    fn grant(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add((bytes as u64).saturating_mul(limits::MAX_OVERLAP));
    }

    /// Reads a part of that format.
    fn part(&mut self, name: &str, data: &'a [u8], format: Format, place: Place, depth: u32) {
        if depth > limits::MAX_BLOB_NESTING {
            return self
                .problem(place.error(format!("more than {} parts within each other", limits::MAX_BLOB_NESTING)));
        }
        // Each part costs time of its own.
        match self.budget.checked_sub((data.len() as u64).saturating_add(64)) {
            Some(budget) => self.budget = budget,
            None => return self.problem(place.error("the parts come to many times the size of the payload")),
        }
        let depth = depth.saturating_add(1);
        self.data = data;
        let read = match format {
            Format::Ar => archive_members(self, data, place, depth),
            Format::Fatbin => fatbin::read(self, data, place, depth),
            Format::Hsaco if !data.starts_with(b"\x7fELF") => hsaco::read_bundle(self, data, place, depth),
            Format::PatchTokens | Format::Elf if data.starts_with(b"\x7fELF") => {
                opencl_elf::read(self, name, data, place, depth)
            }
            Format::PatchTokens => patch_tokens::read(data, &self.items).map(|read| self.push(name, read, place)),
            Format::Zebin => zebin::read(data, self.kernels, &self.items).map(|read| self.push(name, read, place)),
            Format::Cubin => cubin::read(data, &self.items).map(|read| self.push(name, read, place)),
            Format::Hsaco => hsaco::read(data, &self.items).map(|read| self.push(name, read, place)),
            Format::Ptx => ptx::read(data, &self.items).map(|read| self.push(name, read, place)),
            Format::LlvmBitcode => bitcode::read(data, &self.items).map(|read| self.push(name, read, place)),
            Format::SpirV => {
                let part = Part::new(Format::SpirV, data.len());
                self.push(name, Read::from(part), place);
                Ok(())
            }
            Format::Pocl => opencl_elf::read_pocl(data, &self.items).map(|read| self.push(name, read, place)),
            Format::Elf | Format::NativeCpu | Format::Unknown => {
                Err(Error::input("this is no device code that this tool knows"))
            }
        };
        if let Err(error) = read {
            let error = within(error, place);
            self.problem(if name.is_empty() { error } else { error.context(format!("part `{name}`")) });
        }
    }

    /// Adds what a reader of one format found.
    fn push(&mut self, name: &str, mut read: Read, place: Place) {
        if self.items.take(name).is_none() || self.items.refused() {
            return self
                .problem(place.error("the native code has more kernels and arguments than a file of its size has"));
        }
        for kernel in &mut read.part.kernels {
            match self.arguments.get(&*kernel.arguments) {
                Some(known) => {
                    if let Some(kernel) = Arc::get_mut(kernel) {
                        kernel.arguments = known.clone();
                    }
                }
                None => _ = self.arguments.insert(kernel.arguments.clone()),
            }
        }
        read.part.name = name.to_owned();
        read.part.member = self.member;
        if is_intel_code(&read.part) {
            read.part.refused = read.problems.first().map(|problem| problem.clone().without_offset().message());
        }
        read.part.demands.add(&read.part.kernels);
        self.sources.push(match read.part.format {
            Format::SpirV => Some(self.data),
            _ if read.part.spirv => opencl_elf::spirv_of_object(self.data),
            _ => None,
        });
        self.native.parts.push(read.part);
        self.code.push(self.data);
        for problem in read.problems {
            self.problem(within(problem, place));
        }
    }

    fn problem(&mut self, error: Error) {
        if self.native.problems.len() < limits::MAX_NATIVE_PROBLEMS {
            self.native.problems.push(error);
        }
    }

    fn contained(&mut self, container: &'static str) {
        self.native.container.get_or_insert(container);
    }
}

/// Part that a reader of one format found, and what in it could not be read.
struct Read {
    part: Part,
    problems: Vec<Error>,
}

impl From<Part> for Read {
    fn from(part: Part) -> Read {
        Read { part, problems: Vec::new() }
    }
}

impl Part {
    /// Makes a part of which nothing is known yet but its format and size.
    pub(crate) fn new(format: Format, size: usize) -> Part {
        Part {
            name: String::new(),
            format,
            devices: Vec::new(),
            stated: String::new(),
            version: None,
            producer: None,
            size: size as u64,
            spirv: false,
            old_form: (format == Format::PatchTokens).then_some(OldForm::PatchTokens),
            options: None,
            sections: Vec::new(),
            notes: BTreeMap::new(),
            kernels: Vec::new(),
            demands: Demands::default(),
            refused: None,
            member: 0,
            source: None,
        }
    }
}

/// An error whose offset counts from the start of a part, placed in the file.
#[cold]
fn within(error: Error, place: Place) -> Error {
    match error.offset() {
        None => place.locate(error),
        Some(offset) => place.at(offset).locate(error.without_offset()),
    }
}

/// Way in which a GPU runs the code of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// As it is.
    Native,
    /// From the SPIR-V inside, compiled when a program first needs it.
    Jit,
    /// Not at all: the driver refuses it.
    None,
}

impl Coverage {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coverage::Native => "native",
            Coverage::Jit => "jit",
            Coverage::None => "none",
        }
    }
}

/// GPUs that take another's code, beside their own.
const TAKES: [(&str, &str); 6] = [
    ("intel_gpu_acm_g11", "intel_gpu_acm_g10"),
    ("intel_gpu_acm_g12", "intel_gpu_acm_g10"),
    ("intel_gpu_mtl_h", "intel_gpu_mtl_u"),
    ("intel_gpu_bmg_g31", "intel_gpu_bmg_g21"),
    ("intel_gpu_lnl_m", "intel_gpu_bmg_g21"),
    ("intel_gpu_ptl_u", "intel_gpu_ptl_h"),
];

/// Whether a driver of one GPU takes native code for another, both by the names of the device configuration.
fn takes(gpu: &str, code_for: &str) -> bool {
    gpu == code_for || TAKES.contains(&(gpu, code_for))
}

/// The GPU of which a GPU takes the code beside its own, by the names of the device configuration.
pub(crate) fn also_takes(gpu: &str) -> Option<&'static str> {
    TAKES.iter().find(|(own, _)| *own == gpu).map(|(_, other)| *other)
}

/// Whether a part is native code for Intel GPUs.
fn is_intel_code(part: &Part) -> bool {
    matches!(part.format, Format::Zebin | Format::PatchTokens)
}

/// Beginning of the name of an archive's member that holds the SPIR-V for all GPUs.
const GENERIC: &str = "generic_ir";

impl Native {
    /// Returns how an Intel GPU with such a driver runs the code, by the GPU's name in the device configuration. None for other
    /// devices, for code that is not Intel's GPUs', and where code of which the device is not known might be for this one.
    pub(crate) fn coverage(&self, gpu: &str, driver: Driver) -> Option<Coverage> {
        self.taken(gpu, driver).map(|(coverage, _)| coverage)
    }

    /// Returns how an Intel GPU runs the code, as [`Native::coverage`] does, with the part that it takes the code or SPIR-V of.
    pub(crate) fn taken(&self, gpu: &str, driver: Driver) -> Option<(Coverage, Option<&Part>)> {
        let is_code = is_intel_code;
        if !intel_device::is_known(gpu) || !self.parts.iter().any(is_code) {
            return None;
        }
        let runs =
            |part: &&Part| is_code(part) && driver.takes(part) && part.devices.iter().any(|device| takes(gpu, device));
        let is_open = |part: &Part| is_code(part) && driver.takes(part) && part.devices.is_empty();
        let compiled = |part: &&Part| part.format == Format::SpirV || part.spirv;
        if self.container != Some("ar") {
            if let Some(part) = self.parts.iter().find(runs) {
                return Some((Coverage::Native, Some(part)));
            }
            if let Some(part) = self.parts.iter().find(compiled) {
                return Some((Coverage::Jit, Some(part)));
            }
            // Code that could not be read may have been for this device.
            let whole = self.problems.is_empty() && !self.parts.iter().any(is_open);
            return whole.then_some((Coverage::None, None));
        }
        // The driver goes by the names of members alone: neither code that it would take from another GPU nor the SPIR-V beside
        // another's is found. Of the members that it finds it takes the first code for the GPU, else the first SPIR-V.
        let mut source = None;
        for name in intel_device::member_names(gpu)?.iter().map(String::as_str).chain([GENERIC]) {
            let named = self.parts.iter().filter(|part| part.name.starts_with(name)).map(|part| part.member);
            let unread = self.unread.iter().filter(|(_, own)| own.starts_with(name)).map(|(member, _)| *member).min();
            let Some(member) = named.min().into_iter().chain(unread).min() else { continue };
            if unread == Some(member) {
                return None;
            }
            let members = || self.parts.iter().filter(|part| part.member == member);
            if let Some(part) = members().find(runs) {
                return Some((Coverage::Native, Some(part)));
            }
            // Code of which the device is not known may be for this one.
            if members().any(is_open) {
                return None;
            }
            source = source.or_else(|| members().find(compiled));
        }
        Some(source.map_or((Coverage::None, None), |part| (Coverage::Jit, Some(part))))
    }

    /// Returns what in the code that an Intel GPU takes its driver may refuse; of code of which that is not known, in any.
    pub(crate) fn refused(&self, gpu: &str, driver: Driver) -> Option<&str> {
        let first = || self.parts.iter().find_map(|part| part.refused.as_deref());
        self.taken(gpu, driver).map_or_else(first, |(_, part)| part?.refused.as_deref())
    }

    /// Returns how each known Intel GPU with such a driver runs the code, by its name; those that run nothing of it are left out.
    pub(crate) fn coverage_by_gpu(&self, driver: Driver) -> BTreeMap<String, Coverage> {
        let known = intel_device::targets_known();
        let covered = known.filter_map(|gpu| self.coverage(&gpu, driver).map(|coverage| (gpu, coverage)));
        covered.filter(|(_, coverage)| *coverage != Coverage::None).collect()
    }
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

fn archive_members<'a>(reader: &mut Reader<'a, '_>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
    reader.contained("ar");
    let mut at = MAGIC.len();
    let mut long_names: &[u8] = &[];
    while at < data.len() {
        let bad = |what: &str| Error::at(at as u64, format!("the header of an archive member {what}"));
        let header = bytes::slice_at(data, at, HEADER).ok_or_else(|| bad("is cut short"))?;
        let field = |from: usize, to: usize| header.get(from..to).and_then(|field| std::str::from_utf8(field).ok());
        let size: usize =
            field(48, 58).and_then(|text| text.trim().parse().ok()).ok_or_else(|| bad("states no size"))?;
        let start = at.saturating_add(HEADER);
        let member = bytes::slice_at(data, start, size).ok_or_else(|| bad("states more bytes than there are"))?;
        let name = field(0, 16).unwrap_or_default().trim_end();
        if name == "//" {
            long_names = member;
        }
        let name = match name.strip_prefix('/').and_then(|at| at.parse::<usize>().ok()) {
            Some(at) => long_name(long_names, at),
            None => name.trim_end_matches('/'),
        };
        at = start.saturating_add(size).saturating_add(size & 1);
        if name.is_empty() || name.starts_with("pad") {
            continue;
        }
        let first = reader.native.parts.len();
        let problems = reader.native.problems.len();
        reader.member = reader.member.saturating_add(1);
        reader.part(name, member, Format::sniff(member), place.at(start as u64), depth);
        let failed = reader.native.problems.len() > problems || problems >= limits::MAX_NATIVE_PROBLEMS;
        if failed && reader.native.parts.len() == first && reader.native.unread.len() < limits::MAX_NATIVE_ITEMS {
            reader.native.unread.push((reader.member, name.to_owned()));
        }
        let device = name.split_once('.').map_or(name, |(_, device)| device);
        // Of a zebin that states a device the name is not asked, even where no such device is known.
        let is_open =
            |part: &&mut Part| part.devices.is_empty() && (part.format != Format::Zebin || part.stated.is_empty());
        for part in reader.native.parts.iter_mut().skip(first).filter(is_open) {
            part.devices = intel_device::of_name(device);
        }
    }
    Ok(())
}

fn long_name(names: &[u8], at: usize) -> &str {
    let tail = names.get(at..).unwrap_or_default();
    let tail = tail.get(..limits::MAX_PART_NAME).unwrap_or(tail);
    let end = tail.iter().position(|&byte| matches!(byte, b'/' | b'\n' | 0)).unwrap_or(tail.len());
    tail.get(..end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Part, *};

    fn part(format: Format, device: &str, spirv: bool) -> Part {
        let devices = (!device.is_empty()).then(|| format!("intel_gpu_{device}")).into_iter().collect();
        Part { devices, spirv, ..Part::new(format, 0) }
    }

    #[test]
    fn drivers_take_their_own_code_that_of_some_others_and_spirv() {
        let archive = |parts: Vec<Part>| Native {
            container: Some("ar"),
            parts: (1..).zip(parts).map(|(member, part)| Part { member, ..part }).collect(),
            ..Native::default()
        };
        let named = |name: &str, part: Part| Part { name: name.to_owned(), ..part };
        let alone = |part: Part| Native { parts: vec![part], ..Native::default() };
        let pvc = || named("64.12.60.7", part(Format::Zebin, "pvc", false));
        let bare = archive(vec![pvc(), named("64.20.1.4", part(Format::Zebin, "bmg_g21", false))]);
        let on = |native: &Native, gpu: &str| native.coverage(&format!("intel_gpu_{gpu}"), Driver::ANY);
        for (gpu, coverage) in [
            ("pvc", Coverage::Native),
            ("bmg_g21", Coverage::Native),
            ("bmg_g31", Coverage::None),
            ("lnl_m", Coverage::None),
            ("pvc_vg", Coverage::None),
            ("dg1", Coverage::None),
        ] {
            assert_eq!(on(&bare, gpu), Some(coverage), "{gpu}");
        }
        assert_eq!(bare.coverage("spir64_x86_64", Driver::ANY), None);
        for (spirv, without) in [(false, Coverage::None), (true, Coverage::Jit)] {
            let old = alone(part(Format::PatchTokens, "pvc", spirv));
            let bindless = Part { old_form: Some(OldForm::Bindless), ..part(Format::Zebin, "pvc", spirv) };
            let [zero, opencl] = Driver::NEWEST.map(|(_, driver)| driver);
            for (code, zero_takes) in [(old, false), (alone(bindless), true)] {
                assert_eq!(code.coverage("intel_gpu_pvc", Driver::ANY), Some(Coverage::Native));
                let expected = if zero_takes { Coverage::Native } else { without };
                assert_eq!(code.coverage("intel_gpu_pvc", zero), Some(expected));
                assert_eq!(code.coverage("intel_gpu_pvc", opencl), Some(without));
            }
        }
        let generic = archive(vec![pvc(), named(GENERIC, part(Format::SpirV, "", false))]);
        assert_eq!((on(&generic, "pvc"), on(&generic, "dg1")), (Some(Coverage::Native), Some(Coverage::Jit)));
        let inside = alone(part(Format::Zebin, "acm_g10", true));
        assert_eq!((on(&inside, "acm_g12"), on(&inside, "mtl_u")), (Some(Coverage::Native), Some(Coverage::Jit)));
        let member = |name: &str| Part { name: format!("64.{name}"), ..part(Format::Zebin, "acm_g10", true) };
        for (name, gpu, coverage) in [
            ("12.55.8", "acm_g10", Coverage::Native),
            ("12.55.8", "acm_g12", Coverage::None),
            ("12.57.0", "acm_g12", Coverage::Native),
            ("12.57.0", "mtl_u", Coverage::None),
            ("12.55.80", "acm_g10", Coverage::Native),
            ("dg2", "acm_g10", Coverage::Native),
            ("acm-g10", "acm_g10", Coverage::None),
            ("xe-hpg", "acm_g10", Coverage::None),
        ] {
            assert_eq!(on(&archive(vec![member(name)]), gpu), Some(coverage), "{name} on {gpu}");
        }
        for name in ["32.12.55.8", "x.12.55.8", "12.55.8"] {
            assert_eq!(on(&archive(vec![named(name, member(""))]), "acm_g10"), Some(Coverage::None), "{name}");
        }
        assert_eq!(on(&archive(vec![named("64.pvc", part(Format::Zebin, "", false))]), "pvc"), None);
        assert_eq!(on(&archive(vec![part(Format::Cubin, "", false)]), "pvc"), None);
        // The first member of a name counts, the exact version before others; what it lacks the next may have.
        let taken = |parts: Vec<Part>| {
            let native = archive(parts);
            native.taken("intel_gpu_acm_g10", Driver::ANY).map(|(how, part)| (how, part.map(|part| part.member)))
        };
        let other = |name: &str, spirv| named(name, part(Format::Zebin, "pvc", spirv));
        let ours = |name: &str| named(name, part(Format::Zebin, "acm_g10", false));
        let spirv = || named(GENERIC, part(Format::SpirV, "", false));
        for (parts, expected) in [
            (vec![other("64.12.55.8", false), ours("64.12.55.8")], (Coverage::None, None)),
            (vec![other("64.12.55.8a", false), ours("64.12.55.8")], (Coverage::None, None)),
            (vec![other("64.12.55.8", true), ours("64.dg2")], (Coverage::Native, Some(2))),
            (vec![other("64.12.60.7", true), spirv()], (Coverage::Jit, Some(2))),
            (vec![other("64.12.60.7", true), other("64.12.55.8", true)], (Coverage::Jit, Some(2))),
            (vec![spirv(), other("64.dg2", true)], (Coverage::Jit, Some(2))),
            (vec![ours("64.dg2"), ours("64.12.55.4"), ours("64.12.55.8")], (Coverage::Native, Some(3))),
        ] {
            assert_eq!(taken(parts.clone()), Some(expected), "{parts:?}");
        }
        let cut = Native { unread: vec![(1, "64.12.55.8".to_owned())], ..archive(vec![pvc(), ours("64.dg2")]) };
        assert_eq!(on(&cut, "acm_g10"), None);
        assert_eq!(bare.coverage_by_gpu(Driver::ANY).len(), 2);
        let listed = alone(part(Format::Zebin, "bmg_g21", false)).coverage_by_gpu(Driver::ANY);
        assert_eq!(listed.len(), 3, "{listed:?}");
        assert_eq!(listed["intel_gpu_lnl_m"], Coverage::Native);
    }
}
