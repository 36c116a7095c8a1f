//! What must a device offer to run this image, as the compiler recorded it?
//!
//! Set `SYCL/device requirements`; keys and layouts from DPC++ `llvm/lib/SYCLLowerIR/SYCLDeviceRequirements.cpp`.

use super::aspect::{self, Epoch};
use super::image::Image;
use super::property::{Value, set};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The recorded requirements of one image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Requirements {
    /// Aspects by SYCL name; numbers without a name as `aspect#N`.
    pub aspects: Vec<String>,
    /// The required work-group sizes in the dimension order of the source, without padding dimensions. DPC++ records one.
    #[serde(rename = "reqd_work_group_size", serialize_with = "first")]
    #[schemars(with = "Option<Vec<u64>>")]
    pub reqd_work_group_sizes: Vec<Vec<u64>>,
    /// The required sub-group sizes; a device must have all of them.
    #[serde(rename = "reqd_sub_group_size")]
    pub reqd_sub_group_sizes: Vec<u32>,
    /// Targets the image is fixed to, by their numbers.
    pub fixed_targets: Option<Vec<u32>>,
}

impl Requirements {
    /// Reads an image's requirements; absent keys require nothing.
    pub fn of(image: &Image<'_>, epoch: Epoch) -> Requirements {
        let get = |name: &str| image.properties.get(set::REQUIREMENTS, name);
        let words = |name: &str| get(name).and_then(|value| value.words());
        let aspects = words("aspects").unwrap_or_default();
        // The 64-bit key replaced the 32-bit one in 2023 and wins where both stand.
        let size = get("reqd_work_group_size_uint64_t").and_then(|value| value.double_words()).or_else(|| {
            words("reqd_work_group_size").map(|sizes| sizes.into_iter().map(u64::from).collect::<Vec<u64>>())
        });
        let dimensions = number(get("work_group_num_dim"));
        Requirements {
            aspects: aspects.into_iter().map(|number| aspect::label(epoch, number)).collect(),
            reqd_work_group_sizes: size.map(|stored| source_order(stored, dimensions)).into_iter().collect(),
            reqd_sub_group_sizes: numbers(get("reqd_sub_group_size")),
            fixed_targets: words("fixed_target"),
        }
    }

    /// The first required work-group size: the only one that DPC++ records.
    pub fn reqd_work_group_size(&self) -> Option<&[u64]> {
        self.reqd_work_group_sizes.first().map(Vec::as_slice)
    }
}

/// Serialises the first of some sizes, null where there is none.
fn first<S: Serializer>(sizes: &[Vec<u64>], serializer: S) -> Result<S::Ok, S::Error> {
    sizes.first().serialize(serializer)
}

/// Stored sizes are in OpenCL order (x first), padded with ones to three; the source names the slowest dimension first.
fn source_order(mut stored: Vec<u64>, dimensions: Option<u32>) -> Vec<u64> {
    if let Some(dimensions) = dimensions.and_then(|count| usize::try_from(count).ok()) {
        stored.truncate(dimensions.max(1));
    }
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
    use super::source_order;

    #[test]
    fn sizes_come_back_in_source_order() {
        assert_eq!(source_order(vec![4, 2, 1], Some(2)), [2, 4]);
        assert_eq!(source_order(vec![64, 1, 1], Some(1)), [64]);
        assert_eq!(source_order(vec![8, 4, 2], None), [2, 4, 8]);
    }
}
