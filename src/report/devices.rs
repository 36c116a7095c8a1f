//! What live devices are there, for a person and for a script?

pub mod probe;
pub mod profile;

use super::inspect::View;
use super::table::{Column, render};
use super::text::field;
use super::units::bytes;
use crate::build::probe::Probes;
use crate::build::query::sycl::{Answer, Value};
use crate::build::{Device, Inventory};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema of `devices --format json`.
pub const SCHEMA: &str = include_str!("devices/devices.schema.json");

/// Where the values of fields stand.
const COLUMN: usize = 22;

/// The device of a list, by its place in the inventory.
pub type Listed<'i> = (usize, &'i Device);

/// A built-in kernel with what its device answers; none where the device was not asked or did not answer.
pub type BuiltIn = (usize, String, Option<Vec<Answer>>);

/// One row per device.
pub fn list(devices: &[Listed<'_>], view: &View) -> String {
    let columns = [
        ("N", Column::Number),
        ("Kind", Column::Text),
        ("Device", Column::Wrapped(28)),
        ("OpenCL", Column::Text),
        ("SPIR-V", Column::Text),
        ("Sub-groups", Column::Text),
        ("Platform", Column::Text),
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
    render(&columns, &rows, view.width, view.color)
}

/// All about one device.
pub fn page((place, device): Listed<'_>, view: &View) -> String {
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
pub fn kernels(kernels: &[BuiltIn], view: &View) -> String {
    let columns = [
        ("N", Column::Number),
        ("Arguments", Column::Number),
        ("Global size", Column::Text),
        ("Work-group", Column::Number),
        ("Kernel", Column::Text),
    ];
    let row = |(place, name, answers): &BuiltIn| {
        let of = |query: &str| {
            let answer = answers.iter().flatten().find(|answer| answer.query == query);
            answer.and_then(|answer| answer.value.as_ref().ok()).map_or_else(|| "-".to_owned(), text)
        };
        vec![place.to_string(), of("num_args"), of("global_work_size"), of("work_group_size"), name.clone()]
    };
    let rows: Vec<Vec<String>> = kernels.iter().map(row).collect();
    render(&columns, &rows, view.width, view.color)
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

/// The document of `devices --format json`; `probes` by the places of devices.
pub fn document(
    inventory: &Inventory,
    devices: &[Listed<'_>],
    kernels: Option<&[BuiltIn]>,
    probes: &[(usize, Probes)],
) -> Json {
    let with_probe = |listed: &Listed<'_>| {
        let mut document = one(*listed, kernels);
        let own = probes.iter().find(|(place, _)| *place == listed.0);
        if let (Some((_, own)), Some(object)) = (own, document.as_object_mut()) {
            object.insert("probe".to_owned(), probe::document(own));
        }
        document
    };
    let devices: Vec<Json> = devices.iter().map(with_probe).collect();
    let loader = Some(&inventory.loader).filter(|path| !path.is_empty());
    json!({ "schema_version": 1, "loader": loader, "devices": devices, "problems": inventory.problems })
}

fn one((place, device): Listed<'_>, kernels: Option<&[BuiltIn]>) -> Json {
    let mut one = json!({
        "index": place,
        "name": device.name,
        "kind": device.kind,
        "platform": device.platform,
        "vendor": device.vendor,
        "driver": device.driver,
        "opencl": device.opencl,
        "opencl_c": device.opencl_c,
        "il": device.il.split_whitespace().collect::<Vec<_>>(),
        "aspects": device.aspects,
        "sub_group_sizes": device.sub_group_sizes,
        "max_work_group_size": device.max_work_group_size,
        "max_work_item_sizes": device.max_work_item_sizes,
        "max_num_sub_groups": device.max_num_sub_groups,
        "compute_units": device.compute_units,
        "local_mem_size": device.local_mem,
        "global_mem_size": device.global_mem,
        "max_parameter_size": device.max_parameter_size,
        "built_in_kernels": device.built_in_kernels,
        "extensions": device.extensions,
    });
    if let (Some(kernels), Some(object)) = (kernels, one.as_object_mut()) {
        let own = kernels.iter().filter(|(of, ..)| *of == place);
        let all: Map<String, Json> =
            own.map(|(_, name, answers)| (name.clone(), answers.as_deref().map_or(Json::Null, sycl))).collect();
        object.insert("kernels".to_owned(), Json::Object(all));
    }
    one
}

/// SYCL's answers as an object: the values by query, and under `errors` what would be thrown.
pub fn sycl(answers: &[Answer]) -> Json {
    let (mut object, mut errors) = (Map::new(), Map::new());
    for answer in answers {
        match &answer.value {
            Ok(Value::Number(number)) => object.insert(answer.query.to_owned(), json!(number)),
            Ok(Value::Range(range)) => object.insert(answer.query.to_owned(), json!(range)),
            Ok(Value::Text(text)) => object.insert(answer.query.to_owned(), json!(text)),
            Err(error) => {
                errors.insert(answer.query.to_owned(), json!({ "errc": error.errc, "message": error.message }));
                object.insert(answer.query.to_owned(), Json::Null)
            }
        };
    }
    object.insert("errors".to_owned(), Json::Object(errors));
    Json::Object(object)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::probe::{Probed, Reply, Subject};
    use crate::build::query::KernelAnswers;
    use crate::build::query::sycl::answers;
    use crate::report::json::schema::against;

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
            let document = document(&inventory, &listed, kernels, probes);
            assert_eq!(against(SCHEMA, &document), Vec::<String>::new());
            let mut broken = document;
            broken["devices"][0]["aspects"] = json!("cpu");
            assert_eq!(against(SCHEMA, &broken).len(), 1);
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(super::newest("SPIR-V_1.4 SPIR-V_1.10 SPIR-V_1.0").as_deref(), Some("1.10"));
        assert_eq!(super::newest(""), None);
        assert_eq!(super::version("OpenCL 3.1 LINUX"), "3.1");
    }
}
