//! What came of filtering images for targets?

use super::document::{Document, Form, Sink};
use super::json::SchemaVersion;
use super::name::shorten;
use super::text::Shown;
use super::text::counted;
use crate::compat::finding::{Finding, RuleId};
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Filtered>()
}

/// The modules that `filter` emptied, for each output.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle filter --format json")]
pub(crate) struct Filtered {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The inputs.
    pub(crate) inputs: Vec<String>,
    /// The files that were written.
    pub(crate) outputs: Vec<Output>,
}

/// One file that was written.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The file.
    pub(crate) output: String,
    /// The form of the file, as `--emit` names it.
    pub(crate) emit: &'static str,
    /// The targets of the name that was given; none where all images stay.
    pub(crate) targets: Vec<String>,
    /// Images in the file, empty ones too.
    pub(crate) images: usize,
    /// Images with an empty module.
    pub(crate) emptied: Vec<Emptied>,
    /// Mangled names of kernels that have code in no image of the file, though they had before.
    pub(crate) kernels_without_code: Vec<String>,
    /// Bytes written.
    pub(crate) bytes: u64,
}

/// An image whose module became an empty one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Emptied {
    /// The image's number.
    pub(crate) image: usize,
    /// Mangled names of the kernels.
    pub(crate) kernels: Vec<String>,
    /// Findings on the first target.
    pub(crate) findings: Vec<Reason>,
}

/// A reason why an image does not run on a target.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reason {
    /// The rule, by the name that `check` uses.
    pub(crate) rule: RuleId,
    /// A sentence about it.
    pub(crate) message: String,
    /// The aspect, where it is about one.
    pub(crate) aspect: Option<String>,
}

impl Reason {
    /// The reason that a finding tells.
    pub(crate) fn new(finding: &Finding) -> Reason {
        Reason { rule: finding.rule, message: finding.message.clone(), aspect: finding.aspect.clone() }
    }
}

impl Filtered {
    /// The document as JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl Output {
    /// The result for a person, a line; `verbose` adds one for each image whose module is empty, with `kernel` giving the
    /// name that a kernel is shown by.
    pub(crate) fn summary(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, width: usize) -> Shown {
        let target = match self.targets.as_slice() {
            [] => "all targets".to_owned(),
            [one] => one.clone(),
            [first, ..] => format!("{first} and {} more", self.targets.len().saturating_sub(1)),
        };
        let images = counted(self.images, "image");
        let empty = match self.emptied.len() {
            0 => "none of them empty".to_owned(),
            count => format!("{count} of them empty"),
        };
        let mut text = format!("{} ({}) for {target}: {images}, {empty}", self.output, self.emit);
        if !self.kernels_without_code.is_empty() {
            text.push_str(&format!("; {} without code", counted(self.kernels_without_code.len(), "kernel")));
        }
        let mut lines = vec![text];
        for emptied in self.emptied.iter().filter(|_| verbose) {
            let name = emptied.kernels.first().map(|name| format!(" ({})", kernel(name))).unwrap_or_default();
            let why: Vec<&str> = emptied.findings.iter().map(|finding| finding.message.as_str()).collect();
            lines.push(format!("  image {}{name}: {}", emptied.image, why.join(" ")));
        }
        Shown::folded(&lines, width)
    }
}

impl Document for Filtered {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let look = out.look();
        if form == Form::Json {
            return out.made(&self.to_json());
        }
        let shown = |mangled: &str| shorten(&look.view.kernel(mangled), 80).into_owned();
        for one in &self.outputs {
            out.say(&one.summary(look.verbose, &shown, look.stderr_width));
        }
        Ok(())
    }
}
