//! Which images of other files was what a file imports found in?

use crate::compat::offers::Provider;
use crate::report::evidence::Names;
use crate::report::name::shorten;
use crate::report::units::{count, counted};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Images that are named of each pair of files.
const EXAMPLES: usize = 3;
/// Characters of a symbol that are shown.
const SHOWN: usize = 60;

/// A paragraph for each file that takes symbols from another; nothing where none does.
pub fn providers(all: &[Provider], names: Names) -> String {
    let mut pairs: BTreeMap<(&Arc<str>, &Arc<str>), Vec<&Provider>> = BTreeMap::new();
    for one in all {
        pairs.entry((&one.file, &one.provided_by)).or_default().push(one);
    }
    let mut out = String::new();
    for ((file, by), images) in pairs {
        let symbols = images.iter().map(|one| one.symbols.len()).sum();
        let _ = writeln!(out, "\n{file} takes {} from {by}:", counted(symbols, "symbol"));
        for one in images.iter().take(EXAMPLES) {
            let symbol = one.symbols.first().map(|symbol| names.show(symbol)).unwrap_or_default();
            let symbol = if symbol.is_empty() { "virtual functions".into() } else { shorten(&symbol, SHOWN) };
            let more = one.symbols.len().saturating_sub(1);
            let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
            let _ = writeln!(out, "  {symbol}{more} from its image {}, here image {}", one.its_image, one.image);
        }
        let more = images.len().saturating_sub(EXAMPLES);
        if more > 0 {
            let _ = writeln!(out, "  and from {}", counted(more, "more image"));
        }
    }
    out
}
