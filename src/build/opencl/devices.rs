//! Which devices are there, of all the platforms that the loader knows?

use super::{Known, REMEDY, describe, failed, text};
use crate::build::loading::{self, LOADS};
use crate::error::{Error, ErrorKind, Result};
use opencl3::device::{
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CUSTOM, CL_DEVICE_TYPE_GPU,
    get_device_ids,
};
use opencl3::error_codes::CL_DEVICE_NOT_FOUND;
use opencl3::platform::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, get_platform_data, get_platform_ids};
use opencl3::types::{cl_device_id, cl_int, cl_platform_id};

/// Status of a loader without a registered driver (cl_khr_icd).
const NO_PLATFORM: cl_int = -1001;
/// Statuses of the binding where it could not load the loader, or the loader lacks a function.
const NO_LOADER: [cl_int; 2] = [-2000, -2001];

/// Every device of every platform, with what is known about it; and why some platforms do not list theirs. One driver
/// of several that is broken does not take the others with it.
pub(super) fn devices() -> Result<(Vec<Known>, Vec<Error>)> {
    let platforms = get_platform_ids().map_err(|code| no_platforms(code, LOADS))?;
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for platform in platforms {
        let about = |what| text(&get_platform_data(platform, what).unwrap_or_default());
        let (name, vendor) = (about(CL_PLATFORM_NAME), about(CL_PLATFORM_VENDOR));
        let (devices, failure) = by_kind(platform);
        skipped.extend(failure.map(|error| error.context(format!("the platform `{name}`"))));
        for (kind, device) in devices {
            let mut known = describe::device(device, kind);
            known.compiles = kind == "cpu" && vendor.starts_with("Intel") && known.takes_spirv();
            (known.platform, known.vendor) = (name.clone(), vendor.clone());
            found.push((device, known));
        }
    }
    Ok((found, skipped))
}

/// Creates the error for a status of the loader or the binding, in a build that loads libraries or not.
fn no_platforms(code: cl_int, loads: bool) -> Error {
    let message = match code {
        code if NO_LOADER.contains(&code) && !loads => return loading::no_driver(),
        code if NO_LOADER.contains(&code) => "the OpenCL loader, libOpenCL.so.1, could not be loaded",
        NO_PLATFORM => "the OpenCL loader finds no driver (looked for Intel's OpenCL CPU driver, libintelocl.so)",
        code => return failed("clGetPlatformIDs", code),
    };
    Error::new(ErrorKind::Environment, message).with_remedy(REMEDY)
}

/// A platform's devices with the name of their kind, and the error of a kind that it did not list.
fn by_kind(platform: cl_platform_id) -> (Vec<(&'static str, cl_device_id)>, Option<Error>) {
    let mut failure = None;
    let mut of_type = |kind| match get_device_ids(platform, kind) {
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
    for error in skipped {
        message.push_str(&format!("; {error}"));
    }
    Error::new(ErrorKind::Environment, message).with_remedy(REMEDY)
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
}
