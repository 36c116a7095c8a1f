#!/usr/bin/env python3
"""What did the dynamic linker and the SYCL runtime get to see of a library's device code?

An independent reader, as a judge of the tool's: it loads libraries into a process, learns from a preloaded shim
which descriptors their constructors register, and walks descriptors, images, entries and property sets in that
process's memory, where the dynamic linker has already applied every relocation. It reads no file.

    process_view.py --root target/real-world --out DIR LIBRARY...

writes DIR/<name of the library>.json for every LIBRARY:
    { "file", "descriptors": [ { "images": [ { "version", "kind", "format", "target", "compile_options",
      "link_options", "stored_size", "entries": [], "properties": [ [SET, [ [NAME, type, hex], ... ] ] ] } ] } ] }
`hex` is the value as it lies in memory: four bytes of a u32, all bytes of an array (its length in bits comes first).
DIR/<name of the library>.payloads holds the payloads as stored, one after the other in the same order.
"""

import argparse
import json
import os
import struct
import sys
from pathlib import Path

import stage

MEMORY = None


def read(address, size):
    """`size` bytes of this process; a bad address is an error, not a crash."""
    data = os.pread(MEMORY, size, address) if size else b""
    if len(data) != size:
        raise ValueError(f"no {size} bytes at {address:#x}")
    return data


def text(address):
    """The NUL-terminated string at `address`; an absent pointer gives None."""
    if address == 0:
        return None
    data = b""
    while b"\0" not in data:
        # Up to the end of the page: the next one may not be mapped.
        data += read(address + len(data), 4096 - (address + len(data)) % 4096)
    return data[: data.index(b"\0")].decode("utf-8", "surrogateescape")


def slices(begin, end, stride):
    """The elements of the array [begin, end)."""
    if end < begin or (end - begin) % stride:
        raise ValueError(f"an array of {stride}-byte elements from {begin:#x} to {end:#x}")
    data = read(begin, end - begin)
    return [data[i : i + stride] for i in range(0, len(data), stride)]


def entries(begin, end):
    """Names of the offload entries, of the 32-byte or of the 56-byte kind."""
    if begin == end:
        return []
    # The old kind has its name pointer where the new one has version 1, kind 8, flags 0.
    new = read(begin, 16) == struct.pack("<QHHI", 0, 1, 8, 0)
    if new:
        return [text(struct.unpack_from("<Q", e, 24)[0]) for e in slices(begin, end, 56)]
    return [text(struct.unpack_from("<Q", e, 8)[0]) for e in slices(begin, end, 32)]


def value(address, kind, size):
    """One property's value as hex."""
    if kind == 1:
        return struct.pack("<I", size & 0xFFFFFFFF).hex()
    if kind != 2:
        raise ValueError(f"property type {kind}")
    data = read(address, size)
    bits = struct.unpack_from("<Q", data)[0]
    if (bits + 7) // 8 != size - 8:
        raise ValueError(f"{bits} bits in a property of {size} bytes")
    return data.hex()


def property_sets(begin, end):
    sets = []
    for raw in slices(begin, end, 24):
        name, first, last = struct.unpack("<QQQ", raw)
        properties = []
        for item in slices(first, last, 32):
            key, address, kind, size = struct.unpack("<QQI4xQ", item)
            properties.append([text(key), kind, value(address, kind, size)])
        sets.append([text(name), properties])
    return sets


def image(raw, version, kind, form, payloads):
    pointers = struct.unpack_from("<QQQ", raw, 8)
    # Version 3 has lost the two manifest pointers.
    start, end, first, last, sets, sets_end = struct.unpack_from("<6Q", raw, 32 if version == 3 else 48)
    if end < start:
        raise ValueError(f"a payload from {start:#x} to {end:#x}")
    payloads.write(read(start, end - start))
    return {
        "version": version,
        "kind": kind,
        "format": form,
        "target": text(pointers[0]),
        "compile_options": text(pointers[1]),
        "link_options": text(pointers[2]),
        "stored_size": end - start,
        "entries": entries(first, last),
        "properties": property_sets(sets, sets_end),
    }


def descriptor(address, payloads):
    version, count, array = struct.unpack("<HH4xQ", read(address, 16))
    if version != 1:
        raise ValueError(f"descriptor version {version}")
    images = []
    for _ in range(count):
        head = struct.unpack("<HBB", read(array, 4))
        stride = 80 if head[0] == 3 else 96
        images.append(image(read(array, stride), *head, payloads))
        array += stride
    return {"images": images}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="the folder fetch.py filled")
    parser.add_argument("--out", type=Path, required=True, help="where the JSON files go")
    parser.add_argument("libraries", type=Path, nargs="+")
    options = parser.parse_args()
    if not stage.is_child():
        sys.exit(stage.run_child(__file__, options.root.resolve(), sys.argv[1:], {}))

    global MEMORY
    MEMORY = os.open("/proc/self/mem", os.O_RDONLY)
    stage.load(options.libraries)
    seen = {}
    for address, file in stage.registrations():
        seen.setdefault(file, []).append(address)
    options.out.mkdir(parents=True, exist_ok=True)
    for library in options.libraries:
        try:
            with open(options.out / f"{library.name}.payloads", "wb") as payloads:
                descriptors = [descriptor(a, payloads) for a in seen.get(library.resolve(), [])]
        except ValueError as problem:
            stage.fail(f"{library}: {problem}")
        view = {"file": str(library), "descriptors": descriptors}
        (options.out / f"{library.name}.json").write_text(json.dumps(view))


if __name__ == "__main__":
    main()
