//! How does the user say which images are meant, and which targets there are?

use super::global::Global;
use super::live;
use crate::bundle::aspect;
use crate::bundle::image::State;
use crate::device;
use crate::device::table::{Added, TargetTable};
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::files::input::Input;
use crate::limits;
use crate::report::devices::profile;
use crate::report::profile::Profile;
use crate::select::predicate::Predicate;
use crate::select::{Pattern, Selector, aspect, range};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The selectors of verbs that read: of those that judge or compile, `-t` says for which targets they do.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct TargetSelection {
    #[command(flatten)]
    others: Selection,
    /// Only images for these targets, in any spelling of `targets`, or whose target's name matches (repeatable)
    #[arg(short = 't', long, value_name = "TARGET,...", value_delimiter = ',')]
    target: Vec<String>,
}

impl TargetSelection {
    /// The selector.
    ///
    /// # Errors
    /// `Usage` where a number or glob is malformed.
    pub(crate) fn selector(&self) -> Result<Selector> {
        Ok(Selector { targets: target_patterns(&self.target)?, ..self.others.selector()? })
    }
}

/// Patterns for the targets of images: texts as they are, and all names of the targets that they spell.
///
/// # Errors
/// `Usage` where a glob is malformed.
pub(crate) fn target_patterns(texts: &[String]) -> Result<Vec<Pattern>> {
    let mut patterns = Vec::new();
    for text in texts {
        patterns.push(Pattern::new(text)?);
        // A text that is no spelling is the name of a target in files: a triple, or a device that nobody knows.
        for target in device::table().resolve(text).map(|found| found.targets).unwrap_or_default() {
            let names = std::iter::once(&*target.name).chain(target.aliases.iter().map(String::as_str));
            for name in names.chain(target.ocloc_device()) {
                patterns.push(Pattern::new(name)?);
            }
        }
    }
    Ok(patterns)
}

/// The selectors that are the same for every verb.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Selectors")]
pub(crate) struct Selection {
    /// Only these images, by number or range (repeatable)
    #[arg(long, value_name = "N|A-B", value_delimiter = ',')]
    image: Vec<String>,
    /// Only images with a kernel whose mangled or demangled name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    kernel: Vec<String>,
    /// Only images of this state (repeatable)
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateName>,
    /// Only images that need this aspect of a device, such as fp64 (repeatable)
    #[arg(long, value_name = "ASPECT", value_delimiter = ',')]
    aspect: Vec<String>,
    /// Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)
    ///
    /// Tests are joined by `and`, `or`, `not` and parentheses. Fields are called as in `inspect --format json`: index, size,
    /// stored_size, offset, state, format, target, compile_target, march, compression, blake3, compile_options,
    /// link_options, reqd_sub_group_size, reqd_work_group_size (how many work-items), problem, and the lists kernels, exports,
    /// imports, aspects, capabilities, extensions and properties (sets). `=` and `!=` match texts by glob, of a list any;
    /// numbers compare with `<`, `<=`, `>`, `>=` too, sizes as 64KiB, and a list by how many it has (`kernels > 1`). A field
    /// alone asks whether there is a value (`not imports`).
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Vec<String>,
    /// Only images that a program compiled just in time while `record` wrote this profile (repeatable)
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
}

/// A state, as the command line names it.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum StateName {
    /// SPIR-V or other intermediate code
    Input,
    /// Compiled, with open imports
    Object,
    /// Ready to run
    Executable,
}

impl StateName {
    /// The state.
    pub(crate) fn state(self) -> State {
        match self {
            StateName::Input => State::Input,
            StateName::Object => State::Object,
            StateName::Executable => State::Executable,
        }
    }
}

impl Selection {
    /// The selector.
    ///
    /// # Errors
    /// `Usage` where a number or glob is malformed.
    pub(crate) fn selector(&self) -> Result<Selector> {
        let globs = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>();
        Ok(Selector {
            images: self.image.iter().map(|text| range(text)).collect::<Result<Vec<_>>>()?,
            kernels: globs(&self.kernel)?,
            states: self.state.iter().map(|name| name.state()).collect(),
            targets: Vec::new(),
            aspects: self.aspect.iter().map(|name| aspect(name)).collect::<Result<Vec<_>>>()?,
            conditions: self.condition.iter().map(|text| Predicate::new(text)).collect::<Result<Vec<_>>>()?,
            digests: self.digests()?,
        })
    }

    /// The images that profiles list; none where no profile is given.
    fn digests(&self) -> Result<Option<HashSet<[u8; 32]>>> {
        if self.profile.is_empty() {
            return Ok(None);
        }
        let mut digests = HashSet::new();
        for (path, profile) in self.profile.iter().zip(self.profiles()?) {
            digests.extend(profile.digests().context(|| path.display().to_string())?);
        }
        Ok(Some(digests))
    }

    /// The profiles that are given.
    ///
    /// # Errors
    /// Errors of reading; `Input` where the file is no profile.
    pub(crate) fn profiles(&self) -> Result<Vec<Profile>> {
        read_profiles(&self.profile)
    }

    /// Whether images are asked for by number.
    pub(crate) fn names_images(&self) -> bool {
        !self.image.is_empty()
    }
}

/// Reads profiles of `record`.
///
/// # Errors
/// Errors of reading; `Input` where the file is no profile.
pub(crate) fn read_profiles(paths: &[PathBuf]) -> Result<Vec<Profile>> {
    let read = |path: &PathBuf| {
        let text = Input::read_settings(path, limits::MAX_RECORDED)?;
        Profile::parse(text.as_bytes()).context(|| path.display().to_string())
    };
    paths.iter().map(read).collect()
}

/// The flag, the same for every verb that knows targets.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct DeviceConfigs {
    /// Add targets from a device configuration, in place of those of the same name (repeatable)
    #[arg(long, value_name = "FILE")]
    device_config: Vec<PathBuf>,
}

impl DeviceConfigs {
    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.device_config
    }

    /// The built-in targets and those of the files; warnings are said.
    ///
    /// # Errors
    /// The last fault of a file, with its place, after those before it have been said.
    pub(crate) fn table(&self, global: &Global) -> Result<Cow<'static, TargetTable>> {
        if self.device_config.is_empty() {
            return Ok(Cow::Borrowed(device::table()));
        }
        let mut table = device::table().clone();
        for path in &self.device_config {
            let added = add_definitions(&mut table, path)?;
            added.warnings.iter().for_each(|warning| global.note(warning));
            let mut faults = added.faults;
            if let Some(last) = faults.pop() {
                for fault in faults {
                    global.error(&fault);
                }
                return Err(last);
            }
        }
        Ok(Cow::Owned(table))
    }
}

/// Live devices among the targets.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LiveTargets {
    /// A live OpenCL device: its number, kind (cpu, gpu) or a part of its name, as `devices` lists them; its driver is asked
    /// which SPIR-V it takes (repeatable)
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<String>,
}

impl LiveTargets {
    /// Adds the devices to a table, as `devices --save` writes them; gives their names there.
    ///
    /// # Errors
    /// `Environment` where there is no such device, `Usage` where a word means several.
    pub(crate) fn add(&self, global: &Global, table: &mut Cow<'_, TargetTable>) -> Result<Vec<String>> {
        if self.devices.is_empty() {
            return Ok(Vec::new());
        }
        let live = live::find(global, &self.devices)?;
        let listed = self.devices.iter().map(|wanted| live.choose(wanted)).collect::<Result<Vec<_>>>()?;
        let probes = live.probe(global, &live::settings(None), &listed)?;
        let aspects: Vec<&str> = aspect::names().collect();
        let mut names = Vec::new();
        for (place, device) in &listed {
            let name = profile::target_name(device);
            let own = probes.iter().find(|(own, _)| own == place).map(|(_, probes)| probes);
            let text = profile::profile(device, &name, own);
            if let Some(fault) = table.to_mut().add(&device.name, &text, &aspects).faults.pop() {
                let message = format!("what the driver says of `{}` is not taken: {fault}", device.name);
                return Err(Error::new(ErrorKind::Environment, message));
            }
            names.push(name);
        }
        Ok(names)
    }
}

/// Adds the definitions of a file to a table.
///
/// # Errors
/// `Io` or `Input` where the file cannot be read as text; faults in it are not errors here.
pub(crate) fn add_definitions(table: &mut TargetTable, path: &Path) -> Result<Added> {
    let name = path.display().to_string();
    let text = Input::read_settings(path, limits::MAX_CONFIG)?;
    let aspects: Vec<&str> = aspect::names().collect();
    Ok(table.add(&name, &text, &aspects))
}
