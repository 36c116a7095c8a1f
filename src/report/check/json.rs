//! What speaks against device code, for a script?
//!
//! The contract of `check --format json`, whatever is asked: targets and policies ([`super::super::gate`]), declared
//! aspects ([`super`]), or how files link ([`super::super::link`]).

use super::Verdict;
use crate::compat::finding::RuleId;
use crate::report::evidence::Step;
use crate::report::gate::baseline::Compared;
use crate::report::json::{self, FileProblem, SchemaVersion};
use crate::source::SourceLocation;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// The JSON Schema of `check --format json`.
pub(crate) fn schema() -> String {
    json::schema::<Document<'_, Vec<Answer<'_, Vec<Finding<'_>>>>, Vec<Provider<'_>>>>()
}

/// Findings about the device code of files.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle check --format json")]
pub(in crate::report) struct Document<'a, T, P> {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The worst of all verdicts.
    pub(crate) verdict: Verdict,
    /// An answer for each question.
    pub(crate) targets: T,
    /// Images of other files that define what images of a file import, with `-t`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) providers: Option<P>,
    /// The links between files, with `--link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<Linking<'a>>,
    /// Parts that could not be read.
    pub(crate) problems: &'a [FileProblem],
    /// The comparison with `--baseline`; null without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<Option<&'a Compared>>,
}

/// An answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(in crate::report) struct Answer<'a, F> {
    /// The question.
    #[schemars(extend("enum" = ["declared", "external", "target", "policy"]))]
    pub(crate) question: &'static str,
    /// The target that is asked about; null where it is about none, as a policy's budgets of files.
    pub(crate) target: Option<&'a str>,
    /// The verdict: `unknown` where code or a target's property is not known.
    pub(crate) verdict: Verdict,
    /// Kernels by verdict, with `-t` and policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernels: Option<Kernels>,
    /// The findings, in the order of files, images and kernels.
    pub(crate) findings: F,
}

/// Kernels by verdict.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Kernels {
    /// Kernels of which nothing is found but what is excused or known.
    pub(crate) compatible: usize,
    /// Kernels of which it cannot be told.
    pub(crate) unknown: usize,
    /// Kernels that do not run.
    pub(crate) incompatible: usize,
    /// Compatible kernels that would not run but for exceptions and the baseline; the table counts them apart.
    pub(crate) excused: usize,
    /// Kernels whose native code the device takes.
    pub(crate) native: usize,
    /// Kernels that are compiled just in time, from SPIR-V beside or inside native code.
    pub(crate) jit: usize,
    /// Kernels that do not run, whatever is excused.
    pub(crate) none: usize,
}

/// A finding.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "finding")]
pub(in crate::report) struct Finding<'a> {
    /// The question, with `--format jsonl`, where each finding is a line of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<&'static str>,
    /// The target, with `--format jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Option<&'a str>>,
    /// The rule.
    pub(crate) rule: RuleId,
    /// Whether it is sure; findings that are not leave the verdict `unknown`.
    pub(crate) certain: bool,
    /// The file.
    pub(crate) file: &'a str,
    /// The number of the image in the file; null where it is about none.
    pub(crate) image: Option<usize>,
    /// The kernel's mangled name; null where it is about a whole file.
    pub(crate) kernel: Option<&'a str>,
    /// The kernel's name in the source.
    pub(crate) demangled: Option<Cow<'a, str>>,
    /// A sentence about it.
    pub(crate) message: Cow<'a, str>,
    /// The number of findings like it that are not listed, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more: Option<usize>,
    /// The aspect; null where it is not about one.
    pub(crate) aspect: Option<&'a str>,
    /// The image of the instruction, which is the kernel's or one that it calls into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used_in: Option<Option<Image<'a>>>,
    /// The instruction and the type that shows the use.
    pub(crate) instruction: Option<&'a str>,
    /// The instruction's byte offset in the module of the chain's last function.
    pub(crate) offset: Option<u64>,
    /// The image that the instruction is in, where it is not the finding's own, with `-t`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used_in_image: Option<Option<usize>>,
    /// The place of the use in the source; null without debug information.
    pub(crate) location: Option<&'a SourceLocation>,
    /// The functions from the kernel to the one that uses the aspect.
    pub(crate) chain: Vec<Step<'a>>,
    /// A sentence about what mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<Cow<'a, str>>,
    /// A text that is the same from build to build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fingerprint: Option<String>,
    /// The reason why it does not count: the policy's, or the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) excused: Option<Option<&'a str>>,
    /// Whether the baseline has it; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known: Option<Option<bool>>,
}

/// An image in its file.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Image<'a> {
    /// The file.
    pub(crate) file: &'a str,
    /// The number of the image in the file.
    pub(crate) image: usize,
}

/// An image of another file that defines what a file imports.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Provider<'a> {
    /// The file that imports.
    pub(crate) file: &'a str,
    /// The number that the other file's image has in findings about this file.
    pub(crate) image: usize,
    /// The image.
    pub(crate) provided_by: Image<'a>,
    /// Mangled names of the symbols; empty for a set of virtual functions.
    pub(crate) symbols: &'a [String],
}

/// The links between files.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Linking<'a> {
    /// Symbols that are imported.
    pub(crate) imports: usize,
    /// Symbols that are exported.
    pub(crate) exports: usize,
    /// Imported symbols that the runtime and the device bring.
    pub(crate) of_the_device: usize,
    /// The links.
    pub(crate) links: Vec<Link<'a>>,
    /// Number of imports of images whose links are not listed, where there are too many to tell all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more_links: Option<usize>,
    /// The findings.
    pub(crate) findings: Vec<LinkFinding<'a>>,
}

/// A link from one file to another.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Link<'a> {
    /// The file that imports.
    pub(crate) from: &'a str,
    /// The file that defines.
    pub(crate) to: &'a str,
    /// Mangled names of the symbols.
    pub(crate) symbols: &'a [String],
}

/// A finding about a symbol or a kernel in several files.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct LinkFinding<'a> {
    /// The rule.
    pub(crate) rule: RuleId,
    /// Whether it is sure; findings that are not leave the verdict `unknown`.
    pub(crate) certain: bool,
    /// The mangled name.
    pub(crate) name: &'a str,
    /// The name in the source.
    pub(crate) demangled: Cow<'a, str>,
    /// A sentence about it.
    pub(crate) message: &'a str,
    /// A sentence about what mends it.
    pub(crate) remedy: &'a str,
    /// The images that import it.
    pub(crate) wanted_by: Vec<Wanted<'a>>,
    /// The images that define it.
    pub(crate) defined_in: Vec<Image<'a>>,
    /// Number of images beyond these that do, where there are too many to tell all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more_defined_in: Option<usize>,
}

/// An image that imports a symbol.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Wanted<'a> {
    /// The file.
    pub(crate) file: &'a str,
    /// The number of the image in the file.
    pub(crate) image: usize,
    /// Mangled names of kernels that reach the symbol.
    pub(crate) kernels: Vec<&'a str>,
    /// Number of kernels that reach it beyond these, where there are too many to tell all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more_kernels: Option<usize>,
    /// Mangled names of exported functions that reach the symbol.
    pub(crate) functions: Vec<&'a str>,
    /// Number of functions that reach it beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more_functions: Option<usize>,
}
