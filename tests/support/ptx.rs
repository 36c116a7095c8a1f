//! What does `ptxas` say of texts of PTX (`fixtures/native/ptx_statements.txt`)?

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const KERNEL: &str = ".visible .entry k(.param .u64 a) { ret; }\n";

/// Returns whether each text is taken, and the text.
pub fn statements() -> impl Iterator<Item = (bool, String)> {
    let lines = include_str!("../../fixtures/native/ptx_statements.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let (verdict, text) = line.split_once(' ').unwrap();
        let text = text.trim_start().replace("HEAD ", "\u{1}").replace(" KERNEL", "\u{2}");
        let mut letters = text.chars();
        let mut plain = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1}' => plain.push_str(HEAD),
                '\u{2}' => plain.push_str(KERNEL),
                '\\' => plain.push(match letters.next().unwrap() {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    'x' => '\u{1a}',
                    other => other,
                }),
                letter => plain.push(letter),
            }
        }
        (verdict == "taken", plain)
    })
}
