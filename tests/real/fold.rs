//! Is code that was made of a clone's the code that the driver makes of the clone itself?
//!
//! Each library is built twice, with every image compiled and with clones folded; the native images must be equal byte by
//! byte, and those that were folded are so many that no accident explains it.

use std::path::Path;

use serde_json::Value;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;

use crate::installation::Installation;
use crate::tool::{build_command, tool};
use crate::unstable::intel;
use crate::world::{WINDOW, succeed, world};

/// Native images of an output, in order.
fn natives(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let native = bundle.images.iter().filter(|image| ["spir64_x86_64", "spir64_gen"].contains(&image.target));
    native.map(|image| image.contents().unwrap().into_owned()).collect()
}

/// Builds; gives the report and the native images.
fn built(input: &Path, more: &[&str]) -> (Value, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    let said = succeed(build_command(input, &output).args(["--format", "json"]).args(more));
    (serde_json::from_slice(&said.stdout).unwrap(), natives(&output))
}

/// Compiles both ways; gives how many were folded.
fn compared(library: &str, images: &str, march: &str) -> u64 {
    let library = world().root().join("venv/lib").join(library);
    let options = ["--image", images, "--march", march];
    let (plain, expected) = built(&library, &[&options[..], &["--no-fold"]].concat());
    let (report, natives) = built(&library, &options);
    assert_eq!(plain["folded"], 0);
    assert_eq!((&plain["compiled"], &plain["failed"]), (&report["compiled"], &report["failed"]));
    assert_eq!(natives.len(), expected.len());
    for (at, (one, other)) in natives.iter().zip(&expected).enumerate() {
        assert!(one == other, "native image {at} of {library:?} for {march} is not the driver's");
    }
    report["folded"].as_u64().unwrap()
}

#[test]
fn folded_images_are_byte_for_byte_what_the_driver_makes_of_them() {
    let tensor = "python3.11/site-packages/dpnp/tensor/_tensor_impl.cpython-311-x86_64-linux-gnu.so";
    let lapack = "libmkl_sycl_lapack.so.6";
    // Where clones are many: a stretch of copying kernels, one of choosing ones, and oneMKL's empty kernels.
    let counts = [
        compared(tensor, "90-249", "avx2"),
        compared(tensor, "2356-2435", "avx512"),
        compared(lapack, "0-299", "avx2"),
        compared(lapack, "0-99", "sse4.2"),
    ];
    println!("folded: {counts:?}");
    assert!(counts.iter().all(|count| *count >= 20), "{counts:?}");
    assert!(counts.iter().sum::<u64>() >= 300, "{counts:?}");
}

#[test]
fn folded_images_for_gpus_are_byte_for_byte_what_ocloc_makes_of_them() {
    let newest = intel().program("ocloc");
    let library = world().site_packages().join("dpnp/tensor/_tensor_impl.cpython-311-x86_64-linux-gnu.so");
    let built = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.so");
        let mut build = tool();
        build.arg("build").arg(&library).args([
            "--image",
            "90-149",
            "-t",
            "pvc,dg1,mtl-h,bmg-g21",
            "--no-cache",
            "--ocloc",
        ]);
        build.arg(&newest).arg("-o").arg(&output).args(["--format", "json"]).args(more);
        let report: Value = serde_json::from_slice(&succeed(&mut build).stdout).unwrap();
        (report["folded"].as_u64().unwrap(), natives(&output))
    };
    let ((none, expected), (folded, natives)) = (built(&["--no-fold"]), built(&[]));
    assert!(none == 0 && folded >= 40, "{folded} folded");
    assert_eq!(natives.len(), expected.len());
    let differ = natives.iter().zip(&expected).filter(|(one, other)| one != other).count();
    assert_eq!(differ, 0, "of {} native images", natives.len());
}

/// The runtime finds the kernels under their own names in what came out of the cache under the common one.
#[test]
fn what_is_renamed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.so"), folder.path().join("second.so"));
    let build = |output: &Path| {
        let mut command = build_command(&world().window(), output);
        command.env("SYCL_BUNDLE_CACHE_DIR", folder.path().join("cache")).args(["--format", "json"]);
        serde_json::from_slice::<Value>(&succeed(&mut command).stdout).unwrap()
    };
    assert_eq!((&build(&first)["cached"], &build(&second)["cached"]), (&Value::from(0), &Value::from(20)));
    assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap(), "renamed twice is as compiled");
    let trace = Installation::with(&[(WINDOW, &second)]).trace_windows();
    assert_eq!(trace.il_programs, 0, "{trace:?}");
    assert!(trace.from_binary.len() >= 5, "{trace:?}");
}
