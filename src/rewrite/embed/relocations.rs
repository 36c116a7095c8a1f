//! Which relocations do the new pointers need?
//!
//! A position-independent file needs a relative relocation for each new pointer. The table (`.rela.dyn`, or `.relr.dyn`
//! in a file that has only that) cannot grow in place, so an extended copy goes into the new segment and the dynamic
//! section points to it. Relative relocations come first and `DT_RELACOUNT` counts them: loaders rely on both.

use crate::bytes;
use crate::container::Host;
use crate::container::elf::{Elf, Machine};
use crate::error::{Error, Result};
use object::elf::{self, DynamicTag};

const RELA: usize = 24;

/// Relocation table of the file that must grow.
pub(crate) enum Table {
    /// No table: the file is loaded at the address it was linked to.
    None,
    /// `DT_RELA`.
    Rela(Rela),
    /// `DT_RELR` without `DT_RELA`.
    Relr {
        /// Address of the old table.
        address: u64,
        /// The old table.
        old: Vec<u8>,
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
}

impl Table {
    /// Finds the table to extend.
    ///
    /// # Errors
    /// `Input`, with a remedy, where the file's relocations are of a form that cannot be extended.
    pub(crate) fn find(host: &Host<'_>, elf: &Elf<'_>) -> Result<Table> {
        if !elf.is_position_independent() {
            return Ok(Table::None);
        }
        let refuse = |why: &str| {
            Error::input(format!("this file cannot be rewritten: {why}")).with_remedy(
                "use --emit shared: a library beside the file that registers the native images when loaded",
            )
        };
        let machine = elf.machine.ok_or_else(|| refuse("the relocations of its machine are not known"))?;
        let read = |start: DynamicTag, size: DynamicTag| {
            let (start, size) = (elf.dynamic_value(start)?, elf.dynamic_value(size)?);
            Some((start, host.addresses.slice(start, size).map(<[u8]>::to_vec)))
        };
        if let Some((address, old)) = read(elf::DT_RELA, elf::DT_RELASZ) {
            let mut old = old.ok_or_else(|| refuse("its table DT_RELA is not in the file"))?;
            let plt = elf.dynamic_value(elf::DT_JMPREL).zip(elf.dynamic_value(elf::DT_PLTRELSZ));
            let own = without_plt(address, old.len(), plt);
            old.truncate(own.ok_or_else(|| refuse("DT_JMPREL lies within DT_RELA, but not at its end"))?);
            let count = elf.dynamic_value(elf::DT_RELACOUNT).and_then(|count| usize::try_from(count).ok());
            if count.is_some_and(|count| count > old.len() / RELA) {
                return Err(refuse("DT_RELACOUNT is larger than its table"));
            }
            return Ok(Table::Rela(Rela { machine, address, old, count }));
        }
        match read(elf::DT_RELR, elf::DT_RELRSZ) {
            Some((address, Some(old))) => Ok(Table::Relr { address, old }),
            _ => Err(refuse("it is position-independent but has neither DT_RELA nor DT_RELR")),
        }
    }

    /// Returns the extended table. `places` are new pointers (address, value); `moved` are pointers that the file
    /// relocates already (address, new value).
    ///
    /// # Errors
    /// `Input` where a moved pointer is not relocated by the file.
    pub(crate) fn extended(
        &self,
        host: &Host<'_>,
        elf: &Elf<'_>,
        places: &[(u64, u64)],
        moved: &[(u64, u64)],
    ) -> Result<Vec<u8>> {
        match self {
            Table::None => Ok(Vec::new()),
            Table::Rela(rela) => rela.extended(host, elf, places, moved),
            Table::Relr { old, .. } => {
                for &(place, _) in moved {
                    if !elf.relr_covers(&host.addresses, place) {
                        return Err(not_relocated(place));
                    }
                }
                let mut table = old.clone();
                let mut places: Vec<u64> = places.iter().map(|&(place, _)| place).collect();
                places.sort_unstable();
                encode_relr(&places, &mut table);
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
    fn extended(&self, host: &Host<'_>, elf: &Elf<'_>, places: &[(u64, u64)], moved: &[(u64, u64)]) -> Result<Vec<u8>> {
        let mut old = self.old.clone();
        for &(place, value) in moved {
            let index = old.chunks_exact(RELA).position(|entry| bytes::u64_at(entry, 0) == Some(place));
            match index {
                Some(index) => {
                    // A relocation against a symbol of the file becomes a relative one.
                    let entry = entry(place, self.machine.relative(), value);
                    if !bytes::put(&mut old, index.saturating_mul(RELA), &entry) {
                        return Err(not_relocated(place));
                    }
                }
                // A RELR entry beside RELA has its addend in place, which is patched there.
                None if elf.relr_covers(&host.addresses, place) => {}
                None => return Err(not_relocated(place)),
            }
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

/// Appends addresses (sorted, 8-aligned) in RELR's encoding: an even word is an address, each odd word after it is a
/// bitmap of the next 63 words.
pub(in crate::rewrite) fn encode_relr(places: &[u64], table: &mut Vec<u8>) {
    let mut rest = places.iter().copied().peekable();
    while let Some(place) = rest.next() {
        table.extend(place.to_le_bytes());
        let mut base = place.saturating_add(8);
        loop {
            let mut bits = 0u64;
            while let Some(&next) = rest.peek() {
                let slot = next.saturating_sub(base) / 8;
                if slot >= 63 {
                    break;
                }
                bits |= 1 << slot;
                rest.next();
            }
            if bits == 0 {
                break;
            }
            table.extend((bits << 1 | 1).to_le_bytes());
            base = base.saturating_add(63 * 8);
        }
    }
}

#[cold]
fn not_relocated(place: u64) -> Error {
    Error::input(format!("the pointer at address {place:#x} is not relocated, though the file is position-independent"))
        .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded")
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
        RelrIterator::<FileHeader64<LE>>::new(LE, &words).collect()
    }

    #[test]
    fn relr_encodes_what_crate_object_decodes() {
        let places: Vec<u64> =
            [0x1000, 0x1008, 0x1010, 0x11f0, 0x1200, 0x1208, 0x1400, 0x9000, 0x9ff8, 0x20000].to_vec();
        let mut table = Vec::new();
        encode_relr(&places, &mut table);
        assert_eq!(decoded(&table), places);
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
            encode_relr(&old, &mut table);
            encode_relr(&new, &mut table);
            prop_assert_eq!(decoded(&table), [&old[..], &new].concat());
            // No larger than a word for each place.
            prop_assert!(table.len() <= (old.len() + new.len()) * 8);
        }
    }
}
