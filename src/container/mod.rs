//! Where in this host file are device bytes?
//!
//! [`Kind::identify`] looks at magic numbers only, never at names. [`Host::read`] then makes the file addressable:
//! segments with relocations applied, sections, and what the producer left about itself.

pub mod address;
pub mod arena;
pub mod elf;
pub mod inflate;
pub mod kind;
pub mod package;
pub mod place;
pub mod producer;

use crate::error::{Error, Result};
use address::AddressMap;
use arena::Arena;
use elf::Elf;
pub use kind::Kind;
use producer::Producer;

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
    /// Its memory image; empty where the format has none.
    pub addresses: AddressMap<'a>,
    /// Named sections; none where the file is stripped of section headers or its format has none.
    pub sections: Vec<Section<'a>>,
    /// The ELF view, for linked ELF files.
    pub elf: Option<Elf<'a>>,
    /// The compiler that says it made the file.
    pub producer: Option<Producer>,
    /// The SYCL runtime's major ABI version the file is linked to (`libsycl.so.9` is 9), where it is.
    pub sycl_abi: Option<u32>,
    /// Whether the file calls the runtime's registration function, so that it should hold images.
    pub registers: bool,
    /// What readers inflate or decode from the file.
    pub arena: Arena,
}

impl<'a> Host<'a> {
    /// Identifies a file and makes it addressable.
    ///
    /// # Errors
    /// `Input`, with the offset, where the file is not one this tool reads or is malformed beyond use. Damage in
    /// parts that are not needed (section headers) is not an error.
    pub fn read(bytes: &'a [u8]) -> Result<Host<'a>> {
        let kind = Kind::identify(bytes)?;
        match kind {
            Kind::Elf => {
                let (elf, sections) = Elf::parse(bytes)?;
                let addresses = elf.address_map()?;
                let comment = sections.iter().find(|section| section.name == ".comment");
                let producer = comment.and_then(|section| Producer::from_comment(section.data));
                let sycl_abi = elf.needed(&addresses).iter().find_map(|name| producer::sycl_abi(name));
                let registers = elf.imports(&addresses, "__sycl_register_lib");
                Ok(Host {
                    kind,
                    bytes,
                    addresses,
                    sections,
                    elf: Some(elf),
                    producer,
                    sycl_abi,
                    registers,
                    arena: Arena::default(),
                })
            }
            Kind::SpirV
            | Kind::LlvmBitcode
            | Kind::OffloadBinary
            | Kind::SyclBin
            | Kind::OffloadBundle
            | Kind::CompressedBundle
            | Kind::Table => Ok(Host::plain(kind, bytes)),
            other => Err(Error::at(0, format!("this is {}, which is not read", other.description()))
                .with_remedy("name a linked ELF file, a SPIR-V module, or a bundle of device code")),
        }
    }

    /// A file without a memory image of its own.
    fn plain(kind: Kind, bytes: &'a [u8]) -> Host<'a> {
        Host {
            kind,
            bytes,
            addresses: AddressMap::default(),
            sections: Vec::new(),
            elf: None,
            producer: None,
            sycl_abi: None,
            registers: false,
            arena: Arena::default(),
        }
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<Section<'a>> {
        self.sections.iter().copied().find(|section| section.name == name)
    }
}
