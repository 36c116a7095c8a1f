//! Which of an image's options does the compiler of an Intel GPU get?
//!
//! Ahead of time as at run time: what DPC++'s runtime adds for an image (`sycl/source/detail/program_manager`) and what
//! its adapters make of options (`unified-runtime/source/adapters`, of intel/llvm). IGC takes what it does not know
//! without a word, and keeps all options in the binary: an option that is not translated would be lost.

use super::{Options, translated, words};
use crate::policy::rules::Registers;
use std::borrow::Cow;

/// Properties of an image that say how it is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Misc {
    /// `optLevel`.
    pub level: Option<u32>,
    /// `sycl-grf-size`: 0 for the compiler to choose.
    pub grf_size: Option<u32>,
    /// `sycl-register-alloc-mode`, which older compilers wrote, where it says large.
    pub large_grf: bool,
    /// `isEsimdImage`.
    pub esimd: bool,
}

/// The option for which the runtime asks only on some devices: `-ftarget-register-alloc-mode=DEVICE:OPTION,...`.
const ALLOC_MODE: &str = "-ftarget-register-alloc-mode=";
/// Less optimization, for shorter compilation.
const FAST: (&str, &str) = ("-ftarget-compile-fast", "-igc_opts 'PartitionUnit=1,SubroutineThreshold=50000'");

/// Sorts an image's options for a GPU, by the name that ocloc knows it by; without one, what is for certain GPUs only is
/// left away. `misc` is given with the compile options, to which the runtime adds what the properties say.
pub fn for_gpu(options: &str, device: Option<&str>, misc: Option<&Misc>) -> Options {
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut removed = Vec::new();
    for word in words(options) {
        if let Some(modes) = word.strip_prefix(ALLOC_MODE) {
            removed.push(word.to_owned());
            kept.extend(modes.split(',').filter_map(|mode| alloc_mode(mode, device)).map(Cow::from));
        } else if word == FAST.0 {
            removed.push(word.to_owned());
            kept.push(FAST.1.into());
        } else if translated(word, &mut kept) {
            removed.push(word.to_owned());
        } else {
            kept.push(word.into());
        }
    }
    for added in misc.map(added).unwrap_or_default() {
        if !kept.iter().any(|option| option == added) {
            kept.push(added.into());
        }
    }
    Options { kept: kept.join(" "), removed }
}

/// The option of a mode that is for this device; `pvc` is all of Ponte Vecchio, as in the runtime.
fn alloc_mode<'m>(mode: &'m str, device: Option<&str>) -> Option<&'m str> {
    let (wanted, option) = mode.split_once(':')?;
    let device = device?;
    let family = device.split_once(['-', '_']).map_or(device, |(family, _)| family);
    (wanted == device || wanted == family).then_some(option)
}

/// Returns the options that the runtime adds for an image's properties.
fn added(misc: &Misc) -> Vec<&'static str> {
    let mut out = Vec::new();
    if misc.esimd {
        out.extend(["-vc-codegen", "-disable-finalizer-msg"]);
    }
    match misc.grf_size {
        Some(256) => out.push(Registers::Large.option(misc.esimd)),
        Some(0) => out.push(Registers::Auto.option(misc.esimd)),
        None if misc.large_grf => out.push(Registers::Large.option(misc.esimd)),
        _ => {}
    }
    // Its compiler knows "none" and the usual level.
    if misc.level == Some(0) && !misc.esimd {
        out.push("-cl-opt-disable");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_one_gpu_goes_to_that_alone() {
        // The options that dpnp's images carry.
        let real = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";
        let kept = |device| for_gpu(real, device, None).kept;
        assert_eq!(kept(Some("pvc")), "-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!(kept(Some("pvc-vg")), "-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!((kept(Some("dg1")), kept(None)), (String::new(), String::new()));
        assert_eq!(for_gpu(real, Some("dg1"), None).removed, [real]);
    }

    #[test]
    fn options_become_those_of_the_gpu() {
        let text =
            "-O2 -g -ze-opt-large-register-file -foffload-fp32-prec-div -foffload-fp32-prec-sqrt -ftarget-compile-fast";
        assert_eq!(
            for_gpu(text, Some("dg1"), None).kept,
            "-g -ze-opt-large-register-file -cl-fp32-correctly-rounded-divide-sqrt \
             -igc_opts 'PartitionUnit=1,SubroutineThreshold=50000'"
        );
    }

    #[test]
    fn properties_become_options_once() {
        let of = |misc: Misc, options: &str| for_gpu(options, Some("pvc"), Some(&misc)).kept;
        let misc = Misc::default();
        assert_eq!(of(misc, ""), "");
        assert_eq!(of(Misc { level: Some(0), ..misc }, "-O0"), "-cl-opt-disable");
        assert_eq!(of(Misc { grf_size: Some(256), ..misc }, ""), "-ze-opt-large-register-file");
        assert_eq!(of(Misc { grf_size: Some(128), large_grf: true, ..misc }, ""), "");
        assert_eq!(of(Misc { grf_size: Some(0), ..misc }, ""), "-ze-intel-enable-auto-large-GRF-mode");
        let esimd = Misc { esimd: true, large_grf: true, level: Some(0), ..misc };
        assert_eq!(of(esimd, "-vc-codegen"), "-vc-codegen -disable-finalizer-msg -doubleGRF");
    }
}
