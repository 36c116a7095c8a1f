//! `man`: what does the manual say?
//!
//! What clap_mangen makes of the command line, and what stands behind the options in `--help`: its examples and exit codes
//! in sections of their own, by the names that man-pages(7) gives them. Guides are pages of section 7: a guide is a file of
//! `src/guides` whose first line is `# NAME: SUMMARY`. What it shows as a command is run by the tests.

use super::global::Global;
use super::output::{self, Output};
use crate::error::{Error, ErrorKind, Exit, Result};
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write as _;
use std::io::Write as _;

const AFTER_HELP: &str = "\
Examples:
  sycl-bundle man build | man -l -
  sycl-bundle man gate | man -l -
  sycl-bundle man > sycl-bundle.1";

/// Print a page of the manual: of a verb, or a guide
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A verb, or a guide: tour, building, gate, rewriting, packaging, benchmarks; without one the page of the whole program
    page: Option<String>,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, _: &Global, out: &mut Output) -> Result<Exit> {
        let wanted = match &self.page {
            Some(guide) if GUIDES.iter().any(|(name, _)| name == guide) => format!("sycl-bundle-{guide}.7"),
            Some(verb) => format!("sycl-bundle-{verb}.1"),
            None => "sycl-bundle.1".to_owned(),
        };
        let lost = |error: std::io::Error| output::lost(&error);
        let pages = pages().map_err(lost)?;
        let Some((_, page)) = pages.into_iter().find(|(name, _)| *name == wanted) else {
            let page = self.page.unwrap_or_default();
            let guides: Vec<&str> = GUIDES.iter().map(|(name, _)| *name).collect();
            let remedy = format!("the guides are {}; `sycl-bundle --help` lists the verbs", guides.join(", "));
            return Err(
                Error::new(ErrorKind::Usage, format!("there is no verb and no guide `{page}`")).with_remedy(remedy)
            );
        };
        out.plain(&page)?;
        Ok(Exit::Done)
    }
}

/// Every page by file name: the program's, one for each verb that the help shows, and the guides.
///
/// # Errors
/// Errors of rendering, which for a page in memory does not fail.
pub(crate) fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = super::Cli::command().name("sycl-bundle").disable_help_subcommand(true);
    root.build();
    let mut pages = vec![("sycl-bundle.1".to_owned(), page(root.clone(), None)?)];
    for verb in root.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("sycl-bundle-{}", verb.get_name());
        pages.push((format!("{name}.1"), page(verb.clone(), Some(verb.get_name()))?));
    }
    pages.extend(GUIDES.iter().map(|(name, text)| (format!("sycl-bundle-{name}.7"), guide_page(name, text))));
    Ok(pages)
}

/// Variables, by the verbs that read them; none for all.
const ENVIRONMENT: &[(&str, &[&str], &str)] = &[
    (
        "SYCL_BUNDLE_CACHE_DIR",
        &["build", "plan", "compile", "cache", "doctor"],
        "The folder of the cache of compiled modules; empty for none. By default $XDG_CACHE_HOME/sycl-bundle.",
    ),
    (
        "SYCL_BUNDLE_CACHE_LIMIT",
        &["build", "plan", "compile", "cache", "doctor"],
        "How much the cache may hold, such as 4GiB.",
    ),
    (
        "SYCL_BUNDLE_CONFIG",
        &["build", "plan", "check"],
        "The policy, in place of a sycl-bundle.toml here or in a folder above.",
    ),
    (
        "SOURCE_DATE_EPOCH",
        &["check"],
        "The day that the last days of exceptions are compared with, in seconds since 1970.",
    ),
    (
        "MAKEFLAGS",
        &["build", "compile"],
        "Where make(1) passes its jobserver, no more modules are compiled at once than it allows.",
    ),
    (
        "OCL_ICD_VENDORS, OCL_ICD_FILENAMES",
        &["build", "plan", "compile", "link", "devices", "kernels", "explain", "doctor"],
        "Which OpenCL drivers there are, for the OpenCL loader.",
    ),
    (
        "CL_CONFIG_CPU_TARGET_ARCH",
        &["build", "plan", "compile", "doctor"],
        "Set by the tool for Intel's CPU driver; --march says what it is to be.",
    ),
    ("ONEAPI_DEVICE_SELECTOR", &["doctor"], "Which devices programs see; what it hides is told."),
    ("NO_COLOR, CLICOLOR_FORCE", &[], "Whether the output is coloured, where --color is auto."),
    ("COLUMNS", &[], "How wide the output is, where it is no terminal; without it nothing is shortened there."),
];

/// Files, likewise.
const FILES: &[(&str, &[&str], &str)] = &[
    (
        "sycl-bundle.toml",
        &["build", "plan", "check"],
        "What a project demands of its device code, and how it is built; `check` and `build --example-policy` print one.",
    ),
    ("~/.cache/sycl-bundle", &["build", "plan", "compile", "cache", "doctor"], "What was compiled before."),
    (
        "~/.local/share/sycl-bundle",
        &["build", "devices", "doctor"],
        "Intel's OpenCL CPU driver, where --install-driver put it ($XDG_DATA_HOME).",
    ),
    (
        "/etc/OpenCL/vendors",
        &["build", "plan", "compile", "link", "devices", "kernels", "explain", "doctor"],
        "The OpenCL drivers of the machine.",
    ),
];

/// The section with the verb's own options, the groups of others, and the operands, each with the name of its value.
fn synopsis(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replacen("bundle-", "bundle ", 1);
    write!(out, ".SH SYNOPSIS\n\\fB{}\\fR", escaped(&name))?;
    let mut groups: Vec<String> = Vec::new();
    let shown = |argument: &&Arg| !argument.is_hide_set();
    for argument in command.get_arguments().filter(shown).filter(|argument| !argument.is_positional()) {
        if let Some(heading) = argument.get_help_heading() {
            let group = heading.to_lowercase();
            groups.extend((!groups.contains(&group)).then_some(group));
            continue;
        }
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        let names: Vec<String> =
            short.into_iter().chain(long).map(|name| format!("\\fB{}\\fR", escaped(&name))).collect();
        let takes = argument.get_action().takes_values();
        let value = if takes { format!(" {}", value_name(argument)) } else { String::new() };
        let repeated = if matches!(argument.get_action(), ArgAction::Append | ArgAction::Count) { "..." } else { "" };
        let (open, close) = if argument.is_required_set() { ("", "") } else { ("[", "]") };
        write!(out, " {open}{}{value}{close}{repeated}", names.join("|"))?;
    }
    for group in groups {
        write!(out, " [\\fI{}\\fR]", escaped(&group))?;
    }
    for argument in command.get_positionals().filter(shown) {
        let repeated = if matches!(argument.get_action(), ArgAction::Append) { "..." } else { "" };
        let (open, close) = if argument.is_required_set() { ("", "") } else { ("[", "]") };
        write!(out, " {open}{}{close}{repeated}", value_name(argument))?;
    }
    if command.get_subcommands().next().is_some() {
        write!(out, " \\fICOMMAND\\fR")?;
    }
    writeln!(out)?;
    Ok(out)
}

fn value_name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default().iter();
    let names: Vec<String> = names.map(|name| format!("\\fI{}\\fR", escaped(name))).collect();
    if names.is_empty() {
        format!("\\fI{}\\fR", escaped(&argument.get_id().as_str().to_uppercase()))
    } else {
        names.join(" ")
    }
}

/// A page. `verb` is none for that of the program.
pub(crate) fn page(command: Command, verb: Option<&str>) -> std::io::Result<Vec<u8>> {
    let behind = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let subcommands = command.get_subcommands().next().is_some();
    let synopsis = synopsis(&command)?;
    let man = clap_mangen::Man::new(command).date("");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend_from_slice(&synopsis);
    man.render_description_section(&mut page)?;
    let behind = AfterHelp::parse(behind.as_deref().unwrap_or_default());
    for paragraph in behind.prose {
        writeln!(page, ".PP\n{}", escaped(&paragraph))?;
    }
    man.render_options_section(&mut page)?;
    if subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    // Codes that a verb does not say more of are the program's.
    if verb.is_none() || !behind.status.is_empty() {
        section(&mut page, "EXIT STATUS", &behind.status)?;
    }
    if verb.is_some() {
        if behind.status.is_empty() {
            writeln!(page, ".SH \"EXIT STATUS\"")?;
        }
        writeln!(page, ".PP\nAll exit codes stand in \\fBsycl\\-bundle\\fR(1).")?;
    }
    for (title, all) in [("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)] {
        let concerns = |verbs: &[&str]| verb.is_none_or(|verb| verbs.is_empty() || verbs.contains(&verb));
        let own = all.iter().filter(|(_, verbs, _)| concerns(verbs));
        let entries: Vec<_> = own.map(|(name, _, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        if !entries.is_empty() {
            section(&mut page, title, &entries)?;
        }
    }
    if !behind.examples.is_empty() {
        writeln!(page, ".SH EXAMPLES\n.nf")?;
        behind.examples.iter().try_for_each(|line| writeln!(page, "{}", escaped(line)))?;
        writeln!(page, ".fi")?;
    }
    match verb {
        Some(_) => writeln!(page, ".SH \"SEE ALSO\"\n\\fBsycl\\-bundle\\fR(1)")?,
        None => {
            man.render_version_section(&mut page)?;
            writeln!(page, ".SH \"SEE ALSO\"")?;
            for (name, text) in GUIDES {
                writeln!(page, ".TP\n\\fBsycl\\-bundle\\-{name}\\fR(7)\n{}", escaped(summary(text)))?;
            }
        }
    }
    Ok(page)
}

/// The text behind the options in `--help`, sorted.
#[derive(Default)]
struct AfterHelp {
    prose: Vec<String>,
    /// Exit codes and what they mean.
    status: Vec<(String, String)>,
    examples: Vec<String>,
}

impl AfterHelp {
    fn parse(text: &str) -> AfterHelp {
        let mut behind = AfterHelp::default();
        for paragraph in text.split("\n\n") {
            match paragraph.split_once('\n') {
                Some(("Exit status:", list)) => behind.status = codes(list),
                Some(("Examples:" | "How do I ...", list)) => {
                    behind.examples.extend(list.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned()));
                }
                _ => behind.prose.push(paragraph.to_owned()),
            }
        }
        behind
    }
}

/// `  4  some image did not build`, each on a line or, indented, on several.
fn codes(list: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in list.lines() {
        match (line.strip_prefix("  ").and_then(|line| line.split_once("  ")), found.last_mut()) {
            (Some((code, text)), _) if !code.is_empty() => found.push((code.to_owned(), text.to_owned())),
            (_, Some((_, text))) => *text = format!("{text} {}", line.trim()),
            _ => {}
        }
    }
    found
}

fn section(page: &mut Vec<u8>, title: &str, entries: &[(String, String)]) -> std::io::Result<()> {
    writeln!(page, ".SH \"{title}\"")?;
    entries.iter().try_for_each(|(name, text)| writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(name), escaped(text)))
}

/// Text as roff takes it: no escape, no hyphen that may break, no line that begins as a request does.
pub(crate) fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The guides by name. `man NAME` prints one; `man/sycl-bundle-NAME.7` holds it.
const GUIDES: &[(&str, &str)] = &[
    ("tour", include_str!("../guides/tour.md")),
    ("building", include_str!("../guides/building.md")),
    ("gate", include_str!("../guides/gate.md")),
    ("rewriting", include_str!("../guides/rewriting.md")),
    ("packaging", include_str!("../guides/packaging.md")),
    ("benchmarks", include_str!("../guides/benchmarks.md")),
];

/// The first line of a guide behind its name.
fn summary(text: &str) -> &str {
    text.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, summary)| summary)
}

/// Renders a guide as a page of the manual, section 7. Tables are for tbl(1), which `man` runs where the first line says so.
fn guide_page(name: &str, text: &str) -> Vec<u8> {
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

/// Are the checked-in man pages and completion scripts those of the command line? `BLESS=1 cargo test generated` rewrites them.
#[cfg(test)]
mod generated {
    use super::pages;
    use crate::cli::completions;
    use clap_complete::Shell;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Compares a folder with what it should hold; with `BLESS` set makes it so.
    fn prove(folder: &str, expected: &BTreeMap<String, Vec<u8>>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let present = || -> BTreeMap<String, Vec<u8>> {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries
                .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
                .collect()
        };
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            for name in present().keys().filter(|name| !expected.contains_key(*name)) {
                std::fs::remove_file(folder.join(name)).unwrap();
            }
            for (name, bytes) in expected {
                std::fs::write(folder.join(name), bytes).unwrap();
            }
        }
        let present = present();
        let stale: Vec<_> =
            expected.iter().filter(|(name, bytes)| present.get(*name) != Some(*bytes)).map(|(name, _)| name).collect();
        let extra: Vec<_> = present.keys().filter(|name| !expected.contains_key(*name)).collect();
        assert!(
            stale.is_empty() && extra.is_empty(),
            "{}: stale {stale:?}, of no verb {extra:?}; `BLESS=1 cargo test generated` rewrites them",
            folder.display()
        );
    }

    #[test]
    fn man_pages_are_current() {
        prove("man", &pages().unwrap().into_iter().collect());
    }

    #[test]
    fn completions_are_current() {
        let scripts = [
            ("sycl-bundle.bash", Shell::Bash),
            ("_sycl-bundle", Shell::Zsh),
            ("sycl-bundle.fish", Shell::Fish),
            ("_sycl-bundle.ps1", Shell::PowerShell),
            ("sycl-bundle.elv", Shell::Elvish),
        ];
        prove(
            "completions",
            &scripts.map(|(name, shell)| (name.to_owned(), completions::script(shell).unwrap())).into_iter().collect(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_is_sorted() {
        let text = "Prose\nof two lines.\n\nExamples:\n  a -b 'c'\n  # two\n\nExit status:\n  4  some image\n     failed\n  5  x";
        let behind = AfterHelp::parse(text);
        assert_eq!(behind.prose, ["Prose\nof two lines."]);
        assert_eq!(behind.examples, ["a -b 'c'", "# two"]);
        let status: Vec<_> = behind.status.iter().map(|(code, text)| (code.as_str(), text.as_str())).collect();
        assert_eq!(status, [("4", "some image failed"), ("5", "x")]);
        assert_eq!(escaped(".a -b 'c'\\"), "\\&.a \\-b \\(aqc\\(aq\\e");
    }

    #[test]
    fn what_is_named_is_a_verb() {
        use clap::CommandFactory as _;
        let tree = crate::cli::Cli::command();
        let verbs: Vec<&str> = tree.get_subcommands().map(Command::get_name).collect();
        for (name, of, _) in ENVIRONMENT.iter().chain(FILES) {
            assert!(of.iter().all(|verb| verbs.contains(verb)), "{name}: {of:?}");
        }
    }
}

#[cfg(test)]
mod guide_tests {
    use super::*;

    #[test]
    fn markdown_becomes_roff() {
        let text = "# x: two words\n\n## A `b`\n\nOne *two*\n.three\n\n```sh\n.a -b\n```\n\n- item\n\n| a | b |\n|---|---|\n| 1 | `2` |\n";
        let page = String::from_utf8(guide_page("x", text)).unwrap();
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
