//! What stands beside a list of images, or within something else, and is registered all the same?
//!
//! Each was seen to be linked, loaded and called compatible with a GPU that lacks what the hidden kernel needs.

use super::judged::fat_binary;
use super::recorded::{GPU, module, table, tool, words};
use super::support::folder::Folder;
use std::process::Command;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::offload_binary::{Entry, SYCL, Version, image_kind, write};
use sycl_bundle::bundle::offload_bundle::{self, NewPart};
use sycl_bundle::container::{Host, Place};

/// An object with a list of one image, that of a kernel `a` which runs everywhere.
fn list(folder: &Folder) {
    table(folder, &[(&module("a", 0), "", "a\n")]);
    assert!(tool(folder, &["wrap", "m.table", "--emit", "object", "-o", "list.o"]).status.success());
}

/// An OffloadBinary of a kernel `k` that needs double precision.
fn needy(folder: &Folder) -> Vec<u8> {
    let needs = format!("[SYCL/device requirements]\naspects={}\n", words(&[6]));
    table(folder, &[(&module("k", 0), &needs, "k\n")]);
    assert!(tool(folder, &["wrap", "m.table", "--emit", "offload-binary", "-o", "k.bin"]).status.success());
    std::fs::read(folder.path().join("k.bin")).unwrap()
}

/// Links a library of C with other objects.
fn linked(folder: &Folder, name: &str, source: &str, objects: &[&str]) {
    folder.put("code.c", source);
    let done = Command::new("cc")
        .args(["-O1", "-fPIC", "-shared", "-nostdlib", "-Wl,--allow-shlib-undefined", "-o", name, "code.c"])
        .args(objects)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Code that registers the bytes behind the first so many of a file, which is in a section of a name.
fn registering(section: &str, before: usize, file: &str) -> String {
    format!(
        "extern char data[];\nvoid __sycl_register_lib(void *, unsigned long);\n\
         __asm__(\".section {section},\\\"a\\\"\\n.balign 16\\n.globl data\\n.hidden data\\ndata: .incbin \\\"{file}\\\"\\n.text\\n\");\n\
         __attribute__((constructor)) static void begin(void) {{ __sycl_register_lib(data + {before}, 100); }}\n"
    )
}

/// Verdict on kernel `k`, and what was told.
fn verdict(folder: &Folder, file: &str) -> (Option<i32>, String) {
    let done = tool(folder, &["check", "--strict", "-t", GPU, file]);
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

/// Sections of OffloadBinaries are read where they begin with one; code may register what stands further on.
#[test]
fn what_stands_behind_other_bytes_of_a_section_is_found() {
    let folder = Folder::new();
    list(&folder);
    let binary = needy(&folder);
    for junk in [0u8, 7] {
        folder.put("data.bin", [&[junk; 8][..], &binary].concat());
        let source = registering(".llvm.offloading", 8, "data.bin");
        linked(&folder, "beside.so", &source, &["list.o"]);
        linked(&folder, "alone.so", &source, &[]);
        for name in ["beside.so", "alone.so"] {
            let (code, told) = verdict(&folder, name);
            // Other bytes are told where no list may point to them.
            let expected = if junk > 0 && name == "alone.so" { 3 } else { 1 };
            assert!(code == Some(expected) && told.contains("fp64"), "{name}, {junk}: {code:?}: {told}");
        }
    }
}

/// A header of a section says nothing of what is loaded from there.
#[test]
fn a_section_that_is_laid_over_data_hides_nothing() {
    let folder = Folder::new();
    list(&folder);
    let binary = needy(&folder);
    folder.put("data.bin", [&[0; 8][..], &binary].concat());
    let source = registering(".rodata", 8, "data.bin");
    let decoy = "__asm__(\".section .llvm.offloading.x,\\\"\\\"\\n.zero 64\\n.text\\n\");\n";
    linked(&folder, "m.so", &(source + decoy), &["list.o"]);
    let mut bytes = std::fs::read(folder.path().join("m.so")).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let data = bytes.windows(binary.len()).position(|window| window == binary).unwrap();
    let (headers, count) = (word(40), usize::from(bytes[60]));
    let names = word(headers + 64 * usize::from(bytes[62]) + 24);
    let is_decoy = |at: &usize| {
        let name = names + (word(*at) & 0xffff_ffff);
        bytes[name..].starts_with(b".llvm.offloading.x\0")
    };
    let header = (0..count).map(|nth| headers + 64 * nth).find(is_decoy).unwrap();
    bytes[header + 24..header + 32].copy_from_slice(&(data as u64 - 8).to_le_bytes());
    bytes[header + 32..header + 40].copy_from_slice(&(binary.len() as u64 + 8).to_le_bytes());
    folder.put("m.so", bytes);
    let (code, told) = verdict(&folder, "m.so");
    assert!(code == Some(1) && told.contains("fp64"), "{code:?}: {told}");
}

/// A loader writes into what it finds, too.
#[test]
fn relocations_within_what_code_registers_are_told() {
    let folder = Folder::new();
    table(&folder, &[(&module("a", 0), "", "a\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "offload-binary", "-o", "a.bin"]).status.success());
    let len = std::fs::metadata(folder.path().join("a.bin")).unwrap().len();
    let source = registering(".registered", 0, "a.bin").replace("\\\"a\\\"", "\\\"aw\\\"");
    for (at, expected) in [(len + 8, 0), (len - 1, 3), (len / 2, 3)] {
        let relocation = format!("\\n.quad 0, 0, 0\\n.reloc data + {at}, R_X86_64_64, absent\\n.text\\n");
        linked(&folder, "m.so", &source.replace("\\n.text\\n", &relocation), &[]);
        let (code, told) = verdict(&folder, "m.so");
        assert_eq!(code, Some(expected), "{at}: {told}");
    }
}

/// An image of an OffloadBinary.
fn entry<'a>(image_kind: u16, offload_kind: u16, image: &'a [u8], triple: &'a str) -> Entry<'a> {
    let strings = vec![(&b"triple"[..], triple.as_bytes())];
    Entry { image_kind, offload_kind, flags: 0, strings, image, place: Place::default() }
}

/// Whatever lists no kernels and is of no known form may be a module that a byte changed.
#[test]
fn images_of_no_known_form_are_told() {
    let folder = Folder::new();
    let good = module("a", 0);
    let mut changed = module("b", 0);
    changed[0] ^= 1;
    const TRIPLE: &str = "spir64-unknown-unknown";
    for (what, code, expected) in
        [("a module", &module("b", 0)[..], 0), ("a changed one", &changed, 3), ("text", b"define void @b()", 3)]
    {
        let images = [&good[..], code].map(|code| entry(image_kind::SPIRV, SYCL, code, TRIPLE));
        folder.put("k.bin", write(Version::V2, &images).unwrap());
        let done = tool(&folder, &["check", "--strict", "-t", GPU, "k.bin"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(expected), "{what}: {told}");
        assert_eq!(told.contains("image 1: device code of no known form"), expected != 0, "{what}: {told}");
    }
}

/// Images of other models, and those of a list for other devices, are not looked into.
#[test]
fn what_stands_within_another_image_is_found() {
    let folder = Folder::new();
    let binary = needy(&folder);
    let good = module("a", 0);
    let plain = entry(image_kind::SPIRV, SYCL, &good, "spir64-unknown-unknown");
    const CUBIN: u16 = 3;
    const CUDA: u16 = 2;
    // The runtime takes it at multiples of 8.
    let place = |bytes: &[u8]| bytes.windows(binary.len()).position(|window| window == binary).filter(|at| at % 8 == 0);
    let within = (1..=8).find_map(|before| {
        let image = [&vec![1; before][..], &binary].concat();
        let outer = write(Version::V2, &[plain.clone(), entry(CUBIN, CUDA, &image, "nvptx64-nvidia-cuda")]).unwrap();
        place(&outer).map(|at| (at, outer))
    });
    let (at, outer) = within.unwrap();
    folder.put("data.bin", &outer[..]);
    linked(&folder, "m.so", &registering(".rodata", at, "data.bin"), &[]);
    let (code, told) = verdict(&folder, "m.so");
    assert!(code == Some(1) && told.contains("fp64"), "{code:?}: {told}");
    let listed = tool(&folder, &["inspect", "m.so", "--format", "json"]).stdout;
    assert_eq!(String::from_utf8(listed).unwrap().matches("\"blake3\"").count(), 3);

    list(&folder);
    let wrap = ["wrap", "m.table", "--emit", "object", "--as-target", "nvptx64", "-o", "nv.o"];
    let is_hidden = (1..=8).any(|before| {
        table(&folder, &[(&[&vec![1; before][..], &binary].concat(), "", "")]);
        let done = tool(&folder, &wrap);
        assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
        linked(
            &folder,
            "l.so",
            "void __sycl_register_lib(void *); void *use = __sycl_register_lib;",
            &["list.o", "nv.o"],
        );
        let is_placed = place(&std::fs::read(folder.path().join("l.so")).unwrap()).is_some();
        let (code, told) = verdict(&folder, "l.so");
        assert_eq!(code == Some(3) && told.contains("fp64"), is_placed, "{code:?}: {told}");
        is_placed
    });
    assert!(is_hidden);
}

/// A container of AdaptiveCpp with one image.
fn container(image: &[u8], name: &str, format: &str, kernel: &str) -> Vec<u8> {
    let text = format!(
        "object-id=7\ngenerator=hipSYCL SSCP\n{{.images\n{{.{name}\nvariant=global-module\nformat={format}\n\
         {{.__binary\nstart=0\nsize={}\n}}.__binary\n}}.{name}\n}}.images\n{{.kernels\n{{.{kernel}\n{{.image-providers\n\
         {{.{name}\n}}.{name}\n}}.image-providers\n}}.{kernel}\n}}.kernels\n__acpp_hcf_binary_appendix",
        image.len()
    );
    [text.as_bytes(), image].concat()
}

/// Each runtime reads what is its own.
#[test]
fn a_list_of_images_hides_no_container_of_adaptivecpp() {
    let folder = Folder::new();
    list(&folder);
    let whole = container(&module("k", 0), "llvm-ir.global", "llvm-ir", "k");
    let text = String::from_utf8_lossy(&whole).into_owned();
    // AdaptiveCpp goes by the keys wherever they stand, and its text may hold a NUL.
    let late = text.replacen("object-id=7\n", "", 1).replacen("__acpp", "object-id=7\n__acpp", 1);
    let cut = text.replacen("SSCP\n", "SSCP\0\n", 1);
    let split = |text: &str| {
        let end = text.find("appendix").unwrap() + 8;
        [&text.as_bytes()[..end], &module("k", 0)].concat()
    };
    for bytes in [whole, split(&late), split(&cut)] {
        folder.put("k.hcf", [&bytes[..], b"\0"].concat());
        let source = "__asm__(\".section .rodata\\n.byte 0\\n.incbin \\\"k.hcf\\\"\\n.text\\n\");\n";
        linked(&folder, "m.so", source, &["list.o"]);
        let (code, told) = verdict(&folder, "m.so");
        assert!(code == Some(1) && told.contains("AdaptiveCpp"), "{code:?}: {told}");
        let kernels = String::from_utf8(tool(&folder, &["kernels", "m.so"]).stdout).unwrap();
        assert!(kernels.contains("2 kernels"), "{kernels}");
    }
}

/// Names of images are AdaptiveCpp's own.
#[test]
fn no_name_in_a_container_of_adaptivecpp_is_a_target() {
    let folder = Folder::new();
    for (name, format) in
        [("spir64", "spirv"), ("spir64", "ptx"), ("spir64_gen", "spirv"), ("llvm-ir.global", "llvm-ir")]
    {
        folder.put("m.hcf", container(&module("a", 0), name, format, "a"));
        let (code, told) = verdict(&folder, "m.hcf");
        assert!(code == Some(1) && told.contains("AdaptiveCpp"), "{name}: {code:?}: {told}");
        let known = tool(&folder, &["check", "-t", GPU, "m.hcf"]);
        assert_eq!(known.status.code(), Some(0), "unknown, not incompatible");
    }
    // Code made ahead of time is in nodes of the container itself, without kernels.
    let code = b"//\n// Generated by LLVM NVPTX Back-End\n//\n.version 7.0\n.target sm_60\n.address_size 64\n";
    let text = format!(
        "object-id=1\ngenerator=syclcc\n{{.sm_60\n{{.__binary\nstart=0\nsize={}\n}}.__binary\n}}.sm_60\n__acpp_hcf_binary_appendix",
        code.len()
    );
    folder.put("early.hcf", [text.as_bytes(), code].concat());
    let listed = String::from_utf8(tool(&folder, &["inspect", "early.hcf"]).stdout).unwrap();
    assert!(listed.contains("hcf.sm_60"), "{listed}");
}

/// Wrappers of what CUDA's and HIP's runtimes register.
const CUDA: u32 = 0x4662_43b1;
const HIP: u32 = 0x4849_5046;

/// Bytes of a file under a name, in a section.
fn incbin(section: &str, flags: &str, name: &str, file: &str) -> String {
    format!(
        "extern char {name}[] __attribute__((visibility(\"hidden\")));\n\
         __asm__(\".section {section},\\\"{flags}\\\"\\n.balign 16\\n.globl {name}\\n{name}: .incbin \\\"{file}\\\"\\n.text\\n\");\n"
    )
}

/// A wrapper in a section, and code that registers it.
fn wrapper(section: &str, magic: u32, version: u32, code: &str, more: &str) -> String {
    let function = if magic == CUDA { "__cudaRegisterFatBinary" } else { "__hipRegisterFatBinary" };
    format!(
        "struct wrapper {{ unsigned magic, version; const void *code, *more; }};\n\
         __attribute__((section(\"{section}\"))) static struct wrapper wrapped = {{ {magic}, {version}, {code}, {more} }};\n\
         void *{function}(const void *);\n\
         __attribute__((constructor)) static void begin(void) {{ {function}(&wrapped); }}\n"
    )
}

/// A folder with a fat binary that runs on the GPU, and one that does not.
fn fat_binaries() -> Folder {
    let folder = Folder::new();
    folder.put("good.fat", fat_binary(1, &[(1, 80, "k", "sm_80", "8.0")]));
    folder.put("bad.fat", fat_binary(1, &[(1, 100, "k", "sm_100", "8.6")]));
    folder
}

fn on_nvidia(folder: &Folder, file: &str) -> (Option<i32>, String) {
    let done = tool(folder, &["check", "--strict", "-t", "nvidia_gpu_sm_90", file]);
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

/// Runtimes ask for no section's name.
#[test]
fn code_that_wrappers_lead_to_is_found_in_any_section() {
    let folder = fat_binaries();
    let [good, bad] = ["good", "bad"].map(|name| incbin(".nv_fatbin", "a", name, &format!("{name}.fat")));
    let hidden = incbin(".rodata", "a", "bad", "bad.fat");
    let list = "static const void *listed[] = { good, bad, 0 };\n";
    let wrapped = |section, version, code, more| wrapper(section, CUDA, version, code, more);
    for (what, source, expected) in [
        ("an honest one", good.clone() + &wrapped(".nvFatBinSegment", 1, "good", "0"), 0),
        ("one that does not run", bad.clone() + &wrapped(".nvFatBinSegment", 1, "bad", "0"), 1),
        ("one beside it that nothing registers", good.clone() + &bad + &wrapped(".nvFatBinSegment", 1, "good", "0"), 1),
        ("constants", hidden.clone() + &wrapped(".nvFatBinSegment", 1, "bad", "0"), 1),
        ("constants beside a decoy", good.clone() + &hidden + &wrapped(".nvFatBinSegment", 1, "bad", "0"), 1),
        ("a wrapper elsewhere", good.clone() + &hidden + &wrapped(".data", 1, "bad", "0"), 1),
        ("a list", good.clone() + &hidden + list + &wrapped(".data", 2, "good", "listed"), 1),
        ("a list that nobody reads", good.clone() + &hidden + list + &wrapped(".data", 1, "good", "listed"), 0),
        ("no code", good.clone() + &wrapped(".data", 1, "good + 8", "0"), 3),
        ("code elsewhere", "extern char far[];".to_owned() + &good + &wrapped(".data", 1, "far", "0"), 3),
        ("nothing yet", good.clone() + &wrapped(".data", 1, "0", "0"), 0),
        (
            "an address that code makes",
            hidden.clone()
                + "void __cudaRegisterFatBinary(void *);\nvoid begin(void) { __cudaRegisterFatBinary(bad); }\n",
            3,
        ),
    ] {
        linked(&folder, "m.so", &source, &[]);
        let (code, told) = on_nvidia(&folder, "m.so");
        assert_eq!(code, Some(expected), "{what}: {told}");
    }
    // An object has it alike, and so has code that a relocation writes into.
    folder.put("code.c", good + &hidden + &wrapped(".data", 1, "bad", "0"));
    let done =
        Command::new("cc").args(["-c", "-fPIC", "code.c", "-o", "m.o"]).current_dir(folder.path()).status().unwrap();
    assert!(done.success());
    assert_eq!(on_nvidia(&folder, "m.o").0, Some(1));
    let relocated = "extern char good[] __attribute__((visibility(\"hidden\")));\n\
         __asm__(\".data\\n.balign 16\\n.globl good\\ngood: .incbin \\\"good.fat\\\",0,144\\n.quad good\\n\
         .incbin \\\"good.fat\\\",152\\n.text\\n\");\n";
    linked(&folder, "m.so", &(relocated.to_owned() + &wrapped(".data", 1, "good", "0")), &[]);
    let (code, told) = on_nvidia(&folder, "m.so");
    assert!(code == Some(3) && told.contains("writes into the code for GPUs"), "{code:?}: {told}");
}

#[test]
fn what_hip_registers_is_a_bundle_or_a_code_object() {
    let folder = Folder::new();
    folder.put("object.c", "int of_device(int x) { return x; }\n");
    let done = Command::new("cc").args(["-c", "object.c", "-o", "object"]).current_dir(folder.path()).status().unwrap();
    assert!(done.success());
    let object = std::fs::read(folder.path().join("object")).unwrap();
    let parts = [
        NewPart { id: "host-x86_64-unknown-linux-gnu-", data: &[] },
        NewPart { id: "hipv4-amdgcn-amd-amdhsa--gfx90a", data: &object },
    ];
    let plain = offload_bundle::write(&parts, 4096).unwrap().into_vec();
    let packed = |version| offload_bundle::compress(&plain, version, 3, 0).unwrap();
    for (what, bytes, arch) in [
        ("plain", plain.clone(), "gfx90a"),
        ("compressed", packed(2), "gfx90a"),
        ("of another version", packed(3), "gfx90a"),
        ("a code object", object.clone(), ""),
    ] {
        folder.put("code.bin", &bytes);
        for (section, known) in [(".rodata", false), (".hip_fatbin", true)] {
            let source = incbin(section, "a", "code", "code.bin") + &wrapper(".hipFatBinSegment", HIP, 1, "code", "0");
            if known && what == "a code object" {
                continue;
            }
            linked(&folder, "m.so", &source, &[]);
            let file = std::fs::read(folder.path().join("m.so")).unwrap();
            let host = Host::read(&file).unwrap();
            let bundle = Bundle::read(&host).unwrap();
            assert!(bundle.problems.is_empty(), "{what}: {:?}", bundle.problems);
            let found: Vec<_> = bundle.images.iter().map(|image| (image.target, image.arch, image.stored)).collect();
            assert_eq!(found, [("amdgcn", arch, &object[..])], "{what} in {section}");
        }
    }
}

/// Each bundle would be walked through for as long as the file is.
#[test]
fn wrappers_by_the_thousands_that_share_a_list_of_parts() {
    const COUNT: u64 = 20_000;
    const PARTS: u64 = 100_000;
    let folder = Folder::new();
    let mut data = Vec::new();
    for nth in 0..COUNT {
        data.extend_from_slice(offload_bundle::MAGIC);
        let words = [PARTS, 0, 0, (COUNT - 1 - nth) * 56];
        data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    data.resize(data.len() + PARTS as usize * 24, 0);
    folder.put("data.bin", data);
    let source = incbin(".rodata", "a", "data", "data.bin")
        + "__asm__(\".data\\n.balign 8\\n.set nth,0\\n.rept 20000\\n.long 0x48495046,1\\n.quad data+nth*56,0\\n\
           .set nth,nth+1\\n.endr\\n.text\\n\");\n";
    linked(&folder, "m.so", &source, &[]);
    let begin = std::time::Instant::now();
    let done = tool(&folder, &["inspect", "m.so"]);
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
