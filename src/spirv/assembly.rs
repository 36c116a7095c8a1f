//! Which instructions has inline assembly of Intel's GPUs?

use crate::limits;
use std::collections::BTreeSet;

/// Instruction of assembly that could not be read.
pub(super) const UNREAD: &str = "an unread one";

/// Notes the instructions of inline assembly: one on a line, behind braces, a label and a predicate in parentheses (vISA of
/// Intel's graphics compiler).
pub(super) fn note(known: &mut BTreeSet<String>, text: &str) {
    for line in text.split(['\n', '\r']) {
        let line = line.trim_matches(|c: char| c.is_whitespace() || "{}".contains(c));
        let predicated = line
            .starts_with('(')
            .then(|| line.split_once(')').filter(|(head, _)| !head.contains(' ')).map_or(UNREAD, |(_, rest)| rest));
        let line = predicated.unwrap_or(line);
        let mut words = line.split_whitespace().peekable();
        words.next_if(|word| word.ends_with(':'));
        let is_declared = line.starts_with(".decl ") && line.contains(" v_type=");
        let Some(word) = words.next().filter(|word| !is_declared && !word.starts_with("//")) else { continue };
        // Operands of the call, `$3`, may be parts of a name.
        let name = word.split(['(', '$']).next().unwrap_or_default().trim_end_matches('.');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(is_plain)
            && name.len() <= limits::MAX_MNEMONIC
            && predicated != Some(UNREAD);
        let name = if is_name && known.len() < limits::MAX_MNEMONICS { name } else { UNREAD };
        let width = name.starts_with("dpas").then(|| line.split_once('(')?.1.split_once(')')?.0.split_once(','));
        let width = width.flatten().map_or("", |(_, width)| width.trim());
        let name = if width.is_empty() { name.to_owned() } else { format!("{name}/{width}") };
        known.insert(if name.len() <= limits::MAX_MNEMONIC { name } else { UNREAD.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_assembly_are_told_by_their_names() {
        let mut names = BTreeSet::new();
        note(
            &mut names,
            "{\n.decl DST v_type=G type=f num_elts=8 alias=<$0,0>\nlsc_load_block2d.ugm.ca (M1, 1) %null:d8\n\
                       (P1) mov (M1_NM,16) a(0,0)<1> b(1,0)<16;8,1>\nL1:\nL2: dpas.hf8.hf8.8.$3 (M1, 16) d\nbarrier\n}\n",
        );
        note(&mut names, "mov(1)\n\n()\n// a comment\n");
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(names, ["barrier", "dpas.hf8.hf8.8/16", "lsc_load_block2d.ugm.ca", "mov"]);
        let many: String = (0..limits::MAX_MNEMONICS).map(|at| format!("a{at}\n")).collect();
        let hidden = [
            "x".repeat(limits::MAX_MNEMONIC + 1),
            "/* x */ dpas.hf8.hf8.8.8 (M1, 16) d".to_owned(),
            format!("{many}dpas"),
            "(P".to_owned(),
            "(P1 mov (M1, 16) a".to_owned(),
            ".bogus".to_owned(),
            "one: two: mov (M1, 16) a".to_owned(),
            "// a comment\r.bogus".to_owned(),
        ];
        for text in hidden {
            let mut names = BTreeSet::new();
            note(&mut names, &text);
            assert!(names.contains(UNREAD), "{text:.40}");
        }
    }
}
