//! Does the index find what a module says where?

use super::*;

fn module(words: &[u32]) -> Vec<u8> {
    [&[0x0723_0203, 0x0001_0400, 0, u32::MAX, 0], words].concat().iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn ids(index: &Index<'_>, number: usize) -> Vec<usize> {
    let mut found = Vec::new();
    assert!(index.for_each_id(&index.instruction(number).unwrap(), |at, _| found.push(at)));
    found
}

#[test]
fn a_switch_over_64_bits_has_literals_of_two_words() {
    let bytes = module(&[
        4 << 16 | 21,
        1,
        64,
        0, // %1 = OpTypeInt 64 0
        3 << 16 | 1,
        1,
        2, // %2 = OpUndef %1
        9 << 16 | 251,
        2,
        3,
        7,
        0,
        4,
        8,
        0,
        5, // OpSwitch %2 %3 7 %4 8 %5
        4 << 16 | 21,
        6,
        32,
        0, // %6 = OpTypeInt 32 0
        3 << 16 | 1,
        6,
        7, // %7 = OpUndef %6
        9 << 16 | 251,
        7,
        3,
        7,
        4,
        8,
        5,
        9,
        5, // OpSwitch %7 %3 7 %4 8 %5 9 %5
    ]);
    let index = Index::read(&bytes).unwrap();
    assert_eq!(ids(&index, 2), [0, 1, 4, 7]);
    assert_eq!(ids(&index, 5), [0, 1, 3, 5, 7]);
}

#[test]
fn operands_of_masks_and_strings_are_told_apart() {
    let bytes = module(&[
        6 << 16 | 62,
        1,
        2,
        0x1_0002,
        8,
        3, // OpStore %1 %2 Aligned|AliasScopeINTELMask 8 %3
        6 << 16 | 15,
        6,
        1,
        u32::from_le_bytes(*b"abcd"),
        0,
        9, // OpEntryPoint Kernel %1 "abcd" %9
        4 << 16 | 332,
        1,
        5914,
        4, // OpDecorateId %1 AliasScopeINTEL %4
        4 << 16 | 71,
        1,
        44,
        4, // OpDecorate %1 Alignment 4
        6 << 16 | 52,
        1,
        2,
        67,
        3,
        4, // OpSpecConstantOp %1 %2 PtrAccessChain %3 %4
    ]);
    let index = Index::read(&bytes).unwrap();
    let all: Vec<_> = (0..5).map(|number| ids(&index, number)).collect();
    assert_eq!(all, [vec![0, 1, 4], vec![1, 4], vec![0, 2], vec![0], vec![0, 1, 3, 4]]);
}

#[test]
fn unknown_instructions_are_kept_and_counted() {
    let bytes = module(&[2 << 16 | 8000, 5, 1 << 16 | 9999, 2 << 16 | 17, 6]);
    let index = Index::read(&bytes).unwrap();
    assert_eq!(index.unknown, BTreeMap::from([(8000, 1), (9999, 1)]));
    assert_eq!((index.len(), &index.capabilities[..]), (3, &[6][..]));
    assert!(!index.for_each_id(&index.instruction(0).unwrap(), |_, _| panic!("an id of an unknown instruction")));
}

#[test]
fn names_and_decorations_are_found_by_their_target_also_through_groups() {
    let bytes = module(&[
        4 << 16 | 5,
        7,
        u32::from_le_bytes(*b"name"),
        0, // OpName %7 "name"
        3 << 16 | 71,
        9,
        5, // OpDecorate %9 Alignment: a group's, without operands
        2 << 16 | 73,
        9, // %9 = OpDecorationGroup
        4 << 16 | 71,
        7,
        44,
        16, // OpDecorate %7 Alignment 16
        4 << 16 | 74,
        9,
        7,
        8, // OpGroupDecorate %9 %7 %8
    ]);
    let index = Index::read(&bytes).unwrap();
    assert_eq!(index.name(7).as_deref(), Some("name"));
    assert_eq!(index.name(8), None);
    let all = |id| index.decorations(id).map(|found| found.decoration).collect::<Vec<_>>();
    assert_eq!((all(7), all(8)), (vec![44, 5], vec![5]));
    assert_eq!(index.decoration(7, 44), Some(16));
}

#[test]
fn a_function_without_an_end_ends_with_the_module() {
    let bytes = module(&[5 << 16 | 54, 1, 2, 0, 3, 2 << 16 | 248, 4, 9 << 16 | 1]);
    let index = Index::read(&bytes).unwrap();
    assert_eq!(index.functions[0].instructions, 0..2);
    assert!(index.functions[0].defined && index.stopped.is_some());
    assert_eq!(index.function_at(1).unwrap().id, 2);
}

#[test]
fn forged_ids_are_kept_without_a_table_of_their_size() {
    let mut ids = Ids::new(u32::MAX, 10);
    assert_eq!(ids.dense.len(), 10);
    for id in [3, u32::MAX, 3, 0] {
        ids.insert(id, id.wrapping_add(1));
    }
    assert_eq!((ids.get(3), ids.get(u32::MAX), ids.get(4), ids.get(5000)), (Some(4), Some(0), None, None));
    assert_eq!(ids.get(0), None);
}
