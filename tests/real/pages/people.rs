//! Who takes the space, what runs where, which kernels are there?

use super::read::can_be_read;
use crate::browser::Browser;
use crate::support::page::{Desk, module};
use crate::support::spirv;
use serde_json::json;

const NAMES: [&str; 5] =
    ["_ZTSN4acme3addIiEE", "_ZTSN4acme3addIfEE", "_ZTSN4acme3addIlEE", "_ZTSN4acme5scaleIiEE", "_ZTSN4acme5scaleIfEE"];

/// Two modules: one with five kernels, one whose kernel computes in double, two calls deep.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("acme.spv", &module(&NAMES));
    desk.put("wide.spv", &spirv::module_of("aspects", "chain_lines"));
    desk
}

const PAGE: [&str; 5] = ["inspect", "acme.spv", "wide.spv", "-t", "pvc,acm-g10,spir64"];

fn opened() -> (Desk, Browser) {
    let desk = desk();
    let page = desk.page(&PAGE);
    let mut browser = Browser::start(1300, 900);
    browser.open(&page);
    browser.until_map();
    (desk, browser)
}

fn sound(browser: &Browser) {
    assert_eq!(browser.faults, Vec::<String>::new());
    assert!(
        browser.requests.iter().all(|url| url.starts_with("file://") && url.ends_with("page.html")),
        "{:?}",
        browser.requests
    );
}

#[test]
fn the_table_is_filtered_and_sorted() {
    let (_desk, mut browser) = opened();
    assert!(browser.text("h1").contains("acme.spv"));
    let rows = "#kernel-grid tr[data-at]";
    assert_eq!(browser.count(rows), 6);
    browser.click("#table input[type=search]");
    browser.write("SCALE int");
    browser.until(&format!("document.querySelectorAll('{rows}').length === 1"));
    assert!(browser.text(&format!("{rows} td:first-child")).contains("acme::scale<int>"));
    assert_eq!(browser.text("#table .count"), "1 row of 6");
    browser.write(" nothing");
    assert_eq!((browser.count(rows), browser.text("#table .none").as_str()), (0, "nothing matches"));
    browser.eval("document.querySelector('#table input').select()");
    browser.press("Backspace");
    browser.until(&format!("document.querySelectorAll('{rows}').length === 6"));

    let last = |browser: &mut Browser| {
        browser
            .eval(&format!("[...document.querySelectorAll('{rows} td:first-child')].map((cell) => cell.textContent)"))
    };
    let sorted = json!([
        "acme::add<float>",
        "acme::add<int>",
        "acme::add<long>",
        "acme::scale<float>",
        "acme::scale<int>",
        "foo"
    ]);
    browser.click("#kernel-grid th:first-child button");
    assert_eq!(last(&mut browser), sorted);
    assert_eq!(
        browser.eval("document.querySelector('#kernel-grid th:first-child').getAttribute('aria-sort')"),
        "ascending"
    );
    browser.click("#kernel-grid th:first-child button");
    assert_eq!(last(&mut browser), json!(sorted.as_array().unwrap().iter().rev().collect::<Vec<_>>()));
    assert_eq!(
        browser.eval("document.querySelector('#kernel-grid th:first-child').getAttribute('aria-sort')"),
        "descending"
    );
    assert_eq!(browser.count("#kernel-grid th[aria-sort=ascending], #kernel-grid th[aria-sort=descending]"), 1);

    browser.click("#kernel-grid tr[data-at='5'] td:first-child");
    let told = browser.text("#table .detail");
    assert!(told.contains("acme::add<float>") && told.contains("_ZTSN4acme3addIfEE"), "{told}");
    browser.click("#table [data-value=images]");
    assert_eq!(browser.count("#image-grid tr[data-at]"), 2);
    sound(&browser);
}

#[test]
fn the_map_is_gone_into_and_left() {
    let (desk, mut browser) = opened();
    let labels = |browser: &mut Browser| {
        browser.eval("[...document.querySelectorAll('.node .name')].map((one) => one.textContent)")
    };
    let sizes = ["acme.spv", "wide.spv"].map(|name| std::fs::metadata(desk.path(name)).unwrap().len());
    assert!(sizes[1] > sizes[0]);
    assert_eq!(labels(&mut browser), json!(["wide.spv", "acme.spv"]), "the larger first");
    browser.hover(".node:nth-child(2)");
    let exact = format!("{} bytes", sizes[0]);
    assert!(browser.text("#tip").contains(&exact), "{} in {}", exact, browser.text("#tip"));
    // Areas are as the bytes are.
    let areas =
        browser.eval("[...document.querySelectorAll('.node')].map((one) => one.offsetWidth * one.offsetHeight)");
    let (measured, real) = (areas[0].as_f64().unwrap() / areas[1].as_f64().unwrap(), sizes[0] as f64 / sizes[1] as f64);
    assert!((measured * real - 1.0).abs() < 0.05, "{measured} {real}");

    browser.click(".node:nth-child(2)");
    assert_eq!(labels(&mut browser), json!(["add", "scale"]), "templates, by what tells them apart");
    browser.click(".node:first-child");
    assert_eq!(browser.text(".way strong"), "acme::add");
    let mut kernels: Vec<String> = serde_json::from_value(labels(&mut browser)).unwrap();
    kernels.sort();
    assert_eq!(kernels, ["<float>", "<int>", "<long>"]);
    browser.hover(".node");
    assert!(browser.text("#tip").contains("the same code as 4 other kernels"), "{}", browser.text("#tip"));
    browser.press("Escape");
    assert_eq!(labels(&mut browser), json!(["add", "scale"]));
    browser.press("ArrowRight");
    assert_eq!(browser.eval("document.activeElement.getAttribute('data-at')"), "1");
    browser.click(".way button");
    assert_eq!(labels(&mut browser), json!(["wide.spv", "acme.spv"]));
    sound(&browser);
}

#[test]
fn the_matrix_says_what_check_says_and_why() {
    let (desk, mut browser) = opened();
    // Columns: the kernel, then the targets as they were named.
    let cell = |row: usize, column: usize| format!("#matrix-grid tr[data-at='{row}'] td:nth-child({})", column + 1);
    let heads = browser.eval("[...document.querySelectorAll('#matrix-grid th')].map((one) => one.textContent)");
    assert!(heads[1].as_str().unwrap().contains("pvc") && heads[1].as_str().unwrap().contains("all run"), "{heads}");
    assert!(
        heads[2].as_str().unwrap().contains("acm_g10") && heads[2].as_str().unwrap().contains("1 cannot"),
        "{heads}"
    );
    assert!(heads[3].as_str().unwrap().contains("spir64") && heads[3].as_str().unwrap().contains("unknown"), "{heads}");
    // acme::add and its three, acme::scale and its two, foo.
    assert_eq!(browser.count("#matrix-grid tr[data-at]"), 8);
    let wide = 7;
    assert!(browser.text(&cell(wide, 0)).contains("foo"));
    let words = [1, 2, 3].map(|column| browser.text(&cell(wide, column)));
    assert_eq!(words, ["✓", "✗", "?"]);
    let gate = desk.run(&["check", "wide.spv", "-t", "acm-g10", "--format", "json"]);
    let gate: serde_json::Value = serde_json::from_slice(&gate.stdout).unwrap();
    let finding = &gate["targets"][0]["findings"][0];
    browser.hover(&cell(wide, 2));
    let tip = browser.text("#tip");
    for part in [&finding["message"], &finding["remedy"], &finding["rule"], &finding["instruction"]] {
        assert!(tip.contains(part.as_str().unwrap()), "{part} in {tip}");
    }
    assert!(tip.contains("mid(float)") && tip.contains("leaf(float)") && tip.contains("src/a.cpp:12:30"), "{tip}");
    browser.hover("h1");
    assert_eq!(browser.eval("document.querySelector('#tip').hidden"), true);

    // The same with keys alone.
    browser.click(&cell(wide, 0));
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    assert!(browser.text("#tip").contains("fp64"));
    browser.press("Escape");
    assert_eq!(browser.eval("document.querySelector('#tip').hidden"), true);

    browser.click("#matrix [data-value='2']");
    assert_eq!(
        (browser.count("#matrix-grid tr[data-at]"), browser.text("#matrix .count").as_str()),
        (1, "1 kernel of 6")
    );
    browser.click("#matrix [data-value='all']");
    browser.click(&cell(0, 0));
    assert_eq!(browser.count("#matrix-grid tr[data-at]"), 5, "acme::add is closed");
    sound(&browser);
}

#[test]
fn keys_reach_everything() {
    let (_desk, mut browser) = opened();
    let mut reached = Vec::new();
    for _ in 0..60 {
        browser.press("Tab");
        let at = browser.eval(
            "(() => { const own = document.activeElement; const part = own.closest('section'); \
             return part ? part.id + ' ' + own.tagName + ' ' + (own.getAttribute('role') || '') : own.tagName; })()",
        );
        reached.push(at.as_str().unwrap().to_owned());
    }
    for stop in [
        "bytes DIV listitem",
        "matrix INPUT ",
        "matrix BUTTON ",
        "matrix TD gridcell",
        "table INPUT ",
        "table BUTTON ",
        "table TR row",
    ] {
        assert!(reached.iter().any(|one| one == stop), "{stop}: {reached:?}");
    }
    // One stop for a whole table.
    let round = reached.iter().skip(1).position(|one| *one == reached[0]).unwrap();
    let cells = reached[..=round].iter().filter(|one| *one == "matrix TD gridcell").count();
    assert!(cells == 1, "{reached:?}");
    sound(&browser);
}

#[test]
fn without_scripts_there_is_a_summary() {
    let desk = desk();
    let page = desk.page(&PAGE);
    let mut browser = Browser::start(1000, 800);
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(&page);
    let root = browser.call("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let tables = browser.call("DOM.querySelectorAll", json!({ "nodeId": root, "selector": "noscript table" }));
    let tables = tables["nodeIds"].as_array().unwrap().clone();
    assert_eq!(tables.len(), 3, "files, targets, templates");
    let mut all = String::new();
    for table in tables {
        let shown = browser.call("DOM.getBoxModel", json!({ "nodeId": table }));
        assert!(shown["model"]["height"].as_i64().unwrap() > 20);
        all += browser.call("DOM.getOuterHTML", json!({ "nodeId": table }))["outerHTML"].as_str().unwrap();
    }
    for text in ["acme.spv", "wide.spv", "intel_gpu_acm_g10", "acme::add"] {
        assert!(all.contains(text), "{text}: {all}");
    }
}

#[test]
fn colours_follow_the_system_and_can_be_read() {
    let (_desk, mut browser) = opened();
    can_be_read(&mut browser);
    sound(&browser);
}
