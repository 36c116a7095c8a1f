//! Do the results of verbs that write, keep or look around fulfil their published schemas, and are kernels found the same
//! however many are read at a time?
//!
//! Every field is there, lists are not empty, and the schema names each key. What real runs print is judged by another
//! reader of schemas in `tests/real/schemas`.

use super::json::ImageProblem;
use super::json::tests::against;
use super::json::writer::text;
use super::{FileFacts, SHARE, built, cache, clones, doctor, edited, extracted, filtered};
use crate::bundle::Bundle;
use crate::bundle::image::Image;
use crate::compat::examine::examine;
use crate::compat::finding::RuleId;
use crate::compat::kernels::{Depth, kernels};
use crate::container::Host;
use crate::rewrite::extract::Names;
use serde_json::Value;

/// The document is right, and one that lacks `key` or holds another type there is not.
fn prove(schema: &str, document: &str, key: &str) {
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(against(schema, &document), Vec::<String>::new());
    let mut lacking = document.clone();
    lacking.as_object_mut().unwrap().remove(key).unwrap();
    assert_ne!(against(schema, &lacking), Vec::<String>::new(), "without {key}");
    let mut wrong = document;
    wrong[key] = Value::from(1.5);
    assert_ne!(against(schema, &wrong), Vec::<String>::new(), "{key} is a fraction");
}

#[test]
fn builds() {
    let text = || "x".to_owned();
    let target = built::TargetCounts { compile_target: Some(text()), ..built::TargetCounts::default() };
    let staying = built::Staying {
        file: None,
        image: 0,
        targets: vec![text()],
        kernel: Some(text()),
        kind: "imports",
        reason: text(),
        remedy: Some("r"),
    };
    let skipped =
        built::Skipped { file: None, image: 0, target: text(), kernel: None, rule: RuleId::Aspect, reason: text() };
    let failed = built::Failed {
        file: Some(text()),
        image: 0,
        target: text(),
        kernels: vec![text()],
        cause: text(),
        log: text(),
        attempts: 3,
        compiler: Some(text()),
        module: Some(text()),
    };
    let document = built::Built {
        inputs: vec![text()],
        march: Some("avx2"),
        targets: vec![target],
        apart: vec![built::Alone { images: 2, reason: "x" }],
        staying: vec![staying],
        skipped: vec![skipped],
        without_spirv: vec![3],
        failed: vec![failed],
        problems: vec![ImageProblem { image: Some(1), offset: None, message: text() }],
        removed_options: [(text(), 2)].into_iter().collect(),
        refused_options: [(text(), 1)].into_iter().collect(),
        seconds: 0.5,
        slowest: Some(built::Slowest { file: None, image: 1, target: text(), kernel: None, seconds: 0.25 }),
        saved_seconds: 0.5,
        ..built::Built::default()
    };
    prove(&built::schema(), &document.to_json(), "targets");
}

#[test]
fn files_that_are_written() {
    let finding = filtered::Reason { rule: RuleId::Aspect, message: "no".to_owned(), aspect: Some("fp64".to_owned()) };
    let emptied = filtered::Emptied { image: 0, kernels: vec!["k".to_owned()], findings: vec![finding] };
    let output = filtered::Output { emptied: vec![emptied], targets: vec!["t".to_owned()], ..Default::default() };
    let document = filtered::Filtered { inputs: vec!["a".to_owned()], outputs: vec![output], ..Default::default() };
    prove(&filtered::schema(), &document.to_json(), "outputs");

    let document = edited::Edited {
        kernels_without_image: vec!["k".to_owned()],
        symbols_without_image: vec!["s".to_owned()],
        ..edited::Edited::default()
    };
    prove(&edited::schema(), &document.to_json(), "bytes_after");

    let names = Names { code: "a.spv".to_owned(), properties: Some("a.prop".to_owned()), symbols: None };
    let written = vec![extracted::Written { path: "a".to_owned(), index: 0, member: None, bytes: 9, names }];
    let document = extracted::Extracted::new("a".to_owned(), "out".to_owned(), written);
    prove(&extracted::schema(), &text(&document), "images");
}

#[test]
fn clones_and_caches() {
    let group = clones::Group {
        images: vec![0, 1],
        kernels: vec![vec!["k".to_owned()], vec!["l".to_owned()]],
        bytes: 2,
        redundant_stored: 1,
        redundant_bytes: 2,
    };
    let clones = clones::Clones { groups: vec![group], ..clones::Clones::default() };
    prove(&clones::schema(), &clones::json(&[clones]), "files");

    let none = cache::Cached { ..cache::Cached::default() };
    prove(&cache::schema(), &super::json::pretty(&none), "entries");
    let all = cache::Cached {
        removed: Some(cache::Size { entries: 1, bytes: 2 }),
        damaged: Some(vec!["a".to_owned()]),
        oldest_seconds: Some(3),
        ..cache::Cached::default()
    };
    prove(&cache::schema(), &super::json::pretty(&all), "limit");
}

#[test]
fn machines() {
    let device = doctor::Device { kind: "cpu".to_owned(), il: vec!["SPIR-V_1.0".to_owned()], ..Default::default() };
    let found = doctor::Doctor {
        loader: Some("/lib/libOpenCL.so.1".to_owned()),
        devices: vec![device],
        ocloc: Some(doctor::Ocloc { files: vec!["/lib/libocloc.so".to_owned()], ..Default::default() }),
        runtimes: vec![doctor::Runtime { adapters: vec!["cuda".to_owned()], ..Default::default() }],
        installed_driver: Some(doctor::Driver::default()),
        pip: Some(doctor::Pip::default()),
        caches: doctor::Caches { build: Some(doctor::BuildCache::default()), ..Default::default() },
        environment: [("A".to_owned(), "b".into())].into_iter().collect(),
        problems: vec![doctor::Trouble::new("broken", "mend it")],
        ..doctor::Doctor::default()
    };
    prove(&doctor::schema(), &super::json::pretty(&found), "problems");
    let none = doctor::Doctor { ..doctor::Doctor::default() };
    prove(&doctor::schema(), &super::json::pretty(&none), "caches");
    let text = found.table(100);
    assert!(text.ends_with("\nProblem           broken\nRemedy            mend it\n"), "{text}");
}

/// A module with a kernel of this name.
fn module(name: &str, size: u32) -> Vec<u8> {
    let name = u32::from_le_bytes(name.as_bytes().try_into().unwrap());
    let instructions: [&[u32]; 10] = [
        &[17, 6],
        &[14, 2, 2],
        &[15, 6, 1, name],
        &[16, 1, 17, size, 1, 1],
        &[19, 3],
        &[33, 6, 3],
        &[54, 3, 1, 0, 6],
        &[248, 8],
        &[253],
        &[56],
    ];
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 9, 0];
    for instruction in instructions {
        words.push((instruction.len() as u32) << 16 | instruction[0]);
        words.extend(&instruction[1..]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn kernels_are_the_same_in_shares_and_all_at_once() {
    let modules = [module("one\0", 8), module("two\0", 8), module("six\0", 4)];
    let hosts: Vec<Host<'_>> = modules.iter().map(|bytes| Host::read(bytes).unwrap()).collect();
    let bundles: Vec<Bundle<'_>> = hosts.iter().map(|host| Bundle::read(host).unwrap()).collect();
    let mut bundle = Bundle::read(&hosts[0]).unwrap();
    let of = |index: usize| Image { index, ..bundles[index % 3].images[0].clone() };
    bundle.images = (0..SHARE * 2).map(of).collect();
    let depth = Depth { clones: true, evidence: true };
    let told = |facts: &mut FileFacts<'_>| {
        let (mut shares, mut told) = (0, Vec::new());
        facts
            .each_kernels(depth, |found| {
                shares += 1;
                told.extend(found.iter().map(|kernel| format!("{kernel:?}")));
                Ok(())
            })
            .unwrap();
        (shares, told)
    };
    let whole: Vec<String> =
        kernels(&bundle, &examine(&bundle), depth).iter().map(|kernel| format!("{kernel:?}")).collect();
    assert_eq!(whole.len(), SHARE * 2);
    assert!(whole[0].contains("two") && !whole[0].contains("six"), "{}", whole[0]);
    let mut deferred = FileFacts { bundle: Some(&bundle), deferred: true, ..FileFacts::default() };
    assert!(told(&mut deferred) == (4, whole.clone()));
    let mut examined = FileFacts { bundle: Some(&bundle), images: examine(&bundle), ..FileFacts::default() };
    assert!(told(&mut examined) == (4, whole));
}
