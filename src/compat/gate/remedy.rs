//! What can be done about a finding?

use crate::compat::fit::{Finding, Rule};
use crate::device::target::Target;

/// Tells what mends a finding on a target.
pub fn of(finding: &Finding, target: &Target) -> String {
    match finding.rule {
        Rule::Aspect => aspect(finding.aspect.as_deref().unwrap_or_default()),
        Rule::FixedTarget => {
            "compile with this target among those of -fsycl-fixed-targets, or without that option".into()
        }
        Rule::Matrix => {
            "use a combination that sycl::ext::oneapi::experimental::info::device::matrix_combinations lists".into()
        }
        Rule::WorkGroupSize => match target.max_work_group_size {
            Some(most) => format!("require at most {most} work-items in [[sycl::reqd_work_group_size()]]"),
            None => "tell the device's limits with --device-config".into(),
        },
        Rule::SubGroupSize => match target.sub_group_sizes.as_deref() {
            Some(sizes) => sub_groups(sizes),
            None => "tell the device's sub-group sizes with --device-config".into(),
        },
        Rule::SpirvVersion | Rule::Capability | Rule::Extension => format!(
            "keep the feature out of kernels for this device, or tell with --device-config that {} takes it",
            target.name
        ),
        Rule::Target => build(target),
        Rule::Imports => {
            "check the library that defines the symbols together with this one, or link them at build time".into()
        }
        Rule::UnlistedImports => {
            "list them in the property set \"SYCL/imported symbols\", or link the module with the one that defines them \
             (sycl-bundle link)"
                .into()
        }
        Rule::Unread => "translate it to SPIR-V (llvm-spirv), or put the property sets of sycl-post-link beside it".into(),
        Rule::Damaged => "build the file again".into(),
    }
}

/// Tells what mends a sub-group size, where the device has `sizes`.
pub fn sub_groups(sizes: &[u32]) -> String {
    if sizes.is_empty() {
        return "leave out [[sycl::reqd_sub_group_size()]]".into();
    }
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    format!("require {} in [[sycl::reqd_sub_group_size()]], or leave it out", sizes.join(" or "))
}

/// Tells what mends a lack of an aspect.
pub fn aspect(name: &str) -> String {
    match name {
        "fp64" => "use float where double is not meant (literals: 1.0f), or launch it only where \
                   device.has(sycl::aspect::fp64)"
            .into(),
        "fp16" => "use float, or launch it only where device.has(sycl::aspect::fp16)".into(),
        "atomic64" => "use 32-bit atomics, or launch it only where device.has(sycl::aspect::atomic64)".into(),
        _ => {
            format!("launch it only where device.has(sycl::aspect::{name}), and have another kernel for other devices")
        }
    }
}

/// Tells how to get an image for a target.
pub fn build(target: &Target) -> String {
    if target.name == "spir64_x86_64" {
        return "add one: sycl-bundle build FILE -t spir64_x86_64 -o OUTPUT".to_owned();
    }
    format!("add it to the targets at compile time: -fsycl-targets={}, or spir64 for all that take SPIR-V", target.name)
}
