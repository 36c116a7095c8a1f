//! Are the parts of real images still the same kernels, and modules that SPIRV-Tools accepts?
//!
//! Every SPIR-V image of the installation is split by kernel, and each part once more. A part has to say the same of its
//! kernel as the whole (arguments, attributes, memory, specialization constants, aspects), with the same requirements, and
//! whatever SPIRV-Tools accepts of the whole it has to accept of the part.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::aspect::{self, Epoch};
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property::Properties;
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::compat::aspects::{Code, Graph};
use sycl_bundle::container::Arena;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::prepare::{Payload, store};
use sycl_bundle::rewrite::split::{self, Input, Mode, Options, Source, split};
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::kernel::kernels;

use crate::spirv_val::refused;
use crate::world::world;

/// Splits an image that its compiler made.
pub fn parts<'k>(arena: &'k Arena, image: &Image<'k>, epoch: Epoch, mode: Mode) -> Vec<Image<'k>> {
    let recorded = image.properties.get(set::REQUIREMENTS, "aspects").is_some();
    let requirements = Requirements::read(image, epoch);
    let source = Source {
        code: Code::read(&Index::read(image.stored).unwrap()),
        recorded: recorded.then(|| requirements.aspects.iter().cloned().collect()),
        sub_groups: requirements.reqd_sub_group_sizes,
        fixed_targets: None,
    };
    let input = Input { image, label: "", sources: vec![source], epoch };
    let target_number = &|name: &str| aspect::number(epoch, name).unwrap_or_default();
    let options = Options {
        mode,
        explicit: &|_| None,
        epoch,
        target_number,
        spool: &split::in_memory,
        room: &Cell::new(u64::MAX),
    };
    split(arena, input, &options).unwrap_or_else(|error| panic!("image {}: {error}", image.index)).images
}

/// All that a module says of its kernels, by name.
pub fn said(module: &[u8]) -> BTreeMap<String, String> {
    let (index, kernels) = kernels(module).unwrap();
    let code = Code::read(&index);
    let graph = Graph::link(std::slice::from_ref(&code));
    let used: BTreeMap<&str, String> = graph
        .kernels()
        .map(|(module, kernel)| (&*kernel.name, format!("{:?}", graph.used(module, kernel.node.unwrap()))))
        .collect();
    kernels
        .iter()
        .map(|kernel| {
            let memory = (kernel.local_memory, kernel.private_memory);
            let flags = (kernel.esimd, kernel.asserts, kernel.indirect_calls);
            let text = format!(
                "{:?} {:?} {memory:?} {:?} {:?} {:?} {flags:?} {} functions, {} globals, aspects {}",
                kernel.arguments,
                kernel.attributes,
                kernel.spec_constants,
                kernel.device_globals,
                kernel.imports,
                kernel.reach.functions.len(),
                kernel.reach.globals.len(),
                used[kernel.name.as_str()]
            );
            (kernel.name.clone(), text)
        })
        .collect()
}

/// Property sets as comparable text.
pub fn properties(all: &Properties<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let of = |set: &sycl_bundle::bundle::property::PropertySet<'_>| {
        set.properties.iter().map(|one| (one.name.to_owned(), format!("{:?}", one.value))).collect()
    };
    all.sets.iter().map(|set| (set.name.to_owned(), of(set))).collect()
}

struct Library {
    name: String,
    images: usize,
    kernels: usize,
    bytes: [usize; 2],
    wholes: Vec<Vec<u8>>,
    /// The place of the whole among those, and the part.
    parts: Vec<(usize, Vec<u8>)>,
}

fn library(path: &Path) -> Library {
    let bytes = std::fs::read(path).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut library = Library {
        name: path.file_name().unwrap().display().to_string(),
        images: 0,
        kernels: 0,
        bytes: [0; 2],
        wholes: Vec::new(),
        parts: Vec::new(),
    };
    let done: Vec<_> = bundle
        .images
        .par_iter()
        .filter_map(|image| {
            let arena = Arena::with_limit(u64::MAX);
            let mut image = image.clone();
            store(&arena, &mut image, Payload::Plain).unwrap();
            image.stored.starts_with(&0x0723_0203u32.to_le_bytes()).then(|| of_image(&arena, &image, bundle.epoch))
        })
        .collect();
    for (whole, parts, kernels) in done {
        library.images += 1;
        library.kernels += kernels;
        library.bytes[0] += whole.len();
        library.bytes[1] += parts.iter().map(Vec::len).sum::<usize>();
        let place = library.wholes.len();
        library.wholes.push(whole);
        library.parts.extend(parts.into_iter().map(|part| (place, part)));
    }
    library
}

fn of_image<'k>(arena: &'k Arena, image: &Image<'k>, epoch: Epoch) -> (Vec<u8>, Vec<Vec<u8>>, usize) {
    let before = said(image.stored);
    let parts = parts(arena, image, epoch, Mode::PerKernel);
    let mut after = BTreeMap::new();
    for part in &parts {
        let here = said(part.stored);
        assert!(here.len() <= 1 || parts.len() == 1, "image {}: {} kernels in a part", image.index, here.len());
        after.extend(here);
        let again = self::parts(arena, part, epoch, Mode::Auto);
        assert_eq!(again.len(), 1, "image {}: a part of one kernel is one image", image.index);
        assert_eq!(again[0].stored, part.stored, "image {}: a part of a part is itself", image.index);
        assert_eq!(properties(&again[0].properties), properties(&part.properties), "image {}", image.index);
        let (had, has) = (Requirements::read(image, epoch), Requirements::read(part, epoch));
        // A part requires nothing that the whole does not; a single part requires all of it.
        if parts.len() == 1 {
            assert_eq!(properties(&part.properties), properties(&image.properties), "image {}", image.index);
            assert_eq!(had, has, "image {}", image.index);
            assert_eq!(part.entries, image.entries, "image {}", image.index);
        }
        assert!(has.aspects.iter().all(|aspect| had.aspects.contains(aspect)), "image {}", image.index);
    }
    assert_eq!(before, after, "image {}", image.index);
    let symbols = |module: &[u8]| Module::parse(module).unwrap();
    let exports: Vec<String> = parts.iter().flat_map(|part| symbols(part.stored).exports).collect();
    for export in image.exports() {
        assert!(exports.iter().any(|known| known == export), "image {}: {export} is lost", image.index);
    }
    (image.stored.to_vec(), parts.iter().map(|part| part.stored.to_vec()).collect(), before.len())
}

#[test]
fn parts_of_real_images_are_the_same_kernels() {
    let libraries: Vec<Library> = world().fat_libraries().iter().map(|path| library(path)).collect();
    let (mut images, mut kernels) = (0, 0);
    for library in &libraries {
        let [whole, parts] = library.bytes;
        println!(
            "{}: {} images, {} kernels, {whole} bytes, {parts} in parts",
            library.name, library.images, library.kernels
        );
        images += library.images;
        kernels += library.kernels;
        assert!(library.kernels > library.images || parts <= whole, "parts of one kernel are no larger than the whole");
    }
    println!("{images} images, {kernels} kernels");
    assert!(images >= 23_300 && kernels >= 22_390, "too little was compared");
}

#[test]
fn parts_of_real_images_are_accepted_where_the_whole_is() {
    let libraries: Vec<Library> = world().fat_libraries().iter().map(|path| library(path)).collect();
    // A process judges a module in milliseconds: some of each library, spread over it, and all that have several kernels.
    let mut chosen: Vec<(&[u8], &[u8])> = Vec::new();
    for library in &libraries {
        let several = |place: usize| library.parts.iter().filter(|(of, _)| *of == place).count() > 1;
        for (nth, (place, part)) in library.parts.iter().enumerate() {
            if nth % SHARE == 0 || library.parts.len() < 100 && several(*place) {
                chosen.push((&library.wholes[*place], part));
            }
        }
    }
    let bad_parts = refused("spv1.6", chosen.par_iter().map(|(_, part)| *part));
    let bad_wholes = refused("spv1.6", chosen.par_iter().map(|(whole, _)| *whole));
    let count = chosen.len();
    println!("{} of {count} parts refused, {} of their wholes", bad_parts.len(), bad_wholes.len());
    let worse = bad_parts.iter().filter(|(at, _)| !bad_wholes.contains_key(*at));
    let worse: Vec<String> = worse.map(|(at, message)| format!("part {at}: {message}")).collect();
    assert!(worse.is_empty(), "{} of {count}:\n{}", worse.len(), worse[..worse.len().min(20)].join("\n"));
    assert!(count >= 1_000 && bad_wholes.len() < count / 2, "the judge refuses most of what compilers write");
}

/// One in so many parts is judged by SPIRV-Tools.
const SHARE: usize = 20;
