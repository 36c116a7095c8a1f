//! How do modules and pages come into being, and what does a page say as data?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::spirv;
use serde_json::Value;

/// A module with kernels of these names, one function each, in SPIR-V 1.2.
pub fn module(names: &[&str]) -> Vec<u8> {
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0200, 0x0006_000e, 0, 0];
    let mut put = |op: u32, operands: &[u32]| {
        words.push(u32::try_from(operands.len() + 1).unwrap() << 16 | op);
        words.extend(operands);
    };
    put(17, &[4]);
    put(17, &[6]);
    put(14, &[2, 2]);
    let first = 10;
    let id = |at: usize| first + 2 * u32::try_from(at).unwrap();
    for (at, name) in names.iter().enumerate() {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        let text = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        put(15, &[6, id(at)].into_iter().chain(text).collect::<Vec<_>>());
    }
    put(19, &[1]);
    put(33, &[2, 1]);
    for at in 0..names.len() {
        put(54, &[1, id(at), 0, 2]);
        put(248, &[id(at) + 1]);
        put(253, &[]);
        put(56, &[]);
    }
    words[3] = id(names.len());
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A folder for modules and pages.
pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs the program here, on the first day of 2026.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("SOURCE_DATE_EPOCH", "1767225600")
            .env_remove("SYCL_BUNDLE_CONFIG")
            .output()
            .unwrap()
    }

    /// Has the program write `page.html`.
    pub fn page(&self, arguments: &[&str]) -> PathBuf {
        let output = self.run(&[arguments, &["--html", "page.html"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        self.path("page.html")
    }
}

/// The text of a page.
pub fn text(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap()
}

/// The data of a page.
pub fn data(page: &Path) -> Value {
    let page = text(page);
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A number of a page's data, to count with.
pub fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The cells of each target, one for each kernel.
pub fn cells(matrix: &Value) -> BTreeMap<String, Vec<&Value>> {
    let mut all: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for (at, target) in matrix["targets"].as_array().unwrap().iter().enumerate() {
        let own = all.entry(target.as_str().unwrap().to_owned()).or_default();
        for class in matrix["class"].as_array().unwrap() {
            own.push(&matrix["cells"][number(&matrix["classes"][number(class)][at])]);
        }
    }
    all
}

/// Kernels of each target by verdict: those that run, of which it is not known, that cannot, that are excused, and that
/// nobody asks about.
pub fn counts(matrix: &Value) -> BTreeMap<String, [u64; 5]> {
    let count = |cells: Vec<&Value>| {
        let mut counts = [0; 5];
        cells.iter().for_each(|cell| counts[number(&cell[0])] += 1);
        counts
    };
    cells(matrix).into_iter().map(|(target, cells)| (target, count(cells))).collect()
}

/// Kernels of two templates.
pub const NAMES: [&str; 4] =
    ["_ZTSN4acme3addIiEE", "_ZTSN4acme3addIfEE", "_ZTSN4acme5scaleIiEE", "_ZTSN4acme5scaleIfEE"];

/// Every target has an exception, a rule or both; one exception has ended, one covers one of two things, one nothing.
pub const POLICY: &str = r#"
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

/// A folder with these kernels, and two modules of which one tells lines.
pub fn desk_of_policy() -> Desk {
    let desk = Desk::new();
    desk.put("acme.spv", &module(&NAMES));
    desk.put("wide.spv", &spirv::module_of("aspects", "chain_lines"));
    desk.put("chain.spv", &spirv::module_of("aspects", "chain"));
    desk
}
