//! Which code that drivers made while a program ran is what a build wants?

use super::Job;
use super::compile::Binary;
use super::plans::Plans;
use super::record::{Recorded, RecordedTarget, digest};
use super::wanted::Wanted;
use crate::compat::native::Stay;
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeSet, HashMap};

/// Code of profiles.
#[derive(Debug)]
pub struct Harvest {
    recorded: Vec<Recorded>,
    /// Places of code by the digest of each of its modules.
    places: HashMap<[u8; 32], Vec<usize>>,
}

impl Harvest {
    /// Sorts the code.
    ///
    /// # Errors
    /// `Usage` where there is none.
    pub fn new(recorded: Vec<Recorded>) -> Result<Harvest> {
        if recorded.is_empty() {
            let error = Error::new(ErrorKind::Usage, "the profile holds no code of a driver's");
            return Err(error.with_remedy("record without --no-code, or build without --harvest"));
        }
        let mut places: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        for (at, one) in recorded.iter().enumerate() {
            one.modules.iter().for_each(|digest| places.entry(*digest).or_default().push(at));
        }
        Ok(Harvest { recorded, places })
    }

    /// The instruction set of the code for CPUs, where all of it is for one.
    pub fn march(&self) -> Option<&'static str> {
        let sets: BTreeSet<CpuArch> = self
            .recorded
            .iter()
            .filter_map(|recorded| match recorded.target()? {
                RecordedTarget::Cpu(march) => Some(march),
                RecordedTarget::Gpu(_) => None,
            })
            .collect();
        match sets.into_iter().collect::<Vec<_>>().as_slice() {
            [one] => Some(one.name()),
            _ => None,
        }
    }

    /// Takes the jobs out of the plans of a file whose first image has the number `start`: those that there is code for become
    /// binaries, the images of others stay.
    pub fn take(&self, start: usize, wanted: &[Wanted], plans: &mut Plans<'_>) -> Vec<Binary> {
        let mut binaries = Vec::new();
        for job in std::mem::take(&mut plans.jobs) {
            let Some(target) = wanted.get(job.target) else { continue };
            match self.find(&job, target) {
                Ok(recorded) => binaries.push(Binary {
                    image: job.image.saturating_add(start),
                    target: job.target,
                    bytes: recorded.binary.clone(),
                }),
                Err(why) => {
                    if let Some(count) = plans.counts.get_mut(job.target) {
                        *count = count.saturating_sub(1);
                    }
                    if let Some(plan) = plans.each.get_mut(job.target) {
                        plan.staying.push((job.image, Stay::NotRecorded(why)));
                    }
                }
            }
        }
        plans.each.iter_mut().for_each(|plan| plan.staying.sort_by_key(|(image, _)| *image));
        binaries
    }

    /// The code for a job, or why there is none.
    fn find(&self, job: &Job<'_>, wanted: &Wanted) -> std::result::Result<&Recorded, String> {
        let mut why = None;
        for recorded in self.places.get(&digest(job)).into_iter().flatten().filter_map(|at| self.recorded.get(*at)) {
            match recorded.fits(job, &wanted.target) {
                Ok(()) => return Ok(recorded),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        Err(why.unwrap_or_else(|| "the program did not compile it as it is here".to_owned()))
    }
}
