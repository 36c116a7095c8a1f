//! Does the target table hold what it should, in the order and under the names that people use?
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

use proptest::prelude::*;
use std::collections::HashMap;
use sycl_bundle::bundle::aspect;
use sycl_bundle::device::table::FILES;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::device::target::{DeviceType, Has};
use sycl_bundle::device::{cpu::CpuArch, table};
use sycl_bundle::error::ErrorKind;

fn aspects() -> Vec<&'static str> {
    aspect::names().collect()
}

fn names(spelling: &str) -> Vec<String> {
    let found = table().resolve(spelling).unwrap_or_else(|error| panic!("{spelling}: {error}"));
    found.targets.iter().map(|target| target.name.clone()).collect()
}

#[test]
fn the_built_in_files_are_sound() {
    let mut table = TargetTable::default();
    for (name, text) in FILES {
        let added = table.add(name, text, &aspects());
        assert!(added.faults.is_empty() && added.warnings.is_empty(), "{:?} {:?}", added.faults, added.warnings);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{name}: a line is too long");
    }
    assert!(table.targets().len() >= 93 + 4, "{} targets", table.targets().len());
    for target in table.targets() {
        assert!(!target.source.is_empty(), "{}: no source", target.name);
        // Each fact has its source, by its own name or by `all`.
        let named = |fact: &str| target.source.iter().any(|source| source.facts == fact || source.facts == "all");
        for (fact, stated) in [
            ("aspects", !target.aspects.is_empty() && !named("more-aspects")),
            ("sub-group-sizes", target.sub_group_sizes.is_some()),
            ("max-work-group-size", target.max_work_group_size.is_some()),
            ("spirv-version", target.spirv_version.is_some()),
            ("spirv-extensions", target.spirv_extensions.is_some()),
            ("matrix", target.matrix.is_some()),
            ("architecture-id", target.architecture_id.is_some()),
            ("pci-device-ids", !target.pci_device_ids.is_empty()),
            ("ip-versions", !target.ip_versions.is_empty()),
            ("local-memory", target.local_memory.is_some()),
        ] {
            assert!(!stated || named(fact), "{}: no source for {fact}", target.name);
        }
        let matrix = target.matrix.as_ref().is_some_and(|matrix| !matrix.is_empty());
        if target.name.starts_with("intel_") {
            assert_eq!(matrix, target.has("ext_intel_matrix") == Has::Yes, "{}", target.name);
        }
        assert!(target.may_support_other_aspects || !target.aspects.is_empty(), "{}: nothing at all", target.name);
    }
    for family in table.families() {
        assert!(!family.source.is_empty() && !family.members.is_empty(), "{}", family.name);
    }
}

#[test]
fn no_two_targets_share_what_identifies_them() {
    let mut seen = HashMap::new();
    for target in table().targets() {
        let ids = target.pci_device_ids.iter().map(|id| format!("PCI {id:04x}"));
        let versions = target.ip_versions.iter().map(|ip| format!("IP {ip}"));
        let architecture = target.architecture_id.map(|id| format!("id {id:x}"));
        let names = target.aliases.iter().chain([&target.name]).map(|name| name.replace('-', "_"));
        for own in ids.chain(versions).chain(architecture).chain(names) {
            if let Some(other) = seen.insert(own.clone(), &target.name) {
                panic!("{own} is of {other} and {}", target.name);
            }
        }
    }
}

#[test]
fn every_spelling_resolves() {
    let mut count = 0;
    for line in include_str!("targets/spellings.txt").lines().filter(|line| !line.starts_with('#')) {
        let (spelling, canonical) = line.split_once(' ').unwrap();
        assert_eq!(names(spelling), [canonical], "{spelling}");
        count += 1;
    }
    assert!(count > 400, "{count}");
}

#[test]
fn families_and_ranges_mean_several() {
    let acm = ["intel_gpu_acm_g10", "intel_gpu_acm_g11", "intel_gpu_acm_g12"];
    for spelling in ["dg2", "intel_gpu_dg2", "xe-hpg", "xe_hpg", "12.55.8:12.57.0", "acm-g10:acm-g12", "12.55:12.57.0"]
    {
        assert_eq!(names(spelling), acm, "{spelling}");
    }
    assert_eq!(names("xe2"), ["intel_gpu_bmg_g21", "intel_gpu_bmg_g31", "intel_gpu_lnl_m"]);
    assert_eq!(names("gen9").len(), 8);
    assert_eq!(names("gen12lp"), names("xe-lp"));
    assert_eq!(names("12.55"), acm[..1]);
    // As `ocloc compile --help` explains its ranges.
    assert_eq!(names("dg1:acm-g10"), ["intel_gpu_dg1", "intel_gpu_acm_g10"]);
    assert_eq!(names(":dg1").len(), names("gen8").len() + names("gen9").len() + 2 + 6);
    assert_eq!(names("xe3p:"), ["intel_gpu_nvl_p", "intel_gpu_cri"]);
    assert_eq!(table().resolve("xe2").unwrap().family.as_deref(), Some("xe2"));
}

#[test]
fn cpus_go_by_their_instruction_sets() {
    for name in CpuArch::names() {
        let found = table().resolve(name).unwrap();
        let target = &found.targets[0];
        if target.device_type == Some(DeviceType::Gpu) {
            // clang's --offload-arch takes these for GPUs too.
            assert!(["bdw", "cfl", "icl"].contains(&name), "{name}");
            assert!(found.note.is_some() && found.march.is_none(), "{name}");
        } else {
            assert_eq!((target.name.as_str(), found.march), ("spir64_x86_64", CpuArch::parse(name).ok()), "{name}");
        }
    }
}

#[test]
fn what_means_nothing_says_what_is_near() {
    let error = |spelling: &str| {
        let error = table().resolve(spelling).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{spelling}");
        format!("{error}; {}", error.remedy().unwrap_or_default())
    };
    assert_eq!(error("intel_gpu_pvcc"), "`intel_gpu_pvcc` is no target; did you mean `intel_gpu_pvc`?");
    assert_eq!(error("acm-g01"), "`acm-g01` is no target; did you mean `acm_g10` or `acm_g11`?");
    assert_eq!(error("quantum"), "`quantum` is no target; `sycl-bundle targets` lists them");
    assert_eq!(error("12.58.0").split(';').next(), Some("no target has IP version 12.58.0"));
    assert!(error("0xffff").starts_with("no target has PCI device id 0xffff"));
    assert!(error("xe2:dg1").contains("write `dg1:xe2`"));
    assert!(error("sm_80:").contains("has no IP version"));
    for nonsense in ["", ":", "::", "0x", "0x-1", ".", "_", "1.2.3.4", "spir64-", "\u{1b}[31m", "a,b"] {
        error(nonsense);
    }
}

#[test]
fn known_facts_about_known_hardware() {
    let get = |name: &str| table().target(name).unwrap();
    for (name, fp64) in [
        ("intel_gpu_skl", Has::Yes),
        ("intel_gpu_icllp", Has::No),
        ("intel_gpu_tgllp", Has::No),
        ("intel_gpu_acm_g10", Has::No),
        ("intel_gpu_mtl_h", Has::Yes),
        ("intel_gpu_pvc", Has::Yes),
        ("spir64_gen", Has::Unknown),
        ("spir64", Has::Unknown),
        ("spir64_x86_64", Has::Yes),
        ("nvidia_gpu_sm_50", Has::Yes),
        ("amd_gpu_gfx803", Has::Yes),
    ] {
        assert_eq!(get(name).has("fp64"), fp64, "{name}");
    }
    assert_eq!(get("intel_gpu_pvc").sub_group_sizes.as_deref(), Some(&[16, 32][..]));
    assert_eq!(get("intel_gpu_pvc").has("ext_intel_legacy_image"), Has::No);
    assert_eq!(get("intel_gpu_pvc").ocloc_device(), Some("pvc"));
    assert_eq!(get("intel_gpu_acm_g10").has("ext_oneapi_bindless_images"), Has::Unknown);
    assert_eq!(get("nvidia_gpu_sm_52").has("fp16"), Has::Unknown);
    assert_eq!(get("nvidia_gpu_sm_90").has("ext_oneapi_cuda_cluster_group"), Has::Yes);
    assert_eq!(get("nvidia_gpu_sm_80").matrix.as_ref().unwrap().len(), 23);
    assert_eq!(get("intel_cpu_spr").has("ext_intel_matrix"), Has::Yes);
    assert_eq!(get("x86_64").has("ext_intel_matrix"), Has::No);
    assert_eq!(get("amd_gpu_gfx942").sub_group_sizes.as_deref(), Some(&[64][..]));
    assert_eq!(get("intel_gpu_bmg_g31").has("ext_intel_matrix"), Has::Unknown);
    assert_eq!(get("intel_gpu_bmg_g31").matrix, None);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[-a-z0-9_:\\[\\]{}&*!|>'\"#%@,? \n\t]{0,300}") {
        let mut own = TargetTable::default();
        own.add("x.yaml", &text, &["fp16"]);
    }

    #[test]
    fn no_damage_to_a_file_panics(file in 0..FILES.len(), at in 0usize..20_000, insert in "\\PC{0,6}", cut in 0usize..40) {
        let text = FILES[file].1;
        let mut at = at % text.len().max(1);
        while !text.is_char_boundary(at) { at -= 1; }
        let mut end = (at + cut).min(text.len());
        while !text.is_char_boundary(end) { end -= 1; }
        let damaged = format!("{}{insert}{}", &text[..at], &text[end.max(at)..]);
        let mut own = table().clone();
        own.add("x.yaml", &damaged, &aspects());
    }

    #[test]
    fn no_spelling_panics(spelling in "\\PC{0,40}|[0-9a-fx._:-]{0,24}|(intel_gpu_|gfx|sm_|xe|gen)[0-9a-z_:-]{0,9}") {
        let _ = table().resolve(&spelling);
    }
}
