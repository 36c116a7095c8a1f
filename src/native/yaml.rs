//! What does the text of a `.ze_info` section say?
//!
//! IGC writes a small part of YAML, through LLVM's writer, and compute-runtime reads no more of it: block mappings and
//! sequences told by indentation, `[ 1, 2 ]` on one line or wrapped, plain and quoted scalars. Whoever writes more is
//! refused with the line's offset.

use crate::error::{Error, Result};
use crate::limits;

/// A value. Every scalar is text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    /// Nothing after the key.
    Null,
    /// A scalar without quotes.
    Scalar(&'a str),
    /// A scalar in quotes, which are removed.
    Quoted(std::borrow::Cow<'a, str>),
    /// A sequence.
    Sequence(Vec<Node<'a>>),
    /// A mapping, in order.
    Mapping(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The value of a key of a mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Node<'a>> {
        match self {
            Node::Mapping(entries) => entries.iter().find(|(known, _)| *known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The items of a sequence; none of anything else.
    pub(crate) fn items(&self) -> &[Node<'a>] {
        match self {
            Node::Sequence(items) => items,
            _ => &[],
        }
    }

    /// A scalar's text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Node::Scalar(text) => Some(text),
            Node::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar's text, where it stands without quotes: what stands in quotes is no number and no word of a list to drivers.
    pub(crate) fn word(&self) -> Option<&'a str> {
        match self {
            Node::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as a number.
    pub(crate) fn number(&self) -> Option<u64> {
        self.word()?.parse().ok()
    }

    /// A scalar's text under a key.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// A number under a key.
    pub(crate) fn number_of(&self, key: &str) -> Option<u64> {
        self.get(key)?.number()
    }
}

/// Reads a document.
///
/// # Errors
/// `Input`, with the offset of the line, where the text is not of this form.
pub(crate) fn read(text: &str) -> Result<Node<'_>> {
    let left = (text.len() / limits::MIN_YAML_VALUE).saturating_add(limits::MANY_YAML_VALUES);
    let mut parser = Parser { text, at: 0, line: None, left };
    parser.advance();
    let node = parser.block(0, 0)?;
    match parser.line {
        Some(line) => Err(line.error("does not belong to what is before it")),
        None => Ok(node),
    }
}

/// Line with contents.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
    at: usize,
}

impl<'a> Line<'a> {
    /// The line of a text that begins there, and where the next one begins. None where nothing is in it but a comment, which
    /// stands on a line of its own; the writer adds none behind values.
    #[inline]
    fn read(text: &'a str, at: usize) -> (Option<Line<'a>>, usize) {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let next = at.saturating_add(length).saturating_add(1);
        let mut line = rest.get(..length).unwrap_or_default();
        while let [before @ .., b'\r'] = line {
            line = before;
        }
        while let [before @ .., b'\0' | b' '] = line {
            line = before;
        }
        let indent = line.iter().position(|byte| *byte != b' ').unwrap_or(line.len());
        let end = at.saturating_add(line.len());
        let inner = text.get(at.saturating_add(indent)..end).unwrap_or_default();
        let empty = inner.is_empty() || inner.starts_with('#') || indent == 0 && matches!(inner, "---" | "...");
        ((!empty).then_some(Line { indent, text: inner, at }), next)
    }

    #[cold]
    fn error(&self, what: &str) -> Error {
        let shown: String = self.text.chars().take(60).collect();
        Error::at(self.at as u64, format!("the line `{shown}` {what}"))
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Beginning of the line after the next one.
    at: usize,
    /// The next line.
    line: Option<Line<'a>>,
    /// Items of sequences and entries of mappings that there may yet be.
    left: usize,
}

impl<'a> Parser<'a> {
    #[inline]
    fn advance(&mut self) {
        self.line = None;
        while self.line.is_none() && self.at < self.text.len() {
            (self.line, self.at) = Line::read(self.text, self.at);
        }
    }

    /// Counts an item or entry.
    #[inline]
    fn count(&mut self, line: Line<'a>) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| line.error("has more values than a text of its size"))?;
        Ok(())
    }

    /// A sequence or mapping whose lines are indented by at least that much.
    fn block(&mut self, least: usize, depth: usize) -> Result<Node<'a>> {
        match self.line {
            Some(line) if line.indent >= least => {
                if depth > limits::MAX_METADATA_DEPTH {
                    return Err(line.error("is nested too deep"));
                }
                if line.text == "-" || line.text.starts_with("- ") {
                    self.sequence(line.indent, depth)
                } else {
                    self.mapping(line.indent, None, depth)
                }
            }
            _ => Ok(Node::Null),
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize) -> Result<Node<'a>> {
        let mut items = Vec::new();
        while let Some(line) = self.line {
            let Some(rest) = line.text.strip_prefix('-').filter(|_| line.indent == indent) else { break };
            let item = rest.trim_start_matches(' ');
            self.count(line)?;
            self.advance();
            items.push(if item.is_empty() {
                self.block(indent.saturating_add(1), depth.saturating_add(1))?
            } else if let Some(entry) = entry_of(item) {
                // The item is a mapping whose first key stands on this line.
                let inner = indent.saturating_add(line.text.len() - item.len());
                self.mapping(inner, Some((line, entry)), depth.saturating_add(1))?
            } else {
                self.value(line, item)?
            });
        }
        Ok(Node::Sequence(items))
    }

    /// A mapping, whose first entry may have been read.
    fn mapping(&mut self, indent: usize, mut first: Option<(Line<'a>, Entry<'a>)>, depth: usize) -> Result<Node<'a>> {
        let mut entries = Vec::new();
        loop {
            let (line, (key, rest)) = match first.take() {
                Some(first) => first,
                None => match self.line.filter(|line| line.indent == indent && !line.text.starts_with("- ")) {
                    Some(line) => {
                        self.advance();
                        (line, entry_of(line.text).ok_or_else(|| line.error("is no key and value"))?)
                    }
                    None => return Ok(Node::Mapping(entries)),
                },
            };
            self.count(line)?;
            let value = if rest.is_empty() {
                // A sequence may be indented as little as its key.
                let nested = self.line.is_some_and(|next| next.indent == indent && next.text.starts_with('-'));
                let least = if nested { indent } else { indent.saturating_add(1) };
                self.block(least, depth.saturating_add(1))?
            } else {
                self.value(line, rest)?
            };
            entries.push((key, value));
        }
    }

    /// A scalar, or a sequence in brackets, which may go on in the next lines.
    fn value(&mut self, line: Line<'a>, text: &'a str) -> Result<Node<'a>> {
        let Some(mut rest) = text.strip_prefix('[') else { return Ok(scalar(text)) };
        let mut items = Vec::new();
        loop {
            let (inner, closed) = match rest.strip_suffix(']') {
                Some(inner) => (inner, true),
                None => (rest, false),
            };
            let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
            for word in words {
                self.count(line)?;
                items.push(scalar(word));
            }
            if closed {
                return Ok(Node::Sequence(items));
            }
            let next = self.line.ok_or_else(|| line.error("opens a bracket that nothing closes"))?;
            self.advance();
            rest = next.text;
        }
    }
}

/// Key, and what follows it on its line.
type Entry<'a> = (&'a str, &'a str);

/// `key: value` or `key:`.
#[inline]
fn entry_of(text: &str) -> Option<Entry<'_>> {
    let of_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = text.bytes().position(|byte| !of_key(byte)).filter(|end| *end > 0)?;
    let (key, rest) = text.split_at_checked(end)?;
    let rest = rest.strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| (key, rest.trim_start_matches(' ')))
}

fn scalar(text: &str) -> Node<'_> {
    unquoted(text).map_or(Node::Scalar(text), Node::Quoted)
}

/// A scalar without its quotes, where it has some. In single quotes a quote is doubled, in double ones the writer escapes it.
fn unquoted(text: &str) -> Option<std::borrow::Cow<'_, str>> {
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    if let Some(inner) = within('\'') {
        return Some(if inner.contains("''") { inner.replace("''", "'").into() } else { inner.into() });
    }
    within('"').map(|inner| {
        if inner.contains('\\') { inner.replace("\\\"", "\"").replace("\\\\", "\\").into() } else { inner.into() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_igc_writes_is_read() {
        let text = "---\nversion:         '1.20'\nkernels:\n  - name:            scale\n    execution_env:\n      \
                    required_work_group_size: [ 64, 2,\n        1 ]\n      simd_size: 32\n    payload_arguments:\n      \
                    - arg_type:        arg_byvalue\n        offset: 0\n      - arg_type: local_size\n  - name: 'it''s'\n\
                    other: []\n...\n\0\0";
        let node = read(text).unwrap();
        assert_eq!(node.text_of("version"), Some("1.20"));
        let kernels = node.get("kernels").unwrap().items();
        assert_eq!(kernels.len(), 2);
        assert_eq!(kernels[1].text_of("name"), Some("it's"));
        let environment = kernels[0].get("execution_env").unwrap();
        assert_eq!(environment.number_of("simd_size"), Some(32));
        let size: Vec<_> =
            environment.get("required_work_group_size").unwrap().items().iter().map(Node::number).collect();
        assert_eq!(size, [Some(64), Some(2), Some(1)]);
        assert_eq!(kernels[0].get("payload_arguments").unwrap().items()[1].text_of("arg_type"), Some("local_size"));
        assert!(node.get("other").unwrap().items().is_empty());
    }

    #[test]
    fn what_is_no_such_text_is_refused_with_its_offset() {
        for (text, at) in [("a: 1\nb\n", 5), ("a: [ 1\n", 0), ("a:\n    b: 1\n  c: 2\n", 12), ("- a\nb: 1\n", 4)] {
            let error = read(text).unwrap_err();
            assert_eq!(error.offset(), Some(at), "{text}");
        }
        let deep: String = (0..100).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(read(&deep).unwrap_err().to_string().contains("deep"));
        assert_eq!(read("").unwrap(), Node::Null);
        let many = |count: usize| format!("a: [{}]\n", "1,".repeat(count));
        assert!(read(&many(limits::MANY_YAML_VALUES)).is_ok());
        assert!(read(&many(limits::MANY_YAML_VALUES * 3)).unwrap_err().to_string().contains("more values"));
    }
}
