//! What do the runtime and the independent reader say about the libraries?
//!
//! Both judges look at all libraries in one process each, which takes a minute; the result is kept for all tests of
//! this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;
use serde_json::Value;

use crate::world::{scripts, succeed, world};

/// An image as it lies in the memory of a process that loaded its library.
pub struct SeenImage {
    /// Facts that `process_view.py` tells of the library.
    pub facts: Value,
    /// BLAKE3 of the payload, inflated where it is compressed.
    pub payload: String,
    /// Size of the same.
    pub size: u64,
}

/// Verdicts of the judges on one library.
pub struct Seen {
    /// The images in order of registration.
    pub images: Vec<SeenImage>,
    /// BLAKE3 of everything the runtime dumped for the library, and how often.
    pub dumps: BTreeMap<String, usize>,
}

/// The judges' view, by library.
pub fn seen() -> &'static BTreeMap<PathBuf, Seen> {
    static SEEN: OnceLock<BTreeMap<PathBuf, Seen>> = OnceLock::new();
    SEEN.get_or_init(|| {
        let folder = tempfile::tempdir_in(world().root()).unwrap();
        let (views, dumps) = (folder.path().join("views"), folder.path().join("dumps"));
        rayon::join(|| ask("process_view.py", &views), || ask("dump_images.py", &dumps));
        world().fat_libraries().par_iter().map(|library| (library.clone(), read(library, &views, &dumps))).collect()
    })
}

fn ask(script: &str, out: &Path) {
    let mut command = world().python();
    command.arg(scripts().join(script)).arg("--root").arg(world().root()).arg("--out").arg(out);
    succeed(command.args(world().fat_libraries()));
}

fn read(library: &Path, views: &Path, dumps: &Path) -> Seen {
    let name = library.file_name().unwrap().to_string_lossy().into_owned();
    let view = std::fs::read(views.join(format!("{name}.json"))).unwrap();
    let payloads = std::fs::read(views.join(format!("{name}.payloads"))).unwrap();
    let mut rest = payloads.as_slice();
    let mut images = Vec::new();
    let view: Value = serde_json::from_slice(&view).unwrap();
    for descriptor in view["descriptors"].as_array().unwrap() {
        for facts in descriptor["images"].as_array().unwrap() {
            let (stored, after) = rest.split_at(facts["stored_size"].as_u64().unwrap().try_into().unwrap());
            rest = after;
            let inflated = if facts["format"] == 4 { zstd::decode_all(stored).unwrap() } else { stored.to_vec() };
            images.push(SeenImage { facts: facts.clone(), payload: digest(&inflated), size: inflated.len() as u64 });
        }
    }
    assert!(!images.is_empty() && rest.is_empty(), "{name}: the view and its payloads do not fit");
    Seen { images, dumps: digests(&dumps.join(name)) }
}

/// BLAKE3 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The digests of all files in a folder, and how often each occurs.
fn digests(folder: &Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        *found.entry(digest(&std::fs::read(entry.unwrap().path()).unwrap())).or_default() += 1;
    }
    found
}
