//! Does a GPU have the intrinsics of explicit SIMD that a module calls?
//!
//! Names and their first GPUs are those of `Intrinsic_definitions.py` in intel/vc-intrinsics (2026-06). Where that names no GPU, each
//! function of DPC++'s `esimd.hpp` was built by Intel's driver 26.27 for seven GPUs, from Tiger Lake to Panther Lake.

use super::Fit;
use super::format::named;
use super::intel_gpu::{has_matrices, is_dg2_or_newer, loads_blocks};
use crate::compat::finding::RuleId;
use crate::device::target::{IpVersion, Target};
use crate::spirv::Module;

/// Prefix of the intrinsics.
const PREFIX: &str = "llvm.genx.";

/// GPUs that have an intrinsic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owners {
    All,
    /// DG2 and newer.
    Dg2,
    /// GPUs that load blocks of two dimensions: Ponte Vecchio and all since Xe2.
    Blocks,
    /// GPUs that load such blocks, and perhaps DG2 and its kin, for which the driver builds what DPC++'s documentation has for the others alone.
    BlocksOrDg2,
    /// GPUs that load such blocks, among those since Tiger Lake; of older ones it is not known.
    BlocksSinceTigerLake,
    /// GPUs that multiply matrices.
    Matrices,
    /// GPUs that multiply matrices with half the execution width.
    NarrowMatrices,
    /// All but DG2 and its kin up to Arrow Lake.
    NotDg2,
    /// GPUs of an architecture and newer.
    Since(u16),
}

/// First words of names of intrinsics that all GPUs have, in order.
#[rustfmt::skip]
const NAMES: [&str; 156] = [
    "3d", "absf", "absi", "add", "add3", "add3c", "addc", "address", "all", "alloca", "any", "avs", "barrier", "bf",
    "bfi", "bfn", "bfrev", "cache", "cbit", "ce0", "constantf", "constanti", "constantpred", "convert", "cos", "dp2",
    "dp3", "dp4", "dph", "dummy", "dword", "exp", "faddr", "fbl", "fence", "fmax", "fmin", "fptosi", "fptoui", "frc",
    "gaddr", "gather", "gather4", "get", "group", "inv", "jump", "lane", "line", "load", "local", "log", "lrp", "lzd",
    "media", "output", "oword", "pln", "pow", "predefined", "print", "r0", "raw", "rdpredregion", "rdregionf",
    "rdregioni", "read", "rndd", "rnde", "rndu", "rndz", "rol", "ror", "rsqrt", "sample", "sat", "sbarrier", "sbfe",
    "scatter", "scatter4", "set", "sfbh", "simad", "simdcf", "sin", "slm", "smadw", "smax", "smin", "smulh", "sqrt",
    "sr0", "ssad2", "ssadd", "ssadd3", "ssavg", "ssdp4a", "ssmad", "ssmul", "sssad2add", "ssshl", "sstrunc", "suadd",
    "suadd3", "suavg", "subb", "sudp4a", "sumad", "sumul", "susad2add", "sushl", "sutrunc", "svm", "thread",
    "timestamp", "transpose", "typed", "ubfe", "ufbh", "uimad", "umadw", "umax", "umin", "umulh", "unmask", "untyped",
    "usad2", "usadd", "usadd3", "usavg", "usdp4a", "usmad", "usmul", "ussad2add", "usshl", "ustrunc", "uuadd",
    "uuadd3", "uuavg", "uudp4a", "uumad", "uumul", "uusad2add", "uushl", "uutrunc", "va", "vload", "vstore", "wait",
    "wrconstregion", "write", "wrpredpredregion", "wrpredregion", "wrregionf", "wrregioni", "yield",
];

/// Returns the GPUs that have an intrinsic, by its name behind the prefix; none where nothing is known of it.
fn owners(name: &str) -> Option<Owners> {
    let words: Vec<&str> = name.split('.').collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_type = |word: &&&str| word.starts_with(['v', 'i', 'f']) && word.ends_with(|end: char| end.is_ascii_digit());
    // Types of the result and of operands stand behind the name.
    let types: Vec<&str> = words.iter().skip(1).filter(is_type).copied().collect();
    let is_wide = types.first().is_some_and(|first| first.ends_with("i64"));
    Some(match (word(0), word(1), word(2)) {
        ("lsc", "load2d" | "store2d" | "prefetch2d", "stateless") | ("lsc", _, "2d") => Owners::BlocksOrDg2,
        ("lsc", ..) if words.contains(&"typed") => Owners::Since(20),
        ("lsc", "atomic" | "xatomic", "slm") if is_wide => Owners::Blocks,
        ("lsc", ..) => Owners::Dg2,
        // The result and what is added may be half or bfloat16.
        ("dpas" | "dpas2", ..) if types.iter().take(2).any(|kind| kind.ends_with("f16") || kind.ends_with("i16")) => {
            Owners::Blocks
        }
        ("dpas" | "dpas2", ..) => Owners::Matrices,
        ("dpasw", ..) => Owners::NarrowMatrices,
        ("nbarrier" | "srnd" | "tf32", ..) => Owners::Blocks,
        // GPUs that have double have these of it.
        ("ieee", ..) if types.first().is_some_and(|first| first.ends_with("f64")) => Owners::All,
        ("ieee", ..) => Owners::BlocksSinceTigerLake,
        ("rol" | "ror", ..) if is_wide => Owners::BlocksSinceTigerLake,
        ("ssshl" | "sushl" | "usshl" | "uushl", ..) if is_wide => Owners::NotDg2,
        ("biased", "rounding", "bf8") | ("qf" | "hf8", ..) => Owners::Since(30),
        ("biased" | "bdpas" | "mxfp" | "lfsr" | "packed" | "4bit", ..) | ("raw", "sendg", _) => Owners::Since(35),
        (first, ..) if NAMES.binary_search(&first).is_ok() => Owners::All,
        _ => return None,
    })
}

/// Whether a GPU is one of those; none where it is not known.
fn is_one(ip: &IpVersion, owners: Owners) -> Option<bool> {
    let is_dg2 = ip.architecture == 12 && ip.release >= 55 && !loads_blocks(ip);
    Some(match owners {
        Owners::All => true,
        Owners::Dg2 => is_dg2_or_newer(ip),
        Owners::Blocks => loads_blocks(ip),
        Owners::BlocksOrDg2 if is_dg2 => return None,
        Owners::BlocksOrDg2 => loads_blocks(ip),
        Owners::BlocksSinceTigerLake if ip.architecture < 12 => return None,
        Owners::BlocksSinceTigerLake => loads_blocks(ip),
        Owners::Matrices => has_matrices(ip) != [false; 2],
        Owners::NarrowMatrices => has_matrices(ip) == [true, false],
        Owners::NotDg2 => !is_dg2,
        Owners::Since(architecture) => ip.architecture >= architecture,
    })
}

/// Checks the intrinsics that a module imports.
pub(super) fn check(module: &Module, target: &Target, fit: &mut Fit) {
    let Some(ip) = target.ip_versions.first() else { return };
    let gpu = &target.name;
    let (mut lacking, mut open) = (Vec::new(), Vec::new());
    for symbol in &module.imports {
        let Some(name) = symbol.strip_prefix(PREFIX) else { continue };
        match owners(name).and_then(|owners| is_one(ip, owners)) {
            Some(true) => {}
            Some(false) => lacking.push(symbol.clone()),
            None => open.push(symbol.clone()),
        }
    }
    if let Some(names) = named(&lacking) {
        fit.reason(RuleId::Capability, format!("The module calls {names}, for other GPUs than {gpu}."));
    }
    if let Some(names) = named(&open) {
        fit.gap(RuleId::Capability, format!("The module calls {names}; whether {gpu} has that is not known."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn has(gpu: &str, name: &str) -> Option<bool> {
        let target = device::table().target(gpu).unwrap();
        owners(name).and_then(|owners| is_one(&target.ip_versions[0], owners))
    }

    #[test]
    fn intrinsics_are_of_the_gpus_that_build_them() {
        assert!(NAMES.is_sorted());
        const GPUS: [&str; 7] = ["tgllp", "acm_g10", "mtl_h", "arl_h", "pvc", "bmg_g21", "ptl_h"];
        // 1 for each of these that the driver builds it for.
        for (name, built) in [
            ("dpas2.v128f32.v128f32.v128i32.v64i32", [0, 1, 0, 1, 1, 1, 1]),
            ("dpas.nosrc0.v128f32.v128i32.v64i32", [0, 1, 0, 1, 1, 1, 1]),
            ("dpas2.v128f16.v128f16.v128i32.v64i32", [0, 0, 0, 0, 1, 1, 1]),
            ("dpas2.v128f32.v128f16.v128i32.v64i32", [0, 0, 0, 0, 1, 1, 1]),
            ("dpas2.v128i16.v128i16.v128i32.v64i32", [0, 0, 0, 0, 1, 1, 1]),
            ("nbarrier.arrive", [0, 0, 0, 0, 1, 1, 1]),
            ("srnd.v8f16.v8f32.v8i16", [0, 0, 0, 0, 1, 1, 1]),
            ("tf32.cvt.v16i32.v16f32", [0, 0, 0, 0, 1, 1, 1]),
            ("ieee.div.v8f32", [0, 0, 0, 0, 1, 1, 1]),
            ("ieee.div.v8f64", [1; 7]),
            ("rol.v8i64.v8i64", [0, 0, 0, 0, 1, 1, 1]),
            ("rol.v8i32.v8i32", [1; 7]),
            ("sushl.v8i64.v8i64", [1, 0, 0, 0, 1, 1, 1]),
            ("lsc.xatomic.slm.v8i64.v8i1.v8i32", [0, 0, 0, 0, 1, 1, 1]),
            ("lsc.load.merge.slm.v16i32.v16i1.v16i32", [0, 1, 1, 1, 1, 1, 1]),
            ("rdregioni.v8i16.v16i16.i16", [1; 7]),
            ("raw.send2.v16i32.i1.v16i32", [1; 7]),
        ] {
            let expected = built.map(|built| Some(built == 1));
            assert_eq!(GPUS.map(|gpu| has(&format!("intel_gpu_{gpu}"), name)), expected, "{name}");
        }
        assert_eq!(has("intel_gpu_pvc", "bogus.v8i32"), None);
        assert_eq!(has("intel_gpu_skl", "ror.v8i64.v8i64"), None);
        let block = "lsc.load2d.stateless.v128i32.i1.i64";
        let on = |gpu: &str| has(gpu, block);
        assert_eq!(
            ["tgllp", "acm_g10", "pvc"].map(|gpu| on(&format!("intel_gpu_{gpu}"))),
            [Some(false), None, Some(true)]
        );
    }
}
