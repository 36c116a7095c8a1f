//! Which device configurations are built in?
//!
//! The files of `device-configs/`, parsed on first use: what never asks for a target never pays for them.

use super::table::TargetTable;
use std::sync::LazyLock;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// The built-in files: name and text, in the order in which they are read.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../device-configs/", $name)))),*];
    };
}

files!(
    "intel-gpu.yaml",
    "generic.yaml",
    "cpu.yaml",
    "intel-gpu-gen8-gen9.yaml",
    "intel-gpu-gen11.yaml",
    "intel-gpu-xe-lp.yaml",
    "intel-gpu-xe-hpg.yaml",
    "intel-gpu-xe-hpc.yaml",
    "intel-gpu-xe-lpg.yaml",
    "intel-gpu-xe2.yaml",
    "intel-gpu-xe3.yaml",
    "intel-gpu-xe3p.yaml",
    "nvidia-gpu.yaml",
    "amd-gpu.yaml",
);

/// The built-in targets.
///
/// Their aspects are not checked against a list here; a test does it, once for all.
pub fn table() -> &'static TargetTable {
    static TABLE: LazyLock<TargetTable> = LazyLock::new(|| {
        let mut table = TargetTable::default();
        for (name, text) in FILES {
            table.add_trusted(name, text);
        }
        table
    });
    &TABLE
}
