//! What do `embed` and `prune` share: a linked file goes in, a changed copy comes out?

use super::global::Global;
use super::output::{Output, SUMMARY, forms};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, ErrorKind, Exit, Result};
use sycl_bundle::files::linked::{Linked, Target};
use sycl_bundle::files::package::LinkedFile;
use sycl_bundle::report::document::Form;
use sycl_bundle::report::edited::Edited;
use sycl_bundle::rewrite::image_data::OutImage;

/// The flags of the two verbs.
#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    /// The file to write; for `prune` of a wheel, a folder or several files the folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["in_place", "schema"])]
    output: Option<PathBuf>,
    /// Write the copy in place of the file itself
    #[arg(long, conflicts_with = "output")]
    in_place: bool,
    /// Remove the signature of a Windows file, which would be wrong once the file is changed
    #[arg(long)]
    drop_signature: bool,
    /// Leave zeros where removed images were: without it their pages leave an ELF file, and images that stay may move
    #[arg(long)]
    keep_layout: bool,
    /// The form of the summary
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = forms(SUMMARY))]
    format: Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    pub schema: bool,
}

impl TargetArgs {
    /// The output, as the command line names it.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// The place of the copy of a file in a package.
    pub fn of_package(&self, file: &LinkedFile) -> Target {
        let in_place = file.input == file.output;
        Target {
            output: file.output.clone(),
            in_place,
            drop_signature: self.drop_signature,
            keep_layout: self.keep_layout,
        }
    }

    /// Refuses a document and a file that both want standard output.
    ///
    /// # Errors
    /// `Usage` where they do.
    pub fn check(&self) -> Result<()> {
        if self.format == Form::Json && self.output.as_deref() == Some(Path::new("-")) {
            return Err(Error::new(ErrorKind::Usage, "`--format json` and `-o -` both want standard output"));
        }
        Ok(())
    }

    /// Changes the list of images, writes the copy and says what was done.
    ///
    /// # Errors
    /// Those of [`Linked::edit`].
    pub fn change(
        &self,
        global: &Global,
        (linked, target): (&Linked, &Target),
        drop: &HashSet<usize>,
        add: &[OutImage<'_>],
        out: &mut Output,
    ) -> Result<Exit> {
        let (result, exit) = linked.edit(global, target, drop, add, true)?;
        self.tell(&result, out)?;
        Ok(exit)
    }

    /// Shows what was done.
    ///
    /// # Errors
    /// `Io` where standard output cannot be written to.
    pub fn tell(&self, result: &Edited, out: &mut Output) -> Result<()> {
        out.put(self.format, result)
    }

    /// The file to write and how; none where only the schema is printed.
    pub fn target(&self, file: &Path) -> Option<Target> {
        let output = self.output.clone().or_else(|| self.in_place.then(|| file.to_owned()))?;
        Some(Target {
            output,
            in_place: self.in_place,
            drop_signature: self.drop_signature,
            keep_layout: self.keep_layout,
        })
    }
}
