//! Which part of an image's native code does a device take, and how?
//!
//! A device takes one part, with its kernels alone, and what others have does not count. Intel's drivers go by what code states
//! and, in archives, by names of members ([`super`]).
//!
//! NVIDIA's driver goes by the headers of a fat binary's entries, which the names of parts tell, and reads the first fat binary of an
//! image alone: machine code of the GPU's generation first, else PTX, and of either the one for the highest architecture that is not
//! above the GPU's. What it takes it does not give up for another. Driver 13.0 on an H200 was seen to do so; of several entries of one
//! kind and architecture it takes the first, the last or the one for exactly this GPU (`sm_90a`), so that here any may be.
//!
//! HIP goes by the names of the entries of a bundle, and takes the first for the GPU; the loader then looks at the code's own flags.

use super::driver::Driver;
use super::{Native, Part, hsaco, intel_device};
use crate::bundle::format::Format;
use crate::device::target::Has;
use crate::limits;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Way in which a GPU runs the code of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Coverage {
    /// As it is.
    Native,
    /// From the SPIR-V inside, compiled when a program first needs it.
    Jit,
    /// Not at all: the driver refuses it.
    None,
}

impl Coverage {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coverage::Native => "native",
            Coverage::Jit => "jit",
            Coverage::None => "none",
        }
    }
}

/// Part of native code that a device takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken<'n> {
    /// One of these, in that way: mostly there is but one that it can be.
    Part(Coverage, Vec<&'n Part>),
    /// None: its driver refuses the code.
    Nothing,
    /// One that cannot be told.
    Unknown,
}

/// GPUs that take the code which ocloc makes for another.
const SHARED: [(&str, &str); 6] = [
    ("intel_gpu_acm_g11", "intel_gpu_acm_g10"),
    ("intel_gpu_acm_g12", "intel_gpu_acm_g10"),
    ("intel_gpu_mtl_h", "intel_gpu_mtl_u"),
    ("intel_gpu_bmg_g31", "intel_gpu_bmg_g21"),
    ("intel_gpu_lnl_m", "intel_gpu_bmg_g21"),
    ("intel_gpu_ptl_u", "intel_gpu_ptl_h"),
];

/// The GPU of which a GPU takes the code beside its own, by the names of the device configuration.
pub(crate) fn also_takes(gpu: &str) -> Option<&'static str> {
    SHARED.iter().find(|(own, _)| *own == gpu).map(|(_, other)| *other)
}

/// Whether a driver of a GPU takes code by what that states (`validateTargetDevice` of `zebin_decoder.cpp` in
/// intel/compute-runtime): the GMDID to the last bit, where there is one.
fn is_for(part: &Part, gpu: &str, driver: Driver) -> bool {
    let Some(code) = part.gmdid else { return part.devices.iter().any(|device| device == gpu) };
    let own = intel_device::gmdid_of_target(gpu, driver.revision);
    own.is_some_and(|own| own == code || driver.others && intel_device::is_taken_by(code, own))
}

/// Beginning of the name of an archive's member that holds the SPIR-V for all GPUs.
const GENERIC: &str = "generic_ir";

impl Native {
    /// Returns how an Intel GPU with such a driver runs the code, by the GPU's name in the device configuration. None for other
    /// devices, for code that is not Intel's GPUs', and where code of which the device is not known might be for this one.
    pub(crate) fn coverage(&self, gpu: &str, driver: Driver) -> Option<Coverage> {
        if !intel_device::is_known(gpu) {
            return None;
        }
        match self.on_intel(gpu, driver) {
            Taken::Part(coverage, _) => Some(coverage),
            Taken::Nothing => Some(Coverage::None),
            Taken::Unknown => None,
        }
    }

    /// Returns the part that a device takes the code or SPIR-V of, by the device's name in the device configuration; the driver is
    /// that of an Intel GPU.
    pub(crate) fn taken(&self, device: &str, driver: Driver) -> Taken<'_> {
        if intel_device::is_known(device) {
            return self.on_intel(device, driver);
        }
        match (device.strip_prefix("nvidia_gpu_sm_"), device.strip_prefix("amd_gpu_")) {
            (Some(own), _) => self.on_nvidia(own),
            (_, Some(own)) => self.on_amd(own),
            _ => Taken::Unknown,
        }
    }

    /// Returns what in the code that an Intel GPU takes its driver may refuse; where it is not known what it takes, in any.
    pub(crate) fn refused(&self, gpu: &str, driver: Driver) -> Option<&str> {
        let parts = match self.taken(gpu, driver) {
            Taken::Part(_, parts) => parts,
            Taken::Nothing => Vec::new(),
            Taken::Unknown => self.parts.iter().collect(),
        };
        parts.into_iter().find_map(|part| part.refused.as_deref())
    }

    fn on_intel(&self, gpu: &str, driver: Driver) -> Taken<'_> {
        let is_code = |part: &Part| matches!(part.format, Format::Zebin | Format::PatchTokens);
        if !self.parts.iter().any(is_code) {
            return Taken::Unknown;
        }
        let runs = |part: &&Part| is_code(part) && driver.takes(part) && is_for(part, gpu, driver);
        let is_open =
            |part: &Part| is_code(part) && driver.takes(part) && part.devices.is_empty() && part.gmdid.is_none();
        let compiled = |part: &&Part| part.format == Format::SpirV && !part.is_bare || part.spirv;
        if self.container != Some("ar") {
            if let Some(part) = self.parts.iter().find(runs) {
                return Taken::Part(Coverage::Native, vec![part]);
            }
            if let Some(part) = self.parts.iter().find(compiled) {
                return Taken::Part(Coverage::Jit, vec![part]);
            }
            // Code that could not be read may have been for this device.
            let whole = self.problems.is_empty() && !self.parts.iter().any(is_open);
            return if whole { Taken::Nothing } else { Taken::Unknown };
        }
        // The driver goes by the names of members alone: neither code that it would take from another GPU nor the SPIR-V beside
        // another's is found. Of the members that it finds it takes the first code for the GPU, else the first SPIR-V.
        let Some(names) = intel_device::member_names(gpu, driver.revision) else { return Taken::Unknown };
        let first = |name: &str| {
            let named = self.members().filter(|(_, own, _)| own.starts_with(name));
            named.map(|(member, ..)| member).min()
        };
        // By a member, and the place of the family, after whose stepping it is named.
        let by = |stepped: Option<(usize, usize)>| {
            let mut found = vec![first(&names.exact)];
            for (place, family) in names.families.iter().enumerate() {
                let stepped = stepped.filter(|(own, _)| *own == place).map(|(_, member)| member);
                found.extend([stepped, first(&names.release), first(family)]);
            }
            let mut source = None;
            for member in found.into_iter().flatten() {
                if self.unread.iter().any(|(unread, _)| *unread == member) {
                    return Taken::Unknown;
                }
                let members = || self.parts.iter().filter(|part| part.member == member);
                if let Some(part) = members().find(runs) {
                    return Taken::Part(Coverage::Native, vec![part]);
                }
                // Code of which the device is not known may be for this one.
                if members().any(is_open) {
                    return Taken::Unknown;
                }
                source = source.or_else(|| members().find(compiled));
            }
            // Of what is for all GPUs the driver asks for SPIR-V alone, and takes the code beside it all the same.
            let Some(generic) = first(GENERIC).filter(|_| source.is_none()) else {
                return source.map_or(Taken::Nothing, |part| Taken::Part(Coverage::Jit, vec![part]));
            };
            if self.unread.iter().any(|(unread, _)| *unread == generic) {
                return Taken::Unknown;
            }
            let generic = || self.parts.iter().filter(|part| part.member == generic).filter(compiled);
            match (generic().find(runs), generic().next()) {
                (Some(part), _) => Taken::Part(Coverage::Native, vec![part]),
                (None, Some(part)) => Taken::Part(Coverage::Jit, vec![part]),
                (None, None) => Taken::Nothing,
            }
        };
        // The stepping of a device is not known: members that are named after one may be found before others.
        let taken = by(None);
        for (place, family) in names.families.iter().enumerate() {
            let is_stepped = |name: &str| {
                let stepping = name.strip_prefix(family.as_str()).and_then(|rest| rest.strip_prefix('.'));
                stepping.is_some_and(|stepping| stepping.starts_with(|digit: char| digit.is_ascii_digit()))
            };
            let members = self.members().filter(|(_, own, _)| is_stepped(own)).map(|(member, ..)| member);
            let members: BTreeSet<usize> = members.collect();
            let differs = |member: &usize| by(Some((place, *member))) != taken;
            if members.len() > limits::MAX_STEPPINGS || members.iter().any(differs) {
                return Taken::Unknown;
            }
        }
        taken
    }

    /// The members of a list by number and name, each with its part where that could be read.
    fn members(&self) -> impl Iterator<Item = (usize, &str, Option<&Part>)> {
        let parts = self.parts.iter().map(|part| (part.member, part.name.as_str(), Some(part)));
        parts.chain(self.unread.iter().map(|(member, name)| (*member, name.as_str(), None)))
    }

    fn on_nvidia(&self, gpu: &str) -> Taken<'_> {
        let is_listed = self.container == Some("fatbin");
        let Some((own, _)) = architecture(gpu).filter(|_| is_listed || self.container.is_none()) else {
            return Taken::Unknown;
        };
        let (mut highest, mut taken, mut is_open) = (None, Vec::new(), false);
        for (_, name, part) in self.members().filter(|(member, ..)| !is_listed || *member == 1) {
            let entry = if is_listed { entry(name) } else { Some((true, own)) };
            let runs = part.map_or(Has::Unknown, |part| runs_on_nvidia(part, gpu));
            match entry {
                // An entry without a name may be any.
                None if name.is_empty() => return Taken::Unknown,
                // An entry of another kind may be taken where no other is.
                None => is_open = true,
                Some((is_code, number)) if number > own || is_code && generation(number) != generation(own) => {}
                // Code with features of another GPU is passed over.
                Some(_) if runs == Has::No => {}
                Some(entry) => {
                    if highest < Some(entry) {
                        (highest, taken) = (Some(entry), Vec::new());
                    }
                    if highest == Some(entry) {
                        taken.push(part.filter(|_| runs == Has::Yes));
                    }
                }
            }
        }
        match taken.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) if !parts.is_empty() => Taken::Part(Coverage::Native, parts),
            Some(_) if !is_open => self.nothing(),
            _ => Taken::Unknown,
        }
    }

    fn on_amd(&self, gpu: &str) -> Taken<'_> {
        if self.container == Some("offload-bundle") {
            return self.in_bundle_of_hip(gpu);
        }
        let runs = |part: &Part| runs_on_amd(part, gpu);
        // Of code for one GPU in several forms any may be taken.
        let taken: Vec<&Part> = self.parts.iter().filter(|part| runs(part) == Has::Yes).collect();
        match taken.is_empty() {
            false => Taken::Part(Coverage::Native, taken),
            true if self.parts.iter().all(|part| runs(part) == Has::No) => self.nothing(),
            true => Taken::Unknown,
        }
    }

    fn in_bundle_of_hip(&self, gpu: &str) -> Taken<'_> {
        let entries = self.members().filter_map(|(member, name, part)| Some((member, hip_target(name)?, part)));
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(member, ..)| *member);
        let (mut taken, mut is_found, mut is_open) = (Vec::new(), false, false);
        for (_, target, part) in entries {
            match is_amd_target(target, gpu) {
                Has::No => {}
                // The first counts.
                Has::Yes if is_found => {}
                Has::Yes => {
                    is_found = true;
                    let runs = part.map(|part| runs_on_amd(part, gpu));
                    if runs == Some(Has::No) {
                        return self.nothing();
                    }
                    taken.push(part.filter(|_| runs == Some(Has::Yes)));
                }
                // A GPU that is set so takes it in place of the other.
                Has::Unknown if target.split(':').next() == Some(gpu) => taken.push(part),
                Has::Unknown => is_open = true,
            }
        }
        match taken.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) if is_found => Taken::Part(Coverage::Native, parts),
            Some(parts) if parts.is_empty() && !is_open => self.nothing(),
            _ => Taken::Unknown,
        }
    }

    /// Nothing, where none of the parts runs: a part that could not be read may have been one that does.
    fn nothing(&self) -> Taken<'_> {
        if self.problems.is_empty() && !self.parts.is_empty() { Taken::Nothing } else { Taken::Unknown }
    }

    /// Returns how each known Intel GPU with such a driver runs the code, by its name; those that run nothing of it are left out.
    pub(crate) fn coverage_by_gpu(&self, driver: Driver) -> BTreeMap<String, Coverage> {
        let known = intel_device::targets_known();
        let covered = known.filter_map(|gpu| self.coverage(&gpu, driver).map(|coverage| (gpu, coverage)));
        covered.filter(|(_, coverage)| *coverage != Coverage::None).collect()
    }
}

/// The entry of a fat binary that a name of a part stands for: whether it is machine code, and its architecture. None for kinds
/// that are neither that nor PTX.
fn entry(name: &str) -> Option<(bool, u32)> {
    let (kind, number) = name.split_once(".sm_")?;
    let is_code = [("elf", true), ("ptx", false)].into_iter().find(|(known, _)| *known == kind)?.1;
    Some((is_code, number.parse().ok()?))
}

/// The number of an architecture, and the letter behind it.
pub(super) fn architecture(text: &str) -> Option<(u32, &str)> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

fn generation(architecture: u32) -> u32 {
    architecture / 10
}

/// GPUs on a chip with a CPU (Tegra), which run no machine code of others, and whose machine code no others run.
const ON_CHIP: [u32; 6] = [53, 62, 72, 87, 101, 110];

/// Whether code for an NVIDIA GPU, as it states that (`sm_90a`), runs on one (`90`): machine code on later GPUs of its
/// generation, PTX on all later ones, code with features of one architecture on that alone (CUDA C++ Programming Guide, "Binary
/// Compatibility").
fn runs_on_nvidia(part: &Part, gpu: &str) -> Has {
    let code = part.stated.strip_prefix("sm_");
    let (Some((number, suffix)), Some((own, _))) = (code.and_then(architecture), architecture(gpu)) else {
        return Has::Unknown;
    };
    if code == Some(gpu) {
        return Has::Yes;
    }
    let is_generation = own >= number
        && generation(own) == generation(number)
        && (own == number || !ON_CHIP.contains(&own) && !ON_CHIP.contains(&number));
    let runs = match suffix {
        "" if part.format == Format::Ptx => own >= number,
        // Features of a family of GPUs have an `f`.
        "" | "f" => is_generation,
        // The targets of the runtime name no such features: a GPU of that number has them.
        "a" => own == number,
        _ => return Has::Unknown,
    };
    if runs { Has::Yes } else { Has::No }
}

/// Whether code runs on an AMD GPU by what it states. Code object version 3 today's ROCm does not take, and older ones did.
fn runs_on_amd(part: &Part, gpu: &str) -> Has {
    match is_amd_target(&part.stated, gpu) {
        Has::Yes if part.version.as_deref() == Some(hsaco::VERSION_3) => Has::Unknown,
        runs => runs,
    }
}

/// Generic processors, and those that they stand for (LLVM's `AMDGPUUsage`, "Generic processors").
const GENERIC_PROCESSORS: [(&str, &[&str]); 7] = [
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
    ("gfx12-5-generic", &["gfx1250", "gfx1251"]),
];

/// Whether an AMD GPU is the target that an id names (`gfx90a:xnack+`). Not every runtime takes code for a generic processor, or AMD's
/// SPIR-V (`amdgcnspirv`), and a device may be set not to retry page faults.
pub(crate) fn is_amd_target(id: &str, gpu: &str) -> Has {
    let (processor, features) = id.split_once(':').unwrap_or((id, ""));
    if gpu == processor && !["xnack+", "sramecc-"].iter().any(|other| features.contains(other)) {
        return Has::Yes;
    }
    let is_of = |(name, members): &(&str, &[&str])| *name == processor && !members.contains(&gpu);
    let is_single = processor.starts_with("gfx") && !processor.ends_with("generic");
    let is_other = gpu != processor && is_single || GENERIC_PROCESSORS.iter().any(is_of);
    if is_other { Has::No } else { Has::Unknown }
}

/// The target of an entry of a bundle that HIP looks at; none of other entries. HIP goes by the names alone
/// (`lookUpCodeObject` of `comgr-metadata.cpp` in ROCm/llvm-project).
fn hip_target(entry: &str) -> Option<&str> {
    let mut words = entry.splitn(6, '-');
    let is_hip = ["hip", "hipv4", "hcc"].contains(&words.next()?);
    let is_amd = ["amdgcn", "spirv64"].contains(&words.next()?) && words.next()? == "amd" && words.next()? == "amdhsa";
    words.nth(1).filter(|_| is_hip && is_amd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::target::IpVersion;
    use crate::native::OldForm;

    fn part(format: Format, device: &str, spirv: bool) -> Part {
        let devices: Vec<String> = (!device.is_empty()).then(|| format!("intel_gpu_{device}")).into_iter().collect();
        let gmdid = devices.first().and_then(|device| intel_device::gmdid_of_target(device, None));
        Part { devices, spirv, gmdid, ..Part::new(format, 0) }
    }

    #[test]
    fn drivers_take_their_own_code_that_of_some_others_and_spirv() {
        let archive = |parts: Vec<Part>| Native {
            container: Some("ar"),
            parts: (1..).zip(parts).map(|(member, part)| Part { member, ..part }).collect(),
            ..Native::default()
        };
        let named = |name: &str, part: Part| Part { name: name.to_owned(), ..part };
        let alone = |part: Part| Native { parts: vec![part], ..Native::default() };
        let pvc = || named("64.12.60.7", part(Format::Zebin, "pvc", false));
        let bare = archive(vec![pvc(), named("64.20.1.4", part(Format::Zebin, "bmg_g21", false))]);
        let on = |native: &Native, gpu: &str| native.coverage(&format!("intel_gpu_{gpu}"), Driver::ANY);
        for (gpu, coverage) in [
            ("pvc", Coverage::Native),
            ("bmg_g21", Coverage::Native),
            ("bmg_g31", Coverage::None),
            ("lnl_m", Coverage::None),
            ("pvc_vg", Coverage::None),
            ("dg1", Coverage::None),
        ] {
            assert_eq!(on(&bare, gpu), Some(coverage), "{gpu}");
        }
        assert_eq!(bare.coverage("spir64_x86_64", Driver::ANY), None);
        for (spirv, without) in [(false, Coverage::None), (true, Coverage::Jit)] {
            let old = alone(part(Format::PatchTokens, "pvc", spirv));
            let bindless = Part { old_form: Some(OldForm::Bindless), ..part(Format::Zebin, "pvc", spirv) };
            let [zero, opencl] = Driver::NEWEST.map(|(_, driver)| driver);
            for (code, zero_takes) in [(old, false), (alone(bindless), true)] {
                assert_eq!(code.coverage("intel_gpu_pvc", Driver::ANY), Some(Coverage::Native));
                let expected = if zero_takes { Coverage::Native } else { without };
                assert_eq!(code.coverage("intel_gpu_pvc", zero), Some(expected));
                assert_eq!(code.coverage("intel_gpu_pvc", opencl), Some(without));
            }
        }
        let generic = archive(vec![pvc(), named(GENERIC, part(Format::SpirV, "", false))]);
        assert_eq!((on(&generic, "pvc"), on(&generic, "dg1")), (Some(Coverage::Native), Some(Coverage::Jit)));
        let inside = alone(part(Format::Zebin, "acm_g10", true));
        assert_eq!((on(&inside, "acm_g12"), on(&inside, "mtl_u")), (Some(Coverage::Native), Some(Coverage::Jit)));
        let member = |name: &str| Part { name: format!("64.{name}"), ..part(Format::Zebin, "acm_g10", true) };
        for (name, gpu, coverage) in [
            ("12.55.8", "acm_g10", Coverage::Native),
            ("12.55.8", "acm_g12", Coverage::None),
            ("12.57.0", "acm_g12", Coverage::Native),
            ("12.57.0", "mtl_u", Coverage::None),
            ("12.55.80", "acm_g10", Coverage::Native),
            ("dg2", "acm_g10", Coverage::Native),
            ("acm-g10", "acm_g10", Coverage::None),
            ("xe-hpg", "acm_g10", Coverage::None),
        ] {
            assert_eq!(on(&archive(vec![member(name)]), gpu), Some(coverage), "{name} on {gpu}");
        }
        for name in ["32.12.55.8", "x.12.55.8", "12.55.8"] {
            assert_eq!(on(&archive(vec![named(name, member(""))]), "acm_g10"), Some(Coverage::None), "{name}");
        }
        assert_eq!(on(&archive(vec![named("64.pvc", part(Format::Zebin, "", false))]), "pvc"), None);
        assert_eq!(on(&archive(vec![part(Format::Cubin, "", false)]), "pvc"), None);
        // The first member of a name counts, the exact version before others; what it lacks the next may have.
        let taken = |parts: Vec<Part>| {
            let native = archive(parts);
            match native.taken("intel_gpu_acm_g10", Driver::ANY) {
                Taken::Part(how, parts) => Some((how, parts.first().map(|part| part.member))),
                Taken::Nothing => Some((Coverage::None, None)),
                Taken::Unknown => None,
            }
        };
        let other = |name: &str, spirv| named(name, part(Format::Zebin, "pvc", spirv));
        let ours = |name: &str| named(name, part(Format::Zebin, "acm_g10", false));
        let spirv = || named(GENERIC, part(Format::SpirV, "", false));
        for (parts, expected) in [
            (vec![other("64.12.55.8", false), ours("64.12.55.8")], (Coverage::None, None)),
            (vec![other("64.12.55.8a", false), ours("64.12.55.8")], (Coverage::None, None)),
            (vec![other("64.12.55.8", true), ours("64.dg2")], (Coverage::Native, Some(2))),
            (vec![other("64.12.60.7", true), spirv()], (Coverage::Jit, Some(2))),
            (vec![other("64.12.60.7", true), other("64.12.55.8", true)], (Coverage::Jit, Some(2))),
            (vec![spirv(), other("64.dg2", true)], (Coverage::Jit, Some(2))),
            (vec![ours("64.dg2"), ours("64.12.55.4"), ours("64.12.55.8")], (Coverage::Native, Some(3))),
        ] {
            assert_eq!(taken(parts.clone()), Some(expected), "{parts:?}");
        }
        // Of what is for all GPUs drivers take the SPIR-V in a container, and no code without it.
        let module = || Part { is_bare: true, ..spirv() };
        let generic = |part: Part| named(GENERIC, part);
        for (parts, expected) in [
            (vec![other("64.12.60.7", false), module()], (Coverage::None, None)),
            (vec![other("64.12.60.7", false), generic(ours(""))], (Coverage::None, None)),
            (
                vec![other("64.12.60.7", false), generic(part(Format::Zebin, "acm_g10", true))],
                (Coverage::Native, Some(2)),
            ),
            (vec![other("64.12.60.7", false), generic(part(Format::Zebin, "pvc", true))], (Coverage::Jit, Some(2))),
        ] {
            assert_eq!(taken(parts.clone()), Some(expected), "{parts:?}");
        }
        // Members that are named after a stepping may be found before others, where it is the device's.
        assert_eq!(taken(vec![ours("64.dg2"), ours("64.dg2.8")]), None);
        assert_eq!(taken(vec![ours("64.dg2.8"), ours("64.12.55")]), None);
        assert_eq!(taken(vec![ours("64.dg2.8"), ours("64.12.55.8")]), Some((Coverage::Native, Some(2))));
        assert_eq!(taken(vec![ours("64.dg2.8")]), Some((Coverage::Native, Some(1))));
        assert_eq!(taken(vec![ours("64.dg2"), other("64.dg2.x", false)]), Some((Coverage::Native, Some(1))));
        // Two families' drivers look for a member of another family, too.
        let relative = |name: &str| archive(vec![named(name, part(Format::Zebin, "bmg_g21", false))]);
        assert_eq!(on(&relative("64.bmg"), "lnl_m"), Some(Coverage::Native));
        assert_eq!(on(&relative("64.20.1.0"), "lnl_m"), Some(Coverage::None));
        let cut = Native { unread: vec![(1, "64.12.55.8".to_owned())], ..archive(vec![pvc(), ours("64.dg2")]) };
        assert_eq!(on(&cut, "acm_g10"), None);
        assert_eq!(bare.coverage_by_gpu(Driver::ANY).len(), 2);
        let listed = alone(part(Format::Zebin, "bmg_g21", false)).coverage_by_gpu(Driver::ANY);
        assert_eq!(listed.len(), 3, "{listed:?}");
        assert_eq!(listed["intel_gpu_lnl_m"], Coverage::Native);
    }

    /// Each was seen with driver 26.27, OpenCL and Level Zero, but for other revisions of GPUs than those that ocloc compiles for.
    #[test]
    fn drivers_take_code_for_their_own_revision_and_what_is_listed() {
        let code = |gmdid: u32| {
            let devices = intel_device::of_gmdid(gmdid);
            Native {
                parts: vec![Part { devices, gmdid: Some(gmdid), ..Part::new(Format::Zebin, 0) }],
                ..Native::default()
            }
        };
        let number = |text: &str| IpVersion::parse(text).unwrap().gmdid();
        let live = |revision| Driver { revision: Some(revision), ..Driver::ANY };
        let old = Driver { others: false, ..Driver::ANY };
        for (version, gpu, driver, runs) in [
            ("12.60.7", "pvc", Driver::ANY, true),
            ("12.60.0", "pvc", Driver::ANY, false),
            ("12.60.5", "pvc", Driver::ANY, false),
            ("12.60.6", "pvc", Driver::ANY, false),
            ("12.60.5", "pvc", live(5), true),
            ("12.60.7", "pvc", live(5), false),
            ("12.61.7", "pvc", Driver::ANY, false),
            ("12.55.8", "acm_g10", Driver::ANY, true),
            ("12.55.1", "acm_g10", Driver::ANY, false),
            ("12.55.8", "acm_g11", Driver::ANY, true),
            ("12.55.8", "acm_g11", old, false),
            ("12.55.4", "acm_g11", Driver::ANY, false),
            ("12.70.0", "mtl_u", Driver::ANY, false),
            ("12.70.4", "mtl_h", Driver::ANY, true),
            ("12.70.0", "mtl_h", Driver::ANY, false),
            ("12.71.0", "mtl_h", Driver::ANY, false),
            ("20.1.0", "bmg_g21", Driver::ANY, true),
            ("20.1.1", "bmg_g21", Driver::ANY, true),
            ("20.1.4", "bmg_g21", Driver::ANY, true),
            ("20.1.0", "bmg_g21", live(4), false),
            ("20.1.0", "bmg_g31", Driver::ANY, true),
            ("20.1.4", "lnl_m", Driver::ANY, true),
            ("20.1.0", "lnl_m", live(0), false),
            ("20.4.0", "lnl_m", Driver::ANY, false),
            ("30.0.4", "ptl_u", Driver::ANY, true),
            ("30.1.0", "ptl_u", Driver::ANY, true),
            ("30.0.0", "ptl_h", Driver::ANY, false),
            ("30.0.0", "ptl_u", Driver::ANY, false),
        ] {
            let expected = if runs { Coverage::Native } else { Coverage::None };
            assert_eq!(
                code(number(version)).coverage(&format!("intel_gpu_{gpu}"), driver),
                Some(expected),
                "{version} on {gpu}"
            );
        }
        // Every bit counts, also those that are of no number.
        assert_eq!(code(number("12.60.7") | 1 << 8).coverage("intel_gpu_pvc", Driver::ANY), Some(Coverage::None));
        // Of code that tells its family alone, the lists of others do not count.
        let family = |number| Part { devices: intel_device::of_family(number), ..Part::new(Format::Zebin, 0) };
        for (number, gpu, expected) in [(1274, "lnl_m", Coverage::None), (1274, "bmg_g31", Coverage::Native)] {
            let native = Native { parts: vec![family(number)], ..Native::default() };
            assert_eq!(native.coverage(&format!("intel_gpu_{gpu}"), Driver::ANY), Some(expected));
        }
        for (gpu, other) in SHARED {
            let [own, other] = [gpu, other].map(|name| intel_device::gmdid_of_target(name, None).unwrap());
            assert!(intel_device::is_taken_by(other, own), "{gpu}");
        }
    }

    /// Each was seen with driver 13.0 on an H200, but for `sm_103`.
    #[test]
    fn nvidias_driver_takes_an_entry_by_its_header() {
        let entry = |name: &str, stated: &str, member: usize| {
            let format = if name.starts_with("ptx") { Format::Ptx } else { Format::Cubin };
            Part { name: name.to_owned(), stated: stated.to_owned(), member, ..Part::new(format, 0) }
        };
        let fat = |parts: &[(&str, &str)]| Native {
            container: Some("fatbin"),
            parts: parts.iter().map(|(name, stated)| entry(name, stated, 1)).collect(),
            ..Native::default()
        };
        let names = |native: &Native, gpu: &str| match native.taken(&format!("nvidia_gpu_{gpu}"), Driver::ANY) {
            Taken::Part(_, parts) => Some(parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>()),
            Taken::Nothing => Some(Vec::new()),
            Taken::Unknown => None,
        };
        let (code, text) = (("elf.sm_90", "sm_90"), ("ptx.sm_90", "sm_90"));
        let (old, own) = (("elf.sm_80", "sm_80"), ("elf.sm_90", "sm_90a"));
        let odd = ("elf.sm_90", "sm_80 (in an entry for sm_90)");
        for (parts, gpu, expected) in [
            (&[code, text][..], "sm_90", Some(&["elf.sm_90"][..])),
            (&[text, code], "sm_90", Some(&["elf.sm_90"])),
            (&[old, text], "sm_90", Some(&["ptx.sm_90"])),
            (&[old], "sm_90", Some(&[])),
            (&[old, ("elf.sm_86", "sm_86")], "sm_89", Some(&["elf.sm_86"])),
            (&[code, own], "sm_90", Some(&["elf.sm_90", "elf.sm_90"])),
            (&[old], "sm_87", Some(&[])),
            (&[("elf.sm_87", "sm_87")], "sm_87", Some(&["elf.sm_87"])),
            (&[("elf.sm_87", "sm_87"), ("ptx.sm_87", "sm_87")], "sm_89", Some(&["ptx.sm_87"])),
            (&[odd, text], "sm_90", None),
            (&[odd], "sm_80", Some(&[])),
            (&[("elf.sm_100", "sm_100a"), ("ptx.sm_100", "sm_100")], "sm_103", Some(&["ptx.sm_100"])),
            (&[("other.sm_90", "sm_90")], "sm_90", None),
            (&[("other.sm_90", "sm_90"), ("ptx.sm_80", "sm_80")], "sm_90", Some(&["ptx.sm_80"])),
        ] {
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            assert_eq!(names(&fat(parts), gpu), expected, "{parts:?} on {gpu}");
        }
        // Entries that could not be read may be taken, where they come before those that were.
        for (name, is_known) in
            [("ptx.sm_90", true), ("elf.sm_80", true), ("other.sm_90", true), ("elf.sm_90", false), ("", false)]
        {
            let native = Native { unread: vec![(1, name.to_owned())], ..fat(&[code]) };
            assert_eq!(names(&native, "sm_90").is_some(), is_known, "{name}");
        }
        let mut second = fat(&[code]);
        second.parts.push(entry("elf.sm_90", "sm_90", 2));
        assert_eq!(names(&second, "sm_90").map(|parts| parts.len()), Some(1));
    }

    /// Names of entries as clang writes them, in bundles of HIP.
    #[test]
    fn hip_takes_an_entry_by_its_name() {
        let bundle = |parts: &[(&str, &str)]| Native {
            container: Some("offload-bundle"),
            parts: (1..)
                .zip(parts)
                .map(|(member, (name, stated))| Part {
                    name: (*name).to_owned(),
                    stated: (*stated).to_owned(),
                    member,
                    ..Part::new(Format::Hsaco, 0)
                })
                .collect(),
            ..Native::default()
        };
        let members = |native: &Native| match native.taken("amd_gpu_gfx90a", Driver::ANY) {
            Taken::Part(_, parts) => Some(parts.iter().map(|part| part.member).collect::<Vec<_>>()),
            Taken::Nothing => Some(Vec::new()),
            Taken::Unknown => None,
        };
        let own = "hipv4-amdgcn-amd-amdhsa--gfx90a";
        let other = "hipv4-amdgcn-amd-amdhsa--gfx1030";
        for (parts, expected) in [
            (&[(own, "gfx90a")][..], Some(&[1][..])),
            (&[("hip-amdgcn-amd-amdhsa-unknown-gfx90a", "gfx90a")], Some(&[1])),
            (&[(other, "gfx1030"), (own, "gfx90a"), (own, "gfx90a")], Some(&[2])),
            // HIP does not look at the code, and the loader does not look for another entry.
            (&[(other, "gfx90a")], Some(&[])),
            (&[("openmp-amdgcn-amd-amdhsa--gfx90a", "gfx90a")], Some(&[])),
            (&[("hipv4-nvptx64-nvidia-cuda--sm_90", "gfx90a")], Some(&[])),
            (&[("hipv4-amdgcn-amd-amdhsa", "gfx90a")], Some(&[])),
            (&[(own, "gfx1030"), (own, "gfx90a")], Some(&[])),
            (&[(own, "gfx9-4-generic")], Some(&[])),
            (&[(own, "gfx13-generic")], None),
            (&[("hip-spirv64-amd-amdhsa--amdgcnspirv", "")], None),
            // Whether page faults are retried is the user's choice.
            (
                &[
                    ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+"),
                    ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a:xnack-"),
                ],
                Some(&[1, 2]),
            ),
            (&[("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+")], None),
        ] {
            assert_eq!(members(&bundle(parts)).as_deref(), expected, "{parts:?}");
        }
        let mut cut = bundle(&[(own, "gfx90a")]);
        for (member, is_known) in [(2, true), (0, false)] {
            cut.unread = vec![(member, own.to_owned())];
            assert_eq!(members(&cut).is_some(), is_known);
        }
        let mut old = bundle(&[(own, "gfx90a")]);
        old.parts[0].version = Some(hsaco::VERSION_3.to_owned());
        assert_eq!(members(&old), None);
    }
}
