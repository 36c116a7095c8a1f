//! With which options that change the code is an image compiled, and are they those of its SPIR-V?
//!
//! Native code tells them in part (`.misc.buildOptions` of a zebin, and 256 registers of a kernel, which ocloc's
//! `-internal_options` ask for without a record); the SPIR-V of the same kernel is compiled with the options of its image
//! on every device without native code. Where these differ, so do speed and results from device to device, and nobody
//! says so.

use super::examine::Examined;
use super::finding::{Finding, RuleId};
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_sets::set;
use crate::native::Part;
use std::collections::BTreeSet;

/// Effects of options on code, each with its spellings.
const EFFECTS: [(&str, &[&str]); 12] = [
    (LARGE, &["-cl-intel-256-GRF-per-thread", "-ze-opt-large-register-file", "-doubleGRF"]),
    (AUTO, &["-ze-intel-enable-auto-large-GRF-mode", "-cl-intel-enable-auto-large-GRF-mode"]),
    ("128 registers", &["-cl-intel-128-GRF-per-thread", "-ze-intel-128-GRF-per-thread"]),
    ("no optimization", &["-cl-opt-disable", "-ze-opt-disable", "-O0"]),
    (
        "buffers of more than 4 GiB",
        &["-cl-intel-greater-than-4GB-buffer-required", "-ze-opt-greater-than-4GB-buffer-required"],
    ),
    ("poisoned fp64 kernels", &["-cl-poison-unsupported-fp64-kernels"]),
    ("relaxed math", &["-cl-fast-relaxed-math"]),
    ("unsafe math", &["-cl-unsafe-math-optimizations"]),
    ("finite math", &["-cl-finite-math-only"]),
    ("multiply-add", &["-cl-mad-enable"]),
    ("denormals as zero", &["-cl-denorms-are-zero"]),
    (
        "correctly rounded division and square root",
        &["-cl-fp32-correctly-rounded-divide-sqrt", "-foffload-fp32-prec-div", "-foffload-fp32-prec-sqrt"],
    ),
];
const LARGE: &str = "256 registers";
const AUTO: &str = "registers as the compiler chooses";
/// GPUs whose compiler chooses registers of each kernel unasked (Xe3 and later).
const CHOOSING: [&str; 4] = ["intel_gpu_ptl", "intel_gpu_wcl", "intel_gpu_nvl", "intel_gpu_cri"];
/// DPC++'s option for one device: `-ftarget-register-alloc-mode=pvc:OPTION`.
const ALLOC_MODE: &str = "-ftarget-register-alloc-mode=";

/// Effects of options, by the names of [`EFFECTS`].
type Effects = BTreeSet<&'static str>;

/// Options of an image that change its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOptions {
    /// Effects on all devices; of native code none.
    all: Effects,
    /// Effects on one device, beside these: a device of native code, or of options that name it.
    by_device: Vec<(String, Effects)>,
    native: bool,
    /// Whether native code does not say all: where there are no options, compilers record none, and old ones never do.
    partial: bool,
}

fn effect(word: &str) -> Option<&'static str> {
    EFFECTS.iter().find(|(_, spellings)| spellings.contains(&word)).map(|(name, _)| *name)
}

impl CodeOptions {
    /// Finds the options of an image; none where it is neither SPIR-V nor native code for Intel GPUs.
    pub fn find(examined: &Examined<'_, '_>) -> Option<CodeOptions> {
        if examined.format == Format::SpirV {
            return Some(CodeOptions::of_spirv(examined.image));
        }
        let parts = examined.native.iter().flat_map(|native| &native.parts);
        let code = parts.filter(|part| part.format == Format::Zebin);
        let by_device: Vec<_> =
            code.clone().flat_map(|part| part.devices.iter().map(|device| (device.clone(), of_part(part)))).collect();
        let partial = code.clone().any(|part| part.options.is_none());
        (!by_device.is_empty()).then_some(CodeOptions { all: Effects::new(), by_device, native: true, partial })
    }

    fn of_spirv(image: &Image<'_>) -> CodeOptions {
        let mut found = CodeOptions::default();
        let number = |name| image.properties.get(set::MISC, name).and_then(|value| value.number());
        match (number("sycl-grf-size"), number("sycl-register-alloc-mode")) {
            (Some(256), _) | (None, Some(2)) => _ = found.all.insert(LARGE),
            (Some(0), _) => _ = found.all.insert(AUTO),
            _ => {}
        }
        if number("optLevel") == Some(0) {
            found.all.extend(effect("-O0"));
        }
        let words = [image.compile_options, image.link_options].map(str::split_whitespace).into_iter().flatten();
        let (mut words, mut only) = (words.map(|word| word.trim_matches(['"', '\''])), None);
        while let Some(word) = words.next() {
            if let Some(modes) = word.strip_prefix(ALLOC_MODE) {
                for (device, option) in modes.split(',').filter_map(|mode| mode.split_once(':')) {
                    found.by_device.push((device.to_owned(), effect(option).into_iter().collect()));
                }
            } else if word == "-device_options" {
                only = words.next().map(str::to_owned);
            } else if matches!(word, "-options" | "-internal_options" | "-device") {
                only = None;
            } else {
                match &only {
                    Some(devices) => {
                        let own =
                            devices.split(',').map(|device| (device.to_owned(), effect(word).into_iter().collect()));
                        found.by_device.extend(own);
                    }
                    None => found.all.extend(effect(word)),
                }
            }
        }
        found
    }

    /// Returns the effects on code that is compiled of SPIR-V for a device.
    fn on(&self, device: &str) -> Effects {
        let short = device.strip_prefix("intel_gpu_").unwrap_or(device);
        let own = self.by_device.iter().filter(|(named, _)| {
            let named = named.replace('-', "_");
            short == named || short.strip_prefix(&named).is_some_and(|rest| rest.starts_with('_'))
        });
        self.all.iter().copied().chain(own.flat_map(|(_, effects)| effects.iter().copied())).collect()
    }

    /// Finds the first device on which the native code is compiled otherwise than this SPIR-V would be, as a finding.
    pub fn differ(&self, native: &CodeOptions) -> Option<Finding> {
        if self.native || !native.native {
            return None;
        }
        let (device, one, other) = native.by_device.iter().find_map(|(device, effects)| {
            let own = self.on(device);
            let differ = if native.partial { !effects.is_subset(&own) } else { own != *effects };
            differ.then(|| (device, listed(effects, &own), listed(&own, effects)))
        })?;
        let message = format!("Kernel is compiled for {device} with {one}; its SPIR-V is compiled with {other}.");
        let remedy = "give both the same options (-Xsycl-target-backend for spir64_gen and for spir64), or make the native \
                      code of the SPIR-V: sycl-bundle build";
        Some(Finding::new(RuleId::OptionsDiffer, false, message, remedy))
    }
}

/// Effects that the others lack, as a text.
fn listed(own: &Effects, other: &Effects) -> String {
    let names: Vec<&str> = own.difference(other).copied().collect();
    if names.is_empty() { "none of this".to_owned() } else { names.join(", ") }
}

/// Effects that native code was compiled with: as it records, and as its registers show.
fn of_part(part: &Part) -> Effects {
    let words = part.options.as_deref().unwrap_or_default().split_whitespace();
    let mut effects: Effects = words.filter_map(effect).collect();
    // Devices for which the compiler chooses by itself show no option.
    let fixed = !part.devices.iter().any(|device| CHOOSING.iter().any(|prefix| device.starts_with(prefix)));
    if fixed && !effects.contains(AUTO) && part.kernels.iter().any(|kernel| kernel.registers == Some(256)) {
        effects.insert(LARGE);
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::Kernel;

    fn native(options: &str, registers: u64, device: &str) -> CodeOptions {
        let kernel = Kernel { name: "k".to_owned(), registers: Some(registers), ..Kernel::default() };
        let options = Some(options.to_owned()).filter(|options| !options.is_empty());
        let partial = options.is_none();
        let part = Part { kernels: vec![kernel.into()], options, ..Part::new(Format::Zebin, 0) };
        let by_device = vec![(format!("intel_gpu_{device}"), of_part(&part))];
        CodeOptions { all: Effects::new(), by_device, native: true, partial }
    }

    fn spirv(options: &str) -> CodeOptions {
        CodeOptions::of_spirv(&Image { compile_options: options, ..Image::bare(&[], 0) })
    }

    /// The images of bitsandbytes 0.50.2 agree: their alloc mode is for pvc alone, and two spellings mean one thing.
    #[test]
    fn the_same_in_other_words_is_the_same() {
        let shipped = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode -device pvc,xe-lpg,ats-m150 \
                       -options -cl-intel-enable-auto-large-GRF-mode -cl-poison-unsupported-fp64-kernels";
        let recorded = "-cl-intel-enable-auto-large-GRF-mode -cl-poison-unsupported-fp64-kernels";
        assert_eq!(spirv(shipped).differ(&native(recorded, 256, "acm_g10")), None);
        assert_eq!(
            spirv(shipped).differ(&native(&format!("{recorded} -ze-intel-enable-auto-large-GRF-mode"), 128, "pvc")),
            None
        );
        assert_eq!(spirv("-g").differ(&native("-w", 128, "dg1")), None);
        let of_pvc = spirv("-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!(of_pvc.differ(&native("", 128, "bmg_g21")), None);
        assert_eq!(of_pvc.differ(&native("-ze-intel-enable-auto-large-GRF-mode", 256, "pvc_vg")), None);
    }

    /// The case of vllm-xpu-kernels#348: `-internal_options -cl-intel-256-GRF-per-thread` for native code alone.
    #[test]
    fn what_only_one_of_them_has_is_told() {
        let message = |spirv: CodeOptions, native: CodeOptions| spirv.differ(&native).map(|finding| finding.message);
        let large = message(spirv(""), native("", 256, "bmg_g21")).expect("they differ");
        assert!(large.contains("for intel_gpu_bmg_g21 with 256 registers; its SPIR-V is compiled with none of this"));
        let math = message(spirv("-cl-fast-relaxed-math"), native("-cl-mad-enable", 128, "pvc")).expect("they differ");
        assert!(math.contains("with multiply-add; its SPIR-V is compiled with relaxed math"), "{math}");
        assert_eq!(message(native("", 256, "pvc"), native("", 128, "pvc")), None, "neither is SPIR-V");
        assert_eq!(message(spirv("-cl-mad-enable"), native("", 128, "pvc")), None, "it may not say so");
        let named = spirv("-device_options bmg-g21,pvc -cl-mad-enable -options -cl-finite-math-only");
        assert_eq!(message(named.clone(), native("-cl-mad-enable -cl-finite-math-only", 128, "pvc")), None);
        assert!(message(named, native("-cl-mad-enable -cl-finite-math-only", 128, "dg1")).is_some());
    }
}
