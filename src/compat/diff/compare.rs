//! What differs between two snapshots?

use super::snapshot::{KernelShots, Libraries, Shot, Shots, Snapshot, Total, Traits, shots_for};
use crate::bytes::hex;
use crate::compat::diff::snapshot::{Shared, Values};
use crate::limits;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// The arguments.
    Arguments,
    /// Aspects that it needs.
    Aspects,
    /// Required sizes and other attributes.
    Attributes,
    /// Specialization constants.
    Constants,
    /// Registers, spills, local memory.
    Resources,
    /// Options for the device's compiler.
    Options,
    /// Properties of the kernel, its images or symbols that no other kind tells: optimization, device globals, exported functions
    /// and variables.
    Properties,
    /// Targets that it has images for.
    Targets,
    /// Intel GPUs that run it as it is, compile it first, or refuse it.
    Coverage,
    /// Bytes of its images.
    Bytes,
    /// The code, where no other kind tells what changed.
    Code,
}

impl What {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [What; 11] = [
        What::Arguments,
        What::Aspects,
        What::Attributes,
        What::Constants,
        What::Resources,
        What::Options,
        What::Properties,
        What::Targets,
        What::Coverage,
        What::Bytes,
        What::Code,
    ];

    /// The name in reports and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            What::Arguments => "arguments",
            What::Aspects => "aspects",
            What::Attributes => "attributes",
            What::Constants => "constants",
            What::Resources => "resources",
            What::Options => "options",
            What::Properties => "properties",
            What::Targets => "targets",
            What::Coverage => "coverage",
            What::Bytes => "bytes",
            What::Code => "code",
        }
    }
}

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct Change {
    /// The kind of the change.
    pub(crate) what: What,
    /// The target.
    pub(crate) target: String,
    /// The aspect, the attribute, the resource, the property with its set, the number of the argument; empty where there
    /// is one of its kind.
    pub(crate) name: String,
    /// The old value; null where it was not there.
    pub(crate) old: Option<String>,
    /// The new value; null where it is not there.
    pub(crate) new: Option<String>,
}

/// A change of images that is no kernel's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct ImageChange {
    /// The change: of properties, or of the code of images without kernels, with how many are gone (old) and new.
    #[serde(flatten)]
    pub(crate) change: Change,
    /// The number of kernels whose images these are; 0 where it is about symbols or images without kernels.
    pub(crate) kernels: usize,
}

/// The fate of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The kernel is new.
    Added,
    /// The kernel is gone.
    Removed,
    /// The code had another name before.
    Renamed {
        /// The name that it had, mangled.
        from: String,
    },
    /// The kernel is there as before, and changed.
    Changed,
}

/// A kernel that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelDiff {
    /// Mangled name.
    pub(crate) name: String,
    /// Fate of the kernel.
    pub(crate) fate: Fate,
    /// Targets of the kernel.
    pub(crate) targets: BTreeSet<String>,
    /// Bytes of its images, before and after.
    pub(crate) bytes: [u64; 2],
    /// Changes of the kernel.
    pub(crate) changes: Vec<Change>,
}

/// Two builds of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// The images for each target, before and after.
    pub(crate) targets: BTreeMap<String, [Total; 2]>,
    /// Kernels before and after.
    pub(crate) kernels: [usize; 2],
    /// Kernels that are as they were.
    pub(crate) unchanged: usize,
    /// Kernels that are not, by name.
    pub(crate) diffs: Vec<KernelDiff>,
    /// Changes of images, each told once, whatever kernels share them.
    pub(crate) images: Vec<ImageChange>,
    /// Whether the images for any target differ in number or bytes, as far as that counts.
    pub(crate) totals_differ: bool,
}

impl FileDiff {
    /// All images, before and after.
    pub(crate) fn totals(&self) -> [Total; 2] {
        self.targets
            .values()
            .fold([Total::default(); 2], |[old, new], [own_old, own_new]| [old.plus(*own_old), new.plus(*own_new)])
    }

    /// Targets that there were no images for.
    pub(crate) fn gained(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter(|(_, [old, new])| old.images == 0 && new.images > 0).map(|(name, _)| name.as_str())
    }

    /// Targets that there are no images for any more.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter(|(_, [old, new])| old.images > 0 && new.images == 0).map(|(name, _)| name.as_str())
    }

    /// Whether anything differs.
    pub(crate) fn differs(&self) -> bool {
        !self.diffs.is_empty() || !self.images.is_empty() || self.totals_differ
    }
}

/// Compares two builds of a file; what is in `ignored` counts as the same.
pub fn compare(old: &Snapshot, new: &Snapshot, ignored: &[What]) -> FileDiff {
    let mut diff = FileDiff { kernels: [old.kernels.len(), new.kernels.len()], ..FileDiff::default() };
    for (name, total) in &old.targets {
        diff.targets.entry(name.clone()).or_default()[0] = *total;
    }
    for (name, total) in &new.targets {
        diff.targets.entry(name.clone()).or_default()[1] = *total;
    }
    let counts = |what| !ignored.contains(&what);
    diff.totals_differ = diff.targets.values().any(|[old, new]| {
        let same_bytes = (old.bytes, old.stored) == (new.bytes, new.stored);
        match (old.images, new.images) {
            (0, _) | (_, 0) => counts(What::Targets),
            (before, after) => before != after && counts(What::Targets) || !same_bytes && counts(What::Bytes),
        }
    });
    let (mut shared, mut budget) = (SharedBy::default(), Budget::default());
    let renamed = renamed(old, new);
    let gone: BTreeSet<&str> = renamed.values().copied().collect();
    let before = |name: &str| old.kernels.get(name).map(|kernel| &kernel.shots);
    for (name, KernelShots { shots: targets, .. }) in &new.kernels {
        let (before, fate) = match (before(name), renamed.get(&**name)) {
            (Some(before), _) => (Some(before), Fate::Changed),
            (None, Some(from)) => (before(from), Fate::Renamed { from: (*from).to_owned() }),
            (None, None) => (None, Fate::Added),
        };
        let none = Shots::new();
        let (mut changes, native) =
            before.map(|before| kernel(before, targets, &mut shared, &mut budget)).unwrap_or_default();
        changes.retain(|change| !ignored.contains(&change.what));
        // Native code may hold more than the kernel's own, so it counts only where nothing else tells.
        if !ignored.contains(&What::Code) {
            let told: HashSet<&str> = changes.iter().map(|change| change.target.as_str()).collect();
            let silent = native.into_iter().filter(|target| !told.contains(&**target));
            let silent: Vec<Change> = silent.map(|target| change(What::Code, &target, "", None, None)).collect();
            changes.extend(silent);
        }
        if fate == Fate::Changed && changes.is_empty() {
            diff.unchanged = diff.unchanged.saturating_add(1);
            continue;
        }
        diff.diffs.push(kernel_diff(name, fate, before.unwrap_or(&none), targets, changes));
    }
    for (name, KernelShots { shots: targets, .. }) in &old.kernels {
        if !new.kernels.contains_key(name) && !gone.contains(&**name) {
            diff.diffs.push(kernel_diff(name, Fate::Removed, targets, &Shots::new(), Vec::new()));
        }
    }
    diff.diffs.sort_by(|one, other| one.name.cmp(&other.name));
    diff.images = changes(old, new, &shared);
    // Where targets are not asked for, GPUs are not either.
    let kind = |what| if what == What::Coverage { What::Targets } else { what };
    diff.images.retain(|one| !ignored.contains(&kind(one.change.what)));
    diff
}

fn kernel_diff(name: &str, fate: Fate, old: &Shots, new: &Shots, changes: Vec<Change>) -> KernelDiff {
    let bytes = |shots: &Shots| shots.iter().fold(0u64, |sum, (_, shot)| sum.saturating_add(shot.bytes));
    KernelDiff {
        name: name.to_owned(),
        fate,
        targets: old.iter().chain(new).map(|(target, _)| target.to_string()).collect(),
        bytes: [bytes(old), bytes(new)],
        changes,
    }
}

/// New names of old code, each with the name that it had. Where several kernels are the same code, they are paired in the
/// order of their names.
fn renamed<'s>(old: &'s Snapshot, new: &'s Snapshot) -> BTreeMap<&'s str, &'s str> {
    let bodies = |one: &'s Snapshot, other: &Snapshot| {
        let mut found: BTreeMap<(&'s str, [u8; 16]), Vec<&'s str>> = BTreeMap::new();
        for (name, kernel) in one.kernels.iter().filter(|(name, _)| !other.kernels.contains_key(*name)) {
            // The least of several images, whatever their order.
            let mut bodies = kernel.shots.iter().filter_map(|(target, shot)| Some((&**target, shot.body?)));
            let first = bodies.next().map(|first| bodies.take_while(|next| next.0 == first.0).fold(first, Ord::min));
            if let Some((target, body)) = first {
                found.entry((target, body)).or_default().push(name);
            }
        }
        found
    };
    let (gone, come) = (bodies(old, new), bodies(new, old));
    let pairs = come.iter().filter_map(|(key, names)| Some((names, gone.get(key)?)));
    pairs.flat_map(|(come, gone)| come.iter().copied().zip(gone.iter().copied())).collect()
}

/// Lists the changes of a kernel, and the targets for which its native code changed. Properties of its images are added to `shared`.
fn kernel<'s>(
    old: &'s Shots,
    new: &'s Shots,
    shared: &mut SharedBy<'s>,
    budget: &mut Budget,
) -> (Vec<Change>, Vec<Arc<str>>) {
    // Several images may have changed alike.
    let (mut changes, mut native) = (BTreeSet::new(), Vec::new());
    let targets: BTreeSet<&Arc<str>> = old.iter().chain(new).map(|(target, _)| target).collect();
    for target in targets {
        let sides = [shots_for(old, target), shots_for(new, target)];
        if let [[], _] | [_, []] = sides {
            let [old, new] = sides.map(|shots| (!shots.is_empty()).then(|| target.to_string()));
            changes.insert(change(What::Targets, target, "", old, new));
            continue;
        }
        let pairs = pairs(sides);
        budget.begin();
        pairs.iter().for_each(|(old, new)| shared.add(target, [&old.shared, &new.shared]));
        for (old, new) in pairs {
            if !budget.take([old, new], |shot| length(&shot.traits)) {
                // The gates of arguments and requirements do not pass for what is not looked at.
                let there = || Some("not compared".to_owned());
                for what in [What::Arguments, What::Aspects, What::Code] {
                    changes.insert(change(what, target, "of further images", None, there()));
                }
                break;
            }
            let mut own = Vec::new();
            if shot(target, old, new, &mut own) {
                native.push(Arc::clone(target));
            }
            changes.extend(own);
        }
        let bytes = sides.map(|shots| shots.iter().fold(0u64, |sum, (_, shot)| sum.saturating_add(shot.bytes)));
        if bytes[0] != bytes[1] {
            let [old, new] = bytes.map(|bytes| Some(bytes.to_string()));
            changes.insert(change(What::Bytes, target, "", old, new));
        }
    }
    native.dedup();
    let mut changes: Vec<Change> = changes.into_iter().collect();
    changes.sort_by_key(|change| (change.what, change.name.parse::<usize>().ok()));
    (changes, native)
}

/// Bytes of what may be compared again. A file has room for the first time.
struct Budget {
    left: usize,
    /// Addresses of what was compared since [`Budget::begin`].
    met: HashSet<usize>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: limits::MAX_COMPARED_FACTS, met: HashSet::new() }
    }
}

impl Budget {
    /// Forgets what was compared: a file has all things of a kernel for itself.
    fn begin(&mut self) {
        // A table that was once large would be cleared again and again.
        self.met = HashSet::new();
    }

    /// Counts that two things are compared, and returns whether they may be.
    fn take<T>(&mut self, sides: [&T; 2], length: impl Fn(&T) -> usize) -> bool {
        let again = sides.into_iter().filter(|side| !self.met.insert(std::ptr::from_ref(*side).addr()));
        let cost = again.fold(0usize, |sum, side| sum.saturating_add(length(side)));
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// Bytes of what is compared of a kernel in an image.
fn length(traits: &Traits) -> usize {
    let texts = traits.arguments.iter().chain(&traits.constants).chain(&traits.aspects).map(String::len);
    texts.fold(length_of_map(&traits.properties), usize::saturating_add)
}

/// Bytes of properties.
fn length_of_map(properties: &BTreeMap<String, String>) -> usize {
    let each = properties.iter().map(|(name, value)| name.len().saturating_add(value.len()));
    each.fold(0, usize::saturating_add)
}

/// Pairs the images of a kernel for a target before and after. Where there are several, those that say the same, in whatever order they
/// come, are left out. Of the others, those of the same code are paired, then those that say the same of other code, then all in their
/// order. An image beyond those of the other side is held against the last one there.
fn pairs([old, new]: [&[(Arc<str>, Shot)]; 2]) -> Vec<(&Shot, &Shot)> {
    if let ([(_, old)], [(_, new)]) = (old, new) {
        return vec![(old, new)];
    }
    let mut rest = [old, new].map(|shots| shots.iter().map(|(_, shot)| shot).collect::<Vec<_>>());
    let keys = rest.each_ref().map(|shots| shots.iter().map(|shot| key(shot)).collect::<HashSet<Key>>());
    for (shots, others) in rest.iter_mut().zip(keys.iter().rev()) {
        shots.retain(|shot| !others.contains(&key(shot)));
    }
    let mut found = matched(&mut rest, code);
    found.extend(matched(&mut rest, said));
    found.extend(matched(&mut rest, |_| ()));
    let [before, after] = rest;
    let [last_old, last_new] = [old, new].map(|shots| shots.last().map(|(_, shot)| shot));
    found.extend(after.into_iter().filter_map(|after| Some((last_old?, after))));
    found.extend(before.into_iter().filter_map(|before| Some((before, last_new?))));
    found
}

/// Takes out of both sides what has the same key, the first with the first.
fn matched<'s, K: Eq + Hash>(sides: &mut [Vec<&'s Shot>; 2], of: impl Fn(&Shot) -> K) -> Vec<(&'s Shot, &'s Shot)> {
    let [old, new] = sides;
    let mut places: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (at, shot) in old.iter().enumerate() {
        places.entry(of(shot)).or_default().push_back(at);
    }
    let (mut found, mut taken) = (Vec::new(), HashSet::new());
    new.retain(|after| {
        let at = places.get_mut(&of(after)).and_then(VecDeque::pop_front);
        let Some((at, before)) = at.and_then(|at| Some((at, *old.get(at)?))) else { return true };
        found.push((before, *after));
        taken.insert(at);
        false
    });
    let mut at = 0usize..;
    old.retain(|_| at.next().is_none_or(|at| !taken.contains(&at)));
    found
}

/// Code, or else its image.
type Code = (Option<[u8; 16]>, [u8; 32]);
/// Addresses of what is held once for both builds.
type Said = [usize; 3];
type Key = (Code, Said);

fn code(shot: &Shot) -> Code {
    (shot.body, if shot.body.is_some() { [0; 32] } else { shot.image })
}

fn said(shot: &Shot) -> Said {
    [Arc::as_ptr(&shot.traits).addr(), Arc::as_ptr(&shot.options).addr(), Arc::as_ptr(&shot.shared).addr()]
}

fn key(shot: &Shot) -> Key {
    (code(shot), said(shot))
}

fn change(what: What, target: &str, name: impl Into<String>, old: Option<String>, new: Option<String>) -> Change {
    Change { what, target: target.to_owned(), name: name.into(), old, new }
}

/// Lists the changes among named things: some came, went or have another value.
fn named<K: Ord + AsRef<str>, V: PartialEq + ToString>(
    what: What,
    target: &str,
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    changes: &mut Vec<Change>,
) {
    let names: BTreeSet<&K> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        if before != after {
            let text = |value: Option<&V>| value.map(V::to_string);
            changes.push(change(what, target, name.as_ref(), text(before), text(after)));
        }
    }
}

/// Lists the changes between two images of a kernel, and returns whether native code changed.
fn shot(target: &str, old: &Shot, new: &Shot, changes: &mut Vec<Change>) -> bool {
    let count = old.traits.arguments.len().max(new.traits.arguments.len());
    for at in 0..count {
        let (before, after) = (old.traits.arguments.get(at), new.traits.arguments.get(at));
        if before != after {
            changes.push(change(What::Arguments, target, at.to_string(), before.cloned(), after.cloned()));
        }
    }
    for aspect in old.traits.aspects.symmetric_difference(&new.traits.aspects) {
        let there = |shot: &Shot| shot.traits.aspects.contains(aspect).then(|| aspect.clone());
        changes.push(change(What::Aspects, target, aspect, there(old), there(new)));
    }
    let texts = |list: &[String]| Some(list.join(", ")).filter(|text| !text.is_empty());
    let (before, after) = (texts(&old.traits.constants), texts(&new.traits.constants));
    if before != after {
        changes.push(change(What::Constants, target, "", before, after));
    }
    named(What::Attributes, target, &old.traits.attributes, &new.traits.attributes, changes);
    named(What::Resources, target, &old.traits.resources, &new.traits.resources, changes);
    if !Arc::ptr_eq(&old.options, &new.options) && old.options != new.options {
        let text = |shot: &Shot| Some(cut(&shot.options)).filter(|text| !text.is_empty());
        changes.push(change(What::Options, target, "", text(old), text(new)));
    }
    named(What::Properties, target, &old.traits.properties, &new.traits.properties, changes);
    let (Some(before), Some(after)) = (old.body, new.body) else { return old.image != new.image };
    if before != after {
        changes.push(change(What::Code, target, "", None, None));
    }
    false
}

/// Cuts options, which are told of each kernel of an image.
fn cut(options: &str) -> String {
    let kept = (0..=limits::MAX_TOLD_OPTIONS).rev().find(|at| options.is_char_boundary(*at));
    match kept.and_then(|kept| options.split_at_checked(kept)) {
        Some((kept, rest)) if options.len() > limits::MAX_TOLD_OPTIONS => {
            format!("{kept}... ({} bytes more)", rest.len())
        }
        _ => options.to_owned(),
    }
}

/// Properties of kernels' images before and after, each pair once.
#[derive(Default)]
struct SharedBy<'s> {
    /// In the order in which they were met.
    pairs: Vec<(&'s str, [&'s Shared; 2], usize)>,
    /// Places of the pairs by the addresses of the properties: those of each image are there once.
    places: HashMap<[usize; 2], usize>,
}

impl<'s> SharedBy<'s> {
    /// Adds the properties of a kernel's images for a target.
    fn add(&mut self, target: &'s str, sides: [&'s Shared; 2]) {
        let key = sides.map(|side| Arc::as_ptr(side) as usize);
        let place = *self.places.entry(key).or_insert(self.pairs.len());
        if place == self.pairs.len() {
            self.pairs.push((target, sides, 0));
        }
        if let Some((.., kernels)) = self.pairs.get_mut(place) {
            *kernels = kernels.saturating_add(1);
        }
    }
}

/// All that changed, each once: of kernels' images, of symbols, and of images without kernels.
fn changes(old: &Snapshot, new: &Snapshot, shared: &SharedBy<'_>) -> Vec<ImageChange> {
    let mut found: BTreeMap<Change, usize> = BTreeMap::new();
    let mut budget = Budget::default();
    for (target, [before, after], kernels) in &shared.pairs {
        let mut changes = Vec::new();
        match budget.take([&***before, &***after], length_of_map) {
            true => named(What::Properties, target, before, after, &mut changes),
            false => {
                changes.push(change(
                    What::Properties,
                    target,
                    "of further images",
                    None,
                    Some("not compared".to_owned()),
                ));
            }
        }
        for change in changes {
            let all = found.entry(change).or_default();
            *all = all.saturating_add(*kernels);
        }
    }
    // Targets that were gained or lost altogether are told as such.
    let none = Values::default();
    for target in new.targets.keys().filter(|target| old.targets.contains_key(*target)) {
        let [before, after] = [old, new].map(|one| one.properties.get(target).unwrap_or(&none));
        for change in values(target, before, after) {
            found.insert(change, 0);
        }
    }
    for (target, after) in &new.libraries {
        let Some(before) = old.libraries.get(target) else { continue };
        let only =
            |one: &Libraries, other: &Libraries| match one.keys().filter(|hash| !other.contains_key(*hash)).count() {
                0 => None,
                count => Some(count.to_string()),
            };
        // Images may have swapped them.
        for (hash, properties) in after {
            if before.get(hash).is_some_and(|known| known != properties) {
                let name = format!("of image {}", hex(hash.first_chunk::<8>().unwrap_or(&[0; 8])));
                let there = Some("others than before".to_owned());
                found.insert(change(What::Properties, target, name, None, there), 0);
            }
        }
        let (gone, come) = (only(before, after), only(after, before));
        if gone.is_some() || come.is_some() {
            found.insert(change(What::Code, target, "", gone, come), 0);
        }
    }
    for (name, after) in &new.kernels {
        let Some(before) = old.kernels.get(name) else { continue };
        let (before, after) = (&before.coverage, &after.coverage);
        if before == after {
            continue;
        }
        for gpu in before.gpus.keys().chain(after.gpus.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (before.on(gpu), after.on(gpu));
            if was != is {
                let [was, is] = [was, is].map(|coverage| Some(coverage.name().to_owned()));
                let all = found.entry(change(What::Coverage, gpu, "", was, is)).or_default();
                *all = all.saturating_add(1);
            }
        }
    }
    found.into_iter().map(|(change, kernels)| ImageChange { change, kernels }).collect()
}

fn values(target: &str, old: &Values, new: &Values) -> Vec<Change> {
    let text = |values: &Values| -> BTreeMap<String, String> {
        let all = values.iter();
        all.map(|(name, values)| (name.clone(), values.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")))
            .collect()
    };
    let mut changes = Vec::new();
    named(What::Properties, target, &text(old), &text(new), &mut changes);
    changes
}
