//! How does a rewritten library get into a dpnp installation, and what happens when that is used?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::trace::Trace;
use crate::world::{scripts, succeed, tail, world};

/// A dpnp of hard links to the real one, in which single files can be replaced.
pub struct Installation {
    folder: tempfile::TempDir,
}

impl Installation {
    /// A copy that differs from the real package in these files (name below the package, replacement).
    pub fn with(files: &[(&str, &Path)]) -> Installation {
        let folder = tempfile::tempdir_in(world().root()).unwrap();
        link_tree(&world().site_packages().join("dpnp"), &folder.path().join("dpnp"));
        for (name, replacement) in files {
            let place = folder.path().join("dpnp").join(name);
            // Writing into it would write into the original.
            std::fs::remove_file(&place).unwrap();
            std::fs::copy(replacement, &place).unwrap();
        }
        Installation { folder }
    }

    fn python(&self) -> Command {
        let mut command = world().python();
        command.env("PYTHONPATH", std::env::join_paths([self.folder.path(), &scripts()]).unwrap());
        command.current_dir(self.folder.path());
        command
    }

    /// Runs `windows.py`: the numbers are right. Gives the seconds of the first call.
    pub fn first_call(&self) -> f64 {
        let output = succeed(self.python().arg(scripts().join("windows.py")));
        let text = String::from_utf8(output.stdout).unwrap();
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        assert!(Path::new(&value("dpnp")).starts_with(self.folder.path()), "another dpnp was used: {text}");
        assert!(text.ends_with("correct\n"), "{text}");
        value("first_call").parse().unwrap()
    }

    /// The trace of `windows.py`.
    pub fn trace_windows(&self) -> Trace {
        self.traced(self.python().arg(scripts().join("windows.py"))).0
    }

    /// Traces the windows with another library loaded first.
    pub fn trace_windows_with(&self, side: &Path) -> Trace {
        self.traced(self.python().arg(scripts().join("windows.py")).arg(side)).0
    }

    /// Runs tests of dpnp: the outcome of each, and the trace of what the runtime did meanwhile.
    pub fn run_tests(&self, which: &[&str]) -> (BTreeMap<String, String>, Trace) {
        let outcomes = self.folder.path().join("outcomes");
        let mut command = self.python();
        // Names of tests are told from the root, which without these is the folder of the next pyproject.toml.
        command.args(["-m", "pytest", "-q", "-s", "-c", "/dev/null", "--rootdir"]).arg(self.folder.path());
        command.args(["-p", "no:cacheprovider", "-p", "outcomes", "--pyargs"]).args(which);
        let (trace, said) = self.traced(command.env("OUTCOMES", &outcomes));
        let written = std::fs::read_to_string(&outcomes).unwrap_or_else(|error| panic!("{error}: {said}"));
        std::fs::remove_file(outcomes).unwrap();
        let lines = written.lines().map(|line| line.split_once('\t').unwrap());
        (lines.map(|(outcome, test)| (test.to_owned(), outcome.to_owned())).collect(), trace)
    }

    /// Runs a command, which may fail but not die, and reads its trace. Gives the end of what it said as well.
    fn traced(&self, command: &mut Command) -> (Trace, String) {
        let log = PathBuf::from(self.folder.path()).join("trace");
        let file = std::fs::File::create(&log).unwrap();
        command.env("SYCL_UR_TRACE", "2").stdout(Stdio::from(file.try_clone().unwrap())).stderr(Stdio::from(file));
        let status = command.status().unwrap();
        let text = std::fs::read(&log).unwrap();
        // pytest's 1 is "some test failed"; which one is the caller's matter.
        assert!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}\n{}", tail(&text));
        (Trace::read(&String::from_utf8_lossy(&text)), tail(&text))
    }
}

fn link_tree(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            link_tree(&entry.path(), &place);
        } else {
            std::fs::hard_link(entry.path(), place).unwrap();
        }
    }
}
