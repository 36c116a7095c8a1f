//! Do specialization constants get the values that were meant, in the module and in what the runtime reads of it?

use crate::support::spirv;
use rspirv::binary::Disassemble as _;
use std::collections::BTreeSet;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::spec_constants::{Setting, Settings};
use sycl_bundle::container::Arena;
use sycl_bundle::rewrite::specialize::{Outcome, Specialized, properties, specialized};

/// Names of constants as a compiler writes them, with the number, offset and size of each part.
const CONSTANTS: [(&str, &[[u32; 3]]); 4] = [
    ("uid0123456789abcdef____ZL4gain", &[[0, 0, 4]]),
    ("uid0123456789abcdef____ZN4acme5shapeE", &[[1, 0, 4], [2, 4, 4]]),
    ("uid0123456789abcdef____ZN4acme4flagE", &[[3, 0, 1], [u32::MAX, 1, 3]]),
    ("uid0123456789abcdef____ZN4acme6unusedE", &[[4, 0, 8]]),
];

fn array(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64 * 8).to_le_bytes()[..], bytes].concat()
}

/// The stored values of [`CONSTANTS`] and of their defaults: 2, (1.5, 7), false and 5.
fn stored() -> (Vec<Vec<u8>>, Vec<u8>) {
    let parts = CONSTANTS
        .map(|(_, parts)| array(&parts.iter().flatten().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()));
    (parts.to_vec(), array(&blob(2, 1.5, 7, false, 5)))
}

fn blob(gain: u32, weight: f32, offset: u32, flag: bool, unused: u64) -> Vec<u8> {
    let flag = [u8::from(flag), 0, 0, 0];
    [&gain.to_le_bytes()[..], &weight.to_le_bytes(), &offset.to_le_bytes(), &flag, &unused.to_le_bytes()].concat()
}

fn sets<'a>(parts: &'a [Vec<u8>], defaults: &'a [u8]) -> Properties<'a> {
    let names = CONSTANTS.iter().zip(parts);
    let constants = names.map(|((name, _), parts)| Property { name, value: Value::Bytes(parts) }).collect();
    let defaults = vec![Property { name: "all", value: Value::Bytes(defaults) }];
    Properties {
        sets: vec![
            PropertySet { name: set::SPEC_CONSTANTS, properties: constants },
            PropertySet { name: set::SPEC_DEFAULTS, properties: defaults },
        ],
    }
}

/// Outcome of settings, and the settings that were for a constant.
fn outcome(given: &[&str], defaults: bool) -> Result<(Outcome, BTreeSet<usize>), String> {
    let setting = |text: &&str| match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => Setting::parse_id(text),
        false => Setting::parse_named(text),
    };
    let given = given.iter().map(setting).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let (parts, blob) = stored();
    let mut used = BTreeSet::new();
    let module = spirv::module("specialized");
    let settings = Settings { given, defaults };
    let outcome = specialized(&sets(&parts, &blob), &module, &settings, &mut used);
    Ok((outcome.map_err(|error| error.to_string())?, used))
}

fn done(given: &[&str]) -> Specialized {
    match outcome(given, true).unwrap().0 {
        Outcome::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

fn constants(module: &[u8]) -> Vec<String> {
    let text = rspirv::dr::load_bytes(module).unwrap().disassemble();
    let line =
        |line: &str| line.split_once(" = ").map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines = text.lines().filter_map(line).filter(|line| line.contains("Constant") && !line.contains("Composite"));
    let mut all: Vec<String> = lines
        .map(|line| line.split(" %").next().unwrap().to_owned() + " " + line.rsplit(' ').next().unwrap())
        .collect();
    all.retain(|line| !line.starts_with("OpSpecConstantOp"));
    all
}

#[test]
fn defaults_are_said_to_be_defaults() {
    let done = done(&[]);
    assert_eq!(done.values, None);
    let text = rspirv::dr::load_bytes(&done.module).unwrap().disassemble();
    assert!(
        !text.contains("SpecId") && !text.contains("OpSpecConstant ") && text.contains("OpConstantComposite"),
        "{text}"
    );
    let (parts, blob) = stored();
    let arena = Arena::default();
    let sets = sets(&parts, &blob);
    let all = properties(&arena, &sets, done.recorded_values()).unwrap();
    assert_eq!(all.get(set::MISC, "specConstsReplacedWithDefault"), Some(Value::U32(1)));
    assert_eq!(all.sets[..2], sets.sets[..]);
}

#[test]
fn values_are_set_by_every_kind_of_name() {
    let done = done(&["gain=11", "shape=2.5,-1", "3=true", "acme::unused=0x10"]);
    let expected = blob(11, 2.5, u32::MAX, true, 16);
    assert_eq!(done.values.as_deref(), Some(&expected[..]));
    let all = constants(&done.module);
    for line in ["OpConstant 11", "OpConstant 2.5", "OpConstant 4294967295", "OpConstant 16"] {
        assert!(all.iter().any(|one| one == line), "{line}: {all:?}");
    }
    assert!(all.iter().any(|one| one.starts_with("OpConstantTrue")), "{all:?}");
    let (parts, blob) = stored();
    let arena = Arena::default();
    let sets = sets(&parts, &blob);
    let all = properties(&arena, &sets, done.recorded_values()).unwrap();
    assert_eq!(all.get(set::SPEC_VALUES, "all").unwrap().payload(), Some(&expected[..]));
    assert_eq!(all.get(set::SPEC_DEFAULTS, "all"), sets.get(set::SPEC_DEFAULTS, "all"));
    // The value of a default is no change.
    assert_eq!(self::done(&["gain=2", "acme::shape=bytes:0000c03f07000000"]).values, None);
}

#[test]
fn the_last_setting_counts_and_all_are_used() {
    let (outcome, used) = outcome(&["gain=3", "gain=4", "nobody=1"], true).unwrap();
    let Outcome::Done(done) = outcome else { panic!("{outcome:?}") };
    assert_eq!(done.values, Some(blob(4, 1.5, 7, false, 5)));
    assert_eq!(used, BTreeSet::from([0, 1]));
}

#[test]
fn what_has_no_value_is_named() {
    let (found, used) = outcome(&["gain=3"], false).unwrap();
    assert_eq!(found, Outcome::Open(vec!["acme::shape".into(), "acme::flag".into(), "acme::unused".into()]));
    assert_eq!(used, BTreeSet::from([0]));
    let no_constants = spirv::module("add_one");
    let none = specialized(&Properties::default(), &no_constants, &Settings::default(), &mut BTreeSet::new());
    assert_eq!(none.unwrap(), Outcome::None);
}

/// The runtime sets no constant where a program sets none: what counts then is the module's default.
#[test]
fn defaults_that_differ_from_the_modules_are_not_built_in() {
    let (parts, _) = stored();
    let module = spirv::module("specialized");
    for (defaults, name) in [
        (blob(3, 1.5, 7, false, 5), "gain"),
        (blob(2, 1.5, 8, false, 5), "acme::shape"),
        (blob(2, 1.5, 7, true, 5), "acme::flag"),
    ] {
        let defaults = array(&defaults);
        let with = |given: Vec<Setting>| {
            let settings = Settings { given, defaults: true };
            specialized(&sets(&parts, &defaults), &module, &settings, &mut BTreeSet::new())
        };
        let error = with(Vec::new()).unwrap_err();
        assert!(error.to_string().contains(&format!("`{name}` has a default in its module")), "{error}");
        assert!(error.remedy().is_some());
        let value = if name == "acme::shape" { "1.5,7" } else { "1" };
        assert!(with(vec![Setting::parse_named(&format!("{name}={value}")).unwrap()]).is_ok());
    }
}

#[test]
fn constants_without_names_go_by_their_numbers() {
    let module = spirv::module("add_constant");
    let settings = |text: &str| Settings { given: vec![Setting::parse_id(text).unwrap()], defaults: false };
    let mut used = BTreeSet::new();
    let found = specialized(&Properties::default(), &module, &settings("7=41"), &mut used).unwrap();
    let Outcome::Done(done) = found else { panic!("{found:?}") };
    assert_eq!((used, done.values), (BTreeSet::from([0]), None));
    assert!(constants(&done.module).contains(&"OpConstant 41".to_owned()), "{:?}", constants(&done.module));
    let other = specialized(&Properties::default(), &module, &settings("8=41"), &mut BTreeSet::new());
    assert_eq!(other.unwrap(), Outcome::Open(vec!["SpecId 7".into()]));
}

#[test]
fn what_is_no_value_is_refused() {
    for (given, message) in [
        ("gain=2.5", "`2.5` is no value of the specialization constant `gain`: an integer of 32 bits"),
        ("gain=4294967296", "`4294967296` is no value of the specialization constant `gain`: an integer of 32 bits"),
        ("acme::shape=1", "the specialization constant `acme::shape` has 2 parts, and 1 values are given"),
        ("flag=2", "`2` is no value of the specialization constant `flag`: true or false"),
        (
            "shape=bytes:00",
            "`bytes:00` is no value of the specialization constant `shape`: bytes: and 16 hexadecimal digits",
        ),
        ("gain", "`gain` is not of the form NAME=VALUE"),
        ("gain=", "`gain=` is not of the form NAME=VALUE"),
    ] {
        assert_eq!(outcome(&[given], true).unwrap_err(), message);
    }
}
