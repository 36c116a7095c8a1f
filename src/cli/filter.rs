//! `filter`: which modules does the compiler of one device get?

use super::device_config::DeviceConfigs;
use super::emit::EmitArgs;
use super::global::Global;
use super::output::{Output, SUMMARY, forms};
use super::selection::Selection;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Declared;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::compat::aspects::Code;
use sycl_bundle::compat::engine::objections;
use sycl_bundle::compat::examine::{Examined, examine, examine_images};
use sycl_bundle::compat::finding::Finding;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::codes;
use sycl_bundle::container::arena::Arena;
use sycl_bundle::container::{Host, Kind};
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::error::{Context as _, Error, ErrorKind, Exit, Result};
use sycl_bundle::files::earlier::{self, Earlier};
use sycl_bundle::files::emit::{self, Emit, OutputForm};
use sycl_bundle::files::gather::{Gathered, gather};
use sycl_bundle::files::input::Input;
use sycl_bundle::files::linked::{Linked, Target};
use sycl_bundle::files::sources::same_file;
use sycl_bundle::report::document;
use sycl_bundle::report::filtered::{self, Emptied, Filtered, Reason};
use sycl_bundle::report::json::SchemaVersion;
use sycl_bundle::rewrite::empty::empty;
use sycl_bundle::rewrite::extract::{self, Names};
use sycl_bundle::rewrite::image_data::out_image;
use sycl_bundle::rewrite::prepare;

const AFTER_HELP: &str = "\
Each `-o TARGET,TABLE` writes a file table (as `sycl-post-link -o TARGET,TABLE` does): the images in
their order, where the module of one that the target cannot run is an empty module of the same
format. Property sets and entries stay, so that the runtime can still say why a kernel does not run.
`-o TABLE` without `-t` keeps all. With `-t TARGET,...`, `-o` takes any form of --emit.

An image is for a target as `check` says: the target has every aspect, work-group and sub-group
size that is recorded for it or that its code needs. What a target may have beyond its list stays.
Native code is for what it was compiled for. Of several targets under one name (a family), an
image stays where one of them may run it.

Examples:
  sycl-bundle filter images.table -o intel_gpu_pvc,pvc.table -o intel_gpu_dg1,dg1.table -o all.table
  sycl-bundle filter libfoo.so -t pvc,acm-g10 -o gpus.table
  sycl-bundle filter libfoo.so -t intel_gpu_acm_g10 -o out/libfoo.so
  sycl-bundle filter a.spv b.spv -t dg1 -o kernels.o";

/// Replace the modules that a target cannot run by empty ones
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// File tables, SPIR-V modules (with the `.prop` and `.sym` beside them), executables, libraries, objects,
    /// SYCLBIN, OffloadBinary and bundle files, packages and folders of these; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "schema")]
    files: Vec<PathBuf>,
    /// The targets of the file that -o names, as `targets` lists them, in any spelling; an image stays where one of them may
    /// run it
    #[arg(short = 't', long = "target", visible_alias = "for", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// A target and the table to write for it (repeatable); or a file for the targets of -t, without those with all images
    /// as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit
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

/// An output that is asked for.
struct Wanted<'t> {
    path: PathBuf,
    /// The targets; none where all images stay.
    subjects: Vec<Subject<'t>>,
    form: OutputForm,
}

impl Args {
    /// Runs the verb.
    pub fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        if self.schema {
            return out.schema(&filtered::schema());
        }
        let table = self.configs.table(global)?;
        let wanted = self.wanted(global, &table)?;
        let mut filtered = Filtered {
            schema_version: SchemaVersion,
            inputs: self.files.iter().map(|path| path.display().to_string()).collect(),
            outputs: Vec::new(),
        };
        let mut exit = Exit::Done;
        let (copies, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|one| one.form.emit == Emit::Embed);
        if !others.is_empty() {
            exit = self.write(global, &others, &mut filtered)?;
        }
        for copy in copies {
            let of_copy = self.copy(global, copy, &mut filtered, out)?;
            exit = if exit == Exit::Done { of_copy } else { exit };
        }
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
            let path = in_folder(Path::new(path));
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
                let path = if emit == Emit::Table { in_folder(path) } else { path.to_owned() };
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
        for (at, one) in wanted.iter().enumerate() {
            emit::check_place(Some(one.form.emit), &one.path)?;
            if self.files.iter().any(|file| same_file(file, &one.path)) {
                return usage(format!("`{}` would replace an input", one.path.display()), "name another file");
            }
            // The parts of a table are named after it.
            let tables = |other: &Wanted<'_>| other.form.emit == Emit::Table && one.form.emit == Emit::Table;
            let same = |other: &Wanted<'_>| {
                let beside = emit::stem_and_folder(&other.path) == emit::stem_and_folder(&one.path);
                other.path == one.path || beside && tables(other)
            };
            if wanted.iter().take(at).any(same) {
                let message = format!("`{}` and another output are of the same name", one.path.display());
                return usage(message, "give each a name of its own");
            }
        }
        Ok(wanted)
    }

    /// The form of what `-o` names.
    fn emit(&self, path: &Path) -> Emit {
        let linked = || {
            // Standard input can be read but once.
            let Some([file]) = Some(self.files.as_slice()).filter(|files| *files != [Path::new("-")]) else {
                return false;
            };
            let kind = Input::open(file).ok().and_then(|input| Kind::identify(input.bytes()).ok());
            matches!(kind, Some(Kind::Elf | Kind::Pe))
        };
        match (self.form.emit, Emit::by_extension(path)) {
            (Some(emit), _) => emit,
            (None, Some(emit @ (Emit::Object | Emit::Syclbin | Emit::Table | Emit::Spirv))) => emit,
            (None, _) if linked() => Emit::Embed,
            (None, Some(emit)) => emit,
            (None, None) => Emit::Table,
        }
    }

    /// Writes what is made of the images alone.
    fn write(&self, global: &Global, wanted: &[&Wanted<'_>], filtered: &mut Filtered) -> Result<Exit> {
        let arena = Arena::with_limit(u64::MAX);
        let Gathered { images, origin, exit, epoch, .. } =
            gather(global, &self.files, &self.selection.selector()?, None, &arena)?;
        if images.is_empty() && exit != Exit::Done {
            // Why has been said.
            return Ok(exit);
        }
        let examined = examine_images(&images, epoch);
        let codes = codes(&examined);
        let mut ready = Vec::new();
        let inputs: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        // All is made and checked before the first output is written.
        for one in wanted {
            let findings = judged(&examined, &codes, one);
            let made = images
                .iter()
                .zip(&findings)
                .map(|(image, findings)| if findings.is_empty() { Ok(image.clone()) } else { emptied(&arena, image) });
            let made = made.collect::<Result<Vec<Image<'_>>>>()?;
            let mut earlier = Earlier::default();
            if one.form.emit == Emit::Table {
                let (stem, _) = emit::stem_and_folder(&one.path);
                let names: Vec<Names> =
                    made.iter().map(|image| Names::for_prepared(&stem, image.index, image)).collect();
                earlier = earlier::check(names.iter().flat_map(Names::all), &one.path, &inputs)?;
            }
            ready.push((one, made, findings, earlier));
        }
        for (one, made, findings, earlier) in ready {
            let bytes = emit::write(global, &one.form, made, &origin, &one.path)?;
            let _ = earlier.clear(&one.path);
            filtered.outputs.push(result(one, &examined, &findings, bytes));
        }
        Ok(exit)
    }

    /// Writes a copy of a linked file.
    fn copy(&self, global: &Global, wanted: &Wanted<'_>, filtered: &mut Filtered, out: &mut Output) -> Result<Exit> {
        let [file] = self.files.as_slice() else {
            let error = Error::new(ErrorKind::Usage, "a linked file makes an output of its own");
            return Err(error.with_remedy("filter linked files one by one, or choose another form with --emit"));
        };
        let target = Target {
            output: wanted.path.clone(),
            in_place: false,
            drop_signature: self.drop_signature,
            keep_layout: false,
        };
        let linked = Linked::open(file, &target)?;
        let arena = Arena::with_limit(u64::MAX);
        let host = Host::read(linked.bytes()).context(|| linked.name())?;
        let bundle = Bundle::read(&host).context(|| linked.name())?;
        // What is known of tens of thousands of kernels goes before the file is read again.
        let (made, drop, output) = {
            let images = self.selection.selector()?.keep(examine(&bundle))?;
            let codes = codes(&images);
            let findings = judged(&images, &codes, wanted);
            let gone: Vec<&Examined<'_, '_>> =
                images.iter().zip(&findings).filter(|(_, found)| !found.is_empty()).map(|(image, _)| image).collect();
            let made = gone.iter().map(|image| {
                let own = prepare::copy(&arena, image, false)?;
                emptied(&arena, &own).context(|| format!("image {}", image.image.index))
            });
            let made = made.collect::<Result<Vec<Image<'_>>>>()?;
            let drop: HashSet<usize> = gone.iter().map(|image| image.image.index).collect();
            (made, drop, result(wanted, &images, &findings, 0))
        };
        let add: Vec<_> = made.iter().map(out_image).collect();
        let (done, exit) = linked.edit(global, &target, &drop, &add, false)?;
        out.put(document::Form::Text, &done)?;
        let bytes = std::fs::metadata(&wanted.path).map_or(0, |metadata| metadata.len());
        filtered.outputs.push(filtered::Output { bytes, ..output });
        Ok(exit)
    }
}

/// A folder gets a table of the usual name.
fn in_folder(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(extract::TABLE) } else { path.to_owned() }
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

/// Reasons against each image; none where all stay.
fn judged(images: &[Examined<'_, '_>], codes: &[Code], wanted: &Wanted<'_>) -> Vec<Vec<Finding>> {
    if wanted.subjects.is_empty() {
        return images.iter().map(|_| Vec::new()).collect();
    }
    objections(images, codes, &wanted.subjects)
}

/// The image with an empty payload.
fn emptied<'k>(arena: &'k Arena, image: &Image<'k>) -> Result<Image<'k>> {
    let contents = image.contents()?;
    let stored = arena.keep(empty(&contents, image.format_of(&contents))?)?;
    let declared = if image.compression().is_some() { Declared::None } else { image.declared };
    Ok(Image { stored, declared, ..image.clone() })
}

fn result(wanted: &Wanted<'_>, images: &[Examined<'_, '_>], findings: &[Vec<Finding>], bytes: u64) -> filtered::Output {
    let with_code = images.iter().zip(findings).filter(|(_, found)| found.is_empty());
    let have: HashSet<&str> = with_code.flat_map(|(image, _)| &image.kernels).map(String::as_str).collect();
    let emptied: Vec<Emptied> = images
        .iter()
        .zip(findings)
        .filter(|(_, found)| !found.is_empty())
        .map(|(image, found)| Emptied {
            image: image.image.index,
            kernels: image.kernels.clone(),
            findings: found.iter().map(Reason::new).collect(),
        })
        .collect();
    let mut seen = HashSet::new();
    let lost = emptied.iter().flat_map(|one| &one.kernels).map(String::as_str);
    let lost: Vec<String> =
        lost.filter(|kernel| !have.contains(kernel) && seen.insert(*kernel)).map(str::to_owned).collect();
    filtered::Output {
        output: wanted.path.display().to_string(),
        emit: wanted.form.emit.name(),
        targets: wanted.subjects.iter().map(|subject| subject.target.name.clone()).collect(),
        images: images.len(),
        emptied,
        kernels_without_code: lost,
        bytes,
    }
}
