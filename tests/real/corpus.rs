//! Does the tool find in SYCL sources what the compiler that compiled them recorded and said?
//!
//! Each test prints what it compared, source by source, and says how much that has to be at least.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::Value;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::types::constant_bits;
use sycl_bundle::spirv::types::{self, Type};

use crate::compiler::{Compiled, Made, compiled};
use crate::tool::inspect;
use crate::world::world;

const REQUIREMENTS: &str = "SYCL/device requirements";

/// The name of an aspect's number, from the header that the compiler itself is built of.
pub fn aspect(number: u32) -> String {
    static NAMES: OnceLock<BTreeMap<u32, String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let text = std::fs::read_to_string(world().root().join("venv/include/sycl/info/aspects.def")).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("__SYCL_ASPECT"));
        let mut names = BTreeMap::new();
        for row in rows {
            let (_, row) = row.split_once('(').unwrap();
            let fields: Vec<&str> = row.split([',', ')']).map(str::trim).collect();
            if let Ok(number) = fields[1].parse() {
                // A deprecated alias comes before or after the name, and never has a number of its own.
                names.entry(number).or_insert_with(|| fields[0].to_owned());
            }
        }
        names
    });
    names.get(&number).unwrap_or_else(|| panic!("no aspect {number}")).clone()
}

/// The aspects that the compiler recorded for an image; none where the image has no requirements at all.
pub fn recorded(image: &Made) -> BTreeSet<String> {
    let words = image.bytes(REQUIREMENTS, "aspects").unwrap_or_default().chunks_exact(4);
    words.map(|word| aspect(u32::from_le_bytes(word.try_into().unwrap()))).collect()
}

/// The required work-group size in the order of the source, and the number of its dimensions.
fn work_group(image: &Made) -> Option<Vec<u64>> {
    let bytes = image.bytes(REQUIREMENTS, "reqd_work_group_size_uint64_t")?.chunks_exact(8);
    let mut size: Vec<u64> = bytes.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let dimensions = image.number(REQUIREMENTS, "work_group_num_dim").map_or(3, |number| number as usize);
    // Padded with ones behind; x, which varies fastest, comes first.
    assert!(size[dimensions..].iter().all(|&padding| padding == 1), "{size:?}");
    size.truncate(dimensions);
    size.reverse();
    Some(size)
}

fn strings(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn set<T: Into<String>>(items: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    items.into_iter().map(Into::into).collect()
}

/// The sources that were compiled, by name.
fn sources() -> BTreeMap<&'static str, Vec<&'static Compiled>> {
    let mut sources: BTreeMap<&str, Vec<&Compiled>> = BTreeMap::new();
    compiled().iter().for_each(|one| sources.entry(one.source.as_str()).or_default().push(one));
    sources
}

#[test]
fn what_the_compiler_recorded_is_read() {
    let (mut images, mut kernels, mut work_groups, mut sub_groups, mut symbols) = (0, 0, 0, 0, 0);
    let mut aspects = BTreeSet::new();
    for (source, ways) in sources() {
        let before = (images, kernels);
        for one in ways {
            let file = inspect(&one.table());
            assert_eq!(file["problems"].as_array().map(Vec::len), Some(0), "{}: {file:#}", one.label());
            let reported = file["images"].as_array().unwrap();
            assert_eq!(reported.len(), one.images.len(), "{}", one.label());
            for (made, image) in one.images.iter().zip(reported) {
                let (name, required) = (format!("{} image {}", one.label(), image["index"]), &image["requirements"]);
                assert_eq!(strings(&required["aspects"]), recorded(made), "{name}: aspects");
                let size = required["reqd_work_group_size"].as_array();
                let size = size.map(|size| size.iter().map(|size| size.as_u64().unwrap()).collect::<Vec<_>>());
                assert_eq!(size, work_group(made), "{name}: work-group size");
                let of_sub_group = made.number(REQUIREMENTS, "reqd_sub_group_size").map(u64::from);
                let reported = required["reqd_sub_group_size"].as_array().unwrap();
                let reported: Vec<u64> = reported.iter().map(|size| size.as_u64().unwrap()).collect();
                assert_eq!(reported, Vec::from_iter(of_sub_group), "{name}: sub-group size");
                assert_eq!(strings(&image["entries"]), set(&made.symbols), "{name}: entries");
                assert_eq!(strings(&image["kernels"]), set(made.names("SYCL/kernel names")), "{name}: kernels");
                assert_eq!(strings(&image["exports"]), set(made.names("SYCL/exported symbols")), "{name}: exports");
                assert_eq!(strings(&image["imports"]), set(made.names("SYCL/imported symbols")), "{name}: imports");
                images += 1;
                kernels += made.names("SYCL/kernel names").len();
                work_groups += usize::from(size.is_some());
                sub_groups += reported.len();
                symbols += strings(&image["exports"]).len() + strings(&image["imports"]).len();
                aspects.extend(recorded(made));
            }
        }
        println!("{source}: {} images, {} kernels", images - before.0, kernels - before.1);
    }
    println!(
        "{images} images, {kernels} kernels, {work_groups} and {sub_groups} sizes, {symbols} symbols: {aspects:?}"
    );
    assert!(sources().len() >= 95, "{} sources", sources().len());
    assert!(kernels >= 300 && work_groups >= 22 && sub_groups >= 20 && symbols >= 30, "too little was compared");
    assert!(aspects.len() >= 23, "{aspects:?}");
}

/// A kernel's code says its sizes a second time: as execution modes.
#[test]
fn required_sizes_are_those_of_the_execution_modes() {
    const LOCAL_SIZE: u32 = 17;
    const SUBGROUP_SIZE: u32 = 35;
    let (mut work_groups, mut sub_groups) = (0, 0);
    for one in compiled() {
        for made in &one.images {
            let index = Index::read(&made.module).unwrap();
            for kernel in &index.entry_points {
                let name = format!("{}: {}", one.label(), kernel.name);
                let mode = |wanted: u32| {
                    let mode = index.modes_of(kernel.function).find(|mode| mode.mode == wanted)?;
                    let instruction = index.instruction(mode.at).unwrap();
                    Some((2..instruction.len()).map(|nth| u64::from(instruction.word(nth))).collect::<Vec<_>>())
                };
                let size = mode(LOCAL_SIZE).map(|mut size| {
                    size.truncate(work_group(made).map_or(3, |size| size.len()));
                    size.reverse();
                    size
                });
                assert_eq!(size, work_group(made), "{name}");
                let of_sub_group = mode(SUBGROUP_SIZE).map(|size| size[0]);
                assert_eq!(of_sub_group, made.number(REQUIREMENTS, "reqd_sub_group_size").map(u64::from), "{name}");
                work_groups += usize::from(size.is_some());
                sub_groups += usize::from(of_sub_group.is_some());
            }
        }
    }
    println!("{work_groups} work-group sizes, {sub_groups} sub-group sizes");
    assert!(work_groups >= 24 && sub_groups >= 20, "too little was compared");
}

/// A compilation at run time makes no specialization constants of SYCL's, and no property set of them: what is left is an
/// import. Those of the compiler's built-in function are told by the source, in its `// spec:` line.
#[test]
fn specialization_constants_are_those_of_the_source() {
    const SPEC_ID: u32 = 1;
    let mut compared = 0;
    for one in compiled() {
        let listed = one.text.lines().find_map(|line| line.strip_prefix("// spec: ")).unwrap_or_default();
        let listed: BTreeSet<String> = listed.split("; ").filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let mut found = BTreeSet::new();
        for made in &one.images {
            let index = Index::read(&made.module).unwrap();
            let with_number = (0..index.bound).filter_map(|id| Some((id, index.decoration(id, SPEC_ID)?)));
            found.extend(with_number.map(|(id, number)| {
                let value =
                    constant_bits(&index, id).unwrap_or_else(|| panic!("{}: {number} has no default", one.label()));
                let kind = types::resolve(&index, index.type_of(id).unwrap());
                let value = match kind {
                    Some(Type::Bool) => format!("bool {}", value == 1),
                    Some(Type::Int { width: 8, .. }) => format!("i8 {}", value as i8),
                    Some(Type::Int { width: 16, .. }) => format!("i16 {}", value as i16),
                    Some(Type::Int { width: 32, .. }) => format!("i32 {}", value as i32),
                    Some(Type::Int { width: 64, .. }) => format!("i64 {}", value as i64),
                    // 0.25 of binary16.
                    Some(Type::Float { width: 16, .. }) if value == 0x3400 => "f16 0.25".to_owned(),
                    Some(Type::Float { width: 32, .. }) => format!("f32 {}", f32::from_bits(value as u32)),
                    Some(Type::Float { width: 64, .. }) => format!("f64 {}", f64::from_bits(value)),
                    other => panic!("{}: {number} is a {other:?}", one.label()),
                };
                format!("{number} {value}")
            }));
        }
        assert_eq!(found, listed, "{}", one.label());
        compared += found.len();
    }
    println!("{compared} specialization constants");
    assert_eq!(compared, 16, "eight, with and without -g");
}
