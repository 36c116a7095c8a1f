//! What does the body of a function use and call?
//!
//! An operand counts back from the value that the instruction would make; where it means a later one, its type follows.
//! The rules for aspects are those for SPIR-V (`compat::aspects::rules`), which are the compiler's.

use super::super::bitstream::{Cursor, Item, Record};
use super::block;

use super::module::{Call, Meaning, Reader, Use, Value};
use super::text;
use super::types::{DOUBLE, IMAGE, NO_TYPE, Type};
use crate::error::Result;
use crate::source::{Inlined, SourceLocation};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Codes of instructions.
mod code {
    pub(crate) const DECLARE_BLOCKS: u64 = 1;
    pub(crate) const BINARY: u64 = 2;
    pub(crate) const CAST: u64 = 3;
    pub(crate) const EXTRACT_ELEMENT: u64 = 6;
    pub(crate) const INSERT_ELEMENT: u64 = 7;
    pub(crate) const SHUFFLE: u64 = 8;
    pub(crate) const COMPARE: u64 = 9;
    pub(crate) const RETURN: u64 = 10;
    pub(crate) const BRANCH: u64 = 11;
    pub(crate) const SWITCH: u64 = 12;
    pub(crate) const UNREACHABLE: u64 = 15;
    pub(crate) const PHI: u64 = 16;
    pub(crate) const ALLOCA: u64 = 19;
    pub(crate) const LOAD: u64 = 20;
    pub(crate) const EXTRACT_VALUE: u64 = 26;
    pub(crate) const INSERT_VALUE: u64 = 27;
    pub(crate) const COMPARE_2: u64 = 28;
    pub(crate) const SELECT: u64 = 29;
    pub(crate) const INDIRECT_BRANCH: u64 = 31;
    pub(crate) const SAME_PLACE: u64 = 33;
    pub(crate) const CALL: u64 = 34;
    pub(crate) const PLACE: u64 = 35;
    pub(crate) const FENCE: u64 = 36;
    pub(crate) const LOAD_ATOMIC: u64 = 41;
    pub(crate) const ADDRESS: u64 = 43;
    pub(crate) const STORE: u64 = 44;
    pub(crate) const STORE_ATOMIC: u64 = 45;
    pub(crate) const COMPARE_EXCHANGE: u64 = 46;
    pub(crate) const OPERAND_BUNDLE: u64 = 55;
    pub(crate) const UNARY: u64 = 56;
    pub(crate) const FREEZE: u64 = 58;
    pub(crate) const ATOMIC: u64 = 59;
    /// Users of block addresses, and debug records.
    pub(crate) const NOTES: std::ops::RangeInclusive<u64> = 60..=65;
}

/// Body that is being read.
pub(super) struct Body<'r, 'a> {
    reader: &'r mut Reader<'a>,
    uses: Vec<(Use, usize)>,
    calls: Vec<(Call, usize)>,
    called: HashSet<Option<usize>>,
    variables: HashSet<usize>,
    unread: Option<String>,
    /// Aspects that have been seen, by bit.
    seen: u64,
    /// Aspects whose use has a place in the source, by bit.
    placed: u64,
    /// Aspects that the last instruction shows again, where its first use has no place.
    again: Option<Again>,
    /// Number of the instruction.
    instruction: usize,
    /// Fields of the last place, to repeat it.
    place: [u32; 4],
}

/// Further use of aspects.
struct Again {
    bits: u64,
    name: Cow<'static, str>,
    shown: u32,
    offset: u64,
}

/// One instruction on its way.
struct Step<'o> {
    operands: &'o [u64],
    /// Contents of the types it names.
    mask: u64,
    /// First type that has any.
    shown: u32,
    /// Type of the value that is made; none where none is.
    result: Option<u32>,
    /// Bits of aspects that the instruction itself shows.
    own: u64,
    name: Cow<'static, str>,
}

/// Error of an instruction whose operands are missing.
struct Short;

impl Step<'_> {
    fn next(&mut self) -> std::result::Result<u64, Short> {
        let (first, rest) = self.operands.split_first().ok_or(Short)?;
        self.operands = rest;
        Ok(*first)
    }

    fn kind(&mut self) -> std::result::Result<u32, Short> {
        Ok(u32::try_from(self.next()?).unwrap_or(NO_TYPE))
    }
}

impl<'r, 'a> Body<'r, 'a> {
    /// Reads a body into its function.
    pub(super) fn read(reader: &'r mut Reader<'a>, at: usize, mut block: Cursor<'a>) -> Result<()> {
        let mut body = Body {
            reader,
            uses: Vec::new(),
            calls: Vec::new(),
            called: HashSet::new(),
            variables: HashSet::new(),
            unread: None,
            seen: 0,
            placed: 0,
            again: None,
            instruction: 0,
            place: [0; 4],
        };
        let first = body.reader.values.len();
        body.parameters(at, &block)?;
        let mut pairs = Vec::new();
        let mut names = HashMap::new();
        while let Some(item) = block.next()? {
            match item {
                Item::Block(block::CONSTANTS, inner) => body.reader.constants(inner)?,
                Item::Block(block::METADATA, inner) => body.reader.metadata.read(inner)?,
                Item::Block(block::ATTACHMENTS, inner) => pairs.extend(body.attachments(inner)?),
                Item::Block(block::SYMBOLS, inner) => names = symbols(inner, first)?,
                Item::Block(..) => {}
                Item::Record(record) => body.record(&block, &record)?,
            }
        }
        body.finish(at, &pairs, &names);
        Ok(())
    }

    fn parameters(&mut self, at: usize, block: &Cursor<'_>) -> Result<()> {
        let signature = self.reader.signatures.get(at).and_then(|kind| self.reader.types.get(*kind)).cloned();
        let Some(Type::Function { result, parameters }) = signature else { return Ok(()) };
        let mut step = Step { name: "parameter".into(), ..Step::new(&[]) };
        self.touch(&mut step, result);
        let left = self.reader.parameters_left.checked_sub(parameters.len());
        self.reader.parameters_left =
            left.ok_or_else(|| block.error("more parameters than functions have together"))?;
        for kind in parameters {
            self.touch(&mut step, kind);
            self.reader.push(block, Value { kind, meaning: Meaning::Other })?;
        }
        step.own |= step.mask & IMAGE;
        self.show(&step, block.byte());
        Ok(())
    }

    fn record(&mut self, block: &Cursor<'_>, record: &Record<'a>) -> Result<()> {
        match record.code {
            code::DECLARE_BLOCKS | code::OPERAND_BUNDLE => return Ok(()),
            code if code::NOTES.contains(&code) => return Ok(()),
            code::PLACE => {
                let field =
                    |at: usize| record.operands.get(at).and_then(|field| u32::try_from(*field).ok()).unwrap_or(0);
                self.place = [field(0), field(1), field(2), field(3)];
                self.located();
                return Ok(());
            }
            code::SAME_PLACE => {
                self.located();
                return Ok(());
            }
            _ if self.unread.is_some() => return Ok(()),
            _ => {}
        }
        self.instruction = self.instruction.saturating_add(1);
        self.again = None;
        let mut step = Step::new(&record.operands);
        let offset = block.byte();
        match self.step(record.code, &mut step, offset) {
            Ok(true) => {}
            Ok(false) => self.unread = Some(format!("instruction {} is not known", record.code)),
            Err(Short) => self.unread = Some(format!("instruction {} is cut short", record.code)),
        }
        self.show(&step, offset);
        if let Some(kind) = step.result {
            self.reader.push(block, Value { kind, meaning: Meaning::Other })?;
        }
        Ok(())
    }

    /// Takes an instruction apart; false where it is not known.
    fn step(&mut self, code: u64, step: &mut Step<'_>, offset: u64) -> std::result::Result<bool, Short> {
        match code {
            code::BINARY => {
                let (_, kind) = self.value_and_type(step)?;
                self.value(step, kind)?;
                let operation = step.next()?;
                step.name = self.arithmetic(operation, kind).into();
                self.make(step, kind);
            }
            code::UNARY | code::FREEZE => {
                let (_, kind) = self.value_and_type(step)?;
                step.name = if code == code::UNARY { "fneg".into() } else { "freeze".into() };
                self.make(step, kind);
            }
            code::CAST => {
                const CASTS: [&str; 13] = [
                    "trunc",
                    "zext",
                    "sext",
                    "fptoui",
                    "fptosi",
                    "uitofp",
                    "sitofp",
                    "fptrunc",
                    "fpext",
                    "ptrtoint",
                    "inttoptr",
                    "bitcast",
                    "addrspacecast",
                ];
                self.value_and_type(step)?;
                let kind = step.kind()?;
                let operation = usize::try_from(step.next()?).unwrap_or(usize::MAX);
                step.name = CASTS.get(operation).copied().unwrap_or("cast").into();
                self.make(step, kind);
            }
            code::EXTRACT_ELEMENT => {
                let (_, kind) = self.value_and_type(step)?;
                self.value_and_type(step)?;
                step.name = "extractelement".into();
                self.make(step, self.reader.types.member(kind, 0));
            }
            code::INSERT_ELEMENT | code::INSERT_VALUE => {
                let (_, kind) = self.value_and_type(step)?;
                if code == code::INSERT_ELEMENT {
                    self.value(step, self.reader.types.member(kind, 0))?;
                    self.value_and_type(step)?;
                    step.name = "insertelement".into();
                } else {
                    self.value_and_type(step)?;
                    step.name = "insertvalue".into();
                }
                self.make(step, kind);
            }
            code::SHUFFLE => {
                // The result is as long as the mask; its elements are what counts.
                let (_, kind) = self.value_and_type(step)?;
                self.value(step, kind)?;
                self.value_and_type(step)?;
                step.name = "shufflevector".into();
                self.make(step, kind);
            }
            code::COMPARE | code::COMPARE_2 => {
                let (_, kind) = self.value_and_type(step)?;
                self.value(step, kind)?;
                step.name = if self.is_float(kind) { "fcmp".into() } else { "icmp".into() };
                step.result = Some(NO_TYPE);
            }
            code::RETURN => {
                step.name = "ret".into();
                if !step.operands.is_empty() {
                    self.value_and_type(step)?;
                }
            }
            code::BRANCH | code::UNREACHABLE | code::FENCE | code::INDIRECT_BRANCH | code::SWITCH => {}
            code::PHI => {
                let kind = step.kind()?;
                step.name = "phi".into();
                self.make(step, kind);
            }
            code::ALLOCA => {
                let kind = step.kind()?;
                let _ = step.next()?;
                step.name = "alloca".into();
                self.memory(step, kind);
                step.result = Some(NO_TYPE);
            }
            code::LOAD | code::LOAD_ATOMIC => {
                self.value_and_type(step)?;
                let kind = step.kind()?;
                step.name = if code == code::LOAD { "load".into() } else { "load atomic".into() };
                self.make(step, kind);
                step.own |= step.mask & IMAGE;
                if code == code::LOAD_ATOMIC {
                    self.atomic(step, kind);
                }
            }
            code::STORE | code::STORE_ATOMIC => {
                self.value_and_type(step)?;
                let (_, kind) = self.value_and_type(step)?;
                step.name = if code == code::STORE { "store".into() } else { "store atomic".into() };
                if code == code::STORE_ATOMIC {
                    self.atomic(step, kind);
                }
            }
            code::COMPARE_EXCHANGE => {
                self.value_and_type(step)?;
                let (_, kind) = self.value_and_type(step)?;
                self.value(step, kind)?;
                step.name = "cmpxchg".into();
                self.atomic(step, kind);
                // A structure of the value and a truth, which this reader has no number for.
                step.result = Some(NO_TYPE);
            }
            code::ATOMIC => {
                self.value_and_type(step)?;
                let (_, kind) = self.value_and_type(step)?;
                step.name = "atomicrmw".into();
                self.atomic(step, kind);
                self.make(step, kind);
            }
            code::EXTRACT_VALUE => {
                let (_, mut kind) = self.value_and_type(step)?;
                for member in step.operands {
                    kind = self.reader.types.member(kind, *member);
                }
                step.name = "extractvalue".into();
                self.make(step, kind);
            }
            code::SELECT => {
                let (_, kind) = self.value_and_type(step)?;
                self.value(step, kind)?;
                self.value_and_type(step)?;
                step.name = "select".into();
                self.make(step, kind);
            }
            code::ADDRESS => {
                let _ = step.next()?;
                let kind = step.kind()?;
                step.name = "getelementptr".into();
                self.memory(step, kind);
                while !step.operands.is_empty() {
                    self.value_and_type(step)?;
                }
                step.result = Some(NO_TYPE);
            }
            code::CALL => self.call(step, offset)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes a call apart: attributes, convention and flags, what the flags announce, callee, arguments.
    fn call(&mut self, step: &mut Step<'_>, offset: u64) -> std::result::Result<(), Short> {
        const EXPLICIT: u64 = 1 << 15;
        const FAST_MATH: u64 = 1 << 17;
        let _ = step.next()?;
        let flags = step.next()?;
        if flags & FAST_MATH != 0 {
            let _ = step.next()?;
        }
        let explicit = if flags & EXPLICIT != 0 { Some(step.kind()?) } else { None };
        let (callee, kind) = self.operand(step)?;
        let target = self.callee(callee);
        let declared = target.and_then(|target| self.reader.signatures.get(target)).copied();
        let signature = explicit.or(declared).unwrap_or(match self.reader.types.get(kind) {
            Some(Type::Pointer { to: Some(to), .. }) => *to,
            _ => NO_TYPE,
        });
        let Some(Type::Function { result, parameters }) = self.reader.types.get(signature).cloned() else {
            self.unread = Some("a call of an unknown type".to_owned());
            return Ok(());
        };
        step.name = "call".into();
        let called = target.and_then(|target| self.reader.module.functions.get(target)).map(|one| one.name.clone());
        // Calls that only describe values (debug information, lifetimes) do not use them.
        let noted =
            called.as_deref().is_some_and(|name| name.starts_with("llvm.dbg.") || name.starts_with("llvm.lifetime."));
        self.touch(step, result);
        for kind in &parameters {
            match self.reader.types.get(*kind) {
                Some(Type::Label | Type::Metadata) => drop(step.next()?),
                _ => drop(self.value(step, *kind)?),
            }
        }
        while !step.operands.is_empty() {
            self.value_and_type(step)?;
        }
        if noted {
            step.mask = 0;
        }
        if called.as_deref().is_some_and(is_atomic) {
            std::iter::once(&result).chain(&parameters).for_each(|kind| self.atomic(step, *kind));
        }
        match target {
            Some(target) if !noted => self.calls_to(Some(target), true, offset),
            Some(_) => {}
            None if matches!(self.reader.meaning(callee), Some(Meaning::Assembly)) => {
                self.unread = Some("inline assembly".to_owned());
            }
            None => self.calls_to(None, true, offset),
        }
        if !matches!(self.reader.types.get(result), Some(Type::Void)) {
            step.result = Some(result);
        }
        Ok(())
    }

    fn calls_to(&mut self, to: Option<usize>, direct: bool, offset: u64) {
        // The first call tells the way.
        if self.called.insert(to) {
            let call = Call { to, direct, offset, place: None, inlined: Vec::new() };
            self.calls.push((call, self.instruction));
        }
    }

    /// Returns the function that a value is, or is made of.
    fn callee(&self, mut value: u32) -> Option<usize> {
        for _ in 0..8 {
            match self.reader.meaning(value)? {
                Meaning::Function(at) => return Some(*at),
                Meaning::Of(parts) => value = *parts.first()?,
                _ => return None,
            }
        }
        None
    }

    /// Reads an operand: its number, and its type where it comes later or is known.
    fn operand(&mut self, step: &mut Step<'_>) -> std::result::Result<(u32, u32), Short> {
        let back = step.next()?;
        let next = u32::try_from(self.reader.values.len()).unwrap_or(u32::MAX);
        let value = next.wrapping_sub((back & u64::from(u32::MAX)) as u32);
        if value >= next {
            return Ok((value, step.kind()?));
        }
        let known = usize::try_from(value).ok().and_then(|value| self.reader.values.get(value));
        Ok((value, known.map_or(NO_TYPE, |value| value.kind)))
    }

    /// Reads an operand whose type may follow, as a use of it.
    fn value_and_type(&mut self, step: &mut Step<'_>) -> std::result::Result<(u32, u32), Short> {
        let (value, kind) = self.operand(step)?;
        self.touch(step, kind);
        self.names(value);
        Ok((value, kind))
    }

    /// Reads an operand of a type that is known.
    fn value(&mut self, step: &mut Step<'_>, kind: u32) -> std::result::Result<(), Short> {
        let back = step.next()?;
        let next = u32::try_from(self.reader.values.len()).unwrap_or(u32::MAX);
        self.touch(step, kind);
        self.names(next.wrapping_sub((back & u64::from(u32::MAX)) as u32));
        Ok(())
    }

    /// Notes which functions and variables a value names, through constants made of them.
    fn names(&mut self, value: u32) {
        /// Parts of a constant that are looked at: tables of functions are short.
        const MOST: usize = 256;
        let (mut open, mut seen) = (vec![value], 0usize);
        while let Some(value) = open.pop() {
            seen = seen.saturating_add(1);
            match self.reader.meaning(value) {
                Some(Meaning::Function(at)) => {
                    let at = *at;
                    self.calls_to(Some(at), false, 0);
                }
                Some(Meaning::Variable(at)) => {
                    let at = *at;
                    self.variables.insert(at);
                }
                Some(Meaning::Of(parts)) if seen < MOST => open.extend(parts.iter().take(MOST)),
                _ => {}
            }
        }
    }

    fn touch(&self, step: &mut Step<'_>, kind: u32) {
        let mask = self.reader.types.mask(kind);
        if mask != 0 && step.mask == 0 {
            step.shown = kind;
        }
        step.mask |= mask;
    }

    fn make(&self, step: &mut Step<'_>, kind: u32) {
        self.touch(step, kind);
        step.result = Some(kind);
    }

    /// Notes the type of memory: `double` in a structure counts where it becomes a value.
    fn memory(&self, step: &mut Step<'_>, kind: u32) {
        let before = step.mask;
        self.touch(step, kind);
        if matches!(self.reader.types.get(kind), Some(Type::Struct { .. })) {
            step.mask = before | step.mask & !DOUBLE;
        }
    }

    fn atomic(&mut self, step: &mut Step<'_>, kind: u32) {
        let aspect = match self.reader.types.width(kind) {
            Some(64) => "atomic64",
            Some(16) => "ext_oneapi_atomic16",
            _ => return,
        };
        step.own |= self.reader.types.bit(Cow::Borrowed(aspect));
        step.shown = kind;
    }

    fn is_float(&self, kind: u32) -> bool {
        let element = self.reader.types.member(kind, 0);
        let is = |kind: u32| matches!(self.reader.types.get(kind), Some(Type::Half | Type::Float | Type::Double));
        is(kind) || is(element)
    }

    fn arithmetic(&self, operation: u64, kind: u32) -> &'static str {
        let float = self.is_float(kind);
        match (operation, float) {
            (0, true) => "fadd",
            (1, true) => "fsub",
            (2, true) => "fmul",
            (4, true) => "fdiv",
            (6, true) => "frem",
            (0, false) => "add",
            (1, false) => "sub",
            (2, false) => "mul",
            (3, _) => "udiv",
            (4, false) => "sdiv",
            (5, _) => "urem",
            (6, false) => "srem",
            (7, _) => "shl",
            (8, _) => "lshr",
            (9, _) => "ashr",
            (10, _) => "and",
            (11, _) => "or",
            (12, _) => "xor",
            _ => "binary operation",
        }
    }

    /// Notes the aspects of an instruction that are new.
    fn show(&mut self, step: &Step<'_>, offset: u64) {
        // An image counts where a kernel gets or loads it.
        let bits = step.mask & !IMAGE | step.own;
        let fresh = bits & !self.seen;
        // A parameter shows the use first and has no place; what is done with it has.
        let again = bits & self.seen & !self.placed;
        if again != 0 {
            self.again = Some(Again { bits: again, name: step.name.clone(), shown: step.shown, offset });
        }
        if fresh != 0 {
            self.seen |= fresh;
            let at = self.instruction;
            let new: Vec<Use> = self.uses_of(fresh, &step.name, step.shown, offset);
            self.uses.extend(new.into_iter().map(|one| (one, at)));
        }
    }

    fn uses_of(&self, bits: u64, name: &str, shown: u32, offset: u64) -> Vec<Use> {
        let instruction = format!("{name} {}", self.reader.types.brief(shown));
        let aspects = self.reader.types.aspects.iter().take(64).enumerate();
        let new = aspects.filter(|(at, _)| bits & 1u64.wrapping_shl(*at as u32) != 0).map(|(_, aspect)| Use {
            aspect: aspect.clone(),
            instruction: instruction.clone(),
            offset,
            place: None,
            inlined: Vec::new(),
        });
        new.collect()
    }

    /// Gives the last instruction its place in the source.
    fn located(&mut self) {
        let [line, column, scope, inlined] = self.place;
        let at = self.instruction;
        if let Some(Again { bits, name, shown, offset }) = self.again.take() {
            let new = self.uses_of(bits, &name, shown, offset);
            self.uses.retain(|(known, _)| new.iter().all(|one| one.aspect != known.aspect));
            self.uses.extend(new.into_iter().map(|one| (one, at)));
        }
        let uses = self.uses.iter_mut().rev().take_while(|(_, of)| *of == at);
        let calls = self.calls.iter_mut().rev().take_while(|(_, of)| *of == at);
        let mut told: Option<(Option<SourceLocation>, Vec<Inlined>)> = None;
        let metadata = &self.reader.metadata;
        let mut placed = 0u64;
        let mut tell = || told.get_or_insert_with(|| metadata.place(line, column, scope, inlined)).clone();
        let aspects = &self.reader.types.aspects;
        uses.for_each(|(one, _)| {
            (one.place, one.inlined) = tell();
            let at = aspects.iter().position(|aspect| *aspect == one.aspect);
            placed |= at.and_then(|at| 1u64.checked_shl(at as u32)).unwrap_or(0);
        });
        calls.for_each(|(one, _)| (one.place, one.inlined) = tell());
        self.placed |= placed;
    }

    /// Reads attachments; returns those of the function itself.
    fn attachments(&mut self, mut block: Cursor<'a>) -> Result<Vec<u64>> {
        let mut own = Vec::new();
        while let Some(item) = block.next()? {
            let Item::Record(record) = item else { continue };
            let (instruction, pairs) = match record.operands.as_slice() {
                [instruction, pairs @ ..] if record.operands.len() % 2 == 1 => (Some(*instruction), pairs),
                pairs => (None, pairs),
            };
            match instruction {
                None => own.extend_from_slice(pairs),
                // Aspects that an instruction is marked with are used by its function.
                Some(_) => {
                    let used = self.reader.recorded(pairs).used;
                    let step = Step { name: "instruction marked".into(), ..Step::new(&[]) };
                    for aspect in used.into_iter().flatten().filter_map(|aspect| aspect.name) {
                        let bit = self.reader.types.bit(Cow::Owned(aspect));
                        self.show(&Step { own: bit, name: step.name.clone(), ..Step::new(&[]) }, block.byte());
                    }
                }
            }
        }
        Ok(own)
    }

    fn finish(self, at: usize, pairs: &[u64], names: &HashMap<u32, String>) {
        let recorded = self.reader.recorded(pairs);
        let kernel = self.reader.module.functions.get(at).is_some_and(|function| function.kernel);
        let arguments = if kernel { self.reader.arguments(at, pairs, names) } else { Vec::new() };
        let esimd = self.reader.metadata.attached(pairs, &["sycl_explicit_simd"]).is_some();
        let mut uses: Vec<Use> = self.uses.into_iter().map(|(one, _)| one).collect();
        if esimd {
            uses.push(Use {
                aspect: Cow::Borrowed("ext_intel_esimd"),
                instruction: "!sycl_explicit_simd".to_owned(),
                offset: 0,
                place: None,
                inlined: Vec::new(),
            });
        }
        let mut variables: Vec<usize> = self.variables.into_iter().collect();
        variables.sort_unstable();
        if let Some(function) = self.reader.module.functions.get_mut(at) {
            function.recorded = recorded;
            function.arguments = arguments;
            function.uses = uses;
            function.calls = self.calls.into_iter().map(|(one, _)| one).collect();
            function.variables = variables;
            function.unread = self.unread;
        }
    }
}

impl<'o> Step<'o> {
    fn new(operands: &'o [u64]) -> Step<'o> {
        Step { operands, mask: 0, shown: NO_TYPE, result: None, own: 0, name: Cow::Borrowed("") }
    }
}

/// Reads the names of a function's parameters, by their positions.
fn symbols(mut block: Cursor<'_>, first: usize) -> Result<HashMap<u32, String>> {
    const ENTRY: u64 = 1;
    let mut names = HashMap::new();
    while let Some(item) = block.next()? {
        if let Item::Record(record) = item
            && let (ENTRY, [value, letters @ ..]) = (record.code, record.operands.as_slice())
            && let Some(position) = value.checked_sub(first as u64).and_then(|at| u32::try_from(at).ok())
        {
            names.insert(position, text(letters));
        }
    }
    Ok(names)
}

/// Whether a function is an atomic operation of SPIR-V or of OpenCL C, by its mangled name.
fn is_atomic(name: &str) -> bool {
    let plain = name.strip_prefix("_Z").unwrap_or(name).trim_start_matches(|letter: char| letter.is_ascii_digit());
    ["__spirv_Atomic", "atomic_", "atom_"].iter().any(|prefix| plain.starts_with(prefix))
}
