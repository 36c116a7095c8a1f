//! Where in the source does code come from?
//!
//! SPIR-V and LLVM bitcode tell it in their own forms of debug information; all readers make these types of it.

use crate::limits;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Location in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Location")]
pub struct SourceLocation {
    /// The file as the compiler wrote it. Places in one file share it.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub file: Arc<str>,
    /// The line.
    pub line: u32,
    /// The column; null where it is not known, which is stored as 0.
    #[serde(serialize_with = "known")]
    #[schemars(with = "Option<u32>")]
    pub column: u32,
}

impl SourceLocation {
    /// Returns the column, where it is known.
    pub(crate) fn known_column(&self) -> Option<u32> {
        (self.column != 0).then_some(self.column)
    }
}

/// Serialises a text that is shared.
fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// Serialises a column, null where it is not known.
fn known<S: Serializer>(column: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    (*column != 0).then_some(*column).serialize(serializer)
}

impl fmt::Display for SourceLocation {
    /// Writes `file:line:column`, without a column that is not known.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)?;
        self.known_column().map_or(Ok(()), |column| write!(out, ":{column}"))
    }
}

/// Inlined function and its call site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inlined {
    /// Name of the function, mangled where the debug information has the mangled name.
    pub(crate) function: String,
    /// Location of the call.
    pub(crate) call: Option<SourceLocation>,
}

/// Bytes of the names of inlined functions that were told of a module: each of many instructions may have all of them.
#[derive(Debug, Default)]
pub(crate) struct InlinedText(AtomicUsize);

impl InlinedText {
    /// Counts a call's text against the room that one instruction has left, and against the module's; whether both have it.
    pub(crate) fn fits(&self, room: &mut usize, function: &str, file: Option<&str>) -> bool {
        let text = function.len().saturating_add(file.map_or(0, str::len));
        let Some(left) = room.checked_sub(text) else { return false };
        *room = left;
        self.0.fetch_add(text, Ordering::Relaxed).saturating_add(text) <= limits::MAX_STRING_BYTES
    }
}
