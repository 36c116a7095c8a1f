//! Which libraries are inside this package?
//!
//! Packages are archives, zip files (wheels, conda packages) and tar archives, also inside each other. Members are visited in
//! order, while threads inflate the next ones of a zip; a large one lies where the program keeps drafts
//! ([`crate::bytes::Draft`]). The first bytes of a member show its kind: a member whose kind holds no device code is
//! not inflated further.
//!
//! | form | what it is |
//! |---|---|
//! | wheel | a zip |
//! | conda package | `.conda`: a zip of `.tar.zst`; `.tar.bz2` |
//! | Debian package | an archive of `.tar.xz`, `.tar.zst` or `.tar.gz` |
//! | static library | an archive |

mod formats;
mod stream;
mod unread;

pub(crate) use formats::{Directory, disagreement, few_members, unlisted};
pub(crate) use unread::{SCRIPT, unread, unread_behind, unread_form};

use super::kind::{PTX_BEGIN, is_ptx};
use super::{Allowance, Kind};
use crate::bytes::Draft;
use crate::error::{Error, Result};
use crate::limits;
use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Cursor, Read};

/// Member of a package.
#[derive(Debug)]
pub struct Member<'m> {
    /// Path through all packages, separated by `!`: `a.conda!pkg-a.tar.zst!lib/x.so`. Control characters in names are
    /// replaced.
    pub(crate) path: &'m str,
    /// Number of packages that it is in.
    pub(crate) depth: usize,
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

/// Returns a member's name as paths show it, from the bytes that the package stores.
pub(crate) fn shown_name(name: &[u8]) -> String {
    let name = name.get(..limits::MAX_MEMBER_PATH).unwrap_or(name);
    let name = name.strip_prefix(b"./").unwrap_or(name);
    // Names must not control the terminal that they are printed on.
    let clean = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    String::from_utf8_lossy(name).chars().map(clean).collect()
}

/// Whether files of this kind hold other files.
pub fn is_package(kind: Kind) -> bool {
    matches!(kind, Kind::Archive | Kind::Zip | Kind::Tar)
}

/// Calls `visit` with every member of a package that may hold device images, in the order of the package, and with
/// every damaged one. `visit` returns whether anything is told of the member, so that its path counts.
///
/// File tables inside packages are skipped: the files they list are members themselves.
///
/// # Errors
/// Errors of `visit`.
pub fn members(
    path: &str,
    bytes: &[u8],
    kind: Kind,
    allowance: &Allowance,
    visit: &mut dyn FnMut(Member<'_>) -> Result<bool>,
) -> Result<()> {
    let own = (bytes.len() as u64).saturating_mul(limits::MAX_PACKAGE_RATIO).max(limits::MAX_PACKAGE_FLOOR);
    let budget = Budget { own: Cell::new(own), all: allowance };
    let paths = Some(bytes.len().saturating_mul(limits::MAX_PATHS_RATIO).max(limits::MAX_PATHS_FLOOR));
    let mut walk = Walk { visit, budget: &budget, damaged: 0, visited: 0, paths, neighbours: Neighbours::default() };
    walk.package(PackageLocation { path, offset: Some(0), depth: 0 }, bytes, kind)
}

/// Returns the bytes that a member counts with its path.
fn cost_of(path: &str) -> usize {
    path.len().saturating_add(limits::MEMBER_COST)
}

/// Number of bytes that identify a member.
const HEAD: usize = 1024;

/// Number of bytes that are inflated at a time.
const BLOCK: usize = 256 << 10;

/// Walk through a package and all packages in it.
struct Walk<'w> {
    visit: &'w mut dyn FnMut(Member<'_>) -> Result<bool>,
    budget: &'w Budget<'w>,
    damaged: usize,
    /// Number of files that were handed on.
    visited: usize,
    /// Bytes that the paths of members may still have; none once that they have more was told.
    paths: Option<usize>,
    /// Modules of the package that is walked through, and files that would count for them.
    neighbours: Neighbours,
}

/// Bare modules of a package, and files that would count for modules beside which they lie.
#[derive(Debug, Default)]
struct Neighbours {
    /// Hashes of the modules' names like those, and as much of the names as is shown.
    modules: Vec<(u64, Vec<u8>)>,
    /// Hashes of the files' names without their extensions: names of any length may be thousands.
    beside: HashSet<u64>,
}

impl Neighbours {
    /// Returns a name without its extension.
    fn stem(name: &[u8]) -> &[u8] {
        let dot = name.iter().rposition(|byte| matches!(byte, b'.' | b'/')).filter(|at| name.get(*at) == Some(&b'.'));
        dot.and_then(|dot| name.get(..dot)).unwrap_or(name)
    }

    /// Returns the hash of a name without its extension: of a long one, which thousands of members may share, of its beginning, end
    /// and length.
    fn hash(name: &[u8]) -> u64 {
        const PART: usize = 256;
        let (stem, mut hasher) = (Self::stem(name), DefaultHasher::new());
        (stem.len(), stem.first_chunk::<PART>(), stem.last_chunk::<PART>()).hash(&mut hasher);
        if stem.len() <= 2 * PART {
            stem.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Takes the name of a member, whatever it is.
    fn meet(&mut self, name: &[u8]) {
        if name.ends_with(b".prop") || name.ends_with(b".sym") {
            self.beside.insert(Self::hash(name));
        }
    }
}

/// Bytes that may still be inflated: a package's own, and no more than all that is read with it may.
struct Budget<'b> {
    own: Cell<u64>,
    all: &'b Allowance,
}

impl Budget<'_> {
    fn left(&self) -> u64 {
        self.own.get().min(self.all.left())
    }

    fn spend(&self, bytes: u64) {
        self.own.set(self.own.get().saturating_sub(bytes));
        self.all.spend(bytes);
    }
}

/// Location of a package in the walk.
#[derive(Debug, Clone, Copy)]
struct PackageLocation<'p> {
    /// Path of the package.
    path: &'p str,
    /// Offset of its bytes in the outermost package, if they are there.
    offset: Option<u64>,
    /// Number of packages around it.
    depth: usize,
}

impl PackageLocation<'_> {
    /// Returns the path of a member.
    fn join(&self, name: &[u8]) -> String {
        format!("{}!{}", self.path, shown_name(name))
    }

    /// Returns the offset in the outermost package of a member at offset `at` of this one.
    fn offset_of(&self, at: u64) -> Option<u64> {
        self.offset?.checked_add(at)
    }
}

/// Bytes of a header in a tar archive.
const TAR_BLOCK: usize = 512;

/// Returns the error for a module in a package beside which there are files that say what its kernels need.
pub(crate) fn beside_is_unread() -> Error {
    let error = Error::input("what lies beside it (`.prop`, `.sym`) is not read in a package, and may ask for more");
    error.with_remedy("unpack it, and name the folder")
}

/// Whether a file's name and first bytes show that it holds no device code.
fn is_useless(name: &[u8], head: &[u8], len: u64) -> bool {
    match Kind::identify_head(head, len) {
        Ok(kind) => kind == Kind::Table,
        Err(_) => !Kind::may_be_zip(name, head),
    }
}

/// First bytes of a member that is inflated as it is read.
enum Begin {
    /// Of a kind that may hold device code.
    Useful(Vec<u8>),
    /// Of another.
    Useless(Vec<u8>),
}

/// Reads as much of a member of `len` bytes as tells its use.
fn begin(name: &[u8], reader: &mut impl Read, len: u64) -> std::io::Result<Begin> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    if !is_useless(name, &head, len) {
        return Ok(Begin::Useful(head));
    }
    if head.len() == HEAD && Kind::may_be_ptx(&head) {
        reader.take((PTX_BEGIN - HEAD) as u64).read_to_end(&mut head)?;
        if is_ptx(&head) {
            return Ok(Begin::Useful(head));
        }
    }
    Ok(Begin::Useless(head))
}

impl Walk<'_> {
    fn package(&mut self, place: PackageLocation<'_>, bytes: &[u8], kind: Kind) -> Result<()> {
        if place.depth >= limits::MAX_NESTING {
            let error = format!("packages are nested deeper than the limit of {}", limits::MAX_NESTING);
            return self.damaged(place.path, Error::input(error));
        }
        let outer = std::mem::take(&mut self.neighbours);
        match kind {
            Kind::Archive => formats::walk_archive(self, place, bytes),
            Kind::Zip => formats::walk_zip(self, place, bytes),
            _ => formats::walk_tar(self, place, bytes),
        }?;
        let Neighbours { modules, beside } = std::mem::replace(&mut self.neighbours, outer);
        for (_, module) in modules.iter().filter(|(hash, _)| beside.contains(hash)) {
            self.damaged_member(place, module, beside_is_unread())?;
        }
        Ok(())
    }

    /// Tells of a member that is a package in a form which is not read: of a Debian package all files may be in one.
    fn passed_over(&mut self, place: PackageLocation<'_>, name: &[u8], head: &[u8]) -> Result<()> {
        unread(name, head).map_or(Ok(()), |error| self.damaged_member(place, name, error))
    }

    /// Visits a member that is in memory; `at` is the offset of its bytes in the package, if they are there.
    fn member(&mut self, place: PackageLocation<'_>, name: &[u8], bytes: &[u8], at: Option<u64>) -> Result<()> {
        let head = bytes.get(..PTX_BEGIN).unwrap_or(bytes);
        if is_useless(name, head, bytes.len() as u64) {
            return self.passed_over(place, name, head);
        }
        let Ok(kind) = Kind::identify_named(name, bytes) else { return self.passed_over(place, name, bytes) };
        let Some(path) = self.path(place, name)? else { return Ok(()) };
        let (offset, depth) = (at.and_then(|at| place.offset_of(at)), place.depth.saturating_add(1));
        if is_package(kind) {
            self.package(PackageLocation { path: &path, offset, depth }, bytes, kind)
        } else {
            if matches!(kind, Kind::SpirV | Kind::LlvmBitcode) {
                let shown = name.get(..limits::MAX_MEMBER_PATH).unwrap_or(name);
                self.neighbours.modules.push((Neighbours::hash(name), shown.to_owned()));
            }
            self.visited = self.visited.saturating_add(1);
            // Libraries of imports have tens of thousands of members without device code.
            if !(self.visit)(Member { path: &path, depth, content: Content::Bytes { bytes, offset } })? {
                self.paths = self.paths.map(|left| left.saturating_add(cost_of(&path)));
            }
            unread_behind(kind, bytes).map_or(Ok(()), |error| self.damaged(&path, error))
        }
    }

    /// Visits a member that must be inflated: first far enough to know its use, then as a whole.
    ///
    /// `reader` must be within the budget. `declared` is the member's size as the package states it, if it does;
    /// `ceiling` is the most it may inflate to.
    fn inflated(
        &mut self,
        place: PackageLocation<'_>,
        name: &[u8],
        mut reader: impl Read,
        declared: Option<u64>,
        ceiling: u64,
    ) -> Result<()> {
        let head = match begin(name, &mut reader, declared.unwrap_or(u64::MAX)) {
            Ok(Begin::Useful(head)) => head,
            Ok(Begin::Useless(head)) => return self.passed_over(place, name, &head),
            Err(error) => return self.damaged_member(place, name, unreadable(&error)),
        };
        let ceiling = ceiling.min(limits::MAX_MEMBER);
        let left = self.budget.left().saturating_add(HEAD as u64);
        let bytes = declared.map_or(Ok(()), |size| may_inflate(size, ceiling, left));
        match bytes.and_then(|()| whole(Cursor::new(head).chain(reader), declared, ceiling)) {
            Ok(bytes) => self.member(place, name, &bytes, None),
            Err(error) => self.damaged_member(place, name, error),
        }
    }

    /// Visits a member of a thin archive.
    fn beside(&mut self, place: PackageLocation<'_>, name: &[u8]) -> Result<()> {
        let Some(path) = self.path(place, name)? else { return Ok(()) };
        let content = match std::str::from_utf8(name) {
            _ if place.depth > 0 => {
                let error = Error::input("the members of a thin archive are files beside it, and it is in a package");
                return self.damaged(&path, error);
            }
            Ok(name) => Content::Beside(name),
            Err(_) => Content::Damaged(Error::input("the name of this member is not UTF-8")),
        };
        (self.visit)(Member { path: &path, depth: 1, content }).map(drop)
    }

    /// Returns the path of a member that is told of; none once a small package has had too many, or too long ones.
    fn path(&mut self, place: PackageLocation<'_>, name: &[u8]) -> Result<Option<String>> {
        let Some(left) = self.paths else { return Ok(None) };
        let path = place.join(name);
        self.paths = left.checked_sub(cost_of(&path));
        if self.paths.is_none() {
            let error =
                Error::input("it has more members, or longer paths, than its size warrants; the rest is not read");
            self.damaged(place.path, error)?;
        }
        Ok(self.paths.map(|_| path))
    }

    /// Reports a damaged member like [`Walk::damaged`].
    fn damaged_member(&mut self, place: PackageLocation<'_>, name: &[u8], error: Error) -> Result<()> {
        // Beyond the limit on problems nothing is told, so that no path is made.
        if self.damaged >= limits::MAX_PROBLEMS {
            return Ok(());
        }
        self.path(place, name)?.map_or(Ok(()), |path| self.damaged(&path, error))
    }

    /// Reports damage, up to the limit on problems.
    fn damaged(&mut self, path: &str, error: Error) -> Result<()> {
        let depth = 1;
        self.damaged = self.damaged.saturating_add(1);
        let error = match self.damaged.cmp(&limits::MAX_PROBLEMS) {
            std::cmp::Ordering::Greater => return Ok(()),
            std::cmp::Ordering::Equal => Error::input("there are more problems than are reported"),
            std::cmp::Ordering::Less => error,
        };
        (self.visit)(Member { path, depth, content: Content::Damaged(error) }).map(drop)
    }
}

/// Checks the declared size of a member against the most that it may inflate to, and what is left for the whole package.
fn may_inflate(size: u64, ceiling: u64, left: u64) -> Result<()> {
    if size > ceiling {
        return Err(Error::input(format!("it declares {size} bytes inflated; the limit of a member is {ceiling}")));
    }
    if size > left {
        let limit = format!("of the limit for the whole package {left} are left");
        return Err(Error::input(format!("it declares {size} bytes inflated, and {limit}")));
    }
    Ok(())
}

/// Reads a whole member, which must have the size that it declares and at most `ceiling` bytes.
fn whole(mut reader: impl Read, declared: Option<u64>, ceiling: u64) -> Result<Draft> {
    // A byte more tells that there is more.
    let most = usize::try_from(declared.unwrap_or(ceiling).saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Draft::with_capacity(declared.map_or(0, |_| most))?;
    let mut len = 0usize;
    loop {
        // Of an empty read readers make what they like.
        if len >= most {
            break;
        }
        bytes.resize(len.saturating_add(BLOCK).min(most))?;
        match reader.read(bytes.get_mut(len..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => len = len.saturating_add(read),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    bytes.truncate(len);
    let size = len as u64;
    match declared {
        Some(declared) if size != declared => {
            let what = if size > declared { "holds more than" } else { "ends before" };
            Err(Error::input(format!("it {what} the {declared} bytes it declares")))
        }
        None if size > ceiling => Err(Error::input(format!("it inflates beyond the limit of {ceiling} bytes"))),
        _ => Ok(bytes),
    }
}

#[cold]
fn unreadable(error: &std::io::Error) -> Error {
    Error::input(format!("cannot be inflated: {error}"))
}
