//! What kernels are in a file, for a script?
//!
//! The contract of `kernels --format json` (`schema_version` 1; `kernels.schema.json` beside this file is its published
//! schema). Changes are additive. Kernels stand one per line, and are serialised in parallel.

#[cfg(test)]
mod tests;

use super::{FileKernels, OnDevice};
use crate::compat::kernels::{KernelFacts, SourceArgument};
use crate::error::{Error, Result};
use crate::native::Kernel as NativeKernel;
use crate::report::devices::sycl;
use crate::report::evidence::Why;
use crate::report::name;
use crate::spirv::kernel::attributes::SubGroup;
use crate::spirv::kernel::constant::Value as Constant;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::io::Write;

/// The JSON Schema of `kernels --format json`.
pub const SCHEMA: &str = include_str!("kernels.schema.json");

/// How many kernels are serialised before they are written.
const BATCH: usize = 1024;

/// Writes one document about any number of files, one file at a time.
pub struct Document<W> {
    out: W,
    kernels: usize,
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
        Ok(Document { out, kernels: 0, problems: Vec::new() })
    }

    /// Adds the kernels of a file.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub fn file(&mut self, file: &FileKernels<'_>) -> Result<()> {
        let (out, count) = (&mut self.out, &mut self.kernels);
        each(file, |text| {
            if *count > 0 {
                write(out, b",\n")?;
            }
            *count = count.saturating_add(1);
            write(out, text)
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
    each(file, |text| {
        write(out, text)?;
        write(out, b"\n")
    })
}

fn each(file: &FileKernels<'_>, mut found: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    for batch in file.kernels.chunks(BATCH) {
        let texts: Vec<String> = batch.par_iter().map(|kernel| one(file, kernel).to_string()).collect();
        for text in &texts {
            found(text.as_bytes())?;
        }
    }
    Ok(())
}

fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("cannot write", &error))
}

fn one(file: &FileKernels<'_>, kernel: &KernelFacts) -> Value {
    let module = kernel.module.as_ref();
    let names = |names: Option<&Vec<String>>| json!(names.cloned().unwrap_or_default());
    let devices: Map<String, Value> = file
        .devices
        .iter()
        .map(|answers| (answers.device.name.clone(), answers.of(kernel).map_or(Value::Null, on_device)))
        .collect();
    json!({
        "name": kernel.name,
        "demangled": name::demangle(&kernel.name),
        "file": file.path,
        "image": kernel.image,
        "images": kernel.images,
        "num_args": kernel.num_args(),
        "args": kernel.arguments.iter().map(argument).collect::<Vec<_>>(),
        "args_of_source": kernel.from_source,
        "attributes": attributes(kernel),
        "aspects": {
            "used": module.map(|_| &kernel.used),
            "possible": module.map(|_| &kernel.possible),
            "declared": kernel.declared,
            "capabilities": kernel.comparison.as_ref().map(|comparison| {
                comparison.declared.iter().map(|aspect| aspect.name()).collect::<Vec<_>>()
            }),
            "evidence": kernel.evidence.iter().map(Why::of).collect::<Vec<_>>(),
            "differences": kernel.comparison.iter().flat_map(|comparison| &comparison.differences).map(|one| json!({
                "aspect": one.aspect,
                "reason": one.reason.name(),
                "message": one.reason.text(),
            })).collect::<Vec<_>>(),
        },
        "spec_constants": kernel.spec_constants.iter().map(|one| json!({
            "id": one.constant.id,
            "name": one.name,
            "type": one.constant.type_name,
            "default": constant(one.constant.default),
            "offset": one.offset,
            "size": one.constant.size,
        })).collect::<Vec<_>>(),
        "local_memory": kernel.local_memory(),
        "private_variables": module.map(|module| module.private_memory),
        "esimd": kernel.esimd,
        "asserts": kernel.asserts,
        "indirect_calls": module.map(|module| module.indirect_calls),
        "device_globals": names(module.map(|module| &module.device_globals)),
        "imports": names(module.map(|module| &module.imports)),
        "exports": names(module.map(|module| &module.exports)),
        "clones": kernel.clones,
        "native": kernel.native.iter().map(native).collect::<Vec<_>>(),
        "devices": devices,
    })
}

fn argument(one: &SourceArgument) -> Value {
    let argument = one.argument.as_ref();
    json!({
        "index": one.index,
        "eliminated": argument.is_none(),
        "name": argument.and_then(|argument| argument.name.as_ref()),
        "type": argument.map(|argument| &argument.type_name),
        "address_space": argument.map(|argument| argument.address_space),
        "access": argument.and_then(|argument| argument.access),
        "qualifiers": argument.map(|argument| argument.qualifiers.as_slice()).unwrap_or_default(),
        "size": argument.and_then(|argument| argument.size),
        "alignment": argument.and_then(|argument| argument.alignment),
        "by_value": argument.is_some_and(|argument| argument.by_value),
    })
}

fn attributes(kernel: &KernelFacts) -> Value {
    let own = kernel.module.as_ref().map(|module| &module.attributes);
    let sub_group = kernel.reqd_sub_group_size.map(|size| match size {
        SubGroup::Size(size) => json!(size),
        SubGroup::Primary => json!("primary"),
    });
    json!({
        "text": kernel.attributes(),
        "reqd_work_group_size": kernel.reqd_work_group_size,
        "work_group_size_hint": kernel.work_group_size_hint,
        "reqd_sub_group_size": sub_group,
        "vec_type_hint": own.and_then(|own| own.vec_type_hint.as_ref()),
        "max_work_group_size": own.and_then(|own| own.max_work_group_size),
        "max_work_dim": own.and_then(|own| own.max_work_dim),
        "sub_groups_per_work_group": own.and_then(|own| own.sub_groups_per_work_group),
        "simd_work_items": own.and_then(|own| own.simd_work_items),
        "slm_size": own.and_then(|own| own.slm_size),
        "named_barriers": own.and_then(|own| own.named_barriers),
        "maximum_registers": own.and_then(|own| own.maximum_registers),
    })
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

fn native((device, native): &(String, NativeKernel)) -> Value {
    json!({
        "device": device,
        "registers": native.registers,
        "scalar_registers": native.scalar_registers,
        "accumulation_registers": native.accumulation_registers,
        "simd": native.simd,
        "spill": native.spill,
        "spilled_registers": native.spilled_registers,
        "scratch": native.scratch,
        "private": native.private,
        "local": native.local,
        "barriers": native.barriers,
        "argument_bytes": native.argument_bytes,
        "max_work_group_size": native.max_work_group_size,
    })
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
