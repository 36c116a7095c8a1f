//! Does the driver take the options that the runtime hands to it with an image?
//!
//! DPC++'s runtime hands the options of an image, and those that its properties ask for, to `clBuildProgram` with SPIR-V and with native
//! code alike (`appendCompileOptionsFromImage` in `program_manager.cpp`). Intel's OpenCL CPU driver refuses a whole build for a word
//! that it does not know (`CL_INVALID_BUILD_OPTIONS`); compilers of GPUs take all. The lists are from its version 2026.2.

use super::{Fit, Subject};
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::compat::finding::RuleId;
use crate::device::target::{Backend, DeviceType};
use crate::limits;

/// Options that the driver takes.
#[rustfmt::skip]
const TAKEN: [&str; 16] = [
    "-cl-denorms-are-zero", "-cl-fast-relaxed-math", "-cl-finite-math-only", "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info", "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-no-subgroup-ifp", "-cl-opt-disable",
    "-cl-single-precision-constant", "-cl-uniform-work-group-size", "-cl-unsafe-math-optimizations", "-g", "-profiling",
    "-w", "-x",
];
/// Beginnings of options that it takes, and of those that the runtime takes out or translates.
#[rustfmt::skip]
const BEGINNINGS: [&str; 9] = [
    "-D", "-I", "-W", "-cl-ext=", "-cl-std=", "-spir-std=", "-ftarget-compile-fast", "-ftarget-register-alloc-mode=",
    "-foffload-fp32-prec-",
];
/// Levels, which the runtime translates.
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];
/// Beginnings of options of compilers of GPUs, all of which it refuses.
#[rustfmt::skip]
const OF_GPUS: [&str; 8] = [
    "-ze-", "-cl-intel-", "-vc-", "-doubleGRF", "-double-GRF", "-device", "-igc_opts", "-internal_options",
];

/// The options of an image for compiling and for linking; none where they are longer than any that compilers write.
pub(crate) fn options_of<'i>(image: &Image<'i>) -> Option<[&'i str; 2]> {
    let options = [image.compile_options, image.link_options];
    let is_read = options.iter().map(|text| text.len()).fold(0, usize::saturating_add) <= limits::MAX_READ_OPTIONS;
    is_read.then_some(options)
}

/// Checks the options of an image that a runtime has registered.
pub(super) fn check(image: &Image<'_>, subject: &Subject<'_>, fit: &mut Fit) {
    let is_cpu = subject.target.device_type == Some(DeviceType::Cpu) && subject.backend != Some(Backend::NativeCpu);
    if !is_cpu || image.is_of_adaptivecpp() {
        return;
    }
    let number = |name| image.properties.number(set::MISC, name);
    let registers = match number(key::REGISTERS) {
        None | Some(128) => None,
        Some(0) => Some("-ze-intel-enable-auto-large-GRF-mode"),
        Some(_) if number(key::ESIMD) == Some(1) => Some("-doubleGRF"),
        Some(_) => Some("-ze-opt-large-register-file"),
    };
    let Some(options) = options_of(image) else {
        return fit.gap(RuleId::Options, "the image has more options than any compiler writes, which are not read");
    };
    let words = options.map(str::split_whitespace).into_iter().flatten();
    let mut value = false;
    let own = words.filter(|word| {
        // The word behind these is their value.
        let is_value = std::mem::replace(&mut value, matches!(*word, "-x" | "-D" | "-I"));
        !is_value && !is_taken(word.trim_matches('"'))
    });
    for word in own.chain(registers) {
        let name = &subject.target.name;
        if OF_GPUS.iter().any(|beginning| word.starts_with(beginning)) {
            let message = format!("The runtime hands `{word}` to the driver of {name}, which refuses it.");
            fit.reason(RuleId::Options, message);
        } else {
            fit.gap(RuleId::Options, format!("whether the driver of {name} takes the option `{word}` is not known"));
        }
    }
}

fn is_taken(word: &str) -> bool {
    TAKEN.contains(&word) || LEVELS.contains(&word) || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::target::Target;

    /// Judges options on a device of a type: none, or reasons and gaps.
    fn found(options: &str, device_type: DeviceType) -> (usize, usize) {
        let target = Target { device_type: Some(device_type), ..Target::default() };
        let image = Image { compile_options: options, ..Image::bare(&[], 0) };
        let mut fit = Fit::default();
        check(&image, &Subject::new(&target), &mut fit);
        (fit.reasons.len(), fit.gaps.len())
    }

    #[test]
    fn options_that_the_driver_of_cpus_refuses_are_told() {
        for taken in ["", "-g -O2 -cl-std=CL3.0", "-D X=1 -x spir -Wall", "-ftarget-register-alloc-mode=pvc:auto"] {
            assert_eq!(found(taken, DeviceType::Cpu), (0, 0), "{taken}");
        }
        for refused in ["-ze-opt-large-register-file", "-cl-intel-256-GRF-per-thread", "-vc-codegen"] {
            assert_eq!(found(refused, DeviceType::Cpu), (1, 0), "{refused}");
            assert_eq!(found(refused, DeviceType::Gpu), (0, 0), "{refused}");
        }
        assert_eq!(found("-foo -device pvc", DeviceType::Cpu), (1, 2));
        assert_eq!(found(&"-g ".repeat(limits::MAX_READ_OPTIONS), DeviceType::Cpu), (0, 1));
    }
}
