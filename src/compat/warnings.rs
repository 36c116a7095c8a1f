//! What would the compiler warn of, had it known what the user declares now?
//!
//! The warnings of the design document for optional kernel features, on SPIR-V: aspects that `[[sycl::device_has()]]` does
//! not list, aspects and sizes that a target of `-fsycl-fixed-targets` lacks, and aspects of functions in other images
//! that the calling kernel's image does not record. The words are the document's.

use super::aspects::code::Kernel;
use super::aspects::{Evidence, Graph};
use super::finding::{Finding, RuleId};
use crate::bundle::requirements::Requirements;
use crate::device::target::{Has, Target};
use crate::spirv::kernel::SubGroup;
use std::collections::BTreeSet;

/// A kernel that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The module's position in the graph.
    pub module: usize,
    /// The place of its function in the module's nodes; none where the module has none.
    pub node: Option<usize>,
    /// Mangled name.
    pub kernel: &'s str,
    /// Requirements that the compiler stored for its image.
    pub requirements: &'s Requirements,
}

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The rule.
    pub(crate) rule: RuleId,
    /// Whether it is sure; else not enough is known of the target or of the instruction.
    pub certain: bool,
    /// The module's position in the graph.
    pub(crate) module: usize,
    /// The kernel's mangled name.
    pub(crate) kernel: String,
    /// The aspect or the size that is the matter.
    pub subject: String,
    /// The target that lacks it; none where no target is asked about.
    pub(crate) target: Option<String>,
    /// The function of another image that it is about, where no use shows it.
    pub(crate) callee: Option<String>,
    /// The use and the calls that lead to it; none for sizes.
    pub(crate) evidence: Option<Evidence>,
}

impl Warning {
    /// The sentence, of a function as it is to be called (demangled or not).
    pub(crate) fn message(&self, function: &str) -> String {
        let Warning { subject, .. } = self;
        let target = self.target.as_deref().unwrap_or_default();
        let (uses, lacks) = if self.certain { ("uses", "does not have") } else { ("may use", "may not have") };
        match self.rule {
            RuleId::DeviceHas => {
                format!("function '{function}' {uses} aspect '{subject}' not listed in 'sycl::device_has'")
            }
            RuleId::FixedTargetsAspect => format!(
                "function '{function}' uses aspect '{subject}', which target '{target}' of '-fsycl-fixed-targets' {lacks}"
            ),
            RuleId::FixedTargetsSubGroupSize => format!(
                "function '{function}' has required sub-group size '{subject}', \
                 which target '{target}' of '-fsycl-fixed-targets' {lacks}"
            ),
            RuleId::FixedTargetsWorkGroupSize => format!(
                "function '{function}' has required work-group size '{subject}', \
                 which target '{target}' of '-fsycl-fixed-targets' {lacks}"
            ),
            RuleId::ExternalFunction => format!(
                "function '{function}' {uses} aspect '{subject}' not expected by its calling kernel.\n\
                 Missing [[sycl::device_has()]] on SYCL_EXTERNAL function?"
            ),
            _ => format!(
                "function '{function}' has required sub-group size '{subject}' that does not match its calling kernel.  \
                 Missing [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?"
            ),
        }
    }

    /// The warning as a finding; `function` is the function's name as it is to be shown.
    pub(crate) fn finding(&self, function: &str) -> Finding {
        let Warning { subject, target, .. } = self;
        let target = target.as_deref().unwrap_or_default();
        let remedy = match self.rule {
            RuleId::DeviceHas => {
                format!("list aspect::{subject} in [[sycl::device_has()]], or keep it out of the function")
            }
            RuleId::ExternalFunction => {
                format!("declare the SYCL_EXTERNAL function with [[sycl::device_has(sycl::aspect::{subject})]]")
            }
            RuleId::ExternalFunctionSubGroupSize => {
                format!("declare the SYCL_EXTERNAL function with [[sycl::reqd_sub_group_size({subject})]]")
            }
            _ => format!("keep it out of the kernel, or take {target} out of -fsycl-fixed-targets"),
        };
        let aspect = self.evidence.as_ref().map(|evidence| evidence.aspect.name().to_owned());
        Finding { aspect, ..Finding::new(self.rule, self.certain, self.message(function), remedy) }
    }

    /// The function that the sentence is about: the kernel, or the external function.
    pub(crate) fn function(&self) -> &str {
        let external = || {
            let chain = &self.evidence.as_ref()?.chain;
            chain.iter().find(|step| step.module != self.module).map(|step| step.function.as_str())
        };
        match self.rule {
            RuleId::ExternalFunction | RuleId::ExternalFunctionSubGroupSize => {
                external().or(self.callee.as_deref()).unwrap_or(&self.kernel)
            }
            _ => &self.kernel,
        }
    }

    /// The warning in full, as the compiler prints it. `shown` says how a function is to be called.
    pub fn text(&self, shown: impl Fn(&str) -> String) -> String {
        let place = self.evidence.as_ref().and_then(|evidence| evidence.place.as_ref());
        let mut text = place.map(|place| format!("{place}: ")).unwrap_or_default();
        text.push_str(&format!("warning: {}\n", self.message(&shown(self.function()))));
        let Some(evidence) = &self.evidence else { return text };
        text.push_str("use is from this call chain:\n");
        for step in &evidence.chain {
            let name = shown(&step.function);
            let call = step.call.as_ref().map(|place| format!(" {place}")).unwrap_or_default();
            text.push_str(&format!("  {}{call}\n", called(&name)));
        }
        if place.is_none() {
            text.push_str("compile with '-g' to get source location\n");
        }
        text
    }
}

/// A function as one that is called: with parentheses, where its name has none.
pub(crate) fn called(name: &str) -> String {
    if name.ends_with(')') { name.to_owned() } else { format!("{name}()") }
}

/// Every aspect that a kernel's code uses and the declared ones are without.
pub fn declared(graph: &Graph<'_>, subject: &Subject<'_>, declared: &[String]) -> Vec<Warning> {
    let listed = |name: &str| declared.iter().any(|listed| listed == name);
    of_aspects(graph, subject, RuleId::DeviceHas, None, |name| (!listed(name)).then_some(true))
}

/// Returns a kernel's requirements: those recorded for its image, and the sizes that its own code names where none is
/// recorded, as in a bare module. No sub-group size binds explicit SIMD, whose kernels have one of 1 that the runtime
/// ignores.
pub(crate) fn requirements(recorded: &Requirements, kernel: &Kernel, esimd: bool) -> Requirements {
    let own = &kernel.attributes;
    let size = own.sub_group_size.and_then(SubGroup::size);
    let mut all = recorded.clone();
    if esimd {
        all.reqd_sub_group_sizes.clear();
    } else if all.reqd_sub_group_sizes.is_empty() {
        all.reqd_sub_group_sizes.extend(size);
    }
    if all.reqd_work_group_sizes.is_empty() {
        let size = own.work_group_size.map(|size| size.into_iter().rev().map(u64::from).collect());
        all.reqd_work_group_sizes.extend::<Option<Vec<u64>>>(size);
    }
    all
}

/// Every aspect and size of a kernel that a target lacks, or may lack.
pub fn fixed_target(graph: &Graph<'_>, subject: &Subject<'_>, target: &Target) -> Vec<Warning> {
    let lacks = |name: &str| match target.has(name) {
        Has::Yes => None,
        Has::No => Some(true),
        Has::Unknown => Some(false),
    };
    let mut warnings = of_aspects(graph, subject, RuleId::FixedTargetsAspect, Some(&target.name), lacks);
    let of_size = |rule, size: String, certain| Warning {
        rule,
        certain,
        module: subject.module,
        kernel: subject.kernel.to_owned(),
        subject: size,
        target: Some(target.name.clone()),
        callee: None,
        evidence: None,
    };
    for size in &subject.requirements.reqd_sub_group_sizes {
        let certain = match &target.sub_group_sizes {
            Some(sizes) if sizes.contains(size) => None,
            Some(_) => Some(true),
            None => Some(false),
        };
        let size = size.to_string();
        warnings.extend(certain.map(|certain| of_size(RuleId::FixedTargetsSubGroupSize, size, certain)));
    }
    for sizes in &subject.requirements.reqd_work_group_sizes {
        let items = sizes.iter().fold(1u64, |product, size| product.saturating_mul(*size));
        let certain = match target.max_work_group_size {
            Some(most) if items <= most => None,
            Some(_) => Some(true),
            None => Some(false),
        };
        let size = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        warnings.extend(certain.map(|certain| of_size(RuleId::FixedTargetsWorkGroupSize, size, certain)));
    }
    warnings
}

/// Every aspect and sub-group size that comes from a function of another image and is not the kernel's own. Of images
/// without kernels, what is `recorded` holds for their functions, though no code shows it.
pub(crate) fn external<'r>(
    graph: &Graph<'_>,
    subject: &Subject<'_>,
    recorded_of: &dyn Fn(usize) -> Option<&'r Requirements>,
) -> Vec<Warning> {
    let recorded = |name: &str| subject.requirements.aspects.iter().any(|recorded| recorded == name);
    let mut warnings =
        of_aspects(graph, subject, RuleId::ExternalFunction, None, |name| (!recorded(name)).then_some(true));
    warnings.retain(|warning| {
        let chain = warning.evidence.as_ref().map(|evidence| evidence.chain.as_slice()).unwrap_or_default();
        chain.last().is_some_and(|step| step.module != subject.module)
    });
    let Some(node) = subject.node else { return warnings };
    let mut seen = BTreeSet::new();
    for (module, place) in graph.reached(std::iter::once((subject.module, node))) {
        let code = graph.codes().get(module).filter(|code| module != subject.module && code.kernels.is_empty());
        let Some((code, required)) = code.zip(recorded_of(module)) else { continue };
        // Only a function with a symbol is imported; functions that it calls in its own image do not count.
        let Some(function) = code.nodes.get(place).filter(|node| node.symbol.is_some()) else { continue };
        let shown: Vec<&str> = code.used().into_iter().map(|aspect| aspect.name()).collect();
        let aspects = required.aspects.iter().filter(|name| !shown.contains(&name.as_str()) && !recorded(name));
        let aspects = aspects.map(|name| (RuleId::ExternalFunction, name.clone()));
        let own = &subject.requirements.reqd_sub_group_sizes;
        let sizes = required.reqd_sub_group_sizes.iter().filter(|size| !own.contains(size));
        let sizes = sizes.map(|size| (RuleId::ExternalFunctionSubGroupSize, size.to_string()));
        for (rule, what) in aspects.chain(sizes).filter(|(rule, what)| seen.insert((rule.name(), what.clone()))) {
            warnings.push(Warning {
                rule,
                certain: true,
                module: subject.module,
                kernel: subject.kernel.to_owned(),
                subject: what,
                target: None,
                callee: Some(function.name().into_owned()),
                evidence: None,
            });
        }
    }
    warnings
}

fn of_aspects(
    graph: &Graph<'_>,
    subject: &Subject<'_>,
    rule: RuleId,
    target: Option<&str>,
    lacks: impl Fn(&str) -> Option<bool>,
) -> Vec<Warning> {
    let Some(node) = subject.node else { return Vec::new() };
    let used = graph.used(subject.module, node).into_iter();
    used.filter_map(|aspect| {
        let certain = lacks(aspect.name())?;
        Some(Warning {
            rule,
            certain: certain && aspect.certain(),
            module: subject.module,
            kernel: subject.kernel.to_owned(),
            subject: aspect.name().to_owned(),
            target: target.map(str::to_owned),
            callee: None,
            evidence: graph.evidence(subject.module, node, aspect),
        })
    })
    .collect()
}
