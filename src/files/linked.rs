//! How does a linked file become a copy with another list of images?

use super::compiled::one_march;
use super::emit::{self, check_place};
use super::input::Input;
use super::sources::{replaces_input, same_file, spare_opened};
use super::write::mode_of;
use crate::bundle::Bundle;
use crate::bytes::Draft;
use crate::compat::aspects::Sets;
use crate::compat::built_in::bfloat16_form;
use crate::compat::examine::{Examined, Extent, examine_some};
use crate::container::{Host, Kind};
use crate::error::Exit;
use crate::error::{Context as _, Error, ErrorKind, Problem, Reporter, Result};
use crate::report::edited::Edited;
use crate::report::json::SchemaVersion;
use crate::report::name::{display, shorten};
use crate::report::text::counted;
use crate::rewrite::image_data::{OutImage, out_image};
use crate::rewrite::layers::Before;
use crate::rewrite::{layers, pe, virtual_functions};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The file to write, and what to make of a signature.
#[derive(Debug)]
pub(crate) struct Target {
    /// The file to write; `-` is standard output.
    pub(crate) output: PathBuf,
    /// Whether that is the file itself.
    pub(crate) in_place: bool,
    /// Whether a signature, which would be wrong once the file is changed, is removed.
    pub(crate) drop_signature: bool,
    /// Whether zeros stay where removed images were.
    pub(crate) keep_layout: bool,
}

/// A linked file that is to be changed.
pub(crate) struct Linked {
    path: PathBuf,
    /// The path as the user knows it.
    name: String,
    input: Input,
    /// The file without its signature, where it had one.
    unsigned: Option<Draft>,
}

impl Linked {
    /// Opens it and checks where the copy goes. Its name is that by which the user knows it.
    ///
    /// # Errors
    /// Errors of reading and writing; `Usage` where the copy would replace the file, or the file is signed and may
    /// not lose that.
    pub(crate) fn open(path: &Path, name: String, target: &Target) -> Result<Linked> {
        check_place(None, &target.output)?;
        if !target.in_place && same_file(path, &target.output) {
            return Err(replaces_input());
        }
        let named = || name.clone();
        let input = Input::open_again(path).context(named)?;
        let kind = Kind::identify(input.bytes()).context(named)?;
        if !matches!(kind, Kind::Elf | Kind::Pe) {
            let message = format!("this is {}, which has no list of images of its own", kind.description());
            let error = Error::new(ErrorKind::Usage, message).with_remedy("name a linked executable or library");
            return Err(error.context(named()));
        }
        let mut unsigned = None;
        if kind == Kind::Pe {
            unsigned = match target.drop_signature {
                true => without_signature(input.bytes()).context(named)?,
                false => check_unsigned(input.bytes()).map(|()| None).context(named)?,
            };
        }
        Ok(Linked { path: path.to_owned(), name, input, unsigned })
    }

    /// The bytes to change.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.unsigned.as_deref().unwrap_or(self.input.bytes())
    }

    /// The path as the user knows it.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// Takes away what earlier runs added, and writes the file as it was before them, byte for byte. Where that is not to be
    /// had any more, it takes away all the same what was added if the kernels of it may be lost (`may_lose`).
    ///
    /// # Errors
    /// `NoMatch` where nothing was added, `Input` where the file was changed since, `Usage` where it cannot be as it was.
    pub(crate) fn restore(&self, reporter: &dyn Reporter, target: &Target, may_lose: bool) -> Result<(Edited, Exit)> {
        let named = || self.name();
        let images = |bytes: &[u8]| -> Result<usize> { Ok(Bundle::read(&Host::read(bytes)?)?.images.len()) };
        let original = match layers::before(self.bytes()).context(named)? {
            Before::File(original) => original,
            Before::Same => {
                let error = Error::new(ErrorKind::NoMatch, "no earlier run has added images to it");
                return Err(error.context(named()));
            }
            Before::Gone { added, .. } if may_lose => return self.edit(reporter, target, &added, &[], true),
            Before::Gone { images, kernels, .. } => return Err(not_restored(images, &kernels).context(named())),
        };
        let (images_before, images_after) = (images(self.bytes()).context(named)?, images(&original).context(named)?);
        emit::to(reporter, &target.output, &original, mode_of(&self.path))?;
        let removed = images_before.saturating_sub(images_after);
        let edited = Edited {
            schema_version: SchemaVersion,
            input: self.name(),
            output: target.output.display().to_string(),
            images_before,
            removed,
            images_after,
            removed_bytes: (self.bytes().len() as u64).saturating_sub(original.len() as u64),
            lifted: removed,
            signature_dropped: self.unsigned.is_some(),
            bytes_before: self.input.bytes().len() as u64,
            bytes_after: original.len() as u64,
            ..Edited::default()
        };
        Ok((edited, Exit::Done))
    }

    /// Changes the list of images and writes the copy. The exit code is that for images which are damaged.
    ///
    /// # Errors
    /// `Input` where the file cannot be rewritten, `Environment` where the copy cannot be written.
    pub(crate) fn edit(
        &self,
        reporter: &dyn Reporter,
        target: &Target,
        drop: &HashSet<usize>,
        add: &[OutImage<'_>],
        may_lose: bool,
    ) -> Result<(Edited, Exit)> {
        let tool = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
        let notes = [("tool".to_owned(), tool.to_owned())];
        let shared = add.iter().any(virtual_functions::takes_part);
        let own_host = shared.then(|| Host::read(self.bytes())).transpose().context(|| self.name())?;
        let own = own_host.as_ref().map(Bundle::read).transpose().context(|| self.name())?;
        let (mut drop, mut add) = (Cow::Borrowed(drop), Cow::Borrowed(add));
        if let (Some(host), Some(bundle)) = (&own_host, &own) {
            for image in virtual_functions::unended(host, bundle, &drop).context(|| self.name())? {
                drop.to_mut().insert(image.index);
                add.to_mut().push(out_image(image));
            }
        }
        let (drop, add) = (&*drop, &*add);
        // The facts of tens of thousands of kernels are freed before the file is read again.
        let (mut result, problems) = {
            let host = Host::read(self.bytes()).context(|| self.name())?;
            let before = Bundle::read(&host).context(|| self.name())?;
            let mut images = examine_some(&before, &before.images, Extent { hashes: false, code: true });
            // Images in no list cannot be launched from, nor taken out of one.
            images.retain(|image| before.is_listed(image.image) || drop.contains(&image.image.index));
            if !may_lose {
                no_loss(&images, drop, add).context(|| self.name())?;
            }
            // Images that go cannot harm any more.
            let staying = images.iter().filter(|image| !drop.contains(&image.image.index));
            let problems: Vec<Problem> =
                before.problems.iter().cloned().chain(staying.flat_map(Examined::problems)).collect();
            (self.result(target, &images, drop, add), problems)
        };
        let edited = layers::edit_in(self.bytes(), drop, add, &notes, !target.keep_layout).context(|| self.name())?;
        if !add.is_empty() {
            one_march(&edited.bytes).context(|| self.name())?;
        }
        if edited.changed {
            reporter.note(&format!(
                "{}: the file was changed since images were added to it; they are taken for its own",
                self.name()
            ));
        }
        if !target.in_place {
            spare_opened(&target.output)?;
        }
        emit::to(reporter, &target.output, &edited.bytes, mode_of(&self.path))?;
        let damaged = !problems.is_empty();
        for problem in problems {
            let error =
                problem.image.map_or(problem.error.clone(), |image| problem.error.context(format!("image {image}")));
            reporter.error(&error.context(self.name()));
        }
        result.lifted = edited.lifted;
        result.zeroed_bytes = edited.zeroed;
        result.cut_bytes = edited.cut;
        result.left_bytes = edited.left;
        result.bytes_after = edited.bytes.len() as u64;
        Ok((result, if damaged { Exit::Input } else { Exit::Done }))
    }

    /// Describes the change before it is made: without what becomes of the file.
    fn result(
        &self,
        target: &Target,
        images: &[Examined<'_, '_>],
        drop: &HashSet<usize>,
        add: &[OutImage<'_>],
    ) -> Edited {
        let (gone, stay): (Vec<_>, Vec<_>) = images.iter().partition(|image| drop.contains(&image.image.index));
        let open = open(&gone, &stay);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        Edited {
            schema_version: SchemaVersion,
            input: self.name(),
            output: target.output.display().to_string(),
            files: Vec::new(),
            images_before: images.len(),
            removed: gone.len(),
            added: add.len(),
            images_after: images.len().saturating_sub(gone.len()).saturating_add(add.len()),
            removed_bytes: gone.iter().map(|image| image.image.stored.len() as u64).sum(),
            signature_dropped: self.unsigned.is_some(),
            kernels_without_image: owned(lost(images, drop, add)),
            symbols_without_image: owned(open.into_iter().collect()),
            bytes_before: self.input.bytes().len() as u64,
            ..Edited::default()
        }
    }
}

/// A Windows file without its signature, where it has one.
///
/// # Errors
/// `Input` where the file is malformed.
pub(crate) fn without_signature(bytes: &[u8]) -> Result<Option<Draft>> {
    if pe::size(bytes)? == 0 { Ok(None) } else { pe::remove(bytes).map(Some) }
}

/// Refuses a Windows file that is signed.
///
/// # Errors
/// `Usage` where the file is; `Input` where it is malformed.
pub(crate) fn check_unsigned(bytes: &[u8]) -> Result<()> {
    if pe::size(bytes)? == 0 {
        return Ok(());
    }
    let message = "the file is signed, and the signature would be wrong once the file is changed";
    Err(Error::new(ErrorKind::Usage, message)
        .with_remedy("`--drop-signature` removes it; sign the result again where that is needed"))
}

/// The error for a file whose own images went when others stood for them.
fn not_restored(images: usize, kernels: &BTreeSet<String>) -> Error {
    let mut message =
        format!("the file cannot be as it was: {images} of its own images went, and added ones stand for them");
    if let Some(first) = kernels.first() {
        let (count, name) = (counted(kernels.len(), "kernel"), display(first));
        message += &format!("; without those {count} would be in no image, such as `{}`", shorten(&name, 80));
    }
    Error::new(ErrorKind::Usage, message).with_remedy(
        "take a copy of the file from before; `--lose-kernels` takes away what was added, and leaves what is left of the \
         file's own images",
    )
}

/// Returns the symbols that images which stay import, or call as virtual functions, and only images which are gone define.
fn open<'i>(gone: &[&'i Examined<'_, '_>], stay: &[&'i Examined<'_, '_>]) -> BTreeSet<&'i str> {
    // Of the conversions of bfloat16 each device takes one form.
    let exports = |images: &[&'i Examined<'_, '_>]| -> HashSet<(&'i str, Option<u32>)> {
        let of_image = |image: &&'i Examined<'_, '_>| {
            let (image, form) = (*image, bfloat16_form(image.image));
            image.exports.iter().map(move |symbol| (symbol.as_str(), form))
        };
        images.iter().flat_map(of_image).collect()
    };
    let (all, left) = (exports(gone), exports(stay));
    let lost: HashSet<&str> = all.difference(&left).map(|(symbol, _)| *symbol).collect();
    let imports = stay.iter().flat_map(|image| &image.imports).map(String::as_str);
    let mut open: BTreeSet<&str> = imports.filter(|symbol| lost.contains(symbol)).collect();
    let mut used: HashSet<String> = stay.iter().flat_map(|image| Sets::read(image.image).used).collect();
    // Functions of native code are not known here.
    for image in stay.iter().filter(|image| image.module.is_none()) {
        Sets::read(image.image).defined.iter().for_each(|set| _ = used.remove(set));
    }
    let functions = |images: &[&'i Examined<'_, '_>]| -> HashSet<&'i str> {
        let of_sets =
            images.iter().filter(|image| Sets::read(image.image).defined.iter().any(|set| used.contains(set)));
        of_sets
            .filter_map(|image| image.module.as_ref())
            .flat_map(|module| &module.exports)
            .map(String::as_str)
            .collect()
    };
    if !used.is_empty() {
        open.extend(functions(gone).difference(&functions(stay)));
    }
    open
}

/// The kernels that are in no image any more.
fn lost<'i>(images: &'i [Examined<'_, '_>], drop: &HashSet<usize>, add: &[OutImage<'_>]) -> Vec<&'i str> {
    let (gone, stay): (Vec<_>, Vec<_>) = images.iter().partition(|image| drop.contains(&image.image.index));
    let mut kernels: HashSet<&str> = stay.iter().flat_map(|image| &image.kernels).map(String::as_str).collect();
    kernels.extend(add.iter().flat_map(|image| image.entries.iter().copied()));
    let lost: BTreeSet<&str> = gone.iter().flat_map(|image| &image.kernels).map(String::as_str).collect();
    lost.into_iter().filter(|kernel| !kernels.contains(kernel)).collect()
}

/// Refuses to lose kernels: libsycl 2026.2 does not say of a kernel that no image lists that it has none, but goes by a
/// null pointer (`DeviceKernelInfo::setCompileTimeInfoIfNeeded`), so launching one ends the process.
fn no_loss(images: &[Examined<'_, '_>], drop: &HashSet<usize>, add: &[OutImage<'_>]) -> Result<()> {
    let lost = lost(images, drop, add);
    let Some(first) = lost.first() else { return Ok(()) };
    let message = format!(
        "{} would be in no image any more, such as `{}`; the runtime may crash where one is launched",
        counted(lost.len(), "kernel"),
        shorten(&display(first), 80)
    );
    Err(Error::new(ErrorKind::Usage, message).with_remedy("`--lose-kernels` removes them all the same"))
}
