//! How is a live device written down, so that others can check against it?
//!
//! A device configuration in the grammar of `device-configs/*.yaml`, one target: aspects as the runtime would answer,
//! sizes and limits as the driver does, SPIR-V as it says, or as it was found out by probing. Of a GPU that is known what the driver
//! cannot be asked for is taken over: it checks few of the extensions and capabilities that a module declares.

use crate::build::Device;
use crate::build::probe::{Probed, Probes, Reply, Subject};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Characters of a line of names.
const LINE: usize = 110;

/// The name of a device as a target: its letters and digits, with `-` between them.
pub(crate) fn target_name(device: &Device) -> String {
    let plain = device.name.replace("(R)", " ").replace("(TM)", " ").to_ascii_lowercase();
    let words: Vec<&str> = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("live-{}", if words.is_empty() { device.kind.clone() } else { words.join("-") })
}

/// The configuration of one device under a name.
pub fn profile(device: &Device, name: &str, probes: Option<&Probes>) -> String {
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "# A live device, written by `sycl-bundle devices --save` (sycl-bundle {version}).");
    let _ = writeln!(out, "{name}:");
    let known = device.known();
    if let (Some(known), Some(version)) = (known, device.ip_version()) {
        let _ = writeln!(out, "    like: {}\n    ip-versions: [{version}]", known.name);
        // Aspects that the driver does not answer are unknown.
        names(&mut out, "maybe-aspects", &[]);
    }
    names(&mut out, "aspects", &device.aspects);
    names(&mut out, "lacks-aspects", &device.lacks_aspects);
    let _ = writeln!(out, "    may_support_other_aspects: true");
    if !device.sub_group_sizes.is_empty() {
        let _ = writeln!(out, "    sub-group-sizes: [{}]", joined(&device.sub_group_sizes));
    }
    if device.max_work_group_size > 0 {
        let _ = writeln!(out, "    max-work-group-size: {}", device.max_work_group_size);
    }
    if device.max_work_item_sizes.len() == 3 {
        let _ = writeln!(out, "    max-work-item-sizes: [{}]", joined(&device.max_work_item_sizes));
    }
    if device.local_mem > 0 {
        let _ = writeln!(out, "    local-memory: {}", device.local_mem);
    }
    if !device.driver.is_empty() {
        let _ = writeln!(out, "    driver-version: {}", quoted(&device.driver));
    }
    if !device.extensions.is_empty() {
        names(&mut out, "opencl-extensions", &device.extensions);
    }
    let spirv = Spirv::from_device(device, probes);
    if let Some((major, minor)) = spirv.version {
        let _ = writeln!(out, "    spirv-version: {major}.{minor}");
    }
    if probes.is_some() {
        names(&mut out, "spirv-extensions", &spirv.extensions);
        names(&mut out, "spirv-capabilities", &spirv.capabilities);
        names(&mut out, "spirv-refused-capabilities", &spirv.refused);
    }
    if matches!(device.kind.as_str(), "cpu" | "gpu" | "accelerator") {
        let _ = writeln!(out, "    device-type: {}", device.kind);
    }
    let _ = writeln!(out, "    backends: [opencl]");
    let from = format!("{}, driver {} ({}, {})", device.name, device.driver, device.platform, device.opencl);
    let _ = writeln!(out, "    source:");
    let _ = writeln!(out, "        all: {}", quoted(&format!("asked of {from}")));
    let told = format!("CL_DEVICE_IL_VERSION of {from} says \"{}\"", device.il);
    let told = if probes.is_some() { format!("micro-modules built by {from}; {told}") } else { told };
    let _ = writeln!(out, "        spirv-version: {}", quoted(&told));
    if probes.is_some() {
        let built = format!("micro-modules built by {from}");
        let text = known.map(|known| format!("{built}; what it does not check is that of {}", known.name));
        let text = quoted(&text.unwrap_or(built));
        for key in ["spirv-extensions", "spirv-capabilities", "spirv-refused-capabilities"] {
            let _ = writeln!(out, "        {key}: {text}");
        }
    }
    let open = spirv.open;
    if !open.is_empty() {
        let _ = writeln!(out, "    open:");
        for text in open {
            let _ = writeln!(out, "        - {}", quoted(&text));
        }
    }
    out
}

/// The SPIR-V part of a profile.
#[derive(Default)]
struct Spirv {
    version: Option<(u8, u8)>,
    extensions: Vec<String>,
    capabilities: Vec<String>,
    refused: Vec<String>,
    open: Vec<String>,
}

impl Spirv {
    fn from_device(device: &Device, probes: Option<&Probes>) -> Spirv {
        let known = device.known();
        let mut open = Vec::new();
        if known.is_none_or(|known| known.matrix.is_none()) {
            open.push("matrix combinations: OpenCL has no query for them".to_owned());
        }
        let Some(probes) = probes else {
            return Spirv { version: newest(&device.il), open, ..Spirv::default() };
        };
        let (mut extensions, mut capabilities) = (BTreeSet::new(), Vec::new());
        let (mut refused, mut unclear, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
        for one in probes.all.iter().filter(|one| !matches!(one.subject, Subject::Version(..))) {
            let Probed { subject, reply, .. } = one;
            match (reply, subject) {
                (Reply::Taken, _) if !probes.telling(one) => {}
                (Reply::Taken, Subject::Extension(name)) => {
                    extensions.insert((*name).to_owned());
                }
                (Reply::Taken, Subject::Capability(_, extension)) => {
                    capabilities.push(subject.name());
                    extensions.extend(Some((*extension).to_owned()).filter(|name| !name.is_empty()));
                }
                (Reply::Refused(_), Subject::Capability(..)) => refused.push(subject.name()),
                (Reply::Died(_), _) => {
                    unclear.push(format!("the driver dies of a kernel with {}", subject.name()));
                    doubtful.push(subject.name());
                }
                (Reply::Silent(_), _) => {
                    unclear.push(format!("the driver gives no answer to a kernel with {}", subject.name()));
                    doubtful.push(subject.name());
                }
                _ => {}
            }
        }
        open.extend(unclear);
        if let Some(known) = known {
            extensions.extend(known.spirv_extensions.iter().flatten().cloned());
            let more = known.spirv_capabilities.iter().flatten();
            let more: Vec<String> = more.filter(|name| !capabilities.contains(name)).cloned().collect();
            capabilities.extend(more);
            capabilities.retain(|name| !refused.contains(name) && !doubtful.contains(name));
        } else if !probes.checks_capabilities {
            open.push(
                "the driver takes a capability that does not exist, so only those that code uses are told".into(),
            );
        }
        let version = probes.version();
        Spirv { version, extensions: extensions.into_iter().collect(), capabilities, refused, open }
    }
}

/// The newest version of a list like `SPIR-V_1.0 SPIR-V_1.4`.
fn newest(il: &str) -> Option<(u8, u8)> {
    let versions = il.split_whitespace().filter_map(|name| name.strip_prefix("SPIR-V_")?.split_once('.'));
    versions.filter_map(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))).max()
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// A key with a list of names, some to a line.
fn names(out: &mut String, key: &str, names: &[String]) {
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    // A driver may list names of no letters, which name nothing.
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let _ = write!(out, "    {key}: [");
    let mut used = LINE;
    for (at, name) in names.iter().enumerate() {
        let name = if plain(name) { (*name).to_owned() } else { quoted(name) };
        out.push_str(if at > 0 { "," } else { "" });
        if used.saturating_add(name.len()) > LINE {
            out.push_str("\n        ");
            used = 8;
        } else {
            out.push(' ');
        }
        used = used.saturating_add(name.len()).saturating_add(2);
        out.push_str(&name);
    }
    // Behind quotes, the list ends on the same line: YAML's readers take no bracket at the depth of the key there.
    out.push_str(match names.last() {
        None => "]\n",
        Some(last) if plain(last) => "\n    ]\n",
        Some(_) => " ]\n",
    });
}

/// A text as YAML has it between double quotes, which is as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::aspect;
    use crate::device;

    fn device() -> Device {
        Device {
            name: "Some(R) CPU: \"X\" @ 2.0".into(),
            kind: "cpu".into(),
            driver: "2026.2".into(),
            il: "SPIR-V_1.0 SPIR-V_1.4 SPIR-V_1.2".into(),
            aspects: vec!["cpu".into(), "fp64".into()],
            lacks_aspects: vec!["gpu".into(), "fp16".into()],
            sub_group_sizes: vec![4, 8],
            max_work_group_size: 8192,
            max_work_item_sizes: vec![8192, 4096, 64],
            local_mem: 1 << 18,
            extensions: vec!["cl_khr_il_program".into()],
            ..Device::default()
        }
    }

    fn read(text: &str) -> crate::device::target::Target {
        let mut table = device::table().clone();
        let names: Vec<&str> = aspect::names().collect();
        let added = table.add("saved", text, &names);
        assert!(added.faults.is_empty() && added.warnings.is_empty(), "{text}\n{:?}", added.faults);
        table.target(&added.names[0]).unwrap().clone()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let device = device();
        let name = target_name(&device);
        assert_eq!(name, "live-some-cpu-x-2-0");
        let target = read(&profile(&device, &name, None));
        assert_eq!((&target.aspects, &target.lacks_aspects), (&device.aspects, &device.lacks_aspects));
        assert_eq!(target.sub_group_sizes, Some(vec![4, 8]));
        assert_eq!((target.max_work_group_size, target.max_work_item_sizes), (Some(8192), Some([8192, 4096, 64])));
        assert_eq!((target.local_memory, target.spirv_version), (Some(1 << 18), Some((1, 4))));
        assert_eq!((target.spirv_capabilities, target.opencl_extensions), (None, Some(device.extensions)));
        assert!(target.source.iter().any(|source| source.text.contains("driver 2026.2")));
    }

    #[test]
    fn whatever_a_driver_says_is_written_so_that_it_is_read_again() {
        for word in [
            " ",
            "a b",
            "a]",
            "- #",
            "\"'\\",
            "a\nb\r\t",
            "\0\u{1b}\u{7f}",
            "\u{85}\u{2028}\u{feff}",
            "null",
            "x: y",
            "\u{202e}",
        ] {
            for extensions in
                [vec![word.to_owned()], vec![word.to_owned(), "cl_khr_fp64".into()], vec!["a".into(), word.into()]]
            {
                let device =
                    Device { name: word.into(), driver: word.into(), platform: word.into(), extensions, ..device() };
                let target = read(&profile(&device, &target_name(&device), None));
                assert_eq!(target.opencl_extensions, Some(device.extensions), "{word:?}");
                assert_eq!(target.driver_version.unwrap_or_default(), word, "{word:?}");
            }
        }
        let extensions = ["", "a", ""].map(str::to_owned).to_vec();
        let target = read(&profile(&Device { extensions, ..device() }, "one", None));
        assert_eq!(target.opencl_extensions, Some(vec!["a".to_owned()]));
    }

    #[test]
    fn a_probe_says_what_is_taken_refused_and_deadly() {
        let of =
            |number, extension, used, reply| Probed { subject: Subject::Capability(number, extension), used, reply };
        let version = |minor, reply| Probed { subject: Subject::Version(1, minor), used: true, reply };
        let mut probes = Probes {
            all: vec![
                version(0, Reply::Taken),
                version(1, Reply::Refused("no".into())),
                of(10, "", true, Reply::Taken),
                of(5629, "SPV_KHR_expect_assume", false, Reply::Taken),
                of(71, "", false, Reply::Refused("no".into())),
                of(5617, "SPV_INTEL_vector_compute", false, Reply::Died("gone".into())),
            ],
            checks_capabilities: true,
            checks_extensions: true,
        };
        let target = read(&profile(&device(), "one", Some(&probes)));
        assert_eq!(target.spirv_version, Some((1, 0)));
        assert_eq!(target.spirv_capabilities, Some(vec!["Float64".into(), "ExpectAssumeKHR".into()]));
        assert_eq!(target.spirv_extensions, Some(vec!["SPV_KHR_expect_assume".into()]));
        assert_eq!(target.spirv_refused_capabilities, ["UniformDecoration"]);
        assert!(target.open.iter().any(|text| text == "the driver dies of a kernel with VectorComputeINTEL"));
        // Where nothing is looked at, only what code uses is told.
        probes.checks_capabilities = false;
        let target = read(&profile(&device(), "one", Some(&probes)));
        assert_eq!(target.spirv_capabilities, Some(vec!["Float64".into()]));
    }

    #[test]
    fn a_gpu_that_is_known_has_what_the_driver_cannot_be_asked_for() {
        let (gmdid, driver) = (12 << 22 | 60 << 14 | 7, "26.27.039122".to_owned());
        let (aspects, lacks_aspects) = (vec!["gpu".into()], vec!["cpu".into()]);
        let device = Device { kind: "gpu".into(), aspects, lacks_aspects, gmdid, driver, ..device() };
        let died = Probed {
            subject: Subject::Capability(5629, "SPV_KHR_expect_assume"),
            used: false,
            reply: Reply::Died("gone".into()),
        };
        let probes = Probes { all: vec![died], checks_capabilities: false, checks_extensions: false };
        let target = read(&profile(&device, "one", Some(&probes)));
        let known = device.known().unwrap();
        assert_eq!((known.name.as_str(), &*crate::native::gpu_of(&target)), ("intel_gpu_pvc", "intel_gpu_pvc"));
        assert_eq!((target.driver_version.as_deref(), &target.matrix), (Some("26.27.039122"), &known.matrix));
        let all = |list: &Option<Vec<String>>| list.iter().flatten().cloned().collect::<BTreeSet<String>>();
        assert!(!all(&known.spirv_extensions).is_empty());
        assert_eq!(all(&target.spirv_extensions), all(&known.spirv_extensions));
        let mut left = all(&known.spirv_capabilities);
        assert!(left.remove("ExpectAssumeKHR"));
        assert_eq!(all(&target.spirv_capabilities), left);
        // The driver says the rest.
        assert_eq!((&target.aspects, target.maybe_aspects.len()), (&device.aspects, 0));
    }
}
