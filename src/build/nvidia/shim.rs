//! What does a kernel look like that calls a kernel's code as a function?
//!
//! llvm-spirv writes kernels of SPIR-V's calling convention, with pointers to local memory as arguments. The driver launches
//! those of NVPTX's convention only, and the runtime's CUDA adapter passes an offset into dynamic shared memory in the place
//! of each such pointer. So each kernel is written anew, in text that llvm-link reads, as a function around the code that
//! [`super::lower`] renamed; LLVM inlines the one into the other. The text begins with the target and data layout, which
//! llvm-link takes over for all that is linked to it.

use super::Modes;
use super::lower::{BODY, Kernel, Parameter};
use std::fmt::Write as _;

/// Shared memory whose size the launch sets; all arguments in local memory are in it.
pub(crate) const SHARED: &str = "__sycl_bundle_shared";
/// Target that the modules get.
pub(crate) const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// Returns LLVM's data layout of NVPTX as of a version of LLVM.
pub(crate) fn data_layout(major: u32) -> &'static str {
    match major {
        0..=16 => "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
        17..=20 => "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
        21 => "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64",
        _ => "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64",
    }
}

/// Work-items that every kernel takes in a work-group, as on Intel's GPUs: SYCL programs choose sizes by what the device says,
/// not by what each kernel says. ptxas keeps to the registers that there are for one such work-group on a multiprocessor;
/// unless told that one is enough, it keeps to half of them and spills the others.
const WORK_ITEMS: u32 = 1024;
/// Work-items of a kernel that is compiled for twice the registers, which halves the number on Intel's GPUs, too.
const WORK_ITEMS_OF_LARGE: u32 = 512;

/// Returns the module of kernels, for a version of LLVM. Variables that the host looks for are marked as used: llvm-link takes over
/// what is used alone.
pub(crate) fn module(kernels: &[Kernel], variables: &[String], major: u32, modes: Modes) -> String {
    let mut out = format!("target datalayout = \"{}\"\ntarget triple = \"{TRIPLE}\"\n\n", data_layout(major));
    if kernels.iter().any(|kernel| kernel.parameters.contains(&Parameter::Local)) {
        let _ = writeln!(out, "@{SHARED} = external addrspace(3) global [0 x i8], align 32\n");
    }
    let mut used = Vec::new();
    for variable in variables.iter().map(|name| quoted(name)) {
        let _ = writeln!(out, "@{variable} = external addrspace(1) global i8");
        used.push(format!("ptr addrspacecast (ptr addrspace(1) @{variable} to ptr)"));
    }
    if !used.is_empty() {
        let (count, used) = (used.len(), used.join(", "));
        let _ = writeln!(
            out,
            "@llvm.compiler.used = appending global [{count} x ptr] [{used}], section \"llvm.metadata\"\n"
        );
    }
    let mut notes = Vec::new();
    for kernel in kernels {
        write_kernel(&mut out, kernel);
        let name = quoted(&kernel.name);
        notes.push(format!("!{{ptr @{name}, !\"kernel\", i32 1}}"));
        notes.push(format!("!{{ptr @{name}, !\"minctasm\", i32 1}}"));
        for (side, size) in ["reqntidx", "reqntidy", "reqntidz"].iter().zip(kernel.work_group.into_iter().flatten()) {
            notes.push(format!("!{{ptr @{name}, !\"{side}\", i32 {size}}}"));
        }
        if kernel.work_group.is_none() {
            let most = if modes.large_registers { WORK_ITEMS_OF_LARGE } else { WORK_ITEMS };
            let most = kernel.max_work_group.unwrap_or([most, 1, 1]);
            for (side, size) in ["maxntidx", "maxntidy", "maxntidz"].iter().zip(most) {
                notes.push(format!("!{{ptr @{name}, !\"{side}\", i32 {size}}}"));
            }
        }
    }
    let numbers: Vec<String> = (0..notes.len()).map(|number| format!("!{number}")).collect();
    let _ = writeln!(out, "!nvvm.annotations = !{{{}}}", numbers.join(", "));
    for (number, note) in notes.iter().enumerate() {
        let _ = writeln!(out, "!{number} = {note}");
    }
    if modes.flush_denormals {
        let number = notes.len();
        let _ =
            writeln!(out, "!llvm.module.flags = !{{!{number}}}\n!{number} = !{{i32 4, !\"nvvm-reflect-ftz\", i32 1}}");
    }
    out
}

fn write_kernel(out: &mut String, kernel: &Kernel) {
    let (mut outer, mut inner, mut places) = (Vec::new(), Vec::new(), String::new());
    for (at, parameter) in kernel.parameters.iter().enumerate() {
        let inner_type = match parameter {
            Parameter::Plain(of) => {
                outer.push(format!("{of} %a{at}"));
                of.as_str()
            }
            Parameter::Copied { size, align } => {
                outer.push(format!("ptr byval([{size} x i8]) align {align} %a{at}"));
                "ptr"
            }
            Parameter::Local => {
                outer.push(format!("i32 %o{at}"));
                let _ = writeln!(places, "  %a{at} = getelementptr i8, ptr addrspace(3) @{SHARED}, i32 %o{at}");
                "ptr addrspace(3)"
            }
        };
        inner.push((inner_type, at));
    }
    let types: Vec<&str> = inner.iter().map(|(of, _)| *of).collect();
    let values: Vec<String> = inner.iter().map(|(of, at)| format!("{of} %a{at}")).collect();
    let body = quoted(&format!("{}{BODY}", kernel.name));
    let _ = write!(
        out,
        "declare spir_func void @{body}({})\n\ndefine ptx_kernel void @{}({}) {{\n{places}  call spir_func void @{body}({})\n  \
         ret void\n}}\n\n",
        types.join(", "),
        quoted(&kernel.name),
        outer.join(", "),
        values.join(", ")
    );
}

/// Returns a name as LLVM's text has it: in quotation marks, with other than plain characters as hexadecimal numbers.
pub(super) fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.$".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\{byte:02X}");
        }
    }
    out.push('"');
    out
}

/// Returns whether a kernel's name can be that of a PTX symbol: others would be renamed by LLVM.
pub(crate) fn is_symbol(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_written_around_its_code() {
        let parameters =
            vec![Parameter::Plain("i64".into()), Parameter::Local, Parameter::Copied { size: 24, align: 8 }];
        let kernel = Kernel { name: "_ZTS1k".into(), parameters, work_group: Some([8, 4, 1]), max_work_group: None };
        let text = module(&[kernel], &["counter".into()], 22, Modes::default());
        let expected = "\
declare spir_func void @\"_ZTS1k.body\"(i64, ptr addrspace(3), ptr)

define ptx_kernel void @\"_ZTS1k\"(i64 %a0, i32 %o1, ptr byval([24 x i8]) align 8 %a2) {
  %a1 = getelementptr i8, ptr addrspace(3) @__sycl_bundle_shared, i32 %o1
  call spir_func void @\"_ZTS1k.body\"(i64 %a0, ptr addrspace(3) %a1, ptr %a2)
  ret void
}
";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("!2 = !{ptr @\"_ZTS1k\", !\"reqntidx\", i32 8}"), "{text}");
        assert!(text.contains("@\"counter\" = external addrspace(1) global i8\n"), "{text}");
        assert!(!text.contains("maxntid") && !text.contains("module.flags"), "{text}");
        assert!(!module(&[], &[], 22, Modes::default()).contains(SHARED));
    }

    #[test]
    fn kernels_take_the_work_groups_of_their_device() {
        let kernel = |max_work_group| Kernel { name: "k".into(), parameters: vec![], work_group: None, max_work_group };
        let modes = Modes { large_registers: true, flush_denormals: true, ..Modes::default() };
        for (most, modes, first) in
            [(None, Modes::default(), 1024), (None, modes, 512), (Some([16, 4, 1]), Modes::default(), 16)]
        {
            let text = module(&[kernel(most)], &[], 22, modes);
            assert!(text.contains(&format!("!2 = !{{ptr @\"k\", !\"maxntidx\", i32 {first}}}")), "{text}");
            assert_eq!(text.contains("nvvm-reflect-ftz"), modes.flush_denormals);
        }
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b\\"), "\"a\\22b\\5C\"");
        assert!(is_symbol("_ZTS1k") && !is_symbol("a-b") && !is_symbol(""));
    }
}
