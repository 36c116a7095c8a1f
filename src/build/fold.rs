//! Which modules are the same code but for the name of their kernel, so that one compilation does for all of them?
//!
//! Two modules are, where they are equal word by word and byte by byte but for the name in their one `OpEntryPoint`, have
//! the same options, and the names are of one length and end alike: then the compiler's results differ in the name alone
//! (for GPUs also in a hash of the module), and [`native_name`] makes one out of the other. What falls short of that is compiled on its own, and counted.

use super::{Artifact, Job, Outcome, Step, Unit};
use crate::container::address::find_all;
use crate::rewrite::native_name::{self, Identity, RenameError, TAIL};
use crate::spirv::op;
use crate::spirv::words::Words;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The name of a module's one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    /// The name.
    pub(crate) text: String,
    /// Offset of the name in the module.
    pub(crate) at: usize,
}

impl Name {
    /// The kernel under its own name in its module, and under the name that all share that are the same code.
    pub(crate) fn identities(&self, il: &[u8]) -> [Identity; 2] {
        [&self.text, &native_name::shared_name(&self.text)].map(|name| Identity::new(il, self.at, name))
    }
}

/// The reason why modules of the same code are compiled one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Apart {
    /// The target's native code cannot be renamed.
    Device,
    /// Modules with several kernels.
    Kernels,
    /// Options that ask for debug information.
    Debug,
    /// Options that name kernels.
    Options,
    /// The kernel's name stands in the module for something else too.
    Module,
    /// The native code cannot be renamed.
    Native(RenameError),
}

impl Apart {
    /// Returns the reason as the end of a sentence.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Apart::Device => {
                "native code for their device is not renamed: only that of Intel's CPU driver and of ocloc is known well enough"
            }
            Apart::Kernels => "they have several kernels each, which the driver may order by their names",
            Apart::Options => "their options name kernels",
            Apart::Debug => "they are compiled with debug information (-g), which holds names",
            Apart::Module => "the kernel's name stands in the module for something else too",
            Apart::Native(kept) => kept.reason(),
        }
    }
}

/// The bytes of a module that count where its kernel may be called anything of a length and an end.
pub(crate) fn blanked<'m>(il: &'m [u8], name: &Name) -> [&'m [u8]; 2] {
    let blank = name.text.len().saturating_sub(TAIL);
    let end = name.at.saturating_add(blank);
    [il.get(..name.at).unwrap_or_default(), il.get(end..).unwrap_or_default()]
}

/// Jobs that another stands for, by its image and target.
pub(crate) type Followers<'a> = HashMap<Unit, Vec<Job<'a>>>;

/// Names of the foldable modules of a build.
#[derive(Debug, Default)]
pub(crate) struct Folding {
    /// By image and target.
    names: HashMap<Unit, Name>,
    /// Images that are the same code as an earlier one, and are compiled on their own, by the reason.
    pub(crate) apart: BTreeMap<Apart, usize>,
    /// Images and targets that are the same code as an earlier one, and need not be compiled.
    pub(crate) clones: Vec<Unit>,
}

impl Folding {
    /// Looks at what is to be compiled; `renamed` says whether native code for the target of that place can be renamed.
    pub(crate) fn new(jobs: &[Job<'_>], renamed: &dyn Fn(usize) -> bool) -> Folding {
        let mut folding = Folding::default();
        // By code whatever the names: those that can be folded by what they can be folded with, the others each.
        let mut seen: HashSet<u64> = HashSet::new();
        let mut kinds: HashSet<(u64, u64)> = HashSet::new();
        for job in jobs {
            let Some((code, entry)) = look(job) else { continue };
            let entry = if renamed(job.target) { entry } else { Err(Apart::Device) };
            let code = hashed(&(job.target, &job.compile_options, &job.link_options, code));
            let known = !seen.insert(code);
            let apart = match entry {
                Ok(name) => {
                    let end = name.text.get(name.text.len().saturating_sub(TAIL)..).unwrap_or_default();
                    let first = kinds.insert((code, hashed(&(name.text.len(), end))));
                    folding.names.insert(job.unit(), name);
                    if !first {
                        folding.clones.push(job.unit());
                        continue;
                    }
                    Apart::Native(RenameError::Names)
                }
                Err(apart) => apart,
            };
            if known {
                folding.stays_apart(apart);
            }
        }
        folding
    }

    /// The name of the one kernel of an image, for a target for which another may stand for it.
    pub(crate) fn name(&self, unit: Unit) -> Option<&Name> {
        self.names.get(&unit)
    }

    /// Notes an image that could not be folded.
    pub(crate) fn stays_apart(&mut self, apart: Apart) {
        let count = self.apart.entry(apart).or_default();
        *count = count.saturating_add(1);
    }

    /// Splits jobs into those that are compiled, in their order, and their followers, which get the result of a job of
    /// the same code.
    pub(crate) fn group<'a>(&self, jobs: Vec<Job<'a>>) -> (Vec<Job<'a>>, Followers<'a>) {
        let mut leaders: Vec<Job<'a>> = Vec::new();
        let mut followers: Followers<'a> = HashMap::new();
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for job in jobs {
            let Some(name) = self.name(job.unit()) else {
                leaders.push(job);
                continue;
            };
            let key = hashed(&(job.target, &job.compile_options, &job.link_options, name.at, blanked(&job.il, name)));
            let like = places.entry(key).or_default();
            let same = |place: &&usize| leaders.get(**place).is_some_and(|leader| self.same(leader, &job));
            match like.iter().find(same).and_then(|place| leaders.get(*place)) {
                Some(leader) => followers.entry(leader.unit()).or_default().push(job),
                None => {
                    like.push(leaders.len());
                    leaders.push(job);
                }
            }
        }
        (leaders, followers)
    }

    /// Whether two modules are the same code: a hash that agrees is no proof.
    fn same(&self, one: &Job<'_>, other: &Job<'_>) -> bool {
        let name = |job: &Job<'_>| self.name(job.unit());
        let (Some(name), Some(renamed)) = (name(one), name(other)) else { return false };
        one.target == other.target
            && name.at == renamed.at
            && name.text.len() == renamed.text.len()
            && (&one.compile_options, &one.link_options) == (&other.compile_options, &other.link_options)
            && blanked(&one.il, name) == blanked(&other.il, renamed)
    }

    /// Derives a follower's outcome from its leader's: the binary under the follower's own name, or the failure.
    ///
    /// # Errors
    /// The reason why the binary cannot be renamed; then the job has to be compiled.
    pub(crate) fn follow(&self, outcome: &Outcome, leader: &Job<'_>, job: &Job<'_>) -> Result<Outcome, Apart> {
        match outcome {
            Ok(artifact) => {
                let identity = |job: &Job<'_>| {
                    Some(Identity::new(&job.il, self.name(job.unit())?.at, &self.name(job.unit())?.text))
                };
                let names = identity(leader).zip(identity(job));
                let (from, to) = names.ok_or(Apart::Native(RenameError::Names))?;
                let binary = native_name::rename_kernel(&artifact.binary, &from, &to).map_err(Apart::Native)?;
                if job.flaw(&binary).is_some() {
                    return Err(Apart::Native(RenameError::Form));
                }
                Ok(Ok(Artifact { image: job.image, binary, log: String::new(), ..artifact.clone() }))
            }
            Err(failure) => {
                let mut failure = failure.clone();
                failure.image = job.image;
                Ok(Err(failure))
            }
        }
    }
}

/// A hash for finding, not for proof.
fn hashed(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a module's code without the names of its kernels, and the name of its one kernel; none for what has no
/// kernels, is no module, or is not built for itself.
fn look(job: &Job<'_>) -> Option<(u64, Result<Name, Apart>)> {
    if !matches!(job.step, Step::Build | Step::Offline(_)) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    let (mut names, mut from) = (Vec::new(), 0usize);
    for instruction in Words::new(&job.il).ok()?.instructions() {
        let instruction = instruction.ok()?;
        match instruction.opcode {
            op::ENTRY_POINT => {}
            // Entry points stand before all functions.
            op::FUNCTION => break,
            _ => continue,
        }
        let at = usize::try_from(instruction.offset).ok()?.checked_add(12)?;
        let (text, after) = instruction.string(2);
        job.il.get(from..at.checked_sub(12)?)?.hash(&mut hasher);
        (instruction.word(0), instruction.word(1)).hash(&mut hasher);
        from = at.checked_add(after.checked_sub(2)?.checked_mul(4)?)?;
        names.push(Name { text, at });
    }
    job.il.get(from..)?.hash(&mut hasher);
    let code = hasher.finish();
    let one = match names.len() {
        0 => return None,
        1 => names.pop()?,
        _ => return Some((code, Err(Apart::Kernels))),
    };
    let options = [&job.compile_options, &job.link_options];
    let has = |found: fn(&str) -> bool| options.iter().flat_map(|options| options.split_whitespace()).any(found);
    let debug = has(|option| option == "-g");
    let entry = if !native_name::replaceable(&one.text) {
        Err(Apart::Native(RenameError::Names))
    } else if debug {
        Err(Apart::Debug)
    } else if has(|option| option.ends_with("-kernel")) {
        Err(Apart::Options)
    } else if find_all(&job.il, one.text.as_bytes()) != [one.at] {
        Err(Apart::Module)
    } else {
        Ok(one)
    };
    Some((code, entry))
}

#[cfg(test)]
mod tests {
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
}
