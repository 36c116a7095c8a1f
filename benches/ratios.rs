//! How does the tool's speed compare with what one would use instead, on this machine, now?
//!
//! `cargo bench --bench ratios [start|inspect|libraries|facts|aspects|kernels|gate|build|offline|link|split]` prints the
//! versions of what is compared, and ratios of medians (`libraries`, which fetches 0.7 GB, where it is named); contenders take turns, so that whatever else the machine does falls on both.
//! Times differ by machine and say little; nothing here fails because of one. What readers execute is counted, and held
//! to what it was, by `tests/real/instructions.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, reason = "the table is the result")]

#[path = "ratios/modules.rs"]
mod modules;
#[path = "ratios/offline.rs"]
mod offline;
#[path = "ratios/start.rs"]
mod start;
/// Part of the tests' support that `world` needs.
#[path = "../tests/support"]
#[allow(dead_code, reason = "not all of it is used here")]
mod support {
    pub mod tools;
}
#[path = "../tests/real/world.rs"]
#[allow(dead_code, reason = "not all of the installation is used here")]
mod world;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sycl_bundle::bundle::Bundle;
use sycl_bundle::compat::aspects::Code;
use sycl_bundle::container::Host;
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::index::Index;
use world::{scripts, succeed, world};

/// One side of a comparison: its name and what it does once.
type Contender<'a> = (&'a str, Box<dyn FnMut() + 'a>);

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wants = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    start::peers();
    println!("{:40} {:>10}   {:40} {:>10}   {:>5}  target", "ours", "median", "instead", "median", "ratio");
    if wants("start") {
        start::start();
    }
    if wants("inspect") {
        inspect();
    }
    if wanted.as_deref() == Some("libraries") {
        libraries();
    }
    if wants("facts") {
        facts();
    }
    if wants("aspects") {
        aspects();
    }
    if wants("link") {
        modules::linking();
    }
    if wants("kernels") {
        kernels();
    }
    if wants("gate") {
        gate();
    }
    if wants("build") {
        build();
    }
    if wants("offline") {
        offline::offline();
    }
    if wants("split") {
        modules::split();
    }
}

fn tool() -> Command {
    world().command(env!("CARGO_BIN_EXE_sycl-bundle"))
}

/// Everything about 4,642 images against a list of the sections they lie in.
fn inspect() {
    let file = world().site_packages().join("dpnp/tensor/_tensor_impl.cpython-311-x86_64-linux-gnu.so");
    let bundler = offload_bundler();
    compare(
        15,
        0.5,
        ("inspect --format json", Box::new(|| run(tool().arg("inspect").arg(&file).args(["--format", "json"])))),
        (
            "clang-offload-bundler --list",
            Box::new(|| {
                run(Command::new(&bundler).args(["--list", "--type=o"]).arg(format!("--input={}", file.display())));
            }),
        ),
    );
}

/// Images of two large libraries against the same list: oneCCL's 10,154 modules, and 719 archives for three GPUs with their
/// modules in a file of 2.16 GiB.
fn libraries() {
    let root = std::env::var_os("SYCL_BUNDLE_PACKAGES").map_or_else(|| world().root().to_owned(), PathBuf::from);
    let output = succeed(Command::new("python3").arg(scripts().join("fetch.py")).arg("--packages").arg(root));
    let packages = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let bundler = offload_bundler();
    let folder = tempfile::tempdir().unwrap();
    for (package, library, target) in [
        ("oneccl-2022.2.0", "libccl.so.1.0", 0.5),
        ("intel_extension_for_tensorflow_lib-2.15", "libitex_gpu_internal.so", 0.3),
    ] {
        let mut wheels = std::fs::read_dir(&packages).unwrap().map(|entry| entry.unwrap().path());
        let of_package = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(package) && name.contains("manylinux")
        };
        let wheel = wheels.find(of_package).expect("the wheel is among those that are fetched");
        let unpack = "import shutil, sys, zipfile\nwheel = zipfile.ZipFile(sys.argv[1])\n\
                      name = next(name for name in wheel.namelist() if name.endswith('/' + sys.argv[2]))\n\
                      shutil.copyfileobj(wheel.open(name), open(sys.argv[3], 'wb'), 1 << 20)";
        let file = folder.path().join(library);
        succeed(Command::new("python3").args(["-c", unpack]).arg(wheel).arg(library).arg(&file));
        compare(
            7,
            target,
            (&format!("inspect {library}"), Box::new(|| run(tool().arg("inspect").arg(&file)))),
            (
                "clang-offload-bundler --list",
                Box::new(|| {
                    run(Command::new(&bundler).args(["--list", "--type=o"]).arg(format!("--input={}", file.display())));
                }),
            ),
        );
    }
}

/// The SPIR-V modules of a library, inflated.
fn modules_of(library: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let contents = bundle.images.iter().map(|image| image.contents().unwrap().into_owned());
    contents.filter(|module| module.starts_with(&0x0723_0203u32.to_le_bytes())).collect()
}

fn tensor() -> PathBuf {
    world().site_packages().join("dpnp/tensor/_tensor_impl.cpython-311-x86_64-linux-gnu.so")
}

/// The facts that `inspect` shows and the whole index, each on one core, against rspirv's parser with a consumer that
/// does nothing.
fn facts() {
    let modules = modules_of(&tensor());
    let bytes: usize = modules.iter().map(Vec::len).sum();
    let megabytes = bytes as f64 / 1e6;
    println!("{} modules, {megabytes:.1} MB", modules.len());
    let parse = |modules: &[Vec<u8>]| {
        for module in modules {
            rspirv::binary::Parser::new(module, &mut Idle).parse().unwrap();
        }
    };
    let each: [Reader; 3] = [
        ("Module::parse (target 200 MB/s)", 0.5, |module| drop(std::hint::black_box(Module::parse(module).unwrap()))),
        ("Index::read", 0.5, |module| drop(std::hint::black_box(Index::read(module).unwrap()))),
        ("Index::read and Code::read", 1.0, |module| {
            drop(std::hint::black_box(Code::read(&Index::read(module).unwrap())));
        }),
    ];
    for (name, target, read) in each {
        let begin = Instant::now();
        modules.iter().for_each(|module| read(module));
        println!("{name}: {:.0} MB/s", megabytes / begin.elapsed().as_secs_f64());
        compare(
            7,
            target,
            (name, Box::new(|| modules.iter().for_each(|module| read(module)))),
            ("rspirv's parser, no consumer", Box::new(|| parse(&modules))),
        );
    }
}

/// A reader of modules: its name, the target of its ratio and what it does with one.
type Reader = (&'static str, f64, fn(&[u8]));

struct Idle;

impl rspirv::binary::Consumer for Idle {
    fn initialize(&mut self) -> rspirv::binary::ParseAction {
        rspirv::binary::ParseAction::Continue
    }
    fn finalize(&mut self) -> rspirv::binary::ParseAction {
        rspirv::binary::ParseAction::Continue
    }
    fn consume_header(&mut self, _: rspirv::dr::ModuleHeader) -> rspirv::binary::ParseAction {
        rspirv::binary::ParseAction::Continue
    }
    fn consume_instruction(&mut self, _: rspirv::dr::Instruction) -> rspirv::binary::ParseAction {
        rspirv::binary::ParseAction::Continue
    }
}

/// Every hundredth module of a library, as files.
fn hundredth(folder: &Path) -> Vec<PathBuf> {
    let modules = modules_of(&tensor());
    let some = modules.iter().step_by(100).enumerate();
    some.map(|(number, module)| {
        let path = folder.join(format!("{number}.spv"));
        std::fs::write(&path, module).unwrap();
        path
    })
    .collect()
}

/// All about the kernels of 4,642 images, against a disassembler on a hundredth of the modules, as for aspects.
fn kernels() {
    let folder = tempfile::tempdir().unwrap();
    let few = hundredth(folder.path());
    for (name, format) in [("kernels", "table"), ("kernels --format json", "json")] {
        compare(
            9,
            1.0,
            (name, Box::new(|| run(tool().arg("kernels").arg(tensor()).args(["--format", format])))),
            (
                "spirv-dis, a hundredth of them",
                Box::new(|| few.iter().for_each(|path| run(Command::new("spirv-dis").arg(path)))),
            ),
        );
    }
}

/// Whether every kernel of dpnp and dpctl runs on every target, against `inspect` on the same files.
fn gate() {
    let of_python = |path: &&PathBuf| path.starts_with(world().site_packages());
    let files: Vec<&PathBuf> = world().fat_libraries().iter().filter(of_python).collect();
    let listed = tool().args(["targets", "--format", "json"]).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names = document["targets"].as_array().unwrap().iter().map(|target| target["name"].as_str().unwrap());
    let all = names.collect::<Vec<_>>().join(",");
    println!("{} files, {} targets", files.len(), all.split(',').count());
    compare(
        9,
        2.0,
        (
            "check -t every target",
            Box::new(|| {
                let mut check = tool();
                check.arg("check").args(&files).args(["-t", &all]);
                let status = check.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
                assert_eq!(status.code(), Some(1));
            }),
        ),
        ("inspect", Box::new(|| run(tool().arg("inspect").args(&files)))),
    );
}

/// Aspects with evidence for every kernel of 4,642 images, against a disassembler on a hundredth of the modules: its time
/// for all is at least a hundred times that, so the target of a hundredth is a ratio of 1.
fn aspects() {
    let folder = tempfile::tempdir().unwrap();
    let few = hundredth(folder.path());
    compare(
        7,
        1.0,
        (
            "check --declared, every image",
            Box::new(|| {
                let mut check = tool();
                check.arg("check").arg(tensor()).args(["--declared", "", "--format", "json"]);
                let status = check.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
                assert_eq!(status.code(), Some(1));
            }),
        ),
        (
            "spirv-dis, a hundredth of them",
            Box::new(|| few.iter().for_each(|path| run(Command::new("spirv-dis").arg(path)))),
        ),
    );
}

/// Two hundred modules by two workers against one loop in C.
fn build() {
    let folder = tempfile::tempdir().unwrap();
    // Not of the sorting library: some of its modules end the driver's process, and with it the loop.
    let library = world().site_packages().join("dpnp/tensor/_tensor_elementwise_impl.cpython-311-x86_64-linux-gnu.so");
    succeed(tool().arg("extract").arg(&library).arg("-o").arg(folder.path().join("all")));
    let mut modules: Vec<PathBuf> = std::fs::read_dir(folder.path().join("all"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "spv"))
        .collect();
    modules.sort();
    // Spread over the library, whose neighbours resemble each other.
    let modules: Vec<PathBuf> = modules.iter().step_by(modules.len() / 200).take(200).cloned().collect();
    let plain = folder.path().join("plain_loop");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plain_loop.c");
    succeed(Command::new("gcc").arg("-O2").arg("-o").arg(&plain).arg(source).arg("-ldl"));

    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    compare(
        3,
        0.6,
        (
            "build, 200 modules, --jobs 2",
            Box::new(|| {
                std::fs::create_dir(&ours).unwrap();
                let mut command = tool();
                command.arg("build").args(&modules).args([
                    "-t",
                    "spir64_x86_64",
                    "--jobs",
                    "2",
                    "--emit",
                    "table",
                    "-o",
                ]);
                run(command.arg(ours.join("out.table")));
                std::fs::remove_dir_all(&ours).unwrap();
            }),
        ),
        (
            "clBuildProgram in one process",
            Box::new(|| {
                let loader = world().root().join("venv/lib/libOpenCL.so.1");
                let output = succeed(world().command(&plain).arg(loader).arg(&theirs).args(&modules));
                assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "200");
            }),
        ),
    );
}

fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{command:?}: {status:?}");
}

fn compare(rounds: usize, target: f64, mut ours: Contender<'_>, mut theirs: Contender<'_>) {
    let mut times = (Vec::new(), Vec::new());
    // The first round warms the page cache and does not count.
    for round in 0..=rounds {
        let (a, b) = (timed(&mut ours.1), timed(&mut theirs.1));
        if round > 0 {
            times.0.push(a);
            times.1.push(b);
        }
    }
    let (a, b) = (median(times.0), median(times.1));
    println!(
        "{:40} {:>10.1?}   {:40} {:>10.1?}   {:>5.2}  <= {target}",
        ours.0,
        a,
        theirs.0,
        b,
        a.as_secs_f64() / b.as_secs_f64()
    );
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// LLVM's bundler, wherever the distribution put it: the newest.
fn offload_bundler() -> PathBuf {
    let name = "clang-offload-bundler";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    let packaged = (10..40).rev().map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin")).join(name));
    on_path.chain(packaged).find(|path| path.exists()).unwrap_or_else(|| panic!("no {name}: install package clang"))
}
