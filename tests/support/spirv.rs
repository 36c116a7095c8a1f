//! How do the texts in `fixtures/spirv` become modules?
//!
//! An assembler of the common text form, driven by rspirv's grammar tables, since the machines that test have no
//! `spirv-as`. It numbers ids by first appearance as that does, so the two agree byte for byte but for the generator,
//! which is given as the LLVM translator: what DPC++ writes. `; Version: 1.4` in a comment chooses the version.

mod operands;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::Op;

use operands::Operands;

/// The generator's number in the Khronos registry (6, LLVM/SPIR-V translator) and its version.
const GENERATOR: u32 = 6 << 16 | 14;

/// Assembles `fixtures/spirv/NAME.spvasm`.
pub fn module(name: &str) -> Vec<u8> {
    module_of("spirv", name)
}

/// Assembles `fixtures/FOLDER/NAME.spvasm`.
pub fn module_of(folder: &str, name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{folder}/{name}.spvasm"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assemble(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Assembles a text. The error names the line.
pub fn assemble(text: &str) -> Result<Vec<u8>, String> {
    let mut assembler = Assembler::default();
    let mut version = 0x0001_0000;
    let mut body = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(minor) = line.strip_prefix("; Version: 1.") {
            version = 0x0001_0000 | minor.trim().parse::<u32>().map_err(|error| error.to_string())? << 8;
        }
        let instruction = assembler.line(line).map_err(|error| format!("line {number}: {error}: {line}"))?;
        body.extend(instruction);
    }
    let bound = assembler.ids.len() as u32 + 1;
    let header = [rspirv::spirv::MAGIC_NUMBER, version, GENERATOR, bound, 0];
    Ok(header.iter().chain(&body).flat_map(|word| word.to_le_bytes()).collect())
}

/// Asserts that `spirv-val` takes a module. Only with the feature `real-world`: elsewhere there is no such program.
pub fn valid(module: &[u8], options: &[&str]) {
    if !cfg!(feature = "real-world") {
        return;
    }
    let mut command = Command::new(super::tools::tool("spirv-val"));
    let streams = command.args(options).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    child.stdin.take().unwrap().write_all(module).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
}

/// A number's width in bits and whether it is a floating-point one.
#[derive(Clone, Copy)]
struct Number {
    width: u32,
    float: bool,
}

#[derive(Default)]
struct Assembler {
    ids: HashMap<String, u32>,
    /// The number types, by id; how literals of a constant are written depends on them.
    numbers: HashMap<u32, Number>,
    /// The names of the extended sets, by id.
    sets: HashMap<u32, String>,
}

impl Assembler {
    fn id(&mut self, name: &str) -> Result<u32, String> {
        let name = name.strip_prefix('%').ok_or_else(|| format!("`{name}` is no id"))?;
        let next = self.ids.len() as u32 + 1;
        Ok(*self.ids.entry(name.to_owned()).or_insert(next))
    }

    fn line(&mut self, line: &str) -> Result<Vec<u32>, String> {
        let tokens = tokens(line)?;
        let (result, tokens) = match &tokens[..] {
            [] => return Ok(Vec::new()),
            [result, equals, rest @ ..] if equals == "=" => (Some(self.id(result)?), rest),
            all => (None, all),
        };
        let (name, tokens) = tokens.split_first().ok_or("no instruction")?;
        let bare = name.strip_prefix("Op").ok_or_else(|| format!("`{name}` is no instruction"))?;
        let grammar = INSTRUCTION_TABLE
            .iter()
            .find(|instruction| instruction.opname == bare)
            .ok_or_else(|| format!("`{name}` is no instruction"))?;
        let mut operands = Operands { assembler: self, tokens, words: Vec::new(), result_type: None };
        for operand in grammar.operands {
            if operand.kind == OperandKind::IdResult {
                operands.words.push(result.ok_or("no result")?);
                continue;
            }
            match operand.quantifier {
                OperandQuantifier::One => operands.one(operand.kind)?,
                OperandQuantifier::ZeroOrOne if operands.tokens.is_empty() => {}
                OperandQuantifier::ZeroOrOne => operands.one(operand.kind)?,
                OperandQuantifier::ZeroOrMore => {
                    while !operands.tokens.is_empty() {
                        operands.one(operand.kind)?;
                    }
                }
            }
        }
        let Operands { tokens: [], words, .. } = operands else {
            return Err("more operands than the instruction has".to_owned());
        };
        if let (Op::ExtInstImport, Some(id), Some(name)) = (grammar.opcode, words.first(), tokens.first()) {
            self.sets.insert(*id, name.trim_start_matches('"').to_owned());
        }
        if let (Op::TypeInt | Op::TypeFloat, [id, width, ..]) = (grammar.opcode, &words[..]) {
            self.numbers.insert(*id, Number { width: *width, float: grammar.opcode == Op::TypeFloat });
        }
        let head = (words.len() as u32 + 1) << 16 | grammar.opcode as u32;
        Ok(std::iter::once(head).chain(words).collect())
    }
}

/// Splits a line at spaces; strings keep their opening quote as a mark.
fn tokens(line: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(&first) = chars.peek() {
        match first {
            ';' => break,
            '"' => {
                let mut token = String::from(chars.next().unwrap());
                loop {
                    match chars.next().ok_or("a string without end")? {
                        '"' => break,
                        '\\' => token.push(chars.next().ok_or("a string without end")?),
                        c => token.push(c),
                    }
                }
                tokens.push(token);
            }
            c if c.is_whitespace() => {
                chars.next();
            }
            _ => {
                let mut token = String::new();
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && *c != ';') {
                    token.push(c);
                }
                tokens.push(token);
            }
        }
    }
    Ok(tokens)
}
