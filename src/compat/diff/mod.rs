//! What changed between two builds of the same device code?
//!
//! Each file is first reduced to what counts ([`snapshot`]), so that files of any size are looked at one by one; then two
//! snapshots are compared kernel by kernel, target by target and property set by property set ([`compare`]), and what
//! changed is held against budgets ([`budget`]).
//!
//! Files are paired by their paths below what was named ([`stem`]), without what changes with every release: the versions of
//! shared libraries (`libfoo.so.6.1` is `libfoo.so`), Python's tags (`x.cpython-311-x86_64-linux-gnu.so`, `x.cp311-win_amd64.pyd`) and the
//! hashes that wheels put into the names of libraries (`libfoo-1a2b3c4d.so`).

pub(crate) mod budget;
pub mod compare;
pub mod snapshot;

/// Returns the part of a path that stays from build to build.
pub(crate) fn stem(path: &str) -> String {
    let path = path.replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
    let mut parts: Vec<&str> = name.split('.').collect();
    // After `so` comes a version.
    if let Some(so) = parts.iter().position(|part| *part == "so")
        && parts.iter().skip(so).skip(1).all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        parts.truncate(so.saturating_add(1));
    }
    let tag =
        |part: &&str| part.starts_with("cpython-") || part.starts_with("cp3") && part.contains('-') || *part == "abi3";
    let first = parts.first().map(|first| without_hash(first).to_owned()).unwrap_or_default();
    let rest = parts.iter().skip(1).filter(|part| !tag(part)).copied();
    let name = std::iter::once(first.as_str()).chain(rest).collect::<Vec<_>>().join(".");
    if folder.is_empty() { name } else { format!("{folder}/{name}") }
}

/// A name without a hash of eight digits or more at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, hash)) if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    }
}

/// The path of a file below the argument that named it or what holds it: of `a.whl!x/y.so` and `dir/x/y.so` that is
/// `x/y.so`; nothing of a file that was named itself.
pub(crate) fn below<'p>(argument: &str, path: &'p str) -> &'p str {
    path.strip_prefix(argument).map_or(path, |rest| rest.trim_start_matches(['/', '!', '\\']))
}

#[cfg(test)]
mod pair_tests {
    use super::*;

    #[test]
    fn versions_and_tags_are_no_part_of_the_name() {
        for (path, expected) in [
            ("a/libfoo.so.6.1", "a/libfoo.so"),
            ("x.cpython-311-x86_64-linux-gnu.so", "x.so"),
            ("dpnp\\x.cp311-win_amd64.pyd", "dpnp/x.pyd"),
            ("libs/libbar-1a2b3c4d.so.2", "libs/libbar.so"),
            ("libs/libbar-release.so", "libs/libbar-release.so"),
            ("app", "app"),
            ("lib.so.d/x.spv", "lib.so.d/x.spv"),
        ] {
            assert_eq!(stem(path), expected);
        }
        assert_eq!(below("/x/a.whl", "/x/a.whl!b/c.so"), "b/c.so");
        assert_eq!(below("dir/", "dir/b/c.so"), "b/c.so");
        assert_eq!(below("a.so", "a.so"), "");
    }
}

#[cfg(test)]
mod tests {
    use super::budget::{Budgets, Forbidden, Growth, breaches};
    use super::compare::{Change, Fate, ImageChange, What, compare};
    use super::snapshot::{About, KernelCoverage, KernelShots, Shot, Snapshot, Total, Traits};
    use crate::native::Coverage;
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    fn shot(body: u8, bytes: u64) -> Shot {
        let traits = Traits { arguments: vec!["int* global 8".into()], ..Traits::default() }.into();
        let about = About { bytes, image: [body; 32], traits, ..About::default() };
        Shot { body: Some([body; 16]), about: about.into() }
    }

    fn snapshot(kernels: &[(&str, &[(&str, Shot)])]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (name, shots) in kernels {
            for (target, shot) in *shots {
                let total = snapshot.targets.entry((*target).to_owned()).or_default();
                *total = total.plus(Total { images: 1, bytes: shot.bytes, stored: shot.bytes });
                let own = &mut snapshot.kernels.entry((*name).into()).or_default().shots;
                own.push(((*target).into(), shot.clone()));
                own.sort_by(|one, other| one.0.cmp(&other.0));
            }
        }
        snapshot
    }

    #[test]
    fn kernels_come_go_and_take_new_names() {
        let old = snapshot(&[
            ("gone", &[("spir64", shot(1, 10))]),
            ("kept", &[("spir64", shot(2, 10))]),
            ("before", &[("spir64", shot(3, 10))]),
        ]);
        let new = snapshot(&[
            ("kept", &[("spir64", shot(2, 10))]),
            ("after", &[("spir64", shot(3, 10))]),
            ("come", &[("spir64", shot(4, 10))]),
        ]);
        let diff = compare(&old, &new, &[]);
        let fates: Vec<(&str, &Fate)> = diff.diffs.iter().map(|one| (one.name.as_str(), &one.fate)).collect();
        let renamed = Fate::Renamed { from: "before".into() };
        assert_eq!(fates, [("after", &renamed), ("come", &Fate::Added), ("gone", &Fate::Removed)]);
        assert_eq!((diff.unchanged, diff.kernels), (1, [3, 3]));
        assert!(diff.diffs[0].changes.is_empty());
        let same = compare(&old, &old, &[]);
        assert!(!same.differs() && same.unchanged == 3);
    }

    /// Native code is compared by its image, which counts where all else that changed is ignored.
    #[test]
    fn native_code_changed_whatever_is_ignored() {
        let native = |image: u8, bytes: u64| {
            let mut shot = shot(image, bytes);
            shot.body = None;
            snapshot(&[("k", &[("avx2", shot)])])
        };
        let told = |ignored: &[What]| -> Vec<What> {
            let diff = compare(&native(1, 10), &native(2, 12), ignored);
            diff.diffs.iter().flat_map(|kernel| kernel.changes.iter().map(|change| change.what)).collect()
        };
        assert_eq!(told(&[]), [What::Bytes]);
        assert_eq!(told(&[What::Bytes]), [What::Code]);
        assert!(told(&[What::Bytes, What::Code]).is_empty());
    }

    #[test]
    fn each_way_to_change_is_told() {
        let before = shot(1, 10);
        let mut after = shot(2, 14);
        let about = Arc::make_mut(&mut after.about);
        about.options = "-O3".into();
        let traits = Arc::make_mut(&mut about.traits);
        traits.arguments = vec!["long* global 8".into(), "int private 4".into()];
        traits.aspects = ["fp64".to_owned()].into();
        traits.attributes = [("sub-group size", "16".to_owned())].into();
        traits.constants = vec!["width".into()];
        traits.resources = [("spill", 64)].into();
        traits.properties = BTreeMap::from([("SYCL/assert used".to_owned(), "1".to_owned())]);
        let old = snapshot(&[("k", &[("spir64", before.clone()), ("avx2", before.clone())])]);
        let new = snapshot(&[("k", &[("spir64", after), ("intel_gpu_pvc", before)])]);
        let diff = compare(&old, &new, &[]);
        let told: Vec<What> = diff.diffs[0].changes.iter().map(|change| change.what).collect();
        let expected = [
            What::Arguments,
            What::Arguments,
            What::Aspects,
            What::Attributes,
            What::Constants,
            What::Resources,
            What::Options,
            What::Properties,
            What::Targets,
            What::Targets,
            What::Bytes,
            What::Code,
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (diff.gained().collect::<Vec<_>>(), diff.lost().collect::<Vec<_>>()),
            (vec!["intel_gpu_pvc"], vec!["avx2"])
        );
        let spill = diff.diffs[0].changes.iter().find(|change| change.name == "spill").unwrap();
        assert_eq!((spill.old.as_deref(), spill.new.as_deref()), (None, Some("64")));
        let ignored = compare(&old, &new, &What::ALL);
        assert!(ignored.diffs.is_empty() && ignored.unchanged == 1);
    }

    /// Several images of a kernel for one target, listed in another order, of which all changed.
    #[test]
    fn images_of_the_same_code_are_compared() {
        let one = |body: u8, argument: &str, options: &str| {
            let mut shot = shot(body, 10);
            let about = Arc::make_mut(&mut shot.about);
            about.options = options.into();
            Arc::make_mut(&mut about.traits).arguments = vec![argument.to_owned()];
            ("spir64", shot)
        };
        let changes = |old: &[(&str, Shot)], new: &[(&str, Shot)]| -> Vec<(What, String)> {
            let diff = compare(&snapshot(&[("k", old)]), &snapshot(&[("k", new)]), &[]);
            let all = diff.diffs.into_iter().flat_map(|kernel| kernel.changes);
            all.map(|change| (change.what, change.old.unwrap_or_default())).collect()
        };
        let old = [one(1, "int*", "-O1"), one(2, "long*", "-O1")];
        let swapped = [one(2, "long*", "-O3"), one(1, "int*", "-O3")];
        assert_eq!(changes(&old, &swapped), [(What::Options, "-O1".to_owned())]);
        // Of other code, and known by what else they say.
        let (int, long) = (old[0].clone(), old[1].clone());
        let again = |body: u8, (target, known): &(&'static str, Shot)| {
            let mut shot = known.clone();
            shot.body = Some([body; 16]);
            (*target, shot)
        };
        let other = [again(3, &long), again(4, &int)];
        assert_eq!(changes(&old, &other), [(What::Code, String::new())]);
        // One that is there twice stands for no other.
        let twice = [int.clone(), int.clone()];
        let told = [(What::Arguments, "long*".to_owned()), (What::Code, String::new())];
        assert_eq!(changes(&old, &twice), told);
    }

    /// Kernels have their arguments each for itself in a file, and share them here.
    #[test]
    fn kernels_with_the_same_arguments_are_compared_whole() {
        let traits: Arc<Traits> = Traits { arguments: vec!["x".repeat(1 << 20)], ..Traits::default() }.into();
        let build = |code: u8| {
            let shots: Vec<(&str, Shot)> = (0..2u8)
                .map(|image| {
                    let mut shot = shot(code + image, 10);
                    Arc::make_mut(&mut shot.about).traits = Arc::clone(&traits);
                    ("spir64", shot)
                })
                .collect();
            let names: Vec<String> = (0..100).map(|kernel| format!("k{kernel}")).collect();
            snapshot(&names.iter().map(|name| (name.as_str(), shots.as_slice())).collect::<Vec<_>>())
        };
        let diff = compare(&build(1), &build(8), &[]);
        let changes: Vec<&Change> = diff.diffs.iter().flat_map(|kernel| &kernel.changes).collect();
        assert_eq!(changes.len(), 100);
        assert!(changes.iter().all(|change| change.what == What::Code && change.name.is_empty()));
    }

    #[test]
    fn what_images_say_is_told_once() {
        let say =
            |value: &str| Arc::new(BTreeMap::from([("SYCL/misc properties: optLevel".to_owned(), value.to_owned())]));
        let many = |shared: &Arc<BTreeMap<String, String>>| {
            let mut shot = shot(1, 10);
            Arc::make_mut(&mut shot.about).shared = shared.clone();
            let mut one = snapshot(&[("a", &[("spir64", shot.clone())]), ("b", &[("spir64", shot)])]);
            let values = one.properties.entry("spir64".into()).or_default();
            values.entry("SYCL/exported symbols: f".into()).or_default().insert("1".into());
            one.libraries.entry("spir64".into()).or_default().insert([7; 32], BTreeSet::new());
            one
        };
        let (old, mut new) = (many(&say("3")), many(&say("2")));
        assert!(!compare(&old, &many(&say("3")), &[]).differs());
        let values = new.properties.get_mut("spir64").unwrap();
        values.clear();
        values.entry("SYCL/exported symbols: g".into()).or_default().insert("1".into());
        new.libraries.get_mut("spir64").unwrap().insert([8; 32], BTreeSet::new());
        let diff = compare(&old, &new, &[]);
        assert!(diff.differs() && diff.diffs.is_empty() && diff.unchanged == 2);
        let told: Vec<Told<'_>> = diff.images.iter().map(told).collect();
        let expected = [
            (What::Properties, "SYCL/exported symbols: f", Some("1"), None, 0),
            (What::Properties, "SYCL/exported symbols: g", None, Some("1"), 0),
            (What::Properties, "SYCL/misc properties: optLevel", Some("3"), Some("2"), 2),
            (What::Code, "", None, Some("1"), 0),
        ];
        assert_eq!(told, expected);
        assert!(!compare(&old, &new, &[What::Properties, What::Code]).differs());
    }

    /// A change: its kind, its name, from what, to what, for how many kernels.
    type Told<'c> = (What, &'c str, Option<&'c str>, Option<&'c str>, usize);

    fn told(one: &ImageChange) -> Told<'_> {
        let Change { what, name, old, new, .. } = &one.change;
        (*what, name, old.as_deref(), new.as_deref(), one.kernels)
    }

    #[test]
    fn gpus_that_a_kernel_gains_and_loses_are_told() {
        let covered = |gpus: &[(&str, Coverage)], spirv| KernelCoverage {
            gpus: gpus.iter().map(|(gpu, coverage)| ((*gpu).to_owned(), *coverage)).collect(),
            spirv,
        };
        let build = |coverage: KernelCoverage| {
            let of_each = KernelShots { coverage: coverage.into(), ..KernelShots::default() };
            Snapshot { kernels: ["k", "l"].map(|name| (name.into(), of_each.clone())).into(), ..Snapshot::default() }
        };
        let old = build(covered(&[("pvc", Coverage::Native), ("dg1", Coverage::Jit)], false));
        let beside = build(covered(&[("bmg", Coverage::Native)], true));
        let changes = |old: &Snapshot, new: &Snapshot| {
            let all = compare(old, new, &[]).images.into_iter();
            all.map(|one| (one.change.target, one.change.old.unwrap(), one.change.new.unwrap(), one.kernels))
                .collect::<Vec<_>>()
        };
        let line = |gpu: &str, old: &str, new: &str| (gpu.to_owned(), old.to_owned(), new.to_owned(), 2);
        // SPIR-V beside is compiled on every GPU, those that nothing names too.
        assert_eq!(changes(&old, &beside), [line("bmg", "none", "native"), line("pvc", "native", "jit")]);
        assert_eq!(changes(&beside, &build(covered(&[], false))), [line("bmg", "native", "none")]);
        assert!(!compare(&old, &beside, &[What::Targets]).differs());
        assert_eq!(changes(&old, &old), []);
    }

    #[test]
    fn budgets_are_held() {
        let mut grown = shot(2, 1100);
        let traits = Arc::make_mut(&mut Arc::make_mut(&mut grown.about).traits);
        traits.resources = [("spill", 64)].into();
        traits.aspects = ["fp64".to_owned()].into();
        let old = snapshot(&[("k", &[("spir64", shot(1, 1000))]), ("gone", &[("avx2", shot(3, 10))])]);
        let new = snapshot(&[("k", &[("spir64", grown)])]);
        let diff = compare(&old, &new, &[]);
        let files =
            [("a.so".to_owned(), [true, true], &diff), ("b.so".to_owned(), [true, false], &compare(&old, &old, &[]))];
        let held = |budgets: Budgets| breaches(&budgets, &files).into_iter().map(|one| one.message).collect::<Vec<_>>();
        assert!(held(Budgets::default()).is_empty());
        assert!(held(Budgets { kernel: Some(Growth::parse("10%").unwrap()), ..Budgets::default() }).is_empty());
        let messages = held(Budgets {
            total: Some(Growth::parse("1%").unwrap()),
            kernel: Some(Growth::parse("9.99%").unwrap()),
            spill: Some(Growth::parse("63").unwrap()),
            forbidden: vec![
                Forbidden::LostFiles,
                Forbidden::LostTargets,
                Forbidden::LostKernels,
                Forbidden::GainedRequirements,
                Forbidden::ChangedArguments,
            ],
        });
        // 2020 bytes became 2110: more than one per cent.
        assert_eq!(
            messages,
            [
                "the device code grew from 2020 to 2110 bytes; the budget is 1 %",
                "no image for avx2 any more",
                "the kernel is gone",
                "aspects fp64: from none to fp64 on spir64",
                "spill: from none to 64 on spir64; the budget is 63 B",
                "bytes: from 1000 to 1100 on spir64; the budget is 9.99 %",
                "the file is gone",
            ]
        );
    }

    #[test]
    fn growth_is_a_size_or_a_share() {
        for (text, growth) in [
            ("4096", Growth::Bytes(4096)),
            ("64KiB", Growth::Bytes(65536)),
            ("1.5 MiB", Growth::Bytes(1_572_864)),
            ("5%", Growth::Share(500)),
            ("0.25%", Growth::Share(25)),
        ] {
            assert_eq!(Growth::parse(text).unwrap(), growth, "{text}");
        }
        for bad in ["", "%", "-5%", "5 apples", "1.2.3", "1e3", "99999999999999999999GiB"] {
            assert!(Growth::parse(bad).is_err(), "{bad}");
        }
        assert!(Growth::Share(500).allows(100, 105) && !Growth::Share(500).allows(100, 106));
        assert!(Growth::Bytes(0).allows(5, 4) && !Growth::Share(500).allows(0, 1));
    }
}
