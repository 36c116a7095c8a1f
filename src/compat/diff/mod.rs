//! What changed between two builds of the same device code?
//!
//! Each file is first reduced to what counts ([`snapshot`]), so that files of any size are looked at one by one; then two
//! snapshots are compared kernel by kernel and target by target ([`compare`]), property sets by what they are about
//! ([`properties`]), and what changed is held against budgets
//! ([`budget`]).

pub mod budget;
pub mod compare;
pub mod pair;
pub mod snapshot;
#[cfg(test)]
mod tests;
