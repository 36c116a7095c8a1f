//! Does the driver take the options that the runtime hands to it with an image?
//!
//! DPC++'s runtime hands the options of an image, and those that its properties ask for, to `clBuildProgram` with SPIR-V and with native
//! code alike (`appendCompileOptionsFromImage` in `program_manager.cpp`). Intel's OpenCL CPU driver refuses a whole build for a word
//! that it does not know (`CL_INVALID_BUILD_OPTIONS`); those for Intel's GPUs (26.27) take all but a few. The lists are from its version
//! 2026.2.

use super::{Fit, Subject};
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::compat::finding::RuleId;
use crate::device::target::{Backend, DeviceType};
use crate::limits;
use std::collections::HashSet;

/// Options that the driver takes.
#[rustfmt::skip]
const TAKEN: [&str; 25] = [
    "-cl-denorms-are-zero", "-cl-fast-relaxed-math", "-cl-finite-math-only", "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info", "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-no-subgroup-ifp", "-cl-opt-disable",
    "-cl-single-precision-constant", "-cl-std=CL1.0", "-cl-std=CL1.1", "-cl-std=CL1.2", "-cl-std=CL2.0",
    "-cl-std=CL3.0", "-cl-std=CLC++", "-cl-std=CLC++1.0", "-cl-std=CLC++2021", "-cl-uniform-work-group-size",
    "-cl-unsafe-math-optimizations", "-g", "-profiling", "-spir-std=1.0", "-spir-std=1.2", "-w",
];
/// Others, which have the next word for their value.
const WITH_VALUE: [&str; 4] = ["-x", "-s", "-D", "-I"];
/// Beginnings of options that it takes whatever follows.
const BEGINNINGS: [&str; 3] = ["-D", "-I", "-W"];
/// Compile options that the runtime translates, once each, and the beginning of one that it takes out; of link options it does neither.
const TRANSLATED: [&str; 3] = ["-ftarget-compile-fast", "-foffload-fp32-prec-div", "-foffload-fp32-prec-sqrt"];
const TAKEN_OUT: &str = "-ftarget-register-alloc-mode=";
/// Beginnings of options of compilers of GPUs, all of which it refuses.
#[rustfmt::skip]
const OF_GPUS: [&str; 8] = [
    "-ze-", "-cl-intel-", "-vc-", "-doubleGRF", "-double-GRF", "-device", "-igc_opts", "-internal_options",
];

/// Options at which drivers for Intel's GPUs end or build something else, or that few GPUs have, and beginnings of such.
const NOT_ON_GPUS: [&str; 5] = [
    "-Xfinalizer",
    "-cl-intel-512-GRF-per-thread",
    "-vc-codegen",
    "-ze-exp-register-file-size",
    "-ze-intel-512-GRF-per-thread",
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
    let is_intel_gpu = !subject.target.ip_versions.is_empty();
    if !(is_cpu || is_intel_gpu) || image.is_of_adaptivecpp() {
        return;
    }
    let Some(options) = options_of(image) else {
        return fit.gap(RuleId::Options, "the image has more options than any compiler writes, which are not read");
    };
    let name = &subject.target.name;
    let open = |word: &str| format!("whether the driver of {name} takes the option `{word}` is not known");
    let number = |name| image.properties.number(set::MISC, name);
    let is_esimd = number(key::ESIMD) == Some(1);
    let [compile, link] = options.map(words);
    if is_intel_gpu {
        let mut own = compile.iter().chain(&link).filter(|word| !(is_esimd && *word == "-vc-codegen"));
        let refused = own.find(|word| NOT_ON_GPUS.iter().any(|one| word.starts_with(one)));
        return refused.into_iter().for_each(|word| fit.gap(RuleId::Options, open(word)));
    }
    let registers = match number(key::REGISTERS) {
        None | Some(128) => None,
        Some(0) => Some("-ze-intel-enable-auto-large-GRF-mode"),
        Some(_) if is_esimd => Some("-doubleGRF"),
        Some(_) => Some("-ze-opt-large-register-file"),
    };
    for word in not_taken(compile, link).iter().map(String::as_str).chain(registers) {
        if OF_GPUS.iter().any(|beginning| word.starts_with(beginning)) {
            let message = format!("The runtime hands `{word}` to the driver of {name}, which refuses it.");
            fit.reason(RuleId::Options, message);
        } else {
            fit.gap(RuleId::Options, open(word));
        }
    }
}

/// Returns the options for compiling and for linking that the driver of CPUs is not known to take.
fn not_taken(compile: Vec<String>, link: Vec<String>) -> Vec<String> {
    let mut translated: HashSet<&str> = HashSet::new();
    let for_driver = |word: &String| {
        let mut one = TRANSLATED.iter().filter(|one| *one == word);
        !word.starts_with(TAKEN_OUT) && !one.any(|one| translated.insert(one))
    };
    let mut words = compile.into_iter().filter(for_driver).chain(link);
    let mut others = Vec::new();
    while let Some(word) = words.next() {
        let lacks_value = WITH_VALUE.contains(&word.as_str()) && words.next().is_none();
        if lacks_value || !is_taken(&word) {
            others.push(word);
        }
    }
    others
}

/// Returns the words of options: they are apart by spaces and tabs that are not in quotes, which are no part of them.
fn words(options: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in options.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|word| word.push(letter)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_taken(word: &str) -> bool {
    let has_more = BEGINNINGS.iter().any(|beginning| word.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty()));
    TAKEN.contains(&word) || WITH_VALUE.contains(&word) || has_more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::property::{Property, PropertySet, Value};
    use crate::device::target::{IpVersion, Target};

    /// Judges an image on a target: reasons and gaps.
    fn judged(image: &Image<'_>, target: &Target) -> (usize, usize) {
        let mut fit = Fit::default();
        check(image, &Subject::new(target), &mut fit);
        (fit.reasons.len(), fit.gaps.len())
    }

    /// Judges options for compiling on a device of a type.
    fn found(options: &str, device_type: DeviceType) -> (usize, usize) {
        let target = Target { device_type: Some(device_type), ..Target::default() };
        judged(&Image { compile_options: options, ..Image::bare(&[], 0) }, &target)
    }

    #[test]
    fn options_that_the_driver_of_cpus_refuses_are_told() {
        for taken in [
            "",
            "-g -cl-std=CL3.0",
            "-D X=1 -x spir -Wall",
            "-ftarget-register-alloc-mode=pvc:auto -ftarget-compile-fast",
            "-DX=\"a b\" -D \"c d\" \"-g\" \"\"",
            "-s x\t-w",
        ] {
            assert_eq!(found(taken, DeviceType::Cpu), (0, 0), "{taken}");
        }
        for unknown in [
            "-O2",
            "-g -D",
            "-I\"\"",
            "-x",
            "-W",
            "-cl-std=CL9.9",
            "-cl-ext=+all",
            "-g\n-w",
            "\"-g -w\"",
            "-ftarget-compile-fast -ftarget-compile-fast",
            "-ftarget-compile-fast=1",
            "-foffload-fp32-prec-foo",
        ] {
            assert_eq!(found(unknown, DeviceType::Cpu), (0, 1), "{unknown}");
            assert_eq!(found(unknown, DeviceType::Gpu), (0, 0), "{unknown}");
        }
        let target = Target { device_type: Some(DeviceType::Cpu), ..Target::default() };
        let image = Image { link_options: "-ftarget-compile-fast", ..Image::bare(&[], 0) };
        assert_eq!(judged(&image, &target), (0, 1));
        for refused in ["-ze-opt-large-register-file", "-cl-intel-256-GRF-per-thread", "-vc-codegen"] {
            assert_eq!(found(refused, DeviceType::Cpu), (1, 0), "{refused}");
            assert_eq!(found(refused, DeviceType::Gpu), (0, 0), "{refused}");
        }
        let found_on_gpu = |options: &'static str, is_esimd: bool| {
            let target = Target {
                ip_versions: vec![IpVersion { architecture: 12, release: 60, revision: 7 }],
                ..Target::default()
            };
            let mut image = Image { compile_options: options, ..Image::bare(&[], 0) };
            let set =
                PropertySet { name: set::MISC, properties: vec![Property { name: key::ESIMD, value: Value::U32(1) }] };
            image.properties.sets.extend(is_esimd.then_some(set));
            judged(&image, &target)
        };
        for (options, is_esimd, gaps) in [
            ("-foo -O2 -ze-opt-large-register-file", false, 0),
            ("-vc-codegen", true, 0),
            ("-vc-codegen", false, 1),
            ("-Xfinalizer -foo", false, 1),
            ("-ze-intel-512-GRF-per-thread", false, 1),
        ] {
            assert_eq!(found_on_gpu(options, is_esimd), (0, gaps), "{options}");
        }
        assert_eq!(found("-foo -device pvc", DeviceType::Cpu), (1, 2));
        assert_eq!(found(&"-g ".repeat(limits::MAX_READ_OPTIONS), DeviceType::Cpu), (0, 1));
    }
}
