//! How many modules may be compiled at once, so that memory suffices?
//!
//! Modules stand in the order in which they are to be begun, the largest first. Under a limit one is begun where the
//! estimates of all that are being compiled, and its own, stay within; one that is larger than the limit is compiled
//! alone. Smaller ones go before one that has to wait, until together they are as large as it: nothing waits for ever.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of a worker with its compiler, before there is any module.
const BASE: u64 = 200 << 20;
/// Bytes that a compiler takes per byte of a module.
const FACTOR: u64 = 1000;
/// Longest sleep of a thread before it looks whether all has ended.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most memory that a worker takes while it compiles a module of so many bytes.
///
/// Measured with Intel's OpenCL CPU driver 2026.2 (VmHWM of the worker): 172 MB with the smallest module, at most 208 MB with
/// modules of 11 to 25 kB, 257 MB with one of 83 kB (oneMKL's), 196 MB with one of 146 kB. ocloc 22.43: 138 MB, and 177 MB
/// with that of 146 kB. The estimate is above all of these.
pub(super) fn estimate(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(FACTOR).saturating_add(BASE)
}

/// Modules that are not begun yet, by their places, and what those that are take.
#[derive(Debug)]
pub(super) struct Queue {
    limit: Option<u64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    left: VecDeque<(usize, u64)>,
    used: u64,
    running: usize,
    /// Number of jobs that overtook the first in the queue since it became the first.
    passed: u64,
}

/// Result of asking the queue for work.
#[derive(Debug)]
pub(super) enum Taken<'q> {
    /// A module.
    Job(Share<'q>),
    /// Nothing, until another is done.
    Later,
    /// Nothing any more.
    Nothing,
}

/// A module that is being compiled; its memory is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Share<'q> {
    /// Place of the job in the queue's list.
    pub place: usize,
    /// Whether its worker may be too large to be kept beside others.
    pub large: bool,
    bytes: u64,
    queue: &'q Queue,
}

impl Queue {
    /// Of places and estimates, in the order in which they are to be begun.
    pub fn new(jobs: impl Iterator<Item = (usize, u64)>, limit: Option<u64>) -> Queue {
        let state = State { left: jobs.collect(), ..State::default() };
        Queue { limit, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is left to begin.
    pub fn is_empty(&self) -> bool {
        self.state().left.is_empty()
    }

    /// Leaves what is not begun.
    pub fn clear(&self) {
        self.state().left.clear();
        self.changed.notify_all();
    }

    /// The next module.
    pub fn take(&self) -> Taken<'_> {
        let state = &mut *self.state();
        let Some((_, first)) = state.left.front().copied() else { return Taken::Nothing };
        let free = self.limit.map(|limit| limit.saturating_sub(state.used));
        let fits = |bytes: u64| free.is_none_or(|free| bytes <= free);
        let at = if state.running == 0 || fits(first) {
            Some(0)
        } else {
            let before = state.passed;
            state.left.iter().position(|(_, bytes)| fits(*bytes) && before.saturating_add(*bytes) <= first)
        };
        let Some((at, (place, bytes))) = at.and_then(|at| Some((at, state.left.remove(at)?))) else {
            return Taken::Later;
        };
        state.passed = if at == 0 { 0 } else { state.passed.saturating_add(bytes) };
        state.used = state.used.saturating_add(bytes);
        state.running = state.running.saturating_add(1);
        // More than twice an empty worker: most of it is the module's.
        Taken::Job(Share { place, large: self.limit.is_some() && bytes > 2 * BASE, bytes, queue: self })
    }

    /// Sleeps until one is done, or for a moment.
    pub fn wait(&self) {
        let state = self.state();
        if !state.left.is_empty() && state.running > 0 {
            drop(self.changed.wait_timeout(state, PATIENCE));
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.used = state.used.saturating_sub(self.bytes);
        state.running = state.running.saturating_sub(1);
        drop(state);
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(taken: &Taken<'_>) -> Option<usize> {
        match taken {
            Taken::Job(share) => Some(share.place),
            Taken::Later | Taken::Nothing => None,
        }
    }

    fn queue(sizes: &[u64], limit: Option<u64>) -> Queue {
        Queue::new(sizes.iter().copied().enumerate(), limit)
    }

    #[test]
    fn without_a_limit_the_order_is_kept() {
        let queue = queue(&[900, 800, 1], None);
        let all = [queue.take(), queue.take(), queue.take()];
        assert_eq!(all.each_ref().map(place), [Some(0), Some(1), Some(2)]);
        assert!(matches!(queue.take(), Taken::Nothing) && queue.is_empty());
    }

    #[test]
    fn one_beyond_the_limit_is_compiled_alone() {
        let queue = queue(&[150, 10], Some(100));
        let large = queue.take();
        assert_eq!(place(&large), Some(0));
        assert!(matches!(queue.take(), Taken::Later));
        drop(large);
        assert_eq!(place(&queue.take()), Some(1));
    }

    #[test]
    fn smaller_ones_fill_the_rest_and_do_not_hold_up_the_large_for_ever() {
        let queue = queue(&[70, 60, 25, 25, 25, 25], Some(100));
        let first = queue.take();
        let second = queue.take();
        assert_eq!((place(&first), place(&second)), (Some(0), Some(2)), "60 does not fit beside 70");
        drop(second);
        let second = queue.take();
        assert_eq!(place(&second), Some(3));
        drop(second);
        assert!(matches!(queue.take(), Taken::Later), "a third of 25 would be more than 60 that went before it");
        drop(first);
        let large = queue.take();
        assert_eq!(place(&large), Some(1));
        let beside = [queue.take(), queue.take()];
        assert_eq!(beside.each_ref().map(place), [Some(4), None]);
    }

    /// Whatever threads do, the sum stays within the limit unless one is alone, and all are done.
    #[test]
    fn the_sum_stays_below() {
        let sizes: Vec<u64> = (0..200u64).map(|at| (at * 7919) % 97 + 20).rev().collect();
        let queue = queue(&sizes, Some(110));
        let (done, now) = (Mutex::new(0usize), Mutex::new((0u64, 0usize)));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        match queue.take() {
                            Taken::Nothing => return,
                            Taken::Later => queue.wait(),
                            Taken::Job(share) => {
                                let size = sizes[share.place];
                                {
                                    let mut now = now.lock().unwrap();
                                    *now = (now.0 + size, now.1 + 1);
                                    assert!(now.0 <= 110 || now.1 == 1, "{now:?}");
                                }
                                std::thread::yield_now();
                                let mut now = now.lock().unwrap();
                                *now = (now.0 - size, now.1 - 1);
                                *done.lock().unwrap() += 1;
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(*done.lock().unwrap(), sizes.len());
    }
}
