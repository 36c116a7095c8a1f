//! Is NVIDIA GPU code what `cuobjdump` says of it?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::native::{Kernel, Native};

use super::tools::{cubin, cubin_recipe, ptx};
use super::{kernel, read};
use crate::support::built::Recipe;
use crate::support::folder::Folder;
use crate::support::ptx::statements;
use sycl_bundle::container::{Host, Place};

const ARCHITECTURES: [(&str, bool); 6] =
    [("sm_80", false), ("sm_80", true), ("sm_90", false), ("sm_90a", false), ("sm_90a", true), ("sm_100a", true)];

/// `REG:14 STACK:64 SHARED:512 ...` of each function.
fn usage(printed: &str) -> Vec<(String, u64, u64, u64)> {
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    let functions = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("Function ")?.trim_end_matches(':');
        let of = |key: &str| pair[1].split(key).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        Some((name.to_owned(), of("REG:"), of("STACK:"), of("SHARED:")))
    });
    functions.collect()
}

fn told(kernel: &Kernel) -> (String, u64, u64, u64) {
    (kernel.name.clone(), kernel.registers.unwrap(), kernel.private.unwrap(), kernel.local.unwrap())
}

#[test]
fn cubins_say_what_cuobjdump_says() {
    for (architecture, twelve) in ARCHITECTURES {
        let recipe = cubin_recipe(architecture, twelve);
        let payload = recipe.bytes("kernels.cubin");
        assert_eq!(Format::sniff(&payload), Format::Cubin);
        let native = read(&payload);
        assert_eq!(native.devices(), [format!("nvidia_gpu_{architecture}")], "CUDA 12: {twelve}");
        let mut ours: Vec<_> = native.parts[0].kernels.iter().map(|kernel| told(kernel)).collect();
        let mut theirs = usage(&String::from_utf8(recipe.bytes("usage")).unwrap());
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{architecture}");
        let reduce = kernel(&native, "reduce");
        assert_eq!((reduce.reqd_work_group_size, reduce.barriers), (Some([64, 2, 1]), Some(1)));
        assert_eq!(kernel(&native, "small").max_work_group_size, Some(128));
        // A kernel without a stack spills nothing; what is spilled is not told from private arrays.
        for kernel in &native.parts[0].kernels {
            let stack = kernel.private.unwrap();
            assert_eq!((kernel.spill, kernel.scratch), if stack == 0 { (Some(0), None) } else { (None, Some(stack)) });
        }
        let scale = kernel(&native, "scale");
        let places: Vec<_> = scale.arguments.iter().map(|a| (a.index, a.offset, a.size, a.address_space)).collect();
        let expected = [(0, 0, 8, Some("global")), (1, 8, 4, None), (2, 16, 24, None)];
        assert_eq!(places, expected.map(|(index, offset, size, space)| (index, Some(offset), Some(size), space)));
        assert_eq!(scale.argument_bytes, Some(40));
        let spaces: Vec<_> = reduce.arguments.iter().map(|argument| argument.address_space).collect();
        assert_eq!(spaces, [Some("global"), Some("local")]);
    }
}

#[test]
fn ptx_declares_what_the_cubin_keeps() {
    let text = ptx("sm_80");
    assert_eq!(Format::sniff(text.as_bytes()), Format::Ptx);
    let (native, cubin) = (read(text.as_bytes()), read(&cubin("sm_80", false)));
    assert_eq!(native.devices(), cubin.devices());
    for declared in &native.parts[0].kernels {
        let kept = kernel(&cubin, &declared.name);
        assert_eq!(declared.reqd_work_group_size, kept.reqd_work_group_size);
        assert_eq!(declared.max_work_group_size, kept.max_work_group_size);
        let sizes =
            |kernel: &Kernel| kernel.arguments.iter().map(|a| (a.index, a.size, a.address_space)).collect::<Vec<_>>();
        assert_eq!(sizes(declared), sizes(kept), "{}", declared.name);
    }
}

/// Each edit was refused by a driver, or ended it.
#[test]
fn cubins_that_drivers_refuse_are_not_compatible() {
    let folder = Folder::new();
    for (architecture, twelve) in [("sm_80", true), ("sm_90", false)] {
        let sound = cubin(architecture, twelve);
        let target = format!("nvidia_gpu_{architecture}");
        let runs = |bytes: &[u8]| {
            folder.put("k.cubin", bytes);
            let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
            check.current_dir(folder.path()).args(["check", "--strict", "-t", &target, "k.cubin"]);
            check.output().unwrap().status.success()
        };
        assert!(runs(&sound), "CUDA 12: {twelve}");
        let long = |at: usize| u64::from_le_bytes(sound[at..at + 8].try_into().unwrap()) as usize;
        let of_kind = |kind: u8| (0..).map(|nth| long(40) + nth * 64).find(|at| sound[at + 4] == kind).unwrap();
        let (first, names, symbols) = (long(40), of_kind(3), of_kind(2));
        let attributes = (0..).map(|nth| long(40) + nth * 64).find(|at| sound[at + 7] == 0x70).unwrap();
        for (what, at, value) in [
            ("another system", 7, 1),
            ("flags of nothing", if twelve { 49 } else { 48 }, 1),
            ("flags of other drivers", if twelve { 51 } else { 50 }, 1),
            ("a first section with a name", first + 3, 1),
            ("a first section with a place", first + 27, 1),
            ("names that are none", names + 4, 1),
            ("symbols of another size", symbols + 56, 16),
            ("symbols without names", symbols + 40, 0),
            ("local symbols beyond all", symbols + 45, 0x10),
            ("an alignment that is none", symbols + 48, 3),
            ("a name beyond all", symbols + 3, 1),
            ("a symbol's name beyond all", long(symbols + 24) + 24 + 3, 1),
            ("a symbol of no section", long(symbols + 24) + 24 + 7, 0x70),
            ("an attribute of no form", long(attributes + 24), 5),
        ] {
            let mut changed = sound.clone();
            assert_ne!(changed[at], value, "{what}");
            changed[at] = value;
            assert!(!runs(&changed), "{what}, CUDA 12: {twelve}");
        }
        // CUDA 12 writes no notes for this GPU.
        if !twelve {
            let mut changed = sound.clone();
            changed[of_kind(7) + 24] += 4;
            assert!(!runs(&changed), "notes that begin elsewhere");
        }
    }
}

/// PTX that `ptxas` refuses for what is outside of statements is for no device that is known. `tests/real/nvidia.rs` asks `ptxas`.
#[test]
fn ptx_that_nobody_takes_is_for_no_device() {
    let mut counts = [0; 2];
    for (is_taken, text) in statements() {
        counts[usize::from(is_taken)] += 1;
        // PTX without a GPU is an error.
        let devices =
            Native::read(text.as_bytes(), Format::Ptx, Place::file(0)).map_or(0, |native| native.devices().len());
        assert_eq!(devices > 0, is_taken, "{text}");
    }
    assert!(counts[0] > 150 && counts[1] > 100, "{counts:?}");
}

/// A fat binary of two cubins and their PTX, and what `cuobjdump` lists of it.
fn fat_binary(mode: &str) -> Recipe {
    let mut recipe = Recipe::new("fatbin").input("kernels.ptx", ptx("sm_80"));
    let method = format!("--compress-mode={mode}");
    let mut words = ["cuda-13:fatbinary", "-64", "--compress-all", &method, "--create", "kernels.fatbin"]
        .map(str::to_owned)
        .to_vec();
    for architecture in ["80", "90"] {
        let name = format!("kernels.{architecture}.cubin");
        recipe = recipe.input(&name, cubin(&format!("sm_{architecture}"), false));
        words.push(format!("--image3=kind=elf,sm={architecture},file={name}"));
    }
    words.push("--image3=kind=ptx,sm=80,file=kernels.ptx".to_owned());
    let list = ["cuda-13:cuobjdump", "-lelf", "-lptx", "kernels.fatbin", ">", "listed"];
    recipe.run(words).run(list).output("kernels.fatbin").output("listed")
}

#[test]
fn fat_binaries_are_inflated_whatever_the_method() {
    let mut known = None;
    for mode in ["none", "speed", "balance", "size"] {
        let recipe = fat_binary(mode);
        let payload = recipe.bytes("kernels.fatbin");
        assert_eq!(Format::sniff(&payload), Format::Fatbin);
        let native = read(&payload);
        assert_eq!(
            (native.container, native.devices()),
            (Some("fatbin"), vec!["nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
        );
        let names: Vec<&str> = native.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["elf.sm_80", "elf.sm_90", "ptx.sm_80"], "{mode}");
        let listed = String::from_utf8(recipe.bytes("listed")).unwrap();
        assert_eq!(listed.lines().filter(|line| line.contains(" file ")).count(), 3, "{listed}");
        let kernels: Vec<_> = native.parts.into_iter().map(|part| part.kernels).collect();
        assert_eq!(known.get_or_insert_with(|| kernels.clone()), &kernels, "{mode}");
    }
}

/// Fat binaries that nvcc puts into a program, as ELF names the section and as a PE file can: compressed by LZ4, by zstd, and not.
#[test]
fn those_in_sections_of_host_files_are_images() {
    for (format, name) in [
        (object::BinaryFormat::Elf, ".nv_fatbin"),
        (object::BinaryFormat::Elf, "__nv_relfatbin"),
        (object::BinaryFormat::Coff, ".nv_fatb"),
        (object::BinaryFormat::Coff, "__nv_rel"),
    ] {
        let mut object = object::write::Object::new(format, object::Architecture::X86_64, object::Endianness::Little);
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), object::SectionKind::ReadOnlyData);
        let binaries = ["none", "speed", "size"].map(|mode| fat_binary(mode).bytes("kernels.fatbin"));
        for binary in &binaries {
            object.append_section_data(section, binary, 64);
        }
        let bytes = object.write().unwrap();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        assert_eq!(bundle.images.len(), binaries.len(), "{name}");
        for (image, binary) in bundle.images.iter().zip(&binaries) {
            assert_eq!((image.target, image.offload_kind, image.format()), ("nvptx64", "cuda", Format::Fatbin));
            // `fatbinary` pads to eight bytes.
            assert_eq!((image.stored, &bytes[image.offset as usize..][..binary.len()]), (&binary[..], &binary[..]));
            let names: Vec<String> =
                read(image.stored).parts.iter().flat_map(|part| &part.kernels).map(|it| it.name.clone()).collect();
            assert_eq!(names.len(), 9, "three kernels of three parts: {names:?}");
        }
    }
}

/// nvlink leaves sections of memory that nothing initialises with sizes that pass the end of the file.
#[test]
fn memory_without_contents_takes_no_bytes_of_the_file() {
    let mut linked = cubin("sm_90", false);
    let word = |linked: &[u8], at: usize, len: usize| {
        linked[at..at + len].iter().rev().fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, count) = (word(&linked, 40, 8), word(&linked, 60, 2));
    // Shared memory of a kernel, as nvlink types it.
    let shared = (0..count).map(|index| table + index * 64).find(|at| word(&linked, at + 4, 4) == 8).unwrap();
    for kind in [0x7000_0007u32, 0x7000_0009, 0x7000_000a, 0x7000_0015, 0x7000_0008] {
        linked[shared + 4..shared + 8].copy_from_slice(&kind.to_le_bytes());
        linked[shared + 32..shared + 40].copy_from_slice(&(1u64 << 30).to_le_bytes());
        let native = Native::read(&linked, Format::Cubin, sycl_bundle::container::Place::file(0)).unwrap();
        assert_eq!(native.problems.is_empty(), kind != 0x7000_0008, "{kind:#x}: {:?}", native.problems);
    }
}
