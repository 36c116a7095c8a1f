//! What does the note say that this program adds to a cubin?
//!
//! An ELF note in a section of its own, whose text has a line for each kernel: the bytes of registers that it spills, a space,
//! its name. Compilers add none, so of their cubins it is known of kernels without a stack alone.

use crate::container::device_elf::DeviceElf;
use std::collections::BTreeMap;

/// Name of the section.
pub(crate) const SECTION: &str = ".note.sycl-bundle";
/// Owner of the note.
pub(crate) const OWNER: &[u8] = b"sycl-bundle";
/// `n_type` of the note.
pub(crate) const KIND: u32 = 1;

/// Returns the bytes that functions spill, by their names, of those that are asked for; of what is damaged nothing.
pub(crate) fn spilled<'a>(elf: &DeviceElf<'a>, is_asked: impl Fn(&str) -> bool) -> BTreeMap<&'a str, u64> {
    let mut notes = elf.section(SECTION).into_iter().flat_map(DeviceElf::notes);
    let own = notes.find(|note| note.owner == OWNER && note.kind == KIND);
    let text = own.and_then(|note| std::str::from_utf8(note.data).ok()).unwrap_or_default();
    let line = |line: &'a str| {
        let (bytes, name) = line.split_once(' ')?;
        is_asked(name).then_some((name, bytes.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}
