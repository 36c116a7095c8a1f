//! What does each image of a bundle hold, once inflated and walked?
//!
//! One pass over the payload of every image, in parallel: size, hash, SPIR-V facts, kernels, requirements. A damaged
//! payload costs that image its facts, not the file.
//!
//! Hashes: most device images are of a few KiB, too few chunks to fill the lanes of a vector unit one image at a time. So the
//! chunks of several payloads that stand at the same place go through `hash_many` together, and so do their parents.
//! `blake3::platform` is not part of that crate's documented interface, so its version is pinned in Cargo.toml; the
//! tests hold every length to `blake3::hash`. Tree: BLAKE3 paper, section 2.

use super::bitcode::{requirements, symbols};
use super::built_in::{can_be_imported, is_known};
use super::contradictions::{contradictions, disguised};
use crate::bundle::Bundle;
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::{Contents, Image, State};
use crate::bundle::property_sets::{key, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::Sets;
use crate::compat::fit::Subject;
use crate::container::address::find;
use crate::container::{Allowance, Place};
use crate::device::cpu::CpuArch;
use crate::device::target::Has;
use crate::error::{Error, Problem};
use crate::limits;
use crate::native::{Coverage, Driver, Native, Part, Room, Taken, bitcode, gpu_of};
use crate::spirv::Module;
use blake3::platform::Platform;
use blake3::{CHUNK_LEN, IncrementCounter};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};

/// An image with everything that can be told without a device.
#[derive(Debug)]
pub struct Examined<'b, 'a> {
    /// The image.
    pub image: &'b Image<'a>,
    /// The format of the inflated payload.
    pub format: Format,
    /// Bytes of the inflated payload; the stored size where it does not inflate.
    pub size: u64,
    /// BLAKE3 of the inflated payload; of the stored bytes where it does not inflate.
    pub blake3: [u8; 32],
    /// The instruction set that native CPU code is for, where the binary tells.
    pub march: Option<CpuArch>,
    /// Devices and kernels that compiled code names.
    pub native: Option<Native>,
    /// The facts of a SPIR-V payload.
    pub module: Option<Module>,
    /// The facts of the SPIR-V inside compiled code, each once; a part of the code tells which is its own.
    pub sources: Vec<Module>,
    /// The code of an LLVM bitcode payload.
    pub bitcode: Option<bitcode::Module>,
    /// Mangled kernel names: listed entries that are not exported functions, or a bare module's entry points.
    pub kernels: Vec<String>,
    /// Symbols that other images may import.
    pub exports: Vec<String>,
    /// Symbols that other images must define.
    pub imports: Vec<String>,
    /// Symbols that the module imports though the image does not list them, so that the runtime links nothing to them;
    /// but those that the device brings.
    pub unlisted_imports: Vec<String>,
    /// Symbols that the module imports though the image does not list them, and that the device is not known to bring.
    pub(crate) strange_imports: Vec<String>,
    /// Symbols that the module imports and that images of the same sets of virtual functions define: the runtime links these.
    pub(crate) set_imports: Vec<String>,
    /// Facts stored beside the code that are not so, as sentences; none where the code's kernels are not known.
    pub(crate) contradictions: Vec<String>,
    /// The kernels that are listed and that only some of the code has.
    pub(crate) homes: Homes,
    /// Whether its file needs images of others that are too many to be looked at.
    pub(crate) needs_too_many: bool,
    /// The state in the kernel-bundle model.
    pub state: State,
    /// Recorded requirements, which a device must meet.
    pub requirements: Requirements,
    /// Error that stopped inflating the payload or walking it to its end.
    pub problem: Option<Error>,
    /// Whether the code was SYCL, once that was asked.
    pub(crate) sycl: OnceLock<bool>,
    /// Whether the stored bytes hold a text, for each that was asked for.
    pub(crate) mentioned: Mutex<BTreeMap<String, bool>>,
}

impl Examined<'_, '_> {
    /// Whether the image is explicit SIMD, by its property or its code.
    pub fn is_esimd(&self) -> bool {
        self.is_marked_esimd() || self.used_aspects().any(|aspect| aspect == "ext_intel_esimd")
    }

    /// Whether the image is marked as explicit SIMD, by which the runtime leaves out recorded sub-group sizes, and
    /// compiles.
    pub(crate) fn is_marked_esimd(&self) -> bool {
        self.image.properties.number(set::MISC, key::ESIMD) == Some(1)
    }

    /// Returns the symbols that the image lists for others and that its module, where that was read, defines.
    pub(crate) fn defined(&self) -> impl Iterator<Item = &String> {
        let own = self.module.as_ref().map(|module| module.exports.iter().collect::<HashSet<_>>());
        self.exports.iter().filter(move |symbol| own.as_ref().is_none_or(|own| own.contains(symbol)))
    }

    /// Returns the aspects that the module's types and instructions use, without a look along its calls.
    pub fn used_aspects(&self) -> impl Iterator<Item = &str> {
        let functions = self.bitcode.iter().flat_map(|module| &module.functions);
        let of_bitcode = functions.flat_map(|function| &function.uses).map(|found| &*found.aspect);
        self.module.iter().flat_map(|module| &module.used_aspects).copied().chain(of_bitcode)
    }

    /// The sub-group sizes that the kernels require: those recorded, then others of the module's execution modes. Of
    /// explicit SIMD none counts.
    pub fn sub_group_sizes(&self) -> Vec<u32> {
        self.sub_group_sizes_with(self.module.as_ref())
    }

    /// The sub-group sizes that the kernels require: those recorded, then others of a module.
    pub(crate) fn sub_group_sizes_with(&self, module: Option<&Module>) -> Vec<u32> {
        let recorded = &self.requirements.reqd_sub_group_sizes;
        // Sizes that the module shows are not of explicit SIMD.
        let recorded = if self.is_marked_esimd() { &[][..] } else { recorded.as_slice() };
        let shown = module.into_iter().flat_map(|module| &module.sub_group_sizes);
        recorded.iter().chain(shown.filter(|size| !recorded.contains(size))).copied().collect()
    }

    /// The work-group sizes that the kernels require, as a SYCL range has them, x last: those recorded, then others of
    /// the module's execution modes.
    pub fn work_group_sizes(&self) -> Vec<Vec<u64>> {
        self.work_group_sizes_with(self.module.as_ref())
    }

    /// The work-group sizes that the kernels require, x last: those recorded, then others of a module.
    pub(crate) fn work_group_sizes_with(&self, module: Option<&Module>) -> Vec<Vec<u64>> {
        let recorded = &self.requirements.reqd_work_group_sizes;
        // The recorded size leaves out dimensions that the source does not name.
        let bare = |size: &[u64]| size.iter().copied().skip_while(|side| *side == 1).collect::<Vec<_>>();
        let known: HashSet<Vec<u64>> = recorded.iter().map(|size| bare(size)).collect();
        // A module has each size once.
        let shown = module.into_iter().flat_map(|module| &module.work_group_sizes);
        let shown = shown.map(|[x, y, z]| [z, y, x].map(|side| u64::from(*side)).to_vec());
        recorded.iter().cloned().chain(shown.filter(|size| !known.contains(&bare(size)))).collect()
    }

    /// Whether the code was SYCL, by the language that its module names, else by its kernels' names and by who registers
    /// it; OpenCL C counts x first.
    pub fn is_sycl(&self) -> bool {
        *self.sycl.get_or_init(|| self.was_sycl())
    }

    /// Whether the stored bytes hold a text. Of many kernels the first one asks for all.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let mut known = self.mentioned.lock().unwrap_or_else(PoisonError::into_inner);
        let found = || !text.is_empty() && find(self.image.stored, text.as_bytes()).is_some();
        *known.entry(text.to_owned()).or_insert_with(found)
    }

    fn was_sycl(&self) -> bool {
        const OPENCL_C: u32 = 3;
        /// `OpenCL_CPP`, which DPC++ writes, `CPP_for_OpenCL` and `SYCL`.
        const CPP: [u32; 3] = [4, 6, 7];
        let sycl = |name: &String| name.starts_with("_ZTS") || name.starts_with("__sycl_kernel_");
        match self.module.as_ref().or(self.sources.first()).and_then(|module| module.source_language) {
            Some(OPENCL_C) => false,
            Some(language) if CPP.contains(&language) => true,
            _ => {
                let mut functions = self.bitcode.iter().flat_map(|module| &module.functions);
                self.image.origin.is_some()
                    || self.kernels.iter().any(sycl)
                    || functions.any(|function| function.source.is_some())
            }
        }
    }

    /// Returns how an Intel GPU runs the native code, as [`crate::native::Native::coverage`] does; none where there is none. A driver
    /// of which nothing is known takes patch tokens.
    pub(crate) fn coverage(&self, subject: &Subject<'_>) -> Option<Coverage> {
        self.native.as_ref()?.coverage(&gpu_of(subject.target), Driver::of_target(subject.target, subject.backend).0)
    }

    /// Returns the part of compiled code that a target takes; none where there is no such code.
    pub(crate) fn taken(&self, subject: &Subject<'_>) -> Option<Taken<'_>> {
        let driver = Driver::of_target(subject.target, subject.backend).0;
        Some(self.native.as_ref()?.taken(&gpu_of(subject.target), driver))
    }

    /// Returns what in the native code for an Intel GPU its driver may refuse.
    pub(crate) fn refused(&self, subject: &Subject<'_>) -> Option<&str> {
        let driver = Driver::of_target(subject.target, subject.backend).0;
        self.native.as_ref()?.refused(&gpu_of(subject.target), driver)
    }

    /// Returns the module that a target's compiler gets: the payload, or the SPIR-V inside compiled code that is for other
    /// devices; none where code runs as it is.
    pub(crate) fn compiled(&self, subject: &Subject<'_>) -> Option<&Module> {
        self.module.as_ref().or_else(|| match self.taken(subject)? {
            Taken::Part(Coverage::Jit, parts) => self.sources.get(parts.first()?.source?),
            _ => None,
        })
    }

    /// Returns the code that a target may take; none where that cannot be told.
    pub(crate) fn homes_for(&self, subject: &Subject<'_>) -> Option<HashSet<Home>> {
        let gpu = gpu_of(subject.target);
        let (driver, takes_old) = Driver::of_target(subject.target, subject.backend);
        let mut homes = self.homes_on(&gpu, driver)?;
        if takes_old.is_none() {
            homes.extend(self.homes_on(&gpu, Driver { patch_tokens: false, ..driver })?);
        }
        Some(homes)
    }

    /// Returns the code that a device may take, by its name; none where that cannot be told.
    pub(crate) fn homes_on(&self, device: &str, driver: Driver) -> Option<HashSet<Home>> {
        let native = self.native.as_ref()?;
        let (how, parts) = match native.taken(device, driver) {
            Taken::Part(how, parts) => (how, parts),
            Taken::Nothing => return Some(HashSet::new()),
            Taken::Unknown => return None,
        };
        if how == Coverage::Jit {
            return parts.iter().map(|part| Some((how, part.source?))).collect();
        }
        let taken: HashSet<*const Part> = parts.into_iter().map(std::ptr::from_ref).collect();
        let numbered = native.parts.iter().zip(0..);
        Some(numbered.filter(|(part, _)| taken.contains(&std::ptr::from_ref(*part))).map(|(_, at)| (how, at)).collect())
    }

    /// Whether code that may be taken has a kernel that the image lists. What no code has, and code that is refused, are told of
    /// the image.
    pub(crate) fn has_kernel(&self, kernel: &str, taken: Option<&HashSet<Home>>) -> Has {
        let Some(homes) = self.homes.get(kernel) else { return Has::Yes };
        let Some(taken) = taken else { return Has::Unknown };
        match homes.iter().filter(|home| taken.contains(home)).count() {
            all if all == taken.len() => Has::Yes,
            // Code that could not be read may be this kernel's.
            0 if self.native.as_ref().is_some_and(|native| native.problems.is_empty()) => Has::No,
            _ => Has::Unknown,
        }
    }

    /// Returns the drivers that refuse the form of the code, where a GPU runs it natively with others and not at all with these; before
    /// them whether this GPU's is certain to be one, or may be.
    pub(crate) fn refused_form(&self, subject: &Subject<'_>) -> Option<(bool, &'static str)> {
        let native = self.native.as_ref()?;
        let drivers = native.parts.iter().find_map(|part| part.old_form)?.refused_by();
        let (own, patch_tokens) = Driver::of_target(subject.target, subject.backend);
        let with = |driver| native.coverage(&gpu_of(subject.target), driver);
        let refused =
            |driver| with(own.with_any_form()) == Some(Coverage::Native) && with(driver) == Some(Coverage::None);
        let unknown = patch_tokens.is_none() && refused(Driver { patch_tokens: false, ..own });
        let certain = refused(own);
        (certain || unknown).then_some((certain, drivers))
    }

    /// Returns how a target that takes the image runs its code: intermediate code is compiled, other code runs as it is
    /// unless it is known to be for other devices.
    pub(crate) fn coverage_where_taken(&self, subject: &Subject<'_>) -> Coverage {
        let otherwise = if self.format.is_intermediate() { Coverage::Jit } else { Coverage::Native };
        self.coverage(subject).unwrap_or(otherwise)
    }

    /// A size, x last, in the order of the source.
    pub fn in_source_order(&self, size: &[u64]) -> Vec<u64> {
        if self.is_sycl() { size.to_vec() } else { size.iter().rev().copied().collect() }
    }

    /// Tells of an image that lists no kernel and is of no known form: nobody knows what it runs. A bit may have changed in it.
    fn unknown(&self) -> Option<Problem> {
        let is_none = self.format == Format::Unknown && self.kernels.is_empty() && self.problem.is_none();
        // Other models have forms of their own.
        let is_ours = matches!(self.image.offload_kind, "" | "sycl");
        let what = "device code of no known form, and no list of kernels: what it runs, and where, is not known";
        let error = || Error::at(self.image.offset, what);
        (is_none && is_ours && !self.image.stored.is_empty()).then(|| Problem::of_image(self.image.index, error()))
    }

    /// Lists what is wrong with the image: with its payload, and with parts of native code; or that nobody knows its form.
    pub fn problems(&self) -> impl Iterator<Item = Problem> {
        let parts = self.native.iter().flat_map(|native| &native.problems);
        let read = self.problem.iter().chain(parts);
        read.map(|error| Problem::of_image(self.image.index, error.clone())).chain(self.unknown())
    }
}

/// Images that a thread examines at a time: enough that hashing them together pays, few for the memory.
pub const SHARE: usize = 16;

/// Facts of images that are found out beside those that all verbs go by.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Hashes; else `blake3` is zero.
    pub hashes: bool,
    /// Facts of modules, and of kernels as code for Intel's GPUs describes them; else both are only checked, where the
    /// container lists the kernels.
    pub code: bool,
}

/// Examines every image of a bundle, one by one, as few large ones are to keep all threads busy. The order of the
/// images is kept.
pub fn examine<'b, 'a>(bundle: &'b Bundle<'a>) -> Vec<Examined<'b, 'a>> {
    examine_some(bundle, &bundle.images, Extent { hashes: true, code: true })
}

/// Examines some images of a bundle like [`examine`], to an extent.
pub fn examine_some<'b, 'a>(bundle: &Bundle<'_>, images: &'b [Image<'a>], extent: Extent) -> Vec<Examined<'b, 'a>> {
    let examine = |image: &'b Image<'a>, room: &Room| {
        let (mut examined, contents) = walk(image, bundle.epoch, room, extent.code);
        if extent.hashes {
            examined.blake3 = digest(&contents);
        }
        bundle.give_back_after(image);
        examined
    };
    // Threads that one image has no use for would cost their start and megabytes of memory.
    let one_by_one = |room: &Room| images.iter().map(|image| examine(image, room)).collect();
    let mut room = room_of(images, &bundle.allowance);
    let mut examined: Vec<_> = match images {
        [] | [_] => one_by_one(&room),
        _ => images.par_iter().map(|image| examine(image, &room)).collect(),
    };
    // The first images have the room, whatever thread was the fastest.
    if room.is_short() && images.len() > 1 {
        drop(examined);
        room = room_of(images, &bundle.allowance);
        examined = one_by_one(&room);
    }
    bundle.allowance.spend(room.inflated());
    resolve_sets(&mut examined);
    examined
}

/// Finds what images of the same sets of virtual functions define for each other: the runtime links all of a set, whatever they
/// list as imports (`collectDependentDeviceImagesForVirtualFunctions` in DPC++'s `program_manager.cpp`).
fn resolve_sets(examined: &mut [Examined<'_, '_>]) {
    let waits = |one: &Examined<'_, '_>| !one.unlisted_imports.is_empty();
    let has_sets = |one: &Examined<'_, '_>| one.image.is_of_a_set();
    if !examined.iter().any(|one| waits(one) && has_sets(one)) {
        return;
    }
    let sets = |one: &Examined<'_, '_>| {
        let Sets { defined, used } = Sets::read(one.image);
        let format = one.format;
        defined.into_iter().chain(used).map(move |name| (format, name))
    };
    let mut offered: HashMap<(Format, String), HashSet<String>> = HashMap::new();
    for one in examined.iter().filter(|one| has_sets(one)) {
        let exports = || one.module.iter().flat_map(|module| module.exports.iter().cloned());
        sets(one).for_each(|set| offered.entry(set).or_default().extend(exports()));
    }
    for one in examined.iter_mut().filter(|one| waits(one) && has_sets(one)) {
        let own: Vec<_> = sets(one).filter_map(|set| offered.get(&set)).collect();
        let is_offered = |symbol: &String| own.iter().any(|exports| exports.contains(symbol));
        (one.set_imports, one.unlisted_imports) =
            std::mem::take(&mut one.unlisted_imports).into_iter().partition(is_offered);
    }
}

/// Makes the room for the native code of images.
fn room_of(images: &[Image<'_>], allowance: &Allowance) -> Room {
    let bytes = images.iter().map(|image| image.stored.len()).fold(0, usize::saturating_add);
    Room::new(bytes, allowance.left())
}

/// Examines some images, whose hashes are computed together.
pub fn examine_images<'b, 'a>(images: &'b [Image<'a>], epoch: Epoch, allowance: &Allowance) -> Vec<Examined<'b, 'a>> {
    let room = room_of(images, allowance);
    let mut examined = Vec::with_capacity(images.len());
    let mut payloads: Vec<(usize, &[u8])> = Vec::with_capacity(images.len());
    for (at, image) in images.iter().enumerate() {
        let (mut one, contents) = walk(image, epoch, &room, true);
        match contents {
            Contents::Stored(payload) => payloads.push((at, payload)),
            // The inflated payload is not kept until the others are there.
            inflated @ Contents::Inflated(_) => one.blake3 = digest(&inflated),
        }
        examined.push(one);
    }
    let stored: Vec<&[u8]> = payloads.iter().map(|&(_, payload)| payload).collect();
    for ((at, _), digest) in payloads.into_iter().zip(digests(&stored)) {
        if let Some(one) = examined.get_mut(at) {
            one.blake3 = digest;
        }
    }
    allowance.spend(room.inflated());
    examined
}

/// Examines one image.
pub fn examine_image<'b, 'a>(image: &'b Image<'a>, epoch: Epoch) -> Examined<'b, 'a> {
    let room = Room::of_one(image.stored.len());
    let (mut examined, contents) = walk(image, epoch, &room, true);
    examined.blake3 = digest(&contents);
    examined
}

/// Returns the hash of contents, of which no more than a piece is in memory where they are in a file.
fn digest(contents: &Contents<'_>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for piece in contents.chunks(limits::MAX_READ_AT_A_TIME) {
        hasher.update(piece);
        if let Contents::Inflated(draft) = contents {
            draft.give_back();
        }
    }
    *hasher.finalize().as_bytes()
}

/// Name of a module in errors.
const SPIRV: &str = "SPIR-V module";

/// Examines an image but for the hash of its contents, and returns the contents beside it.
fn walk<'b, 'a>(image: &'b Image<'a>, epoch: Epoch, room: &Room, code: bool) -> (Examined<'b, 'a>, Contents<'a>) {
    let (contents, mut problem) = match image.inflate() {
        Ok(contents) => (contents, None),
        Err(error) => (Contents::Stored(image.stored), Some(error)),
    };
    let format = if problem.is_none() { image.format_of(&contents) } else { Format::Unknown };
    // A payload that does not inflate whole may still begin with its format's magic number.
    let state = if problem.is_none() { image.state_of(format) } else { image.state() };
    // A module of which its container says nothing speaks for itself; else what is listed is what the runtime goes by.
    let unlisted = image.is_unlisted();
    let code = code || unlisted;
    let module = match format {
        Format::SpirV if !code => {
            problem = Module::check(&contents).err().map(|error| in_file(image, &error, SPIRV));
            None
        }
        Format::SpirV => match Module::parse(&contents) {
            Ok(module) => {
                problem = module.stopped.as_ref().map(|error| in_file(image, error, SPIRV));
                Some(module)
            }
            Err(error) => {
                problem = Some(in_file(image, &error, SPIRV));
                None
            }
        },
        _ => None,
    };
    let bitcode = match format {
        Format::LlvmBitcode => bitcode::Module::read(&contents).ok(),
        _ => None,
    };
    if let Some(error) = bitcode.as_ref().and_then(|module| module.stopped.as_ref()) {
        problem = Some(in_file(image, error, "LLVM bitcode"));
    }
    let place = Place::file(image.offset);
    let inflated = image.inflated || image.compression().is_some();
    let place = if inflated { place.inflated() } else { place };
    let (native, sources) = native(&contents, format, place, (room, code));
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (mut kernels, exports, mut imports) = match &module {
        Some(module) if unlisted => {
            let mut kernels = Vec::with_capacity(module.entry_points.len());
            kernels.extend(module.kernels().map(str::to_owned));
            // Compilers of devices have the intrinsics that are known.
            let imports = module.imports.iter().filter(|symbol| !symbol.starts_with("llvm.") || !is_known(symbol));
            (kernels, module.exports.clone(), imports.cloned().collect())
        }
        None if let Some(module) = bitcode.as_ref().filter(|_| unlisted) => symbols(module),
        None if unlisted => {
            let kernels = native.as_ref().map(Native::kernel_names).unwrap_or_default();
            (owned(kernels), owned(image.exports()), owned(image.imports()))
        }
        _ => (owned(image.kernels()), owned(image.exports()), owned(image.imports())),
    };
    let disguised = if unlisted { Vec::new() } else { disguised(image, &kernels, module.as_ref()) };
    if unlisted {
        // The runtime looks for what is stated, too.
        let known: HashSet<&str> = imports.iter().map(String::as_str).collect();
        let stated = owned(image.imports().into_iter().filter(|symbol| !known.contains(symbol)).collect());
        imports.extend(stated);
    }
    kernels.extend(disguised.iter().map(|kernel| (*kernel).to_owned()));
    let contradictions = contradictions(
        image,
        (&kernels, disguised.first().copied()),
        module.as_ref(),
        native.as_ref().filter(|_| code),
        &sources,
    );
    let homes = native.as_ref().filter(|_| code).map(|native| homes(&kernels, native, &sources)).unwrap_or_default();
    let unlisted_imports = module.iter().flat_map(|module| &module.imports);
    let listed: HashSet<&String> = imports.iter().collect();
    let missing = |symbol: &&String| !listed.contains(symbol) && can_be_imported(symbol);
    let unlisted_imports: Vec<String> = unlisted_imports.filter(missing).cloned().collect();
    let strange_imports = module.iter().flat_map(|module| &module.imports);
    let strange = |symbol: &&String| !can_be_imported(symbol) && !is_known(symbol) && !listed.contains(symbol);
    let strange_imports: Vec<String> = strange_imports.filter(strange).cloned().collect();
    let examined = Examined {
        image,
        format,
        size: contents.len() as u64,
        blake3: [0; 32],
        march: CpuArch::of_binary(&contents),
        native,
        module,
        sources,
        requirements: match &bitcode {
            // Requirements that are recorded beside the module count alone.
            Some(module) if image.properties.set(set::REQUIREMENTS).is_empty() => requirements(module, epoch),
            _ => Requirements::read(image, epoch),
        },
        bitcode,
        kernels,
        exports,
        imports,
        unlisted_imports,
        strange_imports,
        set_imports: Vec::new(),
        contradictions,
        homes,
        needs_too_many: false,
        state,
        problem,
        sycl: OnceLock::new(),
        mentioned: Mutex::default(),
    };
    (examined, contents)
}

/// Code that has kernels: a part of compiled code by its number, or the SPIR-V inside by its own.
pub(crate) type Home = (Coverage, usize);

/// Kernels, each with the code that has it.
pub(crate) type Homes = HashMap<String, Vec<Home>>;

/// The listed kernels that only some of the code has.
fn homes(listed: &[String], native: &Native, sources: &[Module]) -> Homes {
    let is_read = |part: &Part| part.lists_kernels() && part.format != Format::SpirV;
    let parts = native.parts.iter().zip(0..).filter(|(part, _)| is_read(part));
    let parts = parts.map(|(part, at)| {
        let names = part.kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>();
        ((Coverage::Native, at), names)
    });
    let sources = sources.iter().zip(0..).map(|(module, at)| ((Coverage::Jit, at), module.kernels().collect()));
    let code: Vec<_> = parts.chain(sources).collect();
    // Mostly all lists are one.
    if code.iter().all(|(_, names)| names.iter().eq(listed)) {
        return Homes::new();
    }
    let mut all: HashMap<&str, Vec<Home>> = HashMap::new();
    for (home, names) in &code {
        for name in names {
            let homes = all.entry(name).or_default();
            if homes.last() != Some(home) {
                homes.push(*home);
            }
        }
    }
    let some = listed.iter().filter_map(|name| {
        let homes = all.remove(name.as_str()).filter(|homes| homes.len() < code.len())?;
        Some((name.clone(), homes))
    });
    some.collect()
}

/// Reads compiled code and, where code counts, the SPIR-V in it.
fn native(contents: &[u8], format: Format, place: Place, (room, code): (&Room, bool)) -> (Option<Native>, Vec<Module>) {
    if !code {
        return (Native::without_kernels(contents, format, place, room), Vec::new());
    }
    let arena = room.arena(contents.len());
    let Some((mut native, sources)) = Native::with_source(contents, format, place, (&arena, room)) else {
        return (None, Vec::new());
    };
    // Members of an archive share one module; elsewhere the first is taken.
    let most = if native.container == Some("ar") { usize::MAX } else { 1 };
    let mut modules = Vec::new();
    let mut known: HashMap<&[u8], Option<usize>> = HashMap::new();
    for (part, source) in native.parts.iter_mut().zip(sources).filter_map(|(part, source)| Some((part, source?))) {
        part.source = match known.get(source) {
            Some(place) => *place,
            None if known.len() >= most => None,
            None => {
                let read = Module::parse(source);
                let error = match &read {
                    Ok(module) => module.stopped.clone(),
                    Err(error) => Some(error.clone()),
                };
                let error = error.map(|error| error.without_offset().context("the SPIR-V inside"));
                native.problems.extend(error);
                let place = read.is_ok().then_some(modules.len());
                modules.extend(read);
                known.insert(source, place);
                place
            }
        };
    }
    (Some(native), modules)
}

/// The error of a module, placed in the file where the module is stored as it is.
#[cold]
fn in_file(image: &Image<'_>, error: &Error, what: &str) -> Error {
    let message = error.message();
    let message = message.split(" (at offset").next().unwrap_or_default();
    match (image.inflated || image.compression().is_some(), error.offset()) {
        (false, Some(offset)) => Error::at(image.offset.saturating_add(offset), format!("{what}: {message}")),
        (true, Some(offset)) => {
            Error::at(image.offset, format!("{what}, {offset:#x} bytes into what inflates: {message}"))
        }
        (_, None) => Error::at(image.offset, format!("{what}: {message}")),
    }
}

/// A digest.
pub(super) type Digest = [u8; 32];

/// The initialisation vector of BLAKE3, which is the key where none is given.
const IV: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 2;
const PARENT: u8 = 4;
const ROOT: u8 = 8;
/// Payloads of more chunks fill the lanes by themselves.
const MOST: usize = 32;

/// The digests of payloads, in order.
pub(super) fn digests(payloads: &[&[u8]]) -> Vec<Digest> {
    let platform = Platform::detect();
    let mut digests = vec![[0u8; 32]; payloads.len()];
    // Of each payload that is hashed with others: the values of its chunks, later of their parents.
    let mut trees: Vec<(usize, Vec<Digest>)> = Vec::with_capacity(payloads.len());
    for (at, payload) in payloads.iter().enumerate() {
        let chunks = payload.len().div_ceil(CHUNK_LEN);
        if !(2..=MOST).contains(&chunks) {
            if let Some(digest) = digests.get_mut(at) {
                *digest = *blake3::hash(payload).as_bytes();
            }
        } else {
            trees.push((at, Vec::with_capacity(chunks)));
        }
    }
    let mut lanes: Vec<&[u8; CHUNK_LEN]> = Vec::with_capacity(trees.len());
    let mut out = vec![0u8; trees.len().saturating_mul(32)];
    for place in 0..MOST {
        let whole = |at: usize| payloads.get(at).and_then(|payload| payload.as_chunks().0.get(place));
        lanes.clear();
        lanes.extend(trees.iter().filter_map(|&(at, _)| whole(at)));
        if lanes.is_empty() {
            break;
        }
        let no = IncrementCounter::No;
        platform.hash_many(&lanes, &IV, place as u64, no, 0, CHUNK_START, CHUNK_END, &mut out);
        let filled = trees.iter_mut().filter(|(at, _)| whole(*at).is_some());
        for ((_, values), value) in filled.zip(out.as_chunks().0) {
            values.push(*value);
        }
    }
    for (at, values) in &mut trees {
        let rest = payloads.get(*at).map_or(&[][..], |payload| payload.as_chunks::<CHUNK_LEN>().1);
        if !rest.is_empty() {
            values.push(last_chunk(platform, rest, values.len() as u64));
        }
    }
    join(platform, &mut trees);
    for (at, values) in trees {
        if let (Some(digest), Some(root)) = (digests.get_mut(at), values.first()) {
            *digest = *root;
        }
    }
    digests
}

/// The value of a chunk that is cut short.
fn last_chunk(platform: Platform, bytes: &[u8], counter: u64) -> Digest {
    let mut value = IV;
    let blocks = bytes.len().div_ceil(64);
    for (at, part) in bytes.chunks(64).enumerate() {
        let mut block = [0u8; 64];
        if let Some(head) = block.get_mut(..part.len()) {
            head.copy_from_slice(part);
        }
        let start = if at == 0 { CHUNK_START } else { 0 };
        let end = if at.saturating_add(1) == blocks { CHUNK_END } else { 0 };
        platform.compress_in_place(&mut value, &block, part.len() as u8, counter, start | end);
    }
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(value) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// Joins the values of each tree in pairs until one is left; an odd one goes up as it is. Roots are joined last.
fn join(platform: Platform, trees: &mut [(usize, Vec<Digest>)]) {
    loop {
        let is_root = trees.iter().all(|(_, values)| values.len() <= 2);
        let due = |values: &[Digest]| if is_root { values.len() == 2 } else { values.len() > 2 };
        let mut parents: Vec<[u8; 64]> = Vec::new();
        for (_, values) in trees.iter().filter(|(_, values)| due(values)) {
            parents.extend(values.as_flattened().as_chunks::<64>().0);
        }
        if parents.is_empty() {
            return;
        }
        let lanes: Vec<&[u8; 64]> = parents.iter().collect();
        let mut out = vec![0u8; parents.len().saturating_mul(32)];
        let flags = if is_root { PARENT | ROOT } else { PARENT };
        platform.hash_many(&lanes, &IV, 0, IncrementCounter::No, flags, 0, 0, &mut out);
        let mut joined = out.as_chunks::<32>().0.iter();
        for (_, values) in trees.iter_mut().filter(|(_, values)| due(values)) {
            let pairs = values.len() / 2;
            let odd = if values.len() % 2 == 1 { values.last().copied() } else { None };
            values.clear();
            values.extend(joined.by_ref().take(pairs).copied());
            values.extend(odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Host;

    fn module(instructions: &[u32]) -> Vec<u8> {
        [&[0x0723_0203, 0x0001_0200, 0, 10, 0], instructions]
            .concat()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    #[test]
    fn a_bare_module_speaks_for_itself() {
        // OpEntryPoint Kernel %1 "k"
        let bytes = module(&[0x0004_000f, 6, 1, u32::from_le_bytes(*b"k\0\0\0")]);
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let examined = examine(&bundle);
        assert_eq!(examined[0].kernels, ["k"]);
        assert_eq!(examined[0].state, State::Input);
        assert_eq!(examined[0].size, bytes.len() as u64);
        assert!(examined[0].problem.is_none());
    }

    #[test]
    fn a_broken_module_keeps_its_facts_and_names_the_file_offset() {
        let bytes = module(&[0x0002_0011, 6, 0x0009_000f]);
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let examined = examine(&bundle);
        assert_eq!(examined[0].module.as_ref().unwrap().capabilities, [6]);
        let problem = examined[0].problem.as_ref().unwrap();
        assert_eq!(problem.offset(), Some(28));
        assert_eq!(problem.to_string().matches("at offset").count(), 1, "{problem}");
    }

    /// Judgement by the documented function, for every length up to beyond nine chunks, alone and in batches, and for
    /// lengths about the most that is hashed with others.
    #[test]
    fn digests_are_those_of_the_documented_function() {
        let bytes: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let about = |chunks: usize| (chunks * CHUNK_LEN - 2)..=(chunks * CHUNK_LEN + 2);
        let lengths: Vec<usize> =
            (0..10_000).chain(about(16)).chain(about(31)).chain(about(32)).chain(about(33)).collect();
        for batch in [1, 2, 3, 16, 17, 100] {
            // Neighbours of like and of unlike lengths.
            for stride in [1, 613] {
                let order: Vec<&[u8]> =
                    (0..lengths.len()).map(|at| &bytes[at % 64..][..lengths[at * stride % lengths.len()]]).collect();
                for payloads in order.chunks(batch) {
                    let wanted: Vec<Digest> =
                        payloads.iter().map(|payload| *blake3::hash(payload).as_bytes()).collect();
                    assert_eq!(digests(payloads), wanted);
                }
            }
        }
    }
}
