//! Which devices is a native payload for, and which kernels with which resources are in it?
//!
//! Each format tells what it tells, in its own way: `.ze_info` text, patch tokens, MessagePack notes, `.nv.info`
//! attributes. One file here reads each, without any vendor's tool, and all give the same answer: the parts of the
//! payload, their devices by the names of the device configuration, and their kernels. What a format does not tell is
//! none, never zero.
//!
//! A driver takes native code for its GPU and, by rules of families, that for some others. What it cannot take it compiles from
//! the SPIR-V that stands inside: `generic_ir` of an archive (`device_binary_format_ar.cpp` in intel/compute-runtime), section
//! `.spv` of a zebin. Code of two GPUs of one family, and of two revisions of one GPU, is not the same to it: what it takes was seen
//! of driver 26.27, OpenCL and Level Zero, and every other pair of 17 GPUs to be refused (-42, 0x70000004). Patch tokens, the older
//! form, it refuses since 26.18 whatever they are for.
//!
//! An archive of ocloc is a plain `ar` with members `POINTER SIZE.DEVICE` (`64.12.55.8`, `64.bmg`), each behind a `pad_N` that aligns it, and
//! perhaps `generic_ir` (`ar_encoder.cpp` and `device_binary_format_ar.cpp` in intel/compute-runtime). What the member
//! itself says of its device counts; its name does where it says nothing.

pub mod bitcode;
mod bitstream;
mod cpu_object;
mod cubin;
mod cubin_rules;
pub(crate) mod driver;
mod elf_form;
pub(crate) mod fatbin;
mod hsaco;
mod hsaco_rules;
mod intel_device;
pub mod opencl_elf;
mod patch_tokens;
mod ptx;
mod room;
pub(crate) mod spill_note;
mod taken;
mod yaml;
mod ze_info;
mod ze_keys;
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
pub(crate) use ptx::OF_NVIDIAS_DRIVER;
use room::Items;
pub(crate) use room::Room;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
pub use taken::Coverage;
pub(crate) use taken::{Taken, also_takes, is_amd_target};

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
    /// The GMDID of the Intel GPU that it is for, where it states that: drivers then go by it alone.
    #[serde(skip)]
    pub(crate) gmdid: Option<u32>,
    /// Whether it is a bare module in an archive of ocloc, where drivers look for containers alone.
    #[serde(skip)]
    pub(crate) is_bare: bool,
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
    /// The first thing for which a driver of an Intel or AMD device may refuse the code, whatever device it is for.
    #[serde(skip)]
    pub(crate) refused: Option<String>,
    /// The number of the member of an archive or a bundle, or of the fat binary, that it is in: members may have equal names.
    #[serde(skip)]
    pub(crate) member: usize,
    /// The number of its SPIR-V among the sources of the payload, once these are read.
    #[serde(skip)]
    pub(crate) source: Option<usize>,
}

impl Part {
    /// Whether it is a container of Intel's OpenCL CPU driver.
    fn is_of_intel_cpu(&self) -> bool {
        self.format == Format::Elf && self.devices.iter().any(|device| device == opencl_elf::CPU)
    }

    /// Whether code of its format names its kernels, and they are read.
    pub(crate) fn lists_kernels(&self) -> bool {
        matches!(
            self.format,
            Format::Zebin | Format::PatchTokens | Format::Cubin | Format::Ptx | Format::Hsaco | Format::SpirV
        ) || self.is_of_intel_cpu() && !self.kernels.is_empty()
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
    /// Whether a kernel for an Intel GPU has samplers of its own.
    pub(crate) samplers: bool,
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
    /// Members of an archive, and entries of a fat binary or a bundle, of which nothing could be read, by number and name.
    pub(crate) unread: Vec<(usize, String)>,
}

impl Native {
    /// Reads a payload, which is of that format and stands at that place. None for SPIR-V and unknown formats, which
    /// are not read here.
    pub fn read(payload: &[u8], format: Format, place: Place) -> Option<Native> {
        if matches!(format, Format::SpirV | Format::NativeCpu | Format::Unknown) {
            return None;
        }
        Some(Native::with_code(payload, format, place, &Native::arena(payload)).0)
    }

    /// Makes the arena for what the parts of a payload inflate to.
    pub(crate) fn arena(payload: &[u8]) -> Arena {
        Room::of_one(payload.len()).arena(payload.len())
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
        room.note_refusals(&arena);
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
        room.note_refusals(arena);
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

    /// The devices of all parts in a message on one of which the driver refuses them: this one by what the code states, which tells the
    /// revision.
    pub(crate) fn devices_beside(&self, device: &str) -> String {
        let is_own = |part: &&Part| part.devices.iter().any(|own| own == device) && !part.stated.is_empty();
        let own = self.parts.iter().filter(is_own).map(|part| part.stated.as_str());
        let mut seen = HashSet::new();
        let named = own.chain(self.devices().into_iter().filter(|own| *own != device));
        named.filter(|named| seen.insert(*named)).collect::<Vec<&str>>().join(", ")
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

    /// Reads a member of a list.
    fn member(&mut self, name: &str, data: &'a [u8], format: Format, place: Place, depth: u32) {
        let (parts, problems) = (self.native.parts.len(), self.native.problems.len());
        self.member = self.member.saturating_add(1);
        self.part(name, data, format, place, depth);
        let failed = self.native.problems.len() > problems || problems >= limits::MAX_NATIVE_PROBLEMS;
        if failed && self.native.parts.len() == parts {
            self.unread(name);
        }
    }

    /// Notes a member of which nothing could be read.
    fn unread(&mut self, name: &str) {
        if self.native.unread.len() < limits::MAX_NATIVE_ITEMS {
            self.native.unread.push((self.member, name.to_owned()));
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
        if matches!(read.part.format, Format::Zebin | Format::PatchTokens | Format::Hsaco) {
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
            gmdid: None,
            is_bare: false,
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
        let is_list = name.starts_with("//");
        if is_list {
            long_names = member;
        }
        let name = match name.strip_prefix('/').and_then(|at| at.parse::<usize>().ok()) {
            Some(at) => long_name(long_names, at),
            None => name.trim_end_matches('/'),
        };
        if name.is_empty() && !is_list {
            return Err(bad("names none, and drivers take nothing of the archive"));
        }
        at = start.saturating_add(size).saturating_add(size & 1);
        if is_list || name.starts_with("pad") {
            continue;
        }
        let first = reader.native.parts.len();
        reader.member(name, member, Format::sniff(member), place.at(start as u64), depth);
        if Format::sniff(member) == Format::SpirV {
            reader.native.parts.iter_mut().skip(first).for_each(|part| part.is_bare = true);
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
