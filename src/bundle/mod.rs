//! Which device images are in a file, with which entries and property sets?

pub mod aspect;
pub mod blob;
pub(crate) mod fat_object;
pub mod format;
mod gpu_registered;
mod gpu_sections;
pub(crate) mod hcf;
pub mod image;
pub(crate) mod kpack;
pub(crate) mod msgpack;
pub mod offload_binary;
pub mod offload_bundle;
pub mod property;
mod property_forms;
pub mod property_sets;
pub mod property_text;
pub mod requirements;
pub mod spec_constants;
pub(crate) mod stray;
pub mod structure;
pub mod syclbin;
pub mod table;

use crate::container::{Allowance, Arena, Host, Kind, Place, REGISTRATION, address};
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::limits;
use aspect::Epoch;
use blob::Reader;
use image::Image;
use std::collections::HashSet;
use std::sync::Arc;
use structure::Descriptor;

/// Device images of one file.
#[derive(Debug)]
pub struct Bundle<'a> {
    /// Container of the images.
    pub kind: Kind,
    /// Lists of images in the file; none for a bare module.
    pub descriptors: Vec<Descriptor>,
    /// Images, in file order.
    pub images: Vec<Image<'a>>,
    /// Numbering of aspects in the file.
    pub epoch: Epoch,
    /// Problems of parts that could not be read; all other images are there.
    pub problems: Vec<Problem>,
    /// Bytes that the parts of its native code may inflate to, with all else that is read with the file.
    pub(crate) allowance: Arc<Allowance>,
    /// Arenas of the files, in which what was inflated is.
    arenas: Vec<&'a Arena>,
}

impl<'a> Bundle<'a> {
    /// Whether a runtime of SYCL finds an image: those in lists, where the file has lists, and else all. Others stand beside
    /// the lists, as the code of CUDA and HIP does.
    pub fn is_listed(&self, image: &Image<'_>) -> bool {
        image.origin.is_some() || self.descriptors.is_empty()
    }

    /// Gives back the memory of what was inflated into files, once so much was read that it counts; this image was.
    pub(crate) fn give_back_after(&self, image: &Image<'_>) {
        if image.inflated {
            self.arenas.iter().for_each(|arena| arena.give_back_after(image.stored.len()));
        }
    }

    /// Reads every image of a file.
    ///
    /// # Errors
    /// `NoDeviceCode` where the file is valid and holds none; `Input` where it should hold some (it registers device
    /// images with a SYCL runtime) but no list of images can be found.
    pub fn read(host: &'a Host<'a>) -> Result<Bundle<'a>> {
        match host.kind {
            Kind::SpirV
            | Kind::LlvmBitcode
            | Kind::OffloadBinary
            | Kind::SyclBin
            | Kind::OffloadBundle
            | Kind::CompressedBundle
            | Kind::Native
            | Kind::Hcf
            | Kind::Kpack => Self::read_blob(host),
            Kind::Table => Err(Error::at(0, "a file table names files, which are to be read beside it")),
            _ => Self::read_linked(host),
        }
    }

    /// Combines the images of several files into one renumbered bundle. A single bundle stays as it is; of several, the
    /// first provides the container and the numbering of aspects.
    pub fn union(bundles: Vec<Bundle<'a>>) -> Bundle<'a> {
        let mut bundles = bundles.into_iter();
        let mut union = bundles.next().unwrap_or(Bundle {
            kind: Kind::SpirV,
            descriptors: Vec::new(),
            images: Vec::new(),
            epoch: Epoch::From2026,
            problems: Vec::new(),
            allowance: Arc::default(),
            arenas: Vec::new(),
        });
        for bundle in bundles {
            let first = union.images.last().map_or(0, |image| image.index.saturating_add(1));
            union.images.extend(bundle.images.into_iter().map(|mut image| {
                image.index = image.index.saturating_add(first);
                image
            }));
            union.arenas.extend(bundle.arenas);
            union.problems.extend(bundle.problems.into_iter().map(|mut problem| {
                problem.image = problem.image.map(|image| image.saturating_add(first));
                problem
            }));
        }
        union
    }

    /// Returns the bundle of a blob reader's images, for a file that is no linked one; of so many bytes, with the files that it
    /// names.
    ///
    /// # Errors
    /// `NoDeviceCode` where it is valid and holds no image; the first problem where there is one and no image.
    fn from_blobs(host: &'a Host<'a>, reader: Reader<'a>, len: usize) -> Result<Bundle<'a>> {
        let Reader { mut images, mut problems, .. } = reader;
        bound_inflated(host, &mut images, &mut problems, len);
        if images.is_empty() {
            let problem = problems.into_iter().next().map(|problem| problem.error);
            return Err(problem.unwrap_or_else(no_device_code));
        }
        let (epoch, allowance) = (Epoch::detect(host, None), Arc::clone(&host.allowance));
        Ok(Bundle {
            kind: host.kind,
            descriptors: Vec::new(),
            images,
            epoch,
            problems,
            allowance,
            arenas: vec![&host.arena],
        })
    }

    /// Reads the images of a file table, whose files the caller has opened. `host` is the table.
    ///
    /// # Errors
    /// `NoDeviceCode` where it has no rows; the first problem where there is one and no image.
    pub fn from_table(host: &'a Host<'a>, rows: &[table::Row<'a>]) -> Result<Bundle<'a>> {
        let mut reader = Reader::new(&host.arena, host.bytes.len());
        let len = rows.iter().map(|row| row.code.len()).fold(host.bytes.len(), usize::saturating_add);
        reader.names(rows.len(), len);
        let mut left = table::Left::default();
        for row in rows {
            table::read_row(&mut reader, row, &mut left);
        }
        Self::from_blobs(host, reader, len)
    }

    fn read_blob(host: &'a Host<'a>) -> Result<Bundle<'a>> {
        let mut reader = Reader::new(&host.arena, host.bytes.len());
        reader.read(host.bytes, Place::file(0), 0, Image::bare(host.bytes, 0));
        Self::from_blobs(host, reader, host.bytes.len())
    }

    fn read_linked(host: &'a Host<'a>) -> Result<Bundle<'a>> {
        let descriptors = structure::find(host);
        let mut problems = Vec::new();
        let listed = structure::listed_in_tgtimg(host);
        let mut blobs = Reader::new(&host.arena, host.bytes.len());
        offload_binary::read_embedded(host, descriptors.is_empty(), &mut blobs);
        let overlap = overlapping(host);
        if descriptors.is_empty() && overlap.is_none() {
            offload_binary::read_registered(host, &mut blobs);
        }
        fat_object::read(host, &mut blobs);
        let known = gpu_sections::read(host, &mut blobs);
        if overlap.is_none() {
            gpu_registered::read(host, &known, &mut blobs);
            hcf::embedded(host, &mut blobs);
        }
        let has_images = !descriptors.is_empty() || !blobs.images.is_empty();
        overlap.iter().cloned().chain(intermediate(host, has_images)).for_each(|error| blobs.problem(error));
        if descriptors.is_empty() {
            if !blobs.images.is_empty() || !blobs.problems.is_empty() {
                return Self::from_blobs(host, blobs, host.bytes.len());
            }
            return Err(none_found(host, listed.len()));
        }
        if descriptors.iter().flat_map(Descriptor::addresses).count() >= limits::MAX_DESCRIPTORS {
            let limit = limits::MAX_DESCRIPTORS;
            problems.push(Problem::general(Error::input(format!("more lists of images than the limit of {limit}"))));
        }
        let mut images: Vec<Image<'a>> = Vec::new();
        let mut walker = structure::Walker::new(&host.addresses, host.bytes.len());
        let (mut index, most) = (0usize, limits::images_of(host.bytes.len()));
        'all: for (place, found) in descriptors.iter().enumerate() {
            let lists = walker.images(found, place, index);
            images.reserve(lists.iter().map(Vec::len).sum());
            for image in lists.into_iter().flatten() {
                if index >= most || problems.len() >= limits::MAX_PROBLEMS {
                    let stop = Error::input(format!(
                        "more images than a file of this size may have ({most}), or too many damaged"
                    ));
                    let offset = host.addresses.file_offset(found.address).unwrap_or(0);
                    problems.push(Problem::general(stop.with_offset(offset)));
                    break 'all;
                }
                match image {
                    Ok(image) => images.push(image),
                    Err(error) => problems.push(Problem::of_image(index, error)),
                }
                index = index.saturating_add(1);
            }
        }
        if overlap.is_none() {
            offload_binary::read_registered(host, &mut blobs);
        }
        images
            .extend(blobs.images.into_iter().map(|image| Image { index: image.index.saturating_add(index), ..image }));
        problems.extend(blobs.problems);
        let wanted = images.iter().filter(|_| !listed.is_empty());
        let known: HashSet<u64> = wanted.filter_map(|image| Some(image.origin?.payload)).collect();
        let payloads = listed.iter().map(|listed| listed.payload);
        let missing: Vec<u64> = payloads.filter(|address| !known.contains(address)).collect();
        if let Some(first) = missing.first() {
            let error = Error::input(format!(
                "{} images that section .tgtimg lists are in no sound image list; the first is at address {first:#x}",
                missing.len()
            ));
            let offset = host.addresses.file_offset(*first);
            problems.push(Problem::general(match offset {
                Some(offset) => error.with_offset(offset),
                None => error,
            }));
        }
        if let Some(place) = host.addresses.outside() {
            let message = format!(
                "a relocation writes to address {place:#x}, where the file has no bytes: images that it makes there are not seen"
            );
            problems.push(Problem::general(Error::at(0, message)));
        }
        let disputes = descriptors.iter().filter_map(|list| list.dispute(&host.addresses));
        problems.extend(disputes.take(1).map(Problem::general));
        problems.extend(read_otherwise(host, &descriptors).map(Problem::general));
        // Where that section is, it has told of these.
        let unlisted = if missing.is_empty() { unlisted(host, &descriptors) } else { None };
        problems.extend(unlisted.map(Problem::general));
        bound_inflated(host, &mut images, &mut problems, host.bytes.len());
        let version = images.first().and_then(|image| image.origin).map(|origin| origin.version);
        let (epoch, allowance) = (Epoch::detect(host, version), Arc::clone(&host.allowance));
        Ok(Bundle { kind: host.kind, descriptors, images, epoch, problems, allowance, arenas: vec![&host.arena] })
    }
}

/// Returns the error for structures of a layout that the runtime does not have to which the file is linked: it asks for no version.
/// Version 3 came with `libsycl.so.9` (intel/llvm #20748); the runtime with the next version's changes may have either.
fn read_otherwise(host: &Host<'_>, descriptors: &[structure::Descriptor]) -> Option<Error> {
    let abi = host.sycl_abi.filter(|_| !host.is_preview)?;
    let other = if abi < 9 { structure::ImageLayout::Version3 } else { structure::ImageLayout::WithManifest };
    let list = descriptors.iter().find(|list| list.layout == other)?;
    let message = format!(
        "version {abi} of the SYCL runtime, to which the file is linked, reads image structures of another layout"
    );
    let offset = host.addresses.file_offset(list.images).unwrap_or(0);
    Some(Error::at(offset, message).with_remedy("compile and link with the same version of DPC++"))
}

/// Returns the error for image structures in none of these lists.
fn unlisted(host: &Host<'_>, descriptors: &[structure::Descriptor]) -> Option<Error> {
    let strays = stray::find(host, descriptors);
    let first = *strays.first()?;
    let message = format!(
        "image structures ({}) are in no known list, which the runtime may register all the same; the first is at address {first:#x}",
        strays.len()
    );
    Some(Error::input(message).with_offset(host.addresses.file_offset(first).unwrap_or(0)))
}

/// Takes out compressed images that would inflate, with those before them, to many times the size of the file, or to more than
/// all files of the run may: thousands may share one frame, or have one that stands for a thousand times its size.
fn bound_inflated(host: &Host<'_>, images: &mut Vec<Image<'_>>, problems: &mut Vec<Problem>, len: usize) {
    host.allowance.spend(host.arena.used());
    let own = (len as u64)
        .saturating_mul(limits::MAX_INFLATED_IMAGES_RATIO)
        .saturating_add(limits::MAX_INFLATED_IMAGES_FLOOR);
    let most = own.min(host.allowance.left());
    let mut left = most;
    images.retain(|image| {
        if image.compression().is_none() {
            return true;
        }
        // Some are inflated to know their size. Once that led beyond the bound, no others are.
        let rest = if left == 0 { None } else { left.checked_sub(image.inflation_cost(left)) };
        if rest.is_none() && problems.len() < limits::MAX_PROBLEMS {
            let what = if most < own {
                "the images of the file, with those before it, inflate to many times the size of all files"
            } else {
                "the images of the file inflate to many times its size"
            };
            problems.push(Problem::of_image(image.index, Error::at(image.offset, what)));
        }
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    host.allowance.spend(most.saturating_sub(left));
}

/// The error for segments that share their bytes, whose data is many times the file: it is not searched.
fn overlapping(host: &Host<'_>) -> Option<Error> {
    let most = (host.bytes.len() as u64).saturating_mul(limits::MAX_OVERLAP);
    (host.addresses.size() > most).then(|| {
        Error::at(0, "the segments come to many times the size of the file; device code in them is not looked for")
    })
}

fn no_device_code() -> Error {
    Error::new(ErrorKind::NoDeviceCode, "no device code")
}

/// Returns the error for an object with intermediate code, which linkers compile in the place of what is judged (`-flto`), where
/// that registers images, or what is judged has some.
fn intermediate(host: &Host<'_>, has_images: bool) -> Option<Error> {
    const NAMES: [&str; 2] = [".gnu.lto_", ".llvm.lto"];
    let of_object = host.sections.iter().filter(|_| host.kind == Kind::ElfObject);
    let mut sections = of_object.filter(|section| NAMES.iter().any(|name| section.name.starts_with(name)));
    let registers = |data| has_images || address::find(data, REGISTRATION.as_bytes()).is_some();
    let section = sections.find(|section| registers(section.data))?;
    let message = format!("linkers may compile the intermediate code in section {}, which is not read", section.name);
    Some(Error::at(section.offset, message).with_remedy("name what it is linked to"))
}

/// Returns the error for a file without images: "holds no device code", or "should, but its list of images is damaged".
fn none_found(host: &Host<'_>, listed: usize) -> Error {
    const REMEDY: &str = "the file may be cut, packed, or made by a compiler newer than this tool knows";
    if listed > 0 {
        Error::input(format!("section .tgtimg lists {listed} device images, but no sound image list points to them"))
            .with_offset(host.section(".tgtimg").map_or(0, |section| section.offset))
            .with_remedy(REMEDY)
    } else if host.registers {
        Error::at(0, "the file registers device images with a SYCL runtime, but no sound image list was found in it")
            .with_remedy(REMEDY)
    } else {
        match kpack::packages_of(host).as_slice() {
            [] if gpu_registered::is_expected(host) => {
                Error::at(0, "the file registers code with CUDA's or HIP's runtime, but none was found in it")
                    .with_remedy(REMEDY)
            }
            [] => unlisted(host, &[]).unwrap_or_else(no_device_code),
            packages => {
                no_device_code().with_remedy(format!("its code is in kernel packages of ROCm: {}", packages.join(", ")))
            }
        }
    }
}
