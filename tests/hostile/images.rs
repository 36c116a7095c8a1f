//! Which instructions on images, and casts of pointers, that drivers have no function for would be called compatible?

use super::costly::put;
use super::judged::{CPU, all, module};
use super::support::folder::Folder;
use std::process::Command;

const GPU: &str = "intel_gpu_tgllp";
const OTHER_GPU: &str = "intel_gpu_bmg_g21";
/// Numbers of types: 10 to 12 of integers of 16 to 64 bits, 13 and 14 of `half` and `float`, and of vectors below. A constant of a type
/// has the number 30 more.
const SHORT: u32 = 10;
const INT: u32 = 11;
const LONG: u32 = 12;
const HALF: u32 = 13;
const FLOAT: u32 = 14;
const INT2: u32 = 15;
const INT3: u32 = 16;
const INT4: u32 = 17;
const FLOAT2: u32 = 18;
const FLOAT3: u32 = 19;
const FLOAT4: u32 = 20;
const HALF4: u32 = 21;
const INT8: u32 = 22;
/// The image, the sampler, and the image with the sampler that the code makes of both.
const IMAGE: u32 = 82;
const SAMPLER: u32 = 83;
const BOTH: u32 = 84;
const IMAGE_TYPE: u32 = 72;
const SAMPLER_TYPE: u32 = 73;
const BOTH_TYPE: u32 = 74;
/// A float that is not nought, one that is, a truth.
const ONE: u32 = 85;
const NOUGHT: u32 = 86;
const TRUE: u32 = 87;

/// Words behind the type in `OpTypeImage`: dimension, depth, arrayed, samples, sampled, format, access.
type Kind = [u32; 7];
const LINE: Kind = [0, 0, 0, 0, 0, 0, 0];
const PLANE: Kind = [1, 0, 0, 0, 0, 0, 0];
const PLANES: Kind = [1, 0, 1, 0, 0, 0, 0];
const SPACE: Kind = [2, 0, 0, 0, 0, 0, 0];
const BUFFER: Kind = [5, 0, 0, 0, 0, 0, 0];
const DEPTH: Kind = [1, 1, 0, 0, 0, 0, 0];
const SAMPLES: Kind = [1, 0, 0, 1, 0, 0, 0];

/// Makes the same kind for writing (1), or for both (2).
fn access(kind: Kind, access: u32) -> Kind {
    let [dim, depth, arrayed, samples, sampled, format, _] = kind;
    [dim, depth, arrayed, samples, sampled, format, access]
}

/// A kernel that takes an image and a sampler.
fn of_image(kind: Kind, types: &[(u32, &[u32])], code: &[(u32, &[u32])]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 120, 0];
    // Levels and samples are asked for by a capability of their own.
    let asks = code.iter().any(|(code, _)| [106, 107].contains(code));
    let capabilities = [4, 5, 6, 7, 9, 10, 11, 13, 14, 22, 43, 46, 47, 20];
    let query = asks.then_some(50);
    capabilities.into_iter().chain(query).for_each(|capability| put(&mut words, 17, &[capability], None, &[]));
    put(&mut words, 14, &[2, 2], None, &[]);
    put(&mut words, 15, &[6, 3], Some("k"), &[]);
    let numbers: &[(u32, &[u32])] = &[
        (19, &[1]),
        (20, &[4]),
        (21, &[SHORT, 16, 0]),
        (21, &[INT, 32, 0]),
        (21, &[LONG, 64, 0]),
        (22, &[HALF, 16]),
        (22, &[FLOAT, 32]),
        (23, &[INT2, INT, 2]),
        (23, &[INT3, INT, 3]),
        (23, &[INT4, INT, 4]),
        (23, &[FLOAT2, FLOAT, 2]),
        (23, &[FLOAT3, FLOAT, 3]),
        (23, &[FLOAT4, FLOAT, 4]),
        (23, &[HALF4, HALF, 4]),
        (23, &[INT8, INT, 8]),
    ];
    words.extend(all(numbers));
    (SHORT..=INT8).for_each(|kind| put(&mut words, 46, &[kind, kind + 30], None, &[]));
    words.extend(all(&[(43, &[FLOAT, ONE, 0x3f80_0000]), (43, &[FLOAT, NOUGHT, 0]), (41, &[4, TRUE])]));
    let image = [&[IMAGE_TYPE, 1], kind.as_slice()].concat();
    words.extend(all(&[(25, &image), (26, &[SAMPLER_TYPE])]));
    words.extend(all(&[(27, &[BOTH_TYPE, IMAGE_TYPE]), (33, &[2, 1, IMAGE_TYPE, SAMPLER_TYPE])]));
    words.extend(all(types));
    words.extend(all(&[(54, &[1, 3, 0, 2]), (55, &[IMAGE_TYPE, IMAGE]), (55, &[SAMPLER_TYPE, SAMPLER]), (248, &[90])]));
    if code.iter().any(|(code, operands)| [88, 100].contains(code) && operands[2] == BOTH) {
        words.extend(all(&[(86, &[BOTH_TYPE, BOTH, IMAGE, SAMPLER])]));
    }
    words.extend(all(code));
    words.extend(all(&[(253, &[]), (56, &[])]));
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A read at a place of a type, with operands.
fn read(kind: Kind, result: u32, place: u32, operands: &[u32]) -> Vec<u8> {
    of_image(kind, &[], &[(98, &[&[result, 100, IMAGE, place + 30], operands].concat())])
}

/// A write at a place of a type.
fn write(kind: Kind, place: u32, texel: u32, operands: &[u32]) -> Vec<u8> {
    of_image(access(kind, 1), &[], &[(99, &[&[IMAGE, place + 30, texel + 30], operands].concat())])
}

/// A read by a sampler.
fn sample(kind: Kind, result: u32, place: u32, operands: &[u32]) -> Vec<u8> {
    of_image(kind, &[], &[(88, &[&[result, 100, BOTH, place + 30], operands].concat())])
}

/// A query.
fn query(code: u32, kind: Kind, operands: &[u32]) -> Vec<u8> {
    of_image(kind, &[], &[(code, &[&[operands[0], 100, IMAGE], &operands[1..]].concat())])
}

/// The verdicts on a module for a CPU and two GPUs, of which both have to say the same.
fn verdicts(bytes: &[u8]) -> [bool; 2] {
    let folder = Folder::new();
    folder.put("m.spv", bytes);
    let [cpu, gpu, other] = [CPU, GPU, OTHER_GPU].map(|target| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        // Whether the GPU has images at all is another question.
        let arguments = ["check", "--strict", "--no-policy", "-t", target, "m.spv"];
        let out = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(out.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&out.stderr));
        out.status.success()
    });
    assert_eq!(gpu, other);
    [cpu, gpu]
}

/// Lod of nought, lod that is not, gradients.
const LOD: &[u32] = &[2, NOUGHT];
const OTHER_LOD: &[u32] = &[2, ONE];

/// Tells which of these the tool judges otherwise than drivers do.
fn misjudged(cases: &[(&str, Vec<u8>, [bool; 2])]) {
    let wrong = cases.iter().map(|(what, bytes, takers)| (*what, verdicts(bytes), *takers));
    let wrong: Vec<_> = wrong.filter(|(_, told, takers)| told != takers).collect();
    assert!(wrong.is_empty(), "judged, and taken by a CPU and a GPU: {wrong:?}");
}

const ALL: [bool; 2] = [true, true];
const CPUS: [bool; 2] = [true, false];
const GPUS: [bool; 2] = [false, true];
const NONE: [bool; 2] = [false, false];

/// Drivers for CPUs and GPUs built each, or missed a symbol, or ended.
#[test]
fn images_are_read_and_written_in_forms_that_drivers_have() {
    misjudged(&[
        ("a read", read(PLANE, FLOAT4, INT2, &[]), ALL),
        ("a read of integers", read(LINE, INT4, INT, &[]), ALL),
        ("a read of integers that are widened", read(PLANE, INT4, INT2, &[0x1000]), ALL),
        ("a read of halves", read(SPACE, HALF4, INT4, &[]), ALL),
        ("a read of a buffer", read(BUFFER, FLOAT4, INT, &[]), ALL),
        ("a read of a depth", read(DEPTH, FLOAT, INT2, &[]), ALL),
        ("a read of an image for both", read(access(PLANES, 2), FLOAT4, INT4, &[]), ALL),
        ("a read of DPC++, of one number", read(PLANE, FLOAT, INT2, &[]), GPUS),
        ("a read of DPC++, of a short", read(LINE, SHORT, INT, &[]), GPUS),
        ("a read of DPC++, by three numbers", read(SPACE, FLOAT4, INT3, &[]), GPUS),
        ("a read of one of several samples", read(SAMPLES, FLOAT4, INT2, &[64, INT + 30]), GPUS),
        ("a read of several samples of none", read(SAMPLES, FLOAT4, INT2, &[]), NONE),
        ("a read of one number by four", read(SPACE, FLOAT, INT4, &[]), NONE),
        ("a read of one number of a buffer", read(BUFFER, FLOAT, INT, &[]), NONE),
        ("a read of eight numbers", read(PLANE, INT8, INT2, &[]), NONE),
        ("a read by too many numbers", read(PLANE, FLOAT4, INT4, &[]), NONE),
        ("a read by too few", read(PLANE, FLOAT4, INT, &[]), NONE),
        ("a read by floats", read(PLANE, FLOAT4, FLOAT2, &[]), NONE),
        ("a read by a short", read(LINE, FLOAT4, SHORT, &[]), NONE),
        ("a read with a level", read(PLANE, FLOAT4, INT2, &[2, INT + 30]), NONE),
        ("a read with an offset", read(PLANE, FLOAT4, INT2, &[8, INT2 + 30]), NONE),
        ("a read of an image for writing", read(access(PLANE, 1), FLOAT4, INT2, &[]), NONE),
        ("a write", write(PLANE, INT2, FLOAT4, &[]), ALL),
        ("a write of integers", write(SPACE, INT4, INT4, &[]), ALL),
        ("a write of a depth", write(DEPTH, INT2, FLOAT, &[]), ALL),
        ("a write of DPC++", write(SPACE, INT3, FLOAT2, &[]), GPUS),
        ("a write to a level", write(PLANE, INT2, FLOAT4, &[2, INT + 30]), GPUS),
        ("a write of halves to a level", write(PLANE, INT2, HALF4, &[2, INT + 30]), NONE),
        ("a write of a number in place of four", write(SPACE, INT4, INT, &[]), NONE),
        ("a write of an image for reading", of_image(PLANE, &[], &[(99, &[IMAGE, INT2 + 30, FLOAT4 + 30])]), NONE),
        ("a fetch", of_image(PLANE, &[], &[(95, &[FLOAT4, 100, IMAGE, INT2 + 30])]), NONE),
        ("an image of a sampled one", of_image(PLANE, &[], &[(100, &[IMAGE_TYPE, 100, BOTH])]), NONE),
    ]);
}

#[test]
fn images_are_sampled_and_queried_in_forms_that_drivers_have() {
    let gradients = |kind: u32| [4, kind + 30, kind + 30];
    misjudged(&[
        ("a sample", sample(PLANE, FLOAT4, FLOAT2, LOD), ALL),
        ("a sample by integers", sample(LINE, INT4, INT, LOD), ALL),
        ("a sample of a space", sample(SPACE, HALF4, FLOAT4, LOD), ALL),
        ("a sample of a depth", sample(DEPTH, FLOAT4, FLOAT2, LOD), ALL),
        ("a sample of a level", sample(PLANE, FLOAT4, FLOAT2, OTHER_LOD), GPUS),
        ("a sample with gradients", sample(PLANE, FLOAT4, FLOAT2, &gradients(FLOAT2)), GPUS),
        ("a sample of DPC++", sample(SPACE, FLOAT, FLOAT3, LOD), GPUS),
        ("a sample of one number by four", sample(SPACE, FLOAT, FLOAT4, LOD), NONE),
        ("a sample of planes with gradients", sample(PLANES, FLOAT4, FLOAT4, &gradients(FLOAT2)), NONE),
        ("a sample of an integer depth", sample(DEPTH, INT4, FLOAT2, LOD), NONE),
        ("a sample with an offset", sample(PLANE, FLOAT4, FLOAT2, &[10, NOUGHT, INT2 + 30]), NONE),
        ("a sample of an image for both", sample(access(PLANE, 2), FLOAT4, FLOAT2, LOD), NONE),
        ("a sample of half a level", sample(PLANE, FLOAT4, FLOAT2, &[2, HALF + 30]), NONE),
        ("a size", query(103, PLANE, &[INT2, INT + 30]), ALL),
        ("a size without a level", query(104, access(PLANES, 1), &[INT3]), ALL),
        ("a size of less", query(103, SPACE, &[INT2, INT + 30]), NONE),
        ("a size of a long level", query(103, PLANE, &[INT2, LONG + 30]), NONE),
        ("a format", query(101, BUFFER, &[INT]), ALL),
        ("a format of several samples", query(101, SAMPLES, &[INT]), GPUS),
        ("levels", query(106, PLANE, &[INT]), GPUS),
        ("levels of a buffer", query(106, BUFFER, &[INT]), NONE),
        ("samples", query(107, SAMPLES, &[INT]), GPUS),
        ("samples of a plane", query(107, PLANE, &[INT]), NONE),
    ]);
}

#[test]
fn images_are_passed_in_ways_that_drivers_follow() {
    let read: (u32, &[u32]) = (98, &[FLOAT4, 101, 100, INT2 + 30]);
    let pointer = |kind: u32| [110, 7, kind];
    let by: (u32, &[u32]) = (88, &[FLOAT4, 101, 100, FLOAT2 + 30, 2, NOUGHT]);
    let made: (u32, &[u32]) = (86, &[BOTH_TYPE, 99, IMAGE, SAMPLER]);
    let image = pointer(IMAGE_TYPE);
    let both = pointer(BOTH_TYPE);
    let kind = |kind: Kind| of_image(kind, &[], &[]);
    misjudged(&[
        (
            "a variable",
            of_image(
                PLANE,
                &[(32, &image)],
                &[(59, &[110, 111, 7]), (62, &[111, IMAGE]), (61, &[IMAGE_TYPE, 100, 111]), read],
            ),
            ALL,
        ),
        (
            "a variable of an image with a sampler",
            of_image(
                PLANE,
                &[(32, &both)],
                &[(59, &[110, 111, 7]), made, (62, &[111, 99]), (61, &[BOTH_TYPE, 100, 111]), by],
            ),
            GPUS,
        ),
        ("a copy of one", of_image(PLANE, &[], &[made, (83, &[BOTH_TYPE, 100, 99]), by]), GPUS),
        ("one that is not read by", of_image(PLANE, &[], &[made]), GPUS),
        ("a choice", of_image(PLANE, &[], &[(169, &[IMAGE_TYPE, 100, TRUE, IMAGE, IMAGE]), read]), NONE),
        ("no image", of_image(PLANE, &[], &[(1, &[IMAGE_TYPE, 100]), read]), NONE),
        ("no sampler", of_image(PLANE, &[], &[(1, &[SAMPLER_TYPE, 100])]), NONE),
        ("a plane", kind(PLANE), ALL),
        ("one that is sampled for certain", kind([1, 0, 0, 0, 1, 0, 0]), NONE),
        ("one of no known depth", kind([1, 2, 0, 0, 0, 0, 0]), NONE),
        ("an array of spaces", kind([2, 0, 1, 0, 0, 0, 0]), NONE),
    ]);
}

/// Builds a kernel with local memory and global memory, of a type, that casts a pointer to one of them by way of a pointer to any memory.
fn cast(memory: u32, to: u32, kind: u32) -> Vec<u8> {
    let types: &[(u32, &[u32])] = &[
        (21, &[8, 32, 0]),
        (21, &[9, 8, 0]),
        (32, &[10, 8, kind]),
        (32, &[11, memory, kind]),
        (32, &[12, to, kind]),
        (59, &[11, 13, memory]),
    ];
    let code: &[(u32, &[u32])] =
        &[(121, &[10, 30, 13]), (124, &[10, 31, 30]), (123, &[12, 32, 31, to]), (117, &[8, 33, 32])];
    let bytes = module(&[], &all(types), &all(code), &[]);
    // With `GenericPointer` and `Int8`.
    let capabilities = all(&[(17, &[38]), (17, &[39])]).into_iter().flat_map(u32::to_le_bytes);
    bytes[..20].iter().copied().chain(capabilities).chain(bytes[20..].iter().copied()).collect()
}

#[test]
fn casts_of_pointers_that_end_a_compiler_are_not_compatible() {
    const LOCAL: u32 = 4;
    const GLOBAL: u32 = 5;
    misjudged(&[
        ("a cast of local memory to local", cast(LOCAL, LOCAL, 9), ALL),
        ("a cast of global memory to local", cast(GLOBAL, LOCAL, 9), ALL),
        ("a cast of global memory to global", cast(GLOBAL, GLOBAL, 9), ALL),
        ("a cast of local memory to global", cast(LOCAL, GLOBAL, 9), CPUS),
        ("a cast of a pointer to four bytes", cast(GLOBAL, LOCAL, 8), CPUS),
    ]);
}

/// Builds a kernel that calls a function, which reads integers of 64 bits: `lanes` of them from the memory of a kind, aligned to some
/// bytes. The kernel has a parameter of that kind of memory.
fn reads(control: u32, [memory, lanes, aligned]: [u32; 3]) -> Vec<u8> {
    let [void, byte, number, vector, bytes, there, kind] = [1, 2, 3, 4, 5, 6, 7];
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    [4, 5, 6, 7, 11, 38, 39].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
    put(&mut words, 14, &[2, 2], None, &[]);
    put(&mut words, 15, &[6, 20], Some("k"), &[]);
    let types: [(u32, &[u32]); 7] = [
        (19, &[void]),
        (21, &[byte, 8, 0]),
        (21, &[number, 64, 0]),
        (23, &[vector, number, lanes]),
        (32, &[bytes, memory, byte]),
        (32, &[there, memory, vector]),
        (33, &[kind, void, bytes]),
    ];
    let function: [(u32, &[u32]); 7] = [
        (54, &[void, 10, control, kind]),
        (55, &[bytes, 11]),
        (248, &[12]),
        (124, &[there, 13, 11]),
        (61, &[vector, 14, 13, 2, aligned]),
        (253, &[]),
        (56, &[]),
    ];
    let kernel: [(u32, &[u32]); 6] = [
        (54, &[void, 20, 0, kind]),
        (55, &[bytes, 21]),
        (248, &[22]),
        (57, &[void, 23, 10, 21]),
        (253, &[]),
        (56, &[]),
    ];
    words.extend([types.as_slice(), &function, &kernel].iter().flat_map(|part| all(part)));
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A driver for CPUs takes all of these, and one for GPUs what is said, but that Battlemage has integers of 64 bits and takes the reads.
#[test]
fn functions_that_a_compiler_for_gpus_ends_at_are_not_compatible() {
    const INLINED: u32 = 0;
    const NOT_INLINED: u32 = 2;
    const CONSTANT: u32 = 0;
    const LOCAL: u32 = 4;
    const GLOBAL: u32 = 5;
    const GENERIC: u32 = 8;
    misjudged(&[
        ("a read of packed integers", reads(NOT_INLINED, [GLOBAL, 2, 1]), CPUS),
        ("a read of packed local integers", reads(NOT_INLINED, [LOCAL, 4, 2]), CPUS),
        ("a read of packed constant integers", reads(NOT_INLINED, [CONSTANT, 8, 1]), CPUS),
        ("a read of three", reads(NOT_INLINED, [GLOBAL, 3, 1]), ALL),
        ("a read of integers at four bytes", reads(NOT_INLINED, [GLOBAL, 2, 4]), ALL),
        ("a read of packed integers that is inlined", reads(INLINED, [GLOBAL, 2, 1]), ALL),
        ("a pointer to memory of any kind", reads(INLINED, [GENERIC, 2, 16]), CPUS),
    ]);
}
