"""How is a child process set up in which the real SYCL runtime loads real libraries?

Shared by process_view.py and dump_images.py: each runs itself again as a child with the shim preloaded, and the
child imports the packages and loads the libraries. Nothing here knows any format.
"""

import ctypes
import importlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHILD = "SYCL_BUNDLE_REAL_CHILD"


def environment(root):
    """The variables under which the runtime of the installation at `root` runs on its own CPU driver."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SYCL_", "UR_", "CL_CONFIG_"))}
    env["OCL_ICD_VENDORS"] = str(root / "icd")
    env["LD_LIBRARY_PATH"] = str(root / "venv" / "lib")
    env["ONEAPI_DEVICE_SELECTOR"] = "opencl:cpu"
    env["SYCL_CACHE_PERSISTENT"] = "0"
    return env


def build_shim(folder):
    """Compiles the shim into `folder` and gives its path. Another process may do the same at the same time."""
    shim = folder / "register_shim.so"
    source = HERE / "register_shim.c"
    if not shim.exists() or shim.stat().st_mtime < source.stat().st_mtime:
        partial = folder / f"register_shim.{os.getpid()}.so"
        subprocess.run(
            ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", partial, source, "-ldl"], check=True
        )
        partial.replace(shim)
    return shim


def run_child(script, root, arguments, extra):
    """Runs `script` again with the runtime preloaded behind the shim; ends with the child's exit code."""
    shim = build_shim(root)
    env = environment(root) | extra
    env["LD_PRELOAD"] = f"{shim}:{root / 'venv' / 'lib' / 'libsycl.so.9'}"
    env[CHILD] = str(shim)
    python = root / "venv" / "bin" / "python"
    return subprocess.run([python, script, *map(str, arguments)], env=env, check=False).returncode


def is_child():
    return CHILD in os.environ


def load(libraries):
    """Imports what the libraries expect to find loaded, then loads each."""
    # It brings dpctl, libsycl and oneMKL.
    importlib.import_module("dpnp")

    for library in libraries:
        ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_GLOBAL)


def registrations():
    """(address of the descriptor, file it lies in), in the order in which the runtime got them."""
    shim = ctypes.CDLL(os.environ[CHILD])
    shim.register_shim_descriptor.restype = ctypes.c_void_p
    shim.register_shim_file.restype = ctypes.c_char_p
    return [
        (shim.register_shim_descriptor(i), Path(os.fsdecode(shim.register_shim_file(i))).resolve())
        for i in range(shim.register_shim_count())
    ]


def fail(message):
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(1)
