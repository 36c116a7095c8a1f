//! In which form do verbs print what they found or did, where they have no form of their own?

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Answer {
    /// For people
    Table,
    /// One document
    Json,
}

/// The form of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Summary {
    /// A summary on standard error
    Text,
    /// A document on standard output
    Json,
}
