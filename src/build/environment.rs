//! Which variables of this process do drivers and compilers get, and which of them decide what code they make?
//!
//! Programs in CI hold passwords in variables, and code that a module takes over in a compiler would write them into what it
//! makes. So workers get the variables that loaders, drivers and compilers are known to read.

use std::ffi::OsString;

/// Beginnings of the names of settings of compilers; which driver is chosen shows in its identity.
const SETTINGS: [&str; 13] = [
    // Intel's driver for CPUs, and what it is made of.
    "CL_CONFIG_",
    "VOLCANO_",
    "OCLBACKEND_",
    "SYCL_CPU_",
    "DPCPP_CPU_",
    "LLVM_",
    // Intel's driver and compiler for GPUs.
    "NEOReadDebugKeys",
    "NEO_",
    "OverrideDefaultFP64Settings",
    "IGC_",
    // The loader and drivers, by Khronos' names, PoCL, and clang.
    "OPENCL_",
    "POCL_",
    "CCC_OVERRIDE_OPTIONS",
];

/// Beginnings of settings that decide no code.
const NOT_OF_CODE: [&str; 3] = ["POCL_CACHE_DIR", "POCL_DEBUG", "POCL_TRACING"];

/// Beginnings of the names of what else is handed on.
const BEGINNINGS: [&str; 53] = [
    // The system: where programs and libraries are, and how text is written.
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LC_",
    "LD_",
    "LOCPATH",
    "MALLOC_",
    "MIMALLOC_",
    "NIX_LD",
    "RAYON_",
    "RUST_",
    "SYCL_BUNDLE_",
    "TMPDIR",
    "XDG_",
    // Loaders, runtimes, and Intel's drivers with what schedules their threads.
    "CL_",
    "CLVK_",
    "INTEL_",
    "INTELFPGAOCLSDKROOT",
    "KMP_",
    "OCL_",
    "OMP_",
    "ONEAPI_",
    "SYCL_",
    "TBBROOT",
    "TBB_",
    "TCM_",
    "UR_",
    "ZES_",
    "ZET_",
    "ZE_",
    // Drivers of others: AMD, NVIDIA, Mesa, and what these stand on.
    "AMDGPU_",
    "AMD_",
    "CUDA_",
    "DRI_",
    "EGL_",
    "GALLIUM_",
    "GPU_",
    "HIP_",
    "HSA_",
    "LIBGL_",
    "LP_NUM_THREADS",
    "MESA_",
    "NVIDIA_",
    "NVCC_",
    "ROCM_",
    "ROCR_",
    "ROC_",
    "RUSTICL_",
    "VK_",
    "__EGL_",
    "__GL",
    "__NV",
    // Sanitizers, in drivers that are looked into.
    "ASAN_",
    "UBSAN_",
];

/// Names of what is handed on by its whole name.
const NAMES: [&str; 11] =
    ["CONDA_PREFIX", "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMP", "TZ", "USER", "VIRTUAL_ENV"];

/// Words in the names of variables that hold what nobody else is to know, whatever they begin with: `NVIDIA_API_KEY`.
const SECRETS: [&str; 12] =
    ["KEY", "TOKEN", "SECRET", "PASS", "CRED", "_AUTH", "WEBHOOK", "_PWD", "JWT", "COOKIE", "PRIVATE", "NETRC"];
/// End of the names of personal access tokens.
const ACCESS: &str = "_PAT";

/// Whether a variable is a setting of a driver or of the compiler in it that shows in the code that they make: one of any name where one
/// of [`OPENERS`] is set.
pub(super) fn decides_code(name: &str, opened: bool) -> bool {
    let among = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let is_known = among(&SETTINGS) || among(&BEGINNINGS) || NAMES.contains(&name) || OF_SHELLS.contains(&name);
    among(&SETTINGS) && !among(&NOT_OF_CODE) || opened && (!is_known || OPENERS.contains(&name))
}

/// Variables that shells change with each command, and that no compiler reads.
const OF_SHELLS: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// Variables that have variables of any name read: by what is preloaded into programs, and as keys of Intel's driver for GPUs.
const OPENERS: [&str; 2] = ["LD_PRELOAD", "NEOReadDebugKeys"];

/// Whether variables have others of any name read.
pub(crate) fn is_opened<'v>(variables: impl IntoIterator<Item = &'v (OsString, OsString)>) -> bool {
    let is_opener = |name: &OsString| OPENERS.iter().any(|opener| name == opener);
    variables.into_iter().any(|(name, value)| !value.is_empty() && is_opener(name))
}

/// Whether workers get a variable of this process; all but secrets where one of [`OPENERS`] is set.
pub(crate) fn is_handed_on(name: &str, value: &str, opened: bool) -> bool {
    let begins = SETTINGS.iter().chain(&BEGINNINGS).any(|beginning| name.starts_with(beginning));
    match begins || NAMES.contains(&name) {
        // Settings of drivers have such words in small letters: `IGC_DisablePasses`.
        true => !is_secret(name, value),
        false => opened && !is_secret(&name.to_uppercase(), value),
    }
}

/// Whether a variable may hold what nobody else is to know. A URL may have a password in it, and no driver reads one.
fn is_secret(name: &str, value: &str) -> bool {
    SECRETS.iter().any(|word| name.contains(word)) || name.ends_with(ACCESS) || value.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_handed_on_and_secrets_are_not() {
        for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "IGC_ShaderDumpEnable", "NEOReadDebugKeys", "OCL_ICD_VENDORS"] {
            assert!(is_handed_on(name, "1", false), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "NVIDIA_API_KEY",
            "CI_JOB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PATHS",
            "PGPASSWORD",
            "NEON_URL",
            "NVIDIA_APIKEY",
        ] {
            assert!(!is_handed_on(name, "1", false), "{name}");
        }
        assert!(is_handed_on("OCL_X", "/opt/lib", false) && !is_handed_on("OCL_X", "postgres://me:word@host/", true));
        assert!(is_handed_on("SHIM", "1", true) && !is_handed_on("db_password", "1", true));
        assert!(is_handed_on("IGC_DisablePasses", "1", false) && !is_handed_on("LANGCHAIN_X", "1", false));
        let all_handed_on = |name: &&str| is_handed_on(name, "1", false);
        assert!(
            SETTINGS.iter().all(all_handed_on) && decides_code("IGC_Opt", false) && !decides_code("POCL_DEBUG", false)
        );
        // A key of Intel's driver has no beginning of its own.
        assert!(decides_code("InjectInternalBuildOptions", true) && !decides_code("InjectInternalBuildOptions", false));
        assert!(!decides_code("PATH", true) && decides_code("LD_PRELOAD", true));
    }
}
