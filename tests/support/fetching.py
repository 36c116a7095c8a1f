"""How is something fetched once, by several processes at a time, such that a failure leaves nothing that is trusted?"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

# The hashes in the requirements are those of the wheels for this interpreter.
PYTHON = (3, 11)


def fail(message):
    """Ends the script."""
    print(f"fetch.py: {message}", file=sys.stderr)
    sys.exit(1)


def interpreter():
    """A CPython of the version that the wheels are for."""
    wanted = "python{}.{}".format(*PYTHON)
    if sys.version_info[:2] == PYTHON and sys.implementation.name == "cpython":
        return sys.executable
    found = shutil.which(wanted)
    if not found:
        have = sys.version.split()[0]
        fail(f"the wheels of requirements.txt are for CPython {wanted[6:]}; this is {have} and there is no {wanted} on PATH")
    return found


def run(doing, command, **options):
    """Runs a command whose output goes to stderr, or is returned; a failure ends the script and says what was being done."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=options.pop("stdout", sys.stderr), check=False, **options)
    if result.returncode:
        fail(f"{doing} failed (exit code {result.returncode}): {' '.join(map(str, command))}")
    return result.stdout


def environment(root):
    """Makes a new virtual environment in root/venv; its pip."""
    venv = root / "venv"
    if venv.exists():
        shutil.rmtree(venv)
    run("making the virtual environment (package python3-venv?)", [interpreter(), "-m", "venv", venv])
    return [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "5"]


def once(root, texts, install):
    """Calls install(root), unless root/ready says that this was done for the same texts."""
    root.mkdir(parents=True, exist_ok=True)
    # The folder is part of the key: a virtual environment does not survive being moved.
    key = hashlib.sha256(b"".join(text.read_bytes() for text in texts) + os.fsencode(root)).hexdigest()
    stamp = root / "ready"
    with open(root / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != key:
            stamp.unlink(missing_ok=True)
            install(root)
            partial = root / "ready.partial"
            partial.write_text(key)
            partial.replace(stamp)
