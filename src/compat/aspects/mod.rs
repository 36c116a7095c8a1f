//! Which aspects does the code of a module use, and where?
//!
//! Judgement by what functions do, not by what the module declares. [`Code::read`] looks at one module; [`graph::Graph`]
//! links the modules of a file or of several and follows calls, so that every kernel and every function has the aspects
//! it may need, each with the way there; [`mod@compare`] sets that beside what the compiler stored.

pub mod code;
pub mod compare;
mod contents;
pub mod graph;
mod images;
mod origin;
mod rules;
mod sets;

pub use code::Code;
pub use compare::{Comparison, Difference, Reason, compare, compare_kernel};
pub use graph::{Evidence, Graph, Step};
pub use images::{code, codes, codes_where, shown, shown_by};
pub use rules::Aspect;
pub use sets::Sets;
