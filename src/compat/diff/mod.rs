//! What changed between two builds of the same device code?
//!
//! Each file is first reduced to what counts ([`snapshot`]), so that files of any size are looked at one by one; then two
//! snapshots are compared kernel by kernel, target by target and property set by property set ([`compare`]), and what
//! changed is held against budgets ([`budget`]).

pub mod budget;
pub mod compare;
pub mod pair;
pub mod snapshot;
#[cfg(test)]
mod tests;
