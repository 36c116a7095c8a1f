//! What does a live driver really take?
//!
//! Drivers tell too little: they build modules of versions and with capabilities that no query of theirs lists. So a kernel
//! for each is built, in worker processes, as drivers die of some. A no is told apart by how it came: the driver refused,
//! it died, or it gave no answer. A driver that takes a capability or an extension that does not exist looks at none,
//! and its yes to one that is only declared says nothing.

mod table;

use super::failure::FailureCause;
use super::query::{Query, Question, ask};
use super::{Event, Launch, Settings};
use crate::error::Result;
use crate::spirv::grammar::capability_name;
use crate::spirv::micro::{KERNEL, ProbeFeatures, ProbeOperation, module};
use crate::spirv::op;
use table::{CAPABILITIES, EXTENSIONS, NO_CAPABILITY, NO_EXTENSION, VERSIONS};

/// The thing that a probe asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
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
pub struct Probed {
    /// The subject of the probe.
    pub subject: Subject,
    /// Whether the kernel's code uses it, rather than only declaring it.
    pub used: bool,
    /// The driver's reaction.
    pub reply: Reply,
}

/// Results of probing a device's driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probes {
    /// In the order of versions, capabilities, extensions.
    pub all: Vec<Probed>,
    /// Whether a capability that does not exist is refused.
    pub checks_capabilities: bool,
    /// Whether an extension that does not exist is refused.
    pub checks_extensions: bool,
}

impl Subject {
    /// Returns the subject's name.
    pub fn name(&self) -> String {
        match self {
            Subject::Version(major, minor) => format!("{major}.{minor}"),
            Subject::Capability(number, _) => capability_name(*number).into_owned(),
            Subject::Extension(name) => (*name).to_owned(),
        }
    }
}

impl Reply {
    /// The answer as a word.
    pub fn word(&self) -> &'static str {
        match self {
            Reply::Taken => "yes",
            Reply::Refused(_) => "refused",
            Reply::Died(_) => "died",
            Reply::Silent(_) => "silent",
        }
    }

    /// Returns the reason of a refusal.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Reply::Taken => None,
            Reply::Refused(why) | Reply::Died(why) | Reply::Silent(why) => Some(why),
        }
    }
}

impl Probes {
    /// The newest version that was taken, as were all before it.
    pub fn version(&self) -> Option<(u8, u8)> {
        let versions = self.all.iter().filter_map(|one| match one.subject {
            Subject::Version(major, minor) => Some(((major, minor), one.reply == Reply::Taken)),
            _ => None,
        });
        versions.take_while(|(_, taken)| *taken).last().map(|(version, _)| version)
    }

    /// Whether the driver's yes to a subject tells something.
    pub fn telling(&self, one: &Probed) -> bool {
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
pub fn subjects() -> Vec<(Subject, Vec<u8>)> {
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
pub fn probe(
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
