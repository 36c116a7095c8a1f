//! Do device symbols find their definitions across a set of files?
//!
//! As the runtime links images when a kernel is first used (DPC++ `program_manager.cpp`, `collectDeviceImageDeps`): what an
//! image imports may come from any image of any loaded library that exports it and is of the same format; of several it
//! takes whichever it meets first. Only images for `spir64` and `spir64_gen` are linked. Kernels go by name alone: of two
//! libraries with a kernel of the same name one may run for both.
//!
//! Images of a kernel are compared by the options that change their code. Native code tells its options in part (`.misc.buildOptions` of a zebin, and 256 registers of a kernel, which ocloc's
//! `-internal_options` ask for without a record); the SPIR-V of the same kernel is compiled with the options of its image
//! on every device without native code. Where these differ, so do speed and results from device to device, and nobody
//! says so.

mod callers;

use self::callers::Callers;
use super::aspects::Code;
use super::built_in::of_the_device;
use super::examine::Examined;
use super::finding::{Finding, RuleId};
use super::fit;
use crate::bundle::format::Format;
use crate::bundle::image::Image;
use crate::bundle::property_sets::{key, set};
use crate::limits;
use crate::native::Part;
use crate::spirv::link::{Declaration, declarations};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// An image, reduced to what matters for linking.
#[derive(Debug, Clone)]
pub(crate) struct LinkUnit {
    /// The file, as the user gave it.
    pub(crate) file: Arc<str>,
    /// The image's number in it.
    pub(crate) image: usize,
    /// Key that images share which may be taken for one another.
    kind: LinkKey,
    /// Mangled names of its kernels.
    pub(crate) kernels: Vec<String>,
    /// Symbols that it defines for others.
    pub(crate) exports: Vec<String>,
    /// Symbols that others must define, each with who needs it.
    pub(crate) imports: Vec<Import>,
    /// Kernels of the image, as they are told of what it imports.
    every: Names,
    /// Declarations of its module's imports and exports, by symbol, where it can be read.
    declared: HashMap<String, Declaration>,
    /// The hash of its contents.
    hash: [u8; 32],
    /// Hashes of the code of kernels alone, where they have been looked for.
    pub(crate) bodies: HashMap<String, [u8; 32]>,
    /// Whether it is a part of the device library, of which the runtime keeps one copy.
    devicelib: bool,
    /// Options that change its code, where they are known.
    options: Option<CodeOptions>,
}

/// Target, what it is compiled for, and whether specialization constants are replaced by their defaults.
type LinkKey = (String, Option<String>, &'static str, bool);

/// A symbol that an image needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    /// Mangled name.
    pub(crate) symbol: Arc<str>,
    /// The image's kernels that may call it.
    pub(crate) kernels: Names,
    /// Functions that the image exports and that may call it.
    pub(crate) functions: Names,
}

/// Mangled names, of which there may be too many to tell all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// The first ones.
    pub(crate) told: Arc<[Arc<str>]>,
    /// Number of the others.
    pub(crate) more: usize,
}

impl Names {
    /// Takes the first of `count` names that have no more than some bytes together.
    pub(crate) fn within(names: impl Iterator<Item = Arc<str>>, count: usize, bytes: usize) -> Names {
        let mut left = bytes;
        let mut fits = |name: &Arc<str>| {
            let rest = left.checked_sub(name.len().saturating_add(size_of::<Arc<str>>()));
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        let told: Arc<[Arc<str>]> = names.take_while(|name| fits(name)).collect();
        Names { more: count.saturating_sub(told.len()), told }
    }
}

/// An image, by file and number.
pub(crate) type Place = (Arc<str>, usize);

/// A finding about a symbol or kernel, and the images that it is about.
#[derive(Debug, Clone)]
pub(crate) struct LinkFinding {
    /// The finding; where it is not certain it hangs on the device or the runtime's version.
    pub(crate) finding: Finding,
    /// The mangled name of the symbol or kernel.
    pub(crate) name: String,
    /// Images that need the symbol.
    pub(crate) wanted: Vec<(Place, Import)>,
    /// The images that define it.
    pub(crate) defined: Vec<Place>,
    /// Number of others that do.
    pub(crate) more_defined: usize,
}

/// Symbols that one file takes from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The file that imports.
    pub(crate) from: Arc<str>,
    /// The file that defines.
    pub(crate) to: Arc<str>,
    /// The mangled names, in order.
    pub(crate) symbols: Vec<String>,
}

/// Links between the files of a set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Linked {
    /// Symbols that are imported.
    pub imports: usize,
    /// Symbols that are exported.
    pub exports: usize,
    /// Imported symbols that the runtime and the device bring.
    pub(crate) of_the_device: usize,
    /// Symbols that one file takes from another, where its own images have none.
    pub(crate) links: Vec<Link>,
    /// Number of imports of images that are in other files, and of which the links are not listed.
    pub(crate) more_links: usize,
    /// Findings by rule and name.
    pub(crate) findings: Vec<LinkFinding>,
}

/// Reduces the images of a file to what matters for linking. `codes` is the code of those that import something.
pub(crate) fn units(file: &Arc<str>, images: &[Examined<'_, '_>], codes: &[Code]) -> Vec<LinkUnit> {
    let one = |(at, image): (usize, &Examined<'_, '_>)| {
        let mut callers = Callers::new(image, codes.get(at));
        LinkUnit {
            file: file.clone(),
            image: image.image.index,
            kind: kind(image),
            kernels: image.kernels.clone(),
            exports: image.defined().cloned().collect(),
            imports: image.imports.iter().map(|symbol| callers.import(symbol)).collect(),
            every: callers.every,
            declared: declared(image),
            hash: image.blake3,
            bodies: HashMap::new(),
            devicelib: !image.image.properties.set(set::DEVICELIB).is_empty(),
            options: CodeOptions::find(image),
        }
    };
    images.iter().enumerate().map(one).collect()
}

/// Returns the declarations of the imports and exports of an image's module.
fn declared(image: &Examined<'_, '_>) -> HashMap<String, Declaration> {
    let linked = image.format == Format::SpirV && !(image.imports.is_empty() && image.exports.is_empty());
    let contents = linked.then(|| image.image.contents().ok()).flatten();
    contents.and_then(|contents| declarations(&contents).ok()).unwrap_or_default()
}

fn kind(image: &Examined<'_, '_>) -> LinkKey {
    let compiled = image.image.compile_target().map(str::to_owned);
    let defaults = image.image.properties.get(set::MISC, key::SPEC_REPLACED);
    (
        fit::spec(image.image).to_owned(),
        compiled,
        image.format.name(),
        defaults.and_then(|flag| flag.number()) == Some(1),
    )
}

impl LinkUnit {
    /// Identifies the code of a kernel: by its hash, else by that of the image.
    fn code(&self, kernel: &str) -> [u8; 32] {
        self.bodies.get(kernel).copied().unwrap_or(self.hash)
    }
}

/// The kernels that are in several files.
pub(crate) fn in_several_files(units: &[LinkUnit]) -> HashSet<&str> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let all = units.iter().flat_map(|unit| unit.kernels.iter().map(|kernel| (kernel.as_str(), &*unit.file)));
    all.filter(|(kernel, file)| *first.entry(kernel).or_insert(file) != *file).map(|(kernel, _)| kernel).collect()
}

/// Links the images of a set of files.
pub(crate) fn link(units: &[LinkUnit]) -> Linked {
    let mut exporters: BTreeMap<&str, Vec<&LinkUnit>> = BTreeMap::new();
    let mut importers: BTreeMap<&str, Vec<(&LinkUnit, &Import)>> = BTreeMap::new();
    for unit in units {
        unit.exports.iter().for_each(|symbol| exporters.entry(symbol).or_default().push(unit));
        unit.imports.iter().for_each(|import| importers.entry(&import.symbol).or_default().push((unit, import)));
    }
    let mut linked = Linked { imports: importers.len(), exports: exporters.len(), ..Linked::default() };
    let mut links: BTreeMap<(&Arc<str>, &Arc<str>), BTreeSet<&str>> = BTreeMap::new();
    let mut room = Room::of_images(units.len());
    for (symbol, wanting) in &importers {
        let all = exporters.get(symbol).map(Vec::as_slice).unwrap_or_default();
        if all.is_empty() && of_the_device(symbol) {
            linked.of_the_device = linked.of_the_device.saturating_add(1);
            continue;
        }
        let mut files: BTreeMap<&'static str, BTreeSet<&Arc<str>>> = BTreeMap::new();
        for unit in all {
            files.entry(format(unit)).or_default().insert(&unit.file);
        }
        let formats: Vec<&'static str> = files.keys().copied().collect();
        linked.findings.extend(unresolved(symbol, wanting, (all, &formats), &mut room));
        for (unit, _) in wanting {
            let Some(found) = files.get(format(unit)) else { continue };
            // A symbol that the file itself defines is no link to another file, though the runtime may take either.
            if found.contains(&unit.file) {
                continue;
            }
            if room.take(found.len()) < found.len() {
                linked.more_links = linked.more_links.saturating_add(1);
                continue;
            }
            for other in found {
                links.entry((&unit.file, other)).or_default().insert(symbol);
            }
        }
    }
    linked.findings.extend(mistyped(units, &mut room));
    linked.findings.extend(exporters.iter().filter_map(|(symbol, all)| {
        let wanted = importers.get(symbol).map(Vec::as_slice).unwrap_or_default();
        duplicate(symbol, all, wanted)
    }));
    linked.findings.extend(clashes(units));
    linked.findings.extend(other_options(units));
    linked.links = links
        .into_iter()
        .map(|((from, to), symbols)| Link {
            from: from.clone(),
            to: to.clone(),
            symbols: symbols.into_iter().map(str::to_owned).collect(),
        })
        .collect();
    linked
}

fn format(unit: &LinkUnit) -> &'static str {
    unit.kind.2
}

fn place(unit: &LinkUnit) -> Place {
    (unit.file.clone(), unit.image)
}

/// Links and places that may yet be told.
struct Room(usize);

impl Room {
    /// The room of so many images.
    fn of_images(count: usize) -> Room {
        Room(count.saturating_mul(limits::LINKS_PER_IMAGE).saturating_add(limits::MAX_LINKS_FLOOR))
    }

    /// Takes as many as there are, up to `count`.
    fn take(&mut self, count: usize) -> usize {
        let taken = count.min(self.0);
        self.0 = self.0.saturating_sub(taken);
        taken
    }

    /// The first places of some images, and the number of the others.
    fn places(&mut self, units: &[&LinkUnit]) -> (Vec<Place>, usize) {
        let told = self.take(units.len());
        (units.iter().take(told).map(|unit| place(unit)).collect(), units.len().saturating_sub(told))
    }
}

/// Finds the images that want a symbol and do not get it, by reason. `formats` are those of all that define it, in order.
fn unresolved(
    symbol: &str,
    wanting: &[(&LinkUnit, &Import)],
    (all, formats): (&[&LinkUnit], &[&'static str]),
    room: &mut Room,
) -> Vec<LinkFinding> {
    let mut by_why: BTreeMap<(String, &'static str), Vec<(Place, Import)>> = BTreeMap::new();
    for (unit, import) in wanting {
        let own = spec(unit);
        let why = if !matches!(own, "spir64" | "spir64_gen") {
            let message =
                format!("Cannot resolve external symbols of an image for {own}: it is not linked at run time.");
            (message, "link the definitions into the image when it is compiled, or ship it as spir64")
        } else if all.is_empty() {
            let message = format!("No device image found for external symbol {symbol}");
            (message, "check the library that defines it together with these, or define it (SYCL_EXTERNAL)")
        } else if !formats.contains(&format(unit)) {
            let message = format!(
                "External symbol {symbol} is defined in images of format {} only, and imported by one of format {}: the \
                 runtime links images of one format.",
                formats.join(", "),
                format(unit)
            );
            (message, "ship both as SPIR-V, or link them when they are compiled")
        } else {
            continue;
        };
        by_why.entry(why).or_default().push((place(unit), (*import).clone()));
    }
    let finding = |((message, remedy), wanted)| {
        let finding = Finding::new(RuleId::UnresolvedSymbol, true, message, remedy);
        let (defined, more_defined) = room.places(all);
        LinkFinding { finding, name: symbol.to_owned(), wanted, defined, more_defined }
    };
    by_why.into_iter().map(finding).collect()
}

/// Finds the images that import a function or variable as another thing than all that define it for them have, by the two
/// declarations.
fn mistyped(units: &[LinkUnit], room: &mut Room) -> Vec<LinkFinding> {
    let mut defined: BTreeMap<&str, Vec<(&LinkUnit, &Declaration)>> = BTreeMap::new();
    let mut wanted: BTreeMap<&str, Vec<(&LinkUnit, &Declaration)>> = BTreeMap::new();
    for unit in units {
        for (symbol, declared) in &unit.declared {
            let list = if declared.is_import { &mut wanted } else { &mut defined };
            list.entry(symbol).or_default().push((unit, declared));
        }
    }
    let mut findings: BTreeMap<(&str, &str, &str, bool), LinkFinding> = BTreeMap::new();
    let mut imports: HashMap<(&str, usize, &str), &Import> = HashMap::new();
    for unit in units.iter().filter(|unit| !unit.declared.is_empty()) {
        imports.extend(unit.imports.iter().map(|import| ((&*unit.file, unit.image, &*import.symbol), import)));
    }
    for (symbol, wanting) in &wanted {
        let all = defined.get(symbol).map(Vec::as_slice).unwrap_or_default();
        // Images that define it, by format, with the first declaration and the keys of all.
        let mut alike: HashMap<&'static str, (Vec<&LinkUnit>, &Declaration, HashSet<u64>)> = HashMap::new();
        for (unit, declared) in all {
            let (units, _, keys) = alike.entry(format(unit)).or_insert((Vec::new(), declared, HashSet::new()));
            units.push(unit);
            keys.insert(declared.key());
        }
        alike.values_mut().for_each(|(units, ..)| {
            units.sort_unstable_by_key(|unit| (&unit.file, unit.image));
            units.dedup_by_key(|unit| (&unit.file, unit.image));
        });
        for (unit, own) in wanting {
            let Some((definers, first, keys)) = alike.get(format(unit)) else { continue };
            if keys.contains(&own.key()) {
                continue;
            }
            let certain = own.text != first.text;
            let finding = findings.entry((symbol, &own.text, &first.text, certain)).or_insert_with(|| {
                let (defined, more_defined) = room.places(definers);
                let finding = mismatch(symbol, own, first);
                LinkFinding { finding, name: (*symbol).to_owned(), wanted: Vec::new(), defined, more_defined }
            });
            let import = imports.get(&(&*unit.file, unit.image, symbol)).copied().cloned();
            let import = import.unwrap_or_else(|| Import {
                symbol: (*symbol).into(),
                kernels: unit.every.clone(),
                functions: Names::default(),
            });
            finding.wanted.push((place(unit), import));
        }
    }
    findings.into_values().collect()
}

/// The finding about a symbol that is imported as one thing and defined as another.
fn mismatch(symbol: &str, own: &Declaration, defined: &Declaration) -> Finding {
    let remedy = "declare it alike on both sides, in one header";
    let (wanted, there) = (&own.text, &defined.text);
    if wanted == there {
        let message = format!(
            "Symbol {symbol} is imported and defined as {wanted}, of structures that differ in names or decorations: \
             `sycl-bundle link` refuses that, and a device's linker may."
        );
        return Finding::new(RuleId::SymbolType, false, message, remedy);
    }
    let message = format!("Symbol {symbol} is imported as {wanted} and defined as {there}.");
    Finding::new(RuleId::SymbolType, true, message, remedy)
}

fn spec(unit: &LinkUnit) -> &str {
    &unit.kind.0
}

/// Images of one kind that define a symbol in different ways.
fn duplicate(symbol: &str, all: &[&LinkUnit], wanted: &[(&LinkUnit, &Import)]) -> Option<LinkFinding> {
    let mut kinds: BTreeMap<&LinkKey, Vec<&LinkUnit>> = BTreeMap::new();
    for unit in all.iter().filter(|unit| !unit.devicelib) {
        kinds.entry(&unit.kind).or_default().push(unit);
    }
    let differ = |own: &&Vec<&LinkUnit>| own.iter().any(|unit| Some(unit.hash) != own.first().map(|first| first.hash));
    let several: Vec<&LinkUnit> = kinds.values().filter(differ).flatten().copied().collect();
    let files: BTreeSet<&str> = several.iter().map(|unit| &*unit.file).collect();
    let first = several.first()?;
    let by = match files.len() {
        1 => format!("{} images of one file", several.len()),
        files => format!("images of {files} files"),
    };
    Some(LinkFinding {
        finding: Finding::new(
            RuleId::DuplicateSymbol,
            !wanted.is_empty(),
            format!(
                "Symbol {symbol} is defined by {by} for {}; the runtime takes whichever it meets first.",
                spec(first)
            ),
            "give the functions names of their own, or a namespace for each library",
        ),
        name: symbol.to_owned(),
        wanted: wanted.iter().map(|(unit, import)| (place(unit), (*import).clone())).collect(),
        defined: several.iter().map(|unit| place(unit)).collect(),
        more_defined: 0,
    })
}

/// The code of a kernel in each file.
fn hashes<'p>(units: &[&'p LinkUnit], kernel: &str) -> BTreeMap<&'p str, BTreeSet<[u8; 32]>> {
    let mut of_file: BTreeMap<&str, BTreeSet<[u8; 32]>> = BTreeMap::new();
    for unit in units {
        of_file.entry(&unit.file).or_default().insert(unit.code(kernel));
    }
    of_file
}

/// Kernels of one name in two files.
fn clashes(units: &[LinkUnit]) -> Vec<LinkFinding> {
    let mut kernels: BTreeMap<&str, Vec<&LinkUnit>> = BTreeMap::new();
    for unit in units {
        unit.kernels.iter().for_each(|kernel| kernels.entry(kernel).or_default().push(unit));
    }
    let one = |(kernel, all): (&str, Vec<&LinkUnit>)| {
        let files: BTreeSet<&str> = all.iter().map(|unit| &*unit.file).collect();
        if files.len() < 2 {
            return None;
        }
        let mut kinds: BTreeMap<&LinkKey, Vec<&LinkUnit>> = BTreeMap::new();
        all.iter().for_each(|unit| kinds.entry(&unit.kind).or_default().push(unit));
        let differs = kinds.values().any(|own| hashes(own, kernel).values().collect::<BTreeSet<_>>().len() > 1);
        let same = kinds.values().all(|own| hashes(own, kernel).len() == files.len());
        let (certain, message) = match (differs, same) {
            (true, _) => {
                (true, "has different code in different files, and the runtime may run either for both.".to_owned())
            }
            // The same code under the same name: whichever runs, it is the same.
            (false, true) => return None,
            (false, false) => (
                false,
                "is in one file for targets that the other does not have; runtimes that tell the kernels of libraries \
                 apart (after 2026.2) do not take the other's images."
                    .to_owned(),
            ),
        };
        Some(LinkFinding {
            finding: Finding::new(
                RuleId::KernelClash,
                certain,
                format!("Kernel {message}"),
                "give the kernel another name in one of them; where one only adds images, put these into the other's \
                     own list (sycl-bundle embed)",
            ),
            name: kernel.to_owned(),
            wanted: Vec::new(),
            defined: all.iter().map(|unit| place(unit)).collect(),
            more_defined: 0,
        })
    };
    kernels.into_iter().filter_map(one).collect()
}

/// Kernels of a file whose native code is compiled otherwise than their SPIR-V would be: one finding for each way in which
/// they differ, under the name of the first.
fn other_options(units: &[LinkUnit]) -> Vec<LinkFinding> {
    let mut modules: HashMap<(&str, &str), &LinkUnit> = HashMap::new();
    for unit in units.iter().filter(|unit| format(unit) == Format::SpirV.name()) {
        for kernel in &unit.kernels {
            modules.entry((&*unit.file, kernel.as_str())).or_insert(unit);
        }
    }
    let mut found: BTreeMap<(&str, String), LinkFinding> = BTreeMap::new();
    for unit in units {
        let pair = |kernel: &String| Some((kernel.clone(), *modules.get(&(&*unit.file, kernel.as_str()))?));
        let Some((kernel, module)) = unit.kernels.iter().find_map(pair) else { continue };
        let (Some(native), Some(spirv)) = (&unit.options, &module.options) else { continue };
        let Some(finding) = spirv.differ(native) else { continue };
        let known = found.entry((&*unit.file, finding.message.clone())).or_insert_with(|| LinkFinding {
            finding,
            name: kernel,
            wanted: Vec::new(),
            defined: Vec::new(),
            more_defined: 0,
        });
        known.defined.push(place(unit));
    }
    found.into_values().collect()
}

/// Effects of options on code, each with its spellings.
const EFFECTS: [(&str, &[&str]); 12] = [
    (LARGE, &["-cl-intel-256-GRF-per-thread", "-ze-opt-large-register-file", "-doubleGRF"]),
    (AUTO, &["-ze-intel-enable-auto-large-GRF-mode", "-cl-intel-enable-auto-large-GRF-mode"]),
    ("128 registers", &["-cl-intel-128-GRF-per-thread", "-ze-intel-128-GRF-per-thread"]),
    ("no optimization", &["-cl-opt-disable", "-ze-opt-disable", "-O0"]),
    (
        "buffers of more than 4 GiB",
        &["-cl-intel-greater-than-4GB-buffer-required", "-ze-opt-greater-than-4GB-buffer-required"],
    ),
    ("poisoned fp64 kernels", &["-cl-poison-unsupported-fp64-kernels"]),
    ("relaxed math", &["-cl-fast-relaxed-math"]),
    ("unsafe math", &["-cl-unsafe-math-optimizations"]),
    ("finite math", &["-cl-finite-math-only"]),
    ("multiply-add", &["-cl-mad-enable"]),
    ("denormals as zero", &["-cl-denorms-are-zero"]),
    (
        "correctly rounded division and square root",
        &["-cl-fp32-correctly-rounded-divide-sqrt", "-foffload-fp32-prec-div", "-foffload-fp32-prec-sqrt"],
    ),
];
const LARGE: &str = "256 registers";
const AUTO: &str = "registers as the compiler chooses";
/// GPUs whose compiler chooses registers of each kernel unasked (Xe3 and later).
const CHOOSING: [&str; 4] = ["intel_gpu_ptl", "intel_gpu_wcl", "intel_gpu_nvl", "intel_gpu_cri"];
/// DPC++'s option for one device: `-ftarget-register-alloc-mode=pvc:OPTION`.
const ALLOC_MODE: &str = "-ftarget-register-alloc-mode=";

/// Effects of options, by the names of [`EFFECTS`].
type Effects = BTreeSet<&'static str>;

/// Options of an image that change its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CodeOptions {
    /// Effects on all devices; of native code none.
    all: Effects,
    /// Effects on one device, beside these: a device of native code, or of options that name it.
    by_device: Vec<(String, Effects)>,
    native: bool,
    /// Whether native code does not say all: where there are no options, compilers record none, and old ones never do.
    partial: bool,
}

fn effect(word: &str) -> Option<&'static str> {
    EFFECTS.iter().find(|(_, spellings)| spellings.contains(&word)).map(|(name, _)| *name)
}

impl CodeOptions {
    /// Finds the options of an image; none where it is neither SPIR-V nor native code for Intel GPUs.
    pub(crate) fn find(examined: &Examined<'_, '_>) -> Option<CodeOptions> {
        if examined.format == Format::SpirV {
            return Some(CodeOptions::of_spirv(examined.image));
        }
        let parts = examined.native.iter().flat_map(|native| &native.parts);
        let code = parts.filter(|part| part.format == Format::Zebin);
        let by_device: Vec<_> =
            code.clone().flat_map(|part| part.devices.iter().map(|device| (device.clone(), of_part(part)))).collect();
        let partial = code.clone().any(|part| part.options.is_none());
        (!by_device.is_empty()).then_some(CodeOptions { all: Effects::new(), by_device, native: true, partial })
    }

    fn of_spirv(image: &Image<'_>) -> CodeOptions {
        let mut found = CodeOptions::default();
        let number = |name| image.properties.get(set::MISC, name).and_then(|value| value.number());
        match (number(key::REGISTERS), number("sycl-register-alloc-mode")) {
            (Some(256), _) | (None, Some(2)) => _ = found.all.insert(LARGE),
            (Some(0), _) => _ = found.all.insert(AUTO),
            _ => {}
        }
        if number("optLevel") == Some(0) {
            found.all.extend(effect("-O0"));
        }
        let words = [image.compile_options, image.link_options].map(str::split_whitespace).into_iter().flatten();
        let (mut words, mut only) = (words.map(|word| word.trim_matches(['"', '\''])), None);
        while let Some(word) = words.next() {
            if let Some(modes) = word.strip_prefix(ALLOC_MODE) {
                for (device, option) in modes.split(',').filter_map(|mode| mode.split_once(':')) {
                    found.by_device.push((device.to_owned(), effect(option).into_iter().collect()));
                }
            } else if word == "-device_options" {
                only = words.next().map(str::to_owned);
            } else if matches!(word, "-options" | "-internal_options" | "-device") {
                only = None;
            } else {
                match &only {
                    Some(devices) => {
                        let own =
                            devices.split(',').map(|device| (device.to_owned(), effect(word).into_iter().collect()));
                        found.by_device.extend(own);
                    }
                    None => found.all.extend(effect(word)),
                }
            }
        }
        found
    }

    /// Returns the effects on code that is compiled of SPIR-V for a device.
    fn on(&self, device: &str) -> Effects {
        let short = device.strip_prefix("intel_gpu_").unwrap_or(device);
        let own = self.by_device.iter().filter(|(named, _)| {
            let named = named.replace('-', "_");
            short == named || short.strip_prefix(&named).is_some_and(|rest| rest.starts_with('_'))
        });
        self.all.iter().copied().chain(own.flat_map(|(_, effects)| effects.iter().copied())).collect()
    }

    /// Finds the first device on which the native code is compiled otherwise than this SPIR-V would be, as a finding.
    pub(crate) fn differ(&self, native: &CodeOptions) -> Option<Finding> {
        if self.native || !native.native {
            return None;
        }
        let (device, one, other) = native.by_device.iter().find_map(|(device, effects)| {
            let own = self.on(device);
            let differ = if native.partial { !effects.is_subset(&own) } else { own != *effects };
            differ.then(|| (device, listed(effects, &own), listed(&own, effects)))
        })?;
        let message = format!("Kernel is compiled for {device} with {one}; its SPIR-V is compiled with {other}.");
        let remedy = "give both the same options (-Xsycl-target-backend for spir64_gen and for spir64), or make the native \
                      code of the SPIR-V: sycl-bundle build";
        Some(Finding::new(RuleId::OptionsDiffer, false, message, remedy))
    }
}

/// Effects that the others lack, as a text.
fn listed(own: &Effects, other: &Effects) -> String {
    let names: Vec<&str> = own.difference(other).copied().collect();
    if names.is_empty() { "none of this".to_owned() } else { names.join(", ") }
}

/// Effects that native code was compiled with: as it records, and as its registers show.
fn of_part(part: &Part) -> Effects {
    let words = part.options.as_deref().unwrap_or_default().split_whitespace();
    let mut effects: Effects = words.filter_map(effect).collect();
    // Devices for which the compiler chooses by itself show no option.
    let fixed = !part.devices.iter().any(|device| CHOOSING.iter().any(|prefix| device.starts_with(prefix)));
    if fixed && !effects.contains(AUTO) && part.kernels.iter().any(|kernel| kernel.registers == Some(256)) {
        effects.insert(LARGE);
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::Kernel;

    fn native(options: &str, registers: u64, device: &str) -> CodeOptions {
        let kernel = Kernel { name: "k".to_owned(), registers: Some(registers), ..Kernel::default() };
        let options = Some(options.to_owned()).filter(|options| !options.is_empty());
        let partial = options.is_none();
        let part = Part { kernels: vec![kernel.into()], options, ..Part::new(Format::Zebin, 0) };
        let by_device = vec![(format!("intel_gpu_{device}"), of_part(&part))];
        CodeOptions { all: Effects::new(), by_device, native: true, partial }
    }

    fn spirv(options: &str) -> CodeOptions {
        CodeOptions::of_spirv(&Image { compile_options: options, ..Image::bare(&[], 0) })
    }

    /// The images of bitsandbytes 0.50.2 agree: their alloc mode is for pvc alone, and two spellings mean one thing.
    #[test]
    fn the_same_in_other_words_is_the_same() {
        let shipped = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode -device pvc,xe-lpg,ats-m150 \
                       -options -cl-intel-enable-auto-large-GRF-mode -cl-poison-unsupported-fp64-kernels";
        let recorded = "-cl-intel-enable-auto-large-GRF-mode -cl-poison-unsupported-fp64-kernels";
        assert_eq!(spirv(shipped).differ(&native(recorded, 256, "acm_g10")), None);
        assert_eq!(
            spirv(shipped).differ(&native(&format!("{recorded} -ze-intel-enable-auto-large-GRF-mode"), 128, "pvc")),
            None
        );
        assert_eq!(spirv("-g").differ(&native("-w", 128, "dg1")), None);
        let of_pvc = spirv("-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode");
        assert_eq!(of_pvc.differ(&native("", 128, "bmg_g21")), None);
        assert_eq!(of_pvc.differ(&native("-ze-intel-enable-auto-large-GRF-mode", 256, "pvc_vg")), None);
    }

    /// The case of vllm-xpu-kernels#348: `-internal_options -cl-intel-256-GRF-per-thread` for native code alone.
    #[test]
    fn what_only_one_of_them_has_is_told() {
        let message = |spirv: CodeOptions, native: CodeOptions| spirv.differ(&native).map(|finding| finding.message);
        let large = message(spirv(""), native("", 256, "bmg_g21")).expect("they differ");
        assert!(large.contains("for intel_gpu_bmg_g21 with 256 registers; its SPIR-V is compiled with none of this"));
        let math = message(spirv("-cl-fast-relaxed-math"), native("-cl-mad-enable", 128, "pvc")).expect("they differ");
        assert!(math.contains("with multiply-add; its SPIR-V is compiled with relaxed math"), "{math}");
        assert_eq!(message(native("", 256, "pvc"), native("", 128, "pvc")), None, "neither is SPIR-V");
        assert_eq!(message(spirv("-cl-mad-enable"), native("", 128, "pvc")), None, "it may not say so");
        let named = spirv("-device_options bmg-g21,pvc -cl-mad-enable -options -cl-finite-math-only");
        assert_eq!(message(named.clone(), native("-cl-mad-enable -cl-finite-math-only", 128, "pvc")), None);
        assert!(message(named, native("-cl-mad-enable -cl-finite-math-only", 128, "dg1")).is_some());
    }
}
