//! Does a name that is markup, code or worse stay a name?

use crate::browser::Browser;
use crate::support::page::text;
use crate::support::page::{Desk, module};
use serde_json::json;

const NAMES: [&str; 8] = [
    "</script><script>window.taken=1</script>",
    "<img src=x onerror=\"window.taken=2\">",
    "\"><svg onload=window.taken=3>",
    "'; window.taken=4; //",
    "<!--<script>",
    "</noscript><script>window.taken=5</script></title></style>",
    "a\u{0001}\u{001b}[31mb\u{202e}\u{200b}\u{2028}c",
    "__proto__",
];

#[test]
fn names_stay_names() {
    let desk = Desk::new();
    desk.put("<b>&\"'.spv", &module(&NAMES));
    let page = desk.page(&["inspect", "<b>&\"'.spv", "-t", "pvc"]);
    let bytes = text(&page);
    assert_eq!(bytes.matches("<script").count(), 2);
    assert_eq!(bytes.matches("</script").count(), 2);
    assert_eq!(bytes.matches("</noscript").count(), 1);
    assert!(!bytes.contains(['\u{202e}', '\u{200b}', '\u{2028}', '\u{1b}', '\u{1}']));
    for size in [1200, 400] {
        let mut browser = Browser::start(size, 900);
        browser.open(&page);
        assert_eq!(browser.text("h1"), "<b>&\"'.spv");
        browser.click("#kernel-grid th:first-child button");
        let shown = browser.eval("[...document.querySelectorAll('#kernel-grid tr[data-at]')].length");
        assert_eq!(shown, json!(NAMES.len()));
        // Every place that shows a name: table, tip, details, map, matrix.
        for at in 0..NAMES.len() {
            browser.click(&format!("#kernel-grid tr[data-at='{at}'] td:first-child"));
            let name = browser.text("#table .detail dd");
            let known =
                NAMES.iter().any(|own| *own == name) || name == "a\\u{1}\\u{1b}[31mb\\u{202e}\\u{200b}\\u{2028}c";
            assert!(known, "{name}");
            browser.hover(&format!("#matrix-grid tr[data-at='{at}'] td:first-child"));
        }
        browser.hover(".node");
        assert!(browser.text("#tip").contains("bytes"));
        assert_eq!(
            browser
                .eval("window.taken === undefined && document.querySelectorAll('img, svg, main script').length === 0"),
            json!(true)
        );
        assert_eq!(browser.faults, Vec::<String>::new());
        assert_eq!(browser.requests.len(), 1, "{:?}", browser.requests);
    }
    // Without scripts the summary is read as markup: names are text there too.
    let mut browser = Browser::start(1000, 800);
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(&page);
    let root = browser.call("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let strange =
        browser.call("DOM.querySelectorAll", json!({ "nodeId": root, "selector": "img, svg, main script, b" }));
    assert_eq!(strange["nodeIds"], json!([]));
    assert_eq!(browser.requests.len(), 1, "{:?}", browser.requests);
}

#[test]
fn what_cannot_be_read_is_said() {
    let desk = Desk::new();
    let whole = module(&["one", "two"]);
    desk.put("cut.spv", &whole[..whole.len() - 6]);
    let output = desk.run(&["inspect", "cut.spv", "--html", "page.html"]);
    assert_eq!(output.status.code(), Some(3));
    let mut browser = Browser::start(1000, 800);
    browser.open(&desk.path("page.html"));
    let problems = browser.text("#problems");
    assert!(problems.contains("image 0") && problems.contains("at offset"), "{problems}");
    assert_eq!(browser.count("#kernel-grid tr[data-at]"), 2);
    assert_eq!(browser.faults, Vec::<String>::new());
}
