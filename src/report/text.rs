//! How does running text keep to the width?

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

/// Breaks a text into lines of at most `width` characters; one empty line for an empty text.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
