//! How is device code looked at rather than read?
//!
//! One HTML page that holds all it shows: its data as JSON, and the scripts and the style of `page/*.js` and
//! `page/*.css`. It loads nothing, and forbids itself to. What names say is shown and never read as markup or code:
//! they are whatever the file holds.

mod builds;
mod escape;
mod files;
mod frame;
mod matrix;
mod names;
mod policy;
mod static_part;
mod texts;

pub use builds::builds;
pub use files::Files;

use super::evidence::Names;
use super::gate::TargetFindings;
use crate::error::Result;
use crate::policy::AppliedPolicy;
use frame::Frame;

/// The page of some files: who takes the space, what runs on `targets` and is against a policy, and which kernels and images
/// there are.
///
/// # Errors
/// `Input` where what is known cannot be written as JSON.
pub fn library(
    files: &Files,
    targets: &[TargetFindings],
    held: Option<&AppliedPolicy>,
    names: Names,
) -> Result<String> {
    let mut table = files.names(names);
    for of in targets.iter().flat_map(|target| &target.files) {
        table.extend(of.judged.kernels.names().map(|name| &**name));
    }
    let table = table.sorted();
    let policy = held.map(|held| held.section(targets, names));
    // What is found whatever the target has no column.
    let named: Vec<&TargetFindings> = targets.iter().filter(|one| !one.target.is_empty()).collect();
    let frame = Frame {
        title: files.title(),
        facts: [files.facts()].into_iter().chain(held.map(|held| held.facts())).collect::<Vec<_>>().join(" · "),
        static_part: static_part::library(files, &named, policy.as_ref(), names),
        data: files.data(&table, matrix::matrix(&named, files, &table, names), policy.as_ref())?,
        scripts: &[frame::CORE, frame::GRID, frame::TREEMAP, frame::MATRIX, frame::POLICY, frame::LIBRARY],
    };
    Ok(frame.html())
}
