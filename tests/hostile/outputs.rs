//! Which files of the user, or of the command itself, would an output replace?

use super::program::{said, tool};
use super::recorded::module;
use super::support::folder::Folder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use zip::write::{SimpleFileOptions, ZipWriter};

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(files(&path)),
            kind if kind.is_file() => _ = all.insert(path.clone(), std::fs::read(path).unwrap()),
            _ => {}
        }
    }
    all
}

/// Asserts that a call is refused, says so, and changes nothing.
fn refused(folder: &Folder, call: &str, word: &str) {
    let before = files(folder.path());
    let done = tool(folder, call.split(' '));
    assert_eq!(done.status.code(), Some(2), "{call}: {}", said(&done));
    assert!(said(&done).contains(word), "{call}: {}", said(&done));
    assert!(files(folder.path()) == before, "{call} changed files");
}

fn done(folder: &Folder, call: &str) -> String {
    let done = tool(folder, call.split(' '));
    assert_eq!(done.status.code(), Some(0), "{call}: {}", said(&done));
    said(&done)
}

/// Names in a folder.
fn names(folder: &Folder, below: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path().join(below)).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn modules(folder: &Folder, names: &[&str]) {
    for name in names {
        let kernel = name.rsplit('/').next().unwrap().trim_end_matches(".spv");
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        folder.put(name, module(kernel, 0));
    }
}

/// Puts a compiler into a folder that compiles nothing, and gives the option that names it.
pub fn ocloc(folder: &Folder) -> &'static str {
    let script = "#!/bin/sh\n[ $1 != query ] || printf 99.1 > OCL_DRIVER_VERSION\n";
    folder.file("ocloc", script.as_bytes());
    "--ocloc ./ocloc"
}

/// Property sets that no GPU's kernels can satisfy: a work-group of 16,777,216.
const TOO_LARGE: &str = "[SYCL/device requirements]\nreqd_work_group_size=2|gYAAAAAAAAAAAAQAAAAAAAAA\n";

#[test]
fn modules_in_a_folder_replace_those_of_an_earlier_run_alone() {
    let folder = Folder::new();
    modules(&folder, &["a.spv", "b.spv", "c.spv", "kern/kern_0.spv", "kern/kern_1.spv"]);
    refused(&folder, "wrap a.spv b.spv --emit spirv -o kern", "kern_");
    for call in ["wrap", "join", "link --each", "split"] {
        refused(&folder, &format!("{call} kern/kern_1.spv kern/kern_0.spv --emit spirv -o kern"), "an input");
    }
    // Twice into one folder, and then with less.
    done(&folder, "wrap a.spv b.spv c.spv --emit spirv -o out");
    assert_eq!(names(&folder, "out"), ["images.table", "out_0.spv", "out_1.spv", "out_2.spv"]);
    done(&folder, "wrap c.spv b.spv a.spv --emit spirv -o out");
    assert_eq!(folder.read("out/out_0.spv"), module("c", 0));
    done(&folder, "wrap a.spv b.spv --emit spirv -o out");
    assert_eq!(names(&folder, "out"), ["images.table", "out_0.spv", "out_1.spv"]);
    refused(&folder, "wrap out/out_1.spv out/out_0.spv --emit spirv -o out", "an input");
    folder.put("out/out_2.spv", "mine");
    refused(&folder, "wrap a.spv b.spv c.spv --emit spirv -o out", "out_2.spv");
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    folder.put("mine/images.table", "of the user");
    refused(&folder, "wrap a.spv b.spv --emit spirv -o mine", "images.table");
}

#[test]
fn extracted_images_replace_those_of_an_earlier_run_alone() {
    let folder = Folder::new();
    modules(&folder, &["x.spv", "x_0.spv"]);
    refused(&folder, "extract x.spv -o .", "x_0.spv");
    modules(&folder, &["out/y.spv"]);
    for _ in 0..2 {
        done(&folder, "extract x.spv -o out");
    }
    assert_eq!(names(&folder, "out"), ["images.table", "x_0.spv", "x_0.sym", "y.spv"]);
    refused(&folder, "extract out/images.table -o out", "an input");
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    folder.put("mine/x_0.prop", TOO_LARGE);
    refused(&folder, "extract x.spv -o mine", "x_0.prop");
    folder.put("mine/images.table", "of the user");
    refused(&folder, "extract x.spv -o mine", "images.table");
}

#[test]
fn what_was_read_is_not_replaced() {
    let folder = Folder::new();
    modules(&folder, &["p.spv", "q.spv", "r.spv"]);
    folder.put("p.prop", TOO_LARGE);
    done(&folder, "wrap q.spv --emit shared -o k.so");
    done(&folder, "wrap q.spv r.spv -o t.table");
    std::fs::copy(folder.path().join("t.table"), folder.path().join("a.table")).unwrap();
    let calls = [
        "embed k.so q.spv --as-target spir64_x86_64 -o q.spv",
        "embed k.so p.spv --as-target spir64_x86_64 -o p.prop",
        "embed w.whl q.spv --as-target spir64_x86_64 -o q.spv",
        "record -o k.so --in k.so -- /bin/true",
        "record -o ./run -- ./run",
        "join p.spv a.table -o t.table",
        "wrap p.spv -o p.prop --emit object",
        "build p.spv -t spir64_x86_64 --no-policy --emit object -o p.prop",
        "inspect p.spv --html p.prop",
        "inspect a.table --html t_0.spv",
        "check p.spv -t intel_gpu_dg1 --no-policy --write-baseline p.prop",
    ];
    folder.file("run", b"#!/bin/sh\n");
    let mut wheel = ZipWriter::new(File::create(folder.path().join("w.whl")).unwrap());
    wheel.start_file("k.so", SimpleFileOptions::default()).unwrap();
    wheel.write_all(&folder.read("k.so")).unwrap();
    wheel.finish().unwrap();
    for call in calls {
        refused(&folder, call, "replace");
    }
    done(&folder, "embed k.so q.spv --as-target spir64_x86_64 --in-place");
}

/// Whoever is second has read what is there no more.
#[test]
fn two_that_write_one_file_in_place_lose_nothing_of_each_other() {
    let folder = Folder::new();
    modules(&folder, &["a.spv", "b.spv", "c.spv"]);
    done(&folder, "wrap a.spv --emit shared -o k.so");
    for _ in 0..8 {
        std::fs::copy(folder.path().join("k.so"), folder.path().join("e.so")).unwrap();
        let begin = |module: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
            let call = ["-q", "embed", "e.so", module, "--as-target", "spir64_x86_64", "--in-place"];
            command.args(call).current_dir(folder.path()).stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let both = [begin("b.spv"), begin("c.spv")].map(|mut child| child.wait().unwrap().code());
        let kernels = done(&folder, "kernels e.so --names");
        let there = [("b", both[0]), ("c", both[1])].map(|(name, code)| {
            assert!(matches!(code, Some(0 | 3)), "{both:?}");
            assert_eq!(kernels.lines().any(|line| line == name), code == Some(0), "{both:?} {kernels}");
            code == Some(0)
        });
        assert!(there.contains(&true), "{both:?}");
    }
}

/// Files beside a module count for it, and a bare module has no place for what was stated of another.
#[test]
fn a_bare_module_tells_what_it_loses_and_takes_over_nothing() {
    let folder = Folder::new();
    modules(&folder, &["m.spv"]);
    folder.put("m.prop", TOO_LARGE);
    folder.put("m.sym", "other\n");
    let told = done(&folder, "wrap m.spv --emit spirv -o x.spv");
    assert!(told.contains("no place for property sets; 1 image had some"), "{told}");
    assert!(told.contains("no place for entries; 1 image"), "{told}");
    for beside in ["y.prop", "y.sym"] {
        folder.put(beside, TOO_LARGE);
        refused(&folder, "wrap m.spv --emit spirv -o y.spv", beside);
        std::fs::remove_file(folder.path().join(beside)).unwrap();
    }
    modules(&folder, &["n.spv"]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    folder.put("out/out_1.prop", TOO_LARGE);
    refused(&folder, "wrap m.spv n.spv --emit spirv -o out", "out_1.prop");
}

/// An artifact that is packed must not pass where its folder does not.
#[test]
fn what_lies_beside_modules_counts_or_is_told_wherever_they_are() {
    let folder = Folder::new();
    modules(&folder, &["fs/m.spv"]);
    folder.put("fs/m.prop", TOO_LARGE);
    let verdict = |file: &str| {
        let done = tool(&folder, ["check", "--no-policy", "-t", "intel_gpu_dg1", file]);
        (done.status.code(), said(&done))
    };
    assert_eq!(verdict("fs").0, Some(1));
    let (module, properties) = (folder.read("fs/m.spv"), folder.read("fs/m.prop"));
    let members = [("fs/m.spv", &module), ("fs/m.prop", &properties)];
    for (at, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let mut zip = ZipWriter::new(File::create(folder.path().join(format!("{at}.zip"))).unwrap());
        let mut tar = tar::Builder::new(Vec::new());
        for (name, bytes) in order.map(|member| members[member]) {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &bytes[..]).unwrap();
        }
        zip.finish().unwrap();
        let tar = tar.into_inner().unwrap();
        let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        compressed.write_all(&tar).unwrap();
        folder.put(&format!("{at}.tar"), tar);
        folder.put(&format!("{at}.tar.gz"), compressed.finish().unwrap());
        for end in ["zip", "tar", "tar.gz"] {
            let (code, told) = verdict(&format!("{at}.{end}"));
            assert!(code == Some(3) && told.contains("is not read in a package"), "{at}.{end}: {code:?} {told}");
        }
    }
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    compressed.write_all(&module).unwrap();
    folder.put("fs/m.spv.gz", compressed.finish().unwrap());
    let (code, told) = verdict("fs/m.spv.gz");
    assert!(code == Some(3) && told.contains("is not read in a package"), "{code:?} {told}");
    std::os::unix::fs::symlink("fs/m.spv", folder.path().join("link.spv")).unwrap();
    assert_eq!(verdict("link.spv").0, Some(1));
    // A file that cannot be read is not nothing.
    std::fs::rename(folder.path().join("fs/m.prop"), folder.path().join("away")).unwrap();
    std::os::unix::fs::symlink("../nowhere", folder.path().join("fs/m.prop")).unwrap();
    assert_eq!((verdict("fs/m.spv").0, verdict("link.spv").0), (Some(3), Some(3)));
}

#[test]
fn outputs_of_one_command_are_different_files() {
    let folder = Folder::new();
    modules(&folder, &["m.spv", "n.spv"]);
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::os::unix::fs::symlink("d", folder.path().join("e")).unwrap();
    for other in ["x_0.spv", "./x.table", "d/../x.table", "x_1.sym"] {
        refused(&folder, &format!("filter m.spv n.spv -o intel_gpu_dg1,x.table -o spir64_x86_64,{other}"), "output");
    }
    refused(&folder, "filter m.spv n.spv -o intel_gpu_dg1,d/x.table -o spir64_x86_64,e/x.table", "output");
    done(&folder, "filter m.spv n.spv -o intel_gpu_dg1,x.table -o spir64_x86_64,d/x.table");
}

/// Inputs that are named, or lie in a folder that is, though the output of another one falls on them.
#[test]
fn outputs_fall_on_no_other_input() {
    let folder = Folder::new();
    modules(&folder, &["m.spv", "n.spv"]);
    done(&folder, "wrap m.spv --emit shared -o k.so");
    done(&folder, "wrap n.spv --emit shared -o l.so");
    for (file, place) in [("k.so", "x/k.so"), ("l.so", "y/k.so"), ("k.so", "z/s/k.so"), ("l.so", "y/s/k.so")] {
        std::fs::create_dir_all(folder.path().join(place).parent().unwrap()).unwrap();
        std::fs::copy(folder.path().join(file), folder.path().join(place)).unwrap();
    }
    for call in [
        "build x y -t spir64_x86_64 -o x",
        "build x -t spir64_x86_64 -o ./y/../x",
        "build y/k.so x -t spir64_x86_64 -o x",
        "build y z/s/k.so -t spir64_x86_64 -o z",
    ] {
        refused(&folder, call, "replace");
    }
    refused(&folder, "build x y -t spir64_x86_64 --dry-run -o new", "would be the output of");
}

/// Baselines, policies, compilers and libraries are read as inputs are, and outputs of a folder are known late.
#[test]
fn outputs_fall_on_nothing_that_a_command_names() {
    let folder = Folder::new();
    modules(&folder, &["m.spv", "n.spv"]);
    for at in ["p", "q", "o", "dl", "old"] {
        std::fs::create_dir(folder.path().join(at)).unwrap();
    }
    done(&folder, "wrap m.spv --emit shared -o p/k.so");
    done(&folder, "wrap m.spv --emit shared -o q/a.so");
    done(&folder, "check m.spv -t intel_gpu_dg1 --no-policy --write-baseline b.json");
    folder.put("old/a.so", "of an earlier build");
    folder.put("o/a.so", "[build]\n");
    folder.file("ocloc", b"#!/bin/sh\n");
    std::fs::copy(folder.path().join("n.spv"), folder.path().join("dl/libsycl-fallback-cmath.spv")).unwrap();
    let build = "-t spir64_x86_64 --no-policy";
    let calls = [
        "inspect p/k.so --baseline b.json --html b.json".to_owned(),
        "record -o p/k.so --in p -- true".to_owned(),
        "build q -t spir64_x86_64 --policy o/a.so -o o".to_owned(),
        format!("build q {build} -o new --report new/a.so"),
        format!("build q {build} -o new --time-trace new/a.so"),
        format!("build q/a.so {build} --ocloc ./ocloc -o ocloc"),
        format!("build q/a.so {build} --ocloc ./ocloc -o x.so --report ocloc"),
        format!("build q {build} --dry-run -o old --report old/a.so"),
        format!("build q/a.so {build} --llvm p --cuda dl -o x.so --report p/k.so"),
        format!("build q/a.so {build} --cuda p -o p/k.so"),
        format!("build m.spv {build} --device-library dl -o dl/libsycl-fallback-cmath.spv"),
        format!("build m.spv {build} --device-library dl -o x.table --report dl/libsycl-fallback-cmath.spv"),
    ];
    for call in calls {
        refused(&folder, &call, "replace");
    }
    done(&folder, "record -o p/profile.json --in p -- true");
    done(&folder, "record -o p/profile.json --in p -- true");
}

/// Parts would stay, as files that no table lists.
#[test]
fn a_table_is_written_to_plain_files_alone() {
    let folder = Folder::new();
    modules(&folder, &["m.spv"]);
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/stdout", folder.path().join("link")).unwrap();
    for output in ["pipe", "/dev/null", "/dev/stdout", "link", "-"] {
        for verb in ["join", "wrap", "split"] {
            refused(&folder, &format!("{verb} m.spv --emit table -o {output}"), "a table has parts beside it");
        }
    }
    std::fs::rename(folder.path().join("pipe"), folder.path().join("p.table")).unwrap();
    refused(&folder, "filter m.spv -o spir64_x86_64,p.table", "a table has parts beside it");
    refused(
        &folder,
        &format!("build m.spv -t pvc {} --no-policy -o p.table", ocloc(&folder)),
        "a table has parts beside it",
    );
}

/// A folder that is made on the way leads back to an input.
#[test]
fn outputs_go_not_by_folders_that_are_not_there_to_inputs() {
    let folder = Folder::new();
    modules(&folder, &["m.spv"]);
    let before = files(folder.path());
    for call in
        ["wrap m.spv -o x/../m.spv --emit object", "extract m.spv -o x/y/../../m.spv", "join m.spv -o x/../new.table"]
    {
        let done = tool(&folder, call.split(' '));
        assert_eq!(done.status.code(), Some(5), "{call}: {}", said(&done));
        assert!(said(&done).contains("not found"), "{call}: {}", said(&done));
        assert!(files(folder.path()) == before && names(&folder, ".") == ["m.spv"], "{call}");
    }
}

/// `make` and ninja would keep what was made of other parts.
#[test]
fn dependencies_name_all_that_is_read() {
    let folder = Folder::new();
    modules(&folder, &["m.spv"]);
    folder.put("m.sym", "m\n");
    done(&folder, "wrap m.spv -o t.table");
    done(&folder, "plan m.spv t.table -t spir64_x86_64 --no-policy -o out.table --to plan.ninja");
    let plan = String::from_utf8(folder.read("plan.ninja")).unwrap();
    for file in ["m.spv", "m.sym", "t.table", "t_0.spv", "t_0.sym"] {
        assert!(plan.contains(&format!(" {file} ")), "{file}: {plan}");
    }
}

/// A folder that was made for an output goes where there is none.
#[test]
fn folders_of_outputs_that_fail_go() {
    let folder = Folder::new();
    modules(&folder, &["m.spv"]);
    for call in ["wrap m.spv -o new/below/t.table", "wrap m.spv --emit object -o new/below/t.o"] {
        let mut shell = Command::new("sh");
        let call = format!("ulimit -f 0; exec {} {call}", env!("CARGO_BIN_EXE_sycl-bundle"));
        let done = shell.args(["-c", &call]).current_dir(folder.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(5), "{}", said(&done));
        assert_eq!(names(&folder, "."), ["m.spv"]);
    }
    let mut empty = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let done = empty.args(["doctor"]).env("TMPDIR", "").current_dir(folder.path()).output().unwrap();
    assert!(!said(&done).contains("empty path"), "{}", said(&done));
}

/// Settings, and names that parts of the output have, are no place for another output.
#[test]
fn settings_and_parts_are_not_replaced() {
    let folder = Folder::new();
    modules(&folder, &["m.spv", "0.intel_gpu_pvc.spv"]);
    folder.put("policy.toml", "[check]\ntargets = [\"pvc\"]\n");
    folder.put("config.yaml", "");
    folder.put("t.table", "[Code]\nm.spv\n0.intel_gpu_pvc.spv\n");
    let before = files(folder.path());
    for call in [
        "build m.spv -t pvc --policy policy.toml -o policy.toml --emit table",
        "build m.spv -t pvc --policy policy.toml --report policy.toml -o o.table",
        "build m.spv -t pvc --device-config config.yaml -o config.yaml --emit table",
        "check m.spv -t pvc --policy policy.toml --write-baseline policy.toml",
        "build m.spv -t pvc -o o.table -MF o_0.spv",
        "build m.spv -t pvc -o o.table --report ./o_1.bin",
        "build m.spv -t pvc -o o.table --time-trace o_0.sym",
    ] {
        refused(&folder, call, "would replace");
    }
    let call = format!("build t.table -t pvc {} --no-policy --save-temps . -o o.table", ocloc(&folder));
    let done = tool(&folder, call.split(' '));
    assert_eq!((done.status.code(), said(&done).contains("would replace")), (Some(2), true), "{}", said(&done));
    let after = files(folder.path());
    assert!(before.iter().all(|(path, bytes)| after[path] == *bytes) && !folder.path().join("o.table").exists());
}

/// The folder of a plan has a name that the user did not choose, and a stranger's archive may bring one: what lies there is not read,
/// and links lead nowhere.
#[test]
fn a_plans_folder_that_came_from_elsewhere_has_no_say() {
    let place = Folder::new();
    std::fs::create_dir(place.path().join("home")).unwrap();
    place.put("home/settings", "KEY = value\n");
    for engine in ["make", "ninja"] {
        let folder = Folder::new();
        modules(&folder, &["m.spv"]);
        let own = folder.path().join("out.table.plan");
        std::fs::create_dir(&own).unwrap();
        let settings = place.path().join("home/settings");
        let plan = format!("plan --format {engine} --to rules m.spv -t pvc {} -o out.table", ocloc(&folder));
        folder.put("out.table.plan/done.d", "X := $(shell touch pwned)\n");
        folder.put("out.table.plan/done", "");
        done(&folder, &plan);
        assert!(names(&folder, "out.table.plan").is_empty(), "{engine}");
        // Links that come later are refused by the plan's own commands.
        let rules = String::from_utf8(folder.read("rules")).unwrap();
        assert!(rules.contains("--planned"), "{rules}");
        for name in ["done.d", "done"] {
            std::os::unix::fs::symlink(&settings, own.join(name)).unwrap();
            let build = format!(
                "build --planned --MD --MF out.table.plan/done.d --stamp out.table.plan/done m.spv -t pvc {} -o out.table",
                ocloc(&folder)
            );
            refused(&folder, &build, "which nobody named");
            refused(&folder, &plan, "which nobody named");
            std::fs::remove_file(own.join(name)).unwrap();
        }
        std::fs::remove_dir(&own).unwrap();
        std::os::unix::fs::symlink(place.path().join("home"), &own).unwrap();
        place.put("home/done", "kept");
        refused(&folder, &plan, "which nobody named");
        assert_eq!(place.read("home/done"), b"kept");
        assert_eq!(place.read("home/settings"), b"KEY = value\n", "{engine}");
    }
}
