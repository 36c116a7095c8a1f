//! Which images are compiled for which targets?

use super::recipe::Recipes;
use super::targets::Wanted;
use crate::cli::global::Global;
use crate::cli::sources::Numbers;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use sycl_bundle::build::plan::{For, Plan, plan};
use sycl_bundle::build::{Job, Unit};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::spec_constants::ConstantName;
use sycl_bundle::compat::engine::Engine;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::finding::{Finding, RuleId};
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::codes;
use sycl_bundle::compat::native::Stay;
use sycl_bundle::device::target::Target as Facts;
use sycl_bundle::error::{Problem, Result};
use sycl_bundle::rewrite::specialize::Specialized;

/// A plan for each target, in the order of the targets.
pub struct Plans<'a> {
    /// The plans; their jobs have been taken together.
    pub each: Vec<Plan<'a>>,
    /// All jobs.
    pub jobs: Vec<Job<'a>>,
    /// Images that cannot be read, each once.
    pub problems: Vec<Problem>,
    /// The number of images that are compiled for each target.
    pub counts: Vec<usize>,
    /// The images whose native code has what they import in it.
    pub linked: HashSet<usize>,
    /// The images whose specialization constants got values, for each target.
    pub specialized: HashMap<Unit, Specialized>,
    /// The constants that were given values.
    pub set: BTreeSet<ConstantName>,
}

/// Plans. With a bundle, images that import something are linked with those of it that define that, where the target's
/// compiler links.
///
/// # Errors
/// `Usage` for a value that a specialization constant cannot have.
pub fn plans<'a>(
    global: &Global,
    wanted: &[Wanted],
    images: &[Examined<'_, 'a>],
    linked: Option<&Bundle<'a>>,
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
    };
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
        let wanted = For { target, number, against: &against, recipe: &recipe, rules };
        let mut own = plan(images, wanted, linked)?;
        plans.set.append(&mut own.set);
        plans.specialized.extend(own.specialized.drain().map(|(image, specialized)| ((image, number), specialized)));
        plans.counts.push(own.jobs.len());
        plans.jobs.append(&mut own.jobs);
        // They are the same for every target.
        if number == 0 {
            plans.problems.append(&mut own.problems);
        }
        plans.linked.extend(own.linked.iter().copied());
        plans.each.push(own);
    }
    recipes.unused(global, &used_rules.into_inner());
    recipes.check(images, &plans.set)?;
    Ok(plans)
}

impl Plans<'_> {
    /// The images that do not become native for a target though another could: all but those that are no SPIR-V, or
    /// hold no kernel.
    pub fn left_out(&self) -> impl Iterator<Item = (usize, usize, String)> {
        self.each.iter().enumerate().flat_map(|(target, plan)| {
            let open = plan.staying.iter().filter(|(_, stay)| !matches!(stay, Stay::NotSpirV(_) | Stay::NoKernel));
            let staying = open.map(|(image, stay)| (*image, stay.to_string()));
            let skipped = plan.skipped.iter().map(|(image, finding)| (*image, finding.message.clone()));
            staying.chain(skipped).map(move |(image, why)| (image, target, why)).collect::<Vec<_>>()
        })
    }
}

/// The first certain finding about each image on a target, by index; imports do not count, since linking resolves them.
fn against(engine: &Engine<'_>, facts: &Facts) -> HashMap<usize, Finding> {
    let subject = Subject::new(facts);
    // What is native is not compiled, and no adapter of NVIDIA GPUs takes what is.
    let counts = |finding: &Finding| {
        finding.rule != RuleId::Imports && (subject.takes_spirv() || finding.rule != RuleId::Target)
    };
    let one = |(at, image): (usize, &Examined<'_, '_>)| {
        let mut reasons = engine.fit(at, &subject).reasons.into_iter();
        Some((image.image.index, reasons.find(counts)?))
    };
    engine.images().iter().enumerate().filter_map(one).collect()
}
