//! Do the containers that are no linked files come back as they were written, and does damage stay where it is?

mod hostile;
mod offload_binary;
mod offload_bundle;
mod syclbin;
mod table;

use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::error::ErrorKind;

/// Facts of an image that a test compares.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Seen {
    /// The payload as stored.
    pub payload: Vec<u8>,
    /// `DeviceTargetSpec`.
    pub target: String,
    /// The architecture within the target.
    pub arch: String,
    /// Options of compiler and linker.
    pub options: [String; 2],
    /// Listed symbols.
    pub entries: Vec<String>,
}

/// A module of a header and nothing else, told apart by its bound.
pub fn module(bound: u32) -> Vec<u8> {
    [0x0723_0203, 0x0001_0200, 0, bound, 0].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reads a file whole; its images and its problems.
pub fn read(bytes: &[u8]) -> (Vec<Seen>, Vec<String>) {
    let host = Host::read(bytes).unwrap();
    let bundle = match Bundle::read(&host) {
        Ok(bundle) => bundle,
        Err(error) => {
            assert!(error.kind() == ErrorKind::NoDeviceCode || error.offset().is_some(), "without a place: {error}");
            return (Vec::new(), vec![error.to_string()]);
        }
    };
    let seen = bundle.images.iter().map(|image| {
        let inside = bytes.get(image.offset as usize..).is_some_and(|rest| rest.starts_with(image.stored));
        assert!(image.inflated || inside, "image {} is not at {:#x}", image.index, image.offset);
        Seen {
            payload: image.stored.to_vec(),
            target: image.target.to_owned(),
            arch: image.arch.to_owned(),
            options: [image.compile_options, image.link_options].map(str::to_owned),
            entries: image.entries.iter().map(|&name| name.to_owned()).collect(),
        }
    });
    let problems = bundle.problems.iter().map(|problem| {
        assert!(problem.error.offset().is_some(), "without a place: {}", problem.error);
        problem.error.to_string()
    });
    (seen.collect(), problems.collect())
}

/// Reads a file that must be sound.
pub fn sound(bytes: &[u8]) -> Vec<Seen> {
    let (seen, problems) = read(bytes);
    assert_eq!(problems, [""; 0]);
    seen
}

/// An image with nothing but a payload and a target.
pub fn plain(payload: &[u8], target: &str, arch: &str) -> Seen {
    let [target, arch] = [target, arch].map(str::to_owned);
    Seen { payload: payload.to_vec(), target, arch, options: Default::default(), entries: Vec::new() }
}
