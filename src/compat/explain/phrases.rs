//! Which sentences of the runtime, of compilers and of this program are known word for word?
//!
//! The table is `phrases.txt`: a topic, and behind it the words of which one tells it; then what it means, and what helps.
//! The words are those of libsycl 2026.2, DPC++'s driver and `sycl-post-link`, Intel's graphics driver, GNU ld, and ours.

use std::sync::OnceLock;

/// A known sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// A word for programs.
    pub topic: &'static str,
    /// Words of which one is in the sentence.
    pub words: Vec<&'static str>,
    /// Meaning.
    pub meaning: &'static str,
    /// Remedies.
    pub remedies: Vec<&'static str>,
}

impl Phrase {
    /// Whether it names an error code alone, and not its cause.
    pub fn is_general(&self) -> bool {
        self.topic.starts_with("errc-")
    }
}

/// All that are known.
pub fn phrases() -> &'static [Phrase] {
    static PHRASES: OnceLock<Vec<Phrase>> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut phrases: Vec<Phrase> = Vec::new();
        for line in include_str!("phrases.txt").lines() {
            match (line.strip_prefix("  "), phrases.last_mut()) {
                (Some(text), Some(phrase)) => match text.strip_prefix("help: ") {
                    Some(remedy) => phrase.remedies.push(remedy),
                    None => phrase.meaning = text,
                },
                _ => phrases.extend(line.split_once(": ").map(|(topic, words)| Phrase {
                    topic,
                    words: words.split(" | ").collect(),
                    meaning: "",
                    remedies: Vec::new(),
                })),
            }
        }
        phrases
    })
}

/// Finds the phrases that a line holds.
pub fn in_line(line: &str) -> impl Iterator<Item = &'static Phrase> {
    phrases().iter().filter(move |phrase| phrase.words.iter().any(|words| line.contains(words)))
}
