//! Which parameters and limits does a kernel of PTX have?

use super::{Reader, is_name, size};
use crate::native::{Argument, Kernel};
use std::collections::HashSet;

/// Bytes of parameters of a kernel.
const MOST_PARAMETERS: u64 = 4352;
/// Bytes of parameters of a kernel since PTX 8.1 on GPUs since `sm_70`.
const MOST_PARAMETERS_SINCE: u64 = 32764;
/// The largest alignment of which the room that it takes is known.
const MOST_ALIGNMENT: u64 = 1024;

impl<'t> Reader<'t, '_> {
    /// Parameters, up to the closing parenthesis.
    pub(super) fn parameters(&mut self, kernel: &mut Kernel) {
        let mut arguments: Vec<Argument> = Vec::new();
        let mut names = HashSet::new();
        let mut bytes = 0u64;
        let mut word = self.word();
        if word == ")" {
            return;
        }
        loop {
            if self.items.take("").is_none() {
                return;
            }
            let index = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
            let (argument, alignment, behind) = self.parameter(index, word);
            bytes = bytes.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
            bytes = bytes.saturating_add(argument.size.unwrap_or(8));
            if let Some(name) = argument.name.clone()
                && !names.insert(name)
            {
                self.strange("two parameters of one name");
            }
            arguments.push(argument);
            word = behind;
            while !matches!(word, "," | ")" | "{" | "") {
                self.strange(format!("`{word:.40}` among parameters"));
                word = self.word();
            }
            if word != "," {
                break;
            }
            word = self.word();
        }
        let is_since = self.version >= (8, 1) && self.gpu >= 70;
        let most = if is_since { MOST_PARAMETERS_SINCE } else { MOST_PARAMETERS };
        if bytes > most {
            self.strange(format!("{bytes} bytes of parameters"));
        }
        kernel.arguments = arguments.into();
    }

    /// `.param .align 8 .b8 name[24]`, `.param .u64 .ptr .global .align 4 name`. Returns the alignment, and the word behind.
    fn parameter(&mut self, index: u32, word: &'t str) -> (Argument, u64, &'t str) {
        let mut argument = Argument { index, ..Argument::default() };
        let mut word = self.behind(".param", word);
        let mut alignment = None;
        if word == ".align" {
            (alignment, word) = self.alignment();
        }
        match word {
            ".texref" | ".surfref" => {}
            _ => {
                argument.size = size(word);
                if argument.size.is_none() || self.is_ahead(word) {
                    self.strange(format!("a parameter of type `{word:.40}`"));
                }
            }
        }
        argument.kind = word.starts_with('.').then(|| word.to_owned().into());
        if alignment.is_some_and(|alignment| alignment > MOST_ALIGNMENT) {
            self.strange("a parameter of an alignment that is not known");
        }
        let alignment = alignment.or(argument.size).unwrap_or(8);
        word = self.word();
        if word == ".ptr" {
            word = self.word();
            argument.address_space = match word {
                ".global" => Some("global"),
                ".shared" => Some("local"),
                ".const" => Some("constant"),
                ".local" => Some("private"),
                _ => None,
            };
            if argument.address_space.is_some() {
                word = self.word();
            }
            if word == ".align" {
                word = self.alignment().1;
            }
        }
        let is_named = is_name(word) || word.strip_prefix('%').is_some_and(|rest| is_name(&format!("_{rest}")));
        if !is_named {
            self.strange(format!("a parameter `{word:.40}`"));
            return (argument, alignment, word);
        }
        argument.name = Some(word.to_owned());
        word = self.word();
        // `name[16]`, a value of 16 bytes.
        if word == "[" {
            let (count, behind) = self.count();
            argument.size = argument.size.zip(count).map(|(size, count)| size.saturating_mul(count));
            word = behind;
        }
        (argument, alignment, word)
    }

    /// Returns the number behind `[`, where that is one, and the word behind the closing bracket.
    pub(super) fn count(&mut self) -> (Option<u64>, &'t str) {
        let count = self.number();
        let word = self.word();
        (count, self.behind("]", word))
    }

    /// Returns the number behind `.align`, where that is one, and the word behind it.
    pub(super) fn alignment(&mut self) -> (Option<u64>, &'t str) {
        let alignment = self.number().filter(|number| number.is_power_of_two());
        if alignment.is_none() {
            self.strange("an alignment that is not known");
        }
        (alignment, self.word())
    }

    /// Returns a number that is not zero, in decimal, hexadecimal or octal digits.
    pub(super) fn number(&mut self) -> Option<u64> {
        let word = self.word();
        let digits = word.strip_suffix('U').unwrap_or(word);
        let number = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => u64::from_str_radix(digits, if digits.starts_with('0') { 8 } else { 10 }),
        };
        let number = number.ok().filter(|number| *number > 0);
        if number.is_none() {
            self.strange(format!("`{word:.40}` in place of a number"));
        }
        number
    }

    /// Returns a number of 32 bits.
    fn limit(&mut self) -> Option<u64> {
        let number = self.number()?;
        if number > u32::MAX.into() {
            self.strange(format!("a limit of {number}"));
        }
        Some(number)
    }

    /// One to three numbers with commas between.
    fn sizes(&mut self) -> [u64; 3] {
        let mut sizes = [1; 3];
        for (place, size) in sizes.iter_mut().enumerate() {
            if place > 0 && !self.lexer.take(",") {
                break;
            }
            *size = self.limit().unwrap_or_default();
        }
        sizes
    }

    /// Limits of a kernel, between its parameters and its body. Returns the first word behind them.
    pub(super) fn limits(&mut self, kernel: &mut Kernel, first: &'t str) -> &'t str {
        let mut seen = HashSet::new();
        let mut word = first;
        while !matches!(word, "{" | ";" | "") {
            // Clusters of work-groups came with `sm_90`.
            let is_known = match word {
                ".reqntid" => {
                    kernel.reqd_work_group_size = Some(self.sizes());
                    true
                }
                ".maxntid" => {
                    let sizes = self.sizes();
                    kernel.max_work_group_size =
                        Some(sizes.iter().fold(1u64, |items, size| items.saturating_mul(*size)));
                    true
                }
                ".minnctapersm" | ".maxnreg" => self.limit().is_some(),
                ".reqnctapercluster" => self.sizes().iter().all(|size| *size > 0) && self.gpu >= 90,
                ".maxclusterrank" => self.limit().is_some() && self.gpu >= 90,
                ".explicitcluster" => self.gpu >= 90,
                ".blocksareclusters" => self.gpu >= 90 && self.version >= (9, 0),
                ".pragma" => {
                    self.pragma();
                    true
                }
                _ => false,
            };
            if !is_known {
                self.strange(format!("`{word:.40}` of `{:.40}`", kernel.name));
            }
            if word != ".pragma" && !seen.insert(word) {
                self.strange(format!("`{word:.40}` twice"));
            }
            word = self.word();
        }
        let is_both = |one, other| seen.contains(one) && seen.contains(other);
        if is_both(".reqntid", ".maxntid")
            || is_both(".reqnctapercluster", ".maxclusterrank")
            || seen.contains(".blocksareclusters") && !is_both(".reqntid", ".reqnctapercluster")
        {
            self.strange(format!("limits of `{:.40}` that contradict each other", kernel.name));
        }
        word
    }
}
