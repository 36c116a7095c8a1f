//! Which kernels and images of a file is a saying about?
//!
//! The texts of libsycl 2026.2 (`sycl/source/detail/program_manager/program_manager.cpp`), seen with kernels that the
//! CPU device does not run.

use super::said::{Message, Said};
use crate::bundle::property_sets::set;
use crate::bundle::requirements::FixedTarget;
use crate::compat::aspects::{Aspect, Evidence, Graph, shown};
use crate::compat::built_in::{is_known, of_the_device};
use crate::compat::choice::Choice;
use crate::compat::examine::Examined;
use crate::compat::finding::RuleId;
use crate::compat::fit::{Subject, spec};
use crate::device::target::{Backend, Target};
use crate::limits;
use crate::native::Native;
use crate::spirv::Words;
use crate::spirv::grammar::capability_name;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A file that is looked through.
pub(crate) struct Looked<'f> {
    /// Images of the file.
    pub(crate) images: &'f [Examined<'f, 'f>],
    /// Code of the images, in the same order.
    pub(crate) graph: Graph<'f>,
    /// For each kernel, the function it begins with, by the image's place and the name.
    nodes: HashMap<(usize, &'f str), usize>,
    /// Symbols that any image exports, and those that each leaves open, once they were asked for.
    exported: OnceCell<HashSet<&'f str>>,
    open: Vec<OnceCell<Open<'f>>>,
}

/// Symbols that an image's code calls and nothing in the file defines, nor any device by itself.
#[derive(Debug, Default)]
pub(crate) struct Open<'f> {
    /// The symbols.
    symbols: Vec<&'f str>,
    /// The first of them that the image lists.
    listed: Option<&'f str>,
}

/// Something in a file that a saying is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concern {
    /// The image, by its number in the file; none where it is about the file.
    pub(crate) image: Option<usize>,
    /// The kernel's mangled name; none where it is about the image.
    pub(crate) kernel: Option<String>,
    /// The sentence, which kernels of an image share.
    pub(crate) message: Arc<str>,
    /// The use of the aspect and the calls that lead to it.
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// Kernels and images that a saying is about: the first ones, and the number of the others.
#[derive(Debug)]
pub(crate) struct Concerns {
    /// The first ones.
    pub(crate) kept: Vec<Concern>,
    /// The number of the others.
    pub(crate) left_out: usize,
    /// The number of those that are kept.
    room: usize,
}

impl Concerns {
    fn add(&mut self, concern: impl FnOnce() -> Concern) {
        match self.kept.len() < self.room {
            true => self.kept.push(concern()),
            false => self.left_out = self.left_out.saturating_add(1),
        }
    }

    /// Adds each wanted kernel of an image; the image itself where it holds none at all.
    fn kernels_say(&mut self, image: &Examined<'_, '_>, wanted: &dyn Fn(&str) -> bool, text: &str) {
        let (message, index): (Arc<str>, _) = (text.into(), Some(image.image.index));
        let concern = |kernel: Option<&String>| Concern {
            image: index,
            kernel: kernel.cloned(),
            message: message.clone(),
            evidence: None,
        };
        if image.kernels.is_empty() {
            self.add(|| concern(None));
        }
        image.kernels.iter().filter(|name| wanted(name)).for_each(|name| self.add(|| concern(Some(name))));
    }
}

impl<'f> Looked<'f> {
    /// Looks at the images of a file, whose code `graph` has.
    pub(crate) fn new(images: &'f [Examined<'f, 'f>], graph: Graph<'f>) -> Looked<'f> {
        let kernels = graph.kernels();
        let nodes = kernels.filter_map(|(at, kernel)| Some(((at, &*kernel.name), kernel.node?))).collect();
        let open = images.iter().map(|_| OnceCell::new()).collect();
        Looked { images, graph, nodes, exported: OnceCell::new(), open }
    }

    /// Finds the images and kernels that a saying is about, and keeps so many. `wanted` chooses among kernels by their mangled names.
    pub(crate) fn concerns(
        &self,
        said: &Said,
        message: &Message,
        wanted: &dyn Fn(&str) -> bool,
        room: usize,
    ) -> Concerns {
        let mut found = Concerns { kept: Vec::new(), left_out: 0, room };
        for (at, image) in self.images.iter().enumerate() {
            let mut image_says = |text: String| found.kernels_say(image, wanted, &text);
            match said {
                Said::NoKernel | Said::NoImage(_) | Said::NoBundle => {}
                Said::NotSupported => requirements(image).into_iter().for_each(image_says),
                Said::Aspect(name) => self.aspect(at, image, name, wanted, &mut found),
                Said::SubGroupSize(size) => {
                    if image.sub_group_sizes().iter().any(|own| u64::from(*own) == *size) {
                        image_says(format!("requires sub-groups of {size}"));
                    }
                }
                Said::WorkGroupSize(_) | Said::LocalSize(_) | Said::Dimensions => {
                    if let Some(size) = image.work_group_sizes().iter().find(|own| is_meant(said, own)) {
                        image_says(format!("requires work-groups of {}", times(size)));
                    }
                }
                Said::Matrix | Said::Amx => matrix(image).into_iter().for_each(image_says),
                Said::FixedTarget => {
                    if let Some(fixed) = &image.requirements.fixed_targets {
                        let names: Vec<String> = fixed.iter().map(FixedTarget::label).collect();
                        image_says(format!("is fixed to {}", names.join(", ")));
                    }
                }
                Said::Symbols(symbols) => {
                    let module = image.module.iter().flat_map(|module| &module.imports);
                    let imports: HashSet<&String> = image.imports.iter().chain(module).collect();
                    let exports: HashSet<&String> = image.exports.iter().collect();
                    for symbol in symbols {
                        if imports.contains(symbol) {
                            image_says(format!("imports {symbol}"));
                        }
                        if exports.contains(symbol) {
                            let message = format!("exports {symbol}").into();
                            let (image, kernel) = (Some(image.image.index), None);
                            found.add(|| Concern { image, kernel, message, evidence: None });
                            break;
                        }
                    }
                }
                Said::NoLinking => {
                    if let Some(first) = image.imports.first().filter(|_| !image.format.is_intermediate()) {
                        image_says(format!("is native code for {} and imports {first}", spec(image.image)));
                    }
                }
                Said::Capability(number) => {
                    if image.module.as_ref().is_some_and(|module| module.capabilities.contains(number)) {
                        image_says("declares the capability".to_owned());
                    }
                }
                Said::Opcode(opcode) => {
                    if uses(image, *opcode) {
                        image_says("has the instruction".to_owned());
                    }
                }
                Said::Extension(name) => {
                    if image.module.as_ref().is_some_and(|module| module.extensions.contains(name)) {
                        image_says(format!("declares {name}"));
                    }
                }
                Said::Code(code) if code.names.iter().any(|name| name.ends_with("_BINARY")) => {
                    if !image.format.is_intermediate() {
                        image_says(format!("is {} for {}", image.format.name(), devices(image)));
                    }
                }
                Said::TooLarge
                | Said::NoDevice
                | Said::NoOcloc
                | Said::OclocDevice(_)
                | Said::Ocloc(_)
                | Said::Code(_)
                | Said::Phrase(_) => {}
            }
        }
        if matches!(said, Said::NoKernel | Said::NoImage(_) | Said::NoBundle) || is_name(said) {
            self.holders(message, wanted, &mut found);
        }
        found
    }

    /// The images of the kernels that the message names; of none, of those that are wanted.
    fn holders(&self, message: &Message, wanted: &dyn Fn(&str) -> bool, found: &mut Concerns) {
        for image in self.images {
            let meant = |name: &str| {
                if message.kernels.is_empty() { wanted(name) } else { message.names(name) }
            };
            let text = format!("the file has it: {} for {}", image.format.name(), devices(image));
            // Without a name every kernel would be one.
            if message.kernels.is_empty() && self.images.iter().all(|one| one.kernels.iter().all(|name| wanted(name))) {
                return;
            }
            found.kernels_say(image, &meant, &text);
        }
    }

    /// The kernels of an image that need an aspect, or are held up by others of the image that do.
    fn aspect(
        &self,
        at: usize,
        image: &Examined<'_, '_>,
        name: &str,
        wanted: &dyn Fn(&str) -> bool,
        found: &mut Concerns,
    ) {
        let recorded = image.requirements.aspects.iter().any(|own| own == name);
        let aspect = Aspect::of_name(name);
        let others = OnceCell::new();
        let others_use =
            || *others.get_or_init(|| aspect.is_some_and(|one| self.graph.used_by_module(at).contains(&one)));
        let mut judge = |kernel: &String| {
            let node = self.nodes.get(&(at, kernel.as_str())).copied();
            let evidence = node.zip(aspect).and_then(|(node, aspect)| self.graph.evidence(at, node, aspect));
            let message = match (&evidence, recorded) {
                (Some(_), true) => "uses it",
                (Some(_), false) => "uses it, though its image does not record that; the device's compiler refuses it",
                (None, true) if others_use() => {
                    "does not use it itself; another kernel of its image does (-fsycl-device-code-split=per_kernel parts them)"
                }
                (None, true) => "its image records it: declared with [[sycl::device_has()]], or optimised away since",
                (None, false) => return,
            };
            let (message, evidence) = (message.into(), evidence.map(Box::new));
            let image = Some(image.image.index);
            found.add(|| Concern { image, kernel: Some(kernel.clone()), message, evidence });
        };
        image.kernels.iter().filter(|kernel| wanted(kernel)).for_each(&mut judge);
    }

    /// Returns the symbols that an image leaves open.
    fn open(&self, at: usize) -> Option<&Open<'f>> {
        let image = self.images.get(at)?;
        Some(self.open.get(at)?.get_or_init(|| self.undefined(image)))
    }

    fn undefined(&self, image: &'f Examined<'f, 'f>) -> Open<'f> {
        let all = || self.images.iter().flat_map(|one| one.exports.iter().map(String::as_str)).collect();
        let exported = self.exported.get_or_init(all);
        let module = image.module.iter().flat_map(|module| &module.imports);
        // Compilers of devices define those, and other images of a set of virtual functions these.
        let module = module.filter(|symbol| !is_known(symbol) && !image.set_imports.contains(symbol));
        let all = image.imports.iter().chain(module).map(String::as_str);
        let mut open: Vec<&str> = all.filter(|symbol| !of_the_device(symbol) && !exported.contains(symbol)).collect();
        open.sort_unstable();
        open.dedup();
        let listed: HashSet<&str> = image.imports.iter().map(String::as_str).collect();
        Open { listed: open.iter().copied().find(|symbol| listed.contains(symbol)), symbols: open }
    }
}

/// Whether a code says that there is no such kernel.
fn is_name(said: &Said) -> bool {
    matches!(said, Said::Code(code) if code.names.contains(&"INVALID_KERNEL_NAME"))
}

/// Whether a message is about kernels of this required size, which is in the order of the source.
fn is_meant(said: &Said, own: &[u64]) -> bool {
    match said {
        Said::WorkGroupSize(Some(items)) => {
            own.iter().try_fold(1u64, |product, size| product.checked_mul(*size)) == Some(*items) || own.contains(items)
        }
        Said::LocalSize(Some(told)) => bare(told) == bare(own),
        _ => true,
    }
}

/// A size without the dimensions that were put in front of it.
fn bare(size: &[u64]) -> &[u64] {
    let first = size.iter().position(|size| *size != 1).unwrap_or(size.len());
    size.get(first..).unwrap_or_default()
}

/// All that an image records as required.
fn requirements(image: &Examined<'_, '_>) -> Option<String> {
    let required = &image.requirements;
    let mut all: Vec<String> = required.aspects.iter().map(|name| format!("aspect {name}")).collect();
    let (work_groups, sub_groups) = (image.work_group_sizes(), image.sub_group_sizes());
    let most = limits::MAX_FINDINGS_OF_A_RULE;
    all.extend(work_groups.iter().take(most).map(|size| format!("work-groups of {}", times(size))));
    all.extend(sub_groups.iter().take(most).map(|size| format!("sub-groups of {size}")));
    let cut: usize = [work_groups.len(), sub_groups.len()].iter().map(|count| count.saturating_sub(most)).sum();
    all.extend((cut > 0).then(|| format!("{cut} more sizes")));
    all.extend(matrix(image).map(|_| "matrix operations".to_owned()));
    (!all.is_empty()).then(|| format!("requires {}", all.join(", ")))
}

/// `4x16`.
pub(crate) fn times(size: &[u64]) -> String {
    size.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

fn matrix(image: &Examined<'_, '_>) -> Option<String> {
    let text = |name| image.image.properties.text(set::REQUIREMENTS, name);
    let told = text("joint_matrix_mad").or_else(|| text("joint_matrix"));
    let used = || shown(image).contains("ext_intel_matrix");
    told.map(|text| format!("needs matrices {}", text.trim())).or_else(|| used().then(|| "uses matrices".to_owned()))
}

/// Names the devices of an image, by the compiled code itself where it tells, else by its labels.
pub(crate) fn devices(image: &Examined<'_, '_>) -> String {
    let own = image.native.as_ref().map(Native::devices).unwrap_or_default();
    let label = image.image.compile_target().unwrap_or_else(|| spec(image.image));
    match (image.march, own.is_empty()) {
        (Some(march), _) => format!("{label} ({march})"),
        (None, false) => own.join(", "),
        (None, true) => label.to_owned(),
    }
}

/// Whether the module has an instruction.
fn uses(image: &Examined<'_, '_>, opcode: u32) -> bool {
    let Some(contents) = image.module.as_ref().and_then(|_| image.image.contents().ok()) else { return false };
    let Ok(words) = Words::new(&contents) else { return false };
    words.instructions().flatten().any(|instruction| u32::from(instruction.opcode) == opcode)
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thrown {
    /// The name of its `sycl::errc`.
    pub(crate) errc: &'static str,
    /// Text of the exception; of a build error, the line of the log that tells.
    pub(crate) text: String,
    /// Whether it is thrown for sure; else only where no other library of the process defines a symbol, or the driver is
    /// of the kind that does.
    pub(crate) certain: bool,
}

impl Thrown {
    fn sure(errc: &'static str, text: impl Into<String>) -> Option<Thrown> {
        Some(Thrown { errc, text: text.into(), certain: true })
    }
}

/// Predicts the exception at the launch of the kernel of a choice; none where nothing is known to be thrown.
pub(crate) fn thrown(choice: &Choice, looked: &Looked<'_>, subject: &Subject<'_>) -> Option<Thrown> {
    let target = subject.target;
    let Some(chosen) = choice.chosen.and_then(|at| Some((at, looked.images.get(at)?))) else {
        // Where it is not known which images count, no failure is.
        let failure = choice.failure.as_ref().filter(|_| !choice.unsure)?;
        return Thrown::sure("runtime", failure.clone());
    };
    let (at, image) = chosen;
    let sure = choice.findings.first();
    let text = match sure.map(|finding| (finding.rule, finding.aspect.as_deref())) {
        Some((RuleId::Aspect, Some(name))) => format!("Required aspect {name} is not supported on the device"),
        Some((RuleId::Matrix, _)) if target.matrix.as_ref().is_some_and(Vec::is_empty) => {
            let single = image.image.properties.get(set::REQUIREMENTS, "joint_matrix").is_some();
            let name = if single { "joint_matrix" } else { "joint_matrix_mad" };
            format!("no matrix hardware on the target device, {name} is not supported")
        }
        Some((RuleId::Matrix, _)) => "joint_matrix with parameters ... is not supported on this device".to_owned(),
        Some((RuleId::FixedTarget, _)) => sure.map(|finding| finding.message.clone()).unwrap_or_default(),
        Some((RuleId::WorkGroupSize, _)) => {
            let sizes = &image.requirements.reqd_work_group_sizes;
            let items = |size: &&Vec<u64>| size.iter().fold(1u64, |product, side| product.saturating_mul(*side));
            let largest = sizes.iter().max_by_key(items).map(Vec::as_slice).unwrap_or_default();
            work_group(largest, target.max_work_group_size)
        }
        Some((RuleId::SubGroupSize, _)) => {
            let sizes = image.requirements.reqd_sub_group_sizes.iter();
            let size = sizes.copied().find(|size| lacks(target, *size)).unwrap_or_default();
            format!("Sub-group size {size} is not supported on the device")
        }
        _ => return build(choice, looked, at, subject),
    };
    Thrown::sure("kernel_not_supported", text)
}

fn lacks(target: &Target, size: u32) -> bool {
    target.sub_group_sizes.as_ref().is_some_and(|sizes| !sizes.contains(&size))
}

fn work_group(size: &[u64], most: Option<u64>) -> String {
    let Some(items) = size.iter().try_fold(1u64, |product, size| product.checked_mul(*size)) else {
        return "Required work-group size is not supported (total number of work-items requested can't fit into size_t)"
            .to_owned();
    };
    if most.is_some_and(|most| items > most) {
        return format!("Required work-group size {items} is not supported on the device");
    }
    format!("Required work-group size {} is not supported", times(size))
}

/// Predicts the exception of linking and compiling the chosen image.
fn build(choice: &Choice, looked: &Looked<'_>, at: usize, subject: &Subject<'_>) -> Option<Thrown> {
    let image = looked.images.get(at)?;
    if let Some(failure) = &choice.failure {
        return Thrown::sure("runtime", failure.clone());
    }
    let open = looked.open(at)?;
    if let Some(symbol) = open.listed {
        let text = format!("No device image found for external symbol {symbol}");
        return Some(Thrown { errc: "build", text, certain: false });
    }
    // Sizes that nobody recorded are met by the device's compiler.
    let module = image.compiled(subject);
    if let Some(size) = image.sub_group_sizes_with(module).into_iter().find(|size| lacks(subject.target, *size)) {
        let text = format!("Kernel compiled with required subgroup size {size}, which is unsupported on this platform");
        return Thrown::sure("build", text);
    }
    let refused = &subject.target.spirv_refused_capabilities;
    let refused =
        module?.capabilities.iter().find(|number| refused.iter().any(|name| *name == capability_name(**number)));
    if let Some(number) = refused {
        return Thrown::sure("build", format!("SPIRV module requires unsupported capability {number}"));
    }
    let symbol = open.symbols.first().filter(|_| subject.backend == Some(Backend::OpenCl))?;
    Some(Thrown { errc: "build", text: format!("Symbols not found: [ {symbol} ]"), certain: false })
}
