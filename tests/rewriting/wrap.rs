//! Does `wrap` do what its help says, and do `extract` and `build` share its forms?

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::support::built::Recipe;
use crate::support::folder::{Folder, said};
use crate::support::host::{self, Fixture, LINUX, load, out_images, raw_values, samples};
use crate::support::spirv;
use crate::support::tools;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use sycl_bundle::bundle::offload_binary::{self, Entry, Version};
use sycl_bundle::container::Place;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::rewrite::object_file::{ObjectOptions, object_file};
use sycl_bundle::rewrite::shared::{SharedOptions, shared_library};

/// Facts of the images of a file, in order: digest, target, kernels, options and properties.
fn facts(folder: &Folder, file: &str) -> Vec<[Json; 5]> {
    let report: Json = serde_json::from_str(&said(&folder.tool(["inspect", file, "--format", "json"]))).unwrap();
    let file = &report["files"][0];
    assert_eq!(file["problems"], Json::Array(Vec::new()));
    let images = file["images"].as_array().unwrap().iter();
    images
        .map(|image| ["blake3", "target", "kernels", "compile_options", "properties"].map(|key| image[key].clone()))
        .collect()
}

/// A library with many kinds of image.
fn library(folder: &Folder) -> Vec<[Json; 5]> {
    let file = Fixture::new("verb").images(samples::every_property()).build();
    std::fs::copy(file, folder.path().join("lib.so")).unwrap();
    facts(folder, "lib.so")
}

const FORMS: [(&str, &str); 8] = [
    ("out.o", "object"),
    ("out.obj", "object"),
    ("out.so", "shared"),
    ("out.syclbin", "syclbin"),
    ("out.table", "table"),
    ("out.binary", "offload-binary"),
    ("out.bundle", "offload-bundle"),
    ("out.spv", "spirv"),
];

#[test]
fn names_tell_the_form_and_all_verbs_write_the_same() {
    let folder = Folder::new();
    folder.put("add_one.spv", spirv::module("add_one"));
    for (name, form) in FORMS {
        if !["out.binary", "out.bundle"].contains(&name) {
            folder.tool(["wrap", "add_one.spv", "-o", name]);
            let by_name = folder.read(name);
            folder.tool(["wrap", "add_one.spv", "-o", name, "--emit", form]);
            assert_eq!(folder.read(name), by_name, "{name}");
        } else {
            folder.tool(["wrap", "add_one.spv", "-o", name, "--emit", form]);
        }
        let wrapped = folder.read(name);
        let [digest, target, kernels, ..] = facts(&folder, name).remove(0);
        assert_eq!(digest, blake3::hash(&spirv::module("add_one")).to_hex().as_str(), "{name}");
        assert_eq!((target, kernels), ("spir64".into(), vec!["add_one"].into()), "{name}");
        folder.tool(["extract", "add_one.spv", "-o", name, "--emit", form]);
        assert_eq!(folder.read(name), wrapped, "{name}");
    }
}

#[test]
fn a_library_goes_through_every_form() {
    let folder = Folder::new();
    let before = library(&folder);
    let keep = |facts: &[[Json; 5]], which: [bool; 5]| -> Vec<Vec<Json>> {
        let kept =
            |fact: &[Json; 5]| fact.iter().zip(which).filter(|(_, keep)| *keep).map(|(fact, _)| fact.clone()).collect();
        facts.iter().map(kept).collect()
    };
    for (name, form) in FORMS {
        if form == "spirv" {
            continue;
        }
        folder.tool(["wrap", "lib.so", "-o", name, "--emit", form]);
        let which = match form {
            // Kernels become a property set there.
            "syclbin" => [true, true, true, false, false],
            "table" => [true, true, true, false, true],
            _ => [true; 5],
        };
        let after = facts(&folder, name);
        if form == "offload-bundle" {
            // Images of one target are one part.
            let mut sorted = before.clone();
            sorted.sort_by_key(|fact| fact[1] != "spir64");
            assert_eq!(after.len(), sorted.len());
            let listed = |fact: &&[Json; 5]| fact[2] != Json::Array(Vec::new());
            assert!(sorted.iter().filter(listed).all(|fact| after.contains(fact)), "{name}");
            continue;
        }
        // A table has no target for native code, and a module without any entry listed speaks for itself.
        let different =
            |fact: &[Json; 5]| fact[1] == "spir64_x86_64" && form == "table" || fact[2] == Json::Array(Vec::new());
        let (before, after): (Vec<_>, Vec<_>) =
            before.iter().cloned().zip(after).filter(|(fact, _)| !different(fact)).unzip();
        assert_eq!(keep(&after, which), keep(&before, which), "{name}");
        // And back into an object. Of a table, where none is named, the target is what the image was compiled for.
        let which = if form == "table" { [true, false, true, false, true] } else { which };
        folder.tool(["wrap", name, "-o", "again.o", "--image", "0-4"]);
        assert_eq!(keep(&facts(&folder, "again.o"), which), keep(&before[..5], which), "{name}");
    }
}

#[test]
fn compressed_images_register_and_inflate() {
    let folder = Folder::new();
    // Small ones are left alone, as DPC++ does: this one is padded with instructions that do nothing.
    let nothing = 0x0001_0000u32.to_le_bytes().repeat(200);
    let module = [spirv::module("add_one"), nothing].concat();
    folder.put("add_one.spv", &module);
    let plain = facts(&folder, "add_one.spv");
    for (name, form) in
        FORMS.into_iter().filter(|(_, form)| ["object", "shared", "offload-binary", "offload-bundle"].contains(form))
    {
        folder.tool(["wrap", "add_one.spv", "-o", name, "--emit", form]);
        let before = folder.read(name).len();
        folder.tool(["wrap", "add_one.spv", "-o", name, "--emit", form, "--compress"]);
        assert!(folder.read(name).len() < before, "{name}");
        assert_eq!(facts(&folder, name)[0][..3], plain[0][..3], "{name}");
    }
    let loaded = load(&folder.path().join("out.so"));
    assert_eq!(loaded.images()[0].format, 4);
    assert!(loaded.images()[0].payload_size < module.len());
}

#[test]
fn a_module_takes_what_stands_beside_it_or_is_named() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    folder.put("m.prop", "[SYCL/misc properties]\noptLevel=1|2\n");
    folder.put("m.sym", "add_one\nexported\n");
    folder.put("other", "[SYCL/misc properties]\noptLevel=1|3\n");
    folder.tool(["wrap", "m.spv", "-o", "beside.o"]);
    let fact = facts(&folder, "beside.o").remove(0);
    assert_eq!(fact[4]["SYCL/misc properties"]["optLevel"]["value"], 2);
    assert_eq!(fact[2], Json::from(vec!["add_one", "exported"]));
    folder.tool(["wrap", "m.spv", "--properties", "other", "-o", "named.o"]);
    assert_eq!(facts(&folder, "named.o")[0][4]["SYCL/misc properties"]["optLevel"]["value"], 3);
}

#[test]
fn targets_are_told_by_the_code_or_said() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    folder.tool(["wrap", "m.spv", "--as-target", "intel_gpu_pvc", "-o", "pvc.o"]);
    let fact = facts(&folder, "pvc.o").remove(0);
    assert_eq!(fact[1], "spir64_gen");
    assert_eq!(fact[4]["SYCL/device requirements"]["compile_target"]["decoded"], "intel_gpu_pvc");
    folder.tool(["wrap", "pvc.o", "--as-target", "spir64", "-o", "back.o"]);
    let fact = facts(&folder, "back.o").remove(0);
    assert_eq!((&fact[1], &fact[4]["SYCL/device requirements"]["compile_target"]), (&"spir64".into(), &Json::Null));
    // Native code for CPUs says what it is for; of the rest nothing is known.
    let mut native = b"\x7fELF\x02\x01\x01".to_vec();
    native.resize(64, 0);
    native[16..20].copy_from_slice(&[0x04, 0xff, 62, 0]);
    native[48] = 3;
    folder.put("cpu.bin", &native);
    folder.put("cpu.table", "[Code|Properties|Symbols]\ncpu.bin||\n");
    folder.tool(["wrap", "cpu.table", "-o", "cpu.so"]);
    assert_eq!(facts(&folder, "cpu.so")[0][1], "spir64_x86_64");
}

#[test]
fn several_inputs_of_all_kinds_are_numbered_through() {
    let folder = Folder::new();
    let of_library = library(&folder);
    for name in ["halve", "count"] {
        folder.put(&format!("{name}.spv"), spirv::module(name));
    }
    folder.tool(["wrap", "halve.spv", "-o", "halve.syclbin"]);
    let recipe =
        Recipe::new("package").input("count.spv", spirv::module("count")).input("lib.so", folder.read("lib.so"));
    let archive = recipe.run(["ar", "rcD", "package.a", "count.spv", "lib.so"]).output("package.a");
    folder.put("package.a", archive.bytes("package.a"));
    folder.tool(["wrap", "halve.syclbin", "package.a", "count.spv", "-o", "all.table"]);
    let all = facts(&folder, "all.table");
    assert_eq!(all.len(), 3 + of_library.len());
    assert_eq!((&all[0][2], &all[1][2]), (&vec!["halve"].into(), &vec!["count"].into()));
    let table = String::from_utf8(folder.read("all.table")).unwrap();
    assert!(table.contains("\nall_1.spv||all_1.sym\nall_2.spv|all_2.prop|all_2.sym\n"), "{table}");
    // A table may be written again, but not over what is not its own.
    folder.tool(["wrap", "lib.so", "-o", "all.table"]);
    folder.put("mine_0.spv", "precious");
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .current_dir(folder.path())
        .args(["wrap", "halve.spv", "-o", "mine.table"])
        .output()
        .unwrap();
    assert_eq!((refused.status.code(), folder.read("mine_0.spv")), (Some(2), b"precious".to_vec()));
}

/// Parts that a smaller table left would be nobody's, and in the way of a larger one.
#[test]
fn a_table_takes_its_old_parts_with_it() {
    let folder = Folder::new();
    library(&folder);
    folder.put("out_77.txt", "mine");
    folder.tool(["wrap", "lib.so", "-o", "out.table"]);
    let all = facts(&folder, "out.table");
    let parts = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("out_")).count()
    };
    let many = parts();
    folder.tool(["wrap", "lib.so", "--image", "1", "-o", "out.table"]);
    assert!(parts() < many && parts() <= 4);
    assert_eq!(facts(&folder, "out.table").len(), 1);
    folder.tool(["wrap", "lib.so", "-o", "out.table"]);
    assert_eq!((facts(&folder, "out.table"), parts()), (all, many));
    assert_eq!(folder.read("out_77.txt"), b"mine");
}

/// Options that mean nothing are refused, not ignored.
#[test]
fn property_files_are_of_a_bare_module() {
    let folder = Folder::new();
    library(&folder);
    folder.put("other", "[SYCL/misc properties]\noptLevel=1|3\n");
    for option in ["--properties", "--symbols"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let command = command.current_dir(folder.path()).args(["wrap", "lib.so", option, "other", "-o", "out.o"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains("bare module"));
    }
}

#[test]
fn embedding_settles_targets_as_wrapping_does() {
    let folder = Folder::new();
    let before = library(&folder).len();
    folder.put("m.spv", spirv::module("add_one"));
    folder.tool(["embed", "lib.so", "m.spv", "--as-target", "intel_gpu_pvc", "-o", "out.so"]);
    let fact = facts(&folder, "out.so").remove(before);
    assert_eq!(fact[1], "spir64_gen");
    assert_eq!(fact[4]["SYCL/device requirements"]["compile_target"]["decoded"], "intel_gpu_pvc");
    folder.tool([
        "embed",
        "lib.so",
        "out.so",
        "--image",
        &before.to_string(),
        "--as-target",
        "spir64",
        "-o",
        "back.so",
    ]);
    let fact = facts(&folder, "back.so").remove(before);
    assert_eq!((&fact[1], &fact[4]["SYCL/device requirements"]["compile_target"]), (&"spir64".into(), &Json::Null));
}

/// A damaged module is added as it is, and named.
#[test]
fn damage_that_is_embedded_is_told() {
    let folder = Folder::new();
    library(&folder);
    let mut module = spirv::module("add_one");
    // A word count that leads out of the module.
    module[22] = 0xff;
    folder.put("m.spv", &module);
    let run = |arguments: [&str; 5]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = run(["embed", "lib.so", "m.spv", "-o", "out.so"]);
    assert!(code == Some(3) && told.contains("m.spv"), "{told}");
    folder.put("n.spv", spirv::module("halve"));
    let (code, told) = run(["embed", "out.so", "n.spv", "-o", "more.so"]);
    assert!(code == Some(3) && told.contains("out.so"), "{told}");
}

#[test]
fn modules_alone_are_a_file_or_a_folder() {
    let folder = Folder::new();
    library(&folder);
    folder.tool(["wrap", "lib.so", "--image", "1", "-o", "one.spv"]);
    assert_eq!(folder.read("one.spv"), spirv::module("add_one"));
    folder.tool(["wrap", "lib.so", "--state", "input", "--emit", "spirv", "-o", "modules"]);
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path().join("modules")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 8, "{names:?}");
    // A compressed image is not compressed in a file of its own.
    assert_eq!(folder.read("modules/modules_4.spv"), spirv::module("count"));
}

/// A program of plain gcc, as the README has it.
#[test]
fn what_is_wrapped_registers() {
    let folder = Folder::new();
    let file = Fixture::new("verb").images(samples::every_property()).build();
    std::fs::copy(&file, folder.path().join("lib.so")).unwrap();
    folder.tool(["wrap", "lib.so", "-o", "images.so"]);
    assert_eq!(load(&folder.path().join("images.so")), load(&file));
}

/// Numbers of aspects mean different aspects to different generations of the runtime.
#[test]
fn generations_are_not_mixed() {
    let folder = Folder::new();
    let old = Fixture::new("old").version(2).images(vec![samples::image("count")]).build();
    let new = Fixture::new("new").version(3).images(vec![samples::image("count")]).build();
    std::fs::copy(old, folder.path().join("old.so")).unwrap();
    std::fs::copy(new, folder.path().join("new.so")).unwrap();
    folder.tool(["wrap", "old.so", "-o", "out.so"]);
    let loaded = load(&folder.path().join("out.so"));
    assert_eq!(loaded.images()[0].version, 2);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .current_dir(folder.path())
        .args(["wrap", "old.so", "new.so", "-o", "both.so"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("number aspects differently"), "{error}");
}

/// Tables and SYCLBINs are read by the numbers of today, as nothing in them says for which runtime they are.
#[test]
fn aspects_keep_their_meaning_in_every_form() {
    let folder = Folder::new();
    folder.put("x.spv", spirv::module("add_one"));
    // fp64, atomic64 and ext_intel_matrix by the numbers of 2026.
    let words: Vec<u8> = [6u32, 27, 53].iter().flat_map(|number| number.to_le_bytes()).collect();
    let value = [&96u64.to_le_bytes()[..], &words].concat();
    folder.put("x.prop", format!("[SYCL/device requirements]\naspects=2|{}\n", STANDARD.encode(&value)));
    folder.put("runtime.c", "void __sycl_register_lib(void *d) {}\nvoid __sycl_unregister_lib(void *d) {}\n");
    let gcc = |words: &[&str]| _ = tools::run(tools::needed("gcc").current_dir(folder.path()).args(words));
    gcc(&["-shared", "-fPIC", "-Wl,-soname,libsycl.so.8", "runtime.c", "-o", "libsycl.so.8"]);
    folder.tool(["wrap", "x.spv", "--descriptor-version", "2", "-o", "x.o"]);
    gcc(&["-shared", "x.o", "-L.", "-l:libsycl.so.8", "-o", "old.so"]);
    let required = |file: &str| {
        let report: Json = serde_json::from_str(&said(&folder.tool(["inspect", file, "--format", "json"]))).unwrap();
        report["files"][0]["images"][0]["requirements"]["aspects"].clone()
    };
    let expected = serde_json::json!(["fp64", "atomic64", "ext_intel_matrix"]);
    assert_eq!(required("old.so"), expected);
    let told = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let output = command.current_dir(folder.path()).args(words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let forms: [(&[&str], &str); 9] = [
        (&["extract", "old.so", "-o", "extracted"], "extracted/images.table"),
        (&["split", "old.so", "-o", "split.table"], "split.table"),
        (&["wrap", "old.so", "--emit", "table", "-o", "wrap.table"], "wrap.table"),
        (&["wrap", "old.so", "-o", "wrap.syclbin"], "wrap.syclbin"),
        (&["wrap", "old.so", "--emit", "offload-binary", "-o", "wrap.binary"], "wrap.binary"),
        (&["join", "old.so", "--emit", "table", "-o", "join.table"], "join.table"),
        (&["link", "old.so", "-o", "link.table"], "link.table"),
        (&["filter", "old.so", "--emit", "table", "-t", "spir64_x86_64", "-o", "filter.table"], "filter.table"),
        (&["split", "old.so", "--abi", "2026", "-o", "new.table"], "new.table"),
    ];
    for (words, file) in forms {
        let (code, said) = told(words);
        assert_eq!(code, Some(0), "{words:?}: {said}");
        assert!(said.contains("by the numbers of aspects of 2026") || words.contains(&"2026"), "{words:?}: {said}");
        assert_eq!(required(file), expected, "{words:?}");
    }
    // Forms that say for which runtime they are keep the numbers of that one.
    for (form, file) in [("object", "wrap.o"), ("shared", "wrap.so")] {
        let (code, said) = told(&["wrap", "old.so", "--emit", form, "-o", file]);
        assert!(code == Some(0) && !said.contains("numbers"), "{said}");
        assert_eq!(required(file), expected, "{form}");
    }
    // And back: a file that names its runtime gets its numbers.
    folder.tool(["embed", "old.so", "extracted/images.table", "-o", "back.so"]);
    let report: Json = serde_json::from_str(&said(&folder.tool(["inspect", "back.so", "--format", "json"]))).unwrap();
    assert_eq!(report["files"][0]["images"][1]["requirements"]["aspects"], expected);
    // Other numbers that are asked for stay, which is told.
    let (code, said) = told(&["split", "old.so", "--abi", "2025", "-o", "asked.table"]);
    assert!(code == Some(0) && said.contains("as asked for"), "{said}");
    // A channel of memory has no number today.
    let mut file = folder.read("old.so");
    let place = file.windows(8).position(|words| words == [28, 0, 0, 0, 58, 0, 0, 0]).unwrap();
    file[place] = 25;
    folder.put("channel.so", file);
    let (code, said) = told(&["wrap", "channel.so", "--emit", "table", "-o", "channel.table"]);
    assert!(code == Some(2) && said.contains("`ext_intel_mem_channel`"), "{said}");
    let (code, said) = told(&["extract", "channel.so", "-o", "channels"]);
    assert!(code == Some(3) && said.contains("`ext_intel_mem_channel`"), "{said}");
}

/// Files that cannot be read are named and cost the exit code, not the rest.
/// PTX with a kernel.
const PTX: &[u8] = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry add_one()\n{\nret;\n}\n";

/// An OffloadBinary of one image.
fn offload_binary(kind: u16, model: u16, [triple, arch]: [&str; 2], image: &[u8]) -> Vec<u8> {
    let strings = [("triple", triple), ("arch", arch), ("symbols", "add_one")];
    let strings = strings.map(|(key, value)| (key.as_bytes(), value.as_bytes())).to_vec();
    let entry = Entry { image_kind: kind, offload_kind: model, flags: 0, strings, image, place: Place::default() };
    offload_binary::write(Version::V2, &[entry]).unwrap().to_vec()
}

#[test]
fn a_syclbin_names_the_language_of_its_modules() {
    let folder = Folder::new();
    folder.put("ptx", offload_binary(5, 8, ["nvptx64-nvidia-cuda", "sm_80"], PTX));
    for (version, stated) in [("1", None), ("2", Some(&b"ir_type\x001\x00"[..]))] {
        folder.tool(["wrap", "ptx", "-o", "ptx.syclbin", "--syclbin-version", version]);
        let bytes = folder.read("ptx.syclbin");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(has(b"[SYCLBIN/ir module metadata]\ntype=1|1\n") && stated.is_none_or(has), "{version}");
    }
    // Of LLVM bitcode only AMD's has a number.
    let code = b"BC\xc0\xde";
    folder.put("amd", offload_binary(2, 8, ["amdgcn-amd-amdhsa", "gfx90a"], code));
    folder.tool(["wrap", "amd", "-o", "amd.syclbin"]);
    folder.put("bitcode", offload_binary(2, 8, ["spir64-unknown-unknown", ""], code));
    assert!(refused(&folder, &["wrap", "bitcode", "-o", "b.syclbin"]).contains("no number for llvm-bitcode as IR"));
}

#[test]
fn what_a_form_has_no_place_for_is_told() {
    let folder = Folder::new();
    let module = spirv::module("add_one");
    let note = |output: &str| {
        let done = folder.tool(["wrap", "in", "-o", output]);
        String::from_utf8(done.stderr).unwrap()
    };
    // The short names of GPUs are those that LLVM's tools write.
    folder.put("in", offload_binary(6, 8, ["spir64_gen-unknown-unknown", "acm-g10"], &module));
    for output in ["short.so", "short.o", "short.table", "short.syclbin"] {
        assert!(!note(output).contains("has no place for"), "{output}");
        let report: Json = serde_json::from_str(&said(&folder.tool(["inspect", output, "--format", "json"]))).unwrap();
        assert_eq!(report["files"][0]["images"][0]["compile_target"], "intel_gpu_acm_g10", "{output}");
    }
    folder.put("in", offload_binary(6, 8, ["spirv64-amd-amdhsa", ""], &module));
    assert!(
        note("target.table").contains("a table has no place for a target that the code does not tell; 1 image had")
    );
    assert!(note("target.spv").contains("a bare module has no place for a target"));
    assert!(!note("target.so").contains("has no place for"));
    folder.put("in", offload_binary(6, 8, ["spir64_gen-unknown-unknown", "DG1"], &module));
    assert!(note("arch.so").contains("an image structure has no place for an architecture that DPC++ has no name for"));
    folder.put("in", offload_binary(6, 1, ["spir64-unknown-unknown", ""], &module));
    assert!(note("model.so").contains("has no place for the programming model; 1 image had another than SYCL"));
    // AdaptiveCpp's model has no number in LLVM, and CUDA's has one.
    folder.put("in", "object-id=1\n{.images\n{.llvm-ir.global\n{.__binary\nstart=0\nsize=4\n}.__binary\n}.llvm-ir.global\n}.images\n__acpp_hcf_binary_appendixBC\u{3}\u{4}");
    // The code in it is of no known form, which is told, too.
    let form = |emit: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        let done = command.current_dir(folder.path()).args(["wrap", "in", "--emit", emit, "-o", "out"]).output();
        String::from_utf8(done.unwrap().stderr).unwrap()
    };
    let none = "an OffloadBinary has no place for the programming model; 1 image had one that LLVM has no number for";
    assert!(form("offload-binary").contains(none));
    assert!(!form("offload-bundle").contains("has no place for"));
    folder.put("in", offload_binary(6, 2, ["nvptx64-nvidia-cuda", "sm_80"], &module));
    assert!(!form("offload-binary").contains("has no place for"));
    folder.put("in", offload_binary(6, 8, ["spir64-unknown-unknown", ""], &module));
    for output in ["plain.so", "plain.table", "plain.spv", "plain.syclbin"] {
        assert!(!note(output).contains("has no place for"), "{output}");
    }
}

#[test]
fn images_that_differ_in_format_or_model_are_no_copies() {
    let folder = Folder::new();
    let module = spirv::module("add_one");
    let target = ["spir64-unknown-unknown", ""];
    let joined = |kinds: [(u16, u16); 2]| {
        for (name, (kind, model)) in ["a", "b"].iter().zip(kinds) {
            folder.put(name, offload_binary(kind, model, target, &module));
        }
        let done = folder.tool(["join", "a", "b", "--emit", "offload-binary", "-o", "all"]);
        String::from_utf8(done.stderr).unwrap()
    };
    // SPIR-V that is declared native is handed to a device as it is.
    assert!(joined([(6, 8), (3, 8)]).contains("2 images of 2, 0 copies"));
    assert!(joined([(6, 8), (6, 1)]).contains("2 images of 2, 0 copies"));
    // Formats that are not declared are told from the code.
    assert!(joined([(6, 8), (0, 8)]).contains("1 image of 2, 1 copy"));
    assert!(joined([(6, 8), (6, 8)]).contains("1 image of 2, 1 copy"));
}

#[test]
fn damage_hides_nothing() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    folder.put("t.table", "[Code|Properties|Symbols]\ngone.spv||\nm.spv||\n");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = command.current_dir(folder.path()).args(["wrap", "t.table", "-o", "out.o"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("row 0: gone.spv"));
    assert_eq!(facts(&folder, "out.o")[0][2], Json::from(vec!["add_one"]));
}

#[test]
fn one_file_goes_to_a_pipe_too() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    folder.tool(["wrap", "m.spv", "-o", "out.o"]);
    let piped = folder.tool(["wrap", "m.spv", "--emit", "object", "-o", "-"]);
    assert_eq!(piped.stdout, folder.read("out.o"));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let images = vec![samples::add_one()];
    let raw = host::raw_values(&images);
    let out = host::out_images(&images, &raw);
    assert_eq!(object_file(&[], &LINUX).unwrap_err().kind(), ErrorKind::NoDeviceCode);
    let comments = ["a\0b"];
    let error = object_file(&out, &ObjectOptions { comments: &comments, ..LINUX }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn an_object_registers_one_offload_binary_as_llvm_does() {
    let folder = Folder::new();
    folder.put("add_one.spv", spirv::module("add_one"));
    folder.put("two.spv", spirv::module("halve"));
    for host in ["x86_64-linux", "aarch64-linux", "x86_64-windows", "aarch64-windows"] {
        let wrap = ["wrap", "add_one.spv", "two.spv", "--emit", "object", "--registration", "offload-binary"];
        folder.tool([&wrap[..], &["--host", host, "-o", "out.o"]].concat());
        let object = folder.read("out.o");
        let file = object::File::parse(&*object).unwrap();
        let section = file.section_by_name(".sycl_fatbin").unwrap();
        let binary = section.data().unwrap();
        assert_eq!(&binary[..8], [0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0], "{host}");
        // The code names the size, and nothing but the section and the runtime's functions.
        let size = (binary.len() as u64).to_le_bytes();
        let text = file.sections().find(|section| section.name().unwrap().starts_with(".text")).unwrap();
        let code = text.data().unwrap();
        match host.starts_with("x86_64") {
            true => assert_eq!(code.windows(8).filter(|bytes| **bytes == size).count(), 2, "{host}"),
            false => {
                let word = 0xd280_0001u32 | u32::from(u16::from_le_bytes([size[0], size[1]])) << 5;
                assert_eq!(code.chunks(4).filter(|bytes| **bytes == word.to_le_bytes()).count(), 2, "{host}");
            }
        }
        let wanted: Vec<&str> =
            file.symbols().filter(|symbol| symbol.is_undefined()).map(|symbol| symbol.name().unwrap()).collect();
        assert_eq!(wanted, ["__sycl_register_lib", "__sycl_unregister_lib"], "{host}");
        let facts = facts(&folder, "out.o");
        let told: Vec<_> = facts.iter().map(|[_, target, kernels, ..]| (target.clone(), kernels.clone())).collect();
        assert_eq!(
            told,
            [("spirv64".into(), vec!["add_one"].into()), ("spirv64".into(), vec!["halve"].into())],
            "{host}"
        );
    }
    let wrap = ["wrap", "two.spv", "--emit", "object", "--registration", "offload-binary", "--compress", "-o", "x.o"];
    let refused = refused(&folder, &wrap);
    assert!(refused.contains("are of descriptors"), "{refused}");
}

#[test]
fn images_leave_an_offload_binary_that_code_registers() {
    let folder = Folder::new();
    for name in ["add_one", "halve", "count"] {
        folder.put(&format!("{name}.spv"), spirv::module(name));
    }
    let version = ["--emit", "offload-binary", "--offload-binary-version", "2", "-o", "all.bin"];
    folder.tool([&["wrap", "add_one.spv", "halve.spv", "count.spv"][..], &version].concat());
    // A library that calls the runtime, whose only list of images is gone: its payload is what code would register.
    let payload = host::ImageSpec::new(folder.read("all.bin"));
    let images = [payload];
    let raw = raw_values(&images);
    let mut library = shared_library(&out_images(&images, &raw), &SharedOptions::new("lib.so")).unwrap().into_vec();
    let list = {
        let host = sycl_bundle::container::Host::read(&library).unwrap();
        let bundle = sycl_bundle::bundle::Bundle::read(&host).unwrap();
        let tgtimg = host.section(".tgtimg").unwrap();
        let descriptor = host.addresses.file_offset(bundle.descriptors[0].address).unwrap();
        [(descriptor, 32), (tgtimg.offset, tgtimg.data.len())]
    };
    for (at, len) in list {
        library[usize::try_from(at).unwrap()..][..len].fill(0);
    }
    folder.put("lib.so", library.clone());
    let before = facts(&folder, "lib.so");
    assert_eq!(before.len(), 3);
    folder.tool(["prune", "lib.so", "--kernel", "halve", "--lose-kernels", "-o", "less.so"]);
    let pruned = folder.read("less.so");
    assert_eq!(facts(&folder, "less.so"), [before[0].clone(), before[2].clone()]);
    assert_eq!(pruned.len(), library.len());
    assert!(
        !pruned.windows(spirv::module("halve").len()).any(|bytes| *bytes == spirv::module("halve")),
        "it is still there"
    );
    let binary = |file: &[u8]| file.windows(4).position(|bytes| *bytes == [0x10, 0xff, 0x10, 0xad]).unwrap();
    assert_eq!(binary(&pruned), binary(&library));
    let size = binary(&library) + 8;
    assert_eq!(pruned[size..size + 8], library[size..size + 8], "the code states it");
    let refused = refused(&folder, &["embed", "lib.so", "halve.spv", "-o", "more.so"]);
    assert!(refused.contains("no image can be added"), "{refused}");
}

/// The words of `sycl-bundle` as it ends with an error.
fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let mut tool = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let output = tool.current_dir(folder.path()).args(arguments).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn functions_of_an_object_that_are_left_behind_are_told() {
    let folder = Folder::new();
    folder.put("k.spv", spirv::module("add_one"));
    folder.put("f.c", "int function(void) { return 1; }\n");
    folder.tool(["wrap", "k.spv", "-o", "image.o"]);
    let mut gcc = tools::needed("gcc");
    tools::run(gcc.current_dir(folder.path()).args(["-r", "f.c", "image.o", "-o", "both.o"]));
    for (file, output, told) in [("both.o", "out.o", true), ("both.o", "out.table", false), ("image.o", "out.o", false)]
    {
        let done = folder.tool(["split", "--mode", "off", file, "-o", output]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(said.contains("has functions, too"), told, "{file} {output}: {said}");
    }
}

/// Images that no mode unites stay apart, and native code stays as it is.
#[test]
fn images_of_other_sizes_and_native_code_stay_apart() {
    let folder = Folder::new();
    let rows = [("add_one", 8), ("halve", 16)].map(|(name, size)| {
        folder.put(&format!("{name}.spv"), spirv::module(name));
        folder.put(&format!("{name}.prop"), format!("[SYCL/device requirements]\nreqd_sub_group_size=1|{size}\n"));
        folder.put(&format!("{name}.sym"), format!("{name}\n"));
        format!("{name}.spv|{name}.prop|{name}.sym\n")
    });
    folder.put("k.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n");
    folder.put("in.table", format!("[Code|Properties|Symbols]\n{}k.ptx||\n", rows.concat()));
    for mode in ["off", "auto", "per_kernel"] {
        let done = folder.tool(["split", "--mode", mode, "in.table", "-o", "out.table"]);
        assert!(done.status.success(), "{mode}: {}", String::from_utf8_lossy(&done.stderr));
        let listed = String::from_utf8(folder.read("out.table")).unwrap();
        assert_eq!(listed.lines().count(), 4, "{mode}: {listed}");
    }
}
