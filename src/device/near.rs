//! Which known name did the user mean?

use strsim::levenshtein;

/// Longer than any name; what is longer is no typo, and comparing it would cost its square.
const LONGEST: usize = 80;
/// Names that a remedy lists; more are no help.
const MOST: usize = 4;

/// The known names nearest to one that is not known, nearest first, at most three; none where none is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let length = name.chars().count();
    if length == 0 || length > LONGEST {
        return Vec::new();
    }
    let most = (length / 4).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = known
        .filter(|other| other.len().abs_diff(name.len()) <= most)
        .map(|other| (levenshtein(name, other), other))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.dedup();
    // Something at one letter's distance makes what is farther away noise.
    let first = found.first().map_or(0, |(distance, _)| *distance);
    found.into_iter().take_while(|(distance, _)| *distance == first).take(3).map(|(_, name)| name).collect()
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
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
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
        assert_eq!(did_you_mean("quantum", known.into_iter()), None);
        assert_eq!(did_you_mean("", known.into_iter()), None);
        assert_eq!(did_you_mean(&"a".repeat(10_000), known.into_iter()), None);
    }
}
