//! Do modules keep their form, and say what they said, when they are rewritten for NVIDIA GPUs?

use crate::support::spirv::{module, valid};
use rspirv::spirv::{Decoration, Op};
use sycl_bundle::build::nvidia::lower::Parameter;
use sycl_bundle::build::nvidia::{groups, ids, lower, offset, speculate};
use sycl_bundle::spirv::index::Index;

const ENVIRONMENT: [&str; 2] = ["--target-env", "spv1.4"];

fn count(index: &Index<'_>, opcode: Op) -> usize {
    index.instructions(0..index.len()).filter(|(_, instruction)| instruction.opcode == opcode as u16).count()
}

#[test]
fn a_load_under_a_check_of_bounds_is_done_without_it() {
    let before = module("bounded_sum");
    valid(&before, &ENVIRONMENT);
    let after = speculate::speculate(&before).unwrap().unwrap();
    valid(&after, &ENVIRONMENT);
    let (before, after) = (Index::read(&before).unwrap(), Index::read(&after).unwrap());
    // The block is gone with its branch; a pointer and a sum are chosen; zeros are a variable.
    assert_eq!(count(&after, Op::Label), count(&before, Op::Label) - 1);
    assert_eq!(count(&after, Op::BranchConditional), count(&before, Op::BranchConditional) - 1);
    assert_eq!((count(&before, Op::Select), count(&after, Op::Select)), (0, 2));
    assert_eq!(count(&after, Op::Variable), count(&before, Op::Variable) + 1);
    let (_, zeros) =
        after.instructions(0..after.len()).filter(|(_, it)| it.opcode == Op::Variable as u16).last().unwrap();
    assert_eq!(after.decoration(zeros.word(1), Decoration::Alignment as u32), Some(128));
    // llvm-spirv 15 takes no null of a number.
    assert_eq!(after.defining(zeros.word(3)).unwrap().opcode, Op::Constant as u16);
}

#[test]
fn what_has_effects_stays_under_its_condition() {
    // A store, a division, a volatile load, a block that another branch leads to.
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    for (from, to) in [
        ("OpFAdd %float %sum %value\n", "OpFAdd %float %sum %value\n OpStore %address %bigger Aligned 4\n"),
        ("OpFAdd %float %sum %value\n", "OpFAdd %float %sum %value\n %part = OpUDiv %ulong %index %bound\n"),
        ("%address Aligned 4", "%address Volatile|Aligned 4"),
        ("OpBranchConditional %more %check %done", "OpBranchConditional %more %check %load"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let module = crate::support::spirv::assemble(&changed).unwrap();
        assert_eq!(speculate::speculate(&module).unwrap(), None, "{to}");
    }
    assert_eq!(speculate::speculate(&module("add_one")).unwrap(), None);
}

#[test]
fn kernels_that_ask_take_an_offset_beside() {
    let before = module("bounded_sum");
    let after = offset::add(&before).unwrap().unwrap();
    valid(&after, &ENVIRONMENT);
    let index = Index::read(&after).unwrap();
    let names: Vec<&str> = index.entry_points.iter().map(|entry| &*entry.name).collect();
    assert_eq!(names, ["_ZTS11bounded_sum", "_ZTS11bounded_sum_with_offset"]);
    // The copy calls the copy, which adds the offset to the id; the kernel reads its argument in the place of the variable.
    assert_eq!(index.functions.len(), 4);
    let calls: Vec<u32> = index
        .instructions(0..index.len())
        .filter(|(_, it)| it.opcode == Op::FunctionCall as u16)
        .map(|(_, it)| it.word(2))
        .collect();
    assert_eq!(calls, [index.functions[0].id, index.functions[2].id]);
    let of = |at: usize, opcode: Op| {
        let range = index.functions[at].instructions.clone();
        index.instructions(range).filter(|(_, it)| it.opcode == opcode as u16).count()
    };
    assert_eq!((of(0, Op::IAdd), of(2, Op::IAdd)), (1, 2));
    assert_eq!((of(1, Op::UConvert), of(3, Op::UConvert), of(3, Op::CopyObject)), (0, 3, 1));
    // The same sizes are required of both, and only one symbol is exported.
    assert_eq!(index.modes.len(), 2);
    assert_eq!(index.linked().len(), 1);
    let lowered = lower::lower(&after).unwrap();
    let [plain, offset] = lowered.kernels.as_slice() else { panic!("{:?}", lowered.kernels) };
    assert_eq!(offset.parameters.last(), Some(&Parameter::Copied { size: 12, align: 4 }));
    assert_eq!(&offset.parameters[..plain.parameters.len()], plain.parameters.as_slice());
    assert_eq!(offset.work_group, plain.work_group);
    assert_eq!(offset::add(&module("halve")).unwrap().is_some(), asks("halve"));
}

/// Structures that are passed by value would be addresses of the user's data.
#[test]
fn copies_have_what_groups_of_decorations_say() {
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    let group = "OpDecorate %group Alignment 64\n%group = OpDecorationGroup\nOpGroupDecorate %group %in";
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.trim_start().starts_with("OpDecorate")).unwrap();
    lines.insert(at, group);
    let grouped = crate::support::spirv::assemble(&lines.join("\n")).unwrap();
    let single = groups::write_out(&grouped).unwrap().unwrap();
    valid(&single, &ENVIRONMENT);
    assert_eq!(count(&Index::read(&single).unwrap(), Op::DecorationGroup), 0);
    assert_eq!(groups::write_out(&single).unwrap(), None);
    let after = offset::add(&single).unwrap().unwrap();
    valid(&after, &ENVIRONMENT);
    let index = Index::read(&after).unwrap();
    let parameters = index.instructions(0..index.len()).filter(|(_, it)| it.opcode == Op::FunctionParameter as u16);
    let aligned = parameters.filter(|(_, it)| index.decoration(it.word(1), Decoration::Alignment as u32) == Some(64));
    assert_eq!(aligned.count(), 2, "of the kernel and its copy");
}

/// Without a copy the offset of a launch is lost.
#[test]
fn ids_that_are_read_in_parts_are_refused() {
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    let parts = text
        .replace("%ids = OpLoad %v3long %id Aligned 32", "%ids = OpInBoundsAccessChain %part %id %zero32")
        .replace("%x = OpCompositeExtract %ulong %ids 0", "%x = OpLoad %ulong %ids Aligned 32")
        .replace("       %zero = OpConstant", "%uint = OpTypeInt 32 0\n%zero32 = OpConstant %uint 0\n%part = OpTypePointer Input %ulong\n       %zero = OpConstant");
    let module = crate::support::spirv::assemble(&parts).unwrap();
    valid(&module, &ENVIRONMENT);
    assert!(offset::add(&module).unwrap_err().to_string().contains("in parts"));
    // Refused as well: those behind a pointer that is a constant.
    let constant = parts
        .replace("; Version: 1.4\n", "; Version: 1.1\n")
        .replace("%ids = OpInBoundsAccessChain %part %id %zero32", "")
        .replace("OpLoad %ulong %ids Aligned", "OpLoad %ulong %place_of Aligned")
        .replace(
            "      %where = OpFunction",
            "%place_of = OpSpecConstantOp %part InBoundsAccessChain %id %zero32\n      %where = OpFunction",
        );
    let module = crate::support::spirv::assemble(&constant).unwrap();
    assert!(offset::add(&module).unwrap_err().to_string().contains("in parts"));
}

/// DPC++ 2025 reads them so: the first by a chain, the others by bytes. llvm-spirv 15 ends by a signal at both.
#[test]
fn parts_of_ids_are_read_of_wholes() {
    const LOAD: &str = "%ids = OpLoad %v3long %id Aligned 32\n          %x = OpCompositeExtract %ulong %ids 0";
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    let declared = "%uint = OpTypeInt 32 0\n%zero32 = OpConstant %uint 0\n%byte = OpTypeInt 8 0\n%eight = OpConstant %ulong 8\n\
                    %part = OpTypePointer Input %ulong\n%bytes = OpTypePointer Input %byte\n       %zero = OpConstant";
    let text = text.replace("       %zero = OpConstant", declared).replacen(
        "OpCapability Linkage",
        "OpCapability Linkage\nOpCapability Int8",
        1,
    );
    let read = |how: &str| {
        let changed = text.replace(LOAD, how);
        assert_ne!(changed, text);
        let module = crate::support::spirv::assemble(&changed).unwrap();
        let after = ids::read_whole(&module).unwrap()?;
        valid(&after, &ENVIRONMENT);
        let added = offset::add(&after).unwrap().unwrap();
        valid(&added, &ENVIRONMENT);
        let index = Index::read(&after).unwrap();
        assert_eq!(count(&index, Op::InBoundsAccessChain) + count(&index, Op::Bitcast), 0);
        let place = index.functions[0].instructions.clone();
        let (_, part) = index.instructions(place).find(|(_, it)| it.opcode == Op::CompositeExtract as u16)?;
        Some(part.word(3))
    };
    let chain = "%p = OpInBoundsAccessChain %part %id %zero32\n%x = OpLoad %ulong %p Aligned 32";
    assert_eq!(read(chain), Some(0));
    let by_bytes = "%b = OpBitcast %bytes %id\n%s = OpInBoundsPtrAccessChain %bytes %b %eight\n\
                    %p = OpBitcast %part %s\n%x = OpLoad %ulong %p Aligned 8";
    assert_eq!(read(by_bytes), Some(1));
    // A part of two, one behind the last, a number that is known at run time alone: left to be refused.
    for (from, to) in [("%b %eight", "%b %one"), ("%b %eight", "%b %far"), ("%b %eight", "%b %from")] {
        let far = text.replace("%eight = OpConstant", "%far = OpConstant %ulong 24\n%eight = OpConstant");
        let changed = far.replace(LOAD, &by_bytes.replace(from, to));
        let module = crate::support::spirv::assemble(&changed).unwrap();
        let after = ids::read_whole(&module).unwrap();
        assert!(offset::add(after.as_deref().unwrap_or(&module)).is_err(), "{to}");
    }
    assert_eq!(ids::read_whole(&module("bounded_sum")).unwrap(), None);
}

/// A place of zeros cannot stand for an id, as one would be read through a pointer then.
#[test]
fn ids_stay_under_their_condition() {
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    let global = text
        .replace("%input = OpTypePointer Input", "%input = OpTypePointer CrossWorkgroup")
        .replace("OpVariable %input Input", "OpVariable %input CrossWorkgroup")
        .replace(
            "%address = OpInBoundsPtrAccessChain",
            "%again = OpLoad %v3long %id Aligned 32\n%address = OpInBoundsPtrAccessChain",
        );
    let module = crate::support::spirv::assemble(&global).unwrap();
    assert_eq!(speculate::speculate(&module).unwrap(), None);
    assert!(offset::add(&module).unwrap().is_some());
}

/// A call by the address would reach the function that knows no offset.
#[test]
fn addresses_of_functions_that_read_ids_are_refused() {
    let text = std::fs::read_to_string("fixtures/spirv/bounded_sum.spvasm").unwrap();
    let pointer = "OpCapability FunctionPointersINTEL\nOpExtension \"SPV_INTEL_function_pointers\"\nOpMemoryModel";
    let taken = text.replacen("OpMemoryModel", pointer, 1).replacen(
        "      %where = OpFunction",
        "%signature = OpTypePointer CodeSectionINTEL %of_where\n%taken = OpConstantFunctionPointerINTEL %signature %where\n      %where = OpFunction",
        1,
    );
    let of = text.lines().find(|line| line.contains("%where = OpFunction")).unwrap().split_whitespace().last().unwrap();
    let module = crate::support::spirv::assemble(&taken.replace("%of_where", of)).unwrap();
    assert!(offset::add(&module).unwrap_err().to_string().contains("address of a function"));
}

/// Members of structures have theirs by groups as well; what groups say is bounded.
#[test]
fn groups_of_decorations_are_written_out() {
    let head = "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpMemoryModel Physical64 OpenCL\n";
    let types = "%u32 = OpTypeInt 32 0\n%pair = OpTypeStruct %u32 %u32\n";
    let text = "OpName %of_members \"of_members\"\nOpDecorate %of_members Alignment 8\n%of_members = OpDecorationGroup\nOpGroupMemberDecorate %of_members %pair 0 %pair 1\n";
    let module = crate::support::spirv::assemble(&[head, text, types].concat()).unwrap();
    let single = groups::write_out(&module).unwrap().unwrap();
    let index = Index::read(&single).unwrap();
    assert_eq!((count(&index, Op::MemberDecorate), count(&index, Op::Decorate), count(&index, Op::Name)), (2, 0, 0));
    // 9000 decorations of a group that 9000 ids have.
    let many = "OpDecorate %group Alignment 8\n".repeat(9000);
    let targets = "OpGroupDecorate %group".to_owned() + &" %pair".repeat(9000) + "\n";
    let text = [head, &many, "%group = OpDecorationGroup\n", &targets, types].concat();
    let module = crate::support::spirv::assemble(&text).unwrap();
    assert!(groups::write_out(&module).unwrap_err().to_string().contains("64 MiB"));
}

/// Whether the text of a fixture names what asks for the offset.
fn asks(name: &str) -> bool {
    let text = std::fs::read_to_string(format!("fixtures/spirv/{name}.spvasm")).unwrap();
    text.contains("BuiltIn GlobalInvocationId") || text.contains("BuiltIn GlobalOffset")
}

#[test]
fn damage_is_an_error_or_leaves_a_module() {
    let module = module("bounded_sum");
    for at in (20..module.len()).step_by(4) {
        for value in [0, 1, 0x7fff_ffff, 0xffff_ffff_u32] {
            let mut damaged = module.clone();
            damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let rewritten = [ids::read_whole(&damaged), speculate::speculate(&damaged), offset::add(&damaged)];
            for rewritten in rewritten.into_iter().flatten().flatten() {
                assert!(Index::read(&rewritten).unwrap().stopped.is_none(), "word {at}: {value:#x}");
            }
        }
    }
}
