//! How is one set of facts shown as a table, as JSON and as a page to look at?
//!
//! Everything here writes to a writer that it is given, at the width it is given; nothing prints.

/// Adds fields of one document to those of another; the largest number is the most.
macro_rules! add_counts {
    ($own:expr, $other:expr; $($field:ident)*) => {
        $($own.$field = $own.$field.saturating_add($other.$field);)*
    };
}

pub mod batch;
pub mod built;
pub mod cache;
pub mod check;
pub mod clones;
pub mod costs;
pub mod devices;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod edited;
pub mod evidence;
pub mod explain;
pub mod extracted;
pub mod filtered;
pub mod gate;
pub mod has;
pub mod image;
pub mod inspect;
pub mod json;
pub mod kernels;
pub mod link;
pub mod name;
pub mod page;
pub mod profile;
pub mod props;
pub mod sizes;
pub mod table;
pub mod targets;
#[cfg(test)]
mod tests;
pub mod text;
pub mod units;

use crate::bundle::Bundle;
use crate::compat::examine::Examined;
use crate::container::Host;
use crate::error::Problem;

/// Facts about one file: as much as could be read.
#[derive(Debug, Default)]
pub struct FileFacts<'a> {
    /// The path as the user gave it; `-` for standard input; through packages, `a.whl!lib/x.so`.
    pub path: &'a str,
    /// The absolute path of the file on disk that holds the bytes as they are.
    pub absolute: Option<&'a str>,
    /// The offset of the bytes in that file: 0 but for the uncompressed content of a package.
    pub base: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The container, where it was recognised.
    pub host: Option<&'a Host<'a>>,
    /// The bundle, where there is one.
    pub bundle: Option<&'a Bundle<'a>>,
    /// The images that are to be shown, in file order.
    pub images: Vec<Examined<'a, 'a>>,
    /// Whether, instead of these, all images of the bundle are to be shown, and are examined as they are written.
    pub deferred: bool,
    /// Parts of the file that could not be read.
    pub problems: Vec<Problem>,
}
