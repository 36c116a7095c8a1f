//! Which specialization constants does an image have, and how are their values laid out?
//!
//! "SYCL/specialization constants" holds for each name triples of number (`SpecId`), offset in the value, and size;
//! "SYCL/specialization constants default values" holds one blob with the values of all names in order, each up to the
//! end of its last part (DPC++ `llvm/lib/SYCLLowerIR/SpecConstants.cpp`).

use super::property::{Properties, Property};
use super::property_sets::set;
use crate::bytes;
use crate::error::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Serialize;

/// Scalar leaf of a specialization constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpecConstant {
    /// `SpecId` in the module; 4294967295 marks padding.
    pub(crate) id: u32,
    /// Byte offset in the constant's value.
    pub(crate) offset: u32,
    /// Size in bytes.
    pub(crate) size: u32,
}

/// Number that marks padding.
pub(crate) const PADDING: u32 = u32::MAX;

/// The `SpecId` of DPC++'s own switch for instrumentation, "itt" behind 0xFF (`ITTSpecConstId` of its
/// `SPIRITTAnnotations.cpp`). Off by default; the runtime turns it on for a profiler, and no property set names it.
pub(crate) const ITT: u32 = 0xff74_7469;

/// Named specialization constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constant<'a> {
    /// Symbol by which the runtime knows it.
    pub(crate) name: &'a str,
    /// Parts as stored, including padding.
    pub(crate) leaves: Vec<SpecConstant>,
    /// Bytes of the default; none where the blob is missing or too short.
    pub(crate) default: Option<&'a [u8]>,
}

impl Constant<'_> {
    /// Returns the size of the value in bytes.
    pub(crate) fn size(&self) -> u64 {
        size(&self.leaves)
    }

    /// Returns the parts that are not padding.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &SpecConstant> {
        self.leaves.iter().filter(|leaf| leaf.id != PADDING)
    }
}

/// Returns the size in bytes of the value with these parts.
fn size(leaves: &[SpecConstant]) -> u64 {
    leaves.iter().map(|part| u64::from(part.offset).saturating_add(u64::from(part.size))).max().unwrap_or(0)
}

/// Returns the parts of a constant, from its property in the set `SYCL/specialization constants`.
pub(crate) fn leaves(property: &Property<'_>) -> Option<Vec<SpecConstant>> {
    let tuples = property.value.payload()?.as_chunks::<12>().0;
    let read = |tuple: &[u8; 12]| {
        let at = |offset| bytes::u32_at(tuple, offset).unwrap_or(0);
        SpecConstant { id: at(0), offset: at(4), size: at(8) }
    };
    Some(tuples.iter().map(read).collect())
}

/// Returns the named constants of an image, in the order of the set, with their defaults.
pub(crate) fn constants<'a>(all: &Properties<'a>) -> Vec<Constant<'a>> {
    laid_out(all, all.get(set::SPEC_DEFAULTS, "all").and_then(|value| value.payload()))
}

/// Returns the named constants with values from this blob.
pub(crate) fn laid_out<'a>(all: &Properties<'a>, blob: Option<&'a [u8]>) -> Vec<Constant<'a>> {
    let mut rest = blob;
    let constants = all.set(set::SPEC_CONSTANTS).iter().map(|property| {
        let leaves = leaves(property).unwrap_or_default();
        let split = rest.and_then(|rest| rest.split_at_checked(usize::try_from(size(&leaves)).ok()?));
        rest = split.map(|(_, tail)| tail);
        Constant { name: property.name, leaves, default: split.map(|(value, _)| value) }
    });
    constants.collect()
}

/// Value that the user sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Constant that is set.
    pub(crate) which: ConstantName,
    /// Values of its parts as text, in order; one for a scalar.
    pub(crate) values: Vec<String>,
}

/// Constant as the user names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConstantName {
    /// Name in the source, with or without namespaces, or the whole symbol.
    Name(String),
    /// `SpecId` in the module.
    Id(u32),
}

impl ConstantName {
    /// Returns the text for messages.
    pub(crate) fn text(&self) -> String {
        match self {
            ConstantName::Name(name) => name.clone(),
            ConstantName::Id(id) => format!("SpecId {id}"),
        }
    }
}

impl Setting {
    /// Reads `NAME=VALUE`, or `NAME=VALUE,VALUE` for a composite.
    ///
    /// # Errors
    /// `Usage` where there is no `=`, or nothing beside it.
    pub fn parse_named(text: &str) -> Result<Setting> {
        let (name, values) = parts(text, "NAME=VALUE")?;
        Ok(Setting { which: ConstantName::Name(name.to_owned()), values })
    }

    /// Reads `ID=VALUE`.
    ///
    /// # Errors
    /// `Usage` where the id is no number, or a side is missing.
    pub fn parse_id(text: &str) -> Result<Setting> {
        let (id, values) = parts(text, "ID=VALUE")?;
        let id = id.parse().map_err(|_| Error::new(ErrorKind::Usage, format!("`{id}` is no SpecId: a number")))?;
        Ok(Setting { which: ConstantName::Id(id), values })
    }
}

fn parts<'t>(text: &'t str, form: &str) -> Result<(&'t str, Vec<String>)> {
    let wrong = || Error::new(ErrorKind::Usage, format!("`{text}` is not of the form {form}"));
    let (name, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if name.trim().is_empty() || values.iter().any(String::is_empty) { Err(wrong()) } else { Ok((name.trim(), values)) }
}

/// Values that the user sets, and the treatment of all other constants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Values; a later one of the same constant overrides an earlier one.
    pub given: Vec<Setting>,
    /// Whether constants without a value get their defaults.
    pub defaults: bool,
}
