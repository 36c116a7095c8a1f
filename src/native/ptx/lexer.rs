//! Which words does PTX have?
//!
//! As `ptxas` 12.9 and 13.5 read them: comments do not nest, strings know no escapes, and of the C preprocessor there are
//! the two lines alone that say where text is from.

use std::borrow::Cow;

/// Words and punctuation, without comments.
pub(super) struct Lexer<'t> {
    /// Text that is not read so far.
    pub(super) rest: &'t str,
    /// The first thing on the way that `ptxas` does not take.
    pub(super) strange: Option<Cow<'static, str>>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let strange = (!text.is_ascii()).then_some(Cow::Borrowed("letters outside ASCII"));
        Lexer { rest: text, strange }
    }

    /// Returns the next word, which is empty at the end. Of a string that is its text, with the first quotation mark.
    pub(super) fn word(&mut self) -> &'t str {
        self.skip();
        let text = self.rest;
        let (len, rest) = if let Some(string) = text.strip_prefix('"') {
            let (string, rest) = self.up_to(string, "\"", "a string without an end");
            (string.len().saturating_add(1), rest)
        } else {
            let is_word = |letter: &u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'$' | b'%' | b'.');
            // Words are ASCII, so that bytes tell where one ends; a letter that is in none stands by itself.
            let len = match text.bytes().position(|letter| !is_word(&letter)) {
                Some(0) => text.chars().next().map_or(0, char::len_utf8),
                Some(len) => len,
                None => text.len(),
            };
            (len, text.get(len..).unwrap_or_default())
        };
        self.rest = rest;
        text.get(..len).unwrap_or_default()
    }

    /// Whether that is the next word, which then is read.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let before = self.rest;
        let is_it = self.word() == word;
        if !is_it {
            self.rest = before;
        }
        is_it
    }

    /// Goes to where the next word begins.
    fn skip(&mut self) {
        loop {
            let is_blank = |letter: u8| matches!(letter, b' ' | b'\t' | b'\n' | b'\r' | 0xc | 0x1a);
            let begin = self.rest.bytes().position(|letter| !is_blank(letter)).unwrap_or(self.rest.len());
            self.rest = self.rest.get(begin..).unwrap_or_default();
            if !self.rest.starts_with(['/', '#']) {
                return;
            }
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = self.up_to(comment, "*/", "a comment without an end").1;
            } else if let Some(line) = self.rest.strip_prefix('#') {
                self.place(line);
            } else {
                return;
            }
        }
    }

    /// Splits at the end of a comment or a string; where there is none, everything belongs to it.
    fn up_to(&mut self, text: &'t str, end: &str, missing: &'static str) -> (&'t str, &'t str) {
        text.split_once(end).unwrap_or_else(|| {
            self.strange.get_or_insert(missing.into());
            (text, "")
        })
    }

    /// Reads `# 1 "file"` or `#line 1 "file"`, behind the first letter.
    fn place(&mut self, line: &'t str) {
        let (line, rest) = self.up_to(line, "\n", "a line of a preprocessor without an end");
        self.rest = rest;
        let words = line.strip_prefix("line").unwrap_or(line);
        let place = words.strip_prefix([' ', '\t']).and_then(|words| words.trim().split_once([' ', '\t']));
        let is_place = place.is_some_and(|(number, file)| {
            let file = file.trim().strip_prefix('"').and_then(|file| file.strip_suffix('"'));
            number.bytes().all(|digit| digit.is_ascii_digit()) && file.is_some_and(|file| !file.contains('"'))
        });
        if !is_place {
            self.strange.get_or_insert_with(|| format!("`#{:.40}`", line.trim_end()).into());
        }
    }
}
