//! Is every kernel judged by the image that it would run from, and are the reasons told once and in full?

use super::*;
use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value};
use crate::bundle::property_sets::set;
use crate::compat::examine::examine_image;
use crate::compat::fit::tests::{array, image, module, words};
use crate::device;
use crate::native::{Native, Part};

fn spirv(required: &[(&'static str, Value<'static>)]) -> Image<'static> {
    image(&module(0x0001_0400, &[]), "spir64", required)
}

fn numbered(images: Vec<Image<'static>>) -> Vec<Image<'static>> {
    images.into_iter().enumerate().map(|(index, image)| Image { index, ..image }).collect()
}

/// Findings as rule, certainty, kernel, image.
fn judged(
    images: Vec<Image<'static>>,
    target: &str,
    demand: &Demand,
) -> Vec<(&'static str, bool, String, Option<usize>)> {
    let images = numbered(images);
    let examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
    let codes = codes(&examined);
    let gate = Gate::new(&examined, &codes, |_| true);
    let judged = gate.judge(&Subject::new(device::table().target(target).unwrap()), demand);
    judged
        .findings()
        .map(|one| (one.finding.rule.name(), one.finding.certain, one.kernel.to_string(), one.image))
        .collect()
}

fn named(mut image: Image<'static>, entries: &[&'static str]) -> Image<'static> {
    image.entries = entries.to_vec();
    image
}

#[test]
fn each_kernel_goes_by_its_own_image() {
    let wide = || spirv(&[("aspects", words(&[6]))]);
    let images = || vec![named(spirv(&[]), &["a", "b"]), named(wide(), &["c"]), named(wide(), &["d"])];
    let any = Demand::default();
    assert_eq!(judged(images(), "intel_gpu_pvc", &any), []);
    let of = |kernel: &str, image| ("aspect", true, kernel.to_owned(), Some(image));
    assert_eq!(judged(images(), "intel_gpu_acm_g10", &any), [of("c", 1), of("d", 2)]);
    // The runtime does not fall back: native code that is chosen decides, though SPIR-V would run.
    let strict =
        image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_acm_g10")), ("aspects", words(&[6]))]);
    assert_eq!(judged(vec![spirv(&[]), strict], "intel_gpu_acm_g10", &any), [of("k", 1)]);
}

#[test]
fn what_is_not_known_is_told_as_not_sure() {
    let open = vec![spirv(&[("aspects", words(&[40]))])];
    assert_eq!(judged(open, "intel_gpu_pvc", &Demand::default()), [("aspect", false, "k".to_owned(), Some(0))]);
}

#[test]
fn without_an_image_there_is_nothing_to_run() {
    let pvc = || vec![image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))])];
    let any = Demand::default();
    assert_eq!(judged(pvc(), "intel_gpu_acm_g10", &any), [("no-image", true, "k".to_owned(), None)]);
    assert_eq!(judged(vec![spirv(&[])], "nvidia_gpu_sm_90", &any), [("no-image", true, "k".to_owned(), None)]);
}

#[test]
fn demands_beyond_running() {
    let executable = Demand { states: vec![State::Executable], ..Demand::default() };
    let native = Demand { native: true, ..Demand::default() };
    let rule = |images, demand: &Demand| judged(images, "intel_gpu_pvc", demand).first().map(|found| found.0);
    let pvc = || image(b"INTC", "spir64_gen", &[("compile_target", array(b"intel_gpu_pvc"))]);
    assert_eq!(rule(vec![spirv(&[])], &executable), Some("state"));
    assert_eq!(rule(vec![spirv(&[])], &native), Some("not-native"));
    assert_eq!(rule(vec![spirv(&[]), pvc()], &executable), None);
    assert_eq!(rule(vec![spirv(&[]), pvc()], &native), None);
}

/// Native code for GPUs, each a kernel's image; with SPIR-V inside or without.
fn native(devices: &[&str], spirv: bool) -> Native {
    let part = |device: &&str| Part { devices: vec![(*device).to_owned()], spirv, ..Part::new(Format::Zebin, 0) };
    Native { container: None, parts: devices.iter().map(part).collect(), problems: Vec::new() }
}

/// Rules that are broken on a GPU: of SPIR-V and one native image for each of these.
fn bundled(code: Vec<(Option<&'static str>, Native)>, target: &str, demand: &Demand) -> Vec<(&'static str, String)> {
    let label = |(label, _): &(Option<&'static str>, Native)| {
        let label = label.map(|label| ("compile_target", array(label.as_bytes())));
        image(b"INTC", "spir64_gen", label.as_slice())
    };
    let images = numbered(std::iter::once(spirv(&[])).chain(code.iter().map(label)).collect());
    let mut examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
    for (image, (_, native)) in examined.iter_mut().skip(1).zip(code) {
        image.native = Some(native);
    }
    let codes = codes(&examined);
    let gate = Gate::new(&examined, &codes, |_| true);
    let judged = gate.judge(&Subject::new(device::table().target(target).unwrap()), demand);
    judged.findings().map(|one| (one.finding.rule.name(), one.finding.message.clone())).collect()
}

/// As libsycl 2026.2 and driver 26.27 did: bundles of the kernel throw, launches work.
#[test]
fn code_for_another_gpu_breaks_executable_bundles() {
    let demand = Demand { states: vec![State::Executable], bundles: true, ..Demand::default() };
    let (pvc, bmg) = ("intel_gpu_pvc", "intel_gpu_bmg_g21");
    let both = |spirv| vec![(Some(pvc), native(&[pvc], spirv)), (Some(bmg), native(&[bmg], spirv))];
    for target in [pvc, bmg] {
        let found = bundled(both(false), target, &demand);
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["kernel-bundle"], "{target}");
        assert_eq!(bundled(both(false), target, &Demand::default()), []);
        assert_eq!(bundled(both(true), target, &demand), []);
        assert_eq!(bundled(vec![(None, native(&[pvc, bmg], false))], target, &demand), []);
    }
    let found = bundled(both(false), pvc, &demand);
    assert!(found[0].1.contains(bmg) && !found[0].1.contains("for intel_gpu_pvc"), "{found:?}");
}

#[test]
fn images_of_different_gpus_are_of_different_kinds() {
    let alike = |device| (None, native(&[device], false));
    let found = bundled(vec![alike("intel_gpu_pvc")], "intel_gpu_pvc", &Demand::default());
    assert_eq!(found, []);
    let images = numbered(vec![
        named(image(b"INTC", "spir64_gen", &[]), &["a"]),
        named(image(b"INTC", "spir64_gen", &[]), &["b"]),
    ]);
    let mut examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
    for (image, device) in examined.iter_mut().zip(["intel_gpu_pvc", "intel_gpu_dg1"]) {
        image.native = Some(native(&[device], false));
    }
    let codes = codes(&examined);
    let gate = Gate::new(&examined, &codes, |_| true);
    let pvc = Subject::new(device::table().target("intel_gpu_pvc").unwrap());
    let judged = gate.judge(&pvc, &Demand::default());
    let found: Vec<_> = judged.findings().map(|one| (one.kernel.to_string(), one.image)).collect();
    assert_eq!(found, [("b".to_owned(), Some(1))]);
}

#[test]
fn imports_are_met_by_other_images_which_must_run_too() {
    let with = |mut image: Image<'static>, name: &'static str| {
        let properties = vec![Property { name: "foo", value: Value::U32(1) }];
        image.properties.sets.push(PropertySet { name, properties });
        image
    };
    let importing = || with(spirv(&[]), set::IMPORTED);
    let exporting = |required: &[(&'static str, Value<'static>)]| named(with(spirv(required), set::EXPORTED), &["foo"]);
    let any = Demand::default();
    assert_eq!(judged(vec![importing()], "intel_gpu_pvc", &any), [("imports", false, "k".to_owned(), Some(0))]);
    assert_eq!(judged(vec![importing(), exporting(&[])], "intel_gpu_acm_g10", &any), []);
    let wide = exporting(&[("aspects", words(&[6]))]);
    assert_eq!(judged(vec![importing(), wide], "intel_gpu_acm_g10", &any), [("aspect", true, "k".to_owned(), Some(1))]);
}

#[test]
fn fingerprints_outlive_a_rebuild_and_tell_findings_apart() {
    let finding = Arc::new(Finding {
        rule: RuleId::Aspect,
        certain: true,
        message: "words".to_owned(),
        aspect: Some("fp64".to_owned()),
        remedy: String::new(),
    });
    let of = |target, file, kernel: &str, image| {
        let kernel: Arc<str> = kernel.into();
        let (finding, kernel, image) = (&finding, &kernel, Some(image));
        fingerprint(
            target,
            file,
            &Found { finding, kernel, place: 0, image, elsewhere: None, at: image, excused: None },
        )
    };
    assert_eq!(of("t", "build/a.so", "k", 3), of("t", "/tmp/a.so", "k", 7));
    assert_ne!(of("t", "a.so", "k", 3), of("u", "a.so", "k", 3));
    assert_ne!(of("t", "a.so", "k", 3), of("t", "b.so", "k", 3));
    assert_ne!(of("t", "a.so", "k", 3), of("t", "a.so", "l", 3));
    assert_eq!(of("t", "a.so", "k", 3).len(), 32);
}

/// Kernels of a group are told apart where something else is said of one of them, and stay together where it is equal.
#[test]
fn what_is_said_of_single_kernels_changes_only_theirs() {
    let wide = || spirv(&[("aspects", words(&[6]))]);
    let images = numbered(vec![named(wide(), &["a", "b", "c"]), named(wide(), &["d"])]);
    let examined: Vec<_> = images.iter().map(|one| examine_image(one, Epoch::From2026)).collect();
    let codes = codes(&examined);
    let gate = Gate::new(&examined, &codes, |_| true);
    let target = device::table().target("intel_gpu_acm_g10").unwrap();
    let mut judged = gate.judge(&Subject::new(target), &Demand::default());
    assert_eq!(
        judged.groups().map(|(kernels, items)| (kernels.to_vec(), items.len())).collect::<Vec<_>>(),
        [(vec![0, 1, 2, 3], 1)]
    );
    judged.refine(|kernels, place, items| {
        let name = kernels.name(place)?;
        let excuse = |item: &Item| Item { excused: Some("known".into()), ..item.clone() };
        ["b", "d"].contains(&&**name).then(|| items.iter().map(excuse).collect())
    });
    let excused = |one: &Found<'_>| (one.kernel.to_string(), one.image, one.excused.is_some());
    let of = |name: &str, image, excused| (name.to_owned(), Some(image), excused);
    assert_eq!(
        judged.findings().map(|one| excused(&one)).collect::<Vec<_>>(),
        [of("a", 0, false), of("b", 0, true), of("c", 0, false), of("d", 1, true)]
    );
    assert_eq!(judged.groups().map(|(kernels, _)| kernels.to_vec()).collect::<Vec<_>>(), [vec![0, 2], vec![1, 3]]);
}

#[test]
fn forbidden_aspects_count_whatever_the_target_has() {
    let wide = named(spirv(&[("aspects", words(&[6]))]), &["a"]);
    let demand = Demand { forbidden: vec!["fp64".to_owned(), "fp16".to_owned()], ..Demand::default() };
    let found = judged(vec![wide, named(spirv(&[]), &["b"])], "intel_gpu_pvc", &demand);
    assert_eq!(found, [("forbidden-aspect", true, "a".to_owned(), Some(0))]);
}
