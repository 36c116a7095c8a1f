#!/usr/bin/env python3
"""Which device images does the SYCL runtime itself dump when it loads a library?

    dump_images.py --root target/real-world --out DIR LIBRARY...

loads the libraries with SYCL_DUMP_IMAGES=1, each registration in a folder of its own (register_shim.c), and writes
DIR/<name of the library>.json for every LIBRARY: { "file", "dumps": { SHA-256: how many files hold these bytes } }.
The runtime does not dump images without entries; it is for the caller to account for them.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import stage


def load_and_note(libraries, notes):
    """In the child: loads, then writes which registration came from which file."""
    stage.load(libraries)
    notes.write_text(json.dumps([str(file) for _, file in stage.registrations()]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="the folder fetch.py filled")
    parser.add_argument("--out", type=Path, required=True, help="where the JSON files go")
    parser.add_argument("--notes", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("libraries", type=Path, nargs="+")
    options = parser.parse_args()
    if stage.is_child():
        load_and_note(options.libraries, options.notes)
        return

    root = options.root.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    dumps = Path(tempfile.mkdtemp(prefix="dumps-", dir=options.out.resolve()))
    try:
        notes = dumps / "registrations.json"
        extra = {"SYCL_DUMP_IMAGES": "1", "REGISTER_SHIM_DUMP_ROOT": str(dumps)}
        code = stage.run_child(__file__, root, [*sys.argv[1:], "--notes", notes], extra)
        if code:
            stage.fail(f"loading the libraries ended with exit code {code}")
        wanted = {library.resolve(): options.out / library.name for library in options.libraries}
        for folder in wanted.values():
            folder.mkdir()
        for number, file in enumerate(json.loads(notes.read_text())):
            folder = wanted.get(Path(file))
            for dump in (dumps / str(number)).iterdir() if folder else []:
                dump.rename(folder / f"{number}-{dump.name}")
    finally:
        shutil.rmtree(dumps)


if __name__ == "__main__":
    main()
