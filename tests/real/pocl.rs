//! What does the tool make of a machine with PoCL, alone and beside Intel's CPU driver?

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tool::{build, images_of, inspect, tool};
use crate::trace::Trace;
use crate::unstable::pocl;
use crate::world::{WINDOW, succeed, tail, world};

/// Asks for one window of a library, which is not dpnp's own, and compares it with NumPy's.
const HANNING: &str = "\
import importlib.util, sys, dpctl, dpnp.tensor, numpy
spec = importlib.util.spec_from_file_location('_window_impl', sys.argv[1])
windows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(windows)
queue = dpctl.SyclQueue('opencl:cpu')
array = dpnp.tensor.empty(33, dtype='f8', sycl_queue=queue)
windows._hanning(queue, array)[1].wait()
numpy.testing.assert_allclose(dpnp.tensor.asnumpy(array), numpy.hanning(33), rtol=1e-6, atol=1e-7)
";

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command.args(["--format", "json"])).stdout).unwrap()
}

/// Status and messages of a build of dpnp's window library that is refused.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = tempfile::tempdir().unwrap();
    let mut build = pocl().tool();
    build.arg("build").arg(world().window()).args(arguments).arg("-o").arg(output.path().join("out.so"));
    let done = build.output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn pocl_is_asked_and_built_for_by_its_name_alone() {
    let devices = json(pocl().tool().arg("devices"));
    let devices = devices["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert_eq!((&devices[0]["kind"], &devices[0]["vendor"]), (&"cpu".into(), &"The pocl project".into()));
    assert!(devices[0]["max_num_sub_groups"].as_u64() >= Some(1), "{devices:?}");

    let kernels = json(pocl().tool().arg("kernels").arg(world().window()).args(["--device", "pocl", "--image", "0-1"]));
    for kernel in kernels["kernels"].as_array().unwrap() {
        let answers = kernel["devices"].as_object().unwrap().values().next().unwrap();
        assert!(answers["work_group_size"].as_u64() > Some(0), "{kernel}");
    }

    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join(WINDOW.rsplit('/').next().unwrap());
    let mut build = pocl().tool();
    build.arg("build").arg(world().window()).args(["--device", "pocl", "--image", "0-1", "-o"]).arg(&output);
    let said = String::from_utf8(succeed(&mut build).stderr).unwrap();
    assert!(said.contains("INVALID_BINARY"), "{said}");
    let report = inspect(&output);
    let natives = images_of(&report, "spir64_x86_64");
    assert_eq!(natives.len(), 2);
    for native in natives {
        assert_eq!(native["format"], "pocl");
        let own: Vec<&Value> = native["native"]["parts"][0]["kernels"].as_array().unwrap().iter().collect();
        let names: Vec<&Value> = own.iter().map(|kernel| &kernel["name"]).collect();
        assert_eq!(names, native["kernels"].as_array().unwrap().iter().collect::<Vec<_>>());
    }
    // Whether it runs is up to the driver that is there.
    let check = tool().arg("check").arg(&output).args(["-t", "spir64_x86_64", "--strict"]).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&check.stdout).contains("PoCL"));

    let (status, said) = refused(&["-t", "spir64_x86_64"]);
    assert!(status == Some(5) && said.contains("no other driver makes what Intel's takes"), "{said}");
    let (status, said) = refused(&["--device", "cpu"]);
    assert!(status == Some(5) && said.contains("only Intel's driver takes its own"), "{said}");
    let doctor = pocl().tool().arg("doctor").output().unwrap();
    assert_eq!(doctor.status.code(), Some(5), "Intel's driver is not there");
}

#[test]
fn of_both_drivers_a_cpu_is_the_one_that_can() {
    let folder = tempfile::tempdir().unwrap();
    let icd = folder.path().join("icd");
    std::fs::create_dir(&icd).unwrap();
    std::fs::write(icd.join("a.icd"), pocl().driver()).unwrap();
    std::fs::copy(world().root().join("icd/intel-cpu.icd"), icd.join("b.icd")).unwrap();
    let tool = || {
        let mut tool = pocl().tool();
        tool.env("OCL_ICD_VENDORS", &icd);
        tool
    };
    let devices = json(tool().arg("devices"));
    assert_eq!(devices["devices"].as_array().unwrap().len(), 2, "{devices}");
    for arguments in [["--device", "cpu"], ["-t", "spir64_x86_64"]] {
        let output = folder.path().join("out.so");
        let mut build = tool();
        build.arg("build").arg(world().window()).args(arguments).args(["--image", "0", "-o"]).arg(&output);
        succeed(&mut build);
        assert_eq!(images_of(&inspect(&output), "spir64_x86_64")[0]["format"], "elf", "{arguments:?}");
    }
}

/// Runs the window by the runtime on PoCL alone: whether the numbers are right, what the programs came from, what was said.
fn ran(library: &Path, cache: &Path) -> (bool, Trace, String) {
    let own = [world().root().join("venv/lib"), world().site_packages().join("dpctl")];
    let mut python = pocl().runtime("opencl:cpu", &world().root().join("venv/bin/python"), &own);
    python.args(["-c", HANNING]).arg(library).env("SYCL_UR_TRACE", "2").env("POCL_CACHE_DIR", cache);
    let done = python.output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.success(), Trace::read(&String::from_utf8_lossy(&text)), tail(&text))
}

#[test]
fn the_runtime_takes_from_pocl_what_was_built_for_it_and_refuses_intels() {
    let folder = tempfile::tempdir().unwrap();
    let library = |name: &str| folder.path().join(name);
    let (able, trace, said) = ran(&world().window(), folder.path());
    assert!(able && trace.il_programs == 1 && trace.binary_programs == 0, "{trace:?}: {said}");

    let selected = ["--kernel", "*HanningFunctor<double>*"];
    let mut own = pocl().tool();
    own.arg("build").arg(world().window()).args(["--device", "pocl", "-o"]).arg(library("pocl.so")).args(selected);
    succeed(&mut own);
    let (able, trace, said) = ran(&library("pocl.so"), folder.path());
    assert!(able && trace.il_programs == 0 && trace.binary_programs == 1, "{trace:?}: {said}");

    build(&world().window(), &library("intel.so"), &selected);
    let (able, trace, said) = ran(&library("intel.so"), folder.path());
    assert!(!able && trace.from_il.is_empty() && said.contains("UR_RESULT_ERROR_INVALID_BINARY"), "{trace:?}: {said}");
    let mut explain = tool();
    explain.arg("explain").arg(library("intel.so")).args(["--message", "UR_RESULT_ERROR_INVALID_BINARY"]);
    let told = explain.output().unwrap();
    assert!(String::from_utf8_lossy(&told.stdout).contains("PoCL"), "{}", String::from_utf8_lossy(&told.stdout));
}
