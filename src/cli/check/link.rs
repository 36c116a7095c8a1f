//! `check --link`: do device symbols find their definitions across files?

use super::super::global::Global;
use crate::cli::output::Output;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::compat::aspects::codes_where;
use sycl_bundle::compat::kernels::bodies;
use sycl_bundle::compat::link::{self, LinkUnit};
use sycl_bundle::error::{Exit, Result};
use sycl_bundle::files::{ReadOptions, each_file, each_file_with, report_problems};
use sycl_bundle::report::check::Verdict;
use sycl_bundle::report::document::Form;
use sycl_bundle::report::json::FileProblem;
use sycl_bundle::report::link as report;
use sycl_bundle::select::Selector;

/// Links the images of the files and tells what is wrong.
///
/// # Errors
/// What cannot be read, selected or written.
pub fn run(
    global: &Global,
    (files, selector): (&[PathBuf], &Selector),
    format: Form,
    strict: bool,
    out: &mut Output,
) -> Result<Exit> {
    let mut units: Vec<LinkUnit> = Vec::new();
    let mut partial = false;
    let mut problems: Vec<FileProblem> = Vec::new();
    let exit = each_file(global, files, selector, |facts| {
        report_problems(global, facts);
        problems.extend(facts.problems.iter().map(|problem| FileProblem::new(facts.path, problem)));
        let file: Arc<str> = facts.path.into();
        let codes = codes_where(&facts.images, |image| !image.imports.is_empty());
        partial |= facts.images.iter().any(|image| image.problem.is_some());
        units.extend(link::units(&file, &facts.images, &codes));
        Ok(())
    })?;
    compare(global, files, selector, &mut units)?;
    let linked = link::link(&units);
    let partial = partial || exit == Exit::Input;
    let units = &units;
    out.put(format, &report::CheckedLink { linked: &linked, units, partial, problems: &problems, strict })?;
    let fails = match report::verdict(&linked, partial) {
        Verdict::Incompatible => true,
        Verdict::Unknown => strict,
        Verdict::Compatible => false,
    };
    Ok(if fails && exit == Exit::Done { Exit::No } else { exit })
}

/// Looks into the kernels that several files have: images of several kernels may differ in others. Standard input cannot be
/// read again; its images are taken as wholes.
fn compare(global: &Global, files: &[PathBuf], selector: &Selector, units: &mut [LinkUnit]) -> Result<()> {
    let wanted: HashSet<String> = link::in_several_files(units).into_iter().map(str::to_owned).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let mut places: HashMap<(Arc<str>, usize), &mut LinkUnit> =
        units.iter_mut().map(|unit| ((unit.file.clone(), unit.image), unit)).collect();
    let files: Vec<PathBuf> = files.iter().filter(|file| **file != Path::new("-")).cloned().collect();
    each_file_with(global, &files, selector, ReadOptions { silent: true, ..ReadOptions::default() }, |facts| {
        let file: Arc<str> = facts.path.into();
        for image in &facts.images {
            if let Some(unit) = places.get_mut(&(file.clone(), image.image.index)) {
                unit.bodies = bodies(image, &wanted);
            }
        }
        Ok(())
    })?;
    Ok(())
}
