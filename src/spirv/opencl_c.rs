//! Which functions has OpenCL C?
//!
//! Compilers of devices have them by their mangled names (Itanium C++ ABI, 5.1.2), which begin with no namespace. The names are those of
//! the OpenCL C 3.0 specification, 6.15, and of Intel's sub-group functions.

/// Prefixes of families of functions.
#[rustfmt::skip]
const FAMILIES: [&str; 14] = [
    "async_work_group_", "atom_", "atomic_", "convert_", "get_image_", "half_", "intel_sub_group_", "native_",
    "read_image", "sub_group_", "vload", "vstore", "work_group_", "write_image",
];

/// All other functions, in order.
#[rustfmt::skip]
const NAMES: [&str; 151] = [
    "abs", "abs_diff", "acos", "acosh", "acospi", "add_sat", "all", "any", "asin", "asinh", "asinpi", "atan",
    "atan2", "atan2pi", "atanh", "atanpi", "barrier", "bitselect", "cbrt", "ceil", "clamp", "clz", "copysign", "cos",
    "cosh", "cospi", "cross", "ctz", "degrees", "distance", "dot", "dot_4x8packed_ss_int", "dot_4x8packed_su_int",
    "dot_4x8packed_us_int", "dot_4x8packed_uu_uint", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs",
    "fast_distance", "fast_length", "fast_normalize", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fract",
    "frexp", "get_enqueued_local_size", "get_enqueued_num_sub_groups", "get_fence", "get_global_id",
    "get_global_linear_id", "get_global_offset", "get_global_size", "get_group_id", "get_local_id",
    "get_local_linear_id", "get_local_size", "get_max_sub_group_size", "get_num_groups", "get_num_sub_groups",
    "get_sub_group_id", "get_sub_group_local_id", "get_sub_group_size", "get_work_dim", "hadd", "hypot", "ilogb",
    "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf", "isless", "islessequal", "islessgreater", "isnan",
    "isnormal", "isnotequal", "isordered", "isunordered", "ldexp", "length", "lgamma", "lgamma_r", "log", "log10",
    "log1p", "log2", "logb", "mad", "mad24", "mad_hi", "mad_sat", "max", "maxmag", "mem_fence", "min", "minmag",
    "mix", "modf", "mul24", "mul_hi", "nan", "nextafter", "normalize", "popcount", "pow", "pown", "powr", "prefetch",
    "radians", "read_mem_fence", "remainder", "remquo", "rhadd", "rint", "rootn", "rotate", "round", "rsqrt",
    "select", "shuffle", "shuffle2", "sign", "signbit", "sin", "sincos", "sinh", "sinpi", "smoothstep", "sqrt",
    "step", "sub_sat", "tan", "tanh", "tanpi", "tgamma", "to_global", "to_local", "to_private", "trunc", "upsample",
    "wait_group_events", "write_mem_fence",
];

/// Whether OpenCL C has a function of a name that is not mangled.
pub(crate) fn is_function(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family)) || is_name(name)
}

/// Whether a name is that of a function of no family.
pub(crate) fn is_name(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

/// Returns the name of a function of no namespace out of its mangled name.
pub(crate) fn base_name(symbol: &str) -> Option<&str> {
    mangled(symbol).map(|(name, _)| name)
}

/// Divides the mangled name of a function of no namespace into its name and the types of its parameters.
pub(crate) fn mangled(symbol: &str) -> Option<(&str, &str)> {
    let rest = symbol.strip_prefix("_Z")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = rest.split_at_checked(digits)?;
    rest.split_at_checked(length.parse().ok()?)
}

/// Counts the parameters of mangled types that functions of OpenCL C may have: numbers, vectors of them, and pointers. None for others,
/// which are in namespaces, or have names.
pub(crate) fn parameters(types: &str) -> Option<usize> {
    if types == "v" {
        return Some(0);
    }
    let mut count = 0usize;
    let mut rest = types;
    while !rest.is_empty() {
        // `PU3AS1Kf` is a pointer to constant floats in global memory.
        rest = rest.trim_start_matches(['P', 'K', 'V']);
        if let Some(behind) = rest.strip_prefix("U3AS") {
            rest = behind.get(1..)?;
            continue;
        }
        // `Dv4_f` is a vector of four, `Dh` a half, `S_` and `S0_` what stood before.
        if let Some(vector) = rest.strip_prefix("Dv") {
            rest = vector.trim_start_matches(|digit: char| digit.is_ascii_digit()).strip_prefix('_')?;
        }
        let known = rest.strip_prefix('S').and_then(|rest| Some(rest.split_once('_')?.1));
        rest = match known.or_else(|| rest.strip_prefix("Dh")) {
            Some(rest) => rest,
            None => rest.strip_prefix(|letter: char| "cahstijlmfd".contains(letter))?,
        };
        count = count.saturating_add(1);
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_by_their_names() {
        assert!(NAMES.is_sorted());
        assert_eq!(mangled("_Z3maxii"), Some(("max", "ii")));
        assert!(["_Z", "_Z9max", "max", "_ZN1a3maxEii"].iter().all(|name| mangled(name).is_none()));
        for (types, count) in
            [("ii", 2), ("Dv4_fS_S0_", 3), ("PU3AS1Kim", 2), ("DhDh", 2), ("PKc", 1), ("v", 0), ("", 0)]
        {
            assert_eq!(parameters(types), Some(count), "{types}");
        }
        assert!(["4unit", "N4sycl3vecE", "Ddd", "z", "P", "Dv4", "S"].iter().all(|types| parameters(types).is_none()));
        assert!(is_function("max") && is_function("vload4") && !is_function("largest"));
    }
}
