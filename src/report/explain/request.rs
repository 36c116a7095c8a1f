//! Which lines of a message, which kernels and which images is an explanation about?

use super::{Explanation, FileConcerns, ImageChoice, MessageLine, Objection, RecordedDevices};
use crate::compat::aspects::{Graph, codes};
use crate::compat::choice::choose_among;
use crate::compat::examine::Examined;
use crate::compat::explain::said::{Message, Said, Saying};
use crate::compat::explain::trace::{Concerns, Looked, thrown};
use crate::compat::explain::{Known, meaning, remedies};
use crate::compat::finding::Verdict;
use crate::compat::fit::Subject;
use crate::compat::gate::{Demand, Gate, judgement};
use crate::device::target::Target;
use crate::error::Result;
use crate::limits;
use crate::report::FileFacts;
use crate::select::{KernelName, Pattern, Selector};
use std::collections::HashMap;
use std::sync::Arc;

/// The message and the kernels that an explanation is asked about.
#[derive(Debug)]
pub(crate) struct Request {
    /// The message; none where only kernels are asked about.
    pub(crate) message: Option<Message>,
    /// The kernels by name; all where there is none.
    pub(crate) kernels: Vec<Pattern>,
    /// Devices for which a recorded program compiled images just in time, by the images' digests.
    pub(crate) recorded: RecordedDevices,
}

impl Request {
    /// Begins the explanation: the meaning of each recognised line of the message.
    pub(crate) fn begin(&self) -> Explanation {
        let one = |saying: &Saying| MessageLine {
            saying: saying.clone(),
            meaning: meaning(&saying.said),
            files: Vec::new(),
            remedies: Vec::new(),
        };
        let sayings = self.message.iter().flat_map(|message| &message.sayings);
        let more_lines = self.message.as_ref().map_or(0, |message| message.more);
        Explanation { lines: sayings.map(one).collect(), more_lines, ..Explanation::default() }
    }

    /// Whether the answer is a bad one: nothing of the message is known, or without one a kernel does not run.
    pub(crate) fn fails(&self, explanation: &Explanation) -> bool {
        match &self.message {
            Some(message) => message.sayings.is_empty(),
            None => {
                let runs = |choice: &ImageChoice| choice.verdict != Verdict::Incompatible;
                !explanation.choices.iter().all(runs) || explanation.built.iter().any(|built| built.failure.is_some())
            }
        }
    }

    /// Whether the choice among a kernel's images is explained: it is asked for; where none is, the message names it, or
    /// there is no message.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let naming = self.message.as_ref().filter(|message| !message.kernels.is_empty());
        if let (true, Some(message)) = (self.kernels.is_empty(), naming) {
            return message.names(name);
        }
        // All kernels of a library are too many where only a message is given.
        self.matches(name) && (!self.kernels.is_empty() || self.message.is_none())
    }

    fn matches(&self, name: &str) -> bool {
        self.kernels.is_empty() || KernelName::new(name).matches_any(&self.kernels)
    }

    /// Checks that some kernel of a file is asked for.
    ///
    /// # Errors
    /// `NoMatch` where none is, with the nearest name.
    pub(crate) fn check(&self, facts: &FileFacts<'_>) -> Result<()> {
        let mut names = facts.images.iter().flat_map(|image| &image.kernels);
        if self.kernels.is_empty() || names.any(|name| self.matches(name)) {
            return Ok(());
        }
        let selector = Selector { kernels: self.kernels.clone(), ..Selector::default() };
        Err(selector.no_match(&facts.images))
    }

    /// Adds the kernels and images of a file that the message is about.
    pub(crate) fn add_concerns(&self, facts: &FileFacts<'_>, explanation: &mut Explanation) {
        let Some(message) = &self.message else { return };
        let file: Arc<str> = facts.path.into();
        let codes = codes(&facts.images);
        let looked = Looked::new(&facts.images, Graph::link(&codes));
        let files = explanation.lines.iter().flat_map(|line| &line.files);
        let kept = files.map(|of| of.concerns.len()).fold(0, usize::saturating_add);
        let mut room = limits::MAX_CONCERNS.saturating_sub(kept);
        for line in &mut explanation.lines {
            let said = &line.saying.said;
            let wanted = |name: &str| {
                let named = message.kernels.is_empty() || message.names(name);
                self.matches(name) && (named || !self.kernels.is_empty())
            };
            let Concerns { kept, left_out, .. } = looked.concerns(said, message, &wanted, room);
            room = room.saturating_sub(kept.len());
            let note = note(facts, said, message, kept.is_empty() && left_out == 0);
            line.files.push(FileConcerns { file: file.clone(), concerns: kept, left_out, note });
        }
    }

    /// Adds the remedies for each line, which may name the first of the files and a target.
    pub(crate) fn add_remedies(&self, file: Option<&str>, target: Option<&Target>, explanation: &mut Explanation) {
        let kernel = self.message.as_ref().and_then(|message| message.kernels.first()).map(String::as_str);
        let kernel = kernel.or(self.kernels.first().map(Pattern::text));
        let known = Known { file, kernel, target };
        for line in &mut explanation.lines {
            line.remedies = remedies(&line.saying.said, known);
            if file.is_none() && concerns_files(&line.saying.said) {
                line.remedies.push(
                    "with the program or library: `sycl-bundle explain FILE --message ...` names the kernels".into(),
                );
            }
        }
    }

    /// The runtime's choice for each kernel of a file that is asked for on each target, in the order of targets and kernels.
    pub(crate) fn choices(
        &self,
        path: &str,
        images: &[Examined<'_, '_>],
        subjects: &[Subject<'_>],
    ) -> Vec<ImageChoice> {
        if subjects.is_empty() {
            return Vec::new();
        }
        let file: Arc<str> = path.into();
        let codes = codes(images);
        let looked = Looked::new(images, Graph::link(&codes));
        let mut order: Vec<&str> = Vec::new();
        let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, image) in images.iter().enumerate() {
            for name in image.kernels.iter().filter(|name| self.takes(name)) {
                let places = holders.entry(name).or_insert_with(|| {
                    order.push(name);
                    Vec::new()
                });
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        let gate = Gate::new(images, &codes, |name| self.takes(name));
        let mut choices = Vec::new();
        for subject in subjects {
            let judged = gate.judge(subject, &Demand::default());
            let proofs = gate.proofs(&[&judged], judgement::Depth::All);
            let mut found: HashMap<&str, Vec<Objection>> = HashMap::new();
            for finding in judged.findings() {
                let evidence = finding.evidence(&proofs).cloned();
                let objection = Objection { finding: finding.finding.clone(), image: finding.image, evidence };
                found.entry(finding.kernel).or_default().push(objection);
            }
            for name in &order {
                let places = holders.get(name).cloned().unwrap_or_default();
                let choice = choose_among(images, places, name, subject);
                let thrown = thrown(&choice, &looked, subject);
                let findings = found.remove(*name).unwrap_or_default();
                let found = (thrown, findings);
                choices.push(ImageChoice::new(file.clone(), name, (images, &self.recorded), subject, &choice, found));
            }
        }
        choices
    }
}

/// A sentence about the file itself.
fn note(facts: &FileFacts<'_>, said: &Said, message: &Message, nothing: bool) -> Option<String> {
    if facts.bundle.is_none() {
        let linked = facts.host.and_then(|host| host.sycl_abi);
        return linked.map(|abi| {
            format!(
                "it is linked to libsycl.so.{abi}, but holds no device code: it was linked without -fsycl, or its kernels are \
                 in a library"
            )
        });
    }
    if !nothing {
        return None;
    }
    let named = message.kernels.first();
    match (said, named) {
        (Said::NoKernel | Said::NoImage(_), Some(name)) => {
            let patterns = vec![Pattern::new(name).ok()?];
            let near = Selector { kernels: patterns, ..Selector::default() };
            let near = near.no_match(&facts.images);
            let near = near.remedy().map(|near| format!("; {near}")).unwrap_or_default();
            Some(format!("none of its images holds the kernel{near}"))
        }
        (said, _) if concerns_files(said) => Some("nothing in it is of this sort".to_owned()),
        _ => None,
    }
}

/// Whether kernels and images of a file can be concerned.
fn concerns_files(said: &Said) -> bool {
    !matches!(
        said,
        Said::NoDevice | Said::NoOcloc | Said::OclocDevice(_) | Said::Ocloc(_) | Said::Code(_) | Said::Phrase(_)
    )
}
