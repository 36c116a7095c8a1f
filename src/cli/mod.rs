//! The command line: one file per verb.

pub mod doctor;
pub mod driver;
pub mod pip;
pub mod worker;
