//! Which files does a build write beside its output: a report, logs, and dependencies for make and ninja?

use super::compile::CompileResults;
use super::summary::Batch;
use super::watch::{Temps, Trace, Watch};
use crate::cli::output::schema;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use sycl_bundle::build::Unit;
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::files::write::write_atomically;
use sycl_bundle::report::costs::{self, BinaryOrigin, Costs, ImageCost, KernelResources};
use sycl_bundle::report::json::SchemaVersion;

/// Files beside the output.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Records")]
pub struct RecordArgs {
    /// Keep in this folder of each image and target the module that the compiler gets (.spv, with .1.spv and so on for
    /// what it is linked with), its options (.opts), its binary (.bin) and what the compiler said (.log), by the number
    /// of the image and the name of the target: 12.intel_gpu_pvc.spv
    #[arg(long, value_name = "DIR")]
    save_temps: Option<PathBuf>,
    /// Write as JSON what each image took to compile, and what each of its native kernels takes: registers, SIMD width,
    /// spills, memory, barriers
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the JSON schema of --report, and end
    #[arg(long)]
    pub report_schema: bool,
    /// Write which worker compiled which image when, for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    time_trace: Option<PathBuf>,
}

impl RecordArgs {
    /// The files that are written, with their options.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [("--report", self.report.as_deref()), ("--time-trace", self.time_trace.as_deref())];
        all.into_iter().filter_map(|(option, file)| Some((option, file?)))
    }

    /// Prints the schema.
    ///
    /// # Errors
    /// `Io` where standard output is closed.
    pub fn print_schema() -> Result<Exit> {
        schema(&costs::schema())
    }

    /// Looks on as far as these ask for it.
    ///
    /// # Errors
    /// `Environment` where the folder cannot be made.
    pub fn watch<'w>(&self, batch: &'w Batch<'_, '_>) -> Result<Watch<'w>> {
        let temps = self.save_temps.as_ref().map(|folder| {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| {
                Error::new(ErrorKind::Environment, format!("cannot make `{}`: {error}", folder.display()))
            })?;
            Ok(Temps::new(folder.clone(), Box::new(|unit| batch.label(unit))))
        });
        let trace = self.time_trace.is_some().then(|| {
            Trace::new(Box::new(|unit| {
                (format!("{} for {}", batch.name(unit), batch.target(unit)), batch.shown(unit), batch.target(unit))
            }))
        });
        Ok(Watch::new(temps.transpose()?, trace))
    }

    /// Writes the trace, also of a build that came to an early end.
    ///
    /// # Errors
    /// `Environment` where it cannot be written, or a file of `--save-temps` could not be.
    pub fn traced(&self, watch: &mut Watch<'_>) -> Result<()> {
        if let (Some(path), Some(text)) = (&self.time_trace, watch.trace()) {
            write_atomically(path, text.as_bytes(), None)?;
        }
        watch.error.take().map_or(Ok(()), Err)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub fn reported(
        &self,
        batch: &Batch<'_, '_>,
        watch: &Watch<'_>,
        done: &CompileResults,
        inputs: Vec<String>,
    ) -> Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let about = |unit: Unit| {
            let cost = watch.costs.get(&unit);
            let how = cost.map_or(BinaryOrigin::Compiled, |cost| cost.how);
            ImageCost {
                image: batch.shown(unit),
                file: batch.file(unit),
                target: batch.target(unit),
                how,
                module_bytes: watch.modules.get(&unit).map_or(0, |(bytes, _)| *bytes),
                options: watch.modules.get(&unit).map(|(_, options)| options.clone()).unwrap_or_default(),
                native_bytes: None,
                seconds: cost.and_then(|cost| cost.seconds),
                attempts: cost.and_then(|cost| cost.attempts),
                cause: None,
                kernels: Vec::new(),
            }
        };
        let compiled = done.compiled.iter().map(|binary| {
            let native = binary.native();
            let parts = native.iter().flat_map(|native| &native.parts);
            let kernels = parts.flat_map(|part| part.kernels.iter().map(KernelResources::new)).collect();
            ImageCost { native_bytes: Some(binary.bytes.len() as u64), kernels, ..about(binary.unit()) }
        });
        let failed = done.failures.iter().map(|failure| ImageCost {
            how: BinaryOrigin::Failed,
            attempts: Some(failure.attempts),
            cause: Some(failure.to_string()),
            ..about(failure.unit())
        });
        let mut images: Vec<ImageCost> = compiled.chain(failed).collect();
        images.sort_by(|a, b| (&a.file, a.image, &a.target).cmp(&(&b.file, b.image, &b.target)));
        let costs = Costs { schema_version: SchemaVersion, inputs, images };
        write_atomically(path, costs.to_json().as_bytes(), None).map(drop)
    }
}

/// The options of a compiler's preprocessor that ask for dependencies.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub struct DependArgs {
    /// Write the files that the output depends on, for make and ninja, to the output's name and `.d`. Also -MD
    #[arg(long = "MD")]
    depend: bool,
    /// Write them to this file. Also -MF FILE
    #[arg(long = "MF", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The target of the rule, instead of the output and the --stamp. Also -MT NAME
    #[arg(long = "MT", value_name = "NAME")]
    rule: Option<String>,
}

impl DependArgs {
    /// Whether any of them is given.
    pub fn asked(&self) -> bool {
        self.depend || self.file.is_some() || self.rule.is_some()
    }

    /// The file that is written.
    pub fn path(&self, output: &Path) -> Option<PathBuf> {
        let beside = || {
            let mut name = output.as_os_str().to_owned();
            name.push(".d");
            name.into()
        };
        self.file.clone().or_else(|| self.depend.then(beside))
    }

    /// Writes the rule, where one is asked for. Where there is a stamp, that is what `make` compares.
    ///
    /// # Errors
    /// `Environment` where it cannot be written.
    pub fn write(&self, output: &Path, stamp: Option<&Path>, prerequisites: &[PathBuf]) -> Result<()> {
        let Some(file) = self.path(output) else { return Ok(()) };
        let target = self.rule.clone().unwrap_or_else(|| {
            let targets: Vec<String> =
                stamp.into_iter().chain([output]).map(|path| escaped(&path.to_string_lossy())).collect();
            targets.join(" ")
        });
        let names: Vec<String> = prerequisites.iter().map(|path| escaped(&path.to_string_lossy())).collect();
        write_atomically(&file, rule(&target, &names).as_bytes(), None).map(drop)
    }
}

/// A rule, and one without a recipe per prerequisite, so that one that is gone does not stop `make`.
fn rule(target: &str, prerequisites: &[String]) -> String {
    let mut text = format!("{target}:");
    for name in prerequisites {
        let _ = write!(text, " \\\n  {name}");
    }
    text.push('\n');
    for name in prerequisites {
        let _ = write!(text, "\n{name}:\n");
    }
    text
}

/// As GCC escapes: blanks and `#` by a backslash, `$` doubled.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            ' ' | '\t' | '#' => out.extend(['\\', c]),
            '$' => out.push_str("$$"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escapes names for `make`; `tests/real/build_systems.rs` asks a real one.
    #[test]
    fn names_are_escaped_and_may_be_gone() {
        let names = ["in put.so", "a$b.so", "c#d.so"].map(escaped);
        let expected =
            "out.so: \\\n  in\\ put.so \\\n  a$$b.so \\\n  c\\#d.so\n\nin\\ put.so:\n\na$$b.so:\n\nc\\#d.so:\n";
        assert_eq!(rule("out.so", &names), expected);
    }
}
