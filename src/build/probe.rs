//! What does a live driver really take?
//!
//! Drivers tell too little: they build modules of versions and with capabilities that no query of theirs lists. So a kernel
//! for each is built, in worker processes, as drivers die of some. A no is told apart by how it came: the driver refused,
//! it died, or it gave no answer. A driver that takes a capability or an extension that does not exist looks at none,
//! and its yes to one that is only declared says nothing.

use super::FailureCause;
use super::query::{Query, Question, ask};
use super::{Event, Launch, Settings};
use crate::error::Result;
use crate::spirv::grammar::capability_name;
use crate::spirv::micro::{KERNEL, ProbeFeatures, ProbeOperation, module};
use crate::spirv::op;

/// The thing that a probe asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A version of SPIR-V.
    Version(u8, u8),
    /// A capability, by number, and the extension that brings it.
    Capability(u32, &'static str),
    /// An extension that brings no capability.
    Extension(&'static str),
}

/// The driver's reaction to a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The kernel built.
    Taken,
    /// The driver refused, with this message.
    Refused(String),
    /// The driver ended its process.
    Died(String),
    /// The driver gave no answer, or none that can be understood.
    Silent(String),
}

/// Result of probing one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probed {
    /// The subject of the probe.
    pub(crate) subject: Subject,
    /// Whether the kernel's code uses it, rather than only declaring it.
    pub(crate) used: bool,
    /// The driver's reaction.
    pub(crate) reply: Reply,
}

/// Results of probing a device's driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probes {
    /// In the order of versions, capabilities, extensions.
    pub(crate) all: Vec<Probed>,
    /// Whether a capability that does not exist is refused.
    pub(crate) checks_capabilities: bool,
    /// Whether an extension that does not exist is refused.
    pub(crate) checks_extensions: bool,
}

impl Subject {
    /// Returns the subject's name.
    pub(crate) fn name(&self) -> String {
        match self {
            Subject::Version(major, minor) => format!("{major}.{minor}"),
            Subject::Capability(number, _) => capability_name(*number).into_owned(),
            Subject::Extension(name) => (*name).to_owned(),
        }
    }
}

impl Reply {
    /// The answer as a word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Reply::Taken => "yes",
            Reply::Refused(_) => "refused",
            Reply::Died(_) => "died",
            Reply::Silent(_) => "silent",
        }
    }

    /// Returns the reason of a refusal.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Reply::Taken => None,
            Reply::Refused(why) | Reply::Died(why) | Reply::Silent(why) => Some(why),
        }
    }
}

impl Probes {
    /// The newest version that was taken, as were all before it.
    pub(crate) fn version(&self) -> Option<(u8, u8)> {
        let versions = self.all.iter().filter_map(|one| match one.subject {
            Subject::Version(major, minor) => Some(((major, minor), one.reply == Reply::Taken)),
            _ => None,
        });
        versions.take_while(|(_, taken)| *taken).last().map(|(version, _)| version)
    }

    /// Whether the driver's yes to a subject tells something.
    pub(crate) fn telling(&self, one: &Probed) -> bool {
        match one.subject {
            Subject::Version(..) => true,
            Subject::Capability(..) => one.used || self.checks_capabilities,
            Subject::Extension(_) => self.checks_extensions,
        }
    }
}

/// Returns the operation that the kernel of a capability performs.
fn act(number: u32) -> ProbeOperation {
    match number {
        9 => ProbeOperation::Float(16),
        10 => ProbeOperation::Float(64),
        11 => ProbeOperation::Int(64),
        22 => ProbeOperation::Int(16),
        39 => ProbeOperation::Int(8),
        12 => ProbeOperation::AtomicInt(op::ATOMIC_EXCHANGE, 64),
        5612 => ProbeOperation::AtomicFloat(op::ATOMIC_F_MAX, 32),
        5613 => ProbeOperation::AtomicFloat(op::ATOMIC_F_MAX, 64),
        5616 => ProbeOperation::AtomicFloat(op::ATOMIC_F_MAX, 16),
        6033 => ProbeOperation::AtomicFloat(op::ATOMIC_F_ADD, 32),
        6034 => ProbeOperation::AtomicFloat(op::ATOMIC_F_ADD, 64),
        6095 => ProbeOperation::AtomicFloat(op::ATOMIC_F_ADD, 16),
        _ => ProbeOperation::Nothing,
    }
}

/// A capability with all that it implies, and their extensions.
fn whole(number: u32, need: &mut ProbeFeatures<'_>) {
    let known = CAPABILITIES.iter().find(|known| known.0 == number);
    let Some((_, extension, version, implied)) = known else { return need.capabilities.push(number) };
    for implied in *implied {
        whole(*implied, need);
    }
    need.version = need.version.max(*version);
    if !extension.is_empty() && !need.extensions.contains(extension) {
        need.extensions.push(extension);
    }
    need.capabilities.push(number);
}

/// The kernel for a subject, and whether its code uses it.
fn need(subject: &Subject) -> (ProbeFeatures<'static>, bool) {
    let mut need = ProbeFeatures {
        version: (1, 0),
        capabilities: Vec::new(),
        extensions: Vec::new(),
        operation: ProbeOperation::Nothing,
    };
    match subject {
        Subject::Version(major, minor) => need.version = (*major, *minor),
        Subject::Extension(name) => need.extensions.push(name),
        Subject::Capability(number, _) => {
            need.operation = act(*number);
            // The types of the atomics are capabilities of their own.
            match need.operation {
                ProbeOperation::AtomicFloat(_, 16) => need.capabilities.push(9),
                ProbeOperation::AtomicFloat(_, 64) => need.capabilities.push(10),
                _ => {}
            }
            whole(*number, &mut need);
        }
    }
    let used = need.operation != ProbeOperation::Nothing;
    (need, used)
}

/// The subjects, and the module for each.
pub(crate) fn subjects() -> Vec<(Subject, Vec<u8>)> {
    let versions = VERSIONS.into_iter().map(|(major, minor)| Subject::Version(major, minor));
    let capabilities = CAPABILITIES.into_iter().map(|(number, extension, ..)| Subject::Capability(number, extension));
    let extensions = EXTENSIONS.into_iter().map(Subject::Extension);
    let all = versions.chain(capabilities).chain(extensions);
    all.map(|subject| (subject.clone(), module(&need(&subject).0))).collect()
}

/// Asks the driver of device number `device` of the inventory about everything.
///
/// # Errors
/// `Environment` where the machine cannot build anything at all.
pub(crate) fn probe(
    device: u32,
    launch: &Launch,
    settings: &Settings,
    on_event: &mut dyn FnMut(Event<'_, super::query::Answered>),
) -> Result<Probes> {
    let mut all = subjects();
    for none in [Subject::Capability(NO_CAPABILITY, ""), Subject::Extension(NO_EXTENSION)] {
        let module = module(&need(&none).0);
        all.push((none, module));
    }
    let query = |module: &'_ Vec<u8>| Query {
        modules: vec![module.clone().into()],
        native: false,
        options: "".into(),
        kernels: vec![KERNEL.into()],
    };
    let questions: Vec<Question<'_>> =
        all.iter().enumerate().map(|(image, (_, module))| Question { image, query: query(module) }).collect();
    let outcomes = ask(&questions, device, launch, settings, on_event)?;
    let mut probes = Probes::default();
    for ((subject, _), outcome) in all.iter().zip(outcomes) {
        let reply = match outcome {
            Ok(answered) => match answered.kernels.first() {
                Some(kernel) if kernel.status == 0 => Reply::Taken,
                Some(kernel) => Reply::Refused(format!("the program has no such kernel (status {})", kernel.status)),
                None => Reply::Silent("the worker process named no kernel".to_owned()),
            },
            Err(failure) => {
                let said = telling(&failure.log);
                let why = format!("{failure}{}", said.map(|line| format!(": {line}")).unwrap_or_default());
                match failure.cause {
                    FailureCause::Refused { .. } => Reply::Refused(said.map_or(why.clone(), str::to_owned)),
                    FailureCause::Died(_) => Reply::Died(why),
                    FailureCause::TimedOut { .. } | FailureCause::BadOutput(_) => Reply::Silent(why),
                }
            }
        };
        match subject {
            Subject::Capability(NO_CAPABILITY, _) => probes.checks_capabilities = reply != Reply::Taken,
            Subject::Extension(NO_EXTENSION) => probes.checks_extensions = reply != Reply::Taken,
            _ => probes.all.push(Probed { subject: subject.clone(), used: need(subject).1, reply }),
        }
    }
    Ok(probes)
}

/// Words of a line that says why, the most telling first.
const TELLING: [&str; 6] = ["require", "not found", "not supported", "unsupported", "invalid", "error"];

/// The line of a build log that says most; none where none says anything.
fn telling(log: &str) -> Option<&str> {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let with = |word: &str| lines().find(|line| line.to_ascii_lowercase().contains(word));
    TELLING.into_iter().find_map(with)
}

/// Number, extension (empty where the core has it), version, implied capabilities.
type Known = (u32, &'static str, (u8, u8), &'static [u32]);

/// The capabilities, by number.
const CAPABILITIES: [Known; 104] = [
    (7, "", (1, 0), &[]),
    (8, "", (1, 0), &[]),
    (9, "", (1, 0), &[]),
    (10, "", (1, 0), &[]),
    (11, "", (1, 0), &[]),
    (12, "", (1, 0), &[11]),
    (13, "", (1, 0), &[]),
    (14, "", (1, 0), &[13]),
    (15, "", (1, 0), &[13]),
    (17, "", (1, 0), &[]),
    (19, "", (1, 0), &[]),
    (20, "", (1, 0), &[]),
    (22, "", (1, 0), &[]),
    (38, "", (1, 0), &[]),
    (39, "", (1, 0), &[]),
    (43, "", (1, 0), &[]),
    (44, "", (1, 0), &[43]),
    (46, "", (1, 0), &[]),
    (47, "", (1, 0), &[46]),
    (58, "", (1, 1), &[19]),
    (59, "", (1, 1), &[]),
    (60, "", (1, 1), &[17]),
    (61, "", (1, 3), &[]),
    (62, "", (1, 3), &[61]),
    (63, "", (1, 3), &[61]),
    (64, "", (1, 3), &[61]),
    (65, "", (1, 3), &[61]),
    (66, "", (1, 3), &[61]),
    (67, "", (1, 3), &[61]),
    (71, "", (1, 6), &[]),
    (4212, "SPV_EXT_float8", (1, 0), &[]),
    (4213, "SPV_EXT_float8", (1, 0), &[4212, 6022]),
    (4464, "", (1, 4), &[]),
    (4465, "", (1, 4), &[]),
    (4466, "", (1, 4), &[]),
    (4467, "", (1, 4), &[]),
    (4468, "", (1, 4), &[]),
    (4473, "SPV_KHR_untyped_pointers", (1, 0), &[]),
    (5055, "SPV_KHR_shader_clock", (1, 0), &[]),
    (5112, "SPV_INTEL_int4", (1, 0), &[]),
    (5114, "SPV_INTEL_int4", (1, 0), &[5112, 6022]),
    (5116, "SPV_KHR_bfloat16", (1, 0), &[]),
    (5117, "SPV_KHR_bfloat16", (1, 0), &[5116]),
    (5118, "SPV_KHR_bfloat16", (1, 0), &[5116, 6022]),
    (5568, "SPV_INTEL_subgroups", (1, 0), &[]),
    (5569, "SPV_INTEL_subgroups", (1, 0), &[]),
    (5570, "SPV_INTEL_subgroups", (1, 0), &[]),
    (5579, "SPV_INTEL_media_block_io", (1, 0), &[]),
    (5582, "SPV_INTEL_float_controls2", (1, 0), &[]),
    (5583, "SPV_INTEL_float_controls2", (1, 0), &[]),
    (5603, "SPV_INTEL_function_pointers", (1, 0), &[]),
    (5604, "SPV_INTEL_function_pointers", (1, 0), &[]),
    (5606, "SPV_INTEL_inline_assembly", (1, 0), &[]),
    (5612, "SPV_EXT_shader_atomic_float_min_max", (1, 0), &[]),
    (5613, "SPV_EXT_shader_atomic_float_min_max", (1, 0), &[]),
    (5616, "SPV_EXT_shader_atomic_float_min_max", (1, 0), &[]),
    (5617, "SPV_INTEL_vector_compute", (1, 0), &[5619]),
    (5619, "SPV_INTEL_vector_compute", (1, 0), &[]),
    (5629, "SPV_KHR_expect_assume", (1, 0), &[]),
    (5696, "SPV_INTEL_device_side_avc_motion_estimation", (1, 0), &[]),
    (5697, "SPV_INTEL_device_side_avc_motion_estimation", (1, 0), &[]),
    (5698, "SPV_INTEL_device_side_avc_motion_estimation", (1, 0), &[]),
    (5817, "SPV_INTEL_variable_length_array", (1, 0), &[]),
    (5821, "SPV_INTEL_float_controls2", (1, 0), &[]),
    (5837, "SPV_INTEL_fp_fast_math_mode", (1, 0), &[]),
    (5844, "SPV_INTEL_arbitrary_precision_integers", (1, 0), &[]),
    (5845, "SPV_INTEL_arbitrary_precision_floating_point", (1, 0), &[]),
    (5886, "SPV_INTEL_unstructured_loop_controls", (1, 0), &[]),
    (5892, "SPV_INTEL_kernel_attributes", (1, 0), &[]),
    (5910, "SPV_INTEL_memory_access_aliasing", (1, 0), &[]),
    (5922, "SPV_INTEL_arbitrary_precision_fixed_point", (1, 0), &[]),
    (5939, "SPV_INTEL_runtime_aligned", (1, 0), &[]),
    (6016, "SPV_KHR_integer_dot_product", (1, 0), &[]),
    (6017, "SPV_KHR_integer_dot_product", (1, 0), &[39]),
    (6018, "SPV_KHR_integer_dot_product", (1, 0), &[]),
    (6019, "SPV_KHR_integer_dot_product", (1, 0), &[]),
    (6022, "SPV_KHR_cooperative_matrix", (1, 0), &[]),
    (6024, "SPV_EXT_replicated_composites", (1, 0), &[]),
    (6025, "SPV_KHR_bit_instructions", (1, 0), &[]),
    (6026, "SPV_KHR_subgroup_rotate", (1, 0), &[61]),
    (6029, "SPV_KHR_float_controls2", (1, 0), &[]),
    (6033, "SPV_EXT_shader_atomic_float_add", (1, 0), &[]),
    (6034, "SPV_EXT_shader_atomic_float_add", (1, 0), &[]),
    (6089, "SPV_INTEL_long_composites", (1, 0), &[]),
    (6094, "SPV_INTEL_optnone", (1, 0), &[]),
    (6095, "SPV_EXT_shader_atomic_float16_add", (1, 0), &[]),
    (6114, "SPV_INTEL_debug_module", (1, 0), &[]),
    (6115, "SPV_INTEL_bfloat16_conversion", (1, 0), &[]),
    (6141, "SPV_INTEL_split_barrier", (1, 0), &[]),
    (6144, "SPV_EXT_arithmetic_fence", (1, 0), &[]),
    (6169, "SPV_INTEL_fp_max_error", (1, 0), &[]),
    (6187, "SPV_INTEL_global_variable_host_access", (1, 0), &[]),
    (6220, "SPV_INTEL_subgroup_buffer_prefetch", (1, 0), &[]),
    (6228, "SPV_INTEL_2d_block_io", (1, 0), &[]),
    (6229, "SPV_INTEL_2d_block_io", (1, 0), &[6228]),
    (6230, "SPV_INTEL_2d_block_io", (1, 0), &[6228]),
    (6236, "SPV_INTEL_subgroup_matrix_multiply_accumulate", (1, 0), &[]),
    (6241, "SPV_INTEL_ternary_bitwise_function", (1, 0), &[]),
    (6400, "SPV_KHR_uniform_group_instructions", (1, 0), &[]),
    (6425, "SPV_INTEL_tensor_float32_conversion", (1, 0), &[]),
    (6427, "SPV_INTEL_masked_gather_scatter", (1, 0), &[]),
    (6441, "SPV_INTEL_cache_controls", (1, 0), &[]),
    (6460, "SPV_INTEL_maximum_registers", (1, 0), &[]),
    (6528, "SPV_INTEL_bindless_images", (1, 0), &[]),
];

/// Extensions that bring no capability.
const EXTENSIONS: [&str; 3] =
    ["SPV_KHR_linkonce_odr", "SPV_KHR_no_integer_wrap_decoration", "SPV_KHR_non_semantic_info"];

/// Versions of SPIR-V.
const VERSIONS: [(u8, u8); 7] = [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)];

/// A capability and an extension that do not exist: a driver that takes them looks at none.
const NO_CAPABILITY: u32 = 8190;
/// See [`NO_CAPABILITY`].
const NO_EXTENSION: &str = "SPV_TEST_no_such_extension";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::Module;

    #[test]
    fn implied_capabilities_and_their_extensions_come_along() {
        let read = |number| Module::parse(&module(&need(&Subject::Capability(number, "")).0)).unwrap();
        let matrix = read(4213);
        assert_eq!(matrix.capabilities, [4, 6, 4212, 6022, 4213]);
        assert_eq!(matrix.extensions, ["SPV_EXT_float8", "SPV_KHR_cooperative_matrix"]);
        assert_eq!(read(62).version, (1, 3));
        assert_eq!(read(6034).capabilities, [4, 6, 10, 6034]);
        assert!(read(6034).used_aspects.contains("atomic64"));
        let mut numbers: Vec<u32> = CAPABILITIES.iter().map(|known| known.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), CAPABILITIES.len());
        assert!(numbers.iter().all(|number| capability_name(*number).parse::<u32>().is_err()), "all have names");
        assert!(capability_name(NO_CAPABILITY).parse::<u32>().is_ok());
    }

    #[test]
    fn workers_hand_every_probe_to_the_driver() {
        for (subject, module) in subjects() {
            assert_eq!(crate::compat::native::not_compiled(&module), None, "{}", subject.name());
        }
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        let log = "Compilation started\nUnsupported SPIR-V module\nSPIRV module requires unsupported capability 71\n";
        assert_eq!(telling(log), Some("SPIRV module requires unsupported capability 71"));
        assert_eq!(
            telling("started\n JIT session error: Symbols not found: [ f ]"),
            Some("JIT session error: Symbols not found: [ f ]")
        );
        assert_eq!((telling("started\nfailed"), telling("")), (None, None));
    }

    #[test]
    fn the_newest_version_is_that_without_gaps_before_it() {
        let version = |minor, reply| Probed { subject: Subject::Version(1, minor), used: true, reply };
        let no = || Reply::Refused(String::new());
        let all = vec![version(0, Reply::Taken), version(1, Reply::Taken), version(2, no()), version(3, Reply::Taken)];
        assert_eq!(Probes { all, ..Probes::default() }.version(), Some((1, 1)));
        assert_eq!(Probes { all: vec![version(0, no())], ..Probes::default() }.version(), None);
    }
}
