//! `compile`: how does SPIR-V become objects of a device?

use super::emit::{self, OutputForm};
use super::gather::{Gathered, gather_code};
use crate::build::compile::Binary;
use crate::build::plan::Goal;
use crate::build::plans::{self, Numbers, Plans, Recipes};
use crate::build::target::{Backend, Target};
use crate::build::wanted::{Wanted, describe};
use crate::build::{Engine, Job, Unit};
use crate::bundle::format::Declared;
use crate::bundle::image::{Image, State};
use crate::compat::examine::{Examined, examine_image};
use crate::container::Arena;
use crate::error::{Error, ErrorKind, Exit, Reporter, Result};
use crate::native::opencl_elf::spirv_object;
use crate::report::text::{bytes, counted};
use crate::rewrite::embed::FORMAT_NATIVE;
use crate::rewrite::link::list_symbols;
use crate::rewrite::prepare::{retarget, text};
use crate::rewrite::specialize;
use crate::select::Selector;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Compilers of devices, which the program starts as processes of its own.
pub(crate) trait DeviceCompiler {
    /// The process that compiles for a target.
    ///
    /// # Errors
    /// `Io` where the program cannot start itself.
    fn engine(&self, target: &Target) -> Result<Engine>;

    /// Compiles; gives what was made, and whether some failed, which has been told. `name` is what a person calls a unit.
    ///
    /// # Errors
    /// `Environment` where the machine cannot compile at all.
    fn run(&self, targets: &[Target], jobs: Vec<Job<'_>>, name: &dyn Fn(Unit) -> String)
    -> Result<(Vec<Binary>, bool)>;
}

/// Images that are to become objects.
pub(crate) struct Compiling<'c> {
    /// The inputs.
    pub(crate) files: &'c [PathBuf],
    /// The selection among their images.
    pub(crate) selector: &'c Selector,
    /// The targets.
    pub(crate) wanted: &'c [Wanted],
    /// Options and constants of each image.
    pub(crate) recipes: &'c Recipes,
    /// The form of the output.
    pub(crate) form: &'c OutputForm,
    /// The file to write.
    pub(crate) output: &'c Path,
    /// The compiler of devices.
    pub(crate) compiler: &'c dyn DeviceCompiler,
}

impl Compiling<'_> {
    /// Compiles the images and writes the objects.
    ///
    /// # Errors
    /// `Usage` for an image that is not in state `input`, `NoDeviceCode` where nothing can be compiled; what cannot be read
    /// or written.
    pub(crate) fn run(&self, reporter: &dyn Reporter) -> Result<Exit> {
        let arena = Arena::with_limit(u64::MAX);
        let mut gathered = gather_code(reporter, self.files, (self.selector, false), &arena)?;
        if gathered.images.is_empty() && gathered.exit != Exit::Done {
            // Why has been said.
            return Ok(gathered.exit);
        }
        gathered.images.iter_mut().try_for_each(|image| list_symbols(&arena, image))?;
        let examined = inputs(&gathered)?;
        let wanted = self.wanted;
        let mut plans = plans::plans(reporter, wanted, &examined, Goal::Objects, (self.recipes, &Numbers::default()))?;
        let labels: HashMap<usize, &str> =
            gathered.images.iter().zip(&gathered.labels).map(|(image, label)| (image.index, label.as_str())).collect();
        let name = |(image, target): Unit| {
            let label = labels.get(&image).copied().unwrap_or_default();
            match wanted.get(target).filter(|_| wanted.len() > 1) {
                Some(wanted) => format!("{label} for {}", describe(&wanted.target)),
                None => label.to_owned(),
            }
        };
        tell(reporter, &plans, &name);
        let jobs = std::mem::take(&mut plans.jobs);
        if jobs.is_empty() {
            let names: Vec<&str> = wanted.iter().map(|wanted| wanted.target.name.as_str()).collect();
            let message = format!("no image can be compiled for {}", names.join(", "));
            return Err(Error::new(ErrorKind::NoDeviceCode, message));
        }
        // The options that an object was compiled with stand beside it.
        let mut options = HashMap::new();
        for job in &jobs {
            options.insert(job.unit(), (text(&arena, &job.compile_options)?, text(&arena, &job.link_options)?));
        }
        let targets: Vec<Target> = wanted.iter().map(|wanted| wanted.target.clone()).collect();
        let of_gpu = |job: &Job<'_>| targets.get(job.target).is_some_and(is_offline);
        let (of_gpus, jobs): (Vec<Job<'_>>, Vec<Job<'_>>) = jobs.into_iter().partition(of_gpu);
        let (made, failed) = self.compiler.run(&targets, jobs, &name)?;
        let mut objects: HashMap<Unit, Vec<u8>> = made.into_iter().map(|made| (made.unit(), made.bytes)).collect();
        objects.extend(of_gpus.iter().map(|job| (job.unit(), spirv_object(&job.il, &job.compile_options))));
        let mut made = Vec::new();
        for image in &gathered.images {
            for (place, target) in targets.iter().enumerate() {
                let unit = (image.index, place);
                let Some(object) = objects.remove(&unit) else { continue };
                let declared = Declared::from(FORMAT_NATIVE);
                let (compile_options, link_options) = options.get(&unit).copied().unwrap_or_default();
                let stored = arena.keep(object)?;
                let mut object = Image { declared, stored, compile_options, link_options, ..image.clone() };
                retarget(&arena, &mut object, text(&arena, target.compile_target.as_deref().unwrap_or(target.spec))?)?;
                let constants = plans::addition(target, unit, &plans, &[]).constants;
                object.properties = specialize::properties(&arena, &object.properties, constants)?;
                made.push(object);
            }
        }
        if made.is_empty() {
            return Ok(Exit::Build);
        }
        if targets.len() > 1 {
            made.iter_mut().enumerate().for_each(|(number, object)| object.index = number);
        }
        let count = counted(made.len(), "object");
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let total = emit::write_with_parts(reporter, self.form, made, &gathered.origin, self.output, &paths)?;
        reporter.note(&format!(
            "{count}, {}, written to {} ({})",
            bytes(total),
            self.output.display(),
            self.form.emit.name()
        ));
        Ok(if failed { Exit::Build } else { gathered.exit })
    }
}

/// Examines the images, all of which have to be in state `input`.
fn inputs<'g, 'k>(gathered: &'g Gathered<'k>) -> Result<Vec<Examined<'g, 'k>>> {
    let mut all = Vec::with_capacity(gathered.images.len());
    for (image, label) in gathered.images.iter().zip(&gathered.labels) {
        let examined = examine_image(image, gathered.epoch);
        if examined.state != State::Input {
            let message = format!(
                "this is in state `{}`, and what is compiled is in state `input` (SYCL: errc::invalid)",
                examined.state.name()
            );
            let error = Error::new(ErrorKind::Usage, message).context(label.clone());
            return Err(error.with_remedy("select images with --state input"));
        }
        all.push(examined);
    }
    Ok(all)
}

/// Says which images are left out, and which options.
fn tell(reporter: &dyn Reporter, plans: &Plans<'_>, name: &dyn Fn(Unit) -> String) {
    for (target, plan) in plans.each.iter().enumerate() {
        let staying = plan.staying.iter().map(|(image, stay)| (*image, stay.to_string()));
        let skipped = plan.skipped.iter().map(|(image, finding)| (*image, finding.message.clone()));
        for (image, reason) in staying.chain(skipped) {
            reporter.note(&format!("{} is left out: {reason}", name((image, target))));
        }
        tell_refused(reporter, &plan.refused_options);
    }
    for problem in &plans.problems {
        reporter.error(&problem.error.clone().context(name((problem.image.unwrap_or(0), 0))));
    }
}

/// Says which options the compilers do not get, with the numbers of the images that have them.
pub(crate) fn tell_refused(reporter: &dyn Reporter, refused: &BTreeMap<String, usize>) {
    for (option, images) in refused {
        reporter.note(&format!(
            "option {} is not known to be harmless and was left out ({}; --trust-options gives it to the compiler)",
            option.escape_debug(),
            counted(*images, "image")
        ));
    }
}

fn is_offline(target: &Target) -> bool {
    matches!(target.backend, Backend::Ocloc { .. })
}
