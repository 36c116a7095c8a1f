//! What can be found wrong, how bad is it, and what mends it?
//!
//! One table of rules and one type of finding, whoever looks: [`fit`](super::fit) at an image, [`gate`](super::gate) at a
//! kernel, [`warnings`](super::warnings) at what its code calls, [`link`](super::link) at a set of files, and a policy.
//! [`adding_a_rule`](crate::docs::adding_a_rule) tells what a new rule touches.

use crate::device::target::{Backend, Target};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Whether what was asked holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The answer is yes.
    Compatible,
    /// The answer cannot be told.
    Unknown,
    /// The answer is no.
    Incompatible,
}

/// The judge that applies a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The runtime or the device's compiler, of an image: [`fit`](super::fit).
    Image,
    /// The runtime, of all images of a kernel: [`gate`](super::gate).
    Kernel,
    /// A project's policy.
    Policy,
    /// The runtime's linker, of a set of files: [`link`](super::link).
    Linker,
    /// The SYCL compiler, of a kernel and what it calls: [`warnings`](super::warnings).
    Compiler,
}

/// Severity of a finding that is sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The program fails, or the policy is broken.
    Error,
    /// The compiler warns.
    Warning,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// The rule's key.
    pub id: RuleId,
    /// Name in reports, policies and baselines.
    pub name: &'static str,
    /// The judge that applies it.
    pub judge: Judge,
    /// Severity of a finding that is sure.
    pub severity: Severity,
    /// Meaning, in a line.
    pub title: &'static str,
    /// Effect at run time.
    pub help: &'static str,
}

macro_rules! rules {
    ($($id:ident, $name:literal, $judge:ident, $severity:ident, $title:literal, $help:expr;)*) => {
        /// Key of a rule, in the order in which findings are told.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $(#[doc = $title] $id,)*
        }

        /// All rules, in the order of their keys.
        pub const RULES: &[&Rule] = &[$(RuleId::$id.rule()),*];

        impl RuleId {
            /// The rule's row of the table.
            pub const fn rule(self) -> &'static Rule {
                match self {
                    $(RuleId::$id => &Rule {
                        id: RuleId::$id,
                        name: $name,
                        judge: Judge::$judge,
                        severity: Severity::$severity,
                        title: $title,
                        help: $help,
                    },)*
                }
            }
        }
    };
}

const NOT_SUPPORTED: &str = "Submitting the kernel to the device throws errc::kernel_not_supported.";
const NO_IMAGE: &str = "Submitting the kernel throws: no image matches the device.";
const REFUSED: &str = "The device's compiler may refuse the image when the kernel is first submitted.";
const JUST_IN_TIME: &str =
    "The kernel is compiled just in time when it is first submitted. `sycl-bundle build` adds native code.";
const KERNEL_BUNDLE: &str =
    "get_kernel_bundle<bundle_state::executable> throws, though has_kernel_bundle says yes and launches work.";
const BUDGET: &str = "`budget` of the policy says how large files may become.";
const SPILL: &str = "Spilled registers are memory traffic in the kernel's inner loops.";
const DESIGN: &str = "The design document for optional kernel features has the compiler warn of it.";

rules! {
    FixedTarget, "fixed-target", Image, Error, "The image is fixed to other targets", NOT_SUPPORTED;
    Aspect, "aspect", Image, Error, "A kernel uses an optional feature that the device lacks", NOT_SUPPORTED;
    Matrix, "matrix", Image, Error, "A kernel uses matrix operations that the device lacks", NOT_SUPPORTED;
    WorkGroupSize, "work-group-size", Image, Error,
        "A required work-group size that the device does not run", NOT_SUPPORTED;
    SubGroupSize, "sub-group-size", Image, Error,
        "A required sub-group size that the device does not have", NOT_SUPPORTED;
    SpirvVersion, "spirv-version", Image, Error,
        "A version of SPIR-V that the device's compiler may not take", REFUSED;
    Capability, "spirv-capability", Image, Error,
        "A SPIR-V capability that the device's compiler does not take", REFUSED;
    Extension, "spirv-extension", Image, Error,
        "A SPIR-V extension that the device's compiler may not take", REFUSED;
    Names, "names", Image, Error, "The code has functions or kernels under names that drivers have themselves",
        "Drivers may call their own in their place.";
    Options, "options", Image, Error, "An option of the image that the device's driver does not take", REFUSED;
    DeviceGlobals, "device-globals", Image, Error, "The host and the kernels have different device globals, or the runtime ends",
        "What the host writes to a device global is not what the kernel reads.";
    Target, "target", Image, Error, "The image is compiled for another device", NO_IMAGE;
    Imports, "imports", Image, Error, "The image imports symbols that nothing defines",
        "Linking fails when the kernel is first submitted.";
    UnlistedImports, "unlisted-imports", Image, Error, "The code imports symbols that the image does not list",
        "The runtime links nothing to the image, and building it fails when a kernel is first submitted.";
    Unread, "unread-code", Image, Error, "The code of the image has not been read", REFUSED;
    Damaged, "damaged", Image, Error, "The image could not be read to its end", REFUSED;
    NoImage, "no-image", Kernel, Error, "The runtime has no image of the kernel for the device", NO_IMAGE;
    State, "state", Kernel, Error, "No image of the kernel is of the demanded state", JUST_IN_TIME;
    NotNative, "not-native", Kernel, Error, "The kernel is not compiled for the device ahead of time", JUST_IN_TIME;
    KernelBundle, "kernel-bundle", Kernel, Error,
        "A native image for another GPU breaks executable bundles of the kernel", KERNEL_BUNDLE;
    LinkedTwice, "linked-twice", Kernel, Error, "The kernel is linked to two definitions of a function",
        "Linking fails when the kernel is first submitted.";
    ForbiddenAspect, "forbidden-aspect", Policy, Error, "A kernel needs an aspect that the policy forbids",
        "`forbidden-aspects` of the policy names aspects that no kernel may need.";
    BudgetBytes, "budget-bytes", Policy, Error, "More bytes than the policy's budget", BUDGET;
    BudgetImages, "budget-images", Policy, Error, "More device images than the policy's budget", BUDGET;
    BudgetSpill, "budget-spill", Policy, Error, "A kernel spills more registers than the policy's budget", SPILL;
    BudgetSpilledRegisters, "budget-spilled-registers", Policy, Error,
        "A kernel spills more registers than the policy's budget", SPILL;
    ExpiredException, "expired-exception", Policy, Error, "An exception of the policy has ended",
        "What the exception covered counts again.";
    MissingKernel, "missing-kernel", Policy, Error, "A kernel that the policy requires is in no file",
        "What is not there cannot be judged.";
    UnresolvedSymbol, "unresolved-symbol", Linker, Error, "No image defines a symbol that a kernel needs",
        "Linking fails when a kernel that needs the symbol is first submitted.";
    SymbolType, "symbol-type", Linker, Error, "A symbol is imported with another type than it is defined with",
        "Linking fails when a kernel that needs the symbol is first submitted, or the call goes wrong.";
    DuplicateSymbol, "duplicate-symbol", Linker, Error, "Several images define a symbol in different ways",
        "Which definition is linked is not specified, and may change from run to run.";
    KernelClash, "kernel-in-two-files", Linker, Error, "Two files have kernels of one name",
        "Either kernel may run for both, or the images of one are ignored.";
    OptionsDiffer, "options-differ", Linker, Warning, "Native code and SPIR-V of a kernel are compiled with different options",
        "The kernel is as fast, or as exact, as was meant on some devices alone.";
    DeviceHas, "device_has", Compiler, Warning, "A kernel uses an aspect that sycl::device_has does not list", DESIGN;
    FixedTargetsAspect, "fixed-targets-aspect", Compiler, Warning,
        "A target of -fsycl-fixed-targets lacks an aspect that a kernel uses", DESIGN;
    FixedTargetsSubGroupSize, "fixed-targets-sub-group-size", Compiler, Warning,
        "A target of -fsycl-fixed-targets lacks a required sub-group size", DESIGN;
    FixedTargetsWorkGroupSize, "fixed-targets-work-group-size", Compiler, Warning,
        "A target of -fsycl-fixed-targets does not run a required work-group size", DESIGN;
    ExternalFunction, "external-function", Compiler, Warning,
        "A function of another image uses an aspect that the kernel's image does not record", DESIGN;
    ExternalFunctionSubGroupSize, "external-function-sub-group-size", Compiler, Warning,
        "A function of another image requires a sub-group size that is not the kernel's", DESIGN;
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for RuleId {
    fn schema_name() -> Cow<'static, str> {
        "Rule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

impl RuleId {
    /// Name in reports, policies and baselines.
    pub const fn name(self) -> &'static str {
        self.rule().name
    }

    /// The judge that applies the rule.
    pub const fn judge(self) -> Judge {
        self.rule().judge
    }

    /// The rules that a policy may name: those of images, of kernels and of policies.
    pub fn of_policies() -> impl Iterator<Item = RuleId> {
        let counts = |rule: &&&Rule| matches!(rule.judge, Judge::Image | Judge::Kernel | Judge::Policy);
        RULES.iter().filter(counts).map(|rule| rule.id)
    }
}

/// A fact that speaks against an image, a kernel or a set of files, or leaves it open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The rule.
    pub rule: RuleId,
    /// Whether it is so; else it cannot be told.
    pub certain: bool,
    /// Sentence, in the words of DPC++'s design where that has some.
    pub message: String,
    /// The aspect, where it is about one.
    pub aspect: Option<String>,
    /// The remedy.
    pub remedy: String,
    /// Findings like this one that are not told.
    pub(crate) more: usize,
}

impl Finding {
    /// Makes a finding about no aspect.
    pub fn new(rule: RuleId, certain: bool, message: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { rule, certain, message: message.into(), aspect: None, remedy: remedy.into(), more: 0 }
    }

    /// The message without the count of findings that are not told.
    pub(crate) fn without_more(&self) -> &str {
        let told = self.message.rfind(&format!("{} more like this are not listed", self.more));
        let message = told.filter(|_| self.more > 0).and_then(|at| self.message.get(..at)).map(str::trim_end);
        message.map_or(&self.message, |message| message.strip_suffix(';').unwrap_or(message))
    }

    /// Counts findings like this one that are not told, and says so.
    pub(crate) fn with_more(&mut self, more: usize) {
        if more > 0 {
            self.message = self.without_more().to_owned();
            self.more = more;
            let text = format!("{more} more like this are not listed");
            let is_sentence = self.message.ends_with('.');
            self.message.push_str(&if is_sentence { format!(" {text}.") } else { format!("; {text}") });
        }
    }
}

/// Tells what mends a break of a rule for images on a target; `about` is the aspect, where the rule is about one.
pub fn remedy(rule: RuleId, about: Option<&str>, target: &Target) -> String {
    match rule {
        RuleId::Aspect => aspect_remedy(about.unwrap_or_default()),
        RuleId::FixedTarget => {
            "compile with this target among those of -fsycl-fixed-targets, or without that option".into()
        }
        RuleId::Matrix => {
            "use a combination that sycl::ext::oneapi::experimental::info::device::matrix_combinations lists".into()
        }
        RuleId::WorkGroupSize => match target.max_work_group_size {
            Some(most) => format!("require at most {most} work-items in [[sycl::reqd_work_group_size()]]"),
            None => "tell the device's limits with --device-config".into(),
        },
        RuleId::SubGroupSize => match target.sub_group_sizes.as_deref() {
            Some(sizes) => sub_group_remedy(sizes),
            None => "tell the device's sub-group sizes with --device-config".into(),
        },
        RuleId::SpirvVersion | RuleId::Capability | RuleId::Extension => format!(
            "keep the feature out of kernels for this device, or tell with --device-config that {} takes it",
            target.name
        ),
        RuleId::Imports => {
            "check the library that defines the symbols together with this one, or link them at build time".into()
        }
        RuleId::UnlistedImports => {
            "list them in the property set \"SYCL/imported symbols\", or link the module with the one that defines them \
             (sycl-bundle link)"
                .into()
        }
        RuleId::Names => "give them other names, or put them into a namespace: drivers go by names alone".into(),
        RuleId::Options => {
            "compile the kernels without the option, or give it to the compiler of GPUs alone \
             (-Xsycl-target-backend=spir64_gen)"
                .into()
        }
        RuleId::DeviceGlobals => {
            "keep one image of the kernel (sycl-bundle prune), or take device_image_scope from the device globals".into()
        }
        RuleId::State => {
            let name = &target.name;
            format!("make an executable of it: sycl-bundle link FILE --for {name} -o OUTPUT")
        }
        RuleId::Unread => {
            "translate it to SPIR-V (llvm-spirv), or put the property sets of sycl-post-link beside it".into()
        }
        RuleId::Damaged => "build the file again".into(),
        _ => build_remedy(target),
    }
}

/// Tells what mends a sub-group size, where the device has `sizes`.
pub fn sub_group_remedy(sizes: &[u32]) -> String {
    if sizes.is_empty() {
        return "leave out [[sycl::reqd_sub_group_size()]]".into();
    }
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    format!("require {} in [[sycl::reqd_sub_group_size()]], or leave it out", sizes.join(" or "))
}

/// Tells what mends a lack of an aspect.
pub fn aspect_remedy(name: &str) -> String {
    match name {
        "fp64" => "use float where double is not meant (literals: 1.0f), or launch it only where \
                   device.has(sycl::aspect::fp64)"
            .into(),
        "fp16" => "use float, or launch it only where device.has(sycl::aspect::fp16)".into(),
        "atomic64" => "use 32-bit atomics, or launch it only where device.has(sycl::aspect::atomic64)".into(),
        _ => {
            format!("launch it only where device.has(sycl::aspect::{name}), and have another kernel for other devices")
        }
    }
}

/// Tells how to get an image for a target.
pub fn build_remedy(target: &Target) -> String {
    if target.name == "spir64_x86_64" {
        return "add one: sycl-bundle build FILE -t spir64_x86_64 -o OUTPUT".to_owned();
    }
    let name = crate::native::gpu_of(target);
    if target.backends.first() == Some(&Backend::Cuda) || target.ocloc_device().is_some() || name != target.name {
        return format!(
            "add one: sycl-bundle build FILE -t {name} -o OUTPUT, or at compile time: -fsycl-targets={name}"
        );
    }
    format!("add it to the targets at compile time: -fsycl-targets={}, or spir64 for all that take SPIR-V", target.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_stands_in_order() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.is_sorted_by_key(|rule| rule.id));
        for rule in RULES {
            assert_eq!(rule.id.rule().name, rule.name);
            assert!(!rule.title.ends_with('.') && rule.help.ends_with('.'), "{}", rule.name);
        }
        assert!(RuleId::of_policies().all(|rule| rule <= RuleId::MissingKernel));
        assert_eq!(RuleId::of_policies().count(), 28);
    }
}
