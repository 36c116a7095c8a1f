//! What did the SYCL runtime compile just in time, and which of the driver's code is what a build wants?
//!
//! libsycl keeps what it compiles in a persistent cache: `N.src` says of what a program was made, `N.bin` holds what the
//! driver made of it (`sycl/source/detail/persistent_device_code_cache.cpp` of intel/llvm; read from files of libsycl
//! 2026.2). `N.src` is four parts, each behind its length as a 64-bit number: the device, the options, the values of
//! specialization constants, and SPIR-V, one module after the other where several were linked. `N.bin` is the number of
//! binaries, and each behind its length.

use super::compile::Binary;
use super::options::{Given, for_cpu, for_gpu};
use super::plans::Plans;
use super::target::{Backend, CPU_SPEC, GPU_SPEC, Target};
use super::wanted::Wanted;
use super::{Job, Step};
use crate::bundle::format::Format;
use crate::bytes::{slice_at, u32_at, u64_at};
use crate::compat::native::Stay;
use crate::container::Place;
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::native::Native;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// First word of a SPIR-V module.
const MAGIC: u32 = 0x0723_0203;
/// Bytes of a module's header.
const HEADER: usize = 20;
/// Bytes of a word.
const WORD: usize = 4;

/// Entry of the runtime's cache.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Platform, device, version and driver.
    pub(crate) device: [String; 4],
    /// Options that the compiler got.
    pub(crate) options: String,
    /// Values of specialization constants.
    pub(crate) constants: &'a [u8],
    /// Modules that the program was made of.
    pub(crate) modules: Vec<&'a [u8]>,
    /// Binaries that the driver made, one for each device.
    pub(crate) binaries: Vec<&'a [u8]>,
}

impl<'a> Entry<'a> {
    /// Reads the two files of an entry.
    ///
    /// # Errors
    /// `Input` where one of them is cut short or malformed.
    pub(crate) fn read(source: &'a [u8], binary: &'a [u8]) -> Result<Entry<'a>> {
        let mut at = 0;
        let mut part = || part(source, &mut at);
        let (device, options, constants, code) = (part()?, part()?, part()?, part()?);
        if at != source.len() {
            return Err(Error::at(at as u64, "there are bytes behind the SPIR-V of the program"));
        }
        let padding = |letter: char| letter.is_whitespace() || letter == '\0';
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_matches(padding).to_owned();
        Ok(Entry {
            device: device_parts(&text(device)),
            options: text(options),
            constants,
            modules: modules(code)?,
            binaries: binaries(binary)?,
        })
    }
}

/// Reads the next part, which stands behind its length.
fn part<'a>(data: &'a [u8], at: &mut usize) -> Result<&'a [u8]> {
    let found = u64_at(data, *at).and_then(|length| {
        let begin = at.checked_add(8)?;
        let part = slice_at(data, begin, usize::try_from(length).ok()?)?;
        Some((part, begin.checked_add(part.len())?))
    });
    let (part, end) = found.ok_or_else(|| Error::at(*at as u64, "a part is longer than the file"))?;
    *at = end;
    Ok(part)
}

fn binaries(data: &[u8]) -> Result<Vec<&[u8]>> {
    let count = u64_at(data, 0).ok_or_else(|| Error::at(0, "there is no number of binaries"))?;
    let (mut at, mut all) = (8, Vec::new());
    for _ in 0..count {
        all.push(part(data, &mut at)?);
    }
    Ok(all)
}

/// Parts the text `PLATFORM/DEVICE/VERSION/DRIVER`.
fn device_parts(text: &str) -> [String; 4] {
    let (platform, rest) = text.split_once('/').unwrap_or(("", text));
    let mut last = rest.rsplitn(3, '/');
    let (driver, version, name) = (last.next(), last.next(), last.next());
    match name {
        Some(name) => [platform, name, version.unwrap_or_default(), driver.unwrap_or_default()].map(str::to_owned),
        None => [platform, rest, "", ""].map(str::to_owned),
    }
}

/// Parts modules that stand one after the other. Code of another kind is one piece.
///
/// A module does not say how long it is; but no instruction begins with the word that a module begins with.
fn modules(code: &[u8]) -> Result<Vec<&[u8]>> {
    let cut = |at: usize| Error::at(at as u64, "an instruction of a module is longer than the program");
    if u32_at(code, 0) != Some(MAGIC) {
        return Ok(vec![code]);
    }
    let (mut modules, mut begin, mut at) = (Vec::new(), 0usize, 0usize);
    while at < code.len() {
        let word = u32_at(code, at).ok_or_else(|| cut(at))?;
        let length = if word == MAGIC { HEADER } else { usize::try_from(word >> 16).unwrap_or(0).saturating_mul(WORD) };
        if word == MAGIC && at > begin {
            modules.extend(code.get(begin..at));
            begin = at;
        }
        let end = at.checked_add(length).filter(|end| *end > at && *end <= code.len());
        at = end.ok_or_else(|| cut(at))?;
    }
    modules.extend(code.get(begin..));
    Ok(modules)
}

/// Code that a driver made while a program ran, and of what.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// BLAKE3 digests of the modules that it was made of.
    pub(crate) modules: BTreeSet<[u8; 32]>,
    /// Options that the compiler got.
    pub(crate) options: String,
    /// Whether the program had set specialization constants.
    pub(crate) has_constants: bool,
    /// Device binary.
    pub(crate) binary: Vec<u8>,
}

impl Recorded {
    /// The target that the binary is for, as its own words tell: CPUs with their instruction set, or one Intel GPU.
    pub(crate) fn target(&self) -> Option<RecordedTarget> {
        if let Some(march) = CpuArch::of_binary(&self.binary) {
            return Some(RecordedTarget::Cpu(march));
        }
        let native = Native::read(&self.binary, Format::sniff(&self.binary), Place::file(0))?;
        match native.devices().as_slice() {
            [only] if only.starts_with("intel_gpu_") => Some(RecordedTarget::Gpu((*only).to_owned())),
            _ => None,
        }
    }
}

/// Devices that recorded code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordedTarget {
    /// CPUs with an instruction set.
    Cpu(CpuArch),
    /// An Intel GPU, by its name in the device configuration.
    Gpu(String),
}

/// Digest of a job's own module.
pub(crate) fn digest(job: &Job<'_>) -> [u8; 32] {
    *blake3::hash(&job.il).as_bytes()
}

/// Digests of the modules that a job compiles: its own, which is given, and those that are linked to it.
fn digests(job: &Job<'_>, own: [u8; 32]) -> BTreeSet<[u8; 32]> {
    let linked = match &job.step {
        Step::Link(modules) => modules.as_slice(),
        Step::Build | Step::Offline(_) | Step::Compile => &[],
    };
    let linked = linked.iter().map(|module| *blake3::hash(module).as_bytes());
    std::iter::once(own).chain(linked).collect()
}

fn options_of(job: &Job<'_>) -> String {
    format!("{} {}", job.compile_options, job.link_options)
}

/// Options that make a difference to the code, in any order: the level of optimization is the compiler's own unless it is
/// none, and each backend of the runtime spells it in its own way.
fn plain(options: &str, target: &Target) -> Words {
    const LEVELS: [&str; 3] = ["-ze-opt-level=1", "-ze-opt-level=2", "-ze-opt-level=3"];
    let given = Given { own: "", trusted: options };
    let kept = match target.spec {
        CPU_SPEC => for_cpu(given).kept,
        GPU_SPEC => {
            let device = match &target.backend {
                Backend::Ocloc { device } => Some(device.as_str()),
                Backend::Cpu(_) | Backend::Nvidia { .. } | Backend::Live { .. } => None,
            };
            for_gpu(given, device, None).kept
        }
        _ => options.to_owned(),
    };
    kept.split_whitespace().filter(|word| !LEVELS.contains(word)).map(str::to_owned).collect()
}

/// Code of profiles.
#[derive(Debug)]
pub(crate) struct Harvest {
    recorded: Vec<Recorded>,
    /// Targets of the code, in its order.
    targets: Vec<Option<RecordedTarget>>,
    /// Places of code by the digest of each of its modules.
    places: HashMap<[u8; 32], Vec<usize>>,
    /// Options that make a difference, by places of code and of the target that they are asked for.
    options: RefCell<HashMap<(usize, usize), Words>>,
}

/// Options, each once and in order.
type Words = BTreeSet<String>;

/// Shows options, as many as fit.
fn shown(words: &Words) -> String {
    let mut room = limits::MAX_TOLD_OPTIONS;
    let fits = |word: &&String| {
        let left = room.checked_sub(word.len().saturating_add(1));
        room = left.unwrap_or_default();
        left.is_some()
    };
    let told: Vec<&str> = words.iter().take_while(fits).map(String::as_str).collect();
    match (told.len(), words.len()) {
        (_, 0) => "no options".to_owned(),
        (some, all) if some < all => format!("`{}` and {} more", told.join(" "), all.saturating_sub(some)),
        _ => format!("`{}`", told.join(" ")),
    }
}

/// Job that code is looked for.
struct Sought<'j> {
    job: &'j Job<'j>,
    /// Digest of its own module.
    digest: [u8; 32],
    /// Digests of its modules.
    modules: BTreeSet<[u8; 32]>,
    target: &'j Target,
    /// Options that make a difference.
    options: Words,
}

impl<'j> Sought<'j> {
    fn new(job: &'j Job<'j>, target: &'j Target) -> Sought<'j> {
        let digest = digest(job);
        Sought { job, digest, modules: digests(job, digest), target, options: plain(&options_of(job), target) }
    }
}

impl Harvest {
    /// Sorts the code.
    ///
    /// # Errors
    /// `Usage` where there is none.
    pub(crate) fn new(recorded: Vec<Recorded>) -> Result<Harvest> {
        if recorded.is_empty() {
            let error = Error::new(ErrorKind::Usage, "the profile holds no code of a driver's");
            return Err(error.with_remedy("record without --no-code, or build without --harvest"));
        }
        let mut places: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        // One module is compiled for hundreds of values of constants: programs without any come first.
        let (with, without): (Vec<_>, Vec<_>) = recorded.iter().enumerate().partition(|(_, one)| one.has_constants);
        for (at, one) in without.into_iter().chain(with) {
            one.modules.iter().for_each(|digest| places.entry(*digest).or_default().push(at));
        }
        let targets = recorded.iter().map(Recorded::target).collect();
        Ok(Harvest { recorded, targets, places, options: RefCell::default() })
    }

    /// The instruction set of the code for CPUs, where all of it is for one.
    pub(crate) fn march(&self) -> Option<&'static str> {
        let sets: BTreeSet<CpuArch> = self
            .targets
            .iter()
            .filter_map(|target| match target.as_ref()? {
                RecordedTarget::Cpu(march) => Some(*march),
                RecordedTarget::Gpu(_) => None,
            })
            .collect();
        match sets.into_iter().collect::<Vec<_>>().as_slice() {
            [one] => Some(one.name()),
            _ => None,
        }
    }

    /// Takes the jobs out of the plans of a file whose first image has the number `start`: those that there is code for become
    /// binaries, the images of others stay.
    pub(crate) fn take(&self, start: usize, wanted: &[Wanted], plans: &mut Plans<'_>) -> Vec<Binary> {
        let mut binaries = Vec::new();
        for job in std::mem::take(&mut plans.jobs) {
            let Some(target) = wanted.get(job.target) else { continue };
            match self.find(&job, target) {
                Ok(recorded) => binaries.push(Binary {
                    image: job.image.saturating_add(start),
                    target: job.target,
                    bytes: recorded.binary.clone(),
                }),
                Err(why) => {
                    if let Some(count) = plans.counts.get_mut(job.target) {
                        *count = count.saturating_sub(1);
                    }
                    if let Some(plan) = plans.each.get_mut(job.target) {
                        plan.staying.push((job.image, Stay::NotRecorded(why)));
                    }
                }
            }
        }
        plans.each.iter_mut().for_each(|plan| plan.staying.sort_by_key(|(image, _)| *image));
        binaries
    }

    /// The code for a job, or why there is none.
    fn find(&self, job: &Job<'_>, wanted: &Wanted) -> std::result::Result<&Recorded, String> {
        let (mut why, sought) = (None, Sought::new(job, &wanted.target));
        for at in self.places.get(&sought.digest).into_iter().flatten().take(limits::MAX_HARVESTED) {
            let Some(recorded) = self.recorded.get(*at) else { continue };
            match self.fits(*at, recorded, &sought) {
                Ok(()) => return Ok(recorded),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
        Err(why.unwrap_or_else(|| "the program did not compile it as it is here".to_owned()))
    }

    /// Whether code at a place is what a compiler would make of a job; where not, the reason. It must be of the job's modules
    /// alone, with its options, without set constants, for the target's devices, and hold all of its kernels.
    ///
    /// # Errors
    /// The reason, as the end of a sentence.
    fn fits(&self, at: usize, recorded: &Recorded, sought: &Sought<'_>) -> std::result::Result<(), String> {
        let Sought { job, modules, target, options, .. } = sought;
        if recorded.modules != *modules {
            return Err("the program was made of other modules".to_owned());
        }
        if recorded.has_constants {
            return Err("the program had set specialization constants".to_owned());
        }
        match (&target.backend, self.targets.get(at).and_then(Option::as_ref)) {
            (Backend::Cpu(march), Some(RecordedTarget::Cpu(own))) if own == march => {}
            (Backend::Cpu(march), Some(RecordedTarget::Cpu(own))) => {
                return Err(format!("the driver's code is for {own}, not for {march}"));
            }
            (_, Some(RecordedTarget::Gpu(own))) if target.compile_target.as_deref() == Some(own) => {}
            _ => return Err(format!("the driver's code is not for {}", target.name)),
        }
        let mut known = self.options.borrow_mut();
        let own = known.entry((at, job.target)).or_insert_with(|| plain(&recorded.options, target));
        if *own != *options {
            return Err(format!("the program was compiled with {}, the image asks for {}", shown(own), shown(options)));
        }
        job.flaw(&recorded.binary).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(parts: &[&[u8]]) -> Vec<u8> {
        parts.iter().flat_map(|part| [&(part.len() as u64).to_le_bytes()[..], part].concat()).collect()
    }

    fn module(extra: &[u32]) -> Vec<u8> {
        let head = [MAGIC, 0x0001_0000, 0, 9, 0, 0x0002_0011, 4];
        head.iter().chain(extra).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn an_entry_is_read_to_its_modules() {
        let (one, two) = (module(&[]), module(&[0x0002_0011, 6]));
        let device = b"Intel(R) OpenCL/AMD EPYC/OpenCL 3.1 (Build 0)/2026.22";
        let source = parts(&[device, b" -g ", b"", &[one.clone(), two.clone()].concat()]);
        let binary = [&1u64.to_le_bytes()[..], &parts(&[b"\x7fELF"])].concat();
        let entry = Entry::read(&source, &binary).unwrap();
        assert_eq!(entry.device, ["Intel(R) OpenCL", "AMD EPYC", "OpenCL 3.1 (Build 0)", "2026.22"]);
        assert_eq!((entry.options.as_str(), entry.constants), ("-g", &b""[..]));
        assert_eq!(entry.modules, [&one[..], &two[..]]);
        assert_eq!(entry.binaries, [b"\x7fELF"]);
        for cut in 0..source.len() {
            assert!(Entry::read(&source[..cut], &binary).is_err(), "{cut}");
        }
        for cut in 0..binary.len() {
            assert!(Entry::read(&source, &binary[..cut]).is_err(), "{cut}");
        }
        assert!(Entry::read(&source, &u64::MAX.to_le_bytes()).is_err());
    }

    #[test]
    fn devices_may_have_slashes_in_their_names() {
        assert_eq!(device_parts("P/a/b/1/2"), ["P", "a/b", "1", "2"]);
        assert_eq!(device_parts("P/a"), ["P", "a", "", ""]);
    }

    #[test]
    fn code_fits_a_job_of_its_modules_options_and_set() {
        let mut binary = vec![0; 64];
        binary[..16].copy_from_slice(b"\x7fELF\x02\x01\0\0\0\0\0\0\0\0\0\0");
        binary[16..20].copy_from_slice(&[0x04, 0xff, 62, 0]);
        binary[48] = 3;
        let il = module(&[]);
        let recorded = Recorded {
            modules: BTreeSet::from([*blake3::hash(&il).as_bytes()]),
            options: "-ze-opt-level=2 -cl-fast-relaxed-math".to_owned(),
            has_constants: false,
            binary,
        };
        let job = Job { il: il.into(), compile_options: "-cl-fast-relaxed-math".to_owned(), ..Job::default() };
        let target = Target::cpu(CpuArch::Avx2);
        let fits = |recorded: &Recorded, job: &Job<'_>, target: &Target| {
            let harvest = Harvest::new(vec![recorded.clone()]).unwrap();
            harvest.fits(0, recorded, &Sought::new(job, target))
        };
        assert_eq!(fits(&recorded, &job, &target), Ok(()));
        let why = |recorded: &Recorded, job: &Job<'_>, target: &Target| fits(recorded, job, target).unwrap_err();
        assert!(why(&recorded, &job, &Target::cpu(CpuArch::Avx512)).contains("for avx2, not for avx512"));
        assert!(why(&recorded, &Job { compile_options: String::new(), ..job.clone() }, &target).contains("no options"));
        assert!(
            why(&recorded, &Job { il: module(&[0x0002_0011, 6]).into(), ..job.clone() }, &target).contains("modules")
        );
        let set = Recorded { has_constants: true, ..recorded.clone() };
        assert!(why(&set, &job, &target).contains("constants"));
        let linked = Job { step: Step::Link(vec![module(&[0x0002_0011, 7]).into()]), ..job };
        assert!(why(&recorded, &linked, &target).contains("modules"));
    }
}
