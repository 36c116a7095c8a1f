//! Where in this host file are device bytes?
//!
//! [`Kind::identify`] uses magic numbers only, never names. [`Host::read`] then makes the file addressable: segments
//! with relocations applied, sections, and the producer's signature.

pub mod address;
pub mod arena;
pub(crate) mod device_elf;
pub mod elf;
pub(crate) mod inflate;
pub(crate) mod kind;
pub(crate) mod object_file;
pub mod package;
pub(crate) mod pe;
pub mod place;

use crate::error::{Error, Result};
use address::AddressMap;
use arena::Arena;
use elf::Elf;
use object_file::ObjectFile;
use pe::Pe;

pub use kind::Kind;

/// Function of a SYCL runtime to which a program hands its images.
const REGISTRATION: &str = "__sycl_register_lib";

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
    /// Whether the file calls the runtime's registration function, so that it should hold images.
    pub registers: bool,
    /// Owner of the bytes that readers inflate or decode.
    pub arena: Arena,
}

impl<'a> Host<'a> {
    /// Identifies a file and makes it addressable.
    ///
    /// # Errors
    /// `Input`, with the offset, where the file is of no supported kind or too damaged to use. Damage in parts that are
    /// not needed (section headers) is not an error.
    pub fn read(bytes: &'a [u8]) -> Result<Host<'a>> {
        let kind = Kind::identify(bytes)?;
        match kind {
            Kind::Elf => {
                let (elf, sections) = Elf::parse(bytes)?;
                let addresses = elf.address_map()?;
                let comment = sections.iter().find(|section| section.name == ".comment");
                let producer = comment.and_then(|section| Producer::from_comment(section.data));
                let sycl_abi = elf.needed(&addresses).iter().find_map(|name| sycl_abi(name));
                let registers = elf.imports(&addresses, REGISTRATION);
                let elf = Some(elf);
                Ok(Host { addresses, sections, elf, producer, sycl_abi, registers, ..Host::plain(kind, bytes) })
            }
            Kind::Pe => {
                let (pe, sections) = Pe::parse(bytes)?;
                let addresses = pe.address_map()?;
                let imports = pe.imports(&addresses, REGISTRATION);
                let sycl_abi = imports.libraries.iter().find_map(|name| sycl_abi(name));
                let registers = imports.names_wanted;
                // PE files do not name the compiler.
                Ok(Host { addresses, sections, sycl_abi, registers, ..Host::plain(kind, bytes) })
            }
            Kind::ElfObject | Kind::Coff => {
                let ObjectFile { addresses, sections, refers_to_wanted } = object_file::read(bytes, REGISTRATION)?;
                let comment = sections.iter().find(|section| section.name == ".comment");
                let producer = comment.and_then(|section| Producer::from_comment(section.data));
                let registers = refers_to_wanted;
                Ok(Host { addresses, sections, producer, registers, ..Host::plain(kind, bytes) })
            }
            Kind::SpirV
            | Kind::LlvmBitcode
            | Kind::OffloadBinary
            | Kind::SyclBin
            | Kind::OffloadBundle
            | Kind::CompressedBundle
            | Kind::Native
            | Kind::Hcf
            | Kind::Table => Ok(Host::plain(kind, bytes)),
            other => Err(Error::at(0, format!("this is {}, which is not read", other.description()))
                .with_remedy("name an ELF, PE or COFF file, a SPIR-V module, or a bundle of device code")),
        }
    }

    /// Creates a host for a file without a memory image.
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

/// Returns the ABI version in the name of a SYCL runtime library: 9 for `libsycl.so.9`, `sycl9.dll` or its debug form
/// `sycl9d.dll`.
pub fn sycl_abi(library: &str) -> Option<u32> {
    if let Some(rest) = library.strip_prefix("libsycl.so.").or_else(|| library.strip_prefix("libsycl-preview.so.")) {
        return rest.split('.').next()?.parse().ok();
    }
    // File names on Windows are case-insensitive.
    let name = library.to_ascii_lowercase();
    let stem = name.strip_suffix(".dll")?.strip_prefix("sycl")?;
    let stem = stem.strip_suffix('d').unwrap_or(stem);
    stem.strip_suffix("-preview").unwrap_or(stem).parse().ok()
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
        assert_eq!(sycl_abi("libsycl.so"), None);
        assert_eq!(sycl_abi("libsyclfoo.so.9"), None);
        assert_eq!(sycl_abi("sycl9.dll"), Some(9));
        assert_eq!(sycl_abi("SYCL7d.dll"), Some(7));
        assert_eq!(sycl_abi("sycl8-preview.dll"), Some(8));
        assert_eq!(sycl_abi("sycl8-previewd.dll"), Some(8));
        assert_eq!(sycl_abi("mkl_sycl_blas.4.dll"), None);
        assert_eq!(sycl_abi("sycl.dll"), None);
    }
}
