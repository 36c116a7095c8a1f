//! Which property sets are there, and what does every verb do with each?
//!
//! One table: a set is a row, with at most one function that decodes its properties. Sets that have no row are treated as
//! [`OTHER`] says. `src/docs/adding_a_property_set.md` tells what belongs to a new one. Meanings are those of DPC++
//! (`PropertySets.md`, `SYCLDeviceRequirements.cpp`, `ComputeModuleRuntimeInfo.cpp`).

use super::aspect::{self, Epoch};
use super::property::{Properties, Property, Value};
use super::requirements::FIXED_TARGET_NAMES;
use super::spec_constants::{SpecConstant, laid_out, leaves};
use crate::bytes::{self, hex};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Property set with all that depends on which one it is.
#[derive(Debug, Clone, Copy)]
pub struct KnownSet {
    /// Name, as stored.
    pub name: &'static str,
    /// Meaning of the set, in words.
    pub meaning: &'static str,
    /// Subject of its properties.
    pub about: About,
    /// Decodes a property; none where its meaning is not known or is just its number.
    pub decode: Decode,
    /// Treatment by `link`.
    pub merge: Merge,
    /// Treatment by `split`.
    pub share: Share,
    /// Treatment by `diff`.
    pub compare: Compare,
    /// Source of the set where an image without property sets gets some; none for those that only a compiler knows.
    pub write: Option<Write>,
    /// Whether images that have it and the same code can be merged into one (`--fold-clones`).
    pub foldable: bool,
}

/// Function that decodes a property, given all properties of the image and its numbering of aspects.
pub type Decode = fn(&Properties<'_>, &Property<'_>, Epoch) -> Option<Decoded>;

/// Subject of the properties of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Whole image, or a subject that has no other treatment.
    Image,
    /// Kernel with the property's name.
    Kernel,
    /// Kernel with the property's name, or a function: DPC++ removes unused arguments of these too.
    KernelOrFunction,
    /// Kernel that the value names.
    KernelInValue,
    /// Kernel before the `@` of the property's name; of `global_id_mapping` the device global that the value names.
    KernelBeforeKey,
    /// Symbol that the image imports.
    Import,
    /// Device global, by its unique name.
    DeviceGlobal,
}

/// Treatment of a set by `link`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The properties of all images; values of one name must agree.
    Union,
    /// Like [`Merge::Union`], and what one image with kernels has the others must have: it holds for all kernels.
    Agreement,
    /// Like [`Merge::Union`] where all images have the set; otherwise nothing.
    InAllOnly,
    /// Aspects and matrix shapes are united, all else must agree.
    Requirements,
    /// Symbols that the linked module still exports.
    Exports,
    /// Symbols that the linked module still imports.
    Imports,
    /// Specialization constants under new numbers.
    Constants,
    /// Values of [`Merge::Constants`].
    Defaults,
    /// Sets of virtual functions that stay open.
    VirtualFunctions,
    /// Aspects by kernel that its image requires and its code does not show.
    KernelAspects,
}

/// Treatment of a set by `split`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Properties go to the images that have their subject; a set that has none left is dropped.
    BySubject,
    /// Like [`Share::BySubject`], but all images have the set: without properties it has a meaning.
    EvenIfEmpty,
    /// Like [`Share::BySubject`], for images of several kernels; the requirements of one hold it.
    SeveralKernels,
    /// Rewritten from code, first of all sets.
    Requirements,
    /// Rewritten from the symbols that are left.
    Exports,
    /// Constants that are left, with their defaults behind them.
    Constants,
    /// Written with [`Share::Constants`].
    Defaults,
}

/// Treatment of a set by `diff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// One by one: those of a kernel with the kernel, others by their names.
    Each,
    /// With the image that has kernels: a few properties of the whole image.
    WithImage,
    /// Not at all: the facts of kernels tell what is in the set.
    InFacts,
    /// One by one in native code. Of a module's kernels the facts tell what is in the set.
    InFactsOfModules,
}

impl Compare {
    /// Whether the facts of kernels tell of the set, given whether the image has a module that does.
    pub(crate) fn is_in_facts(self, has_module: bool) -> bool {
        match self {
            Compare::Each | Compare::WithImage => false,
            Compare::InFacts => true,
            Compare::InFactsOfModules => has_module,
        }
    }
}

/// Facts that a set is written from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Requirements of the code.
    Requirements,
    /// Names of exported functions.
    Exports,
    /// Names of kernels.
    KernelNames,
    /// Names of imported functions.
    Imports,
    /// Sizes that kernels require.
    ProgramMetadata,
}

/// Treatment of sets without a row.
pub const OTHER: KnownSet = KnownSet {
    name: "",
    meaning: "",
    about: About::Image,
    decode: |_, _, _| None,
    merge: Merge::Union,
    share: Share::BySubject,
    compare: Compare::Each,
    write: None,
    foldable: true,
};

/// Makes the constants of names, and the table: columns that a row does not name are those of [`OTHER`].
macro_rules! property_sets {
    ($($id:ident $name:literal $meaning:literal { $($column:ident: $value:expr),* $(,)? })*) => {
        /// Names of property sets.
        pub mod set {
            $(#[doc = concat!($meaning, ".")] pub const $id: &str = $name;)*
        }

        /// All known property sets; those that are written stand in DPC++'s order.
        pub const PROPERTY_SETS: &[KnownSet] =
            &[$(KnownSet { name: $name, meaning: $meaning, $($column: $value,)* ..OTHER }),*];
    };
}

property_sets! {
    REQUIREMENTS "SYCL/device requirements" "Requirements on the device" {
        decode: requirement,
        merge: Merge::Requirements,
        share: Share::Requirements,
        compare: Compare::WithImage,
        write: Some(Write::Requirements),
    }
    EXPORTED "SYCL/exported symbols" "Symbols that other images may import" {
        merge: Merge::Exports,
        share: Share::Exports,
        write: Some(Write::Exports),
        foldable: false,
    }
    KERNEL_NAMES "SYCL/kernel names" "Kernels of an image without entries, such as one of a SYCLBIN" {
        about: About::Kernel,
        compare: Compare::InFacts,
        write: Some(Write::KernelNames),
    }
    IMPORTED "SYCL/imported symbols" "Symbols that other images must define" {
        about: About::Import,
        merge: Merge::Imports,
        compare: Compare::WithImage,
        write: Some(Write::Imports),
        foldable: false,
    }
    PROGRAM_METADATA "SYCL/program metadata" "Facts of kernels that the runtime cannot query from a native image" {
        about: About::KernelBeforeKey,
        decode: program_metadata,
        compare: Compare::InFactsOfModules,
        write: Some(Write::ProgramMetadata),
    }
    PARAM_OPT "SYCL/kernel param opt" "Eliminated kernel arguments" {
        about: About::KernelOrFunction,
        decode: eliminated_arguments,
        share: Share::EvenIfEmpty,
    }
    SPEC_CONSTANTS "SYCL/specialization constants" "Specialization constants with the layout of their values" {
        decode: |_, property, _| leaves(property).map(Decoded::SpecConstant),
        merge: Merge::Constants,
        share: Share::Constants,
        compare: Compare::InFactsOfModules,
        foldable: false,
    }
    SPEC_DEFAULTS "SYCL/specialization constants default values"
        "Defaults of the specialization constants, one after another" {
        decode: constant_values,
        merge: Merge::Defaults,
        compare: Compare::WithImage,
        share: Share::Defaults,
    }
    SPEC_VALUES "SYCL/specialization constants set values"
        "Values that the specialization constants were given, laid out like the defaults (libsycl from 2026.2)" {
        decode: constant_values,
    }
    KERNEL_PACKAGE "ROCm/kernel package" "Where code stands in a kernel package of ROCm" {
        decode: text,
        compare: Compare::WithImage,
    }
    MISC "SYCL/misc properties" "Flags of the whole image" {
        decode: flag_of_image,
        merge: Merge::Agreement,
        compare: Compare::WithImage,
    }
    DEVICE_GLOBALS "SYCL/device globals" "Device globals, with their size and whether each image has its own" {
        about: About::DeviceGlobal,
        decode: device_global,
        foldable: false,
    }
    VIRTUAL_FUNCTIONS "SYCL/virtual functions" "Virtual function sets that are defined or used" {
        decode: virtual_functions,
        merge: Merge::VirtualFunctions,
        compare: Compare::WithImage,
        foldable: false,
    }
    DEVICELIB "SYCL/devicelib metadata" "Mark of images of the device library" {
        decode: bfloat16_library,
        merge: Merge::InAllOnly,
        compare: Compare::WithImage,
        foldable: false,
    }
    DEVICELIB_MASK "SYCL/devicelib req mask" "Libraries that the image needs as a fallback (before 2026)" {
        decode: fallback_libraries,
        compare: Compare::WithImage,
    }
    HOST_PIPES "SYCL/host pipes" "Pipes to the host, with the size of what they carry (FPGA)" {
        decode: |_, property, _| property.value.words()?.first().map(|&size| Decoded::Number(size.into())),
    }
    REGISTERED_KERNELS "SYCL/registered kernels" "Names under which kernels are registered, with their mangled names" {
        about: About::KernelInValue,
        decode: text,
    }
    ASSERT_USED "SYCL/assert used" "Kernels that use assertions" { about: About::Kernel }
    MALLOC_USED "SYCL/malloc used" "Kernels that allocate memory on the device" { about: About::Kernel }
    IMPLICIT_LOCAL "SYCL/implicit local arg" "Kernels with an argument for local memory, by its position" {
        about: About::Kernel,
    }
    DYNAMIC_LOCAL "SYCL/work group dynamic local mem" "Kernels that take local memory of a size known at launch" {
        about: About::Kernel,
    }
    KERNEL_ASPECTS "sycl-bundle/kernel aspects"
        "Aspects, by kernel, that its image required before it was linked with others and that its code does not show. \
         The set is this tool's own: `link` writes it, `split` reads it, the runtime ignores it" {
        about: About::Kernel,
        decode: aspects,
        merge: Merge::KernelAspects,
        share: Share::SeveralKernels,
        compare: Compare::InFacts,
    }
}

/// Names of properties that several modules use.
pub mod key {
    /// The required aspects, as DPC++ writes it and as its design document does.
    pub const ASPECTS: [&str; 2] = ["aspects", "aspect"];
    /// Target of the device configuration that an image was compiled for; in [`set::REQUIREMENTS`](super::set).
    pub const COMPILE_TARGET: &str = "compile_target";
    /// Path of the file that code was taken out of; in [`set::KERNEL_PACKAGE`](super::set).
    pub const HOST_FILE: &str = "host_file";
    /// Marks that all specialization constants are fixed to their defaults; in [`set::MISC`](super::set).
    pub const SPEC_REPLACED: &str = "specConstsReplacedWithDefault";
    /// Number of registers of a hardware thread, 0 for the compiler to choose; in [`set::MISC`](super::set).
    pub const REGISTERS: &str = "sycl-grf-size";
    /// Marks explicit SIMD code; in [`set::MISC`](super::set).
    pub const ESIMD: &str = "isEsimdImage";
    /// Set of virtual functions that an image defines; in [`set::VIRTUAL_FUNCTIONS`](super::set).
    pub const DEFINED_FUNCTIONS: &str = "virtual-functions-set";
    /// Sets of virtual functions that an image calls; in [`set::VIRTUAL_FUNCTIONS`](super::set).
    pub const CALLED_FUNCTIONS: &str = "uses-virtual-functions-set";
    /// Form of the device library: 0 for every device, 1 for devices with such numbers; in [`set::DEVICELIB`](super::set).
    pub const BFLOAT16: &str = "bfloat16";
}

impl KnownSet {
    /// Returns the row of a set.
    pub fn find(name: &str) -> &'static KnownSet {
        PROPERTY_SETS.iter().find(|set| set.name == name).unwrap_or(&OTHER)
    }

    /// Returns the mangled name of the kernel that a property is about, or none where it is about the image, a symbol or
    /// a constant.
    pub fn kernel_of<'a>(&self, property: &Property<'a>) -> Option<&'a str> {
        match self.about {
            About::Kernel | About::KernelOrFunction => Some(property.name),
            About::KernelInValue => property.value.text(),
            About::KernelBeforeKey => {
                property.name.rsplit_once('@').filter(|(_, key)| *key != GLOBAL_ID).map(|(kernel, _)| kernel)
            }
            About::Image | About::Import | About::DeviceGlobal => None,
        }
    }
}

/// Key of the symbol that a device global has, behind its unique name and `@`; in [`set::PROGRAM_METADATA`].
pub const GLOBAL_ID: &str = "global_id_mapping";

/// Decodes a property of a set. None where its meaning is not known or is just its number.
pub fn decode(all: &Properties<'_>, set_name: &str, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    (KnownSet::find(set_name).decode)(all, property, epoch)
}

/// Decoded value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Decoded {
    /// Number.
    Number(u64),
    /// Numbers, as stored.
    Numbers(Vec<u64>),
    /// Boolean.
    Flag(bool),
    /// Text.
    Text(String),
    /// Names.
    Names(Vec<String>),
    /// The arguments of the source that the compiler removed.
    Arguments {
        /// Number of arguments in the source.
        #[serde(rename = "arguments")]
        count: u64,
        /// Positions of the removed ones.
        eliminated: Vec<u64>,
    },
    /// Parts of a specialization constant.
    SpecConstant(Vec<SpecConstant>),
    /// Values of specialization constants as hexadecimal bytes, by name, in the order of the set.
    Defaults(
        #[serde(serialize_with = "as_object")]
        #[schemars(with = "BTreeMap<String, String>")]
        Vec<(String, String)>,
    ),
    /// Device global.
    DeviceGlobal {
        /// Size in bytes.
        size: u32,
        /// Whether each image has its own copy (`device_image_scope`).
        image_scope: bool,
    },
}

/// Serialises names and values as an object.
fn as_object<S: Serializer>(values: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

fn text(_: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    property.value.text().map(|text| Decoded::Text(text.to_owned()))
}

fn words(property: &Property<'_>) -> Option<Decoded> {
    property.value.words().map(|words| Decoded::Numbers(words.into_iter().map(u64::from).collect()))
}

fn names(property: &Property<'_>, separator: char) -> Option<Decoded> {
    let text = property.value.text()?;
    Some(Decoded::Names(text.split(separator).filter(|part| !part.is_empty()).map(str::to_owned).collect()))
}

/// Decodes a number that stands for a word: the one at its place.
fn word_of(property: &Property<'_>, words: &[&str]) -> Option<Decoded> {
    let at = usize::try_from(property.value.number()?).ok()?;
    words.get(at).filter(|word| !word.is_empty()).map(|word| Decoded::Text((*word).to_owned()))
}

fn aspects(_: &Properties<'_>, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    let numbers = property.value.words()?.into_iter();
    Some(Decoded::Names(numbers.map(|number| aspect::label(epoch, number)).collect()))
}

fn requirement(all: &Properties<'_>, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    match property.name {
        "aspects" | "aspect" => aspects(all, property, epoch),
        "reqd_work_group_size_uint64_t" => property.value.double_words().map(Decoded::Numbers),
        "reqd_work_group_size" | "fixed_target" => words(property),
        FIXED_TARGET_NAMES => names(property, ','),
        "joint_matrix" | "joint_matrix_mad" => names(property, ';'),
        key::COMPILE_TARGET => text(all, property, epoch),
        _ => None,
    }
}

fn program_metadata(all: &Properties<'_>, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    match property.name.rsplit_once('@')?.1 {
        "reqd_work_group_size" | "max_work_group_size" => words(property),
        "max_linear_work_group_size" => property.value.double_words()?.first().copied().map(Decoded::Number),
        GLOBAL_ID => text(all, property, epoch),
        _ => None,
    }
}

fn flag_of_image(all: &Properties<'_>, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    match property.name {
        "sanUsed" => text(all, property, epoch),
        key::ESIMD | key::SPEC_REPLACED | "asanUsed" => {
            property.value.number().map(|number| Decoded::Flag(number != 0))
        }
        key::REGISTERS => word_of(property, &["automatic"]),
        "sycl-register-alloc-mode" => word_of(property, &["automatic", "", "large"]),
        _ => None,
    }
}

fn device_global(_: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    match property.value.words()?.as_slice() {
        &[size, scope, ..] => Some(Decoded::DeviceGlobal { size, image_scope: scope != 0 }),
        _ => None,
    }
}

fn virtual_functions(all: &Properties<'_>, property: &Property<'_>, epoch: Epoch) -> Option<Decoded> {
    if property.name == key::CALLED_FUNCTIONS { names(property, ',') } else { text(all, property, epoch) }
}

fn bfloat16_library(_: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    if property.name == key::BFLOAT16 { word_of(property, &["fallback", "native"]) } else { None }
}

/// Returns the number of arguments in the source by a mask of so many bits, where a kernel has `own` left; none where the mask is not
/// the kernel's. The compiler that libsycl has for run time fills masks up to whole bytes.
pub(crate) fn arguments_of_source(count: u64, eliminated: &[u64], own: u64) -> Option<u64> {
    let padding = count.checked_sub(eliminated.len() as u64)?.checked_sub(own)?;
    let real = count.checked_sub(padding)?;
    let is_filled = || count.is_multiple_of(8) && padding < 8 && eliminated.iter().all(|at| *at < real);
    (padding == 0 || is_filled()).then_some(real)
}

/// Decodes a bit array: bit i, lowest first, is set if argument i of the source was removed.
fn eliminated_arguments(_: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    let Value::Bytes(raw) = property.value else { return None };
    let payload = property.value.payload()?;
    let stored = (payload.len() as u64).saturating_mul(8);
    let count = bytes::u64_at(raw, 0)?.min(stored);
    let bit = |at: u64| {
        let byte = usize::try_from(at / 8).ok().and_then(|at| payload.get(at)).copied().unwrap_or(0);
        byte >> (at % 8) & 1 == 1
    };
    Some(Decoded::Arguments { count, eliminated: (0..count).filter(|&at| bit(at)).collect() })
}

/// Decodes the values of constants, or none where the blob is too short.
fn constant_values(all: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    let blob = property.value.payload().filter(|_| property.name == "all")?;
    let constants = laid_out(all, Some(blob));
    let found = constants.iter().map(|one| Some((one.name.to_owned(), hex(one.default?))));
    found.collect::<Option<Vec<_>>>().filter(|found| !found.is_empty()).map(Decoded::Defaults)
}

/// Decodes a mask whose bit n stands for the n-th fallback library (`DeviceLibFuncMap`).
fn fallback_libraries(_: &Properties<'_>, property: &Property<'_>, _: Epoch) -> Option<Decoded> {
    const NAMES: &str = "assert math math_fp64 complex complex_fp64 cstring imf imf_fp64 imf_bf16 bfloat16";
    let mask = property.value.number()?;
    let set = NAMES.split(' ').enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    Some(Decoded::Names(set.map(|(_, name)| name.to_owned()).collect()))
}

impl fmt::Display for Decoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Decoded::Number(number) => write!(out, "{number}"),
            Decoded::Numbers(numbers) => out.write_str(&list(numbers)),
            Decoded::Flag(flag) => out.write_str(if *flag { "yes" } else { "no" }),
            Decoded::Text(text) => out.write_str(text),
            Decoded::Names(names) if names.is_empty() => out.write_str("none"),
            Decoded::Names(names) => out.write_str(&names.join(", ")),
            Decoded::Arguments { count, eliminated } => {
                // Some compilers fill the mask up to whole bytes.
                let most = if count.is_multiple_of(8) { "at most " } else { "" };
                let removed =
                    if eliminated.is_empty() { "none removed" } else { &format!("removed {}", list(eliminated)) };
                write!(out, "{most}{count} arguments, {removed}")
            }
            Decoded::SpecConstant(parts) => {
                let part =
                    |part: &SpecConstant| format!("id {}: {} bytes at offset {}", part.id, part.size, part.offset);
                out.write_str(&parts.iter().map(part).collect::<Vec<_>>().join("; "))
            }
            Decoded::Defaults(values) => {
                let texts: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                out.write_str(&texts.join("; "))
            }
            Decoded::DeviceGlobal { size, image_scope } => {
                write!(out, "{size} bytes, {}", if *image_scope { "one per image" } else { "shared by images" })
            }
        }
    }
}

/// Returns the text of a property: its decoded value where there is one, or else its number or bytes.
pub fn describe(decoded: Option<Decoded>, value: Value<'_>) -> String {
    match (decoded, value) {
        (Some(decoded), _) => decoded.to_string(),
        (None, Value::U32(number)) => number.to_string(),
        (None, value) => describe_stored(&value, usize::MAX),
    }
}

/// Returns a value as it is stored, with at most `most` bytes.
pub fn describe_stored(value: &Value<'_>, most: usize) -> String {
    let bytes = match *value {
        Value::U32(number) => return format!("u32 {number}"),
        Value::Bytes(bytes) | Value::Text(bytes) | Value::Unknown { bytes, .. } => bytes,
    };
    let head = hex(bytes.get(..bytes.len().min(most)).unwrap_or_default());
    let more = if bytes.len() > most { "..." } else { "" };
    format!("{} of {}: {head}{more}", value.type_name(), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::property::PropertySet;

    #[test]
    fn every_set_has_one_row() {
        let names: std::collections::BTreeSet<&str> = PROPERTY_SETS.iter().map(|set| set.name).collect();
        assert_eq!(names.len(), PROPERTY_SETS.len());
        assert!(PROPERTY_SETS.iter().all(|set| !set.meaning.is_empty() && KnownSet::find(set.name).name == set.name));
        let written: Vec<Write> = PROPERTY_SETS.iter().filter_map(|set| set.write).collect();
        use Write::{Exports, Imports, KernelNames, ProgramMetadata, Requirements};
        assert_eq!(written, [Requirements, Exports, KernelNames, Imports, ProgramMetadata]);
    }

    #[test]
    fn kernels_are_found_by_set() {
        let of = |set, name| KnownSet::find(set).kernel_of(&Property { name, value: Value::Text(b"k") });
        assert_eq!(of("SYCL/assert used", "foo"), Some("foo"));
        assert_eq!(of("SYCL/registered kernels", "short"), Some("k"));
        assert_eq!(of(set::PROGRAM_METADATA, "foo@reqd_work_group_size"), Some("foo"));
        assert_eq!(of(set::PROGRAM_METADATA, "uid@global_id_mapping"), None);
        assert_eq!(of(set::MISC, "optLevel"), None);
    }

    fn array(bits: u64, payload: &[u8]) -> Vec<u8> {
        [&bits.to_le_bytes()[..], payload].concat()
    }

    fn one(set: &str, name: &str, value: Value<'_>) -> Option<Decoded> {
        decode(&Properties::default(), set, &Property { name, value }, Epoch::From2026)
    }

    #[test]
    fn aspects_and_arguments() {
        let raw = array(64, &[6, 0, 0, 0, 27, 0, 0, 0]);
        let names = Decoded::Names(vec!["fp64".to_owned(), "atomic64".to_owned()]);
        assert_eq!(one(set::REQUIREMENTS, "aspects", Value::Bytes(&raw)), Some(names));
        let raw = array(11, &[0xc0, 0x04]);
        let arguments = Decoded::Arguments { count: 11, eliminated: vec![6, 7, 10] };
        assert_eq!(one(set::PARAM_OPT, "_ZTS1k", Value::Bytes(&raw)), Some(arguments));
        // A forged length asks for no more bits than there are.
        let raw = array(u64::MAX, &[1]);
        let arguments = Decoded::Arguments { count: 8, eliminated: vec![0] };
        assert_eq!(one(set::PARAM_OPT, "_ZTS1k", Value::Bytes(&raw)), Some(arguments));
    }

    #[test]
    fn masks_may_be_filled_up() {
        for (count, eliminated, own, expected) in [
            (3, &[1][..], 2, Some(3)),
            (3, &[1], 1, None),
            (3, &[], 4, None),
            (8, &[], 1, Some(1)),
            (8, &[1], 2, Some(3)),
            (8, &[7], 1, None),
            (16, &[], 9, Some(9)),
            (16, &[], 8, None),
            (u64::MAX, &[], 1, None),
        ] {
            assert_eq!(arguments_of_source(count, eliminated, own), expected, "{count} {eliminated:?} {own}");
        }
    }

    #[test]
    fn specialization_constants_with_their_defaults() {
        let tuple = |id: u32, offset: u32, size: u32| [id, offset, size].map(u32::to_le_bytes).concat();
        let (first, second) = (array(192, &[tuple(0, 0, 4), tuple(1, 4, 8)].concat()), array(96, &tuple(2, 0, 2)));
        let blob = array(112, &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
        let property = |name, raw| Property { name, value: Value::Bytes(raw) };
        let sets = vec![PropertySet {
            name: set::SPEC_CONSTANTS,
            properties: vec![property("a", &first), property("b", &second)],
        }];
        let all = Properties { sets };
        let decoded =
            decode(&all, "SYCL/specialization constants default values", &property("all", &blob), Epoch::From2026);
        let expected = [("a", "010000000200000000000000"), ("b", "0708")];
        assert_eq!(
            decoded,
            Some(Decoded::Defaults(expected.map(|(name, hex)| (name.to_owned(), hex.to_owned())).to_vec()))
        );
        let parts = one(set::SPEC_CONSTANTS, "b", Value::Bytes(&second));
        assert_eq!(parts, Some(Decoded::SpecConstant(vec![SpecConstant { id: 2, offset: 0, size: 2 }])));
    }

    #[test]
    fn what_is_not_known_stays_raw() {
        assert_eq!(one("SYCL/new set", "x", Value::U32(1)), None);
        assert_eq!(one(set::MISC, "optLevel", Value::U32(2)), None);
        assert_eq!(one(set::MISC, "isEsimdImage", Value::U32(1)), Some(Decoded::Flag(true)));
        assert_eq!(one(set::REQUIREMENTS, "aspects", Value::U32(1)), None);
    }
}
