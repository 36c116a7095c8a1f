//! Does the runtime launch native code on the GPUs that have some, and SPIR-V on the others?
//!
//! The GPUs are simulated by Intel's driver, which takes or refuses programs and computes nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use sycl_bundle::device::simulation::Simulation;
use sycl_bundle::target_table;

use crate::compiler::optimised_of;
use crate::support::tools::needed;
use crate::tool::{images_of, inspect, tool};
use crate::trace::Trace;
use crate::unstable::intel;
use crate::world::{scripts, succeed, world};

/// GPUs that native code is made for, and one without.
const GPUS: [&str; 6] = ["pvc", "bmg-g21", "dg2-g10", "dg1", "lnl-m", "tgllp"];

/// Launches dpnp's window functions for a type, without dpnp around them: the library is the one that is named.
const WINDOWS: &str = "\
import importlib.util, sys, dpctl, dpnp.tensor
spec = importlib.util.spec_from_file_location('_window_impl', sys.argv[1])
windows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(windows)
queue = dpctl.SyclQueue('opencl:gpu')
for kind in ('f4', 'f8') if queue.sycl_device.has_aspect_fp64 else ('f4',):
    array = dpnp.tensor.empty(16, dtype=kind, sycl_queue=queue)
    for name in ('bartlett', 'blackman', 'hamming', 'hanning'):
        getattr(windows, '_' + name)(queue, array)[1].wait()
    windows._kaiser(queue, 1.0, array)[1].wait()
";

/// A program of the installation on a simulated GPU.
fn on(gpu: &str, program: &Path) -> Command {
    let own = [world().root().join("venv/lib"), world().site_packages().join("dpctl")];
    intel().runtime_on(&Simulation::find(gpu, target_table()).unwrap(), program, &own)
}

fn python(gpu: &str) -> Command {
    on(gpu, &world().root().join("venv/bin/python"))
}

fn traced(command: &mut Command) -> Trace {
    let output = succeed(command.env("SYCL_UR_TRACE", "2"));
    Trace::read(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))
}

/// A library that can answer for the runtime, in a process that has opened others with device code.
pub fn judge(folder: &Path) -> PathBuf {
    let judge = folder.join("runtime_verdicts.so");
    let mut command = needed("g++");
    command
        .args(["-std=c++17", "-w", "-shared", "-fPIC", "-o"])
        .arg(&judge)
        .arg(scripts().join("runtime_verdicts.cpp"));
    command.arg("-I").arg(world().root().join("venv/include")).arg("-L").arg(world().root().join("venv/lib"));
    succeed(command.arg("-l:libsycl.so.9"));
    judge
}

/// Calls a function of the judge with a library that registers device code. Extensions of Python leave symbols open that
/// the interpreter defines.
pub fn ask(python: &mut Command, judge: &Path, library: &Path, function: &str) -> String {
    let script = format!(
        "import ctypes, os, sys\nctypes.CDLL(sys.argv[2], mode=os.RTLD_LAZY | os.RTLD_GLOBAL)\n\
         ctypes.CDLL(sys.argv[1]).{function}()"
    );
    String::from_utf8(succeed(python.args(["-c", &script]).arg(judge).arg(library)).stdout).unwrap()
}

#[test]
fn dpnp_runs_from_native_code_and_kernel_bundles_do_not_fail() {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge(folder.path());
    let ocloc = intel().program("ocloc");
    let (natives, other) = GPUS.split_at(5);
    for archive in [None, Some("--archive"), Some("--archive=ir")] {
        let library = folder.path().join("windows.so");
        let mut build = tool();
        build.arg("build").arg(world().window()).args(["-t", &natives.join(","), "--no-cache", "--ocloc"]).arg(&ocloc);
        succeed(build.args(archive).arg("-o").arg(&library));
        for gpu in natives {
            let trace = traced(python(gpu).args(["-c", WINDOWS]).arg(&library));
            let kernels = if ["dg2-g10", "dg1"].contains(gpu) { 5 } else { 10 };
            assert!(trace.from_il.is_empty() && trace.from_binary.len() == kernels, "{gpu}: {trace:?}");
        }
        let trace = traced(python(other[0]).args(["-c", WINDOWS]).arg(&library));
        let inside = archive == Some("--archive=ir");
        let (jit, none) = if inside { (trace.from_binary, trace.from_il) } else { (trace.from_il, trace.from_binary) };
        assert!(none.is_empty() && jit.len() == 5, "{archive:?}: {jit:?}, {none:?}");
        // Code of one GPU is in the way of another's bundles, but in archives; without SPIR-V inside, for those it names alone.
        let able = match archive {
            None => &[][..],
            Some("--archive") => natives,
            Some(_) => &GPUS,
        };
        for gpu in able {
            let said = ask(&mut python(gpu), &judge, &library, "runtime_bundles");
            let answers: Vec<(&str, &str)> = said.lines().filter_map(|line| line.split_once('\t')).collect();
            assert_eq!(answers.len(), 20, "{gpu}: {said}");
            for (answer, kernel) in answers {
                let able = !kernel.contains("IdE") || ["pvc", "bmg-g21", "lnl-m"].contains(gpu);
                assert_eq!(answer == "1", able, "{gpu}: {kernel}");
            }
        }
    }
}

/// A kernel that calls a function of another image, of one that needs double precision: both are in its native code.
#[test]
fn what_an_image_imports_is_in_its_native_code() {
    let folder = tempfile::tempdir().unwrap();
    let judge = judge(folder.path());
    let compiled = optimised_of("", |name| name == "symbols_both");
    let newest = intel().program("ocloc");
    for (ocloc, gpu, images) in
        [(Path::new("ocloc"), "pvc", 2), (&newest, "pvc", 2), (&newest, "bmg-g21", 2), (&newest, "dg1", 1)]
    {
        let library = folder.path().join("both.so");
        let mut build = tool();
        build.arg("build").arg(compiled[0].table()).args(["-t", gpu, "--no-cache", "--ocloc"]).arg(ocloc);
        succeed(build.args(["--emit", "shared", "-o"]).arg(&library));
        let report = inspect(&library);
        let natives = images_of(&report, "spir64_gen");
        assert_eq!(natives.len(), images, "{gpu}");
        assert!(natives.iter().all(|native| native["imports"].as_array().unwrap().is_empty()), "{natives:?}");
        let mut python = python(gpu);
        let said = ask(python.env("SYCL_UR_TRACE", "2"), &judge, &library, "runtime_bundles");
        assert_eq!(said.lines().filter(|line| line.starts_with("1\t")).count(), images, "{gpu}: {said}");
        let trace = Trace::read(&said);
        assert_eq!((trace.binary_programs, trace.il_programs), (images, 0), "{gpu}");
    }
}
