//! Are modules told apart by all but their kernel's name?

use super::*;
use crate::build::{Failure, FailureCause};
use std::time::Duration;

const ONE: &str = "_ZTSN5first6kernelEE";
const TWO: &str = "_ZTSN5other6kernelEE";

fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len() / 4 * 4 + 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
}

fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    [&[(operands.len() as u32 + 1) << 16 | opcode], operands].concat()
}

/// A module with entry points, and one more word.
fn module(names: &[&str], more: u32) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 20, 0];
    for name in names {
        words.extend(instruction(15, &[&[6, 1][..], &string(name)].concat()));
    }
    words.extend(instruction(54, &[2, 1, 0, more]));
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn job(image: usize, il: Vec<u8>) -> Job<'static> {
    Job { image, il: il.into(), ..Job::default() }
}

fn groups(jobs: Vec<Job<'static>>) -> (Vec<Vec<usize>>, Folding) {
    let folding = Folding::new(&jobs, &|_| true);
    let (leaders, mut followers) = folding.group(jobs);
    let groups = leaders.iter().map(|leader| {
        let rest = followers.remove(&leader.unit()).unwrap_or_default();
        std::iter::once(leader.image).chain(rest.iter().map(|job| job.image)).collect()
    });
    (groups.collect(), folding)
}

#[test]
fn only_the_name_may_differ() {
    let mut other_options = job(3, module(&[TWO], 7));
    other_options.compile_options = "-cl-opt-disable".to_owned();
    let jobs = vec![
        job(0, module(&[ONE], 7)),
        job(1, module(&[ONE], 8)),
        job(2, module(&[TWO], 7)),
        other_options,
        job(4, module(&[ONE], 7)),
        job(5, module(&[TWO], 8)),
    ];
    let (groups, folding) = groups(jobs);
    assert_eq!(groups, [vec![0, 2, 4], vec![1, 5], vec![3]]);
    assert_eq!((folding.clones.len(), folding.apart.len()), (3, 0));
}

#[test]
fn what_falls_short_is_compiled_and_counted() {
    let longer = "_ZTSN6longer6kernelEE";
    let ends = "_ZTSN5first6kernelE_";
    let debug = |image, name: &str| Job { compile_options: "-w -g".to_owned(), ..job(image, module(&[name], 7)) };
    let twice = |image, name: &str| job(image, [module(&[name], 7), name.as_bytes().to_vec()].concat());
    let linked = |image, name: &str| Job { step: Step::Link(Vec::new()), ..job(image, module(&[name], 7)) };
    let jobs = vec![
        job(0, module(&[ONE], 7)),
        job(1, module(&[longer], 7)),
        job(2, module(&[ends], 7)),
        job(3, module(&["short"], 7)),
        job(4, module(&[ONE, TWO], 7)),
        job(5, module(&[TWO, longer], 7)),
        debug(6, ONE),
        debug(7, TWO),
        linked(8, ONE),
        linked(9, TWO),
        job(10, b"no module".to_vec()),
        job(11, b"no module".to_vec()),
    ];
    let count = jobs.len();
    let (found, folding) = groups(jobs);
    assert_eq!(found.len(), count, "{found:?}");
    let apart = [(Apart::Kernels, 1), (Apart::Debug, 1), (Apart::Native(RenameError::Names), 3)];
    assert_eq!(folding.apart, BTreeMap::from(apart));
    // For a device whose code is not renamed nothing is folded, and it is said what would be.
    let jobs = [job(0, module(&[ONE], 7)), job(1, module(&[TWO], 7))];
    let folding = Folding::new(&jobs, &|_| false);
    assert_eq!((folding.name((0, 0)), &folding.apart), (None, &BTreeMap::from([(Apart::Device, 1)])));
    // Options for the kernel of a name are not those of another.
    let named = |image, name: &str| Job {
        compile_options: format!("-ze-opt-large-grf-kernel {ONE}"),
        ..job(image, module(&[name], 7))
    };
    let (found, folding) = groups(vec![named(0, ONE), named(1, TWO)]);
    assert_eq!((found.len(), &folding.apart), (2, &BTreeMap::from([(Apart::Options, 1)])));
    // The name may be what the module says elsewhere.
    let (found, folding) = groups(vec![twice(0, ONE), twice(1, ONE)]);
    assert_eq!(found, [[0], [1]]);
    assert_eq!(folding.apart, BTreeMap::from([(Apart::Module, 1)]));
}

#[test]
fn a_failure_is_that_of_all_and_a_binary_of_no_known_form_of_none() {
    let jobs = [job(4, module(&[ONE], 7)), job(9, module(&[TWO], 7))];
    let folding = Folding::new(&jobs, &|_| true);
    let cause = FailureCause::Refused { code: -11, name: "CL_BUILD_PROGRAM_FAILURE".to_owned() };
    let failure = Failure { image: 4, target: 0, cause, earlier: Vec::new(), log: "no".to_owned(), attempts: 1 };
    let followed = folding.follow(&Err(failure.clone()), &jobs[0], &jobs[1]).unwrap();
    assert_eq!(followed, Err(Failure { image: 9, ..failure }));
    let binary = ONE.as_bytes().to_vec();
    let built = Artifact { image: 4, target: 0, binary, log: String::new(), elapsed: Duration::ZERO, attempts: 1 };
    assert_eq!(folding.follow(&Ok(built), &jobs[0], &jobs[1]), Err(Apart::Native(RenameError::Form)));
}
