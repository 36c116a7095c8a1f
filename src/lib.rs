//! Device code inside SYCL programs: found, explained, compiled ahead of time, and put back.
//!
//! Data flows one way, and each module imports only what stands to its left:
//!
//! ```text
//! error, limits, bytes, demangle, source -> container -> bundle -+-> native -+
//!                                           device --------------+           +-> compat -> select -> policy -> rewrite -> build -> report -> files -> cli
//!                                           spirv -------------------------- +
//! ```
//!
//! | module | the question it answers |
//! |---|---|
//! | [`error`], [`limits`], [`bytes`], [`demangle`], [`source`] | what went wrong and where; how much is too much; how bytes are read without panics; what a mangled name is in the source, and where that is |
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
//! The library alone, without the program's command line and without what calls drivers, is `default-features = false`;
//! feature `drivers` adds what a worker process calls (`build::worker`). It never prints, and nothing in a file makes it
//! panic or allocate without a limit.
//!
//! ```
//! use sycl_bundle::bundle::Bundle;
//! use sycl_bundle::compat::examine::examine;
//! use sycl_bundle::container::Host;
//! use sycl_bundle::demangle::demangle;
//!
//! /// The kernels of an executable, a library, an object, a module, ..., each with the aspects that its image requires.
//! fn kernels(file: &[u8]) -> sycl_bundle::error::Result<Vec<(String, Vec<String>)>> {
//!     let host = Host::read(file)?;
//!     let bundle = Bundle::read(&host)?;
//!     let images = examine(&bundle);
//!     let of_image = |image| {
//!         let sycl_bundle::compat::examine::Examined { kernels, requirements, .. } = image;
//!         kernels.into_iter().map(move |name: String| (demangle(&name).into_owned(), requirements.aspects.clone()))
//!     };
//!     Ok(images.into_iter().flat_map(of_image).collect())
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
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```
//!
//! Further examples stand with [`compat`] (does it run there?), [`device`] (what is a target called?), [`spirv`] (what
//! does a module's code use?) and [`select`] (which images?).
//!
//! # Rules
//!
//! Four rules, enforced by `tests/tidy.rs`: modules import only to their left; each third-party crate has one
//! home; the library neither prints, exits nor reads the environment; every file opens by saying which question
//! it answers.

pub mod build;
pub mod bundle;
pub mod bytes;
pub mod compat;
pub mod container;
pub mod demangle;
pub mod device;
pub mod docs;
pub mod error;
#[cfg(feature = "cli")]
pub mod files;
pub mod limits;
pub mod native;
pub mod policy;
pub mod report;
pub mod rewrite;
pub mod select;
pub mod source;
pub mod spirv;

/// README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
