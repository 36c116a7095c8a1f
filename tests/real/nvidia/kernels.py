#!/usr/bin/env python3
"""Do kernels of libraries compute on this GPU what they compute on the CPU?

  kernels.py expect FOLDER SYCL-BUNDLE MOST LIBRARY...
      Where OpenCL has a CPU: chooses up to MOST kernels of each library that can be launched by what
      `sycl-bundle kernels` says of their arguments, runs each and writes to FOLDER what it left in memory.
  kernels.py compare FOLDER CUBINS
      Where CUDA has a GPU: launches the same kernels out of CUBINS, a folder of cubins, on the same memory.

Each kernel runs twice where it can: with ids from 0 on, and at a global offset, which CUDA does not have.

In between, `sycl-bundle build LIBRARY --image N... -t nvidia_gpu_sm_90 -o CUBINS/NAME.table` makes the cubins; FOLDER has the
options `--image N` for each library in LIBRARY-NAME.images. Both verbs run each kernel in a process that may crash.
The last line is RESULT with the numbers of kernels that are equal, that differ, and that were left out, each with a reason.
Exit status 1 if any differs.
"""
import collections
import ctypes as C
import glob
import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np

ELEMENTS = 1 << 14  # of each array
# What a whole number of 8 bytes says, and how many work-items there are: none is beyond the numbers that it is given, as the
# difference of the two would be converted to what no narrow type has. Products of two stay within the arrays.
COUNT = 128
LOCAL = 64
SHARED = 16384  # bytes of each array in local memory
DTYPES = {"bool": "?", "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
          "ulong": "u8", "half": "f2", "float": "f4", "double": "f8"}
# Relative errors that two right implementations of a function may have, by the numbers' size: a few units in the last place,
# and sums in another order.
TOLERANCE = {2: 4e-3, 4: 2e-5, 8: 1e-11}


# Kernels that are meant for certain arguments: their whole numbers of 8 bytes, their real numbers, what the first array of
# such whole numbers begins with, and the work-items of a group, where any others would be without meaning.
Meant = collections.namedtuple("Meant", "numbers reals shape group", defaults=([], [], [], None))
MEANT = {
    # Shape and strides of an array. Other numbers would be divided by zero, or lead two work-items to one place.
    "tri_kernel": Meant([256, 0, 1, 2, 4, 3, 2], [], [16, 16, 16, 1, 16, 1]),
    # Size, increments, offsets of two vectors; strides and number of the batch. Otherwise two work-items add to one place.
    "level1_batch_stream_kernelINS1_8bufMem": Meant([128, 2, 2, 0, 0, 256, 256, 64, 64]),
    # Random numbers of 32 bits times the first plus the second are converted to `unsigned int` (OpConvertFToU), which is
    # undefined below 0 and from 2^32 on. Signed in philox4x32x10, unsigned in mt19937.
    "philox4x32x10Ej": Meant(reals=[2.0**-20, 3000.0]),
    "mt19937Ej": Meant(reals=[2.0**-20, 3000.0], group=224),
    # Every work-item of a group reads, changes and writes one number.
    "rng6detail9skip_func": Meant(group=1),
}


class Left(Exception):
    """A kernel that is not launched, and why."""


def structure(argument):
    """Contents of a structure: a range says how many work-items there are, what walks an array walks it from its begin."""
    words = argument["size"] // 8
    if "range" in argument["type"]:
        return np.full(words, COUNT, "u8").tobytes()
    if "Strided1DIndexer" in argument["type"]:
        return np.array([0, COUNT, 1], "u8").tobytes()
    if any(word in argument["type"] for word in ("Functor", "lambda", "StridedIndexer")):
        raise Left("a structure that holds pointers")
    return bytes(argument["size"])


def meant(kernel):
    return next((meant for name, meant in MEANT.items() if name in kernel["name"]), Meant())


def arguments(kernel):
    """What each argument is: `array` with its contents, `local`, or `value` with its bytes."""
    rng = np.random.default_rng(len(kernel["args"]))
    numbers, reals, shape, _ = meant(kernel)
    numbers, reals = list(numbers), list(reals)
    out = []
    for argument in kernel["args"]:
        if argument["eliminated"]:
            continue
        kind = argument["type"] or ""
        if argument["address_space"] == "local":
            out.append(("local", None))
        elif kind.endswith("*"):
            dtype = np.dtype(DTYPES.get(kind[:-1].split()[-1], "f4" if "complex" in kind else "u1"))
            if dtype.kind == "f":
                data = rng.uniform(-2, 2, ELEMENTS).astype(dtype)
            else:
                data = rng.integers(0, 2 if dtype.itemsize == 1 else 50, ELEMENTS).astype(dtype)
            if dtype == np.int64 and shape:
                data[:len(shape)] = shape
            # Room behind for what is larger than its type says.
            out.append(("array", np.concatenate([data, np.zeros(ELEMENTS * 16 // dtype.itemsize, dtype)])))
        elif argument["by_value"]:
            out.append(("value", structure(argument)))
        elif kind in DTYPES:
            dtype = np.dtype(DTYPES[kind])
            value = 1.25 if dtype.kind == "f" else COUNT if dtype.itemsize == 8 else 1
            if dtype == np.int64 and numbers:
                value = numbers.pop(0)
            elif dtype.kind == "f" and reals:
                value = reals.pop(0)
            out.append(("value", dtype.type(value).tobytes()))
        else:
            raise Left(f"an argument of type {kind}")
    if not any(kind == "array" for kind, _ in out):
        raise Left("no array")
    return out


def sizes(kernel):
    """How many work-items there are in all and in a group, x first, and where the ids of those in x begin."""
    local = kernel["work_group"] or [meant(kernel).group or LOCAL, 1, 1]
    if kernel["offset"]:
        return [max(LOCAL, local[0]), 1, 1], local, COUNT - LOCAL
    return [max(COUNT // local[0], 2) * local[0], *local[1:]], local, 0


class OpenCL:
    def __init__(self):
        self.cl = cl = C.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithIL", "clCreateKernel", "clCreateBuffer"):
            getattr(cl, name).restype = C.c_void_p
        platform, self.device, status = C.c_void_p(), C.c_void_p(), C.c_int()
        self.call("clGetPlatformIDs", 1, C.byref(platform), None)
        self.call("clGetDeviceIDs", platform, C.c_ulong(2), 1, C.byref(self.device), None)
        self.context = C.c_void_p(cl.clCreateContext(None, 1, C.byref(self.device), None, None, C.byref(status)))
        self.queue = C.c_void_p(cl.clCreateCommandQueue(self.context, self.device, C.c_ulong(0), C.byref(status)))

    def call(self, function, *arguments):
        status = getattr(self.cl, function)(*arguments)
        if status:
            raise Left(f"{function} said {status}")

    def run(self, path, name, prepared, work_items, local, offset):
        with open(path, "rb") as file:
            module = file.read()
        cl, status = self.cl, C.c_int()
        program = C.c_void_p(cl.clCreateProgramWithIL(self.context, module, C.c_size_t(len(module)), C.byref(status)))
        self.call("clBuildProgram", program, 1, C.byref(self.device), b"", None, None)
        kernel = C.c_void_p(cl.clCreateKernel(program, name.encode(), C.byref(status)))
        if status.value:
            raise Left(f"clCreateKernel said {status.value}")
        buffers = []
        for at, (kind, content) in enumerate(prepared):
            if kind == "array":
                host = content.copy()
                memory = C.c_void_p(cl.clCreateBuffer(self.context, C.c_ulong(1 | 32), C.c_size_t(host.nbytes),
                                                      host.ctypes.data_as(C.c_void_p), C.byref(status)))
                buffers.append((memory, host))
                self.call("clSetKernelArg", kernel, at, C.c_size_t(8), C.byref(memory))
            elif kind == "local":
                self.call("clSetKernelArg", kernel, at, C.c_size_t(SHARED), None)
            else:
                self.call("clSetKernelArg", kernel, at, C.c_size_t(len(content)), content)
        triple = C.c_size_t * 3
        self.call("clEnqueueNDRangeKernel", self.queue, kernel, 3, triple(offset, 0, 0), triple(*work_items), triple(*local), 0,
                  None, None)
        for memory, host in buffers:
            self.call("clEnqueueReadBuffer", self.queue, memory, 1, C.c_size_t(0), C.c_size_t(host.nbytes),
                      host.ctypes.data_as(C.c_void_p), 0, None, None)
        return [host for _, host in buffers]


class Cuda:
    def __init__(self):
        self.cuda = C.CDLL("libcuda.so.1")
        device, context = C.c_int(), C.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", C.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", C.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        status = getattr(self.cuda, function)(*arguments)
        if status:
            name = C.c_char_p()
            self.cuda.cuGetErrorName(status, C.byref(name))
            raise RuntimeError(f"{function} said {name.value.decode()}")

    def run(self, path, name, prepared, work_items, local, offset):
        module, kernel = C.c_void_p(), C.c_void_p()
        with open(path, "rb") as file:
            self.call("cuModuleLoadData", C.byref(module), file.read())
        # A copy of the kernel takes the offset as one more argument, if the kernel asks for its ids.
        if offset and self.cuda.cuModuleGetFunction(C.byref(kernel), module, name.encode() + b"_with_offset"):
            raise Left("no copy for a global offset")
        if not offset:
            self.call("cuModuleGetFunction", C.byref(kernel), module, name.encode())
        buffers, values, shared = [], [], 0
        for kind, content in prepared:
            if kind == "array":
                memory, host = C.c_uint64(), content.copy()
                self.call("cuMemAlloc_v2", C.byref(memory), C.c_size_t(host.nbytes))
                self.call("cuMemcpyHtoD_v2", memory, host.ctypes.data_as(C.c_void_p), C.c_size_t(host.nbytes))
                buffers.append((memory, host))
                values.append(memory)
            elif kind == "local":
                values.append(C.c_uint32(shared))
                shared += SHARED
            else:
                values.append(C.create_string_buffer(content, len(content)))
        if offset:
            values.append((C.c_uint32 * 3)(offset, 0, 0))
        pointers = (C.c_void_p * len(values))(*[C.cast(C.byref(value), C.c_void_p) for value in values])
        groups = [all_of // own for all_of, own in zip(work_items, local)]
        self.call("cuLaunchKernel", kernel, *groups, *local, shared, None, pointers, None)
        self.call("cuCtxSynchronize")
        for memory, host in buffers:
            self.call("cuMemcpyDtoH_v2", host.ctypes.data_as(C.c_void_p), memory, C.c_size_t(host.nbytes))
        return [host for _, host in buffers]


def changes(prepared, results):
    """What a kernel changed: for each array the places, in bytes for arrays of bytes, and the numbers there."""
    before = [content for kind, content in prepared if kind == "array"]
    out = []
    for old, new in zip(before, results):
        unsigned = f"u{old.dtype.itemsize}"
        places = np.flatnonzero(old.view(unsigned) != new.view(unsigned))
        out.append((places, new[places]))
    return out


def difference(wanted, prepared, results):
    """What differs, or None. Numbers that are not expected to change are compared as well."""
    before = [content for kind, content in prepared if kind == "array"]
    for at, ((places, numbers), old, got) in enumerate(zip(wanted, before, results)):
        want = old.copy()
        want[places] = numbers
        if want.dtype.kind == "f":
            with np.errstate(all="ignore"):
                near = np.abs(got - want) <= TOLERANCE[want.dtype.itemsize] * np.maximum(1, np.abs(want))
            same = near | (got == want) | (np.isnan(got) & np.isnan(want))
        elif want.dtype.itemsize == 1 and (want[::4].size * 4 == want.size):
            # Bytes may be parts of numbers of any type: compared as such where they are not the same.
            same = got == want
            for size in (8, 4, 2):
                if same.all():
                    break
                numbers_got, numbers_want = got.view(f"f{size}"), want.view(f"f{size}")
                with np.errstate(all="ignore"):
                    near = np.abs(numbers_got - numbers_want) <= TOLERANCE[size] * np.maximum(1e-30, np.abs(numbers_want))
                if near.all() or (near | (numbers_got.view(f"u{size}") == numbers_want.view(f"u{size}"))).all():
                    same = np.ones(1, "?")
        else:
            same = got == want
        if not same.all():
            first = int(np.flatnonzero(~same)[0])
            return f"array {at}: {np.count_nonzero(~same)} of {len(places)}, at {first} {got[first]} for {want[first]}"
    return None


def one(verb, path, kernel):
    """Runs a kernel in this process and returns what became of it."""
    try:
        prepared = arguments(kernel)
        if verb == "on-gpu":
            return "done", Cuda().run(path, kernel["name"], prepared, *sizes(kernel))
        opencl = OpenCL()
        first, second = (opencl.run(path, kernel["name"], prepared, *sizes(kernel)) for _ in range(2))
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, second)):
            raise Left("two runs on the CPU differ")
        changed = changes(prepared, first)
        if not sum(len(places) for places, _ in changed):
            raise Left("nothing is changed in memory")
        # Work-items alone in their groups run one after the other: what comes out otherwise depends on how they are grouped.
        items, _, offset = sizes(kernel)
        if kernel["work_group"] or any(kind == "local" for kind, _ in prepared):
            return "done", (changed, True)
        alone = opencl.run(path, kernel["name"], prepared, items, [1, 1, 1], offset)
        return "done", (changed, all(a.tobytes() == b.tobytes() for a, b in zip(first, alone)))
    except Left as left:
        return "left", str(left)
    except RuntimeError as error:
        return "failed", str(error)


def all_apart(verb, entries, folder):
    """Runs each kernel in a process of its own, as many at once as there are processors. Yields what became of each."""
    output = lambda at: os.path.join(folder, f"{at}.{verb}")
    workers = []
    for worker in range(os.cpu_count()):
        workers.append(os.fork())
        if workers[-1]:
            continue
        for at in range(worker, len(entries), os.cpu_count()):
            child = os.fork()
            if not child:
                signal.alarm(60)
                with open(output(at), "wb") as file:
                    pickle.dump(one(verb, *entries[at]), file)
                os._exit(0)
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if ended:
                reason = "no end within a minute" if ended == -signal.SIGALRM else f"ended by signal {-ended}" if ended < 0 else "failed"
                with open(output(at), "wb") as file:
                    pickle.dump(("left" if ended < 0 and verb == "on-cpu" else "failed", reason), file)
        os._exit(0)
    for worker in workers:
        os.waitpid(worker, 0)
    for at in range(len(entries)):
        with open(output(at), "rb") as file:
            yield pickle.load(file)
        os.remove(output(at))


def brief(kernel):
    arguments = [{key: one[key] for key in ("eliminated", "type", "address_space", "size", "by_value")} for one in kernel["args"]]
    work_group = kernel["attributes"]["reqd_work_group_size"]
    return {"name": kernel["name"], "image": kernel["image"], "args": arguments, "work_group": work_group}


def expect(folder, program, most, libraries):
    os.makedirs(folder, exist_ok=True)
    plan, left = [], collections.Counter()
    for library in libraries:
        stem = os.path.basename(library).split(".")[0]
        said = subprocess.run([program, "kernels", library, "--format", "json"], capture_output=True, check=True)
        chosen, families, names = [], collections.Counter(), set()
        for kernel in json.loads(said.stdout)["kernels"]:
            if kernel["imports"] or kernel["spec_constants"] or kernel["esimd"]:
                left["imports, specialization constants or explicit SIMD"] += 1
                continue
            if kernel["attributes"]["reqd_sub_group_size"] not in (None, 32):
                left["sub-groups of another size than 32"] += 1
                continue
            try:
                arguments(kernel)
            except Left as reason:
                left[str(reason)] += 1
                continue
            if kernel["name"] in names:
                left["a name that another image's kernel has"] += 1
                continue
            names.add(kernel["name"])
            chosen.append(kernel)
        # Some of each kind of kernel rather than all of the first.
        family = lambda kernel: kernel["demangled"].split("<")[0]
        ranked = []
        for kernel in chosen:
            ranked.append((families[family(kernel)], len(ranked), kernel))
            families[family(kernel)] += 1
        chosen = [kernel for _, _, kernel in sorted(ranked, key=lambda entry: entry[:2])[:most]]
        images = [f"--image={kernel['image']}" for kernel in chosen]
        with open(os.path.join(folder, stem + ".images"), "w") as file:
            file.write("\n".join(images) + "\n")
        modules = os.path.join(folder, "spv", stem)
        subprocess.run([program, "extract", library, *images, "-o", modules], capture_output=True, check=True)
        for kernel in chosen:
            path = glob.glob(os.path.join(modules, f"*_{kernel['image']}.spv"))[0]
            for offset in [False] if kernel["attributes"]["reqd_work_group_size"] else [False, True]:
                plan.append({"library": stem, "path": path, "offset": offset, **brief(kernel)})
    expected, ran = [], all_apart("on-cpu", [(entry["path"], entry) for entry in plan], folder)
    for (how, what), entry in zip(ran, plan):
        if how == "done":
            expected.append((entry, what))
        else:
            left[what] += 1
    with open(os.path.join(folder, "expected.pickle"), "wb") as file:
        pickle.dump((expected, left), file)
    print_left(left)
    print(f"RESULT {len(expected)} kernels to compare, {sum(left.values())} left out")


def compare(folder, cubins):
    with open(os.path.join(folder, "expected.pickle"), "rb") as file:
        expected, left = pickle.load(file)
    # An image is known by all of its kernels, as several may have one of a name.
    def names(path):
        with open(path) as file:
            return frozenset(file.read().split())

    where = {}
    for path in glob.glob(os.path.join(cubins, "**", "*.sym"), recursive=True):
        if os.path.exists(path[:-3] + "cubin"):
            where[names(path)] = path[:-3] + "cubin"
    # Where FOLDER was made its name may have been another.
    for entry, _ in expected:
        module = os.path.join(folder, "spv", entry["library"], os.path.basename(entry["path"]))
        entry["cubin"] = where.get(names(module[:-3] + "sym"))
    equal, wrong = collections.Counter(), []
    found = [(entry, wanted) for entry, wanted in expected if entry["cubin"]]
    ran = all_apart("on-gpu", [(entry["cubin"], entry) for entry, _ in found], folder)
    for (how, what), (entry, (wanted, of_any_group)) in zip(ran, found):
        if how == "done":
            what = difference(wanted, arguments(entry), what)
            if what and not of_any_group:
                how, what = "left", "differs, and on the CPU by how its work-items are grouped, too"
        whose = entry["library"] + (" at an offset" if entry["offset"] else "")
        if how == "left":
            left[what] += 1
        elif what:
            wrong.append(f"WRONG {whose} {entry['name']}: {what}")
        else:
            equal[whose] += 1
    left["no cubin"] += len(expected) - len(found)
    print("\n".join(sorted(wrong)))
    print_left(left)
    print(dict(equal))
    print(f"RESULT equal {sum(equal.values())} different {len(wrong)} left out {sum(left.values())}")
    return 1 if wrong else 0


def print_left(left):
    for reason, number in left.most_common():
        print(f"left out {number}: {reason}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["expect", folder, program, most, *libraries]:
            expect(folder, program, int(most), libraries)
        case ["compare", folder, cubins]:
            sys.exit(compare(folder, cubins))
        case _:
            sys.exit(__doc__)
