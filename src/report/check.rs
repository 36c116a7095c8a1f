//! What did `check` find, as text and as JSON?
//!
//! Without a target, `check` tells the compiler's warnings about optional kernel features, over all images of all files together: a function that one
//! image imports is followed into the image that exports it.

pub(super) mod json;

use super::document::{Document, Form, Sink};
use super::evidence::{self, Names};
use super::json::{FileProblem, SchemaVersion, put_line};
use super::text::Shown;
use crate::bundle::property_sets::{key, set};
use crate::bundle::requirements::Requirements;
use crate::compat::aspects::{Aspect, Code, Graph, codes};
use crate::compat::finding::Verdict;
use crate::compat::kernels::providers;
use crate::compat::warnings::{self, Subject, Warning};
use crate::device::target::Target;
use crate::error::Result;
use crate::report::FileFacts;
pub(crate) use json::schema;
use std::io::Write;

/// A warning with where its kernel is.
#[derive(Debug)]
pub(crate) struct LocatedWarning<'f> {
    /// The file, as the user gave it.
    pub(crate) file: &'f str,
    /// The image's index in the file.
    pub(crate) image: usize,
    /// The file and the image with the instruction in question, which may be others than the kernel's.
    pub(crate) user: (&'f str, usize),
    /// The warning.
    pub(crate) warning: &'f Warning,
}

/// A question about aspects, without a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question<'f> {
    /// Whether all aspects in use are declared.
    Declared,
    /// Whether the images record what functions of other images use.
    External,
    /// Whether a target has what is used.
    Target(&'f str),
}

impl<'f> Question<'f> {
    /// The question's name in reports.
    fn name(self) -> &'static str {
        match self {
            Question::Declared => "declared",
            Question::External => "external",
            Question::Target(_) => "target",
        }
    }

    fn target(self) -> Option<&'f str> {
        match self {
            Question::Target(name) => Some(name),
            _ => None,
        }
    }
}

/// The findings on one question.
#[derive(Debug)]
pub(crate) struct Answer<'f> {
    /// The question.
    pub(crate) question: Question<'f>,
    /// Warnings, in order of files and images.
    pub(crate) findings: Vec<LocatedWarning<'f>>,
    /// Whether some code could not be judged.
    pub(crate) partial: bool,
}

impl Answer<'_> {
    /// The verdict: one sure finding says no; one that is not sure, or code that could not be judged, leaves it open.
    pub(crate) fn verdict(&self) -> Verdict {
        let worst = self.findings.iter().map(|finding| finding.warning.certain).max();
        match (worst, self.partial) {
            (Some(true), _) => Verdict::Incompatible,
            (Some(false), _) | (None, true) => Verdict::Unknown,
            (None, false) => Verdict::Compatible,
        }
    }
}

/// The verdict on all questions together: the worst.
fn verdict(answers: &[Answer<'_>]) -> Verdict {
    answers.iter().map(Answer::verdict).max().unwrap_or(Verdict::Compatible)
}

fn finding<'f>(one: &LocatedWarning<'f>) -> json::Finding<'f> {
    let LocatedWarning { file, image, user: (of, number), warning } = *one;
    let evidence = warning.evidence.as_ref();
    let found = warning.finding(&Names { demangle: true }.show(warning.function()));
    json::Finding {
        question: None,
        target: None,
        rule: found.rule,
        certain: found.certain,
        file,
        image: Some(image),
        kernel: Some(&warning.kernel),
        demangled: Some(Names { demangle: true }.show(&warning.kernel).into()),
        message: found.message.into(),
        more: None,
        aspect: evidence.map(|evidence| evidence.aspect.name()),
        used_in: Some(evidence.map(|_| json::Image { file: of, image: number })),
        instruction: evidence.map(|evidence| evidence.instruction.as_str()),
        offset: evidence.map(|evidence| evidence.offset),
        used_in_image: None,
        location: evidence.and_then(|evidence| evidence.place.as_ref()),
        chain: evidence.map(evidence::chain).unwrap_or_default(),
        remedy: Some(found.remedy.into()),
        fingerprint: None,
        excused: None,
        known: None,
    }
}

/// Writes a line for each finding.
///
/// # Errors
/// `Io` where the writer fails.
fn jsonl(out: &mut impl Write, answers: &[Answer<'_>]) -> Result<()> {
    for answer in answers {
        for one in &answer.findings {
            let (question, target) = (Some(answer.question.name()), Some(answer.question.target()));
            put_line(out, &json::Finding { question, target, ..finding(one) })?;
        }
    }
    Ok(())
}

/// Writes the answers as one JSON document, with what could not be read.
///
/// # Errors
/// `Io` where the writer fails.
fn json(out: &mut impl Write, answers: &[Answer<'_>], problems: &[FileProblem]) -> Result<()> {
    let targets = answers.iter().map(|answer| json::Answer {
        question: answer.question.name(),
        target: answer.question.target(),
        verdict: answer.verdict(),
        kernels: None,
        findings: answer.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    let document = json::Document::<_, ()> {
        schema_version: SchemaVersion,
        verdict: verdict(answers),
        targets: targets.collect::<Vec<_>>(),
        providers: None,
        link: None,
        problems,
        baseline: None,
    };
    put_line(out, &document)
}

/// The warnings as the compiler prints them, with the images they are of.
fn text(answers: &[Answer<'_>], names: Names) -> Shown {
    let mut out = Shown::default();
    for finding in answers.iter().flat_map(|answer| &answer.findings) {
        out.append(&Shown::of_lines(&finding.warning.text(|name| names.show(name))));
        if let Some(evidence) = &finding.warning.evidence {
            let (file, image) = finding.user;
            let (instruction, offset) = (&evidence.instruction, evidence.offset);
            writeln!(out, "in {file} image {image}: {instruction} at offset {offset:#x}");
        } else {
            writeln!(out, "in {} image {}", finding.file, finding.image);
        }
        out.push_str("\n");
    }
    out
}

/// The verdict in a line for each question.
fn summary(answers: &[Answer<'_>]) -> Shown {
    let mut out = Shown::default();
    for answer in answers {
        let about = match answer.question {
            Question::Declared => "declared aspects".to_owned(),
            Question::External => "functions of other images".to_owned(),
            Question::Target(target) => format!("target {target}"),
        };
        let count = super::text::counted(answer.findings.len(), "warning");
        let verdict = match answer.verdict() {
            Verdict::Compatible => "compatible",
            Verdict::Unknown => "unknown",
            Verdict::Incompatible => "incompatible",
        };
        let why = if answer.partial { "; not all code could be judged" } else { "" };
        writeln!(out, "{about}: {verdict}, {count}{why}");
    }
    out
}

/// Answers to all questions about aspects and fixed targets.
pub(crate) struct Answers<'q> {
    /// The warnings of each question.
    pub(crate) warnings: Warnings<'q>,
    /// Parts of files that could not be read.
    pub(crate) problems: Vec<FileProblem>,
}

impl Answers<'_> {
    /// The verdict on all questions together.
    pub(crate) fn verdict(&self) -> Verdict {
        verdict(&self.warnings.answers())
    }
}

impl Document for Answers<'_> {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let answers = self.warnings.answers();
        match form {
            Form::Json => json(&mut out.documents(), &answers, &self.problems),
            Form::Jsonl => jsonl(&mut out.documents(), &answers),
            _ => {
                let mut text = text(&answers, out.look().view.names());
                text.append(&summary(&answers));
                out.show(&text)
            }
        }
    }
}

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
pub(crate) struct Questions<'q> {
    /// The aspects that `[[sycl::device_has()]]` lists, where uses must be declared.
    pub(crate) declared: Option<&'q [String]>,
    /// Whether images must record what functions of other images use.
    pub(crate) external: bool,
    /// The fixed targets that must have what is used.
    pub(crate) targets: &'q [&'q Target],
}

/// The code of all files, gathered file by file.
#[derive(Debug, Default)]
pub(crate) struct AspectCheck {
    modules: Vec<Code>,
    images: Vec<CheckedImage>,
}

/// Warnings for each question, and whether all code could be judged.
#[derive(Debug)]
pub(crate) struct Warnings<'q> {
    images: Vec<CheckedImage>,
    found: Vec<(Question<'q>, Vec<Warning>)>,
    partial: bool,
}

impl AspectCheck {
    /// Adds the images of a file, and those that they may call into.
    pub(crate) fn add(&mut self, facts: &FileFacts<'_>) {
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
    pub(crate) fn warnings<'q>(
        self,
        questions: &Questions<'q>,
        whole: bool,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Warnings<'q> {
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
    pub(crate) fn answers(&self) -> Vec<Answer<'_>> {
        let answers = self.found.iter().map(|(question, warnings)| {
            let findings = warnings.iter().filter_map(|warning| {
                let image = self.images.get(warning.module)?;
                let user = warning.evidence.as_ref().and_then(|evidence| evidence.chain.last());
                let user = user.and_then(|step| self.images.get(step.module)).unwrap_or(image);
                Some(LocatedWarning { file: &image.file, image: image.image, user: (&user.file, user.image), warning })
            });
            Answer { question: *question, findings: findings.collect(), partial: self.partial }
        });
        answers.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::aspects::{Aspect, Evidence, Step as Called};
    use crate::compat::finding::RuleId;
    use crate::report::json::tests::against;
    use crate::source::SourceLocation;
    use serde_json::Value;

    fn warning(rule: RuleId, evidence: Option<Evidence>) -> Warning {
        Warning {
            callee: None,
            rule,
            certain: false,
            module: 0,
            kernel: "k".into(),
            subject: "fp64".into(),
            target: None,
            evidence,
        }
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let place = SourceLocation { file: "a.cpp".into(), line: 3, column: 0 };
        let step = |module, call| Called { module, function: "f".into(), call };
        let evidence = Evidence {
            aspect: Aspect::Fp64,
            chain: vec![step(0, None), step(1, Some(place.clone()))],
            instruction: "OpFMul %double".into(),
            offset: 20,
            place: Some(place),
            elsewhere: Some(1),
        };
        let warnings = [
            warning(RuleId::DeviceHas, Some(evidence.clone())),
            warning(RuleId::ExternalFunction, Some(evidence)),
            warning(RuleId::FixedTargetsAspect, None),
            warning(RuleId::FixedTargetsSubGroupSize, None),
            warning(RuleId::FixedTargetsWorkGroupSize, None),
        ];
        let findings =
            || warnings.iter().map(|warning| LocatedWarning { file: "a", image: 1, user: ("b", 2), warning });
        let questions = [Question::Declared, Question::External, Question::Target("spir64")];
        let answers = questions.map(|question| Answer { question, findings: findings().collect(), partial: true });
        let mut text = Vec::new();
        let trouble = FileProblem { file: "a".into(), image: Some(1), offset: None, message: "cut".into() };
        json(&mut text, &answers, &[trouble]).unwrap();
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(against(&schema(), &document), Vec::<String>::new());
        assert_eq!(document["targets"][0]["findings"][0]["used_in"]["file"], "b");
        document["verdict"] = "maybe".into();
        assert_eq!(against(&schema(), &document).len(), 1);
    }

    #[test]
    fn lines_are_findings() {
        let warnings = [warning(RuleId::FixedTargetsAspect, None)];
        let findings =
            warnings.iter().map(|warning| LocatedWarning { file: "a", image: 1, user: ("b", 2), warning }).collect();
        let mut text = Vec::new();
        jsonl(&mut text, &[Answer { question: Question::Target("spir64"), findings, partial: false }]).unwrap();
        let line: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            (&line["target"], &line["question"], &line["kernel"]),
            (&"spir64".into(), &"target".into(), &"k".into())
        );
    }
}
