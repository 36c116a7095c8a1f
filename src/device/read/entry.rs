//! What does one entry of a device configuration say of its target?

use super::{KEYS, Known};
use super::{flag, number, numbers, parsed, sources, text, texts};
use crate::device::did_you_mean;
use crate::device::matrix::Combination;
use crate::device::target::IpVersion;
use crate::device::target::current;
use crate::device::target::{Backend, DeviceType, Target, ToolOption};
use crate::device::yaml::{Entry, Fault, Node, Value};

/// The largest sub-group size and instruction set of numbers that make sense; more is a slip of the pen.
const MAX_SUB_GROUP: u64 = 1024;

/// Reads an entry over what `like` takes over; whether it is a template.
pub(crate) fn target(
    own: &Entry,
    entries: &[Entry],
    file: &str,
    known: &dyn Known,
    aspects: Option<&[&str]>,
    faults: &mut Vec<Fault>,
) -> (Target, bool) {
    let mut target = match entries.iter().find(|entry| entry.key == "like") {
        Some(like) => base(&like.value, known, faults),
        None => Target::default(),
    };
    // Asked for only where something is taken out of them.
    let lacks = entries.iter().any(|entry| entry.key == "lacks-aspects");
    let taken_over = if lacks { taken_over(&target, entries) } else { Vec::new() };
    target.name.clone_from(&own.key);
    file.clone_into(&mut target.file);
    let mut template = false;
    for entry in entries {
        if entry.key == "template" {
            template = flag(&entry.value, faults).unwrap_or_default();
        } else {
            key(&mut target, entry, (aspects, &taken_over), faults);
        }
    }
    /// Number of leading `KEYS` that belong to DPC++'s grammar; its tools' options have names of their own.
    const OF_DPCPP: usize = 4;
    target.brief = entries.iter().all(|entry| {
        let told = matches!(entry.key.as_str(), "source" | "open" | "comment" | "aliases");
        told || KEYS.iter().take(OF_DPCPP).any(|key| *key == entry.key) || entry.key.starts_with("aot-toolchain-")
    });
    defaults(&mut target);
    contradictions(&target, own, entries, faults);
    (target, template)
}

/// Copies a target for `like`: everything but what identifies it.
fn base(node: &Node, known: &dyn Known, faults: &mut Vec<Fault>) -> Target {
    let Some(name) = text(node, faults) else { return Target::default() };
    let Some(base) = known.target(&name) else {
        let remedy = did_you_mean(&name, known.names().into_iter());
        let remedy = remedy.or_else(|| Some("it must be built in or defined before".to_owned()));
        faults.push(Fault::new(node.place, format!("`{name}` is no target")).with_remedy(remedy));
        return Target::default();
    };
    Target {
        aliases: Vec::new(),
        families: Vec::new(),
        ip_versions: Vec::new(),
        architecture_id: None,
        pci_device_ids: Vec::new(),
        product_names: Vec::new(),
        aot_options: base.aot_options.iter().filter(|own| own.option != "device").cloned().collect(),
        ..base.clone()
    }
}

/// The aspects that a target has by `like`, without those that the entry itself names again.
fn taken_over(target: &Target, entries: &[Entry]) -> Vec<String> {
    let own = |entry: &&Entry| matches!(entry.key.as_str(), "aspects" | "more-aspects" | "maybe-aspects");
    let restated: Vec<String> =
        entries.iter().filter(own).flat_map(|entry| names(&entry.value, None, &mut Vec::new())).collect();
    let all = target.aspects.iter().chain(&target.maybe_aspects);
    all.filter(|name| !restated.contains(name)).cloned().collect()
}

fn key(
    target: &mut Target,
    entry: &Entry,
    (aspects, taken_over): (Option<&[&str]>, &[String]),
    faults: &mut Vec<Fault>,
) {
    let node = &entry.value;
    match entry.key.as_str() {
        "aspects" => target.aspects = names(node, aspects, faults),
        "more-aspects" => {
            let more = names(node, aspects, faults);
            target.maybe_aspects.retain(|name| !more.contains(name));
            target.lacks_aspects.retain(|name| !more.contains(name));
            target.aspects.extend(more);
        }
        "maybe-aspects" => target.maybe_aspects = names(node, aspects, faults),
        "lacks-aspects" => {
            target.lacks_aspects = names(node, aspects, faults);
            // Aspects taken over with `like` give way; those that the entry lists itself must not contradict each
            // other.
            target.aspects.retain(|name| !taken_over.contains(name) || !target.lacks_aspects.contains(name));
            target.maybe_aspects.retain(|name| !taken_over.contains(name) || !target.lacks_aspects.contains(name));
        }
        "may_support_other_aspects" => {
            target.may_support_other_aspects = flag(node, faults).unwrap_or_default();
        }
        "sub-group-sizes" => {
            let sizes = numbers(node, MAX_SUB_GROUP, faults);
            if sizes.contains(&0) {
                faults.push(Fault::new(node.place, "a sub-group of 0 work-items"));
            }
            // An empty list is how DPC++'s own table says that it does not know.
            let sizes: Vec<u32> = sizes.into_iter().filter_map(|size| u32::try_from(size).ok()).collect();
            target.sub_group_sizes = Some(sizes).filter(|sizes| !sizes.is_empty());
        }
        "max-work-group-size" => target.max_work_group_size = number(node, u64::MAX, faults),
        "max-work-item-sizes" => {
            let sizes: Option<[u64; 3]> = numbers(node, u64::MAX, faults).try_into().ok();
            if sizes.is_none() {
                faults.push(Fault::new(node.place, "expected three sizes, of the dimensions x, y and z"));
            }
            target.max_work_item_sizes = sizes;
        }
        "local-memory" => target.local_memory = number(node, u64::MAX, faults),
        "max-registers" => target.max_registers = number(node, u64::MAX, faults),
        "driver-version" => target.driver_version = text(node, faults),
        "opencl-extensions" => target.opencl_extensions = Some(texts(node, faults)),
        "spirv-version" => target.spirv_version = version(node, faults),
        "spirv-extensions" => target.spirv_extensions = Some(texts(node, faults)),
        "spirv-capabilities" => target.spirv_capabilities = Some(texts(node, faults)),
        "spirv-refused-capabilities" => target.spirv_refused_capabilities = texts(node, faults),
        "matrix" => {
            let expected = "types of A, B, C, D and sizes MxNxK, as in `bf16 bf16 fp32 fp32 <=8x16x16`";
            target.matrix = Some(parsed(node, expected, Combination::parse, faults));
        }
        "device-type" => {
            let all = [DeviceType::Cpu, DeviceType::Gpu, DeviceType::Accelerator];
            target.device_type = word(node, &all, DeviceType::name, faults);
        }
        "backends" => {
            let find = |text: &str| Backend::ALL.into_iter().find(|backend| backend.name() == text);
            target.backends = parsed(node, "one of opencl, level_zero, cuda, hip, native_cpu", find, faults);
        }
        "ip-versions" => target.ip_versions = parsed(node, "an IP version like 12.55.8", IpVersion::parse, faults),
        "architecture-id" => target.architecture_id = number(node, u64::MAX, faults),
        "pci-device-ids" => {
            let ids = numbers(node, u64::from(u16::MAX), faults);
            target.pci_device_ids = ids.into_iter().filter_map(|id| u16::try_from(id).ok()).collect();
        }
        "product-names" => target.product_names = texts(node, faults),
        "march" => {
            let find = |text: &str| crate::device::cpu::CpuArch::parse(text).ok().map(|_| text.to_owned());
            target.march = parsed(node, "an instruction set of the CPU driver", find, faults);
        }
        "aliases" => target.aliases = texts(node, faults),
        "default-options" => target.default_options = texts(node, faults),
        "aot-toolchain" => target.aot_toolchain = text(node, faults),
        "source" => {
            let own = sources(node, faults);
            target.source.retain(|source| !own.iter().any(|own| own.facts == source.facts));
            target.source.splice(..0, own);
        }
        "open" => {
            let mut own = texts(node, faults);
            own.append(&mut target.open);
            target.open = own;
        }
        "like" | "comment" => {}
        key => match key.strip_prefix("aot-toolchain-").and_then(|rest| rest.split_once('-')) {
            Some((tool, option)) if !tool.is_empty() && !option.is_empty() => {
                if let Some(value) = text(node, faults) {
                    target.aot_options.retain(|own| own.tool != tool || own.option != option);
                    target.aot_options.push(ToolOption { tool: tool.to_owned(), option: option.to_owned(), value });
                }
            }
            _ => {
                let remedy = did_you_mean(key, KEYS.into_iter());
                faults
                    .push(Fault::new(entry.place, format!("unknown key `{}`", key.escape_debug())).with_remedy(remedy));
            }
        },
    }
}

/// A list of aspects, by the names of today, each once.
fn names(node: &Node, aspects: Option<&[&str]>, faults: &mut Vec<Fault>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for item in super::list(node, faults).unwrap_or_default() {
        let Some(name) = text(item, faults) else { continue };
        let name = current(name.strip_prefix("aspect::").unwrap_or(&name));
        if let Some(aspects) = aspects.filter(|aspects| !aspects.contains(&name)) {
            let fault = Fault::new(item.place, format!("unknown aspect `{}`", name.escape_debug()));
            faults.push(fault.with_remedy(did_you_mean(name, aspects.iter().copied())));
        } else if !found.iter().any(|own| own == name) {
            found.push(name.to_owned());
        }
    }
    found
}

fn word<T: Copy>(node: &Node, all: &[T], name: impl Fn(T) -> &'static str, faults: &mut Vec<Fault>) -> Option<T> {
    let own = text(node, faults)?;
    let found = all.iter().copied().find(|one| name(*one) == own);
    if found.is_none() {
        let known: Vec<_> = all.iter().map(|one| name(*one)).collect();
        let fault = Fault::new(node.place, format!("`{}` is none of {}", own.escape_debug(), known.join(", ")));
        faults.push(fault.with_remedy(did_you_mean(&own, known.into_iter())));
    }
    found
}

/// `1.5`.
fn version(node: &Node, faults: &mut Vec<Fault>) -> Option<(u8, u8)> {
    let read = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let found = match &node.value {
        Value::Text(text) => read(text),
        _ => None,
    };
    if found.is_none() {
        faults.push(Fault::new(node.place, "expected a SPIR-V version like 1.5"));
    }
    found
}

/// Fills in what the name implies: DPC++ takes `ocloc`, and the name's end as its device, for Intel GPUs.
fn defaults(target: &mut Target) {
    if let Some(device) = target.name.strip_prefix("intel_gpu_") {
        let device = device.to_owned();
        target.aot_toolchain.get_or_insert_with(|| "ocloc".to_owned());
        if target.aot_toolchain.as_deref() == Some("ocloc") && target.ocloc_device().is_none() {
            target.aot_options.push(ToolOption {
                tool: "ocloc".to_owned(),
                option: "device".to_owned(),
                value: device,
            });
        }
    }
    let prefixes = [
        ("intel_gpu_", DeviceType::Gpu, &[Backend::LevelZero, Backend::OpenCl][..]),
        ("nvidia_gpu_", DeviceType::Gpu, &[Backend::Cuda]),
        ("amd_gpu_", DeviceType::Gpu, &[Backend::Hip]),
        ("intel_cpu_", DeviceType::Cpu, &[Backend::OpenCl]),
    ];
    if let Some((_, kind, backends)) = prefixes.iter().find(|(prefix, ..)| target.name.starts_with(prefix)) {
        target.device_type.get_or_insert(*kind);
        if target.backends.is_empty() {
            target.backends = backends.to_vec();
        }
    }
}

/// Reports facts that cannot be true together.
fn contradictions(target: &Target, own: &Entry, entries: &[Entry], faults: &mut Vec<Fault>) {
    let place = |key: &str| entries.iter().find(|entry| entry.key == key).map_or(own.place, |entry| entry.place);
    let lists = [("maybe-aspects", &target.maybe_aspects), ("lacks-aspects", &target.lacks_aspects)];
    for (key, list) in lists {
        for name in list.iter().filter(|name| target.aspects.contains(name)) {
            faults.push(Fault::new(place(key), format!("aspect `{name}` is in `aspects` too")));
        }
    }
    for name in target.maybe_aspects.iter().filter(|name| target.lacks_aspects.contains(name)) {
        faults.push(Fault::new(place("lacks-aspects"), format!("aspect `{name}` is in `maybe-aspects` too")));
    }
    if let Some(kind) = target.device_type {
        let others = ["cpu", "gpu", "accelerator"].into_iter().filter(|other| *other != kind.name());
        for other in others.filter(|other| target.aspects.iter().any(|name| name == other)) {
            faults.push(Fault::new(place("aspects"), format!("aspect `{other}` of a {}", kind.name())));
        }
    }
    if let (Some(id), Some(ip)) = (target.architecture_id, target.ip_versions.first())
        && id != u64::from(ip.gmdid()) << 8
    {
        let right = u64::from(ip.gmdid()) << 8;
        let message = format!("architecture id {id:#018x} is not that of IP version {ip}, {right:#018x}");
        faults.push(Fault::new(place("architecture-id"), message));
    }
    for option in &target.aot_options {
        if target.aot_toolchain.as_ref().is_some_and(|tool| *tool != option.tool) {
            let key = format!("aot-toolchain-{}-{}", option.tool, option.option);
            let tool = target.aot_toolchain.as_deref().unwrap_or_default();
            faults.push(Fault::new(
                place(&key),
                format!("an option of `{}`, where the toolchain is `{tool}`", option.tool),
            ));
        }
    }
}
