//! Is code taken for equal, or for nobody's, that is not?

use super::program::{said, tool};
use super::support::folder::Folder;
use super::support::spirv::assemble;
use sycl_bundle::spirv::Module;

/// A kernel that reads an imported variable.
const READER: &str = "OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %kernel \"KERNEL\"
OpSource OpenCL_C 200000
OpDecorate %table LinkageAttributes \"TABLE\" Import
OpDecorate %table Constant
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%global = OpTypePointer CrossWorkgroup %u32
%constant = OpTypePointer UniformConstant %u32
%signature = OpTypeFunction %void %global
%table = OpVariable %constant UniformConstant
%kernel = OpFunction %void None %signature
%out = OpFunctionParameter %global
%entry = OpLabel
%value = OpLoad %u32 %table Aligned 4
OpStore %out %value Aligned 4
OpReturn
OpFunctionEnd
";

/// A kernel, an exported function that it does not call, and an exported variable that nobody uses.
const HELPER: &str = "OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %kernel \"k\"
OpEntryPoint Kernel %other \"other\"
OpSource OpenCL_C 200000
OpDecorate %helper LinkageAttributes \"helper\" Export
OpDecorate %table LinkageAttributes \"table\" Export
OpDecorate %table Constant
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%constant = OpTypePointer UniformConstant %u32
%signature = OpTypeFunction %void
%of_helper = OpTypeFunction %u32 %u32
%c222 = OpConstant %u32 222
%table = OpVariable %constant UniformConstant %c222
%kernel = OpFunction %void None %signature
%entry = OpLabel
OpReturn
OpFunctionEnd
%other = OpFunction %void None %signature
%entry2 = OpLabel
OpReturn
OpFunctionEnd
%helper = OpFunction %u32 None %of_helper
%value = OpFunctionParameter %u32
%entry3 = OpLabel
%result = OpIAdd %u32 %value %c222
OpReturnValue %result
OpFunctionEnd
";

fn reader(kernel: &str, table: &str) -> Vec<u8> {
    assemble(&READER.replace("KERNEL", kernel).replace("TABLE", table)).unwrap()
}

/// Returns the exit code of `diff --exit-code` for two modules.
fn difference(folder: &Folder, old: Vec<u8>, new: Vec<u8>) -> Option<i32> {
    folder.put("old.spv", old);
    folder.put("new.spv", new);
    tool(folder, ["diff", "old.spv", "new.spv", "--exit-code"]).status.code()
}

#[test]
fn kernels_that_read_different_variables_of_others_are_different() {
    let folder = Folder::new();
    for (tables, images) in [(["one", "other"], 2), (["one", "one"], 1)] {
        folder.put("a.spv", reader("a", tables[0]));
        folder.put("b.spv", reader("b", tables[1]));
        let done = tool(&folder, ["join", "a.spv", "b.spv", "--fold-clones", "-o", "j.table"]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        let rows = String::from_utf8(folder.read("j.table")).unwrap().lines().count() - 1;
        assert_eq!(rows, images, "{tables:?}");
        let different = difference(&folder, reader("a", tables[0]), reader("a", tables[1]));
        assert_eq!(different, Some(i32::from(images == 2)), "{tables:?}");
    }
}

/// Kernels of other images call it.
#[test]
fn exported_functions_are_compared() {
    let folder = Folder::new();
    let of = |text: &str| assemble(text).unwrap();
    let other = HELPER.replace("OpIAdd", "OpISub");
    assert_eq!(difference(&folder, of(HELPER), of(HELPER)), Some(0));
    assert_eq!(difference(&folder, of(HELPER), of(&other)), Some(1));
    let value = HELPER
        .replace("OpConstant %u32 222", "OpConstant %u32 333")
        .replace("OpIAdd %u32 %value %c222", "OpIAdd %u32 %value %value");
    let before = HELPER.replace("OpIAdd %u32 %value %c222", "OpIAdd %u32 %value %value");
    assert_eq!(difference(&folder, of(&before), of(&value)), Some(1), "an exported variable");
    // Ids are no part of the code.
    let renamed = HELPER.replace(
        "OpEntryPoint Kernel %kernel \"k\"\nOpEntryPoint Kernel %other \"other\"",
        "OpEntryPoint Kernel %other \"other\"\nOpEntryPoint Kernel %kernel \"k\"",
    );
    assert_eq!(difference(&folder, of(HELPER), of(&renamed)), Some(0));
}

/// Two variables that begin with one value, and that others may write.
#[test]
fn kernels_that_read_different_variables_of_their_own_are_different() {
    let folder = Folder::new();
    let of = |read: &str| {
        let text = HELPER.replace(
            "OpDecorate %table Constant\n",
            "OpDecorate %other_table LinkageAttributes \"other_table\" Export\n",
        );
        let text = text.replace("UniformConstant", "CrossWorkgroup");
        let text = text.replace(
            "%kernel = OpFunction",
            "%other_table = OpVariable %constant CrossWorkgroup %c222\n%kernel = OpFunction",
        );
        let load = format!("%entry = OpLabel\n%read = OpLoad %u32 {read} Aligned 4");
        assemble(&text.replacen("%entry = OpLabel", &load, 1)).unwrap()
    };
    assert_eq!(difference(&folder, of("%table"), of("%table")), Some(0));
    assert_eq!(difference(&folder, of("%table"), of("%other_table")), Some(1));
}

#[test]
fn exported_variables_stay_where_no_kernel_uses_them() {
    let folder = Folder::new();
    folder.put("m.spv", assemble(HELPER).unwrap());
    for mode in ["off", "per_source", "per_kernel"] {
        let done = tool(&folder, ["split", "m.spv", "--mode", mode, "-o", "p.table"]);
        assert_eq!(done.status.code(), Some(0), "{mode}: {}", said(&done));
        let rows = String::from_utf8(folder.read("p.table")).unwrap();
        let files = rows.lines().skip(1).filter_map(|row| row.split('|').next());
        let exports: Vec<String> = files.flat_map(|file| Module::parse(&folder.read(file)).unwrap().exports).collect();
        let count = |symbol: &str| exports.iter().filter(|own| *own == symbol).count();
        assert_eq!((count("table"), count("helper")), (1, 1), "{mode}: {exports:?}");
    }
}
