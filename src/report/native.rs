//! What does compiled code say of its devices and kernels, in words?

use super::units::bytes;
use crate::native::{Argument, Kernel, Native, Part};

/// The devices in few words, for a table.
pub fn devices(native: &Native) -> Option<String> {
    match native.devices().as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        [first, second] => Some(format!("{first}, {second}")),
        [first, rest @ ..] => Some(format!("{first} and {} more", rest.len())),
    }
}

/// A part: its format, version, producer, size, and how it states its device.
pub fn part(part: &Part) -> String {
    let mut words = vec![part.format.name().to_owned()];
    words.extend(part.version.as_ref().map(
        |version| match version.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("version {version}"),
            false => version.clone(),
        },
    ));
    words.push(bytes(part.size));
    words.extend(Some(part.stated.clone()).filter(|stated| !stated.is_empty()));
    words.extend(part.producer.as_ref().map(|producer| format!("by {producer}")));
    words.join(", ")
}

/// Resources that a kernel takes of a device, as far as the format tells.
pub fn resources(kernel: &Kernel) -> String {
    let mut words = Vec::new();
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.simd, &|simd| format!("SIMD {simd}"));
    add(kernel.registers, &|count| format!("{count} registers"));
    add(kernel.scalar_registers, &|count| format!("{count} scalar registers"));
    add(kernel.accumulation_registers.filter(|&count| count > 0), &|count| format!("{count} accumulation registers"));
    add(kernel.spill, &|size| format!("spill {}", bytes(size)));
    if let Some([vector, scalar]) = kernel.spilled_registers {
        words.push(format!("{vector} vector and {scalar} scalar registers spilled"));
    }
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.scratch, &|size| format!("scratch {}", bytes(size)));
    add(kernel.private, &|size| format!("private {}", bytes(size)));
    add(kernel.local, &|size| format!("local {}", bytes(size)));
    add(kernel.barriers, &|count| format!("{count} barrier{}", if count == 1 { "" } else { "s" }));
    if let Some([x, y, z]) = kernel.reqd_work_group_size {
        words.push(format!("requires work-group {x}x{y}x{z}"));
    }
    let mut add = |value: Option<u64>, text: &dyn Fn(u64) -> String| words.extend(value.map(text));
    add(kernel.reqd_sub_group_size, &|size| format!("requires sub-group {size}"));
    add(kernel.max_work_group_size, &|size| format!("work-group up to {size}"));
    add(kernel.argument_bytes, &|size| format!("{} of arguments", bytes(size)));
    words.join(", ")
}

/// An argument on one line.
pub fn argument(argument: &Argument) -> String {
    let mut words = Vec::new();
    words.extend(argument.name.clone());
    words.extend(argument.type_name.clone());
    words.extend(argument.kind.clone());
    words.extend(argument.address_space.map(str::to_owned));
    words.extend(argument.access.map(|access| access.replace('_', "-")));
    words.extend(argument.size.map(|size| match argument.offset {
        Some(offset) => format!("{} at {offset}", bytes(size)),
        None => bytes(size),
    }));
    format!("argument {}: {}", argument.index, words.join(", "))
}
