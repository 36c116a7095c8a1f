//! Which aspects does the code of a module use, and where?
//!
//! Judgement by what functions do, not by what the module declares. [`Code::read`] looks at one module; [`graph::Graph`]
//! links the modules of a file or of several and follows calls, so that every kernel and every function has the aspects
//! it may need, each with the way there; [`compare()`] sets that beside what the compiler stored.
//!
//! A function that takes a `double` from another uses `double` itself, but not of its own accord. Hence the way to a use is
//! that of DPC++'s warnings: into the first called function that uses the aspect, as far down as it goes.

pub mod code;
pub mod graph;
mod rules;

use self::graph::Way;
use super::bitcode;
use super::examine::Examined;
use crate::bundle::format::Format;
use crate::spirv::Module;
use crate::spirv::index::Index;
pub use code::Code;
pub use graph::{Evidence, Graph, Sets, Step};
use rayon::prelude::*;
pub use rules::Aspect;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The code of examined images, in their order; that of an image that is neither SPIR-V nor bitcode, or does not inflate,
/// is empty, so that places are those of the images.
pub fn codes(images: &[Examined<'_, '_>]) -> Vec<Code> {
    images.par_iter().map(|image| code(image).unwrap_or_default()).collect()
}

/// Reads the code of the images that are `wanted`; the code of others is empty.
pub(crate) fn codes_where(images: &[Examined<'_, '_>], wanted: impl Fn(&Examined<'_, '_>) -> bool + Sync) -> Vec<Code> {
    images.par_iter().map(|image| wanted(image).then(|| code(image)).flatten().unwrap_or_default()).collect()
}

/// The code of an image; none where it is neither SPIR-V nor bitcode, or does not inflate.
pub(crate) fn code(image: &Examined<'_, '_>) -> Option<Code> {
    if let Some(module) = &image.bitcode {
        return Some(bitcode::code(module).of_image(image.image));
    }
    let contents = if image.format == Format::SpirV { image.image.contents().ok()? } else { return None };
    Some(Code::read(&Index::read(&contents).ok()?).of_image(image.image))
}

/// The aspects that an image's code uses for sure, by name; none of what is no SPIR-V.
pub(crate) fn shown(image: &Examined<'_, '_>) -> BTreeSet<&'static str> {
    match (&image.module, image.image.contents()) {
        (Some(module), Ok(contents)) => shown_by(module, &contents),
        (module, _) => module.iter().flat_map(|module| &module.used_aspects).copied().collect(),
    }
}

/// Lists the aspects that a module and its bytes show. Types and instructions tell all of most modules; the code of
/// others is read.
pub(crate) fn shown_by(module: &Module, contents: &[u8]) -> BTreeSet<&'static str> {
    let mut shown: BTreeSet<&'static str> = module.used_aspects.iter().copied().collect();
    if module.may_use_others
        && let Ok(index) = Index::read(contents)
    {
        shown.extend(Code::read(&index).used().into_iter().filter(|aspect| aspect.certain()).map(|one| one.name()));
    }
    shown
}

/// Progress of the search at a node.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Not,
    Begun,
    Done,
}

/// A node whose calls are being looked at.
struct Begun {
    node: usize,
    /// Nodes that it calls.
    calls: Vec<(Way, usize)>,
    /// Number of these that lead nowhere or in a circle.
    passed: usize,
}

/// For each node the next step of that way; none where only steps that lead in a circle are left.
///
/// `near` are the steps towards the nearest use, `leads` gives the called functions of a node in order, and `uses` tells
/// whether a node uses the aspect itself. A step leads to a node whose own step was fixed before, so that no way is a circle.
fn steps(near: &[Way], leads: impl Fn(usize) -> Vec<(Way, usize)>, uses: impl Fn(usize) -> bool) -> Vec<Way> {
    let reaches = |node: usize| near.get(node).is_some_and(|way| *way != Way::None);
    let mut steps = vec![Way::None; near.len()];
    let mut states = vec![State::Not; near.len()];
    // The nodes on the way down.
    let mut begun: Vec<Begun> = Vec::new();
    let mut next = (0..near.len()).filter(|node| reaches(*node));
    loop {
        let Some(Begun { node, calls, passed }) = begun.last_mut() else {
            // The next node that nothing has led to.
            let Some(root) = next.next() else { break };
            if let Some(state) = states.get_mut(root).filter(|state| **state == State::Not) {
                *state = State::Begun;
                begun.push(Begun { node: root, calls: leads(root), passed: 0 });
            }
            continue;
        };
        let node = *node;
        let Some((way, to)) = calls.get(*passed).copied() else {
            // Nothing further down.
            close(&mut steps, &mut states, node, if uses(node) { Way::Here } else { Way::None });
            begun.pop();
            continue;
        };
        match states.get_mut(to).filter(|_| reaches(to)) {
            Some(State::Done) => {
                close(&mut steps, &mut states, node, way);
                begun.pop();
            }
            Some(state @ State::Not) => {
                // Looked at again when that is done.
                *state = State::Begun;
                begun.push(Begun { node: to, calls: leads(to), passed: 0 });
            }
            Some(State::Begun) | None => *passed = passed.saturating_add(1),
        }
    }
    steps
}

fn close(steps: &mut [Way], states: &mut [State], node: usize, way: Way) {
    if let (Some(step), Some(state)) = (steps.get_mut(node), states.get_mut(node)) {
        (*step, *state) = (way, State::Done);
    }
}

/// The three views of one image's aspects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Aspects by SYCL name that the compiler stored (`SYCL/device requirements`).
    pub stored: Vec<String>,
    /// Aspects that the module declares, by capability.
    pub(crate) declared: Vec<Aspect>,
    /// Aspects that its code uses.
    pub found: Vec<Aspect>,
    /// Reasons why they differ, one entry for each aspect that not all three have.
    pub differences: Vec<Difference>,
}

/// One aspect that not all views have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// SYCL name.
    pub aspect: String,
    /// The reason.
    pub reason: Reason,
}

/// The reason why the views differ on an aspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Stored, and the module neither declares nor uses it: the optimiser removed the use, or the source declares it
    /// (`device_has`).
    NotInModule,
    /// Stored; SPIR-V has no way to show it: the source declares it, or calls what the compiler's headers mark with it.
    NotShown,
    /// Stored and declared by the module, but no instruction of a function uses it: a type that is only pointed to.
    Unused,
    /// Only functions of the image that the kernel does not reach use it.
    Elsewhere,
    /// Declared by the module, neither stored nor used: a type that is only pointed to.
    DeclaredOnly,
    /// Used, and of those that the compiler never stores on its own.
    NeverStored,
    /// Used, and stored by the compiler for others, but not for this image.
    NotStored,
    /// The code may use it; other aspects leave the same instructions.
    Possible,
}

impl Reason {
    /// The reason as a clause that follows the aspect's name.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reason::NotInModule => {
                "is stored, but no type, instruction or capability of the module shows it: \
                 declared with device_has, or optimised away"
            }
            Reason::NotShown => "is stored, and leaves no trace of its own in SPIR-V",
            Reason::Unused => "is stored and declared by a capability, but no function uses it",
            Reason::Elsewhere => "is used by other functions of its image only",
            Reason::DeclaredOnly => "is declared by a capability, but no function uses it: the type is only pointed to",
            Reason::NeverStored => "is used; the compiler does not store it on its own",
            Reason::NotStored => "is used, but not stored",
            Reason::Possible => "may be used: several aspects leave these instructions",
        }
    }
}

/// Compares what is stored for an image with its module. `found` are the aspects that its code uses: those of one kernel,
/// or of all functions ([`Graph::used_by_module`]).
pub fn compare(stored: &[String], code: &Code, found: &[Aspect]) -> Comparison {
    let mut differences = Vec::new();
    for name in stored {
        let reason = match Aspect::of_name(name) {
            None => Reason::NotShown,
            Some(aspect) if found.contains(&aspect) => continue,
            Some(aspect) if code.declared.contains(&aspect) => Reason::Unused,
            Some(_) => Reason::NotInModule,
        };
        differences.push(Difference { aspect: name.clone(), reason });
    }
    for aspect in Aspect::ALL {
        if stored.iter().any(|name| name == aspect.name()) {
            continue;
        }
        let reason = match (found.contains(&aspect), code.declared.contains(&aspect)) {
            (true, _) if !aspect.certain() => Reason::Possible,
            (true, _) if !aspect.recorded_by_compiler() => Reason::NeverStored,
            (true, _) => Reason::NotStored,
            (false, true) => Reason::DeclaredOnly,
            (false, false) => continue,
        };
        differences.push(Difference { aspect: aspect.name().to_owned(), reason });
    }
    Comparison { stored: stored.to_vec(), declared: code.declared.clone(), found: found.to_vec(), differences }
}

/// Compares the views of one kernel of an image: `found` is what it uses itself, `image` what all functions of its
/// image use (rarely asked for), and `stored` is none where nobody stored anything, as for a bare module.
pub fn compare_kernel<'i>(
    stored: Option<&[String]>,
    code: &Code,
    found: &[Aspect],
    image: impl Fn() -> &'i [Aspect],
) -> Comparison {
    let mut comparison = compare(stored.unwrap_or_default(), code, found);
    for difference in &mut comparison.differences {
        let absent = matches!(difference.reason, Reason::NotInModule | Reason::Unused | Reason::DeclaredOnly);
        if absent && image().iter().any(|aspect| aspect.name() == difference.aspect) {
            difference.reason = Reason::Elsewhere;
        }
    }
    if stored.is_none() {
        comparison.differences.retain(|one| !matches!(one.reason, Reason::NotStored | Reason::NeverStored));
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::{Way, steps};

    /// Nodes by their calls; those in `uses` use the aspect.
    fn ways(calls: &[&[usize]], uses: &[usize]) -> Vec<Way> {
        // All of these reach a use.
        let near = vec![Way::Here; calls.len()];
        let leads = |node: usize| (0..).zip(calls[node]).map(|(nth, to)| (Way::Call(nth), *to)).collect();
        steps(&near, leads, |node| uses.contains(&node))
    }

    #[test]
    fn a_use_of_the_callees_is_told_rather_than_ones_own() {
        assert_eq!(ways(&[&[1], &[2], &[]], &[0, 1, 2]), [Way::Call(0), Way::Call(0), Way::Here]);
    }

    #[test]
    fn a_circle_ends_where_it_closes() {
        assert_eq!(ways(&[&[1], &[0]], &[0, 1]), [Way::Call(0), Way::Here]);
        // The second only calls back: it has no step of its own.
        assert_eq!(ways(&[&[1], &[0]], &[0]), [Way::Call(0), Way::None]);
    }

    #[test]
    fn a_function_that_calls_itself_is_the_end() {
        assert_eq!(ways(&[&[0]], &[0]), [Way::Here]);
    }
}
