//! `embed`: how do images from elsewhere get into a linked file?
//!
//! With the flags that `prune` shares: a linked file goes in, a changed copy comes out.

use super::global::Global;
use super::output::{Output, SUMMARY, forms};
use super::selection::TargetSelection;
use crate::bundle::Bundle;
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_sets::set;
use crate::compat::examine::{Examined, examine};
use crate::container::{Allowance, Arena, Host, Kind, package};
use crate::device::cpu::CpuArch;
use crate::error::{Context as _, Error, ErrorKind, Exit, Result};
use crate::files::emit;
use crate::files::input::Input;
use crate::files::linked::{Linked, Target};
use crate::files::package::{LinkedFile, Package};
use crate::files::table::{Beside, Files as Parts, beside_which, is_there};
use crate::report::document::Form;
use crate::report::edited::{self, Edited};
use crate::report::text::counted;
use crate::rewrite::image_data::{OutImage, with_payload};
use crate::rewrite::renumber::{has_renumbered, renumber};
use crate::rewrite::virtual_functions::takes_part;
use crate::rewrite::{self, layers};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AFTER_HELP: &str = "\
The images get a place in the list that the file registers with the runtime when it is loaded,
and stand in a segment (PE: a section) of their own, which `prune` takes out again. A bare
payload, such as FOO.spv, takes its property sets from FOO.prop and its entries from FOO.sym
beside it, where there are such files; SPIR-V without takes the kernels it has.

--replace removes images of which the added ones of the same target (and compile target) list all
entries, one or several together: a library that was split, or linked and split, gets the result
in place of its own images. No kernel is lost by it.

Into a wheel or a folder each image comes in every linked file that has one of its kernels or
exported functions; a wheel is packed again.

Examples:
  sycl-bundle embed libfoo.so kernels.table -o out/libfoo.so
  sycl-bundle embed libfoo.so gemm.spv --replace -o out/libfoo.so
  sycl-bundle embed libfoo.so relinked.table --replace -o out/libfoo.so
  sycl-bundle embed foo.pyd native.syclbin -t spir64_x86_64 --drop-signature -o out/foo.pyd

Exit status:
  0  done
  1  no image matches what is selected, or no file of a package has the kernels of one
  2  the file is none that has a list of images, or is signed
  3  a file cannot be read or rewritten, or images are damaged: nothing is written
  6  there is no device code";

/// Add images to the list of a linked file
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A linked executable or library, ELF or PE; a wheel or a folder of these
    #[arg(required_unless_present = "schema")]
    host: Option<PathBuf>,
    /// Files with images: bare payloads, tables, other executables and libraries, SYCLBIN, OffloadBinary, bundles
    #[arg(required_unless_present = "schema")]
    images: Vec<PathBuf>,
    /// Remove images of the same target all of whose entries the added ones list
    #[arg(long)]
    replace: bool,
    /// Say that all images are for this target, whatever they were for: a name that the runtime compares
    /// (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)
    #[arg(long, value_name = "TARGET")]
    as_target: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
    // Last, for the heading it opens. It is about the images to add.
    #[command(flatten)]
    selection: TargetSelection,
}

/// An open input, with the files beside it that belong to it.
struct Opened {
    input: Input,
    /// A table of one row, for a payload with files beside it.
    table: Option<Vec<u8>>,
    parts: Option<Parts>,
}

impl Opened {
    fn open(path: &Path) -> Result<Opened> {
        let input = Input::open(path)?;
        let kind = Kind::identify(input.bytes());
        if let Some(kind) = kind.as_ref().ok().filter(|kind| package::is_package(**kind)) {
            let message = format!("this is {}, and `embed` takes files as they are", kind.description());
            return Err(Error::input(message).with_remedy("`extract` writes its images to a folder with a table"));
        }
        if let Ok(Kind::Table) = kind {
            let parts = Parts::open(path, input.bytes())?;
            return Ok(Opened { input, table: None, parts: Some(parts) });
        }
        let path = &*beside_which(path);
        let beside = |extension: &str| path.with_extension(extension);
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (properties, symbols) = (beside("prop"), beside("sym"));
        let (with, entries) = (is_there(&properties), is_there(&symbols));
        // A native payload may be an ELF file as a host is; files beside it, and what devices it is for, tell.
        let bare = match kind {
            Ok(Kind::SpirV | Kind::LlvmBitcode) => with || entries,
            Ok(Kind::Elf | Kind::ElfObject) => with || entries || CpuArch::of_binary(input.bytes()).is_some(),
            Err(_) => Format::sniff(input.bytes()) != Format::Unknown || with || entries,
            Ok(_) => false,
        };
        if !bare {
            return Ok(Opened { input, table: None, parts: None });
        }
        let cell = |there: bool, path: &Path| if there { name(path) } else { String::new() };
        let row = format!("{}|{}|{}", name(path), cell(with, &properties), cell(entries, &symbols));
        let text = format!("[Code|Properties|Symbols]\n{row}\n").into_bytes();
        let parts = Beside::default().open(path)?.map_or_else(|| Parts::open(path, &text), Ok)?;
        Ok(Opened { input, table: Some(text), parts: Some(parts) })
    }

    fn bytes(&self) -> &[u8] {
        self.table.as_deref().unwrap_or(self.input.bytes())
    }

    /// Returns the bytes of the input, with those of the files that belong to it.
    fn size(&self) -> usize {
        let parts = self.parts.as_ref().map_or(0, Parts::bytes);
        usize::try_from(parts).unwrap_or(usize::MAX).saturating_add(self.input.bytes().len())
    }
}

/// Image to add.
struct Added<'i> {
    image: OutImage<'i>,
    /// As it was read, and as it is prepared.
    from: (&'i Examined<'i, 'i>, &'i Image<'i>),
    /// Number of the input that it is of.
    input: usize,
}

/// Generation of the numbers of aspects in an input, where it names aspects.
#[derive(Clone, Copy)]
enum Numbering {
    /// Names none.
    Nothing,
    /// Something tells.
    Told(Epoch),
    /// Nothing tells, as of a table: it is read as of today.
    Assumed(Epoch),
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        let Some(host) = self.host.as_deref().filter(|_| !self.target.schema) else {
            return out.schema(&edited::schema());
        };
        self.target.check()?;
        let selector = self.selection.selector()?;
        let as_target = self.as_target.as_deref().map(|target| emit::known_target(global, target)).transpose()?;
        let package = Package::open(global, &[host.to_owned()], self.target.output(), true)?;
        let named = |path: &PathBuf| path.display().to_string();
        let mut inputs = Vec::new();
        for path in &self.images {
            inputs.push(Opened::open(path).context(|| named(path))?);
        }
        let (mut hosts, allowance) = (Vec::new(), Arc::<Allowance>::default());
        for (input, path) in inputs.iter().zip(&self.images) {
            allowance.grant(input.size());
            hosts.push(Host::read_within(input.bytes(), &allowance).context(|| named(path))?);
        }
        let (mut bundles, mut numberings) = (Vec::new(), Vec::new());
        for ((input, host), path) in inputs.iter().zip(&hosts).zip(&self.images) {
            let bundle = match &input.parts {
                Some(parts) => parts.bundle(host),
                None => Bundle::read(host),
            };
            let bundle = bundle.context(|| named(path))?;
            numberings.push(numbering(host, &bundle));
            bundles.push(bundle);
        }
        let mut damaged = false;
        // Tables and modules say nothing of targets.
        let mut untold = HashSet::new();
        let mut origins = Vec::new();
        for (input, (bundle, path)) in bundles.iter().zip(&self.images).enumerate() {
            for problem in &bundle.problems {
                damaged = true;
                global.error(&problem.error.clone().context(named(path)));
            }
            // As `Bundle::union` numbers them.
            let first = origins.len();
            let count = bundle.images.last().map_or(0, |image| image.index.saturating_add(1));
            origins.resize(first.saturating_add(count), input);
            if matches!(bundle.kind, Kind::Table | Kind::SpirV | Kind::LlvmBitcode) {
                untold.extend(first..origins.len());
            }
        }
        let origin = |image: usize| origins.get(image).copied().unwrap_or_default();
        let bundle = Bundle::union(bundles);
        let images = selector.keep(examine(&bundle))?;
        for image in &images {
            for problem in image.problems() {
                damaged = true;
                let error = problem.error.context(format!("image {}", image.image.index));
                global.error(&error.context(self.images.get(origin(image.image.index)).map(named).unwrap_or_default()));
            }
        }
        // A list that the runtime reads at every start is no place for them.
        if damaged {
            global.note("nothing is written");
            return Ok(Exit::Input);
        }
        let arena = Arena::with_limit(u64::MAX);
        let of_target = |image: &Examined<'_, '_>| {
            let settled = settle(&arena, image, as_target.as_deref(), untold.contains(&image.image.index));
            settled.context(|| format!("image {}", image.image.index))
        };
        let settled = images.iter().map(of_target).collect::<Result<Vec<Image<'_>>>>()?;
        let added = images.iter().zip(&settled).map(|(image, new)| Added {
            image: out_image(image, new),
            from: (image, new),
            input: origin(image.image.index),
        });
        let added: Vec<Added<'_>> = added.collect();
        for (image, new) in images.iter().zip(&added) {
            if new.image.entries.is_empty() && image.image.properties.set(set::DEVICELIB).is_empty() {
                global.note(&format!("image {} lists no kernel, so the runtime will ignore it", image.image.index));
            }
        }
        let Some(package) = package else {
            let (edited, exit) = self.embed(global, &self.target.file(host), &added, (&numberings, false))?;
            self.target.tell(&edited, out)?;
            return Ok(exit);
        };
        check_homes(&package, &added)?;
        let (edited, exit) = package.edit(global, &mut |file| self.embed(global, file, &added, (&numberings, true)))?;
        self.target.tell(&edited, out)?;
        Ok(exit)
    }

    /// Embeds images into a file: of a package, those that have one of its kernels.
    fn embed(
        &self,
        global: &Global,
        file: &LinkedFile,
        added: &[Added<'_>],
        (numberings, packaged): (&[Numbering], bool),
    ) -> Result<(Edited, Exit)> {
        let target = self.target.copy_of(file);
        let linked = Linked::open(&file.input, file.name.clone(), &target)?;
        let host = Host::read(linked.bytes()).context(|| linked.name())?;
        let own = Bundle::read(&host).context(|| linked.name())?;
        let entries = entries(&own);
        let homes = at_home(&entries, added).into_iter().map(|home| home || !packaged);
        let added: Vec<&Added<'_>> =
            added.iter().zip(homes).filter(|(_, home)| *home).map(|(image, _)| image).collect();
        if added.is_empty() {
            let error = Error::new(ErrorKind::NoMatch, "no image has one of its kernels");
            return Err(error.context(linked.name()));
        }
        let arena = Arena::with_limit(u64::MAX);
        let mut own_numbers = Vec::with_capacity(added.len());
        for image in &added {
            let path = || self.images.get(image.input).map(|path| path.display().to_string()).unwrap_or_default();
            let mut new = image.from.1.clone();
            let changed = match numberings.get(image.input) {
                Some(Numbering::Told(theirs)) => check_epoch(own.epoch, *theirs).context(path).map(|()| false)?,
                Some(Numbering::Assumed(theirs)) => renumber(&arena, &mut new, *theirs, own.epoch).context(path)?,
                _ => false,
            };
            own_numbers.push(changed.then_some(new));
        }
        let renumbered = own_numbers.iter().flatten().count();
        if renumbered > 0 {
            let (images, years) = (counted(renumbered, "image"), own.epoch.years());
            let name = linked.name();
            global.note(&format!(
                "{name} is read by the numbers of aspects {years}, which {images} got for those of 2026"
            ));
        }
        let new: Vec<OutImage<'_>> = added
            .iter()
            .zip(&own_numbers)
            .map(|(image, own)| own.as_ref().map_or_else(|| image.image.clone(), |own| out_image(image.from.0, own)))
            .collect();
        let same = layers::replaced(&own, &new);
        if !self.replace && !same.is_empty() {
            // Of virtual functions two definitions are one too many.
            let what = if new.iter().any(takes_part) { "links all of a set" } else { "may take either" };
            global.note(&format!(
                "{} has {} of the same target with no other entries, and the runtime {what}; --replace removes the old ones",
                linked.name(),
                counted(same.len(), "image")
            ));
        }
        let gone = if self.replace { same } else { HashSet::new() };
        // The file is read again, and may take as much memory as it has bytes.
        drop(own);
        drop(host);
        linked.edit(global, &target, &gone, &new, true)
    }
}

/// The kernels and exported functions that images list.
fn entries<'b>(bundle: &'b Bundle<'_>) -> HashSet<&'b str> {
    bundle.images.iter().flat_map(|image| image.entries.iter().copied()).collect()
}

/// Whether each image belongs to a file that lists these entries: it has one of them, or has none, as images of the device
/// library, and stands in one input with an image that has.
fn at_home(entries: &HashSet<&str>, added: &[Added<'_>]) -> Vec<bool> {
    let has = |one: &Added<'_>| one.image.entries.iter().any(|entry| entries.contains(entry));
    let inputs: HashSet<usize> = added.iter().filter(|one| has(one)).map(|one| one.input).collect();
    added.iter().map(|one| has(one) || one.image.entries.is_empty() && inputs.contains(&one.input)).collect()
}

/// Checks that each image has a file to go into, before one is written.
fn check_homes(package: &Package, added: &[Added<'_>]) -> Result<()> {
    let mut housed = vec![false; added.len()];
    for file in &package.files {
        let input = Input::open(&file.input).context(|| file.name.clone())?;
        let host = Host::read(input.bytes()).context(|| file.name.clone())?;
        let own = Bundle::read(&host).context(|| file.name.clone())?;
        let entries = entries(&own);
        let homes = at_home(&entries, added);
        housed.iter_mut().zip(homes).for_each(|(housed, home)| *housed |= home);
    }
    let homeless: Vec<&OutImage<'_>> =
        added.iter().zip(housed).filter(|(_, housed)| !housed).map(|(added, _)| &added.image).collect();
    let Some(first) = homeless.first() else { return Ok(()) };
    if homeless.iter().all(|image| image.entries.is_empty()) {
        let count = counted(homeless.len(), "image");
        let message = format!("nothing tells which file {count} without a kernel goes into");
        let remedy = "name a table that has it beside images with kernels, or embed it into a library by its own name";
        return Err(Error::new(ErrorKind::NoMatch, message).with_remedy(remedy));
    }
    let name = first.entries.first().map(|entry| format!(", such as `{entry}`")).unwrap_or_default();
    let message = format!("no file in it has the kernels of {}{name}", counted(homeless.len(), "image"));
    let remedy = "select images with --image or --kernel, or embed them into a library by its own name";
    Err(Error::new(ErrorKind::NoMatch, message).with_remedy(remedy))
}

/// The image with its target, which the user says, it tells itself, or its code does.
fn settle<'k>(
    arena: &'k Arena,
    examined: &Examined<'_, '_>,
    as_target: Option<&'k str>,
    untold: bool,
) -> Result<Image<'k>> {
    let mut image = rewrite::prepare::copy_with_symbols(arena, examined, untold)?;
    if let Some(target) = as_target {
        rewrite::prepare::retarget(arena, &mut image, target)?;
    }
    if image.target.is_empty() {
        image.target = match examined.format {
            _ if examined.march.is_some() => "spir64_x86_64",
            Format::SpirV => "spir64",
            Format::Zebin | Format::PatchTokens => "spir64_gen",
            _ => {
                let error = Error::new(ErrorKind::Usage, "nothing tells for which target this is");
                return Err(error.with_remedy("name it with --as-target, e.g. `spir64_gen`"));
            }
        };
    }
    Ok(image)
}

/// The image as it is to be written.
fn out_image<'i>(examined: &'i Examined<'_, '_>, image: &'i Image<'i>) -> OutImage<'i> {
    let native = examined.march.is_some() || matches!(examined.format, Format::Zebin | Format::PatchTokens);
    let declared = match image.declared.number() {
        0 if native => 1,
        number => number,
    };
    let mut new = with_payload(image, image.target, declared, Cow::Borrowed(image.stored));
    if image.origin.is_none() && examined.image.entries.is_empty() {
        new.entries = examined.kernels.iter().chain(&examined.exports).map(String::as_str).collect();
    }
    new
}

/// The generation by which an input numbers aspects.
fn numbering(host: &Host<'_>, bundle: &Bundle<'_>) -> Numbering {
    let said = host.producer.is_some() || host.sycl_abi.is_some() || bundle.images.iter().any(|i| i.origin.is_some());
    let uses = |image: &Image<'_>| image.properties.aspect_numbers().is_some_and(|numbers| !numbers.is_empty());
    match said {
        true if bundle.images.iter().any(uses) => Numbering::Told(bundle.epoch),
        false if bundle.images.iter().any(has_renumbered) => Numbering::Assumed(bundle.epoch),
        _ => Numbering::Nothing,
    }
}

/// Numbers of aspects mean other things in files of other years, and property sets are copied as they are.
fn check_epoch(own: Epoch, theirs: Epoch) -> Result<()> {
    if own == theirs {
        return Ok(());
    }
    let (theirs, ours) = (theirs.years(), own.years());
    Err(Error::input(format!("the images name aspects by the numbers {theirs}, and the file by those {ours}"))
        .with_remedy("take images that a compiler of the same years made"))
}

/// The flags of the two verbs.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// The file to write; for a wheel, a folder or several files the folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["in_place", "schema"])]
    output: Option<PathBuf>,
    /// Write the copy in place of the file itself
    #[arg(long, conflicts_with = "output")]
    in_place: bool,
    /// Remove the signature of a Windows file, which would be wrong once the file is changed
    #[arg(long)]
    drop_signature: bool,
    /// Leave zeros where removed images were: without it their pages leave an ELF file, and images that stay may move
    #[arg(long)]
    keep_layout: bool,
    /// The form of the summary
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = forms(SUMMARY))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    pub(crate) schema: bool,
}

impl TargetArgs {
    /// The output, as the command line names it.
    pub(crate) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// A linked file by itself, with the output that the command line names.
    pub(crate) fn file(&self, input: &Path) -> LinkedFile {
        LinkedFile::alone(input, self.output().unwrap_or(input))
    }

    /// The copy of a file.
    pub(crate) fn copy_of(&self, file: &LinkedFile) -> Target {
        let output = file.output.clone();
        let TargetArgs { in_place, drop_signature, keep_layout, .. } = *self;
        Target { output, in_place, drop_signature, keep_layout }
    }

    /// Refuses a document and a file that both want standard output.
    ///
    /// # Errors
    /// `Usage` where they do.
    pub(crate) fn check(&self) -> Result<()> {
        if self.format == Form::Json && self.output.as_deref() == Some(Path::new("-")) {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        Ok(())
    }

    /// Shows what was done.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub(crate) fn tell(&self, result: &Edited, out: &mut Output) -> Result<()> {
        out.put(self.format, result)
    }
}
