//! Which relocations do the new pointers need?
//!
//! A position-independent file needs a relative relocation for each new pointer. The table (`.rela.dyn`, or `.relr.dyn`
//! where that is empty or missing) cannot grow in place, so an extended copy goes into the new segment and the dynamic
//! section points to it. Relative relocations come first and `DT_RELACOUNT` counts them: loaders rely on both.

use crate::bytes;
use crate::container::Host;
use crate::container::elf::{Elf, Machine};
use crate::error::{Error, Result};
use object::elf::{self, DynamicTag};
use std::collections::HashMap;

pub(in crate::rewrite) const RELA: usize = 24;
const REMEDY: &str = "use --emit shared: a library beside the file that registers the native images when loaded";

/// Relocation table of the file that must grow.
pub(crate) enum Table {
    /// No table: the file is loaded at the address it was linked to.
    None,
    /// `DT_RELA`.
    Rela(Rela),
    /// `DT_RELR` without `DT_RELA`, or beside an empty one.
    Relr {
        /// Address of the old table.
        address: u64,
        /// The old table.
        old: Relr,
    },
}

/// RELA table to extend.
pub(crate) struct Rela {
    machine: Machine,
    /// Address of the old table.
    pub(crate) address: u64,
    old: Vec<u8>,
    /// Number of leading relative relocations, where the dynamic section counts them.
    count: Option<usize>,
    /// `DT_RELR` beside it.
    relr: Relr,
}

impl Table {
    /// Finds the table to extend.
    ///
    /// # Errors
    /// `Input`, with a remedy, where the file's relocations are of a form that cannot be extended.
    pub(crate) fn find(host: &Host<'_>, elf: &Elf<'_>) -> Result<Table> {
        if !elf.relocates_pointers() {
            return Ok(Table::None);
        }
        let refuse = |why: &str| Error::input(format!("this file cannot be rewritten: {why}")).with_remedy(REMEDY);
        let machine = elf.machine.ok_or_else(|| refuse("the relocations of its machine are not known"))?;
        let relr = table(host, elf, elf::DT_RELR, elf::DT_RELRSZ)?;
        if let Some((address, old)) = table(host, elf, elf::DT_RELA, elf::DT_RELASZ)? {
            let mut old = old.to_vec();
            let plt = elf.dynamic_value(elf::DT_JMPREL).zip(elf.dynamic_value(elf::DT_PLTRELSZ));
            let own = without_plt(address, old.len(), plt);
            old.truncate(own.ok_or_else(|| refuse("DT_JMPREL lies within DT_RELA, but not at its end"))?);
            let count = elf.dynamic_value(elf::DT_RELACOUNT).and_then(|count| usize::try_from(count).ok());
            if count.is_some_and(|count| count > old.len() / RELA) {
                return Err(refuse("DT_RELACOUNT is larger than its table"));
            }
            let read = |table| if let Some((_, table)) = table { Relr::read(table) } else { Ok(Relr::default()) };
            // An empty table has no section that could move with it, or one beside the PLT's, and GNU strip fills what no
            // section covers with zeros.
            if !old.is_empty() || relr.is_none_or(|(_, table)| table.is_empty()) {
                return Ok(Table::Rela(Rela { machine, address, old, count, relr: read(relr)? }));
            }
        }
        match relr {
            Some((address, old)) => Ok(Table::Relr { address, old: Relr::read(old)? }),
            None => Err(refuse("it is position-independent but has neither DT_RELA nor DT_RELR")),
        }
    }

    /// Returns the extended table. `places` are new pointers (address, value); `moved` are pointers that the file
    /// relocates already (address, new value).
    ///
    /// # Errors
    /// `Input` where a moved pointer is not relocated by the file.
    pub(crate) fn extended(&self, places: &[(u64, u64)], moved: &[(u64, u64)]) -> Result<Vec<u8>> {
        match self {
            Table::None => Ok(Vec::new()),
            Table::Rela(rela) => rela.extended(places, moved),
            Table::Relr { old, .. } => {
                if let Some((place, _)) = moved.iter().find(|(place, _)| !old.covers(*place)) {
                    return Err(not_relocated(*place));
                }
                let mut table: Vec<u8> = old.words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let mut places: Vec<u64> = places.iter().map(|&(place, _)| place).collect();
                places.sort_unstable();
                encode_relr(places, &mut table);
                Ok(table)
            }
        }
    }

    /// Returns the changes to the dynamic section: tag and new value.
    pub(crate) fn dynamic(&self, address: u64, table: &[u8], added: usize) -> Vec<(DynamicTag, u64)> {
        let len = table.len() as u64;
        match self {
            Table::None => Vec::new(),
            Table::Rela(rela) => {
                let mut changes = vec![(elf::DT_RELA, address), (elf::DT_RELASZ, len)];
                if let Some(count) = rela.count {
                    changes.push((elf::DT_RELACOUNT, count.saturating_add(added) as u64));
                }
                changes
            }
            Table::Relr { .. } => vec![(elf::DT_RELR, address), (elf::DT_RELRSZ, len)],
        }
    }

    /// Returns the size in bytes of the table that is replaced.
    pub(crate) fn old_size(&self) -> u64 {
        let size = match self {
            Table::None => 0,
            Table::Rela(rela) => rela.old.len(),
            Table::Relr { old, .. } => old.words.len().saturating_mul(size_of::<u64>()),
        };
        size as u64
    }

    /// Returns the address of the table that is replaced.
    pub(crate) fn old_address(&self) -> Option<u64> {
        match self {
            Table::None => None,
            Table::Rela(rela) => Some(rela.address),
            Table::Relr { address, .. } => Some(*address),
        }
    }
}

/// Returns the length of a RELA table without the PLT's part (address and length), which stays where `DT_JMPREL` says.
/// Some linkers count the PLT's relocations, which follow the table, into it, and glibc subtracts them if both end
/// together. None where the two overlap otherwise: glibc would then process the whole table and the PLT's part again,
/// of which `DT_JMPREL` would not know the copy.
fn without_plt(address: u64, len: usize, plt: Option<(u64, u64)>) -> Option<usize> {
    let Some((plt, size)) = plt.filter(|(_, size)| *size > 0) else { return Some(len) };
    let end = address.checked_add(len as u64)?;
    let plt_end = plt.checked_add(size)?;
    if plt >= end || plt_end <= address {
        return Some(len);
    }
    let own = usize::try_from(plt.checked_sub(address)?).ok()?;
    (plt_end == end && own.is_multiple_of(RELA)).then_some(own)
}

impl Rela {
    fn extended(&self, places: &[(u64, u64)], moved: &[(u64, u64)]) -> Result<Vec<u8>> {
        let mut old = self.old.clone();
        let mut values: HashMap<u64, u64> = moved.iter().copied().collect();
        for one in old.as_chunks_mut::<RELA>().0 {
            // A relocation against a symbol of the file becomes a relative one.
            if let Some((place, value)) = bytes::u64_at(one, 0).and_then(|place| values.remove_entry(&place)) {
                *one = entry(place, self.machine.relative(), value);
            }
        }
        // A RELR entry beside RELA has its addend in place, which is patched there.
        if let Some(place) = values.into_keys().filter(|place| !self.relr.covers(*place)).min() {
            return Err(not_relocated(place));
        }
        let split = self.count.map_or(old.len(), |count| count.saturating_mul(RELA)).min(old.len());
        let (relative, rest) = old.split_at_checked(split).unwrap_or((&old, &[]));
        let mut table = Vec::with_capacity(old.len().saturating_add(places.len().saturating_mul(RELA)));
        table.extend_from_slice(relative);
        for &(place, value) in places {
            table.extend(entry(place, self.machine.relative(), value));
        }
        table.extend_from_slice(rest);
        Ok(table)
    }
}

/// Returns an entry of a RELA table.
pub(in crate::rewrite) fn entry(place: u64, kind: u32, addend: u64) -> [u8; RELA] {
    let mut entry = [0; RELA];
    let words = entry.as_chunks_mut::<8>().0;
    for (word, value) in words.iter_mut().zip([place, u64::from(kind), addend]) {
        *word = value.to_le_bytes();
    }
    entry
}

/// Returns a relocation table named by two dynamic entries, as loaders read it, with its address; none where the file has none.
///
/// # Errors
/// `Input` where it is not in the file.
pub(in crate::rewrite) fn table<'a>(
    host: &Host<'a>,
    elf: &Elf<'_>,
    start: DynamicTag,
    size: DynamicTag,
) -> Result<Option<(u64, &'a [u8])>> {
    let Some((address, len)) = elf.dynamic_value(start).zip(elf.dynamic_value(size)) else { return Ok(None) };
    let slice = || {
        host.addresses.slice(address, len)?;
        let at = usize::try_from(host.addresses.file_offset(address)?).ok()?;
        bytes::slice_at(host.bytes, at, usize::try_from(len).ok()?)
    };
    let table = if len == 0 { Some(&[][..]) } else { slice() };
    table.map(|table| Some((address, table))).ok_or_else(|| {
        Error::input(format!("this file cannot be rewritten: its relocations at address {address:#x} are not in it"))
            .with_remedy(REMEDY)
    })
}

/// Addresses of a `DT_RELR` table: an even word is an address, each odd word after it is a bitmap of the next 63 words.
/// They are not listed, since a bitmap stands for many times its size.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct Relr {
    words: Vec<u64>,
    /// Runs by their addresses, apart.
    runs: Vec<Run>,
}

/// Address in a `DT_RELR` table, with its bitmaps.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    /// Position of the first bitmap.
    bitmaps: usize,
}

/// Addresses that a bitmap stands for.
const BITS: u64 = 63;

impl Relr {
    /// Reads a table.
    ///
    /// # Errors
    /// `Input` where it lists addresses twice, or begins with a bitmap.
    pub(in crate::rewrite) fn read(table: &[u8]) -> Result<Relr> {
        let refuse = || {
            Error::input("this file cannot be rewritten: its table DT_RELR lists addresses twice, or begins with none")
                .with_remedy(REMEDY)
        };
        let words: Vec<u64> = table.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut runs: Vec<Run> = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let bitmaps = index.saturating_add(1);
            if word & 1 == 0 {
                runs.push(Run { first: *word, last: *word, bitmaps });
                continue;
            }
            let run = runs.last_mut().ok_or_else(refuse)?;
            // An empty bitmap, as linkers pad with, lists nothing.
            let Some(bit) = (word >> 1).checked_ilog2() else { continue };
            let slots = (index.saturating_sub(run.bitmaps) as u64).saturating_mul(BITS);
            let distance = slots.checked_add(bit.into()).and_then(|slot| slot.checked_add(1)?.checked_mul(8));
            run.last = distance.and_then(|distance| run.first.checked_add(distance)).ok_or_else(refuse)?;
        }
        runs.sort_unstable_by_key(|run| run.first);
        if runs.windows(2).any(|pair| matches!(pair, [one, next] if one.last >= next.first)) {
            return Err(refuse());
        }
        Ok(Relr { words, runs })
    }

    /// Whether the table lists an address.
    pub(in crate::rewrite) fn covers(&self, place: u64) -> bool {
        let after = self.runs.partition_point(|run| run.first <= place);
        let Some(run) = after.checked_sub(1).and_then(|at| self.runs.get(at)) else { return false };
        let distance = place.saturating_sub(run.first);
        if distance == 0 || place > run.last || !distance.is_multiple_of(8) {
            return distance == 0;
        }
        let slot = distance / 8 - 1;
        let at = usize::try_from(slot / BITS).ok().and_then(|nth| run.bitmaps.checked_add(nth));
        at.and_then(|at| self.words.get(at)).is_some_and(|word| word >> (slot % BITS + 1) & 1 == 1)
    }

    /// Returns the addresses, in order.
    pub(in crate::rewrite) fn places(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().flat_map(|run| {
            let bitmaps = self.words.get(run.bitmaps..).unwrap_or_default().iter().take_while(|word| *word & 1 == 1);
            let bases = (run.first..=run.last).step_by(BITS as usize * 8);
            let listed = bases.zip(bitmaps).flat_map(|(base, word)| {
                (1..=BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base.saturating_add(bit * 8))
            });
            std::iter::once(run.first).chain(listed)
        })
    }
}

/// Appends addresses (sorted, 8-aligned) in RELR's encoding.
pub(in crate::rewrite) fn encode_relr(places: impl IntoIterator<Item = u64>, table: &mut Vec<u8>) {
    let mut rest = places.into_iter().peekable();
    while let Some(place) = rest.next() {
        table.extend(place.to_le_bytes());
        let mut base = place.saturating_add(8);
        loop {
            let mut bits = 0u64;
            while let Some(&next) = rest.peek() {
                let slot = next.saturating_sub(base) / 8;
                if slot >= BITS {
                    break;
                }
                bits |= 1 << slot;
                rest.next();
            }
            if bits == 0 {
                break;
            }
            table.extend((bits << 1 | 1).to_le_bytes());
            base = base.saturating_add(BITS * 8);
        }
    }
}

#[cold]
fn not_relocated(place: u64) -> Error {
    Error::input(format!("the pointer at address {place:#x} is not relocated, though the file is position-independent"))
        .with_remedy(REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::LittleEndian as LE;
    use object::elf::{FileHeader64, Relr64};
    use object::read::elf::RelrIterator;
    use proptest::prelude::*;

    fn decoded(table: &[u8]) -> Vec<u64> {
        let words: Vec<Relr64<LE>> =
            table.chunks_exact(8).map(|word| *object::pod::from_bytes::<Relr64<LE>>(word).unwrap().0).collect();
        let decoded: Vec<u64> = RelrIterator::<FileHeader64<LE>>::new(LE, &words).collect();
        assert_eq!(Relr::read(table).unwrap().places().collect::<Vec<_>>(), decoded);
        decoded
    }

    #[test]
    fn relr_encodes_what_crate_object_decodes() {
        let places = [0x1000, 0x1008, 0x1010, 0x11f0, 0x1200, 0x1208, 0x1400, 0x9000, 0x9ff8, 0x20000];
        let mut table = Vec::new();
        encode_relr(places, &mut table);
        assert_eq!(decoded(&table), places);
        let covered = (0xff0..0x2_0010).filter(|place| Relr::read(&table).unwrap().covers(*place));
        assert_eq!(covered.collect::<Vec<_>>(), places);
    }

    #[test]
    fn addresses_that_stand_twice_are_refused() {
        let words = |all: &[u64]| all.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // Runs in any order, behind each other's padding.
        assert!(Relr::read(&words(&[0x2000, 3, 1, 1, 0x1000, 1 << 63 | 1, 1, 0x2010])).is_ok());
        for twice in
            [&[0x1000, 3, 0x1008][..], &[0x1000, 0x1000], &[0x1000, 1, 3, 0x1200], &[3, 0x1000], &[u64::MAX - 7, 3]]
        {
            assert!(Relr::read(&words(twice)).is_err(), "{twice:x?}");
        }
    }

    #[test]
    fn the_plt_is_cut_off_at_the_end_only() {
        let own = |plt| without_plt(0x1000, 240, Some(plt));
        assert_eq!(without_plt(0x1000, 240, None), Some(240));
        for apart in [(0x10f0, 48), (0xfd0, 48), (0x9000, 48), (0x1018, 0)] {
            assert_eq!(own(apart), Some(240), "{apart:x?}");
        }
        assert_eq!(own((0x10c0, 48)), Some(192));
        assert_eq!(own((0x1000, 240)), Some(0));
        for within in [(0x1000, 24), (0x1018, 24), (0x10c0, 24), (0x10c0, 72), (0xfd0, 72), (0xfd0, 288), (0x10c8, 40)]
        {
            assert_eq!(own(within), None, "{within:x?}");
        }
        assert_eq!(own((u64::MAX - 8, 48)), None);
    }

    proptest! {
        /// Whatever the distances, and whatever stands in the table already.
        #[test]
        fn relr_holds_every_place(
            old in prop::collection::vec(1u64..200, 0..40),
            new in prop::collection::vec(prop_oneof![9 => 1u64..3, 3 => 60u64..70, 1 => 1u64..1 << 20], 1..400),
        ) {
            let places = |start: u64, gaps: &[u64]| -> Vec<u64> {
                gaps.iter().scan(start, |at, gap| { *at += gap * 8; Some(*at) }).collect()
            };
            let (old, new) = (places(0x1000, &old), places(0x100_0000, &new));
            let mut table = Vec::new();
            encode_relr(old.iter().copied(), &mut table);
            encode_relr(new.iter().copied(), &mut table);
            prop_assert_eq!(decoded(&table), [&old[..], &new].concat());
            // No larger than a word for each place.
            prop_assert!(table.len() <= (old.len() + new.len()) * 8);
        }
    }
}
