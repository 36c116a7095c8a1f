//! How does text keep to the width, show what does not show, and stand in Markdown as it is?

use std::borrow::Cow;

/// Text for a reader: what does not show, turns the direction of writing, or commands a terminal, is spelled out as
/// `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, ' '..='~') || c == char::REPLACEMENT_CHARACTER;
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if plain(c) || c.escape_debug().len() == 1 {
            out.push(c);
        } else {
            out.extend(c.escape_debug());
        }
    }
    Cow::Owned(out)
}

/// Spells out what does not show, like [`visible`], and keeps line breaks.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return visible(text);
    }
    Cow::Owned(text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Writes `label` and a text beside it; further lines of the text stand under its first. Breaks at spaces, and within
/// words that are longer than a line.
pub fn field(out: &mut String, indent: usize, label: &str, column: usize, text: &str, width: usize) {
    let room = width.saturating_sub(column).max(20);
    let mut lead = format!("{:indent$}{label}", "");
    for line in wrap(text, room) {
        let gap = column.saturating_sub(lead.chars().count()).max(usize::from(!lead.trim().is_empty()));
        out.push_str(&lead);
        out.push_str(&" ".repeat(gap));
        out.push_str(&line);
        out.push('\n');
        lead.clear();
    }
}

/// Breaks a text into lines of at most `width` characters, with what does not show spelled out; one empty line for an
/// empty text.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = &*visible(text);
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0usize;
    for word in text.split(' ') {
        let length = word.chars().count();
        let needed = if used == 0 { length } else { length.saturating_add(1) };
        if used > 0 && used.saturating_add(needed) > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used = used.saturating_add(1);
        }
        for letter in word.chars() {
            if used >= width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(letter);
            used = used.saturating_add(1);
        }
    }
    lines.push(line);
    lines
}

/// Text in which nothing is markup.
pub(super) fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// Code, whatever it holds.
pub(super) fn markdown_code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_spelled_out() {
        assert_eq!(visible("a<\"b\" 'é' 中>"), "a<\"b\" 'é' 中>");
        assert_eq!(visible("a\u{202e}b\u{0}\n\u{200b}\u{7f}"), "a\\u{202e}b\\0\\n\\u{200b}\\u{7f}");
    }

    #[test]
    fn breaks_at_spaces_and_in_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn fields_stand_in_a_column() {
        let mut out = String::new();
        field(&mut out, 2, "Target", 10, "one two three four five six seven", 32);
        assert_eq!(out, "  Target  one two three four\n          five six seven\n");
    }
}
