//! What did the gate find, as a summary for a pull request?

use super::table::EXAMPLES;
use super::{Counts, TargetFindings, word};
use crate::report::evidence::{self, Names};
use crate::report::markdown::{code, escaped};
use crate::report::name::shorten;
use crate::report::units::count;
use std::fmt::Write as _;

/// Characters of a kernel's name that are shown.
const SHOWN: usize = 120;

/// A table of the targets, and a section for each thing that was found.
pub fn markdown(targets: &[TargetFindings], names: Names) -> String {
    let mut out = String::from(
        "### Device code\n\n| target | runs | unknown | cannot run | excused | verdict |\n|---|--:|--:|--:|--:|---|\n",
    );
    for one in targets {
        let Counts { compatible, unknown, incompatible } = one.counts();
        let excused = one.excused_kernels();
        let [runs, unknown, cannot, excused] =
            [compatible.saturating_sub(excused), unknown, incompatible, excused].map(count);
        let verdict = word(one.verdict());
        let _ = writeln!(out, "| `{}` | {runs} | {unknown} | {cannot} | {excused} | {verdict} |", one.name());
    }
    for one in targets {
        for group in one.groups() {
            let _ = writeln!(out, "\n**`{}`: {}**", one.name(), group.heading());
            let _ = writeln!(out, "\n> {}\n", escaped(&group.against.message));
            for finding in group.findings(EXAMPLES) {
                if finding.found.kernel.is_empty() {
                    let _ = writeln!(out, "- {}", code(&finding.of.file));
                    continue;
                }
                let kernel = names.show(finding.found.kernel);
                let _ = writeln!(out, "- {} in {}", code(&shorten(&kernel, SHOWN)), code(&finding.of.file));
                if let Some(found) = finding.evidence() {
                    let way = evidence::text(finding.found.kernel, found, names);
                    for line in way.lines().skip(1) {
                        let _ = writeln!(out, "  - {}", code(line.trim()));
                    }
                }
            }
            let more = group.count.saturating_sub(EXAMPLES);
            if more > 0 {
                let _ = writeln!(out, "- and {} more", count(more));
            }
            let _ = writeln!(out, "\n{}", escaped(&group.against.remedy));
        }
    }
    for one in targets.iter().filter(|one| one.excused() > 0) {
        out.push('\n');
        for (why, group) in one.excuses() {
            let _ = writeln!(out, "- `{}`: excused: {}: {}", one.name(), group.extent(), escaped(why));
        }
    }
    out
}
