//! What is the smallest kernel that tests one feature of a driver?
//!
//! Writes modules of one kernel, `probe`, that declare a version, capabilities and extensions and, where asked for, use
//! a type or an atomic instruction. They are valid SPIR-V, so a driver that refuses one lacks the feature.

use rspirv::spirv::{Capability, Op};

/// Name of the kernel.
pub(crate) const KERNEL: &str = "probe";

/// Features that the module of a probe uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeFeatures<'n> {
    /// Major and minor version.
    pub(crate) version: (u8, u8),
    /// Capabilities by number, beyond `Addresses` and `Kernel`.
    pub(crate) capabilities: Vec<u32>,
    /// Extensions.
    pub(crate) extensions: Vec<&'n str>,
    /// Operation of the kernel.
    pub(crate) operation: ProbeOperation,
}

/// Operation of the kernel on the memory that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeOperation {
    /// Nothing.
    Nothing,
    /// Multiplies a floating-point number of this many bits by itself.
    Float(u32),
    /// Adds to an integer of this many bits.
    Int(u32),
    /// Executes the atomic instruction of this opcode on an integer of this many bits.
    AtomicInt(u16, u32),
    /// Executes the atomic instruction of this opcode on a floating-point number of this many bits.
    AtomicFloat(u16, u32),
}

impl ProbeOperation {
    /// Returns the width of the type in bits, and whether it is a floating-point type.
    fn kind(self) -> Option<(u32, bool)> {
        match self {
            ProbeOperation::Nothing => None,
            ProbeOperation::Float(bits) | ProbeOperation::AtomicFloat(_, bits) => Some((bits, true)),
            ProbeOperation::Int(bits) | ProbeOperation::AtomicInt(_, bits) => Some((bits, false)),
        }
    }
}

/// Writer of a module's words.
#[derive(Default)]
struct Writer {
    words: Vec<u32>,
    ids: u32,
}

impl Writer {
    fn id(&mut self) -> u32 {
        self.ids = self.ids.saturating_add(1);
        self.ids
    }

    fn put(&mut self, opcode: u16, operands: &[u32]) {
        let length = u32::try_from(operands.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.words.push(length << 16 | u32::from(opcode));
        self.words.extend_from_slice(operands);
    }

    /// Writes an instruction with a result of a type and returns the result's id.
    fn make(&mut self, opcode: Op, kind: u32, operands: &[u32]) -> u32 {
        let result = self.id();
        self.put(opcode as u16, &[&[kind, result], operands].concat());
        result
    }

    /// Writes the declaration of a type and returns its id.
    fn declare(&mut self, opcode: Op, operands: &[u32]) -> u32 {
        let result = self.id();
        self.put(opcode as u16, &[&[result], operands].concat());
        result
    }
}

/// Returns the words of a string, with at least one zero byte at the end.
fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// Returns the module of a probe, in little-endian words.
pub(crate) fn module(need: &ProbeFeatures<'_>) -> Vec<u8> {
    /// Operands of `OpMemoryModel`: Physical64, OpenCL.
    const MEMORY_MODEL: [u32; 2] = [2, 2];
    const KERNEL_MODEL: u32 = 6;
    const CROSS_WORKGROUP: u32 = 5;
    let mut out = Writer::default();
    let mut capabilities = vec![Capability::Addresses as u32, Capability::Kernel as u32];
    for own in &need.capabilities {
        if !capabilities.contains(own) {
            capabilities.push(*own);
        }
    }
    for capability in capabilities {
        out.put(Op::Capability as u16, &[capability]);
    }
    for extension in &need.extensions {
        out.put(Op::Extension as u16, &string(extension));
    }
    out.put(Op::MemoryModel as u16, &MEMORY_MODEL);
    let kernel = out.id();
    out.put(Op::EntryPoint as u16, &[&[KERNEL_MODEL, kernel], string(KERNEL).as_slice()].concat());
    let void = out.declare(Op::TypeVoid, &[]);
    match need.operation.kind() {
        None => {
            let function = out.declare(Op::TypeFunction, &[void]);
            out.put(Op::Function as u16, &[void, kernel, 0, function]);
            let label = out.id();
            out.put(Op::Label as u16, &[label]);
        }
        Some((bits, float)) => {
            let word = out.declare(Op::TypeInt, &[32, 0]);
            let value = match (float, bits) {
                (true, _) => out.declare(Op::TypeFloat, &[bits]),
                (false, 32) => word,
                (false, _) => out.declare(Op::TypeInt, &[bits, 0]),
            };
            // Device scope, and relaxed memory semantics.
            let (scope, relaxed) = (out.make(Op::Constant, word, &[1]), out.make(Op::Constant, word, &[0]));
            let pointer = out.declare(Op::TypePointer, &[CROSS_WORKGROUP, value]);
            let function = out.declare(Op::TypeFunction, &[void, pointer]);
            out.put(Op::Function as u16, &[void, kernel, 0, function]);
            let memory = out.make(Op::FunctionParameter, pointer, &[]);
            let label = out.id();
            out.put(Op::Label as u16, &[label]);
            // Accesses through a physical address state their alignment.
            let aligned = [2, bits / 8];
            let old = out.make(Op::Load, value, &[&[memory], aligned.as_slice()].concat());
            match need.operation {
                ProbeOperation::AtomicInt(opcode, _) | ProbeOperation::AtomicFloat(opcode, _) => {
                    let result = out.id();
                    out.put(opcode, &[value, result, memory, scope, relaxed, old]);
                }
                _ => {
                    let new = out.make(if float { Op::FMul } else { Op::IAdd }, value, &[old, old]);
                    out.put(Op::Store as u16, &[&[memory, new], aligned.as_slice()].concat());
                }
            }
        }
    }
    out.put(Op::Return as u16, &[]);
    out.put(Op::FunctionEnd as u16, &[]);
    let version = u32::from(need.version.0) << 16 | u32::from(need.version.1) << 8;
    let header = [0x0723_0203, version, 0, out.ids.saturating_add(1), 0];
    header.into_iter().chain(out.words).flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::Module;

    #[test]
    fn what_is_needed_stands_in_the_module() {
        for act in [
            ProbeOperation::Nothing,
            ProbeOperation::Float(64),
            ProbeOperation::Int(8),
            ProbeOperation::AtomicInt(Op::AtomicIAdd as u16, 64),
        ] {
            let need =
                ProbeFeatures { version: (1, 3), capabilities: vec![10, 6], extensions: vec!["SPV_A"], operation: act };
            let read = Module::parse(&module(&need)).unwrap();
            assert!(read.stopped.is_none());
            assert_eq!((read.version, read.capabilities.as_slice()), ((1, 3), [4, 6, 10].as_slice()));
            assert_eq!(
                (read.extensions.as_slice(), read.kernels().collect::<Vec<_>>()),
                (["SPV_A".to_owned()].as_slice(), vec![KERNEL])
            );
        }
    }
}
