//! How does an entry prove that it is whole and the one that was asked for?
//!
//! ```text
//! 0   "SBc1"
//! 4   four bytes of 0
//! 8   the key
//! 40  BLAKE3 of the contents
//! 72  their length, u64 little-endian
//! 80  the contents
//! ```

use super::Key;

const MAGIC: [u8; 8] = *b"SBc1\0\0\0\0";
/// Bytes before the contents.
pub(super) const HEAD: usize = 80;

/// Builds the header that stands before the contents.
pub(super) fn head(key: &Key, binary: &[u8]) -> Vec<u8> {
    let length = (binary.len() as u64).to_le_bytes();
    [&MAGIC, &key.0[..], blake3::hash(binary).as_bytes(), &length].concat()
}

/// The contents, where the entry is whole and of this key.
pub(super) fn read<'e>(entry: &'e [u8], key: &Key) -> Option<&'e [u8]> {
    let (head, binary) = entry.split_at_checked(HEAD)?;
    (head == self::head(key, binary)).then_some(binary)
}
