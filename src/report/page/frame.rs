//! What is around the data: the document, its style and its scripts?

use super::escape::html;

/// Reading the data, making elements, the tip.
pub(super) const CORE: &str = include_str!("core.js");
/// Tables of thousands of rows, of which those in sight are there.
pub(super) const GRID: &str = include_str!("grid.js");
/// Rectangles by bytes.
pub(super) const TREEMAP: &str = include_str!("treemap.js");
/// Kernels by targets.
pub(super) const MATRIX: &str = include_str!("matrix.js");
/// Exceptions, and what a policy finds beyond single kernels.
pub(super) const POLICY: &str = include_str!("policy.js");
/// The page of files.
pub(super) const LIBRARY: &str = include_str!("library.js");
/// The page of two builds.
pub(super) const BUILDS: &str = include_str!("builds.js");
const STYLE: &str = include_str!("page.css");

/// A page's parts.
pub(super) struct Frame<'f> {
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
    pub(super) fn html(&self) -> String {
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
