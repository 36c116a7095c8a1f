//! Which requirements on the device did the compiler record for this image?
//!
//! They are in the set `SYCL/device requirements`; keys and layouts are those of DPC++
//! `llvm/lib/SYCLLowerIR/SYCLDeviceRequirements.cpp`.

use super::aspect::{self, Epoch};
use super::image::Image;
use super::property::Value;
use super::property_forms::misstored;
use super::property_sets::{key, set};
use crate::limits;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::{HashMap, HashSet};

/// Recorded requirements of one image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Requirements {
    /// Aspects by SYCL name; numbers without a name as `aspect#N`.
    pub aspects: Vec<String>,
    /// Required work-group sizes in the dimension order of the source, without padding dimensions. DPC++ records one.
    #[serde(rename = "reqd_work_group_size", serialize_with = "first")]
    #[schemars(with = "Option<Vec<u64>>")]
    pub reqd_work_group_sizes: Vec<Vec<u64>>,
    /// Required sub-group sizes; a device must have all of them.
    #[serde(rename = "reqd_sub_group_size")]
    pub reqd_sub_group_sizes: Vec<u32>,
    /// Targets the image is fixed to; an empty list names none, so that it runs nowhere.
    #[serde(flatten, serialize_with = "fixed_targets")]
    #[schemars(with = "FixedTargets")]
    pub fixed_targets: Option<Vec<FixedTarget>>,
    /// Product of all numbers that are stored as work-group size: what the runtime holds against the device, whatever
    /// number of dimensions is stored beside it.
    #[serde(skip)]
    pub stored_work_items: Option<u64>,
    /// Keys whose values are stored in another form than the runtime reads, which takes them for something else, and sets that
    /// have such.
    #[serde(skip)]
    pub unread: Vec<&'static str>,
}

/// Form in which the runtime reads the value of a key (DPC++ `checkDevSupportDeviceRequirements` in
/// `sycl/source/detail/program_manager/program_manager.cpp`).
#[derive(Debug, Clone, Copy)]
enum Form {
    Number,
    /// Byte array of 32-bit numbers; a number alone is one.
    Words,
    DoubleWords,
    Text,
    /// Text that is compared with a name, byte by byte.
    Name,
}

/// Keys that the runtime reads, with their forms.
const FORMS: [(&str, Form); 9] = [
    (key::ASPECTS[0], Form::Words),
    ("fixed_target", Form::Words),
    ("reqd_work_group_size", Form::Words),
    ("reqd_work_group_size_uint64_t", Form::DoubleWords),
    ("work_group_num_dim", Form::Number),
    ("reqd_sub_group_size", Form::Number),
    ("joint_matrix", Form::Text),
    ("joint_matrix_mad", Form::Text),
    (key::COMPILE_TARGET, Form::Name),
];

impl Form {
    /// Whether a value is stored in this form. The runtime goes by the size of a byte array, not by the length that it states.
    fn holds(self, value: &Value<'_>) -> bool {
        let bytes = match value {
            Value::Bytes(_) if value.states_its_length() => value.payload(),
            Value::Text(text) if matches!(self, Form::Text | Form::Name) => Some(*text),
            _ => None,
        };
        let text = || bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        match self {
            Form::Number => matches!(value, Value::U32(_)),
            Form::Words => bytes.is_some_and(|bytes| bytes.len().is_multiple_of(4)),
            Form::DoubleWords => bytes.is_some_and(|bytes| bytes.len().is_multiple_of(8)),
            Form::Text => text().is_some(),
            Form::Name => text().is_some_and(|text| !text.ends_with('\0')),
        }
    }
}

/// Target that an image is fixed to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FixedTarget {
    /// Number of the target.
    pub number: u32,
    /// Name of the target, or of the aspect with its number; none where neither is known.
    pub name: Option<String>,
}

impl FixedTarget {
    /// Returns the name, or `target#N`.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("target#{}", self.number))
    }
}

/// Property beside `fixed_target` with the names of the targets, separated by commas. No runtime reads it.
pub const FIXED_TARGET_NAMES: &str = "fixed_target_names";

/// Returns the number of a target in `fixed_target`. DPC++'s design has an aspect for each target, but DPC++ defines none,
/// so the number is a hash of the name, above the numbers of aspects.
pub fn target_number(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    0x4000_0000 | (hash & 0x3fff_ffff)
}

impl Requirements {
    /// Reads an image's requirements; absent keys require nothing.
    pub fn read(image: &Image<'_>, epoch: Epoch) -> Requirements {
        let get = |name: &str| image.properties.get(set::REQUIREMENTS, name);
        let words = |name: &str| get(name).and_then(|value| value.words());
        let aspects = image.properties.aspect_numbers().unwrap_or_default();
        // The 64-bit key replaced the 32-bit one in 2023 and takes precedence.
        let wide = get("reqd_work_group_size_uint64_t").and_then(|value| value.double_words());
        let narrow = || words("reqd_work_group_size").unwrap_or_default();
        // DPC++ records aspects even where there are none, and at most three words of one size.
        let of_document = || {
            let sizes = narrow();
            (sizes.len() > 3 || get(key::ASPECTS[0]).is_none()).then(|| counted_sizes(&sizes)).flatten()
        };
        let stored = wide.clone().unwrap_or_else(|| narrow().into_iter().map(u64::from).collect());
        let items = stored.iter().fold(1u64, |product, side| product.saturating_mul(*side));
        let stored_work_items = Some(items).filter(|_| !stored.is_empty());
        let sizes = match (&wide, of_document()) {
            (None, Some(sizes)) => sizes,
            _ => {
                let size = Some(stored).filter(|size| !size.is_empty());
                size.map(|stored| source_order(stored, number(get("work_group_num_dim")))).into_iter().collect()
            }
        };
        Requirements {
            aspects: labels(epoch, aspects),
            reqd_work_group_sizes: sizes,
            reqd_sub_group_sizes: distinct(numbers(get("reqd_sub_group_size"))),
            fixed_targets: words("fixed_target").map(|numbers| {
                let names =
                    get(FIXED_TARGET_NAMES).and_then(|value| value.text().map(str::to_owned)).unwrap_or_default();
                let told: HashMap<u32, &str> = names.split(',').rev().map(|name| (target_number(name), name)).collect();
                distinct(numbers).into_iter().map(|number| fixed_target(epoch, number, &told)).collect()
            }),
            stored_work_items,
            unread: FORMS
                .iter()
                .filter(|(name, form)| get(name).is_some_and(|value| !form.holds(&value)))
                .map(|(name, _)| *name)
                .chain(misstored(image))
                .collect(),
        }
    }

    /// Returns the first required work-group size: the only one that DPC++ records.
    pub fn reqd_work_group_size(&self) -> Option<&[u64]> {
        self.reqd_work_group_sizes.first().map(Vec::as_slice)
    }
}

/// Serialises the first of some sizes, null where there is none.
fn first<S: Serializer>(sizes: &[Vec<u64>], serializer: S) -> Result<S::Ok, S::Error> {
    sizes.first().serialize(serializer)
}

/// Targets the image is fixed to, as JSON has them.
#[derive(Serialize, JsonSchema)]
struct FixedTargets<'a> {
    /// The numbers of the targets the image is fixed to; an empty list names none, so that it runs nowhere.
    fixed_targets: Option<Vec<u32>>,
    /// The names of these, or those of the aspects with the numbers; null where nothing tells.
    fixed_target_names: Option<Vec<Option<&'a str>>>,
}

/// Serialises fixed targets by numbers and by names.
fn fixed_targets<S: Serializer>(fixed: &Option<Vec<FixedTarget>>, serializer: S) -> Result<S::Ok, S::Error> {
    let fixed = fixed.as_ref();
    let numbers = fixed.map(|fixed| fixed.iter().map(|one| one.number).collect());
    let names = fixed.map(|fixed| fixed.iter().map(|one| one.name.as_deref()).collect());
    FixedTargets { fixed_targets: numbers, fixed_target_names: names }.serialize(serializer)
}

/// A fixed target by its number, with the one of the names that makes the number, or an aspect's.
fn fixed_target(epoch: Epoch, number: u32, told: &HashMap<u32, &str>) -> FixedTarget {
    let told = told.get(&number).copied();
    FixedTarget { number, name: told.or_else(|| aspect::name(epoch, number)).map(str::to_owned) }
}

/// Numbers in their order, each once, up to the limit: every kernel of the image has them.
fn distinct(numbers: Vec<u32>) -> Vec<u32> {
    let mut met = HashSet::new();
    numbers.into_iter().filter(|number| met.insert(*number)).take(limits::MAX_REQUIREMENTS).collect()
}

/// Names of aspects. Of numbers without a name so many that no device has them all.
fn labels(epoch: Epoch, numbers: Vec<u32>) -> Vec<String> {
    let mut met = HashSet::new();
    let mut unknown = 0usize;
    let kept = numbers.into_iter().filter(|number| met.insert(*number)).filter(|number| {
        unknown = unknown.saturating_add(usize::from(aspect::name(epoch, *number).is_none()));
        aspect::name(epoch, *number).is_some() || unknown <= limits::MAX_REQUIREMENTS
    });
    kept.map(|number| aspect::label(epoch, number)).collect()
}

/// Sizes in the layout of DPC++'s design document: of each the number of dimensions, then these in the order of the
/// source. None where the numbers are not laid out so.
fn counted_sizes(mut words: &[u32]) -> Option<Vec<Vec<u64>>> {
    let mut sizes = Vec::new();
    while let Some((count, rest)) = words.split_first() {
        let count = usize::try_from(*count).ok().filter(|count| (1..=3).contains(count))?;
        let (size, rest) = rest.split_at_checked(count)?;
        sizes.push(size.iter().copied().map(u64::from).collect());
        words = rest;
    }
    Some(sizes)
}

/// Converts a stored size, which is in OpenCL order (x first) and padded with ones to three dimensions, to the order of
/// the source, which names the slowest dimension first.
fn source_order(mut stored: Vec<u64>, dimensions: Option<u32>) -> Vec<u64> {
    let dimensions = dimensions.and_then(|count| usize::try_from(count).ok()).unwrap_or(limits::MAX_REQUIREMENTS);
    stored.truncate(dimensions.clamp(1, limits::MAX_REQUIREMENTS));
    stored.reverse();
    stored
}

fn number(value: Option<Value<'_>>) -> Option<u32> {
    numbers(value).first().copied()
}

/// One number or a list of them.
fn numbers(value: Option<Value<'_>>) -> Vec<u32> {
    let Some(value) = value else { return Vec::new() };
    value.number().map_or_else(|| value.words().unwrap_or_default(), |number| vec![number])
}

#[cfg(test)]
mod tests {
    /// Number of a target in files that exist, which must never change.
    const PVC: u32 = 0x7fd88da2;

    use super::{counted_sizes, source_order, target_number};

    #[test]
    fn sizes_of_the_document_name_their_dimensions() {
        assert_eq!(counted_sizes(&[3, 2, 4, 8]), Some(vec![vec![2, 4, 8]]));
        assert_eq!(counted_sizes(&[1, 64, 2, 8, 4]), Some(vec![vec![64], vec![8, 4]]));
        assert_eq!(counted_sizes(&[64, 1, 1]), None);
        assert_eq!(counted_sizes(&[2, 4]), None);
    }

    #[test]
    fn the_number_of_a_target_stays() {
        assert_eq!(target_number("intel_gpu_pvc"), PVC);
    }

    #[test]
    fn sizes_come_back_in_source_order() {
        assert_eq!(source_order(vec![4, 2, 1], Some(2)), [2, 4]);
        assert_eq!(source_order(vec![64, 1, 1], Some(1)), [64]);
        assert_eq!(source_order(vec![8, 4, 2], None), [2, 4, 8]);
    }
}
