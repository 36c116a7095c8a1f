//! `man`: what does the manual say?

mod guide;
mod page;

use super::exit::Exit;
use super::global::Global;
use super::output;
use clap::CommandFactory as _;
use guide::GUIDES;
use page::page;
use std::io::Write as _;
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
