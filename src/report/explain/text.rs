//! What does an explanation say to people?

use super::{Built, Explanation, Fate, ImageChoice, MessageLine, trap};
use crate::report::check::Verdict;
use crate::report::evidence::{self, Names};
use crate::report::inspect::View;
use crate::report::name::{shorten, shorten_path};
use crate::report::text::wrap;
use crate::report::units::{count, counted};
use std::fmt::Write as _;

/// Kernels that are named for each file; JSON has all.
const EXAMPLES: usize = 5;
/// Kernels whose way is told in full; JSON has all.
const CHOICES: usize = 16;

/// The explanation as text.
pub fn text(all: &Explanation, view: &View) -> String {
    let mut sections: Vec<String> =
        all.lines.iter().map(|line_of_message| self::line_of_message(line_of_message, view)).collect();
    sections.extend(all.choices.iter().take(CHOICES).map(|choice| self::choice(choice, view)));
    let more = all.choices.len().saturating_sub(CHOICES);
    if more > 0 {
        sections.push(format!("and {} more; `--format json` tells all, `--kernel` chooses\n", counted(more, "kernel")));
    }
    sections.extend(all.built.iter().map(|built| self::built(built, view)));
    sections.join("\n")
}

fn line_of_message(line_of_message: &MessageLine, view: &View) -> String {
    let names = Names { demangle: view.demangle };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} ({})",
        shorten(&line_of_message.saying.line, view.width.saturating_sub(24)),
        line_of_message.saying.said.topic()
    );
    lines(&mut out, "  ", "  ", &line_of_message.meaning, view);
    for of in &line_of_message.files {
        let images: std::collections::BTreeSet<_> = of.concerns.iter().filter_map(|one| one.image).collect();
        let kernels: std::collections::BTreeSet<_> = of.concerns.iter().filter_map(|one| one.kernel.as_ref()).collect();
        let file = shorten_path(&of.file, view.width / 2);
        match (of.concerns.is_empty(), &of.note) {
            (true, Some(note)) => lines(&mut out, "  ", "    ", &format!("{file}: {note}"), view),
            (true, None) => {}
            (false, note) => {
                let about = format!("{} in {}", counted(kernels.len(), "kernel"), counted(images.len(), "image"));
                let note = note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
                lines(&mut out, "  ", "    ", &format!("{file}: {about}{note}"), view);
            }
        }
        for concern in of.concerns.iter().take(EXAMPLES) {
            let image = concern.image.map(|image| format!("image {image}: ")).unwrap_or_default();
            let kernel = concern.kernel.as_ref().map(|kernel| format!("{}: ", names.show(kernel))).unwrap_or_default();
            let left = view.width.saturating_sub(image.len().saturating_add(concern.message.len()).saturating_add(6));
            let kernel = shorten(&kernel, left.max(view.width / 3)).into_owned();
            lines(&mut out, "    ", "      ", &format!("{image}{kernel}{}", concern.message), view);
            if let (Some(kernel), Some(found)) = (&concern.kernel, &concern.evidence) {
                for line in evidence::text(kernel, found, names).lines().skip(1) {
                    lines(&mut out, "      ", "      ", line.trim(), view);
                }
            }
        }
        let more = of.concerns.len().saturating_sub(EXAMPLES);
        if more > 0 {
            let _ = writeln!(out, "    and {} more", count(more));
        }
    }
    for remedy in &line_of_message.remedies {
        lines(&mut out, "  help: ", "        ", remedy, view);
    }
    out
}

fn choice(choice: &ImageChoice, view: &View) -> String {
    let names = Names { demangle: view.demangle };
    let mut out = String::new();
    let verdict = match choice.verdict {
        Verdict::Compatible => "runs",
        Verdict::Unknown => "unknown",
        Verdict::Incompatible => "cannot run",
    };
    lines(&mut out, "", "  ", &format!("{} on {}: {verdict}", names.show(&choice.kernel), choice.target), view);
    let _ = writeln!(
        out,
        "  {}: {} of the kernel",
        shorten_path(&choice.file, view.width / 2),
        counted(choice.images.len(), "image")
    );
    for (at, seen) in choice.images.iter().enumerate() {
        if at >= CHOICES {
            let _ = writeln!(out, "    and {} more", count(choice.images.len().saturating_sub(at)));
            break;
        }
        let fate = match &seen.fate {
            Fate::PassedOver(why) => format!("not for the device: {}", why.trim_end_matches('.')),
            Fate::Candidate => "for the device; another is picked".to_owned(),
            Fate::Chosen => format!("picked: {}", choice.rule),
        };
        let what = format!("image {}, {} for {}", seen.image, seen.format, seen.devices);
        lines(&mut out, "    ", "      ", &format!("{what}: {fate}"), view);
    }
    if let Some(thrown) = &choice.thrown {
        let sure =
            if thrown.certain { "the runtime throws" } else { "unless something else defines it, the runtime throws" };
        lines(&mut out, "  ", "    ", &format!("{sure} errc::{}: {}", thrown.errc, thrown.text), view);
    }
    for found in &choice.findings {
        let sure = if found.against.certain { "" } else { "not known: " };
        lines(
            &mut out,
            "  ",
            "    ",
            &format!("{sure}{} ({})", found.against.message, found.against.matter.rule()),
            view,
        );
        if let Some(found) = &found.evidence {
            for line in evidence::text(&choice.kernel, found, names).lines().skip(1) {
                lines(&mut out, "    ", "    ", line.trim(), view);
            }
        }
        lines(&mut out, "    help: ", "          ", &found.against.remedy, view);
    }
    for one in &choice.traps {
        lines(&mut out, "  mind: ", "        ", trap(*one).1, view);
    }
    out
}

fn built(built: &Built, view: &View) -> String {
    let mut out = String::new();
    let kernel = Names { demangle: view.demangle }.show(&built.kernel);
    let answer = match &built.failure {
        None => "its compiler builds the kernel".to_owned(),
        Some((Some(errc), why)) => format!("errc::{errc}: {why}"),
        Some((None, why)) => why.clone(),
    };
    let image = format!("image {} of {}", built.image, built.file);
    lines(&mut out, "", "  ", &format!("{kernel} on {} ({image}): {answer}", built.device), view);
    out
}

/// A text broken at the width, its first line behind `first`, the others behind `rest`.
fn lines(out: &mut String, first: &str, rest: &str, text: &str, view: &View) {
    for (at, line) in wrap(text, view.width.saturating_sub(rest.len().max(first.len()))).iter().enumerate() {
        let _ = writeln!(out, "{}{}", if at == 0 { first } else { rest }, line.trim_end());
    }
}
