//! How do writers of the `object` crate write into a draft?

use crate::bytes::Draft;
use crate::error::{Error, Result};
use object::write::WritableBuffer;

/// Returns what a writer writes.
///
/// # Errors
/// Errors of the writer, and `Environment` or `Input` where there is no room.
pub(super) fn written(write: impl FnOnce(&mut ObjectBuffer) -> Result<()>) -> Result<Draft> {
    let mut buffer = ObjectBuffer { draft: Draft::from(Vec::new()), error: None };
    let written = write(&mut buffer);
    // The writer says of a refusal only that there was one.
    buffer.error.map_or(Ok(()), Err).and(written).map(|()| buffer.draft)
}

/// Draft as a buffer of these writers.
pub(super) struct ObjectBuffer {
    draft: Draft,
    /// The first error of growing. What is written after it is lost.
    error: Option<Error>,
}

impl WritableBuffer for ObjectBuffer {
    fn reserve(&mut self, size: u64) -> Result<(), ()> {
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        self.draft.reserve(self.draft.len().saturating_add(len)).map_err(|error| _ = self.error.get_or_insert(error))
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        if let Err(error) = self.draft.extend(bytes) {
            self.error.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_written_comes_out_and_no_error_is_lost() {
        let whole = written(|buffer| {
            buffer.reserve(5).unwrap();
            buffer.write_bytes(b"abc");
            buffer.write_zeros(2);
            Ok(())
        });
        assert_eq!(whole.unwrap(), b"abc\0\0");
        assert!(written(|_| Err(Error::input("its own"))).unwrap_err().to_string().contains("its own"));
        // The writer of a file that cannot be would go on.
        let refused = written(|buffer| {
            assert!(buffer.reserve(u64::MAX).is_err());
            Ok(())
        });
        assert!(refused.unwrap_err().to_string().contains("no memory"));
    }
}
