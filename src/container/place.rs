//! At which file offset are these bytes, if layers around them may be inflated?

use crate::error::Error;

/// Location of a byte: in the file, or in the contents of a compressed part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    offset: u64,
    inside: Option<u64>,
}

impl Place {
    /// Returns the location of a byte of the file.
    pub fn file(offset: u64) -> Place {
        Place { offset, inside: None }
    }

    /// Returns the location `by` bytes further.
    #[must_use]
    pub fn at(self, by: u64) -> Place {
        match self.inside {
            Some(inside) => Place { inside: Some(inside.saturating_add(by)), ..self },
            None => Place::file(self.offset.saturating_add(by)),
        }
    }

    /// Returns the location of the first byte of the inflated contents of the bytes here.
    #[must_use]
    pub fn inflated(self) -> Place {
        Place { offset: self.offset, inside: Some(0) }
    }

    /// Returns the offset in the file; for a byte in a compressed part that of the part.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Whether the byte is in the contents of a compressed part.
    pub fn is_inflated(self) -> bool {
        self.inside.is_some()
    }

    /// Returns an error for malformed input at this location.
    #[cold]
    pub fn error(self, message: impl Into<String>) -> Error {
        self.locate(Error::input(message))
    }

    /// Adds this location to an error, unless it has one already.
    #[cold]
    pub fn locate(self, error: Error) -> Error {
        if error.offset().is_some() {
            return error;
        }
        let error = error.with_offset(self.offset);
        match self.inside {
            Some(inside) => error.context(format!("{inside:#x} bytes into what inflates")),
            None => error,
        }
    }
}
