//! What is everything that is known of one kernel?

use super::{FileKernels, OnDevice, args, sub_group};
use crate::compat::kernels::{KernelFacts, NamedConstant, SourceArgument};
use crate::demangle::demangle;
use crate::native::Kernel as NativeKernel;
use crate::report::devices;
use crate::report::evidence;
use crate::report::inspect::View;
use crate::report::table::{Column, render};
use crate::report::text::bytes;
use crate::report::text::{Shown, field, lines};
use crate::rewrite::specialize::display_name;
use crate::spirv::kernel::Value;

/// The column in which the values of fields begin.
const COLUMN: usize = 22;

/// All about one kernel.
pub(crate) fn page(file: &FileKernels<'_>, kernel: &KernelFacts, view: &View) -> Shown {
    let demangled = demangle(&kernel.name);
    let title = if view.demangle { demangled.as_ref() } else { kernel.name.as_str() };
    let mut page = Page { out: view.heading(title), view };
    if title != kernel.name {
        page.line("Mangled", &kernel.name);
    }
    let others: Vec<String> =
        kernel.holders().iter().filter(|image| **image != kernel.image).map(usize::to_string).collect();
    let also = if others.is_empty() { String::new() } else { format!("; also in {}", others.join(", ")) };
    page.line("Image", &format!("{} of {}{also}", kernel.image, file.path));
    if let Some(module) = &kernel.module {
        page.line("Attributes", &none(&module.attributes.text()));
    }
    let size = |size: &Option<Vec<u64>>| {
        size.as_ref().map(|size| size.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "))
    };
    page.optional("Required work-group", size(&kernel.reqd_work_group_size));
    page.optional("Hinted work-group", size(&kernel.work_group_size_hint));
    page.optional("Required sub-group", kernel.reqd_sub_group_size.map(sub_group));
    if kernel.module.is_some() {
        page.line("Aspects used", &none(&kernel.used.join(", ")));
        page.optional("Perhaps", Some(kernel.possible.join(", ")).filter(|names| !names.is_empty()));
    }
    page.line("Aspects declared", &none(&kernel.declared.join(", ")));
    if let Some(comparison) = &kernel.comparison {
        let names: Vec<&str> = comparison.declared.iter().map(|aspect| aspect.name()).collect();
        page.line("Its module declares", &none(&names.join(", ")));
    }
    page.optional("Local memory", kernel.local_memory().map(bytes));
    if let Some(module) = &kernel.module {
        page.line("Variables", &format!("{} of all functions, before optimisation", bytes(module.private_memory)));
        for (label, names) in
            [("Device globals", &module.device_globals), ("Imports", &module.imports), ("Exports", &module.exports)]
        {
            page.optional(label, Some(names.join(", ")).filter(|names| !names.is_empty()));
        }
        let traits = [
            (kernel.esimd, "explicit SIMD"),
            (kernel.asserts, "can fail an assertion"),
            (module.indirect_calls, "calls functions by address"),
            (!module.reach.complete, "not all that it reaches is known"),
            (kernel.lists_left_out(), "arguments, constants and symbols are left out"),
        ];
        let traits: Vec<&str> = traits.into_iter().filter(|(there, _)| *there).map(|(_, text)| text).collect();
        page.optional("Traits", Some(traits.join(", ")).filter(|traits| !traits.is_empty()));
    }
    if kernel.clones().next().is_some() {
        page.line("Same code", "");
        for clone in kernel.clones() {
            field(
                &mut page.out,
                4,
                "",
                4,
                &if view.demangle { demangle(clone).into_owned() } else { clone.clone() },
                view.width,
            );
        }
    }
    page.evidence(kernel);
    page.arguments(kernel);
    page.constants(kernel);
    for (device, native) in &kernel.native {
        page.native(device, native);
    }
    for answers in &file.devices {
        page.section(&format!("On {}", answers.device.name));
        match answers.on_kernel(kernel) {
            Some(OnDevice::Answers { sycl, beyond }) => {
                for answer in sycl {
                    let text = match &answer.value {
                        Ok(value) => devices::text(value),
                        Err(error) => format!("errc::{}: {}", error.errc, error.message),
                    };
                    page.wide(answer.query, &text);
                }
                for (query, number) in beyond {
                    page.wide(&format!("OpenCL {query}"), &number.to_string());
                }
            }
            Some(OnDevice::None { errc, reason }) => {
                let errc = errc.map(|errc| format!("errc::{errc}: ")).unwrap_or_default();
                page.wide("not built", &format!("{errc}{reason}"));
            }
            None => page.wide("not built", "not asked"),
        }
    }
    page.out
}

fn none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

struct Page<'v> {
    out: Shown,
    view: &'v View,
}

impl Page<'_> {
    fn line(&mut self, label: &str, text: &str) {
        field(&mut self.out, 2, label, COLUMN, text, self.view.width);
    }

    fn wide(&mut self, label: &str, text: &str) {
        field(&mut self.out, 4, label, 42, text, self.view.width);
    }

    fn optional(&mut self, label: &str, text: Option<String>) {
        if let Some(text) = text {
            self.line(label, &text);
        }
    }

    fn section(&mut self, title: &str) {
        lines(&mut self.out, "  ", "    ", title, self.view);
    }

    /// A table, moved right by four.
    fn table(&mut self, columns: &[(&str, Column)], rows: &[Vec<String>], minor: &[&str]) {
        let text = render(columns, rows, minor, self.view.width.saturating_sub(4), false);
        for line in text.lines() {
            writeln!(self.out, "    {line}");
        }
    }

    /// Lists the call chains to the uses of aspects, and where stored, declared and used aspects differ.
    fn evidence(&mut self, kernel: &KernelFacts) {
        if !kernel.evidence.is_empty() {
            self.section("Why these aspects");
        }
        for why in &kernel.evidence {
            let uses = evidence::uses(why);
            let way = evidence::way(&kernel.name, why, self.view.names());
            lines(&mut self.out, "    ", "      ", &format!("{uses} {}: {way}", why.aspect.name()), self.view);
        }
        let differences: Vec<String> = kernel.comparison.iter().flat_map(evidence::differences).collect();
        if !differences.is_empty() {
            self.section("Where stored, declared and used differ");
        }
        for line in differences {
            field(&mut self.out, 4, "", 4, &line, self.view.width);
        }
    }

    fn arguments(&mut self, kernel: &KernelFacts) {
        if kernel.module.is_none() {
            return;
        }
        let order = if kernel.from_source { "by position in the source" } else { "as compiled" };
        self.section(&format!("Arguments ({}), {order}", args(kernel)));
        if kernel.arguments.is_empty() {
            return;
        }
        let columns = [
            ("N", Column::Number),
            ("Space", Column::Text),
            ("Access", Column::Text),
            ("Size", Column::Number),
            ("Align", Column::Number),
            ("Name", Column::Name),
            ("Type", Column::Wrapped(60)),
        ];
        let row = |one: &SourceArgument| {
            let dash = || "-".to_owned();
            let Some(argument) = &one.argument else {
                return vec![one.index.to_string(), dash(), dash(), dash(), dash(), dash(), "(eliminated)".to_owned()];
            };
            let number = |value: Option<u64>| value.map_or_else(dash, |number| number.to_string());
            let mut words = argument.qualifiers.clone();
            words.push(argument.type_name.to_string());
            words.extend(argument.by_value.then(|| "by value".to_owned()));
            vec![
                one.index.to_string(),
                argument.address_space.to_owned(),
                argument.access.map_or_else(dash, str::to_owned),
                number(argument.size),
                number(argument.alignment),
                argument.name.clone().unwrap_or_else(dash),
                words.join(" "),
            ]
        };
        let rows: Vec<Vec<String>> = kernel.arguments.iter().map(row).collect();
        self.table(&columns, &rows, &["Align", "Access", "Size", "Name"]);
    }

    fn constants(&mut self, kernel: &KernelFacts) {
        if kernel.spec_constants.is_empty() {
            return;
        }
        self.section(&format!("Specialization constants ({})", kernel.spec_constants.len()));
        let demangles = self.view.demangle;
        let shown = |name: &str| if demangles { display_name(name) } else { name.to_owned() };
        let columns = [
            ("Id", Column::Number),
            ("Type", Column::Text),
            ("Default", Column::Text),
            ("At", Column::Number),
            ("Name", Column::Wrapped(80)),
        ];
        let row = |one: &NamedConstant| {
            vec![
                one.constant.id.to_string(),
                one.constant.type_name.to_string(),
                value(one.constant.default),
                one.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
                // As the source calls it, which `build --spec` takes.
                one.name.as_deref().map_or_else(|| "-".to_owned(), shown),
            ]
        };
        let rows: Vec<Vec<String>> = kernel.spec_constants.iter().map(row).collect();
        self.table(&columns, &rows, &["At", "Type"]);
    }

    fn native(&mut self, device: &str, native: &NativeKernel) {
        self.section(&format!("Compiled for {device}"));
        let facts = [
            ("registers", native.registers),
            ("scalar registers", native.scalar_registers),
            ("accumulation registers", native.accumulation_registers),
            ("SIMD width", native.simd),
            ("spill, bytes", native.spill),
            ("scratch, bytes", native.scratch),
            ("private memory, bytes", native.private),
            ("local memory, bytes", native.local),
            ("barriers", native.barriers),
            ("arguments, bytes", native.argument_bytes),
            ("work-group at most", native.max_work_group_size),
        ];
        for (label, number) in facts {
            if let Some(number) = number {
                self.wide(label, &number.to_string());
            }
        }
        if let Some([vector, scalar]) = native.spilled_registers {
            self.wide("spilled registers", &format!("{vector} vector, {scalar} scalar"));
        }
    }
}

fn value(value: Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Bits(bits) => format!("{bits:#x}"),
    }
}
