//! Does the real runtime run what `wrap` writes, and does a real library survive every form?

use crate::support::tools::needed;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value as Stored};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::property_text;

use crate::support::spirv;
use crate::tool::{inspect, tool};
use crate::trace::Trace;
use crate::world::{scripts, succeed, tail, world};

const TEXT: &str = include_str!("../../fixtures/spirv/add_one.spvasm");
/// Name that the runtime has for a free function `add_one`.
const FREE: &str = "__sycl_kernel_add_one";

/// The test's program as an object, compiled once; no SYCL compiler takes part.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let object = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("run_kernel-{}.o", std::process::id()));
        let mut command = needed("g++");
        command.args(["-std=c++17", "-w", "-O1", "-c", "-o"]).arg(&object);
        command.arg(scripts().join("run_kernel.cpp")).arg("-I").arg(world().root().join("venv/include"));
        let made =
            command.output().unwrap_or_else(|error| panic!("these tests need g++ (apt-get install g++): {error}"));
        assert!(made.status.success(), "{command:?}: {}", tail(&made.stderr));
        object
    })
}

/// A folder with two modules: a kernel, and the same as a free function.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("add_one.spv"), spirv::module("add_one")).unwrap();
    let free = spirv::assemble(&TEXT.replace("\"add_one\"", &format!("\"{FREE}\""))).unwrap();
    std::fs::write(folder.path().join("free.spv"), free).unwrap();
    folder
}

fn wrap(folder: &Path, arguments: &[&str]) {
    succeed(tool().current_dir(folder).arg("wrap").args(arguments));
}

/// Links the program with objects by plain g++.
fn link(folder: &Path, objects: &[&str]) -> PathBuf {
    let output = folder.join("program");
    let mut command = needed("g++");
    command.current_dir(folder).arg(program()).args(objects).arg("-o").arg(&output);
    succeed(command.arg("-L").arg(world().root().join("venv/lib")).args(["-l:libsycl.so.9", "-ldl"]));
    output
}

/// Runs the kernel over eight numbers; its result is right. From what was it made?
fn run(program: &Path, folder: &Path, kernel: &str, more: &[&str]) -> Trace {
    let mut command = world().command(program);
    command.current_dir(folder).args([kernel, "8"]).args(more).env("SYCL_UR_TRACE", "2");
    let output = succeed(&mut command);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(text.lines().any(|line| line == "1 2 3 4 5 6 7 8"), "{}", tail(text.as_bytes()));
    Trace::read(&text)
}

fn is_from_il(trace: &Trace, kernel: &str) {
    assert!(trace.from_il.contains(kernel) && trace.from_binary.is_empty(), "{trace:?}");
}

#[test]
fn an_object_makes_a_plain_program_run_kernels() {
    let folder = folder();
    let folder = folder.path();
    for entries in ["old", "new"] {
        for more in [&[][..], &["--compress"]] {
            let all = [&["add_one.spv", "-o", "add_one.o", "--entries", entries][..], more].concat();
            wrap(folder, &all);
            let program = link(folder, &["add_one.o"]);
            is_from_il(&run(&program, folder, "add_one", &[]), "add_one");
        }
    }
    // Two objects, of which each brings a kernel.
    wrap(folder, &["free.spv", "-o", "free.o"]);
    let program = link(folder, &["add_one.o", "free.o"]);
    is_from_il(&run(&program, folder, "add_one", &[]), "add_one");
    is_from_il(&run(&program, folder, FREE, &[]), FREE);
    // The control: without an object there is no kernel.
    let program = link(folder, &[]);
    let output = world().command(&program).args(["add_one", "8"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
}

/// Modules without property sets, one of which calls a function of the other: `wrap` lists what each exports and imports, so
/// that the runtime links them, also where they come from two objects. The control lists nothing, and `check` says so.
#[test]
fn modules_that_need_each_other_are_linked_by_the_runtime() {
    const EXPORTER: &str = "\
        OpCapability Addresses\nOpCapability Linkage\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n\
        OpDecorate %imported LinkageAttributes \"imported\" Export\n%uint = OpTypeInt 32 0\n%one = OpConstant %uint 1\n\
        %unary = OpTypeFunction %uint %uint\n%imported = OpFunction %uint None %unary\n\
        %x = OpFunctionParameter %uint\n%entry = OpLabel\n%next = OpIAdd %uint %x %one\nOpReturnValue %next\n\
        OpFunctionEnd\n";
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("caller.spv"), spirv::module("calls_import")).unwrap();
    std::fs::write(folder.join("callee.spv"), spirv::assemble(EXPORTER).unwrap()).unwrap();
    wrap(folder, &["caller.spv", "callee.spv", "-o", "both.o"]);
    wrap(folder, &["caller.spv", "-o", "caller.o"]);
    wrap(folder, &["callee.spv", "-o", "callee.o"]);
    for objects in [&["both.o"][..], &["caller.o", "callee.o"]] {
        let output = succeed(world().command(link(folder, objects)).args(["calls_import", "8"]));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1 2 3 4 5 6 7 8", "{objects:?}");
    }
    let check = |files: &[&str]| {
        let mut check = tool();
        check.current_dir(folder).arg("check").args(files).args(["-t", "spir64_x86_64", "--format", "json"]);
        let told: Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
        (told["verdict"].as_str().unwrap().to_owned(), told["targets"][0]["findings"][0]["rule"].clone())
    };
    assert_eq!(check(&["caller.o", "callee.o"]), ("compatible".to_owned(), Value::Null));
    // With entries beside it the module has its say: nothing is listed but those.
    std::fs::write(folder.join("caller.sym"), "calls_import\n").unwrap();
    wrap(folder, &["caller.spv", "-o", "silent.o"]);
    let program = link(folder, &["silent.o", "callee.o"]);
    let output = world().command(&program).args(["calls_import", "8"]).output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{}", tail(&output.stdout));
    assert_eq!(check(&["silent.o", "callee.o"]), ("incompatible".to_owned(), "unlisted-imports".into()));
}

/// An image larger than the threshold is compressed, and the runtime inflates it.
#[test]
fn the_runtime_inflates_compressed_images() {
    let folder = folder();
    let folder = folder.path();
    // Instructions that do nothing, behind the last function.
    let nothing = 0x0001_0000u32.to_le_bytes().repeat(1000);
    std::fs::write(folder.join("long.spv"), [spirv::module("add_one"), nothing].concat()).unwrap();
    wrap(folder, &["long.spv", "--compress", "-o", "long.o"]);
    let image = inspect(&folder.join("long.o"))["images"][0].clone();
    assert_eq!(image["compression"], "zstd", "{image}");
    is_from_il(&run(&link(folder, &["long.o"]), folder, "add_one", &[]), "add_one");
}

#[test]
fn a_library_that_is_opened_brings_its_kernels() {
    let folder = folder();
    let folder = folder.path();
    let program = link(folder, &[]);
    for entries in ["old", "new"] {
        wrap(folder, &["add_one.spv", "-o", "images.so", "--entries", entries]);
        is_from_il(&run(&program, folder, "add_one", &["library", "./images.so"]), "add_one");
    }
}

#[test]
fn the_runtime_loads_a_syclbin_by_its_path() {
    let folder = folder();
    let folder = folder.path();
    let program = link(folder, &[]);
    wrap(folder, &["free.spv", "-o", "free.syclbin"]);
    is_from_il(&run(&program, folder, "add_one", &["syclbin", "free.syclbin"]), FREE);
    // As an object of an extracted set, too: all forms lead to each other.
    wrap(folder, &["free.syclbin", "-o", "free.table"]);
    wrap(folder, &["free.table", "--emit", "offload-binary", "-o", "free.bin"]);
    wrap(folder, &["free.bin", "--emit", "offload-bundle", "--compress", "-o", "free.bundle"]);
    wrap(folder, &["free.bundle", "-o", "free.o"]);
    is_from_il(&run(&link(folder, &["free.o"]), folder, FREE, &[]), FREE);
}

/// Native code goes the same ways.
#[test]
fn native_images_in_every_form_that_runs() {
    let folder = folder();
    let folder = folder.path();
    for output in ["native.o", "native.so", "native.syclbin", "native.table"] {
        let mut build = tool();
        build.current_dir(folder).args(["build", "free.spv", "-t", "spir64_x86_64", "-o", output, "--jobs", "1"]);
        succeed(&mut build);
    }
    wrap(folder, &["native.table", "-o", "wrapped.o"]);
    let plain = link(folder, &[]);
    let plain = {
        let kept = folder.join("plain");
        std::fs::rename(plain, &kept).unwrap();
        kept
    };
    let native = |trace: Trace| assert!(trace.from_binary.contains(FREE) && trace.from_il.is_empty(), "{trace:?}");
    native(run(&link(folder, &["native.o"]), folder, FREE, &[]));
    native(run(&link(folder, &["wrapped.o"]), folder, FREE, &[]));
    native(run(&plain, folder, FREE, &["library", "./native.so"]));
    native(run(&plain, folder, "add_one", &["syclbin", "native.syclbin"]));
}

/// Modules that `filter` leaves go on through `wrap` and `build`: the kernels that stay run, the driver takes the empty modules,
/// and of a kernel that the device cannot run the runtime says so by its properties.
#[test]
fn filtered_tables_are_wrapped_built_and_run() {
    let folder = folder();
    let folder = folder.path();
    // A CPU has no explicit SIMD (aspect 49), and Tiger Lake no double (6); a device that has both runs all.
    for (name, aspect) in [("simd", 49u32), ("wide", 6)] {
        let module = spirv::assemble(&TEXT.replace("\"add_one\"", &format!("\"{name}\""))).unwrap();
        std::fs::write(folder.join(format!("{name}.spv")), module).unwrap();
        let raw = [&32u64.to_le_bytes()[..], &aspect.to_le_bytes()].concat();
        let properties = vec![Property { name: "aspects", value: Stored::Bytes(&raw) }];
        let sets = vec![PropertySet { name: set::REQUIREMENTS, properties }];
        std::fs::write(folder.join(format!("{name}.prop")), property_text::write(&Properties { sets }).unwrap())
            .unwrap();
    }
    let filter = |target: &str| {
        let mut filter = tool();
        let inputs = ["filter", "add_one.spv", "simd.spv", "wide.spv", "-o", target];
        succeed(filter.current_dir(folder).args(inputs));
    };
    filter("spir64_x86_64,cpu.table");
    for (row, empty) in [(0, false), (1, true), (2, false)] {
        let module = folder.join(format!("cpu_{row}.spv"));
        assert_eq!(module.metadata().unwrap().len() == 56, empty, "row {row}");
        succeed(needed("spirv-val").arg(&module));
    }
    wrap(folder, &["cpu.table", "-o", "cpu.o"]);
    let program = link(folder, &["cpu.o"]);
    is_from_il(&run(&program, folder, "add_one", &[]), "add_one");
    is_from_il(&run(&program, folder, "wide", &[]), "wide");
    let refused = world().command(&program).current_dir(folder).args(["simd", "8"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("incompatible with all devices"), "{said}");
    // Empty for a GPU, but the CPU's driver compiles it: every module is a valid one.
    filter("intel_gpu_tgllp,gpu.table");
    let mut build = tool();
    build.current_dir(folder).args(["build", "gpu.table", "-t", "spir64_x86_64", "-o", "gpu.o", "--format", "json"]);
    let output = succeed(&mut build);
    let built: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&built["compiled"], &built["failed"]), (&2.into(), &Value::Array(Vec::new())), "{built:#}");
    let trace = run(&link(folder, &["gpu.o"]), folder, "add_one", &[]);
    assert!(trace.from_binary.contains("add_one") && trace.from_il.is_empty(), "{trace:?}");
}

/// Facts of each image that no form may change.
fn facts(file: &Value, form: &str) -> Vec<Value> {
    assert_eq!(file["problems"], Value::Array(Vec::new()), "{form}");
    let mut facts = Vec::new();
    for image in file["images"].as_array().unwrap() {
        let mut keys = vec!["blake3", "target", "requirements", "kernels", "imports", "exports"];
        // Tables and SYCLBINs have no place for options; a SYCLBIN's kernels are one property set more.
        if !["table", "syclbin"].contains(&form) {
            keys.extend(["compile_options", "link_options"]);
        }
        let mut fact: Vec<Value> = keys.iter().map(|key| image[key].clone()).collect();
        let mut properties = image["properties"].clone();
        properties.as_object_mut().unwrap().remove("SYCL/kernel names");
        fact.push(properties);
        facts.push(Value::Array(fact));
    }
    facts
}

/// Small libraries of dpctl and dpnp, through each form and back into an object.
#[test]
fn real_libraries_come_back_from_every_form() {
    let mut libraries: Vec<&PathBuf> =
        world().fat_libraries().iter().filter(|file| file.metadata().unwrap().len() < 2 << 20).collect();
    libraries.sort_by_key(|file| file.metadata().unwrap().len());
    libraries.truncate(8);
    assert!(libraries.len() == 8, "{libraries:?}");
    for library in libraries {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let before = inspect(library);
        for (name, form) in [
            ("out.o", "object"),
            ("out.obj", "object"),
            ("out.so", "shared"),
            ("out.syclbin", "syclbin"),
            ("out.bin", "offload-binary"),
            ("out.bundle", "offload-bundle"),
            ("out.table", "table"),
        ] {
            let path = library.to_str().unwrap();
            wrap(folder, &[path, "--emit", form, "-o", name]);
            assert_eq!(facts(&inspect(&folder.join(name)), form), facts(&before, form), "{path} as {form}");
            wrap(folder, &[name, "-o", "again.o"]);
            assert_eq!(facts(&inspect(&folder.join("again.o")), form), facts(&before, form), "{path} from {form}");
        }
    }
}
