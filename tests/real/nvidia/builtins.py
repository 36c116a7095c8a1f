#!/usr/bin/env python3
"""builtins.py CUBIN: do the built-ins compute what they are defined to, on this GPU?

CUBIN is made of builtins.cl, and `builtins.names` beside it has the names of its kernels, as `build` writes them:

  clang-22 -c -target spir64 -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -Xclang -cl-ext=+all -O1 -w -emit-llvm builtins.cl
  llvm-spirv-22 --spirv-ext=+all,-SPV_KHR_untyped_pointers,-SPV_INTEL_fp_max_error builtins.bc
  sycl-bundle build builtins.spv -t nvidia_gpu_sm_90 -o builtins.table

Pointers without types would leave open what asynchronous copies copy. Each kernel is launched by the driver API for work-groups of several sizes, whole warps and
partial ones, and compared with NumPy. Prints WRONG KERNEL GROUP WHAT for each that differs, and last RESULT ok N bad M.
Exit status 1 if M is not 0. FAKE_CUDA_LOG in the environment: nothing is compared.
"""
import ctypes as C
import math
import os
import re
import sys

import numpy as np

SIZES = [1, 7, 32, 33, 100, 256, 1000, 1024]
GROUPS = 3
DTYPES = dict(char="i1", uchar="u1", short="i2", ushort="u2", int="i4", uint="u4", long="i8", ulong="u8", float="f4", double="f8", half="f2")
TOLERANCE = dict(f4=4e-6, f8=4e-14, f2=2e-3)
cuda = C.CDLL("libcuda.so.1")


def call(function, *arguments, what=""):
    status = getattr(cuda, function)(*arguments)
    if status:
        name = C.c_char_p()
        cuda.cuGetErrorName(status, C.byref(name))
        raise RuntimeError(f"{function} {what}: {status} {name.value}")


def launch(kernel, data, size, shared, offset=None):
    nbytes = max(data.nbytes, 256)
    memory = []
    for _ in range(2):
        pointer = C.c_uint64()
        call("cuMemAlloc_v2", C.byref(pointer), C.c_size_t(nbytes))
        memory.append(pointer)
    call("cuMemcpyHtoD_v2", memory[0], data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes))
    call("cuMemsetD8_v2", memory[1], C.c_ubyte(0), C.c_size_t(nbytes))
    arguments = [*memory]
    if shared:  # two arrays in local memory, by their offsets
        arguments += [C.c_uint32(0), C.c_uint32(size * data.itemsize)]
    if offset:
        arguments.append((C.c_uint32 * 3)(*offset))
    pointers = (C.c_void_p * len(arguments))(*[C.cast(C.byref(a), C.c_void_p) for a in arguments])
    call("cuLaunchKernel", kernel, len(data) // size, 1, 1, size, 1, 1, 2 * size * data.itemsize if shared else 0, None, pointers, None)
    call("cuCtxSynchronize")
    result = np.empty_like(data)
    call("cuMemcpyDtoH_v2", result.ctypes.data_as(C.c_void_p), memory[1], C.c_size_t(result.nbytes))
    for pointer in memory:
        call("cuMemFree_v2", pointer)
    return result


REDUCE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
          "xor": np.bitwise_xor}


def identity(op, dtype):
    if op in ("add", "or", "xor"):
        return dtype.type(0)
    if op == "mul":
        return dtype.type(1)
    if op == "and":
        return np.invert(np.zeros(1, dtype))[0]
    if dtype.kind == "f":
        return dtype.type(math.inf if op == "min" else -math.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if op == "min" else limits.min)


def collective(how, op, part):
    f = REDUCE[op]
    if how == "reduce":
        return np.full_like(part, f.reduce(part, dtype=part.dtype))
    scan = f.accumulate(part, dtype=part.dtype)
    if how == "scan_inclusive":
        return scan
    return np.concatenate([[identity(op, part.dtype)], scan[:-1]]).astype(part.dtype)


def values(name, dtype, count, seed):
    """What goes in: results of any order are the same, as they are whole and small, or products of powers of two."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f" and "mul" in name:
        return rng.choice([-1, 1] if dtype.itemsize == 2 else [-1, 1, 0.5, 2], count).astype(dtype)
    if dtype == np.float16:
        return rng.integers(-1, 2, count).astype(dtype)
    return rng.integers(0 if dtype.kind == "u" else -100, 101, count).astype(dtype)


def some(part, chosen, got):
    """What the chosen ones of a sub-group get; the others nothing."""
    out = np.zeros_like(part)
    out[chosen] = got
    return out


def of_ballot(warp):
    bits = warp > 50
    count = np.cumsum(bits)
    got = bits.sum() + 100 * count + 10000 * (count - bits) + 1000000 * bits + 2000000 * int(bits[0])
    if bits.any():
        least, most = np.flatnonzero(bits)[[0, -1]]
        got = got + 4000000 * least + 128000000 * (most & 15)
    return got


def of_some(warp):
    chosen = np.arange(len(warp)) % 3 != 0
    values = warp[chosen]
    got = (np.arange(len(values)) == 0) + 2 * (values > 90).any() + 4 * (values > -90).all() + 8
    return some(warp, chosen, got)


def by_place(name, warp):
    """What a sub-group's work-items get from those in certain places."""
    lanes = np.arange(len(warp))
    if name.startswith("shuffle_any"):
        return warp[::-1]
    if name.startswith("shuffle_xor"):
        chosen = (lanes ^ 1) < len(warp)
        return some(warp, chosen, warp[lanes[chosen] ^ 1])
    if name.startswith("shuffle_up"):
        return some(warp, lanes >= 2, warp[:-2] if len(warp) > 2 else [])
    if name.startswith("shuffle_down"):
        return some(warp, lanes + 2 < len(warp), warp[2:])
    if name.startswith("first"):
        chosen = lanes % 3 == 1
        return some(warp, chosen, warp[chosen][:1])
    if name.startswith("apart"):
        # Two ways that a sub-group's work-items take, which meet nobody of the other.
        out, one = np.full_like(warp, warp[0]), lanes % 3 != 0
        for at in range(0, len(warp), 4):
            chosen = one & (lanes // 4 == at // 4)
            if chosen.any():
                out[chosen] = collective("reduce", name.split("_")[1], warp[chosen])
        return out
    match = re.match(r"(partly|clustered)_?(reduce|scan_inclusive|scan_exclusive)?_(\w+)_\w+$", name)
    if match[1] == "partly":
        return some(warp, lanes % 3 == 0, collective(match[2], match[3], warp[lanes % 3 == 0]))
    out = np.zeros_like(warp)
    for at in range(0, len(warp) - 3, 4):
        out[at:at + 4] = collective("reduce", match[3], warp[at:at + 4])
    return out


def expected(name, data, size):
    """What each work-item gets; None where the kernel adds to one place."""
    out = np.empty_like(data)
    if name.startswith("copied"):
        width = int(re.match(r"copied(\d+)", name)[1])
        return np.where(np.arange(len(data)) < len(data) // size * (size // width) * width, data, 0)
    match = re.match(r"(work|sub)_group_(reduce|scan_inclusive|scan_exclusive)_(\w+)_\w+$", name)
    for group in range(0, len(data), size):
        part = data[group:group + size]
        warps = [part[i:i + 32] for i in range(0, size, 32)]
        if match and match[1] == "work":
            got = collective(match[2], match[3], part)
        elif match:
            got = np.concatenate([collective(match[2], match[3], warp) for warp in warps])
        elif name.startswith("work_group_broadcast"):
            got = np.full_like(part, part[-1])
        elif name.startswith("sub_group_broadcast"):
            got = np.concatenate([np.full_like(warp, warp[-1]) for warp in warps])
        elif name.startswith("twice"):
            got = np.where(part == part.min(), part.max(), part.min())
        elif name.startswith("reverse"):
            got = part[::-1]
        elif name.startswith(("next_", "previous_")):
            got = np.concatenate([np.roll(warp, -1 if name.startswith("next") else 1) for warp in warps])
        elif name == "any_int":
            got = np.full_like(part, (part > 90).any())
        elif name == "all_int":
            got = np.full_like(part, (part > -90).all())
        elif name == "sub_group_any_int":
            got = np.concatenate([np.full_like(warp, (warp > 90).any()) for warp in warps])
        elif name == "sub_group_all_int":
            got = np.concatenate([np.full_like(warp, (warp > -90).all()) for warp in warps])
        elif name.startswith(("partly", "clustered", "apart", "shuffle", "first")):
            got = np.concatenate([by_place(name, warp) for warp in warps])
        elif name.startswith("mad_sat"):
            least, most = np.iinfo(part.dtype).min, np.iinfo(part.dtype).max
            sums = [(int(value) << 28) ** 2 + (1 << 62) for value in part]
            got = np.array([max(least, min(most, value)) for value in sums], part.dtype)
        elif name.startswith("strided"):
            got = np.where(np.arange(size) % 2 == 0, part, 0)
        elif name == "ballot_uint":
            got = np.concatenate([of_ballot(warp) for warp in warps])
        elif name == "some_int":
            got = np.concatenate([of_some(warp) for warp in warps])
        elif name in ("bfloat_uint", "bfloats_uint"):
            bits = (part.astype(np.uint64) * 0x9e3779b1 + np.arange(group, group + size).astype(np.uint64)) & 0xffffffff
            rounded = np.where(bits & 0x7fffffff > 0x7f800000, 0xffc1, (bits + 0x7fff + (bits >> 16 & 1)) >> 16)
            got = (rounded << 16 | rounded).astype(np.uint32)
        elif name == "clocks_ulong":
            got = np.full_like(part, 7)
        elif name == "places_int":
            # The size of a partial sub-group is what get_sub_group_size says.
            got = np.concatenate([
                number * 100000 + np.arange(len(warp)) * 1000 + len(warp) * 10 + len(warps) % 10
                for number, warp in enumerate(warps)])
        else:
            return None
        out[group:group + size] = got
    return out


def rsqrt(x):
    return 1 / np.sqrt(x)


MATH = dict(acos=np.arccos, acosh=np.arccosh, asin=np.arcsin, asinh=np.arcsinh, atan=np.arctan, atanh=np.arctanh,
            cbrt=np.cbrt, ceil=np.ceil, cos=np.cos, cosh=np.cosh, exp=np.exp, exp2=np.exp2, expm1=np.expm1, fabs=np.fabs,
            floor=np.floor, log=np.log, log10=np.log10, log1p=np.log1p, log2=np.log2, rint=np.rint, rsqrt=rsqrt, sin=np.sin,
            sinh=np.sinh, sqrt=np.sqrt, tan=np.tan, tanh=np.tanh, trunc=np.trunc, cospi=lambda x: np.cos(np.pi * x),
            sinpi=lambda x: np.sin(np.pi * x), erf=np.vectorize(math.erf), erfc=np.vectorize(math.erfc),
            tgamma=np.vectorize(math.gamma), lgamma=np.vectorize(math.lgamma))
MATH_2 = dict(atan2=np.arctan2, copysign=np.copysign, fmod=np.fmod, hypot=np.hypot, pow=np.power, powr=np.power, fmin=np.fmin, fmax=np.fmax,
              fdim=lambda x, y: np.where(x > y, x - y, 0))
DOMAIN = dict(acos=(-1, 1), asin=(-1, 1), atanh=(-0.9, 0.9), acosh=(1, 50), log=(1e-2, 50), log10=(1e-2, 50), log2=(1e-2, 50),
              log1p=(-0.9, 50), rsqrt=(1e-2, 50), sqrt=(0, 50), tgamma=(0.5, 20), lgamma=(0.5, 20), pow=(0.01, 20), powr=(0.01, 20), pown=(0.9, 1.1),
              cosh=(-8, 8), sinh=(-8, 8), exp=(-8, 8), exp2=(-8, 8), expm1=(-8, 8), tan=(-1.4, 1.4))


def math_check(name, kernel):
    _, function, type_name = name.split("_")
    dtype = np.dtype(DTYPES[type_name])
    low, high = DOMAIN.get(function, (-30, 30))
    data = np.linspace(low, high, 1024 * 4).astype(dtype)
    got = launch(kernel, data, 256, False)
    wide = data.astype("f8")
    if function == "nextafter":
        want = np.nextafter(data, dtype.type(1.25))
        return None if (got == want).all() else f"{(got != want).sum()} differ"
    if function == "pown":
        want = wide ** 100
    elif function == "sqrt" and dtype == np.float32:
        # Rounded to the nearest.
        want = np.sqrt(data)
        return None if (got == want).all() else f"{(got != want).sum()} differ"
    else:
        want = MATH[function](wide) if function in MATH else MATH_2[function](wide, 1.25)
    want = want.astype(dtype).astype("f8")
    error = np.abs(got.astype("f8") - want) / np.maximum(1, np.abs(want))
    worst = np.nanmax(np.where(np.isfinite(want), error, 0))
    if not np.isfinite(got[np.isfinite(want)]).all():
        return "not finite"
    return None if worst <= TOLERANCE[dtype.str[1:]] else f"error {worst:.3g}"


def atomic_check(name, kernel, size):
    type_name = name.rsplit("_", 1)[1]
    dtype = np.dtype(DTYPES[type_name])
    data = np.random.default_rng(size).integers(1, 1000, size * GROUPS).astype(dtype)
    got = launch(kernel, data, size, False)
    if name.startswith("atomic_add"):
        return None if got[0] == data.sum(dtype=dtype) else f"{got[0]} for {data.sum()}"
    got = np.concatenate([got, np.zeros(8, dtype)])[:6] if len(got) < 6 else got[:6]
    want = [0, 0, data.max(), np.bitwise_or.reduce(data), np.bitwise_xor.reduce(data), data.sum(dtype=dtype)]
    names = ["", "min", "max", "or", "xor", "sum by comparison"]
    wrong = [f"{names[i]} {got[i]} for {want[i]}" for i in range(1, min(6, len(data))) if got[i] != want[i]]
    return "; ".join(wrong) or None


def offset_check(kernel, module, name, size):
    """The plain kernel knows no offset; its copy adds the one that it gets."""
    data = np.zeros(size * GROUPS, "u8")
    places = np.arange(len(data), dtype="u8")
    copy = C.c_void_p()
    call("cuModuleGetFunction", C.byref(copy), module, name.encode() + b"_with_offset", what=name)
    plain = launch(kernel, data, size, False)
    moved = launch(copy, data, size, False, (5, 6, 7))
    if (plain != places).any():
        return f"without an offset {plain[:3]}"
    if (moved != places + 5 + 5000 + 1000000 * (6 + 6000)).any():
        return f"with an offset {moved[:3]}"
    return None


def main():
    call("cuInit", 0)
    device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
    call("cuDeviceGet", C.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    with open(sys.argv[1], "rb") as file:
        call("cuModuleLoadData", C.byref(module), file.read() + b"\0", what=sys.argv[1])
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "builtins.names")) as file:
        names = file.read().split()
    good = bad = 0
    fake = "FAKE_CUDA_LOG" in os.environ
    for name in names:
        kernel = C.c_void_p()
        problems = []
        try:
            call("cuModuleGetFunction", C.byref(kernel), module, name.encode(), what=name)
            if name.startswith("math_"):
                problems.append(("256", math_check(name, kernel)))
            else:
                dtype = np.dtype(DTYPES[name.rsplit("_", 1)[1]])
                for size in SIZES:
                    if name.startswith("offset"):
                        problems.append((size, offset_check(kernel, module, name, size)))
                        continue
                    if name.startswith("atomic"):
                        problems.append((size, atomic_check(name, kernel, size)))
                        continue
                    data = values(name, dtype, size * GROUPS, size)
                    got = launch(kernel, data, size, name.startswith(("reverse", "strided", "copied")))
                    want = expected(name, data, size)
                    wrong = np.flatnonzero(got != want)
                    first = f"{len(wrong)} of {len(data)}, at {wrong[0]}: {got[wrong[0]]} for {want[wrong[0]]}" if len(wrong) else None
                    problems.append((size, first))
        except (RuntimeError, KeyError, IndexError) as error:
            problems.append(("-", repr(error)))
        wrong = [(size, what) for size, what in problems if what and not (fake and "Error" not in what)]
        for size, what in wrong:
            print("WRONG", name, size, what)
        good, bad = good + (not wrong), bad + bool(wrong)
    print(f"RESULT ok {good} bad {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
