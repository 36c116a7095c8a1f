//! Does code of the current folder run where pip is looked for?

use crate::tool::tool;

/// Names that Python imports when pip starts.
const IMPORTED: [&str; 4] = ["pip.py", "typing.py", "runpy.py", "sitecustomize.py"];

#[test]
fn doctor_runs_no_code_of_the_current_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    for name in IMPORTED {
        std::fs::write(folder.path().join(name), format!("open({mark:?}, 'w').close()\n")).unwrap();
    }
    let mut python = crate::support::tools::needed("python3");
    python.args(["-m", "pip", "--version"]).current_dir(folder.path());
    python.output().unwrap();
    assert!(mark.exists(), "the trap does not work: Python without -I should have run it");
    std::fs::remove_file(&mark).unwrap();

    let mut doctor = tool();
    doctor.arg("doctor").current_dir(folder.path()).env("PYTHONPATH", folder.path());
    let output = doctor.output().unwrap();
    assert!(!mark.exists(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("-I -m pip: pip "), "{output:?}");
}
