//! Is a policy read correctly, and is every mistake reported with its location?

use super::*;
use crate::bundle::aspect;
use crate::device;

fn read(text: &str) -> Result<Policy, Vec<String>> {
    let aspects: Vec<&str> = aspect::names().collect();
    Policy::read("p.toml", text, device::table(), &aspects)
        .map_err(|errors| errors.iter().map(|error| format!("{error} | {}", error.remedy().unwrap_or("-"))).collect())
}

fn against(rule: RuleId, aspect: &str) -> Finding {
    let aspect = Some(aspect.to_owned());
    Finding { rule, certain: true, message: String::new(), aspect, remedy: String::new() }
}

#[test]
fn the_example_is_a_policy() {
    let policy = read(EXAMPLE).unwrap();
    let names: Vec<&str> = policy.targets.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(names, ["spir64_x86_64", "intel_gpu_acm_g10", "intel_gpu_pvc"]);
    let [cpu, arc, pvc] = policy.targets.as_slice() else { panic!() };
    assert_eq!((cpu.native, arc.native, cpu.kernels.len(), pvc.kernels.len()), (true, false, 2, 1));
    assert_eq!(arc.forbidden, ["atomic64", "fp64"]);
    assert_eq!((arc.budget.bytes, arc.budget.spill, policy.budget.images), (Some(8 << 20), Some(1024), Some(400)));
    assert_eq!((policy.exceptions.len(), policy.strict), (2, true));
    assert_eq!(policy.demanded("intel_gpu_dg1", None).unwrap().forbidden, ["atomic64"]);
}

#[test]
fn exceptions_hold_through_their_last_day() {
    let policy = read(EXAMPLE).unwrap();
    let rule = RuleId::Aspect;
    let legacy = "acme::legacy_sum";
    let day = |year, month, day| Date::new(year, month, day).unwrap();
    let excuse = |today, target, kernel, aspect| policy.excuse(today, target, &against(rule, aspect), ("_Z", kernel));
    let last = day(2027, 3, 31);
    assert_eq!(excuse(last, "intel_gpu_acm_g10", legacy, "fp64"), Some(0));
    assert_eq!(excuse(day(2027, 4, 1), "intel_gpu_acm_g10", legacy, "fp64"), None);
    assert_eq!(excuse(last, "intel_gpu_pvc", legacy, "fp64"), None);
    assert_eq!(excuse(last, "intel_gpu_acm_g10", legacy, "fp16"), None);
    assert_eq!(excuse(last, "intel_gpu_acm_g10", "acme::other", "fp64"), None);
    assert_eq!(policy.excuse(last, "intel_gpu_acm_g10", &against(rule, "fp64"), ("", "")), None);
    assert_eq!(policy.expired(day(2026, 12, 31)).len(), 0);
    let expired = policy.expired(day(2027, 1, 1));
    let message = "The exception for rule not-native of kernel `acme::solve_sparse*` ended on 2026-12-31: \
                   the driver of 2026.1 cannot compile it";
    assert!(expired[0].remedy.contains("p.toml:40:1"), "{}", expired[0].remedy);
    assert_eq!(expired.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), [message]);
    assert_eq!(
        policy.exceptions[0].excuse(),
        "launched only where device.has(aspect::fp64), issue 12 (until 2027-03-31)"
    );
}

/// Returns the mistakes in the text of `[check]`, each beginning with its location.
fn wrong(text: &str) -> Vec<String> {
    read(&format!("[check]\n{text}\n")).unwrap_err()
}

#[test]
fn typos_are_told_with_their_place() {
    assert_eq!(wrong("targest = []"), ["p.toml:2:1: unknown key `targest` | did you mean `target` or `targets`?"]);
    assert_eq!(
        wrong("targets = [\"intel_gpu_pvd\"]"),
        ["p.toml:2:12: `intel_gpu_pvd` is no target | did you mean `intel_gpu_pvc`?"]
    );
    assert_eq!(wrong("forbidden-aspects = [\"fp46\"]").len(), 1);
    assert_eq!(
        wrong("targets = [\"pvc\"]\n[check.target.pvc]\nkernel = [\"*\"]"),
        ["p.toml:4:1: unknown key `kernel` | did you mean `kernels`?"]
    );
    assert_eq!(wrong("budget = { byte = 1 }"), ["p.toml:2:12: unknown key `byte` | did you mean `bytes`?"]);
    assert!(wrong("targets = [")[0].starts_with("p.toml:2:"));
    assert_eq!(read("").unwrap_err()[0], read("# nothing\n").unwrap_err()[0]);
    let exception = "targets = [\"pvc\"]\n[[check.exception]]\n";
    assert_eq!(
        wrong(exception),
        [
            "p.toml:3:1: an exception needs `kernel` | -",
            "p.toml:3:1: an exception needs `reason` | -",
            "p.toml:3:1: an exception needs `until` | -",
            "p.toml:3:1: an exception needs `rule` or `aspect`: what it is about | -",
        ]
    );
    let rule = format!("{exception}rule = \"aspects\"\nkernel = \"k\"\nreason = \"r\"\nuntil = 2026-01-01");
    assert_eq!(wrong(&rule), ["p.toml:4:8: `aspects` is no rule | did you mean `aspect`?"]);
    let day = format!("{exception}rule = \"aspect\"\nkernel = \"k\"\nreason = \"r\"\nuntil = \"2026-01-01\"");
    assert!(wrong(&day)[0].starts_with("p.toml:7:9: `until` is a text, and must be a day like"), "{:?}", wrong(&day));
}

#[test]
fn rules_that_undo_each_other_are_told_with_their_place() {
    let exception = |text: &str| format!("\n[[check.exception]]\nreason = \"r\"\nuntil = 2026-01-01\n{text}");
    let aspect = |kernel: &str| exception(&format!("aspect = \"fp64\"\nkernel = \"{kernel}\""));
    for (text, message) in [
        ("targets = [\"pvc\"]\nkernels = [\"k\"]".to_owned() + &aspect("k"), "`k` is required by `kernels` at 3:11"),
        ("targets = [\"pvc\"]\nforbidden-aspects = [\"fp64\"]".to_owned() + &aspect("*"), "forbidden to all kernels"),
        (
            "targets = [\"pvc\"]\nrequire-native = true".to_owned()
                + &exception("rule = \"not-native\"\nkernel = \"*\""),
            "native code is required of all kernels",
        ),
        ("targets = [\"pvc\"]".to_owned() + &aspect("k") + &aspect("k"), "stands at 3:1 already"),
        ("targets = [\"pvc\"]".to_owned() + &aspect("k") + "\ntargets = [\"dg1\"]", "is no target of this policy"),
        ("targets = [\"pvc\", \"intel_gpu_pvc\"]".to_owned(), "named at 2:12 already"),
        ("[check.target.pvc]\n[check.target.intel_gpu_pvc]".to_owned(), "given rules at 2:15 already"),
        ("targets = [\"dg1\"]\n[check.target.pvc]".to_owned(), "is not among `targets`"),
        ("targets = [\"spir64\"]\nrequire-native = true".to_owned(), "SPIR-V for any device"),
        ("budget = { bytes = 1 }\ntarget.pvc.budget.bytes = 2".to_owned(), "more than that of the whole file"),
        ("target.pvc = { require-native = true, budget.images = 0 }".to_owned(), "allows no image"),
        ("targets = [\"pvc\"]".to_owned() + &exception("rule = \"budget-bytes\"\nkernel = \"*\""), "raise the budget"),
        (
            "targets = [\"pvc\"]".to_owned() + &exception("rule = \"state\"\naspect = \"fp64\"\nkernel = \"*\""),
            "is about no aspect",
        ),
    ] {
        let wrong = wrong(&text);
        assert!(wrong.len() == 1 && wrong[0].contains(message), "{text}\n{wrong:?}");
    }
}

/// Damaged texts are policies or mistakes with a location, and nothing worse.
#[test]
fn damaged_policies_are_told_with_their_place() {
    let lines: Vec<&str> = EXAMPLE.lines().filter(|line| !line.starts_with('#')).collect();
    let whole = lines.join("\n");
    let mut refused = 0;
    for (at, _) in whole.char_indices() {
        let (before, after) = whole.split_at(at);
        let without: String = before.chars().chain(after.chars().skip(1)).collect();
        let with = format!("{before}[{after}");
        for text in [before.to_owned(), without, with] {
            let Err(errors) = read(&text) else { continue };
            refused += 1;
            assert!(errors.iter().all(|error| error.starts_with("p.toml:")), "{errors:?}");
        }
    }
    assert!(refused > whole.len(), "{refused} of {}", whole.len());
    for text in ["\0", "check = 1", "check = []", "[check]\ntarget = []", "[[check]]", "[check]\nexception = [1]"] {
        assert!(read(text).unwrap_err().iter().all(|error| error.starts_with("p.toml:")), "{text}");
    }
}
