//! Where in the file are these bytes, when layers around them may have been inflated?

use crate::error::Error;

/// The place of a byte: in the file, or in what a compressed part of the file inflates to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    offset: u64,
    inside: Option<u64>,
}

impl Place {
    /// A byte of the file itself.
    pub fn file(offset: u64) -> Place {
        Place { offset, inside: None }
    }

    /// A byte further on.
    #[must_use]
    pub fn at(self, by: u64) -> Place {
        match self.inside {
            Some(inside) => Place { inside: Some(inside.saturating_add(by)), ..self },
            None => Place::file(self.offset.saturating_add(by)),
        }
    }

    /// The first byte of what the bytes here inflate to.
    #[must_use]
    pub fn inflated(self) -> Place {
        Place { offset: self.offset, inside: Some(0) }
    }

    /// The offset in the file; of the compressed part where the byte is in one.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Malformed input here.
    #[cold]
    pub fn error(self, message: impl Into<String>) -> Error {
        self.of(Error::input(message))
    }

    /// An error that is here, unless it already has a place.
    #[cold]
    pub fn of(self, error: Error) -> Error {
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
