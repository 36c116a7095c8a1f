//! What did a build do, by the names and numbers that the user knows?

use super::built::{Built, Failed, Skipped, Slowest, Staying, TargetCounts, describe_module};
use super::costs::{BinaryOrigin, Costs, ImageCost, KernelResources, Watch};
use super::evidence::Names;
use super::json::SchemaVersion;
use super::name::shorten;
use crate::build::compile::{Binary, CompileResults};
use crate::build::plan::Plan;
use crate::build::plans::{Numbers, Plans};
use crate::build::target::CPU_SPEC;
use crate::build::wanted::Wanted;
use crate::build::{Failure, Job, Unit};
use crate::bundle::Bundle;
use crate::compat::examine::Examined;
use crate::compat::native::Stay;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The selected images and targets of a build, for its report.
#[derive(Clone, Copy)]
pub(crate) struct Work<'w, 'a> {
    /// The form of kernels' names.
    pub(crate) names: Names,
    /// The targets.
    pub(crate) wanted: &'w [Wanted],
    /// The selected images.
    pub(crate) images: &'w [Examined<'w, 'a>],
    /// Numbers by which the user knows the images.
    pub(crate) numbers: &'w Numbers,
}

/// All files of one run. Their images are numbered through, so that one pool of workers compiles them; each file's own
/// numbers begin at 0.
pub(crate) struct Batch<'w, 'a> {
    /// The files, each with the number that its first image has here.
    pub(crate) parts: Vec<(usize, Work<'w, 'a>)>,
}

impl<'w, 'a> Batch<'w, 'a> {
    /// Numbers the images of files through.
    pub(crate) fn new<'b>(works: impl Iterator<Item = (Work<'w, 'a>, &'b Bundle<'b>)>) -> Batch<'w, 'a> {
        let mut start = 0usize;
        let mut parts = Vec::new();
        for (work, bundle) in works {
            parts.push((start, work));
            start = start.saturating_add(bundle.images.last().map_or(0, |image| image.index.saturating_add(1)));
        }
        Batch { parts }
    }

    /// Takes the jobs out of the plans of the files.
    pub(crate) fn jobs<'p, 'j: 'p>(&self, plans: impl Iterator<Item = &'p mut Plans<'j>>) -> Vec<Job<'j>> {
        let mut jobs = Vec::new();
        for ((start, _), plans) in self.parts.iter().zip(plans) {
            jobs.extend(plans.jobs.drain(..).map(|job| Job { image: job.image.saturating_add(*start), ..job }));
        }
        jobs
    }

    /// Divides what was compiled among the files.
    pub(crate) fn shares(&self, done: CompileResults) -> Vec<CompileResults> {
        let share = || CompileResults { compilers: done.compilers.clone(), ..CompileResults::default() };
        let mut shares: Vec<CompileResults> = self.parts.iter().map(|_| share()).collect();
        let mut give = |image: usize, give: &mut dyn FnMut(&mut CompileResults, usize)| {
            let at = self.place(image);
            if let (Some(share), Some((start, _))) = (shares.get_mut(at), self.parts.get(at)) {
                give(share, image.saturating_sub(*start));
            }
        };
        for binary in done.compiled {
            let mut binary = Some(binary);
            let image = binary.as_ref().map_or(0, |binary| binary.image);
            give(image, &mut |share, image| {
                share.compiled.extend(binary.take().map(|binary| Binary { image, ..binary }))
            });
        }
        for failure in done.failures {
            give(failure.image, &mut |share, image| share.failures.push(Failure { image, ..failure.clone() }));
        }
        for (image, target) in done.cached {
            give(image, &mut |share, image| share.cached.push((image, target)));
        }
        for (image, target) in done.folded {
            give(image, &mut |share, image| share.folded.push((image, target)));
        }
        for (image, target) in done.harvested {
            give(image, &mut |share, image| share.harvested.push((image, target)));
        }
        for (image, target) in done.shared {
            give(image, &mut |share, image| share.shared.push((image, target)));
        }
        for (image, target) in done.elsewhere {
            give(image, &mut |share, image| share.elsewhere.push((image, target)));
        }
        shares
    }

    fn place(&self, image: usize) -> usize {
        self.parts.partition_point(|(start, _)| *start <= image).saturating_sub(1)
    }

    /// The file of an image, and the image's number there.
    fn find(&self, (image, target): Unit) -> Option<(&Work<'w, 'a>, Unit)> {
        let (start, work) = self.parts.get(self.place(image))?;
        Some((work, (image.saturating_sub(*start), target)))
    }

    /// An image in a message; with its file where there are several.
    pub(crate) fn name(&self, unit: Unit) -> String {
        let Some((work, own)) = self.find(unit) else { return String::new() };
        match self.parts.len() {
            1 => work.name(own),
            _ => format!("{} of {}", work.name(own), work.numbers.file(own.0)),
        }
    }

    /// An image and a target in the name of a file.
    pub(crate) fn label(&self, unit: Unit) -> String {
        let Some((work, own)) = self.find(unit) else { return String::new() };
        match self.parts.len() {
            1 => work.label(own),
            // Libraries of one name may lie in different folders.
            _ => format!("{}.{}", self.place(unit.0), work.label(own)),
        }
    }

    /// A target in a message.
    pub(crate) fn target(&self, unit: Unit) -> String {
        self.find(unit).map(|(work, own)| work.target(own.1)).unwrap_or_default()
    }

    /// The number of an image as the user knows it.
    pub(crate) fn shown(&self, unit: Unit) -> usize {
        self.find(unit).map_or(unit.0, |(work, own)| work.numbers.shown(own.0))
    }

    /// The file of an image.
    pub(crate) fn file(&self, unit: Unit) -> String {
        self.find(unit).map(|(work, own)| work.numbers.file(own.0).to_owned()).unwrap_or_default()
    }

    /// The costs of all images.
    pub(crate) fn costs(&self, watch: &Watch<'_>, done: &CompileResults, inputs: Vec<String>) -> Costs {
        let about = |unit: Unit| {
            let cost = watch.costs.get(&unit);
            let how = cost.map_or(BinaryOrigin::Compiled, |cost| cost.how);
            ImageCost {
                image: self.shown(unit),
                file: self.file(unit),
                target: self.target(unit),
                how,
                module_bytes: watch.modules.get(&unit).map_or(0, |(bytes, _)| *bytes),
                options: watch.modules.get(&unit).map(|(_, options)| options.clone()).unwrap_or_default(),
                native_bytes: None,
                seconds: cost.and_then(|cost| cost.seconds),
                attempts: cost.and_then(|cost| cost.attempts),
                cause: None,
                kernels: Vec::new(),
            }
        };
        let compiled = done.compiled.iter().map(|binary| {
            let native = binary.native();
            let parts = native.iter().flat_map(|native| &native.parts);
            let kernels =
                parts.flat_map(|part| part.kernels.iter().map(|kernel| KernelResources::new(kernel))).collect();
            ImageCost { native_bytes: Some(binary.bytes.len() as u64), kernels, ..about(binary.unit()) }
        });
        let failed = done.failures.iter().map(|failure| ImageCost {
            how: BinaryOrigin::Failed,
            attempts: Some(failure.attempts),
            cause: Some(failure.to_string()),
            ..about(failure.unit())
        });
        let mut images: Vec<ImageCost> = compiled.chain(failed).collect();
        images.sort_by(|a, b| (&a.file, a.image, &a.target).cmp(&(&b.file, b.image, &b.target)));
        Costs { schema_version: SchemaVersion, inputs, images }
    }

    /// The image that took longest to compile in this run.
    pub(crate) fn slowest(&self, watch: &Watch<'_>) -> Option<Slowest> {
        let compiled = watch.costs.iter().filter(|(_, cost)| cost.how == BinaryOrigin::Compiled);
        let timed = compiled.filter_map(|(unit, cost)| Some((*unit, cost.seconds?)));
        let (unit, seconds) = timed.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        let (work, own) = self.find(unit)?;
        let file = (self.parts.len() > 1).then(|| self.file(unit));
        Some(Slowest {
            file,
            image: self.shown(unit),
            target: self.target(unit),
            kernel: work.first_kernel(own.0),
            seconds,
        })
    }
}

impl<'w, 'a> Work<'w, 'a> {
    fn image(&self, index: usize) -> Option<&'w Examined<'w, 'a>> {
        // Selected images stand in order.
        let at = self.images.binary_search_by_key(&index, |image| image.image.index).ok();
        at.and_then(|at| self.images.get(at))
    }

    fn kernels(&self, index: usize) -> Vec<String> {
        self.image(index).map(|image| image.kernels.clone()).unwrap_or_default()
    }

    fn first_kernel(&self, index: usize) -> Option<String> {
        self.image(index)?.kernels.first().cloned()
    }

    /// An image in a message.
    pub(crate) fn name(&self, (image, _): Unit) -> String {
        let kernel = self.first_kernel(image).map(|name| self.names.show(&name)).unwrap_or_default();
        format!("image {} {}", self.numbers.shown(image), shorten(&kernel, 60)).trim_end().to_owned()
    }

    /// An image and a target in the name of a file.
    pub(crate) fn label(&self, (image, target): Unit) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' };
        format!("{}.{}", self.numbers.shown(image), self.target(target).chars().map(safe).collect::<String>())
    }

    /// A target in a message.
    pub(crate) fn target(&self, place: usize) -> String {
        self.wanted.get(place).map(|wanted| wanted.target.name.clone()).unwrap_or_default()
    }

    /// The images with native code for each target that can run them: those that can do without their SPIR-V, then those that
    /// cannot, since the runtime links what they export or import as SPIR-V.
    pub(crate) fn without_spirv(&self, plans: &Plans<'_>, done: &CompileResults, partial: bool) -> [HashSet<usize>; 2] {
        if partial {
            return Default::default();
        }
        let natives: HashSet<Unit> = done.compiled.iter().map(|binary| binary.unit()).collect();
        let skipped = plans
            .each
            .iter()
            .enumerate()
            .flat_map(|(place, plan)| plan.skipped.iter().map(move |(image, _)| (*image, place)));
        let skipped: HashSet<Unit> = skipped.collect();
        let is_bare = |image: &usize| {
            let places = || 0..self.wanted.len();
            let native = |place| natives.contains(&(*image, place));
            places().any(native) && places().all(|place| native(place) || skipped.contains(&(*image, place)))
        };
        let is_alone = |image: &&Examined<'_, '_>| image.exports.is_empty() && image.imports.is_empty();
        let (alone, linked): (Vec<_>, Vec<_>) = self.images.iter().partition(is_alone);
        [alone, linked].map(|images| images.iter().map(|image| image.image.index).filter(is_bare).collect())
    }

    /// The numbers of images as the user knows them.
    pub(crate) fn shown(&self, images: &HashSet<usize>) -> Vec<usize> {
        let mut numbers: Vec<usize> = images.iter().map(|image| self.numbers.shown(*image)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The document of a build, from plans and results.
    pub(crate) fn document(&self, plans: &Plans<'_>, done: &CompileResults, embeds: bool, dry_run: bool) -> Built {
        let targets: Vec<TargetCounts> =
            (0..self.wanted.len()).filter_map(|place| self.of_target(place, plans, done, dry_run)).collect();
        let skipped = plans.each.iter().enumerate().flat_map(|(place, plan)| {
            plan.skipped.iter().map(move |(image, finding)| Skipped {
                file: None,
                image: self.numbers.shown(*image),
                target: self.target(place),
                kernel: self.first_kernel(*image),
                rule: finding.rule,
                reason: finding.message.clone(),
            })
        });
        let failed = done.failures.iter().map(|failure| {
            let image = self.numbers.shown(failure.image);
            let module = self.image(failure.image).and_then(|examined| examined.module.as_ref());
            Failed {
                compiler: done.compilers.get(&failure.target).cloned(),
                module: module.map(|module| describe_module(module.version, &module.extensions)),
                ..Failed::new(image, self.target(failure.target), self.kernels(failure.image), failure)
            }
        });
        let most = |of: for<'p> fn(&'p Plan<'_>) -> &'p BTreeMap<String, usize>| {
            let mut most: BTreeMap<String, usize> = BTreeMap::new();
            for (option, images) in plans.each.iter().flat_map(of) {
                let count = most.entry(option.clone()).or_default();
                *count = (*count).max(*images);
            }
            most
        };
        Built {
            target: self.target(0),
            march: self.wanted.iter().find_map(|wanted| wanted.target.march()).map(|march| march.name()),
            compiled: targets.iter().map(|target| target.compiled).sum(),
            cached: done.cached.len(),
            folded: done.folded.len(),
            shared: done.shared.len(),
            elsewhere: done.elsewhere.len(),
            harvested: done.harvested.len(),
            native_bytes: targets.iter().map(|target| target.native_bytes).sum(),
            targets,
            staying: self.staying(plans, done, embeds),
            skipped: skipped.collect(),
            failed: failed.collect(),
            removed_options: most(|plan| &plan.removed_options),
            refused_options: most(|plan| &plan.refused_options),
            ..Built::default()
        }
    }

    fn of_target(&self, place: usize, plans: &Plans<'_>, done: &CompileResults, dry_run: bool) -> Option<TargetCounts> {
        let target = &self.wanted.get(place)?.target;
        let plan = plans.each.get(place)?;
        let of = |units: &[Unit]| units.iter().filter(|(_, target)| *target == place).count();
        let compiled = || done.compiled.iter().filter(|binary| binary.target == place);
        Some(TargetCounts {
            target: target.name.clone(),
            spec: target.spec,
            compile_target: target.compile_target.clone(),
            architecture: target.architecture().into_owned(),
            compiled: if dry_run { plans.counts.get(place).copied().unwrap_or(0) } else { compiled().count() },
            cached: of(&done.cached),
            folded: of(&done.folded),
            shared: of(&done.shared),
            skipped: plan.skipped.len(),
            staying: plan.staying.len(),
            failed: done.failures.iter().filter(|failure| failure.target == place).count(),
            elsewhere: of(&done.elsewhere),
            // Code that is shared with another GPU is counted there.
            native_bytes: compiled()
                .filter(|binary| !done.shared.contains(&binary.unit()))
                .map(|binary| binary.bytes.len() as u64)
                .sum(),
            added_options: self.wanted.get(place)?.added_options.clone(),
        })
    }

    /// The images that stay as they are, each reason with the targets for which it is one. A native image that a new one
    /// has replaced does not stay.
    fn staying(&self, plans: &Plans<'_>, done: &CompileResults, embeds: bool) -> Vec<Staying> {
        let tables = |image: usize| {
            let image = self.image(image)?.image;
            Some((image.target, image.origin?.tables))
        };
        let replaced: HashSet<[u64; 4]> =
            done.compiled.iter().filter_map(|binary| tables(binary.image)).map(|(_, tables)| tables).collect();
        let gone = |image: usize| {
            embeds && tables(image).is_some_and(|(target, tables)| target == CPU_SPEC && replaced.contains(&tables))
        };
        let mut all: Vec<(usize, &Stay, Vec<String>)> = Vec::new();
        let mut known: HashMap<(usize, String), usize> = HashMap::new();
        for (place, plan) in plans.each.iter().enumerate() {
            for (image, stay) in plan.staying.iter().filter(|(image, _)| !gone(*image)) {
                let at = *known.entry((*image, stay.to_string())).or_insert(all.len());
                match all.get_mut(at) {
                    Some((_, _, targets)) => targets.push(self.target(place)),
                    None => all.push((*image, stay, vec![self.target(place)])),
                }
            }
        }
        all.sort_by_key(|(image, ..)| *image);
        let staying = all.into_iter().map(|(image, stay, targets)| {
            Staying::new(self.numbers.shown(image), targets, self.first_kernel(image), stay)
        });
        staying.collect()
    }
}
