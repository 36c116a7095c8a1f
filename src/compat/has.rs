//! Would `sycl::has_kernel_bundle` say yes?
//!
//! SYCL 2020, 4.11.7: of kernel ids, each can be represented in a device image of the state and is compatible with one
//! device at least; without kernel ids, one kernel at least is so. A bundle of input needs `aspect::online_compiler` of all
//! devices, one of objects `aspect::online_linker`. An image can be represented in its own state and in those after it.

use super::examine::Examined;
use super::finding::Verdict;
use super::fit::Subject;
use super::gate::{Demand, Gate, codes};
use crate::bundle::image::State;
use crate::device::target::{Has, Target};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Whether a kernel has a bundle of the state for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether it has.
    pub(crate) verdict: Verdict,
    /// Reasons why not, or why nobody can tell.
    pub(crate) reasons: Vec<String>,
}

/// The question.
#[derive(Debug)]
pub(crate) struct Asked<'t> {
    /// The state of the bundle.
    pub(crate) state: State,
    /// The devices, at least one.
    pub(crate) subjects: Vec<Subject<'t>>,
}

/// An aspect that all devices must have, and one may lack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lack {
    /// The device.
    pub(crate) target: String,
    /// The aspect.
    pub(crate) aspect: &'static str,
    /// Whether it is sure that it lacks it.
    pub(crate) certain: bool,
}

/// Facts about kernels, gathered file by file.
#[derive(Debug)]
pub(crate) struct Bundles<'t> {
    asked: Asked<'t>,
    kernels: BTreeMap<Arc<str>, Vec<Outcome>>,
}

/// The answer.
#[derive(Debug)]
pub(crate) struct Conclusion {
    /// Whether there is such a bundle: `Runs` is yes.
    pub(crate) verdict: Verdict,
    /// The devices that lack what the state needs.
    pub(crate) lacks: Vec<Lack>,
    /// Each kernel by its mangled name, in order of names: whether it is part of such a bundle, and what holds for each
    /// device.
    pub(crate) kernels: Vec<(Arc<str>, Verdict, Vec<Outcome>)>,
}

impl<'t> Bundles<'t> {
    /// Nothing is known yet.
    pub(crate) fn new(asked: Asked<'t>) -> Bundles<'t> {
        Bundles { asked, kernels: BTreeMap::new() }
    }

    /// Adds the kernels of a file that are wanted, by their mangled names.
    pub(crate) fn file(&mut self, images: &[Examined<'_, '_>], wanted: impl Fn(&str) -> bool) {
        let state = self.asked.state;
        let states: Vec<State> =
            [State::Input, State::Object, State::Executable].into_iter().filter(|own| *own <= state).collect();
        let codes = codes(images);
        let gate = Gate::new(images, &codes, wanted);
        let names: Vec<Arc<str>> = gate.kernels().names().map(Arc::from).collect();
        let demand = Demand { states, ..Demand::default() };
        for (at, subject) in self.asked.subjects.iter().enumerate() {
            let mut reasons: HashMap<String, (Verdict, Vec<String>)> = HashMap::new();
            let mut against = |kernel: &str, certain, message: &str| {
                let (verdict, all) = reasons.entry(kernel.to_owned()).or_insert((Verdict::Compatible, Vec::new()));
                *verdict = (*verdict).max(if certain { Verdict::Incompatible } else { Verdict::Unknown });
                all.push(message.to_owned());
            };
            for found in gate.judge(subject, &demand).findings() {
                against(found.kernel, found.finding.certain, &found.finding.message);
            }
            for name in &names {
                let (verdict, reasons) = reasons.remove(&**name).unwrap_or((Verdict::Compatible, Vec::new()));
                let all = self.kernels.entry(name.clone()).or_default();
                let outcome = Outcome { verdict, reasons };
                // A kernel may be in several files; the best of them is what the program has.
                match all.get_mut(at) {
                    Some(known) if known.verdict <= outcome.verdict => {}
                    Some(known) => *known = outcome,
                    None => all.push(outcome),
                }
            }
        }
    }

    /// Whether any kernel is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// The mangled names of all kernels known.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(|name| &**name)
    }

    /// The answer about all kernels that were added: each of them where they are asked for by id, else any.
    pub(crate) fn conclude(self, by_id: bool) -> Conclusion {
        let lacks = self.lacks();
        let kernels: Vec<(Arc<str>, Verdict, Vec<Outcome>)> = self
            .kernels
            .into_iter()
            .map(|(name, outcomes)| {
                let best = outcomes.iter().map(|one| one.verdict).min().unwrap_or(Verdict::Incompatible);
                (name, best, outcomes)
            })
            .collect();
        let verdicts = kernels.iter().map(|(_, verdict, _)| *verdict);
        let kernel = if by_id { verdicts.max() } else { verdicts.min() };
        let device = lacks.iter().map(|lack| if lack.certain { Verdict::Incompatible } else { Verdict::Unknown }).max();
        let verdict = kernel.unwrap_or(Verdict::Incompatible).max(device.unwrap_or(Verdict::Compatible));
        Conclusion { verdict, lacks, kernels }
    }

    fn lacks(&self) -> Vec<Lack> {
        let aspect = match self.asked.state {
            State::Input => "online_compiler",
            State::Object => "online_linker",
            State::Executable => return Vec::new(),
        };
        let has = |target: &Target| match self.asked.state {
            State::Input => target.compiles_online(),
            _ => target.has(aspect),
        };
        let lack = |target: &Target| match has(target) {
            Has::Yes => None,
            has => Some(Lack { target: target.name.clone(), aspect, certain: has == Has::No }),
        };
        self.asked.subjects.iter().filter_map(|subject| lack(subject.target)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect::Epoch;
    use crate::bundle::image::Image;
    use crate::compat::examine::examine_image;
    use crate::compat::fit::tests::{array, image, module, words};
    use crate::device;

    fn answer(images: &[Image<'static>], state: State, targets: &[&str], by_id: bool) -> Conclusion {
        // One module stands for those of any kernels.
        let examined =
            images.iter().map(|one| Examined { contradictions: Vec::new(), ..examine_image(one, Epoch::From2026) });
        let examined: Vec<_> = examined.collect();
        let table = device::table();
        let subjects = targets.iter().map(|name| Subject::new(table.target(name).unwrap())).collect();
        let mut bundles = Bundles::new(Asked { state, subjects });
        bundles.file(&examined, |_| true);
        bundles.conclude(by_id)
    }

    fn spirv(kernel: &'static str, aspects: &[u32]) -> Image<'static> {
        let required: &[_] = if aspects.is_empty() { &[] } else { &[("aspects", words(aspects))] };
        Image { entries: vec![kernel], ..image(&module(0x0001_0400, &[]), "spir64", required) }
    }

    #[test]
    fn any_kernel_is_enough_but_ids_all_count() {
        let images = [spirv("plain", &[]), Image { index: 1, ..spirv("wide", &[6]) }];
        let ask = |targets: &[&str], by_id| answer(&images, State::Executable, targets, by_id).verdict;
        assert_eq!(ask(&["intel_gpu_acm_g10"], false), Verdict::Compatible);
        assert_eq!(ask(&["intel_gpu_acm_g10"], true), Verdict::Incompatible);
        // Each kernel needs one device of several.
        assert_eq!(ask(&["intel_gpu_acm_g10", "intel_gpu_pvc"], true), Verdict::Compatible);
        let kernels = answer(&images, State::Executable, &["intel_gpu_acm_g10"], true).kernels;
        let verdicts: Vec<_> = kernels.iter().map(|(name, verdict, _)| (&**name, *verdict)).collect();
        assert_eq!(verdicts, [("plain", Verdict::Compatible), ("wide", Verdict::Incompatible)]);
    }

    #[test]
    fn images_are_of_their_state_and_those_after_it() {
        let native = image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))]);
        let ask = |images: &[Image<'static>], state| answer(images, state, &["intel_gpu_pvc"], true).verdict;
        assert_eq!(ask(std::slice::from_ref(&native), State::Executable), Verdict::Compatible);
        assert_eq!(ask(std::slice::from_ref(&native), State::Input), Verdict::Incompatible);
        for state in [State::Input, State::Object, State::Executable] {
            assert_eq!(ask(&[spirv("k", &[])], state), Verdict::Compatible, "{state:?}");
        }
        assert_eq!(ask(&[], State::Executable), Verdict::Incompatible);
    }

    #[test]
    fn states_need_their_aspect_of_all_devices() {
        let lacking = answer(&[spirv("k", &[])], State::Input, &["intel_gpu_pvc", "spir64"], true);
        let lacks: Vec<_> =
            lacking.lacks.iter().map(|lack| (lack.target.as_str(), lack.aspect, lack.certain)).collect();
        assert_eq!(lacks, [("spir64", "online_compiler", false)]);
        assert_eq!(lacking.verdict, Verdict::Unknown);
    }
}
