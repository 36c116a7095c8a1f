//! Where in this host file are device bytes?
//!
//! [`Kind::identify`] looks at magic numbers only, never at names. [`Host::read`] then makes the file addressable:
//! segments with relocations applied, sections, and what the producer left about itself.

pub mod address;
pub mod elf;
pub mod inflate;
pub mod producer;

use crate::error::{Error, Result};
use address::AddressMap;
use elf::Elf;
use producer::Producer;

/// The container formats that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A linked ELF file: executable or shared library.
    Elf,
    /// A SPIR-V module on its own.
    SpirV,
}

impl Kind {
    /// The name used in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Elf => "elf",
            Kind::SpirV => "spirv",
        }
    }

    /// Tells by content what a file is.
    ///
    /// # Errors
    /// `Input` for anything that is not a container of device code this tool reads, naming what it looks like.
    pub fn identify(bytes: &[u8]) -> Result<Kind> {
        let head = |magic: &[u8]| bytes.starts_with(magic);
        if head(b"\x7fELF") {
            return Ok(Kind::Elf);
        }
        if head(&[0x03, 0x02, 0x23, 0x07]) || head(&[0x07, 0x23, 0x02, 0x03]) {
            return Ok(Kind::SpirV);
        }
        let looks = if bytes.is_empty() {
            "the file is empty"
        } else if head(b"MZ") {
            "this is a PE/COFF file, which is not read"
        } else if head(b"!<arch>\n") || head(b"!<thin>\n") {
            "this is an archive, which is not read"
        } else if head(&[0x10, 0xff, 0x10, 0xad]) {
            "this is an OffloadBinary, which is not read"
        } else if head(b"__CLANG_OFFLOAD_BUNDLE__") || head(b"CCOB") {
            "this is a clang offload bundle, which is not read"
        } else if head(b"PK\x03\x04") {
            "this is a zip archive (a wheel?), which is not read"
        } else {
            "this is neither a linked ELF file nor a SPIR-V module"
        };
        Err(Error::at(0, looks).with_remedy("name a linked ELF executable or shared library, or a SPIR-V module"))
    }
}

/// A named range of the file.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The section's name.
    pub name: &'a str,
    /// Its virtual address, 0 where it is not loaded.
    pub address: u64,
    /// Where its bytes start in the file.
    pub offset: u64,
    /// Its bytes in the file (none for `.bss`).
    pub data: &'a [u8],
}

/// A host file, made addressable.
#[derive(Debug)]
pub struct Host<'a> {
    /// What the file is.
    pub kind: Kind,
    /// The whole file.
    pub bytes: &'a [u8],
    /// Its memory image; empty for a bare module.
    pub addresses: AddressMap<'a>,
    /// The ELF view, for ELF files.
    pub elf: Option<Elf<'a>>,
    /// The compiler that says it made the file.
    pub producer: Option<Producer>,
    /// The SYCL runtime's major ABI version the file is linked to (`libsycl.so.9` is 9), where it is.
    pub sycl_abi: Option<u32>,
}

impl<'a> Host<'a> {
    /// Identifies a file and makes it addressable.
    ///
    /// # Errors
    /// `Input`, with the offset, where the file is not one this tool reads or is malformed beyond use. Damage in
    /// parts that are not needed (section headers) is not an error.
    pub fn read(bytes: &'a [u8]) -> Result<Host<'a>> {
        match Kind::identify(bytes)? {
            Kind::Elf => {
                let elf = Elf::parse(bytes)?;
                let addresses = elf.address_map()?;
                let producer = elf.section(".comment").and_then(|section| Producer::from_comment(section.data));
                let sycl_abi = elf.needed(&addresses).iter().find_map(|name| producer::sycl_abi(name));
                Ok(Host { kind: Kind::Elf, bytes, addresses, elf: Some(elf), producer, sycl_abi })
            }
            Kind::SpirV => Ok(Host {
                kind: Kind::SpirV,
                bytes,
                addresses: AddressMap::default(),
                elf: None,
                producer: None,
                sycl_abi: None,
            }),
        }
    }
}
