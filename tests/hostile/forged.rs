//! Which small files would cost far more than their size, were nothing bounded?
//!
//! Each is a well-formed executable in which tables overlap: thousands of structures share one long string, one table,
//! one payload. A reader that pays for every mention takes minutes or gigabytes.

/// Address at which the file is loaded; the body follows the headers at 0x1000.
const BASE: u64 = 0x40_0000;
const BODY: u64 = 0x1000;
/// Length of the string that everybody names.
const LONG: usize = (1 << 20) - 16;

/// The files by name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("entries that share a long name", images(Shared::EntryNames)),
        ("property sets that share a long name", images(Shared::PropertySets)),
        ("properties that share a long name", images(Shared::Properties)),
        ("images that share long options", images(Shared::Options)),
        ("images that share one entry table", images(Shared::EntryTable)),
        ("descriptors that share one image array", images(Shared::ImageArray)),
        ("needed libraries that share a long name", dynamic(1)),
        ("symbols that share a long name", dynamic(0)),
        ("sections that share a long name", sections()),
        ("lists of one item in each other", lists()),
    ]
}

/// A body under construction that knows its own addresses.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn here(&mut self) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(16), 0);
        BASE + BODY + self.0.len() as u64
    }

    fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let at = self.here();
        self.0.extend_from_slice(bytes);
        at
    }

    fn words(&mut self, words: &[u64]) -> u64 {
        let at = self.here();
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
        at
    }

    fn repeated(&mut self, count: usize, words: &[u64]) -> (u64, u64) {
        let begin = self.words(&words.repeat(count));
        (begin, begin + (count * words.len() * 8) as u64)
    }

    fn long_string(&mut self) -> u64 {
        let mut text = vec![b'x'; LONG];
        text.push(0);
        self.bytes(&text)
    }
}

/// A kernel package whose table has a list in each of four million bytes.
fn lists() -> Vec<u8> {
    const CHAINS: u32 = 133_000;
    let chain = [vec![0x91; 29], vec![0xc0]].concat();
    let table = [&b"\x82\xa3toc\x80\xa1x\xdd"[..], &CHAINS.to_be_bytes(), &chain.repeat(CHAINS as usize)].concat();
    let mut file = [&b"KPAK\x01\0\0\0"[..], &64u64.to_le_bytes()].concat();
    file.resize(64, 0);
    file.extend(table);
    file
}

#[derive(PartialEq, Clone, Copy)]
enum Shared {
    EntryNames,
    PropertySets,
    Properties,
    Options,
    EntryTable,
    ImageArray,
}

fn images(shared: Shared) -> Vec<u8> {
    let mut body = Body::default();
    let target = body.bytes(b"spir64\0");
    let payload = body.bytes(&[3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let long = body.long_string();
    let (mut entries, mut sets) = ((0, 0), (0, 0));
    match shared {
        Shared::EntryNames => entries = body.repeated(60_000, &[0, long, 0, 0]),
        Shared::EntryTable => entries = body.repeated(60_000, &[0, target, 0, 0]),
        Shared::PropertySets => sets = body.repeated(200, &[long, 0, 0]),
        Shared::Properties => {
            let (begin, end) = body.repeated(60_000, &[long, 0, 1, 7]);
            sets = body.repeated(1, &[target, begin, end]);
        }
        Shared::Options | Shared::ImageArray => {}
    }
    let options = if shared == Shared::Options { long } else { target };
    let head = 3 | 4 << 16;
    let image = [head, target, options, options, payload, payload + 20, entries.0, entries.1, sets.0, sets.1];
    let (array, _) = body.repeated(20_000, &image);
    let descriptors = if shared == Shared::ImageArray { 40_000 } else { 1 };
    body.repeated(descriptors, &[1 | 20_000 << 16, array, 0, 0]);
    executable(body.0, None, 0)
}

/// A file whose dynamic section names one long string over and over: as needed libraries, or through symbols.
fn dynamic(tag: u64) -> Vec<u8> {
    let mut body = Body::default();
    let strings = body.long_string();
    let mut entries = vec![5, strings, 10, LONG as u64 + 1];
    if tag == 0 {
        // Undefined symbols, all of the name at offset 0.
        let (symbols, _) = body.repeated(60_000, &[0x12 << 32, 0, 0]);
        entries.extend([6, symbols]);
    } else {
        (0..60_000).for_each(|_| entries.extend([tag, 0]));
    }
    entries.extend([0, 0]);
    let at = body.words(&entries);
    executable(body.0, Some((at - BASE, entries.len() as u64 * 8)), 0)
}

fn sections() -> Vec<u8> {
    let mut body = Body::default();
    let strings = body.long_string() - BASE;
    let table = body.here() - BASE;
    for _ in 0..60_000 {
        // sh_name 0, SHT_STRTAB; every one is a string table, and the second names them all.
        body.words(&[3 << 32, 0, 0, strings, LONG as u64 + 1, 0, 1, 0]);
    }
    executable(body.0, None, table)
}

/// An ET_EXEC file of one loadable segment; `dynamic` is offset and size, `sections` the offset of 60,000 headers.
fn executable(body: Vec<u8>, dynamic: Option<(u64, u64)>, sections: u64) -> Vec<u8> {
    let size = BODY + body.len() as u64;
    let mut headers: Vec<u64> = vec![1 | 6 << 32, 0, BASE, BASE, size, size, 0x1000];
    if let Some((at, length)) = dynamic {
        headers.extend([2 | 6 << 32, at, BASE + at, BASE + at, length, length, 8]);
    }
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0];
    for word in [BASE, 64, sections] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(&[0, 0, 0, 0, 64, 0, 56, 0]);
    let (count, section_count) = ((headers.len() / 7) as u16, if sections == 0 { 0 } else { 60_000u16 });
    for half in [count, 64, section_count, u16::from(sections != 0)] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    headers.iter().for_each(|word| file.extend_from_slice(&word.to_le_bytes()));
    file.resize(usize::try_from(BODY).unwrap(), 0);
    file.extend(body);
    file
}
