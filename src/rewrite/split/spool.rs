//! Where are the images of a split stored while others are cut?
//!
//! Together they are larger than the module, and only their names are needed until all are cut. In memory they would
//! dominate the cost of a large module, so a caller can have them written to a file that is mapped at the end.

use crate::bundle::image::Image;
use crate::container::arena::{Arena, Owner};
use crate::error::{Error, Result};

/// Storage that bytes are appended to, and that is read once it is complete.
pub trait Spool {
    /// Appends bytes.
    ///
    /// # Errors
    /// An error of writing.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Returns everything that was appended.
    ///
    /// # Errors
    /// An error of reading.
    fn finish(self: Box<Self>) -> Result<Owner>;
}

/// Opens a spool for the images of a module of this many bytes, or returns none where they stay in memory.
pub type Opening<'o> = dyn Fn(u64) -> Result<Option<Box<dyn Spool + 'o>>> + 'o;

/// Returns no spool, whatever the module's size.
///
/// # Errors
/// None.
pub fn in_memory<'o>(_: u64) -> Result<Option<Box<dyn Spool + 'o>>> {
    Ok(None)
}

/// Payloads of the images of one split.
pub(super) struct Waiting<'o> {
    spool: Option<Box<dyn Spool + 'o>>,
    /// Length of each image in the spool.
    lengths: Vec<usize>,
}

impl<'o> Waiting<'o> {
    pub(super) fn begin(opening: &Opening<'o>, size: u64) -> Result<Waiting<'o>> {
        Ok(Waiting { spool: opening(size)?, lengths: Vec::new() })
    }

    /// Stores the next image's bytes. Returns them, or nothing where they are in the spool until the end.
    pub(super) fn add<'k>(&mut self, arena: &'k Arena, bytes: Vec<u8>) -> Result<&'k [u8]> {
        match &mut self.spool {
            None => arena.keep(bytes),
            Some(spool) => {
                spool.append(&bytes)?;
                self.lengths.push(bytes.len());
                Ok(&[])
            }
        }
    }

    /// Sets the payloads of all images.
    pub(super) fn end<'k>(self, arena: &'k Arena, images: &mut [Image<'k>]) -> Result<()> {
        let Some(spool) = self.spool else { return Ok(()) };
        let mut rest = arena.keep_owner(spool.finish()?)?;
        for (image, length) in images.iter_mut().zip(self.lengths) {
            let cut = rest.split_at_checked(length);
            (image.stored, rest) = cut.ok_or_else(|| Error::input("the file of the parts is not what was written"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Spool for Bytes {
        fn append(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.extend(bytes);
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<Owner> {
            Ok(Box::new(self.0))
        }
    }

    #[test]
    fn images_get_their_own_bytes_from_the_spool_or_at_once() {
        let arena = Arena::default();
        let parts = [vec![1], vec![], vec![2, 3]];
        let openings: [&Opening<'_>; 2] = [&in_memory, &|_| Ok(Some(Box::new(Bytes(Vec::new()))))];
        for opening in openings {
            let mut waiting = Waiting::begin(opening, 9).unwrap();
            let add = |part: &Vec<u8>| Image::bare(waiting.add(&arena, part.clone()).unwrap(), 0);
            let mut images: Vec<Image<'_>> = parts.iter().map(add).collect();
            waiting.end(&arena, &mut images).unwrap();
            assert_eq!(images.iter().map(|image| image.stored).collect::<Vec<_>>(), parts);
        }
    }

    #[test]
    fn a_spool_that_lost_bytes_is_an_error() {
        let arena = Arena::default();
        let mut waiting = Waiting::begin(&|_| Ok(Some(Box::new(Bytes(Vec::new())))), 9).unwrap();
        let mut images = [Image::bare(waiting.add(&arena, vec![7; 4]).unwrap(), 0)];
        waiting.lengths = vec![5];
        assert!(waiting.end(&arena, &mut images).is_err());
    }
}
