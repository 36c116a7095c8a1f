//! `inspect`: what device code is in these files?

use super::exit::Exit;
use super::files::each_file;
use super::global::Global;
use super::output;
use super::selection::Selection;
use std::io::Write as _;
use std::path::PathBuf;
use sycl_bundle::error::Result;
use sycl_bundle::report::json;

/// Show the device images of files
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Executables, shared libraries, SPIR-V modules; archives, wheels, other packages and folders of these; `pid:N` for
    /// the libraries of a process; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// The form of the output
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Format,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document
    Json,
    /// One line per image
    Jsonl,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Exit> {
        let mut out = output::stdout();
        let lost = |error: std::io::Error| output::lost(&error);
        if self.schema {
            out.write_all(json::SCHEMA.as_bytes()).and_then(|()| out.flush()).map_err(lost)?;
            return Ok(Exit::Done);
        }
        let selector = self.selection.selector()?;
        let exit = match self.format {
            Format::Table => Exit::Done,
            Format::Json => {
                let mut document = json::Document::open(&mut out)?;
                let exit = each_file(global, &self.files, &selector, |facts| document.file(facts))?;
                document.close()?;
                exit
            }
            Format::Jsonl => each_file(global, &self.files, &selector, |facts| json::lines(&mut out, facts))?,
        };
        out.flush().map_err(lost)?;
        Ok(exit)
    }
}
