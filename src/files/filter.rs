//! `filter`: which modules does the compiler of one device get?

use super::emit::{self, Emit, OutputForm};
use super::gather::{Gathered, gather_for};
use super::linked::{Linked, Target};
use super::package::{LinkedFile, Package};
use super::sources;
use super::sources::same_file;
use super::write::folder_of;
use crate::bundle::Bundle;
use crate::bundle::format::Declared;
use crate::bundle::image::Image;
use crate::compat::aspects::Code;
use crate::compat::engine::objections;
use crate::compat::examine::{Examined, examine, examine_images};
use crate::compat::finding::Finding;
use crate::compat::fit::Subject;
use crate::compat::gate::codes;
use crate::compat::other_models::OtherModels;
use crate::container::{Allowance, Arena, Host};
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::report::edited::Edited;
use crate::report::filtered::{Emptied, Filtered, Output, Reason};
use crate::report::json::SchemaVersion;
use crate::report::text::counted;
use crate::rewrite::empty::empty;
use crate::rewrite::extract::Names;
use crate::rewrite::image_data::out_image;
use crate::rewrite::prepare;
use crate::select::Selector;
use crate::temporary::hold;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// An output that is asked for.
pub(crate) struct Wanted<'t> {
    /// The file to write.
    pub(crate) path: PathBuf,
    /// The targets; none where all images stay.
    pub(crate) subjects: Vec<Subject<'t>>,
    /// The form of the file.
    pub(crate) form: OutputForm,
}

/// Inputs whose modules are to become empty where a target cannot run them.
pub(crate) struct Filtering<'f> {
    /// The inputs.
    pub(crate) files: &'f [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'f Selector,
    /// Whether the signature of a Windows file may go.
    pub(crate) drop_signature: bool,
}

impl Filtering<'_> {
    /// Checks that no output would replace an input or another output.
    ///
    /// # Errors
    /// `Usage` where one would, `Environment` where one cannot be written.
    pub(crate) fn check(files: &[PathBuf], wanted: &[Wanted<'_>]) -> Result<()> {
        let usage = |message: String, remedy: &str| Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        let places: Vec<PathBuf> = wanted.iter().map(|one| place(&one.path)).collect();
        for (at, (one, own)) in wanted.iter().zip(&places).enumerate() {
            // Copies of several files have a folder.
            if one.form.emit != Emit::Embed {
                emit::check_place(Some(one.form.emit), &one.path)?;
            }
            if files.iter().any(|file| same_file(file, &one.path)) {
                return usage(format!("`{}` would replace an input", one.path.display()), "name another file");
            }
            // The parts of a table are named after it.
            let tables = |other: &Wanted<'_>| other.form.emit == Emit::Table && one.form.emit == Emit::Table;
            let same = |(other, there): (&Wanted<'_>, &PathBuf)| {
                let beside = emit::stem_and_folder(there) == emit::stem_and_folder(own);
                there == own || same_file(&other.path, &one.path) || beside && tables(other)
            };
            if wanted.iter().zip(&places).take(at).any(same) {
                let message = format!("`{}` and another output are of the same name", one.path.display());
                return usage(message, "give each a name of its own");
            }
        }
        Ok(())
    }

    /// Writes the outputs. Gives what became of each, and of a copy of a linked file how it was changed.
    ///
    /// # Errors
    /// Errors of reading, selecting and writing.
    pub(crate) fn run(&self, reporter: &dyn Reporter, wanted: &[Wanted<'_>]) -> Result<(Filtered, Vec<Edited>, Exit)> {
        let mut filtered = Filtered {
            schema_version: SchemaVersion,
            inputs: self.files.iter().map(|path| path.display().to_string()).collect(),
            outputs: Vec::new(),
        };
        let mut exit = Exit::Done;
        let (copies, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|one| one.form.emit == Emit::Embed);
        if !others.is_empty() {
            exit = self.write(reporter, &others, &mut filtered)?;
        }
        let mut edited = Vec::new();
        for copy in copies {
            let (done, of_copy) = self.copies(reporter, copy, &mut filtered)?;
            edited.push(done);
            exit = if exit == Exit::Done { of_copy } else { exit };
        }
        Ok((filtered, edited, exit))
    }

    /// Writes what is made of the images alone.
    fn write(&self, reporter: &dyn Reporter, wanted: &[&Wanted<'_>], filtered: &mut Filtered) -> Result<Exit> {
        let arena = Arena::with_limit(u64::MAX);
        let targets = wanted.iter().flat_map(|one| one.subjects.iter().map(|subject| subject.target));
        // An output without targets has all images.
        let all = wanted.iter().any(|one| one.subjects.is_empty());
        let mut others = if all { OtherModels::default() } else { OtherModels::new(targets) };
        let gathered = gather_for(reporter, self.files, self.selector, &mut others, &arena)?;
        let Gathered { images, origin, exit, epoch, .. } = gathered;
        others.note("written").iter().for_each(|note| reporter.note(note));
        if images.is_empty() && exit != Exit::Done {
            // Why has been said.
            return Ok(exit);
        }
        let examined = examine_images(&images, epoch, &Allowance::default());
        let codes = codes(&examined);
        let (mut ready, mut files) = (Vec::new(), HashMap::new());
        let inputs: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let tables = wanted.iter().filter(|one| one.form.emit == Emit::Table);
        // Whoever holds several has them in one order, so that no two wait for each other.
        let folders: BTreeSet<PathBuf> =
            tables.map(|one| place(&one.path)).filter_map(|place| Some(place.parent()?.to_owned())).collect();
        let _held: Vec<_> = folders.iter().map(|folder| hold(folder)).collect();
        // All is made and checked before the first output is written.
        for one in wanted {
            let findings = judged(&examined, &codes, one);
            let made = images
                .iter()
                .zip(&findings)
                .map(|(image, findings)| if findings.is_empty() { Ok(image.clone()) } else { emptied(&arena, image) });
            let made = made.collect::<Result<Vec<Image<'_>>>>()?;
            let mut own = vec![one.path.clone()];
            if one.form.emit == Emit::Table {
                let (stem, folder) = emit::stem_and_folder(&one.path);
                let names: Vec<Names> =
                    made.iter().map(|image| Names::for_prepared(&stem, image.index, image)).collect();
                sources::spare_beside_table(names.iter().flat_map(Names::all), &one.path, &inputs)?;
                own.extend(names.iter().flat_map(Names::all).map(|name| folder.join(name)));
            }
            for file in own {
                if let Some(other) = files.insert(place(&file), &one.path) {
                    let (file, other, one) = (file.display(), other.display(), one.path.display());
                    let message = format!("`{file}` would be of two outputs, `{other}` and `{one}`");
                    return Err(Error::new(ErrorKind::Usage, message).with_remedy("give each a name of its own"));
                }
            }
            ready.push((one, made, findings));
        }
        for (one, made, findings) in ready {
            let bytes = emit::write(reporter, &one.form, made, &origin, &one.path)?;
            filtered.outputs.push(result(one, &examined, &findings, bytes));
        }
        Ok(exit)
    }

    /// Writes copies of linked files: of one, or of those of packages.
    fn copies(&self, reporter: &dyn Reporter, wanted: &Wanted<'_>, filtered: &mut Filtered) -> Result<(Edited, Exit)> {
        let mut copy = |file: &LinkedFile| {
            let (edited, exit, output) = self.copy(reporter, file, wanted)?;
            filtered.outputs.push(Output { output: file.output_name.clone(), ..output });
            Ok((edited, exit))
        };
        if let Some(package) = Package::open(reporter, self.files, Some(&wanted.path), true)? {
            return package.edit(reporter, &mut copy);
        }
        let [file] = self.files else {
            let error = Error::new(ErrorKind::Usage, "a linked file makes an output of its own");
            return Err(error.with_remedy("name a folder with `-o out/`, or choose another form with --emit"));
        };
        copy(&LinkedFile::alone(file, &wanted.path))
    }

    /// Writes a copy of a linked file.
    fn copy(&self, reporter: &dyn Reporter, file: &LinkedFile, wanted: &Wanted<'_>) -> Result<(Edited, Exit, Output)> {
        let target = Target {
            output: file.output.clone(),
            in_place: false,
            drop_signature: self.drop_signature,
            keep_layout: false,
        };
        let linked = Linked::open(&file.input, file.name.clone(), &target)?;
        let arena = Arena::with_limit(u64::MAX);
        let host = Host::read(linked.bytes()).context(|| linked.name())?;
        let bundle = Bundle::read(&host).context(|| linked.name())?;
        // The facts of tens of thousands of kernels are freed before the file is read again.
        let (made, drop, output) = {
            let mut images = self.selector.keep(examine(&bundle))?;
            let all = images.len();
            images.retain(|image| bundle.is_listed(image.image));
            if images.len() < all {
                let beside = counted(all.saturating_sub(images.len()), "image");
                reporter.note(&format!("{}: {beside} in no list of SYCL's runtime, left as they are", linked.name()));
            }
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
        let (done, exit) = linked.edit(reporter, &target, &drop, &add, false)?;
        let bytes = done.bytes_after;
        Ok((done, exit, Output { bytes, ..output }))
    }
}

/// The path of an output in the folder that it is really in. Special files are nobody's alone.
fn place(path: &Path) -> PathBuf {
    let folder = folder_of(path).canonicalize();
    folder.ok().zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
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

fn result(wanted: &Wanted<'_>, images: &[Examined<'_, '_>], findings: &[Vec<Finding>], bytes: u64) -> Output {
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
    Output {
        output: wanted.path.display().to_string(),
        emit: wanted.form.emit.name(),
        targets: wanted.subjects.iter().map(|subject| subject.target.name.clone()).collect(),
        images: images.len(),
        emptied,
        kernels_without_code: lost,
        bytes,
    }
}
