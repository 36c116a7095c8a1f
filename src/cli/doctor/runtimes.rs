//! Which SYCL runtimes does the environment lead to, and do they go together?
//!
//! The system's loader looks into `LD_LIBRARY_PATH` and then its own folders. `CMPLR_ROOT` is where oneAPI's `setvars.sh`
//! says the compiler is; an active Python or conda environment holds what pip or conda installed.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use sycl_bundle::report::doctor::{Runtime, Trouble};

/// Folders in which the loader looks without being told.
const SYSTEM: [&str; 4] = ["/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
/// Variables that name a folder above `lib`.
const PREFIXES: [&str; 3] = ["CMPLR_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"];

/// The runtimes, the first of `LD_LIBRARY_PATH` first, each file once.
pub fn find() -> Vec<Runtime> {
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let own = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| (folder, "LD_LIBRARY_PATH"));
    let below = |name: &'static str| env::var_os(name).map(|prefix| (Path::new(&prefix).join("lib"), name));
    let system = SYSTEM.iter().map(|folder| (PathBuf::from(folder), "system"));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (folder, by) in own.chain(PREFIXES.into_iter().filter_map(below)).chain(system) {
        let Ok(folder) = folder.canonicalize() else { continue };
        if seen.insert(folder.clone()) {
            found.extend(in_folder(&folder, by));
        }
    }
    found
}

fn in_folder(folder: &Path, by: &str) -> Vec<Runtime> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: BTreeSet<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let adapters: BTreeSet<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("libur_adapter_")?.split(".so").next())
        .map(str::to_owned)
        .collect();
    let versions: Vec<&str> = names.iter().filter_map(|name| version(name)).collect();
    let majors = versions.iter().filter(|version| !version.contains('.'));
    majors
        .map(|major| {
            let whole = versions.iter().filter(|version| version.split('.').next() == Some(*major));
            let soname = format!("libsycl.so.{major}");
            Runtime {
                path: folder.join(&soname).display().to_string(),
                version: whole.max_by_key(|version| version.len()).unwrap_or(major).to_string(),
                soname,
                by: by.to_owned(),
                adapters: adapters.iter().cloned().collect(),
            }
        })
        .collect()
}

/// `9` of `libsycl.so.9`, `9.0.0` of `libsycl.so.9.0.0`; none of `libsycl.so.9.0.0-gdb.py`.
fn version(name: &str) -> Option<&str> {
    let version = name.strip_prefix("libsycl.so.")?;
    version.chars().all(|letter| letter.is_ascii_digit() || letter == '.').then_some(version)
}

/// Problems of runtimes that do not go together.
pub fn judge(runtimes: &[Runtime]) -> Vec<Trouble> {
    let mut problems = Vec::new();
    let Some(first) = runtimes.first() else { return problems };
    let one =
        |runtime: &Runtime| format!("{} {} ({}, by {})", runtime.soname, runtime.version, runtime.path, runtime.by);
    if let Some(other) = runtimes.iter().find(|other| other.soname != first.soname) {
        let message = format!(
            "two SYCL runtimes: {} and {}; where a program is linked to one and a library of it to the other, both are \
             loaded, and neither sees the other's device images",
            one(first),
            one(other)
        );
        problems.push(Trouble::new(message, "build all parts with one compiler, and name its `lib` alone"));
    }
    let twice = |other: &&Runtime| other.soname == first.soname && other.version != first.version;
    if let Some(other) = runtimes.iter().find(twice) {
        let message = format!("{} hides {}: programs of the second run on the first", one(first), one(other));
        problems.push(Trouble::new(message, "put the folder of the newer one first in LD_LIBRARY_PATH"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        folder
    }

    #[test]
    fn runtimes_and_their_adapters_are_told_by_names() {
        let names =
            ["libsycl.so", "libsycl.so.9", "libsycl.so.9.0.0", "libsycl.so.9.0.0-gdb.py", "libsycl-preview.so.9"];
        let folder = folder(&[&names[..], &["libur_adapter_cuda.so.0", "libur_adapter_cuda.so.0.12.0"]].concat());
        let found = in_folder(folder.path(), "CMPLR_ROOT");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].soname.as_str(), found[0].version.as_str()), ("libsycl.so.9", "9.0.0"));
        assert_eq!(found[0].adapters, ["cuda"]);
        assert_eq!(judge(&found), Vec::new());
    }

    #[test]
    fn runtimes_that_do_not_go_together_are_named() {
        let runtime = |soname: &str, version: &str| Runtime {
            soname: soname.to_owned(),
            version: version.to_owned(),
            ..Runtime::default()
        };
        let (eight, nine, newer) = (runtime("s.8", "8.0.0"), runtime("s.9", "9.0.0"), runtime("s.9", "9.1.0"));
        assert!(judge(&[nine.clone(), nine.clone()]).is_empty());
        assert!(judge(&[eight, nine.clone()])[0].message.contains("two SYCL runtimes"));
        assert!(judge(&[nine, newer])[0].message.contains("hides"));
    }
}
