#!/usr/bin/env python3
"""From which inputs do the fuzzers start?

    fuzz/seeds.py SYCL_BUNDLE    the program; writes fuzz/corpus/NAME/seed-* for every target

Everything is made here of the project's own fixtures: SPIR-V by spirv-as, containers by the program's own `wrap`,
native code by ocloc, llvm-mc and llvm-as, host files by gcc and lld-link, packages by Python and ar. A tool that is missing
is an error. What the targets put before the bytes themselves (see bodies.rs) is taken off.
"""

import base64
import hashlib
import io
import json
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if result.returncode:
        sys.exit(f"seeds.py: exit code {result.returncode} of {' '.join(map(str, command))}\n{result.stdout}")


def tool(name):
    """A program on PATH, else the newest LLVM's."""
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib").glob(f"llvm-*/bin/{name}"), reverse=True)), None)
    if not found:
        sys.exit(f"seeds.py: no {name}")
    return found


def seed(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(content)


def structure():
    """Memory at address 16 with an image structure of DPC++'s version 3, one entry, one property set of two."""
    at = 16
    entry, sets, table = at + 80, at + 112, at + 136
    text = at + 200
    words = b"kernel\0SYCL/device requirements\0aspects\0reqd_work_group_size\0"
    place = lambda word: text + words.index(word)
    value = text + len(words) + (-len(words)) % 8
    memory = struct.pack("<HBB4x9Q", 3, 4, 0, text + 6, 0, 0, value, value + 12, entry, entry + 32, sets, sets + 24)
    memory += struct.pack("<QQQii", 0, text, 0, 0, 0)
    memory += struct.pack("<3Q", place(b"SYCL/"), table, table + 64)
    memory += struct.pack("<QQI4xQ", place(b"aspects"), value, 2, 12) + struct.pack("<QQI4xQ", place(b"reqd"), 0, 1, 7)
    return memory + words + bytes((-len(words)) % 8) + struct.pack("<QI", 32, 6)


def wheel(library, method):
    """A wheel with a library and a RECORD that is right."""
    members = {"a/__init__.py": b"", "a/lib.so": library, "a-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n"}
    rows = []
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}")
    members["a-1.dist-info/RECORD"] = "\n".join([*rows, "a-1.dist-info/RECORD,,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return buffer.getvalue()


def texts(program, modules, at):
    """What people and other programs write: the readers' numbers are those of `text` in bodies.rs."""
    guides = "".join(path.read_text() for path in sorted((ROOT / "src/guides").glob("*.md")))
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", guides, re.S)):
        seed("policy", f"guide-{number}", block.encode())
    cases = "".join(path.read_text() for path in sorted((ROOT / "tests/cli").glob("*.case")))
    names = set(re.findall(r"_Z[A-Za-z0-9_]+", cases + "".join(path.read_text() for path in sorted((ROOT / "fixtures").glob("*/*.spvasm")))))
    messages = re.findall(r"--message '([^']+)'", cases)
    words = re.findall(r"--where '([^']+)'", cases)
    globs = re.findall(r"--kernel '([^']+)'", cases)
    for reader, found in enumerate([sorted(names), messages, [], words, globs]):
        for number, text in enumerate(sorted(set(found))[:64]):
            seed("text", f"{reader}-{number}", bytes([reader]) + text.encode())
    report = at / "baseline.json"
    run(program, "check", *modules, "-t", "dg1", "--write-baseline", report)
    seed("text", "5-baseline", b"\5" + report.read_bytes())
    image = {"blake3": "0" * 64, "size": 20, "kernels": ["_ZTS1k"], "files": [{"file": "lib.so", "image": 0}]}
    code = {"size": 4, "target": "avx2", "code": None}
    device = {"platform": "p", "name": "d", "version": "OpenCL 3.0", "driver": "1"}
    program = {"device": device, "options": "", "constant_bytes": 0, "images": [image], "seconds": None, "native": code}
    profile = {"schema_version": 1, "command": ["true"], "seconds": 1.5, "exit_status": 0, "programs": [program]}
    seed("text", "2-profile", b"\2" + json.dumps(profile).encode())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as scratch:
        make(program, Path(scratch))
    for folder in sorted(CORPUS.iterdir()):
        print(folder.name, len(list(folder.glob("seed-*"))))


def make(program, at):
    modules = []
    for source in sorted([*ROOT.glob("fixtures/spirv/*.spvasm"), *ROOT.glob("fixtures/aspects/*.spvasm"), *ROOT.glob("fixtures/cl/*.spvasm")]):
        module = at / f"{source.parent.name}-{source.stem}.spv"
        run(tool("spirv-as"), "--target-env", "spv1.4", source, "-o", module)
        modules.append(module)
        seed("module", module.name, module.read_bytes()[4:])
        seed("split", module.name, module.read_bytes()[4:])
    for first, second in zip(modules, modules[1:]):
        text = first.read_bytes()
        seed("link", f"{first.stem}-{second.stem}", struct.pack("<H", len(text)) + text + second.read_bytes())
    few = [module for module in modules if module.name.startswith("spirv-")]
    table = at / "table"
    table.mkdir()
    run(program, "wrap", *few, "--emit", "table", "-o", table / "images.table")
    seed("file_table", "images", (table / "images.table").read_bytes())
    for path in table.glob("*.prop"):
        seed("property_text", path.name, path.read_bytes())
    seed("property_text", "kinds", b"[SYCL/specialization constants]\na=2|AAAAAAAAAAA\n[SYCL/misc properties]\nb=1|7\n")

    wrapped = {}
    for name, arguments in {
        "elf.o": ["object", "--host", "x86_64-linux"],
        "old.o": ["object", "--host", "x86_64-linux", "--descriptor-version", "2", "--entries", "old"],
        "compressed.o": ["object", "--host", "x86_64-linux", "--compress"],
        "arm.o": ["object", "--host", "aarch64-linux"],
        "coff.obj": ["object", "--host", "x86_64-windows"],
        "shared.so": ["shared"],
        "binary": ["offload-binary"],
        "bundle": ["offload-bundle"],
        "compressed-bundle": ["offload-bundle", "--compress"],
        "v1.syclbin": ["syclbin"],
    }.items():
        wrapped[name] = at / name
        run(program, "wrap", *few[:3], "--emit", *arguments, "-o", at / name)
    content = {name: path.read_bytes() for name, path in wrapped.items()}
    for name in ("elf.o", "old.o", "compressed.o", "arm.o", "coff.obj"):
        seed("object_file", name, content[name])
    seed("elf", "shared", content["shared.so"])
    seed("offload_binary", "binary", content["binary"][4:])
    # A SYCLBIN stands inside an OffloadBinary; its own format begins with its magic.
    inner = content["v1.syclbin"]
    seed("offload_binary", "syclbin", inner[4:])
    seed("syclbin", "v1", inner[inner.index(b"SYBI") + 4 :] if b"SYBI" in inner else inner)
    seed("offload_bundle", "plain", b"\0" + content["bundle"][24:])
    seed("offload_bundle", "compressed", b"\1" + content["compressed-bundle"][4:])
    seed("offload_bundle", "text", b"\2sycl-spir64\nx\n\n# __CLANG_OFFLOAD_BUNDLE____END__ sycl-spir64\n")

    stub = at / "stub.c"
    stub.write_text("void __sycl_register_lib(void *a){} void __sycl_unregister_lib(void *a){} int main(){return 0;}\n")
    for name, flags in {"pie": ["-pie"], "static": ["-static"], "fixed": ["-no-pie"], "relr": ["-pie", "-fuse-ld=lld", "-Wl,--pack-dyn-relocs=relr"]}.items():
        run("gcc", stub, at / "elf.o", *flags, "-nostartfiles", "-nodefaultlibs", "-Wl,-e,main", "-s", "-o", at / name)
        seed("elf", name, (at / name).read_bytes())
    windows = at / "windows.c"
    windows.write_text("void __sycl_register_lib(void *a){} void __sycl_unregister_lib(void *a){} int _DllMainCRTStartup(){return 1;}\n")
    run(tool("clang"), "--target=x86_64-pc-windows-msvc", "-c", windows, "-o", at / "windows.obj")
    run(tool("lld-link"), "/dll", f"/out:{at / 'x.dll'}", at / "windows.obj", at / "coff.obj", "/nodefaultlib", "/entry:_DllMainCRTStartup")
    seed("pe", "dll", (at / "x.dll").read_bytes())

    run("ar", "rcs", at / "lib.a", at / "elf.o", at / "old.o")
    run("ar", "rcsT", at / "thin.a", at / "elf.o", cwd=at)
    seed("package", "archive", (at / "lib.a").read_bytes())
    seed("package", "thin", (at / "thin.a").read_bytes())
    for name, method in {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}.items():
        with zipfile.ZipFile(at / f"{name}.zip", "w", method) as package:
            package.write(few[0], "a/one.spv")
            package.write(at / "old.o", "old.o")
        seed("package", name, (at / f"{name}.zip").read_bytes())
    for form in ("", "gz", "bz2", "xz"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=f"w:{form}") as package:
            package.add(few[0], "one.spv")
            package.add(at / "stored.zip", "inner.zip")
        seed("package", f"tar-{form}", buffer.getvalue())

    kernels = ROOT / "fixtures/native/kernels.cl"
    for name, flags in {"zebin": ["-device", "skl", "--format", "zebin"], "tokens": ["-device", "skl", "--format", "patchtokens"], "ar": ["-device", "skl,dg1", "--format", "zebin"]}.items():
        run(tool("ocloc"), "compile", "-file", kernels, "-options", "-cl-std=CL2.0", "-output_no_suffix", "-output", name, "-out_dir", at, *flags)
        made = at / name if (at / name).exists() else at / f"{name}.bin"
        seed("native", name, made.read_bytes())
    run(tool("llvm-mc"), "--triple=amdgcn-amd-amdhsa", "--filetype=obj", "--mcpu=gfx90a", "-o", at / "hsaco", ROOT / "fixtures/native/kernels.amdgcn.s")
    seed("native", "hsaco", (at / "hsaco").read_bytes())
    run(tool("llvm-as"), ROOT / "fixtures/native/kernels.ll", "-o", at / "bitcode")
    seed("native", "bitcode", b"\1" + (at / "bitcode").read_bytes())
    seed("native", "ptx", b"\0" + (ROOT / "fixtures/native/kernels.ptx").read_bytes())
    for path in sorted((ROOT / "device-configs").glob("*.yaml")):
        if path.stat().st_size < 20_000:
            seed("device_config", path.name, path.read_bytes())
    seed("properties", "structure", structure())
    texts(program, few, at)
    for name, method in {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}.items():
        seed("wheel", name, wheel((at / "shared.so").read_bytes(), method))
    # The choices of a series of rewrites are bytes of no format.
    for number in range(32):
        seed("rewrite", f"series-{number}", random.Random(number).randbytes(256 << number % 4))
    for target in ("elf", "pe"):
        for path in (CORPUS / target).glob("seed-*"):
            seed("embed", f"{target}-{path.name[5:]}", path.read_bytes())
    for target in ("elf", "pe", "object_file", "offload_binary"):
        for path in (CORPUS / target).glob("seed-*"):
            magic = b"\x10\xff\x10\xad" if target == "offload_binary" else b""
            seed("file", f"{target}-{path.name[5:]}", magic + path.read_bytes())


if __name__ == "__main__":
    main()
