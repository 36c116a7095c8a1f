//! Which images of a bundle are compiled for a target, with which options, and which stay as they are?

use super::device_library::DeviceLibrary;
use super::options::{self, Given, Misc, Options as DeviceOptions};
use super::target::{Backend, GPU_SPEC, NVIDIA_SPEC, Target};
use super::{Job, Step};
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::bundle::spec_constants::{ConstantName, ITT};
use crate::compat::built_in::is_of_library;
use crate::compat::examine::{Examined, examine};
use crate::compat::finding::{Finding, RuleId};
use crate::compat::fit::{Subject, fit};
use crate::compat::native::{self, Stay};
use crate::device::target::Target as Facts;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::policy::rules::Recipe;
use crate::rewrite::link::Providers;
use crate::rewrite::specialize::{Outcome, Specialized, specialized};
use crate::spirv::Module;
use crate::spirv::instrumentation::strip;
use crate::spirv::link::{Options, Source, link};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Decisions about each image of a bundle.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    /// The images to compile.
    pub(crate) jobs: Vec<Job<'a>>,
    /// The images that stay as they are, by index, and why.
    pub(crate) staying: Vec<(usize, Stay)>,
    /// The images that the target cannot run, by index, and why.
    pub(crate) skipped: Vec<(usize, Finding)>,
    /// Options that the driver does not get, and how many images have them.
    pub(crate) removed_options: BTreeMap<String, usize>,
    /// Options that are not known to be harmless, and how many images have them; the driver does not get them either.
    pub(crate) refused_options: BTreeMap<String, usize>,
    /// Images that cannot be read; they stay too.
    pub(crate) problems: Vec<Problem>,
    /// The images whose native code has what they import in it, by index.
    pub(crate) linked: HashSet<usize>,
    /// The images whose specialization constants got values, by index; their modules are with the jobs.
    pub(crate) specialized: HashMap<usize, Specialized>,
    /// The constants that were given values.
    pub(crate) set: BTreeSet<ConstantName>,
}

/// For what images are planned.
#[derive(Clone, Copy)]
pub(crate) struct For<'t> {
    /// The target.
    pub(crate) target: &'t Target,
    /// Number of the target, for the jobs.
    pub(crate) number: usize,
    /// Facts of the target, where it is one of the device configuration.
    pub(crate) facts: Option<&'t Facts>,
    /// Findings against images on the target, by index; these images are skipped.
    pub(crate) against: &'t HashMap<usize, Finding>,
    /// Options and constants for each image on this target.
    pub(crate) recipe: &'t dyn Fn(&Examined<'_, '_>) -> Recipe,
    /// The file whose rules these are, as messages name it.
    pub(crate) rules: &'t str,
    /// The device library.
    pub(crate) device_library: &'t DeviceLibrary,
}

/// Code that images become.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal<'b, 'a> {
    /// Objects, with imports open and without kernels too.
    Objects,
    /// Executables; what one imports comes from the images of the bundle, where there is one.
    Executables(Option<&'b Bundle<'a>>),
}

/// Plans the compilation of images. Executables of those that import something are linked with those of a bundle that
/// define that; without one these images stay as they are.
///
/// # Errors
/// `Usage` for a value that a specialization constant cannot have.
pub(crate) fn plan<'a>(images: &[Examined<'_, 'a>], wanted: For<'_>, goal: Goal<'_, 'a>) -> Result<Plan<'a>> {
    let imports = || images.iter().any(|examined| !examined.imports.is_empty());
    match goal {
        Goal::Objects => plan_images(images, wanted, true, None),
        // Where all are selected, all have been looked at.
        Goal::Executables(Some(bundle)) if imports() && bundle.images.len() == images.len() => {
            plan_images(images, wanted, false, Some(&Library::new(images)))
        }
        Goal::Executables(Some(bundle)) if imports() => {
            let all = examine(bundle);
            plan_images(images, wanted, false, Some(&Library::new(&all)))
        }
        Goal::Executables(_) => plan_images(images, wanted, false, None),
    }
}

impl For<'_> {
    /// Whether its compiler takes one module alone: what that imports is linked into it before.
    fn takes_one(&self) -> bool {
        matches!(self.target.backend, Backend::Ocloc { .. } | Backend::Nvidia { .. })
    }

    /// Returns the reason why no compiler can make an object of an image for this target.
    fn cannot_compile(&self, examined: &Examined<'_, '_>) -> Option<Stay> {
        native::open_constants(examined).or_else(|| self.has_no(examined))
    }

    /// Like `cannot_compile`, once the specialization constants have values.
    fn has_no(&self, examined: &Examined<'_, '_>) -> Option<Stay> {
        let there = || match self.target.spec {
            GPU_SPEC => native::beside_spirv(examined),
            // No device takes this and SPIR-V.
            NVIDIA_SPEC => native::on_nvidia(examined),
            _ => native::on_cpu(examined).or_else(|| native::beside_spirv(examined)),
        };
        native::anywhere(examined).or_else(there)
    }
}

/// Returns the options for compiling and for linking an image as the compiler of a target takes them.
pub(crate) fn options_for(target: &Target, image: &Image<'_>, recipe: &Recipe) -> (DeviceOptions, DeviceOptions) {
    let compile = Given { own: &recipe.options, trusted: &recipe.trusted_options };
    let link = Given { own: &recipe.link_options, trusted: &recipe.trusted_link_options };
    let number = |name| image.properties.number(set::MISC, name);
    if target.spec == GPU_SPEC || target.spec == NVIDIA_SPEC {
        let device = match &target.backend {
            Backend::Ocloc { device } => Some(device.as_str()),
            Backend::Cpu(_) | Backend::Nvidia { .. } | Backend::Live { .. } => None,
        };
        let misc = Misc {
            level: number("optLevel"),
            grf_size: number(key::REGISTERS),
            large_grf: number("sycl-register-alloc-mode") == Some(2),
            esimd: number(key::ESIMD) == Some(1),
        };
        if target.spec == NVIDIA_SPEC {
            return (options::for_nvidia(compile, Some(&misc)), options::for_nvidia(link, None));
        }
        return (options::for_gpu(compile, device, Some(&misc)), options::for_gpu(link, device, None));
    }
    let mut compile = options::for_cpu(compile);
    // The runtime passes the level that the image was compiled with; the driver knows only "none".
    if number("optLevel") == Some(0) && !compile.kept.contains("-cl-opt-disable") {
        compile.kept = format!("{} -cl-opt-disable", compile.kept).trim_start().to_owned();
    }
    (compile, options::for_cpu(link))
}

/// A module that another imports from.
struct Needed<'l, 'a> {
    module: Cow<'a, [u8]>,
    imports: &'l [String],
}

/// A module with what it imports, which is nobody else's in the result.
fn linked(module: &[u8], imports: &[String], needed: &[Needed<'_, '_>]) -> Result<Vec<u8>> {
    let own = Source { name: "the image", bytes: module, required: Some(names(imports)), ..Source::default() };
    let others = needed.iter().map(|other| Source {
        name: "an image that it imports from",
        bytes: &other.module,
        required: Some(names(other.imports)),
        internal: true,
        ..Source::default()
    });
    let sources: Vec<Source<'_>> = std::iter::once(own).chain(others).collect();
    match link(&sources, &Options::default()) {
        Ok(linked) => Ok(linked.bytes),
        Err(errors) => {
            let message = errors.first().map(Error::message).unwrap_or_default();
            Err(Error::new(ErrorKind::Build, message))
        }
    }
}

/// Returns the symbols that an image has to define: those of the device library come later, if none does.
fn names(symbols: &[String]) -> HashSet<&str> {
    symbols.iter().map(String::as_str).filter(|symbol| !is_of_library(symbol)).collect()
}

/// The images that others may import from, for one target.
struct Library<'l, 'a> {
    all: &'l [Examined<'l, 'a>],
    places: HashMap<usize, usize>,
    providers: Providers<'l>,
    /// Findings against the images, each looked for when it is first imported from: thousands may import from one.
    against: Vec<OnceCell<Option<Finding>>>,
}

impl<'l, 'a> Library<'l, 'a> {
    fn new(all: &'l [Examined<'l, 'a>]) -> Self {
        let places = all.iter().enumerate().map(|(place, examined)| (examined.image.index, place)).collect();
        let against = all.iter().map(|_| OnceCell::new()).collect();
        Library { all, places, providers: Providers::from_images(all), against }
    }

    /// Whether an image imports something that another one defines.
    fn defines(&self, examined: &Examined<'_, '_>) -> bool {
        !examined.imports.is_empty()
            && self.places.get(&examined.image.index).is_some_and(|at| !self.providers.needs(*at).images.is_empty())
    }

    /// Returns the modules that an image has to be linked with, each with what it imports itself.
    ///
    /// # Errors
    /// The finding against one that the target cannot run; none where one is missing, or cannot be compiled.
    fn modules(&self, image: usize, wanted: For<'_>) -> Result<Vec<Needed<'l, 'a>>, Option<Finding>> {
        let needs = self.providers.needs(*self.places.get(&image).ok_or(None)?);
        let mut modules = Vec::with_capacity(needs.images.len());
        for place in needs.images {
            let examined = self.all.get(place).ok_or(None)?;
            if examined.problem.is_some() || wanted.cannot_compile(examined).is_some() {
                return Err(None);
            }
            let against = || {
                let subject = Subject::new(wanted.facts?);
                let mut reasons = fit(examined, &subject).reasons.into_iter();
                reasons.find(|finding| is_in_the_way(finding, &subject))
            };
            if let Some(finding) = self.against.get(place).and_then(|known| known.get_or_init(against).as_ref()) {
                return Err(Some(finding.clone()));
            }
            let module = examined.image.contents().map_err(|_| None)?;
            modules.push(Needed { module, imports: &examined.imports });
        }
        // Compilers bring the device library, or it is added for them.
        if needs.missing.iter().all(|symbol| is_of_library(symbol)) { Ok(modules) } else { Err(None) }
    }
}

/// Whether a finding against an image speaks against compiling it: imports do not, since linking resolves them; where no
/// SPIR-V is taken, it is translated first, so that the image is for other devices does not either.
pub(crate) fn is_in_the_way(finding: &Finding, subject: &Subject<'_>) -> bool {
    finding.rule != RuleId::Imports && (subject.takes_spirv() || finding.rule != RuleId::Target)
}

/// The way to decide about each image.
struct Planner<'p, 'a> {
    wanted: For<'p>,
    /// Whether images become objects, which need neither a kernel nor what they import.
    objects: bool,
    library: Option<&'p Library<'p, 'a>>,
}

/// An image that is compiled.
struct Chosen<'a> {
    job: Job<'a>,
    /// Whether what it imports is in its native code.
    linked: bool,
    specialized: Option<Specialized>,
    removed_options: Vec<String>,
    refused_options: Vec<String>,
}

/// Reason why an image is not compiled.
enum Left {
    Skipped(Finding),
    Stays(Stay),
    Damaged(Error),
    /// Nothing is compiled: what was asked for cannot be.
    Wrong(Error),
}

fn plan_images<'a>(
    images: &[Examined<'_, 'a>],
    wanted: For<'_>,
    objects: bool,
    library: Option<&Library<'_, 'a>>,
) -> Result<Plan<'a>> {
    let planner = Planner { wanted, objects, library };
    let mut plan = Plan::default();
    for examined in images {
        let image = examined.image.index;
        match planner.choose(examined, &mut plan.set) {
            Ok(chosen) => {
                if chosen.linked {
                    plan.linked.insert(image);
                }
                plan.specialized.extend(chosen.specialized.map(|specialized| (image, specialized)));
                count(&mut plan.removed_options, chosen.removed_options);
                count(&mut plan.refused_options, chosen.refused_options);
                plan.jobs.push(chosen.job);
            }
            Err(Left::Skipped(finding)) => plan.skipped.push((image, finding)),
            Err(Left::Stays(stay)) => plan.staying.push((image, stay)),
            Err(Left::Damaged(error)) => plan.problems.push(Problem::of_image(image, error)),
            Err(Left::Wrong(error)) => return Err(error),
        }
    }
    Ok(plan)
}

fn count(counts: &mut BTreeMap<String, usize>, options: Vec<String>) {
    for option in options {
        let count = counts.entry(option).or_default();
        *count = count.saturating_add(1);
    }
}

impl<'p, 'a> Planner<'p, 'a> {
    /// Decides about an image; constants that get a value go to `set`.
    fn choose(&self, examined: &Examined<'_, 'a>, set: &mut BTreeSet<ConstantName>) -> Result<Chosen<'a>, Left> {
        let (image, wanted) = (examined.image, self.wanted);
        if let Some(error) = &examined.problem {
            return Err(Left::Damaged(error.clone()));
        }
        let recipe = (wanted.recipe)(examined);
        let imports = || self.library.filter(|library| library.defines(examined)).map(|_| examined.imports.clone());
        let not_alone = || native::not_alone(examined).or_else(|| imports().map(Stay::Imports));
        let not_alone = if self.objects { None } else { not_alone() };
        if !recipe.native && not_alone.is_none() {
            return Err(Left::Stays(Stay::Rule(wanted.rules.to_owned())));
        }
        let constants = constants(examined, &recipe, set)?;
        let cannot = constants.as_ref().err().cloned().or_else(|| wanted.has_no(examined));
        let needed = match (not_alone, cannot) {
            (Some(stay @ Stay::Imports(_)), None) => Some(self.needed(image.index, stay)?),
            (Some(stay), _) | (None, Some(stay)) => return Err(Left::Stays(stay)),
            (None, None) => None,
        };
        if let Some(finding) = wanted.against.get(&image.index) {
            return Err(Left::Skipped(finding.clone()));
        }
        let linked = needed.is_some();
        let (step, needed) = match needed {
            Some(modules) if !wanted.takes_one() => {
                (Step::Link(modules.into_iter().map(|other| other.module).collect()), Vec::new())
            }
            modules => (self.step(), modules.unwrap_or_default()),
        };
        let mut specialized = constants.ok().flatten();
        let own = specialized.as_mut().map(|specialized| std::mem::take(&mut specialized.module));
        let il = module(examined, own, &recipe, &needed).map_err(|error| match needed.is_empty() {
            true => Left::Damaged(error),
            false => Left::Stays(Stay::NotLinked(error.message())),
        })?;
        let il = match &step {
            Step::Offline(_) if wanted.target.spec == GPU_SPEC => {
                let completed = self.completed(examined, &il, !needed.is_empty());
                let completed = completed.map_err(|error| Left::Stays(Stay::NotLinked(error.message())))?;
                completed.map_or(il, Cow::Owned)
            }
            _ => il,
        };
        let (compile, link) = options_for(wanted.target, image, &recipe);
        let job = Job {
            image: image.index,
            il,
            compile_options: compile.kept,
            link_options: link.kept,
            step,
            target: wanted.number,
            kernels: if self.objects { Vec::new() } else { held(examined) },
        };
        Ok(Chosen {
            job,
            linked,
            specialized,
            removed_options: [compile.removed, link.removed].concat(),
            refused_options: [compile.refused, link.refused].concat(),
        })
    }

    /// The module with what it calls of SYCL's device library; none where it calls nothing of it that is there.
    fn completed(&self, examined: &Examined<'_, '_>, il: &[u8], linked: bool) -> Result<Option<Vec<u8>>> {
        let of_linked = if linked { Some(Module::parse(il)?) } else { None };
        let module = of_linked.as_ref().or(examined.module.as_ref());
        let imports = module.map_or(&[][..], |module| &module.imports);
        self.wanted.device_library.complete(il, imports, self.wanted.facts)
    }

    /// The step that makes the code of an image alone.
    fn step(&self) -> Step<'a> {
        match &self.wanted.target.backend {
            _ if self.objects => Step::Compile,
            Backend::Ocloc { device } => Step::Offline(device.clone()),
            Backend::Nvidia { .. } => Step::Offline(self.wanted.target.architecture().into_owned()),
            Backend::Cpu(_) | Backend::Live { .. } => Step::Build,
        }
    }

    /// The modules that an image is linked with; without a library it stays for `stay`.
    fn needed(&self, image: usize, stay: Stay) -> Result<Vec<Needed<'p, 'a>>, Left> {
        let modules = self.library.map_or(Err(None), |library| library.modules(image, self.wanted));
        modules.map_err(|finding| match finding {
            Some(finding) => Left::Skipped(self.wanted.against.get(&image).cloned().unwrap_or(finding)),
            None => Left::Stays(stay),
        })
    }
}

/// The image with values for its specialization constants, where it has some; else why they stay open.
fn constants(
    examined: &Examined<'_, '_>,
    recipe: &Recipe,
    set: &mut BTreeSet<ConstantName>,
) -> Result<Result<Option<Specialized>, Stay>, Left> {
    let Some(stay) = native::open_constants(examined) else { return Ok(Ok(None)) };
    match specialize(examined, recipe, set) {
        Ok(Outcome::Done(specialized)) => Ok(Ok(Some(specialized))),
        // Only where some got one is it of interest which did not.
        Ok(Outcome::Open(names)) if names.len() < constant_count(&stay) => Ok(Err(Stay::OpenConstants(names))),
        Ok(Outcome::Open(_) | Outcome::None) => Ok(Err(stay)),
        Err(error) if error.kind() == ErrorKind::Usage => Err(Left::Wrong(error)),
        Err(error) => Err(Left::Damaged(error)),
    }
}

/// The module that the compiler gets: `own` where constants got values in it, without what is stripped, with what it needs.
fn module<'a>(
    examined: &Examined<'_, 'a>,
    own: Option<Vec<u8>>,
    recipe: &Recipe,
    needed: &[Needed<'_, '_>],
) -> Result<Cow<'a, [u8]>> {
    let il = own.map_or_else(|| examined.image.contents(), |own| Ok(Cow::Owned(own)))?;
    let il = if recipe.strip_itt { strip(&il, ITT)?.map_or(il, Cow::Owned) } else { il };
    if needed.is_empty() { Ok(il) } else { linked(&il, &examined.imports, needed).map(Cow::Owned) }
}

/// The kernels of an image that its module has: `filter` empties modules and leaves the entries.
fn held(examined: &Examined<'_, '_>) -> Vec<String> {
    let entry_points = examined.module.iter().flat_map(|module| module.entry_points.iter());
    let names: HashSet<&str> = entry_points.map(|entry| entry.name).collect();
    examined.kernels.iter().filter(|name| names.contains(name.as_str())).cloned().collect()
}

fn constant_count(stay: &Stay) -> usize {
    if let Stay::SpecConstants(count) = stay { *count } else { 0 }
}

/// The module of an image with values for its specialization constants; those that a setting was for go to `set`.
fn specialize(examined: &Examined<'_, '_>, recipe: &Recipe, set: &mut BTreeSet<ConstantName>) -> Result<Outcome> {
    let image = examined.image;
    let mut used = BTreeSet::new();
    let outcome = specialized(&image.properties, &image.contents()?, &recipe.constants, &mut used)?;
    set.extend(used.iter().filter_map(|at| recipe.constants.given.get(*at)).map(|setting| setting.which.clone()));
    Ok(outcome)
}
