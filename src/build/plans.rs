//! Which images are compiled for which targets, and which native images does the output get?

use super::archive::{ArchiveForm, Archives};
use super::compile::Binary;
use super::device_library::DeviceLibrary;
use super::plan::{For, Goal, Plan, is_in_the_way, plan};
use super::target::{GPU_SPEC, Target};
use super::wanted::Wanted;
use super::{Job, Unit};
use crate::bundle::Bundle;
use crate::bundle::format::Declared;
use crate::bundle::image::Image;
use crate::bundle::property::PropertySet;
use crate::bundle::property_sets::set;
use crate::bundle::spec_constants::{ConstantName, constants};
use crate::compat::engine::Engine;
use crate::compat::examine::{Examined, examine};
use crate::compat::finding::Finding;
use crate::compat::fit::Subject;
use crate::compat::gate::codes;
use crate::compat::native::Stay;
use crate::container::Arena;
use crate::device::cpu::CpuArch;
use crate::device::target::Target as Facts;
use crate::device::yaml::Place;
use crate::error::{Context as _, Error, ErrorKind, Problem, Reporter, Result};
use crate::policy::rules::Rules;
use crate::rewrite::embed::original_indexes;
use crate::rewrite::embed::{Addition, FORMAT_NATIVE, earlier_additions};
use crate::rewrite::property_sets::{KernelFacts, program_metadata};
use crate::rewrite::specialize::{RecordedValues, Specialized};
use crate::rewrite::specialize::{display_name, unknown_constant};
use crate::select::Selector;
use crate::spirv::index::{EntryPoint, Index};
use crate::spirv::kernel::{Attributes, SubGroup};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// A plan for each target, in the order of the targets.
pub(crate) struct Plans<'a> {
    /// The plans; their jobs have been taken together.
    pub(crate) each: Vec<Plan<'a>>,
    /// All jobs.
    pub(crate) jobs: Vec<Job<'a>>,
    /// Images that cannot be read, each once.
    pub(crate) problems: Vec<Problem>,
    /// The number of images that are compiled for each target.
    pub(crate) counts: Vec<usize>,
    /// The images whose native code has what they import in it.
    pub(crate) linked: HashSet<usize>,
    /// The images whose specialization constants got values, for each target.
    pub(crate) specialized: HashMap<Unit, Specialized>,
    /// The constants that were given values.
    pub(crate) set: BTreeSet<ConstantName>,
    /// Facts of kernels that the runtime cannot ask an NVIDIA GPU's code for, by image: see [`metadata`].
    pub(crate) metadata: HashMap<usize, PropertySet<'a>>,
}

/// Plans what is compiled for each target.
///
/// # Errors
/// `Usage` for a value that a specialization constant cannot have.
pub(crate) fn plans<'a>(
    reporter: &dyn Reporter,
    wanted: &[Wanted],
    images: &[Examined<'_, 'a>],
    goal: Goal<'_, 'a>,
    (recipes, numbers): (&Recipes, &Numbers),
) -> Result<Plans<'a>> {
    let judged = wanted.iter().any(|wanted| wanted.facts.is_some());
    let codes = if judged { codes(images) } else { Vec::new() };
    let engine = Engine::new(images, &codes);
    let mut plans = Plans {
        each: Vec::new(),
        jobs: Vec::new(),
        problems: Vec::new(),
        counts: Vec::new(),
        linked: HashSet::new(),
        specialized: HashMap::new(),
        set: BTreeSet::new(),
        metadata: HashMap::new(),
    };
    recipes.rules.check_globs(images, wanted.iter().map(|one| one.target.name.as_str()))?;
    let used_rules = RefCell::new(BTreeSet::new());
    for (number, wanted) in wanted.iter().enumerate() {
        let against = wanted.facts.as_ref().map(|facts| against(&engine, facts)).unwrap_or_default();
        let recipe = |examined: &Examined<'_, '_>| {
            let shown = numbers.shown(examined.image.index);
            let mut used = |rule| {
                used_rules.borrow_mut().insert(rule);
            };
            recipes.rules.recipe(examined, shown, &wanted.target.name, &mut used)
        };
        let target = &wanted.target;
        let rules = &recipes.rules.file;
        let facts = wanted.facts.as_ref();
        let device_library = &recipes.device_library;
        let wanted = For { target, number, facts, against: &against, recipe: &recipe, rules, device_library };
        let mut own = plan(images, wanted, goal)?;
        plans.set.append(&mut own.set);
        plans.specialized.extend(own.specialized.drain().map(|(image, specialized)| ((image, number), specialized)));
        plans.counts.push(own.jobs.len());
        plans.jobs.append(&mut own.jobs);
        // The instructions are the same for every target.
        if number == 0 {
            plans.problems.append(&mut own.problems);
        }
        plans.linked.extend(own.linked.iter().copied());
        plans.each.push(own);
    }
    recipes.unused(reporter, &used_rules.into_inner());
    recipes.check(images, &plans.set)?;
    Ok(plans)
}

/// "SYCL/program metadata" of images that lack some, by index, where a kernel requires anything or there are device globals: the
/// compiler writes it for NVIDIA GPUs, and the images were compiled for others. Without it the runtime does not know a required
/// work-group size, and launches a plain range with another; and the CUDA adapter finds no device global, which the runtime sets
/// before the first kernel.
///
/// # Errors
/// `Input` where the arena is full.
pub(crate) fn metadata<'a>(
    arena: &'a Arena,
    images: &[Examined<'_, 'a>],
    wanted: &[Wanted],
    plans: &Plans<'_>,
) -> Result<HashMap<usize, PropertySet<'a>>> {
    let nvidia = |job: &&Job<'_>| wanted.get(job.target).is_some_and(|wanted| wanted.target.is_nvidia());
    let compiled: HashSet<usize> = plans.jobs.iter().filter(nvidia).map(|job| job.image).collect();
    let mut all = HashMap::new();
    for examined in images.iter().filter(|examined| compiled.contains(&examined.image.index)) {
        // Images that cannot be read are not compiled either.
        let Ok(contents) = examined.image.contents() else { continue };
        let Ok(index) = Index::read(&contents) else { continue };
        let of_kernel = |point: &EntryPoint<'_>| {
            let attributes = Attributes::read(&index, point.function);
            KernelFacts {
                name: point.name.clone().into_owned(),
                work_group: attributes.work_group_size,
                sub_group: attributes.sub_group_size.and_then(SubGroup::size),
                max_work_group: attributes.max_work_group_size,
                ..KernelFacts::default()
            }
        };
        let kernels: Vec<KernelFacts> = index.entry_points.iter().map(of_kernel).collect();
        let Some(mut set) = program_metadata(arena, &kernels, &index.symbols_of_globals())? else { continue };
        let known = examined.image.properties.set(set::PROGRAM_METADATA);
        let names: HashSet<&str> = known.iter().map(|property| property.name).collect();
        set.properties.retain(|property| !names.contains(property.name));
        if !set.properties.is_empty() {
            set.properties.splice(0..0, known.iter().copied());
            all.insert(examined.image.index, set);
        }
    }
    Ok(all)
}

impl Plans<'_> {
    /// The images that do not become native for a target though another could: all but those that are no SPIR-V, or
    /// hold no kernel.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (usize, usize, String)> {
        self.each.iter().enumerate().flat_map(|(target, plan)| {
            let open = plan.staying.iter().filter(|(_, stay)| !matches!(stay, Stay::NotSpirV(_) | Stay::NoKernel));
            let staying = open.map(|(image, stay)| (*image, stay.to_string()));
            let skipped = plan.skipped.iter().map(|(image, finding)| (*image, finding.message.clone()));
            staying.chain(skipped).map(move |(image, why)| (image, target, why)).collect::<Vec<_>>()
        })
    }
}

/// Returns the first certain finding against each image on a target, by the image's index.
fn against(engine: &Engine<'_>, facts: &Facts) -> HashMap<usize, Finding> {
    let subject = Subject::new(facts);
    let one = |(at, image): (usize, &Examined<'_, '_>)| {
        let mut reasons = engine.fit(at, &subject).reasons.into_iter();
        Some((image.image.index, reasons.find(|finding| is_in_the_way(finding, &subject))?))
    };
    engine.images().iter().enumerate().filter_map(one).collect()
}

/// Whether the code alone tells for which GPU it is.
fn is_live_gpu(wanted: &[Wanted], binary: &Binary) -> bool {
    let target = wanted.get(binary.target).map(|wanted| &wanted.target);
    target.is_some_and(|target| target.spec == GPU_SPEC && target.compile_target.is_none())
}

/// The GPU that each binary names, where a live GPU's driver made it.
pub(crate) fn devices(wanted: &[Wanted], compiled: &[Binary]) -> Vec<Option<String>> {
    let of_live_gpu = |binary: &Binary| is_live_gpu(wanted, binary).then(|| binary.device()).flatten();
    compiled.iter().map(of_live_gpu).collect()
}

/// The new images, from what was compiled and what [`devices`] says of it.
pub(crate) fn additions<'a>(
    reporter: &dyn Reporter,
    wanted: &'a [Wanted],
    plans: &'a Plans<'_>,
    (compiled, devices): (&'a [Binary], &'a [Option<String>]),
    archives: &'a Archives,
) -> Vec<Addition<'a>> {
    let all = compiled.iter().zip(devices);
    if all.clone().any(|(binary, device)| device.is_none() && is_live_gpu(wanted, binary)) {
        reporter
            .note("the driver's code does not tell for which GPU it is: the runtime will hand it to every Intel GPU");
    }
    let units = compiled.iter().map(|binary| (binary.unit(), binary.bytes.as_slice()));
    let told: HashMap<Unit, &str> =
        all.filter_map(|(binary, device)| Some((binary.unit(), device.as_deref()?))).collect();
    let mut additions = listed(wanted, plans, units, archives);
    for (addition, unit) in &mut additions {
        addition.compile_target = addition.compile_target.or(told.get(unit).copied());
    }
    additions.into_iter().map(|(addition, _)| addition).collect()
}

/// The entries of native images for a linked file's list, each with the first unit that it is for: one for each unit, or one
/// for all of an archive that any GPU takes.
pub(crate) fn listed<'a>(
    wanted: &'a [Wanted],
    plans: &'a Plans<'_>,
    units: impl Iterator<Item = (Unit, &'a [u8])>,
    archives: &'a Archives,
) -> Vec<(Addition<'a>, Unit)> {
    let mut for_all: HashSet<usize> = HashSet::new();
    let one = |(unit, payload): (Unit, &'a [u8])| {
        let wanted = wanted.get(unit.1)?;
        let own = addition(&wanted.target, unit, plans, payload);
        let own = match archives.holding(wanted, unit) {
            None => own,
            Some((payload, false)) => Addition { payload, ..own },
            Some((payload, true)) => {
                for_all.insert(unit.0).then_some(Addition { compile_target: None, payload, ..own })?
            }
        };
        Some((own, unit))
    };
    units.filter_map(one).collect()
}

/// Native images of an earlier run that stay in the file: those of other images, and those for other targets.
///
/// # Errors
/// `Usage` where those for CPUs would be for another instruction set than the new ones.
pub(crate) fn kept<'e>(
    wanted: &[Wanted],
    images: &[Examined<'_, '_>],
    bundle: &Bundle<'_>,
    (embedded, archive): (Option<&'e Bundle<'_>>, Option<ArchiveForm>),
) -> Result<Vec<Addition<'e>>> {
    let selected: HashSet<usize> = images.iter().map(|image| image.image.index).collect();
    let mut kept = embedded.map_or_else(Vec::new, |embedded| earlier_additions(embedded, bundle));
    let is_wanted = |addition: &Addition<'_>| {
        wanted.iter().any(|wanted| wanted.target.is_of(addition.target, addition.compile_target))
            || archive == Some(ArchiveForm::Ir) && (addition.target, addition.compile_target) == (GPU_SPEC, None)
    };
    kept.retain(|addition| !selected.contains(&addition.source) || !is_wanted(addition));
    if let Some(march) = wanted.iter().find_map(|wanted| wanted.target.march()) {
        let staying = bundle.images.iter().filter(|image| !selected.contains(&image.index));
        let own = staying.filter_map(|image| CpuArch::of_binary(&image.contents().ok()?));
        let inflated = |addition: &Addition<'_>| {
            let declared = Declared::from(addition.format);
            CpuArch::of_binary(&Image { declared, ..Image::bare(addition.payload, 0) }.contents().ok()?)
        };
        same_march(kept.iter().filter_map(inflated).chain(own), march)?;
    }
    Ok(kept)
}

/// Native images for different instruction sets do not work in one process.
fn same_march(mut natives: impl Iterator<Item = CpuArch>, march: CpuArch) -> Result<()> {
    let Some(found) = natives.find(|found| *found != march) else {
        return Ok(());
    };
    let message = format!(
        "the file holds native images for {found}, which were not selected; the others would be for {march}, and the driver \
         refuses a mix"
    );
    Err(Error::new(ErrorKind::Usage, message).with_remedy(format!("select all images, or use --march {found}")))
}

/// The entry of a unit's own native image.
pub(crate) fn addition<'a>(target: &'a Target, unit: Unit, plans: &'a Plans<'_>, payload: &'a [u8]) -> Addition<'a> {
    Addition {
        source: unit.0,
        target: target.spec,
        compile_target: target.compile_target.as_deref(),
        constants: plans.specialized.get(&unit).map_or(RecordedValues::Nothing, Specialized::recorded_values),
        linked: plans.linked.contains(&unit.0),
        metadata: plans.metadata.get(&unit.0).filter(|_| target.is_nvidia()),
        format: FORMAT_NATIVE,
        payload,
    }
}

/// Rules of a file, and what the command line adds to them.
#[derive(Debug, Default)]
pub(crate) struct Recipes {
    /// The rules; what the command line says comes last.
    pub(crate) rules: Rules,
    /// The number of rules that the file holds.
    pub(crate) own: usize,
    /// The device library, of which images of Intel's GPUs get what they call.
    pub(crate) device_library: DeviceLibrary,
}

impl Recipes {
    /// The file, where there is one that says how to build.
    pub(crate) fn file(&self) -> Option<&Path> {
        Some(Path::new(&self.rules.file)).filter(|path| !path.as_os_str().is_empty())
    }

    /// Tells of the file's rules that are for no image.
    pub(crate) fn unused(&self, reporter: &dyn Reporter, used: &BTreeSet<usize>) {
        let own = self.rules.rules.iter().take(self.own).enumerate();
        for (_, rule) in own.filter(|(at, _)| !used.contains(at)) {
            let Place { line, column } = rule.place;
            reporter.note(&format!("{}:{line}:{column}: the rule is for no image", self.rules.file));
        }
    }

    /// Whether each constant that the command line names is one of an image.
    ///
    /// # Errors
    /// `Usage`, with the names that there are.
    pub(crate) fn check(&self, images: &[Examined<'_, '_>], set: &BTreeSet<ConstantName>) -> Result<()> {
        let asked = self.rules.rules.iter().skip(self.own).flat_map(|rule| &rule.settings.constants);
        let Some(missing) = asked.into_iter().find(|setting| !set.contains(&setting.which)) else { return Ok(()) };
        let of_image = |examined: &Examined<'_, '_>| {
            let named = constants(&examined.image.properties);
            let numbers = examined.module.iter().flat_map(|module| &module.spec_constants);
            match named.is_empty() {
                true => numbers.map(|id| ConstantName::Id(*id).text()).collect::<Vec<String>>(),
                false => named.iter().map(|one| display_name(one.name)).collect(),
            }
        };
        Err(unknown_constant(missing, &images.iter().flat_map(of_image).collect()))
    }
}

/// The numbers of images, for the user and within. A file that an earlier run embedded images into is restored first, so its
/// images have two numberings: the file's, which `inspect` shows and selectors mean, and the restored file's, which
/// everything is built from.
#[derive(Clone, Default)]
pub(crate) struct Numbers {
    /// Number in the file by number in the restored file.
    shown: HashMap<usize, usize>,
    /// The first image of each file.
    starts: Vec<(usize, String)>,
}

impl Numbers {
    /// Numbers the images of several files, each with its name and its bundle before they were united.
    pub(crate) fn new<'b>(files: impl Iterator<Item = (String, &'b Bundle<'b>)>) -> Numbers {
        let mut starts = Vec::new();
        let mut start = 0usize;
        for (name, bundle) in files {
            starts.push((start, name));
            start = start.saturating_add(bundle.images.last().map_or(0, |image| image.index.saturating_add(1)));
        }
        Numbers { shown: HashMap::new(), starts }
    }

    /// The number that the user knows an image by.
    pub(crate) fn shown(&self, index: usize) -> usize {
        self.shown.get(&index).copied().unwrap_or(index)
    }

    /// The file that an image is of.
    pub(crate) fn file(&self, index: usize) -> &str {
        let after = self.starts.partition_point(|(start, _)| *start <= index);
        after.checked_sub(1).and_then(|at| self.starts.get(at)).map_or("", |(_, name)| name.as_str())
    }

    /// The images that a selector means. `embedded` is the bundle of the file as it is, where it was restored.
    ///
    /// # Errors
    /// `NoMatch` where it means none.
    pub(crate) fn select<'b, 'a>(
        &mut self,
        selector: &Selector,
        all: Vec<Examined<'b, 'a>>,
        bundle: &Bundle<'_>,
        embedded: Option<&Bundle<'_>>,
    ) -> Result<Vec<Examined<'b, 'a>>> {
        let Some(embedded) = embedded else { return selector.keep(all) };
        let numbers = original_indexes(embedded, bundle);
        for image in &embedded.images {
            // An added image comes after the one it was compiled from.
            if let Some(restored) = numbers.get(&image.index) {
                self.shown.entry(*restored).or_insert(image.index);
            }
        }
        if selector.is_all() {
            return Ok(all);
        }
        let meant = selector.keep(examine(embedded)).context(|| self.file(0).to_owned())?;
        let meant: HashSet<usize> = meant.iter().filter_map(|image| numbers.get(&image.image.index).copied()).collect();
        Ok(all.into_iter().filter(|image| meant.contains(&image.image.index)).collect())
    }
}
