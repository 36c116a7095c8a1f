//! Does `fixtures/make.sh` still make the fixtures that are checked in?
//!
//! Every recipe of the pack is followed again, with the programs of this machine. Where these are those that made the
//! pack, the bytes are the same; others make other code, but the same device images in files of the same kind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;

use crate::support::built::{follow, pack};
use crate::support::host::view;
use crate::support::tools;

/// The recipes of the pack by key: documents, and the folder with all their files.
fn unpack(folder: &Path) -> BTreeMap<String, Value> {
    let mut recipes = BTreeMap::new();
    pack().unpack(folder).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            let document = std::fs::read(entry.path().join("recipe.json")).unwrap();
            recipes.insert(entry.file_name().into_string().unwrap(), serde_json::from_slice(&document).unwrap());
        }
    }
    recipes
}

/// Facts that the tool's reader tells of a file: the kind, and the images or why there are none.
fn told(bytes: &[u8]) -> String {
    match Host::read(bytes) {
        Err(error) => error.to_string(),
        Ok(host) => match Bundle::read(&host) {
            Err(error) => format!("{:?}: {:?}", host.kind, error.kind()),
            Ok(bundle) => format!("{:?}: {:?} {}", host.kind, view(&bundle), bundle.problems.len()),
        },
    }
}

#[test]
fn recipes_make_what_is_checked_in() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipes: Vec<(String, Value)> = unpack(old.path()).into_iter().collect();
    assert!(recipes.len() > 100, "{}", recipes.len());
    let outputs = |document: &Value| -> Vec<String> {
        document["outputs"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let (next, same) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let different = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, Into::into) {
            scope.spawn(|| {
                while let Some((key, document)) = recipes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (from, to) = (old.path().join(key), new.path().join(key));
                    std::fs::create_dir(&to).unwrap();
                    // Outputs of other recipes are taken as they are checked in: each recipe is judged alone.
                    let need = |need: &Value| -> PathBuf {
                        old.path().join(need[0].as_str().unwrap()).join("out").join(need[1].as_str().unwrap())
                    };
                    let needs: Vec<PathBuf> = document["needs"].as_array().unwrap().iter().map(need).collect();
                    follow(document, &from.join("in"), &needs, &to);
                    for output in outputs(document) {
                        let [before, now] = [from.join("out"), to.clone()].map(|folder| {
                            std::fs::read(folder.join(&output)).unwrap_or_else(|error| panic!("{key}: {error}"))
                        });
                        if before == now {
                            same.fetch_add(1, Ordering::Relaxed);
                        } else if told(&before) != told(&now) {
                            different.lock().unwrap().insert(format!("{key}/{output}"));
                        }
                    }
                }
            });
        }
    });
    let all: usize = recipes.iter().map(|(_, document)| outputs(document).len()).sum();
    println!("{} of {all} files are made byte for byte", same.into_inner());
    let different = different.into_inner().unwrap();
    assert!(different.is_empty(), "made otherwise than checked in; run fixtures/make.sh and look: {different:#?}");
}

/// Looked for all at once, so that one line says all that is missing.
#[test]
fn programs_are_there() {
    let lacks =
        |name: &str| if name.starts_with('/') { !Path::new(name).exists() } else { tools::found(name).is_none() };
    let missing: Vec<(&str, &str)> = tools::packages().filter(|(name, _)| lacks(name)).collect();
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|(_, package)| *package).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
    assert!(missing.is_empty(), "missing: {}; apt-get install {packages}", names.join(", "));
}
