//! Which parts of a policy can a file be against?

use super::{Against, Matter};
use crate::compat::examine::Examined;
use crate::device::target::current;

/// A part of a policy beyond that kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clause {
    /// An aspect that no kernel may need.
    ForbiddenAspect,
    /// Bytes.
    Bytes,
    /// The number of images.
    Images,
    /// Bytes of registers that a kernel spills.
    Spill,
    /// Registers that a kernel spills.
    SpilledRegisters,
    /// An exception that has ended.
    Expired,
    /// A kernel that must run, and is nowhere.
    Missing,
}

impl Clause {
    /// The rule's name in reports.
    pub fn rule(self) -> &'static str {
        match self {
            Clause::ForbiddenAspect => "forbidden-aspect",
            Clause::Bytes => "budget-bytes",
            Clause::Images => "budget-images",
            Clause::Spill => "budget-spill",
            Clause::SpilledRegisters => "budget-spilled-registers",
            Clause::Expired => "expired-exception",
            Clause::Missing => "missing-kernel",
        }
    }

    /// Title of the rule, in a line.
    pub fn title(self) -> &'static str {
        match self {
            Clause::ForbiddenAspect => "A kernel needs an aspect that the policy forbids",
            Clause::Bytes => "More bytes than the policy's budget",
            Clause::Images => "More device images than the policy's budget",
            Clause::Spill | Clause::SpilledRegisters => "A kernel spills more registers than the policy's budget",
            Clause::Expired => "An exception of the policy has ended",
            Clause::Missing => "A kernel that the policy requires is in no file",
        }
    }

    /// Effect of breaking the rule.
    pub fn help(self) -> &'static str {
        match self {
            Clause::ForbiddenAspect => "`forbidden-aspects` of the policy names aspects that no kernel may need.",
            Clause::Bytes | Clause::Images => "`budget` of the policy says how large files may become.",
            Clause::Spill | Clause::SpilledRegisters => {
                "Spilled registers are memory traffic in the kernel's inner loops."
            }
            Clause::Expired => "What the exception covered counts again.",
            Clause::Missing => "What is not there cannot be judged.",
        }
    }
}

/// Finds the forbidden aspects that an image needs: recorded ones, and those that its code uses.
pub(super) fn forbidden<'f>(
    image: &'f Examined<'_, '_>,
    used: &'f [(&'static str, bool)],
    forbidden: &'f [String],
) -> impl Iterator<Item = Against> + 'f {
    forbidden.iter().filter_map(move |aspect| {
        let recorded = image.requirements.aspects.iter().any(|own| current(own) == aspect);
        let found = used.iter().filter(|(name, _)| name == aspect).map(|(_, certain)| *certain).max();
        let certain = found.filter(|_| !recorded).or_else(|| recorded.then_some(true))?;
        Some(Against {
            matter: Matter::Policy(Clause::ForbiddenAspect),
            certain,
            message: format!(
                "Kernel uses optional feature corresponding to 'aspect::{aspect}', which the policy forbids."
            ),
            aspect: Some(aspect.clone()),
            remedy: "keep the feature out of the kernel, or write an exception into the policy".to_owned(),
        })
    })
}
