//! Which lines does a text have, and at which offsets?

use crate::error::{Error, Result};

/// Returns bytes as text.
///
/// # Errors
/// `Input` with `complaint` and the offset of the first byte that is not UTF-8.
pub fn text<'b>(bytes: &'b [u8], complaint: &str) -> Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|error| Error::at(error.valid_up_to() as u64, complaint))
}

/// Returns the lines of a text without their ends (LF or CRLF), each with its offset in bytes.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0usize;
    text.split_inclusive('\n').map(move |line| {
        let here = next;
        next = next.saturating_add(line.len());
        (here, line.trim_end_matches(['\n', '\r']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_offsets_of_their_bytes() {
        let found: Vec<_> = lines("é\r\n\nb").collect();
        assert_eq!(found, [(0, "é"), (4, ""), (5, "b")]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(text(b"ab\xff", "no").unwrap_err().offset(), Some(2));
    }
}
