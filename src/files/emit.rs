//! What does an output of images look like?
//!
//! One set of forms for every verb that makes images ([`OutputForm`]), and one function that writes them ([`write()`]). `build`
//! alone adds images to a linked file ([`super::compiled`]).

use super::gather::Origin;
use super::package::is_folder;
use super::parts::{has_place_beside, write_spirv, write_table};
use super::sources::{self, spare_inputs, spare_opened};
use super::write::{unkept, write_atomically};
use crate::bundle::aspect::Epoch;
use crate::bundle::image::{EntryLayout, Image, State};
use crate::bundle::offload_binary::{SYCL, Version, kind_number};
use crate::bundle::property_sets::{key, set};
use crate::bundle::syclbin::Envelope;
use crate::compat::fit::spec;
use crate::container::{Arena, Producer};
use crate::device;
use crate::device::cpu::CpuArch;
use crate::error::{Context as _, Error, ErrorKind, Reporter, Result};
use crate::report::text::counted;
use crate::rewrite::blobs;
use crate::rewrite::extract::{self, Names};
use crate::rewrite::image_data::{EntryForm, ImageVersion, OutImage, out_image};
use crate::rewrite::object_file::{ObjectFormat, ObjectOptions, object_file, object_file_of_binary};
use crate::rewrite::prepare::{Payload, inferred_target, record_architecture, store};
use crate::rewrite::renumber::{has_renumbered, renumber};
use crate::rewrite::shared::{Machine, SharedOptions, shared_library};
use crate::temporary::hold;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The forms of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    /// A copy of the linked file, with the images in its own list
    Embed,
    /// An object file; what is linked with it registers the images
    Object,
    /// A library that registers the images when it is loaded
    Shared,
    /// A SYCLBIN, which the SYCL runtime loads by its path
    Syclbin,
    /// An OffloadBinary of LLVM
    OffloadBinary,
    /// A clang offload bundle
    OffloadBundle,
    /// The images as files beside a file table
    Table,
    /// Bare SPIR-V modules: one as a file, several in a folder
    Spirv,
}

impl Emit {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Emit::Embed => "embed",
            Emit::Object => "object",
            Emit::Shared => "shared",
            Emit::Syclbin => "syclbin",
            Emit::OffloadBinary => "offload-binary",
            Emit::OffloadBundle => "offload-bundle",
            Emit::Table => "table",
            Emit::Spirv => "spirv",
        }
    }

    /// The form that a file name's extension stands for, where it stands for one.
    pub(crate) fn by_extension(path: &Path) -> Option<Emit> {
        let name = path.file_name()?.to_str()?;
        // A library's name may go on with its version.
        let is_version = |rest: &str| rest.split('.').all(|part| part.parse::<u32>().is_ok());
        if name.ends_with(".so") || name.rsplit_once(".so.").is_some_and(|(_, rest)| is_version(rest)) {
            return Some(Emit::Shared);
        }
        match path.extension()?.to_str()? {
            "o" | "obj" => Some(Emit::Object),
            "syclbin" => Some(Emit::Syclbin),
            "table" => Some(Emit::Table),
            "spv" => Some(Emit::Spirv),
            _ => None,
        }
    }

    /// Whether what is linked with the output, or loads it, registers the images.
    pub(crate) fn registers(self) -> bool {
        matches!(self, Emit::Object | Emit::Shared)
    }
}

/// A system that host programs run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostTriple {
    /// The processor.
    pub(crate) machine: Machine,
    /// The form of its object files.
    pub(crate) format: ObjectFormat,
}

impl HostTriple {
    /// Reads a triple, of which processor and system count.
    ///
    /// # Errors
    /// A sentence for the command line.
    pub(crate) fn parse(text: &str) -> Result<HostTriple, String> {
        let machine = match text.split('-').next() {
            Some("x86_64" | "amd64") => Some(Machine::X86_64),
            Some("aarch64" | "arm64") => Some(Machine::Aarch64),
            _ => None,
        };
        let format = match () {
            () if text.contains("-linux") => Some(ObjectFormat::Elf),
            () if text.contains("-windows") => Some(ObjectFormat::Coff),
            () => None,
        };
        let known = machine.zip(format).map(|(machine, format)| HostTriple { machine, format });
        known.ok_or_else(|| "x86_64 or aarch64, then linux or windows, as in `x86_64-linux`".to_owned())
    }

    /// The triple of this machine.
    fn this() -> HostTriple {
        let machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };
        HostTriple { machine, format: ObjectFormat::Elf }
    }

    /// The triple as LLVM spells it.
    pub(crate) fn triple(self) -> String {
        let machine = match self.machine {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        };
        let system = match self.format {
            ObjectFormat::Elf => "unknown-linux-gnu",
            ObjectFormat::Coff => "pc-windows-msvc",
        };
        format!("{machine}-{system}")
    }
}

/// A form with everything that was said of it, which makes sense.
#[derive(Debug, Clone)]
pub(crate) struct OutputForm {
    /// The form.
    pub(crate) emit: Emit,
    /// For which system; none where nobody said.
    pub(crate) host: Option<HostTriple>,
    /// The version of image structures; none where nobody said.
    pub(crate) version: Option<ImageVersion>,
    /// The form of entries; none where nobody said.
    pub(crate) entries: Option<EntryForm>,
    /// Whether an object registers one OffloadBinary, as LLVM's own SYCL does, and no descriptor.
    pub(crate) registers_binary: bool,
    /// The level of zstd.
    pub(crate) compress: Option<i32>,
    /// The container around a SYCLBIN.
    pub(crate) envelope: Envelope,
    /// The state that a SYCLBIN states.
    pub(crate) state: Option<State>,
    /// The version of an OffloadBinary.
    pub(crate) version_of_binary: Version,
}

impl OutputForm {
    /// Whether the output is one of LLVM's, which names the architecture and the programming model beside the target.
    fn is_of_llvm(&self) -> bool {
        matches!(self.emit, Emit::OffloadBinary | Emit::OffloadBundle) || self.registers_binary
    }

    /// The system.
    pub(crate) fn host(&self) -> HostTriple {
        self.host.unwrap_or_else(HostTriple::this)
    }
}

/// Whether images can be written where they are to be, and would replace none of the inputs.
///
/// # Errors
/// As [`check_place`]; `Usage` where they would.
pub(crate) fn check_output(form: &OutputForm, inputs: &[PathBuf], output: &Path) -> Result<()> {
    check_place(Some(form.emit), output)?;
    spare_inputs(inputs, output)
}

/// The path of what is written to a path: of a table that is to be in a folder, which is made, the one with the usual name.
pub(crate) fn table_place(emit: Emit, path: &Path) -> Cow<'_, Path> {
    if emit == Emit::Table && is_folder(path) { path.join(extract::TABLE).into() } else { path.into() }
}

/// Whether the output can be written where it is to be, before anything is done for it. A folder is one for modules
/// alone.
///
/// # Errors
/// `Usage` where it is a folder itself, or is to be in a file.
pub(crate) fn check_place(emit: Option<Emit>, path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    // A missing folder is made when the output is written.
    let there = path.ancestors().skip(usize::from(!is_folder(path)));
    let there = there.map(|folder| folder.components().as_path()).find(|folder| folder.exists());
    if let Some(file) = there.filter(|there| !there.is_dir()) {
        let message = format!("cannot write `{}`: `{}` is no folder", path.display(), file.display());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if emit == Some(Emit::Table) {
        has_place_beside(path)?;
    }
    if !is_folder(path) || emit == Some(Emit::Spirv) {
        return Ok(());
    }
    let what = if path.is_dir() { "a folder" } else { "the name of a folder, and a file is to be written" };
    let error = Error::new(ErrorKind::Usage, format!("`{}` is {what}", path.display()));
    Err(error.with_remedy("name a file in it with `-o`"))
}

/// The names that the runtime compares with (`__SYCL_DEVICE_BINARY_TARGET_*` in DPC++ `sycl/source/detail/compiler.hpp`),
/// which are no targets of the device configuration, or not by that name alone; and the architectures of the triples that
/// upstream's drivers write in their place.
const SPECS: [&str; 14] = [
    "spir",
    "spir64",
    "spir64_x86_64",
    "spir64_gen",
    "spir64_fpga",
    "nvptx64",
    "amdgcn",
    "native_cpu",
    "llvm_nvptx64",
    "llvm_amdgcn",
    "spirv",
    "spirv32",
    "spirv64",
    "spirv64_intel",
];

/// The name to write for a spelling: one that the runtime compares with stands as it is, also as a triple; any other is
/// that of the target that it means.
///
/// # Errors
/// `Usage` where it means none, or several.
pub(crate) fn known_target(reporter: &dyn Reporter, spelling: &str) -> Result<String> {
    if SPECS.contains(&spelling.split('-').next().unwrap_or_default()) {
        return Ok(spelling.to_owned());
    }
    let found = device::table().resolve(spelling)?;
    let [target] = found.targets.as_slice() else {
        let names: Vec<&str> = found.targets.iter().map(|target| target.name.as_str()).collect();
        // The runtime knows families by name too.
        if let Some(family) = found.family.filter(|family| family.starts_with("intel_gpu_")) {
            return Ok(family);
        }
        let error = Error::new(ErrorKind::Usage, format!("`{spelling}` means several targets: {}", names.join(", ")));
        return Err(error.with_remedy("name one of them with --as-target"));
    };
    if let Some(note) = &found.note {
        reporter.note(note);
    }
    if target.name != spelling {
        reporter.note(&format!("`{spelling}` is {}", target.name));
    }
    Ok(target.name.clone())
}

/// Names of the files of all images.
pub(super) fn part_names(images: &[Image<'_>], stem: &str, origin: &Origin) -> Vec<Names> {
    let name = |(number, image): (usize, &Image<'_>)| {
        let names = Names::for_prepared(stem, image.index, image);
        origin.pass(number);
        names
    };
    images.iter().enumerate().map(name).collect()
}

/// The stem and folder of parts, which are named after the table.
pub(crate) fn stem_and_folder(path: &Path) -> (String, &Path) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    (stem, path.parent().unwrap_or(Path::new("")))
}

/// Writes images; returns the bytes written.
///
/// # Errors
/// Errors of writing in that form; `NoDeviceCode` where there are no images.
pub(crate) fn write(
    reporter: &dyn Reporter,
    form: &OutputForm,
    mut images: Vec<Image<'_>>,
    origin: &Origin,
    path: &Path,
) -> Result<u64> {
    if images.is_empty() {
        return Err(Error::new(ErrorKind::NoDeviceCode, "there are no images to write"));
    }
    let arena = Arena::with_limit(u64::MAX);
    let payload = match form.compress {
        _ if !form.emit.registers() => Payload::Plain,
        Some(level) => Payload::Zstd(level),
        None => Payload::Stored,
    };
    if matches!(payload, Payload::Zstd(_)) && images.iter().any(Image::is_of_a_set) {
        reporter.note("images of sets of virtual functions are not compressed: the runtime links them as they are");
    }
    let mut settled = Vec::with_capacity(images.len());
    for (number, mut image) in images.drain(..).enumerate() {
        store(&arena, &mut image, payload).map_err(|error| error.context(format!("image {}", image.index)))?;
        if !form.is_of_llvm() {
            record_architecture(&arena, &mut image)?;
        }
        settled.push(image);
        origin.pass(number);
    }
    if !matches!(form.emit, Emit::Table | Emit::Spirv) {
        have_targets(&settled)?;
    }
    renumber_aspects(reporter, form, (&arena, &mut settled), origin)?;
    tell_losses(reporter, form, &settled);
    spare_opened(path)?;
    let bytes = match form.emit {
        Emit::Embed => {
            let error = Error::new(ErrorKind::Usage, "there is no linked file here to embed images into");
            return Err(error.with_remedy("`sycl-bundle embed` adds images to a linked file"));
        }
        Emit::Table => return write_table(&settled, origin, path),
        Emit::Spirv => return write_spirv(reporter, &settled, origin, path),
        Emit::Object | Emit::Shared => return registered(reporter, form, &settled, origin, path),
        Emit::Syclbin => {
            let free = |image: &Image<'_>| image.kernels().iter().any(|kernel| kernel.contains("__sycl_kernel_"));
            if !settled.iter().any(free) {
                reporter.note("libsycl finds kernels of a SYCLBIN by the names of free functions, and there is none");
            }
            let state = form.state.unwrap_or_else(|| blobs::state(&settled));
            blobs::syclbin(&settled, form.envelope, state)?
        }
        Emit::OffloadBinary => blobs::offload_binary(&settled, form.version_of_binary)?,
        Emit::OffloadBundle => blobs::offload_bundle(&settled, &form.host().triple(), form.compress)?,
    };
    to(reporter, path, &bytes, None)
}

/// Writes images; of a table, the parts of an earlier one of its name are replaced, and other files are not. Returns the
/// bytes written.
///
/// # Errors
/// Errors of [`write()`]; `Usage` where a part would replace another file.
pub(crate) fn write_with_parts(
    reporter: &dyn Reporter,
    form: &OutputForm,
    images: Vec<Image<'_>>,
    origin: &Origin,
    path: &Path,
    inputs: &[&Path],
) -> Result<u64> {
    if form.emit != Emit::Table {
        return write(reporter, form, images, origin, path);
    }
    let (stem, folder) = stem_and_folder(path);
    let _held = hold(folder);
    let names = part_names(&images, &stem, origin);
    sources::spare_beside_table(names.iter().flat_map(Names::all), path, inputs)?;
    write(reporter, form, images, origin, path)
}

/// Gives aspects the numbers by which the form is read, where these are others, and says so.
fn renumber_aspects<'k>(
    reporter: &dyn Reporter,
    form: &OutputForm,
    (arena, images): (&'k Arena, &mut [Image<'k>]),
    origin: &Origin,
) -> Result<()> {
    let own = origin.numbering.unwrap_or(Epoch::From2026);
    let read = match form.emit {
        // A module has no numbers.
        Emit::Embed | Emit::Spirv => own,
        // An object is for the runtime that it is linked to, of which its comments tell the years, or its structures.
        Emit::Object => {
            let (version, abi) = abi(form, origin);
            let fits = is_older(version) == is_older(version_of(own.abi()));
            let is_told = || Producer::from_comment(origin.comments.join("\0").as_bytes()).is_some();
            if fits || is_told() { own } else { Epoch::of_abi(abi) }
        }
        Emit::Shared => Epoch::of_abi(abi(form, origin).1),
        Emit::Table | Emit::Syclbin | Emit::OffloadBinary | Emit::OffloadBundle => Epoch::From2026,
    };
    if own == read || !images.iter().any(has_renumbered) {
        return Ok(());
    }
    let (what, mine, theirs) = (what(form), own.years(), read.years());
    if origin.asked {
        reporter.note(&format!("aspects have the numbers {mine}, as asked for, and {what} is read by those {theirs}"));
        return Ok(());
    }
    let mut count = 0usize;
    for image in images {
        let changed = renumber(arena, image, own, read).context(|| format!("image {}", image.index))?;
        count = count.saturating_add(usize::from(changed));
    }
    let images = counted(count, "image");
    reporter.note(&format!("{what} is read by the numbers of aspects {theirs}, which {images} got for those {mine}"));
    Ok(())
}

/// Says what of the images a form has no place for. What `link` and `split` read out of the code of bare modules can be read
/// again, and is no loss.
fn tell_losses(reporter: &dyn Reporter, form: &OutputForm, images: &[Image<'_>]) {
    let what = what(form);
    let tell = |of: &str, had: &str, is_lost: &dyn Fn(&Image<'_>) -> bool| {
        let count = images.iter().filter(|image| is_lost(image)).count();
        if count > 0 {
            reporter.note(&format!("{what} has no place for {of}; {} {had}", counted(count, "image")));
        }
    };
    let is_of_another = |image: &Image<'_>| !matches!(image.offload_kind, "" | "sycl");
    if form.is_of_llvm() {
        // Numbers stand for some; a bundle has their names.
        let has_none = |image: &Image<'_>| is_of_another(image) && kind_number(image.offload_kind) == SYCL;
        if form.emit != Emit::OffloadBundle {
            tell("the programming model", "had one that LLVM has no number for", &has_none);
        }
        return;
    }
    let (is_table, is_bare) = (form.emit == Emit::Table, form.emit == Emit::Spirv);
    if !form.emit.registers() {
        let has_options = |image: &Image<'_>| !image.compile_options.is_empty() || !image.link_options.is_empty();
        tell("options of the device compiler", "had some", &has_options);
    }
    if is_table || is_bare {
        let is_lost = |image: &Image<'_>| target_is_lost(image) || is_bare && image.compile_target().is_some();
        tell("a target that the code does not tell", "had one", &is_lost);
    }
    // A SYCLBIN names the architecture of native code.
    let keeps_arch = |image: &Image<'_>| form.emit == Emit::Syclbin && !image.format().is_intermediate();
    let unrecorded = |image: &Image<'_>| image.properties.get(set::REQUIREMENTS, key::COMPILE_TARGET).is_none();
    let arch_is_lost =
        |image: &Image<'_>| !image.arch.is_empty() && !is_bare && unrecorded(image) && !keeps_arch(image);
    tell("an architecture that DPC++ has no name for", "had one", &arch_is_lost);
    tell("the programming model", "had another than SYCL", &is_of_another);
}

/// Words for what images become.
fn what(form: &OutputForm) -> &'static str {
    match form.emit {
        Emit::Table => "a table",
        Emit::Spirv => "a bare module",
        Emit::Syclbin => "a SYCLBIN",
        _ if form.is_of_llvm() => "an OffloadBinary",
        _ => "an image structure",
    }
}

/// Whether the target of an image is another one where only its property sets and code are left.
fn target_is_lost(image: &Image<'_>) -> bool {
    if image.target.is_empty() {
        return false;
    }
    let told = inferred_target(image, image.format(), || CpuArch::of_binary(image.stored));
    spec(image) != told.unwrap_or("spir64")
}

/// Images that the runtime is to choose from say what they are for.
fn have_targets(images: &[Image<'_>]) -> Result<()> {
    match images.iter().find(|image| image.target.is_empty()) {
        None => Ok(()),
        Some(image) => {
            let message = format!("nothing tells for which target image {} is", image.index);
            Err(Error::new(ErrorKind::Usage, message).with_remedy("say so with --as-target, for example spir64_x86_64"))
        }
    }
}

/// The version of image structures that a runtime reads.
fn version_of(abi: u32) -> ImageVersion {
    if abi >= 9 { ImageVersion::V3 } else { ImageVersion::V2 }
}

fn is_older(version: ImageVersion) -> bool {
    version != ImageVersion::V3
}

/// The version of the image structures of an object or a library, and of the runtime that they are for.
fn abi(form: &OutputForm, origin: &Origin) -> (ImageVersion, u32) {
    let version = form.version.or(origin.abi.map(version_of)).unwrap_or(ImageVersion::V3);
    let own = origin.abi.filter(|abi| is_older(version_of(*abi)) == is_older(version));
    (version, own.unwrap_or(if is_older(version) { 8 } else { 9 }))
}

/// An object or a library.
fn registered(
    reporter: &dyn Reporter,
    form: &OutputForm,
    images: &[Image<'_>],
    origin: &Origin,
    path: &Path,
) -> Result<u64> {
    let (version, abi) = abi(form, origin);
    if origin.has_functions {
        reporter.note(
            "the object that images are from has functions, too, and the output holds images alone: link the object, and \
             rewrite what is linked",
        );
    }
    if origin.abi.is_some_and(|wanted| is_older(version_of(wanted)) != is_older(version)) {
        reporter
            .note("the images were made for another generation of the runtime, which numbers some aspects differently");
    }
    let new =
        images.iter().filter_map(|image| image.origin).any(|origin| origin.entry_layout == Some(EntryLayout::New));
    let entries = form.entries.unwrap_or(if new { EntryForm::New } else { EntryForm::Old });
    let comments: Vec<&str> = origin.comments.iter().map(String::as_str).collect();
    let host = form.host();
    let out: Vec<OutImage<'_>> = images.iter().map(out_image).collect();
    if form.emit == Emit::Object {
        let options =
            ObjectOptions { machine: host.machine, format: host.format, version, entries, comments: &comments };
        let object = match form.registers_binary {
            true => object_file_of_binary(&blobs::registered_binary(images)?, &options)?,
            false => object_file(&out, &options)?,
        };
        return to(reporter, path, &object, None);
    }
    let soname = path.file_name().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "-");
    let soname = soname.unwrap_or_else(|| "libsycl-bundle-images.so".to_owned());
    let runtime = format!("libsycl.so.{abi}");
    let options = SharedOptions {
        machine: host.machine,
        soname: &soname,
        runtime: &runtime,
        version,
        entries,
        comments: &comments,
    };
    to(reporter, path, &shared_library(&out, &options)?, Some(0o755))
}

/// Writes one file, or to standard output.
///
/// # Errors
/// `Environment` where it cannot be written.
pub(crate) fn to(reporter: &dyn Reporter, path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<u64> {
    if path == Path::new("-") {
        reporter.binary(bytes)?;
    } else {
        let unkept = unkept(path);
        if write_atomically(path, bytes, mode)? {
            unkept.iter().for_each(|what| reporter.note(&format!("{}: {what}", path.display())));
        }
    }
    Ok(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell() {
        let by = |name: &str| Emit::by_extension(Path::new(name));
        assert_eq!([by("a.o"), by("d/a.obj")], [Some(Emit::Object); 2]);
        assert_eq!([by("lib.so"), by("lib.so.1.2")], [Some(Emit::Shared); 2]);
        assert_eq!([by("lib.so.table"), by("lib.so.1.spv")], [Some(Emit::Table), Some(Emit::Spirv)]);
        assert_eq!(
            (by("a.syclbin"), by("a.table"), by("a.spv")),
            (Some(Emit::Syclbin), Some(Emit::Table), Some(Emit::Spirv))
        );
        assert_eq!([by("a"), by("a.bin"), by("-"), by("a.so.d/x"), by("lib.so.d")], [None; 5]);
    }

    #[test]
    fn triples() {
        let of = |text: &str| HostTriple::parse(text).map(HostTriple::triple);
        assert_eq!(of("x86_64-linux").unwrap(), "x86_64-unknown-linux-gnu");
        assert_eq!(of("arm64-pc-windows-msvc").unwrap(), "aarch64-pc-windows-msvc");
        assert!(of("riscv64-linux").is_err() && of("x86_64").is_err() && of("x86_64-darwin").is_err());
    }
}
