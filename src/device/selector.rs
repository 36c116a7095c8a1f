//! Which devices does `ONEAPI_DEVICE_SELECTOR` let a SYCL program see?
//!
//! The grammar of DPC++ (`sycl/doc/EnvironmentVariables.md`): filters separated by `;`, each `BACKEND:DEVICE[,DEVICE...]`,
//! those with `!` in front discard. Without a filter that accepts, everything is accepted. Case does not matter. A number
//! is a device's place within its backend; `N.M` and the like select sub-devices, which stand for no device by itself.

use crate::error::{Error, ErrorKind, Result};

/// The name of the variable.
pub(crate) const VARIABLE: &str = "ONEAPI_DEVICE_SELECTOR";

const BACKENDS: [&str; 7] = ["*", "level_zero", "opencl", "cuda", "hip", "native_cpu", "offload"];

/// A parsed selector. The empty one admits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    accept: Vec<Filter>,
    discard: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    backend: String,
    devices: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Any,
    Kind(String),
    Number(usize),
    SubDevice,
}

impl Selector {
    /// Reads the value of the variable.
    ///
    /// # Errors
    /// `Usage` where the value does not follow the grammar; the runtime refuses to start then.
    pub(crate) fn parse(text: &str) -> Result<Selector> {
        let mut selector = Selector::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix('!') {
                Some(rest) => selector.discard.push(Filter::parse(rest)?),
                // The grammar has the discarding ones last, and the runtime insists.
                None if !selector.discard.is_empty() => {
                    return Err(malformed(part, "a filter that accepts stands after one that discards"));
                }
                None => selector.accept.push(Filter::parse(part)?),
            }
        }
        Ok(selector)
    }

    /// Whether a program sees an OpenCL device, given its kind (`cpu`, `gpu`, ...) and its place among those of OpenCL.
    pub(crate) fn admits(&self, kind: &str, place: usize) -> bool {
        let any = |filters: &[Filter]| filters.iter().any(|filter| filter.matches(kind, place));
        (self.accept.is_empty() || any(&self.accept)) && !any(&self.discard)
    }
}

impl Filter {
    fn parse(text: &str) -> Result<Filter> {
        let Some((backend, devices)) = text.split_once(':') else {
            return Err(malformed(text, "a filter is BACKEND:DEVICE, as in opencl:cpu"));
        };
        let backend = backend.trim().to_ascii_lowercase();
        if !BACKENDS.contains(&backend.as_str()) {
            return Err(malformed(text, &format!("a backend is one of {}", BACKENDS.join(", "))));
        }
        let devices = devices.split(',').map(|device| Term::parse(text, device)).collect::<Result<_>>()?;
        Ok(Filter { backend, devices })
    }

    fn matches(&self, kind: &str, place: usize) -> bool {
        let device = |term: &Term| match term {
            Term::Any => true,
            Term::Kind(name) => name == kind,
            Term::Number(number) => *number == place,
            Term::SubDevice => false,
        };
        matches!(self.backend.as_str(), "*" | "opencl") && self.devices.iter().any(device)
    }
}

impl Term {
    fn parse(filter: &str, text: &str) -> Result<Term> {
        let text = text.trim().to_ascii_lowercase();
        let number = |part: &str| part == "*" || part.parse::<usize>().is_ok();
        match text.as_str() {
            "*" => Ok(Term::Any),
            "cpu" | "gpu" => Ok(Term::Kind(text)),
            // The runtime's word for accelerators, from when those were FPGAs.
            "fpga" | "acc" => Ok(Term::Kind("accelerator".to_owned())),
            _ => match (text.parse(), text.contains('.') && text.split('.').all(number)) {
                (Ok(place), _) => Ok(Term::Number(place)),
                (_, true) => Ok(Term::SubDevice),
                _ => Err(malformed(filter, "a device is *, cpu, gpu, fpga, a number, or N.M for a sub-device")),
            },
        }
    }
}

fn malformed(filter: &str, why: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("{VARIABLE}: `{filter}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(text: &str, kind: &str, place: usize) -> bool {
        Selector::parse(text).unwrap().admits(kind, place)
    }

    #[test]
    fn filters_accept_then_discard() {
        for (text, expected) in [
            ("", true),
            ("opencl:cpu", true),
            ("OpenCL:CPU", true),
            ("*:*", true),
            ("level_zero:gpu", false),
            ("level_zero:gpu;opencl:cpu,gpu", true),
            ("opencl:gpu", false),
            ("opencl:1", true),
            ("opencl:0", false),
            ("!opencl:cpu", false),
            ("!level_zero:*", true),
            ("opencl:*;!opencl:1", false),
            ("opencl:1.0", false),
            ("*:fpga", false),
        ] {
            assert_eq!(admits(text, "cpu", 1), expected, "{text}");
        }
        assert!(admits("opencl:fpga", "accelerator", 0));
    }

    #[test]
    fn what_is_no_selector_is_named() {
        for text in ["cpu", "opencl:", "opengl:cpu", "opencl:cp", "!opencl:gpu;opencl:cpu", "opencl:1.x"] {
            let error = Selector::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        }
    }
}
