//! Which imported symbols does no image define?
//!
//! The runtime or the device's compiler brings them: built-in functions of SPIR-V, DPC++'s device library, intrinsics of
//! LLVM, and functions of OpenCL C, which LLVM leaves as imports where it has no instruction for one. They are told by name alone:
//! one of OpenCL C's with other parameters is not told from the device's.

use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::spirv::grammar::is_instruction;
use crate::spirv::opencl_c::{self, base_name};

/// Whether an import is what the device's compiler or the runtime brings: built-in functions of SPIR-V, those of the compiler for
/// Intel's GPUs, and DPC++'s device library, of which the runtime links the part that the device can do with.
pub(crate) fn of_the_device(symbol: &str) -> bool {
    of_spirv(symbol) || of_intel_gpus(symbol) || is_of_library(symbol)
}

/// Whether a symbol is a built-in function of SPIR-V by its name: an instruction, a built-in variable or a function of
/// `OpenCL.std`, perhaps with what tells its types (`__spirv_ConvertFToU_Ruint`, `__spirv_ocl_s_abs`).
fn of_spirv(symbol: &str) -> bool {
    let Some(name) = base_name(symbol).unwrap_or(symbol).strip_prefix("__spirv_") else { return false };
    // Underscores stand in names of functions too.
    let ends = name.match_indices('_').map(|(at, _)| at).chain([name.len()]).take(MOST_WORDS);
    let is_known = |name: &str| !name.is_empty() && is_instruction(name);
    let mut heads = ends.filter_map(|end| name.get(..end));
    name.starts_with("BuiltIn") || heads.any(|head| is_known(head.strip_prefix("ocl_").unwrap_or(head)))
}

/// Most words of a name that are looked at.
const MOST_WORDS: usize = 16;

/// Whether a symbol is a conversion of bfloat16: no compiler of a device has it, and DPC++ adds images that export it to each file
/// that needs them.
pub(crate) fn of_bfloat16(symbol: &str) -> bool {
    symbol.starts_with("__devicelib_Convert")
}

/// The OpenCL extension of devices with conversions of bfloat16 of their own.
pub(crate) const BFLOAT16_CONVERSIONS: &str = "cl_intel_bfloat16_conversions";

/// Returns the form of conversions of bfloat16 that an image has: 0 for all devices, 1 for those with conversions of their own.
pub(crate) fn bfloat16_form(image: &Image<'_>) -> Option<u32> {
    image.properties.number(set::DEVICELIB, key::BFLOAT16)
}

/// Whether the runtime links an image to others on a device with such conversions, or without: of the conversions of bfloat16 there
/// are two forms, and each device gets one alone (libsycl 2026.2).
pub(crate) fn is_form_for(image: &Image<'_>, converts: bool) -> bool {
    bfloat16_form(image).is_none_or(|form| (form == 1) == converts)
}

/// Whether a symbol is one of DPC++'s device library (`libdevice` of intel/llvm): conversions, assertions, functions of C's
/// library and of `imf`.
pub(crate) fn is_of_library(symbol: &str) -> bool {
    let Some(name) = symbol.strip_prefix("__devicelib_") else { return false };
    let plain = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let is_known = |name: &str| opencl_c::is_name(name) || LIBRARY.contains(&name);
    LIBRARY_FAMILIES.iter().any(|family| name.starts_with(family)) || is_known(name) || is_known(plain)
}

/// Prefixes of families of the device library.
const LIBRARY_FAMILIES: [&str; 6] = ["ConvertBF16ToF", "ConvertFToBF16", "assert_", "atomic", "imf_", "itt_"];

/// Functions of the device library that OpenCL C does not name so: of C's library, and of complex numbers.
#[rustfmt::skip]
const LIBRARY: [&str; 42] = [
    "abs", "cabs", "cacos", "cacosh", "carg", "casin", "casinh", "catan", "catanh", "ccos", "ccosh", "cexp", "cimag",
    "clog", "cpolar", "cpow", "cproj", "creal", "csin", "csinh", "csqrt", "ctan", "ctanh", "div", "divdc3", "divsc3",
    "__divdc3", "__divsc3", "__muldc3", "__mulsc3", "isascii", "labs", "ldiv", "llabs", "lldiv", "llrint", "llround",
    "lrint", "lround", "memcpy", "nearbyint", "scalbn",
];

/// Intrinsics of LLVM that compilers of devices have, by the first word of their names: those without an instruction of SPIR-V, and
/// those of explicit SIMD.
#[rustfmt::skip]
const INTRINSICS: [&str; 60] = [
    "abs", "assume", "atan2", "bitreverse", "bswap", "canonicalize", "ceil", "copysign", "cos", "ctlz", "ctpop", "cttz",
    "exp", "exp2", "expect", "fabs", "floor", "fma", "fmuladd", "frexp", "fshl", "fshr", "genx", "is", "ldexp",
    "lifetime", "log", "log10", "log2", "masked", "maximum", "maxnum", "memcpy", "memmove", "memset", "minimum",
    "minnum", "nearbyint", "pow", "powi", "rint", "round", "roundeven", "sadd", "sin", "smax", "smin", "smul", "sqrt",
    "ssub", "stackrestore", "stacksave", "trap", "trunc", "uadd", "umax", "umin", "umul", "usub", "vector",
];

/// Whether an import that the runtime is not asked for ([`can_be_imported`]) is one that compilers of devices are known to define.
pub(crate) fn is_known(symbol: &str) -> bool {
    if let Some(intrinsic) = symbol.strip_prefix("llvm.") {
        return INTRINSICS.contains(&intrinsic.split('.').next().unwrap_or_default());
    }
    /// Functions that asserts call, and that make samplers.
    const OTHERS: [&str; 2] = ["__assert_fail", "__translate_sampler_initializer"];
    let plain = base_name(symbol).unwrap_or(symbol);
    let of_the_device = of_the_device(symbol) && !of_bfloat16(symbol);
    of_the_device || of_opencl_c(symbol) || OTHERS.contains(&plain) || plain.starts_with("__itt_offload_")
}

/// Whether a symbol is one of the functions that Intel's graphics compiler makes ray queries of (`rthwif` of Embree and
/// Open3D declares them); no compiler for CPUs has them.
pub(crate) fn of_ray_tracing(symbol: &str) -> bool {
    let families = ["intel_ray_query_", "intel_get_hit_", "intel_get_ray_"];
    families.iter().any(|family| symbol.starts_with(family))
        || ["intel_is_traversal_done", "intel_has_committed_hit"].contains(&symbol)
}

/// Whether a symbol is one of the functions by which code reaches instructions of Intel's GPUs past SPIR-V (`IGCBiF` of Intel's
/// graphics compiler declares them, CUTLASS for SYCL calls them); no other compiler has them.
pub(crate) fn of_intel_gpus(symbol: &str) -> bool {
    symbol.starts_with("__builtin_IB_")
}

/// Whether a symbol is an intrinsic of explicit SIMD, of which not all GPUs have all.
pub(crate) fn of_vectors(symbol: &str) -> bool {
    symbol.starts_with("llvm.genx.")
}

/// Whether one of these functions loads, stores or prefetches blocks of two dimensions.
pub(crate) fn of_block_loads(symbol: &str) -> bool {
    of_intel_gpus(symbol) && (symbol.contains("Block2D") || symbol.contains("block_read_") && symbol.contains("flat"))
}

/// Whether DPC++ would list a symbol that a module imports in "SYCL/imported symbols": intrinsics and names that begin with
/// two underscores, also those of mangled ones, are left out (`canBeImportedFunction` in DPC++
/// `llvm/lib/SYCLPostLink/ModuleSplitter.cpp`), as are functions that are not `SYCL_EXTERNAL`, such as those of OpenCL C.
pub(crate) fn can_be_imported(symbol: &str) -> bool {
    let plain = base_name(symbol).unwrap_or(symbol);
    !symbol.starts_with("llvm.") && !symbol.starts_with("__") && !plain.starts_with("__") && !of_opencl_c(symbol)
}

/// Whether a mangled name is that of a built-in function of OpenCL C (the OpenCL C 3.0 specification, 6.15, and Intel's
/// sub-group functions). A function of a program's own may have such a name too.
fn of_opencl_c(symbol: &str) -> bool {
    symbol == "printf" || base_name(symbol).is_some_and(opencl_c::is_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_defines_is_told_from_what_a_program_does() {
        let built_in = ["_Z10atomic_incPU3AS1Vi", "_Z3minii", "_Z26intel_sub_group_block_readPU3AS1Kj", "printf"];
        for own in built_in.into_iter().chain(["llvm.fshl.i32", "_Z21__spirv_AtomicFMinEXTPU3AS1fiif", "__assert_fail"])
        {
            assert!(!can_be_imported(own), "{own}");
        }
        for other in
            ["_Z3farf", "_ZN4acme3minEii", "min", "_Z", "_Z99min", "_Z99999999999999999999999min", "_Z3mi\u{e9}n"]
        {
            assert!(can_be_imported(other), "{other}");
        }
        assert!(of_ray_tracing("intel_get_hit_distance") && !of_ray_tracing("intel_sub_group_shuffle"));
        let load = "__builtin_IB_subgroup_createBlock2DAddressPayload";
        assert!(of_block_loads(load) && of_intel_gpus("__builtin_IB_sqrt") && !of_block_loads("__builtin_IB_sqrt"));
        assert!(of_the_device("_Z21__spirv_AtomicFMinEXTPU3AS1fiif") && !of_the_device("_Z3farf"));
        for known in [
            "__spirv_ConvertFToU_Ruint",
            "_Z17__spirv_ocl_s_absi",
            "__spirv_BuiltInGlobalInvocationId",
            "__devicelib_assert_fail",
            "__devicelib_cexpf",
            "__devicelib_sinf",
            "llvm.usub.sat.i32",
            "llvm.is.fpclass.f32",
            "llvm.genx.lsc.load.slm",
            "__assert_fail",
            "_Z3minii",
        ] {
            assert!(is_known(known) && !can_be_imported(known), "{known}");
        }
        for other in [
            "__bogus",
            "llvm.bogus",
            "__devicelib_bogus",
            "_Z13__spirv_Bogusv",
            "__spirv_",
            "__spirv_ocl_",
            "my__spirv_IAdd",
            "my_llvm.fma",
        ] {
            assert!(!is_known(other), "{other}");
        }
    }
}
