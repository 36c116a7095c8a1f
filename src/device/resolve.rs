//! Which targets does this spelling mean?
//!
//! Everybody's spelling is taken: DPC++'s names and aliases (`intel_gpu_acm_g10`, `intel_gpu_12_55_8`), ocloc's acronyms,
//! versions, PCI ids, groups and ranges (`acm-g10`, `12.55.8`, `0x56a0`, `xe-hpg`, `dg1:acm-g10`), patterns (`bmg*`), names
//! under which GPUs are sold (`Arc A770`), the architectures of CUDA and HIP (`sm_90`, `gfx90a`), triples, and names of CPUs
//! and their instruction sets (`avx2`, `skx`).

use super::cpu::CpuArch;
use super::did_you_mean;
use super::table::{TargetTable, normal, short_name};
use super::target::IpVersion;
use super::target::Target;
use crate::error::{Error, ErrorKind, Reporter, Result};

/// The targets that a spelling stands for.
#[derive(Debug, Clone)]
pub struct Resolution<'t> {
    /// The targets, at least one.
    pub targets: Vec<&'t Target>,
    /// The family, where the spelling names one.
    pub family: Option<String>,
    /// The instruction set, where the spelling names one of CPUs.
    pub march: Option<CpuArch>,
    /// Remark for the user about how the spelling was taken.
    pub note: Option<String>,
}

impl<'t> Resolution<'t> {
    fn from_targets(targets: Vec<&'t Target>) -> Resolution<'t> {
        Resolution { targets, family: None, march: None, note: None }
    }
}

/// The target of native CPU code.
const CPU: &str = "spir64_x86_64";

impl TargetTable {
    /// The targets that a spelling means.
    ///
    /// # Errors
    /// `Usage` where it means none, with the names that are near.
    pub fn resolve(&self, spelling: &str) -> Result<Resolution<'_>> {
        let text = spelling.trim();
        if let Some((first, last)) = range(text) {
            return self.range(text, first, last);
        }
        self.one(text)
    }

    fn one(&self, text: &str) -> Result<Resolution<'_>> {
        if let Some((targets, family)) = self.named(text) {
            let mut found = Resolution::from_targets(targets);
            found.family = family.map(|family| family.name.clone());
            if let (Ok(march), [target]) = (CpuArch::parse(text), found.targets.as_slice()) {
                found.note = (target.name != CPU).then(|| {
                    format!(
                        "`{text}` is taken for {}; the CPU's instruction set of this name is `{}`",
                        target.name,
                        march.driver_name()
                    )
                });
            }
            return Ok(found);
        }
        if let Some(found) = self.number(text).or_else(|| self.version(text)) {
            return found;
        }
        if let (Ok(march), Some(target)) = (CpuArch::parse(text), self.target(CPU)) {
            return Ok(Resolution { march: Some(march), ..Resolution::from_targets(vec![target]) });
        }
        if let Some(found) = self.pattern(text).or_else(|| self.product(text)) {
            return found;
        }
        self.triple(text).or_else(|| self.hip(text)).map_or_else(|| Err(self.unknown(text)), Ok)
    }

    /// `intel_gpu_*`, `bmg*`, `acm-g1?`: all targets with such a name or alias, in full or short.
    fn pattern(&self, text: &str) -> Option<Result<Resolution<'_>>> {
        if !text.contains(['*', '?']) {
            return None;
        }
        let wanted = normal(text);
        let named = |name: &str| {
            let name = normal(name);
            let short = short_name(&name).is_some_and(|short| is_like(short.as_bytes(), wanted.as_bytes()));
            short || is_like(name.as_bytes(), wanted.as_bytes())
        };
        let is_meant = |one: &&Target| named(&one.name) || one.aliases.iter().any(|alias| named(alias));
        let targets: Vec<&Target> = self.targets().iter().filter(is_meant).collect();
        let none =
            || usage(format!("no target is named like `{text}`")).with_remedy("`sycl-bundle targets` lists them");
        Some(if targets.is_empty() { Err(none()) } else { Ok(Resolution::from_targets(targets)) })
    }

    /// `Arc A770`, `Intel(R) Arc(TM) A770 Graphics`, `A770`: the GPU that is sold so, by the whole name or some of its
    /// words in a row.
    fn product(&self, text: &str) -> Option<Result<Resolution<'_>>> {
        let wanted = product_words(text);
        if !wanted.iter().any(|word| word.contains(|letter: char| letter.is_ascii_alphabetic())) {
            return None;
        }
        let sold = |whole: bool| {
            let like = |name: &&String| {
                let words = product_words(name);
                if whole { words == wanted } else { words.windows(wanted.len()).any(|part| part == wanted) }
            };
            let one = |target| {
                let target: &Target = target;
                Some((target, target.product_names.iter().find(like)?))
            };
            self.targets().iter().filter_map(one).collect::<Vec<(&Target, &String)>>()
        };
        let exact = sold(true);
        let found = if exact.is_empty() { sold(false) } else { exact };
        match found.as_slice() {
            [] => None,
            [(target, _)] => Some(Ok(Resolution::from_targets(vec![*target]))),
            several => {
                let names: Vec<String> =
                    several.iter().map(|(target, name)| format!("{} ({name})", target.name)).collect();
                let error = usage(format!("several GPUs are sold as `{}`", text.escape_debug()));
                Some(Err(error.with_remedy(format!("name one of them: {}", names.join(", ")))))
            }
        }
    }

    /// `0x56a0`: a PCI device id up to 16 bits, a GMDID up to 32, else the runtime's number of an architecture. A plain
    /// number is a GMDID, as ocloc takes it.
    fn number(&self, text: &str) -> Option<Result<Resolution<'_>>> {
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
            Some(_) => None,
            None if text.len() > 5 && text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            None => None,
        }?;
        let all = |test: &dyn Fn(&Target) -> bool| self.targets().iter().filter(|target| test(target)).collect();
        let (what, targets): (&str, Vec<&Target>) = if let Ok(id) = u16::try_from(number) {
            ("PCI device id", all(&|target| target.pci_device_ids.contains(&id)))
        } else if let Ok(gmdid) = u32::try_from(number) {
            ("GMDID", all(&|target| target.ip_versions.contains(&IpVersion::of_gmdid(gmdid))))
        } else {
            ("architecture id", all(&|target| target.architecture_id == Some(number)))
        };
        if !targets.is_empty() {
            return Some(Ok(Resolution::from_targets(targets)));
        }
        let error = usage(format!("no target has {what} {text}"));
        Some(Err(error.with_remedy("`--device-config FILE` adds targets; `sycl-bundle targets` lists those known")))
    }

    /// `12.55.8`, `12_55_8`, and `12.55` for all its revisions.
    fn version(&self, text: &str) -> Option<Result<Resolution<'_>>> {
        let text = text.strip_prefix("intel_gpu_").unwrap_or(text);
        let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
        if !numeric || !text.contains(['.', '_']) {
            return None;
        }
        let exact = IpVersion::parse(text);
        let release = || IpVersion::parse(&format!("{text}.0")).map(|ip| (ip.architecture, ip.release));
        let matches = |ip: &IpVersion| match exact {
            Some(exact) => *ip == exact,
            None => release() == Some((ip.architecture, ip.release)),
        };
        let targets: Vec<&Target> = self.targets().iter().filter(|one| one.ip_versions.iter().any(matches)).collect();
        if !targets.is_empty() {
            return Some(Ok(Resolution::from_targets(targets)));
        }
        let error = usage(format!("no target has IP version {text}"));
        let same = |one: &&Target| {
            let wanted = exact.map(|ip| ip.architecture).or_else(|| release().map(|release| release.0));
            one.ip_versions.first().is_some_and(|ip| Some(ip.architecture) == wanted)
        };
        let near: Vec<String> =
            self.targets().iter().filter(same).filter_map(|one| Some(one.ip_versions.first()?.to_string())).collect();
        Some(Err(if near.is_empty() { error } else { error.with_remedy(format!("known are {}", near.join(", "))) }))
    }

    /// `spir64_gen-unknown-unknown`, `nvptx64-nvidia-cuda`.
    fn triple(&self, text: &str) -> Option<Resolution<'_>> {
        let (arch, rest) = text.split_once('-')?;
        let vendor = rest.split('-').next()?;
        let known = ["unknown", "nvidia", "amd", "intel", "pc", "linux"].contains(&vendor);
        let target = self.target(arch).filter(|_| known)?;
        Some(Resolution::from_targets(vec![target]))
    }

    /// `gfx90a:xnack-`: HIP's target with its features.
    fn hip(&self, text: &str) -> Option<Resolution<'_>> {
        let (arch, features) = text.split_once(':')?;
        let (targets, _) = self.named(arch).filter(|_| is_gfx(arch))?;
        let note = format!("the features `{features}` of {arch} are not told apart");
        Some(Resolution { note: Some(note), ..Resolution::from_targets(targets) })
    }

    /// `dg1:acm-g10`, `xe-hpg:`, `:12.55.8`: what lies between two targets, versions or groups, both included.
    fn range(&self, text: &str, first: &str, last: &str) -> Result<Resolution<'_>> {
        let bounds = |side: &str| -> Result<Option<(IpVersion, IpVersion)>> {
            if side.is_empty() {
                return Ok(None);
            }
            let found = self.one(side)?;
            let exact = IpVersion::parse(side);
            let versions = || found.targets.iter().filter_map(|one| exact.or_else(|| one.ip_versions.first().copied()));
            match (versions().min(), versions().max()) {
                (Some(least), Some(most)) => Ok(Some((least, most))),
                _ => Err(usage(format!("`{side}` has no IP version, by which ranges go"))),
            }
        };
        let (from, to) = (bounds(first)?.map(|bounds| bounds.0), bounds(last)?.map(|bounds| bounds.1));
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let error = usage(format!("`{text}` runs from {from} down to {to}"));
            return Err(error.with_remedy(format!("write `{last}:{first}`")));
        }
        let within = |ip: IpVersion| from.is_none_or(|from| ip >= from) && to.is_none_or(|to| ip <= to);
        let inside = |one: &&Target| one.ip_versions.first().is_some_and(|ip| within(*ip));
        let mut targets: Vec<&Target> = self.targets().iter().filter(inside).collect();
        targets.sort_by_key(|one| one.ip_versions.first().copied());
        if targets.is_empty() {
            Err(usage(format!("no target lies in `{text}`")))
        } else {
            Ok(Resolution::from_targets(targets))
        }
    }

    fn unknown(&self, text: &str) -> Error {
        let error = usage(format!("`{}` is no target", text.chars().take(80).collect::<String>().escape_debug()));
        let wanted = normal(text);
        let full = self.targets().iter().map(|one| one.name.as_str());
        let families = self.families().iter().map(|one| one.name.as_str());
        // A kind of device is no target.
        match wanted.as_str() {
            "cpu" | "x86" | "x86_64" | "host" => return error.with_remedy("native code for CPUs is `spir64_x86_64`"),
            "gpu" => {
                return error
                    .with_remedy("GPUs are told apart, such as `intel_gpu_pvc`: `sycl-bundle targets` lists them");
            }
            _ => {}
        }
        // In full where the user wrote it in full, else as short as it was written.
        let near = did_you_mean(&wanted, full.chain(families))
            .or_else(|| did_you_mean(&wanted, self.spellings()))
            .or_else(|| did_you_mean(text, CpuArch::names()));
        error.with_remedy(near.unwrap_or_else(|| "`sycl-bundle targets` lists them".to_owned()))
    }
}

/// The words that tell products apart, in small letters.
fn product_words(name: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let words = name.split([' ', '-', '_', '/']).filter(|word| !matches!(*word, "" | "intel" | "graphics" | "gpu"));
    words.map(str::to_owned).collect()
}

/// Whether a name is like a pattern of `*` (anything) and `?` (one letter).
fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    // Where the last `*` stands, and how much of the name it has taken so far.
    let (mut at, mut place, mut star) = (0usize, 0usize, None);
    while let Some(letter) = name.get(at) {
        match pattern.get(place) {
            Some(b'*') => {
                star = Some((place, at));
                place = place.saturating_add(1);
            }
            Some(wanted) if *wanted == b'?' || wanted == letter => {
                at = at.saturating_add(1);
                place = place.saturating_add(1);
            }
            _ => {
                let Some((back, taken)) = star else { return false };
                star = Some((back, taken.saturating_add(1)));
                at = taken.saturating_add(1);
                place = back.saturating_add(1);
            }
        }
    }
    pattern.get(place..).is_none_or(|rest| rest.iter().all(|letter| *letter == b'*'))
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

fn is_gfx(text: &str) -> bool {
    text.starts_with("gfx") || text.starts_with("amd_gpu_gfx")
}

/// The two ends of a range; a colon after a HIP target begins its features.
fn range(text: &str) -> Option<(&str, &str)> {
    let (first, last) = text.split_once(':')?;
    (!is_gfx(first) && !last.contains(':') && (!first.is_empty() || !last.is_empty())).then_some((first, last))
}

/// A target that the user names, and the instruction set that the spelling tells with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'t> {
    /// The target.
    pub(crate) target: &'t Target,
    /// Of a CPU's spelling: its instruction set.
    pub(crate) march: Option<CpuArch>,
}

/// The targets that spellings mean, each once; what is to be known of a spelling is said.
///
/// # Errors
/// `Usage` where one means none.
pub(crate) fn named_targets<'t>(
    reporter: &dyn Reporter,
    table: &'t TargetTable,
    spellings: &[String],
) -> Result<Vec<Named<'t>>> {
    let mut named: Vec<Named<'t>> = Vec::new();
    for spelling in spellings.iter().filter(|spelling| !spelling.trim().is_empty()) {
        let found = table.resolve(spelling)?;
        if let Some(note) = &found.note {
            reporter.note(note);
        }
        for target in found.targets {
            if !named.iter().any(|known| known.target.name == target.name && known.march == found.march) {
                named.push(Named { target, march: found.march });
            }
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::super::table::table;
    use super::*;

    fn names(spelling: &str) -> Vec<String> {
        let found = table().resolve(spelling).map(|found| found.targets.iter().map(|one| one.name.clone()).collect());
        found.unwrap_or_else(|error| vec![format!("{} {}", error.message(), error.remedy().unwrap_or_default())])
    }

    #[test]
    fn products_are_found_by_what_they_are_sold_as() {
        for (spelling, target) in [
            ("Arc A770", "intel_gpu_acm_g10"),
            ("Intel(R) Arc(TM) A770 Graphics", "intel_gpu_acm_g10"),
            ("arc-a380", "intel_gpu_acm_g11"),
            ("B580", "intel_gpu_bmg_g21"),
            ("Data Center GPU Max 1550", "intel_gpu_pvc"),
            ("Max 1550VG", "intel_gpu_pvc_vg"),
            ("UHD Graphics 750", "intel_gpu_rkl"),
        ] {
            assert_eq!(names(spelling), [target], "{spelling}");
        }
        let [several] = names("UHD Graphics 730").try_into().expect("one error");
        assert!(several.contains("intel_gpu_rkl (UHD Graphics 730), intel_gpu_adl_s"), "{several}");
        assert!(names("770")[0].contains("is no target"), "a number alone names nothing");
    }

    #[test]
    fn patterns_mean_all_that_are_named_so() {
        assert_eq!(names("acm-g1?"), ["intel_gpu_acm_g10", "intel_gpu_acm_g11", "intel_gpu_acm_g12"]);
        assert_eq!(names("*bmg*"), ["intel_gpu_bmg_g21", "intel_gpu_bmg_g31"]);
        assert!(names("intel_gpu_*").len() > 30);
        assert!(names("nothing*")[0].contains("no target is named like"));
        for (name, pattern, is) in [
            ("abcabd", "a*b?", true),
            ("abc", "*", true),
            ("abc", "a*c*", true),
            ("abc", "a*d", false),
            ("", "?", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(is_like(name.as_bytes(), pattern.as_bytes()), is, "{name} {pattern}");
        }
    }
}
