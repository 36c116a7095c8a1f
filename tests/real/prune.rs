//! Does the runtime run what is left of a library?

use std::path::{Path, PathBuf};

use crate::embed::built;
use crate::installation::Installation;
use crate::tool::{images_of, inspect, tool};
use crate::world::{WINDOW, succeed, world};

fn pruned(input: &Path, name: &str, more: &[&str]) -> PathBuf {
    let output = input.with_file_name(name);
    succeed(tool().arg("prune").arg(input).arg("-o").arg(&output).args(more));
    output
}

#[test]
fn native_code_alone_runs_and_without_it_all_is_as_before() {
    let (_folder, native) = built(&world().window(), &[]);
    let alone = pruned(&native, "alone.so", &["--drop", "spir64"]);
    assert!(images_of(&inspect(&alone), "spir64").is_empty());
    let trace = Installation::with(&[(WINDOW, &alone)]).trace_windows();
    assert_eq!((trace.il_programs, trace.from_il.len()), (0, 0), "{trace:?}");
    assert!(trace.binary_programs >= 5, "{trace:?}");

    let undone = pruned(&native, "undone.so", &["--keep", "spir64"]);
    assert!(std::fs::read(undone).unwrap() == std::fs::read(world().window()).unwrap());
}

/// A library without some of its images, in place, and then with them from files again.
#[test]
fn what_was_taken_out_and_put_in_again_runs() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("window.so");
    std::fs::copy(world().window(), &original).unwrap();
    let images = folder.path().join("images");
    succeed(tool().arg("extract").arg(&original).arg("-o").arg(&images).args(["--image", "0-9"]));
    let fewer = pruned(&original, "fewer.so", &["--image", "0-9", "--lose-kernels"]);
    let again = folder.path().join("again.so");
    succeed(tool().arg("embed").arg(&fewer).arg(images.join("images.table")).arg("-o").arg(&again));
    let file = inspect(&again);
    assert_eq!(images_of(&file, "spir64").len(), 20);
    let trace = Installation::with(&[(WINDOW, &again)]).trace_windows();
    assert!(trace.il_programs >= 5 && trace.from_il.len() >= 5, "{trace:?}");
}

/// Code for a CPU, which shares its source's tables, and for a GPU, which has its own, is built in turns with pruning: the file
/// grows by no more than a copy of its relocations, the runtime runs what is in it, and nothing is restored that is not whole.
#[test]
fn turns_of_building_and_pruning_run_and_are_not_restored_by_halves() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let built = |from: &Path, name: &str, target: &str| {
        succeed(tool().arg("build").arg(from).args(["-t", target, "--jobs", "2", "-o"]).arg(at(name)));
        at(name)
    };
    let size = |file: &Path| std::fs::metadata(file).unwrap().len();
    let original = world().window();
    let both = built(&built(&original, "gpu.so", "intel_gpu_pvc"), "both.so", "spir64_x86_64");
    let back = pruned(&both, "back.so", &["--restore"]);
    assert!(std::fs::read(back).unwrap() == std::fs::read(&original).unwrap());

    let bytes = std::fs::read(&both).unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    let relocations = elf.dynamic.unwrap().info.relasz as u64;
    let (first, mut turned) = (size(&both), both);
    let tests = ["dpnp.tests.test_window"];
    for turn in 0..3 {
        let fewer = pruned(&turned, &format!("fewer{turn}.so"), &["--image", "0"]);
        let gpu = built(&fewer, &format!("gpu{turn}.so"), "intel_gpu_pvc");
        turned = built(&gpu, &format!("both{turn}.so"), "spir64_x86_64");
        for file in [&fewer, &gpu, &turned] {
            assert!(size(file) <= first + relocations + (16 << 10), "{} of {first}: {}", size(file), file.display());
        }
        let report = inspect(&turned);
        let counts = ["spir64", "spir64_gen", "spir64_x86_64"].map(|target| images_of(&report, target).len());
        assert_eq!(counts, [19 - turn, 20, 20]);
    }
    let (outcomes, trace) = Installation::with(&[(WINDOW, &turned)]).run_tests(&tests);
    assert!(outcomes.len() == 84 && outcomes.values().all(|outcome| outcome == "passed"), "{outcomes:?}");
    assert!(trace.binary_programs >= 5, "{trace:?}");

    let restored = at("restored.so");
    let refused = tool().arg("prune").arg(&turned).args(["--restore", "-o"]).arg(&restored).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), restored.exists()), (Some(2), false), "{said}");
    assert!(said.contains("3 of its own images went") && said.contains("3 kernels would be in no image"), "{said}");
    let fewer = pruned(&turned, "restored.so", &["--restore", "--lose-kernels"]);
    assert_eq!(inspect(&fewer)["images"].as_array().unwrap().len(), 17);
    let trace = Installation::with(&[(WINDOW, &pruned(&turned, "native.so", &["--drop", "spir64"]))]).trace_windows();
    assert_eq!((trace.il_programs, trace.from_il.len()), (0, 0), "{trace:?}");

    // A stripped file keeps for its own what was added, and goes on being built from and pruned.
    for (number, program) in
        [["strip"].as_slice(), &["llvm-strip"], &["patchelf", "--set-rpath", "/a/longer/path"]].iter().enumerate()
    {
        let copy = at(&format!("stripped{number}.so"));
        std::fs::copy(&turned, &copy).unwrap();
        succeed(std::process::Command::new(program[0]).args(&program[1..]).arg(&copy));
        let fewer = pruned(&copy, &format!("after{number}.so"), &["--image", "0"]);
        let again = built(&fewer, &format!("again{number}.so"), "spir64_x86_64");
        let counts = ["spir64", "spir64_gen", "spir64_x86_64"].map(|target| images_of(&inspect(&again), target).len());
        assert_eq!(counts, [16, 20, 20], "{program:?}");
        let (outcomes, _) = Installation::with(&[(WINDOW, &again)]).run_tests(&tests);
        assert!(outcomes.len() == 84 && outcomes.values().all(|outcome| outcome == "passed"), "{outcomes:?}");
        let refused = tool().arg("prune").arg(&again).args(["--restore", "-o"]).arg(&restored).output().unwrap();
        assert_ne!(refused.status.code(), Some(0), "{}", String::from_utf8_lossy(&refused.stderr));
    }
}
