//! Which functions of SYCL's device library does a module call that nobody defines, and which modules have them?
//!
//! Before 2026 the compiler leaves such calls open (`__devicelib_ConvertFToBF16INTEL`) and the runtime links modules that lie
//! beside it: of each library that an image names (`SYCL/devicelib req mask`) the fallback, unless the device's extensions tell
//! that its driver has it (`getDeviceLibPrograms` in `program_manager.cpp` of DPC++ 2025). Of these extensions Intel's GPU driver
//! has `cl_intel_bfloat16_conversions` alone; for it another module has the device's own instructions. Since 2026 the functions
//! are in images of the program.
//!
//! Here the open symbols say what is needed, and of each module only what they reach is taken: the largest has 3 MB.

use crate::device::target::Target as Facts;
use crate::error::{Context as _, Error, Result};
use crate::spirv::Module;
use crate::spirv::index::Index;
use crate::spirv::link::{Options, Source, link};
use crate::spirv::subset::{Cutter, Keep, exported};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

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

/// Start of the names of all its functions.
const PREFIX: &str = "__devicelib_";

/// The device library of a runtime, read when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct DeviceLibrary {
    /// Folders to look into, the first one that has a module counts.
    pub(crate) folders: Vec<PathBuf>,
    modules: OnceCell<Vec<(&'static str, Vec<u8>)>>,
}

/// Whether a symbol is one of the device library's.
pub(crate) fn is_of_library(symbol: &str) -> bool {
    symbol.starts_with(PREFIX)
}

/// Whether Intel's driver (26.27) has `cl_intel_bfloat16_conversions` for a GPU: DG2, PVC, Arrow Lake-H, and all since Xe2.
fn converts_bfloat16(facts: Option<&Facts>) -> bool {
    let release = facts.and_then(|facts| facts.ip_versions.first()).map(|ip| (ip.architecture, ip.release));
    release.is_some_and(|release| matches!(release, (12, 55..=61 | 74) | (20.., _)))
}

impl DeviceLibrary {
    /// A library that is looked for in these folders.
    pub(crate) fn new(folders: Vec<PathBuf>) -> DeviceLibrary {
        DeviceLibrary { folders, modules: OnceCell::new() }
    }

    fn modules(&self) -> &[(&'static str, Vec<u8>)] {
        self.modules.get_or_init(|| {
            let read = |folder: &PathBuf| -> Vec<(&'static str, Vec<u8>)> {
                MODULES.iter().filter_map(|name| Some((*name, std::fs::read(folder.join(name)).ok()?))).collect()
            };
            self.folders.iter().map(read).find(|modules| !modules.is_empty()).unwrap_or_default()
        })
    }

    /// Returns a module with the functions of the device library that it and they call, which the GPU's driver lacks; none where it
    /// calls none that is there.
    ///
    /// # Errors
    /// `Input` where a module of the library is damaged, or does not fit to this one.
    pub(crate) fn complete(&self, module: &[u8], facts: Option<&Facts>) -> Result<Option<Vec<u8>>> {
        let imports = Module::parse(module)?.imports;
        let mut wanted: BTreeSet<String> = imports.into_iter().filter(|name| is_of_library(name)).collect();
        if wanted.is_empty() || self.modules().is_empty() {
            return Ok(None);
        }
        let native = converts_bfloat16(facts) && self.modules().iter().any(|(name, _)| *name == NATIVE_BFLOAT16);
        let left_out = if native { BFLOAT16 } else { NATIVE_BFLOAT16 };
        let own = self.modules().iter().filter(|(name, _)| *name != left_out);
        let indexes = own.map(|(name, bytes)| Ok((*name, Index::read(bytes).context(|| (*name).to_owned())?)));
        let indexes: Vec<(&str, Index<'_>)> = indexes.collect::<Result<_>>()?;
        let mut defined = BTreeMap::new();
        for (at, (_, index)) in indexes.iter().enumerate() {
            for (id, name) in exported(index) {
                defined.entry(name).or_insert((at, id));
            }
        }
        // Calls from one module of the library into another count, too.
        let mut taken: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        let mut met: BTreeSet<String> = BTreeSet::new();
        let mut parts = BTreeMap::new();
        while let Some(name) = wanted.pop_first() {
            let Some((at, id)) = defined.get(&name).filter(|_| met.insert(name.clone())) else { continue };
            let Some((of, index)) = indexes.get(*at) else { continue };
            let ids = taken.entry(*at).or_default();
            ids.insert(*id);
            let ids: Vec<u32> = ids.iter().copied().collect();
            let keep = Keep { ids: &ids, ..Keep::default() };
            let part = Cutter::new(index).and_then(|mut cutter| cutter.cut(&keep)).context(|| (*of).to_owned())?;
            let calls = Module::parse(&part)?.imports;
            wanted.extend(calls.iter().filter(|call| is_of_library(call) && !met.contains(*call)).cloned());
            parts.insert(*at, part);
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let required: HashSet<&str> = met.iter().map(String::as_str).collect();
        let own = Source { name: "the image", bytes: module, required: Some(required.clone()), ..Source::default() };
        let library = parts.iter().filter_map(|(at, part)| Some((indexes.get(*at)?.0, part)));
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
