//! `explain`: which kernels and images of files is a message about, and which does the runtime choose?

use super::{each_file, each_linked, report_problems};
use crate::compat::fit::Subject;
use crate::compat::offers::are_open;
use crate::compat::other_models::OtherModels;
use crate::device::resolve::Named;
use crate::error::{Exit, Reporter, Result};
use crate::report::FileFacts;
use crate::report::explain::request::Request;
use crate::report::explain::{Explanation, KernelBuild};
use crate::select::Selector;
use std::path::PathBuf;

/// Explains what is asked of files and targets; `ask` has the compilers of live devices build a file's kernels.
///
/// # Errors
/// `NoMatch` where no file has a kernel that is asked for; what cannot be read; errors of `ask`.
pub(crate) fn explain(
    reporter: &dyn Reporter,
    files: &[PathBuf],
    request: &Request,
    targets: &[Named<'_>],
    ask: &dyn Fn(&FileFacts<'_>) -> Result<Vec<KernelBuild>>,
) -> Result<(Explanation, Exit)> {
    let subjects: Vec<_> = targets.iter().map(|one| Subject::new(one.target).with_march(one.march)).collect();
    let mut explanation = request.begin();
    let mut unmatched = None;
    let mut any = false;
    let (mut open, mut count) = (false, 0usize);
    let exit = each_file(reporter, files, &Selector::default(), |facts| {
        report_problems(reporter, facts);
        match request.check(facts) {
            Ok(()) => any = true,
            // Of several files the one with a near name has more to say.
            Err(error) if unmatched.is_none() || error.remedy().is_some() => unmatched = Some(error),
            Err(_) => {}
        }
        request.add_concerns(facts, &mut explanation);
        explanation.choices.extend(request.choices(facts.path, &facts.images, &subjects));
        open |= are_open(&facts.images);
        count = count.saturating_add(1);
        explanation.built.extend(ask(facts)?);
        Ok(())
    })?;
    if open && count > 1 && !subjects.is_empty() {
        let mut linked = Vec::new();
        let all = each_linked(reporter, files, &OtherModels::default(), |path, images| {
            linked.extend(request.choices(path, images, &subjects));
            Ok(())
        })?;
        explanation.choices = if all { linked } else { explanation.choices };
    }
    if let Some(error) = unmatched.filter(|_| !any && exit == Exit::Done) {
        return Err(error);
    }
    let file = files.first().map(|file| file.display().to_string());
    request.add_remedies(file.as_deref(), targets.first().map(|one| one.target), &mut explanation);
    Ok((explanation, exit))
}
