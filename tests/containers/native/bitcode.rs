//! Is LLVM bitcode read as three releases of LLVM write it?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::compat::examine::{Examined, examine};
use sycl_bundle::compat::finding::{RuleId, Verdict};
use sycl_bundle::compat::fit::{Subject, fit};
use sycl_bundle::compat::kernels::{Depth, KernelFacts, kernels};
use sycl_bundle::container::Host;
use sycl_bundle::device;
use sycl_bundle::native::bitcode::Module;
use sycl_bundle::native::opencl_elf::plain_object;

use super::read;
use super::tools::{bitcode, bitcode_recipe, sycl_recipe, typed_recipe};
use crate::support::built::Recipe;
use crate::support::cpu_object::object;

/// The releases whose assemblers write the files.
const ASSEMBLERS: [&str; 3] = ["llvm-14:llvm-as", "llvm-19:llvm-as", "llvm-22:llvm-as"];

/// Looks at a module as the verbs do.
fn looked<T>(file: &[u8], look: impl Fn(&Examined<'_, '_>, &[KernelFacts]) -> T) -> T {
    let host = Host::read(file).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images = examine(&bundle);
    let all = kernels(&bundle, &images, Depth { clones: true, evidence: true });
    look(&images[0], &all)
}

#[test]
fn kernels_their_arguments_and_what_they_use() {
    for assembler in ASSEMBLERS {
        looked(&sycl_recipe(assembler).bytes("sycl.bc"), |image, all| {
            assert!(image.problem.is_none(), "{:?}", image.problem);
            let used: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.used.join(" "))).collect();
            let expected = [
                ("_ZTS4chain", "fp64"),
                ("_ZTS5plain", ""),
                ("_ZTS7atomics", "atomic64"),
                ("_ZTS6direct", "atomic64"),
                ("_ZTS5types", "fp16"),
                ("_ZTS8assembly", ""),
            ];
            assert_eq!(used, expected.map(|(name, used)| (name, used.to_owned())), "{assembler}");
            let chain = &all[0];
            assert_eq!(*chain.declared, ["gpu"]);
            assert_eq!(chain.reqd_work_group_size, Some(vec![4, 8]));
            assert_eq!(chain.local_memory(), Some(64));
            assert_eq!(
                chain.module.as_ref().unwrap().imports.iter().map(|name| &**name).collect::<Vec<_>>(),
                ["outside"]
            );
            assert_eq!(chain.attributes(), "reqd_work_group_size(8,4,1) intel_reqd_sub_group_size(16)");
            assert!(all[1].reqd_sub_group_size.is_none(), "a size is each kernel's own");
            let arguments = |kernel: &KernelFacts| -> Vec<String> {
                let passed = kernel.passed().map(|(_, argument)| {
                    let name = argument.name.as_deref().unwrap_or("?");
                    format!("{name} {} {} {:?}", argument.address_space, argument.type_name, argument.size)
                });
                passed.collect()
            };
            let own = ["out global void* Some(8)", "x private float Some(4)", "p private struct pair Some(16)"];
            assert_eq!(arguments(chain), own);
            assert_eq!(arguments(&all[1]), ["out global float* Some(8)", "n private uint Some(4)"]);
            // Down the calls, through what was inlined, to the instruction rather than to the parameter.
            let evidence = &chain.evidence[0];
            assert_eq!(evidence.instruction, "fmul double");
            let steps = evidence.chain.iter().map(|step| {
                let place = step.call.as_ref();
                format!("{} {}", step.function, place.map_or(0, |place| place.line))
            });
            assert_eq!(steps.collect::<Vec<_>>(), ["_ZTS4chain 0", "_Z6helperf 10", "narrow 20"]);
            let place = evidence.place.as_ref().unwrap();
            assert_eq!((&*place.file, place.line, place.column), ("/src/one.cpp", 5, 7));
        });
    }
}

#[test]
fn metadata_is_what_the_image_requires() {
    for assembler in ASSEMBLERS {
        looked(&sycl_recipe(assembler).bytes("sycl.bc"), |image, _| {
            let required = &image.requirements;
            // Names of the module's own table; the compiler's own aspects are negative numbers.
            assert_eq!(required.aspects, ["cpu", "gpu", "usm_shared_allocations"], "{assembler}");
            assert_eq!(required.reqd_sub_group_sizes, [16]);
            assert_eq!(required.reqd_work_group_sizes, [[4, 8]]);
            let fixed: Vec<String> = required.fixed_targets.iter().flatten().map(|one| one.label()).collect();
            assert_eq!(fixed, ["intel_gpu_pvc", "spir64_x86_64"]);
            assert_eq!(image.exports, ["exported"]);
            assert_eq!(image.imports, ["outside", "global"]);
            // Inline assembly is code that nobody has read.
            let pvc = device::table().target("intel_gpu_pvc").unwrap();
            let gaps = fit(image, &Subject::new(pvc)).gaps;
            let unread = gaps.iter().find(|gap| gap.rule == RuleId::Unread).unwrap();
            assert!(unread.message.contains("_ZTS8assembly"), "{}", unread.message);
        });
        let module = Module::read(&sycl_recipe(assembler).bytes("sycl.bc")).unwrap();
        let source = |name: &str| module.functions.iter().find(|one| one.name == name).unwrap().source.clone();
        assert_eq!(source("_ZTS4chain").as_deref(), Some("one.cpp"));
        assert_eq!(source("exported").as_deref(), Some("two.cpp"));
        assert_eq!(source("outside"), None);
    }
}

#[test]
fn pointers_of_llvm_14_say_to_what() {
    looked(&typed_recipe().bytes("typed.bc"), |image, all| {
        let passed: Vec<_> = all[0].passed().map(|(_, one)| (&*one.type_name, one.access)).collect();
        assert_eq!(passed, [("image2d_t", Some("read_only")), ("float*", None), ("struct node*", None)]);
        assert_eq!(all[0].used, ["fp16", "ext_intel_legacy_image"]);
        let verdict = |name: &str| fit(image, &Subject::new(device::table().target(name).unwrap())).verdict();
        assert_eq!(verdict("intel_gpu_dg1"), Verdict::Compatible);
        assert_eq!(verdict("intel_gpu_pvc"), Verdict::Incompatible);
    });
}

#[test]
fn kernels_triple_and_producer() {
    for assembler in ["llvm-14:llvm-as", "llvm-19:llvm-as", "llvm-22:llvm-as"] {
        let recipe = bitcode_recipe(assembler).run([assembler, "--version", ">", "version"]).output("version");
        let payload = recipe.bytes("kernels.bc");
        assert_eq!(Format::sniff(&payload), Format::LlvmBitcode);
        let native = read(&payload);
        assert_eq!(native.kernel_names(), ["opencl", "cuda", "hip"], "{assembler}");
        assert_eq!(native.parts[0].stated, "spir64-unknown-unknown");
        let version = String::from_utf8(recipe.bytes("version")).unwrap();
        let version = version.split("version ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(native.parts[0].producer.as_deref(), Some(format!("LLVM{version}").as_str()));
    }
}

#[test]
fn a_wrapper_changes_nothing() {
    let payload = bitcode();
    let mut wrapped: Vec<u8> =
        [0x0b17_c0de, 0, 20, payload.len() as u32, 7].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    wrapped.extend(&payload);
    assert_eq!(read(&wrapped).kernel_names(), read(&payload).kernel_names());
}

/// Assembly reads files while it is compiled, and a driver calls constructors and resolvers when it has linked them.
#[test]
fn objects_of_more_than_code_are_not_linked() {
    const CASES: [(&str, &str); 8] = [
        ("plain", "@x = global i32 1, section \"llvm.metadata\""),
        ("module", "module asm \".incbin \\22/etc/passwd\\22\""),
        (
            "inline",
            "define void @f() {\n  call void asm sideeffect \".incbin \\22/etc/passwd\\22\", \"\"()\n  ret void\n}",
        ),
        (
            "constructor",
            "@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 1, void ()* @g, i8* null }]",
        ),
        (
            "destructor",
            "@llvm.global_dtors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 1, void ()* @g, i8* null }]",
        ),
        ("resolver", "define void ()* @r() {\n  ret void ()* @g\n}\n@i = ifunc void (), void ()* ()* @r"),
        ("section", "@x = global void ()* @g, section \".init_array\""),
        ("plugin", "define void @f() gc \"shadow-stack\" {\n  ret void\n}"),
    ];
    for assembler in ASSEMBLERS {
        let kernel = "target triple = \"spir64-unknown-unknown\"\ndefine void @g() {\n  ret void\n}\n\
                      define spir_kernel void @k() {\n  call void @g()\n  ret void\n}\n";
        let mut recipe = Recipe::new("beyond");
        for (name, text) in CASES {
            // Since LLVM 17 pointers have no types.
            let text = if assembler.starts_with("llvm-14") {
                text.to_owned()
            } else {
                text.replace("void ()* ()*", "ptr").replace("void ()*", "ptr").replace("i8*", "ptr")
            };
            let (source, made) = (format!("{name}.ll"), format!("{name}.bc"));
            recipe = recipe.input(source.clone(), format!("{kernel}{text}\n"));
            recipe = recipe.run([assembler, &source, "-o", &made]).output(made);
        }
        for (name, _) in CASES {
            let code = recipe.bytes(&format!("{name}.bc"));
            let made = plain_object(&object(&[".ocl.ir"], &code));
            assert_eq!(made.is_ok(), name == "plain", "{assembler} {name}: {made:?}");
        }
        let plain = recipe.bytes("plain.bc");
        let made = plain_object(&object(&[".ocl.ir"], &plain)).unwrap();
        assert_eq!(plain_object(&made).as_ref(), Ok(&made), "{assembler}: written anew once more");
        let at = made.windows(4).position(|word| word == b"BC\xc0\xde").unwrap();
        let [before, after] = [plain.as_slice(), &made[at..]].map(|code| Module::read(code).unwrap());
        let told = |module: &Module| module.functions.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(told(&before), told(&after), "{assembler}");
        assert_eq!(read(&plain).kernel_names(), read(&made[at..]).kernel_names(), "{assembler}");
        let refused = |object: &[u8]| assert!(plain_object(object).is_err(), "{assembler}");
        refused(&plain);
        refused(&object(&[".ocl.ir", ".ocl.obj"], &plain));
        refused(&object(&[".ocl.ir", ".ocl.ir"], &plain));
        refused(&object(&[".ocl.ir"], &[&plain[..], &plain].concat()));
    }
}
