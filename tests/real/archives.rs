//! Are archives for several GPUs those that `ocloc -device A,B` writes?

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::tool::{inspect, tool};
use crate::unstable::intel;
use crate::world::{WINDOW, succeed, world};

/// A module of dpnp without options, which ocloc compiles alike alone and with others.
fn module(folder: &std::path::Path) -> PathBuf {
    let library = world().site_packages().join("dpnp").join(WINDOW);
    succeed(tool().args(["extract", "--emit", "spirv", "--image", "1", "-o"]).arg(folder.join("m.spv")).arg(library));
    folder.join("m.spv")
}

#[test]
fn the_bytes_are_those_of_ocloc() {
    let newest = intel().program("ocloc");
    let folder = tempfile::tempdir().unwrap();
    let module = module(folder.path());
    for (form, flags) in [("native", &["-exclude_ir"][..]), ("ir", &[])] {
        let mut theirs = Command::new(&newest);
        theirs.args(["compile", "-q", "-spirv_input", "-device", "pvc,bmg-g21", "-output", form, "-file"]).arg(&module);
        succeed(theirs.args(flags).arg("-out_dir").arg(folder.path()));
        let table = folder.path().join(format!("{form}.table"));
        let mut ours = tool();
        ours.arg("build").arg(&module).args(["-t", "pvc,bmg-g21", "--no-cache", "--ocloc"]).arg(&newest);
        succeed(ours.arg(format!("--archive={form}")).arg("-o").arg(&table));
        let archives: Vec<Vec<u8>> =
            (0..4).filter_map(|number| std::fs::read(folder.path().join(format!("{form}_{number}.ar"))).ok()).collect();
        // One image for all GPUs, or one for each of two.
        assert_eq!(archives.len(), if form == "ir" { 1 } else { 2 });
        let theirs = std::fs::read(folder.path().join(form)).unwrap();
        assert!(archives.iter().all(|archive| *archive == theirs), "{form}");
        // Alone it is one image, that a GPU which is not named runs from its SPIR-V.
        let images = inspect(&folder.path().join(form))["images"].take();
        let [image] = images.as_array().unwrap().as_slice() else { panic!("{images}") };
        assert_eq!((&image["format"], &image["coverage"]["intel_gpu_pvc"]), (&"ar".into(), &"native".into()));
        let other = if form == "ir" { Value::from("jit") } else { Value::Null };
        assert_eq!(image["coverage"]["intel_gpu_dg1"], other, "{form}");
    }
}
