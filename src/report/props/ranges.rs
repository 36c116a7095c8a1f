//! How are many numbers written in little space?

use crate::report::units::count;
use std::collections::BTreeSet;

/// `0-3, 7`, and of more than `most` ranges the first: `0, 2, 4, 6, and 96 more`.
pub(super) fn ranges(numbers: &BTreeSet<usize>, most: usize) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown: Vec<String> = runs
        .iter()
        .take(most)
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let rest: usize = runs.iter().skip(most).map(|(first, last)| last.saturating_sub(*first).saturating_add(1)).sum();
    let more = if rest > 0 { format!(", and {} more", count(rest)) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_and_the_rest_is_counted() {
        let of = |numbers: &[usize]| ranges(&numbers.iter().copied().collect(), 4);
        assert_eq!(of(&[3]), "3");
        assert_eq!(of(&[7, 0, 1, 2]), "0-2, 7");
        assert_eq!(of(&[0, 2, 4, 6, 8, 10, 12, 14, 15]), "0, 2, 4, 6, and 5 more");
        assert_eq!(of(&[]), "");
    }
}
