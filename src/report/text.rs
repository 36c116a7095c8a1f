//! How does text keep to the width, show what does not show, and stand in Markdown as it is? How do sizes and counts read?
//!
//! Sizes have three digits whatever the unit, so that columns read alike; crates `humansize` and `bytesize` have a fixed number of
//! decimals (`4.56 KiB` and then `1023.44 KiB`).

use super::inspect::View;
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};

/// Lines for a reader: the one form of text that the program prints.
///
/// What is written into it is spelled out like [`visible`] does, so that no name in a file, no log of a compiler and no
/// answer of a driver commands a terminal, hides a line, or begins a line that a CI takes for a command. A write stands on
/// one line, or ends it: line breaks before its end are spelled out too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown(String);

impl Shown {
    /// Spells out a text of several lines, of which line breaks are all that is kept.
    pub(crate) fn of_lines(text: &str) -> Shown {
        let mut out = Shown::default();
        text.lines().for_each(|line| writeln!(out, "{line}"));
        out
    }

    /// Lines of at most so many columns, as far as words allow. What is broken off stands two columns deeper.
    pub(crate) fn folded(lines: &[String], width: usize) -> Shown {
        let mut out = Shown::default();
        for line in lines {
            out.fold(line, 0, width);
        }
        out
    }

    /// Adds a line as [`Shown::folded`] does, its first part behind `taken` columns that are there already.
    fn fold(&mut self, line: &str, taken: usize, width: usize) {
        let text = line.trim_start();
        let indent = line.len().saturating_sub(text.len());
        let room = width.saturating_sub(indent);
        if text.chars().count().saturating_add(taken) <= room {
            writeln!(self, "{:indent$}{}", "", text.trim_end());
            return;
        }
        // The taken room counts as one word of its length, which no other is joined to.
        let marked =
            if taken > 1 { format!("{} {text}", "x".repeat(taken.saturating_sub(1))) } else { text.to_owned() };
        for (at, part) in wrap(&marked, room.saturating_sub(2)).iter().enumerate() {
            let part = if at == 0 { part.get(taken..).unwrap_or_default() } else { part };
            let indent = if at == 0 { indent } else { indent.saturating_add(2) };
            writeln!(self, "{:indent$}{}", "", part.trim_end());
        }
    }

    /// Lines behind a label, folded like those of [`Shown::folded`].
    pub(crate) fn labelled(label: &'static str, style: Option<&'static str>, text: &str, width: usize) -> Shown {
        let mut out = Shown::default();
        out.styled(style, label);
        out.push_str(" ");
        for (at, line) in text.split('\n').enumerate() {
            out.fold(line, if at == 0 { label.len().saturating_add(1) } else { 0 }, width);
        }
        out
    }

    /// Takes `write!` and `writeln!`, which cannot fail here.
    pub(crate) fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) {
        self.put(arguments, self.opens());
    }

    /// Whether what comes next stands at the begin of a line.
    fn opens(&self) -> bool {
        self.0.is_empty() || self.0.ends_with('\n')
    }

    /// Adds a text that stands at the begin of a line, or does not.
    fn put(&mut self, arguments: fmt::Arguments<'_>, opens: bool) {
        let start = self.0.len();
        // Writing to a string does not fail.
        let _ = fmt::write(&mut self.0, arguments);
        let written = self.0.get(start..).unwrap_or_default();
        let body = written.strip_suffix('\n').unwrap_or(written);
        let command = opening(body).filter(|_| opens);
        if let (Cow::Borrowed(_), None) = (visible(body), &command) {
            return;
        }
        let end = if body.len() < written.len() { "\n" } else { "" };
        let mut body = body.to_owned();
        if let Some((at, sign)) = command {
            body.replace_range(at..at.saturating_add(sign.len_utf8()), &sign.escape_unicode().to_string());
        }
        self.0.truncate(start);
        self.0.push_str(&visible(&body));
        self.0.push_str(end);
    }

    /// Adds fixed text as it is.
    pub(crate) fn push_str(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    /// Adds what another text shows.
    pub(crate) fn append(&mut self, other: &Shown) {
        self.0.push_str(&other.0);
    }

    /// An empty line.
    pub(crate) fn gap() -> Shown {
        Shown("\n".to_owned())
    }

    /// Texts with an empty line between them.
    pub(crate) fn sections(all: &[Shown]) -> Shown {
        Shown(all.iter().map(|one| one.0.as_str()).collect::<Vec<_>>().join("\n"))
    }

    /// Adds words in a colour or weight of the terminal, by its number; plain ones without `color`.
    pub(crate) fn styled(&mut self, code: Option<&'static str>, words: &str) {
        // Some readers of logs take what sets colours out first.
        let opens = self.opens();
        if let Some(code) = code {
            self.0.push_str("\x1b[");
            self.0.push_str(code);
            self.0.push('m');
        }
        self.put(format_args!("{words}"), opens);
        if code.is_some() {
            self.0.push_str("\x1b[0m");
        }
    }
}

impl Deref for Shown {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Letters that fonts show as a blank or as nothing, though Unicode counts them as letters and signs: the fillers of Hangul, and
/// Braille without a dot.
const BLANK: [char; 5] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{2800}'];

/// Whether a letter shows as it is; tabs and line breaks do not.
pub(crate) fn shows(c: char) -> bool {
    let is_seen = || c.escape_debug().len() == 1 && !BLANK.contains(&c);
    matches!(c, ' '..='~') || c == char::REPLACEMENT_CHARACTER || (c > '~' && is_seen())
}

/// Returns the number signs that begin a command of a CI wherever they stand in a line: `##[error]`, `##vso[...]` of Azure
/// Pipelines, `##teamcity[...]`. Each is one or more of two signs together, the letters of a word, and a bracket.
fn commands(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text.get(from..).and_then(|rest| rest.find("##")).map(|at| at.saturating_add(from)) {
        let rest = text.get(start..).unwrap_or_default();
        let word = rest.trim_start_matches('#');
        from = text.len().saturating_sub(word.len());
        if word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).starts_with('[')
        {
            found.push(start..from);
        }
    }
    found
}

/// Beginnings of lines by which Buildkite opens, closes and hides groups of a log, and Travis folds and times them.
const OPENINGS: [&str; 6] = ["---", "+++", "~~~", "^^^", "travis_fold:", "travis_time:"];

/// Returns the place of the first sign of a command that a line begins with, and the sign. Those of GitHub (`::error::`) may stand
/// behind spaces.
fn opening(line: &str) -> Option<(usize, char)> {
    let command = line.trim_start();
    let is_command = command.starts_with("::") || OPENINGS.iter().any(|opening| line.starts_with(opening));
    command.chars().next().filter(|_| is_command).map(|sign| (line.len().saturating_sub(command.len()), sign))
}

/// Whether a line of a text that is printed as it is would command a terminal or a CI.
pub(crate) fn is_command(line: &str) -> bool {
    opening(line).is_some() || !commands(line).is_empty() || line.chars().any(|letter| letter != '\t' && !shows(letter))
}

/// Text for a reader: what does not show, turns the direction of writing, or commands a terminal or a CI, is spelled out
/// as `\u{202e}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let commands = commands(text);
    if text.chars().all(shows) && commands.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut next = commands.iter().peekable();
    for (at, c) in text.char_indices() {
        while next.next_if(|command| command.end <= at).is_some() {}
        if next.peek().is_some_and(|command| command.contains(&at)) {
            out.push_str("\\u{23}");
        } else if shows(c) {
            out.push(c);
        } else if BLANK.contains(&c) {
            out.extend(c.escape_unicode());
        } else {
            out.extend(c.escape_debug());
        }
    }
    Cow::Owned(out)
}

/// Columns beside a label that its text needs to stand there; with fewer it stands below.
const BESIDE: usize = 34;

/// Writes `label` and a text beside it, or below it where there is little room; further lines of the text stand under its
/// first.
pub(crate) fn field(out: &mut Shown, indent: usize, label: &str, column: usize, text: &str, width: usize) {
    let room = width.saturating_sub(column);
    let below = room < BESIDE.min(text.chars().count()) && column > indent.saturating_add(4);
    let column = if below { indent.saturating_add(4) } else { column };
    let mut lead = format!("{:indent$}{label}", "");
    if below && !label.is_empty() {
        writeln!(out, "{lead}");
        lead.clear();
    }
    for line in wrap(text, width.saturating_sub(column).max(20)) {
        let gap = column.saturating_sub(lead.chars().count()).max(usize::from(!lead.trim().is_empty()));
        writeln!(out, "{}", format!("{lead}{:gap$}{line}", "").trim_end());
        lead.clear();
    }
}

/// Characters of a word that is broken in no table.
const WORD: usize = 24;

/// Whether a long word may be broken behind this letter.
fn breaks_behind(letter: char) -> bool {
    matches!(letter, '/' | ':' | ',' | ';' | '<' | '(' | '=' | '-' | '_')
}

/// The characters of the longest part of a text that is not broken: a word, or of a long one what stands between signs.
pub(crate) fn longest_part(text: &str) -> usize {
    let part = |word: &str| match word.chars().count() {
        length if length <= WORD => length,
        length => {
            let parts = word.split_inclusive(breaks_behind).map(|part| part.chars().count());
            parts.max().unwrap_or(length).max(WORD).min(length)
        }
    };
    text.split(' ').map(part).max().unwrap_or(0)
}

/// The place at which a word that is longer than a line is broken: behind a folder, or behind another sign.
fn break_at(letters: &[char], width: usize) -> usize {
    let behind = |is: fn(char) -> bool, least: usize| {
        let pairs = letters.windows(2).take(width).rposition(|pair| match pair {
            [first, next] => is(*first) && first != next,
            _ => false,
        });
        pairs.map(|at| at.saturating_add(1)).filter(|end| *end >= least)
    };
    behind(|letter| letter == '/', width / 3).or_else(|| behind(breaks_behind, width / 2)).unwrap_or(width)
}

/// Breaks a text into lines of at most `width` characters, with what does not show spelled out; one empty line for an
/// empty text. Breaks at spaces; in a word that is longer than a line behind a sign, or else where the line ends.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = &*visible(text);
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0usize;
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        let needed = letters.len().saturating_add(usize::from(used > 0));
        if used > 0 && used.saturating_add(needed) > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used = used.saturating_add(1);
        }
        let mut rest = letters.as_slice();
        while rest.len() > width {
            // At least one letter goes, so that this ends.
            let (part, behind) = rest.split_at_checked(break_at(rest, width).max(1)).unwrap_or((rest, &[]));
            lines.push(part.iter().collect());
            rest = behind;
        }
        used = used.saturating_add(rest.len());
        line.extend(rest);
    }
    lines.push(line);
    lines
}

/// Writes a text broken at the width of a view, its first line behind `first`, the others behind `rest`.
pub(crate) fn lines(out: &mut Shown, first: &'static str, rest: &'static str, text: &str, view: &View) {
    for (at, line) in wrap(text, view.width.saturating_sub(rest.len().max(first.len()))).iter().enumerate() {
        writeln!(out, "{}{}", if at == 0 { first } else { rest }, line.trim_end());
    }
}

/// Text in which nothing is markup, and nothing a mention, a reference or a link.
///
/// GitHub looks for the latter in the text that is left of Markdown, where backslashes are gone: words with any are code.
pub(super) fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    for (at, word) in text.trim_start().split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        // One in brackets at the beginning of a quotation makes a box of it.
        if is_live(word) || at == 0 && word.starts_with("[!") {
            out.push_str(&markdown_code(word));
            continue;
        }
        // At its beginning a line is an item of a list, a heading, or a rule.
        let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = if at > 0 || number.len() == word.len() { None } else { number.chars().next() };
        let marked = item.filter(|c| matches!(c, '.' | ')')).map(|_| word.len().saturating_sub(number.len()));
        for (place, c) in word.char_indices() {
            let first = at == 0 && (marked == Some(place) || place == 0 && matches!(c, '-' | '+' | '='));
            if first || matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '$') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

/// Whether GitHub makes more of a word than text: a person, an issue, a commit, a link, a picture or mathematics.
fn is_live(word: &str) -> bool {
    /// Digits of the shortest form of a commit that is made a link.
    const COMMIT: usize = 7;
    let lower = word.to_ascii_lowercase();
    let digit_behind = |mark: &str| {
        let mut behind = lower.split(mark).skip(1);
        behind.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let link = ["@", "$", "://", "www.", "mailto:", "xmpp:"].iter().any(|mark| lower.contains(mark));
    let commit = |run: &str| {
        run.len() >= COMMIT && run.contains(|c: char| c.is_ascii_digit()) && run.contains(|c: char| c.is_alphabetic())
    };
    let mut colons = lower.split(':').skip(1).peekable();
    let mut picture = false;
    while let Some(name) = colons.next() {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
        picture |= colons.peek().is_some() && !name.is_empty() && name.chars().all(letters);
    }
    link || picture
        || digit_behind("#")
        || digit_behind("gh-")
        || lower.split(|c: char| !c.is_ascii_hexdigit()).any(commit)
}

/// Code, whatever it holds.
pub(super) fn markdown_code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Without a letter it is no code, and its fence would begin some.
    let text = if text.is_empty() { " ".to_owned() } else { text };
    // A fence is longer than each run of backticks within (CommonMark 0.31, 6.1).
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let (fence, space) = ("`".repeat(longest.saturating_add(1)), if longest > 0 { " " } else { "" });
    format!("{fence}{space}{text}{space}{fence}")
}

/// Text of a document with what does not show as JSON spells it.
pub(crate) fn documented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Two of these begin a command of a CI.
        if letter == '#' && letters.peek() == Some(&'#') {
            out.push_str("\\u0023");
        } else if letter == '\n' || shows(letter) {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            out.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Bytes in binary units with three significant digits: `312 B`, `4.56 KiB`, `36.2 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = count as f64;
    let mut unit = "B";
    for next in UNITS {
        // A value that would be shown as 1024 of a unit is 1 of the next.
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match value {
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// A count with thousands set apart: `17,716`.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 image`, `2 images`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share in per cent: `83 %`, `0.4 %`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    #[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
    let percent = part as f64 * 100.0 / whole as f64;
    if part > 0 && percent < 0.05 {
        return "< 0.1 %".to_owned();
    }
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_not_folded_and_a_label_counts() {
        let row = format!("  {}", "12345678 9".repeat(3));
        assert_eq!(&*Shown::folded(std::slice::from_ref(&row), 32), format!("{row}\n"));
        let folded = Shown::labelled("note:", None, "four words stand here\n  and more of them", 14);
        assert_eq!(&*folded, "note: four\n  words stand\n  here\n  and more\n    of them\n");
        let long = Shown::labelled("error:", Some("1"), "incomprehensibilities", 40);
        assert_eq!(&*long, "\u{1b}[1merror:\u{1b}[0m incomprehensibilities\n");
    }

    #[test]
    fn what_does_not_show_is_spelled_out() {
        assert_eq!(visible("a<\"b\" 'é' 中>"), "a<\"b\" 'é' 中>");
        assert_eq!(visible("a\u{202e}b\u{0}\n\u{200b}\u{7f}"), "a\\u{202e}b\\0\\n\\u{200b}\\u{7f}");
    }

    #[test]
    fn what_is_shown_commands_nothing() {
        let mut out = Shown::default();
        let hostile = "a\x1b[2J\r\n::error::b\n";
        writeln!(out, "{hostile}: {hostile}");
        let command = "::set-output name=x::y ##[error] ###vso[task.x] ##teamcity[a] ##VSO[b] ## #[ ##a";
        writeln!(out, "  {command}");
        writeln!(out, "cl::sycl::half");
        out.push_str("::");
        let file = "a\u{202e}\n";
        writeln!(out, "error file={file}::");
        BLANK.iter().for_each(|letter| write!(out, "{letter}|"));
        writeln!(out);
        out.styled(Some("1"), "bold\x1b[0m");
        let spelled = "a\\u{1b}[2J\\r\\n::error::b\\n";
        let lines = [
            &format!("{spelled}: {spelled}"),
            "  \\u{3a}:set-output name=x::y \\u{23}\\u{23}[error] \\u{23}\\u{23}\\u{23}vso[task.x] \\u{23}\\u{23}teamcity[a] \\u{23}\\u{23}VSO[b] ## #[ ##a",
            "cl::sycl::half",
            "::error file=a\\u{202e}\\n::",
            "\\u{115f}|\\u{1160}|\\u{3164}|\\u{ffa0}|\\u{2800}|",
            "\x1b[1mbold\\u{1b}[0m\x1b[0m",
        ];
        assert_eq!(&*out, lines.join("\n"));
        assert_eq!(&*Shown::of_lines("one\r\n::two\x07"), "one\n\\u{3a}:two\\u{7}\n");
        let groups = "--- a\n+++ b\n~~~ c\n^^^ +++\ntravis_fold:start:x\n -- d ---\n";
        let shown = "\\u{2d}-- a\n\\u{2b}++ b\n\\u{7e}~~ c\n\\u{5e}^^ +++\n\\u{74}ravis_fold:start:x\n -- d ---\n";
        assert_eq!(&*Shown::of_lines(groups), shown);
    }

    #[test]
    fn code_in_markdown_ends_where_it_does() {
        assert_eq!(markdown_code("a<b>"), "`a<b>`");
        assert_eq!(markdown_code("a`b``c"), "``` a`b``c ```");
        assert_eq!(markdown_code("`a\n```"), "```` `a ``` ````");
        assert_eq!(markdown_code(""), "` `");
    }

    #[test]
    fn text_in_markdown_mentions_and_means_nothing() {
        for text in ["needs fp64: 1.0f, 16 of 1048576", "cl::sycl", "a - b", "50 % (a/b)", "decades"] {
            assert_eq!(markdown_text(text), text);
        }
        for word in [
            "@octocat",
            "f(a@b.c)",
            "#123",
            "o/r#1",
            "GH-7",
            "$x$",
            "$$",
            "https://x.org/a",
            "WWW.x.org",
            "a5c3785ed8d6",
            ":tada:",
            "a:smile::b",
        ] {
            assert_eq!(markdown_text(&format!("calls {word} here")), format!("calls `{word}` here"));
        }
        assert_eq!(
            markdown_text("a @`x` ![i](u) ~~b~~ &copy; | # <i>"),
            "a `` @`x` `` !\\[i\\](u) \\~\\~b\\~\\~ \\&copy; \\| \\# \\<i\\>"
        );
        for (text, shown) in [
            ("- a", "\\- a"),
            ("  + a", "\\+ a"),
            ("12. a", "12\\. a"),
            ("1) a", "1\\) a"),
            ("---", "\\---"),
            ("[!NOTE] a", "`[!NOTE]` a"),
        ] {
            assert_eq!(markdown_text(text), shown);
        }
    }

    #[test]
    fn breaks_at_spaces_and_in_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrap("in /usr/lib/libfoo-bar.so here", 12), ["in", "/usr/lib/", "libfoo-", "bar.so here"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn fields_stand_in_a_column() {
        let mut out = Shown::default();
        field(&mut out, 2, "Target", 10, "one two three four five six seven", 32);
        assert_eq!(&*out, "  Target\n      one two three four five\n      six seven\n");
        let mut out = Shown::default();
        field(&mut out, 2, "Target", 10, "one two three four five six seven eight", 44);
        assert_eq!(&*out, "  Target  one two three four five six seven\n          eight\n");
    }

    #[test]
    fn documents_are_the_same_text_and_show() {
        let hostile = "{\"a\u{7f}\u{85}\u{202e}\u{e0001}ü###[x]\": 1}\n";
        let shown = documented(hostile);
        assert_eq!(shown, "{\"a\\u007f\\u0085\\u202e\\udb40\\udc01ü\\u0023\\u0023#[x]\": 1}\n");
        let values = [hostile, &shown].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(values[0], values[1]);
    }

    #[test]
    fn three_digits() {
        let shown = [0, 1023, 1024, 4670, 1_048_000, 1_048_576, 37_960_000].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "4.56 KiB", "1023 KiB", "1.00 MiB", "36.2 MiB"]);
    }

    #[test]
    fn thousands_and_shares() {
        assert_eq!([0, 999, 1000, 17_716, 1_234_567].map(count), ["0", "999", "1,000", "17,716", "1,234,567"]);
        assert_eq!(counted(1, "image"), "1 image");
        assert_eq!([share(1, 250), share(83, 100), share(1, 0)], ["0.4 %", "83 %", "0 %"]);
        assert_eq!([share(1, 1_000_000), share(0, 5)], ["< 0.1 %", "0.0 %"]);
    }
}
