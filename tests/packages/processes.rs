//! Are the libraries of a process those it has mapped?

use crate::support::host::{Fixture, samples};
use crate::{inspect, library};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that has mapped a file, and is ended with the test.
struct Mapper(Child);

impl Mapper {
    fn start(path: &Path) -> Mapper {
        let program = crate::support::host::tool("python3");
        let script = "import mmap,sys,time\nf=open(sys.argv[1],'rb')\n\
                      m=mmap.mmap(f.fileno(),0,flags=mmap.MAP_PRIVATE,prot=mmap.PROT_READ|mmap.PROT_EXEC)\n\
                      n=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)\nprint(flush=True)\ntime.sleep(60)";
        let mut child = Command::new(program).args(["-c", script]).arg(path).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        Mapper(child)
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn libraries_of_a_process_are_those_it_maps() {
    let path = Fixture::new("packaged").images(samples::every_property()).build().canonicalize().unwrap();
    let mapper = Mapper::start(&path);
    let pid = mapper.0.id();
    for argument in [format!("pid:{pid}"), format!("/proc/{pid}/maps")] {
        let seen = inspect(Path::new(&argument));
        assert_eq!(seen.code, 0, "{}", seen.stderr);
        let paths: Vec<_> = seen.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!((paths, seen.images().as_slice()), (vec![path.to_str().unwrap()], library().1));
    }
    // With `-v` the libraries without device code too: all that are mapped.
    let seen = crate::inspect_with(Path::new(&format!("pid:{pid}")), &["-v"]);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let elf = |path: &str| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let mapped: BTreeSet<_> = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
    let mapped: BTreeSet<_> = mapped.into_iter().filter(|path| elf(path)).collect();
    assert!(mapped.len() > 2);
    assert_eq!(seen.files.iter().map(|(path, _)| path.as_str()).collect::<BTreeSet<_>>(), mapped);
}

#[test]
fn a_library_that_was_replaced_is_read_as_the_process_has_it_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = crate::file(&folder, "x.so", library().0);
    let mapper = Mapper::start(&path);
    std::fs::remove_file(&path).unwrap();
    let seen = inspect(Path::new(&format!("pid:{}", mapper.0.id())));
    // Reading it takes a privilege.
    if seen.code == 0 {
        assert_eq!(seen.images(), library().1);
    } else {
        assert_eq!(seen.code, 3);
        assert!(seen.problems[0].0.ends_with("x.so (deleted)"), "{:?}", seen.problems);
    }
}

#[test]
fn a_process_that_is_not_there() {
    let seen = inspect(Path::new("pid:4194999"));
    assert_eq!(seen.code, 3);
    assert!(seen.stderr.contains("there is no process 4194999"), "{}", seen.stderr);
}
