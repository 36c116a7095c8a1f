//! What does the text of a `.ze_info` section say?
//!
//! IGC writes a small part of YAML, through LLVM's writer, and compute-runtime reads no more of it: block mappings and
//! sequences told by indentation, `[ 1, 2 ]` on one line or wrapped, plain and quoted scalars. Whoever writes more is
//! refused with the line's offset.

use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;

/// A value. Every scalar is text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    /// Nothing after the key.
    Null,
    /// A scalar; quotes removed.
    Scalar(std::borrow::Cow<'a, str>),
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
            _ => None,
        }
    }

    /// A scalar as a number.
    pub(crate) fn number(&self) -> Option<u64> {
        self.text()?.parse().ok()
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
    let mut lines = Vec::new();
    for (at, line) in bytes::lines(text) {
        let content = line.trim_end_matches(['\0', ' ']);
        let inner = content.trim_start_matches(' ');
        // A comment stands on a line of its own; the writer adds none behind values.
        if !inner.is_empty() && !inner.starts_with('#') && content != "---" && content != "..." {
            lines.push(Line { indent: content.len() - inner.len(), text: inner, at });
        }
    }
    let mut parser = Parser { lines: &lines, next: 0 };
    let node = parser.block(0, 0)?;
    match parser.peek() {
        Some(line) => Err(line.error("does not belong to what is before it")),
        None => Ok(node),
    }
}

#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
    at: usize,
}

impl Line<'_> {
    #[cold]
    fn error(&self, what: &str) -> Error {
        let shown: String = self.text.chars().take(60).collect();
        Error::at(self.at as u64, format!("the line `{shown}` {what}"))
    }
}

struct Parser<'l, 'a> {
    lines: &'l [Line<'a>],
    next: usize,
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.next).copied()
    }

    /// A sequence or mapping whose lines are indented by at least that much.
    fn block(&mut self, least: usize, depth: usize) -> Result<Node<'a>> {
        match self.peek() {
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
        while let Some(line) = self.peek() {
            let Some(rest) = line.text.strip_prefix('-').filter(|_| line.indent == indent) else { break };
            let item = rest.trim_start_matches(' ');
            self.next = self.next.saturating_add(1);
            items.push(if item.is_empty() {
                self.block(indent.saturating_add(1), depth.saturating_add(1))?
            } else if key_of(item).is_some() {
                // The item is a mapping whose first key stands on this line.
                let inner = indent.saturating_add(line.text.len() - item.len());
                let first = Line { indent: inner, text: item, at: line.at };
                self.mapping(inner, Some(first), depth.saturating_add(1))?
            } else {
                self.value(line, item)?
            });
        }
        Ok(Node::Sequence(items))
    }

    fn mapping(&mut self, indent: usize, first: Option<Line<'a>>, depth: usize) -> Result<Node<'a>> {
        let mut entries = Vec::new();
        let mut first = first;
        loop {
            let line = match first.take() {
                Some(line) => line,
                None => match self.peek().filter(|line| line.indent == indent && !line.text.starts_with("- ")) {
                    Some(line) => {
                        self.next = self.next.saturating_add(1);
                        line
                    }
                    None => return Ok(Node::Mapping(entries)),
                },
            };
            let (key, rest) = key_of(line.text).ok_or_else(|| line.error("is no key and value"))?;
            let value = if rest.is_empty() {
                // A sequence may be indented as little as its key.
                let nested = self.peek().is_some_and(|next| next.indent == indent && next.text.starts_with('-'));
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
        let Some(mut rest) = text.strip_prefix('[') else { return Ok(Node::Scalar(scalar(text))) };
        let mut items = Vec::new();
        loop {
            let (inner, closed) = match rest.strip_suffix(']') {
                Some(inner) => (inner, true),
                None => (rest, false),
            };
            let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
            items.extend(words.map(|word| Node::Scalar(scalar(word))));
            if closed {
                return Ok(Node::Sequence(items));
            }
            let next = self.peek().ok_or_else(|| line.error("opens a bracket that nothing closes"))?;
            self.next = self.next.saturating_add(1);
            rest = next.text;
        }
    }
}

/// `key: value` or `key:`.
fn key_of(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.split_once(':')?;
    let is_key =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    (is_key && (rest.is_empty() || rest.starts_with(' '))).then(|| (key, rest.trim_start_matches(' ')))
}

/// A scalar without its quotes. In single quotes a quote is doubled, in double ones the writer escapes it.
fn scalar(text: &str) -> std::borrow::Cow<'_, str> {
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    if let Some(inner) = within('\'') {
        return if inner.contains("''") { inner.replace("''", "'").into() } else { inner.into() };
    }
    match within('"') {
        Some(inner) if inner.contains('\\') => inner.replace("\\\"", "\"").replace("\\\\", "\\").into(),
        Some(inner) => inner.into(),
        None => text.into(),
    }
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
            assert_eq!(read(text).unwrap_err().offset(), Some(at), "{text}");
        }
        let deep: String = (0..100).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(read(&deep).unwrap_err().to_string().contains("deep"));
        assert_eq!(read("").unwrap(), Node::Null);
    }
}
