//! Device code inside SYCL programs: found, explained, compiled ahead of time, and put back.
//!
//! Data flows one way, and each module imports only what stands to its left:
//!
//! ```text
//! error, limits, bytes -> container -> bundle -+-> native -+
//!                         device --------------+           +-> compat -> select -> policy -> rewrite -> build -> report -> cli
//!                         spirv -------------------------- +
//! ```
//!
//! | module | the question it answers |
//! |---|---|
//! | [`error`], [`limits`], [`bytes`] | what went wrong and where; how much is too much; how bytes are read without panics |
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
//! | [`docs`] | what holds of the whole (the threat model), and what is touched where it grows |
//!
//! Four rules, enforced by `tests/tidy.rs`: modules import only to their left; each third-party crate has one
//! home; the library neither prints, exits nor reads the environment; every file opens by saying which question
//! it answers.

pub mod build;
pub mod bundle;
pub mod bytes;
pub mod compat;
pub mod container;
pub mod device;
pub mod docs;
pub mod error;
pub mod limits;
pub mod native;
pub mod policy;
pub mod report;
pub mod rewrite;
pub mod select;
pub mod spirv;
