//! Which instruction set is native CPU code compiled for, and which one was a binary compiled for?
//!
//! Intel's OpenCL CPU driver compiles for the set that `CL_CONFIG_CPU_TARGET_ARCH` names when its context is made; by
//! default for the machine's own. It refuses a binary for a newer set than the machine's with -42, and after it
//! has loaded one for an older set also those for a newer. Hence one portable baseline for everything, [`CpuArch::Avx2`].
//!
//! Names: `--march` of opencl-aot (opencl/opencl-aot/source/main.cpp in intel/llvm) and the CPU names of clang's
//! `--offload-arch`. Measured on the drivers 2025.3.1 and 2026.2.0: of all these the variable takes only the nine
//! values of [`CpuArch::driver_name`]; any other, or none, makes `clCreateContext` fail with -2 and every build after it.

use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use strsim::levenshtein;

/// An instruction set that the driver compiles for, oldest first: code for one runs where a later one is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuArch {
    /// SSE 4.2.
    Sse42,
    /// AVX.
    Avx,
    /// AVX2.
    Avx2,
    /// AVX-512 of Skylake servers.
    Avx512,
    /// AVX-512 of Cascade Lake.
    CascadeLake,
    /// AVX-512 of Ice Lake clients.
    IceLakeClient,
    /// AVX-512 of Ice Lake servers.
    IceLakeServer,
    /// AVX-512 of Sapphire Rapids.
    SapphireRapids,
    /// AVX-512 of Granite Rapids.
    GraniteRapids,
}

use CpuArch::{Avx, Avx2, Avx512, CascadeLake, GraniteRapids, IceLakeClient, IceLakeServer, SapphireRapids, Sse42};

/// Instruction set that is compiled for where the user names none.
pub(crate) const DEFAULT: CpuArch = Avx2;

/// All sets, oldest first.
const ALL: [CpuArch; 9] =
    [Sse42, Avx, Avx2, Avx512, CascadeLake, IceLakeClient, IceLakeServer, SapphireRapids, GraniteRapids];

/// Every name accepted. opencl-aot's first, in its order; then those of `--offload-arch` that differ.
const NAMES: [(&str, CpuArch); 31] = [
    ("sse4.2", Sse42),
    ("avx", Avx),
    ("avx2", Avx2),
    ("avx512", Avx512),
    ("wsm", Sse42),
    ("snb", Avx),
    ("ivyb", Avx),
    ("bdw", Avx2),
    ("cfl", Avx2),
    ("adl", Avx2),
    ("skylake", Avx2),
    ("skx", Avx512),
    ("clk", CascadeLake),
    ("icl", IceLakeClient),
    ("icx", IceLakeServer),
    ("spr", SapphireRapids),
    ("gnr", GraniteRapids),
    ("corei7", Sse42),
    ("corei7-avx", Avx),
    ("core-avx2", Avx2),
    ("westmere", Sse42),
    ("sandybridge", Avx),
    ("ivybridge", Avx),
    ("broadwell", Avx2),
    ("coffeelake", Avx2),
    ("alderlake", Avx2),
    ("cascadelake", CascadeLake),
    ("icelake-client", IceLakeClient),
    ("icelake-server", IceLakeServer),
    ("sapphirerapids", SapphireRapids),
    ("graniterapids", GraniteRapids),
];

impl CpuArch {
    /// The set of this name, whatever its case; `native` is that of this machine.
    ///
    /// # Errors
    /// `Usage` where there is none, with the nearest.
    pub fn parse(name: &str) -> Result<CpuArch> {
        let lower = name.to_ascii_lowercase();
        if lower == "native" {
            let unknown = || Error::new(ErrorKind::Usage, "this machine has none of the CPU driver's instruction sets");
            return CpuArch::native().ok_or_else(unknown);
        }
        if let Some((_, arch)) = NAMES.iter().find(|(known, _)| *known == lower) {
            return Ok(*arch);
        }
        let nearest = NAMES.iter().map(|(known, _)| (levenshtein(&lower, known), *known)).min();
        let error = Error::new(ErrorKind::Usage, format!("`{name}` is no instruction set that the CPU driver knows"));
        Err(match nearest {
            Some((distance, known)) if distance <= 2 && !lower.is_empty() => {
                error.with_remedy(format!("did you mean `{known}`?"))
            }
            _ => error.with_remedy(format!("one of {}", Self::names().collect::<Vec<_>>().join(", "))),
        })
    }

    /// The newest set that this machine surely has; the driver's own choice may be a newer one.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn native() -> Option<CpuArch> {
        macro_rules! has {
            ($($feature:tt)*) => { [$(std::arch::is_x86_feature_detected!($feature)),*].into_iter().all(|has| has) };
        }
        let avx512 = has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
        let ice_lake = has!("avx512vbmi" "avx512vbmi2" "avx512ifma" "avx512bitalg" "avx512vpopcntdq" "avx512vnni");
        match () {
            () if avx512 && ice_lake => Some(IceLakeClient),
            () if avx512 && has!("avx512vnni") => Some(CascadeLake),
            () if avx512 => Some(Avx512),
            () if has!("avx2" "fma" "bmi1" "bmi2") => Some(Avx2),
            () if has!("avx") => Some(Avx),
            () if has!("sse4.2") => Some(Sse42),
            () => None,
        }
    }

    /// None: the driver is for x86-64 alone.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn native() -> Option<CpuArch> {
        None
    }

    /// Every name that [`CpuArch::parse`] takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// The name in reports: opencl-aot's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Sse42 => "sse4.2",
            Avx => "avx",
            Avx2 => "avx2",
            Avx512 => "avx512",
            CascadeLake => "clk",
            IceLakeClient => "icl",
            IceLakeServer => "icx",
            SapphireRapids => "spr",
            GraniteRapids => "gnr",
        }
    }

    /// The value of `CL_CONFIG_CPU_TARGET_ARCH`. Never empty: an empty value breaks every build.
    pub(crate) fn driver_name(self) -> &'static str {
        match self {
            Sse42 => "corei7",
            Avx => "corei7-avx",
            Avx2 => "core-avx2",
            Avx512 => "skx",
            CascadeLake => "cascadelake",
            IceLakeClient => "icelake-client",
            IceLakeServer => "icelake-server",
            SapphireRapids => "sapphirerapids",
            GraniteRapids => "graniterapids",
        }
    }

    /// The set that a binary of Intel's OpenCL CPU driver was compiled for.
    ///
    /// The container that `CL_PROGRAM_BINARIES` gives is an ELF64 file of type 0xff04 for x86-64 with sections
    /// `.ocl.ir`, `.ocl.meta`, `.ocl.obj` and `.ocl.ver`. Its `e_flags` count the sets from 1, `corei7`, to 9,
    /// `graniterapids`: so found by compiling a module for each with the drivers 2025.3.1 and 2026.2.0.
    pub(crate) fn of_binary(binary: &[u8]) -> Option<CpuArch> {
        let header = binary.first_chunk::<64>()?;
        let at = |start: usize, end: usize| header.get(start..end);
        if at(0, 6)? != b"\x7fELF\x02\x01" || at(16, 20)? != [0x04, 0xff, 62, 0] {
            return None;
        }
        let flags = u32::from_le_bytes(at(48, 52)?.try_into().ok()?);
        let place = usize::try_from(flags.checked_sub(1)?).ok()?;
        ALL.get(place).copied()
    }
}

impl fmt::Display for CpuArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_cover_every_set() {
        for (place, (name, arch)) in NAMES.iter().enumerate() {
            assert_eq!(CpuArch::parse(name).unwrap(), *arch);
            assert!(NAMES.iter().skip(place + 1).all(|(other, _)| other != name), "{name} twice");
        }
        for arch in ALL {
            assert_eq!(CpuArch::parse(arch.name()).unwrap(), arch);
            assert_eq!(CpuArch::parse(arch.driver_name()).unwrap(), arch);
        }
        assert!(ALL.is_sorted());
        assert_eq!(CpuArch::parse("AVX512").unwrap(), Avx512);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn native_is_a_set_of_this_machine() {
        let native = CpuArch::parse("native").unwrap();
        assert_eq!(native >= Avx2, std::arch::is_x86_feature_detected!("avx2"));
        assert_eq!(native >= Avx512, std::arch::is_x86_feature_detected!("avx512vl"));
    }

    #[test]
    fn a_typo_gets_a_suggestion_and_nonsense_the_list() {
        let remedy = |name| CpuArch::parse(name).unwrap_err().remedy().unwrap().to_owned();
        assert_eq!(remedy("icelake-sever"), "did you mean `icelake-server`?");
        assert_eq!(remedy("avx-2"), "did you mean `avx2`?");
        assert!(remedy("quantum").starts_with("one of sse4.2, avx, avx2"));
        assert!(remedy("").starts_with("one of"));
    }

    #[test]
    fn the_set_is_read_from_the_drivers_container_only() {
        // The header of a module compiled with CL_CONFIG_CPU_TARGET_ARCH=core-avx2, driver 2026.2.0.
        let mut header = [0; 64];
        header[..16].copy_from_slice(b"\x7fELF\x02\x01\0\0\0\0\0\0\0\0\0\0");
        header[16..20].copy_from_slice(&[0x04, 0xff, 62, 0]);
        header[48] = 3;
        assert_eq!(CpuArch::of_binary(&header), Some(Avx2));
        for (flags, expected) in [(0, None), (1, Some(Sse42)), (9, Some(GraniteRapids)), (10, None)] {
            header[48] = flags;
            assert_eq!(CpuArch::of_binary(&header), expected);
        }
        header[48] = 3;
        assert_eq!(CpuArch::of_binary(&header[..63]), None);
        header[16] = 3;
        assert_eq!(CpuArch::of_binary(&header), None);
    }
}
