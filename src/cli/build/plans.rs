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
use sycl_bundle::bundle::spec_setting::Which;
use sycl_bundle::compat::aspects::{Code, Graph, codes};
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::filter;
use sycl_bundle::compat::fit::{Finding, Subject, fit_with};
use sycl_bundle::compat::native::Stay;
use sycl_bundle::device::target::Target as Facts;
use sycl_bundle::error::{Problem, Result};
use sycl_bundle::report::name::demangle;
use sycl_bundle::rewrite::specialize::Specialized;

/// A plan for each target, in the order of the targets.
pub struct Plans<'a> {
    /// The plans; their jobs have been taken together.
    pub each: Vec<Plan<'a>>,
    /// All jobs.
    pub jobs: Vec<Job<'a>>,
    /// Images that cannot be read, each once.
    pub problems: Vec<Problem>,
    /// How many images are compiled for each target.
    pub counts: Vec<usize>,
    /// The images whose native code has what they import in it.
    pub linked: HashSet<usize>,
    /// The images whose specialization constants got values, for each target.
    pub specialized: HashMap<Unit, Specialized>,
    /// The constants that were given values.
    pub set: BTreeSet<Which>,
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
    let source_name = |mangled: &str| demangle(mangled).into_owned();
    let judged = wanted.iter().any(|wanted| wanted.facts.is_some());
    let codes = if judged { codes(images) } else { Vec::new() };
    let graph = Graph::of(&codes);
    let used = used(&graph, codes.len());
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
        let against = wanted.facts.as_ref().map(|facts| against(images, &codes, &used, facts)).unwrap_or_default();
        let recipe = |examined: &Examined<'_, '_>| {
            let shown = numbers.shown(examined.image.index);
            let mut used = |rule| {
                used_rules.borrow_mut().insert(rule);
            };
            recipes.rules.recipe(examined, shown, &wanted.target.name, &source_name, &mut used)
        };
        let target = &wanted.target;
        let rules = &recipes.rules.file;
        let wanted = For { target, number, against: &against, recipe: &recipe, rules, source_name: &source_name };
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
    recipes.check(images, &plans.set, &source_name)?;
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

/// The aspects that the kernels of each module use for sure.
fn used(graph: &Graph<'_>, modules: usize) -> Vec<HashSet<String>> {
    let mut used = vec![HashSet::new(); modules];
    for (module, kernel) in graph.kernels() {
        let (Some(of_module), Some(node)) = (used.get_mut(module), kernel.node) else { continue };
        let aspects = graph.used(module, node).into_iter().filter(|aspect| aspect.certain());
        of_module.extend(aspects.map(|aspect| aspect.name().to_owned()));
    }
    used
}

/// What speaks against images on a target, by index: what `filter` would say, or what its compiler would, of the code.
fn against(
    images: &[Examined<'_, '_>],
    codes: &[Code],
    used: &[HashSet<String>],
    facts: &Facts,
) -> HashMap<usize, Finding> {
    let subject = [Subject::new(facts)];
    let filtered = filter::against(images, codes, &subject);
    let [subject] = subject;
    let mut against = HashMap::new();
    for (at, (image, findings)) in images.iter().zip(filtered).enumerate() {
        let of_code = || {
            let used = used.get(at).into_iter().flatten().map(String::as_str);
            fit_with(image, &subject, used).reasons.into_iter().next()
        };
        if let Some(finding) = findings.into_iter().next().or_else(of_code) {
            against.insert(image.image.index, finding);
        }
    }
    against
}
