//! Does the guide's script for Slurm build a library with the nodes of a real cluster?
//!
//! A cluster of one node, whose controller, daemon and authentication run as this user in a folder of their own. The node
//! says that it has more processors than it has, so that the script runs as it stands.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::recipes::block;
use crate::tool::build;
use crate::world::{succeed, tail, world};

/// Time that starting a daemon, or all jobs, may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The daemons of a cluster, which end with it.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    fn start() -> Cluster {
        // The path of a socket is short.
        let folder = tempfile::Builder::new().prefix("slurm").tempdir_in("/tmp").unwrap();
        let mut cluster = Cluster { folder, daemons: Vec::new() };
        let host = String::from_utf8(succeed(Command::new("hostname").arg("-s")).stdout).unwrap().trim().to_owned();
        let user = String::from_utf8(succeed(Command::new("id").arg("-un")).stdout).unwrap().trim().to_owned();
        let at = cluster.folder.path().to_path_buf();
        std::fs::create_dir(at.join("state")).unwrap();
        std::fs::create_dir(at.join("spool")).unwrap();
        let mut key = [0; 128];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        std::fs::write(at.join("munge.key"), key).unwrap();
        succeed(Command::new("chmod").arg("400").arg(at.join("munge.key")));
        let [controller, node] = free_ports();
        let at_text = at.display();
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={at_text}/munge.socket\nSlurmctldPort={controller}\n\
             SlurmdPort={node}\nStateSaveLocation={at_text}/state\nSlurmdSpoolDir={at_text}/spool\n\
             SlurmctldPidFile={at_text}/slurmctld.pid\nSlurmdPidFile={at_text}/slurmd.pid\n\
             SlurmctldLogFile={at_text}/slurmctld.log\nSlurmdLogFile={at_text}/slurmd.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nMpiDefault=none\nReturnToService=2\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN\n\
             PartitionName=all Nodes={host} Default=YES State=UP MaxTime=INFINITE\n"
        );
        std::fs::write(at.join("slurm.conf"), conf).unwrap();
        let munge = ["key-file=munge.key", "socket=munge.socket", "pid-file=munge.pid", "log-file=munge.log"];
        let munge = munge.iter().chain(&["seed-file=munge.seed"]).map(|option| {
            let (name, file) = option.split_once('=').unwrap();
            format!("--{name}={at_text}/{file}")
        });
        cluster.daemon("munged", munge.chain(["--foreground".to_owned(), "--force".to_owned()]).collect());
        cluster.wait("the authentication", || at.join("munge.socket").exists());
        let conf = at.join("slurm.conf").display().to_string();
        cluster.daemon("slurmctld", vec!["-D".to_owned(), "-f".to_owned(), conf.clone()]);
        cluster.daemon("slurmd", vec!["-D".to_owned(), "-f".to_owned(), conf]);
        let idle = || {
            let output = cluster.command("sinfo").args(["-h", "-o", "%t"]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).trim() == "idle"
        };
        cluster.wait("the node", idle);
        cluster
    }

    fn daemon(&mut self, name: &str, arguments: Vec<String>) {
        let said = std::fs::File::create(self.folder.path().join(format!("{name}.said"))).unwrap();
        let mut command = Command::new(name);
        // Debian keeps daemons where not everybody looks.
        command.args(arguments).env("PATH", path_with("/usr/sbin"));
        command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("{name}: {error}; Debian has it in the packages munge, slurmctld, slurmd and slurm-client")
        });
        self.daemons.push(child);
    }

    /// A command that talks to this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = world().command(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn wait(&self, what: &str, done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < PATIENCE, "{what} is not ready: {}", self.said());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Logs of the daemons.
    fn said(&self) -> String {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|kind| kind == "log" || kind == "said"));
        logs.map(|path| format!("{}:\n{}\n", path.display(), tail(&std::fs::read(&path).unwrap()))).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            daemon.kill().ok();
            daemon.wait().ok();
        }
    }
}

/// Two ports that nobody listens on.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn path_with(folder: &str) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::env::split_paths(&path).chain([PathBuf::from(folder)])).unwrap()
}

#[test]
fn a_job_array_fills_the_cache_and_the_last_job_assembles() {
    let cluster = Cluster::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(world().window(), at("libfoo.so")).unwrap();
    std::fs::create_dir(at("out")).unwrap();
    std::fs::create_dir(at("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sycl-bundle"), at("bin/sycl-bundle")).unwrap();
    let bin = std::env::split_paths(&path_with("")).collect::<Vec<_>>();
    let path = std::env::join_paths([at("bin")].into_iter().chain(bin)).unwrap();
    let mut script = cluster.command("sh");
    script.arg("-ec").arg(block("sh", "sbatch --parsable")).current_dir(folder.path());
    succeed(script.env("HOME", folder.path()).env("PATH", path));
    let none_left = || cluster.command("squeue").arg("-h").output().is_ok_and(|output| output.stdout.is_empty());
    cluster.wait("the work", none_left);

    let said: Vec<String> = logs(folder.path()).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(said.len(), 9, "a job for each of eight parts, and the last: {said:?}");
    let last = said.iter().find(|text| text.contains("20 of 20 images compiled")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(last.contains("20 of them out of the cache"), "the last job compiles nothing: {last}");
    let straight = at("straight.so");
    build(&world().window(), &straight, &[]);
    assert!(std::fs::read(at("out/libfoo.so")).unwrap() == std::fs::read(straight).unwrap());
}

/// Logs of the jobs.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("slurm-")).collect()
}
