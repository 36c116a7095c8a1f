//! Which targets are meant by the numbers that Intel's device binaries carry?
//!
//! Three kinds of numbers, from exact to coarse: the product configuration, which is the GMDID of the device (bits 31-22
//! architecture, 21-14 release, 5-0 revision); `PRODUCT_FAMILY`; `GFXCORE_FAMILY`. The latter two are of
//! `inc/common/igfxfmid.h` in intel/intel-graphics-compiler, the GMDIDs those of `device_architecture.def` in
//! intel/llvm. A target is all revisions of a GPU; a driver takes the code for its own revision alone, and what Intel lists
//! beside. Of a GPU that is asked about by its name that is the one for which ocloc compiles by this name (20.1.0 for `bmg_g21`,
//! which is 20.1.4 in that list).

use crate::device::table::table;

/// The first architecture of GPUs that Intel's driver of today is for: Xe.
pub(super) const XE: u32 = 12;

/// Target, architecture and release, product family.
const TARGETS: [(&str, u32, u32, u32); 35] = [
    ("bdw", 8, 0, 16),
    ("skl", 9, 0, 18),
    ("kbl", 9, 1, 19),
    ("cfl", 9, 2, 20),
    ("apl", 9, 3, 22),
    ("glk", 9, 4, 23),
    ("whl", 9, 5, 20),
    ("aml", 9, 6, 19),
    ("cml", 9, 7, 20),
    ("icllp", 11, 0, 26),
    ("ehl", 11, 2, 28),
    ("tgllp", 12, 0, 29),
    ("rkl", 12, 1, 30),
    ("adl_s", 12, 2, 31),
    ("adl_p", 12, 3, 32),
    ("adl_n", 12, 4, 33),
    ("dg1", 12, 10, 1210),
    ("acm_g10", 12, 55, 1270),
    ("acm_g11", 12, 56, 1270),
    ("acm_g12", 12, 57, 1270),
    ("pvc", 12, 60, 1271),
    ("pvc_vg", 12, 61, 1271),
    ("mtl_u", 12, 70, 1272),
    ("mtl_h", 12, 71, 1272),
    ("arl_h", 12, 74, 1273),
    ("bmg_g21", 20, 1, 1274),
    ("bmg_g31", 20, 2, 1274),
    ("lnl_m", 20, 4, 1275),
    ("ptl_h", 30, 0, 1300),
    ("ptl_u", 30, 1, 1300),
    ("wcl", 30, 3, 1300),
    ("nvl_s", 30, 4, 1340),
    ("nvl_u", 30, 5, 1340),
    ("nvl_p", 35, 10, 1360),
    ("cri", 35, 11, 1380),
];

/// `GFXCORE_FAMILY` and the product families that have such cores.
const CORES: [(u32, &str, &[u32]); 13] = [
    (11, "Gen8", &[16]),
    (12, "Gen9", &[18, 19, 20, 22, 23]),
    (13, "Gen10", &[]),
    (15, "Gen11", &[26, 28]),
    (16, "Gen11 LP", &[26, 28]),
    (17, "Gen12", &[]),
    (18, "Gen12 LP", &[29, 30, 31, 32, 33, 1210]),
    (0x0c05, "Xe HP", &[]),
    (0x0c07, "Xe HPG", &[1270, 1272, 1273]),
    (0x0c08, "Xe HPC", &[1271]),
    (0x0c09, "Xe2", &[1274, 1275]),
    (0x1e00, "Xe3", &[1300, 1340]),
    (0x2300, "Xe3P", &[1360, 1380]),
];

/// Revisions for which ocloc compiles by a GPU's name (`deviceAcronyms` of `platforms.h` in intel/compute-runtime), where that is not
/// the first of the device configuration.
const REVISIONS: [(&str, u8); 4] = [("bmg_g21", 0), ("ptl_u", 0), ("wcl", 1), ("nvl_p", 4)];

/// GMDIDs of code, each with those of other GPUs that take it (`compatibilityMapping` of that file).
const TAKEN_BY: [(u32, &[u32]); 6] = [
    (version(12, 55, 8), &[version(12, 56, 5), version(12, 57, 0)]),
    (version(12, 70, 4), &[version(12, 71, 4)]),
    (version(20, 1, 0), &[version(20, 2, 0), version(20, 4, 4)]),
    (version(20, 1, 1), &[version(20, 1, 0), version(20, 2, 0), version(20, 4, 4)]),
    (version(20, 1, 4), &[version(20, 1, 0), version(20, 2, 0), version(20, 4, 4)]),
    (version(30, 0, 4), &[version(30, 1, 0), version(30, 3, 1), version(30, 4, 4), version(30, 5, 4)]),
];

const fn version(architecture: u32, release: u32, revision: u32) -> u32 {
    architecture << 22 | release << 14 | revision
}

fn target_of_short_name(short: &str) -> Option<&'static (&'static str, u32, u32, u32)> {
    TARGETS.iter().find(|(name, ..)| *name == short)
}

/// The GMDID of a target: of that revision, or where none is told, of the one that is meant by the name.
pub(super) fn gmdid_of_target(target: &str, revision: Option<u8>) -> Option<u32> {
    let short = target.strip_prefix("intel_gpu_")?;
    let (_, architecture, release, _) = target_of_short_name(short)?;
    let by_name = || {
        let versions = table().target(target).map(|known| known.ip_versions.as_slice()).unwrap_or_default();
        let own = REVISIONS.iter().find(|(name, _)| *name == short).map(|(_, revision)| *revision);
        own.or(versions.first().map(|version| version.revision)).unwrap_or(0)
    };
    Some(version(*architecture, *release, revision.unwrap_or_else(by_name).into()))
}

/// Whether GPUs of one GMDID take code for another beside their own.
pub(super) fn is_taken_by(code: u32, gpu: u32) -> bool {
    TAKEN_BY.iter().any(|(own, others)| *own == code && others.contains(&gpu))
}

fn targets(wanted: impl Fn(u32, u32, u32) -> bool) -> Vec<String> {
    let found = TARGETS.iter().filter(|(_, architecture, release, family)| wanted(*architecture, *release, *family));
    found.map(|(name, ..)| format!("intel_gpu_{name}")).collect()
}

/// The names of all targets.
pub(crate) fn targets_known() -> impl Iterator<Item = String> {
    TARGETS.iter().map(|(name, ..)| format!("intel_gpu_{name}"))
}

/// Whether a target is one of them.
pub(crate) fn is_known(target: &str) -> bool {
    target.strip_prefix("intel_gpu_").is_some_and(|name| TARGETS.iter().any(|(known, ..)| *known == name))
}

/// The target of a GMDID.
pub(crate) fn of_gmdid(gmdid: u32) -> Vec<String> {
    targets(|architecture, release, _| (architecture, release) == (gmdid >> 22, gmdid >> 14 & 0xff))
}

/// A GMDID as `ocloc` writes it.
pub(crate) fn gmdid(gmdid: u32) -> String {
    format!("{}.{}.{}", gmdid >> 22, gmdid >> 14 & 0xff, gmdid & 0x3f)
}

/// The targets of a product family.
pub(crate) fn of_family(family: u32) -> Vec<String> {
    targets(|_, _, of| of == family)
}

/// The targets of a core family.
pub(crate) fn of_core(core: u32) -> Vec<String> {
    let families = CORES.iter().find(|(number, ..)| *number == core).map_or(&[][..], |(_, _, families)| *families);
    targets(|_, _, family| families.contains(&family))
}

/// A core family by name.
pub(crate) fn core(core: u32) -> String {
    match CORES.iter().find(|(number, ..)| *number == core) {
        Some((_, name, _)) => format!("core family {name}"),
        None => format!("core family {core:#x}"),
    }
}

/// Whether a device as `ocloc` names it is older than Xe: then its driver takes patch tokens to its end.
pub(crate) fn is_before_xe(device: &str) -> bool {
    if let Some(architecture) = device.split_once('.').and_then(|(first, _)| first.parse::<u32>().ok()) {
        return architecture < XE;
    }
    let old = targets(|architecture, _, _| architecture < XE);
    let own = of_name(device);
    !own.is_empty() && own.iter().all(|target| old.contains(target))
}

/// The short names of product families, by which members of archives may be named (`abbreviation` of `hw_info_*.cpp` in
/// intel/compute-runtime).
const ABBREVIATIONS: [(u32, &str); 24] = [
    (16, "bdw"),
    (18, "skl"),
    (19, "kbl"),
    (20, "cfl"),
    (22, "bxt"),
    (23, "glk"),
    (26, "icllp"),
    (28, "ehl"),
    (29, "tgllp"),
    (30, "rkl"),
    (31, "adls"),
    (32, "adlp"),
    (33, "adln"),
    (1210, "dg1"),
    (1270, "dg2"),
    (1271, "pvc"),
    (1272, "mtl"),
    (1273, "arl"),
    (1274, "bmg"),
    (1275, "lnl"),
    (1300, "ptl"),
    (1340, "nvls"),
    (1360, "nvlp"),
    (1380, "cri"),
];

/// Short names of families by which a driver looks for members once it found none by its own
/// (`getCompatibilityFallbackProductAbbreviations` of `product_config_helper.cpp` there).
const FALLBACKS: [(&str, &str); 2] = [("lnl", "bmg"), ("mtl", "arl")];

/// Beginnings of names by which a driver looks for its member of an archive (`searchForBinary` in
/// `device_binary_format_ar.cpp` of intel/compute-runtime). Its programs have 64 bits.
pub(super) struct MemberNames {
    /// The architecture, release and revision: it is looked for first.
    pub(super) exact: String,
    /// The architecture and release.
    pub(super) release: String,
    /// Families. Before the release it looks for the first with the stepping of the device behind it.
    pub(super) families: Vec<String>,
}

/// The names for the driver of a target, of that revision.
pub(super) fn member_names(target: &str, revision: Option<u8>) -> Option<MemberNames> {
    let (_, architecture, release, family) = target_of_short_name(target.strip_prefix("intel_gpu_")?)?;
    let own = ABBREVIATIONS.iter().find(|(number, _)| number == family).map(|(_, name)| *name);
    let other = FALLBACKS.iter().find(|(name, _)| Some(*name) == own).map(|(_, other)| *other);
    Some(MemberNames {
        exact: format!("64.{}", gmdid(gmdid_of_target(target, revision)?)),
        release: format!("64.{architecture}.{release}"),
        families: own.into_iter().chain(other).map(|name| format!("64.{name}")).collect(),
    })
}

/// The targets of a device as `ocloc` names it in an archive: `12.55.8`, `bmg`, `acm-g10`, `dg2`, `xe-hpg`.
pub(crate) fn of_name(name: &str) -> Vec<String> {
    let mut numbers = name.split('.').map(|number| number.parse::<u32>().ok());
    if let (Some(Some(architecture)), Some(Some(release))) = (numbers.next(), numbers.next()) {
        return targets(|a, r, _| (a, r) == (architecture, release));
    }
    let name = name.replace('-', "_");
    let exact: Vec<String> =
        TARGETS.iter().filter(|(known, ..)| *known == name).map(|(known, ..)| format!("intel_gpu_{known}")).collect();
    if !exact.is_empty() {
        return exact;
    }
    match name.as_str() {
        "bmg" => of_family(1274),
        "dg2" | "acm" => of_family(1270),
        "mtl" => of_family(1272),
        "arl" => of_family(1273),
        "lnl" => of_family(1275),
        "ptl" => of_family(1300),
        "gen8" => of_core(11),
        "gen9" => of_core(12),
        "gen11" => of_core(16),
        "gen12lp" => of_core(18),
        "xe_hpg" | "xe_lpg" => of_core(0x0c07),
        "xe_hpc" => of_core(0x0c08),
        "xe2" => of_core(0x0c09),
        "xe3" => of_core(0x1e00),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_to_targets() {
        // As ocloc 26.27 wrote them for bmg, lnl-m, ptl-h, mtl-h, acm-g11 and tgllp.
        for (number, name) in [
            (0x0500_4000, "bmg_g21"),
            (0x0501_0004, "lnl_m"),
            (0x0780_0004, "ptl_h"),
            (0x0311_c004, "mtl_h"),
            (0x030e_0005, "acm_g11"),
            (0x0300_0000, "tgllp"),
        ] {
            assert_eq!(of_gmdid(number), [format!("intel_gpu_{name}")]);
        }
        assert_eq!(gmdid(0x030e_0005), "12.56.5");
        assert_eq!(of_family(1270).len(), 3);
        assert_eq!(of_core(12).len(), 8);
        assert_eq!(of_name("12.60.7"), ["intel_gpu_pvc"]);
        assert_eq!(of_name("acm-g10"), ["intel_gpu_acm_g10"]);
        assert_eq!(of_name("bmg").len(), 2);
        let old = ["bdw", "skl", "gen9", "gen11", "ehl", "9.0.9", "11.1.0"];
        assert!(old.into_iter().all(is_before_xe));
        assert!(!["tgllp", "gen12lp", "dg2", "bmg", "12.0.0", "20.1.0", "generic_ir"].into_iter().any(is_before_xe));
        for (name, revision, expected) in [
            ("pvc", None, "12.60.7"),
            ("pvc", Some(5), "12.60.5"),
            ("bmg_g21", None, "20.1.0"),
            ("bmg_g21", Some(4), "20.1.4"),
            ("ptl_u", None, "30.1.0"),
            ("lnl_m", None, "20.4.4"),
        ] {
            let own = gmdid_of_target(&format!("intel_gpu_{name}"), revision).unwrap();
            assert_eq!(gmdid(own), expected);
        }
        assert!(of_name("generic_ir").is_empty() && of_family(0).is_empty() && of_gmdid(0).is_empty());
    }
}
