//! `check -t`: does every kernel run on the targets?

use super::super::device_config::DeviceConfigs;
use super::super::exit::Exit;
use super::super::files::{How, each_file_with, report_problems};
use super::super::global::Global;
use super::super::output;
use super::Format;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::proof::Depth;
use sycl_bundle::compat::gate::{Demand, Gate, codes};
use sycl_bundle::device::cpu::CpuArch;
use sycl_bundle::device::table::TargetTable;
use sycl_bundle::device::target::Target;
use sycl_bundle::error::{Error, ErrorKind, Result};
use sycl_bundle::report::check::Verdict;
use sycl_bundle::report::evidence::Names;
use sycl_bundle::report::gate::{self as report, OfFile, OfTarget};
use sycl_bundle::report::inspect::View;
use sycl_bundle::report::name::demangle;
use sycl_bundle::select::{Pattern, Selector};

/// The flags of the gate.
#[derive(Debug, clap::Args)]
pub struct GateArgs {
    /// Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable)
    #[arg(short = 't', long = "for", value_name = "TARGET,...", value_delimiter = ',',
          conflicts_with_all = ["declared", "fixed_targets", "external"])]
    targets: Vec<String>,
    /// The image that the runtime chooses must be compiled for the target already
    #[arg(long, requires = "targets")]
    require_native: bool,
    /// End with 1 where the verdict is unknown too
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    configs: DeviceConfigs,
}

/// A target that is asked about.
struct Asked<'t> {
    target: &'t Target,
    march: Option<CpuArch>,
}

impl GateArgs {
    /// Whether the gate is asked for.
    pub fn asked(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Judges the files.
    ///
    /// # Errors
    /// `Usage` where a target is none, `NoMatch` where no kernel is selected; what cannot be written.
    pub fn run(&self, global: &Global, files: &[PathBuf], mut selector: Selector, format: Format) -> Result<Exit> {
        let table = self.configs.table(global)?;
        let asked = asked(global, &table, &self.targets)?;
        // These choose among kernels and among the images of each, and hide none that others import from.
        let kernels = std::mem::take(&mut selector.kernels);
        let demand = Demand { states: std::mem::take(&mut selector.states), native: self.require_native };
        let wanted = |name: &str| {
            let matches = |pattern: &Pattern| pattern.matches(name) || pattern.matches(&demangle(name));
            kernels.is_empty() || kernels.iter().any(matches)
        };
        // What is shown of a few kernels is looked for in these alone.
        let depth = match format {
            Format::Table | Format::Markdown => Depth::First(report::EXAMPLES),
            _ => Depth::All,
        };
        let target = |one: &Asked<'_>| OfTarget { target: one.target.name.clone(), files: Vec::new() };
        let mut targets: Vec<OfTarget> = asked.iter().map(target).collect();
        let mut any = false;
        let subjects: Vec<Subject<'_>> =
            asked.iter().map(|one| Subject::new(one.target).with_march(one.march)).collect();
        let how = How { unhashed: true, ..How::default() };
        let exit = each_file_with(global, files, &selector, how, |facts| {
            report_problems(global, facts);
            let file: Arc<str> = facts.path.into();
            let codes = codes(&facts.images);
            let gate = Gate::new(&facts.images, &codes, wanted);
            any |= !gate.kernels().is_empty();
            let judged = gate.judge_all(&subjects, &demand);
            let proofs = Arc::new(gate.proofs(&judged.iter().collect::<Vec<_>>(), depth));
            for (target, judged) in targets.iter_mut().zip(judged) {
                target.files.push(OfFile { file: file.clone(), judged, proofs: proofs.clone() });
            }
            Ok(())
        })?;
        if !any && exit == Exit::Done && !kernels.is_empty() {
            let error = Error::new(ErrorKind::NoMatch, "no kernel matches `--kernel`");
            return Err(error.with_remedy("`sycl-bundle kernels` lists them"));
        }
        print(global, &targets, format, self.strict)?;
        let fails = match report::verdict(&targets) {
            Verdict::Incompatible => true,
            Verdict::Unknown => self.strict,
            Verdict::Compatible => false,
        };
        Ok(if fails && exit == Exit::Done { Exit::No } else { exit })
    }
}

fn print(global: &Global, targets: &[OfTarget], format: Format, strict: bool) -> Result<()> {
    let names = Names { demangle: global.demangle };
    let view = View { width: global.width(), demangle: global.demangle, color: global.stdout_color() };
    let mut out = output::stdout();
    let text = match format {
        Format::Table => report::table(targets, &view),
        Format::Github => report::github(targets, names),
        Format::Markdown => report::markdown(targets, names),
        Format::Json => return report::json(&mut out, targets).and_then(|()| flush(&mut out)),
        Format::Sarif => return report::sarif(&mut out, targets).and_then(|()| flush(&mut out)),
        Format::Junit => return report::junit(&mut out, targets, names, strict).and_then(|()| flush(&mut out)),
    };
    out.write_all(text.as_bytes()).map_err(|error| output::lost(&error))?;
    flush(&mut out)
}

fn flush(out: &mut impl Write) -> Result<()> {
    out.flush().map_err(|error| output::lost(&error))
}

/// The targets that spellings mean, each once.
fn asked<'t>(global: &Global, table: &'t TargetTable, spellings: &[String]) -> Result<Vec<Asked<'t>>> {
    let mut asked: Vec<Asked<'t>> = Vec::new();
    for spelling in spellings.iter().filter(|spelling| !spelling.trim().is_empty()) {
        let found = table.resolve(spelling)?;
        if let Some(note) = &found.note {
            global.note(note);
        }
        for target in found.targets {
            if !asked.iter().any(|known| known.target.name == target.name && known.march == found.march) {
                asked.push(Asked { target, march: found.march });
            }
        }
    }
    if asked.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "`-t` names no target"));
    }
    Ok(asked)
}
