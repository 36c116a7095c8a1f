//! SPIR-V in, device binary out: how are many modules compiled by a driver that may die of any of them?
//!
//! The Intel CPU driver compiles one module at a time per process, ends its process on some malformed modules and
//! hangs on others. So the library never calls it in the caller's process: [`run`] hands the modules to a pool of
//! worker processes, each with a deadline, and replaces a worker that died or overran.
//!
//! | file | the question it answers |
//! |---|---|
//! | [`target`] | for what is compiled, and by which compiler? |
//! | [`mod@wanted`] | for what does the user want native code? |
//! | [`mod@plans`] | which images are compiled for which targets, and which native images does the output get? |
//! | [`mod@compile`] | how do the planned modules become binaries: out of the cache, else by their targets' compilers? |
//! | [`commands`] | how does another tool do the work, or know when to do it again? |
//! | [`plan`] | which images are compiled, with which options, and which stay as they are? |
//! | [`options`] | which of an image's options does the driver get? |
//! | [`archive`] | which binaries of an image go into one archive for several GPUs? |
//! | [`estimate`] | how long will a build take, and how many modules may be compiled at once, so that memory suffices? |
//! | [`fold`] | which modules are the same code, so that one compilation does for all? |
//! | [`pool`] | who compiles what, when, how often is it tried, and is the result usable? |
//! | [`process`] | how does the parent talk to one worker, and get rid of it? |
//! | [`programs`] | how is a program run to its end? |
//! | [`protocol`] | what do the two say to each other? |
//! | [`serve`] | what does a worker do with what it is told? |
//! | [`mod@inventory`] | which OpenCL devices are there, what is each of them like, and which one is meant? |
//! | [`query`] | what does a device answer about a kernel, and what does SYCL make of it? |
//! | [`probe`] | what does a live device really take? |
//! | [`cache`] | has this module been compiled before? |
//! | [`record`] | what did the runtime compile just in time, and which of it is what a build wants? |
//! | [`live`] | which live devices may this process use, and what do their drivers take and offer? |
//! | [`opencl`] | how does the driver compile one module? |
//! | [`nvidia`] | how is code for NVIDIA GPUs made of SPIR-V, where no compiler takes it? |
//! | [`ocloc`] | how does Intel's offline compiler make code for a GPU that is not there? |
//! | [`worker`] | which compiler does a worker hand a request to, and can this program load it? |

pub(crate) mod archive;
pub mod cache;
pub(crate) mod commands;
pub(crate) mod compile;
pub(crate) mod device_library;
pub(crate) mod environment;
pub(crate) mod estimate;
pub(crate) mod fold;
pub mod inventory;
pub(crate) mod live;
#[cfg(feature = "drivers")]
pub mod nvidia;
#[cfg(feature = "drivers")]
pub mod ocloc;
#[cfg(feature = "drivers")]
pub(crate) mod opencl;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod plans;
pub mod pool;
pub mod probe;
pub mod process;
#[cfg(feature = "drivers")]
pub(crate) mod programs;
pub mod protocol;
pub mod query;
pub mod record;
pub mod serve;
pub mod target;
pub mod wanted;
#[cfg(feature = "drivers")]
pub(crate) mod worker;

pub use inventory::{Device, Inventory, Offline};
pub use pool::run;
pub use process::{inventory, offline};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One module to compile.
#[derive(Debug, Clone, Default)]
pub struct Job<'a> {
    /// The caller's number for the image; comes back in [`Artifact`], [`Failure`] and [`Event`].
    pub image: usize,
    /// The SPIR-V module.
    pub il: Cow<'a, [u8]>,
    /// Options for compiling, already reduced by [`options::for_cpu`].
    pub compile_options: String,
    /// Options for linking, reduced likewise. A build gets both in one string, as the driver gets them from the
    /// runtime.
    pub link_options: String,
    /// The step that compiles the module.
    pub step: Step<'a>,
    /// The caller's number for the target: the place of the engine that compiles it; comes back as `image` does.
    pub target: usize,
    /// The kernels that the binary must hold, by their mangled names.
    pub kernels: Vec<String>,
}

/// An image and a target, by the caller's numbers.
pub(crate) type Unit = (usize, usize);

impl Job<'_> {
    /// Returns the image and target that the job is for.
    pub(crate) fn unit(&self) -> Unit {
        (self.image, self.target)
    }

    /// Copies what is compiled, which nobody else changes then.
    pub(crate) fn own(&mut self) {
        let own = |bytes: &mut Cow<'_, [u8]>| *bytes = std::mem::take(bytes).into_owned().into();
        own(&mut self.il);
        if let Step::Link(others) = &mut self.step {
            others.iter_mut().for_each(own);
        }
    }
}

impl Artifact {
    /// Returns the image and target that the binary was made for.
    pub(crate) fn unit(&self) -> Unit {
        (self.image, self.target)
    }
}

impl Failure {
    /// Returns the image and target that got no binary.
    pub(crate) fn unit(&self) -> Unit {
        (self.image, self.target)
    }
}

/// A compiler: how its workers are started, and what they open first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// The workers.
    pub launch: Launch,
    /// The compiler that the workers open.
    pub open: Open,
}

/// The compiler that a worker is to open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Open {
    /// Intel's OpenCL CPU driver.
    #[default]
    Cpu,
    /// The driver of the OpenCL device at this place in the inventory.
    Device(u32),
    /// Intel's offline compiler for GPUs: a library or program by this path, or wherever the system finds it.
    Ocloc(Option<PathBuf>),
    /// LLVM and CUDA's assembler, for NVIDIA GPUs.
    Nvidia(Places),
}

/// Folders in which LLVM and CUDA are looked for, and what is made of them first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The folder of LLVM, or of its programs, where the user names it.
    pub(crate) llvm: Option<PathBuf>,
    /// The folder of CUDA, likewise.
    pub(crate) cuda: Option<PathBuf>,
    /// The library of functions that kernels call, which a worker needs to compile and makes for others.
    pub(crate) library: Option<Arc<[u8]>>,
}

/// A step of compilation, with what it needs beside the module.
#[derive(Debug, Clone, Default)]
pub enum Step<'a> {
    /// An executable (`clBuildProgram`).
    #[default]
    Build,
    /// An executable for a GPU that need not be there, by the name that its offline compiler knows it by.
    Offline(String),
    /// An object, whose imports stay open (`clCompileProgram`).
    Compile,
    /// An executable, of it and these: SPIR-V modules, which are compiled first, or objects (`clLinkProgram`).
    Link(Vec<Cow<'a, [u8]>>),
}

/// The binary of a module that built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The caller's number for the image.
    pub image: usize,
    /// The caller's number for the target.
    pub(crate) target: usize,
    /// The device binary as the driver gave it.
    pub binary: Vec<u8>,
    /// The driver's build log; empty where it had nothing to say.
    pub log: String,
    /// Duration of the successful attempt, with the way to the worker and back.
    pub(crate) elapsed: Duration,
    /// 1 where the first attempt succeeded.
    pub attempts: u32,
}

/// The result of one job.
pub type Outcome = std::result::Result<Artifact, Failure>;

/// Something that happens while the pool works, told in order.
#[derive(Debug)]
pub enum Event<'e, P = Artifact> {
    /// A worker got the image for the first time.
    Started {
        /// The caller's number for the image.
        image: usize,
        /// The caller's number for the target.
        target: usize,
        /// Number of the worker, from 0; each finishes an image before it begins another.
        worker: usize,
    },
    /// The worker died; the image goes to a fresh one.
    Retrying {
        /// The caller's number for the image.
        image: usize,
        /// The caller's number for the target.
        target: usize,
        /// The attempt that now begins; 2 for the first retry.
        attempt: u32,
        /// Cause of the previous attempt's failure.
        cause: &'e FailureCause,
    },
    /// The image is compiled.
    Finished(&'e P),
    /// The image did not build and will not be tried again.
    Failed(&'e Failure),
}

/// Command that starts a worker: a program that calls [`serve::serve`] on its standard input and output. The caller fills
/// it in, since the library does not look at its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Variables set in addition to those of the caller's that it gets.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of the caller's that it does not get.
    pub without: Vec<OsString>,
    /// Files that its driver or compiler consists of, once they are known: it reads what lies around them and the system's files, and
    /// no others. Until then it reads all, and gets no module.
    pub reads: Option<Vec<PathBuf>>,
    /// Folder in which each worker gets an empty folder of its own to work in; without one it works where the caller does.
    pub scratch: Option<PathBuf>,
}

/// Grants permission for more than one worker at a time: the jobserver of the `make` that called.
pub(crate) trait Tokens: std::fmt::Debug + Send + Sync {
    /// Waits until one more module may be compiled; false where `no_longer` became true before.
    fn acquire(&self, no_longer: &dyn Fn() -> bool) -> bool;

    /// Gives one back.
    fn release(&self);
}

/// Usual number of further attempts. A driver that dies of a module mostly dies of it again; one that the machine was
/// short of memory for does not.
pub(crate) const RETRIES: u32 = 2;

/// Longest time that a driver may take for what it does before it gets a module: list its devices, make a context.
pub(crate) const STARTUP: Duration = Duration::from_secs(60);

/// Settings of the pool.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Number of workers at once. Only processes scale: the driver serialises compilation inside one.
    pub(crate) jobs: NonZeroUsize,
    /// Longest time that one image may take in one attempt.
    pub timeout: Duration,
    /// Longest time that a worker may take to start, find its device and make a context; the driver may hang there too.
    pub startup_timeout: Duration,
    /// Number of further attempts, each in a fresh worker, after one that killed its worker.
    pub retries: u32,
    /// Jobserver that has a say in how many modules are compiled at once.
    pub(crate) tokens: Option<Arc<dyn Tokens>>,
    /// Set where the user wants an end; what is being compiled is given up then.
    pub(crate) interrupted: Option<Arc<AtomicBool>>,
    /// Whether nothing more is begun once a module did not build.
    pub(crate) fail_fast: bool,
    /// Bytes of memory that all workers together may take, by an estimate; one module that needs more is compiled alone.
    pub(crate) memory: Option<u64>,
}

impl Settings {
    /// The usual patience with a number of workers.
    pub fn new(jobs: NonZeroUsize) -> Self {
        // One compile takes 30 to 80 ms, the largest modules seen take seconds; a context takes 20 to 200 ms.
        let (timeout, startup_timeout) = (Duration::from_secs(60), STARTUP);
        Settings {
            jobs,
            timeout,
            startup_timeout,
            retries: RETRIES,
            tokens: None,
            interrupted: None,
            fail_fast: false,
            memory: None,
        }
    }

    /// Less patience with modules, or more, and no more with what a driver does before.
    pub(crate) fn within(self, timeout: Duration) -> Settings {
        Settings { timeout, startup_timeout: self.startup_timeout.min(timeout), ..self }
    }
}

/// The reason why one attempt at a module failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCause {
    /// The driver said no; asking again would give the same answer.
    Refused {
        /// The OpenCL status, negative.
        code: i32,
        /// Name of the status, such as `CL_BUILD_PROGRAM_FAILURE`.
        name: String,
    },
    /// The driver took its process with it.
    Died(Death),
    /// No answer within the time allowed; the worker was killed.
    TimedOut {
        /// The time allowed.
        after: Duration,
    },
    /// The driver reported success and delivered nothing usable, or the worker spoke nonsense.
    BadOutput(String),
}

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Of a signal, by number.
    Signal(i32),
    /// By itself, with this status: the driver calls `exit` on some malformed modules.
    Exit(i32),
    /// The pipe closed and the system did not say how the process ended.
    Unknown,
}

/// A module that did not build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The caller's number for the image.
    pub image: usize,
    /// The caller's number for the target.
    pub(crate) target: usize,
    /// Cause of the last attempt's failure.
    pub cause: FailureCause,
    /// Causes of the attempts before it, the first one first.
    pub earlier: Vec<FailureCause>,
    /// The driver's build log, or the end of what the dying worker wrote to its standard error.
    pub log: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// Linux numbers of the signals that end processes.
const SIGNALS: [(i32, &str); 13] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Signal(number) => match SIGNALS.iter().find(|(known, _)| known == number) {
                Some((_, name)) => write!(f, "died of {name}"),
                None => write!(f, "died of signal {number}"),
            },
            Death::Exit(status) => write!(f, "ended itself with exit status {status}"),
            Death::Unknown => f.write_str("closed its pipe and ended"),
        }
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Refused { code, name } => write!(f, "the driver refused it with {name} ({code})"),
            FailureCause::Died(death) => write!(f, "the driver's process {death}"),
            FailureCause::TimedOut { after } => write!(f, "the driver gave no answer within {}", Seconds(*after)),
            FailureCause::BadOutput(reason) => f.write_str(reason),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earlier.is_empty() {
            return write!(f, "{}", self.cause);
        }
        if self.earlier.iter().all(|cause| *cause == self.cause) {
            return write!(f, "{} in each of {} attempts", self.cause, self.attempts);
        }
        for (attempt, cause) in (1..).zip(self.earlier.iter().chain([&self.cause])) {
            let separator = if attempt == 1 { "" } else { "; " };
            write!(f, "{separator}attempt {attempt}: {cause}")?;
        }
        Ok(())
    }
}

/// A duration as people write it: `2 s`, `0.25 s`.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(earlier: Vec<FailureCause>, cause: FailureCause) -> String {
        let attempts = earlier.len() as u32 + 1;
        Failure { image: 0, target: 0, cause, earlier, log: String::new(), attempts }.to_string()
    }

    #[test]
    fn sentences() {
        let segv = || FailureCause::Died(Death::Signal(11));
        assert_eq!(failure(vec![segv(), segv()], segv()), "the driver's process died of SIGSEGV in each of 3 attempts");
        let late = FailureCause::TimedOut { after: Duration::from_millis(1500) };
        assert_eq!(
            failure(vec![segv()], late),
            "attempt 1: the driver's process died of SIGSEGV; attempt 2: the driver gave no answer within 1.5 s"
        );
        let refused = FailureCause::Refused { code: -11, name: "CL_BUILD_PROGRAM_FAILURE".into() };
        assert_eq!(failure(vec![], refused), "the driver refused it with CL_BUILD_PROGRAM_FAILURE (-11)");
        assert_eq!(Death::Signal(34).to_string(), "died of signal 34");
        assert_eq!(Death::Exit(10).to_string(), "ended itself with exit status 10");
    }
}
