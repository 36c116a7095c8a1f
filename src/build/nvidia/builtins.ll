; What builtins.cl cannot say in OpenCL C. On NVPTX the generic address space is 0, and 4 is constant memory.
target triple = "nvptx64-nvidia-cuda"

; Shared memory of the collectives of a work-group: one value of up to 8 bytes for each of 32 warps.
@__sycl_bundle_group_scratch = internal addrspace(3) global [32 x i64] undef, align 8
define ptr addrspace(3) @__sycl_bundle_scratch() alwaysinline {
  ret ptr addrspace(3) @__sycl_bundle_group_scratch
}

; OpGenericCastToPtrExplicit: null where the pointer is in another space.
declare i1 @llvm.nvvm.isspacep.global(ptr)
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare i1 @llvm.nvvm.isspacep.local(ptr)
define ptr addrspace(1) @__to_global(ptr %p) alwaysinline {
  %cast = addrspacecast ptr %p to ptr addrspace(1)
  %there = call i1 @llvm.nvvm.isspacep.global(ptr %p)
  %r = select i1 %there, ptr addrspace(1) %cast, ptr addrspace(1) null
  ret ptr addrspace(1) %r
}
define ptr addrspace(3) @__to_local(ptr %p) alwaysinline {
  %cast = addrspacecast ptr %p to ptr addrspace(3)
  %there = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
  %r = select i1 %there, ptr addrspace(3) %cast, ptr addrspace(3) null
  ret ptr addrspace(3) %r
}
define ptr @__to_private(ptr %p) alwaysinline {
  %there = call i1 @llvm.nvvm.isspacep.local(ptr %p)
  %r = select i1 %there, ptr %p, ptr null
  ret ptr %r
}

; Back from the address space that llvm-spirv casts pointers of atomics to.
define ptr @__sycl_bundle_generic(ptr addrspace(4) %p) alwaysinline {
  %g = addrspacecast ptr addrspace(4) %p to ptr
  ret ptr %g
}

; Atomics of a memory order that orders nothing.
define i32 @__sycl_bundle_add_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw add ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_and_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw and ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_or_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw or ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_xor_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw xor ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_min_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw min ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_max_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw max ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_umin_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw umin ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_umax_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw umax ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_exchange_32(ptr %p, i32 %v) alwaysinline { %r = atomicrmw xchg ptr %p, i32 %v monotonic ret i32 %r }
define i32 @__sycl_bundle_compare_exchange_32(ptr %p, i32 %e, i32 %v) alwaysinline {
  %both = cmpxchg ptr %p, i32 %e, i32 %v monotonic monotonic
  %r = extractvalue { i32, i1 } %both, 0
  ret i32 %r
}
define i32 @__sycl_bundle_load_32(ptr %p) alwaysinline { %r = load atomic i32, ptr %p monotonic, align 4 ret i32 %r }
define void @__sycl_bundle_store_32(ptr %p, i32 %v) alwaysinline { store atomic i32 %v, ptr %p monotonic, align 4 ret void }
define i64 @__sycl_bundle_add_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw add ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_and_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw and ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_or_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw or ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_xor_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw xor ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_min_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw min ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_max_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw max ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_umin_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw umin ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_umax_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw umax ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_exchange_64(ptr %p, i64 %v) alwaysinline { %r = atomicrmw xchg ptr %p, i64 %v monotonic ret i64 %r }
define i64 @__sycl_bundle_compare_exchange_64(ptr %p, i64 %e, i64 %v) alwaysinline {
  %both = cmpxchg ptr %p, i64 %e, i64 %v monotonic monotonic
  %r = extractvalue { i64, i1 } %both, 0
  ret i64 %r
}
define i64 @__sycl_bundle_load_64(ptr %p) alwaysinline { %r = load atomic i64, ptr %p monotonic, align 8 ret i64 %r }
define void @__sycl_bundle_store_64(ptr %p, i64 %v) alwaysinline { store atomic i64 %v, ptr %p monotonic, align 8 ret void }
define float @__sycl_bundle_add_float(ptr %p, float %v) alwaysinline { %r = atomicrmw fadd ptr %p, float %v monotonic ret float %r }
define double @__sycl_bundle_add_double(ptr %p, double %v) alwaysinline { %r = atomicrmw fadd ptr %p, double %v monotonic ret double %r }

; Atomics of the system: LLVM gives `atomicrmw` the GPU's scope, whatever its own.
define i32 @__sycl_bundle_system_add_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_and_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.and.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_or_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.or.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_xor_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.xor.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_min_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.min.s32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_max_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.max.s32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_umin_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.min.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_umax_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.max.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_exchange_32(ptr %p, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.exch.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %v)
  ret i32 %r
}
define i32 @__sycl_bundle_system_compare_exchange_32(ptr %p, i32 %e, i32 %v) alwaysinline {
  %r = call i32 asm sideeffect "atom.sys.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr %p, i32 %e, i32 %v)
  ret i32 %r
}
define i64 @__sycl_bundle_system_add_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.add.u64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_and_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.and.b64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_or_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.or.b64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_xor_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.xor.b64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_min_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.min.s64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_max_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.max.s64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_umin_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.min.u64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_umax_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.max.u64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_exchange_64(ptr %p, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.exch.b64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr %p, i64 %v)
  ret i64 %r
}
define i64 @__sycl_bundle_system_compare_exchange_64(ptr %p, i64 %e, i64 %v) alwaysinline {
  %r = call i64 asm sideeffect "atom.sys.cas.b64 $0, [$1], $2, $3;", "=l,l,l,l,~{memory}"(ptr %p, i64 %e, i64 %v)
  ret i64 %r
}
define float @__sycl_bundle_system_add_float(ptr %p, float %v) alwaysinline {
  %r = call float asm sideeffect "atom.sys.add.f32 $0, [$1], $2;", "=f,l,f,~{memory}"(ptr %p, float %v)
  ret float %r
}
define double @__sycl_bundle_system_add_double(ptr %p, double %v) alwaysinline {
  %r = call double asm sideeffect "atom.sys.add.f64 $0, [$1], $2;", "=d,l,d,~{memory}"(ptr %p, double %v)
  ret double %r
}

; Rounded to the nearest, or approximate where llc is asked for that.
declare float @llvm.sqrt.f32(float)
define float @__sycl_bundle_sqrt(float %x) alwaysinline {
  %r = call float @llvm.sqrt.f32(float %x)
  ret float %r
}
