//! How are the findings of a hundred targets written by all threads?
//!
//! What is written is cut into shares, each some kernels of a file on a target; shares become text in parallel and are
//! written in order. What is the same on every target, as a kernel's name, is made once.

use super::{FileFindings, Finding, TargetFindings};
use crate::compat::gate::judgement::Kernels;
use crate::error::Result;
use crate::report::json::stream::stream;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Kernels of a share.
const KERNELS: usize = 16;

/// Some kernels of a file on a target.
pub(super) struct Share<'r> {
    /// The target.
    pub target: &'r TargetFindings,
    /// The target's place.
    pub nth: usize,
    /// The file, none for a target without any.
    pub of: Option<&'r FileFindings>,
    /// The file's place among those of the target.
    pub file: usize,
    /// The places of the kernels.
    pub kernels: Range<usize>,
    /// Whether the target begins here.
    pub opens: bool,
    /// Whether the target ends here.
    pub closes: bool,
    /// The first kernel of the target that anything is found of: file and place.
    first: Option<(usize, usize)>,
}

impl<'r> Share<'r> {
    /// The findings, each with its kernel's place and whether it is the target's first.
    pub fn findings(&self) -> impl Iterator<Item = (usize, bool, Finding<'r>)> {
        let of_kernel = |of: &'r FileFindings, kernel: usize| {
            let first = self.first == Some((self.file, kernel));
            let all = of.judged.findings_of(kernel).enumerate();
            all.map(move |(nth, found)| (kernel, first && nth == 0, Finding { of, found }))
        };
        let kernels = self.kernels.clone();
        self.of.into_iter().flat_map(move |of| kernels.clone().flat_map(move |kernel| of_kernel(of, kernel)))
    }
}

/// Writes what `put` makes of each share, in order.
///
/// # Errors
/// What `write` returns.
pub(super) fn each<'r>(
    targets: &'r [TargetFindings],
    put: impl Fn(&mut String, &Share<'r>) + Sync,
    write: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut shares: Vec<Share<'r>> = Vec::new();
    for (nth, target) in targets.iter().enumerate() {
        let begin = shares.len();
        let files = target.files.iter().enumerate();
        let of_file = |(file, of): (usize, &FileFindings)| {
            let kernels = of.judged.groups().filter_map(|(kernels, _)| kernels.first().copied());
            kernels.min().map(|kernel| (file, kernel))
        };
        let first = files.clone().find_map(of_file);
        let share = |of, file, kernels| Share { target, nth, of, file, kernels, opens: false, closes: false, first };
        for (file, of) in files {
            let count = of.judged.kernels.len();
            let cuts = (0..count).step_by(KERNELS);
            shares.extend(cuts.map(|at| share(Some(of), file, at..at.saturating_add(KERNELS).min(count))));
        }
        if shares.len() == begin {
            shares.push(share(None, 0, 0..0));
        }
        shares.get_mut(begin).into_iter().for_each(|share| share.opens = true);
        shares.last_mut().into_iter().for_each(|share| share.closes = true);
    }
    let put = |text: &mut String, shares: &[Share<'r>]| {
        shares.iter().for_each(|share| put(text, share));
        Vec::new()
    };
    stream(&shares, put, write).map(drop)
}

/// A text for each kernel, made when it is first asked for. Targets for which the same kernels are judged share it.
pub(super) struct KernelTexts(HashMap<usize, Vec<OnceLock<String>>>);

/// Identifies a set of kernels that targets share, by its address.
fn key(kernels: &Arc<Kernels>) -> usize {
    Arc::as_ptr(kernels).addr()
}

impl KernelTexts {
    /// For the kernels of all files.
    pub fn new(targets: &[TargetFindings]) -> KernelTexts {
        let mut texts = HashMap::new();
        for of in targets.iter().flat_map(|target| &target.files) {
            let kernels = &of.judged.kernels;
            let none = || (0..kernels.len()).map(|_| OnceLock::new()).collect();
            texts.entry(key(kernels)).or_insert_with(none);
        }
        KernelTexts(texts)
    }

    /// The text of a kernel of a share.
    pub fn get<'t>(&'t self, share: &Share<'_>, kernel: usize, make: impl FnOnce() -> String) -> Cow<'t, str> {
        let texts = share.of.and_then(|of| self.0.get(&key(&of.judged.kernels)));
        match texts.and_then(|texts| texts.get(kernel)) {
            Some(text) => text.get_or_init(make).as_str().into(),
            None => make().into(),
        }
    }
}
