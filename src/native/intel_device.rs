//! Which targets are meant by the numbers that Intel's device binaries carry?
//!
//! Three kinds of numbers, from exact to coarse: the product configuration, which is the GMDID of the device (bits 31-22
//! architecture, 21-14 release, 5-0 revision); `PRODUCT_FAMILY`; `GFXCORE_FAMILY`. The latter two are of
//! `inc/common/igfxfmid.h` in intel/intel-graphics-compiler, the GMDIDs those of `device_architecture.def` in
//! intel/llvm. A compiler may state another revision than that list does (20.1.0 for `bmg_g21`, which is 20.1.4
//! there), so the revision does not count.

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

/// The short names of product families, by which members of archives may be named (`abbreviation` of `hw_info_*.inl` in
/// intel/compute-runtime).
const ABBREVIATIONS: [(u32, &str); 21] = [
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
];

/// The beginnings of names by which a driver of a target looks for its member of an archive, in the driver's order: the first
/// member of each counts (`searchForBinary` in `device_binary_format_ar.cpp` of intel/compute-runtime). Its programs have 64 bits.
pub(super) fn member_names(target: &str) -> Option<Vec<String>> {
    let short = target.strip_prefix("intel_gpu_")?;
    let (_, architecture, release, family) = TARGETS.iter().find(|(name, ..)| *name == short)?;
    // Of a GPU that is asked about by its name the revision is that of the device configuration.
    let versions = table().target(target).map(|known| known.ip_versions.as_slice()).unwrap_or_default();
    let revision = versions.first().map_or(0, |version| version.revision);
    let release = format!("64.{architecture}.{release}");
    let platform = ABBREVIATIONS.iter().find(|(number, _)| number == family).map(|(_, name)| format!("64.{name}"));
    let mut names = vec![format!("{release}.{revision}")];
    names.extend(platform.as_ref().map(|platform| format!("{platform}.{revision}")));
    names.push(release);
    names.extend(platform);
    Some(names)
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
        assert!(of_name("generic_ir").is_empty() && of_family(0).is_empty() && of_gmdid(0).is_empty());
    }
}
