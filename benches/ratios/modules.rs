//! How fast are modules taken apart and put together?

use std::path::PathBuf;
use std::process::{Command, Stdio};

use sycl_bundle::compat::aspects::Code;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::link::{Options, Source, link};
use sycl_bundle::spirv::subset::{Cutter, Keep};

use crate::{compare, modules_of, run, tensor, tool};

/// A linked module of 3,700 kernels taken apart by kernel, against reading it; and small modules against the one tool that
/// leaves out what entry points do not reach, which takes a process for each. Nothing else splits SPIR-V. Ours are written to
/// one file as theirs are: hundreds of new files cost ten times as much as all else on an ext4 where as many were deleted.
pub fn split() {
    let modules = modules_of(&tensor());
    let sources: Vec<Source<'_>> = modules
        .iter()
        .take(3_700)
        .map(|bytes| Source { name: "", bytes, required: None, spec_ids: Default::default(), internal: false })
        .collect();
    let whole = link(&sources, &Options { partial: true }).unwrap_or_else(|errors| panic!("{}", errors[0])).bytes;
    let kernels = Index::read(&whole).unwrap().entry_points.len();
    println!("one module of {:.1} MB, {kernels} kernels", whole.len() as f64 / 1e6);
    let written = std::cell::Cell::new(0usize);
    compare(
        5,
        3.0,
        (
            "a subset for each kernel",
            Box::new(|| {
                let index = Index::read(&whole).unwrap();
                let mut cutter = Cutter::new(&index).unwrap();
                let cut = |place| cutter.cut(&Keep { entry_points: &[place], ids: &[] }).unwrap().len();
                written.set((0..kernels).map(cut).sum());
            }),
        ),
        (
            "Index::read and Code::read",
            Box::new(|| drop(std::hint::black_box(Code::read(&Index::read(&whole).unwrap())))),
        ),
    );
    println!("{:.1} MB written", written.get() as f64 / 1e6);
    by_the_tool();
    let folder = tempfile::tempdir().unwrap();
    let accepted: Vec<PathBuf> = modules
        .iter()
        .step_by(10)
        .enumerate()
        .map(|(number, module)| {
            let path = folder.path().join(format!("{number}.spv"));
            std::fs::write(&path, module).unwrap();
            path
        })
        .filter(|path| {
            let mut command = Command::new("spirv-opt");
            command.arg("--eliminate-dead-functions").arg(path).arg("-o").arg(folder.path().join("probe"));
            command.stderr(Stdio::null()).status().unwrap().success()
        })
        .collect();
    println!("{} modules that spirv-opt accepts", accepted.len());
    compare(
        5,
        0.1,
        (
            "split --mode per_kernel",
            Box::new(|| {
                let mut command = tool();
                run(command
                    .arg("split")
                    .args(&accepted)
                    .args(["--mode", "per_kernel", "--emit", "offload-binary", "-o"])
                    .arg(folder.path().join("ours")));
            }),
        ),
        (
            "spirv-opt --eliminate-dead-functions",
            Box::new(|| {
                for path in &accepted {
                    let mut command = Command::new("spirv-opt");
                    run(command
                        .arg("--eliminate-dead-functions")
                        .arg(path)
                        .arg("-o")
                        .arg(folder.path().join("theirs")));
                }
            }),
        ),
    );
}

/// A quarter, a half and all of a library's images linked to one with its property sets and split again by the tool, into
/// one file, against reading the same: all that `kernels` says of it. A table has three files for each kernel, of which
/// the file system takes its share.
fn by_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let count = modules_of(&tensor()).len();
    for share in [4, 2, 1] {
        let linked = folder.path().join(format!("{share}.table"));
        let images = format!("0-{}", count / share - 1);
        run(tool().arg("link").arg(tensor()).args(["--image", &images, "-o"]).arg(&linked));
        println!("1/{share} of {count} images");
        let module = std::fs::metadata(folder.path().join(format!("{share}_0.spv"))).unwrap().len();
        let mut split = tool();
        split.arg("split").arg(&linked).args(["--mode", "per_kernel", "-o"]).arg(folder.path().join("out.table"));
        let times = peak_of(&mut split) as f64 * 1024.0 / module as f64;
        println!("peak memory: {times:.1} times the module of {:.1} MB; asked 4 of one of 17 MB", module as f64 / 1e6);
        compare(
            5,
            3.0,
            (
                "split --mode per_kernel",
                Box::new(|| {
                    let mut command = tool();
                    command.arg("split").arg(&linked).args(["--mode", "per_kernel", "--emit", "offload-binary", "-o"]);
                    run(command.arg(folder.path().join("out.bin")));
                }),
            ),
            ("kernels --format json", Box::new(|| run(tool().arg("kernels").arg(&linked).args(["--format", "json"])))),
        );
    }
}

/// All modules of a library linked to one, against reading them; no other linker takes them.
pub fn linking() {
    let modules = modules_of(&tensor());
    let sources: Vec<Source<'_>> = modules
        .iter()
        .map(|bytes| Source { name: "module", bytes, required: Some(Default::default()), ..Source::default() })
        .collect();
    let (before, bytes) = (peak("self").unwrap(), modules.iter().map(Vec::len).sum::<usize>());
    let linked = link(&sources, &Options::default()).unwrap();
    println!("{} modules of {bytes} bytes to one of {}", modules.len(), linked.bytes.len());
    println!(
        "peak memory: {:.1} times the modules' bytes",
        (peak("self").unwrap() - before) as f64 * 1024.0 / bytes as f64
    );
    drop(linked);
    compare(
        7,
        3.0,
        ("link", Box::new(|| drop(std::hint::black_box(link(&sources, &Options::default()).unwrap())))),
        (
            "Index::read of each",
            Box::new(|| modules.iter().for_each(|module| drop(std::hint::black_box(Index::read(module).unwrap())))),
        ),
    );
}

/// The most memory that a process has had, in KiB; none where it is gone.
fn peak(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Reads the peak memory of a running program.
fn peak_of(command: &mut Command) -> u64 {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let (process, mut most) = (child.id().to_string(), 0);
    while child.try_wait().unwrap().is_none() {
        most = most.max(peak(&process).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success(), "{command:?}");
    most
}
