//! Which libraries are inside this package?
//!
//! Packages are archives, zip files (wheels, conda packages) and tar archives, also inside each other. Nothing is
//! written to disk, and one member at a time is inflated, so that memory use follows the largest member. The first
//! bytes of a member show its kind: a member whose kind holds no device code is not inflated further.
//!
//! | form | what it is |
//! |---|---|
//! | wheel | a zip |
//! | conda package | `.conda`: a zip of `.tar.zst`; `.tar.bz2` |
//! | Debian package | an archive of `.tar.xz`, `.tar.zst` or `.tar.gz` |
//! | static library | an archive |

mod archive;
mod stream;
mod tar;
mod walk;
mod zip;

use super::Kind;
use crate::error::{Error, Result};

/// Member of a package.
#[derive(Debug)]
pub struct Member<'m> {
    /// Path through all packages, separated by `!`: `a.conda!pkg-a.tar.zst!lib/x.so`. Control characters in names are
    /// replaced.
    pub path: &'m str,
    /// Contents of the member.
    pub content: Content<'m>,
}

/// Contents of a member.
#[derive(Debug)]
pub enum Content<'m> {
    /// File of a kind that may hold device images.
    Bytes {
        /// Bytes of the file.
        bytes: &'m [u8],
        /// Offset in the outermost package, if the bytes are there unchanged.
        offset: Option<u64>,
    },
    /// Member of a thin archive: this file, relative to the folder of the archive.
    Beside(&'m str),
    /// Damage in one member, which does not affect others.
    Damaged(Error),
}

/// Whether files of this kind hold other files.
pub fn is_package(kind: Kind) -> bool {
    matches!(kind, Kind::Archive | Kind::Zip | Kind::Tar)
}

/// Calls `visit` with every member of a package that may hold device images, in the order of the package, and with
/// every damaged one.
///
/// File tables inside packages are skipped: the files they list are members themselves.
///
/// # Errors
/// Errors of `visit`.
pub fn members(path: &str, bytes: &[u8], kind: Kind, visit: &mut dyn FnMut(Member<'_>) -> Result<()>) -> Result<()> {
    walk::walk(path, bytes, kind, visit)
}
