//! Can this image be compiled for, and run on, that target?
//!
//! ```
//! use sycl_bundle::bundle::Bundle;
//! use sycl_bundle::compat::examine::examine;
//! use sycl_bundle::compat::finding::Verdict;
//! use sycl_bundle::compat::fit::{Subject, fit};
//! use sycl_bundle::container::Host;
//!
//! # // A module that declares Float64, and a type of it.
//! # let words = [0x0723_0203u32, 0x0001_0200, 0, 10, 0, 0x0002_0011, 10, 0x0006_000f, 6, 1, 0x5354_5a5f, 0x6464_6133, 0,
//! #     0x0003_0016, 2, 64];
//! # let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
//! let host = Host::read(&module)?;
//! let bundle = Bundle::read(&host)?;
//! let target = sycl_bundle::device::table().target("intel_gpu_acm_g10").unwrap();
//! let fit = fit(&examine(&bundle)[0], &Subject::new(target));
//! assert_eq!(fit.verdict(), Verdict::Incompatible);
//! assert!(fit.reasons.iter().any(|reason| reason.message.contains("fp64")));
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```

pub mod aspects;
mod bitcode;
pub mod built_in;
pub mod choice;
pub mod diff;
mod digest;
pub mod engine;
pub mod examine;
pub mod explain;
pub mod finding;
pub mod fit;
pub mod gate;
pub mod has;
pub mod kernels;
pub mod link;
pub mod native;
pub mod offers;
pub mod warnings;
