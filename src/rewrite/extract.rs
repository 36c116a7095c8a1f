//! How is a bundle written as files?
//!
//! Names and contents of the files that `extract` writes. They are deterministic: a second run writes the same bytes.
//! The files are those that DPC++'s tools exchange: code, `.prop`, `.sym`, and a table over them.

use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_text;
use crate::bundle::table::Table;
use crate::compat::examine::Examined;
use crate::container::Arena;
use crate::container::Place;
use crate::error::{Error, Result};
use crate::native::Native;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashSet;

/// Name of the table in a folder.
pub(crate) const TABLE: &str = "images.table";

/// File names of one image; null for a part that the image does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Names {
    /// File of the payload.
    pub(crate) code: String,
    /// File of the property sets.
    pub(crate) properties: Option<String>,
    /// File of the entries.
    pub(crate) symbols: Option<String>,
}

impl Names {
    /// Returns the names for an image of a file with this stem.
    pub(crate) fn for_image(stem: &str, image: &Examined<'_, '_>, stored: bool) -> Names {
        let base = format!("{stem}_{}", image.image.index);
        let compressed = stored && image.image.compression().is_some();
        Names {
            code: format!("{base}{}{}", image.format.extension(), if compressed { ".zst" } else { "" }),
            properties: (!image.image.properties.sets.is_empty()).then(|| format!("{base}.prop")),
            symbols: (!entries(image).is_empty()).then(|| format!("{base}.sym")),
        }
    }
}

impl Names {
    /// Returns the names for a member of an image: its own for the code, the image's for the rest.
    pub(crate) fn for_member(stem: &str, image: &Examined<'_, '_>, member: &Member<'_>) -> Names {
        let code = format!("{stem}_{}.{}{}", image.image.index, member.label, member.format.extension());
        Names { code, ..Names::for_image(stem, image, false) }
    }

    /// Returns the names for a prepared image, by its number among those that are written.
    pub(crate) fn for_prepared(stem: &str, number: usize, image: &Image<'_>) -> Names {
        let base = format!("{stem}_{number}");
        Names {
            code: format!("{base}{}", image.format().extension()),
            properties: (!image.properties.sets.is_empty()).then(|| format!("{base}.prop")),
            symbols: (!image.entries.is_empty()).then(|| format!("{base}.sym")),
        }
    }

    /// Returns all names.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        [Some(&self.code), self.properties.as_ref(), self.symbols.as_ref()].into_iter().flatten().map(String::as_str)
    }
}

/// Unique file stems for files found in other files, made from their paths.
#[derive(Debug, Default)]
pub(crate) struct Stems(HashSet<String>);

/// Maximum length of a stem; with index and extension it stays below the 255 bytes of file systems.
const MAX_STEM: usize = 180;

impl Stems {
    /// Returns a unique stem for a path. It has only ASCII letters, digits, `.`, `-` and `_`, and does not begin with a
    /// dot, so it never leaves its folder.
    pub(crate) fn unique(&mut self, path: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
        let clean: String = path.trim_start_matches(['!', '/', '.']).chars().map(plain).collect();
        // The end of a path says more than its beginning. The text is ASCII, so any index is a character boundary.
        let start = clean.len().saturating_sub(MAX_STEM);
        let clean = clean.get(start..).unwrap_or_default().trim_start_matches('.');
        let clean = if clean.is_empty() { "file" } else { clean };
        let mut stem = clean.to_owned();
        for number in 2u64.. {
            if self.0.insert(stem.clone()) {
                break;
            }
            stem = format!("{clean}-{number}");
        }
        stem
    }
}

/// Returns the payload, inflated or as stored.
///
/// # Errors
/// `Input` where it does not inflate.
pub(crate) fn code<'a>(image: &Examined<'_, 'a>, stored: bool) -> Result<Cow<'a, [u8]>> {
    if stored { Ok(Cow::Borrowed(image.image.stored)) } else { image.image.contents() }
}

/// Part of the native code of an image.
#[derive(Debug)]
pub struct Member<'a> {
    /// The device that it is for, where that is one, else its name in the container; unique in the image.
    pub(crate) label: String,
    /// The names by which it may be meant: its own, and those of its devices.
    pub(crate) names: Vec<String>,
    /// The format.
    pub(crate) format: Format,
    /// The code.
    pub(crate) code: &'a [u8],
}

/// Returns the parts of native code in an image's inflated payload; what is inflated further is kept in the arena.
pub(crate) fn members<'a>(contents: &'a [u8], image: &Examined<'_, '_>, arena: &'a Arena) -> Vec<Member<'a>> {
    let Some(native) = &image.native else { return Vec::new() };
    let codes = Native::with_code(contents, image.format, Place::default(), arena).1;
    let mut stems = Stems::default();
    let members = native.parts.iter().zip(codes).map(|(part, code)| {
        let label = match part.devices.as_slice() {
            [only] => only,
            _ if part.name.is_empty() => "code",
            _ => &part.name,
        };
        let mut names = part.devices.clone();
        names.push(part.name.clone());
        Member { label: stems.unique(label), names, format: part.format, code }
    });
    members.collect()
}

/// Returns the property sets as text.
///
/// # Errors
/// `Input`, naming the property that the text form cannot hold.
pub fn properties(image: &Examined<'_, '_>) -> Result<String> {
    property_text::write(&image.image.properties)
}

/// Returns the entries, one per line.
///
/// # Errors
/// Errors of [`lines_of`].
pub(crate) fn symbols(image: &Examined<'_, '_>) -> Result<String> {
    lines_of(&entries(image))
}

/// Writes symbols one per line.
///
/// # Errors
/// `Input`, naming the symbol that would be several, or none.
pub(crate) fn lines_of(symbols: &[&str]) -> Result<String> {
    match symbols.iter().find(|symbol| symbol.is_empty() || symbol.contains(['\n', '\r'])) {
        Some(symbol) => Err(Error::input(format!("the symbol {symbol:?} cannot stand in a line of its own"))),
        None => Ok(symbols.iter().flat_map(|symbol| [*symbol, "\n"]).collect()),
    }
}

/// Returns the entries that the host file lists; for a bare module its kernels.
fn entries<'b>(image: &'b Examined<'_, '_>) -> Vec<&'b str> {
    match image.image.origin {
        Some(_) => image.image.entries.clone(),
        None if !image.image.entries.is_empty() => image.image.entries.clone(),
        None => image.kernels.iter().map(String::as_str).collect(),
    }
}

/// Returns the table over the files of all images.
///
/// # Errors
/// `Usage` where a name cannot be written in a table.
pub(crate) fn table<'n>(all: impl IntoIterator<Item = &'n Names>) -> Result<String> {
    let mut table = Table::for_images();
    for names in all {
        let optional = |name: &Option<String>| name.clone().unwrap_or_default();
        table.rows.push(vec![names.code.clone(), optional(&names.properties), optional(&names.symbols)]);
    }
    table.write()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_names_and_differ() {
        let mut stems = Stems::default();
        let paths = ["!lib/x.so", "!lib_x.so", "!../../etc/passwd", "!/abs|\u{1b}", "!..", "!a.deb!data.tar!x"];
        let expected = ["lib_x.so", "lib_x.so-2", "etc_passwd", "abs__", "file", "a.deb_data.tar_x"];
        assert_eq!(paths.map(|path| stems.unique(path)), expected);
        assert!(stems.unique(&"x".repeat(5000)).len() <= MAX_STEM);
    }

    #[test]
    fn a_symbol_is_one_line() {
        assert_eq!(lines_of(&["a", "b|c"]).unwrap(), "a\nb|c\n");
        assert!(lines_of(&["a\nb"]).is_err() && lines_of(&["a\r"]).is_err() && lines_of(&[""]).is_err());
    }

    #[test]
    fn a_missing_part_is_an_empty_cell() {
        let names = Names { code: "a_0.spv".to_owned(), properties: None, symbols: Some("a_0.sym".to_owned()) };
        assert_eq!(table([&names]).unwrap(), "[Code|Properties|Symbols]\na_0.spv||a_0.sym\n");
    }
}
