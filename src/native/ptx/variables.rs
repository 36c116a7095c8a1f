//! Which variables does PTX have, and how many bytes do they take?

use super::{MOST_DECLARED, Reader, Shared, is_name, size};

impl<'t> Reader<'t, '_> {
    /// `.align 4 .f32 name[8] = { ... }, other;`
    pub(super) fn variable(&mut self, space: &'t str, linkage: &'t str) {
        for (name, bytes) in self.declarators(space, linkage) {
            if !self.variables.insert(name) || self.functions.contains_key(name) {
                self.strange(format!("`{name:.40}` twice"));
            }
            match space {
                ".shared" => {
                    self.shared.insert(name, Shared { size: bytes, is_in_function: false });
                }
                ".const" => self.constants = self.constants.saturating_add(bytes),
                _ => {}
            }
        }
        let is_taken = match linkage {
            ".common" => space == ".global" && self.version >= (5, 0),
            ".extern" => space != ".const",
            _ => true,
        };
        if !is_taken {
            self.strange(format!("`{linkage} {space}`"));
        }
        if self.variables.len() > MOST_DECLARED {
            self.strange("too many variables");
            self.variables.clear();
            self.shared.clear();
        }
    }

    /// Returns the names of one declaration, each with the bytes that it takes.
    pub(super) fn declarators(&mut self, space: &str, linkage: &str) -> Vec<(&'t str, u64)> {
        let mut found = Vec::new();
        let mut word = self.word();
        let mut alignment = None;
        let mut lanes = 1u64;
        if word == ".attribute" {
            if self.version < (4, 0) || self.gpu < 30 {
                self.strange("an attribute of a variable");
            }
            for expected in ["(", ".managed", ")"] {
                word = self.word();
                if word != expected || space != ".global" {
                    self.strange(format!("`{word:.40}` of a variable"));
                }
            }
            word = self.word();
        }
        if word == ".align" {
            (alignment, word) = self.alignment();
        }
        if let Some(vector) = [(".v2", 2), (".v4", 4)].into_iter().find(|(vector, _)| *vector == word) {
            lanes = vector.1;
            word = self.word();
        }
        let element = match word {
            ".texref" | ".surfref" if space == ".global" && lanes == 1 => 8,
            ".samplerref" if space == ".global" && lanes == 1 && self.has_samplers => 8,
            _ => size(word).unwrap_or_else(|| {
                self.strange(format!("a variable of type `{word:.40}`"));
                1
            }),
        };
        if element.saturating_mul(lanes) > 16 || self.is_ahead(word) {
            self.strange(format!("a variable of type `{word:.40}`"));
        }
        loop {
            let name = self.word();
            if !is_name(name) {
                self.strange(format!("variable `{name:.40}`"));
                return found;
            }
            let mut bytes = element.saturating_mul(lanes);
            let mut is_open = false;
            let mut word = self.word();
            while word == "[" {
                if bytes == element.saturating_mul(lanes) && !is_open && self.lexer.take("]") {
                    is_open = true;
                } else {
                    bytes = bytes.saturating_mul(self.number().unwrap_or_default());
                    word = self.word();
                    if word != "]" {
                        self.strange(format!("`{word:.40}` in place of `]`"));
                    }
                }
                word = self.word();
            }
            let is_elsewhere = linkage == ".extern" && space == ".shared";
            if is_open && !is_elsewhere && (linkage == ".extern" || word != "=") {
                self.strange(format!("variable `{name:.40}` without a size"));
            }
            // Whoever launches the kernel says how much that is.
            if is_open && is_elsewhere {
                bytes = 0;
            }
            if word == "=" {
                if space == ".shared" || linkage == ".extern" {
                    self.strange(format!("a value of `{name:.40}`"));
                }
                word = self.skip_value();
            }
            let alignment = alignment.unwrap_or(element.saturating_mul(lanes)).max(1);
            found.push((name, bytes.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)));
            match word {
                "," => {}
                ";" => return found,
                _ => {
                    self.strange(format!("`{word:.40}` behind variable `{name:.40}`"));
                    return found;
                }
            }
        }
    }

    /// Returns the word behind the value of a variable.
    fn skip_value(&mut self) -> &'t str {
        let mut depth = 0usize;
        loop {
            let word = self.word();
            match word {
                "" | ";" => return word,
                "{" | "(" => depth = depth.saturating_add(1),
                "}" | ")" => depth = depth.saturating_sub(1),
                "," if depth == 0 => return word,
                _ => {}
            }
        }
    }
}
