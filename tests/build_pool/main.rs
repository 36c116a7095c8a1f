//! Does the pool survive its workers?
//!
//! The workers here are this test executable, started as [`the_worker`], with a compiler that does what a module's
//! text says: see `scripted.rs`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests are tests")]

mod scripted;

use std::fs;
use std::io::{Read, Write, stdin};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use sycl_bundle::build::Death;
use sycl_bundle::build::protocol::{Reply, Request};
use sycl_bundle::build::query::{Query, Question, ask};
use sycl_bundle::build::serve::serve;
use sycl_bundle::build::{Engine, Event, Failure, FailureCause, Job, Launch, Open, Outcome, Settings, inventory, run};
use sycl_bundle::error::{ErrorKind, Result};

use scripted::{DIR, START, Scripted, protocol};

#[test]
#[ignore = "not a test: what the tests start as a worker process"]
fn the_worker() {
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    serve(&mut stdin().lock(), &mut protocol(), &mut Scripted).unwrap();
}

/// A pool whose parent a test kills.
#[test]
#[ignore = "not a test: what a test starts as the parent of workers"]
fn the_parent() {
    let dir = std::env::var(DIR).unwrap();
    let _ = run(&jobs(&["hang", "hang"]), &engines(&launch(Path::new(&dir), "")), &settings(2), &mut |_| {});
}

/// A parent that gets no threads: stacks of this size cannot be had.
const NO_STACK: (&str, &str) = ("RUST_MIN_STACK", "140000000000000");

#[test]
#[ignore = "not a test: what a test starts as a parent that gets no threads"]
fn the_parent_without_threads() {
    let no_thread = std::thread::Builder::new().spawn(|| ());
    assert!(no_thread.is_err(), "this process gets threads");
    let dir = std::env::var(DIR).unwrap();
    let mut launch = launch(Path::new(&dir), "");
    launch.env.push((NO_STACK.0.into(), "2097152".into()));
    let long = "x".repeat(3 << 20);
    let mut finished = Vec::new();
    let jobs = jobs(&["one", "crash", "two", &long]);
    let outcomes = run(&jobs, &engines(&launch), &settings(2), &mut |event| {
        if let Event::Finished(artifact) = event {
            finished.push(artifact.image);
        }
    });
    let built: Vec<bool> = outcomes.unwrap().iter().map(Outcome::is_ok).collect();
    assert_eq!((built, finished.len()), (vec![true, false, true, true], 3));
}

#[test]
fn without_threads_the_caller_does_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.args(["--exact", "the_parent_without_threads", "--ignored", "--nocapture", "--test-threads=1"]);
    let done = parent.env(DIR, dir.path()).env(NO_STACK.0, NO_STACK.1).output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(!pids(dir.path()).is_empty() && pids(dir.path()).iter().all(|pid| !alive(*pid)), "a worker is left");
}

/// The shell moves the pipe to descriptor 3 and points standard output elsewhere, as `sycl-bundle worker` does for
/// itself: the test harness prints there before [`the_worker`] begins.
fn launch(dir: &Path, start: &str) -> Launch {
    let exe = std::env::current_exe().unwrap();
    let script = r#"exec "$0" --exact the_worker --ignored --nocapture 3>&1 1>&2"#;
    let env = vec![(DIR.into(), dir.into()), (START.into(), start.into())];
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into(), exe.into()],
        env,
        without: Vec::new(),
        reads: None,
        scratch: None,
    }
}

/// One engine of such workers.
fn engines(launch: &Launch) -> [Engine; 1] {
    [Engine { launch: launch.clone(), open: Open::Cpu }]
}

fn settings(jobs: usize) -> Settings {
    let mut settings = Settings::new(NonZeroUsize::new(jobs).unwrap());
    settings.timeout = Duration::from_secs(2);
    settings.startup_timeout = Duration::from_secs(20);
    settings
}

fn jobs<'a>(texts: &[&'a str]) -> Vec<Job<'a>> {
    let job = |(place, text): (usize, &&'a str)| Job {
        image: 100 + place,
        il: text.as_bytes().into(),
        compile_options: "-c".into(),
        link_options: "-l".into(),
        ..Job::default()
    };
    texts.iter().enumerate().map(job).collect()
}

/// Runs jobs, and asserts that no worker is left.
fn build(start: &str, workers: usize, texts: &[&str]) -> (Result<Vec<Outcome>>, Vec<String>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut events = Vec::new();
    let outcomes = run(&jobs(texts), &engines(&launch(dir.path(), start)), &settings(workers), &mut |event| {
        events.push(match event {
            Event::Started { image, .. } => format!("started {image}"),
            Event::Retrying { image, attempt, cause, .. } => format!("retrying {image} {attempt} {cause}"),
            Event::Finished(artifact) => format!("finished {}", artifact.image),
            Event::Failed(failure) => format!("failed {}", failure.image),
        });
    });
    let workers = pids(dir.path());
    assert!(workers.iter().all(|pid| !alive(*pid)), "a worker is left");
    (outcomes, events, workers.len())
}

fn pids(dir: &Path) -> Vec<u32> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix("pid-").map(|pid| pid.parse().unwrap())).collect()
}

/// A zombie is dead: it waits for whoever adopted it.
fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

/// Waits for something that is to happen in a moment.
fn soon(what: &str, done: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        sleep(Duration::from_millis(10));
    }
}

fn failure(outcomes: &[Outcome], place: usize) -> &Failure {
    outcomes[place].as_ref().unwrap_err()
}

#[test]
fn outcomes_stand_in_the_order_of_the_jobs_and_no_module_meets_another_in_a_worker() {
    let texts: Vec<String> = (0..40).map(|n| format!("module {n}{}", ".".repeat(n % 7 * 20))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (outcomes, events, workers) = build("", 2, &texts);
    for (place, (outcome, text)) in outcomes.unwrap().iter().zip(&texts).enumerate() {
        let artifact = outcome.as_ref().unwrap();
        assert_eq!(artifact.image, 100 + place);
        assert_eq!(artifact.binary, format!("native {text}").as_bytes());
        assert_eq!((artifact.log.as_str(), artifact.attempts), ("-c|-l", 1));
    }
    assert_eq!(workers, texts.len());
    assert_eq!(events.len(), 80);
}

/// The CPU driver dies at random, ocloc of what it is given.
#[test]
fn a_crash_of_ocloc_that_repeats_at_once_is_not_tried_a_third_time() {
    for (open, attempts) in [(Open::Cpu, 3), (Open::Ocloc(None), 2)] {
        let dir = tempfile::tempdir().unwrap();
        let engines = [Engine { launch: launch(dir.path(), ""), open }];
        let outcomes = run(&jobs(&["crash"]), &engines, &settings(1), &mut |_| {}).unwrap();
        let failure = failure(&outcomes, 0);
        assert_eq!((failure.attempts, failure.earlier.len()), (attempts, attempts as usize - 1), "{failure}");
        assert!(failure.to_string().contains("died of SIG"), "{failure}");
    }
}

#[test]
fn the_largest_modules_come_first() {
    let (_, events, _) = build("", 1, &["a", "a..", "a...", "a."]);
    let started: Vec<&String> = events.iter().filter(|event| event.starts_with("started")).collect();
    assert_eq!(started, ["started 102", "started 101", "started 103", "started 100"]);
}

#[test]
fn a_module_that_kills_its_worker_fails_alone() {
    let (outcomes, events, workers) = build("", 1, &["one", "crash....", "two"]);
    let outcomes = outcomes.unwrap();
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let failure = failure(&outcomes, 1);
    assert_eq!(failure.to_string(), "the driver's process died of SIGSEGV in each of 3 attempts");
    assert_eq!((failure.image, failure.attempts), (101, 3));
    assert!(failure.log.contains("PLEASE submit a bug report"), "{}", failure.log);
    assert_eq!(workers, 5, "each attempt had a fresh worker, and so had the others");
    assert_eq!(events[1], "retrying 101 2 the driver's process died of SIGSEGV");
    assert_eq!(events[2], "retrying 101 3 the driver's process died of SIGSEGV");
    assert_eq!(events[3], "failed 101");
}

#[test]
fn a_module_that_kills_its_worker_once_builds() {
    let (outcomes, _, workers) = build("", 1, &["one", "crash once"]);
    let outcomes = outcomes.unwrap();
    assert_eq!(outcomes[1].as_ref().unwrap().attempts, 2);
    assert_eq!(outcomes[0].as_ref().unwrap().attempts, 1);
    assert_eq!(workers, 3);
}

#[test]
fn exits_hangs_and_nonsense_are_told_apart() {
    let (outcomes, ..) = build("", 3, &["exit", "hang", "nonsense", "good"]);
    let outcomes = outcomes.unwrap();
    assert_eq!(failure(&outcomes, 0).cause, FailureCause::Died(Death::Exit(10)));
    assert_eq!(failure(&outcomes, 1).cause, FailureCause::TimedOut { after: Duration::from_secs(2) });
    assert_eq!(failure(&outcomes, 1).attempts, 1, "what hangs is not tried again");
    let nonsense = failure(&outcomes, 2).to_string();
    assert_eq!(nonsense, "the worker process sent no frame but \"LLVM ERRO\" in each of 3 attempts");
    assert!(outcomes[3].is_ok());
}

/// A fork of a driver holds the worker's sockets, and a compiler hangs in a process of its own.
#[test]
fn what_a_worker_started_neither_hides_its_end_nor_outlives_it() {
    let (outcomes, _, workers) = build("", 1, &["leave", "leave and hang", "good"]);
    let outcomes = outcomes.unwrap();
    assert_eq!(failure(&outcomes, 0).cause, FailureCause::Died(Death::Exit(7)));
    assert!(matches!(failure(&outcomes, 1).cause, FailureCause::TimedOut { .. }));
    // Three attempts and a timeout, each with its process, and the last.
    assert!(outcomes[2].is_ok() && workers == 9, "{workers}");
}

#[test]
fn an_answer_to_something_else_and_a_long_text_are_told_shortly() {
    let (outcomes, ..) = build("", 1, &["otherwise", "long log"]);
    let outcomes = outcomes.unwrap();
    let told = failure(&outcomes, 0).to_string();
    assert_eq!(told, "the worker process answered otherwise than asked: that it is ready");
    let log = &failure(&outcomes, 1).log;
    assert!(log.len() < 200_000 && log.contains("bytes are left out here"), "{}", log.len());
    let error = build("otherwise", 1, &["a"]).0.unwrap_err().to_string();
    assert!(
        error.contains("answered otherwise than asked: how compiling a module went") && error.len() < 1000,
        "{error}"
    );
}

/// A gigabyte for a module of five bytes was taken in.
#[test]
fn an_answer_is_bounded_by_what_was_asked_and_comes_after_it() {
    let (outcomes, ..) = build("", 1, &["flood"]);
    let outcomes = outcomes.unwrap();
    assert!(outcomes[0].is_err(), "80 MiB were taken for five bytes");
    let told = failure(&outcomes, 0).to_string();
    assert_eq!(told, "the worker process sent an answer of 83886088 bytes in each of 3 attempts");
    let (outcomes, ..) = build("early", 1, &["good"]);
    let told = failure(&outcomes.unwrap(), 0).to_string();
    assert_eq!(told, "the worker process answered before it was asked in each of 3 attempts");
}

#[test]
fn a_refusal_is_an_answer_and_is_not_repeated() {
    let (outcomes, events, workers) = build("", 1, &["refuse", "hollow", "good"]);
    let outcomes = outcomes.unwrap();
    let refused = failure(&outcomes, 0);
    assert_eq!(refused.to_string(), "the driver refused it with CL_BUILD_PROGRAM_FAILURE (-11)");
    assert_eq!((refused.log.as_str(), refused.attempts), ("-c|-l", 1));
    assert_eq!(failure(&outcomes, 1).cause, FailureCause::BadOutput("nothing inside".into()));
    assert!(outcomes[2].is_ok());
    assert_eq!(workers, 3);
    assert!(!events.iter().any(|event| event.starts_with("retrying")));
}

#[test]
fn large_modules_and_chatter_do_not_block_the_pipes() {
    let large = "x".repeat(5_000_000);
    let (outcomes, ..) = build("", 2, &[&large, "chatter", &large]);
    let outcomes = outcomes.unwrap();
    assert_eq!(outcomes[0].as_ref().unwrap().binary.len(), large.len() + 7);
    assert!(outcomes.iter().all(Result::is_ok));
    // A worker that hangs before it has read its module.
    let hanging = format!("hang{}", ".".repeat(5_000_000));
    let (outcomes, ..) = build("", 1, &[&hanging]);
    assert!(matches!(failure(&outcomes.unwrap(), 0).cause, FailureCause::TimedOut { .. }));
}

#[test]
fn a_machine_that_lacks_something_ends_the_run() {
    let (outcomes, events, workers) = build("unavailable", 1, &["a", "b", "c"]);
    let error = outcomes.unwrap_err();
    assert_eq!((error.kind(), error.message().as_str()), (ErrorKind::Environment, "no loader"));
    assert_eq!(error.remedy(), Some("get one"));
    assert_eq!((workers, events.len()), (1, 0));
}

#[test]
fn a_driver_that_never_starts_ends_the_run_and_one_that_fails_once_does_not() {
    let error = build("crash", 1, &["a"]).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    let sentence = "no worker process could be started in 3 attempts: the driver's process died of SIGABRT";
    assert!(error.message().starts_with(sentence), "{error}");
    assert!(build("crash once", 1, &["a"]).0.unwrap()[0].is_ok());

    let dir = tempfile::tempdir().unwrap();
    let mut impatient = settings(1);
    impatient.startup_timeout = Duration::from_millis(500);
    let error = run(&jobs(&["a"]), &engines(&launch(dir.path(), "hang")), &impatient, &mut |_| {}).unwrap_err();
    assert!(error.message().contains("gave no answer within 0.5 s"), "{error}");
    assert_eq!(pids(dir.path()).len(), 1, "one that hangs once hangs again");

    let mut absent = launch(dir.path(), "");
    absent.program = "/nonexistent/worker".into();
    let error = run(&jobs(&["a"]), &engines(&absent), &settings(2), &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(error.message().starts_with("starting a worker process, /nonexistent/worker: "), "{error}");
}

#[test]
fn questions_survive_their_workers_too() {
    let question = |image, module: &'static str| {
        let modules = vec![module.as_bytes().into()];
        let kernels = vec!["first".into(), "second".into()];
        Question { image, query: Query { modules, native: false, options: "-o".into(), kernels } }
    };
    let dir = tempfile::tempdir().unwrap();
    let questions = [question(1, "crash once"), question(2, "crash"), question(3, "refuse"), question(4, "fine")];
    let mut settings = settings(1);
    settings.retries = 1;
    let outcomes = ask(&questions, 0, &launch(dir.path(), ""), &settings, &mut |_| {}).unwrap();
    let [retried, dead, refused, fine] = &outcomes[..] else { panic!("{outcomes:?}") };
    for (image, outcome) in [(1, retried), (4, fine)] {
        let answered = outcome.as_ref().unwrap();
        assert_eq!(answered.image, image);
        let names: Vec<&str> = answered.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(answered.kernels[0].raw(0x11B0), Ok(&[8; 8][..]));
        assert_eq!(answered.kernels[0].raw(0x11B5), Err(-30));
    }
    assert_eq!(dead.as_ref().unwrap_err().cause, FailureCause::Died(Death::Signal(11)));
    assert_eq!(dead.as_ref().unwrap_err().attempts, 2);
    assert_eq!(refused.as_ref().unwrap_err().log, "-o");
    assert!(pids(dir.path()).iter().all(|pid| !alive(*pid)), "a worker is left");
}

#[test]
fn the_inventory_comes_from_a_process_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let seen = inventory(&launch(dir.path(), ""), Duration::from_secs(20)).unwrap();
    assert_eq!((seen.loader.as_str(), seen.devices[0].compiles), ("/lib/x", true));
    let error = inventory(&launch(dir.path(), "crash"), Duration::from_secs(20)).unwrap_err();
    assert!(error.to_string().contains("died of SIGABRT"), "{error}");
}

/// The product's worker, on a machine where the loader finds no driver.
fn without_drivers() -> Command {
    let mut command = Command::new("/bin/sh");
    command.env("OCL_ICD_VENDORS", "/nonexistent").env_remove("OCL_ICD_FILENAMES");
    command
}

#[test]
fn the_real_worker_says_what_the_machine_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let mut launch = launch(dir.path(), "");
    launch.program = env!("CARGO_BIN_EXE_sycl-bundle").into();
    launch.args = vec!["worker".into()];
    let command = without_drivers();
    let set = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap_or_default().to_owned()));
    launch.env = set.collect();
    let error = run(&jobs(&["a", "b"]), &engines(&launch), &settings(2), &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(error.message().contains("OpenCL loader"), "{error}");
    assert!(error.remedy().unwrap().contains("--install-driver"));
}

#[test]
fn the_real_worker_dies_with_its_parent_while_its_input_is_open() {
    let script = r#"exec 3<&0; "$0" worker <&3 & echo $!; wait"#;
    let mut shell = without_drivers()
        .args(["-c", script, env!("CARGO_BIN_EXE_sycl-bundle")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = shell.stdout.take().unwrap();
    // Byte by byte: what follows the line is the worker's.
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        output.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let pid = String::from_utf8(line).unwrap().trim().parse().unwrap();
    // The worker's answer proves that it is up, its preparations done.
    shell.stdin.as_mut().unwrap().write_all(&Request::Inventory.encode().unwrap()).unwrap();
    assert!(matches!(Reply::read(&mut output).unwrap(), Some(Reply::Unavailable { .. })));
    assert!(alive(pid));
    shell.kill().unwrap();
    soon("the worker is left", &|| !alive(pid));
    shell.wait().unwrap();
}

/// Landlock is in Linux since 5.13.
#[test]
fn the_real_worker_writes_below_its_own_folder_only() {
    let outside = tempfile::tempdir().unwrap();
    let own = tempfile::tempdir().unwrap();
    let script = r#"echo inside > inside; echo outside > "$0/outside"; ulimit -c; ulimit -d; ulimit -f; ulimit -t"#;
    let done = without_drivers()
        .args(["-c", r#"exec "$0" worker --confined --run sh -c "$1" "$2""#, env!("CARGO_BIN_EXE_sycl-bundle"), script])
        .arg(outside.path())
        .current_dir(own.path())
        .output()
        .unwrap();
    assert!(own.path().join("inside").exists(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(!outside.path().join("outside").exists(), "a worker wrote outside of its folder");
    let limits = String::from_utf8(done.stdout).unwrap();
    assert!(limits.lines().all(|limit| limit != "unlimited") && limits.lines().count() == 4, "{limits}");
}

#[test]
fn nothing_to_do_starts_nothing() {
    let (outcomes, events, workers) = build("", 4, &[]);
    assert_eq!((outcomes.unwrap().len(), events.len(), workers), (0, 0, 0));
}

#[test]
fn a_panic_in_the_caller_leaves_no_workers() {
    let dir = tempfile::tempdir().unwrap();
    let launch = launch(dir.path(), "");
    let panicked = std::panic::catch_unwind(|| {
        run(&jobs(&["good", "hang", "hang"]), &engines(&launch), &settings(2), &mut |event| {
            assert!(!matches!(event, Event::Finished(_)), "as this test wants it");
        })
    });
    assert!(panicked.is_err());
    assert!(pids(dir.path()).iter().all(|pid| !alive(*pid)));
}

#[test]
fn a_killed_parent_leaves_no_workers() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_parent", "--ignored", "--nocapture"])
        .env(DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    soon("no workers", &|| pids(dir.path()).len() == 2);
    parent.kill().unwrap();
    parent.wait().unwrap();
    soon("a worker is left", &|| pids(dir.path()).iter().all(|pid| !alive(*pid)));
}
