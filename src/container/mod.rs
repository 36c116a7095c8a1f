//! Where in this host file are device bytes?
//!
//! [`Kind::identify`] uses magic numbers only, never names. [`Host::read`] then makes the file addressable: segments
//! with relocations applied, sections, and the producer's signature.
//!
//! Images borrow their bytes from the file. Inflated or decoded bytes are not in the file; the arena keeps them for as
//! long as the file is read. Bytes are added through a shared reference and never move or go away.

pub mod address;
pub(crate) mod base_relocations;
pub(crate) mod device_elf;
pub mod elf;
pub(crate) mod inflate;
pub(crate) mod kind;
pub(crate) mod library_folders;
pub(crate) mod object_file;
pub mod package;
pub(crate) mod pe;

use crate::bytes::{self, Draft};
use crate::error::{Error, Result};
use crate::limits;
use address::AddressMap;
use elf::{Elf, Foreign};
pub use inflate::Allowance;
pub use kind::Kind;
use object_file::ObjectFile;
use pe::Pe;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Function of a SYCL runtime to which a program hands its images.
pub(crate) const REGISTRATION: &str = "__sycl_register_lib";

/// Name of the sections of OffloadBinaries; COFF may append a suffix.
pub(crate) const OFFLOADING: &str = ".llvm.offloading";
/// ELF's type of these sections, `SHT_LLVM_OFFLOADING`, by which LLVM's tools find them whatever their name.
const SHT_OFFLOADING: u32 = 0x6fff_4c0b;

/// Named range of the file.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// Name of the section.
    pub name: &'a str,
    /// Virtual address; 0 where it is not loaded.
    pub address: u64,
    /// File offset of its bytes.
    pub offset: u64,
    /// Bytes in the file (none for `.bss`).
    pub data: &'a [u8],
}

/// Host file, made addressable.
#[derive(Debug)]
pub struct Host<'a> {
    /// Kind of the file.
    pub kind: Kind,
    /// Bytes of the whole file.
    pub bytes: &'a [u8],
    /// Memory image; empty where the format has none.
    pub addresses: AddressMap<'a>,
    /// Named sections; none where the file is stripped of section headers or its format has none.
    pub sections: Vec<Section<'a>>,
    /// ELF headers, for linked ELF files.
    pub elf: Option<Elf<'a>>,
    /// Compiler that signed the file.
    pub producer: Option<Producer>,
    /// Major ABI version of the SYCL runtime that the file is linked to (9 for `libsycl.so.9`), if there is one.
    pub sycl_abi: Option<u32>,
    /// Whether that is a runtime with the changes of the next version (`libsycl-preview.so.8`).
    pub is_preview: bool,
    /// Whether the file calls the runtime's registration function, so that it should hold images.
    pub registers: bool,
    /// Whether the file is an object that defines functions which other files may call.
    pub(crate) defines_functions: bool,
    /// Owner of the bytes that readers inflate or decode.
    pub arena: Arena,
    /// Bytes that the file and those that are read with it may inflate to.
    pub(crate) allowance: Arc<Allowance>,
}

impl<'a> Host<'a> {
    /// Identifies a file and makes it addressable.
    ///
    /// # Errors
    /// `Input`, with the offset, where the file is of no supported kind or too damaged to use. Damage in parts that are
    /// not needed (section headers) is not an error.
    pub fn read(bytes: &'a [u8]) -> Result<Host<'a>> {
        let allowance = Allowance::default();
        allowance.grant(bytes.len());
        Self::read_within(bytes, &Arc::new(allowance))
    }

    /// Reads a file like [`Host::read`], with an allowance that others share.
    ///
    /// # Errors
    /// Errors of [`Host::read`].
    pub(crate) fn read_within(bytes: &'a [u8], allowance: &Arc<Allowance>) -> Result<Host<'a>> {
        let kind = Kind::identify(bytes)?;
        let plain = Host::plain(kind, bytes, allowance);
        // The program unpacks the file system behind it.
        if kind == Kind::Elf && bytes.get(8..10) == Some(b"AI") {
            return Err(package::unread_form());
        }
        if let (Kind::Elf | Kind::ElfObject, Some(foreign)) = (kind, Foreign::read(bytes)) {
            return Err(foreign.error());
        }
        match kind {
            Kind::Elf => {
                let (elf, sections) = Elf::parse(bytes)?;
                let addresses = elf.address_map()?;
                let comment = sections.iter().find(|section| section.name == ".comment");
                let producer = comment.and_then(|section| Producer::from_comment(section.data));
                let (sycl_abi, is_preview) = runtime(elf.needed(&addresses));
                let registers = elf.imports(&addresses, REGISTRATION);
                let elf = Some(elf);
                Ok(Host { addresses, sections, elf, producer, sycl_abi, is_preview, registers, ..plain })
            }
            Kind::Pe => {
                let (pe, sections) = Pe::parse(bytes)?;
                let addresses = pe.address_map()?;
                let imports = pe.imports(&addresses, REGISTRATION);
                let (sycl_abi, is_preview) = runtime(imports.libraries);
                let registers = imports.names_wanted;
                // PE files do not name the compiler.
                Ok(Host { addresses, sections, sycl_abi, is_preview, registers, ..plain })
            }
            Kind::ElfObject | Kind::Coff => {
                let ObjectFile { addresses, sections, refers_to_wanted: registers, defines_functions } =
                    object_file::read(bytes, REGISTRATION)?;
                let comment = sections.iter().find(|section| section.name == ".comment");
                let producer = comment.and_then(|section| Producer::from_comment(section.data));
                Ok(Host { addresses, sections, producer, registers, defines_functions, ..plain })
            }
            Kind::SpirV
            | Kind::LlvmBitcode
            | Kind::OffloadBinary
            | Kind::SyclBin
            | Kind::OffloadBundle
            | Kind::CompressedBundle
            | Kind::Native
            | Kind::Hcf
            | Kind::Kpack
            | Kind::Table => Ok(plain),
            other => Err(Error::at(0, format!("this is {}, which is not read", other.description()))
                .with_remedy("name an ELF, PE or COFF file, a SPIR-V module, or a bundle of device code")),
        }
    }

    /// Creates a host for a file without a memory image.
    fn plain(kind: Kind, bytes: &'a [u8], allowance: &Arc<Allowance>) -> Host<'a> {
        Host {
            kind,
            bytes,
            addresses: AddressMap::default(),
            sections: Vec::new(),
            elf: None,
            producer: None,
            sycl_abi: None,
            is_preview: false,
            registers: false,
            defines_functions: false,
            arena: Arena::for_file(bytes.len(), allowance),
            allowance: Arc::clone(allowance),
        }
    }

    /// Returns the section of a name.
    pub fn section(&self, name: &str) -> Option<Section<'a>> {
        self.sections.iter().copied().find(|section| section.name == name)
    }
}

/// Compiler that a file names in `.comment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Producer {
    /// Name with its short version, as the compiler wrote it, e.g. `Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0`.
    pub name: String,
    /// Major version: the release year of oneAPI compilers (2026), or the LLVM major version of others.
    pub major: Option<u32>,
}

impl Producer {
    /// Finds the DPC++ compiler among the NUL-separated strings of `.comment`. Host compilers and linkers, which sign
    /// there too, are skipped.
    pub fn from_comment(comment: &[u8]) -> Option<Producer> {
        comment.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok()).find_map(|text| {
            let known = text.contains("DPC++") || text.contains("oneAPI") || text.contains("intel/llvm");
            known.then(|| {
                let name = text.split(" (").next().unwrap_or(text).trim().to_owned();
                let major = name
                    .rsplit(' ')
                    .next()
                    .and_then(|version| version.split('.').next())
                    .and_then(|major| major.parse().ok());
                Producer { name, major }
            })
        })
    }
}

/// Returns the ABI version of the SYCL runtime among libraries, and whether that has the next version's changes.
fn runtime<'l>(libraries: impl IntoIterator<Item = &'l str>) -> (Option<u32>, bool) {
    let found = libraries.into_iter().find_map(|name| Some((sycl_abi(name)?, name.contains("-preview"))));
    (found.map(|(abi, _)| abi), found.is_some_and(|(_, is_preview)| is_preview))
}

/// Returns the ABI version in the name of a SYCL runtime library: 9 for `libsycl.so.9`, `sycl9.dll` or its debug form
/// `sycl9d.dll`, with or without the folders that a linker wrote before it.
pub fn sycl_abi(library: &str) -> Option<u32> {
    let library = library.rsplit(['/', '\\']).next().unwrap_or(library);
    if let Some(rest) = library.strip_prefix("libsycl.so.").or_else(|| library.strip_prefix("libsycl-preview.so.")) {
        return rest.split('.').next()?.parse().ok();
    }
    // File names on Windows are case-insensitive.
    let name = library.to_ascii_lowercase();
    let stem = name.strip_suffix(".dll")?.strip_prefix("sycl")?;
    let stem = stem.strip_suffix('d').unwrap_or(stem);
    stem.strip_suffix("-preview").unwrap_or(stem).parse().ok()
}

/// Location of a byte: in the file, or in the contents of a compressed part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    offset: u64,
    inside: Option<u64>,
}

impl Place {
    /// Returns the location of a byte of the file.
    pub fn file(offset: u64) -> Place {
        Place { offset, inside: None }
    }

    /// Returns the location `by` bytes further.
    #[must_use]
    pub fn at(self, by: u64) -> Place {
        match self.inside {
            Some(inside) => Place { inside: Some(inside.saturating_add(by)), ..self },
            None => Place::file(self.offset.saturating_add(by)),
        }
    }

    /// Returns the location of the first byte of the inflated contents of the bytes here.
    #[must_use]
    pub fn inflated(self) -> Place {
        Place { offset: self.offset, inside: Some(0) }
    }

    /// Returns the offset in the file; for a byte in a compressed part that of the part.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Whether the byte is in the contents of a compressed part.
    pub fn is_inflated(self) -> bool {
        self.inside.is_some()
    }

    /// Returns an error for malformed input at this location.
    #[cold]
    pub fn error(self, message: impl Into<String>) -> Error {
        self.locate(Error::input(message))
    }

    /// Adds this location to an error, unless it has one already.
    #[cold]
    pub fn locate(self, error: Error) -> Error {
        if error.offset().is_some() {
            return error;
        }
        let error = error.with_offset(self.offset);
        match self.inside {
            Some(inside) => error.context(format!("{inside:#x} bytes into what inflates")),
            None => error,
        }
    }
}

/// Chunk of slots; chunk k begins with slot 2^k - 1.
type Chunk = Box<[OnceLock<Entry>]>;

/// Owner of bytes that stay at their address while it lives.
pub type Owner = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Owned byte string.
enum Entry {
    Bytes(Vec<u8>),
    Draft(Draft),
    Other(Owner),
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        match self {
            Entry::Bytes(bytes) => bytes,
            Entry::Draft(draft) => draft,
            Entry::Other(owner) => (**owner).as_ref(),
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes().len())
    }
}

/// Bytes that may yet be added to several arenas together.
#[derive(Debug)]
pub(crate) struct Shares {
    all: AtomicU64,
    /// Bytes of them that may be in memory.
    in_memory: AtomicU64,
    /// Files without a name that there may be: each takes a mapping, of which a process has tens of thousands.
    files: AtomicU64,
}

impl Shares {
    /// Creates shares of this many bytes for what parts of a file of `size` bytes inflate to.
    pub(crate) fn for_file(all: u64, size: usize) -> Shares {
        let held = (size as u64).saturating_mul(limits::MAX_HELD_RATIO).saturating_add(limits::MAX_HELD_FLOOR);
        Shares::new(all, held.min(limits::MAX_INFLATED))
    }

    fn new(all: u64, in_memory: u64) -> Shares {
        let [all, in_memory, files] = [all, in_memory, limits::MAX_FILES].map(AtomicU64::new);
        Shares { all, in_memory, files }
    }

    /// Returns the bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    /// Takes from one of the shares; returns whether there is so much.
    fn take(from: &AtomicU64, wanted: u64) -> bool {
        from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(wanted)).is_ok()
    }

    /// Takes bytes that are not kept, as far as there are so many.
    fn waste(&self, bytes: u64) {
        let left = |left: u64| Some(left.saturating_sub(bytes));
        self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).ok();
    }
}

/// Append-only store of byte strings.
#[derive(Debug)]
pub struct Arena {
    chunks: [OnceLock<Chunk>; 32],
    count: AtomicUsize,
    bytes: AtomicU64,
    limit: u64,
    /// Shares that are taken from, and the bytes in memory that were.
    shares: Arc<Shares>,
    taken: AtomicU64,
    /// Whether something found no room, as others have taken it.
    refused: AtomicBool,
    /// Bytes that were read since the memory of files was given back.
    read: AtomicUsize,
}

impl Default for Arena {
    /// Creates an arena for the contents of a file, up to [`limits::MAX_INFLATED`] bytes.
    fn default() -> Self {
        Arena::with_limit(limits::MAX_INFLATED)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.shares.in_memory.fetch_add(*self.taken.get_mut(), Ordering::Relaxed);
    }
}

impl Arena {
    /// Creates an arena for this many bytes.
    pub fn with_limit(limit: u64) -> Self {
        Arena::sharing(limit, Arc::new(Shares::new(limit, limit)))
    }

    /// Creates an arena for this many bytes, as far as others leave them.
    pub(crate) fn sharing(limit: u64, shares: Arc<Shares>) -> Self {
        let zero = || AtomicU64::new(0);
        let (count, bytes, taken) = (AtomicUsize::new(0), zero(), zero());
        let (refused, read) = (AtomicBool::new(false), AtomicUsize::new(0));
        Arena { chunks: Default::default(), count, bytes, limit, shares, taken, refused, read }
    }

    /// Creates an arena for what a file of this many bytes warrants: parts of a few kilobytes that each inflate to megabytes
    /// would else fill memory, or the disk.
    fn for_file(size: usize, allowance: &Allowance) -> Arena {
        let warranted = (size as u64).saturating_mul(limits::MAX_INFLATED_FILE_RATIO);
        let warranted = warranted.saturating_add(limits::MAX_INFLATED_FILE_FLOOR);
        let limit = warranted.min(limits::MAX_FILED).min(allowance.left());
        Arena::sharing(limit, Arc::new(Shares::for_file(limit, size)))
    }

    /// Keeps bytes for as long as the arena lives.
    ///
    /// # Errors
    /// `Input` where the arena would hold more than its limit.
    pub fn keep(&self, bytes: Vec<u8>) -> Result<&[u8]> {
        let len = bytes.len() as u64;
        if self.hold(len) { self.put(Entry::Bytes(bytes), len) } else { Err(self.unheld()) }
    }

    /// Keeps bytes that were inflated: those for which there is no memory are in a file without a name, where the program has a
    /// place for those.
    ///
    /// # Errors
    /// Errors of [`Arena::keep`].
    pub(crate) fn keep_inflated(&self, mut draft: Draft) -> Result<&[u8]> {
        let len = draft.len() as u64;
        if draft.is_in_memory() && !self.hold(len) {
            if draft.len() >= limits::SMALL_DRAFT && Shares::take(&self.shares.files, 1) {
                draft = draft.moved_out();
            }
            if draft.is_in_memory() {
                return Err(self.unheld());
            }
        }
        draft.settle();
        self.put(Entry::Draft(draft), len)
    }

    /// Keeps an owner of bytes, such as a mapping of a file, for as long as the arena lives.
    ///
    /// # Errors
    /// Errors of [`Arena::keep`].
    pub fn keep_owner(&self, owner: Owner) -> Result<&[u8]> {
        let len = (*owner).as_ref().len() as u64;
        self.put(Entry::Other(owner), len)
    }

    /// Takes memory for bytes; returns whether there is so much.
    fn hold(&self, len: u64) -> bool {
        let is_held = Shares::take(&self.shares.in_memory, len);
        if is_held {
            self.taken.fetch_add(len, Ordering::Relaxed);
        }
        is_held
    }

    /// Returns the error for bytes that have no place.
    #[cold]
    fn unheld(&self) -> Error {
        self.refuse();
        Error::input("the parts of the file inflate to more than is held in memory for its size")
    }

    fn put(&self, kept: Entry, len: u64) -> Result<&[u8]> {
        /// Bytes that the slot of a byte string takes.
        const SLOT: u64 = 32;
        let len = len.saturating_add(SLOT);
        let is_beyond = self.bytes.fetch_add(len, Ordering::Relaxed).saturating_add(len) > self.limit;
        if is_beyond || !Shares::take(&self.shares.all, len) {
            self.bytes.fetch_sub(len, Ordering::Relaxed);
            if !is_beyond {
                self.refuse();
            }
            return Err(full(self.limit));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed).checked_add(1).ok_or_else(|| full(self.limit))?;
        let chunk = number.ilog2();
        let slots = self.chunks.get(chunk as usize).ok_or_else(|| full(self.limit))?;
        let slots = slots.get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let slot = slots.get(number ^ (1usize << chunk)).ok_or_else(|| full(self.limit))?;
        Ok(slot.get_or_init(|| kept).bytes())
    }

    /// Takes room for bytes that are not kept.
    pub(crate) fn waste(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shares.waste(bytes);
    }

    /// Notes that something found no room, as others have taken it.
    pub(crate) fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// Whether something found no room, as others have taken it.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that were added or wasted.
    pub(crate) fn used(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether others have taken so much that these bytes find no room, which the arena has.
    pub(crate) fn is_cut_short(&self, bytes: u64) -> bool {
        bytes > self.room() && bytes <= self.limit.saturating_sub(self.used())
    }

    /// Returns the number of bytes that can still be added.
    pub fn room(&self) -> u64 {
        let left = self.limit.saturating_sub(self.used()).min(self.shares.left());
        let in_memory = self.shares.in_memory.load(Ordering::Relaxed);
        if bytes::keeps_large_ones() { left } else { left.min(in_memory) }
    }

    /// Gives back the memory of files without a name once so much of them was read that it counts; this many bytes were.
    pub(crate) fn give_back_after(&self, read: usize) {
        if self.read.fetch_add(read, Ordering::Relaxed).saturating_add(read) < limits::MAX_READ_AT_A_TIME {
            return;
        }
        self.read.store(0, Ordering::Relaxed);
        for kept in self.chunks.iter().filter_map(OnceLock::get).flatten().filter_map(OnceLock::get) {
            if let Entry::Draft(draft) = kept {
                draft.give_back();
            }
        }
    }
}

#[cold]
fn full(limit: u64) -> Error {
    Error::input(format!("the parts of the file inflate to more than the limit of {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_device_compiler_among_signatures() {
        let comment = b"GCC: (conda-forge gcc 14.3.0-18) 14.3.0\0Linker: LLD 22.1.0\0Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0 (2026.0.0.20260331)\0";
        let producer = Producer::from_comment(comment).unwrap();
        assert_eq!(producer.name, "Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0");
        assert_eq!(producer.major, Some(2026));
        assert_eq!(Producer::from_comment(b"GCC: (GNU) 8.5.0\0"), None);
    }

    #[test]
    fn abi_from_library_name() {
        assert_eq!(sycl_abi("libsycl.so.9"), Some(9));
        assert_eq!(sycl_abi("libsycl-preview.so.8"), Some(8));
        assert_eq!(sycl_abi("/opt/sycl/lib/libsycl.so.8"), Some(8));
        assert_eq!(sycl_abi("libsycl.so"), None);
        assert_eq!(sycl_abi("libsyclfoo.so.9"), None);
        assert_eq!(sycl_abi("/opt/lib/libsycl.so.8"), Some(8));
        assert_eq!(sycl_abi("sycl9.dll"), Some(9));
        assert_eq!(sycl_abi("SYCL7d.dll"), Some(7));
        assert_eq!(sycl_abi("sycl8-preview.dll"), Some(8));
        assert_eq!(sycl_abi("sycl8-previewd.dll"), Some(8));
        assert_eq!(sycl_abi("mkl_sycl_blas.4.dll"), None);
        assert_eq!(sycl_abi("sycl.dll"), None);
    }

    #[test]
    fn bytes_stay_where_they_are() {
        let arena = Arena::default();
        let kept: Vec<&[u8]> = (0..1000u32).map(|number| arena.keep(number.to_le_bytes().to_vec()).unwrap()).collect();
        for (number, bytes) in (0..1000u32).zip(kept) {
            assert_eq!(bytes, number.to_le_bytes());
        }
        assert_eq!(arena.room(), limits::MAX_INFLATED - 1000 * 36);
    }

    #[test]
    fn it_has_a_ceiling() {
        let arena = Arena::default();
        arena.bytes.store(limits::MAX_INFLATED - 40, Ordering::Relaxed);
        assert!(arena.keep(vec![0; 9]).is_err());
        assert_eq!(arena.keep(vec![7; 8]).unwrap(), [7; 8]);
    }
}
