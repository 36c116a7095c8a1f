//! How is one operand of an instruction written as words?

use rspirv::dr::Operand;
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier, ext_inst_table};
use rspirv::spirv;

use super::Assembler;

/// The operands of one instruction while it is assembled.
pub(super) struct Operands<'a> {
    pub(super) assembler: &'a mut Assembler,
    /// Not yet consumed.
    pub(super) tokens: &'a [String],
    pub(super) words: Vec<u32>,
    /// Decides the form of literals.
    pub(super) result_type: Option<u32>,
}

/// Writes the operand `$value` of an enumeration, then the parameters that its value asks for.
macro_rules! enumeration {
    ($self:ident, $kind:ident) => {{
        let token = $self.next()?;
        let value: spirv::$kind =
            token.parse().map_err(|()| format!(concat!("`{}` is no ", stringify!($kind)), token))?;
        $self.words.push(value as u32);
        $self.parameters(&Operand::$kind(value))
    }};
}

/// Makes a parser for a set of flags, written `A|B`; `None` is the empty set.
macro_rules! flags {
    ($self:ident, $kind:ident) => {{
        let mut value = spirv::$kind::empty();
        for name in $self.next()?.split('|').filter(|name| *name != "None") {
            value |= spirv::$kind::from_name(&screaming(name))
                .ok_or_else(|| format!(concat!("`{}` is no ", stringify!($kind)), name))?;
        }
        $self.words.push(value.bits());
        $self.parameters(&Operand::$kind(value))
    }};
}

impl Operands<'_> {
    fn next(&mut self) -> Result<&str, String> {
        let (token, rest) = self.tokens.split_first().ok_or("too few operands")?;
        self.tokens = rest;
        Ok(token)
    }

    fn parameters(&mut self, operand: &Operand) -> Result<(), String> {
        operand.additional_operands().iter().try_for_each(|parameter| self.one(parameter.kind))
    }

    fn id(&mut self) -> Result<u32, String> {
        let token = self.next()?.to_owned();
        let id = self.assembler.id(&token)?;
        self.words.push(id);
        Ok(id)
    }

    /// Writes one operand of a kind.
    pub(super) fn one(&mut self, kind: OperandKind) -> Result<(), String> {
        match kind {
            OperandKind::IdResultType => {
                self.result_type = Some(self.id()?);
                Ok(())
            }
            OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => self.id().map(drop),
            // The name of an instruction, then its operands.
            OperandKind::LiteralSpecConstantOpInteger => {
                let name = self.next()?.to_owned();
                let opcode = INSTRUCTION_TABLE.iter().find(|instruction| instruction.opname == name);
                let opcode = opcode.ok_or_else(|| format!("`{name}` is no instruction"))?.opcode;
                self.words.push(opcode as u32);
                while !self.tokens.is_empty() {
                    self.id()?;
                }
                Ok(())
            }
            OperandKind::PairIdRefIdRef => self.id().and(self.id()).map(drop),
            OperandKind::PairIdRefLiteralInteger => self.id().and_then(|_| self.one(OperandKind::LiteralInteger)),
            OperandKind::LiteralInteger => {
                let word = self.next()?.parse::<u32>().map_err(|error| error.to_string())?;
                self.words.push(word);
                Ok(())
            }
            OperandKind::LiteralContextDependentNumber => self.number(),
            OperandKind::LiteralString => self.string(),
            OperandKind::LiteralExtInstInteger => self.extended(),
            OperandKind::OpenclDebuginfo100(_) => self.debug_flags(),
            OperandKind::Capability => enumeration!(self, Capability),
            OperandKind::AddressingModel => enumeration!(self, AddressingModel),
            OperandKind::MemoryModel => enumeration!(self, MemoryModel),
            OperandKind::ExecutionModel => enumeration!(self, ExecutionModel),
            OperandKind::ExecutionMode => enumeration!(self, ExecutionMode),
            OperandKind::SourceLanguage => enumeration!(self, SourceLanguage),
            OperandKind::StorageClass => enumeration!(self, StorageClass),
            OperandKind::Decoration => enumeration!(self, Decoration),
            OperandKind::BuiltIn => enumeration!(self, BuiltIn),
            OperandKind::LinkageType => enumeration!(self, LinkageType),
            OperandKind::FunctionParameterAttribute => enumeration!(self, FunctionParameterAttribute),
            OperandKind::GroupOperation => enumeration!(self, GroupOperation),
            OperandKind::ImageFormat => enumeration!(self, ImageFormat),
            OperandKind::AccessQualifier => enumeration!(self, AccessQualifier),
            OperandKind::ImageOperands => flags!(self, ImageOperands),
            OperandKind::Dim => {
                // The names begin with a digit in the text and with `Dim` in the grammar.
                const DIMENSIONS: [(&str, u32); 5] = [("1D", 0), ("2D", 1), ("3D", 2), ("Cube", 3), ("Buffer", 5)];
                let name = self.next()?;
                let known = DIMENSIONS.iter().find(|(known, _)| *known == name);
                let word = known.ok_or_else(|| format!("`{name}` is no Dim"))?.1;
                self.words.push(word);
                Ok(())
            }
            OperandKind::FunctionControl => flags!(self, FunctionControl),
            OperandKind::MemoryAccess => flags!(self, MemoryAccess),
            OperandKind::SelectionControl => flags!(self, SelectionControl),
            OperandKind::LoopControl => flags!(self, LoopControl),
            OperandKind::FPRoundingMode => enumeration!(self, FPRoundingMode),
            other => Err(format!("operands of the kind {other:?} are not supported")),
        }
    }

    /// A literal whose size is that of the result's type: narrow ones fill a word, wide ones take two.
    fn number(&mut self) -> Result<(), String> {
        let kind = self.result_type.and_then(|id| self.assembler.numbers.get(&id).copied());
        let kind = kind.ok_or("a literal of a type that is no number")?;
        let token = self.next()?;
        let bits = match (kind.float, kind.width) {
            (true, 64) => parse::<f64>(token)?.to_bits(),
            (true, 32) => u64::from(parse::<f32>(token)?.to_bits()),
            (true, 16) => u64::from(half(parse::<f32>(token)?).ok_or_else(|| format!("`{token}` is no half"))?),
            (false, 8..=64) => parse::<i128>(token)? as u64,
            (_, width) => return Err(format!("literals of {width} bits are not supported")),
        };
        self.words.push(bits as u32);
        if kind.width > 32 {
            self.words.push((bits >> 32) as u32);
        }
        Ok(())
    }

    /// UTF-8, ended by a NUL, filled to a whole word.
    fn string(&mut self) -> Result<(), String> {
        let token = self.next()?;
        let text = token.strip_prefix('"').ok_or_else(|| format!("`{token}` is no string"))?;
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len() / 4 * 4 + 4, 0);
        self.words.extend(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())));
        Ok(())
    }

    /// An instruction of an extended set by its name, and its operands by the grammar of that set.
    fn extended(&mut self) -> Result<(), String> {
        let set = *self.words.last().ok_or("no extended set")?;
        let set = self.assembler.sets.get(&set).cloned().ok_or("an extended set that is not imported")?;
        let name = self.next()?.to_owned();
        let known = ext_inst_table(&set).ok_or_else(|| format!("no grammar of {set}"))?;
        if let Some(instruction) = known.iter().find(|instruction| instruction.opname == name) {
            self.words.push(instruction.opcode.into());
            for operand in instruction.operands {
                match operand.quantifier {
                    OperandQuantifier::ZeroOrOne if self.tokens.is_empty() => {}
                    OperandQuantifier::One | OperandQuantifier::ZeroOrOne => self.one(operand.kind)?,
                    OperandQuantifier::ZeroOrMore => {
                        while !self.tokens.is_empty() {
                            self.one(operand.kind)?;
                        }
                    }
                }
            }
            return Ok(());
        }
        Err(format!("{set} has no `{name}`"))
    }

    /// Flags of debug information, of which the texts use one.
    fn debug_flags(&mut self) -> Result<(), String> {
        let flags = match self.next()? {
            "None" => 0,
            "FlagIsDefinition" => 8,
            other => return Err(format!("`{other}` is no known debug flag")),
        };
        self.words.push(flags);
        Ok(())
    }
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(token: &str) -> Result<T, String> {
    token.parse().map_err(|error| format!("`{token}`: {error}"))
}

/// The bits of a normal number that is exact in half precision (Rust's own f16 is not stable).
fn half(value: f32) -> Option<u16> {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    let exact = (1..31).contains(&exponent) && bits & 0x1fff == 0;
    exact.then_some((bits >> 16 & 0x8000) as u16 | (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16)
}

/// `DontInline` as the flag's constant is named: `DONT_INLINE`.
fn screaming(name: &str) -> String {
    let mut screaming = String::new();
    for (i, c) in name.char_indices() {
        if i > 0 && c.is_ascii_uppercase() {
            screaming.push('_');
        }
        screaming.push(c.to_ascii_uppercase());
    }
    screaming
}
