//! Do Intel's drivers take and refuse native images as coverage says, on every GPU and by both adapters?
//!
//! The driver simulates 17 GPUs; a program asks it by OpenCL and by Level Zero (`takes.c`), which tell native code that is taken from
//! code that is made anew of the SPIR-V inside. The images are code for every GPU by both compilers: alone, with SPIR-V, in archives, of
//! older forms. All are made of one of dpnp's window functions; with SYCL_BUNDLE_WHOLE=1 the tool's own are made of all 20
//! images of that library.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use sycl_bundle::device::simulation::Simulation;
use sycl_bundle::target_table;

use crate::simulated::GPUS;
use crate::support::tools::needed;
use crate::tool::{inspect, tool};
use crate::unstable::intel;
use crate::world::{scripts, succeed, world};

/// GPUs that the oldest compiler knows.
const OLD: [&str; 8] = ["tgllp", "adl-p", "adl-s", "dg1", "dg2-g10", "dg2-g11", "dg2-g12", "pvc"];
/// GPUs for which the newest compiler makes bindless kernels by default.
const BINDLESS: [&str; 6] = ["dg2-g10", "dg2-g11", "dg2-g12", "mtl-u", "mtl-h", "arl-h"];
/// GPUs whose code goes into archives.
const ARCHIVED: &str = "pvc,bmg-g21,dg2-g10,dg1,tgllp";

/// Compiles a module by ocloc itself, with these options, into a file of the folder.
fn compiled(ocloc: &Path, module: &Path, name: &str, options: &[&str]) {
    let mut command = Command::new(ocloc);
    command.args(["compile", "-q", "-spirv_input", "-output_no_suffix", "-out_dir", ".", "-output", name, "-file"]);
    succeed(command.arg(module).args(options).current_dir(module.parent().unwrap()));
    let folder = module.parent().unwrap();
    // Newer ones add a suffix, and leave the module, too.
    let delivered = folder.join(format!("{name}.bin"));
    if delivered.exists() {
        fs::rename(delivered, folder.join(name)).unwrap();
    }
}

/// The native images of a table, by file.
fn of_table(table: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(table).unwrap();
    let files = text.lines().skip(1).filter_map(|line| line.split('|').next());
    files.filter(|file| !file.ends_with(".spv")).map(|file| table.with_file_name(file)).collect()
}

/// Makes the images in a folder.
fn images(folder: &Path, whole: bool) -> Vec<PathBuf> {
    let newest = intel().program("ocloc");
    let mut all = Vec::new();
    let targets: Vec<&str> = GPUS.iter().map(|(gpu, _)| *gpu).collect();
    let every = targets.join(",");
    for (name, targets, form) in
        [("alone", every.as_str(), None), ("bare", ARCHIVED, Some("--archive")), ("ir", ARCHIVED, Some("--archive=ir"))]
    {
        let table = folder.join(format!("{name}.table"));
        let mut build = tool();
        build.arg("build").arg(world().window()).args([
            "-t",
            targets,
            "--no-cache",
            "--no-fold",
            "--emit",
            "table",
            "-o",
        ]);
        build.arg(&table).arg("--ocloc").arg(&newest).args(form);
        let one = ["--kernel", "*HanningFunctor<*"];
        succeed(build.args(if whole { &[][..] } else { &one }));
        all.extend(of_table(&table));
    }
    let module = folder.join("one.spv");
    let mut extract = tool();
    extract.arg("extract").arg(world().window()).args(["--kernel", "*HanningFunctor<float>", "--state", "input"]);
    succeed(extract.arg("-o").arg(&module));
    let mut made = |ocloc: &Path, name: String, options: &[&str]| {
        for (suffix, more) in [("", &["-exclude_ir"][..]), (".ir", &[])] {
            let name = format!("{name}{suffix}.native");
            compiled(ocloc, &module, &name, &[options, more].concat());
            all.push(folder.join(name));
        }
    };
    for gpu in targets {
        if BINDLESS.contains(&gpu) {
            made(&newest, format!("bindful-{gpu}"), &["-device", gpu, "-stateful_address_mode", "bindful"]);
        }
        made(&newest, format!("new-{gpu}"), &["-device", gpu]);
    }
    made(&newest, "new-archive".to_owned(), &["-device", ARCHIVED]);
    let oldest = Path::new("ocloc");
    for gpu in OLD {
        made(oldest, format!("old-{gpu}"), &["-device", gpu]);
        made(oldest, format!("old-zebin-{gpu}"), &["-device", gpu, "--format", "zebin"]);
    }
    made(oldest, "old-archive".to_owned(), &["-device", "pvc,dg1,dg2-g10"]);
    all
}

/// The driver's answers about images, on a simulated GPU.
fn answers(program: &Path, gpu: &str, (adapter, loader): (&str, &str), images: &[PathBuf]) -> Vec<String> {
    let simulation = Simulation::find(gpu, target_table()).unwrap();
    let mut asked = intel().run(program);
    asked.args([adapter, loader]).envs(simulation.environment.iter().map(|(name, value)| (name, value)));
    let mut child = asked.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut paths = child.stdin.take().unwrap();
    let list: String = images.iter().map(|image| format!("{}\n", image.display())).collect();
    let writer = std::thread::spawn(move || paths.write_all(list.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{gpu} by {adapter}: {}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn drivers_take_what_coverage_says() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::env::var_os("SYCL_BUNDLE_WHOLE").is_some();
    let images = images(folder.path(), whole);
    let table = folder.path().join("all.table");
    let mut rows = "[Code|Properties]\n".to_owned();
    for image in &images {
        // Requirements of an image stand in its properties; ocloc makes none.
        let properties = image.with_extension("prop");
        if !properties.exists() {
            fs::write(&properties, "").unwrap();
        }
        rows += &format!("{}|{}\n", image.file_name().unwrap().display(), properties.file_name().unwrap().display());
    }
    fs::write(&table, rows).unwrap();
    let report = inspect(&table);
    let told = report["images"].as_array().unwrap();
    assert_eq!(told.len(), images.len());
    let program = folder.path().join("takes");
    succeed(needed("gcc").arg("-o").arg(&program).arg(scripts().join("takes.c")).arg("-ldl"));
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (gpu, target) in GPUS {
        let facts: Value =
            serde_json::from_slice(&succeed(tool().args(["targets", target, "--format", "json"])).stdout).unwrap();
        let aspects = facts["targets"][0]["aspects"].as_array().unwrap();
        for adapter in [("opencl", "libOpenCL.so.1"), ("level_zero", "libze_loader.so.1")] {
            let answers = answers(&program, gpu, adapter, &images);
            assert_eq!(answers.len(), images.len(), "{gpu} by {}", adapter.0);
            for ((image, told), answer) in images.iter().zip(told).zip(answers) {
                let newest = &told["newest_coverage"][adapter.0];
                let coverage = if newest.is_null() { &told["coverage"] } else { newest };
                // Where SPIR-V is compiled anew, the GPU's compiler has to be able to.
                let required = told["requirements"]["aspects"].as_array().unwrap();
                let able = required.iter().all(|aspect| aspects.contains(aspect));
                let expected = coverage[target].as_str().filter(|way| *way != "jit" || able).unwrap_or("none");
                if expected != answer {
                    let name = image.file_name().unwrap().to_string_lossy();
                    wrong.push(format!("{name} on {gpu} by {}: {answer}, coverage says {expected}", adapter.0));
                }
                *counts.entry((adapter.0, answer)).or_default() += 1;
            }
        }
    }
    let asked: usize = counts.values().sum();
    println!("{} images, {asked} answers, {} wrong: {counts:?}", images.len(), wrong.len());
    assert!(wrong.is_empty(), "{} of {asked} answers, {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
    // Each adapter gives each answer many times.
    assert!(counts.len() == 6 && counts.values().all(|count| *count > 50), "{counts:?}");
}
