//! Which images of a bundle are compiled for the CPU, with which options, and which stay as they are?

use super::{Job, Step, options};
use crate::bundle::Bundle;
use crate::bundle::property::set;
use crate::compat::examine::{Examined, examine};
use crate::compat::native::{Stay, cannot_compile, stays};
use crate::error::Problem;
use crate::rewrite::link::providers::Providers;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// `DeviceTargetSpec` of native CPU images.
pub const CPU_TARGET: &str = "spir64_x86_64";

/// What is to be done with each image of a bundle.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// The images to compile.
    pub jobs: Vec<Job<'a>>,
    /// The images that stay as they are, by index, and why.
    pub staying: Vec<(usize, Stay)>,
    /// Options that the driver does not get, and how many images have them.
    pub removed_options: BTreeMap<String, usize>,
    /// Images that cannot be read; they stay too.
    pub problems: Vec<Problem>,
    /// The images whose native code has what they import in it, by index.
    pub linked: HashSet<usize>,
}

/// Plans the compilation of images for the CPU. Those that import something stay as they are.
pub fn for_cpu<'a>(images: &[Examined<'_, 'a>]) -> Plan<'a> {
    plan(images, None)
}

/// The same, where images of a bundle that import something are linked with those of it that define that.
pub fn for_cpu_linked<'a>(images: &[Examined<'_, 'a>], bundle: &Bundle<'a>) -> Plan<'a> {
    if images.iter().all(|examined| examined.imports.is_empty()) {
        return plan(images, None);
    }
    let all = examine(bundle);
    plan(images, Some(&Library::of(&all)))
}

/// The images that others may import from.
struct Library<'l, 'a> {
    all: &'l [Examined<'l, 'a>],
    places: HashMap<usize, usize>,
    providers: Providers<'l>,
}

impl<'l, 'a> Library<'l, 'a> {
    fn of(all: &'l [Examined<'l, 'a>]) -> Self {
        let places = all.iter().enumerate().map(|(place, examined)| (examined.image.index, place)).collect();
        Library { all, places, providers: Providers::of_examined(all) }
    }

    /// The modules that an image has to be linked with; none where one is missing, or cannot be compiled.
    fn modules(&self, image: usize) -> Option<Vec<Cow<'a, [u8]>>> {
        let needs = self.providers.needs(*self.places.get(&image)?);
        let mut modules = Vec::with_capacity(needs.images.len());
        for place in needs.images {
            let examined = self.all.get(place)?;
            if examined.problem.is_some() || cannot_compile(examined).is_some() {
                return None;
            }
            modules.push(examined.image.contents().ok()?);
        }
        needs.missing.is_empty().then_some(modules)
    }
}

fn plan<'a>(images: &[Examined<'_, 'a>], library: Option<&Library<'_, 'a>>) -> Plan<'a> {
    let mut plan = Plan::default();
    for examined in images {
        let image = examined.image;
        if let Some(error) = &examined.problem {
            plan.problems.push(Problem::of_image(image.index, error.clone()));
            continue;
        }
        let mut step = Step::Build;
        if let Some(stay) = stays(examined) {
            let imports = matches!(stay, Stay::Imports(_)) && cannot_compile(examined).is_none();
            let modules = library.filter(|_| imports).and_then(|library| library.modules(image.index));
            let Some(modules) = modules else {
                plan.staying.push((image.index, stay));
                continue;
            };
            plan.linked.insert(image.index);
            step = Step::Link(modules);
        }
        let il = match image.contents() {
            Ok(il) => il,
            Err(error) => {
                plan.problems.push(Problem::of_image(image.index, error));
                continue;
            }
        };
        let mut compile = options::for_cpu(image.compile_options);
        let link = options::for_cpu(image.link_options);
        // The runtime passes the level that the image was compiled with; the driver knows only "none".
        let level = image.properties.get(set::MISC, "optLevel").and_then(|value| value.number());
        if level == Some(0) && !compile.kept.contains("-cl-opt-disable") {
            compile.kept = format!("{} -cl-opt-disable", compile.kept).trim_start().to_owned();
        }
        for option in compile.removed.into_iter().chain(link.removed) {
            let count = plan.removed_options.entry(option).or_default();
            *count = count.saturating_add(1);
        }
        plan.jobs.push(Job { image: image.index, il, compile_options: compile.kept, link_options: link.kept, step });
    }
    plan
}
