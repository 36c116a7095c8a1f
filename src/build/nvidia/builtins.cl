// Built-in functions of OpenCL C that SPIR-V modules of SYCL call, for NVIDIA GPUs: what libclc for NVPTX lacks, and what
// is faster here. They take the place of libclc's; `super::library` compiles them for the user's LLVM.
//
// A generic pointer of SPIR-V is a plain pointer on NVPTX. Sub-groups are warps of 32 work-items, the last of a work-group
// may have fewer. Work-items that have ended, or never were, may be in the mask of a warp's operation.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// As `super::library` says of all functions; before 18 opt marks none where the function is not named.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#define OVERLOAD __attribute__((overloadable))
#define INLINE static __attribute__((always_inline))
#define ALL 0xffffffffu

// ---- Work-items ----

// Kernels that take an offset are copies of the others, and read it themselves (`super::offset`).
OVERLOAD ulong get_global_offset(uint dimension) { return 0; }

INLINE uint group_size(void) {
  return __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_ntid_z();
}
INLINE uint local_linear_id(void) {
  return (__nvvm_read_ptx_sreg_tid_z() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y()) *
             __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}
INLINE uint lane(void) { return local_linear_id() & 31; }
// The work-items of the warp that come here together. Before 18 clang has no function for it.
INLINE uint active_mask(void) {
  uint mask;
  __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
// How many work-items the sub-group of a work-item has.
INLINE uint warp_size(void) { return min(group_size() - (local_linear_id() & ~31u), 32u); }

// libclc has these since LLVM 20 or later, and some never.
OVERLOAD uint get_sub_group_size(void) { return warp_size(); }
OVERLOAD uint get_max_sub_group_size(void) { return 32; }
OVERLOAD uint get_num_sub_groups(void) { return (group_size() + 31) >> 5; }
OVERLOAD uint get_enqueued_num_sub_groups(void) { return (group_size() + 31) >> 5; }
OVERLOAD uint get_sub_group_id(void) { return local_linear_id() >> 5; }
OVERLOAD uint get_sub_group_local_id(void) { return lane(); }
OVERLOAD ulong get_local_linear_id(void) { return local_linear_id(); }

// ---- Clocks: of the multiprocessor, and one that all of them share ----

// By name, as the compiler's functions for them return a `long long`, which has 128 bits in this language.
#define CLOCK(SCOPE, REGISTER)                                                                        \
  OVERLOAD ulong clock_read_##SCOPE(void) {                                                           \
    ulong now;                                                                                        \
    __asm__ volatile("mov.u64 %0, %%" REGISTER ";" : "=l"(now));                                      \
    return now;                                                                                       \
  }                                                                                                   \
  OVERLOAD uint2 clock_read_hilo_##SCOPE(void) { return __builtin_astype(clock_read_##SCOPE(), uint2); }
CLOCK(device, "globaltimer") CLOCK(work_group, "clock64") CLOCK(sub_group, "clock64")

// ---- Fences and barriers ----

INLINE void fence(memory_scope scope) {
  if (scope == memory_scope_all_svm_devices)
    __nvvm_membar_sys();
  else if (scope == memory_scope_device)
    __nvvm_membar_gl();
  else if (scope != memory_scope_work_item)
    __nvvm_membar_cta();
}
INLINE void before(memory_order order, memory_scope scope) {
  if (order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst) fence(scope);
}
INLINE void after(memory_order order, memory_scope scope) {
  if (order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst) fence(scope);
}
OVERLOAD void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  if (order != memory_order_relaxed) fence(scope);
}
OVERLOAD void work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  // It orders memory among the work-items of the group itself.
  if ((flags & CLK_GLOBAL_MEM_FENCE) && (scope == memory_scope_device || scope == memory_scope_all_svm_devices)) fence(scope);
  __nvvm_bar_sync(0);
}
OVERLOAD void work_group_barrier(cl_mem_fence_flags flags) { __nvvm_bar_sync(0); }
OVERLOAD void barrier(cl_mem_fence_flags flags) { __nvvm_bar_sync(0); }
OVERLOAD void sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  if ((flags & CLK_GLOBAL_MEM_FENCE) && scope != memory_scope_sub_group) fence(scope);
  __nvvm_bar_warp_sync(ALL);
}
OVERLOAD void sub_group_barrier(cl_mem_fence_flags flags) { __nvvm_bar_warp_sync(ALL); }

// ---- Copies by all work-items of a group; their events are numbers (`super::lower`) ----

#define COPIES_OF(T)                                                                                  \
  OVERLOAD ulong async_work_group_strided_copy(local T *to, const global T *from, size_t count, size_t stride, ulong event) { \
    for (size_t i = local_linear_id(), size = group_size(); i < count; i += size) to[i] = from[i * stride]; \
    return event;                                                                                     \
  }                                                                                                   \
  OVERLOAD ulong async_work_group_strided_copy(global T *to, const local T *from, size_t count, size_t stride, ulong event) { \
    for (size_t i = local_linear_id(), size = group_size(); i < count; i += size) to[i * stride] = from[i]; \
    return event;                                                                                     \
  }
#define COPIES(T) COPIES_OF(T) COPIES_OF(T##2) COPIES_OF(T##3) COPIES_OF(T##4) COPIES_OF(T##8) COPIES_OF(T##16)
COPIES(uchar) COPIES(ushort) COPIES(uint) COPIES(ulong) COPIES(half) COPIES(float) COPIES(double)
OVERLOAD void wait_group_events(int count, long *events) { __nvvm_bar_sync(0); }
OVERLOAD void wait_group_events(int count, ulong *events) { __nvvm_bar_sync(0); }

// ---- Sub-groups: shuffles ----

INLINE int shuffle_word(uint mask, int value, uint from) { return __nvvm_shfl_sync_idx_i32(mask, value, from, 31); }
INLINE int2 shuffle_words(uint mask, int2 value, uint from) {
  return (int2)(shuffle_word(mask, value.x, from), shuffle_word(mask, value.y, from));
}
#define SHUFFLE_SMALL(T)                                                                              \
  INLINE T shuffle_##T(uint mask, T value, uint from) { return (T)shuffle_word(mask, (int)value, from); }
#define SHUFFLE_32(T)                                                                                 \
  INLINE T shuffle_##T(uint mask, T value, uint from) {                                               \
    return __builtin_astype(shuffle_word(mask, __builtin_astype(value, int), from), T);               \
  }
#define SHUFFLE_64(T)                                                                                 \
  INLINE T shuffle_##T(uint mask, T value, uint from) {                                               \
    return __builtin_astype(shuffle_words(mask, __builtin_astype(value, int2), from), T);             \
  }
SHUFFLE_SMALL(char) SHUFFLE_SMALL(uchar) SHUFFLE_SMALL(short) SHUFFLE_SMALL(ushort)
SHUFFLE_32(int) SHUFFLE_32(uint) SHUFFLE_32(float)
SHUFFLE_64(long) SHUFFLE_64(ulong) SHUFFLE_64(double)
INLINE half shuffle_half(uint mask, half value, uint from) {
  return __builtin_astype((short)shuffle_word(mask, __builtin_astype(value, short), from), half);
}

#define SHUFFLES(T)                                                                                   \
  /* Among the work-items that come here together: those of `OpGroupNonUniformShuffle`. */            \
  OVERLOAD T sub_group_shuffle(T value, uint from) { return shuffle_##T(active_mask(), value, from); } \
  OVERLOAD T sub_group_shuffle_xor(T value, uint mask) { return shuffle_##T(active_mask(), value, lane() ^ mask); } \
  OVERLOAD T sub_group_shuffle_up(T value, uint delta) { return shuffle_##T(active_mask(), value, lane() - delta); } \
  OVERLOAD T sub_group_shuffle_down(T value, uint delta) { return shuffle_##T(active_mask(), value, lane() + delta); } \
  OVERLOAD T intel_sub_group_shuffle(T value, uint from) { return shuffle_##T(ALL, value, from); }    \
  OVERLOAD T intel_sub_group_shuffle_xor(T value, uint mask) { return shuffle_##T(ALL, value, lane() ^ mask); } \
  OVERLOAD T intel_sub_group_shuffle_down(T current, T next, uint delta) {                            \
    uint from = lane() + delta, size = warp_size();                                                   \
    /* Both by all work-items: one that is asked and not there has no value. */                       \
    T own = shuffle_##T(ALL, current, from), other = shuffle_##T(ALL, next, from < size ? from : from - size); \
    return from < size ? own : other;                                                                 \
  }                                                                                                   \
  OVERLOAD T intel_sub_group_shuffle_up(T previous, T current, uint delta) {                          \
    uint from = lane() - delta;                                                                       \
    T own = shuffle_##T(ALL, current, from), other = shuffle_##T(ALL, previous, from + warp_size());  \
    return delta <= lane() ? own : other;                                                             \
  }                                                                                                   \
  OVERLOAD T sub_group_broadcast(T value, uint from) { return shuffle_##T(ALL, value, from); }        \
  OVERLOAD T sub_group_non_uniform_broadcast(T value, uint from) {                                    \
    return shuffle_##T(active_mask(), value, from);                                                   \
  }                                                                                                   \
  OVERLOAD T sub_group_broadcast_first(T value) {                                                     \
    uint active = active_mask();                                                                      \
    return shuffle_##T(active, value, ctz(active));                                                   \
  }
SHUFFLES(char) SHUFFLES(uchar) SHUFFLES(short) SHUFFLES(ushort) SHUFFLES(int) SHUFFLES(uint)
SHUFFLES(long) SHUFFLES(ulong) SHUFFLES(half) SHUFFLES(float) SHUFFLES(double)

OVERLOAD int sub_group_any(int value) { return __nvvm_vote_any_sync(ALL, value != 0); }
OVERLOAD int sub_group_all(int value) { return __nvvm_vote_all_sync(ALL, value != 0); }
OVERLOAD int sub_group_non_uniform_any(int value) { return __nvvm_vote_any_sync(active_mask(), value != 0); }
OVERLOAD int sub_group_non_uniform_all(int value) { return __nvvm_vote_all_sync(active_mask(), value != 0); }
OVERLOAD int sub_group_elect(void) { return lane() == ctz(active_mask()); }
OVERLOAD uint4 sub_group_ballot(int value) {
  return (uint4)(__nvvm_vote_ballot_sync(active_mask(), value != 0), 0, 0, 0);
}
OVERLOAD int sub_group_inverse_ballot(uint4 value) { return value.x >> lane() & 1; }
OVERLOAD int sub_group_ballot_bit_extract(uint4 value, uint index) { return value.x >> (index & 31) & 1; }
OVERLOAD uint sub_group_ballot_bit_count(uint4 value) { return popcount(value.x); }
OVERLOAD uint sub_group_ballot_inclusive_scan(uint4 value) { return popcount(value.x & (2u << lane()) - 1); }
OVERLOAD uint sub_group_ballot_exclusive_scan(uint4 value) { return popcount(value.x & (1u << lane()) - 1); }
OVERLOAD uint sub_group_ballot_find_lsb(uint4 value) { return ctz(value.x); }
OVERLOAD uint sub_group_ballot_find_msb(uint4 value) { return 31 - clz(value.x); }

// ---- Collectives ----

// In builtins.ll: room for a value of each warp.
local ulong *__sycl_bundle_scratch(void);

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((a) < (b) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define BOTH(a, b) ((a) && (b))
#define EITHER(a, b) ((a) || (b))
#define ONE_OF(a, b) (!(a) != !(b))

// A reduction over a warp: every work-item gets the result. One over a work-group: each warp's own, then every warp reduces
// the warps' results. A scan likewise: within the warp, then what all warps before have is added.
// Barriers keep the results of one collective apart from those of the next; one warp alone needs none.
#define COLLECTIVES(T, NAME, OP, IDENTITY)                                                            \
  /* Of the first `size` work-items of a warp. */                                                     \
  INLINE T reduce_##NAME##_##T(T value, uint size) {                                                  \
    uint own = lane();                                                                                \
    _Pragma("unroll") for (uint step = 16; step > 0; step >>= 1) {                                    \
      T other = shuffle_##T(ALL, value, own + step);                                                  \
      if (own + step < size) value = OP(value, other);                                                \
    }                                                                                                 \
    return shuffle_##T(ALL, value, 0);                                                                \
  }                                                                                                   \
  INLINE T warp_reduce_##NAME##_##T(T value) { return reduce_##NAME##_##T(value, warp_size()); }      \
  INLINE T warp_scan_##NAME##_##T(T value) {                                                          \
    uint own = lane();                                                                                \
    _Pragma("unroll") for (uint step = 1; step < 32; step <<= 1) {                                    \
      T other = shuffle_##T(ALL, value, own - step);                                                  \
      if (own >= step) value = OP(other, value);                                                      \
    }                                                                                                 \
    return value;                                                                                     \
  }                                                                                                   \
  OVERLOAD T sub_group_reduce_##NAME(T value) { return warp_reduce_##NAME##_##T(value); }             \
  OVERLOAD T sub_group_scan_inclusive_##NAME(T value) { return warp_scan_##NAME##_##T(value); }       \
  OVERLOAD T sub_group_scan_exclusive_##NAME(T value) {                                               \
    T before = shuffle_##T(ALL, warp_scan_##NAME##_##T(value), lane() - 1);                           \
    return lane() ? before : (T)(IDENTITY);                                                           \
  }                                                                                                   \
  /* Of those of each `size` work-items in a row, a power of two, that come here together. */         \
  OVERLOAD T sub_group_clustered_reduce_##NAME(T value, uint size) {                                  \
    uint active = active_mask();                                                                      \
    if (active == ALL) {                                                                              \
      for (uint step = 1; step < size; step <<= 1) {                                                  \
        T other = shuffle_##T(ALL, value, lane() ^ step); /* Once, by all: OP may name it twice. */   \
        value = OP(value, other);                                                                     \
      }                                                                                               \
      return value;                                                                                   \
    }                                                                                                 \
    T result = (T)(IDENTITY);                                                                         \
    for (uint left = active; left; left &= left - 1) {                                                \
      uint from = ctz(left);                                                                          \
      T other = shuffle_##T(active, value, from);                                                     \
      if ((from ^ lane()) < size) result = OP(result, other);                                         \
    }                                                                                                 \
    return result;                                                                                    \
  }                                                                                                   \
  OVERLOAD T work_group_reduce_##NAME(T value) {                                                      \
    T result = warp_reduce_##NAME##_##T(value);                                                       \
    uint size = group_size();                                                                         \
    if (size <= 32) return result;                                                                    \
    local T *all = (local T *)__sycl_bundle_scratch();                                                \
    uint warp = local_linear_id() >> 5, warps = (size + 31) >> 5;                                     \
    __nvvm_bar_sync(0);                                                                               \
    if (lane() == 0) all[warp] = result;                                                              \
    __nvvm_bar_sync(0);                                                                               \
    /* The last warp may have fewer work-items than there are warps. */                               \
    if (size % 32 == 0) return reduce_##NAME##_##T(all[min(lane(), warps - 1)], warps);               \
    result = all[0];                                                                                  \
    for (uint i = 1; i < warps; i++) result = OP(result, all[i]);                                     \
    return result;                                                                                    \
  }                                                                                                   \
  /* What the warps before this work-item's have; for those of the first warp without meaning. */     \
  INLINE T warps_before_##NAME##_##T(T scan) {                                                        \
    local T *all = (local T *)__sycl_bundle_scratch();                                                \
    uint own = local_linear_id(), warp = own >> 5;                                                    \
    __nvvm_bar_sync(0);                                                                               \
    if ((own & 31) == 31) all[warp] = scan;                                                           \
    __nvvm_bar_sync(0);                                                                               \
    if (group_size() % 32 == 0)                                                                       \
      return shuffle_##T(ALL, warp_scan_##NAME##_##T(all[min(own & 31, max(warp, 1u) - 1)]), max(warp, 1u) - 1); \
    T before = all[0];                                                                                \
    for (uint i = 1; i < warp; i++) before = OP(before, all[i]);                                      \
    return before;                                                                                    \
  }                                                                                                   \
  OVERLOAD T work_group_scan_inclusive_##NAME(T value) {                                              \
    T result = warp_scan_##NAME##_##T(value);                                                         \
    if (group_size() <= 32) return result;                                                            \
    T before = warps_before_##NAME##_##T(result);                                                     \
    return local_linear_id() < 32 ? result : OP(before, result);                                      \
  }                                                                                                   \
  OVERLOAD T work_group_scan_exclusive_##NAME(T value) {                                              \
    uint own = local_linear_id();                                                                     \
    T scan = warp_scan_##NAME##_##T(value);                                                           \
    T result = shuffle_##T(ALL, scan, (own & 31) - 1);                                                \
    if ((own & 31) == 0) result = (T)(IDENTITY);                                                      \
    if (group_size() <= 32) return result;                                                            \
    T before = warps_before_##NAME##_##T(scan);                                                       \
    if (own < 32) return result;                                                                      \
    return (own & 31) ? OP(before, result) : before;                                                  \
  }                                                                                                   \
  /* Among the work-items that come here together. */                                                 \
  OVERLOAD T sub_group_non_uniform_reduce_##NAME(T value) {                                           \
    uint left = active_mask(), active = left;                                                         \
    T result = (T)(IDENTITY);                                                                         \
    for (; left; left &= left - 1) {                                                                  \
      T other = shuffle_##T(active, value, ctz(left));                                                \
      result = OP(result, other);                                                                     \
    }                                                                                                 \
    return result;                                                                                    \
  }                                                                                                   \
  OVERLOAD T sub_group_non_uniform_scan_exclusive_##NAME(T value) {                                   \
    uint left = active_mask(), active = left;                                                         \
    T result = (T)(IDENTITY);                                                                         \
    for (; left; left &= left - 1) {                                                                  \
      uint from = ctz(left);                                                                          \
      T other = shuffle_##T(active, value, from);                                                     \
      if (from < lane()) result = OP(result, other);                                                  \
    }                                                                                                 \
    return result;                                                                                    \
  }                                                                                                   \
  OVERLOAD T sub_group_non_uniform_scan_inclusive_##NAME(T value) {                                   \
    T before = sub_group_non_uniform_scan_exclusive_##NAME(value);                                    \
    return OP(before, value);                                                                         \
  }
#define ARITHMETIC(T, LEAST, MOST)                                                                    \
  COLLECTIVES(T, add, ADD, 0)                                                                         \
  COLLECTIVES(T, mul, MUL, 1)                                                                         \
  COLLECTIVES(T, min, MIN, MOST)                                                                      \
  COLLECTIVES(T, max, MAX, LEAST)
// As llvm-spirv calls those of `SPV_KHR_uniform_group_instructions`.
#define UNIFORM(T, NAME)                                                                              \
  OVERLOAD T work_group_reduce_bitwise_##NAME(T value) { return work_group_reduce_##NAME(value); }    \
  OVERLOAD T work_group_scan_inclusive_bitwise_##NAME(T value) { return work_group_scan_inclusive_##NAME(value); } \
  OVERLOAD T work_group_scan_exclusive_bitwise_##NAME(T value) { return work_group_scan_exclusive_##NAME(value); } \
  OVERLOAD T sub_group_reduce_bitwise_##NAME(T value) { return sub_group_reduce_##NAME(value); }      \
  OVERLOAD T sub_group_scan_inclusive_bitwise_##NAME(T value) { return sub_group_scan_inclusive_##NAME(value); } \
  OVERLOAD T sub_group_scan_exclusive_bitwise_##NAME(T value) { return sub_group_scan_exclusive_##NAME(value); }
#define BITWISE(T)                                                                                    \
  COLLECTIVES(T, and, AND, ~(T)0)                                                                     \
  COLLECTIVES(T, or, OR, 0)                                                                           \
  COLLECTIVES(T, xor, XOR, 0)                                                                         \
  UNIFORM(T, and) UNIFORM(T, or) UNIFORM(T, xor)
ARITHMETIC(char, CHAR_MIN, CHAR_MAX)
ARITHMETIC(uchar, 0, UCHAR_MAX)
ARITHMETIC(short, SHRT_MIN, SHRT_MAX)
ARITHMETIC(ushort, 0, USHRT_MAX)
ARITHMETIC(int, INT_MIN, INT_MAX)
ARITHMETIC(uint, 0, UINT_MAX)
ARITHMETIC(long, LONG_MIN, LONG_MAX)
ARITHMETIC(ulong, 0, ULONG_MAX)
ARITHMETIC(half, -(half)INFINITY, (half)INFINITY)
ARITHMETIC(float, -INFINITY, INFINITY)
ARITHMETIC(double, -(double)INFINITY, (double)INFINITY)
BITWISE(char) BITWISE(uchar) BITWISE(short) BITWISE(ushort) BITWISE(int) BITWISE(uint) BITWISE(long) BITWISE(ulong)
COLLECTIVES(int, logical_and, BOTH, 1)
COLLECTIVES(int, logical_or, EITHER, 0)
COLLECTIVES(int, logical_xor, ONE_OF, 0)

OVERLOAD int work_group_any(int value) { return __nvvm_bar0_or(value != 0) ? 1 : 0; }
OVERLOAD int work_group_all(int value) { return __nvvm_bar0_and(value != 0) ? 1 : 0; }

#define BROADCAST(T)                                                                                  \
  INLINE T broadcast_##T(T value, uint from) {                                                        \
    if (group_size() <= 32) return shuffle_##T(ALL, value, from);                                     \
    local T *one = (local T *)__sycl_bundle_scratch();                                                \
    __nvvm_bar_sync(0);                                                                               \
    if (local_linear_id() == from) *one = value;                                                      \
    __nvvm_bar_sync(0);                                                                               \
    return *one;                                                                                      \
  }                                                                                                   \
  OVERLOAD T work_group_broadcast(T value, ulong x) { return broadcast_##T(value, x); }               \
  OVERLOAD T work_group_broadcast(T value, ulong x, ulong y) {                                        \
    return broadcast_##T(value, y * __nvvm_read_ptx_sreg_ntid_x() + x);                               \
  }                                                                                                   \
  OVERLOAD T work_group_broadcast(T value, ulong x, ulong y, ulong z) {                               \
    return broadcast_##T(value, (z * __nvvm_read_ptx_sreg_ntid_y() + y) * __nvvm_read_ptx_sreg_ntid_x() + x); \
  }
BROADCAST(char) BROADCAST(uchar) BROADCAST(short) BROADCAST(ushort) BROADCAST(int) BROADCAST(uint)
BROADCAST(long) BROADCAST(ulong) BROADCAST(half) BROADCAST(float) BROADCAST(double)

// ---- Atomics ----

// llvm-spirv casts their pointers to address space 4, the generic one of SPIR, which is constant memory for NVPTX and for
// this compiler: `generic_of` casts them back, and LLVM makes nothing of the two casts.
generic void *__sycl_bundle_generic(constant void *pointer);
#define PLACE(P) __sycl_bundle_generic((constant void *)P)
// In builtins.ll: relaxed ones, as clang before 17 calls functions for those of this language. What an order asks for beyond
// that is done by fences around. The pointers are not volatile, which would keep LLVM from finding their address space.
#define WORDS_OF(PREFIX, T, BITS)                                                                     \
  T PREFIX##add_##BITS(generic void *, T);                                                            \
  T PREFIX##and_##BITS(generic void *, T);                                                            \
  T PREFIX##or_##BITS(generic void *, T);                                                             \
  T PREFIX##xor_##BITS(generic void *, T);                                                            \
  T PREFIX##min_##BITS(generic void *, T);                                                            \
  T PREFIX##max_##BITS(generic void *, T);                                                            \
  T PREFIX##umin_##BITS(generic void *, T);                                                           \
  T PREFIX##umax_##BITS(generic void *, T);                                                           \
  T PREFIX##exchange_##BITS(generic void *, T);                                                       \
  T PREFIX##compare_exchange_##BITS(generic void *, T expected, T value);
#define WORDS(T, BITS)                                                                                \
  WORDS_OF(__sycl_bundle_, T, BITS) WORDS_OF(__sycl_bundle_system_, T, BITS)                          \
  T __sycl_bundle_load_##BITS(generic void *);                                                        \
  void __sycl_bundle_store_##BITS(generic void *, T);
WORDS(uint, 32) WORDS(ulong, 64)
float __sycl_bundle_add_float(generic void *, float);
double __sycl_bundle_add_double(generic void *, double);
float __sycl_bundle_system_add_float(generic void *, float);
double __sycl_bundle_system_add_double(generic void *, double);
// LLVM's own are of the GPU, whatever the scope: the host and other GPUs need those of the system.
#define SCOPED(NAME, ...)                                                                             \
  (scope == memory_scope_all_svm_devices ? __sycl_bundle_system_##NAME(__VA_ARGS__) : __sycl_bundle_##NAME(__VA_ARGS__))
#define AS(T, X) __builtin_astype(X, T)
#define FETCH(NAME, T, RESULT)                                                                        \
  OVERLOAD T atomic_##NAME##_explicit(volatile constant atomic_##T *p, T value, memory_order order, memory_scope scope) { \
    before(order, scope);                                                                             \
    T old = RESULT;                                                                                   \
    after(order, scope);                                                                              \
    return old;                                                                                       \
  }
#define MEMORY(T, WORD, BITS)                                                                         \
  FETCH(exchange, T, AS(T, SCOPED(exchange_##BITS, PLACE(p), AS(WORD, value))))                       \
  OVERLOAD T atomic_load_explicit(volatile constant atomic_##T *p, memory_order order, memory_scope scope) { \
    before(order == memory_order_seq_cst ? order : memory_order_relaxed, scope);                      \
    T value = AS(T, __sycl_bundle_load_##BITS(PLACE(p)));                                             \
    after(order, scope);                                                                              \
    return value;                                                                                     \
  }                                                                                                   \
  OVERLOAD void atomic_store_explicit(volatile constant atomic_##T *p, T value, memory_order order, memory_scope scope) { \
    before(order, scope);                                                                             \
    __sycl_bundle_store_##BITS(PLACE(p), AS(WORD, value));                                            \
    after(order == memory_order_seq_cst ? order : memory_order_relaxed, scope);                       \
  }
#define COMPARE(T, WORD, BITS)                                                                        \
  OVERLOAD bool atomic_compare_exchange_strong_explicit(volatile constant atomic_##T *p, constant T *expected, T value, \
                                                        memory_order order, memory_order failure, memory_scope scope) { \
    before(order, scope);                                                                             \
    generic WORD *place = (generic WORD *)__sycl_bundle_generic(expected);                            \
    WORD wanted = *place, old = SCOPED(compare_exchange_##BITS, PLACE(p), wanted, AS(WORD, value));   \
    *place = old;                                                                                     \
    after(order, scope);                                                                              \
    return old == wanted;                                                                             \
  }
#define INTEGERS(T, WORD, BITS, MIN, MAX)                                                             \
  MEMORY(T, WORD, BITS)                                                                               \
  COMPARE(T, WORD, BITS)                                                                              \
  FETCH(fetch_add, T, (T)SCOPED(add_##BITS, PLACE(p), (WORD)value))                                   \
  FETCH(fetch_sub, T, (T)SCOPED(add_##BITS, PLACE(p), -(WORD)value))                                  \
  FETCH(fetch_or, T, (T)SCOPED(or_##BITS, PLACE(p), (WORD)value))                                     \
  FETCH(fetch_and, T, (T)SCOPED(and_##BITS, PLACE(p), (WORD)value))                                   \
  FETCH(fetch_xor, T, (T)SCOPED(xor_##BITS, PLACE(p), (WORD)value))                                   \
  FETCH(fetch_min, T, (T)SCOPED(MIN##_##BITS, PLACE(p), (WORD)value))                                 \
  FETCH(fetch_max, T, (T)SCOPED(MAX##_##BITS, PLACE(p), (WORD)value))
#define BY_COMPARING(NAME, T, WORD, BITS, OP)                                                         \
  INLINE T NAME##_##T(generic void *place, T value, memory_scope scope) {                             \
    WORD old = __sycl_bundle_load_##BITS(place), seen;                                                \
    while ((seen = SCOPED(compare_exchange_##BITS, place, old, AS(WORD, OP(AS(T, old), value)))) != old) old = seen; \
    return AS(T, old);                                                                                \
  }                                                                                                   \
  FETCH(NAME, T, NAME##_##T(PLACE(p), value, scope))
#define FLOATS(T, WORD, BITS, MIN, MAX)                                                               \
  MEMORY(T, WORD, BITS)                                                                               \
  FETCH(fetch_add, T, SCOPED(add_##T, PLACE(p), value))                                               \
  FETCH(fetch_sub, T, SCOPED(add_##T, PLACE(p), -value))                                              \
  BY_COMPARING(fetch_min, T, WORD, BITS, MIN)                                                         \
  BY_COMPARING(fetch_max, T, WORD, BITS, MAX)
INTEGERS(int, uint, 32, min, max) INTEGERS(uint, uint, 32, umin, umax)
INTEGERS(long, ulong, 64, min, max) INTEGERS(ulong, ulong, 64, umin, umax)
FLOATS(float, uint, 32, __nvvm_fmin_f, __nvvm_fmax_f) FLOATS(double, ulong, 64, __nvvm_fmin_d, __nvvm_fmax_d)
OVERLOAD void atomic_flag_clear_explicit(volatile constant atomic_int *p, memory_order order, memory_scope scope) {
  atomic_store_explicit(p, 0, order, scope);
}
OVERLOAD bool atomic_flag_test_and_set_explicit(volatile constant atomic_int *p, memory_order order, memory_scope scope) {
  return atomic_exchange_explicit(p, 1, order, scope) != 0;
}

// ---- Assertions and printing: the driver's ----

void __assertfail(generic const char *text, generic const char *file, uint line, generic const char *function, ulong width);
void __devicelib_assert_fail(generic const char *text, generic const char *file, int line, generic const char *function,
                             ulong global_0, ulong global_1, ulong global_2, ulong local_0, ulong local_1, ulong local_2) {
  __assertfail(text, file, line, function, 1);
}
int vprintf(generic const char *format, generic void *values);
// `super::printf` calls it.
int __sycl_bundle_print(generic const char *format, generic void *values) { return vprintf(format, values); }

// ---- Mathematics: libdevice's, and that of half precision through float ----

#define VECTORS_1(F, T)                                                                               \
  OVERLOAD T##2 F(T##2 x) { return (T##2)(F(x.x), F(x.y)); }                                          \
  OVERLOAD T##3 F(T##3 x) { return (T##3)(F(x.x), F(x.y), F(x.z)); }                                  \
  OVERLOAD T##4 F(T##4 x) { return (T##4)(F(x.lo), F(x.hi)); }                                        \
  OVERLOAD T##8 F(T##8 x) { return (T##8)(F(x.lo), F(x.hi)); }                                        \
  OVERLOAD T##16 F(T##16 x) { return (T##16)(F(x.lo), F(x.hi)); }
#define VECTORS_2(F, T)                                                                               \
  OVERLOAD T##2 F(T##2 x, T##2 y) { return (T##2)(F(x.x, y.x), F(x.y, y.y)); }                        \
  OVERLOAD T##3 F(T##3 x, T##3 y) { return (T##3)(F(x.x, y.x), F(x.y, y.y), F(x.z, y.z)); }           \
  OVERLOAD T##4 F(T##4 x, T##4 y) { return (T##4)(F(x.lo, y.lo), F(x.hi, y.hi)); }                    \
  OVERLOAD T##8 F(T##8 x, T##8 y) { return (T##8)(F(x.lo, y.lo), F(x.hi, y.hi)); }                    \
  OVERLOAD T##16 F(T##16 x, T##16 y) { return (T##16)(F(x.lo, y.lo), F(x.hi, y.hi)); }
#define MATH_1(F, DEVICE)                                                                             \
  float __nv_##DEVICE##f(float);                                                                      \
  double __nv_##DEVICE(double);                                                                       \
  OVERLOAD float F(float x) { return __nv_##DEVICE##f(x); }                                           \
  OVERLOAD double F(double x) { return __nv_##DEVICE(x); }                                            \
  OVERLOAD half F(half x) { return (half)__nv_##DEVICE##f((float)x); }                                \
  VECTORS_1(F, float) VECTORS_1(F, double) VECTORS_1(F, half)
#define MATH_2(F, DEVICE)                                                                             \
  float __nv_##DEVICE##f(float, float);                                                               \
  double __nv_##DEVICE(double, double);                                                               \
  OVERLOAD float F(float x, float y) { return __nv_##DEVICE##f(x, y); }                               \
  OVERLOAD double F(double x, double y) { return __nv_##DEVICE(x, y); }                               \
  VECTORS_2(F, float) VECTORS_2(F, double)
#define HALF_2(F, DEVICE)                                                                             \
  OVERLOAD half F(half x, half y) { return (half)__nv_##DEVICE##f((float)x, (float)y); }              \
  VECTORS_2(F, half)
MATH_1(acos, acos) MATH_1(acosh, acosh) MATH_1(asin, asin) MATH_1(asinh, asinh) MATH_1(atan, atan) MATH_1(atanh, atanh)
MATH_1(cbrt, cbrt) MATH_1(cos, cos) MATH_1(cosh, cosh) MATH_1(cospi, cospi) MATH_1(erf, erf) MATH_1(erfc, erfc)
MATH_1(exp, exp) MATH_1(exp2, exp2) MATH_1(exp10, exp10) MATH_1(expm1, expm1) MATH_1(lgamma, lgamma)
MATH_1(log, log) MATH_1(log2, log2) MATH_1(log10, log10) MATH_1(log1p, log1p) MATH_1(logb, logb)
MATH_1(rsqrt, rsqrt) MATH_1(sin, sin) MATH_1(sinh, sinh) MATH_1(sinpi, sinpi) MATH_1(tan, tan) MATH_1(tanh, tanh)
MATH_1(tgamma, tgamma)
// In builtins.ll: libdevice's is approximate unless its compiler is asked, which LLVM does not let one do.
float __sycl_bundle_sqrt(float);
double __nv_sqrt(double);
OVERLOAD float sqrt(float x) { return __sycl_bundle_sqrt(x); }
OVERLOAD double sqrt(double x) { return __nv_sqrt(x); }
OVERLOAD half sqrt(half x) { return (half)__sycl_bundle_sqrt((float)x); }
VECTORS_1(sqrt, float) VECTORS_1(sqrt, double) VECTORS_1(sqrt, half)
MATH_2(atan2, atan2) MATH_2(fdim, fdim) MATH_2(fmod, fmod) MATH_2(hypot, hypot) MATH_2(nextafter, nextafter)
MATH_2(pow, pow) MATH_2(remainder, remainder)
#define POWR(T)                                                                                       \
  OVERLOAD T powr(T x, T y) {                                                                         \
    bool defined = x >= 0 && y == y && !(y == 0 && (x == 0 || isinf(x))) && !(x == 1 && isinf(y));    \
    return defined ? pow(fabs(x), y) : (T)NAN;                                                              \
  }                                                                                                   \
  VECTORS_2(powr, T)
POWR(float) POWR(double)
OVERLOAD half nextafter(half x, half y) {
  // The bits of finite numbers of one sign are in their order.
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  short bits = __builtin_astype(x, short);
  if ((bits & 0x7fff) == 0) return __builtin_astype((short)(y > (half)0 ? 1 : 0x8001), half);
  return __builtin_astype((short)(bits + (((x < y) == (bits >= 0)) ? 1 : -1)), half);
}
VECTORS_2(nextafter, half)
// Through float.
HALF_2(atan2, atan2) HALF_2(fdim, fdim) HALF_2(fmod, fmod) HALF_2(hypot, hypot) HALF_2(pow, pow)
HALF_2(remainder, remainder)
OVERLOAD half powr(half x, half y) { return (half)powr((float)x, (float)y); }
VECTORS_2(powr, half)

// libclc's do not saturate where the sum alone is too large.
OVERLOAD long mad_sat(long x, long y, long z) {
  ulong low = (ulong)x * (ulong)y + (ulong)z;
  long high = mul_hi(x, y) + (z >> 63) + (low < (ulong)z);
  return high == (long)low >> 63 ? (long)low : high < 0 ? LONG_MIN : LONG_MAX;
}
OVERLOAD ulong mad_sat(ulong x, ulong y, ulong z) {
  ulong low = x * y + z;
  return mul_hi(x, y) + (low < z) ? ULONG_MAX : low;
}
#define VECTORS_3(F, T)                                                                               \
  OVERLOAD T##2 F(T##2 x, T##2 y, T##2 z) { return (T##2)(F(x.x, y.x, z.x), F(x.y, y.y, z.y)); }      \
  OVERLOAD T##3 F(T##3 x, T##3 y, T##3 z) { return (T##3)(F(x.xy, y.xy, z.xy), F(x.z, y.z, z.z)); }   \
  OVERLOAD T##4 F(T##4 x, T##4 y, T##4 z) { return (T##4)(F(x.lo, y.lo, z.lo), F(x.hi, y.hi, z.hi)); } \
  OVERLOAD T##8 F(T##8 x, T##8 y, T##8 z) { return (T##8)(F(x.lo, y.lo, z.lo), F(x.hi, y.hi, z.hi)); } \
  OVERLOAD T##16 F(T##16 x, T##16 y, T##16 z) { return (T##16)(F(x.lo, y.lo, z.lo), F(x.hi, y.hi, z.hi)); }
VECTORS_3(mad_sat, long) VECTORS_3(mad_sat, ulong)

OVERLOAD half fma(half x, half y, half z) {
  short a = __builtin_astype(x, short), b = __builtin_astype(y, short), c = __builtin_astype(z, short), result;
  __asm__("fma.rn.f16 %0, %1, %2, %3;" : "=h"(result) : "h"(a), "h"(b), "h"(c));
  return __builtin_astype(result, half);
}
VECTORS_3(fma, half)

// Conversions to half with a rounding mode.
#define TO_HALF(MODE, PTX, T, SIZE, REGISTER)                                                         \
  OVERLOAD half convert_half_##MODE(T x) {                                                            \
    short result;                                                                                     \
    __asm__("cvt." PTX ".f16." SIZE " %0, %1;" : "=h"(result) : REGISTER(x));                         \
    return __builtin_astype(result, half);                                                            \
  }                                                                                                   \
  OVERLOAD half2 convert_half2_##MODE(T##2 x) { return (half2)(convert_half_##MODE(x.x), convert_half_##MODE(x.y)); } \
  OVERLOAD half3 convert_half3_##MODE(T##3 x) { return (half3)(convert_half2_##MODE(x.xy), convert_half_##MODE(x.z)); } \
  OVERLOAD half4 convert_half4_##MODE(T##4 x) { return (half4)(convert_half2_##MODE(x.lo), convert_half2_##MODE(x.hi)); } \
  OVERLOAD half8 convert_half8_##MODE(T##8 x) { return (half8)(convert_half4_##MODE(x.lo), convert_half4_##MODE(x.hi)); } \
  OVERLOAD half16 convert_half16_##MODE(T##16 x) { return (half16)(convert_half8_##MODE(x.lo), convert_half8_##MODE(x.hi)); }
#define ROUNDED(T, SIZE, REGISTER)                                                                    \
  TO_HALF(rte, "rn", T, SIZE, REGISTER)                                                               \
  TO_HALF(rtz, "rz", T, SIZE, REGISTER)                                                               \
  TO_HALF(rtp, "rp", T, SIZE, REGISTER)                                                               \
  TO_HALF(rtn, "rm", T, SIZE, REGISTER)
ROUNDED(float, "f32", "f") ROUNDED(double, "f64", "d")
// libclc's stores of small numbers round to zero in either direction.
#define STORE(MODE, T, SPACE, N, STRIDE)                                                              \
  OVERLOAD void vstore_half##N##_##MODE(T##N value, ulong at, SPACE half *place) {                    \
    half##N rounded = convert_half##N##_##MODE(value);                                                \
    for (int i = 0; i < N; i++) place[at * N + i] = ((private half *)&rounded)[i];                    \
  }                                                                                                   \
  OVERLOAD void vstorea_half##N##_##MODE(T##N value, ulong at, SPACE half *place) {                   \
    half##N rounded = convert_half##N##_##MODE(value);                                                \
    for (int i = 0; i < N; i++) place[at * STRIDE + i] = ((private half *)&rounded)[i];               \
  }
#define STORES(MODE, T, SPACE)                                                                        \
  OVERLOAD void vstore_half_##MODE(T value, ulong at, SPACE half *place) { place[at] = convert_half_##MODE(value); } \
  STORE(MODE, T, SPACE, 2, 2) STORE(MODE, T, SPACE, 3, 4) STORE(MODE, T, SPACE, 4, 4) STORE(MODE, T, SPACE, 8, 8) \
  STORE(MODE, T, SPACE, 16, 16)
#define STORES_OF(MODE, T) STORES(MODE, T, global) STORES(MODE, T, local) STORES(MODE, T, private)
STORES_OF(rtp, float) STORES_OF(rtn, float) STORES_OF(rtp, double) STORES_OF(rtn, double)

OVERLOAD half fabs(half x) { return __builtin_astype((ushort)(__builtin_astype(x, ushort) & 0x7fff), half); }
OVERLOAD half copysign(half x, half y) {
  return __builtin_astype((ushort)((__builtin_astype(x, ushort) & 0x7fff) | (__builtin_astype(y, ushort) & 0x8000)), half);
}
#define ROUND(F)                                                                                      \
  OVERLOAD float F(float);                                                                            \
  OVERLOAD half F(half x) { return (half)F((float)x); }
ROUND(floor) ROUND(ceil) ROUND(rint) ROUND(trunc) ROUND(round)
OVERLOAD float fmin(float, float);
OVERLOAD float fmax(float, float);
OVERLOAD half fmin(half x, half y) { return (half)fmin((float)x, (float)y); }
OVERLOAD half fmax(half x, half y) { return (half)fmax((float)x, (float)y); }
OVERLOAD half radians(half x) { return (half)((float)x * 0.017453292519943295f); }
OVERLOAD half degrees(half x) { return (half)((float)x * 57.29577951308232f); }
VECTORS_1(fabs, half) VECTORS_1(floor, half) VECTORS_1(ceil, half) VECTORS_1(rint, half) VECTORS_1(trunc, half)
VECTORS_1(round, half) VECTORS_1(radians, half) VECTORS_1(degrees, half)
VECTORS_2(copysign, half) VECTORS_2(fmin, half) VECTORS_2(fmax, half)

// Of SYCL's device library, which images before 2026 leave open. What is no number keeps no bits.
ushort __devicelib_ConvertFToBF16INTEL(const float *from) {
  uint bits = as_uint(*from);
  return isnan(*from) ? 0xffc1 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
float __devicelib_ConvertBF16ToFINTEL(const ushort *from) { return as_float((uint)*from << 16); }
#define BFLOATS(N)                                                                      \
  void __devicelib_ConvertFToBF16INTELVec##N(const float *from, ushort *to) {            \
    for (int i = 0; i < N; i++) to[i] = __devicelib_ConvertFToBF16INTEL(from + i);       \
  }                                                                                      \
  void __devicelib_ConvertBF16ToFINTELVec##N(const ushort *from, float *to) {            \
    for (int i = 0; i < N; i++) to[i] = __devicelib_ConvertBF16ToFINTEL(from + i);       \
  }
BFLOATS(1) BFLOATS(2) BFLOATS(3) BFLOATS(4) BFLOATS(8) BFLOATS(16)

// What a half is, by its bits. A component of a vector is -1 where it holds.
#define BITS(x) (__builtin_astype(x, ushort) & 0x7fff)
#define TEST(F, HOLDS)                                                                                \
  OVERLOAD int F(half x) { return HOLDS; }                                                            \
  OVERLOAD short2 F(half2 x) { return (short2)(-F(x.x), -F(x.y)); }                                   \
  OVERLOAD short3 F(half3 x) { return (short3)(-F(x.x), -F(x.y), -F(x.z)); }                          \
  OVERLOAD short4 F(half4 x) { return (short4)(F(x.lo), F(x.hi)); }                                   \
  OVERLOAD short8 F(half8 x) { return (short8)(F(x.lo), F(x.hi)); }                                   \
  OVERLOAD short16 F(half16 x) { return (short16)(F(x.lo), F(x.hi)); }
TEST(signbit, __builtin_astype(x, short) < 0)
TEST(isnan, BITS(x) > 0x7c00)
TEST(isinf, BITS(x) == 0x7c00)
TEST(isfinite, BITS(x) < 0x7c00)
TEST(isnormal, BITS(x) >= 0x0400 && BITS(x) < 0x7c00)

float __nv_ldexpf(float, int);
double __nv_ldexp(double, int);
#define VECTORS_INT(F, T)                                                                             \
  OVERLOAD T##2 F(T##2 x, int2 y) { return (T##2)(F(x.x, y.x), F(x.y, y.y)); }                        \
  OVERLOAD T##3 F(T##3 x, int3 y) { return (T##3)(F(x.x, y.x), F(x.y, y.y), F(x.z, y.z)); }           \
  OVERLOAD T##4 F(T##4 x, int4 y) { return (T##4)(F(x.lo, y.lo), F(x.hi, y.hi)); }                    \
  OVERLOAD T##8 F(T##8 x, int8 y) { return (T##8)(F(x.lo, y.lo), F(x.hi, y.hi)); }                    \
  OVERLOAD T##16 F(T##16 x, int16 y) { return (T##16)(F(x.lo, y.lo), F(x.hi, y.hi)); }
OVERLOAD float ldexp(float x, int y) { return __nv_ldexpf(x, y); }
OVERLOAD double ldexp(double x, int y) { return __nv_ldexp(x, y); }
OVERLOAD half ldexp(half x, int y) { return (half)__nv_ldexpf((float)x, y); }
VECTORS_INT(ldexp, float) VECTORS_INT(ldexp, double) VECTORS_INT(ldexp, half)
// libdevice's own multiply over and over, and are far off for large exponents. Up to 2^24 a float has the exponent.
OVERLOAD float pown(float x, int y) {
  return y >= -(1 << 24) && y <= 1 << 24 ? __nv_powf(x, (float)y) : (float)__nv_pow((double)x, (double)y);
}
OVERLOAD double pown(double x, int y) { return __nv_pow(x, (double)y); }
OVERLOAD half pown(half x, int y) { return (half)pown((float)x, y); }
VECTORS_INT(pown, float) VECTORS_INT(pown, double) VECTORS_INT(pown, half)
float __nv_frexpf(float, private int *);
float __nv_modff(float, private float *);
OVERLOAD half frexp(half x, generic int *exponent) {
  int power;
  float fraction = __nv_frexpf((float)x, &power);
  *exponent = power;
  return (half)fraction;
}
OVERLOAD half modf(half x, generic half *whole) {
  float part;
  float fraction = __nv_modff((float)x, &part);
  *whole = (half)part;
  return (half)fraction;
}
void __nv_sincosf(float, private float *, private float *);
void __nv_sincos(double, private double *, private double *);
OVERLOAD float sincos(float x, generic float *cosine) {
  float s, c;
  __nv_sincosf(x, &s, &c);
  *cosine = c;
  return s;
}
OVERLOAD double sincos(double x, generic double *cosine) {
  double s, c;
  __nv_sincos(x, &s, &c);
  *cosine = c;
  return s;
}

float __nv_fast_sinf(float);
float __nv_fast_cosf(float);
float __nv_fast_tanf(float);
float __nv_fast_expf(float);
float __nv_fast_exp10f(float);
float __nv_fast_logf(float);
float __nv_fast_log2f(float);
float __nv_fast_log10f(float);
float __nv_fast_powf(float, float);
float __nv_fast_fdividef(float, float);
OVERLOAD float native_sin(float x) { return __nv_fast_sinf(x); }
OVERLOAD float native_cos(float x) { return __nv_fast_cosf(x); }
OVERLOAD float native_tan(float x) { return __nv_fast_tanf(x); }
OVERLOAD float native_exp(float x) { return __nv_fast_expf(x); }
OVERLOAD float native_exp2(float x) { return __nvvm_ex2_approx_f(x); }
OVERLOAD float native_exp10(float x) { return __nv_fast_exp10f(x); }
OVERLOAD float native_log(float x) { return __nv_fast_logf(x); }
OVERLOAD float native_log2(float x) { return __nv_fast_log2f(x); }
OVERLOAD float native_log10(float x) { return __nv_fast_log10f(x); }
OVERLOAD float native_powr(float x, float y) { return __nv_fast_powf(x, y); }
OVERLOAD float native_divide(float x, float y) { return __nv_fast_fdividef(x, y); }
OVERLOAD float native_recip(float x) { return __nv_fast_fdividef(1.0f, x); }
OVERLOAD float native_sqrt(float x) { return __nvvm_sqrt_approx_f(x); }
OVERLOAD float native_rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
#define NATIVE(F) VECTORS_1(native_##F, float)
NATIVE(sin) NATIVE(cos) NATIVE(tan) NATIVE(exp) NATIVE(exp2) NATIVE(exp10) NATIVE(log) NATIVE(log2) NATIVE(log10)
NATIVE(recip) NATIVE(sqrt) NATIVE(rsqrt)
VECTORS_2(native_powr, float)
VECTORS_2(native_divide, float)
#pragma clang attribute pop
