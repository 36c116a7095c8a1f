//! Which part of the work is this run's?

/// One of several parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Shard {
    /// `I/N`, I from 1 to N.
    ///
    /// # Errors
    /// A sentence for clap.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index @ 1.., count)) if index <= count => Ok(Shard { index: index - 1, count }),
            _ => Err("the number of a part and of all parts: 1/4 to 4/4".to_owned()),
        }
    }
}
