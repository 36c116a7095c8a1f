//! What is left of an output where the disk is full, or where the command that writes it is ended?

use super::support::folder::Folder;
use super::support::spirv::module;
use rustix::process::{Pid, Signal, kill_process};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Commands that write, by what they read.
const WRITERS: [&[&str]; 10] = [
    &["extract", "in.so", "-o", "out"],
    &["filter", "in.so", "-t", "pvc", "-o", "out.table"],
    &["split", "a.spv", "--mode", "per_kernel", "-o", "out.table"],
    &["wrap", "a.spv", "-o", "out.so"],
    &["wrap", "a.spv", "-o", "out.syclbin"],
    &["embed", "in.so", "a.spv", "-o", "out.so"],
    &["prune", "two.so", "--drop", "spir64_gen", "-o", "out.so"],
    &["join", "a.spv", "b.spv", "-o", "out.table"],
    &["link", "a.spv", "-o", "out.table"],
    &["inspect", "in.so", "--html", "out.html"],
];

fn tool(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Files of a folder and below, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.insert(name, std::fs::read(path).unwrap());
        }
    }
    all
}

/// A folder with inputs, and what is in it.
fn inputs() -> (Folder, BTreeMap<String, Vec<u8>>) {
    let folder = Folder::new();
    folder.put("a.spv", module("bounded_sum"));
    folder.put("b.spv", module("bounded_sum"));
    let made = |arguments: &[&str]| assert!(tool(&folder).args(arguments).status().unwrap().success(), "{arguments:?}");
    made(&["wrap", "a.spv", "--emit", "shared", "-o", "in.so"]);
    made(&["embed", "in.so", "a.spv", "--as-target", "spir64_gen", "-o", "two.so"]);
    let files = files(folder.path());
    (folder, files)
}

/// Removes what is not among the inputs.
fn clean(folder: &Folder, inputs: &BTreeMap<String, Vec<u8>>) {
    let _ = std::fs::remove_dir_all(folder.path().join("out"));
    for name in files(folder.path()).into_keys().filter(|name| !inputs.contains_key(name)) {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
}

/// Runs a command to its end and returns what it added.
fn added(folder: &Folder, arguments: &[&str], inputs: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let done = tool(folder).args(arguments).stderr(Stdio::piped()).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    let mut all = files(folder.path());
    all.retain(|name, _| !inputs.contains_key(name));
    all
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let (folder, inputs) = inputs();
    for arguments in WRITERS {
        let whole = added(&folder, arguments, &inputs);
        assert!(whole.values().any(|bytes| bytes.len() > 1024), "{arguments:?}: {:?}", whole.keys());
        let before = files(folder.path());
        for is_there in [true, false] {
            if !is_there {
                clean(&folder, &inputs);
            }
            // No file may have more than two blocks.
            let mut limited = Command::new("/bin/sh");
            limited.args(["-c", "ulimit -f 2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_sycl-bundle")]);
            limited.args(arguments).args(["--color", "never"]).current_dir(folder.path());
            let done = limited.stdout(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            // An output that would be the same is not written.
            let refused = done.status.code() == Some(5) && said.contains("cannot write");
            assert!(refused || is_there && done.status.success(), "{arguments:?}: {said}");
            assert_eq!(&files(folder.path()), if is_there { &before } else { &inputs }, "{arguments:?}");
        }
        assert_eq!(added(&folder, arguments, &inputs), whole, "{arguments:?}");
        clean(&folder, &inputs);
    }
}

#[test]
fn what_is_ended_leaves_nothing_or_the_whole_and_stops_no_later_run() {
    let (folder, inputs) = inputs();
    for arguments in WRITERS {
        let whole = added(&folder, arguments, &inputs);
        for step in 0..12u64 {
            clean(&folder, &inputs);
            let mut running = Command::new("/bin/sh");
            // A signal of a terminal's user (Ctrl-\) has the system keep what was in memory, in the current folder.
            running.args(["-c", "ulimit -c 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_sycl-bundle")]).args(arguments);
            running.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = running.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(step));
            let signal = ["-TERM", "-KILL", "-QUIT", "-KILL"][step as usize % 4];
            Command::new("/bin/sh")
                .args(["-c", "kill \"$1\" \"$2\"", "sh", signal, &running.id().to_string()])
                .status()
                .unwrap();
            running.wait().unwrap();
            let left = files(folder.path());
            for (name, bytes) in left.iter().filter(|(name, _)| !inputs.contains_key(*name)) {
                match whole.get(name) {
                    Some(wanted) => assert_eq!(bytes, wanted, "{arguments:?}: {name} after {step} ms"),
                    // A killed process removes nothing.
                    None => assert!(signal == "-KILL", "{arguments:?}: {name} after {step} ms"),
                }
            }
            assert_eq!(added(&folder, arguments, &inputs), whole, "{arguments:?} after {step} ms");
        }
        clean(&folder, &inputs);
    }
}

/// Returns the permissions of the folder that a command makes, if it makes one.
fn mode(folder: &Folder) -> Option<u32> {
    Some(std::fs::metadata(folder.path().join("out")).ok()?.mode())
}

/// Calls by which outputs come to be.
const CALLS: [libc::c_long; 13] = [
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_flock,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
];
/// Older forms of the same calls, which only some processors have.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [libc::c_long; 6] =
    [libc::SYS_rename, libc::SYS_link, libc::SYS_unlink, libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_chmod];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: [libc::c_long; 0] = [];

/// Runs a command that the kernel kills at its first call of a number, and returns whether that came.
fn killed_at(call: libc::c_long, mut command: Command) -> bool {
    // The filter is this thread's and that of processes which it starts.
    let run = std::thread::spawn(move || {
        let rules = BTreeMap::from([(call, Vec::new())]);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, arch).unwrap();
        apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
        command.status().unwrap()
    });
    let status = run.join().unwrap();
    assert!(status.success() || status.signal() == Some(libc::SIGSYS), "{status} by call {call}");
    !status.success()
}

#[test]
fn what_is_killed_at_any_call_leaves_nothing_that_the_next_run_does_not_remove() {
    let (folder, inputs) = inputs();
    let mut met = BTreeSet::new();
    for arguments in WRITERS {
        let whole = added(&folder, arguments, &inputs);
        let permissions = mode(&folder);
        for call in CALLS.into_iter().chain(OLD_CALLS) {
            clean(&folder, &inputs);
            let mut limited = Command::new("/bin/sh");
            limited.args(["-c", "ulimit -c 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_sycl-bundle")]).args(arguments);
            limited.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
            if killed_at(call, limited) {
                met.insert(call);
            }
            assert_eq!(added(&folder, arguments, &inputs), whole, "{arguments:?} after call {call}");
            assert_eq!(mode(&folder), permissions, "{arguments:?} after call {call}");
        }
        clean(&folder, &inputs);
    }
    assert!(met.len() >= 4, "{met:?}");
}

/// Number of images of a table that is large enough to be met while it is written.
const MANY: usize = 120;
/// The most runs until one has been met often enough.
const MOST_RUNS: usize = 60;

/// A folder with modules of which no two are the same, and their names.
fn many(count: usize) -> (Folder, Vec<String>) {
    let folder = Folder::new();
    let mut code = module("bounded_sum");
    let names = (0..count).map(|number| {
        // The version of the generator.
        code[8..10].copy_from_slice(&(number as u16).to_le_bytes());
        let name = format!("m{number}.spv");
        folder.put(&name, &code);
        name
    });
    let names = names.collect();
    (folder, names)
}

/// Writes a table of modules, or begins to.
fn wrap(folder: &Folder, modules: &[String], table: &str) -> Command {
    let mut command = tool(folder);
    command.arg("wrap").args(modules).args(["-o", table]);
    command
}

fn succeed(mut command: Command) {
    let done = command.stderr(Stdio::piped()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn send(signal: Signal, child: &Child) {
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Finds the temporary folder of a process, while there is one.
fn temporary(within: &Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(within).unwrap().flatten();
    let found = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(".sycl-bundle-"));
    found.map(|entry| entry.path())
}

/// Returns the letter for the state of a process that nobody has waited for.
fn state(child: &Child) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
}

/// Waits until something is so, or a process has ended, which keeps its number until it is waited for.
fn wait_for(child: &Child, is_so: impl Fn() -> bool) {
    while !is_so() && state(child) != Some('Z') {}
}

/// Races the thread that writes, and then gives a folder its name, against the signal's thread, which removes all in that folder.
#[test]
fn a_folder_that_a_signal_meets_appears_whole_or_not_at_all() {
    let (folder, modules) = many(MANY);
    succeed(wrap(&folder, &modules, "many.table"));
    let mut extract = tool(&folder);
    extract.args(["extract", "many.table", "-o", "out/new"]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    extract.status().unwrap();
    let (out, new) = (folder.path().join("out"), folder.path().join("out/new"));
    let whole = files(&new);
    assert!(whole.len() > MANY);
    let mut met = 0;
    for _ in 0..MOST_RUNS {
        std::fs::remove_dir_all(&new).ok();
        let mut child = extract.spawn().unwrap();
        let half = format!("many_{}.spv", MANY / 2);
        let begun = || temporary(&out).is_some_and(|set| set.join(&half).exists());
        wait_for(&child, begun);
        send(Signal::STOP, &child);
        wait_for(&child, || state(&child) == Some('T'));
        let set = temporary(&out).filter(|_| !new.exists());
        // The thread that removes has so much to do that the other one comes to its end.
        for number in 0..5_000 {
            let _ = set.as_ref().map(|set| std::fs::write(set.join(format!("{number}")), ""));
        }
        met += usize::from(set.is_some());
        send([Signal::TERM, Signal::INT][met % 2], &child);
        send(Signal::CONT, &child);
        child.wait().unwrap();
        let left = if new.exists() { files(&new) } else { whole.clone() };
        let lost = whole.iter().find(|(name, bytes)| left.get(*name) != Some(bytes));
        assert!(lost.is_none(), "of a folder that is there {} of {} files are left", left.len(), whole.len());
        assert_eq!(temporary(&out), None);
        if met == 2 {
            return;
        }
    }
    panic!("{met} runs were met");
}

#[test]
fn a_table_over_another_one_is_the_old_or_the_new_one_where_the_tool_is_killed() {
    let (folder, modules) = many(2 * MANY);
    let (first, second) = modules.split_at(MANY);
    // Files of the first image are alike in both, and those of the last ones are only of the old one.
    let second: Vec<String> = first[..1].iter().chain(&second[..MANY - 10]).cloned().collect();
    let (out, table) = (folder.path().join("out"), folder.path().join("out/w.table"));
    succeed(wrap(&folder, &second, "out/w.table"));
    let new = files(&out);
    std::fs::remove_dir_all(&out).unwrap();
    succeed(wrap(&folder, first, "out/w.table"));
    let old = files(&out);
    let mut met = 0;
    for run in 0..MOST_RUNS {
        let mut child = wrap(&folder, &second, "out/w.table").spawn().unwrap();
        wait_for(&child, || !table.exists());
        child.kill().unwrap();
        child.wait().unwrap();
        met += usize::from(!table.exists());
        if run % 2 == 0 {
            // Whoever writes to the folder has the old table there again.
            succeed(wrap(&folder, &modules[..1], "out/other.syclbin"));
            std::fs::remove_file(out.join("other.syclbin")).unwrap();
            let left = files(&out);
            assert!(left == new || left == old, "{:?}", left.keys());
        }
        succeed(wrap(&folder, &second, "out/w.table"));
        assert!(files(&out) == new, "{:?}", files(&out).keys());
        succeed(wrap(&folder, first, "out/w.table"));
        assert!(files(&out) == old, "{:?}", files(&out).keys());
        if met == 4 {
            return;
        }
    }
    panic!("{met} runs were met");
}

#[test]
fn a_table_over_another_one_that_cannot_appear_leaves_the_old_one() {
    let (folder, modules) = many(7);
    succeed(wrap(&folder, &modules[..4], "out/w.table"));
    let second: Vec<String> = [0, 5, 6].map(|number: usize| modules[number].clone()).to_vec();
    // A folder is in the place of a part.
    let out = folder.path().join("out");
    std::fs::remove_file(out.join("w_2.spv")).unwrap();
    std::fs::create_dir(out.join("w_2.spv")).unwrap();
    let before = files(&out);
    assert_eq!(wrap(&folder, &second, "out/w.table").status().unwrap().code(), Some(5));
    assert!(files(&out) == before, "{:?}", files(&out).keys());
    std::fs::remove_dir(out.join("w_2.spv")).unwrap();
    succeed(wrap(&folder, &second, "out/w.table"));
    let parts = |number| ["prop", "spv", "sym"].map(|kind| format!("w_{number}.{kind}"));
    let expected: Vec<String> = (0..3).flat_map(parts).filter(|name| out.join(name).exists()).collect();
    let left: Vec<String> = files(&out).into_keys().filter(|name| name != "w.table").collect();
    assert_eq!(left, expected);
}

#[test]
fn parts_that_a_table_has_no_more_are_gone_with_it_whatever_ends_the_tool() {
    let (folder, modules) = many(MANY);
    let (out, table) = (folder.path().join("out"), folder.path().join("out/w.table"));
    succeed(wrap(&folder, &modules[..2], "out/w.table"));
    let small = files(&out);
    succeed(wrap(&folder, &modules, "out/w.table"));
    let large = files(&out);
    let mut met = 0;
    for run in 0..MOST_RUNS {
        let number = || table.metadata().ok().map(|table| table.ino());
        let before = number();
        let mut child = wrap(&folder, &modules[..2], "out/w.table").spawn().unwrap();
        wait_for(&child, || number().is_some_and(|now| Some(now) != before));
        send([Signal::TERM, Signal::KILL, Signal::INT][run % 3], &child);
        met += usize::from(child.wait().unwrap().code().is_none());
        let left = files(&out).into_iter().filter(|(name, _)| !name.starts_with(".sycl-bundle-")).collect();
        assert!(small == left || large == left, "{:?}", left.keys());
        succeed(wrap(&folder, &modules, "out/w.table"));
        assert!(files(&out) == large, "{:?}", files(&out).keys());
        if met == 6 {
            return;
        }
    }
    panic!("{met} runs were met");
}
