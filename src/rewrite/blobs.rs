//! How are images written without a host file?
//!
//! The forms are a SYCLBIN, which the SYCL runtime loads by itself; an OffloadBinary, which LLVM's linkers and tools
//! take; and a clang offload bundle. The last two have no fields for everything that DPC++ records of an image, so
//! property sets go into an OffloadBinary under a key of their own, which other readers ignore, and an image with more
//! than a payload goes into a bundle as an OffloadBinary.

use crate::bundle::format::Format;
use crate::bundle::image::{Image, State};
use crate::bundle::offload_binary::{self, Entry, Version, image_kind, kind_number};
use crate::bundle::offload_bundle::{self, NewPart, md5_half};
use crate::bundle::property_text;
use crate::bundle::syclbin::{self, Envelope, NewModule};
use crate::bytes::Draft;
use crate::container::Place;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::rewrite::extract::lines_of;
use crate::spirv::Module;
use std::collections::{HashMap, HashSet};

/// Returns the full triple of a target, as LLVM's tools compare it.
pub(crate) fn triple(target: &str) -> String {
    match target {
        whole if whole.contains('-') => whole.to_owned(),
        "nvptx64" => "nvptx64-nvidia-cuda".to_owned(),
        "amdgcn" => "amdgcn-amd-amdhsa".to_owned(),
        other => format!("{other}-unknown-unknown"),
    }
}

/// Returns the common state of images: the one that their containers state, if they agree. Otherwise executable, which
/// is DPC++'s default, or object where an import is still open or a driver has yet to link them.
pub fn state(images: &[Image<'_>]) -> State {
    let stated = images.first().and_then(|image| image.stated);
    if let Some(state) = stated.filter(|_| images.iter().all(|image| image.stated == stated)) {
        return state;
    }
    let exports: HashSet<&str> = images.iter().flat_map(Image::exports).collect();
    let open = images.iter().flat_map(Image::imports).any(|import| !exports.contains(import));
    let unlinked = images.first().is_some_and(Image::is_unlinked);
    if open || unlinked { State::Object } else { State::Executable }
}

/// Writes a SYCLBIN. It has no field for options of the device compiler.
///
/// # Errors
/// `Input` where property sets cannot be written as text.
pub fn syclbin(images: &[Image<'_>], envelope: Envelope, state: State) -> Result<Draft> {
    let natives: Vec<Image<'_>> = images
        .iter()
        .map(|image| {
            let native = !image.format().is_intermediate();
            // Readers recognise native code by its architecture.
            let arch = image.compile_target().unwrap_or(if native { image.target } else { "" });
            Image { arch, ..image.clone() }
        })
        .collect();
    let triples: Vec<String> = images.iter().map(|image| triple(image.target)).collect();
    let modules = natives.iter().zip(&triples).map(|(image, triple)| NewModule {
        image,
        payload: image.stored,
        native: !image.format().is_intermediate(),
        triple,
        kernels: image.kernels(),
    });
    syclbin::write(envelope, state, &modules.collect::<Vec<_>>())
}

/// Writes an OffloadBinary; in version 1, one for each image.
///
/// # Errors
/// `NoDeviceCode` without images, `Input` where property sets or symbols cannot be written as text, or a string holds a NUL.
pub fn offload_binary(images: &[Image<'_>], version: Version) -> Result<Draft> {
    binary_of(images, version, |entries| Ok(lines_of(entries)?.trim_end().as_bytes().to_vec()))
}

/// Writes the OffloadBinary that LLVM's own SYCL registers: its runtime takes SPIR-V for `spirv64` alone, and symbols as a
/// table.
///
/// # Errors
/// Errors of [`offload_binary()`], and `Input` where names take more than 4 GiB.
pub(crate) fn registered_binary(images: &[Image<'_>]) -> Result<Draft> {
    let spirv = |image: &Image<'_>| image.target == "spir64";
    let images: Vec<Image<'_>> = images
        .iter()
        .map(|image| Image { target: if spirv(image) { "spirv64" } else { image.target }, ..image.clone() })
        .collect();
    binary_of(&images, Version::V2, offload_binary::write_symbols)
}

fn binary_of(images: &[Image<'_>], version: Version, symbols: impl Fn(&[&str]) -> Result<Vec<u8>>) -> Result<Draft> {
    if images.is_empty() {
        return Err(Error::new(ErrorKind::NoDeviceCode, "there are no images to write"));
    }
    let collect = |image: &Image<'_>| EntryStrings::collect(image, symbols(&image.entries)?);
    let strings = images.iter().enumerate().map(|(index, image)| collect(image).context(|| format!("image {index}")));
    let strings = strings.collect::<Result<Vec<_>>>()?;
    let entries: Vec<Entry<'_>> = images.iter().zip(&strings).map(|(image, strings)| strings.entry(image)).collect();
    offload_binary::write(version, &entries)
}

/// Strings that an entry borrows.
struct EntryStrings {
    triple: String,
    symbols: Vec<u8>,
    properties: String,
}

impl EntryStrings {
    fn collect(image: &Image<'_>, symbols: Vec<u8>) -> Result<EntryStrings> {
        Ok(EntryStrings { triple: triple(image.target), symbols, properties: property_text::write(&image.properties)? })
    }

    fn entry<'e>(&'e self, image: &'e Image<'_>) -> Entry<'e> {
        let arch = Some(image.arch).filter(|arch| !arch.is_empty()).or(image.compile_target()).unwrap_or("generic");
        let mut strings = vec![("triple", self.triple.as_bytes()), ("arch", arch.as_bytes())];
        let optional = [
            ("compile-opts", image.compile_options.as_bytes()),
            ("link-opts", image.link_options.as_bytes()),
            ("symbols", self.symbols.as_slice()),
            (offload_binary::PROPERTIES, self.properties.as_bytes()),
        ];
        strings.extend(optional.into_iter().filter(|(_, value)| !value.is_empty()));
        Entry {
            image_kind: match image.format() {
                Format::SpirV => image_kind::SPIRV,
                Format::LlvmBitcode => image_kind::BITCODE,
                Format::Ptx => image_kind::PTX,
                _ => image_kind::OBJECT,
            },
            offload_kind: kind_number(image.offload_kind),
            flags: 0,
            strings: strings.into_iter().map(|(key, value)| (key.as_bytes(), value)).collect(),
            image: image.stored,
            place: Place::default(),
        }
    }
}

/// Writes a binary clang offload bundle with an empty entry for the host, compressed if a level is given.
///
/// # Errors
/// Errors of [`offload_binary()`].
pub fn offload_bundle(images: &[Image<'_>], host: &str, compress: Option<i32>) -> Result<Draft> {
    let mut groups: Vec<(String, Vec<Image<'_>>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for image in images {
        let id = id(image);
        match places.get(&id).and_then(|at| groups.get_mut(*at)) {
            Some((_, group)) => group.push(image.clone()),
            None => {
                places.insert(id.clone(), groups.len());
                groups.push((id, vec![image.clone()]));
            }
        }
    }
    let data = groups.iter().map(|(_, group)| match group.as_slice() {
        [image] if is_payload_only(image) => Ok(Part::Payload(image.stored)),
        images => offload_binary(images, Version::V1).map(Part::Binary),
    });
    let data = data.collect::<Result<Vec<_>>>()?;
    let host = format!("host-{host}");
    let mut parts = vec![NewPart { id: &host, data: &[] }];
    parts.extend(groups.iter().zip(&data).map(|((id, _), data)| NewPart { id, data: data.bytes() }));
    let bundle = offload_bundle::write(&parts, 1)?;
    match compress {
        None => Ok(bundle),
        Some(level) => {
            // LLVM 18 and later read version 2; bundles over 4 GiB need version 3.
            let version = if u32::try_from(bundle.len()).is_ok() { 2 } else { 3 };
            offload_bundle::compress(&bundle, version, level, md5_half(&bundle)).map(Draft::from)
        }
    }
}

/// Contents of a bundle's entry.
enum Part<'k> {
    Payload(&'k [u8]),
    Binary(Draft),
}

impl Part<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Part::Payload(bytes) => bytes,
            Part::Binary(draft) => draft,
        }
    }
}

/// Returns an entry's id, `<kind>-<triple>[--<architecture>]`. The triple's fourth field is empty.
fn id(image: &Image<'_>) -> String {
    let kind = if image.offload_kind.is_empty() { "sycl" } else { image.offload_kind };
    let triple = triple(image.target);
    let arch = Some(image.arch).filter(|arch| !arch.is_empty()).or(image.compile_target()).unwrap_or_default();
    if arch.is_empty() { format!("{kind}-{triple}") } else { format!("{kind}-{triple}--{arch}") }
}

/// Whether the payload and the entry's id are all that an image has.
fn is_payload_only(image: &Image<'_>) -> bool {
    let bare = image.properties.sets.is_empty() && image.compile_options.is_empty() && image.link_options.is_empty();
    bare && (image.entries.is_empty() || lists_its_kernels(image))
}

/// Whether the listed entries are the kernels of the module.
fn lists_its_kernels(image: &Image<'_>) -> bool {
    image.format() == Format::SpirV
        && Module::parse(image.stored).is_ok_and(|module| module.kernels().eq(image.entries.iter().copied()))
}
