//! `man`: what does the manual say?
//!
//! What clap_mangen makes of the command line, and what stands behind the options in `--help`: its examples and exit codes
//! in sections of their own, by the names that man-pages(7) gives them.

mod guide;

use super::global::Global;
use super::output;
use clap::{Command, CommandFactory as _};
use guide::{GUIDES, summary};
use std::io::Write as _;
use sycl_bundle::error::Exit;
use sycl_bundle::error::{Error, ErrorKind, Result};

const AFTER_HELP: &str = "\
Examples:
  sycl-bundle man build | man -l -
  sycl-bundle man gate | man -l -
  sycl-bundle man > sycl-bundle.1";

/// Print a page of the manual: of a verb, or a guide
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A verb, or a guide: tour, building, gate, rewriting, packaging, benchmarks; without one the page of the whole program
    page: Option<String>,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, _: &Global) -> Result<Exit> {
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
        let mut out = output::stdout();
        out.write_all(&page).and_then(|()| out.flush()).map_err(lost)?;
        Ok(Exit::Done)
    }
}

/// Every page by file name: the program's, one for each verb that the help shows, and the guides.
///
/// # Errors
/// Where rendering fails, which for a page in memory it does not.
pub fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = super::Cli::command().name("sycl-bundle").disable_help_subcommand(true);
    root.build();
    let mut pages = vec![("sycl-bundle.1".to_owned(), page(root.clone(), None)?)];
    for verb in root.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("sycl-bundle-{}", verb.get_name());
        pages.push((format!("{name}.1"), page(verb.clone(), Some(verb.get_name()))?));
    }
    pages.extend(GUIDES.iter().map(|(name, text)| (format!("sycl-bundle-{name}.7"), guide::page(name, text))));
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
    ("COLUMNS", &[], "How wide the output is, where it is no terminal."),
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

/// A page. `verb` is none for that of the program.
pub fn page(command: Command, verb: Option<&str>) -> std::io::Result<Vec<u8>> {
    let behind = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let subcommands = command.get_subcommands().next().is_some();
    let man = clap_mangen::Man::new(command).date("");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
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
pub fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
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
