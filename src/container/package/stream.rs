//! How is a compressed stream read without trusting its size?

use super::Budget;
use crate::container::inflate::zstd_effort;
use crate::container::kind::is_zstd_stream;
use crate::error::Result;
use crate::limits;
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Reader that fails when it yields more bytes than a budget, which several readers may share.
pub(super) struct Bounded<'b, R> {
    inner: R,
    budget: &'b Budget<'b>,
}

impl<'b, R: Read> Bounded<'b, R> {
    pub(super) fn new(inner: R, budget: &'b Budget<'b>) -> Self {
        Bounded { inner, budget }
    }
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.left();
        if left == 0 && !out.is_empty() {
            // A stream that ends exactly at the budget is allowed.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(beyond()),
            };
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let read = self.inner.read(out.get_mut(..most).unwrap_or_default())?;
        self.budget.spend(read as u64);
        Ok(read)
    }
}

#[cold]
fn beyond() -> io::Error {
    io::Error::other("the package inflates beyond the limit for its size")
}

/// Bytes of other forms that are inflated in the time of one of bzip2, or of one that xz or deflate reads. Each of a stream within another one
/// counts as so many: what is slow does not shrink much, but another form may repeat it for nothing.
pub(super) const SLOWNESS: u64 = 8;

/// Reader of bzip2 streams, one behind the other.
struct BzStreams<'b> {
    stream: BzDecoder<&'b [u8]>,
    budget: &'b Budget<'b>,
    /// Whether they are within another package.
    is_nested: bool,
}

impl<'b> BzStreams<'b> {
    /// Begins with the stream at the beginning of bytes. The tables that are made for each, by its level, count as what is inflated
    /// in the same time: an empty one has 14 bytes.
    fn new(bytes: &'b [u8], budget: &'b Budget<'b>, is_nested: bool) -> io::Result<Self> {
        const UNIT: u64 = 10_000;
        let level = bytes.get(3).map_or(0, |digit| digit.saturating_sub(b'0'));
        if budget.left() == 0 {
            return Err(beyond());
        }
        budget.spend(u64::from(level).saturating_mul(UNIT));
        Ok(BzStreams { stream: BzDecoder::new(bytes), budget, is_nested })
    }
}

impl Read for BzStreams<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.stream.read(out)?;
            let rest = *self.stream.get_ref();
            if read > 0 || out.is_empty() || rest.is_empty() {
                if self.is_nested {
                    self.budget.spend((read as u64).saturating_mul(SLOWNESS - 1));
                }
                return Ok(read);
            }
            *self = BzStreams::new(rest, self.budget, self.is_nested)?;
        }
    }
}

/// Reader of gzip streams, one behind the other. Zeros behind the last are no stream, as gzip has it.
struct GzStreams<'b>(GzDecoder<Charged<'b>>);

impl Read for GzStreams<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        /// Bytes that are inflated in the time that a stream takes to begin: an empty one has 20.
        const STREAM: u64 = 4096;
        loop {
            let read = self.0.read(out)?;
            let rest = *self.0.get_ref();
            if read > 0 || out.is_empty() || rest.bytes.iter().all(|byte| *byte == 0) {
                return Ok(read);
            }
            if rest.budget.left() == 0 {
                return Err(beyond());
            }
            rest.budget.spend(STREAM);
            self.0 = GzDecoder::new(rest);
        }
    }
}

/// Reader of compressed bytes. Each counts as what is inflated in its time, as much is inflated from it or little: streams and blocks
/// may hold a byte each, or none.
#[derive(Clone, Copy)]
struct Charged<'b> {
    bytes: &'b [u8],
    budget: &'b Budget<'b>,
    /// Bytes of the budget for one that is read: none for those of a file, and [`SLOWNESS`] within another package, whose form may
    /// repeat them for nothing.
    each: u64,
}

impl Read for Charged<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Charged<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        /// Decoders read on while there are bytes, whatever they yield.
        const PIECE: usize = 4096;
        if self.each > 0 && self.budget.left() == 0 {
            return Err(beyond());
        }
        Ok(self.bytes.get(..PIECE).unwrap_or(self.bytes))
    }

    fn consume(&mut self, read: usize) {
        self.budget.spend((read as u64).saturating_mul(self.each));
        self.bytes = self.bytes.get(read..).unwrap_or_default();
    }
}

/// Returns the decoder for a compressed file in so many packages, or none where it is not compressed. Concatenated streams are
/// read as one. Decoders of all packages around it keep their memory meanwhile, so that in deep ones each has less.
pub(super) fn decoder<'a>(
    bytes: &'a [u8],
    budget: &'a Budget<'a>,
    depth: usize,
) -> io::Result<Option<Box<dyn Read + 'a>>> {
    let is_nested = depth > 0;
    let charged = Charged { bytes, budget, each: if is_nested { SLOWNESS } else { 0 } };
    let (xz_memory, zstd_window) = match depth {
        0..=limits::MAX_DEPTH_OF_LARGE_DECODERS => (limits::MAX_XZ_MEMORY, limits::MAX_ZSTD_WINDOW),
        _ => (limits::MAX_DEEP_XZ_MEMORY, limits::MAX_DEEP_ZSTD_WINDOW),
    };
    Ok(Some(if bytes.starts_with(b"\x1f\x8b\x08") {
        Box::new(GzStreams(GzDecoder::new(charged)))
    } else if is_zstd_stream(bytes) {
        // Blocks may be slow, and another form may repeat them for nothing.
        budget.spend(zstd_effort(bytes).saturating_sub(bytes.len() as u64));
        if budget.left() == 0 {
            return Err(beyond());
        }
        let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
        decoder.window_log_max(zstd_window)?;
        Box::new(decoder)
    } else if bytes.starts_with(b"BZh") {
        Box::new(BzStreams::new(bytes, budget, is_nested)?)
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        Box::new(lzma_rust2::XzReader::new_mem_limit(charged, true, xz_memory))
    } else {
        return Ok(None);
    }))
}

/// Returns the name of a compressed file's contents: its name without the suffix.
pub(super) fn inner_name(path: &str) -> Cow<'_, str> {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path);
    let is_tar = |suffix: &&str| name.strip_suffix(*suffix).map(|stem| format!("{stem}.tar").into());
    let tar = [".tgz", ".tzst", ".tbz2", ".tbz", ".txz"].iter().find_map(is_tar);
    let plain = || [".gz", ".zst", ".bz2", ".xz"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    tar.unwrap_or_else(|| plain().into())
}

/// Threads at most: each holds a member, and members below the size of large drafts are in memory.
const MAX_THREADS: usize = 4;

struct State<T> {
    /// Number of the next value to make.
    next: usize,
    /// Number of values that were used.
    used: usize,
    made: HashMap<usize, thread::Result<T>>,
}

/// Makes the values 0 to `count` and hands them to `take` in order. Where no thread can be had, this one makes them.
///
/// # Errors
/// Errors of `take`, which end it.
pub(super) fn in_order<T: Send>(
    count: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(count);
    if threads < 2 {
        return (0..count).try_for_each(|number| take(number, make(number)));
    }
    let state = Mutex::new(State { next: 0, used: 0, made: HashMap::new() });
    let changed = Condvar::new();
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let made = |number: usize| {
        let value = catch_unwind(AssertUnwindSafe(|| make(number)));
        lock().made.insert(number, value);
        changed.notify_all();
    };
    let work = || {
        loop {
            let mut now = lock();
            while now.next < count && now.next > now.used.saturating_add(threads) {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            let number = now.next;
            if number >= count {
                return;
            }
            now.next = number.saturating_add(1);
            drop(now);
            made(number);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            if thread::Builder::new().stack_size(limits::THREAD_STACK).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        let result = (0..count).try_for_each(|number| {
            let mut now = lock();
            let value = loop {
                if let Some(value) = now.made.remove(&number) {
                    break value;
                }
                if now.next == number {
                    now.next = number.saturating_add(1);
                    drop(now);
                    made(number);
                    now = lock();
                } else {
                    now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                }
            };
            drop(now);
            let taken = take(number, value.unwrap_or_else(|panic| resume_unwind(panic)));
            lock().used = number.saturating_add(1);
            changed.notify_all();
            taken
        });
        // Threads make no more.
        lock().next = count;
        changed.notify_all();
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Allowance;
    use crate::error::Error;
    use std::cell::Cell;
    use std::io::Write as _;

    /// All decoders on the way to a member are there at once.
    #[test]
    fn decoders_of_deep_packages_have_less_memory() {
        let of_zstd = |window: u32| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(window).unwrap();
            // A frame that is no longer than a part of its window has a smaller one.
            encoder.include_contentsize(false).unwrap();
            encoder.write_all(b"contents").unwrap();
            encoder.finish().unwrap()
        };
        let of_xz = |preset: u32| {
            let options = lzma_rust2::XzOptions::with_preset(preset);
            let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            writer.write_all(b"contents").unwrap();
            writer.finish().unwrap()
        };
        for (large, usual) in
            [(of_zstd(limits::MAX_ZSTD_WINDOW), of_zstd(limits::MAX_DEEP_ZSTD_WINDOW)), (of_xz(9), of_xz(6))]
        {
            let reads = |bytes: &[u8], depth: usize| {
                let (own, all) = (Cell::new(1 << 20), &Allowance::default());
                let budget = Budget { own, all };
                let mut out = Vec::new();
                let read = decoder(bytes, &budget, depth).map(|decoder| decoder.unwrap().read_to_end(&mut out));
                read.is_ok_and(|read| read.is_ok()) && out == b"contents"
            };
            for depth in 0..=limits::MAX_NESTING {
                assert_eq!(reads(&large, depth), depth <= limits::MAX_DEPTH_OF_LARGE_DECODERS, "{depth}");
                assert!(reads(&usual, depth), "{depth}");
            }
        }
    }

    #[test]
    fn a_budget_is_shared_and_may_be_met_exactly() {
        let (own, all) = (Cell::new(8), &Allowance::default());
        let budget = Budget { own, all };
        let mut out = Vec::new();
        Bounded::new(&b"12345"[..], &budget).read_to_end(&mut out).unwrap();
        Bounded::new(&b"678"[..], &budget).read_to_end(&mut out).unwrap();
        assert_eq!(out, b"12345678");
        assert!(Bounded::new(&b"9"[..], &budget).read_to_end(&mut out).is_err());
        all.spend(limits::MAX_INFLATED - 10);
        let rest = Budget { own: Cell::new(8), all };
        assert_eq!(Bounded::new(&b"01234"[..], &rest).read_to_end(&mut out).unwrap_or(2), 2);
        assert!(out.ends_with(b"801"));
    }

    #[test]
    fn names_lose_their_suffix() {
        assert_eq!(inner_name("a.zip!lib/x.so.gz"), "x.so");
        assert_eq!(inner_name("-"), "-");
        assert_eq!([inner_name("a.tgz"), inner_name("b/a.tar.xz")], ["a.tar", "a.tar"]);
    }

    #[test]
    fn values_come_in_order_and_an_error_ends_it() {
        for count in [0, 1, 2, 50] {
            let mut seen = Vec::new();
            in_order(
                count,
                |number| number * 3,
                |number, value| {
                    seen.push((number, value));
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(seen, (0..count).map(|number| (number, number * 3)).collect::<Vec<_>>());
        }
        let mut last = 0;
        let ended = in_order(
            100,
            |number| number,
            |number, _| {
                last = number;
                if number == 7 { Err(Error::input("enough")) } else { Ok(()) }
            },
        );
        assert!(ended.is_err() && last == 7);
    }
}
