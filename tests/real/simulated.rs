//! Does the device configuration say of Intel's GPUs what Intel's driver says, and do all verbs work on GPUs that it simulates?
//!
//! The driver of Debian unstable (`unstable.sh`) pretends to be each GPU in turn, as `--device sim:GPU` has it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::compiler::{Compiled, optimised_of};
use crate::support::spirv;
use crate::tool::tool;
use crate::unstable::intel;
use crate::world::{succeed, world};

/// GPUs by their names for ocloc, and the targets that they are.
pub const GPUS: [(&str, &str); 17] = [
    ("tgllp", "intel_gpu_tgllp"),
    ("adl-p", "intel_gpu_adl_p"),
    ("adl-s", "intel_gpu_adl_s"),
    ("dg1", "intel_gpu_dg1"),
    ("dg2-g10", "intel_gpu_acm_g10"),
    ("dg2-g11", "intel_gpu_acm_g11"),
    ("dg2-g12", "intel_gpu_acm_g12"),
    ("pvc", "intel_gpu_pvc"),
    ("pvc-vg", "intel_gpu_pvc_vg"),
    ("mtl-u", "intel_gpu_mtl_u"),
    ("mtl-h", "intel_gpu_mtl_h"),
    ("arl-h", "intel_gpu_arl_h"),
    ("bmg-g21", "intel_gpu_bmg_g21"),
    ("bmg-g31", "intel_gpu_bmg_g31"),
    ("lnl-m", "intel_gpu_lnl_m"),
    ("ptl-h", "intel_gpu_ptl_h"),
    ("ptl-u", "intel_gpu_ptl_u"),
];

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command.args(["--format", "json"])).stdout).unwrap()
}

/// The driver's answers about a GPU, and what the device configuration says of it.
fn both(gpu: &str, target: &str, more: &[&str]) -> (Value, Value) {
    let mut devices = json(intel().tool().args(["devices", &format!("sim:{gpu}")]).args(more));
    let mut targets = json(tool().args(["targets", target]));
    (devices["devices"][0].take(), targets["targets"][0].take())
}

fn names(list: &Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn the_configuration_says_what_the_driver_says() {
    for (gpu, target) in GPUS {
        let (device, facts) = both(gpu, target, &[]);
        for (of_device, of_facts) in [
            ("sub_group_sizes", "sub_group_sizes"),
            ("max_work_group_size", "max_work_group_size"),
            ("max_work_item_sizes", "max_work_item_sizes"),
            ("local_mem_size", "local_memory"),
        ] {
            assert_eq!(device[of_device], facts[of_facts], "{gpu}: {of_facts}");
        }
        let newest = names(&device["il"]).into_iter().filter_map(|il| il.strip_prefix("SPIR-V_")).max();
        assert_eq!(newest, facts["spirv_version"].as_str(), "{gpu}");
        // The configuration tells those that decide how modules are linked.
        let bfloat16 =
            |list: &Value| list.as_array().is_some_and(|own| own.contains(&"cl_intel_bfloat16_conversions".into()));
        assert_eq!(bfloat16(&device["extensions"]), bfloat16(&facts["opencl_extensions"]), "{gpu}");
        let (has, listed) = (names(&device["aspects"]), names(&facts["aspects"]));
        let maybe = names(&facts["maybe_aspects"]);
        let more: Vec<&&str> = has.difference(&listed).filter(|name| !maybe.contains(**name)).collect();
        assert!(more.is_empty(), "{gpu} has {more:?}, of which the configuration does not know");
        // The runtime has two that SYCL 1.2.1 had for atomic64.
        let old = ["int64_base_atomics", "int64_extended_atomics"];
        let less: Vec<&&str> = listed.difference(&has).filter(|name| !old.contains(*name)).collect();
        assert!(less.is_empty(), "the configuration has {less:?}, which {gpu} lacks");
    }
}

/// The most registers that the compiler gives a thread where it is asked for as many as there are.
#[test]
fn the_configuration_says_how_many_registers_the_compiler_gives() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.spv"), spirv::module("add_one")).unwrap();
    let mut asked = 0;
    for (gpu, target) in GPUS {
        let facts = json(tool().args(["targets", target]));
        let mut build = tool();
        build.current_dir(folder.path()).args(["build", "m.spv", "-t", target, "--no-cache", "-o", "m.table"]);
        build.args(["--no-spirv", "--options=-ze-opt-large-register-file", "--ocloc"]);
        succeed(build.arg(intel().program("ocloc")));
        let report = json(tool().arg("kernels").arg(folder.path().join("m.table")));
        let native = &report["kernels"][0]["native"][0]["registers"];
        assert!(native.is_u64() && *native == facts["targets"][0]["max_registers"], "{gpu}: {native}");
        asked += 1;
    }
    assert_eq!(asked, GPUS.len());
}

/// One GPU with double precision and one without.
#[test]
fn the_driver_builds_kernels_of_every_extension_and_capability_that_is_listed() {
    for (gpu, target) in [("dg1", "intel_gpu_dg1"), ("bmg-g21", "intel_gpu_bmg_g21")] {
        let (device, facts) = both(gpu, target, &["--probe"]);
        let mut listed = names(&facts["spirv_extensions"]);
        listed.extend(names(&facts["spirv_capabilities"]));
        let results = device["probe"]["results"].as_array().unwrap();
        let mut asked = 0;
        for result in results.iter().filter(|result| listed.contains(result["name"].as_str().unwrap())) {
            asked += 1;
            let reason = result["reason"].as_str().unwrap_or_default();
            // Atomics on doubles need doubles, too.
            let wide = gpu == "dg1" && reason.contains("Double type is not supported");
            assert!(result["answer"] == "yes" || wide, "{gpu}: {result}");
        }
        assert!(asked > 50, "{asked}");
    }
}

#[test]
fn every_verb_that_asks_devices_works_on_simulated_ones() {
    let window = world().window();
    let run = |arguments: &[&str]| {
        let mut tool = intel().tool();
        let done = tool.args(arguments).arg(&window).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(said.contains("simulated"), "{arguments:?}: {said}");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned() + &said)
    };
    // Half of the kernels need double precision.
    for (gpu, able) in [("sim:pvc", true), ("sim:dg1", false)] {
        let answer = Some(i32::from(!able));
        let (status, said) = run(&["check", "--device", gpu]);
        assert_eq!(status, answer, "{said}");
        // OpenCL does not tell which extensions of SPIR-V a driver takes; that the GPU is known does.
        let (status, said) = run(&["has", "--device", gpu]);
        assert!(status == Some(0) && !said.contains("is not known"), "{said}");
        let (status, said) = run(&["explain", "--kernel", "*Functor<double>", "--device", gpu]);
        assert_eq!(status, answer, "{said}");
        assert_eq!(said.contains("its compiler builds the kernel"), able, "{said}");
        let (status, said) =
            run(&["kernels", "--kernel", "*KaiserFunctor<float>", "--device", gpu, "--format", "json"]);
        assert_eq!(status, Some(0), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("gpu.yaml");
    let mut save = intel().tool();
    succeed(save.args(["devices", "sim:pvc", "--no-probe", "--save"]).arg(&saved));
    let text = std::fs::read_to_string(&saved).unwrap();
    assert!(text.contains("live-pvc-simulated") && text.contains("sub-group-sizes: [16, 32]"), "{text}");
    assert!(text.contains("like: intel_gpu_pvc") && text.contains("driver-version:"), "{text}");
}

/// Native code as ocloc makes it, and a driver of each GPU: it takes what coverage says that it takes.
#[test]
fn drivers_take_the_native_code_that_coverage_says() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("one.spv");
    succeed(tool().arg("extract").arg(world().window()).args(["--image", "0", "-o"]).arg(&module));
    let ocloc = intel().program("ocloc");
    for (code, target) in [("bmg-g21", "intel_gpu_bmg_g21"), ("dg2-g10", "intel_gpu_acm_g10"), ("pvc", "intel_gpu_pvc")]
    {
        let native = folder.path().join(format!("{code}.table"));
        let mut build = tool();
        build.arg("build").arg(&module).args(["-t", target, "--no-spirv", "--no-cache", "--ocloc"]).arg(&ocloc);
        succeed(build.arg("-o").arg(&native));
        let bare = folder.path().join(format!("{code}.bin"));
        std::fs::write(&bare, succeed(tool().arg("extract").arg(&native).args(["-o", "-"])).stdout).unwrap();
        let report = json(tool().arg("inspect").arg(&bare));
        let coverage = report["files"][0]["images"][0]["coverage"].as_object().unwrap().clone();
        for (gpu, name) in GPUS {
            let covered = coverage.get(name).is_some_and(|coverage| coverage == "native");
            let device = format!("sim:{gpu}");
            let mut ask = intel().tool();
            let asked = ask.arg("kernels").arg(&bare).args(["--device", &device, "--format", "json"]).output().unwrap();
            let said = String::from_utf8_lossy(&asked.stderr);
            assert!(matches!(asked.status.code(), Some(0 | 4)), "{code} on {gpu}: {}: {said}", asked.status);
            let kernels: Value = serde_json::from_slice(&asked.stdout).unwrap();
            let answers = kernels["kernels"][0]["devices"].as_object().unwrap().values().next().unwrap().clone();
            assert_eq!(answers["work_group_size"].is_u64(), covered, "{code} on {gpu}: {answers}");
        }
    }
}

/// Local, private and spill memory and the size of sub-groups, as the code says and as the driver that loaded it says.
#[test]
fn resources_of_native_code_are_those_that_the_driver_tells() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = optimised_of("", |name| ["double_local", "double_private", "barrier"].contains(&name));
    let mut inputs: Vec<PathBuf> = compiled.iter().map(Compiled::table).collect();
    inputs.push(world().window());
    let (mut asked, mut local) = (0, 0);
    for (gpu, target) in [("pvc", "intel_gpu_pvc"), ("bmg-g21", "intel_gpu_bmg_g21"), ("dg1", "intel_gpu_dg1")] {
        for input in &inputs {
            let native = folder.path().join("native.table");
            let mut build = tool();
            build.arg("build").arg(input).args(["-t", target, "--no-cache", "--emit", "table", "-o"]).arg(&native);
            succeed(build.arg("--ocloc").arg(intel().program("ocloc")));
            let mut ask = intel().tool();
            ask.arg("kernels").arg(&native).args(["--where", &format!("compile_target = '{target}'"), "--device"]);
            let Ok(report) = serde_json::from_slice::<Value>(
                &ask.args([&format!("sim:{gpu}"), "--format", "json"]).output().unwrap().stdout,
            ) else {
                // Nothing of it runs there.
                assert_eq!(gpu, "dg1");
                continue;
            };
            for kernel in report["kernels"].as_array().unwrap() {
                let (code, driver) = (&kernel["native"][0], kernel["devices"].as_object().unwrap().values().next());
                for (of_code, of_driver) in [
                    ("local", "local_mem_size"),
                    ("private", "private_mem_size"),
                    ("spill", "spill"),
                    ("simd", "max_sub_group_size"),
                ] {
                    assert!(code[of_code].is_u64(), "{gpu}: {code}");
                    assert_eq!(Some(&code[of_code]), driver.map(|told| &told[of_driver]), "{gpu}, {of_code}: {kernel}");
                }
                asked += 1;
                local += usize::from(code["local"].as_u64() > Some(0));
            }
        }
    }
    assert!(asked > 50 && local >= 2, "{asked} asked, {local} with local memory");
}
