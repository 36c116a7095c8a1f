//! Which of an image's options does the CPU driver get?
//!
//! DPC++ stores in an image what was said for any backend; its runtime rewrites some of it before it builds
//! (`sycl/source/detail/program_manager` and `unified-runtime/source/adapters/opencl/platform.cpp` of intel/llvm).
//! Intel's OpenCL CPU driver refuses a whole build with `CL_INVALID_BUILD_OPTIONS` (-43) for one option it does not
//! know. So what only the runtime or a GPU understands is removed or translated here, and reported. Anything else
//! stays, and where the driver refuses it, so it would at run time.
//!
//! Measured on driver 2026.2.0: it takes the `-cl-` options of the OpenCL specification, `-g`, `-w`, `-Werror`, `-D`,
//! `-I`, `-x spir`, `-s FILE`; it refuses every option of the tables `DROPPED` and `DROPPED_WITH_VALUE`.

pub mod gpu;

use std::borrow::Cow;

/// An image's options, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Options that the compiler gets, as one string.
    pub kept: String,
    /// Options that the compiler does not get, one by one.
    pub removed: Vec<String>,
}

/// Removed where an option begins so.
///
/// `-ze-` are Level Zero's, `-cl-intel-` and the rest those of the GPU compilers (IGC, the vector compiler), and
/// `-ftarget-` DPC++'s own, of which the runtime makes GPU options.
const DROPPED: [&str; 9] = [
    "-ze-",
    "-cl-intel-",
    "-cl-take-global-address",
    "-ftarget-register-alloc-mode=",
    "-ftarget-compile-fast",
    "-doubleGRF",
    "-vc-codegen",
    "-disable-finalizer-msg",
    "-library-compilation",
];

/// Removed together with the word that follows.
const DROPPED_WITH_VALUE: [&str; 1] = ["-igc_opts"];

/// Options of the front end that the runtime's adapters translate, for a CPU as for a GPU. An empty string removes one.
const TRANSLATED: [(&str, &str); 6] = [
    ("-foffload-fp32-prec-div", "-cl-fp32-correctly-rounded-divide-sqrt"),
    ("-foffload-fp32-prec-sqrt", "-cl-fp32-correctly-rounded-divide-sqrt"),
    ("-O0", "-cl-opt-disable"),
    ("-O1", ""),
    ("-O2", ""),
    ("-O3", ""),
];

/// Sorts an image's compile or link options.
pub fn for_cpu(options: &str) -> Options {
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut removed = Vec::new();
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        if translated(word, &mut kept) {
            removed.push(word.to_owned());
        } else if DROPPED_WITH_VALUE.contains(&word) {
            let value = words.next().unwrap_or_default();
            removed.push(format!("{word} {value}").trim_end().to_owned());
        } else if DROPPED.iter().any(|start| word.starts_with(start)) {
            removed.push(word.to_owned());
        } else {
            kept.push(word.into());
        }
    }
    Options { kept: kept.join(" "), removed }
}

/// Puts in what the runtime makes of an option, once; whether it is one of which it makes something.
fn translated(word: &str, kept: &mut Vec<Cow<'_, str>>) -> bool {
    let Some((_, instead)) = TRANSLATED.iter().find(|(known, _)| *known == word) else { return false };
    if !instead.is_empty() && !kept.iter().any(|option| option == instead) {
        kept.push((*instead).into());
    }
    true
}

/// Splits at white space outside quotation marks; the marks stay, for they are the driver's to read.
fn words(options: &str) -> Vec<&str> {
    let mut quote = None;
    let separator = |letter: char| {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        quote.is_none() && letter.is_ascii_whitespace()
    };
    options.split(separator).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(options: &str) -> (String, Vec<String>) {
        let Options { kept, removed } = for_cpu(options);
        (kept, removed)
    }

    #[test]
    fn what_only_the_runtime_or_a_gpu_knows_is_removed() {
        // The options that dpnp's images carry.
        let real = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";
        assert_eq!(sorted(real), (String::new(), vec![real.into()]));
        assert_eq!(
            sorted(" -g -ze-opt-large-register-file  -doubleGRF\t-cl-mad-enable -vc-codegen"),
            (
                "-g -cl-mad-enable".into(),
                vec!["-ze-opt-large-register-file".into(), "-doubleGRF".into(), "-vc-codegen".into()]
            )
        );
        assert_eq!(
            sorted("-igc_opts 'PartitionUnit=1, SubroutineThreshold=50000' -w"),
            ("-w".into(), vec!["-igc_opts 'PartitionUnit=1, SubroutineThreshold=50000'".into()])
        );
        assert_eq!(sorted("-igc_opts"), (String::new(), vec!["-igc_opts".into()]));
    }

    #[test]
    fn what_the_runtime_translates_is_translated_once() {
        assert_eq!(
            sorted("-foffload-fp32-prec-sqrt -foffload-fp32-prec-div -O2"),
            (
                "-cl-fp32-correctly-rounded-divide-sqrt".into(),
                vec!["-foffload-fp32-prec-sqrt".into(), "-foffload-fp32-prec-div".into(), "-O2".into()]
            )
        );
        assert_eq!(sorted("-O0").0, "-cl-opt-disable");
    }

    #[test]
    fn everything_else_is_left_to_the_driver() {
        for options in ["", "-cl-fast-relaxed-math", r#"-D NAME="a -ze-b" -I '/a b'"#, "-cl-std=CL2.0 -bogus"] {
            assert_eq!(sorted(options), (options.into(), vec![]));
        }
    }
}
