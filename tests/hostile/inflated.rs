//! Which small packages and bundles inflate to gigabytes, or take long for what they inflate to?
//!
//! Each is read by the program under limits of processor time and memory.

use super::costly::{TIME_LIMIT, run_bounded};
use super::repeated::{INSPECT, frame, of_device, read, words};
use super::support::folder::Folder;
use std::io::{Cursor, Read as _, Write as _};
use std::process::Command;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Members of a package, and files of a folder, of two kilobytes that inflate to 60 MB.
#[test]
fn compressed_bundles_by_the_hundreds() {
    const COUNT: u32 = 1_500;
    let (folder, packed) = (Folder::new(), frame(60 << 20));
    let numbers = [24 + packed.len() as u32, 60 << 20, 0, 0];
    let head = [&b"CCOB\x02\0\x01\0"[..], &numbers.map(u32::to_le_bytes).concat()].concat();
    let bundle = [head, packed].concat();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for nth in 0..COUNT {
        folder.put(&format!("in/{nth}.o"), &bundle);
        writer.start_file(format!("{nth}.o"), SimpleFileOptions::default()).unwrap();
        writer.write_all(&bundle).unwrap();
    }
    folder.put("a.zip", writer.finish().unwrap().into_inner());
    for name in ["a.zip", "in"] {
        run_bounded(&folder, &["inspect", name], TIME_LIMIT, &[3]);
    }
}

/// A compressed bundle.
fn compressed(bundle: &[u8]) -> Vec<u8> {
    let packed = zstd::bulk::compress(bundle, 3).unwrap();
    let numbers = [24 + packed.len() as u32, bundle.len() as u32, 0, 0];
    [&b"CCOB\x02\0\x01\0"[..], &numbers.map(u32::to_le_bytes).concat(), &packed].concat()
}

/// A bundle whose entries have one part.
fn entries_of(count: u64, part: &[u8]) -> Vec<u8> {
    let ids: Vec<String> = (0..count).map(|nth| format!("hip-amdgcn-amd-amdhsa--gfx{nth}")).collect();
    let begin = 32 + ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>();
    let entry = |id: &String| [words(&[begin, part.len() as u64, id.len() as u64]), id.clone().into_bytes()].concat();
    [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), words(&[count]), ids.iter().flat_map(entry).collect(), part.to_vec()]
        .concat()
}

/// Compressed bundles within each other, and one that thousands of entries are; others that are a few kilobytes each.
#[test]
fn compressed_bundles_that_entries_share() {
    let mut nested = entries_of(2, &of_device(224, 3, &[]));
    (0..5).for_each(|_| nested = compressed(&entries_of(12, &nested)));
    read("nested.hipfb", nested, INSPECT);
    let long = [of_device(224, 3, &[]), vec![0; 50 << 20]].concat();
    let part = compressed(&entries_of(3, &long));
    read("shared.hipfb", entries_of(16_000, &part), INSPECT);
    let parts = 150u64;
    let ids: Vec<String> = (0..parts).map(|nth| format!("hip-amdgcn-amd-amdhsa--gfx{nth}")).collect();
    let begin = 32 + ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>();
    let len = part.len() as u64;
    let entry = |(nth, id): (u64, &String)| {
        [words(&[begin + nth * len, len, id.len() as u64]), id.clone().into_bytes()].concat()
    };
    let head = [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), words(&[parts])].concat();
    read("apart.hipfb", [head, (0..).zip(&ids).flat_map(entry).collect(), part.repeat(150)].concat(), INSPECT);
}

/// A stream of bzip2.
fn stream(bytes: &[u8]) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// Each has fourteen bytes, and the tables of its reader have megabytes.
#[test]
fn empty_streams_of_a_compressed_archive() {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(40);
    tar.append_data(&mut header, "m.spv", &[0; 40][..]).unwrap();
    let tar = tar.into_inner().unwrap();
    let folder = Folder::new();
    let few = [stream(&tar[..512]), stream(&[]).repeat(100), stream(&tar[512..])].concat();
    folder.put("a.tar.bz2", few);
    run_bounded(&folder, &["inspect", "a.tar.bz2"], 5, &[6]);
    folder.put("a.tar.bz2", [stream(&tar[..512]), stream(&[]).repeat(300_000), stream(&tar[512..])].concat());
    run_bounded(&folder, &["inspect", "a.tar.bz2"], 5, &[3]);
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()
}

/// Bytes without a pattern.
fn random(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(next).collect()
}

/// Lists what is in a file with so many KiB of memory; returns the exit code and what was told.
fn inspect_within(folder: &Folder, name: &str, kib: u64) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    let script = format!("ulimit -d {kib}; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_sycl-bundle"), "inspect", name]);
    let done = command.env("RAYON_NUM_THREADS", "2").current_dir(folder.path()).output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// An OffloadBinary of version 3 with an entry without strings, compressed behind its header.
fn offload_binary(image: &[u8]) -> Vec<u8> {
    let (header, entry) = (40u64, 48u64);
    let body = [&words(&[2 << 16 | 5, 0, 0, header + entry, image.len() as u64])[..], &[0; 8], image].concat();
    let packed = zstd::bulk::compress(&body, 3).unwrap();
    let padding = vec![0; packed.len().next_multiple_of(8) - packed.len()];
    let sizes = [header + packed.len() as u64, header, 1, header + body.len() as u64];
    let head = [&b"\x10\xff\x10\xad\x03\0\0\0"[..], &words(&sizes)].concat();
    assert_eq!(head.len() as u64, header);
    [head, packed, padding].concat()
}

/// Contents that are large are in a file without a name, and not in memory besides.
#[test]
fn large_bundles_and_binaries_are_not_inflated_into_memory() {
    const ZEROS: usize = 200 << 20;
    const KIB: u64 = 128 << 10;
    let folder = Folder::new();
    let image = [of_device(224, 3, &[]), random(2 << 20), vec![0; ZEROS]].concat();
    folder.put("a.hipfb", compressed(&entries_of(1, &image)));
    folder.put("a.ob", offload_binary(&image));
    for name in ["a.hipfb", "a.ob"] {
        let (code, told) = inspect_within(&folder, name, KIB);
        // A list of the image, with whatever is wrong with it.
        assert!(matches!(code, Some(0 | 3)) && told.contains("202 MiB"), "{name}: {code:?} {told}");
    }
}

/// Contents that are no large ones each, by the dozen; and a compressed image that stands for hundreds of megabytes.
#[test]
fn what_many_parts_inflate_to_is_not_in_memory() {
    const KIB: u64 = 384 << 10;
    const PART: usize = 15 << 20;
    const COUNT: usize = 40;
    let folder = Folder::new();
    folder.put("a.ob", offload_binary(&[of_device(224, 3, &[]), random(70_000), vec![0; PART]].concat()).repeat(COUNT));
    // Texts for a GPU of NVIDIA, compressed one by one.
    let text =
        [b".version 8.0\n.target sm_90\n.address_size 64\n//", &hex(&random(35_000))[..], &vec![b'\n'; PART]].concat();
    let mut packed = zstd::bulk::compress(&text, 3).unwrap();
    let len = packed.len() as u32;
    packed.resize(packed.len().next_multiple_of(8), 0);
    let part = [
        &[1, 0, 1, 1, 64, 0, 0, 0][..],
        &words(&[packed.len() as u64, len.into(), 90 << 32, 0, 0x8011, 0, text.len() as u64]),
        &packed,
    ];
    let parts = part.concat().repeat(COUNT);
    let head = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0][..], &words(&[parts.len() as u64])].concat();
    folder.put("a.fatbin", [head, parts].concat());
    for (name, kind) in [("a.ob", "hsaco"), ("a.fatbin", "sm_90")] {
        let (code, told) = inspect_within(&folder, name, KIB);
        assert!(
            matches!(code, Some(0 | 3)) && told.contains(kind) && !told.contains("no memory"),
            "{name}: {code:?} {told}"
        );
    }
}

/// Streams of bzip2 take ten times as long as others, and a window of another form repeats them for nothing.
#[test]
fn slow_streams_that_another_form_repeats() {
    let block: Vec<u8> = random(890_000).into_iter().map(|byte| byte & 1).collect();
    let mut tar = tar::Header::new_gnu();
    tar.set_path("x").unwrap();
    tar.set_size(300 * block.len() as u64);
    tar.set_cksum();
    let inner = [stream(tar.as_bytes()), stream(&block).repeat(300)].concat();
    let mut outer = tar::Builder::new(Vec::new());
    for (name, bytes) in [("in.tar.bz2", inner), ("padding", random(2 << 20))] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        outer.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    let folder = Folder::new();
    folder.put("a.tar.zst", zstd::bulk::compress(&outer.into_inner().unwrap(), 3).unwrap());
    run_bounded(&folder, &["inspect", "a.tar.zst"], 8, &[3]);
}

/// A block of sixteen bytes has zstd make three tables, and yields three bytes: valid, and a thousand times as slow as others.
/// Another form repeats it for nothing, as images do that share a frame.
#[test]
fn blocks_of_zstd_that_make_tables_for_nothing() {
    const BLOCKS: usize = 4 << 20;
    // Size and kind; no literals; one sequence by three tables that stand there, each of one symbol; and its bits.
    let block = [&[0x6c, 0, 0][..], &[0], &[1, 0xa8], &[0xf4, 0x3f, 0xf3, 0x1f, 0xf4, 0x3f], &[0, 0, 0, 4]].concat();
    let raw = |bytes: &[u8]| [&((bytes.len() as u32) << 3).to_le_bytes()[..3], bytes].concat();
    let frame = |head: &[u8], count: usize| {
        [&b"\x28\xb5\x2f\xfd\0\x50"[..], &raw(head), &block.repeat(count), &[1, 0, 0]].concat()
    };
    let mut yields = Vec::new();
    zstd::stream::read::Decoder::new(&frame(b"head", 10)[..]).unwrap().read_to_end(&mut yields).unwrap();
    assert_eq!(yields.len(), 4 + 30, "the frame is sound");
    let folder = Folder::new();
    let mut tar = tar::Header::new_gnu();
    tar.set_path("x").unwrap();
    tar.set_size(3 * BLOCKS as u64);
    tar.set_cksum();
    let stream = frame(tar.as_bytes(), BLOCKS);
    folder.put("a.tar.zst.zst", zstd::bulk::compress(&stream, 3).unwrap());
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("in.tar.zst", SimpleFileOptions::default()).unwrap();
    zip.write_all(&stream).unwrap();
    folder.put("a.zip", zip.finish().unwrap().into_inner());
    let bundle = entries_of(1, &[of_device(224, 3, &[]), vec![0; 3 * BLOCKS]].concat());
    let (head, zeros) = bundle.split_at(bundle.len() - 3 * BLOCKS);
    assert!(head.len() < 1024 && zeros.iter().all(|byte| *byte == 0));
    let packed = frame(head, BLOCKS);
    let numbers = [24 + packed.len() as u32, bundle.len() as u32, 0, 0];
    let slow = [&b"CCOB\x02\0\x01\0"[..], &numbers.map(u32::to_le_bytes).concat(), &packed].concat();
    folder.put("a.hipfb", compressed(&entries_of(1, &slow)));
    for name in ["a.tar.zst.zst", "a.zip", "a.hipfb"] {
        run_bounded(&folder, &["inspect", name], 6, &[3]);
    }
}

/// A zip archive whose members have these bytes, by this method, and are told to inflate to this many with this checksum.
fn zip_of(count: u32, method: u16, packed: &[u8], (size, crc): (u32, u32)) -> Vec<u8> {
    let fields = |at: u32| {
        let sizes = [crc, packed.len() as u32, size].map(u32::to_le_bytes).concat();
        (format!("{at:08}"), [&method.to_le_bytes()[..], &[0; 4], &sizes, &8u16.to_le_bytes(), &[0; 2]].concat())
    };
    let (mut members, mut directory) = (Vec::new(), Vec::new());
    for nth in 0..count {
        let ((name, fields), at) = (fields(nth), members.len() as u32);
        members.extend([&b"PK\x03\x04\x3f\0\0\0"[..], &fields, name.as_bytes(), packed].concat());
        directory.extend(
            [&b"PK\x01\x02\x3f\0\x3f\0\0\0"[..], &fields, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let sizes = [directory.len() as u32, members.len() as u32].map(u32::to_le_bytes).concat();
    let count = (count as u16).to_le_bytes();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &sizes, &[0; 2]].concat();
    [members, directory, end].concat()
}

/// Members of which a glance takes as long as a thousand of their bytes, and blocks of deflate that yield nothing.
#[test]
fn blocks_of_members_that_yield_nothing() {
    // Sizes of 200 KB that a stream of another form repeats for nothing.
    let block = [0x6c, 0, 0, 0, 1, 0xa8, 0xf4, 0x3f, 0xf3, 0x1f, 0xf4, 0x3f, 0, 0, 0, 4];
    let raw = [&(4u32 << 3).to_le_bytes()[..3], b"head"].concat();
    let frame = [&b"\x28\xb5\x2f\xfd\0\x50"[..], &raw, &block.repeat(339), &[1, 0, 0]].concat();
    let yields = zstd::stream::decode_all(&frame[..]).unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(&yields);
    let useless = zip_of(20_000, 93, &frame, (yields.len() as u32, crc.sum()));
    // Two empty blocks with codes of their own (RFC 1951, 3.2.7).
    let empty = [
        0x04, 0xc0, 0x81, 0x08, 0x00, 0x00, 0x00, 0x00, 0x20, 0x7f, 0xeb, 0x47, 0x00, 0x1c, 0x88, 0x00, 0x00, 0x00,
        0x00, 0x00, 0xf2, 0xb7, 0x7e,
    ];
    let mut inflated = Vec::new();
    let end = [3, 0];
    flate2::read::DeflateDecoder::new(&[&empty[..], &end].concat()[..]).read_to_end(&mut inflated).unwrap();
    assert!(inflated.is_empty() && yields.len() == 4 + 339 * 3, "both are sound");
    let blocks = [empty.repeat((60 << 20) / empty.len()), end.to_vec()].concat();
    let (nothing, stream) =
        (zip_of(1, 8, &blocks, (0, 0)), [b"\x1f\x8b\x08\0\0\0\0\0\0\x03", &blocks[..], &[0; 8]].concat());
    let folder = Folder::new();
    for (name, member) in [("in.zip", useless), ("in.zip", nothing), ("in.tar.gz", stream)] {
        let mut tar = tar::Builder::new(Vec::new());
        for _ in 0..3 {
            let mut header = tar::Header::new_gnu();
            header.set_size(member.len() as u64);
            tar.append_data(&mut header, name, &member[..]).unwrap();
        }
        let mut long = zstd::bulk::Compressor::new(3).unwrap();
        long.long_distance_matching(true).unwrap();
        long.window_log(27).unwrap();
        folder.put("a.tar.zst", long.compress(&tar.into_inner().unwrap()).unwrap());
        run_bounded(&folder, &["inspect", "a.tar.zst"], 5, &[3]);
    }
}

/// The first version of compressed bundles states no size, so that bytes behind one may be anything, as linkers align.
#[test]
fn what_stands_behind_a_bundle_costs_nothing() {
    let folder = Folder::new();
    let plain = entries_of(1, &[of_device(224, 3, &[]), random(3 << 20)].concat());
    let packed = zstd::bulk::compress(&plain, 3).unwrap();
    let zlib = {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(&plain).unwrap();
        out.finish().unwrap()
    };
    for (method, packed) in [(0u16, zlib), (1, packed)] {
        let head = [&b"CCOB\x01\0"[..], &method.to_le_bytes(), &(plain.len() as u32).to_le_bytes(), &[0; 8]].concat();
        let bundle = [head, packed].concat();
        let told = |bytes: &[u8]| {
            folder.put("a.hipfb", bytes);
            let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
            let done = command.args(["inspect", "a.hipfb"]).current_dir(folder.path()).output().unwrap();
            (done.status.code(), String::from_utf8(done.stdout).unwrap())
        };
        let (alone, followed) = (told(&bundle), told(&[&bundle[..], &random(8 << 20)].concat()));
        assert_eq!(alone.0, followed.0);
        assert!(followed.1.contains("1 image") && followed.1.contains("3.00 MiB of"), "{method}: {}", followed.1);
    }
}

/// A stream of xz takes as long as thousands of bytes, whatever it holds, and another form repeats it for nothing.
#[test]
fn streams_of_a_byte_that_another_form_repeats() {
    let xz = |bytes: &[u8]| {
        let mut out = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let gz = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let folder = Folder::new();
    for (name, first, one, count) in
        [("in.tar.xz", &xz as &dyn Fn(&[u8]) -> Vec<u8>, xz(&[0]), 2_500_000), ("in.tar.gz", &gz, gz(&[]), 6_000_000)]
    {
        let mut tar = tar::Header::new_gnu();
        tar.set_path("x").unwrap();
        tar.set_size(1 << 30);
        tar.set_cksum();
        let inner = [first(tar.as_bytes()), one.repeat(count)].concat();
        let mut outer = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(inner.len() as u64);
        outer.append_data(&mut header, name, &inner[..]).unwrap();
        folder.put("a.tar.zst", zstd::bulk::compress(&outer.into_inner().unwrap(), 3).unwrap());
        run_bounded(&folder, &["inspect", "a.tar.zst"], 5, &[3]);
    }
}
