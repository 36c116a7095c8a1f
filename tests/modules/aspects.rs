//! Are aspects found along calls, pointers, recursion and images, with the lines that debug information has?
//!
//! The modules are texts in `fixtures/aspects`, assembled here and by `spirv-as`, whose digests are recorded.

use crate::support::host::fnv1a;
use crate::support::spirv::{assemble, module_of};
use std::path::Path;
use sycl_bundle::bundle::aspect;
use sycl_bundle::bundle::requirements::Requirements;
use sycl_bundle::compat::aspects::{self, Aspect, Code, Graph, Reason};
use sycl_bundle::compat::warnings::{self, Subject, Warning};
use sycl_bundle::device::target::Target;
use sycl_bundle::report::evidence::{Names, text};
use sycl_bundle::spirv::Module;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::types::Layouts;

const NAMES: Names = Names { demangle: true };

/// Name, size and digest of what `spirv-as --target-env spv1.4` writes (SPIRV-Tools v2023.1), its generator replaced.
const MODULES: [(&str, usize, u64); 12] = [
    ("chain", 460, 0x7cf9_cdbe_be03_80cb),
    ("chain_lines", 528, 0xbc81_8896_7b9f_feb5),
    ("chain_shader_debug", 860, 0xb733_b64a_d6c5_0a30),
    ("exporter", 316, 0xabc8_f16e_acf0_30b3),
    ("group_copy", 364, 0x6669_67e2_f4b5_19b1),
    ("importer", 252, 0x3019_09c4_fd51_f019),
    ("inlined", 828, 0xa862_df94_b07d_424e),
    ("pointed_to", 196, 0xaff5_9752_c14f_8a46),
    ("pointers", 664, 0x430f_c324_2142_ff1c),
    ("recursion", 424, 0x7442_40f5_f950_2fdc),
    ("virtual_call", 368, 0x323a_cf61_52fb_4eaa),
    ("virtual_definition", 220, 0x466e_3baf_a564_57f7),
];

fn code(name: &str) -> Code {
    Code::read(&Index::read(&module_of("aspects", name)).unwrap())
}

/// Module of a fixture in the other byte order.
fn swapped(name: &str) -> Vec<u8> {
    module_of("aspects", name).chunks_exact(4).flat_map(|word| [word[3], word[2], word[1], word[0]]).collect()
}

/// The evidence for everything that the first kernel of the first module uses.
fn evidence(codes: &[Code]) -> String {
    let graph = Graph::link(codes);
    let (module, kernel) = graph.kernels().next().unwrap();
    let node = kernel.node.unwrap();
    let used = graph.used(module, node).into_iter();
    used.map(|aspect| text(&kernel.name, &graph.evidence(module, node, aspect).unwrap(), NAMES)).collect()
}

#[test]
fn modules_are_those_of_spirv_as() {
    for (name, size, digest) in MODULES {
        let module = module_of("aspects", name);
        assert_eq!((module.len(), fnv1a(&module)), (size, digest), "{name}");
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aspects");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, MODULES.map(|(name, ..)| format!("{name}.spvasm")));
}

#[test]
fn a_chain_three_deep_is_told_without_debug_information() {
    let wanted = "kernel `foo` uses aspect fp64\n  -> mid(float) -> leaf(float): OpFConvert %double\n";
    assert_eq!(evidence(&[code("chain")]), wanted);
}

#[test]
fn lines_are_told_from_every_form_of_debug_information() {
    let wanted = "kernel `foo` uses aspect fp64\n  \
        -> mid(float) src/a.cpp:31:12 -> leaf(float) src/a.cpp:12:30: OpFConvert %double at src/a.cpp:5:10\n";
    assert_eq!(evidence(&[code("chain_lines")]), wanted);
    assert_eq!(evidence(&[code("chain_shader_debug")]), wanted);
    // Inlined places have lines, no columns.
    let inlined = wanted.replace("31:12", "31").replace("12:30", "12");
    assert_eq!(evidence(&[code("inlined")]), inlined);
}

#[test]
fn both_byte_orders_say_the_same() {
    for (name, ..) in MODULES {
        let (here, there) = (module_of("aspects", name), swapped(name));
        let (here, there) = (Index::read(&here).unwrap(), Index::read(&there).unwrap());
        assert_eq!(format!("{:?}", Code::read(&here)), format!("{:?}", Code::read(&there)), "{name}");
    }
}

#[test]
fn recursion_ends() {
    let wanted = "kernel `foo` uses aspect fp16\n  -> even(float) -> odd(float): OpFConvert %half\n";
    assert_eq!(evidence(&[code("recursion")]), wanted);
}

#[test]
fn functions_in_tables_are_reached_and_others_are_not() {
    let codes = [code("pointers")];
    let wanted = "kernel `foo` uses aspect fp64\n  -> target(double): OpFConvert %double\n\
        kernel `foo` uses aspect ext_oneapi_virtual_functions\n  OpFunctionPointerCallINTEL %float\n";
    assert_eq!(evidence(&codes), wanted);
    let other = codes[0].nodes.iter().position(|node| node.name() == "_Z5otherd").unwrap();
    assert_eq!(Graph::link(&codes).used(0, other), [Aspect::Fp16], "a function that nobody calls has its own aspects");
}

#[test]
fn imports_lead_to_the_image_that_exports() {
    let alone = [code("importer")];
    assert_eq!(evidence(&alone), "");
    let wanted = "kernel `foo` uses aspect atomic64\n  -> far(float): OpAtomicStore %i64\n";
    assert_eq!(evidence(&[code("importer"), code("exporter")]), wanted);
    let between = [code("importer"), code("chain"), code("exporter")];
    assert_eq!(evidence(&between), wanted);
    assert_eq!(Graph::link(&between).evidence(0, 1, Aspect::Atomic64).unwrap().chain[1].module, 2);
}

#[test]
fn what_is_declared_and_only_pointed_to_is_no_use() {
    let code = code("pointed_to");
    assert_eq!(code.used(), []);
    assert_eq!(aspects::compare(&[], &code, &[]).differences[0].reason, Reason::DeclaredOnly);
    let stored = ["fp64", "fp16", "gpu"].map(str::to_owned);
    let reasons: Vec<Reason> =
        aspects::compare(&stored, &code, &[]).differences.iter().map(|found| found.reason).collect();
    assert_eq!(reasons, [Reason::Unused, Reason::NotInModule, Reason::NotShown]);
}

#[test]
fn copies_of_doubles_by_a_group_are_a_use_and_copies_of_vectors_are_none() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/aspects/group_copy.spvasm");
    let doubles = std::fs::read_to_string(source).unwrap();
    let vectors =
        doubles.replace("roup %double", "roup %pair").replace("%event = ", "%pair = OpTypeVector %double 2\n%event = ");
    assert!(vectors != doubles);
    for (text, used) in [(doubles, &[Aspect::Fp64][..]), (vectors, &[])] {
        assert_eq!(Code::read(&Index::read(&assemble(&text).unwrap()).unwrap()).used(), used, "{text}");
    }
}

fn warned(
    name: &str,
    warn: impl Fn(&Graph<'_>, &Subject<'_>) -> Vec<Warning>,
    requirements: &Requirements,
) -> Vec<Warning> {
    let codes = [code(name)];
    let graph = Graph::link(&codes);
    let (module, kernel) = graph.kernels().next().unwrap();
    warn(&graph, &Subject { module, node: kernel.node, kernel: &kernel.name, requirements })
}

#[test]
fn warnings_have_the_words_of_the_design_document() {
    let none = Requirements::default();
    let warn = |name: &str, declared: &[&str]| {
        let declared: Vec<String> = declared.iter().map(|name| (*name).to_owned()).collect();
        let warnings = warned(name, |graph, subject| warnings::declared(graph, subject, &declared), &none);
        warnings.iter().map(|warning| warning.text(|name| NAMES.show(name))).collect::<String>()
    };
    assert_eq!(
        warn("chain", &["fp16"]),
        "warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\n\
         use is from this call chain:\n  foo()\n  mid(float)\n  leaf(float)\n\
         compile with '-g' to get source location\n"
    );
    assert_eq!(
        warn("chain_lines", &[]),
        "src/a.cpp:5:10: warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\n\
         use is from this call chain:\n  foo()\n  mid(float) src/a.cpp:31:12\n  leaf(float) src/a.cpp:12:30\n"
    );
    assert_eq!(warn("chain_lines", &["fp64"]), "");
}

#[test]
fn fixed_targets_are_held_to_what_they_have() {
    let target = Target {
        name: "small".to_owned(),
        aspects: vec!["fp16".to_owned()],
        sub_group_sizes: Some(vec![8]),
        max_work_group_size: Some(64),
        ..Target::default()
    };
    let requirements = Requirements {
        reqd_sub_group_sizes: vec![16],
        reqd_work_group_sizes: vec![vec![8, 16]],
        ..Requirements::default()
    };
    let of = |target: &Target| {
        let warnings = warned("chain", |graph, subject| warnings::fixed_target(graph, subject, target), &requirements);
        warnings.iter().map(|warning| (warning.subject.clone(), warning.certain)).collect::<Vec<_>>()
    };
    let sure = ["fp64", "16", "8x16"].map(|subject| (subject.to_owned(), true));
    assert_eq!(of(&target), sure);
    let open = Target { may_support_other_aspects: true, sub_group_sizes: None, max_work_group_size: None, ..target };
    assert_eq!(of(&open), sure.map(|(subject, _)| (subject, false)));
}

#[test]
fn no_word_that_is_wrong_ends_the_process() {
    for (name, ..) in MODULES {
        let module = module_of("aspects", name);
        for at in (4..module.len()).step_by(4) {
            for word in [0u32, 1, 5, 0xffff, 0x0003_0008, 0x0002_0038, u32::MAX] {
                let mut damaged = module.clone();
                damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
                let index = Index::read(&damaged).unwrap();
                let layouts = Layouts::compute(&index);
                assert!(layouts.pointer() == 8 || index.addressing != 2);
                let codes = [Code::read(&index), code("exporter")];
                let facts = Module::parse(&damaged).unwrap();
                let shown = |one: &Aspect| facts.used_aspects.contains(one.name());
                assert!(facts.may_use_others || codes[0].used().iter().all(shown), "{name} word {at}: {word:#x}");
                let graph = Graph::link(&codes);
                for (module, kernel) in graph.kernels() {
                    let used = kernel.node.map(|node| (node, graph.used(module, node)));
                    for (node, aspect) in used.iter().flat_map(|(node, used)| used.iter().map(move |used| (node, used)))
                    {
                        assert!(graph.evidence(module, *node, *aspect).is_some(), "{name} word {at}: {aspect:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_chain_without_end_is_cut_in_its_middle() {
    let deep = 1000;
    let mut text = "OpCapability Kernel\nOpCapability Float64\nOpEntryPoint Kernel %f0 \"foo\"\n%void = OpTypeVoid\n\
        %kernel = OpTypeFunction %void\n%double = OpTypeFloat 64\n"
        .to_owned();
    for number in 0..deep {
        let next = number + 1;
        text += &format!(
            "%f{number} = OpFunction %void None %kernel\n%l{number} = OpLabel\n\
             %c{number} = OpFunctionCall %void %f{next}\nOpReturn\nOpFunctionEnd\n"
        );
    }
    text += &format!(
        "%f{deep} = OpFunction %void None %kernel\n%end = OpLabel\n%u = OpUndef %double\nOpReturn\nOpFunctionEnd\n"
    );
    let module = crate::support::spirv::assemble(&text).unwrap();
    let codes = [Code::read(&Index::read(&module).unwrap())];
    let graph = Graph::link(&codes);
    let chain = graph.evidence(0, 0, Aspect::Fp64).unwrap().chain;
    assert_eq!((chain.len(), chain[0].function.as_str()), (64, "foo"));
    assert_eq!(chain[63].function, codes[0].nodes[deep].name());
}

const IMAGE: &str = "%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly";
const CUBE: &str = "%image = OpTypeImage %void Cube 0 0 0 0 Unknown ReadOnly";
const ARRAY: &str = "%image = OpTypeImage %void 2D 0 1 0 0 Unknown ReadOnly";
const LINE: &str = "%image = OpTypeImage %void 1D 0 0 0 0 Unknown ReadOnly";
const SPACE: &str = "%image = OpTypeImage %void 3D 0 0 0 0 Unknown ReadOnly";
const SAMPLED: &str = "%sampled = OpTypeSampledImage %image";
const BINDLESS: &str = "OpCapability BindlessImagesINTEL";

/// Lines of a module beside its kernel, and of the kernel, for each way in which an aspect shows.
fn samples(aspect: Aspect) -> Vec<Vec<&'static str>> {
    const FETCH: &str = "%v = OpImageFetch %four %i %one";
    let fetched = |kind| vec![BINDLESS, kind, SAMPLED, "%s = OpUndef %sampled", "%i = OpImage %image %s", FETCH];
    match aspect {
        Aspect::Fp16 => vec![vec!["%half = OpTypeFloat 16", "%v = OpUndef %half"]],
        Aspect::Fp64 => vec![vec!["%double = OpTypeFloat 64", "%v = OpUndef %double"]],
        Aspect::Atomic64 => vec![
            vec!["%wide = OpTypeInt 64 0", "%v = OpAtomicLoad %wide %p %one %zero"],
            vec!["%wide = OpTypeInt 64 0", "%v = OpUndef %wide", "OpAtomicStore %p %one %zero %v"],
        ],
        Aspect::Atomic16 => vec![
            vec!["%narrow = OpTypeInt 16 0", "%v = OpAtomicLoad %narrow %p %one %zero"],
            vec!["%narrow = OpTypeInt 16 0", "%v = OpUndef %narrow", "OpAtomicStore %p %one %zero %v"],
        ],
        Aspect::LegacyImage => {
            vec![vec![IMAGE, "%v = OpLoad %image %p"], vec![IMAGE, SAMPLED, "%v = OpLoad %sampled %p"]]
        }
        Aspect::Esimd => vec![vec!["OpDecorate %kernel VectorComputeFunctionINTEL"]],
        Aspect::Matrix => vec![
            vec!["%matrix = OpTypeCooperativeMatrixKHR %float %three %eight %eight %zero", "%v = OpUndef %matrix"],
            vec!["%v = OpSubgroupMatrixMultiplyAccumulateINTEL %float %eight %one %one %one"],
        ],
        Aspect::BindlessImages => vec![
            vec![IMAGE, "%v = OpConvertHandleToImageINTEL %image %one"],
            vec!["%sampler = OpTypeSampler", "%v = OpConvertHandleToSamplerINTEL %sampler %one"],
            vec![IMAGE, SAMPLED, "%v = OpConvertHandleToSampledImageINTEL %sampled %one"],
        ],
        Aspect::BindlessGather => {
            vec![vec![BINDLESS, IMAGE, SAMPLED, "%s = OpUndef %sampled", "%v = OpImageGather %four %s %one %zero"]]
        }
        Aspect::BindlessFetch1d => vec![fetched(LINE)],
        Aspect::BindlessFetch2d => vec![fetched(IMAGE)],
        Aspect::BindlessFetch3d => vec![fetched(SPACE)],
        Aspect::Cubemap => vec![vec![CUBE, "%v = OpConvertHandleToImageINTEL %image %one"]],
        Aspect::ImageArray => vec![vec![ARRAY, "%v = OpConvertHandleToImageINTEL %image %one"]],
        Aspect::PrivateAlloca => vec![
            vec!["%v = OpVariableLengthArrayINTEL %float %one"],
            vec!["%v = OpUntypedVariableLengthArrayINTEL %float %float %one"],
        ],
        Aspect::VirtualFunctions => vec![vec!["%v = OpFunctionPointerCallINTEL %float %p"]],
        Aspect::ClockDevice => vec![vec!["%v = OpReadClockKHR %int %one"]],
        Aspect::ClockWorkGroup => vec![vec!["%v = OpReadClockKHR %int %two"]],
        Aspect::ClockSubGroup => vec![vec!["%v = OpReadClockKHR %int %three"]],
        Aspect::Chunk => vec![vec!["%v = OpGroupNonUniformIAdd %int %three ClusteredReduce %one %two"]],
        Aspect::Fragment => vec![vec!["%v = OpGroupNonUniformIAdd %int %three InclusiveScan %one"]],
    }
}

/// The gate reads the code of those images alone whose facts leave a use open: a rule for anything else does nothing.
#[test]
fn facts_leave_open_whatever_a_rule_may_tell() {
    const TYPES: &str = "%void = OpTypeVoid\n%none = OpTypeFunction %void\n%int = OpTypeInt 32 0\n\
        %float = OpTypeFloat 32\n%four = OpTypeVector %float 4\n%zero = OpConstant %int 0\n%one = OpConstant %int 1\n\
        %two = OpConstant %int 2\n%three = OpConstant %int 3\n%eight = OpConstant %int 8\n";
    for (aspect, sample) in Aspect::ALL.into_iter().flat_map(|one| samples(one).into_iter().map(move |own| (one, own)))
    {
        // In the order of a module.
        let part = |line: &str| match line {
            line if line.starts_with("OpCapability") || line.starts_with("OpDecorate") => 0,
            line if line.contains(" = OpType") => 1,
            _ => 2,
        };
        let [before, types, body] = [0, 1, 2].map(|own| {
            sample.iter().filter(|line| part(line) == own).map(|line| format!("{line}\n")).collect::<String>()
        });
        let text = format!(
            "OpCapability Kernel\nOpEntryPoint Kernel %kernel \"foo\"\n{before}{TYPES}{types}\
             %kernel = OpFunction %void None %none\n%label = OpLabel\n%p = OpUndef %none\n{body}OpReturn\nOpFunctionEnd\n"
        );
        let module =
            crate::support::spirv::assemble(&text).unwrap_or_else(|error| panic!("{aspect:?}: {error}\n{text}"));
        let used = Code::read(&Index::read(&module).unwrap()).used();
        assert!(used.contains(&aspect), "{aspect:?}: no rule of src/compat/aspects/rules.rs tells it from {sample:?}");
        assert!(aspect::names().any(|known| known == aspect.name()), "{aspect:?}: src/bundle/aspect.rs has no number");
        let facts = Module::parse(&module).unwrap();
        assert!(
            facts.may_use_others || facts.used_aspects.contains(aspect.name()),
            "{aspect:?}: `check` never reads the code of {sample:?}; set `may_use_others` in src/spirv/facts.rs for it"
        );
    }
}
