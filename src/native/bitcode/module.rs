//! What do the functions of a bitcode module declare, use and call?
//!
//! Global values are numbered first, then the constants of the module; functions number their own after these.

use super::super::bitstream::{Cursor, Item};
use super::function::Body;
use super::metadata::Metadata;
use super::types::{NO_TYPE, Type, Types};
use super::{KERNEL_CONVENTIONS, Place, WITH_STRTAB, block, named, text};
use crate::bytes;
use crate::error::{Error, Result};
use crate::limits;
use crate::source::{Inlined, SourceLocation};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

/// Code of a bitcode module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Target triple.
    pub(crate) triple: String,
    /// Functions in the order of the module.
    pub functions: Vec<Function>,
    /// Variables in the order of the module.
    pub(crate) variables: Vec<Variable>,
    /// Error that ended the reading early; the facts so far hold.
    pub stopped: Option<Error>,
    /// Places of the kernels among the functions, by their names, once they were asked for.
    pub(crate) kernels: OnceLock<HashMap<String, usize>>,
    /// Aspects that the image requires and the metadata of a function, or of what it calls, names, once they were asked for.
    pub(crate) required: OnceLock<Vec<Vec<String>>>,
}

impl Module {
    /// Whether the code is for devices, by its triple; of one without a triple that is not known.
    pub(crate) fn is_for_devices(&self) -> bool {
        let machine = self.triple.split('-').next().unwrap_or_default();
        let begins = ["spir", "nvptx", "amdgcn", "native_cpu"];
        machine.is_empty() || begins.iter().any(|begin| machine.starts_with(begin))
    }
}

/// Aspect by the number in the metadata, with its name where the module has a table of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numbered {
    /// Number.
    pub(crate) number: u32,
    /// Name in `!sycl_aspects`, or beside the number.
    pub(crate) name: Option<String>,
}

/// Metadata of a function that says what a device must offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// `!sycl_used_aspects`.
    pub(crate) used: Option<Vec<Numbered>>,
    /// `!sycl_declared_aspects`.
    pub(crate) declared: Option<Vec<Numbered>>,
    /// `!sycl_fixed_targets`.
    pub(crate) fixed_targets: Option<Vec<String>>,
    /// `!reqd_work_group_size`, as the metadata has it: x first, without what `!work_group_num_dim` leaves out.
    pub(crate) work_group_size: Option<Vec<u64>>,
    /// `!work_group_size_hint`, likewise.
    pub(crate) work_group_size_hint: Option<Vec<u64>>,
    /// `!intel_reqd_sub_group_size`, or `!reqd_sub_group_size`.
    pub(crate) sub_group_size: Option<u32>,
}

/// Argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Name in the source, where the module keeps it.
    pub name: Option<String>,
    /// Type as in OpenCL C.
    pub type_name: String,
    /// Number of the address space of a pointer.
    pub(crate) space: Option<u64>,
    /// `read_only`, `write_only` or `read_write` of an image.
    pub access: Option<&'static str>,
    /// `const`, `restrict`, `volatile`.
    pub(crate) qualifiers: Vec<String>,
    /// Size and alignment in bytes; of a structure that is passed by value its own.
    pub(crate) layout: Option<(u64, u64)>,
    /// Whether it is a structure that is passed by value.
    pub(crate) by_value: bool,
}

/// Use of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Name of the aspect.
    pub(crate) aspect: Cow<'static, str>,
    /// Instruction and the type that shows the use: `fmul double`.
    pub(crate) instruction: String,
    /// Offset of the byte at which its record begins.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) place: Option<SourceLocation>,
    /// Functions that the instruction was inlined from, outermost first.
    pub(crate) inlined: Vec<Inlined>,
}

/// Call or reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Place of the function in [`Module::functions`]; none of a call through a pointer.
    pub(crate) to: Option<usize>,
    /// Whether it is called; else its address is taken.
    pub(crate) direct: bool,
    /// Offset of the byte at which the record begins.
    pub(crate) offset: u64,
    /// Place in the source.
    pub(crate) place: Option<SourceLocation>,
    /// Functions that the call was inlined from, outermost first.
    pub(crate) inlined: Vec<Inlined>,
}

/// Function of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function {
    /// Mangled name.
    pub name: String,
    /// Whether it has a body.
    pub(crate) defined: bool,
    /// Whether it is a kernel.
    pub(crate) kernel: bool,
    /// Whether other modules may link to it.
    pub(crate) linked: bool,
    /// Translation unit (`sycl-module-id`).
    pub source: Option<String>,
    /// Arguments; of kernels alone.
    pub(crate) arguments: Vec<Argument>,
    /// Requirements in its metadata.
    pub(crate) recorded: Recorded,
    /// First use of each aspect.
    pub(crate) uses: Vec<Use>,
    /// Calls, the first of each function.
    pub(crate) calls: Vec<Call>,
    /// Places of the variables that it names, in [`Module::variables`].
    pub(crate) variables: Vec<usize>,
    /// Reason why its body is not wholly known, where it is not.
    pub(crate) unread: Option<String>,
}

/// Variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Mangled name.
    pub(crate) name: String,
    /// Whether the module defines it.
    pub(crate) defined: bool,
    /// Whether other modules may link to it.
    pub(crate) linked: bool,
    /// Number of its address space.
    pub(crate) space: u64,
    /// Size in bytes, where its type has one.
    pub(crate) size: Option<u64>,
}

/// Value that a module's code can name.
#[derive(Debug, Clone)]
pub(super) enum Meaning {
    Function(usize),
    Variable(usize),
    Integer(i64),
    /// Constant made of others.
    Of(Vec<u32>),
    Assembly,
    Other,
}

/// Value and its type.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) kind: u32,
    pub(super) meaning: Meaning,
}

/// Attributes of a group: strings by key, and types by kind.
#[derive(Debug, Default)]
struct Group {
    parameter: u64,
    strings: Vec<(String, String)>,
    by_value: Option<u32>,
    is_by_value: bool,
}

/// Module that is being read.
#[derive(Debug, Default)]
pub(super) struct Reader<'a> {
    pub(super) module: Module,
    pub(super) types: Types,
    pub(super) values: Vec<Value>,
    pub(super) metadata: Metadata<'a>,
    /// Types of functions, by their places.
    pub(super) signatures: Vec<u32>,
    /// Numbers of functions among values, by their places.
    numbers: Vec<u32>,
    /// Names by `!sycl_aspects`.
    aspects: HashMap<i64, String>,
    groups: HashMap<u64, Group>,
    /// Groups of each list of attributes.
    lists: Vec<Vec<u64>>,
    /// List of attributes of each function.
    attributes: Vec<u64>,
    /// Blocks of the functions that are defined.
    bodies: Vec<Cursor<'a>>,
    /// Bytes of text that functions may yet have; none once they had more.
    room: Cell<Option<usize>>,
    /// Parameters that functions with a body may yet have.
    pub(super) parameters_left: usize,
}

/// Number of the attribute `byval`.
const BY_VALUE: u64 = 3;

impl<'a> Reader<'a> {
    /// Reads a module, whose names stand in `strings`.
    pub(super) fn read(cursor: Cursor<'a>, strings: &'a [u8]) -> Module {
        let room = limits::MAX_BITCODE_TEXT.saturating_add(strings.len().saturating_mul(4));
        let mut reader = Reader {
            room: Cell::new(Some(room)),
            parameters_left: limits::MAX_BITCODE_PARAMETERS,
            ..Reader::default()
        };
        if let Err(error) = reader.all(cursor, strings) {
            reader.module.stopped = Some(error);
        }
        reader.module
    }

    fn all(&mut self, cursor: Cursor<'a>, strings: &'a [u8]) -> Result<()> {
        self.declarations(cursor, strings)?;
        self.name_aspects();
        self.annotations();
        for at in 0..self.module.functions.len() {
            self.attributes_of(at);
            self.in_room()?;
        }
        let bodies = std::mem::take(&mut self.bodies);
        let defined = self.module.functions.iter().enumerate().filter(|(_, function)| function.defined);
        let defined: Vec<usize> = defined.map(|(at, _)| at).collect();
        let (globals, nodes) = (self.values.len(), self.metadata.len());
        if defined.len() != bodies.len() {
            return Err(Error::input(format!("{} functions with {} bodies", defined.len(), bodies.len())));
        }
        for (at, body) in defined.into_iter().zip(bodies) {
            Body::read(self, at, body)?;
            self.in_room()?;
            self.values.truncate(globals);
            self.metadata.truncate(nodes);
        }
        Ok(())
    }

    /// Whether functions may have these further bytes of text. Where not, the module is not read to its end: see
    /// [`Reader::in_room`].
    fn takes(&self, bytes: usize) -> bool {
        self.room.set(self.room.get().and_then(|room| room.checked_sub(bytes)));
        self.room.get().is_some()
    }

    fn in_room(&self) -> Result<()> {
        let spent =
            || Error::input("names, sources, aspects and types of functions are many times as long as the file");
        self.room.get().map(|_| ()).ok_or_else(spent)
    }

    fn declarations(&mut self, mut module: Cursor<'a>, strings: &'a [u8]) -> Result<()> {
        let mut version = WITH_STRTAB;
        while let Some(item) = module.next()? {
            let record = match item {
                Item::Block(block::TYPES, inner) => {
                    self.types.read(inner)?;
                    continue;
                }
                Item::Block(block::ATTRIBUTE_GROUPS, inner) => {
                    self.groups(inner)?;
                    continue;
                }
                Item::Block(block::ATTRIBUTES, inner) => {
                    self.lists(inner)?;
                    continue;
                }
                Item::Block(block::CONSTANTS, inner) => {
                    self.constants(inner)?;
                    continue;
                }
                Item::Block(block::METADATA_KINDS, inner) => {
                    self.metadata.read_kinds(inner)?;
                    continue;
                }
                Item::Block(block::METADATA, inner) => {
                    self.metadata.read(inner)?;
                    continue;
                }
                Item::Block(block::FUNCTION, inner) => {
                    self.bodies.push(inner);
                    continue;
                }
                Item::Block(block::SYMBOLS, inner) if version < WITH_STRTAB => {
                    self.name_by_number(super::symbols(inner)?);
                    continue;
                }
                Item::Block(..) => continue,
                Item::Record(record) => record,
            };
            let name = |place: Option<Place>| {
                let (offset, len) = place?;
                let name = bytes::slice_at(strings, usize::try_from(offset).ok()?, usize::try_from(len).ok()?)?;
                let name = if self.takes(name.len()) { name } else { &[] };
                Some(String::from_utf8_lossy(name).into_owned())
            };
            match (record.code, named(&record.operands, version)) {
                (1, _) => version = record.operands.first().copied().unwrap_or(0),
                (2, _) => self.module.triple = text(&record.operands),
                // [name, type, flags, initial value or 0, linkage, ...]
                (7, Some((place, [kind, flags, initial, linkage, ..]))) => {
                    let meaning = Meaning::Variable(self.module.variables.len());
                    let kind = u32::try_from(*kind).unwrap_or(NO_TYPE);
                    self.module.variables.push(Variable {
                        name: name(place).unwrap_or_default(),
                        defined: *initial != 0,
                        linked: !is_local(*linkage),
                        space: flags >> 2,
                        size: self.types.layout(kind, self.pointer_size()).map(|it| it.0),
                    });
                    self.push(&module, Value { kind: NO_TYPE, meaning })?;
                }
                // [name, type, convention, is declaration, linkage, attributes, ...]
                (8, Some((place, [kind, convention, declared, linkage, attributes, ..]))) => {
                    let meaning = Meaning::Function(self.module.functions.len());
                    self.module.functions.push(Function {
                        name: name(place).unwrap_or_default(),
                        defined: *declared == 0,
                        kernel: KERNEL_CONVENTIONS.contains(convention),
                        linked: !is_local(*linkage),
                        ..Function::default()
                    });
                    self.numbers.push(u32::try_from(self.values.len()).unwrap_or(NO_TYPE));
                    let kind = u32::try_from(*kind).unwrap_or(NO_TYPE);
                    self.signatures.push(match self.types.get(kind) {
                        Some(Type::Pointer { to: Some(to), .. }) => *to,
                        _ => kind,
                    });
                    self.attributes.push(*attributes);
                    self.push(&module, Value { kind: NO_TYPE, meaning })?;
                }
                // Aliases and functions that are chosen when loaded.
                (9 | 14 | 18, _) => self.push(&module, Value { kind: NO_TYPE, meaning: Meaning::Other })?,
                _ => {}
            }
            self.in_room()?;
        }
        Ok(())
    }

    /// Names variables and functions by the numbers of their values.
    fn name_by_number(&mut self, names: BTreeMap<u64, String>) {
        for (number, name) in names {
            let is_taken = self.takes(name.len());
            let value = usize::try_from(number).ok().and_then(|number| self.values.get(number));
            let place = match value.map(|value| &value.meaning) {
                Some(Meaning::Variable(at)) => self.module.variables.get_mut(*at).map(|variable| &mut variable.name),
                Some(Meaning::Function(at)) => self.module.functions.get_mut(*at).map(|function| &mut function.name),
                _ => None,
            };
            if let Some(place) = place.filter(|_| is_taken) {
                *place = name;
            }
        }
    }

    pub(super) fn push(&mut self, at: &Cursor<'_>, value: Value) -> Result<()> {
        if self.values.len() >= limits::MAX_BITCODE_METADATA {
            return Err(at.error("more values than this tool reads"));
        }
        self.values.push(value);
        Ok(())
    }

    /// Reads constants, of the module or of a function.
    pub(super) fn constants(&mut self, mut block: Cursor<'_>) -> Result<()> {
        let mut kind = NO_TYPE;
        while let Some(item) = block.next()? {
            let Item::Record(record) = item else { continue };
            let number = |operand: &u64| u32::try_from(*operand).unwrap_or(NO_TYPE);
            let meaning = match (record.code, record.operands.as_slice()) {
                (1, [number, ..]) => {
                    kind = u32::try_from(*number).unwrap_or(NO_TYPE);
                    continue;
                }
                (2, _) => Meaning::Integer(0),
                // The lowest bit is the sign.
                (4, [bits, ..]) => {
                    let value = (bits >> 1).cast_signed();
                    Meaning::Integer(if bits & 1 == 0 { value } else { value.wrapping_neg() })
                }
                (7, members) => Meaning::Of(members.iter().map(number).collect()),
                (11, [_, _, value, ..]) => Meaning::Of(vec![number(value)]),
                // Addresses of parts: types and values in turn, after a type or flags.
                (12 | 20 | 24, operands) => Meaning::Of(operands.iter().map(number).collect()),
                (18 | 23 | 28 | 30, _) => Meaning::Assembly,
                _ => Meaning::Other,
            };
            self.push(&block, Value { kind, meaning })?;
        }
        Ok(())
    }

    fn groups(&mut self, mut block: Cursor<'_>) -> Result<()> {
        while let Some(item) = block.next()? {
            let Item::Record(record) = item else { continue };
            let [number, parameter, attributes @ ..] = record.operands.as_slice() else { continue };
            let mut group = Group { parameter: *parameter, ..Group::default() };
            let mut rest = attributes.iter();
            while let Some(form) = rest.next() {
                let string = |rest: &mut std::slice::Iter<'_, u64>| {
                    text(&rest.by_ref().take_while(|letter| **letter != 0).copied().collect::<Vec<_>>())
                };
                match form {
                    0 => {
                        group.is_by_value |= rest.next() == Some(&BY_VALUE);
                    }
                    1 => drop((rest.next(), rest.next())),
                    3 => group.strings.push((string(&mut rest), String::new())),
                    4 => group.strings.push((string(&mut rest), string(&mut rest))),
                    5 => group.is_by_value |= rest.next() == Some(&BY_VALUE),
                    6 => {
                        let (kind, of) = (rest.next(), rest.next());
                        if kind == Some(&BY_VALUE) {
                            group.is_by_value = true;
                            group.by_value = of.and_then(|of| u32::try_from(*of).ok());
                        }
                    }
                    // Ranges of values, which parameters alone have.
                    _ => break,
                }
            }
            self.groups.insert(*number, group);
        }
        Ok(())
    }

    fn lists(&mut self, mut block: Cursor<'_>) -> Result<()> {
        while let Some(item) = block.next()? {
            if let Item::Record(record) = item
                && record.code == 2
            {
                self.lists.push(record.operands);
            }
        }
        Ok(())
    }

    /// Returns the groups of a function's attributes.
    fn groups_of(&self, function: usize) -> impl Iterator<Item = &Group> {
        let list = self.attributes.get(function).and_then(|list| usize::try_from(list.checked_sub(1)?).ok());
        let groups = list.and_then(|list| self.lists.get(list)).map(Vec::as_slice).unwrap_or_default();
        groups.iter().filter_map(|group| self.groups.get(group))
    }

    /// Reads what the attributes of a function tell, and the metadata of one that is declared only.
    fn attributes_of(&mut self, at: usize) {
        const FUNCTION: u64 = 0xffff_ffff;
        let strings = self.groups_of(at).filter(|group| group.parameter == FUNCTION).flat_map(|group| &group.strings);
        let (mut source, mut kernel) = (None, false);
        for (key, value) in strings {
            match key.as_str() {
                "sycl-module-id" => source = self.takes(value.len()).then(|| value.clone()),
                "sycl-kernel" => kernel = true,
                _ => {}
            }
        }
        let recorded = self.numbers.get(at).map(|number| self.recorded(self.metadata.of_declaration(*number)));
        if let Some(function) = self.module.functions.get_mut(at) {
            function.source = source;
            function.kernel |= kernel && function.defined;
            function.recorded = recorded.unwrap_or_default();
        }
    }

    /// Reads the names of aspects, and the aspects of types.
    fn name_aspects(&mut self) {
        for node in self.metadata.list("sycl_aspects") {
            if let [name, number, ..] = self.metadata.operands(*node)
                && let (Some(name), Some(number)) = (self.metadata.text(*name), self.integer(*number))
            {
                self.aspects.insert(number, name);
            }
        }
        let mut of_types: Vec<(String, Vec<Numbered>)> = Vec::new();
        for node in self.metadata.list("sycl_types_that_use_aspects") {
            if let [name, numbers @ ..] = self.metadata.operands(*node)
                && let Some(name) = self.metadata.text(*name)
            {
                of_types.push((name, numbers.iter().filter_map(|number| self.numbered(*number)).collect()));
            }
        }
        let mut masks: HashMap<String, u64> = HashMap::new();
        for (name, aspects) in of_types {
            // A number that the module does not name is nobody's.
            for name_of in aspects.into_iter().filter_map(|aspect| aspect.name) {
                *masks.entry(name.clone()).or_default() |= self.types.bit(Cow::Owned(name_of));
            }
        }
        if !masks.is_empty() {
            self.types.settle(|name| masks.get(name).copied().unwrap_or(0));
        }
    }

    /// Reads which functions NVIDIA's annotations call kernels.
    fn annotations(&mut self) {
        let mut kernels = HashSet::new();
        for node in self.metadata.list("nvvm.annotations") {
            if let [function, pairs @ ..] = self.metadata.operands(*node)
                && pairs
                    .chunks_exact(2)
                    .any(|pair| pair.first().and_then(|key| self.metadata.text(*key)).as_deref() == Some("kernel"))
                && let Some(Meaning::Function(function)) =
                    self.metadata.value(*function).and_then(|value| self.meaning(value))
            {
                kernels.insert(*function);
            }
        }
        for at in kernels {
            if let Some(function) = self.module.functions.get_mut(at) {
                function.kernel = true;
            }
        }
    }

    pub(super) fn meaning(&self, value: u32) -> Option<&Meaning> {
        self.values.get(usize::try_from(value).ok()?).map(|value| &value.meaning)
    }

    /// Returns the number that a reference of a node means.
    fn integer(&self, reference: u32) -> Option<i64> {
        match self.meaning(self.metadata.value(reference)?)? {
            Meaning::Integer(number) => Some(*number),
            _ => None,
        }
    }

    fn integers(&self, node: u32) -> Vec<u64> {
        let operands = self.metadata.operands(node).iter();
        operands.filter_map(|reference| u64::try_from(self.integer(*reference)?).ok()).collect()
    }

    /// Returns an aspect: a number, or a node of a name and a number. Negative numbers are the compiler's own.
    fn numbered(&self, reference: u32) -> Option<Numbered> {
        let pair = reference.checked_sub(1).map(|node| self.metadata.operands(node));
        let (name, number) = match pair {
            Some([name, number, ..]) => (self.metadata.text(*name), self.integer(*number)?),
            _ => (None, self.integer(reference)?),
        };
        let name = name.or_else(|| self.aspects.get(&number).cloned());
        Some(Numbered { number: u32::try_from(number).ok()?, name })
    }

    /// Returns what the attachments of a function say.
    pub(super) fn recorded(&self, pairs: &[u64]) -> Recorded {
        let attached = |names: &[&str]| self.metadata.attached(pairs, names);
        let aspects = |name: &str| {
            let node = attached(&[name])?;
            let operands = self.metadata.operands(node);
            let operands =
                if self.takes(operands.len().saturating_mul(size_of::<Numbered>())) { operands } else { &[] };
            Some(operands.iter().filter_map(|one| self.numbered(*one)).collect())
        };
        let dimensions = attached(&["work_group_num_dim"]).and_then(|node| self.integers(node).first().copied());
        let dimensions = dimensions.and_then(|count| usize::try_from(count).ok()).unwrap_or(3);
        let size =
            |name: &str| attached(&[name]).map(|node| self.integers(node).into_iter().take(dimensions).collect());
        let sub_group = attached(&["intel_reqd_sub_group_size", "reqd_sub_group_size"]);
        Recorded {
            used: aspects("sycl_used_aspects"),
            declared: aspects("sycl_declared_aspects"),
            fixed_targets: attached(&["sycl_fixed_targets"])
                .map(|node| self.metadata.operands(node).iter().filter_map(|one| self.metadata.text(*one)).collect()),
            work_group_size: size("reqd_work_group_size"),
            work_group_size_hint: size("work_group_size_hint"),
            sub_group_size: sub_group
                .and_then(|node| self.integers(node).first().and_then(|size| u32::try_from(*size).ok())),
        }
    }

    /// Returns the bytes of a pointer.
    fn pointer_size(&self) -> u64 {
        let machine = self.module.triple.split('-').next().unwrap_or_default();
        if matches!(machine, "spir" | "spirv32" | "nvptx" | "i386" | "i686") { 4 } else { 8 }
    }

    /// Returns the arguments of a kernel, with what its metadata says of them; `names` are those of its values.
    pub(super) fn arguments(&self, at: usize, pairs: &[u64], names: &HashMap<u32, String>) -> Vec<Argument> {
        let signature = self.signatures.get(at).and_then(|kind| self.types.get(*kind));
        let Some(Type::Function { parameters, .. }) = signature else { return Vec::new() };
        let said =
            |key: &str| self.metadata.attached(pairs, &[key]).map_or(&[][..], |node| self.metadata.operands(node));
        let [told_names, told_types] = [said("kernel_arg_name"), said("kernel_arg_type")];
        let [told_access, told_qualifiers] = [said("kernel_arg_access_qual"), said("kernel_arg_type_qual")];
        let one = |(index, kind): (usize, &u32)| {
            let told = |list: &[u32]| {
                let text = list.get(index).and_then(|text| self.metadata.text(*text));
                text.filter(|text| !text.is_empty() && text != "none")
            };
            let group = self.groups_of(at).find(|group| group.parameter == (index as u64).saturating_add(1));
            let by_value = group.is_some_and(|group| group.is_by_value);
            let pointer = self.types.get(*kind);
            let of = match (by_value, pointer) {
                (true, Some(Type::Pointer { to: Some(to), .. })) => Some(*to),
                (true, _) => group.and_then(|group| group.by_value),
                _ => None,
            };
            Argument {
                name: told(told_names).or_else(|| names.get(&u32::try_from(index).ok()?).cloned()),
                type_name: told(told_types).unwrap_or_else(|| self.types.opencl_name(of.unwrap_or(*kind))),
                space: match pointer {
                    Some(Type::Pointer { space, .. }) if !by_value => Some(*space),
                    _ => None,
                },
                access: match told(told_access).as_deref() {
                    Some("read_only") => Some("read_only"),
                    Some("write_only") => Some("write_only"),
                    Some("read_write") => Some("read_write"),
                    _ => None,
                },
                qualifiers: told(told_qualifiers).iter().flat_map(|text| text.split(' ')).map(str::to_owned).collect(),
                layout: self.types.layout(of.unwrap_or(*kind), self.pointer_size()),
                by_value,
            }
        };
        // Each argument has its place, and a name and a type that may be as long as the longest.
        let told = |argument: Argument| {
            let text = argument.name.as_ref().map_or(0, String::len).saturating_add(argument.type_name.len());
            self.takes(text.saturating_add(size_of::<Argument>())).then_some(argument)
        };
        parameters.iter().enumerate().map(one).map_while(told).collect()
    }
}

/// Whether no other module can link to a global value: internal, private, or a copy of another module's.
fn is_local(linkage: u64) -> bool {
    matches!(linkage, 3 | 9 | 12 | 13 | 14)
}
