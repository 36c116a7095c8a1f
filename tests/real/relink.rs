//! Are the kernels of dpnp the same after its modules were linked and taken apart again?
//!
//! The modules of each library are linked in groups of 50, of 500 and all at once, and what comes of it is split in every
//! mode. Kernel by kernel all is to be as in the image that the compiler made: what is said of the kernel (arguments,
//! attributes, memory, aspects that its code uses), the capabilities that its code calls for, the requirements and the
//! property sets. What SPIRV-Tools accepts of the originals it has to accept of the results, and Intel's driver compiles
//! a sample of them that is spread over what they use.
//!
//! `SYCL_BUNDLE_RELINK=whole` takes all modules and compiles 300; without it a share of each library is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::container::Arena;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::link::{Input, link};
use sycl_bundle::rewrite::prepare::{Payload, store};
use sycl_bundle::rewrite::split::Mode;
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::kernel::{body, kernels};
use sycl_bundle::spirv::link::Options;

use crate::spirv_val::refused;
use crate::split::{parts, properties, said};
use crate::tool::{inspect, tool};
use crate::world::world;

/// Modules of a group; the last number stands for all of a library.
const GROUPS: [usize; 3] = [50, 500, usize::MAX];
/// One in so many modules of a library is taken where not all are.
const SHARE: usize = 12;
/// Kernels of a module that is compiled.
const MOST_KERNELS: usize = 8;
/// One in so many results is judged by SPIRV-Tools.
const JUDGED: usize = 16;

pub fn whole() -> bool {
    std::env::var_os("SYCL_BUNDLE_RELINK").is_some_and(|value| value == "whole")
}

/// All that is known of a kernel through an image that has it alone.
#[derive(Debug, PartialEq)]
struct Known {
    said: String,
    /// Code with all that it reaches, ids numbered by first use.
    code: Option<Vec<u32>>,
    capabilities: BTreeSet<u32>,
    requirements: String,
    properties: BTreeMap<String, BTreeMap<String, String>>,
}

fn known(image: &Image<'_>, epoch: Epoch) -> (String, Known) {
    let mut all = said(image.stored);
    assert_eq!(all.len(), 1, "an image of one kernel");
    let (name, text) = all.pop_first().unwrap();
    // Compilers write some constants twice, and linked modules have them once.
    let (before, rest) = text.split_once(" functions, ").unwrap();
    let said = format!("{before} functions{}", rest.split_once(" globals").unwrap().1);
    let known = Known {
        said,
        code: codes(image.stored).remove(&name).unwrap(),
        capabilities: Module::parse(image.stored).unwrap().capabilities.into_iter().collect(),
        requirements: format!("{:?}", Requirements::read(image, epoch)),
        properties: properties(&image.properties),
    };
    (name, known)
}

/// The code of each kernel of a module.
fn codes(module: &[u8]) -> HashMap<String, Option<Vec<u32>>> {
    let (index, all) = kernels(module).unwrap();
    let mut numbers = body::Numbers::new(&index);
    all.into_iter().map(|kernel| (kernel.name, body::words(&index, &kernel.reach, &mut numbers))).collect()
}

/// The SPIR-V images of a library that can be one: those that agree in options and in what holds for a whole image, of
/// images with a kernel or an exported function of one name the first.
fn linkable<'k>(arena: &'k Arena, bundle: &Bundle<'k>, share: usize) -> (Vec<Vec<Image<'k>>>, usize) {
    let mut there = HashSet::new();
    let mut kinds: BTreeMap<String, Vec<Image<'k>>> = BTreeMap::new();
    let (mut twice, mut nth) = (0, 0usize);
    for image in &bundle.images {
        let mut image = image.clone();
        store(arena, &mut image, Payload::Plain).unwrap();
        if !image.stored.starts_with(&0x0723_0203u32.to_le_bytes()) {
            continue;
        }
        nth += 1;
        if !(nth - 1).is_multiple_of(share) {
            continue;
        }
        if !image.entries.iter().all(|name| there.insert((*name).to_owned())) {
            twice += 1;
            continue;
        }
        let whole = ["reqd_work_group_size_uint64_t", "reqd_sub_group_size", "work_group_num_dim"];
        let required = whole.map(|key| image.properties.get(set::REQUIREMENTS, key));
        let misc = image.properties.set(set::MISC);
        let kind = format!("{} {} {} {misc:?} {required:?}", image.target, image.compile_options, image.link_options);
        kinds.entry(kind).or_default().push(image);
    }
    (kinds.into_values().collect(), twice)
}

#[derive(Default)]
struct Counts {
    modules: usize,
    twice: usize,
    kernels: usize,
    links: usize,
    /// Images that splits made.
    parts: usize,
    bytes: [usize; 2],
    /// Some of the results, each with the modules whose kernels it has.
    sample: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    differences: Vec<String>,
}

fn relink(library: &Path, share: usize, judged: usize) -> Counts {
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let arena = Arena::with_limit(u64::MAX);
    let (kinds, twice) = linkable(&arena, &bundle, share);
    let mut counts = Counts { twice, ..Counts::default() };
    for images in kinds {
        counts.modules += images.len();
        counts.bytes[0] += images.iter().map(|image| image.stored.len()).sum::<usize>();
        let originals: HashMap<String, (Known, &[u8])> = images
            .par_iter()
            .flat_map_iter(|image| {
                let alone = parts(&arena, image, bundle.epoch, Mode::PerKernel);
                let kernels: Vec<_> = alone.into_iter().filter(|part| !said(part.stored).is_empty()).collect();
                // The code is compared with that of the module linked with no other, which has its constants once.
                let inputs = [Input { image, label: "image", internal: false }];
                let linked = link(&arena, &inputs, &Options { partial: true }).unwrap();
                let mut codes = codes(linked.image.stored);
                kernels.into_iter().map(move |part| {
                    let (name, known) = known(&part, bundle.epoch);
                    let code = codes.remove(&name).unwrap();
                    (name, (Known { code, ..known }, image.stored))
                })
            })
            .collect();
        counts.kernels += originals.len();
        let mut sizes: Vec<usize> = GROUPS.iter().map(|size| (*size).min(images.len())).collect();
        sizes.dedup();
        for size in sizes {
            for group in images.chunks(size) {
                // An arena of its own for each group, so that memory is given back when the group was judged.
                let arena = Arena::with_limit(u64::MAX);
                compare(&arena, group, bundle.epoch, &originals, judged, &mut counts);
            }
        }
    }
    counts
}

/// Links images and judges what every mode of splitting makes of them.
fn compare(
    arena: &Arena,
    group: &[Image<'_>],
    epoch: Epoch,
    originals: &HashMap<String, (Known, &[u8])>,
    judged: usize,
    counts: &mut Counts,
) {
    let inputs: Vec<Input<'_, '_>> =
        group.iter().map(|image| Input { image, label: "image", internal: false }).collect();
    let linked = link(arena, &inputs, &Options { partial: true }).unwrap_or_else(|errors| panic!("{}", errors[0]));
    counts.links += 1;
    counts.bytes[1] += linked.image.stored.len();
    let expected: BTreeSet<&str> = group.iter().flat_map(|image| image.kernels()).collect();
    let mut grouped: Vec<(Mode, Vec<Image<'_>>)> = Vec::new();
    for mode in [Mode::PerKernel, Mode::PerSource, Mode::Auto, Mode::Off] {
        let made = parts(arena, &linked.image, epoch, mode);
        counts.parts += made.len();
        // Of one source these three come to the same.
        let same = |other: &[Image<'_>]| {
            other.len() == made.len()
                && other.iter().zip(&made).all(|(one, other)| {
                    one.stored == other.stored && one.properties == other.properties && one.entries == other.entries
                })
        };
        if grouped.iter().any(|(_, other)| same(other)) {
            continue;
        }
        // An image of several kernels is one where all need the same; taken apart, each is what it was.
        let alone: Vec<Image<'_>> = match mode {
            Mode::PerKernel => made.clone(),
            _ => made.par_iter().flat_map_iter(|image| parts(arena, image, epoch, Mode::PerKernel)).collect(),
        };
        let judge = |image: &Image<'_>| {
            (!said(image.stored).is_empty()).then(|| {
                let (name, now) = known(image, epoch);
                let difference = match originals.get(&name) {
                    Some((before, _)) if *before == now => None,
                    Some((before, _)) => Some(format!("{mode:?} {name}: {}", difference(before, &now))),
                    None => Some(format!("{mode:?} {name}: no such kernel")),
                };
                (name, difference)
            })
        };
        let names: Vec<(String, Option<String>)> = alone.par_iter().filter_map(judge).collect();
        let found: BTreeSet<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(found.len(), names.len(), "{mode:?}: no kernel is in two images");
        assert_eq!(found, expected, "{mode:?}: the kernels");
        counts.differences.extend(names.iter().filter_map(|(_, difference)| difference.clone()));
        for image in &made {
            let own = Requirements::read(image, epoch).aspects;
            for kernel in image.kernels() {
                let requirements = format!("{:?}", Requirements::read(image, epoch));
                if originals[kernel].0.requirements != requirements {
                    counts.differences.push(format!("{mode:?}: {kernel} is in an image that needs {own:?}"));
                }
            }
        }
        let mut of_originals = made.iter().enumerate().filter(|(nth, _)| nth.is_multiple_of(judged));
        counts.sample.extend(of_originals.by_ref().map(|(_, image)| {
            let wholes = image.kernels().iter().map(|kernel| originals[*kernel].1.to_vec()).collect();
            (image.stored.to_vec(), wholes)
        }));
        grouped.push((mode, made));
    }
}

/// Difference between two kernels, without the rest.
fn difference(before: &Known, now: &Known) -> String {
    let differs =
        |what: &str, before: String, now: String| (before != now).then(|| format!("{what}: {before} became {now}"));
    let first = |one: &[u32], other: &[u32]| one.iter().zip(other).position(|(one, other)| one != other);
    let code = match (&before.code, &now.code) {
        (Some(one), Some(other)) if one != other => {
            Some(format!("{} and {} words of code, first at {:?}", one.len(), other.len(), first(one, other)))
        }
        (one, other) => (one != other).then(|| "code that is not known".to_owned()),
    };
    let all = [
        differs("said", before.said.clone(), now.said.clone()),
        code,
        differs("capabilities", format!("{:?}", before.capabilities), format!("{:?}", now.capabilities)),
        differs("requirements", before.requirements.clone(), now.requirements.clone()),
        differs("properties", format!("{:?}", before.properties), format!("{:?}", now.properties)),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The libraries of dpnp that have device code.
fn libraries() -> impl Iterator<Item = &'static PathBuf> {
    let package = world().site_packages().join("dpnp");
    world().fat_libraries().iter().filter(move |path| path.starts_with(&package))
}

#[test]
fn linked_and_split_again_every_kernel_is_what_it_was() {
    let (share, judged) = if whole() { (1, JUDGED) } else { (SHARE, JUDGED) };
    let mut sample = Vec::new();
    let (mut modules, mut twice, mut differences) = (0, 0, Vec::new());
    for library in libraries() {
        let counts = relink(library, share, judged);
        println!(
            "{}: {} modules ({} of names that another has), {} kernels, {} bytes; {} linked modules, {} bytes; \
             {} images of splits, {} differences",
            library.file_name().unwrap().display(),
            counts.modules,
            counts.twice,
            counts.kernels,
            counts.bytes[0],
            counts.links,
            counts.bytes[1],
            counts.parts,
            counts.differences.len()
        );
        modules += counts.modules;
        twice += counts.twice;
        differences.extend(counts.differences);
        sample.extend(counts.sample);
    }
    println!("{modules} modules, {twice} left out, {} differences", differences.len());
    assert!(differences.is_empty(), "{}", differences[..differences.len().min(5)].join("\n"));
    assert!(modules >= 17_000 / share, "too little was compared");

    let results = refused("spv1.6", sample.par_iter().map(|(result, _)| result.as_slice()));
    // An original of those that the judge refuses has to be to blame.
    let blamed: Vec<(&usize, &String)> = results.iter().filter(|(at, _)| !is_one_refused(&sample[**at].1)).collect();
    println!(
        "{} results judged, {} refused, all of them with an original that is: {}",
        sample.len(),
        results.len(),
        blamed.is_empty()
    );
    let worse: Vec<String> = blamed.iter().take(5).map(|(at, said)| format!("{at}: {said}")).collect();
    assert!(worse.is_empty(), "{} of {}:\n{}", blamed.len(), sample.len(), worse.join("\n"));
    assert!(results.len() < sample.len() * 3 / 4, "the judge refuses most of what compilers write");
    compiles(sample.into_iter().map(|(result, _)| result).collect());
}

/// Whether the judge refuses one of these; an image of a thousand kernels has as many originals, so they are asked in turn.
fn is_one_refused(originals: &[Vec<u8>]) -> bool {
    originals.chunks(4).any(|some| !refused("spv1.6", some.par_iter().map(Vec::as_slice)).is_empty())
}

/// Results as different as they come compile.
fn compiles(results: Vec<Vec<u8>>) {
    let wanted = if whole() { 300 } else { 24 };
    // By what they declare, one of each kind in turn.
    let mut kinds: BTreeMap<Vec<u32>, Vec<Vec<u8>>> = BTreeMap::new();
    for module in results {
        let facts = Module::parse(&module).unwrap();
        // The driver takes minutes for a module of hundreds of kernels, and its worker has a deadline.
        if facts.entry_points.is_empty() || facts.entry_points.len() > MOST_KERNELS {
            continue;
        }
        let mut capabilities = facts.capabilities;
        capabilities.sort_unstable();
        kinds.entry(capabilities).or_default().push(module);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut chosen = Vec::new();
    let count = kinds.len();
    while chosen.len() < wanted && kinds.values().any(|modules| !modules.is_empty()) {
        for modules in kinds.values_mut().filter(|modules| !modules.is_empty()) {
            // From the middle: neighbours resemble each other.
            chosen.push(modules.swap_remove(modules.len() / 2));
        }
    }
    chosen.truncate(wanted);
    let kernels: usize = chosen.iter().map(|module| Module::parse(module).unwrap().entry_points.len()).sum();
    let mut command = tool();
    command.arg("build");
    for (number, module) in chosen.iter().enumerate() {
        let path = folder.path().join(format!("{number}.spv"));
        std::fs::write(&path, module).unwrap();
        command.arg(path);
    }
    let table = folder.path().join("native.table");
    command.args(["-t", "spir64_x86_64", "--jobs", "2", "--emit", "table", "-o"]).arg(&table);
    crate::world::succeed(&mut command);
    let report = inspect(&table);
    let native = report["images"].as_array().unwrap().iter().filter(|image| image["state"] == "executable").count();
    println!("{native} results of {count} kinds with {kernels} kernels compiled");
    assert!(native == chosen.len() && native >= wanted.min(24));
}
