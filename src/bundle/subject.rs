//! Which kernel is a property about?

use super::property::{Property, set};

/// Sets whose properties are named after kernels (DPC++ `PropertySets.md`, `ComputeModuleRuntimeInfo.cpp`).
const BY_NAME: [&str; 7] = [
    set::PARAM_OPT,
    set::KERNEL_NAMES,
    set::KERNEL_ASPECTS,
    "SYCL/assert used",
    "SYCL/malloc used",
    "SYCL/implicit local arg",
    "SYCL/work group dynamic local mem",
];

/// Returns the mangled name of the kernel that a property is about, or none where it is about the image, a symbol or a
/// constant. DPC++ also lists functions here whose arguments it removes.
pub fn kernel_of<'a>(set_name: &str, property: &Property<'a>) -> Option<&'a str> {
    match set_name {
        "SYCL/registered kernels" => property.value.text(),
        set::PROGRAM_METADATA => {
            property.name.rsplit_once('@').filter(|(_, key)| *key != "global_id_mapping").map(|(kernel, _)| kernel)
        }
        _ => BY_NAME.contains(&set_name).then_some(property.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::property::Value;

    #[test]
    fn kernels_are_found_by_set() {
        let of = |set, name| kernel_of(set, &Property { name, value: Value::Text(b"k") });
        assert_eq!(of("SYCL/assert used", "foo"), Some("foo"));
        assert_eq!(of("SYCL/registered kernels", "short"), Some("k"));
        assert_eq!(of(set::PROGRAM_METADATA, "foo@reqd_work_group_size"), Some("foo"));
        assert_eq!(of(set::PROGRAM_METADATA, "uid@global_id_mapping"), None);
        assert_eq!(of(set::MISC, "optLevel"), None);
    }
}
