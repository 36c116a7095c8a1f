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

// What OpenCL C has in extensions, or not at all, and SPIR-V has.
#define DECLARED(T, NAME) __attribute__((overloadable)) T NAME(T);
#define DECLARED_OP(T, OP)                                                               \
  DECLARED(T, work_group_reduce_##OP) DECLARED(T, work_group_scan_inclusive_##OP)        \
  DECLARED(T, work_group_scan_exclusive_##OP) DECLARED(T, sub_group_reduce_##OP)         \
  DECLARED(T, sub_group_scan_inclusive_##OP) DECLARED(T, sub_group_scan_exclusive_##OP)
#define SMALL(T)                                                                         \
  DECLARED_OP(T, add) DECLARED_OP(T, min) DECLARED_OP(T, max)                            \
  __attribute__((overloadable)) T work_group_broadcast(T, size_t);                       \
  __attribute__((overloadable)) T sub_group_broadcast(T, uint);                          \
  TYPE(T)
SMALL(char) SMALL(uchar) SMALL(short) SMALL(ushort) SMALL(half)
#define MULTIPLY(T) DECLARED_OP(T, mul) COLLECTIVES(T, mul)
// By the names of SPIR-V: scope (2 a work-group, 3 a sub-group) and kind (reduction, inclusive, exclusive scan).
#define BY_SPIRV(T, OP, SPIRV)                                                           \
  __attribute__((overloadable)) T __spirv_##SPIRV(int, int, T);                          \
  __attribute__((overloadable)) T work_group_reduce_##OP(T value) { return __spirv_##SPIRV(2, 0, value); } \
  __attribute__((overloadable)) T work_group_scan_inclusive_##OP(T value) { return __spirv_##SPIRV(2, 1, value); } \
  __attribute__((overloadable)) T work_group_scan_exclusive_##OP(T value) { return __spirv_##SPIRV(2, 2, value); } \
  __attribute__((overloadable)) T sub_group_reduce_##OP(T value) { return __spirv_##SPIRV(3, 0, value); } \
  __attribute__((overloadable)) T sub_group_scan_inclusive_##OP(T value) { return __spirv_##SPIRV(3, 1, value); } \
  __attribute__((overloadable)) T sub_group_scan_exclusive_##OP(T value) { return __spirv_##SPIRV(3, 2, value); }
#define BITWISE(T)                                                                       \
  BY_SPIRV(T, and, GroupBitwiseAndKHR) BY_SPIRV(T, or, GroupBitwiseOrKHR) BY_SPIRV(T, xor, GroupBitwiseXorKHR) \
  COLLECTIVES(T, and) COLLECTIVES(T, or) COLLECTIVES(T, xor)
MULTIPLY(char) MULTIPLY(uchar) MULTIPLY(short) MULTIPLY(ushort) MULTIPLY(int) MULTIPLY(uint) MULTIPLY(long) MULTIPLY(ulong)
MULTIPLY(half) MULTIPLY(float) MULTIPLY(double)
BITWISE(char) BITWISE(uchar) BITWISE(short) BITWISE(ushort) BITWISE(int) BITWISE(uint) BITWISE(long) BITWISE(ulong)

// Some of a sub-group, each cluster of four that is whole, and the places that a shuffle asks for.
#define PART(T, OP, KIND)                                                                \
  DECLARED(T, sub_group_non_uniform_##KIND##_##OP)                                       \
  kernel void partly_##KIND##_##OP##_##T(global const T *in, global T *out) {            \
    size_t i = get_global_id(0);                                                         \
    if (get_sub_group_local_id() % 3 == 0) out[i] = sub_group_non_uniform_##KIND##_##OP(in[i]); \
  }
#define SHUFFLE(T) __attribute__((overloadable)) T sub_group_shuffle(T, uint);
#define PARTLY(T, OP)                                                                    \
  PART(T, OP, reduce) PART(T, OP, scan_inclusive) PART(T, OP, scan_exclusive)            \
  __attribute__((overloadable)) T sub_group_clustered_reduce_##OP(T, uint);              \
  kernel void clustered_##OP##_##T(global const T *in, global T *out) {                  \
    size_t i = get_global_id(0);                                                         \
    T four = sub_group_clustered_reduce_##OP(in[i], 4);                                  \
    if (get_sub_group_local_id() / 4 * 4 + 4 <= get_sub_group_size()) out[i] = four;     \
  }                                                                                      \
  kernel void apart_##OP##_##T(global const T *in, global T *out) {                      \
    size_t i = get_global_id(0);                                                         \
    if (get_sub_group_local_id() % 3) out[i] = sub_group_clustered_reduce_##OP(in[i], 4); \
    else out[i] = sub_group_shuffle(in[i], 0);                                           \
  }
#define PLACES(T)                                                                        \
  SHUFFLE(T) PARTLY(T, add) PARTLY(T, mul) PARTLY(T, min) PARTLY(T, max)                            \
  DECLARED(T, sub_group_broadcast_first)                                                 \
  __attribute__((overloadable)) T sub_group_shuffle_xor(T, uint);                        \
  __attribute__((overloadable)) T sub_group_shuffle_up(T, uint);                         \
  __attribute__((overloadable)) T sub_group_shuffle_down(T, uint);                       \
  kernel void shuffle_any_##T(global const T *in, global T *out) {                       \
    size_t i = get_global_id(0);                                                         \
    out[i] = sub_group_shuffle(in[i], get_sub_group_size() - 1 - get_sub_group_local_id()); \
  }                                                                                      \
  /* Behind loops of different lengths all come together again. */                       \
  kernel void shuffle_any_after_##T(global const T *in, global T *out) {                 \
    size_t i = get_global_id(0);                                                         \
    T value = in[i];                                                                     \
    volatile global T *own = out + i;                                                    \
    for (uint n = get_sub_group_local_id() % 7 * 5; n; n--) *own = value;                \
    if (get_sub_group_local_id() % 3 == 0) *own = 0;                                     \
    out[i] = sub_group_shuffle(value, get_sub_group_size() - 1 - get_sub_group_local_id()); \
  }                                                                                      \
  kernel void shuffle_xor_##T(global const T *in, global T *out) {                       \
    size_t i = get_global_id(0);                                                         \
    T other = sub_group_shuffle_xor(in[i], 1);                                           \
    if ((get_sub_group_local_id() ^ 1) < get_sub_group_size()) out[i] = other;           \
  }                                                                                      \
  kernel void shuffle_up_##T(global const T *in, global T *out) {                        \
    size_t i = get_global_id(0);                                                         \
    T other = sub_group_shuffle_up(in[i], 2);                                            \
    if (get_sub_group_local_id() >= 2) out[i] = other;                                   \
  }                                                                                      \
  kernel void shuffle_down_##T(global const T *in, global T *out) {                      \
    size_t i = get_global_id(0);                                                         \
    T other = sub_group_shuffle_down(in[i], 2);                                          \
    if (get_sub_group_local_id() + 2 < get_sub_group_size()) out[i] = other;             \
  }                                                                                      \
  kernel void first_##T(global const T *in, global T *out) {                             \
    size_t i = get_global_id(0);                                                         \
    if (get_sub_group_local_id() % 3 == 1) out[i] = sub_group_broadcast_first(in[i]);    \
  }
PLACES(char) PLACES(uchar) PLACES(short) PLACES(ushort) PLACES(int) PLACES(uint) PLACES(long) PLACES(ulong)
PLACES(half) PLACES(float) PLACES(double)

// Asynchronous copies to local memory and back: every other element, and in vectors what is whole.
#define COPIED_VECTOR(T, N)                                                              \
  kernel void copied##N##_##T(global const T *in, global T *out, local T##N *one, local T *two) { \
    size_t count = get_local_size(0) / N, from = get_group_id(0) * count;                \
    event_t event = async_work_group_copy(one, (global const T##N *)in + from, count, 0); \
    wait_group_events(1, &event);                                                        \
    event = async_work_group_copy((global T##N *)out + from, one, count, 0);             \
    wait_group_events(1, &event);                                                        \
  }
#define COPIED(T)                                                                        \
  kernel void strided_##T(global const T *in, global T *out, local T *one, local T *two) { \
    size_t count = (get_local_size(0) + 1) / 2, from = get_group_id(0) * get_local_size(0); \
    event_t event = async_work_group_strided_copy(one, in + from, count, 2, 0);          \
    wait_group_events(1, &event);                                                        \
    event = async_work_group_strided_copy(out + from, one, count, 2, 0);                 \
    wait_group_events(1, &event);                                                        \
  }                                                                                      \
  COPIED_VECTOR(T, 2) COPIED_VECTOR(T, 4) COPIED_VECTOR(T, 8) COPIED_VECTOR(T, 16)
COPIED(char) COPIED(uchar) COPIED(short) COPIED(ushort) COPIED(int) COPIED(uint) COPIED(long) COPIED(ulong)
COPIED(half) COPIED(float) COPIED(double)

#define COUNT(T)                                                                         \
  kernel void atomic_add_##T(global const T *in, global T *out) {                        \
    atomic_fetch_add_explicit((volatile global atomic_##T *)out, in[get_global_id(0)], memory_order_acq_rel, \
                              memory_scope_device);                                      \
  }
COUNT(int) COUNT(uint) COUNT(long) COUNT(ulong)
#define COUNT_ALL(T)                                                                     \
  kernel void atomic_add_all_##T(global const T *in, global T *out) {                    \
    atomic_fetch_add_explicit((volatile global atomic_##T *)out, in[get_global_id(0)], memory_order_acq_rel, \
                              memory_scope_all_svm_devices);                             \
  }
COUNT_ALL(int) COUNT_ALL(uint) COUNT_ALL(long) COUNT_ALL(ulong) COUNT_ALL(float) COUNT_ALL(double)
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

// What a sub-group says of its work-items.
int __attribute__((overloadable)) sub_group_elect(void);
int __attribute__((overloadable)) sub_group_non_uniform_any(int);
int __attribute__((overloadable)) sub_group_non_uniform_all(int);
uint4 __attribute__((overloadable)) sub_group_ballot(int);
int __attribute__((overloadable)) sub_group_inverse_ballot(uint4);
int __attribute__((overloadable)) sub_group_ballot_bit_extract(uint4, uint);
uint __attribute__((overloadable)) sub_group_ballot_bit_count(uint4);
uint __attribute__((overloadable)) sub_group_ballot_inclusive_scan(uint4);
uint __attribute__((overloadable)) sub_group_ballot_exclusive_scan(uint4);
uint __attribute__((overloadable)) sub_group_ballot_find_lsb(uint4);
uint __attribute__((overloadable)) sub_group_ballot_find_msb(uint4);
kernel void ballot_uint(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  uint4 all = sub_group_ballot(in[i] > 50);
  uint sum = sub_group_ballot_bit_count(all) + 100 * sub_group_ballot_inclusive_scan(all) +
             10000 * sub_group_ballot_exclusive_scan(all) + 1000000 * (sub_group_inverse_ballot(all) != 0) +
             2000000 * (sub_group_ballot_bit_extract(all, 0) != 0);
  if (all.x != 0) sum += 4000000 * sub_group_ballot_find_lsb(all) + 128000000 * (sub_group_ballot_find_msb(all) & 15);
  out[i] = sum;
}
kernel void some_int(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  if (get_sub_group_local_id() % 3 != 0)
    out[i] = (sub_group_elect() != 0) + 2 * (sub_group_non_uniform_any(in[i] > 90) != 0) +
             4 * (sub_group_non_uniform_all(in[i] > -90) != 0) + 8;
}
ulong __attribute__((overloadable)) clock_read_device(void);
ulong __attribute__((overloadable)) clock_read_work_group(void);
ulong __attribute__((overloadable)) clock_read_sub_group(void);
kernel void clocks_ulong(global const ulong *in, global ulong *out) {
  size_t i = get_global_id(0);
  ulong device = clock_read_device(), group = clock_read_work_group(), sub = clock_read_sub_group();
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[i] = (clock_read_device() >= device && device != 0) + 2 * (clock_read_work_group() > group) +
           4 * (clock_read_sub_group() > sub);
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
  MATH_2(T, fdim) MATH_2(T, nextafter) MATH_2(T, powr)
ALL_MATH(float) ALL_MATH(double) ALL_MATH(half)
MATH(float, erf) MATH(float, erfc) MATH(float, tgamma) MATH(float, lgamma) MATH(double, erf) MATH(double, erfc)
MATH(double, tgamma) MATH(double, lgamma)
#define POWN(T) \
  kernel void math_pown_##T(global const T *in, global T *out) { out[get_global_id(0)] = pown(in[get_global_id(0)], 100); }
POWN(float) POWN(double)
// The sum is too large where the product is not.
#define MAD_SAT(T)                                                                       \
  kernel void mad_sat_##T(global const T *in, global T *out) {                           \
    size_t i = get_global_id(0);                                                         \
    T factor = in[i] << 28;                                                              \
    out[i] = mad_sat(factor, factor, (T)1 << 62);                                        \
  }
MAD_SAT(long) MAD_SAT(ulong)
// Of SYCL's device library.
ushort __devicelib_ConvertFToBF16INTEL(const float *from);
float __devicelib_ConvertBF16ToFINTEL(const ushort *from);
void __devicelib_ConvertFToBF16INTELVec4(const float *from, ushort *to);
void __devicelib_ConvertBF16ToFINTELVec4(const ushort *from, float *to);
kernel void bfloats_uint(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  float numbers[4] = {1, 1, 1, 1}, back[4];
  ushort rounded[4];
  numbers[i % 4] = as_float(in[i] * 0x9e3779b1u + (uint)i);
  __devicelib_ConvertFToBF16INTELVec4(numbers, rounded);
  __devicelib_ConvertBF16ToFINTELVec4(rounded, back);
  out[i] = rounded[i % 4] | as_uint(back[i % 4]);
}
kernel void bfloat_uint(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  float number = as_float(in[i] * 0x9e3779b1u + (uint)i);
  ushort rounded = __devicelib_ConvertFToBF16INTEL(&number);
  out[i] = rounded | as_uint(__devicelib_ConvertBF16ToFINTEL(&rounded));
}
