//! Does the JSON fulfil its published schema, and do the other forms hold what counts?

use super::*;
use crate::report::evidence::Names;
use crate::report::inspect::View;
use crate::report::json::tests::against;
use serde_json::Value;
use std::collections::BTreeSet;

fn report() -> Report {
    let change = |what, name: &str, old: Option<&str>, new: Option<&str>| Change {
        what,
        target: "spir64".into(),
        name: name.into(),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    let changes = vec![
        change(What::Arguments, "1", None, Some("int private 4")),
        change(What::Aspects, "fp64", None, Some("fp64")),
        change(What::Attributes, "sub-group size", Some("16"), Some("32")),
        change(What::Targets, "", Some("spir64"), None),
        change(What::Bytes, "", Some("1000"), Some("1100")),
        change(What::Code, "", None, None),
    ];
    let kernel = |name: &str, fate, changes: Vec<Change>| KernelDiff {
        name: name.into(),
        fate,
        targets: BTreeSet::from(["spir64".to_owned()]),
        bytes: [1000, 1100],
        changes,
    };
    let diffs = vec![
        kernel("a", Fate::Added, Vec::new()),
        kernel("b", Fate::Removed, Vec::new()),
        kernel("c", Fate::Renamed { from: "d".into() }, Vec::new()),
        kernel("_ZTS3add", Fate::Changed, changes),
    ];
    let total = |images, bytes| Total { images, bytes, stored: bytes };
    let targets = BTreeMap::from([
        ("spir64".to_owned(), [total(3, 3000), total(3, 3300)]),
        ("intel_gpu_pvc".to_owned(), [total(0, 0), total(1, 10)]),
    ]);
    let images = vec![
        ImageChange {
            change: change(What::Properties, "SYCL/misc properties: optLevel", Some("3"), Some("2")),
            kernels: 2,
        },
        ImageChange { change: change(What::Code, "", None, Some("1")), kernels: 0 },
    ];
    let diff = FileDiff { targets, kernels: [3, 3], unchanged: 0, diffs, images, totals_differ: true };
    let pair = |name: &str, new: Option<&str>, diff| Pair {
        name: name.into(),
        old: Some("old.so".into()),
        new: new.map(str::to_owned),
        diff,
        partial: false,
    };
    let breach = Breach { file: Some("x|y.so".into()), kernel: Some("a".into()), message: "too <large>".into() };
    Report {
        pairs: vec![pair("x|y.so", Some("new.so"), diff), pair("gone.so", None, FileDiff::default())],
        breaches: vec![breach],
    }
}

#[test]
fn what_is_written_fulfils_the_schema() {
    let mut text = Vec::new();
    json(&mut text, &report()).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(against(&schema(), &document), Vec::<String>::new());
    assert_eq!(document["files"][0]["diffs"][2]["from"], "d");
    assert_eq!(document["kernels"]["renamed"], 1);
    assert_eq!(document["breaches"][0]["kernel"], "a");
    document["files"][0]["diffs"][0]["fate"] = "lost".into();
    assert_eq!(against(&schema(), &document).len(), 1);
}

#[test]
fn text_keeps_to_the_width_and_says_what_counts() {
    for width in [60, 100] {
        let text = table(&report(), true, &View { width, demangle: true, color: false });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        for part in
            ["was d", "needs aspect fp64", "sub-group size: 16 -> 32", "intel_gpu_pvc: gained", "a budget is not kept"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let same = table(&Report::default(), false, &View { width: 60, demangle: true, color: false });
    assert_eq!(same, "no difference: 0 files, 0 kernels, 0 B\n");
}

#[test]
fn markdown_holds_no_markup_of_others() {
    let text = markdown(&report(), Names { demangle: true });
    assert!(text.contains("too \\<large\\>") && text.contains("`x y.so`"), "{text}");
    assert!(text.contains("targets gained: `intel_gpu_pvc`"), "{text}");
    assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| line.matches('|').count() == 8), "{text}");
}
