//! How do texts that thousands of rows have in common stand in a page once?

use super::escape::visible;
use std::collections::HashMap;

/// Texts, each once and known by its number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    places: HashMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn intern(&mut self, text: &str) -> usize {
        if let Some(known) = self.places.get(text) {
            return *known;
        }
        let place = self.all.len();
        self.places.insert(text.to_owned(), place);
        self.all.push(visible(text));
        place
    }

    /// All, by number, as they are shown.
    pub(super) fn all(&self) -> &[String] {
        &self.all
    }
}
