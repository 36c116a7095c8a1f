//! What does Intel's driver for CPUs write that has compiled a program and not linked it?

/// Object of Intel's CPU driver, compiled and not linked: header, bitcode, names, table of sections.
pub fn object(names: &[&str], code: &[u8]) -> Vec<u8> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    let (mut texts, mut table) = (vec![0], vec![0; 64]);
    for name in names {
        table.extend(words(&[texts.len() as u64 | 0xff00_0003 << 32, 0, 0, 64, code.len() as u64, 0, 0, 0]));
        texts.extend(name.bytes().chain([0]));
    }
    let begin = 64 + code.len() as u64;
    table.extend(words(&[3 << 32, 0, 0, begin, texts.len() as u64, 0, 0, 0]));
    let count = names.len() as u16 + 2;
    let head = [b"\x7fELF\x02\x01\x01".to_vec(), vec![0; 9], halves(&[0xff02, 0, 1, 0])].concat();
    let places = words(&[0, 0, begin + texts.len() as u64]);
    [head, places, halves(&[0, 0, 64, 0, 0, 64, count, count - 1]), code.to_vec(), texts, table].concat()
}
