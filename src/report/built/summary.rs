//! What is said of a build, for people?

use super::{Built, Failed, Skipped, Staying, TargetCounts};
use crate::report::{name, units};
use std::collections::BTreeMap;

/// The number of images of one kind that are named without `-v`.
const NAMED: usize = 4;

impl Built {
    /// The summary for a person; `verbose` names every image, with `kernel` giving the name a kernel is shown by.
    pub fn summary(&self, verbose: bool, kernel: &dyn Fn(&str) -> String) -> String {
        let mut lines = Vec::new();
        let size = |bytes: u64| units::bytes(bytes);
        let images = self.images;
        match self.targets.as_slice() {
            several @ [_, _, ..] => lines.extend(self.per_target(several)),
            one => {
                let (compiled, one) = (self.compiled, one.first());
                let target = one.map_or(&self.target, |one| &one.target);
                let architecture = one.map(|one| one.architecture.as_str()).filter(|own| !target.ends_with(own));
                let for_what = architecture.map_or(target.clone(), |own| format!("{target} ({own})"));
                lines.push(match self.dry_run {
                    true => format!("{compiled} of {images} images would be compiled for {for_what}"),
                    false => format!(
                        "{compiled} of {images} images compiled for {for_what} in {:.1} s: {} of native code",
                        self.seconds,
                        size(self.native_bytes)
                    ),
                });
            }
        }
        if self.cached > 0 && self.targets.len() < 2 {
            lines.push(format!("  {} of them out of the cache", self.cached));
        }
        if self.folded > 0 {
            lines.push(format!("  {} of them folded: the code of another under their kernel's name", self.folded));
        }
        if let Some(slowest) = &self.slowest {
            let name = slowest.kernel.as_deref().map(kernel).unwrap_or_default();
            let image = self.image(slowest.image, slowest.file.as_deref());
            let name = format!("{image} {}", name::shorten(&name, 60)).trim_end().to_owned();
            let target = if self.targets.len() > 1 { format!(" for {}", slowest.target) } else { String::new() };
            lines.push(format!("  slowest: {name}{target}, {:.1} s", slowest.seconds));
            lines.push(format!("  {:.1} s of compilation that programs need not do any more", self.saved_seconds));
        }
        for alone in self.apart.iter().filter(|_| verbose || self.dry_run) {
            let images = count(alone.images, "image");
            lines.push(format!("  {images} the same code as another and not folded: {}", alone.reason));
        }
        if self.elsewhere > 0 {
            lines.push(format!("  {} images are compiled by other shards", self.elsewhere));
        }
        if self.taken_over > 0 {
            lines.push(format!("  {} native images of an earlier build taken over", self.taken_over));
        }
        if self.unselected > 0 {
            lines.push(format!("  {} images not selected", self.unselected));
        }
        let mut kinds: BTreeMap<&str, Vec<&Staying>> = BTreeMap::new();
        for staying in &self.staying {
            kinds.entry(staying.kind).or_default().push(staying);
        }
        for (kind, all) in kinds {
            let stay = if all.len() == 1 { "stays as it is" } else { "stay as they are" };
            lines.push(format!("  {} {stay}: {kind}", count(all.len(), "image")));
            let shown = if verbose { all.len() } else { NAMED };
            for staying in all.iter().take(shown) {
                let name = staying.kernel.as_deref().map(kernel).unwrap_or_default();
                let name = if name.is_empty() { String::new() } else { format!(" {}", name::shorten(&name, 60)) };
                let some = self.targets.len() > staying.targets.len();
                let targets = if some { format!(" (for {})", staying.targets.join(", ")) } else { String::new() };
                let image = self.image(staying.image, staying.file.as_deref());
                lines.push(format!("    {image}{name}{targets}: {}", staying.reason));
            }
            if all.len() > shown {
                lines.push(format!("    and {} more (-v names all)", all.len() - shown));
            }
        }
        self.skipped_lines(verbose, kernel, &mut lines);
        self.failed_lines(verbose, kernel, &mut lines);
        if verbose {
            for (option, images) in &self.removed_options {
                lines.push(format!("  option {option} not given to the driver ({})", count(*images, "image")));
            }
        }
        if !self.without_spirv.is_empty() {
            lines.push(format!(
                "  {} without SPIR-V now: their kernels run on no other device than those of the targets",
                count(self.without_spirv.len(), "image")
            ));
        }
        let (native, others): (Vec<_>, Vec<_>) = self.files.iter().partition(|file| file.compiled > 0);
        for file in native {
            let (before, after) = (size(file.bytes_before), size(file.bytes_after));
            let path = name::below(&file.input, &self.inputs);
            let images = count(file.images, "image");
            lines.push(match file.bytes_after {
                0 => format!("  {path}: {} of {images}", file.compiled),
                _ => format!("  {path}: {} of {images} native, {before} before, {after} after", file.compiled),
            });
        }
        if !others.is_empty() {
            lines.push(format!("  {} without native code", count(others.len(), "file")));
        }
        if self.bytes_after > 0 {
            let (before, after) = (size(self.bytes_before), size(self.bytes_after));
            lines.push(format!("{} ({}): {before} before, {after} after", self.output, self.emit));
        }
        lines.join("\n")
    }
}

impl Built {
    /// An image in a message, with its file in a package.
    fn image(&self, number: usize, file: Option<&str>) -> String {
        let of_file = |file| format!("image {number} of {}", name::below(file, &self.inputs));
        file.map_or_else(|| format!("image {number}"), of_file)
    }

    /// Says of each image why it did not build. What happened to many alike, as a compiler that crashes on all of them, is
    /// said once.
    fn failed_lines(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let mut alike: BTreeMap<(&str, &str), Vec<&Failed>> = BTreeMap::new();
        for failed in &self.failed {
            alike.entry((&failed.target, &failed.cause)).or_default().push(failed);
        }
        let several = self.targets.len() > 1;
        for ((target, cause), all) in alike {
            let target = if several { format!(" for {target}") } else { String::new() };
            let whole = verbose || all.len() <= NAMED;
            if !whole {
                lines.push(format!(
                    "  {} did not build{target} and stay as they are: {cause}",
                    count(all.len(), "image")
                ));
                if cause.contains("died of") {
                    lines.push(
                        "    a compiler that crashes on many modules is often older than they are: try a newer one"
                            .to_owned(),
                    );
                }
            }
            for failed in all.iter().take(if whole { all.len() } else { NAMED }) {
                let names: Vec<String> = failed.kernels.iter().map(|name| kernel(name)).collect();
                let names = name::shorten(&names.join(", "), 60).into_owned();
                if whole {
                    let image = self.image(failed.image, failed.file.as_deref());
                    lines.push(format!("  {image} {names} did not build{target} and stays as it is: {cause}"));
                    let said = failed.log.lines().filter(|line| !line.trim().is_empty());
                    let shown = if verbose { usize::MAX } else { 12 };
                    lines.extend(said.take(shown).map(|line| format!("    | {line}")));
                } else {
                    lines.push(format!("    {} {names}", self.image(failed.image, failed.file.as_deref())));
                }
            }
            if !whole {
                lines.push(format!("    and {} more (-v names all, with what the compiler said)", all.len() - NAMED));
            }
        }
    }

    /// A table of the targets.
    fn per_target(&self, targets: &[TargetCounts]) -> Vec<String> {
        let head = ["Target", "Images", "Cached", "Skipped", "Staying", "Failed", "Native code"].map(str::to_owned);
        let row = |one: &TargetCounts| {
            let own = Some(&one.architecture).filter(|own| !one.target.replace('_', "-").ends_with(*own));
            let name = own.map_or(one.target.clone(), |own| format!("{} ({own})", one.target));
            let numbers = [one.compiled, one.cached, one.skipped, one.staying, one.failed].map(|n| n.to_string());
            let [compiled, cached, skipped, staying, failed] = numbers;
            [name, compiled, cached, skipped, staying, failed, units::bytes(one.native_bytes)]
        };
        let rows: Vec<[String; 7]> = std::iter::once(head).chain(targets.iter().map(row)).collect();
        let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        let line = |row: &[String; 7]| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, width))| match at {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ")
        };
        let (compiled, images) = (self.compiled, self.images);
        let first = match self.dry_run {
            true => format!("{compiled} native images of {images} would be compiled for {} targets", targets.len()),
            false => format!(
                "{compiled} native images of {images} compiled for {} targets in {:.1} s: {} of native code",
                targets.len(),
                self.seconds,
                units::bytes(self.native_bytes)
            ),
        };
        std::iter::once(first).chain(rows.iter().map(|row| format!("  {}", line(row)))).collect()
    }

    /// Lists the images that targets cannot run: per target and reason, with a few images of each.
    fn skipped_lines(&self, verbose: bool, kernel: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        let mut groups: Vec<((&str, &str), Vec<&Skipped>)> = Vec::new();
        for skipped in &self.skipped {
            let key = (skipped.target.as_str(), skipped.reason.as_str());
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, all)) => all.push(skipped),
                None => groups.push((key, vec![skipped])),
            }
        }
        for ((target, reason), all) in groups {
            lines.push(format!("  {} not for {target}: {reason}", count(all.len(), "image")));
            if verbose {
                lines.extend(all.iter().map(|one| {
                    let name = one.kernel.as_deref().map(kernel).unwrap_or_default();
                    let image = self.image(one.image, one.file.as_deref());
                    format!("    {image} {}", name::shorten(&name, 60)).trim_end().to_owned()
                }));
            }
        }
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::native::Stay;

    #[test]
    fn the_summary_names_reasons_and_a_few_images() {
        let staying = (0..6).map(|image| {
            Staying::new(image, Vec::new(), Some(format!("k{image}")), &Stay::Imports(vec!["sin".to_owned()]))
        });
        let built = Built { images: 8, compiled: 2, staying: staying.collect(), ..Built::default() };
        let text = built.summary(false, &str::to_owned);
        assert!(text.contains("2 of 8 images compiled"), "{text}");
        assert!(text.contains("6 images stay as they are: imported symbols"), "{text}");
        assert!(text.contains("image 3 k3: it imports sin"), "{text}");
        assert!(!text.contains("image 4") && text.contains("and 2 more"), "{text}");
        assert!(built.summary(true, &str::to_owned).contains("image 5 k5"));
    }
}
