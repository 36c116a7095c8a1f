//! Which target does the user say that images are for?

use crate::cli::global::Global;
use sycl_bundle::device;
use sycl_bundle::error::{Error, ErrorKind, Result};

/// The names that the runtime compares with (`__SYCL_DEVICE_BINARY_TARGET_*` in DPC++ `sycl/source/detail/compiler.hpp`),
/// which are no targets of the device configuration, or not by that name alone; and the architectures of the triples that
/// upstream's drivers write in their place.
const SPECS: [&str; 13] = [
    "spir",
    "spir64",
    "spir64_x86_64",
    "spir64_gen",
    "spir64_fpga",
    "nvptx64",
    "amdgcn",
    "native_cpu",
    "llvm_nvptx64",
    "llvm_amdgcn",
    "spirv",
    "spirv32",
    "spirv64",
];

/// The name to write for a spelling: one that the runtime compares with stands as it is, also as a triple; any other is
/// that of the target that it means.
///
/// # Errors
/// `Usage` where it means none, or several.
pub fn known(global: &Global, spelling: &str) -> Result<String> {
    if SPECS.contains(&spelling.split('-').next().unwrap_or_default()) {
        return Ok(spelling.to_owned());
    }
    let found = device::table().resolve(spelling)?;
    let [target] = found.targets.as_slice() else {
        let names: Vec<&str> = found.targets.iter().map(|target| target.name.as_str()).collect();
        // The runtime knows families by name too.
        if let Some(family) = found.family.filter(|family| family.starts_with("intel_gpu_")) {
            return Ok(family);
        }
        let error = Error::new(ErrorKind::Usage, format!("`{spelling}` means several targets: {}", names.join(", ")));
        return Err(error.with_remedy("name one of them with --as-target"));
    };
    if let Some(note) = &found.note {
        global.note(note);
    }
    if target.name != spelling {
        global.note(&format!("`{spelling}` is {}", target.name));
    }
    Ok(target.name.clone())
}
