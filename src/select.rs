//! Which images and kernels does the user select?
//!
//! All verbs use the same selector: an image must meet every kind of condition that is given; within one kind any value
//! will do, except that of `--where` conditions all must hold. Globs match a kernel's mangled or demangled name.
//!
//! ```
//! use sycl_bundle::select::{Pattern, Selector, aspect, range};
//!
//! let selector = Selector {
//!     images: vec![range("0-9")?],
//!     kernels: vec![Pattern::new("*gemm<{float,double}*")?],
//!     aspects: vec![aspect("fp64")?],
//!     ..Selector::default()
//! };
//! assert!(selector.takes_kernel("acme::gemm<double>"));
//! assert!(!selector.takes_kernel("acme::gemm<int>"));
//! assert!(aspect("fp46").is_err());
//! # Ok::<(), sycl_bundle::error::Error>(())
//! ```

pub mod predicate;

use self::predicate::Predicate;
use crate::bundle::aspect;
use crate::bundle::image::State;
use crate::compat::examine::Examined;
use crate::compat::kernels::KernelFacts;
use crate::demangle::demangle;
use crate::device::did_you_mean;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use globset::{GlobBuilder, GlobMatcher};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Conditions on images. An empty selector selects everything.
#[derive(Debug, Default)]
pub struct Selector {
    /// Ranges of indexes.
    pub images: Vec<RangeInclusive<usize>>,
    /// Globs over kernel names.
    pub kernels: Vec<Pattern>,
    /// States.
    pub states: Vec<State>,
    /// Globs over the target, or the compile target where the image names one.
    pub targets: Vec<Pattern>,
    /// Aspects that the image requires or its SPIR-V uses.
    pub aspects: Vec<String>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Predicate>,
    /// Digests of the images' contents; all images where there is no list.
    pub digests: Option<HashSet<[u8; 32]>>,
}

/// Returns the number of globs that are held against names, that of the names, and what all trials cost: each star of a glob is one
/// more place at which the rest may begin, and a long name has more places.
pub(crate) fn trials<'g, 'n>(
    globs: impl Iterator<Item = &'g Pattern>,
    names: impl Iterator<Item = &'n str>,
) -> (usize, usize, u64) {
    const LETTERS: usize = 256;
    let sum = |(count, all): (usize, u64), cost: usize| (count.saturating_add(1), all.saturating_add(cost as u64));
    let stars = globs.map(|glob| glob.text.bytes().filter(|byte| *byte == b'*').count().saturating_add(1));
    let (globs, cost) = stars.fold((0, 0), sum);
    let (names, length) = names.map(|name| (name.len() / LETTERS).saturating_add(1)).fold((0, 0), sum);
    (globs, names, cost.saturating_mul(length))
}

/// Glob as the user wrote it. `*` and `?` match any character, `[...]` a class, `{a,b}` alternatives.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Compiles a glob.
    ///
    /// # Errors
    /// `Usage` where the glob is malformed.
    pub fn new(text: &str) -> Result<Pattern> {
        limited(text)?;
        let glob = GlobBuilder::new(&closed(text)).literal_separator(false).backslash_escape(true).build();
        let glob = glob.map_err(|error| Error::new(ErrorKind::Usage, format!("glob `{text}`: {}", error.kind())))?;
        Ok(Pattern { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Returns the glob as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name matches, as a glob or literally (names contain `[` and `*` themselves). `> >` and `>>` are equal:
    /// names have the first, and tables show the second.
    pub fn matches(&self, name: &str) -> bool {
        self.text == name || self.matcher.is_match(&*closed(name))
    }

    /// Whether a kernel matches, by its mangled or demangled name.
    pub fn matches_kernel(&self, kernel: &KernelName<'_>) -> bool {
        self.text == kernel.mangled
            || self.text == kernel.demangled
            || kernel.closed.iter().any(|name| self.matcher.is_match(name))
    }
}

/// Name of a kernel, made ready once for many globs.
///
/// ```
/// use sycl_bundle::select::{KernelName, Pattern};
///
/// let kernel = KernelName::new("_ZTS3addIfE");
/// assert!(Pattern::new("add<*>")?.matches_kernel(&kernel));
/// assert!(kernel.matches_any(&[Pattern::new("sub*")?, Pattern::new("_ZTS3add*")?]));
/// # Ok::<(), sycl_bundle::error::Error>(())
/// ```
#[derive(Debug)]
pub struct KernelName<'n> {
    mangled: &'n str,
    demangled: Cow<'n, str>,
    /// The different ones of both names, without the blanks between closing brackets.
    closed: Vec<String>,
}

impl<'n> KernelName<'n> {
    /// Prepares a mangled name.
    pub fn new(mangled: &'n str) -> KernelName<'n> {
        let demangled = demangle(mangled);
        let mut names = vec![closed(mangled).into_owned(), closed(&demangled).into_owned()];
        names.dedup();
        KernelName { mangled, closed: names, demangled }
    }

    /// Returns the mangled name.
    pub fn mangled(&self) -> &'n str {
        self.mangled
    }

    /// Whether one of these globs matches.
    pub fn matches_any(&self, globs: &[Pattern]) -> bool {
        globs.iter().any(|glob| glob.matches_kernel(self))
    }
}

/// Checks the braces of a glob, each level of which the matcher's expression nests, and its length.
fn limited(text: &str) -> Result<()> {
    let mut depth = 0usize;
    let mut deepest = 0usize;
    for letter in text.chars() {
        match letter {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let checks =
        [(deepest, limits::MAX_GLOB_DEPTH, "braces within each other"), (text.len(), limits::MAX_GLOB, "bytes")];
    match checks.into_iter().find(|(found, limit, _)| found > limit) {
        Some((found, limit, what)) => {
            let message = format!("a glob with {found} {what}; the limit is {limit}");
            Err(Error::new(ErrorKind::Usage, message))
        }
        None => Ok(()),
    }
}

/// Returns a name without the blanks between closing brackets.
fn closed(name: &str) -> Cow<'_, str> {
    let mut closed = Cow::Borrowed(name);
    while closed.contains("> >") {
        closed = Cow::Owned(closed.replace("> >", ">>"));
    }
    closed
}

/// Reads `N` or `A-B`.
///
/// # Errors
/// `Usage` for anything else.
pub fn range(text: &str) -> Result<RangeInclusive<usize>> {
    let bad = || Error::new(ErrorKind::Usage, format!("`{text}` is neither an image number nor a range like 3-7"));
    let number = |text: &str| text.parse::<usize>().map_err(|_| bad());
    match text.split_once('-') {
        None => number(text).map(|at| at..=at),
        Some((first, last)) => {
            let range = number(first)?..=number(last)?;
            if range.is_empty() { Err(bad()) } else { Ok(range) }
        }
    }
}

/// Parses the SYCL name of an aspect, with or without its namespace.
///
/// # Errors
/// `Usage` where there is no such aspect.
pub fn aspect(text: &str) -> Result<String> {
    let name = text.rsplit("::").next().unwrap_or(text);
    if aspect::names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let error = Error::new(ErrorKind::Usage, format!("`{text}` is no aspect"));
    Err(match did_you_mean(name, aspect::names()) {
        Some(remedy) => error.with_remedy(remedy),
        None => error.with_remedy("aspects are named as in sycl::aspect: fp64, fp16, atomic64, ..."),
    })
}

/// Keeps the kernels that need one of these aspects: whose code uses it or may use it. If an image requires an aspect
/// and no kernel's code shows it, all of the image's kernels count, since none runs without it.
pub fn keep_needing(kernels: &mut Vec<KernelFacts>, aspects: &[String]) {
    if aspects.is_empty() {
        return;
    }
    let any = |all: &[String]| aspects.iter().any(|aspect| all.contains(aspect));
    let shows = |kernel: &KernelFacts| any(&kernel.used) || any(&kernel.possible);
    let told: HashSet<usize> = kernels.iter().filter(|kernel| shows(kernel)).map(|kernel| kernel.image).collect();
    kernels.retain(|kernel| shows(kernel) || any(&kernel.declared) && !told.contains(&kernel.image));
}

impl Selector {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        let none = self.images.is_empty() && self.kernels.is_empty() && self.states.is_empty();
        none && self.targets.is_empty()
            && self.aspects.is_empty()
            && self.conditions.is_empty()
            && self.digests.is_none()
    }

    /// Whether it asks for digests, which not every verb computes.
    pub fn needs_digests(&self) -> bool {
        self.digests.is_some() || self.conditions.iter().any(|condition| condition.text().contains("blake3"))
    }

    /// Whether an image is selected.
    pub fn selects(&self, image: &Examined<'_, '_>) -> bool {
        let any = |empty: bool, found: bool| empty || found;
        let target = |pattern: &Pattern| {
            pattern.matches(image.image.target)
                || image.image.compile_target().is_some_and(|name| pattern.matches(name))
        };
        any(self.images.is_empty(), self.images.iter().any(|range| range.contains(&image.image.index)))
            && any(self.states.is_empty(), self.states.contains(&image.state))
            && any(self.targets.is_empty(), self.targets.iter().any(target))
            && any(
                self.aspects.is_empty(),
                predicate::aspects(image).any(|known| self.aspects.iter().any(|aspect| aspect == known)),
            )
            && any(self.kernels.is_empty(), image.kernels.iter().any(|name| self.takes_kernel(name)))
            && self.conditions.iter().all(|condition| condition.holds(image))
            && self.digests.as_ref().is_none_or(|digests| digests.contains(&image.blake3))
    }

    /// Whether a kernel is selected, by its mangled or demangled name.
    pub fn takes_kernel(&self, name: &str) -> bool {
        self.kernels.is_empty() || KernelName::new(name).matches_any(&self.kernels)
    }

    /// Keeps the images that are selected.
    ///
    /// # Errors
    /// `NoMatch` where none is.
    pub fn keep<'b, 'a>(&self, mut images: Vec<Examined<'b, 'a>>) -> Result<Vec<Examined<'b, 'a>>> {
        if self.is_all() {
            return Ok(images);
        }
        if !images.iter().any(|image| self.selects(image)) {
            return Err(self.no_match(&images));
        }
        images.retain(|image| self.selects(image));
        Ok(images)
    }

    /// Returns the error for a selector that matches none of these images, with the nearest kernel name.
    pub fn no_match(&self, images: &[Examined<'_, '_>]) -> Error {
        let error = Error::new(ErrorKind::NoMatch, format!("no image matches {}", self.describe()));
        let last = images.iter().map(|image| image.image.index).max();
        let in_range = |range: &RangeInclusive<usize>| last.is_some_and(|last| *range.start() <= last);
        if let Some(last) = last.filter(|_| !self.images.is_empty() && !self.images.iter().any(in_range)) {
            return error.with_remedy(format!("the images are 0 to {last}"));
        }
        match self.kernels.first().and_then(|pattern| nearest(&pattern.text, images)) {
            Some(name) => error.with_remedy(format!("the nearest kernel is `{name}`")),
            None => error,
        }
    }

    /// Returns the selector as command-line options.
    fn describe(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.images.iter().map(|range| match (range.start(), range.end()) {
            (first, last) if first == last => format!("--image {first}"),
            (first, last) => format!("--image {first}-{last}"),
        }));
        parts.extend(self.kernels.iter().map(|pattern| format!("--kernel '{}'", pattern.text)));
        parts.extend(self.states.iter().map(|state| format!("--state {}", state.name())));
        // The user's own text comes first; behind it stand other names of the same targets.
        let more = if self.targets.len() > 1 { ", ..." } else { "" };
        parts.extend(self.targets.first().map(|pattern| format!("--target '{}'{more}", pattern.text)));
        parts.extend(self.aspects.iter().map(|aspect| format!("--aspect {aspect}")));
        parts.extend(self.conditions.iter().map(|condition| format!("--where '{}'", condition.text())));
        parts.extend(self.digests.iter().map(|_| "--profile".to_owned()));
        parts.join(" ")
    }
}

/// Returns the demangled kernel name that shares the most three-letter groups with a name, if it shares three fifths of
/// them. Very long names are skipped. An edit distance would not do: users give a small part of a long template name.
fn nearest(asked: &str, images: &[Examined<'_, '_>]) -> Option<String> {
    let letters: Vec<char> = asked.to_lowercase().chars().filter(|letter| !"*?[]{}\\".contains(*letter)).collect();
    let groups: Vec<String> = letters.windows(3).map(|group| group.iter().collect()).collect();
    let score = |name: &str| {
        let name = name.to_lowercase();
        groups.iter().filter(|group| name.contains(group.as_str())).count()
    };
    let names = images
        .iter()
        .flat_map(|image| &image.kernels)
        .map(|name| demangle(name).into_owned())
        .filter(|name| name.len() <= 200);
    let best = names.map(|name| (score(&name), name)).max_by(|one, other| {
        // Ties go to the shortest name, then to the first alphabetically.
        one.0.cmp(&other.0).then(other.1.len().cmp(&one.1.len())).then_with(|| other.1.cmp(&one.1))
    });
    best.filter(|(score, _)| *score > 0 && score.saturating_mul(5) >= groups.len().saturating_mul(3))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;
    use crate::compat::examine::examine;
    use crate::container::Host;

    fn with_kernel(name: &str, check: impl Fn(&[Examined<'_, '_>])) {
        let mut text: Vec<u8> = name.bytes().collect();
        text.resize((name.len() / 4 + 1) * 4, 0);
        let length = u32::try_from(3 + text.len() / 4).unwrap();
        let head = [0x0723_0203, 0x0001_0200, 0, 10, 0, length << 16 | 15, 6, 1];
        let bytes: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).chain(text).collect();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        check(&examine(&bundle));
    }

    #[test]
    fn globs_nest_and_grow_so_far() {
        let braces = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(Pattern::new(&braces(limits::MAX_GLOB_DEPTH)).unwrap().matches("a"));
        assert_eq!(Pattern::new(&braces(200)).unwrap_err().kind(), ErrorKind::Usage);
        assert!(Pattern::new(&"[a-z]".repeat(limits::MAX_GLOB / 5)).is_ok());
        assert_eq!(Pattern::new(&"a".repeat(limits::MAX_GLOB + 1)).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn kernels_match_by_either_name() {
        with_kernel("_ZTS3addIfE", |images| {
            for (glob, expected) in [("_ZTS*", true), ("add<*", true), ("add<float>", true), ("add", false)] {
                let selector = Selector { kernels: vec![Pattern::new(glob).unwrap()], ..Selector::default() };
                assert_eq!(selector.selects(&images[0]), expected, "{glob}");
            }
        });
    }

    #[test]
    fn kinds_of_condition_all_hold() {
        with_kernel("_ZTS3addIfE", |images| {
            let selector = |state, target| Selector {
                images: vec![range("0-3").unwrap()],
                states: vec![state],
                targets: vec![Pattern::new(target).unwrap()],
                ..Selector::default()
            };
            assert!(selector(State::Input, "spir*").selects(&images[0]));
            assert!(!selector(State::Input, "intel_*").selects(&images[0]));
            assert!(!selector(State::Object, "spir*").selects(&images[0]));
        });
    }

    #[test]
    fn no_match_says_what_is_near() {
        with_kernel("_ZTS3addIfE", |images| {
            let near = Selector { kernels: vec![Pattern::new("*add<floot>*").unwrap()], ..Selector::default() };
            let error = near.no_match(images);
            assert_eq!(
                (error.kind(), error.remedy()),
                (ErrorKind::NoMatch, Some("the nearest kernel is `add<float>`"))
            );
            let far = Selector { kernels: vec![Pattern::new("convolution").unwrap()], ..Selector::default() };
            assert_eq!(far.no_match(images).remedy(), None);
            let beyond = Selector { images: vec![range("7").unwrap()], ..Selector::default() };
            assert_eq!(beyond.no_match(images).remedy(), Some("the images are 0 to 0"));
        });
    }

    #[test]
    fn aspects_are_known_by_name() {
        assert_eq!(aspect("sycl::aspect::fp64").unwrap(), "fp64");
        let error = aspect("fp63").unwrap_err();
        assert_eq!((error.kind(), error.remedy()), (ErrorKind::Usage, Some("did you mean `fp64`?")));
        assert!(aspect("double").unwrap_err().remedy().unwrap().contains("sycl::aspect"));
    }

    #[test]
    fn who_needs_an_aspect() {
        let kernel = |image, used: &[&str], declared: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
            let mut kernel = KernelFacts::default();
            (kernel.image, kernel.used, kernel.declared) = (image, owned(used), owned(declared).into());
            kernel
        };
        let mut kernels = vec![
            kernel(0, &["fp64"], &["fp64"]),
            // Beside one that shows whose it is.
            kernel(0, &[], &["fp64"]),
            kernel(1, &[], &["fp64"]),
            kernel(2, &["fp16"], &["fp16"]),
        ];
        keep_needing(&mut kernels, &["fp64".to_owned()]);
        assert_eq!(kernels.iter().map(|kernel| kernel.image).collect::<Vec<_>>(), [0, 1]);
        keep_needing(&mut kernels, &[]);
        assert_eq!(kernels.len(), 2);
    }

    #[test]
    fn ranges() {
        assert_eq!(range("7").unwrap(), 7..=7);
        assert_eq!(range("3-7").unwrap(), 3..=7);
        for bad in ["", "7-3", "x", "1-", "-1"] {
            assert_eq!(range(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }
}
