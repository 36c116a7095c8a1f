//! `filter`: which modules does the compiler of one device get?

use super::emit::EmitArgs;
use super::global::Global;
use super::output::{Output, SUMMARY, forms};
use super::selection::DeviceConfigs;
use super::selection::Selection;
use crate::compat::fit::Subject;
use crate::device::table::TargetTable;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::emit::{Emit, table_place};
use crate::files::filter::{Filtering, Wanted};
use crate::files::package::is_linked;
use crate::report::document;
use crate::report::filtered;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Each `-o TARGET,TABLE` writes a file table (as `sycl-post-link -o TARGET,TABLE` does): the images in
their order, where the module of one that the target cannot run is an empty module of the same
format. Property sets and entries stay, so that the runtime can still say why a kernel does not run.
`-o TABLE` without `-t` keeps all. With `-t TARGET,...`, `-o` takes any form of --emit. Of a linked
file it is a copy by default, and of a wheel or a folder one of each linked file in it.

An image is for a target as `check` says: the target has every aspect, work-group and sub-group
size that is recorded for it or that its code needs. What a target may have beyond its list stays.
Native code is for what it was compiled for. Of several targets under one name (a family), an
image stays where one of them may run it.

Examples:
  sycl-bundle filter images.table -o intel_gpu_pvc,pvc.table -o intel_gpu_dg1,dg1.table -o all.table
  sycl-bundle filter libfoo.so -t pvc,acm-g10 -o gpus.table
  sycl-bundle filter libfoo.so -t intel_gpu_acm_g10 -o out/libfoo.so
  sycl-bundle filter foo-1.0-cp311-cp311-linux_x86_64.whl -t intel_gpu_acm_g10 -o out/
  sycl-bundle filter a.spv b.spv -t dg1 -o kernels.o";

/// Replace the modules that a target cannot run by empty ones
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// File tables, SPIR-V modules (with the `.prop` and `.sym` beside them), executables, libraries, objects,
    /// SYCLBIN, OffloadBinary and bundle files, packages and folders of these; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// The targets of the file that -o names, as `targets` lists them, in any spelling; an image stays where one of them may
    /// run it
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// A target and the table to write for it (repeatable); or a file for the targets of -t, without those with all images
    /// as they are. Of linked files, wheels and folders that is a copy of each, by default, and a folder for several; else
    /// the name tells the form, or --emit
    #[arg(short, long = "output", value_name = "[TARGET,]FILE")]
    outputs: Vec<String>,
    /// Remove the signature of a Windows file, which would be wrong once the file is changed
    #[arg(long)]
    drop_signature: bool,
    /// The form of the summary
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = forms(SUMMARY))]
    format: document::Form,
    /// Print the JSON Schema of `--format json` and end
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    configs: DeviceConfigs,
    #[command(flatten)]
    form: EmitArgs,
    // Last, for the heading it opens.
    #[command(flatten)]
    selection: Selection,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&filtered::schema());
        }
        let table = self.configs.table(global)?;
        let wanted = self.wanted(global, &table)?;
        let selector = self.selection.selector()?;
        let filtering = Filtering { files: &self.files, selector: &selector, drop_signature: self.drop_signature };
        let (filtered, edited, exit) = filtering.run(global, &wanted)?;
        edited.iter().try_for_each(|copy| out.put(document::Form::Text, copy))?;
        out.put(self.format, &filtered)?;
        Ok(exit)
    }

    /// The tables to write, in the order of the command line.
    fn wanted<'t>(&self, global: &Global, table: &'t TargetTable) -> Result<Vec<Wanted<'t>>> {
        let usage = |message: String, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        let mut wanted = Vec::new();
        let mut plain: Option<&Path> = None;
        for output in &self.outputs {
            // Names with folders may have commas.
            let pair = output.split_once(',').filter(|(spelling, _)| !spelling.contains('/'));
            let Some((spelling, path)) = pair else {
                if plain.replace(Path::new(output)).is_some() {
                    let message = "-o names several files without a target".to_owned();
                    return usage(message, "name the target of each table: -o TARGET,TABLE");
                }
                continue;
            };
            let path = table_place(Emit::Table, Path::new(path)).into_owned();
            let form = EmitArgs::default().form(Emit::Table, &path)?;
            wanted.push(Wanted { subjects: subjects(global, table, spelling)?, path, form });
        }
        match (plain, self.targets.is_empty()) {
            (Some(path), _) => {
                let mut all = Vec::new();
                for spelling in &self.targets {
                    if spelling.contains('.') && table.resolve(spelling).is_err() {
                        return usage(format!("`{spelling}` is no target"), "a table is named by -o: -o TARGET,TABLE");
                    }
                    all.extend(subjects(global, table, spelling)?);
                }
                let emit = self.emit(path);
                let path = table_place(emit, path).into_owned();
                wanted.push(Wanted { form: self.form.form(emit, &path)?, path, subjects: all });
            }
            (None, false) => {
                let message = format!("-t {} names no file to write", self.targets.join(","));
                return usage(message, "name a file with -o, or a table for each target: -o TARGET,TABLE");
            }
            (None, true) if self.form.emit.is_some() => {
                return usage(
                    "--emit is the form of what -o names, and there is none".to_owned(),
                    "name a file with -o",
                );
            }
            (None, true) if wanted.is_empty() => {
                return usage("nothing is to be written".to_owned(), "name a table: -o TARGET,TABLE");
            }
            (None, true) => {}
        }
        Filtering::check(&self.files, &wanted)?;
        Ok(wanted)
    }

    /// The form of what `-o` names.
    fn emit(&self, path: &Path) -> Emit {
        match (self.form.emit, Emit::by_extension(path)) {
            (Some(emit), _) => emit,
            (None, Some(emit @ (Emit::Object | Emit::Syclbin | Emit::Table | Emit::Spirv))) => emit,
            (None, named) if self.files.iter().all(|file| is_linked(file, named.is_none())) => Emit::Embed,
            (None, Some(emit)) => emit,
            (None, None) => Emit::Table,
        }
    }
}

/// The targets that a spelling means.
fn subjects<'t>(global: &Global, table: &'t TargetTable, spelling: &str) -> Result<Vec<Subject<'t>>> {
    let found = table.resolve(spelling)?;
    if let Some(note) = &found.note {
        global.note(note);
    }
    let march = found.march;
    Ok(found.targets.into_iter().map(|target| Subject::new(target).with_march(march)).collect())
}
