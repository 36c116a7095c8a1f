//! How are rules for compiling images read from the text?

use super::{glob, resolve};
use crate::bundle::spec_constants::{ConstantName, Setting};
use crate::device::table::TargetTable;
use crate::device::yaml::Fault;
use crate::policy::rules::{Registers, Rule, Rules, Wanted};
use crate::policy::text::{At, Scalar, Table};
use crate::select::{Pattern, range};

/// Keys that apply to all images or to those of a rule.
const WANTED: [&str; 8] =
    ["options", "link-options", "own-options", "registers", "optimization", "native", "spec-defaults", "spec"];
const ALL: [&str; 7] = ["targets", "options", "link-options", "own-options", "spec-defaults", "spec", "rule"];
const WHICH: [&str; 3] = ["kernels", "images", "targets"];

/// Reads the table `build`. Returns all mistakes beside it.
pub(in crate::policy) fn rules(file: &str, root: &Table<'_>, targets: &TargetTable) -> (Option<Rules>, Vec<Fault>) {
    let mut faults = Vec::new();
    let Some(table) = root.table("build", &mut faults) else { return (None, faults) };
    table.only(&ALL, &mut faults);
    let mut rules = Rules { file: file.to_owned(), ..Rules::default() };
    rules.targets = named_targets(&table, targets, &mut faults, |spelling, _| vec![spelling.to_owned()]);
    rules.all = wanted(&table, &mut faults);
    for one in table.tables("rule", &mut faults) {
        one.only(&[&WHICH[..], &WANTED[..]].concat(), &mut faults);
        let resolved = named_targets(&one, targets, &mut faults, |_, names| names);
        let rule = Rule {
            place: one.place,
            kernels: globs(&one, &mut faults),
            images: numbers(&one, &mut faults),
            targets: resolved,
            wanted: wanted(&one, &mut faults),
        };
        if !WHICH.iter().any(|key| one.has(key)) {
            let fault = Fault::new(one.place, "the rule does not say for what it is");
            let remedy = "name kernels, images or targets, or put it under [build], where it is for all".to_owned();
            faults.push(fault.with_remedy(Some(remedy)));
        }
        rules.rules.push(rule);
    }
    faults.sort_by_key(|fault| fault.place);
    (Some(rules), faults)
}

/// Reads the targets of a key; `keep` converts a spelling and the names that it stands for.
fn named_targets(
    table: &Table<'_>,
    targets: &TargetTable,
    faults: &mut Vec<Fault>,
    keep: impl Fn(&str, Vec<String>) -> Vec<String>,
) -> Vec<String> {
    let mut all = Vec::new();
    let Some(list) = table.texts("targets", faults) else { return all };
    for spelling in list.value {
        if let Some(found) = resolve(spelling, targets, faults) {
            all.extend(keep(spelling.value, found.targets.iter().map(|target| target.name.clone()).collect()));
        }
    }
    all
}

fn globs(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<Pattern> {
    let list = table.texts("kernels", faults).map(|list| list.value).unwrap_or_default();
    list.into_iter().filter_map(|text| glob(text, faults)).collect()
}

fn numbers(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<std::ops::RangeInclusive<usize>> {
    let list = table.texts("images", faults).map(|list| list.value).unwrap_or_default();
    let number = |text: At<&str>| match range(text.value) {
        Ok(found) => Some(found),
        Err(error) => {
            faults.push(Fault::new(text.place, error.message()));
            None
        }
    };
    list.into_iter().filter_map(number).collect()
}

fn wanted(table: &Table<'_>, faults: &mut Vec<Fault>) -> Wanted {
    let mut text = |key: &str| table.text(key, faults).map(|found| found.value.to_owned()).unwrap_or_default();
    let (options, link_options) = (text("options"), text("link-options"));
    let registers = table.text("registers", faults).and_then(|word| match word.value {
        "large" => Some(Registers::Large),
        "auto" => Some(Registers::Auto),
        other => {
            faults.push(Fault::new(word.place, format!("`registers` is `{other}`, and must be \"large\" or \"auto\"")));
            None
        }
    });
    let optimization = table.number("optimization", faults).and_then(|level| match level.value {
        value @ 0..=3 => u8::try_from(value).ok(),
        other => {
            faults.push(Fault::new(level.place, format!("`optimization` is {other}, and must be 0, 1, 2 or 3")));
            None
        }
    });
    Wanted {
        options,
        link_options,
        own_options: table.flag("own-options", faults),
        registers,
        optimization,
        native: table.flag("native", faults),
        defaults: table.flag("spec-defaults", faults),
        constants: constants(table, faults),
    }
}

fn constants(table: &Table<'_>, faults: &mut Vec<Fault>) -> Vec<Setting> {
    let Some(spec) = table.table("spec", faults) else { return Vec::new() };
    let mut all = Vec::new();
    for key in spec.keys() {
        let wanted = "a number, true or false, a text, or a list of these";
        if let Some(values) = spec.scalars(key.value, wanted, faults) {
            let values = values.into_iter().map(|Scalar(text)| text).collect();
            all.push(Setting { which: ConstantName::Name(key.value.to_owned()), values });
        }
    }
    all
}
