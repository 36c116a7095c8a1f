//! What does LLVM bitcode require of a device, and what do its kernels and functions do?
//!
//! The facts of [`crate::native::bitcode`] in the terms of SPIR-V modules and recorded requirements, so that every rule
//! holds for both. Metadata counts as `sycl-post-link` would record it.

use super::aspects::Aspect;
use super::aspects::code::{self, Call, Code, Indirect, Node, Origin, Use};
use super::built_in::can_be_imported;
use crate::bundle::aspect::{self, Epoch};
use crate::bundle::requirements::{FixedTarget, Requirements, target_number};
use crate::limits;
use crate::native::bitcode::{self, Argument, Function, Module, Numbered, Recorded};
use crate::spirv::calls::{EdgeKind, Reach};
use crate::spirv::kernel::Kernel;
use crate::spirv::kernel::argument;
use crate::spirv::kernel::{Attributes, Room, SubGroup};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Returns what the metadata of a module's functions requires; aspects that no SPIR-V shows count as recorded too.
pub(crate) fn requirements(module: &Module, epoch: Epoch) -> Requirements {
    let defined = || module.functions.iter().filter(|function| function.defined);
    let recorded = || defined().map(|function| &function.recorded);
    let numbered = recorded().flat_map(|of| of.used.iter().chain(&of.declared)).flatten();
    let hidden = defined().flat_map(|function| &function.uses).filter(|found| Aspect::of_name(&found.aspect).is_none());
    let mut aspects: BTreeSet<(Option<u32>, String)> =
        numbered.map(|aspect| (aspect::number(epoch, &name(aspect, epoch)), name(aspect, epoch))).collect();
    aspects.extend(hidden.map(|found| (aspect::number(epoch, &found.aspect), found.aspect.to_string())));
    let (mut of_work_groups, mut seen) = (Vec::new(), HashSet::new());
    for mut size in recorded().filter_map(|of| of.work_group_size.clone()) {
        // The metadata begins with the source's last dimension.
        size.reverse();
        if seen.insert(size.clone()) {
            of_work_groups.push(size);
        }
    }
    let sub_groups: BTreeSet<u32> = recorded().filter_map(numeric_sub_group).collect();
    Requirements {
        aspects: aspects.into_iter().map(|(_, name)| name).collect(),
        reqd_work_group_sizes: of_work_groups,
        reqd_sub_group_sizes: sub_groups.into_iter().collect(),
        fixed_targets: fixed_targets(recorded()),
        ..Requirements::default()
    }
}

fn name(aspect: &Numbered, epoch: Epoch) -> String {
    aspect.name.clone().unwrap_or_else(|| aspect::label(epoch, aspect.number))
}

/// Returns the required work-group size of a kernel, or the hinted one, x last.
pub(crate) fn work_group_size(module: &Module, kernel: &str, hint: bool) -> Option<Vec<u64>> {
    let function = module.functions.get(place(module, kernel)?)?;
    let Recorded { work_group_size, work_group_size_hint, .. } = &function.recorded;
    let mut size = if hint { work_group_size_hint } else { work_group_size }.clone()?;
    size.reverse();
    Some(size)
}

/// Returns the place of a kernel among the functions: of several of one name, the first.
fn place(module: &Module, kernel: &str) -> Option<usize> {
    let by_name = || {
        let kernels = module.functions.iter().enumerate().filter(|(_, one)| one.defined && one.kernel);
        kernels.rev().map(|(at, one)| (one.name.clone(), at)).collect()
    };
    module.kernels.get_or_init(by_name).get(kernel).copied()
}

/// Returns those of the aspects that an image requires which the metadata of a kernel, and of all it calls, names.
pub(crate) fn recorded_aspects(module: &Module, kernel: &str, required: &Requirements) -> Vec<String> {
    let Some(at) = (!required.aspects.is_empty()).then(|| place(module, kernel)).flatten() else { return Vec::new() };
    let of_functions = module.required.get_or_init(|| required_by(module, &required.aspects));
    of_functions.get(at).cloned().unwrap_or_default()
}

/// Returns for each function which of some aspects its metadata, and that of all it calls, names: found once for all kernels,
/// from the functions that name an aspect to those that call them.
fn required_by(module: &Module, aspects: &[String]) -> Vec<Vec<String>> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); module.functions.len()];
    for (at, function) in module.functions.iter().enumerate() {
        for to in function.calls.iter().filter_map(|call| call.to) {
            callers.get_mut(to).into_iter().for_each(|callers| callers.push(at));
        }
    }
    let named = |aspect: &Numbered, wanted: &str| {
        // A number without a name was named as that of the image's time.
        let of_time = || {
            let mut epochs = [Epoch::Before2023, Epoch::From2023, Epoch::From2026].into_iter();
            epochs.any(|epoch| name(aspect, epoch) == wanted)
        };
        aspect.name.as_deref() == Some(wanted) || aspect.name.is_none() && of_time()
    };
    let mut all: Vec<Vec<String>> = vec![Vec::new(); module.functions.len()];
    for wanted in aspects {
        let names = |of: &Recorded| of.used.iter().chain(&of.declared).flatten().any(|aspect| named(aspect, wanted));
        let first = module.functions.iter().enumerate().filter(|(_, function)| names(&function.recorded));
        let mut open: Vec<usize> = first.map(|(at, _)| at).collect();
        let mut seen: HashSet<usize> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            if module.functions.get(at).is_some_and(|function| function.kernel) {
                all.get_mut(at).into_iter().for_each(|own| own.push(wanted.clone()));
            }
            open.extend(callers.get(at).into_iter().flatten().filter(|caller| seen.insert(**caller)));
        }
    }
    all
}

/// Returns the targets that all functions compiled for any share; none where no function is.
fn fixed_targets<'r>(recorded: impl Iterator<Item = &'r Recorded>) -> Option<Vec<FixedTarget>> {
    let fixed = recorded.filter_map(|of| of.fixed_targets.as_ref()).filter(|targets| !targets.is_empty());
    let shared = fixed.map(|targets| targets.iter().cloned().collect::<BTreeSet<String>>()).reduce(|a, b| &a & &b)?;
    let target = |name: String| FixedTarget { number: target_number(&name), name: Some(name) };
    Some(shared.into_iter().map(target).collect())
}

/// The primary size of a device is written as all ones or as zero.
fn numeric_sub_group(recorded: &Recorded) -> Option<u32> {
    recorded.sub_group_size.filter(|size| !matches!(*size, 0 | u32::MAX))
}

/// Returns the kernels, exports and imports of a module.
pub(crate) fn symbols(module: &Module) -> (Vec<String>, Vec<String>, Vec<String>) {
    let functions = |wanted: fn(&&Function) -> bool| module.functions.iter().filter(wanted).map(|one| one.name.clone());
    let variables = |defined: bool| {
        let wanted = move |one: &&bitcode::Variable| one.linked && one.defined == defined;
        let names = module.variables.iter().filter(wanted).map(|one| one.name.clone());
        // Lists of the compiler's own, and built-in variables of SPIR-V.
        names.filter(|name| !name.starts_with("llvm.") && !name.starts_with("__spirv_"))
    };
    let kernels = functions(|one| one.defined && one.kernel).collect();
    let exports = functions(|one| one.defined && one.linked && !one.kernel).chain(variables(true)).collect();
    let imports = functions(|one| !one.defined && one.linked).chain(variables(false));
    (kernels, exports, imports.filter(|name| can_be_imported(name)).collect())
}

/// Returns why some code of a module is not known, where it is not.
pub(crate) fn unread(module: &Module) -> Option<String> {
    let function = module.functions.iter().find(|function| function.unread.is_some())?;
    Some(format!("the code of {} is not wholly known: {}", function.name, function.unread.as_deref()?))
}

/// Returns the code of a module, as the call graph has it.
pub(crate) fn code(module: &Module) -> Code {
    let mut code =
        Code { unknown: module.functions.iter().filter(|one| one.unread.is_some()).count(), ..Code::default() };
    for (at, function) in module.functions.iter().enumerate() {
        let mut uses: Vec<Use> = function.uses.iter().filter_map(used).collect();
        let mut calls = Vec::new();
        for call in &function.calls {
            let origin = Origin::new(call.place.clone(), call.inlined.clone());
            match call.to {
                Some(to) => {
                    let via = if call.direct { EdgeKind::Call } else { EdgeKind::Reference };
                    calls.push(Call { to: to as u32, via, offset: call.offset, origin });
                }
                None => {
                    let (instruction, aspect) = ("call ptr".into(), Aspect::VirtualFunctions);
                    uses.push(Use { aspect, instruction, offset: call.offset, origin: origin.clone() });
                    code.indirect.push(Indirect { from: at, origin });
                }
            }
        }
        uses.sort_by_key(|found| found.aspect);
        let name: Arc<str> = function.name.as_str().into();
        code.nodes.push(Node {
            kind: if function.defined { code::Kind::Defined } else { code::Kind::Declared },
            named: Some(if function.name.is_empty() { format!("@{at}").into() } else { Arc::clone(&name) }),
            id: 0,
            symbol: function.linked.then_some(name),
            uses: uses.into(),
            calls: calls.into(),
        });
        if function.defined && function.kernel {
            let attributes = attributes(&function.recorded);
            let (name, attributes) = (function.name.as_str().into(), attributes.into());
            code.kernels.push(code::Kernel { name, node: Some(at), attributes });
        }
    }
    code
}

fn used(found: &bitcode::Use) -> Option<Use> {
    Some(Use {
        aspect: Aspect::of_name(&found.aspect)?,
        instruction: found.instruction.as_str().into(),
        offset: found.offset,
        origin: Origin::new(found.place.clone(), found.inlined.clone()),
    })
}

fn attributes(recorded: &Recorded) -> Attributes {
    let padded = |size: &Option<Vec<u64>>| {
        let size = size.as_ref()?;
        let side = |at: usize| u32::try_from(size.get(at).copied().unwrap_or(1)).ok();
        Some([side(0)?, side(1)?, side(2)?])
    };
    Attributes {
        work_group_size: padded(&recorded.work_group_size),
        work_group_size_hint: padded(&recorded.work_group_size_hint),
        sub_group_size: recorded.sub_group_size.map(|size| match numeric_sub_group(recorded) {
            Some(_) => SubGroup::Size(size),
            None => SubGroup::Primary,
        }),
        ..Attributes::default()
    }
}

/// Returns the kernels of a module of so many bytes, as SPIR-V would have them.
pub(crate) fn kernels(module: &Module, size: u64) -> Vec<Kernel> {
    let kernels = module.functions.iter().enumerate().filter(|(_, function)| function.defined && function.kernel);
    let mut left = limits::MAX_BITCODE_REACHED;
    let mut room = Room::new(usize::try_from(size).unwrap_or(usize::MAX));
    kernels.map(|(at, function)| kernel(module, at, function, &mut left, &mut room)).collect()
}

fn kernel(module: &Module, at: usize, function: &Function, left: &mut usize, room: &mut Room) -> Kernel {
    /// Address spaces, the same for SPIR-V, NVIDIA and AMD.
    const LOCAL: u64 = 3;
    const GLOBAL: u64 = 1;
    let (reached, whole) = reached(module, at, left);
    let functions = || reached.iter().filter_map(|at| module.functions.get(*at));
    let places: BTreeSet<usize> = functions().flat_map(|one| &one.variables).copied().collect();
    let variables = || places.iter().filter_map(|at| module.variables.get(*at));
    let locals = variables().filter(|one| one.space == LOCAL);
    let others = || functions().filter(|one| one.linked && one.name != function.name && !one.name.starts_with("llvm."));
    let names = |defined: bool| others().filter(move |one| one.defined == defined).map(|one| one.name.as_str());
    let globals = variables().filter(|one| one.space == GLOBAL && one.linked).map(|one| one.name.as_str());
    let (globals, imports, exports) = (
        listed(globals, room),
        listed(names(false).filter(|name| can_be_imported(name)), room),
        listed(names(true), room),
    );
    let lists_left_out = globals.is_none() || imports.is_none() || exports.is_none();
    Kernel {
        name: function.name.clone(),
        arguments: match lists_left_out {
            true => Vec::new(),
            false => function.arguments.iter().map(|argument| argument_of(module, argument)).collect(),
        },
        attributes: attributes(&function.recorded).into(),
        local_memory: locals.fold(0, |sum, one| sum.saturating_add(one.size.unwrap_or(0))),
        private_memory: 0,
        spec_constants: Vec::new(),
        device_globals: globals.filter(|_| !lists_left_out).unwrap_or_default(),
        imports: imports.filter(|_| !lists_left_out).unwrap_or_default(),
        exports: exports.filter(|_| !lists_left_out).unwrap_or_default(),
        lists_left_out,
        esimd: functions().flat_map(|one| &one.uses).any(|found| found.aspect == "ext_intel_esimd"),
        asserts: names(false).any(|name| name == "__devicelib_assert_fail" || name == "__assert_fail"),
        indirect_calls: !whole || functions().flat_map(|one| &one.calls).any(|call| call.to.is_none()),
        reach: Reach::default(),
    }
}

/// Returns names as a list; none where they do not fit.
fn listed<'n>(names: impl Iterator<Item = &'n str>, room: &mut Room) -> Option<Vec<Arc<str>>> {
    names.map(|name| room.take_name(name).map(|()| Arc::from(name))).collect()
}

/// Returns the places of a function and of all that it calls, and whether these are all; `left` counts the calls that may
/// yet be followed for all kernels.
fn reached(module: &Module, first: usize, left: &mut usize) -> (BTreeSet<usize>, bool) {
    let (mut all, mut open) = (BTreeSet::from([first]), vec![first]);
    while let Some(function) = open.pop().and_then(|at| module.functions.get(at)) {
        match left.checked_sub(function.calls.len().saturating_add(1)) {
            Some(rest) => *left = rest,
            None => return (all, false),
        }
        let called = function.calls.iter().filter_map(|call| call.to);
        open.extend(called.filter(|to| all.insert(*to)));
    }
    (all, true)
}

fn is_target(module: &Module, machine: &str) -> bool {
    module.triple.starts_with(machine)
}

fn argument_of(module: &Module, argument: &Argument) -> argument::Argument {
    // Numbers of address spaces differ between the targets of LLVM.
    let space = match argument.space {
        None => "private",
        Some(1) => "global",
        Some(3) => "local",
        Some(4) if is_target(module, "nvptx") || is_target(module, "amdgcn") => "constant",
        Some(5) if is_target(module, "nvptx") || is_target(module, "amdgcn") => "private",
        Some(2) if is_target(module, "spir") => "constant",
        Some(0) if is_target(module, "spir") => "private",
        _ => "generic",
    };
    // Before target types, an image's type said how it is accessed.
    let accesses = [("_ro_t", "read_only"), ("_wo_t", "write_only"), ("_rw_t", "read_write")];
    let image = accesses.into_iter().find_map(|(end, access)| Some((argument.type_name.strip_suffix(end)?, access)));
    argument::Argument {
        name: argument.name.clone(),
        type_name: image.map_or_else(|| argument.type_name.as_str().into(), |(name, _)| format!("{name}_t").into()),
        address_space: space,
        access: argument.access.or(image.map(|(_, access)| access)),
        qualifiers: argument.qualifiers.clone(),
        size: argument.layout.map(|(size, _)| size),
        alignment: argument.layout.map(|(_, alignment)| alignment).filter(|_| argument.space.is_none()),
        by_value: argument.by_value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::bitcode::Call;

    #[test]
    fn calls_are_followed_so_far_for_all_kernels() {
        let call = |to| Call { to: Some(to), direct: true, offset: 0, place: None, inlined: Vec::new() };
        let function = |at: usize| Function {
            name: format!("f{at}"),
            defined: true,
            kernel: true,
            linked: true,
            calls: at.checked_sub(1).map(call).into_iter().collect(),
            ..Function::default()
        };
        let module = Module { functions: (0..4_000).map(function).collect(), ..Module::default() };
        let all = kernels(&module, 0);
        assert!(!all[10].indirect_calls && all[3_999].indirect_calls);
        assert_eq!(all[10].exports.len(), 10);
        assert!(all.iter().map(|kernel| kernel.exports.len()).sum::<usize>() <= limits::MAX_BITCODE_REACHED);
    }
}
