//! What does a driver reach from within a worker?

use super::support::folder::Folder;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};

/// A program that tries to reach what is not its own, and prints what it got: `ok`, or the number of the error.
const PROBE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
    told("limits", prlimit(getppid(), RLIMIT_FSIZE, &limit, NULL));
    told("kill", kill(getppid(), 0));
    told("device", mknod("disk", S_IFBLK | 0600, 0x800));
    told("inherited", write(9, "x", 1));
    told("terminals", open("/dev/ptmx", O_RDWR | O_NOCTTY));
    told("own session", getsid(0) == getpid() ? 0 : -1);
    told("streams", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    told("own limits", prlimit(0, RLIMIT_CORE, NULL, &limit));
    told("own file", open("mine", O_CREAT | O_RDWR, 0600));
    told("null", open("/dev/null", O_WRONLY));
    return 0;
}
"#;

/// Calls that lead nowhere outside, and work.
const OWN: [&str; 6] = ["own session", "streams", "own limits", "own file", "null", "landlock6"];

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
    assert!(got.len() > 25, "{text}{}", String::from_utf8_lossy(&done.stderr));
    // Before Linux 6.12 Landlock does not know signals.
    let knows_signals = got["landlock6"] == "ok";
    let reached = got
        .iter()
        .filter(|(what, answer)| **answer == "ok" && !OWN.contains(what) && (**what != "kill" || knows_signals));
    assert_eq!(reached.collect::<Vec<_>>(), Vec::<(&&str, &&str)>::new());
    let refused = got.iter().filter(|(what, answer)| **answer != "ok" && OWN.contains(what) && **what != "landlock6");
    assert_eq!(refused.collect::<Vec<_>>(), Vec::<(&&str, &&str)>::new());
    let after = std::fs::metadata(&victim).unwrap();
    let facts = |of: &std::fs::Metadata| (of.mode(), of.uid(), of.mtime(), of.ctime(), of.ctime_nsec());
    assert_eq!(facts(&before), facts(&after));
    assert!(std::fs::read(inherited).unwrap().is_empty());
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
