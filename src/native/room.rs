//! How many kernels and arguments may the native code of a file have, and how many bytes may its parts inflate to?
//!
//! A few letters of a text, or a byte of a compressed one, can stand for a kernel or an argument, for which hundreds of bytes are
//! kept. So each is counted before anything is kept for it, and all payloads that are read together take from one room.

use super::Argument;
use crate::container::{Arena, Shares};
use crate::limits;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Items that a payload takes from the room at a time.
const SHARE: usize = 256;

/// Room for what the native payloads that are read together come to.
#[derive(Debug)]
pub(crate) struct Room {
    /// Kernels, arguments, parts and sections that there may yet be.
    items: AtomicUsize,
    /// Bytes that parts may inflate to, and those that are left.
    most: u64,
    shares: Arc<Shares>,
    /// Whether a payload found too little.
    short: AtomicBool,
}

impl Room {
    /// Makes room for payloads of so many stored bytes, whose parts may inflate to so many.
    pub(crate) fn new(bytes: usize, inflated: u64) -> Room {
        let items = (bytes / limits::NATIVE_ITEM_BYTES).saturating_add(limits::MAX_NATIVE_ITEMS);
        let warranted = (bytes as u64).saturating_mul(limits::MAX_INFLATED_NATIVE_RATIO);
        let most = inflated.min(warranted.saturating_add(limits::MAX_INFLATED_FILE_FLOOR));
        Room {
            items: AtomicUsize::new(items.min(limits::MOST_NATIVE_ITEMS)),
            most,
            shares: Arc::new(Shares::for_file(most, bytes)),
            short: AtomicBool::new(false),
        }
    }

    /// Makes room for one payload.
    pub(crate) fn of_one(bytes: usize) -> Room {
        Room::new(bytes, limits::MAX_FILED)
    }

    /// Makes the arena of a payload's parts: a file may have thousands of payloads.
    pub(crate) fn arena(&self, len: usize) -> Arena {
        let wanted = (len as u64).saturating_mul(limits::MAX_INFLATED_RATIO);
        let wanted = wanted.clamp(limits::MAX_INFLATED_PARTS_FLOOR, limits::MAX_FILED);
        Arena::sharing(wanted, Arc::clone(&self.shares))
    }

    /// Notes whether a payload's parts found no room, as others had taken it.
    pub(crate) fn note_refusals(&self, arena: &Arena) {
        if arena.has_refused() {
            self.short.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the bytes that parts inflated to.
    pub(crate) fn inflated(&self) -> u64 {
        self.most.saturating_sub(self.shares.left())
    }

    /// Whether a payload found too little room. Of several that are read at a time, chance says which one does.
    pub(crate) fn is_short(&self) -> bool {
        self.short.load(Ordering::Relaxed)
    }

    /// Takes items, or none where there are not so many.
    fn take(&self, count: usize) -> Option<usize> {
        let left = |left: usize| left.checked_sub(count);
        self.items.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).ok().map(|_| count)
    }
}

/// Kernels, arguments, parts and sections of one payload, which are taken from the room of all.
#[derive(Debug)]
pub(super) struct Items<'r> {
    room: &'r Room,
    /// Items that were taken from the room and not used.
    own: Cell<usize>,
    refused: Cell<bool>,
}

impl<'r> Items<'r> {
    pub(super) fn new(room: &'r Room) -> Self {
        Items { room, own: Cell::new(0), refused: Cell::new(false) }
    }

    /// Counts a kernel, a part or a section before anything is kept for it, a long name as several; none where there is no
    /// room for it.
    pub(super) fn take(&self, name: &str) -> Option<()> {
        let count = (name.len() / limits::NATIVE_NAME_BYTES).saturating_add(1);
        let missing = count.saturating_sub(self.own.get());
        if missing > 0 {
            let more = self.room.take(missing.max(SHARE)).or_else(|| self.room.take(missing));
            let Some(more) = more.filter(|_| !self.refused.get()) else {
                self.refused.set(true);
                self.room.short.store(true, Ordering::Relaxed);
                return None;
            };
            self.own.set(self.own.get().saturating_add(more));
        }
        self.own.set(self.own.get().saturating_sub(count));
        Some(())
    }

    /// Returns the argument of an index, which is counted where it is new; none where there is no room for it.
    pub(super) fn argument<'m>(
        &self,
        arguments: &'m mut BTreeMap<u32, Argument>,
        index: u32,
    ) -> Option<&'m mut Argument> {
        match arguments.entry(index) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                self.take("")?;
                Some(place.insert(Argument { index, ..Argument::default() }))
            }
        }
    }

    /// Whether there was no room for something.
    pub(super) fn refused(&self) -> bool {
        self.refused.get()
    }
}

impl Drop for Items<'_> {
    /// Gives back what was not used.
    fn drop(&mut self) {
        self.room.items.fetch_add(self.own.get(), Ordering::Relaxed);
    }
}
