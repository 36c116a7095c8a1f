//! Do linked modules hold what their parts held, with every import defined, and is what cannot be linked refused?
//!
//! rspirv reads the results, and `spirv-val` (SPIRV-Tools) judges them in the second tier of tests.

mod graphs;
mod judge;

use crate::support::spirv::assemble;
use judge::{Judgement, judge};
use std::collections::{HashMap, HashSet};
use sycl_bundle::error::ErrorKind;
use sycl_bundle::spirv::link::{Folded, Linked, Options, Source, declarations, link};

const HEAD: &str = "OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpMemoryModel Physical64 OpenCL
";

/// Types and constants, and a kernel's or function's usual signatures.
const TYPES: &str = "%void = OpTypeVoid
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%unary = OpTypeFunction %uint %uint
%plain = OpTypeFunction %void
";

fn module(text: &str) -> Vec<u8> {
    assemble(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A function that returns what `callee`, or its argument where there is none, returns.
fn function(name: &str, callee: Option<&str>) -> String {
    let call = callee.map_or(String::new(), |callee| format!("%{name}_c = OpFunctionCall %uint %{callee} %{name}_p\n"));
    let result = if callee.is_some() { "c" } else { "p" };
    format!(
        "%{name} = OpFunction %uint None %unary
%{name}_p = OpFunctionParameter %uint
%{name}_l = OpLabel
{call}OpReturnValue %{name}_{result}
OpFunctionEnd
"
    )
}

fn declaration(name: &str) -> String {
    format!("%{name} = OpFunction %uint None %unary\n%{name}_p = OpFunctionParameter %uint\nOpFunctionEnd\n")
}

fn kernel(name: &str, callee: &str) -> String {
    format!(
        "%{name} = OpFunction %void None %plain
%{name}_l = OpLabel
%{name}_c = OpFunctionCall %uint %{callee} %one
OpReturn
OpFunctionEnd
"
    )
}

fn linkage(name: &str, kind: &str) -> String {
    format!("OpDecorate %{name} LinkageAttributes \"{name}\" {kind}\n")
}

fn sources<'a>(modules: &'a [Vec<u8>]) -> Vec<Source<'a>> {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    modules.iter().zip(NAMES).map(|(bytes, name)| Source { name, bytes, ..Source::default() }).collect()
}

fn linked(modules: &[Vec<u8>]) -> (Linked, Judgement) {
    let linked = link(&sources(modules), &Options::default()).unwrap_or_else(|errors| panic!("{errors:?}"));
    let judged = judge(&linked.bytes);
    (linked, judged)
}

fn refused(modules: &[Vec<u8>]) -> Vec<String> {
    let errors = link(&sources(modules), &Options::default()).unwrap_err();
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Build), "{errors:?}");
    errors.iter().map(ToString::to_string).collect()
}

/// A kernel that calls `f`, which another module has; `g` is there for others.
fn importer() -> Vec<u8> {
    let entry = "OpEntryPoint Kernel %k \"k\"\nOpName %f \"f\"\nOpName %g \"g\"\n";
    let said = [linkage("f", "Import"), linkage("g", "Export")].concat();
    let code = [declaration("f"), kernel("k", "f"), function("g", None)].concat();
    module(&format!("{HEAD}{entry}{said}{TYPES}{code}"))
}

/// `f`, which calls `g` of the importer: each needs the other.
fn exporter() -> Vec<u8> {
    let names = "OpName %f \"f\"\nOpName %g \"g\"\n";
    let said = [linkage("f", "Export"), linkage("g", "Import")].concat();
    module(&format!("{HEAD}{names}{said}{TYPES}{}{}", declaration("g"), function("f", Some("g"))))
}

#[test]
fn imports_get_their_definitions_also_in_a_circle() {
    for modules in [[importer(), exporter()], [exporter(), importer()]] {
        let (linked, judged) = linked(&modules);
        assert_eq!((linked.resolved, linked.imports.len()), (2, 0));
        assert_eq!(linked.exports.iter().collect::<HashSet<_>>(), HashSet::from([&"f".to_owned(), &"g".to_owned()]));
        assert_eq!(judged.calls["k"], ["f"]);
        assert_eq!(judged.calls["f"], ["g"]);
        assert_eq!(judged.calls.len(), 3);
        // Types and constants of both are there once.
        assert_eq!(judged.types, 4);
        assert_eq!(judged.constants, 1);
    }
}

#[test]
fn either_byte_order_gives_the_same() {
    let swapped = |bytes: &[u8]| bytes.chunks_exact(4).flat_map(|word| [word[3], word[2], word[1], word[0]]).collect();
    let (one, _) = linked(&[importer(), exporter()]);
    let (other, _) = linked(&[swapped(&importer()), swapped(&exporter())]);
    assert_eq!(one.bytes, other.bytes);
}

#[test]
fn what_nothing_defines_is_told_with_who_wants_it() {
    let errors = refused(&[importer()]);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("a: nothing defines `f`; it is wanted by `k` (at offset 0x"), "{errors:?}");
    let partial = link(&sources(&[importer()]), &Options { partial: true }).unwrap();
    assert_eq!(
        (partial.imports.as_slice(), partial.exports.as_slice()),
        (&["f".to_owned()][..], &["g".to_owned()][..])
    );
    judge(&partial.bytes);
    // Imports that are left open can be linked later; functions of the device library stay open.
    let modules = [partial.bytes, exporter()];
    assert_eq!(linked(&modules).1.calls["k"], ["f"]);
    let mut device = sources(&modules[..1]);
    device[0].required = Some(HashSet::new());
    assert_eq!(link(&device, &Options::default()).unwrap().imports, ["f"]);
}

#[test]
fn what_is_for_the_others_alone_is_not_exported() {
    let modules = [importer(), exporter()];
    let mut sources = sources(&modules);
    sources[1].internal = true;
    let linked = link(&sources, &Options::default()).unwrap();
    assert_eq!(linked.exports, ["g"]);
    assert_eq!(judge(&linked.bytes).linked, [("g".to_owned(), "Export".to_owned())]);
}

#[test]
fn one_of_each_linkonce_is_kept() {
    let once = |name: &str| {
        let head = HEAD.replace("OpMemoryModel", "OpExtension \"SPV_KHR_linkonce_odr\"\nOpMemoryModel");
        let entry = format!("OpEntryPoint Kernel %{name} \"{name}\"\nOpName %f \"f\"\nOpName %f_p \"p\"\n");
        let said = linkage("f", "LinkOnceODR");
        module(&format!("{head}{entry}{said}{TYPES}{}{}", function("f", None), kernel(name, "f")))
    };
    let modules = [once("k"), once("l"), once("m")];
    let (made, judged) = linked(&modules);
    let folded = |dropped| Folded { symbol: "f".to_owned(), kept: 0, dropped };
    assert_eq!(made.folded, [folded(1), folded(2)]);
    assert_eq!(
        (judged.calls["k"].as_slice(), judged.calls["m"].as_slice()),
        (&["f".to_owned()][..], &["f".to_owned()][..])
    );
    assert_eq!(judged.calls.len(), 4);
    // A definition that is exported goes before those that are linked once.
    let strong = module(&format!("{HEAD}OpName %f \"f\"\n{}{TYPES}{}", linkage("f", "Export"), function("f", None)));
    let (made, judged) = linked(&[once("k"), strong]);
    assert_eq!(made.folded, [Folded { symbol: "f".to_owned(), kept: 1, dropped: 0 }]);
    assert_eq!(judged.calls["k"], ["f"]);
}

#[test]
fn contradictions_are_refused_with_both_sides() {
    let export = |kind: &str, code: &str| module(&format!("{HEAD}{}{kind}{code}", linkage("f", "Export")));
    let twice = refused(&[exporter(), importer(), export(TYPES, &function("f", None))]);
    assert!(twice[0].contains("c: ") && twice[0].contains("`f` is defined here and in a"), "{twice:?}");
    let both = refused(&[importer(), importer()]);
    assert!(both.iter().any(|error| error.contains("the kernel `k` is in a too")), "{both:?}");
    // Another type.
    let other = TYPES.replace("%unary = OpTypeFunction %uint %uint", "%unary = OpTypeFunction %uint %void");
    let code = "%f = OpFunction %void None %plain\n%f_l = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let errors = refused(&[importer(), export(TYPES, code)]);
    assert!(errors[0].contains("`f` is i32 (i32) here, and void () in b"), "{errors:?}");
    drop(other);
    // A variable.
    let variable =
        "%uint = OpTypeInt 32 0\n%g = OpTypePointer CrossWorkgroup %uint\n%f = OpVariable %g CrossWorkgroup\n";
    let errors = refused(&[importer(), export("", variable)]);
    assert!(errors[0].contains("`f` is a function here, and a variable in b"), "{errors:?}");
    // Another memory model.
    let narrow = HEAD.replace("Physical64", "Physical32");
    let errors = refused(&[importer(), module(&format!("{narrow}{TYPES}"))]);
    assert!(errors[0].contains("the memory model is Physical32 OpenCL, that of a is Physical64 OpenCL"), "{errors:?}");
}

#[test]
fn parameters_are_passed_as_the_definition_takes_them() {
    let types = "%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%s = OpTypeStruct %uint %uint
%p = OpTypePointer Function %s\n%kind = OpTypeFunction %void %p\n";
    let side = |linked: &str, attribute: &str, body: &str| {
        let said = format!("{}{attribute}", linkage("f", linked));
        module(&format!(
            "{HEAD}{said}{types}%f = OpFunction %void None %kind\n%a = OpFunctionParameter %p\n{body}OpFunctionEnd\n"
        ))
    };
    let by_value = "OpDecorate %a FuncParamAttr ByVal\n";
    let body = "%l = OpLabel\nOpReturn\n";
    linked(&[side("Import", by_value, ""), side("Export", by_value, body)]);
    // Attributes that do not change how a parameter is passed may differ.
    linked(&[side("Import", "OpDecorate %a FuncParamAttr NoCapture\n", ""), side("Export", "", body)]);
    let errors = refused(&[side("Import", by_value, ""), side("Export", "", body)]);
    assert!(errors[0].contains("parameter 0 of `f` is passed by value here, and not so in b"), "{errors:?}");
}

#[test]
fn pointers_to_what_each_module_guesses_are_cast() {
    let side = |pointee: &str, said: &str, code: &str| {
        module(&format!(
            "{HEAD}{said}%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%float = OpTypeFloat 32
%p = OpTypePointer CrossWorkgroup %{pointee}\n%kind = OpTypeFunction %p %p\n%plain = OpTypeFunction %void %p\n{code}"
        ))
    };
    let said = format!("OpEntryPoint Kernel %k \"k\"\nOpName %f \"f\"\n{}", linkage("f", "Import"));
    let code = "%f = OpFunction %p None %kind\n%f_p = OpFunctionParameter %p\nOpFunctionEnd
%k = OpFunction %void None %plain\n%k_p = OpFunctionParameter %p\n%k_l = OpLabel
%r = OpFunctionCall %p %f %k_p\n%v = OpLoad %uint %r\nOpReturn\nOpFunctionEnd\n";
    let body = "%f = OpFunction %p None %kind\n%f_p = OpFunctionParameter %p\n%f_l = OpLabel\nOpReturnValue %f_p\nOpFunctionEnd\n";
    let names = format!("OpName %f \"f\"\n{}", linkage("f", "Export"));
    let (_, judged) = linked(&[side("uint", &said, code), side("float", &names, body)]);
    assert_eq!((judged.calls["k"].as_slice(), judged.bitcasts), (&["f".to_owned()][..], 2));
}

#[test]
fn initialisers_come_after_what_they_need() {
    let types =
        "%uint = OpTypeInt 32 0\n%p = OpTypePointer CrossWorkgroup %uint\n%pp = OpTypePointer CrossWorkgroup %p\n";
    let first = format!(
        "{HEAD}OpName %x \"x\"\nOpName %y \"y\"\n{}{}{types}%y = OpVariable %p CrossWorkgroup\n%x = OpVariable %pp CrossWorkgroup %y\n",
        linkage("x", "Export"),
        linkage("y", "Import")
    );
    let second = format!(
        "{HEAD}OpName %y \"y\"\n{}{types}%one = OpConstant %uint 1\n%y = OpVariable %p CrossWorkgroup %one\n",
        linkage("y", "Export")
    );
    let (_, judged) = linked(&[module(&first), module(&second)]);
    assert_eq!(judged.variables, ["y", "x"]);
    // Two that begin with each other's address.
    let one = |mine: &str, other: &str| {
        module(&format!(
            "{HEAD}{}{}%c = OpTypeInt 8 0\n%p = OpTypePointer CrossWorkgroup %c\n%{other} = OpVariable %p CrossWorkgroup
%{mine} = OpVariable %p CrossWorkgroup %{other}\n",
            linkage(mine, "Export"),
            linkage(other, "Import")
        ))
    };
    let errors = refused(&[one("x", "y"), one("y", "x")]);
    assert!(errors[0].contains("this and what other modules define need each other to begin with"), "{errors:?}");
}

#[test]
fn specialization_constants_keep_their_numbers_or_get_those_asked_for() {
    let constant = |number: u32, value: u32| {
        module(&format!(
            "{HEAD}OpDecorate %s SpecId {number}\n%uint = OpTypeInt 32 0\n%s = OpSpecConstant %uint {value}\n"
        ))
    };
    assert_eq!(linked(&[constant(0, 1), constant(0, 1)]).1.spec_ids, [0]);
    assert_eq!(linked(&[constant(0, 1), constant(1, 1)]).1.spec_ids, [0, 1]);
    let modules = [constant(0, 1), constant(0, 2)];
    let errors = refused(&modules);
    assert!(errors[0].contains("specialization constant 0 has another type or default here than in a"), "{errors:?}");
    let mut sources = sources(&modules);
    sources[1].spec_ids = HashMap::from([(0, 7)]);
    assert_eq!(judge(&link(&sources, &Options::default()).unwrap().bytes).spec_ids, [0, 7]);
}

#[test]
fn entry_points_list_what_they_reach_in_the_version_they_end_up_in() {
    let types = "%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%v3 = OpTypeVector %uint 3\n%in = OpTypePointer Input %v3
%p = OpTypePointer CrossWorkgroup %uint\n%plain = OpTypeFunction %void\n";
    let built_in = "OpName %id \"__spirv_BuiltInGlobalInvocationId\"\nOpDecorate %id BuiltIn GlobalInvocationId\n
OpDecorate %id LinkageAttributes \"__spirv_BuiltInGlobalInvocationId\" Import\n";
    let variable = "%id = OpVariable %in Input\n%x = OpVariable %p CrossWorkgroup %zero\n";
    let body = "%f_l = OpLabel\n%a = OpLoad %v3 %id\n%b = OpLoad %uint %x\nOpReturn\nOpFunctionEnd\n";
    let library = format!(
        "{HEAD}OpName %f \"f\"\nOpName %x \"x\"\n{built_in}{}{types}%zero = OpConstantNull %uint\n{variable}%f = OpFunction %void None %plain\n{body}",
        linkage("f", "Export")
    );
    let user = format!(
        "{HEAD}OpEntryPoint Kernel %k \"k\" %id\nOpName %f \"f\"\n{built_in}{}{types}%id = OpVariable %in Input
%f = OpFunction %void None %plain\nOpFunctionEnd\n%k = OpFunction %void None %plain\n%k_l = OpLabel
%a = OpLoad %v3 %id\n%c = OpFunctionCall %void %f\nOpReturn\nOpFunctionEnd\n",
        linkage("f", "Import")
    );
    let newer = |text: &str| format!("; Version: 1.4\n{text}");
    for (modules, listed) in [
        ([user.clone(), library.clone()], &["__spirv_BuiltInGlobalInvocationId"][..]),
        ([newer(&user), library.clone()], &["__spirv_BuiltInGlobalInvocationId", "x"]),
        ([user.clone(), newer(&library)], &["__spirv_BuiltInGlobalInvocationId", "x"]),
    ] {
        let (_, judged) = linked(&modules.map(|text| module(&text)));
        assert_eq!(judged.interfaces["k"], listed);
        assert_eq!(judged.variables.len(), 2);
    }
}

#[test]
fn no_two_functions_have_one_name() {
    let own = |entry: &str, export: &str| {
        let head = format!("{HEAD}{entry}OpName %f \"f\"\n{export}");
        module(&format!("{head}{TYPES}{}{}", function("f", None), kernel("k", "f")))
    };
    let exporting = module(&format!("{HEAD}OpName %f \"f\"\n{}{TYPES}{}", linkage("f", "Export"), function("f", None)));
    let (_, judged) = linked(&[own("OpEntryPoint Kernel %k \"k\"\n", ""), exporting]);
    assert_eq!(judged.calls["k"], ["f.0"]);
    assert!(judged.calls.contains_key("f"));
}

/// A kernel that calls a private function, which `OpName` calls so; other functions have the names and linkage that are said.
fn calling(kernel_name: &str, private: &str, more: &str) -> Vec<u8> {
    let entry =
        format!("OpEntryPoint Kernel %k \"{kernel_name}\"\nOpName %k \"{kernel_name}\"\nOpName %f \"{private}\"\n");
    let other = if more.contains("%g ") { function("g", None) } else { String::new() };
    module(&format!("{HEAD}{entry}{more}{TYPES}{}{}{other}", function("f", None), kernel("k", "f")))
}

/// A module with a kernel that calls a function of its name and does nothing else, as translators write it.
fn wrapped(name: &str, exported: bool) -> Vec<u8> {
    let entry = format!("OpEntryPoint Kernel %k \"{name}\"\nOpName %k \"{name}\"\nOpName %f \"{name}\"\n");
    let export = if exported { format!("OpDecorate %f LinkageAttributes \"{name}\" Export\n") } else { String::new() };
    let body = "%f = OpFunction %void None %plain\n%f_l = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let call =
        "%k = OpFunction %void None %plain\n%k_l = OpLabel\n%k_c = OpFunctionCall %void %f\nOpReturn\nOpFunctionEnd\n";
    module(&format!("{HEAD}{entry}{export}{TYPES}{body}{call}"))
}

#[test]
fn private_functions_of_one_name_stay_apart() {
    let (_, judged) = linked(&[calling("k", "p", ""), calling("l", "p", ""), calling("m", "q", "")]);
    assert_eq!(
        (judged.calls["k"].as_slice(), judged.calls["l"].as_slice()),
        (&["p".to_owned()][..], &["p.1".to_owned()][..])
    );
    assert_eq!(judged.calls["m"], ["q"]);
    assert!(["p", "p.1", "q"].iter().all(|name| judged.calls.contains_key(*name)));
    // The name that one gets is another's, as LLVM calls it.
    let exporting = calling("k", "x", "OpName %g \"p\"\nOpDecorate %g LinkageAttributes \"p\" Export\n");
    let (_, judged) = linked(&[exporting, calling("l", "p", "OpName %g \"p.1.1\"\n"), calling("m", "p.1", "")]);
    assert_eq!(
        (judged.calls["l"].as_slice(), judged.calls["m"].as_slice()),
        (&["p.1.2".to_owned()][..], &["p.1".to_owned()][..])
    );
    // A name of one's own module that is a kernel's stays.
    let (made, judged) = linked(&[wrapped("k", false), calling("l", "p", "")]);
    assert_eq!(judged.calls.len(), 3);
    assert!(!made.bytes.windows(4).any(|bytes| bytes == b"k.0\0"));
}

/// Drivers make calls of `_Z3maxii` of an instruction of the other module.
#[test]
fn private_functions_are_not_called_as_what_drivers_have() {
    let built_in = ["_Z3maxii", "_Z13get_global_idj", "_Z17__spirv_ocl_s_absi", "__spirv_ocl_s_absi", "printf"];
    for name in built_in {
        for (modules, number) in
            [([calling("k", name, ""), calling("l", "p", "")], 0), ([calling("l", "p", ""), calling("k", name, "")], 1)]
        {
            assert_eq!(linked(&modules).1.calls["k"], [format!("{name}.{number}")], "{name}");
        }
        assert_eq!(linked(&[calling("k", name, "")]).1.calls["k"], [name]);
    }
    for name in ["_ZN4acme3maxEii", "_Z3Maxii", "max"] {
        assert_eq!(linked(&[calling("k", name, ""), calling("l", "p", "")]).1.calls["k"], [name]);
    }
}

/// Functions that the driver's reader knows by their names keep these.
#[test]
fn functions_that_a_name_determines_keep_it() {
    let helper = "spirv.llvm_umul_with_overflow_i32";
    let (_, judged) = linked(&[calling("k", helper, ""), calling("l", helper, "")]);
    assert_eq!(
        (judged.calls["k"].as_slice(), judged.calls["l"].as_slice()),
        (&[helper.to_owned()][..], &[helper.to_owned()][..])
    );
    // LLVM's reader drops what stands before a name.
    let (_, judged) = linked(&[calling("k", "a.b", ""), calling("l", "spirv.a_b", "")]);
    assert_eq!(judged.calls["l"], ["spirv.a_b.1"]);
}

#[test]
fn a_private_variable_is_not_called_as_what_others_know_by_name() {
    let variable = |name: &str| {
        let kind = "%p = OpTypePointer UniformConstant %uint\n%v = OpVariable %p UniformConstant %one\n";
        let code = [function("f", None), kernel("k", "f")].concat();
        let head = "OpEntryPoint Kernel %k \"k\"\nOpName %f \"f\"\n";
        module(&format!("{HEAD}{head}OpName %v \"{name}\"\n{TYPES}{kind}{code}"))
    };
    let (_, judged) = linked(&[variable("l"), calling("l", "p", "")]);
    assert_eq!(judged.variables, ["l.0"]);
    let (_, judged) = linked(&[variable("p"), calling("l", "p", "")]);
    assert_eq!((judged.variables, judged.calls["l"].as_slice()), (vec!["p".to_owned()], &["p.1".to_owned()][..]));
}

/// Drivers take a kernel and a function of one name for one.
#[test]
fn a_function_that_is_called_as_a_kernel_of_another_module_is_refused() {
    let exporting = calling("l", "x", "OpName %g \"k\"\nOpDecorate %g LinkageAttributes \"k\" Export\n");
    let weak = calling("l", "x", "OpName %g \"k\"\nOpDecorate %g LinkageAttributes \"k\" LinkOnceODR\n");
    for other in [&exporting, &weak] {
        for modules in [[calling("k", "f", ""), other.clone()], [other.clone(), calling("k", "f", "")]] {
            let errors = refused(&modules);
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(errors[0].contains("`k` is exported here, and a kernel in "), "{errors:?}");
        }
    }
    // A kernel that its own module exports, as translators write it.
    assert_eq!(linked(&[wrapped("k", true), calling("l", "f", "")]).0.exports, ["k"]);
}

#[test]
fn what_no_grammar_knows_is_refused_by_name_and_place() {
    let mut bytes = importer();
    let end = bytes.len();
    // Before the end of the last function.
    bytes.splice(end - 4..end - 4, 0x0002_1f40u32.to_le_bytes().into_iter().chain(7u32.to_le_bytes()));
    let modules = [bytes, exporter()];
    let errors = link(&sources(&modules), &Options::default()).unwrap_err();
    assert_eq!(errors[0].kind(), ErrorKind::Input);
    let text = errors[0].to_string();
    assert!(text.starts_with("a: function g: OpUnknown(8000)"), "{text}");
    assert_eq!(errors[0].offset(), Some(end as u64 - 4));
}

#[test]
fn damaged_modules_are_refused() {
    let whole = importer();
    for end in (0..whole.len()).step_by(4) {
        let modules = [whole[..end].to_vec(), exporter()];
        assert!(link(&sources(&modules), &Options::default()).is_err(), "{end}");
    }
}

/// Functions that the translator writes into every module that needs them are no contradiction.
#[test]
fn helpers_of_the_translator_are_there_once() {
    let helper = |name: &str| {
        let head = format!("{HEAD}OpEntryPoint Kernel %{name} \"{name}\"\nOpName %f \"f\"\n");
        let said = "OpDecorate %f LinkageAttributes \"spirv.llvm_fshl_i32\" Export\n";
        module(&format!("{head}{said}{TYPES}{}{}", function("f", None), kernel(name, "f")))
    };
    let (made, judged) = linked(&[helper("k"), helper("l")]);
    assert_eq!(made.folded.len(), 1);
    assert_eq!((judged.calls["k"].as_slice(), judged.calls.len()), (&["f".to_owned()][..], 3));
    assert_eq!(judged.calls["k"], judged.calls["l"]);
}

/// Some have names without a prefix, which a function of the program may have, too.
#[test]
fn helpers_of_the_translator_without_a_prefix_are_there_once_where_they_are_the_same() {
    let helper = |name: &str, symbol: &str, callee| {
        let head = format!("{HEAD}OpEntryPoint Kernel %{name} \"{name}\"\nOpName %f \"{symbol}\"\n");
        let said = format!("OpDecorate %f LinkageAttributes \"{symbol}\" Export\n");
        let code = [function("g", None), function("f", callee), kernel(name, "f")].concat();
        module(&format!("{head}{said}{TYPES}{code}"))
    };
    for symbol in ["llvm_bitreverse_i32", "llvm_sadd_with_overflow_i32"] {
        let (made, judged) = linked(&[helper("k", symbol, None), helper("l", symbol, None)]);
        assert_eq!((made.folded.len(), &judged.calls["k"]), (1, &judged.calls["l"]));
        assert_eq!(refused(&[helper("k", symbol, None), helper("l", symbol, Some("g"))]).len(), 1);
    }
    assert_eq!(refused(&[helper("k", "llvm_mine", None), helper("l", "llvm_mine", None)]).len(), 1);
}

/// Drivers know them by their symbols, whoever else may import from the module.
#[test]
fn helpers_of_the_translator_stay_exported() {
    let helper = "spirv.llvm_fshl_i32";
    let head = format!("{HEAD}OpEntryPoint Kernel %l \"l\"\nOpName %h \"{helper}\"\n");
    let said = format!("OpDecorate %h LinkageAttributes \"{helper}\" Export\n");
    let with = module(&format!("{head}{said}{TYPES}{}{}", function("h", None), kernel("l", "h")));
    let modules = [importer(), exporter(), with];
    let mut sources = sources(&modules);
    sources[2].internal = true;
    let linked = link(&sources, &Options::default()).unwrap();
    let judged = judge(&linked.bytes);
    assert!(judged.linked.contains(&(helper.to_owned(), "Export".to_owned())), "{:?}", judged.linked);
}

/// Images that use one device global have a copy each; a linked one has it once.
#[test]
fn device_globals_are_there_once() {
    let image = |name: &str| {
        let mut bytes = module(&format!(
            "{HEAD}OpEntryPoint Kernel %{name} \"{name}\"\nOpName %f \"f\"\nOpName %x \"x\"\n{}OpDecorate %x SpecId 5\n{TYPES}%p = OpTypePointer CrossWorkgroup %uint\n%x = OpVariable %p CrossWorkgroup\n{}{}",
            linkage("x", "Export"),
            function("f", None),
            kernel(name, "f")
        ));
        // A decoration that rspirv has no name for (HostAccessINTEL, here without a name) takes the place of one of the
        // same form.
        let place = bytes.windows(8).position(|words| words == [1, 0, 0, 0, 5, 0, 0, 0]).unwrap();
        bytes[place..place + 4].copy_from_slice(&6147u32.to_le_bytes());
        bytes
    };
    let modules = [image("k"), image("l")];
    let made = link(&sources(&modules), &Options::default()).unwrap();
    assert_eq!(made.folded, [Folded { symbol: "x".to_owned(), kept: 0, dropped: 1 }]);
    assert_eq!(made.exports, ["x"]);
}

/// Modules that declare the symbol `f` alike but for its type: names and decorations, types, the function's parameters with
/// what is said of each, or the type of a variable.
const DECLARED: [(&str, &str, &str, &str); 20] = [
    ("", "", "%uint", ""),
    ("", "", "%float", ""),
    ("", "", "%uint %uint", ""),
    ("", "%t = OpTypePointer CrossWorkgroup %uint\n", "%t", ""),
    ("", "%t = OpTypePointer CrossWorkgroup %float\n", "%t", ""),
    ("", "%t = OpTypePointer Function %uint\n", "%t", ""),
    ("", "%t = OpTypePointer Function %uint\n", "%t", "ByVal"),
    ("", "%t = OpTypePointer Function %uint\n", "%t", "Sret"),
    ("OpName %t \"S\"\n", "%t = OpTypeStruct %uint %float\n", "%t", ""),
    ("OpName %t \"T\"\n", "%t = OpTypeStruct %uint %float\n", "%t", ""),
    ("OpName %t \"S\"\nOpDecorate %t CPacked\n", "%t = OpTypeStruct %uint %float\n", "%t", ""),
    ("OpName %t \"S\"\n", "%t = OpTypeStruct %float %uint\n", "%t", ""),
    ("", "%p = OpTypePointer CrossWorkgroup %uint\n%t = OpTypeStruct %p\n", "%t", ""),
    ("", "%p = OpTypePointer CrossWorkgroup %float\n%t = OpTypeStruct %p\n", "%t", ""),
    ("", "%four = OpConstant %uint 4\n%t = OpTypeArray %uint %four\n", "%t", ""),
    ("", "%four = OpConstant %uint 5\n%t = OpTypeArray %uint %four\n", "%t", ""),
    ("", "%t = OpTypeVector %float 4\n", "%t", ""),
    ("", "%v = OpTypePointer CrossWorkgroup %uint\n", "", "variable"),
    ("", "%v = OpTypePointer CrossWorkgroup %float\n", "", "variable"),
    ("", "%p = OpTypePointer CrossWorkgroup %uint\n%v = OpTypePointer CrossWorkgroup %p\n", "", "variable"),
];

fn declaring((annotations, types, parameters, how): (&str, &str, &str, &str), linkage: &str) -> Vec<u8> {
    let passed =
        if matches!(how, "ByVal" | "Sret") { format!("OpDecorate %f_0 FuncParamAttr {how}\n") } else { String::new() };
    let body = if linkage == "Export" { "%f_l = OpLabel\nOpReturn\n" } else { "" };
    let listed: String = parameters
        .split(' ')
        .filter(|kind| !kind.is_empty())
        .enumerate()
        .map(|(at, kind)| format!("%f_{at} = OpFunctionParameter {kind}\n"))
        .collect();
    let symbol = match (how, linkage) {
        ("variable", "Export") => {
            "%zero = OpConstantNull %pointee\n%f = OpVariable %v CrossWorkgroup %zero\n".to_owned()
        }
        ("variable", _) => "%f = OpVariable %v CrossWorkgroup\n".to_owned(),
        _ => format!(
            "%ft = OpTypeFunction %void {parameters}\n%f = OpFunction %void None %ft\n{listed}{body}OpFunctionEnd\n"
        ),
    };
    let pointee = match types.lines().last().and_then(|line| line.rsplit(' ').next()) {
        Some(pointee) if how == "variable" => symbol.replace("%pointee", pointee),
        _ => symbol,
    };
    module(&format!(
        "{HEAD}{annotations}OpDecorate %f LinkageAttributes \"f\" {linkage}\n{passed}%void = OpTypeVoid\n\
         %uint = OpTypeInt 32 0\n%float = OpTypeFloat 32\n{types}{pointee}"
    ))
}

#[test]
fn declarations_agree_where_linking_takes_them_for_one() {
    let mut alike = 0;
    for wanted in DECLARED {
        for defined in DECLARED {
            let (importer, exporter) = (declaring(wanted, "Import"), declaring(defined, "Export"));
            let own = |module: &[u8]| declarations(module).unwrap().remove("f").unwrap();
            let (import, export) = (own(&importer), own(&exporter));
            assert!(import.is_import && !export.is_import);
            let sources = [&importer, &exporter].map(|bytes| Source { name: "m", bytes, ..Source::default() });
            let linked = link(&sources, &Options::default());
            assert_eq!(import.agrees_with(&export), linked.is_ok(), "{wanted:?} {defined:?} {linked:?}");
            alike += usize::from(linked.is_ok());
        }
    }
    // Each with itself, and pointers of one storage class with one another.
    assert_eq!(alike, DECLARED.len() + 2);
}
