//! Which keys and values may a description of kernels (`.ze_info`) have?
//!
//! Keys and words are those that Intel's driver 26.27 takes, or the one after it (`zeinfo.h` and `zeinfo_enum_lookup.h` in
//! intel/compute-runtime).

/// Form of a value.
pub(super) enum Form {
    /// A number of 32 bits.
    Number,
    /// A number of 32 bits that is not negative.
    Size,
    /// A number of a byte.
    Byte,
    /// `true` or `false`.
    Flag,
    /// Three numbers that are not negative.
    Three,
    /// A text that is not empty.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// Entries of one table.
    Map(&'static Table),
    /// A sequence of mappings with entries of one table.
    List(&'static Table),
    /// A sequence like [`Form::List`]; of anything but one drivers read nothing.
    Listed(&'static Table),
    /// Anything: drivers take it as a text, or not at all.
    Any,
}

/// Keys that a mapping may have, each once.
pub(super) struct Table {
    /// Each with the form of its value.
    pub(super) keys: &'static [(&'static str, Form)],
    /// An end of other keys that it may have.
    pub(super) others: Option<&'static str>,
}

const fn table(keys: &'static [(&'static str, Form)]) -> Table {
    Table { keys, others: None }
}

/// Keys of the whole.
pub(super) static ROOT: Table = table(&[
    ("version", Form::Any),
    ("kernels", Form::List(&KERNEL)),
    ("functions", Form::List(&FUNCTION)),
    ("global_host_access_table", Form::List(&HOST_ACCESS)),
    ("l1_cache_policy", Form::Word(&["wbp", "uc", "wb", "wt", "ws"])),
    ("kernels_misc_info", Form::List(&MISC)),
    ("kernels_cost_info", Form::Any),
]);

static KERNEL: Table = table(&[
    ("name", Form::Any),
    ("user_attributes", Form::Map(&ATTRIBUTES)),
    ("execution_env", Form::Map(&ENVIRONMENT)),
    ("payload_arguments", Form::List(&PAYLOAD)),
    ("per_thread_payload_arguments", Form::List(&PER_THREAD)),
    ("binding_table_indices", Form::List(&BINDING)),
    ("per_thread_memory_buffers", Form::List(&BUFFER)),
    ("inline_samplers", Form::List(&SAMPLER)),
    ("experimental_properties", Form::Listed(&EXPERIMENTAL)),
    ("debug_env", Form::Map(&DEBUG)),
]);

/// Keys of what is told of arguments: drivers pass over other keys.
static MISC: Table =
    Table { keys: &[("name", Form::Text), ("args_info", Form::List(&ARGUMENT_INFO))], others: Some("") };
static ARGUMENT_INFO: Table = Table {
    keys: &[
        ("index", Form::Size),
        ("name", Form::Text),
        ("address_qualifier", Form::Text),
        ("access_qualifier", Form::Text),
        ("type_name", Form::Text),
        ("type_qualifiers", Form::Text),
    ],
    others: Some(""),
};
static EXPERIMENTAL: Table = table(&[
    ("has_non_kernel_arg_load", Form::Number),
    ("has_non_kernel_arg_store", Form::Number),
    ("has_non_kernel_arg_atomic", Form::Number),
]);
static FUNCTION: Table = table(&[("name", Form::Any), ("execution_env", Form::Map(&ENVIRONMENT))]);
static HOST_ACCESS: Table = table(&[("device_name", Form::Any), ("host_name", Form::Any)]);
static DEBUG: Table = table(&[("sip_surface_bti", Form::Number), ("sip_surface_offset", Form::Number)]);
static BINDING: Table = table(&[("bti_value", Form::Number), ("arg_index", Form::Number)]);

static ATTRIBUTES: Table = Table {
    keys: &[
        ("intel_reqd_sub_group_size", Form::Number),
        ("intel_reqd_workgroup_walk_order", Form::Three),
        ("invalid_kernel", Form::Any),
        ("reqd_work_group_size", Form::Three),
        ("vec_type_hint", Form::Any),
        ("work_group_size_hint", Form::Three),
        ("intel_reqd_thread_group_dispatch_size", Form::Number),
    ],
    others: Some("_hint"),
};

static ENVIRONMENT: Table = table(&[
    ("grf_count", Form::Number),
    ("simd_size", Form::Number),
    ("barrier_count", Form::Number),
    ("disable_mid_thread_preemption", Form::Flag),
    ("has_4gb_buffers", Form::Flag),
    ("has_dpas", Form::Flag),
    ("has_fence_for_image_access", Form::Flag),
    ("has_global_atomics", Form::Flag),
    ("has_multi_scratch_spaces", Form::Flag),
    ("has_no_stateless_write", Form::Flag),
    ("has_stack_calls", Form::Flag),
    ("has_printf_calls", Form::Flag),
    ("require_assert_buffer", Form::Flag),
    ("require_sync_buffer", Form::Flag),
    ("has_indirect_calls", Form::Flag),
    ("require_disable_eufusion", Form::Flag),
    ("indirect_stateless_count", Form::Number),
    ("inline_data_payload_size", Form::Number),
    ("offset_to_skip_per_thread_data_load", Form::Number),
    ("offset_to_skip_set_ffid_gp", Form::Number),
    ("required_sub_group_size", Form::Number),
    ("required_work_group_size", Form::Three),
    ("slm_size", Form::Size),
    ("slm_alloc_mode", Form::Number),
    ("private_size", Form::Number),
    ("spill_size", Form::Number),
    ("subgroup_independent_forward_progress", Form::Flag),
    ("thread_scheduling_mode", Form::Word(&["age_based", "round_robin", "round_robin_stall"])),
    ("work_group_walk_order_dimensions", Form::Three),
    ("eu_thread_count", Form::Number),
    ("has_sample", Form::Flag),
    ("has_rtcalls", Form::Flag),
    ("hw_preemption_mode", Form::Number),
    ("actual_kernel_start_offset", Form::Any),
    ("has_lsc_stores_with_non_default_l1_cache_controls", Form::Flag),
    ("require_iab", Form::Flag),
    ("has_bindless_image_read", Form::Flag),
]);

static PAYLOAD: Table = table(&[
    ("arg_type", Form::Word(&ARGUMENTS)),
    ("offset", Form::Number),
    ("size", Form::Number),
    ("arg_index", Form::Number),
    ("addrmode", Form::Word(&["stateless", "stateful", "bindless", "slm"])),
    ("addrspace", Form::Word(&["global", "local", "constant", "image", "sampler"])),
    ("access_type", Form::Word(&["readonly", "writeonly", "readwrite"])),
    ("sampler_index", Form::Number),
    ("source_offset", Form::Number),
    ("slm_alignment", Form::Byte),
    ("image_type", Form::Word(&IMAGES)),
    ("image_transformable", Form::Flag),
    ("sampler_type", Form::Word(&SAMPLERS)),
    ("is_pipe", Form::Flag),
    ("is_ptr", Form::Flag),
    ("bti_value", Form::Number),
]);

static PER_THREAD: Table = table(&[
    ("arg_type", Form::Word(&["packed_local_ids", "local_id"])),
    ("offset", Form::Number),
    ("size", Form::Number),
]);

static BUFFER: Table = table(&[
    ("type", Form::Word(&["global", "scratch", "slm"])),
    ("usage", Form::Word(&["private_space", "spill_fill_space", "single_space"])),
    ("size", Form::Number),
    ("slot", Form::Number),
    ("is_simt_thread", Form::Flag),
]);

static SAMPLER: Table = table(&[
    ("sampler_index", Form::Number),
    ("addrmode", Form::Word(&["none", "repeat", "clamp_edge", "clamp_border", "mirror"])),
    ("filtermode", Form::Word(&["nearest", "linear"])),
    ("normalized", Form::Flag),
]);

static ARGUMENTS: [&str; 38] = [
    "arg_byvalue",
    "arg_bypointer",
    "buffer_address",
    "buffer_offset",
    "buffer_size",
    "local_size",
    "global_id_offset",
    "enqueued_local_size",
    "group_count",
    "global_size",
    "work_dimensions",
    "private_base_stateless",
    "printf_buffer",
    "implicit_arg_buffer",
    "const_base",
    "global_base",
    "scratch_pointer",
    "indirect_data_pointer",
    "assert_buffer",
    "sync_buffer",
    "rt_global_buffer",
    "region_group_dimension",
    "inline_sampler",
    "image_width",
    "image_height",
    "image_depth",
    "image_channel_data_type",
    "image_channel_order",
    "image_array_size",
    "image_num_samples",
    "image_num_mip_levels",
    "flat_image_baseoffset",
    "flat_image_width",
    "flat_image_height",
    "flat_image_pitch",
    "sampler_address",
    "sampler_normalized",
    "sampler_snap_wa",
];

static IMAGES: [&str; 15] = [
    "image_buffer",
    "image_1d",
    "image_1d_array",
    "image_2d",
    "image_2d_array",
    "image_3d",
    "image_cube_array",
    "image_2d_depth",
    "image_2d_array_depth",
    "image_2d_msaa",
    "image_2d_msaa_depth",
    "image_2d_array_msaa",
    "image_2d_array_msaa_depth",
    "image_2d_media",
    "image_2d_media_block",
];

static SAMPLERS: [&str; 12] = [
    "texture",
    "sample_8x8",
    "sample_8x8_2dconvolve",
    "sample_8x8_erode",
    "sample_8x8_dilate",
    "sample_8x8_minmaxfilter",
    "sample_8x8_centroid",
    "sample_8x8_bool_centroid",
    "sample_8x8_bool_sum",
    "vme",
    "ve",
    "vd",
];
