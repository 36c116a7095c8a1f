//! What arguments does a kernel take?
//!
//! Some translators keep the data of clang's `-cl-kernel-arg-info` as strings that no instruction refers to:
//! `kernel_arg_type.KERNEL.T0,T1,...,` and `kernel_arg_type_qual.KERNEL.Q0,...,` (SPIRV-LLVM-Translator,
//! `--preserve-ocl-kernel-arg-type-metadata-through-string`). Types and qualifiers of the source are taken from them
//! where they exist.
//!
//! Names are those that the SPIR-V to LLVM translator rebuilds (`SPIRVReader.cpp`, `transTypeToOCLTypeName`). Modules
//! for OpenCL have no signed types, so a name is the signed one unless a parameter is extended with zeros.

use super::Room;
use crate::spirv::index::{EntryPoint, Index};
use crate::spirv::op;
use crate::spirv::types::{self, Image, Layout, Layouts, Type};
use rspirv::spirv::Decoration;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Name in the source, where the module keeps it.
    pub name: Option<String>,
    /// Type as in OpenCL C. Most modules lose whether it is signed. Arguments of one type share it.
    pub type_name: Arc<str>,
    /// `global`, `local`, `constant`, `private` or `generic`.
    pub address_space: &'static str,
    /// `read_only`, `write_only` or `read_write` of an image or pipe.
    pub access: Option<&'static str>,
    /// `const`, `restrict`, `volatile`, `pipe`; `readonly` of a pointer through which the kernel does not write.
    pub(crate) qualifiers: Vec<String>,
    /// Size in bytes for `clSetKernelArg`; none where the type has no size.
    pub size: Option<u64>,
    /// Alignment in bytes; of a pointer that of its pointee, where the module says.
    pub(crate) alignment: Option<u64>,
    /// Whether it is a structure that is passed by value.
    pub(crate) by_value: bool,
}

/// Types and qualifiers of arguments from a module's strings, by kind and kernel.
#[derive(Debug, Default)]
pub(crate) struct ArgumentStrings(HashMap<&'static str, HashMap<String, Vec<String>>>);

const TYPE: &str = "kernel_arg_type";
/// Number of dots in a string that are tried as the end of a kernel's name.
pub(crate) const DOTS: usize = 64;
const QUALIFIER: &str = "kernel_arg_type_qual";

impl ArgumentStrings {
    /// Collects the strings of a module.
    pub(crate) fn collect(index: &Index<'_>) -> ArgumentStrings {
        let mut found: HashMap<&str, HashMap<String, Vec<String>>> = HashMap::new();
        let names: HashSet<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
        // ArgumentStrings come before the first type, so only the part before functions is walked.
        let end = index.functions.first().map_or(index.len(), |function| function.instructions.start);
        for (_, instruction) in index.instructions(0..end).filter(|(_, instruction)| instruction.opcode == op::STRING) {
            let text = instruction.string(1).0;
            for kind in [QUALIFIER, TYPE] {
                let Some(rest) = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.')) else { continue };
                // Kernel names may contain dots; the longest name that fits is used.
                let dots = rest.match_indices('.').take(DOTS);
                let kernel = dots.filter_map(|(at, _)| rest.get(..at)).filter(|name| names.contains(name)).last();
                if let Some(kernel) = kernel {
                    let list = rest.get(kernel.len().saturating_add(1)..).unwrap_or_default();
                    found.entry(kind).or_default().insert(kernel.to_owned(), items(list));
                }
                break;
            }
        }
        ArgumentStrings(found)
    }

    fn get(&self, kind: &'static str, kernel: &str, at: usize) -> Option<&str> {
        self.0.get(kind)?.get(kernel)?.get(at).map(String::as_str)
    }
}

/// Splits a list whose items end with a comma. Commas inside angle brackets separate template arguments.
fn items(list: &str) -> Vec<String> {
    let (mut depth, mut found, mut item) = (0usize, Vec::new(), String::new());
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => {
                found.push(std::mem::take(&mut item));
                continue;
            }
            '<' => depth = depth.saturating_add(1),
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        item.push(letter);
    }
    found
}

impl Argument {
    /// Bytes of its texts.
    fn text(&self) -> usize {
        let name = self.name.as_deref().map_or(0, str::len);
        let qualifiers = self.qualifiers.iter().map(|one| one.len().saturating_add(size_of::<String>()));
        self.type_name.len().saturating_add(name).saturating_add(qualifiers.sum())
    }
}

/// Returns the arguments of a kernel; none where they do not fit.
pub(super) fn arguments(
    index: &Index<'_>,
    (layouts, strings): (&Layouts, &ArgumentStrings),
    types: &mut TypeNames,
    entry: &EntryPoint<'_>,
    room: &mut Room,
) -> Option<Vec<Argument>> {
    let Some(function) = index.function(entry.function) else { return Some(Vec::new()) };
    let mut all = Vec::new();
    for (at, id) in index.parameters(function).enumerate() {
        room.take(size_of::<Argument>())?;
        let argument = argument(index, (layouts, strings), types, &entry.name, at, id);
        room.take(argument.text())?;
        all.push(argument);
    }
    Some(all)
}

/// Names of types, each made once.
#[derive(Debug, Default)]
pub(super) struct TypeNames(HashMap<(u32, bool), Arc<str>>);

impl TypeNames {
    /// Returns the OpenCL C name of a type.
    pub(super) fn get(&mut self, index: &Index<'_>, id: u32, unsigned: bool) -> Arc<str> {
        self.0.entry((id, unsigned)).or_insert_with(|| opencl_type_name(index, id, unsigned).into()).clone()
    }
}

/// Decorations of a parameter, among them `FunctionParameterAttribute`.
#[derive(Default)]
struct ParameterDecorations {
    zero_extended: bool,
    by_value: bool,
    restrict: bool,
    not_written: bool,
    volatile: bool,
    alignment: Option<u64>,
}

impl ParameterDecorations {
    fn read(index: &Index<'_>, id: u32) -> ParameterDecorations {
        const PARAMETER: u32 = Decoration::FuncParamAttr as u32;
        const ALIGNMENT: u32 = Decoration::Alignment as u32;
        const VOLATILE: u32 = Decoration::Volatile as u32;
        const RESTRICT: u32 = Decoration::Restrict as u32;
        let mut found = ParameterDecorations::default();
        for decoration in index.decorations(id) {
            let operand = index.decoration_operand(&decoration, 0);
            match (decoration.decoration, operand) {
                (PARAMETER, Some(0)) => found.zero_extended = true,
                (PARAMETER, Some(2)) => found.by_value = true,
                (PARAMETER, Some(4)) => found.restrict = true,
                (PARAMETER, Some(6 | 7)) => found.not_written = true,
                (ALIGNMENT, Some(bytes)) => found.alignment = Some(bytes.into()),
                (VOLATILE, _) => found.volatile = true,
                (RESTRICT, _) => found.restrict = true,
                _ => {}
            }
        }
        found
    }
}

fn argument(
    index: &Index<'_>,
    (layouts, strings): (&Layouts, &ArgumentStrings),
    types: &mut TypeNames,
    kernel: &str,
    at: usize,
    id: u32,
) -> Argument {
    let decorated = ParameterDecorations::read(index, id);
    let type_id = index.type_of(id).unwrap_or(0);
    let known = types::resolve(index, type_id);
    // SPIR-V passes a structure by value as a pointer to a private copy.
    let value = match &known {
        Some(Type::Pointer { storage: 7, pointee: Some(pointee) }) => Some(*pointee),
        _ => None,
    };
    let by_value = value.is_some() && decorated.by_value;
    let shown = value.unwrap_or(type_id);
    let layout = layouts.get(shown);
    let (address_space, access) = match &known {
        Some(Type::Pointer { storage, .. }) => (space(*storage), None),
        Some(Type::Image(image)) => ("global", image.access.and_then(access).or(Some("read_only"))),
        Some(Type::Pipe { access: way }) => ("global", access(*way)),
        _ => ("private", None),
    };
    let source = strings.get(QUALIFIER, kernel, at);
    let mut qualifiers: Vec<String> = match source {
        Some(text) => text.split_whitespace().map(str::to_owned).collect(),
        None => {
            let pipe = matches!(known, Some(Type::Pipe { .. }));
            let all = [(decorated.restrict, "restrict"), (decorated.volatile, "volatile"), (pipe, "pipe")];
            all.into_iter().filter(|(there, _)| *there).map(|(_, name)| name.to_owned()).collect()
        }
    };
    if decorated.not_written && !by_value && !qualifiers.iter().any(|name| name == "const") {
        qualifiers.push("readonly".to_owned());
    }
    let type_name = strings.get(TYPE, kernel, at).map(Arc::from);
    Argument {
        name: index.name(id).filter(|name| !name.is_empty()),
        type_name: type_name.unwrap_or_else(|| types.get(index, shown, decorated.zero_extended)),
        address_space,
        access,
        qualifiers,
        size: layout.map(|layout| layout.size),
        alignment: decorated.alignment.or_else(|| layout.map(|Layout { align, .. }| align)),
        by_value,
    }
}

/// Returns the address space of a storage class.
fn space(storage: u32) -> &'static str {
    match storage {
        0 => "constant",
        4 => "local",
        7 => "private",
        8 => "generic",
        // CrossWorkgroup, and its device and host parts (SPV_INTEL_usm_storage_classes).
        5 | 5936 | 5937 => "global",
        5605 => "code",
        _ => "other",
    }
}

fn access(qualifier: u32) -> Option<&'static str> {
    Some(match qualifier {
        0 => "read_only",
        1 => "write_only",
        2 => "read_write",
        _ => return None,
    })
}

/// Maximum nesting of types in a name.
const DEPTH: u32 = 8;

/// Bytes of a name beyond which nothing is added: functions that take functions make it a power.
const LONGEST: usize = 4096;

/// Returns the OpenCL C name of a type.
fn opencl_type_name(index: &Index<'_>, id: u32, unsigned: bool) -> String {
    let mut out = String::new();
    name(index, id, unsigned, DEPTH, &mut out);
    if out.len() > LONGEST {
        // Made anew, since thousands of kernels may have it.
        return out.chars().take(LONGEST).chain("...".chars()).collect();
    }
    out
}

fn name(index: &Index<'_>, id: u32, unsigned: bool, depth: u32, out: &mut String) {
    let Some(depth) = depth.checked_sub(1).filter(|_| out.len() <= LONGEST) else { return out.push_str("...") };
    let u = if unsigned { "u" } else { "" };
    match types::resolve(index, id) {
        Some(Type::Void) => out.push_str("void"),
        Some(Type::Bool) => out.push_str("bool"),
        Some(Type::Int { width, .. }) => match width {
            8 => out.push_str(&format!("{u}char")),
            16 => out.push_str(&format!("{u}short")),
            32 => out.push_str(&format!("{u}int")),
            64 => out.push_str(&format!("{u}long")),
            bits => out.push_str(&format!("{u}int{bits}_t")),
        },
        Some(Type::Vector { component, count }) => {
            name(index, component, unsigned, depth, out);
            out.push_str(&count.to_string());
        }
        Some(Type::Pointer { pointee: Some(pointee), .. }) => match types::resolve(index, pointee) {
            Some(Type::Function { result, parameters }) => {
                name(index, result, false, depth, out);
                out.push_str(" (*)(");
                for (at, id) in parameters.iter().enumerate() {
                    if out.len() > LONGEST {
                        break;
                    }
                    out.push_str(if at > 0 { "," } else { "" });
                    name(index, *id, false, depth, out);
                }
                out.push(')');
            }
            _ => {
                name(index, pointee, unsigned, depth, out);
                out.push('*');
            }
        },
        Some(Type::Pointer { pointee: None, .. }) => out.push_str("void*"),
        Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
            name(index, element, unsigned, depth, out);
            out.push_str("[]");
        }
        Some(Type::Struct | Type::Opaque) => {
            // Of the characters that are told each takes four bytes at most, and a tag may stand before them.
            out.push_str(&tagged(&index.name_head(id, LONGEST * 4 + 16).unwrap_or_default()));
        }
        Some(Type::Image(about)) => out.push_str(&image(&about)),
        Some(Type::Sampler) => out.push_str("sampler_t"),
        Some(Type::Event) => out.push_str("event_t"),
        Some(Type::DeviceEvent) => out.push_str("clk_event_t"),
        Some(Type::ReserveId) => out.push_str("reserve_id_t"),
        Some(Type::Queue) => out.push_str("queue_t"),
        Some(Type::Pipe { .. }) => out.push_str("pipe"),
        _ => out.push_str(&types::brief(index, id)),
    }
}

/// Turns LLVM's `struct.pair` into C's `struct pair`.
fn tagged(name: &str) -> String {
    for tag in ["struct", "union", "class"] {
        if let Some(rest) = name.strip_prefix(tag).and_then(|rest| rest.strip_prefix('.')) {
            return if rest.is_empty() { tag.to_owned() } else { format!("{tag} {rest}") };
        }
    }
    if name.is_empty() { "struct".to_owned() } else { name.to_owned() }
}

fn image(about: &Image) -> String {
    let dimension = match about.dimension {
        0 => "1d",
        1 => "2d",
        2 => "3d",
        3 => "cube",
        5 => "1d_buffer",
        _ => "",
    };
    let part = |there: bool, text: &'static str| if there { text } else { "" };
    let (array, samples) = (part(about.arrayed, "_array"), part(about.multisampled, "_msaa"));
    format!("image{dimension}{array}{samples}{}_t", part(about.depth == 1, "_depth"))
}

#[cfg(test)]
mod tests {

    #[test]
    fn every_item_ends_with_a_comma() {
        assert_eq!(super::items("int*,map<int,float>,,"), ["int*", "map<int,float>", ""]);
        assert!(super::items("").is_empty());
    }
}
