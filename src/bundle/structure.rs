//! What does an image structure of a linked file hold?
//!
//! The pointers of `sycl_device_binary_struct` are followed to entries and property sets. Every pointer is checked; an
//! error names the file offset of the structure that holds the bad one.
//!
//! The payload of DPC++'s native CPU target is not code but `{entries*, properties*}`; the entries are `{char* name; function*}` and end with the
//! name `__nativecpu_end` (`UtilsSYCLNativeCPU.h` in intel/llvm). The code is part of the host program.
//!
//! A file linked by DPC++ holds one `sycl_device_binaries_struct` for each object that was wrapped before the final
//! link: `{u16 version = 1, u16 count, u32 0, image array, 0, 0}`. It is found by its shape, since symbols are usually
//! stripped and the registration code differs by compiler; a candidate counts only if the first image it points to is
//! valid. `.tgtimg`, where present, lists the address of every image and serves to check that none was missed. Layouts:
//! DPC++ `sycl/source/detail/compiler.hpp`, LLVM `SYCLOffloadWrapper.cpp`, `OffloadWrapper.cpp`.

use super::format::Declared;
use super::image::{EntryLayout, Image, Origin};
use super::property::{Properties, Property, PropertySet, Value};
use crate::container::Host;
use crate::container::address::AddressMap;
use crate::error::{Context, Error, Result};
use crate::{bytes, limits};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Walker over image structures. It charges tables to a budget, so that overlapping tables cannot multiply a file's
/// size.
#[derive(Debug)]
pub struct Walker<'a> {
    map: &'a AddressMap<'a>,
    left: Budget,
    /// Whether a pointer in what was read of the image depends on the loader.
    varies: bool,
}

/// Limits on the cost of tables.
#[derive(Debug, Clone, Copy)]
struct Budget {
    entries: usize,
    properties: usize,
    string_bytes: usize,
    /// Bytes of structures, tables of property sets, payloads and values of properties: those of valid images share few.
    contents: usize,
    /// Whether a limit was exceeded.
    exceeded: bool,
}

impl Budget {
    /// Applies a function to each amount and its counterpart in `other`.
    fn map(self, other: Budget, by: impl Fn(usize, usize) -> usize) -> Budget {
        Budget {
            entries: by(self.entries, other.entries),
            properties: by(self.properties, other.properties),
            string_bytes: by(self.string_bytes, other.string_bytes),
            contents: by(self.contents, other.contents),
            exceeded: self.exceeded || other.exceeded,
        }
    }
}

/// Number of images that a thread walks at a time.
const SHARE: usize = 64;

impl<'a> Walker<'a> {
    /// Creates a walker over a file's memory image.
    pub fn new(map: &'a AddressMap<'a>, file_len: usize) -> Self {
        let string_bytes = limits::MAX_STRING_BYTES.saturating_add(file_len);
        let (entries, properties) = (limits::MAX_ENTRIES, limits::MAX_PROPERTIES);
        let overlap = usize::try_from(limits::MAX_OVERLAP).unwrap_or(usize::MAX);
        let contents = file_len.saturating_mul(overlap).saturating_add(1 << 20);
        Walker { map, left: Budget { entries, properties, string_bytes, contents, exceeded: false }, varies: false }
    }

    /// Reads all images of a descriptor, in order, as chunks; the first image has number `index` in the file.
    pub fn images(&mut self, descriptor: &Descriptor, place: usize, index: usize) -> Vec<Vec<Result<Image<'a>>>> {
        let numbers: Vec<u16> = (0..descriptor.count).collect();
        self.in_parallel(&numbers, descriptor, place, index)
            .unwrap_or_else(|| vec![self.walk(&numbers, descriptor, place, index)])
    }

    fn walk(&mut self, numbers: &[u16], descriptor: &Descriptor, place: usize, index: usize) -> Vec<Result<Image<'a>>> {
        let one = |&nth: &u16| self.image(descriptor, place, nth, index.saturating_add(usize::from(nth)));
        numbers.iter().map(one).collect()
    }

    /// Reads the images like [`Walker::images`] in several threads, each with its own budget. None where the budgets do
    /// not suffice, so that the images of a forged file never depend on the order of threads.
    fn in_parallel(
        &mut self,
        numbers: &[u16],
        descriptor: &Descriptor,
        place: usize,
        index: usize,
    ) -> Option<Vec<Vec<Result<Image<'a>>>>> {
        /// Factor by which a thread may exceed its share of the budget, since images differ.
        const UNEVEN: usize = 2;
        let shares = numbers.len().div_ceil(SHARE);
        if shares < 2 {
            return None;
        }
        let (map, left) = (self.map, self.left);
        let part = left.map(left, |all, _| all.min((all / shares).saturating_mul(UNEVEN)));
        let done: Vec<(Vec<Result<Image<'a>>>, Budget)> = numbers
            .par_chunks(SHARE)
            .map(|share| {
                let mut walker = Walker { map, left: part, varies: false };
                (walker.walk(share, descriptor, place, index), walker.left)
            })
            .collect();
        let none = Budget { entries: 0, properties: 0, string_bytes: 0, contents: 0, exceeded: false };
        let spent = done.iter().fold(none, |sum, (_, rest)| {
            let spent = part.map(*rest, usize::saturating_sub);
            sum.map(spent, usize::saturating_add)
        });
        let covered = spent.entries <= left.entries
            && spent.properties <= left.properties
            && spent.string_bytes <= left.string_bytes
            && spent.contents <= left.contents;
        if spent.exceeded || !covered {
            return None;
        }
        self.left = left.map(spent, usize::saturating_sub);
        Some(done.into_iter().map(|(images, _)| images).collect())
    }

    /// Reads image `nth` of a descriptor.
    ///
    /// # Errors
    /// `Input`, with the offset of the structure whose pointer is invalid.
    fn image(&mut self, descriptor: &Descriptor, place: usize, nth: u16, index: usize) -> Result<Image<'a>> {
        let layout = descriptor.layout;
        let address = u64::from(nth)
            .checked_mul(layout.stride())
            .and_then(|at| descriptor.images.checked_add(at))
            .ok_or_else(|| Error::input("the image array passes the end of the address space"))?;
        self.varies = self.map.varies(descriptor.address.saturating_add(8), 8);
        self.points(descriptor.address.saturating_add(8), descriptor.images, "image array")?;
        let data = self.bytes(address, layout.stride(), "image structure")?;
        self.spend(|left| &mut left.contents, data.len(), "structures").map_err(|error| self.place(address, error))?;
        self.stays(address, 8, address, "head of an image structure")?;
        let (version, kind) = (bytes::u16_at(data, 0).unwrap_or(0), data.get(2).copied().unwrap_or(0));
        if ImageLayout::from_version(version, kind) != Some(layout) {
            return Err(self.error(address, format!("image structure of version {version} and kind {kind}")));
        }
        let pointer = |at: u64| usize::try_from(at).ok().and_then(|at| bytes::u64_at(data, at)).unwrap_or(0);
        let (start, end) = (pointer(layout.payload()), pointer(layout.payload() + 8));
        let texts = [(8, "target"), (16, "compile options"), (24, "link options")];
        let ranges = [
            (layout.payload(), "payload"),
            (layout.entries(), "entry table"),
            (layout.properties(), "property-set table"),
        ];
        // Pointers to nothing are not followed.
        let ranges = ranges.into_iter().filter(|(at, _)| pointer(*at) != pointer(at.saturating_add(8)));
        let both = ranges.flat_map(|(at, what)| [(at, what), (at.saturating_add(8), what)]);
        for (at, what) in texts.into_iter().chain(both) {
            self.points(address.saturating_add(at), pointer(at), what)?;
        }
        let (entries, entry_layout) =
            self.entries(pointer(layout.entries()), pointer(layout.entries() + 8)).context(|| "entries".to_owned())?;
        // Upstream's property pointers point to raw text, which no known compiler writes.
        let properties = match layout {
            ImageLayout::Upstream3 => Properties::default(),
            _ => self
                .sets(pointer(layout.properties()), pointer(layout.properties() + 8))
                .context(|| "property sets".to_owned())?,
        };
        let declared = data.get(3).copied().unwrap_or(0);
        let declared = match (layout, declared) {
            // In upstream's structure the byte is LLVM's ImageKind.
            (ImageLayout::Upstream3, 1) => Declared::Native,
            (ImageLayout::Upstream3, 2) => Declared::LlvmBitcode,
            (ImageLayout::Upstream3, 6) => Declared::SpirV,
            (_, value) => Declared::from(value),
        };
        let target = self.string(pointer(8), address, "target")?;
        let entries = match target {
            TARGET if entries.is_empty() => self.native_cpu(start).context(|| "native CPU".to_owned())?,
            _ => entries,
        };
        let tables = [16, 24, layout.entries(), layout.properties()].map(pointer);
        let stored = self.range(start, end, address, "payload")?;
        if target != TARGET {
            self.stays(start, stored.len() as u64, address, "payload")?;
        }
        self.spend(|left| &mut left.contents, stored.len(), "bytes of payloads")
            .map_err(|error| self.place(address, error))?;
        Ok(Image {
            index,
            origin: Some(Origin {
                descriptor: place,
                address,
                version,
                kind,
                payload: start,
                entry_layout,
                tables,
                varies: self.varies,
            }),
            stored,
            offset: self.map.file_offset(start).unwrap_or(0),
            inflated: false,
            declared,
            target,
            arch: "",
            stated: None,
            offload_kind: "sycl",
            compile_options: self.string(pointer(16), address, "compile options")?,
            link_options: self.string(pointer(24), address, "link options")?,
            entries,
            properties,
        })
    }

    fn entries(&mut self, begin: u64, end: u64) -> Result<(Vec<&'a str>, Option<EntryLayout>)> {
        if begin == end {
            return Ok((Vec::new(), None));
        }
        let table = self.range(begin, end, begin, "entry table")?;
        // LLVM's entry begins with reserved 0, version 1, kind 8 (SYCL), flags 0. The old entry begins with a null
        // address too, but then has its name pointer instead of version, kind and flags.
        let is_new = bytes::u64_at(table, 0) == Some(0)
            && bytes::u64_at(table, 8) == Some(0x0008_0001)
            && self.map.first_changed(begin, 16).is_none();
        let (layout, name) = if is_new { (EntryLayout::New, 24) } else { (EntryLayout::Old, 8) };
        let stride = usize::try_from(layout.stride()).unwrap_or(usize::MAX);
        if table.len() % stride != 0 {
            return Err(self.error(begin, format!("entry table of {} bytes, not a multiple of {stride}", table.len())));
        }
        self.spend(|left| &mut left.entries, table.len() / stride, "entries")
            .map_err(|error| self.place(begin, error))?;
        // Exact capacity: each of thousands of images has such a list.
        let mut names = Vec::with_capacity(table.len() / stride);
        for (entry, address) in table.chunks_exact(stride).zip((begin..).step_by(stride)) {
            let pointer = bytes::u64_at(entry, name).unwrap_or(0);
            self.points(address.saturating_add(name as u64), pointer, "entry name")?;
            names.push(self.string(pointer, begin, "entry name")?);
        }
        Ok((names, Some(layout)))
    }

    fn sets(&mut self, begin: u64, end: u64) -> Result<Properties<'a>> {
        if begin == end {
            return Ok(Properties::default());
        }
        let table = self.range(begin, end, begin, "property-set table")?;
        let count = table.len() / 24;
        if table.len() % 24 != 0 || count > limits::MAX_PROPERTY_SETS {
            return Err(self.error(begin, format!("property-set table of {} bytes", table.len())));
        }
        self.spend(|left| &mut left.contents, table.len(), "property sets")
            .map_err(|error| self.place(begin, error))?;
        let mut sets = Vec::with_capacity(count);
        for (set, address) in table.chunks_exact(24).zip((begin..).step_by(24)) {
            let at = |offset| bytes::u64_at(set, offset).unwrap_or(0);
            let last = if at(8) == at(16) { 0 } else { 16 };
            for offset in (0..=last).step_by(8) {
                self.points(address.saturating_add(offset), at(offset as usize), "property set")?;
            }
            let name = self.string(at(0), begin, "property set's name")?;
            let properties = self.set(at(8), at(16)).context(|| format!("property set `{name}`"))?;
            sets.push(PropertySet { name, properties });
        }
        Ok(Properties { sets })
    }

    fn set(&mut self, begin: u64, end: u64) -> Result<Vec<Property<'a>>> {
        let table = self.range(begin, end, begin, "property table")?;
        if table.len() % 32 != 0 {
            return Err(self.error(begin, format!("property table of {} bytes, not a multiple of 32", table.len())));
        }
        self.spend(|left| &mut left.properties, table.len() / 32, "properties")
            .map_err(|error| self.place(begin, error))?;
        let mut properties = Vec::with_capacity(table.len() / 32);
        for (property, address) in table.chunks_exact(32).zip((begin..).step_by(32)) {
            self.stays(address.saturating_add(16), 16, begin, "type or size of a property")?;
            properties.push(self.property(property, address, begin)?);
        }
        Ok(properties)
    }

    /// Reads `{char* name; void* value; u32 type; pad; u64 size}`; a number is in the low half of the size.
    fn property(&mut self, data: &[u8], address: u64, table: u64) -> Result<Property<'a>> {
        let at = |offset| bytes::u64_at(data, offset).unwrap_or(0);
        self.points(address, at(0), "property's name")?;
        let name = self.string(at(0), table, "property's name")?;
        let kind = bytes::u32_at(data, 16).unwrap_or(0);
        let value = if kind == 1 {
            Value::U32(bytes::u32_at(data, 24).unwrap_or(0))
        } else {
            self.points(address.saturating_add(8), at(8), "value of a property")?;
            let stored = self.sized(at(8), at(24), table, "value of a property");
            let stored = stored.and_then(|stored| {
                self.stays(at(8), stored.len() as u64, table, "value of a property").map(|()| stored)
            });
            let stored = stored.map_err(|error| error.context(format!("property `{name}`")))?;
            self.spend(|left| &mut left.contents, stored.len(), "bytes of values")
                .map_err(|error| self.place(table, error))?;
            match kind {
                2 if stored.len() < 8 => {
                    return Err(self.error(
                        table,
                        format!(
                            "property `{name}` is a byte array of {} bytes, less than its length prefix",
                            stored.len()
                        ),
                    ));
                }
                2 => Value::Bytes(stored),
                3 => Value::Text(stored),
                _ => Value::Unknown { kind, bytes: stored },
            }
        };
        Ok(Property { name, value })
    }

    fn range(&mut self, begin: u64, end: u64, holder: u64, what: &str) -> Result<&'a [u8]> {
        let Some(len) = end.checked_sub(begin) else {
            return Err(self.error(holder, format!("the {what} ends at {end:#x}, before it begins at {begin:#x}")));
        };
        // Of a section of pieces the end of one may not be where the next begins.
        if len > 0 && self.map.is_merged(begin) {
            return Err(self.unknown(begin, holder, what));
        }
        self.sized(begin, len, holder, what)
    }

    fn sized(&mut self, begin: u64, len: u64, holder: u64, what: &str) -> Result<&'a [u8]> {
        if let Some(place) = self.map.first_open(begin, len) {
            return Err(self.unknown(place, holder, what));
        }
        self.varies |= self.map.varies(begin, len);
        self.map.slice(begin, len).ok_or_else(|| self.outside(begin, len, holder, what))
    }

    /// Checks that a loader writes a pointer where it is not null, and there alone: it else stays what the linker took for an
    /// address, or becomes the address of the program's first byte.
    fn points(&self, place: u64, pointer: u64, what: &str) -> Result<()> {
        let wrong = match pointer {
            0 if self.map.first_changed(place, 8).is_some() => "a relocation writes the null pointer",
            0 => return Ok(()),
            _ if self.map.may_be_pointer(place) => return Ok(()),
            _ => "no relocation writes the pointer",
        };
        Err(self.error(place, format!("{wrong} to the {what} at address {place:#x}")))
    }

    /// Checks that no loader changes bytes that are no pointers.
    fn stays(&self, begin: u64, len: u64, holder: u64, what: &str) -> Result<()> {
        match self.map.first_changed(begin, len) {
            None => Ok(()),
            Some(place) => Err(self.unknown(place, holder, what)),
        }
    }

    /// Returns the error for a place where a loader or a linker may put other bytes than the file has.
    #[cold]
    fn unknown(&self, place: u64, holder: u64, what: &str) -> Error {
        let message = if self.map.is_merged(place.saturating_sub(1)) || self.map.is_merged(place) {
            format!("a linker keeps equal pieces of the {what} at address {place:#x} once, and moves others")
        } else {
            format!("a relocation at address {place:#x} writes into the {what} what is not known")
        };
        self.error(holder, message)
    }

    #[cold]
    fn outside(&self, begin: u64, len: u64, holder: u64, what: &str) -> Error {
        self.error(holder, format!("the {what} at address {begin:#x}, {len} bytes, is not in the file"))
    }

    pub(super) fn bytes(&mut self, address: u64, len: u64, what: &str) -> Result<&'a [u8]> {
        self.sized(address, len, address, what)
    }

    pub(super) fn string(&mut self, address: u64, holder: u64, what: &str) -> Result<&'a str> {
        // The runtime reads a null pointer as an empty string.
        if address == 0 {
            return Ok("");
        }
        let bytes = self.map.c_string(address).ok_or_else(|| {
            self.error(holder, format!("the {what} at address {address:#x} is no string in the file"))
        })?;
        self.spend(|left| &mut left.string_bytes, bytes.len(), "bytes of names")
            .map_err(|error| self.place(holder, error))?;
        // Without its NUL it is another.
        self.stays(address, (bytes.len() as u64).saturating_add(1), holder, what)?;
        std::str::from_utf8(bytes)
            .map_err(|_| self.error(holder, format!("the {what} at address {address:#x} is not UTF-8")))
    }

    #[cold]
    pub(super) fn error(&self, address: u64, message: String) -> Error {
        self.place(address, Error::input(message))
    }

    #[cold]
    fn place(&self, address: u64, error: Error) -> Error {
        match self.map.file_offset(address) {
            Some(offset) => error.with_offset(offset),
            None => error.context(format!("at address {address:#x}")),
        }
    }

    /// Charges one entry at its own address.
    ///
    /// # Errors
    /// `Input` where the file's images list too many.
    pub(super) fn spend_entry(&mut self, address: u64) -> Result<()> {
        self.spend(|left| &mut left.entries, 1, "entries").map_err(|error| self.place(address, error))
    }

    fn spend(&mut self, of: impl Fn(&mut Budget) -> &mut usize, count: usize, what: &str) -> Result<()> {
        match of(&mut self.left).checked_sub(count) {
            Some(rest) => {
                *of(&mut self.left) = rest;
                Ok(())
            }
            None => {
                self.left.exceeded = true;
                Err(Error::input(format!("the file's images list too many {what}; they overlap, or are forged")))
            }
        }
    }
}

/// Target of such images.
pub(super) const TARGET: &str = "native_cpu";
const END: &str = "__nativecpu_end";

impl<'a> Walker<'a> {
    /// Returns the kernel names of the payload at an address.
    pub(super) fn native_cpu(&mut self, payload: u64) -> Result<Vec<&'a str>> {
        let pointer = |walker: &mut Self, address: u64| {
            let data = walker.bytes(address, 8, "native CPU entry")?;
            let pointer = bytes::u64_at(data, 0).unwrap_or(0);
            walker.points(address, pointer, "native CPU entry").map(|()| pointer)
        };
        let mut at = pointer(self, payload)?;
        let mut names = Vec::new();
        while names.len() < limits::MAX_ENTRIES {
            let name = pointer(self, at)?;
            let name = self.string(name, at, "name of a native CPU kernel")?;
            if name == END {
                return Ok(names);
            }
            // Names may be empty and lists shared by many images, so each entry is charged.
            self.spend_entry(at)?;
            names.push(name);
            at = at.saturating_add(16);
        }
        Err(self.error(payload, format!("the list of native CPU kernels does not end within {}", limits::MAX_ENTRIES)))
    }
}

/// List of images in a linked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Virtual address of the descriptor.
    pub address: u64,
    /// Virtual addresses of other descriptors of the same images. `patchelf` leaves copies in programs, and at a fixed address
    /// nothing tells which one the code names: what one of them says, all have to say.
    pub copies: Vec<u64>,
    /// Whether these say other numbers of images.
    pub is_disputed: bool,
    /// Number of images; of several the largest.
    pub count: u16,
    /// Virtual address of the image array.
    pub images: u64,
    /// Layout of the image structures, read from the first.
    pub layout: ImageLayout,
}

impl Descriptor {
    /// Creates a descriptor without copies.
    pub fn new(address: u64, count: u16, images: u64, layout: ImageLayout) -> Descriptor {
        Descriptor { address, copies: Vec::new(), is_disputed: false, count, images, layout }
    }

    /// Returns the addresses of the descriptor and its copies.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.address).chain(self.copies.iter().copied())
    }

    /// Returns the error where its copies say other numbers of images: which of them the runtime reads is not known.
    pub(crate) fn dispute(&self, map: &AddressMap<'_>) -> Option<Error> {
        let other = self.copies.first().filter(|_| self.is_disputed)?;
        let message = format!(
            "the lists of images at addresses {:#x} and {other:#x} begin alike and differ in length; which one the runtime registers is not \
             known",
            self.address
        );
        let offset = map.file_offset(self.address).unwrap_or(0);
        Some(
            Error::at(offset, message)
                .with_remedy("one is a copy that a tool left: take the file that the linker made"),
        )
    }
}

/// Checks that lists can be changed.
///
/// # Errors
/// `Input` where it is not known which descriptor of some images the runtime registers.
pub(crate) fn check_undisputed(map: &AddressMap<'_>, descriptors: &[Descriptor]) -> Result<()> {
    descriptors.iter().find_map(|descriptor| descriptor.dispute(map)).map_or(Ok(()), Err)
}

/// Layout of an image structure. Version 3 of DPC++ and of upstream LLVM differ only in the meaning of the format byte
/// and of the property pointers; versions 1 and 2 have two more pointers, to a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageLayout {
    /// DPC++ versions 1 and 2: 96 bytes.
    WithManifest,
    /// DPC++ version 3: 80 bytes.
    Version3,
    /// Upstream LLVM's version 3 (kind 8): 80 bytes.
    Upstream3,
}

impl ImageLayout {
    /// Returns the layout of a version and kind.
    pub(crate) fn from_version(version: u16, kind: u8) -> Option<ImageLayout> {
        match (version, kind) {
            (1 | 2, 4) => Some(ImageLayout::WithManifest),
            (3, 4) => Some(ImageLayout::Version3),
            (3, 8) => Some(ImageLayout::Upstream3),
            _ => None,
        }
    }

    /// Returns the size of a structure in bytes.
    pub(crate) fn stride(self) -> u64 {
        match self {
            ImageLayout::WithManifest => 96,
            ImageLayout::Version3 | ImageLayout::Upstream3 => 80,
        }
    }

    /// Returns the offset of the payload's pointers.
    pub(crate) fn payload(self) -> u64 {
        match self {
            ImageLayout::WithManifest => 48,
            ImageLayout::Version3 | ImageLayout::Upstream3 => 32,
        }
    }

    /// Returns the offset of `EntriesBegin`.
    pub(crate) fn entries(self) -> u64 {
        self.payload() + 16
    }

    /// Returns the offset of `PropertySetsBegin`.
    pub(crate) fn properties(self) -> u64 {
        self.payload() + 32
    }
}

/// Finds every list of images, by the address of its first descriptor.
pub(crate) fn find(host: &Host<'_>) -> Vec<Descriptor> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    for segment in host.addresses.segments() {
        if !segment.holds_pointers {
            continue;
        }
        let runs = segment.runs(1).flat_map(|(first, words)| words.windows(2).enumerate().map(move |one| (first, one)));
        for (first, (index, window)) in runs {
            // The runtime reads the count and the array alone, whatever the other fields hold.
            let [head, images] = [0, 1].map(|at| window.get(at).map_or(0, |word| u64::from_le_bytes(*word)));
            let Some(count) = count(head) else { continue };
            let Some(address) = first.checked_add(index as u64 * 8) else { continue };
            // Images of such a list are told as those of none.
            let pointer = address.saturating_add(8);
            if host.addresses.first_changed(address, 8).is_some() || host.addresses.first_open(pointer, 8).is_some() {
                continue;
            }
            if let Some(layout) = sound_image(&host.addresses, images) {
                let descriptor = Descriptor::new(address, count, images, layout);
                // Copies have a bound of their own, so that they do not keep the list from being found.
                let list = if host.addresses.may_be_pointer(pointer) { &mut found } else { &mut left };
                if list.len() < limits::MAX_DESCRIPTORS {
                    list.push(descriptor);
                }
                if found.len() >= limits::MAX_DESCRIPTORS {
                    return with_copies(&host.addresses, found);
                }
            }
        }
    }
    // A copy that `patchelf` left where the list was is nobody's; a list that is the only one is somebody's.
    if found.is_empty() {
        found = left;
    }
    find_relocated(&host.addresses, &mut found);
    with_copies(&host.addresses, found)
}

/// Takes descriptors of the same images together, but for those whose pointer to them depends on the loader: they may be of others.
fn with_copies(map: &AddressMap<'_>, found: Vec<Descriptor>) -> Vec<Descriptor> {
    let mut lists: Vec<Descriptor> = Vec::with_capacity(found.len());
    let mut places: HashMap<(u64, bool), usize> = HashMap::new();
    for descriptor in found {
        let varies = map.varies(descriptor.address.saturating_add(8), 8);
        let place = *places.entry((descriptor.images, varies)).or_insert(lists.len());
        let Some(list) = lists.get_mut(place) else {
            lists.push(descriptor);
            continue;
        };
        list.copies.push(descriptor.address);
        list.is_disputed |= list.count != descriptor.count;
        list.count = list.count.max(descriptor.count);
    }
    lists
}

/// Finds the descriptors whose pointer to the images a base relocation names, in segments that were not searched.
fn find_relocated(map: &AddressMap<'_>, found: &mut Vec<Descriptor>) {
    let mut known: HashSet<u64> = HashSet::new();
    for pointer in map.pointers_elsewhere() {
        let Some(address) = pointer.checked_sub(8) else { continue };
        let (Some(head), Some(images)) = (map.pointer(address), map.pointer(pointer)) else { continue };
        let Some(count) = count(head).filter(|_| !known.contains(&address)) else { continue };
        let Some(layout) = sound_image(map, images) else { continue };
        if found.len() >= limits::MAX_DESCRIPTORS {
            break;
        }
        known.insert(address);
        found.push(Descriptor::new(address, count, images, layout));
    }
    if !known.is_empty() {
        found.sort_by_key(|descriptor| descriptor.address);
    }
}

/// Returns the image count in a descriptor's first word, or none where the word does not begin a descriptor.
pub(super) fn count(head: u64) -> Option<u16> {
    let (version, count) = (head & 0xffff, (head >> 16) & 0xffff);
    (version == 1 && count > 0).then(|| u16::try_from(count).ok())?
}

/// Bytes of a target with its NUL in an image structure that is taken for one.
const MAX_TARGET: usize = 256;

/// Whether a text may be a target's name.
pub(super) fn is_printable(target: &[u8]) -> bool {
    !target.is_empty() && target.iter().all(u8::is_ascii_graphic)
}

/// Returns the layout of the image structure at an address if that is valid: known version and kind, a printable target,
/// and a payload range within the file.
pub(super) fn sound_image(map: &AddressMap<'_>, address: u64) -> Option<ImageLayout> {
    let head = map.tail(address)?;
    let layout = ImageLayout::from_version(bytes::u16_at(head, 0)?, *head.get(2)?)?;
    let target = map.c_string_within(bytes::u64_at(head, 8)?, MAX_TARGET)?;
    let at = usize::try_from(layout.payload()).ok()?;
    let (start, end) = (bytes::u64_at(head, at)?, bytes::u64_at(head, at.checked_add(8)?)?);
    let sound = is_printable(target) && start <= end && map.slice(start, end.checked_sub(start)?).is_some();
    sound.then_some(layout)
}

/// Payload that `.tgtimg` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Virtual address of the pair of payload address and size.
    pub(crate) address: u64,
    /// Virtual address of the payload.
    pub(crate) payload: u64,
}

/// Returns the payloads that `.tgtimg` lists; pairs without an address or of size 0 are padding.
pub fn listed_in_tgtimg(host: &Host<'_>) -> Vec<Listed> {
    let Some(section) = host.section(".tgtimg") else { return Vec::new() };
    let Some(data) = host.addresses.slice(section.address, section.data.len() as u64) else { return Vec::new() };
    let pairs = data.as_chunks::<16>().0;
    pairs
        .iter()
        .zip((section.address..).step_by(16))
        .filter_map(|(pair, address)| Some((address, bytes::u64_at(pair, 0)?, bytes::u64_at(pair, 8)?)))
        .filter(|&(_, payload, size)| payload != 0 && size != 0)
        .map(|(address, payload, _)| Listed { address, payload })
        .collect()
}
