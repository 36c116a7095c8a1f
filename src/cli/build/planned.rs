//! How is a build turned into a plan for another tool?

use super::Args;
use super::draft::{Draft, Edge};
use super::shard::Shard;
use super::told::{Batch, Work};
use crate::cli::exit::Exit;
use crate::cli::output;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use sycl_bundle::build::{Job, Unit};
use sycl_bundle::error::{Error, ErrorKind, Result};

impl Args {
    /// The part of the work that only fills the cache.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.shard.or(self.pace.shard())
    }

    /// Has a plan written in place of an output.
    ///
    /// # Errors
    /// `Usage` for what the plan does itself.
    pub fn plan(&mut self, draft: Draft) -> Result<()> {
        if self.dry_run
            || self.shard().is_some()
            || self.stamp.is_some()
            || self.depend.asked()
            || self.output.is_none()
        {
            let message = "a plan compiles nothing, and has stamps, dependencies and parts of its own, and an output";
            return Err(Error::new(ErrorKind::Usage, message).with_remedy("give it what `build -o FILE` would get"));
        }
        (self.dry_run, self.draft) = (true, Some(draft));
        Ok(())
    }

    /// Writes the commands that do the work.
    pub(super) fn write_plan(
        &self,
        draft: &Draft,
        work: &Work<'_, '_>,
        jobs: &[Job<'_>],
        inputs: &[PathBuf],
    ) -> Result<Exit> {
        let clones: HashSet<Unit> = self.trial(&Batch { parts: vec![(0, *work)] }, jobs).folded.into_iter().collect();
        let edge = |job: &Job<'_>| Edge {
            unit: format!("{}:{}", work.numbers.shown(job.image), work.target(job.target)),
            label: work.label(job.unit()),
            bytes: job.il.len(),
        };
        let edges = jobs.iter().filter(|job| !clones.contains(&job.unit())).map(edge).collect();
        let text = draft.text(edges, inputs, self.output.as_deref().unwrap_or(Path::new("")))?;
        match &draft.to {
            Some(path) => output::write_atomically(path, text.as_bytes(), None).map(|_| Exit::Done),
            None => output::schema(&text),
        }
    }
}
