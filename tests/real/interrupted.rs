//! What is left of a build that is killed?

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::judges::digest;
use crate::tool::build_command;
use crate::world::{succeed, world};

#[test]
fn a_killed_build_leaves_no_output_or_a_whole_one_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.so");
    // Of two runs the shorter: the others of the tests may have had the machine during one.
    let timed = |_| {
        std::fs::remove_file(&output).ok();
        let begin = Instant::now();
        succeed(&mut build_command(&world().window(), &output));
        begin.elapsed()
    };
    let whole_run = (0..2).map(timed).min().unwrap_or_default();
    let whole = digest(&std::fs::read(&output).unwrap());
    let input = digest(&std::fs::read(world().window()).unwrap());

    // Every process of a run carries this mark in its environment.
    let mark = format!("KILLED_BUILD={}", std::process::id());
    let (name, value) = mark.split_once('=').unwrap();
    let (mut killed, mut finished) = (0, 0);
    for moment in 0..20u32 {
        std::fs::remove_file(&output).ok();
        let mut command = build_command(&world().window(), &output);
        let mut child = command.env(name, value).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the run by the golden ratio, without an order; the last ones lie close to its end.
        let share = (f64::from(moment) * 0.618_034).fract();
        let share = if moment < 14 { share } else { 0.9 + share / 5.0 };
        std::thread::sleep(whole_run.mul_f64(share));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            finished += 1;
        } else {
            killed += 1;
        }
        if let Ok(bytes) = std::fs::read(&output) {
            assert_eq!(digest(&bytes), whole, "killed after {share:.3} of the run: a part of the output");
        }
    }
    println!("{killed} builds killed, {finished} had ended before");
    assert!(killed >= 10, "too few were killed in time to prove anything");
    assert_eq!(input, digest(&std::fs::read(world().window()).unwrap()));

    let deadline = Instant::now() + Duration::from_secs(20);
    while !marked(&mark).is_empty() {
        assert!(Instant::now() < deadline, "workers outlive their build: {:?}", marked(&mark));
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// `timeout` sends a signal to its child, and at once to the whole group that this is in.
#[test]
fn a_signal_that_comes_twice_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let output = folder.path().join("out.so");
    let mut ended = 0;
    for moment in 1..8u64 {
        let mut command = build_command(&world().window(), &output);
        command.arg("--no-cache").env("TMPDIR", &scratch).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200 * moment));
        for gap in [0, moment * 5] {
            std::thread::sleep(Duration::from_millis(gap));
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        ended += usize::from(!child.wait().unwrap().success());
        let left: Vec<_> = std::fs::read_dir(&scratch).unwrap().filter_map(Result::ok).collect();
        assert!(left.is_empty(), "at {moment}: {left:?}");
    }
    assert!(ended >= 4, "too few were met by the signals: {ended}");
}

/// Processes with the mark in their environment.
fn marked(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let with_mark = processes.filter(|entry| {
        entry.file_name().as_bytes().iter().all(u8::is_ascii_digit)
            && std::fs::read(entry.path().join("environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes()))
    });
    with_mark.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
