//! Which code for NVIDIA and AMD GPUs does host code register by its address?
//!
//! `__cudaRegisterFatBinary` and `__hipRegisterFatBinary` get the address of a wrapper: `{u32 magic; u32 version; void* code; void*
//! more}`. Compilers put wrappers into sections `.nvFatBinSegment` and `.hipFatBinSegment`, and what they lead to into sections
//! of other names ([`super::gpu_sections`]), but runtimes go by addresses alone. So wrappers are looked for wherever pointers
//! may be, and code that no section gave is an image as well. What no wrapper leads to stays one: it may be code that
//! nothing calls.
//!
//! In wrappers of version 2, for code that CUDA's device linker made, `more` are the addresses of further fat binaries, up to a null.

use super::blob::Reader;
use super::gpu_sections::{FAT_BINARY, fat_binary_len};
use super::image::Image;
use super::offload_bundle;
use crate::bytes;
use crate::container::device_elf::DeviceElf;
use crate::container::{Host, Kind, Place};
use crate::error::Result;
use std::collections::HashSet;

/// Programming model: its wrappers' magic, and what its images are called.
#[derive(Clone, Copy)]
struct Model {
    magic: [u8; 4],
    target: &'static str,
    offload_kind: &'static str,
}

const CUDA: Model = Model { magic: 0x4662_43b1u32.to_le_bytes(), target: "nvptx64", offload_kind: "cuda" };
const HIP: Model = Model { magic: 0x4849_5046u32.to_le_bytes(), target: "amdgcn", offload_kind: "hip" };

/// Functions that get a wrapper.
const FUNCTIONS: [&str; 2] = ["__cudaRegisterFatBinary", "__hipRegisterFatBinary"];

/// Whether a linked file calls such a function of another library, so that it should hold code.
pub(super) fn is_expected(host: &Host<'_>) -> bool {
    host.elf.as_ref().is_some_and(|elf| FUNCTIONS.iter().any(|function| elf.imports(&host.addresses, function)))
}

/// Adds the images that wrappers lead to, but those at file offsets that are known.
pub(super) fn read<'a>(host: &'a Host<'a>, known: &HashSet<u64>, reader: &mut Reader<'a>) {
    let mut found = Registered { host, known, reader, seen: HashSet::new(), listed: HashSet::new() };
    if let Err(error) = found.search() {
        reader.problem(error);
    }
}

/// Reader of what wrappers lead to.
struct Registered<'a, 'r> {
    host: &'a Host<'a>,
    known: &'r HashSet<u64>,
    reader: &'r mut Reader<'a>,
    /// Addresses of code that was looked at.
    seen: HashSet<u64>,
    /// Addresses of pointers of version 2 that were followed.
    listed: HashSet<u64>,
}

impl<'a> Registered<'a, '_> {
    fn search(&mut self) -> Result<()> {
        let addresses = &self.host.addresses;
        for segment in addresses.segments().iter().filter(|segment| segment.holds_pointers) {
            for model in [CUDA, HIP] {
                for address in segment.places(&model.magic) {
                    self.wrapper(model, address)?;
                }
            }
        }
        for pointer in addresses.pointers_elsewhere() {
            let Some(address) = pointer.checked_sub(8) else { continue };
            let magic = addresses.slice(address, 4);
            if let Some(model) = [CUDA, HIP].into_iter().find(|model| magic == Some(&model.magic[..])) {
                self.wrapper(model, address)?;
            }
        }
        Ok(())
    }

    /// Follows the pointers of what looks like a wrapper. One of a known version in a linked file is one beyond doubt.
    fn wrapper(&mut self, model: Model, address: u64) -> Result<()> {
        if self.reader.is_full() {
            return Ok(());
        }
        let addresses = &self.host.addresses;
        let (pointer, more) = (address.saturating_add(8), address.saturating_add(16));
        let version = addresses.slice(address.saturating_add(4), 4).and_then(|version| bytes::u32_at(version, 0));
        let (Some(version), Some(code)) = (version, addresses.pointer(pointer)) else { return Ok(()) };
        let is_linked = matches!(self.host.kind, Kind::Elf | Kind::Pe);
        let is_certain = is_linked && matches!(version, 1 | 2);
        let place = Place::file(addresses.file_offset(address).unwrap_or(0));
        if is_certain && code != 0 && !addresses.may_be_pointer(pointer) {
            self.reader
                .problem(place.error(format!("no relocation writes the wrapper's pointer at address {pointer:#x}")));
            return Ok(());
        }
        // Null is the address of a library's own header.
        if let Some(open) = addresses.first_open(address, 16) {
            if is_certain {
                self.reader.problem(place.error(open_pointer(open)));
            }
        } else if code != 0 && !self.code(model, code)? && is_certain {
            self.reader.problem(
                place.error(format!("the wrapper leads to address {code:#x}, where no code for GPUs is that is known")),
            );
        }
        let mut at = if version == 1 { 0 } else { addresses.pointer(more).unwrap_or(0) };
        while at != 0 && self.listed.insert(at) {
            self.reader.spend(8)?;
            if let Some(open) = addresses.first_open(at, 8).filter(|_| is_certain) {
                self.reader.problem(place.error(open_pointer(open)));
                break;
            }
            let Some(code) = addresses.pointer(at).filter(|code| *code != 0) else { break };
            if !self.code(model, code)? {
                break;
            }
            at = at.saturating_add(8);
        }
        Ok(())
    }

    /// Reads the code at an address. Returns false where none is that is known.
    fn code(&mut self, model: Model, address: u64) -> Result<bool> {
        let addresses = &self.host.addresses;
        let Some(data) = addresses.tail(address) else { return Ok(false) };
        let is_fat = bytes::u32_at(data, 0) == Some(FAT_BINARY);
        let is_bundle = data.starts_with(offload_bundle::MAGIC) || data.starts_with(b"CCOB");
        let is_elf = data.starts_with(b"\x7fELF");
        if !is_fat && !is_bundle && !is_elf {
            return Ok(false);
        }
        if !self.seen.insert(address) {
            return Ok(true);
        }
        let offset = addresses.file_offset(address).unwrap_or(0);
        let place = Place::file(offset);
        // Thousands of pointers may lead into one list of parts, or into one code.
        self.reader.spend(listed(data).min(data.len()))?;
        let len = match (is_fat, is_bundle) {
            (true, _) => fat_binary_len(data),
            (_, true) => offload_bundle::len(data),
            _ => elf_len(data),
        };
        let Some(whole) = len.and_then(|len| data.get(..len)) else {
            self.reader.problem(place.error("what host code registers here is no whole code for GPUs"));
            return Ok(true);
        };
        self.reader.spend(whole.len() / 64)?;
        if let Some(changed) = addresses.first_changed(address, whole.len() as u64) {
            let message = format!("a relocation at address {changed:#x} writes into the code for GPUs");
            self.reader.problem(place.error(message));
        }
        if !self.known.contains(&offset) {
            let like = Image { offload_kind: model.offload_kind, ..Image::bare(whole, offset) };
            match (is_fat, is_bundle) {
                (true, _) => self.reader.image(whole, place, Image { target: "nvptx64", offload_kind: "cuda", ..like }),
                (_, true) => self.reader.read(whole, place, 0, Image { offload_kind: "hip", ..like }),
                _ => self.reader.image(whole, place, Image { target: model.target, ..like }),
            }
        }
        Ok(true)
    }
}

#[cold]
fn open_pointer(at: u64) -> String {
    format!("a relocation at address {at:#x} writes into the wrapper of code for GPUs what is not known")
}

/// Returns the bytes of the lists at the head of a bundle or an ELF file, whatever they are.
fn listed(data: &[u8]) -> usize {
    let count = if data.starts_with(offload_bundle::MAGIC) {
        bytes::u64_at(data, offload_bundle::MAGIC.len()).unwrap_or(0)
    } else {
        [56, 60].into_iter().filter_map(|at| bytes::u16_at(data, at)).map(u64::from).sum()
    };
    usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(24)
}

/// Returns the length of the ELF file at the start of the data, if it is whole: up to the end of its headers, segments and
/// sections.
fn elf_len(data: &[u8]) -> Option<usize> {
    let (elf, segments) = (DeviceElf::parse(data).ok()?, DeviceElf::segments(data).ok()?);
    let table = |start: usize, stride: usize, count: usize| {
        let half = |at| bytes::u16_at(data, at).map(u64::from);
        let size = half(stride)?.checked_mul(half(count)?)?;
        if size > 0 { bytes::u64_at(data, start)?.checked_add(size) } else { Some(0) }
    };
    let tables = [table(32, 54, 56)?, table(40, 58, 60)?].into_iter();
    let parts =
        elf.sections.iter().map(|one| (one.offset, one.data)).chain(segments.iter().map(|one| (one.offset, one.data)));
    let parts =
        parts.filter(|(_, data)| !data.is_empty()).map(|(offset, data)| offset.saturating_add(data.len() as u64));
    usize::try_from(tables.chain(parts).fold(64, u64::max)).ok().filter(|end| *end <= data.len())
}
