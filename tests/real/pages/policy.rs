//! Do people see what is excused, why and until when?

use super::read::can_be_read;
use crate::browser::Browser;
use crate::support::page::{POLICY, desk_of_policy};

#[test]
fn people_see_what_is_excused() {
    let desk = desk_of_policy();
    desk.put("sycl-bundle.toml", POLICY.as_bytes());
    let page = desk.page(&["inspect", "acme.spv", "wide.spv"]);
    let mut browser = Browser::start(1300, 1000);
    browser.open(&page);
    assert!(browser.text("#facts").contains("held to sycl-bundle.toml as of 2026-01-01"), "{}", browser.text("#facts"));
    // Columns are the kernel and the policy's targets; lines are two templates with two kernels each, and foo.
    let cell = |line: usize, column: usize| format!("#matrix-grid tr[data-at='{line}'] td:nth-child({})", column + 1);
    assert!(browser.text(&cell(6, 0)).contains("foo"));
    let signs = [1, 2, 3, 4, 5].map(|column| browser.text(&cell(6, column)));
    assert_eq!(signs, ["✗", "~", "·", "✗", "?"]);
    assert_eq!([3, 4].map(|line| browser.text(&cell(line, 3))), ["·", "·"]);
    assert_eq!(browser.text(&cell(0, 3)), "✗ 1/2", "one of two is excused");
    assert!(browser.text("#matrix-grid th:nth-child(3)").contains("1 excused"));
    assert!(browser.text("#matrix .head").contains("~ excused"));

    can_be_read(&mut browser);

    browser.hover(&cell(6, 2));
    let tip = browser.text("#tip");
    for part in [
        "~ excused on intel_gpu_acm_g10",
        "aspect::fp64",
        "src/a.cpp:12:30",
        "only where </script>device.has (until 2026-06-30)",
    ] {
        assert!(tip.contains(part), "{part} in {tip}");
    }
    browser.hover(&cell(6, 1));
    assert!(browser.text("#tip").contains("✗ against the policy on intel_gpu_pvc"), "{}", browser.text("#tip"));
    browser.hover(&cell(6, 4));
    let tip = browser.text("#tip");
    assert!(tip.contains("against the policy") && tip.contains("~ excused: issue 12 (until 2026-01-01)"), "{tip}");
    browser.hover(&cell(6, 3));
    assert!(browser.text("#tip").contains("· not asked about on intel_gpu_dg1"), "{}", browser.text("#tip"));

    browser.click("#matrix [data-value='3']");
    assert_eq!(browser.text("#matrix .count"), "2 kernels of 5");
    browser.click("#matrix [data-value='all']");

    browser.click("#table input[type=search]");
    browser.write("foo");
    browser.until("document.querySelectorAll('#kernel-grid tr[data-at]').length === 1");
    browser.click("#kernel-grid tr[data-at='0'] td:last-child");
    let told = browser.text("#table .detail");
    assert!(told.contains("~ excused") && told.contains("(until 2026-06-30)"), "{told}");

    let rows = "[...document.querySelectorAll('#policy tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))";
    let rows = browser.eval(rows);
    assert_eq!(
        rows[0],
        serde_json::json!([
            "aspect fp64 of kernel `foo`",
            "intel_gpu_acm_g10",
            "only where </script>device.has",
            "2026-06-30",
            "1"
        ])
    );
    assert_eq!((&rows[3][3], &rows[3][4]), (&"2025-12-31, ended".into(), &"0".into()));
    let found = browser.text("#policy ul");
    for part in ["budget-bytes", "expired-exception", "intel_gpu_dg1: `nowhere*` must run"] {
        assert!(found.contains(part), "{part} in {found}");
    }
    assert_eq!(browser.faults, Vec::<String>::new());
    assert_eq!(browser.requests.len(), 1, "{:?}", browser.requests);
}
