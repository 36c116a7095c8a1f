//! What can a target do?
//!
//! A target is a name that code is compiled for (`intel_gpu_pvc`, `spir64_x86_64`), with the facts that decide what runs
//! there. The facts stand in `device-configs/*.yaml` and in files of the same form that the user gives.
//!
//! ```
//! let table = sycl_bundle::device::table();
//! // DPC++'s names, ocloc's acronyms, versions and PCI ids, ranges, instruction sets of CPUs.
//! for spelling in ["intel_gpu_pvc", "pvc", "12.60.7"] {
//!     assert_eq!(table.resolve(spelling)?.targets[0].name, "intel_gpu_pvc");
//! }
//! let error = table.resolve("intel_gpu_pvd").unwrap_err();
//! assert_eq!(error.remedy(), Some("did you mean `intel_gpu_pvc`?"));
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```

pub mod cpu;
pub mod matrix;
pub mod near;
mod read;
pub mod resolve;
pub mod selector;
pub mod simulation;
pub mod table;
pub mod target;
pub mod yaml;

pub use read::KEYS;
pub use table::table;
