//! Is code taken for equal, or for nobody's, that is not?

use super::costly::run_bounded;
use super::program::{said, tool};
use super::recorded::{array, bytes, words};
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

/// Checks that kernels of two modules are not folded into one.
fn stay_apart(folder: &Folder, one: Vec<u8>, other: Vec<u8>) {
    folder.put("a.spv", one);
    folder.put("b.spv", other);
    let done = tool(folder, ["join", "a.spv", "b.spv", "--fold-clones", "-o", "j.table"]);
    assert!(said(&done).contains("0 clones folded"), "{}", said(&done));
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
fn what_others_may_use_stays_where_no_kernel_uses_it() {
    let folder = Folder::new();
    let once = HELPER.replace("\" Export", "\" LinkOnceODR").replacen(
        "OpMemoryModel",
        "OpExtension \"SPV_KHR_linkonce_odr\"\nOpMemoryModel",
        1,
    );
    folder.put("Export.spv", assemble(HELPER).unwrap());
    folder.put("LinkOnceODR.spv", assemble(&once).unwrap());
    folder.put("exported.prop", "[SYCL/exported symbols]\nhelper=1|1\ntable=1|1\n");
    folder.put("k.sym", "k\nother\n");
    for kind in ["Export", "LinkOnceODR"] {
        folder.put(&format!("{kind}.table"), format!("[Code|Properties|Symbols]\n{kind}.spv|exported.prop|k.sym\n"));
    }
    let cases = ["Export.spv", "Export.table", "LinkOnceODR.table"]
        .map(|file| ["off", "per_source", "per_kernel"].map(|mode| (file, mode)));
    for (kind, mode) in cases.into_iter().flatten() {
        let done = tool(&folder, ["split", kind, "--mode", mode, "-o", "p.table"]);
        assert_eq!(done.status.code(), Some(0), "{kind}, {mode}: {}", said(&done));
        let rows = String::from_utf8(folder.read("p.table")).unwrap();
        let files = rows.lines().skip(1).filter_map(|row| row.split('|').next());
        let exports: Vec<String> = files.flat_map(|file| Module::parse(&folder.read(file)).unwrap().exports).collect();
        let count = |symbol: &str| exports.iter().filter(|own| *own == symbol).count();
        assert!(count("table") >= 1 && count("helper") == 1, "{kind}, {mode}: {exports:?}");
    }
}

/// A table of images of one kernel: a constant that it stores, and the text of its property sets.
fn table(folder: &Folder, name: &str, images: &[(u32, &str)]) {
    let mut rows = "[Code|Properties|Symbols]\n".to_owned();
    for (nth, (constant, sets)) in images.iter().enumerate() {
        let stores = READER
            .replace("KERNEL", "k")
            .replace("OpDecorate %table LinkageAttributes \"TABLE\" Import\nOpDecorate %table Constant\n", "")
            .replace("%table = OpVariable %constant UniformConstant", &format!("%table = OpConstant %u32 {constant}"))
            .replace("%value = OpLoad %u32 %table Aligned 4\n", "")
            .replace("OpStore %out %value", "OpStore %out %table");
        folder.put(&format!("{name}{nth}.spv"), assemble(&stores).unwrap());
        folder.put(&format!("{name}{nth}.prop"), *sets);
        folder.put(&format!("{name}{nth}.sym"), "k\n");
        rows += &format!("{name}{nth}.spv|{name}{nth}.prop|{name}{nth}.sym\n");
    }
    folder.put(&format!("{name}.table"), rows);
}

/// Any of them may run, whichever comes first.
#[test]
fn all_images_of_a_kernel_are_compared() {
    let folder = Folder::new();
    let plain = format!("[SYCL/device requirements]\naspects={}\n", words(&[]));
    let with_fp64 = format!("[SYCL/device requirements]\naspects={}\n", words(&[6]));
    let differs = |old: &[(u32, &str)], new: &[(u32, &str)], gate: &[&str]| {
        table(&folder, "old", old);
        table(&folder, "new", new);
        tool(&folder, [&["diff", "old.table", "new.table"], gate].concat()).status.code()
    };
    let exit_code = ["--exit-code"];
    let both = [(1, plain.as_str()), (2, plain.as_str())];
    assert_eq!(differs(&both, &both, &exit_code), Some(0));
    assert_eq!(differs(&both, &[both[1], both[0]], &exit_code), Some(0), "in another order");
    let code = [(1, plain.as_str()), (3, plain.as_str())];
    assert_eq!(differs(&both, &code, &exit_code), Some(1), "code");
    let aspects = [(1, plain.as_str()), (2, with_fp64.as_str())];
    assert_eq!(differs(&both, &aspects, &exit_code), Some(1), "aspects");
    for (old, new) in [(both, aspects), ([both[1], both[0]], [aspects[1], aspects[0]])] {
        assert_eq!(differs(&old, &new, &["--forbid", "gained-requirements"]), Some(1));
    }
    assert_eq!(differs(&aspects, &both, &["--forbid", "gained-requirements"]), Some(0));
    // A change is told as what it is, of the image that has it.
    let ignored = ["--exit-code", "--ignore", "aspects,bytes,properties"];
    assert_eq!(differs(&both, &aspects, &ignored), Some(0));
    assert_eq!(differs(&both, &code, &ignored), Some(1));
    assert_eq!(differs(&both, &[both[0], both[1], both[1]], &["--exit-code", "--ignore", "bytes,targets"]), Some(0));
}

/// The runtime and devices go by them.
#[test]
fn properties_that_no_fact_tells_are_compared() {
    let folder = Folder::new();
    let matrix = |shape: &str| format!("joint_matrix={}\n", bytes(shape.as_bytes()));
    let constants = |default: u8| {
        let defaults = bytes(&[default, 0, 0, 0]);
        let layout = words(&[0, 0, 4]);
        format!(
            "[SYCL/specialization constants]\n_Zgain={layout}\n[SYCL/specialization constants default values]\nall={defaults}\n"
        )
    };
    let masked = |count: u64| format!("[SYCL/kernel param opt]\nk={}\n", array(&[0], count));
    let required = |more: &str| format!("[SYCL/device requirements]\naspects={}\n{more}", words(&[]));
    let cases = [
        (required(""), required(&matrix("matrix_a,fp16,8,16")), true),
        (required(&matrix("matrix_a,fp16,8,16")), required(&matrix("matrix_a,fp16,32,64")), true),
        (required(""), required(&format!("fixed_target={}\n", words(&[1]))), true),
        (required("reqd_sub_group_size=1|16\n"), required("reqd_sub_group_size=1|64\n"), true),
        (required(""), required("").replace(&words(&[]), &words(&[6])), true),
        // A mask of more arguments than the kernel has.
        (masked(3), masked(4), false),
        (constants(2), constants(3), false),
    ];
    for (old, new, is_required) in &cases {
        table(&folder, "old", &[(1, old)]);
        table(&folder, "new", &[(1, new)]);
        let diff = |gate: &[&str]| tool(&folder, [&["diff", "old.table", "new.table"], gate].concat()).status.code();
        assert_eq!(diff(&["--exit-code"]), Some(1), "{new}");
        assert_eq!(diff(&["--forbid", "gained-requirements"]), Some(i32::from(*is_required)), "{new}");
        table(&folder, "new", &[(1, old)]);
        assert_eq!(diff(&["--exit-code"]), Some(0), "{old}");
    }
}

/// Ids mean nothing, and what they stand for does.
#[test]
fn constants_of_execution_modes_are_compared() {
    let folder = Folder::new();
    let of = |number: u32, is_first: bool| {
        let mut constants =
            [format!("%number = OpConstant %u32 {number}\n"), "%unused = OpConstant %u32 99\n".to_owned()];
        if !is_first {
            constants.reverse();
        }
        let word = "%u32 = OpTypeInt 32 0\n";
        let text = READER
            .replace("OpSource", "OpExecutionModeId %kernel MaximumRegistersIdINTEL %number\nOpSource")
            .replace(word, &[word, &constants.concat()].concat());
        assemble(&text.replace("KERNEL", "k").replace("TABLE", "t")).unwrap()
    };
    assert_eq!(difference(&folder, of(7, true), of(7, true)), Some(0));
    assert_eq!(difference(&folder, of(7, true), of(7, false)), Some(0));
    assert_eq!(difference(&folder, of(7, true), of(8, true)), Some(1));
}

/// A table that one instruction has no room for goes on in the next.
#[test]
fn constants_of_two_instructions_are_compared() {
    let folder = Folder::new();
    let of = |kernel: &str, last: u32| {
        let ones = " %one".repeat(600);
        let table = format!(
            "%one = OpConstant %u32 1\n%last = OpConstant %u32 {last}\n%count = OpConstant %u32 1201\n\
             %array = OpTypeArray %u32 %count\n%of_array = OpTypePointer UniformConstant %array\n\
             %value = OpConstantComposite %array{ones}\nOpConstantCompositeContinuedINTEL{ones} %last\n\
             %table = OpVariable %of_array UniformConstant %value"
        );
        let text = READER
            .replace(
                "OpMemoryModel",
                "OpCapability LongCompositesINTEL\nOpExtension \"SPV_INTEL_long_composites\"\nOpMemoryModel",
            )
            .replace("OpDecorate %table LinkageAttributes \"TABLE\" Import\n", "")
            .replace("%table = OpVariable %constant UniformConstant", &table)
            .replace(
                "%value = OpLoad %u32 %table",
                "%place = OpInBoundsAccessChain %constant %table %last\n%number = OpLoad %u32 %place",
            )
            .replace("OpStore %out %value", "OpStore %out %number");
        assemble(&text.replace("KERNEL", kernel)).unwrap()
    };
    assert_eq!(difference(&folder, of("k", 7), of("k", 7)), Some(0));
    assert_eq!(difference(&folder, of("k", 7), of("k", 8)), Some(1));
    stay_apart(&folder, of("a", 7), of("b", 8));
}

/// An id's own decorations behind so many are not read.
#[test]
fn kernels_with_more_decorations_than_are_read_are_different() {
    let folder = Folder::new();
    let of = |kernel: &str, built_in: &str, more: usize| {
        let decorations = "OpDecorate %table UserSemantic \"x\"\n".repeat(more);
        let text = READER
            .replace("OpDecorate %table LinkageAttributes \"TABLE\" Import\n", &decorations)
            .replace("OpDecorate %table Constant\n", &format!("OpDecorate %table BuiltIn {built_in}\n"))
            .replace("%constant = OpTypePointer UniformConstant %u32", "%constant = OpTypePointer Input %u32")
            .replace("OpVariable %constant UniformConstant", "OpVariable %constant Input");
        assemble(&text.replace("KERNEL", kernel)).unwrap()
    };
    for more in [10, 300] {
        let [old, new] = ["SubgroupId", "SubgroupSize"].map(|built_in| of("k", built_in, more));
        assert_eq!(difference(&folder, old, new), Some(1), "{more}");
    }
    stay_apart(&folder, of("a", "SubgroupId", 300), of("b", "SubgroupSize", 300));
}

/// Devices may read them.
#[test]
fn decorations_of_members_are_compared() {
    let folder = Folder::new();
    let of = |kernel: &str, decoration: &str| {
        let text = READER
            .replace("OpDecorate %table LinkageAttributes \"TABLE\" Import\n", decoration)
            .replace(
                "%constant = OpTypePointer UniformConstant %u32",
                "%pair = OpTypeStruct %u32 %u32\n%constant = OpTypePointer UniformConstant %pair",
            )
            .replace("%table = OpVariable", "%zero = OpConstantNull %pair\n%table = OpVariable")
            .replace("UniformConstant\n%kernel", "UniformConstant %zero\n%kernel")
            .replace(
                "%value = OpLoad %u32 %table Aligned 4",
                "%both = OpLoad %pair %table Aligned 4\n%value = OpCompositeExtract %u32 %both 0",
            );
        assemble(&text.replace("KERNEL", kernel)).unwrap()
    };
    let first = "OpMemberDecorate %pair 0 Volatile\n";
    for second in ["OpMemberDecorate %pair 1 Volatile\n", "OpMemberDecorate %pair 0 Restrict\n"] {
        assert_eq!(difference(&folder, of("k", first), of("k", first)), Some(0));
        assert_eq!(difference(&folder, of("k", first), of("k", second)), Some(1), "{second}");
        stay_apart(&folder, of("a", first), of("b", second));
    }
}

/// A kernel of thousands of arguments, and as many images of it that say something else each.
#[test]
fn many_images_of_a_kernel_with_many_arguments_are_compared_in_bounds() {
    let folder = Folder::new();
    let arguments = 4000;
    let types = " %u32".repeat(arguments);
    let parameters: String = (0..arguments).map(|nth| format!("%p{nth} = OpFunctionParameter %u32\n")).collect();
    let many = READER
        .replace("OpDecorate %table LinkageAttributes \"TABLE\" Import\nOpDecorate %table Constant\n", "")
        .replace("%table = OpVariable %constant UniformConstant\n", "")
        .replace("%value = OpLoad %u32 %table Aligned 4\nOpStore %out %value Aligned 4\n", "")
        .replace("OpTypeFunction %void %global", &format!("OpTypeFunction %void{types}"))
        .replace("%out = OpFunctionParameter %global\n", &parameters);
    folder.put("many.spv", assemble(&many.replace("KERNEL", "k")).unwrap());
    folder.put("many.sym", "k\n");
    folder.put("old.table", "[Code|Symbols]\nmany.spv|many.sym\n");
    let images: Vec<(u32, String)> = (0..1500u32)
        .map(|nth| (nth, format!("[SYCL/device requirements]\naspects={}\n", words(&[1000 + nth]))))
        .collect();
    let images: Vec<(u32, &str)> = images.iter().map(|(constant, sets)| (*constant, sets.as_str())).collect();
    table(&folder, "new", &images);
    run_bounded(&folder, &["diff", "old.table", "new.table", "--forbid", "changed-arguments"], 20, &[1]);
}

/// Each image has its own.
#[test]
fn properties_that_images_swap_are_compared() {
    let folder = Folder::new();
    let required = |aspect: u32| format!("[SYCL/device requirements]\naspects={}\n", words(&[aspect]));
    let imported = |symbol: &str| format!("[SYCL/imported symbols]\n{symbol}=1|1\n");
    let library = |symbol: &str| {
        let text = HELPER.replace("\"helper\"", &format!("\"{symbol}\""));
        let text = text.replace("OpEntryPoint Kernel %kernel \"k\"\nOpEntryPoint Kernel %other \"other\"\n", "");
        assemble(&text).unwrap()
    };
    for (name, sets) in [("old", [6, 5]), ("new", [5, 6])] {
        let mut rows = "[Code|Properties|Symbols]\n".to_owned();
        for (nth, aspect) in sets.iter().enumerate() {
            folder.put(&format!("{name}{nth}.spv"), library(["one", "two"][nth]));
            folder.put(&format!("{name}{nth}.prop"), required(*aspect));
            folder.put(&format!("{name}{nth}.sym"), "");
            rows += &format!("{name}{nth}.spv|{name}{nth}.prop|{name}{nth}.sym\n");
        }
        folder.put(&format!("{name}.table"), rows);
    }
    let diff = || tool(&folder, ["diff", "old.table", "new.table", "--exit-code"]).status.code();
    assert_eq!(diff(), Some(1), "libraries");
    let both = [imported("one"), imported("two")];
    table(&folder, "old", &[(1, &both[0]), (2, &both[1])]);
    table(&folder, "new", &[(1, &both[1]), (2, &both[0])]);
    assert_eq!(diff(), Some(1), "imports");
    table(&folder, "new", &[(2, &both[1]), (1, &both[0])]);
    assert_eq!(diff(), Some(0), "in another order");
}
