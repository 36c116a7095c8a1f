//! What happens to the parts of a module that nothing refers to by id, or that refer to what is left out?

use crate::support::spirv::assemble;
use rspirv::binary::Disassemble as _;
use sycl_bundle::error::ErrorKind;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::subset::{Cutter, Keep, exported};

/// Two kernels, `first` and `second`, with a function each and one that both call.
const TWO: &str = r#"
; Version: 1.4
OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpCapability Int64
OpCapability Float64
OpCapability Int8
OpExtension "SPV_KHR_expect_assume"
OpExtension "SPV_KHR_no_integer_wrap_decoration"
OpExtension "SPV_SOMEBODY_something"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %first "first" %input
OpEntryPoint Kernel %second "second" %input %other
OpExecutionMode %first LocalSize 8 1 1
OpExecutionMode %second ContractionOff
%types1 = OpString "kernel_arg_type.first.int*,"
%types2 = OpString "kernel_arg_type.second.long*,"
%file = OpString "a.cl"
OpSource OpenCL_C 200000 %file
OpName %shared "shared"
OpName %local "local"
OpDecorate %group Constant
OpDecorate %local NoSignedWrap
%group = OpDecorationGroup
OpGroupDecorate %group %input %other
OpDecorate %exported LinkageAttributes "exported" Export
OpDecorate %body LinkageAttributes "second" Export
%void = OpTypeVoid
%int = OpTypeInt 32 0
%long = OpTypeInt 64 0
%double = OpTypeFloat 64
%one = OpConstant %int 1
%half = OpConstant %double 0.5
%signature = OpTypeFunction %void
%maps = OpTypeFunction %int %int
%pointer = OpTypePointer UniformConstant %int
%input = OpVariable %pointer UniformConstant %one
%other = OpVariable %pointer UniformConstant %one
%shared = OpFunction %int None %maps
%value = OpFunctionParameter %int
%entry0 = OpLabel
%local = OpIAdd %int %value %one
OpReturnValue %local
OpFunctionEnd
%exported = OpFunction %int None %maps
%value2 = OpFunctionParameter %int
%entry1 = OpLabel
%sum = OpFunctionCall %int %shared %value2
OpReturnValue %sum
OpFunctionEnd
%first = OpFunction %void None %signature
%entry2 = OpLabel
%loaded = OpLoad %int %input
%called = OpFunctionCall %int %exported %loaded
OpReturn
OpFunctionEnd
%body = OpFunction %void None %signature
%entry3 = OpLabel
%loaded2 = OpLoad %int %other
%called2 = OpFunctionCall %int %shared %loaded2
%doubled = OpFAdd %double %half %half
OpReturn
OpFunctionEnd
%second = OpFunction %void None %signature
%entry4 = OpLabel
%nothing = OpFunctionCall %void %body
OpReturn
OpFunctionEnd
"#;

fn cut(module: &[u8], kernels: &[&str], functions: &[&str]) -> Result<Vec<u8>, sycl_bundle::error::Error> {
    let index = Index::read(module).unwrap();
    let place = |name: &&str| index.entry_points.iter().position(|entry| entry.name == **name).unwrap();
    let places: Vec<usize> = kernels.iter().map(place).collect();
    let exported = exported(&index);
    let id = |name: &&str| exported.iter().find(|(_, known)| known.name == **name).unwrap().0;
    let ids: Vec<u32> = functions.iter().map(id).collect();
    Cutter::new(&index)?.cut(&Keep { entry_points: &places, ids: &ids })
}

fn text(module: &[u8]) -> String {
    super::accepted([&module.to_vec()]);
    rspirv::dr::load_bytes(module).unwrap().disassemble()
}

fn has(text: &str, present: &[&str], absent: &[&str]) {
    present.iter().for_each(|wanted| assert!(text.contains(wanted), "no {wanted} in\n{text}"));
    absent.iter().for_each(|unwanted| assert!(!text.contains(unwanted), "{unwanted} in\n{text}"));
}

#[test]
fn a_kernel_keeps_what_is_said_of_it_and_nothing_else() {
    let module = assemble(TWO).unwrap();
    let first = text(&cut(&module, &["first"], &[]).unwrap());
    has(
        &first,
        &[
            "\"first\"",
            "LocalSize 8 1 1",
            "kernel_arg_type.first.",
            "OpName %",
            "\"local\"",
            "NoSignedWrap",
            "OpSource OpenCL_C 200000 %",
            "SPV_KHR_no_integer_wrap_decoration",
            "SPV_SOMEBODY_something",
            "OpGroupDecorate",
        ],
        &[
            "\"second\"",
            "ContractionOff",
            "kernel_arg_type.second.",
            "Float64",
            "Int64",
            "Int8",
            "OpTypeFloat",
            "SPV_KHR_expect_assume",
            // Reached, and nobody else's any more.
            "\"exported\"",
            "Linkage",
        ],
    );
    let second = text(&cut(&module, &["second"], &[]).unwrap());
    has(&second, &["LinkageAttributes \"second\" Export", "Float64", "ContractionOff"], &["\"first\"", "Int64"]);
}

#[test]
fn exported_functions_are_roots_of_their_own_and_the_body_of_a_kernel_is_none() {
    let module = assemble(TWO).unwrap();
    let index = Index::read(&module).unwrap();
    let names: Vec<String> = exported(&index).into_iter().map(|(_, linkage)| linkage.name).collect();
    assert_eq!(names, ["exported"]);
    let function = text(&cut(&module, &[], &["exported"]).unwrap());
    has(&function, &["\"exported\" Export", "\"shared\"", "OpCapability Linkage"], &["OpEntryPoint", "OpVariable"]);
    let with_kernel = text(&cut(&module, &["first"], &["exported"]).unwrap());
    has(&with_kernel, &["\"exported\" Export", "\"first\""], &["\"second\""]);
}

/// A private one has no body for drivers, as the name is that of an LLVM intrinsic.
#[test]
fn functions_that_drivers_know_by_their_symbols_stay_exported_where_they_are_reached() {
    let helper = "spirv.llvm_fshl_i32";
    let module = assemble(&TWO.replace("\"exported\"", &format!("\"{helper}\""))).unwrap();
    let first = text(&cut(&module, &["first"], &[]).unwrap());
    has(&first, &[&format!("LinkageAttributes \"{helper}\" Export"), "OpCapability Linkage"], &["\"second\""]);
    let second = text(&cut(&module, &["second"], &[]).unwrap());
    has(&second, &[], &[helper]);
    // Nobody imports them, so they are no roots.
    assert!(exported(&Index::read(&module).unwrap()).is_empty());
}

#[test]
fn everything_kept_is_still_everything() {
    let module = assemble(TWO).unwrap();
    let all = cut(&module, &["first", "second"], &["exported"]).unwrap();
    has(&text(&all), &["\"first\"", "\"second\"", "\"exported\"", "Float64"], &["OpCapability Int8"]);
    // A subset of a subset is a subset of the whole.
    assert_eq!(cut(&all, &["first"], &[]).unwrap().len(), cut(&module, &["first"], &[]).unwrap().len());
}

/// Puts words between the instructions of a module: after the one that begins at `at` words behind an opcode.
fn insert(module: &[u8], before: u32, words: &[u32]) -> Vec<u8> {
    let mut all: Vec<u32> = module.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
    let mut at = 5;
    while all[at] & 0xffff != before {
        at += (all[at] >> 16) as usize;
    }
    all.splice(at..at, words.iter().copied());
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn what_no_grammar_knows_is_named_where_it_matters() {
    let module = assemble(TWO).unwrap();
    // Outside of functions nothing tells whose it is.
    let outside = insert(&module, 54, &[2 << 16 | 8000, 5]);
    let error = cut(&outside, &["first"], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.to_string().contains("OpUnknown(8000)"), "{error}");
    assert!(error.offset().is_some());
    // In a function that falls away it falls away too.
    let inside = insert(&module, 129, &[2 << 16 | 8000, 5]);
    has(&text(&cut(&inside, &["first"], &[]).unwrap()), &["\"first\""], &[]);
    assert!(cut(&inside, &["second"], &[]).unwrap_err().to_string().contains("OpUnknown(8000)"));
}

#[test]
fn ids_that_nothing_defines_are_named() {
    let module = assemble(TWO).unwrap();
    let broken = insert(&module, 129, &[4 << 16 | 61, 2, 9999, 9998]);
    assert!(cut(&broken, &["second"], &[]).unwrap_err().to_string().contains("%999"));
    assert!(cut(&broken, &["first"], &[]).is_ok());
}

/// Of `OpenCL.DebugInfo.100`: the description of a function names the function, which may be left out.
#[test]
fn descriptions_of_functions_that_are_left_out_describe_none() {
    let module = assemble(
        r#"
OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
%debug = OpExtInstImport "OpenCL.DebugInfo.100"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %first "first"
OpEntryPoint Kernel %second "second"
%name = OpString "second"
%path = OpString "a.cl"
%void = OpTypeVoid
%signature = OpTypeFunction %void
%source = OpExtInst %void %debug DebugSource %path
%unit = OpExtInst %void %debug DebugCompilationUnit 65536 4 %source OpenCL_C
%type = OpExtInst %void %debug DebugTypeFunction None %void
%described = OpExtInst %void %debug DebugFunction %name %type %source 1 1 %unit %name None 1 %second
%first = OpFunction %void None %signature
%entry1 = OpLabel
%scope = OpExtInst %void %debug DebugScope %described
OpReturn
OpFunctionEnd
%second = OpFunction %void None %signature
%entry2 = OpLabel
%scope2 = OpExtInst %void %debug DebugScope %described
OpReturn
OpFunctionEnd
"#,
    );
    // The assembler of the tests may lack the set; then the words are made by hand.
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    let first = cut(&module, &["first"], &[]).unwrap();
    super::accepted([&first]);
    let index = Index::read(&first).unwrap();
    assert_eq!(index.functions.len(), 1);
    let debug: Vec<u32> = index
        .instructions(0..index.len())
        .filter(|(_, found)| found.opcode == 12)
        .map(|(_, found)| found.word(3))
        .collect();
    // DebugSource 35, DebugCompilationUnit 1, DebugTypeFunction 8, DebugInfoNone 0, DebugFunction 20, DebugScope 23.
    assert_eq!(debug, [35, 1, 8, 0, 20, 23]);
    let second = Index::read(&cut(&module, &["second"], &[]).unwrap()).unwrap().functions.len();
    assert_eq!(second, 1);
}
