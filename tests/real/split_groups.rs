//! Does a split make the images that the compiler makes of the same source, with the same property sets and no larger?
//!
//! Each source of `fixtures/sycl` is compiled into one image, and that is split in every mode; what the compiler makes in
//! that mode is what it has to come to: the same groups of kernels, and of each image the same properties, value by value.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::bundle::property::{Properties, Property as Stored, PropertySet, Value};
use sycl_bundle::container::Arena;
use sycl_bundle::rewrite::split::Mode;

use crate::compiler::{Compiled, Made, Property, compiled_as};
use crate::spirv_val::refused;
use crate::split::{parts, said};
use crate::world::{succeed, world};

/// The kernels of a source whose recorded aspects their code does not show, or the other way round, as its `// differs:`
/// lines say: which kernel of one image has them is known to the compiler alone.
fn differing(one: &Compiled) -> BTreeSet<String> {
    let lines = one.text.lines().filter_map(|line| line.strip_prefix("// differs: "));
    lines.filter_map(|line| line.split(' ').next()).map(|kernel| format!("__sycl_kernel_{kernel}")).collect()
}

/// An image as the library has it. Its sets come in the compiler's order.
fn image<'k>(arena: &'k Arena, made: &Made) -> Image<'k> {
    let text = |text: &str| std::str::from_utf8(arena.keep(text.into()).unwrap()).unwrap();
    let mut image = Image::bare(arena.keep(made.module.clone()).unwrap(), 0);
    image.target = "spir64";
    image.entries = made.symbols.iter().map(|symbol| text(symbol)).collect();
    let value = |property: &Property| match property {
        Property::Number(number) => Value::U32(*number),
        Property::Bytes(bytes) => {
            let bits = (bytes.len() as u64 * 8).to_le_bytes();
            Value::Bytes(arena.keep([&bits[..], bytes].concat()).unwrap())
        }
    };
    let sets = made.properties.iter().map(|(name, all)| PropertySet {
        name: text(name),
        properties: all.iter().map(|(name, property)| Stored { name: text(name), value: value(property) }).collect(),
    });
    image.properties = Properties { sets: sets.collect() };
    image
}

/// Facts of an image that the runtime sees.
fn seen(image: &Image<'_>) -> BTreeMap<String, String> {
    let sets = image.properties.sets.iter();
    sets.flat_map(|set| set.properties.iter().map(move |one| (set.name, one)))
        .map(|(set, one)| (format!("{set} {}", one.name), format!("{:?}", one.value)))
        .collect()
}

fn key(image: &Image<'_>) -> BTreeSet<String> {
    image.entries.iter().map(|entry| (*entry).to_owned()).collect()
}

struct Compared {
    images: usize,
    properties: usize,
    differences: Vec<String>,
    modules: Vec<Vec<u8>>,
    wholes: Vec<Vec<u8>>,
    larger: Vec<String>,
}

fn compare(off: &[Compiled], theirs: &[Compiled], mode: Mode) -> Compared {
    let mut all = Compared {
        images: 0,
        properties: 0,
        differences: Vec::new(),
        modules: Vec::new(),
        wholes: Vec::new(),
        larger: Vec::new(),
    };
    for (off, theirs) in off.iter().zip(theirs) {
        assert_eq!(off.source, theirs.source);
        let arena = Arena::with_limit(u64::MAX);
        let wholes: Vec<Image<'_>> = off.images.iter().map(|made| image(&arena, made)).collect();
        let ours: Vec<Image<'_>> =
            wholes.iter().flat_map(|whole| parts(&arena, whole, Epoch::From2026, mode)).collect();
        all.wholes.extend(wholes.iter().map(|image| image.stored.to_vec()));
        all.modules.extend(ours.iter().map(|image| image.stored.to_vec()));
        let theirs: Vec<Image<'_>> = theirs.images.iter().map(|made| image(&arena, made)).collect();
        let groups = |images: &[Image<'_>]| {
            let mut groups: Vec<BTreeSet<String>> = images.iter().map(key).collect();
            groups.sort();
            groups
        };
        let differing = differing(off);
        // Images of virtual functions stay whole, since the runtime links them.
        let set = "SYCL/virtual functions";
        let whole = wholes.iter().any(|image| image.properties.get(set, "virtual-functions-set").is_some());
        if groups(&ours) != groups(&theirs) {
            if whole || !differing.is_empty() && mode != Mode::PerKernel {
                continue;
            }
            all.differences.push(format!(
                "{} {mode:?}: {:?} instead of {:?}",
                off.source,
                groups(&ours),
                groups(&theirs)
            ));
            continue;
        }
        for image in &ours {
            let other = theirs.iter().find(|other| key(other) == key(image)).unwrap();
            all.images += 1;
            all.properties += seen(image).len();
            // Aspects that no code shows are recorded for every kernel.
            let theirs_alone = !differing.is_empty();
            let compared = |image: &Image<'_>| {
                let mut seen = seen(image);
                seen.retain(|key, _| !theirs_alone || key != "SYCL/device requirements aspects");
                seen
            };
            if compared(image) != compared(other) && !image.entries.is_empty() {
                all.differences.push(format!(
                    "{} {mode:?}: {:#?} instead of {:#?}",
                    off.source,
                    seen(image),
                    seen(other)
                ));
            }
            if said(image.stored) != said(other.stored) {
                all.differences.push(format!("{} {mode:?}: the kernels differ", off.source));
            }
            // Two parts in a hundred are the bound; the smallest images have a word more or less.
            if image.stored.len() * 100 > other.stored.len() * 102 {
                all.larger.push(format!(
                    "{} {:?}: {} bytes instead of {}",
                    off.source,
                    image.entries,
                    image.stored.len(),
                    other.stored.len()
                ));
            }
        }
    }
    all
}

/// Sources of which the compiler makes other code when it splits: of the first an exported function stays in an image of its
/// own, and is imported where ours comes along; which of bfloat16's functions are imported differs between its own modes.
const OTHERWISE: [&str; 2] = ["symbols_both", "bfloat16"];

#[test]
fn groups_and_properties_are_those_of_the_compiler() {
    let off = compiled_as("off");
    let mut failures = Vec::new();
    // The compiler makes the same of `per_source` and `auto`.
    for (name, mode) in [("per_kernel", Mode::PerKernel), ("auto", Mode::PerSource), ("auto", Mode::Auto)] {
        let mut all = compare(&off, &compiled_as(name), mode);
        if mode == Mode::PerKernel {
            for source in OTHERWISE {
                let before = all.differences.len();
                all.differences.retain(|one| !one.starts_with(&format!("{source} ")));
                assert!(all.differences.len() < before, "{source} does not differ any more");
            }
        }
        println!("{name}: {} images, {} properties, {} larger", all.images, all.properties, all.larger.len());
        assert!(all.images >= 120 && all.properties >= 300, "too little was compared");
        failures.extend(all.differences);
        failures.extend(all.larger);
        let (bad, wholes) = (refused("spv1.6", all.modules.par_iter().map(Vec::as_slice)), all.wholes.len());
        let bad_wholes = refused("spv1.6", all.wholes.par_iter().map(Vec::as_slice));
        println!("{} of {} modules refused, {} of {wholes} wholes", bad.len(), all.modules.len(), bad_wholes.len());
        let known: BTreeSet<&str> = bad_wholes.values().map(|message| cause(message)).collect();
        failures.extend(bad.values().filter(|message| !known.contains(cause(message))).cloned());
    }
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

/// Error without the ids, which differ.
fn cause(message: &str) -> &str {
    message.split(['\'', '%', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).next().unwrap_or(message)
}

/// Kernels of split images, compiled by the driver.
#[test]
fn split_images_build() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut modules, mut kernels) = (Vec::new(), 0);
    for off in compiled_as("off").iter().filter(|one| one.images.len() == 1 && builds(&one.source)) {
        let parts = folder.path().join(&off.source);
        std::fs::create_dir(&parts).unwrap();
        let mut command = crate::tool::tool();
        succeed(
            command.arg("split").arg(off.table()).args(["--mode", "per_kernel", "--emit", "spirv", "-o"]).arg(&parts),
        );
        modules.extend(std::fs::read_dir(&parts).unwrap().map(|entry| entry.unwrap().path()));
        kernels += off.images[0].symbols.len();
        if kernels >= 60 {
            break;
        }
    }
    assert!(kernels >= 40 && modules.len() >= 40, "{kernels} kernels, {} modules", modules.len());
    let mut command = world().command(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = folder.path().join("built.table");
    succeed(command.arg("build").args(&modules).args(["-t", "spir64_x86_64", "-o"]).arg(&output));
    println!("{kernels} kernels, {} modules", modules.len());
}

/// Whether the Intel CPU driver takes the kernels of a source: plain arithmetic and atomics.
fn builds(source: &str) -> bool {
    ["double_", "half_", "atomic_", "barrier", "sub_group_", "work_group_", "split_"]
        .iter()
        .any(|prefix| source.starts_with(prefix))
}
