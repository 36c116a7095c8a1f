//! `check -t`: does every kernel run on the targets?

use super::super::device_config::DeviceConfigs;
use super::super::exit::Exit;
use super::super::files::{How, each_file_with, report_problems};
use super::super::global::Global;
use super::super::output;
use super::{Format, others};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::proof::Depth;
use sycl_bundle::compat::gate::{Demand, Gate, codes};
use sycl_bundle::compat::offers::{Lent, Offers, Provider, are_open};
use sycl_bundle::container::arena::Arena;
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
        let asking = Asking { asked: &asked, demand: &demand, wanted: &wanted, depth };
        let (exit, mut pass) = asking.pass(global, files, &selector, None)?;
        // What one file lacks another may have; standard input cannot be read again.
        let several = pass.files > 1 || !selector.is_all();
        if pass.open && several && !files.iter().any(|file| file == Path::new("-")) {
            let arena = Arena::with_limit(u64::MAX);
            let offers = others::collect(global, files, &arena)?;
            pass = asking.pass(global, files, &selector, Some(&offers))?.1;
        }
        let Pass { any, targets, providers, .. } = pass;
        if !any && exit == Exit::Done && !kernels.is_empty() {
            let error = Error::new(ErrorKind::NoMatch, "no kernel matches `--kernel`");
            return Err(error.with_remedy("`sycl-bundle kernels` lists them"));
        }
        print(global, &targets, &providers, format, self.strict)?;
        let fails = match report::verdict(&targets) {
            Verdict::Incompatible => true,
            Verdict::Unknown => self.strict,
            Verdict::Compatible => false,
        };
        Ok(if fails && exit == Exit::Done { Exit::No } else { exit })
    }
}

/// What is asked of each file.
struct Asking<'q, W> {
    asked: &'q [Asked<'q>],
    demand: &'q Demand,
    /// Which kernels, by their mangled names.
    wanted: &'q W,
    /// Of how many kernels the use of aspects is looked for.
    depth: Depth,
}

/// What was found in all files.
struct Pass {
    /// Whether there is any kernel.
    any: bool,
    targets: Vec<OfTarget>,
    /// Images of other files that images of one may be linked to.
    providers: Vec<Provider>,
    /// Whether a file imports what it does not define.
    open: bool,
    files: usize,
}

impl<W: Fn(&str) -> bool> Asking<'_, W> {
    /// Judges each file; with `offers`, as what images of other files may be linked to, it has been read before.
    fn pass(
        &self,
        global: &Global,
        files: &[PathBuf],
        selector: &Selector,
        offers: Option<&Offers<'_>>,
    ) -> Result<(Exit, Pass)> {
        let target = |one: &Asked<'_>| OfTarget { target: one.target.name.clone(), files: Vec::new() };
        let targets = self.asked.iter().map(target).collect();
        let mut pass = Pass { any: false, targets, providers: Vec::new(), open: false, files: 0 };
        let subjects: Vec<Subject<'_>> =
            self.asked.iter().map(|one| Subject::new(one.target).with_march(one.march)).collect();
        let how = How { unhashed: true, again: offers.is_some(), ..How::default() };
        let exit = each_file_with(global, files, selector, how, |facts| {
            if offers.is_none() {
                report_problems(global, facts);
            }
            pass.files = pass.files.saturating_add(1);
            let file: Arc<str> = facts.path.into();
            let last = facts.bundle.and_then(|bundle| bundle.images.last()).map_or(0, |image| image.index);
            let mut lent = Lent::default();
            match offers {
                Some(offers) => lent = offers.lend(&file, &facts.images, last.saturating_add(1)),
                None => pass.open |= are_open(&facts.images),
            }
            let mut images = std::mem::take(&mut facts.images);
            images.extend(lent.examined());
            let codes = codes(&images);
            let gate = Gate::new(&images, &codes, self.wanted);
            pass.any |= !gate.kernels().is_empty();
            let judged = gate.judge_all(&subjects, self.demand);
            let proofs = Arc::new(gate.proofs(&judged.iter().collect::<Vec<_>>(), self.depth));
            for (target, judged) in pass.targets.iter_mut().zip(judged) {
                target.files.push(OfFile { file: file.clone(), judged, proofs: proofs.clone() });
            }
            pass.providers.append(&mut lent.providers);
            Ok(())
        })?;
        Ok((exit, pass))
    }
}

fn print(global: &Global, targets: &[OfTarget], providers: &[Provider], format: Format, strict: bool) -> Result<()> {
    let names = Names { demangle: global.demangle };
    let view = View { width: global.width(), demangle: global.demangle, color: global.stdout_color() };
    let mut out = output::stdout();
    let text = match format {
        Format::Table => report::table(targets, &view),
        Format::Github => report::github(targets, names),
        Format::Markdown => report::markdown(targets, names),
        Format::Json => return report::json(&mut out, targets, providers).and_then(|()| flush(&mut out)),
        Format::Sarif => return report::sarif(&mut out, targets).and_then(|()| flush(&mut out)),
        Format::Junit => return report::junit(&mut out, targets, names, strict).and_then(|()| flush(&mut out)),
    };
    out.write_all(text.as_bytes()).map_err(|error| output::lost(&error))?;
    if matches!(format, Format::Table | Format::Markdown) {
        let text = report::providers(providers, names);
        out.write_all(text.as_bytes()).map_err(|error| output::lost(&error))?;
    }
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
