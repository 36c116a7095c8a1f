//! Which facts are known of one image, and of the compiled code in it?

use super::inspect::{View, requires};
use super::text::{Shown, field};
use super::text::{bytes, counted};
use super::{FileFacts, name};
use crate::bundle::aspect::Epoch;
use crate::bundle::image::EntryLayout;
use crate::bundle::property::{Properties, Value};
use crate::bundle::property_sets::{decode, describe_stored};
use crate::bytes::hex;
use crate::compat::examine::Examined;
use crate::demangle::demangle;
use crate::native::Coverage;
use crate::native::driver::OldForm;
use crate::native::{Argument, Driver, Kernel, Native, Part};
use crate::spirv::{Module, grammar};

/// The column in which the values of fields begin.
const COLUMN: usize = 20;
/// Raw bytes of a property that are shown.
const RAW: usize = 24;

/// All about one image.
pub(crate) fn image(facts: &FileFacts<'_>, examined: &Examined<'_, '_>, view: &View) -> Shown {
    let image = examined.image;
    let mut page = Page { out: view.heading(&format!("Image {} of {}", image.index, facts.path)), view };
    page.field("State", examined.state.name());
    page.field("Format", &format!("{}; declared {}", examined.format.name(), image.declared.name()));
    page.field("Target", image.target);
    page.optional("Compile target", image.compile_target());
    page.optional("Instruction set", examined.march.map(crate::device::cpu::CpuArch::name));
    page.field("Requires", &requires(&examined.requirements));
    let stored = image.stored.len() as u64;
    page.field(
        "Size",
        &match image.compression() {
            None => size(stored),
            Some(compression) => {
                format!("{}, stored as {} of {}", size(examined.size), size(stored), compression.name())
            }
        },
    );
    page.field("BLAKE3", &hex(&examined.blake3));
    page.field("File offset", &format!("{:#x}", image.offset));
    if let Some(origin) = image.origin {
        let entries = match origin.entry_layout {
            None => "no entries",
            Some(EntryLayout::Old) => "old entries of 32 bytes",
            Some(EntryLayout::New) => "new entries of 56 bytes",
        };
        let place = format!(
            "descriptor {}, address {:#x}, version {}, kind {}, {entries}",
            origin.descriptor, origin.address, origin.version, origin.kind
        );
        page.field("Structure", &place);
    }
    let absolute = facts.absolute.filter(|_| !image.inflated);
    let offset = facts.base.saturating_add(image.offset);
    let uri = absolute.map(|path| name::uri_at(&name::uri(path), offset, image.stored.len()));
    page.optional("URI", uri.as_deref());
    page.optional("Compile options", Some(image.compile_options).filter(|options| !options.is_empty()));
    page.optional("Link options", Some(image.link_options).filter(|options| !options.is_empty()));
    page.names("Kernels", &examined.kernels);
    let others: Vec<String> = image.entries.iter().map(|entry| (*entry).to_owned()).collect();
    let others: Vec<String> = others.into_iter().filter(|entry| !examined.kernels.contains(entry)).collect();
    page.names("Other entries", &others);
    page.names("Exports", &examined.exports);
    page.names("Imports", &examined.imports);
    page.properties(&image.properties, facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch));
    if let Some(module) = &examined.module {
        page.module(module);
    }
    if let Some(native) = &examined.native {
        page.native(native);
    }
    if let Some(problem) = &examined.problem {
        page.field("Problem", &problem.to_string());
    }
    page.out
}

fn size(count: u64) -> String {
    if count < 1024 { bytes(count) } else { format!("{} ({count} bytes)", bytes(count)) }
}

struct Page<'v> {
    out: Shown,
    view: &'v View,
}

impl Page<'_> {
    fn field(&mut self, label: &str, text: &str) {
        field(&mut self.out, 2, label, COLUMN, text, self.view.width);
    }

    fn optional(&mut self, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.field(label, text);
        }
    }

    /// A line, broken where it must be.
    fn line(&mut self, indent: usize, text: &str) {
        field(&mut self.out, indent, "", indent, text, self.view.width);
    }

    /// Names as the source has them, each with its mangled form under it.
    fn names(&mut self, title: &str, names: &[String]) {
        if names.is_empty() {
            return;
        }
        self.line(2, &format!("{title} ({})", names.len()));
        for mangled in names {
            let demangled = demangle(mangled);
            if self.view.demangle && demangled != mangled.as_str() {
                self.line(4, &demangled);
                self.line(6, mangled);
            } else {
                self.line(4, mangled);
            }
        }
    }

    fn properties(&mut self, all: &Properties<'_>, epoch: Epoch) {
        for set in &all.sets {
            self.line(2, &format!("Properties [{}]", set.name));
            for property in &set.properties {
                let name = if self.view.demangle { demangle(property.name) } else { property.name.into() };
                let decoded = decode(all, set.name, property, epoch).map(|decoded| decoded.to_string());
                match (property.value, decoded) {
                    (Value::U32(number), None) => self.line(4, &format!("{name}: {number}")),
                    (Value::U32(number), Some(decoded)) => self.line(4, &format!("{name}: {decoded} ({number})")),
                    (_, Some(decoded)) => {
                        self.line(4, &format!("{name}: {decoded}"));
                        self.line(6, &describe_stored(&property.value, RAW));
                    }
                    (_, None) => {
                        self.line(4, &name);
                        self.line(6, &describe_stored(&property.value, RAW));
                    }
                }
            }
        }
    }

    fn module(&mut self, module: &Module) {
        let (major, minor) = module.version;
        self.line(2, &format!("SPIR-V {major}.{minor}, {}", grammar::generator_name(module.generator)));
        let capabilities: Vec<String> =
            module.capabilities.iter().map(|&number| grammar::capability_name(number).into_owned()).collect();
        let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        self.sub("Capabilities", &list(&capabilities));
        self.sub("Extensions", &list(&module.extensions));
        let aspects: Vec<String> = module.used_aspects.iter().map(|&aspect| aspect.to_owned()).collect();
        self.sub("Uses aspects", &list(&aspects));
        if !module.spec_constants.is_empty() {
            let ids: Vec<String> = module.spec_constants.iter().map(u32::to_string).collect();
            self.sub("Spec ids", &list(&ids));
        }
        let entries: Vec<String> =
            module.entry_points.iter().map(|entry| format!("%{} {}", entry.function, entry.name)).collect();
        self.sub("Entry points", &counted(entries.len(), "function"));
        for entry in entries {
            self.line(6, &entry);
        }
    }

    /// Each part with its kernels, and of these what they take.
    fn native(&mut self, native: &Native) {
        let container = native.container.map_or("Compiled code".to_owned(), |container| {
            format!("{container} of {}", counted(native.parts.len(), "part"))
        });
        self.line(2, &container);
        let gpus = native.coverage_by_gpu(Driver::ANY);
        for (coverage, label) in [(Coverage::Native, "Runs as it is on"), (Coverage::Jit, "Compiled first on")] {
            let own: Vec<String> =
                gpus.iter().filter(|(_, one)| **one == coverage).map(|(gpu, _)| gpu.clone()).collect();
            self.sub_list(label, &own);
        }
        for part in &native.parts {
            self.sub(if part.name.is_empty() { "Code" } else { &part.name }, &native_part(part));
            if !part.devices.is_empty() {
                self.sub("Devices", &part.devices.join(", "));
            }
            if let Some(drivers) = part.old_form.map(OldForm::refused_by) {
                self.sub(if part.spirv { "Compiled anew by" } else { "Refused by" }, drivers);
            }
            let sections: Vec<String> =
                part.sections.iter().map(|section| format!("{} {}", section.name, bytes(section.size))).collect();
            self.sub_list("Holds too", &sections);
            let notes: Vec<String> = part.notes.iter().map(|(name, number)| format!("{name} {number}")).collect();
            self.sub_list("Notes", &notes);
            for kernel in &part.kernels {
                self.line(6, &self.view.kernel(&kernel.name));
                let resources = native_resources(kernel);
                if !resources.is_empty() {
                    self.line(8, &resources);
                }
                for argument in &*kernel.arguments {
                    self.line(8, &native_argument(argument));
                }
            }
        }
    }

    /// A list behind a label, where it is not empty.
    fn sub_list(&mut self, label: &str, words: &[String]) {
        if !words.is_empty() {
            self.sub(label, &words.join(", "));
        }
    }

    fn sub(&mut self, label: &str, text: &str) {
        field(&mut self.out, 4, label, COLUMN, text, self.view.width);
    }
}

/// The devices in few words, for a table.
pub(crate) fn native_devices(native: &Native) -> Option<String> {
    match native.devices().as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        [first, second] => Some(format!("{first}, {second}")),
        [first, rest @ ..] => Some(format!("{first} and {} more", rest.len())),
    }
}

/// A part: its format, version, producer, size, and how it states its device.
fn native_part(part: &Part) -> String {
    let mut words = vec![part.format.name().to_owned()];
    words.extend(part.version.as_ref().map(
        |version| match version.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("version {version}"),
            false => version.clone(),
        },
    ));
    words.push(bytes(part.size));
    words.extend(Some(part.stated.clone()).filter(|stated| !stated.is_empty()));
    words.extend(part.producer.as_ref().map(|producer| format!("by {producer}")));
    words.join(", ")
}

/// Resources that a kernel takes of a device, as far as the format tells.
fn native_resources(kernel: &Kernel) -> String {
    let mut words = Vec::new();
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.simd, &|simd| format!("SIMD {simd}"));
    add(kernel.registers, &|count| format!("{count} registers"));
    add(kernel.scalar_registers, &|count| format!("{count} scalar registers"));
    add(kernel.accumulation_registers.filter(|&count| count > 0), &|count| format!("{count} accumulation registers"));
    add(kernel.spill, &|size| format!("spill {}", bytes(size)));
    if let Some([vector, scalar]) = kernel.spilled_registers {
        words.push(format!("{vector} vector and {scalar} scalar registers spilled"));
    }
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.scratch, &|size| format!("scratch {}", bytes(size)));
    add(kernel.private, &|size| format!("private {}", bytes(size)));
    add(kernel.local, &|size| format!("local {}", bytes(size)));
    add(kernel.barriers, &|count| format!("{count} barrier{}", if count == 1 { "" } else { "s" }));
    if let Some([x, y, z]) = kernel.reqd_work_group_size {
        words.push(format!("requires work-group {x}x{y}x{z}"));
    }
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.reqd_sub_group_size, &|size| format!("requires sub-group {size}"));
    add(kernel.max_work_group_size, &|size| format!("work-group up to {size}"));
    add(kernel.argument_bytes, &|size| format!("{} of arguments", bytes(size)));
    words.join(", ")
}

/// An argument on one line.
fn native_argument(argument: &Argument) -> String {
    let mut words = Vec::new();
    words.extend(argument.name.clone());
    words.extend(argument.type_name.clone());
    words.extend(argument.kind.as_deref().map(str::to_owned));
    words.extend(argument.address_space.map(str::to_owned));
    words.extend(argument.access.map(|access| access.replace('_', "-")));
    words.extend(argument.size.map(|size| match argument.offset {
        Some(offset) => format!("{} at {offset}", bytes(size)),
        None => bytes(size),
    }));
    format!("argument {}: {}", argument.index, words.join(", "))
}
