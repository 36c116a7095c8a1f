//! What does an error code mean?
//!
//! One error has a number in OpenCL (`CL/cl.h`), another in Unified Runtime (`ur_api.h`), and names in both, in the older
//! Plugin Interface (`PI_ERROR_...`), which took OpenCL's numbers, and in Level Zero (`ze_api.h`). `ocloc` ends with
//! OpenCL's numbers and some of its own (`ocloc_api.h`), of which a shell sees the lowest byte. The table is `codes.txt`:
//! OpenCL's number, Unified Runtime's, the name and others without their prefixes; then what it means, and what helps.
//!
//! The table is `phrases.txt`: a topic, and behind it the words of which one tells it; then what it means, and what helps.
//! The words are those of libsycl 2026.2, DPC++'s driver and `sycl-post-link`, Intel's graphics driver, GNU ld, and ours.

use schemars::JsonSchema;
use serde::Serialize;
use std::sync::OnceLock;

/// An error by all its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Names without their prefixes, the usual one first.
    pub(crate) names: Vec<&'static str>,
    /// OpenCL's number.
    pub(crate) opencl: Option<i64>,
    /// Unified Runtime's number.
    pub(crate) unified: Option<i64>,
    /// Meaning.
    pub(crate) meaning: &'static str,
    /// Remedies.
    pub(crate) remedies: Vec<&'static str>,
}

impl Code {
    /// The name, and OpenCL's number where it has one.
    pub(crate) fn title(&self) -> String {
        let name = self.names.first().copied().unwrap_or_default();
        match (self.opencl, self.unified) {
            (Some(number), _) => format!("{name} ({number})"),
            (None, Some(number)) => format!("{name} (UR {number})"),
            (None, None) => name.to_owned(),
        }
    }
}

/// Exit codes of `ocloc`: the number, the name, the meaning.
const OCLOC: [(i64, &str, &str); 7] = [
    (-6, "OCLOC_OUT_OF_HOST_MEMORY", "ocloc ran out of memory."),
    (-11, "OCLOC_BUILD_PROGRAM_FAILURE", "ocloc's compiler refused the code; what it printed before says why."),
    (-33, "OCLOC_INVALID_DEVICE", "ocloc does not know the device that -device names."),
    (-44, "OCLOC_INVALID_PROGRAM", "What ocloc was given is no program that it takes."),
    (-5150, "OCLOC_INVALID_COMMAND_LINE", "ocloc does not understand its command line."),
    (-5151, "OCLOC_INVALID_FILE", "A file that ocloc was to read is missing or cannot be read."),
    (-5152, "OCLOC_COMPILATION_CRASH", "ocloc's compiler crashed."),
];

/// All codes.
pub fn codes() -> &'static [Code] {
    static CODES: OnceLock<Vec<Code>> = OnceLock::new();
    CODES.get_or_init(|| {
        let mut codes: Vec<Code> = Vec::new();
        for line in include_str!("codes.txt").lines() {
            match (line.strip_prefix("  "), codes.last_mut()) {
                (Some(text), Some(code)) => match text.strip_prefix("help: ") {
                    Some(remedy) => code.remedies.push(remedy),
                    None => code.meaning = text,
                },
                _ => codes.extend(head(line)),
            }
        }
        codes
    })
}

fn head(line: &'static str) -> Option<Code> {
    let mut words = line.split(' ');
    let mut number = || words.next().map(|word| word.parse::<i64>().ok());
    let (opencl, unified) = (number()?, number()?);
    Some(Code { names: words.collect(), opencl, unified, meaning: "", remedies: Vec::new() })
}

/// The code of a name with its prefix, as `PI_ERROR_INVALID_BINARY`.
pub(crate) fn by_name(name: &str) -> Option<&'static Code> {
    const PREFIXES: [&str; 6] =
        ["UR_RESULT_ERROR_", "PI_ERROR_", "ZE_RESULT_ERROR_", "CUDA_ERROR_", "CL_ERROR_", "CL_"];
    let stem = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    codes().iter().find(|code| code.names.contains(&stem))
}

/// The code of an OpenCL number.
pub(crate) fn by_opencl(number: i64) -> Option<&'static Code> {
    codes().iter().find(|code| code.opencl == Some(number))
}

/// The code of a Unified Runtime number.
pub(crate) fn by_unified(number: i64) -> Option<&'static Code> {
    codes().iter().find(|code| code.unified == Some(number))
}

/// Explains a number that `ocloc` ended with, as ocloc's own number or as a shell shows it: number, name and meaning.
pub(crate) fn by_ocloc(number: i64) -> Option<(i64, &'static str, &'static str)> {
    OCLOC.iter().copied().find(|(own, _, _)| *own == number || own.rem_euclid(256) == number)
}

/// Makes the enumeration of topics with their names.
macro_rules! topics {
    ($($id:ident $name:literal,)*) => {
        /// Cause that a message tells, as a word for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
        #[schemars(inline)]
        pub(crate) enum Topic {
            $(#[doc = concat!("`", $name, "`.")] #[serde(rename = $name)] $id,)*
        }

        impl Topic {
            /// All topics.
            pub(crate) const ALL: &[Topic] = &[$(Topic::$id),*];

            /// Returns the word.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Topic::$id => $name,)*
                }
            }
        }
    };
}

topics! {
    NoKernel "no-kernel",
    NoImage "no-image",
    NoBundle "no-bundle",
    NotSupported "not-supported",
    Aspect "aspect",
    SubGroupSize "sub-group-size",
    WorkGroupSize "work-group-size",
    LocalSize "local-size",
    Dimensions "dimensions",
    TooLarge "too-large",
    Matrix "matrix",
    FixedTarget "fixed-target",
    Symbols "symbols",
    NoLinking "no-linking",
    SpirvCapability "spirv-capability",
    SpirvOpcode "spirv-opcode",
    SpirvExtension "spirv-extension",
    Amx "amx",
    NoDevice "no-device",
    NoOcloc "no-ocloc",
    OclocDevice "ocloc-device",
    Ocloc "ocloc",
    Code "code",
    AddressMode "address-mode",
    ArchiveDevice "archive-device",
    BackendMismatch "backend-mismatch",
    BuiltInKernel "built-in-kernel",
    BundleCompiler "bundle-compiler",
    BundleConstants "bundle-constants",
    BundleContext "bundle-context",
    BundleDevices "bundle-devices",
    BundleKernel "bundle-kernel",
    BundleLinker "bundle-linker",
    BundleSource "bundle-source",
    BundleState "bundle-state",
    CacheFailure "cache-failure",
    CrossImageLink "cross-image-link",
    DeclaredAspects "declared-aspects",
    DeviceFilter "device-filter",
    DeviceGlobal "device-global",
    DeviceQuery "device-query",
    DuplicateSymbol "duplicate-symbol",
    ErrcBuild "errc-build",
    ErrcInvalid "errc-invalid",
    ExternalFunction "external-function",
    ForwardProgress "forward-progress",
    ImageDescriptor "image-descriptor",
    ImageMerge "image-merge",
    IntRange "int-range",
    JitBackend "jit-backend",
    KernelDevice "kernel-device",
    KernelFile "kernel-file",
    KernelQuery "kernel-query",
    ManyWorkGroups "many-work-groups",
    MissingExport "missing-export",
    MissingTarget "missing-target",
    NdRange "nd-range",
    NoCompiler "no-compiler",
    NoImages "no-images",
    NonUniform "non-uniform",
    CompilerOption "compiler-option",
    OclocCrash "ocloc-crash",
    OclocEmpty "ocloc-empty",
    OclocInput "ocloc-input",
    OclocLibrary "ocloc-library",
    OclocParts "ocloc-parts",
    OclocTarget "ocloc-target",
    OtherFixedTargets "other-fixed-targets",
    Profiling "profiling",
    Registers "registers",
    RelocationOverflow "relocation-overflow",
    RequiredWorkGroup "required-work-group",
    ScratchMemory "scratch-memory",
    Selector "selector",
    SeveralGpus "several-gpus",
    SingleImage "single-image",
    SubDevices "sub-devices",
    UnlistedImports "unlisted-imports",
    Usm "usm",
    ZebinDamaged "zebin-damaged",
    ZeroWorkGroup "zero-work-group",
}

/// A known sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// The cause that it tells.
    pub(crate) topic: Topic,
    /// Words of which one is in the sentence.
    pub(crate) words: Vec<&'static str>,
    /// Meaning.
    pub(crate) meaning: &'static str,
    /// Remedies.
    pub(crate) remedies: Vec<&'static str>,
}

impl Phrase {
    /// Whether it names an error code alone, and not its cause.
    pub(crate) fn is_general(&self) -> bool {
        matches!(self.topic, Topic::ErrcBuild | Topic::ErrcInvalid)
    }
}

/// All that are known.
pub(crate) fn phrases() -> &'static [Phrase] {
    static PHRASES: OnceLock<Vec<Phrase>> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut phrases: Vec<Phrase> = Vec::new();
        for line in include_str!("phrases.txt").lines() {
            match (line.strip_prefix("  "), phrases.last_mut()) {
                (Some(text), Some(phrase)) => match text.strip_prefix("help: ") {
                    Some(remedy) => phrase.remedies.push(remedy),
                    None => phrase.meaning = text,
                },
                _ => phrases.extend(line.split_once(": ").and_then(|(topic, words)| {
                    let topic = *Topic::ALL.iter().find(|known| known.name() == topic)?;
                    Some(Phrase { topic, words: words.split(" | ").collect(), meaning: "", remedies: Vec::new() })
                })),
            }
        }
        phrases
    })
}

/// Finds the phrases that a line holds.
pub(crate) fn in_line(line: &str) -> impl Iterator<Item = &'static Phrase> {
    phrases().iter().filter(move |phrase| phrase.words.iter().any(|words| line.contains(words)))
}
