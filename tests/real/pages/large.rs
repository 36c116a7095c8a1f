//! Does a page of very many kernels show no more of them than are in sight?

use crate::browser::Browser;
use crate::support::page::{Desk, module};

const KERNELS: usize = 20_000;

#[test]
fn twenty_thousand_kernels_are_scrolled_and_filtered() {
    let names: Vec<String> = (0..KERNELS).map(|at| format!("_ZTSN4acme6kernelILi{at}EEE")).collect();
    let desk = Desk::new();
    let bytes = module(&names.iter().map(String::as_str).collect::<Vec<_>>());
    desk.put("many.spv", &bytes);
    let page = desk.page(&["inspect", "many.spv", "-t", "pvc,acm-g10"]);
    let size = std::fs::metadata(&page).unwrap().len();
    assert!(size < 100 * KERNELS as u64, "{size} bytes, of names that take {}", names.concat().len());
    let mut browser = Browser::start(1200, 900);
    browser.open(&page);
    assert_eq!(browser.text("#table .count"), "20000 rows".replace("20000", "20,000"));
    let elements = browser.count("*");
    assert!(elements < 3000, "{elements} elements: rows out of sight are none");
    browser.eval("document.querySelector('#table .port').scrollTop = 1e9");
    browser.until("document.querySelector('#kernel-grid tr[data-at=\"19999\"]') !== null");
    browser.click("#table input[type=search]");
    browser.write("<12345>");
    browser.until("document.querySelectorAll('#kernel-grid tr[data-at]').length === 1");
    assert!(browser.text("#kernel-grid tr[data-at] td:first-child").contains("acme::kernel<12345>"));
    browser.click("#matrix-grid tr[data-at='0'] td:first-child");
    assert!(browser.count("*") < 3000);
    assert_eq!(browser.faults, Vec::<String>::new());
}
