//! Which libraries has a process loaded?
//!
//! The files that it maps, each once, in the order of addresses: executable and libraries, not packages or data. They
//! are opened as the process sees them (it may have another root), and those that were deleted or replaced since, through
//! its maps.

use super::Expansion;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use sycl_bundle::error::{Error, Result};

/// The process that an argument means: `pid:N`, or `/proc/N/maps`.
pub(super) fn pid(argument: &Path) -> Option<String> {
    let text = argument.to_str()?;
    let pid = match text.strip_prefix("pid:") {
        Some(pid) => pid,
        None => text.strip_prefix("/proc/")?.strip_suffix("/maps")?,
    };
    let number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    (number || pid == "self").then(|| pid.to_owned())
}

/// One mapping of a file.
struct Mapping<'m> {
    range: &'m str,
    executable: bool,
    path: &'m str,
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    // ADDRESSES PERMISSIONS OFFSET DEVICE INODE, spaces, PATH.
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start_matches(' ').split_once(' ')?;
        rest = after;
        Some(field)
    };
    let (range, permissions) = (field()?, field()?);
    let _ = (field()?, field()?, field()?);
    let path = rest.trim_start_matches(' ');
    path.starts_with('/').then_some(Mapping { range, executable: permissions.contains('x'), path })
}

impl Expansion<'_, '_> {
    /// Hands on each library of a process.
    pub(super) fn process(&mut self, argument: &Path, pid: &str) -> Result<()> {
        let folder = PathBuf::from("/proc").join(pid);
        let maps = match fs::read(folder.join("maps")) {
            Ok(maps) => maps,
            Err(error) => {
                let name = argument.display().to_string();
                let error = match error.kind() {
                    std::io::ErrorKind::NotFound => Error::input(format!("there is no process {pid}")),
                    _ => Error::io(format!("cannot read the maps of process {pid}"), &error),
                };
                return self.damaged(&name, error);
            }
        };
        let maps = String::from_utf8_lossy(&maps);
        let mut known = HashSet::new();
        for mapping in maps.lines().filter_map(mapping) {
            let deleted = mapping.path.strip_suffix(" (deleted)");
            // Of what is deleted only code is of interest: the rest is shared memory.
            if deleted.is_some() && !mapping.executable || !known.insert(mapping.path) {
                continue;
            }
            let path = match deleted {
                Some(_) => folder.join("map_files").join(mapping.range),
                None => {
                    let path = Path::new(mapping.path);
                    let seen = folder.join("root").join(path.strip_prefix("/").unwrap_or(path));
                    // Without the right to look through the eyes of the process, ours must do.
                    if seen.exists() && !same(&seen, path) { seen } else { path.to_path_buf() }
                }
            };
            self.found(&path, mapping.path, false, 0)?;
        }
        Ok(())
    }
}

/// Whether two paths are the same file.
fn same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(a) == id(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_from_files() {
        let pid = |text: &str| pid(Path::new(text));
        assert_eq!(pid("pid:12").as_deref(), Some("12"));
        assert_eq!(pid("/proc/self/maps").as_deref(), Some("self"));
        assert_eq!([pid("pid:"), pid("pid:x"), pid("./pid:1"), pid("/proc/1/../maps")], [None, None, None, None]);
    }

    #[test]
    fn a_path_may_hold_spaces() {
        let line = "7f00-7f01 r-xp 00000000 fe:00 42                       /a b/lib.so (deleted)";
        let found = mapping(line).unwrap();
        assert_eq!((found.range, found.executable, found.path), ("7f00-7f01", true, "/a b/lib.so (deleted)"));
        assert!(mapping("7f00-7f01 rw-p 00000000 00:00 0 ").is_none());
        assert!(mapping("7f00-7f01 rw-p 00000000 00:00 0                  [heap]").is_none());
    }
}
