//! Does a page hold files to a policy as `check` does, and see people what is excused, why and until when?

use crate::make::{Desk, module};
use crate::read::{can_be_read, cells, counts, data, number};
use crate::support::browser::Browser;
use crate::support::spirv;
use serde_json::Value;
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["_ZTSN4acme3addIiEE", "_ZTSN4acme3addIfEE", "_ZTSN4acme5scaleIiEE", "_ZTSN4acme5scaleIfEE"];

/// Every target has an exception, a rule or both; one exception has ended, one covers one of two things, one nothing.
const POLICY: &str = r#"
[check]
targets = ["pvc", "acm-g10", "dg1", "tgllp", "spir64"]
[check.budget]
bytes = 400
[check.target.pvc]
forbidden-aspects = ["fp64"]
[check.target.intel_gpu_dg1]
kernels = ["acme::add*", "nowhere*"]
require-native = true
[check.target.intel_gpu_tgllp]
forbidden-aspects = ["fp64"]
[[check.exception]]
aspect = "fp64"
kernel = "foo"
targets = ["intel_gpu_acm_g10"]
reason = "only where </script>device.has"
until = 2026-06-30
[[check.exception]]
rule = "aspect"
kernel = "f*"
targets = ["intel_gpu_tgllp"]
reason = "issue 12"
until = 2026-01-01
[[check.exception]]
rule = "not-native"
kernel = "acme::add<int>"
targets = ["intel_gpu_dg1"]
reason = "compiled later"
until = 2026-12-31
[[check.exception]]
aspect = "fp64"
kernel = "fo*"
targets = ["intel_gpu_pvc"]
reason = "was to be gone"
until = 2025-12-31
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("acme.spv", &module(&NAMES));
    desk.put("wide.spv", &spirv::module_of("aspects", "chain_lines"));
    desk.put("chain.spv", &spirv::module_of("aspects", "chain"));
    desk
}

fn check(desk: &Desk, arguments: &[&str]) -> Value {
    let output = desk.run(&[&["check", "--format", "json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// A page and `check` with the same arguments say the same of the same targets; gives the verdicts that there are.
fn agree(desk: &Desk, arguments: &[&str]) -> [u64; 5] {
    let (check, page) = (check(desk, arguments), data(&desk.page(&[&["inspect"], arguments].concat())));
    let (matrix, mut seen) = (&page["matrix"], [0; 5]);
    let (counts, cells) = (counts(matrix), cells(matrix));
    let asked = check["targets"].as_array().unwrap().iter().filter(|target| target["target"].is_string());
    for target in asked.clone() {
        let name = target["target"].as_str().unwrap();
        let [runs, unknown, cannot, excused, unasked] = counts[name];
        let known = ["compatible", "unknown", "incompatible"].map(|name| target["kernels"][name].as_u64().unwrap());
        assert_eq!([runs + excused, unknown, cannot], known, "{arguments:?}: {name}");
        for (sum, own) in seen.iter_mut().zip([runs, unknown, cannot, excused, unasked]) {
            *sum += own;
        }
        // By rule, message and why it does not count.
        let mut said: BTreeMap<[Option<String>; 3], usize> = BTreeMap::new();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for reason in cells[name].iter().flat_map(|cell| cell[1].as_array().unwrap()) {
            let reason = &matrix["reasons"][number(reason)];
            let excuse = reason[5].as_u64().and_then(|_| text(&matrix["texts"][number(&reason[5])]));
            *said.entry([text(&reason[1]), text(&reason[2]), excuse]).or_default() += 1;
        }
        let findings = target["findings"].as_array().unwrap();
        for finding in findings.iter().filter(|finding| finding["kernel"].is_string()) {
            let left = said.get_mut(&["rule", "message", "excused"].map(|field| text(&finding[field]))).unwrap();
            *left -= 1;
        }
        assert!(said.values().all(|left| *left == 0), "{arguments:?}: {name}: {said:?}");
        // What is found of whole files stands beside the matrix.
        let of_files = findings.iter().filter(|finding| finding["kernel"].is_null()).count();
        let found = page["policy"]["findings"].as_array();
        let beside = found.into_iter().flatten().filter(|one| one["target"] == target["target"]).count();
        assert_eq!(of_files, beside, "{arguments:?}: {name}");
    }
    assert_eq!(asked.count(), counts.len());
    seen
}

#[test]
fn a_page_counts_what_check_counts() {
    let desk = desk();
    desk.put("sycl-bundle.toml", POLICY.as_bytes());
    let all = ["acme.spv", "wide.spv", "chain.spv"];
    let seen = agree(&desk, &all);
    assert!(seen.iter().all(|sum| *sum > 0), "{seen:?}");
    for file in all {
        agree(&desk, &[file]);
    }
    // Targets that are named, one of them none of the policy's; a policy that is named; none.
    agree(&desk, &["acme.spv", "wide.spv", "-t", "acm-g10,bmg-g21"]);
    desk.put("other.toml", b"check.targets = [\"dg1\"]\ncheck.strict = true\n");
    let seen = agree(&desk, &["wide.spv", "--policy", "other.toml"]);
    assert_eq!(seen, [0, 0, 1, 0, 0]);
    let seen = agree(&desk, &["wide.spv", "--no-policy", "-t", "acm-g10"]);
    assert_eq!(seen, [0, 0, 1, 0, 0]);
    // What is known.
    desk.run(&["check", "wide.spv", "-t", "dg1", "--no-policy", "--write-baseline", "known.json"]);
    let seen = agree(&desk, &["wide.spv", "chain.spv", "--policy", "other.toml", "--baseline", "known.json"]);
    assert_eq!(seen, [0, 0, 1, 1, 0]);
}

#[test]
fn which_policy_holds() {
    let desk = desk();
    let targets = |arguments: &[&str]| {
        data(&desk.page(&[&["inspect", "wide.spv"], arguments].concat()))["matrix"]["targets"].clone()
    };
    let default = targets(&[]);
    desk.put("sycl-bundle.toml", b"[build]\nregisters = \"large\"\n");
    assert_eq!(targets(&[]), default, "it only says how to build");
    desk.put("sycl-bundle.toml", b"[check.budget]\nimages = 0\n");
    assert_eq!(targets(&[]), default, "it names no target");
    let page = data(&desk.path("page.html"));
    assert_eq!(page["policy"]["findings"][0]["rule"], "budget-images");
    assert_eq!(page["policy"]["day"], Value::Null, "nothing depends on the day");
    desk.put("sycl-bundle.toml", b"check.targets = [\"dg1\"]\n");
    assert_eq!(targets(&[]), serde_json::json!(["intel_gpu_dg1"]));
    assert_eq!(targets(&["--no-policy"]), default);
    desk.put("sycl-bundle.toml", b"check.targets = [\"none such\"]\n");
    let output = desk.run(&["inspect", "wide.spv", "--html", "page.html"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("sycl-bundle.toml:1:18"));
    let output = desk.run(&["inspect", "wide.spv"]);
    assert_eq!(output.status.code(), Some(0), "without a page no policy is read");
}

#[test]
fn people_see_what_is_excused() {
    let desk = desk();
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
