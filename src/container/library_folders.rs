//! In which folders does a program look for its libraries?

use crate::limits;
use object::Endianness;
use object::elf::{DT_RPATH, DT_RUNPATH, DT_STRTAB, DynamicTag, FileHeader64, PT_LOAD};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::read::{ReadCache, ReadRef as _};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Returns the folders in which the loader looks for libraries of a program or library of 64 bits, as `DT_RUNPATH` and `DT_RPATH` of the
/// ELF specification name them, and the folder of the loader that it names; none where the file is neither.
pub(crate) fn library_folders(file: File, path: &Path) -> Option<Vec<PathBuf>> {
    let data = ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &data).ok()?;
    let loader = segments.iter().find_map(|segment| segment.interpreter(endian, &data).ok()?);
    let loader = loader.and_then(|loader| Path::new(OsStr::from_bytes(loader)).parent().map(Path::to_owned));
    let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, &data).ok()?)?;
    let values = |tag: DynamicTag| {
        dynamic.iter().filter(move |entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian))
    };
    let table = values(DT_STRTAB).next()?;
    let table = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).find_map(|segment| {
        let within = table.checked_sub(segment.p_vaddr(endian)).filter(|within| *within < segment.p_filesz(endian))?;
        segment.p_offset(endian).checked_add(within)
    })?;
    let texts = values(DT_RUNPATH).chain(values(DT_RPATH)).filter_map(|at| {
        let begin = table.checked_add(at)?;
        data.read_bytes_at_until(begin..begin.checked_add(limits::MAX_RUN_PATH)?.min(data.len().ok()?), 0).ok()
    });
    let origin = path.parent().unwrap_or(path).to_string_lossy().into_owned();
    let paths = texts.flat_map(|text| {
        let text = String::from_utf8_lossy(text).replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin);
        text.split(':').filter(|one| one.starts_with('/')).map(PathBuf::from).collect::<Vec<_>>()
    });
    Some(paths.chain(loader).filter_map(|folder| folder.canonicalize().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads folders of a program that a linker wrote, and none in a text.
    #[test]
    fn programs_name_folders_and_their_loader() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("p.c"), "int main(void) { return 0; }\n").unwrap();
        ["own", "other"].iter().for_each(|name| std::fs::create_dir(at(name)).unwrap());
        let run_path = format!("-Wl,-rpath,$ORIGIN/own:relative:{}", at("other").display());
        let mut compiler = std::process::Command::new("cc");
        assert!(compiler.args(["p.c", "-o", "p", &run_path]).current_dir(folder.path()).status().unwrap().success());
        let folders = |name: &str| library_folders(File::open(at(name)).unwrap(), &at(name));
        let found = folders("p").unwrap();
        assert_eq!(
            found.iter().take(2).collect::<Vec<_>>(),
            [&at("own"), &at("other")].map(|path| path.canonicalize().unwrap()).iter().collect::<Vec<_>>()
        );
        assert_eq!(found.len(), 3, "the loader's, too: {found:?}");
        assert_eq!(folders("p.c"), None);
    }
}
