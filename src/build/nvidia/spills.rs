//! How many registers does a kernel spill, and who is told?
//!
//! A cubin says of each kernel how much stack it takes, for spilled registers and private arrays together; only the log of ptxas
//! (`-v`) tells them apart. So what the log says is written into the cubin: a note of this program (ELF, section
//! [`SECTION`]), which the driver passes over and [`crate::native`] reads. It stands there wherever the code goes: into a
//! cache, a fat binary, a library.

use crate::bytes;
use crate::native::spill_note::{KIND, OWNER, SECTION};
use std::collections::BTreeMap;

/// Bytes of a section header.
const HEADER: usize = 64;
/// `sh_type` of notes.
const SHT_NOTE: u32 = 7;
/// Numbers of sections from here on mean something else.
const RESERVED: usize = 0xff00;

/// Returns the cubin with a note of what its kernels spill, or none where it needs none, since no kernel takes any stack, or
/// is no cubin as ptxas writes them.
pub(crate) fn recorded(cubin: &[u8], log: &str) -> Option<Vec<u8>> {
    let spilled = of_kernels(log)?;
    let lines: String = spilled.iter().map(|(name, bytes)| format!("{bytes} {name}\n")).collect();
    with_note(cubin, lines.as_bytes())
}

/// Functions of which ptxas tells.
#[derive(Default)]
struct Function {
    is_kernel: bool,
    stack: u64,
    spilled: u64,
}

/// Returns the bytes that kernels spill, by their names; none where no function takes any stack. Whose code calls a function
/// that is not inlined is not told, so what that spills counts for every kernel.
fn of_kernels(log: &str) -> Option<BTreeMap<&str, u64>> {
    let mut functions: BTreeMap<&str, Function> = BTreeMap::new();
    let mut current = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default();
            functions.entry(name).or_default().is_kernel = true;
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            current = Some(name.trim());
        } else if let Some(name) = current.filter(|_| line.contains(" bytes spill stores")) {
            let before = |what: &str| line.split_once(what)?.0.rsplit(' ').next()?.parse::<u64>().ok();
            let function = functions.entry(name).or_default();
            function.stack = before(" bytes stack frame")?;
            function.spilled = before(" bytes spill stores")?;
            current = None;
        }
    }
    if functions.values().all(|function| function.stack == 0) {
        return None;
    }
    let called = functions.values().filter(|function| !function.is_kernel).map(|function| function.spilled);
    let called = called.fold(0, u64::saturating_add);
    let kernels = functions.iter().filter(|(_, function)| function.is_kernel);
    Some(kernels.map(|(name, function)| (*name, function.spilled.saturating_add(called))).collect())
}

/// Returns an ELF file with a note behind all that it has: the note's section comes last, and the table of sections, the
/// names of which end with its own, stands behind it anew.
fn with_note(elf: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let half = |at: usize| bytes::u16_at(elf, at).map(usize::from);
    let (size, count, names) = (half(58)?, half(60)?, half(62)?);
    if elf.get(..6)? != b"\x7fELF\x02\x01" || size != HEADER || count == 0 || count.checked_add(1)? >= RESERVED {
        return None;
    }
    let table = usize::try_from(bytes::u64_at(elf, 40)?).ok()?;
    let mut headers = bytes::slice_at(elf, table, count.checked_mul(HEADER)?)?.to_vec();
    let of_names = names.checked_mul(HEADER)?;
    let long = |at: usize| usize::try_from(bytes::u64_at(&headers, of_names.checked_add(at)?)?).ok();
    let mut strings = bytes::slice_at(elf, long(24)?, long(32)?)?.to_vec();
    let name = u32::try_from(strings.len()).ok()?;
    strings.extend_from_slice(SECTION.as_bytes());
    strings.push(0);

    let mut out = elf.to_vec();
    let put = |out: &mut Vec<u8>, part: &[u8]| {
        out.resize(out.len().next_multiple_of(8), 0);
        let at = out.len() as u64;
        out.extend_from_slice(part);
        at
    };
    let mut note = Vec::new();
    for word in [OWNER.len().checked_add(1)?, text.len(), KIND as usize] {
        note.extend_from_slice(&u32::try_from(word).ok()?.to_le_bytes());
    }
    for part in [OWNER, text] {
        note.extend_from_slice(part);
        // A NUL ends the owner's name.
        let end = if part == OWNER { note.len().checked_add(1)? } else { note.len() };
        note.resize(end.next_multiple_of(4), 0);
    }
    let note_at = put(&mut out, &note);
    let strings_at = put(&mut out, &strings);
    let mut set = |at: usize, value: u64| {
        let place = headers.get_mut(of_names.checked_add(at)?..)?.get_mut(..8)?;
        place.copy_from_slice(&value.to_le_bytes());
        Some(())
    };
    set(24, strings_at)?;
    set(32, strings.len() as u64)?;
    // Name and type; flags and address; place and size; link and info; alignment and size of an entry.
    headers.extend_from_slice(&name.to_le_bytes());
    headers.extend_from_slice(&SHT_NOTE.to_le_bytes());
    for value in [0, 0, note_at, note.len() as u64, 0, 4, 0] {
        headers.extend_from_slice(&value.to_le_bytes());
    }
    let table = put(&mut out, &headers);
    out.get_mut(40..48)?.copy_from_slice(&table.to_le_bytes());
    out.get_mut(60..62)?.copy_from_slice(&u16::try_from(count.checked_add(1)?).ok()?.to_le_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::device_elf::DeviceElf;
    use crate::native::spill_note::spilled;

    const LOG: &str = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'a' for 'sm_90'\n\
        ptxas info    : Function properties for a\n    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n\
        ptxas info    : Used 64 registers\nptxas info    : Compiling entry function 'b' for 'sm_90'\n\
        ptxas info    : Function properties for b\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";

    #[test]
    fn spills_are_read_from_the_log_of_ptxas() {
        assert_eq!(of_kernels(LOG), Some(BTreeMap::from([("a", 12), ("b", 0)])));
        let called = "ptxas info    : Function properties for f\n    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n";
        assert_eq!(of_kernels(&[LOG, called].concat()), Some(BTreeMap::from([("a", 20), ("b", 8)])));
        assert_eq!(of_kernels("warning: nothing of this"), None);
        // Without a stack nothing can be spilled, which the cubin tells.
        assert_eq!(of_kernels(LOG.split_once("gmem").unwrap().0), None);
        assert_eq!(of_kernels(&LOG.replace("16 bytes stack frame, 12", "0 bytes stack frame, 0")), None);
    }

    /// An ELF file with a table of one empty section and one for the names of sections.
    fn elf() -> Vec<u8> {
        let mut out = b"\x7fELF\x02\x01".to_vec();
        out.resize(64, 0);
        out.extend_from_slice(b"\0.names\0");
        let table = out.len() as u64;
        out.resize(72 + 128, 0);
        out[40..48].copy_from_slice(&table.to_le_bytes());
        out[58..64].copy_from_slice(&[64, 0, 2, 0, 1, 0]);
        let header = 72 + 64;
        out[header..header + 4].copy_from_slice(&1u32.to_le_bytes());
        out[header + 4..header + 8].copy_from_slice(&3u32.to_le_bytes());
        out[header + 24..header + 32].copy_from_slice(&64u64.to_le_bytes());
        out[header + 32..header + 40].copy_from_slice(&8u64.to_le_bytes());
        out
    }

    #[test]
    fn a_note_stands_behind_all_else() {
        let before = elf();
        let after = recorded(&before, LOG).unwrap();
        // Only the place of the table and the number of sections differ.
        let differ: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
        assert!(differ.iter().all(|at| (40..48).contains(at) || (60..62).contains(at)), "{differ:?}");
        let read = DeviceElf::parse(&after).unwrap();
        let names: Vec<&str> = read.sections.iter().map(|section| section.name).collect();
        assert_eq!(names, ["", ".names", SECTION]);
        assert_eq!(spilled(&read, |_| true), BTreeMap::from([("a", 12), ("b", 0)]));
        assert_eq!(spilled(&read, |name| name == "a"), BTreeMap::from([("a", 12)]));
        assert_eq!(spilled(&DeviceElf::parse(&before).unwrap(), |_| true), BTreeMap::new());
    }

    #[test]
    fn what_is_no_such_file_stays_as_it_is() {
        assert_eq!(recorded(b"no ELF", LOG), None);
        let mut cut = elf();
        cut.truncate(100);
        assert_eq!(recorded(&cut, LOG), None);
        let mut many = elf();
        many[60..62].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(recorded(&many, LOG), None);
    }
}
