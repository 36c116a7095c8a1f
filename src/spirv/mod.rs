//! What does one SPIR-V module need and offer?
//!
//! Knows nothing of bundles: bytes in, facts out. The walk goes by each instruction's word count, so an opcode that is
//! newer than this tool costs nothing and stops nothing.

mod facts;
pub mod names;
mod words;

pub use facts::{EntryPoint, Module};
pub use words::{Instruction, Words};
