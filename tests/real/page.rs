//! Is a page of the library of most kernels usable, and does it hold what other readers count?

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::browser::Browser;
use crate::judges::seen;
use crate::tool::tool;
use crate::world::{succeed, world};

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
    let begin = Instant::now();
    browser.open(&page);
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    assert_eq!(digits(&browser.text("#table .count")), images.to_string(), "a kernel in each image");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    println!("{images} kernels, {bytes} bytes: shown after {:?}", begin.elapsed());
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
