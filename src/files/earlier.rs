//! What of an earlier table of the same name may a new one replace, and what has to go with it?
//!
//! Parts are named after their table, so those of an earlier one are the table's to replace and, where the new one has
//! fewer, to take away: left there they would be files that no table lists, which no later table may replace.

use super::emit::stem_and_folder;
use crate::error::{Error, ErrorKind, Result};
use crate::files::sources::same_file;
use crate::files::write::sweep;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The parts of an earlier table that may go.
#[derive(Debug, Default)]
pub struct Earlier {
    parts: Vec<PathBuf>,
}

/// Whether the parts of a table would replace files that are no parts of an earlier one; tells which parts that had.
///
/// # Errors
/// `Usage`, naming the file.
pub fn check<'n>(names: impl Iterator<Item = &'n str>, path: &Path, inputs: &[&Path]) -> Result<Earlier> {
    let (stem, folder) = stem_and_folder(path);
    sweep(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let listed = listed(path);
    let inputs: HashSet<PathBuf> = inputs.iter().filter_map(|input| input.canonicalize().ok()).collect();
    let is_input = |part: &Path| part.canonicalize().is_ok_and(|part| inputs.contains(&part));
    for name in names {
        let part = folder.join(name);
        // A table may have thousands of parts, and most are new.
        if part.symlink_metadata().is_err() {
            continue;
        }
        let is_input = is_input(&part);
        if is_input || part.exists() && !listed.contains(name) {
            let what = if is_input { "an input" } else { "a file that no table of that name lists" };
            let message = format!("a part of the table would replace `{}`, {what}", part.display());
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("give the table another name or folder"));
        }
    }
    let parts = listed.iter().filter(|name| is_part(name, &stem)).map(|name| folder.join(name));
    Ok(Earlier { parts: parts.filter(|part| !is_input(part)).collect() })
}

/// The parts of an earlier table in a folder, whatever stems they have; `inputs` stay.
pub fn in_folder(path: &Path, inputs: &[&Path]) -> Earlier {
    let (_, folder) = stem_and_folder(path);
    // A stem may itself have what looks like a number: the last is the image's.
    let is_ours = |name: &&String| name.rsplit_once('_').is_some_and(|(stem, _)| is_part(name, stem));
    let parts = listed(path).iter().filter(is_ours).map(|name| folder.join(name)).collect::<Vec<_>>();
    let is_input = |part: &PathBuf| inputs.iter().any(|input| same_file(input, part));
    Earlier { parts: parts.into_iter().filter(|part| !is_input(part)).collect() }
}

impl Earlier {
    /// Takes away what no table beside the new one lists any more; how many files that are. What cannot be removed stays,
    /// which harms nobody.
    pub fn clear(self, path: &Path) -> usize {
        if self.parts.is_empty() {
            return 0;
        }
        let (_, folder) = stem_and_folder(path);
        let mut kept = listed(path);
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A folder that cannot be listed may hold other tables.
        let Ok(entries) = std::fs::read_dir(here) else { return 0 };
        for entry in entries.flatten().map(|entry| entry.path()) {
            if entry.extension() == Some(OsStr::new("table")) {
                kept.extend(listed(&entry));
            }
        }
        let name = |part: &Path| part.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let gone = self.parts.iter().filter(|part| name(part).is_some_and(|name| !kept.contains(&name)));
        gone.filter(|part| std::fs::remove_file(part).is_ok()).count()
    }
}

/// All cells of a table; none where there is no table.
fn listed(path: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().flat_map(|line| line.split('|')).map(str::to_owned).collect()
}

/// Whether a name is one that a table of that stem gives its parts: `STEM_NUMBER.EXTENSION`.
fn is_part(name: &str, stem: &str) -> bool {
    if name.contains(['/', '\\']) {
        return false;
    }
    let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('_'));
    rest.and_then(|rest| rest.split_once('.')).is_some_and(|(number, extension)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && !extension.is_empty()
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        assert!(["out_0.spv", "out_12.prop", "out_3.sym"].iter().all(|name| is_part(name, "out")));
        let others =
            ["out.spv", "out_.spv", "out_x.spv", "out_1", "out_1.", "../out_1.spv", "out_1.spv/../x", "in_1.spv"];
        assert!(!others.iter().any(|name| is_part(name, "out")));
    }

    #[test]
    fn parts_of_any_stem_go_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = ["a_0.spv", "lib_x.so_1.prop", "notes.txt", "b_0.spv", "../out_0.spv"];
        names.iter().take(4).for_each(|name| std::fs::write(at(name), "").unwrap());
        std::fs::write(at("images.table"), names.map(|name| format!("{name}||\n")).concat()).unwrap();
        let earlier = in_folder(&at("images.table"), &[]);
        std::fs::write(at("images.table"), "b_0.spv||\n").unwrap();
        assert_eq!(earlier.clear(&at("images.table")), 2);
        let there = ["a_0.spv", "lib_x.so_1.prop", "notes.txt", "b_0.spv"].map(|name| at(name).exists());
        assert_eq!(there, [false, false, true, true]);
    }

    #[test]
    fn what_another_table_lists_or_is_read_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["out_0.spv", "out_1.spv", "out_2.spv", "out_3.spv", "mine.spv"] {
            std::fs::write(at(name), "").unwrap();
        }
        let rows = "out_0.spv||\nout_1.spv||\nout_2.spv||\nout_3.spv||\nmine.spv||\n";
        std::fs::write(at("out.table"), rows).unwrap();
        std::fs::write(at("other.table"), "out_2.spv||\n").unwrap();
        let earlier = check(["out_0.spv"].into_iter(), &at("out.table"), &[&at("out_3.spv")]).unwrap();
        std::fs::write(at("out.table"), "out_0.spv||\n").unwrap();
        earlier.clear(&at("out.table"));
        let there = ["out_0.spv", "out_1.spv", "out_2.spv", "out_3.spv", "mine.spv"].map(|name| at(name).exists());
        assert_eq!(there, [true, false, true, true, true]);
    }
}
