//! Are rules read correctly, and is every mistake reported with its location?

use super::*;
use crate::bundle::spec_constants::ConstantName;
use crate::device;

fn read(text: &str) -> Result<Option<Rules>, Vec<String>> {
    Rules::read("t.toml", text, device::table())
        .map_err(|errors| errors.iter().map(|error| format!("{error} | {}", error.remedy().unwrap_or("-"))).collect())
}

#[test]
fn the_example_is_a_set_of_rules() {
    let rules = read(EXAMPLE).unwrap().unwrap();
    assert_eq!(rules.targets, ["spir64_x86_64", "pvc"]);
    assert_eq!(
        (rules.all.options.as_str(), rules.all.own_options, rules.all.defaults),
        ("-cl-mad-enable", Some(true), Some(true))
    );
    let named = |name: &str| ConstantName::Name(name.into());
    let values: Vec<(ConstantName, Vec<String>)> =
        rules.all.constants.iter().map(|one| (one.which.clone(), one.values.clone())).collect();
    let expected = [
        (named("acme::block"), vec!["64".to_owned()]),
        (named("acme::shape"), vec!["1.5".into(), "7".into()]),
        (named("verbose"), vec!["false".into()]),
    ];
    assert_eq!(values, expected);
    let [solve, debug, rare] = rules.rules.as_slice() else { panic!() };
    assert_eq!(solve.targets, ["intel_gpu_pvc"]);
    assert_eq!((solve.settings.registers, solve.settings.optimization), (Some(Registers::Large), Some(3)));
    assert_eq!(debug.images, [0..=3, 17..=17]);
    assert_eq!((rare.settings.native, rare.settings.defaults), (Some(false), None));
    // A policy of `check` alone says nothing of building.
    assert!(read(crate::policy::EXAMPLE).unwrap().is_none());
}

#[test]
fn mistakes_are_told_with_their_places() {
    let text = "[build]\ntarget = [\"pvc\"]\ntargets = [\"pvcc\"]\n[build.spec]\na = [[1]]\n[[build.rule]]\n\
                registers = \"huge\"\noptimization = 4\n[[build.rule]]\nimages = [\"x\"]\nkernels = [\"\"]\nregister = 1\n";
    let errors = read(text).unwrap_err();
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    let expected =
        ["t.toml:2:1", "t.toml:3:12", "t.toml:5:5", "t.toml:6:1", "t.toml:7:13", "t.toml:8:16", "t.toml:10:11"];
    assert_eq!(places, [&expected[..], &["t.toml:11:12", "t.toml:12:1"]].concat(), "{errors:#?}");
    assert!(errors[0].contains("targets") && errors[8].contains("registers"), "{errors:#?}");
}
