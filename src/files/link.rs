//! `link`: how do images that need each other become one that needs nothing?

use super::compile::{DeviceCompiler, tell_refused};
use super::emit::{self, OutputForm};
use super::gather::{Gathered, gather_code};
use super::linked::{self, Linked};
use super::package::{LinkedFile, Package};
use crate::build::plan::options_for;
use crate::build::target::{Backend, Target};
use crate::build::wanted::{self, Wanted, describe};
use crate::build::{Job, Step, Unit};
use crate::bundle::Bundle;
use crate::bundle::aspect::Epoch;
use crate::bundle::format::{Declared, Format};
use crate::bundle::image::{Image, State};
use crate::bundle::requirements::Requirements;
use crate::compat::examine::examine;
use crate::compat::fit::spec;
use crate::container::{Arena, Host};
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::limits;
use crate::native::opencl_elf::{plain_object, spirv_of_object};
use crate::policy::rules::Recipe;
use crate::report::edited::Edited;
use crate::report::text::{bytes, counted};
use crate::rewrite::embed::FORMAT_NATIVE;
use crate::rewrite::image_data::out_image;
use crate::rewrite::link::{Input, Needs, Outcome, Providers, agree, executable, link, list_symbols};
use crate::rewrite::prepare;
use crate::select::Selector;
use crate::spirv::link::Options;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Images that are to be linked.
pub(crate) struct Linking<'l> {
    /// The inputs.
    pub(crate) files: &'l [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'l Selector,
    /// The form of the output.
    pub(crate) form: &'l OutputForm,
    /// The file to write.
    pub(crate) output: &'l Path,
    /// Whether each image that imports something becomes one with those that define it, in place of all one.
    pub(crate) each: bool,
    /// Whether the signature of a Windows file may go.
    pub(crate) drop_signature: bool,
    /// Whether imports stay open that nothing defines.
    pub(crate) partial: bool,
    /// Whether the result exports nothing.
    pub(crate) internalize: bool,
    /// Options of the device's linker, after those of the objects.
    pub(crate) link_options: &'l str,
    /// Whether the compilers get every option that an object states.
    pub(crate) trust_options: bool,
    /// The compiler of devices.
    pub(crate) compiler: &'l dyn DeviceCompiler,
}

/// Linked files of which copies are written, with their images.
struct Copies<'k> {
    linked: Vec<(Linked, linked::Target)>,
    /// Images of all files, each with its number in its own file.
    images: Vec<Image<'k>>,
    labels: Vec<String>,
    /// Number of the file of each image.
    of_file: Vec<usize>,
    /// Whether each image is selected; the others are there for what they define.
    selected: Vec<bool>,
    /// Numbering of aspects in each file.
    epochs: Vec<Epoch>,
}

impl<'k> Copies<'k> {
    /// Opens the files and copies their images.
    fn read(
        arena: &'k Arena,
        files: &[LinkedFile],
        (selector, drop_signature): (&Selector, bool),
    ) -> Result<Copies<'k>> {
        let mut copies = Copies {
            linked: Vec::new(),
            images: Vec::new(),
            labels: Vec::new(),
            of_file: Vec::new(),
            selected: Vec::new(),
            epochs: Vec::new(),
        };
        for (number, file) in files.iter().enumerate() {
            let output = file.output.clone();
            let target = linked::Target { output, in_place: false, drop_signature, keep_layout: false };
            let linked = Linked::open(&file.input, file.name.clone(), &target)?;
            {
                let named = || file.name.clone();
                let host = Host::read(linked.bytes()).context(named)?;
                let bundle = Bundle::read(&host).context(named)?;
                copies.epochs.push(bundle.epoch);
                let all = examine(&bundle);
                for examined in all.iter().filter(|examined| bundle.is_listed(examined.image)) {
                    let label = format!("{} image {}", file.name, examined.image.index);
                    let mut image = prepare::copy(arena, examined, false).context(|| label.clone())?;
                    list_symbols(arena, &mut image).context(|| label.clone())?;
                    copies.images.push(image);
                    copies.labels.push(label);
                    copies.of_file.push(number);
                    copies.selected.push(selector.is_all() || selector.selects(examined));
                }
            }
            copies.linked.push((linked, target));
        }
        Ok(copies)
    }

    /// Distance of an exporter from an importer, the farthest being images that are not selected; none where their files
    /// number aspects differently.
    fn distance(&self, files: &[LinkedFile], at: usize, from: usize) -> Option<(bool, usize)> {
        let unselected = !*self.selected.get(from)?;
        let (at, from) = (*self.of_file.get(at)?, *self.of_file.get(from)?);
        let input = |number: usize| files.get(number).map(|file| file.of_input);
        let far = match (at == from, input(at) == input(from)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        (self.epochs.get(at) == self.epochs.get(from)).then_some((unselected, far))
    }

    /// Refuses several definitions of a symbol that differ.
    fn check_rivals(&self, needs: &Needs) -> Result<()> {
        for (symbol, rivals) in &needs.rivals {
            let image = |at: &usize| self.images.get(*at);
            let first = rivals.first().and_then(image);
            let other = rivals.iter().find(|at| image(at).map(|image| image.stored) != first.map(|image| image.stored));
            let label = |at: Option<&usize>| at.and_then(|at| self.labels.get(*at)).map_or("", String::as_str);
            if other.is_some() {
                let (one, two) = (label(rivals.first()), label(other));
                let message = format!("`{symbol}` is defined differently by {one} and by {two}");
                let remedy = "name the files apart, or link those that belong together";
                return Err(Error::new(ErrorKind::Build, message).with_remedy(remedy));
            }
        }
        Ok(())
    }
}

/// Objects that become one executable.
struct Group<'g, 'k> {
    /// Place of the target.
    target: usize,
    /// Number of the executable.
    number: usize,
    objects: Vec<Input<'g, 'k>>,
}

impl Linking<'_> {
    /// Links the images and writes what they become: executables of the targets that are wanted, where there are any.
    ///
    /// # Errors
    /// `Usage` where the images cannot be one; what cannot be read, compiled or written.
    pub(crate) fn run(&self, reporter: &dyn Reporter, wanted: Vec<Wanted>) -> Result<Exit> {
        let arena = Arena::with_limit(u64::MAX);
        // Selected images become something; what they import another may define.
        let unselected = self.each && !self.selector.is_all();
        let mut gathered = gather_code(reporter, self.files, (self.selector, unselected), &arena)?;
        if gathered.selected == 0 && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        // Only objects are linked by a driver.
        gathered.retain_others(|image| wanted.is_empty() || image.state() == State::Object);
        if self.each {
            gathered.images.iter_mut().try_for_each(|image| list_symbols(&arena, image))?;
        } else {
            gathered.leave_out_native_conversions(reporter);
        }
        let options = Options { partial: self.partial };
        let mut exit = gathered.exit;
        let made = if !wanted.is_empty() {
            gathered.leave_out_copies(reporter)?;
            let (images, failed) = self.on_device(reporter, &arena, &gathered, wanted)?;
            exit = if failed { Exit::Build } else { exit };
            if images.is_empty() {
                return Ok(exit);
            }
            images
        } else if self.each {
            let (images, failed) = each(reporter, &arena, &gathered, &options)?;
            exit = if failed { Exit::Build } else { exit };
            images
        } else {
            match self.one(reporter, &arena, &gathered, &options) {
                Ok(image) => vec![image],
                Err(exit) => return Ok(exit),
            }
        };
        let images = counted(made.len(), "image");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(reporter, self.form, made, &gathered.origin, self.output, &paths)?;
        let from = counted(gathered.selected, "image");
        reporter.note(&format!(
            "{images} of {from}, {}, written to {} ({})",
            bytes(total),
            self.output.display(),
            self.form.emit.name()
        ));
        Ok(exit)
    }

    /// Writes copies of linked files, of one or of those of packages, in which each image that imports something is
    /// replaced by what it and those that define that become. Definitions of the same file come before those of its package,
    /// and those before others.
    ///
    /// # Errors
    /// `NoMatch` where no image imports anything; what cannot be read or written.
    pub(crate) fn copies(&self, reporter: &dyn Reporter) -> Result<(Edited, Exit)> {
        let package = Package::open(reporter, self.files, Some(self.output), true)?;
        let alone: Vec<LinkedFile> = self.files.iter().map(|file| LinkedFile::alone(file, self.output)).collect();
        let files = match (&package, alone.as_slice()) {
            (Some(package), _) => package.files.as_slice(),
            (None, one @ [_]) => one,
            (None, _) => {
                let error = Error::new(ErrorKind::Usage, "several files have several outputs");
                return Err(error.with_remedy("name a folder with `-o out/`"));
            }
        };
        let arena = Arena::with_limit(u64::MAX);
        let copies = Copies::read(&arena, files, (self.selector, self.drop_signature))?;
        let providers = Providers::from_property_sets(&copies.images);
        let options = Options { partial: self.partial };
        let (mut failed, mut room) = (false, Room::new(&copies.images));
        let mut change = |file: &LinkedFile| {
            let Some(number) = files.iter().position(|other| other.output == file.output) else {
                return Err(Error::input("the file was not read").context(file.name.clone()));
            };
            let (mut drop, mut made) = (HashSet::new(), Vec::new());
            let is_own = |place: &usize| {
                copies.of_file.get(*place) == Some(&number) && copies.selected.get(*place) == Some(&true)
            };
            for place in (0..copies.images.len()).filter(is_own) {
                let distance = |at: usize, from: usize| copies.distance(files, at, from);
                let needs = providers.needs_of(place, &distance);
                room.need(&needs)?;
                let rivals = copies.check_rivals(&needs);
                let linked = complete(&arena, (&copies.images, &copies.labels), &needs, place, &options);
                match linked.map(|linked| rivals.map_err(|error| vec![error]).and(linked)) {
                    None => {}
                    Some(Ok(image)) => {
                        room.take(&image)?;
                        drop.insert(image.index);
                        made.push(image);
                    }
                    Some(Err(errors)) => {
                        tell_errors(reporter, &errors);
                        failed = true;
                    }
                }
            }
            let (linked, target) = copies.linked.get(number).ok_or_else(|| Error::input("the file was not read"))?;
            if made.is_empty() {
                let error = Error::new(ErrorKind::NoMatch, "no image imports what another defines");
                return Err(error.context(file.name.clone()));
            }
            let add: Vec<_> = made.iter().map(out_image).collect();
            linked.edit(reporter, target, &drop, &add, false)
        };
        let edited = match (&package, files) {
            (Some(package), _) => package.edit(reporter, &mut change),
            (None, [file, ..]) => change(file),
            (None, []) => Err(Error::new(ErrorKind::Usage, "there is no file")),
        };
        let (edited, exit) = match edited {
            // Errors have been told, and are the reason why there is nothing to write.
            Err(error) if failed && error.kind() == ErrorKind::NoMatch => (Edited::default(), Exit::Build),
            other => other?,
        };
        Ok((edited, if failed { Exit::Build } else { exit }))
    }

    /// All images as one; the exit code where they cannot be, which has been told why.
    fn one<'k>(
        &self,
        reporter: &dyn Reporter,
        arena: &'k Arena,
        gathered: &Gathered<'k>,
        options: &Options,
    ) -> Result<Image<'k>, Exit> {
        let inputs: Vec<Input<'_, '_>> = gathered
            .images
            .iter()
            .zip(&gathered.labels)
            .map(|(image, label)| Input { image, label, internal: self.internalize })
            .collect();
        match link(arena, &inputs, options) {
            Ok(outcome) => {
                tell(reporter, gathered, &outcome);
                Ok(outcome.image)
            }
            Err(errors) => Err(tell_errors(reporter, &errors)),
        }
    }

    /// Objects linked for devices: all of a target to one executable, or each with kernels to its own. Whether some could
    /// not be.
    fn on_device<'k>(
        &self,
        reporter: &dyn Reporter,
        arena: &'k Arena,
        gathered: &Gathered<'k>,
        wanted: Vec<Wanted>,
    ) -> Result<(Vec<Image<'k>>, bool)> {
        let (groups, mut failed) = self.groups(reporter, gathered, &wanted)?;
        let wanted = wanted::known(reporter, wanted, &|target| self.compiler.engine(target), false)?;
        let targets: Vec<Target> = wanted.into_iter().map(|wanted| wanted.target).collect();
        let (mut jobs, mut linked, mut refused) = (Vec::new(), HashMap::new(), BTreeMap::new());
        let mut kept = HashMap::new();
        for group in &groups {
            let Some(target) = targets.get(group.target) else { continue };
            let one = match target.backend {
                Backend::Ocloc { ref device } => {
                    spirv_of(arena, group).map(|image| (Step::Offline(device.clone()), image))
                }
                _ => Ok(driver_step(arena, group, &mut kept)?),
            };
            let (step, image) = match one {
                Ok(one) => one,
                Err(errors) => {
                    tell_errors(reporter, &errors);
                    failed = true;
                    continue;
                }
            };
            let (compile, link) = options_for(target, &image, &self.recipe(&image));
            for option in compile.refused.into_iter().chain(link.refused) {
                let count: &mut usize = refused.entry(option).or_default();
                *count = count.saturating_add(1);
            }
            let is_gpu = matches!(step, Step::Offline(_));
            jobs.push(Job {
                image: group.number,
                target: group.target,
                il: image.contents()?.into_owned().into(),
                compile_options: if is_gpu { compile.kept } else { String::new() },
                link_options: link.kept,
                kernels: if is_gpu { image.kernels().into_iter().map(str::to_owned).collect() } else { Vec::new() },
                step,
            });
            linked.insert(group.number, image);
        }
        tell_refused(reporter, &refused);
        let name = |(number, target): Unit| {
            let group = groups.iter().find(|group| group.number == number);
            let label = group.and_then(|group| group.objects.first()).map_or("", |input| input.label);
            match targets.get(target).filter(|_| targets.len() > 1) {
                Some(target) => format!("{label} for {}", describe(target)),
                None => label.to_owned(),
            }
        };
        let (binaries, failures) = self.compiler.run(&targets, jobs, &name)?;
        failed |= failures;
        let mut binaries: HashMap<usize, Vec<u8>> =
            binaries.into_iter().map(|binary| (binary.image, binary.bytes)).collect();
        let mut made = Vec::new();
        for group in &groups {
            let Some(binary) = binaries.remove(&group.number) else { continue };
            let image = match linked.remove(&group.number).filter(|image| image.format() == Format::SpirV) {
                Some(image) => {
                    let declared = Declared::from(FORMAT_NATIVE);
                    Ok(Image { declared, stored: arena.keep(binary)?, ..image })
                }
                None => executable(arena, &group.objects, binary),
            };
            match image {
                Ok(image) => made.push(Image { index: group.number, ..image }),
                Err(errors) => {
                    tell_errors(reporter, &errors);
                    failed = true;
                }
            }
        }
        Ok((made, failed))
    }

    /// Sorts objects by what they are linked to, and for which target. Whether an image needs what no object defines.
    fn groups<'g, 'k>(
        &self,
        reporter: &dyn Reporter,
        gathered: &'g Gathered<'k>,
        wanted: &[Wanted],
    ) -> Result<(Vec<Group<'g, 'k>>, bool)> {
        let labelled = gathered.images.iter().zip(&gathered.labels);
        let all: Vec<Input<'g, 'k>> = labelled.map(|(image, label)| Input { image, label, internal: true }).collect();
        let selected = || all.iter().take(gathered.selected);
        for input in selected().filter(|input| input.image.state() != State::Object) {
            if let Err(errors) = agree(std::slice::from_ref(input), State::Object) {
                return Err(errors.into_iter().next().unwrap_or_else(|| Error::input("nothing to link")));
            }
        }
        let is_for = |image: &Image<'_>, target: &Target| target.is_of(spec(image), image.compile_target());
        for input in selected().filter(|input| !wanted.iter().any(|one| is_for(input.image, &one.target))) {
            let target = input.image.compile_target().unwrap_or(spec(input.image));
            reporter.note(&format!("{} is for {target}, and left out", input.label));
        }
        let providers = Providers::from_property_sets(&gathered.images);
        let (mut groups, mut failed) = (Vec::new(), false);
        for (target, wanted) in wanted.iter().enumerate() {
            let mut own = (0..gathered.selected)
                .filter(|at| gathered.images.get(*at).is_some_and(|image| is_for(image, &wanted.target)));
            let members = |places: &mut dyn Iterator<Item = usize>| -> Vec<Input<'g, 'k>> {
                places.filter_map(|place| all.get(place).copied()).collect()
            };
            let Some(first) = own.next() else {
                let message = format!("no object is for {} (SYCL: errc::invalid)", describe(&wanted.target));
                let remedy = format!("`compile -t {}` makes objects for it", wanted.target.name);
                return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
            };
            let mut own = std::iter::once(first).chain(own);
            if !self.each {
                groups.push(Group { target, number: groups.len(), objects: members(&mut own) });
                continue;
            }
            for at in own {
                let Some(input) = all.get(at).filter(|input| !input.image.kernels().is_empty()) else { continue };
                let needs = needs_of(&providers, gathered, at);
                for missing in &needs.missing {
                    let error = Error::new(ErrorKind::Build, format!("nothing defines `{missing}`"));
                    reporter.error(&error.context(input.label));
                    failed = true;
                }
                if needs.missing.is_empty() {
                    let objects = members(&mut std::iter::once(at).chain(needs.images));
                    groups.push(Group { target, number: groups.len(), objects });
                }
            }
        }
        Ok((groups, failed))
    }

    /// Options for linking an image, by what it states and the command line says.
    fn recipe(&self, image: &Image<'_>) -> Recipe {
        let own =
            |trusted: bool, text: &str| if trusted == self.trust_options { text.to_owned() } else { String::new() };
        let said = self.link_options;
        Recipe {
            options: own(false, image.compile_options),
            trusted_options: own(true, image.compile_options),
            link_options: own(false, image.link_options),
            trusted_link_options: format!("{} {said}", own(true, image.link_options)).trim().to_owned(),
            native: true,
            ..Recipe::default()
        }
    }
}

/// The step by which a driver links objects, written anew: the first, with the others. Those of several groups are kept once.
fn driver_step<'k>(
    arena: &'k Arena,
    group: &Group<'_, 'k>,
    kept: &mut HashMap<*const Image<'k>, &'k [u8]>,
) -> Result<(Step<'k>, Image<'k>)> {
    let wrong = || Error::input("nothing to link");
    if let Err(errors) = agree(&group.objects, State::Object) {
        return Err(errors.into_iter().next().unwrap_or_else(wrong));
    }
    let mut plain = |Input { image, label, .. }: &Input<'_, 'k>| {
        let place = std::ptr::from_ref(*image);
        if let Some(object) = kept.get(&place) {
            return Ok(*object);
        }
        let object = plain_object(&image.contents()?).map_err(|why| {
            let message = format!("the object is not given to the driver: {why}");
            let remedy = "make it anew of its SPIR-V, by `compile`";
            Error::input(message).with_remedy(remedy).context((*label).to_owned())
        })?;
        let object = arena.keep(object)?;
        kept.insert(place, object);
        Ok(object)
    };
    let (first, others) = group.objects.split_first().ok_or_else(wrong)?;
    let image = Image { stored: plain(first)?, declared: Declared::None, ..first.image.clone() };
    let others = others.iter().map(|input| plain(input).map(Cow::Borrowed)).collect::<Result<Vec<_>>>()?;
    Ok((Step::Link(others), image))
}

/// Links the SPIR-V of objects for a GPU.
fn spirv_of<'k>(arena: &'k Arena, group: &Group<'_, 'k>) -> Result<Image<'k>, Vec<Error>> {
    let mut modules = Vec::with_capacity(group.objects.len());
    for Input { image, label, .. } in &group.objects {
        let one = |error: Error| vec![error.context((*label).to_owned())];
        let contents = image.contents().map_err(one)?;
        let Some(module) = spirv_of_object(&contents) else {
            let error = Error::new(ErrorKind::Usage, "this object holds no SPIR-V, and only its driver links it");
            return Err(one(error.with_remedy("`compile` makes objects that can be linked here")));
        };
        let stored = arena.keep(module.to_vec()).map_err(one)?;
        modules.push(Image { stored, declared: Declared::None, stated: None, ..(*image).clone() });
    }
    let inputs: Vec<Input<'_, '_>> =
        modules.iter().zip(&group.objects).map(|(image, input)| Input { image, ..*input }).collect();
    Ok(link(arena, &inputs, &Options { partial: false })?.image)
}

/// Errors of one kind that are shown; thousands of one cause tell no more.
const SHOWN: usize = 100;

/// Prints errors; gives the exit code of the first.
fn tell_errors(reporter: &dyn Reporter, errors: &[Error]) -> Exit {
    let mut exit = None;
    for error in errors.iter().take(SHOWN) {
        let this = reporter.error(error);
        exit.get_or_insert(this);
    }
    if errors.len() > SHOWN {
        reporter.note(&format!("{} more errors", errors.len().saturating_sub(SHOWN)));
    }
    exit.unwrap_or(Exit::Build)
}

/// Says what was left out and what is open.
fn tell(reporter: &dyn Reporter, gathered: &Gathered<'_>, outcome: &Outcome<'_>) {
    for folded in &outcome.linked.folded {
        let label = |at: usize| gathered.labels.get(at).map_or("", String::as_str);
        let (kept, dropped) = (label(folded.kept), label(folded.dropped));
        reporter.detail(&format!("`{}` of {dropped} left out: that of {kept} is kept", folded.symbol));
    }
    for symbol in &outcome.linked.imports {
        reporter.detail(&format!("`{symbol}` stays open"));
    }
    reporter.detail(&format!(
        "{} resolved, {} open",
        counted(outcome.linked.resolved, "import"),
        outcome.linked.imports.len()
    ));
    let required = |image: &Image<'_>| Requirements::read(image, gathered.epoch).aspects.into_iter().collect();
    let all: BTreeSet<String> = required(&outcome.image);
    let of_kernels = gathered.images.iter().filter(|image| !image.kernels().is_empty());
    let bound = of_kernels.filter(|image| required(image).len() < all.len()).count();
    if bound > 0 {
        let names = all.into_iter().collect::<Vec<_>>().join(", ");
        let bound = counted(bound, "image");
        reporter.note(&format!("kernels of {bound} run on fewer devices now: one image needs all of {names}"));
    }
}

/// Every selected image with imports linked with what defines them; the others as they are. Whether some could not be.
fn each<'k>(
    reporter: &dyn Reporter,
    arena: &'k Arena,
    gathered: &Gathered<'k>,
    options: &Options,
) -> Result<(Vec<Image<'k>>, bool)> {
    let providers = Providers::from_property_sets(&gathered.images);
    let mut room = Room::new(&gathered.images);
    let mut made = Vec::with_capacity(gathered.images.len());
    let mut failed = false;
    for (at, image) in gathered.images.iter().take(gathered.selected).enumerate() {
        let needs = needs_of(&providers, gathered, at);
        room.need(&needs)?;
        match complete(arena, (&gathered.images, &gathered.labels), &needs, at, options) {
            Some(Ok(linked)) => {
                room.take(&linked)?;
                made.push(linked);
            }
            None => made.push(image.clone()),
            Some(Err(errors)) => {
                tell_errors(reporter, &errors);
                failed = true;
                made.push(image.clone());
            }
        }
    }
    Ok((made, failed))
}

/// Bytes that images which are linked may have yet, and images that may be taken into them, all together.
struct Room {
    bytes: u64,
    inputs: usize,
}

impl Room {
    /// The bytes for images that are made of these.
    fn new(images: &[Image<'_>]) -> Room {
        let size = |image: &Image<'_>| match image.compression() {
            None => image.stored.len() as u64,
            Some(_) => image.contents().map_or(0, |contents| contents.len() as u64),
        };
        let all = images.iter().map(size).fold(0, u64::saturating_add);
        let bytes = all.saturating_mul(limits::MAX_LINKED_RATIO).saturating_add(limits::MAX_LINKED_FLOOR);
        Room { bytes, inputs: limits::MAX_LINKED_INPUTS }
    }

    /// Takes the images that another needs.
    ///
    /// # Errors
    /// `Build` where all need too many.
    fn need(&mut self, needs: &Needs) -> Result<()> {
        let left = self.inputs.checked_sub(needs.images.len());
        self.inputs = left.ok_or_else(|| {
            let limit = limits::MAX_LINKED_INPUTS;
            too_large(format!("the images need more than {limit} others together, where each gets its own"))
        })?;
        Ok(())
    }

    /// Takes the bytes of an image that was linked.
    ///
    /// # Errors
    /// `Build` where all come to too many.
    fn take(&mut self, image: &Image<'_>) -> Result<()> {
        let left = self.bytes.checked_sub(image.stored.len() as u64);
        self.bytes = left.ok_or_else(|| {
            let ratio = limits::MAX_LINKED_RATIO;
            too_large(format!("the images come to more than {ratio} times their size, where each gets what it needs"))
        })?;
        Ok(())
    }
}

fn too_large(what: String) -> Error {
    Error::new(ErrorKind::Build, what).with_remedy("link all to one (without --each), or select some of the images")
}

/// The needs of an image. Images that are not selected define what no selected one does.
fn needs_of(providers: &Providers<'_>, gathered: &Gathered<'_>, at: usize) -> Needs {
    providers.needs_of(at, &|_, from| Some((from >= gathered.selected, 0)))
}

/// One of the images, linked with those that define what it imports. None where it imports nothing, and where it has no
/// kernel: such an image is there for those that import from it.
fn complete<'k>(
    arena: &'k Arena,
    (images, labels): (&[Image<'k>], &[String]),
    needs: &Needs,
    at: usize,
    options: &Options,
) -> Option<Result<Image<'k>, Vec<Error>>> {
    let image = images.get(at).filter(|image| !image.imports().is_empty() && !image.kernels().is_empty())?;
    let label = |at: usize| labels.get(at).map_or("", String::as_str);
    let mut inputs = vec![Input { image, label: label(at), internal: false }];
    inputs.extend(
        needs
            .images
            .iter()
            .filter_map(|need| Some(Input { image: images.get(*need)?, label: label(*need), internal: true })),
    );
    Some(link(arena, &inputs, options).map(|outcome| Image { index: image.index, ..outcome.image }))
}
