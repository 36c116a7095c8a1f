#!/usr/bin/env python3
"""driver.py FOLDER: do assertions, printing and variables of the device work on this GPU?

FOLDER has `checks.cubin`, `prints_float.cubin`, `reads.cubin` and `writes.cubin`, made of fixtures/sycl's asserted.cpp,
printed.cpp and device_global.cpp. Each is launched by the driver API in a process of its own. Prints ok or WRONG for each, and
last RESULT ok N bad M. Exit status 1 if M is not 0.
"""
import ctypes as C
import os
import subprocess
import sys

ASSERTION = 710  # CUDA_ERROR_ASSERT


def begin():
    """The driver, with a context of the first device."""
    cuda, device, context = C.CDLL("libcuda.so.1"), C.c_int(), C.c_void_p()
    cuda.cuInit(0)
    cuda.cuDeviceGet(C.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(C.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    return cuda


def launch(cuda, path, kernel, prepare):
    """Launches one work-item with the arguments that `prepare` returns for the module. Returns the status after it."""
    module, function = C.c_void_p(), C.c_void_p()
    with open(path, "rb") as file:
        status = cuda.cuModuleLoadData(C.byref(module), file.read())
    status = status or cuda.cuModuleGetFunction(C.byref(function), module, kernel.encode())
    if status:
        return status
    values = prepare(module)
    pointers = (C.c_void_p * len(values))(*[C.cast(C.byref(value), C.c_void_p) for value in values])
    status = cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)
    return status or cuda.cuCtxSynchronize()


def memory(cuda, content):
    place = C.c_uint64()
    cuda.cuMemAlloc_v2(C.byref(place), C.c_size_t(256))
    cuda.cuMemcpyHtoD_v2(place, content, C.c_size_t(C.sizeof(content)))
    return place


def one(what, folder):
    """Runs one check in this process; its output is part of the answer."""
    cuda = begin()
    path = lambda name: os.path.join(folder, name + ".cubin")
    if what in ("holds", "fails"):
        number = (C.c_int * 2)(5 if what == "holds" else -5, 0)
        status = launch(cuda, path("checks"), "__sycl_kernel_checks", lambda _: [memory(cuda, number)])
        print("status", status)
    elif what == "prints":
        print("status", launch(cuda, path("prints_float"), "__sycl_kernel_prints_float", lambda _: [memory(cuda, (C.c_float * 1)(2.5))]))
    else:
        # The variable holds a pointer that the runtime sets, which is to be found by the variable's name.
        content = memory(cuda, (C.c_int * 1)(42) if what == "reads" else (C.c_double * 4)(1, 2, 3, 4))
        array = memory(cuda, (C.c_double * 1)(7.5))

        def prepare(module):
            variable, size = C.c_uint64(), C.c_size_t()
            print("found", cuda.cuModuleGetGlobal_v2(C.byref(variable), C.byref(size), module, b"counter" if what == "reads" else b"table"))
            cuda.cuMemcpyHtoD_v2(variable, C.byref(content), C.c_size_t(8))
            return [array] if what == "reads" else [array, C.c_int(2)]

        print("status", launch(cuda, path(what), "__sycl_kernel_" + what, prepare))
        got = (C.c_int * 1)() if what == "reads" else (C.c_double * 4)()
        cuda.cuMemcpyDtoH_v2(got, array if what == "reads" else content, C.c_size_t(C.sizeof(got)))
        print(list(got))


def main():
    if len(sys.argv) == 3:
        return one(sys.argv[2], sys.argv[1])
    wanted = {"holds": ["status 0"], "fails": [f"status {ASSERTION}", "asserted.cpp", "a[0] > 0"], "prints": ["status 0", "2.5"],
              "reads": ["found 0", "status 0", "[42]"], "writes": ["found 0", "status 0", "[1.0, 2.0, 7.5, 4.0]"]}
    bad = 0
    for what, texts in wanted.items():
        done = subprocess.run([sys.executable, os.path.abspath(__file__), sys.argv[1], what], capture_output=True, text=True, timeout=60)
        said = done.stdout + done.stderr
        missing = [text for text in texts if text not in said]
        bad += bool(missing)
        print(f"WRONG {what}: {missing} not in {said!r}" if missing else f"ok {what}")
    print(f"RESULT ok {len(wanted) - bad} bad {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
