//! Which functions of SYCL's device library does a module call that nobody defines, and which modules have them?
//!
//! Before 2026 the compiler leaves such calls open (`__devicelib_ConvertFToBF16INTEL`) and the runtime links modules that lie
//! beside it: of each library that an image names (`SYCL/devicelib req mask`) the fallback, unless the device's extensions tell
//! that its driver has it (`getDeviceLibPrograms` in `program_manager.cpp` of DPC++ 2025). Of these extensions Intel's GPU driver
//! has `cl_intel_bfloat16_conversions` alone, for some GPUs (`opencl-extensions` of the device configuration); for it another
//! module has the device's own instructions. Since 2026 the functions are in images of the program.
//!
//! Here the open symbols say what is needed, and of each module only what they reach is taken: the largest has 3 MB.

use crate::compat::built_in::{BFLOAT16_CONVERSIONS, is_of_library};
use crate::device::target::Target as Facts;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::spirv::Module;
use crate::spirv::index::Index;
use crate::spirv::link::{Options, Source, link};
use crate::spirv::subset::{Cutter, Keep, exported};
use crate::{limits, plain_file};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The modules, in the runtime's order; of the last two one is taken.
const MODULES: [&str; 11] = [
    "libsycl-fallback-cassert.spv",
    "libsycl-fallback-cmath.spv",
    "libsycl-fallback-cmath-fp64.spv",
    "libsycl-fallback-complex.spv",
    "libsycl-fallback-complex-fp64.spv",
    "libsycl-fallback-cstring.spv",
    "libsycl-fallback-imf.spv",
    "libsycl-fallback-imf-fp64.spv",
    "libsycl-fallback-imf-bf16.spv",
    BFLOAT16,
    NATIVE_BFLOAT16,
];
const BFLOAT16: &str = "libsycl-fallback-bfloat16.spv";
const NATIVE_BFLOAT16: &str = "libsycl-native-bfloat16.spv";

/// The device library of a runtime, read when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct DeviceLibrary {
    /// Folders to look into, the first one that has a module counts.
    folders: Vec<PathBuf>,
    modules: OnceCell<Vec<LibraryModule>>,
}

/// One module of the device library.
#[derive(Debug)]
struct LibraryModule {
    name: &'static str,
    path: PathBuf,
    bytes: Vec<u8>,
    /// Ids of the functions that it has for others.
    exports: BTreeMap<String, u32>,
}

impl LibraryModule {
    /// Reads a module of a folder; none where that has no such file.
    fn read(folder: &Path, name: &'static str) -> Option<Result<LibraryModule>> {
        let path = folder.join(name);
        let bytes = match plain_file::read(&path, limits::MAX_LIBRARY_MODULE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(Error::io("cannot read it", &error).context(path.display().to_string()))),
        };
        let exports = Index::read(&bytes)
            .map(|index| exported(&index).into_iter().map(|(id, linkage)| (linkage.name, id)).collect());
        let module = exports.context(|| path.display().to_string());
        Some(module.map(|exports| LibraryModule { name, path, bytes, exports }))
    }

    /// Returns the functions with these ids, and what of the module they reach.
    fn cut(&self, ids: &BTreeSet<u32>) -> Result<Vec<u8>> {
        let ids: Vec<u32> = ids.iter().copied().collect();
        let index = Index::read(&self.bytes)?;
        Cutter::new(&index)?.cut(&Keep { ids: &ids, ..Keep::default() })
    }
}

impl DeviceLibrary {
    /// A library that is looked for in these folders; a module that cannot be read counts as missing.
    pub(crate) fn in_folders(folders: Vec<PathBuf>) -> DeviceLibrary {
        DeviceLibrary { folders, modules: OnceCell::new() }
    }

    /// The library in a folder.
    ///
    /// # Errors
    /// `Usage` where it has no module; `Input` where one is damaged, `Io` where it cannot be read.
    pub(crate) fn open(folder: &Path) -> Result<DeviceLibrary> {
        let modules =
            MODULES.iter().filter_map(|name| LibraryModule::read(folder, name)).collect::<Result<Vec<_>>>()?;
        if modules.is_empty() {
            let message = format!("`{}` has no module of SYCL's device library", folder.display());
            let remedy =
                "name the folder with libsycl-fallback-cmath.spv and the others, as `lib` of intel-sycl-rt 2025";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy(remedy));
        }
        Ok(DeviceLibrary { folders: Vec::new(), modules: OnceCell::from(modules) })
    }

    /// The files that were read.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.modules.get().into_iter().flatten().map(|module| module.path.clone())
    }

    fn modules(&self) -> &[LibraryModule] {
        self.modules.get_or_init(|| {
            let read = |folder: &PathBuf| -> Vec<LibraryModule> {
                MODULES.iter().filter_map(|name| LibraryModule::read(folder, name)?.ok()).collect()
            };
            self.folders.iter().map(read).find(|modules| !modules.is_empty()).unwrap_or_default()
        })
    }

    /// Returns a module with the functions of the device library that it and they call, which the GPU's driver lacks; none where it
    /// calls none that is there. `imports` are what the module leaves open.
    ///
    /// # Errors
    /// `Input` where a module of the library is damaged, or does not fit to this one.
    pub(crate) fn complete(&self, module: &[u8], imports: &[String], facts: Option<&Facts>) -> Result<Option<Vec<u8>>> {
        let mut wanted: BTreeSet<String> = imports.iter().filter(|name| is_of_library(name)).cloned().collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let native = facts.and_then(|facts| facts.has_extension(BFLOAT16_CONVERSIONS)) == Some(true)
            && self.modules().iter().any(|module| module.name == NATIVE_BFLOAT16);
        let left_out = if native { BFLOAT16 } else { NATIVE_BFLOAT16 };
        let modules: Vec<&LibraryModule> = self.modules().iter().filter(|module| module.name != left_out).collect();
        let mut taken: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        let mut met: BTreeSet<String> = BTreeSet::new();
        let mut parts = BTreeMap::new();
        // Calls from one module of the library into another count, too: each round cuts a module once.
        while !wanted.is_empty() {
            let mut grown = BTreeSet::new();
            for name in std::mem::take(&mut wanted) {
                let defines = |module: &&LibraryModule| module.exports.contains_key(&name);
                let Some(at) = modules.iter().position(defines) else { continue };
                let id = modules.get(at).and_then(|module| module.exports.get(&name));
                if met.insert(name) {
                    taken.entry(at).or_default().extend(id);
                    grown.insert(at);
                }
            }
            for at in grown {
                let (Some(module), Some(ids)) = (modules.get(at), taken.get(&at)) else { continue };
                let part = module.cut(ids).context(|| module.name.to_owned())?;
                let calls = Module::parse(&part)?.imports;
                wanted.extend(calls.into_iter().filter(|call| is_of_library(call) && !met.contains(call)));
                parts.insert(at, part);
            }
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let required: HashSet<&str> = met.iter().map(String::as_str).collect();
        let own = Source { name: "the image", bytes: module, required: Some(required.clone()), ..Source::default() };
        let library = parts.iter().filter_map(|(at, part)| Some((modules.get(*at)?.name, part)));
        let library = library.map(|(name, part)| Source {
            name,
            bytes: part,
            required: Some(required.clone()),
            internal: true,
            ..Source::default()
        });
        let sources: Vec<Source<'_>> = std::iter::once(own).chain(library).collect();
        let first = |errors: Vec<Error>| errors.into_iter().next().unwrap_or_else(|| Error::input("it does not fit"));
        Ok(Some(link(&sources, &Options::default()).map_err(first)?.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_no_modules() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(BFLOAT16)).unwrap();
        let error = DeviceLibrary::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("no plain file"), "{error}");
    }
}
