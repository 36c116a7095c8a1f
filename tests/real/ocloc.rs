//! Does Intel's compiler for GPUs refuse, for one without double precision, the kernels that need fp64 and no others?
//!
//! `ocloc` compiles without a device at hand (Debian's package intel-opencl-icd). DG1 has no double precision and ocloc does
//! not emulate it unless asked to; it says why it refuses, and names the kernels. Gen9 has double precision: what DG1 is
//! refused has to compile there, or else the refusal has another cause. No GPU that ocloc knows lacks half precision, so that
//! fp16 cannot be judged this way.

use crate::support::tools::needed;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::compat::aspects::{Aspect, Code, Graph};
use sycl_bundle::compat::examine::examine;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::{self, Demand, Gate};
use sycl_bundle::container::Host;
use sycl_bundle::demangle::demangle;
use sycl_bundle::device;
use sycl_bundle::spirv::index::Index;

use crate::compiler::compiled;
use crate::corpus_aspects::{codes, in_source};
use crate::tool::tool;
use crate::world::{succeed, world};

const WITHOUT: &str = "dg1";
const WITH: &str = "skl";
const REFUSAL: &str = "Double type is not supported on this platform";

/// Result of ocloc for a module.
enum Verdict {
    Accepted,
    /// For want of double precision; the kernels that it names, as [`plain`], where it names them: not where the double is in
    /// a function that is called through a pointer.
    Refused(Option<BTreeSet<String>>),
    /// For another reason: its words. Explicit-SIMD kernels are among these, since they need more than either GPU has.
    Other(String),
}

fn compile(module: &[u8], device: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("module.spv");
    std::fs::write(&file, module).unwrap();
    let mut command = needed("ocloc");
    command.args(["compile", "-spirv_input", "-device", device, "-output_no_suffix", "-file"]).arg(&file);
    // ocloc writes the errors of an explicit-SIMD kernel into its working folder.
    let output = command.current_dir(folder.path()).arg("-out_dir").arg(folder.path()).output();
    let output = output.unwrap_or_else(|error| panic!("ocloc (package intel-opencl-icd): {error}"));
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    if output.status.success() {
        assert!(said.contains("Build succeeded"), "{said}");
        return Verdict::Accepted;
    }
    // Each error is followed by where it is: a kernel, or a function and the kernels that call it.
    let mut errors = said.lines().filter_map(|line| line.strip_prefix("error: "));
    if !errors.all(|error| error.starts_with(REFUSAL) || error.starts_with("backend compiler failed build"))
        || !said.contains(REFUSAL)
    {
        return Verdict::Other(said);
    }
    let name = |line: &str| line.trim().strip_prefix('\'')?.strip_suffix('\'').map(plain);
    let named = said.lines().filter_map(|line| line.strip_prefix("in kernel: ").or(line.trim().strip_prefix("- ")));
    let indirectly = said.contains("called indirectly by at least one of the kernels");
    Verdict::Refused((!indirectly).then(|| named.filter_map(name).collect()))
}

/// A demangled name without what demanglers differ in: how they write the class of a lambda.
fn plain(name: &str) -> String {
    name.trim_start_matches("typeinfo name for ").replace("#1", "").replace(['{', '}', '\''], "")
}

/// A module of a library with what is known of it.
struct Candidate {
    name: String,
    module: Vec<u8>,
    /// Answer of the tool: some kernel needs fp64.
    needs: bool,
    /// Declaration of the module, which the compiler recorded.
    declares: bool,
    recorded: bool,
}

/// The images of a library that ocloc can compile: SPIR-V with kernels and without imports.
fn candidates(library: &Path) -> Vec<Candidate> {
    const FLOAT64: u32 = 10;
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images = bundle.images.par_iter().filter_map(|image| {
        let module = image.contents().ok().filter(|module| module.starts_with(&[3, 2, 0x23, 7]))?.into_owned();
        if !image.imports().is_empty() {
            return None;
        }
        let index = Index::read(&module).unwrap();
        let codes = [Code::read(&index)];
        let graph = Graph::link(&codes);
        let kernels: Vec<_> =
            graph.kernels().map(|(module, kernel)| graph.used(module, kernel.node.unwrap())).collect();
        let (declares, needs) =
            (index.capabilities.contains(&FLOAT64), kernels.iter().any(|used| used.contains(&Aspect::Fp64)));
        (!kernels.is_empty()).then(|| Candidate {
            name: format!("{} image {}", library.file_name().unwrap().display(), image.index),
            needs,
            declares,
            recorded: Requirements::read(image, bundle.epoch).aspects.iter().any(|aspect| aspect == "fp64"),
            module,
        })
    });
    images.collect()
}

/// `count` of the items, evenly spread.
fn spread<T>(items: Vec<T>, count: usize) -> Vec<T> {
    let all = items.len();
    let chosen = |at: &usize| at * count / all.max(1) != (at + 1) * count / all.max(1) || count >= all;
    items.into_iter().enumerate().filter(|(at, _)| chosen(at)).map(|(_, item)| item).collect()
}

#[test]
fn kernels_of_libraries_need_fp64_where_ocloc_refuses_them() {
    // The whole judgement is of 500 kernels; SYCL_BUNDLE_OCLOC_KERNELS=500 repeats it.
    let count = std::env::var("SYCL_BUNDLE_OCLOC_KERNELS").map_or(120, |count| count.parse().unwrap());
    let all: Vec<Candidate> = world().fat_libraries().iter().flat_map(|library| candidates(library)).collect();
    // Where the three answers are not one there is most to learn; of the others as many with double as without.
    let (odd, plain): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| !(one.needs == one.declares && one.needs == one.recorded));
    let (with, without): (Vec<_>, Vec<_>) = plain.into_iter().partition(|one| one.needs);
    let odd = spread(odd, count / 4);
    let rest = count + count / 10 - odd.len();
    let chosen: Vec<_> =
        [odd, spread(with, rest.div_ceil(2)), spread(without, rest / 2)].into_iter().flatten().collect();
    let verdicts: Vec<_> = chosen.par_iter().map(|one| compile(&one.module, WITHOUT)).collect();
    let (mut refused, mut accepted, mut odd, mut other, mut wrong) = (0, 0, 0, Vec::new(), Vec::new());
    for (one, verdict) in chosen.iter().zip(&verdicts) {
        match verdict {
            Verdict::Other(said) => {
                other.push(format!("{}: {said}", one.name));
                continue;
            }
            Verdict::Accepted => accepted += 1,
            Verdict::Refused(_) => refused += 1,
        }
        odd += usize::from(one.needs != one.declares || one.needs != one.recorded);
        if one.needs != matches!(verdict, Verdict::Refused(_)) {
            wrong.push(format!(
                "{}: needs fp64 {}, declares it {}, recorded {}; ocloc says otherwise",
                one.name, one.needs, one.declares, one.recorded
            ));
        }
    }
    // The refusal is for the want of double precision, and nothing else.
    let controls: Vec<_> =
        chosen.par_iter().zip(&verdicts).filter(|(_, verdict)| matches!(verdict, Verdict::Refused(_))).collect();
    let control = |(one, _): &(&Candidate, &Verdict)| match compile(&one.module, WITH) {
        Verdict::Accepted => None,
        _ => Some(format!("{}: is refused for {WITH} too", one.name)),
    };
    wrong.extend(controls.par_iter().filter_map(control).collect::<Vec<_>>());
    println!(
        "{refused} refused, {accepted} accepted, {odd} of both where the answers differ, {} not judged",
        other.len()
    );
    println!("{}", other.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        refused + accepted >= count && refused >= count * 2 / 5 && accepted >= count * 2 / 5,
        "too few were judged"
    );
}

/// GPUs that Debian's ocloc knows, by their names as targets; it is older than Meteor Lake.
const GPUS: [(&str, &str); 8] = [
    ("acm-g10", "intel_gpu_acm_g10"),
    ("pvc", "intel_gpu_pvc"),
    ("dg1", "intel_gpu_dg1"),
    ("tgllp", "intel_gpu_tgllp"),
    ("adl-p", "intel_gpu_adl_p"),
    ("icllp", "intel_gpu_icllp"),
    ("skl", "intel_gpu_skl"),
    ("kbl", "intel_gpu_kbl"),
];

/// The gate says of a GPU that some kernel of an image cannot run there if and only if the compiler refuses the image.
/// `SYCL_BUNDLE_OCLOC_KERNELS=600` judges 600 on each GPU, which takes hours.
#[test]
fn the_gate_refuses_what_ocloc_refuses() {
    let count = std::env::var("SYCL_BUNDLE_OCLOC_KERNELS").map_or(36, |count| count.parse().unwrap());
    let all: Vec<Candidate> = world().fat_libraries().iter().flat_map(|library| candidates(library)).collect();
    let (with, without): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.needs);
    let chosen: Vec<Candidate> =
        [spread(with, count / 2), spread(without, count.div_ceil(2))].into_iter().flatten().collect();
    let (mut judged, mut refused, mut wrong) = (0, 0, Vec::new());
    let asked: Vec<_> = chosen.iter().flat_map(|one| GPUS.iter().map(move |gpu| (one, gpu))).collect();
    let verdicts: Vec<_> = asked.par_iter().map(|(one, (device, _))| compile(&one.module, device)).collect();
    for ((one, (device, target)), verdict) in asked.iter().zip(verdicts) {
        let refuses = match verdict {
            Verdict::Accepted => false,
            Verdict::Refused(_) => true,
            Verdict::Other(said) => {
                println!("{} on {device}: not judged: {said}", one.name);
                continue;
            }
        };
        let host = Host::read(&one.module).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let images = examine(&bundle);
        let codes = gate::codes(&images);
        let gate = Gate::new(&images, &codes, |_| true);
        let found = gate.judge(&Subject::new(device::table().target(target).unwrap()), &Demand::default());
        let reasons: Vec<&str> =
            found.findings().filter(|one| one.finding.certain).map(|one| one.finding.message.as_str()).collect();
        judged += 1;
        refused += usize::from(refuses);
        if refuses == reasons.is_empty() {
            wrong.push(format!("{} on {device}: ocloc refuses {refuses}, the gate says {reasons:?}", one.name));
        }
    }
    println!("{judged} judged, {refused} of them refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged >= count * GPUS.len() * 9 / 10 && refused >= judged / 8, "too few were judged");
}

/// A source may say `// ocloc accepts: KERNEL`, and why: of a kernel that needs fp64 by the compiler's rules.
#[test]
fn kernels_of_our_sources_need_fp64_where_ocloc_names_them() {
    // ocloc is older here than the debug information of today's compilers.
    let optimised: Vec<_> = compiled().iter().filter(|one| one.optimised()).collect();
    let judged: Vec<_> = optimised
        .par_iter()
        .flat_map(|one| one.images.par_iter().enumerate().map(move |(module, made)| (one, module, made)))
        .filter(|(_, _, made)| !made.names("SYCL/kernel names").is_empty())
        .map(|(one, module, made)| {
            let codes = codes(one);
            let graph = Graph::link(&codes);
            let of_image = graph.kernels().filter(|(of, _)| *of == module);
            let wide = of_image.filter(|(_, kernel)| graph.used(module, kernel.node.unwrap()).contains(&Aspect::Fp64));
            let needs: BTreeSet<String> = wide.map(|(_, kernel)| plain(&demangle(&kernel.name))).collect();
            (one, needs, compile(&made.module, WITHOUT))
        })
        .collect();
    let (mut refused, mut accepted, mut other, mut wrong) = (0, 0, 0, Vec::new());
    for (one, mut needs, verdict) in judged {
        let stated = one.text.lines().filter_map(|line| line.strip_prefix("// ocloc accepts: "));
        let stated: BTreeSet<&str> = stated.collect();
        needs.retain(|kernel| !stated.contains(in_source(kernel)));
        match verdict {
            Verdict::Other(said) => {
                println!(
                    "{}: not judged: {}",
                    one.label(),
                    said.lines().find(|line| line.len() > 8).unwrap_or_default()
                );
                other += 1;
            }
            Verdict::Accepted if needs.is_empty() => accepted += 1,
            Verdict::Refused(None) if !needs.is_empty() => refused += 1,
            Verdict::Refused(Some(named)) if named == needs => refused += needs.len(),
            Verdict::Accepted => wrong.push(format!("{}: {needs:?} need fp64, and ocloc takes them", one.label())),
            Verdict::Refused(named) => {
                wrong.push(format!("{}: {needs:?} need fp64, and ocloc refuses {named:?}", one.label()));
            }
        }
    }
    println!("{refused} kernels refused by name, {accepted} images accepted, {other} not judged");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused >= 30 && accepted >= 60, "too few were judged");
}

/// The graphics compiler writes `KERNEL.errors.txt` to the folder that it works in, which is not the user's.
#[test]
fn a_kernel_that_the_graphics_compiler_gives_up_leaves_no_file() {
    let (folder, configs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = world().root().join("venv/lib/libmkl_sycl_blas.so.6");
    // The image's loads are for newer GPUs: only a target that says so of itself lets ocloc meet them on this one.
    let config = configs.path().join("other.yaml");
    std::fs::write(&config, "other_gpu:\n  like: intel_gpu_pvc\n  aot-toolchain-ocloc-device: skl\n").unwrap();
    let mut build = tool();
    build.current_dir(folder.path()).arg("build").arg(library).args(["--image", "1143", "-t", "other_gpu"]);
    let output =
        build.arg("--device-config").arg(config).args(["--retries", "0", "-o", "out/out.table"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("LLVM ERROR") && said.contains("died of SIGABRT"), "{said}");
    assert!(!said.contains("attempts"), "{said}");
    assert!(said.contains("crashed on this module (SPIR-V 1.4, ") && said.contains("try a newer one"), "{said}");
    let names = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(folder.path()), ["out"]);
}

/// Key of the cache of GPU binaries: without IGC's file a new one would be given what an old one made.
#[test]
fn doctor_names_the_library_and_its_graphics_compiler() {
    let output = Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(["doctor", "--format", "json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ocloc = &told["ocloc"];
    let igc = Path::new(ocloc["igc"].as_str().unwrap_or_else(|| panic!("{ocloc:#}")));
    assert!(igc.is_file() && igc.file_name().unwrap().to_str().unwrap().starts_with("libigc.so."), "{}", igc.display());
    assert!(ocloc["files"].as_array().unwrap().contains(&ocloc["igc"]), "{ocloc:#}");
    let version = ocloc["igc_version"].as_str().unwrap();
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
}

/// The graphics compiler is a package of its own, which is updated alone.
#[test]
fn libraries_of_a_program_count() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let own = std::fs::canonicalize("/usr/lib/x86_64-linux-gnu/libigc.so.1").unwrap();
    std::fs::create_dir(at("lib")).unwrap();
    std::fs::copy(own, at("lib/libigc.so.1")).unwrap();
    let script = format!("#!/bin/sh\nLD_LIBRARY_PATH='{}' exec ocloc \"$@\"\n", at("lib").display());
    std::fs::write(at("compiler"), script).unwrap();
    std::fs::set_permissions(at("compiler"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(at("m.spv"), crate::support::spirv::module("add_one")).unwrap();
    let cached = || {
        let mut build = tool();
        build.current_dir(folder.path()).env("SYCL_BUNDLE_CACHE_DIR", at("cache"));
        build.args(["build", "m.spv", "-t", "intel_gpu_dg1", "--ocloc"]).arg(at("compiler"));
        let done = succeed(build.args(["-o", "o.table", "--format", "json"]));
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        (report["compiled"].as_u64(), report["cached"].as_u64())
    };
    assert_eq!([cached(), cached()], [(Some(1), Some(0)), (Some(1), Some(1))]);
    let library = std::fs::OpenOptions::new().append(true).open(at("lib/libigc.so.1"));
    library.unwrap().write_all(&[0]).unwrap();
    assert_eq!([cached(), cached()], [(Some(1), Some(0)), (Some(1), Some(1))]);
}
