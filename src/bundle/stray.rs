//! Which image structures are in no list that is known?
//!
//! The runtime registers what constructors hand to it, and reads the number of images and the address of the first alone: of a
//! list it asks neither the version nor where it stands. What is no list to [`super::structure::find`] may be one to the
//! runtime, so that its images would run unseen. They show by themselves: a structure has a version, a kind, a target and
//! a payload. The structures that a rewriter left behind are those of listed images, or have no head any more.

use super::format::Format;
use super::image::EntryLayout;
use super::structure::{Descriptor, ImageLayout, count, is_printable, sound_image};
use crate::container::Host;
use crate::container::address::AddressMap;
use crate::{bytes, limits};
use std::cell::{Cell, LazyCell};
use std::collections::HashSet;

/// Heads of structures: version (2 bytes) and kind.
const HEADS: [[u8; 3]; 4] = [[3, 0, 4], [3, 0, 8], [1, 0, 4], [2, 0, 4]];
/// Layouts that a structure of an unknown version may have.
const LAYOUTS: [ImageLayout; 2] = [ImageLayout::WithManifest, ImageLayout::Version3];
/// Structures that are looked for: one tells that there are some.
const MOST: usize = 256;

/// Returns the addresses of some such structures, or of all.
pub(super) fn find(host: &Host<'_>, descriptors: &[Descriptor]) -> Vec<u64> {
    let map = &host.addresses;
    let known = Known::new(map, descriptors);
    let mut found = structures(map, MOST, |address| known.lacks(map, address));
    found.extend(unknown_versions(map).take(MOST));
    found.extend(unknown_fields(map).filter(|address| !known.listed.contains(address)).take(MOST));
    found
}

/// Returns the addresses of all structures with the contents of some that go, but of none that stays: edits leave copies. Each is
/// given with its layout.
pub(crate) fn copies(host: &Host<'_>, go: &[(u64, ImageLayout)], stay: &[(u64, ImageLayout)]) -> Vec<u64> {
    let map = &host.addresses;
    let contents_of = |all: &[(u64, ImageLayout)]| -> HashSet<Contents> {
        all.iter().map(|(address, layout)| contents(map, *address, *layout)).collect()
    };
    let (mut gone, kept) = (contents_of(go), contents_of(stay));
    gone.retain(|contents| !kept.contains(contents));
    if gone.is_empty() {
        return Vec::new();
    }
    let is_copy =
        |address| sound_image(map, address).is_some_and(|layout| gone.contains(&contents(map, address, layout)));
    structures(map, usize::MAX, is_copy)
}

/// Finds structures, at most so many of a segment.
fn structures(map: &AddressMap<'_>, most: usize, is_wanted: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut found = Vec::new();
    for segment in map.segments().iter().filter(|segment| segment.holds_pointers) {
        let is_wanted = |address: &u64| is_wanted(*address);
        if map.is_unaligned() {
            let addresses = HEADS.iter().flat_map(|head| segment.places(head));
            found.extend(addresses.filter(is_wanted).take(most));
        } else {
            let addresses = segment.runs(0).flat_map(|(first, words)| {
                let heads =
                    words.iter().enumerate().filter(|(_, word)| HEADS.iter().any(|head| word.starts_with(head)));
                heads.filter_map(move |(nth, _)| first.checked_add(nth as u64 * 8))
            });
            found.extend(addresses.filter(is_wanted).take(most));
        }
    }
    found
}

/// Structures that are accounted for.
struct Known {
    /// Addresses of listed ones.
    listed: HashSet<u64>,
    /// Payloads and tables of listed ones.
    contents: HashSet<Contents>,
}

/// Addresses of a structure's payload and tables.
type Contents = (u64, u64, [u64; 4]);

impl Known {
    fn new(map: &AddressMap<'_>, descriptors: &[Descriptor]) -> Known {
        let places = descriptors.iter().flat_map(|list| {
            let address = |nth| list.images.saturating_add(u64::from(nth).saturating_mul(list.layout.stride()));
            (0..list.count).map(move |nth| (address(nth), list.layout))
        });
        let mut known = Known { listed: HashSet::new(), contents: HashSet::new() };
        // No more images than that are read, of lists that overlap by the thousands, too.
        for (address, layout) in places.take(limits::MAX_IMAGES) {
            if known.listed.insert(address) {
                known.contents.insert(contents(map, address, layout));
            }
        }
        known
    }

    /// Whether there is a structure at an address that is not accounted for.
    fn lacks(&self, map: &AddressMap<'_>, address: u64) -> bool {
        if self.listed.contains(&address) {
            return false;
        }
        let Some(layout) = sound_image(map, address).filter(|layout| has_tables(map, address, *layout)) else {
            return false;
        };
        let contents = contents(map, address, layout);
        contents.0 < contents.1 && !self.contents.contains(&contents)
    }
}

/// Whether what looks like a structure has the tables of one, and pointers where a loader makes some. Other data, as the record of
/// an edit, may begin like a structure.
fn has_tables(map: &AddressMap<'_>, address: u64, layout: ImageLayout) -> bool {
    let field = |at| field(map, address, at);
    // Pointers to no bytes of the file lead to zeros.
    let is_text = |at: u64| map.tail(field(at)).is_none() || map.c_string(field(at)).is_some();
    let is_table = |at: u64, strides: &[u64]| {
        let len = field(at + 8).checked_sub(field(at));
        len.is_some_and(|len| strides.iter().any(|stride| len % stride == 0) && map.slice(field(at), len).is_some())
    };
    let is_relocated = map.is_unaligned() || map.first_changed(address.saturating_add(8), 8).is_some();
    let entries = [EntryLayout::Old, EntryLayout::New].map(EntryLayout::stride);
    is_relocated
        && is_text(16)
        && is_text(24)
        && is_table(layout.entries(), &entries)
        // Upstream LLVM's are text.
        && is_table(layout.properties(), if layout == ImageLayout::Upstream3 { &[1] } else { &[24] })
}

/// Returns the word at an offset of a structure; 0 beyond the file.
fn field(map: &AddressMap<'_>, address: u64, at: u64) -> u64 {
    map.pointer(address.saturating_add(at)).unwrap_or(0)
}

fn contents(map: &AddressMap<'_>, address: u64, layout: ImageLayout) -> Contents {
    let field = |at| field(map, address, at);
    let tables = [16, 24, layout.entries(), layout.properties()].map(field);
    (field(layout.payload()), field(layout.payload() + 8), tables)
}

/// Returns the addresses of what lists hold first, where that has a target and code as a structure has, and no head that is known: the
/// runtime reads none.
fn unknown_versions<'m>(map: &'m AddressMap<'_>) -> impl Iterator<Item = u64> + 'm {
    let segments = map.segments().iter().filter(|segment| segment.holds_pointers);
    let pairs = segments.flat_map(|segment| segment.runs(1)).flat_map(|(first, words)| {
        words.windows(2).enumerate().map(move |(nth, pair)| (first.saturating_add(nth as u64 * 8), pair))
    });
    // Records of edits hold counts and addresses, too, which no loader writes.
    let pointers = pairs.filter_map(move |(place, pair)| {
        let [head, images] = [0, 1].map(|at| pair.get(at).map_or(0, |word| u64::from_le_bytes(*word)));
        count(head).filter(|_| map.may_be_pointer(place.saturating_add(8))).map(|count| (count, images))
    });
    // Sections that linkers merge are open, too, and hold no pointers.
    let open = move |at: u64| has_open_pointer(map, at);
    // Lists of a hostile file may overlap by the thousands.
    let left = Cell::new(limits::MAX_IMAGES);
    let found = pointers.filter(move |(count, at)| {
        let target = at.saturating_add(8);
        let name = map.pointer(target).and_then(|target| map.c_string_within(target, limits::MAX_NAME));
        // A pointer that is not known may be any.
        let may_be = |is_wanted: fn(&[u8]) -> bool| open(target) || name.is_some_and(is_wanted);
        let has_code = |layout: ImageLayout| {
            let code = at.saturating_add(layout.payload());
            let is_open = open(code) || open(code.saturating_add(8));
            let are_pointers = [target, code, code.saturating_add(8)].iter().all(|field| map.may_be_pointer(*field));
            are_pointers && (may_be(is_printable) && is_code(map, code) || may_be(is_target) && is_open)
        };
        let is_one = |layout| has_code(layout) && may_be_read(map, (*count, *at), layout, &left);
        sound_image(map, *at).is_none() && LAYOUTS.into_iter().any(is_one)
    });
    found.map(|(_, at)| at)
}

/// Whether the runtime may come to the end of so many structures at an address. Code before data may look like a count of thousands:
/// the end of LLD's `.plt` with 256 to 511 functions is in memory right before the first relocated word, `__dso_handle`, which
/// holds its own address.
fn may_be_read(map: &AddressMap<'_>, (count, images): (u16, u64), layout: ImageLayout, left: &Cell<usize>) -> bool {
    (0..u64::from(count)).all(|nth| {
        let Some(rest) = left.get().checked_sub(1) else { return true };
        left.set(rest);
        let image = nth.checked_mul(layout.stride()).and_then(|distance| images.checked_add(distance));
        image.is_none_or(|image| has_entries(map, image.saturating_add(layout.entries())))
    })
}

/// Whether the runtime may come to the end of the entries that pointers at an address lead to: it follows each that is not the end.
/// A pointer that is not known may be any.
fn has_entries(map: &AddressMap<'_>, at: u64) -> bool {
    let known = |place: u64| map.pointer(place).filter(|_| map.first_open(place, 8).is_none() && !map.varies(place, 8));
    let places = [at, at.saturating_add(8)];
    let [Some(begin), Some(end)] = places.map(known) else { return true };
    let len = end.checked_sub(begin);
    let is_followed =
        || len.is_some_and(|len| len.is_multiple_of(8)) && places.iter().all(|at| map.may_be_pointer(*at));
    begin == end || is_followed()
}

/// Whether a loader writes a pointer that is not known to an address, or a half of one.
fn has_open_pointer(map: &AddressMap<'_>, at: u64) -> bool {
    [0, 4].iter().any(|half| map.open_pointers().binary_search(&at.saturating_add(*half)).is_ok())
}

/// Whether a text is the target of an image.
fn is_target(name: &[u8]) -> bool {
    [&b"spir"[..], b"nvptx", b"amdgcn", b"native_cpu"].iter().any(|begin| name.starts_with(begin))
}

/// Whether there are pointers at an address to the begin and end of device code, of a format that is known.
fn is_code(map: &AddressMap<'_>, at: u64) -> bool {
    let code = || {
        let (start, end) = (map.pointer(at)?, map.pointer(at.checked_add(8)?)?);
        // The file begins like code for a GPU.
        let is_known = start > 0 && start < end && map.first_open(at, 16).is_none();
        map.slice(start, end.checked_sub(start)?).filter(|_| is_known)
    };
    code().is_some_and(|code| Format::sniff(code) != Format::Unknown)
}

/// Returns the addresses of what would be a structure, were it not for fields that a relocation writes something unknown into.
fn unknown_fields<'m>(map: &'m AddressMap<'_>) -> impl Iterator<Item = u64> + 'm {
    /// Offsets of the head, the target and the payloads of both layouts.
    const FIELDS: [u64; 6] = [0, 8, 32, 40, 48, 56];
    let open = move |at: u64| has_open_pointer(map, at);
    let target = move |at: u64| map.c_string_within(map.pointer(at.checked_add(8)?)?, limits::MAX_NAME);
    let payload = move |at: u64, layout: ImageLayout| {
        let [start, end] = [0, 8].map(|field| at.saturating_add(layout.payload()).saturating_add(field));
        if open(start) || open(end) {
            return Some(true);
        }
        let size = map.pointer(end)?.checked_sub(map.pointer(start)?)?;
        Some(map.slice(map.pointer(start)?, size).is_some_and(|bytes| !bytes.is_empty()))
    };
    // Tables of addresses of symbols hold nothing but such words: a structure of a list is pointed to by a word that a loader writes.
    let pointers = LazyCell::new(move || {
        let segments = map.segments().iter().filter(|segment| segment.holds_pointers);
        let words = segments.flat_map(|segment| segment.runs(0)).flat_map(|(first, words)| {
            words.iter().enumerate().map(move |(nth, word)| (first.saturating_add(nth as u64 * 8), word))
        });
        let is_pointer = |place| map.first_changed(place, 8).is_some() && map.first_open(place, 8).is_none();
        let pointers = words.filter(|(place, word)| **word != [0; 8] && is_pointer(*place));
        let mut words: Vec<u64> = pointers.map(|(_, word)| u64::from_le_bytes(*word)).collect();
        words.sort_unstable();
        words
    });
    let is_one = move |at: &u64| -> Option<bool> {
        if open(*at) {
            // Much else begins with an unknown word and a text: only a target's name tells, or device code.
            let named = target(*at).filter(|_| !open(at.saturating_add(8)));
            let is_target = named.is_some_and(is_target);
            if !is_target && !map.is_unaligned() && pointers.binary_search(at).is_err() {
                return None;
            }
            // The words before a table of sizes are none.
            let are_pointers = |layout: &ImageLayout| {
                let fields = [8, layout.payload(), layout.payload() + 8];
                fields.iter().all(|field| map.may_be_pointer(at.saturating_add(*field)))
            };
            let is_wanted = |layout: &ImageLayout| {
                payload(*at, *layout) == Some(true) && (is_target || is_code(map, at.saturating_add(layout.payload())))
            };
            return Some(LAYOUTS.iter().any(|layout| are_pointers(layout) && is_wanted(layout)));
        }
        let head = map.slice(*at, 3)?;
        let layout = ImageLayout::from_version(bytes::u16_at(head, 0)?, *head.get(2)?)?;
        Some((open(at.checked_add(8)?) || target(*at).is_some_and(is_printable)) && payload(*at, layout)?)
    };
    let words = map.open_pointers().iter().flat_map(|place| [Some(*place), place.checked_sub(4)]).flatten();
    let places = words.flat_map(|word| FIELDS.iter().filter_map(move |field| word.checked_sub(*field)));
    places.filter(move |at| is_one(at) == Some(true))
}
