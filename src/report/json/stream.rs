//! How do several threads write one text in order?
//!
//! Nobody waits for a whole batch: threads take the next share of the items as they come free, and the caller's, which
//! alone has the writer, works like the others and writes what is complete in between. What is ahead of the writer is
//! bounded, and its texts are used again, so that memory follows neither the items nor the speed of the output.

use crate::compat::examine::SHARE;
use crate::error::{Problem, Result};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shares per thread that may be begun before the first of them is written.
const AHEAD: usize = 4;

/// The result of a share.
#[derive(Default)]
struct Done {
    text: String,
    problems: Vec<Problem>,
}

/// The progress of all shares.
#[derive(Default)]
struct Line {
    /// The first share that nobody has taken.
    next: usize,
    /// The first share that has not been written.
    written: usize,
    done: BTreeMap<usize, Done>,
    /// Texts that were written.
    spare: Vec<String>,
    /// Whether the writer failed, or a thread died.
    stopped: bool,
}

struct Stream<'i, T, P> {
    items: &'i [T],
    put: P,
    shares: usize,
    ahead: usize,
    line: Mutex<Line>,
    changed: Condvar,
}

/// Writes what `put` makes of each share of the items, in order; gives what was found wrong with them.
///
/// # Errors
/// Errors of `write`.
pub(in crate::report) fn stream<T: Sync, P: Fn(&mut String, &[T]) -> Vec<Problem> + Sync>(
    items: &[T],
    put: P,
    write: impl FnMut(&str) -> Result<()>,
) -> Result<Vec<Problem>> {
    let shares = items.len().div_ceil(SHARE);
    // Files of few images need no threads.
    let threads = if shares > 1 { rayon::current_num_threads().min(shares) } else { 1 };
    let ahead = threads.saturating_mul(AHEAD);
    let stream = Stream { items, put, shares, ahead, line: Mutex::default(), changed: Condvar::new() };
    if threads < 2 {
        return stream.write(write);
    }
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| stream.help());
        }
        stream.write(write)
    })
}

/// Tells the others, should a thread die, that nobody waits for its share.
struct Alive<'s, 'i, T, P>(&'s Stream<'i, T, P>);

impl<T, P> Drop for Alive<'_, '_, T, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.line().stopped = true;
            self.0.changed.notify_all();
        }
    }
}

impl<T, P> Stream<'_, T, P> {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'l>(&self, line: MutexGuard<'l, Line>) -> MutexGuard<'l, Line> {
        self.changed.wait(line).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, P: Fn(&mut String, &[T]) -> Vec<Problem>> Stream<'_, T, P> {
    /// Takes a share and a text for it, where one may be begun now.
    fn take(&self, line: &mut Line) -> Option<(usize, String)> {
        let share = line.next;
        if share >= self.shares || share >= line.written.saturating_add(self.ahead) {
            return None;
        }
        line.next = share.saturating_add(1);
        Some((share, line.spare.pop().unwrap_or_default()))
    }

    fn fill(&self, share: usize, mut text: String) -> Done {
        text.clear();
        let problems = (self.put)(&mut text, self.items.chunks(SHARE).nth(share).unwrap_or_default());
        Done { text, problems }
    }

    /// Works until no share is left.
    fn help(&self) {
        let _alive = Alive(self);
        let mut line = self.line();
        while !line.stopped && line.next < self.shares {
            let Some((share, text)) = self.take(&mut line) else {
                line = self.wait(line);
                continue;
            };
            drop(line);
            let done = self.fill(share, text);
            line = self.line();
            line.done.insert(share, done);
            if line.written == share {
                self.changed.notify_all();
            }
        }
    }

    /// Works too, and writes what is complete.
    fn write(&self, mut write: impl FnMut(&str) -> Result<()>) -> Result<Vec<Problem>> {
        let _alive = Alive(self);
        let mut all = Vec::new();
        let mut line = self.line();
        while !line.stopped && line.written < self.shares {
            let first = line.written;
            if let Some(mut done) = line.done.remove(&first) {
                drop(line);
                let written = write(&done.text);
                all.append(&mut done.problems);
                line = self.line();
                line.written = first.saturating_add(1);
                line.spare.push(done.text);
                line.stopped |= written.is_err();
                self.changed.notify_all();
                written?;
            } else if let Some((share, text)) = self.take(&mut line) {
                drop(line);
                let done = self.fill(share, text);
                line = self.line();
                line.done.insert(share, done);
            } else {
                line = self.wait(line);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Problems whose texts say which items they are of.
    fn put(text: &mut String, items: &[usize]) -> Vec<Problem> {
        items.iter().for_each(|item| text.push_str(&format!("{item},")));
        let odd = items.iter().filter(|&item| item % 7 == 3);
        odd.map(|&item| Problem::of_image(item, Error::input("odd"))).collect()
    }

    #[test]
    fn order_is_kept_whatever_the_number_of_items_and_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in [0, 1, SHARE, SHARE + 1, 1000] {
                let items: Vec<usize> = (0..count).collect();
                let mut text = String::new();
                let problems = pool.install(|| {
                    stream(&items, put, |part| {
                        text.push_str(part);
                        Ok(())
                    })
                });
                assert_eq!(text, items.iter().map(|item| format!("{item},")).collect::<String>());
                let wrong: Vec<usize> = problems.unwrap().iter().filter_map(|problem| problem.image).collect();
                assert_eq!(wrong, items.into_iter().filter(|item| item % 7 == 3).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_writer_that_fails_ends_the_work() {
        let items: Vec<usize> = (0..100_000).collect();
        let mut parts = 0;
        let result = stream(&items, put, |_| {
            parts += 1;
            if parts < 3 { Ok(()) } else { Err(Error::input("full")) }
        });
        assert_eq!((result.unwrap_err().message().as_str(), parts), ("full", 3));
    }
}
