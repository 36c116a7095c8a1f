#!/usr/bin/env python3
"""Where do the real libraries come from that the tests read, rewrite and run?

    fetch.py [DIR]             default: target/real-world of this project; about 3 GB, once
    fetch.py --library NAME    one library of dpnp alone, by the start of its name; prints its path; 50 MB, once
    fetch.py --wheels [DIR]    the wheels of wheels.txt, into DIR/wheels; 150 MB, once
    fetch.py --packages [DIR]  those of packages.txt, into DIR/packages; 1.5 GB, once

Installs requirements.txt (every wheel by version and SHA-256) with pip into DIR/venv and writes DIR/icd, which
tells the OpenCL loader of the CPU driver therein. DIR/ready holds the hash of requirements.txt and comes last: while it is
missing or different, everything is made anew, so an interrupted run leaves nothing that a later one would trust.
Several processes may call this at once: one works, the others wait. Whatever cannot be had is an error (exit code 1).
"""

import fcntl
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from fetching import PYTHON, environment, fail, once, run

REQUIREMENTS = HERE / "requirements.txt"
WHEELS = HERE / "wheels.txt"
PACKAGES = HERE / "packages.txt"
# The platform of dpnp's wheel.
LINUX = "manylinux_2_28_x86_64"
DEFAULT = HERE.parent.parent / "target" / "real-world"


def install(root):
    if (root / "icd").exists():
        shutil.rmtree(root / "icd")
    options = ["install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS]
    run("fetching the wheels (network?)", [*environment(root), *options])
    driver = root / "venv" / "lib" / "libintelocl.so"
    if not driver.exists():
        fail(f"the wheels installed, but {driver} is not among them")
    (root / "icd").mkdir()
    # The .icd file of the wheel names a path that is nowhere.
    (root / "icd" / "intel-cpu.icd").write_text(f"{driver}\n")


def download(what, platform, folder, requirements):
    """Downloads wheels of a platform, held to their hashes, by the pip of whichever Python runs this script."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-input", "--quiet", "--no-deps"]
    pip += ["--platform", platform, "--python-version", "{}.{}".format(*PYTHON)]
    pip += ["--require-hashes", "--only-binary", ":all:", "--retries", "5", "-d", folder, "-r", requirements]
    run(f"fetching {what} (network? pip?)", pip)


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
            download("the wheel of dpnp", LINUX, scratch, pinned)
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


def wheels(root, listing):
    """Downloads the wheels of a list, whose hashes pip checks, and prints where they are."""
    folder = root / listing.stem
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for line in listing.read_text().splitlines():
            if line.startswith("#"):
                continue
            platform, pinned = line.split(" ", 1)
            package, version = pinned.split(" ", 1)[0].split("==")
            if list(folder.glob(f"{package}-{version}-*{platform}.whl")):
                continue
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                wanted = Path(scratch) / "wanted.txt"
                wanted.write_text(pinned + "\n")
                download(f"{package} {version} for {platform}", platform, scratch, wanted)
                for wheel in Path(scratch).glob("*.whl"):
                    wheel.replace(folder / wheel.name)
    print(folder)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--library":
        return library(sys.argv[2])
    if len(sys.argv) in (2, 3) and sys.argv[1] == "--wheels":
        return wheels(Path(sys.argv[2] if len(sys.argv) == 3 else DEFAULT).absolute(), WHEELS)
    if len(sys.argv) in (2, 3) and sys.argv[1] == "--packages":
        return wheels(Path(sys.argv[2] if len(sys.argv) == 3 else DEFAULT).absolute(), PACKAGES)
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    root = Path(sys.argv[1] if len(sys.argv) == 2 else DEFAULT).absolute()
    once(root, [REQUIREMENTS], install)
    print(root)


if __name__ == "__main__":
    main()
