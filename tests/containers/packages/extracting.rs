//! Do the images of all libraries of a package fit in one folder, and stay in it?

use super::{file, library, make, module, run};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use zip::CompressionMethod::Deflated;

fn extract(path: &Path, out: &Path, more: &[&str]) -> super::Run {
    let mut arguments = vec![OsStr::new("extract"), path.as_os_str(), OsStr::new("-o"), out.as_os_str()];
    arguments.extend(more.iter().map(OsStr::new));
    run(&arguments)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn one_table_over_all_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, images) = library();
    let wheel = make::zip(Deflated, &[("p/x.so", bytes), ("p/k.spv", &module())]);
    let path = file(&folder, "p.whl", &wheel);
    let out = folder.path().join("out");
    let run = extract(&path, &out, &["--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let listed = document["images"].as_array().unwrap();
    assert_eq!(listed.len(), images.len() + 1);
    assert_eq!(listed.last().unwrap()["path"], format!("{}!p/k.spv", path.display()));
    let table = std::fs::read_to_string(out.join("images.table")).unwrap();
    let codes: Vec<_> = table.lines().skip(1).map(|line| line.split('|').next().unwrap()).collect();
    assert!(codes[0].starts_with("p_x.so_0."), "{codes:?}");
    assert_eq!(codes.last(), Some(&"p_k.spv_0.spv"));
    assert_eq!(std::fs::read(out.join("p_k.spv_0.spv")).unwrap(), module());
    assert!(codes.iter().all(|code| names(&out).contains(*code)));
}

#[test]
fn names_lead_out_of_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let tar = make::tar(&[
        ("../../up.spv", &module()),
        ("/abs.spv", &module()),
        ("a/b.spv", &module()),
        ("a_b.spv", &module()),
        ("..", &module()),
        (".", &module()),
        ("a|b\n.spv", &module()),
        (&"long/".repeat(100), &module()),
    ]);
    let path = file(&folder, "names.tar", &tar);
    let out = folder.path().join("deep/out");
    let run = extract(&path, &out, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(names(folder.path()), BTreeSet::from(["deep".to_owned(), "names.tar".to_owned()]));
    assert_eq!(names(&folder.path().join("deep")), BTreeSet::from(["out".to_owned()]));
    let spv = names(&out).into_iter().filter(|name| name.ends_with(".spv")).collect::<Vec<_>>();
    assert_eq!(spv.len(), 8, "{spv:?}");
    for expected in ["up.spv_0.spv", "abs.spv_0.spv", "a_b.spv_0.spv", "a_b.spv-2_0.spv"] {
        assert!(spv.iter().any(|name| name == expected), "{expected}: {spv:?}");
    }
}

#[test]
fn one_image_fits_a_stream_and_two_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let one = file(&folder, "one.zip", &make::zip(Deflated, &[("a.spv", &module())]));
    let run = extract(&one, Path::new("-"), &[]);
    assert_eq!((run.code, run.stdout), (0, module()), "{}", run.stderr);
    let two = file(&folder, "two.zip", &make::zip(Deflated, &[("a.spv", &module()), ("b.spv", &module())]));
    let run = extract(&two, Path::new("-"), &["--image", "0"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0), "{}", run.stderr);
}

#[test]
fn nothing_is_written_where_nothing_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "p.zip", &make::zip(Deflated, &[("a.py", b"pass")]));
    let out = folder.path().join("out");
    assert_eq!(extract(&path, &out, &[]).code, 6);
    let path = file(&folder, "q.zip", &make::zip(Deflated, &[("a.spv", &module())]));
    assert_eq!(extract(&path, &out, &["--image", "7"]).code, 1);
    assert!(!out.exists());
}
