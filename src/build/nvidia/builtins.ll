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
