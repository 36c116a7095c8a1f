//! What does a driver reach from within a worker?

use super::program::{said, tool};
use super::support::folder::Folder;
use super::support::spirv;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program that tries to reach what is not its own, and prints what it got: `ok`, or the number of the error.
const PROBE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
static void told(const char *what, long got) {
    if (got < 0) printf("%s %d\n", what, errno); else printf("%s ok\n", what);
}
int main(int count, char **words) {
    const char *victim = words[1];
    struct timespec times[2] = {{1, 0}, {1, 0}};
    struct rlimit limit = {1 << 30, 1 << 30};
    struct sockaddr_un at = {AF_UNIX};
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int pair[2], read_only = open(victim, O_RDONLY);
    strncpy(at.sun_path, words[2], sizeof at.sun_path - 1);
    told("landlock6", syscall(444, NULL, 0, 1) - 6);
    told("chmod", chmod(victim, 0777));
    told("fchmod", fchmod(read_only, 0777));
    told("fchmodat", fchmodat(AT_FDCWD, victim, 0777, 0));
    told("fchmodat2", syscall(452, AT_FDCWD, victim, 0777, 0));
    told("chown", chown(victim, getuid(), getgid()));
    told("fchown", fchown(read_only, getuid(), getgid()));
    told("lchown", lchown(victim, getuid(), getgid()));
    told("utimensat", utimensat(AT_FDCWD, victim, times, 0));
    told("futimens", futimens(read_only, times));
    told("setxattr", setxattr(victim, "user.x", "x", 1, 0));
    told("truncate", truncate(victim, 0));
    told("open", open(victim, O_WRONLY));
    told("unix", socket(AF_UNIX, SOCK_STREAM, 0));
    told("connect", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&at, sizeof at));
    told("inet", socket(AF_INET, SOCK_DGRAM, 0));
    told("datagrams", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair));
    told("uring", syscall(425, 1, NULL));
    told("keys", syscall(SYS_keyctl, 0, -3, 0));
    told("shared segment", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
    told("semaphores", semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    told("messages", msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    told("name space", unshare(CLONE_NEWUSER));
    told("cloned name space", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    told("queue", mq_open("/sycl-bundle-probe", O_CREAT | O_RDWR, 0600, NULL));
    told("queue's end", syscall(SYS_mq_unlink, "sycl-bundle-probe-none"));
    told("flags", ioctl(read_only, FS_IOC_SETFLAGS, &(long){0}));
    told("attributes", ioctl(read_only, FS_IOC_FSSETXATTR, &(struct fsxattr){0}));
    told("version", ioctl(read_only, FS_IOC_SETVERSION, &(long){0}));
    struct {long long flags, more[10];} wish = {CLONE_NEWUSER};
    told("newer clone", syscall(435, &wish, sizeof wish));
    told("verity", ioctl(read_only, 0x40806685, NULL));
    int folder = open("..", O_RDONLY | O_DIRECTORY);
    told("snapshot", ioctl(folder, 0x50009417, NULL));
    told("subvolume's end", ioctl(folder, 0x5000940f, NULL));
    told("encryption", ioctl(folder, 0x800c6613, NULL));
    told("attributes of FAT", ioctl(folder, 0x40047211, NULL));
    told("clone", ioctl(read_only, 0x40049409, folder));
    told("priority", setpriority(PRIO_PROCESS, getppid(), 19));
    told("priorities", setpriority(PRIO_USER, 0, 19));
    told("disk priority", syscall(SYS_ioprio_set, 1, getppid(), 3 << 13));
    told("disk priorities", syscall(SYS_ioprio_set, 3, getuid(), 3 << 13));
    told("affinity", sched_setaffinity(getppid(), sizeof all, &all));
    told("scheduler", sched_setscheduler(getppid(), SCHED_BATCH, &(struct sched_param){0}));
    told("limits", prlimit(getppid(), RLIMIT_FSIZE, &limit, NULL));
    told("watch", inotify_init1(0));
    told("watches", fanotify_init(0, 0));
    struct {struct file_handle head; char rest[128];} handle = {{128}};
    int mount;
    name_to_handle_at(AT_FDCWD, victim, &handle.head, &mount, 0);
    told("handle", open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
    told("kill", kill(getppid(), 0));
    told("device", mknod("disk", S_IFBLK | 0600, 0x800));
    told("inherited", write(9, "x", 1));
    told("shared memory", open("/dev/shm/sycl-bundle-probe", O_CREAT | O_RDWR, 0600));
    told("terminals", open("/dev/ptmx", O_RDWR | O_NOCTTY));
    told("own session", getsid(0) == getpid() ? 0 : -1);
    told("streams", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    told("own priority", setpriority(PRIO_PROCESS, 0, 19));
    told("own affinity", sched_setaffinity(0, sizeof all, &all));
    told("own limits", prlimit(0, RLIMIT_CORE, NULL, &limit));
    int waiting;
    told("own terminals", ioctl(pair[0], FIONREAD, &waiting));
    told("own file", open("mine", O_CREAT | O_RDWR, 0600));
    told("null", open("/dev/null", O_WRONLY));
    return 0;
}
"#;

/// Calls that lead nowhere outside, and work.
const OWN: [&str; 9] = [
    "own session",
    "own priority",
    "own affinity",
    "streams",
    "own limits",
    "own terminals",
    "own file",
    "null",
    "landlock6",
];
/// Calls that the filter refuses, whatever else would come of them.
const REFUSED: [&str; 21] = [
    "watch",
    "watches",
    "handle",
    "snapshot",
    "subvolume's end",
    "encryption",
    "attributes of FAT",
    "clone",
    "version",
    "cloned name space",
    "queue",
    "queue's end",
    "flags",
    "attributes",
    "verity",
    "priority",
    "priorities",
    "disk priority",
    "disk priorities",
    "affinity",
    "scheduler",
];

fn worker(folder: &Folder, script: &str, words: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sycl-bundle")]).args(words);
    command.current_dir(folder.path().join("own")).output().unwrap()
}

#[test]
fn a_driver_changes_nothing_outside_and_speaks_to_nobody() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    folder.put("probe.c", PROBE);
    let probe = folder.path().join("probe");
    let built = Command::new("cc").arg("-w").arg("-o").arg(&probe).arg(folder.path().join("probe.c")).status();
    assert!(built.unwrap().success());
    let victim = folder.put("victim", "precious");
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o600)).unwrap();
    let before = std::fs::metadata(&victim).unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let inherited = folder.put("inherited", "");
    let script = r#"exec 9>"$4"; exec "$0" worker --confined --run "$1" "$2" "$3""#;
    let [probe, target, socket, left_open] = [&probe, &victim, &socket, &inherited].map(|path| path.to_str().unwrap());
    let done = worker(&folder, script, &[probe, target, socket, left_open]);
    let text = String::from_utf8(done.stdout).unwrap();
    let got: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    assert!(got.len() > 29, "{text}{}", String::from_utf8_lossy(&done.stderr));
    // Before Linux 6.12 Landlock does not know signals.
    let knows_signals = got["landlock6"] == "ok";
    // Where there are GPUs, their drivers may share memory.
    let has_gpus = |path: &str| std::path::Path::new(path).exists();
    let shares = ["/dev/dri", "/dev/kfd", "/dev/accel", "/dev/dxg", "/dev/nvidiactl"].into_iter().any(has_gpus);
    let may = |what: &str| what == "kill" && !knows_signals || what == "shared memory" && shares;
    let reached = got.iter().filter(|(what, answer)| **answer == "ok" && !OWN.contains(what) && !may(what));
    assert_eq!(reached.collect::<Vec<_>>(), Vec::<(&&str, &&str)>::new());
    let refused = got.iter().filter(|(what, answer)| **answer != "ok" && OWN.contains(what) && **what != "landlock6");
    assert_eq!(refused.collect::<Vec<_>>(), Vec::<(&&str, &&str)>::new());
    let passed = REFUSED.iter().filter(|what| got.get(**what) != Some(&"1"));
    assert_eq!(passed.collect::<Vec<_>>(), Vec::<&&str>::new(), "{text}");
    assert_eq!(got["newer clone"], "38", "a kernel without it");
    let after = std::fs::metadata(&victim).unwrap();
    let facts = |of: &std::fs::Metadata| (of.mode(), of.uid(), of.mtime(), of.ctime(), of.ctime_nsec());
    assert_eq!(facts(&before), facts(&after));
    assert!(std::fs::read(inherited).unwrap().is_empty());
}

/// Code that a module takes over in a compiler could copy what it reads into what is built.
#[test]
fn a_worker_with_modules_reads_the_systems_files_and_those_around_its_driver() {
    let folder = Folder::new();
    let put = |path: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "told\n").unwrap();
        path.to_str().unwrap().to_owned()
    };
    let library = put("driver/lib/libdriver.so");
    let of_user = put("home/libown.so.1");
    let at = |path: &str| folder.path().join(path).to_str().unwrap().to_owned();
    let known = [
        library.clone(),
        of_user.clone(),
        put("driver/lib/settings.cfg"),
        put("driver/share/pocl/kernel.bc"),
        put("project/compiler"),
        put("project/beside"),
        put("wrapped/root/usr/compiler"),
        put("tools/lib/libstarted.so"),
        put("venv/pyvenv.cfg"),
        put("home/tools/gpu/settings"),
        put("own/mine"),
        put("named/libother.so"),
        put("elsewhere/linked.so"),
        "/proc/self/status".to_owned(),
        "/usr/bin/env".to_owned(),
        "/etc/ld.so.cache".to_owned(),
        // Names are seen where loaders and interpreters look for files.
        at("driver/lib"),
        at("project"),
        at("own"),
        at("vendors"),
        "/usr/lib".to_owned(),
    ];
    std::fs::create_dir(folder.path().join("vendors")).unwrap();
    let others = [
        put("driver/token"),
        put("home/.ssh/key"),
        put("home/key"),
        put("home/.sops/key"),
        put("home/a.so.d/key"),
        put("project/.env"),
        put("wrapped/.env"),
        put("wrapped/share/keyring"),
        put("home/tools/key"),
        put("wrapped/key"),
        put("project/keys/key"),
        put("keys/key"),
        put("keys/other"),
        put("key"),
        "/etc/passwd".to_owned(),
        at(""),
        at("home"),
        at("home/.ssh"),
        at("keys"),
        "/var".to_owned(),
    ];
    std::os::unix::fs::symlink(folder.path().join("elsewhere/linked.so"), folder.path().join("linked.so")).unwrap();
    let linked = folder.path().join("linked.so");
    // No rule can name a pipe, which a link leads to.
    std::os::unix::fs::symlink("/dev/stdout", folder.path().join("project/link")).unwrap();
    // Nor is what a link leads to the compiler's.
    std::os::unix::fs::symlink(folder.path().join("keys"), folder.path().join("project/linked")).unwrap();
    let confined = r#"reads=$1; shift; export HOME=$PWD/../home LD_LIBRARY_PATH=$PWD/../named OCL_ICD_VENDORS=$PWD/../vendors
        exec "$0" worker --confined $reads --run sh -c '
            for file in "$@" /proc/$PPID/environ; do
                if test -d "$file"; then ls "$file"; else head -c1 "$file"; fi > /dev/null && echo "$file"
            done' sh "$@""#;
    let compiler = folder.path().join("project/compiler");
    std::fs::create_dir(folder.path().join("wrapped/bin")).unwrap();
    // A script has what it starts read, not what lies beside other files that it names.
    let (started, python) = (put("tools/bin/started"), put("venv/bin/python"));
    std::fs::write(&started, "#!/bin/sh\n").unwrap();
    std::fs::remove_file(&python).unwrap();
    std::os::unix::fs::symlink("/bin/sh", &python).unwrap();
    // Folders around it are not its own.
    let text = format!(
        "#!{python}\n. ../keys/one\nhere=$(cd \"$(dirname \"$0\")/..\" && pwd); root=$here/root; cd ../..\n\
         PATH=$HOME/tools/gpu:$PATH other || exec \"{started}\" \"$@\"\n"
    );
    std::fs::write(folder.path().join("home/tools/gpu/other"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(folder.path().join("home/tools/gpu/other"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    put("keys/one");
    let script = folder.put("wrapped/bin/compiler", &text);
    let files = [linked.as_path(), &compiler, script.as_ref()].map(|path| path.display().to_string());
    let reads = format!("--reads {library} {of_user} {}", files.join(" "));
    let of_parent = format!("/proc/{}/environ", std::process::id());
    let words: Vec<&str> = known.iter().chain(&others).map(String::as_str).collect();
    for (reads, expected) in [(reads.as_str(), known.as_slice()), ("", &[&known[..], &others[..]].concat())] {
        let done = worker(&folder, confined, &[&[reads], words.as_slice()].concat());
        let text = String::from_utf8(done.stdout).unwrap();
        let read: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("/proc/") || !line.ends_with("environ")).collect();
        assert_eq!(read, expected, "`{reads}`: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!text.contains(&of_parent), "{text}");
    }
}

/// Intel's compiler for GPUs takes options from there, whoever wrote them.
#[test]
fn options_that_others_left_are_not_read() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let options = std::path::Path::new("/tmp/IntelIGC");
    std::fs::create_dir_all(options).unwrap();
    let left = tempfile::NamedTempFile::new_in(options).unwrap();
    let other = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let [left, other] = [&left, &other].map(|file| file.path().to_str().unwrap());
    let script =
        r#"exec "$0" worker --confined --run sh -c 'for file; do cat "$file" && echo read; done' sh "$1" "$2""#;
    let done = worker(&folder, script, &[left, other]);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "read\n", "the second alone");
    assert!(String::from_utf8(done.stderr).unwrap().contains("ermission denied"));
}

/// A program that starts another where the kernel knows no Landlock: calls of number 444 fail with ENOSYS.
const WITHOUT_LANDLOCK: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
    execv(words[1], words + 1);
    return 98;
}
"#;

#[test]
fn without_landlock_options_that_others_left_are_an_error() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    folder.put("without.c", WITHOUT_LANDLOCK);
    let without = folder.path().join("without");
    let built = Command::new("cc").arg("-o").arg(&without).arg(folder.path().join("without.c")).status();
    assert!(built.unwrap().success());
    let options = std::path::Path::new("/tmp/IntelIGC");
    std::fs::create_dir_all(options).unwrap();
    let _left = tempfile::NamedTempFile::new_in(options).unwrap();
    let script = r#"exec $1 "$0" worker --confined --run sh -c 'echo ran'"#;
    let done = worker(&folder, script, &[""]);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "ran\n", "with Landlock");
    let done = worker(&folder, script, &[without.to_str().unwrap()]);
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), done.stdout), (Some(5), Vec::new()), "{told}");
    assert!(told.contains("/tmp/IntelIGC") && told.contains("remove"), "{told}");
}

#[test]
fn what_a_limit_leaves_workers_is_no_more_than_it_says() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let script = r#"ulimit -S -d 300000; exec "$0" worker --confined --run sh -c 'ulimit -S -d; ulimit -H -d'"#;
    let done = worker(&folder, script, &[]);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "300000\n300000\n");
}

/// As the pool starts it, so that Ctrl-C does not reach it.
#[test]
fn a_leader_of_a_group_begins_a_session() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.args(["worker", "--confined", "--run", "sh", "-c", "cut -d' ' -f1,6 /proc/$$/stat"]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let done = command.current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let (process, session) = text.trim().split_once(' ').unwrap();
    assert_eq!(process, session, "{}", String::from_utf8_lossy(&done.stderr));
}

/// Whether a process lives, and is none that only waits to be asked how it ended.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Waits until something is so.
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A worker may end by itself, at its parent's word, and because its parent was killed.
#[test]
fn what_leaves_its_session_ends_with_the_worker() {
    let folder = Folder::new();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    // The second is nobody's child once its parent has ended.
    let strays =
        "setsid sleep 600 > /dev/null 2>&1 & (setsid sleep 600 > /dev/null 2>&1 & echo $! > other); echo $! > one";
    for (end, killed) in
        [("kill -SEGV $$", None), ("exit 7", None), ("sleep 600", Some("-TERM")), ("sleep 600", Some("-KILL"))]
    {
        let script = format!(
            r#""$0" worker --watched --confined --run sh -c '{strays}; echo > ready; {end}' & echo $!; wait $!; echo $?"#
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_sycl-bundle")]).current_dir(&own).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut said = BufReader::new(shell.stdout.take().unwrap()).lines();
        let watcher = said.next().unwrap().unwrap();
        soon("it does not start", || own.join("ready").exists());
        let [one, other] =
            ["one", "other"].map(|name| std::fs::read_to_string(own.join(name)).unwrap().trim().to_owned());
        let status = match killed {
            Some("-KILL") => {
                // The parent of the one that watches.
                shell.kill().unwrap();
                String::new()
            }
            Some(signal) => {
                assert!(lives(&one) && lives(&other) && lives(&watcher));
                assert!(Command::new("kill").args([signal, &watcher]).status().unwrap().success());
                said.next().unwrap().unwrap()
            }
            None => said.next().unwrap().unwrap(),
        };
        soon("something is left", || [&one, &other, &watcher].into_iter().all(|pid| !lives(pid)));
        let expected: &[&str] = match (end, killed) {
            ("exit 7", _) => &["7"],
            (_, None) => &["139"],
            // By the signal, or as the worker that it ended.
            (_, Some("-TERM")) => &["143", "137"],
            _ => &[""],
        };
        assert!(expected.contains(&status.as_str()), "{end}: {status}");
        shell.wait().unwrap();
        ["one", "other", "ready"].iter().for_each(|name| std::fs::remove_file(own.join(name)).unwrap());
    }
}

/// The loader waits, so that the tool is met while its worker works.
#[test]
fn a_folder_of_a_worker_goes_where_a_signal_ends_the_tool() {
    let folder = Folder::new();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let library = folder.path().join("libOpenCL.so.1");
    folder.put("loader.c", "#include <unistd.h>\nint clGetPlatformIDs() { sleep(60); return -1; }\n");
    let mut cc = Command::new("cc");
    assert!(
        cc.args(["-w", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(folder.path().join("loader.c"))
            .status()
            .unwrap()
            .success()
    );
    let left = || std::fs::read_dir(&temporary).unwrap().count();
    let start = || {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.arg("devices").env("OPENCL_DYLIB_PATH", &library).env("TMPDIR", &temporary);
        tool.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    };
    for signal in ["-KILL", "-TERM", "-INT"] {
        let mut tool = start();
        // The folder of the killed one goes, and there is one of this.
        soon("no worker", || {
            left() == 1
                && std::fs::read_dir(&temporary)
                    .unwrap()
                    .flatten()
                    .all(|entry| entry.file_name().to_string_lossy().contains(&format!("-{}-", tool.id())))
        });
        assert!(Command::new("kill").args([signal, &tool.id().to_string()]).status().unwrap().success());
        assert!(tool.wait().unwrap().code().is_none());
        assert_eq!(left(), usize::from(signal == "-KILL"), "{signal}");
    }
}

/// A loader hands a name alone to `dlopen`, which does not look in the current folder, and a list's name to the system's folder of
/// lists. A file of that name that lies here is a stranger's.
#[test]
fn a_file_with_the_name_of_a_driver_is_not_the_driver() {
    let folder = Folder::new();
    folder.put("libdriver.so", "a stranger's");
    folder.put("lists.icd", "a stranger's");
    folder.put("m.spv", spirv::module("add_one"));
    let script = "#!/bin/sh\ncase $1 in query) printf 99.1 > OCL_DRIVER_VERSION ;; compile)\n\
                  echo \"<$OCL_ICD_FILENAMES> <$OCL_ICD_VENDORS> <$LD_LIBRARY_PATH>\" >&2; exit 1 ;; esac\n";
    folder.file("ocloc", script.as_bytes());
    let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    tool.args(["build", "m.spv", "-t", "pvc", "-o", "o.table", "--no-cache", "-v", "--ocloc", "./ocloc"]);
    tool.env("OCL_ICD_FILENAMES", "libdriver.so:./libdriver.so").env("OCL_ICD_VENDORS", "lists.icd");
    let done = tool.env("LD_LIBRARY_PATH", "own").current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    let here = folder.path().canonicalize().unwrap();
    let here = here.display();
    let given = format!("<libdriver.so:{here}/libdriver.so> <lists.icd> <{here}/own>");
    assert!(text.split_whitespace().collect::<String>().contains(&given.replace(' ', "")), "{text}");
}

/// A script that cannot read what it looks for may find another compiler, whose code would be kept as the first one's.
#[test]
fn a_compiler_that_is_another_one_within_its_bounds_compiles_nothing() {
    let folder = Folder::new();
    for name in ["bin", "keys"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder.put("keys/one", "");
    folder.put("m.spv", spirv::module("add_one"));
    let key = folder.path().join("keys/one").display().to_string();
    for (looked_for, other) in [("$(printf '/%s' \"$(echo KEY)\")", true), ("/KEY", false)] {
        let looked_for = looked_for.replace("KEY", key.trim_start_matches('/'));
        let script = format!(
            "#!/bin/sh\nversion=1.1\ncat {looked_for} && version=2.2\n[ $1 != query ] || printf $version > OCL_DRIVER_VERSION\n"
        );
        folder.file("bin/ocloc", script.as_bytes());
        let done = tool(&folder, ["build", "m.spv", "-t", "pvc", "--ocloc", "bin/ocloc", "-o", "o.table"]);
        let said = said(&done);
        assert_eq!(said.contains("tells 2.2 as its version, and tells 1.1 where"), other, "{said}");
        assert_eq!(done.status.code(), Some(if other { 5 } else { 4 }), "{said}");
    }
}
