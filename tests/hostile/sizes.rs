//! Which kernels that ask for more than a device has would be called compatible?

use super::costly::put;
use super::judged::{CPU, TARGET, VOID, all, module, runs};

const PVC: &str = "intel_gpu_pvc";
const OLD: &str = "intel_gpu_tgllp";

/// An array of so many bytes as type 10, and a pointer to it in a storage class as type 11.
fn bytes(count: u32, storage: u32) -> Vec<u32> {
    all(&[(21, &[8, 32, 0]), (43, &[8, 12, count / 4]), (28, &[10, 8, 12]), (32, &[11, storage, 10])])
}

/// Drivers of GPUs refuse the module, and a CPU's the launch.
#[test]
fn more_local_memory_than_a_device_has_is_told() {
    let with = |count: u32, is_used: bool| {
        let types = [bytes(count, 4), all(&[(59, &[11, 13, 4])])].concat();
        let code = if is_used { all(&[(61, &[10, 21, 13])]) } else { Vec::new() };
        module(&[], &types, &code, &[])
    };
    for (count, target, expected) in [
        (65_536, TARGET, true),
        (65_540, TARGET, false),
        (131_072, PVC, true),
        (131_076, PVC, false),
        (262_144, CPU, true),
        (262_148, CPU, false),
    ] {
        assert_eq!(runs("m.spv", &with(count, true), target), expected, "{count} on {target}");
        assert!(runs("m.spv", &with(count, false), target), "{count} that no kernel uses");
    }
}

/// Declares a capability and its extension, which stand first.
fn declaring(capability: u32, extension: &str, module: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    put(&mut head, 17, &[capability], None, &[]);
    put(&mut head, 10, &[], Some(extension), &[]);
    let head: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    [&module[..20], &head, &module[20..]].concat()
}

#[test]
fn more_local_memory_of_explicit_simd_than_a_gpu_has_is_told() {
    // Explicit SIMD of a kernel, which says its local memory.
    let with = |count: u32| {
        let said = all(&[(16, &[3, 5618, count]), (71, &[3, 5626])]);
        declaring(5617, "SPV_INTEL_vector_compute", &module(&said, &[], &[], &[]))
    };
    for (count, target, expected) in
        [(65_536, TARGET, true), (131_072, TARGET, false), (131_072, PVC, true), (200_000, PVC, false)]
    {
        assert_eq!(runs("m.spv", &with(count), target), expected, "{count} on {target}");
    }
}

/// Arguments of GPUs stand in registers.
#[test]
fn more_bytes_of_arguments_than_a_device_takes_are_told() {
    let with = |count: u32, storage: u32| {
        let mut entry = Vec::new();
        put(&mut entry, 15, &[6, 40], Some("j"), &[]);
        let types = [bytes(count, storage), all(&[(33, &[14, VOID, 11])])].concat();
        let behind: &[(u32, &[u32])] =
            &[(54, &[VOID, 40, 0, 14]), (55, &[11, 41]), (248, &[42]), (253, &[]), (56, &[])];
        module(&entry, &types, &[], &all(behind))
    };
    for (count, target, expected) in [
        (512, OLD, true),
        (1_008, OLD, false),
        (1_032, TARGET, false),
        (1_900, PVC, true),
        (2_044, PVC, false),
        (65_536, CPU, true),
        (65_544, CPU, false),
    ] {
        assert_eq!(runs("m.spv", &with(count, 7), target), expected, "{count} on {target}");
        assert!(runs("m.spv", &with(count, 5), target), "a pointer to {count}");
    }
}

/// Compilers for GPUs place so much for each work-item; of more no kernel is made.
#[test]
fn more_private_memory_than_gpus_place_is_told() {
    for (count, is_taken) in [(128 << 10, true), ((128 << 10) + 8, false), (!7u32, false)] {
        let bytes = module(&[], &bytes(count, 7), &all(&[(59, &[11, 30, 7])]), &[]);
        assert!(runs("m.spv", &bytes, CPU), "{count}");
        for target in [OLD, TARGET, PVC] {
            assert_eq!(runs("m.spv", &bytes, target), is_taken, "{count} on {target}");
        }
    }
}

/// Intrinsics of explicit SIMD are of some GPUs.
#[test]
fn intrinsics_that_a_gpu_does_not_have_are_told() {
    let calling = |name: &str| {
        let mut said = Vec::new();
        put(&mut said, 71, &[40, 41], Some(name), &[1]);
        let declared: &[(u32, &[u32])] = &[(54, &[VOID, 40, 0, 2]), (56, &[])];
        // Declarations stand before all bodies.
        module(&said, &all(declared), &all(&[(57, &[VOID, 30, 40])]), &[])
    };
    for (name, on) in [
        ("llvm.genx.nbarrier", [false, false, true]),
        ("llvm.genx.dpas2.v128f32.v128f32.v128i32.v64i32", [false, true, true]),
        ("llvm.genx.dpas2.v128f16.v128f16.v128i32.v64i32", [false, false, true]),
        ("llvm.genx.rol.v8i32.v8i32", [true; 3]),
        ("llvm.genx.bogus.v8i32", [false; 3]),
    ] {
        let found = [OLD, TARGET, PVC].map(|target| runs("m.spv", &calling(name), target));
        assert_eq!(found, on, "{name}");
    }
}

/// LLVM makes integers of 33 bits of loops; Intel's compiler for GPUs ends where they are divided.
#[test]
fn integers_of_other_widths_are_taken_but_for_their_divisions_on_gpus() {
    const EXTENSION: &str = "SPV_INTEL_arbitrary_precision_integers";
    let using = |width: u32, code: &[(u32, &[u32])]| {
        let types = all(&[(21, &[8, width, 0]), (22, &[9, 32]), (1, &[8, 12])]);
        declaring(5844, EXTENSION, &module(&[], &types, &all(code), &[]))
    };
    for (width, code, on_gpu) in [
        (33, &[(128, &[8, 21, 12, 12][..])], true),
        (33, &[(194, &[8, 21, 12, 12][..])], true),
        (33, &[(134, &[8, 21, 12, 12][..])], false),
        (33, &[(112, &[9, 21, 12][..])], false),
        (96, &[(128, &[8, 21, 12, 12][..])], false),
        (128, &[(134, &[8, 21, 12, 12][..])], true),
    ] {
        let bytes = using(width, code);
        assert!(runs("m.spv", &bytes, CPU), "{width} {code:?}");
        for target in [OLD, TARGET, PVC] {
            assert_eq!(runs("m.spv", &bytes, target), on_gpu, "{width} {code:?} on {target}");
        }
    }
}
