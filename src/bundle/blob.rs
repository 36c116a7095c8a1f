//! Which images are in a file that is no linked program?
//!
//! Such files (blobs) nest: an OffloadBinary may hold a SYCLBIN, a bundle may hold OffloadBinaries, and layers may be
//! compressed. One reader walks them all, identifies each by content, and limits nesting, inflated bytes, and the cost
//! of overlapping parts. A damaged part becomes a problem; the others are read.

use super::format::Format;
use super::image::Image;
use super::property::Properties;
use super::{hcf, kpack, offload_binary, offload_bundle, syclbin};
use crate::bytes;
use crate::container::Arena;
use crate::container::Kind;
use crate::container::Place;
use crate::container::address::{end_of_string, find};
use crate::container::device_elf::{DeviceElf, SHT_OPENCL_SPIRV};
use crate::error::{Error, Problem, Result};
use crate::limits;
use std::collections::{HashMap, HashSet};

/// Reader of blobs that collects their images.
#[derive(Debug)]
pub struct Reader<'a> {
    /// Owner of inflated and decoded bytes.
    pub(crate) arena: &'a Arena,
    /// Images read so far.
    pub images: Vec<Image<'a>>,
    /// Problems so far.
    pub problems: Vec<Problem>,
    /// Bytes that further parts may have in total.
    budget: u64,
    /// Number of images that the file may have.
    most: usize,
    /// Whether it has more, which has been told.
    is_full: bool,
    /// Offsets in the file of the OffloadBinaries that were read.
    binaries: HashSet<u64>,
    /// Contents of the compressed bundles that were inflated, and their places, by the addresses and lengths of these: thousands of
    /// parts may share one.
    pub(super) inflated: HashMap<(usize, usize), (&'a [u8], Place)>,
}

impl<'a> Reader<'a> {
    /// Creates a reader for a file of this many bytes.
    pub fn new(arena: &'a Arena, size: usize) -> Self {
        let most = limits::images_of(size);
        let mut reader = Reader {
            arena,
            images: Vec::new(),
            problems: Vec::new(),
            budget: 1 << 20,
            most,
            is_full: false,
            binaries: HashSet::new(),
            inflated: HashMap::new(),
        };
        reader.grant(size);
        reader
    }

    /// Reads a blob of any kind; bytes of no known kind are an image. `outer` has the facts of the layer around it.
    pub fn read(&mut self, data: &'a [u8], place: Place, depth: u32, outer: Image<'a>) {
        if self.is_full {
            return;
        }
        if depth > limits::MAX_BLOB_NESTING {
            return self
                .problem(place.error(format!("more than {} blobs within each other", limits::MAX_BLOB_NESTING)));
        }
        let depth = depth.saturating_add(1);
        // Each layer is walked through to its end; parts by the thousands may share one.
        if let Err(error) = self.spend(data.len()) {
            return self.problem(place.locate(error));
        }
        match Kind::identify(data) {
            Ok(Kind::OffloadBinary) => offload_binary::images(self, data, place, depth, &outer),
            Ok(Kind::SyclBin) => syclbin::images(self, data, place),
            Ok(Kind::OffloadBundle | Kind::CompressedBundle) => {
                offload_bundle::images(self, data, place, depth, &outer);
            }
            Ok(Kind::Hcf) => hcf::images(self, data, place, &outer),
            Ok(Kind::Kpack) => kpack::images(self, data, place, &outer),
            Ok(Kind::Native) if outer.target.is_empty() => {
                let target = if is_for_gpus(data) { "spir64_gen" } else { Format::sniff(data).usual_target() };
                self.push(data, place, Image { target, ..outer });
            }
            // Only SYCL uses bare SPIR-V kernels; shaders are for graphics, by LLVM's name for these.
            Ok(Kind::SpirV) if outer.target.is_empty() => {
                let target = if is_shader(data) { "spirv-unknown-vulkan" } else { "spir64" };
                self.push(data, place, Image { target, ..outer });
            }
            Ok(Kind::LlvmBitcode) if find(data, EMBEDDED).is_some() => {
                self.push(data, place, outer);
                let error = place.error("the module is a host's, and has device code in it, which is not read");
                self.problem(error.with_remedy("link the program, and name the file that comes out"));
            }
            _ => self.push(data, place, outer),
        }
    }

    /// Adds an image with these bytes, which are charged; `like` provides all else.
    pub(crate) fn image(&mut self, stored: &'a [u8], place: Place, like: Image<'a>) {
        match self.spend(stored.len()) {
            Ok(()) => self.push(stored, place, like),
            Err(error) => self.problem(place.locate(error)),
        }
    }

    /// Adds an image whose bytes have been charged.
    fn push(&mut self, stored: &'a [u8], place: Place, like: Image<'a>) {
        if self.images.len() >= self.most {
            if !std::mem::replace(&mut self.is_full, true) {
                self.problem(place.error(format!("more images than a file of this size may have ({})", self.most)));
            }
            return;
        }
        self.images.push(Image {
            index: self.images.len(),
            stored,
            offset: place.offset(),
            inflated: place.is_inflated(),
            ..like
        });
    }

    /// Copies what a layer says of a part in it. Charged before it is made: a layer may say much and have thousands of parts.
    ///
    /// # Errors
    /// Errors of [`Reader::spend`].
    pub(super) fn copy(
        &mut self,
        properties: &Properties<'a>,
        entries: &[&'a str],
    ) -> Result<(Properties<'a>, Vec<&'a str>)> {
        let count: usize = properties.sets.iter().map(|set| set.properties.len().saturating_add(1)).sum();
        self.spend(count.saturating_mul(48).saturating_add(entries.len().saturating_mul(16)))?;
        Ok((properties.clone(), entries.to_vec()))
    }

    /// Whether the file has more images than it may, so that no further ones are read.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Notes that the OffloadBinary at a place is read.
    pub(super) fn note_binary(&mut self, place: Place) {
        if !place.is_inflated() {
            self.binaries.insert(place.offset());
        }
    }

    /// Whether the OffloadBinary at an offset in the file was read.
    pub(super) fn has_read(&self, offset: u64) -> bool {
        self.binaries.contains(&offset)
    }

    /// Records a problem, up to the limit on problems.
    pub(crate) fn problem(&mut self, error: Error) {
        if self.problems.len() < limits::MAX_PROBLEMS {
            self.problems.push(Problem::general(error));
        }
    }

    /// Notes what ended the reading of a container at `place`, by the offset within it where the error has one.
    pub(crate) fn finished(&mut self, done: Result<()>, place: Place, container: &str) {
        let Err(error) = done else { return };
        let error = match error.offset() {
            Some(offset) => place.at(offset).locate(error.without_offset()),
            None => place.locate(error),
        };
        self.problem(error.context(container.to_owned()));
    }

    /// Charges the bytes of a part to the budget. Once it does not suffice, nothing is left for other parts.
    ///
    /// # Errors
    /// `Input` where the parts have more bytes together than parts of a valid file could.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        // Each part has a fixed cost too.
        let cost = (bytes as u64).saturating_add(8);
        let left = self.budget.checked_sub(cost);
        self.budget = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(|| {
            Error::input("the parts come to many times the size of the file; they overlap, or are forged")
        })
    }

    /// Returns the NUL-terminated string at an offset, without the NUL, if it ends. What is looked through is charged.
    ///
    /// # Errors
    /// Errors of [`Reader::spend`].
    pub(super) fn c_string<'d>(&mut self, data: &'d [u8], at: u64) -> Result<Option<&'d [u8]>> {
        let tail = usize::try_from(at).ok().and_then(|at| data.get(at..)).unwrap_or_default();
        let found = end_of_string(tail);
        self.spend(found.unwrap_or(tail.len()))?;
        Ok(found.and_then(|end| tail.get(..end)))
    }

    /// Counts rows, and files of so many bytes that they name, for the number of images.
    pub(super) fn names(&mut self, rows: usize, bytes: usize) {
        self.most = limits::images_of(bytes).max(rows);
    }

    /// Adds inflated bytes to the budget.
    pub(crate) fn grant(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add((bytes as u64).saturating_mul(limits::MAX_OVERLAP));
    }
}

/// Name of the metadata and variables by which a host's bitcode has device code (`clang -flto --offload-new-driver`): in the
/// table of strings, which stands whole.
const EMBEDDED: &[u8] = b"llvm.embedded.object";

/// Whether an ELF container holds SPIR-V for Intel GPUs: what their driver compiles and does not link.
fn is_for_gpus(data: &[u8]) -> bool {
    let holds = |elf: DeviceElf<'_>| elf.sections.iter().any(|section| section.kind == SHT_OPENCL_SPIRV);
    data.starts_with(b"\x7fELF") && DeviceElf::parse(data).is_ok_and(holds)
}

/// Whether a SPIR-V module has shaders: its capabilities, with which modules begin, are `Shader` and not `Kernel`.
fn is_shader(module: &[u8]) -> bool {
    const CAPABILITY: u32 = 2 << 16 | 17;
    const SHADER: u32 = 1;
    const KERNEL: u32 = 6;
    let words = module.get(20..).unwrap_or_default().as_chunks::<4>().0.as_chunks::<2>().0;
    let words = words.iter().map(|pair| pair.map(u32::from_le_bytes));
    let capabilities = words.take_while(|[word, _]| *word == CAPABILITY).map(|[_, capability]| capability);
    capabilities.fold((false, false), |(shader, kernel), one| (shader | (one == SHADER), kernel | (one == KERNEL)))
        == (true, false)
}

/// Returns the target of a full triple in the form of image structures: `spir64` of `spir64-unknown-unknown`. Triples
/// of other programming models stay whole.
pub(crate) fn target_of(triple: &str) -> &str {
    let (arch, rest) = triple.split_once('-').unwrap_or((triple, ""));
    // SYCL's runtimes do not know AMD's flavour of SPIR-V.
    let known =
        arch.starts_with("spir") && !rest.starts_with("amd-") || matches!(arch, "nvptx64" | "amdgcn" | "native_cpu");
    if known { arch } else { triple }
}

/// Returns the architecture that an image names beside its triple; empty for `generic`.
pub(crate) fn arch_of(arch: &str) -> &str {
    if arch == "generic" { "" } else { arch }
}

/// Returns the `len` bytes at an offset.
pub(super) fn slice(data: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    bytes::slice_at(data, usize::try_from(at).ok()?, usize::try_from(len).ok()?)
}

/// Returns the text of a part, or none where it is not UTF-8.
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Returns where something begins behind zeros, from an offset on.
pub(super) fn next(data: &[u8], from: usize) -> Option<usize> {
    let rest = data.get(from..)?;
    rest.iter().position(|&byte| byte != 0).and_then(|zeros| from.checked_add(zeros))
}
