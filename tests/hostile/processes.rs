//! What do processes around the tool do to it: those that start it, and those that `record` starts?

use super::program::{pipe, said, tool};
use super::support::folder::Folder;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Plain files that a program leaves in its runtime's cache are read, and a signal ends the tool once the program has ended.
#[test]
fn what_a_recorded_program_leaves_is_not_waited_for() {
    let folder = Folder::new();
    let leave =
        "for n in 1 2 3 4; do : > $SYCL_CACHE_DIR/$n.src; mkfifo $SYCL_CACHE_DIR/$n.bin $SYCL_CACHE_DIR/x$n.src; done";
    let begin = Instant::now();
    let done = tool(&folder, ["record", "-o", "p.json", "--", "sh", "-c", leave]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(said(&done).matches("no plain file").count(), 4, "{}", said(&done));
    assert!(begin.elapsed() < Duration::from_secs(30));
    // A profile that nobody takes is waited with.
    pipe(&folder.path().join("pipe"));
    let mut record = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    record.args(["record", "-o", "pipe", "--", "true"]).current_dir(folder.path()).stderr(Stdio::null());
    let mut record = record.env("TMPDIR", folder.path()).spawn().unwrap();
    let status = loop {
        std::thread::sleep(Duration::from_millis(100));
        assert!(Command::new("kill").args(["-INT", &record.id().to_string()]).status().unwrap().success());
        if let Some(status) = record.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), None, "a signal ends it");
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_place_that_is_not_there_is_told_before_the_program_runs() {
    let folder = Folder::new();
    let made = folder.path().join("made.so").display().to_string();
    let done = tool(&folder, ["record", "-o", "p.json", "--in", &made, "--", "touch", &made]);
    assert!(done.status.code() == Some(0) && said(&done).contains("is not there"), "{}", said(&done));
    let done = tool(&folder, ["record", "-o", "p.json", "--in", &made, "--", "true"]);
    assert!(done.status.code() == Some(0) && !said(&done).contains("is not there"), "{}", said(&done));
}

/// A program under `record` may put anything in place of its runtime's cache; a link there is not followed, and does not stay.
#[test]
fn what_comes_in_place_of_a_recorded_programs_cache_is_not_read_and_not_left() {
    let (folder, temporary) = (Folder::new(), Folder::new());
    std::fs::create_dir(folder.path().join("other")).unwrap();
    folder.put("other/1.src", "");
    for put in ["ln -s $PWD/other $SYCL_CACHE_DIR", "mkfifo $SYCL_CACHE_DIR", ": > $SYCL_CACHE_DIR", ":"] {
        let mut record = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        record.args(["record", "-o", "p.json", "--", "sh", "-c", &format!("rm -r $SYCL_CACHE_DIR; {put}")]);
        let done = record.current_dir(folder.path()).env("TMPDIR", temporary.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{put}: {}", said(&done));
        assert!(said(&done).contains("in its place") && !said(&done).contains("cannot be read"), "{}", said(&done));
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "{put}");
        assert!(folder.path().join("other/1.src").exists(), "{put}");
    }
}

/// Runs the tool where the shell that starts it ignores signals, sends it one, and returns what it ends with.
fn ignoring(folder: &Folder, signals: &str, sent: &str, call: &str) -> Output {
    let tool = env!("CARGO_BIN_EXE_sycl-bundle");
    let send = if sent.is_empty() { String::new() } else { format!("sleep 1.5; kill -{sent} $!; ") };
    let script = format!("trap '' {signals}; {tool} {call} & {send}wait $!");
    Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
}

/// As under `nohup`, and in the background of a shell.
#[test]
fn signals_that_are_ignored_end_neither_the_tool_nor_what_it_records() {
    let folder = Folder::new();
    for signal in ["HUP", "INT", "TERM"] {
        let done = ignoring(
            &folder,
            signal,
            signal,
            "record -o p.json -- sh -c 'sleep 3; echo lived; grep SigIgn /proc/$$/status'",
        );
        assert_eq!(done.status.code(), Some(0), "{signal}: {}", said(&done));
        assert!(said(&done).contains("lived"), "{signal}: {}", said(&done));
        let ignored =
            said(&done).lines().find_map(|line| line.strip_prefix("SigIgn:").map(str::trim).map(str::to_owned));
        let number = match signal {
            "HUP" => 1,
            "INT" => 2,
            _ => 15,
        };
        let ignored = u64::from_str_radix(&ignored.unwrap(), 16).unwrap();
        assert_eq!(ignored >> (number - 1) & 1, 1, "{signal}: {ignored:x}");
    }
    // A program that heeds one all the same gets it.
    let heeding = "import signal, sys, time\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(9))\ntime.sleep(20)\n";
    folder.put("heeding.py", heeding);
    let done = ignoring(&folder, "INT", "INT", "record -o p.json -- python3 heeding.py");
    assert_eq!(done.status.code(), Some(9), "{}", said(&done));
    // One that is not ignored ends both.
    let done = ignoring(&folder, "HUP", "TERM", "record -o p.json -- sh -c 'sleep 5; echo lived'");
    assert!(done.status.code() != Some(0) && !said(&done).contains("lived"), "{}", said(&done));
}

/// The system keeps no status of children there.
#[test]
fn ends_of_children_are_seen_where_they_are_ignored() {
    let folder = Folder::new();
    let done = ignoring(&folder, "CHLD", "", "record -o p.json -- sh -c 'exit 7'");
    assert_eq!(done.status.code(), Some(7), "{}", said(&done));
    assert!(folder.path().join("p.json").exists());
    let done = ignoring(&folder, "CHLD", "", "doctor");
    assert!(!said(&done).contains("no worker process can be confined"), "{}", said(&done));
}

/// A runtime that cannot keep what it compiles keeps nothing.
#[test]
fn a_profile_of_a_full_disk_is_not_written() {
    let folder = Folder::new();
    folder.put("p.json", "earlier");
    std::fs::create_dir(folder.path().join("small")).unwrap();
    let tool = env!("CARGO_BIN_EXE_sycl-bundle");
    let within = |options: &str, then: &str| {
        let script = format!("mount -t tmpfs -o size=64k none small && {then}");
        Command::new("unshare").args([options, "sh", "-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    // Only root has name spaces of mounts everywhere.
    let may = |options: &&str| within(options, "true").status.success();
    let Some(options) = ["-m", "-rm"].into_iter().find(may) else { return };
    let done = within(options, &format!("TMPDIR=$PWD/small {tool} record -o p.json -- true"));
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    assert!(said(&done).contains("no profile is written"), "{}", said(&done));
    assert_eq!(folder.read("p.json"), b"earlier");
}
