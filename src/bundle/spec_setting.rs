//! Which values does the user set for specialization constants?

use crate::error::{Error, ErrorKind, Result};

/// Value that the user sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Constant that is set.
    pub which: ConstantName,
    /// Values of its parts as text, in order; one for a scalar.
    pub values: Vec<String>,
}

/// Constant as the user names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConstantName {
    /// Name in the source, with or without namespaces, or the whole symbol.
    Name(String),
    /// `SpecId` in the module.
    Id(u32),
}

impl ConstantName {
    /// Returns the text for messages.
    pub fn text(&self) -> String {
        match self {
            ConstantName::Name(name) => name.clone(),
            ConstantName::Id(id) => format!("SpecId {id}"),
        }
    }
}

impl Setting {
    /// Reads `NAME=VALUE`, or `NAME=VALUE,VALUE` for a composite.
    ///
    /// # Errors
    /// `Usage` where there is no `=`, or nothing beside it.
    pub fn parse_named(text: &str) -> Result<Setting> {
        let (name, values) = parts(text, "NAME=VALUE")?;
        Ok(Setting { which: ConstantName::Name(name.to_owned()), values })
    }

    /// Reads `ID=VALUE`.
    ///
    /// # Errors
    /// `Usage` where the id is no number, or a side is missing.
    pub fn parse_id(text: &str) -> Result<Setting> {
        let (id, values) = parts(text, "ID=VALUE")?;
        let id = id.parse().map_err(|_| Error::new(ErrorKind::Usage, format!("`{id}` is no SpecId: a number")))?;
        Ok(Setting { which: ConstantName::Id(id), values })
    }
}

fn parts<'t>(text: &'t str, form: &str) -> Result<(&'t str, Vec<String>)> {
    let wrong = || Error::new(ErrorKind::Usage, format!("`{text}` is not of the form {form}"));
    let (name, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if name.trim().is_empty() || values.iter().any(String::is_empty) { Err(wrong()) } else { Ok((name.trim(), values)) }
}

/// Values that the user sets, and the treatment of all other constants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Values; a later one of the same constant overrides an earlier one.
    pub given: Vec<Setting>,
    /// Whether constants without a value get their defaults.
    pub defaults: bool,
}
