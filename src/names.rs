//! How are many names held, and told?
//!
//! A file may have hundreds of thousands of kernels, whose names are short: a text of its own for each would take several
//! times as much memory as the file.

use crate::limits;
use std::fmt;

/// Names in their order, as one text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// The end of each name in the text.
    ends: Vec<usize>,
}

impl Names {
    /// Appends a name.
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the name at a place.
    pub fn get(&self, at: usize) -> Option<&str> {
        let begin = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(begin..*self.ends.get(at)?)
    }

    /// Returns the names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Names {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}

/// Returns as much of names of targets or devices as is told of each kernel, and the number of the others
/// ([`limits::MAX_TOLD_TARGETS`]).
pub(crate) fn told_of_each(names: &[&str]) -> (Vec<String>, usize) {
    let told = names.iter().take(limits::MAX_TOLD_TARGETS);
    let told = told.map(|name| name.chars().take(limits::MAX_TOLD_TARGET).collect());
    (told.collect(), names.len().saturating_sub(limits::MAX_TOLD_TARGETS))
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_come_back_as_they_were_given() {
        let names: Names = ["a", "", "_ZTSé"].into_iter().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "", "_ZTSé"]);
        assert_eq!((names.len(), names.get(1), names.get(3)), (3, Some(""), None));
        assert!(Names::default().is_empty() && Names::default().iter().next().is_none());
    }
}
