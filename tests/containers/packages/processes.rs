//! Are the libraries of a process those it has mapped?

use super::{inspect, library};
use crate::support::host::{Fixture, samples};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that has mapped a file, and is ended with the test.
struct Mapper(Child);

/// Names to [`the_mapper`] the file to map.
const FILE: &str = "SYCL_BUNDLE_TEST_MAPPED";

impl Mapper {
    fn start(path: &Path) -> Mapper {
        // Without the name of the crate, as the harness names tests.
        let name = format!("{}::the_mapper", module_path!().split_once("::").unwrap().1);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--ignored", "--nocapture"])
            .env(FILE, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("mapped")));
        Mapper(child)
    }
}

/// Maps a file as a library and as data, and waits to be ended.
#[test]
#[ignore = "not a test: a process for the tests below to look at"]
#[allow(unsafe_code, clippy::print_stdout, reason = "nobody changes the file while it is mapped")]
fn the_mapper() {
    let file = std::fs::File::open(std::env::var_os(FILE).unwrap()).unwrap();
    // SAFETY: the bytes are never looked at.
    let maps = unsafe { (memmap2::MmapOptions::new().map_exec(&file).unwrap(), memmap2::Mmap::map(&file).unwrap()) };
    println!("mapped");
    std::thread::sleep(std::time::Duration::from_secs(60));
    drop(maps);
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
    let seen = super::inspect_with(Path::new(&format!("pid:{pid}")), &["-v"]);
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
    let path: PathBuf = super::file(&folder, "x.so", library().0);
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

/// A file that is mounted over it since, or the one that is called as the kernel spells a line break.
#[test]
fn a_library_with_another_file_in_its_place_is_read_as_the_process_has_it_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let hollow = super::file(&folder, "hollow.so", &super::hollow());
    let check = |mapper: &Mapper, path: &Path| {
        let seen = inspect(Path::new(&format!("pid:{}", mapper.0.id())));
        if seen.code == 0 {
            assert_eq!(seen.images(), library().1, "{}", path.display());
        } else {
            assert_eq!(seen.code, 3);
            assert!(seen.problems[0].1.contains("another file is there"), "{:?}", seen.problems);
        }
    };
    let path = super::file(&folder, "x\n.so", library().0);
    let mapper = Mapper::start(&path);
    std::fs::copy(&hollow, folder.path().join("x\\012.so")).unwrap();
    check(&mapper, &path);
    let path = super::file(&folder, "y.so", library().0);
    let mapper = Mapper::start(&path);
    // Only root mounts.
    let quiet = || Stdio::null();
    let mounted = Command::new("mount").arg("--bind").args([&hollow, &path]).stderr(quiet()).status();
    if mounted.is_ok_and(|status| status.success()) {
        check(&mapper, &path);
        assert!(Command::new("umount").arg(&path).status().unwrap().success());
    }
}

#[test]
fn a_process_that_is_not_there() {
    let seen = inspect(Path::new("pid:4194999"));
    assert_eq!(seen.code, 3);
    assert!(seen.stderr.contains("there is no process 4194999"), "{}", seen.stderr);
}
