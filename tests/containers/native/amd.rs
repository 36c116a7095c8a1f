//! Is AMD GPU code what was assembled, and what `llvm-readelf` prints of it?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::image::State;
use sycl_bundle::bundle::offload_bundle::{self, NewPart};
use sycl_bundle::container::{Host, Kind, Place};
use sycl_bundle::error::ErrorKind;
use sycl_bundle::native::Native;

use super::tools::{code_object, code_object_recipe, packed_object};
use super::{kernel, read};

#[test]
fn the_note_is_read_whole() {
    let payload = code_object("gfx90a", "");
    assert_eq!(Format::sniff(&payload), Format::Hsaco);
    let native = read(&payload);
    assert_eq!(native.devices(), ["amd_gpu_gfx90a"]);
    assert_eq!(native.kernel_names(), ["first", "second"]);
    let first = kernel(&native, "first");
    assert_eq!((first.registers, first.scalar_registers, first.accumulation_registers), (Some(300), Some(96), Some(7)));
    assert_eq!((first.simd, first.private, first.local), (Some(64), Some(396), Some(512)));
    assert_eq!((first.spilled_registers, first.max_work_group_size), (Some([198, 3]), Some(128)));
    assert_eq!((first.reqd_work_group_size, first.argument_bytes), (Some([64, 2, 1]), Some(40)));
    assert_eq!((first.spill, first.barriers, first.scratch), (None, None, None), "not told");
    // The hidden one is not an argument of the source.
    let [out, vector, dynamic] = &*first.arguments else { panic!("{:?}", first.arguments) };
    assert_eq!((out.name.as_deref(), out.type_name.as_deref()), (Some("out"), Some("float*")));
    assert_eq!(
        (out.address_space, out.access, out.size, out.offset),
        (Some("global"), Some("write_only"), Some(8), Some(0))
    );
    assert_eq!((vector.address_space, vector.size, vector.offset), (Some("private"), Some(16), Some(16)));
    assert_eq!((dynamic.address_space, dynamic.kind.as_deref()), (Some("local"), Some("dynamic_shared_pointer")));
    let second = kernel(&native, "second");
    assert_eq!((second.spilled_registers, second.reqd_work_group_size), (None, None));
}

#[test]
fn flags_are_what_readelf_prints() {
    for (processor, features) in [
        ("gfx906", "+xnack"),
        ("gfx906", "-xnack"),
        ("gfx90a", "+xnack"),
        ("gfx90a", ""),
        ("gfx1030", ""),
        ("gfx908", ""),
    ] {
        let recipe = code_object_recipe(processor, features);
        let recipe = recipe.run(["llvm-readobj", "-h", "kernels.hsaco", ">", "header"]).output("header");
        let native = read(&recipe.bytes("kernels.hsaco"));
        let printed = String::from_utf8(recipe.bytes("header")).unwrap();
        let flags = printed.split("Flags [").nth(1).unwrap().split(']').next().unwrap();
        let names = || flags.split_whitespace().filter_map(|word| word.strip_prefix("EF_AMDGPU_"));
        let mut expected = names().find_map(|name| name.strip_prefix("MACH_AMDGCN_")).unwrap().to_lowercase();
        // Sorted as a target id has them: sramecc, then xnack.
        for feature in ["SRAMECC", "XNACK"] {
            for (setting, sign) in [("ON", '+'), ("OFF", '-')] {
                if names().any(|name| name == format!("FEATURE_{feature}_{setting}_V4")) {
                    expected.push_str(&format!(":{}{sign}", feature.to_lowercase()));
                }
            }
        }
        assert_eq!(native.parts[0].stated, expected, "{flags}");
        assert_eq!(native.devices(), [format!("amd_gpu_{processor}")]);
    }
}

/// By the sources of ROCm's loader and HIP, each.
#[test]
fn code_that_loaders_refuse_is_told() {
    let recipe = code_object_recipe("gfx90a", "");
    let object = recipe.bytes("kernels.hsaco");
    let object = &object;
    let header = |kind: u32| {
        let start = usize::try_from(u64::from_le_bytes(object[32..40].try_into().unwrap())).unwrap();
        let headers = (start..).step_by(56).take(usize::from(object[56]));
        headers.filter(move |at| object[*at..*at + 4] == kind.to_le_bytes()).collect::<Vec<usize>>()
    };
    let find = |text: &[u8]| object.windows(text.len()).position(|window| window == text).unwrap();
    let with = |edits: &[(usize, u8)]| {
        let mut edited = object.clone();
        edits.iter().for_each(|(at, byte)| edited[*at] = *byte);
        edited
    };
    let unloaded: Vec<(usize, u8)> = header(1).into_iter().map(|at| (at, 6)).collect();
    let [note] = header(4)[..] else { panic!("one segment of notes") };
    let version = find(b"amdhsa.version") + 15;
    let renamed = String::from_utf8_lossy(object).matches("first.kd\0").count();
    assert!(renamed >= 2);
    let mut without = object.clone();
    while let Some(at) = without.windows(9).position(|window| window == b"first.kd\0") {
        without[at] = b'F';
    }
    for (refused, message) in [
        (recipe.bytes("kernels.o"), "no segment to load"),
        (with(&unloaded), "no segment to load"),
        (with(&[(7, 65)]), "OS ABI is 65"),
        (with(&[(8, 0)]), "ABI version is 0"),
        (with(&[(8, 9)]), "ABI version is 9"),
        (with(&[(note + 48, 8)]), "aligned to 8"),
        (with(&[(note + 32, object[note + 32] - 1)]), "pass the end"),
        (with(&[(version, 2)]), "`amdhsa.version` is not 1.x"),
        (without, "kernel `first` has no descriptor `first.kd`"),
    ] {
        let native = Native::read(&refused, Format::Hsaco, Place::file(0)).unwrap();
        let [problem] = &native.problems[..] else { panic!("{message}: {:?}", native.problems) };
        assert!(problem.to_string().contains(message), "{problem}");
    }
    // Where no segment has notes those of sections count.
    assert_eq!(read(&with(&[(note, 0)])).kernel_names().len(), 2);
}

#[test]
fn a_bundle_as_payload_has_a_part_per_processor() {
    let objects = ["gfx906", "gfx90a"].map(|processor| code_object(processor, ""));
    let ids = ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx90a"];
    let data: [&[u8]; 3] = [&[], &objects[0], &objects[1]];
    let parts: Vec<NewPart> = ids.into_iter().zip(data).map(|(id, data)| NewPart { id, data }).collect();
    let plain = offload_bundle::write(&parts, 4096).unwrap().into_vec();
    let packed = offload_bundle::compress(&plain, 3, 3, 0).unwrap();
    for payload in [plain, packed] {
        assert_eq!(Format::sniff(&payload), Format::Hsaco);
        let native = read(&payload);
        assert_eq!(
            (native.container, native.devices()),
            (Some("offload-bundle"), vec!["amd_gpu_gfx906", "amd_gpu_gfx90a"])
        );
        assert_eq!(native.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), &ids[1..]);
        assert!(native.parts.iter().all(|part| part.kernels.len() == 2));
    }
}

/// Bundles that HIP puts into a program, plain and compressed, as ELF names the section and as a PE file can.
#[test]
fn bundles_in_sections_of_host_files_are_images() {
    let objects = ["gfx906", "gfx90a"].map(|processor| code_object(processor, ""));
    let ids = ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx90a"];
    let data: [&[u8]; 3] = [&[], &objects[0], &objects[1]];
    let parts: Vec<NewPart> = ids.into_iter().zip(data).map(|(id, data)| NewPart { id, data }).collect();
    let plain = offload_bundle::write(&parts, 4096).unwrap().into_vec();
    let bundles = [plain.clone(), offload_bundle::compress(&plain, 2, 3, 0).unwrap(), plain.clone()];
    for (format, name) in [(object::BinaryFormat::Elf, ".hip_fatbin"), (object::BinaryFormat::Coff, ".hip_fat")] {
        let mut object = object::write::Object::new(format, object::Architecture::X86_64, object::Endianness::Little);
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), object::SectionKind::ReadOnlyData);
        for bundle in &bundles {
            object.append_section_data(section, bundle, 4096);
        }
        let bytes = object.write().unwrap();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        let found: Vec<_> = bundle.images.iter().map(|image| (image.target, image.arch, image.inflated)).collect();
        let of = |inflated| [("amdgcn", "gfx906", inflated), ("amdgcn", "gfx90a", inflated)];
        assert_eq!(found, [of(false), of(true), of(false)].concat());
        for (image, object) in bundle.images.iter().zip(objects.iter().cycle()) {
            assert_eq!((image.offload_kind, image.stored), ("hipv4", &object[..]));
        }
    }
}

/// Packages of `kernels.amdgcn.s` for two processors, once for each of two host files, as rocm-kpack's own
/// `PackedKernelArchive` wrote them (ae4f1c2, both of its compressors).
const PACKAGES: [&[u8]; 2] =
    [include_bytes!("../../../fixtures/native/stored.kpack"), include_bytes!("../../../fixtures/native/zstd.kpack")];

#[test]
fn kernel_packages_hold_what_was_packed() {
    let objects = ["gfx906", "gfx90a"].map(packed_object);
    for (package, compressed) in PACKAGES.into_iter().zip([false, true]) {
        let host = Host::read(package).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert_eq!((host.kind, bundle.problems.len()), (Kind::Kpack, 0));
        let found: Vec<_> = bundle.images.iter().map(|image| (image.target, image.arch, image.offload_kind)).collect();
        assert_eq!(found, [("amdgcn", "gfx906", "hip"), ("amdgcn", "gfx90a", "hip")].repeat(2));
        for (image, object) in bundle.images.iter().zip(objects.iter().cycle()) {
            assert_eq!((image.compression().is_some(), image.format()), (compressed, Format::Hsaco));
            assert_eq!((image.state(), *image.contents().unwrap() == **object), (State::Executable, true));
        }
        let files = bundle.images.iter().filter_map(|image| image.properties.text("ROCm/kernel package", "host_file"));
        assert_eq!(files.collect::<Vec<_>>(), ["lib/libfirst.so", "lib/libfirst.so", "bin/second", "bin/second"]);
        // The tool's own reader takes any byte of the code for sound, but none of the header's.
        for (at, message) in [(4, "version 3; 1 is known"), (9, "passes the end")] {
            let mut damaged = package.to_vec();
            damaged[at] ^= if at == 4 { 2 } else { 0x80 };
            let host = Host::read(&damaged).unwrap();
            let error = Bundle::read(&host).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        for end in 0..package.len() {
            let Ok(host) = Host::read(&package[..end]) else { continue };
            assert!(Bundle::read(&host).is_err(), "cut to {end} bytes");
        }
    }
}

#[test]
fn the_packages_of_a_library_are_named() {
    // A mapping as rocm-kpack puts it beside the host's code: `kernel_name` and `kpack_search_paths`.
    let mut reference = b"\x82\xabkernel_name\xacbin/second.o\xb2kpack_search_paths\x91".to_vec();
    reference.extend(b"\xb7.kpack/first-gfx9.kpack");
    let mut object =
        object::write::Object::new(object::BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let section = object.add_section(Vec::new(), b".rocm_kpack_ref".to_vec(), object::SectionKind::ReadOnlyData);
    object.append_section_data(section, &reference, 8);
    let bytes = object.write().unwrap();
    let host = Host::read(&bytes).unwrap();
    let error = Bundle::read(&host).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDeviceCode);
    assert_eq!(error.remedy(), Some("its code is in kernel packages of ROCm: .kpack/first-gfx9.kpack"));
}
