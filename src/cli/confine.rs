//! From what are a worker, and the compilers that it starts, kept?
//!
//! They read the system's files and those around their driver or compiler. Before it is known of which files that consists they
//! get no module, and read what the user may read, but for options that another user may have left for compilers. They write
//! below their own folder and to devices of GPUs, have no terminal, open no socket, signal nobody else, and change no
//! permissions, owners, times or attributes of files. All of this is as good as the kernel has it: Landlock knows files, devices, TCP
//! and signals, and a filter of system calls the rest. Memory, files and time are limited everywhere.

mod readable;

use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, AddRuleError, AddRulesError, CompatLevel, Compatible as _, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use readable::{Readable, options, readable};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getpgid, getppid, getrlimit, setpgid, setrlimit, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{MaskedEq, Ne};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, apply_filter};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Bounds of a process that was confined, and gaps in them.
#[derive(Debug, Default)]
pub(super) struct Confinement {
    /// Bytes of memory that it may take, where whoever started it allows less than is usual.
    pub(super) memory: Option<u64>,
    /// Deeds that nothing keeps it from, as the kernel has no Landlock, or no filters.
    pub(super) free: Vec<&'static str>,
    /// Deeds that an old kernel's Landlock does not keep it from.
    pub(super) unknown: Vec<&'static str>,
}

/// Confines this process and those that it starts: they write below the folder that they work in, and read what is around
/// files of their driver or compiler, once those are known. Nothing else runs in this process yet, as what runs already is not
/// confined.
///
/// # Errors
/// `Io` where a limit cannot be set, `Environment` where nothing keeps compilers from options that others left; what else the
/// kernel does not know is left out, and told.
pub(super) fn confine(files: Option<&[PathBuf]>) -> Result<Confinement> {
    let failed = |error: io::Error| Error::io("confining the worker process", &error);
    let limits = [
        (Resource::Data, memory()),
        (Resource::Fsize, limits::MAX_WORKER_FILE),
        (Resource::Cpu, limits::MAX_WORKER_SECONDS),
    ];
    let mut held = Confinement::default();
    for (resource, usual) in limits {
        // The process that started this one may allow less: `--max-memory` does.
        let Rlimit { current, maximum } = getrlimit(resource);
        let most = [current, maximum].into_iter().flatten().fold(usual, u64::min);
        if matches!(resource, Resource::Data) && most < usual {
            held.memory = Some(most);
        }
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).map_err(|e| failed(e.into()))?;
    }
    leave_terminal();
    give_up_powers();
    let folder = std::env::current_dir().map_err(failed)?;
    match restrict(&folder, &readable(files, &folder)).map_err(|error| failed(io::Error::other(error)))?.landlock {
        LandlockStatus::Available { effective_abi, .. } => {
            held.unknown.extend(LEARNED.iter().filter(|(since, _)| effective_abi < *since).map(|(_, what)| *what));
        }
        _ => {
            let options = options();
            if options.symlink_metadata().is_ok() {
                let message = format!(
                    "Intel's compiler for GPUs would read options in {}, which anybody may have left there: this kernel has no Landlock to keep it from them",
                    options.display()
                );
                return Err(Error::new(ErrorKind::Environment, message).with_remedy("remove that folder"));
            }
            held.free.push(
                "read any file, write to any file and device, or signal any process: it has no Landlock (security module `landlock`)",
            );
        }
    }
    // A kernel without filters, or for another processor, has none.
    let applied = filters().map(|filters| filters.iter().try_for_each(|filter| apply_filter(filter)));
    if !matches!(applied, Some(Ok(()))) {
        held.free.push("change permissions, owners and times of files, or use sockets: it has no filters of system calls (seccomp)");
    }
    Ok(held)
}

/// Deeds that Landlock keeps a process from only since a version of it.
const LEARNED: [(ABI, &str); 4] = [
    (ABI::V2, "move files between folders (Linux 5.19)"),
    (ABI::V3, "cut files short (Linux 6.2)"),
    (ABI::V5, "command devices (Linux 6.10)"),
    (ABI::V6, "signal other processes (Linux 6.12)"),
];

/// Begins a session of its own: no process of it opens the user's terminal as `/dev/tty`, or types into it.
fn leave_terminal() {
    if setsid().is_err() {
        // The leader of a group, which this process is started as, begins no session: it joins its parent's for a moment.
        let joined = getpgid(getppid()).and_then(|group| setpgid(None, Some(group)));
        let _ = joined.and_then(|()| setsid());
    }
}

/// Leaves root only what root is needed for here: to find libraries in the folders of another user.
fn give_up_powers() {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    if let Ok(CapabilitySets { effective, permitted, .. }) = capabilities(None) {
        let (effective, permitted, inheritable) = (effective & kept, permitted & kept, CapabilitySet::empty());
        let _ = set_capabilities(None, CapabilitySets { effective, permitted, inheritable });
    }
}

/// Device files that compilers write to.
const DEVICES: [&str; 3] = ["null", "zero", "full"];
/// Device files that drivers of GPUs command, beside NVIDIA's.
const GPUS: [&str; 6] = ["dri", "kfd", "accel", "dxg", "mali0", "kgsl-3d0"];
/// Beginning of the names of NVIDIA's device files.
const NVIDIA: &str = "nvidia";

/// Device files that are read.
const SOURCES: [&str; 2] = ["random", "urandom"];

/// Applies Landlock's rules to this thread and all that it starts; rules that this kernel does not know are left out.
fn restrict(folder: &Path, readable: &Readable) -> std::result::Result<RestrictionStatus, RulesetError> {
    let write = AccessFs::from_write(ABI::V9);
    // A device file for a disk would be the disk.
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let below = write & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev) | read;
    let to_devices = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let dev = Path::new("/dev");
    let all = std::fs::read_dir(dev).into_iter().flatten().flatten();
    let nvidia = all.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(NVIDIA.as_bytes()));
    let gpus = GPUS.map(|name| dev.join(name)).into_iter().filter(|path| path.exists());
    let gpus: Vec<PathBuf> = gpus.chain(nvidia.map(|entry| entry.path())).collect();
    // Drivers of GPUs (AMD's) share memory between processes; Intel's driver for CPUs, PoCL, ocloc, LLVM and ptxas do not.
    let shared = (!gpus.is_empty()).then(|| dev.join("shm"));
    let devices = DEVICES.map(|name| dev.join(name)).into_iter().chain(gpus);
    let sources = SOURCES.map(|name| dev.join(name));
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(write | read)?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rules(path_beneath_rules(shared.as_deref().into_iter().chain([folder]), below))?
        .add_rules(path_beneath_rules(devices, to_devices | read))?
        .add_rules(path_beneath_rules(sources, read))?;
    let whole = path_beneath_rules(&readable.whole, read);
    for rule in whole.chain(path_beneath_rules(&readable.listed, AccessFs::ReadDir)) {
        if let Err(error) = (&mut rules).add_rule(rule?)
            && !can_have_no_rule(&error)
        {
            return Err(error);
        }
    }
    rules.restrict_self()
}

/// Whether a rule was refused for what it is of: a link of anybody in a folder may lead to a pipe or to memory, as `/dev/stdout` does.
fn can_have_no_rule(error: &RulesetError) -> bool {
    let RulesetError::AddRules(AddRulesError::Fs(AddRuleError::AddRuleCall { source, .. })) = error else {
        return false;
    };
    source.raw_os_error() == Some(libc::EBADFD)
}

/// System calls that change what Landlock does not look at, wherever it is: permissions, owners, times and attributes of files,
/// which are changed without opening them for writing, the user's keys, and the queues and memory that processes share by System V
/// and POSIX. Sockets lead to
/// processes that are not confined. Watches tell the names of what others make and open, and handles open files without a path. What is asked for through `io_uring` passes no filter. The rest is for the system itself, and much
/// of what is wrong with kernels is behind it.
const REFUSED: [libc::c_long; 41] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_request_key,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_setns,
    libc::SYS_unshare,
];

/// Types of the requests of `ioctl` (their second byte) that are of terminals and of every descriptor. Those of file systems reach
/// behind Landlock, as a folder may be opened by whoever sees it: btrfs copies, makes and removes whole trees of files by them,
/// others change flags, versions and attributes of files, encrypt folders, or keep files from being written to again.
const OF_DESCRIPTORS: [u8; 1] = [b'T'];
/// Types of the requests that drivers of GPUs make: of DRM and accelerators, AMD, NVIDIA (two), WSL, Arm, Qualcomm, and of the
/// memory and fences that GPUs share. Of file systems those of type 0 only tell of blocks.
const OF_GPUS: [u8; 9] = [b'd', b'K', b'F', 0, b'G', 0x80, 0x09, b'b', b'>'];

/// Calls that change how the system treats a process, by the place of its number among their arguments.
const TREATMENTS: [(libc::c_long, u8); 7] = [
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_migrate_pages, 0),
];

/// Calls that are newer than the names of them, with the same numbers on all processors.
const FCHMODAT2: libc::c_long = 452;
/// See [`FCHMODAT2`].
const SETXATTRAT: libc::c_long = 463;
/// See [`FCHMODAT2`].
const REMOVEXATTRAT: libc::c_long = 466;
/// See [`FCHMODAT2`].
const FILE_SETATTR: libc::c_long = 469;

/// Older forms of the same calls, which only some processors have.
#[cfg(target_arch = "x86_64")]
const OLD: [libc::c_long; 7] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: [libc::c_long; 0] = [];

/// The bit that is set in the numbers of calls with pointers of 32 bits, which some kernels of this processor have.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The filters of system calls, where there are such for this processor: what they refuse fails as for want of permission. None of
/// it is called by Intel's drivers, LLVM or ptxas; a linker's output is not made executable, which it need not be.
/// `clone3`, of which no filter sees what it asks for, fails as where a kernel has none of it: libraries take `clone` then.
#[allow(clippy::useless_conversion, reason = "numbers of calls have 32 bits on some processors")]
fn filters() -> Option<[BpfProgram; 2]> {
    let rule = |conditions: Vec<Option<SeccompCondition>>| {
        SeccompRule::new(conditions.into_iter().collect::<Option<Vec<_>>>()?).ok()
    };
    let condition = |argument, length, operation, value| SeccompCondition::new(argument, length, operation, value).ok();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(&OLD).map(|call| (i64::from(*call), Vec::new())).collect();
    // Limits of other processes; its own are asked for and set by 0.
    let of_others = rule(vec![condition(0, Dword, Ne, 0), condition(2, Qword, Ne, 0)])?;
    rules.insert(i64::from(libc::SYS_prlimit64), vec![of_others]);
    for (call, place) in TREATMENTS {
        rules.insert(i64::from(call), vec![rule(vec![condition(place, Dword, Ne, 0)])?]);
    }
    // A group or user stands for all processes of it.
    let of_many = |own: u64| rule(vec![condition(0, Dword, Ne, own)]);
    rules.entry(i64::from(libc::SYS_setpriority)).or_default().push(of_many(u64::from(libc::PRIO_PROCESS))?);
    rules.entry(i64::from(libc::SYS_ioprio_set)).or_default().push(of_many(1)?);
    let known: Vec<u8> = OF_DESCRIPTORS.into_iter().chain(OF_GPUS).collect();
    let unknown = others(&known).into_iter().map(|(mask, value)| {
        let [mask, value] = [mask, value].map(|byte| u64::from(byte) << 8);
        rule(vec![condition(1, Dword, MaskedEq(mask), value)])
    });
    rules.insert(i64::from(libc::SYS_ioctl), unknown.collect::<Option<Vec<_>>>()?);
    let name_space = u64::try_from(libc::CLONE_NEWUSER).ok()?;
    rules.insert(i64::from(libc::SYS_clone), vec![rule(vec![condition(0, Qword, MaskedEq(name_space), name_space)])?]);
    // A pair of datagram sockets may send to any other; of streams, which programs start others with, it may not.
    let kind = |kind: libc::c_int| rule(vec![condition(1, Dword, MaskedEq(0xf), u64::try_from(kind).ok()?)]);
    rules.insert(i64::from(libc::SYS_socketpair), vec![kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(rules.clone().into_iter().map(|(call, rules)| (call | X32, rules)));
    let absent = BTreeMap::from([(i64::from(libc::SYS_clone3), Vec::new())]);
    let program = |rules, answer: Errno| {
        let refusal = SeccompAction::Errno(answer.raw_os_error().unsigned_abs());
        let processor = std::env::consts::ARCH.try_into().ok()?;
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, processor).ok()?.try_into().ok()
    };
    Some([program(rules, Errno::PERM)?, program(absent, Errno::NOSYS)?])
}

/// Returns masks and values of all bytes but these: those whose first bits differ from each of them.
fn others(known: &[u8]) -> BTreeSet<(u8, u8)> {
    let mut found = BTreeSet::new();
    for (byte, bit) in known.iter().flat_map(|byte| (0..8u32).map(move |bit| (byte, bit))) {
        let mask = u8::MAX.wrapping_shl(bit);
        let value = (byte ^ 1u8.wrapping_shl(bit)) & mask;
        if known.iter().all(|other| other & mask != value) {
            found.insert((mask, value));
        }
    }
    found
}

/// Returns the most memory that a worker may take: three quarters of the machine's.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(limits::MAX_WORKER_MEMORY, |kib| kib.saturating_mul(1024 / 4 * 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_types_are_refused() {
        for known in [&OF_DESCRIPTORS[..], &OF_GPUS, &[OF_DESCRIPTORS.as_slice(), &OF_GPUS].concat()] {
            let refused = others(known);
            for byte in 0..=u8::MAX {
                let is_refused = refused.iter().any(|(mask, value)| byte & mask == *value);
                assert_ne!(is_refused, known.contains(&byte), "{byte:#x}");
            }
        }
    }
}
