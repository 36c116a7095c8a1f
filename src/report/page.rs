//! How is device code looked at rather than read?
//!
//! One HTML page that holds all it shows: its data as JSON, and the scripts and the style of `page/*.js` and
//! `page/*.css`. It loads nothing, and forbids itself to. What names say is shown and never read as markup or code:
//! they are whatever the file holds.

mod builds;
mod files;
mod matrix;
mod names;
mod policy;
mod static_part;

use super::evidence::Names;
use super::gate::TargetFindings;
use super::text;
use crate::error::Result;
use crate::policy::AppliedPolicy;
use std::collections::HashMap;

pub use builds::builds;
pub use files::Files;

/// The page of some files: who takes the space, what runs on `targets` and is against a policy, and which kernels and images
/// there are.
///
/// # Errors
/// `Input` where what is known cannot be written as JSON.
pub fn library(
    files: &Files,
    targets: &[TargetFindings],
    held: Option<&AppliedPolicy>,
    names: Names,
) -> Result<String> {
    let mut table = files.names(names);
    for of in targets.iter().flat_map(|target| &target.files) {
        table.extend(of.judged.kernels.names().map(|name| &**name));
    }
    let table = table.sorted();
    let policy = held.map(|held| held.section(targets, names));
    // Findings that are about no target have no column.
    let named: Vec<&TargetFindings> = targets.iter().filter(|one| !one.target.is_empty()).collect();
    let frame = Frame {
        title: files.title(),
        facts: [files.facts()].into_iter().chain(held.map(|held| held.facts())).collect::<Vec<_>>().join(" · "),
        static_part: static_part::library(files, &named, policy.as_ref(), names),
        data: files.data(&table, matrix::matrix(&named, files, &table, names), policy.as_ref())?,
        scripts: &[CORE, GRID, TREEMAP, MATRIX, POLICY, LIBRARY],
    };
    Ok(frame.html())
}

/// Reading the data, making elements, the tip.
const CORE: &str = include_str!("page/core.js");
/// Tables of thousands of rows, of which those in sight are there.
const GRID: &str = include_str!("page/grid.js");
/// Rectangles by bytes.
const TREEMAP: &str = include_str!("page/treemap.js");
/// Kernels by targets.
const MATRIX: &str = include_str!("page/matrix.js");
/// Exceptions, and what a policy finds beyond single kernels.
const POLICY: &str = include_str!("page/policy.js");
/// The page of files.
const LIBRARY: &str = include_str!("page/library.js");
/// The page of two builds.
const BUILDS: &str = include_str!("page/builds.js");
const STYLE: &str = include_str!("page/page.css");

/// A page's parts.
struct Frame<'f> {
    /// The title, as text.
    pub title: String,
    /// A line below the title, as text.
    pub facts: String,
    /// The content for readers without scripts, as HTML.
    pub static_part: String,
    /// JSON that can stand in a `script` element.
    pub data: String,
    /// The scripts, in order.
    pub scripts: &'f [&'static str],
}

impl Frame<'_> {
    /// The document. Its policy lets it load nothing, from anywhere, and send nothing.
    fn html(&self) -> String {
        let Frame { title, facts, static_part, data, scripts } = self;
        let (title, facts) = (html(title), html(facts));
        let (script, version) = (scripts.join("\n"), env!("CARGO_PKG_VERSION"));
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="sycl-bundle {version}">
<title>{title}: device code</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p id="facts">{facts}</p>
</header>
<main id="main">
<noscript>
<p class="note">Without scripts this is a summary; with them there are a map of the bytes and tables to filter and sort.</p>
{static_part}</noscript>
</main>
<footer>made by sycl-bundle {version}; this file loads nothing and needs no network</footer>
<div id="tip" role="tooltip" hidden></div>
<script type="application/json" id="data">{data}</script>
<script>
"use strict";
(() => {{
{script}
}})();
</script>
</body>
</html>
"#
        )
    }
}

/// Text for a reader, with what does not show.
fn visible(text: &str) -> String {
    text::visible(text).into_owned()
}

/// Text as HTML, between tags and in quoted attributes.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// JSON that can stand in a `script` element: nothing in it ends or opens one. These letters stand in strings only.
fn script_json(text: &str) -> String {
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Texts, each once and known by its number.
#[derive(Debug, Default)]
struct Texts {
    places: HashMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    /// The number of a text.
    fn intern(&mut self, text: &str) -> usize {
        if let Some(known) = self.places.get(text) {
            return *known;
        }
        let place = self.all.len();
        self.places.insert(text.to_owned(), place);
        self.all.push(visible(text));
        place
    }

    /// All, by number, as they are shown.
    fn all(&self) -> &[String] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_what_it_stands_in() {
        assert_eq!(html("</td>&\"'\u{1b}"), "&lt;/td&gt;&amp;&quot;&#39;\\u{1b}");
        let text = serde_json::to_string("</script><!--&\u{2028}").unwrap();
        let embedded = script_json(&text);
        assert!(!embedded.contains(['<', '>', '&']), "{embedded}");
        assert_eq!(serde_json::from_str::<String>(&embedded).unwrap(), "</script><!--&\u{2028}");
    }
}
