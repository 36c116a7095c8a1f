//! What is known of targets, as a table, a page, a difference and JSON?

use super::document::{self, Form, Sink};
use super::inspect::View;
use super::json::{SchemaVersion, pretty, put_line};
use super::table::{Column, render};
use super::text::bytes;
use super::text::{Shown, field};
use crate::device::cpu::CpuArch;
use crate::device::table::TargetTable;
use crate::device::target::{Family, Has, Source, Target};
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The column in which the values of fields begin.
const TEXTS: usize = 22;

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn answer(has: Has) -> &'static str {
    match has {
        Has::Yes => "yes",
        Has::No => "no",
        Has::Unknown => "?",
    }
}

/// An identifier of the target: its first IP version; empty where it has none.
fn identity(target: &Target) -> String {
    target.ip_versions.first().map(ToString::to_string).unwrap_or_default()
}

/// One row per target, then the families.
fn table(all: &TargetTable, view: &View) -> Shown {
    let columns = [
        ("Target", Column::Text),
        ("Version", Column::Text),
        ("fp16", Column::Text),
        ("fp64", Column::Text),
        ("Sub-groups", Column::Wrapped(16)),
        ("Work-group", Column::Number),
        ("Also called", Column::Wrapped(60)),
    ];
    let row = |target: &Target| {
        vec![
            target.name.clone(),
            or_dash(identity(target)),
            answer(target.has("fp16")).to_owned(),
            answer(target.has("fp64")).to_owned(),
            target.sub_group_sizes.as_deref().map_or_else(|| "?".to_owned(), |sizes| list(sizes).replace(", ", " ")),
            target.max_work_group_size.map_or_else(|| "?".to_owned(), |most| most.to_string()),
            or_dash(list(&short(target))),
        ]
    };
    let rows: Vec<Vec<String>> = all.targets().iter().map(row).collect();
    let minor = ["Also called", "Work-group", "Sub-groups", "Version"];
    let mut out = render(&columns, &rows, &minor, view.width, view.color);
    let columns = [("Family", Column::Text), ("Targets", Column::Wrapped(80))];
    let rows: Vec<Vec<String>> = all.families().iter().map(|one| vec![one.name.clone(), list(&one.members)]).collect();
    out.push_str("\n");
    out.append(&render(&columns, &rows, &[], view.width, view.color));
    out
}

/// Other names, without those that repeat the IP version.
fn short(target: &Target) -> Vec<&str> {
    let versioned =
        |name: &str| name.strip_prefix("intel_gpu_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut names: Vec<&str> = target.ocloc_device().into_iter().collect();
    names.extend(target.aliases.iter().map(String::as_str).filter(|name| !versioned(name)));
    names
}

/// The facts of a target, each a key and its text, in the order of a page. What is not known is left out.
fn facts(target: &Target) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut put = |key: &'static str, text: String| {
        if !text.is_empty() {
            facts.push((key, text));
        }
    };
    put("aliases", list(&target.aliases));
    put("families", list(&target.families));
    put("device-type", target.device_type.map(|kind| kind.name().to_owned()).unwrap_or_default());
    put("backends", target.backends.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "));
    put("ip-versions", list(&target.ip_versions));
    put("architecture-id", target.architecture_id.map(|id| format!("{id:#018x}")).unwrap_or_default());
    put("pci-device-ids", list(&target.pci_device_ids.iter().map(|id| format!("{id:#06x}")).collect::<Vec<_>>()));
    put("product-names", list(&target.product_names));
    put("aspects", list(&target.aspects));
    put("maybe-aspects", list(&target.maybe_aspects));
    put("lacks-aspects", list(&target.lacks_aspects));
    put(
        "other aspects",
        if target.may_support_other_aspects { "may be supported" } else { "are not supported" }.to_owned(),
    );
    put("sub-group-sizes", target.sub_group_sizes.as_deref().map(list).unwrap_or_default());
    put("max-work-group-size", target.max_work_group_size.map(|most| most.to_string()).unwrap_or_default());
    put("max-work-item-sizes", target.max_work_item_sizes.as_ref().map(|most| list(most)).unwrap_or_default());
    put("local-memory", target.local_memory.map(bytes).unwrap_or_default());
    put("max-registers", target.max_registers.map(|most| most.to_string()).unwrap_or_default());
    put("driver-version", target.driver_version.clone().unwrap_or_default());
    put("opencl-extensions", target.opencl_extensions.as_deref().map(list).unwrap_or_default());
    put("spirv-version", target.spirv_version.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default());
    put("spirv-extensions", target.spirv_extensions.as_deref().map(list).unwrap_or_default());
    put("spirv-capabilities", target.spirv_capabilities.as_deref().map(list).unwrap_or_default());
    put("spirv-refused", list(&target.spirv_refused_capabilities));
    let matrix = |own: &[_]| if own.is_empty() { "none".to_owned() } else { list(own) };
    put("matrix", target.matrix.as_deref().map(matrix).unwrap_or_default());
    let march = if target.name == "spir64_x86_64" {
        CpuArch::names().collect()
    } else {
        target.march.iter().map(String::as_str).collect::<Vec<_>>()
    };
    put("march", list(&march));
    put("aot-toolchain", target.aot_toolchain.clone().unwrap_or_default());
    put(
        "aot options",
        list(
            &target
                .aot_options
                .iter()
                .map(|own| format!("{} -{} {}", own.tool, own.option, own.value))
                .collect::<Vec<_>>(),
        ),
    );
    put("default-options", list(&target.default_options));
    facts
}

fn sources(out: &mut Shown, (source, open): (&[Source], &[String]), view: &View, verbose: bool) {
    if !verbose {
        let told = format!("{}; -v tells them, and what is open", super::text::counted(source.len(), "source"));
        return field(out, 2, "sources", TEXTS, &told, view.width);
    }
    for (at, source) in source.iter().enumerate() {
        let label = if at == 0 { "sources" } else { "" };
        field(out, 2, label, TEXTS, &format!("{}: {}", source.facts, source.text), view.width);
    }
    for (at, text) in open.iter().enumerate() {
        field(out, 2, if at == 0 { "open" } else { "" }, TEXTS, text, view.width);
    }
}

/// All about one target.
fn page(target: &Target, view: &View, verbose: bool) -> Shown {
    let mut out = view.heading(&target.name);
    for (key, text) in facts(target) {
        field(&mut out, 2, key, TEXTS, &text, view.width);
    }
    sources(&mut out, (&target.source, &target.open), view, verbose);
    field(&mut out, 2, "defined in", TEXTS, &target.file, view.width);
    out
}

/// All about one family.
fn family(family: &Family, view: &View, verbose: bool) -> Shown {
    let mut out = view.heading(&family.name);
    field(&mut out, 2, "members", TEXTS, &list(&family.members), view.width);
    if !family.aliases.is_empty() {
        field(&mut out, 2, "aliases", TEXTS, &list(&family.aliases), view.width);
    }
    if let Some(device) = &family.ocloc_device {
        field(&mut out, 2, "ocloc -device", TEXTS, device, view.width);
    }
    sources(&mut out, (&family.source, &family.open), view, verbose);
    out
}

/// Lists the facts in which two targets differ; empty where they agree on all that decides what runs.
fn difference(first: &Target, second: &Target, view: &View) -> Shown {
    // Names and numbers that identify a target always differ.
    let own =
        ["aliases", "families", "ip-versions", "architecture-id", "pci-device-ids", "product-names", "aot options"];
    let (left, right) = (facts(first), facts(second));
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in left.iter().chain(&right) {
        if !own.contains(key) && !keys.contains(key) {
            keys.push(key);
        }
    }
    let mut out = Shown::default();
    for key in keys {
        let text = |facts: &[(&str, String)]| facts.iter().find(|(own, _)| *own == key).map(|(_, text)| text.clone());
        let (a, b) = (text(&left), text(&right));
        if a == b {
            continue;
        }
        let (a, b) = (a.unwrap_or_else(|| "not known".to_owned()), b.unwrap_or_else(|| "not known".to_owned()));
        let short = a.len().max(b.len()) <= 60;
        let without = |one: &str, other: &str| -> String {
            let other: Vec<&str> = other.split(", ").collect();
            one.split(", ").filter(|item| !other.contains(item)).collect::<Vec<_>>().join(", ")
        };
        let (left, right) = if short { (a, b) } else { (without(&a, &b), without(&b, &a)) };
        for (at, (sign, text)) in
            [("-", left), ("+", right)].into_iter().filter(|(_, text)| !text.is_empty()).enumerate()
        {
            field(&mut out, 2, if at == 0 { key } else { "" }, TEXTS, &format!("{sign} {text}"), view.width);
        }
    }
    if out.is_empty() {
        return out;
    }
    let mut whole = Shown::default();
    writeln!(whole, "- {}", first.name);
    writeln!(whole, "+ {}", second.name);
    whole.append(&out);
    whole
}

/// The facts about targets.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle targets --format json")]
struct Document<'a> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The targets.
    targets: Vec<Entry<'a>>,
    /// The families, but with `--of`.
    #[serde(skip_serializing_if = "Option::is_none")]
    families: Option<&'a [&'a Family]>,
}

/// A target.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Entry<'a> {
    /// All that is known of it.
    Facts(&'a Target),
    /// The name alone, with `--of`.
    Name(&'a str),
}

/// The JSON Schema of `targets --format json`.
pub(crate) fn schema() -> String {
    super::json::schema::<Document<'_>>()
}

fn document<'a>(targets: impl Iterator<Item = Entry<'a>>, families: Option<&[&Family]>) -> String {
    let targets = targets.collect();
    pretty(&Document { schema_version: SchemaVersion, targets, families })
}

/// Facts about targets that are asked for.
pub(crate) enum TargetList<'t> {
    /// All targets and families.
    All(&'t TargetTable),
    /// Two targets, for what they differ in.
    Difference([&'t Target; 2]),
    /// The named targets and families.
    Named(&'t NamedTargets<'t>),
    /// The names of targets that files hold images for.
    OfFiles(&'t BTreeSet<String>),
}

/// Targets and families that spellings stand for.
#[derive(Default)]
pub(crate) struct NamedTargets<'t> {
    /// Targets that are named themselves.
    pub(crate) targets: Vec<&'t Target>,
    /// Families.
    pub(crate) families: Vec<&'t Family>,
    /// Targets of these families that are not named themselves.
    pub(crate) members: Vec<&'t Target>,
    /// Notes about the spellings.
    pub(crate) notes: Vec<String>,
}

impl<'t> NamedTargets<'t> {
    /// Finds what spellings mean, each target once.
    ///
    /// # Errors
    /// `Usage` where one means nothing.
    pub(crate) fn find(table: &'t TargetTable, spellings: &[String]) -> Result<NamedTargets<'t>> {
        let mut found = NamedTargets::default();
        for spelling in spellings {
            let own = table.resolve(spelling)?;
            found.notes.extend(own.note);
            let family = own.family.and_then(|family| table.family(&family));
            found.families.extend(family);
            let list = if family.is_some() { &mut found.members } else { &mut found.targets };
            for target in own.targets {
                if !list.iter().any(|other| other.name == target.name) {
                    list.push(target);
                }
            }
        }
        let targets = &found.targets;
        found.members.retain(|member| !targets.iter().any(|other| other.name == member.name));
        Ok(found)
    }
}

impl document::Document for TargetList<'_> {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        let look = out.look();
        let (targets, families): (Vec<&Target>, Vec<&Family>) = match (self, form) {
            (TargetList::All(table), Form::Table) => return out.show(&self::table(table, &look.view)),
            (TargetList::Difference([first, second]), Form::Table) => {
                return out.show(&difference(first, second, &look.view));
            }
            (TargetList::Named(named), Form::Table) => {
                let families = named.families.iter().map(|one| family(one, &look.view, look.verbose));
                let targets = named.targets.iter().map(|one| page(one, &look.view, look.verbose));
                return out.show(&Shown::sections(&families.chain(targets).collect::<Vec<_>>()));
            }
            (TargetList::OfFiles(names), Form::Table) => {
                let mut text = Shown::default();
                names.iter().for_each(|one| writeln!(text, "{one}"));
                return out.show(&text);
            }
            (TargetList::OfFiles(names), Form::Jsonl) => {
                return names.iter().try_for_each(|one| put_line(&mut out.documents(), one));
            }
            (TargetList::OfFiles(names), _) => {
                return out.made(&document(names.iter().map(|name| Entry::Name(name)), None));
            }
            (TargetList::All(table), _) => (table.targets().iter().collect(), table.families().iter().collect()),
            (TargetList::Difference(two), _) => (two.to_vec(), Vec::new()),
            (TargetList::Named(named), _) => ([&named.targets[..], &named.members].concat(), named.families.clone()),
        };
        match form {
            Form::Jsonl => targets.iter().try_for_each(|target| put_line(&mut out.documents(), target)),
            _ => out.made(&document(targets.iter().map(|target| Entry::Facts(target)), Some(&families))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json::tests::against;
    use serde_json::json;

    #[test]
    fn all_that_is_known_fulfils_the_schema() {
        let table = crate::device::table();
        let (targets, families) =
            (table.targets().iter().collect::<Vec<_>>(), table.families().iter().collect::<Vec<_>>());
        let whole = serde_json::from_str(&document(targets.iter().map(|target| Entry::Facts(target)), Some(&families)))
            .unwrap();
        assert_eq!(against(&schema(), &whole), Vec::<String>::new());
        let names = serde_json::from_str(&document(["spir64"].into_iter().map(Entry::Name), None)).unwrap();
        assert_eq!(against(&schema(), &names), Vec::<String>::new());
        assert_eq!(against(&schema(), &json!({ "schema_version": 1, "targets": [{}] })).len(), 1);
    }
}
