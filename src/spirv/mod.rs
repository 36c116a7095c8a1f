//! What does one SPIR-V module need and offer?
//!
//! Knows nothing of bundles: bytes in, facts out. The walk goes by each instruction's word count, so an opcode that is
//! newer than this tool costs nothing and stops nothing.
//!
//! ```
//! use sycl_bundle::spirv::Module;
//! use sycl_bundle::spirv::index::Index;
//!
//! # let words = [0x0723_0203u32, 0x0001_0200, 0, 10, 0, 0x0002_0011, 10, 0x0006_000f, 6, 1, 0x5354_5a5f, 0x6464_6133, 0,
//! #     0x0003_0016, 2, 64];
//! # let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
//! // The facts, at the speed of memory ...
//! let module = Module::parse(&bytes)?;
//! assert_eq!(module.kernels().collect::<Vec<_>>(), ["_ZTS3add"]);
//! assert!(module.used_aspects.contains("fp64"));
//! // ... and every instruction by its number, ids with what defines them.
//! let index = Index::read(&bytes)?;
//! assert_eq!(index.entry_points.len(), 1);
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```

mod assembly;
pub(crate) mod calls;
mod casts;
mod declared;
mod entries;
mod facts;
pub mod fold;
mod functions;
pub(crate) mod grammar;
mod images;
pub mod index;
pub mod instrumentation;
pub mod kernel;
mod lacking;
pub(crate) mod lines;
pub mod link;
mod marks;
pub(crate) mod matrices;
pub(crate) mod micro;
mod needs;
pub(crate) mod op;
pub(crate) mod opencl_c;
mod overloads;
mod pointees;
mod sizes;
mod sound;
pub(crate) mod specialize;
pub mod subset;
pub mod types;
pub(crate) mod words;

pub use facts::{EntryPoint, EntryPoints, Module};
pub use words::{Instruction, MAGIC, Words};
