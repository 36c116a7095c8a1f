//! Which devices are there, of all the platforms that the loader knows?

use super::{Known, REMEDY, failed, text};
use crate::build::inventory::Device;
use crate::build::worker::{self, LOADS};
use crate::device::table;
use crate::device::target::Has;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_DEVICES, MAX_PLATFORMS, MAX_WORKER_ANSWER};
use opencl3::device::{
    CL_DEVICE_BUILT_IN_KERNELS, CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_EXTENSIONS, CL_DEVICE_GLOBAL_MEM_SIZE,
    CL_DEVICE_IL_VERSION, CL_DEVICE_IMAGE_SUPPORT, CL_DEVICE_LINKER_AVAILABLE, CL_DEVICE_LOCAL_MEM_SIZE,
    CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_NUM_SUB_GROUPS, CL_DEVICE_MAX_PARAMETER_SIZE,
    CL_DEVICE_MAX_WORK_GROUP_SIZE, CL_DEVICE_MAX_WORK_ITEM_SIZES, CL_DEVICE_NAME, CL_DEVICE_OPENCL_C_VERSION,
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CUSTOM, CL_DEVICE_TYPE_GPU,
    CL_DEVICE_VENDOR_ID, CL_DEVICE_VERSION, CL_DRIVER_VERSION, get_device_data, get_device_ids,
};
use opencl3::error_codes::CL_DEVICE_NOT_FOUND;
use opencl3::platform::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, get_platform_data, get_platform_ids};
use opencl3::types::{cl_device_id, cl_device_info, cl_int, cl_platform_id};

/// Status of a loader without a registered driver (cl_khr_icd).
const NO_PLATFORM: cl_int = -1001;
/// Statuses of the binding where it could not load the loader, or the loader lacks a function.
const NO_LOADER: [cl_int; 2] = [-2000, -2001];

/// Every device of every platform, with what is known about it; and why some platforms do not list theirs. One driver
/// of several that is broken does not take the others with it.
pub(super) fn devices() -> Result<(Vec<Known>, Vec<Error>)> {
    let platforms = get_platform_ids().map_err(|code| no_platforms(code, LOADS))?;
    if platforms.len() > MAX_PLATFORMS {
        let message = format!("the OpenCL loader claims {} platforms; {MAX_PLATFORMS} are the most", platforms.len());
        return Err(Error::new(ErrorKind::Environment, message));
    }
    let (mut found, mut skipped, mut told) = (Vec::new(), Vec::new(), 0u64);
    for platform in platforms {
        let about = |what| text(&get_platform_data(platform, what).unwrap_or_default());
        let (name, vendor) = (about(CL_PLATFORM_NAME), about(CL_PLATFORM_VENDOR));
        let (devices, failure) = by_kind(platform);
        skipped.extend(failure.map(|error| error.context(format!("the platform `{name}`"))));
        for (kind, device) in devices {
            let mut known = describe(device, kind);
            known.compiles = kind == "cpu" && vendor.starts_with("Intel") && known.takes_spirv();
            (known.platform, known.vendor) = (name.clone(), vendor.clone());
            told = told.saturating_add(known.length());
            if told > MAX_WORKER_ANSWER.into() {
                let message =
                    format!("the OpenCL drivers tell more than {MAX_WORKER_ANSWER} bytes about their devices");
                return Err(Error::new(ErrorKind::Environment, message));
            }
            found.push((device, known));
        }
    }
    Ok((found, skipped))
}

/// Creates the error for a status of the loader or the binding, in a build that loads libraries or not.
fn no_platforms(code: cl_int, loads: bool) -> Error {
    let message = match code {
        code if NO_LOADER.contains(&code) && !loads => return worker::no_driver(),
        code if NO_LOADER.contains(&code) => "the OpenCL loader, libOpenCL.so.1, could not be loaded",
        NO_PLATFORM => "the OpenCL loader finds no driver with a device on this machine",
        code => return failed("clGetPlatformIDs", code),
    };
    Error::new(ErrorKind::Environment, message).with_remedy(REMEDY)
}

/// A platform's devices with the name of their kind, and the error of a kind that it did not list.
fn by_kind(platform: cl_platform_id) -> (Vec<(&'static str, cl_device_id)>, Option<Error>) {
    let mut failure = None;
    let mut of_type = |kind| match get_device_ids(platform, kind) {
        Ok(devices) if devices.len() > MAX_DEVICES => {
            let message = format!("claims {} devices of one kind; {MAX_DEVICES} are the most", devices.len());
            failure.get_or_insert_with(|| Error::new(ErrorKind::Environment, message));
            Vec::new()
        }
        Ok(devices) => devices,
        Err(CL_DEVICE_NOT_FOUND) => Vec::new(),
        Err(code) => {
            failure.get_or_insert_with(|| failed("clGetDeviceIDs", code));
            Vec::new()
        }
    };
    let kinds = [
        ("cpu", CL_DEVICE_TYPE_CPU),
        ("gpu", CL_DEVICE_TYPE_GPU),
        ("accelerator", CL_DEVICE_TYPE_ACCELERATOR),
        ("custom", CL_DEVICE_TYPE_CUSTOM),
    ];
    let mut found = Vec::new();
    for (name, kind) in kinds {
        found.extend(of_type(kind).into_iter().map(|device| (name, device)));
    }
    for device in of_type(CL_DEVICE_TYPE_ALL) {
        if found.iter().all(|(_, known)| *known != device) {
            found.push(("other", device));
        }
    }
    (found, failure)
}

/// The file that the loader came from: the binding does not tell, the system's list of mappings does.
pub(super) fn loader_path() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|start| line.get(start..)));
    let mut loaders = paths.filter(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("libOpenCL")));
    loaders.next().unwrap_or_default().to_owned()
}

/// The error where the device that is asked for is not there.
pub(super) fn no_device(all: &[Known], skipped: &[Error], wanted: Option<u32>) -> Error {
    let seen: Vec<String> = all.iter().map(|(_, d)| format!("{} ({})", d.name, d.platform)).collect();
    let seen = if seen.is_empty() { "no device at all".to_owned() } else { seen.join(", ") };
    let what = match wanted {
        None => "no OpenCL CPU device of Intel's driver that takes SPIR-V".to_owned(),
        Some(place) => format!("no OpenCL device number {place} any more"),
    };
    let mut message = format!("{what}; the loader lists {seen}");
    if wanted.is_none() && all.iter().any(|(_, one)| one.kind == "cpu" && one.takes_spirv()) {
        message.push_str(
            "; native code for spir64_x86_64 is handed to every OpenCL CPU device, and no other driver makes what Intel's \
             takes (`build --device NAME` makes what a driver of that name alone takes)",
        );
    }
    for error in skipped {
        message.push_str(&format!("; {error}"));
    }
    Error::new(ErrorKind::Environment, message).with_remedy(REMEDY)
}

/// `CL_DEVICE_SUB_GROUP_SIZES_INTEL` (cl_intel_required_subgroup_size).
const SUB_GROUP_SIZES: cl_device_info = 0x4108;
/// `CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR`: bit 0 device, 1 work-group, 2 sub-group.
const KERNEL_CLOCK: cl_device_info = 0x1076;
/// `CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR`; bit 2: simultaneous use.
const COMMAND_BUFFER: cl_device_info = 0x12A9;
/// The capabilities of cl_intel_unified_shared_memory, by kind of allocation. Bit 0: access, 1: atomic access, 2:
/// concurrent access, 3: concurrent atomic access.
const USM_HOST: cl_device_info = 0x4190;
const USM_DEVICE: cl_device_info = 0x4191;
const USM_SHARED: cl_device_info = 0x4192;
const USM_SYSTEM: cl_device_info = 0x4194;
const CONCURRENT_ATOMIC: u64 = 1 << 3;
/// `CL_DEVICE_IP_VERSION_INTEL` (cl_intel_device_attribute_query).
const IP_VERSION: cl_device_info = 0x4250;
/// `CL_DEVICE_QUEUE_ON_HOST_PROPERTIES`.
const QUEUE_PROPERTIES: cl_device_info = 0x102A;
/// `CL_QUEUE_PROFILING_ENABLE`.
const PROFILING: u64 = 1 << 1;
const INTEL: u64 = 0x8086;

/// A device without what its platform tells. What the driver does not answer is empty.
fn describe(id: cl_device_id, kind: &str) -> Device {
    let about = |what: cl_device_info| text(&get_device_data(id, what).unwrap_or_default());
    let number = |what| number(&get_device_data(id, what).unwrap_or_default());
    let numbers = |what| {
        let bytes = get_device_data(id, what).unwrap_or_default();
        bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect::<Vec<u64>>()
    };
    let names = |text: String, separator: char| -> Vec<String> {
        text.split(separator).filter(|name| !name.trim().is_empty()).map(|name| name.trim().to_owned()).collect()
    };
    let extensions = names(about(CL_DEVICE_EXTENSIONS), ' ');
    let required = extensions.iter().any(|name| name == "cl_intel_required_subgroup_size");
    let sub_group_sizes = if required { numbers(SUB_GROUP_SIZES) } else { vec![1] };
    let known = Device {
        kind: kind.to_owned(),
        name: about(CL_DEVICE_NAME),
        driver: about(CL_DRIVER_VERSION),
        opencl: about(CL_DEVICE_VERSION),
        opencl_c: about(CL_DEVICE_OPENCL_C_VERSION),
        il: about(CL_DEVICE_IL_VERSION),
        built_in_kernels: names(about(CL_DEVICE_BUILT_IN_KERNELS), ';'),
        sub_group_sizes,
        max_work_item_sizes: numbers(CL_DEVICE_MAX_WORK_ITEM_SIZES),
        max_work_group_size: number(CL_DEVICE_MAX_WORK_GROUP_SIZE),
        // A driver without sub-groups says 0; the runtime answers 1.
        max_num_sub_groups: number(CL_DEVICE_MAX_NUM_SUB_GROUPS).max(1),
        compute_units: number(CL_DEVICE_MAX_COMPUTE_UNITS),
        local_mem: number(CL_DEVICE_LOCAL_MEM_SIZE),
        global_mem: number(CL_DEVICE_GLOBAL_MEM_SIZE),
        max_parameter_size: number(CL_DEVICE_MAX_PARAMETER_SIZE),
        gmdid: u32::try_from(number(IP_VERSION)).unwrap_or_default(),
        extensions,
        ..Device::default()
    };
    let all = aspects(&known, &number);
    let of = |wanted: bool| -> Vec<String> {
        all.iter().filter(|(_, there)| *there == wanted).map(|(name, _)| (*name).to_owned()).collect()
    };
    let (aspects, mut lacks_aspects) = (of(true), of(false));
    lacks_aspects.extend(NEVER.map(str::to_owned));
    Device { aspects, lacks_aspects, ..known }
}

/// Aspects that the runtime denies for every device of the OpenCL adapter.
const NEVER: [&str; 14] = [
    "host",
    "emulated",
    "host_debuggable",
    "ext_intel_gpu_eu_simd_width",
    "ext_intel_free_memory",
    "ext_intel_max_mem_bandwidth",
    "ext_intel_memory_clock_rate",
    "ext_intel_memory_bus_width",
    "ext_intel_spill_memory_size",
    "ext_oneapi_bindless_images",
    "ext_oneapi_external_memory_import",
    "ext_oneapi_external_semaphore_import",
    "ext_oneapi_virtual_mem",
    "ext_oneapi_ipc_memory",
];

/// The aspects that the runtime asks a device for, each with whether it has it. Other numbers are asked for by query; 0
/// where it does not answer.
fn aspects(device: &Device, number: &dyn Fn(cl_device_info) -> u64) -> Vec<(&'static str, bool)> {
    let has = |name: &str| device.extensions.iter().any(|known| known == name);
    let (cpu, gpu) = (device.kind == "cpu", device.kind == "gpu");
    let usm = has("cl_intel_unified_shared_memory");
    let attributes = has("cl_intel_device_attribute_query");
    let intel_gpu = gpu && number(CL_DEVICE_VENDOR_ID) == INTEL;
    let clock = if has("cl_khr_kernel_clock") { number(KERNEL_CLOCK) } else { 0 };
    let graph = has("cl_khr_command_buffer") && number(COMMAND_BUFFER) & 4 != 0;
    let atomic64 = has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics");
    // In the order of their numbers since 2026.
    vec![
        ("cpu", cpu),
        ("gpu", gpu),
        ("accelerator", device.kind == "accelerator"),
        ("custom", device.kind == "custom"),
        ("fp16", has("cl_khr_fp16")),
        ("fp64", has("cl_khr_fp64")),
        ("online_compiler", number(CL_DEVICE_COMPILER_AVAILABLE) != 0),
        ("online_linker", number(CL_DEVICE_LINKER_AVAILABLE) != 0),
        ("queue_profiling", number(QUEUE_PROPERTIES) & PROFILING != 0),
        ("usm_device_allocations", usm && number(USM_DEVICE) != 0),
        ("usm_host_allocations", usm && number(USM_HOST) != 0),
        ("usm_shared_allocations", usm && number(USM_SHARED) != 0),
        ("usm_system_allocations", usm && number(USM_SYSTEM) != 0),
        ("ext_intel_pci_address", has("cl_khr_pci_bus_info")),
        ("ext_intel_gpu_eu_count", gpu && attributes),
        ("ext_intel_gpu_slices", attributes),
        ("ext_intel_gpu_subslices_per_slice", attributes),
        ("ext_intel_gpu_eu_count_per_subslice", attributes),
        ("usm_atomic_host_allocations", usm && number(USM_HOST) & CONCURRENT_ATOMIC != 0),
        ("usm_atomic_shared_allocations", usm && number(USM_SHARED) & CONCURRENT_ATOMIC != 0),
        ("atomic64", atomic64),
        ("ext_intel_device_info_uuid", has("cl_khr_device_uuid")),
        ("ext_oneapi_srgb", true),
        ("ext_oneapi_native_assert", has("cl_intel_devicelib_assert")),
        ("ext_intel_gpu_hw_threads_per_eu", attributes),
        ("ext_intel_device_id", attributes),
        ("ext_intel_legacy_image", number(CL_DEVICE_IMAGE_SUPPORT) != 0),
        ("ext_intel_esimd", intel_gpu),
        ("ext_oneapi_fragment", true),
        ("ext_oneapi_chunk", true),
        ("ext_oneapi_tangle", true),
        ("ext_intel_matrix", attributes && has_matrix(cpu, number(IP_VERSION))),
        ("ext_oneapi_limited_graph", graph),
        ("ext_oneapi_private_alloca", true),
        ("ext_oneapi_atomic16", has("cl_ext_float_atomics")),
        ("ext_oneapi_virtual_functions", cpu || gpu),
        ("ext_intel_device_info_node_mask", has("cl_khr_device_uuid")),
        ("ext_oneapi_clock_sub_group", clock & 4 != 0),
        ("ext_oneapi_clock_work_group", clock & 2 != 0),
        ("ext_oneapi_clock_device", clock & 1 != 0),
    ]
}

/// Whether a device of this IP version is of those architectures that the runtime lists as having matrix operations.
fn has_matrix(cpu: bool, version: u64) -> bool {
    /// The first byte of the numbers of CPUs among architectures.
    const CPU: u64 = 3 << 56;
    let id = if cpu { CPU } else { 0 } | version << 8;
    let own = table().targets().iter().find(|target| target.architecture_id == Some(id));
    version != 0 && own.is_some_and(|target| target.has("ext_intel_matrix") == Has::Yes)
}

/// A number of four or eight bytes.
fn number(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
        (Some(long), _) => u64::from_le_bytes(*long),
        (None, Some(short)) => u32::from_le_bytes(*short).into(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_a_cause_and_a_remedy() {
        for (code, loads, cause, remedy) in [
            (-2000, true, "libOpenCL.so.1", "--install-driver"),
            (-2000, false, "static build", "own C library"),
            (-2001, false, "static build", "ocloc"),
            (NO_PLATFORM, true, "finds no driver", "--install-driver"),
        ] {
            let error = no_platforms(code, loads);
            assert_eq!(error.kind(), ErrorKind::Environment);
            assert!(error.message().contains(cause), "{code}: {error}");
            assert!(error.remedy().unwrap().contains(remedy), "{code}: {:?}", error.remedy());
        }
        assert!(no_platforms(-5, true).message().contains("CL_OUT_OF_RESOURCES"));
    }

    use super::has_matrix;

    #[test]
    fn matrix_operations_go_by_the_architecture() {
        // Sapphire Rapids, Granite Rapids; a CPU before them; Ponte Vecchio; one that tells nothing.
        assert!(has_matrix(true, 8) && has_matrix(true, 9) && has_matrix(false, 0x030f_0007));
        assert!(!has_matrix(true, 1) && !has_matrix(true, 0) && !has_matrix(false, 0));
    }
}
