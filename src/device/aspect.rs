//! What is an aspect called today?

/// Names that aspects went by, and what they are called now (DPC++ `sycl/include/sycl/info/aspects.def`, its history).
const RENAMED: [(&str, &str); 7] = [
    ("ext_oneapi_ballot_group", "ext_oneapi_fragment"),
    ("ext_oneapi_opportunistic_group", "ext_oneapi_fragment"),
    ("ext_oneapi_fixed_size_group", "ext_oneapi_chunk"),
    ("ext_oneapi_tangle_group", "ext_oneapi_tangle"),
    ("ext_oneapi_interop_memory_import", "ext_oneapi_external_memory_import"),
    ("ext_oneapi_interop_semaphore_import", "ext_oneapi_external_semaphore_import"),
    ("usm_system_allocator", "usm_system_allocations"),
];

/// The name that an aspect goes by today; targets are described in these, images may carry older ones.
pub fn current(aspect: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == aspect).map_or(aspect, |(_, new)| new)
}
