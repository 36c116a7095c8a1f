//! Which binaries of an image go into one archive for several GPUs?

use super::compile::Binary;
use super::plans::Plans;
use super::target::Backend;
use super::wanted::Wanted;
use super::{Job, Unit};
use crate::error::{Context as _, Result};
use crate::rewrite::archive::{GenericIr, Member, archive};
use crate::rewrite::specialize::{RecordedValues, Specialized};
use std::borrow::Cow;
use std::collections::HashMap;

/// The contents of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveForm {
    /// Native code alone.
    Native,
    /// Native code, and SPIR-V for all other Intel GPUs.
    Ir,
}

impl ArchiveForm {
    /// Reads `native` or `ir`.
    ///
    /// # Errors
    /// A sentence for the command line.
    pub(crate) fn parse(text: &str) -> std::result::Result<ArchiveForm, String> {
        match text {
            "native" => Ok(ArchiveForm::Native),
            "ir" => Ok(ArchiveForm::Ir),
            _ => Err("native (code alone) or ir (SPIR-V too)".to_owned()),
        }
    }
}

/// The archives of one file's images.
#[derive(Debug, Default)]
pub(crate) struct Archives {
    form: Option<ArchiveForm>,
    /// By image.
    bytes: HashMap<usize, Vec<u8>>,
}

/// The modules of images, with the options that all their targets have in common.
pub(crate) type Modules<'j> = HashMap<usize, (Cow<'j, [u8]>, String)>;

/// The modules that go into archives, from the jobs of one file.
pub(crate) fn modules<'j>(form: Option<ArchiveForm>, wanted: &[Wanted], jobs: &[Job<'j>]) -> Modules<'j> {
    let mut modules: Modules<'j> = HashMap::new();
    if form != Some(ArchiveForm::Ir) {
        return modules;
    }
    for job in jobs.iter().filter(|job| is_offline(wanted, job.target)) {
        let options = [&*job.compile_options, &*job.link_options].join(" ");
        match modules.get_mut(&job.image) {
            Some((_, common)) => {
                let shared =
                    common.split_whitespace().filter(|word| options.split_whitespace().any(|own| own == *word));
                *common = shared.collect::<Vec<_>>().join(" ");
            }
            None => {
                modules.insert(job.image, (job.il.clone(), options.trim().to_owned()));
            }
        }
    }
    modules
}

/// Whether a target's code may stand in an archive.
fn is_offline(wanted: &[Wanted], place: usize) -> bool {
    wanted.get(place).is_some_and(|wanted| matches!(wanted.target.backend, Backend::Ocloc { .. }))
}

impl Archives {
    /// Archives of images that are compiled for these units, as yet without code.
    pub(crate) fn planned(form: Option<ArchiveForm>, plans: &Plans<'_>, wanted: &[Wanted]) -> Archives {
        let units = plans.jobs.iter().map(Job::unit).filter(|unit| is_offline(wanted, unit.1));
        let bytes = form.map(|_| units.map(|(image, _)| (image, Vec::new())).collect()).unwrap_or_default();
        Archives { form, bytes }
    }

    /// Packs what was compiled. Code with different values of specialization constants stays apart.
    ///
    /// # Errors
    /// `Input` where a compiler does not tell the GPU of its code.
    pub(crate) fn pack(
        form: Option<ArchiveForm>,
        wanted: &[Wanted],
        plans: &Plans<'_>,
        (compiled, modules): (&[Binary], &Modules<'_>),
    ) -> Result<Archives> {
        let mut archives = Archives { form, bytes: HashMap::new() };
        if form.is_none() {
            return Ok(archives);
        }
        let mut by_image: HashMap<usize, Vec<&Binary>> = HashMap::new();
        for binary in compiled.iter().filter(|binary| is_offline(wanted, binary.target)) {
            by_image.entry(binary.image).or_default().push(binary);
        }
        let values = |binary: &&Binary| {
            plans.specialized.get(&binary.unit()).map_or(RecordedValues::Nothing, Specialized::recorded_values)
        };
        for (image, binaries) in by_image {
            let alike = binaries.windows(2).all(|pair| matches!(pair, [one, other] if values(one) == values(other)));
            if !alike {
                continue;
            }
            let version = |target: usize| wanted.get(target)?.facts.as_ref()?.ip_versions.first().copied();
            let members: Vec<Member<'_>> = binaries
                .iter()
                .map(|binary| Member { version: version(binary.target), binary: &binary.bytes })
                .collect();
            let generic = modules.get(&image).map(|(module, options)| GenericIr { module, options });
            let bytes = archive(&members, generic).context(|| format!("the archive of image {image}"))?;
            archives.bytes.insert(image, bytes);
        }
        Ok(archives)
    }

    /// The number of archives.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len()
    }

    /// The archive that holds a unit's code, and whether it is listed for all GPUs at once.
    pub(crate) fn holding(&self, wanted: &Wanted, unit: Unit) -> Option<(&[u8], bool)> {
        let bytes = self.bytes.get(&unit.0).filter(|_| matches!(wanted.target.backend, Backend::Ocloc { .. }))?;
        Some((bytes, self.form == Some(ArchiveForm::Ir)))
    }
}
