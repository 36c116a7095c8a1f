//! What does PTX, NVIDIA's assembly text, declare?
//!
//! `.version`, `.target`, and per kernel an `.entry` with its parameters and limits, as the PTX ISA document has them.
//! Code is not read. Registers and scratch memory are settled by `ptxas` only.

use super::{Argument, Items, Kernel, Part, Read};
use crate::bundle::format::Format;
use crate::error::{Error, Result};
use crate::limits;
use std::collections::HashMap;

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let text = data.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text)
        .map_err(|error| Error::at(error.valid_up_to() as u64, "PTX that is no UTF-8 text"))?;
    let mut part = Part::new(Format::Ptx, data.len());
    let mut lexer = Lexer { rest: text };
    let mut line = "";
    // Statements that drivers and ptxas do not take, or nobody here knows, go into the words for the device.
    let mut strange: Vec<String> = Vec::new();
    // Functions of others, and whether something calls them.
    let mut declared: HashMap<&str, bool> = HashMap::new();
    while let Some(word) = lexer.word() {
        if let Some(is_called) = declared.get_mut(word).filter(|_| line != ".func") {
            *is_called = true;
        }
        match word {
            ".func" => {
                let name = lexer.function();
                if line == ".extern" && declared.len() < MOST_DECLARED {
                    declared.extend(name.filter(|name| !OF_NVIDIAS_DRIVER.contains(name)).map(|name| (name, false)));
                } else {
                    name.iter().for_each(|name| _ = declared.remove(name));
                }
            }
            ".version" => {
                part.version = lexer.word().map(str::to_owned);
                let numbers = part.version.as_deref().and_then(|version| version.split_once('.'));
                let version = numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
                if version.is_none_or(|version: (u32, u32)| version > NEWEST) {
                    strange.push(format!("PTX {}", part.version.as_deref().unwrap_or_default()));
                }
            }
            ".address_size" => {
                strange.extend(lexer.word().filter(|bits| *bits != "64").map(|bits| format!("{bits} bits")))
            }
            ".target" => {
                if let Some(target) = lexer.word() {
                    if !part.stated.is_empty() {
                        strange.push(format!("before that {}", part.stated));
                    }
                    part.devices = vec![format!("nvidia_gpu_{target}")];
                    part.stated = target.to_owned();
                }
            }
            ".entry" => {
                part.kernels.extend(entry(&mut lexer, items).map(Into::into));
                // The rest does not count any more.
                if items.refused() {
                    return Ok(Read::from(part));
                }
            }
            _ => {}
        }
        line = word;
    }
    if part.stated.is_empty() {
        return Err(Error::at(
            (text.len() - lexer.rest.len()) as u64,
            format!("PTX without .target (last word `{line:.40}`)"),
        ));
    }
    let mut called: Vec<&str> = declared.iter().filter(|(_, is_called)| **is_called).map(|(name, _)| *name).collect();
    called.sort_unstable();
    part.demands.undefined = called.into_iter().take(limits::MAX_UNDEFINED).map(str::to_owned).collect();
    if !strange.is_empty() {
        strange.truncate(MOST_TOLD);
        part.stated = format!("{} ({})", part.stated, strange.join(", "));
        part.devices.clear();
    }
    Ok(Read::from(part))
}

/// Functions that NVIDIA's driver defines.
pub(crate) const OF_NVIDIAS_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
/// The newest version of PTX that is known here: that of ptxas 13.5.
const NEWEST: (u32, u32) = (9, 5);
/// Functions of others that are looked for among what is called.
const MOST_DECLARED: usize = 1 << 16;
/// Most of what is strange that is told.
const MOST_TOLD: usize = 4;

/// `NAME ( .param TYPE [.ptr .SPACE .align N] NAME, ... ) .reqntid X, Y, Z {`
fn entry(lexer: &mut Lexer<'_>, items: &Items<'_>) -> Option<Kernel> {
    let name = lexer.word()?;
    items.take(name)?;
    let mut kernel = Kernel { name: name.to_owned(), simd: Some(32), ..Kernel::default() };
    let mut word = lexer.word()?;
    if word == "(" {
        let mut arguments = Vec::new();
        let mut argument: Option<Argument> = None;
        loop {
            word = lexer.word()?;
            match word {
                ")" | "," => {
                    arguments.extend(argument.take());
                    if word == ")" {
                        kernel.arguments = arguments.into();
                        word = lexer.word()?;
                        break;
                    }
                }
                ".param" => {
                    items.take("")?;
                    let index = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
                    argument = Some(Argument { index, ..Argument::default() });
                }
                _ => {
                    if let Some(argument) = &mut argument {
                        parameter(argument, word, lexer);
                    }
                }
            }
        }
    }
    loop {
        match word {
            ".reqntid" => kernel.reqd_work_group_size = Some(lexer.sizes()),
            ".maxntid" => {
                kernel.max_work_group_size =
                    Some(lexer.sizes().iter().fold(1u64, |items, size| items.saturating_mul(*size)));
            }
            "{" | ";" => return Some(kernel),
            // Another directive of this kind, or a number of one.
            _ => {}
        }
        word = lexer.word()?;
    }
}

fn parameter(argument: &mut Argument, word: &str, lexer: &mut Lexer<'_>) {
    match word {
        ".ptr" => {}
        ".align" => drop(lexer.word()),
        ".global" => argument.address_space = Some("global"),
        ".shared" => argument.address_space = Some("local"),
        ".const" => argument.address_space = Some("constant"),
        ".local" => argument.address_space = Some("private"),
        ".texref" | ".surfref" | ".samplerref" => argument.kind = Some(word.to_owned().into()),
        // `name[16]`, a value of 16 bytes.
        "[" => {
            let count = lexer.word().and_then(|count| count.parse::<u64>().ok());
            argument.size = argument.size.zip(count).map(|(size, count)| size.saturating_mul(count));
        }
        _ => match word.strip_prefix('.') {
            Some(kind) => {
                let bits = kind.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
                argument.size = bits.parse::<u64>().ok().map(|bits| bits / 8);
                argument.kind = Some(word.to_owned().into());
            }
            None if argument.name.is_none() && word != "]" => argument.name = Some(word.to_owned()),
            None => {}
        },
    }
}

/// Words and punctuation, without comments.
struct Lexer<'t> {
    rest: &'t str,
}

impl<'t> Lexer<'t> {
    fn word(&mut self) -> Option<&'t str> {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if let Some(string) = self.rest.strip_prefix('"') {
                self.rest = string.split_once('"').map_or("", |(_, rest)| rest);
            } else {
                break;
            }
        }
        let first = self.rest.chars().next()?;
        let is_word =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '%' | '.' | '@' | '-' | ':' | '+');
        let len = match self.rest.find(|letter: char| !is_word(letter)) {
            Some(0) => first.len_utf8(),
            Some(len) => len,
            None => self.rest.len(),
        };
        let (word, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(word)
    }

    /// Returns the name of a function, behind its result where it has one.
    fn function(&mut self) -> Option<&'t str> {
        let mut word = self.word()?;
        if word == "(" {
            while self.word()? != ")" {}
            word = self.word()?;
        }
        Some(word)
    }

    /// One to three numbers with commas between.
    fn sizes(&mut self) -> [u64; 3] {
        let mut sizes = [1; 3];
        for size in &mut sizes {
            if let Some(number) = self.word().and_then(|word| word.parse().ok()) {
                *size = number;
            }
            match self.rest.trim_start().strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        sizes
    }
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
        let text = "// .entry no\n.version 8.6\n.target sm_90a, debug\n.file 1 \".entry no\"\n.func f()\n{ ret; }\n\
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
