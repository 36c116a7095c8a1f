//! What does a cache do with entries that are none, and who puts something into it?

use super::support::folder::Folder;
use super::support::spirv::module;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Tools for NVIDIA GPUs as scripts. What clang makes is another thing each time, linking adds up, and opt says what it got.
const TOOL: &str = r#"#!/bin/sh
me=$(basename "$0")
[ "$1" = --version ] && echo "LLVM version 22.1.8, release 12.9," && exit
case "$*" in *help*) echo "  sm_80 - 'sm_80'" && exit;; esac
out=; in=
for word; do
    [ "$last" = -o ] && out=$word || [ ! -f "${word#--override=}" ] || in="$in ${word#--override=}"
    last=$word
done
case "$me $in" in
clang*) { printf 'library '; date +%s%N; } > "$out"; (: > "$SYCL_BUNDLE_CACHE_DIR/by-a-worker") 2> /dev/null;;
llvm-link*) cat $in > "$out";;
"opt  linked.bc") grep -ao 'library [0-9]*' linked.bc >&2; exit 1;;
*) [ -n "$out" ] && cat $in > "$out";;
esac
exit 0
"#;

/// Makes these tools.
fn tools(folder: &Folder) {
    for file in ["llvm/share/clc/nvptx64-nvidia-cuda.bc", "cuda/nvvm/libdevice/libdevice.10.bc"] {
        std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        folder.put(file, "");
    }
    let programs = ["opt", "llvm-link", "llc", "llvm-nm", "clang", "llvm-spirv"].map(|name| format!("llvm/bin/{name}"));
    for program in programs.into_iter().chain(["cuda/bin/ptxas".to_owned()]) {
        std::fs::create_dir_all(folder.path().join(&program).parent().unwrap()).unwrap();
        let path = folder.put(&program, TOOL);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs the tool with a cache of its own and few KiB of memory.
fn tool(folder: &Folder, call: &str) -> Output {
    let mut command = Command::new("sh");
    let script = format!("ulimit -d {}; ulimit -t 30; exec \"$0\" {call}", 512 << 10);
    command.args(["-c", &script, env!("CARGO_BIN_EXE_sycl-bundle")]).current_dir(folder.path());
    command.env("SYCL_BUNDLE_CACHE_DIR", folder.path().join("cache")).output().unwrap()
}

/// All that a run said.
fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// The library that a module was linked with.
fn linked_with(folder: &Folder) -> String {
    let done = tool(folder, "build m.spv --no-policy -t nvidia_gpu_sm_80 --llvm llvm --cuda cuda -o o.table");
    let text = said(&done);
    let at = text.find("library 1").unwrap_or_else(|| panic!("{text}"));
    text[at..].lines().next().unwrap().to_owned()
}

/// The entries of the cache.
fn entries(folder: &Folder) -> Vec<PathBuf> {
    let list = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    list(&folder.path().join("cache/v1")).flat_map(|folder| list(&folder).collect::<Vec<_>>()).collect()
}

#[test]
fn the_library_for_nvidia_gpus_is_an_entry_that_no_worker_writes() {
    let folder = Folder::new();
    tools(&folder);
    folder.put("m.spv", module("bounded_sum"));
    let first = linked_with(&folder);
    assert_eq!(linked_with(&folder), first, "it is kept");
    let [entry] = entries(&folder).try_into().unwrap();
    assert!(!folder.path().join("cache/by-a-worker").exists() && !folder.path().join("cache/libraries").exists());

    let whole = std::fs::read(&entry).unwrap();
    std::fs::write(&entry, &whole[..whole.len() - 1]).unwrap();
    let second = linked_with(&folder);
    assert_ne!(second, first, "one that is cut is made anew");
    // Another's, behind a link, is not followed.
    std::fs::write(folder.path().join("whole"), &whole).unwrap();
    std::fs::remove_file(&entry).unwrap();
    std::os::unix::fs::symlink(folder.path().join("whole"), &entry).unwrap();
    assert_ne!(linked_with(&folder), first);
    assert_eq!(tool(&folder, "cache verify").status.code(), Some(0));
    std::fs::write(&entry, "").unwrap();
    assert_eq!(tool(&folder, "cache verify").status.code(), Some(1));
    linked_with(&folder);
    assert_eq!(tool(&folder, "cache clear").status.code(), Some(0));
    assert!(entries(&folder).is_empty());
    // Without a cache it is made for the one build.
    std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    folder.put("cache", "");
    linked_with(&folder);
}

#[test]
fn a_long_file_in_an_entrys_place_is_not_read() {
    let folder = Folder::new();
    tools(&folder);
    folder.put("m.spv", module("bounded_sum"));
    linked_with(&folder);
    let [entry] = entries(&folder).try_into().unwrap();
    let whole = std::fs::read(&entry).unwrap();
    for head in [&whole[..], &[0; 80]] {
        let lengthen = || {
            let mut file = std::fs::File::create(&entry).unwrap();
            file.write_all(head).unwrap();
            file.set_len(3 << 30).unwrap();
        };
        lengthen();
        let done = tool(&folder, "cache verify");
        assert!(done.status.code() == Some(1) && !entry.exists(), "{}", said(&done));
        lengthen();
        linked_with(&folder);
        assert_eq!(tool(&folder, "cache verify").status.code(), Some(0));
    }
}
