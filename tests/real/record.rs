//! Are the images of a profile those that the runtime compiled, and does nothing compile once they are native?

use crate::support::tools::needed;
use crate::tool::{inspect, tool};
use crate::trace::Trace;
use crate::world::{scripts, succeed, world};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Records `windows.py`, which calls five window functions of dpnp, in a process that the recorded one starts.
fn recorded(folder: &Path, packages: Option<&Path>) -> Value {
    let profile = folder.join("windows.profile");
    let mut command = tool();
    command.args(["record", "-o"]).arg(&profile).args(["--", "sh", "-c", "\"$@\"; exit 3", "sh"]);
    command.arg(world().root().join("venv/bin/python")).arg(scripts().join("windows.py"));
    if let Some(packages) = packages {
        command.env("PYTHONPATH", packages);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "the program's own status: {output:?}");
    assert!(said.ends_with("correct\n"), "{said}");
    serde_json::from_slice(&std::fs::read(profile).unwrap()).unwrap()
}

/// Digests of a profile's images that are in a file whose path ends so.
fn digests_in(profile: &Value, end: &str) -> BTreeSet<String> {
    let programs = profile["programs"].as_array().unwrap().iter();
    let images = programs.flat_map(|program| program["images"].as_array().unwrap());
    let here = |image: &&Value| {
        let files = image["files"].as_array().unwrap();
        files.iter().any(|place| place["file"].as_str().unwrap().ends_with(end))
    };
    images.filter(here).map(|image| image["blake3"].as_str().unwrap().to_owned()).collect()
}

/// The wheel of dpnp that the installation is from.
fn wheel() -> PathBuf {
    succeed(needed("python3").arg(scripts().join("fetch.py")).arg("--wheels").arg(world().root()));
    world().root().join("wheels/dpnp-0.20.0-0-cp311-cp311-manylinux_2_28_x86_64.whl")
}

#[test]
fn a_recorded_program_compiles_nothing_once_its_wheel_is_built_by_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = recorded(folder.path(), None);
    let window = digests_in(&profile, "_window_impl.cpython-311-x86_64-linux-gnu.so");
    assert_eq!(window.len(), 5, "{profile:#}");
    let known = inspect(&world().window());
    let all: BTreeSet<&str> =
        known["images"].as_array().unwrap().iter().map(|image| image["blake3"].as_str().unwrap()).collect();
    assert!(window.iter().all(|digest| all.contains(digest.as_str())));

    // The driver's code, without any driver to compile with.
    let mut build = tool();
    build.env("OCL_ICD_VENDORS", folder.path()).args(["build", "--harvest", "--format", "json", "--profile"]);
    build.arg(folder.path().join("windows.profile")).arg(wheel()).arg("-o").arg(folder.path().join("out/"));
    let built: Value = serde_json::from_slice(&succeed(&mut build).stdout).unwrap();
    assert_eq!(built["compiled"], built["harvested"], "{built:#}");
    assert!(built["harvested"].as_u64().unwrap() >= 5, "{built:#}");

    let packages = folder.path().join("packages");
    let made = folder.path().join("out").join(wheel().file_name().unwrap());
    assert!(made.metadata().unwrap().len() * 10 < wheel().metadata().unwrap().len() * 13);
    let mut pip = Command::new(world().root().join("venv/bin/python"));
    pip.args(["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]).arg(&packages).arg(&made);
    succeed(&mut pip);
    let again = recorded(folder.path(), Some(&packages));
    let left = digests_in(&again, ".so").into_iter().filter(|digest| window.contains(digest)).count();
    assert_eq!(left, 0, "{again:#}");

    let log = folder.path().join("trace");
    let file = std::fs::File::create(&log).unwrap();
    let mut traced = world().python();
    traced.arg(scripts().join("windows.py")).env("PYTHONPATH", &packages).env("SYCL_UR_TRACE", "2");
    let status = traced.stdout(Stdio::from(file.try_clone().unwrap())).stderr(Stdio::from(file)).status().unwrap();
    assert!(status.success());
    let trace = Trace::read(&String::from_utf8_lossy(&std::fs::read(&log).unwrap()));
    assert_eq!((trace.il_programs, trace.from_il.len()), (0, 0), "{trace:?}");
    assert!(trace.binary_programs >= 5, "{trace:?}");
}
