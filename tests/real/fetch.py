#!/usr/bin/env python3
"""Where do the real libraries come from that the tests read, rewrite and run?

    fetch.py [DIR]             default: target/real-world of this project; about 3 GB, once
    fetch.py --library NAME    one library of dpnp alone, by the start of its name; prints its path; 50 MB, once
    fetch.py --wheels [DIR]    the wheels of wheels.txt, into DIR/wheels; 150 MB, once

Installs requirements.txt (every wheel by version and SHA-256) with pip into DIR/venv and writes DIR/icd, which
tells the OpenCL loader of the CPU driver therein. DIR/ready holds the hash of requirements.txt and comes last: while it is
missing or different, everything is made anew, so an interrupted run leaves nothing that a later one would trust.
Several processes may call this at once: one works, the others wait. Whatever cannot be had is an error (exit code 1).
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
WHEELS = HERE / "wheels.txt"
DEFAULT = HERE.parent.parent / "target" / "real-world"
# The hashes of dpctl, dpnp and numpy are those of the wheels for this interpreter.
PYTHON = (3, 11)


def fail(message):
    print(f"fetch.py: {message}", file=sys.stderr)
    sys.exit(1)


def interpreter():
    """A CPython of the version the wheels are for."""
    wanted = "python{}.{}".format(*PYTHON)
    if sys.version_info[:2] == PYTHON and sys.implementation.name == "cpython":
        return sys.executable
    found = shutil.which(wanted)
    if not found:
        have = sys.version.split()[0]
        fail(f"the wheels of requirements.txt are for CPython {wanted[6:]}; this is {have} and there is no {wanted} on PATH")
    return found


def run(doing, command):
    """Runs a command whose output goes to stderr; a failure ends the script and says what was being done."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if result.returncode:
        fail(f"{doing} failed (exit code {result.returncode}): {' '.join(map(str, command))}")


def install(root):
    venv = root / "venv"
    for stale in (venv, root / "icd"):
        if stale.exists():
            shutil.rmtree(stale)
    run("making the virtual environment (package python3-venv?)", [interpreter(), "-m", "venv", venv])
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--no-input", "--quiet"]
    pip += ["--require-hashes", "--only-binary", ":all:", "--retries", "5", "-r", REQUIREMENTS]
    run("fetching the wheels (network?)", pip)
    driver = venv / "lib" / "libintelocl.so"
    if not driver.exists():
        fail(f"the wheels installed, but {driver} is not among them")
    (root / "icd").mkdir()
    # The .icd file of the wheel names a path that is nowhere.
    (root / "icd" / "intel-cpu.icd").write_text(f"{driver}\n")


def library(name):
    """Unpacks one library of the dpnp wheel, which is checked against its hash, and prints where it is."""
    root = DEFAULT / "library"
    root.mkdir(parents=True, exist_ok=True)
    found = sorted(root.glob(f"{name}*.so"))
    if not found:
        with tempfile.TemporaryDirectory(dir=root) as scratch:
            text = REQUIREMENTS.read_text()
            at = text.index("dpnp==")
            pinned = Path(scratch) / "dpnp.txt"
            pinned.write_text(text[at : text.index("\n", text.index("--hash", at))] + "\n")
            pip = [interpreter(), "-m", "pip", "--disable-pip-version-check", "download", "--no-input", "--quiet", "--no-deps"]
            pip += ["--require-hashes", "--only-binary", ":all:", "--retries", "5", "-d", scratch, "-r", pinned]
            run("fetching the wheel of dpnp (network?)", pip)
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                inside = [member for member in wheel.namelist() if Path(member).name.startswith(name) and member.endswith(".so")]
                if not inside:
                    fail(f"dpnp has no library whose name begins with {name}")
                for member in inside:
                    partial = Path(scratch) / "library"
                    partial.write_bytes(wheel.read(member))
                    partial.replace(root / Path(member).name)
        found = sorted(root.glob(f"{name}*.so"))
    print(found[0])


def wheels(root):
    """Downloads the wheels of wheels.txt, whose hashes pip checks, and prints where they are."""
    folder = root / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for line in WHEELS.read_text().splitlines():
            if line.startswith("#"):
                continue
            platform, pinned = line.split(" ", 1)
            package, version = pinned.split(" ", 1)[0].split("==")
            if list(folder.glob(f"{package}-{version}-*{platform}.whl")):
                continue
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                wanted = Path(scratch) / "wanted.txt"
                wanted.write_text(pinned + "\n")
                pip = [interpreter(), "-m", "pip", "--disable-pip-version-check", "download", "--no-input", "--quiet", "--no-deps"]
                pip += ["--platform", platform, "--python-version", "{}.{}".format(*PYTHON)]
                pip += ["--require-hashes", "--only-binary", ":all:", "--retries", "5", "-d", scratch, "-r", wanted]
                run(f"fetching {package} {version} for {platform} (network?)", pip)
                for wheel in Path(scratch).glob("*.whl"):
                    wheel.replace(folder / wheel.name)
    print(folder)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--library":
        return library(sys.argv[2])
    if len(sys.argv) in (2, 3) and sys.argv[1] == "--wheels":
        return wheels(Path(sys.argv[2] if len(sys.argv) == 3 else DEFAULT).absolute())
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    root = Path(sys.argv[1] if len(sys.argv) == 2 else DEFAULT).absolute()
    root.mkdir(parents=True, exist_ok=True)
    # The folder is part of the key: a virtual environment does not survive being moved.
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + os.fsencode(root)).hexdigest()
    stamp = root / "ready"
    with open(root / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != key:
            stamp.unlink(missing_ok=True)
            install(root)
            partial = root / "ready.partial"
            partial.write_text(key)
            partial.replace(stamp)
    print(root)


if __name__ == "__main__":
    main()
