//! What does PTX, NVIDIA's assembly text, declare?
//!
//! `.version`, `.target`, and per kernel an `.entry` with its parameters and limits, as the PTX ISA document has them.
//! Statements within functions are not read: registers and scratch memory are settled by `ptxas` only. Everything else is
//! read as `ptxas` reads it, and what `ptxas` 12.9 or 13.5 does not take, or nobody here knows, goes into the words for the
//! device, for which the code then is not known to be.

mod entry;
mod header;
mod lexer;
mod variables;

use super::{Items, Kernel, Part, Read};
use crate::bundle::format::Format;
use crate::error::{Error, Result};
use crate::limits;
use header::Version;
use lexer::Lexer;
use std::collections::{HashMap, HashSet};

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let text = data.split(|&byte| byte == 0).next().unwrap_or_default();
    let is_padded = data.iter().skip(text.len()).all(|byte| *byte == 0);
    let text = std::str::from_utf8(text)
        .map_err(|error| Error::at(error.valid_up_to() as u64, "PTX that is no UTF-8 text"))?;
    let mut reader = Reader::new(text, items);
    if !is_padded {
        reader.strange("something behind its end");
    }
    reader.header();
    reader.module();
    if reader.part.stated.is_empty() {
        let offset = text.len().saturating_sub(reader.lexer.rest.len());
        return Err(Error::at(offset as u64, "PTX without .target"));
    }
    Ok(Read::from(reader.finish()))
}

/// Functions that NVIDIA's driver defines.
pub(crate) const OF_NVIDIAS_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
/// Names of functions and variables that are looked for among what is used.
const MOST_DECLARED: usize = 1 << 16;
/// Most of what is strange that is told.
const MOST_TOLD: usize = 4;
/// Bytes of shared memory that a kernel may have without asking for more when it is launched.
const MOST_SHARED: u64 = 48 << 10;
/// Blocks within blocks of which no compiler makes as many.
const MOST_DEPTH: usize = 1000;
/// Bytes of constants in a module.
const MOST_CONSTANT: u64 = 64 << 10;

/// Function or kernel by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declared {
    /// A body is somewhere else; whether something calls it, or must find it all the same.
    Elsewhere {
        is_needed: bool,
    },
    Defined,
}

/// Variable in shared memory.
#[derive(Clone, Copy)]
struct Shared {
    size: u64,
    is_in_function: bool,
}

/// Body of a function.
#[derive(Default)]
struct Body<'t> {
    /// Bytes of shared memory that it declares.
    size: u64,
    /// Variables of the module in shared memory that it names.
    named: HashSet<&'t str>,
    /// Whether it names a function.
    calls: bool,
}

struct Reader<'t, 'i> {
    lexer: Lexer<'t>,
    items: &'i Items<'i>,
    part: Part,
    /// Statements that are not taken.
    strange: Vec<String>,
    version: Version,
    /// The number of the GPU, 0 where that is not known.
    gpu: u32,
    /// Functions and kernels.
    functions: HashMap<&'t str, Declared>,
    /// Functions with a number for the types of their parameters.
    signatures: HashMap<&'t str, u64>,
    variables: HashSet<&'t str>,
    /// Variables of the module in shared memory.
    shared: HashMap<&'t str, Shared>,
    /// Bodies of kernels that may have shared memory, by their names.
    bodies: Vec<(&'t str, Body<'t>)>,
    /// Bytes of shared memory that functions declare.
    shared_of_functions: u64,
    constants: u64,
    /// Whether samplers are apart from textures (`texmode_independent`).
    has_samplers: bool,
    /// Whether sections for debuggers must be there, and are not so far.
    must_debug: bool,
    /// Numbers of files.
    files: HashSet<&'t str>,
}

impl<'t, 'i> Reader<'t, 'i> {
    fn new(text: &'t str, items: &'i Items<'i>) -> Self {
        Reader {
            lexer: Lexer::new(text),
            items,
            part: Part::new(Format::Ptx, text.len()),
            strange: Vec::new(),
            version: (0, 0),
            gpu: 0,
            functions: HashMap::new(),
            signatures: HashMap::new(),
            variables: HashSet::new(),
            shared: HashMap::new(),
            bodies: Vec::new(),
            shared_of_functions: 0,
            constants: 0,
            has_samplers: false,
            must_debug: false,
            files: HashSet::new(),
        }
    }

    /// Tells something that is not taken.
    fn strange(&mut self, what: impl Into<String>) {
        if self.strange.len() < MOST_TOLD {
            self.strange.push(what.into());
        }
    }

    fn word(&mut self) -> &'t str {
        self.lexer.word()
    }

    /// Returns the word behind a certain one, and tells that something else is there.
    fn behind(&mut self, expected: &str, found: &'t str) -> &'t str {
        if found == expected {
            return self.word();
        }
        self.strange(format!("`{found:.40}` in place of `{expected}`"));
        found
    }

    /// `.version 8.0`, `.target sm_80, debug`, `.address_size 64`, in this order and once.
    fn header(&mut self) {
        let mut word = self.word();
        while !word.is_empty() && word != ".version" && word != ".target" {
            self.strange(format!("`{word:.40}` before .version"));
            word = self.word();
        }
        if word == ".version" {
            let behind = self.lexer.rest;
            let text = self.word();
            let gap = behind.len().saturating_sub(text.len()).saturating_sub(self.lexer.rest.len());
            let is_near = gap > 0 && behind.bytes().take(gap).all(|byte| matches!(byte, b' ' | b'\t'));
            self.part.version = Some(text.to_owned());
            match header::version(text).filter(|_| is_near) {
                Some(version) => self.version = version,
                None => self.strange(format!("PTX {text:.40}")),
            }
            word = self.word();
        } else {
            self.strange("no .version");
        }
        while !word.is_empty() && word != ".target" {
            self.strange(format!("`{word:.40}` before .target"));
            word = self.word();
        }
        self.target();
    }

    /// `sm_80, texmode_independent`, and the size of addresses behind it.
    fn target(&mut self) {
        let target = self.word();
        self.part.stated = target.to_owned();
        self.part.devices = vec![format!("nvidia_gpu_{target}")];
        if !header::is_known(target, self.version) {
            self.strange(format!("no GPU that PTX {}.{} knows", self.version.0, self.version.1));
        }
        let digits = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
        self.gpu = digits.parse().unwrap_or_default();
        let mut has_mode = false;
        while self.lexer.take(",") {
            match self.word() {
                "debug" if !self.must_debug => self.must_debug = true,
                mode @ ("texmode_unified" | "texmode_independent") if !has_mode => {
                    has_mode = true;
                    self.has_samplers = mode == "texmode_independent";
                }
                option => self.strange(format!("option `{option:.40}`")),
            }
        }
        if self.lexer.take(".address_size") {
            let bits = self.word();
            if bits != "64" {
                self.strange(format!("{bits:.40} bits"));
            }
        }
    }

    /// Everything behind the header.
    fn module(&mut self) {
        // Nothing else counts once the items are used up.
        while !self.items.refused() {
            let word = self.word();
            let (linkage, word) = match word {
                ".visible" | ".extern" | ".weak" | ".common" => (word, self.word()),
                _ => ("", word),
            };
            match word {
                "" if linkage.is_empty() => break,
                ".entry" if linkage != ".common" => self.entry(linkage),
                ".func" if linkage != ".common" => self.function(linkage),
                ".global" | ".const" | ".shared" => self.variable(word, linkage),
                _ if !linkage.is_empty() => self.strange(format!("`{word:.40}` behind `{linkage}`")),
                ".file" => self.file(),
                ".section" => self.section(),
                ".pragma" => self.pragma(),
                ".alias" => self.alias(),
                _ => self.strange(format!("`{word:.40}` outside of functions")),
            }
        }
    }

    /// `NAME ( .param TYPE NAME, ... ) .reqntid X, Y, Z {`
    fn entry(&mut self, linkage: &'t str) {
        let name = self.word();
        if !is_name(name) {
            self.strange(format!("kernel `{name:.40}`"));
        }
        if name.is_empty() || self.items.take(name).is_none() {
            return;
        }
        let mut kernel = Kernel { name: name.to_owned(), simd: Some(32), ..Kernel::default() };
        let mut word = self.word();
        if word == "(" {
            self.parameters(&mut kernel);
            word = self.word();
        }
        word = self.limits(&mut kernel, word);
        if word == "{" && linkage != ".extern" && !self.functions.contains_key(name) {
            self.declare(name, true, false);
        } else {
            self.strange(format!("kernel `{name:.40}` without a body of its own, or a second one"));
        }
        if word == "{" {
            self.part.kernels.push(kernel.into());
            let body = self.body();
            if body.size > 0 || body.calls || !body.named.is_empty() {
                self.bodies.push((name, body));
            }
        }
    }

    /// Notes a function or a kernel.
    fn declare(&mut self, name: &'t str, is_defined: bool, is_of_others: bool) {
        if self.functions.len() >= MOST_DECLARED {
            return self.strange("too many functions");
        }
        let elsewhere = Declared::Elsewhere { is_needed: !is_of_others };
        match self.functions.get(name) {
            Some(Declared::Defined) => self.strange(format!("`{name:.40}` twice")),
            Some(Declared::Elsewhere { .. }) if !is_defined => {}
            _ => _ = self.functions.insert(name, if is_defined { Declared::Defined } else { elsewhere }),
        }
        if self.variables.contains(name) {
            self.strange(format!("`{name:.40}` twice"));
        }
    }

    /// `(RESULT) NAME (PARAMETERS) .noreturn {`
    fn function(&mut self, linkage: &'t str) {
        let mut signature = 0;
        let mut name = self.word();
        let has_result = name == "(";
        if has_result {
            signature = self.signature();
            name = self.word();
        }
        if !is_name(name) {
            self.strange(format!("function `{name:.40}`"));
        }
        let mut word = self.word();
        if word == "(" {
            signature = signature.wrapping_mul(31).wrapping_add(self.signature());
            word = self.word();
        }
        if word == ".noreturn" {
            if has_result || self.version < (6, 4) {
                self.strange(format!("`.noreturn` of function `{name:.40}`"));
            }
            word = self.word();
        }
        if self.signatures.len() < MOST_DECLARED && *self.signatures.entry(name).or_insert(signature) != signature {
            self.strange(format!("function `{name:.40}` with two lists of parameters"));
        }
        match word {
            "{" => {
                if linkage == ".extern" || OF_NVIDIAS_DRIVER.contains(&name) {
                    self.strange(format!("function `{name:.40}` of others with a body"));
                }
                self.declare(name, true, false);
                let Body { size, named, .. } = self.body();
                self.shared_of_functions = self.shared_of_functions.saturating_add(size);
                for name in named {
                    if let Some(shared) = self.shared.get_mut(name) {
                        shared.is_in_function = true;
                    }
                }
            }
            ";" if OF_NVIDIAS_DRIVER.contains(&name) => {}
            ";" => self.declare(name, false, linkage == ".extern"),
            _ => self.strange(format!("`{word:.40}` of function `{name:.40}`")),
        }
    }

    /// Goes behind the next such word.
    fn skip_to(&mut self, end: &str) {
        loop {
            let word = self.word();
            if word.is_empty() || word == end {
                return;
            }
        }
    }

    /// Reads the parameters of a function, up to the closing parenthesis. Returns a number that others of the same types have.
    fn signature(&mut self) -> u64 {
        let mut number = 1u64;
        let mut note = |word: &str| {
            number = word.bytes().fold(number, |number, byte| number.wrapping_mul(31).wrapping_add(byte.into()));
        };
        let mut names = HashSet::new();
        let mut word = self.word();
        if word == ")" {
            return number;
        }
        loop {
            note(word);
            let is_register = word == ".reg";
            word = if is_register { self.word() } else { self.behind(".param", word) };
            if word == ".align" {
                let (alignment, behind) = self.alignment();
                note(&alignment.unwrap_or(0).to_string());
                word = behind;
            }
            note(word);
            let is_truth = is_register && word == ".pred";
            if self.is_ahead(word) || size(word).is_none() && !is_truth {
                self.strange(format!("a parameter of type `{word:.40}`"));
            }
            let name = self.word();
            if !is_name(name.trim_start_matches('%')) || !names.insert(name) {
                self.strange(format!("a parameter `{name:.40}`"));
            }
            word = self.word();
            if word == "[" {
                // Without a number that is what varies.
                if self.lexer.take("]") {
                    word = self.word();
                } else {
                    let (count, behind) = self.count();
                    note(&count.unwrap_or(0).to_string());
                    word = behind;
                }
            }
            match word {
                "," => word = self.word(),
                ")" => break,
                _ => {
                    self.strange(format!("`{word:.40}` among the parameters of a function"));
                    break;
                }
            }
        }
        number
    }

    /// Whether a type came with a later version or GPU.
    fn is_ahead(&self, kind: &str) -> bool {
        kind == ".b128" && (self.version < (8, 3) || self.gpu < 70)
    }

    /// Reads the body of a function behind its first brace.
    fn body(&mut self) -> Body<'t> {
        let mut body = Body::default();
        let mut depth = 1usize;
        loop {
            let word = self.word();
            let begins_name = word.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '$'));
            match word {
                // Most words are of instructions, which have dots as no name has.
                _ if begins_name && word.contains('.') => {}
                _ if begins_name => {
                    match self.functions.get_mut(word) {
                        Some(Declared::Elsewhere { is_needed }) => {
                            *is_needed = true;
                            body.calls = true;
                        }
                        Some(Declared::Defined) => body.calls = true,
                        None => {}
                    }
                    if self.shared.contains_key(word) {
                        body.named.insert(word);
                    }
                }
                _ if !word.starts_with(['.', '{', '}']) && !word.is_empty() => {}
                "" => {
                    self.strange("a body without an end");
                    break;
                }
                "{" => {
                    depth = depth.saturating_add(1);
                    if depth == MOST_DEPTH {
                        self.strange("blocks within blocks");
                    }
                }
                "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                ".shared" => {
                    for (_, bytes) in self.declarators(".shared", "") {
                        body.size = body.size.saturating_add(bytes);
                    }
                }
                ".const" => {
                    let bytes = self.declarators(".const", "");
                    self.constants = bytes.iter().fold(self.constants, |sum, (_, bytes)| sum.saturating_add(*bytes));
                }
                // Compilers pass over what they do not know there.
                ".pragma" => self.skip_to(";"),
                ".entry" | ".func" | ".version" | ".target" | ".address_size" | ".file" | ".section" | ".alias"
                | ".visible" | ".weak" | ".common" | ".extern" | ".maxnreg" | ".noreturn" | ".attribute" => {
                    self.strange(format!("`{word}` in a body"));
                }
                _ => {}
            }
        }
        body
    }

    /// `1 "name", TIME, SIZE`
    fn file(&mut self) {
        let is_number = |word: &str| word.parse::<u32>().is_ok();
        let number = self.word();
        if !is_number(number) || self.files.len() >= MOST_DECLARED || !self.files.insert(number) {
            self.strange(format!("file `{number:.40}`"));
        }
        let name = self.word();
        if !name.starts_with('"') {
            self.strange(format!("`{name:.40}` in place of a file's name"));
        }
        for _ in 0..2 {
            if self.lexer.take(",") {
                let number = self.word();
                if number.parse::<u64>().is_err() {
                    self.strange(format!("`{number:.40}` of a file"));
                }
            }
        }
    }

    /// `.debug_info { .b8 1, 2  label: .b32 label+4 }`
    fn section(&mut self) {
        let name = self.word();
        self.must_debug &= !name.starts_with(".debug_");
        let word = self.word();
        if word != "{" || !name.strip_prefix('.').is_some_and(|name| is_name(&format!("a{name}"))) {
            return self.strange(format!("`{word:.40}` of section `{name:.40}`"));
        }
        let mut word = self.word();
        while word != "}" {
            word = match word {
                ".b8" | ".b16" | ".b32" | ".b64" => self.values(),
                "" => return self.strange("a section without an end"),
                label if is_name(label) && self.lexer.take(":") => self.word(),
                _ => {
                    self.strange(format!("`{word:.40}` in section `{name:.40}`"));
                    self.word()
                }
            };
        }
    }

    /// Reads the values of data for debuggers, and returns the word behind them.
    fn values(&mut self) -> &'t str {
        loop {
            let mut word = self.word();
            loop {
                if word == "-" {
                    word = self.word();
                }
                let is_number = word.starts_with(|digit: char| digit.is_ascii_digit()) && !word.contains('.');
                if !is_number && !is_name(word.strip_prefix('.').unwrap_or(word)) {
                    self.strange(format!("`{word:.40}` among data for debuggers"));
                }
                word = self.word();
                if !matches!(word, "+" | "-") {
                    break;
                }
                word = self.word();
            }
            if word != "," {
                return word;
            }
        }
    }

    /// `"nounroll";`
    fn pragma(&mut self) {
        let text = self.word();
        if text != "\"nounroll" {
            self.strange(format!("pragma `{:.40}`", text.trim_start_matches('"')));
        }
        let word = self.word();
        if word != ";" {
            self.strange(format!("`{word:.40}` behind a pragma"));
        }
    }

    /// `NAME, FUNCTION;`
    fn alias(&mut self) {
        let name = self.word();
        let is_list = self.lexer.take(",");
        let function = self.word();
        match [name, function].map(|name| self.functions.get(name)) {
            [Some(Declared::Elsewhere { .. }), Some(Declared::Defined)] if is_list => {
                self.functions.insert(name, Declared::Defined);
            }
            _ => self.strange(format!("an alias `{name:.40}`")),
        }
        let word = self.word();
        if word != ";" || self.version < (6, 3) {
            self.strange(format!("an alias `{name:.40}`"));
        }
    }

    /// Returns what was read, with what is strange in the words for the device.
    fn finish(mut self) -> Part {
        if let Some(what) = self.lexer.strange.take() {
            self.strange(what);
        }
        if self.must_debug {
            self.strange("no sections for debuggers, which `debug` asks for");
        }
        if self.constants > MOST_CONSTANT {
            self.strange(format!("{} bytes of constants", self.constants));
        }
        let in_functions = self.shared.values().filter(|shared| shared.is_in_function);
        let of_functions = in_functions.fold(self.shared_of_functions, |sum, shared| sum.saturating_add(shared.size));
        for (kernel, Body { size, named, calls }) in std::mem::take(&mut self.bodies) {
            let named = named.iter().filter_map(|name| self.shared.get(name));
            let named = named.filter(|shared| !(calls && shared.is_in_function));
            let own = size.saturating_add(if calls { of_functions } else { 0 });
            let own = named.fold(own, |sum, shared| sum.saturating_add(shared.size));
            if own > MOST_SHARED {
                self.strange(format!("{own} bytes of shared memory in `{kernel:.40}`"));
            }
        }
        let is_missing = |declared: &Declared| *declared == Declared::Elsewhere { is_needed: true };
        let missing = self.functions.iter().filter(|(_, declared)| is_missing(declared));
        let mut missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
        missing.sort_unstable();
        let missing = missing.into_iter().take(limits::MAX_UNDEFINED).map(str::to_owned);
        self.part.demands.undefined = missing.collect();
        if !self.strange.is_empty() {
            self.part.stated = format!("{} ({})", self.part.stated, self.strange.join(", "));
            self.part.devices.clear();
        }
        self.part
    }
}

/// Whether a word is a name, as `ptxas` takes them. Names that begin with `%` are those of registers.
fn is_name(word: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let is_begun = match word.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => true,
        [b'_' | b'$', rest @ ..] => !rest.is_empty(),
        _ => false,
    };
    is_begun && word != "WARP_SZ" && word.bytes().all(is_letter)
}

/// Bytes of a type that variables and parameters have.
fn size(kind: &str) -> Option<u64> {
    Some(match kind {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::Room;

    fn read(text: &str) -> Result<Read> {
        super::read(text.as_bytes(), &Items::new(&Room::of_one(text.len())))
    }

    #[test]
    fn functions_that_are_called_and_not_there_are_told() {
        let head = ".version 8.0\n.target sm_80\n.extern .func (.param .b32 r) vprintf (.param .b64 a);\n\
                    .extern .func lost (.param .b64 a)\n;\n.extern .func unused;\n.extern .func own (.param .b32 a);\n\
                    .visible .func own (.param .b32 a) { ret; }\n";
        let called =
            |code: &str| read(&format!("{head}.visible .entry k() {{ {code} ret; }}")).unwrap().part.demands.undefined;
        assert_eq!(called("call (r), vprintf, (a); call own, (a);"), [""; 0]);
        assert_eq!(called("call.uni lost, (a);"), ["lost"]);
    }

    #[test]
    fn entries_are_read_with_their_limits() {
        let text = "// .entry no\n.version 8.6\n.target sm_90a, debug\n.section .debug_info { }\n.file 1 \".entry no\"\n.func f()\n{ ret; }\n\
                    .visible .entry k(\n .param .u64 .ptr .global .align 4 a,\n .param .align 8 .b8 b[24]\n)\n\
                    .reqntid 64, 2\n.minnctapersm 2\n{ /* .entry no */ ret; }\n.entry empty()\n.maxntid 8, 8, 2\n{\n}\n";
        let part = read(text).map_err(|error| error.to_string()).unwrap().part;
        assert_eq!((part.version.as_deref(), part.stated.as_str()), (Some("8.6"), "sm_90a"));
        let [first, second] = part.kernels.as_slice() else { panic!("{part:?}") };
        assert_eq!((first.name.as_str(), first.reqd_work_group_size), ("k", Some([64, 2, 1])));
        let sizes: Vec<_> =
            first.arguments.iter().map(|a| (a.index, a.name.as_deref(), a.size, a.address_space)).collect();
        assert_eq!(sizes, [(0, Some("a"), Some(8), Some("global")), (1, Some("b"), Some(24), None)]);
        assert_eq!((second.name.as_str(), second.max_work_group_size), ("empty", Some(128)));
    }

    #[test]
    fn any_text_comes_to_an_end() {
        for text in
            ["", ".entry", ".target sm_80 .entry k(.param", ".target sm_80 .entry k(.param .u64 a[", ".target \"", "/*"]
        {
            drop(read(text));
        }
    }
}
