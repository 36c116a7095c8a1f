//! Is native code described as its makers' own tools describe it?
//!
//! Device compilers that need no device made the payloads, of sources in `fixtures/native`: `ocloc` (package
//! intel-opencl-icd), `llvm-mc` and `llvm-as`, and NVIDIA's `ptxas` and `fatbinary`, which `cuda.txt` there pins and pip
//! brings. Their dumpers are the judges. All of it is recorded (`support/built.rs`).

mod amd;
mod bitcode;
mod cpu;
mod hcf;
mod hostile;
mod intel;
mod nvidia;
mod tools;

use sycl_bundle::bundle::format::Format;
use sycl_bundle::container::Place;
use sycl_bundle::native::{Kernel, Native};

/// Reads a sound payload.
pub fn read(payload: &[u8]) -> Native {
    let native = Native::read(payload, Format::sniff(payload), Place::file(0)).unwrap();
    assert!(native.problems.is_empty(), "{:?}", native.problems);
    native
}

/// A kernel of the only part.
pub fn kernel<'n>(native: &'n Native, name: &str) -> &'n Kernel {
    let [part] = native.parts.as_slice() else { panic!("{} parts", native.parts.len()) };
    part.kernels.iter().find(|kernel| kernel.name == name).unwrap_or_else(|| panic!("no kernel {name}: {part:?}"))
}
