//! Do kernels that share a body stay kernels of their own?

use sycl_bundle::spirv::MAGIC;
use sycl_bundle::spirv::fold::fold;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::kernel::{body, kernels};

use super::accepted;

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

/// A module of kernels that store what a function of their own gives for the global id; the sizes that they require.
fn module(names: &[(&str, u32)], export: bool) -> Vec<u8> {
    let mut words = vec![MAGIC, 0x0001_0400, 0, 1000, 0];
    let op = |words: &mut Vec<u32>, opcode: u32, operands: &[&[u32]]| {
        let operands = operands.concat();
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend(operands);
    };
    let [void, int, pointer, of_kernel, of_function, seven, long, vector, input, id] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    for capability in [4, 5, 6, 11] {
        op(&mut words, 17, &[&[capability]]);
    }
    op(&mut words, 14, &[&[2, 2]]);
    let ids: Vec<u32> = (0..names.len() as u32).map(|number| 100 + number * 20).collect();
    for ((name, _), kernel) in names.iter().zip(&ids) {
        op(&mut words, 15, &[&[6, *kernel], &text(name), &[id]]);
    }
    for ((_, size), kernel) in names.iter().zip(&ids) {
        op(&mut words, 16, &[&[*kernel, 17, *size, 1, 1]]);
    }
    op(&mut words, 71, &[&[id, 11, 28]]);
    for kernel in &ids {
        // NoWrite of the parameter
        op(&mut words, 71, &[&[kernel + 1, 38, 6]]);
    }
    if export {
        op(&mut words, 71, &[&[ids[0], 41], &text("linked"), &[0]]);
    }
    op(&mut words, 19, &[&[void]]);
    op(&mut words, 21, &[&[int, 32, 0]]);
    op(&mut words, 21, &[&[long, 64, 0]]);
    op(&mut words, 23, &[&[vector, long, 3]]);
    op(&mut words, 32, &[&[input, 1, vector]]);
    op(&mut words, 32, &[&[pointer, 5, int]]);
    op(&mut words, 33, &[&[of_kernel, void, pointer]]);
    op(&mut words, 33, &[&[of_function, int, int]]);
    op(&mut words, 43, &[&[int, seven, 7]]);
    op(&mut words, 59, &[&[input, id, 1]]);
    for k in ids {
        op(&mut words, 54, &[&[void, k, 0, of_kernel]]);
        op(&mut words, 55, &[&[pointer, k + 1]]);
        op(&mut words, 248, &[&[k + 2]]);
        op(&mut words, 61, &[&[vector, k + 3, id, 2, 32]]);
        op(&mut words, 81, &[&[long, k + 4, k + 3, 0]]);
        op(&mut words, 113, &[&[int, k + 5, k + 4]]);
        op(&mut words, 57, &[&[int, k + 6, k + 10, k + 5]]);
        op(&mut words, 70, &[&[pointer, k + 7, k + 1, k + 4]]);
        op(&mut words, 62, &[&[k + 7, k + 6]]);
        op(&mut words, 253, &[]);
        op(&mut words, 56, &[]);
        op(&mut words, 54, &[&[int, k + 10, 0, of_function]]);
        op(&mut words, 55, &[&[int, k + 11]]);
        op(&mut words, 248, &[&[k + 12]]);
        op(&mut words, 128, &[&[int, k + 13, k + 11, seven]]);
        op(&mut words, 254, &[&[k + 13]]);
        op(&mut words, 56, &[]);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn every_name_is_a_kernel_that_calls_the_one_body() {
    let before = module(&[("alpha", 8), ("beta", 16), ("gamma", 8), ("delta", 8)], false);
    let after = fold(&before, &[vec![0, 2, 3]]).unwrap();
    accepted([&before, &after]);
    let (index, all) = kernels(&after).unwrap();
    let names: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["alpha", "beta", "gamma", "delta"]);
    // Three callers, the body, beta, and the function that each of the two bodies calls.
    assert_eq!(index.functions.len(), 7);
    let called = |kernel: usize| all[kernel].reach.functions[1..].to_vec();
    assert_eq!((called(0).len(), called(1).len()), (2, 1));
    assert_eq!((called(0), called(0)), (called(2), called(3)));
    assert!(!called(0).contains(&called(1)[0]));
    // Arguments and sizes are those of each.
    let sizes: Vec<u32> = all.iter().map(|kernel| kernel.attributes.work_group_size.unwrap()[0]).collect();
    assert_eq!(sizes, [8, 16, 8, 8]);
    let (_, was) = kernels(&before).unwrap();
    for (one, other) in was.iter().zip(&all) {
        assert_eq!(format!("{:?}", one.arguments), format!("{:?}", other.arguments));
    }
    // The bodies are the same code still.
    let mut numbers = body::Numbers::new(&index);
    let codes: Vec<_> = all.iter().map(|kernel| body::words(&index, &kernel.reach, &mut numbers).unwrap()).collect();
    assert!(codes[0] == codes[2] && codes[0] == codes[3] && codes[0] != codes[1]);
    assert!(after.len() < before.len());
}

#[test]
fn what_others_link_to_keeps_its_body() {
    let linked = module(&[("alpha", 8), ("beta", 8)], true);
    let error = fold(&linked, &[vec![0, 1]]).unwrap_err();
    assert!(error.to_string().contains("`alpha` cannot share its body: it is linked to other modules"), "{error}");
    // Without a group of several there is nothing to share, and all stays.
    let alone = fold(&linked, &[vec![1]]).unwrap();
    assert_eq!(Index::read(&alone).unwrap().functions.len(), 4);
}
