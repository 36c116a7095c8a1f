//! Does what `sycl-bundle --help` says of the usual tasks do them, on a real library?
//!
//! The commands are taken from the help as they stand there and given to a shell. `libfoo.so` is dpnp's library of window
//! functions, half of whose kernels compute in double; `app` is a C program that carries an image which imports a
//! function of nobody, and prints what libsycl throws.

use crate::support::tools::needed;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::tool::tool;
use crate::world::{scripts, succeed, tail, world};

/// `python3 -m wheel`, as far as the task goes: the wheel package itself is not among what the tests fetch. Unpacking checks
/// the digests of RECORD as that does.
const WHEEL: &str = r#"
import base64, csv, hashlib, pathlib, sys, zipfile

def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

command, name = sys.argv[1:]
if command == "unpack":
    folder = pathlib.Path("-".join(pathlib.Path(name).name.split("-")[:2]))
    with zipfile.ZipFile(name) as wheel:
        wheel.extractall(folder)
    (record,) = folder.glob("*.dist-info/RECORD")
    for path, stated, _ in csv.reader(record.read_text().splitlines()):
        assert not stated or digest((folder / path).read_bytes()) == stated, path
else:
    folder = pathlib.Path(name)
    (info,) = folder.glob("*.dist-info")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "RECORD")
    rows = [f"{path.relative_to(folder)},{digest(path.read_bytes())},{path.stat().st_size}\n" for path in files]
    (info / "RECORD").write_text("".join(rows) + f"{info.name}/RECORD,,\n")
    tag = (info / "WHEEL").read_text().split("Tag: ")[1].split()[0]
    with zipfile.ZipFile(f"{folder.name}-{tag}.whl", "w") as wheel:
        for path in [*files, info / "RECORD"]:
            wheel.write(path, path.relative_to(folder))
"#;

/// Prints what libsycl throws where a device lacks fp64; registers images with nobody.
const APP: &str = r#"
#include <stdio.h>
void __sycl_register_lib(void *images) { (void)images; }
void __sycl_unregister_lib(void *images) { (void)images; }
int main(void) { fputs("terminate called after throwing an instance of 'sycl::_V1::exception'\n"
    "  what():  Required aspect fp64 is not supported on the device\n", stderr); return 134; }
"#;

/// A folder with what the tasks name.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let at = |name: &str| place.0.path().join(name);
        std::fs::copy(world().window(), at("libfoo.so")).unwrap();
        std::fs::create_dir_all(at("out")).unwrap();
        std::fs::create_dir_all(at("wheel")).unwrap();
        std::fs::write(at("wheel/__main__.py"), WHEEL).unwrap();
        let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/spirv").join(name);
        let assemble = |name: &str, to: &str| {
            let mut command = needed("spirv-as");
            succeed(command.args(["--target-env", "spv1.4"]).arg(fixture(name)).arg("-o").arg(at(to)));
        };
        assemble("two_kernels.spvasm", "kernels.spv");
        assemble("calls_import.spvasm", "calls.spv");
        std::fs::write(at("app.c"), APP).unwrap();
        // As DPC++ records it.
        std::fs::write(at("calls.prop"), "[SYCL/imported symbols]\nimported=1|1\n").unwrap();
        succeed(tool().arg("wrap").arg(at("calls.spv")).args(["--host", "x86_64-linux", "-o"]).arg(at("calls.o")));
        succeed(needed("gcc").arg(at("app.c")).arg(at("calls.o")).arg("-o").arg(at("app")));
        // A release of a foo whose library the next one builds ahead of time.
        let info = at("foo-1.0/foo-1.0.dist-info");
        std::fs::create_dir_all(&info).unwrap();
        std::fs::create_dir_all(at("foo-1.0/foo")).unwrap();
        std::fs::copy(world().window(), at("foo-1.0/foo/libfoo.so")).unwrap();
        std::fs::write(info.join("WHEEL"), "Wheel-Version: 1.0\nTag: py3-none-linux_x86_64\n").unwrap();
        place.done("python3 -m wheel pack foo-1.0");
        std::fs::remove_dir_all(at("foo-1.0")).unwrap();
        std::fs::copy(at("foo-1.0-py3-none-linux_x86_64.whl"), at("foo-2024.whl")).unwrap();
        place
    }

    /// Puts a program that calls dpnp's window functions in the place of the one that prints an error.
    fn replace_app(&self) {
        let app = self.0.path().join("app");
        std::fs::rename(&app, self.0.path().join("app.c-program")).unwrap();
        let python = world().root().join("venv/bin/python");
        let program = format!("#!/bin/sh\nexec '{}' '{}'\n", python.display(), scripts().join("windows.py").display());
        std::fs::write(&app, program).unwrap();
        succeed(Command::new("chmod").arg("+x").arg(&app));
    }

    fn command(&self, line: &str) -> Command {
        let tools = Path::new(env!("CARGO_BIN_EXE_sycl-bundle")).parent().unwrap();
        let mut paths = vec![tools.to_owned()];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let mut command = world().command("bash");
        command.args(["-o", "pipefail", "-c", line]).current_dir(self.0.path());
        command.env("PATH", std::env::join_paths(paths).unwrap()).env("PYTHONPATH", self.0.path());
        command.env("SYCL_BUNDLE_CACHE_DIR", self.0.path().join("cache"));
        command
    }

    fn run(&self, line: &str) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
    }

    /// Output of a command that has to succeed.
    fn done(&self, line: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, Some(0), "{line}: {said}");
        said
    }

    /// Begins a build, and interrupts it when the first image is in the cache.
    fn interrupt(&self, line: &str) {
        let mut command = self.command(&format!("exec {line} --jobs 1"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while self.entries() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(120), "nothing was compiled");
            std::thread::sleep(Duration::from_millis(10));
        }
        succeed(Command::new("kill").args(["-INT", &child.id().to_string()]));
        child.wait().unwrap();
    }

    fn entries(&self) -> usize {
        let (code, said) = self.run("sycl-bundle cache");
        let words: Vec<&str> = said.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("entr"));
        at.filter(|_| code == Some(0)).and_then(|at| words[at - 1].parse().ok()).unwrap_or(0)
    }
}

/// The tasks as the help lists them.
fn tasks() -> Vec<(String, Vec<String>)> {
    let help = String::from_utf8(succeed(tool().arg("--help")).stdout).unwrap();
    let list = help.split("How do I ...\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut tasks: Vec<(String, Vec<String>)> = Vec::new();
    for line in list.lines() {
        match (line.strip_prefix("    "), tasks.last_mut()) {
            (Some(command), Some((_, commands))) => commands.push(command.to_owned()),
            _ => tasks.push((line.trim().to_owned(), Vec::new())),
        }
    }
    tasks
}

/// Outputs of the commands of a task, one after the other; the last may end with 1.
fn answer(place: &Place, task: &str, commands: &[String]) -> String {
    let mut said = String::new();
    for (at, command) in commands.iter().enumerate() {
        let (code, text) = place.run(command);
        let no = at + 1 == commands.len() && code == Some(1);
        assert!(code == Some(0) || no || command.starts_with("./app"), "{task}: {command}: {code:?}\n{text}");
        writeln!(said, "{text}--- {code:?}").unwrap();
    }
    said
}

#[test]
fn every_task_of_the_help_is_done_by_its_commands() {
    let place = Place::new();
    // The judge of each task, by words of the task; it gets the commands' output and the folder.
    type Judge = fn(&str, &Place) -> bool;
    let judges: &[(&str, Judge)] = &[
        ("need fp64", |said, _| said.contains("10 kernels") && said.contains("<double>") && !said.contains("<float>")),
        ("gate", |said, _| {
            said.contains("intel_gpu_acm_g10: cannot run: 10 kernels (aspect)") && said.contains("--- Some(1)")
        }),
        ("in a Makefile", |said, place| {
            let rule = std::fs::read_to_string(place.0.path().join("out/libfoo.so.d")).unwrap();
            said.contains("20 of 20 images compiled")
                && rule.contains("libfoo.so")
                && place.0.path().join("out/libfoo.stamp").exists()
        }),
        ("into a wheel", |_, place| {
            let built = "out/foo-1.0-py3-none-linux_x86_64.whl";
            std::fs::copy(place.0.path().join(built), place.0.path().join("foo-2026.whl")).unwrap();
            // Checks every digest of RECORD.
            place.done(&format!("python3 -m wheel unpack {built}"));
            place.done("sycl-bundle inspect foo-2026.whl").contains("40 images")
        }),
        ("compiles just in time", |said, place| {
            let built = place.done("sycl-bundle inspect out/libfoo.so --profile app.profile");
            said.contains("of them made by the driver while the program ran") && built.contains("5 images, 5 kernels")
        }),
        ("launch failed", |said, _| {
            said.contains("libfoo.so: 10 kernels in 10 images") && said.contains("help: use float")
        }),
        ("two releases", |said, _| said.contains("target spir64_x86_64 (avx2): gained: 20 images")),
        ("takes the space", |said, _| {
            said.split("Kernels of one template").nth(1).unwrap().lines().nth(1).unwrap().contains("KaiserFunctor")
        }),
        ("split a module", |_, place| {
            let table = std::fs::read_to_string(place.0.path().join("parts.table")).unwrap();
            table.lines().count() == 3
        }),
        ("unresolved symbol", |said, _| {
            said.contains("1 unresolved") && said.contains("imported") && said.contains("--- Some(1)")
        }),
        ("list the devices", |said, _| said.contains("Intel(R) OpenCL") && said.contains("fp64")),
        ("resume", |said, place| {
            let whole = said.contains("20 of 20 images compiled") && place.0.path().join("out/libfoo.so").exists();
            whole && said.contains("out of the cache")
        }),
        ("jq", |said, _| {
            let jq = said.split("--- Some(0)\n").nth(1).unwrap();
            let images = serde_json::Deserializer::from_str(jq).into_iter::<Value>();
            said.starts_with('{') && images.filter(|image| image.as_ref().unwrap()["target"] == "spir64").count() == 20
        }),
    ];
    let tasks = tasks();
    assert_eq!(tasks.len(), judges.len());
    let mut failed = Vec::new();
    for (task, commands) in &tasks {
        let found: Vec<_> = judges.iter().filter(|(words, _)| task.contains(words)).collect();
        let [(_, judge)] = found.as_slice() else { panic!("{task}: who judges it?") };
        if task.contains("resume") {
            std::fs::remove_dir_all(place.0.path().join("cache")).unwrap();
            std::fs::remove_file(place.0.path().join("out/libfoo.so")).unwrap();
            place.interrupt(commands[0].split('#').next().unwrap());
        }
        let records = task.contains("just in time");
        if records {
            place.replace_app();
        }
        let said = answer(&place, task, commands);
        if records {
            std::fs::rename(place.0.path().join("app.c-program"), place.0.path().join("app")).unwrap();
        }
        if !judge(&said, &place) {
            failed.push(format!("{task}\n{}", tail(said.as_bytes())));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
