//! Where do what the compiler stored, what the module declares and what its code does differ, and why?

use super::code::Code;
use super::rules::Aspect;
use schemars::JsonSchema;
use serde::Serialize;

/// The three views of one image's aspects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Aspects by SYCL name that the compiler stored (`SYCL/device requirements`).
    pub stored: Vec<String>,
    /// Aspects that the module declares, by capability.
    pub declared: Vec<Aspect>,
    /// Aspects that its code uses.
    pub found: Vec<Aspect>,
    /// Reasons why they differ, one entry for each aspect that not all three have.
    pub differences: Vec<Difference>,
}

/// One aspect that not all views have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// SYCL name.
    pub aspect: String,
    /// The reason.
    pub reason: Reason,
}

/// The reason why the views differ on an aspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Stored, and the module neither declares nor uses it: the optimiser removed the use, or the source declares it
    /// (`device_has`).
    NotInModule,
    /// Stored; SPIR-V has no way to show it: the source declares it, or calls what the compiler's headers mark with it.
    NotShown,
    /// Stored and declared by the module, but no instruction of a function uses it: a type that is only pointed to.
    Unused,
    /// Only functions of the image that the kernel does not reach use it.
    Elsewhere,
    /// Declared by the module, neither stored nor used: a type that is only pointed to.
    DeclaredOnly,
    /// Used, and of those that the compiler never stores on its own.
    NeverStored,
    /// Used, and stored by the compiler for others, but not for this image.
    NotStored,
    /// The code may use it; other aspects leave the same instructions.
    Possible,
}

impl Reason {
    /// The reason as a word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Reason::NotInModule => "not-in-module",
            Reason::NotShown => "not-shown",
            Reason::Unused => "unused",
            Reason::Elsewhere => "elsewhere",
            Reason::DeclaredOnly => "declared-only",
            Reason::NeverStored => "never-stored",
            Reason::NotStored => "not-stored",
            Reason::Possible => "possible",
        }
    }

    /// The reason as a clause that follows the aspect's name.
    pub fn text(self) -> &'static str {
        match self {
            Reason::NotInModule => {
                "is stored, but no type, instruction or capability of the module shows it: \
                 declared with device_has, or optimised away"
            }
            Reason::NotShown => "is stored, and leaves no trace of its own in SPIR-V",
            Reason::Unused => "is stored and declared by a capability, but no function uses it",
            Reason::Elsewhere => "is used by other functions of its image only",
            Reason::DeclaredOnly => "is declared by a capability, but no function uses it: the type is only pointed to",
            Reason::NeverStored => "is used; the compiler does not store it on its own",
            Reason::NotStored => "is used, but not stored",
            Reason::Possible => "may be used: several aspects leave these instructions",
        }
    }
}

/// Compares what is stored for an image with its module. `found` are the aspects that its code uses: those of one kernel,
/// or of all functions ([`super::Graph::used_by_module`]).
pub fn compare(stored: &[String], code: &Code, found: &[Aspect]) -> Comparison {
    let mut differences = Vec::new();
    for name in stored {
        let reason = match Aspect::of_name(name) {
            None => Reason::NotShown,
            Some(aspect) if found.contains(&aspect) => continue,
            Some(aspect) if code.declared.contains(&aspect) => Reason::Unused,
            Some(_) => Reason::NotInModule,
        };
        differences.push(Difference { aspect: name.clone(), reason });
    }
    for aspect in Aspect::ALL {
        if stored.iter().any(|name| name == aspect.name()) {
            continue;
        }
        let reason = match (found.contains(&aspect), code.declared.contains(&aspect)) {
            (true, _) if !aspect.certain() => Reason::Possible,
            (true, _) if !aspect.recorded_by_compiler() => Reason::NeverStored,
            (true, _) => Reason::NotStored,
            (false, true) => Reason::DeclaredOnly,
            (false, false) => continue,
        };
        differences.push(Difference { aspect: aspect.name().to_owned(), reason });
    }
    Comparison { stored: stored.to_vec(), declared: code.declared.clone(), found: found.to_vec(), differences }
}

/// Compares the views of one kernel of an image: `found` is what it uses itself, `image` what all functions of its
/// image use (rarely asked for), and `stored` is none where nobody stored anything, as for a bare module.
pub fn compare_kernel(
    stored: Option<&[String]>,
    code: &Code,
    found: &[Aspect],
    image: impl Fn() -> Vec<Aspect>,
) -> Comparison {
    let mut comparison = compare(stored.unwrap_or_default(), code, found);
    for difference in &mut comparison.differences {
        let absent = matches!(difference.reason, Reason::NotInModule | Reason::Unused | Reason::DeclaredOnly);
        if absent && image().iter().any(|aspect| aspect.name() == difference.aspect) {
            difference.reason = Reason::Elsewhere;
        }
    }
    if stored.is_none() {
        comparison.differences.retain(|one| !matches!(one.reason, Reason::NotStored | Reason::NeverStored));
    }
    comparison
}
