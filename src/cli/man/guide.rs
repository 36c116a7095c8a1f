//! Which guides has the manual, and how does their Markdown become a page of section 7?
//!
//! A guide is a file of `src/guides` whose first line is `# NAME: SUMMARY`. What it shows as a command is run by the tests.

use crate::cli::man::escaped;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write as _;

/// The guides by name. `man NAME` prints one; `man/sycl-bundle-NAME.7` holds it.
pub const GUIDES: &[(&str, &str)] = &[
    ("tour", include_str!("../../guides/tour.md")),
    ("building", include_str!("../../guides/building.md")),
    ("gate", include_str!("../../guides/gate.md")),
    ("rewriting", include_str!("../../guides/rewriting.md")),
    ("packaging", include_str!("../../guides/packaging.md")),
    ("benchmarks", include_str!("../../guides/benchmarks.md")),
];

/// The first line of a guide behind its name.
pub fn summary(text: &str) -> &str {
    text.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, summary)| summary)
}

/// Renders a guide as a page of the manual, section 7. Tables are for tbl(1), which `man` runs where the first line says so.
pub fn page(name: &str, text: &str) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let mut page = Page::default();
    page.line("'\\\" t");
    page.line(&format!(".TH sycl\\-bundle\\-{name} 7 \"\" \"sycl\\-bundle {version}\""));
    page.line(&format!(".SH NAME\nsycl\\-bundle\\-{name} \\- {}", escaped(summary(text))));
    // Cells of tables are narrow: no word is cut or spread there.
    page.line(".nh\n.ad l");
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    Parser::new_ext(body, Options::ENABLE_TABLES).for_each(|event| page.event(event));
    page.line(".SH \"SEE ALSO\"\n\\fBsycl\\-bundle\\fR(1)");
    page.text.into_bytes()
}

/// A page as far as it is written.
#[derive(Default)]
struct Page {
    text: String,
    /// The font to go back to behind a word in another one, outermost first.
    fonts: Vec<char>,
    /// Whether a list's item was begun and its first paragraph was not.
    item: bool,
}

impl Page {
    /// Begins a line for a request, or a line of text.
    fn line(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn font(&mut self, font: char) {
        self.fonts.push(font);
        let _ = write!(self.text, "\\f{font}");
    }

    fn font_ends(&mut self) {
        self.fonts.pop();
        let _ = write!(self.text, "\\f{}", self.fonts.last().unwrap_or(&'R'));
    }

    /// Adds text, none of whose lines is a request.
    fn words(&mut self, words: &str) {
        self.text.push_str(&escaped(words));
        if words.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.starts(&tag),
            Event::End(tag) => self.ends(tag),
            Event::Text(words) => self.words(&words),
            Event::Code(words) => {
                self.font('B');
                self.words(&words);
                self.font_ends();
            }
            Event::SoftBreak | Event::HardBreak => self.text.push('\n'),
            _ => {}
        }
    }

    fn starts(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level: HeadingLevel::H1 | HeadingLevel::H2, .. } => self.request(".SH \""),
            Tag::Heading { .. } => self.request(".SS \""),
            Tag::Paragraph if self.item => self.item = false,
            Tag::Paragraph => self.line(".PP"),
            Tag::CodeBlock(_) => self.line(".PP\n.RS 2\n.nf"),
            Tag::Item => {
                self.line(".IP \\(bu 2");
                self.item = true;
            }
            Tag::Emphasis => self.font('I'),
            Tag::Strong => self.font('B'),
            Tag::Table(columns) => {
                self.line(".PP\n.TS\ntab(\u{1});");
                let row = |mark: &str| vec![mark; columns.len()].join(" ");
                self.line(&format!("{}\n{}.", row("lb"), row("l")));
            }
            Tag::TableCell => self.text.push_str("T{\n"),
            _ => {}
        }
    }

    /// Begins a request whose argument follows.
    fn request(&mut self, request: &str) {
        self.line("");
        self.text.pop();
        self.text.push_str(request);
    }

    fn ends(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.text.push_str("\"\n"),
            TagEnd::CodeBlock => self.line(".fi\n.RE"),
            TagEnd::Emphasis | TagEnd::Strong => self.font_ends(),
            TagEnd::TableCell => {
                self.line("T}");
                self.text.pop();
                self.text.push('\u{1}');
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                // The last cell of a row has no tab behind it.
                self.text.pop();
                self.text.push('\n');
            }
            TagEnd::Table => self.line(".TE"),
            TagEnd::Item => self.item = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_roff() {
        let text = "# x: two words\n\n## A `b`\n\nOne *two*\n.three\n\n```sh\n.a -b\n```\n\n- item\n\n| a | b |\n|---|---|\n| 1 | `2` |\n";
        let page = String::from_utf8(page("x", text)).unwrap();
        for part in [
            "sycl\\-bundle\\-x \\- two words\n",
            ".SH \"A \\fBb\\fR\"\n",
            ".PP\nOne \\fItwo\\fR\n\\&.three\n",
            ".nf\n\\&.a \\-b\n.fi\n",
            ".IP \\(bu 2\nitem\n",
            "lb lb\nl l.\nT{\na\nT}\u{1}T{\nb\nT}\nT{\n1\nT}\u{1}T{\n\\fB2\\fR\nT}\n.TE\n",
        ] {
            assert!(page.contains(part), "{part:?} is not in\n{page}");
        }
    }

    #[test]
    fn guides_begin_with_name_and_summary() {
        for (name, text) in GUIDES {
            assert!(text.starts_with(&format!("# {name}: ")) && !summary(text).is_empty(), "{name}");
        }
    }
}
