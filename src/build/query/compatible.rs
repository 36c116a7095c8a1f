//! May a kernel be asked about on a device at all?
//!
//! SYCL has queries of a kernel on a device throw where the kernel is not compatible with it: what the compiler recorded
//! that a device must offer, against what the device offers, in the order and the words of DPC++'s runtime
//! (`checkDevSupportDeviceRequirements`).

use crate::build::inventory::Device;
use crate::bundle::requirements::Requirements;

/// Returns the reason why a kernel with these requirements is not compatible with a device, if it is not. An explicit SIMD image
/// states a sub-group size of 1 that does not count.
pub fn incompatible(requirements: &Requirements, esimd: bool, device: &Device) -> Option<String> {
    let missing = requirements.aspects.iter().find(|aspect| !device.aspects.contains(aspect));
    if let Some(aspect) = missing {
        return Some(format!("required aspect {aspect} is not supported on the device"));
    }
    for size in &requirements.reqd_work_group_sizes {
        let whole = size.iter().try_fold(1u64, |product, side| product.checked_mul(*side));
        // The last dimension of a SYCL range is x.
        let sides = size.iter().rev().zip(&device.max_work_item_sizes);
        let fits = whole.is_some_and(|whole| whole <= device.max_work_group_size)
            && sides.into_iter().all(|(side, most)| side <= most);
        if !fits {
            let size: Vec<String> = size.iter().map(u64::to_string).collect();
            return Some(format!("required work-group size {} is not supported on the device", size.join("x")));
        }
    }
    let mut sizes = requirements.reqd_sub_group_sizes.iter().filter(|_| !esimd).copied().map(u64::from);
    sizes
        .find(|size| !device.sub_group_sizes.contains(size))
        .map(|size| format!("sub-group size {size} is not supported on the device"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_missing_is_named() {
        let device = Device {
            aspects: vec!["cpu".into(), "fp16".into()],
            sub_group_sizes: vec![8, 16],
            max_work_group_size: 64,
            max_work_item_sizes: vec![64, 4, 4],
            ..Device::default()
        };
        let aspects = |names: &[&str]| Requirements {
            aspects: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Requirements::default()
        };
        assert_eq!(incompatible(&aspects(&["fp16"]), false, &device), None);
        assert!(incompatible(&aspects(&["fp16", "fp64"]), false, &device).unwrap().contains("fp64"));
        let group =
            |size: &[u64]| Requirements { reqd_work_group_sizes: vec![size.to_vec()], ..Requirements::default() };
        assert_eq!(incompatible(&group(&[1, 64]), false, &device), None);
        assert!(incompatible(&group(&[64, 1]), false, &device).unwrap().contains("64x1"));
        assert!(incompatible(&group(&[2, 64]), false, &device).is_some());
        assert!(incompatible(&group(&[u64::MAX, 2]), false, &device).is_some());
        let lanes = Requirements { reqd_sub_group_sizes: vec![1], ..Requirements::default() };
        assert!(incompatible(&lanes, false, &device).is_some());
        assert_eq!(incompatible(&lanes, true, &device), None);
    }
}
