//! Does SPIRV-Tools accept these modules?
//!
//! By `spirv-val`, or the program that `SYCL_BUNDLE_SPIRV_VAL` names. Debian's, of 2023, refuses two in five of the modules that
//! DPC++ writes, for aliasing scopes outside of blocks; releases since 2026 take them all.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rayon::prelude::*;

/// Errors of modules, by their place, in an environment such as `spv1.4`.
pub fn refused<'m>(
    environment: &str,
    modules: impl IndexedParallelIterator<Item = &'m [u8]>,
) -> BTreeMap<usize, String> {
    let program = std::env::var_os("SYCL_BUNDLE_SPIRV_VAL").unwrap_or_else(|| "spirv-val".into());
    let judge = |(at, module): (usize, &[u8])| -> Option<(usize, String)> {
        let mut command = Command::new(&program);
        command.args(["--target-env", environment, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{program:?}: {error}"));
        child.stdin.take().unwrap().write_all(module).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        (!output.status.success()).then(|| (at, said.lines().next().unwrap_or_default().to_owned()))
    };
    modules.enumerate().filter_map(judge).collect()
}
