//! Which two long lists beside each other would cost their product?
//!
//! Each file is small, and each of the lists would be gone through, or told, once for every entry of the other.

use super::costly::{FUNCTIONS, Module, TIME_LIMIT, run_bounded};
use super::judged::module;
use super::program::tool;
use super::repeated::words;
use super::support::folder::Folder;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use zip::write::{SimpleFileOptions, ZipWriter};

/// Seconds of processor time for what takes one or two unoptimised; the product takes longer even in a release.
const FEW: u64 = 8;

/// An offload bundle whose parts share a module, each with an id.
fn bundle(ids: impl Iterator<Item = String>, module: &[u8]) -> Vec<u8> {
    let ids: Vec<String> = ids.collect();
    let head = 32 + ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>();
    let mut out = [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), words(&[ids.len() as u64])].concat();
    for id in &ids {
        out.extend([words(&[head, module.len() as u64, id.len() as u64]), id.clone().into_bytes()].concat());
    }
    out.extend(module);
    out
}

/// A zip of small modules.
fn package(count: usize, letter: char) -> Vec<u8> {
    package_of(letter, (0..count).map(|_| Module::kernels(1)))
}

/// A zip of modules.
fn package_of(letter: char, modules: impl Iterator<Item = Module>) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (nth, module) in modules.enumerate() {
        writer.start_file(format!("{letter}{nth:06}.spv"), SimpleFileOptions::default()).unwrap();
        writer.write_all(&module.bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A module whose kernel calls one function of others, and that has another for them.
fn linked(nth: usize, exported: &str, imported: &str) -> Module {
    let mut module = Module::default();
    module.import(imported);
    module.export(exported);
    module.kernel(&format!("kernel{nth}"), Some(FUNCTIONS));
    module
}

/// An OffloadBinary with a module that states options.
fn with_options(module: &[u8], options: &str) -> Vec<u8> {
    let (key, strings) = (b"compile-opts\0", 72 + 16);
    let value = strings + key.len() as u64;
    let image = (value + options.len() as u64 + 1).next_multiple_of(8);
    let size = (image + module.len() as u64).next_multiple_of(8);
    let mut file = [&[0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0][..], &words(&[size, 32, 40])].concat();
    file.extend(words(&[6 | 8 << 16, 72, 1, image, module.len() as u64, strings, value]));
    file.extend([&key[..], options.as_bytes()].concat());
    file.resize(image as usize, 0);
    file.extend(module);
    file.resize(size as usize, 0);
    file
}

#[test]
fn images_that_differ_in_their_targets_alone_are_joined() {
    let folder = Folder::new();
    let ids = (0..40_000).map(|nth| format!("sycl-spir64-unknown-unknown--{nth:06}"));
    folder.put("a.bc", bundle(ids, &Module::kernels(1).bytes()));
    run_bounded(&folder, &["join", "a.bc", "a.bc", "-o", "out.o"], FEW, &[0]);
}

/// Each file of the package needs all others, directly or by a long way: what all would be lent is the square of their number.
#[test]
fn files_of_a_package_that_import_from_each_other() {
    let folder = Folder::new();
    let two = |nth: usize| if nth.is_multiple_of(2) { linked(nth, "a", "b") } else { linked(nth, "b", "a") };
    let next = |nth: usize| linked(nth, &format!("f{nth}"), &format!("f{}", nth + 1));
    folder.put("two.zip", package_of('m', (0..2_000).map(two)));
    folder.put("next.zip", package_of('m', (0..2_000).map(next)));
    let verbs: [&[&str]; 5] = [
        &["check", "-t", "pvc", "two.zip"],
        &["check", "-t", "pvc", "next.zip"],
        &["check", "--link", "two.zip"],
        &["has", "-t", "pvc", "two.zip"],
        &["explain", "-t", "pvc", "--kernel", "kernel1*", "two.zip"],
    ];
    for verb in verbs {
        run_bounded(&folder, &[verb, &["--max-memory", "192MiB"]].concat(), TIME_LIMIT, &[0, 1]);
    }
    // Kernels whose images are not looked at are not known to run.
    let told = tool(&folder, ["check", "-t", "pvc", "two.zip", "--format", "json"]).stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    let findings = told["targets"][0]["findings"].as_array().unwrap();
    let too_many = |finding: &&serde_json::Value| finding["message"].as_str().unwrap().contains("too many");
    assert!(findings.iter().filter(too_many).count() > 1_000);
    let kernels = &told["targets"][0]["kernels"];
    assert_eq!((kernels["unknown"].as_u64(), kernels["compatible"].as_u64()), (Some(2_000), Some(0)));
}

/// A finding for each of the targets would tell all that define the symbol.
#[test]
fn images_of_as_many_targets_that_import_what_all_define() {
    let folder = Folder::new();
    let ids = (0..8_000).map(|nth| format!("sycl-a{nth:06}-unknown-unknown--"));
    folder.put("a.bc", bundle(ids, &linked(0, "a", "a").bytes()));
    for form in ["table", "json"] {
        run_bounded(&folder, &["check", "--link", "a.bc", "--format", form, "--max-memory", "256MiB"], FEW, &[1]);
    }
}

#[test]
fn profiles_of_one_image_on_many_devices() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(1).bytes());
    let image = format!("{{\"blake3\":\"{}\",\"size\":1,\"kernels\":[],\"files\":[]}}", "0".repeat(64));
    let program = |nth: usize| {
        let device = format!("{{\"platform\":\"\",\"name\":\"d{nth}\",\"version\":\"\",\"driver\":\"\"}}");
        let native = format!("{{\"size\":1,\"target\":\"intel_gpu_{nth}\",\"code\":null}}");
        format!(
            "{{\"device\":{device},\"options\":\"\",\"constant_bytes\":0,\"images\":[{image}],\"seconds\":null,\"native\":{native}}}"
        )
    };
    let programs = (0..60_000).map(program).collect::<Vec<_>>().join(",");
    let head = "\"schema_version\":1,\"command\":[],\"seconds\":0,\"exit_status\":0";
    folder.put("p.json", format!("{{{head},\"programs\":[{programs}]}}"));
    let explain = ["explain", "m.spv", "--kernel", "*", "--profile", "p.json", "-t", "pvc"];
    run_bounded(&folder, &explain, FEW, &[0, 1]);
    // Without -t it is asked for targets that nobody knows.
    run_bounded(&folder, &explain[..6], FEW, &[2]);
}

/// A module is not read again for each program that was made of it.
#[test]
fn programs_of_a_profile_that_share_a_long_module() {
    let folder = Folder::new();
    let module = [Module::kernels(1).bytes(), 0x0001_0000u32.to_le_bytes().repeat(4 << 20)].concat();
    let digest = blake3::hash(&module).to_hex();
    folder.put("m.spv", &module);
    let image = format!("{{\"blake3\":\"{digest}\",\"size\":1,\"kernels\":[],\"files\":[]}}");
    // Four bytes, compressed.
    let native = "{\"size\":4,\"target\":\"avx2\",\"code\":\"KLUv/QRYIQAAf0VMRq1/EkQ=\"}";
    let device = "{\"platform\":\"\",\"name\":\"d\",\"version\":\"\",\"driver\":\"\"}";
    let program = format!(
        "{{\"device\":{device},\"options\":\"\",\"constant_bytes\":0,\"images\":[{image}],\"seconds\":null,\"native\":{native}}}"
    );
    let programs = vec![program; 20_000].join(",");
    let head = "\"schema_version\":1,\"command\":[],\"seconds\":0,\"exit_status\":0";
    folder.put("p.json", format!("{{{head},\"programs\":[{programs}]}}"));
    let build = ["build", "m.spv", "-t", "spir64_x86_64", "--profile", "p.json", "--harvest", "-o", "o.table"];
    run_bounded(&folder, &build, 2 * FEW, &[0]);
}

#[test]
fn options_of_a_megabyte_beside_many_kernels() {
    let folder = Folder::new();
    let (module, options) = (Module::kernels(1_000).bytes(), "-cl-mad-enable ".repeat(66_000));
    folder.put("a.ob", with_options(&module, &options));
    folder.put("b.ob", with_options(&module, &format!("{options}-x")));
    for other in ["a.ob", "b.ob"] {
        run_bounded(&folder, &["diff", "a.ob", other, "--format", "json"], TIME_LIMIT, &[0]);
    }
}

#[test]
fn files_of_two_packages_without_a_partner() {
    let folder = Folder::new();
    folder.put("a.zip", package(16_000, 'a'));
    folder.put("b.zip", package(16_000, 'b'));
    run_bounded(&folder, &["diff", "a.zip", "b.zip"], 2 * TIME_LIMIT, &[0]);
}

#[test]
fn findings_of_a_baseline_beside_many_files() {
    let folder = Folder::new();
    folder.put("a.zip", package(6_000, 'a'));
    let known = |nth: usize| {
        format!(
            "{{\"fingerprint\":\"{nth}\",\"count\":1,\"rule\":\"x\",\"target\":\"intel_gpu_pvc\",\"file\":\"b{nth}\",\
             \"kernel\":\"k\",\"demangled\":\"k\",\"aspect\":null,\"message\":\"m\"}}"
        )
    };
    let findings = (0..200_000).map(known).collect::<Vec<_>>().join(",");
    folder.put("b.json", format!("{{\"schema_version\":1,\"findings\":[{findings}]}}"));
    run_bounded(&folder, &["check", "-t", "intel_gpu_pvc", "--baseline", "b.json", "a.zip"], FEW, &[0, 1]);
}

#[test]
fn images_of_long_targets_that_share_many_kernels() {
    let folder = Folder::new();
    let ids = (0..400).map(|nth| format!("sycl-spir64-unknown-unknown--{}{nth:06}", "a".repeat(4_000)));
    let mut file = bundle(ids, &Module::kernels(400).bytes());
    file.resize(file.len().max(400 * 400 * 10), 0);
    folder.put("a.bc", file);
    run_bounded(&folder, &["check", "-t", "intel_gpu_pvc", "--format", "json", "a.bc"], TIME_LIMIT, &[1]);
    run_bounded(&folder, &["explain", "a.bc", "--kernel", "*", "-t", "pvc", "--format", "json"], TIME_LIMIT, &[1]);
}

#[test]
fn property_of_one_name_beside_many_constants() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(1).bytes());
    let mut sets = "[SYCL/specialization constants]\n".to_owned();
    (0..8_000).for_each(|nth| writeln!(sets, "c{nth:05}=2|AAAAAAAAAAA").unwrap());
    sets.push_str("[SYCL/specialization constants set values]\n");
    sets.push_str(&"all=2|AAAAAAAAAAA\n".repeat(8_000));
    folder.put("m.prop", sets);
    run_bounded(&folder, &["diff", "m.spv", "m.spv"], FEW, &[0]);
}

/// A file of a project that says how images are built, which is found beside it.
#[test]
fn rules_for_building_are_bounded() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(8_000).bytes());
    let plan = ["plan", "m.spv", "-t", "spir64_x86_64", "-o", "o.table", "--format", "ninja"];
    let rule = |nth: usize| format!("[[build.rule]]\nkernels = [\"*x{nth}*y\"]\nnative = true\n");
    folder.put("sycl-bundle.toml", (0..3_000).map(rule).collect::<String>());
    run_bounded(&folder, &plan, TIME_LIMIT, &[2]);
    folder.put("sycl-bundle.toml", format!("[build]\noptions = \"{}\"\n", "-cl-mad-enable ".repeat(60_000)));
    run_bounded(&folder, &plan, TIME_LIMIT, &[3]);
    folder.put("sycl-bundle.toml", format!("[build]\noptions = \"{}\"\n", "-cl-mad-enable ".repeat(200)));
    run_bounded(&folder, &plan, TIME_LIMIT, &[0]);
}

#[test]
fn images_of_as_many_targets_are_wrapped() {
    let folder = Folder::new();
    let ids = (0..60_000).map(|nth| format!("sycl-a{nth:06}-unknown-unknown--"));
    folder.put("a.bc", bundle(ids, &Module::kernels(1).bytes()));
    run_bounded(&folder, &["wrap", "a.bc", "-o", "out.o"], 2 * FEW, &[0]);
    run_bounded(&folder, &["wrap", "a.bc", "--emit", "offload-bundle", "-o", "out.bc"], 2 * FEW, &[0]);
}

/// The runtime looks for the name of an AMD device in all bytes of each image.
#[test]
fn images_for_amd_devices_are_searched_once() {
    let folder = Folder::new();
    let module = [Module::kernels(4_000).bytes(), vec![0; 4 << 20]].concat();
    let ids = ["gfx906", "gfx908"].map(|arch| format!("sycl-amdgcn-amd-amdhsa--{arch}"));
    folder.put("a.bc", bundle(ids.into_iter(), &module));
    let explain = ["explain", "a.bc", "--kernel", "*", "-t", "amd_gpu_gfx90a"];
    run_bounded(&folder, &explain, TIME_LIMIT, &[0, 1, 3]);
}

#[test]
fn values_of_two_bytes_are_bounded() {
    let folder = Folder::new();
    for line in ["=\n", "{.\n}.\n"] {
        let text = format!("object-id=1\n{}__acpp_hcf_binary_appendix", line.repeat((24 << 20) / line.len()));
        folder.put("a.hcf", text);
        run_bounded(&folder, &["inspect", "a.hcf", "--max-memory", "256MiB"], TIME_LIMIT, &[3]);
    }
}

/// Thousands of rows may name one text of entries.
#[test]
fn rows_that_share_entries_are_bounded() {
    let folder = Folder::new();
    folder.put("m.spv", module(&[], &[], &[], &[]));
    folder.put("m.sym", "a\n".repeat(250_000));
    folder.put("m.table", format!("[Code|Properties|Symbols]\n{}", "m.spv||m.sym\n".repeat(140)));
    run_bounded(&folder, &["check", "m.table", "-t", "pvc"], TIME_LIMIT, &[3]);
    // A hole on the disk.
    std::fs::File::create(folder.path().join("m.sym")).unwrap().set_len(1 << 30).unwrap();
    run_bounded(&folder, &["inspect", "m.table"], TIME_LIMIT, &[3]);
}

/// A log is what a program printed, whatever that was.
#[test]
fn causes_of_a_message_beside_many_kernels_are_bounded() {
    const LINES: usize = 10_000;
    let folder = Folder::new();
    let mut importers = Module::default();
    importers.import("imp");
    (0..3000).for_each(|nth| importers.kernel(&format!("kernel{nth}"), Some(FUNCTIONS)));
    folder.put("m.spv", importers.bytes());
    let ids = (0..2000).map(|nth| format!("sycl-spir64-unknown-unknown--{nth:06}"));
    folder.put("many.bc", bundle(ids, &linked(0, "a", "imp").bytes()));
    let lines = |line: &dyn Fn(usize) -> String| (0..LINES).map(|nth| line(nth) + "\n").collect::<String>();
    let symbols = (0..200_000).fold(String::new(), |text, nth| text + &format!("s{nth}, "));
    for (log, file) in [
        (
            lines(&|nth| {
                format!("Kernel kernel{nth} has no image: Required aspect fp{nth} is not supported on the device")
            }),
            "m.spv",
        ),
        (
            lines(&|nth| {
                format!("No kernel named x{nth} was found: no image for the selected device target: [a{nth}]")
            }),
            "m.spv",
        ),
        (lines(&|nth| format!("Symbols not found: [ imp, j{nth} ]")), "m.spv"),
        (format!("Symbols not found: [ {symbols}imp ]"), "many.bc"),
    ] {
        folder.put("log", &log);
        let call = ["explain", file, "--message", "-", "--format", "json"];
        let shell = format!("ulimit -d {}; ulimit -t {FEW}; exec \"$0\" \"$@\" < log", 700 << 10);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &shell, env!("CARGO_BIN_EXE_sycl-bundle")]).args(call).current_dir(folder.path());
        let done = command.output().unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(matches!(done.status.code(), Some(0 | 1)), "{log:.60}: {:?}", done.status);
        assert!(told.contains("more_sayings") || file == "many.bc", "{log:.60}");
        assert!(told.len() < 64 << 20, "{log:.60}: {}", told.len());
    }
}

#[test]
fn devices_of_a_profile_are_not_told_of_each_kernel() {
    let folder = Folder::new();
    let module = Module::kernels(5000).bytes();
    folder.put("m.spv", &module);
    let digest = blake3::hash(&module).to_hex();
    let program = |name: &str| {
        format!(
            r#"{{"device":{{"platform":"p","name":"{name}","version":"1","driver":"1"}},"options":"","constant_bytes":0,"seconds":null,"native":null,"images":[{{"blake3":"{digest}","size":{},"kernels":[],"files":[]}}]}}"#,
            module.len()
        )
    };
    let profile = |programs: &str| {
        format!(r#"{{"schema_version":1,"command":[],"seconds":0,"exit_status":0,"programs":[{programs}]}}"#)
    };
    let programs: Vec<String> = (0..10_000).map(|nth| program(&format!("device {nth} {}", "x".repeat(100)))).collect();
    folder.put("p.json", profile(&programs.join(",")));
    let call = ["explain", "m.spv", "--kernel", "*", "--profile", "p.json", "-t", "pvc", "--format", "json"];
    run_bounded(&folder, &call, TIME_LIMIT, &[0, 1]);
    // Values of two letters take twenty times that.
    let kernels = vec!["\"\""; 5_000_000].join(",");
    folder.put("p.json", profile(&program("d").replace(r#""kernels":[]"#, &format!(r#""kernels":[{kernels}]"#))));
    run_bounded(&folder, &["inspect", "m.spv", "--profile", "p.json"], FEW, &[3]);
}
