//! What can a target do?
//!
//! A target is a name that code is compiled for (`intel_gpu_pvc`, `spir64_x86_64`), with the facts that decide what runs
//! there. The facts stand in `device-configs/*.yaml` and in files of the same form that the user gives.
//!
//! ```
//! let table = sycl_bundle::device::table();
//! // DPC++'s names, ocloc's acronyms, versions and PCI ids, ranges, instruction sets of CPUs.
//! for spelling in ["intel_gpu_pvc", "pvc", "12.60.7"] {
//!     assert_eq!(table.resolve(spelling)?.targets[0].name, "intel_gpu_pvc");
//! }
//! let error = table.resolve("intel_gpu_pvd").unwrap_err();
//! assert_eq!(error.remedy(), Some("did you mean `intel_gpu_pvc`?"));
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```

pub mod cpu;
pub mod matrix;
mod read;
pub mod resolve;
pub(crate) mod selector;
pub mod simulation;
pub mod table;
pub mod target;
pub mod yaml;

use strsim::osa_distance;
pub use table::table;

/// Letters of the longest text that is compared with names: a longer one is no typo, and comparing costs its square.
const LONGEST: usize = 80;
/// Names that a remedy lists; more are no help.
const MOST: usize = 4;

/// Known names that people mean most often, the most common first: of names that are equally near, the one that is meant.
const COMMON: [&str; 8] =
    ["fp64", "fp16", "spir64", "spir64_x86_64", "intel_gpu_pvc", "intel_gpu_acm_g10", "intel_gpu_bmg_g21", "gpu"];

/// The known names nearest to one that is not known, common ones first, at most three; none where none is near. Two letters
/// in each other's place are one mistake.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let length = name.chars().count();
    if length == 0 || length > LONGEST {
        return Vec::new();
    }
    let most = (length / 4).clamp(1, 3);
    let rank = |name: &str| COMMON.iter().position(|common| *common == name).unwrap_or(COMMON.len());
    let mut found: Vec<(usize, usize, &str)> = known
        .filter(|other| other.len().abs_diff(name.len()) <= most)
        .map(|other| (osa_distance(name, other), rank(other), other))
        .filter(|(distance, ..)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.dedup();
    // Something at one letter's distance makes what is farther away noise.
    let first = found.first().map_or(0, |(distance, ..)| *distance);
    // Beside a common name others are noise, too.
    let most = if found.first().is_some_and(|(_, rank, _)| *rank < COMMON.len()) { 1 } else { 3 };
    found.into_iter().take_while(|(distance, ..)| *distance == first).take(most).map(|(.., name)| name).collect()
}

/// The known names that go on where one ends, at the end of a word of it (`intel_gpu_acm`), if there are few.
fn longer<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let goes_on = |other: &&str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with(['_', '-', ':']));
    let mut found: Vec<&str> = known.filter(|_| !name.is_empty()).filter(goes_on).collect();
    found.sort_unstable();
    found.dedup();
    if found.len() > MOST { Vec::new() } else { found }
}

/// "did you mean `a`, `b` or `c`?" for the nearest names; none where none is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.collect();
    let longer = longer(name, known.iter().copied());
    let near = if longer.is_empty() { nearest(name, known.into_iter()) } else { longer };
    let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
    let (last, rest) = near.split_last()?;
    Some(if rest.is_empty() {
        format!("did you mean {last}?")
    } else {
        format!("did you mean {} or {last}?", rest.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_only() {
        let known = ["intel_gpu_pvc", "intel_gpu_pvc_vg", "aspects", "source"];
        assert_eq!(did_you_mean("aspect", known.into_iter()).unwrap(), "did you mean `aspects`?");
        assert_eq!(did_you_mean("intel_gpu_pvd", known.into_iter()).unwrap(), "did you mean `intel_gpu_pvc`?");
        assert_eq!(
            did_you_mean("intel_gpu", known.into_iter()).unwrap(),
            "did you mean `intel_gpu_pvc` or `intel_gpu_pvc_vg`?"
        );
        let aspects = ["fp16", "fp64", "gpu", "cpu"];
        assert_eq!(did_you_mean("fp46", aspects.into_iter()).unwrap(), "did you mean `fp64`?");
        assert_eq!(did_you_mean("quantum", known.into_iter()), None);
        assert_eq!(did_you_mean("", known.into_iter()), None);
        assert_eq!(did_you_mean(&"a".repeat(10_000), known.into_iter()), None);
    }
}
