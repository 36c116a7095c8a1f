//! What does the JSON say of compiled code?

use crate::native::{Argument, Kernel, Native, Part};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct NativeJson<'b> {
    container: Option<&'static str>,
    devices: Vec<&'b str>,
    parts: Vec<PartJson<'b>>,
}

#[derive(Serialize)]
struct PartJson<'b> {
    name: &'b str,
    format: &'static str,
    devices: &'b [String],
    stated: &'b str,
    version: Option<&'b str>,
    producer: Option<&'b str>,
    size: u64,
    kernels: Vec<KernelJson<'b>>,
}

#[derive(Serialize)]
struct KernelJson<'b> {
    name: &'b str,
    registers: Option<u64>,
    scalar_registers: Option<u64>,
    accumulation_registers: Option<u64>,
    simd: Option<u64>,
    spill: Option<u64>,
    spilled_registers: Option<[u64; 2]>,
    scratch: Option<u64>,
    private: Option<u64>,
    local: Option<u64>,
    barriers: Option<u64>,
    reqd_work_group_size: Option<[u64; 3]>,
    reqd_sub_group_size: Option<u64>,
    max_work_group_size: Option<u64>,
    argument_bytes: Option<u64>,
    arguments: Vec<ArgumentJson<'b>>,
}

#[derive(Serialize)]
struct ArgumentJson<'b> {
    index: u32,
    name: Option<&'b str>,
    r#type: Option<&'b str>,
    kind: Option<&'b str>,
    address_space: Option<&'static str>,
    access: Option<&'static str>,
    size: Option<u64>,
    offset: Option<u64>,
}

impl<'b> From<&'b Native> for NativeJson<'b> {
    fn from(native: &'b Native) -> Self {
        let parts = native.parts.iter().map(PartJson::from).collect();
        NativeJson { container: native.container, devices: native.devices(), parts }
    }
}

impl<'b> From<&'b Part> for PartJson<'b> {
    fn from(part: &'b Part) -> Self {
        PartJson {
            name: &part.name,
            format: part.format.name(),
            devices: &part.devices,
            stated: &part.stated,
            version: part.version.as_deref(),
            producer: part.producer.as_deref(),
            size: part.size,
            kernels: part.kernels.iter().map(KernelJson::from).collect(),
        }
    }
}

impl<'b> From<&'b Kernel> for KernelJson<'b> {
    fn from(kernel: &'b Kernel) -> Self {
        KernelJson {
            name: &kernel.name,
            registers: kernel.registers,
            scalar_registers: kernel.scalar_registers,
            accumulation_registers: kernel.accumulation_registers,
            simd: kernel.simd,
            spill: kernel.spill,
            spilled_registers: kernel.spilled_registers,
            scratch: kernel.scratch,
            private: kernel.private,
            local: kernel.local,
            barriers: kernel.barriers,
            reqd_work_group_size: kernel.reqd_work_group_size,
            reqd_sub_group_size: kernel.reqd_sub_group_size,
            max_work_group_size: kernel.max_work_group_size,
            argument_bytes: kernel.argument_bytes,
            arguments: kernel.arguments.iter().map(ArgumentJson::from).collect(),
        }
    }
}

impl<'b> From<&'b Argument> for ArgumentJson<'b> {
    fn from(argument: &'b Argument) -> Self {
        ArgumentJson {
            index: argument.index,
            name: argument.name.as_deref(),
            r#type: argument.type_name.as_deref(),
            kind: argument.kind.as_deref(),
            address_space: argument.address_space,
            access: argument.access,
            size: argument.size,
            offset: argument.offset,
        }
    }
}
