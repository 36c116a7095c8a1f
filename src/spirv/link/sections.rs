//! In which order are the sections of the result written?
//!
//! The order is that of the specification, section 2.4; each section is collected on its own.

use super::input::{InputModule, first_word};
use crate::error::{Error, Result};
use crate::spirv::lacking::{CPP, source_version};
use crate::spirv::op;
use crate::spirv::words::MAGIC;
use rspirv::spirv::Op;
use std::collections::HashSet;

/// Section of an instruction of module scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Capabilities, extensions, memory model, entry points and their modes: written from the index.
    Preamble,
    /// Imports of extended instruction sets.
    Import,
    /// Strings and sources.
    Source,
    /// Processing records (`OpModuleProcessed`).
    Processed,
    /// Names.
    Name,
    /// Decorations.
    Annotation,
    /// Aliasing scopes, which come before the decorations that refer to them.
    Alias,
    /// Types, constants, variables, and debug information.
    Global,
}

macro_rules! numbers {
    ($($name:ident = $op:ident,)*) => { $(pub(crate) const $name: u16 = Op::$op as u16;)* };
}

numbers! {
    MEMBER_NAME = MemberName,
    MEMBER_DECORATE = MemberDecorate,
    MEMBER_DECORATE_STRING = MemberDecorateString,
    GROUP_MEMBER_DECORATE = GroupMemberDecorate,
    SOURCE = Source,
    SOURCE_CONTINUED = SourceContinued,
    SOURCE_EXTENSION = SourceExtension,
    MODULE_PROCESSED = ModuleProcessed,
    ALIAS_DOMAIN = AliasDomainDeclINTEL,
    ALIAS_SCOPE = AliasScopeDeclINTEL,
    ALIAS_LIST = AliasScopeListDeclINTEL,
    BITCAST = Bitcast,
}

/// Returns the section of an instruction of module scope.
pub(crate) fn kind(opcode: u16) -> Kind {
    use crate::spirv::op;
    match opcode {
        op::CAPABILITY
        | op::EXTENSION
        | op::MEMORY_MODEL
        | op::ENTRY_POINT
        | op::EXECUTION_MODE
        | op::EXECUTION_MODE_ID => Kind::Preamble,
        op::EXT_INST_IMPORT => Kind::Import,
        op::STRING | SOURCE | SOURCE_CONTINUED | SOURCE_EXTENSION => Kind::Source,
        MODULE_PROCESSED => Kind::Processed,
        op::NAME | MEMBER_NAME => Kind::Name,
        ALIAS_DOMAIN | ALIAS_SCOPE | ALIAS_LIST => Kind::Alias,
        op::DECORATE
        | op::DECORATE_ID
        | op::DECORATE_STRING
        | op::DECORATION_GROUP
        | op::GROUP_DECORATE
        | MEMBER_DECORATE
        | MEMBER_DECORATE_STRING
        | GROUP_MEMBER_DECORATE => Kind::Annotation,
        _ => Kind::Global,
    }
}

/// Sections of the result, in words.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    /// Capabilities, extensions.
    capabilities: Vec<u32>,
    extensions: Vec<u32>,
    /// Sets of extended instructions.
    pub(crate) imports: Vec<u32>,
    memory_model: Vec<u32>,
    /// Entry points.
    pub(crate) entry_points: Vec<u32>,
    /// Execution modes.
    pub(crate) modes: Vec<u32>,
    /// Strings and sources.
    pub(crate) sources: Vec<u32>,
    /// Names.
    pub(crate) names: Vec<u32>,
    /// Processing records.
    pub(crate) processed: Vec<u32>,
    /// Scopes of aliasing.
    pub(crate) aliases: Vec<u32>,
    /// Decorations.
    pub(crate) annotations: Vec<u32>,
    /// Types, constants, variables.
    pub(crate) globals: Vec<u32>,
    /// Declarations of functions.
    pub(crate) declarations: Vec<u32>,
    /// Definitions of functions.
    pub(crate) definitions: Vec<u32>,
}

impl Sections {
    /// Writes the capabilities and extensions of all modules, each once, and the common memory model.
    ///
    /// # Errors
    /// `Input` where modules have different memory models.
    pub(crate) fn preamble(&mut self, parts: &[InputModule<'_>]) -> Result<()> {
        use crate::spirv::op;
        let mut model: Option<(Vec<u32>, &str)> = None;
        let mut capabilities = HashSet::new();
        let mut extensions = HashSet::new();
        for part in parts {
            for (at, instruction) in part.index.instructions(0..part.functions_begin) {
                let words = || (0..instruction.len()).map(|word| instruction.word(word));
                let first = first_word(instruction.opcode, instruction.len());
                match instruction.opcode {
                    op::CAPABILITY if capabilities.insert(instruction.word(0)) => {
                        self.capabilities.push(first);
                        self.capabilities.extend(words());
                    }
                    op::EXTENSION if extensions.insert(instruction.string(0).0) => {
                        self.extensions.push(first);
                        self.extensions.extend(words());
                    }
                    op::MEMORY_MODEL => {
                        let mine: Vec<u32> = words().collect();
                        match &model {
                            None => {
                                self.memory_model.push(first);
                                self.memory_model.extend(&mine);
                                model = Some((mine, part.name));
                            }
                            Some((known, other)) if *known != mine => {
                                let message = format!(
                                    "the memory model is {}, that of {other} is {}",
                                    model_name(&mine),
                                    model_name(known)
                                );
                                return Err(part.refuse(at, message));
                            }
                            Some(_) => {}
                        }
                    }
                    // The preamble is over.
                    opcode if kind(opcode) != Kind::Preamble && kind(opcode) != Kind::Import => break,
                    _ => {}
                }
            }
        }
        if model.is_none() {
            let names: Vec<&str> = parts.iter().map(|part| part.name).take(1).collect();
            let error = Error::input("no module says its memory model (OpMemoryModel)");
            return Err(names.first().map_or(error.clone(), |name| error.context(*name)));
        }
        Ok(())
    }

    /// Writes the newest `OpSource` of all modules first and last. Drivers go by one of these, and lack functions that the module calls
    /// where it says an older version of OpenCL C, or C in place of C++.
    pub(crate) fn newest_source(&mut self, parts: &[InputModule<'_>]) {
        let in_part = |part: &InputModule<'_>| {
            let head = part.index.instructions(0..part.functions_begin).map(|(_, instruction)| instruction);
            let sources = head.filter(|instruction| instruction.opcode == SOURCE);
            sources.map(|source| [source.word(0), source.word(1)]).collect::<Vec<_>>()
        };
        let sources: Vec<[u32; 2]> = parts.iter().flat_map(in_part).collect();
        let rank = |[language, version]: &[u32; 2]| (*language == CPP, source_version(*language, *version));
        let newest = sources.iter().max_by_key(|source| rank(source));
        if let (Some(newest), true) = (newest, sources.iter().any(|source| Some(source) != sources.first())) {
            let source: Vec<u32> = std::iter::once(first_word(SOURCE, newest.len())).chain(*newest).collect();
            self.sources.splice(0..0, source.iter().copied());
            self.sources.extend(source);
        }
    }

    /// Returns the whole module. Its version is the highest of all modules; its generator is theirs if they agree.
    pub(crate) fn assemble(self, parts: &[InputModule<'_>], bound: u32) -> Vec<u8> {
        let version = parts.iter().map(|part| part.index.version).max().unwrap_or((1, 0));
        let version = u32::from(version.0) << 16 | u32::from(version.1) << 8;
        let mut generators = parts.iter().map(|part| part.index.generator);
        let first = generators.next().unwrap_or(0);
        let generator = if generators.all(|other| other == first) { first } else { 0 };
        let sections = [
            vec![MAGIC, version, generator, bound, 0],
            self.capabilities,
            self.extensions,
            self.imports,
            self.memory_model,
            self.entry_points,
            self.modes,
            self.sources,
            self.names,
            self.processed,
            self.aliases,
            self.annotations,
            self.globals,
            self.declarations,
            self.definitions,
        ];
        let words: usize = sections.iter().map(Vec::len).sum();
        let mut bytes = Vec::with_capacity(words.saturating_mul(4));
        for section in sections {
            bytes.extend(section.iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes
    }
}

fn model_name(words: &[u32]) -> String {
    let addressing = match words.first() {
        Some(0) => "Logical",
        Some(1) => "Physical32",
        Some(2) => "Physical64",
        Some(5348) => "PhysicalStorageBuffer64",
        _ => "of an unknown addressing",
    };
    let memory = match words.get(1) {
        Some(0) => "Simple",
        Some(1) => "GLSL450",
        Some(2) => "OpenCL",
        Some(3) => "Vulkan",
        _ => "of an unknown kind",
    };
    format!("{addressing} {memory}")
}

/// Whether an instruction continues the one before it, which is then not merged.
pub(crate) fn continues(opcode: u16) -> bool {
    op::continues_definition(opcode) || opcode == SOURCE_CONTINUED
}
