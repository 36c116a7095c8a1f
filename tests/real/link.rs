//! Are the kernels of real libraries the same after their modules were linked, and does the driver take the result?
//!
//! Kernel by kernel: arguments, attributes, memory, and the code with all that it reaches. Of oneMKL, imports of images
//! are resolved by the images that export them, and Intel's driver compiles what comes of it, and links what it compiled.

use crate::support::cpu_object::object;
use crate::support::tools::llvm;
use crate::tool::{inspect, tool};
use crate::world::{succeed, world};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::native::opencl_elf::plain_object;
use sycl_bundle::rewrite::link::Providers;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::kernel::{Kernel, body, kernels};
use sycl_bundle::spirv::link::{Options, Source, link};

/// Modules of a group; the largest number stands for all of a library.
const GROUPS: [usize; 3] = [50, 500, usize::MAX];
/// Every so many importers of oneMKL one is compiled and linked by the driver.
const STEP: usize = 450;

/// Facts that are to stay: all that is said of a kernel, and its code without names.
#[derive(Debug, PartialEq)]
struct Facts {
    arguments: String,
    attributes: String,
    memory: (u64, u64),
    others: String,
    imports: Vec<String>,
    /// The opcodes of its functions.
    opcodes: Vec<u16>,
    /// Code with what it reaches and its decorations, ids numbered by first use.
    code: Option<Vec<u32>>,
}

fn opcodes(index: &Index<'_>, kernel: &Kernel) -> Vec<u16> {
    let functions = kernel.reach.functions.iter().map(|id| index.function(*id).unwrap());
    let code = functions.flat_map(|function| index.instructions(function.instructions.clone()));
    code.map(|(_, instruction)| instruction.opcode).collect()
}

fn facts(module: &[u8]) -> HashMap<String, Facts> {
    let (index, all) = kernels(module).unwrap();
    let mut numbers = body::Numbers::new(&index);
    let one = |kernel: Kernel| {
        let facts = Facts {
            arguments: format!("{:?}", kernel.arguments),
            attributes: format!("{:?}", kernel.attributes),
            memory: (kernel.local_memory, kernel.private_memory),
            others: format!(
                "{:?} {} {} {}",
                kernel.device_globals, kernel.esimd, kernel.asserts, kernel.indirect_calls
            ),
            code: body::words(&index, &kernel.reach, &mut numbers),
            opcodes: opcodes(&index, &kernel),
            imports: kernel.imports.iter().map(|name| (**name).to_owned()).collect(),
        };
        (kernel.name, facts)
    };
    all.into_iter().map(one).collect()
}

/// The SPIR-V modules of a library with the imports that its property sets name; of those with a kernel or an
/// exported function of one name the first.
fn modules(library: &Path) -> Vec<(Vec<u8>, HashSet<String>)> {
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut there = HashSet::new();
    let spirv = bundle.images.iter().filter(|image| {
        let contents = image.contents().unwrap();
        let names: Vec<String> = image.kernels().into_iter().chain(image.exports()).map(str::to_owned).collect();
        contents.starts_with(&0x0723_0203u32.to_le_bytes()) && names.into_iter().all(|name| there.insert(name))
    });
    spirv
        .map(|image| {
            let imports = image.imports().into_iter().map(str::to_owned).collect();
            (image.contents().unwrap().into_owned(), imports)
        })
        .collect()
}

/// Difference between two kernels' facts, without the rest.
fn difference(one: &Facts, other: &Facts) -> String {
    let pairs =
        [(&one.arguments, &other.arguments), (&one.attributes, &other.attributes), (&one.others, &other.others)];
    let texts: Vec<String> =
        pairs.iter().filter(|(one, other)| one != other).map(|(one, other)| format!("{one} | {other}")).collect();
    let same = one.opcodes == other.opcodes;
    let differs = |(one, other): (&Vec<u32>, &Vec<u32>)| {
        let first = one.iter().zip(other).position(|(one, other)| one != other);
        format!("words {} and {}, first at {first:?}", one.len(), other.len())
    };
    let code = one.code.as_ref().zip(other.code.as_ref()).map(differs);
    format!("{texts:?} {:?} {:?} {code:?} opcodes equal: {same}", one.memory, other.memory)
}

/// One module of several; what they import from others stays open.
fn linked(group: &[(Vec<u8>, HashSet<String>)], library: &Path) -> Vec<u8> {
    let sources = group.iter().map(|(bytes, imports)| Source {
        name: "module",
        bytes,
        required: Some(imports.iter().map(String::as_str).collect()),
        ..Source::default()
    });
    let linked = link(&sources.collect::<Vec<_>>(), &Options { partial: true });
    linked.unwrap_or_else(|errors| panic!("{}: {errors:?}", library.display())).bytes
}

#[test]
fn linked_modules_keep_every_kernel() {
    let counts: Vec<(usize, usize, usize)> = world()
        .fat_libraries()
        .par_iter()
        .map(|library| {
            let modules = modules(library);
            // Compilers write some constants twice, and a linked module has them once: its code is compared
            // with that of a module that was linked with no other, and its opcodes with those of the compiler.
            let mut before: HashMap<String, Facts> = modules.iter().flat_map(|(module, _)| facts(module)).collect();
            for module in &modules {
                for (name, alone) in facts(&linked(std::slice::from_ref(module), library)) {
                    before.get_mut(&name).unwrap().code = alone.code;
                }
            }
            let mut groups = 0;
            for size in GROUPS {
                let mut after = HashMap::new();
                for group in modules.chunks(size.min(modules.len().max(1))) {
                    let linked = linked(group, library);
                    assert!(linked.len() <= group.iter().map(|(bytes, _)| bytes.len()).sum());
                    after.extend(facts(&linked));
                    groups += 1;
                }
                assert_eq!(after.len(), before.len(), "{}", library.display());
                for (name, one) in &before {
                    // An imported function may be code now.
                    let whole = &after[name];
                    let same = if !one.imports.is_empty() {
                        (&one.arguments, &one.attributes) == (&whole.arguments, &whole.attributes)
                    } else {
                        one == whole
                    };
                    assert!(same, "{}: {name}: {}", library.display(), difference(one, whole));
                }
            }
            (modules.len(), before.len(), groups)
        })
        .collect();
    let sum = |which: fn(&(usize, usize, usize)) -> usize| counts.iter().map(which).sum::<usize>();
    println!("{} modules, {} kernels, {} links", sum(|one| one.0), sum(|one| one.1), sum(|one| one.2));
    assert!(sum(|one| one.0) > 28_000 && sum(|one| one.1) > 27_000);
}

/// Every image of oneMKL's vector math that imports something becomes one that imports nothing, and the driver compiles
/// these; it also links the objects that it made of the parts.
#[test]
fn imports_of_vector_math_are_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let library = world().root().join("venv/lib/libmkl_sycl_vm.so.6");
    let bytes = std::fs::read(&library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let providers = Providers::from_property_sets(&bundle.images);
    let importing = |at: &usize| !bundle.images[*at].imports().is_empty() && !bundle.images[*at].kernels().is_empty();
    let importers: Vec<usize> = (0..bundle.images.len()).filter(importing).collect();
    assert!(importers.len() > 4_000);
    assert!(importers.iter().all(|at| providers.needs(*at).missing.is_empty()));
    let sample: Vec<usize> = importers.iter().copied().step_by(STEP).collect();
    let mut numbers: Vec<String> = Vec::new();
    for at in &sample {
        numbers.push(bundle.images[*at].index.to_string());
        numbers.extend(providers.needs(*at).images.iter().map(|need| bundle.images[*need].index.to_string()));
    }
    let run = |arguments: &[&str]| succeed(tool().current_dir(folder.path()).args(arguments));
    let file = library.to_str().unwrap();
    let images = numbers.join(",");
    run(&["link", file, "--each", "--image", &images, "-o", "linked.table"]);
    let modules = |prefix: &str| -> Vec<String> {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix) && name.ends_with(".spv")).collect();
        names.sort();
        names
    };
    let build = |inputs: &[String], output: &str, more: &[&str]| {
        let mut arguments = vec!["build"];
        arguments.extend(inputs.iter().map(String::as_str));
        arguments.extend(["-t", "spir64_x86_64", "--emit", "table", "-o", output]);
        arguments.extend(more);
        run(&arguments);
    };
    // Linked to one module each; linked by the driver, as the library and as bare modules; compiled first.
    build(&modules("linked_"), "native.table", &[]);
    build(&[file.to_owned()], "built.table", &["--image", &images]);
    run(&["wrap", file, "--image", &images, "-o", "parts.table"]);
    build(&modules("parts_"), "bare.table", &[]);
    run(&["compile", "parts.table", "-t", "spir64_x86_64", "-o", "objects.table"]);
    run(&["link", "objects.table", "--for", "spir64_x86_64", "--each", "-o", "executables.table"]);
    for name in ["native.table", "built.table", "bare.table", "executables.table"] {
        let report = inspect(&folder.path().join(name));
        let images = report["images"].as_array().unwrap();
        let ready: Vec<_> = images.iter().filter(|image| image["state"] == "executable").collect();
        assert_eq!(ready.len(), sample.len(), "{name}");
        assert!(ready.iter().all(|image| image["imports"].as_array().unwrap().is_empty()), "{name}");
    }
    let report = inspect(&folder.path().join("objects.table"));
    assert!(report["images"].as_array().unwrap().iter().all(|image| image["state"] == "object"));
}

/// LLVM reads the same in what the driver wrote and in what is written anew of it.
#[test]
fn objects_written_anew_are_the_same_to_llvm() {
    let folder = tempfile::tempdir().unwrap();
    let file = world().window();
    let mut compile = tool();
    compile.args(["compile", file.to_str().unwrap(), "-t", "spir64_x86_64", "-o", "o.table"]);
    succeed(compile.current_dir(folder.path()));
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let objects: Vec<_> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "bin")).collect();
    assert!(objects.len() > 10);
    for path in objects {
        let written = std::fs::read(path).unwrap();
        let anew = plain_object(&written).unwrap();
        let [before, after] = [&written, &anew].map(|object| {
            let at = object.windows(4).position(|word| word == b"BC\xc0\xde").unwrap();
            let end = object.windows(8).rposition(|word| word == b".ocl.ir\0").unwrap() - 1;
            std::fs::write(folder.path().join("code.bc"), &object[at..end]).unwrap();
            let mut command = Command::new(llvm(22, "llvm-dis"));
            succeed(command.current_dir(folder.path()).args(["code.bc", "-o", "-"])).stdout
        });
        assert!(before.len() > 1000 && before == after);
    }
}

/// The driver takes what this tool compiled, and is not given what a stranger put in its place.
#[test]
fn an_object_that_reads_files_is_not_linked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |arguments: &[&str]| tool().args(arguments).current_dir(folder.path()).output().unwrap();
    let file = world().window();
    let compile = ["compile", file.to_str().unwrap(), "--image", "0", "-t", "spir64_x86_64", "-o", "o.table"];
    assert!(run(&compile).status.success());
    let link = ["link", "o.table", "--for", "spir64_x86_64", "-o", "linked.table"];
    let done = run(&link);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::write(at("secret"), "TOPSECRET").unwrap();
    let text = format!(
        "target triple = \"spir64-unknown-unknown\"\nmodule asm \".section .rodata\"\nmodule asm \".incbin \\22{}\\22\"\n\
         define spir_kernel void @k() {{\n  ret void\n}}\n",
        at("secret").display()
    );
    std::fs::write(at("k.ll"), text).unwrap();
    succeed(Command::new(llvm(19, "llvm-as")).current_dir(folder.path()).args(["k.ll", "-o", "k.bc"]));
    let code = std::fs::read(at("k.bc")).unwrap();
    let bin = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let bin: Vec<_> = bin.filter(|path| path.to_str().unwrap().ends_with("o_0.bin")).collect();
    assert_eq!(bin.len(), 1);
    std::fs::write(&bin[0], object(&[".ocl.ir"], &code)).unwrap();
    std::fs::remove_file(at("linked.table")).unwrap();
    let done = run(&link);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("the object is not given to the driver: it has assembly"), "{said}");
    assert!(!at("linked.table").exists());
}
