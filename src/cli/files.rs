//! What is known of each file on the command line?
//!
//! Files are independent: each is opened, read, examined, handed on and closed before the next, so that memory follows
//! the largest file and not their sum.

use super::exit::{Exit, Tally, report};
use super::global::Global;
use super::input::Input;
use super::selection;
use super::table::Files;
use std::path::PathBuf;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::examine::examine;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::error::{Error, ErrorKind, Problem, Result};
use sycl_bundle::report::{FileFacts, units};
use sycl_bundle::select::Selector;

/// Hands the facts of each file on, with problems of whole files among them, and gives the exit code for all.
///
/// # Errors
/// What `each` returns.
pub fn each_file(
    global: &Global,
    paths: &[PathBuf],
    selector: &Selector,
    mut each: impl FnMut(&FileFacts<'_>) -> Result<()>,
) -> Result<Exit> {
    let mut tally = Tally::default();
    let mut empty = Vec::new();
    let mut unmatched = None;
    let mut matched = false;
    for path in paths {
        let name = path.display().to_string();
        let input = match Input::open(path) {
            Ok(input) => input,
            Err(error) => {
                tally.failed(&error);
                report(global, &error.clone().context(name.clone()));
                each(&FileFacts { path: &name, problems: vec![Problem::general(error)], ..FileFacts::default() })?;
                continue;
            }
        };
        let mut facts = FileFacts {
            path: input.name(),
            absolute: input.absolute(),
            bytes: input.bytes().len() as u64,
            ..FileFacts::default()
        };
        let host = Host::read(input.bytes());
        let table = host.as_ref().ok().filter(|host| host.kind == Kind::Table);
        let files = table.map(|host| Files::open(path, host.bytes)).transpose();
        if let Ok(Some(files)) = &files {
            facts.bytes = facts.bytes.saturating_add(files.bytes());
        }
        let bundle = host.as_ref().map_err(Clone::clone).and_then(|host| match &files {
            Ok(Some(files)) => files.bundle(host),
            Ok(None) => Bundle::read(host),
            Err(error) => Err(error.clone()),
        });
        facts.host = host.as_ref().ok();
        match &bundle {
            Ok(bundle) => {
                tally.found();
                global.detail(&format!(
                    "{name}: {} in {}, {} bytes",
                    units::counted(bundle.images.len(), "image"),
                    units::counted(bundle.descriptors.len(), "descriptor"),
                    facts.bytes
                ));
                facts.bundle = Some(bundle);
                facts.problems.clone_from(&bundle.problems);
                let images = examine(bundle);
                let damaged = images.iter().filter_map(|image| Some((image.image.index, image.problem.clone()?)));
                facts.problems.extend(damaged.map(|(index, error)| Problem::of_image(index, error)));
                match selection::keep(selector, images) {
                    Ok(images) => {
                        matched = true;
                        facts.images = images;
                    }
                    Err(error) => unmatched = Some(error.context(name.clone())),
                }
                if !facts.problems.is_empty() {
                    tally.damaged();
                }
            }
            Err(error) => {
                tally.failed(error);
                if error.kind() == ErrorKind::NoDeviceCode {
                    empty.push(name.clone());
                } else {
                    report(global, &error.clone().context(name.clone()));
                    facts.problems.push(Problem::general(error.clone()));
                }
            }
        }
        each(&facts)?;
    }
    if let Some(error) = unmatched.filter(|_| !matched) {
        return Ok(report(global, &error));
    }
    let exit = tally.exit();
    for name in empty {
        if exit == Exit::NoDeviceCode {
            report(global, &Error::new(ErrorKind::NoDeviceCode, "no device code").context(name));
        } else {
            global.note(&format!("{name}: no device code"));
        }
    }
    Ok(exit)
}

/// Prints the problems of a file that could be read; those of other files have been printed.
pub fn report_problems(global: &Global, facts: &FileFacts<'_>) {
    for problem in facts.problems.iter().filter(|_| facts.bundle.is_some()) {
        let error = match problem.image {
            Some(image) => problem.error.clone().context(format!("image {image}")),
            None => problem.error.clone(),
        };
        report(global, &error.context(facts.path));
    }
}
