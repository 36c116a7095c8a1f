//! Which linked files does a verb change in a wheel, a folder or a list of files, and where do the copies go?
//!
//! Libraries of a wheel are unpacked into a folder of this run, beside the output; [`Package::finish`] packs the wheel again
//! with what became of them. Everything else in it stays as it is.

use super::expand::expand;
use super::input::{Found, Input};
use super::place::{Identity, identities};
use super::sources::{replaces_input, same_file, spare_opened};
use super::write::{below, cannot_write, folder_of, mode_of, write_atomically, write_streamed};
use crate::bundle::Bundle;
use crate::container::{Allowance, Host, Kind, package};
use crate::error::{Context as _, Error, ErrorKind, Exit, Reporter, Result};
use crate::report::edited::Edited;
use crate::rewrite::wheel;
use crate::temporary::{Scratch, is_temporary, make_folder};
use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Bytes of a file's name that every file system takes; temporary files beside it append to theirs.
const MAX_FILE_NAME: usize = 200;

/// Linked file to change.
#[derive(Debug)]
pub(crate) struct LinkedFile {
    /// Path of its bytes.
    pub(crate) input: PathBuf,
    /// Path as the user knows it, through a wheel too.
    pub(crate) name: String,
    /// Path of the copy; the input itself where it is changed in place.
    pub(crate) output: PathBuf,
    /// Path of the copy as the user knows it, through a wheel too.
    pub(crate) output_name: String,
    /// Number of the input that it is of.
    pub(crate) of_input: usize,
}

impl LinkedFile {
    /// A linked file by itself, with the output that the user names.
    pub(crate) fn alone(input: &Path, output: &Path) -> LinkedFile {
        let (name, output_name) = (input.display().to_string(), output.display().to_string());
        LinkedFile { input: input.to_owned(), name, output: output.to_owned(), output_name, of_input: 0 }
    }
}

/// Wheel whose libraries are changed.
#[derive(Debug)]
struct Wheel {
    input: PathBuf,
    output: PathBuf,
    /// Folder of the unpacked libraries and of their copies.
    scratch: Scratch,
    /// Paths of the copies by path in the wheel.
    copies: HashMap<String, PathBuf>,
}

/// Linked files of several inputs, or of inputs that hold several.
#[derive(Debug)]
pub(crate) struct Package {
    /// Files with device code, in the order of the inputs.
    pub(crate) files: Vec<LinkedFile>,
    /// Exit code that reading the inputs calls for; what was damaged has been said.
    pub(crate) exit: Exit,
    /// Name of the output: the folder, else the one wheel; the first input where files are changed in place.
    output: String,
    /// Name of the first input.
    input: String,
    /// Whether anything is written.
    writes: bool,
    wheels: Vec<Wheel>,
    /// Folders that were made for outputs, each after the one that it is in.
    made: Vec<PathBuf>,
    /// Bytes that all files together may inflate to while those with images are looked for.
    allowance: Arc<Allowance>,
}

/// Place of the outputs of a package.
#[derive(Debug, Clone, Copy)]
enum Destination<'p> {
    InPlace,
    Folder(&'p Path),
    /// File name for the one wheel there is.
    File(&'p Path),
}

impl Destination<'_> {
    /// The output of an input.
    ///
    /// # Errors
    /// Errors of [`below`].
    fn output_of(self, input: &Path) -> Result<PathBuf> {
        match self {
            Destination::InPlace => Ok(input.to_owned()),
            Destination::Folder(folder) => below(folder, Path::new(input.file_name().unwrap_or_default())),
            Destination::File(file) => Ok(file.to_owned()),
        }
    }
}

impl Package {
    /// Finds the linked files. None where the inputs are single files with one output, which the verb reads itself. Folders of
    /// outputs are made where the verb `writes`.
    ///
    /// # Errors
    /// `Usage` where the outputs have no place, `NoDeviceCode` where no linked file has device code, `Environment` where a
    /// library cannot be unpacked.
    pub(crate) fn open(
        reporter: &dyn Reporter,
        inputs: &[PathBuf],
        output: Option<&Path>,
        writes: bool,
    ) -> Result<Option<Package>> {
        let holds_files = |path: &PathBuf| path.is_dir() || kind_of(path).is_some_and(package::is_package);
        let to_stdout = output == Some(Path::new("-"));
        let several = inputs.iter().any(holds_files) || (output.is_none() && inputs.len() > 1);
        if !several && !output.is_some_and(is_folder) {
            return Ok(None);
        }
        if to_stdout {
            let error =
                Error::new(ErrorKind::Usage, "several files, folders and wheels are not written to standard output");
            return Err(error.with_remedy("name a folder with `-o out/`"));
        }
        let place = match output {
            None => Destination::InPlace,
            Some(path) => match inputs {
                [one] if !is_folder(path) && kind_of(one) == Some(Kind::Zip) => Destination::File(path),
                _ => Destination::Folder(path),
            },
        };
        let shown = |path: &Path| path.display().to_string();
        let input = inputs.first().map(|path| shown(path)).unwrap_or_default();
        let mut package = Package {
            files: Vec::new(),
            exit: Exit::Done,
            output: output.map_or_else(|| input.clone(), shown),
            input,
            writes,
            wheels: Vec::new(),
            made: Vec::new(),
            allowance: Arc::default(),
        };
        if let Destination::Folder(folder) = place {
            // A slash at its end leads nowhere where it is a file.
            let folder = folder.components().as_path();
            if folder.exists() && !folder.is_dir() {
                let message = format!("`{}` is a file, and the copies need a folder", folder.display());
                return Err(Error::new(ErrorKind::Usage, message).with_remedy("name a folder with `-o out/`"));
            }
            if inputs.iter().any(|input| input.is_dir() && same_file(input, folder)) {
                let message =
                    format!("`{}` is an input, and the copies would replace what lies in it", folder.display());
                let remedy = "name another folder with `-o`, or change the files where they are with `--in-place`";
                return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
            }
            package.make(folder)?;
        }
        for (number, input) in inputs.iter().enumerate() {
            let begin = package.files.len();
            package.add(reporter, input, place)?;
            package.files.iter_mut().skip(begin).for_each(|file| file.of_input = number);
        }
        if package.files.is_empty() && package.exit != Exit::Done {
            return Err(Error::input("no file in it can be read and holds device code"));
        }
        if package.files.is_empty() {
            let error = Error::new(ErrorKind::NoDeviceCode, "no linked file in it lists images for the SYCL runtime");
            let remedy = "`sycl-bundle inspect` tells what is in each file; --emit chooses another form than copies";
            return Err(error.with_remedy(remedy));
        }
        package.check_outputs(place)?;
        Ok(Some(package))
    }

    /// Makes a folder for outputs.
    fn make(&mut self, folder: &Path) -> Result<()> {
        if !self.writes {
            return Ok(());
        }
        self.made.extend(make_folder(folder).map_err(|error| cannot_write(folder, &error))?);
        Ok(())
    }

    /// Adds the linked files of an input.
    fn add(&mut self, reporter: &dyn Reporter, input: &Path, place: Destination<'_>) -> Result<()> {
        if input.is_dir() {
            return self.add_folder(reporter, input, place);
        }
        if input == Path::new("-") {
            let error =
                Error::new(ErrorKind::Usage, "standard input has no name, and its copy in a folder would have none");
            return Err(error.with_remedy("name a file with `-o`"));
        }
        let name = || input.display().to_string();
        match kind_of(input) {
            Some(Kind::Zip) => self.add_wheel(reporter, input, place).context(name),
            Some(kind) if package::is_package(kind) => {
                let message = format!("this is {}, and only wheels are packed again", kind.description());
                Err(Error::input(message).with_remedy("unpack it, and name the folder").context(name()))
            }
            _ => {
                self.files.push(LinkedFile::alone(input, &place.output_of(input)?));
                Ok(())
            }
        }
    }

    /// Adds the linked files below a folder, but for those below the output's. The copies have the same paths below that.
    fn add_folder(&mut self, reporter: &dyn Reporter, folder: &Path, place: Destination<'_>) -> Result<()> {
        let spared = match place {
            Destination::Folder(root) => root.canonicalize().ok(),
            Destination::InPlace | Destination::File(_) => None,
        };
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(at) = folders.pop() {
            if spared.as_ref().is_some_and(|spared| at.canonicalize().is_ok_and(|at| at == *spared)) {
                continue;
            }
            let failed =
                |error: std::io::Error| Error::io("cannot read the folder", &error).context(at.display().to_string());
            let listed = std::fs::read_dir(&at).and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
            for entry in listed.map_err(failed)? {
                // Links are passed over: their targets have paths of their own, or are not of this folder. So is what this
                // tool unpacks, or left behind.
                match entry.file_type() {
                    _ if is_temporary(&entry.file_name()) => {}
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => found.push(entry.path()),
                    _ => {}
                }
            }
        }
        found.sort();
        for input in found {
            let name = input.display().to_string();
            let mut is_packed = false;
            let opened = Input::open_below(folder, &input, |_, head| {
                let kind = head.kind();
                is_packed = kind.is_some_and(package::is_package);
                matches!(kind, Some(Kind::Elf | Kind::Pe))
            });
            if is_packed {
                reporter.note(&format!(
                    "{name} stays as it is: it is a package within the folder, and can be named itself"
                ));
            }
            let holds = opened.and_then(|found| match found {
                Found::Input(file) => {
                    self.allowance.grant(file.bytes().len());
                    holds_images(file.bytes(), &self.allowance)
                }
                Found::Unwanted => Ok(false),
            });
            match holds {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    self.exit = Exit::Input;
                    reporter.error(&error.context(name));
                    continue;
                }
            }
            let output = match place {
                Destination::Folder(root) => below(root, input.strip_prefix(folder).unwrap_or(&input))?,
                Destination::InPlace | Destination::File(_) => input.clone(),
            };
            if let (Destination::Folder(_), Some(parent)) = (place, output.parent()) {
                self.make(parent)?;
            }
            self.files.push(LinkedFile::alone(&input, &output));
        }
        Ok(())
    }

    /// Unpacks the linked files of a wheel.
    fn add_wheel(&mut self, reporter: &dyn Reporter, wheel: &Path, place: Destination<'_>) -> Result<()> {
        let wheel_output = place.output_of(wheel)?;
        let folder = folder_of(&wheel_output);
        self.make(folder)?;
        let scratch = if self.writes { Scratch::beside(folder) } else { Scratch::temporary() };
        let scratch = scratch.map_err(|error| cannot_write(folder, &error))?;
        let mut copies = HashMap::new();
        let prefix = format!("{}!", wheel.display());
        let allowance = Arc::clone(&self.allowance);
        expand(wheel, &allowance, &mut |_, leaf| {
            let held = leaf.bytes.and_then(|bytes| Ok(holds_images(bytes, &allowance)?.then_some(bytes)));
            let bytes = match held {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(false),
                Err(error) => {
                    self.exit = Exit::Input;
                    reporter.error(&error.context(leaf.path));
                    return Ok(true);
                }
            };
            let inside = leaf.path.strip_prefix(&prefix).unwrap_or(leaf.path);
            if leaf.depth > 1 {
                reporter.note(&format!("{} stays as it is: it is in a package within the wheel", leaf.path));
                return Ok(true);
            }
            let name = inside.rsplit('/').next().unwrap_or_default();
            if name.is_empty() {
                self.exit = Exit::Input;
                reporter
                    .error(&Error::input("it has no name that a file can have, and stays as it is").context(leaf.path));
                return Ok(true);
            }
            if !is_plain(Path::new(inside)) {
                reporter.note(&format!("{} stays as it is: its path leads out of the wheel", leaf.path));
                return Ok(true);
            }
            if copies.contains_key(inside) {
                self.exit = Exit::Input;
                reporter.error(&Error::input("two members of the wheel have this name").context(leaf.path));
                return Ok(true);
            }
            // The name stays, as compilers and reports show it.
            let place = |kind: &str| -> Result<PathBuf> {
                let folder = scratch.path().join(format!("{}.{kind}", copies.len()));
                std::fs::create_dir(&folder).map_err(|error| cannot_write(&folder, &error))?;
                Ok(folder.join(end_of(name)))
            };
            let (input, output) = (place("in")?, place("out")?);
            std::fs::write(&input, bytes).map_err(|error| cannot_write(&input, &error))?;
            copies.insert(inside.to_owned(), output.clone());
            let output_name = format!("{}!{inside}", wheel_output.display());
            self.files.push(LinkedFile { input, name: leaf.path.to_owned(), output, output_name, of_input: 0 });
            Ok(true)
        })?;
        self.wheels.push(Wheel { input: wheel.to_owned(), output: wheel_output, scratch, copies });
        Ok(())
    }

    /// The outputs, with those that are put together of them.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Path> {
        let wheels = self.wheels.iter().map(|wheel| wheel.output.as_path());
        wheels.chain(self.files.iter().map(|file| file.output.as_path()))
    }

    /// Checks that no output replaces an input unasked, and that no two are one.
    fn check_outputs(&self, place: Destination<'_>) -> Result<()> {
        if matches!(place, Destination::InPlace) {
            return Ok(());
        }
        let wheels = self.wheels.iter().map(|wheel| (wheel.input.as_path(), wheel.output.as_path()));
        let files = self.files.iter().map(|file| (file.input.as_path(), file.output.as_path()));
        let inputs: HashSet<Identity> =
            wheels.clone().chain(files.clone()).flat_map(|(input, _)| identities(input)).collect();
        let mut outputs: HashMap<Identity, &Path> = HashMap::new();
        for (input, output) in wheels.chain(files) {
            let identities: Vec<Identity> = identities(output).collect();
            if identities.iter().any(|identity| inputs.contains(identity)) {
                return Err(replaces_input().context(output.display().to_string()));
            }
            let others = identities.into_iter().map(|identity| outputs.insert(identity, input));
            if let Some(other) = others.fold(None, |found, other| other.or(found)) {
                let message = format!(
                    "`{}` would be the output of {} and {}",
                    output.display(),
                    other.display(),
                    input.display()
                );
                return Err(Error::new(ErrorKind::Usage, message).with_remedy("give them outputs of their own"));
            }
        }
        Ok(())
    }

    /// Changes the files one by one, and packs the wheels again. Files of which `change` says that nothing matches stay as
    /// they are.
    ///
    /// # Errors
    /// `NoMatch` where nothing matches in any file; errors of [`Package::finish`].
    pub(crate) fn edit(
        &self,
        reporter: &dyn Reporter,
        change: &mut dyn FnMut(&LinkedFile) -> Result<(Edited, Exit)>,
    ) -> Result<(Edited, Exit)> {
        let mut all = Edited { input: self.input.clone(), output: self.output.clone(), ..Edited::default() };
        let (mut exit, mut nothing) = (self.exit, None);
        for file in &self.files {
            match change(file) {
                Ok((edited, damaged)) => {
                    all.add(Edited { output: file.output_name.clone(), ..edited });
                    exit = if damaged == Exit::Done { exit } else { damaged };
                }
                // Other files may have what is asked for.
                Err(error) if error.kind() == ErrorKind::NoMatch => nothing = nothing.or(Some(error)),
                Err(error) => {
                    exit = Exit::for_error(&error);
                    reporter.error(&error);
                }
            }
        }
        match nothing {
            Some(nothing) if all.files.is_empty() && exit == Exit::Done => return Err(nothing),
            Some(nothing) if all.files.is_empty() => _ = reporter.error(&nothing),
            _ => {}
        }
        if !all.files.is_empty()
            && let [one] = self.finish(reporter)?.as_slice()
        {
            all.output = one.display().to_string();
        }
        Ok((all, exit))
    }

    /// Packs the wheels again, with the copies that were written. The files that appear.
    ///
    /// # Errors
    /// `Input` where a wheel is malformed, `Environment` where it cannot be written.
    pub(crate) fn finish(&self, reporter: &dyn Reporter) -> Result<Vec<PathBuf>> {
        let mut written: Vec<PathBuf> = Vec::new();
        let unpacked: Vec<&Path> = self.wheels.iter().map(|wheel| wheel.scratch.path()).collect();
        let alone = self.files.iter().filter(|file| !unpacked.iter().any(|scratch| file.input.starts_with(scratch)));
        written.extend(alone.map(|file| file.output.clone()));
        for wheel in &self.wheels {
            if !same_file(&wheel.input, &wheel.output) {
                spare_opened(&wheel.output)?;
            }
            let named = || wheel.input.display().to_string();
            let input = Input::open_again(&wheel.input).context(named)?;
            if !wheel.copies.values().any(|path| path.is_file()) {
                // Nothing in it was changed, so it stays what it is, signature and all.
                if !same_file(&wheel.input, &wheel.output) {
                    write_atomically(&wheel.output, input.bytes(), mode_of(&wheel.input))?;
                    written.push(wheel.output.clone());
                }
                continue;
            }
            let copy = |name: &str| {
                let path = wheel.copies.get(name).filter(|path| path.is_file())?;
                let opened = std::fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>);
                Some(opened.map_err(|error| Error::io("cannot read the copy", &error)))
            };
            let mode = mode_of(&wheel.input);
            let built = wheel.copies.values().filter(|path| path.is_file()).count();
            let repacked = write_streamed(&wheel.output, mode, |file| {
                let repacked = wheel::repack(input.bytes(), &copy, BufWriter::new(file)).context(named)?;
                // Other members may have names that are shown in the same way. Nothing is written then.
                if repacked.changed != built {
                    let message =
                        format!("{built} files were changed, and {} members have their names", repacked.changed);
                    return Err(Error::input(message).context(named()));
                }
                Ok(repacked)
            })?;
            for name in &repacked.unrecorded {
                let name = package::shown_name(name.as_bytes());
                reporter.note(&format!(
                    "{}: RECORD did not say of {name} what its SHA-256 was before",
                    wheel.input.display()
                ));
            }
            for signature in &repacked.unsigned {
                let signature = package::shown_name(signature.as_bytes());
                reporter.note(&format!("{}: {signature} is left out: RECORD is another now", wheel.output.display()));
            }
            written.push(wheel.output.clone());
        }
        Ok(written)
    }
}

impl Drop for Package {
    /// Removes what was unpacked, and folders that were made and into which nothing came.
    fn drop(&mut self) {
        self.wheels.clear();
        for folder in self.made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Whether a path is meant as a folder: there is one, or it ends with a slash.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Kind of a regular file, by its first bytes; none for what cannot be read or is unknown. Pipes are left to the verb: what
/// is read of them here would be lost.
pub(crate) fn kind_of(path: &Path) -> Option<Kind> {
    if path == Path::new("-") {
        return None;
    }
    let mut kind = None;
    let read = Input::open_found(path, "", |_, head| {
        kind = head.kind();
        false
    });
    read.ok().and(kind)
}

/// Whether a file is linked; or may hold linked files, where `packages` count. Standard input can be read but once.
pub(crate) fn is_linked(file: &Path, packages: bool) -> bool {
    if file.is_dir() {
        return packages;
    }
    kind_of(file).is_some_and(|kind| matches!(kind, Kind::Elf | Kind::Pe) || (packages && kind == Kind::Zip))
}

/// The end of a name, as far as file systems take names.
fn end_of(name: &str) -> &str {
    let begin = name.len().saturating_sub(MAX_FILE_NAME);
    let begin = (begin..=name.len()).find(|at| name.is_char_boundary(*at));
    begin.and_then(|begin| name.get(begin..)).unwrap_or(name)
}

/// Whether a path leads nowhere but down.
fn is_plain(path: &Path) -> bool {
    path.components().all(|component| matches!(component, Component::Normal(_)))
}

/// Whether a file is a linked one that registers device images.
fn holds_images(bytes: &[u8], allowance: &Arc<Allowance>) -> Result<bool> {
    if !matches!(Kind::identify(bytes), Ok(Kind::Elf | Kind::Pe)) {
        return Ok(false);
    }
    let host = Host::read_within(bytes, allowance);
    match host.as_ref().map_err(Error::clone).and_then(Bundle::read) {
        Err(error) if error.kind() == ErrorKind::NoDeviceCode => Ok(false),
        Err(error) => Err(error),
        // Images that were left out of it would be inflated where the file is rewritten.
        Ok(Bundle { problems, .. }) if allowance.left() == 0 && !problems.is_empty() => {
            Err(problems.into_iter().next().map_or_else(|| Error::input("it cannot be read"), |problem| problem.error))
        }
        Ok(bundle) => Ok(!bundle.descriptors.is_empty()),
    }
}
