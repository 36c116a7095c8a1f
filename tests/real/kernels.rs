//! Does `kernels --device` say what the driver says to a C program and the runtime to a SYCL program?
//!
//! The judges are `kernel_queries.c`, which asks the driver through OpenCL alone, and `kernel_queries.py`, which asks the
//! SYCL runtime through dpctl. The driver dies of some modules at random: the C program is started again for the rest.

use crate::support::tools::needed;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::tool::tool;
use crate::world::{scripts, succeed, world};

/// The libraries, and how many images of each are looked at.
fn libraries() -> [(PathBuf, usize); 3] {
    let linalg = "dpnp/tensor/_tensor_linalg_impl.cpython-311-x86_64-linux-gnu.so";
    [
        (world().window(), 20),
        (world().site_packages().join(linalg), 280),
        (world().root().join("venv/lib/libmkl_sycl_dft.so.6"), 60),
    ]
}

/// The judge in C, compiled.
fn judge(folder: &Path) -> PathBuf {
    let program = folder.join("kernel_queries");
    let source = scripts().join("kernel_queries.c");
    succeed(needed("cc").args(["-O1", "-Wall", "-Werror"]).arg(source).arg("-o").arg(&program).arg("-ldl"));
    program
}

/// Answers of the C program about kernels, by file (what its name ends in: the image's number) and kernel: the rest of each
/// line by its first word.
type Said = BTreeMap<(String, String), BTreeMap<String, String>>;

/// Part of a file's name that tells it from others.
fn end_of(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().rsplit('_').next().unwrap().to_owned()
}

fn driver_says(program: &Path, mode: &str, files: &[PathBuf]) -> Said {
    let mut found = Said::new();
    let mut left: Vec<&PathBuf> = files.iter().collect();
    let mut deaths = 0;
    while !left.is_empty() {
        let mut command = world().command(program);
        command.arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let list: String = left.iter().map(|path| format!("{}\n", path.display())).collect();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // The program may die before it has read all.
            let _ = input.write_all(list.as_bytes());
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let (mut file, mut kernel, mut done) = (String::new(), String::new(), 0);
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "module" => {
                    let path = rest.strip_suffix(" 0").unwrap_or_else(|| panic!("does not build: {rest}"));
                    file = end_of(Path::new(path));
                    done += 1;
                }
                "kernel" => kernel = rest.to_owned(),
                _ => {
                    let of_kernel = found.entry((file.clone(), kernel.clone())).or_default();
                    match rest.split_once(' ').filter(|_| word == "arg") {
                        Some((at, rest)) => of_kernel.insert(format!("arg {at}"), rest.to_owned()),
                        None => of_kernel.insert(word.to_owned(), rest.to_owned()),
                    };
                }
            }
        }
        left.drain(..done);
        deaths += usize::from(!output.status.success());
        assert!(deaths < 40, "the driver dies too often: {left:?}");
    }
    found
}

/// Kernels that the tool tells of the first images of a file, asking the device too.
fn tool_says(library: &Path, count: usize) -> Vec<Value> {
    let mut command = tool();
    command.arg("kernels").arg(library).args(["--image", &format!("0-{}", count - 1)]);
    let output = succeed(command.args(["--device", "cpu", "--format", "json", "--jobs", "2"]));
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["problems"], json!([]));
    report["kernels"].as_array_mut().unwrap().drain(..).collect()
}

/// The modules of the first images, without the tool's view of kernels.
fn modules(library: &Path, count: usize, folder: &Path) -> Vec<PathBuf> {
    succeed(tool().arg("extract").arg(library).args(["--image", &format!("0-{}", count - 1), "-o"]).arg(folder));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "spv")).collect();
    files.sort();
    files
}

fn numbers(text: &str) -> Value {
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    if let [one] = numbers[..] { json!(one) } else { json!(numbers) }
}

const QUERIES: [(&str, &str); 10] = [
    ("args", "opencl_num_args"),
    ("11b0", "work_group_size"),
    ("11b1", "compile_work_group_size"),
    ("11b2", "local_mem_size"),
    ("11b3", "preferred_work_group_size_multiple"),
    ("11b4", "private_mem_size"),
    ("2033", "max_sub_group_size"),
    ("11b9", "max_num_sub_groups"),
    ("11ba", "compile_num_sub_groups"),
    ("410a", "compile_sub_group_size"),
];

#[test]
fn a_device_answers_as_it_does_a_c_program() {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge(folder.path());
    let mut compared = 0;
    for (number, (library, count)) in libraries().into_iter().enumerate() {
        let files = modules(&library, count, &folder.path().join(number.to_string()));
        let driver = driver_says(&judge, "", &files);
        let said = tool_says(&library, count);
        assert_eq!(said.len(), driver.len(), "{}", library.display());
        for kernel in said {
            let name = kernel["name"].as_str().unwrap();
            let expected = &driver[&(kernel["image"].to_string(), name.to_owned())];
            let devices = kernel["devices"].as_object().unwrap();
            assert_eq!(devices.len(), 1);
            let answer = devices.values().next().unwrap();
            for (query, key) in QUERIES {
                assert_eq!(answer[key], numbers(&expected[query]), "{name}: {key}");
            }
            // The driver refuses the query, and so does SYCL.
            assert_eq!(expected["11b5"], "status -30");
            assert_eq!(
                (&answer["global_work_size"], &answer["errors"]["global_work_size"]["errc"]),
                (&Value::Null, &json!("invalid"))
            );
            assert_eq!(answer["errors"]["num_args"]["errc"], "invalid");
            // Facts that need no device agree with the device.
            assert_eq!(kernel["num_args"], numbers(&expected["args"]), "{name}");
            assert_eq!(kernel["local_memory"], numbers(&expected["11b2"]), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 360, "{compared} kernels");
}

#[test]
fn the_runtime_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let library = world().window();
    let files = modules(&library, 20, folder.path());
    let said = tool_says(&library, 20);
    let mut list = String::new();
    for kernel in &said {
        let suffix = format!("_{}.spv", kernel["image"]);
        let file = files.iter().find(|file| file.to_str().unwrap().ends_with(&suffix)).unwrap();
        list.push_str(&format!("{}\t{}\n", file.display(), kernel["name"].as_str().unwrap()));
    }
    let path = folder.path().join("list");
    std::fs::write(&path, list).unwrap();
    let mut script = world().python();
    script.arg(scripts().join("kernel_queries.py")).stdin(std::fs::File::open(path).unwrap());
    let runtime: Value = serde_json::from_slice(&succeed(&mut script).stdout).unwrap();
    for kernel in &said {
        let answer = kernel["devices"].as_object().unwrap().values().next().unwrap();
        for (key, value) in runtime["kernels"][kernel["name"].as_str().unwrap()].as_object().unwrap() {
            assert_eq!(&answer[key], value, "{}: {key}", kernel["name"]);
        }
    }

    let output = succeed(tool().args(["devices", "cpu", "--format", "json"]));
    let devices: Value = serde_json::from_slice(&output.stdout).unwrap();
    let device = &devices["devices"][0];
    assert_eq!(device["sub_group_sizes"], runtime["sub_group_sizes"]);
    let aspects: Vec<&str> = device["aspects"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let theirs = runtime["aspects"].as_object().unwrap();
    assert!(theirs.len() > 10, "{theirs:?}");
    for (name, has) in theirs {
        assert_eq!(aspects.contains(&name.as_str()), has.as_bool().unwrap(), "aspect {name}");
    }
}

/// The numbers of `cl_kernel_arg_address_qualifier` and `cl_kernel_arg_access_qualifier`.
const SPACES: [(&str, &str); 4] = [("119b", "global"), ("119c", "local"), ("119d", "constant"), ("119e", "private")];
const ACCESS: [(&str, &str); 3] = [("11a0", "read_only"), ("11a1", "write_only"), ("11a2", "read_write")];

/// Types without what SPIR-V does not keep: signs, but of narrow numbers passed by value, and what a structure is
/// called after its tag.
fn kept(type_name: &str) -> String {
    let plain = type_name.replace("struct ", "");
    for name in ["uchar", "ushort", "uint", "ulong"] {
        if plain.starts_with(name) && (plain.contains('*') || matches!(name, "uint" | "ulong")) {
            return plain.get(1..).unwrap().to_owned();
        }
    }
    plain
}

#[test]
fn arguments_are_those_that_the_driver_tells() {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge(folder.path());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cl");
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "cl")).collect();
    let driver = driver_says(&judge, "source", &sources);
    let mut compared = 0;
    for source in &sources {
        let text = std::fs::read_to_string(source.with_extension("spvasm")).unwrap();
        let path = folder.path().join("module.spv");
        std::fs::write(&path, crate::support::spirv::assemble(&text).unwrap()).unwrap();
        let output = succeed(tool().arg("kernels").arg(&path).args(["--format", "jsonl"]));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let kernel: Value = serde_json::from_str(line).unwrap();
            let expected = &driver[&(end_of(source), kernel["name"].as_str().unwrap().to_owned())];
            let arguments = kernel["args"].as_array().unwrap();
            assert_eq!(arguments.len().to_string(), expected["args"]);
            assert_eq!(kernel["local_memory"], numbers(&expected["11b2"]), "{}", kernel["name"]);
            for (at, argument) in arguments.iter().enumerate() {
                let theirs: Vec<&str> = expected[&format!("arg {at}")].splitn(5, ' ').collect();
                let [status, space, access, qualifiers, names] = theirs[..] else { panic!("{theirs:?}") };
                let (name, type_name) = names.split_once('|').unwrap();
                let at = format!("{} {name}", kernel["name"]);
                assert_eq!(status, "0", "{at}");
                let space = SPACES.iter().find(|(number, _)| *number == space).unwrap().1;
                let access = ACCESS.iter().find(|(number, _)| *number == access).map(|(_, name)| *name);
                assert_eq!(argument["name"], name, "{at}");
                assert_eq!(argument["address_space"], space, "{at}");
                assert_eq!(argument["access"], json!(access), "{at}");
                assert_eq!(kept(argument["type"].as_str().unwrap()), kept(type_name), "{at}");
                // Bit 0 is const, which SPIR-V does not keep; 1 restrict; 2 volatile.
                let qualifiers = u64::from_str_radix(qualifiers, 16).unwrap();
                let has = |name: &str| argument["qualifiers"].as_array().unwrap().contains(&json!(name));
                assert_eq!((has("restrict"), has("volatile")), (qualifiers & 2 != 0, qualifiers & 4 != 0), "{at}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 35, "{compared} arguments");
}

/// The CPU's driver runs native code as soon as it loads it, and constructors once it has compiled them.
#[test]
fn code_of_a_file_does_not_run_where_its_kernels_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut build = tool();
    build.arg("build").arg(world().window()).args(["--image", "0", "-t", "spir64_x86_64", "-o"]).arg(at("n.so"));
    succeed(&mut build);
    let said = |file: &str| {
        let mut ask = tool();
        let asked = ask.arg("kernels").arg(at(file)).args(["--device", "cpu", "--format", "json"]).output().unwrap();
        String::from_utf8_lossy(&asked.stdout).into_owned()
    };
    let told = said("n.so");
    assert!(told.contains("native code for CPUs runs when their driver loads it"), "{told}");
    let code = "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\n\
                OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %1 \"k\"\nOpName %8 \"llvm.global_ctors\"\n\
                %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%5 = OpTypeInt 32 0\n%6 = OpTypePointer CrossWorkgroup %5\n\
                %7 = OpConstant %5 1\n%8 = OpVariable %6 CrossWorkgroup %7\n%1 = OpFunction %2 None %3\n%4 = OpLabel\n\
                OpReturn\nOpFunctionEnd\n";
    std::fs::write(at("m.spv"), crate::support::spirv::assemble(code).unwrap()).unwrap();
    let told = said("m.spv");
    assert!(told.contains("it has constructors"), "{told}");
}
