//! Do images join the list of a library for Windows so that it loads anywhere, and leave it without a trace?

use super::library;
use super::loader::{Module, checksum, directory, optional, u32_at};
use crate::support::host::{Entries, Fixture, ImageSpec, LoadedImage, fnv1a, samples};
use crate::support::spirv;
use goblin::pe::PE;
use std::collections::HashSet;
use std::io::Write as _;
use std::process::Command;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::property::{Property, PropertySet, Value};
use sycl_bundle::container::Host;
use sycl_bundle::error::Result;
use sycl_bundle::rewrite::embed::record::{Layer, Record};
use sycl_bundle::rewrite::image_data::OutImage;
use sycl_bundle::rewrite::{beneath, layers, pe};

/// Addresses at which the loader may put a library: the preferred one, a lower one, and one as Windows chooses.
pub const BASES: [Option<u64>; 3] = [None, Some(0x1_0000), Some(0x7ff6_1234_0000)];

pub fn notes() -> Vec<(String, String)> {
    vec![("tool".to_owned(), "tests".to_owned())]
}

/// The addresses of the descriptors, which no rewrite moves.
pub fn descriptors(file: &[u8]) -> Vec<u64> {
    let host = Host::read(file).unwrap();
    Bundle::read(&host).unwrap().descriptors.iter().map(|descriptor| descriptor.address).collect()
}

pub fn seen(file: &[u8], base: Option<u64>, descriptors: &[u64]) -> Vec<Vec<LoadedImage>> {
    let module = Module::load(file, base);
    descriptors.iter().map(|descriptor| module.images(*descriptor)).collect()
}

fn image(number: usize) -> OutImage<'static> {
    let aspects = Property { name: "aspects", value: Value::Bytes(&[32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]) };
    let flag = Property { name: "optLevel", value: Value::U32(3) };
    OutImage {
        target: if number.is_multiple_of(2) { "spir64" } else { "spir64_gen" },
        format: 0,
        compile_options: "-of-its-own",
        link_options: "",
        payload: [spirv::module("halve"), vec![number as u8; number % 40]].concat().into(),
        entries: vec!["kernel_from_elsewhere"],
        property_sets: vec![
            PropertySet { name: "SYCL/device requirements", properties: vec![aspects] },
            PropertySet { name: "SYCL/misc properties", properties: vec![flag] },
        ],
    }
}

fn joined(file: &[u8], count: usize) -> Result<Vec<u8>> {
    let images: Vec<OutImage> = (0..count).map(image).collect();
    layers::edit(file, &HashSet::new(), &images, &notes()).map(|edited| edited.bytes.into_vec())
}

pub fn undone(file: &[u8], count: usize) -> Vec<u8> {
    let host = Host::read(file).unwrap();
    let first = usize::from(Bundle::read(&host).unwrap().descriptors[0].count);
    let gone: HashSet<usize> = (first - count..first).collect();
    layers::edit(file, &gone, &[], &notes()).unwrap().bytes.into_vec()
}

fn check(original: &[u8], count: usize) -> Vec<u8> {
    let rewritten = joined(original, count).unwrap();
    let descriptors = descriptors(original);
    for base in BASES {
        let (before, after) = (seen(original, base, &descriptors), seen(&rewritten, base, &descriptors));
        let own = before[0].len();
        assert_eq!(after[0][..own], before[0]);
        assert_eq!(after[1..], before[1..]);
        assert_eq!(after[0].len(), own + count);
        for (number, new) in after[0][own..].iter().enumerate() {
            let wanted = image(number);
            assert_eq!((new.target.as_str(), new.version), (wanted.target, before[0][0].version));
            assert_eq!((new.payload_size, new.payload_digest), (wanted.payload.len(), fnv1a(&wanted.payload)));
            assert_eq!(new.compile_options, "-of-its-own");
            let form = before[0].iter().flat_map(|image| &image.entries).next().unwrap().0;
            assert_eq!(new.entries, [(form, "kernel_from_elsewhere".to_owned())]);
            let sets: Vec<&str> = new.sets.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(sets, ["SYCL/device requirements", "SYCL/misc properties"]);
        }
    }
    let parsed = PE::parse(&rewritten).unwrap();
    assert!(parsed.sections.iter().any(|section| section.name().unwrap() == ".syclbdl"));
    assert!(undone(&rewritten, count) == original, "an undone addition leaves no trace");
    rewritten
}

fn sample(name: &str) -> Fixture {
    Fixture::new(name).images(samples::every_property())
}

/// The end that stays is behind all sections: another one would bring other code.
#[test]
fn an_end_that_a_record_gives_back_has_no_code() {
    let original = library(&sample("joined"));
    let file = joined(&original, 1).unwrap();
    let (record, _) = Record::locate(&Host::read(&file).unwrap(), Layer::Images).unwrap();
    assert!(beneath::restore(&record, &Host::read(&file).unwrap()).unwrap().bytes == original);
    let code = PE::parse(&original).unwrap().sections[0].pointer_to_raw_data as usize;
    let mut evil = original;
    evil[code + 1] ^= 1;
    let longer = [&file[..], &evil[code..]].concat();
    let mut forged = record;
    (forged.tail, forged.embedded_len) = ((evil.len() - code) as u64, longer.len() as u64);
    forged.original_hash = *blake3::hash(&evil).as_bytes();
    let error = beneath::restore(&forged, &Host::read(&longer).unwrap()).unwrap_err().to_string();
    assert!(error.contains("another program"), "{error}");
}

#[test]
fn every_version_and_form_of_entries() {
    for version in [1, 2, 3] {
        for entries in [Entries::Old, Entries::New] {
            check(&library(&sample("joined").version(version).entries(entries)), 2);
        }
    }
    let two = ImageSpec::new(spirv::module("two_kernels")).entry("add_two").entry("negate");
    check(&library(&sample("joined").images(vec![two]).tgtimg(false)), 3);
}

/// The list of an image that is replaced is written anew, wherever the new one goes.
#[test]
fn an_image_of_another_list_is_replaced() {
    let two = ["add_two", "negate"];
    let image_of_two = ImageSpec::new(spirv::module("two_kernels")).entry(two[0]).entry(two[1]);
    let original = library(&sample("joined").images(vec![image_of_two]).tgtimg(false));
    let gone = {
        let host = Host::read(&original).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        bundle.images.iter().find(|image| image.entries == two).unwrap().index
    };
    let new = OutImage { entries: two.to_vec(), ..image(0) };
    let edited = layers::edit(&original, &HashSet::from([gone]), &[new], &notes()).unwrap().bytes;
    let descriptors = descriptors(&original);
    for base in BASES {
        let (before, after) = (seen(&original, base, &descriptors), seen(&edited, base, &descriptors));
        let names = |image: &LoadedImage| image.entries.iter().map(|entry| entry.1.clone()).collect::<Vec<_>>();
        assert_eq!(before[1].iter().map(names).collect::<Vec<_>>(), [two]);
        let (new, own) = after[0].split_last().unwrap();
        assert!(own == before[0] && after[1].is_empty(), "at {base:x?}");
        assert_eq!((names(new), new.compile_options.as_str()), (two.map(str::to_owned).to_vec(), "-of-its-own"));
    }
}

/// Few relocations find room in the slack of `.reloc`, many do not.
#[test]
fn base_relocations_stay_or_move() {
    let original = library(&Fixture::new("slack").images(vec![samples::image("halve")]));
    let (few, many) = (check(&original, 1), check(&original, 300));
    assert_eq!(directory(&few, 5).0, directory(&original, 5).0);
    assert_ne!(directory(&many, 5).0, directory(&original, 5).0);
    assert!(directory(&few, 5).1 > directory(&original, 5).1);
}

#[test]
fn a_checksum_is_kept_right() {
    let mut original = library(&sample("checked"));
    let at = optional(&original) + 64;
    assert_eq!(u32_at(&joined(&original, 1).unwrap(), at), 0, "none is made where there was none");
    let sum = checksum(&original);
    original[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    let rewritten = check(&original, 2);
    assert_eq!(u32_at(&rewritten, at), checksum(&rewritten));
}

#[test]
fn what_stands_behind_the_sections_stays_at_the_end() {
    let mut original = library(&sample("overlay"));
    let behind: Vec<u8> = (0..1001u32).map(|at| (at * 7) as u8).collect();
    original.extend(&behind);
    let rewritten = check(&original, 2);
    assert!(rewritten.ends_with(&behind));
}

#[test]
fn a_signature_is_refused_or_removed() {
    let original = library(&sample("signed"));
    let mut signed = original.clone();
    let at = optional(&signed) + 112 + 4 * 8;
    let start = u32::try_from(signed.len()).unwrap();
    signed[at..at + 8].copy_from_slice(&[start.to_le_bytes(), 24u32.to_le_bytes()].concat());
    signed.extend([7; 24]);
    assert_eq!((pe::size(&original).unwrap(), pe::size(&signed).unwrap()), (0, 24));
    let error = joined(&signed, 1).unwrap_err();
    assert!(error.to_string().contains("is signed"), "{error}");
    assert!(pe::remove(&signed).unwrap() == original);

    // The program takes the flag for it.
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("signed.dll"), folder.path().join("out.dll"));
    std::fs::write(&input, &signed).unwrap();
    let prune = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command
            .args(["prune", "--image", "0", "--lose-kernels"])
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .args(more)
            .output()
            .unwrap()
    };
    let refused = prune(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("the file is signed") && said.contains("--drop-signature") && !output.exists(), "{said}");
    // In a wheel it is named as the wheel names it.
    let wheel = folder.path().join("signed-1-py3-none-any.whl");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&wheel).unwrap());
    for (name, bytes) in [("a/signed.dll", signed.as_slice()), ("signed-1.dist-info/RECORD", b"a/signed.dll,,\n")] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let refused = command.args(["prune", "--image", "0", "--lose-kernels", "--in-place"]).arg(&wheel).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("signed-1-py3-none-any.whl!a/signed.dll: the file is signed"), "{said}");
    let done = prune(&["--drop-signature"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let written = std::fs::read(&output).unwrap();
    assert_eq!(pe::size(&written).unwrap(), 0);
    let images = |file: &[u8]| Bundle::read(&Host::read(file).unwrap()).unwrap().images.len();
    assert_eq!(images(&written) + 1, images(&original));

    signed.push(0);
    assert!(pe::remove(&signed).unwrap_err().to_string().contains("not at the end"));
}

/// A file whose headers have room for `left` bytes more.
fn filled(file: &[u8], left: usize) -> Vec<u8> {
    let mut file = file.to_vec();
    let optional = optional(&file);
    let table = optional + usize::from(u16::from_le_bytes([file[optional - 4], file[optional - 3]]));
    let limit = u32_at(&file, optional + 60) as usize;
    let end = table + usize::from(file[optional - 18]) * 40;
    // Room goes as the headers come to begin later, over what stands between them and the DOS header.
    let spare = limit - end;
    assert!(spare >= left + 8, "{spare}");
    let start = u32_at(&file, 60) as usize;
    let by = spare - left;
    file.copy_within(start..end, start + by);
    file[60..64].copy_from_slice(&u32::try_from(start + by).unwrap().to_le_bytes());
    file
}

/// Headers without room for one more section move over the program for DOS.
#[test]
fn room_for_a_section_header_is_made() {
    let original = library(&sample("full"));
    for left in [0, 8, 32, 40] {
        let tight = filled(&original, left);
        let rewritten = check(&tight, 2);
        assert_eq!(u32_at(&rewritten, 60) < u32_at(&tight, 60), left < 40, "{left}");
    }
    let mut taken = original.clone();
    let optional = optional(&taken);
    let table = optional + usize::from(u16::from_le_bytes([taken[optional - 4], taken[optional - 3]]));
    let count = usize::from(taken[optional - 18]);
    taken[table + count * 40 + 39] = 1;
    let error = joined(&taken, 1).unwrap_err();
    assert!(error.to_string().contains("no room for one more section"), "{error}");
}

/// Every word of the headers, with values that hurt: an error or a file, but neither a panic nor gigabytes.
#[test]
fn damaged_headers_are_survived() {
    let original = library(&sample("hurt"));
    let (mut done, mut refused) = (0, 0);
    for at in (60..0x300).step_by(4) {
        for value in [0, 1, 0x7fff_ffff, u32::MAX, u32_at(&original, at) ^ 0x1000] {
            let mut file = original.clone();
            file[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let gone = HashSet::from([0]);
            for result in [joined(&file, 1), layers::edit(&file, &gone, &[], &[]).map(|edited| edited.bytes.into_vec())]
            {
                match result {
                    Ok(bytes) => {
                        assert!(bytes.len() < original.len() + (1 << 20), "{at:#x} {value:#x}: {}", bytes.len());
                        done += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(done > 100 && refused > 100, "done, refused: {done}, {refused}");
}

#[test]
fn sections_that_overlap_and_relocations_that_end_early_are_refused() {
    let original = library(&sample("hurt"));
    let headers = PE::parse(&original).unwrap().header;
    let optional = headers.dos_header.pe_pointer as usize + 24;
    let table = optional + usize::from(headers.coff_header.size_of_optional_header);
    let last = table + 40 * (usize::from(headers.coff_header.number_of_sections) - 1);
    let changed = |at: usize, change: &dyn Fn(u32) -> u32| {
        let mut file = original.clone();
        file[at..at + 4].copy_from_slice(&change(u32_at(&original, at)).to_le_bytes());
        file
    };
    // The end of the relocations' size, and where the last section is in the file and in memory.
    let cases = [
        (optional + 112 + 5 * 8 + 4, changed(optional + 112 + 5 * 8 + 4, &|size| size + 4), "end within a block"),
        (last + 20, changed(last + 20, &|_| u32_at(&original, table + 20)), "overlaps"),
        (table + 8, changed(table + 8, &|_| 0x10_0000), "overlaps"),
    ];
    for (at, file, why) in cases {
        let gone = HashSet::from([0]);
        for result in [joined(&file, 1), layers::edit(&file, &gone, &[], &[]).map(|edited| edited.bytes.into_vec())] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(why), "{at:#x}: {error}");
        }
    }
}
