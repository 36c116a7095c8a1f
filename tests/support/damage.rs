//! What happens to a reader when a file is cut or any of its bytes change?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::container::Host;
use sycl_bundle::error::ErrorKind;

/// Reads the file cut at many lengths, and `mutations` copies with up to four changed places. Nothing may panic, and
/// what is refused must be refused as input. Mutations that all miss or all break the file would prove nothing.
pub fn survives(sound: &[u8], mutations: usize) {
    assert!(examine(sound), "the file is to be sound before it is damaged");
    for cut in 0..500 {
        examine(&sound[..sound.len() * cut / 500]);
    }
    let mut random = Random(0x5359_434c);
    let mut endings = [0usize; 2];
    for _ in 0..mutations {
        let mut bytes = sound.to_vec();
        for _ in 0..=random.below(4) {
            // Half of the changes go into the headers, where most of a file is decided.
            let within = if random.below(2) == 0 { bytes.len().min(2048) } else { bytes.len() };
            let length = [1, 2, 4, 8][random.below(4)];
            let at = random.below(within - length);
            let old = bytes[at];
            let new = match random.below(5) {
                0 => 0,
                1 => u64::MAX,
                2 => u64::from(old ^ 1 << random.below(8)),
                3 => 1 << random.below(64),
                _ => random.next(),
            };
            bytes[at..at + length].copy_from_slice(&new.to_le_bytes()[..length]);
        }
        endings[usize::from(examine(&bytes))] += 1;
    }
    assert!(endings.iter().all(|&count| count > mutations / 50), "refused, read: {endings:?}");
}

/// Reads everything; whether it is sound.
fn examine(bytes: &[u8]) -> bool {
    let read = |host: &Host<'_>| {
        let bundle = Bundle::read(host)?;
        for image in &bundle.images {
            let _ = (image.kernels(), image.exports(), image.imports(), image.state(), image.format());
            let _ = (image.contents().is_ok(), Requirements::read(image, bundle.epoch));
        }
        Ok(bundle.problems.is_empty())
    };
    match Host::read(bytes).and_then(|host| read(&host)) {
        Ok(sound) => sound,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Input | ErrorKind::NoDeviceCode), "{error:?}");
            false
        }
    }
}

/// xorshift64*: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }
}
