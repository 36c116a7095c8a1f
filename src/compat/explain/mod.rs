//! What does an error message of the runtime, a driver or a compiler mean, and what in a file is behind it?
//!
//! [`said`] reads the message by its error codes ([`codes`]) and by whole sentences (`phrases.txt`), [`cause`] tells what each
//! means and what mends it, [`trace`] finds the kernels and images that it is about. The texts are those of libsycl 2024 to 2026, its adapters,
//! Intel's OpenCL CPU driver and graphics compiler, and `ocloc`.

pub mod cause;
pub mod codes;
pub mod said;
#[cfg(test)]
mod tests;
pub mod trace;
