//! What does each kind of finding mean?

use super::{Clause, Matter};
use crate::compat::fit::Rule;

impl Matter {
    /// All there are.
    pub const ALL: [Matter; 23] = [
        Matter::Image(Rule::FixedTarget),
        Matter::Image(Rule::Aspect),
        Matter::Image(Rule::Matrix),
        Matter::Image(Rule::WorkGroupSize),
        Matter::Image(Rule::SubGroupSize),
        Matter::Image(Rule::SpirvVersion),
        Matter::Image(Rule::Capability),
        Matter::Image(Rule::Extension),
        Matter::Image(Rule::Target),
        Matter::Image(Rule::Imports),
        Matter::Image(Rule::UnlistedImports),
        Matter::Image(Rule::Unread),
        Matter::Image(Rule::Damaged),
        Matter::NoImage,
        Matter::State,
        Matter::NotNative,
        Matter::Policy(Clause::ForbiddenAspect),
        Matter::Policy(Clause::Bytes),
        Matter::Policy(Clause::Images),
        Matter::Policy(Clause::Spill),
        Matter::Policy(Clause::SpilledRegisters),
        Matter::Policy(Clause::Expired),
        Matter::Policy(Clause::Missing),
    ];

    /// Name of the rule in reports.
    pub fn rule(self) -> &'static str {
        match self {
            Matter::Image(rule) => rule.name(),
            Matter::NoImage => "no-image",
            Matter::State => "state",
            Matter::NotNative => "not-native",
            Matter::Policy(clause) => clause.rule(),
        }
    }

    /// Title of the rule, in a line.
    pub fn title(self) -> &'static str {
        match self {
            Matter::Image(Rule::FixedTarget) => "The image is fixed to other targets",
            Matter::Image(Rule::Aspect) => "A kernel uses an optional feature that the device lacks",
            Matter::Image(Rule::Matrix) => "A kernel uses matrix operations that the device lacks",
            Matter::Image(Rule::WorkGroupSize) => "A required work-group size that the device does not run",
            Matter::Image(Rule::SubGroupSize) => "A required sub-group size that the device does not have",
            Matter::Image(Rule::SpirvVersion) => "A version of SPIR-V that the device's compiler may not take",
            Matter::Image(Rule::Capability) => "A SPIR-V capability that the device's compiler does not take",
            Matter::Image(Rule::Extension) => "A SPIR-V extension that the device's compiler may not take",
            Matter::Image(Rule::Target) => "The image is compiled for another device",
            Matter::Image(Rule::Imports) => "The image imports symbols that nothing defines",
            Matter::Image(Rule::UnlistedImports) => "The code imports symbols that the image does not list",
            Matter::Image(Rule::Unread) => "The code of the image has not been read",
            Matter::Image(Rule::Damaged) => "The image could not be read to its end",
            Matter::NoImage => "The runtime has no image of the kernel for the device",
            Matter::State => "No image of the kernel is of the demanded state",
            Matter::NotNative => "The kernel is not compiled for the device ahead of time",
            Matter::Policy(clause) => clause.title(),
        }
    }

    /// Effect at run time.
    pub fn help(self) -> &'static str {
        match self {
            Matter::Image(Rule::Target) | Matter::NoImage => {
                "Submitting the kernel throws: no image matches the device."
            }
            Matter::Image(Rule::SpirvVersion | Rule::Capability | Rule::Extension | Rule::Unread | Rule::Damaged) => {
                "The device's compiler may refuse the image when the kernel is first submitted."
            }
            Matter::Image(Rule::UnlistedImports) => {
                "The runtime links nothing to the image, and building it fails when a kernel is first submitted."
            }
            Matter::Image(Rule::Imports) => "Linking fails when the kernel is first submitted.",
            Matter::State | Matter::NotNative => {
                "The kernel is compiled just in time when it is first submitted. `sycl-bundle build` adds native code."
            }
            Matter::Policy(clause) => clause.help(),
            Matter::Image(_) => "Submitting the kernel to the device throws errc::kernel_not_supported.",
        }
    }
}
