//! What verdict does `check` give, and with which exit status?
//!
//! Modules are the texts of `fixtures/aspects`, assembled here.

use crate::support::page::{self, Desk};
use crate::support::spirv;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value as Stored};
use sycl_bundle::bundle::property_text;

/// A folder with the modules of some names.
fn modules(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(folder.path().join(format!("{name}.spv")), spirv::module_of("aspects", name)).unwrap();
    }
    folder
}

/// The JSON and the exit status of a run.
fn check(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.arg("check").args(arguments).args(["--format", "json"]).current_dir(folder).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or_default(), output.status.code())
}

#[test]
fn what_nobody_defines_is_unknown_and_fails_where_that_is_asked() {
    let folder = modules(&["importer", "exporter"]);
    let (report, status) = check(folder.path(), &["importer.spv", "--declared", ""]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(0)));
    assert_eq!(report["targets"][0]["findings"], json!([]));
    let (report, status) = check(folder.path(), &["importer.spv", "--declared", "", "--strict"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(1)));
    let both = ["importer.spv", "exporter.spv", "--declared", "atomic64", "--strict"];
    let (report, status) = check(folder.path(), &both);
    assert_eq!((&report["verdict"], status), (&json!("compatible"), Some(0)));
}

#[test]
fn what_another_file_does_is_told_of_that_file() {
    let folder = modules(&["importer", "exporter"]);
    let (report, status) = check(folder.path(), &["importer.spv", "exporter.spv", "--external"]);
    assert_eq!((&report["verdict"], status), (&json!("incompatible"), Some(1)));
    let finding = &report["targets"][0]["findings"][0];
    assert_eq!(finding["rule"], "external-function");
    assert_eq!(finding["file"], "importer.spv");
    assert_eq!(finding["used_in"], json!({ "file": "exporter.spv", "image": 0 }));
    let message = finding["message"].as_str().unwrap();
    assert!(message.starts_with("function 'far(float)' uses aspect 'atomic64' not expected by its calling kernel."));
}

/// Property sets as text: each property a set, a key and a text.
fn properties(all: &[(&str, &str, &str)]) -> String {
    let raw: Vec<Vec<u8>> =
        all.iter().map(|(.., text)| [&(text.len() as u64 * 8).to_le_bytes()[..], text.as_bytes()].concat()).collect();
    let sets = all.iter().zip(&raw).map(|((set, key, _), raw)| PropertySet {
        name: set,
        properties: vec![Property { name: key, value: Stored::Bytes(raw) }],
    });
    property_text::write(&Properties { sets: sets.collect() }).unwrap()
}

/// A row of a table: the module, its properties as set, name and value, and its entries.
type Row<'r> = (&'r str, &'r [(&'r str, &'r str, &'r str)], &'r str);

/// A table of modules of `fixtures/aspects`, each with its properties and entries.
fn table(folder: &Path, name: &str, rows: &[Row<'_>]) {
    let mut text = "[Code|Properties|Symbols]\n".to_owned();
    for (module, sets, entries) in rows {
        let [code, prop, sym] = ["spv", "prop", "sym"].map(|kind| format!("{name}_{module}.{kind}"));
        std::fs::write(folder.join(&code), spirv::module_of("aspects", module)).unwrap();
        std::fs::write(folder.join(&prop), properties(sets)).unwrap();
        std::fs::write(folder.join(&sym), entries.replace(' ', "\n")).unwrap();
        text += &format!("{code}|{prop}|{sym}\n");
    }
    std::fs::write(folder.join(format!("{name}.table")), text).unwrap();
}

const VIRTUAL: &str = "SYCL/virtual functions";
const IMPORTED: &str = "SYCL/imported symbols";
const EXPORTED: &str = "SYCL/exported symbols";

#[test]
fn a_virtual_call_needs_what_the_definitions_in_other_images_do() {
    let folder = tempfile::tempdir().unwrap();
    let defines: &[(&str, &str, &str)] = &[(VIRTUAL, "virtual-functions-set", "shapes")];
    let uses: &[(&str, &str, &str)] = &[(VIRTUAL, "uses-virtual-functions-set", "other,shapes")];
    let one = [("virtual_call", uses, "foo bar"), ("virtual_definition", defines, "_ZN4Wide4wideEf")];
    table(folder.path(), "one", &one);
    let (report, status) = check(folder.path(), &["one.table", "--declared", "ext_oneapi_virtual_functions"]);
    assert_eq!((&report["verdict"], status), (&json!("incompatible"), Some(1)));
    let findings = report["targets"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{report:#}");
    let finding = &findings[0];
    assert_eq!((&finding["kernel"], &finding["aspect"]), (&json!("foo"), &json!("fp64")));
    assert_eq!(finding["used_in"], json!({ "file": "one.table", "image": 1 }));
    let chain: Vec<&Value> = finding["chain"].as_array().unwrap().iter().map(|step| &step["function"]).collect();
    assert_eq!(chain, ["foo", "_ZN4Wide4wideEf"]);
    // In another file, too; and where no file defines the set, it is not known.
    table(folder.path(), "caller", &one[..1]);
    table(folder.path(), "callee", &one[1..]);
    let verdict = |files: &[&str]| check(folder.path(), files).0["verdict"].as_str().unwrap().to_owned();
    let declared = "ext_oneapi_virtual_functions,fp64";
    assert_eq!(verdict(&["caller.table", "--declared", declared]), "unknown");
    // One of the two sets is defined nowhere.
    assert_eq!(verdict(&["caller.table", "callee.table", "--declared", declared]), "unknown");
    assert_eq!(verdict(&["caller.table", "callee.table", "--declared", "fp16"]), "incompatible");
}

#[test]
fn an_instruction_in_another_image_is_told_with_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let defines: &[(&str, &str, &str)] = &[(VIRTUAL, "virtual-functions-set", "shapes")];
    let uses: &[(&str, &str, &str)] = &[(VIRTUAL, "uses-virtual-functions-set", "shapes")];
    let rows = [("virtual_call", uses, "foo bar"), ("virtual_definition", defines, "_ZN4Wide4wideEf")];
    table(folder.path(), "one", &rows);
    let (report, _) = check(folder.path(), &["one.table", "-t", "intel_gpu_acm_g10"]);
    let findings = report["targets"][0]["findings"].as_array().unwrap();
    let wide = findings.iter().find(|finding| finding["aspect"] == "fp64").unwrap();
    assert_eq!((&wide["kernel"], &wide["image"], &wide["used_in_image"]), (&json!("foo"), &json!(0), &json!(1)));
}

/// `importer` and `exporter` as two files whose properties say what they import and export.
fn two_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path(), "user", &[("importer", &[(IMPORTED, "_Z3farf", "")], "foo")]);
    table(folder.path(), "library", &[("exporter", &[(EXPORTED, "_Z3farf", "")], "_Z3farf")]);
    folder
}

#[test]
fn what_one_file_imports_another_provides_on_a_target() {
    let folder = two_files();
    let (report, status) = check(folder.path(), &["user.table", "-t", "intel_gpu_pvc", "--strict"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(1)));
    assert_eq!(report["targets"][0]["findings"][0]["rule"], "imports");
    let both = ["user.table", "library.table", "-t", "intel_gpu_pvc", "--strict"];
    let (report, status) = check(folder.path(), &both);
    assert_eq!((&report["verdict"], status), (&json!("compatible"), Some(0)), "{report:#}");
    let provided = json!([{
        "file": "user.table",
        "image": 1,
        "provided_by": { "file": "library.table", "image": 0 },
        "symbols": ["_Z3farf"],
    }]);
    assert_eq!(report["providers"], provided);
    // The order does not matter, and what the provider needs counts: no atomics of 64 bits here.
    let config =
        "intel_gpu_acm_g10:\n  aspects: [gpu, fp16]\n  may_support_other_aspects: false\n  sub-group-sizes: [8]\n";
    std::fs::write(folder.path().join("small.yaml"), config).unwrap();
    let small = ["library.table", "user.table", "-t", "intel_gpu_acm_g10", "--device-config", "small.yaml"];
    let (report, status) = check(folder.path(), &small);
    let found: Vec<[&Value; 3]> = report["targets"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["certain"] == true)
        .map(|finding| [&finding["kernel"], &finding["used_in_image"], &finding["aspect"]])
        .collect();
    assert_eq!((found, status), (vec![[&json!("foo"), &json!(1), &json!("atomic64")]], Some(1)), "{report:#}");
}

#[test]
fn symbols_are_linked_across_files() {
    let folder = two_files();
    let link = |files: &[&str]| check(folder.path(), &[files, &["--link"]].concat());
    let (report, status) = link(&["user.table"]);
    assert_eq!((&report["verdict"], status), (&json!("incompatible"), Some(1)));
    let finding = &report["link"]["findings"][0];
    assert_eq!((&finding["rule"], &finding["demangled"]), (&json!("unresolved-symbol"), &json!("far(float)")));
    let wanted = json!([{ "file": "user.table", "image": 0, "kernels": ["foo"], "functions": [] }]);
    assert_eq!(finding["wanted_by"], wanted);
    let (report, status) = link(&["user.table", "library.table"]);
    assert_eq!((&report["verdict"], status), (&json!("compatible"), Some(0)));
    let links = json!([{ "from": "user.table", "to": "library.table", "symbols": ["_Z3farf"] }]);
    assert_eq!(report["link"]["links"], links);
    // The same code twice is no matter; other code of the same name is.
    for kind in ["spv", "prop", "sym"] {
        let [from, to] = ["library", "second"].map(|name| folder.path().join(format!("{name}_exporter.{kind}")));
        std::fs::copy(from, to).unwrap();
    }
    let row = "[Code|Properties|Symbols]\nsecond_exporter.spv|second_exporter.prop|second_exporter.sym\n";
    std::fs::write(folder.path().join("second.table"), row).unwrap();
    assert_eq!(link(&["user.table", "library.table", "second.table"]).1, Some(0));
    let mut other = spirv::module_of("aspects", "exporter");
    other.extend(0x0001_0000u32.to_le_bytes());
    std::fs::write(folder.path().join("second_exporter.spv"), other).unwrap();
    let (report, status) = link(&["user.table", "library.table", "second.table"]);
    assert_eq!((&report["link"]["findings"][0]["rule"], status), (&json!("duplicate-symbol"), Some(1)));
    // Nobody imports it: it may do no harm.
    let (report, status) = link(&["library.table", "second.table"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(0)));
    assert_eq!(link(&["library.table", "second.table", "--strict"]).1, Some(1));
}

#[test]
fn kernels_of_one_name_are_told_by_their_code() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, module: &[u8]| std::fs::write(folder.path().join(name), module).unwrap();
    let text = |constant: &str, more: &str| {
        format!(
            "OpCapability Addresses\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n\
             OpEntryPoint Kernel %1 \"k\"\n{more}%2 = OpTypeVoid\n%3 = OpTypeInt 32 0\n%4 = OpTypeFunction %2\n\
             %5 = OpConstant %3 {constant}\n%1 = OpFunction %2 None %4\n%6 = OpLabel\n%7 = OpIAdd %3 %5 %5\nOpReturn\n\
             OpFunctionEnd\n"
        )
    };
    put("a.spv", &spirv::assemble(&text("1", "")).unwrap());
    // The same kernel in a module that says more.
    put("b.spv", &spirv::assemble(&text("1", "OpName %2 \"nothing\"\n")).unwrap());
    put("c.spv", &spirv::assemble(&text("2", "")).unwrap());
    let link = |files: &[&str]| check(folder.path(), &[files, &["--link"]].concat());
    assert_eq!(link(&["a.spv", "b.spv"]).1, Some(0));
    let (report, status) = link(&["a.spv", "b.spv", "c.spv"]);
    assert_eq!((&report["link"]["findings"][0]["rule"], status), (&json!("kernel-in-two-files"), Some(1)));
    assert_eq!(report["link"]["findings"][0]["certain"], true);
    // Native code for another target beside it is of another runtime's generation.
    let wrapped = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .current_dir(folder.path())
        .args(["wrap", "a.spv", "--as-target", "intel_gpu_pvc", "-o", "native.o"])
        .output()
        .unwrap();
    assert!(wrapped.status.success());
    let (report, status) = link(&["a.spv", "native.o"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(0)));
}

#[test]
fn link_is_told_in_every_form() {
    let folder = two_files();
    for (form, says) in [
        ("table", "No device image found for external symbol `far(float)`"),
        ("github", "::error file=user.table,title=unresolved-symbol::No device image found"),
        ("markdown", "**error (unresolved-symbol)**"),
        ("sarif", "\"ruleId\":\"unresolved-symbol\""),
        ("junit", "<failure message=\"No device image found for external symbol far(float)\""),
    ] {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.current_dir(folder.path()).args(["check", "user.table", "--link", "--format", form]);
        let output = tool.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(says), "{form}: {said}");
    }
}

#[test]
fn what_a_target_is_not_known_to_lack_does_not_fail() {
    let folder = modules(&["chain"]);
    let verdict = |target: &str, strict: &[&str]| {
        let arguments = [&["chain.spv", "--fixed-targets", target][..], strict].concat();
        let (report, status) = check(folder.path(), &arguments);
        (report["verdict"].as_str().unwrap().to_owned(), status.unwrap())
    };
    assert_eq!(verdict("spir64", &[]), ("unknown".to_owned(), 0));
    assert_eq!(verdict("spir64", &["--strict"]), ("unknown".to_owned(), 1));
    assert_eq!(verdict("intel_gpu_acm_g10", &[]), ("incompatible".to_owned(), 1));
    assert_eq!(verdict("spir64_x86_64", &["--strict"]), ("compatible".to_owned(), 0));
}

#[test]
fn sizes_that_only_the_code_names_count() {
    let source = "OpCapability Kernel\nOpCapability SubgroupDispatch\nOpMemoryModel Physical64 OpenCL\n\
        OpEntryPoint Kernel %1 \"k\"\nOpExecutionMode %1 LocalSize 4096 4 1\nOpExecutionMode %1 SubgroupSize 3\n\
        %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.spv"), spirv::assemble(source).unwrap()).unwrap();
    let (report, status) = check(folder.path(), &["k.spv", "--fixed-targets", "intel_gpu_pvc"]);
    assert_eq!(status, Some(1));
    let rules: Vec<&Value> =
        report["targets"][0]["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert_eq!(rules, ["fixed-targets-sub-group-size", "fixed-targets-work-group-size"]);
}

#[test]
fn nothing_judged_is_not_compatible() {
    let folder = modules(&["chain"]);
    std::fs::write(folder.path().join("plain.txt"), "no code").unwrap();
    assert_eq!(check(folder.path(), &["chain.spv", "--kernel", "other", "--declared", ""]).0["verdict"], "unknown");
    let whole = spirv::module_of("aspects", "chain");
    std::fs::write(folder.path().join("cut.spv"), &whole[..whole.len() - 12]).unwrap();
    let (report, status) = check(folder.path(), &["cut.spv", "--declared", "fp64"]);
    assert_eq!((&report["verdict"], status), (&json!("unknown"), Some(3)));
    assert_eq!(check(folder.path(), &["chain.spv", "--declared", "fp46"]).1, Some(2));
}

/// A run in a folder, on 2026-01-01, with what it says on standard error.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.args(arguments).current_dir(folder).env("SOURCE_DATE_EPOCH", "1767225600").env_remove("SYCL_BUNDLE_CONFIG");
    let output = tool.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_nearest_policy_above_counts() {
    let folder = modules(&["chain"]);
    let deep = folder.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let check = ["check", "../../chain.spv"];
    std::fs::write(folder.path().join("sycl-bundle.toml"), "check.targets = [\"acm-g10\"]\n").unwrap();
    assert_eq!(run(&deep, &check), (Some(1), "note: policy: ../../sycl-bundle.toml\n".to_owned()));
    std::fs::write(folder.path().join("a/sycl-bundle.toml"), "check.targets = [\"pvc\"]\n").unwrap();
    assert_eq!(run(&deep, &check), (Some(0), "note: policy: ../sycl-bundle.toml\n".to_owned()));
    assert_eq!(run(&deep, &[&check[..], &["--policy", "../../sycl-bundle.toml"]].concat()), (Some(1), String::new()));
    assert_eq!(run(&deep, &[&check[..], &["--no-policy"]].concat()).0, Some(2));
    // A policy that is there and cannot be read is not one that is not there.
    let here = deep.join("sycl-bundle.toml");
    std::os::unix::fs::symlink("elsewhere.toml", &here).unwrap();
    let (status, said) = run(&deep, &check);
    assert!(status == Some(3) && said.contains("cannot look for a policy"), "{said}");
    std::fs::remove_file(&here).unwrap();
    std::fs::create_dir(&here).unwrap();
    let (status, said) = run(&deep, &check);
    assert!(status == Some(3) && said.contains("no plain file"), "{said}");
    assert_eq!(run(&deep, &[&check[..], &["-t", "pvc", "--no-policy"]].concat()).0, Some(0));
}

#[test]
fn baselines_outlast_another_order_and_another_build() {
    let folder = modules(&["chain", "chain_lines"]);
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aspects/chain.spvasm"));
    let other = spirv::assemble(&source.unwrap().replace("\"foo\"", "\"bar\"")).unwrap();
    std::fs::write(folder.path().join("other.spv"), other).unwrap();
    let wrap = |images: &[&str]| {
        let arguments = [&["wrap"][..], images, &["--emit", "offload-binary", "-o", "lib.bin", "--quiet"]].concat();
        assert_eq!(run(folder.path(), &arguments), (Some(0), String::new()));
    };
    wrap(&["chain.spv", "other.spv"]);
    let check = ["check", "lib.bin", "-t", "acm-g10", "--quiet"];
    assert_eq!(run(folder.path(), &[&check[..], &["--write-baseline", "known.json"]].concat()).0, Some(0));
    let known = std::fs::read_to_string(folder.path().join("known.json")).unwrap();
    let compare = [&check[..], &["--baseline", "known.json"]].concat();
    // The same kernels with debug information, in another order.
    wrap(&["other.spv", "chain_lines.spv"]);
    assert_eq!(run(folder.path(), &compare), (Some(0), String::new()));
    assert_eq!(run(folder.path(), &[&check[..], &["--write-baseline", "again.json"]].concat()).0, Some(0));
    assert_eq!(std::fs::read_to_string(folder.path().join("again.json")).unwrap(), known);
    // Without what it knows there is something new.
    let less: Vec<&str> = known.lines().filter(|line| !line.contains("\"foo\"")).collect();
    let less = less.join("\n").replace(",\n]", "\n]");
    assert_ne!(less.trim(), known.trim());
    std::fs::write(folder.path().join("known.json"), less).unwrap();
    assert_eq!(run(folder.path(), &compare).0, Some(1));
}

/// Hundreds of excused findings stand before one that is not.
#[test]
fn what_is_excused_hides_no_other_rule() {
    let desk = Desk::new();
    let mut module = page::module(&["k"]);
    // The entry point of function 10 follows the header, two capabilities and the memory model.
    let entry = 20 + 2 * 8 + 12;
    let end = entry + 4 * usize::from(u16::from_le_bytes([module[entry + 2], module[entry + 3]]));
    // LocalSize, SubgroupSize
    let mut modes: Vec<u32> = (0..300).flat_map(|number| [0x0006_0010, 10, 17, number + 2000, 1, 1]).collect();
    modes.extend([0x0004_0010, 10, 35, 7]);
    module.splice(end..end, modes.iter().flat_map(|word| word.to_le_bytes()));
    desk.put("k.spv", &module);
    let exception =
        "[[check.exception]]\nrule = \"work-group-size\"\nkernel = \"*\"\nreason = \"x\"\nuntil = 2026-03-31\n";
    desk.put("sycl-bundle.toml", format!("[check]\ntargets = [\"dg1\"]\n{exception}").as_bytes());
    let done = desk.run(&["check", "k.spv"]);
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.code() == Some(1) && said.contains("sub-group-size"), "{said}");
}
