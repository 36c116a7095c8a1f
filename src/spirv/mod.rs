//! What does one SPIR-V module need and offer?
//!
//! Knows nothing of bundles: bytes in, facts out. The walk goes by each instruction's word count, so an opcode that is
//! newer than this tool costs nothing and stops nothing.

pub mod calls;
pub mod constants;
mod facts;
pub mod fold;
pub mod grammar;
pub mod index;
pub mod kernel;
pub mod layout;
pub mod lines;
pub mod link;
pub mod micro;
pub mod names;
pub mod op;
pub mod operands;
pub mod reach;
pub mod specialize;
pub mod subset;
pub mod types;
pub(crate) mod words;

pub use facts::{EntryPoint, Module};
pub use words::{Instruction, MAGIC, Words};
