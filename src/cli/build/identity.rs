//! Who compiles for a target, as far as its results depend on it?

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sycl_bundle::build::cache::{Compiler, fingerprint};
use sycl_bundle::build::target::{Backend, Target};
use sycl_bundle::build::{Engine, Inventory, Offline, Open, inventory, offline};
use sycl_bundle::error::Result;

/// The longest that a compiler may take to identify itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The compilers of targets.
#[derive(Debug, Default)]
pub struct Identities {
    /// Compilers by the place of the target.
    pub compilers: HashMap<usize, Compiler>,
    /// Files of the compilers, as far as they are known.
    pub libraries: Vec<PathBuf>,
}

/// The answer of an engine about itself.
enum Told {
    Devices(Inventory),
    Offline(Offline, Vec<String>),
}

/// The compilers of those targets that are wanted.
///
/// # Errors
/// `Environment` where one does not answer.
pub fn identify(targets: &[Target], engines: &[Engine], wanted: &[usize]) -> Result<Identities> {
    let mut found = Identities::default();
    let mut known: Vec<(&Engine, Told)> = Vec::new();
    for (place, (target, engine)) in targets.iter().zip(engines).enumerate() {
        if !wanted.contains(&place) {
            continue;
        }
        if !known.iter().any(|(other, _)| *other == engine) {
            let told = match &engine.open {
                Open::Cpu | Open::Device(_) => {
                    let inventory = inventory(&engine.launch, PATIENCE)?;
                    found.libraries.extend(libraries(&inventory));
                    Told::Devices(inventory)
                }
                Open::Ocloc(_) | Open::Nvidia(_) => {
                    let told = offline(engine, &[], PATIENCE)?;
                    found.libraries.extend(told.files.iter().cloned());
                    let prints = told.files.iter().map(|file| fingerprint(file)).collect::<Result<_>>()?;
                    Told::Offline(told, prints)
                }
            };
            known.push((engine, told));
        }
        if let Some((_, told)) = known.iter().find(|(other, _)| *other == engine) {
            found.compilers.insert(place, compiler(target, told, &engine.launch.env));
        }
    }
    found.libraries.dedup();
    Ok(found)
}

/// The targets among these that their compiler does not know, with its version.
///
/// # Errors
/// `Environment` where there is no compiler.
pub fn unknown(targets: &[&Target], engine: &Engine) -> Result<(Vec<usize>, String)> {
    let device = |target: &&Target| match &target.backend {
        Backend::Ocloc { device } => Some(device.clone()),
        Backend::Nvidia { .. } => Some(target.architecture().into_owned()),
        Backend::Cpu(_) | Backend::Live { .. } => None,
    };
    let devices: Vec<String> = targets.iter().filter_map(device).collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let told = offline(engine, &devices, PATIENCE)?;
    let is_unknown = |target: &&Target| device(target).is_some_and(|device| told.unknown.contains(&device));
    let places = targets.iter().enumerate().filter(|(_, target)| is_unknown(target)).map(|(place, _)| place);
    Ok((places.collect(), told.version))
}

/// The compiler of a target, and what it reads.
fn compiler(target: &Target, told: &Told, env: &[(OsString, OsString)]) -> Compiler {
    let identity = match told {
        Told::Devices(inventory) => {
            let device = match &target.backend {
                Backend::Live { place, .. } => {
                    usize::try_from(*place).ok().and_then(|place| inventory.devices.get(place))
                }
                _ => inventory.devices.iter().find(|device| device.compiles),
            };
            device.map(|device| {
                [&device.platform, &device.vendor, &device.name, &device.driver, &device.opencl]
                    .map(String::clone)
                    .to_vec()
            })
        }
        Told::Offline(offline, prints) => {
            let compiler = if target.is_nvidia() { "ptxas" } else { "ocloc" };
            let about = [compiler.to_owned(), offline.version.clone()];
            Some(about.into_iter().chain(prints.iter().cloned()).collect())
        }
    };
    // Settings of the driver and of the compiler in it; which driver is chosen shows in its identity.
    let read = |name: &str| ["CL_CONFIG_", "VOLCANO_", "IGC_"].iter().any(|prefix| name.starts_with(prefix));
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let own = std::env::vars_os().filter(|(name, _)| env.iter().all(|(set, _)| set != name));
    let mut environment: Vec<(String, String)> = own
        .chain(env.iter().cloned())
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| read(name))
        .collect();
    environment.sort();
    Compiler {
        target: target.spec.to_owned(),
        architecture: target.architecture().into_owned(),
        identity: identity.unwrap_or_default(),
        environment,
    }
}

/// The loader, and the drivers that the user names by their files.
fn libraries(inventory: &Inventory) -> Vec<PathBuf> {
    let named = std::env::var_os("OCL_ICD_FILENAMES").unwrap_or_default();
    let named = std::env::split_paths(&named).collect::<Vec<_>>();
    let all = std::iter::once(Path::new(&inventory.loader)).chain(named.iter().map(PathBuf::as_path));
    all.filter(|path| path.is_absolute() && path.is_file()).map(Path::to_path_buf).collect()
}
