//! Do the rules answer as the runtime does, and "unknown" where nobody knows?

use super::*;
use crate::bundle::aspect::Epoch;
use crate::bundle::image::Image;
use crate::bundle::property::{Properties, Property, PropertySet, Value};
use crate::bundle::property_sets::set;
use crate::compat::choice::{self, Choice, Trap};
use crate::compat::examine::examine_image;
use crate::device;
use crate::native::opencl_elf::spirv_object;
use crate::native::zebin::tests::{INFO, note, zebin};

/// A module with one kernel `k` and further capabilities.
pub(crate) fn module(version: u32, capabilities: &[u32]) -> Vec<u8> {
    with_code(version, capabilities, &[], &[])
}

/// A module with one kernel `k`, further capabilities, what stands before its function and what the kernel does.
fn with_code(version: u32, capabilities: &[u32], before: &[u8], code: &[u8]) -> Vec<u8> {
    let head = [0x0723_0203, version, 0, 10, 0, 0x0003_000e, 2, 2, 0x0002_0011, 4, 0x0002_0011, 6];
    let more = capabilities.iter().flat_map(|number| [0x0002_0011, *number]);
    let entry = [0x0004_000f, 6, 1, u32::from_le_bytes(*b"k\0\0\0")];
    let head: Vec<u8> = head.into_iter().chain(more).chain(entry).flat_map(u32::to_le_bytes).collect();
    let types = [0x0002_0013u32, 2, 0x0003_0021, 3, 2].map(u32::to_le_bytes).concat();
    let function = [0x0005_0036u32, 2, 1, 0, 3, 0x0002_00f8, 4].map(u32::to_le_bytes).concat();
    let end = [0x0001_00fdu32, 0x0001_0038].map(u32::to_le_bytes).concat();
    // Decorations stand before types.
    let is_decoration = before.get(..2) == Some(&[71, 0]);
    let (types, before) = if is_decoration { (before, &types[..]) } else { (&types[..], before) };
    [&head[..], types, before, &function, code, &end].concat()
}

/// A module beside whose kernel other modules may import a function, by a symbol of four to seven letters.
pub(crate) fn exporting(symbol: &str) -> Vec<u8> {
    assert!((4..8).contains(&symbol.len()), "the name takes two words");
    let mut name = symbol.as_bytes().to_vec();
    name.resize(8, 0);
    // OpDecorate %8 LinkageAttributes SYMBOL Export
    let decoration = [[0x0006_0047u32, 8, 41].map(u32::to_le_bytes).concat(), name, vec![0; 4]].concat();
    let function =
        [0x0005_0036u32, 2, 8, 0, 3, 0x0002_00f8, 9, 0x0001_00fd, 0x0001_0038].map(u32::to_le_bytes).concat();
    [with_code(0x0001_0400, &[5], &decoration, &[]), function].concat()
}

/// A test's images live as long as the test.
fn leak(bytes: &[u8]) -> &'static [u8] {
    Box::leak(bytes.to_vec().into_boxed_slice())
}

/// A byte array as it is stored.
pub(crate) fn array(bytes: &[u8]) -> Value<'static> {
    let bits = (bytes.len() as u64 * 8).to_le_bytes();
    Value::Bytes(leak(&[&bits, bytes].concat()))
}

pub(crate) fn words(numbers: &[u32]) -> Value<'static> {
    array(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())
}

/// An image with a payload, a spec and properties of two sets.
pub(crate) fn image(payload: &[u8], spec: &'static str, required: &[(&'static str, Value<'static>)]) -> Image<'static> {
    let of = |name, list: &[(&'static str, Value<'static>)]| PropertySet {
        name,
        properties: list.iter().map(|(name, value)| Property { name, value: *value }).collect(),
    };
    let (misc, required): (Vec<_>, Vec<_>) = required.iter().copied().partition(|(name, _)| *name == "isEsimdImage");
    Image {
        target: spec,
        entries: vec!["k"],
        properties: Properties { sets: vec![of(set::REQUIREMENTS, &required), of(set::MISC, &misc)] },
        ..Image::bare(leak(payload), 0)
    }
}

fn judge(image: &Image<'static>, target: &str) -> Fit {
    let target = device::table().target(target).unwrap();
    fit(&examine_image(image, Epoch::From2026), &Subject::new(target))
}

fn spirv(required: &[(&'static str, Value<'static>)]) -> Image<'static> {
    image(&module(0x0001_0400, &[]), "spir64", required)
}

#[test]
fn a_plain_module_runs_wherever_spirv_does() {
    let plain = spirv(&[("aspects", words(&[]))]);
    for target in ["intel_gpu_pvc", "intel_gpu_acm_g10", "intel_gpu_skl", "spir64_x86_64", "intel_cpu_spr"] {
        assert_eq!(judge(&plain, target), Fit::default(), "{target}");
    }
    for target in ["nvidia_gpu_sm_90", "amd_gpu_gfx90a", "native_cpu"] {
        assert_eq!(judge(&plain, target).verdict(), Verdict::Incompatible, "{target}");
    }
    assert_eq!(judge(&plain, "spir64").verdict(), Verdict::Unknown);
}

#[test]
fn aspects_in_the_words_of_the_design() {
    let fp64 = spirv(&[("aspects", words(&[6]))]);
    assert_eq!(judge(&fp64, "intel_gpu_pvc").verdict(), Verdict::Compatible);
    let dg2 = judge(&fp64, "intel_gpu_acm_g10");
    assert_eq!(
        dg2.reasons.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(),
        ["Kernel uses optional feature corresponding to 'aspect::fp64' but device does not support this aspect."]
    );
    assert_eq!(dg2.reasons[0].aspect.as_deref(), Some("fp64"));
    // Bindless images hang on backend and driver; an aspect without a name is not known either way.
    assert_eq!(judge(&spirv(&[("aspects", words(&[40]))]), "intel_gpu_pvc").verdict(), Verdict::Unknown);
    assert_eq!(judge(&spirv(&[("aspects", words(&[4000]))]), "spir64_x86_64").verdict(), Verdict::Unknown);
    // Open-ended targets keep what they may support, unlike sycl-post-link's filter.
    assert_eq!(judge(&fp64, "spir64").reasons, []);
    assert_eq!(judge(&spirv(&[("aspects", words(&[2]))]), "spir64_x86_64").verdict(), Verdict::Incompatible);
}

#[test]
fn aspects_of_2023_go_by_their_names_of_today() {
    // 54 was ext_oneapi_ballot_group, which became ext_oneapi_fragment.
    let old = spirv(&[("aspects", words(&[54]))]);
    let target = device::table().target("intel_gpu_pvc").unwrap();
    let fit = fit(&examine_image(&old, Epoch::From2023), &Subject::new(target));
    assert_eq!(fit.verdict(), Verdict::Compatible, "{fit:?}");
}

#[test]
fn what_the_code_uses_counts_though_nothing_is_recorded() {
    // OpTypeFloat %5 64
    let bytes = with_code(0x0001_0400, &[10], &[0x0003_0016u32, 5, 64].map(u32::to_le_bytes).concat(), &[]);
    let bare = Image::bare(leak(&bytes), 0);
    assert_eq!(judge(&bare, "intel_gpu_tgllp").reasons[0].aspect.as_deref(), Some("fp64"));
    assert_eq!(judge(&bare, "intel_gpu_pvc").verdict(), Verdict::Compatible);
}

#[test]
fn sizes_and_extensions_by_the_thousand_are_told_in_part() {
    let mut words: Vec<u32> = Vec::new();
    for number in 0..100_000u32 {
        // OpExecutionMode %1 LocalSize, OpExtension
        words.extend([0x0006_0010, 1, 17, number + 2000, 1, 1]);
        words.extend([0x0003_000a, u32::from_le_bytes(*b"SPV_"), number % 1000 + 0x0030_3030]);
    }
    let words: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let bytes = with_code(0x0001_0400, &[], &words, &[]);
    let fit = judge(&image(&bytes, "spir64", &[]), "intel_gpu_pvc");
    let told = |list: &[Finding], rule| list.iter().filter(|one| one.rule == rule).count();
    assert_eq!(told(&fit.reasons, RuleId::WorkGroupSize), limits::MAX_FINDINGS_OF_A_RULE);
    assert_eq!(told(&fit.gaps, RuleId::Extension), limits::MAX_FINDINGS_OF_A_RULE);
    for (list, rule) in [(&fit.reasons, RuleId::WorkGroupSize), (&fit.gaps, RuleId::Extension)] {
        let last = list.iter().rfind(|one| one.rule == rule).unwrap();
        assert!(last.more > 100, "{last:?}");
        assert!(last.message.contains(&format!(" {} more like this are not listed", last.more)), "{last:?}");
    }
}

#[test]
fn work_group_sizes_are_stored_in_reverse() {
    let sizes = |sizes: &[u64], dimensions| {
        let bytes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        spirv(&[("reqd_work_group_size_uint64_t", array(&bytes)), ("work_group_num_dim", Value::U32(dimensions))])
    };
    assert_eq!(judge(&sizes(&[1024, 1, 1], 1), "intel_gpu_pvc").verdict(), Verdict::Compatible);
    let over = judge(&sizes(&[2048, 1, 1], 1), "intel_gpu_pvc");
    assert!(over.reasons[0].message.contains("work-group size of '2048'"), "{over:?}");
    assert_eq!(judge(&sizes(&[2048, 1, 1], 1), "spir64_x86_64").verdict(), Verdict::Compatible);
    // The product counts, and it may not overflow.
    assert_eq!(judge(&sizes(&[64, 64, 1], 2), "intel_gpu_pvc").verdict(), Verdict::Incompatible);
    assert!(judge(&sizes(&[1 << 33, 1 << 33, 1], 2), "spir64").reasons[0].message.contains("no device"));
    // CUDA runs up to 64 work-items in z, which is the last stored and the source's first.
    let ptx = |stored: &[u64]| Image { target: "nvptx64", ..sizes(stored, 3) };
    let on = |stored: &[u64]| {
        judge(&ptx(stored), "nvidia_gpu_sm_90").reasons.iter().any(|one| one.rule == RuleId::WorkGroupSize)
    };
    assert!(!on(&[128, 1, 1]) && on(&[1, 1, 128]));
    // The 32-bit key of compilers before 2023.
    assert_eq!(
        judge(&spirv(&[("reqd_work_group_size", words(&[512, 1, 1]))]), "intel_gpu_skl").verdict(),
        Verdict::Incompatible
    );
    // A target without recorded sizes gives `unknown`.
    assert_eq!(judge(&sizes(&[16, 1, 1], 1), "spir64").verdict(), Verdict::Unknown);
}

#[test]
fn a_message_holds_all_symbols_that_it_is_about() {
    let named = |names: &[&str]| super::format::named(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(named(&[]), None);
    assert_eq!(named(&["b", "a", "b"]).as_deref(), Some("`a`, `b`"));
    let many: Vec<String> = (0..20).map(|nth| format!("s{nth:02}")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    let told = named(&names).unwrap();
    assert!(told.starts_with("`s00`, `s01`") && told.contains("`s07` and 12 more ("), "{told}");
    let mut others = names.clone();
    others[19] = "s99";
    assert_ne!(named(&others).unwrap(), told);
    let long = "x".repeat(1 << 20);
    assert!(named(&[&long, "y"]).unwrap().len() < 5_000);
}

#[test]
fn sub_group_sizes_do_not_bind_esimd() {
    let eight = ("reqd_sub_group_size", Value::U32(8));
    assert_eq!(judge(&spirv(&[eight]), "intel_gpu_acm_g10").verdict(), Verdict::Compatible);
    assert_eq!(
        judge(&spirv(&[eight]), "intel_gpu_pvc").reasons[0].message,
        "Kernel has a required sub-group size of '8' but device does not support this sub-group size."
    );
    // OpDecorate %1 VectorComputeFunctionINTEL; an image that is marked and whose kernels are not is another matter.
    let vector = with_code(0x0001_0400, &[5617], &[0x0003_0047u32, 1, 5626].map(u32::to_le_bytes).concat(), &[]);
    let marked = image(&vector, "spir64", &[eight, ("isEsimdImage", Value::U32(1))]);
    assert_eq!(judge(&marked, "intel_gpu_pvc").verdict(), Verdict::Compatible);
    assert_eq!(judge(&spirv(&[eight]), "spir64").verdict(), Verdict::Unknown);
}

#[test]
fn matrix_operations_need_hardware_that_has_them() {
    let text = |text: &str| array(text.as_bytes());
    let bf16 = [
        ("joint_matrix", text("matrix_type::bf16,use::a,8,16")),
        ("joint_matrix_mad", text("matrix_type::bf16,matrix_type::bf16,matrix_type::fp32,matrix_type::fp32,8,16,16")),
    ];
    assert_eq!(judge(&spirv(&bf16), "intel_gpu_pvc").verdict(), Verdict::Compatible);
    // The first size is a maximum there, the others are eight and sixteen.
    assert_eq!(judge(&spirv(&bf16), "intel_gpu_acm_g10").verdict(), Verdict::Incompatible);
    assert!(judge(&spirv(&bf16), "intel_gpu_tgllp").reasons[0].message.contains("no matrix hardware"));
    assert_eq!(judge(&spirv(&bf16), "intel_gpu_bmg_g31").verdict(), Verdict::Unknown);
}

#[test]
fn what_a_compiler_takes_is_known_in_part() {
    let with = |version, capabilities: &[u32]| image(&module(version, capabilities), "spir64", &[]);
    assert_eq!(judge(&with(0x0001_0600, &[]), "intel_gpu_pvc").verdict(), Verdict::Unknown);
    assert_eq!(judge(&with(0x0001_0600, &[]), "spir64_x86_64").verdict(), Verdict::Compatible);
    // ImageBasic (13): no images there.
    assert_eq!(judge(&with(0x0001_0000, &[13]), "intel_gpu_pvc").verdict(), Verdict::Incompatible);
    assert_eq!(judge(&with(0x0001_0000, &[13]), "intel_gpu_acm_g10").verdict(), Verdict::Compatible);
    // VectorComputeINTEL (5617) is refused by the CPU driver, Shader (1) is in no list.
    assert_eq!(judge(&with(0x0001_0000, &[5617]), "spir64_x86_64").reasons[0].rule, RuleId::Capability);
    assert_eq!(judge(&with(0x0001_0000, &[1]), "spir64_x86_64").verdict(), Verdict::Unknown);
}

/// An archive as ocloc writes it: code for `intel_gpu_pvc`, and SPIR-V for other GPUs.
fn archive(spirv: &[u8]) -> Image<'static> {
    let version = 12 << 22 | 60 << 14 | 7;
    let code = zebin(&[
        (".text.k", 1, &[0; 16]),
        (".ze_info", 0xff00_0011, INFO),
        (".note.intelgt.compat", 7, &note(6, version)),
    ]);
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, member) in [("64.12.60.7", code), ("generic_ir", spirv_object(spirv, ""))] {
        let size = member.len().next_multiple_of(2);
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        bytes.extend(member);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    image(&bytes, "spir64_gen", &[])
}

#[test]
fn spirv_inside_compiled_code_is_judged_where_it_is_compiled() {
    let instruction = |opcode: u32, operands: &[u32], text: &str| {
        let mut text = text.as_bytes().to_vec();
        text.resize(text.len() / 4 * 4 + 4, 0);
        let text = text.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        let words: Vec<u32> = operands.iter().copied().chain(text).collect();
        let first = (words.len() as u32 + 1) << 16 | opcode;
        std::iter::once(first).chain(words).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    // OpTypeFloat %5 64: a compiler for GPUs without such numbers refuses the module.
    let wide = with_code(0x0001_0400, &[10], &[0x0003_0016u32, 5, 64].map(u32::to_le_bytes).concat(), &[]);
    let wide = archive(&wide);
    for (target, verdict) in [
        ("intel_gpu_pvc", Verdict::Compatible),
        ("intel_gpu_bmg_g21", Verdict::Compatible),
        ("intel_gpu_acm_g10", Verdict::Incompatible),
    ] {
        assert_eq!(judge(&wide, target).verdict(), verdict, "{target}");
    }
    assert_eq!(judge(&wide, "intel_gpu_acm_g10").reasons[0].aspect.as_deref(), Some("fp64"));
    let assembly = |text: &str| {
        let target = instruction(5609, &[6], "x");
        with_code(0x0001_0400, &[5606], &target, &instruction(5610, &[2, 5, 3, 6], text))
    };
    // OpAsmINTEL: matrices of floats of a byte, and conversions of these.
    for (text, runs, unknown) in [
        ("dpas.hf8.hf8.8.8 (M1, 16) a b c d", "intel_gpu_cri", "intel_gpu_ptl_h"),
        ("fcvt (M1_NM, 16) a b", "intel_gpu_ptl_h", "intel_gpu_bmg_g21"),
        ("dpas.bf.bf.8.8 (M1, 8) a b c d", "intel_gpu_acm_g10", "intel_gpu_mtl_u"),
        ("dpas.bf.bf.8.8 (M1, 16) a b c d", "intel_gpu_bmg_g21", "intel_gpu_acm_g10"),
        ("dpasw.bf.bf.8.8 (M1, 8) a b c d", "intel_gpu_acm_g10", "intel_gpu_bmg_g21"),
        ("lsc_load_block2d.ugm (M1, 1) a", "intel_gpu_lnl_m", "intel_gpu_acm_g10"),
        ("mov (M1, 16) a b", "intel_gpu_mtl_h", "intel_gpu_dg1"),
    ] {
        let payload = assembly(text);
        let bare = image(&payload, "spir64", &[]);
        let inside = archive(&payload);
        for image in [&inside, &bare] {
            assert_eq!(judge(image, runs).verdict(), Verdict::Compatible, "{text} {:?}", judge(image, runs));
            assert_eq!(judge(image, unknown).verdict(), Verdict::Unknown, "{text}");
        }
        // Code that runs as it is has been compiled.
        assert_eq!(judge(&inside, "intel_gpu_pvc").verdict(), Verdict::Compatible, "{text}");
    }
    // Nobody knows these.
    for text in [
        "bdpas.bf8.bf8.8.8 (M1, 16) a",
        "lsc_bogus_op.ugm (M1, 16) a",
        ".bogus",
        "one: two: mov (M1, 16) a b",
        "(P1 mov (M1, 16) a b",
    ] {
        assert_eq!(judge(&archive(&assembly(text)), "intel_gpu_bmg_g21").verdict(), Verdict::Unknown, "{text}");
    }
    let whole = module(0x0001_0400, &[]);
    for cut in [&whole[..whole.len() - 4], &[3, 2, 0x23, 7, 0]] {
        assert_eq!(judge(&archive(cut), "intel_gpu_bmg_g21").verdict(), Verdict::Unknown);
        assert_eq!(judge(&archive(cut), "intel_gpu_pvc").verdict(), Verdict::Compatible);
    }
    let cut = archive(&[3, 2, 0x23, 7, 0]);
    assert!(
        examine_image(&cut, Epoch::From2026).problems().any(|one| format!("{one:?}").contains("the SPIR-V inside"))
    );
}

#[test]
fn native_code_is_for_one_device() {
    let zebin = {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(16, 0);
        bytes.extend([0x12, 0xff, 205, 0]);
        bytes
    };
    let pvc = image(&zebin, "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))]);
    assert_eq!(judge(&pvc, "intel_gpu_pvc").verdict(), Verdict::Compatible);
    assert_eq!(
        judge(&pvc, "intel_gpu_acm_g10").reasons[0].message,
        "Image was compiled for intel_gpu_pvc, not for intel_gpu_acm_g10."
    );
    assert_eq!(judge(&pvc, "spir64_gen").verdict(), Verdict::Unknown);
    let family = image(&zebin, "spir64_gen", &[("compile_target", array(b"intel_gpu_bmg"))]);
    assert_eq!(judge(&family, "intel_gpu_lnl_m").verdict(), Verdict::Compatible);
    assert_eq!(judge(&family, "intel_gpu_pvc").verdict(), Verdict::Incompatible);
    let nameless = image(&zebin, "spir64_gen", &[]);
    assert_eq!(judge(&nameless, "intel_gpu_pvc").verdict(), Verdict::Unknown);
    assert_eq!(judge(&nameless, "spir64_x86_64").verdict(), Verdict::Incompatible);
    assert_eq!(judge(&image(&zebin, "spir64_fpga", &[]), "spir64_fpga").verdict(), Verdict::Incompatible);
}

#[test]
fn the_runtime_compares_whole_names_that_are_recorded() {
    let recorded =
        |name: &str| image(&module(0x0001_0400, &[]), "spir64", &[("compile_target", array(name.as_bytes()))]);
    for (target, name, verdict) in [
        ("intel_gpu_acm_g10", "intel_gpu_acm_g10", Verdict::Compatible),
        ("intel_gpu_acm_g10", "intel_gpu_dg2", Verdict::Compatible),
        ("intel_gpu_acm_g10", "intel_gpu_dg2_g10", Verdict::Incompatible),
        ("intel_gpu_acm_g10", "intel_gpu_12_55_8", Verdict::Incompatible),
        ("intel_gpu_acm_g10", "acm-g10", Verdict::Incompatible),
        ("intel_gpu_acm_g10", "acm_g10", Verdict::Incompatible),
        ("intel_gpu_acm_g10", "ats_m150", Verdict::Incompatible),
        ("intel_gpu_acm_g10", "spir64_gen", Verdict::Incompatible),
        ("spir64_gen", "spir64_gen", Verdict::Incompatible),
        ("spir64_x86_64", "spir64_x86_64", Verdict::Compatible),
        ("intel_cpu_spr", "spir64_x86_64", Verdict::Compatible),
        ("intel_cpu_spr", "intel_cpu_spr", Verdict::Compatible),
        ("intel_cpu_spr", "x86_64", Verdict::Incompatible),
        ("spir64_x86_64", "x86_64", Verdict::Unknown),
    ] {
        assert_eq!(judge(&recorded(name), target).verdict(), verdict, "{name} on {target}");
    }
    // Nothing compares an architecture that a container states beside the image, which is no property.
    let mut beside = image(&module(0x0001_0400, &[]), "spir64", &[]);
    for arch in ["acm-g10", "intel_gpu_dg2_g10"] {
        beside.arch = arch;
        assert_eq!(judge(&beside, "intel_gpu_acm_g10").verdict(), Verdict::Compatible, "{arch}");
    }
    // Code for one of the CPUs that are meant, as SYCLBINs of DPC++ have it.
    let mut of_cpu = image(b"\x7fELF", "spir64", &[]);
    of_cpu.arch = "intel_cpu_spr";
    let on = |target: &str| matches(&of_cpu, &Subject::new(device::table().target(target).unwrap()));
    assert!(matches!(on("spir64_x86_64"), Match::Unknown(_)) && matches!(on("intel_cpu_spr"), Match::Yes));
    // A device may be set to retry page faults, and a generic processor stands for several, which are known of some.
    for (arch, verdict) in [
        ("gfx90a:xnack-", Verdict::Compatible),
        ("gfx90a:xnack+", Verdict::Unknown),
        ("gfx9-generic", Verdict::Incompatible),
        ("gfx13-generic", Verdict::Unknown),
        ("amdgcnspirv", Verdict::Unknown),
        ("gfx906", Verdict::Incompatible),
        ("sm_90", Verdict::Incompatible),
    ] {
        let mut of_amd = image(b"BC\xc0\xde", "amdgcn", &[]);
        of_amd.arch = arch;
        let matched = matches(&of_amd, &Subject::new(device::table().target("amd_gpu_gfx90a").unwrap()));
        let expected = match verdict {
            Verdict::Compatible => matches!(matched, Match::Yes),
            Verdict::Unknown => matches!(matched, Match::Unknown(_)),
            Verdict::Incompatible => matches!(matched, Match::No(_)),
        };
        assert!(expected, "{arch}: {matched:?}");
    }
}

#[test]
fn instruction_sets_and_imports_of_cpu_code() {
    let cpu = |flags: u8, imports: bool| {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[16..20].copy_from_slice(&[0x04, 0xff, 62, 0]);
        bytes[48] = flags;
        let mut own = image(&bytes, "spir64_x86_64", &[("compile_target", array(b"spir64_x86_64"))]);
        if imports {
            let properties = vec![Property { name: "foo", value: Value::U32(1) }];
            own.properties.sets.push(PropertySet { name: set::IMPORTED, properties });
        }
        own
    };
    let table = device::table();
    let on = |image: &Image<'static>, spelling: &str| {
        let found = table.resolve(spelling).unwrap();
        fit(&examine_image(image, Epoch::From2026), &Subject::new(found.targets[0]).with_march(found.march)).verdict()
    };
    // 3 is AVX2, the baseline; 4 AVX-512 of Skylake servers; 9 Granite Rapids.
    for (flags, spelling, expected) in [
        (3, "spir64_x86_64", Verdict::Compatible),
        (4, "spir64_x86_64", Verdict::Unknown),
        (4, "avx2", Verdict::Incompatible),
        (4, "spr", Verdict::Compatible),
        (9, "intel_cpu_spr", Verdict::Incompatible),
        (9, "intel_cpu_gnr", Verdict::Compatible),
    ] {
        assert_eq!(on(&cpu(flags, false), spelling), expected, "{flags} on {spelling}");
    }
    assert_eq!(on(&cpu(3, true), "avx2"), Verdict::Incompatible);
    assert_eq!(
        judge(
            &{
                let mut own = spirv(&[]);
                own.properties.sets.push(PropertySet {
                    name: set::IMPORTED,
                    properties: vec![Property { name: "foo", value: Value::U32(1) }],
                });
                own
            },
            "spir64_x86_64"
        )
        .verdict(),
        Verdict::Unknown
    );
}

fn choose(images: &[Image<'static>], kernel: &str, target: &str) -> Choice {
    let examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
    let of_kernel = (0..examined.len()).filter(|at| examined[*at].kernels.iter().any(|name| name == kernel)).collect();
    choice::choose_among(&examined, of_kernel, kernel, &Subject::new(device::table().target(target).unwrap()))
}

#[test]
fn the_choice_has_its_traps() {
    let plain = || spirv(&[]);
    let gen_any = || image(b"INTC", "spir64_gen", &[]);
    let gen_for = |name: &[u8]| image(b"INTC", "spir64_gen", &[("compile_target", array(name))]);
    // Level Zero: the first native image, else the first SPIR-V.
    assert_eq!(choose(&[plain(), gen_for(b"intel_gpu_pvc")], "k", "intel_gpu_pvc").chosen, Some(1));
    assert_eq!(choose(&[plain(), gen_for(b"intel_gpu_pvc")], "k", "intel_gpu_skl").chosen, Some(0));
    // Native code for no GPU in particular is taken for any.
    let any = choose(&[plain(), gen_any()], "k", "intel_gpu_skl");
    assert_eq!((any.chosen, any.traps.as_slice(), any.unsure), (Some(1), &[Trap::AnyGpu][..], true));
    // A native image that fails the check hides SPIR-V that would run.
    let strict =
        image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_acm_g10")), ("aspects", words(&[6]))]);
    let hidden = choose(&[plain(), strict], "k", "intel_gpu_acm_g10");
    assert_eq!(hidden.chosen, Some(1));
    assert!(hidden.failure.unwrap().contains("aspect::fp64"));
    assert_eq!(hidden.traps, [Trap::NoFallback]);
    // The same kernel twice: which one is taken is not specified.
    assert_eq!(choose(&[plain(), plain()], "k", "intel_gpu_pvc").traps, [Trap::Ambiguous]);
    // Nothing for the device, and no such kernel.
    let none = choose(&[gen_for(b"intel_gpu_pvc"), gen_for(b"intel_gpu_skl")], "k", "intel_gpu_acm_g10");
    assert_eq!(
        none.failure.as_deref(),
        Some(
            "Kernel k has no image for the selected device. Its available images target: [intel_gpu_pvc, intel_gpu_skl]."
        )
    );
    assert_eq!((none.chosen, none.passed_over.len()), (None, 2));
    assert_eq!(
        choose(&[plain()], "other", "intel_gpu_pvc").failure.as_deref(),
        Some("No kernel named other was found")
    );
    // CPU code with imports is chosen and then not linked.
    let mut importing = image(b"\x7fELF", "spir64_x86_64", &[]);
    importing
        .properties
        .sets
        .push(PropertySet { name: set::IMPORTED, properties: vec![Property { name: "foo", value: Value::U32(1) }] });
    let stuck = choose(&[plain(), importing], "k", "spir64_x86_64");
    assert_eq!((stuck.chosen, stuck.traps.as_slice()), (Some(1), &[Trap::NativeImports, Trap::NoFallback][..]));
    // No image for FPGAs matches any device; SPIR-V is what is left.
    assert_eq!(choose(&[image(b"\x7fELF", "spir64_fpga", &[]), plain()], "k", "spir64_fpga").chosen, Some(1));
}

#[test]
fn numbers_of_targets_differ_from_each_other_and_from_those_of_aspects() {
    let table = device::table();
    let mut numbers: Vec<u32> =
        table.targets().iter().map(|target| crate::bundle::requirements::target_number(&target.name)).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    assert!(numbers.iter().all(|number| *number >= 0x4000_0000));
}
