//! Does what is written fulfil the schemas that others have published, and our own?
//!
//! SARIF by the schema of OASIS, JUnit's XML by that of Jenkins, every JSON document by what `--schema` prints. The judges
//! are jsonschema and xmlschema for Python; `fetch.py` gets both and the schemas, by version and hash.

use crate::support::built::Recipe;
use crate::support::host::{Fixture, samples};
use crate::support::spirv;
use crate::support::tools::tool;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Folder that `fetch.py` makes.
fn judges() -> &'static Path {
    static JUDGES: OnceLock<PathBuf> = OnceLock::new();
    JUDGES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = std::env::var_os("SYCL_BUNDLE_SCHEMAS").map_or_else(|| root.join("target/schemas"), PathBuf::from);
        let script = root.join("tests/real/schemas/fetch.py");
        let output =
            Command::new(tool("python3")).arg(script).arg(&folder).env("CARGO", env!("CARGO")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder
    })
}

/// Has the judge look at documents, each behind its schema.
fn validate(pairs: &[(PathBuf, PathBuf)]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/schemas/validate.py");
    let mut command = Command::new(judges().join("venv/bin/python"));
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
    for (schema, document) in pairs {
        command.arg(schema).arg(document);
    }
    command.output().unwrap()
}

/// An OpenCL loader of our own, whose device is there on every machine.
fn loader(kind: &str) -> PathBuf {
    let (source, library) = (format!("{kind}.c"), format!("lib{kind}.so"));
    let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/host").join(&source)).unwrap();
    let recipe = Recipe::new(kind).input(&source, text).output(&library);
    recipe.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", &source, "-o", &library]).path(&library)
}

/// A folder with modules, a policy that all kinds of finding come from, and what runs there.
struct Scene {
    folder: tempfile::TempDir,
    documents: Vec<(PathBuf, PathBuf)>,
}

/// Of 2026-01-01: before the first exception ends, after the second has.
const TODAY: &str = "1767225600";

const POLICY: &str = r#"
[check]
targets = ["acm-g10", "dg1", "pvc", "spir64"]
[check.budget]
bytes = 100
images = 0
spill = 0
[check.target.pvc]
kernels = ["nowhere*", "foo", "_Z*"]
forbidden-aspects = ["fp64", "atomic64"]
require-native = true
[[check.exception]]
aspect = "fp64"
kernel = "foo"
targets = ["dg1"]
reason = "told to users & <others>"
until = 2026-01-01
[[check.exception]]
aspect = "fp64"
kernel = "bar"
reason = "\"quoted\" \u0001 ü"
until = 2025-12-31
"#;

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        for name in ["chain", "chain_lines", "importer", "exporter", "recursion", "pointers"] {
            std::fs::write(folder.path().join(format!("{name}.spv")), spirv::module_of("aspects", name)).unwrap();
        }
        let whole = spirv::module_of("aspects", "chain_lines");
        std::fs::create_dir(folder.path().join("other")).unwrap();
        let harmless = spirv::module_of("aspects", "recursion");
        std::fs::write(folder.path().join("other/chain.spv"), harmless).unwrap();
        std::fs::create_dir(folder.path().join("a & b")).unwrap();
        std::fs::write(folder.path().join("a & b/ü \"x\".spv"), &whole).unwrap();
        std::fs::write(folder.path().join("cut.spv"), &whole[..whole.len() - 12]).unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        Scene { folder, documents: Vec::new() }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.args(arguments).current_dir(self.folder.path()).env("SOURCE_DATE_EPOCH", TODAY);
        if arguments.first() == Some(&"devices") {
            let kind = if arguments.contains(&"--kernels") { "custom_device" } else { "spirv_device" };
            tool.env("OPENCL_DYLIB_PATH", loader(kind)).env_remove("ONEAPI_DEVICE_SELECTOR");
        }
        tool.env_remove("SYCL_BUNDLE_CONFIG").output().unwrap()
    }

    fn help(&self, verb: &[&str]) -> String {
        String::from_utf8(self.run(&[verb, &["--help"]].concat()).stdout).unwrap()
    }

    /// The verbs, as the help screen lists them.
    fn verbs(&self) -> Vec<String> {
        let help = self.help(&[]);
        let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        let lines = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
        lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    }

    /// The verbs that publish a schema, as their help says.
    fn publishing(&self) -> Vec<String> {
        let verbs = self.verbs().into_iter().filter(|verb| self.help(&[verb]).contains("--schema"));
        let verbs: Vec<String> = verbs.collect();
        assert!(verbs.len() >= 15, "{verbs:?}");
        verbs
    }

    /// Runs the tool, which must end with one of these codes, and keeps what it prints as a document of a schema.
    fn document(&mut self, schema: &Path, name: &str, arguments: &[&str], codes: &[i32]) -> PathBuf {
        let output = self.run(arguments);
        let code = output.status.code().unwrap();
        assert!(codes.contains(&code), "{arguments:?}: {code}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{arguments:?} printed nothing");
        let path = self.folder.path().join(name);
        std::fs::write(&path, output.stdout).unwrap();
        self.documents.push((schema.to_owned(), path.clone()));
        path
    }

    /// The schema that a verb prints.
    fn schema(&self, verb: &str) -> PathBuf {
        let output = self.run(&[verb, "--schema"]);
        assert!(output.status.success(), "{verb} --schema");
        let path = self.folder.path().join(format!("{verb}.schema.json"));
        std::fs::write(&path, output.stdout).unwrap();
        path
    }

    fn prove(&self) {
        let output = validate(&self.documents);
        assert!(
            output.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Runs of the gate that between them make findings of every kind: by policy, by targets, with a baseline, of damaged
    /// files, of none.
    fn gates(&self) -> Vec<(Vec<&'static str>, Vec<i32>)> {
        let all = ["chain.spv", "chain_lines.spv", "importer.spv", "exporter.spv", "pointers.spv", "a & b/ü \"x\".spv"];
        let policy = [&["check"][..], &all, &["--policy", "policy.toml", "--quiet"]].concat();
        let known = self.run(&["check", "chain.spv", "-t", "dg1", "--no-policy", "--write-baseline", "known.json"]);
        assert!(known.status.success());
        let baseline = [&["check"][..], &all, &["-t", "dg1", "--no-policy", "--baseline", "known.json"]].concat();
        vec![
            (policy.clone(), vec![1]),
            ([&policy[..], &["--strict", "--state", "executable"]].concat(), vec![1]),
            (baseline, vec![1]),
            (vec!["check", "other/chain.spv", "-t", "dg1", "--no-policy", "--baseline", "known.json"], vec![0]),
            (vec!["check", "cut.spv", "missing.so", "chain.spv", "-t", "acm-g10", "--no-policy"], vec![3]),
            (vec!["check", "recursion.spv", "-t", "spir64_x86_64", "--no-policy"], vec![0]),
        ]
    }
}

#[test]
fn what_the_gate_writes_is_valid() {
    let mut scene = Scene::new();
    let own = scene.schema("check");
    let (sarif, junit) = (judges().join("sarif-2.1.0.json"), judges().join("junit-10.xsd"));
    for (at, (arguments, codes)) in scene.gates().into_iter().enumerate() {
        for (format, schema, ending) in [("sarif", &sarif, "sarif"), ("junit", &junit, "xml"), ("json", &own, "json")] {
            let arguments = [&arguments[..], &["--format", format]].concat();
            scene.document(schema, &format!("{at}.{ending}"), &arguments, &codes);
        }
    }
    let lines = [&scene.gates()[0].0[..], &["--format", "jsonl"]].concat();
    scene.document(&own, "gate.jsonl", &lines, &[1]);
    let declared =
        ["check", "chain_lines.spv", "importer.spv", "exporter.spv", "cut.spv", "--declared", "", "--external"];
    scene.document(&own, "declared.json", &[&declared[..], &["--format", "json"]].concat(), &[3]);
    scene.document(&own, "declared.jsonl", &[&declared[..], &["--format", "jsonl"]].concat(), &[3]);
    scene.prove();
    // Every kind of finding that a policy has is there, excused, known and new ones.
    let all: String =
        (0..6).map(|at| std::fs::read_to_string(scene.folder.path().join(format!("{at}.json"))).unwrap()).collect();
    for part in [
        "\"expired-exception\"",
        "\"budget-bytes\"",
        "\"budget-images\"",
        "\"forbidden-aspect\"",
        "\"missing-kernel\"",
        "\"not-native\"",
        "\"aspect\"",
        "(until 2026-01-01)",
        "\"known\":true",
        "\"known\":false",
        "\"problems\":[{",
        "\"gone\":[]",
        "\"gone\":[{",
    ] {
        assert!(all.contains(part), "no document has {part}");
    }
}

/// One run of a verb, and the exit codes that it may have.
type Run = (Vec<&'static str>, Vec<i32>);

/// Runs of a verb whose documents are held against its schema; later verbs find what earlier ones wrote.
fn runs(verb: &str) -> Vec<Run> {
    match verb {
        "inspect" => vec![(vec!["chain.spv", "cut.spv", "missing.so"], vec![3])],
        "kernels" => vec![(vec!["chain_lines.spv", "importer.spv", "cut.spv"], vec![3])],
        "props" => {
            vec![(vec!["lib.so", "chain.spv", "cut.spv"], vec![3]), (vec!["lib.so", "--set", "*misc*"], vec![0])]
        }
        // `what_the_gate_writes_is_valid` has more.
        "check" => vec![(vec!["chain.spv", "-t", "dg1", "--no-policy"], vec![1])],
        "has" => vec![
            (vec!["chain.spv", "-t", "dg1,pvc"], vec![0]),
            (vec!["chain.spv", "-t", "dg1", "--kernel", "foo"], vec![1]),
            (vec!["chain.spv", "-t", "spir64", "--state", "input"], vec![1]),
        ],
        "explain" => vec![
            (vec!["--message", "PI_ERROR_INVALID_BINARY"], vec![0]),
            (vec!["lib.so", "chain.spv", "--message", "UR_RESULT_ERROR_OUT_OF_RESOURCES"], vec![0]),
            (vec!["chain.spv", "--message", "Required aspect fp64 is not supported on the device"], vec![0]),
            (vec!["chain.spv", "--kernel", "foo", "-t", "dg1"], vec![1]),
            (vec!["recursion.spv", "--kernel", "foo", "-t", "pvc,spir64_x86_64"], vec![0]),
        ],
        "diff" => vec![(vec!["chain.spv", "chain_lines.spv"], vec![0]), (vec!["chain.spv", "importer.spv"], vec![0])],
        "targets" => {
            vec![(vec![], vec![0]), (vec!["acm-g10", "xe2"], vec![0]), (vec!["--of", "chain.spv"], vec![0])]
        }
        "devices" => {
            vec![(vec![], vec![0]), (vec!["custom", "--kernels"], vec![0]), (vec!["cpu", "--probe"], vec![0])]
        }
        "extract" => vec![(vec!["lib.so", "-o", "images"], vec![0]), (vec!["chain.spv", "-o", "more"], vec![0])],
        "filter" => vec![
            (vec!["chain.spv", "recursion.spv", "-o", "dg1,dg1.table", "-o", "pvc,pvc.table"], vec![0]),
            (vec!["lib.so", "-o", "same.so"], vec![0]),
        ],
        "build" => vec![
            (vec!["chain.spv", "importer.spv", "-t", "spir64_x86_64,dg1", "-o", "o.table", "--dry-run"], vec![0, 4]),
            (vec!["chain.spv", "cut.spv", "-t", "spir64_x86_64", "-o", "o.table", "--dry-run"], vec![3]),
        ],
        "embed" => vec![(vec!["lib.so", "chain.spv", "-o", "more.so"], vec![0])],
        "prune" => vec![(vec!["more.so", "--image", "0", "--lose-kernels", "-o", "less.so"], vec![0])],
        "cache" => {
            vec![(vec!["stats"], vec![0]), (vec!["verify"], vec![0]), (vec!["gc"], vec![0]), (vec!["clear"], vec![0])]
        }
        // The document is a file: see below.
        "record" => Vec::new(),
        "doctor" => vec![(vec![], vec![0, 5]), (vec!["--ocloc", "nowhere/libocloc.so"], vec![0, 5])],
        _ => panic!("`{verb}` has `--schema`, and no document of it is held against that: give it runs here"),
    }
}

#[test]
fn every_verb_writes_what_its_schema_says() {
    let mut scene = Scene::new();
    let library = Fixture::new("results").images(samples::every_property()).build();
    std::fs::copy(library, scene.folder.path().join("lib.so")).unwrap();
    for verb in scene.publishing() {
        let own = scene.schema(&verb);
        for (at, (arguments, codes)) in runs(&verb).into_iter().enumerate() {
            let arguments = [&[&*verb][..], &arguments, &["--format", "json"]].concat();
            scene.document(&own, &format!("{verb}{at}.json"), &arguments, &codes);
        }
    }
    assert!(scene.run(&["record", "-o", "r.json", "--", "true"]).status.success());
    let own = scene.schema("record");
    scene.documents.push((own, scene.folder.path().join("r.json")));
    let clones = scene.run(&["inspect", "--clones", "--schema"]);
    let schema = scene.folder.path().join("clones.schema.json");
    std::fs::write(&schema, clones.stdout).unwrap();
    let twice = ["inspect", "--clones", "lib.so", "chain.spv", "--format", "json"];
    scene.document(&schema, "clones.json", &twice, &[0]);
    // A baseline is a list of what the schema of `check` calls known.
    let known =
        scene.run(&["check", "chain.spv", "pointers.spv", "-t", "dg1", "--no-policy", "--write-baseline", "b.json"]);
    assert!(known.status.success(), "{}", String::from_utf8_lossy(&known.stderr));
    let mut own: Value = serde_json::from_slice(&std::fs::read(scene.schema("check")).unwrap()).unwrap();
    own["required"] = json!(["schema_version", "findings"]);
    own["properties"] = json!({ "findings": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/known" } } });
    let of_baseline = scene.folder.path().join("baseline.schema.json");
    std::fs::write(&of_baseline, own.to_string()).unwrap();
    scene.documents.push((of_baseline, scene.folder.path().join("b.json")));
    scene.prove();
}

/// The judges find what is wrong; else the tests above would show nothing.
#[test]
fn the_judges_refuse_what_is_wrong() {
    let scene = Scene::new();
    let path = |name: &str| scene.folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    let refused = |schema: &Path, name: &str| {
        let output = validate(&[(schema.to_owned(), path(name))]);
        output.status.code() == Some(1) && !output.stdout.is_empty()
    };
    let (sarif, junit) = (judges().join("sarif-2.1.0.json"), judges().join("junit-10.xsd"));
    write(
        "a.sarif",
        r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{},"level":"bad"}]}]}"#,
    );
    assert!(refused(&sarif, "a.sarif"));
    write("a.xml", "<testsuites><testsuite name=\"x\"><testcase/></testsuite></testsuites>");
    assert!(refused(&junit, "a.xml"));
    write("a.json", r#"{"schema_version":1,"verdict":"maybe","targets":[],"problems":[]}"#);
    assert!(refused(&scene.schema("check"), "a.json"));
    for verb in scene.publishing() {
        let known: Value = serde_json::from_slice(&std::fs::read(scene.schema(&verb)).unwrap()).unwrap();
        let last = known["required"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        write("b.json", &json!({ "schema_version": 1, last: {} }).to_string());
        assert!(refused(&scene.schema(&verb), "b.json"), "{verb}");
    }
}
