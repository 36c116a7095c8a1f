//! Which facts of an image can a predicate test?
//!
//! Their names are those of `inspect --format json`.

use crate::bytes::hex;
use crate::compat::aspects::shown;
use crate::compat::examine::Examined;
use crate::spirv::grammar;
use std::borrow::Cow;

/// Fact that a predicate names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Number or size in bytes.
    Number(Number),
    /// Texts, any of which may match. Compared with a number, it is the number of texts.
    Text(Text),
}

/// Numeric facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Index of the image.
    Index,
    /// Size of the inflated payload in bytes.
    Size,
    /// Size of the stored payload in bytes.
    StoredSize,
    /// File offset of the payload.
    Offset,
    /// Required sub-group size, if there is one.
    SubGroupSize,
    /// Number of work-items of the required work-group size, if there is one.
    WorkGroupSize,
}

/// Textual facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// State: input, object, executable.
    State,
    /// Format of the payload.
    Format,
    /// Target.
    Target,
    /// Target of the device configuration that the image was compiled for.
    CompileTarget,
    /// Instruction set of native CPU code.
    March,
    /// Compression of the payload.
    Compression,
    /// Hash of the payload.
    Blake3,
    /// Options for the device compiler.
    CompileOptions,
    /// Options for the device linker.
    LinkOptions,
    /// Kernels, by mangled and by demangled name.
    Kernels,
    /// Exported symbols, mangled and demangled.
    Exports,
    /// Imported symbols, mangled and demangled.
    Imports,
    /// Aspects that the compiler recorded or that the module uses.
    Aspects,
    /// Capabilities of a SPIR-V module.
    Capabilities,
    /// Extensions of a SPIR-V module.
    Extensions,
    /// Names of property sets.
    Properties,
    /// Problem of the payload.
    Problem,
}

/// All fields by name.
pub const FIELDS: [(&str, Field); 23] = [
    ("aspects", Field::Text(Text::Aspects)),
    ("blake3", Field::Text(Text::Blake3)),
    ("capabilities", Field::Text(Text::Capabilities)),
    ("compile_options", Field::Text(Text::CompileOptions)),
    ("compile_target", Field::Text(Text::CompileTarget)),
    ("compression", Field::Text(Text::Compression)),
    ("exports", Field::Text(Text::Exports)),
    ("extensions", Field::Text(Text::Extensions)),
    ("format", Field::Text(Text::Format)),
    ("imports", Field::Text(Text::Imports)),
    ("index", Field::Number(Number::Index)),
    ("kernels", Field::Text(Text::Kernels)),
    ("link_options", Field::Text(Text::LinkOptions)),
    ("march", Field::Text(Text::March)),
    ("offset", Field::Number(Number::Offset)),
    ("problem", Field::Text(Text::Problem)),
    ("properties", Field::Text(Text::Properties)),
    ("reqd_sub_group_size", Field::Number(Number::SubGroupSize)),
    ("reqd_work_group_size", Field::Number(Number::WorkGroupSize)),
    ("size", Field::Number(Number::Size)),
    ("state", Field::Text(Text::State)),
    ("stored_size", Field::Number(Number::StoredSize)),
    ("target", Field::Text(Text::Target)),
];

impl Number {
    /// Returns the value for an image, if it has one.
    pub(super) fn value(self, examined: &Examined<'_, '_>) -> Option<u64> {
        let image = examined.image;
        match self {
            Number::Index => u64::try_from(image.index).ok(),
            Number::Size => Some(examined.size),
            Number::StoredSize => u64::try_from(image.stored.len()).ok(),
            Number::Offset => Some(image.offset),
            Number::SubGroupSize => examined.requirements.reqd_sub_group_sizes.first().copied().map(u64::from),
            Number::WorkGroupSize => {
                let sizes = examined.requirements.reqd_work_group_size()?;
                Some(sizes.iter().fold(1, |product: u64, size| product.saturating_mul(*size)))
            }
        }
    }
}

impl Text {
    /// Returns the texts of an image, without empty ones.
    pub(super) fn values<'t>(self, examined: &'t Examined<'_, '_>) -> Vec<Cow<'t, str>> {
        let image = examined.image;
        let all: Vec<Cow<'t, str>> = match self {
            Text::State => vec![examined.state.name().into()],
            Text::Format => vec![examined.format.name().into()],
            Text::Target => vec![image.target.into()],
            Text::CompileTarget => image.compile_target().map(Cow::Borrowed).into_iter().collect(),
            Text::March => examined.march.map(|march| march.name().into()).into_iter().collect(),
            Text::Compression => image.compression().map(|kind| kind.name().into()).into_iter().collect(),
            Text::Blake3 => vec![hex(&examined.blake3).into()],
            Text::CompileOptions => vec![image.compile_options.into()],
            Text::LinkOptions => vec![image.link_options.into()],
            Text::Kernels => borrowed(&examined.kernels),
            Text::Exports => borrowed(&examined.exports),
            Text::Imports => borrowed(&examined.imports),
            Text::Aspects => {
                let mut aspects: Vec<&str> = aspects(examined).collect();
                aspects.sort_unstable();
                aspects.dedup();
                aspects.into_iter().map(Cow::Borrowed).collect()
            }
            Text::Capabilities => {
                let all = examined.module.iter().flat_map(|module| &module.capabilities);
                all.map(|number| grammar::capability_name(*number)).collect()
            }
            Text::Extensions => borrowed(examined.module.as_ref().map_or(&[], |module| &module.extensions)),
            Text::Properties => image.properties.sets.iter().map(|set| set.name.into()).collect(),
            Text::Problem => examined.problem.iter().map(|problem| problem.to_string().into()).collect(),
        };
        all.into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// Whether the field may have several texts.
    pub(super) fn is_list(self) -> bool {
        self.is_symbols() || matches!(self, Text::Aspects | Text::Capabilities | Text::Extensions | Text::Properties)
    }

    /// Whether the texts are symbols, which also match by their demangled names.
    pub(super) fn is_symbols(self) -> bool {
        matches!(self, Text::Kernels | Text::Exports | Text::Imports)
    }
}

/// Returns the aspects that the compiler recorded for an image and those that its code uses, with repetitions.
pub(super) fn aspects<'e>(examined: &'e Examined<'_, '_>) -> impl Iterator<Item = &'e str> {
    let recorded = examined.requirements.aspects.iter().map(String::as_str);
    recorded.chain(shown(examined))
}

fn borrowed(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}
