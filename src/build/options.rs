//! Which of an image's options does a compiler get?
//!
//! DPC++ stores in an image what was said for any backend: options of the runtime, of the CPU's and the GPUs' compilers, and
//! of ocloc itself (`-device pvc -options -cl-...`). They are parted by what they are for. What its runtime adds or rewrites
//! (`sycl/source/detail/program_manager`, `unified-runtime/source/adapters` of intel/llvm) is added and rewritten here.
//!
//! An image is a stranger's, and compilers have options that write files (`-igc_opts 'ShaderDumpEnable=1,...'`,
//! `-dump-opt-llvm=FILE`). So of what an image says, or a configuration that was found and not named, each compiler gets
//! what stands in a list, taken from what the compilers themselves know: Intel's OpenCL CPU driver 2026.2, IGC 1.0 and 2.40.
//! The rest is told and left out. What the user says goes through.
//!
//! The CPU driver refuses a whole build with `CL_INVALID_BUILD_OPTIONS` (-43) for one option it does not know; IGC takes
//! what it does not know without a word, and keeps all options in the binary.

use crate::policy::rules::Registers;

/// Options of an image, parted by what becomes of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Options that the compiler gets, as one string.
    pub(crate) kept: String,
    /// Options that are for something else, or were translated.
    pub(crate) removed: Vec<String>,
    /// Options that are not known to be harmless.
    pub(crate) refused: Vec<String>,
}

/// Options before they are parted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'o> {
    /// Options of the image, and of a configuration that was found and not named.
    pub(crate) own: &'o str,
    /// Options of the user, who may say anything; the compiler gets them last.
    pub(crate) trusted: &'o str,
}

impl<'o> Given<'o> {
    /// Options that an image states.
    pub(crate) fn by_image(own: &'o str) -> Self {
        Given { own, trusted: "" }
    }
}

/// Properties of an image that say how it is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Misc {
    /// `optLevel`.
    pub(crate) level: Option<u32>,
    /// `sycl-grf-size`: 0 for the compiler to choose.
    pub(crate) grf_size: Option<u32>,
    /// `sycl-register-alloc-mode`, which older compilers wrote, where it says large.
    pub(crate) large_grf: bool,
    /// `isEsimdImage`.
    pub(crate) esimd: bool,
}

/// Prefixes of options that the CPU driver does not know.
///
/// `-ze-` are Level Zero's, `-cl-intel-` and the rest those of the GPU compilers (IGC, the vector compiler), and
/// `-ftarget-` DPC++'s own, of which the runtime makes GPU options.
const NOT_FOR_CPU: [&str; 9] = [
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
/// Options of the GPU compilers whose value is the next word.
const NOT_FOR_CPU_WITH_VALUE: [&str; 2] = ["-igc_opts", "-Xfinalizer"];

/// Options of the front end that the runtime's adapters translate, for a CPU as for a GPU. An empty string removes one.
const TRANSLATED: [(&str, &str); 6] = [
    ("-foffload-fp32-prec-div", "-cl-fp32-correctly-rounded-divide-sqrt"),
    ("-foffload-fp32-prec-sqrt", "-cl-fp32-correctly-rounded-divide-sqrt"),
    ("-O0", "-cl-opt-disable"),
    ("-O1", ""),
    ("-O2", ""),
    ("-O3", ""),
];

/// The option for which the runtime asks only on some devices: `-ftarget-register-alloc-mode=DEVICE:OPTION,...`.
const ALLOC_MODE: &str = "-ftarget-register-alloc-mode=";
/// Less optimization, for shorter compilation.
const FAST: (&str, &str) = ("-ftarget-compile-fast", "-igc_opts 'PartitionUnit=1,SubroutineThreshold=50000'");

/// Options of ocloc whose value is the next word, but for those that bring options for IGC.
const OCLOC_WITH_VALUE: [&str; 15] = [
    "-device",
    "-file",
    "-output",
    "-out_dir",
    "-o",
    "-internal_options",
    "-revision_id",
    "-config",
    "-cache_dir",
    "-stateful_address_mode",
    "-heapless_mode",
    "-exclude_extensions",
    "-formats",
    "--format",
    "-single_device",
];
/// Options of ocloc without a value.
const OCLOC_FLAGS: [&str; 12] = [
    "-q",
    "-32",
    "-64",
    "-exclude_ir",
    "-output_no_suffix",
    "-allow_caching",
    "-gen_file",
    "-llvm_input",
    "-llvm_text",
    "-spirv_input",
    "-spv_only",
    "-qq",
];
/// Options of ocloc that bring options for IGC: for every device, and for one.
const FOR_IGC: &str = "-options";
const FOR_IGC_OF_DEVICE: &str = "-device_options";

/// Harmless options of both compilers.
const COMMON: [&str; 13] = [
    "-g",
    "-w",
    "-Werror",
    "-cl-denorms-are-zero",
    "-cl-fast-relaxed-math",
    "-cl-finite-math-only",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-opt-disable",
    "-cl-single-precision-constant",
    "-cl-uniform-work-group-size",
];
/// Harmless options of Intel's CPU driver, which ends a build for a word that it does not know.
const OF_CPU: [&str; 8] = [
    "-cl-match-sincospi",
    "-cl-no-match-sincospi",
    "-cl-no-subgroup-ifp",
    "-cl-strict-aliasing",
    "-cl-unsafe-math-optimizations",
    "-create-library",
    "-enable-link-options",
    "-profiling",
];
/// Harmless options of IGC and its vector compiler that have no prefix.
const OF_GPU: [&str; 12] = [
    "-doubleGRF",
    "-double-GRF",
    "-vc-codegen",
    "-disable-finalizer-msg",
    "-library-compilation",
    "-fno-jump-tables",
    "-fno-struct-splitting",
    "-no-optimize",
    "-vc-disable-indvars-opt",
    "-vc-use-bindless-buffers",
    "-vc-use-bindless-images",
    "-vc-use-plain-2d-images",
];
/// Harmless options of both with a value behind a `=`.
const WITH_EQUALS: [&str; 3] = ["-cl-std", "-spir-std", "-cl-ext"];
/// Prefixes that IGC takes for the same options.
const IGC_PREFIXES: [&str; 5] = ["-cl-intel-", "-ze-intel-", "-ze-opt-", "-cl-", "-ze-"];
/// Harmless options of IGC behind one of the prefixes.
const OF_IGC: [&str; 62] = [
    "128-GRF-per-thread",
    "256-GRF-per-thread",
    "512-GRF-per-thread",
    "64bit-addressing",
    "allow-zebin",
    "buffer-bounds-checking",
    "buffer-offset-arg-required",
    "compile-one-at-time",
    "debug-info",
    "disable",
    "disable-a64WA",
    "disable-compaction",
    "disable-noMaskWA",
    "disable-recompilation",
    "disable-sendwarwa",
    "disable-zebin",
    "disableEUFusion",
    "enable-auto-large-GRF-mode",
    "enable-divergent-barrier-handling",
    "enable-ieee-float-exception-trap",
    "enable-zebin",
    "fail-on-spill",
    "force-disable-4GB-buffer",
    "force-emu-int32divrem",
    "force-emu-sp-int32divrem",
    "force-enable-a64WA",
    "force-global-mem-allocation",
    "fp64-gen-conv-emu",
    "fp64-gen-emu",
    "greater-than-4GB-buffer-required",
    "has-buffer-offset-arg",
    "has-positive-pointer-offset",
    "has-subDW-aligned-ptr-arg",
    "high-accuracy-nolut-math",
    "ignoreBFRounding",
    "kernel-debug-enable",
    "large-register-file",
    "ldstcombine",
    "match-sincospi",
    "minimum-valid-address-checking",
    "no-fusedCallWA",
    "no-local-to-generic",
    "no-prera-scheduling",
    "no-spill",
    "no-subgroup-ifp",
    "no-vector-decomposition",
    "opt-disable",
    "poison-unsupported-fp64-kernels",
    "replace-global-offsets-by-zero",
    "skip-fde",
    "static-profile-guided-trimming",
    "strict-aliasing",
    "take-global-address",
    "unsafe-math-optimizations",
    "use-32bit-ptr-arith",
    "use-bindless-advanced-mode",
    "use-bindless-buffers",
    "use-bindless-images",
    "use-bindless-legacy-mode",
    "use-bindless-mode",
    "use-bindless-printf",
    "vector-coalesing",
];
/// Harmless options of IGC behind one of the prefixes whose value is the next word, or stands behind a `=`.
const OF_IGC_WITH_VALUE: [&str; 13] = [
    "exp-register-file-size",
    "large-grf-kernel",
    "ldstcombine",
    "ldstcombine-max-loadbytes",
    "ldstcombine-max-storebytes",
    "level",
    "library-compile-simd",
    "load-cache-default",
    "num-thread-per-eu",
    "private-memory-minimal-size-per-thread",
    "regular-grf-kernel",
    "reqd-eu-thread-count",
    "store-cache-default",
];
/// Harmless options of the finalizer; others name files.
const OF_FINALIZER: [&str; 8] = [
    "-printregusage",
    "-DPASTokenReduction",
    "-enableBCR",
    "-enableBundleCR",
    "-enableIGASWSB",
    "-noLocalSplit",
    "-noSendSrcDstOverlap",
    "-presched",
];
/// Harmless settings of IGC; others have it write what it does, where they say.
const IGC_SETTINGS: [&str; 5] = [
    "PartitionUnit",
    "SubroutineThreshold",
    "KernelTotalSizeThreshold",
    "ExpandedUnitSizeThreshold",
    "DisableLoopUnroll",
];

/// Parts options for Intel's OpenCL CPU driver.
pub(crate) fn for_cpu(given: Given<'_>) -> Options {
    let mut out = Parted::default();
    for (text, trusted) in [(given.own, false), (given.trusted, true)] {
        let (own, for_igc) = part_ocloc(text, None, &mut out);
        out.removed.extend(for_igc);
        let mut words = own.into_iter();
        while let Some(word) = words.next() {
            if out.translate(&word) {
            } else if NOT_FOR_CPU_WITH_VALUE.contains(&word.as_str()) {
                let value = words.next().unwrap_or_default();
                out.removed.push(format!("{word} {value}").trim_end().to_owned());
            } else if NOT_FOR_CPU.iter().any(|start| word.starts_with(start)) {
                out.removed.push(word);
            } else if word == "-x" && words.as_slice().first().is_some_and(|kind| kind == "spir") {
                words.next();
                out.kept.push("-x spir".to_owned());
            } else if trusted || COMMON.contains(&word.as_str()) || OF_CPU.contains(&word.as_str()) || has_value(&word)
            {
                out.kept.push(word);
            } else {
                out.refused.push(word);
            }
        }
    }
    out.into_options()
}

/// Options that ask for twice the registers of a kernel.
pub(crate) const LARGE_REGISTERS: [&str; 4] =
    ["-ze-opt-large-register-file", "-cl-intel-256-GRF-per-thread", "-doubleGRF", "-double-GRF"];
/// Options that mean something for NVIDIA GPUs, beside [`LARGE_REGISTERS`].
const OF_NVIDIA: [&str; 2] = ["-cl-fast-relaxed-math", "-cl-denorms-are-zero"];

/// Parts options for NVIDIA GPUs: what is said for Intel's is understood where it has a meaning there, and else not passed on.
pub(crate) fn for_nvidia(given: Given<'_>, misc: Option<&Misc>) -> Options {
    let mut out = for_gpu(given, None, misc);
    let all = std::mem::take(&mut out.kept);
    let (kept, rest): (Vec<&str>, Vec<&str>) =
        words(&all).into_iter().partition(|word| OF_NVIDIA.contains(word) || LARGE_REGISTERS.contains(word));
    out.removed.extend(rest.into_iter().map(str::to_owned));
    Options { kept: kept.join(" "), ..out }
}

/// Parts options for the compiler of an Intel GPU, by the name that ocloc knows it by; without one, what is for certain
/// GPUs only is left away. `misc` is given with the compile options, to which the runtime adds what the properties say.
pub(crate) fn for_gpu(given: Given<'_>, device: Option<&str>, misc: Option<&Misc>) -> Options {
    let mut out = Parted::default();
    for (text, trusted) in [(given.own, false), (given.trusted, true)] {
        let (mut all, for_igc) = part_ocloc(text, device, &mut out);
        all.extend(for_igc);
        let mut words = all.into_iter();
        while let Some(word) = words.next() {
            if let Some(modes) = word.strip_prefix(ALLOC_MODE) {
                let modes: Vec<String> =
                    modes.split(',').filter_map(|mode| alloc_mode(mode, device)).map(str::to_owned).collect();
                for mode in modes {
                    let list = if trusted || is_igc(&mode) { &mut out.kept } else { &mut out.refused };
                    list.push(mode);
                }
                out.removed.push(word);
            } else if word == FAST.0 {
                out.kept.push(FAST.1.to_owned());
                out.removed.push(word);
            } else if out.translate(&word) {
            } else if trusted
                || COMMON.contains(&word.as_str())
                || OF_GPU.contains(&word.as_str())
                || is_igc(&word)
                || has_value(&word)
            {
                out.kept.push(word);
            } else if let Some(harmless) = value_test(&word) {
                let value = words.next().unwrap_or_default();
                let list = if harmless(&value) { &mut out.kept } else { &mut out.refused };
                list.push(format!("{word} {value}").trim_end().to_owned());
            } else {
                out.refused.push(word);
            }
        }
    }
    for added in misc.map(added).unwrap_or_default() {
        if !out.kept.iter().any(|option| option == added) {
            out.kept.push(added.to_owned());
        }
    }
    out.into_options()
}

/// Options while they are parted.
#[derive(Default)]
struct Parted {
    kept: Vec<String>,
    removed: Vec<String>,
    refused: Vec<String>,
}

impl Parted {
    /// Puts in what the runtime makes of an option, once. Returns whether it makes something of it.
    fn translate(&mut self, word: &str) -> bool {
        let Some((_, instead)) = TRANSLATED.iter().find(|(known, _)| *known == word) else { return false };
        if !instead.is_empty() && !self.kept.iter().any(|option| option == instead) {
            self.kept.push((*instead).to_owned());
        }
        self.removed.push(word.to_owned());
        true
    }

    fn into_options(self) -> Options {
        Options { kept: self.kept.join(" "), removed: self.removed, refused: self.refused }
    }
}

/// Takes ocloc's own options out of a text. Returns the words that are left, and those that ocloc would hand to IGC: in an
/// image the quotation marks around them are gone, so they reach to ocloc's next option.
fn part_ocloc(text: &str, device: Option<&str>, out: &mut Parted) -> (Vec<String>, Vec<String>) {
    let (mut own, mut for_igc) = (Vec::new(), Vec::new());
    let mut words = words(text).into_iter().peekable();
    // Whether words are for IGC, and whether for this device.
    let mut inside = None;
    while let Some(word) = words.next() {
        match word {
            FOR_IGC => inside = Some(true),
            FOR_IGC_OF_DEVICE => {
                let wanted = words.next().unwrap_or_default();
                out.removed.push(format!("{word} {wanted}").trim_end().to_owned());
                inside = Some(wanted.split(',').any(|one| is_of(one, device)));
            }
            flag if OCLOC_FLAGS.contains(&flag) => {
                out.removed.push(flag.to_owned());
                inside = None;
            }
            option if OCLOC_WITH_VALUE.contains(&option) => {
                let value = words.next().unwrap_or_default();
                out.removed.push(format!("{option} {value}").trim_end().to_owned());
                inside = None;
            }
            word => match inside {
                None => own.push(word.to_owned()),
                Some(wanted) => {
                    let quoted = word.len() > 1 && word.starts_with(['"', '\'']) && word.ends_with(['"', '\'']);
                    let inner: Vec<String> = match quoted {
                        true => self::words(word.trim_matches(['"', '\''])).into_iter().map(str::to_owned).collect(),
                        false => vec![word.to_owned()],
                    };
                    let list = if wanted { &mut for_igc } else { &mut out.removed };
                    list.extend(inner);
                    if quoted {
                        inside = None;
                    }
                }
            },
        }
    }
    (own, for_igc)
}

/// Whether a value is a plain word, which names no file.
fn is_plain(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:+*".contains(c);
    !value.is_empty() && value.chars().all(plain)
}

/// Whether a word is a harmless option with its value behind a `=`.
fn has_value(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| WITH_EQUALS.contains(&name) && is_plain(value))
}

/// Whether a word is a harmless option of IGC by itself.
fn is_igc(word: &str) -> bool {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let among = |list: &[&str]| {
        IGC_PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| list.contains(&rest))
    };
    match value {
        None => among(&OF_IGC),
        Some(value) => among(&OF_IGC_WITH_VALUE) && is_plain(value),
    }
}

/// Returns the test of the next word's harmlessness for an option of the GPU compilers that takes it as its value.
fn value_test(word: &str) -> Option<fn(&str) -> bool> {
    let of_igc = |name: &str| {
        IGC_PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| OF_IGC_WITH_VALUE.contains(&rest))
    };
    match word {
        "-Xfinalizer" => Some(|value| OF_FINALIZER.contains(&value)),
        "-igc_opts" => Some(|value| {
            let mut settings = value.trim_matches(['"', '\'']).split(',').map(str::trim);
            settings.all(|one| {
                one.split_once('=').is_some_and(|(name, value)| IGC_SETTINGS.contains(&name) && is_plain(value))
            })
        }),
        word if of_igc(word) => Some(is_plain),
        _ => None,
    }
}

/// Whether a name means a device; `pvc` is all of Ponte Vecchio, as in the runtime.
fn is_of(wanted: &str, device: Option<&str>) -> bool {
    let Some(device) = device else { return false };
    let family = device.split_once(['-', '_']).map_or(device, |(family, _)| family);
    wanted == device || wanted == family
}

/// Returns the option of a mode that is for this device.
fn alloc_mode<'m>(mode: &'m str, device: Option<&str>) -> Option<&'m str> {
    let (wanted, option) = mode.split_once(':')?;
    is_of(wanted, device).then_some(option)
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
    // The vector compiler knows no level but the usual one.
    if misc.level == Some(0) && !misc.esimd {
        out.push("-cl-opt-disable");
    }
    out
}

/// Splits at white space outside quotation marks; the marks stay, for they are the compiler's to read.
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

    fn cpu(options: &str) -> (String, Vec<String>) {
        let Options { kept, removed, refused } = for_cpu(Given::by_image(options));
        assert_eq!(refused, Vec::<String>::new(), "{options}");
        (kept, removed)
    }

    fn gpu(options: &str, device: Option<&str>) -> Options {
        for_gpu(Given::by_image(options), device, None)
    }

    #[test]
    fn nvidia_gpus_get_what_has_a_meaning_there() {
        let own = "-cl-fast-relaxed-math -ze-opt-large-register-file -cl-mad-enable -igc_opts 'DumpToCustomDir=/'";
        let out = for_nvidia(Given::by_image(own), None);
        assert_eq!(out.kept, "-cl-fast-relaxed-math -ze-opt-large-register-file");
        assert!(out.removed.contains(&"-cl-mad-enable".to_owned()), "{out:?}");
        let misc = Misc { grf_size: Some(256), ..Misc::default() };
        let kept = for_nvidia(Given::default(), Some(&misc)).kept;
        assert!(LARGE_REGISTERS.contains(&kept.as_str()), "{kept}");
    }

    #[test]
    fn what_only_the_runtime_or_a_gpu_knows_is_removed() {
        // The options that dpnp's images carry.
        let real = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";
        assert_eq!(cpu(real), (String::new(), vec![real.into()]));
        assert_eq!(
            cpu(" -g -ze-opt-large-register-file  -doubleGRF\t-cl-mad-enable -vc-codegen"),
            (
                "-g -cl-mad-enable".into(),
                vec!["-ze-opt-large-register-file".into(), "-doubleGRF".into(), "-vc-codegen".into()]
            )
        );
        assert_eq!(
            cpu("-igc_opts 'PartitionUnit=1, SubroutineThreshold=50000' -w"),
            ("-w".into(), vec!["-igc_opts 'PartitionUnit=1, SubroutineThreshold=50000'".into()])
        );
        assert_eq!(cpu("-igc_opts"), (String::new(), vec!["-igc_opts".into()]));
    }

    /// The options of images of bitsandbytes, Blender and Intel's extension for TensorFlow.
    #[test]
    fn options_of_ocloc_are_parted_from_those_of_the_compilers() {
        let alloc = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";
        let bitsandbytes = format!(
            "{alloc} -device pvc,xe-lpg,ats-m150 -options  -cl-intel-enable-auto-large-GRF-mode \
             -cl-poison-unsupported-fp64-kernels -cl-intel-greater-than-4GB-buffer-required"
        );
        assert_eq!(cpu(&bitsandbytes).0, "");
        let for_pvc = gpu(&bitsandbytes, Some("pvc"));
        assert_eq!(
            for_pvc.kept,
            "-ze-intel-enable-auto-large-GRF-mode -cl-intel-enable-auto-large-GRF-mode \
             -cl-poison-unsupported-fp64-kernels -cl-intel-greater-than-4GB-buffer-required"
        );
        assert_eq!(
            (for_pvc.removed, for_pvc.refused.len()),
            (vec!["-device pvc,xe-lpg,ats-m150".to_owned(), alloc.to_owned()], 0)
        );
        let blender = format!(
            "{alloc} -options -cl-fast-relaxed-math -ze-intel-enable-auto-large-GRF-mode -ze-opt-regular-grf-kernel \
             integrator_intersect -ze-opt-large-grf-kernel shade_surface -ze-opt-no-local-to-generic"
        );
        // Relaxed math was asked of ocloc alone.
        assert_eq!(cpu(&blender).0, "");
        let kept = gpu(&blender, Some("bmg-g21"));
        assert!(kept.kept.ends_with("-ze-opt-large-grf-kernel shade_surface -ze-opt-no-local-to-generic"), "{kept:?}");
        assert!(kept.refused.is_empty(), "{kept:?}");
        let tensorflow = "-doubleGRF -Xfinalizer -printregusage -Xfinalizer -DPASTokenReduction -Xfinalizer -enableBCR";
        assert_eq!(cpu(tensorflow).0, "");
        assert_eq!(gpu(tensorflow, Some("pvc")).kept, tensorflow);
        let quoted = r#"-device_options pvc "-ze-opt-large-register-file -g" -options '-w' -cl-mad-enable"#;
        assert_eq!(gpu(quoted, Some("pvc")).kept, "-cl-mad-enable -ze-opt-large-register-file -g -w");
        assert_eq!(gpu(quoted, Some("dg1")).kept, "-cl-mad-enable -w");
        assert_eq!(cpu(quoted).0, "-cl-mad-enable");
    }

    #[test]
    fn what_may_write_files_is_refused_unless_the_user_says_it() {
        for hostile in [
            "-igc_opts 'ShaderDumpEnable=1,DumpToCustomDir=/tmp/x/'",
            "-igc_opts ShaderDumpEnable=1",
            "-igc_opts PartitionUnit=/x",
            "-dump-opt-llvm=/tmp/x",
            "-Xfinalizer -dumpcommonisa",
            "-visaopts=-dumpvisa",
            "-ze-opt-large-grf-kernel ../../x",
            "-cl-std=../x",
            "-I/etc",
            "-bogus",
        ] {
            for options in [hostile.to_owned(), format!("-options {hostile}"), format!("-options \"{hostile}\"")] {
                let found = gpu(&options, Some("pvc"));
                assert_eq!(found.kept, "", "{options}");
                assert!(!found.refused.is_empty(), "{options}");
            }
            let trusted = for_gpu(Given { own: "-g", trusted: hostile }, Some("pvc"), None);
            assert_eq!((trusted.kept, trusted.refused.len()), (format!("-g {hostile}"), 0));
        }
        for hostile in ["-s /etc/passwd", "-dump-opt-asm=x", "-I /a", "-D A=/b", "-x cl", "-cl-bogus"] {
            let found = for_cpu(Given::by_image(hostile));
            assert_eq!(found.kept, "", "{hostile}");
            assert_eq!(found.refused.join(" "), hostile);
            assert_eq!(for_cpu(Given { own: "", trusted: hostile }).kept, hostile);
        }
        assert_eq!(for_cpu(Given::by_image("-x spir -cl-std=CL2.0 -g")).kept, "-x spir -cl-std=CL2.0 -g");
        let mode = "-ftarget-register-alloc-mode=pvc:-dump-opt-llvm=x";
        assert_eq!(gpu(mode, Some("pvc")).kept, "");
    }

    #[test]
    fn what_the_runtime_translates_is_translated_once() {
        assert_eq!(
            cpu("-foffload-fp32-prec-sqrt -foffload-fp32-prec-div -O2"),
            (
                "-cl-fp32-correctly-rounded-divide-sqrt".into(),
                vec!["-foffload-fp32-prec-sqrt".into(), "-foffload-fp32-prec-div".into(), "-O2".into()]
            )
        );
        assert_eq!(cpu("-O0").0, "-cl-opt-disable");
    }

    #[test]
    fn what_is_for_one_gpu_goes_to_that_alone() {
        let real = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode";
        let kept = |device| gpu(real, device).kept;
        assert_eq!(kept(Some("pvc")), "-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!(kept(Some("pvc-vg")), "-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!((kept(Some("dg1")), kept(None)), (String::new(), String::new()));
        assert_eq!(gpu(real, Some("dg1")).removed, [real]);
    }

    #[test]
    fn options_become_those_of_the_gpu() {
        let text =
            "-O2 -g -ze-opt-large-register-file -foffload-fp32-prec-div -foffload-fp32-prec-sqrt -ftarget-compile-fast";
        assert_eq!(
            gpu(text, Some("dg1")).kept,
            "-g -ze-opt-large-register-file -cl-fp32-correctly-rounded-divide-sqrt \
             -igc_opts 'PartitionUnit=1,SubroutineThreshold=50000'"
        );
    }

    #[test]
    fn properties_become_options_once() {
        let of = |misc: Misc, options: &str| for_gpu(Given::by_image(options), Some("pvc"), Some(&misc)).kept;
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
