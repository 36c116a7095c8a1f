//! How are values made on other threads while earlier ones are used?

use crate::error::Result;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

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
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
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
    use crate::error::Error;

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
