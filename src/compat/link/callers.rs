//! Which kernels and functions of an image may call what it imports?

use super::{Import, Names};
use crate::bundle::format::Format;
use crate::compat::aspects::Code;
use crate::compat::aspects::code::Kind;
use crate::compat::examine::Examined;
use crate::limits;
use std::collections::HashMap;
use std::sync::Arc;

/// The kernels and functions of an image that may call a symbol: along the calls of its code; where that is not known, every
/// kernel.
pub(super) struct Callers<'c> {
    /// The image's kernels.
    pub(super) every: Names,
    code: Option<Calls<'c>>,
    /// Bytes of names that are told of each symbol.
    told: usize,
}

/// The calls of a module, from what is called to what calls.
struct Calls<'c> {
    code: &'c Code,
    /// Nodes by the symbols that they have, where one of them is declared only.
    symbols: HashMap<&'c str, Vec<usize>>,
    /// Pairs of a node and one that calls it, in order.
    callers: Vec<(u32, u32)>,
    /// Pairs of a node and the place of a kernel that begins with it, in order.
    kernels: Vec<(u32, u32)>,
    /// The last symbol that a node was met for, by its number.
    met: Vec<usize>,
    /// Number of symbols that were looked for.
    looked_for: usize,
    /// Calls that may still be followed.
    left: usize,
}

impl<'c> Callers<'c> {
    /// Turns the calls of an image's code round.
    pub(super) fn new(image: &Examined<'_, '_>, code: Option<&'c Code>) -> Callers<'c> {
        let size = usize::try_from(image.size).unwrap_or(usize::MAX);
        let all = size.saturating_mul(limits::MAX_CALLERS_RATIO).max(limits::MAX_CALLERS_FLOOR);
        // A list of imports beside the module may lack some of those that it declares.
        let imports = image.imports.len().saturating_add(image.unlisted_imports.len());
        let told = all.checked_div(imports).unwrap_or(0);
        let every = Names::within(image.kernels.iter().map(|name| name.as_str().into()), image.kernels.len(), told);
        let code = code.filter(|_| image.format == Format::SpirV && !image.imports.is_empty()).map(Calls::new);
        Callers { every, code, told }
    }

    /// Finds what may call a symbol.
    pub(super) fn import(&mut self, symbol: &str) -> Import {
        let symbol = Arc::from(symbol);
        match self.code.as_mut().and_then(|code| code.reaching(&symbol, self.told)) {
            Some((kernels, functions)) => Import { symbol, kernels, functions },
            None => Import { symbol, kernels: self.every.clone(), functions: Names::default() },
        }
    }
}

impl<'c> Calls<'c> {
    fn new(code: &'c Code) -> Calls<'c> {
        let mut symbols: HashMap<&str, (bool, Vec<usize>)> = HashMap::new();
        let mut callers: Vec<(u32, u32)> = Vec::new();
        for (at, node) in code.nodes.iter().enumerate() {
            callers.extend(node.calls.iter().map(|call| (call.to, at as u32)));
            if let Some(symbol) = &node.symbol {
                let (declared, nodes) = symbols.entry(symbol).or_default();
                *declared |= node.kind == Kind::Declared;
                nodes.push(at);
            }
        }
        let declared = symbols.into_iter().filter(|(_, (declared, _))| *declared);
        let symbols = declared.map(|(symbol, (_, nodes))| (symbol, nodes)).collect();
        let known = (0..).zip(&code.kernels).filter_map(|(place, kernel)| Some((kernel.node? as u32, place)));
        let mut kernels: Vec<(u32, u32)> = known.collect();
        callers.sort_unstable();
        kernels.sort_unstable();
        let met = vec![0; code.nodes.len()];
        Calls { code, symbols, callers, kernels, met, looked_for: 0, left: limits::MAX_REACHED }
    }

    /// Lists the kernels and the exported functions from which calls lead to a symbol; none where that is not known, or too
    /// many calls were followed for the symbols before.
    fn reaching(&mut self, symbol: &str, told: usize) -> Option<(Names, Names)> {
        let mut next: Vec<usize> = self.symbols.get(symbol)?.clone();
        self.looked_for = self.looked_for.saturating_add(1);
        for at in &next {
            *self.met.get_mut(*at)? = self.looked_for;
        }
        let (mut kernels, mut functions) = (Vec::new(), Vec::new());
        while let Some(at) = next.pop() {
            if self.code.nodes.get(at).is_some_and(|node| node.kind == Kind::Defined && node.symbol.is_some()) {
                functions.push(at);
            }
            let begins = pairs_of(&self.kernels, at);
            kernels.extend(begins.iter().map(|(_, place)| *place as usize));
            let callers = pairs_of(&self.callers, at);
            let steps = begins.len().saturating_add(callers.len()).saturating_add(1);
            self.left = self.left.checked_sub(steps)?;
            for from in callers.iter().map(|(_, from)| *from as usize) {
                let met = self.met.get_mut(from)?;
                if *met != self.looked_for {
                    *met = self.looked_for;
                    next.push(from);
                }
            }
        }
        kernels.sort_unstable();
        functions.sort_unstable();
        let kernel = |place: &usize| Some(self.code.kernels.get(*place)?.name.clone());
        let function = |at: &usize| self.code.nodes.get(*at)?.symbol.clone();
        Some((
            Names::within(kernels.iter().filter_map(kernel), kernels.len(), told),
            Names::within(functions.iter().filter_map(function), functions.len(), told),
        ))
    }
}

/// The pairs of a node.
fn pairs_of(pairs: &[(u32, u32)], node: usize) -> &[(u32, u32)] {
    let begin = pairs.partition_point(|(of, _)| (*of as usize) < node);
    let rest = pairs.get(begin..).unwrap_or_default();
    rest.get(..rest.partition_point(|(of, _)| *of as usize == node)).unwrap_or_default()
}
