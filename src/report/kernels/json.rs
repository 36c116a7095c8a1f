//! What kernels are in a file, for a script?
//!
//! The contract of `kernels --format json` (`schema_version` 1; `kernels.schema.json` beside this file is its published
//! schema). Changes are additive. Kernels stand one per line, and are serialised in parallel.

#[cfg(test)]
mod tests;

use super::{FileKernels, OnDevice};
use crate::compat::aspects::Difference;
use crate::compat::kernels::{KernelFacts, NamedConstant, SourceArgument};
use crate::error::{Error, Result};
use crate::native::Kernel as NativeKernel;
use crate::report::devices::sycl;
use crate::report::evidence::put::why;
use crate::report::json::put::{List, Object, With};
use crate::report::json::stream::stream;
use crate::report::name;
use crate::spirv::kernel::Value as Constant;
use crate::spirv::kernel::attributes::SubGroup;
use serde_json::{Value, json};
use std::io::Write;

/// The JSON Schema of `kernels --format json`.
pub const SCHEMA: &str = include_str!("kernels.schema.json");

/// Writes one document about any number of files, one file at a time.
pub struct Document<W> {
    out: W,
    /// Whether no kernel has been written.
    first: bool,
    problems: Vec<Value>,
}

impl<W: Write> Document<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn open(mut out: W) -> Result<Self> {
        let version = crate::report::json::SCHEMA_VERSION;
        write(&mut out, format!("{{\"schema_version\":{version},\"kernels\":[\n").as_bytes())?;
        Ok(Document { out, first: true, problems: Vec::new() })
    }

    /// Adds the kernels of a file.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn file(&mut self, file: &FileKernels<'_>) -> Result<()> {
        let (out, first) = (&mut self.out, &mut self.first);
        each(file, (",\n", ""), &mut |text| {
            // The first kernel goes without what would part it from the one before.
            let text = if std::mem::take(first) { text.strip_prefix(",\n").unwrap_or(text) } else { text };
            write(out, text.as_bytes())
        })?;
        self.problems.extend(file.problems.iter().map(|problem| {
            json!({
                "file": file.path,
                "image": problem.image,
                "offset": problem.error.offset(),
                "message": problem.error.to_string(),
            })
        }));
        Ok(())
    }

    /// Closes the document and gives the writer back.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn close(mut self) -> Result<W> {
        write(&mut self.out, format!("\n],\"problems\":{}}}\n", Value::Array(self.problems)).as_bytes())?;
        Ok(self.out)
    }
}

/// Writes the kernels of a file one per line.
///
/// # Errors
/// `Io` where the writer fails.
pub fn lines(out: &mut impl Write, file: &FileKernels<'_>) -> Result<()> {
    each(file, ("", "\n"), &mut |text| write(out, text.as_bytes()))
}

/// Writes the kernels of a file in order, each between two texts.
fn each(file: &FileKernels<'_>, around: (&str, &str), out: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
    let keys = keys(file);
    let put = |text: &mut String, kernels: &[KernelFacts]| {
        for kernel in kernels {
            text.push_str(around.0);
            one(text, file, &keys, kernel);
            text.push_str(around.1);
        }
        Vec::new()
    };
    stream(&file.kernels, put, out).map(drop)
}

/// What each device is called: its name, and from the second of the same name on its number among these.
fn keys(file: &FileKernels<'_>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::with_capacity(file.devices.len());
    for answers in &file.devices {
        let name = &answers.device.name;
        let numbered = (2u32..).map(|number| format!("{name} #{number}"));
        let key = std::iter::once(name.clone()).chain(numbered).find(|key| !keys.contains(key));
        keys.extend(key);
    }
    keys
}

fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("cannot write", &error))
}

/// Appends a kernel.
fn one(out: &mut String, file: &FileKernels<'_>, keys: &[String], kernel: &KernelFacts) {
    let module = kernel.module.as_ref();
    let names = |names: Option<&Vec<String>>| names.map(|names| names.as_slice().to_vec()).unwrap_or_default();
    let mut object = Object::open(out);
    object.field("name", &kernel.name);
    object.field("demangled", name::demangle(&kernel.name));
    object.field("file", file.path);
    object.field("image", kernel.image);
    object.field("images", &kernel.images);
    object.field("num_args", kernel.num_args());
    object.field("args", List(kernel.arguments.iter().map(|one| With(move |out: &mut String| argument(out, one)))));
    object.field("args_of_source", kernel.from_source);
    object.field("attributes", With(|out: &mut String| attributes(out, kernel)));
    object.field("aspects", With(|out: &mut String| aspects(out, kernel)));
    object.field(
        "spec_constants",
        List(kernel.spec_constants.iter().map(|one| With(move |out: &mut String| spec_constant(out, one)))),
    );
    object.field("local_memory", kernel.local_memory());
    object.field("private_variables", module.map(|module| module.private_memory));
    object.field("esimd", kernel.esimd);
    object.field("asserts", kernel.asserts);
    object.field("indirect_calls", module.map(|module| module.indirect_calls));
    object.field("device_globals", names(module.map(|module| &module.device_globals)));
    object.field("imports", names(module.map(|module| &module.imports)));
    object.field("exports", names(module.map(|module| &module.exports)));
    object.field("clones", kernel.clones().collect::<Vec<_>>());
    object.field("native", List(kernel.native.iter().map(|one| With(move |out: &mut String| native(out, one)))));
    object.field(
        "devices",
        With(|out: &mut String| {
            let mut devices = Object::open(out);
            for (key, answers) in keys.iter().zip(&file.devices) {
                let answer = answers.of(kernel).map_or(Value::Null, on_device);
                devices.entry(key, With(|out: &mut String| out.push_str(&answer.to_string())));
            }
            devices.close();
        }),
    );
    object.close();
}

fn aspects(out: &mut String, kernel: &KernelFacts) {
    let module = kernel.module.as_ref();
    let mut object = Object::open(out);
    object.field("used", module.map(|_| &kernel.used));
    object.field("possible", module.map(|_| &kernel.possible));
    object.field("declared", &kernel.declared);
    let declared = kernel.comparison.as_ref().map(|one| List(one.declared.iter().map(|aspect| aspect.name())));
    object.field("capabilities", declared);
    object.field("evidence", List(kernel.evidence.iter().map(|one| With(move |out: &mut String| why(out, one)))));
    let differences = kernel.comparison.iter().flat_map(|comparison| &comparison.differences);
    object.field("differences", List(differences.map(|one| With(move |out: &mut String| difference(out, one)))));
    object.close();
}

fn difference(out: &mut String, one: &Difference) {
    let mut object = Object::open(out);
    object.field("aspect", &one.aspect);
    object.field("reason", one.reason.name());
    object.field("message", one.reason.text());
    object.close();
}

fn spec_constant(out: &mut String, one: &NamedConstant) {
    let mut object = Object::open(out);
    object.field("id", one.constant.id);
    object.field("name", one.name.as_ref());
    object.field("type", &one.constant.type_name);
    let default = constant(one.constant.default);
    object.field("default", With(|out: &mut String| out.push_str(&default.to_string())));
    object.field("offset", one.offset);
    object.field("size", one.constant.size);
    object.close();
}

fn argument(out: &mut String, one: &SourceArgument) {
    let argument = one.argument.as_ref();
    let mut object = Object::open(out);
    object.field("index", one.index);
    object.field("eliminated", argument.is_none());
    object.field("name", argument.and_then(|argument| argument.name.as_ref()));
    object.field("type", argument.map(|argument| &argument.type_name));
    object.field("address_space", argument.map(|argument| argument.address_space));
    object.field("access", argument.and_then(|argument| argument.access));
    object.field("qualifiers", argument.map(|argument| argument.qualifiers.as_slice()).unwrap_or_default());
    object.field("size", argument.and_then(|argument| argument.size));
    object.field("alignment", argument.and_then(|argument| argument.alignment));
    object.field("by_value", argument.is_some_and(|argument| argument.by_value));
    object.close();
}

fn attributes(out: &mut String, kernel: &KernelFacts) {
    let own = kernel.module.as_ref().map(|module| &module.attributes);
    let mut object = Object::open(out);
    object.field("text", kernel.attributes());
    object.field("reqd_work_group_size", kernel.reqd_work_group_size.as_ref());
    object.field("work_group_size_hint", kernel.work_group_size_hint.as_ref());
    match kernel.reqd_sub_group_size {
        Some(SubGroup::Primary) => object.field("reqd_sub_group_size", "primary"),
        Some(SubGroup::Size(size)) => object.field("reqd_sub_group_size", size),
        None => object.field("reqd_sub_group_size", Option::<u32>::None),
    }
    object.field("vec_type_hint", own.and_then(|own| own.vec_type_hint.as_ref()));
    object.field("max_work_group_size", own.and_then(|own| own.max_work_group_size).map(Vec::from));
    object.field("max_work_dim", own.and_then(|own| own.max_work_dim));
    object.field("sub_groups_per_work_group", own.and_then(|own| own.sub_groups_per_work_group));
    object.field("simd_work_items", own.and_then(|own| own.simd_work_items));
    object.field("slm_size", own.and_then(|own| own.slm_size));
    object.field("named_barriers", own.and_then(|own| own.named_barriers));
    object.field("maximum_registers", own.and_then(|own| own.maximum_registers));
    object.close();
}

fn constant(value: Constant) -> Value {
    match value {
        Constant::Bool(value) => json!(value),
        Constant::Int(value) => json!(value),
        // JSON has no infinities and no NaN; those are given as text.
        Constant::Float(value) if value.is_finite() => json!(value),
        Constant::Float(value) => json!(value.to_string()),
        Constant::Bits(bits) => json!(format!("{bits:#x}")),
    }
}

fn native(out: &mut String, (device, native): &(String, NativeKernel)) {
    let mut object = Object::open(out);
    object.field("device", device);
    object.field("registers", native.registers);
    object.field("scalar_registers", native.scalar_registers);
    object.field("accumulation_registers", native.accumulation_registers);
    object.field("simd", native.simd);
    object.field("spill", native.spill);
    object.field("spilled_registers", native.spilled_registers.map(Vec::from));
    object.field("scratch", native.scratch);
    object.field("private", native.private);
    object.field("local", native.local);
    object.field("barriers", native.barriers);
    object.field("argument_bytes", native.argument_bytes);
    object.field("max_work_group_size", native.max_work_group_size);
    object.close();
}

fn on_device(answer: &OnDevice) -> Value {
    match answer {
        OnDevice::Answers { sycl: answers, beyond } => {
            let mut object = sycl(answers);
            let of = |name: &str| beyond.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
            if let Some(map) = object.as_object_mut() {
                map.insert("local_mem_size".to_owned(), json!(of("local_mem_size")));
                map.insert("registers".to_owned(), json!(of("registers")));
                map.insert("spill".to_owned(), json!(of("spill_mem_size")));
                map.insert("opencl_num_args".to_owned(), json!(of("num_args")));
                map.insert("error".to_owned(), Value::Null);
            }
            object
        }
        OnDevice::None { errc, reason } => json!({ "error": { "errc": errc, "message": reason } }),
    }
}
