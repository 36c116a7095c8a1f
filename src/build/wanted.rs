//! For what does the user want native code?

use super::compile::{self, Known};
use super::inventory::KINDS;
use super::target::{Backend, CPU_SPEC, GPU_SPEC, Target};
use super::{Device, Engine};
use crate::device::cpu::{self, CpuArch};
use crate::device::table::TargetTable;
use crate::device::target::Target as Facts;
use crate::error::{Error, ErrorKind, Reporter, Result};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

/// A target, and what is known of its devices.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The target to compile for.
    pub(crate) target: Target,
    /// Facts that tell which images it cannot run; none of live devices.
    pub(crate) facts: Option<Facts>,
    /// Whether the user named it alone, and not as one of a family or range.
    pub(crate) named: bool,
    /// Options that the compiler gets for it whatever the images say.
    pub(crate) added_options: Option<String>,
}

/// Targets and devices as the command line names them.
pub struct Asked<'a> {
    /// Spellings of targets.
    pub(crate) targets: &'a [String],
    /// Finds the live devices that are named, for an instruction set of CPUs.
    pub(crate) devices: &'a dyn Fn(Option<CpuArch>) -> Result<Vec<Target>>,
    /// The instruction set, where it was said.
    pub(crate) march: Option<&'a str>,
    /// Whether code of NVIDIA GPUs comes with PTX.
    pub(crate) ptx: bool,
}

/// The targets, each once, in the order of the command line. A family or range is all of its members: the native code of
/// each is its own, and the runtime of every release tells them apart.
///
/// # Errors
/// `Usage` for what is no target or cannot be compiled for, `Environment` for a device that is not there.
pub(crate) fn wanted(reporter: &dyn Reporter, table: &TargetTable, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
    let march = asked.march.map(CpuArch::parse).transpose()?;
    let mut wanted: Vec<Wanted> = Vec::new();
    for spelling in asked.targets.iter().map(|spelling| spelling.trim()).filter(|spelling| !spelling.is_empty()) {
        let found = table.resolve(spelling)?;
        if let Some(note) = &found.note {
            reporter.note(note);
        }
        if let (Some(own), Some(other)) = (found.march, march.filter(|march| Some(*march) != found.march)) {
            let message = format!("`-t {spelling}` is native CPU code for {own}, and --march says {other}");
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("leave one of them away"));
        }
        let own = found.march.or(march).unwrap_or(cpu::DEFAULT);
        let named = found.targets.len() == 1;
        if !named {
            let names: Vec<&str> = found.targets.iter().map(|target| target.name.as_str()).collect();
            reporter.note(&format!("`{spelling}` is {}", names.join(", ")));
        }
        for facts in found.targets {
            let target = Target::from_facts(facts, own)?;
            let facts = Some(facts.clone());
            if let Some(known) = wanted.iter_mut().find(|known| known.target == target) {
                known.named |= named;
            } else if !wanted.iter_mut().any(|known| known.target.merge(&target)) {
                wanted.push(Wanted { target, facts, named, added_options: None });
            }
        }
    }
    if asked.ptx && !wanted.iter_mut().any(|wanted| wanted.target.add_ptx()) {
        let error =
            Error::new(ErrorKind::Usage, "--ptx is for NVIDIA GPUs, and none is named whose PTX newer ones take");
        return Err(error.with_remedy("name the oldest that it is to run on: -t nvidia_gpu_sm_80"));
    }
    let devices = (asked.devices)(march)?;
    wanted.extend(devices.into_iter().map(|target| Wanted { target, facts: None, named: true, added_options: None }));
    // The runtime could not tell them apart.
    for (at, one) in wanted.iter().enumerate() {
        let same = |other: &&Wanted| {
            other.target.spec == one.target.spec && other.target.compile_target == one.target.compile_target
        };
        if let Some(other) = wanted.iter().take(at).find(same) {
            let message = format!(
                "{} and {} are the same to the runtime, which would take either's native code",
                describe(&other.target),
                describe(&one.target)
            );
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("build for one of them"));
        }
    }
    if wanted.is_empty() {
        let error = Error::new(ErrorKind::Usage, "no target is named");
        return Err(error.with_remedy("-t TARGET or --device DEVICE; `sycl-bundle targets` lists targets"));
    }
    Ok(wanted)
}

/// Leaves out the members of families and ranges that this machine's ocloc does not know. `archived` says that code for
/// several GPUs goes into archives.
///
/// # Errors
/// `Environment` where there is no ocloc, or it does not know a target that was named alone, or ptxas does not know one.
pub(crate) fn known(
    reporter: &dyn Reporter,
    wanted: Vec<Wanted>,
    engine: &dyn Fn(&Target) -> Result<Engine>,
    archived: bool,
) -> Result<Vec<Wanted>> {
    if let Some(target) = wanted.iter().map(|wanted| &wanted.target).find(|target| target.is_nvidia()) {
        let Known { unknown, version, .. } = compile::known(&[target], &engine(target)?)?;
        if !unknown.is_empty() {
            let message = format!("ptxas does not know all of {} ({version})", target.architecture());
            let error = Error::new(ErrorKind::Environment, message);
            return Err(error.with_remedy("install a newer or older CUDA, or name one with --cuda"));
        }
    }
    let gpus: Vec<&Target> = wanted.iter().map(|wanted| &wanted.target).filter(|target| is_offline(target)).collect();
    let Some(first) = gpus.first() else { return Ok(wanted) };
    let Known { unknown, added, version } = compile::known(&gpus, &engine(first)?)?;
    let name = |place: &usize| gpus.get(*place).map(|target| target.name.clone());
    let names: HashSet<String> = unknown.iter().filter_map(name).collect();
    let mut added: HashMap<String, String> =
        added.into_iter().filter_map(|(place, options)| Some((name(&place)?, options))).collect();
    let bundles = "executable kernel bundles (get_kernel_bundle, not launches) fail on a GPU where the kernel has native code \
                   for another one without SPIR-V inside";
    match gpus.len() {
        1 => reporter.detail(bundles),
        _ if archived => {}
        _ => reporter.note(&format!("{bundles}; `check --state executable` tells where, --archive mends it")),
    }
    let version = if version.is_empty() { "this machine's ocloc".to_owned() } else { format!("ocloc {version}") };
    if let Some(named) = wanted.iter().find(|wanted| wanted.named && names.contains(&wanted.target.name)) {
        let message = format!("{version} does not know {}", named.target.name);
        let remedy = "install a newer ocloc, or name one with --ocloc; `ocloc compile --help` lists what it knows";
        return Err(Error::new(ErrorKind::Environment, message).with_remedy(remedy));
    }
    if !names.is_empty() {
        let mut list: Vec<&str> = names.iter().map(String::as_str).collect();
        list.sort_unstable();
        reporter.note(&format!("{version} does not know {}, which are left out", list.join(", ")));
    }
    let mut left: Vec<Wanted> = wanted.into_iter().filter(|wanted| !names.contains(&wanted.target.name)).collect();
    for wanted in &mut left {
        wanted.added_options = added.remove(&wanted.target.name);
    }
    if left.is_empty() {
        let message = format!("{version} knows none of the targets");
        return Err(Error::new(ErrorKind::Environment, message).with_remedy("install a newer ocloc"));
    }
    Ok(left)
}

fn is_offline(target: &Target) -> bool {
    matches!(target.backend, Backend::Ocloc { .. })
}

/// A target in a message: CPUs with their instruction set.
pub(crate) fn describe(target: &Target) -> String {
    match &target.backend {
        Backend::Cpu(march) => format!("{} ({march})", target.name),
        Backend::Ocloc { .. } | Backend::Nvidia { .. } => target.name.clone(),
        Backend::Live { .. } => format!("{} ({})", target.name, target.spec),
    }
}

/// The driver of a live device, which a word on the command line means; `environment` has it simulate one.
///
/// # Errors
/// `Environment` where nothing can be compiled for it.
pub(crate) fn live_target(
    reporter: &dyn Reporter,
    word: &str,
    (place, device): (usize, &Device),
    environment: &[(OsString, OsString)],
    march: Option<CpuArch>,
) -> Result<Target> {
    let refuse = |why: &str, remedy: &str| {
        let message = format!("nothing can be compiled for the device {} ({}): {why}", device.name, device.platform);
        Err(Error::new(ErrorKind::Environment, message).with_remedy(remedy))
    };
    if !device.takes_spirv() {
        return refuse("its driver takes no SPIR-V", "`sycl-bundle devices` tells which do");
    }
    let spec = match device.kind.as_str() {
        "cpu" if device.compiles => CPU_SPEC,
        "cpu" if KINDS.contains(&word) => {
            return refuse(
                "the runtime hands native CPU code to every OpenCL CPU device, and only Intel's driver takes its own",
                "`doctor --install-driver` installs that; a part of the device's name means this driver nevertheless",
            );
        }
        "cpu" => {
            reporter.note(&format!(
                "native code of {} is for this driver alone: the runtime hands it to every OpenCL CPU device, and where \
                 another driver is found a program ends with UR_RESULT_ERROR_INVALID_BINARY, even with SPIR-V beside it",
                device.platform
            ));
            CPU_SPEC
        }
        "gpu" => GPU_SPEC,
        kind => {
            return refuse(
                &format!("no runtime since 2026 chooses native code for devices of kind `{kind}`"),
                "they run the SPIR-V images",
            );
        }
    };
    Ok(Target {
        name: device.name.clone(),
        spec,
        compile_target: None,
        backend: Backend::Live {
            place: u32::try_from(place).unwrap_or(u32::MAX),
            name: device.name.clone(),
            environment: environment.to_vec(),
            march: march.filter(|_| spec == CPU_SPEC),
        },
    })
}
