//! Is code for NVIDIA GPUs made of dpnp's images, and found in it by NVIDIA's own tools?
//!
//! Needs llvm-spirv and libclc beside LLVM and clang (`tests/real/programs.txt`); CUDA's ptxas comes from PyPI. What the code
//! computes is seen on a GPU only. There a person runs, in `tests/real/nvidia`: `builtins.py`, which compares the built-ins with
//! their definitions; `kernels.py`, which compares kernels of libraries with the CPU's results; and `driver.py`, which tries
//! assertions, printing and variables of the device.

use crate::compiler::optimised_of;
use crate::support::spirv::{assemble, module};
use crate::support::tools::{cuda, llvm, tool as program};
use crate::tool::{images_of, inspect, tool};
use crate::world::{succeed, tail, world};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Compiles images of the window library to `output`.
fn build_window(output: &Path, more: &[&str]) -> Value {
    program("llvm-spirv-15");
    let mut command = tool();
    command.arg("build").arg(world().window()).arg("--cuda").arg(cuda()).args(["--format", "json", "-o"]).arg(output);
    let output = succeed(command.args(more));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", tail(&output.stdout)))
}

#[test]
fn window_kernels_become_cubins_that_cuobjdump_reads() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("window.so");
    let built = build_window(&output, &["-t", "nvidia_gpu_sm_90", "--image", "0", "--image", "9"]);
    assert_eq!(built["compiled"], 2, "{built}");
    let file = inspect(&output);
    let images = images_of(&file, "nvptx64");
    assert_eq!(images.len(), 2);
    for image in images {
        assert_eq!(image["format"], "cubin");
        let index = image["index"].to_string();
        let part = folder.path().join(format!("{index}.table"));
        succeed(tool().arg("extract").arg(&output).args(["--image", &index, "-o"]).arg(&part));
        let cubin = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        let cubin = cubin.into_iter().find(|path| path.extension().is_some_and(|end| end == "cubin")).unwrap();
        let mut cuobjdump = std::process::Command::new(cuda().join("nvidia/cu13/bin/cuobjdump"));
        let said = succeed(cuobjdump.arg("-res-usage").arg(&cubin));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let kernel = image["kernels"][0].as_str().unwrap();
        assert!(said.contains(&format!("Function {kernel}:")), "{said}");
        std::fs::remove_file(cubin).unwrap();
    }
}

#[test]
fn architectures_share_a_fat_binary() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("window.so");
    build_window(&output, &["-t", "nvidia_gpu_sm_80,nvidia_gpu_sm_90", "--ptx", "--image", "1"]);
    let file = inspect(&output);
    let images = images_of(&file, "nvptx64");
    assert_eq!(images.len(), 1);
    assert_eq!(images[0]["format"], "fatbin");
    let listed = succeed(tool().args(["inspect", "--image"]).arg(images[0]["index"].to_string()).arg(&output));
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for part in ["elf.sm_80", "elf.sm_90", "ptx.sm_90"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
}

/// The one fat binary among the parts of a table, in which PTX is text.
fn fatbin(folder: &Path, stem: &str) -> String {
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let is_it =
        |path: &PathBuf| path.to_string_lossy().contains(stem) && path.extension().is_some_and(|it| it == "fatbin");
    let found: Vec<PathBuf> = names.filter(is_it).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    String::from_utf8_lossy(&std::fs::read(&found[0]).unwrap()).into_owned()
}

/// Limits of a launch stand in the code, and in the properties for the runtime.
#[test]
fn work_groups_are_those_of_the_source_or_of_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("sum.spv");
    // The kernel requires 32 work-items.
    std::fs::write(&path, module("bounded_sum")).unwrap();
    let table = folder.join("required.table");
    let mut build = tool();
    build.arg("build").arg(&path).args(["-t", "nvidia_gpu_sm_90", "--ptx", "--cuda"]).arg(cuda());
    succeed(build.args(["--options", "-cl-denorms-are-zero", "-o"]).arg(&table));
    let code = fatbin(folder, "required_");
    assert!(code.contains(".reqntid 32, 1, 1") && !code.contains(".maxntid") && code.contains("add.ftz.f32"));
    let props = succeed(tool().args(["props", "--format", "json"]).arg(&table)).stdout;
    let props = String::from_utf8_lossy(&props).into_owned();
    assert!(props.contains("_ZTS11bounded_sum@reqd_work_group_size"), "{props}");

    build_window(&folder.join("free.table"), &["-t", "nvidia_gpu_sm_90", "--ptx", "--image", "2"]);
    let code = fatbin(folder, "free_");
    assert!(code.contains(".maxntid 1024, 1, 1") && code.contains(".minnctapersm 1") && !code.contains(".ftz."));
}

/// Kernels as clang writes OpenCL C, for LLVM 14: one with more numbers in a loop than it has registers, one with an array of
/// its own.
fn text_of_kernels() -> String {
    const COUNT: usize = 120;
    let all = |line: &dyn Fn(usize) -> String| (0..COUNT).map(line).collect::<String>();
    let other = |k: usize, by: usize| (k * by + by) % COUNT;
    let loads = all(&|k| {
        format!(
            "  %p{k} = getelementptr float, float addrspace(1)* %in, i64 {k}\n  %a{k} = load float, float addrspace(1)* %p{k}\n"
        )
    });
    let begins = all(&|k| format!("  %x{k} = phi float [ %a{k}, %entry ], [ %y{k}, %loop ]\n"));
    let products = all(&|k| format!("  %m{k} = fmul float %x{k}, %x{}\n", other(k, 7)));
    let sums = all(&|k| format!("  %y{k} = fadd float %m{k}, %x{}\n", other(k, 11)));
    let stores = all(&|k| format!("  store volatile float %y{k}, float addrspace(1)* %out\n"));
    format!(
        "target triple = \"spir64-unknown-unknown\"\n\
         define spir_kernel void @spills(float addrspace(1)* %in, float addrspace(1)* %out) {{\nentry:\n{loads}  br label %loop\n\
         loop:\n  %r = phi i32 [ 0, %entry ], [ %next, %loop ]\n{begins}{products}{sums}  %next = add i32 %r, 1\n  \
         %ends = icmp eq i32 %next, 50\n  br i1 %ends, label %end, label %loop\nend:\n{stores}  ret void\n}}\n\
         define spir_kernel void @has_an_array(i32 addrspace(1)* %in, i32 addrspace(1)* %out) {{\n  %array = alloca [64 x i32]\n  \
         %at = load i32, i32 addrspace(1)* %in\n  %place = getelementptr [64 x i32], [64 x i32]* %array, i32 0, i32 %at\n  \
         store volatile i32 %at, i32* %place\n  %other = getelementptr [64 x i32], [64 x i32]* %array, i32 0, i32 7\n  \
         %value = load volatile i32, i32* %other\n  store i32 %value, i32 addrspace(1)* %out\n  ret void\n}}\n"
    )
}

/// llvm-spirv of these versions writes a kernel as an entry point that calls a function of the kernel's name. Only ptxas's log
/// says what is spilled and what is an array, and a second build has no log.
#[test]
fn kernels_of_opencl_c_tell_what_they_spill() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("kernels.ll"), text_of_kernels()).unwrap();
    let mut assemble = std::process::Command::new(llvm(14, "llvm-as"));
    succeed(assemble.arg(path("kernels.ll")).arg("-o").arg(path("kernels.bc")));
    let mut translate = std::process::Command::new(program("llvm-spirv-15"));
    succeed(translate.arg(path("kernels.bc")).arg("-o").arg(path("kernels.spv")));
    for table in ["first.table", "again.table"] {
        let mut build = tool();
        build.env("SYCL_BUNDLE_CACHE_DIR", path("cache")).arg("build").arg(path("kernels.spv"));
        build.args(["-t", "nvidia_gpu_sm_80,nvidia_gpu_sm_90", "--cuda"]).arg(cuda());
        succeed(build.arg("--report").arg(path("report")).arg("-o").arg(path(table)));
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let listed = succeed(tool().args(["kernels", "--format", "json"]).arg(path(table))).stdout;
        let listed = read(&listed);
        let kernels = listed["kernels"].as_array().unwrap().iter();
        let native: Vec<&Value> = kernels.flat_map(|kernel| kernel["native"].as_array().unwrap()).collect();
        let report = read(&std::fs::read(path("report")).unwrap());
        let reported = report["images"][0]["kernels"].as_array().unwrap();
        for told in [native, reported.iter().collect()] {
            let spills = |name: &str| {
                let of_name = told.iter().filter(|kernel| kernel["name"] == name);
                of_name.map(|kernel| kernel["spill"].as_u64().unwrap()).collect::<Vec<_>>()
            };
            let (spilled, array) = (spills("spills"), spills("has_an_array"));
            assert!(spilled.len() == 2 && spilled.iter().all(|bytes| *bytes > 0), "{table}: {told:?}");
            assert_eq!(array, [0, 0], "{table}: {told:?}");
        }
    }
}

/// Functions and variables that the driver knows are left to it, by their names.
#[test]
fn assertions_printing_and_variables_are_the_drivers() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = [
        ("asserted", vec![".extern .func __assertfail"]),
        ("printed", vec!["vprintf", "cvt.f64.f32"]),
        ("device_global", vec![".visible .global .align 8 .b8 counter[16]", "ld.global.b64"]),
    ];
    let sources = optimised_of("", |name| wanted.iter().any(|(source, _)| *source == name));
    assert_eq!(sources.len(), wanted.len());
    for compiled in sources {
        let output = folder.path().join(format!("{}.table", compiled.source));
        let mut build = tool();
        build.arg("build").arg(compiled.table()).args(["-t", "nvidia_gpu_sm_90", "--ptx", "--cuda"]).arg(cuda());
        succeed(build.arg("-o").arg(&output));
        let made = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        let made = made.filter(|path| path.extension().is_some_and(|end| end == "fatbin"));
        let own = made.filter(|path| path.to_string_lossy().contains(&format!("{}_", compiled.source)));
        let code: String =
            own.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect();
        for text in wanted.iter().filter(|(source, _)| *source == compiled.source).flat_map(|(_, texts)| texts) {
            assert!(code.contains(text), "{}: {text} not in {code}", compiled.label());
        }
    }
}

/// A kernel that adds to memory of the system, takes a root, clamps, though a function of its own has that built-in's name, stores a
/// null pointer to local memory as a generic one, and rounds a small number up to a half.
const STATEMENTS: &str = r#"OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int64
OpCapability GenericPointer
OpCapability Float16Buffer
%1 = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %kernel "k"
OpName %own "_Z5clampfff"
OpDecorate %unused LinkageAttributes "unused" Export
%void = OpTypeVoid
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%floats = OpTypePointer CrossWorkgroup %float
%words = OpTypePointer CrossWorkgroup %u32
%halves = OpTypePointer CrossWorkgroup %half
%local = OpTypePointer Workgroup %u32
%generic = OpTypePointer Generic %u32
%places = OpTypePointer CrossWorkgroup %generic
%of_kernel = OpTypeFunction %void %floats %words %halves %places %float
%of_own = OpTypeFunction %float %float %float %float
%system = OpConstant %u32 0
%relaxed = OpConstant %u32 0
%seven = OpConstant %u32 7
%zero = OpConstant %u64 0
%less = OpConstant %float -1
%more = OpConstant %float 1
%null = OpConstantNull %local
%unused = OpVariable %words CrossWorkgroup %seven
%kernel = OpFunction %void None %of_kernel
%out = OpFunctionParameter %floats
%counter = OpFunctionParameter %words
%rounded = OpFunctionParameter %halves
%place = OpFunctionParameter %places
%value = OpFunctionParameter %float
%entry = OpLabel
%old = OpAtomicIAdd %u32 %counter %system %relaxed %seven
%root = OpExtInst %float %1 sqrt %value
%within = OpExtInst %float %1 fclamp %root %less %more
%called = OpFunctionCall %float %own %within %less %more
OpStore %out %called Aligned 4
%nowhere = OpPtrCastToGeneric %generic %null
OpStore %place %nowhere Aligned 8
%done = OpExtInst %void %1 vstore_half_r %value %zero %rounded RTP
OpReturn
OpFunctionEnd
%own = OpFunction %float None %of_own
%a = OpFunctionParameter %float
%b = OpFunctionParameter %float
%c = OpFunctionParameter %float
%body = OpLabel
%sum = OpFSub %float %a %c
OpReturnValue %sum
OpFunctionEnd
"#;

/// Each was another statement once, with exit code 0.
#[test]
fn statements_are_those_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("k.spv"), assemble(STATEMENTS).unwrap()).unwrap();
    let mut build = tool();
    build.arg("build").arg(path("k.spv")).args(["-t", "nvidia_gpu_sm_80", "--ptx", "--cuda"]).arg(cuda());
    succeed(build.arg("-o").arg(path("k.table")));
    let code = fatbin(folder.path(), "k_");
    for text in [
        "atom.sys.add.u32",
        "sqrt.rn.f32",
        "max.f32",
        "min.f32",
        "cvt.rp.f16.f32",
        ".visible .global .align 4 .u32 unused = 7",
    ] {
        assert!(code.contains(text), "{text} not in {code}");
    }
    assert!(!code.contains("cvta.shared"), "{code}");
}

/// Expectations of the first tier are what both compilers say.
#[test]
fn ptxas_says_of_statements_what_the_fixture_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statements.ptx");
    for (is_taken, text) in crate::support::ptx::statements() {
        std::fs::write(&path, &text).unwrap();
        for compiler in ["nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/ptxas"] {
            let mut ptxas = std::process::Command::new(cuda().join(compiler));
            let said = ptxas.arg("-arch=sm_90").arg(&path).arg("-o").arg(folder.path().join("code")).output().unwrap();
            assert_eq!(
                said.status.success(),
                is_taken,
                "{compiler}: {text}\n{}",
                String::from_utf8_lossy(&said.stderr)
            );
        }
    }
}
