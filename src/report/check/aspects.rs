//! Which aspects does code use that are not declared, not recorded, or not on a target?
//!
//! The warnings of the compiler about optional kernel features, over all images of all files together: a function that one
//! image imports is followed into the image that exports it.

use super::{Answer, Finding, Question};
use crate::bundle::property_sets::{key, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Aspect, Code, Graph, codes};
use crate::compat::kernels::providers;
use crate::compat::warnings::{self, Subject, Warning};
use crate::device::target::Target;
use crate::report::FileFacts;

/// An image whose code takes part.
#[derive(Debug)]
struct CheckedImage {
    file: String,
    image: usize,
    requirements: Requirements,
    /// Whether its code could be read: it is SPIR-V, undamaged.
    judged: bool,
    /// Whether it is explicit SIMD.
    esimd: bool,
    /// Whether its kernels are asked about, rather than only called into.
    asked: bool,
}

/// The questions about aspects.
#[derive(Debug)]
pub struct Questions<'q> {
    /// The aspects that `[[sycl::device_has()]]` lists, where uses must be declared.
    pub declared: Option<&'q [String]>,
    /// Whether images must record what functions of other images use.
    pub external: bool,
    /// The fixed targets that must have what is used.
    pub targets: &'q [&'q Target],
}

/// The code of all files, gathered file by file.
#[derive(Debug, Default)]
pub struct AspectCheck {
    modules: Vec<Code>,
    images: Vec<CheckedImage>,
}

/// Warnings for each question, and whether all code could be judged.
#[derive(Debug)]
pub struct Warnings<'q> {
    images: Vec<CheckedImage>,
    found: Vec<(Question<'q>, Vec<Warning>)>,
    partial: bool,
}

impl AspectCheck {
    /// Adds the images of a file, and those that they may call into.
    pub fn add(&mut self, facts: &FileFacts<'_>) {
        self.modules.extend(codes(&facts.images));
        self.images.extend(facts.images.iter().map(|image| CheckedImage {
            file: facts.path.to_owned(),
            image: image.image.index,
            requirements: image.requirements.clone(),
            judged: image.module.is_some() && image.problem.is_none(),
            esimd: image.image.properties.number(set::MISC, key::ESIMD) == Some(1),
            asked: true,
        }));
        // Unselected images that selected kernels may call.
        for (image, code) in facts.bundle.map(|bundle| providers(bundle, &facts.images)).unwrap_or_default() {
            self.modules.push(code);
            let file = facts.path.to_owned();
            let requirements = Requirements::default();
            self.images.push(CheckedImage { file, image, requirements, judged: true, esimd: false, asked: false });
        }
    }

    /// Judges the kernels and exported functions that `wanted` selects by their mangled names; `whole` says that every file
    /// could be read.
    pub fn warnings<'q>(self, questions: &Questions<'q>, whole: bool, wanted: &dyn Fn(&str) -> bool) -> Warnings<'q> {
        let AspectCheck { modules, images } = self;
        let graph = Graph::link(&modules);
        let kernels: Vec<_> = graph
            .kernels()
            .filter(|(_, kernel)| wanted(&kernel.name))
            .filter_map(|(module, kernel)| {
                let image = images.get(module).filter(|image| image.asked)?;
                let uses = |node| graph.used(module, node).contains(&Aspect::Esimd);
                let esimd = image.esimd || kernel.node.is_some_and(uses);
                Some((module, kernel, warnings::requirements(&image.requirements, kernel, esimd)))
            })
            .collect();
        let mut subjects: Vec<Subject<'_>> = kernels
            .iter()
            .map(|(module, kernel, requirements)| Subject {
                module: *module,
                node: kernel.node,
                kernel: &kernel.name,
                requirements,
            })
            .collect();
        // Functions that no kernel here calls are code that others may call.
        let called = graph.reached(subjects.iter().filter_map(|subject| Some((subject.module, subject.node?))));
        let alone = graph.exported().filter(|function| !called.contains(&(function.module, function.node)));
        subjects.extend(alone.filter(|function| wanted(function.name)).filter_map(|function| {
            let image = images.get(function.module).filter(|image| image.asked)?;
            Some(Subject {
                module: function.module,
                node: Some(function.node),
                kernel: function.name,
                requirements: &image.requirements,
            })
        }));
        let warn = |of: &dyn Fn(&Subject<'_>) -> Vec<Warning>| subjects.iter().flat_map(of).collect::<Vec<_>>();
        let of_kernels = subjects.get(..kernels.len()).unwrap_or_default();
        let mut found: Vec<(Question<'_>, Vec<Warning>)> = Vec::new();
        if let Some(declared) = questions.declared {
            let warnings = warn(&|subject| warnings::declared(&graph, subject, declared));
            found.push((Question::Declared, warnings));
        }
        if questions.external {
            let recorded = |module: usize| images.get(module).map(|image| &image.requirements);
            let warnings = of_kernels.iter().flat_map(|subject| warnings::external(&graph, subject, &recorded));
            found.push((Question::External, warnings.collect()));
        }
        for target in questions.targets {
            let warnings = warn(&|subject| warnings::fixed_target(&graph, subject, target));
            found.push((Question::Target(&target.name), warnings));
        }
        let open = |subject: &Subject<'_>| subject.node.is_none_or(|node| graph.is_open(subject.module, node));
        let partial = images.is_empty()
            || !whole
            || images.iter().any(|image| !image.judged)
            || modules.iter().any(|code| code.unknown > 0)
            || subjects.iter().any(open);
        Warnings { images, found, partial }
    }
}

impl Warnings<'_> {
    /// The answers to the questions.
    pub fn answers(&self) -> Vec<Answer<'_>> {
        let answers = self.found.iter().map(|(question, warnings)| {
            let findings = warnings.iter().filter_map(|warning| {
                let image = self.images.get(warning.module)?;
                let user = warning.evidence.as_ref().and_then(|evidence| evidence.chain.last());
                let user = user.and_then(|step| self.images.get(step.module)).unwrap_or(image);
                Some(Finding { file: &image.file, image: image.image, user: (&user.file, user.image), warning })
            });
            Answer { question: *question, findings: findings.collect(), partial: self.partial }
        });
        answers.collect()
    }
}
