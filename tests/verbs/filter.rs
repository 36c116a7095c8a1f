//! Which rows of a table does `filter` empty for a target, and what stays of them?
//!
//! The cases are those of `sycl-post-link`'s own tests of `-o TARGET,TABLE` (DPC++
//! `llvm/test/tools/sycl-post-link/device-requirements`), with modules and properties of our own.

use crate::support::host::{Fixture, samples};
use crate::support::spirv;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value as Stored};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::property_text;
use sycl_bundle::spirv::Module;

/// A module with one kernel; `body` is what it does, `types` what it does it with.
fn module(name: &str, capabilities: &str, modes: &str, types: &str, body: &str) -> Vec<u8> {
    let text = format!(
        "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\n{capabilities}OpMemoryModel Physical64 OpenCL\n\
         OpEntryPoint Kernel %1 \"{name}\"\n{modes}%2 = OpTypeVoid\n%3 = OpTypeFunction %2\n{types}\
         %1 = OpFunction %2 None %3\n%4 = OpLabel\n{body}OpReturn\nOpFunctionEnd\n"
    );
    spirv::assemble(&text).unwrap()
}

fn plain(name: &str) -> Vec<u8> {
    module(name, "", "", "", "")
}

/// Property sets as text: what the device must have.
fn properties(aspects: &[u32], sub_group: Option<u32>, esimd: bool, work_group: Option<u64>) -> String {
    let prefixed = |bytes: Vec<u8>| [(bytes.len() as u64 * 8).to_le_bytes().to_vec(), bytes].concat();
    let aspects = prefixed(aspects.iter().flat_map(|aspect| aspect.to_le_bytes()).collect());
    let sizes = work_group.map(|size| prefixed([size, 1, 1].iter().flat_map(|size| size.to_le_bytes()).collect()));
    let mut required = vec![Property { name: "aspects", value: Stored::Bytes(&aspects) }];
    if let Some(sizes) = &sizes {
        required.push(Property { name: "reqd_work_group_size_uint64_t", value: Stored::Bytes(sizes) });
    }
    required.extend(sub_group.map(|size| Property { name: "reqd_sub_group_size", value: Stored::U32(size) }));
    let mut sets = vec![PropertySet { name: set::REQUIREMENTS, properties: required }];
    if esimd {
        let properties = vec![Property { name: "isEsimdImage", value: Stored::U32(1) }];
        sets.push(PropertySet { name: set::MISC, properties });
    }
    property_text::write(&Properties { sets }).unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.current_dir(self.path()).args(arguments).output().unwrap()
    }

    /// Runs `filter`, which must succeed; its report.
    fn filter(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["filter", "--format", "json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The numbers of the images that are empty for a target.
    fn emptied(&self, input: &str, target: &str) -> Vec<u64> {
        let report = self.filter(&[input, "-o", &format!("{target},out.table")]);
        let emptied = report["outputs"][0]["emptied"].as_array().unwrap();
        emptied.iter().map(|image| image["image"].as_u64().unwrap()).collect()
    }
}

/// The six rows of the tool's own test, in another order than their needs.
fn six(folder: &Folder) {
    let rows: [(&str, &[u32], Option<u32>); 6] = [
        ("double", &[6], None),
        ("float", &[], None),
        ("sg64", &[], Some(64)),
        ("sg32", &[], Some(32)),
        ("sg16", &[], Some(16)),
        ("sg8", &[], Some(8)),
    ];
    let mut table = "[Code|Properties|Symbols]\n".to_owned();
    for (name, aspects, size) in rows {
        folder.put(&format!("{name}.spv"), plain(name));
        folder.put(&format!("{name}.prop"), properties(aspects, size, false, None));
        folder.put(&format!("{name}.sym"), format!("{name}\n"));
        table += &format!("{name}.spv|{name}.prop|{name}.sym\n");
    }
    folder.put("in.table", table);
}

#[test]
fn rows_are_emptied_as_post_link_drops_them() {
    let folder = Folder::new();
    six(&folder);
    let all = ["double", "float", "sg64", "sg32", "sg16", "sg8"];
    let of = |target: &str| -> Vec<&str> {
        folder.emptied("in.table", target).into_iter().map(|image| all[image as usize]).collect()
    };
    assert_eq!(of("intel_gpu_pvc"), ["sg64", "sg8"]);
    assert_eq!(of("intel_gpu_tgllp"), ["double", "sg64"]);
    assert_eq!(of("intel_gpu_cfl"), ["sg64"]);
    // Where the original tool keeps everything: without a target. An alias it does not know; here it is its target.
    assert_eq!(of("pvc"), of("intel_gpu_pvc"));
    assert_eq!(of("intel_gpu_12_60_7"), of("intel_gpu_pvc"));
    let report = folder.filter(&["in.table", "-o", "all.table"]);
    assert_eq!(report["outputs"][0]["emptied"], Value::Array(Vec::new()));
    for (at, name) in all.iter().enumerate() {
        assert_eq!(folder.read(&format!("all_{at}.spv")), plain(name));
    }
    // An unknown target is an error, and nothing is written.
    let output = folder.run(&["filter", "in.table", "-o", "intel_gpu_pcv,x.table"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("intel_gpu_pcv") && said.contains("intel_gpu_pvc"), "{said}");
    assert!(!folder.path().join("x.table").exists());
}

#[test]
fn rows_keep_their_order_properties_and_entries() {
    let folder = Folder::new();
    six(&folder);
    let report = folder.filter(&["in.table", "-o", "tgllp,tgl.table", "-o", "pvc,pvc.table", "-o", "all.table"]);
    let outputs = report["outputs"].as_array().unwrap();
    let names: Vec<&str> = outputs.iter().map(|output| output["output"].as_str().unwrap()).collect();
    assert_eq!(names, ["tgl.table", "pvc.table", "all.table"]);
    assert_eq!(outputs[0]["kernels_without_code"], serde_json::json!(["double", "sg64"]));
    let text = String::from_utf8(folder.read("tgl.table")).unwrap();
    let rows: Vec<String> = (0..6).map(|row| format!("tgl_{row}.spv|tgl_{row}.prop|tgl_{row}.sym")).collect();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), rows);
    for (row, name) in ["double", "float", "sg64", "sg32", "sg16", "sg8"].iter().enumerate() {
        assert_eq!(folder.read(&format!("tgl_{row}.prop")), folder.read(&format!("{name}.prop")));
        assert_eq!(folder.read(&format!("tgl_{row}.sym")), format!("{name}\n").into_bytes());
        let code = folder.read(&format!("tgl_{row}.spv"));
        if [0, 2].contains(&row) {
            let module = Module::parse(&code).unwrap();
            assert!(module.stopped.is_none() && module.kernels().next().is_none());
            assert_eq!((module.version, module.capabilities), ((1, 4), vec![4, 5, 6]));
        } else {
            assert_eq!(code, plain(name));
        }
    }
    // Through other verbs: the kernel is still listed, with its needs.
    let output = folder.run(&["inspect", "tgl.table", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["files"][0]["images"][0]["kernels"], serde_json::json!(["double"]));
    assert_eq!(report["files"][0]["images"][0]["requirements"]["aspects"], serde_json::json!(["fp64"]));
}

#[test]
fn of_explicit_simd_no_sub_group_size_counts() {
    let folder = Folder::new();
    for (name, esimd) in [("esimd", true), ("sycl", false)] {
        folder.put(&format!("{name}.spv"), plain(name));
        folder.put(&format!("{name}.prop"), properties(&[], Some(1), esimd, None));
        folder.put(&format!("{name}.sym"), format!("{name}\n"));
    }
    assert_eq!(folder.emptied("esimd.spv", "intel_gpu_dg1"), [0; 0]);
    assert_eq!(folder.emptied("sycl.spv", "intel_gpu_dg1"), [0]);
}

#[test]
fn what_a_device_lacks_for_sure_is_emptied_as_check_says_and_open_targets_keep() {
    let folder = Folder::new();
    folder.put("large.spv", plain("large"));
    folder.put("large.prop", properties(&[], None, false, Some(1 << 20)));
    assert_eq!(folder.emptied("large.spv", "intel_gpu_pvc"), [0]);
    assert_eq!(folder.emptied("large.spv", "spir64"), [0; 0]);
    // Atomics of 64 bits, and an aspect that no list of the target has: it may have it.
    folder.put("open.spv", plain("open"));
    folder.put("open.prop", properties(&[27, 77], None, false, None));
    assert_eq!(folder.emptied("open.spv", "spir64"), [0; 0]);
    assert_eq!(folder.emptied("open.spv", "spir64_x86_64"), [0; 0]);
    // A CPU has no explicit SIMD, and says so.
    folder.put("simd.spv", plain("simd"));
    folder.put("simd.prop", properties(&[49], None, false, None));
    assert_eq!(folder.emptied("simd.spv", "spir64_x86_64"), [0]);
}

#[test]
fn where_nothing_is_recorded_the_code_tells() {
    let folder = Folder::new();
    let types = "%5 = OpTypeFloat 64\n%6 = OpConstant %5 2\n";
    folder.put("wide.spv", module("wide", "OpCapability Float64\n", "", types, "%7 = OpFMul %5 %6 %6\n"));
    assert_eq!(folder.emptied("wide.spv", "acm-g10"), [0]);
    assert_eq!(folder.emptied("wide.spv", "pvc"), [0; 0]);
    let mode = "OpExecutionMode %1 SubgroupSize 8\n";
    folder.put("eight.spv", module("eight", "OpCapability SubgroupDispatch\n", mode, "", ""));
    assert_eq!(folder.emptied("eight.spv", "pvc"), [0]);
    assert_eq!(folder.emptied("eight.spv", "acm-g10"), [0; 0]);
    // Of a family, what one of its members may run stays.
    assert_eq!(folder.emptied("wide.spv", "intel_gpu_dg2"), [0]);
    assert_eq!(folder.emptied("wide.spv", "dg1:pvc"), [0; 0]);
}

#[test]
fn every_form_is_written() {
    let folder = Folder::new();
    six(&folder);
    for (name, form) in [
        ("out.o", "object"),
        ("out.so", "shared"),
        ("out.syclbin", "syclbin"),
        ("out.binary", "offload-binary"),
        ("out.bundle", "offload-bundle"),
        ("modules", "spirv"),
        ("other.table", "table"),
    ] {
        let report = folder.filter(&["in.table", "-t", "intel_gpu_tgllp", "-o", name, "--emit", form]);
        assert_eq!(report["outputs"][0]["emit"], form);
        assert_eq!(report["outputs"][0]["emptied"].as_array().unwrap().len(), 2, "{form}");
        let output = folder.run(&["inspect", name, "--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let images: Vec<&Value> =
            report["files"].as_array().unwrap().iter().flat_map(|file| file["images"].as_array().unwrap()).collect();
        let empty = images.iter().filter(|image| image["size"] == 56).count();
        assert_eq!((images.len(), empty), (6, 2), "{form}: {report:#}");
    }
}

#[test]
fn a_linked_file_is_copied_with_empty_modules_in_its_list() {
    let folder = Folder::new();
    let file = Fixture::new("filter").images(samples::every_property()).build();
    std::fs::copy(file, folder.path().join("lib.so")).unwrap();
    let images = |name: &str| -> Vec<Value> {
        let output = folder.run(&["inspect", name, "--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["files"][0]["images"].as_array().unwrap().clone()
    };
    let before = images("lib.so");
    let report = folder.filter(&["lib.so", "-t", "intel_gpu_acm_g10", "-o", "out.so"]);
    assert_eq!(report["outputs"][0]["emit"], "embed");
    let emptied = report["outputs"][0]["emptied"].as_array().unwrap();
    assert!(!emptied.is_empty(), "{before:#?}");
    let after = images("out.so");
    assert_eq!(after.len(), before.len());
    let mut shorter = 0;
    for one in emptied {
        let old = &before[one["image"].as_u64().unwrap() as usize];
        let new = after.iter().find(|new| {
            ["target", "kernels", "properties", "compile_options"].iter().all(|key| new[*key] == old[*key])
                && new["size"].as_u64() <= old["size"].as_u64()
        });
        shorter += usize::from(new.unwrap_or_else(|| panic!("{old:#}"))["size"] != old["size"]);
    }
    assert!(shorter > 0, "{before:#?}");
}

#[test]
fn native_code_is_for_what_it_was_compiled_for() {
    let folder = Folder::new();
    // The header of an OpenCL binary for x86-64, as Intel's CPU driver writes it, and something behind it.
    let mut native = vec![0u8; 128];
    native[..8].copy_from_slice(b"\x7fELF\x02\x01\x00\x00");
    native[16..20].copy_from_slice(&[0x04, 0xff, 62, 0]);
    native[40..48].copy_from_slice(&64u64.to_le_bytes());
    native[52..54].copy_from_slice(&64u16.to_le_bytes());
    folder.put("native.bin", &native);
    folder.put("native.sym", "k\n");
    folder.put("native.table", "[Code|Properties|Symbols]\nnative.bin||native.sym\n");
    let target = folder.run(&["wrap", "native.table", "--as-target", "spir64_x86_64", "-o", "native.o"]);
    assert!(target.status.success(), "{}", String::from_utf8_lossy(&target.stderr));
    assert_eq!(folder.emptied("native.o", "spir64_x86_64"), [0; 0]);
    assert_eq!(folder.emptied("native.o", "intel_gpu_pvc"), [0]);
    let mut header = native[..64].to_vec();
    header[40..48].fill(0);
    assert_eq!(folder.read("out_0.bin"), header);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new();
    six(&folder);
    let refused = |arguments: &[&str], word: &str| {
        let output = folder.run(&[&["filter"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{said}");
    };
    refused(&["in.table"], "nothing is to be written");
    refused(&["in.table", "-t", "pvc,dg1"], "names no file");
    refused(&["in.table", "-t", "pvc", "-o", "x.table", "-o", "y.table"], "several files");
    refused(&["in.table", "-t", "pvc,x.table", "-o", "y.table"], "-o TARGET,TABLE");
    refused(&["in.table", "-o", "pvc,x.table", "--emit", "object"], "--emit");
    refused(&["in.table", "-o", "pvc,x.table", "-o", "dg1,x.table"], "same name");
    refused(&["in.table", "-o", "pvc,in.table"], "replace an input");
}
