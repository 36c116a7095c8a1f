// Kernels that each call one built-in, for builtins.py: what goes in and comes out is an array each, one element a work-item.
// Compiled to SPIR-V by clang and llvm-spirv, as a SYCL compiler would.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define GROUP(T, NAME)                                                                   \
  kernel void NAME##_##T(global const T *in, global T *out) {                            \
    size_t i = get_global_id(0);                                                         \
    out[i] = NAME(in[i]);                                                                \
  }
#define COLLECTIVES(T, OP)                                                               \
  GROUP(T, work_group_reduce_##OP)                                                       \
  GROUP(T, work_group_scan_inclusive_##OP)                                               \
  GROUP(T, work_group_scan_exclusive_##OP)                                               \
  GROUP(T, sub_group_reduce_##OP)                                                        \
  GROUP(T, sub_group_scan_inclusive_##OP)                                                \
  GROUP(T, sub_group_scan_exclusive_##OP)
#define TYPE(T)                                                                          \
  COLLECTIVES(T, add)                                                                    \
  COLLECTIVES(T, min)                                                                    \
  COLLECTIVES(T, max)                                                                    \
  kernel void work_group_broadcast_##T(global const T *in, global T *out) {              \
    size_t i = get_global_id(0);                                                         \
    out[i] = work_group_broadcast(in[i], get_local_size(0) - 1);                         \
  }                                                                                      \
  kernel void sub_group_broadcast_##T(global const T *in, global T *out) {               \
    size_t i = get_global_id(0);                                                         \
    out[i] = sub_group_broadcast(in[i], get_sub_group_size() - 1);                       \
  }                                                                                      \
  /* Two in a row: the second may not meet what the first left. */                       \
  kernel void twice_##T(global const T *in, global T *out) {                             \
    size_t i = get_global_id(0);                                                         \
    T least = work_group_reduce_min(in[i]);                                              \
    T most = work_group_reduce_max(in[i]);                                               \
    out[i] = in[i] == least ? most : least;                                              \
  }                                                                                      \
  /* Local memory of the launch, an offset on NVIDIA GPUs; two of them. */               \
  kernel void reverse_##T(global const T *in, global T *out, local T *one, local T *two) { \
    size_t i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);             \
    one[l] = in[i];                                                                      \
    two[n - 1 - l] = in[i];                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
    out[i] = one[n - 1 - l] == two[l] ? two[l] : (T)99;                                  \
  }
TYPE(int) TYPE(uint) TYPE(long) TYPE(ulong) TYPE(float) TYPE(double)

#define COUNT(T)                                                                         \
  kernel void atomic_add_##T(global const T *in, global T *out) {                        \
    atomic_fetch_add_explicit((volatile global atomic_##T *)out, in[get_global_id(0)], memory_order_acq_rel, \
                              memory_scope_device);                                      \
  }
COUNT(int) COUNT(uint) COUNT(long) COUNT(ulong)
#define INTEGER(T)                                                                       \
  kernel void atomic_rest_##T(global const T *in, global T *out) {                       \
    T value = in[get_global_id(0)];                                                      \
    volatile global atomic_##T *all = (volatile global atomic_##T *)out;                 \
    atomic_fetch_min_explicit(all + 1, value, memory_order_relaxed, memory_scope_device); \
    atomic_fetch_max_explicit(all + 2, value, memory_order_relaxed, memory_scope_device); \
    atomic_fetch_or_explicit(all + 3, value, memory_order_relaxed, memory_scope_device); \
    atomic_fetch_xor_explicit(all + 4, value, memory_order_seq_cst, memory_scope_device); \
    /* A sum by comparison and exchange. */                                              \
    T old = atomic_load_explicit(all + 5, memory_order_acquire, memory_scope_device);    \
    while (!atomic_compare_exchange_strong_explicit(all + 5, &old, old + value, memory_order_acq_rel, \
                                                    memory_order_acquire, memory_scope_device)) \
      ;                                                                                  \
  }
INTEGER(int) INTEGER(uint) INTEGER(long) INTEGER(ulong)

kernel void any_int(global const int *in, global int *out) { out[get_global_id(0)] = work_group_any(in[get_global_id(0)] > 90) != 0; }
kernel void all_int(global const int *in, global int *out) { out[get_global_id(0)] = work_group_all(in[get_global_id(0)] > -90) != 0; }
kernel void sub_group_any_int(global const int *in, global int *out) { out[get_global_id(0)] = sub_group_any(in[get_global_id(0)] > 90) != 0; }
kernel void sub_group_all_int(global const int *in, global int *out) { out[get_global_id(0)] = sub_group_all(in[get_global_id(0)] > -90) != 0; }
kernel void places_int(global const int *in, global int *out) {
  out[get_global_id(0)] = get_sub_group_id() * 100000 + get_sub_group_local_id() * 1000 + get_sub_group_size() * 10 +
                          get_num_sub_groups() % 10;
}

// The launch's offset is in the ids, and asked for by a function that the kernel calls.
__attribute__((noinline)) ulong id_and_offset(uint dimension) { return get_global_id(dimension) + 1000 * get_global_offset(dimension); }
kernel void offset_ulong(global const ulong *in, global ulong *out) {
  out[get_group_id(0) * get_local_size(0) + get_local_id(0)] = id_and_offset(0) + 1000000 * id_and_offset(1);
}

// Neighbours, the last work-item's from the begin of the next value; and those before, the first one's from the end.
#define NEIGHBOURS(T)                                                                    \
  __attribute__((overloadable)) T intel_sub_group_shuffle_down(T, T, uint);              \
  __attribute__((overloadable)) T intel_sub_group_shuffle_up(T, T, uint);                \
  kernel void next_##T(global const T *in, global T *out) {                              \
    size_t i = get_global_id(0);                                                         \
    out[i] = intel_sub_group_shuffle_down(in[i], in[i], 1);                              \
  }                                                                                      \
  kernel void previous_##T(global const T *in, global T *out) {                          \
    size_t i = get_global_id(0);                                                         \
    out[i] = intel_sub_group_shuffle_up(in[i], in[i], 1);                                \
  }
NEIGHBOURS(int) NEIGHBOURS(long) NEIGHBOURS(float) NEIGHBOURS(double)

#define MATH(T, NAME) \
  kernel void math_##NAME##_##T(global const T *in, global T *out) { out[get_global_id(0)] = NAME(in[get_global_id(0)]); }
#define MATH_2(T, NAME) \
  kernel void math_##NAME##_##T(global const T *in, global T *out) { out[get_global_id(0)] = NAME(in[get_global_id(0)], (T)1.25f); }
#define ALL_MATH(T)                                                                      \
  MATH(T, acos) MATH(T, acosh) MATH(T, asin) MATH(T, asinh) MATH(T, atan) MATH(T, atanh) MATH(T, cbrt) MATH(T, ceil) \
  MATH(T, cos) MATH(T, cosh) MATH(T, exp) MATH(T, exp2) MATH(T, expm1) MATH(T, fabs) MATH(T, floor) MATH(T, log) \
  MATH(T, log10) MATH(T, log1p) MATH(T, log2) MATH(T, rint) MATH(T, rsqrt) MATH(T, sin) MATH(T, sinh) MATH(T, sqrt) \
  MATH(T, tan) MATH(T, tanh) MATH(T, trunc) MATH(T, cospi) MATH(T, sinpi)                \
  MATH_2(T, atan2) MATH_2(T, copysign) MATH_2(T, fmod) MATH_2(T, hypot) MATH_2(T, pow) MATH_2(T, fmin) MATH_2(T, fmax) \
  MATH_2(T, fdim) MATH_2(T, nextafter)
ALL_MATH(float) ALL_MATH(double) ALL_MATH(half)
MATH(float, erf) MATH(float, erfc) MATH(float, tgamma) MATH(float, lgamma) MATH(double, erf) MATH(double, erfc)
MATH(double, tgamma) MATH(double, lgamma)
