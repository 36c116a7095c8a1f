//! Why do kernels need the aspects that targets lack?
//!
//! What a kernel does is the same for every target: it is looked for once, by all threads, in the code of its image alone
//! where nothing is linked.

use super::judgement::{Grouping, Judgement, Whose};
use crate::compat::aspects::{Aspect, Evidence, Graph, code};
use crate::compat::examine::Examined;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// For how many kernels of each thing that is found the use is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// For all.
    All,
    /// For the first so many that count, which are those that are shown.
    First(usize),
}

/// Uses of aspects, with the calls that lead there. They outlive the file.
#[derive(Debug, Default)]
pub struct Proofs {
    /// By the image's place, the kernel's and the aspect.
    found: HashMap<(usize, usize, Aspect), Evidence>,
}

/// The kernel's place, the number of its item, the image's place and the aspect.
type Use = (usize, usize, usize, Aspect);

/// By the image's place: the kernels' places and the aspects.
type Asked = BTreeMap<usize, BTreeSet<(usize, Aspect)>>;

impl Proofs {
    /// The use of an aspect in an image by a kernel, by their places.
    pub fn find(&self, image: usize, kernel: usize, aspect: &str) -> Option<&Evidence> {
        self.found.get(&(image, kernel, Aspect::of_name(aspect)?))
    }

    /// Looks for what is found on any of the targets. `graph` is that of the images whose code was read already.
    pub(super) fn look(images: &[Examined<'_, '_>], graph: &Graph<'_>, judged: &[&Judgement], depth: Depth) -> Proofs {
        let asked: Vec<_> = asked(judged, depth).into_iter().collect();
        let found = asked.par_iter().flat_map_iter(|(place, asked)| {
            // Kernels that share an image are judged by one reading of it.
            let all = judged.first().map(|one| one.kernels.as_ref());
            let name = |kernel: usize| all.and_then(|all| all.name(kernel)).map_or("", |name| name);
            let shared = graph.codes().get(*place).is_some_and(|code| !code.nodes.is_empty());
            let own = if shared { None } else { images.get(*place).and_then(code) };
            let alone = own.as_ref().map(|own| Graph::link(std::slice::from_ref(own)));
            let (graph, module) = alone.as_ref().map_or((graph, *place), |alone| (alone, 0));
            let of_image = asked.iter().filter_map(|&(kernel, aspect)| {
                let mut found = evidence(graph, module, name(kernel), aspect)?;
                if module != *place {
                    found.chain.iter_mut().for_each(|step| step.module = *place);
                }
                Some(((*place, kernel, aspect), found))
            });
            of_image.collect::<Vec<_>>()
        });
        Proofs { found: found.collect() }
    }
}

/// By the image's place, the kernel's and the aspect.
impl FromIterator<((usize, usize, Aspect), Evidence)> for Proofs {
    fn from_iter<I: IntoIterator<Item = ((usize, usize, Aspect), Evidence)>>(found: I) -> Proofs {
        Proofs { found: found.into_iter().collect() }
    }
}

/// Collects the aspects to look for.
fn asked(judged: &[&Judgement], depth: Depth) -> Asked {
    let mut asked = Asked::new();
    // Most targets differ in what they lack, but not in whom it is found of.
    let mut known: HashSet<(*const Grouping, usize, Option<Whose>, Aspect)> = HashSet::new();
    for one in judged {
        // By what is said: the kernel's place, the number of its item and what is asked of it.
        let mut shown: HashMap<(&str, bool), Vec<Use>> = HashMap::new();
        for (group, items) in one.items.iter().enumerate() {
            for (nth, item) in items.iter().enumerate() {
                let Some(aspect) = item.finding.aspect.as_deref().and_then(Aspect::of_name) else { continue };
                let of_all = one.grouping.members(group).iter().filter_map(|kernel| {
                    let at = one.found(*kernel, item)?.at?;
                    Some((*kernel, nth, at, aspect))
                });
                match depth {
                    Depth::All => {
                        if known.insert((std::sync::Arc::as_ptr(&one.grouping), group, item.whose, aspect)) {
                            of_all.for_each(|(kernel, _, at, _)| {
                                asked.entry(at).or_default().insert((kernel, aspect));
                            });
                        }
                    }
                    Depth::First(most) if item.excused.is_none() => {
                        let key = (item.finding.message.as_str(), item.finding.certain);
                        shown.entry(key).or_default().extend(of_all.take(most));
                    }
                    Depth::First(_) => {}
                }
            }
        }
        for mut of_one in shown.into_values() {
            let Depth::First(most) = depth else { continue };
            of_one.sort_unstable();
            for (kernel, _, at, aspect) in of_one.into_iter().take(most) {
                asked.entry(at).or_default().insert((kernel, aspect));
            }
        }
    }
    asked
}

/// Finds why a kernel of a module needs an aspect: by its own code, else by that of the module's first function that
/// does.
fn evidence(graph: &Graph<'_>, module: usize, kernel: &str, aspect: Aspect) -> Option<Evidence> {
    let code = graph.codes().get(module)?;
    let own = code.kernels.iter().find(|one| one.name == kernel).and_then(|one| one.node);
    let mut nodes = own.into_iter().chain(0..code.nodes.len());
    nodes.find_map(|node| graph.evidence(module, node, aspect))
}
