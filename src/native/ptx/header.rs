//! Which `.version` of PTX knows which `.target`?
//!
//! The tables are what `ptxas` 12.9 and 13.5 take, tried one by one.

/// Version of the PTX ISA: major and minor number.
pub(super) type Version = (u32, u32);

/// The highest minor number of each version of the PTX ISA, up to that of `ptxas` 13.5.
const MINORS: [Version; 7] = [(3, 2), (4, 3), (5, 1), (6, 5), (7, 8), (8, 8), (9, 5)];

/// The oldest version that compilers of today write: older ones lack some of what is read here.
const OLDEST: Version = (3, 2);

/// GPUs with the versions of the PTX ISA that know them: since this one, up to that one.
const TARGETS: [(&str, Version, Version); 40] = {
    const ANY: Version = (u32::MAX, 0);
    [
        ("sm_20", (2, 0), ANY),
        ("sm_21", (2, 0), ANY),
        ("sm_30", (3, 0), ANY),
        ("sm_32", (4, 0), ANY),
        ("sm_35", (3, 1), ANY),
        ("sm_37", (4, 1), ANY),
        ("sm_50", (4, 0), ANY),
        ("sm_52", (4, 1), ANY),
        ("sm_53", (4, 2), ANY),
        ("sm_60", (5, 0), ANY),
        ("sm_61", (5, 0), ANY),
        ("sm_62", (5, 0), ANY),
        ("sm_70", (6, 0), ANY),
        ("sm_72", (6, 1), ANY),
        ("sm_75", (6, 3), ANY),
        ("sm_80", (7, 0), ANY),
        ("sm_86", (7, 1), ANY),
        ("sm_87", (7, 4), ANY),
        ("sm_88", (9, 0), ANY),
        ("sm_89", (7, 8), ANY),
        ("sm_90", (7, 8), ANY),
        ("sm_90a", (8, 0), ANY),
        ("sm_100", (8, 6), ANY),
        ("sm_100a", (8, 6), ANY),
        ("sm_100f", (8, 8), ANY),
        // CUDA 13 calls this GPU `sm_110`.
        ("sm_101", (8, 6), (8, 8)),
        ("sm_101a", (8, 6), (8, 8)),
        ("sm_101f", (8, 8), (8, 8)),
        ("sm_103", (8, 8), ANY),
        ("sm_103a", (8, 8), ANY),
        ("sm_103f", (8, 8), ANY),
        ("sm_110", (9, 0), ANY),
        ("sm_110a", (9, 0), ANY),
        ("sm_110f", (9, 0), ANY),
        ("sm_120", (8, 7), ANY),
        ("sm_120a", (8, 7), ANY),
        ("sm_120f", (8, 8), ANY),
        ("sm_121", (8, 8), ANY),
        ("sm_121a", (8, 8), ANY),
        ("sm_121f", (8, 8), ANY),
    ]
};

/// Returns a version that is known, in the only form in which it is written.
pub(super) fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let is_known = MINORS.iter().any(|(major, last)| *major == version.0 && version.1 <= *last);
    (is_known && version >= OLDEST && format!("{}.{}", version.0, version.1) == text).then_some(version)
}

/// Whether a version of the PTX ISA knows a GPU.
pub(super) fn is_known(target: &str, version: Version) -> bool {
    TARGETS.iter().any(|(known, since, until)| *known == target && (*since..=*until).contains(&version))
}
