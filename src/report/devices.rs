//! Which live devices are there, and what do their drivers take?

pub mod profile;

use super::document::{self, Form, Sink};
use super::inspect::View;
use super::json::{Members, SchemaVersion, pretty};
use super::table::{Column, render};
use super::text::bytes;
use super::text::{Shown, field};
use crate::build::live::{BuiltIn, Listed};
use crate::build::probe::{self, Probes, Subject};
use crate::build::query::sycl::{Answer, SyclError, Value};
use crate::build::{Device, Inventory};
use crate::error::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The column in which the values of fields begin.
const COLUMN: usize = 22;

/// One row per device.
fn list(devices: &[Listed<'_>], view: &View) -> Shown {
    let columns = [
        ("N", Column::Number),
        ("Kind", Column::Text),
        ("Device", Column::Wrapped(28)),
        ("OpenCL", Column::Text),
        ("SPIR-V", Column::Text),
        ("Sub-groups", Column::Wrapped(16)),
        ("Platform", Column::Wrapped(60)),
    ];
    let row = |(place, device): &Listed<'_>| {
        vec![
            place.to_string(),
            device.kind.clone(),
            device.name.clone(),
            version(&device.opencl),
            newest(&device.il).unwrap_or_else(|| "-".to_owned()),
            joined(&device.sub_group_sizes, " "),
            format!("{}, driver {}", device.platform, device.driver),
        ]
    };
    let rows: Vec<Vec<String>> = devices.iter().map(row).collect();
    render(&columns, &rows, &["Platform", "Sub-groups", "OpenCL"], view.width, view.color)
}

/// All about one device.
fn page((place, device): Listed<'_>, view: &View) -> Shown {
    let mut out = view.heading(&format!("Device {place}: {}", device.name));
    let mut line = |label: &str, text: &str| {
        let text = if text.is_empty() { "-" } else { text };
        field(&mut out, 2, label, COLUMN, text, view.width);
    };
    line("Kind", &device.kind);
    line("Platform", &format!("{}, {}", device.platform, device.vendor));
    line("Driver", &device.driver);
    line("OpenCL", &format!("{}; {}", device.opencl, device.opencl_c));
    line("Takes", &device.il);
    line("Aspects", &device.aspects.join(", "));
    line("Sub-group sizes", &joined(&device.sub_group_sizes, ", "));
    line(
        "Work-group",
        &format!("at most {} work-items, {}", device.max_work_group_size, joined(&device.max_work_item_sizes, " x ")),
    );
    line("Sub-groups", &format!("at most {} in a work-group", device.max_num_sub_groups));
    line("Local memory", &bytes(device.local_mem));
    line("Global memory", &bytes(device.global_mem));
    line("Arguments", &format!("at most {} bytes", device.max_parameter_size));
    line("Compute units", &device.compute_units.to_string());
    line("Built-in kernels", &device.built_in_kernels.join(", "));
    line("Extensions", &device.extensions.join(", "));
    out
}

/// One row per built-in kernel.
fn kernels(kernels: &[BuiltIn], view: &View) -> Shown {
    let columns = [
        ("N", Column::Number),
        ("Arguments", Column::Number),
        ("Global size", Column::Text),
        ("Work-group", Column::Number),
        ("Kernel", Column::Name),
    ];
    let row = |(place, name, answers): &BuiltIn| {
        let of = |query: &str| {
            let answer = answers.iter().flatten().find(|answer| answer.query == query);
            answer.and_then(|answer| answer.value.as_ref().ok()).map_or_else(|| "-".to_owned(), text)
        };
        vec![place.to_string(), of("num_args"), of("global_work_size"), of("work_group_size"), name.clone()]
    };
    let rows: Vec<Vec<String>> = kernels.iter().map(row).collect();
    render(&columns, &rows, &["Global size", "Work-group"], view.width, view.color)
}

/// An answer as text.
pub fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Range(range) => joined(range, " x "),
        Value::Text(text) if text.is_empty() => "none".to_owned(),
        Value::Text(text) => text.clone(),
    }
}

/// The live OpenCL devices.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle devices --format json")]
struct Document<'a> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The file of the OpenCL loader, where the system tells.
    loader: Option<&'a str>,
    /// The devices.
    devices: Vec<Entry<'a>>,
    /// Reasons why platforms do not list their devices.
    problems: &'a [String],
}

/// A device.
#[derive(Serialize, JsonSchema)]
struct Entry<'a> {
    /// The place of the device in the loader's order.
    index: usize,
    /// The facts about it.
    #[serde(flatten)]
    device: &'a Device,
    /// Built-in kernels by name, with `--kernels`; null where the device did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Members<&'a str, Option<Queries<'a>>>>,
    /// The results of `--probe`: what the driver takes, found out by building kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Probed<'a>>,
}

/// One list of queries: the fields of the document, and the answers that they are filled from.
macro_rules! queries {
    ($($(#[$doc:meta])* $query:ident,)*) => {
        /// Answers to the queries of `sycl::info::kernel` and `kernel_device_specific`; null where a query throws.
        #[derive(Serialize, JsonSchema)]
        pub(super) struct Queries<'a> {
            $($(#[$doc])* pub $query: Option<&'a Value>,)*
            /// Exceptions, by the query that throws them.
            pub(crate) errors: Members<&'static str, &'a SyclError>,
        }

        impl<'a> From<&'a [Answer]> for Queries<'a> {
            fn from(answers: &'a [Answer]) -> Self {
                let value = |query: &str| answers.iter().find(|one| one.query == query)?.value.as_ref().ok();
                let errors = answers.iter().filter_map(|one| Some((one.query, one.value.as_ref().err()?)));
                Queries { $($query: value(stringify!($query)),)* errors: Members(errors.collect()) }
            }
        }
    };
}

queries! {
    /// The number of arguments.
    num_args,
    /// The attributes, as OpenCL has them.
    attributes,
    /// The largest global size.
    global_work_size,
    /// The largest work-group size.
    work_group_size,
    /// The required work-group size, as the driver gives it: x first.
    compile_work_group_size,
    /// The number that work-group sizes are best a multiple of.
    preferred_work_group_size_multiple,
    /// Bytes of private memory.
    private_mem_size,
    /// The most sub-groups of a work-group.
    max_num_sub_groups,
    /// The required number of sub-groups; 0 where none is.
    compile_num_sub_groups,
    /// The largest sub-group size.
    max_sub_group_size,
    /// The required sub-group size; 0 where none is.
    compile_sub_group_size,
}

/// The JSON Schema of `devices --format json`.
pub(crate) fn schema() -> String {
    super::json::schema::<Document<'_>>()
}

/// The document of `devices --format json`; `probes` by the places of devices.
fn json(
    inventory: &Inventory,
    devices: &[Listed<'_>],
    kernels: Option<&[BuiltIn]>,
    probes: &[(usize, Probes)],
) -> String {
    let kernels_of = |place: usize| {
        let own = kernels?.iter().filter(|(of, ..)| *of == place);
        let own = own.map(|(_, name, answers)| (name.as_str(), answers.as_deref().map(Queries::from)));
        Some(Members(own.collect()))
    };
    let probe_of = |place: usize| probes.iter().find(|(of, _)| *of == place).map(|(_, own)| own.into());
    let devices = devices.iter().map(|&(index, device)| Entry {
        index,
        device,
        kernels: kernels_of(index),
        probe: probe_of(index),
    });
    pretty(&Document {
        schema_version: SchemaVersion,
        loader: Some(inventory.loader.as_str()).filter(|path| !path.is_empty()),
        devices: devices.collect(),
        problems: &inventory.problems,
    })
}

/// `OpenCL 3.1 LINUX` is version 3.1.
fn version(text: &str) -> String {
    text.split_whitespace().nth(1).unwrap_or("-").to_owned()
}

/// The newest of `SPIR-V_1.0 SPIR-V_1.4`.
fn newest(il: &str) -> Option<String> {
    let versions = il.split_whitespace().filter_map(|name| name.strip_prefix("SPIR-V_"));
    let key = |text: &str| text.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
    versions.max_by_key(|text| key(text)).map(str::to_owned)
}

fn joined(numbers: &[u64], separator: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(separator)
}

/// One row for each that was asked about.
fn probe_table(probes: &Probes, view: &View) -> Shown {
    let columns =
        [("Kind", Column::Text), ("Name", Column::Name), ("Taken", Column::Text), ("Why", Column::Wrapped(48))];
    let row = |one: &probe::Probed| {
        let told = match one.reply.reason() {
            Some(why) => why.to_owned(),
            None if !probes.telling(one) => "takes what does not exist, too".to_owned(),
            None if one.used => "in code".to_owned(),
            None => String::new(),
        };
        vec![kind(&one.subject).to_owned(), one.subject.name(), one.reply.word().to_owned(), told]
    };
    let rows: Vec<Vec<String>> = probes.all.iter().map(row).collect();
    render(&columns, &rows, &["Kind"], view.width, view.color)
}

/// The answers of a driver to probes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Probe")]
struct Probed<'a> {
    /// Whether it refuses a capability that does not exist; else its yes to one that is only declared says nothing.
    checks_capabilities: bool,
    /// Whether it refuses an extension that does not exist; else its yes to one says nothing.
    checks_extensions: bool,
    /// The results, in the order of versions, capabilities, extensions.
    results: Vec<Outcome<'a>>,
}

/// The answer of a driver to one version, capability or extension.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProbeResult")]
struct Outcome<'a> {
    /// The kind.
    #[schemars(extend("enum" = ["version", "capability", "extension"]))]
    kind: &'static str,
    /// The name.
    name: String,
    /// The number of a capability.
    number: Option<u32>,
    /// The extension that brings the capability.
    extension: Option<&'static str>,
    /// Whether the kernel's code uses it, rather than only declaring it.
    used: bool,
    /// Whether the driver built it, refused it, took its process with it, or gave no answer in time.
    #[schemars(extend("enum" = ["yes", "refused", "died", "silent"]))]
    answer: &'static str,
    /// The reason why it does not take it.
    reason: Option<&'a str>,
}

impl<'a> From<&'a Probes> for Probed<'a> {
    fn from(probes: &'a Probes) -> Self {
        let Probes { checks_capabilities, checks_extensions, all } = probes;
        let (checks_capabilities, checks_extensions) = (*checks_capabilities, *checks_extensions);
        Probed { checks_capabilities, checks_extensions, results: all.iter().map(Outcome::from).collect() }
    }
}

impl<'a> From<&'a probe::Probed> for Outcome<'a> {
    fn from(one: &'a probe::Probed) -> Self {
        let (number, extension) = match one.subject {
            Subject::Capability(number, extension) => (Some(number), Some(extension).filter(|name| !name.is_empty())),
            _ => (None, None),
        };
        Outcome {
            kind: kind(&one.subject),
            name: one.subject.name(),
            number,
            extension,
            used: one.used,
            answer: one.reply.word(),
            reason: one.reply.reason(),
        }
    }
}

fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Version(..) => "version",
        Subject::Capability(..) => "capability",
        Subject::Extension(_) => "extension",
    }
}

/// Live devices that are asked for.
pub(crate) struct DeviceList<'d> {
    /// All that was found.
    pub(crate) inventory: &'d Inventory,
    /// The devices to show.
    pub(crate) devices: &'d [Listed<'d>],
    /// Whether they were named, so that all is told of each.
    pub(crate) named: bool,
    /// Built-in kernels of the devices, where these are asked for.
    pub(crate) kernels: Option<&'d [BuiltIn]>,
    /// Results of probing the drivers, where that is asked for.
    pub(crate) probes: Option<&'d [(usize, Probes)]>,
}

impl document::Document for DeviceList<'_> {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        if form == Form::Json {
            return out.made(&json(self.inventory, self.devices, self.kernels, self.probes.unwrap_or_default()));
        }
        let view = out.look().view;
        let text = match (self.kernels, self.probes) {
            (Some(built_in), _) => kernels(built_in, &view),
            (None, Some(probes)) => {
                let name = |place: usize| self.devices.iter().find(|(own, _)| *own == place).map(|(_, one)| &one.name);
                let one = |(place, probes): &(usize, Probes)| {
                    let name = name(*place).map(String::as_str).unwrap_or_default();
                    let mut text = view.heading(&format!("Device {place}: {name}"));
                    text.append(&probe_table(probes, &view));
                    text
                };
                Shown::sections(&probes.iter().map(one).collect::<Vec<_>>())
            }
            (None, None) if self.named => {
                Shown::sections(&self.devices.iter().map(|device| page(*device, &view)).collect::<Vec<_>>())
            }
            (None, None) => list(self.devices, &view),
        };
        out.show(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::probe::{Probed, Reply, Subject};
    use crate::build::query::KernelAnswers;
    use crate::build::query::sycl::answers;
    use crate::report::json::tests::against;

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let kernels = vec!["copy".to_owned(), "silent".to_owned()];
        let device = Device { kind: "custom".into(), built_in_kernels: kernels.clone(), ..Device::default() };
        let inventory =
            Inventory { devices: vec![device.clone()], problems: vec!["gone".into()], ..Inventory::default() };
        let asked = answers(&KernelAnswers::default(), &device, true);
        let built_in = [(0, kernels[0].clone(), Some(asked)), (0, kernels[1].clone(), None)];
        let listed: Vec<Listed<'_>> = inventory.devices.iter().enumerate().collect();
        let probed = |subject, reply| Probed { subject, used: false, reply };
        let all = vec![
            probed(Subject::Version(1, 0), Reply::Taken),
            probed(Subject::Capability(71, ""), Reply::Refused("no".into())),
            probed(Subject::Capability(5617, "SPV_INTEL_vector_compute"), Reply::Died("gone".into())),
            probed(Subject::Extension("SPV_KHR_linkonce_odr"), Reply::Silent("late".into())),
        ];
        let probes = [(0, Probes { all, ..Probes::default() })];
        for (kernels, probes) in [(None, &[][..]), (Some(&built_in[..]), &probes[..])] {
            let document = serde_json::from_str(&json(&inventory, &listed, kernels, probes)).unwrap();
            assert_eq!(against(&schema(), &document), Vec::<String>::new());
            let mut broken: serde_json::Value = document;
            broken["devices"][0]["aspects"] = "cpu".into();
            assert_eq!(against(&schema(), &broken).len(), 1);
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(super::newest("SPIR-V_1.4 SPIR-V_1.10 SPIR-V_1.0").as_deref(), Some("1.10"));
        assert_eq!(super::newest(""), None);
        assert_eq!(super::version("OpenCL 3.1 LINUX"), "3.1");
    }
}
