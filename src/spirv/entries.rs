//! Does a driver know the kernels and functions of a module by the names that they have here?
//!
//! Drivers create functions by their names (`SPIRVToLLVM::transFunction`): `OpName` or the symbol replaces that of the entry point, a
//! function of a kernel's name that stands before it is taken for the kernel, and functions of one name become one. Older translators
//! write kernels so that this is as it should be: an exported function of the kernel's name, and an entry point that calls it and
//! does nothing else.

use super::facts::EntryPoints;
use super::index::is_helper;
use super::op::*;
use super::opencl_c::{self, mangled};
use super::words::Instruction;
use rspirv::spirv::{Decoration, Op};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

const LINKAGE: u32 = Decoration::LinkageAttributes as u32;
const RETURN: u16 = Op::Return as u16;

/// Names of entry points and of functions. By hashes: a module may have hundreds of thousands.
#[derive(Debug, Default)]
pub(super) struct Names {
    hasher: RandomState,
    /// Whether the entry points are listed, as they are once something has a name.
    is_listed: bool,
    /// Functions of entry points with their names, in order.
    entries: Vec<(u32, u64)>,
    /// Names of entry points with their functions, in order.
    functions: Vec<(u64, u32)>,
    /// Names with what they are of.
    named: Vec<(u64, u32)>,
    /// Holders of a kernel's name that are no entry points, by the kernel's function.
    doubles: HashMap<u32, Double>,
    /// Functions of kernels, by what has the kernel's name.
    doubled: HashMap<u32, u32>,
    /// The entry point that is open.
    caller: Option<Caller>,
    /// Kernels that a driver calls otherwise.
    renamed: HashSet<u32>,
    /// Ids with names that drivers have themselves.
    taken: HashMap<u32, Taken>,
    /// Variables with names that drivers have themselves.
    taken_variables: usize,
    /// Whether something has the name under which LLVM lists constructors or destructors.
    pub(super) has_constructors: bool,
    /// Functions with names of OpenCL C's.
    of_opencl: HashMap<u32, OfOpenCl>,
}

/// Function with a name of OpenCL C's.
#[derive(Debug)]
struct OfOpenCl {
    /// Number of parameters by the mangled name.
    parameters: usize,
    /// Whether drivers take it for theirs in modules of C.
    is_taken_in_c: bool,
    /// Whether drivers for CPUs do.
    is_taken_on_cpus: bool,
    /// Whether drivers for CPUs do in modules of C.
    is_taken_on_cpus_in_c: bool,
    /// Id of the function's type; 0 before it is met.
    signature: u32,
}

/// Holder of a kernel's name.
#[derive(Debug, Default)]
struct Double {
    id: u32,
    /// Whether it is a function or a variable that others see.
    is_met: bool,
    /// Whether the entry point calls it and does nothing else.
    is_called: bool,
}

/// An entry point whose name another function has too.
#[derive(Debug)]
struct Caller {
    function: u32,
    callee: u32,
    parameters: Vec<u32>,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begun,
    InBlock,
    Called,
    Returned,
    Other,
}

impl Names {
    /// Looks at an instruction; `entries` are the entry points so far, and `in_function` tells whether it stands in a function.
    #[inline]
    pub(super) fn visit(&mut self, instruction: &Instruction<'_>, entries: &EntryPoints, in_function: bool) {
        match instruction.opcode {
            NAME => self.name(instruction, 1, entries),
            DECORATE | DECORATE_STRING if instruction.word(1) == LINKAGE => self.name(instruction, 2, entries),
            VARIABLE | UNTYPED_VARIABLE if !in_function => {
                self.meet(instruction.word(1));
                if self.taken.get(&instruction.word(1)) == Some(&Taken::ForAll) {
                    self.taken_variables = self.taken_variables.saturating_add(1);
                }
            }
            FUNCTION => {
                let function = instruction.word(1);
                self.meet(function);
                if let Some(own) = self.of_opencl.get_mut(&function) {
                    own.signature = instruction.word(3);
                }
                let double = self.doubles.get(&function).filter(|double| double.is_met);
                let callee = double.map(|double| double.id);
                self.caller =
                    callee.map(|callee| Caller { function, callee, parameters: Vec::new(), step: Step::Begun });
            }
            _ => {
                if self.caller.is_some() {
                    self.call(instruction);
                }
            }
        }
    }

    /// Lists the entry points, which stand before all names.
    #[cold]
    fn list(&mut self, entries: &EntryPoints) {
        self.is_listed = true;
        self.entries = entries.iter().map(|entry| (entry.function, self.hasher.hash_one(entry.name))).collect();
        self.entries.sort_unstable();
        self.functions = self.entries.iter().map(|(function, name)| (*name, *function)).collect();
        self.functions.sort_unstable();
    }

    /// Notes a name.
    fn name(&mut self, instruction: &Instruction<'_>, at: usize, entries: &EntryPoints) {
        if !self.is_listed {
            self.list(entries);
        }
        let id = instruction.word(0);
        let text = instruction.text(at).0;
        let parts = mangled(&text);
        self.has_constructors |= lists_constructors(&text);
        if let Some(taken) = is_taken(&text, parts) {
            self.taken.insert(id, taken);
        } else if let Some((plain, types)) = parts
            && opencl_c::is_function(plain)
            && let Some(parameters) = opencl_c::parameters(types)
        {
            let is_taken_in_c = TAKEN_IN_C.contains(&plain);
            let in_all = plain == "prefetch" && parameters > 0 || ["all", "any"].contains(&plain) && parameters > 1;
            let is_of_group = plain.starts_with("work_group_") || plain.starts_with("sub_group_");
            let own = OfOpenCl {
                parameters,
                is_taken_in_c,
                is_taken_on_cpus: in_all || is_of_group,
                is_taken_on_cpus_in_c: ON_CPUS_IN_C.contains(&plain),
                signature: 0,
            };
            self.of_opencl.insert(id, own);
        }
        let name = self.hasher.hash_one(&*text);
        // The code of a helper is that of its name.
        if !is_helper(&text) {
            self.named.push((name, id));
        }
        if let Some(entry) = find(&self.entries, id) {
            if entry != name {
                self.renamed.insert(id);
            }
        } else if let Some(function) = find(&self.functions, name) {
            // Of two at most one is called alone.
            self.doubles.entry(function).or_insert(Double { id, ..Double::default() });
            self.doubled.entry(id).or_insert(function);
        }
    }

    /// Notes a function or a variable, once its names are known.
    fn meet(&mut self, id: u32) {
        if let Some(function) = self.doubled.get(&id) {
            match self.doubles.get_mut(function) {
                Some(double) if double.id == id => double.is_met = true,
                _ => _ = self.renamed.insert(*function),
            }
        }
    }

    /// Follows the body of an entry point that has to be a call of the function of its name.
    #[cold]
    fn call(&mut self, instruction: &Instruction<'_>) {
        let Some(caller) = &mut self.caller else { return };
        let arguments = || instruction.words().skip(3);
        caller.step = match (instruction.opcode, caller.step) {
            (LINE | NO_LINE, step) => step,
            (FUNCTION_PARAMETER, Step::Begun) => {
                caller.parameters.push(instruction.word(1));
                Step::Begun
            }
            (LABEL, Step::Begun) => Step::InBlock,
            (FUNCTION_CALL, Step::InBlock)
                if instruction.word(2) == caller.callee && arguments().eq(caller.parameters.iter().copied()) =>
            {
                Step::Called
            }
            (RETURN, Step::Called) => Step::Returned,
            (FUNCTION_END, step) => {
                if let Some(double) = self.doubles.get_mut(&caller.function) {
                    double.is_called = step == Step::Returned;
                }
                self.caller = None;
                return;
            }
            _ => Step::Other,
        };
    }

    /// Returns what is wrong: first by the names that the module gives twice or otherwise, then by those that drivers have; and
    /// whether it has functions that drivers for CPUs alone take for theirs.
    /// `is_c` tells that the module is of no C++, `is_function` and `has_body` what is a function, and one with a body, and
    /// `parameters` how many a type of functions has.
    pub(super) fn faults(
        mut self,
        is_c: bool,
        is_function: impl Fn(u32) -> bool,
        has_body: impl Fn(u32) -> bool,
        parameters: impl Fn(u32) -> Option<usize>,
    ) -> ([Vec<String>; 2], bool) {
        let (mut faults, mut theirs) = (Vec::new(), Vec::new());
        let doubles = self.doubles.iter().filter(|(_, double)| double.is_met && !double.is_called);
        self.renamed.extend(doubles.map(|(function, _)| *function));
        if !self.renamed.is_empty() {
            let count = self.renamed.len();
            faults.push(format!(
                "the module has kernels ({count}) that drivers call otherwise, or take another function for, by its names"
            ));
        }
        // A kernel is called by its own name, and so is the function that it calls alone.
        let is_called = |id: u32| has_body(id) && find(&self.entries, id).is_none() && !self.doubled.contains_key(&id);
        let functions = self.taken.keys().filter(|id| is_called(**id)).count();
        // Drivers that compile for several work-items at once look for the same function of vectors, by the name alone.
        let is_other = |own: &OfOpenCl| parameters(own.signature).is_some_and(|count| count != own.parameters);
        let is_theirs = |own: &OfOpenCl| is_c && own.is_taken_in_c || is_other(own);
        let others = self.of_opencl.iter().filter(|(id, own)| is_called(**id) && is_theirs(own)).count();
        let functions = functions.saturating_add(others);
        let is_of_cpus = |own: &OfOpenCl| own.is_taken_on_cpus || is_c && own.is_taken_on_cpus_in_c;
        let on_cpus = self.of_opencl.iter().any(|(id, own)| is_of_cpus(own) && is_called(*id));
        for (what, count) in [("functions", functions), ("variables", self.taken_variables)] {
            if count > 0 {
                theirs.push(format!("the module has {what} ({count}) that drivers take for their own, by their names"));
            }
        }
        self.named.retain(|(_, id)| is_function(*id));
        self.named.sort_unstable();
        self.named.dedup();
        // A kernel and the function that it calls may have one name.
        self.named.retain(|(_, id)| find(&self.entries, *id).is_none());
        let same = self.named.windows(2).filter(|pair| matches!(pair, [first, second] if first.0 == second.0)).count();
        if same > 0 {
            faults
                .push(format!("the module has functions ({same}) that have another's name, and drivers take for one"));
        }
        ([faults, theirs], on_cpus)
    }
}

/// Returns the value of a key in a list that is in order.
fn find<K: Ord + Copy, V: Copy>(list: &[(K, V)], key: K) -> Option<V> {
    let place = list.binary_search_by_key(&key, |(key, _)| *key).ok()?;
    list.get(place).map(|(_, value)| *value)
}

/// Whether LLVM takes a variable of a name for a list of constructors or destructors.
pub(super) fn lists_constructors(name: &str) -> bool {
    matches!(name, "llvm.global_ctors" | "llvm.global_dtors")
}

/// Whether a driver makes no kernel of a name.
pub(super) fn is_no_kernel(name: &str) -> bool {
    is_taken(name, mangled(name)) == Some(Taken::ForAll)
}

/// Names that drivers have themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// For functions.
    ForFunctions,
    /// For kernels and variables, too.
    ForAll,
}

/// Functions of numbers that Intel's CPU compiler takes for its own, or for those of OpenCL C, in every module: it divides by some.
#[rustfmt::skip]
const TAKEN: [&str; 18] = [
    "idiv", "irem", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf", "isless", "islessequal",
    "islessgreater", "isnan", "isnormal", "isnotequal", "isordered", "isunordered", "signbit", "udiv", "urem",
];

/// Functions of OpenCL C that it takes for its own in modules of C alone.
#[rustfmt::skip]
const TAKEN_IN_C: [&str; 13] = [
    "all", "any", "bitselect", "clamp", "fma", "mad", "mad24", "mad_hi", "mad_sat", "mix", "prefetch", "select",
    "smoothstep",
];

/// Functions of OpenCL C of two operands that it takes for its own in modules of C: it looks for one of vectors, calls its own, or ends.
#[rustfmt::skip]
const ON_CPUS_IN_C: [&str; 32] = [
    "abs_diff", "add_sat", "atan2", "atan2pi", "copysign", "fdim", "fmax", "fmin", "fmod", "hadd", "hypot", "ldexp",
    "max", "maxmag", "min", "minmag", "mul24", "mul_hi", "native_divide", "nextafter", "pow", "pown", "powr",
    "half_divide", "half_powr", "native_powr", "remainder", "rhadd", "rootn", "rotate", "step", "sub_sat",
];

/// Tells whether drivers have a name, and take what has it for theirs: instructions and built-in variables of SPIR-V, what tells a
/// work-item its place, intrinsics of LLVM, and functions of C that LLVM knows and DPC++ brings none of. Templates are DPC++'s own
/// (`__spirv_AtomicMin`), and do what they are called. `parts` are those of a mangled name.
fn is_taken(name: &str, parts: Option<(&str, &str)>) -> Option<Taken> {
    #[rustfmt::skip]
    const PLACES: [&str; 20] = [
        "barrier", "get_enqueued_local_size", "get_enqueued_num_sub_groups", "get_global_id", "get_global_linear_id",
        "get_global_offset", "get_global_size", "get_group_id", "get_local_id", "get_local_linear_id", "get_local_size",
        "get_max_sub_group_size", "get_num_groups", "get_num_sub_groups", "get_sub_group_id", "get_sub_group_local_id",
        "get_sub_group_size", "get_work_dim", "sub_group_barrier", "work_group_barrier",
    ];
    const OF_C: [&str; 7] = ["ffs", "ffsl", "ffsll", "isascii", "isdigit", "printf", "toascii"];
    if name.starts_with("llvm.") {
        return Some(Taken::ForAll);
    }
    let Some((plain, types)) = parts else {
        // Intel's CPU compiler ends the names of its own functions with a point, and stumbles over lengths that are none.
        let is_number =
            name.strip_prefix("_Z").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        let is_theirs = is_number || name.starts_with("__spirv_") || name.ends_with('.') || OF_C.contains(&name);
        return is_theirs.then_some(Taken::ForFunctions);
    };
    if types.starts_with('I') {
        return None;
    }
    if PLACES.contains(&plain) {
        return Some(Taken::ForAll);
    }
    let is_theirs = TAKEN.contains(&plain) && opencl_c::parameters(types).is_some();
    (is_theirs || plain.starts_with("__spirv_")).then_some(Taken::ForFunctions)
}
