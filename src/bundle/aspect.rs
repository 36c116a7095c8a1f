//! Which aspect does this number mean?
//!
//! Fat binaries store aspects as numbers, and the numbers changed meaning twice: `atomic64` is 28 in files for
//! `libsycl.so.6` to `.8` and 27 in files for `libsycl.so.9`. The image does not record which table applies; the epoch
//! follows from the compiler named in the file or the runtime it is linked to.
//!
//! Sources: DPC++ `sycl/include/sycl/info/aspects.def` as installed by runtime 2026.2 (epoch 2026), the same file of
//! 2023 to 2025, and `device_aspect_macros.hpp` of 2022.

use crate::container::Host;

/// Numbering of aspects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    /// Compilers of 2022 and before (`libsycl.so.5`).
    Before2023,
    /// Compilers of 2023 to 2025 (`libsycl.so.6` to `.8`).
    From2023,
    /// Compilers of 2026 and later (`libsycl.so.9`).
    From2026,
}

impl Epoch {
    /// Returns the epoch of a file: by the runtime it is linked to, which reads the numbers, or else by the compiler's
    /// release year, of which a file may have several, or else by the version of its image structures (3 came with the
    /// renumbering).
    pub fn detect(host: &Host<'_>, image_version: Option<u16>) -> Epoch {
        let by_year = |year: u32| match year {
            2026.. => Some(Epoch::From2026),
            2023..2026 => Some(Epoch::From2023),
            2019..2023 => Some(Epoch::Before2023),
            // An LLVM major version of an open-source build, not a release year.
            _ => None,
        };
        let by_producer = || host.producer.as_ref().and_then(|producer| producer.major).and_then(by_year);
        host.sycl_abi.map(Epoch::of_abi).or_else(by_producer).unwrap_or(match image_version {
            Some(1 | 2) => Epoch::From2023,
            _ => Epoch::From2026,
        })
    }

    /// Returns the epoch of a runtime by its major version.
    pub fn of_abi(abi: u32) -> Epoch {
        match abi {
            9.. => Epoch::From2026,
            6..9 => Epoch::From2023,
            _ => Epoch::Before2023,
        }
    }

    /// Returns the major version of the last runtime of the epoch.
    pub(crate) fn abi(self) -> u32 {
        match self {
            Epoch::From2026 => 9,
            Epoch::From2023 => 8,
            Epoch::Before2023 => 5,
        }
    }

    /// Returns the years of the epoch, as words that follow a noun.
    pub(crate) fn years(self) -> &'static str {
        match self {
            Epoch::Before2023 => "before 2023",
            Epoch::From2023 => "of 2023 to 2025",
            Epoch::From2026 => "of 2026",
        }
    }
}

/// Returns the SYCL name of an aspect number.
pub(crate) fn name(epoch: Epoch, number: u32) -> Option<&'static str> {
    let later = match epoch {
        Epoch::Before2023 => BEFORE_2023,
        Epoch::From2023 => FROM_2023,
        Epoch::From2026 => FROM_2026,
    };
    let find = |table: &[(u32, &'static str)]| {
        table.binary_search_by_key(&number, |entry| entry.0).ok().and_then(|at| table.get(at)).map(|entry| entry.1)
    };
    find(COMMON).or_else(|| find(later))
}

/// Returns the SYCL name of an aspect number, or `aspect#N` where the number has none.
pub(crate) fn label(epoch: Epoch, number: u32) -> String {
    name(epoch, number).map_or_else(|| format!("aspect#{number}"), str::to_owned)
}

/// Returns the number of an aspect by its SYCL name or its label `aspect#N`, or none where the epoch has no such
/// aspect.
pub fn number(epoch: Epoch, name: &str) -> Option<u32> {
    if let Some(number) = name.strip_prefix("aspect#") {
        return number.parse().ok();
    }
    let later = match epoch {
        Epoch::Before2023 => BEFORE_2023,
        Epoch::From2023 => FROM_2023,
        Epoch::From2026 => FROM_2026,
    };
    COMMON.iter().chain(later).find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Returns the names of all aspects of all epochs; renamed ones are there under both names.
pub fn names() -> impl Iterator<Item = &'static str> {
    [COMMON, FROM_2026, FROM_2023, BEFORE_2023].into_iter().flatten().map(|(_, name)| *name)
}

#[rustfmt::skip]
const COMMON: &[(u32, &str)] = &[
    (0, "host"),
    (1, "cpu"),
    (2, "gpu"),
    (3, "accelerator"),
    (4, "custom"),
    (5, "fp16"),
    (6, "fp64"),
    (7, "int64_base_atomics"),
    (8, "int64_extended_atomics"),
    (9, "image"),
    (10, "online_compiler"),
    (11, "online_linker"),
    (12, "queue_profiling"),
    (13, "usm_device_allocations"),
    (14, "usm_host_allocations"),
    (15, "usm_shared_allocations"),
    (16, "usm_restricted_shared_allocations"),
    (17, "usm_system_allocations"),
    (18, "ext_intel_pci_address"),
    (19, "ext_intel_gpu_eu_count"),
    (20, "ext_intel_gpu_eu_simd_width"),
    (21, "ext_intel_gpu_slices"),
    (22, "ext_intel_gpu_subslices_per_slice"),
    (23, "ext_intel_gpu_eu_count_per_subslice"),
    (24, "ext_intel_max_mem_bandwidth"),
];

#[rustfmt::skip]
const BEFORE_2023: &[(u32, &str)] = &[
    (25, "usm_atomic_host_allocations"),
    (26, "usm_atomic_shared_allocations"),
    (27, "atomic64"),
    (28, "ext_intel_device_info_uuid"),
    (29, "ext_oneapi_srgb"),
    (30, "ext_oneapi_native_assert"),
    (31, "host_debuggable"),
    (32, "ext_intel_gpu_hw_threads_per_eu"),
    (33, "ext_oneapi_cuda_async_barrier"),
    (34, "ext_oneapi_bfloat16_math_functions"),
    (35, "ext_intel_free_memory"),
    (36, "ext_intel_device_id"),
    (37, "ext_intel_memory_clock_rate"),
    (38, "ext_intel_memory_bus_width"),
    (39, "emulated"),
];

#[rustfmt::skip]
const FROM_2023: &[(u32, &str)] = &[
    (25, "ext_intel_mem_channel"),
    (26, "usm_atomic_host_allocations"),
    (27, "usm_atomic_shared_allocations"),
    (28, "atomic64"),
    (29, "ext_intel_device_info_uuid"),
    (30, "ext_oneapi_srgb"),
    (31, "ext_oneapi_native_assert"),
    (32, "host_debuggable"),
    (33, "ext_intel_gpu_hw_threads_per_eu"),
    (34, "ext_oneapi_cuda_async_barrier"),
    (35, "ext_oneapi_bfloat16_math_functions"),
    (36, "ext_intel_free_memory"),
    (37, "ext_intel_device_id"),
    (38, "ext_intel_memory_clock_rate"),
    (39, "ext_intel_memory_bus_width"),
    (40, "emulated"),
    (41, "ext_intel_legacy_image"),
    (42, "ext_oneapi_bindless_images"),
    (43, "ext_oneapi_bindless_images_shared_usm"),
    (44, "ext_oneapi_bindless_images_1d_usm"),
    (45, "ext_oneapi_bindless_images_2d_usm"),
    (46, "ext_oneapi_external_memory_import"),
    (47, "ext_oneapi_interop_memory_export"),
    (48, "ext_oneapi_external_semaphore_import"),
    (49, "ext_oneapi_interop_semaphore_export"),
    (50, "ext_oneapi_mipmap"),
    (51, "ext_oneapi_mipmap_anisotropy"),
    (52, "ext_oneapi_mipmap_level_reference"),
    (53, "ext_intel_esimd"),
    (54, "ext_oneapi_ballot_group"),
    (55, "ext_oneapi_fixed_size_group"),
    (56, "ext_oneapi_opportunistic_group"),
    (57, "ext_oneapi_tangle_group"),
    (58, "ext_intel_matrix"),
    (59, "ext_oneapi_is_composite"),
    (60, "ext_oneapi_is_component"),
    (61, "ext_oneapi_graph"),
    (62, "ext_intel_fpga_task_sequence"),
    (63, "ext_oneapi_limited_graph"),
    (64, "ext_oneapi_private_alloca"),
    (65, "ext_oneapi_cubemap"),
    (66, "ext_oneapi_cubemap_seamless_filtering"),
    (67, "ext_oneapi_bindless_sampled_image_fetch_1d_usm"),
    (68, "ext_oneapi_bindless_sampled_image_fetch_1d"),
    (69, "ext_oneapi_bindless_sampled_image_fetch_2d_usm"),
    (70, "ext_oneapi_bindless_sampled_image_fetch_2d"),
    (72, "ext_oneapi_bindless_sampled_image_fetch_3d"),
    (73, "ext_oneapi_queue_profiling_tag"),
    (74, "ext_oneapi_virtual_mem"),
    (75, "ext_oneapi_cuda_cluster_group"),
    (76, "ext_oneapi_image_array"),
    (77, "ext_oneapi_unique_addressing_per_dim"),
    (78, "ext_oneapi_bindless_images_sample_1d_usm"),
    (79, "ext_oneapi_bindless_images_sample_2d_usm"),
    (80, "ext_oneapi_atomic16"),
    (81, "ext_oneapi_virtual_functions"),
];

#[rustfmt::skip]
const FROM_2026: &[(u32, &str)] = &[
    (25, "usm_atomic_host_allocations"),
    (26, "usm_atomic_shared_allocations"),
    (27, "atomic64"),
    (28, "ext_intel_device_info_uuid"),
    (29, "ext_oneapi_srgb"),
    (30, "ext_oneapi_native_assert"),
    (31, "host_debuggable"),
    (32, "ext_intel_gpu_hw_threads_per_eu"),
    (33, "ext_oneapi_cuda_async_barrier"),
    (34, "ext_intel_free_memory"),
    (35, "ext_intel_device_id"),
    (36, "ext_intel_memory_clock_rate"),
    (37, "ext_intel_memory_bus_width"),
    (38, "emulated"),
    (39, "ext_intel_legacy_image"),
    (40, "ext_oneapi_bindless_images"),
    (41, "ext_oneapi_bindless_images_shared_usm"),
    (42, "ext_oneapi_bindless_images_1d_usm"),
    (43, "ext_oneapi_bindless_images_2d_usm"),
    (44, "ext_oneapi_external_memory_import"),
    (45, "ext_oneapi_external_semaphore_import"),
    (46, "ext_oneapi_mipmap"),
    (47, "ext_oneapi_mipmap_anisotropy"),
    (48, "ext_oneapi_mipmap_level_reference"),
    (49, "ext_intel_esimd"),
    (50, "ext_oneapi_fragment"),
    (51, "ext_oneapi_chunk"),
    (52, "ext_oneapi_tangle"),
    (53, "ext_intel_matrix"),
    (54, "ext_oneapi_is_composite"),
    (55, "ext_oneapi_is_component"),
    (56, "ext_oneapi_graph"),
    (57, "ext_oneapi_limited_graph"),
    (58, "ext_oneapi_private_alloca"),
    (59, "ext_oneapi_cubemap"),
    (60, "ext_oneapi_cubemap_seamless_filtering"),
    (61, "ext_oneapi_bindless_sampled_image_fetch_1d_usm"),
    (62, "ext_oneapi_bindless_sampled_image_fetch_1d"),
    (63, "ext_oneapi_bindless_sampled_image_fetch_2d_usm"),
    (64, "ext_oneapi_bindless_sampled_image_fetch_2d"),
    (65, "ext_oneapi_bindless_sampled_image_fetch_3d"),
    (66, "ext_oneapi_queue_profiling_tag"),
    (67, "ext_oneapi_virtual_mem"),
    (68, "ext_oneapi_cuda_cluster_group"),
    (69, "ext_oneapi_image_array"),
    (70, "ext_oneapi_unique_addressing_per_dim"),
    (71, "ext_oneapi_bindless_images_sample_1d_usm"),
    (72, "ext_oneapi_bindless_images_sample_2d_usm"),
    (73, "ext_oneapi_atomic16"),
    (74, "ext_oneapi_virtual_functions"),
    (75, "ext_intel_spill_memory_size"),
    (76, "ext_oneapi_bindless_images_gather"),
    (77, "ext_intel_current_clock_throttle_reasons"),
    (78, "ext_intel_fan_speed"),
    (79, "ext_intel_power_limits"),
    (80, "ext_oneapi_async_memory_alloc"),
    (81, "ext_intel_device_info_luid"),
    (82, "ext_intel_device_info_node_mask"),
    (83, "ext_oneapi_exportable_device_mem"),
    (84, "ext_oneapi_clock_sub_group"),
    (85, "ext_oneapi_clock_work_group"),
    (86, "ext_oneapi_clock_device"),
    (87, "ext_oneapi_is_integrated_gpu"),
    (88, "ext_oneapi_ipc_memory"),
    (89, "ext_oneapi_device_wait"),
    (90, "ext_intel_xe_stack_count"),
    (91, "ext_intel_xe_regions_per_stack"),
    (92, "ext_intel_xe_clusters_per_region"),
    (93, "ext_intel_xe_cores_per_cluster"),
    (94, "ext_intel_eus_per_xe_core"),
    (95, "ext_intel_max_lanes_per_hw_thread"),
    (96, "ext_oneapi_ipc_physical_memory"),
    (97, "ext_oneapi_register_host_memory"),
    (98, "ext_oneapi_per_event_profiling"),
    (99, "ext_oneapi_ipc_event"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_means_different_aspects() {
        assert_eq!(name(Epoch::From2023, 28), Some("atomic64"));
        assert_eq!(name(Epoch::From2026, 27), Some("atomic64"));
        assert_eq!(name(Epoch::From2026, 28), Some("ext_intel_device_info_uuid"));
        assert_eq!(name(Epoch::From2023, 6), Some("fp64"));
        assert_eq!(label(Epoch::From2026, 4000), "aspect#4000");
        let numbers = ["atomic64", "aspect#4000", "fp64"].map(|name| number(Epoch::From2023, name));
        assert_eq!(numbers, [Some(28), Some(4000), Some(6)]);
        assert_eq!(number(Epoch::From2026, "ext_intel_mem_channel"), None);
    }

    #[test]
    fn the_runtime_that_is_linked_reads_the_numbers() {
        let mut host = Host::read(&[0x03, 0x02, 0x23, 0x07]).unwrap();
        let comment = b"Intel(R) oneAPI DPC++/C++ Compiler 2024.0.0 (x)\0";
        host.producer = crate::container::Producer::from_comment(comment);
        assert_eq!(Epoch::detect(&host, Some(3)), Epoch::From2023);
        host.sycl_abi = Some(9);
        assert_eq!(Epoch::detect(&host, Some(3)), Epoch::From2026);
    }

    #[test]
    fn tables_are_sorted_for_the_search() {
        for table in [COMMON, BEFORE_2023, FROM_2023, FROM_2026] {
            assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
