//! What does an OpenCL loader get that lies about how much there is?

use super::support::folder::Folder;
use super::support::spirv;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A loader of one platform, with a device of which every text is `x`, or tells a variable, unless `OCL_LIE` says otherwise.
const LOADER: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int lie(const char *what) { const char *told = getenv("OCL_LIE"); return told && !strcmp(told, what); }
static int32_t many(int lies, uint32_t room, void **out, uint32_t *count) {
    if (count) *count = lies ? 0x7fffffff : 1;
    if (out && room) out[0] = (void *)1;
    return 0;
}
static int32_t text(size_t room, void *value, size_t *size) {
    size_t length = lie("lengths") ? (size_t)1 << 46 : lie("texts") ? 100000 : 2;
    if (size) *size = length;
    if (value && room > 2) memset(value, 'x', room);
    if (value && room >= 2) memcpy(value, getenv("JOB_PASS") ? "p" : getenv("OCL_SEEN") ? "o" : "x", 2);
    return 0;
}
int32_t clGetPlatformIDs(uint32_t room, void **out, uint32_t *count) {
    while (lie("nothing")) sleep(1);
    return many(lie("platforms"), room, out, count);
}
int32_t clGetDeviceIDs(void *platform, uint64_t kind, uint32_t room, void **out, uint32_t *count) {
    if (lie("statuses")) return -12345;
    if (lie("texts") && count) *count = 1000;
    if (lie("texts")) { for (uint32_t at = 0; out && at < room; at++) out[at] = (void *)(uintptr_t)(at + 1); return 0; }
    return many(lie("devices"), room, out, count);
}
int32_t clGetPlatformInfo(void *of, uint32_t what, size_t room, void *value, size_t *size) { return text(room, value, size); }
int32_t clGetDeviceInfo(void *of, uint32_t what, size_t room, void *value, size_t *size) { return text(room, value, size); }
"#;

/// Makes the loader.
fn loader() -> Folder {
    let folder = Folder::new();
    folder.put("loader.c", LOADER);
    let library = folder.path().join("libOpenCL.so.1");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(folder.path().join("loader.c"));
    assert!(cc.status().unwrap().success());
    folder
}

fn devices(folder: &Folder, lie: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.env("OPENCL_DYLIB_PATH", folder.path().join("libOpenCL.so.1")).env("OCL_LIE", lie);
    command.args(["devices", "--format", "json"]).args(more).output().unwrap()
}

/// A module that takes a compiler over would find passwords of the CI there.
#[test]
fn variables_that_no_driver_reads_do_not_reach_it() {
    let folder = loader();
    for (variable, name) in [("JOB_PASS", "x"), ("OCL_SEEN", "o")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.env("OPENCL_DYLIB_PATH", folder.path().join("libOpenCL.so.1")).env(variable, "secret");
        let said = String::from_utf8(command.args(["devices", "--format", "json"]).output().unwrap().stdout).unwrap();
        assert!(said.contains(&format!("\"name\": \"{name}\"")), "{variable}: {said}");
    }
}

/// A driver that memory did not suffice for is as if it were not there.
#[test]
fn a_limit_of_memory_is_named_where_nothing_is_found() {
    let output = devices(&loader(), "statuses", &["--max-memory", "256MiB"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(5) && said.contains("with 256 MiB of memory (--max-memory"), "{said}");
}

#[test]
fn what_it_claims_is_bounded() {
    let folder = loader();
    let honest = devices(&folder, "", &[]);
    assert_eq!(honest.status.code(), Some(0), "{honest:?}");
    assert!(String::from_utf8_lossy(&honest.stdout).contains("\"name\": \"x\""), "{honest:?}");
    for (lie, told) in [
        ("platforms", "claims 2147483647 platforms"),
        ("devices", "claims 2147483647 devices"),
        ("lengths", "died"),
        ("texts", "67108864 bytes about their devices"),
        ("statuses", "-12345"),
    ] {
        let begin = Instant::now();
        let output = devices(&folder, lie, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{lie}: {output:?}");
        assert!(said.contains(told), "{lie}: {said}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{lie}");
    }
}

/// Before it has a module it gets no more time than for one.
#[test]
fn one_that_never_tells_its_platforms_is_waited_for_as_for_a_module() {
    let folder = loader();
    folder.put("m.spv", spirv::module("add_one"));
    for more in [&["-t", "spir64_x86_64"][..], &["-t", "spir64_x86_64", "--no-cache"], &["--device", "cpu"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.env("OPENCL_DYLIB_PATH", folder.path().join("libOpenCL.so.1")).env("OCL_LIE", "nothing");
        command.env("SYCL_BUNDLE_CACHE_DIR", folder.path().join("cache")).current_dir(folder.path());
        command.args(["build", "m.spv", "--no-policy", "--timeout", "1", "-o", "o.table"]).args(more);
        let begin = Instant::now();
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(5) && said.contains("no answer within 1"), "{more:?}: {output:?}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{more:?}");
    }
}
