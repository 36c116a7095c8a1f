//! Why did a module not build?

use std::fmt;
use std::time::Duration;

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
    pub target: usize,
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

impl FailureCause {
    /// Whether a compiler crashed: in the worker, or as a program of its own.
    pub fn is_crash(&self) -> bool {
        match self {
            FailureCause::Died(_) => true,
            FailureCause::BadOutput(reason) => reason.contains("died of"),
            FailureCause::Refused { .. } | FailureCause::TimedOut { .. } => false,
        }
    }
}

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
