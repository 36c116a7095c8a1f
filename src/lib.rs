//! Device code inside SYCL programs: found, explained, compiled ahead of time, and put back.
//!
//! Data flows one way, and each module imports only what stands to its left:
//!
//! ```text
//! error, limits, bytes, names, demangle, source, temporary -> container -> bundle -+-> native -+
//!                                           device --------------+           +-> compat -> select -> policy -> rewrite -> build -> report -> files -> cli
//!                                           spirv -------------------------- +
//! ```
//!
//! | module | the question it answers |
//! |---|---|
//! | [`error`], `limits`, [`bytes`], [`names`], [`mod@demangle`], [`source`], `temporary` | what went wrong and where; how much is too much; how bytes are read without panics; how many names are held; what a mangled name is in the source, and where that is; what becomes of temporary files |
//! | [`container`] | where in this host file are device bytes? |
//! | [`bundle`] | which device images are in those bytes, and what is attached to them? |
//! | [`spirv`] | what does one module need and offer? |
//! | [`device`] | what can a target do? |
//! | [`native`] | which devices is compiled code for, and which kernels are in it? |
//! | [`compat`] | can this image be compiled for, and run on, that target? |
//! | [`select`] | which images does the user mean? |
//! | [`policy`] | what does a project demand of its device code? |
//! | [`rewrite`] | how does a changed bundle get back into a file? |
//! | [`build`] | SPIR-V in, device binary out |
//! | [`report`] | one set of facts, as a table, as JSON and as a page to look at |
//! | `files` | how do files reach the library, and how do outputs appear whole on the disk? (with feature `cli`) |
//! | [`docs`] | what holds of the whole (the threat model), and what is touched where it grows |
//!
//! # Use
//!
//! The names that other crates are meant to use stand here, at the root: [`Host`] and [`Bundle`] read a file, [`examine`] tells
//! what its images hold and require, [`fit`] whether they run on a target, [`Selector`] chooses among them, and
//! [`PROPERTY_SETS`] says what is attached to them. What is public in the modules beside these is what their types need,
//! and what the tests and fuzz targets, which are crates of their own, look at; it may change with every version. All else
//! is `pub(crate)`, the program (`src/cli`) included.
//!
//! The library alone, without the program's command line and without what calls drivers, is `default-features = false`;
//! feature `drivers` adds what a worker process calls (`build::worker`). It never prints, and nothing in a file makes it
//! panic or allocate without a limit.
//!
//! ```
//! use sycl_bundle::{Bundle, Examined, Host, demangle, examine};
//!
//! /// The kernels of an executable, a library, an object, a module, ..., each with the aspects that its image requires.
//! fn kernels(file: &[u8]) -> sycl_bundle::Result<Vec<(String, Vec<String>)>> {
//!     let host = Host::read(file)?;
//!     let bundle = Bundle::read(&host)?;
//!     let of_image = |image| {
//!         let Examined { kernels, requirements, .. } = image;
//!         kernels.into_iter().map(move |name| (demangle(&name).into_owned(), requirements.aspects.clone()))
//!     };
//!     Ok(examine(&bundle).into_iter().flat_map(of_image).collect())
//! }
//!
//! # let words = [0x0723_0203u32, 0x0001_0200, 0, 10, 0, 0x0006_000f, 6, 1, 0x5354_5a5f, 0x6464_6133, 0];
//! # let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
//! // In earnest: std::fs::read("libfoo.so")
//! assert_eq!(kernels(&module)?, [("add".to_owned(), vec![])]);
//!
//! // Errors say what, where, and what to do about it.
//! let error = kernels(b"no device code").unwrap_err();
//! assert_eq!(error.offset(), Some(0));
//! # Ok::<(), sycl_bundle::Error>(())
//! ```
//!
//! Does a kernel that uses `double` run on a GPU without it?
//!
//! ```
//! use sycl_bundle::{Bundle, Host, Subject, Verdict, examine, fit, target_table};
//!
//! # // A module that declares Float64, and a type of it.
//! # let words = [0x0723_0203u32, 0x0001_0200, 0, 10, 0, 0x0002_0011, 10, 0x0006_000f, 6, 1, 0x5354_5a5f, 0x6464_6133, 0,
//! #     0x0003_0016, 2, 64];
//! # let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
//! let host = Host::read(&module)?;
//! let bundle = Bundle::read(&host)?;
//! let target = target_table().target("intel_gpu_acm_g10").unwrap();
//! let fit = fit(&examine(&bundle)[0], &Subject::new(target));
//! assert_eq!(fit.verdict(), Verdict::Incompatible);
//! assert!(fit.reasons.iter().any(|reason| reason.message.contains("fp64")));
//! # Ok::<(), sycl_bundle::Error>(())
//! ```
//!
//! What does a stored property mean?
//!
//! ```
//! use sycl_bundle::bundle::aspect::Epoch;
//! use sycl_bundle::bundle::property::{Properties, Property, Value};
//! use sycl_bundle::KnownSet;
//!
//! // Eight bytes of length in bits, then numbers of aspects.
//! let stored = [32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0];
//! let aspects = Property { name: "aspects", value: Value::Bytes(&stored) };
//! let set = KnownSet::find("SYCL/device requirements");
//! let decoded = (set.decode)(&Properties::default(), &aspects, Epoch::From2026).unwrap();
//! assert_eq!((set.meaning, decoded.to_string().as_str()), ("Requirements on the device", "fp64"));
//! ```
//!
//! Further examples stand with [`device`] (what is a target called?), [`spirv`] (what does a module's code use?) and
//! [`select`] (which images?).
//!
//! # Rules
//!
//! Four rules, enforced by `tests/tidy.rs`: modules import only to their left; each third-party crate has one
//! home; the library neither prints, exits nor reads the environment; every file opens by saying which question
//! it answers.

// Items that other crates do not reach are `pub(crate)`, so that the compiler sees what nothing uses.
#![warn(unreachable_pub)]
// Docs of what is public lead also to what is not: who reads them for that has the sources, or `--document-private-items`.
#![allow(rustdoc::private_intra_doc_links)]
// Much is there for the program, which is left out here.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

pub mod build;
pub mod bundle;
pub mod bytes;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod compat;
pub mod container;
pub mod demangle;
pub mod device;
pub mod docs;
pub mod error;
#[cfg(feature = "cli")]
pub(crate) mod files;
pub(crate) mod limits;
pub mod names;
pub mod native;
pub(crate) mod plain_file;
pub mod policy;
pub mod report;
pub mod rewrite;
pub mod select;
pub mod source;
pub mod spirv;
pub(crate) mod temporary;

pub use bundle::Bundle;
pub use bundle::image::{Image, State};
pub use bundle::property_sets::{KnownSet, PROPERTY_SETS};
pub use bundle::requirements::Requirements;
pub use compat::examine::{Examined, examine};
pub use compat::finding::Verdict;
pub use compat::fit::{Fit, Subject, fit};
pub use container::Host;
pub use demangle::demangle;
pub use device::table::table as target_table;
pub use error::{Error, ErrorKind, Result};
pub use select::Selector;
pub use spirv::Module;

/// README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
