//! What changed between two builds?

use crate::browser::Browser;
use crate::support::page::{Desk, module};
use crate::support::spirv;

/// Two builds of a folder: one kernel is gone, one is new, and one computes in double where it did not.
fn desk() -> Desk {
    let desk = Desk::new();
    for side in ["old", "new"] {
        std::fs::create_dir(desk.path(side)).unwrap();
    }
    desk.put("old/acme.spv", &module(&["_ZTSN4acme3addIiEE", "_ZTSN4acme4goneE"]));
    desk.put("new/acme.spv", &module(&["_ZTSN4acme3addIiEE", "_ZTSN4acme3addIfEE", "_ZTSN4acme6</b>newE"]));
    desk.put("old/wide.spv", &module(&["foo"]));
    desk.put("new/wide.spv", &spirv::module_of("aspects", "chain_lines"));
    desk
}

#[test]
fn what_became_of_kernels_is_seen() {
    let desk = desk();
    let page = desk.page(&["diff", "old", "new"]);
    let mut browser = Browser::start(1300, 900);
    browser.open(&page);
    let known = desk.run(&["diff", "old", "new", "--format", "json"]);
    let known: serde_json::Value = serde_json::from_slice(&known.stdout).unwrap();
    let all =
        known["files"].as_array().unwrap().iter().map(|file| file["diffs"].as_array().unwrap().len()).sum::<usize>();
    let rows = "#kernel-grid tr[data-at]";
    assert_eq!(browser.count(rows), all as u64);
    let facts = browser.text("#facts");
    for fate in ["added", "removed", "changed"] {
        let number = known["kernels"][fate].as_u64().unwrap();
        if number == 0 {
            continue;
        }
        assert!(facts.contains(&format!("{number} {fate}")), "{facts}");
        browser.click(&format!("#table [data-value={fate}]"));
        assert_eq!(browser.count(rows), number, "{fate}");
        browser.click("#table [data-value=all]");
    }
    assert!(browser.text("#requirements").contains("aspect fp64"), "{}", browser.text("#requirements"));
    browser.click("#table input[type=search]");
    browser.write("fp64");
    browser.until(&format!("document.querySelectorAll('{rows}').length === 1"));
    browser.click(&format!("{rows} td:last-child"));
    let told = browser.text("#table .detail");
    assert!(told.contains("foo") && told.contains("needs aspect fp64"), "{told}");
    browser.click("#kernel-grid th:first-child button");
    assert_eq!(browser.eval("document.querySelector('#kernel-grid th').getAttribute('aria-sort')"), "ascending");
    browser.hover("#template-grid tr[data-at='0'] td");
    assert_eq!(browser.faults, Vec::<String>::new());
    assert_eq!(browser.requests.len(), 1);
}

#[test]
fn the_gate_and_the_text_are_as_without_a_page() {
    let desk = desk();
    let plain = desk.run(&["diff", "old", "new", "--exit-code"]);
    let with = desk.run(&["diff", "old", "new", "--exit-code", "--html", "page.html"]);
    assert_eq!((plain.status.code(), with.status.code()), (Some(1), Some(1)));
    assert_eq!(plain.stdout, with.stdout);
    let same = desk.page(&["diff", "old", "old"]);
    let mut browser = Browser::start(1000, 800);
    browser.open(&same);
    assert!(browser.text("#table").contains("all are as they were"));
    assert_eq!((browser.count("#kernel-grid"), &browser.faults), (0, &Vec::new()));
}

#[test]
fn two_builds_are_looked_at_on_a_phone() {
    let desk = desk();
    let page = desk.page(&["diff", "old", "new"]);
    let mut browser = Browser::phone();
    browser.open(&page);
    assert_eq!(browser.eval("document.title"), "old and new: 2 files: device code");
    let wide = browser.eval("document.documentElement.scrollWidth");
    assert_eq!(wide, 390);
    // Names of targets stand in one line.
    let heights = "[...document.querySelectorAll('#targets td')].map((cell) => cell.offsetHeight)";
    let heights: Vec<u64> = serde_json::from_value(browser.eval(heights)).unwrap();
    assert!(!heights.is_empty() && heights.iter().all(|height| *height < 60), "{heights:?}");
    browser.tap("#kernel-grid tr[data-at] td");
    browser.until("document.querySelector('#table .detail').innerText.includes('Mangled')");
    browser.until("document.querySelector('#table .detail').getBoundingClientRect().bottom <= innerHeight + 1");
    assert_eq!(browser.faults, Vec::<String>::new());
}
