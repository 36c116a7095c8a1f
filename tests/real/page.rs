//! Is a page of the library of most kernels usable, does it hold what other readers count, and is a wheel's page of use on a
//! phone?

use std::process::Command;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::judges::seen;
use crate::support::tools::needed;
use crate::tool::tool;
use crate::world::{scripts, succeed, world};

#[test]
fn thousands_of_real_kernels_are_looked_at() {
    let mut libraries = world().fat_libraries().iter();
    let library = libraries.rfind(|path| path.to_string_lossy().contains("_tensor_elementwise_impl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    succeed(tool().arg("inspect").arg(library).arg("--html").arg(&page).args(["-t", "pvc,acm-g10"]));
    let images = seen()[library].images.len();
    let bytes = page.metadata().unwrap().len();
    assert!(bytes < 400 * images as u64, "{bytes} for {images} images");

    let mut browser = Browser::start(1400, 1000);
    browser.open(&page);
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    assert_eq!(digits(&browser.text("#table .count")), images.to_string(), "a kernel in each image");
    assert!(browser.count("*") < 4000);

    // The gate's counts stand above the matrix.
    let mut gate: Command = tool();
    let gate = gate.arg("check").arg(library).args(["-t", "acm-g10", "--format", "json"]).output().unwrap();
    let gate: Value = serde_json::from_slice(&gate.stdout).unwrap();
    let lost = gate["targets"][0]["kernels"]["incompatible"].as_u64().unwrap();
    assert!(lost > 100);
    let head = browser.text("#matrix-grid th:nth-child(3) .total");
    assert_eq!(digits(&head), lost.to_string());

    browser.click("#table input[type=search]");
    browser.write("tan_strided_kernel fp64");
    browser.until("document.querySelectorAll('#kernel-grid tr[data-at]').length < 20");
    let names =
        browser.eval("[...document.querySelectorAll('#kernel-grid tr[data-at]')].map((row) => row.textContent)");
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    assert!(!names.is_empty() && names.iter().all(|row| row.contains("fp64")), "{names:?}");
    assert_eq!(browser.faults, Vec::<String>::new());
    assert_eq!(browser.requests.len(), 1);
}

/// A page of a wheel on a phone of 390 dots in width, touched.
#[test]
fn a_real_wheel_is_looked_at_on_a_phone() {
    succeed(needed("python3").arg(scripts().join("fetch.py")).arg("--wheels").arg(world().root()));
    let name = "dpctl-0.22.1-0-cp311-cp311-manylinux_2_28_x86_64.whl";
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let wheel = world().root().join("wheels").join(name);
    succeed(tool().arg("inspect").arg(&wheel).arg("--html").arg(&page).args(["-t", "pvc,bmg-g21,acm-g10,tgllp"]));
    let mut browser = Browser::phone();
    browser.open(&page);
    let title = browser.eval("document.title");
    assert!(title.as_str().unwrap().starts_with(name), "{title}");
    assert!(browser.text("h1").starts_with(name));

    // Nothing but tables is wider than the window, and of the matrix three targets are in sight beside the names.
    let wide = "[document.documentElement.scrollWidth, innerWidth]";
    assert_eq!(browser.eval(wide), json!([390, 390]));
    let inside = browser.eval(
        "(() => { const port = document.querySelector('#matrix .port').getBoundingClientRect(); \
         return [...document.querySelectorAll('#matrix-grid th')].filter((one) => one.getBoundingClientRect().right <= port.right).length; })()",
    );
    assert_eq!(inside, 4);

    // The largest is first: uppermost at the left. The browser's ways lead out of a node, and into it again.
    browser.until_map();
    let labels = "[...document.querySelectorAll('.node')].map((one) => one.getAttribute('aria-label'))";
    let files: Vec<String> = serde_json::from_value(browser.eval(labels)).unwrap();
    let bytes = |label: &String| {
        let words: Vec<&str> = label.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("bytes")).unwrap();
        words[at - 1].replace(',', "").parse::<u64>().unwrap()
    };
    assert!(files.len() == 10 && files.is_sorted_by(|one, other| bytes(one) >= bytes(other)), "{files:?}");
    assert_eq!(
        browser.eval("[document.querySelector('.node').offsetLeft, document.querySelector('.node').offsetTop]"),
        json!([0, 0])
    );
    let place = "document.querySelector('.way strong').innerText";
    let whole = browser.eval(place);
    browser.tap(".node");
    browser.until(&format!("{place} !== {whole}"));
    let inner = browser.eval(place);
    assert!(files[0].starts_with(inner.as_str().unwrap()), "{inner}");
    browser.tap(".way button");
    browser.until(&format!("{place} === {whole}"));
    for (way, there) in [("back", &inner), ("back", &whole), ("forward", &inner), ("back", &whole)] {
        browser.eval(&format!("history.{way}()"));
        browser.until(&format!("{place} === {there}"));
        assert_eq!(browser.eval("document.querySelector('#tip').hidden"), true, "after {way}");
    }

    // A tap tells why, of a kernel and of a template, which stays as it is; another tap puts it away.
    let rows = browser.count("#matrix-grid tr[data-at]");
    for cell in ["#matrix-grid tr.family td.cannot", "#matrix-grid tr:not(.family) td.cannot"] {
        browser.tap(cell);
        browser.until("!document.querySelector('#tip').hidden");
        let tip = browser.text("#tip");
        assert!(tip.contains("fp64") && tip.contains("help: "), "{cell}: {tip}");
        let box_of = browser.eval("(({ left, right, top, bottom }) => [left, right, top, bottom])(document.querySelector('#tip').getBoundingClientRect())");
        let sides: Vec<f64> = serde_json::from_value(box_of).unwrap();
        assert!(sides[0] >= 0.0 && sides[1] <= 390.0 && sides[2] >= 0.0 && sides[3] <= 844.0, "{sides:?}");
        browser.tap("h1");
        browser.until("document.querySelector('#tip').hidden");
    }
    assert_eq!(browser.count("#matrix-grid tr[data-at]"), rows);
    browser.tap("#matrix-grid tr.family td.first");
    browser.until(&format!("document.querySelectorAll('#matrix-grid tr[data-at]').length < {rows}"));

    // The row's details are in sight.
    browser.tap("#kernel-grid tr[data-at='0'] td");
    browser.until("document.querySelector('#table .detail').innerText.includes('Mangled')");
    browser.until("document.querySelector('#table .detail').getBoundingClientRect().bottom <= innerHeight + 1");
    assert_eq!(browser.eval(wide), json!([390, 390]));
    assert_eq!(browser.faults, Vec::<String>::new());
}
