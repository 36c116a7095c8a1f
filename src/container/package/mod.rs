//! Which libraries are inside this package?
//!
//! Archives, zip files (wheels, conda packages) and tar archives, also inside each other. Nothing is written to disk,
//! and one member at a time is inflated, so that memory follows the largest member. What a member is, its first bytes
//! say: a member that holds no device code by its kind is not inflated further.
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

/// Something inside a package.
#[derive(Debug)]
pub struct Member<'m> {
    /// The path through all packages, the steps parted by `!`: `a.conda!pkg-a.tar.zst!lib/x.so`. Control characters
    /// in names are replaced.
    pub path: &'m str,
    /// What is there.
    pub content: Content<'m>,
}

/// What a member holds.
#[derive(Debug)]
pub enum Content<'m> {
    /// A file of a kind that may hold device images.
    Bytes {
        /// The file.
        bytes: &'m [u8],
        /// Where it stands in the outermost package, where it stands there as it is.
        offset: Option<u64>,
    },
    /// A member of a thin archive: this file, relative to the folder of the archive.
    Beside(&'m str),
    /// What cannot be read. Other members are not concerned.
    Damaged(Error),
}

/// Whether files of this kind hold other files.
pub fn is_package(kind: Kind) -> bool {
    matches!(kind, Kind::Archive | Kind::Zip | Kind::Tar)
}

/// Hands on every member of a package that may hold device images, in the order of the package, and what is damaged.
///
/// File tables inside packages are passed over: the files they list are members themselves.
///
/// # Errors
/// What `visit` returns.
pub fn members(path: &str, bytes: &[u8], kind: Kind, visit: &mut dyn FnMut(Member<'_>) -> Result<()>) -> Result<()> {
    walk::walk(path, bytes, kind, visit)
}
