//! What is a type called in OpenCL C?
//!
//! Names are those that the SPIR-V to LLVM translator rebuilds (`SPIRVReader.cpp`, `transTypeToOCLTypeName`). Modules
//! for OpenCL have no signed types, so a name is the signed one unless a parameter is extended with zeros.

use crate::spirv::index::Index;
use crate::spirv::types::{self, Image, Type};

/// Maximum nesting of types in a name.
const DEPTH: u32 = 8;

/// Returns the OpenCL C name of a type.
pub fn opencl_type_name(index: &Index<'_>, id: u32, unsigned: bool) -> String {
    name(index, id, unsigned, DEPTH)
}

fn name(index: &Index<'_>, id: u32, unsigned: bool, depth: u32) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "...".to_owned() };
    let u = if unsigned { "u" } else { "" };
    let known = types::resolve(index, id);
    match known {
        Some(Type::Void) => "void".to_owned(),
        Some(Type::Bool) => "bool".to_owned(),
        Some(Type::Int { width, .. }) => match width {
            8 => format!("{u}char"),
            16 => format!("{u}short"),
            32 => format!("{u}int"),
            64 => format!("{u}long"),
            bits => format!("{u}int{bits}_t"),
        },
        Some(Type::Vector { component, count }) => format!("{}{count}", name(index, component, unsigned, depth)),
        Some(Type::Pointer { pointee: Some(pointee), .. }) => match types::resolve(index, pointee) {
            Some(Type::Function { result, parameters }) => {
                let parameters: Vec<String> = parameters.iter().map(|id| name(index, *id, false, depth)).collect();
                format!("{} (*)({})", name(index, result, false, depth), parameters.join(","))
            }
            _ => format!("{}*", name(index, pointee, unsigned, depth)),
        },
        Some(Type::Pointer { pointee: None, .. }) => "void*".to_owned(),
        Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
            format!("{}[]", name(index, element, unsigned, depth))
        }
        Some(Type::Struct { .. }) => tagged(&index.name(id).unwrap_or_default()),
        Some(Type::Opaque { name }) => tagged(&name),
        Some(Type::Image(about)) => image(&about),
        Some(Type::Sampler) => "sampler_t".to_owned(),
        Some(Type::Event) => "event_t".to_owned(),
        Some(Type::DeviceEvent) => "clk_event_t".to_owned(),
        Some(Type::ReserveId) => "reserve_id_t".to_owned(),
        Some(Type::Queue) => "queue_t".to_owned(),
        Some(Type::Pipe { .. }) => "pipe".to_owned(),
        _ => types::brief(index, id),
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
