//! What does a message say?
//!
//! Line by line, by the words that stay the same: libsycl 2024 to 2026 (`program_manager.cpp`, `error_handling/`), the older
//! Plugin Interface, DPC++'s design documents, Intel's OpenCL CPU driver, its graphics compiler and `ocloc`. A message may
//! say several things, as a build log does; what only repeats that something failed counts where nothing else is said.

use super::codes::{self, Code, Phrase, Topic};
use crate::limits;
use std::collections::HashSet;

/// One thing that a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// No kernel has the name.
    NoKernel,
    /// No image of the kernel is for the device; the targets that there are images for.
    NoImage(Vec<String>),
    /// The kernels run on none of the devices of a bundle.
    NoBundle,
    /// The device lacks something that is not told.
    NotSupported,
    /// The device lacks an aspect, by SYCL name.
    Aspect(String),
    /// The device lacks a required sub-group size.
    SubGroupSize(u64),
    /// The device cannot run the required work-group size; its work-items, where they are told.
    WorkGroupSize(Option<u64>),
    /// The launch is of another work-group size than the kernel requires, which is, slowest dimension first.
    LocalSize(Option<Vec<u64>>),
    /// The launch has other dimensions than the required size.
    Dimensions,
    /// The work-group of the launch is larger than the device runs.
    TooLarge,
    /// Matrix operations that the device lacks.
    Matrix,
    /// The image is fixed to other targets.
    FixedTarget,
    /// Nothing defines symbols that images import.
    Symbols(Vec<String>),
    /// Images with imports of a kind that the runtime does not link.
    NoLinking,
    /// A SPIR-V capability that the compiler does not take.
    Capability(u32),
    /// An instruction that the compiler does not take.
    Opcode(u32),
    /// SPIR-V extensions that the translator does not take.
    Extension(String),
    /// AMX instructions that the CPU lacks.
    Amx,
    /// No device is there.
    NoDevice,
    /// No `ocloc` was found.
    NoOcloc,
    /// `ocloc` does not know a device.
    OclocDevice(String),
    /// `ocloc` ended with a number.
    Ocloc(i64),
    /// An error code.
    Code(&'static Code),
    /// A known sentence.
    Phrase(&'static Phrase),
}

/// One thing that a message says, with the words that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saying {
    /// The recognised cause.
    pub(crate) said: Said,
    /// The line.
    pub(crate) line: String,
}

/// The sayings of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The things, those that say most first.
    pub(crate) sayings: Vec<Saying>,
    /// The number of times that lines tell others than those that are kept.
    pub(crate) more: usize,
    /// Kernels that it names, in its order.
    pub(crate) kernels: Vec<String>,
    /// Names of the same kernels, to look them up.
    named: HashSet<String>,
}

impl Message {
    /// Whether it names a kernel.
    pub(crate) fn names(&self, kernel: &str) -> bool {
        self.named.contains(kernel)
    }

    /// Adds what a line says, unless it is known. Whether there was room for it, which what says that something failed, and all else,
    /// have for themselves.
    fn add(&mut self, said: Said, line: &str) -> bool {
        if self.sayings.iter().any(|known| known.said == said) {
            return true;
        }
        let is_like = |one: &&Saying| one.said.is_general() == said.is_general();
        let has_room = self.sayings.iter().filter(is_like).count() < limits::MAX_SAYINGS;
        if has_room {
            self.sayings.push(Saying { said, line: line.to_owned() });
        }
        has_room
    }
}

/// Lines of a message that are read; a build log may be endless.
const LINES: usize = 10_000;

/// Reads a message.
pub fn read(message: &str) -> Message {
    // The text of `what()` is often pasted with its line ends escaped.
    let message = message.replace("\\n", "\n");
    let mut read = Message::default();
    let mut extension = false;
    let (mut more, mut more_general) = (0usize, 0usize);
    for line in message.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES) {
        let mut found = rules(line);
        // The translator names extensions on the lines below.
        if extension && line.starts_with("SPV_") {
            found.push(Said::Extension(line.to_owned()));
        }
        extension = line.contains("Feature requires the following SPIR-V extension") || extension && !found.is_empty();
        for kernel in kernels(line) {
            if read.named.insert(kernel.to_owned()) {
                read.kernels.push(kernel.to_owned());
            }
        }
        for said in found {
            let more = if said.is_general() { &mut more_general } else { &mut more };
            *more = more.saturating_add(usize::from(!read.add(said, line)));
        }
    }
    if read.sayings.iter().any(|one| !one.said.is_general()) {
        read.sayings.retain(|one| !one.said.is_general());
        read.more = more;
    } else {
        read.more = more_general;
    }
    read
}

impl Said {
    /// Whether it says no more than that something failed.
    fn is_general(&self) -> bool {
        match self {
            Said::Code(_) | Said::Ocloc(_) | Said::NoBundle | Said::NotSupported => true,
            Said::Phrase(phrase) => phrase.is_general(),
            _ => false,
        }
    }

    /// Returns the word for programs.
    pub(crate) fn topic(&self) -> Topic {
        match self {
            Said::NoKernel => Topic::NoKernel,
            Said::NoImage(_) => Topic::NoImage,
            Said::NoBundle => Topic::NoBundle,
            Said::NotSupported => Topic::NotSupported,
            Said::Aspect(_) => Topic::Aspect,
            Said::SubGroupSize(_) => Topic::SubGroupSize,
            Said::WorkGroupSize(_) => Topic::WorkGroupSize,
            Said::LocalSize(_) => Topic::LocalSize,
            Said::Dimensions => Topic::Dimensions,
            Said::TooLarge => Topic::TooLarge,
            Said::Matrix => Topic::Matrix,
            Said::FixedTarget => Topic::FixedTarget,
            Said::Symbols(_) => Topic::Symbols,
            Said::NoLinking => Topic::NoLinking,
            Said::Capability(_) => Topic::SpirvCapability,
            Said::Opcode(_) => Topic::SpirvOpcode,
            Said::Extension(_) => Topic::SpirvExtension,
            Said::Amx => Topic::Amx,
            Said::NoDevice => Topic::NoDevice,
            Said::NoOcloc => Topic::NoOcloc,
            Said::OclocDevice(_) => Topic::OclocDevice,
            Said::Ocloc(_) => Topic::Ocloc,
            Said::Code(_) => Topic::Code,
            Said::Phrase(phrase) => phrase.topic,
        }
    }
}

/// All that one line says.
fn rules(line: &str) -> Vec<Said> {
    let has = |text: &str| line.contains(text);
    let mut found = Vec::new();
    if has("No kernel named ") && has(" was found") || has("No kernel found with the specified name") {
        found.push(Said::NoKernel);
    }
    if has("no image for the selected device") || has("No device image compatible with the current device") {
        let targets = between(line, "target: [", "]").unwrap_or_default();
        found.push(Said::NoImage(targets.split(", ").filter(|one| !one.is_empty()).map(str::to_owned).collect()));
    }
    if has("incompatible with all devices in devs") {
        found.push(Said::NoBundle);
    }
    if has("kernel_not_supported") {
        found.push(Said::NotSupported);
    }
    let aspect = between(line, "Required aspect ", " is not supported")
        .or_else(|| between(line, "'aspect::", "'"))
        .or_else(|| {
            after(line, "not support aspect::").or_else(|| after(line, "context support aspect::")).map(name_of)
        })
        .or_else(|| between(line, "uses-", "-math\")").filter(|_| has("invalid_kernel(")));
    found.extend(aspect.map(|name| Said::Aspect(name.to_owned())));
    if has("Double type is not supported") || has("Double arithmetic operation is not supported") {
        found.push(Said::Aspect("fp64".to_owned()));
    }
    found.extend(sizes(line));
    if has("no matrix hardware") || has("joint_matrix") && has("not supported") {
        found.push(Said::Matrix);
    }
    if has("-fsycl-fixed-targets=") && has("different device") {
        found.push(Said::FixedTarget);
    }
    found.extend(symbols(line).map(Said::Symbols));
    if has("Cannot resolve external symbols") {
        found.push(Said::NoLinking);
    }
    found.extend(after(line, "requires unsupported capability ").and_then(leading).map(Said::Capability));
    found.extend(after(line, "does not support the following opcode: ").and_then(leading).map(Said::Opcode));
    if has("AMX") && has("arch older than") {
        found.push(Said::Amx);
    }
    found.extend(machine(line));
    found.extend(codes::in_line(line).map(Said::Phrase));
    // A sentence says more than its code.
    found.extend(code(line).filter(|_| !found.iter().any(|said| matches!(said, Said::Phrase(_)))));
    found
}

fn sizes(line: &str) -> Option<Said> {
    let has = |text: &str| line.contains(text);
    let sub_group = between(line, "Sub-group size ", " is not supported")
        .or_else(|| between(line, "required sub-group size of '", "'"))
        .or_else(|| between(line, "required subgroup size ", ", which is unsupported"));
    if let Some(size) = sub_group.and_then(|text| text.parse().ok()) {
        return Some(Said::SubGroupSize(size));
    }
    if has("required work-group size of '") {
        // "4x16" of the design document's words.
        let sizes = between(line, "required work-group size of '", "'")?.split('x');
        return Some(Said::WorkGroupSize(
            sizes.map(|size| size.parse::<u64>().ok()).try_fold(1, |product: u64, size| product.checked_mul(size?)),
        ));
    }
    if has("equired work-group size ") && has("not supported") {
        return Some(Said::WorkGroupSize(after(line, "equired work-group size ").and_then(leading)));
    }
    if has("size dimension") && has("match the required work-group size dimension") {
        return Some(Said::Dimensions);
    }
    if has("match the required work-group size") {
        let list = after(line, "required work-group size").and_then(|rest| between(rest, "{", "}"));
        let sizes = list.map(|list| list.split(", ").filter_map(|size| size.parse().ok()).collect());
        return Some(Said::LocalSize(sizes));
    }
    let items = has("umber of work-items in") && has("work-group");
    (items && (has("cannot exceed") || has("exceed limit") || has("exceeds the maximum"))).then_some(Said::TooLarge)
}

/// Symbols that a linker did not find.
fn symbols(line: &str) -> Option<Vec<String>> {
    if let Some(symbol) = after(line, "device image found for external symbol ") {
        return Some(vec![first_word(symbol).to_owned()]);
    }
    if let Some(list) = between(line, "Symbols not found: [ ", " ]") {
        return Some(list.split(", ").take(limits::MAX_SAID_SYMBOLS).map(str::to_owned).collect());
    }
    let quoted = after(line, "undefined reference to ").or_else(|| after(line, "nresolved extern function "));
    let symbol = quoted.or_else(|| after(line, "nresolved Symbol "))?;
    let end = |c: char| matches!(c, '`' | '\'' | '"' | '<' | '>');
    let symbol = symbol.trim_start_matches(end).split(end).next().unwrap_or_default().trim();
    // Symbols that the host's linker misses are no matter of device code, but for the registration.
    (!symbol.is_empty()).then(|| vec![symbol.trim_end_matches("()").to_owned()])
}

/// Recognises what the machine lacks.
fn machine(line: &str) -> Option<Said> {
    let has = |text: &str| line.contains(text);
    if let Some(name) = between(line, "HW Info for device ", ".").or_else(|| after(line, "determine device target: ")) {
        return Some(Said::OclocDevice(first_word(name).trim_end_matches('.').to_owned()));
    }
    let missing =
        has("No such file or directory") || has("not found") || has("nable to find") || has("nable to execute");
    if missing && (has("llvm-foreach") || has("ocloc")) && !has("Input file") {
        return Some(Said::NoOcloc);
    }
    let none = has("No device of requested type") || has("No platforms found") || has("No devices found");
    none.then_some(Said::NoDevice)
}

/// The error code that a line names, or only numbers.
fn code(line: &str) -> Option<Said> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(code) = line.split(|c| !word(c)).find_map(codes::by_name) {
        return Some(Said::Code(code));
    }
    let numbers = || line.split(|c: char| !c.is_ascii_digit() && c != '-').filter_map(|text| text.parse::<i64>().ok());
    if ["ocloc", "OCLOC_", "compiler command failed"].iter().any(|word| line.contains(word)) {
        let known = |number: &i64| *number != 0 && codes::by_ocloc(*number).is_some();
        return numbers().find(known).map(Said::Ocloc);
    }
    // A number alone, or behind the words that introduce one.
    let stands = ["returns: ", "error: ", "error code ", "error code: ", "status ", "clBuildProgram", "CL_"];
    let told = line.split_whitespace().count() == 1 || stands.iter().any(|words| line.contains(words));
    let unified = line.contains("backend failed with error: ");
    numbers().filter(|_| told).find_map(|number| {
        let known = if unified { codes::by_unified(number) } else { codes::by_opencl(number) };
        known.map(Said::Code)
    })
}

/// Kernels that a line names.
fn kernels(line: &str) -> impl Iterator<Item = &str> {
    let named = between(line, "No kernel named ", " was found")
        .or_else(|| {
            line.strip_prefix("Kernel ").and_then(|rest| rest.split_once(" has no image")).map(|(name, _)| name)
        })
        .or_else(|| between(line, "was found for kernel ", ". The program"))
        .or_else(|| between(line, "in kernel: '", "'"))
        .or_else(|| after(line, "Failed to lookup symbol ").map(first_word))
        .or_else(|| after(line, "error in kernel ").map(first_word));
    named.map(|name| name.trim_matches(['"', '\'', '`'])).filter(|name| !name.is_empty()).into_iter()
}

fn after<'l>(line: &'l str, words: &str) -> Option<&'l str> {
    line.split_once(words).map(|(_, rest)| rest)
}

fn between<'l>(line: &'l str, before: &str, behind: &str) -> Option<&'l str> {
    after(line, before)?.split_once(behind).map(|(found, _)| found)
}

/// The name that a text begins with.
fn name_of(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The number that a text begins with.
fn leading<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}
